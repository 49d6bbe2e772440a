r"""The least regularised value over the rows so far and the columns in use, as a saddle point, by an interior point.

.. math::
    \max_{\alpha \ge 0,\ e^\top \alpha \le C}\ \min_{0 \le d \le 1,\ e^\top d \le B}\quad
    q^\top \alpha - \tfrac12 \textstyle\sum_j d_j c_j^2, \qquad c = P^\top \alpha

is the dual of ``columns`` before d is maximised out; at the saddle point w = -d o c. With multipliers lambda, nu
of alpha >= 0 and e'alpha <= C, and s, v, eta of d >= 0, d <= 1 and e'd <= B, the conditions are

    -q + P (d o c) - lambda + nu e = 0,    1/2 c^2 + s - v - eta e = 0

and five complementarities. A Newton step has a diagonal and a matrix of rank one in d: what is left is K by K,

    P (diag(d) + diag(c) T diag(c)) P' + diag(lambda / alpha) + nu / (C - e'alpha) ee',

T the inverse of ``diag(s / d + v / (1 - d)) + eta / (B - e'd) ee'``, a diagonal and a mean. Mehrotra's predictor and
corrector, all products by numpy. Measured at 100 rows and 2000 columns: 0.1 s to a relative gap of 2e-9, where the
conic program takes 3.7 s and ends at 2e-4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from solvers.clarabel.arrays import solve_qp
from solvers.drivers.two_layer.columns import Restricted, largest_row, weighed

FloatArray = NDArray[np.float64]

STEPS = 60
TO_THE_WALL = 0.995
RIDGE = 1e-14  # of each entry of the diagonal
WIDE = 5000  # columns that are no matter for the conic program
ENOUGH = 1e-4  # of gap and residuals, where the steps end before the accuracy asked for


class Iterate(NamedTuple):
    """Multipliers and shares with their slacks, each above 0; also the direction of a step."""

    alpha: FloatArray
    lam: FloatArray  # of alpha >= 0
    rest: FloatArray  # (1,) C - e'alpha
    nu: FloatArray  # (1,)
    d: FloatArray
    s: FloatArray  # of d >= 0
    room: FloatArray  # 1 - d
    v: FloatArray  # of d <= 1
    spare: FloatArray  # (1,) B - e'd
    eta: FloatArray  # (1,)

    @property
    def gap(self) -> float:
        """Sum of the products of slacks and multipliers."""
        return float(sum(self[k] @ self[k + 1] for k in range(0, 10, 2)))

    def moved(self, step: Iterate, size: float) -> Iterate:
        """Return the iterate a step further."""
        return Iterate(*(x + size * dx for x, dx in zip(self, step, strict=True)))

    def longest(self, step: Iterate) -> float:
        """Return the longest step that leaves all at 0 or above."""
        longest = 1.0
        for x, dx in zip(self, step, strict=True):
            falls = dx < 0
            if falls.any():
                longest = min(longest, float((-x[falls] / dx[falls]).min()))
        return longest


def solve_saddle(P: FloatArray, q: FloatArray, budget: int, C: float, *, accuracy: float = 1e-9) -> Restricted | None:
    """Solve it; None where the interior point does not get there.

    ``P``, ``q``, ``budget`` and ``C`` as for ``columns.solve_columns``; ``accuracy``: of the value in units of q_max
    times what alpha sums to, roughly.

    One cut xi >= 1 - 2 w_1 + w_2 with a budget for one of the two columns:

    >>> answer = solve_saddle(np.array([[-2.0, 1.0]]), np.array([1.0]), 1, C=1.0)
    >>> bool(np.allclose(answer.w, [0.5, 0.0], atol=1e-6)), answer.alpha.round(6)
    (True, array([0.25]))
    """
    K, F = P.shape
    size, top = largest_row(P), float(q.max(initial=0.0))
    if size == 0.0 or top <= 0.0:
        return None
    if budget >= F:
        return _all_columns(P, q, C, size, top, accuracy) if F > WIDE else None
    unit = min(C, 10.0 * top / size**2)  # of alpha
    slopes, gains, curvature = P / size, q / top, unit * size**2 / top
    most, share = C / unit, 0.5 * budget / F
    first = min(1.0, 0.5 * most)
    x = Iterate(
        *(np.full(K, first / K), np.maximum(1.0, np.abs(gains)), np.array([most - first]), np.ones(1)),
        *(np.full(F, share), np.ones(F), np.full(F, 1.0 - share), np.ones(F), np.array([0.5 * budget]), np.ones(1)),
    )
    best, least = x, np.inf
    for _ in range(STEPS):
        c = slopes.T @ x.alpha
        of_alpha = -gains + curvature * (slopes @ (x.d * c)) - x.lam + x.nu
        of_d = 0.5 * curvature * c**2 + x.s - x.v - x.eta
        missed = max(x.gap, float(np.abs(of_alpha).max()), float(np.abs(of_d).max()))
        if not missed < np.inf:
            break
        if missed < least:
            best, least = x, missed
        newton = _Newton(slopes, curvature, c, x, of_alpha, of_d)
        if least <= accuracy or not newton.factor():
            break
        affine = newton.step([x[k] * x[k + 1] for k in range(0, 10, 2)])
        aim = (x.moved(affine, x.longest(affine)).gap / x.gap) ** 3 * x.gap / (2 * F + K + 2)
        step = newton.step([x[k] * x[k + 1] + affine[k] * affine[k + 1] - aim for k in range(0, 10, 2)])
        x = x.moved(step, min(1.0, TO_THE_WALL * x.longest(step)))
    if least > max(accuracy, ENOUGH):
        return None
    alpha, d = weighed(unit * best.alpha, C), np.clip(best.d, 0.0, 1.0)
    return Restricted(alpha, -d * (alpha @ P), d)


def _all_columns(P: FloatArray, q: FloatArray, C: float, size: float, top: float, accuracy: float) -> Restricted | None:
    """Solve with d = 1: a quadratic program in alpha alone, over the products of the rows, however many columns."""
    K, unit = len(q), min(C, top / size**2)
    hessian = sparse.csc_array(np.triu(P @ P.T) * (unit / top))
    A = sparse.csc_array(np.vstack([-np.eye(K), np.ones(K)[None]]))
    b = np.r_[np.zeros(K), C / unit]
    found = unit * solve_qp(hessian, -q / top, A, b, [("nonnegative", K + 1)], accuracy=accuracy).x
    if not np.all(np.isfinite(found)):
        return None
    alpha = weighed(found, C)
    return Restricted(alpha, -(alpha @ P), np.ones(P.shape[1]))


class _Newton:
    """The Newton systems at one iterate: one factorisation, several right sides."""

    def __init__(
        self, P: FloatArray, curvature: float, c: FloatArray, x: Iterate, of_alpha: FloatArray, of_d: FloatArray
    ) -> None:
        self.P, self.x, self.of_alpha, self.of_d = P, x, of_alpha, of_d
        self.curvature, self.slope = curvature, curvature * c
        self.inverse = 1.0 / (x.s / x.d + x.v / x.room)
        self.total = float(self.inverse.sum() + x.spare[0] / x.eta[0])

    def factor(self) -> bool:
        """Form and factor the K by K matrix; say whether that went well."""
        x, P = self.x, self.P
        S = (P * (self.curvature * x.d + self.slope**2 * self.inverse)) @ P.T
        u = P @ (self.slope * self.inverse)
        S += x.nu / x.rest - np.outer(u, u) / self.total
        S[np.diag_indices(len(S))] *= 1.0 + RIDGE
        S[np.diag_indices(len(S))] += x.lam / x.alpha
        if not np.all(np.isfinite(S)):
            return False
        try:
            self.factored = cho_factor(S, check_finite=False)
        except LinAlgError:
            return False
        return True

    def _in_d(self, y: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Solve for the steps in d and eta: d = (y - eta) / diagonal, with e'd as the product with eta asks.

        As one rank-one update of the diagonal it would lose all digits once e'd is at B.
        """
        eta = (float(self.inverse @ y) - b / float(self.x.eta[0])) / self.total
        return np.asarray(self.inverse * (y - eta)), eta

    def step(self, products: list[FloatArray]) -> Iterate:
        """Return the step that takes the products, of slacks and multipliers in pairs, to 0."""
        x = self.x
        a, r, low, high, b = products
        side = -(self.of_alpha + a / x.alpha - r / x.rest)
        inner = self.of_d - low / x.d + high / x.room
        fixed, _ = self._in_d(inner, float(b[0]))
        alpha = cho_solve(self.factored, side - self.P @ (self.slope * fixed), check_finite=False)
        d, eta = self._in_d(inner + self.slope * (self.P.T @ alpha), float(b[0]))
        rest = np.array([-alpha.sum()])
        return Iterate(
            alpha,
            -(a + x.lam * alpha) / x.alpha,
            rest,
            -(r + x.nu * rest) / x.rest,
            d,
            -(low + x.s * d) / x.d,
            -d,
            -(high - x.v * d) / x.room,
            -(b + x.spare * eta) / x.eta,
            np.array([eta]),
        )
