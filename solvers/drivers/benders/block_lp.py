r"""Linear blocks in persistent linear programs: at each point new sides, the last basis, and all cuts at once.

Blocks that share a linear program share its solve and nothing else: its matrix is block-diagonal. A thousand scenarios
of ten columns each cost one call and a thousand small pivots, where a thousand calls would cost a second.

Convex blocks in a linear program that learns their tangents: generalised Benders with cuts proven by duality.

A block  q(x) = min { c.y + f(y) : linear rows, g(y, x) <= 0 }  with f, g convex lies above the linear program with

    theta >= f(y_k) + f'(y_k)(y - y_k),   g(y_k, x_k) + g'(y_k, x_k)((y, x) - (y_k, x_k)) <= 0

for any points k, at every x: its cuts are valid however few tangents there are, and from multipliers of whatever
accuracy. They are tight at x-bar once the tangents are exact at an optimum there, which is what makes Geoffrion's
algorithm of Benders'. Tangents come from the linear program's own points, by Kelley's method, until those miss no curve
by more than the tolerance; and first of all from an optimum by the solver that the user has named, where one is named,
or by one for such problems where Kelley's method is slow. They stay: at the next x-bar most are there already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from solvers.drivers.benders.block_rows import BlockCuts, BlockRows
from solvers.drivers.benders.blocks import BlockCurve
from solvers.errors import SolverFailure
from solvers.lp.highs import FINEST, HighsLP, LpStatus
from solvers.lp.pyomo import LinearProgram

MakeLP = Callable[[np.ndarray, np.ndarray, np.ndarray], LinearProgram]


@dataclass(frozen=True)
class BlockSolution:
    """Variables, values and cuts of all blocks of a linear program at a point."""

    y: np.ndarray
    values: np.ndarray
    cuts: BlockCuts


class BlockLP:
    """Several blocks in one linear program that is built once."""

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
        """Distances of the blocks from feasibility."""
        if self._distance is None:
            self._distance = BlockLP(self.rows.elastic(*self._x_bounds), self._make, self._x_bounds)
        return self._distance

    _distance: BlockLP | None = None
    _vertex: BlockLP | None = None

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point of the complicating variables; return a status where there is no optimum.

        ``room``: by how much the point may violate the rows. The cuts are those of the rows without this tolerance.
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
        """Solve by HiGHS, for multipliers at a vertex, where those of interior points prove no bound."""
        if self._vertex is None:
            self._vertex = BlockLP(self.rows, partial(HighsLP, tolerance=FINEST), self._x_bounds)
        return self._vertex.solve(point, time_limit)


SLOW, MOST = 12, 400  # rounds of Kelley's method before an optimum is asked for, and in all
BOXES = (1e2, 1e4, 1e6)
MISSED = 1e-8  # by how much a point may miss a convex row

AskOptimum = Callable[[np.ndarray, float | None], np.ndarray | None]  # (x, time limit) -> y


class CurvedLP(BlockLP):
    """All blocks, some of them convex, in one linear program with tangents."""

    def __init__(
        self,
        rows: BlockRows,
        make: MakeLP,
        x_bounds: tuple[np.ndarray, np.ndarray],
        curves: list[BlockCurve],
        start: np.ndarray,
        ask: AskOptimum,
        *,
        at_once: bool,
    ) -> None:
        super().__init__(rows, make, x_bounds)
        self._curves, self._ask, self._at_once = curves, ask, at_once
        self._objective = [k for k, curve in enumerate(curves) if curve.of_objective]
        self._y = len(rows.cost) - len(self._objective)  # columns before theta
        self._theta = {k: self._y + i for i, k in enumerate(self._objective)}
        self.tolerance = 1e-7
        self._add_tangents(np.clip(start, rows.y_lower[: self._y], rows.y_upper[: self._y]), None)

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point; the values are attained within the tolerances, the cuts proven."""
        asked = not self._at_once
        if self._at_once:
            self._lead(point, time_limit)
        boxed = 0
        for k in range(MOST):
            if k == SLOW and asked:
                self._lead(point, time_limit)
            found = super().solve(point, time_limit, room)
            if found is LpStatus.UNBOUNDED and boxed < len(BOXES) and self._from_boxes(point, time_limit):
                boxed += 1  # tangents that end nothing after that many rounds are those of a block without an end
                continue
            if isinstance(found, LpStatus):
                return found
            y = found.y[: self._y]
            z = np.concatenate([y, point])
            at = np.array([curve.at(z) for curve in self._curves])
            low = np.array([found.y[self._theta[i]] if i in self._theta else 0.0 for i in range(len(at))])
            values = found.values.copy()
            np.add.at(values, [self._curves[i].block for i in self._objective], (at - low)[self._objective])
            near = self.tolerance * (1.0 + abs(float(values.sum()))) / max(1, len(self._objective))
            missed = [i for i in range(len(at)) if at[i] - low[i] > (near if i in self._theta else MISSED)]
            if not missed:
                return BlockSolution(y, values, found.cuts)
            if self._add_tangents(z, missed) == 0:
                break
        raise SolverFailure("The tangents of convex blocks did not come near enough to an optimum.", "highs")

    def _lead(self, point: np.ndarray, time_limit: float | None) -> None:
        """Add the tangents at an optimum of all blocks."""
        y = self._ask(point, time_limit)
        if y is not None:
            self._add_tangents(np.concatenate([y, point]), None)

    def _from_boxes(self, point: np.ndarray, time_limit: float | None) -> bool:
        """Add tangents at optima within boxes, where the linear program is unbounded; return whether any were added."""
        rows, every = self.rows, np.arange(len(self.rows.cost))
        added = 0
        for size in BOXES:
            low, up = np.maximum(rows.y_lower, -size), np.minimum(rows.y_upper, size)
            low[self._y :], up[self._y :] = rows.y_lower[self._y :], rows.y_upper[self._y :]
            self.lp.set_bounds(every, np.minimum(low, rows.y_upper), np.maximum(up, rows.y_lower))
            found = super().solve(point, time_limit)
            self.lp.set_bounds(every, rows.y_lower, rows.y_upper)
            if isinstance(found, BlockSolution):
                added += self._add_tangents(np.concatenate([found.y[: self._y], point]), None)
                if not isinstance(super().solve(point, time_limit), LpStatus):
                    return True
        return added > 0

    def _add_tangents(self, z: np.ndarray, which: list[int] | None) -> int:
        """Add the tangents of some or all curves at a point (y, x); return their number."""
        point = z if len(z) > self._y else np.concatenate([z, np.clip(0.5, *self._x_bounds)])
        rows: list[np.ndarray] = []
        columns: list[np.ndarray] = []
        sides: list[float] = []
        blocks: list[int] = []
        for i in range(len(self._curves)) if which is None else which:
            curve = self._curves[i]
            if which is None and not curve.of_objective and not np.isfinite(curve.at(point)):
                continue
            slope, side = curve.tangent(point)
            theta = [self._theta[i]] if i in self._theta else []
            places = np.where(curve.places < self._y, curve.places, curve.places + len(self._objective))
            rows.append(np.concatenate([slope, -np.ones(len(theta))]))
            columns.append(np.concatenate([places, theta]).astype(int))
            sides.append(side)
            blocks.append(curve.block)
        if not rows:
            return 0
        starts = np.cumsum([0, *map(len, rows)])
        wide = len(self.rows.cost) + self.rows.coupling.shape[1]
        matrix = sparse.csr_array((np.concatenate(rows), np.concatenate(columns), starts), shape=(len(rows), wide))
        split_at = len(self.rows.cost)
        self.add(matrix[:, :split_at], matrix[:, split_at:], np.array(sides), np.array(blocks))
        return len(rows)
