r"""Feature selection by known methods, as baselines for the exact models.

Problem
    ``rfe``: recursive feature elimination with a linear SVM: drop the feature with the least :math:`w_j^2`, train
    again, repeat (Guyon, Weston, Barnhill, Vapnik 2002).

    ``one_norm_svm``: :math:`\min \lVert w \rVert_1 + C \sum_i \xi_i`, the linear program ONSVM of Aytug 2015; selects
    the features with a nonzero weight.

    ``information_gain``: the best features by H(y) - H(y | x_j) over cuts of x_j (``fs.rankings``), then an SVM on
    them.

    ``mutual_information``: the best by the mutual information of x_j and y (``fs.rankings``), then an SVM on them.

    ``relief``: the best by ReliefF, from near samples of both classes (``fs.rankings``), then an SVM on them.

    ``one_norm_size``, ``svm_penalty``: M and lambda for the start of a search. With v_j the weights of the SVM on all
    features, the first relaxed master (15) of FSP-lambda (Aytug 2015),
    :math:`\min_\sigma \sum_i \alpha_i + \sum_j \sigma_j (\lambda - \tfrac12 v_j^2)`, keeps the features with
    v_j^2 / 2 > lambda. lambda is the geometric mean of the M-th and the next largest v_j^2 / 2, as they spread over
    orders of magnitude. If features overlap, the optimum has more than M (16 of wdbc's 30 at M = 1), as a feature is
    worth more when there are fewer others.
Source
    Aytug 2015, computational results, for the choice of RFE, ONSVM and information gain; Tayal, Coleman, Li, section
    5.2, for Relief and mutual information.
Deviations
    - A filter gives no classifier: a linear SVM is fitted on its selection. The 1-norm SVM keeps its own weights
      unless ``refit=True``.
Certificate
    heuristic; ``one_norm_svm`` solves its own linear program exactly.

The refit is ``sklearn.svm.SVC(kernel="linear", C=C)``: C multiplies the unscaled sum of slacks, as in ``fsmodels.svm``.
Weights of samples multiply their slacks in ``rfe`` and ``one_norm_svm``; the filters reject them.

Values outside the documented ranges raise ``ParameterError``; sparse data, or a class of one sample, raise
``DataError`` where they are not supported.

May import ``fsmodels.models``, ``fsmodels.datasets``, the ground files and ``solvers`` itself.
"""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.baselines import rankings
from fsmodels.baselines.rankings import best_first, eliminated
from fsmodels.checks import feature_count, positive
from fsmodels.datasets.checks import as_given
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, SolverError
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.libsvm import svc
from fsmodels.models.shares import slack_weights
from fsmodels.models.svm import C_MEANING
from fsmodels.weights import FloatArray

__all__ = [
    "Baseline",
    "information_gain",
    "mutual_information",
    "one_norm_size",
    "one_norm_svm",
    "relief",
    "rfe",
    "svm_penalty",
]
__dir__ = __all__.copy  # for completion

RELATIVE = 1e-10  # relative accuracy of the cost; the error of the weights is the square root of its error


@dataclass(frozen=True, eq=False)
class Baseline:
    """Result of a baseline method.

    Attributes
    ----------
    selected : tuple of str
        Selected features, in the order of the data.
    weights : ndarray of shape (n_features,)
        Of the linear classifier on the data as given; 0 where not selected.
    bias : float
        Its bias.
    ranking : pandas.Series
        Score by feature name, best first; the name of the series is that of the score.
    seconds : float
        Wall-clock time of selection and fit.
    library : str
        Library of the method.
    """

    selected: tuple[str, ...]
    weights: FloatArray
    bias: float
    ranking: pd.Series
    seconds: float
    library: str = "scikit-learn"


def rfe(
    data: Dataset, *, max_features: int, C: float = 1.0, step: int | float = 1, rows: pyo.ConcreteModel | None = None
) -> Baseline:
    """Recursive feature elimination with a linear SVM.

    Parameters
    ----------
    data : Dataset
        Scaled, because weights are compared; dense or sparse.
    max_features : int
        Number of features to keep, 1..n_features.
    C : float
        Cost of slack, above 0.
    step : int or float
        Features dropped at a time: a number, or below 1 a fraction of all. The paper drops one at a time.
    rows : pyo.ConcreteModel, optional
        A model with a binary ``sigma`` over the features and rows on it, as stated by ``fs.side_constraints``. A
        feature is not dropped if no feasible selection would remain, and dropping continues until one is reached.
        The features dropped last are added again if the rows allow it. Fewer than ``max_features`` may remain.

    Returns
    -------
    Baseline
        The score of a feature is the number of SVMs it survived.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> rfe(load_dataset("bupa").scaled("standard"), max_features=2).selected
    ('sgpt', 'sgot')
    """
    from sklearn.feature_selection import RFE

    started = time.perf_counter()
    _check(data, C, max_features)
    rankings.check_step(step)
    if data.n_features == 1:  # scikit-learn rejects it
        return _fit(data, np.ones(1, dtype=bool), C, rankings.ranked(data, [0.0], "SVMs survived"), started)
    if rows is not None:
        return _eliminated(data, max_features, C, step, rows, started)
    search = RFE(svc(C, kernel="linear"), n_features_to_select=max_features, step=step if step < 1 else int(step))
    kept = data.counting
    search.fit(kept.X, kept.y, sample_weight=kept.sample_weight)
    survived = search.ranking_.max() - search.ranking_.astype(float)
    return _fit(data, search.support_, C, rankings.ranked(data, survived, "SVMs survived"), started)


