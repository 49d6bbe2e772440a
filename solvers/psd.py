"""Positive semidefinite quadratic forms: the one test of convexity, on the numbers.

Q splits into blocks of connected variables; each must have a pivoted Cholesky factor. A block counts as it is, however
small its numbers are beside another's: they may be in other units.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

Quadratic = tuple[np.ndarray, np.ndarray, np.ndarray]  # (i, j, v) stands for the terms v x_i x_j

# relative size of an eigenvalue or a residual that is rounding, far below any solver's tolerance
EIGEN_ROUNDING = 1e-10


def is_psd(quad: Quadratic) -> bool:
    """Tell whether a quadratic form is convex."""
    return all(psd_factor(matrix) is not None for _, matrix in blocks(quad))


def psd_factor(q: np.ndarray) -> np.ndarray | None:
    """Return F (rank, n) with ``q = F'F`` for a symmetric (n, n) matrix, or None if q is not positive semidefinite.

    >>> psd_factor(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[2., 1.]])
    >>> psd_factor(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    True
    """
    diagonal = np.diag(q)
    scale = float(np.abs(diagonal).max(initial=0.0))
    if diagonal.min(initial=0.0) < -EIGEN_ROUNDING * scale:
        return None
    lower, pivots, rank, _ = lapack.dpstrf(q, lower=1, tol=EIGEN_ROUNDING * scale)
    factor = np.zeros((rank, len(q)))
    factor[:, pivots - 1] = np.tril(lower)[:, :rank].T
    if np.abs(q - factor.T @ factor).max(initial=0.0) > 100 * EIGEN_ROUNDING * max(scale, np.finfo(float).tiny):
        return None
    return factor


def blocks(quad: Quadratic) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split Q into (columns, dense symmetric matrix) by connected variables."""
    i, j, v = quad
    if not len(i):
        return []
    cols, inverse = np.unique(np.concatenate((i, j)), return_inverse=True)
    a, b = inverse[: len(i)], inverse[len(i) :]
    half = sp.csr_matrix((v, (a, b)), shape=(len(cols), len(cols)))
    matrix = ((half + half.T) * 0.5).tocsr()
    matrix.eliminate_zeros()
    if matrix.nnz == 0:
        return []
    _, part = connected_components(matrix, directed=False)
    order = np.argsort(part, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    dense = [(cols[m], matrix[m][:, m].toarray()) for m in members if len(m) > 1]
    diagonal = matrix.diagonal()
    return dense + [(cols[m], diagonal[m].reshape(1, 1)) for m in members if len(m) == 1 and diagonal[m[0]] != 0.0]
