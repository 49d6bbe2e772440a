"""What is done at a node: steps 2 and 3 of branch-and-cut, for a driver or for a process that was dealt nodes.

``CutLoop`` computes a node's relaxation by cuts: step 2 where the structure has no relaxation of its own. The letters
are those of the box in ``branch_and_cut``.

``Leaves`` closes nodes in which at most one more choice may be switched on, by asking the few choices that are left.
Their children would be relaxed one after the other, each with one choice less. The choices themselves are fewer: every
cut bounds each of them, they are asked in the order of these bounds, and each answer's cut bounds those left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.base import Ended
from solvers.drivers.tree.branching import Change, Node, PseudoCosts, Tree
from solvers.drivers.tree.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.tree.master import ROWS, MasterOptimum
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.drivers.tree.root import LOOSE
from solvers.facts.structure import Cut, RelaxedAnswer
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


SHARE = 0.05  # of what a node's bound lacks to the cutoff: how well its relaxation is solved
PLUNGE = 0.2  # of the way from the least bound to the cutoff
SEARCHES = 20  # nodes, after which wider exchanges are due again
SETTLED = 1e-4  # distance from an integer that an interior point takes for none


class Visits:
    """Bounds nodes and branches. ``nodes``: how many so far. ``centre``: the root's solution.

    ``fractional``: whether the subproblem can be asked at fractional points.
    """

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds, tree: Tree, *, fractional: bool) -> None:
        self.incumbents, self.bounds, self.tree = incumbents, bounds, tree
        self.lp, self.costs = incumbents.lp, incumbents.memory.costs
        self.cut_loop = CutLoop(incumbents, bounds, tree, self.costs, fractional=fractional)
        self._leaves = Leaves(incumbents, bounds)
        self.nodes = 0
        self.centre = np.zeros(0)

    def step(self) -> bool:
        """Visit the next open node, or leave it out; tell whether there was one."""
        node = self.tree.pop(self._plunge_below)
        if node is None:
            return False
        if node.bound < self.incumbents.cutoff:
            self(node)
        else:
            self.tree.leave_out(node.bound)
        return True

    @property
    def _plunge_below(self) -> float:
        """Children up to this bound are visited at once, which saves simplex iterations; others wait their turn."""
        bound, cutoff = self.tree.bound, self.incumbents.cutoff
        if not (np.isfinite(bound) and np.isfinite(cutoff)):
            return np.inf
        return bound + PLUNGE * max(0.0, cutoff - bound)

    def __call__(self, node: Node) -> None:
        """Bound a node and branch, or close it.

        Raises Ended where the run must stop; the node stays open.
        """
        self.nodes += 1
        lower, upper = self.lp.lower.copy(), self.lp.upper.copy()
        for column, least, most in node.changes:
            lower[column], upper[column] = max(lower[column], least), min(upper[column], most)
        if np.any(lower > upper):
            return
        if self._at_once(node, lower, upper):
            return
        try:
            self.cut_loop.visit(Visit(node, lower, upper, self.nodes, node.bound), self.centre)
        except Ended:
            self.tree.put_back(node)
            raise

    def _at_once(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> bool:
        """Bound a node by the structure's own relaxation, and branch or close it; False where that cannot be done."""
        lp, cutoff = self.lp, self.incumbents.cutoff
        left = (cutoff - node.bound) / max(abs(cutoff), 1e-10) if np.isfinite(cutoff) else 1.0
        answer = self.bounds.relax(lower, upper, float(np.clip(SHARE * left, 1e-6, 1e-3)), cutoff)
        if answer is None:
            return False
        for choice in answer.choices:
            self.incumbents.evaluate(choice)
        bound = max(node.bound, answer.bound)
        if node.column >= 0:
            self.costs.learn(node.column, node.up, node.distance, bound - node.bound)
        if self.nodes % 50 == 1:
            self.incumbents.round(answer.point)
        open_columns = lp.integer & (lower < upper)
        fractional = np.flatnonzero(open_columns & (np.abs(answer.point - np.round(answer.point)) > SETTLED))
        if not len(fractional):
            choice = np.where(lp.integer, np.round(answer.point), answer.point)[: lp.n]
            if not self.incumbents.has_offered(choice):
                self.incumbents.evaluate(choice)
        if bound >= self.incumbents.cutoff:
            self.tree.leave_out(bound)
            return True
        if not open_columns.any():
            return False
        closed = self._leaves.bound(answer.cut, lower, upper)
        if closed is not None:
            self.tree.leave_out(max(bound, closed))
            return True
        column = self.costs.choose(answer.point, fractional if len(fractional) else np.flatnonzero(open_columns))
        value = float(np.clip(answer.point[column], lower[column] + 1e-9, upper[column] - 1e-9))
        open_columns[column] = False
        self.tree.branch(node, bound, column, value, self._fixed(answer, open_columns, lower, upper))
        return True

    def _fixed(self, answer: RelaxedAnswer, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> list[Change]:
        """Return the bounds that hold in a subtree, because other values cost more than the incumbent allows."""
        least = answer.bound + np.abs(answer.reduced_costs)
        costly = columns & (least >= self.incumbents.cutoff)
        if not costly.any():
            return []
        self.tree.leave_out(float(least[costly].min()))
        at_lower = answer.reduced_costs > 0
        return [
            (k, -np.inf, float(lower[k])) if at_lower[k] else (k, float(upper[k]), np.inf)
            for k in np.flatnonzero(costly).tolist()
        ]


MOST = 30  # choices to ask; where more are left, branching rules several out at once


class Leaves:
    """Closes such nodes of a master whose variables are all binary and complicating."""

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds) -> None:
        self.incumbents, self.bounds, self.lp = incumbents, bounds, incumbents.lp
        lp = self.lp
        whole = lp.size == lp.n and bool(lp.integer.all())
        self._able = whole and bool(np.all((lp.lower >= 0) & (lp.upper <= 1)))
        self._matrix = lp.linear.matrix.toarray() if self._able else np.empty((0, lp.size))
        self._sizes = np.abs(self._matrix)
        self._most = 2.0 * self._sizes.max(axis=1, initial=0.0)

    def bound(self, cut: Cut, lower: np.ndarray, upper: np.ndarray) -> float | None:
        """Return a proven bound on all choices of a node, not below what prunes it; None where it is not closed."""
        lp, incumbents = self.lp, self.incumbents
        free = np.flatnonzero(lower < upper)
        if not self._able or not len(free) or not self._one_at_most(lower, free):
            return None
        pool, cost = incumbents.pool, lp.cost
        steps = np.append(free, -1)  # -1: none of them
        at = lp.value(lower) + np.append(cost[free], 0.0)
        known = np.append(cut.coefficients[free], 0.0) + cut.constant + float(cut.coefficients @ lower)
        bounds = np.where(self._allowed(lower, free), at + np.maximum(known, pool.along(lower, free)), np.inf)
        if np.count_nonzero(bounds < incumbents.cutoff) > MOST:
            return None
        collected = np.inf
        while (k := int(np.argmin(bounds))) >= 0 and bounds[k] < incumbents.cutoff:
            choice = lower.copy()
            if steps[k] >= 0:
                choice[steps[k]] = 1.0
            proven, further = self._settled(choice)
            if proven == -np.inf:
                return None
            if proven < incumbents.cutoff:
                if incumbents.near is None or not incumbents.near.holds(choice):  # asked, and yet not settled
                    return None
                collected, proven = min(collected, proven), np.inf
            if further is not None:
                known = np.append(further.coefficients[free], 0.0) + further.constant + further.coefficients @ lower
                bounds = np.maximum(bounds, at + known)
            bounds[k] = proven
        return min(collected, float(bounds.min()))

    def _settled(self, choice: np.ndarray) -> tuple[float, Cut | None]:
        """Return what is proven of a choice, -inf where nothing is, and a cut near to it; it may become the incumbent.

        Its value is only asked for where its bound does not rule it out, at half the price or less.
        """
        incumbents = self.incumbents
        if not incumbents.knows(choice):
            below = self.bounds.at(choice, incumbents.cutoff)
            if below is not None and below.bound >= incumbents.cutoff:
                return below.bound, below.cut
        answer = incumbents.ask(choice, TIGHT)
        if answer is None or (answer.value is not None and answer.cut is None):
            return -np.inf, None
        incumbents.offer(choice, answer)
        if answer.value is None:
            return np.inf, None
        return self.lp.value(choice) + answer.bound, answer.cut

    def _allowed(self, lower: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Tell which of the choices meet the rows, to rounding; the last is none of the free ones."""
        rows, M = self.lp.linear, self._matrix
        activity = (M @ lower)[:, None] + np.column_stack([M[:, free], np.zeros(len(M))])
        slack = ROWS * (
            1.0 + (self._sizes @ lower)[:, None] + np.column_stack([self._sizes[:, free], np.zeros(len(M))])
        )
        above, below = rows.upper[:, None] + slack, rows.lower[:, None] - slack
        return np.asarray(((activity <= above) & (activity >= below)).all(axis=0))

    def _one_at_most(self, lower: np.ndarray, free: np.ndarray) -> bool:
        """Tell whether some row leaves no room for two more of the free choices."""
        if len(free) == 1:
            return True
        left = self.lp.linear.upper - self._matrix @ lower
        if np.all(self._most <= left):  # most nodes: there is room for any two
            return False
        steps = self._matrix[:, free]
        positive = np.all(steps > 0, axis=1) & np.isfinite(left)
        if not positive.any():
            return False
        two = np.partition(steps[positive], 1, axis=1)[:, :2].sum(axis=1)
        return bool(np.any(two > left[positive] * (1 + 1e-9) + 1e-9))
