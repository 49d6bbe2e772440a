r"""Continuous relaxation of a model with convex quadratic and conic blocks, solved as one cone program.

    min cost.x + 1/2 y'Py + c.y   s.t.  A y + B x + s = b, s in K,  rows of the master on x,  x in [lower, upper]

in the notation of ``block_cones``. With multipliers z of the cone rows and p of the master's rows, the cut of z is
a + g.x <= q(x) for every x, and

    min { cost.x + q(x) } >= a + p+ . row_lower - p- . row_upper + sum_k min { d_k x_k : x_k in [lower, upper] },

d = cost + g - M'p: weak duality again (``row_cut.lagrangian_bound``), so that the bound is valid for inexact
multipliers. If the solver reports
infeasibility, the same formula without the costs proves it by a positive value; otherwise no result is returned.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scipy import sparse

from solvers.clarabel.engine import Engine, settings_of
from solvers.clarabel.program import StandardForm
from solvers.drivers.benders.block_cones import BlockCones
from solvers.facts.row_cut import lagrangian_bound
from solvers.facts.structure import Cut, RelaxedAnswer
from solvers.model.linear import LinearRows

SHARE = 0.1  # of the requested accuracy, for the gap of the solver
SMALLEST = 1e-8  # gap of the solver
PROVEN = 1e-7  # value of the certificate of infeasibility, relative to its terms, that counts as positive


class ConeRelaxation:
    """A ``Relaxation`` of blocks as cones."""

    def __init__(self, cones: BlockCones) -> None:
        self._cones = cones
        n = len(cones.cost)
        nothing = sparse.csr_array((n, n))
        self._upper = sparse.triu(cones.quadratic, format="csr")
        self._no_cost = replace(cones, quadratic=nothing, cost=np.zeros(n), constants=np.zeros(cones.count))

    def __call__(
        self,
        master: LinearRows,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Solve within bounds of the master's variables; return None if the solver does not decide."""
        cones = self._cones
        if cones.contradiction:
            return None
        free, own = np.flatnonzero(lower < upper), len(cones.side)
        form, signs = self._form(master, lower, upper, free)
        settings, _ = settings_of({"threads": 1, "gap": max(SHARE * accuracy, SMALLEST)})
        deadline = time.perf_counter() + (np.inf if time_limit is None else time_limit)
        ending = Engine().run(form, settings, deadline)
        if ending.status in ("MaxTime", "Unbounded") or not ending.finite:
            return None
        point = lower.copy()
        point[free] = np.clip(ending.x[: len(free)], lower[free], upper[free])
        multipliers = np.zeros(len(master.lower))
        rows, sign = signs
        np.add.at(multipliers, rows, sign * ending.z[own : own + len(rows)])
        within = replace(master, x_lower=lower, x_upper=upper)
        if ending.status == "PrimalInfeasible":
            cut = self._no_cost.cuts(np.zeros(len(cones.cost)), ending.z[:own]).total()
            free_of_cost = replace(within, cost=np.zeros(len(lower)), constant=0.0)
            bound, d, _ = lagrangian_bound(_with_cut(free_of_cost, cut), multipliers)
            size = 1.0 + float(np.abs(ending.z[:own]) @ np.abs(cones.side))
            return RelaxedAnswer(np.inf, point, d, cut) if bound > PROVEN * size else None
        cut = cones.cuts(ending.x[len(free) :], ending.z[:own]).total()
        bound, d, _ = lagrangian_bound(_with_cut(within, cut), multipliers)
        return RelaxedAnswer(bound, point, d, cut) if np.isfinite(bound) else None

    def _form(
        self, master: LinearRows, lower: np.ndarray, upper: np.ndarray, free: np.ndarray
    ) -> tuple[StandardForm, tuple[np.ndarray, np.ndarray]]:
        """Return the cone program over the free columns of the master and those of the blocks.

        The second value has the row of the master, and the sign of its multiplier, for each row after the cone rows.
        """
        cones, n = self._cones, self._cones.coupling.shape[1]
        x, size = np.where(lower < upper, 0.0, lower), len(free)
        wide = sparse.csr_array(
            (np.ones(size), (free, np.arange(size))), shape=(len(lower), size)
        )  # master columns -> free ones
        matrix, held = sparse.csr_array(master.matrix), master.matrix @ x
        low, up = master.lower - held, master.upper - held
        equal = np.isfinite(low) & (low == up)
        parts = [np.flatnonzero(equal), np.flatnonzero(np.isfinite(up) & ~equal)]
        parts.append(np.flatnonzero(np.isfinite(low) & ~equal))
        rows = np.concatenate(parts)
        flip = np.repeat([1.0, 1.0, -1.0], [len(part) for part in parts])
        side = np.concatenate([up[parts[0]], up[parts[1]], -low[parts[2]]])
        unit = sparse.eye_array(size, format="csr")
        has_up, has_low = np.isfinite(upper[free]), np.isfinite(lower[free])
        of_x = sparse.vstack(
            [cones.coupling @ wide[:n], (matrix[rows] @ wide).multiply(flip[:, None]), unit[has_up], -unit[has_low]]
        )
        count = len(side) - len(parts[0]) + int(has_up.sum() + has_low.sum())
        blank = sparse.csr_array((of_x.shape[0] - len(cones.side), len(cones.cost)))
        form = StandardForm()
        form.P = sparse.csc_matrix(sparse.block_diag([sparse.csr_array((size, size)), self._upper], format="csc"))
        form.q = np.concatenate([master.cost[free], cones.cost])
        form.A = sparse.csc_matrix(sparse.hstack([of_x, sparse.vstack([cones.matrix, blank])]))
        form.b = np.concatenate([cones.side - cones.coupling @ x[:n], side, upper[free][has_up], -lower[free][has_low]])
        last = [("zero", len(parts[0])), ("nonnegative", count)]
        form.cones = [*cones.cones, *(cone for cone in last if cone[1])]
        return form, (rows, -flip)


def _with_cut(rows: LinearRows, cut: Cut) -> LinearRows:
    """Return the rows with the cut, on the first columns, added to the objective."""
    cost = rows.cost.copy()
    cost[: len(cut.coefficients)] += cut.coefficients
    return replace(rows, cost=cost, constant=rows.constant + cut.constant)
