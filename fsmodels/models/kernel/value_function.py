r"""The SVM step: (u, b) for fixed weights, by libsvm or by Newton on the smoothed primal; the value function of z.

Why libsvm solves the smoothed SVM
    The smoothed hinge (8) is ``V(m) = max {alpha (1 - m) - eps alpha^2 : 0 <= alpha <= 1}``: the maximum is at alpha =
    (1 - m) / (2 eps) where that is in [0, 1], with the value (1 - m)^2 / (4 eps), and at the nearer end elsewhere, with
    1 - m - eps or 0. So ``C V(m) = max {alpha (1 - m) - (eps / C) alpha^2 : 0 <= alpha <= C}``, and the dual of ``min
    1/2 a'Ka + C sum V(y_i f_i)`` is

    .. math::
        \max_\alpha\ \sum_i \alpha_i - \tfrac12 \alpha^\top Y (K + \tfrac{2 \epsilon}{C} I) Y \alpha,\quad
        y^\top \alpha = 0,\ 0 \le \alpha \le C

    which is (6) for K + (2 eps / C) I (diag(2 eps / C_i) where each sample has a C_i of its own): libsvm's alpha is u,
    its offset is b, and f = K a + b has no ridge.
The value function
    F(z), the optimum, has by Danskin's theorem the derivative of Phi at the optimal (u, b): there a = -g, so that p is
    -a / 2 and ``dF / dz_k = -z_k S_k(a a' o kappa')``. For eps = 0 this is (6), the hinge's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.objective import Objective, places
from fsmodels.models.libsvm import svc
from solvers.box.minimise import minimise

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
    machine = svc(1.0, strict=False, kernel="precomputed", tol=tolerance, cache_size=CACHE).fit(ridged, y, C)
    u = np.zeros(len(y))
    u[machine.support_] = np.abs(machine.dual_coef_[0])
    return u, float(machine.intercept_[0])


def primal(objective: Objective, x: FloatArray, tolerance: float = 1e-9) -> tuple[FloatArray, float]:
    """Return (u, b) of the smoothed primal by Newton's method, from the point x; eps > 0."""
    where = places(objective.n, objective.d)
    free = np.concatenate([where["u"], where["b"]])
    svm = objective.restricted(x, free)
    unbounded = np.full(len(free), np.inf)
    unit = np.append(objective.C, 1.0)
    found = minimise(svm, x[free], -unbounded, unbounded, method="trust-newton", unit=unit, tolerance=tolerance)
    return found.point[:-1], float(found.point[-1])


def solved(objective: Objective, x: FloatArray, by: str = "libsvm", tolerance: float = SVM_TOLERANCE) -> FloatArray:
    """Return the point with (u, b) optimal for its z, and lambda = 1."""
    n, point = objective.n, x.copy()
    point[-1] = 1.0
    if by == "libsvm":
        z = objective.parts(x)[2]
        u, b = libsvm(objective.matrix(z), objective.y, objective.C, objective.eps, tolerance)
    else:
        point[: n + 1] /= x[-1]
        u, b = primal(objective, point)
    point[:n], point[n] = u, b
    return point


@dataclass
class ValueFunction:
    """``F(z) + mu ||z||_1`` over z (5); ``point`` is the last whole point (u, b, z, 1) that it has solved."""

    objective: Objective
    base: FloatArray
    tolerance: float = SVM_TOLERANCE
    point: FloatArray = field(init=False)
    _last: tuple[FloatArray, float, FloatArray] | None = None

    def __post_init__(self) -> None:
        o = self.objective
        self._z = places(o.n, o.d)["z"]
        self.point = self.base

    def at(self, z: FloatArray) -> FloatArray:
        """Return the whole point of z."""
        self.value(z)
        return self.point

    def value(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and its gradient."""
        if self._last is not None and np.array_equal(self._last[0], z):
            return self._last[1], self._last[2]
        x = self.base.copy()
        x[self._z] = z
        self.point = solved(self.objective, x, tolerance=self.tolerance)
        restricted = self.objective.restricted(self.point, self._z)
        value, gradient = restricted.value(z)
        self._last = z.copy(), value, gradient
        return value, gradient

    def product(self, x: FloatArray, v: FloatArray) -> Any:
        """Refuse: F has no second derivative where a margin enters or leaves a bound."""
        raise NotImplementedError("the value function has no Hessian product")
