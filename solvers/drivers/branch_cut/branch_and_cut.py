r"""Branch-and-cut over relaxations: the structure's own where it has one, generalised Benders cuts where not.

For min { c.z + q(x) : z = (x, u) in P, some of z integer }, q convex, given by values and cuts:

    0. Root: the continuous relaxation, by the structure at once or by cutting planes; incumbents by rounding and by
       exchanges, which the cuts seen so far rule out where they can; fixing by reduced cost. With a ``memory``
       the cuts, answers and best choices of earlier runs are used.
    1. Take the child just made while its bound is near the least, else the open node with the least bound.
    2. Solve its relaxation. Prune where the bound is within the gap of the incumbent; fix by reduced cost below it.
       Where the structure cannot, by cuts, over one persistent LP:
       a. Solve the LP, with cuts dropped earlier that it violates.
       b. Integral point: solve the subproblem there. If its value is above the LP's eta, add its cut and go to a; else
          the node is solved.
       c. Fractional point: once per node, solve the subproblem at a point between it and the root's solution. If the
          cut is violated, add it and go to a.
    3. Where at most one more choice may be switched on, evaluate the few that the cuts leave (``Leaves``); else branch
       on the variable with the best pseudo-costs. Wider exchanges use up to a fifth of all subproblems.

With ``threads`` above 1 and an oracle, that many processes do 1 to 3, each on its part of the tree (``coordinator``).
An LP that is unbounded gets its floor from the relaxation of the whole model (``relaxation``). Finite for integer x in
a bounded set: by cuts, each point is asked once and its cut is tight there; by relaxations, a node without an open
variable goes to the cuts. The bound is the least of the open nodes and of what was pruned or fixed; each is proven by
weak duality, and a node without one counts as -inf. Naoum-Sawaya and Elhedhli 2013 for cuts in a single tree;
Achterberg, Koch and Martin 2005 for pseudo-costs; c is in-out separation (Ben-Ameur and Neto 2007).

On SVM data (1000 x 100, M = 20, C = 1) the tree over relaxations proves in 5 to 30 s what the tree
over cuts leaves at 1 to 2 % after 60 s: a node's LP is 2 % below its relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.drivers.base import Ended
from solvers.drivers.benders.base import DecompositionConfig, DecompositionDriver
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.drivers.branch_cut.branching import Tree
from solvers.drivers.branch_cut.coordinator import Coordinator
from solvers.drivers.branch_cut.incumbents import IncumbentSearch, SolutionPool
from solvers.drivers.branch_cut.master import MasterLP
from solvers.drivers.branch_cut.memory import Memory
from solvers.drivers.branch_cut.node import SEARCHES, NodeBounds, Visits
from solvers.drivers.branch_cut.root import RootSearch
from solvers.drivers.branch_cut.worker import TreeTask
from solvers.drivers.slots import lp_words
from solvers.errors import ModelError, OptionError
from solvers.facts.structure import SubAnswer
from solvers.model.conflict import clashing_rows
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason
from solvers.values import put_back


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
    lp_options : mapping, optional
        Its own options.
    memory : Memory, optional
        What earlier runs of this model learnt, under other rows, costs and bounds of the complicating variables, or
        other values of its mutable parameters: cuts, answers at 0/1 points, pseudo-costs and best choices. Those of
        other processes (``threads``) are not kept.
    cutoff : float, optional
        An objective: what is not better is not sought. The run ends once it is proven that nothing is.
    within : float, optional
        Go on until every choice of the complicating variables within this share of the best objective is found:
        ``result.details["near"]``, ``NearChoices``. They must be integers.
    most_choices : int
        Of these, the best that are kept.
    """

    root_limit: int = 300
    lp_solver: str | SolverObject = "highs"
    lp_options: Mapping[str, Any] | None = None
    memory: Memory | None = None
    cutoff: float | None = None
    within: float | None = None
    most_choices: int = 1000

    def check_own(self) -> None:
        """Check ``within`` and ``most_choices``. Raises OptionError."""
        super().check_own()
        if self.within is not None and not 0 <= self.within < np.inf:
            raise OptionError(f"within={self.within!r} is not allowed: give a share of the objective, 0.01 for 1%.")
        if self.most_choices < 1:
            raise OptionError(f"most_choices={self.most_choices!r} is not allowed: give at least 1.")
        if self.within is not None and (self.threads or 1) > 1:
            raise OptionError(f"threads={self.threads} is not allowed with within=: one process lists the choices.")


