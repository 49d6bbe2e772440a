"""Open nodes of a search tree, and the choice of the branching variable."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

Change = tuple[int, float, float]  # column, lower bound, upper bound
LEAST = 1e-6  # least gain of a branch, so that a product with the gain of the other is not 0
UP = 0.1  # exponent of the gain of the upper branch in the choice of a variable


@dataclass(order=True)
class Node:
    """A subtree: its bound, the negative number of nodes made before it, and the bounds it adds to the root's."""

    bound: float
    number: int
    changes: tuple[Change, ...] = field(compare=False, default=())
    column: int = field(compare=False, default=-1)  # branched on to get here; -1 at the root
    up: bool = field(compare=False, default=False)
    distance: float = field(compare=False, default=0.0)  # by which the branching moved the variable


class Tree:
    """Open nodes; the one with the least bound is next, and the newest of those with this bound.

    ``left_out``: least bound of the nodes that were pruned or excluded by fixing.
    """

    def __init__(self) -> None:
        self._heap: list[Node] = []
        self._made = 0
        self.left_out = np.inf

    def leave_out(self, bound: float) -> None:
        """Record the bound of a pruned part of the tree."""
        self.left_out = min(self.left_out, bound)

    def start_slice(self, nodes: Iterable[Node]) -> None:
        """Add open nodes of another tree, and forget the bounds of pruned nodes, which were reported."""
        self.left_out = np.inf
        self.give(nodes)

    def add(self, bound: float) -> None:
        """Add a node without a parent."""
        heapq.heappush(self._heap, Node(bound, -self._made))
        self._made += 1

    def branch(self, node: Node, bound: float, column: int, value: float, fixed: Sequence[Change] = ()) -> None:
        """Split a node at a fractional value; the nearer child is the newer one.

        ``fixed``: bounds that reduced costs add in both children.
        """
        below = (column, -np.inf, float(np.floor(value)))
        above = (column, float(np.ceil(value)), np.inf)
        fraction = value - np.floor(value)
        nearer = int(fraction > 0.5)  # this child is the newest node
        down = Node(bound, nearer - 1 - self._made, (*node.changes, *fixed, below), column, False, fraction)
        up = Node(bound, -nearer - self._made, (*node.changes, *fixed, above), column, True, 1.0 - fraction)
        self._made += 2
        heapq.heappush(self._heap, down)
        heapq.heappush(self._heap, up)

    def pop(self) -> Node | None:
        """Remove and return the next node; None if none is open."""
        return heapq.heappop(self._heap) if self._heap else None

    def put_back(self, node: Node) -> None:
        """Open a node again."""
        heapq.heappush(self._heap, node)

    def take(self, share: float = 1.0) -> list[Node]:
        """Remove and return a share of the open nodes, evenly spread over their bounds."""
        nodes = sorted(self._heap)
        few = int(share * len(nodes))
        out = {int((k + 0.5) * len(nodes) / few) for k in range(few)}
        self._heap = [node for k, node in enumerate(nodes) if k not in out]
        return [nodes[k] for k in sorted(out)]

    def give(self, nodes: Iterable[Node]) -> None:
        """Add open nodes of another tree."""
        for node in nodes:
            heapq.heappush(self._heap, replace(node, number=-self._made))
            self._made += 1

    @property
    def bound(self) -> float:
        """Least bound of the open nodes; infinite if none is open."""
        return self._heap[0].bound if self._heap else np.inf

    def __len__(self) -> int:
        return len(self._heap)


class PseudoCosts:
    """Mean gain of the bound for each unit by which branching moved a variable, down and up."""

    def __init__(self, columns: int) -> None:
        self._sum = np.zeros((2, columns))
        self._count = np.zeros((2, columns))

    def update(self, column: int, up: bool, distance: float, gain: float) -> None:
        """Record the gain of moving a variable by ``distance``."""
        if distance > 1e-9 and np.isfinite(gain):
            self._sum[int(up), column] += max(0.0, gain) / distance
            self._count[int(up), column] += 1

    @property
    def totals(self) -> np.ndarray:
        """Sums and counts, which can be added to those of another tree."""
        return np.stack([self._sum, self._count])

    def load(self, totals: np.ndarray) -> None:
        """Replace the sums and counts."""
        self._sum, self._count = totals[0].copy(), totals[1].copy()

    def add(self, totals: np.ndarray) -> None:
        """Add the sums and counts of another tree."""
        self.load(self.totals + totals)

    def choose(self, point: np.ndarray, candidates: np.ndarray) -> int:
        """Return the candidate with the largest product of expected gains, that of the upper branch to the power UP.

        A variable without a branching so far gets the mean gain of the others. If at most M variables may be 1, setting
        one more to 1 gains little at first: on SVM data UP = 0.1 needs a third of the nodes of UP = 1.
        """
        mean = np.maximum(self._sum.sum(axis=1) / np.maximum(self._count.sum(axis=1), 1.0), LEAST)
        sums, counts = self._sum[:, candidates], self._count[:, candidates]
        gain = np.where(counts > 0, sums / np.maximum(counts, 1.0), mean[:, None])
        fraction = point[candidates] - np.floor(point[candidates])
        below, above = np.maximum(gain[0] * fraction, LEAST**2), np.maximum(gain[1] * (1 - fraction), LEAST**2)
        return int(candidates[int(np.argmax(below * above**UP))])
