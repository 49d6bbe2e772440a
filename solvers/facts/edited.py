"""An edited subproblem in numbers, for a builder whose oracle may take more than it has built itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solvers.facts.structure import Oracle, Relaxation
from solvers.model.curves import Curve
from solvers.model.linear import LinearRows


@dataclass(frozen=True)
class EditedSub:
    """A subproblem as it stands: the builder's rows that are still there, and all else read off as numbers.

    - ``variables``: of the subproblem, the user's own that share rows with it last; ``complicating`` likewise.
    - ``kept``: the builder's rows, those of the coupling aside, that are active and as built.
    - ``rows``: all other linear rows, over the columns of ``variables`` and, after them, ``complicating``; its bounds
      are theirs, equal where a variable is fixed.
    - ``cost``: what is minimised of ``variables``.
    - ``edits``: what was edited, in words.
    """

    variables: Sequence[Any]
    complicating: Sequence[Any]
    kept: Sequence[Any]
    rows: LinearRows
    cost: Curve
    edits: Sequence[str]


@dataclass(frozen=True)
class Adapted:
    """What answers for an edited subproblem; ``detached`` as in ``Structure``."""

    oracle: Oracle
    relaxation: Relaxation
    detached: Callable[[], Any]


class Inexpressible(Exception):
    """What was edited is nothing that an oracle takes; the text names it."""
