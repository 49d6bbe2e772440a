"""What a user's Suffix ``stage`` says of a model's variables: 0, decided first (the master's); k, of block k.

    model.stage = pyo.Suffix()
    model.stage[model.acres] = 0  # a variable, an indexed one, one of its data,
    model.stage[model.scenario[1]] = 1  # or a block, and so every variable in it

The nearest word counts: of the data, its component, the block around it, that block's component, and so on outwards,
then what the key None says of all others. A Suffix is a component, so the words go with ``clone()`` and pickle.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import pyomo.environ as pyo

from solvers.errors import ModelError
from solvers.reading import read

STAGE = "stage"


def stages_of(model: Any) -> tuple[list[Any], list[list[Any]]] | None:
    """Return the variables of stage 0, and those of each block in the order of their numbers; None without a Suffix.

    Raises
    ------
    ModelError
        If a stage is no whole number from 0 on, or is given to what is neither variable nor block.
    """
    reading = read(model)
    suffixes = [c for c in reading.components if c.ctype is pyo.Suffix and c.local_name == STAGE]
    if not suffixes:
        return None
    said: dict[int, int] = {}
    for suffix in suffixes:
        for component, stage in suffix.items():
            _check(suffix, component, stage)
            if component is not None:
                said.setdefault(id(component), int(stage))
    rest = {id(suffix.parent_block()): int(suffix[None]) for suffix in suffixes if None in suffix}
    around: dict[int, int | None] = {}  # by the component, what is said around it
    by_stage: dict[int, list[Any]] = {}
    for v in reading.variables:
        component = v.parent_component()
        if id(component) not in around:
            chain = list(_outwards(component))
            words = [said[id(c)] for c in chain if id(c) in said]
            words += [rest[id(c)] for c in chain if id(c) in rest]
            around[id(component)] = words[0] if words else None
        stage = said.get(id(v), around[id(component)])
        if stage is not None:
            by_stage.setdefault(stage, []).append(v)
    return by_stage.pop(0, []), [by_stage[k] for k in sorted(by_stage)]


def _check(suffix: Any, component: Any, stage: Any) -> None:
    """Refuse what is no stage, or no place for one."""
    where = "all others (None)" if component is None else f'"{component.name}"'
    if component is not None and component.ctype not in (pyo.Var, pyo.Block):
        raise ModelError(
            f'Suffix "{suffix.name}" gives {where} a stage, which is no variable or block: rows and terms follow their '
            "variables, so give it to those."
        )
    if isinstance(stage, bool) or not isinstance(stage, Integral) or stage < 0:
        raise ModelError(
            f'Suffix "{suffix.name}" says {stage!r} of {where}: give 0 for what is decided first, and 1, 2, ... for '
            "the blocks that follow."
        )


def _outwards(component: Any) -> Iterator[Any]:
    """Yield a component, the block data and block components around it, the model last."""
    yield component
    block = component.parent_block()
    while block is not None:
        yield block
        if (whole := block.parent_component()) is not block:
            yield whole
        block = block.parent_block()
