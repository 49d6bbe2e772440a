"""What a subproblem of any model may not hold, in words: one list for the drivers and for ``explain_split``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.split import SplitModel
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names
from solvers.model.convexity import is_convex


def integers(variables: Iterable[Any]) -> Iterator[str]:
    """Yield what is said of a subproblem's integer variables."""
    for v in variables:
        if not v.is_continuous() and not v.fixed:
            yield (
                f'Variable "{v.name}" of the subproblem is integer, and then no multipliers give a cut: make it '
                f"complicating, or solve the whole model by name: {', '.join(names(C.MIQCP))}."
            )


def refusals(parts: SplitModel, blocks: list[SubBlock]) -> Iterator[str]:
    """Yield what no cut is known for, each with its name and what to do instead."""
    for block in blocks:
        yield from integers(block.variables)
    if parts.structure.switches:
        return
    for block in blocks:
        for row in [*block.rows, *block.coupling]:
            if row.body.polynomial_degree() not in (0, 1):
                yield (
                    f'Row "{row.name}" is not linear: multipliers of fixing rows give a cut only where the subproblem '
                    f"is linear, or convex quadratic with linear rows. Solve the whole model by name: "
                    f"{', '.join(names(C.MIQCP))}."
                )
    # A local solver would answer where this is not convex, with a cut that is wrong.
    if not is_convex(parts.sign * pyo.quicksum(parts.subproblem_terms)):
        yield (
            "The objective of the subproblem is not convex quadratic, and then no multipliers give a cut. Solve the "
            f"whole model by name: {', '.join(names(C.MIQCP | C.NONCONVEX))}."
        )
