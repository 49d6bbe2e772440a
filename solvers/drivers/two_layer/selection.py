r"""The subproblem of a selection of columns for a risk known by its worst row: values, cuts, and the relaxation.

For sigma in [0, 1]^n, with h, r and X of ``facts.composite``,

.. math::
    q(\sigma) = \min_{w,\ d \in D(\sigma)}\ \tfrac12 \textstyle\sum_j w_j^2 / d_j + C\, r(X w), \qquad
    D(\sigma) = \{d : \textstyle\sum_j d_j \le B,\ 0 \le d \le \sigma\}

For sigma in {0, 1}^n with at most B ones, d = sigma is best and q the least ``1/2 w.w + C r`` on the columns selected.
Cut
    For alpha >= 0 of rows of r with e'alpha <= C, c = h X' sum_k alpha_k u_k, the Lagrangian is least at w = d c, and
    ``max over D(sigma) of 1/2 d.c^2`` is, by any multiplier theta >= 0 of sum d <= B, at most theta B + sum_j sigma_j
    max(0, 1/2 c_j^2 - theta):

    .. math::
        q(\sigma) \ge h\, s \cdot \alpha - \theta B - \textstyle\sum_j \max(0, \tfrac12 c_j^2 - \theta)\, \sigma_j
        \quad \forall \sigma \in [0, 1]^n

    tight where alpha is best at sigma and theta is the 1/2 c_j^2 at which the largest sigma_j sum to B, or 0.
Value
    A fit adds the worst row at its point until the cut is within the tolerance. All fits share their rows.
Relaxation
    ``min cost.x + q(sigma)`` over the master's rows and bounds, x = (sigma, its other variables): the saddle point of
    ``saddle_point`` over the rows so far. If the master implies sum sigma <= B, x = d = sigma; otherwise d is a further
    part of x. The cut above is a linear function of its alpha, and its least value over the master is a linear
    program: by weak duality a proven bound, and reduced costs. Worst rows are added until bound and value have met.
    Where that problem is too large, alpha is optimal for D alone and the rest is the same: a weaker bound.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.two_layer.columns import FloatArray, Polytope, Restricted, solve_shares
from solvers.drivers.two_layer.saddle_point import solve_restricted, solve_saddle
from solvers.drivers.two_layer.shares import search_line
from solvers.drivers.two_layer.working_set import RowPool
from solvers.facts.k_support import half_norm, norm_at
from solvers.facts.row_cut import lagrangian_bound
from solvers.facts.structure import Cut, RelaxedAnswer, SubAnswer
from solvers.lp.highs import HighsLP, LpStatus
from solvers.model.linear import LinearRows

ROUNDS = 300  # rows that a fit or a relaxation may add
FINE, COARSE = 1e-10, 1e-5  # accuracies of a saddle point, in its units
MANY = 200  # rows of a problem; with more, those far from the worst are left out
NEGLIGIBLE = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8)  # of the largest weight
LINE = 4  # rows that a line search may add
SHARE = 0.3  # of the time, for the root
AT_ROOT = 10  # times the required accuracy at the root, a tenth of the gap
SELECTED = 1e-9  # least sigma of a selected column
MAX_SIZE = 400  # rows of a relaxation


_Fit = tuple[float, FloatArray, FloatArray, float]  # value, w, d and risk


@dataclass(frozen=True)
class _RelaxationPoint:
    """Weights with their shares, a point of the master, scores, position of the worst row, and value."""

    w: FloatArray
    d: FloatArray
    x: FloatArray
    scores: FloatArray
    row: int
    value: float


def load_nowhere(w: np.ndarray, d: np.ndarray, risk: float) -> None:
    """Do nothing: there is no model to load values into."""


@dataclass
class SelectionOracle:
    """Oracle of a ``Structure``: ``solve`` at a sigma, ``relax`` over a master.

    ``pool``: RowPool. ``budget``, ``weight``: Params B and C. ``load``: sets the model to (w (m,), d (m,), risk).
    """

    pool: RowPool
    budget: Any
    weight: Any
    load: Callable[[np.ndarray, np.ndarray, float], None]

    def __post_init__(self) -> None:
        self._lp: tuple[LinearRows, HighsLP] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> SelectionOracle:
        """Return an oracle for the copied model, with the copied parameters."""
        return SelectionOracle(
            deepcopy(self.pool, memo),
            deepcopy(self.budget, memo),
            deepcopy(self.weight, memo),
            deepcopy(self.load, memo),
        )

    def detached(self) -> SelectionOracle:
        """Return an equal oracle without a model, for other processes."""
        C, B = self.parameters()
        return SelectionOracle(self.pool, B, C, load_nowhere)

    def parameters(self) -> tuple[float, float]:
        """Return C and B, on which q depends in addition to sigma."""
        return float(pyo.value(self.weight)), float(pyo.value(self.budget))

    def solve(
        self, point: np.ndarray, tolerance: float, time_limit: float | None, *, ceiling: float = np.inf
    ) -> SubAnswer:
        """Solve at a point of shape (m,), to a relative gap or until the bound reaches ``ceiling``."""
        pool, clock = self.pool, Clock(time_limit)
        C, B = self.parameters()
        columns = np.flatnonzero(point > SELECTED)
        sigma = np.minimum(point[columns], 1.0)
        X = pool.matrix[:, columns]
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        used, best, cut = list(pool.active), (np.inf, np.zeros(0), np.zeros(0), 0.0), Cut(0.0, np.zeros(len(point)))
        low, is_binary = -np.inf, sigma.min(initial=1.0) >= 1.0
        for _ in range(ROUNDS):
            answer = self._fit(used, columns, sigma, C, B, clock.left)
            there = self._cut(used, answer.alpha, point, B)
            if there.at(point) > low:
                low, cut = there.at(point), there
            w = answer.w if is_binary else np.where(answer.d > 0.0, answer.w, 0.0)  # without a share: rounding
            row, risk = pool.at(X @ w)
            omega, d = half_norm(w, int(B)) if is_binary else (norm_at(w, answer.d), answer.d)
            if omega + C * risk < best[0]:
                best = (omega + C * risk, w, d, risk)
            if low >= ceiling or best[0] - low <= tolerance * abs(best[0]) or clock.over:
                break
            others = pool.q + pool.P[:, columns] @ w
            new = {row, int(np.argmax(others))} - set(used)
            if not new:
                break
            used += sorted(new)
        value, w, d, risk = self._drop_negligible(best, X, int(B), C, low, tolerance) if is_binary else best
        every, shares = np.zeros(len(point)), np.zeros(len(point))
        every[columns], shares[columns] = w, d
        pool.near(every)

        def load() -> None:
            self.load(every, shares, risk)

        return SubAnswer(value, min(low, value), cut, load, every)

    def _drop_negligible(self, best: _Fit, X: FloatArray, B: int, C: float, low: float, tolerance: float) -> _Fit:
        """Remove negligible weights of an interior point if the tolerance allows it."""
        value, w = best[:2]
        size = np.abs(w)
        for least in NEGLIGIBLE:
            few = np.where(size > least * size.max(initial=0.0), w, 0.0)
            if np.count_nonzero(few) < np.count_nonzero(w):
                omega, d = half_norm(few, B)
                risk = self.pool.at(X @ few)[1]
                there = omega + C * risk
                if there - low <= max(tolerance * abs(there), value - low):
                    return there, few, d, risk
        return best

    def _fit(
        self, used: list[int], columns: NDArray[np.intp], sigma: FloatArray, C: float, B: float, left: float | None
    ) -> Restricted:
        """Return the best weights on some columns for the rows in use."""
        P, q = self.pool.P[used][:, columns], self.pool.q[used]
        if float(sigma.sum()) <= B * (1.0 + 1e-12):
            return solve_shares(P, q, sigma, C, left)
        F = len(columns)
        within = replace(Polytope.of_budget(F, B), upper=sigma)
        found = solve_restricted(P, q, int(B), C, accuracy=FINE, time_limit=left, within=within)
        return found or Restricted(np.zeros(len(q)), np.zeros(F), sigma * min(1.0, B / float(sigma.sum())))

    def _cut(self, used: list[int], alpha: FloatArray, sigma: FloatArray, B: float) -> Cut:
        """Return the cut of multipliers with the best theta at sigma."""
        rows = used[: len(alpha)]
        half = 0.5 * (alpha @ self.pool.P[rows]) ** 2
        theta = threshold(half, sigma, B)
        return Cut(float(alpha @ self.pool.q[rows]) - theta * B, -np.maximum(0.0, half - theta))

    # The relaxation.

    def relax(
        self,
        master: LinearRows,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Minimise over the master's rows and bounds, to a relative gap or until the bound reaches ``enough``."""
        pool, clock, m = self.pool, Clock(time_limit), self.pool.matrix.shape[1]
        C, B = self.parameters()
        root = not np.isfinite(enough)
        limit = Clock(clock.left_of(SHARE)) if root else clock  # the remaining time is for the tree
        accuracy = AT_ROOT * accuracy if root else accuracy
        shares, program, within = np.clip(upper[:m], 0.0, 1.0), master, _polytope(master, lower, upper, m, B)
        apart = within is None
        if within is None:  # alpha is optimal for D alone: a relaxation of the relaxation
            within = replace(Polytope.of_budget(m, B), upper=shares)
            program = replace(master, cost=np.zeros(len(master.cost)), constant=0.0)
        used, best, here, low, fine = list(pool.active), None, None, -np.inf, COARSE
        unit = C * max(float(pool.q.max()), 1e-300)
        for _ in range(ROUNDS):
            answer = solve_saddle(pool.P[used], pool.q[used], int(B), C, accuracy=fine, within=within)
            if answer is None or answer.rest is None:
                break
            x = upper if apart else np.concatenate([answer.d, answer.rest])[-len(lower) :]  # sigma, and other variables
            cut = self._cut(used, answer.alpha, shares if apart else x[:m], B)
            proven = self._least(master, lower, upper, cut)
            if proven is None:
                break
            if best is None or proven[0] > best.bound:
                best = RelaxedAnswer(proven[0], np.clip(proven[2], lower, upper) if apart else x, proven[1], cut)
            low = max(low, cut.at(shares)) if apart else best.bound
            there = self._point(program, answer.w, answer.d, x, pool.scores(answer.w), C)
            met = [there] if here is None else [there, *self._line(program, here, there, C)]
            here = min([*met, *([] if here is None else [here])], key=lambda p: p.value)
            if best.bound >= enough or here.value - low <= accuracy * abs(here.value) or limit.over:
                break
            new = {p.row for p in met} - set(used)
            if not new and fine <= FINE:
                break
            fine = float(np.clip(1e-3 * (here.value - low) / unit, FINE, COARSE)) if new else FINE
            if len(used) > MANY:
                used = pool.nearest([here.w, there.w], used)
            used += sorted(new - set(used))
        if best is None or here is None:
            return best
        pool.near(here.w)
        if apart:
            return best
        return replace(best, point=here.x)

    def _point(
        self, master: LinearRows, w: FloatArray, d: FloatArray, x: FloatArray, scores: FloatArray, C: float
    ) -> _RelaxationPoint:
        row, risk = self.pool.at(scores)
        return _RelaxationPoint(
            w, d, x, scores, row, master.constant + float(master.cost @ x) + norm_at(w, d) + C * risk
        )

    def _line(
        self, master: LinearRows, start: _RelaxationPoint, end: _RelaxationPoint, C: float
    ) -> list[_RelaxationPoint]:
        """Return points between two by a line search: only the risk is approximate, that of the rows found so far."""
        dw, dd, dx, dscores = end.w - start.w, end.d - start.d, end.x - start.x, end.scores - start.scores
        cost, per_step = master.constant + float(master.cost @ start.x), float(master.cost @ dx)

        def evaluate(t: float) -> _RelaxationPoint:
            scores = start.scores + t * dscores
            return self._point(master, start.w + t * dw, start.d + t * dd, start.x + t * dx, scores, C)

        def risk_line(point: _RelaxationPoint) -> tuple[float, float]:
            P, q = self.pool.P[point.row], self.pool.q[point.row]
            return q + P @ start.w, P @ dw

        def other_terms(t: float) -> float:
            return cost + t * per_step + norm_at(start.w + t * dw, start.d + t * dd)

        return search_line((start, end), evaluate, risk_line, other_terms, C, limit=LINE, accuracy=1e-3)

    def _least(
        self, master: LinearRows, lower: np.ndarray, upper: np.ndarray, cut: Cut
    ) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return a lower bound on the master's cost plus a cut, reduced costs, and a point of the master."""
        m, N = len(cut.coefficients), len(master.cost)
        if self._lp is None or self._lp[0] is not master:
            lp = HighsLP(np.zeros(N), lower, upper)
            if len(master.rows):
                lp.add_rows(master.matrix, master.lower, master.upper)
            self._lp = (master, lp)
        lp, cost = self._lp[1], master.cost.copy()
        cost[:m] += cut.coefficients
        scale = float(np.abs(cost).max(initial=0.0)) or 1.0
        lp.set_bounds(np.arange(N), lower, upper)
        lp.set_cost(cost / scale)
        answer = lp.solve()
        if answer.status is not LpStatus.OPTIMAL:
            return None
        program = replace(master, cost=cost, constant=master.constant + cut.constant, x_lower=lower, x_upper=upper)
        bound, d, _ = lagrangian_bound(program, answer.multipliers * scale)
        return None if bound == -np.inf else (bound, d, answer.point)


