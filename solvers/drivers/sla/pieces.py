r"""A linear objective over a union of polyhedra: rows, integers, and ordered sets with one nonzero member each.

A piece of P = {x : rows, integers, ordered sets of type 1} is the polyhedron that remains if the integers are fixed and
one member of each set is chosen as possibly nonzero. A linear objective over P is a mixed-integer program with a binary
z_k for each member of a set, sum z_k <= 1 and |x_k| <= M z_k.

The rows imply no M. Here M is ten times the largest value of the points so far. The chosen piece is then solved again
without M, by a linear program in which the other members are fixed by their bounds. Therefore points are exact for any
M, and M affects only the choice of the piece. Stationarity can still be claimed at a point strictly within M: if no
direction to a point of P within M descends, no direction to a point of P does, since each way to a better point in a
piece of this point starts within M.
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

ROOM = 10.0  # M, as a multiple of the largest value so far
LARGEST = 1e7  # largest M: beyond it an error of 1e-6 in a binary would allow large values
UNSEEN = 1e-9  # a smaller member counts as 0


@dataclass(frozen=True)
class Piece:
    """A piece: the fixed columns with their values, and whether it is proven to contain the best point."""

    columns: np.ndarray
    values: np.ndarray
    proven: bool


@dataclass(frozen=True)
class NoPiece:
    """No piece was found: ``infeasible`` if none exists, otherwise ``stop`` is the reason of the solver."""

    infeasible: bool
    stop: StopReason


class Pieces:
    """The pieces of a model, over the columns of ``rows``; ``sets``: the columns of each ordered set.

    ``runner``, ``seconds``: solver and time limit of the mixed-integer programs. These leave their points on the model.
    """

    def __init__(self, rows: LinearRows, sets: Sequence[np.ndarray], runner: Runner, seconds: float) -> None:
        self.rows, self.sets, self._seconds, self._x = rows, list(sets), seconds, rows.variables
        self.integers = np.array([k for k, v in enumerate(rows.variables) if not v.is_continuous()], dtype=int)
        self._determined = _determined(rows, self.integers)
        self._runner = runner
        self._most = 1.0
        self._build()

    def __len__(self) -> int:
        return len(self.integers) + len(self.sets)

    @property
    def near_integers(self) -> np.ndarray:
        """Mask of the columns that are integer, in an ordered set, or in a row with an integer."""
        integer = np.zeros(len(self.rows.variables))
        integer[self.integers] = 1.0
        size = abs(self.rows.matrix)
        near = np.asarray(size.T @ (size @ integer) + integer).ravel() > 0
        for members in self.sets:
            near[members] = True
        return near

    def widen(self, x: np.ndarray) -> bool:
        """Widen M to a multiple of the values of a point; return whether the point is strictly within M."""
        largest = max([0.0, *(float(np.abs(x[s]).max(initial=0.0)) for s in self.sets)])
        self._most = max(self._most, min(ROOM * largest, LARGEST))
        self._model.most.set_value(self._most)
        return largest < self._most

    def around(self, x: np.ndarray, cost: np.ndarray, proven: bool = False) -> Piece:
        """Return the piece of a point of P; in a set without a nonzero member, the cheapest member is open.

        Members that the integers determine are not considered.
        """
        values = {int(k): float(np.round(x[k])) for k in self.integers}
        for members in self.sets:
            sizes = np.abs(x[members])
            if sizes.max(initial=0.0) > UNSEEN:
                open_ = int(members[int(np.argmax(sizes))])
            else:
                free = [k for k in members.tolist() if k not in self._determined] or members.tolist()
                open_ = min(free, key=lambda k: -abs(cost[k]))
            for k in members.tolist():
                if k != open_ and k not in self._determined:
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
            infeasible = answer.status is SolutionStatus.INFEASIBLE and self._infeasible_without_m(clock)
            return NoPiece(infeasible, answer.stop_reason)
        x = np.array([v.value or 0.0 for v in self._x])
        return self.around(x, cost, answer.status is SolutionStatus.OPTIMAL)

    def least(self, x: np.ndarray, kept: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        """Return the point with the least sum of integers that equals x in the columns ``kept``; None if not found."""
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

    def _infeasible_without_m(self, clock: Clock) -> bool:
        """Return whether there is no piece for any M: the rows and integers alone have no point."""
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
        model.open = pyo.Var(places, domain=pyo.Binary, doc="1 if a member of a set may be nonzero")
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


def _determined(rows: LinearRows, integers: np.ndarray) -> set[int]:
    """Return the continuous columns that are alone with integers in an equation, which determine them."""
    integer, found = np.zeros(len(rows.variables), dtype=bool), set[int]()
    integer[integers] = True
    for r in np.flatnonzero(rows.lower == rows.upper).tolist():
        held = rows.matrix.indices[rows.matrix.indptr[r] : rows.matrix.indptr[r + 1]]
        other = held[~integer[held]]
        if len(other) == 1 and len(held) > 1:
            found.add(int(other[0]))
    return found


def _linear(x: Sequence[Any], columns: np.ndarray, coefficients: np.ndarray) -> Any:
    if not len(columns):
        return 0.0
    held = [x[k] for k in columns.tolist()]
    return LinearExpression(constant=0.0, linear_coefs=np.asarray(coefficients).tolist(), linear_vars=held)
