"""Relaxations solved of late, and which of them is nearest to a new one: what screening and pricing guess from.

A relaxation within narrower bounds than another one's is near to it where that one's sigma hardly has to move.
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
