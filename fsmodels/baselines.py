r"""Feature selection by known methods, to compare the exact models with.

Problem
    ``rfe``: recursive feature elimination with a linear SVM: drop the feature with the least :math:`w_j^2`, refit,
    repeat (Guyon, Weston, Barnhill, Vapnik 2002).

    ``one_norm_svm``: :math:`\min \lVert w \rVert_1 + C \sum_i \xi_i`, the linear program ONSVM of Aytug 2015; selects
    what it does not set to 0.

    ``information_gain``: rank by :math:`H(y) - H(y \mid x_j)` in bits after the entropy discretisation of Fayyad and
    Irani (IJCAI 1993), as WEKA's ``InfoGainAttributeEval`` does.

    ``mutual_information``: rank by scikit-learn's nearest-neighbour estimate in nats (Ross, PLoS ONE 2014).
Source
    Aytug 2015, computational results, for the choice of RFE, ONSVM and information gain.
Deviations
    - The entropy cuts come from a scikit-learn decision tree on the ranks of one feature, grown to the end and cut back
      from the root by Fayyad and Irani's minimum description length rule. This is their recursion; among cuts of equal
      entropy the tree may take another one than WEKA. A feature without an accepted cut has gain 0, as in WEKA.
    - Equal scores keep the order of the columns.
    - A filter gives no classifier: a linear SVM is fitted on what it selects. The 1-norm SVM keeps its own weights
      unless ``refit=True``.
Certificate
    heuristic; ``one_norm_svm`` solves its own linear program exactly.

The refit is ``sklearn.svm.SVC(kernel="linear", C=C)``: C multiplies the unscaled sum of slacks, as in ``fsmodels.svm``.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.checks import dataset, feature_count, positive
from fsmodels.dataset import Dataset
from fsmodels.errors import DataError, ParameterError, SolverError

__all__ = ["Baseline", "information_gain", "mutual_information", "one_norm_svm", "rfe"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a baseline method found.

    Attributes
    ----------
    selected : tuple of str
        Selected features, in the order of the data.
    weights : ndarray of shape (n_features,)
        Of the linear classifier on the data as given; 0 where not selected.
    bias : float
        Its bias.
    ranking : pandas.Series
        Score by feature name, best first; the name of the series says what the score is.
    seconds : float
        Wall-clock time of selection and fit.
    """

    selected: tuple[str, ...]
    weights: FloatArray
    bias: float
    ranking: pd.Series
    seconds: float


def rfe(data: Dataset, *, max_features: int, C: float = 1.0, step: int | float = 1) -> Baseline:
    """Recursive feature elimination with a linear SVM.

    Parameters
    ----------
    data : Dataset
        Scaled, as weights are compared with one another; dense or sparse.
    max_features : int
        How many features to keep, 1..n_features; that many are kept.
    C : float
        Cost of slack, above 0.
    step : int or float
        Features dropped at once: a number, or a fraction of all below 1. The paper drops one at a time.

    Returns
    -------
    Baseline
        The score of a feature is the number of SVMs it survived.

    Raises
    ------
    ParameterError
        ``max_features``, ``C`` or ``step`` out of range.

    Examples
    --------
    >>> from fsmodels.dataset import load_dataset
    >>> rfe(load_dataset("bupa").scaled("standard"), max_features=2).selected
    ('sgpt', 'sgot')
    """
    from sklearn.feature_selection import RFE

    started = time.perf_counter()
    _check(data, C, max_features)
    if step <= 0 or (step >= 1 and step != int(step)):
        raise ParameterError(f"step={step} drops no feature: use a whole number from 1, or a fraction below 1.")
    search = RFE(_svc(C), n_features_to_select=max_features, step=step if step < 1 else int(step)).fit(data.X, data.y)
    weights, bias = _hyperplane(search.estimator_, np.flatnonzero(search.support_), data.n_features)
    survived = search.ranking_.max() - search.ranking_.astype(float)
    return _baseline(data, search.support_, weights, bias, _ranked(data, survived, "SVMs survived"), started)


