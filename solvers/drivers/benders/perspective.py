r"""Perspectives of quadratic terms that a 0/1 variable switches, in blocks as cones.

If x_k in {0, 1} and x_k = 0 implies y_j = 0, then d y_j^2 = d y_j^2 / x_k at all 0/1 points with
y_j^2 / x_k = min { t : y_j^2 <= t x_k, t >= 0 }, which is larger for fractional x_k. ``with_perspectives`` takes
d >= 0 with P - diag(2 d) positive semidefinite out of the objective and adds these cones (Frangioni and Gentile 2006).
The largest sum of d is a semidefinite program (Frangioni and Gentile 2007); for large blocks d is a multiple of the
diagonal of P. The cuts are valid at 0/1 points only, which is sufficient for the master.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh

from solvers.clarabel.engine import cones_of
from solvers.drivers.benders.block_cones import BlockCones

SDP_LIMIT = 60  # columns of a block up to which the semidefinite program is solved
ROUGH = 1e-3  # accuracy of the semidefinite program, whose solution is made feasible
LEAST = 1e-6  # share of the diagonal below which a perspective is left out
SAFE = 1e-7  # share of d that is kept in P, so that P - diag(2 d) stays positive semidefinite


def with_perspectives(blocks: BlockCones, binary: np.ndarray) -> BlockCones:
    """Return the blocks with perspectives; ``binary`` (n,): whether a complicating variable is 0/1."""
    switch = switches(blocks, binary)
    columns = np.flatnonzero(switch >= 0)
    if not len(columns):
        return blocks
    d = np.zeros(len(blocks.cost))
    for part in np.unique(blocks.column_block[columns]).tolist():
        inside = np.flatnonzero(blocks.column_block == part)
        d[inside] = diagonal_part(blocks.quadratic[inside][:, inside], switch[inside] >= 0)
    d *= 0.5 * (1.0 - SAFE)
    chosen = np.flatnonzero(d > LEAST * np.abs(blocks.quadratic.diagonal()).max(initial=0.0))
    if not len(chosen):
        return blocks
    count, n, x = len(chosen), len(blocks.cost), blocks.coupling.shape[1]
    first = 3 * np.arange(count)
    t, ones = np.arange(count), np.ones(count)
    at_t = sparse.csr_array(
        (-np.concatenate([ones, ones]), (np.concatenate([first, first + 2]), np.concatenate([t, t]))),
        shape=(3 * count, count),
    )  # (t + x, 2 y, t - x) in L
    at_y = sparse.csr_array((-2.0 * ones, (first + 1, chosen)), shape=(3 * count, n))
    at_x = sparse.csr_array(
        (np.concatenate([-ones, ones]), (np.concatenate([first, first + 2]), np.tile(switch[chosen], 2))),
        shape=(3 * count, x),
    )
    nonnegative = sparse.csr_array((-ones, (t, n + t)), shape=(count, n + count))
    wide = sparse.hstack([blocks.matrix, sparse.csr_array((len(blocks.side), count))])
    taken = sparse.diags_array(np.bincount(chosen, weights=2.0 * d[chosen], minlength=n), format="csr")
    size = np.maximum(np.abs(blocks.y_lower[chosen]), np.abs(blocks.y_upper[chosen]))
    block = blocks.column_block[chosen]
    return replace(
        blocks,
        quadratic=sparse.block_diag([blocks.quadratic - taken, sparse.csr_array((count, count))], format="csr"),
        cost=np.concatenate([blocks.cost, d[chosen]]),
        matrix=sparse.vstack([wide, nonnegative, sparse.hstack([at_y, at_t])], format="csr"),
        coupling=sparse.vstack([blocks.coupling, sparse.csr_array((count, x)), at_x], format="csr"),
        side=np.concatenate([blocks.side, np.zeros(4 * count)]),
        cones=[*blocks.cones, ("nonnegative", count), *([("second-order", 3)] * count)],
        bound_rows=np.concatenate([blocks.bound_rows, np.ones(count, dtype=bool), np.zeros(3 * count, dtype=bool)]),
        y_lower=np.concatenate([blocks.y_lower, np.zeros(count)]),
        y_upper=np.concatenate([blocks.y_upper, size**2]),
        row_block=np.concatenate([blocks.row_block, block, np.repeat(block, 3)]),
        column_block=np.concatenate([blocks.column_block, block]),
        places=np.concatenate([blocks.places, np.full(count, -1)]),
        units=np.concatenate([blocks.units, np.ones(count)]),
    )


def switches(blocks: BlockCones, binary: np.ndarray) -> np.ndarray:
    """Return for each column y_j the number of a 0/1 variable x_k for which x_k = 0 implies y_j = 0, or -1."""
    a, b = blocks.matrix, blocks.coupling
    single = (np.diff(a.indptr) == 1) & (np.diff(b.indptr) == 1) & (blocks.side == 0.0)
    rows = np.flatnonzero(single & (blocks.kinds == "nonnegative"))
    column, k = a.indices[a.indptr[rows]], b.indices[b.indptr[rows]]
    slope = a.data[a.indptr[rows]]
    good = binary[k] if len(rows) else np.zeros(0, dtype=bool)
    above: dict[int, set[int]] = {}
    below: dict[int, set[int]] = {}
    for j, i, s in zip(column[good].tolist(), k[good].tolist(), slope[good].tolist(), strict=True):
        (above if s > 0 else below).setdefault(j, set()).add(i)
    switch = np.full(len(blocks.cost), -1)
    for j in {*above, *below}:
        up, low = above.get(j, set()), below.get(j, set())
        both = (up & low) or (up if blocks.y_lower[j] == 0.0 else set()) or (low if blocks.y_upper[j] == 0.0 else set())
        if both:
            switch[j] = min(both)
    return switch


def diagonal_part(quadratic: Any, allowed: np.ndarray) -> np.ndarray:
    """Return d >= 0, 0 where it is not ``allowed``, with P - diag(d) positive semidefinite and a large sum.

    >>> diagonal_part(sparse.csr_array(np.array([[3.0, 1.0], [1.0, 3.0]])), np.array([True, True])).round(6)
    array([2., 2.])
    """
    P, d = sparse.csr_array(quadratic), np.zeros(quadratic.shape[0])
    diagonal = P.diagonal()
    coupled = np.zeros(len(d), dtype=bool)
    off = sparse.coo_array(P - sparse.diags_array(diagonal))
    off.eliminate_zeros()
    coupled[off.row] = True
    d[~coupled & allowed] = diagonal[~coupled & allowed]
    inside = np.flatnonzero(coupled)
    if not len(inside):
        return d
    dense, here = P[inside][:, inside].toarray(), allowed[inside]
    root = np.sqrt(np.maximum(diagonal[inside], np.finfo(float).tiny))
    unit = dense / np.outer(root, root)  # diagonal of ones
    share = _by_sdp(unit, here) if len(inside) <= SDP_LIMIT else None
    if share is None:
        share = np.where(here, 1.0, 0.0)
    left = unit - np.diag(share)
    missing = -float(eigvalsh(left)[0])
    if missing > 0.0:  # a convex combination with d = 0
        least = max(0.0, float(eigvalsh(unit)[0]))
        share *= least / (least + missing)
    d[inside] = np.maximum(share, 0.0) * diagonal[inside]
    return d


def _by_sdp(P: np.ndarray, allowed: np.ndarray) -> np.ndarray | None:
    """Return a solution of max { sum d : P - diag(d) positive semidefinite, d >= 0 }; None if the solver fails."""
    import clarabel

    n, free = len(P), np.flatnonzero(allowed)
    below = np.tril_indices(n)  # Clarabel stacks the columns of the upper triangle, that is the rows of the lower one
    scale = np.where(below[0] == below[1], 1.0, np.sqrt(2.0))
    on_diagonal = np.flatnonzero(below[0] == below[1])[free]
    each = np.arange(len(free))
    A = sparse.vstack(
        [
            sparse.csc_array((-np.ones(len(free)), (each, each)), shape=(len(free), len(free))),
            sparse.csc_array((np.ones(len(free)), (on_diagonal, each)), shape=(len(scale), len(free))),
        ],
        format="csc",
    )
    b = np.concatenate([np.zeros(len(free)), P[below] * scale])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ROUGH
    cones = [*cones_of([("nonnegative", len(free))]), clarabel.PSDTriangleConeT(n)]
    empty = sparse.csc_matrix((len(free), len(free)))
    solution = clarabel.DefaultSolver(empty, -np.ones(len(free)), sparse.csc_matrix(A), b, cones, settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return None
    found = np.zeros(n)
    found[free] = np.maximum(solution.x, 0.0)
    return found
