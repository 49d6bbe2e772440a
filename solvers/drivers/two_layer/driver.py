r"""Two-layer cutting planes for a risk known by its worst row, over the few columns that a budget allows.

The problem is ``min Omega(w) + C r(X w)``, with Omega half the squared k-support norm with budget B (``k_support``) and
r the maximum of many rows (``composite``). With rows on the shares d (``shares``) Omega is the minimum over D and the
rows; its conjugate, for D half the sum of the B largest c_j^2, is then a linear program, and each point includes its d.

    0. w = 0; take its worst row, and the B columns that this row alone would choose. With rows, start at a vertex.
    1. Solve the problem over the rows so far and the columns in use (``columns``) -> multipliers alpha, a
       point w.
    2. c = h X' sum_k alpha_k u_k over all columns; ``h s.alpha - 1/2 sum of the B largest c_j^2`` is a lower bound.
       Search the line from the best multipliers to these for a better one: c is linear in alpha.
    3. The worst row at w gives the value at w, an upper bound; search the line from the best point to w for a better.
    4. Stop when the two bounds have met.
    5. Add the worst rows at w and at the points of the search.
    6. Where the columns lag behind the rows, add those of the B largest |c_j|, or more if only the columns lag. With
       rows, add those of the vertex that is optimal for c.
    7. Drop rows and columns that were not used for some rounds; go to 1.

Both bounds come from the data and hold for any alpha >= 0 with e'alpha <= C and any w, however inexact step 1 is: the
first is the Lagrangian dual at alpha, minimised over all w; the second is the objective at w. Rows and columns are the
two layers of Mao and Tsang 2013, algorithms 1 and 2. ``stabilised=False`` runs these as printed: step 1 solves (16)
over groups of B columns (``shares``), rows are added until they close the gap of the groups, then one group.
Solving over all columns in use is solving over all their groups at once. The line search is that of Franc and
Sonnenburg 2009, "Optimized cutting plane algorithm for large-scale risk minimization". Their extra row past the best
point is left out, because it does not reduce the CPU time.

Convergence: each round adds the worst row at w or the worst group at alpha, and both are finite in number. After many
rounds without a smaller gap nothing is dropped any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo
import scipy

from solvers.drivers.base import Driver, End
from solvers.drivers.two_layer.columns import FloatArray, Polytope, Restricted, solve_shares
from solvers.drivers.two_layer.saddle_point import solve_restricted
from solvers.drivers.two_layer.shares import Budget, BudgetRows, GroupShares, search_line
from solvers.drivers.two_layer.working_set import WorkingSet
from solvers.errors import ModelError, OptionError
from solvers.facts.base import facts_of
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.options import Config
from solvers.result import SolutionStatus, StopReason, is_closed

NO_SOLVER = (
    "it solves its restricted problems itself. A model that states all rows can be solved by any conic solver, such as "
    "clarabel or scip"
)
LINE = 6  # rows that a line search may add
MANY = 4  # times the budget: columns added where only the columns lag
LAG = 0.3  # of the lag of the rows: from here on the lag of the columns calls for more of them
IDLE = 3  # rounds
NEGLIGIBLE = (1e-2, 1e-3, 1e-4, 1e-5)  # of the largest weight
FINE, COARSE = 1e-12, 1e-5  # accuracies of step 1, relative to C q_max
MANY_ROWS = 100  # of a conflict, examined one by one
STALLED = 100  # rounds in which the gap has not decreased by a tenth


@dataclass
class TwoLayerConfig(Config):
    """Options of ``two-layer`` in addition to those of every driver; ``iteration_limit`` counts group problems.

    Attributes
    ----------
    stabilised : bool
        Line search, columns as soon as they lag; False runs the algorithms as printed.
    risk_tolerance : float, optional
        Stop also when the difference of objective and bound is at most C times this value.
    """

    renamed: ClassVar[dict[str, str]] = dict.fromkeys(("sub_solver", "master_solver", "master_options"), NO_SOLVER)
    stabilised: bool = True
    risk_tolerance: float | None = None

    def check(self) -> None:
        """Check the options. Raises OptionError."""
        r = self.risk_tolerance
        if r is not None and not r > 0:
            raise OptionError(f"risk_tolerance={r!r} is not allowed: give a number above 0, or leave it out.")


@dataclass
class Evaluated:
    """Weights of the columns in use, their scores X w, the worst row there, the objective, and the shares.

    ``rest``: values of the other variables in rows on the shares, where there are such rows.
    """

    w: FloatArray
    scores: FloatArray
    row: RiskRow
    risk: float
    value: float
    d: FloatArray
    rest: FloatArray | None


@dataclass
class Dual:
    """Bound that multipliers prove, with the slopes c over all columns and the gain, the sum of the rows' constants."""

    slopes: FloatArray
    gain: float
    bound: float

    @property
    def at_best(self) -> float:
        """The bound of the best multiple t of the multipliers, t gain - t^2 cost; t < 1 if they are inexact."""
        cost, gain = self.gain - self.bound, max(0.0, self.gain)
        return self.bound if 2.0 * cost <= gain else gain**2 / (4.0 * cost)