def information_gain(data: Dataset, *, max_features: int, C: float = 1.0) -> Baseline:
    """Filter by information gain H(y) - H(y | x_j) over the minimum description length cuts of each feature.

    Parameters
    ----------
    data : Dataset
        Dense or sparse; the ranking does not depend on scaling, the fitted SVM does.
    max_features : int
        How many features to keep, 1..n_features; among equal gains the earlier column, as WEKA's ranker does.
    C : float
        Cost of slack, above 0, of the linear SVM fitted on the selected features.

    Returns
    -------
    Baseline
        Scores are in bits, 0..1.

    Raises
    ------
    ParameterError
        ``max_features`` or ``C`` out of range.

    Examples
    --------
    >>> from fsmodels.dataset import load_dataset
    >>> information_gain(load_dataset("wdbc"), max_features=1).selected
    ('worst_perimeter',)
    """
    started = time.perf_counter()
    _check(data, C, max_features)
    scores = np.array([_gain(_dense_column(data.X, j), data.y) for j in range(data.n_features)])
    return _filtered(data, scores, "information gain (bits)", max_features, C, started)


def mutual_information(
    data: Dataset, *, max_features: int, C: float = 1.0, n_neighbors: int = 3, seed: int = 0
) -> Baseline:
    """Filter by scikit-learn's nearest-neighbour estimate of the mutual information of x_j and y.

    Parameters
    ----------
    data : Dataset
        Dense.
    max_features, C
        As in ``information_gain``.
    n_neighbors : int
        Of the estimate.
    seed : int
        Of the noise that scikit-learn adds to break ties between equal values.

    Returns
    -------
    Baseline
        Scores are in nats.

    Raises
    ------
    ParameterError
        A parameter out of range.
    DataError
        Sparse data.

    Examples
    --------
    >>> from fsmodels.dataset import load_dataset
    >>> len(mutual_information(load_dataset("bupa"), max_features=2).selected)
    2
    """
    from sklearn.feature_selection import mutual_info_classif

    started = time.perf_counter()
    _check(data, C, max_features)
    data.require_dense("mutual_information")
    if not 1 <= n_neighbors < data.n_samples:
        raise ParameterError(f"n_neighbors={n_neighbors} is not possible: use 1..{data.n_samples - 1}.")
    scores = mutual_info_classif(data.X, data.y, n_neighbors=n_neighbors, random_state=seed)
    return _filtered(data, scores, "mutual information (nats)", max_features, C, started)


def one_norm_svm(
    data: Dataset,
    *,
    C: float = 1.0,
    solver: str = "highs",
    threshold: float = 1e-6,
    refit: bool = False,
    **options: Any,
) -> Baseline:
    """1-norm SVM, solved as a linear program; selects the features whose weight it does not set to 0.

    Parameters
    ----------
    data : Dataset
        Scaled, as weights are added up.
    C : float
        Cost of slack, above 0; the smaller, the fewer features.
    solver : str
        Any LP solver by name, with its ``options``.
    threshold : float
        A feature is selected when ``abs(w_j)`` is above this multiple of the largest.
    refit : bool
        Whether to replace the weights by those of a linear SVM on the selected features.

    Returns
    -------
    Baseline
        Scores are the absolute weights of the linear program.

    Raises
    ------
    ParameterError
        ``C`` not above 0.
    SolverError
        The solver gave no solution.
    DataError
        C is so small that no feature is selected and ``refit`` asks for one.
    """
    import pyomo.environ as pyo

    from fsmodels import svm
    from solvers import solve

    started = time.perf_counter()
    _check(data, C, 1)
    model = svm.one_norm_svm(data, C=C)
    result = solve(model, solver, **options)
    if result.objective is None:
        raise SolverError(
            f'Solver "{solver}" gave no solution of the 1-norm SVM ({result.status.value}): try another solver.'
        )
    weights = np.array([pyo.value(model.w[name]) for name in data.features], dtype=np.float64)
    bias, size = float(pyo.value(model.b)), np.abs(weights)
    kept = size > threshold * (size.max() or 1.0)
    ranking = _ranked(data, size, "absolute weight")
    if not refit:
        return _baseline(data, kept, np.where(kept, weights, 0.0), bias, ranking, started)
    if not kept.any():
        raise DataError(f"C={C} selects no feature, so there is nothing to refit: use a larger C.")
    return _fit(data, kept, C, ranking, started)


