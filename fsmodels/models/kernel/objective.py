r"""The objective of the kernel family on arrays: value, gradient, Hessian products; memory O(n^2 + n d).

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

    since Phi depends on K through ``a'K p`` to first order; a'K p needs only the rows with a_i != 0. A weight of 0 has
    slope mu > 0 and does not enter K, so only the columns of other weights are multiplied. Where u is fixed, samples
    with a_i = 0 are left out, and those with a_j = g_j = 0 (m_j >= 1, which at large C are most) enter no derivative.

The Hessian: products by sweeps over K, or with a matrix once it is cheaper. Along (du, db, dz, dlambda), with dD =
D(2 z dz), dK = kappa' o dD and da = y du, the derivatives change by

.. math::
    df &= K da + dK a + db,\quad dm = y\, df / \lambda - m\, d\lambda / \lambda,\quad
    dg = C y V''(m) dm / \lambda - g\, d\lambda / \lambda \\
    dp &= \tfrac{\rho}{2 \lambda^2} da - \tfrac{\rho}{\lambda^3} a\, d\lambda + dg \\
    d\partial_{z_k} &= 2 dz_k S_k(a p^\top \circ \kappa')
        + 2 z_k S_k((da\, p^\top + a\, dp^\top) \circ \kappa' + a p^\top \circ \kappa'' \circ dD)

All this is linear in dq = 2 z dz, so that the parts quadratic in n are computed once per point, not once per product:

.. math::
    dK\, a &= F dq,\quad F_{jk} = \sum_i a_i \kappa'_{ij} d_k(x_i, x_j),\qquad
    dK\, p = G dq,\quad G_{ik} = \sum_j \kappa'_{ij} p_j d_k(x_i, x_j) \\
    d\partial_{z_k} &= 2 dz_k S_k(a p^\top \circ \kappa') + 2 z_k (G^\top da + F^\top dp + H dq)_k,\quad
    H_{kl} = \sum_{ij} a_i p_j \kappa''_{ij} d_k(x_i, x_j) d_l(x_i, x_j)

H takes n^2 d^2 / 2 multiplications, and a product without it about 2 n^2 d: H dq is S(a p' o kappa'' o dD) as well. The
Hessian is formed once the products at a point have cost as much, and at once if those at the previous point did. With
J = [K, e, F, -f / lambda] by (da, db, dq, dlambda), Q = diag(C V''(m)) / lambda^2 and T = diag(y, 1, 2 z, 1), it is

.. math::
    T \Bigl(J^\top Q J + \begin{pmatrix}
        \rho K / \lambda^2 & 0 & G + \rho F / (2 \lambda^2) & -K (2 \rho a / \lambda^3 + g / \lambda) \\
        & 0 & 0 & -e^\top g / \lambda \\
        & & H & -F^\top (\rho a / \lambda^3 + g / \lambda) \\
        & & & 3 (\rho\, a^\top K a + 1 - \rho) / \lambda^4 + 2 g^\top f / \lambda^2
    \end{pmatrix}\Bigr) T + \mathrm{diag}(0, 0, 2 S(a p^\top \circ \kappa'), 0)

and a weight of 0 has only its own 2 S_k, on the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels.models.kernel.kernels import FloatArray, Kernel


def hinge(m: FloatArray, eps: float) -> FloatArray:
    """Return the smoothed hinge V (8) of margins; for eps = 0 the hinge.

    >>> hinge(np.array([-1.0, 0.5, 2.0]), 0.5)
    array([1.5  , 0.125, 0.   ])
    """
    short = np.maximum(0.0, 1.0 - m)
    if eps == 0:
        return short
    curved = np.minimum(short, 2.0 * eps)
    return np.asarray(short - curved + curved**2 / (4.0 * eps))


def hinge_slope(m: FloatArray, eps: float) -> FloatArray:
    """Return V', for eps > 0."""
    return np.asarray(-np.clip((1.0 - m) / (2.0 * eps), 0.0, 1.0))


def hinge_curvature(m: FloatArray, eps: float) -> FloatArray:
    """Return V'' for eps > 0; it jumps at 1 - 2 eps and 1."""
    return ((m < 1.0) & (m >= 1.0 - 2.0 * eps)) / (2.0 * eps)


@dataclass
class Evaluation:
    """The objective at a point, with all parts that the Hessian needs."""

    x: FloatArray
    rows: NDArray[np.intp]  # where a is not 0, or all
    across: NDArray[np.intp] | slice  # where a or g is not 0, or all
    columns: NDArray[np.intp]  # where z is not 0
    D: FloatArray
    K: FloatArray  # (rows, n)
    f: FloatArray
    m: FloatArray
    g: FloatArray
    p: FloatArray
    square: float  # rho a'Ka + 1 - rho
    value: float
    gradient: FloatArray
    sums: FloatArray  # S(a p' o kappa') by the columns


