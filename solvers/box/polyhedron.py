r"""Linear rows and a box: the nearest point of {l <= x <= u, below <= A x <= above}, and the residual there.

The projection is a convex QP over the columns in rows, by an interior-point method, refined on the active bounds and
rows: values are on their bounds exactly, and rows hold to rounding. The residual of a box is the largest decrease for
one unit in one variable; here a unit is shared by several, as rows may let them move together only:

.. math:: \max\ -g^\top d / \max(1, |f|),\quad \textstyle\sum_j |d_j| / \mathrm{unit}_j \le 1,\ x + d \text{ feasible}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import sparse

from solvers.clarabel.engine import solve_qp

FloatArray = NDArray[np.float64]

ACCURACY = 1e-10  # of the interior-point method
BINDS = 1e-6  # relative distance at which a bound or row is active
HOLDS = 1e-9  # relative tolerance of rows and bounds


@dataclass(frozen=True)
class Polyhedron:
    """Rows ``below <= A x <= above``, A dense of shape (rows, columns of a point)."""

    matrix: FloatArray
    below: FloatArray
    above: FloatArray

    def scaled(self, unit: FloatArray) -> Polyhedron:
        """Return the rows over x / unit."""
        return replace(self, matrix=self.matrix * unit)

    def part(self, x: FloatArray, free: Any) -> Polyhedron:
        """Return the rows over some columns, with the others fixed at x."""
        rest = x.copy()
        rest[free] = 0.0
        constant = self.matrix @ rest
        return Polyhedron(self.matrix[:, free], self.below - constant, self.above - constant)

    def missed(self, x: FloatArray) -> float:
        """Return the violation of the worst row, relative to 1 or the side."""
        value = self.matrix @ x
        off = np.maximum(self.below - value, value - self.above)
        sides = np.where(np.isfinite(self.below), np.abs(self.below), 0.0)
        sides = np.maximum(sides, np.where(np.isfinite(self.above), np.abs(self.above), 0.0))
        return float((off / np.maximum(1.0, sides)).max(initial=0.0))

    def nearest(self, x: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
        """Return the nearest point that satisfies rows and box; None if there is none."""
        inside = np.clip(x, lower, upper)
        if self.missed(inside) <= HOLDS:
            return inside
        held = np.flatnonzero(np.any(self.matrix != 0.0, axis=0))
        rows = self.part(inside, held)
        near = rows._projected(x[held], lower[held], upper[held])
        if near is None:
            return None
        inside[held] = near
        return inside

    def _projected(self, x: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray | None:
        n = len(x)
        eye, size = sparse.identity(n, format="csc"), max(1.0, float(np.abs(x).max(initial=0.0)))
        parts = [
            (sparse.csc_matrix(sign * rows)[np.isfinite(side)], (sign * side)[np.isfinite(side)])
            for rows, sign, side in (
                (self.matrix, 1.0, self.above),
                (self.matrix, -1.0, self.below),
                (eye, 1.0, upper),
                (eye, -1.0, lower),
            )
        ]
        stacked = sparse.vstack([rows for rows, _ in parts], format="csc")
        sides = np.concatenate([side for _, side in parts])
        found = solve_qp(eye, -x, stacked, sides, [("nonnegative", len(sides))], accuracy=ACCURACY)
        if not found.finite or not self._holds(found.x, lower, upper, BINDS):
            return None
        refined = self._refined(found.x, x, lower, upper, BINDS * size)
        if self._holds(refined, lower, upper, HOLDS) and np.abs(refined - found.x).max() <= 1e2 * BINDS * size:
            return np.clip(refined, lower, upper)
        return np.clip(found.x, lower, upper)

    def _refined(self, y: FloatArray, x: FloatArray, lower: FloatArray, upper: FloatArray, near: float) -> FloatArray:
        """Return the point nearest to x on the bounds and rows that are active at y."""
        low, high = y - lower <= near, upper - y <= near
        point = np.where(low, lower, np.where(high, upper, x))
        free, value = ~(low | high), self.matrix @ y
        room = near * np.maximum(1.0, np.abs(self.matrix).sum(axis=1))
        at_least, at_most = value - self.below <= room, self.above - value <= room
        binds = at_least | at_most
        if binds.any() and free.any():
            side = np.where(at_least, self.below, self.above)[binds] - self.matrix[binds] @ point
            point[free] += np.linalg.lstsq(self.matrix[np.ix_(binds, free)], side, rcond=None)[0]
        return point

    def _holds(self, x: FloatArray, lower: FloatArray, upper: FloatArray, by: float) -> bool:
        size = max(1.0, float(np.abs(x).max(initial=0.0)))
        outside = np.maximum(lower - x, x - upper).max(initial=0.0)
        return self.missed(x) <= by * size and bool(outside <= by * size)

    def residual(
        self,
        x: FloatArray,
        value: float,
        gradient: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        unit: FloatArray | float,
    ) -> float:
        """Return the largest decrease for one unit, shared by the variables, to first order, relative to max(1, |f|).

        >>> rows = Polyhedron(np.ones((1, 2)), np.array([1.0]), np.array([1.0]))
        >>> box = np.zeros(2), np.full(2, np.inf)
        >>> rows.residual(np.array([0.5, 0.5]), 1.0, np.array([3.0, 1.0]), *box, 1.0)
        1.0
        """
        unit = np.broadcast_to(np.asarray(unit, dtype=float), x.shape)
        here, scaled = self.matrix @ x, self.matrix * unit
        sides = np.concatenate([np.maximum(self.above - here, 0.0), np.maximum(here - self.below, 0.0)])
        A = np.vstack([np.hstack([scaled, -scaled]), np.hstack([-scaled, scaled])])
        A, sides = np.vstack([A[np.isfinite(sides)], np.ones(2 * len(x))]), np.append(sides[np.isfinite(sides)], 1.0)
        most = np.concatenate([np.maximum(upper - x, 0.0) / unit, np.maximum(x - lower, 0.0) / unit])
        slope = gradient * unit
        size = float(np.abs(slope).max(initial=0.0))
        if size == 0.0:
            return 0.0
        cost = np.concatenate([slope, -slope]) / size
        found = scipy.optimize.linprog(
            cost, A_ub=A, b_ub=sides, bounds=np.column_stack([np.zeros(len(cost)), np.minimum(most, 1.0)])
        )
        decrease = size if found.x is None else -size * float(found.fun)
        return max(0.0, decrease) / max(1.0, abs(value))
