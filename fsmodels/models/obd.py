r"""Optimal brain damage for the robust LP: drop the features with the smallest derivatives and solve again.

Problem
    f(w, gamma) is (4), the objective of the robust LP as a function of the plane (``svm.robust_lp``).

    1. Solve (5) -> (w, gamma).
    2. D_j = max |f(w +- delta_1 e_j, gamma) - f(w, gamma)|, the larger of both directions.
    3. Set w_j = 0 where D_j < delta_2 = nu max_j D_j, and solve (5) again.
Reading of delta_2
    Algorithm 3.1 compares the differences D_j with a number delta_2. The experiments (section 3) vary delta_2 as a
    share nu in [0, 1) of the largest directional derivative f', which has the unit of D_j / delta_1. So delta_2 can be
    read as

    - nu times the largest difference D_j. This is built here: both sides of the comparison have the same unit, and the
      rule does not depend on the unit of f. As delta_1 tends to 0 it becomes the rule f'_j < nu max f': D_j = delta_1
      f'_j if no sample crosses its margin within the step, and D_j is larger otherwise, because f is convex.
    - nu times the largest f', compared with D_j as printed. With delta_1 = 0.01, D_j is about 0.01 f'_j, so that all
      features are dropped for nu >= 0.05, the first value of the paper's grid. This contradicts Tables 1 and 2, where
      80.8% and 65.5% of the features are dropped.
    - one number for all data. The same features are dropped with nu = delta_2 / max_j D_j.

    The sign +- means both directions: D_j is the larger difference, and a feature is dropped only if both are below
    delta_2. As nu is below 1, at least one feature is kept. The paper's remark that a large delta_2 drops all features
    refers to the third reading.
Rows on features
    A model with a binary ``sigma`` may have rows on it and on variables of your own. Step 1 ignores them. Let T be the
    features that step 3 keeps. The selection is then the solution of a small MILP over the rows:

    .. math:: \max\ \sum_{j \in T} D_j \sigma_j - \epsilon \sum_{j \notin T} \sigma_j

    It loses least of T by the derivatives of the rule, and adds only the features that the rows require. If the rows
    allow T, the selection is T.
Symbols
    delta_1 -> ``delta`` (per unit of w), nu -> ``nu`` (share); D -> ``derivatives`` (features).
Source
    Bradley, Mangasarian, Street 1998, "Feature selection via mathematical programming", algorithm 3.1, after LeCun,
    Denker, Solla 1990, "Optimal brain damage".
Deviations
    f is piecewise linear and has no second derivatives. Differences replace them, as in the paper. A feature is dropped
    if D_j < delta_2, strictly: nu = 0 keeps all.
Class
    Two LPs.
Certificate
    heuristic: each LP is solved exactly, but other selections are not compared. The bound is that of all features.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunction
from scipy import sparse

from fsmodels.checks import choosing, positive, share
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, NoSelection
from fsmodels.models.components import by_ordered_sets, by_weight, plane_rows
from fsmodels.models.proofs.certified import by_sigma
from fsmodels.models.shares import class_shares
from fsmodels.models.svm import robust_lp
from fsmodels.text import listed
from fsmodels.weights import FloatArray, column_sizes
from solvers import Result, SolutionStatus, facts_of, solve
from solvers.clock import one_clock
from solvers.result import recomputed_verdict
from solvers.values import inactive, put_back

__all__ = ["derivatives", "suppress"]
__dir__ = __all__.copy  # what <TAB> offers

CHUNK = 4_000_000  # cells of one step of ``derivatives``
LEAST = 1e-3  # smallest derivative of a kept feature, relative to the largest
EXTRA = 1e-4  # epsilon, for all features together that only the rows require
MEANING = "features below that share of the largest derivative are dropped"


@one_clock()
def suppress(
    model: pyo.ConcreteModel, data: Dataset, *, nu: float, delta: float = 0.01, solver: Any = None, **options: Any
) -> Result:
    """Solve a robust LP, drop the features with small derivatives and solve it again.

    Parameters
    ----------
    model : pyo.ConcreteModel
        ``svm.robust_lp(data)``, also with further rows, a binary ``sigma`` over the features, and rows on sigma. It
        contains the second solution afterwards.
    data : Dataset of shape (l, n)
        Standardised, because derivatives are compared.
    nu : float
        In [0, 1): a feature is dropped if its derivative is below this share of the largest.
    delta : float
        Step of the differences in w, above 0.
    solver, **options
        As for ``fs.solve``; ``time_limit`` covers both solves.

    Returns
    -------
    Result
        Result of the second solve with the bound of the first; ``optimal`` only if the objective is the same.
        ``details`` contains the Series ``derivatives`` and the list ``suppressed``.

    Raises
    ------
    NoSelection
        If no selection satisfies the rows on sigma.
    ModelError
        If a row contains both sigma and variables of the plane.

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
    selection = SelectionRows.of(model)
    with inactive([*selection.rows, *selection.sets]):
        return _suppressed(model, data, selection, nu, delta, partial(solve, model, solver, **options))


