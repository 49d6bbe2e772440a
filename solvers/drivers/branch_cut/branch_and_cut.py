r"""Branch-and-cut over relaxations: the relaxation of the structure if it has one, otherwise generalised Benders cuts.

For min { c.z + q(x) : z = (x, u) in P, some of z integer }, q convex, given by values and cuts:

    0. Root: if the structure solves the relaxation and has more than 100 choices, first find an incumbent by the prices
       of the smallest choice, and improve it by exchanges if it is a small part of all. Solve the continuous
       relaxation, by the structure or by cutting planes. Find incumbents by rounding and by exchanges, unless the known
       cuts exclude them. Fix variables by reduced costs. With a ``memory``, use the cuts, answers and best choices of
       earlier runs.
    1. Take the open node with the least bound.
    2. Solve its relaxation. Prune it if the bound is within the gap of the incumbent; fix variables of the subtree by
       reduced costs. If the structure has no relaxation, solve the node by cuts, over one persistent LP:
       a. Solve the LP. Restore dropped cuts that are violated.
       b. Integral point: solve the subproblem there. If its value exceeds the LP's eta, add its cut and go to a;
          otherwise the node is solved.
       c. Fractional point: once per node, solve the subproblem at a point between it and the root's solution. If the
          cut is violated, add it and go to a.
    3. If at most one more choice can be switched on, evaluate the few choices that the cuts do not exclude
       (``Leaves``); otherwise branch on the variable with the best pseudo-costs. Wider exchanges use up to a fifth of
       all subproblems.

With ``threads`` above 1 and an oracle, as many processes perform steps 1 to 3, each in a part of the tree
(``coordinator``). An unbounded LP gets a floor from the relaxation of the whole model (``relaxation``). The method is
finite for integer x in a bounded set: by cuts, each point is evaluated once and its cut is tight there; by relaxations,
a node without open variables is solved by cuts. The bound is the least bound of the open, pruned and fixed nodes; each
is proven by weak duality, and a node without a bound has -inf.

Sources: Naoum-Sawaya and Elhedhli 2013 for cuts in a single tree; Achterberg, Koch and Martin 2005 for pseudo-costs;
Ben-Ameur and Neto 2007 for c (in-out separation).

On SVM data (1000 x 100, M = 20, C = 1) the tree over relaxations proves in 5 to 30 s optima for which the tree over
cuts has a gap of 1 to 2% after 60 s: the LP of a node is 2% below its relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.drivers.base import End, Ended
from solvers.drivers.benders.base import DecompositionConfig, DecompositionDriver
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.drivers.branch_cut.branching import Tree
from solvers.drivers.branch_cut.coordinator import Coordinator
from solvers.drivers.branch_cut.incumbents import IncumbentSearch, SolutionPool
from solvers.drivers.branch_cut.master import MasterLP
from solvers.drivers.branch_cut.memory import Memory
from solvers.drivers.branch_cut.node import SEARCHES, NodeBounds, NodeSearch
from solvers.drivers.branch_cut.root import RootSearch
from solvers.drivers.branch_cut.worker import TreeTask
from solvers.drivers.solver_options import lp_solver_options
from solvers.errors import ModelError, OptionError
from solvers.facts.structure import SubAnswer
from solvers.model.conflict import NO_CLASH, clashing_rows
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason
from solvers.values import put_back


@dataclass
class BranchAndCutConfig(DecompositionConfig):
    """Options of ``branch-and-cut``, in addition to those of every Benders driver; ``iteration_limit`` counts nodes.

    Attributes
    ----------
    root_limit : int
        Maximum number of cuts at the root.
    lp_solver : str
        Solver of the tree's LPs. "highs" runs directly. Other solvers with LP duals that are not local ("gurobi",
        "glpk", "clarabel") run through Pyomo, at half the nodes per second or fewer; see ``solvers.lp.pyomo``.
    lp_options : mapping, optional
        Its own options.
    memory : Memory, optional
        Cuts, answers at 0/1 points, pseudo-costs and best choices of earlier runs of this model, with other rows, costs
        and bounds of the complicating variables, or other values of its mutable parameters. Those of other processes
        (``threads``) are not kept.
    cutoff : float, optional
        Search only for objectives that are better than this. The run ends once it is proven that there are none.
    within : float, optional
        Find all choices of the complicating variables whose objective is within this share of the best:
        ``result.details["near"]``, ``NearChoices``. These variables must be integers.
    most_choices : int
        Maximum number of such choices; the best are kept.
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

    ``root`` solves the root, ``search`` processes nodes, ``incumbents`` finds incumbents.
    """

    name = "branch-and-cut"
    title = "models with declared complicating variables (generalised Benders, one tree)"
    options_type = BranchAndCutConfig
    config: BranchAndCutConfig

    def prepare_master(self, floor: float | None) -> None:
        """Build the relaxed master as an LP, and the parts of the search."""
        c, self._begun = self.config, False
        fractional = not isinstance(self._subproblem, SwitchedSubproblem)
        self._lp = MasterLP(self.parts, floor, options=lp_solver_options(c), lp_solver=c.lp_solver)
        kept = c.memory is not None and self.parts.as_built  # an edited subproblem has other values
        memory = c.memory if kept and c.memory is not None else Memory()
        names = [v.name for v in self._lp.variables]
        with memory.used():
            dropped = memory.prepare(self.structure, names, kept=kept)
        self._tree = Tree()
        below = np.inf if c.cutoff is None else self.sign * c.cutoff
        self.incumbents = IncumbentSearch(self, self._lp, memory, near=self._solution_pool(), below=below)
        self.node_bounds = NodeBounds(self, self.incumbents, self.relaxation)
        self.root = RootSearch(
            self, self.incumbents, self.node_bounds, self._tree, fractional=fractional, limit=c.root_limit,
            dropped=dropped,
        )  # fmt: skip
        self.search = NodeSearch(self.incumbents, self.node_bounds, self._tree, fractional=fractional)
        self.incumbents.improved = self.root.fix
        self._coordinator: Coordinator | None = None

    def _solution_pool(self) -> SolutionPool | None:
        """Return the pool of near-optimal choices, None without ``within``. Raises ModelError."""
        if self.config.within is None:
            return None
        continuous = [v.name for v, integer in zip(self._lp.variables, self._lp.integer, strict=True) if not integer]
        continuous = [name for name in continuous if name in {v.name for v in self.structure.complicating}]
        if continuous:
            raise ModelError(
                f'within= lists choices, and "{min(continuous)}" is continuous: only integers can be listed. '
                "Leave within= out, or make it an integer."
            )
        return SolutionPool(self.config.within, self.config.most_choices)

    def run(self) -> End:
        """Run, and report the near-optimal choices, or that no objective is better than the cutoff."""
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
            self.add_message(f"Proven: no objective is better than the cutoff, {limit:.9g}.")

    def _run(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        try:
            self.root.solve()  # 0
            self._begun = True
            self.search.centre = self.root.centre
            self._raise_tree_bound()
            self._coordinator = self._make_coordinator()
            for _ in self.rounds(done=lambda: self.search.nodes):
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
        if self.best is None and self._tree.left_out == np.inf:  # every node was proven infeasible
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        return StopReason.CONVERGED, None

    def _step(self) -> bool:
        """Process a node, or let workers process some; return True if there was one."""
        coordinator, limit = self._coordinator, self.config.iteration_limit
        try:
            if coordinator is not None and coordinator.is_due():
                coordinator.run_slice(np.inf if limit is None else limit - self.search.nodes)
                return True
            return self.search.step()
        except Ended:
            self._raise_tree_bound()
            raise
        finally:
            if self.search.nodes:
                self.details["nodes"] = self.search.nodes

    def work_text(self) -> list[str]:
        """Return the numbers of open and processed nodes as text."""
        if not self._begun:
            return [f"{self.incumbents.solved} subproblems"] if self.incumbents.solved else []
        open_ = len(self._tree) + (0 if self._coordinator is None else self._coordinator.open)
        return [f"{open_} nodes open, {self.search.nodes} done"]

    def _every_few_nodes(self) -> None:
        """Add a row to the table, and search for incumbents by wider exchanges (3)."""
        if self.search.nodes % 50 == 0:
            self.incumbents.row("tree")
        if self.search.nodes % SEARCHES == 0:
            self.incumbents.exchange_more()

    def _raise_tree_bound(self) -> None:
        assigned = np.inf if self._coordinator is None else self._coordinator.bound
        bound = min(self._tree.bound, self._tree.left_out, assigned)
        if bound < np.inf:
            self.raise_bound(min(bound, self.incumbents.least), of_rest=True)
        elif self.best is not None:  # no node is open, and none was pruned
            self.raise_bound(self.incumbents.least)

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Offer a point of the master as incumbent."""
        put_back(zip(self._lp.variables, point.tolist(), strict=True))
        self.offer(objective, self._lp.variables, answer.load, self.score_of(answer))

    def _make_coordinator(self) -> Coordinator | None:
        """Return the coordinator of the worker processes, None if the run has one process."""
        threads = self.config.threads or 1
        if threads == 1:
            return None
        if not self.by_oracle:
            self.add_message(
                f"threads={threads} went to the solver of the subproblem: other processes explore nodes only if the "
                "model's builder has a fast oracle for its subproblem."
            )
            return None
        return Coordinator(self.search, threads, self._task)

    def _task(self) -> TreeTask:
        """Return the description of the tree search for a worker."""
        structure, c = self.structure, self.config
        detached = None if structure.detached is None else structure.detached()
        oracle, relaxation = structure.oracle, structure.relaxation
        if detached is not None:
            oracle, relaxation = detached, None if relaxation is None else detached.relax
        assert oracle is not None
        return TreeTask(
            oracle,
            relaxation,
            self._lp,
            self.incumbents.memory,
            self.root.centre,
            c.gap,
            below=self.incumbents.below,
            all_points=c.validation is not None,
            portable=detached is not None,
        )

    def _stop_workers(self) -> None:
        coordinator = self._coordinator
        if coordinator is not None:
            coordinator.end()
            if coordinator.started:
                self.details["processes"] = coordinator.threads
            for what, seconds in coordinator.seconds.items():
                self.seconds[what] += seconds
            self.add_message(coordinator.message)

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution: of the master, or of the whole model."""
        parts = self.parts
        reason = clashing_rows(parts.master_rows, parts.master_variables, otherwise="")
        return reason or self.linear_clash() or NO_CLASH
