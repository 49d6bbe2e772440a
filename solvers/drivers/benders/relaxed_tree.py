r"""Bounds and cuts for a Benders master from a tree of continuous relaxations.

The cuts of a subproblem are tight at the points of the master, which are integer; between these points they may be far
below the relaxation, and the master then needs many of them. Where the relaxation of a node

    r(l, u) = min { c.x + q(x) : rows of the master, l <= x <= u }

is one program, its multipliers give a cut for which ``min { c.x + cut(x) : the same rows and bounds }`` is the proven
bound of r (``cone_relaxation``). So the master gets the bound of every node:

    a. Take the open node with the smallest bound; this is a bound of the model.
    b. If its optimum is integer, its bound is that of all its points. Otherwise branch at the variable that is the
       farthest from integer; solve the relaxations of the two parts, and add their cuts to the master.

Nodes are open, or ended with a bound. The smallest of both is the bound of the tree.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np

from solvers.facts.structure import Cut, Relaxation, RelaxedAnswer
from solvers.model.linear import LinearRows
from solvers.result import ROUNDING

Open = tuple[float, int, np.ndarray, np.ndarray, np.ndarray]  # bound, number, lower, upper, point


class RelaxedTree:
    """A best-first tree over the integers of a master.

    ``rows``: of the master. ``relaxation``: of the nodes. ``cuts``: found since they were taken by the caller.
    """

    def __init__(self, rows: LinearRows, relaxation: Relaxation) -> None:
        self.rows, self._relaxation = rows, relaxation
        self._integer = np.array([not v.is_continuous() for v in rows.variables], dtype=bool)
        self._open: list[Open] = []
        self._number = itertools.count()
        self._ended = np.inf  # least bound of the nodes without children
        self.cuts: list[Cut] = []

    @property
    def bound(self) -> float:
        """The bound of the tree."""
        return min(self._ended, self._open[0][0] if self._open else np.inf)

    def add(self, lower: np.ndarray, upper: np.ndarray, above: float, **options: Any) -> RelaxedAnswer | None:
        """Solve the relaxation within bounds and add the node; ``above``: bound of the node that contains it."""
        found = self._relaxation(self.rows, lower, upper, enough=np.inf, **options)
        if found is None:
            self._ended = min(self._ended, above)
            return None
        if np.isfinite(found.bound):
            self.cuts.append(found.cut)
            heapq.heappush(self._open, (max(above, found.bound), next(self._number), lower, upper, found.point))
        return found

    def expand(self, **options: Any) -> None:
        """Branch at the node with the smallest bound; nothing is done if there is none below the ended ones."""
        if not self._open or self._open[0][0] >= self._ended:
            return
        bound, _, lower, upper, point = heapq.heappop(self._open)
        off = np.where(self._integer & (lower < upper), np.abs(point - np.round(point)), 0.0)
        k = int(np.argmax(off))
        if off[k] <= ROUNDING:
            self._ended = min(self._ended, bound)
            return
        for low, up in ((lower[k], np.floor(point[k])), (np.ceil(point[k]), upper[k])):
            part_lower, part_upper = lower.copy(), upper.copy()
            part_lower[k], part_upper[k] = low, up
            if low <= up:  # bounds of an integer may be fractional
                self.add(part_lower, part_upper, bound, **options)