class TwoLayer(Driver):
    """Two-layer cutting planes."""

    name = "two-layer"
    title = "risks known by their worst row over few columns (two-layer cutting planes)"
    options_type = TwoLayerConfig
    facts_type = CompositeRisk
    config: TwoLayerConfig
    here: Evaluated  # the best point

    def prepare(self) -> None:
        """Read the facts. Nothing as large as the data is built except the columns of a sparse matrix."""
        self.config.check()
        facts = facts_of(self.model)
        if not isinstance(facts, CompositeRisk):
            raise ModelError(
                f'"{self.name}" needs a model whose structure is a solvers.CompositeRisk: solve the model '
                "without naming a solver."
            )
        if edits := facts.edits(self.model):
            raise ModelError(
                f'"{self.name}" uses an oracle for the model as it was built. Here {edits[0]}: '
                f"{facts.remedy} to edit it."
            )
        self.sign, self.facts = 1.0, facts
        self.budget, self.C = int(pyo.value(facts.budget)), float(pyo.value(facts.weight))
        self._added = facts.restriction(self.model)
        self.shares = self._shares()
        self.work = WorkingSet(facts.matrix, facts.scale)
        self._patience, self._since, self._gap_then = IDLE, 0, np.inf
        self._d: FloatArray = np.zeros(0)
        self.proof = Dual(np.zeros(0), 0.0, -np.inf)

    def _shares(self) -> Budget:
        """Return the feasible set of the shares. Raises ModelError for rows on shares together with groups."""
        added, stabilised = self._added, self.config.stabilised
        if added is None:
            return Budget(self.budget) if stabilised else GroupShares(self.budget)
        if not stabilised:
            raise ModelError(
                "The algorithms as printed, stabilised=False, take no rows on the shares, and the model has "
                f"{added.first}: leave out stabilised, or {self.facts.remedy}."
            )
        return BudgetRows(self.budget, self.facts.matrix.shape[1], added.rows, added.shares, added.others)

    def loop(self) -> End:
        """Run the algorithm, and store the rows and columns of the last problem in the details."""
        try:
            return self._run()
        finally:
            work = self.work
            self.details["rows"] = list(work.rows)
            self.details["working_set"] = {
                "columns": work.columns, "P": work.P, "q": work.q, "C": self.C, "B": self.budget, "d": self._d,
                "groups": self.shares.groups, "restricted": isinstance(self.shares, BudgetRows),
            }  # fmt: skip
            del work.X, self.proof  # may be as large as the data

    def _bound_at_hand(self) -> float:
        return 0.0  # both parts are at least 0

    def _run(self) -> End:
        """Run the algorithm; the numbers in comments are its steps."""
        work = self.work
        if not self._began():  # 0
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        self._offer(self.here)
        work.add_rows([self.here.row])
        self._add_columns(work.slopes(np.array([self.C])), self.budget)
        fine = False
        for _ in self.rounds():
            with self.timing("master"):
                answer = self._solve(fine)  # 1
            if answer is None:
                return self._unsolved()
            with self.timing("subproblem"):
                dual = self._dual(answer.alpha)  # 2
                self.raise_bound(self.proof.bound)
                point, rows = self._search(answer)  # 3
            self.record("cuts", point.value, cuts=len(work.rows), support=len(work.columns))
            if self._finished():  # 4
                self._drop_negligible()
                return StopReason.CONVERGED, None
            new = self._grow(point, rows, dual)  # 5, 6
            if not new and fine:
                self._refine(answer)
                return StopReason.CONVERGED, None
            fine = not new
            if new:
                self._drop(answer)  # 7
        return self.stop, None

    def why_infeasible(self) -> str:
        """Describe an irreducible set of rows on the shares that have no common solution."""
        added = self._added
        assert added is not None
        needed = list(added.rows)

        def clash(rows: list[Any]) -> bool:
            columns = self.facts.matrix.shape[1]
            return BudgetRows(self.budget, columns, rows, added.shares, added.others).anchor() is None

        for row in added.rows[:MANY_ROWS]:
            rest = [other for other in needed if other is not row]
            if clash(rest):
                needed = rest
        names = ", ".join(f'"{row.name}"' for row in needed[:5]) or "their bounds and values alone"
        return (
            f"No shares d from 0 to 1 with a sum of at most {self.budget} satisfy {names}. Relax or deactivate a row."
        )

    # The steps.

    def _grow(self, point: Evaluated, rows: list[RiskRow], dual: Dual) -> bool:
        """Add rows, and columns where they lag; return True if any is new."""
        work, B = self.work, self.budget
        # The value of the problem of step 1.
        restricted = dual.gain - self.shares.conjugate_in_use(dual.slopes[work.columns], point.d)
        new = work.add_rows(rows)
        if not self.config.stabilised:
            complete = point.value - restricted <= 0.5 * self.config.gap * abs(point.value)
            return ((complete or not new) and self._add_columns(dual.slopes, B)) or new
        lag, rows_lag = restricted - dual.bound, self.here.value - restricted
        if lag > LAG * rows_lag or not new:
            many = B * (MANY if lag > rows_lag else 1)
            new = self._add_columns(dual.slopes, many) or new
        return new

    def _solve(self, fine: bool) -> Restricted | None:
        work, accuracy = self.work, FINE
        if not fine and self.best is not None and self.bound is not None:
            unit = self.C * float(work.q.max(initial=0.0))
            accuracy = float(np.clip(1e-3 * (self.best - self.bound) / max(unit, 1e-300), FINE, COARSE))
        within = self.shares.within(work.columns)
        answer = solve_restricted(
            work.P, work.q, self.budget, self.C, accuracy=accuracy, time_limit=self.clock.left, within=within
        )
        if answer is not None and within is not None:
            answer = self._on_rows(answer, within)
        if answer is not None:
            self._d = answer.d
        return answer

    def _unsolved(self) -> End:
        """Return the end of a run whose step 1 has failed."""
        if self.clock.over:
            return StopReason.TIME_LIMIT, None
        self.message = "The restricted problem was not solved: the bounds are those of the round before."
        return StopReason.SOLVER_ERROR, None

    def _dual(self, alpha: FloatArray) -> Dual:
        """Return the dual point of multipliers; keep the best point between it and the best one so far."""
        slopes, gain = self.work.slopes(alpha), float(self.work.q @ alpha)
        there = self._dual_at(slopes, gain)
        self.raise_bound(there.at_best)
        best = self.proof
        if not self.config.stabilised or best.bound == -np.inf:
            self.proof = max(best, there, key=lambda p: p.bound)
            return there
        worth = self.shares.between(best.slopes, slopes)  # the bound is taken over all columns

        def falling(x: float) -> float:
            return worth(x) - x * (gain - best.gain)

        x = float(
            scipy.optimize.minimize_scalar(falling, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-3}).x
        )
        middle = self._dual_at(best.slopes + x * (slopes - best.slopes), best.gain + x * (gain - best.gain))
        self.proof = max(best, middle, there, key=lambda p: p.bound)
        return there

    def _dual_at(self, slopes: FloatArray, gain: float) -> Dual:
        return Dual(slopes, gain, gain - self.shares.conjugate(slopes))

    def _search(self, answer: Restricted) -> tuple[Evaluated, list[RiskRow]]:
        """Return the master's point, and the rows there and on the way from the best point to it."""
        there = self._point(answer.w, answer.d, answer.rest)
        between = self._line(self.here, there) if self.config.stabilised else []
        self.here = min((self.here, there, *between), key=lambda p: p.value)
        self._offer(self.here)
        return there, [there.row, *(p.row for p in between)]

    def _line(self, start: Evaluated, end: Evaluated) -> list[Evaluated]:
        """Return points between two by a line search: Omega is exact, the risk is that of the rows found so far."""
        step, along, shift = end.w - start.w, end.scores - start.scores, end.d - start.d
        h = self.facts.scale

        def evaluate(x: float) -> Evaluated:
            rest = None if start.rest is None or end.rest is None else start.rest + x * (end.rest - start.rest)
            return self._at(start.w + x * step, start.scores + x * along, start.d + x * shift, rest)

        def risk_line(point: Evaluated) -> tuple[float, float]:
            return h * (point.row.side - _dot(point.row, start.scores)), -h * _dot(point.row, along)

        def omega(x: float) -> float:
            return self.shares.omega(start.w + x * step, start.d + x * shift)[0]

        return search_line((start, end), evaluate, risk_line, omega, self.C, limit=LINE, accuracy=1e-4)

    def _refine(self, answer: Restricted) -> None:
        """Solve for w alone if rows and columns are complete and only an inexact d leaves a gap."""
        work = self.work
        d = np.concatenate([answer.d, np.zeros(len(work.columns) - len(answer.d))])
        point = self._point(solve_shares(work.P, work.q, d, self.C, self.clock.left).w, d, answer.rest)
        self.here = min((self.here, point), key=lambda p: p.value)
        self._offer(self.here)
        self.record("refine", point.value, cuts=len(work.rows), support=len(work.columns))
        if not self._finished():
            self.message = "The restricted problems are solved to machine precision: the gap cannot be closed further."

    def _drop_negligible(self) -> None:
        """Remove columns with negligible weights if the gap stays closed."""
        size = np.abs(self.here.w)
        for least in NEGLIGIBLE:
            few = np.where(size > least * size.max(initial=0.0), self.here.w, 0.0)
            if np.count_nonzero(few) == np.count_nonzero(size):
                continue
            point = self._point(few, self.here.d, self.here.rest)
            if is_closed(point.value, self.bound, self.config.gap, self.resolution):
                self.set_aside()
                self._offer(point)
                self.record("tidy", point.value, cuts=len(self.work.rows), support=len(self.work.columns))
                return

    def _finished(self) -> bool:
        if self.closed(self.config.gap):
            return True
        r = self.config.risk_tolerance
        if r is not None and self.best is not None and self.bound is not None and self.best - self.bound <= self.C * r:
            self.message = f"Stopped because objective and bound differ by at most C times {r:g}, the risk tolerance."
            return True
        return False

    # Points.

    def _point(self, w: FloatArray, d: FloatArray, rest: FloatArray | None) -> Evaluated:
        scores = np.asarray(self.work.XF @ w, dtype=float) if len(w) else np.zeros(self.work.X.shape[0])
        return self._at(w, scores, d, rest)

    def _at(self, w: FloatArray, scores: FloatArray, d: FloatArray, rest: FloatArray | None) -> Evaluated:
        row = self.facts.worst(scores)
        risk = max(0.0, self.facts.scale * (row.side - _dot(row, scores)))
        omega, shares = self.shares.omega(w, d)
        return Evaluated(w, scores, row, risk, omega + self.C * risk, shares, rest)

    def _on_rows(self, answer: Restricted, within: Polytope) -> Restricted | None:
        """Move the shares of an answer onto the rows, with the weights w = -d o c.

        If that fails, the best point replaces the point of the answer; its multipliers prove their bound in any case.
        """
        extra = np.zeros(0) if answer.rest is None else answer.rest
        x = within.near(np.concatenate([answer.d, extra]))
        if x is None:
            here = self.here
            return replace(answer, w=here.w, d=here.d, rest=here.rest)
        d = x[: within.shares]
        return replace(answer, w=-d * (answer.alpha @ self.work.P), d=d, rest=x[within.shares :])

    def _offer(self, point: Evaluated) -> None:
        columns, facts, added = self.work.columns, self.facts, self._added
        used = np.flatnonzero((point.w != 0) | (point.d > 0))

        def load() -> None:
            facts.load(columns[used], point.w[used], point.d[used], point.risk)
            if added is not None and point.rest is not None:
                for v, x in zip(added.others, point.rest.tolist(), strict=True):
                    if not v.fixed:
                        v.set_value(x, skip_validation=True)

        self.offer(point.value, [], load)

    # Rows and columns.

    def _began(self) -> bool:
        """Start at w = 0, with the columns of a vertex if rows restrict the shares; return False without a vertex."""
        shares = self.shares
        d, rest = np.zeros(0), None
        if isinstance(shares, BudgetRows):
            vertex = shares.anchor()
            if vertex is None:
                return False
            self.work.add_columns(vertex.columns)
            d, rest = vertex.d_over(self.work.columns), vertex.rest
        self.here = self._point(np.zeros(len(d)), d, rest)
        return True

    def _add_columns(self, slopes: FloatArray, many: int) -> bool:
        wanted = self.shares.columns(slopes, many)
        new = self.work.add_columns(wanted)
        if isinstance(self.shares, GroupShares):
            new = self.shares.add(self.work.columns, wanted)
        more = np.zeros(len(self.work.columns) - len(self.here.w))
        self.here.w, self.here.d = np.concatenate([self.here.w, more]), np.concatenate([self.here.d, more])
        return new

    def _drop(self, answer: Restricted) -> None:
        """Drop rows and columns without weight for some rounds; wait longer if the gap does not decrease."""
        gap = np.inf if self.bound is None or self.best is None else self.best - self.bound
        self._since += 1
        if gap < 0.9 * self._gap_then:
            self._since, self._gap_then = 0, gap
        elif self._since >= STALLED:
            self._since, self._patience = 0, 2 * self._patience
        held = (self.here.w != 0) | (self.here.d > 0)
        if isinstance(self.shares, GroupShares) and answer.rest is not None:
            self.shares.drop(answer.rest, self._patience)
            held[:] = True  # groups refer to positions of columns
        stay = self.work.drop(answer, self.C, held, self._patience)
        self.here.w, self.here.d = self.here.w[stay], self.here.d[stay]
        self._d = np.concatenate([answer.d, np.zeros(len(stay) - len(answer.d))])[stay]


def _dot(row: RiskRow, scores: FloatArray) -> float:
    return float(row.coefficients.astype(float) @ scores)
