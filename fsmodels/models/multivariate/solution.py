"""Read a solved model of FSmulti: its weights, and the regulariser, risk and objective (5) of any weights."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from fsmodels.checks import feature_count, number, number_array, positive, renamed
from fsmodels.datasets.checks import unweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.multivariate.groups import OFFSET
from fsmodels.models.multivariate.measures import Loss
from fsmodels.models.multivariate.measures import loss as loss_of
from fsmodels.models.multivariate.proof import held_weights
from fsmodels.weights import column_sizes, used
from solvers.facts import half_norm

FloatArray = NDArray[np.float64]
OF_FIVE = (
    "B of (5) is budget, the sum of shares that more features may have; at most K features is "
    'fs.select(data, "fsmulti", max_features=K)'
)


def regulariser(w: ArrayLike, budget: int) -> float:
    """Return Omega(w) of (3) for p = 2: the least ``1/2 sum w_j^2 / d_j`` over d in D.

    Examples
    --------
    >>> regulariser([3.0, -1.0, 1.0], 1)  # half the squared 1-norm
    12.5
    >>> regulariser([3.0, -1.0, 1.0], 3)  # half the squared 2-norm
    5.5
    """
    return half_norm(np.asarray(w, dtype=float), feature_count(budget, np.size(w), name="budget"))[0]


def risk(data: Dataset, w: ArrayLike, loss: str | Loss = "f1", *, b: float = 0.0) -> float:
    """Return R, the least slack of weights w of shape (m,) and an offset b.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> round(risk(data, np.zeros(30), "f1") * data.n_samples, 6)
    100.0
    """
    unweighted(data, "fsmulti")
    weights, offset = number_array("w", w), number(b)
    if weights.shape != (data.n_features,) or not np.isfinite([*weights, offset]).all():
        raise ParameterError(f"w and b must be finite, w one number for each of the {data.n_features} features.")
    scores = np.asarray(data.X @ weights).ravel() + offset
    return max(0.0, loss_of(loss).most_violated(data.y, scores).value) / data.n_samples


@renamed("max_features", OF_FIVE)
def objective(
    data: Dataset, w: ArrayLike, *, budget: int, C: float = 1.0, loss: str | Loss = "f1", b: float = 0.0
) -> float:
    """Return the objective of (5), ``Omega(w, b) + C R(w, b)``, of any weights of shape (m,); b counts as a weight.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> model = fs.multivariate.fsmulti(data, budget=2, C=10.0, loss="f1")
    >>> result = fs.solve(model)
    >>> w, b = fs.multivariate.classifier(model)
    >>> bool(abs(objective(data, w, budget=2, C=10.0, loss="f1") - result.objective) < 1e-9)
    True
    """
    price, slack = positive("C", C, "C multiplies the slack"), risk(data, w, loss, b=b)
    return regulariser(np.append(np.asarray(w, dtype=float), b), budget) + price * slack


def classifier(model: pyo.ConcreteModel) -> tuple[FloatArray, float]:
    """Return w of shape (m,) and b of a solved model of this module; b is 0 without an offset.

    Raises
    ------
    ModelError
        If the model has no solution.
    """
    if model.xi.value is None if not model.xi.is_indexed() else any(v.value is None for v in model.w.values()):
        raise ModelError(f'Model "{model.name}" has no solution loaded: solve it first, with fs.solve(model).')
    w = np.zeros(len(model.features))
    columns, held = held_weights(model)
    w[columns] = held
    return (w[:-1], float(w[-1])) if OFFSET in model.features else (w, 0.0)


def used_features(data: Dataset, model: pyo.ConcreteModel) -> list[str]:
    """Return the features that the weights use."""
    w, _ = classifier(model)
    columns = np.flatnonzero(w)
    take = columns[used(w[columns], column_sizes(data.X[:, columns]))] if len(columns) else columns
    return [data.features[j] for j in take.tolist()]
