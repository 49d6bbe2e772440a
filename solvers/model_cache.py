"""The components of a model, listed once for all functions of a solve.

A ``ModelCache`` lists the rows, variables and other components of a model. It does not store expressions, values,
bounds, domains or fixed variables. It is valid until a component is added, deleted, activated or deactivated; a clone,
a view, and the model at the next solve need a new one. Functions of a whole model accept the model or its reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.component import ComponentBase
from pyomo.core.base.indexed_component import ActiveIndexedComponent
from pyomo.core.base.indexed_component_slice import IndexedComponent_slice
from pyomo.gdp import Disjunct, Disjunction

from solvers import per_thread  # noqa: F401 - Pyomo's visitors per thread
from solvers.errors import OptionError
from solvers.values import INSIDE


@dataclass(frozen=True, eq=False)
class ModelCache:
    """The components of a model; each list is created when it is first used.

    ``written``: rows, with their variables, that represent other components of the model; they are listed as rows.
    """

    model: Any
    written: Any = field(default=None, repr=False)
    _found: dict[Any, list[Any]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def components(self) -> list[Any]:
        """The active components, including those of disjuncts."""
        return list(self.model.component_objects(active=True, descend_into=INSIDE))

    @cached_property
    def variables(self) -> list[Any]:
        """All variables, including those of deactivated blocks."""
        held = list(self.model.component_data_objects(pyo.Var, descend_into=INSIDE))
        return held if self.written is None else [*held, *self.written.variables]

    @property
    def rows(self) -> list[Any]:
        """The active rows outside disjuncts."""
        stated = self.stated(pyo.Constraint)
        return stated if self.written is None else [*stated, *self.written.rows]

    @property
    def objectives(self) -> list[Any]:
        """The active objectives."""
        return self.stated(pyo.Objective)

    def stated(self, kind: Any) -> list[Any]:
        """Return the active data of a kind outside disjuncts."""
        if ("stated", kind) not in self._found:
            plain = not any(c.ctype is Disjunct for c in self.components)
            found = self.data(kind) if plain else list(self.model.component_data_objects(kind, active=True))
            self._found["stated", kind] = found
        return self._found["stated", kind]

    def data(self, *kinds: Any) -> list[Any]:
        """Return the active data of some kinds, in order and each once."""
        if kinds not in self._found:
            held = (c for c in self.components if c.ctype in kinds)
            self._found[kinds] = list({id(d): d for c in held for d in _active(c)}.values())
        return self._found[kinds]


def cached(model: Any) -> ModelCache:
    """Return a new reading of a model, or the reading itself."""
    return model if isinstance(model, ModelCache) else ModelCache(model)


def _active(component: Any) -> Iterator[Any]:
    """Yield the active data of a component; a scalar component may have none."""
    if component.is_indexed():
        data = component.values()
    else:
        data = component._data.values() if hasattr(component, "_data") else (component,)
    return (d for d in data if d.active) if isinstance(component, ActiveIndexedComponent) else iter(data)


_NAMES = {pyo.Var: "variable", pyo.Constraint: "constraint", Disjunction: "disjunction"}


def named(
    option: str, given: Any, model: Any, kinds: tuple[type, ...] = (pyo.Var,), *, whole: bool = False
) -> list[Any]:
    """Return the components, or their data, in the value of an option, in order.

    - ``option``: name of the option, for messages.
    - ``given``: component, slice, or an iterable or mapping of them. A block means all its variables.
    - ``model``: the model to which they must belong.
    - ``kinds``: tuple of component types.
    - ``whole``: True if members of an indexed component are rejected.

    Raises OptionError if a value is not such a component or not of this model, and for an empty list.
    """
    try:
        found = [part for c in flat(given) for part in (_variables_inside(c) if pyo.Var in kinds else [c])]
    except (AttributeError, IndexError, KeyError) as error:  # of a slice
        raise OptionError(f"{option}= has a slice that is not valid: {error}") from error
    kind = " or ".join(_NAMES[kind] for kind in kinds)
    for c in found:
        if getattr(c, "ctype", None) not in kinds:
            name = isinstance(c, str) and isinstance(model.find_component(c) if c else None, ComponentBase)
            remedy = f"give {option}=[model.{c}], without quotes" if name else f"give {option}=[model.x]"
            if name and "[" in c:
                remedy = f"give {option}=[model.find_component('{c}')]"
            what = f'"{c}"' if isinstance(c, str) or hasattr(c, "ctype") else repr(c)
            raise OptionError(f"{option}= contains {what}, which is not a {kind}: {remedy}.")
        data = c.values() if c.is_indexed() and c.parent_block() is None else [c]  # of a Reference
        if any(d.model() is not model.model() for d in data):
            raise OptionError(f'{option}= contains "{c.name}" of another model: give {kind}s of this model.')
        if whole and c.parent_component() is not c:
            part_of = c.parent_component().name
            raise OptionError(f'{option}= contains "{c.name}", a part of "{part_of}": give whole components.')
    if not found:
        read = "is an iterator without items, which may have been used before" if isinstance(given, Iterator) else ""
        raise OptionError(f"{option}= {read or f'contains no {kind}'}: give {option}=[model.x].")
    return found


def _variables_inside(component: Any) -> list[Any]:
    """Return the variables of a block, and any other component itself."""
    if getattr(component, "ctype", None) is not pyo.Block:
        return [component]
    parts = component.values() if component.is_indexed() else [component]
    return [v for part in parts for v in part.component_data_objects(pyo.Var, descend_into=True)]


def items_of(given: Any) -> Iterable[Any]:
    """Return the items of a list, and the values of a mapping, or its keys if these are variables."""
    if isinstance(given, Mapping):
        return given.keys() if all(getattr(key, "ctype", None) is pyo.Var for key in given) else given.values()
    return given


def flat(given: Any) -> Iterable[Any]:
    """Yield the items in the value of an option, from lists, slices and mappings."""
    if isinstance(given, IndexedComponent_slice):
        yield from given
    elif isinstance(given, str | bytes) or hasattr(given, "ctype") or not isinstance(given, Iterable):
        yield given
    else:
        for part in items_of(given):
            yield from flat(part)
