"""Cuts kept as arrays: what they prove at a point, and for the next run of the same subproblem."""

from __future__ import annotations

import numpy as np

from solvers.facts.structure import Cut

KEPT = 2000  # the newest


class CutPool:
    """Optimality cuts of one subproblem; the oldest make room once there are 2000."""

    def __init__(self, size: int) -> None:
        self._constants = np.empty(16)
        self._coefficients = np.empty((16, size))
        self._count = self._next = 0

    def __len__(self) -> int:
        return self._count

    def add(self, cut: Cut) -> None:
        """Keep a cut."""
        room = len(self._constants)
        if self._next == room and room < KEPT:
            more = min(KEPT, 2 * room) - room
            self._constants = np.append(self._constants, np.empty(more))
            self._coefficients = np.vstack([self._coefficients, np.empty((more, self._coefficients.shape[1]))])
        self._next %= len(self._constants)
        self._constants[self._next], self._coefficients[self._next] = cut.constant, cut.coefficients
        self._next += 1
        self._count = max(self._count, self._next)

    def at(self, point: np.ndarray) -> float:
        """Return the largest value of a cut at a point (n,), a lower bound on the subproblem's; -inf without cuts."""
        k = self._count
        return float((self._constants[:k] + self._coefficients[:k] @ point).max(initial=-np.inf))
