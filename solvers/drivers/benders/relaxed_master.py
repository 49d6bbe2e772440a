r"""The master's continuous relaxation with block cuts, solved by in-out separation before any integer master is.

    min { c.z + sum_g eta_g : the master's rows, eta_g >= every cut of group g },  z = (x, u)

    a. z-in: a point inside the rows and bounds (the largest slack that they all can have), and cuts there.
    b. Solve the linear program -> z-out; its bound, by weak duality from its multipliers.
    c. Ask half-way between z-in and z-out. What is better there than at z-in becomes z-in.
    d. Add the cuts that z-out violates there. None, and not at z-out itself: solved. Else back to b.

At z-out, a vertex, a subproblem has many optimal multipliers, and what a solver returns makes cuts that touch and say
little: facility location needs hundreds of them, and interior-point solvers' are worse. Inside the domain optimal
multipliers are few and the cuts facets, or close to them (Magnanti and Wong 1981, whose core point z-in is; Ben-Ameur
and Neto 2007; Fischetti, Ljubic and Sinnl 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from solvers.drivers.benders.block_rows import BlockCuts
from solvers.drivers.benders.split import SplitModel
from solvers.facts.row_bound import lagrangian_bound
from solvers.facts.structure import Cut
from solvers.lp.highs import FINEST, HighsLP, LpAnswer, LpStatus
from solvers.model.linear import LinearRows

FAR = 100.0  # the most slack that counts, of rows and bounds without another side


@dataclass(frozen=True)
class RelaxedOptimum:
    """An optimum of the relaxed master: z, the groups' eta, and a proven bound."""

    point: np.ndarray
    eta: np.ndarray
    bound: float


class RelaxedMaster:
    """The linear program, over the master's variables (complicating ones first) and one eta a group."""

    def __init__(self, parts: SplitModel, groups: int, seed: int) -> None:
        self.rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign).scaled()
        self.size, self.n, self.groups = len(parts.master_variables), len(parts.structure.complicating), groups
        rows = self.rows
        free = np.full(groups, np.inf)
        self._lower, self._upper = np.concatenate([rows.x_lower, -free]), np.concatenate([rows.x_upper, free])
        self._cost = np.concatenate([rows.cost, np.ones(groups)])
        self._lp = HighsLP(self._cost, self._lower, self._upper, seed=seed, tolerance=FINEST)
        wide = sparse.hstack([rows.matrix, sparse.csr_array((len(rows.rows), groups))], format="csr")
        self._lp.add_rows(wide, rows.lower, rows.upper)
        self._solved = False
        self._matrix, self._sides, self._etas = [wide], [np.empty(0)], [np.empty(0, dtype=int)]

    def inside(self, time_limit: float | None = None) -> np.ndarray | None:
        """Return a point of the rows and bounds with the largest slack to all of them; None where none was found."""
        rows, size = self.rows, self.size
        norm = np.sqrt(np.asarray((rows.matrix.multiply(rows.matrix)).sum(axis=1)).ravel())
        equal = rows.lower == rows.upper
        lower_norm = np.where(equal, 0.0, -norm)
        lp = HighsLP(
            np.append(np.zeros(size), -1.0),
            np.append(np.full(size, -np.inf), 0.0),
            np.append(np.full(size, np.inf), FAR),
        )
        infinite = np.full(len(norm), np.inf)
        matrix = sparse.csr_array(rows.matrix)
        below = sparse.hstack([matrix, sparse.csr_array(lower_norm[:, None])])
        above = sparse.hstack([matrix, sparse.csr_array(-lower_norm[:, None])])
        lp.add_rows(below, rows.lower, infinite)
        lp.add_rows(above, -infinite, rows.upper)
        apart = np.where(rows.x_lower == rows.x_upper, 0.0, 1.0)
        # A share of the room between two bounds, so that wide boxes do not crowd out narrow ones.
        room = rows.x_upper - rows.x_lower
        share = sparse.csr_array((apart * np.where(np.isfinite(room), np.minimum(room, 1.0), 1.0))[:, None])
        unit, far = sparse.eye_array(size, format="csr"), np.full(size, np.inf)
        lp.add_rows(sparse.hstack([unit, -share]), rows.x_lower, far)
        lp.add_rows(sparse.hstack([unit, share]), -far, rows.x_upper)
        answer = lp.solve(time_limit)
        return answer.point[:-1] if answer.status is LpStatus.OPTIMAL else None

    def add(self, cuts: BlockCuts, which: np.ndarray) -> None:
        """Add ``eta_g >= cut_g`` for the groups in ``which``."""
        if not len(which):
            return
        count = len(which)
        slopes = cuts.slopes[which]
        gap = sparse.csr_array((count, self.size - self.n))
        eta = sparse.csr_array((np.ones(count), (np.arange(count), which)), shape=(count, self.groups))
        self._enter(sparse.hstack([-slopes, gap, eta], format="csr"), cuts.constants[which], which)

    def add_feasibility(self, cut: Cut) -> None:
        """Add ``0 >= cut``."""
        row = np.concatenate([-cut.coefficients, np.zeros(self.size - self.n + self.groups)])
        self._enter(sparse.csr_array(row[None]), np.array([cut.constant]), np.array([-1]))

    def _enter(self, matrix: sparse.csr_array, sides: np.ndarray, etas: np.ndarray) -> None:
        self._lp.add_rows(matrix, sides, np.full(len(sides), np.inf))
        self._matrix.append(matrix)
        self._sides.append(sides)
        self._etas.append(etas)

    def solve(self, time_limit: float | None) -> RelaxedOptimum | LpStatus:
        """Solve; a status where there is no optimum."""
        answer = self._lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        self._solved = True
        point = np.clip(answer.point[: self.size], self.rows.x_lower, self.rows.x_upper)
        return RelaxedOptimum(point, answer.point[self.size :], self._proven(answer))

    def _proven(self, answer: LpAnswer) -> float:
        """Return the Lagrangian bound of the multipliers; those of a group's cuts sum to 1, eta's column."""
        rows, count = self.rows, len(self.rows.rows)
        self._matrix = [sparse.vstack(self._matrix, format="csr")]
        self._sides, self._etas = [np.concatenate(self._sides)], [np.concatenate(self._etas)]
        p, etas = answer.multipliers[:count], self._etas[0]
        cuts = np.maximum(answer.multipliers[count:], 0.0)
        on = etas >= 0
        share = np.bincount(etas[on], weights=cuts[on], minlength=self.groups)
        if np.any(share <= 0.0):
            return -np.inf
        cuts[on] /= share[etas[on]]
        lower = np.concatenate([rows.lower, self._sides[0]])
        upper = np.concatenate([rows.upper, np.full(len(cuts), np.inf)])
        matrix = self._matrix[0]
        program = LinearRows([], [], matrix, lower, upper, self._lower, self._upper, self._cost, rows.constant)
        return lagrangian_bound(program, np.concatenate([p, cuts]))[0]

    @property
    def cuts(self) -> int:
        """The number of cuts."""
        return self._lp.rows - len(self.rows.rows)

    def binding(self) -> np.ndarray:
        """Return for each cut, in the order in which they came, whether it binds at the last optimum."""
        if not self._solved:
            return np.ones(self.cuts, dtype=bool)
        return ~self._lp.slack_rows()[len(self.rows.rows) :]

    def cost_at(self, point: np.ndarray) -> float:
        """Return the master's own cost at a point."""
        return float(self.rows.cost @ point) + self.rows.constant
