"""Processing of a node: steps 2 and 3 of branch-and-cut, for the driver and for its workers.

``NodeBounds`` computes the bound of a node, by the structure's relaxation or by the LP over cuts. ``NodeSearch``
branches and closes nodes by these bounds; the letters are those of the algorithm in ``branch_and_cut``.

``Leaves`` closes nodes in which at most one more choice can be switched on, by evaluating the few remaining choices.
Branching would solve the relaxations of a chain of children, each with one choice less. Every cut gives a bound for
each choice. The choices are evaluated in the order of these bounds, and the cut of each answer bounds the others.
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

OUT = 0.4  # weight of the LP's point in step c; the rest is that of the root's solution
PAYS = 0.2  # share of fractional cuts that must be violated so that step c is tried at every node

VIOLATED = 1e-4  # relative violation of a cut of step c that is added
KEPT_CUTS = 400  # cuts that the LP keeps, plus one for each column
ACCURATE = 1e-6  # relative gap of bounds at points


class NodeBounds:
    """Relaxations within bounds on the master's variables; their cuts go to the pool of the incumbents."""

    def __init__(self, driver: SearchContext, incumbents: IncumbentSearch, relaxation: Relaxation | None) -> None:
        self.driver, self.incumbents, self.lp, self._relaxation = driver, incumbents, incumbents.lp, relaxation

    def relax(self, lower: np.ndarray, upper: np.ndarray, accuracy: float, enough: float) -> RelaxedAnswer | None:
        """Solve the structure's relaxation within bounds, or until its bound is ``enough``.

        Return None if the structure has none, or if it fails.
        """
        if self._relaxation is None:
            return None
        driver = self.driver
        with driver.timing("subproblem"):
            answer = self._relaxation(
                self.lp.linear, lower, upper, accuracy=accuracy, enough=enough, time_limit=driver.clock.left
            )
        self.incumbents.count_solved()
        if answer is not None and answer.bound < np.inf:
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
class NodeState:
    """A node during processing: bounds of the variables, and the points where the subproblem was solved."""

    node: Node
    lower: np.ndarray
    upper: np.ndarray
    number: int
    bound: float
    relaxed: MasterOptimum | None = None
    cut_inside_done: bool = False
    closed_by: set[bytes] = field(default_factory=set)  # integral points whose cut is in the LP


SHARE = 0.05  # accuracy of a node's relaxation, as a share of the distance from its bound to the cutoff
SEARCHES = 20  # nodes between wider exchanges
NEAR_INTEGER = 1e-4  # distance from an integer at which a value of an interior point counts as integral


