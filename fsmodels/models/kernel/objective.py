r"""The objective of the kernel family as numbers: value, gradient, Hessian products; memory O(n^2 + n d).

Points are flat arrays (u (n), b, z (d), lambda). With a_i = y_i u_i, K the kernel matrix at z, f = K a + b,
m_i = y_i f_i / lambda and V the smoothed hinge (8), both objectives of the family are

.. math::
    \Phi = \frac{\rho\, a^\top K a + (1 - \rho)}{2 \lambda^2} + C \sum_i V(m_i) + \mu \sum_k z_k

with rho = 1 for (7) (lambda = 1) and (11), and rho = 0 for (12).

Derivatives
    With g_i = C y_i V'(m_i) / lambda, the slope by f_i, and p = rho a / (2 lambda^2) + g:

    .. math::
        \partial_u = y \circ K (p + \tfrac{\rho a}{2 \lambda^2}),\quad \partial_b = e^\top g,\quad
        \partial_{z_k} = 2 z_k S_k(a p^\top \circ \kappa') + \mu,\quad
        \partial_\lambda = -\frac{\rho\, a^\top K a + 1 - \rho}{\lambda^3} - \frac{g^\top f}{\lambda}

    as Phi depends on K through ``a'K p`` to first order; a'K p holds the rows with a_i != 0 only. A weight of 0 has
    slope mu > 0 and does not enter K: only the columns of other weights are ever multiplied. Where u stays, samples
    with a_i = 0 are left out, and those with a_j = g_j = 0 (m_j >= 1: at large C most) enter no derivative. Second
    derivatives: ``hessian``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels.models.kernel.hessian import Hessian
from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.loss import hinge, hinge_slope
from fsmodels.models.kernel.setting import At, Setting


@dataclass
class Objective(Setting):
    """Phi over flat points, or over some of their coordinates (``free``) with the others at ``base``."""

    _at: At | None = field(default=None, repr=False)
    _second: Hessian | None = field(default=None, repr=False)  # at the last point with products: steps may be refused
    _last: tuple[bytes, FloatArray, FloatArray] | None = field(default=None, repr=False)  # z, D and K of ``matrix``

    def _whole(self, x: FloatArray) -> FloatArray:
        if self.free is None:
            return x
        assert self.base is not None
        point = self.base.copy()
        point[self.free] = x
        return point

    def value(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return Phi and its gradient by the free coordinates."""
        here = self._evaluated(self._whole(np.asarray(x, dtype=float)))
        return here.value, here.gradient[self.places]

    def norm(self, x: FloatArray) -> float:
        """Return u'Ku, with the labels' signs, for rho = 1."""
        return self._evaluated(self._whole(x)).square

    def matrix(self, z: FloatArray) -> FloatArray:
        """Return the kernel matrix (n, n), which is kept for the next value at these weights."""
        columns = np.flatnonzero(z)
        A = self.columns(columns)
        D = self.kernel.exponent(A, A, z[columns] ** 2)
        K = self.kernel.entries(D)
        self._last = z.tobytes(), D, K
        return K

    def _evaluated(self, x: FloatArray) -> At:
        for known in (self._at, None if self._second is None else self._second.at):
            if known is not None and np.array_equal(known.x, x):
                return known
        u, b, z, margin = self.parts(x)
        a, rho = self.y * u, self.rho
        rows = np.arange(self.n) if self.u_free else np.flatnonzero(a)
        columns = np.flatnonzero(z)
        B = self.columns(columns)
        A = B if len(rows) == self.n else B[rows]
        if self._last is not None and len(rows) == self.n and self._last[0] == z.tobytes():
            _, D, K = self._last
        else:
            D = self.kernel.exponent(A, B, z[columns] ** 2)
            K = self.kernel.entries(D)
        self._last = None
        spread = a[rows] @ K
        f = spread + b
        m = self.y * f / margin
        g = self.C * self.y * hinge_slope(m, self.eps) / margin if self.eps else -a / margin**2
        p = rho * a / (2 * margin**2) + g
        square = rho * float(a @ spread) + 1 - rho
        value = square / (2 * margin**2) + float(self.C @ hinge(m, self.eps)) + self.mu * float(z.sum())
        gradient = np.zeros_like(x)
        if self.u_free:
            gradient[: self.n] = self.y * (K @ (p + rho * a / (2 * margin**2)))
        gradient[self.n] = g.sum()
        by_z = gradient[self.n + 1 : -1]
        by_z[:] = self.mu
        across = slice(None) if self.u_free else np.flatnonzero((rho * a != 0) | (g != 0))
        here = At(x.copy(), rows, across, columns, D, K, f, m, g, p, square, value, gradient, np.zeros(len(columns)))
        if self.z_free:
            here.sums = self.kernel.sums(self.weights(here), A, B[across])
            by_z[columns] += 2.0 * z[columns] * here.sums
        gradient[-1] = -square / margin**3 - float(g @ f) / margin
        self._at = here
        return here

    def product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian by the free coordinates times v; at the joints of the hinge, one of its values."""
        if self.eps == 0:
            raise NotImplementedError("the hinge has no second derivative")
        here = self._evaluated(self._whole(np.asarray(x, dtype=float)))
        if self._second is None or self._second.at is not here:
            self._second = Hessian(self, here, self._second)
        step = np.zeros(self.n + self.d + 2)
        step[self.places] = v
        return self._second.times(step)[self.places]

    def restricted(self, base: FloatArray, free: NDArray[np.intp], explicit: bool = False) -> Objective:
        """Return Phi of some coordinates, with the others at ``base``."""
        return Objective(self.kernel, self.X, self.y, self.C, self.mu, self.eps, explicit, free, base.copy())


def places(n: int, d: int) -> dict[str, Any]:
    """Return where u, b, z and lambda are in a flat point."""
    return {
        "u": np.arange(n),
        "b": np.array([n]),
        "z": np.arange(n + 1, n + 1 + d),
        "margin": np.array([n + 1 + d]),
    }
