r"""What proves FS: a bound over all supports between two, for ``branch-and-cut``.

Problem
    With q(S) = (1 - lambda) E(S), E(S) the robust LP (5) on the features S, FS with any rows and costs of the user's on
    sigma and variables of the user's own is

    .. math:: \min\ c^\top z + q(S), \quad z = (\sigma, u) \in P, \quad S = \{j : \sigma_j = 1\}

    No bound on w follows from the data, so no row between w and sigma makes a relaxation. But q does not increase with
    S, and is at least 0.
Bound of a node
    I holds the features with sigma_j = 1, F those that are still open. A solution within has S = I, or I and some of F:

    .. math:: \min \{ L(I) + q(I),\ L^+ + q(I \cup F) \}

    with L(I) a lower bound of c.z over P where F is 0, and L+ one where sigma_F sums to 1 at least
    (``solvers.facts.row_cut``). The first is a bound of what I itself costs, which is asked as an incumbent.
Cut
    With f no more than any q, eta >= q(S) - (q(S) - f) sum_{j not in S} sigma_j at every 0/1 point: a support within S
    has no less than q(S), and any other has f at least.
Incumbents
    At the root and at one node in fifty, what is worth least by its price is dropped from the node's
    plane again and again, down to I; the best support met is tried. Exchanges do the rest.
Branching
    Until something is learnt, on what the plane of I and F uses most: |w_j| times the size of its column.

The robust LP (5) on any support: a proven bound, a plane, and what each feature is worth there.

Proof
    E(S) is solved as its dual, max e'a over A_S a = 0, 0 <= a <= s, in equilibrated columns: n + 1 rows with bounded
    columns, in a third of the primal's time. Its multipliers are weights, whose slacks are computed from the data, so
    that they are feasible; a is repaired to a bound by weak duality (``bounds``). The LP solver's word counts for
    nothing.
Prices
    For a feature of S, what E rises by where it is its mean and all else stays; for any other, the reduced cost of
    its weight times the median size of those of S.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.models.proofs.bounds import robust_bound, slacks
from fsmodels.models.proofs.certified import Point
from fsmodels.models.proofs.equilibration import Columns
from solvers.clock import Clock
from solvers.facts import Cut, LinearRows, RelaxedAnswer, RowBound, SubAnswer
from solvers.lp.highs import HighsLP, LpStatus

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]

KEPT = 20_000  # planes remembered
NONE = 1e-9  # relative: weights below this of the largest are rounding


@dataclass(frozen=True)
class Plane:
    """The robust LP on a support: its proven bound, a plane and what it costs, and the multipliers (l,)."""

    bound: float
    error: float
    w: FloatArray
    b: float
    xi: FloatArray
    size: FloatArray  # of w, in equilibrated columns
    a: FloatArray


class RobustOn:
    """The robust LP on any support: two persistent LPs, as large supports are near large ones, and small near small."""

    def __init__(self, columns: Columns, y: FloatArray, shares: FloatArray) -> None:
        self._columns, self._y, self._s = columns, y, shares
        self._n = len(columns.factor)
        self._lps: dict[bool, HighsLP] = {}
        self._known: dict[bytes, Plane] = {}

    def __call__(self, used: Mask, time_limit: float | None) -> Plane:
        """Return the plane on the features ``used`` (n,); w = 0 and no bound above 0 where time is up."""
        key = used.tobytes()
        if key not in self._known:
            plane, solved = self._solve(used, time_limit)
            if not solved:
                return plane
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[key] = plane
        return self._known[key]

    def known(self, used: Mask) -> Plane | None:
        """Return the plane if it was computed before."""
        return self._known.get(used.tobytes())

    def prices(self, used: Mask, plane: Plane) -> FloatArray:
        """Return what each feature (n,) changes E by, as an estimate, where it joins, or has been."""
        columns, y, s = self._columns, self._y, self._s
        gains = np.abs(np.asarray(columns.z.T @ (y * plane.a)).ravel())
        sizes = plane.size[plane.size > 0]
        worth = gains * (np.median(sizes) if len(sizes) else 1.0)
        z = _dense(columns.z[:, used])
        short = 1.0 - y * (columns.z @ (plane.w / columns.factor) + plane.b + float(columns.centre @ plane.w))
        moved = y[:, None] * (z - z.mean(axis=0)) * (plane.w / columns.factor)[used]
        worth[used] = s @ np.maximum(0.0, short[:, None] + moved) - plane.error
        return -worth

    def _solve(self, used: Mask, time_limit: float | None) -> tuple[Plane, bool]:
        columns, y, s, n = self._columns, self._y, self._s, self._n
        large = 2 * int(used.sum()) > n
        answer = None
        if time_limit is None or time_limit > 0:  # to hand the data to HiGHS takes a second for 5000 x 800
            if large not in self._lps:
                self._lps[large] = self._built()
            side = np.where(used, 0.0, np.inf)
            self._lps[large].set_sides(np.arange(n), -side, side)
            answer = self._lps[large].solve(time_limit)
        solved = answer is not None and answer.status is LpStatus.OPTIMAL
        u, a = np.zeros(n), np.zeros(len(y))
        if answer is not None and solved:
            u, a = np.where(used, -answer.multipliers[:n], 0.0), answer.point
            u[np.abs(u) <= NONE * np.abs(u).max(initial=0.0)] = 0.0
        w, b, xi = slacks(columns, y, s, u * columns.factor)
        error = float(s @ xi)
        bound = min(error, robust_bound(_part(columns, used), y, s, a)) if a.any() else 0.0
        return Plane(bound, error, w, b, xi, np.abs(w / columns.factor), a), solved

    def _built(self) -> HighsLP:
        z, y, s = self._columns.z, self._y, self._s
        rows = sparse.vstack([sparse.csr_array(z.T * y), sparse.csr_array(y[None])])
        lp = HighsLP(-np.ones(len(y)), np.zeros(len(y)), s)
        lp.add_rows(rows, np.zeros(self._n + 1), np.zeros(self._n + 1))
        return lp


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _part(columns: Columns, used: Mask) -> Columns:
    return Columns(columns.X[:, used], columns.centre[used], columns.factor[used], columns.largest[used])


AT_ONCE = 20  # a share of the features that is dropped at once: a hundred planes from 1000 features to none
SEARCHED = 50  # nodes of which one is searched for an incumbent
LARGE, SMALL = 0.9, 0.1  # where the features are put, between 0 and 1, that a plane uses most and least


def _between(size: FloatArray, inside: Mask, open_: Mask) -> FloatArray:
    """Return sigma with those of the open features that have a weight between 0 and 1."""
    size = np.where(open_, size, 0.0)
    largest = size.max(initial=0.0)
    between = SMALL + (LARGE - SMALL) * size / largest if largest > 0 else size
    return np.where(inside, 1.0, np.where(size > 0, between, 0.0))


def _put_nowhere(model: Any, point: Point) -> None:
    """Leave a point where it is: there is no model."""


class Supports:
    """FS's subproblem and its relaxation, for a ``Structure``; valid as built only."""

    def __init__(
        self, model: Any, columns: Columns, y: FloatArray, shares: FloatArray, put: Callable[[Any, Point], None]
    ) -> None:
        self._model, self._put = model, put
        self._data = columns, y, shares
        self._robust = RobustOn(columns, y, shares)
        self._rows: RowBound | None = None
        self._calls = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Supports:
        """Return the copy for a clone of the model; the data are constant and shared."""
        copy = Supports.__new__(Supports)
        memo[id(self)] = copy
        copy.__init__(deepcopy(self._model, memo), *self._data, self._put)  # type: ignore[misc]
        return copy

    def detached(self) -> Supports:
        """Return a copy without the model, for other processes."""
        return Supports(SimpleNamespace(penalty=float(pyo.value(self._model.penalty))), *self._data, _put_nowhere)

    def parameters(self) -> tuple[float]:
        """Return what the subproblem's value depends on besides sigma."""
        return (float(pyo.value(self._model.penalty)),)

    def solve(self, point: FloatArray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at sigma (n,), each in [0, 1]; what is above 0 may be used."""
        used = point > 0
        plane, share = self._robust(used, time_limit), self._share()
        chosen = Point(plane.w, plane.b, plane.xi, point > 0.5)
        return SubAnswer(
            share * plane.error,
            share * plane.bound,
            self._cut(used, plane),
            lambda: self._put(self._model, chosen),
            plane,
            share * self._robust.prices(used, plane),
        )

    def relax(
        self,
        master: LinearRows,
        lower: FloatArray,
        upper: FloatArray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Bound all supports within bounds: ``facts.structure.Relaxation``; None where the rows bound nothing."""
        n = len(self._data[0].factor)
        if self._rows is None or self._rows.master is not master:
            self._rows, self._calls = RowBound(master, n), 0
        self._calls += 1
        clock = Clock(time_limit)
        inside, allowed, share = lower[:n] > 0.5, upper[:n] > 0.5, self._share()
        open_ = allowed & ~inside
        plane = self._robust(allowed, clock.left)
        fewest = upper.copy()
        fewest[:n][open_] = 0.0
        exact, point = self._rows.least(lower, fewest, np.zeros(n, dtype=bool), clock.left)
        first, more = exact + share * plane.bound, np.inf
        if open_.any():
            more, point_of_more = self._rows.least(lower, upper, open_, clock.left)
            more += share * plane.bound
            if first < enough:
                first = exact + share * self._robust(inside, clock.left).bound
            if more < first:
                point = point_of_more
        bound = min(first, more)
        if bound == -np.inf:
            return None
        point = point.copy()
        point[:n] = inside if first <= more else _between(plane.size, inside, open_)
        choices: list[Mask] = []
        if self._calls % SEARCHED == 1 and first > more:
            choices = [inside, self._eliminated(plane, master.cost[:n], inside, clock)]
        return RelaxedAnswer(
            bound, point, np.zeros(len(point)), self._cut(allowed, plane), [np.where(c, 1.0, 0.0) for c in choices]
        )

    def _eliminated(self, plane: Plane, cost: FloatArray, inside: Mask, clock: Clock) -> Mask:
        """Return the best support of a backward elimination, which drops the feature with the smallest effect."""
        used = inside | (plane.size > 0)
        best, least = used, np.inf
        while True:
            plane = self._robust(used, clock.left)
            value = float(cost[used].sum()) + self._share() * plane.error
            if value < least:
                best, least = used, value
            left = np.flatnonzero(used & ~inside)
            if not len(left) or clock.over:
                return best
            used = used & (inside | (plane.size > 0))
            least_worth = np.argsort(-self._robust.prices(used, plane)[left], kind="stable")
            used[left[least_worth[: max(1, len(left) // AT_ONCE)]]] = False

    def _share(self) -> float:
        return 1.0 - float(pyo.value(self._model.penalty))

    def _cut(self, used: Mask, plane: Plane) -> Cut:
        share = self._share()
        whole = self._robust.known(np.ones(len(used), dtype=bool))
        value, floor = share * plane.bound, 0.0 if whole is None else share * whole.bound
        return Cut(value, np.where(used, 0.0, -max(0.0, value - floor)))
