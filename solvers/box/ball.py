r"""The trust-region subproblem: the global minimum of a quadratic over a ball, for any curvature of the Hessian.

    min { g's + s'Hs / 2 : ||s|| <= r },  at the minimum (H + nu I) s = -g, nu >= 0, H + nu I >= 0, nu (r - ||s||) = 0

By Lanczos vectors from g (Gould, Lucidi, Roma, Toint 1999): in the space of the first k the Hessian is a tridiagonal T,
whose eigenvalues give the minimum there (the dual in one variable). k grows until the residual of (H + nu I) s + g is
small. Conjugate gradients that stop at the sphere (Steihaug 1983) follow the directions of largest curvature and leave
the flat ones: on (12) of ``fsmodels.models.kernel`` at large C they are slow at the kink of the hinge (Sonar,
C = 2: 1000 iterations to 3.1, where these steps take 390 to 1.5; the Hessian's eigenvalues 340 to 1.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

VECTORS = 200  # at most: all are stored, and orthogonalised again
SELDOM = 8  # the small problem is solved again when the number of vectors has grown by an eighth
ON_SPHERE = 0.1  # of ||g||: residual at the minimum on the sphere
NEGLIGIBLE = 1e-12  # relative to the largest entry: an off-diagonal or eigenvalue that is rounding


def ball_step(
    times: Callable[[FloatArray], FloatArray], g: FloatArray, radius: float, enough: float, most: int = VECTORS
) -> FloatArray:
    """Return a minimum over the ball, exact if ``most`` is at least the dimension; ``times``: v -> Hv.

    ``enough``: norm of the residual inside the ball.

    >>> H = np.diag([-1.0, 2.0])
    >>> ball_step(lambda v: H @ v, np.array([1e-3, 1.0]), 1.0, 1e-9).round(3).tolist()
    [-0.943, -0.333]
    """
    n, size = len(g), float(np.linalg.norm(g))
    if size == 0.0:
        return np.zeros(n)
    most = min(n, most)
    Q, diagonal, off_diagonal = np.zeros((most, n)), np.zeros(most), np.zeros(most)
    Q[0], due, scale = g / size, 0, 1e-300
    for k in range(most):
        v = times(Q[k])
        diagonal[k] = float(Q[k] @ v)
        for _ in range(2):  # a single pass loses digits
            v = v - Q[: k + 1].T @ (Q[: k + 1] @ v)
        off_diagonal[k] = float(np.linalg.norm(v))
        scale = max(scale, abs(float(diagonal[k])), float(off_diagonal[k - 1]) if k else 0.0)
        last = k + 1 == most or off_diagonal[k] <= NEGLIGIBLE * scale
        if last or k >= due:
            due = k + 1 + k // SELDOM
            T = np.diag(diagonal[: k + 1]) + np.diag(off_diagonal[:k], 1) + np.diag(off_diagonal[:k], -1)
            h, nu = over_ball(T, size, radius)
            left = off_diagonal[k] * abs(float(h[-1]))
            if last or left <= (enough if nu == 0.0 else max(enough, ON_SPHERE * size)):
                break
        Q[k + 1] = v / off_diagonal[k]
    return np.asarray(h @ Q[: k + 1])


def over_ball(T: FloatArray, first: float, radius: float) -> tuple[FloatArray, float]:
    """Return the minimum of ``first s_1 + s'Ts / 2`` over a ball, and nu, by the eigenvalues of T.

    >>> s, nu = over_ball(np.array([[2.0]]), 1.0, 1.0)
    >>> s.tolist(), nu
    ([-0.5], 0.0)
    """
    values, vectors = np.linalg.eigh(T)
    slope = first * vectors[0]
    scale = max(float(np.abs(values).max()), first / radius)
    if values[0] > NEGLIGIBLE * scale:
        s = -slope / values
        if float(np.linalg.norm(s)) <= radius:
            return vectors @ s, 0.0
    least = max(0.0, -float(values[0]))
    above = values + least

    def beyond(x: float) -> float:
        return 1.0 / radius - 1.0 / max(float(np.linalg.norm(slope / (above + x))), 1e-300)

    low, high = NEGLIGIBLE * scale, 2.0 * first / radius + NEGLIGIBLE * scale
    if beyond(low) <= 0.0:  # the slope is orthogonal to the least curvature: its eigenvector fills the ball
        s = -slope / (above + low)
        s[0] += math.copysign(math.sqrt(max(0.0, radius**2 - float(s @ s))), -slope[0] if slope[0] else 1.0)
        return vectors @ s, least
    x = float(scipy.optimize.brentq(beyond, low, high, xtol=1e-300, rtol=1e-9, maxiter=500))
    return vectors @ (-slope / (above + x)), least + x