COLUMNS_PER_PRODUCT = 4  # forming four columns of H costs as much as a product


class Hessian:
    """Hessian at a point; ``before``, that of the previous point, predicts the number of products."""

    def __init__(self, objective: Objective, at: Evaluation, before: Hessian | None) -> None:
        o = self.objective = objective
        self.at = at
        u, _, self.z, self.margin = o.parts(at.x)
        self.a = o.y * u
        self.columns = at.columns
        every = o.columns(self.columns)
        self.A, self.B = every if len(at.rows) == o.n else every[at.rows], every[at.across]
        D, K, p = at.D[:, at.across], at.K[:, at.across], at.p[at.across]
        slopes, a = o.kernel.slopes(D, K), self.a[at.rows]
        self.F = o.kernel.by_row(slopes.T, a, self.B, self.A)  # (across, columns)
        self.G = o.kernel.by_row(slopes, p, self.A, self.B) if o.u_free else None
        self.W = a[:, None] * o.kernel.curves(D, K) * p  # a p' o kappa''
        self.curvature = o.C * hinge_curvature(at.m, o.eps) / self.margin**2  # by f
        of_u = np.arange(o.n if o.u_free else 0)
        self.by = np.concatenate([of_u, [o.n], o.n + 1 + self.columns, [o.n + o.d + 1]])  # positions in a flat point
        k = max(1, len(self.columns))
        size = k + len(self.by) ** 2 / (max(1, len(at.rows)) * k)
        self.cost = size / COLUMNS_PER_PRODUCT  # of the matrix, in products
        self.at_once = before is not None and before.pays()
        self.products = 0
        self.matrix: FloatArray | None = None
        self._outside: FloatArray | None = None

    def pays(self) -> bool:
        """Return True if the products so far cost as much as the matrix."""
        return self.products >= self.cost

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
        """Write the product, by sweeps over K, into ``out``."""
        o, at, margin, rho, a = self.objective, self.at, self.margin, self.objective.rho, self.a
        du, db, dz, dmargin = o.parts(step)
        da, rows, z = o.y * du, at.rows, self.z[self.columns]
        dq = 2.0 * z * dz[self.columns]
        curved = np.zeros(o.n)  # dK a
        curved[at.across] = self.F @ dq
        df = da[rows] @ at.K + db + curved
        dg = self.curvature * (df - at.f * dmargin / margin) - at.g * dmargin / margin
        half = rho * da / (2 * margin**2) - rho * a * dmargin / margin**3
        dp = half + dg
        crossed = o.kernel.sums(self.W * o.kernel.exponent(self.A, self.B, dq), self.A, self.B)
        by_q = dp[at.across] @ self.F + crossed
        if self.G is not None:
            out[: o.n] = o.y * (at.K @ (dp + half) + self.G @ dq + rho / (2 * margin**2) * curved)
            by_q += da @ self.G
        out[o.n] = dg.sum()
        out[o.n + 1 + self.columns] = 2.0 * z * by_q + 2.0 * dz[self.columns] * at.sums[: len(self.columns)]
        change = 2 * float(da[rows] @ (at.f[rows] - at.x[o.n])) + float(curved @ a)
        out[-1] = (
            -rho * change / margin**3
            + 3 * at.square * dmargin / margin**4
            - float(dg @ at.f + at.g @ df) / margin
            + float(at.g @ at.f) * dmargin / margin**2
        )

    def _formed(self) -> FloatArray:
        """Return the matrix over the positions ``by``."""
        o, at, margin, rho, F, G = self.objective, self.at, self.margin, self.objective.rho, self.F, self.G
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
        """Write the entries of weights of 0, which are not among the columns, into ``out``."""
        o, at = self.objective, self.at
        dz, outside = o.parts(step)[2], np.flatnonzero(self.z == 0)
        if not dz[outside].any():
            return
        if self._outside is None:
            X = np.ascontiguousarray(o.X[:, outside])
            self._outside = o.kernel.sums(o.weights(at), X[at.rows], X[at.across])
        out[o.n + 1 + outside] = 2.0 * dz[outside] * self._outside


