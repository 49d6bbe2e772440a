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


def lagrangian_bound(m: LinearRows, multipliers: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the bound that multipliers of the rows prove, the reduced costs d, and their rounding errors.

    The bound is -inf where the multipliers cannot be repaired. Shapes: (rows,) -> (), (variables,), (variables,).
    """
    r = dual_feasible(m, multipliers, np.flatnonzero(np.isinf(m.x_lower) | np.isinf(m.x_upper)))
    d, error = reduced_costs(m, r)
    least, up, down = least_terms(np.zeros(len(d)), d, error, m.x_lower, m.x_upper), r > 0, r < 0
    terms = np.concatenate([[m.constant], r[up] * m.lower[up], r[down] * m.upper[down], least])
    if not np.isfinite(terms).all():
        return -np.inf, d, error
    return math.fsum(terms) - share_of(m) * float(np.abs(terms).sum()), d, error


class RowBound:
    """What a master's rows, bounds and costs imply alone; the first ``count`` columns are the 0/1 choices."""

    def __init__(self, master: LinearRows, count: int) -> None:
        self.master, self._count = master, count
        self._columns = np.arange(len(master.cost))
        ones = sparse.csr_matrix(np.where(self._columns < count, 1.0, 0.0))
        self._program = replace(  # the last row is the sum of the choices
            master,
            matrix=sparse.vstack([master.matrix, ones], format="csr"),
            lower=np.append(master.lower, -np.inf),
            upper=np.append(master.upper, np.inf),
        )
        self._lp: HighsLP | None = None
        if len(master.rows):
            self._lp = HighsLP(master.cost, master.x_lower, master.x_upper)
            self._lp.add_rows(self._program.matrix, self._program.lower, self._program.upper)

    def least(
        self, lower: np.ndarray, upper: np.ndarray, among: np.ndarray, time_limit: float | None
    ) -> tuple[float, np.ndarray]:
        """Return a lower bound of the cost within bounds, and a point to branch at.

        ``among`` (count,), bool: one of these is 1, none where there is no such demand; all other choices are fixed by
        the bounds. Returns (inf, ``lower``) where nothing satisfies the rows.
        """
        sides, last = self._program.lower.copy(), len(self.master.rows)
        sides[last] = float(lower[: self._count].sum()) + 1.0 if among.any() else -np.inf
        multipliers, point = np.zeros(len(sides)), np.clip(0.0, lower, upper)
        if self._lp is not None:
            self._lp.set_bounds(self._columns, lower, upper)
            self._lp.set_sides(np.array([last]), sides[last:], np.array([np.inf]))
            answer = self._lp.solve(time_limit)
            if answer.status is LpStatus.INFEASIBLE:
                return np.inf, lower
            if answer.status is LpStatus.OPTIMAL:
                multipliers, point = answer.multipliers, np.clip(answer.point, lower, upper)
        program = replace(self._program, lower=sides, x_lower=lower, x_upper=upper)
        bound, d, error = lagrangian_bound(program, multipliers)
        if among.any():
            bound += max(0.0, float((d - error)[: self._count][among].min()))
        return bound, point
