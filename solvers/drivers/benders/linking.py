r"""Rows that a 0/1 first stage implies, and that make a weak subproblem strong.

A row  sum_j a_j y_j <= S x_i,  a, S > 0, y >= 0, x_i in {0, 1}, lets y_j up to S/a_j. Where y_j <= u_j < S/a_j anyway,

    y_j <= u_j x_i

holds at x_i = 0, where all are 0, and at x_i = 1. Between the two it cuts: the linear program of capacitated facility
location without such rows is far below the one with them, and Benders cuts are as good as the linear program that they
come from. They are valid at 0/1 points, which is all that the master has in the end.

u_j may be a bound; or what a row  sum_k b_k y_k <= r, b > 0, leaves to y_j; or what an optimum needs of y_j: where
y_j costs, c_j >= 0, and one row alone,  sum_k b_k y_k >= r, asks for more of it, some optimum has y_j <= max(r, 0)/b_j.
(From one with more, y_j can be lowered: that row has slack, no other minds, and the cost does not rise; one variable
after another.) Neither row may hold x.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from solvers.drivers.benders.block_rows import BlockRows

LESS = 1e-6  # relative: by how much u_j must be the smaller


def with_linking_rows(rows: BlockRows, binary: np.ndarray) -> BlockRows:
    """Return blocks of linear rows with the implied ones; ``binary`` (n,): which complicating variables are 0/1."""
    switched = _switched(rows, binary)
    if not len(switched):
        return rows
    u = _most(rows)
    a = rows.matrix
    known: dict[tuple[int, int], float] = {}
    found: list[tuple[int, int, int]] = []
    for r, i, s in switched:
        here = slice(a.indptr[r], a.indptr[r + 1])
        for j, coefficient in zip(a.indices[here].tolist(), a.data[here].tolist(), strict=True):
            known[j, i] = min(known.get((j, i), np.inf), s / coefficient)
            found.append((r, j, i))
    new = [(r, j, i) for r, j, i in found if u[j] < known[j, i] * (1.0 - LESS)]
    new = list({(j, i): (r, j, i) for r, j, i in new}.values())
    if not new:
        return rows
    of, column, x = (np.array(part, dtype=int) for part in zip(*new, strict=True))
    count, each = len(new), np.arange(len(new))
    matrix = sparse.csr_array((np.ones(count), (each, column)), shape=(count, a.shape[1]))
    coupling = sparse.csr_array((-u[column], (each, x)), shape=(count, rows.coupling.shape[1]))
    order = np.argsort(np.concatenate([rows.row_block, rows.row_block[of]]), kind="stable")
    more = rows.plus(matrix, coupling, np.zeros(count), rows.row_block[of])
    return more.ordered(order)


def _switched(rows: BlockRows, binary: np.ndarray) -> list[tuple[int, int, float]]:
    """Return row, x and S of the rows ``sum a y <= S x`` of one 0/1 variable."""
    b, a, found = rows.coupling, rows.matrix, []
    single = np.flatnonzero((np.diff(b.indptr) == 1) & (rows.upper == 0.0) & np.isneginf(rows.lower))
    for r in single.tolist():
        i, s = int(b.indices[b.indptr[r]]), -float(b.data[b.indptr[r]])
        here = slice(a.indptr[r], a.indptr[r + 1])
        positive = np.all(a.data[here] > 0) and np.all(rows.y_lower[a.indices[here]] == 0.0)
        if binary[i] and s > 0 and positive and a.indptr[r] < a.indptr[r + 1]:
            found.append((r, i, s))
    return found


def _most(rows: BlockRows) -> np.ndarray:
    """Return the most that each variable is, or needs to be in an optimum."""
    u = rows.y_upper.copy()
    a, free = rows.matrix.tocoo(), np.diff(rows.coupling.indptr) == 0
    bad = (a.data < 0) | (rows.y_lower[a.col] != 0.0)
    plain = free & (np.bincount(a.row[bad], minlength=len(rows.lower)) == 0)  # b > 0 and y >= 0
    leaves = plain[a.row] & np.isfinite(rows.upper[a.row])
    np.minimum.at(u, a.col[leaves], rows.upper[a.row[leaves]] / a.data[leaves])
    asks = ((a.data > 0) & np.isfinite(rows.lower[a.row])) | ((a.data < 0) & np.isfinite(rows.upper[a.row]))
    alone = np.bincount(a.col[asks], minlength=len(u)) == 1
    needed = asks & plain[a.row] & np.isposinf(rows.upper[a.row]) & alone[a.col] & (rows.cost[a.col] >= 0)
    np.minimum.at(u, a.col[needed], np.maximum(rows.lower[a.row[needed]], 0.0) / a.data[needed])
    return np.maximum(u, 0.0)
