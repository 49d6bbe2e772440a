r"""The SVM step, (u, b) for fixed weights, by libsvm; the value function of z.

Why libsvm solves the smoothed SVM
    The smoothed hinge (8) is ``V(m) = max {alpha (1 - m) - eps alpha^2 : 0 <= alpha <= 1}``: the maximum is at alpha =
    (1 - m) / (2 eps) if that is in [0, 1], with the value (1 - m)^2 / (4 eps), and otherwise at the nearer end, with
    1 - m - eps or 0. So ``C V(m) = max {alpha (1 - m) - (eps / C) alpha^2 : 0 <= alpha <= C}``, and the dual of ``min
    1/2 a'Ka + C sum V(y_i f_i)`` is

    .. math::
        \max_\alpha\ \sum_i \alpha_i - \tfrac12 \alpha^\top Y (K + \tfrac{2 \epsilon}{C} I) Y \alpha,\quad
        y^\top \alpha = 0,\ 0 \le \alpha \le C

    which is (6) for K + (2 eps / C) I (diag(2 eps / C_i) if each sample has its own C_i): libsvm's alpha is u,
    its offset is b, and f = K a + b has no ridge.
The value function
    By Danskin's theorem the derivative of the optimum F(z) is that of Phi at the optimal (u, b). There a = -g, p is
    -a / 2 and ``dF / dz_k = -z_k S_k(a a' o kappa')``. For eps = 0 this is (6), the hinge's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.objective import Objective, positions
from fsmodels.models.libsvm import svc

SVM_TOLERANCE = 1e-5  # of libsvm's optimality conditions, in units of the margin; 1e-3 is no faster on such data
CACHE = 500  # megabytes


def libsvm(
    K: FloatArray, y: FloatArray, C: FloatArray, eps: float, tolerance: float = SVM_TOLERANCE
) -> tuple[FloatArray, float]:
    """Return (u, b), a minimum of ``1/2 a'Ka + sum C_i V(y_i f_i)``, for a kernel matrix of shape (n, n).

    >>> u, b = libsvm(np.eye(2), np.array([1.0, -1.0]), C=np.array([10.0, 10.0]), eps=0.0)
    >>> u.round(6).tolist()
    [1.0, 1.0]
    """
    ridged = K.copy()
    ridged.flat[:: len(y) + 1] += 2.0 * eps / C
    svm = svc(1.0, strict=False, kernel="precomputed", tol=tolerance, cache_size=CACHE).fit(ridged, y, C)
    u = np.zeros(len(y))
    u[svm.support_] = np.abs(svm.dual_coef_[0])
    return u, float(svm.intercept_[0])


def solve_svm(objective: Objective, x: FloatArray, tolerance: float = SVM_TOLERANCE) -> FloatArray:
    """Return the point with (u, b) optimal for its z, and lambda = 1."""
    n, point = objective.n, x.copy()
    K = objective.matrix(objective.parts(x)[2])
    point[:n], point[n] = libsvm(K, objective.y, objective.C, objective.eps, tolerance)
    point[-1] = 1.0
    return point


@dataclass
class ValueFunction:
    """``F(z) + mu ||z||_1`` over z (5); ``point`` is the last complete point (u, b, z, 1)."""

    objective: Objective
    base: FloatArray
    tolerance: float = SVM_TOLERANCE
    point: FloatArray = field(init=False)
    _last: tuple[FloatArray, float, FloatArray] | None = None

    def __post_init__(self) -> None:
        o = self.objective
        self._z = positions(o.n, o.d)["z"]
        self.point = self.base

    def at(self, z: FloatArray) -> FloatArray:
        """Return the complete point of z."""
        self.value(z)
        return self.point

    def value(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient."""
        if self._last is not None and np.array_equal(self._last[0], z):
            return self._last[1], self._last[2]
        x = self.base.copy()
        x[self._z] = z
        self.point = solve_svm(self.objective, x, self.tolerance)
        restricted = self.objective.restricted(self.point, self._z)
        value, gradient = restricted.value(z)
        self._last = z.copy(), value, gradient
        return value, gradient

    def product(self, x: FloatArray, v: FloatArray) -> Any:
        """Raise an error: F has no second derivative where a margin enters or leaves a bound."""
        raise NotImplementedError("the value function has no Hessian product")
