"""Variables of the user's own that belong to the subproblem, or must be decided before it.

A continuous variable that shares a row or an objective term with one of the subproblem's is solved with it, and so is
any that shares a row with that one in turn. An integer one among them is decided in the master, and the subproblem sees
its value: w_j <= 5 g.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from solvers.facts.structure import Structure


def widened(structure: Structure, held: Iterable[Sequence[Any]]) -> Structure:
    """Return the structure with what the user's rows and terms add to it; itself where that is nothing.

    ``held``: the variables of each row and term that the builder has not made.
    """
    inside = {id(v) for v in structure.variables()}
    outside = {id(v) for v in structure.complicating}
    adopted: list[Any] = []
    joined: list[Any] = []
    left = [part for part in held if any(id(v) not in inside and id(v) not in outside for v in part)]
    found = True
    while found:
        found, waiting = False, []
        for part in left:
            if not any(id(v) in inside for v in part):
                waiting.append(part)
                continue
            for v in part:
                if id(v) not in inside and id(v) not in outside:
                    found = True
                    (inside if v.is_continuous() else outside).add(id(v))
                    (adopted if v.is_continuous() else joined).append(v)
        left = waiting
    if not adopted and not joined:
        return structure
    wider = copy(structure)
    wider.subproblem = [*structure.subproblem, *adopted]
    wider.complicating = [*structure.complicating, *joined]
    return wider
