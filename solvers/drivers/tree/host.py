"""What the parts of a tree search ask of whoever runs them: the driver, or a process that was dealt a part of its tree.

Thus a part knows nothing of the user's model.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from solvers.clock import Clock
from solvers.drivers.benders.base import DecompositionConfig
from solvers.drivers.benders.relaxation import WholeRelaxation
from solvers.facts.structure import SubAnswer
from solvers.result import StopReason


class Host(Protocol):
    """Who runs a tree search: the incumbent's value, the clock, the subproblem, and who is told."""

    clock: Clock

    @property
    def config(self) -> DecompositionConfig:
        """Options of the run."""
        ...

    @property
    def best(self) -> float | None:
        """Least objective seen."""
        ...

    def ask(self, point: np.ndarray, tolerance: float) -> SubAnswer | None:
        """Ask the subproblem at a point of the complicating variables; None when time is up."""
        ...

    def take(self, point: np.ndarray, objective: float, answer: SubAnswer) -> None:
        """Take a point of the master that is an incumbent, or may have the least validation error."""
        ...

    def record(self, step: str, objective: float | None, *, cuts: int, support: int | None) -> Any:
        """Add a row to the table."""
        ...

    def stopped(self) -> StopReason | None:
        """Return the reason to stop now, if there is one."""
        ...

    def timing(self, what: str) -> AbstractContextManager[None]:
        """Count the seconds of a block of code."""
        ...

    def find_floor(self) -> WholeRelaxation:
        """Find what bounds a master that is unbounded."""
        ...
