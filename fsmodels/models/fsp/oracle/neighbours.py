"""Relaxations solved of late, and which of them is nearest to a new one: what screening and pricing guess from.

A relaxation within narrower bounds than another one's is near to it where that one's sigma hardly has to move.

Which columns a relaxation may leave out: those that a neighbouring one has priced out.

At an optimum few sigma are above 0, nearly all others have reduced costs well above 0. Leaving the far ones out is to
fix them at 0: a smaller problem, whose multipliers prove a bound on the whole one all the same, by the reduced costs of
all columns. Where one of those left out turns out to be worth taking, it joins, and the question is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmodels.models.proofs.svm import Array

NARROW, FEW = 0.1, 10  # what a bound that the other has and this one has not counts for; how many
MOST, CELLS = 400, 2_000_000  # relaxations kept, and numbers of each kind


@dataclass(frozen=True)
class Solved:
    """A relaxation's weights (n,), offset, sigma (n,), its reduced costs (n,), and the margins (l,) where kept."""

    w: Array
    offset: float
    sigma: Array
    costs: Array
    margins: Array | None = None


class Neighbours:
    """The first relaxation and the latest of n features, each with its bounds on sigma."""

    def __init__(self, n: int) -> None:
        self._most = int(min(MOST, max(2, CELLS // max(n, 1))))
        self._in, self._out, self._sigma = (np.zeros((self._most, n), dtype=np.float32) for _ in range(3))
        self._solved: list[Solved] = []
        self._at = 0  # of the latest

    def add(self, lower: Array, upper: Array, solved: Solved) -> None:
        """Keep a relaxation and its bounds (n,); the first stays, the oldest of the others goes."""
        if len(self._solved) < self._most:
            self._solved.append(solved)
            self._at = len(self._solved) - 1
        else:
            self._at = self._at % (self._most - 1) + 1
            self._solved[self._at] = solved
        self._in[self._at], self._out[self._at], self._sigma[self._at] = lower > 0, upper <= 0, solved.sigma

    def nearest(self, lower: Array, upper: Array) -> tuple[Solved, Array] | None:
        """Return the nearest of those with wider bounds, and the largest sigma of the nearest few of all.

        The latest of several, and the latest of all where none has wider bounds.
        """
        count = len(self._solved)
        if not count:
            return None
        inside, outside = (lower > 0).astype(np.float32), (upper <= 0).astype(np.float32)
        narrower = self._in[:count] @ (1 - inside) + self._out[:count] @ (1 - outside)
        moves = self._sigma[:count] @ (outside - inside)
        near = np.argsort(moves + NARROW * narrower, kind="stable")[:FEW]
        moves[narrower > 0] = np.inf
        best = self._at if moves[self._at] <= moves.min() else int(np.argmin(moves))
        return self._solved[best], np.maximum(self._sigma[near].max(axis=0), self._solved[best].sigma)


LEAST = 12  # columns that stay in any case
SPARE, LOWEST, HIGHEST = 1.3, 1.1, 2.0  # columns that stay for each that is above 0 there: at first, and limits
NARROWER, WIDER = 0.98, 1.1  # after a right guess and after a wrong one
ABOVE = 0.01  # sigma from which on a column counts as above 0, which an interior point never leaves quite at 0
JOINING = 1.0  # columns that may join at once for each that stayed
ALL = 0.7  # of the columns: beyond, all stay


class Pricing:
    """How many columns stay for each that is above 0 in a neighbour."""

    def __init__(self) -> None:
        self._spare = SPARE

    def part(self, near: tuple[Solved, Array] | None, support: Array, needed: Array) -> Array:
        """Return a guess which columns stay, as positions in ``support``; all where nothing is known, or to be gained.

        ``support`` (k,): the features whose sigma may be above 0. ``needed`` (k,): which have to stay in any case.
        """
        if near is not None:
            stays = needed | (near[1][support] > ABOVE)
            most = int(max(LEAST, self._spare * np.count_nonzero(stays)))
            if most < ALL * support.size:
                stays[np.argpartition(near[0].costs[support], most)[:most]] = True
                if int(np.count_nonzero(stays)) < ALL * support.size:
                    return np.flatnonzero(stays)
        return np.arange(support.size)

    def joined(self, among: Array, costs: Array) -> Array:
        """Return ``among`` and the best other columns by the reduced costs (k,) of a relaxation."""
        others = np.setdiff1d(np.flatnonzero(costs < 0), among)
        most = max(LEAST, int(JOINING * among.size))
        return np.union1d(among, others[np.argsort(costs[others], kind="stable")[:most]])

    def adapt(self, *, right: bool) -> None:
        """Keep fewer columns after a right guess, and more after a wrong one."""
        self._spare = max(LOWEST, self._spare * NARROWER) if right else min(HIGHEST, self._spare * WIDER)