def threshold(half: FloatArray, sigma: FloatArray, B: float) -> float:
    """Return the number at which the shares of the largest numbers sum to B; 0 if there are fewer.

    >>> threshold(np.array([3.0, 1.0, 2.0]), np.ones(3), 2)
    2.0
    """
    order = np.argsort(-half, kind="stable")
    total = np.cumsum(np.maximum(0.0, sigma[order]))
    full = np.flatnonzero(total >= B * (1.0 - 1e-12))
    if not len(full) or total[-1] <= B * (1.0 + 1e-12):
        return 0.0
    return float(half[order[full[0]]])


def _polytope(master: LinearRows, lower: np.ndarray, upper: np.ndarray, m: int, B: float) -> Polytope | None:
    """Return the feasible set of (d, x): d is sigma if its sum cannot exceed B, else additional variables."""
    low, up, N = master.lower, master.upper, len(master.cost)
    if len(low) + np.count_nonzero(np.isfinite(low) & (low != up)) > MAX_SIZE:
        return None
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return None
    rows = master.matrix.toarray()
    least, rest = rows[:, :m].min(axis=1, initial=np.inf), rows[:, m:]  # in the units of the rows
    counts = (least > 0.0) & ((rest >= 0.0) & (rest * lower[m:] >= 0.0)).all(axis=1)
    if float(upper[:m].sum()) <= B or bool(np.any(up[counts] <= B * (1.0 + 1e-12) * least[counts])):
        return Polytope.of_rows(B, m, rows, low, up, lower, upper, master.cost)
    if m > MAX_SIZE:
        return None
    A = np.block([[np.eye(m), -np.eye(m), np.zeros((m, N - m))], [np.zeros((len(low), m)), rows]])
    low, up = np.r_[np.full(m, -np.inf), low], np.r_[np.zeros(m), up]
    return Polytope.of_rows(
        B, m, A, low, up, np.r_[np.zeros(m), lower], np.r_[upper[:m], upper], np.r_[np.zeros(m), master.cost]
    )
