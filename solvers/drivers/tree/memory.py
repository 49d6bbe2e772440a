"""What one run of a model leaves to the next, where only parameters of the master have changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from solvers.drivers.tree.branching import PseudoCosts
from solvers.drivers.tree.cut_pool import CutPool
from solvers.facts.structure import Structure, SubAnswer


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
