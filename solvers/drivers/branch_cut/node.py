"""Processing of a node: steps 2 and 3 of branch-and-cut, for the driver and for its workers.

``NodeBounds`` computes the bound of a node, by the structure's own relaxation or by the LP over cuts. ``Visits``
branches and closes nodes by these bounds; the letters are those of the algorithm in ``branch_and_cut``.

``Leaves`` closes nodes in which at most one more choice may be switched on, by evaluating the few choices that are
left. Branching would relax their children one after the other, each with one choice less. Every cut bounds each
choice; they are evaluated in the order of these bounds, and the cut of each answer bounds the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.base import Ended
from solvers.drivers.benders.relaxation import why_unbounded
from solvers.drivers.branch_cut.branching import Change, Node, Tree
from solvers.drivers.branch_cut.incumbents import LOOSE, TIGHT, IncumbentSearch, SearchContext
from solvers.drivers.branch_cut.master import ROWS, MasterOptimum
from solvers.errors import SolverError
from solvers.facts.structure import Cut, Relaxation, RelaxedAnswer
from solvers.lp.highs import LP_TOLERANCE, LpStatus
from solvers.result import StopReason

OUT = 0.4  # weight of the LP's point in the point of step c; the rest is the root's solution
PAYS = 0.2  # share of fractional cuts that must be violated for step c to go on at every node

KEPT_CUTS = 400  # cuts kept in the LP besides one for each column
ACCURATE = 1e-6  # relative gap of bounds at points


class NodeBounds:
    """Relaxations within bounds on the master's variables; their cuts go to the pool of the incumbents."""

    def __init__(self, driver: SearchContext, incumbents: IncumbentSearch, relaxation: Relaxation | None) -> None:
        self.driver, self.incumbents, self.lp, self._relaxation = driver, incumbents, incumbents.lp, relaxation

    def relax(self, lower: np.ndarray, upper: np.ndarray, accuracy: float, enough: float) -> RelaxedAnswer | None:
        """Solve the structure's relaxation within bounds, or until its bound is ``enough``.

        Return None where the structure has none, or it fails.
        """
        if self._relaxation is None:
            return None
        driver = self.driver
        with driver.timing("subproblem"):
            answer = self._relaxation(
                self.lp.linear, lower, upper, accuracy=accuracy, enough=enough, time_limit=driver.clock.left
            )
        self.incumbents.solved += 1
        if answer is not None:
            self.incumbents.pool.add(answer.cut)
        return answer

    def solve(self, lower: np.ndarray, upper: np.ndarray) -> MasterOptimum | LpStatus:
        """Solve the LP over cuts within bounds; it gets a floor if it is unbounded."""
        if self.lp.cuts > KEPT_CUTS + self.lp.size:
            self.lp.drop_slack_cuts(keep_last=100)
        with self.driver.timing("master"):
            found = self.lp.solve(lower, upper, self.driver.clock.left)
        if found is not LpStatus.UNBOUNDED or self.lp.floored:
            return found
        return LpStatus.INFEASIBLE if self.add_floor(lower) is None else self.solve(lower, upper)

    def add_floor(self, centre: np.ndarray) -> np.ndarray | None:
        """Bound the LP from below; return a point of the master near the relaxation's optimum, None if infeasible.

        Raises UnboundedProblem if the model is unbounded or infeasible. Raises SolverError if no bound of the LP is
        found.
        """
        floor, point = self.driver.find_floor()
        if floor == np.inf:
            return None
        if floor == -np.inf or self.lp.floored:
            raise SolverError(why_unbounded(self.lp.variables))
        self.lp.add_floor(floor)
        return centre if point is None else np.append(point, centre[self.lp.n :])


@dataclass
class Visit:
    """A node that is processed: its bounds on the variables, and where the subproblem was solved."""

    node: Node
    lower: np.ndarray
    upper: np.ndarray
    number: int
    bound: float
    relaxed: MasterOptimum | None = None
    cut_inside_done: bool = False
    closed_by: set[bytes] = field(default_factory=set)  # integral points whose cut is in the LP


SHARE = 0.05  # accuracy of a node's relaxation, as a share of the distance from its bound to the cutoff
PLUNGE = 0.2  # of the way from the least bound to the cutoff
SEARCHES = 20  # nodes between wider exchanges
SETTLED = 1e-4  # distance from an integer within which a value of an interior point counts as integral


