r"""A linear objective over the union of polyhedra: rows, integers, and ordered sets of which one member may be nonzero.

A piece of P = {x : rows, integers, ordered sets of type 1} is what is left where the integers, and the member of each
set that may be nonzero, are chosen: a polyhedron. A linear objective over P is a mixed-integer program with a binary
z_k for each member of a set, sum z_k <= 1 and |x_k| <= M z_k.

No M follows from the rows. Here it is ten times the largest size that points have shown so far; the piece that is
found is solved again without any M, by a linear program of its own in which what is closed is closed by its bounds. So
points are exact whatever M is, and M decides only which pieces are found. No local claim is lost by it: at a point
strictly within M, where no direction of the points of P within M descends, none of P does, as the way to a better
point of a piece that holds it starts within.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.clock import Clock
from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.interfaces.runner import Runner
from solvers.model.linear import LinearRows
from solvers.result import SolutionStatus, StopReason

ROOM = 10.0  # of the largest size seen: M
LARGEST = 1e7  # M is no larger: 1e-6 off an integer would be a size of its own
UNSEEN = 1e-9  # a member below it counts as 0


@dataclass(frozen=True)
class Piece:
    """A piece: its fixed columns with their values, and whether it is proven to have the best point."""

    columns: np.ndarray
    values: np.ndarray
    proven: bool


@dataclass(frozen=True)
class NoPiece:
    """No piece was found: ``infeasible`` where none exists, else the reason why the solver stopped."""

    infeasible: bool
    stop: StopReason


class Pieces:
    """The pieces of a model, over the columns of ``rows``; ``sets`` are columns of each ordered set.

    ``runner``: of the mixed-integer programs. ``seconds``: time limit of each.
    """

    def __init__(self, rows: LinearRows, sets: Sequence[np.ndarray], runner: Runner, seconds: float) -> None:
        self.rows, self.sets, self._seconds, self._x = rows, list(sets), seconds, rows.variables
        self.integers = np.array([k for k, v in enumerate(rows.variables) if not v.is_continuous()], dtype=int)
        self._tied = _tied(rows, self.integers)
        self._runner = runner
        self._most = 1.0
        self._build()

    def __len__(self) -> int:
        return len(self.integers) + len(self.sets)

    @property
    def beside_integers(self) -> np.ndarray:
        """Mask of the columns that are integer, in an ordered set, or in a row with an integer."""
        whole = np.zeros(len(self.rows.variables))
        whole[self.integers] = 1.0
        size = abs(self.rows.matrix)
        near = np.asarray(size.T @ (size @ whole) + whole).ravel() > 0
        for members in self.sets:
            near[members] = True
        return near

    def see(self, x: np.ndarray) -> bool:
        """Widen M to a multiple of the sizes of a point; return whether the point is strictly within."""
        largest = max([0.0, *(float(np.abs(x[s]).max(initial=0.0)) for s in self.sets)])
        self._most = max(self._most, min(ROOM * largest, LARGEST))
        self._model.most.set_value(self._most)
        return largest < self._most

    def around(self, x: np.ndarray, cost: np.ndarray, proven: bool = False) -> Piece:
        """Return the piece of a point of P; where a set has no nonzero member, the cheapest member is open.

        Members that are determined by the integers are not considered.
        """
        values = {int(k): float(np.round(x[k])) for k in self.integers}
        for members in self.sets:
            sizes = np.abs(x[members])
            if sizes.max(initial=0.0) > UNSEEN:
                open_ = int(members[int(np.argmax(sizes))])
            else:
                free = [k for k in members.tolist() if k not in self._tied] or members.tolist()
                open_ = min(free, key=lambda k: -abs(cost[k]))
            for k in members.tolist():
                if k != open_ and k not in self._tied:
                    values[int(k)] = 0.0
        return Piece(np.array(list(values), dtype=int), np.array(list(values.values())), proven)

    def best(self, cost: np.ndarray, time_limit: float | None) -> Piece | NoPiece:
        """Return the piece with the cheapest point within M."""
        model = self._model
        used = np.flatnonzero(cost)
        size = float(np.abs(cost).max(initial=0.0)) or 1.0  # tolerances are absolute
        model.cost.set_value(_linear(self._x, used, cost[used] / size))
        clock = Clock(time_limit)
        answer = self._runner.solve(model, time_limit=self._limit(clock), integer=True)
        if not answer.has_point:
            hopeless = answer.status is SolutionStatus.INFEASIBLE and self._hopeless(clock)
            return NoPiece(hopeless, answer.stop_reason)
        x = np.array([v.value or 0.0 for v in self._x])
        return self.around(x, cost, answer.status is SolutionStatus.OPTIMAL)

    def least(self, x: np.ndarray, kept: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        """Return the point with the least sum of integers that equals x in the columns ``kept``; None without one."""
        model = self._model
        model.cost.set_value(_linear(self._x, self.integers, np.ones(len(self.integers))))
        before = [(v, v.lb, v.ub) for v in (self._x[k] for k in kept.tolist())]
        for k in kept.tolist():
            self._x[k].setlb(float(x[k]))
            self._x[k].setub(float(x[k]))
        try:
            answer = self._runner.solve(model, time_limit=self._limit(Clock(time_limit)), integer=True)
        finally:
            for v, low, high in before:
                v.setlb(low)
                v.setub(high)
        return np.array([v.value or 0.0 for v in self._x]) if answer.has_point else None

    def _limit(self, clock: Clock) -> float:
        """Return the time limit of one program."""
        return self._seconds if clock.left is None else min(self._seconds, clock.left)

    def _hopeless(self, clock: Clock) -> bool:
        """Return whether there is no piece with any M: the rows and integers alone have no point."""
        model = self._model
        model.cost.set_value(0.0)
        model.within.deactivate()
        try:
            answer = self._runner.solve(model, time_limit=self._limit(clock), integer=True)
        finally:
            model.within.activate()
        return answer.status is SolutionStatus.INFEASIBLE

    def _build(self) -> None:
        model = self._model = pyo.ConcreteModel(name="pieces")
        model.x = pyo.Reference(dict(enumerate(self._x)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(self.rows.rows)), ctype=pyo.Constraint)
        model.most = pyo.Param(initialize=self._most, mutable=True, doc="M")
        places = [(s, k) for s, members in enumerate(self.sets) for k in members.tolist()]
        model.open = pyo.Var(places, domain=pyo.Binary, doc="whether a member of a set may be nonzero")
        model.one = pyo.Constraint(
            range(len(self.sets)),
            rule=lambda m, s: pyo.quicksum(m.open[s, k] for k in self.sets[s].tolist()) <= 1,
        )
        model.within = pyo.ConstraintList(doc="|x_k| <= M z_k")
        for s, k in places:
            v = self._x[k]
            if v.ub is None or v.ub > 0:
                model.within.add(v <= (model.most if v.ub is None else float(v.ub)) * model.open[s, k])
            if v.lb is None or v.lb < 0:
                model.within.add(v >= (-model.most if v.lb is None else float(v.lb)) * model.open[s, k])
        model.cost = pyo.Objective(expr=0.0)


def ordered_sets(reading: Any, column: dict[int, int], who: str) -> list[np.ndarray]:
    """Return the columns of the free members of each ordered set of a model.

    Raises ModelError, naming a set of another type than 1.
    """
    found = []
    for ordered in reading.stated(pyo.SOSConstraint):
        if ordered.level != 1:
            raise ModelError(
                f'Ordered set "{ordered.name}" is of type {ordered.level}: "{who}" takes those of type 1, of which one '
                f"member may be nonzero. Solve the model whole by name: {either(C.SOS)}."
            )
        held = [v for v, _ in ordered.get_items()]
        if stuck := next((v for v in held if v.fixed and v.value), None):
            raise ModelError(
                f'"{stuck.name}" of ordered set "{ordered.name}" is fixed at {stuck.value:g}: fix the other members '
                "at 0, and deactivate the set."
            )
        found.append(np.array([column[id(v)] for v in held if id(v) in column], dtype=int))
    return [members for members in found if len(members)]


def _tied(rows: LinearRows, integers: np.ndarray) -> set[int]:
    """Return the columns that are the only continuous ones of an equality, and so determined by the integers."""
    whole, found = np.zeros(len(rows.variables), dtype=bool), set[int]()
    whole[integers] = True
    for r in np.flatnonzero(rows.lower == rows.upper).tolist():
        held = rows.matrix.indices[rows.matrix.indptr[r] : rows.matrix.indptr[r + 1]]
        other = held[~whole[held]]
        if len(other) == 1 and len(held) > 1:
            found.add(int(other[0]))
    return found


def _linear(x: Sequence[Any], columns: np.ndarray, coefficients: np.ndarray) -> Any:
    if not len(columns):
        return 0.0
    held = [x[k] for k in columns.tolist()]
    return LinearExpression(constant=0.0, linear_coefs=np.asarray(coefficients).tolist(), linear_vars=held)
