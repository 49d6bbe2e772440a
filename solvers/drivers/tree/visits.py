"""What is done at a node: steps 2 and 3 of branch-and-cut, for a driver or for a process that was dealt nodes."""

from __future__ import annotations

import numpy as np

from solvers.drivers.base import Ended
from solvers.drivers.tree.branching import Change, Node, Tree
from solvers.drivers.tree.cut_loop import CutLoop, Visit
from solvers.drivers.tree.incumbents import IncumbentSearch
from solvers.drivers.tree.leaves import Leaves
from solvers.drivers.tree.node_bounds import NodeBounds
from solvers.facts.structure import RelaxedAnswer

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
