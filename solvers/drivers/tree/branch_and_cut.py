r"""Branch-and-cut over relaxations: the structure's own where it has one, generalised Benders cuts where not.

For min { c.z + q(x) : z = (x, u) in P, some of z integer }, q convex, given by values and cuts:

    0. Root: the continuous relaxation, by the structure at once or by cutting planes; incumbents by rounding and by
       exchanges, which the cuts seen so far rule out where they can; fixing by reduced cost. With a ``memory`` the
       tree begins where an earlier run left it (``earlier``, ``parts``).
    1. Take the child just made while its bound is near the least, else the open node with the least bound.
    2. Solve its relaxation. Prune where the bound is within the gap of the incumbent; fix by reduced cost below it.
       Where the structure cannot, by cuts, over one persistent LP:
       a. Solve the LP, with cuts dropped earlier that it violates.
       b. Integral: ask the subproblem there. Above the LP's eta: add its cut, back to a; else the node is solved.
       c. Fractional: once a node, ask a little inside, towards the root's solution. A violated cut: add it, back to a.
    3. Where one more choice may be switched on, ask the few that the cuts leave (``leaves``); else branch on the
       variable with the best pseudo-costs. For a fifth of all questions: wider exchanges.

An LP that is unbounded gets its floor from the relaxation of the whole model (``relaxation``). Finite for integer
x in a bounded set: by cuts, each point is asked once and its cut is tight there; by relaxations, a node without an open
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
from solvers.drivers.benders.subproblem import OracleSubproblem
from solvers.drivers.slots import lp_words
from solvers.drivers.tree.branching import Node, Tree
from solvers.drivers.tree.incumbents import IncumbentSearch
from solvers.drivers.tree.master import MasterLP
from solvers.drivers.tree.memory import Memory
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.drivers.tree.root import RootSearch
from solvers.drivers.tree.visits import Visits
from solvers.facts.structure import SubAnswer
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.conflict import clashing_rows
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason

PLUNGE = 0.2  # of the way from the least bound to the cutoff


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
        other values of its mutable parameters; this run begins with the parts of their tree that it cannot close
        without a solve, and leaves its own.
    """

    root_limit: int = 300
    lp_solver: str | SolverObject = "highs"
    lp_options: Mapping[str, Any] | None = None
    memory: Memory | None = None


class BranchAndCut(DecompositionDriver):
    """A single tree over the structure's relaxations, or over generalised Benders cuts in a persistent LP.

    ``root`` solves the root, ``visits`` bounds nodes and branches, ``incumbents`` finds incumbents.
    """

    name = "branch-and-cut"
    title = "models with declared complicating variables (generalised Benders, one tree)"
    options_type = BranchAndCutConfig
    config: BranchAndCutConfig
    asks_within = False

    def prepare_master(self, floor: float | None) -> None:
        """Build the relaxed master as an LP, and what searches over it."""
        c, inside = self.config, self._subproblem
        self._lp = MasterLP(self.parts, floor, words=lp_words(c), lp_solver=c.lp_solver)
        # An edited subproblem has other values; where any point will do, the objective is another one.
        given = c.memory if self.parts.as_built and not self._any_point else None
        memory = Memory() if given is None else given
        names = [v.name for v in self._lp.variables]
        dropped = memory.prepare(self.structure, names, tree=given is not None)
        self._tree = Tree(memory.parts)
        self.incumbents = IncumbentSearch(self, self._lp, memory)
        relaxation = self.structure.relaxation if isinstance(inside, OracleSubproblem) else None
        self.node_bounds = NodeBounds(self, self.incumbents, relaxation)
        self.root = RootSearch(
            self, self.incumbents, self.node_bounds, self._tree, fractional=inside.fractional, limit=c.root_limit,
            dropped=dropped,
        )  # fmt: skip
        self.visits = Visits(self.incumbents, self.node_bounds, self._tree, fractional=inside.fractional)
        self.incumbents.improved = self.root.fix

    def run(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run the algorithm box; the numbers are its steps."""
        try:
            self.root.solve()  # 0
            self.visits.centre = self.root.centre
            self._raise_tree_bound()
            for _ in self.rounds():
                node = self._tree.pop(self._plunge_below)  # 1
                if node is None:
                    break
                if node.bound < self.incumbents.cutoff:
                    self._visit(node)  # 2, 3
                else:
                    self._tree.leave_out(node.bound)
                self._raise_tree_bound()
                if self.closed(self.config.gap):
                    break
                if self.stopped() is None:
                    self._now_and_then()
            else:
                return self.stop, None
        except Ended as end:
            return end.stop, end.status
        self.incumbents.row("end")
        if self.best is None and self._tree.left_out == np.inf:  # every node was proven empty
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        return StopReason.CONVERGED, None

    @property
    def _plunge_below(self) -> float:
        """Children up to this bound are visited at once, which saves simplex iterations; others wait their turn."""
        bound = self._tree.bound
        if self.best is None or not np.isfinite(bound):
            return np.inf
        return bound + PLUNGE * max(0.0, self.incumbents.cutoff - bound)

    def _now_and_then(self) -> None:
        """Show the tree's progress, and search for incumbents in wider exchanges (3)."""
        if self.visits.nodes % 50 == 0:
            self.incumbents.row("tree")
        if self.visits.nodes % 20 == 0:
            self.incumbents.exchange_more()

    def _raise_tree_bound(self) -> None:
        bound = min(self._tree.bound, self._tree.left_out)
        if bound < np.inf:  # -inf would be a node that has no bound yet
            self.raise_bound(min(bound, self.incumbents.least), of_rest=True)
        elif self.best is not None:  # nothing is left, and nothing was left out
            self.raise_bound(self.incumbents.least)

    def _visit(self, node: Node) -> None:
        """Bound a node and branch, or close it; a node where the run ends stays open."""
        try:
            self.visits(node)
        except Ended:
            self._raise_tree_bound()
            raise
        finally:
            self.details["nodes"] = self.visits.nodes

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Offer a point of the master as incumbent."""
        for v, x in zip(self._lp.variables, point.tolist(), strict=True):
            v.set_value(x, skip_validation=True)
        self.offer(objective, self._lp.variables, answer.load, self.score_of(answer))

    def why_infeasible(self) -> str:
        """Name the rows that clash."""
        return clashing_rows(self.parts.master_rows, self.parts.master_variables, Runner(find("highs"), SolveOptions()))
