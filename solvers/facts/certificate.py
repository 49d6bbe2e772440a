"""Proofs of solutions from the data of a model, independent of the tolerances of a solver.

The bound and the point of a solver are valid up to its absolute tolerances only. A builder can do better: weak duality
turns any multipliers into an exact bound, and the rows determine the slacks for given weights. A ``Certificate``
contains functions for both. They hold for the model as built, so it has a snapshot of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.errors import ModelError, SolverError
from solvers.facts.change import Change
from solvers.facts.snapshot import AsBuilt
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.classes import rows_violation, violation
from solvers.model.expressions import largest_coefficient, variables
from solvers.model_cache import ModelCache, cached
from solvers.result import FEASIBLE, ROUNDING, TOLERANCE, SolutionStatus
from solvers.values import INSIDE, fixed, put_back


@dataclass
class Certificate:
    """Functions that prove the solutions of a model from its data.

    - ``rows``: the rows whose multipliers ``bound`` uses, as one array in this order; 0 for a missing multiplier.
    - ``bound``: (model, multipliers or None) -> a bound on the optimum of the model as built, for any multipliers.
      None if multipliers give no bound.
    - ``repair``: replaces the values of the model by a near point that satisfies the rows as built exactly. None if the
      values are not changed.
    - ``trivial``: sets a point that satisfies the rows as built and does not depend on the values of the model.
    - ``least``: model -> a bound on the optimum as built if ``bound`` is None, for runs that reach a limit without a
      bound.
    - ``others``: further repairs after an edit; the cheapest point that satisfies the rows is kept.
    - ``offsets``: model -> the variables that ``repair`` sets to the best values for the objective as built. After an
      edit their present values may cost less, and fixed variables are not changed.
    - ``trivial_if_better``: replace a repaired point by the trivial one if that costs less. False for models whose
      solvers find stationary points, because the trivial point may not be stationary.
    """

    rows: list[Any]
    bound: Callable[[Any, np.ndarray | None], float] | None
    repair: Callable[[Any], None] | None
    trivial: Callable[[Any], None]
    least: Callable[[Any], float] | None = None
    offsets: Callable[[Any], list[Any]] | None = None
    others: Sequence[Callable[[Any], None]] = ()
    trivial_if_better: bool = True
    built: AsBuilt | None = field(default=None, init=False)
    change: Change | None = field(default=None, init=False)

    def attach(self, model: pyo.ConcreteModel, change: Change | None = None) -> Certificate:
        """Take the snapshot of the model and its change of variables, as the last step of a builder."""
        self.built, self.change = AsBuilt.of(model), change
        return self

    def violation(self, model: Any) -> float:
        """Return the largest violation; added rows are measured in the units of the change of variables too."""
        cache = cached(model)
        worst = violation(cache)
        if self.change is None or self.built is None:
            return worst
        return max(worst, self.change.violation(self.built.added(cache.rows)))

    def row_data(self) -> list[Any]:
        """Return the data of the rows in order."""
        return [row for component in self.rows for row in component.values()]

    def untouched(self, model: Any) -> bool:
        """Return True if the model is as built, except for the values of its parameters."""
        return self.built is not None and self.built.untouched(model)

    def at_hand(self, model: Any) -> float | None:
        """Return a bound without a solve, in the sense of the model; None if there is none, or after an edit."""
        assert self.built is not None
        cache = cached(model)
        model = cache.model
        if (self.bound is None and self.least is None) or not self.built.restricted(cache):
            return None
        return self.bound(model, None) if self.bound is not None else self.least(model)  # type: ignore[misc]

    def repair_point(self, model: Any, *, has_point: bool) -> float | None:
        """Repair the point of the model, or set the trivial one if there is none; return the remaining violation.

        After an edit of the model, the new values are kept only if they satisfy the rows and the old ones did not, or
        if they satisfy them no worse at a cost within the violation of the old ones. Return None if there is no point.
        If the trivial point violates rows on the integers, such as a required feature, other integers are chosen.
        """
        assert self.built is not None
        cache = cached(model)
        model = cache.model
        put = self.repair if has_point else self.trivial
        if put is None:
            return self.violation(cache)
        if self.built.untouched(cache):
            put(model)
            if has_point and self.trivial_if_better:
                self._better_trivial(cache)
            return 0.0
        if has_point:
            return self.repair_within(cache, cache)
        before = [(v, v.value) for v in cache.data(pyo.Var)]
        put(model)
        _as_fixed(before)
        left = self.violation(cache)
        if left > FEASIBLE and self.repair is not None and _choose_integers(model):
            self.repair(model)  # the same point with integers that the rows of the user allow
            _as_fixed(before)
            left = self.violation(cache)
        if left <= FEASIBLE:
            return left
        put_back(before)
        return None

    def repair_within(self, model: Any, part: Any, *, tempting: bool = True) -> float:
        """Repair the point of the model if its part allows that, and return the remaining violation.

        - ``part``: the model, or a subproblem that refers to its variables; its rows and objective decide.
        - ``tempting``: True if values that violate rows by a tolerance may gain much more than the violation, such as a
          weight of 1e-7 with its binary at 0. Values that satisfy the rows as built exactly, and violate those of the
          user no more, are then better at any cost. Not used if rows as built were removed.
        """
        cache, part = cached(model), cached(part)
        tempting = tempting and self.built is not None and self.built.has_rows(cache)
        error, cost = self.violation(part), _cost(part)
        if self.repair is None:
            return error
        before, built = [(v, v.value) for v in cache.data(pyo.Var)], self._of_built(part)
        left = self._repaired(cache, part, before)
        exact = left <= ROUNDING < error or (left <= error and self._of_built(part) <= ROUNDING < built)
        # the largest gain of the old values by their violation, in each of the variables
        gain = TOLERANCE * abs(cost) + error * len(before) * largest_coefficient(part.data(pyo.Objective)[0].expr)
        if left <= FEASIBLE < error or (tempting and exact):
            return left
        if left <= max(ROUNDING, error) and _cost(part) <= cost + gain:
            return left
        put_back(before)
        return error

    def _of_built(self, part: ModelCache) -> float:
        """Return the violation of the rows as built."""
        assert self.built is not None
        own = {id(row) for row in self.built.rows}
        return rows_violation(part, [row for row in part.rows if id(row) in own])

    def _repaired(self, cache: ModelCache, part: ModelCache, before: list[tuple[Any, Any]]) -> float:
        """Apply each repair, with new and with present offsets; return the remaining violation.

        The cheapest of the points that satisfy the rows is kept.
        """
        assert self.repair is not None
        found = []
        own = [] if self.offsets is None else [v for v in self.offsets(cache.model) if v.value is not None]
        for put, held in product((self.repair, *self.others), ([], own) if own else ([],)):
            put_back(before)
            with fixed([(v, v.value) for v in held]):
                put(cache.model)
            _as_fixed(before)
            left = self.violation(part)
            found.append((left > FEASIBLE, _cost(part), left, [(v, v.value) for v, _ in before]))
        *_, left, values = min(found, key=lambda one: one[:2])
        put_back(values)
        return left

    def _better_trivial(self, model: ModelCache) -> None:
        """Set the trivial point of a model as built if it costs less than the present one."""
        cost, before = _cost(model), [(v, v.value) for v in model.data(pyo.Var)]
        self.trivial(model.model)
        if not _cost(model) < cost:
            put_back(before)

    def bound_with(
        self, model: Any, duals: dict[Any, float], reported: float | None, *, minimize: bool
    ) -> float | None:
        """Return the valid bound: that of the multipliers of a solve, or the bound that the solver reports.

        The reported bound is used if no row has multipliers, or if the user has changed the model.
        """
        assert self.built is not None
        cache = cached(model)
        if self.bound is None or not self.built.restricted(cache):
            return reported
        rows = self.row_data()
        known = bool(rows) and all(row in duals for row in rows)
        proven = self.bound(cache.model, np.array([duals[row] for row in rows]) if known else None)
        if reported is None or (rows and self.built.untouched(cache)):
            return proven
        return max(reported, proven) if minimize else min(reported, proven)


def _as_fixed(before: list[tuple[Any, Any]]) -> None:
    for v, value in before:
        if v.fixed:
            v.set_value(value, skip_validation=True)


def _cost(model: ModelCache) -> float:
    objective = model.data(pyo.Objective)[0]
    return float(pyo.value(objective)) * (1.0 if objective.sense == pyo.minimize else -1.0)


CHOICE_SECONDS = 0.5  # a choice takes milliseconds, unless the rows are difficult
CHOICE_TERMS = 100_000  # more terms take longer to read than this limit


def _choose_integers(model: Any) -> bool:
    """Set the free binaries to the choice with the fewest changes that satisfies the rows on binaries only.

    Return True if there is one. Rows with a continuous variable are not read: the caller checks the whole point.
    """
    rows = []
    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE):
        if all(v.fixed or v.is_binary() for v in variables(row.body)):
            held = list(variables(row.body))
            if not all(v.fixed for v in held):
                rows.append((row, held))
    free = list({id(v): v for _, held in rows for v in held if not v.fixed}.values())
    if not free or sum(len(held) for _, held in rows) > CHOICE_TERMS:
        return False
    trial = pyo.ConcreteModel(name="first choice")
    trial.variables = pyo.Reference(dict(enumerate(free)), ctype=pyo.Var)
    trial.rows = pyo.Reference(dict(enumerate(row for row, _ in rows)), ctype=pyo.Constraint)
    trial.changes = pyo.Objective(expr=pyo.quicksum(1 - v if (v.value or 0.0) > 0.5 else v for v in free))
    try:
        answer = Runner(find("highs"), SolveOptions()).solve(trial, time_limit=CHOICE_SECONDS, integer=True)
    except (ModelError, SolverError):
        return False
    if not answer.has_point or answer.status not in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE):
        return False
    for v in free:
        v.set_value(round(v.value), skip_validation=True)
    return True
