r"""What restricts the shares of a restricted problem: rows and boxes over x = (d, whatever else the rows hold).

.. math:: \{x : A x \le b \text{ (or } = b),\ \ell \le x \le u\}, \qquad \text{at the cost } c^\top x

The budget's own D is one row of ones and the box [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.clarabel.arrays import solve_qp

FloatArray = NDArray[np.float64]

TIGHT = 1e-9  # relative: by how much a point may miss a row without being moved
NOTHING = 1e-7  # of a share
LOOSE = 1e-6  # what the nearest point may miss


@dataclass(frozen=True)
class Polytope:
    """Rows ``A x <= b``, with equality where ``equal``, and boxes; A (r, n) is dense.

    ``shares``: the first so many of x are d; ``cost`` (n,) of x.
    """

    A: FloatArray
    b: FloatArray
    equal: NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray
    cost: FloatArray
    shares: int

    @classmethod
    def of_budget(cls, columns: int, budget: float) -> Polytope:
        """Return D."""
        zeros, ones = np.zeros(columns), np.ones(columns)
        return cls(ones[None], np.array([float(budget)]), np.zeros(1, dtype=bool), zeros, ones, zeros, columns)

    def missed(self, x: FloatArray) -> float:
        """Return by how much a point misses the rows and boxes, relative to their sides or to 1."""
        over = self.A @ x - self.b
        over = np.where(self.equal, np.abs(over), over) / np.maximum(1.0, np.abs(self.b))
        outside = np.maximum(self.lower - x, x - self.upper)
        return max(0.0, float(over.max(initial=0.0)), float(outside.max(initial=0.0)))

    def near(self, x: FloatArray, time_limit: float | None = None) -> FloatArray | None:
        """Return a point of the polytope near one: shares next to nothing are nothing where the rows allow it."""
        x = np.clip(x, self.lower, self.upper)
        small = np.flatnonzero((x[: self.shares] < NOTHING) & (self.lower[: self.shares] <= 0.0))
        few = x.copy()
        few[small] = 0.0
        for candidate in (few, x):
            if self.missed(candidate) <= TIGHT:
                return candidate
        return self._nearest(x, time_limit)

    def _nearest(self, x: FloatArray, time_limit: float | None) -> FloatArray | None:
        """Project."""
        n = len(x)
        boxed = [np.flatnonzero(np.isfinite(side)) for side in (self.upper, self.lower)]
        eye = sparse.eye_array(n, format="csr")
        below, same = self.A[~self.equal], self.A[self.equal]
        A = sparse.vstack([sparse.csr_array(same), sparse.csr_array(below), eye[boxed[0]], -eye[boxed[1]]], "csc")
        b = np.concatenate([self.b[self.equal], self.b[~self.equal], self.upper[boxed[0]], -self.lower[boxed[1]]])
        cones = [("zero", len(same)), ("nonnegative", len(b) - len(same))]
        kinds = [cone for cone in cones if cone[1]]
        found = solve_qp(sparse.eye_array(n, format="csc"), -x, A, b, kinds, accuracy=1e-12, time_limit=time_limit)
        if not found.finite:
            return None
        point = np.clip(found.x, self.lower, self.upper)
        return point if self.missed(point) <= LOOSE else None
