"""The root of the tree: relaxation, first incumbents, and fixing by reduced costs."""

from __future__ import annotations

import numpy as np

from solvers import progress
from solvers.drivers.base import Ended
from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.branch_cut.branching import Tree
from solvers.drivers.branch_cut.incumbents import LOOSE, TIGHT, IncumbentSearch
from solvers.drivers.branch_cut.level_bundle import Root, solve_relaxation
from solvers.drivers.branch_cut.master import MasterOptimum
from solvers.drivers.branch_cut.node import NodeBounds
from solvers.facts.structure import SubAnswer
from solvers.lp.highs import LpStatus
from solvers.result import SolutionStatus, StopReason

FEW = 100  # complicating variables up to which the relaxation is solved before an incumbent is sought
SHARE = 0.5  # of the time limit, at which the root ends
ENOUGH = 0.1  # accuracy of the root's relaxation, as a share of the distance from its bound to the incumbent


class RootSearch:
    """Solves the root for a driver, and adds it to the tree.

    ``centre``: the relaxation's solution. ``relaxed``: its optimum, with bound and reduced costs.
    """

    def __init__(
        self,
        driver: DecompositionDriver,
        incumbents: IncumbentSearch,
        bounds: NodeBounds,
        tree: Tree,
        *,
        fractional: bool,
        limit: int,
        dropped: str = "",
    ) -> None:
        self.driver, self.incumbents, self.bounds, self.tree = driver, incumbents, bounds, tree
        self.lp, self._fractional, self._limit = incumbents.lp, fractional, limit
        memory = incumbents.memory
        self._reused, self._dropped = {"cuts": len(memory.cuts), "answers": len(memory.answers)}, dropped
        self.centre: np.ndarray = np.zeros(0)
        self.relaxed: MasterOptimum | None = None

    def solve(self) -> None:
        """Solve the relaxation, find incumbents, and fix variables by reduced costs.

        Raises Ended if the model is infeasible, or the run must stop.
        """
        lp, incumbents = self.lp, self.incumbents
        first = lp.first_point()
        if first is None:
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
        self.centre = first
        with progress.doing("root"):
            if not self._relaxed_by_structure():
                if self._fractional:
                    self._relax()
                else:
                    self._take_first_cut()
        if (stop := self.driver.stopped()) is not None:
            raise Ended(stop)
        if self.relaxed is None:  # there is no cut that bounds eta
            self.relaxed = MasterOptimum(-np.inf, self.centre, -np.inf, np.zeros(lp.size), lp.lower, lp.upper)
        incumbents.round(self.centre)
        incumbents.recall_best()
        incumbents.recall(self.centre)
        with progress.doing("root, exchanges for better selections"):
            incumbents.exchange()
        self.fix()
        self.tree.add(self.relaxed.bound)
        self._report_memory()
        incumbents.row("root")

    def _report_memory(self) -> None:
        """Report how many cuts and answers of earlier runs are reused, and what was dropped."""
        driver, count, dropped = self.driver, self._reused, self._dropped
        if count["cuts"] or dropped:
            driver.details["memory"] = count | {"dropped": dropped}
        if count["cuts"]:
            driver.add_message(f"Reused of earlier runs: {count['cuts']} cuts and {count['answers']} answers.")
        if dropped:
            driver.add_message(f"Dropped: {dropped}.")

    def _relaxed_by_structure(self) -> bool:
        """Solve the relaxation by the structure; return False if it has none."""
        lp = self.lp
        if not np.any(lp.lower < lp.upper):
            return False
        if self.driver.relaxation is not None and lp.n > FEW and not self.incumbents.memory.choices:
            self.incumbents.start()
        answer = self.bounds.relax(lp.lower, lp.upper, self.driver.config.gap / 10, np.inf)
        if answer is None:
            return False
        if answer.bound == np.inf:
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
        self.driver.raise_bound(answer.bound)
        lp.start(answer.cut.constant)
        lp.add(SubAnswer(answer.bound, answer.bound, answer.cut, lambda: None))
        eta = answer.bound - lp.value(answer.point)
        self.centre = answer.point
        self.relaxed = MasterOptimum(
            answer.bound, answer.point, eta, answer.reduced_costs, lp.lower.copy(), lp.upper.copy()
        )
        for choice in answer.choices:
            self.incumbents.evaluate(choice)
        return True

    def _relax(self) -> None:
        """Solve the relaxation by a level bundle."""
        root = self._by_bundle(self.centre)
        if root.status is LpStatus.UNBOUNDED:
            found = self.bounds.add_floor(self.centre)
            if found is None:
                raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
            root = self._by_bundle(found)
        self.centre, self.relaxed = root.centre, root.relaxed
        self.lp.clip_cuts()
        # With an incumbent the LP is infeasible only because fixing has excluded all better points.
        if root.status is LpStatus.INFEASIBLE and self.driver.best is None:
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)

    def _by_bundle(self, start: np.ndarray) -> Root:
        driver = self.driver
        return solve_relaxation(
            self.lp,
            lambda x: self.incumbents.solve_subproblem(x, LOOSE),
            start,
            tolerance=min(1e-4, driver.config.gap),
            iteration_limit=self._limit,
            time_left=lambda: driver.clock.left_of(SHARE),
            suggest=driver.structure.suggest if driver.parts.as_built else None,
            report=self._report,
        )

    def _report(self, root: Root) -> bool:
        """Use the result of an iteration of the bundle; return True if the relaxation is solved."""
        driver, incumbents = self.driver, self.incumbents
        driver.raise_bound(min(root.bound, self.tree.left_out, incumbents.least), of_rest=True)
        if self.lp.added == 1:  # a first incumbent, by the coefficients of the first cut
            incumbents.evaluate(self.lp.greedy(np.argsort(root.cuts[0][0].coefficients, kind="stable")))
        if self.lp.added % 10 == 0:
            incumbents.round(root.centre)
            incumbents.row("root", root.value)
            if not root.suggesting:  # suggestions of the structure ignore fixed variables
                self.relaxed = root.relaxed
                self.fix()
        known = driver.best is not None and np.isfinite(root.bound)  # then branching may be worth more than cuts
        enough = known and root.value - root.bound <= ENOUGH * ((driver.best or 0.0) - root.bound)
        return enough or driver.closed(driver.config.gap)

    def _take_first_cut(self) -> None:
        """Add one optimality cut at an integral point, if the subproblem cannot be solved at fractional points."""
        lp = self.lp
        rounded = lp.greedy(np.argsort(-self.centre[: lp.n], kind="stable"))
        for choice in (rounded, np.ones(lp.n)):  # the second fixes no variable at 0
            answer = self.incumbents.solve_subproblem(choice, TIGHT)
            if answer is None:
                raise Ended(StopReason.TIME_LIMIT)
            if not lp.started:
                lp.start(1.0 if answer.value is None else answer.value)
            lp.add(answer)
            if answer.value is not None:
                break
        relaxed = self.bounds.solve(lp.lower, lp.upper)
        if relaxed is LpStatus.INFEASIBLE:
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
        if isinstance(relaxed, MasterOptimum):
            self.relaxed = relaxed
            self.driver.raise_bound(relaxed.bound)

    def fix(self) -> None:
        """Fix variables by the root's reduced costs: all other values are worse than the incumbent."""
        root, lp = self.relaxed, self.lp
        if root is None or not np.isfinite(self.incumbents.cutoff):
            return
        d = root.reduced_costs
        least = root.bound + np.abs(d)  # after a step of 1, the least of an integer variable
        costly = lp.integer & (least >= self.incumbents.cutoff) & (root.lower < root.upper) & (lp.lower < lp.upper)
        at_lower = costly & (d > 0) & np.isfinite(root.lower)
        at_upper = costly & (d < 0) & np.isfinite(root.upper)
        changed = at_lower | at_upper
        if np.any(changed):
            self.tree.leave_out(float(least[changed].min()))
            lp.upper[at_lower] = root.lower[at_lower]
            lp.lower[at_upper] = root.upper[at_upper]
            lp.drop_fixed()
