"""Kernels of weighted features on arrays: entries, and their derivatives by the weights as matrix products.

Every kernel here is ``K_ij = kappa(D_ij)`` with ``D_ij = sum_k z_k^2 d_k(x_i, x_j)``, linear in the squared weights:

    rbf         d_k = -(x_ik - x_jk)^2    kappa(t) = exp(t)               (13)
    polynomial  d_k = x_ik x_jk           kappa(t) = (offset + t)^degree
    linear      d_k = x_ik x_jk           kappa(t) = t

so that ``dK_ij / dz_k = 2 z_k kappa'(D_ij) d_k(x_i, x_j)``. Gradients and Hessians need three sums only:
``S_k(W) = sum_ij W_ij d_k(x_i, x_j)``, for each i ``sum_j W_ij d_k(x_i, x_j)``, and the mixed ``sum_ij W_ij d_k(x_i,
x_j) d_l(x_i, x_j)``. With x_i the rows of A and x_j those of B, ``S_k(W)`` is ``A_k'W B_k`` for the linear kernel and
``2 A_k'W B_k - (W 1)'A_k^2 - (W'1)'B_k^2`` for RBF: one matrix product for all k, without an n by n by d array. The
other sums are similar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fsmodels.checks import choice, positive
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

KERNELS = ["rbf", "linear", "polynomial"]


@dataclass(frozen=True)
class Rbf:
    """``exp(-sum_k z_k^2 (x_ik - x_jk)^2)`` (13).

    All kernels have these methods. ``exponent`` returns D of shape (rows of A, rows of B) for q = z^2, or any other q.
    ``sums``, ``by_row`` and ``crossed`` return the three sums, of shapes (d,), (rows of A, d) and (d, d). ``entries``,
    ``slopes`` and ``curves`` return kappa, kappa' and kappa'' of D. ``term`` returns d_k of two values of a feature,
    and ``expression`` kappa of a Pyomo expression. ``shift_invariant``: True if K does not change when all samples
    are shifted.
    """

    shift_invariant: ClassVar[bool] = True

    def exponent(self, A: FloatArray, B: FloatArray, q: FloatArray) -> FloatArray:
        """Return minus the weighted squared distances."""
        D = (A * (2.0 * q)) @ B.T
        D -= ((A * A) @ q)[:, None]
        D -= (B * B) @ q
        return np.asarray(D)

    def sums(self, W: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``-sum_ij W_ij (a_ik - b_jk)^2``."""
        mixed = np.einsum("ik,ik->k", A, W @ B)
        return np.asarray(2.0 * mixed - W.sum(axis=1) @ (A * A) - W.sum(axis=0) @ (B * B))

    def by_row(self, W: FloatArray, v: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``-sum_j W_ij v_j (a_ik - b_jk)^2``."""
        weighted = v[:, None] * B
        return np.asarray(2.0 * A * (W @ weighted) - A * A * (W @ v)[:, None] - W @ (weighted * B))

    def crossed(self, W: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``sum_ij W_ij (a_ik - b_jk)^2 (a_il - b_jl)^2``, multiplied out."""
        AA, BB = A * A, B * B
        far = AA.T @ (W @ BB) - 2.0 * (AA.T @ (A * (W @ B)) + BB.T @ (B * (W.T @ A)))
        near = (AA * W.sum(axis=1)[:, None]).T @ AA + (BB * W.sum(axis=0)[:, None]).T @ BB
        return np.asarray(near + far + far.T + 4.0 * _products_crossed(W, A, B))

    def entries(self, D: FloatArray) -> FloatArray:
        """Return exp(D), at most 1 also after rounding."""
        return np.exp(np.minimum(D, 0.0, out=D), out=D)

    def slopes(self, D: FloatArray, K: FloatArray) -> FloatArray:
        """Return K itself."""
        return K

    def curves(self, D: FloatArray, K: FloatArray) -> FloatArray:
        """Return K itself."""
        return K

    def term(self, x: float, other: float) -> float:
        """Return minus the squared difference."""
        return -((x - other) ** 2)

    def expression(self, D: Any) -> Any:
        """Return exp(D)."""
        from pyomo.environ import exp

        return exp(D)


@dataclass(frozen=True)
class Polynomial:
    """``(offset + sum_k z_k^2 x_ik x_jk)^degree``; degree 1 and offset 0 is the linear kernel."""

    degree: int = 2
    offset: float = 1.0
    shift_invariant: ClassVar[bool] = False

    def exponent(self, A: FloatArray, B: FloatArray, q: FloatArray) -> FloatArray:
        """Return the weighted scalar products."""
        return np.asarray((A * q) @ B.T)

    def sums(self, W: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``sum_ij W_ij a_ik b_jk``."""
        return np.asarray(np.einsum("ik,ik->k", A, W @ B))

    def by_row(self, W: FloatArray, v: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``sum_j W_ij v_j a_ik b_jk``."""
        return np.asarray(A * (W @ (v[:, None] * B)))

    def crossed(self, W: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return ``sum_ij W_ij a_ik b_jk a_il b_jl``."""
        return _products_crossed(W, A, B)

    def entries(self, D: FloatArray) -> FloatArray:
        """Return ``(offset + D)^degree``."""
        return np.asarray((self.offset + D) ** self.degree)

    def slopes(self, D: FloatArray, K: FloatArray) -> FloatArray:
        """Return ``degree (offset + D)^(degree - 1)``."""
        return np.asarray(self.degree * (self.offset + D) ** (self.degree - 1))

    def curves(self, D: FloatArray, K: FloatArray) -> FloatArray:
        """Return ``degree (degree - 1) (offset + D)^(degree - 2)``."""
        if self.degree < 2:
            return np.zeros_like(D)
        return np.asarray(self.degree * (self.degree - 1) * (self.offset + D) ** (self.degree - 2))

    def term(self, x: float, other: float) -> float:
        """Return the product."""
        return x * other

    def expression(self, D: Any) -> Any:
        """Return ``(offset + D)^degree``."""
        return (self.offset + D) ** self.degree if self.degree > 1 else self.offset + D


Kernel = Rbf | Polynomial


def _products_crossed(W: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
    """Return ``sum_ij W_ij a_ik b_jk a_il b_jl``: a matrix product for each k, no array of n times d^2."""
    d = A.shape[1]
    out = np.zeros((d, d))
    for k in range(d):
        products = np.einsum("il,il->l", A[:, k, None] * A[:, k:], W @ (B[:, k, None] * B[:, k:]))
        out[k, k:] = out[k:, k] = products
    return out


def as_kernel(kernel: Any, degree: int = 2, offset: float = 1.0) -> Kernel:
    """Return a kernel by name; a kernel is returned unchanged.

    Raises ParameterError: an unknown name, a degree that is not a whole number above 0, or an offset below 0.

    >>> as_kernel("polynomial", degree=3)
    Polynomial(degree=3, offset=1.0)
    """
    if isinstance(kernel, Rbf | Polynomial):
        return kernel
    choice("kernel", kernel, KERNELS)
    if kernel == "rbf":
        return Rbf()
    if kernel == "linear":
        return Polynomial(1, 0.0)
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
        raise ParameterError(f"degree={degree!r} is not allowed: give a whole number of at least 1, for example 2.")
    if offset != 0:
        positive("offset", offset, "offset is the constant of the polynomial kernel, 0 or above")
    return Polynomial(int(degree), float(offset))