def information_gain(
    data: Dataset, *, max_features: int, C: float = 1.0, rows: pyo.ConcreteModel | None = None
) -> Baseline:
    """Filter by information gain H(y) - H(y | x_j) over the minimum description length cuts of each feature.

    Parameters
    ----------
    data : Dataset
        Dense or sparse; the fitted SVM depends on the scaling, the ranking does not.
    max_features : int
        Number of features to keep, 1..n_features; among equal gains the earlier columns, as in WEKA's ranker.
    C : float
        Cost of slack, above 0, of the linear SVM fitted on the selected features.
    rows : pyo.ConcreteModel, optional
        A model with a binary ``sigma`` over the features and rows on it, as stated by ``fs.side_constraints``: a
        feature is skipped if no feasible selection contains it and those taken before.

    Returns
    -------
    Baseline
        Scores are in bits, 0..1.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> information_gain(load_dataset("wdbc"), max_features=1).selected
    ('worst_perimeter',)
    """
    return _filtered("information_gain", data, max_features, C, rows)


def mutual_information(
    data: Dataset,
    *,
    max_features: int,
    C: float = 1.0,
    n_neighbors: int = 3,
    seed: int = 0,
    rows: pyo.ConcreteModel | None = None,
) -> Baseline:
    """Filter by scikit-learn's nearest-neighbour estimate of the mutual information of x_j and y.

    Parameters
    ----------
    data : Dataset
        Dense.
    max_features, C, rows
        As in ``information_gain``.
    n_neighbors : int
        Neighbours of the estimate.
    seed : int
        Seed of the noise with which scikit-learn breaks ties between equal values.

    Returns
    -------
    Baseline
        Scores are in nats.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> len(mutual_information(load_dataset("bupa"), max_features=2).selected)
    2
    """
    return _filtered("mutual_information", data, max_features, C, rows, n_neighbors=n_neighbors, seed=seed)


def relief(
    data: Dataset, *, max_features: int, C: float = 1.0, n_neighbors: int = 10, rows: pyo.ConcreteModel | None = None
) -> Baseline:
    """Filter by ReliefF, which compares near samples in all features and so detects features that matter jointly.

    Parameters
    ----------
    data : Dataset
        Dense, at least two samples of each class; as in ``information_gain``.
    max_features, C, rows
        As in ``information_gain``.
    n_neighbors : int
        Nearest samples of each class for each sample, at least 1; fewer if a class has not that many.

    Returns
    -------
    Baseline
        Scores are ReliefF's weights, -1..1.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> relief(load_dataset("wdbc"), max_features=1).selected
    ('worst_radius',)
    """
    found = _filtered("relief", data, max_features, C, rows, n_neighbors=n_neighbors)
    return replace(found, library="skrebate")


def one_norm_svm(
    data: Dataset,
    *,
    C: float = 1.0,
    solver: str = "highs",
    threshold: float = 1e-6,
    refit: bool = False,
    **options: Any,
) -> Baseline:
    """1-norm SVM, solved as a linear program; selects the features with a nonzero weight.

    Parameters
    ----------
    data : Dataset
        Scaled, because weights are added.
    C : float
        Cost of slack, above 0; the smaller, the fewer features.
    solver : str
        Name of an LP solver, with its ``options``.
    threshold : float
        A feature is selected if ``abs(w_j)`` is above this multiple of the largest weight.
    refit : bool
        Replace the weights by those of a linear SVM on the selected features.

    Returns
    -------
    Baseline
        Scores are the absolute weights of the linear program.

    Raises
    ------
    ParameterError
        ``C`` not above 0.
    SolverError
        The solver returned no solution.
    DataError
        C is so small that no feature is selected, and ``refit`` is True.
    """
    from fsmodels.models import svm
    from solvers import StopReason, solve

    started = time.perf_counter()
    _check(data, C, 1)
    model = svm.one_norm_svm(data, C=C)
    result = solve(model, solver, **options)
    if result.objective is None:
        late = result.stop_reason is StopReason.TIME_LIMIT
        remedy = "give more time (time_limit=)" if late else "leave solver= out, so that highs solves it"
        raise SolverError(
            f'Solver "{solver}" returned no solution of the 1-norm SVM ({result.status.value}): {remedy}.'
        )
    weights = np.array([pyo.value(model.w[name]) for name in data.features], dtype=np.float64)
    bias, size = float(pyo.value(model.b)), np.abs(weights)
    kept = size > threshold * (size.max() or 1.0)
    ranking = rankings.ranked(data, size, "absolute weight")
    if not refit:
        return _baseline(data, kept, np.where(kept, weights, 0.0), bias, ranking, started)
    if not kept.any():
        raise DataError(f"C={C} selects no feature, so there is nothing to refit: use a larger C.")
    return _fit(data, kept, C, ranking, started)


