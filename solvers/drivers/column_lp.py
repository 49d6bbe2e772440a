"""The linear program of cutting planes: over columns that the model's variables are sums of, with rows that join it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from solvers.drivers.convex_parts import ConvexParts
from solvers.facts.separable import Cuts
from solvers.interfaces.runner import SolveOptions
from solvers.lp.highs import FINEST, LpAnswer
from solvers.lp.pyomo import linear_program
from solvers.options import SolverObject


class ColumnLP:
    """The linear rows and bounds of x = lift z over columns z; one more column is eta where the objective is curved.

    ``parts``: ConvexParts. ``lift``: sparse array of shape (variables, columns). ``lower``: their least values.
    """

    def __init__(
        self,
        parts: ConvexParts,
        lift: sparse.csr_array,
        lower: np.ndarray,
        *,
        lp_solver: str | SolverObject,
        words: SolveOptions,
    ) -> None:
        rows, objective, columns = parts.linear, parts.objective, lift.shape[1]
        self.lift, self.own = lift, columns  # columns without eta
        self.columns = columns + bool(len(objective.curved))
        eta = np.ones(self.columns - columns)
        self.lower, self.upper = np.concatenate([lower, -np.inf * eta]), np.full(self.columns, np.inf)
        alone = []  # variables whose bounds are those of a column are not among these
        for k in range(lift.shape[0]):
            here = slice(lift.indptr[k], lift.indptr[k + 1])
            if here.stop - here.start == 1 and lift.data[here.start] == 1.0:
                j = lift.indices[here.start]
                self.lower[j] = max(self.lower[j], rows.x_lower[k])
                self.upper[j] = min(self.upper[j], rows.x_upper[k])
            elif np.isfinite(rows.x_lower[k]) or np.isfinite(rows.x_upper[k]):
                alone.append(k)
        cost = np.concatenate([lift.T @ objective.linear, eta])
        self._lp = linear_program(lp_solver, cost, self.lower, self.upper, words=words, tolerance=FINEST)
        self.add(Cuts(rows.matrix @ lift, rows.lower, rows.upper))  # the first rows: their multipliers come first
        self.add(Cuts(lift[alone], rows.x_lower[alone], rows.x_upper[alone]))
        self.constant = objective.value(np.zeros(lift.shape[0])) if self.columns == columns else 0.0

    def x(self, point: np.ndarray) -> np.ndarray:
        """Return the variables at a point of the columns."""
        return np.asarray(self.lift @ point[: self.own])

    def add(self, cuts: Cuts) -> None:
        """Add rows over the columns, with or without eta's."""
        if cuts.matrix.shape[0]:
            wide = self.wide(cuts)
            self._lp.add_rows(sparse.csr_matrix(wide.matrix), wide.lower, wide.upper)

    def wide(self, cuts: Cuts) -> Cuts:
        """Return rows with a coefficient of 0 for eta, where they do not know it."""
        narrow = sparse.csr_array(cuts.matrix)
        matrix = sparse.csr_array((narrow.data, narrow.indices, narrow.indptr), (narrow.shape[0], self.columns))
        return Cuts(matrix, cuts.lower, cuts.upper, cuts.violation)

    def over_columns(self, tangents: Sequence[tuple[np.ndarray, float]], *, eta: bool = False) -> Cuts:
        """Return the rows a.x <= b, or a.x - eta <= b, of pairs (a, b)."""
        matrix: Any = sparse.csr_array(np.array([a for a, _ in tangents]) @ self.lift)
        if eta:
            matrix = sparse.hstack([matrix, sparse.csr_array(np.full((len(tangents), 1), -1.0))], format="csr")
        return self.wide(Cuts(matrix, np.full(len(tangents), -np.inf), np.array([b for _, b in tangents])))

    def solve(self, time_limit: float | None) -> LpAnswer:
        """Solve over all rows so far."""
        return self._lp.solve(time_limit)

    def solve_in_box(self, size: float, time_limit: float | None) -> LpAnswer:
        """Solve with bounds at ``size`` where there are none."""
        free = np.flatnonzero(np.isinf(self.lower) | np.isinf(self.upper))
        low = np.where(np.isinf(self.lower), np.minimum(-size, self.upper), self.lower)
        up = np.where(np.isinf(self.upper), np.maximum(size, self.lower), self.upper)
        self._lp.set_bounds(free, low[free], up[free])
        try:
            return self._lp.solve(time_limit)
        finally:
            self._lp.set_bounds(free, self.lower[free], self.upper[free])
