r"""Optimal brain damage for the robust LP: drop the features that its solution hardly needs, and solve again.

Problem
    f(w, gamma) is (4), the objective of the robust LP as a function of the plane (``svm.robust_lp``).

    1. Solve (5) -> (w, gamma).
    2. D_j = max |f(w +- delta_1 e_j, gamma) - f(w, gamma)|, the larger of both directions.
    3. Set w_j = 0 where D_j < delta_2 = nu max_j D_j, and solve (5) again.
Symbols
    delta_1 -> ``delta`` (per unit of w), nu -> ``nu`` (share); D -> ``derivatives`` (features).
Source
    Bradley, Mangasarian, Street 1998, "Feature selection via mathematical programming", algorithm 3.1, after LeCun,
    Denker, Solla 1990, "Optimal brain damage".
Deviations
    f is piecewise linear, so that it has no second derivatives, and differences take their place, as in the paper. A
    feature is dropped where D_j < delta_2, strictly: nu = 0 keeps all.
Class
    Two LPs.
Certificate
    heuristic: each LP is solved exactly, but nothing is known about other choices. The bound is that of all features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import positive, share
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.svm import robust_lp
from solvers import Result, solve
from solvers.clock import one_clock
from solvers.result import reread
from solvers.values import put_back

__all__ = ["derivatives", "suppress"]
__dir__ = __all__.copy  # what <TAB> offers

CHUNK = 4_000_000  # cells of one step of ``derivatives``
MEANING = "features below that share of the largest derivative are dropped"


@one_clock()
def suppress(
    model: pyo.ConcreteModel, data: Dataset, *, nu: float, delta: float = 0.01, solver: Any = None, **options: Any
) -> Result:
    """Solve a robust LP, drop what it hardly needs and solve it again; the model keeps the second solution.

    Parameters
    ----------
    model : pyo.ConcreteModel
        ``svm.robust_lp(data)``, perhaps with further rows.
    data : Dataset of shape (l, n)
        Standardised, as derivatives are compared.
    nu : float
        In [0, 1): a feature is dropped where its derivative is below this share of the largest.
    delta : float
        Step of the differences in w, above 0.
    solver, **options
        As for ``fs.solve``; ``time_limit`` is for both solves.

    Returns
    -------
    Result
        Of the second solve, with the bound of the first; ``optimal`` only where nothing was lost. ``details`` has the
        Series ``derivatives`` and the list ``suppressed``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> result = fs.obd.suppress(fs.svm.robust_lp(data), data, nu=0.5)
    >>> result.details["suppressed"]
    ['alkphos']
    """
    share("nu", nu, MEANING)
    positive("delta", delta, "delta is the step of the differences")
    first = solve(model, solver, **options)
    if not first.has_solution:
        return first
    changes = derivatives(model, data, delta)
    dropped = [j for j in data.features if changes[j] < nu * changes.max() and _may_be_zero(model.w[j])]
    values = [(v, v.value) for v in model.component_data_objects(pyo.Var)]
    for j in dropped:
        model.w[j].fix(0.0)
    try:
        second = solve(model, solver, **options) if dropped else first
    finally:
        for j in dropped:
            model.w[j].unfix()
    details = {"derivatives": changes, "suppressed": dropped}
    if not second.has_solution:  # a row that needs a dropped weight, or a limit: the first solution stands
        put_back(values)
        first.message = f"Without the dropped features there is no solution: {second.message}".strip()
        first.stop_reason, first.details = second.stop_reason, first.details | details | {"suppressed": []}
        return first
    if dropped:
        claimed, second.bound = second.status, first.bound
        assert second.objective is not None
        judged = reread(second, second.objective)
        second.status, second.bound = judged.status, judged.bound
        if judged.status is not claimed:
            second.message = "A heuristic: the bound is that of all features."
    second.selected = [j for j in data.features if j not in dropped and model.w[j].value]
    second.details |= details
    return second


def _may_be_zero(weight: Any) -> bool:
    lower, upper = weight.bounds
    return not weight.fixed and (lower is None or lower <= 0) and (upper is None or upper >= 0)


def derivatives(model: pyo.ConcreteModel, data: Dataset, delta: float = 0.01) -> pd.Series:
    """Return D, how much (4) changes when one weight moves by delta, the larger of both directions.

    ``model`` is a solved robust LP on ``data``, of shape (l, n); ``delta`` is per unit of w.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> model = fs.svm.robust_lp(data)
    >>> result = fs.solve(model)
    >>> fs.obd.derivatives(model, data).idxmax()
    'drinks'
    """
    w = np.array([pyo.value(model.w[j]) for j in data.features])
    margins = data.y * (np.asarray(data.X @ w).ravel() + pyo.value(model.b))
    share_of = np.where(data.y > 0, 1.0 / (data.y > 0).sum(), 1.0 / (data.y < 0).sum())

    def cost(moved: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (4) for margins of shape (l, columns)."""
        return np.asarray(share_of @ np.maximum(0.0, 1.0 - moved))

    here = float(cost(margins[:, None])[0])
    found = np.empty(len(w))
    width = max(1, CHUNK // len(data.y))
    for start in range(0, len(w), width):
        columns = data.X[:, start : start + width]
        columns = columns.toarray() if sparse.issparse(columns) else columns
        moves = delta * data.y[:, None] * columns
        up, down = (np.abs(cost(margins[:, None] + sign * moves) - here) for sign in (1.0, -1.0))
        found[start : start + width] = np.maximum(up, down)
    return pd.Series(found, index=list(data.features), name="derivative")


def build(data: Dataset, *, penalty: float, delta: float = 0.01) -> pyo.ConcreteModel:
    """Build the robust LP for ``run``; ``penalty`` is nu."""
    share("penalty", penalty, MEANING)
    positive("delta", delta, "delta is the step of the differences")
    return robust_lp(data)


def run(
    model: pyo.ConcreteModel, data: Dataset, parameters: Mapping[str, Any], solver: Any, options: Mapping[str, Any]
) -> Result:
    """Suppress by the parameters of ``build``."""
    delta = parameters.get("delta", 0.01)
    return suppress(model, data, nu=parameters["penalty"], delta=delta, solver=solver, **options)
