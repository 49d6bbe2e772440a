"""Recently solved relaxations: the nearest one to a new relaxation is the basis of screening and pricing.

A relaxation with narrower bounds is near to another one if the sigma of the other hardly has to change.

Pricing selects the columns of a relaxation. At an optimum few sigma are above 0, and nearly all others have reduced
costs well above 0. The columns with the largest reduced costs in a neighbouring relaxation are left out, that is, their
sigma is fixed at 0. The multipliers of the smaller problem prove a bound of the whole problem by the reduced costs of
all columns. If a column that was left out has a negative reduced cost, it is added and the problem is solved again.
Without a neighbour, the multipliers of a guess give the reduced costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmodels.models.proofs.svm import Array

MOST, CELLS = 400, 2_000_000  # kept relaxations, and numbers of each kind


@dataclass(frozen=True)
class Solved:
    """Weights (n,), offset, sigma (n,), reduced costs (n,) and, if kept, margins (l,) of a relaxation."""

    w: Array
    offset: float
    sigma: Array
    costs: Array
    margins: Array | None = None


class Neighbours:
    """The first and the latest relaxations, each with its bounds on sigma."""

    def __init__(self, n: int) -> None:
        self._most = int(min(MOST, max(2, CELLS // max(n, 1))))
        self._in, self._out, self._sigma = (np.zeros((self._most, n), dtype=np.float32) for _ in range(3))
        self._solved: list[Solved] = []
        self._at = 0  # position of the latest

    def add(self, lower: Array, upper: Array, solved: Solved) -> None:
        """Keep a relaxation and its bounds (n,); the oldest except the first is replaced."""
        if len(self._solved) < self._most:
            self._solved.append(solved)
            self._at = len(self._solved) - 1
        else:
            self._at = self._at % (self._most - 1) + 1
            self._solved[self._at] = solved
        self._in[self._at], self._out[self._at], self._sigma[self._at] = lower > 0, upper <= 0, solved.sigma

    def nearest(self, lower: Array, upper: Array) -> Solved | None:
        """Return the nearest relaxation with wider bounds; the latest one if it is as near, or if there is none."""
        count = len(self._solved)
        if not count:
            return None
        inside, outside = (lower > 0).astype(np.float32), (upper <= 0).astype(np.float32)
        narrower = self._in[:count] @ (1 - inside) + self._out[:count] @ (1 - outside)
        moves = self._sigma[:count] @ (outside - inside)
        moves[narrower > 0] = np.inf
        return self._solved[self._at if moves[self._at] <= moves.min() else int(np.argmin(moves))]


FIRST = 100  # columns of a first relaxation
LEAST = 12  # minimum number of columns
SPARE, LOWEST, HIGHEST = 1.3, 1.1, 2.0  # columns per sigma above 0 of the neighbour: initial value and limits
NARROWER, WIDER = 0.98, 1.1  # factors after a right and after a wrong guess
ABOVE = 0.01  # a smaller sigma counts as 0; an interior point is never exactly at 0
JOINING = 1.0  # added columns per present column
ALL = 0.7  # share of the columns above which all are used


class Pricing:
    """Choice of columns by a neighbouring relaxation, with an adaptive number of columns."""

    def __init__(self) -> None:
        self._spare = SPARE

    def part(self, near: Solved | None, support: Array, needed: Array) -> Array:
        """Return the columns to use, as positions in ``support``; all without a neighbour or if hardly any is left out.

        ``support`` (k,): the features with sigma that may be above 0. ``needed`` (k,): True for required columns.
        """
        if near is not None:
            stays = needed | (near.sigma[support] > ABOVE)
            most = int(max(LEAST, self._spare * np.count_nonzero(stays)))
            if most < ALL * support.size:
                stays[np.argpartition(near.costs[support], most)[:most]] = True
                if int(np.count_nonzero(stays)) < ALL * support.size:
                    return np.flatnonzero(stays)
        return np.arange(support.size)

    def first(self, costs: Array, needed: Array) -> Array:
        """Return the required columns and the FIRST with the smallest reduced costs (k,) of a guess, as positions."""
        stays = needed.copy()
        stays[np.argsort(costs, kind="stable")[:FIRST]] = True
        return np.flatnonzero(stays)

    def joined(self, among: Array, costs: Array) -> Array:
        """Return ``among`` and the other columns with the smallest reduced costs (k,) of a relaxation."""
        others = np.setdiff1d(np.flatnonzero(costs < 0), among)
        most = max(LEAST, int(JOINING * among.size))
        return np.union1d(among, others[np.argsort(costs[others], kind="stable")[:most]])

    def adapt(self, *, right: bool) -> None:
        """Use fewer columns after a right guess and more after a wrong one."""
        self._spare = max(LOWEST, self._spare * NARROWER) if right else min(HIGHEST, self._spare * WIDER)
