r"""Blocks of a subproblem in one persistent linear program, with tangents of their convex rows and terms.

Linear blocks
    All blocks share one linear program with a block-diagonal matrix. At each point only the sides change; the solve
    starts from the last basis and returns the cuts of all blocks. For a thousand scenarios with ten columns each this
    is one call and a thousand small pivots; a thousand calls would take a second.

Blocks with functions that are assumed to be convex, and convex blocks with a named solver (others: ``block_cones``)
    A block  q(x) = min { c.y + f(y) : linear rows, g(y, x) <= 0 }  with convex f and g lies above the linear program
    with

        theta >= f(y_k) + f'(y_k)(y - y_k),   g(y_k, x_k) + g'(y_k, x_k)((y, x) - (y_k, x_k)) <= 0

    for any points k, at every x. Its cuts are valid for any number of tangents and for inexact multipliers. They are
    tight at x-bar once the tangents are exact at an optimum there; this is generalised Benders decomposition
    (Geoffrion). The first tangents are at the optimum of the named solver, or of the default one of the class. Further
    ones are added at optima of the linear program (Kelley's method) until these violate no curve by more than the
    tolerance. Tangents are kept for the next x-bar.
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
    """Several blocks in one linear program, which is built once."""

    def __init__(self, rows: BlockRows, make: MakeLP, x_bounds: tuple[np.ndarray, np.ndarray]) -> None:
        self._make, self._x_bounds = make, x_bounds
        self.rows = rows
        self._update_moving()

    def _update_moving(self) -> None:
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
        self._update_moving()
        self._distance = None

    @property
    def distance(self) -> BlockLP:
        """The linear program of the distances of the blocks from feasibility."""
        if self._distance is None:
            self._distance = BlockLP(self.rows.elastic(*self._x_bounds), self._make, self._x_bounds)
        return self._distance

    _distance: BlockLP | None = None
    _vertex: BlockLP | None = None

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point of the complicating variables; return a status if there is no optimum.

        ``room``: tolerance for violated rows. The cuts are those of the rows without this tolerance.
        """
        rows, moving = self.rows, self._moving
        shift = self._coupling @ point
        slack = room * (1.0 + abs(self._coupling).sum(axis=1)) if room else 0.0
        self.lp.set_sides(moving, rows.lower[moving] - shift - slack, rows.upper[moving] - shift + slack)
        answer = self.lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        y = np.clip(answer.point[: len(rows.cost)], rows.y_lower, rows.y_upper)
        cuts = rows.cuts(answer.multipliers[: len(rows.lower)])
        if np.all(np.isfinite(cuts.constants)) or isinstance(self.lp, HighsLP):
            return BlockSolution(y, rows.values(y), cuts)
        return self._by_vertex(point, time_limit)

    def _by_vertex(self, point: np.ndarray, time_limit: float | None) -> BlockSolution | LpStatus:
        """Solve with HiGHS for the multipliers of a vertex, if those of an interior point prove no bound."""
        if self._vertex is None:
            self._vertex = BlockLP(self.rows, partial(HighsLP, tolerance=FINEST), self._x_bounds)
        return self._vertex.solve(point, time_limit)


MOST = 400  # rounds of Kelley's method
BOXES = (1e2, 1e4, 1e6)  # bounds of variables for points at which an unbounded program gets its first tangents
MISSED = 1e-8  # tolerance for a violated convex row

FindOptimum = Callable[[np.ndarray, float | None], np.ndarray | None]  # (x, time limit) -> y


class CurvedLP(BlockLP):
    """All blocks, some of them convex, in one linear program with tangents.

    ``find_optimum``: returns an optimum of the blocks at a point.
    """

    def __init__(
        self,
        rows: BlockRows,
        make: MakeLP,
        x_bounds: tuple[np.ndarray, np.ndarray],
        curves: list[BlockCurve],
        start: np.ndarray,
        find_optimum: FindOptimum,
    ) -> None:
        super().__init__(rows, make, x_bounds)
        self._curves, self._find_optimum = curves, find_optimum
        self._objective = [k for k, curve in enumerate(curves) if curve.of_objective]
        self._y = len(rows.cost) - len(self._objective)  # columns before theta
        self._theta = {k: self._y + i for i, k in enumerate(self._objective)}
        self.tolerance = 1e-7
        self._add_tangents(np.clip(start, rows.y_lower[: self._y], rows.y_upper[: self._y]), None)

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point; the values are attained within the tolerances, and the cuts are proven."""
        boxed = 0
        y = self._find_optimum(point, time_limit)
        if y is not None:
            self._add_tangents(np.concatenate([y, point]), None)
        for _ in range(MOST):
            found = super().solve(point, time_limit, room)
            if found is LpStatus.UNBOUNDED and boxed < len(BOXES) and self._from_boxes(point, time_limit):
                boxed += 1  # if it is still unbounded after these rounds, a block is unbounded
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
        raise SolverFailure("The tangents of convex blocks did not reach the accuracy of an optimum.", "highs")

    def _from_boxes(self, point: np.ndarray, time_limit: float | None) -> bool:
        """Add tangents at optima within boxes if the linear program is unbounded; return whether any were added."""
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
