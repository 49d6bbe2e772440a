"""Multipliers as exact as the arithmetic, of solvers that print theirs with seven or eight digits.

A reduced cost that is 0 comes back as 1e-8 then, of either sign; on a column without that bound weak duality makes of
it a bound of minus infinity. Which reduced costs are 0 is plain, though: those far below the terms that they are made
of. The least change of the multipliers that are not 0 makes all of these 0, A_J' (p + dp) = c_J.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

DIGITS = 1e-6  # relative: a reduced cost below is one that was printed for 0
EXACT = 1e-12


def polished(matrix: sparse.csr_matrix, cost: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Return multipliers (rows,) with which reduced costs that are 0 but for digits are 0."""
    d = cost - matrix.T @ multipliers
    size = np.abs(cost) + abs(matrix).T @ np.abs(multipliers)
    basic = np.abs(d) <= DIGITS * size
    rows = np.flatnonzero(multipliers)
    if not np.any(np.abs(d[basic]) > EXACT * size[basic]) or not len(rows):
        return multipliers
    change = lsqr(matrix[rows][:, basic].T, d[basic], atol=1e-15, btol=1e-15)[0]
    better = multipliers.copy()
    better[rows] += change
    turned = better * multipliers < 0.0
    return multipliers if np.any(turned) else better