class BranchAndCut(DecompositionDriver):
    """A single tree over the structure's relaxations, or over generalised Benders cuts in a persistent LP.

    ``root`` solves the root, ``visits`` bounds nodes and branches, ``incumbents`` finds incumbents.
    """

    name = "branch-and-cut"
    title = "models with declared complicating variables (generalised Benders, one tree)"
    options_type = BranchAndCutConfig
    config: BranchAndCutConfig

    def prepare_master(self, floor: float | None) -> None:
        """Build the relaxed master as an LP, and what searches over it."""
        c, self._begun = self.config, False
        fractional = not isinstance(self._subproblem, SwitchedSubproblem)
        self._lp = MasterLP(self.parts, floor, words=lp_words(c), lp_solver=c.lp_solver)
        given = c.memory if self.parts.as_built else None  # an edited subproblem has other values
        memory = Memory() if given is None else given
        names = [v.name for v in self._lp.variables]
        with memory.used():
            dropped = memory.prepare(self.structure, names, kept=given is not None)
        self._tree = Tree()
        below = np.inf if c.cutoff is None else self.sign * c.cutoff
        self.incumbents = IncumbentSearch(self, self._lp, memory, near=self._near_search(), below=below)
        relaxation = self.structure.relaxation if self.by_oracle else None
        self.node_bounds = NodeBounds(self, self.incumbents, relaxation)
        self.root = RootSearch(
            self, self.incumbents, self.node_bounds, self._tree, fractional=fractional, limit=c.root_limit,
            dropped=dropped,
        )  # fmt: skip
        self.visits = Visits(self.incumbents, self.node_bounds, self._tree, fractional=fractional)
        self.incumbents.improved = self.root.fix
        self._coordinator: Coordinator | None = None

    def _near_search(self) -> SolutionPool | None:
        """Return the collection of near-optimal choices, None without ``within``. Raises ModelError."""
        if self.config.within is None:
            return None
        broken = [v.name for v, whole in zip(self._lp.variables, self._lp.integer, strict=True) if not whole]
        inside = {v.name for v in self.structure.complicating}
        if inside & set(broken):
            raise ModelError(
                f'within= lists choices, and "{min(inside & set(broken))}" is continuous: only integers can be listed. '
                "Leave within= out, or make it an integer."
            )
        return SolutionPool(self.config.within, self.config.most_choices)

    def run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run, and report the near-optimal choices, or that nothing is better than the cutoff."""
        with self.incumbents.memory.used(self.structure):
            try:
                return self._run()
            finally:
                self._report_choices()

    def _report_choices(self) -> None:
        near, limit = self.incumbents.near, self.config.cutoff
        assigned = np.inf if self._coordinator is None else self._coordinator.bound
        bound = min(self._tree.bound, assigned) if self._begun else -np.inf
        if near is not None:
            self.details["near"] = near.result(self.best, bound, len(self._tree) if self._begun else 1, self.sign)
        if limit is None or bound < self.incumbents.cutoff:
            return
        if self.best is None or self.best >= self.sign * limit:
            self._add_message(f"Proven: nothing is better than the cutoff, {limit:.9g}.")

    def _run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run the algorithm box; the numbers are its steps."""
        try:
            self.root.solve()  # 0
            self._begun = True
            self.visits.centre = self.root.centre
            self._raise_tree_bound()
            self._coordinator = self._make_coordinator()
            for _ in self.rounds(done=lambda: self.visits.nodes):
                if not self._step():  # 1, 2, 3
                    break
                self._raise_tree_bound()
                if self.incumbents.near is None and self.closed(self.config.gap):
                    break
                if self.stopped() is None and not (self._coordinator is not None and self._coordinator.is_due()):
                    self._every_few_nodes()
            else:
                return self.stop, None
        except Ended as end:
            return end.stop, end.status
        finally:
            self._stop_workers()
        self.incumbents.row("end")
        if self.best is None and self._tree.left_out == np.inf:  # every node was proven empty
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        return StopReason.CONVERGED, None

    def _step(self) -> bool:
        """Process a node, or let workers process some; return whether there was one."""
        coordinator, limit = self._coordinator, self.config.iteration_limit
        try:
            if coordinator is not None and coordinator.is_due():
                coordinator.run_slice(np.inf if limit is None else limit - self.visits.nodes)
                return True
            return self.visits.step()
        except Ended:
            self._raise_tree_bound()
            raise
        finally:
            if self.visits.nodes:
                self.details["nodes"] = self.visits.nodes

    def work_text(self) -> list[str]:
        """Return the numbers of open and processed nodes as text."""
        if not self._begun:
            return [f"{self.incumbents.solved} subproblems"] if self.incumbents.solved else []
        open_ = len(self._tree) + (0 if self._coordinator is None else self._coordinator.open)
        return [f"{open_} nodes open, {self.visits.nodes} done"]

    def _every_few_nodes(self) -> None:
        """Show the tree's progress, and search for incumbents in wider exchanges (3)."""
        if self.visits.nodes % 50 == 0:
            self.incumbents.row("tree")
        if self.visits.nodes % SEARCHES == 0:
            self.incumbents.exchange_more()

    def _raise_tree_bound(self) -> None:
        assigned = np.inf if self._coordinator is None else self._coordinator.bound
        bound = min(self._tree.bound, self._tree.left_out, assigned)
        if bound < np.inf:  # -inf would be a node that has no bound yet
            self.raise_bound(min(bound, self.incumbents.least), of_rest=True)
        elif self.best is not None:  # nothing is left, and nothing was left out
            self.raise_bound(self.incumbents.least)

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Offer a point of the master as incumbent."""
        put_back(zip(self._lp.variables, point.tolist(), strict=True))
        self.offer(objective, self._lp.variables, answer.load, self.score_of(answer))

    def _make_coordinator(self) -> Coordinator | None:
        """Return the coordinator of the worker processes, None where the run has one process."""
        threads = self.config.threads or 1
        if threads == 1:
            return None
        if not self.by_oracle:
            self._add_message(
                f"threads={threads} went to the solver of the subproblem: nodes go to other processes only where a "
                "model's builder has a fast oracle for its subproblem."
            )
            return None
        return Coordinator(self.visits, threads, self._task)

    def _task(self) -> TreeTask:
        """Return the problem of the tree for a worker."""
        structure, c = self.structure, self.config
        detached = None if structure.detached is None else structure.detached()
        oracle, relaxation = structure.oracle, structure.relaxation
        if detached is not None:
            oracle, relaxation = detached, None if relaxation is None else detached.relax
        assert oracle is not None
        memory, centre = self.incumbents.memory, self.root.centre
        whole, portable = c.validation is not None, detached is not None
        below = self.incumbents.below
        return TreeTask(oracle, relaxation, self._lp, memory, centre, c.gap, below, whole, portable)

    def _stop_workers(self) -> None:
        coordinator = self._coordinator
        if coordinator is not None:
            coordinator.end()
            if coordinator.started:
                self.details["processes"] = coordinator.threads
            for what, seconds in coordinator.seconds.items():
                self.seconds[what] += seconds
            self._add_message(coordinator.message)

    def _add_message(self, more: str) -> None:
        self.message = f"{self.message} {more}".strip()

    def why_infeasible(self) -> str:
        """Return the rows that have no solution together, in words."""
        return clashing_rows(self.parts.master_rows, self.parts.master_variables)