@dataclass
class Objective:
    """Phi over flat points, or over some of their coordinates (``free``) with the others at ``base``.

    - ``X``: array of shape (n, d); centred where the kernel allows it, so that products keep their digits.
    - ``y``: array of shape (n,), -1 or +1.
    - ``C``: array of shape (n,) with the price of the loss of each sample, or one number. ``mu``: float.
    - ``eps``: 0 for the hinge, which has no Hessian; its slope by f is g = -a, which is right where (u, b) is optimal.
    - ``explicit``: True for rho = 0, (12).
    - ``free``: array of positions, by default all; the others are fixed at ``base``, array of shape (n + d + 2,).
    """

    kernel: Kernel
    X: FloatArray
    y: FloatArray
    C: FloatArray
    mu: float
    eps: float = 0.5
    explicit: bool = False
    free: NDArray[np.intp] | None = None
    base: FloatArray | None = None
    _last_columns: tuple[bytes, FloatArray] | None = field(default=None, repr=False)
    _at: Evaluation | None = field(default=None, repr=False)
    _second: Hessian | None = field(default=None, repr=False)  # at the last point with products
    _last: tuple[bytes, FloatArray, FloatArray] | None = field(default=None, repr=False)  # z, D and K of ``matrix``

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.C = np.ascontiguousarray(np.broadcast_to(self.C, (self.n,)))
        self.rho = 0.0 if self.explicit else 1.0
        self.positions = np.arange(self.n + self.d + 2) if self.free is None else self.free
        self.u_free = bool((self.positions < self.n).any())

    def parts(self, x: FloatArray) -> tuple[FloatArray, float, FloatArray, float]:
        """Return u, b, z and lambda of a flat point."""
        n, d = self.n, self.d
        return x[:n], float(x[n]), x[n + 1 : n + 1 + d], float(x[-1])

    def columns(self, columns: NDArray[np.intp]) -> FloatArray:
        """Return columns of X; the last ones are cached."""
        if len(columns) == self.d:
            return self.X
        key = columns.tobytes()
        if self._last_columns is None or self._last_columns[0] != key:
            self._last_columns = key, np.ascontiguousarray(self.X[:, columns])
        return self._last_columns[1]

    def weights(self, at: Evaluation) -> FloatArray:
        """Return ``a p' o kappa'``, of shape (rows, across)."""
        W = self.kernel.slopes(at.D[:, at.across], at.K[:, at.across]) * at.p[at.across]
        W *= (self.y * self.parts(at.x)[0])[at.rows, None]
        return np.asarray(W)

    def _complete(self, x: FloatArray) -> FloatArray:
        if self.free is None:
            return x
        assert self.base is not None
        point = self.base.copy()
        point[self.free] = x
        return point

    def value(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return Phi and its gradient by the free coordinates."""
        here = self._evaluated(self._complete(np.asarray(x, dtype=float)))
        return here.value, here.gradient[self.positions]

    def norm(self, x: FloatArray) -> float:
        """Return u'Ku, with the labels' signs, for rho = 1."""
        return self._evaluated(self._complete(x)).square

    def matrix(self, z: FloatArray) -> FloatArray:
        """Return the kernel matrix (n, n), and cache it for the next value at these weights."""
        columns = np.flatnonzero(z)
        A = self.columns(columns)
        D = self.kernel.exponent(A, A, z[columns] ** 2)
        K = self.kernel.entries(D)
        self._last = z.tobytes(), D, K
        return K

    def _evaluated(self, x: FloatArray) -> Evaluation:
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
        here = Evaluation(
            x.copy(), rows, across, columns, D, K, f, m, g, p, square, value, gradient, np.zeros(len(columns))
        )
        here.sums = self.kernel.sums(self.weights(here), A, B[across])
        by_z[columns] += 2.0 * z[columns] * here.sums
        gradient[-1] = -square / margin**3 - float(g @ f) / margin
        self._at = here
        return here

    def product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian by the free coordinates times v; at the kinks of V' it is one of the limits."""
        if self.eps == 0:
            raise NotImplementedError("the hinge has no second derivative")
        here = self._evaluated(self._complete(np.asarray(x, dtype=float)))
        if self._second is None or self._second.at is not here:
            self._second = Hessian(self, here, self._second)
        step = np.zeros(self.n + self.d + 2)
        step[self.positions] = v
        return self._second.times(step)[self.positions]

    def restricted(self, base: FloatArray, free: NDArray[np.intp], explicit: bool = False) -> Objective:
        """Return Phi of some coordinates, with the others fixed at ``base``."""
        return Objective(self.kernel, self.X, self.y, self.C, self.mu, self.eps, explicit, free, base.copy())


def positions(n: int, d: int) -> dict[str, Any]:
    """Return the positions of u, b, z and lambda in a flat point."""
    return {
        "u": np.arange(n),
        "b": np.array([n]),
        "z": np.arange(n + 1, n + 1 + d),
        "margin": np.array([n + 1 + d]),
    }
