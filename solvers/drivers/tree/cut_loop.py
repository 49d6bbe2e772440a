"""A node's relaxation by cuts: step 2 of branch-and-cut where the structure has no relaxation of its own.

The letters are those of the box in ``branch_and_cut``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.base import Ended
from solvers.drivers.tree.branching import Node, PseudoCosts, Tree
from solvers.drivers.tree.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.tree.master import MasterOptimum
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.drivers.tree.root import LOOSE
from solvers.facts.structure import Cut
from solvers.lp.highs import LP_TOLERANCE, LpStatus
from solvers.result import StopReason

OUT = 0.4  # step c asks at this share of the LP's point, the rest of the root's
PAYS = 0.2  # share of fractional cuts that must be violated for step c to go on at every node


@dataclass
class Visit:
    """A node while it is visited: its bounds on the variables, and what was asked there."""

    node: Node
    lower: np.ndarray
    upper: np.ndarray
    number: int
    bound: float
    relaxed: MasterOptimum | None = None
    asked_inside: bool = False
    closed_by: set[bytes] = field(default_factory=set)  # integral points whose cut the LP has: asking again never ends


class CutLoop:
    """Visits nodes by cuts. ``fractional``: whether the subproblem can be asked at fractional points."""

    def __init__(
        self, incumbents: IncumbentSearch, bounds: NodeBounds, tree: Tree, costs: PseudoCosts, *, fractional: bool
    ) -> None:
        self.incumbents, self.bounds, self.tree, self.costs = incumbents, bounds, tree, costs
        self.lp, self._fractional = incumbents.lp, fractional
        self._tried = self._paid = 0

    def visit(self, visit: Visit, centre: np.ndarray) -> None:
        """Bound a node and branch, or close it; ``centre`` is the root's solution.

        Raises Ended where time is up, or the LP's solver has failed.
        """
        lp = self.lp
        while True:
            # An incumbent may have fixed some.
            visit.lower, visit.upper = np.maximum(visit.lower, lp.lower), np.minimum(visit.upper, lp.upper)
            if np.any(visit.lower > visit.upper):
                return
            relaxed = self.bounds.solve(visit.lower, visit.upper)  # a
            if not isinstance(relaxed, MasterOptimum):
                if self._is_empty(relaxed, centre):
                    return
                continue
            self._learn(visit, relaxed)
            if visit.bound >= self.incumbents.cutoff:
                self.tree.leave_out(visit.bound)
                return
            if lp.restore_violated(relaxed):
                continue
            fractional = lp.fractional(relaxed.point)
            if not len(fractional):
                if not self._cut_integral(visit, relaxed):  # b
                    return
            elif not self._cut_inside(visit, relaxed, centre):  # c
                break
        self._branch(visit, relaxed, fractional)

    def _is_empty(self, status: LpStatus, centre: np.ndarray) -> bool:
        """Tell whether a node without an LP's optimum has no point; False where the LP has got its floor instead."""
        if status is LpStatus.INFEASIBLE:
            return True
        if status is LpStatus.UNBOUNDED and not self.lp.floored:
            return self.bounds.add_floor(centre) is None
        raise Ended(StopReason.TIME_LIMIT if status is LpStatus.LIMIT else StopReason.SOLVER_ERROR)

    def _learn(self, visit: Visit, relaxed: MasterOptimum) -> None:
        """Raise the node's bound; its first LP tells what branching has gained."""
        first, node = visit.relaxed is None, visit.node
        visit.relaxed, visit.bound = relaxed, max(visit.bound, relaxed.bound)
        if first and node.column >= 0:
            self.costs.learn(node.column, node.up, node.distance, visit.bound - node.bound)

    def _cut_integral(self, visit: Visit, relaxed: MasterOptimum) -> bool:
        """Ask at the LP's integral point (b); False where that settles the node."""
        lp, tree = self.lp, self.tree
        point = np.where(lp.integer, np.round(relaxed.point), relaxed.point)
        open_columns = np.flatnonzero(lp.integer & (visit.lower < visit.upper))
        if len(open_columns) and not lp.within(point, LP_TOLERANCE):  # rounding has broken a row
            self._split(visit, relaxed, point, open_columns)
            return False
        answer = self.incumbents.ask(point[: lp.n], TIGHT)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        objective = self.incumbents.offer(point, answer)
        key = point[: lp.n].tobytes()
        # Compared at the rounded point: where coefficients are huge, 1e-8 off it the cut says nothing.
        solved = objective is not None and relaxed.eta >= answer.bound - 1e-7 * max(1e-10, abs(answer.bound))
        if solved and len(open_columns) and self.incumbents.near is not None:  # other points may be near
            self._split(visit, relaxed, point, open_columns)
        elif answer.cut is None or solved:
            tree.leave_out(visit.bound)
        elif not len(open_columns) and lp.integer[: lp.n].all():
            # Nothing is left to choose: the answer bounds the node, whatever the LP can resolve of it.
            if objective is not None:
                tree.leave_out(max(visit.bound, lp.value(point) + answer.bound))
        elif key not in visit.closed_by:
            visit.closed_by.add(key)
            lp.add(answer)
            return True
        elif not len(open_columns):
            tree.leave_out(visit.bound)
        else:  # the LP is not accurate enough to see its cut
            self._split(visit, relaxed, point, open_columns)
        return False

    def _split(self, visit: Visit, relaxed: MasterOptimum, rounded: np.ndarray, columns: np.ndarray) -> None:
        """Branch on the column that rounding has moved most, off its value there."""
        column = int(columns[int(np.argmax(np.abs(relaxed.point - rounded)[columns]))])
        at = rounded[column] + (0.5 if rounded[column] < visit.upper[column] else -0.5)
        self.tree.branch(visit.node, visit.bound, column, float(at))

    def _cut_inside(self, visit: Visit, relaxed: MasterOptimum, centre: np.ndarray) -> bool:
        """Ask a little inside, towards the root's solution (c); tell whether the LP has got a cut by it."""
        if visit.asked_inside or not self._worth_asking(visit.number):
            return False
        visit.asked_inside = True
        inside = OUT * relaxed.point + (1 - OUT) * np.clip(centre, visit.lower, visit.upper)
        answer = self.incumbents.ask(inside[: self.lp.n], LOOSE)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        self._tried += 1
        violated = self._violated(answer.cut, relaxed, 1e-4)
        if violated:
            self._paid += 1
            self.lp.add(answer)
        return violated

    def _worth_asking(self, number: int) -> bool:
        if not self._fractional:
            return False
        return self._tried < 20 or self._paid > PAYS * self._tried or number % 10 == 0

    def _violated(self, cut: Cut | None, relaxed: MasterOptimum, tolerance: float) -> bool:
        if cut is None:
            return False
        value = cut.at(relaxed.point[: self.lp.n])
        return value > relaxed.eta + tolerance * max(1.0, abs(value))

    def _branch(self, visit: Visit, relaxed: MasterOptimum, fractional: np.ndarray) -> None:
        """Branch on a fractional variable."""
        if visit.number % 50 == 1:
            self.incumbents.round(relaxed.point)
        column = self.costs.choose(relaxed.point, fractional)
        self.tree.branch(visit.node, visit.bound, column, float(relaxed.point[column]))
