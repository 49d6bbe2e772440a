"""The relaxed master as a linear program over arrays, for tree search and cut loops.

Columns are the master's variables, the complicating ones first, then ``eta``, which is scaled to order 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from solvers.clarabel.engine import nearest_point
from solvers.drivers.benders.split import SplitModel
from solvers.facts.structure import SubAnswer
from solvers.interfaces.runner import SolveOptions
from solvers.lp.highs import LpStatus
from solvers.lp.pyomo import LinearProgram, linear_program, require_lp_solver
from solvers.model.linear import LinearRows
from solvers.options import SolverObject

INTEGRAL = 1e-6  # distance from an integer that LP solvers cannot distinguish from 0
ROWS = 1e-9  # relative tolerance of rows
RESTORED, VIOLATED = 10, 1e-5  # number of dropped cuts that are restored together, and their least violation


@dataclass(frozen=True)
class MasterOptimum:
    """An optimum of the relaxed master: its value, the variables, eta, the reduced costs, and the bounds."""

    bound: float
    point: np.ndarray
    eta: float
    reduced_costs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass
class CutRows:
    """Rows ``coefficients . z + share eta >= side`` in the LP's units; share is 0 for feasibility cuts."""

    coefficients: np.ndarray
    sides: np.ndarray
    shares: np.ndarray

    @classmethod
    def none(cls, size: int) -> CutRows:
        """Return no cuts over ``size`` variables."""
        return cls(np.empty((0, size)), np.empty(0), np.empty(0))

    def __len__(self) -> int:
        return len(self.sides)

    def __getitem__(self, which: np.ndarray) -> CutRows:
        return CutRows(self.coefficients[which], self.sides[which], self.shares[which])

    def __add__(self, other: CutRows) -> CutRows:
        return CutRows(
            np.vstack([self.coefficients, other.coefficients]),
            np.append(self.sides, other.sides),
            np.append(self.shares, other.shares),
        )

    def violation(self, point: np.ndarray) -> np.ndarray:
        """Return the violations of the rows at a point, without the terms in eta."""
        return np.asarray(self.sides - self.coefficients @ point)