def _suppressed(
    model: Any, data: Dataset, selection: SelectionRows, nu: float, delta: float, solve_model: Callable[[], Result]
) -> Result:
    first = solve_model()
    if not first.has_solution:
        return first
    changes, sizes = derivatives(model, data, delta), column_sizes(data.X)
    values = [(v, v.value) for v in model.component_data_objects(pyo.Var)]
    needed = [j for j in data.features if not _may_be_zero(model.w[j])]
    kept = {j for j in data.features if changes[j] >= nu * changes.max()} | set(needed)
    note = ""
    if selection:
        rule, kept = kept, selection.nearest(kept, changes, needed)
        parts = {"keep": sorted(kept - rule), "drop": sorted(rule - kept)}
        against = [f"{verb} {listed(features)}" for verb, features in parts.items() if features]
        note = f"The rows on sigma {' and '.join(against)} against the rule." if against else ""
    dropped = [j for j in data.features if j not in kept]
    for j in dropped:
        model.w[j].fix(0.0)
    try:
        second = solve_model() if dropped else first
    finally:
        for j in dropped:
            model.w[j].unfix()
    details = {"derivatives": changes, "suppressed": dropped}
    # After a limit the solution may be the trivial point of the model.
    trivial = second.status is not SolutionStatus.OPTIMAL and not any(v.value for v in model.w.values())
    if (trivial or not second.has_solution) and dropped and not selection:  # or a row needs a dropped weight
        put_back(values)
        first.message = f"Without the dropped features there is no solution: {second.message}".strip()
        first.stop_reason, first.details = second.stop_reason, first.details | details | {"suppressed": []}
        first.selected = by_weight(sizes, model)
        return first
    second.details |= details
    if not second.has_solution:
        second.message = f"{note} Without the dropped features there is no solution: {second.message}".strip()
        return second
    if dropped:
        claimed, second.bound = second.status, first.bound
        assert second.objective is not None
        verdict = recomputed_verdict(second, second.objective)
        second.status, second.bound = verdict.status, verdict.bound
        if verdict.status is not claimed:
            second.message = "A heuristic: the bound is that of all features."
    second.message = f"{note} {second.message}".strip()
    second.selected = [j for j in data.features if j not in dropped] if selection else by_weight(sizes, model)
    selection.load(kept)
    return second


def _may_be_zero(weight: Any) -> bool:
    lower, upper = weight.bounds
    return not weight.fixed and (lower is None or lower <= 0) and (upper is None or upper >= 0)