class Visits:
    """Bounds nodes and branches. ``nodes``: their number so far. ``centre``: the root's solution.

    ``fractional``: whether the subproblem can be solved at fractional points.
    """

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds, tree: Tree, *, fractional: bool) -> None:
        self.incumbents, self.bounds, self.tree = incumbents, bounds, tree
        self.lp, self.costs = incumbents.lp, incumbents.memory.costs
        self._fractional = fractional
        self._tried = self._paid = 0  # cuts at fractional points, and those that were violated
        self._leaves = Leaves(incumbents, bounds)
        self.nodes = 0
        self.centre = np.zeros(0)

    def step(self) -> bool:
        """Process or prune the next open node; return whether there was one."""
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
        """Bound up to which children are processed next, which saves simplex iterations."""
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
        if self._by_relaxation(node, lower, upper):
            return
        try:
            self._by_cuts(Visit(node, lower, upper, self.nodes, node.bound))
        except Ended:
            self.tree.put_back(node)
            raise

    def _by_relaxation(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> bool:
        """Bound a node by the structure's relaxation, and branch or close it; return False where it has none."""
        lp, cutoff = self.lp, self.incumbents.cutoff
        left = (cutoff - node.bound) / max(abs(cutoff), 1e-10) if np.isfinite(cutoff) else 1.0
        accuracy = float(np.clip(SHARE * left, 1e-6, 1e-3))
        answer = self.bounds.relax(lower, upper, accuracy, cutoff) if np.any(lower < upper) else None
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
        """Return bounds fixed by reduced costs in a subtree."""
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

    def _by_cuts(self, visit: Visit) -> None:
        """Bound a node by cuts and branch, or close it. Raises Ended if time is up, or the LP's solver has failed."""
        lp = self.lp
        while True:
            # An incumbent may have fixed some.
            visit.lower, visit.upper = np.maximum(visit.lower, lp.lower), np.minimum(visit.upper, lp.upper)
            if np.any(visit.lower > visit.upper):
                return
            relaxed = self.bounds.solve(visit.lower, visit.upper)  # a
            if relaxed is LpStatus.INFEASIBLE:
                return
            if not isinstance(relaxed, MasterOptimum):
                raise Ended(StopReason.TIME_LIMIT if relaxed is LpStatus.LIMIT else StopReason.SOLVER_ERROR)
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
            elif not self._cut_inside(visit, relaxed):  # c
                break
        self._branch(visit, relaxed, fractional)

    def _learn(self, visit: Visit, relaxed: MasterOptimum) -> None:
        """Raise the node's bound, and update the pseudo-costs at its first LP."""
        first, node = visit.relaxed is None, visit.node
        visit.relaxed, visit.bound = relaxed, max(visit.bound, relaxed.bound)
        if first and node.column >= 0:
            self.costs.learn(node.column, node.up, node.distance, visit.bound - node.bound)

    def _cut_integral(self, visit: Visit, relaxed: MasterOptimum) -> bool:
        """Solve the subproblem at the LP's integral point (b); return False where that closes or branches the node."""
        lp, tree = self.lp, self.tree
        point = np.where(lp.integer, np.round(relaxed.point), relaxed.point)
        open_columns = np.flatnonzero(lp.integer & (visit.lower < visit.upper))
        if len(open_columns) and not lp.within(point, LP_TOLERANCE):  # rounding has broken a row
            self._split(visit, relaxed, point, open_columns)
            return False
        answer = self.incumbents.solve_subproblem(point[: lp.n], TIGHT)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        objective = self.incumbents.offer(point, answer)
        key = point[: lp.n].tobytes()
        # Compared at the rounded point: with huge coefficients the cut is not tight 1e-8 away from it.
        solved = objective is not None and relaxed.eta >= answer.bound - 1e-7 * max(1e-10, abs(answer.bound))
        listed = self.incumbents.near is not None  # the node may contain further near-optimal points
        if solved and listed and len(open_columns):
            self._split(visit, relaxed, point, open_columns)
        elif answer.cut is None or solved:
            tree.leave_out(visit.bound)
        elif not len(open_columns) and lp.integer[: lp.n].all():
            # No open variable is left: the answer bounds the node, however accurate the LP is.
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
        """Branch on the column that rounding has changed most, away from its rounded value."""
        column = int(columns[int(np.argmax(np.abs(relaxed.point - rounded)[columns]))])
        at = rounded[column] + (0.5 if rounded[column] < visit.upper[column] else -0.5)
        self.tree.branch(visit.node, visit.bound, column, float(at))

    def _cut_inside(self, visit: Visit, relaxed: MasterOptimum) -> bool:
        """Solve the subproblem between the LP's point and the root's solution (c); return whether that added a cut."""
        if visit.cut_inside_done or not self._fractional_cuts_pay(visit.number):
            return False
        visit.cut_inside_done = True
        inside = OUT * relaxed.point + (1 - OUT) * np.clip(self.centre, visit.lower, visit.upper)
        answer = self.incumbents.solve_subproblem(inside[: self.lp.n], LOOSE)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        self._tried += 1
        violated = self._violated(answer.cut, relaxed, 1e-4)
        if violated:
            self._paid += 1
            self.lp.add(answer)
        return violated

    def _fractional_cuts_pay(self, number: int) -> bool:
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


MOST = 30  # choices to evaluate; where more are left, branching excludes several at once


class Leaves:
    """Closes nodes with few choices, of a master whose variables are all binary and complicating."""

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds) -> None:
        self.incumbents, self.bounds, self.lp = incumbents, bounds, incumbents.lp
        lp = self.lp
        whole = lp.size == lp.n and bool(lp.integer.all())
        self._applies = whole and bool(np.all((lp.lower >= 0) & (lp.upper <= 1)))
        self._matrix = lp.linear.matrix.toarray() if self._applies else np.empty((0, lp.size))
        self._sizes = np.abs(self._matrix)
        self._most = 2.0 * self._sizes.max(axis=1, initial=0.0)

    def bound(self, cut: Cut, lower: np.ndarray, upper: np.ndarray) -> float | None:
        """Return a bound on all choices of a node that prunes it; None where the node stays open."""
        lp, incumbents = self.lp, self.incumbents
        free = np.flatnonzero(lower < upper)
        if not self._applies or not len(free) or not self._at_most_one(lower, free):
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
                if incumbents.near is None or not incumbents.near.holds(choice):  # evaluated, and still not excluded
                    return None
                collected, proven = min(collected, proven), np.inf
            if further is not None:
                known = np.append(further.coefficients[free], 0.0) + further.constant + further.coefficients @ lower
                bounds = np.maximum(bounds, at + known)
            bounds[k] = proven
        return min(collected, float(bounds.min()))

    def _settled(self, choice: np.ndarray) -> tuple[float, Cut | None]:
        """Return a proven bound of a choice, -inf where there is none, and a cut near it; it may become the incumbent.

        Its subproblem is solved only where its bound, at half the cost or less, does not exclude it.
        """
        incumbents = self.incumbents
        if not incumbents.knows(choice):
            below = self.bounds.relax(choice, choice, ACCURATE, incumbents.cutoff)
            if below is not None and below.bound >= incumbents.cutoff:
                return below.bound, below.cut
        answer = incumbents.solve_subproblem(choice, TIGHT)
        if answer is None or (answer.value is not None and answer.cut is None):
            return -np.inf, None
        incumbents.offer(choice, answer)
        if answer.value is None:
            return np.inf, None
        return self.lp.value(choice) + answer.bound, answer.cut

    def _allowed(self, lower: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return which choices satisfy the rows, up to rounding; the last one switches none of the free columns on."""
        rows, M = self.lp.linear, self._matrix
        activity = (M @ lower)[:, None] + np.column_stack([M[:, free], np.zeros(len(M))])
        slack = ROWS * (
            1.0 + (self._sizes @ lower)[:, None] + np.column_stack([self._sizes[:, free], np.zeros(len(M))])
        )
        above, below = rows.upper[:, None] + slack, rows.lower[:, None] - slack
        return np.asarray(((activity <= above) & (activity >= below)).all(axis=0))

    def _at_most_one(self, lower: np.ndarray, free: np.ndarray) -> bool:
        """Return whether some row excludes every pair of the free choices."""
        if len(free) == 1:
            return True
        left = self.lp.linear.upper - self._matrix @ lower
        if np.all(self._most <= left):  # the usual case: any two fit
            return False
        steps = self._matrix[:, free]
        positive = np.all(steps > 0, axis=1) & np.isfinite(left)
        if not positive.any():
            return False
        two = np.partition(steps[positive], 1, axis=1)[:, :2].sum(axis=1)
        return bool(np.any(two > left[positive] * (1 + 1e-9) + 1e-9))