class NodeSearch:
    """Bounds and branches nodes. ``nodes``: number of processed nodes. ``centre``: the root's solution.

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

    def merge(self, visited: int, costs: np.ndarray) -> None:
        """Add the number of processed nodes and the pseudo-costs of a worker."""
        self.nodes += visited
        self.costs.add(costs)

    def step(self) -> bool:
        """Process or prune the next open node; return True if there was one."""
        node = self.tree.pop()
        if node is None:
            return False
        if node.bound < self.incumbents.cutoff:
            self(node)
        else:
            self.tree.leave_out(node.bound)
        return True

    def __call__(self, node: Node) -> None:
        """Bound a node and branch, or close it.

        Raises Ended if the run must stop; the node stays open.
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
            self._by_cuts(NodeState(node, lower, upper, self.nodes, node.bound))
        except Ended:
            self.tree.put_back(node)
            raise

    def _by_relaxation(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> bool:
        """Bound a node by the structure's relaxation, and branch or close it; return False if there is none."""
        lp, cutoff = self.lp, self.incumbents.cutoff
        left = (cutoff - node.bound) / max(abs(cutoff), 1e-10) if np.isfinite(cutoff) else 1.0
        accuracy = float(np.clip(SHARE * left, 1e-6, 1e-3))
        answer = self.bounds.relax(lower, upper, accuracy, cutoff) if np.any(lower < upper) else None
        if answer is None:
            return False
        if answer.bound == np.inf:  # infeasible
            return True
        for choice in answer.choices:
            self.incumbents.evaluate(choice)
        bound = max(node.bound, answer.bound)
        if node.column >= 0:
            self.costs.update(node.column, node.up, node.distance, bound - node.bound)
        if self.nodes % 50 == 1:
            self.incumbents.round(answer.point)
        open_columns = lp.integer & (lower < upper)
        fractional = np.flatnonzero(open_columns & (np.abs(answer.point - np.round(answer.point)) > NEAR_INTEGER))
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
        """Return bounds that reduced costs imply in a subtree."""
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

    def _by_cuts(self, state: NodeState) -> None:
        """Bound a node by cuts and branch, or close it. Raises Ended if time is up, or the LP's solver has failed."""
        lp = self.lp
        while True:
            # A new incumbent may have fixed variables.
            state.lower, state.upper = np.maximum(state.lower, lp.lower), np.minimum(state.upper, lp.upper)
            if np.any(state.lower > state.upper):
                return
            relaxed = self.bounds.solve(state.lower, state.upper)  # a
            if relaxed is LpStatus.INFEASIBLE:
                return
            if not isinstance(relaxed, MasterOptimum):
                raise Ended(StopReason.TIME_LIMIT if relaxed is LpStatus.LIMIT else StopReason.SOLVER_ERROR)
            self._update(state, relaxed)
            if state.bound >= self.incumbents.cutoff:
                self.tree.leave_out(state.bound)
                return
            if lp.restore_violated(relaxed):
                continue
            fractional = lp.fractional(relaxed.point)
            if not len(fractional):
                if not self._cut_integral(state, relaxed):  # b
                    return
            elif not self._cut_inside(state, relaxed):  # c
                break
        if state.number % 50 == 1:
            self.incumbents.round(relaxed.point)
        column = self.costs.choose(relaxed.point, fractional)
        self.tree.branch(state.node, state.bound, column, float(relaxed.point[column]))

    def _update(self, state: NodeState, relaxed: MasterOptimum) -> None:
        """Raise the bound of a node, and update the pseudo-costs after its first LP."""
        first, node = state.relaxed is None, state.node
        state.relaxed, state.bound = relaxed, max(state.bound, relaxed.bound)
        if first and node.column >= 0:
            self.costs.update(node.column, node.up, node.distance, state.bound - node.bound)

    def _cut_integral(self, state: NodeState, relaxed: MasterOptimum) -> bool:
        """Solve the subproblem at the LP's integral point (b); return False if that closes or branches the node."""
        lp, tree = self.lp, self.tree
        point = np.where(lp.integer, np.round(relaxed.point), relaxed.point)
        open_columns = np.flatnonzero(lp.integer & (state.lower < state.upper))
        if len(open_columns) and not lp.within(point, LP_TOLERANCE):  # rounding has violated a row
            self._split(state, relaxed, point, open_columns)
            return False
        answer = self.incumbents.solve_subproblem(point[: lp.n], TIGHT)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        objective = self.incumbents.offer(point, answer)
        key = point[: lp.n].tobytes()
        # Compare at the rounded point: with huge coefficients the cut is not tight at a distance of 1e-8.
        solved = objective is not None and relaxed.eta >= answer.bound - 1e-7 * max(1e-10, abs(answer.bound))
        if solved and self.incumbents.near is not None and len(open_columns):  # for further near-optimal points
            self._split(state, relaxed, point, open_columns)
        elif answer.cut is None or solved:
            tree.leave_out(state.bound)
        elif not len(open_columns) and lp.integer[: lp.n].all():
            # Without open variables the answer bounds the node, whatever the accuracy of the LP.
            if objective is not None:
                tree.leave_out(max(state.bound, lp.value(point) + answer.bound))
        elif key not in state.closed_by:
            state.closed_by.add(key)
            lp.add(answer)
            return True
        elif not len(open_columns):
            tree.leave_out(state.bound)
        else:  # the LP is not accurate enough to see its cut
            self._split(state, relaxed, point, open_columns)
        return False

    def _split(self, state: NodeState, relaxed: MasterOptimum, rounded: np.ndarray, columns: np.ndarray) -> None:
        """Branch on the column with the largest rounding error, next to its rounded value."""
        column = int(columns[int(np.argmax(np.abs(relaxed.point - rounded)[columns]))])
        at = rounded[column] + (0.5 if rounded[column] < state.upper[column] else -0.5)
        self.tree.branch(state.node, state.bound, column, float(at))

    def _cut_inside(self, state: NodeState, relaxed: MasterOptimum) -> bool:
        """Solve the subproblem between the LP's point and the root's solution (c); return True if that added a cut."""
        if state.cut_inside_done or not self._fractional_cuts_pay(state.number):
            return False
        state.cut_inside_done = True
        inside = OUT * relaxed.point + (1 - OUT) * np.clip(self.centre, state.lower, state.upper)
        answer = self.incumbents.solve_subproblem(inside[: self.lp.n], LOOSE)
        if answer is None:
            raise Ended(StopReason.TIME_LIMIT)
        self._tried += 1
        value = -np.inf if answer.cut is None else answer.cut.at(relaxed.point[: self.lp.n])
        violated = value > relaxed.eta + VIOLATED * max(1.0, abs(value))
        if violated:
            self._paid += 1
            self.lp.add(answer)
        return violated

    def _fractional_cuts_pay(self, number: int) -> bool:
        if not self._fractional:
            return False
        return self._tried < 20 or self._paid > PAYS * self._tried or number % 10 == 0


MOST = 30  # choices to evaluate; with more, branching excludes several at once


class Leaves:
    """Closes nodes with few choices, if all variables of the master are binary and complicating."""

    def __init__(self, incumbents: IncumbentSearch, bounds: NodeBounds) -> None:
        self.incumbents, self.bounds, self.lp = incumbents, bounds, incumbents.lp
        lp = self.lp
        all_integer = lp.size == lp.n and bool(lp.integer.all())
        self._applies = all_integer and bool(np.all((lp.lower >= 0) & (lp.upper <= 1)))
        self._matrix = lp.linear.matrix.toarray() if self._applies else np.empty((0, lp.size))
        self._sizes = np.abs(self._matrix)
        self._most = 2.0 * self._sizes.max(axis=1, initial=0.0)

    def bound(self, cut: Cut, lower: np.ndarray, upper: np.ndarray) -> float | None:
        """Return a bound for all choices of a node that prunes it; None if the node stays open."""
        lp, incumbents = self.lp, self.incumbents
        free = np.flatnonzero(lower < upper)
        if not self._applies or not len(free) or not self._at_most_one(lower, free):
            return None
        pool, cost = incumbents.pool, lp.cost
        steps = np.append(free, -1)  # -1: no step
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
            proven, further = self._bound_choice(choice)
            if proven == -np.inf:
                return None
            if proven < incumbents.cutoff:
                if incumbents.near is None or not incumbents.near.contains(choice):  # evaluated, but not excluded
                    return None
                collected, proven = min(collected, proven), np.inf
            if further is not None:
                known = np.append(further.coefficients[free], 0.0) + further.constant + further.coefficients @ lower
                bounds = np.maximum(bounds, at + known)
            bounds[k] = proven
        return min(collected, float(bounds.min()))

    def _bound_choice(self, choice: np.ndarray) -> tuple[float, Cut | None]:
        """Return a proven bound of a choice, -inf if there is none, and a cut; the choice may become the incumbent.

        Its subproblem is solved only if the relaxation, at half the cost or less, does not exclude it.
        """
        incumbents = self.incumbents
        if not incumbents.has_answer(choice):
            below = self.bounds.relax(choice, choice, ACCURATE, incumbents.cutoff)
            if below is not None and below.bound >= incumbents.cutoff:
                return below.bound, below.cut if below.bound < np.inf else None
        answer = incumbents.solve_subproblem(choice, TIGHT)
        if answer is None or (answer.value is not None and answer.cut is None):
            return -np.inf, None
        incumbents.offer(choice, answer)
        if answer.value is None:
            return np.inf, None
        return self.lp.value(choice) + answer.bound, answer.cut

    def _allowed(self, lower: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return a mask of the choices that satisfy the rows, up to rounding; the last has no step."""
        rows, M = self.lp.linear, self._matrix
        activity = (M @ lower)[:, None] + np.column_stack([M[:, free], np.zeros(len(M))])
        slack = ROWS * (
            1.0 + (self._sizes @ lower)[:, None] + np.column_stack([self._sizes[:, free], np.zeros(len(M))])
        )
        above, below = rows.upper[:, None] + slack, rows.lower[:, None] - slack
        return np.asarray(((activity <= above) & (activity >= below)).all(axis=0))

    def _at_most_one(self, lower: np.ndarray, free: np.ndarray) -> bool:
        """Return whether a row excludes every pair of free choices."""
        if len(free) == 1:
            return True
        left = self.lp.linear.upper - self._matrix @ lower
        if np.all(self._most <= left):  # the usual case: every pair is allowed
            return False
        steps = self._matrix[:, free]
        positive = np.all(steps > 0, axis=1) & np.isfinite(left)
        if not positive.any():
            return False
        two = np.partition(steps[positive], 1, axis=1)[:, :2].sum(axis=1)
        return bool(np.any(two > left[positive] * (1 + 1e-9) + 1e-9))
