r"""Feasible sets of the shares d: D alone, in closed form, or D with rows, by linear programs.

With rows R on d and further variables z (``facts.composite``), the regulariser and its conjugate are

.. math::
    \Omega(w) = \min_{(d, z) \in D \cap R} \tfrac12 \textstyle\sum_j w_j^2 / d_j, \qquad
    \Omega^*(c) = \max_{(d, z) \in D \cap R} \tfrac12 \textstyle\sum_j d_j c_j^2,

the second since ``max over w of c.w - 1/2 w^2 / d = 1/2 d c^2``: a linear program in (d, z), and the bound of step 2 of
``driver`` is the rows' constants less its value at c = h X' sum_k alpha_k u_k, for any alpha >= 0 with e'alpha <= C.
By weak duality, for multipliers y of the rows (>= 0 on upper sides) and eta >= 0 of sum d <= B,

.. math::
    \Omega^*(c) \le y \cdot \text{sides} + \eta B
        + \textstyle\sum_j \max_{d_j} (\tfrac12 c_j^2 - \eta - a_j \cdot y) d_j
        + \textstyle\sum_k \max_{z_k} (-a_k \cdot y) z_k

over the boxes, for any y and eta. Columns in no row with the box [0, 1] are interchangeable: no optimum needs more of
them than the B of largest ``|c_j|``. The program therefore has B slots for all of them, and their part of the sum is
that of max(0, 1/2 c_j^2 - eta). With eta at least the next of these it is that of the slots, and no larger than before.

``Omega`` has no closed form: a point includes d and z, and its value is the value at this d. The function
``w_j^2 / d_j`` is convex in both, so that points between two are worth no more than the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import sparse

from solvers.drivers.two_layer.columns import FloatArray, Polytope
from solvers.drivers.two_layer.working_set import USELESS, idle_rounds
from solvers.facts.k_support import half_conjugate, half_norm, largest, norm_at
from solvers.facts.row_cut import lagrangian_bound
from solvers.lp.highs import FINEST, HighsLP, LpStatus
from solvers.model.linear import LinearRows
from solvers.values import bounds_of

Indices = NDArray[np.intp]

SHORT = 40  # times the budget: columns that a search between dual points considers
USED = 1e-9  # of a share
POOL = 40  # vertices remembered


@dataclass(frozen=True)
class Priced:
    """The proven ``value`` of slopes, and a vertex that attains it.

    ``columns`` and their ``d``; ``rest``: values of the other variables at the vertex.
    """

    value: float
    columns: Indices
    d: FloatArray
    rest: FloatArray

    def d_over(self, columns: Indices) -> FloatArray:
        """Return d over columns in any order, 0 where the vertex has none."""
        found = dict(zip(self.columns.tolist(), self.d.tolist(), strict=True))
        return np.array([found.get(j, 0.0) for j in columns.tolist()])


class Budget:
    """D alone. ``groups``: positions of the columns of each group, if the shares are means of groups."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.groups: list[Indices] = []

    def omega(self, w: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
        """Return the regulariser of weights, and the shares that attain it."""
        return half_norm(w, self.budget)

    def conjugate(self, slopes: FloatArray) -> float:
        """Return the value of slopes over all columns."""
        return half_conjugate(slopes, self.budget)

    def conjugate_in_use(self, slopes: FloatArray, d: FloatArray) -> float:
        """Return the value of slopes over the columns in use; d is optimal for them."""
        return half_conjugate(slopes, self.budget)

    def between(self, start: FloatArray, end: FloatArray) -> Callable[[float], float]:
        """Return the value between two vectors of slopes, as a function of the step, for columns of large slopes."""
        near = largest(np.maximum(np.abs(start), np.abs(end)), SHORT * self.budget)
        a, step = start[near], end[near] - start[near]
        return lambda x: half_conjugate(a + x * step, self.budget)

    def columns(self, slopes: FloatArray, many: int) -> Indices:
        """Return the columns to use for slopes."""
        return largest(slopes, many)

    def within(self, columns: Indices) -> Polytope | None:
        """Return the restrictions of the shares of columns; None for D alone."""
        return None


class BudgetRows(Budget):
    """D with rows on the shares and on variables of the user.

    ``rows``: linear rows. ``shares``: list of (column, variable) of each d that occurs in a row or has a box other than
    [0, 1]. ``others``: the other variables of the rows.
    """

    def __init__(self, budget: int, columns: int, rows: list[Any], shares: list[tuple[int, Any]], others: list[Any]):
        super().__init__(budget)
        self.touched = np.array([j for j, _ in shares], dtype=np.intp)
        held = [v for _, v in shares]
        self.others = others
        linear = LinearRows.of(rows, [*held, *others], [], 1.0)
        n = len(held)
        self.matrix, self.sides = linear.matrix.tocsc(), (linear.lower, linear.upper)
        boxes = [(v.value, v.value) if v.fixed else bounds_of(v) for v in [*held, *others]]
        self.lower, self.upper = np.array(boxes, dtype=float).reshape(-1, 2).T.copy()
        self.lower[:n], self.upper[:n] = np.maximum(self.lower[:n], 0.0), np.minimum(self.upper[:n], 1.0)
        self._interchangeable = np.ones(columns, dtype=bool)
        self._interchangeable[self.touched] = False
        self._position = {int(j): k for k, j in enumerate(self.touched.tolist())}
        self._slots = min(budget, columns - n)
        self.pool: list[Priced] = []
        total = n + len(others) + self._slots
        lower, upper = np.r_[self.lower, np.zeros(self._slots)], np.r_[self.upper, np.ones(self._slots)]
        self.clash = bool(np.any(lower > upper))
        self._lp = HighsLP(np.zeros(total), lower, np.maximum(lower, upper), tolerance=FINEST)
        full = np.zeros((len(rows), total))
        full[:, : n + len(others)] = linear.matrix.toarray()
        ones = np.r_[np.ones(n), np.zeros(len(others)), np.ones(self._slots)]
        matrix, low, up = np.vstack([full, ones]), np.r_[linear.lower, -np.inf], np.r_[linear.upper, float(budget)]
        self._lp.add_rows(matrix, low, up)
        self._program = LinearRows([], [], sparse.csr_matrix(matrix), low, up, lower, upper, np.zeros(total), 0.0)

    def omega(self, w: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
        """Return the regulariser of weights at their own shares."""
        return norm_at(w, d), d

    def conjugate(self, slopes: FloatArray) -> float:
        """Return the value of slopes over all columns."""
        return self.price(slopes).value

    def conjugate_in_use(self, slopes: FloatArray, d: FloatArray) -> float:
        """Return the value of slopes over the columns in use, at d."""
        return 0.5 * float(d @ slopes[: len(d)] ** 2)

    def columns(self, slopes: FloatArray, many: int) -> Indices:
        """Return the columns of the best vertex, and the largest others."""
        vertex = self.price(slopes).columns
        return np.union1d(vertex, largest(slopes, many)) if many > self.budget else vertex

    def between(self, start: FloatArray, end: FloatArray) -> Callable[[float], float]:
        """Return the value at the vertices found so far; each of them is a parabola in the step."""
        step = end - start
        parabolas = np.array(
            [
                [0.5 * float(v.d @ a**2), float(v.d @ (a * b)), 0.5 * float(v.d @ b**2)]
                for v, a, b in ((v, start[v.columns], step[v.columns]) for v in self.pool)
            ]
        )
        return lambda x: float((parabolas @ [1.0, x, x * x]).max())

    def anchor(self) -> Priced | None:
        """Return a vertex; None where there is none."""
        found = self.price(np.zeros(len(self._interchangeable)))
        return None if self.clash or not np.isfinite(found.value) else found

    def price(self, slopes: FloatArray) -> Priced:
        """Solve the program at slopes; the value is infinite if that fails, because nothing is proven then."""
        n, half = len(self.touched), 0.5 * slopes**2
        top, following = self._largest_interchangeable(slopes)
        gains = np.concatenate([half[self.touched], np.zeros(len(self.others)), half[top]])
        scale = float(gains.max(initial=0.0)) or 1.0
        self._lp.set_cost(-gains / scale)
        answer = self._lp.solve()
        if answer.status is not LpStatus.OPTIMAL:
            nothing = np.empty(0)
            return Priced(np.inf, nothing.astype(np.intp), nothing, nothing)
        x, own = answer.point, n + len(self.others)
        d, columns = np.clip(np.concatenate([x[:n], x[own:]]), 0.0, 1.0), np.concatenate([self.touched, top])
        used = d > USED
        value = self._proven(gains / scale, answer.multipliers, following / scale) * scale
        found = Priced(value, columns[used], d[used], x[n:own])
        self.pool = [*self.pool[-POOL + 1 :], found]
        return found

    def _largest_interchangeable(self, slopes: FloatArray) -> tuple[Indices, float]:
        """Return the columns that the slots represent, and half the square of the next slope."""
        size = np.where(self._interchangeable, np.abs(slopes), -1.0)
        order = largest_first(size, self._slots + 1)
        rest = float(size[order[self._slots]]) if len(order) > self._slots else 0.0
        return order[: self._slots], 0.5 * max(0.0, rest) ** 2

    def _proven(self, gains: FloatArray, multipliers: FloatArray, following: float) -> float:
        """Return the bound of multipliers, for gains in units of the largest."""
        y = np.append(multipliers[:-1], min(0.0, multipliers[-1], -following))
        return -lagrangian_bound(replace(self._program, cost=-gains), y)[0]

    def within(self, columns: Indices) -> Polytope:
        """Return the feasible set of the shares of some columns, all others being 0, and of z."""
        F, n, nz = len(columns), len(self.touched), len(self.others)
        place = np.array([self._position.get(j, -1) for j in columns.tolist()], dtype=np.intp)
        known = np.flatnonzero(place >= 0)
        A = np.zeros((self.matrix.shape[0], F + nz))
        A[:, known] = self.matrix[:, place[known]].toarray()
        A[:, F:] = self.matrix[:, n:].toarray()
        lower, upper = np.zeros(F + nz), np.ones(F + nz)
        lower[known], upper[known] = self.lower[place[known]], self.upper[place[known]]
        lower[F:], upper[F:] = self.lower[n:], self.upper[n:]
        return Polytope.of_rows(self.budget, F, A, *self.sides, lower, upper)


class GroupShares(Budget):
    """Means of groups of at most B columns: the restricted problem (15), (16) of the algorithms as printed.

    The shares are ``d = sum_t mu_t 1_t`` over groups t, mu >= 0 and e'mu = 1. Any smaller d costs more, so the rows are
    d <= sum_t mu_t 1_t. At given mu the least ``1/2 sum_j w_j^2 / d_j`` is that of (15).
    """

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self._idle = np.empty(0, dtype=int)

    def add(self, columns: Indices, wanted: Indices) -> bool:
        """Add the group of columns ``wanted``, by their positions in ``columns``; return True if it is new."""
        group = np.flatnonzero(np.isin(columns, wanted))
        if any(np.array_equal(group, t) for t in self.groups):
            return False
        self.groups, self._idle = [*self.groups, group], np.append(self._idle, 0)
        return True

    def conjugate_in_use(self, slopes: FloatArray, d: FloatArray) -> float:
        """Return the largest value of slopes over a group."""
        return max(half_conjugate(slopes[t], len(t)) for t in self.groups)

    def drop(self, mu: FloatArray, patience: int) -> None:
        """Drop groups without weight in the solutions of several rounds."""
        self._idle = idle_rounds(self._idle, mu > USELESS)
        keep = np.flatnonzero(self._idle < patience)
        self.groups, self._idle = [self.groups[t] for t in keep.tolist()], self._idle[keep]

    def within(self, columns: Indices) -> Polytope:
        """Return the shares d of columns, with mu as the other variables."""
        F, T = len(columns), len(self.groups)
        member = np.array([np.isin(np.arange(F), t) for t in self.groups], dtype=float).T
        A = np.block([[np.zeros(F), np.ones(T)], [np.eye(F), -member]])
        up = np.r_[1.0, np.zeros(F)]
        return Polytope.of_rows(self.budget, F, A, np.full(F + 1, -np.inf), up, np.zeros(F + T), np.ones(F + T))


class LinePoint(Protocol):
    """A point with its objective."""

    @property
    def value(self) -> float:
        """The objective."""


P = TypeVar("P", bound=LinePoint)


def search_line(
    ends: Sequence[P],
    evaluate: Callable[[float], P],
    risk_line: Callable[[P], tuple[float, float]],
    other_terms: Callable[[float], float],
    C: float,
    *,
    limit: int,
    accuracy: float,
) -> list[P]:
    """Return points between two ends, each a minimum of the objective with the risk of the rows found so far.

    - ``evaluate``: step in [0, 1] -> the point there.
    - ``risk_line``: point -> value and slope of its row along the line.
    - ``other_terms``: step -> all terms of the objective but the risk.
    - ``limit``: most points. ``accuracy``: of the step.
    """
    found, lines, best = list[P](), [risk_line(end) for end in ends], min(end.value for end in ends)
    for _ in range(limit):
        start, slope = np.array(lines).T

        def modelled(x: float, start: FloatArray = start, slope: FloatArray = slope) -> float:
            return other_terms(x) + C * max(0.0, float((start + x * slope).max()))

        least = scipy.optimize.minimize_scalar(
            modelled, bounds=(0.0, 1.0), method="bounded", options={"xatol": accuracy}
        )
        point = evaluate(float(least.x))
        found.append(point)
        if point.value - least.fun <= 0.1 * (best - least.fun):
            break
        best = min(best, point.value)
        lines.append(risk_line(point))
    return found


def largest_first(size: FloatArray, many: int) -> Indices:
    """Return the positions of the largest entries, the largest first."""
    many = min(many, len(size))
    found = np.argpartition(-size, many - 1)[:many] if many < len(size) else np.arange(len(size))
    return found[np.argsort(-size[found], kind="stable")]
