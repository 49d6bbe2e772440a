r"""Bounds and cuts for a Benders master from a tree of continuous relaxations.

The cuts of a subproblem are tight at the points of the master, which are integer; between these points they may be far
below the relaxation, and the master then needs many of them. Where the relaxation of a node

    r(l, u) = min { c.x + q(x) : rows of the master, l <= x <= u }

is one program, its multipliers give a cut for which ``min { c.x + cut(x) : the same rows and bounds }`` is the proven
bound of r (``cone_relaxation``). So the master gets the bound of every node:

    a. Take the open node with the smallest bound; this is a bound of the model.
    b. Branch at the variable that is the farthest from integer, also if none is: the optimum is exact to a tolerance
       only. Leave out a part without a point of the rows. Solve the relaxations of the others, and add their cuts.

Nodes are open, or ended with a bound because their bounds allow one choice only. The smallest of both is the bound of
the tree.
"""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import numpy as np

from solvers.facts.structure import Cut, Relaxation, RelaxedAnswer
from solvers.lp.highs import HighsLP, LpStatus
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
        self._columns = np.arange(len(rows.cost))
        self._lp = HighsLP(np.zeros(len(rows.cost)), rows.x_lower, rows.x_upper)  # of the rows alone
        self._lp.add_rows(rows.matrix, rows.lower, rows.upper)

    @property
    def bound(self) -> float:
        """The bound of the tree."""
        return min(self._ended, self._open[0][0] if self._open else np.inf)

    def add(self, lower: np.ndarray, upper: np.ndarray, above: float, **options: Any) -> RelaxedAnswer | None:
        """Solve the relaxation within bounds and add the node; ``above``: bound of the node that contains it.

        Return None if no point satisfies the rows, or if the relaxation fails.
        """
        self._lp.set_bounds(self._columns, lower, upper)
        if self._lp.solve(options["time_limit"]).status is LpStatus.INFEASIBLE:
            return None
        found = self._relaxation(self.rows, lower, upper, enough=np.inf, **options)
        bound, point = above, np.clip(0.0, lower, upper)  # if the method fails
        if found is not None:
            bound, point = max(above, found.bound), found.point
        if bound < np.inf:
            heapq.heappush(self._open, (bound, next(self._number), lower, upper, point))
        if found is not None and np.isfinite(found.bound):
            self.cuts.append(found.cut)
        return found

    def expand(self, **options: Any) -> None:
        """Branch at the node with the smallest bound; nothing is done if there is none below the ended ones."""
        if not self._open or self._open[0][0] >= self._ended:
            return
        bound, _, lower, upper, point = heapq.heappop(self._open)
        undecided = self._integer & (np.ceil(lower) < np.floor(upper))
        if not undecided.any():
            self._ended = min(self._ended, bound)
            return
        k = int(np.argmax(np.where(undecided, np.abs(point - np.round(point)), -1.0)))
        value = np.clip(point[k], lower[k] + ROUNDING, upper[k] - ROUNDING)
        for low, up in ((lower[k], np.floor(value)), (np.ceil(value), upper[k])):
            part_lower, part_upper = lower.copy(), upper.copy()
            part_lower[k], part_upper[k] = low, up
            if low <= up:  # bounds of an integer may be fractional
                self.add(part_lower, part_upper, bound, **options)
