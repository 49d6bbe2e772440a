r"""The blocks of a subproblem as arrays, and the cuts that multipliers of their rows prove.

A block b is  q_b(x) = min { c.y : lower <= A y + B x <= upper, y in [y_lower, y_upper] }; no two blocks share rows or
columns. For any multipliers p of the rows, positive only on finite lower sides and negative only on finite upper sides,

    q_b(x) >= p+ . lower - p- . upper + sum_j min { d_j y_j : y_j in its bounds } - p . B x,    d = c - A' p

at every x. This is weak duality, so that the cut is valid for inexact p. It is tight at x-bar if p is optimal there. A
reduced cost with the sign of an infinite bound counts as 0 if it is within rounding; otherwise the cut is worthless.

``with_linking_rows`` adds rows that a 0/1 first stage implies and that strengthen a weak subproblem. A row  sum_j
a_j y_j <= S x_i  with a, S > 0, y >= 0, x_i in {0, 1} allows y_j up to S/a_j. If y_j <= u_j < S/a_j anyway, then

    y_j <= u_j x_i

is valid at x_i = 0, where all y_j are 0, and at x_i = 1. It cuts off fractional x_i: the linear relaxation of
capacitated facility location is far weaker without such rows, and Benders cuts are as strong as the linear program
from which they are derived. The rows are valid at 0/1 points only, which is sufficient for the master.

u_j is a bound of y_j; or the bound that a row  sum_k b_k y_k <= r, b > 0, implies; or a bound that holds in some
optimum: if c_j >= 0 and only one row,  sum_k b_k y_k >= r, becomes violated when y_j decreases, then some optimum has
y_j <= max(r, 0)/b_j. (A larger y_j can be reduced: that row has slack, the other rows stay satisfied, and the cost does
not increase; repeat for each variable.) Neither row may contain x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.split import SplitModel
from solvers.facts.structure import Cut
from solvers.model.linear import LinearRows

NOTHING = 1e-9  # relative size of a reduced cost that counts as rounding


@dataclass(frozen=True)
class BlockCuts:
    """Cuts, one for each block or group: ``constants`` (cuts,) and ``slopes``, csr (cuts, complicating variables)."""

    constants: np.ndarray
    slopes: Any

    def at(self, point: np.ndarray) -> np.ndarray:
        """Return the values of the cuts at a point of shape (n,)."""
        return np.asarray(self.constants + self.slopes @ point)

    def total(self) -> Cut:
        """Return the cut for the sum of the values of all blocks."""
        return Cut(float(self.constants.sum()), np.asarray(self.slopes.sum(axis=0)).ravel())

    def grouped(self, groups: Any) -> BlockCuts:
        """Return the cuts for the sums of the values of groups of blocks; ``groups``: csr (groups, blocks) of ones."""
        return BlockCuts(groups @ self.constants, sparse.csr_array(groups @ self.slopes))

    def single(self, k: int) -> Cut:
        """Return cut k."""
        return Cut(float(self.constants[k]), self.slopes[[k]].toarray().ravel())


@dataclass(frozen=True)
class BlockRows:
    """Rows and costs of blocks over their own variables y and the complicating variables x.

    ``row_block``, ``column_block``: number of the block of each row and column. ``constants``: constant terms of the
    objectives of the blocks.
    """

    matrix: Any
    coupling: Any
    lower: np.ndarray
    upper: np.ndarray
    y_lower: np.ndarray
    y_upper: np.ndarray
    cost: np.ndarray
    constants: np.ndarray
    row_block: np.ndarray
    column_block: np.ndarray

    @classmethod
    def of(
        cls,
        parts: SplitModel,
        blocks: Sequence[SubBlock],
        rows: Sequence[Sequence[Any]],
        terms: Sequence[Any],
        curved: Sequence[int] = (),
    ) -> BlockRows:
        """Return the arrays of the linear ``rows`` of each block and of the linear ``terms`` of the objective.

        ``curved``: the blocks of the convex terms; each term gets a free column with cost 1, after all others.
        """
        x = parts.structure.complicating
        open_x = [k for k, v in enumerate(x) if not v.fixed]
        inside = [v for block in blocks for v in block.variables]
        every = [row for part in rows for row in part]
        read = LinearRows.of(every, [*inside, *(x[k] for k in open_x)], terms, parts.sign)
        split_at = len(inside)
        matrix = read.matrix.tocsc()
        spread = sparse.csr_array(
            (np.ones(len(open_x)), (np.arange(len(open_x)), open_x)), shape=(len(open_x), len(x))
        )  # fixed variables have no column
        constants = np.zeros(len(blocks))
        if len(blocks):
            constants[0] = read.constant
        last = len(curved)
        nothing, free = sparse.csc_array((len(every), last)), np.full(last, np.inf)
        return cls(
            sparse.csr_array(sparse.hstack([matrix[:, :split_at], nothing])),
            sparse.csr_array(matrix[:, split_at:] @ spread),
            read.lower,
            read.upper,
            np.concatenate([read.x_lower[:split_at], -free]),
            np.concatenate([read.x_upper[:split_at], free]),
            np.concatenate([read.cost[:split_at], np.ones(last)]),
            constants,
            np.repeat(np.arange(len(blocks)), [len(part) for part in rows]),
            np.concatenate(
                [np.repeat(np.arange(len(blocks)), [len(block.variables) for block in blocks]), [*curved]]
            ).astype(int),
        )

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.constants)

    @property
    def moving(self) -> np.ndarray:
        """The positions of the rows whose sides depend on x."""
        return np.flatnonzero(np.diff(self.coupling.indptr))

    def elastic(self, x_lower: np.ndarray, x_upper: np.ndarray) -> BlockRows:
        """Return the blocks of the distances from feasibility, min { |z - x| : the rows at z, z in the bounds of x }.

        Each block has a copy z of the complicating variables in its rows; their columns follow its own. The distance is
        convex in x, and 0 if and only if the block is feasible, so that its cuts are feasibility cuts.
        """
        owner, x = self.coupling.tocoo(), self.coupling.shape[1]
        keys = self.row_block[owner.row] * x + owner.col  # block and complicating variable in one number
        copies, place = np.unique(keys, return_inverse=True)
        block, k = copies // max(x, 1), copies % max(x, 1)
        count, rows, columns = len(k), len(self.lower), len(self.cost)
        at_z = sparse.csr_array((owner.data, (owner.row, place)), shape=(rows, count))
        unit = sparse.eye_array(count, format="csr")
        picked = sparse.csr_array((-np.ones(count), (np.arange(count), k)), shape=(count, x))
        blank, free = sparse.csr_array((rows, 2 * count)), np.full(2 * count, np.inf)
        return replace(
            self,
            matrix=sparse.csr_array(
                sparse.block_array(
                    [
                        [self.matrix, at_z, blank],
                        [sparse.csr_array((count, columns)), unit, sparse.hstack([unit, -unit])],
                    ]
                )
            ),
            coupling=sparse.csr_array(sparse.vstack([sparse.csr_array((rows, x)), picked])),
            lower=np.concatenate([self.lower, np.zeros(count)]),
            upper=np.concatenate([self.upper, np.zeros(count)]),
            y_lower=np.concatenate([self.y_lower, x_lower[k], np.zeros(2 * count)]),
            y_upper=np.concatenate([self.y_upper, x_upper[k], free]),
            cost=np.concatenate([np.zeros(columns + count), np.ones(2 * count)]),
            constants=np.zeros(self.count),
            row_block=np.concatenate([self.row_block, block]),
            column_block=np.concatenate([self.column_block, block, block, block]),
        )

    def plus(self, matrix: Any, coupling: Any, upper: np.ndarray, row_block: np.ndarray) -> BlockRows:
        """Return the blocks with additional rows ``matrix y + coupling x <= upper``."""
        return replace(
            self,
            matrix=sparse.vstack([self.matrix, matrix], format="csr"),
            coupling=sparse.vstack([self.coupling, coupling], format="csr"),
            lower=np.concatenate([self.lower, np.full(len(upper), -np.inf)]),
            upper=np.concatenate([self.upper, upper]),
            row_block=np.concatenate([self.row_block, row_block]),
        )

    def values(self, y: np.ndarray) -> np.ndarray:
        """Return the objectives of the blocks at values of their variables."""
        return self.constants + np.bincount(self.column_block, weights=self.cost * y, minlength=self.count)

    def cuts(self, multipliers: np.ndarray) -> BlockCuts:
        """Return the cuts of multipliers by weak duality; a constant is -inf if they prove no bound."""
        p = np.where(np.isfinite(self.lower), multipliers, np.minimum(multipliers, 0.0))
        p = np.where(np.isfinite(self.upper), p, np.maximum(p, 0.0))
        side = np.where(p > 0, self.lower, np.where(p < 0, self.upper, 0.0))
        d = self.cost - self.matrix.T @ p
        size = 1.0 + np.abs(self.cost) + abs(self.matrix).T @ np.abs(p)
        bound = np.where(d > 0, self.y_lower, self.y_upper)
        finite = np.isfinite(bound)
        at = np.where(finite, d * np.where(finite, bound, 0.0), np.where(np.abs(d) > NOTHING * size, -np.inf, 0.0))
        constants = self.constants + np.bincount(self.row_block, weights=p * side, minlength=self.count)
        constants += np.bincount(self.column_block, weights=at, minlength=self.count)
        owner = sparse.csr_array((-p, (self.row_block, np.arange(len(p)))), shape=(self.count, len(p)))
        return BlockCuts(constants, sparse.csr_array(owner @ self.coupling))


LESS = 1e-6  # relative: u_j must be smaller by at least this


def with_linking_rows(rows: BlockRows, binary: np.ndarray) -> BlockRows:
    """Return the blocks with the implied rows; ``binary`` (n,): whether a complicating variable is 0/1."""
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
    return rows.plus(matrix, coupling, np.zeros(count), rows.row_block[of])


def _switched(rows: BlockRows, binary: np.ndarray) -> list[tuple[int, int, float]]:
    """Return the row, x and S of each row ``sum a y <= S x`` with one 0/1 variable."""
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
    """Return an upper bound of each variable that holds in some optimum."""
    u = rows.y_upper.copy()
    a, free = rows.matrix.tocoo(), np.diff(rows.coupling.indptr) == 0
    bad = (a.data < 0) | (rows.y_lower[a.col] != 0.0)
    plain = free & (np.bincount(a.row[bad], minlength=len(rows.lower)) == 0)  # b > 0 and y >= 0
    limited = plain[a.row] & np.isfinite(rows.upper[a.row])
    np.minimum.at(u, a.col[limited], rows.upper[a.row[limited]] / a.data[limited])
    demand = ((a.data > 0) & np.isfinite(rows.lower[a.row])) | ((a.data < 0) & np.isfinite(rows.upper[a.row]))
    alone = np.bincount(a.col[demand], minlength=len(u)) == 1
    needed = demand & plain[a.row] & np.isposinf(rows.upper[a.row]) & alone[a.col] & (rows.cost[a.col] >= 0)
    np.minimum.at(u, a.col[needed], np.maximum(rows.lower[a.row[needed]], 0.0) / a.data[needed])
    return np.maximum(u, 0.0)
