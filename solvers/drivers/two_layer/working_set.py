"""Rows and columns in use of a composite risk, with slopes over these columns only, extended and reduced in place.

``RowPool`` holds the rows of a risk found so far; the problems of one model share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.drivers.two_layer.columns import FloatArray, Restricted
from solvers.facts.composite import RiskRow

USELESS = 1e-5  # of a share


class WorkingSet:
    """Rows ``q_k + p_k.w`` over the columns in use.

    - ``columns`` (ndarray of shape (F,)): positions in X of the columns in use.
    - ``XF``: those columns of X.
    - ``rows``: list of RiskRow.
    - ``P``, ``q`` (ndarrays of shapes (K, F) and (K,)): p_k = -h X'u_k over the columns in use, q_k = h s_k.
    """

    def __init__(self, X: Any, scale: float) -> None:
        self.X = sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X)
        self.scale = scale
        self.columns = np.empty(0, dtype=np.intp)
        self.XF = self.X[:, self.columns]
        self.rows: list[RiskRow] = []
        self.P, self.q = np.empty((0, 0)), np.empty(0)
        self._row_idle, self._column_idle = (np.empty(0, dtype=int) for _ in range(2))

    def slopes(self, alpha: FloatArray) -> FloatArray:
        """Return c = h X' sum_k alpha_k u_k over all columns of X; only this step reads all entries."""
        total = np.zeros(self.X.shape[0])
        for a, row in zip(alpha.tolist(), self.rows, strict=True):
            if a > 0:
                total += a * row.coefficients
        return np.asarray(self.X.T @ total) * self.scale

    def add_rows(self, rows: Sequence[RiskRow]) -> bool:
        """Add the rows that are new; return True if there is one."""
        new: list[RiskRow] = []
        for row in rows:
            if not any(_same(row, other) for other in (*self.rows, *new)):
                new.append(row)
        if not new:
            return False
        slopes = np.array([self.XF.T @ row.coefficients.astype(float) for row in new])
        self.P = np.vstack([self.P.reshape(len(self.rows), len(self.columns)), -self.scale * slopes])
        self.q = np.concatenate([self.q, [self.scale * row.side for row in new]])
        self.rows += new
        self._row_idle = np.concatenate([self._row_idle, np.zeros(len(new), dtype=int)])
        return True

    def add_columns(self, wanted: NDArray[np.intp]) -> bool:
        """Add the columns that are new; return True if there is one."""
        new = np.setdiff1d(wanted, self.columns)
        if len(new):
            part = self.X[:, new]
            more = [part.T @ r.coefficients.astype(float) for r in self.rows]
            self.P = np.hstack([self.P, -self.scale * np.reshape(more, (len(more), len(new)))])
            self.columns = np.concatenate([self.columns, new])
            self.XF = sparse.hstack([self.XF, part], format="csc") if sparse.issparse(part) else self.X[:, self.columns]
            self._column_idle = np.concatenate([self._column_idle, np.zeros(len(new), dtype=int)])
        return len(new) > 0

    def drop(self, answer: Restricted, C: float, held: NDArray[np.bool_], patience: int) -> NDArray[np.bool_]:
        """Drop rows and columns without weight in the solutions of several rounds; return a mask of the kept columns.

        ``held``: columns to keep. Rows and columns added after the solution are kept too.
        """
        known = len(answer.alpha)
        values = self.q[:known] + self.P[:known, : len(answer.w)] @ answer.w
        slack = (max(0.0, float(values.max())) - values) / max(float(self.q.max()), 1e-300)
        self._row_idle = idle_rounds(self._row_idle, answer.alpha / C >= slack)  # interior points: neither is exactly 0
        keep = self._row_idle < patience
        self.rows = [r for r, kept in zip(self.rows, keep.tolist(), strict=True) if kept]
        self.P, self.q, self._row_idle = self.P[keep], self.q[keep], self._row_idle[keep]
        self._column_idle = idle_rounds(self._column_idle, answer.d > USELESS)
        stay = (self._column_idle < patience) | held
        if not stay.all():
            self.columns, self.P, self.XF = self.columns[stay], self.P[:, stay], self.XF[:, np.flatnonzero(stay)]
            self._column_idle = self._column_idle[stay]
        return stay


def _same(row: RiskRow, other: RiskRow) -> bool:
    return row.side == other.side and np.array_equal(row.coefficients, other.coefficients)


def idle_rounds(rounds: NDArray[np.int_], used: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Update the number of rounds without use of rows, columns or groups; the last of them may be new."""
    new = np.zeros(len(rounds) - len(used), dtype=int)
    return np.concatenate([np.where(used, 0, rounds[: len(used)] + 1), new])


KEPT = 80  # rows of the next problem at its start


class RowPool:
    """Rows of a risk found so far, over all columns. They depend on the data only, so that clones share them.

    ``matrix`` (n, m), ``worst``, ``scale``: as in ``CompositeRisk``.
    """

    def __init__(self, matrix: Any, worst: Callable[[np.ndarray], RiskRow], scale: float) -> None:
        self.matrix, self.worst, self.scale = matrix, worst, scale
        self.P, self.q = np.empty((0, matrix.shape[1])), np.empty(0)
        self._known: dict[tuple[float, bytes], int] = {}
        self.first, _ = self.at(np.zeros(matrix.shape[0]))
        self.active = [self.first]

    def __deepcopy__(self, memo: dict[int, Any]) -> RowPool:
        """Return a pool with the same rows, valid for every copy; arrays are shared until one grows."""
        other = copy(self)
        other._known = dict(self._known)
        return other

    def at(self, scores: FloatArray) -> tuple[int, float]:
        """Return the position of the worst row at scores, and the risk."""
        row = self.worst(scores)
        return self.add(row), max(0.0, self.scale * (row.side - float(row.coefficients.astype(float) @ scores)))

    def add(self, row: RiskRow) -> int:
        """Return the position of a row, after adding it if it is new."""
        key = (row.side, row.coefficients.tobytes())
        if key not in self._known:
            slopes = -self.scale * np.asarray(self.matrix.T @ row.coefficients.astype(float)).ravel()
            self._known[key] = len(self.q)
            self.P, self.q = np.vstack([self.P, slopes]), np.append(self.q, self.scale * row.side)
        return self._known[key]

    def scores(self, w: FloatArray, columns: Any = None) -> FloatArray:
        """Return X w for weights on all or some columns."""
        X = self.matrix if columns is None else self.matrix[:, columns]
        return np.asarray(X @ w, dtype=float).ravel()

    def nearest(self, points: list[FloatArray], used: list[int]) -> list[int]:
        """Return the rows nearest to the worst row at any of several weights."""
        P, q = self.P[used], self.q[used]
        values = np.array([q + P @ w for w in points])
        behind = (values.max(axis=1)[:, None] - values).min(axis=0)
        return [used[k] for k in np.argsort(behind, kind="stable")[:KEPT].tolist()]

    def near(self, w: FloatArray) -> None:
        """Set the rows of the next problem to those nearest to the worst row at w."""
        values = self.q + self.P @ w
        self.active = np.argsort(-values, kind="stable")[:KEPT].tolist()
