r"""Branch-and-cut over relaxations: the structure's own where it has one, generalised Benders cuts where not.

For min { c.z + q(x) : z = (x, u) in P, some of z integer }, q convex, given by values and cuts:

    0. Root: the continuous relaxation, by the structure at once or by cutting planes; incumbents by rounding and by
       exchanges, which the cuts seen so far rule out where they can; fixing by reduced cost.
    1. Take the child just made while its bound is near the least, else the open node with the least bound.
    2. Solve its relaxation. Prune where the bound is within the gap of the incumbent; fix by reduced cost below it.
       Where the structure cannot, by cuts, over one persistent LP:
       a. Solve the LP, with cuts dropped earlier that it violates.
       b. Integral: ask the subproblem there. Above the LP's eta: add its cut, back to a; else the node is solved.
       c. Fractional: once a node, ask a little inside, towards the root's solution. A violated cut: add it, back to a.
    3. Branch on the variable with the best pseudo-costs. For a fifth of all questions: wider exchanges.

An LP that is unbounded gets its floor from the relaxation of the whole model (``relaxation``). Finite for integer
x in a bounded set: by cuts, each point is asked once and its cut is tight there; by relaxations, a node without an open
variable goes to the cuts. The bound is the least of the open nodes and of what was pruned or fixed; each is proven by
weak duality, and a node without one counts as -inf. Naoum-Sawaya and Elhedhli 2013 for cuts in a single tree;
Achterberg, Koch and Martin 2005 for pseudo-costs; c is in-out separation (Ben-Ameur and Neto 2007).

On SVM data (1000 x 100, M = 20, C = 1) the tree over relaxations proves in 5 to 30 s what the tree
over cuts leaves at 1 to 2 % after 60 s: a node's LP is 2 % below its relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.drivers.benders.base import DecompositionConfig
from solvers.drivers.benders.subproblem import OracleSubproblem
from solvers.drivers.tree.branching import Node, Tree
from solvers.drivers.tree.incumbents import TIGHT, IncumbentSearch
from solvers.drivers.tree.level_bundle import Root, solve_relaxation
from solvers.drivers.tree.master import MasterLP, MasterOptimum
from solvers.drivers.tree.memory import Memory
from solvers.errors import SolverError
from solvers.facts.structure import Cut, RelaxedAnswer, SubAnswer
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import LP_TOLERANCE, LpStatus
from solvers.model.conflict import clashing_rows
from solvers.result import SolutionStatus, StopReason

ROWS = 400  # cuts kept in the LP besides one for each column
OUT = 0.4  # step c asks at this share of the LP's point, the rest of the root's
LOOSE = 1e-5  # relative gap of fractional answers: their cuts need not be tight
ROOT_SHARE = 0.5  # of the time limit, by which the root must end
ENOUGH = 0.1  # of the distance from the root's bound to the incumbent: a relaxation solved to this share is solved
SHARE = 0.05  # of what a node's bound lacks to the cutoff: how well its relaxation is solved
SETTLED = 1e-4  # distance from an integer that an interior point takes for none
PLUNGE = 0.2  # of the way from the least bound to the cutoff
PAYS = 0.2  # share of fractional cuts that must be violated for step c to go on at every node


@dataclass
class BranchAndCutConfig(DecompositionConfig):
    """Options of ``branch-and-cut``, besides those of every Benders driver; ``iteration_limit`` counts nodes.

    Attributes
    ----------
    root_limit : int
        Most cuts at the root.
    lp_solver : str
        Solver of the tree's LPs: "highs" runs directly; any other with LP duals that is no local solver ("gurobi",
        "glpk", "clarabel") through Pyomo, at half the nodes a second or fewer; see ``solvers.lp.pyomo``.
    memory : Memory, optional
        What earlier runs of this model learnt, under other values of its mutable parameters; this run adds to it.
    """

    root_limit: int = 300
    lp_solver: str = "highs"
    memory: Memory | None = None


class BranchAndCut(IncumbentSearch):
    """A single tree over the structure's relaxations, or over generalised Benders cuts in a persistent LP."""

    name = "branch-and-cut"
    title = "models with declared complicating variables (generalised Benders, one tree)"
    options_type = BranchAndCutConfig
    config: BranchAndCutConfig
    asks_within = False

    def prepare_master(self, floor: float | None) -> None:
        """Build the relaxed master as an LP."""
        self._lp = MasterLP(self.parts, floor, seed=self.config.seed or 0, lp_solver=self.config.lp_solver)
        self.prepare_search(self.config.memory)
        self._costs = self._memory.costs
        self._by_oracle = isinstance(self._subproblem, OracleSubproblem)
        self._tree = Tree()
        self._excluded = np.inf  # least bound of what was pruned or fixed away
        self._nodes = 0
        self._tried = self._paid = 0
        self._bound_of_root: MasterOptimum | None = None

    def run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run the algorithm box; the numbers are its steps."""
        status = self._root()  # 0
        if status is not None:
            return status
        for _ in self.rounds():
            node = self._tree.pop(self._plunge_below)  # 1
            if node is None:
                break
            if node.bound < self._cutoff:
                stop = self._visit(node)
                if stop is not None:
                    self._tree.put_back(node)
                    self._raise_tree_bound()
                    return stop, None
            else:
                self._excluded = min(self._excluded, node.bound)
            self._raise_tree_bound()
            if self.closed(self.config.gap):
                break
            if self.stopped() is not None:
                continue
            if self._nodes % 100 == 0:
                self._row("tree")
            if self._nodes % 20 == 0:
                self._exchange_more()
        else:
            return self.stop, None
        self._row("end")
        if self.best is None and self._excluded == np.inf:  # every node was proven empty
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        return StopReason.CONVERGED, None

    # ---- the root

    def _root(self) -> tuple[StopReason, SolutionStatus | None] | None:
        lp = self._lp
        centre = lp.first_point()
        if centre is None:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        self._centre = centre
        if self._relaxed_at_once():
            status = None
        else:
            status = self._relax(centre) if self._subproblem.fractional else self._first_cut(centre)
        if status is not None or self.stopped():
            return status or (self.stopped() or StopReason.TIME_LIMIT, None)
        if self._bound_of_root is None:  # without a cut that bounds eta the tree begins with nothing
            self._bound_of_root = MasterOptimum(-np.inf, self._centre, -np.inf, np.zeros(lp.size), lp.lower, lp.upper)
        self._round(self._centre)
        self._recall()
        self._exchange()
        self._fix()
        self._tree.add(self._bound_of_root.bound)
        self._row("root")
        return None

    def _relaxed_at_once(self) -> bool:
        """Let the structure solve the root's relaxation, if it can."""
        lp = self._lp
        answer = self._relaxation(lp.lower, lp.upper, self.config.gap / 10, np.inf)
        if answer is None:
            return False
        self.raise_bound(answer.bound)
        lp.start(answer.cut.constant)
        lp.add(SubAnswer(answer.bound, answer.bound, answer.cut, lambda: None))
        eta = answer.bound - lp.value(answer.point)
        self._centre = answer.point
        self._bound_of_root = MasterOptimum(
            answer.bound, answer.point, eta, answer.reduced_costs, lp.lower.copy(), lp.upper.copy()
        )
        for choice in answer.choices:
            self._evaluate(choice)
        return True

    def _relaxation(self, lower: np.ndarray, upper: np.ndarray, accuracy: float, enough: float) -> RelaxedAnswer | None:
        """Ask the structure for the relaxation within bounds; None where it has none or cannot."""
        relaxation = self.structure.relaxation
        if relaxation is None or not self._by_oracle or not np.any(lower < upper):
            return None
        left = self.clock.left
        with self.timing("subproblem"):
            answer = relaxation(self._lp.linear, lower, upper, accuracy=accuracy, enough=enough, time_limit=left)
        self._asks += 1
        if answer is not None:
            self._pool.add(answer.cut)
        return answer

    def _relax(self, centre: np.ndarray) -> tuple[StopReason, SolutionStatus | None] | None:
        def report(root: Root) -> bool:
            self.raise_bound(min(root.bound, self._excluded), of_rest=True)
            if self._lp.added == 1:  # an incumbent at once: what the first cut says is worth most
                self._evaluate(self._lp.greedy(np.argsort(root.cuts[0][0].coefficients, kind="stable")))
            if self._lp.added % 10 == 0:
                self._round(root.centre)
                self._row("root", root.value)
                if not root.suggesting:  # the structure knows nothing of fixed variables
                    self._bound_of_root = root.relaxed
                    self._fix()
            return self.closed(self.config.gap) or self._solved_enough(root)

        def relax(start: np.ndarray) -> Root:
            return solve_relaxation(
                self._lp,
                lambda x: self._ask(x, LOOSE),
                start,
                tolerance=min(1e-4, self.config.gap),
                iteration_limit=self.config.root_limit,
                time_left=lambda: self._left(ROOT_SHARE),
                suggest=self.structure.suggest if self.parts.as_built else None,
                report=report,
            )

        root = relax(centre)
        if root.status is LpStatus.UNBOUNDED:
            found = self._bound_lp()
            if found is None:
                return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
            root = relax(found)
        self._centre, self._bound_of_root = root.centre, root.relaxed
        self._lp.clip_cuts()
        if root.status is LpStatus.INFEASIBLE and self.best is None:  # otherwise fixing has left nothing better
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        return None

    def _bound_lp(self) -> np.ndarray | None:
        """Give the LP what bounds it; return a point of the master near the relaxation's optimum, None if infeasible.

        Raises Endless if the model is unbounded or infeasible. Raises SolverError if nothing is found that bounds the
        LP.
        """
        found = self.find_floor()
        if found.status is SolutionStatus.INFEASIBLE:
            return None
        if found.status is SolutionStatus.NO_SOLUTION or self._lp.floored:
            raise SolverError("The master is unbounded: give bounds to the complicating variables.")
        self._lp.add_floor(found.floor)
        return self._centre if found.point is None else np.append(found.point, self._centre[self._lp.n :])

    def _solved_enough(self, root: Root) -> bool:
        """Tell whether branching now gains more than further cuts at the root could."""
        if self.best is None or not np.isfinite(root.bound):
            return False
        return root.value - root.bound <= ENOUGH * (self.best - root.bound)

    def _first_cut(self, centre: np.ndarray) -> tuple[StopReason, SolutionStatus | None] | None:
        """Give the LP one optimality cut from integral points, where fractional ones cannot be asked."""
        lp = self._lp
        rounded = lp.greedy(np.argsort(-centre[: lp.n], kind="stable"))
        for choice in (rounded, np.ones(lp.n)):  # nothing is fixed at 0 at the second
            answer = self._ask(choice, TIGHT)
            if answer is None:
                return StopReason.TIME_LIMIT, None
            if not lp.started:
                lp.start(1.0 if answer.value is None else answer.value)
            lp.add(answer)
            if answer.value is not None:
                break
        relaxed = self._solve_lp(lp.lower, lp.upper)
        if relaxed is LpStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        if relaxed is LpStatus.UNBOUNDED:
            self._bound_lp()
            relaxed = self._solve_lp(lp.lower, lp.upper)
        if isinstance(relaxed, MasterOptimum):
            self._bound_of_root = relaxed
            self.raise_bound(relaxed.bound)
        return None

    def _fix(self) -> None:
        """Fix variables whose other value would cost more than the incumbent allows, by the root's reduced costs."""
        root, lp = self._bound_of_root, self._lp
        if root is None or self.best is None:
            return
        d = root.reduced_costs
        least = root.bound + np.abs(d)  # for a move by one, the least an integer variable can make
        costly = lp.integer & (least >= self._cutoff) & (root.lower < root.upper) & (lp.lower < lp.upper)
        at_lower = costly & (d > 0) & np.isfinite(root.lower)
        at_upper = costly & (d < 0) & np.isfinite(root.upper)
        changed = at_lower | at_upper
        if np.any(changed):
            self._excluded = min(self._excluded, float(least[changed].min()))
            lp.upper[at_lower] = root.lower[at_lower]
            lp.lower[at_upper] = root.upper[at_upper]
            lp.drop_fixed()

    # ---- the tree

    @property
    def _plunge_below(self) -> float:
        """Children up to this bound are visited at once, which saves simplex iterations; others wait their turn."""
        bound = self._tree.bound
        if self.best is None or not np.isfinite(bound):
            return np.inf
        return bound + PLUNGE * max(0.0, self._cutoff - bound)

    def _raise_tree_bound(self) -> None:
        bound = min(self._tree.bound, self._excluded)
        if bound < np.inf:  # -inf would be a node that has no bound yet
            self.raise_bound(bound, of_rest=True)
        elif self.best is not None:  # nothing is left, and nothing was left out
            self.raise_bound(self.best)

    def _visit(self, node: Node) -> StopReason | None:
        """Bound a node and branch, or close it; a reason where the run must stop."""
        lp = self._lp
        self._nodes += 1
        self.details["nodes"] = self._nodes
        lower, upper = lp.lower.copy(), lp.upper.copy()
        for column, least, most in node.changes:
            lower[column], upper[column] = max(lower[column], least), min(upper[column], most)
        if np.any(lower > upper) or self._visit_at_once(node, lower, upper):
            return None
        return self._visit_by_cuts(node, lower, upper)

    def _visit_at_once(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> bool:
        """Bound a node by the structure's own relaxation, and branch or close it; False where that cannot be done."""
        lp, cutoff = self._lp, self._cutoff
        left = (cutoff - node.bound) / max(abs(cutoff), 1e-10) if np.isfinite(cutoff) else 1.0
        answer = self._relaxation(lower, upper, float(np.clip(SHARE * left, 1e-6, 1e-3)), cutoff)
        if answer is None:
            return False
        for choice in answer.choices:
            self._evaluate(choice)
        bound = max(node.bound, answer.bound)
        if node.column >= 0:
            self._costs.learn(node.column, node.up, node.distance, bound - node.bound)
        if self._nodes % 50 == 1:
            self._round(answer.point)
        open_columns = lp.integer & (lower < upper)
        fractional = np.flatnonzero(open_columns & (np.abs(answer.point - np.round(answer.point)) > SETTLED))
        if not len(fractional):
            self._evaluate(np.where(lp.integer, np.round(answer.point), answer.point)[: lp.n])
        if bound >= self._cutoff:
            self._excluded = min(self._excluded, bound)
            return True
        if not open_columns.any():
            return False
        candidates = fractional if len(fractional) else np.flatnonzero(open_columns)
        column = self._costs.choose(answer.point, candidates)
        value = float(np.clip(answer.point[column], lower[column] + 1e-9, upper[column] - 1e-9))
        least = answer.bound + np.abs(answer.reduced_costs)
        costly = open_columns & (least >= self._cutoff)
        costly[column] = False
        if costly.any():  # in this subtree
            self._excluded = min(self._excluded, float(least[costly].min()))
            at = np.where(answer.reduced_costs > 0, lower, upper)
            node = replace(node, changes=(*node.changes, *((int(k), at[k], at[k]) for k in np.flatnonzero(costly))))
        self._tree.branch(node, bound, column, value)
        return True

    def _visit_by_cuts(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> StopReason | None:
        """Bound a node by the LP over cuts, and branch or close it."""
        lp = self._lp
        bound, asked_inside, first = node.bound, False, True
        closed_by: set[bytes] = set()  # integral points whose cut the LP has: asking again would not end
        while True:
            lower, upper = np.maximum(lower, lp.lower), np.minimum(upper, lp.upper)  # an incumbent may have fixed some
            if np.any(lower > upper):
                return None
            relaxed = self._solve_lp(lower, upper)  # a
            if relaxed is LpStatus.INFEASIBLE:
                return None
            if relaxed is LpStatus.UNBOUNDED and not lp.floored:
                if self._bound_lp() is None:
                    return None
                continue
            if isinstance(relaxed, LpStatus):
                return StopReason.TIME_LIMIT if relaxed is LpStatus.LIMIT else StopReason.SOLVER_ERROR
            bound = max(bound, relaxed.bound)
            if first:
                first = False
                if node.column >= 0:
                    self._costs.learn(node.column, node.up, node.distance, bound - node.bound)
            if bound >= self._cutoff:
                self._excluded = min(self._excluded, bound)
                return None
            if lp.restore_violated(relaxed):
                continue
            fractional = lp.fractional(relaxed.point)
            if not len(fractional):  # b
                point = np.where(lp.integer, np.round(relaxed.point), relaxed.point)
                open_columns = np.flatnonzero(lp.integer & (lower < upper))
                if len(open_columns) and not lp.within(point, LP_TOLERANCE):  # rounding has broken a row
                    self._split(node, bound, relaxed.point, point, upper, open_columns)
                    return None
                answer = self._ask(point[: lp.n], TIGHT)
                if answer is None:
                    return StopReason.TIME_LIMIT
                objective = self._offer(point, answer)
                key = point[: lp.n].tobytes()
                # Compared at the rounded point: where coefficients are huge, 1e-8 off it the cut says nothing.
                solved = objective is not None and relaxed.eta >= answer.bound - 1e-7 * max(1e-10, abs(answer.bound))
                if answer.cut is None or solved:
                    self._excluded = min(self._excluded, bound)
                    return None
                if not len(open_columns) and lp.integer[: lp.n].all():
                    # Nothing is left to choose: the answer bounds the node, whatever the LP can resolve of it.
                    if objective is not None:
                        self._excluded = min(self._excluded, max(bound, lp.value(point) + answer.bound))
                    return None
                if not len(open_columns) and key in closed_by:
                    self._excluded = min(self._excluded, bound)
                    return None
                if key in closed_by:  # the LP is not accurate enough to see its cut
                    self._split(node, bound, relaxed.point, point, upper, open_columns)
                    return None
                closed_by.add(key)
                lp.add(answer)
                continue
            if not asked_inside and self._worth_asking():  # c
                asked_inside = True
                inside = OUT * relaxed.point + (1 - OUT) * np.clip(self._centre, lower, upper)
                answer = self._ask(inside[: lp.n], LOOSE)
                if answer is None:
                    return StopReason.TIME_LIMIT
                self._tried += 1
                if self._violated(answer.cut, relaxed, 1e-4):
                    self._paid += 1
                    lp.add(answer)
                    continue
            break
        if self._nodes % 50 == 1:
            self._round(relaxed.point)
        column = self._costs.choose(relaxed.point, fractional)
        self._tree.branch(node, bound, column, float(relaxed.point[column]))
        return None

    def _split(
        self,
        node: Node,
        bound: float,
        found: np.ndarray,
        rounded: np.ndarray,
        upper: np.ndarray,
        columns: np.ndarray,
    ) -> None:
        """Branch on the column that rounding has moved most, off its value there."""
        column = int(columns[int(np.argmax(np.abs(found - rounded)[columns]))])
        at = rounded[column] + (0.5 if rounded[column] < upper[column] else -0.5)
        self._tree.branch(node, bound, column, float(at))

    def _worth_asking(self) -> bool:
        if not self._subproblem.fractional:
            return False
        return self._tried < 20 or self._paid > PAYS * self._tried or self._nodes % 10 == 0

    def _violated(self, cut: Cut | None, relaxed: MasterOptimum, tolerance: float) -> bool:
        if cut is None:
            return False
        value = cut.at(relaxed.point[: self._lp.n])
        return value > relaxed.eta + tolerance * max(1.0, abs(value))

    def _solve_lp(self, lower: np.ndarray, upper: np.ndarray) -> MasterOptimum | LpStatus:
        if self._lp.cuts > ROWS + self._lp.size:
            self._lp.drop_slack_cuts(keep_last=100)
        with self.timing("master"):
            return self._lp.solve(lower, upper, self.clock.left)

    def why_infeasible(self) -> str:
        """Name the rows that clash."""
        return clashing_rows(self.parts.master_rows, self.parts.master_variables, Runner(find("highs"), SolveOptions()))