class MasterLP:
    """min cost.z + eta over the user's rows, the cuts, and bounds that the search changes.

    ``lp_solver``: "highs", or any solver that ``require_lp_solver`` accepts. ``options``: its options.
    """

    def __init__(
        self,
        parts: SplitModel,
        floor: float | None,
        *,
        options: SolveOptions | None = None,
        lp_solver: str | SolverObject = "highs",
    ) -> None:
        options = SolveOptions() if options is None else options
        require_lp_solver(lp_solver, options.own)
        parts.check_master()
        rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign).scaled()
        self.variables = parts.master_variables
        self.n = len(parts.structure.complicating)
        self.size = len(self.variables)
        self.integer = np.array([not v.is_continuous() for v in self.variables])
        lower, upper = rows.x_lower, rows.x_upper
        self.lower = np.where(self.integer, np.ceil(lower - INTEGRAL), lower)
        self.upper = np.where(self.integer, np.floor(upper + INTEGRAL), upper)
        self.cost, self.constant = rows.cost, rows.constant
        self.linear = rows  # the user's rows, costs and bounds
        self._floor, self._options, self._lp_solver = floor, options, lp_solver
        self._binary = bool(np.all(self.integer[: self.n] & (self.lower[: self.n] >= 0) & (self.upper[: self.n] <= 1)))
        self._fixed_rows = len(rows.rows)
        self.added = 0
        self._cuts = self._dropped = CutRows.none(self.size)
        self._unclipped: list[SubAnswer] = []
        self._lp: LinearProgram | None = None
        self._columns = np.arange(self.size)  # of the LP
        self._held = np.zeros(self.size)  # values of the other columns
        self._scale = 1.0
        self._objective_floor: float | None = None
        self._bounded = floor is not None  # eta may be unbounded before the first optimality cut
        self._sizes = abs(rows.matrix)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the user's model and the LP, which is built again there."""
        rows = replace(self.linear, rows=[None] * self._fixed_rows, variables=[])
        return self.__dict__ | {"variables": [], "linear": rows, "_unclipped": [], "_lp": None, "_was": self.started}

    def __setstate__(self, state: dict[str, Any]) -> None:
        started = state.pop("_was")
        self.__dict__ |= state
        if started:
            self._build(self._columns)

    def start(self, scale: float) -> None:
        """Build the LP with ``eta`` in units of ``scale``."""
        self._scale = max(abs(scale), 1e-6)
        self._cuts = self._dropped = CutRows.none(self.size)
        self._bounded = self._floor is not None
        self._build(np.arange(self.size))
        if self._objective_floor is not None:
            self.add_floor(self._objective_floor)

    @property
    def floored(self) -> bool:
        """Whether the objective has a lower bound."""
        return self._objective_floor is not None

    def add_floor(self, floor: float) -> None:
        """Add a lower bound of the objective."""
        self._objective_floor = floor
        if not self.started:
            self.start(floor)
            return
        self._free_eta()
        row = CutRows(self.cost[None] / self._scale, np.array([(floor - self.constant) / self._scale]), np.ones(1))
        self._add_rows(row)
        self._cuts = self._cuts + row

    def _free_eta(self) -> None:
        if not self._bounded:
            assert self._lp is not None
            self._bounded = True
            self._lp.set_bounds(np.array([len(self._columns)]), np.array([-np.inf]), np.array([np.inf]))

    def _build(self, columns: np.ndarray) -> None:
        """Build the LP over some columns and ``eta``; the other columns are fixed and part of the sides."""
        self._columns = columns
        if self._floor is not None:
            floor, ceiling = self._floor / self._scale, np.inf
        else:
            floor, ceiling = (-np.inf, np.inf) if self._bounded else (0.0, 0.0)
        self._lp = linear_program(
            self._lp_solver,
            np.append(self.cost[columns] / self._scale, 1.0),
            np.append(self.lower[columns], floor),
            np.append(self.upper[columns], ceiling),
            options=self._options,
        )
        held = np.where(np.isin(np.arange(self.size), columns), 0.0, self.lower)
        rows = self.linear
        if self._fixed_rows:
            matrix = sparse.hstack([rows.matrix[:, columns], sparse.csr_matrix((self._fixed_rows, 1))])
            self._lp.add_rows(matrix, rows.lower - rows.matrix @ held, rows.upper - rows.matrix @ held)
        self._held = held
        if len(self._cuts):
            self._add_rows(self._cuts)

    def _add_rows(self, cuts: CutRows) -> None:
        assert self._lp is not None
        matrix = np.column_stack([cuts.coefficients[:, self._columns], cuts.shares])
        self._lp.add_rows(matrix, cuts.violation(self._held), np.full(len(cuts), np.inf))

    def drop_fixed(self) -> None:
        """Rebuild the LP without the fixed columns if these are at least half of it; they stay fixed from then on."""
        free = np.flatnonzero(self.lower < self.upper)
        if self._lp is not None and len(free) <= 0.5 * len(self._columns):
            self._build(free)

    def first_point(self) -> np.ndarray | None:
        """Return the point of the relaxation nearest to the middle of the bounds; None if it is infeasible."""
        lp = linear_program(self._lp_solver, np.zeros(self.size), self.lower, self.upper, options=self._options)
        if self._fixed_rows:
            lp.add_rows(self.linear.matrix, self.linear.lower, self.linear.upper)
        answer = lp.solve()
        if answer.status is LpStatus.INFEASIBLE:
            return None
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        middle = np.clip(0.0, self.lower, self.upper)
        middle[bounded] = 0.5 * (self.lower[bounded] + self.upper[bounded])
        nearest = nearest_point(middle, [], self.rows, (self.lower, self.upper))
        if nearest is not None:
            return nearest
        return answer.point if answer.status is LpStatus.OPTIMAL else middle

    def add(self, answer: SubAnswer, *, everywhere: bool = False) -> None:
        """Add the optimality cut of an answer, or its feasibility cut if it has no value.

        ``everywhere``: keep it valid at fractional points, to solve the relaxation.
        """
        assert answer.cut is not None
        assert self._lp is not None
        cut = answer.cut
        if everywhere:
            self._unclipped.append(answer)
        elif self._binary and self._floor is not None and answer.value is not None:
            cut = cut.clipped(self._floor)
        eta = 0.0 if answer.value is None else 1.0
        if eta:
            self._free_eta()
        scale = self._scale if eta else float(np.abs(cut.coefficients).max(initial=0.0)) or 1.0
        cut = cut.over(scale).without_tiny(self.lower[: self.n], self.upper[: self.n])
        row = np.concatenate([-cut.coefficients, np.zeros(self.size - self.n)])
        fresh = CutRows(row[None], np.array([cut.constant]), np.array([eta]))
        self._add_rows(fresh)
        self._cuts = self._cuts + fresh
        self.added += 1

    def clip_cuts(self) -> None:
        """Replace the cuts that are valid everywhere by cuts for 0/1 points, which are at least as strong.

        The LP is rebuilt in units of the largest constant: with badly scaled data the value at a fractional point may
        be 1e-9 of the value at a 0/1 point.
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
        return self.linear.matrix, self.linear.lower, self.linear.upper

    @property
    def started(self) -> bool:
        """Whether the LP exists."""
        return self._lp is not None

    @property
    def cuts(self) -> int:
        """The number of cuts in the LP."""
        return 0 if self._lp is None else self._lp.rows - self._fixed_rows

    def drop_slack_cuts(self, keep_last: int = 0) -> None:
        """Drop cuts that were slack at the last optimum, except the newest."""
        assert self._lp is not None
        slack = np.flatnonzero(self._lp.slack_rows())
        slack = slack[(slack >= self._fixed_rows) & (slack < self._lp.rows - keep_last)]
        self._lp.delete_rows(slack)
        out = slack - self._fixed_rows
        self._dropped = self._dropped + self._cuts[out]
        self._cuts = self._cuts[np.setdiff1d(np.arange(len(self._cuts)), out)]

    def restore_violated(self, relaxed: MasterOptimum) -> bool:
        """Restore the dropped cuts that an optimum violates most; return True if there were any."""
        if not len(self._dropped):
            return False
        violation = self._dropped.violation(relaxed.point) - self._dropped.shares * relaxed.eta / self._scale
        worst = np.argsort(-violation)[:RESTORED]
        worst = worst[violation[worst] > VIOLATED]
        if len(worst):
            back = self._dropped[worst]
            self._add_rows(back)
            self._cuts = self._cuts + back
            self._dropped = self._dropped[np.setdiff1d(np.arange(len(self._dropped)), worst)]
        return len(worst) > 0

    def solve(self, lower: np.ndarray, upper: np.ndarray, time_limit: float | None) -> MasterOptimum | LpStatus:
        """Solve with these bounds of the master's variables; return a status if there is no optimum."""
        assert self._lp is not None
        columns = self._columns
        self._lp.set_bounds(np.arange(len(columns)), lower[columns], upper[columns])
        answer = self._lp.solve(time_limit)
        if answer.status is not LpStatus.OPTIMAL:
            return answer.status
        eta = answer.point[-1] * self._scale if self._bounded else -np.inf
        bound, reduced_costs = self._proven(answer.multipliers, lower, upper)
        point = self._held.copy()
        point[columns] = answer.point[:-1]
        return MasterOptimum(bound, np.clip(point, lower, upper), eta, reduced_costs, lower.copy(), upper.copy())

    def _proven(self, multipliers: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the Lagrangian bound of the LP's multipliers, and its reduced costs.

        Weak duality holds for all multipliers of the right sign, so that this bound is valid for an inaccurate LP. The
        objective of the LP is no bound: with coefficients of 1e9 it was 0.14 for an optimum of 5e-6. The multipliers of
        optimality cuts sum to at most 1 (the column of eta), and to 1 if eta has no floor.
        """
        rows, fixed = self.linear, self._fixed_rows
        y = multipliers[:fixed]
        y = np.where(np.isfinite(rows.lower), y, np.minimum(y, 0.0))
        y = np.where(np.isfinite(rows.upper), y, np.maximum(y, 0.0))
        cuts = np.maximum(multipliers[fixed:], 0.0)
        share = float(cuts @ self._cuts.shares)
        if share > 1.0 or (self._floor is None and share > 0.0):
            cuts = np.where(self._cuts.shares > 0, cuts / share, cuts)
            share = 1.0
        if not self._bounded or (self._floor is None and share == 0.0):
            return -np.inf, np.zeros(self.size)
        d = self.cost / self._scale - rows.matrix.T @ y - cuts @ self._cuts.coefficients
        up, down = y > 0, y < 0
        bound = float(y[up] @ rows.lower[up] + y[down] @ rows.upper[down] + cuts @ self._cuts.sides)
        bound += (1.0 - share) * (self._floor or 0.0) / self._scale
        side = np.where(d > 0, lower, upper)
        at = np.where(
            np.isfinite(side), d * np.where(np.isfinite(side), side, 0.0), np.where(np.abs(d) > ROWS, -np.inf, 0.0)
        )
        return (bound + float(at.sum())) * self._scale + self.constant, d * self._scale

    def value(self, point: np.ndarray) -> float:
        """Return the cost of the master at a point, without eta."""
        return float(self.cost @ point) + self.constant

    def fractional(self, point: np.ndarray) -> np.ndarray:
        """Return the positions of integer variables that are not integral."""
        return np.flatnonzero(self.integer & (np.abs(point - np.round(point)) > INTEGRAL))

    def satisfies(self, point: np.ndarray) -> bool:
        """Return whether a point satisfies the user's rows, the bounds and integrality."""
        return not len(self.fractional(point)) and self.within(point)

    def within(self, point: np.ndarray, tolerance: float = ROWS) -> bool:
        """Return whether a point, fractional or not, satisfies the user's rows and the bounds."""
        rows = self.linear
        if np.any(point < self.lower - tolerance) or np.any(point > self.upper + tolerance):
            return False
        if not self._fixed_rows:
            return True
        # Relative to the terms at this point: a large coefficient of a variable at 0 does not widen the tolerance.
        activity, slack = rows.matrix @ point, tolerance * (1.0 + self._sizes @ np.abs(point))
        return bool(np.all(activity >= rows.lower - slack) and np.all(activity <= rows.upper + slack))

    def complete(self, choice: np.ndarray, time_limit: float | None) -> np.ndarray | None:
        """Return a feasible point of the master whose complicating part is ``choice``; None if none was found."""
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
        """Return a 0/1 choice: switch on complicating binaries in this order unless that violates an upper side."""
        rows = self.linear
        choice = np.clip(np.zeros(self.n), self.lower[: self.n], self.upper[: self.n])
        if not self._fixed_rows or self.size > self.n:
            upper = self.upper[: self.n]
            choice[order] = np.where(np.isfinite(upper), upper, choice + 1.0)[order]
            return choice
        columns = rows.matrix.tocsc()
        activity, size = rows.matrix @ choice, self._sizes @ np.abs(choice)
        for _ in range(2):  # again for those that another binary permits
            for j in order:
                if choice[j] >= self.upper[j]:
                    continue
                where = slice(columns.indptr[j], columns.indptr[j + 1])
                touched, change = columns.indices[where], columns.data[where]
                limit = rows.upper[touched] + ROWS * (1.0 + size[touched] + np.abs(change))
                if np.all(activity[touched] + change <= limit):
                    activity[touched] += change
                    size[touched] += np.abs(change)
                    choice[j] += 1.0
        return choice
