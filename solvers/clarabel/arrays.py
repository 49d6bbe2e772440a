"""Programs that are arrays already: no Pyomo model, no second try; one thread, quiet."""

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
