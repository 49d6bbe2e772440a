"""What the master decides in a model without a builder: by options, by the model's Suffix ``stage``, or by default.

==========================  ==========================================================================================
declared                    then
==========================  ==========================================================================================
nothing                     the master has the integer variables
the master                  the rest is the subproblem's
blocks                      the rest is the master's
both                        the rest is the subproblem's
==========================  ==========================================================================================

Options count before the Suffix. What of the subproblem no row ties is apart, declared or not: a declared block only
says that its variables hang together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from solvers.errors import OptionError
from solvers.facts.base import facts_of
from solvers.facts.snapshot import data_of
from solvers.facts.structure import Structure, stages_of
from solvers.model.classes import used_variables
from solvers.reading import ModelReading, named, read


def structure_of(
    model: Any,
    who: str = "benders",
    *,
    complicating: Any = None,
    blocks: Any = None,
    subproblem: Any = None,
    coupling: Any = None,
) -> Structure:
    """Return the structure by which a model is decomposed.

    Raises
    ------
    OptionError
        If the variables of the master are unknown, or an option holds a wrong variable.
    """
    model = read(model)
    facts = facts_of(model.model)
    given = {"complicating": complicating, "blocks": blocks}
    stages = stages_of(model) if complicating is None and blocks is None else None
    declared = [f"{option}= is given" for option, value in given.items() if value is not None]
    declared += ['its Suffix "stage" is given'] if stages is not None else []
    if isinstance(facts, Structure):
        if not declared:
            return facts
        facts.check_stated(declared[0])
    if stages is not None:
        first, groups, told_by = *stages, 'the Suffix "stage"'
        master = first if first or not groups else None
    else:
        groups = [] if blocks is None else _groups(blocks, model)
        master = None if complicating is None else data_of(named("complicating", complicating, model.model))
        told_by = " and ".join(f"{option}=" for option, value in given.items() if value is not None)
    if master is None and not groups:
        master, told_by = _integers(model, who), "default: the integer variables are decided first"
    structure = _by_parts(model, master, subproblem, groups)
    structure.told_by = told_by
    if coupling is not None:
        structure.coupling = named("coupling", coupling, model.model, (pyo.Constraint, Disjunction), whole=True)
    return structure


def _by_parts(
    model: ModelReading, first: list[Any] | None, subproblem: Any, blocks: Sequence[Sequence[Any]]
) -> Structure:
    """Return the structure; ``first`` may hold variables of the rows that are written for logic."""
    inside = {id(v) for group in blocks for v in group}
    if first is None:
        first = list({id(v): v for v in used_variables(model) if id(v) not in inside}.values())
        if not first:
            raise OptionError("The blocks hold every variable in use, and leave none to the master: leave some out.")
        subproblem = [v for group in blocks for v in group] if subproblem is None else subproblem
    if subproblem is None:
        subproblem = list(model.model.component_objects(pyo.Var, active=True, descend_into=True))
    else:
        subproblem = named("subproblem", subproblem, model.model)
    outside = {id(v) for v in first}
    both = next((v for group in blocks for v in group if id(v) in outside), None)
    if both is not None:
        raise OptionError(f'"{both.name}" is of the master and of a block too: name it once.')
    inner = [v for v in data_of(subproblem) if id(v) not in outside]
    known = {id(v) for v in inner}
    inner += [v for group in blocks for v in group if id(v) not in known]
    return Structure(first, inner, blocks=[list(group) for group in blocks])


def _groups(blocks: Any, model: ModelReading) -> list[list[Any]]:
    """Return the data of declared blocks.

    Raises OptionError for anything but a list of blocks, and for a variable of two blocks.
    """
    if getattr(blocks, "ctype", None) is pyo.Block and blocks.is_indexed():  # one of Pyomo's for each
        blocks = list(blocks.values())
    if isinstance(blocks, str) or not isinstance(blocks, Sequence) or not blocks:
        raise OptionError(f"blocks={blocks!r} is not allowed: give a list with one list of variables a block.")
    groups = [data_of(_inside(block, model)) for block in blocks]
    seen: set[int] = set()
    for group in groups:
        for v in group:
            if id(v) in seen:
                raise OptionError(f'blocks= holds "{v.name}" twice: a variable is of one block.')
            seen.add(id(v))
    return groups


def _inside(block: Any, model: ModelReading) -> list[Any]:
    """Return the variables of a declared block: a list of variables, or a Pyomo block that holds them."""
    if getattr(block, "ctype", None) is pyo.Block:
        parts = block.values() if block.is_indexed() else [block]
        return [v for part in parts for v in part.component_data_objects(pyo.Var, descend_into=True)]
    return named("blocks", block, model.model)


def _integers(model: ModelReading, who: str) -> list[Any]:
    """Return the free integer variables of rows and objective. Raises OptionError if there is none."""
    found = {id(v): v for v in used_variables(model) if not v.is_continuous() and not v.fixed}
    if not found:
        raise OptionError(
            f"{who} needs to know the complicating variables, and no variable of this model is integer: give "
            "complicating=[model.x], blocks=[[model.y], [model.z]], or a Suffix model.stage with 0 for what is decided "
            "first."
        )
    return list(found.values())
