r"""The shares d that weights may have: D alone, in closed form, or D with rows, by linear programs.

With rows R on d and further variables z (``facts.composite``), the regulariser and its conjugate are

.. math::
    \Omega(w) = \min_{(d, z) \in D \cap R} \tfrac12 \textstyle\sum_j w_j^2 / d_j, \qquad
    \Omega^*(c) = \max_{(d, z) \in D \cap R} \tfrac12 \textstyle\sum_j d_j c_j^2,

the second since ``max over w of c.w - 1/2 w^2 / d = 1/2 d c^2``: a linear program in (d, z), and the bound of step 2 of
``driver`` is the rows' constants less its value at c = h X' sum_k alpha_k u_k, for any alpha >= 0 with e'alpha <= C.
Weak duality makes that exact: for multipliers y of the rows (>= 0 on upper sides) and eta >= 0 of sum d <= B,

.. math::
    \Omega^*(c) \le y \cdot \text{sides} + \eta B
        + \textstyle\sum_j \max_{d_j} (\tfrac12 c_j^2 - \eta - a_j \cdot y) d_j
        + \textstyle\sum_k \max_{z_k} (-a_k \cdot y) z_k

over the boxes, whatever y and eta are. Columns in no row and of box [0, 1] are alike: no optimum needs more of them
than the B of largest ``|c_j|``, so that the program has B slots for them all, and their part of the sum is that of
max(0, 1/2 c_j^2 - eta). With eta at least the next of these it is that of the slots, and no larger than before.

``Omega`` has no closed form: a point carries d and z with it, and its value is that at its own d. The function
``w_j^2 / d_j`` is convex in both, so points between two are worth no more than the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.drivers.two_layer.columns import Polytope
from solvers.drivers.two_layer.working_set import USELESS, idle_rounds
from solvers.facts.k_support import half_conjugate, half_norm, largest
from solvers.facts.row_cut import lagrangian_bound
from solvers.lp.highs import FINEST, HighsLP, LpStatus
from solvers.model.linear import LinearRows
from solvers.values import bounds_of

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]

SHORT = 40  # times the budget: columns that a search between dual points looks at
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
    """D alone. ``groups``: of columns, by their places, where the shares are means of groups."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.groups: list[Indices] = []

    def omega(self, w: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
        """Return the regulariser of weights and the shares that attain it."""
        return half_norm(w, self.budget)

    def conjugate(self, slopes: FloatArray) -> float:
        """Return the value of slopes over all columns."""
        return half_conjugate(slopes, self.budget)

    def conjugate_in_use(self, slopes: FloatArray, d: FloatArray) -> float:
        """Return the value of slopes over the columns in use; d is optimal for them."""
        return half_conjugate(slopes, self.budget)

    def between(self, start: FloatArray, end: FloatArray) -> Callable[[float], float]:
        """Return the value of slopes between two, over the columns of large ones."""
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
    """D with rows on shares and variables of the user's own.

    ``rows``: linear rows. ``shares``: list of (column, variable) of the d that occur in rows or have a box of their
    own. ``others``: the other variables of the rows.
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
        self._alike = np.ones(columns, dtype=bool)
        self._alike[self.touched] = False
        self._place = {int(j): k for k, j in enumerate(self.touched.tolist())}
        self._slots = min(budget, columns - n)
        self.pool: list[Priced] = []
        total = n + len(others) + self._slots
        lower, upper = np.r_[self.lower, np.zeros(self._slots)], np.r_[self.upper, np.ones(self._slots)]
        self.clash = bool(np.any(lower > upper))
        self._lp = HighsLP(np.zeros(total), lower, np.maximum(lower, upper), tolerance=FINEST)
        whole = np.zeros((len(rows), total))
        whole[:, : n + len(others)] = linear.matrix.toarray()
        ones = np.r_[np.ones(n), np.zeros(len(others)), np.ones(self._slots)]
        matrix, low, up = np.vstack([whole, ones]), np.r_[linear.lower, -np.inf], np.r_[linear.upper, float(budget)]
        self._lp.add_rows(matrix, low, up)
        self._program = LinearRows([], [], sparse.csr_matrix(matrix), low, up, lower, upper, np.zeros(total), 0.0)

    def omega(self, w: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
        """Return the regulariser of weights at the shares that they come with."""
        used = w != 0
        if np.any(d[used] <= 0.0):
            return np.inf, d
        return 0.5 * float((w[used] ** 2 / d[used]).sum()), d

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
        """Return the value of slopes between two at the vertices found so far, each of which is a parabola."""
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
        found = self.price(np.zeros(len(self._alike)))
        return None if self.clash or not np.isfinite(found.value) else found

    def price(self, slopes: FloatArray) -> Priced:
        """Solve the program at slopes; without an answer the value is infinite, because nothing is proven."""
        n, half = len(self.touched), 0.5 * slopes**2
        top, following = self._largest_alike(slopes)
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

    def _largest_alike(self, slopes: FloatArray) -> tuple[Indices, float]:
        """Return the columns outside all rows that the slots represent, and half the square of the next slope."""
        size = np.where(self._alike, np.abs(slopes), -1.0)
        order = largest_first(size, self._slots + 1)
        rest = float(size[order[self._slots]]) if len(order) > self._slots else 0.0
        return order[: self._slots], 0.5 * max(0.0, rest) ** 2

    def _proven(self, gains: FloatArray, multipliers: FloatArray, following: float) -> float:
        """Return the bound of multipliers, for gains in units of the largest."""
        y = np.append(multipliers[:-1], min(0.0, multipliers[-1], -following))
        return -lagrangian_bound(replace(self._program, cost=-gains), y)[0]

    def within(self, columns: Indices) -> Polytope:
        """Return the budget's row and the user's over the shares of columns, the others of which are 0, and z."""
        F, n, nz = len(columns), len(self.touched), len(self.others)
        place = np.array([self._place.get(j, -1) for j in columns.tolist()], dtype=np.intp)
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

    The shares are ``d = sum_t mu_t 1_t`` over groups t, mu >= 0 and e'mu = 1; any smaller d costs more, so that here
    d <= sum_t mu_t 1_t. At given mu the least ``1/2 sum_j w_j^2 / d_j`` is that of (15).
    """

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self._idle = np.empty(0, dtype=int)

    def add(self, columns: Indices, wanted: Indices) -> bool:
        """Add the group of columns ``wanted``, by its places in ``columns``; return whether it is new."""
        group = np.flatnonzero(np.isin(columns, wanted))
        if any(np.array_equal(group, t) for t in self.groups):
            return False
        self.groups, self._idle = [*self.groups, group], np.append(self._idle, 0)
        return True

    def conjugate_in_use(self, slopes: FloatArray, d: FloatArray) -> float:
        """Return the largest value of slopes over a group."""
        return max(half_conjugate(slopes[t], len(t)) for t in self.groups)

    def drop(self, mu: FloatArray, patience: int) -> None:
        """Drop groups without weight in the answers of some rounds."""
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


def largest_first(size: FloatArray, many: int) -> Indices:
    """Return the positions of the largest entries, the largest first."""
    many = min(many, len(size))
    found = np.argpartition(-size, many - 1)[:many] if many < len(size) else np.arange(len(size))
    return found[np.argsort(-size[found], kind="stable")]
