"""Proofs from the data a model was built from, for answers that else rest on a solver's tolerances.

A solver's bound is as good as its tolerances, which are absolute, and its point satisfies the rows as far as they go.
A builder knows more: weak duality turns any multipliers into a bound that holds exactly, and the rows say what the
slacks must be at given weights. ``Certificate`` tells whoever solves the model how; it speaks of the model as it was
built, so it remembers what that was.
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
from solvers.reading import ModelReading, read
from solvers.result import FEASIBLE, ROUNDING, TOLERANCE, SolutionStatus
from solvers.values import INSIDE, fixed, put_back


@dataclass
class Certificate:
    """How answers of a model are proven from its data.

    - ``rows``: whose multipliers ``bound`` reads, one array for all, in order; 0 where a row has none.
    - ``bound``: (model, multipliers or None) -> a bound on the optimum of the model as built, for any multipliers, and
      for none. None where no multipliers make one.
    - ``repair``: put a point on the model that satisfies the rows as built exactly, by the values that the model holds.
      None leaves them.
    - ``trivial``: put a point on the model that satisfies the rows as built, whatever values it holds.
    - ``least``: model -> a bound on the optimum as built where ``bound`` is None: for runs that a limit ends without
      any.
    - ``others``: further repairs, tried after an edit; the cheapest point that satisfies the rows stays.
    - ``offsets``: model -> the variables to which ``repair`` gives the values that are best for the objective as built.
      After an edit their own values may cost less, and fixed ones stay as they are.
    - ``trivial_if_better``: whether the trivial point replaces a repaired one that costs more. False for models whose
      solvers find stationary points: the trivial point need not be stationary.
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

    def seal(self, model: pyo.ConcreteModel, change: Change | None = None) -> Certificate:
        """Remember the model as it is, and its change of variables; a builder's last act on its components."""
        self.built, self.change = AsBuilt.of(model), change
        return self

    def violation(self, model: Any) -> float:
        """Return the largest violation, of rows that a user has added in the units of the change of variables too."""
        reading = read(model)
        worst = violation(reading)
        if self.change is None or self.built is None:
            return worst
        own = {id(row) for row in self.built.rows}
        return max(worst, self.change.violation(row for row in reading.rows if id(row) not in own))

    def row_data(self) -> list[Any]:
        """Return the rows' data in order."""
        return [row for component in self.rows for row in component.values()]

    def untouched(self, model: Any) -> bool:
        """Return whether the model is as built, but for the values of its parameters."""
        return self.built is not None and self.built.untouched(model)

    def at_hand(self, model: Any) -> float | None:
        """Return a bound that needs no solve, in the model's sense; None where there is none, or after an edit."""
        assert self.built is not None
        reading = read(model)
        model = reading.model
        if (self.bound is None and self.least is None) or not self.built.restricted(reading):
            return None
        return self.bound(model, None) if self.bound is not None else self.least(model)  # type: ignore[misc]

    def settle(self, model: Any, *, has_point: bool) -> float | None:
        """Put the model's point on its rows, or the trivial one where there is none, and return the violation left.

        Where the user has changed the model, the new values stay only if they satisfy its rows where the old ones did
        not, or satisfy them no worse and cost no more than the old ones missed; None where there is no point. Rows on
        the integers that the trivial point breaks, a feature that is forced in, are met by another choice of these.
        """
        assert self.built is not None
        reading = read(model)
        model = reading.model
        put = self.repair if has_point else self.trivial
        if put is None:
            return self.violation(reading)
        if self.built.untouched(reading):
            put(model)
            if has_point and self.trivial_if_better:
                self._better_trivial(reading)
            return 0.0
        if has_point:
            return self.mend(reading, reading)
        before = [(v, v.value) for v in reading.data(pyo.Var)]
        put(model)
        _as_fixed(before)
        left = self.violation(reading)
        if left > FEASIBLE and self.repair is not None and _choose_integers(model):
            self.repair(model)  # the same point at a choice that the user's rows allow
            _as_fixed(before)
            left = self.violation(reading)
        if left <= FEASIBLE:
            return left
        put_back(before)
        return None

    def mend(self, model: Any, part: Any, *, tempting: bool = True) -> float:
        """Repair the model's point as far as ``part`` allows, and return by how much it misses rows then.

        ``part``: whose rows and objective judge: the model, or a subproblem that refers to its variables. ``tempting``:
        whether values that miss rows by a tolerance may be worth far more than what they miss (a weight of 1e-7 where
        its binary is 0), so that values that satisfy the rows as built exactly, and miss those of a user no more, are
        better at any cost; never where rows as built are gone, as what they ask for then costs for nothing.
        """
        reading, part = read(model), read(part)
        tempting = tempting and self.built is not None and self.built.has_rows(reading)
        error, cost = self.violation(part), _cost(part)
        if self.repair is None:
            return error
        before, built = [(v, v.value) for v in reading.data(pyo.Var)], self._of_built(part)
        left = self._repaired(reading, part, before)
        exact = left <= ROUNDING < error or (left <= error and self._of_built(part) <= ROUNDING < built)
        # a lower cost of the old values was that of what they miss, in each of the variables
        missed = TOLERANCE * abs(cost) + error * len(before) * largest_coefficient(part.data(pyo.Objective)[0].expr)
        if left <= FEASIBLE < error or (tempting and exact):
            return left
        if left <= max(ROUNDING, error) and _cost(part) <= cost + missed:
            return left
        put_back(before)
        return error

    def _of_built(self, part: ModelReading) -> float:
        """Return the violation of the rows as built."""
        assert self.built is not None
        own = {id(row) for row in self.built.rows}
        return rows_violation(part, [row for row in part.rows if id(row) in own])

    def _repaired(self, reading: ModelReading, part: ModelReading, before: list[tuple[Any, Any]]) -> float:
        """Repair the point by each repair, with the offsets chosen anew or as they are; return the violation left.

        The cheapest point of those that satisfy the rows stays.
        """
        assert self.repair is not None
        found = []
        own = [] if self.offsets is None else [v for v in self.offsets(reading.model) if v.value is not None]
        for put, held in product((self.repair, *self.others), ([], own) if own else ([],)):
            put_back(before)
            with fixed([(v, v.value) for v in held]):
                put(reading.model)
            _as_fixed(before)
            left = self.violation(part)
            found.append((left > FEASIBLE, _cost(part), left, [(v, v.value) for v, _ in before]))
        *_, left, values = min(found, key=lambda one: one[:2])
        put_back(values)
        return left

    def _better_trivial(self, model: ModelReading) -> None:
        """Put the trivial point on a model as built where it costs less than the one that is there."""
        cost, there = _cost(model), [(v, v.value) for v in model.data(pyo.Var)]
        self.trivial(model.model)
        if not _cost(model) < cost:
            put_back(there)

    def bound_with(
        self, model: Any, duals: dict[Any, float], reported: float | None, *, minimize: bool
    ) -> float | None:
        """Return the bound that stands: what the multipliers of a solve prove, and beside it what the solver says.

        The solver's word counts where no row has multipliers, or where the user has changed the model.
        """
        assert self.built is not None
        reading = read(model)
        if self.bound is None or not self.built.restricted(reading):
            return reported
        rows = self.row_data()
        known = bool(rows) and all(row in duals for row in rows)
        proven = self.bound(reading.model, np.array([duals[row] for row in rows]) if known else None)
        if reported is None or (rows and self.built.untouched(reading)):
            return proven
        return max(reported, proven) if minimize else min(reported, proven)


def _as_fixed(before: list[tuple[Any, Any]]) -> None:
    for v, value in before:
        if v.fixed:
            v.set_value(value, skip_validation=True)


def _cost(model: ModelReading) -> float:
    objective = model.data(pyo.Objective)[0]
    return float(pyo.value(objective)) * (1.0 if objective.sense == pyo.minimize else -1.0)


CHOICE_SECONDS = 0.5  # a choice takes milliseconds, unless the rows are a puzzle
CHOICE_TERMS = 100_000  # more terms of rows take longer to read than that


def _choose_integers(model: Any) -> bool:
    """Put the free binaries at the choice with the fewest changes that the rows on them alone allow.

    Return True if there is one. Rows that hold a continuous variable are not read: the caller checks the whole point.
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