def one_norm_size(data: Dataset, *, C: float = 1.0) -> int:
    """Return the number of features of the 1-norm SVM, the M of Aytug 2015 for data without a true one.

    Parameters
    ----------
    data, C
        As in ``one_norm_svm``; ``fs.choose(data, "one-norm-svm", {"C": ...})`` chooses C by held-out errors.

    Returns
    -------
    int
        At least 1, as models with M require.

    Examples
    --------
    >>> from fsmodels import load_dataset
    >>> one_norm_size(load_dataset("wdbc").scaled("standard"), C=0.1)
    9
    """
    return max(1, len(one_norm_svm(data, C=C).selected))


def _check(data: Dataset, C: float, max_features: int, method: str = "") -> None:
    """Check the shared parameters; ``method``: name of a filter, which takes no weights of samples."""
    positive("C", C, "C weighs the sum of slacks")
    feature_count(max_features, as_given(data, weights=not method, who=method).n_features)


def _linear_svm(data: Dataset, columns: NDArray[np.intp], C: float) -> tuple[FloatArray, float]:
    """Return weights and bias of the linear SVM on some columns."""
    kept, weights = data.counting, np.zeros(data.n_features)
    svm = svc(C, kernel="linear").fit(kept.X[:, columns], kept.y, kept.sample_weight)
    weights[columns] = (svm.coef_.toarray() if hasattr(svm.coef_, "toarray") else svm.coef_).ravel()
    return weights, float(svm.intercept_[0])


def _baseline(
    data: Dataset, kept: NDArray[np.bool_], weights: FloatArray, bias: float, ranking: pd.Series, started: float
) -> Baseline:
    selected = tuple(name for name, keep in zip(data.features, kept, strict=True) if keep)
    return Baseline(selected, weights, bias, ranking, time.perf_counter() - started)


def _fit(data: Dataset, kept: NDArray[np.bool_], C: float, ranking: pd.Series, started: float) -> Baseline:
    """Return the linear SVM on the kept features as a baseline; without features, the larger class."""
    columns = np.flatnonzero(kept)
    if len(columns):
        weights, bias = _linear_svm(data, columns, C)
    else:
        weights, bias = np.zeros(data.n_features), 1.0 if slack_weights(data) @ data.y >= 0 else -1.0
    return _baseline(data, kept, weights, bias, ranking, started)


def _filtered(
    method: str, data: Dataset, max_features: int, C: float, rows: pyo.ConcreteModel | None, **options: Any
) -> Baseline:
    """Return the linear SVM on the best features of a ranking, or on the best that the rows allow."""
    started = time.perf_counter()
    _check(data, C, max_features, method)
    ranking: pd.Series = getattr(rankings, method)(data, **options)
    order = ranking.index
    best = order[:max_features] if rows is None else best_first(data.features, order, rows, max_features)
    return _fit(data, np.isin(np.array(data.features), list(best)), C, ranking, started)


def _eliminated(
    data: Dataset, max_features: int, C: float, step: int | float, rows: pyo.ConcreteModel, started: float
) -> Baseline:
    place = {name: j for j, name in enumerate(data.features)}

    def worst_first(left: list[str]) -> list[str]:
        columns = np.array([place[name] for name in left])
        w, _ = _linear_svm(data, columns, C)
        return sorted(left, key=lambda name: float(w[place[name]]) ** 2)

    number = int(step) if step >= 1 else max(1, int(step * data.n_features))
    left, survived = eliminated(data.features, worst_first, rows, max_features, number)
    ranking = rankings.ranked(data, [survived[name] for name in data.features], "SVMs survived")
    return _fit(data, np.isin(np.array(data.features), left), C, ranking, started)


def svm_penalty(data: Dataset, *, max_features: int, C: float = 1.0) -> float:
    """Return a start value of the penalty lambda for which about M features remain, from the SVM on all features.

    Parameters
    ----------
    data : Dataset
        Scaled, because weights are compared.
    max_features : int
        M, 1..n_features; for all features the value is half of the least v_j^2 / 2.
    C : float
        Cost of slack, above 0, of the model: lambda is in units of its objective.

    Returns
    -------
    float
        lambda for ``fsp_lambda``, at least 0; if fewer than M features have a weight, the least that drops the rest.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> price = fs.baselines.svm_penalty(data, max_features=5)
    >>> len(fs.select(data, "fsp-lambda", penalty=price).selected)
    17
    """
    data = as_given(data, weights=True).counting
    feature_count(max_features, data.n_features)
    oracle = SvmOracle(data.X, data.y, positive("C", C, C_MEANING) * slack_weights(data))
    v = oracle.solve(np.ones(data.n_features), tolerance=RELATIVE).v
    gains = np.sort(0.5 * v**2)[::-1]
    if max_features == data.n_features:
        return float(0.5 * gains[-1])
    return float(np.sqrt(gains[max_features - 1] * gains[max_features]))
