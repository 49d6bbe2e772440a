r"""Proof of FS: a bound for all supports between two supports, for ``branch-and-cut``.

Problem
    With q(S) = (1 - lambda) E(S), E(S) the robust LP (5) on the features S, FS with any rows and costs on sigma and on
    user variables is

    .. math:: \min\ c^\top z + q(S), \quad z = (\sigma, u) \in P, \quad S = \{j : \sigma_j = 1\}

    No bound on w follows from the data, so no row between w and sigma makes a relaxation. But q does not increase with
    S, and is at least 0.
Bound of a node
    I contains the features with sigma_j = 1, F the undecided ones. A solution has S = I, or I and some features of F:

    .. math:: \min \{ L(I) + q(I),\ L^+ + q(I \cup F) \}

    with L(I) a lower bound of c.z over P for sigma_F = 0, and L+ one for a sum of sigma_F of at least 1
    (``solvers.facts.row_cut``). The first is a bound of the cost of I, which is also evaluated as an incumbent.
Cut
    If f is a lower bound of all q, eta >= q(S) - (q(S) - f) sum_{j not in S} sigma_j at every 0/1 point: a support
    within S has at least q(S), and any other support at least f.
Incumbents
    At the root and at one node in fifty, a backward elimination drops the features with the smallest prices from the
    plane of the node, down to I, and the best support is tried. Exchanges improve it.
Branching
    Without pseudo-costs, on the feature with the largest effect in the plane of I and F: |w_j| times the size of its
    column.

The robust LP (5) on any support: a proven bound, a plane, and a price of each feature.

Proof
    The dual of E(S) is solved, max e'a over A_S a = 0, 0 <= a <= s, in equilibrated columns: n + 1 rows with bounded
    columns, in a third of the time of the primal. Its multipliers are weights. Their slacks are computed from the data,
    so they are feasible; a is repaired and gives a bound by weak duality (``bounds``). The status of the LP solver is
    not used as a proof.
Prices
    For a feature of S, the increase of E if the feature is replaced by its mean and all else is fixed; for any other
    feature, the reduced cost of its weight times the median size of the weights of S.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from fsmodels.models.proofs.bounds import robust_bound, slacks
from fsmodels.models.proofs.certified import Point
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.weights import FloatArray, Mask
from solvers.clock import Clock
from solvers.facts import Cut, LinearRows, RelaxedAnswer, RowBound, SubAnswer
from solvers.lp.highs import HighsLP, LpStatus

KEPT = 20_000  # planes in memory
NONE = 1e-9  # smaller weights, relative to the largest, are rounding errors


@dataclass(frozen=True)
class Plane:
    """Solution of the robust LP on a support: proven bound, a plane with its error, and the multipliers a (l,)."""

    bound: float
    error: float
    w: FloatArray
    b: float
    xi: FloatArray
    size: FloatArray  # of w, in equilibrated columns
    a: FloatArray


class RobustOn:
    """The robust LP on any support, with one persistent LP for large supports and one for small supports."""

    def __init__(self, columns: Columns, y: FloatArray, shares: FloatArray) -> None:
        self._columns, self._y, self._s = columns, y, shares
        self._n = len(columns.factor)
        self._lps: dict[bool, HighsLP] = {}
        self._known: dict[bytes, Plane] = {}

    def __call__(self, used: Mask, time_limit: float | None) -> Plane:
        """Return the plane on the features ``used`` (n,); w = 0 and the bound 0 after the time limit."""
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
        """Return an estimate of the change of E if each feature (n,) is added, or was not in the support."""
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
        if time_limit is None or time_limit > 0:  # passing the data to HiGHS takes a second for 5000 x 800
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


AT_ONCE = 20  # one in 20 features is dropped per plane: a hundred planes from 1000 features to none
SEARCHED = 50  # one in 50 nodes is searched for an incumbent
LARGE, SMALL = 0.9, 0.1  # sigma of the open features with the largest and the smallest effect in a plane


def _between(size: FloatArray, inside: Mask, open_: Mask) -> FloatArray:
    """Return sigma with values between 0 and 1 for the open features with a weight."""
    size = np.where(open_, size, 0.0)
    largest = size.max(initial=0.0)
    between = SMALL + (LARGE - SMALL) * size / largest if largest > 0 else size
    return np.where(inside, 1.0, np.where(size > 0, between, 0.0))


def _ignore(model: Any, point: Point) -> None:
    """Ignore a point, because there is no model."""


class Supports:
    """Subproblem of FS and its relaxation, for a ``Structure``; valid only for the model as built."""

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
        return Supports(SimpleNamespace(penalty=float(pyo.value(self._model.penalty))), *self._data, _ignore)

    def parameters(self) -> tuple[float]:
        """Return the parameters of the subproblem other than sigma."""
        return (float(pyo.value(self._model.penalty)),)

    def solve(self, point: FloatArray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Solve the subproblem at sigma (n,) in [0, 1]; features with sigma_j > 0 may be used."""
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
        """Bound all supports within bounds: ``facts.structure.Relaxation``; None if the rows give no bound."""
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
