"""Linear blocks in persistent linear programs: at each point new sides, the last basis, and all cuts at once.

Blocks that share a linear program share its solve and nothing else: its matrix is block-diagonal. A thousand scenarios
of ten columns each cost one call and a thousand small pivots, where a thousand calls would cost a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from solvers.drivers.benders.block_rows import BlockCuts, BlockRows
from solvers.lp.highs import FINEST, HighsLP, LinearProgram, LpStatus

MakeLP = Callable[[np.ndarray, np.ndarray, np.ndarray], LinearProgram]


@dataclass(frozen=True)
class BlockSolution:
    """The blocks' variables, values and cuts at a point, of all blocks of a linear program."""

    y: np.ndarray
    values: np.ndarray
    cuts: BlockCuts


class BlockLP:
    """Some blocks in one linear program, which is built once."""

    def __init__(self, rows: BlockRows, make: MakeLP, x_bounds: tuple[np.ndarray, np.ndarray]) -> None:
        self._make, self._x_bounds = make, x_bounds
        self.rows = rows
        self._follow()

    def _follow(self) -> None:
        self._moving = self.rows.moving
        self._coupling = self.rows.coupling[self._moving]

    @cached_property
    def lp(self) -> LinearProgram:
        """The linear program."""
        rows = self.rows
        lp = self._make(rows.cost, rows.y_lower, rows.y_upper)
        lp.add_rows(rows.matrix, rows.lower, rows.upper)
        return lp

    def add(self, matrix: Any, coupling: Any, upper: np.ndarray, row_block: np.ndarray) -> None:
        """Add rows ``matrix y + coupling x <= upper`` of blocks."""
        lp = self.lp
        self.rows = self.rows.plus(matrix, coupling, upper, row_block)
        lp.add_rows(matrix, np.full(len(upper), -np.inf), upper)
        self._follow()
        self._distance = None

    @property
    def distance(self) -> BlockLP:
        """The blocks' distances from feasible."""
        if self._distance is None:
            self._distance = BlockLP(self.rows.elastic(*self._x_bounds), self._make, self._x_bounds)
        return self._distance

    _distance: BlockLP | None = None
    _vertex: BlockLP | None = None

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point of the complicating variables; a status where there is no optimum.

        ``room``: how far the point may be from where the rows hold, in its own units. The cuts are of the rows without.
        """
        rows, moving = self.rows, self._moving
        shift = self._coupling @ point
        give = room * (1.0 + abs(self._coupling).sum(axis=1)) if room else 0.0
        self.lp.set_sides(moving, rows.lower[moving] - shift - give, rows.upper[moving] - shift + give)
        answer = self.lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        y = np.clip(answer.point[: len(rows.cost)], rows.y_lower, rows.y_upper)
        cuts = rows.cuts(answer.multipliers[: len(rows.lower)])
        if np.all(np.isfinite(cuts.constants)) or isinstance(self.lp, HighsLP):
            return BlockSolution(y, rows.values(y), cuts)
        return self._by_vertex(point, time_limit)

    def _by_vertex(self, point: np.ndarray, time_limit: float | None) -> BlockSolution | LpStatus:
        """Solve by HiGHS, whose multipliers are of a vertex, where those of interior points prove nothing."""
        if self._vertex is None:
            self._vertex = BlockLP(self.rows, partial(HighsLP, tolerance=FINEST), self._x_bounds)
        return self._vertex.solve(point, time_limit)
