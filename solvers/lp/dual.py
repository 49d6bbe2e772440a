r"""Linear programs solved by their dual, for programs with far more rows than columns with more than one entry.

Duality
    min c'x over L <= Ax <= U, l <= x <= u. Let s be a finite bound of each column (0 if there is none) and x = s + x'.
    With a price p_i for each finite side h_i (>= 0 for lower sides, <= 0 for upper sides, free for equations):

    .. math::
        \max_p\ (h - A s)^\top p \quad \text{s.t.}\quad
        a_j^\top p \le c_j\ (x'_j \ge 0),\quad \ge c_j\ (x'_j \le 0),\quad = c_j\ (x'_j\ \text{free}),

    without a row for fixed x_j. The upper bound of a column with two bounds is a side. x'_j is the price of row j. A
    slack, which is a column e with one entry that relaxes its side, is a bound in the dual: p_i <= c_e / a_ie for
    a_ie > 0. Its value is the part of the side that the other columns leave.
Why
    A soft margin has a row and a slack for each sample. The basis of the simplex method has a row for each sample; that
    of the dual has a row for each weight. CPU seconds of the first four LPs of FSV, by the dual and by the primal:
    spambase (2761 samples, 57 features) 0.14 and 2.2, Multiple Features (1200, 649) 1.4 and 17.6, leukemia (44, 7129)
    9.3 and 23. The point is a vertex, that of the basis of the dual.

``HighsLP`` solves the primal if the dual has no optimum.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from solvers.lp.highs import LONG, HighsLP, LpAnswer, LpStatus

_FREE, _ABOVE, _BELOW, _BOXED, _FIXED = range(5)  # kinds of x' by its bounds


class _Prices:
    """The part of the dual that does not change with costs and bounds.

    - ``matrix``: shape (prices, columns), with a row for each finite side and each upper bound of a boxed column.
    - ``sides``: the sides and these bounds.
    - ``row``: the row of each price, -1 for a bound.
    - ``low``, ``high``: bounds of the prices, without slacks.
    - ``kept``: columns that are rows of the dual.
    - ``slacks``: columns that are bounds of the dual; ``of``, ``entry``: price and entry of each.
    - ``boxed``: columns whose upper bounds are the last sides.
    - ``kinds``: kinds of the columns at construction.
    - ``cost``: costs of the prices at the last solve.
    """

    def __init__(
        self,
        rows: sparse.csr_matrix,
        low: np.ndarray,
        high: np.ndarray,
        upper: np.ndarray,
        kinds: np.ndarray,
        options: Mapping[str, Any],
    ) -> None:
        columns, self.kinds = rows.shape[1], kinds
        equal = np.isfinite(low) & (low == high)
        at_least, at_most = np.flatnonzero(np.isfinite(low) & ~equal), np.flatnonzero(np.isfinite(high) & ~equal)
        equal = np.flatnonzero(equal)
        self.boxed = boxed = np.flatnonzero(kinds == _BOXED)
        unit = sparse.csr_matrix((np.ones(len(boxed)), (np.arange(len(boxed)), boxed)), (len(boxed), columns))
        self.matrix = sparse.vstack([rows[at_least], rows[at_most], rows[equal], unit], format="csr")
        self.sides = np.concatenate([low[at_least], high[at_most], low[equal], upper[boxed]])
        self.row = np.concatenate([at_least, at_most, equal, np.full(len(boxed), -1)])
        first, last = len(at_least), len(at_least) + len(at_most)
        self.low, self.high = np.full(len(self.row), -np.inf), np.full(len(self.row), np.inf)
        self.low[:first], self.high[first:last], self.high[last + len(equal) :] = 0.0, 0.0, 0.0
        signs = np.sign(np.isinf(self.high) * 1.0 - np.isinf(self.low))
        self.slacks, self.of, self.entry = _slacks(self.matrix, kinds, signs)
        self.kept = np.setdiff1d(np.arange(columns), self.slacks)
        self.cost = -self.sides
        self.lp = HighsLP(self.cost, self.low, self.high, **options)
        infinite = np.full(len(self.kept), np.inf)
        self.lp.add_rows(self.matrix[:, self.kept].T.tocsr(), -infinite, infinite)


def prefers_dual(matrix: sparse.csr_matrix) -> bool:
    """Return True if the dual of these rows is the smaller program and the rows are not few."""
    return bool(matrix.nnz >= LONG and (np.diff(matrix.tocsc().indptr) > 1).sum() < matrix.shape[0])


class DualLP:
    """Linear program solved by its dual, which is built again when rows are added or deleted.

    >>> lp = DualLP(np.array([0.0, 1.0, 1.0]), np.array([-np.inf, 0.0, 0.0]), np.full(3, np.inf))
    >>> lp.add_rows([[1.0, 1.0, 0.0], [-2.0, 0.0, 1.0]], np.array([2.0, 0.0]), np.full(2, np.inf))
    >>> answer = lp.solve()
    >>> answer.objective, answer.point.tolist()
    (2.0, [0.0, 2.0, 0.0])
    """

    def __init__(self, cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, **options: Any) -> None:
        """Store costs, bounds and the options of ``HighsLP``."""
        self.columns, self._options = len(cost), options
        self._cost, self._lower, self._upper = (np.array(part, dtype=float) for part in (cost, lower, upper))
        self._matrix = sparse.csr_matrix((0, self.columns))
        self._row_lower, self._row_upper = np.empty(0), np.empty(0)
        self._prices: _Prices | None = None
        self._slack = np.empty(0, dtype=bool)
        HighsLP(np.empty(0), np.empty(0), np.empty(0), **self._options)  # check the options before the first solve

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._matrix.shape[0])

    def set_cost(self, cost: np.ndarray) -> None:
        """Replace the objective."""
        self._cost = np.array(cost, dtype=float)

    def add_rows(self, matrix: Any, lower: np.ndarray, upper: np.ndarray) -> None:
        """Add rows ``lower <= A x <= upper``; A of shape (rows, columns), dense or CSR."""
        self._matrix = sparse.vstack([self._matrix, sparse.csr_matrix(matrix)], format="csr")
        self._row_lower, self._row_upper = np.append(self._row_lower, lower), np.append(self._row_upper, upper)
        self._prices = None

    def delete_rows(self, rows: np.ndarray) -> None:
        """Delete rows by position; later rows move up."""
        left = np.setdiff1d(np.arange(self.rows), rows)
        self._matrix, self._row_lower, self._row_upper = (
            part[left] for part in (self._matrix, self._row_lower, self._row_upper)
        )
        self._prices = None

    def set_sides(self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace both sides of some rows, by position; each row once."""
        self._row_lower[rows], self._row_upper[rows] = lower, upper
        self._prices = None

    def set_bounds(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace bounds of some columns."""
        self._lower[columns], self._upper[columns] = lower, upper

    def slack_rows(self) -> np.ndarray:
        """Return a mask of the rows without a price at the last optimum."""
        return self._slack

    def solve(self, time_limit: float | None = None) -> LpAnswer:
        """Solve from the last basis."""
        begin = time.monotonic()
        kinds = _kinds(self._lower, self._upper)
        if self._prices is None or ((kinds != self._prices.kinds) & (kinds != _FIXED)).any():
            self._prices = _Prices(self._matrix, self._row_lower, self._row_upper, self._upper, kinds, self._options)
        p = self._prices
        start = np.where(np.isfinite(self._lower), self._lower, np.where(np.isfinite(self._upper), self._upper, 0.0))
        p.sides[len(p.sides) - len(p.boxed) :] = self._upper[p.boxed]
        price_cost = p.matrix @ start - p.sides
        if (price_cost != p.cost).any():  # without new costs HiGHS uses its dual simplex
            p.cost = price_cost
            p.lp.set_cost(price_cost)
        cost, kind = self._cost[p.kept], kinds[p.kept]
        low = np.where((kind == _FREE) | (kind == _BELOW), cost, -np.inf)
        high = np.where((kind == _FREE) | (kind == _ABOVE) | (kind == _BOXED), cost, np.inf)
        p.lp.set_sides(np.arange(len(p.kept)), low, high)
        price_low, price_high = p.low.copy(), p.high.copy()
        most, moves = self._cost[p.slacks] / p.entry, kinds[p.slacks] != _FIXED
        up, down = moves & (p.entry > 0), moves & (p.entry < 0)
        price_high[p.of[up]], price_low[p.of[down]] = most[up], most[down]
        if (price_low > price_high).any():
            return self._solve_primal(time_limit)
        p.lp.set_bounds(np.arange(len(p.sides)), price_low, price_high)
        answer = p.lp.solve(time_limit)
        if answer.status is LpStatus.LIMIT:
            return answer
        if answer.status is not LpStatus.OPTIMAL:
            return self._solve_primal(None if time_limit is None else max(0.0, time_limit - (time.monotonic() - begin)))
        return self._read(p, start, moves, answer)

    def _read(self, p: _Prices, start: np.ndarray, moves: np.ndarray, answer: LpAnswer) -> LpAnswer:
        """Return the point whose prices are the multipliers of the dual."""
        point = start.copy()
        point[p.kept] -= answer.multipliers
        missing = (p.sides - p.matrix @ point)[p.of] / p.entry
        point[p.slacks] += np.where(moves, np.maximum(0.0, missing), 0.0)
        point = np.clip(point, self._lower, self._upper)
        multipliers = np.zeros(self.rows)
        of_row = p.row >= 0
        np.add.at(multipliers, p.row[of_row], answer.point[of_row])
        self._slack = multipliers == 0
        reduced = self._cost - self._matrix.T @ multipliers
        return LpAnswer(LpStatus.OPTIMAL, float(self._cost @ point), point, reduced, multipliers)

    def _solve_primal(self, time_limit: float | None) -> LpAnswer:
        lp = HighsLP(self._cost, self._lower, self._upper, **self._options)
        lp.add_rows(self._matrix, self._row_lower, self._row_upper)
        answer = lp.solve(time_limit)
        if answer.status is LpStatus.OPTIMAL:
            self._slack = lp.slack_rows()
        return answer


def _kinds(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    below, above = np.isfinite(lower), np.isfinite(upper)
    one = np.where(below, _ABOVE, np.where(above, _BELOW, _FREE))
    return np.where(below & above, np.where(lower == upper, _FIXED, _BOXED), one)


def _slacks(matrix: sparse.csr_matrix, kinds: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return columns that only relax a side, the numbers of these sides and the entries; at most one for each side.

    ``signs``: 1 for lower sides, -1 for upper sides, 0 for equations.
    """
    by_column = matrix.tocsc()
    alone = np.flatnonzero((np.diff(by_column.indptr) == 1) & (kinds == _ABOVE))
    place = by_column.indptr[alone]
    of, entry = by_column.indices[place], by_column.data[place]
    relaxes = entry * signs[of] > 0
    alone, of, entry = alone[relaxes], of[relaxes], entry[relaxes]
    _, once = np.unique(of, return_index=True)
    return alone[once], of[once], entry[once]
