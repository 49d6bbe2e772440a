r"""Two-layer cutting planes for a risk known by its worst row, over the few columns that a budget allows.

For ``min Omega(w) + C r(X w)``, Omega half the squared k-support norm with budget B (``k_support``), r the greatest of
many rows (``composite``):

    0. w = 0; take its worst row, and the group of the B columns that this row alone would choose.
    1. Solve (16) over the rows and groups so far (``group_problem``) -> multipliers alpha, shares mu, the point w of
       (15) in the columns in use.
    2. c = h X' sum_k alpha_k u_k over all columns; ``h s.alpha - 1/2 sum of the B largest c_j^2`` is a lower bound.
    3. The worst row at w gives the value at w, an upper bound; search the line from the best point to w for a better.
    4. Stop when the two bounds have met.
    5. Add the worst row at w, and the worst row a tenth of the way from the best point to w.
    6. Where the columns lag behind the rows, add the group of the B largest |c_j|.
    7. Drop rows and groups that were of no use for some rounds; go to 1.

Both bounds are taken from the data and hold for any alpha >= 0 with e'alpha <= C and any w, however inexact step 1 is:
the first is the Lagrangian dual at alpha, minimised over all w; the second the objective at w. Steps 1, 2 and 5-6 are
the two-layer cutting planes of Mao and Tsang 2013, algorithms 1 and 2; ``stabilised=False`` runs them as printed, rows
until they close the gap of the groups in use, then one group. The line search and the row past the best point are those
of Franc and Sonnenburg 2009, "Optimized cutting plane algorithm for large-scale risk minimization".

Convergence: each round adds the worst row at w or the worst group at alpha, and both are finite in number; nothing is
dropped once a gap has failed to fall for long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar

from solvers.composite import CompositeRisk, RiskRow
from solvers.driver import Config, Driver, is_closed
from solvers.errors import ModelError, OptionError
from solvers.group_problem import GroupAnswer, refined
from solvers.group_runner import GroupSolver
from solvers.k_support import half_conjugate, half_norm, largest
from solvers.result import SolutionStatus, StopReason

FloatArray = NDArray[np.float64]

AHEAD = 0.1  # of the way from the best point to the master's: where the second row is taken
LINE = 6  # rows that a line search may ask for
LAG = 0.3  # of the rows' lag: from here on the columns' lag calls for a group
IDLE = 3  # rounds
USELESS = 1e-7  # of the sum of the multipliers
TINY = (1e-2, 1e-3, 1e-4, 1e-5)  # of the largest weight
STALLED = 25  # rounds in which the gap has not fallen by a tenth


@dataclass
class TwoLayerConfig(Config):
    """Options of ``two-layer``, besides those of every driver; ``iteration_limit`` counts group problems.

    Attributes
    ----------
    stabilised : bool
        Line search, two rows a round, groups as soon as they lag; False runs the algorithms as printed.
    risk_tolerance : float, optional
        Stop also when objective and bound are within C times this much of the risk.
    sub_solver : str
        Of the group problems: ``clarabel`` directly on matrices, any other name on the Pyomo model (16).
    """

    stabilised: bool = True
    risk_tolerance: float | None = None
    sub_solver: str = "clarabel"

    def check(self) -> None:
        """Refuse options that mean nothing.

        Raises
        ------
        OptionError
        """
        if not isinstance(self.stabilised, bool):
            raise OptionError(f"stabilised={self.stabilised!r} is not allowed: give True or False.")
        r = self.risk_tolerance
        if r is not None and not (isinstance(r, int | float) and not isinstance(r, bool) and r > 0):
            raise OptionError(f"risk_tolerance={r!r} is not allowed: give a number above 0, or leave it out.")


@dataclass
class Point:
    """Weights of the columns in use, their scores X w, the worst row there, and the objective."""

    w: FloatArray
    scores: FloatArray
    row: RiskRow
    risk: float
    value: float


class TwoLayer(Driver):
    """Two-layer cutting planes."""

    name = "two-layer"
    title = "risks known by their worst row over few columns (two-layer cutting planes)"
    options_type = TwoLayerConfig
    asks = CompositeRisk
    config: TwoLayerConfig

    def prepare(self) -> None:
        """Read the facts; nothing of the size of the data is built but the columns of a sparse matrix."""
        self.config.check()
        facts = getattr(self.model, "structure", None)
        if not isinstance(facts, CompositeRisk):
            raise ModelError(
                f'"{self.name}" needs a model whose structure is a solvers.composite.CompositeRisk: solve the model '
                "without naming a solver."
            )
        if edits := facts.edits(self.model):
            raise ModelError(
                f'"{self.name}" asks an oracle that stands for the model as it was built. Here {edits[0]}. Edit a '
                "model that states its rows."
            )
        self.sign, self.facts = 1.0, facts
        self.budget, self.C = int(pyo.value(facts.budget)), float(pyo.value(facts.weight))
        self._group_solver = GroupSolver(self.config.sub_solver, facts.group_model, self.config)
        X = facts.matrix
        self.X = sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X)
        self.columns = np.empty(0, dtype=np.intp)  # in use, by their place in X
        self.XF = self.X[:, self.columns]
        self.rows: list[RiskRow] = []
        self.P, self.q = np.empty((0, 0)), np.empty(0)
        self.groups: list[NDArray[np.intp]] = []  # places in ``columns``
        self._row_idle, self._group_idle = np.empty(0, dtype=int), np.empty(0, dtype=int)
        self._patience, self._since, self._gap_then = IDLE, 0, np.inf

    def loop(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run, and keep the rows and groups of the last problem for the user."""
        try:
            return self._rounds()
        finally:
            groups = [np.asarray(t) for t in self.groups]
            self.details["working_set"] = {
                "columns": self.columns, "groups": groups, "P": self.P, "q": self.q, "C": self.C
            }  # fmt: skip
            del self.X  # may be as large as the data

    def _rounds(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run; the numbers are the steps of the algorithm box."""
        c = self.config
        self.here = self._point(np.zeros(0))  # 0
        self._offer(self.here)
        self._add_row(self.here.row)
        self._add_group(self._slopes(np.array([self.C])))
        for _ in self.trace.iterations(c.iteration_limit):
            if (stop := self.stopped()) is not None:
                return stop, None
            answer = self._timed("master", self._solve)  # 1
            if answer is None:
                if self.clock.over:
                    return StopReason.TIME_LIMIT, None
                self.message = f"{c.sub_solver} did not solve the group problem: the bounds stand as they were."
                return StopReason.SOLVER_ERROR, None
            slopes = self._timed("subproblem", lambda a=answer: self._slopes(a.alpha))  # type: ignore[misc] # 2
            theirs = float(self.q @ answer.alpha)
            bound = theirs - half_conjugate(slopes, self.budget)
            self.raise_bound(bound)
            point, ahead = self._timed("subproblem", lambda a=answer: self._search(a))  # type: ignore[misc] # 3
            self.record("cuts", point.value, cuts=len(self.rows), support=len(self.columns))
            if self._finished():  # 4
                self._tidied()
                return StopReason.CONVERGED, None
            restricted = theirs - max(half_conjugate(slopes[self.columns[t]], len(t)) for t in self.groups)
            self._drop(answer)  # 7
            lag, rows_lag = restricted - bound, point.value - restricted
            new = self._add_row(point.row)  # 5
            if c.stabilised:
                new = self._add_row(ahead) or new
            behind = lag > LAG * rows_lag if c.stabilised else rows_lag <= 0.5 * c.gap * abs(point.value)
            if behind or not new:  # 6
                new = self._add_group(slopes) or new
            if not new and not self._refined(answer):
                self.message = f"{c.sub_solver} resolves the group problems no finer: the gap cannot be closed further."
            if not new:
                return StopReason.CONVERGED, None
        return StopReason.ITERATION_LIMIT, None

    # The steps.

    def _solve(self) -> GroupAnswer | None:
        return self._group_solver.solve(self.P, self.q, self.groups, self.C, self.clock.left)

    def _slopes(self, alpha: FloatArray) -> FloatArray:
        """Return c over all columns of X; the only step that touches all entries."""
        total = np.zeros(self.X.shape[0])
        for a, row in zip(alpha.tolist(), self.rows, strict=True):
            if a > 0:
                total += a * row.coefficients
        return np.asarray(self.X.T @ total) * self.facts.scale

    def _shares(self, answer: GroupAnswer) -> FloatArray:
        """Return d over the columns in use."""
        d = np.zeros(len(self.columns))
        for mu, t in zip(answer.shares.tolist(), self.groups, strict=True):
            d[t] += mu
        return d

    def _search(self, answer: GroupAnswer) -> tuple[Point, RiskRow]:
        """Return the master's point, and a row past the best one."""
        there = self._point(-self._shares(answer) * (answer.alpha @ self.P))
        between = self._line(self.here, there) if self.config.stabilised else []
        self.here = best = min((self.here, there, *between), key=lambda p: p.value)
        self._offer(best)
        if not self.config.stabilised:
            return there, there.row
        ahead = best.scores + AHEAD * (there.scores - best.scores)
        return there, self.facts.worst(ahead)

    def _line(self, start: Point, end: Point) -> list[Point]:
        """Return points between two, better and better: Omega as it is, the risk by the rows met so far."""
        step, along = end.w - start.w, end.scores - start.scores
        h, found = self.facts.scale, []
        lines = [(h * (r.side - _dot(r, start.scores)), -h * _dot(r, along)) for r in (start.row, end.row)]
        best = min(start.value, end.value)
        for _ in range(LINE):
            at, slope = (np.array(part) for part in zip(*lines, strict=True))

            def modelled(x: float, at: FloatArray = at, slope: FloatArray = slope) -> float:
                risk = max(0.0, float((at + x * slope).max()))
                return half_norm(start.w + x * step, self.budget)[0] + self.C * risk

            least = minimize_scalar(modelled, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
            x = float(least.x)
            here = self._at(start.w + x * step, start.scores + x * along)
            found.append(here)
            if here.value - least.fun <= 0.1 * (best - least.fun):
                break
            best = min(best, here.value)
            lines.append((h * (here.row.side - _dot(here.row, start.scores)), -h * _dot(here.row, along)))
        return found

    def _refined(self, answer: GroupAnswer) -> bool:
        """Solve for w alone, where rows and groups are complete and inexact shares keep the gap open."""
        w = refined(self.P, self.q, self._shares(answer), self.C, self.clock.left)
        point = self._point(w)
        self.here = min((self.here, point), key=lambda p: p.value)
        self._offer(self.here)
        self.record("refine", point.value, cuts=len(self.rows), support=len(self.columns))
        return self._finished()

    def _tidied(self) -> None:
        """Leave out columns with next to no weight, which an early end leaves, where the gap allows it."""
        size = np.abs(self.here.w)
        for least in TINY:
            few = np.where(size > least * size.max(initial=0.0), self.here.w, 0.0)
            if np.count_nonzero(few) == np.count_nonzero(size):
                continue
            point = self._point(few)
            if is_closed(point.value, self.bound, self.config.gap):
                self.set_aside()
                self._offer(point)
                self.record("tidy", point.value, cuts=len(self.rows), support=len(self.columns))
                return

    def _finished(self) -> bool:
        if self.closed(self.config.gap):
            return True
        r = self.config.risk_tolerance
        if r is not None and self.best is not None and self.bound is not None and self.best - self.bound <= self.C * r:
            self.message = f"Stopped where objective and bound are within C times {r:g} of the risk, as asked."
            return True
        return False

    # Points.

    def _point(self, w: FloatArray) -> Point:
        return self._at(w, np.asarray(self.XF @ w, dtype=float) if len(w) else np.zeros(self.X.shape[0]))

    def _at(self, w: FloatArray, scores: FloatArray) -> Point:
        row = self.facts.worst(scores)
        risk = max(0.0, self.facts.scale * (row.side - _dot(row, scores)))
        return Point(w, scores, row, risk, half_norm(w, self.budget)[0] + self.C * risk)

    def _offer(self, point: Point) -> None:
        columns, facts = self.columns.copy(), self.facts
        used = np.flatnonzero(point.w)

        def load() -> None:
            facts.load(columns[used], point.w[used], half_norm(point.w, self.budget)[1][used], point.risk)

        self.offer(point.value, [], load)

    # Rows and groups.

    def _add_row(self, row: RiskRow) -> bool:
        """Add a row, unless it is there."""
        if any(row.side == r.side and np.array_equal(row.coefficients, r.coefficients) for r in self.rows):
            return False
        h = self.facts.scale
        slope = -h * np.asarray(self.XF.T @ row.coefficients.astype(float))
        self.rows.append(row)
        self.P = np.vstack([self.P, slope[None]]) if len(self.columns) else np.empty((len(self.rows), 0))
        self.q = np.append(self.q, h * row.side)
        self._row_idle = np.append(self._row_idle, 0)
        return True

    def _add_group(self, slopes: FloatArray) -> bool:
        """Add the group that the slopes choose, unless it is there."""
        wanted = largest(slopes, self.budget)
        new = np.setdiff1d(wanted, self.columns)
        if len(new):
            part = self.X[:, new]
            slopes_of_rows = [part.T @ r.coefficients.astype(float) for r in self.rows]
            self.P = np.hstack([self.P, -self.facts.scale * np.asarray(slopes_of_rows)])
            self.columns = np.concatenate([self.columns, new])
            self.XF = sparse.hstack([self.XF, part], format="csc") if sparse.issparse(part) else self.X[:, self.columns]
            self.here.w = np.concatenate([self.here.w, np.zeros(len(new))])
        order = np.argsort(self.columns)
        group = np.sort(order[np.searchsorted(self.columns, wanted, sorter=order)])
        if any(np.array_equal(group, t) for t in self.groups):
            return False
        self.groups.append(group)
        self._group_idle = np.append(self._group_idle, 0)
        return True

    def _drop(self, answer: GroupAnswer) -> None:
        """Drop what has had no weight for some rounds; with patience that grows where the gap does not fall."""
        gap = np.inf if self.bound is None or self.best is None else self.best - self.bound
        self._since += 1
        if gap < 0.9 * self._gap_then:
            self._since, self._gap_then = 0, gap
        elif self._since >= STALLED:
            self._since, self._patience = 0, 2 * self._patience
        used = answer.alpha > USELESS * self.C
        self._row_idle = np.where(used, 0, self._row_idle + 1)
        keep = self._row_idle < self._patience
        if not keep.all():
            self.rows = [r for r, kept in zip(self.rows, keep.tolist(), strict=True) if kept]
            self.P, self.q, self._row_idle = self.P[keep], self.q[keep], self._row_idle[keep]
        self._group_idle = np.where(answer.shares > USELESS, 0, self._group_idle + 1)
        keep = self._group_idle < self._patience
        if not keep.all():
            self.groups = [t for t, kept in zip(self.groups, keep.tolist(), strict=True) if kept]
            self._group_idle = self._group_idle[keep]


def _dot(row: RiskRow, scores: FloatArray) -> float:
    return float(row.coefficients.astype(float) @ scores)
