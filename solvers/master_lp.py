"""The relaxed master as a linear program over arrays, for tree search and cut loops.

Columns are the master's variables, the complicating ones first, then ``eta``, which is scaled to order 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from solvers.decomposition import Split
from solvers.linear_rows import LinearRows
from solvers.lp import HighsLP, LpStatus
from solvers.structure import SubAnswer

INTEGRAL = 1e-6
ROWS = 1e-9


@dataclass(frozen=True)
class Relaxed:
    """An optimum of the relaxed master: its value, the master's variables, eta, and their reduced costs."""

    bound: float
    point: np.ndarray
    eta: float
    reduced_costs: np.ndarray


class MasterLP:
    """min cost.z + eta over the user's rows, the cuts, and bounds that the search moves."""

    def __init__(self, parts: Split, floor: float | None, *, seed: int = 0) -> None:
        rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign)
        self.variables = parts.master_variables
        self.n = len(parts.structure.complicating)
        self.size = len(self.variables)
        self.integer = np.array([not v.is_continuous() for v in self.variables])
        lower, upper = rows.x_lower, rows.x_upper
        self.lower = np.where(self.integer, np.ceil(lower - INTEGRAL), lower)
        self.upper = np.where(self.integer, np.floor(upper + INTEGRAL), upper)
        self.cost, self.constant = rows.cost, rows.constant
        self._rows = rows
        self._floor, self._seed = floor, seed
        self._binary = bool(np.all(self.integer[: self.n] & (self.lower[: self.n] >= 0) & (self.upper[: self.n] <= 1)))
        self._fixed_rows = len(rows.rows)
        self.added = 0
        self._cut_rows = np.empty((0, self.size))  # of the cuts in the LP, in its units
        self._cut_sides = np.empty(0)
        self._cut_etas = np.empty(0)
        self._unclipped: list[SubAnswer] = []
        self._lp: HighsLP | None = None
        self._scale = 1.0
        self._bounded = floor is not None  # before the first optimality cut nothing may hold eta
        self._activity = np.abs(rows.matrix) @ np.ones(self.size) if len(rows.rows) else np.zeros(0)

    def start(self, scale: float) -> None:
        """Build the LP with ``eta`` in units of ``scale``."""
        self._scale = max(abs(scale), 1e-6)
        self._cut_rows, self._cut_sides, self._cut_etas = np.empty((0, self.size)), np.empty(0), np.empty(0)
        self._bounded = self._floor is not None
        floor, ceiling = (0.0, 0.0) if self._floor is None else (self._floor / self._scale, np.inf)
        self._lp = HighsLP(
            np.append(self.cost / self._scale, 1.0),
            np.append(self.lower, floor),
            np.append(self.upper, ceiling),
            seed=self._seed,
        )
        if self._fixed_rows:
            matrix = sparse.hstack([self._rows.matrix, sparse.csr_matrix((self._fixed_rows, 1))])
            self._lp.add_rows(matrix, self._rows.lower, self._rows.upper)

    def first_point(self) -> np.ndarray | None:
        """Return a point of the relaxation in the middle between two vertices; None where the rows have none."""
        lp = HighsLP(self.cost, self.lower, self.upper, seed=self._seed)
        if self._fixed_rows:
            lp.add_rows(self._rows.matrix, self._rows.lower, self._rows.upper)
        ends = []
        for direction in (np.ones(self.size), -np.ones(self.size)):
            lp.set_cost(direction)
            answer = lp.solve()
            if answer.status is LpStatus.OPTIMAL:
                ends.append(answer.point)
        return np.mean(ends, axis=0) if ends else None

    def add(self, answer: SubAnswer, *, everywhere: bool = False) -> None:
        """Add the optimality cut of an answer, or its feasibility cut where it has no value.

        ``everywhere`` keeps it valid at fractional points too, where the relaxation itself is to be solved.
        """
        assert answer.cut is not None
        assert self._lp is not None
        cut = answer.cut
        if everywhere:
            self._unclipped.append(answer)
        elif self._binary and self._floor is not None and answer.value is not None:
            cut = cut.clipped(self._floor)
        cut = cut.without_tiny(self.lower[: self.n], self.upper[: self.n])
        eta = 0.0 if answer.value is None else 1.0
        if eta and not self._bounded:
            self._bounded = True
            self._lp.set_bounds(np.array([self.size]), np.array([-np.inf]), np.array([np.inf]))
        scale = self._scale if eta else max(1.0, float(np.abs(cut.coefficients).max(initial=0.0)))
        row = np.concatenate([-cut.coefficients / scale, np.zeros(self.size - self.n), [eta]])
        self._lp.add_rows(row[None], np.array([cut.constant / scale]), np.array([np.inf]))
        self._cut_rows = np.vstack([self._cut_rows, row[None, :-1]])
        self._cut_sides = np.append(self._cut_sides, cut.constant / scale)
        self._cut_etas = np.append(self._cut_etas, eta)
        self.added += 1

    def clip_cuts(self) -> None:
        """Replace the cuts that hold everywhere by those that hold at 0/1 points, which are never weaker.

        The LP is built anew in units of the largest constant: at fractional points of badly scaled data the value may
        be 1e-9 of what it is at 0/1 points.
        """
        if self._lp is None or not self._unclipped:
            return
        answers, self._unclipped, added = self._unclipped, [], self.added
        self.start(
            max((abs(a.cut.constant) for a in answers if a.cut is not None and a.value is not None), default=1.0)
        )
        for answer in answers:
            self.add(answer)
        self.added = added

    @property
    def rows(self) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
        """The user's rows as matrix, lower and upper sides."""
        return self._rows.matrix, self._rows.lower, self._rows.upper

    @property
    def started(self) -> bool:
        """Whether the LP exists."""
        return self._lp is not None

    @property
    def cuts(self) -> int:
        """Number of cuts in the LP now."""
        return 0 if self._lp is None else self._lp.rows - self._fixed_rows

    def drop_slack_cuts(self, keep_last: int = 0) -> None:
        """Delete cuts that were slack at the last optimum, except the newest."""
        assert self._lp is not None
        slack = np.flatnonzero(self._lp.slack_rows())
        slack = slack[(slack >= self._fixed_rows) & (slack < self._lp.rows - keep_last)]
        self._lp.delete_rows(slack)
        kept = np.setdiff1d(np.arange(len(self._cut_sides)), slack - self._fixed_rows)
        self._cut_rows, self._cut_sides, self._cut_etas = (
            held[kept] for held in (self._cut_rows, self._cut_sides, self._cut_etas)
        )

    def solve(self, lower: np.ndarray, upper: np.ndarray, time_limit: float | None) -> Relaxed | LpStatus:
        """Solve with these bounds on the master's variables; a status where there is no optimum."""
        assert self._lp is not None
        self._lp.set_bounds(np.arange(self.size), lower, upper)
        answer = self._lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        eta = answer.point[-1] * self._scale if self._bounded else -np.inf
        bound, reduced_costs = self._proven(answer.multipliers, lower, upper)
        return Relaxed(bound, np.clip(answer.point[:-1], lower, upper), eta, reduced_costs)

    def _proven(self, multipliers: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the Lagrangian bound of the LP's multipliers, and the reduced costs that go with it.

        Weak duality holds for any multipliers of the right sign, so this bound is right however inaccurate the LP is;
        its own objective is not: with coefficients of 1e9 it was 0.14 where the optimum is 5e-6. Multipliers of
        optimality cuts sum to 1 at most (eta's column), to 1 exactly where eta has no floor.
        """
        rows, fixed = self._rows, self._fixed_rows
        y = multipliers[:fixed]
        y = np.where(np.isfinite(rows.lower), y, np.minimum(y, 0.0))
        y = np.where(np.isfinite(rows.upper), y, np.maximum(y, 0.0))
        cuts = np.maximum(multipliers[fixed:], 0.0)
        share = float(cuts @ self._cut_etas)
        if share > 1.0 or (self._floor is None and share > 0.0):
            cuts = np.where(self._cut_etas > 0, cuts / share, cuts)
            share = 1.0
        if not self._bounded or (self._floor is None and share == 0.0):
            return -np.inf, np.zeros(self.size)
        d = self.cost / self._scale - rows.matrix.T @ y - cuts @ self._cut_rows
        up, down = y > 0, y < 0
        bound = float(y[up] @ rows.lower[up] + y[down] @ rows.upper[down] + cuts @ self._cut_sides)
        bound += (1.0 - share) * (self._floor or 0.0) / self._scale
        side = np.where(d > 0, lower, upper)
        at = np.where(
            np.isfinite(side), d * np.where(np.isfinite(side), side, 0.0), np.where(np.abs(d) > ROWS, -np.inf, 0.0)
        )
        return (bound + float(at.sum())) * self._scale + self.constant, d * self._scale

    def value(self, point: np.ndarray) -> float:
        """Return the master's own cost at a point of its variables."""
        return float(self.cost @ point) + self.constant

    def fractional(self, point: np.ndarray) -> np.ndarray:
        """Return the positions of integer variables that are not integral."""
        return np.flatnonzero(self.integer & (np.abs(point - np.round(point)) > INTEGRAL))

    def satisfies(self, point: np.ndarray) -> bool:
        """Tell whether a point meets the user's rows, the bounds and integrality."""
        return not len(self.fractional(point)) and self.within(point)

    def within(self, point: np.ndarray) -> bool:
        """Tell whether a point, fractional or not, meets the user's rows and the bounds."""
        rows = self._rows
        if np.any(point < self.lower - ROWS) or np.any(point > self.upper + ROWS):
            return False
        if not self._fixed_rows:
            return True
        activity, slack = rows.matrix @ point, ROWS * (1.0 + self._activity)
        return bool(np.all(activity >= rows.lower - slack) and np.all(activity <= rows.upper + slack))

    def complete(self, choice: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        """Return master variables whose complicating part is ``choice`` and that meet the rows; None if none found."""
        if self.size == self.n:
            return choice if self.satisfies(choice) else None
        if np.any(choice < self.lower[: self.n] - ROWS) or np.any(choice > self.upper[: self.n] + ROWS):
            return None
        lower, upper = self.lower.copy(), self.upper.copy()
        lower[: self.n] = upper[: self.n] = choice
        answer = self.solve(lower, upper, time_limit)
        if isinstance(answer, LpStatus):
            return None
        point = np.where(self.integer, np.round(answer.point), answer.point)
        return point if self.satisfies(point) else None

    def greedy(self, order: np.ndarray) -> np.ndarray:
        """Return a 0/1 choice: complicating binaries switched on in this order while no row's upper side breaks."""
        rows = self._rows
        choice = np.clip(np.zeros(self.n), self.lower[: self.n], self.upper[: self.n])
        if not self._fixed_rows or self.size > self.n:
            choice[order] = self.upper[: self.n][order]
            return choice
        columns = rows.matrix.tocsc()
        activity = rows.matrix @ choice
        limit = rows.upper + ROWS * (1.0 + self._activity)
        for _ in range(2):  # the second time for those that another one had to precede
            for j in order:
                if choice[j] >= self.upper[j]:
                    continue
                where = slice(columns.indptr[j], columns.indptr[j + 1])
                touched, change = columns.indices[where], columns.data[where]
                if np.all(activity[touched] + change <= limit[touched]):
                    activity[touched] += change
                    choice[j] += 1.0
        return choice
