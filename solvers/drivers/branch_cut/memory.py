"""Results of one run that later runs can use, if only parameters of the master have changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solvers.drivers.branch_cut.branching import PseudoCosts
from solvers.errors import OptionError
from solvers.facts.structure import Cut, Structure, SubAnswer
from solvers.shared_state import Turn

KEPT = 2000  # number of newest cuts that are kept


class CutPool:
    """Optimality cuts of one subproblem: the newest 2000."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._constants = np.empty(16)
        self._coefficients = np.empty((16, size))
        self._count = self._next = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Cut]:
        for constant, row in zip(self._constants[: self._count], self._coefficients, strict=False):
            yield Cut(float(constant), row.copy())

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
        """Return the largest value of the cuts at a point (n,), a lower bound of the subproblem; -inf without cuts."""
        k = self._count
        return float((self._constants[:k] + self._coefficients[:k] @ point).max(initial=-np.inf))

    def along(self, point: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Return ``at`` for the points with 1 added at one position of ``steps``, and last for the point itself."""
        k = self._count
        here = self._constants[:k] + self._coefficients[:k] @ point
        best = (here[:, None] + self._coefficients[:k, steps]).max(axis=0, initial=-np.inf)
        return np.append(best, here.max(initial=-np.inf))


@dataclass
class Memory:
    """Results of earlier runs of one subproblem: cuts, answers at 0/1 points, pseudo-costs, best choices.

    Cuts, answers and pseudo-costs are valid for one subproblem, which is identified by the parameters and the identity
    of its structure; a good choice is always worth a try. One run uses a memory at a time. It can be pickled, and a
    model that is built again from the same data can use it, except for the answers.

    Attributes
    ----------
    cuts : CutPool
        Minorants of the subproblem's value.
    answers : dict
        Answers at 0/1 points, by the bytes of the point.
    costs : PseudoCosts
        Pseudo-costs of the master's columns.
    choices : list of arrays
        Best choices of the runs, in the order of the runs.
    """

    cuts: CutPool = field(default_factory=lambda: CutPool(0))
    answers: dict[bytes, SubAnswer] = field(default_factory=dict)
    costs: PseudoCosts = field(default_factory=lambda: PseudoCosts(0))
    choices: list[np.ndarray] = field(default_factory=list)
    _subproblem: Hashable = None
    _structure: Structure | None = None
    _identity: Hashable = None
    _names: tuple[str, ...] = ()  # of the master's columns, to which ``costs`` belong
    _turn: Turn = field(default_factory=Turn, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, without the answers, which belong to a model."""
        return self.__dict__ | {"answers": {}, "_structure": None}

    @contextmanager
    def used(self, structure: Structure | None = None) -> Iterator[None]:
        """Lock this for one run. Raises OptionError in another thread, and if it was prepared for another run."""
        lock = self._turn.lock  # a forked process has a new one
        if not lock.acquire(blocking=False):
            raise OptionError(
                "memory= is used by a run in another thread: give each thread its own Memory, or wait for the run."
            )
        try:
            if structure is not None and self._structure is not structure:
                raise OptionError("memory= was given to another driver after this one: create this driver again.")
            yield
        finally:
            lock.release()

    def prepare(self, structure: Structure, names: Sequence[str], *, kept: bool) -> str:
        """Prepare for a run over a master with these columns; return what was dropped and why, as text.

        ``kept``: whether later runs use this memory.
        """
        now, then = structure.parameters() if structure.parameters else None, self._subproblem
        identity = structure.identity() if kept and structure.identity is not None else None
        same = self._structure is structure
        known = structure.parameters is not None and (same or (identity is not None and identity == self._identity))
        dropped, had = "", len(self.cuts) > 0
        if not same:
            self.answers = {}
        if known and then != now and structure.carry is not None:
            old, self.cuts, self.answers = self.cuts, CutPool(self.cuts.size), {}
            for cut in old:
                if (left := structure.carry(cut, then, now)) is not None:
                    self.cuts.add(left)
            dropped = f"answers of earlier runs, because the subproblem's parameters are {now}, and were {then}"
            dropped = f"{dropped}; the cuts were adapted" if had else ""
        elif not known or then != now:
            why = f"its parameters are {now}, and were {then}" if known else "it belongs to another model"
            dropped = f"cuts and answers of earlier runs, because the subproblem is another one: {why}"
            dropped = dropped if had else ""
            self.cuts, self.answers = CutPool(len(structure.complicating)), {}
            self.costs = PseudoCosts(len(names))
        if self._names != tuple(names):
            self.costs, self._names = PseudoCosts(len(names)), tuple(names)
        if not same and not known:
            self.choices = []
        self._structure, self._subproblem, self._identity = structure, now, identity
        return dropped

    def remember(self, choice: np.ndarray, *, first: bool) -> None:
        """Keep a choice: the first of a run is appended to the list, and each better one replaces it."""
        if first or not self.choices:
            self.choices.append(choice)
        else:
            self.choices[-1] = choice
