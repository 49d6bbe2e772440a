"""What a subproblem of any model may not hold, in words: one list for the drivers and for ``explain_split``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.curves import Curves
from solvers.drivers.benders.integer_blocks import IntegerBlock
from solvers.drivers.benders.split import SplitModel
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names


def integers(variables: Iterable[Any]) -> Iterator[str]:
    """Yield what is said of integer variables in a subproblem with switches."""
    for v in variables:
        if not v.is_continuous() and not v.fixed:
            yield (
                f'Variable "{v.name}" of the subproblem is integer, and then no multipliers give a cut: make it '
                f"complicating, or solve the whole model by name: {', '.join(names(C.MIQCP))}."
            )


def refusals(parts: SplitModel, blocks: list[SubBlock], curves: Curves | None) -> Iterator[str]:
    """Yield what no cut is known for, each with its name and what to do instead."""
    if curves is None:  # a subproblem with switches
        for block in blocks:
            yield from integers(block.variables)
        return
    for block in blocks:
        if (reason := IntegerBlock.refusal(parts, block)) is not None:
            yield reason
    yield from curves.refused
