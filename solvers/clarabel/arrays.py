"""Quadratic programs that are arrays already, and the nearest point of a polyhedron: one thread, quiet, one try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

KINDS = {"zero": "ZeroConeT", "nonnegative": "NonnegativeConeT", "second-order": "SecondOrderConeT"}
SOONEST = 1e-3  # seconds; Clarabel takes no limit of 0


class Optimum(NamedTuple):
    """Where a run ended: the point, the multipliers of the rows, and whether it is solved to the accuracy."""

    x: np.ndarray
    z: np.ndarray
    solved: bool

    @property
    def finite(self) -> bool:
        """Whether point and multipliers are numbers."""
        return bool(np.all(np.isfinite(self.x)) and np.all(np.isfinite(self.z)))


def cones_of(cones: Iterable[tuple[str, int]]) -> list[Any]:
    """Return Clarabel's cones for pairs of kind and size."""
    import clarabel

    return [getattr(clarabel, KINDS[kind])(size) for kind, size in cones]


def solve_qp(
    P: Any,
    q: np.ndarray,
    A: Any,
    b: np.ndarray,
    cones: Sequence[tuple[str, int]],
    *,
    accuracy: float,
    time_limit: float | None = None,
) -> Optimum:
    """Solve ``min 1/2 x'P x + q'x, b - A x in the cones``.

    ``P``, ``A``: P with its upper triangle; None for 0. ``cones``: pairs of kind and size, in the order of the rows.
    ``accuracy``: of gap and feasibility, absolute and relative. ``time_limit``: seconds.

    >>> solve_qp(None, np.ones(1), sparse.csc_array([[-1.0]]), np.array([-2.0]), [("nonnegative", 1)], accuracy=1e-9).x
    array([2.])
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    if time_limit is not None:
        settings.time_limit = max(time_limit, SOONEST)
    if P is None:
        P = sparse.csc_array((len(q), len(q)))
    run = clarabel.DefaultSolver(P, q, A, b, cones_of(cones), settings).solve()
    return Optimum(np.array(run.x), np.array(run.z), str(run.status) in ("Solved", "AlmostSolved"))


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
