r"""The Hessian of the kernel family's objective at a point: products by sweeps over K, or with a matrix once it pays.

In the notation of ``objective``, the derivatives there change along (du, db, dz, dlambda), with dD = D(2 z dz), dK =
kappa' o dD and da = y du, by

.. math::
    df &= K da + dK a + db,\quad dm = y\, df / \lambda - m\, d\lambda / \lambda,\quad
    dg = C y V''(m) dm / \lambda - g\, d\lambda / \lambda \\
    dp &= \tfrac{\rho}{2 \lambda^2} da - \tfrac{\rho}{\lambda^3} a\, d\lambda + dg \\
    d\partial_{z_k} &= 2 dz_k S_k(a p^\top \circ \kappa')
        + 2 z_k S_k((da\, p^\top + a\, dp^\top) \circ \kappa' + a p^\top \circ \kappa'' \circ dD)

In dq = 2 z dz all this is linear, so that what is quadratic in n is computed once a point, not once a product:

.. math::
    dK\, a &= F dq,\quad F_{jk} = \sum_i a_i \kappa'_{ij} d_k(x_i, x_j),\qquad
    dK\, p = G dq,\quad G_{ik} = \sum_j \kappa'_{ij} p_j d_k(x_i, x_j) \\
    d\partial_{z_k} &= 2 dz_k S_k(a p^\top \circ \kappa') + 2 z_k (G^\top da + F^\top dp + H dq)_k,\quad
    H_{kl} = \sum_{ij} a_i p_j \kappa''_{ij} d_k(x_i, x_j) d_l(x_i, x_j)

H takes n^2 d^2 / 2 multiplications, a product without it some 2 n^2 d: H dq is S(a p' o kappa'' o dD) as well. Once the
products at a point have cost as much, and at once where those at the point before did, the Hessian is formed. With J =
[K, e, F, -f / lambda] by (da, db, dq, dlambda), Q = diag(C V''(m)) / lambda^2 and T = diag(y, 1, 2 z, 1), it is

.. math::
    T \Bigl(J^\top Q J + \begin{pmatrix}
        \rho K / \lambda^2 & 0 & G + \rho F / (2 \lambda^2) & -K (2 \rho a / \lambda^3 + g / \lambda) \\
        & 0 & 0 & -e^\top g / \lambda \\
        & & H & -F^\top (\rho a / \lambda^3 + g / \lambda) \\
        & & & 3 (\rho\, a^\top K a + 1 - \rho) / \lambda^4 + 2 g^\top f / \lambda^2
    \end{pmatrix}\Bigr) T + \mathrm{diag}(0, 0, 2 S(a p^\top \circ \kappa'), 0)

and a weight of 0 has its own 2 S_k on the diagonal alone.
"""

from __future__ import annotations

import numpy as np

from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.loss import hinge_curvature
from fsmodels.models.kernel.setting import At, Setting

SHARE = 4  # H costs as much as a product for each four of its columns


