r"""Lower bounds of a linear cost over a master's rows and bounds, by weak duality: an LP solver only proposes.

For multipliers r (r+ on lower, r- on upper sides) of ``l <= A z <= u`` and d = c - A'r,

.. math:: c^\top z \ge l^\top r^+ - u^\top r^- + \sum_k \min_{z_k} d_k z_k

over all z within the bounds, whatever r is. Where one of some columns F, which are 0 or 1, must be 1, the right side is
min { d_j : j in F } larger if that is above 0. It also gains the multiplier of the row that says so,
sum over F of z_j >= 1. Where a variable has an infinite bound, r is moved until d_k has the right sign, and every term
is taken at its least within its rounding error, as in ``row_cut``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from solvers.facts.row_cut import dual_feasible, least_terms, reduced_costs, share_of
from solvers.lp.highs import HighsLP, LpStatus
from solvers.model.linear import LinearRows


class RowBound:
    """What a master's rows, bounds and costs imply alone; the first ``count`` columns are the 0/1 choices."""

    def __init__(self, master: LinearRows, count: int) -> None:
        self.master, self._count = master, count
        self._columns = np.arange(len(master.cost))
        self._lp: HighsLP | None = None
        if len(master.rows):
            one = sparse.csr_matrix(np.where(self._columns < count, 1.0, 0.0))
            self._lp = HighsLP(master.cost, master.x_lower, master.x_upper)
            self._lp.add_rows(
                sparse.vstack([master.matrix, one]), np.append(master.lower, -np.inf), np.append(master.upper, np.inf)
            )

    def least(
        self, lower: np.ndarray, upper: np.ndarray, among: np.ndarray, time_limit: float | None
    ) -> tuple[float, np.ndarray]:
        """Return a lower bound of the cost within bounds, and a point to branch at.

        ``among`` (count,), bool: one of these is 1, none where there is no such demand; all other choices are fixed by
        the bounds. Returns (inf, ``lower``) where nothing satisfies the rows.
        """
        if self._lp is None:
            bound = self._lagrangian(np.zeros(len(self.master.lower)), 0.0, 0.0, lower, upper, among)
            return bound, np.clip(0.0, lower, upper)
        least_ones = float(lower[: self._count].sum()) + 1.0 if among.any() else -np.inf
        self._lp.set_bounds(self._columns, lower, upper)
        self._lp.set_sides(np.array([len(self.master.rows)]), np.array([least_ones]), np.array([np.inf]))
        answer = self._lp.solve(time_limit)
        if answer.status is LpStatus.INFEASIBLE:
            return np.inf, lower
        if answer.status is LpStatus.OPTIMAL:
            multipliers, point = answer.multipliers, np.clip(answer.point, lower, upper)
        else:
            multipliers, point = np.zeros(len(self.master.rows) + 1), np.clip(0.0, lower, upper)
        ones = max(0.0, float(multipliers[-1])) if among.any() else 0.0
        return self._lagrangian(multipliers[:-1], ones, least_ones, lower, upper, among), point

    def _lagrangian(
        self,
        multipliers: np.ndarray,
        ones: float,
        least_ones: float,
        lower: np.ndarray,
        upper: np.ndarray,
        among: np.ndarray,
    ) -> float:
        """Return what multipliers of the rows, and ``ones`` of the sum of the choices, prove."""
        m = replace(self.master, x_lower=lower, x_upper=upper)
        r = dual_feasible(m, multipliers, np.flatnonzero(np.isinf(lower) | np.isinf(upper)))
        d, error = reduced_costs(m, r)
        if among.any():
            d[: self._count] -= ones
            error[: self._count] += share_of(m) * ones
        least, up, down = least_terms(np.zeros(len(d)), d, error, lower, upper), r > 0, r < 0
        terms = np.concatenate([[m.constant], r[up] * m.lower[up], r[down] * m.upper[down], least])
        if ones:
            terms = np.append(terms, ones * least_ones)
        if not np.isfinite(terms).all():
            return -np.inf
        bound = math.fsum(terms) - share_of(m) * float(np.abs(terms).sum())
        return bound + max(0.0, float((d - error)[: self._count][among].min())) if among.any() else bound
