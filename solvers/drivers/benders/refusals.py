"""What a subproblem of any model may not hold, in words: one list for the drivers and for ``explain_split``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.curves import Curves
from solvers.drivers.benders.split import SplitModel
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names


def integers(variables: Iterable[Any]) -> Iterator[str]:
    """Yield a message for each integer variable of a subproblem: its multipliers bound the relaxation only."""
    for v in variables:
        if not v.is_continuous() and not v.fixed:
            yield (
                f'Variable "{v.name}" of the subproblem is integer, so that no cut is valid: make it complicating, or '
                f"solve the whole model by name: highs where all rows are linear, else {', '.join(names(C.MIQCP))}."
            )


def refusals(parts: SplitModel, blocks: list[SubBlock], curves: Curves | None) -> Iterator[str]:
    """Yield what no cut is known for, each with its name and what to do instead."""
    for block in blocks:
        yield from integers(block.variables)
    if curves is not None:  # None: a subproblem with switches
        yield from curves.refused
