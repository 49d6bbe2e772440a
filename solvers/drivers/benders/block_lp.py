"""Linear blocks in persistent linear programs: at each point new sides, the last basis, and all cuts at once.

Blocks that share a linear program share its solve and nothing else: its matrix is block-diagonal. A thousand scenarios
of ten columns each cost one call and a thousand small pivots, where a thousand calls would cost a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.drivers.benders.block_rows import BlockCuts, BlockRows
from solvers.lp.highs import LinearProgram, LpStatus

MakeLP = Callable[[np.ndarray, np.ndarray, np.ndarray], LinearProgram]


@dataclass(frozen=True)
class BlockSolution:
    """The blocks' variables, values and cuts at a point, of all blocks of a linear program."""

    y: np.ndarray
    values: np.ndarray
    cuts: BlockCuts


class BlockLP:
    """Some blocks in one linear program, which is built once."""

    def __init__(self, rows: BlockRows, make: MakeLP) -> None:
        self.rows, self._make = rows, make
        self._moving = rows.moving
        self._coupling = rows.coupling[self._moving]

    @cached_property
    def lp(self) -> LinearProgram:
        """The linear program."""
        rows = self.rows
        lp = self._make(rows.cost, rows.y_lower, rows.y_upper)
        lp.add_rows(rows.matrix, rows.lower, rows.upper)
        return lp

    @cached_property
    def distance(self) -> BlockLP:
        """The blocks' distances from feasible."""
        return BlockLP(self.rows.elastic(), self._make)

    def solve(self, point: np.ndarray, time_limit: float | None) -> BlockSolution | LpStatus:
        """Solve at a point of the complicating variables; a status where there is no optimum."""
        rows, moving = self.rows, self._moving
        shift = self._coupling @ point
        self.lp.set_sides(moving, rows.lower[moving] - shift, rows.upper[moving] - shift)
        answer = self.lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        y = np.clip(answer.point[: len(rows.cost)], rows.y_lower, rows.y_upper)
        return BlockSolution(y, rows.values(y), rows.cuts(answer.multipliers[: len(rows.lower)]))
