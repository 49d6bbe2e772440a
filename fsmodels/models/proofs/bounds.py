r"""Bounds of linear classifiers with slacks from any multipliers; best offset and slacks of given weights.

Problem
    .. math:: \min_{w, b, \xi}\ \Omega(w) + \sum_i s_i \xi_i \quad \text{s.t.}\quad
              y_i (w^\top x_i + b) + \xi_i \ge 1,\ \xi_i \ge 0

    with Omega = w'w/2 (the SVM), ||w||_1 (the 1-norm SVM), ||w||/2 (the SVM with its norm not squared) or 0 (the
    robust LP, with s_i one over the size of the class of i). The SVM may have s_i xi_i^2 (``proofs.svm``).
Weak duality
    For 0 <= alpha <= s with y'alpha = 0 the Lagrangian leaves, with v_j = sum_i alpha_i y_i x_ij,

    .. math:: e^\top \alpha + \min_w \{\Omega(w) - v^\top w\}

    which is e'alpha - v'v/2 for the SVM, e'alpha for the 1-norm SVM if |v_j| <= 1 for all j, for ||w||/2 if ||v|| <=
    1/2, and for the robust LP if v = 0. The multipliers of a solver satisfy these conditions only to its tolerances.
    They are repaired: clipped to [0, s], the class with the larger sum is scaled down until y'alpha = 0, then all are
    multiplied by the best t within the bounds (for the 1-norm SVM the largest with t |v_j| <= 1).
Multipliers of the robust LP
    Scaling does not give v = 0, and no floating-point alpha satisfies it. It is sufficient that some alpha* does. Let A
    consist of the rows y_i z_ij and y_i, u = alpha, r = A u the residual, and rho_i = min(u_i, s_i - u_i) the room. If
    every u_i without room is 0, r is in the range of A restricted to the others, F, and q = -(A_F R)^+ r, R =
    diag(rho_F), has A (u + R q) = 0. If ||q|| <= 1, u + R q is within [0, s], and its sum is at least e'u - rho'|q|,
    and rho'|q| <= ||rho|| ||r|| / sigma, sigma the least nonzero singular value of A_F R. So u is first corrected by
    R q, until r is at rounding level, and the rest is subtracted. A vertex has little room: it is moved by 1e-9 (1e-7,
    ...) of the way to a point c of {A c = 0, 0 <= c <= s} with the largest support, from a linear program; if c_i = 0,
    alpha_i is 0 in every such point.
The best offset of given weights
    sum_i s_i max(0, 1 - y_i (w.x_i + b)) is convex and piecewise linear in b with kinks y_i - w.x_i; its slope at the
    left end is minus the sum of s over class +1 and increases by s_i at each kink.
Units
    All computations use equilibrated columns z (``equilibration``), where v_j is f_j times that of x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from scipy import linalg, sparse

from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.svm import PLAIN, LossKind, balanced, hinges, lost, norms, repaired, squared_offset, unit
from fsmodels.weights import FloatArray

__all__ = ["one_norm_bound", "robust_bound", "slacks", "svm_bound", "unsquared_bound"]


EPS = float(np.finfo(float).eps)
BLOCK = 128  # products per partial sum
MOVES = (0.0, 1e-9, 1e-7, 1e-5)  # relative steps to a point with room
ALMOST = 1e-6  # slacks up to this size are a solver's tolerance, if a longer w has none


def svm_bound(
    columns: Columns, y: FloatArray, C: FloatArray, alpha: FloatArray | None, kind: LossKind = PLAIN
) -> float:
    """Return a lower bound of the soft-margin SVM from any multipliers (l,); without them, from those of w = 0.

    ``C`` (l,): prices of slack.

    Centred columns need y'alpha = 0, which is not required without an offset.
    """
    priced = kind.priced(C)
    if alpha is None or not np.isfinite(alpha).all():
        alpha = priced.at_zero(y)
    alpha = priced.repaired(alpha, y)
    if kind.free_b:
        v = np.asarray(columns.z.T @ (y * alpha)).ravel() / columns.factor
    else:
        v = np.asarray(columns.X.T @ (y * alpha)).ravel()
    square = float(v @ v)
    if not np.isfinite(square) or not alpha.any():
        return 0.0
    t = priced.multiple(alpha, square)
    alpha = np.minimum(t * alpha, priced.most)
    a = (columns.norms / columns.factor if kind.free_b else norms(columns.X)) * float(np.linalg.norm(alpha))
    return max(0.0, priced.gained(alpha) - 0.5 * t * t * square - lost(priced, alpha, t * v, a))


def one_norm_bound(columns: Columns, y: FloatArray, C: FloatArray, alpha: FloatArray | None) -> float:
    """Return a lower bound of the 1-norm SVM from any multipliers (l,); without them, from those of w = 0.

    ``C`` as of ``svm_bound``.
    """
    alpha, v = _repaired(columns, y, C, alpha)
    return _within(alpha, float((v / columns.factor).max(initial=0.0)), C)


def unsquared_bound(columns: Columns, y: FloatArray, C: FloatArray, alpha: FloatArray | None) -> float:
    """Return a lower bound of the SVM with 1/2 ||w|| from any multipliers (l,); without them, from those of w = 0.

    ``C`` as of ``svm_bound``.
    """
    alpha, v = _repaired(columns, y, C, alpha)
    return _within(alpha, 2.0 * float(np.linalg.norm(v / columns.factor)), C)


def _within(alpha: FloatArray, size: float, C: FloatArray) -> float:
    """Return the sum of multipliers, scaled to at most C and to a size of v of at most 1, minus the rounding error."""
    share = unit(alpha.size, 0)
    largest = float((alpha / C).max(initial=0.0))
    if not np.isfinite(size) or largest == 0.0:
        return 0.0
    t = min(1.0 / largest, 1.0 / size if size > 0 else np.inf)
    return float((1 - share) * t * alpha.sum())


def robust_bound(columns: Columns, y: FloatArray, s: FloatArray, alpha: FloatArray | None) -> float:
    """Return a lower bound of the robust LP with shares s (l,) from any multipliers (l,); 0 without them."""
    if alpha is None or not np.isfinite(alpha).all():
        return 0.0
    A = _signed_rows(columns, y)
    u = repaired(alpha, y, s)
    best, room = 0.0, None
    for move in MOVES:
        if move and room is None:
            room = _largest_support(A, s)
        moved = u if room is None else np.where(room > 0, (1 - move) * u + move * room, 0.0)
        best = max(best, _attained(A, moved, s))
        if best >= (1 - 10 * max(move, 1e-9)) * u.sum():
            break
    return best


def _attained(A: Any, u: FloatArray, s: FloatArray) -> float:
    """Return a proven sum of some alpha* near u with A alpha* = 0, 0 <= alpha* <= s; 0 without a proof."""
    for _ in range(3):
        rho = np.minimum(u, s - u)
        inside = rho > 0
        if np.any(u[~inside] > 0):  # at the upper bound: its part of r need not be in the range
            u = np.where((rho <= 0) & (u > 0), s * (1 - 1e-12), u)
            rho = np.minimum(u, s - u)
            inside = rho > 0
        if not inside.any():
            return 0.0
        W = _dense(A[:, inside] * rho[inside])
        r, noise = _product(A, u)
        triangle = linalg.qr(W.T, mode="r", check_finite=False)[0]  # small, with the left singular vectors of W
        basis, sizes, _ = linalg.svd(triangle.T, full_matrices=False, check_finite=False)
        kept = sizes > max(W.shape) * EPS * sizes.max(initial=0.0)
        if not kept.any():
            return 0.0
        least = float(sizes[kept].min())
        missed = (float(np.linalg.norm(r)) + float(np.linalg.norm(noise))) / least
        if missed <= 1e-6:
            kept_of_sum = (1.0 - unit(u.size, 0)) * float(u.sum())
            return max(0.0, kept_of_sum - float(np.linalg.norm(rho[inside])) * missed)
        q = -W.T @ (basis[:, kept] @ ((basis[:, kept].T @ r) / sizes[kept] ** 2))
        if not np.abs(q).max(initial=0.0) < 1:
            return 0.0
        u = u.copy()
        u[inside] += rho[inside] * q
    return 0.0


def _product(A: Any, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A u and an upper bound of its rounding error, for u of at least 0.

    In extended precision with unit e, BLOCK products are summed in any order, and then the blocks. The error is
    (BLOCK + blocks) e times the sizes of the terms. One EPS is for r in double precision and for centred columns, which
    are rounded once, and e for u_i a_ij. Without extended precision e is EPS, and the error is larger.
    """
    blocks, long = range(0, u.size, BLOCK), u.astype(np.longdouble)
    parts = (np.asarray(A[:, k : k + BLOCK].astype(np.longdouble) @ long[k : k + BLOCK]).ravel() for k in blocks)
    share = EPS + (BLOCK + len(blocks) + 4) * float(np.finfo(np.longdouble).eps)
    return np.asarray(sum(parts), dtype=float), share * np.asarray(abs(A) @ u).ravel()