def _check(data: Dataset, C: float, max_features: int) -> None:
    positive("C", C, "C weighs the sum of slacks")
    feature_count(max_features, dataset(data).n_features)


def _svc(C: float) -> Any:
    from sklearn.svm import SVC

    return SVC(kernel="linear", C=C)


def _hyperplane(svc: Any, columns: NDArray[np.intp], n_features: int) -> tuple[FloatArray, float]:
    coefficients = svc.coef_
    weights = np.zeros(n_features)
    weights[columns] = (coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients).ravel()
    return weights, float(svc.intercept_[0])


def _ranked(data: Dataset, scores: Sequence[float] | FloatArray, name: str) -> pd.Series:
    ranking = pd.Series(np.asarray(scores, dtype=np.float64), index=list(data.features), name=name)
    return ranking.sort_values(ascending=False, kind="stable")


def _baseline(
    data: Dataset, kept: NDArray[np.bool_], weights: FloatArray, bias: float, ranking: pd.Series, started: float
) -> Baseline:
    selected = tuple(name for name, keep in zip(data.features, kept, strict=True) if keep)
    return Baseline(selected, weights, bias, ranking, time.perf_counter() - started)


def _fit(data: Dataset, kept: NDArray[np.bool_], C: float, ranking: pd.Series, started: float) -> Baseline:
    columns = np.flatnonzero(kept)
    weights, bias = _hyperplane(_svc(C).fit(data.X[:, columns], data.y), columns, data.n_features)
    return _baseline(data, kept, weights, bias, ranking, started)


def _filtered(data: Dataset, scores: FloatArray, name: str, max_features: int, C: float, started: float) -> Baseline:
    ranking = _ranked(data, scores, name)
    best = ranking.index[:max_features]
    return _fit(data, np.isin(np.array(data.features), list(best)), C, ranking, started)


def _dense_column(X: Any, j: int) -> FloatArray:
    column = X[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()


def _entropy(counts: FloatArray) -> float:
    """Entropy in bits of class counts."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _gain(values: FloatArray, y: FloatArray) -> float:
    """Information gain in bits of the accepted cuts of one feature."""
    from sklearn.tree import DecisionTreeClassifier

    ranks = np.unique(values, return_inverse=True)[1].reshape(-1, 1)  # trees work in float32, which ranks survive
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(ranks, y).tree_
    counts = np.rint(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None])

    def left_over(node: int) -> float:
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0 or not _worth_cutting(counts[node], counts[left], counts[right]):
            return float(counts[node].sum()) * _entropy(counts[node])
        return left_over(left) + left_over(right)

    return max(0.0, _entropy(counts[0]) - left_over(0) / len(y))


def _worth_cutting(both: FloatArray, left: FloatArray, right: FloatArray) -> bool:
    """Fayyad and Irani's rule: the gain of the cut pays for describing it."""
    total = float(both.sum())
    k, k_left, k_right = (int((counts > 0).sum()) for counts in (both, left, right))
    h, h_left, h_right = _entropy(both), _entropy(left), _entropy(right)
    gain = h - (left.sum() * h_left + right.sum() * h_right) / total
    price = math.log2(total - 1) + math.log2(3**k - 2) - (k * h - k_left * h_left - k_right * h_right)
    return bool(gain > price / total)
