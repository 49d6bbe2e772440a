r"""The robust LP (5) on any support: a proven bound, a plane, and what each feature is worth there.

Proof
    E(S) is solved as its dual, max e'a over A_S a = 0, 0 <= a <= s, in equilibrated columns: n + 1 rows with bounded
    columns, in a third of the primal's time. Its multipliers are weights, whose slacks are computed from the data, so
    that they are feasible; a is repaired to a bound by weak duality (``bounds``). The LP solver's word counts for
    nothing.
Prices
    For a feature of S, what E rises by where it is its mean and all else stays; for any other, the reduced cost of
    its weight times the median size of those of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.models.proofs.bounds import robust_bound, slacks
from fsmodels.models.proofs.equilibration import Columns
from solvers.lp.highs import HighsLP, LpStatus

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

KEPT = 20_000  # planes remembered
NONE = 1e-9  # relative: weights below this of the largest are rounding


@dataclass(frozen=True)
class Plane:
    """The robust LP on a support: its proven bound, a plane and what it costs, and the multipliers (l,)."""

    bound: float
    error: float
    w: FloatArray
    b: float
    xi: FloatArray
    size: FloatArray  # of w, in equilibrated columns
    a: FloatArray


class RobustOn:
    """The robust LP on any support: two persistent LPs, as large supports are near large ones, and small near small."""

    def __init__(self, columns: Columns, y: FloatArray, shares: FloatArray) -> None:
        self._columns, self._y, self._s = columns, y, shares
        self._n = len(columns.factor)
        self._lps: dict[bool, HighsLP] = {}
        self._known: dict[bytes, Plane] = {}

    def __call__(self, used: Mask, time_limit: float | None) -> Plane:
        """Return the plane on the features ``used`` (n,); w = 0 and no bound above 0 where time is up."""
        key = used.tobytes()
        if key not in self._known:
            plane, solved = self._solve(used, time_limit)
            if not solved:
                return plane
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = plane
        return self._known[key]

    def known(self, used: Mask) -> Plane | None:
        """Return the plane where it has been asked before."""
        return self._known.get(used.tobytes())

    def prices(self, used: Mask, plane: Plane) -> FloatArray:
        """Return what each feature (n,) changes E by, as an estimate, where it joins, or has been."""
        columns, y, s = self._columns, self._y, self._s
        gains = np.abs(np.asarray(columns.z.T @ (y * plane.a)).ravel())
        sizes = plane.size[plane.size > 0]
        worth = gains * (np.median(sizes) if len(sizes) else 1.0)
        z = _dense(columns.z[:, used])
        short = 1.0 - y * (columns.z @ (plane.w / columns.factor) + plane.b + float(columns.centre @ plane.w))
        moved = y[:, None] * (z - z.mean(axis=0)) * (plane.w / columns.factor)[used]
        worth[used] = s @ np.maximum(0.0, short[:, None] + moved) - plane.error
        return -worth

    def _solve(self, used: Mask, time_limit: float | None) -> tuple[Plane, bool]:
        columns, y, s, n = self._columns, self._y, self._s, self._n
        large = 2 * int(used.sum()) > n
        answer = None
        if time_limit is None or time_limit > 0:  # to hand the data to HiGHS takes a second for 5000 x 800
            if large not in self._lps:
                self._lps[large] = self._built()
            side = np.where(used, 0.0, np.inf)
            self._lps[large].set_sides(np.arange(n), -side, side)
            answer = self._lps[large].solve(time_limit)
        solved = answer is not None and answer.status is LpStatus.OPTIMAL
        u, a = np.zeros(n), np.zeros(len(y))
        if answer is not None and solved:
            u, a = np.where(used, -answer.multipliers[:n], 0.0), answer.point
            u[np.abs(u) <= NONE * np.abs(u).max(initial=0.0)] = 0.0
        w, b, xi = slacks(columns, y, s, u * columns.factor)
        error = float(s @ xi)
        bound = min(error, robust_bound(_part(columns, used), y, s, a)) if a.any() else 0.0
        return Plane(bound, error, w, b, xi, np.abs(w / columns.factor), a), solved

    def _built(self) -> HighsLP:
        z, y, s = self._columns.z, self._y, self._s
        rows = sparse.vstack([sparse.csr_array(z.T * y), sparse.csr_array(y[None])])
        lp = HighsLP(-np.ones(len(y)), np.zeros(len(y)), s)
        lp.add_rows(rows, np.zeros(self._n + 1), np.zeros(self._n + 1))
        return lp


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _part(columns: Columns, used: Mask) -> Columns:
    return Columns(columns.X[:, used], columns.centre[used], columns.factor[used], columns.largest[used])
