r"""The convex primal of GMEB (15) without s: a linear program with a one-parameter family of weighted 1-norm rows.

Claim
    For given w, some s >= 0 satisfies ``sum_j w_j^2 / s_j <= 1``, ``v+'s <= R+`` and ``v-'s <= R-`` if and only if

    .. math::
        \textstyle\sum_j |w_j| \sqrt{p v^+_j + q v^-_j} \le \sqrt{p R_+ + q R_-} \quad \text{for all } p, q \ge 0

Proof
    Only if: with a_j = p v+_j + q v-_j, Cauchy-Schwarz gives ``(sum |w_j| sqrt(a_j))^2 <= (sum w_j^2 / s_j) (sum a_j
    s_j) <= p R+ + q R-``. If: the least ``sum w_j^2 / s_j`` over the two rows is a convex problem, attained (s is
    bounded where v > 0, the sum lower semicontinuous) and with interior points, so that it equals its Lagrangian dual
    ``max_{p, q >= 0} min_{s >= 0} sum (w_j^2 / s_j + a_j s_j) - p R+ - q R- = max 2 A - B`` with ``A = sum |w_j|
    sqrt(a_j)``, B = p R+ + q R-, the inner minimum at ``s_j = |w_j| / sqrt(a_j)``. (p, q) times l^2 gives 2 l A - l^2
    B, which is at most A^2 / B: the least sum is ``max A^2 / B``, which is at most 1 if all rows hold.
Separation
    Scaled to B = 1, p = (1 - h) / R+ and q = h / R-, h in [0, 1], A is a sum of roots of affine functions of h, so it
    is concave. Its maximum is a root of its derivative, which with h = sin^2 of an angle is finite also where
    v+_j = 0 or v-_j = 0. The row at the maximum is the most violated one, relative to its side; if A <= 1, all rows
    hold.
Recovery
    At the worst (p, q), scaled to B = 1: ``s_j = |w_j| / (A sqrt(a_j))``, 0 where w_j = 0. Then ``sum w_j^2 / s_j =
    A^2``, and where A has its maximum, complementarity gives ``v+'s <= R+`` and ``v-'s <= R-``.
Source
    Peleg, Meir 2005, (15); the case q = 0 is their Remark 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.models.gmeb.columns import Centred
from fsmodels.models.proofs.certified import write_free
from fsmodels.weights import FloatArray
from solvers.facts import Cuts, Separable, no_cuts

__all__ = ["Moments", "WorstRatio", "separable"]


END = 1e-8  # angle: nearer to 0 or a right angle its square is below the rounding of a sum
VIOLATED = 1e-10  # relative
ROW_TOLERANCE = 1e-6  # of the rows of an LP, at most
IDLE = 1e-9  # of sigma: a weight with a smaller sigma comes from the tolerance of the LP
STARTS = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))  # (p, q) of the first rows


@dataclass(frozen=True)
class WorstRatio:
    """The row with the largest ratio of left to right side: the ratio, and p and q with p R+ + q R- = 1."""

    ratio: float
    p: float
    q: float


@dataclass(frozen=True)
class Moments:
    """The family of rows ``sum_j |w_j| sqrt(p v+_j + q v-_j) <= sqrt(p R+ + q R-)``.

    ``v_plus``, ``v_minus`` (ndarray of shape (d,)): mean squares by class, at least 0, units of the features squared.
    """

    v_plus: FloatArray
    v_minus: FloatArray

    def coefficients(self, p: float, q: float) -> FloatArray:
        """Return the weights of the 1-norm, shape (d,)."""
        return np.asarray(np.sqrt(p * self.v_plus + q * self.v_minus))

    def worst(self, w: FloatArray, R_plus: float, R_minus: float) -> WorstRatio:
        """Return the row that w of shape (d,) violates most; for w = 0 any row, with ratio 0.

        >>> Moments(np.array([4.0]), np.array([1.0])).worst(np.array([0.5]), 1.0, 1.0).ratio
        1.0
        """
        used = self._used(w)
        size = np.abs(w[used])
        start, end = self.v_plus[used] / R_plus, self.v_minus[used] / R_minus
        slope = end - start

        def rise(angle: float) -> float:
            c, s = np.cos(angle), np.sin(angle)
            return float(size @ (slope * (c * s) / np.sqrt(start * c * c + end * s * s)))

        low, high = END, np.pi / 2 - END
        if not len(used) or rise(low) <= 0:
            angle = low
        elif rise(high) >= 0:
            angle = high
        else:
            angle = scipy.optimize.brentq(rise, low, high, xtol=1e-15, rtol=1e-14)
        c, s = np.cos(angle) ** 2, np.sin(angle) ** 2
        return WorstRatio(float(size @ np.sqrt(start * c + end * s)), c / R_plus, s / R_minus)

    def _used(self, w: FloatArray) -> NDArray[np.intp]:
        """Return the positions of nonzero weights, without columns that do not vary, which are in no row."""
        return np.flatnonzero((w != 0) & (self.v_plus + self.v_minus > 0))

    def scales(self, w: FloatArray, R_plus: float, R_minus: float) -> FloatArray:
        """Return s of shape (d,) with the least ``sum w_j^2 / s_j`` under ``v+'s <= R+`` and ``v-'s <= R-``."""
        worst = self.worst(w, R_plus, R_minus)
        s, used = np.zeros(len(w)), self._used(w)
        s[used] = np.abs(w[used]) / (worst.ratio * self.coefficients(worst.p, worst.q)[used])
        used_up = max(float(self.v_plus @ s) / R_plus, float(self.v_minus @ s) / R_minus)
        return s / used_up if used_up > 1 else s


@dataclass
class Norms:
    """Separator of (15): points are (w, offset, xi), columns (w+, w-, offset, xi) with w = w+ - w-.

    ``X``: ndarray of shape (n, d), centred. ``factor`` (ndarray of shape (d,)): w_j = factor_j (w+_j - w-_j), so that
    the columns of the LP are of one size in any units of the data. ``selects``: points and columns end with sigma,
    which is in none of these rows. s is 0 where w is 0, as sigma_j = 0 requires, and satisfies the rows of sigma_j = 1
    elsewhere.
    """

    moments: Moments
    X: FloatArray
    y: FloatArray
    factor: FloatArray
    R_plus: Any
    R_minus: Any
    s: Any
    t: Any
    selects: bool = False
    kept: list[tuple[float, float]] | None = None  # (p, q) of the rows found, if the next solve starts with them

    @property
    def _limits(self) -> tuple[float, float]:
        return float(pyo.value(self.R_plus)), float(pyo.value(self.R_minus))

    @property
    def _columns(self) -> int:
        n, d = self.X.shape
        return 2 * d + 1 + n + d * self.selects

    def start(self) -> Cuts:
        """Return the rows of the two classes, one between them, and the kept ones."""
        R_plus, R_minus = self._limits
        rows = [self._row(p / R_plus, q / R_minus) for p, q in STARTS]
        for p, q in self.kept or ():
            side = p * R_plus + q * R_minus
            rows.append(self._row(p / side, q / side))
        return Cuts(sparse.vstack([a for a, _ in rows]), np.full(len(rows), -np.inf), np.array([b for _, b in rows]))

    def separate(self, point: FloatArray) -> Cuts:
        """Return the worst row if it is violated."""
        worst = self.moments.worst(point[: self.X.shape[1]], *self._limits)
        if worst.ratio <= 1 + VIOLATED:
            return no_cuts(self._columns)
        if self.kept is not None:
            self.kept.append((worst.p, worst.q))
        matrix, upper = self._row(worst.p, worst.q)
        return Cuts(matrix, np.array([-np.inf]), np.array([upper]), worst.ratio - 1)

    def repair(self, point: FloatArray) -> FloatArray:
        """Shrink w until every row holds; the offset is unchanged, and slacks grow by the loss of their margins.

        A slack below its margin by at most the tolerance of an LP is raised to it; one further below belongs to an
        inactive row. A fractional sigma becomes 1 if the feature has a weight; a feature with sigma = 0 has none.
        """
        n, d = self.X.shape
        w, offset, xi, sigma = point[:d], float(point[d]), point[d + 1 : d + 1 + n], point[d + 1 + n :]
        kept = w
        if self.selects:
            sigma = np.where((w != 0) & (sigma > IDLE), 1.0, np.round(sigma))
            kept = np.where(sigma > 0.5, w, 0.0)
        small = kept / max(1.0, self.moments.worst(kept, *self._limits).ratio * (1 + 1e-15))
        before, after = (np.maximum(0.0, 1 - self.y * (self.X @ v + offset)) for v in (w, small))
        grown = xi + after - before
        slacks = np.where(grown >= after - ROW_TOLERANCE * np.maximum(1.0, after), np.maximum(grown, after), grown)
        return np.concatenate([small, [offset], np.maximum(0.0, slacks), sigma])

    def load(self, point: FloatArray) -> None:
        """Set s and t of the weights."""
        w = point[: self.X.shape[1]]
        s = self.moments.scales(w, *self._limits)
        t = np.divide(w**2, s, out=np.zeros_like(w), where=s > 0)
        write_free(self.s, s)
        write_free(self.t, t)

    def _row(self, p: float, q: float) -> tuple[Any, float]:
        R_plus, R_minus = self._limits
        c = self.moments.coefficients(p, q) * self.factor
        row = np.concatenate([c, c, np.zeros(self._columns - 2 * len(c))])
        return sparse.csr_array(row[None]), float(np.sqrt(p * R_plus + q * R_minus))


def separable(
    model: pyo.ConcreteModel, columns: Centred, moments: Moments, factor: FloatArray, **facts: Any
) -> Separable:
    """Return the facts of a conic primal (15), by which "cutting-plane" leaves out s, t and their rows.

    - ``model``: with ``w``, ``offset``, ``xi``, ``s``, ``t``, ``R_plus``, ``R_minus`` and the rows of (15),
      and possibly the binaries of ``gmeb.build``.
    - ``factor`` (ndarray of shape (d,)): powers of two; w divided by it is of one size.
    - ``facts``: further facts.
    """
    n, d = columns.X.shape
    split = sparse.hstack([sparse.diags_array(factor), -sparse.diags_array(factor)])
    selects = model.component("M") is not None
    norms = Norms(moments, columns.X, columns.y, factor, model.R_plus, model.R_minus, model.s, model.t, selects)
    sigma, caps = ([model.sigma], [model.cap_plus, model.cap_minus]) if selects else ([], [])
    others = 1 + n + d * selects
    return Separable(
        visible=[model.w, model.offset, model.xi, *sigma],
        hidden=[model.s, model.t],
        rows=[model.cone, model.unit, model.second_plus, model.second_minus, *caps],
        separator=norms,
        lift=sparse.block_diag([split, sparse.eye_array(others)], format="csr"),
        lower=np.concatenate([np.zeros(2 * d), np.full(others, -np.inf)]),
        discrete=sigma,
        **facts,
    )