def derivatives(model: pyo.ConcreteModel, data: Dataset, delta: float = 0.01) -> pd.Series:
    """Return D, the change of (4) when one weight moves by delta; the larger change of both directions.

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
    share_of = class_shares(data)

    def cost(moved: FloatArray) -> FloatArray:
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


def build(data: Dataset, *, penalty: float, delta: float = 0.01, sigma: bool = False) -> pyo.ConcreteModel:
    """Build the robust LP for ``suppress``, also with binaries for rows on the selection.

    ``penalty``: nu, in [0, 1), the share of the largest derivative below which a feature is dropped.
    ``delta``: delta_1, above 0, the step of the differences, per unit of w. ``sigma``: Add binaries, for
    rows on the selection.
    """
    share("penalty", penalty, MEANING)
    positive("delta", delta, "delta is the step of the differences")
    model = robust_lp(data)
    if choosing(sigma):
        by_ordered_sets(model, model.w)
        if (facts := facts_of(model)) is not None:
            facts.selected = by_sigma
    return model


class SelectionRows:
    """Rows and ordered sets on the selection, without those of the plane; false if the model has no sigma.

    ``variables``: sigma, the variables in rows with it, the variables in rows with these, and so on.
    """

    def __init__(self, model: Any, rows: list[Any], sets: list[Any], variables: list[Any]) -> None:
        self.model, self.rows, self.sets, self.variables = model, rows, sets, variables
        self._values: list[tuple[Any, Any]] = []

    def __bool__(self) -> bool:
        return bool(self.variables)

    @classmethod
    def of(cls, model: Any) -> SelectionRows:
        """Find the rows that contain sigma.

        Raises ModelError, with the name of a row that also contains variables of the plane, of a logical constraint, or
        of an objective with sigma.
        """
        sigma = model.component("sigma")
        if sigma is None:
            return cls(model, [], [], [])
        _check_only_rows(model, {id(v) for v in sigma.values()})
        plane = {id(v) for part in (model.w, model.gamma, model.y, model.z) for v in part.values()}
        connected = {id(v): v for v in sigma.values()}
        own = {id(part) for part in plane_rows(model)}  # these are dense
        rows = [
            (row, list(identify_variables(row.body)))
            for row in model.component_data_objects(pyo.Constraint, active=True)
            if id(row.parent_component()) not in own
        ]
        found: dict[int, Any] = {}
        while more := [(row, vs) for row, vs in rows if id(row) not in found and any(id(v) in connected for v in vs)]:
            for row, inside in more:
                if any(id(v) in plane for v in inside):
                    raise ModelError(
                        f'Row "{row.name}" contains both sigma and variables of the plane, and obd drops features '
                        "between two linear programs: state it on sigma alone, or use fs, a MILP."
                    )
                found[id(row)] = row
                connected.update({id(v): v for v in inside})
        sets = list(model.component_data_objects(pyo.SOSConstraint, active=True))
        return cls(
            model,
            [*found.values()],
            [s for s in sets if any(id(v) in connected for v in s.get_variables())],
            [*connected.values()],
        )

    def nearest(self, kept: set[str], worth: pd.Series, needed: list[str]) -> set[str]:
        """Return the allowed selection that loses least of ``kept`` by ``worth`` and adds least to it.

        Raises NoSelection if the rows allow none.
        """
        sigma, size = self.model.sigma, float(worth.max()) or 1.0
        trial = pyo.ConcreteModel(name="kept features")
        trial.variables = pyo.Reference(dict(enumerate(self.variables)), ctype=pyo.Var)
        trial.needed = pyo.Constraint(needed, rule=lambda m, j: sigma[j] == 1)
        trial.rows = pyo.Constraint(range(len(self.rows)), rule=lambda m, k: self.rows[k].expr)
        price = {j: max(float(worth[j]) / size, LEAST) if j in kept else -EXTRA / len(sigma) for j in sigma}
        trial.worth = pyo.Objective(expr=pyo.quicksum(price[j] * sigma[j] for j in sigma), sense=pyo.maximize)
        before = [(v, v.value) for v in self.variables]
        result = solve(trial, gap=EXTRA / len(sigma) ** 2)
        found = {j for j in sigma if result.has_solution and sigma[j].value > 0.5}
        self._values = [(v, v.value) for v in self.variables]
        put_back(before)
        if not result.has_solution:
            names = listed(sorted({row.parent_component().name for row in self.rows} - {"complement"}))
            raise NoSelection(f"No selection satisfies the rows {names}: relax or deactivate one of them.")
        return found

    def load(self, kept: set[str]) -> None:
        """Write the selection and the other variables of its rows on the model."""
        if self:
            put_back(self._values)
            for j, s in self.model.sigma.items():
                s.set_value(int(j in kept))


def _check_only_rows(model: Any, sigma: set[int]) -> None:
    """Raise ModelError with the name of a component on the selection that is not a row."""
    logic = (pyo.LogicalConstraint, Disjunction)
    named = [f'{part.ctype.__name__} "{part.name}"' for part in model.component_data_objects(logic, active=True)]
    objectives = model.component_data_objects(pyo.Objective, active=True)
    named += [f'Objective "{o.name}"' for o in objectives if any(id(v) in sigma for v in identify_variables(o.expr))]
    if named:
        raise ModelError(
            f"{named[0]} is on the selection, and obd supports only rows on sigma: state it as a row, for example a "
            "budget instead of a price, or use fs, which supports it."
        )