def _largest_support(A: Any, s: FloatArray) -> FloatArray:
    """Return c with A c = 0, 0 <= c <= s/2; c_i is 0 only if it is 0 in every such point."""
    rows, many = A.shape
    # max sum t  s.t.  A c = 0, c_i >= s_i t_i, 0 <= t <= 1; c has no upper bound
    equal = sparse.hstack([sparse.csr_array(A), sparse.csr_array((rows, many))])
    above = sparse.hstack([-sparse.eye_array(many), sparse.diags_array(s)])
    cost = np.concatenate([np.zeros(many), -np.ones(many)])
    bounds = [(0, None)] * many + [(0, 1)] * many
    found = scipy.optimize.linprog(cost, above, np.zeros(many), equal, np.zeros(rows), bounds=bounds, method="highs")
    if found.x is None:
        return np.zeros(many)
    c = np.where(found.x[many:] > 0.5, found.x[:many], 0.0)
    return 0.5 * c / max(1.0, float((c / s).max(initial=0.0)))


def slacks(
    columns: Columns,
    y: FloatArray,
    s: FloatArray,
    w: FloatArray,
    within: tuple[float, float] = (-np.inf, np.inf),
    *,
    squared: bool = False,
) -> tuple[FloatArray, float, FloatArray]:
    """Return weights equivalent to w (n,), their best offset, and the slacks (l,) of the rows in the units of the data.

    If all slacks are within the tolerance of solvers, slightly longer weights without slacks are returned instead of w.
    The offset is ``within`` two bounds; its cost is convex, so the nearer bound is the best. ``squared``: the squares
    have the cost; small slacks are then not changed.
    """
    scores = columns.z @ (w / columns.factor)
    free = squared_offset(scores, y, s) if squared else hinges(scores, y, s)[1]
    free -= float(columns.centre @ w)
    b = float(np.clip(free, *within))
    xi = _missing(columns, y, w, b)
    largest = float(xi.max(initial=0.0))
    if not squared and 0 < largest <= ALMOST and within[0] <= (1 + 2 * ALMOST) * b <= within[1] and b == free:
        longer = (1 + 4 * EPS) / (1 - largest)
        none = _missing(columns, y, longer * w, longer * b)
        if float(none.max(initial=0.0)) < largest:
            return longer * w, longer * b, none
    return w, b, xi


def _missing(columns: Columns, y: FloatArray, w: FloatArray, b: float) -> FloatArray:
    return np.maximum(0.0, 1 - y * (np.asarray(columns.X @ w).ravel() + b))


def _repaired(
    columns: Columns, y: FloatArray, C: FloatArray, alpha: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return feasible multipliers (l,) and an upper bound of |v| (n,) including rounding, in units of z."""
    if alpha is None or not np.isfinite(alpha).all():
        alpha = balanced(y, C)
    alpha = repaired(alpha, y, C)
    v = np.abs(np.asarray(columns.z.T @ (y * alpha)).ravel())
    return alpha, (v + unit(alpha.size, v.size) * columns.norms * float(np.linalg.norm(alpha))) * (1 + unit(0, v.size))


def _signed_rows(columns: Columns, y: FloatArray) -> Any:
    """Return the rows y_i z_ij over j and y_i, as a matrix of shape (n + 1, l)."""
    if sparse.issparse(columns.z):
        return sparse.vstack([sparse.csr_array(columns.z.T * y), sparse.csr_array(y[None, :])]).tocsc()
    return np.vstack([columns.z.T * y, y])


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
