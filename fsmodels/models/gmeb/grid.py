"""The convex primal of GMEB (15) over a grid of (R_plus, R_minus), by one linear program with warm starts.

The program is that of ``gmeb.norm``: margins, and rows ``sum_j |w_j| sqrt(p v+_j + q v-_j) <= sqrt(p R+ + q R-)``.
From one point of the grid to the next only right-hand sides change: all rows found so far remain valid and the last
basis dual feasible. Columns w+_j and w-_j are added when their reduced costs require it; a basis has no more features
than there are samples and rows.

    0. Set the sides for (R+, R-).
    1. Solve the LP over the rows and columns so far -> (w, offset), multipliers mu of the margins and nu of the norms.
    2. Incumbent and bound of ``gmeb.proof``, from w, and from mu over all features, in the LP or not.
    3. Stop when they meet. Otherwise add the worst row or, if w satisfies all rows, the columns of the largest
       violations of dual feasibility; go to 1. Stop too if neither has improved for some rounds and no row is violated
       by more than the accuracy of the LP.

Columns are multiplied by powers of two first, and weights with them, so that the numbers of the LPs are of one size.

With rows on the selection, one model is solved at all points, and its separator keeps the rows that it has found. A row
of ``gmeb.norm`` for (p, q) holds at every (R+, R-), with another side: the next point starts with the rows of the last.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import each_once, positive
from fsmodels.datasets.checks import apply_scaling, dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.classifier import error_rate
from fsmodels.models.gmeb.build import primal
from fsmodels.models.gmeb.columns import Centred, centred
from fsmodels.models.gmeb.norm import STARTS, VIOLATED, Moments
from fsmodels.models.gmeb.proof import Attained, MomentProof, resolution
from fsmodels.models.gmeb.solution import classifier
from fsmodels.models.proofs.equilibration import powers
from fsmodels.models.shares import slack_weights
from fsmodels.text import iterable
from fsmodels.weights import FloatArray
from solvers import SolutionStatus, SolverError, StopReason, interrupt, solve
from solvers.facts import Separable, facts_of
from solvers.lp.highs import FINEST, HighsLP, LpAnswer, LpStatus
from solvers.lp.pyomo import linear_program, require_lp_solver
from solvers.options import check_limits
from solvers.result import is_closed, relative_gap, verdict


@dataclass
class GridPoint:
    """Solution at a point of the grid: weights and offset for the data, loss, bound, and numbers of rows and LPs."""

    w: FloatArray
    b: float
    loss: float
    bound: float
    names: list[str]
    rows: int
    lps: int
    iterations: int | None = None


class SelectionModel:
    """The primal with binaries and the user's rows, solved at one (R+, R-) after the other.

    ``state``: function of the model that adds rows on ``model.sigma``.
    """

    def __init__(
        self, data: Dataset, state: Callable[[pyo.ConcreteModel], Any], largest: tuple[float, float], lp_solver: str
    ) -> None:
        if not callable(state):
            raise ParameterError(
                f"rows is {type(state).__name__}: give a function of the model that states rows on model.sigma, "
                "for example def rows(model): model.budget = fs.side_constraints.budget(model, costs, 20)."
            )
        self.model, self._lp_solver = primal(data, R_plus=largest[0], R_minus=largest[1], sigma=True), lp_solver
        state(self.model)
        facts = facts_of(self.model)
        assert isinstance(facts, Separable)
        self._kept: list[tuple[float, float]] = []
        facts.separator.kept = self._kept  # type: ignore[attr-defined]

    def solve(self, R_plus: float, R_minus: float, gap: float, end: float | None) -> GridPoint | None:
        """Return the optimum of a pair, or None at the time limit. Raises ModelError if no selection is feasible."""
        left = None if end is None else end - time.perf_counter()
        if left is not None and left <= 0:
            return None
        model = self.model
        model.R_plus, model.R_minus = R_plus, R_minus
        result = solve(model, "cutting-plane", gap=gap, time_limit=left, lp_solver=self._lp_solver)
        if result.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        if result.stop_reason is StopReason.TIME_LIMIT:
            return None
        if result.status is SolutionStatus.INFEASIBLE:
            raise ModelError(result.message)
        if result.objective is None or result.bound is None:
            raise SolverError(f"cutting-plane failed on a point of the path: {result.message}")
        w, b = classifier(model)
        names = result.selected or []
        return GridPoint(
            w, b, result.objective, result.bound, names, len(STARTS) + len(self._kept), len(result.iterations)
        )


__all__ = ["path", "selected"]


COUNTS = 1e-2  # absolute, and of the largest weight: features with less do not count (Peleg, Meir 2005, 6.2)
FIRST, BATCH = 2, 50  # columns per sample at the start; columns added at a time
RESOLVED, PATIENCE = 1e-6, 5  # relative violation below which rows bring no progress; rounds until the end


def path(
    data: Dataset,
    *,
    R_plus: float | Iterable[float],
    R_minus: float | Iterable[float],
    scale: str | None = None,
    validation: Dataset | None = None,
    gap: float = 1e-7,
    time_limit: float | None = None,
    lp_solver: str = "highs",
    rows: Callable[[pyo.ConcreteModel], Any] | None = None,
) -> pd.DataFrame:
    """Solve the convex primal (15) for each pair of (R_plus, R_minus), as in section 6.2.

    Parameters
    ----------
    data : Dataset of shape (n, d)
        Dense; the columns are centred.
    R_plus, R_minus : number or several numbers
        Their product is the grid; each value is above 0 and given once.
    scale : {"standard", "none", "unit-ball", "minmax"}, optional
        As in ``fs.select``. Objectives and bounds do not depend on the units of a column, nor do their proofs.
    validation : Dataset, optional
        Data on which the error of each classifier is reported; they do not influence the result.
    gap : float
        Relative gap of each point.
    time_limit : float, optional
        Seconds for the whole grid.
    lp_solver : str
        Any LP solver; only "highs" starts with few columns.
    rows : callable, optional
        Function of the model (``primal`` with ``sigma=True``) that adds rows on ``model.sigma``: each point is then
        the best feasible selection, by ``cutting-plane``.

    Returns
    -------
    pandas.DataFrame
        Indexed by ``R_plus`` and ``R_minus`` in ascending order; columns ``objective``, ``bound``, ``gap``, ``status``,
        ``n_selected``, ``selected`` (features that count as in the paper; with ``rows`` those with sigma = 1),
        ``training_error``,
        ``validation_error`` (with ``validation``), ``rows`` (of the norms in the LP), ``lps``, ``lp_iterations`` (None
        except for "highs"), ``seconds``. ``attrs["weights"]`` (a list for each pair) and ``attrs["bias"]``, for the
        unscaled data, are the classifiers in the order of the table. After Ctrl-C or at the time limit, the table
        has the finished points.

    Raises
    ------
    ParameterError
        A value that is not above 0, or given twice.
    DataError
        If a class has no sample, or no column varies.
    ModelError
        If no selection is feasible.
    OptionError, SolverError
        An invalid limit; a solver that does not solve LPs, or fails.

    Examples
    --------
    >>> import fsmodels as fs
    >>> table = fs.gmeb.path(fs.load_dataset("bupa"), R_plus=[1, 2], R_minus=[1, 2])
    >>> table["status"].unique().tolist()
    ['optimal']
    """
    given, data = data, apply_scaling(data, scale)
    check_limits({"gap": gap, "time_limit": time_limit})
    require_lp_solver(lp_solver)
    grid = [_values("R_plus", R_plus), _values("R_minus", R_minus)]
    solver: SelectionModel | _RestrictedLP = _RestrictedLP.of(data, lp_solver)
    if rows is not None:
        solver = SelectionModel(data, rows, (grid[0][-1], grid[1][-1]), lp_solver)
    resolved = resolution(float(slack_weights(data).sum()))
    if validation is not None:
        validation = data.apply_scale_to(dataset(validation)).require_dense("gmeb")
    end = None if time_limit is None else time.perf_counter() + time_limit
    start = time.perf_counter()
    found: list[dict[str, Any]] = []
    with interrupt.run(), suppress(KeyboardInterrupt), interrupt.raising():
        for pair in _snake(*grid):
            point = solver.solve(*pair, gap, end)
            if point is None:
                break
            proven = verdict(point.loss, point.bound, gap=gap, resolution=resolved)
            row: dict[str, Any] = {
                "R_plus": pair[0],
                "R_minus": pair[1],
                "objective": point.loss,
                "bound": proven.bound,
                "gap": relative_gap(point.loss, proven.bound, resolution=resolved),
                "status": proven.status.value,
                "n_selected": len(point.names),
                "selected": point.names,
                "training_error": error_rate(data, point.w, point.b),
            }
            if validation is not None:
                row["validation_error"] = error_rate(validation, point.w, point.b)
            row |= {"rows": point.rows, "lps": point.lps, "lp_iterations": point.iterations}
            found.append(row | {"seconds": time.perf_counter() - start, "weights": point.w, "bias": point.b})
            start = time.perf_counter()
    found.sort(key=lambda row: (row["R_plus"], row["R_minus"]))
    fitted = [(row.pop("weights"), row.pop("bias")) for row in found]
    if data is not given:
        rescale = data.scale.after(given.scale)
        fitted = [rescale.original_weights(w, b) for w, b in fitted]
    table = pd.DataFrame(found, columns=None if found else ["R_plus", "R_minus"]).set_index(["R_plus", "R_minus"])
    table.attrs = {"weights": [w.tolist() for w, _ in fitted], "bias": [float(b) for _, b in fitted]}  # pandas compares
    return table


def selected(w: FloatArray, features: Iterable[str]) -> list[str]:
    """Return the features that count in the paper's protocol: ``|w_j|`` at least 0.01, or 0.01 of the largest.

    Source: Peleg, Meir 2005, section 6.2.

    >>> selected(np.array([0.5, 0.006, 0.004]), ["a", "b", "c"])
    ['a', 'b']
    """
    size = np.abs(w)
    least = min(COUNTS, COUNTS * float(size.max(initial=0.0)))
    return [j for j, x in zip(features, size.tolist(), strict=True) if x >= least and x > 0]


@dataclass
class _Progress:
    """Incumbent, bound and statistics at one pair."""

    best: Attained
    bound: float
    lps: int = 0
    iterations: int | None = None


@dataclass
class _RestrictedLP:
    """The linear program: columns offset, xi, then w+_j and w-_j of each feature in use."""

    columns: Centred
    factor: FloatArray
    proof: MomentProof
    lp_solver: str
    in_use: NDArray[np.intp] = field(init=False)
    family: list[tuple[float, float]] = field(init=False, default_factory=list)  # (p, q) of the rows, p + q = 1

    @classmethod
    def of(cls, data: Dataset, lp_solver: str) -> _RestrictedLP:
        """Return the program for data, with columns of one size."""
        columns = centred(data)
        factor = powers(np.sqrt(columns.v_plus + columns.v_minus))
        moments = Moments(columns.v_plus * factor**2, columns.v_minus * factor**2)
        return cls(columns, factor, MomentProof(moments, columns.X * factor, columns.y, columns.s), lp_solver)

    def _finished(self, point: _Progress) -> GridPoint:
        w = self.factor * point.best.w
        b = point.best.offset - float(w @ self.columns.mean)
        names = selected(w, self.columns.features)
        return GridPoint(w, b, point.best.loss, point.bound, names, len(self.family), point.lps, point.iterations)

    def __post_init__(self) -> None:
        n, d = self.proof.X.shape
        self.y, self.moments = self.proof.y, self.proof.moments
        self.signed = self.y[:, None] * self.proof.X
        self.resolution = resolution(float(self.proof.s.sum()))
        self._weights = np.array([self.moments.coefficients(*pq) for pq in STARTS])
        self.family = list(STARTS)
        self._usable = self._weights.max(axis=0) > 0  # not a constant column
        usable = np.flatnonzero(self._usable)
        if self.lp_solver == "highs" and d > FIRST * n:
            score = np.abs(self.proof.s @ self.signed)[usable] / self._weights[:, usable].max(axis=0)
            self.in_use = usable[np.argsort(-score, kind="stable")[: FIRST * n]]
        else:
            self.in_use = usable
        self._in = np.zeros(d, dtype=bool)
        self._in[self.in_use] = True
        cost = np.zeros(1 + n + 2 * len(self.in_use))
        cost[1 : 1 + n] = self.proof.s
        low = np.zeros(len(cost))
        low[0] = -np.inf
        self.lp = linear_program(self.lp_solver, cost, low, np.full(len(cost), np.inf), tolerance=FINEST)
        margins = [sparse.csr_array(self.y[:, None]), sparse.eye_array(n)]
        margins.append(sparse.csr_array(_twice(self.signed[:, self.in_use])))
        self.lp.add_rows(sparse.hstack(margins, format="csr"), np.ones(n), np.full(n, np.inf))
        norms = np.hstack([np.zeros((len(STARTS), 1 + n)), np.repeat(self._weights[:, self.in_use], 2, axis=1)])
        self.lp.add_rows(norms, np.full(len(STARTS), -np.inf), np.ones(len(STARTS)))

    def solve(self, R_plus: float, R_minus: float, gap: float, end: float | None) -> GridPoint | None:
        """Return the optimum of a pair, or None at the time limit."""
        n, d = self.proof.X.shape
        limits = R_plus, R_minus
        point = _Progress(self.proof.classifier(np.zeros(d), *limits), self.proof.bound(None, *limits).value)
        sides = np.sqrt(np.array(self.family) @ limits)
        self.lp.set_sides(n + np.arange(len(sides)), np.full(len(sides), -np.inf), sides)  # 0
        stalled = 0
        while True:
            answer = self._solve(point, end)  # 1
            if answer is None:
                return None
            pairs = answer.point[1 + n :]
            w = np.zeros(d)
            w[self.in_use] = pairs[0::2] - pairs[1::2]
            worst = self.moments.worst(w, *limits)
            before = point.best.loss, point.bound
            point.best = min(point.best, self.proof.classifier(w, *limits), key=lambda found: found.loss)  # 2
            point.bound = max(point.bound, self.proof.bound(answer.multipliers[:n], *limits).value)
            if is_closed(point.best.loss, point.bound, gap, self.resolution):  # 3
                return self._finished(point)
            improved = (point.best.loss, point.bound) != before
            stalled = 0 if improved or worst.ratio > 1 + RESOLVED else stalled + 1
            row = (worst.p / (worst.p + worst.q), worst.q / (worst.p + worst.q))
            known = min(abs(row[0] - p) for p, _ in self.family) <= 1e-15
            if worst.ratio > 1 + VIOLATED and not known and stalled < PATIENCE:
                sides = np.append(sides, np.sqrt(row[0] * R_plus + row[1] * R_minus))
                self._add_row(row, sides[-1])
            elif len(entering := self._entering(answer)):
                self._join(entering)
                stalled = 0
            else:  # the LP's own tolerance
                return self._finished(point)

    def _solve(self, point: _Progress, end: float | None) -> LpAnswer | None:
        left = None if end is None else end - time.perf_counter()
        if left is not None and left <= 0:
            return None
        answer = self.lp.solve(left)
        if answer.status is LpStatus.LIMIT:
            return None
        if answer.status is not LpStatus.OPTIMAL:
            raise SolverError(f"{self.lp_solver} failed on a linear program of the path: {answer.status.value}.")
        point.lps += 1
        if isinstance(self.lp, HighsLP):
            point.iterations = (point.iterations or 0) + self.lp.iterations
        return answer

    def _entering(self, answer: LpAnswer) -> NDArray[np.intp]:
        """Return the features whose columns violate dual feasibility, the largest violations first."""
        n = len(self.y)
        mu, nu = np.clip(answer.multipliers[:n], 0.0, self.proof.s), np.maximum(0.0, -answer.multipliers[n:])
        gain, price = np.abs(mu @ self.signed), nu @ self._weights
        entering = np.flatnonzero((gain > price + FINEST) & self._usable & ~self._in)
        return entering[np.argsort(-(gain - price)[entering], kind="stable")[:BATCH]]

    def _add_row(self, row: tuple[float, float], side: float) -> None:
        weights = self.moments.coefficients(*row)
        self.family.append(row)
        self._weights = np.vstack([self._weights, weights])
        full = np.concatenate([np.zeros(1 + len(self.y)), np.repeat(weights[self.in_use], 2)])
        self.lp.add_rows(full[None], np.array([-np.inf]), np.array([side]))

    def _join(self, features: NDArray[np.intp]) -> None:
        assert isinstance(self.lp, HighsLP)
        k = 2 * len(features)
        matrix = np.vstack([_twice(self.signed[:, features]), np.repeat(self._weights[:, features], 2, axis=1)])
        self.lp.add_columns(matrix, np.zeros(k), np.zeros(k), np.full(k, np.inf))
        self.in_use = np.concatenate([self.in_use, features])
        self._in[features] = True


def _twice(columns: FloatArray) -> FloatArray:
    """Return each column followed by its negative."""
    both = np.empty((columns.shape[0], 2 * columns.shape[1]))
    both[:, 0::2], both[:, 1::2] = columns, -columns
    return both


def _snake(first: list[float], second: list[float]) -> Iterable[tuple[float, float]]:
    """Yield the pairs from the loosest, each next to the previous one: this took a quarter less time on WDBC."""
    for k, a in enumerate(first[::-1]):
        yield from itertools.product([a], second[::-1] if k % 2 == 0 else second)


def _values(name: str, given: Any) -> list[float]:
    many = list(given) if iterable(given) and not isinstance(given, str | bytes) else [given]
    values = [positive(name, value, f"{name} bounds the second moments of its class") for value in many]
    return sorted(each_once(name, values))