class Hessian:
    """The Hessian at a point; ``before``: that of the point before, which tells how many products to expect."""

    def __init__(self, setting: Setting, at: At, before: Hessian | None) -> None:
        o = self.setting = setting
        self.at = at
        u, _, self.z, self.margin = o.parts(at.x)
        self.a = o.y * u
        self.columns = at.columns if o.z_free else at.columns[:0]
        every = o.columns(self.columns)
        self.A, self.B = every if len(at.rows) == o.n else every[at.rows], every[at.across]
        D, K, p = at.D[:, at.across], at.K[:, at.across], at.p[at.across]
        slopes, a = o.kernel.slopes(D, K), self.a[at.rows]
        self.F = o.kernel.by_row(slopes.T, a, self.B, self.A)  # (across, columns)
        self.G = o.kernel.by_row(slopes, p, self.A, self.B) if o.u_free else None
        self.W = a[:, None] * o.kernel.curves(D, K) * p  # a p' o kappa''
        self.curvature = o.C * hinge_curvature(at.m, o.eps) / self.margin**2  # by f
        u_places = np.arange(o.n if o.u_free else 0)
        self.by = np.concatenate([u_places, [o.n], o.n + 1 + self.columns, [o.n + o.d + 1]])  # places in a flat point
        k = max(1, len(self.columns))
        self.price = (k + len(self.by) ** 2 / (max(1, len(at.rows)) * k)) / SHARE  # of the matrix, in products
        self.at_once = before is not None and before.pays()
        self.products = 0
        self.matrix: FloatArray | None = None
        self._outside: FloatArray | None = None

    def pays(self) -> bool:
        """Tell whether the products so far cost as much as the matrix."""
        return self.products >= self.price

    def times(self, step: FloatArray) -> FloatArray:
        """Return the product with a flat step."""
        self.products += 1
        if self.matrix is None and (self.at_once or self.pays()):
            self.matrix = self._formed()
        out = np.zeros_like(step)
        if self.matrix is None:
            self._sweep(step, out)
        else:
            out[self.by] = self.matrix @ step[self.by]
        self._enter(step, out)
        return out

    def _sweep(self, step: FloatArray, out: FloatArray) -> None:
        """Put there the product by sweeps over K."""
        o, at, margin, rho, a = self.setting, self.at, self.margin, self.setting.rho, self.a
        du, db, dz, dmargin = o.parts(step)
        da, rows, z = o.y * du, at.rows, self.z[self.columns]
        dq = 2.0 * z * dz[self.columns]
        bent = np.zeros(o.n)  # dK a
        bent[at.across] = self.F @ dq
        df = da[rows] @ at.K + db + bent
        dg = self.curvature * (df - at.f * dmargin / margin) - at.g * dmargin / margin
        half = rho * da / (2 * margin**2) - rho * a * dmargin / margin**3
        dp = half + dg
        crossed = o.kernel.sums(self.W * o.kernel.exponent(self.A, self.B, dq), self.A, self.B)
        by_q = dp[at.across] @ self.F + crossed
        if self.G is not None:
            out[: o.n] = o.y * (at.K @ (dp + half) + self.G @ dq + rho / (2 * margin**2) * bent)
            by_q += da @ self.G
        out[o.n] = dg.sum()
        out[o.n + 1 + self.columns] = 2.0 * z * by_q + 2.0 * dz[self.columns] * at.sums[: len(self.columns)]
        change = 2 * float(da[rows] @ (at.f[rows] - at.x[o.n])) + float(bent @ a)
        out[-1] = (
            -rho * change / margin**3
            + 3 * at.square * dmargin / margin**4
            - float(dg @ at.f + at.g @ df) / margin
            + float(at.g @ at.f) * dmargin / margin**2
        )

    def _formed(self) -> FloatArray:
        """Return the matrix over the places ``by``."""
        o, at, margin, rho, F, G = self.setting, self.at, self.margin, self.setting.rho, self.F, self.G
        a, g, f = self.a[at.across], at.g[at.across], at.f[at.across]
        b, size = o.n if o.u_free else 0, len(self.by)
        by_u, by_z = slice(b), slice(b + 1, -1)
        curved = self.curvature[at.across]
        kept = curved > 0
        J, N = np.empty((int(kept.sum()), size)), np.zeros((size, size))
        J[:, b], J[:, by_z], J[:, -1] = 1.0, F[kept], -f[kept] / margin
        by_margin = rho * a / margin**3 + g / margin
        N[b, -1], N[by_z, -1] = -g.sum() / margin, -by_margin @ F
        if G is not None:
            J[:, by_u] = at.K[kept]
            N[by_u, by_z], N[by_u, -1] = G + rho / (2 * margin**2) * F, -at.K @ (by_margin + rho * a / margin**3)
        N += N.T
        if G is not None:
            N[by_u, by_u] = rho / margin**2 * at.K
        N[by_z, by_z] = o.kernel.crossed(self.W, self.A, self.B)
        N[-1, -1] = 3 * at.square / margin**4 + 2 * float(g @ f) / margin**2
        J *= np.sqrt(curved[kept])[:, None]
        N += J.T @ J
        T = np.concatenate([o.y[by_u], [1.0], 2.0 * self.z[self.columns], [1.0]])
        N *= T
        N *= T[:, None]
        np.einsum("ii->i", N)[by_z] += 2.0 * at.sums[: len(self.columns)]
        return N

    def _enter(self, step: FloatArray, out: FloatArray) -> None:
        """Put there what weights of 0 bring in, which are not among the columns."""
        o, at = self.setting, self.at
        dz, outside = o.parts(step)[2], np.flatnonzero(self.z == 0)
        if not dz[outside].any():
            return
        if self._outside is None:
            X = np.ascontiguousarray(o.X[:, outside])
            self._outside = o.kernel.sums(o.weights(at), X[at.rows], X[at.across])
        out[o.n + 1 + outside] = 2.0 * dz[outside] * self._outside
