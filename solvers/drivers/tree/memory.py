"""What one run of a model leaves to the next, where only parameters of the master have changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.tree.branching import PseudoCosts
from solvers.facts.structure import Cut, Structure, SubAnswer

KEPT = 2000  # cuts, the newest


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

    def along(self, point: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return ``at`` of the points with 1 more in one of the positions ``steps``, and of the point itself, last."""
        k = self._count
        here = self._constants[:k] + self._coefficients[:k] @ point
        best = (here[:, None] + self._coefficients[:k, steps]).max(axis=0, initial=-np.inf)
        return np.append(best, here.max(initial=-np.inf))


@dataclass
class Memory:
    """Cuts, answers at 0/1 points, pseudo-costs and best choices of earlier runs.

    The first three belong to one subproblem and are forgotten when it changes; a good choice stays worth a try.
    """

    cuts: CutPool = field(default_factory=lambda: CutPool(0))
    answers: dict[bytes, SubAnswer] = field(default_factory=dict)
    costs: PseudoCosts = field(default_factory=lambda: PseudoCosts(0))
    choices: list[np.ndarray] = field(default_factory=list)
    _subproblem: Hashable = None
    _structure: Structure | None = None

    def prepare(self, structure: Structure, size: int) -> None:
        """Make ready for a run over a master of ``size`` variables."""
        now = (structure.parameters() if structure.parameters else None, size)
        known = self._structure is structure and structure.parameters is not None
        if not known or self._subproblem != now:
            self.cuts, self.answers = CutPool(len(structure.complicating)), {}
            self.costs = PseudoCosts(size)
        if self._structure is not structure:
            self.choices = []
        self._structure, self._subproblem = structure, now

    def remember(self, choice: np.ndarray, *, first: bool) -> None:
        """Keep a choice: a run's first adds to the list, and each better one takes its place."""
        if first or not self.choices:
            self.choices.append(choice)
        else:
            self.choices[-1] = choice
