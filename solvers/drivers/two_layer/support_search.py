r"""Search for few columns for a risk known by its worst row: exchanges of single columns, pruned by proven bounds.

For ``v(S) = min over w on the columns S of 1/2 w.w + C r(X w)`` (``composite``), the least v(S) with at most K columns:

    0. Fit each start. If it has more than K columns, first drop those of least w_j^2 one after the other.
    1. Each fit leaves multipliers alpha of rows, and with c = h X' sum_k alpha_k u_k a cut, a bound on every S:
       ``v(S) >= h s.alpha - 1/2 sum_{j in S} c_j^2``, the Lagrangian at alpha minimised over w on S.
    2. Of all exchanges (one column for another, or one more if there are fewer than K) whose greatest cut is below the
    best
       value, fit the one with the least; a fit ends as soon as its own cut proves that it cannot be better.
    3. If it is better, continue there. Otherwise its cut remains for the other exchanges; go to 2.

The cuts hold for any alpha >= 0 with e'alpha <= C, so the exchanges that are left out cannot be better. If step 2 finds
none, no exchange of single columns lowers the value: a local optimum. The relaxation (``driver``) bounds its distance
from the best K columns, which satisfy it. A fit is that of ``selection``; all fits share their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.two_layer.columns import FloatArray
from solvers.drivers.two_layer.selection import SelectionOracle, load_nowhere
from solvers.drivers.two_layer.working_set import RowPool
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.facts.structure import Cut
from solvers.result import StopReason, is_closed

Indices = NDArray[np.intp]

ACCURACY = 1e-7  # relative, of a fit
LOOSE = 1e-3  # relative, of a fit while columns are dropped
BETTER = 1e-6  # relative: the least gain of an exchange
PATIENCE = 400  # fits without a better value
CUTS = 200  # latest cuts that are kept: each is evaluated at every candidate
CELLS = 2e7  # of the matrix of candidate columns, which is dense
MOST = 400  # candidate columns


@dataclass
class Fit:
    """The best weights ``w`` on some of the candidate columns."""

    columns: Indices
    w: FloatArray
    value: float


@dataclass
class SupportFound(Fit):
    """The result of a search; ``local``: True if no exchange of single columns is better."""

    stop: StopReason
    exchanges: int
    local: bool


class SupportSearch:
    """Search over the supports of one risk.

    Parameters
    ----------
    facts : CompositeRisk
    most : int
        K, the largest number of columns.
    C : float
    slopes : ndarray of shape (m,)
        c at the multipliers of the relaxation: columns of large slopes are candidates.
    starts : list of arrays
        Columns, the most promising first; all are candidates. If there are too many, the first ones are kept.
    locked : columns that are never removed
    rows : list of RiskRow
        Rows found before.
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
        self.most, self.clock = most, clock
        n, m = facts.matrix.shape
        room = max(2 * most, min(m, MOST, int(CELLS // max(n, 1))))
        first = np.concatenate([np.asarray(locked, dtype=np.intp), *starts, np.argsort(-np.abs(slopes), kind="stable")])
        self.columns = np.array(list(dict.fromkeys(first.tolist()))[:room], dtype=np.intp)
        at = {j: k for k, j in enumerate(self.columns.tolist())}
        self.starts = [np.array([at[j] for j in start.tolist() if j in at], dtype=np.intp) for start in starts]
        self.locked = {at[j] for j in locked}
        X = facts.matrix[:, self.columns]
        self.matrix = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        self._facts, self._C, self._rows = facts, C, rows
        self.cuts: list[Cut] = []
        self.best: Fit | None = None
        self.exchanges = 0

    def run(self, bound: float | None, gap: float, *, exchanges: bool = True) -> SupportFound | None:
        """Search until the bound is met, no exchange is better, or a limit is reached; return None without a point."""
        stop, local = StopReason.CONVERGED, False
        try:
            pool = RowPool(self.matrix, self._facts.worst, self._facts.scale)
            for row in self._rows:
                pool.add(row)
            self.oracle = SelectionOracle(pool, self.most, self._C, load_nowhere)
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
        return SupportFound(self.columns[best.columns], best.w, best.value, stop, self.exchanges, local)

    def _met(self, bound: float | None, gap: float) -> bool:
        return self.best is not None and is_closed(self.best.value, bound, gap)

    # Step 0.

    def _fewer(self, start: Indices) -> Indices:
        """Drop the columns of least weight, a tenth of the excess at a time, until K are left."""
        support = start
        while len(support) > self.most:
            size = np.abs(self._loose(support))
            size[[k for k, j in enumerate(support.tolist()) if j in self.locked]] = np.inf
            if self.clock.over:
                return support[: self.most]
            leave = max(1, (len(support) - self.most) // 10)
            support = np.delete(support, np.argsort(size, kind="stable")[:leave])
        return support

    # Steps 2 and 3.

    def _improved(self, here: Fit, bound: float | None, gap: float) -> bool:
        """Exchange columns of a fit; return True if no exchange is left."""
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
        """Return the untried neighbour of least bound if this bound is below the present value."""
        inside = here.columns
        outside = np.setdiff1d(np.arange(len(self.columns)), inside)
        if not len(outside):
            return None
        halves = -np.array([cut.coefficients for cut in self.cuts])
        at_here = np.array([cut.constant for cut in self.cuts]) - halves[:, inside].sum(axis=1)
        entering = halves[:, outside]
        least, move = here.value * (1 - BETTER), None
        leaving: list[int | None] = [j for j in inside.tolist() if j not in self.locked]
        if len(inside) < self.most:
            leaving = [None]
        for i in leaving:
            base = at_here if i is None else at_here + halves[:, i]
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

    def _fit(self, columns: Indices, ceiling: float) -> Fit | None:
        """Return the best weights on at most K columns; None if they cannot be below ``ceiling``."""
        answer = self.oracle.solve(self._selection(columns), ACCURACY, self.clock.left, ceiling=ceiling)
        assert answer.cut is not None
        assert answer.value is not None
        self.cuts = [*self.cuts[-CUTS + 1 :], answer.cut]
        fit = Fit(columns, answer.values[columns], answer.value)
        if self.best is None or fit.value < self.best.value:
            self.best = fit
        return None if answer.bound >= ceiling else fit

    def _loose(self, columns: Indices) -> FloatArray:
        """Return rough weights on any number of columns."""
        oracle = replace(self.oracle, budget=len(columns))
        return np.asarray(oracle.solve(self._selection(columns), LOOSE, self.clock.left).values[columns])

    def _selection(self, columns: Indices) -> FloatArray:
        sigma = np.zeros(len(self.columns))
        sigma[columns] = 1.0
        return sigma
