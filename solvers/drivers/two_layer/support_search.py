r"""Few columns for a risk known by its worst row: exchanges of single columns, pruned by bounds from the data.

For ``v(S) = min over w on the columns S of 1/2 w.w + C r(X w)`` (``composite``), the least v(S) with at most K columns:

    0. Fit each start; first drop the columns of least w_j^2 one after the other where it has more than K.
    1. Each fit leaves multipliers alpha of rows, and with c = h X' sum_k alpha_k u_k a cut, a bound on every S:
       ``v(S) >= h s.alpha - 1/2 sum_{j in S} c_j^2``, the Lagrangian at alpha minimised over w on S.
    2. Of all exchanges (one column for another, or one more where there is room) whose greatest cut is below the best
       value, fit the one with the least; a fit ends as soon as its own cut says that it cannot be better.
    3. Better: go on from there. Else its cut stands for the exchanges that remain; go to 2.

The cuts hold for any alpha >= 0 with e'alpha <= C, so what is left out cannot be better. Where step 2 finds none, no
exchange of single columns lowers the value: a local optimum. How far it is from the best K columns the bound of the
relaxation says (``driver``), which K columns satisfy. A fit is a cutting-plane method: rows are added where the
point of the rows so far is worst, and all fits share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.two_layer.columns import solve_rows
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.result import StopReason, is_closed

FloatArray = NDArray[np.float64]
Indices = NDArray[np.intp]

ACCURACY = 1e-7  # relative, of a fit
LOOSE = 1e-3  # the same while columns are dropped
BETTER = 1e-6  # relative: the least that an exchange must gain
FIT = 300  # rows that a fit may ask for
PATIENCE = 400  # fits without a better value
AGAIN = 60  # rows of the best fit that others begin with
CUTS = 200
CELLS = 2e7  # of the columns looked at, held dense
MOST = 400  # columns looked at


@dataclass
class Fit:
    """The best weights on some of the candidate columns, and the multipliers of the rows ``used``."""

    columns: Indices
    w: FloatArray
    risk: float
    value: float
    alpha: FloatArray
    used: list[int]


@dataclass
class SupportFound:
    """The result of a search; ``local``: whether no exchange of single columns is better."""

    columns: Indices
    w: FloatArray
    risk: float
    value: float
    stop: StopReason
    exchanges: int
    local: bool


class SupportSearch:
    """A search over supports of one risk.

    Parameters
    ----------
    facts : CompositeRisk
    most : int
        K, the most columns.
    C : float
    slopes : ndarray of shape (m,)
        c at the multipliers of the relaxation: columns of large ones are looked at.
    starts : list of arrays
        Columns, the most promising first; all are looked at. The first ones stay where there are too many.
    locked : columns that stay
    rows : list of RiskRow
        Met before.
    """

    def __init__(
        self,
        facts: CompositeRisk,
        most: int,
        C: float,
        slopes: FloatArray,
        starts: Sequence[Indices],
        clock: Clock,
        *,
        locked: Sequence[int] = (),
        rows: Sequence[RiskRow] = (),
    ) -> None:
        self.facts, self.most, self.C, self.clock = facts, most, C, clock
        n, m = facts.matrix.shape
        room = max(2 * most, min(m, MOST, int(CELLS // max(n, 1))))
        first = np.concatenate([np.asarray(locked, dtype=np.intp), *starts, np.argsort(-np.abs(slopes), kind="stable")])
        self.columns = np.array(list(dict.fromkeys(first.tolist()))[:room], dtype=np.intp)
        at = {j: k for k, j in enumerate(self.columns.tolist())}
        self.starts = [np.array([at[j] for j in start.tolist() if j in at], dtype=np.intp) for start in starts]
        self.locked = {at[j] for j in locked}
        X = facts.matrix[:, self.columns]
        self.X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        self.P, self.q = np.empty((0, len(self.columns))), np.empty(0)
        self._known: set[tuple[float, bytes]] = set()
        for row in rows:
            self._add(row)
        self.gains, self.halves = np.empty(0), np.empty((0, len(self.columns)))  # the cuts
        self.best: Fit | None = None
        self.exchanges = 0

    def run(self, bound: float | None, gap: float, *, exchanges: bool = True) -> SupportFound | None:
        """Search until the bound is met, no exchange is better, or a limit; None if stopped before the first point."""
        stop, local = StopReason.CONVERGED, False
        try:
            for start in self.starts:
                fit = self._fit(self._fewer(start), np.inf)
                if not exchanges:
                    break
                if fit is not None:
                    self._improved(fit, bound, gap)
                if self.clock.over or self._met(bound, gap):
                    break
            if exchanges and self.best is not None:
                local = self._improved(self.best, bound, gap)
            if self.clock.over:
                stop = StopReason.TIME_LIMIT
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
        best = self.best
        if best is None:
            return None
        return SupportFound(self.columns[best.columns], best.w, best.risk, best.value, stop, self.exchanges, local)

    def _met(self, bound: float | None, gap: float) -> bool:
        return self.best is not None and is_closed(self.best.value, bound, gap)

    # Step 0.

    def _fewer(self, start: Indices) -> Indices:
        """Drop columns of least weight until K are left, a tenth of the excess at a time."""
        support = start
        while len(support) > self.most:
            fit = self._fit(support, np.inf, LOOSE, keep=False)
            size = np.full(len(support), np.inf) if fit is None else np.abs(fit.w)
            size[[k for k, j in enumerate(support.tolist()) if j in self.locked]] = np.inf
            if fit is None or self.clock.over:
                return support[: self.most]
            leave = max(1, (len(support) - self.most) // 10)
            support = np.delete(support, np.argsort(size, kind="stable")[:leave])
        return support

    # Steps 2 and 3.

    def _improved(self, here: Fit, bound: float | None, gap: float) -> bool:
        """Exchange columns of a fit; return whether no exchange is left."""
        idle = 0
        tried: set[frozenset[int]] = set()
        while not (self.clock.over or self._met(bound, gap) or idle >= PATIENCE):
            move = self._promising(here, tried)
            if move is None:
                return True
            tried.add(frozenset(move.tolist()))
            fit = self._fit(move, here.value * (1 - BETTER))
            idle += 1
            if fit is not None and fit.value < here.value * (1 - BETTER):
                here, idle = fit, 0
                self.exchanges += 1
        return False

    def _promising(self, here: Fit, tried: set[frozenset[int]]) -> Indices | None:
        """Return the untried neighbour of least bound, if that is below the present value."""
        inside = here.columns
        outside = np.setdiff1d(np.arange(len(self.columns)), inside)
        if not len(outside):
            return None
        at_here = self.gains - self.halves[:, inside].sum(axis=1)
        entering = self.halves[:, outside]
        least, move = here.value * (1 - BETTER), None
        leaving: list[int | None] = [j for j in inside.tolist() if j not in self.locked]
        if len(inside) < self.most:
            leaving = [None]
        for i in leaving:
            base = at_here if i is None else at_here + self.halves[:, i]
            bounds = (base[:, None] - entering).max(axis=0)
            rest = inside if i is None else inside[inside != i]
            for k in np.argsort(bounds, kind="stable").tolist():
                if bounds[k] >= least:
                    break
                there = np.append(rest, outside[k])
                if frozenset(there.tolist()) not in tried:
                    least, move = float(bounds[k]), there
                    break
        return move

    # Step 1.

    def _fit(self, columns: Indices, ceiling: float, accuracy: float = ACCURACY, *, keep: bool = True) -> Fit | None:
        """Return the best weights on some columns; None where they cannot be below ``ceiling``."""
        X, used = self.X[:, columns], self._first_rows(columns)
        best: Fit | None = None
        alpha, low = np.empty(0), -np.inf
        for _ in range(FIT):
            if self.clock.over and best is not None:
                break
            P = self.P[used][:, columns]
            alpha, w = solve_rows(P, self.q[used], self.C, self.clock.left)
            slopes = alpha @ P
            low = max(low, float(self.q[used] @ alpha) - 0.5 * float(slopes @ slopes))
            scores = X @ w
            row = self.facts.worst(scores)
            risk = max(0.0, self.facts.scale * (row.side - float(row.coefficients.astype(float) @ scores)))
            value = 0.5 * float(w @ w) + self.C * risk
            if best is None or value < best.value:
                best = Fit(columns, w, risk, value, alpha, list(used))
            if low >= ceiling or best.value - low <= accuracy * best.value:
                break
            new = {self._add(row), int(np.argmax(self.q + self.P[:, columns] @ w))} - set(used)
            if not new:
                break
            used = [*used, *sorted(new)]
        self._cut(alpha, used[: len(alpha)])
        assert best is not None
        if keep and (self.best is None or best.value < self.best.value):
            self.best = best
        return None if low >= ceiling else best

    def _first_rows(self, columns: Indices) -> list[int]:
        """Return rows that carried the best fit so far, or the worst one at w = 0."""
        if self.best is not None:
            order = np.argsort(-self.best.alpha, kind="stable")[:AGAIN]
            carried = [self.best.used[k] for k in order.tolist() if self.best.alpha[k] > 0]
            if carried:
                return carried
        return [self._add(self.facts.worst(np.zeros(self.X.shape[0])))]

    def _add(self, row: RiskRow) -> int:
        """Return the position of a row, after adding it if it is new."""
        key = (row.side, row.coefficients.tobytes())
        side = self.facts.scale * row.side
        slopes = -self.facts.scale * (row.coefficients.astype(float) @ self.X)
        if key in self._known:
            same = np.flatnonzero((self.q == side) & (slopes == self.P).all(axis=1))
            if len(same):
                return int(same[0])
        self._known.add(key)
        self.P, self.q = np.vstack([self.P, slopes]), np.append(self.q, side)
        return len(self.q) - 1

    def _cut(self, alpha: FloatArray, used: list[int]) -> None:
        slopes = alpha @ self.P[used]
        self.gains = np.append(self.gains, float(self.q[used] @ alpha))[-CUTS:]
        self.halves = np.vstack([self.halves, 0.5 * slopes**2])[-CUTS:]
