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

    as Phi depends on K through ``a'K p`` to first order; a'K p holds the rows with a_i != 0 only. Hessian products
    differentiate these along (du, db, dz, dlambda): with dD = D(2 z dz), dK = kappa' o dD, da = y du,

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

    H takes n^2 d^2 / 2 multiplications, a product without it some 2 n^2 d: H dq is S(a p' o kappa'' o dD) as well. Once
    the products at a point have cost as much, and at once where those at the point before did, the Hessian is formed
    and a product is one with a matrix. With J = [K, e, F, -f / lambda] by (da, db, dq, dlambda), V = diag(C V''(m)) /
    lambda^2 and T = diag(y, 1, 2 z, 1), it is

    .. math::
        T \Bigl(J^\top V J + \begin{pmatrix}
            \rho K / \lambda^2 & 0 & G + \rho F / (2 \lambda^2) & -K (2 \rho a / \lambda^3 + g / \lambda) \\
            & 0 & 0 & -e^\top g / \lambda \\
            & & H & -F^\top (\rho a / \lambda^3 + g / \lambda) \\
            & & & 3 (\rho\, a^\top K a + 1 - \rho) / \lambda^4 + 2 g^\top f / \lambda^2
        \end{pmatrix}\Bigr) T + \mathrm{diag}(0, 0, 2 S(a p^\top \circ \kappa'), 0)

    A weight of 0 has slope mu > 0 and does not enter K: only the columns of other weights are ever multiplied. Where u
    stays, so do samples with a_i = 0, and those with a_j = g_j = 0 (m_j >= 1: at large C most) enter no derivative:
    rows and columns of K are left out there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels.models.kernel.kernels import FloatArray, Kernel

SHARE = 4  # H costs as much as a product for each four of its columns


def hinge(m: FloatArray, eps: float) -> FloatArray:
    """Return the smoothed hinge V (8) of margins; with eps = 0 the hinge.

    >>> hinge(np.array([-1.0, 0.5, 2.0]), 0.5)
    array([1.5  , 0.125, 0.   ])
    """
    short = np.maximum(0.0, 1.0 - m)
    if eps == 0:
        return short
    bent = np.minimum(short, 2.0 * eps)
    return np.asarray(short - bent + bent**2 / (4.0 * eps))


def hinge_slope(m: FloatArray, eps: float) -> FloatArray:
    """Return V', for eps > 0."""
    return np.asarray(-np.clip((1.0 - m) / (2.0 * eps), 0.0, 1.0))


def hinge_curvature(m: FloatArray, eps: float) -> FloatArray:
    """Return V'', which jumps at 1 - 2 eps and 1, for eps > 0."""
    return ((m < 1.0) & (m >= 1.0 - 2.0 * eps)) / (2.0 * eps)


@dataclass
class _At:
    """What is known at a point, for the products there."""

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
    sums: FloatArray | None = None
    bent: _Bent | None = None


@dataclass
class _Bent:
    """What products by z need at a point; A and B are the columns of the rows and of the samples across."""

    A: FloatArray
    B: FloatArray
    F: FloatArray  # (across, columns)
    G: FloatArray | None  # (n, columns), where u is free
    W: FloatArray  # a p' o kappa'', (rows, across)
    by: NDArray[np.intp]  # positions in a flat point of u where it is free, b, the columns of z, and lambda
    price: float  # of the Hessian, in products
    worth: bool  # whether it is formed at once
    products: int = 0
    hessian: FloatArray | None = None  # of the coordinates ``by``
    out: FloatArray | None = None  # S(a p' o kappa') of the weights that are 0

    def pays(self) -> bool:
        """Tell whether the products so far cost as much as the Hessian."""
        return self.products >= self.price


@dataclass
class Objective:
    """Phi over flat points, or over some of their coordinates (``free``) with the others at ``base``.

    - ``X``: array of shape (n, d); centred where the kernel allows it, so that products keep their digits.
    - ``y``: array of shape (n,), -1 or +1.
    - ``C``: array of shape (n,), the price of each sample's loss, or one number for all. ``mu``: float.
    - ``eps``: 0 for the hinge, which has no Hessian, and slopes by f only as a choice: g = -a, right where (u, b) is
      optimal.
    - ``explicit``: rho = 0: (12).
    - ``free``: array of positions, by default all.
    - ``base``: array of shape (n + d + 2,).
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
    _at: _At | None = field(default=None, repr=False)
    _base: _At | None = field(default=None, repr=False)  # the last point with products: steps from it may be refused
    _cut: tuple[bytes, FloatArray] | None = field(default=None, repr=False)
    _last: tuple[bytes, FloatArray, FloatArray] | None = field(default=None, repr=False)  # z, D and K of ``matrix``

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.C = np.ascontiguousarray(np.broadcast_to(self.C, (self.n,)))
        self.rho = 0.0 if self.explicit else 1.0
        free = np.arange(self.n + self.d + 2) if self.free is None else self.free
        self._free = free
        self._u_free = bool((free < self.n).any())
        self._z_free = bool(((free > self.n) & (free <= self.n + self.d)).any())

    def parts(self, x: FloatArray) -> tuple[FloatArray, float, FloatArray, float]:
        """Return u, b, z and lambda of a flat point."""
        n, d = self.n, self.d
        return x[:n], float(x[n]), x[n + 1 : n + 1 + d], float(x[-1])

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
        return here.value, here.gradient[self._free]

    def norm(self, x: FloatArray) -> float:
        """Return u'Ku, with the labels' signs, for rho = 1."""
        return self._evaluated(self._whole(x)).square

    def matrix(self, z: FloatArray) -> FloatArray:
        """Return the kernel matrix (n, n), which is kept for the next value at these weights."""
        columns = np.flatnonzero(z)
        A = self._columns(columns)
        D = self.kernel.exponent(A, A, z[columns] ** 2)
        K = self.kernel.entries(D)
        self._last = z.tobytes(), D, K
        return K

    def _columns(self, columns: NDArray[np.intp]) -> FloatArray:
        if len(columns) == self.d:
            return self.X
        key = columns.tobytes()
        if self._cut is None or self._cut[0] != key:
            self._cut = key, np.ascontiguousarray(self.X[:, columns])
        return self._cut[1]

    def _evaluated(self, x: FloatArray) -> _At:
        for known in (self._at, self._base):
            if known is not None and np.array_equal(known.x, x):
                return known
        u, b, z, margin = self.parts(x)
        a, rho = self.y * u, self.rho
        rows = np.arange(self.n) if self._u_free else np.flatnonzero(a)
        columns = np.flatnonzero(z)
        B = self._columns(columns)
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
        if self._u_free:
            gradient[: self.n] = self.y * (K @ (p + rho * a / (2 * margin**2)))
        gradient[self.n] = g.sum()
        by_z = gradient[self.n + 1 : -1]
        by_z[:] = self.mu
        across = slice(None) if self._u_free else np.flatnonzero((rho * a != 0) | (g != 0))
        here = _At(x.copy(), rows, across, columns, D, K, f, m, g, p, square, value, gradient)
        if self._z_free and len(rows):
            here.sums = self.kernel.sums(self._weights(here, a), A, B[across])
            by_z[columns] += 2.0 * z[columns] * here.sums
        gradient[-1] = -square / margin**3 - float(g @ f) / margin
        self._at = here
        return here

    def _weights(self, here: _At, a: FloatArray) -> FloatArray:
        """Return ``a p' o kappa'``."""
        W = self.kernel.slopes(here.D[:, here.across], here.K[:, here.across]) * here.p[here.across]
        W *= a[here.rows, None]
        return np.asarray(W)

    def product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian by the free coordinates times v; at the joints of the hinge, one of its values."""
        if self.eps == 0:
            raise NotImplementedError("the hinge has no second derivative")
        here = self._evaluated(self._whole(np.asarray(x, dtype=float)))
        step = np.zeros(self.n + self.d + 2)
        step[self._free] = v
        return np.asarray(self._product(here, step)[self._free])

    def _product(self, here: _At, step: FloatArray) -> FloatArray:
        a, z, dz = self.y * self.parts(here.x)[0], self.parts(here.x)[2], self.parts(step)[2]
        known = self._bent(here, a) if self._z_free and len(here.rows) else None
        if known is None:
            return self._sweep(here, None, step)
        known.products += 1
        if known.hessian is None and (known.worth or known.pays()):
            known.hessian = self._hessian(here, known)
        if known.hessian is None:
            out = self._sweep(here, known, step)
        else:
            out = np.zeros_like(step)
            out[known.by] = known.hessian @ step[known.by]
        self._enter(here, known, a, z, dz, out[self.n + 1 : -1])
        return out

    def _sweep(self, here: _At, known: _Bent | None, step: FloatArray) -> FloatArray:
        """Return the product by sweeps over K; with ``known`` also by weights."""
        (u, _, z, margin), (du, db, dz, dm_) = self.parts(here.x), self.parts(step)
        a, da, rho, y = self.y * u, self.y * du, self.rho, self.y
        rows, columns, K = here.rows, here.columns, here.K
        dq = 2.0 * z[columns] * dz[columns]
        bent = np.zeros(self.n)
        if known is not None:
            bent[here.across] = known.F @ dq
        df = da[rows] @ K + db + bent
        dm = y * df / margin - here.m * dm_ / margin
        dg = self.C * y * hinge_curvature(here.m, self.eps) * dm / margin - here.g * dm_ / margin
        half = rho * da / (2 * margin**2) - rho * a * dm_ / margin**3
        dp = half + dg
        out = np.zeros_like(step)
        if self._u_free:
            whole = K @ (dp + half)
            if known is not None and known.G is not None:
                whole = whole + known.G @ dq + rho / (2 * margin**2) * bent
            out[: self.n] = y * whole
        out[self.n] = dg.sum()
        if known is not None:
            assert here.sums is not None
            crossed = self.kernel.sums(known.W * self.kernel.exponent(known.A, known.B, dq), known.A, known.B)
            by_q = dp[here.across] @ known.F + crossed
            if known.G is not None:
                by_q += da @ known.G
            out[self.n + 1 : -1][columns] = 2.0 * z[columns] * by_q + 2.0 * dz[columns] * here.sums
        change = 2 * float(da[rows] @ (here.f[rows] - here.x[self.n])) + float(bent @ a)
        out[-1] = (
            -rho * change / margin**3
            + 3 * here.square * dm_ / margin**4
            - float(dg @ here.f + here.g @ df) / margin
            + float(here.g @ here.f) * dm_ / margin**2
        )
        return out

    def _hessian(self, here: _At, known: _Bent) -> FloatArray:
        """Return the Hessian of the coordinates ``by``."""
        assert here.sums is not None
        u, _, z, margin = self.parts(here.x)
        rho, across, K, F, G = self.rho, here.across, here.K, known.F, known.G
        a, g, f = (self.y * u)[across], here.g[across], here.f[across]
        b, size = self.n if self._u_free else 0, len(known.by)
        by_u, by_z = slice(b), slice(b + 1, -1)
        J = np.empty((len(g), size))
        J[:, b], J[:, by_z], J[:, -1] = 1.0, F, -f / margin
        N = np.zeros((size, size))
        by_margin = rho * a / margin**3 + g / margin
        N[b, -1], N[by_z, -1] = -g.sum() / margin, -by_margin @ F
        if G is not None:
            J[:, by_u] = K
            N[by_u, by_z], N[by_u, -1] = G + rho / (2 * margin**2) * F, -K @ (by_margin + rho * a / margin**3)
        N += N.T
        if G is not None:
            N[by_u, by_u] = rho / margin**2 * K
        N[by_z, by_z] = self.kernel.crossed(known.W, known.A, known.B)
        N[-1, -1] = 3 * here.square / margin**4 + 2 * float(g @ f) / margin**2
        V = (self.C * hinge_curvature(here.m, self.eps) / margin**2)[across]
        J *= np.sqrt(V)[:, None]
        J = J[V > 0]
        N += J.T @ J
        T = np.concatenate([self.y[by_u], [1.0], 2.0 * z[here.columns], [1.0]])
        N *= T * T[:, None]
        np.einsum("ii->i", N)[by_z] += 2.0 * here.sums
        return N

    def _bent(self, here: _At, a: FloatArray) -> _Bent:
        """Return F, G and what crosses at this point, computed by the first product there."""
        if here.bent is None:
            before = self._base.bent if self._base is not None else None
            every = self._columns(here.columns)
            A = every if len(here.rows) == self.n else every[here.rows]
            B, D, K, p = every[here.across], here.D[:, here.across], here.K[:, here.across], here.p[here.across]
            slopes = self.kernel.slopes(D, K)
            F = self.kernel.by_row(slopes.T, a[here.rows], B, A)
            G = self.kernel.by_row(slopes, p, A, B) if self._u_free else None
            W = self.kernel.curves(D, K) * p
            W *= a[here.rows, None]
            u = np.arange(self.n if self._u_free else 0)
            by = np.concatenate([u, [self.n], self.n + 1 + here.columns, [self.n + self.d + 1]])
            k = max(1, len(here.columns))
            price = (k + len(by) ** 2 / (len(here.rows) * k)) / SHARE
            here.bent = _Bent(A, B, F, G, W, by, price, before is not None and before.pays())
            self._base = here
        return here.bent

    def _enter(self, here: _At, known: _Bent, a: FloatArray, z: FloatArray, dz: FloatArray, by_z: FloatArray) -> None:
        """Put there what weights of 0 bring in, which are not among the columns."""
        out = np.flatnonzero(z == 0)
        if not dz[out].any():
            return
        if known.out is None:
            side = np.ascontiguousarray(self.X[:, out])
            known.out = self.kernel.sums(self._weights(here, a), side[here.rows], side[here.across])
        by_z[out] = 2.0 * dz[out] * known.out

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
