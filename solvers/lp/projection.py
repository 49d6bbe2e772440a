"""The nearest point of a polyhedron."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from solvers.clarabel.arrays import solve_qp

Block = tuple[sparse.csr_matrix, np.ndarray]  # A x <= b

ACCURACY = 1e-6  # of points at which a cut is asked for, which may be any


def nearest_point(
    target: np.ndarray,
    blocks: Sequence[Block],
    rows: tuple[sparse.csr_matrix, np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
) -> np.ndarray | None:
    """Return the point nearest to ``target`` (n,) that meets the blocks, the two-sided rows and the bounds.

    None where the interior point finds none. Bounds hold exactly, rows to 1e-6.
    """
    matrix, below, above = rows
    lower, upper = bounds
    identity = sparse.identity(len(target), format="csc")
    equal = np.isfinite(below) & (below == above)
    at_most, at_least = np.isfinite(above) & ~equal, np.isfinite(below) & ~equal
    parts = [
        (matrix[equal], above[equal]),
        *blocks,
        (matrix[at_most], above[at_most]),
        (-matrix[at_least], -below[at_least]),
        (identity[np.isfinite(upper)], upper[np.isfinite(upper)]),
        (-identity[np.isfinite(lower)], -lower[np.isfinite(lower)]),
    ]
    stacked = sparse.vstack([part for part, _ in parts], format="csc")
    sides = np.concatenate([side for _, side in parts])
    first = int(equal.sum())
    cones = [("zero", first), ("nonnegative", len(sides) - first)][not first :]
    found = solve_qp(identity, -target, stacked, sides, cones, accuracy=ACCURACY)
    return np.clip(found.x, lower, upper) if found.solved and found.finite else None
