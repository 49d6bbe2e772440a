"""The variables of the master and of the blocks: by options, by the model's Suffix ``stage``, or by default.

==========================  ==========================================================================================
declared                    result
==========================  ==========================================================================================
nothing                     the integer variables and copies that rows declare to be equal belong to the master
the master                  all other variables belong to the subproblem
blocks                      all other variables belong to the master
both                        all other variables belong to the subproblem
==========================  ==========================================================================================

Copies of the variables of the first stage are one variable (``copies``), and belong to the master by default.
Options take precedence over the Suffix. Parts of the subproblem without common rows are separate blocks in any case; a
declared block only keeps its variables together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from solvers.drivers.benders.copies import Copies
from solvers.errors import OptionError
from solvers.facts.base import facts_of
from solvers.facts.snapshot import data_of
from solvers.facts.structure import Structure, stages_of
from solvers.model.classes import used_variables
from solvers.model.rewriting import whole_solvers
from solvers.model_cache import ModelCache, cached, items_of, named


def structure_of(
    model: Any,
    driver: str = "benders",
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
        If the variables of the master cannot be determined, or an option contains a wrong variable.
    """
    model = cached(model)
    facts = facts_of(model.model)
    given = [f"{name}=" for name, value in (("complicating", complicating), ("blocks", blocks)) if value is not None]
    stages = None if given else stages_of(model)
    declared = [f"{option} is given" for option in given]
    declared += ['its Suffix "stage" is given'] if stages is not None else []
    if isinstance(facts, Structure):
        if not declared:
            return facts
        facts.check_stated(declared[0])
    if stages is not None:
        first, groups, source = *stages, 'the Suffix "stage"'
        master = first if first or not groups else None
    else:
        groups = [] if blocks is None else _groups(blocks, model)
        master = None if complicating is None else data_of(named("complicating", complicating, model.model))
        source = " and ".join(given)
    copies = Copies(model)
    if master is None and not groups:
        repeated = copies.repeated()
        master = _decided_first(model, driver, repeated)
        what = (
            "the integer variables and the copies that rows declare to be equal"
            if repeated
            else "the integer variables"
        )
        source = f"default: {what} are decided first"
    copies.merge(copies.between(groups) if master is None else copies.touching(master))
    groups = [copies.without(group) for group in groups]
    if coupling is not None:
        coupling = named("coupling", coupling, model.model, (pyo.Constraint, Disjunction), whole=True)
    first, inner = _by_parts(model, master, subproblem, groups)
    return Structure(
        copies.main(first), copies.without(inner), coupling=coupling, blocks=groups, source=source, copies=copies
    )


def _by_parts(
    model: ModelCache, first: list[Any] | None, subproblem: Any, blocks: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[Any]]:
    """Return the variables of the master and of the subproblem.

    ``first``: variables of the master, if declared; they may be in rows that were written for logic.
    """
    inside = {id(v) for group in blocks for v in group}
    if first is None:
        first = list({id(v): v for v in used_variables(model) if id(v) not in inside}.values())
        if not first:
            raise OptionError("The blocks contain every variable in use, so that the master has none: leave some out.")
        subproblem = [v for group in blocks for v in group] if subproblem is None else subproblem
    if subproblem is None:
        subproblem = list(model.model.component_objects(pyo.Var, active=True, descend_into=True))
    else:
        subproblem = named("subproblem", subproblem, model.model)
    outside = {id(v) for v in first}
    both = next((v for group in blocks for v in group if id(v) in outside), None)
    if both is not None:
        raise OptionError(f'"{both.name}" belongs to the master and to a block: name it once.')
    inner = [v for v in data_of(subproblem) if id(v) not in outside]
    known = {id(v) for v in inner}
    inner += [v for group in blocks for v in group if id(v) not in known]
    return first, inner


def _groups(blocks: Any, model: ModelCache) -> list[list[Any]]:
    """Return the data of declared blocks.

    Raises OptionError for a value that is no list of blocks, and for a variable in two blocks.
    """
    kind = getattr(blocks, "ctype", None)
    if kind is pyo.Block and blocks.is_indexed():
        blocks = blocks.values()
    listed = [] if isinstance(blocks, str) or kind is pyo.Var or not isinstance(blocks, Iterable) else items_of(blocks)
    groups = [data_of(named("blocks", block, model.model)) for block in listed]
    if not groups:
        raise OptionError(f"blocks={blocks!r} is not allowed: give a list with one list of variables for each block.")
    seen: set[int] = set()
    for group in groups:
        for v in group:
            if id(v) in seen:
                raise OptionError(f'blocks= contains "{v.name}" twice: a variable belongs to one block.')
            seen.add(id(v))
    return groups


def _decided_first(model: ModelCache, driver: str, copies: list[list[Any]]) -> list[Any]:
    """Return the free integer variables of rows and objective, and ``copies``. Raises OptionError if there is none."""
    found = {id(v): v for v in used_variables(model) if not v.is_continuous() and not v.fixed}
    found |= {id(v): v for group in copies for v in group}
    if not found:
        raise OptionError(
            f"{driver} needs the complicating variables, and no variable of this model is integer: give "
            "complicating=[model.x], blocks=[[model.y], [model.z]], or a Suffix model.stage with 0 for the variables "
            f"that are decided first. Without stages solve the whole model by name: {whole_solvers(model)}."
        )
    return list(found.values())
