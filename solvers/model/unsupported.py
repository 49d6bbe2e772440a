"""What of a model the drivers and solvers here would not see: one list for all of them.

All read active rows, one objective, and the bounds and integrality of variables. Anything else that restricts a model
is either taken by a driver that says so (``Driver.sees``), written as rows on a clone (``rewriting``), or refused by
name. A kind of component that this file does not know counts as unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.reading import ModelReading, read

# Components that some solvers skip in silence, and then say "optimal"; others than these nobody here can write as rows.
UNSEEN = {Disjunction: "Disjunction", pyo.LogicalConstraint: "LogicalConstraint", Complementarity: "Complementarity"}
UNSEEN |= {pyo.SOSConstraint: "SOSConstraint"}
_HARMLESS = {pyo.Var, pyo.Constraint, pyo.Objective, pyo.Block, pyo.Expression, pyo.Suffix, pyo.BooleanVar, Disjunct}
_HARMLESS |= {pyo.Param, pyo.RangeSet, pyo.SetOf, pyo.BuildCheck, pyo.BuildAction, pyo.ExternalFunction}
_REMEDY = "Write it as rows with a transformation of Pyomo's, or deactivate it"


def unseen(model: Any) -> list[str]:
    """Return the kinds of active components that a solver of plain rows does not see, but that can become rows."""
    model = read(model)
    return [name for kind, name in UNSEEN.items() if model.data(kind)]


def unknown_components(model: Any) -> list[str]:
    """Name what nobody here can write as rows: a network's arcs, undiscretised derivatives, domains with gaps."""
    return _strange(read(model), lambda component: False)


def others(model: Any, sees: Callable[[Any], bool]) -> list[str]:
    """Name what ``sees`` does not take of what is neither row, objective nor variable, the strangest first."""
    model = read(model)
    return [*_strange(model, sees), *_hidden(model, sees)]


def refuse_unseen(model: Any, who: str, sees: Callable[[Any], bool], remedy: str = "") -> None:
    """Refuse a model with an active component that ``who`` does not see.

    ``model``: pyo.ConcreteModel. ``who``: the driver's name. ``sees``: component -> whether the driver takes it.
    ``remedy``: what to do instead, where the model does not state its rows. Raises ModelError, naming the components,
    and what to do.
    """
    model = read(model)
    strange = _strange(model, sees)
    hidden = [] if strange else list(_hidden(model, sees))
    if not strange and not hidden:
        return
    what = ", ".join((strange or hidden)[:3])
    if strange:
        remedy = f"no solver here does. {_REMEDY}"
    elif not remedy:
        able = C.SOS if any(name.startswith("SOSConstraint") for name in hidden) else C.MINLP
        whole = f"or solve the whole model by name, for example with {either(able)}"
        remedy = f"{_REMEDY[:1].lower()}{_REMEDY[1:]}, {whole}"
    raise ModelError(f'"{who}" does not see the model\'s {what}: {remedy}.')


def _strange(model: ModelReading, sees: Callable[[Any], bool]) -> list[str]:
    return [*_unknown(model, sees), *_gaps(model), *_lone_disjuncts(model, sees)]


def _unknown(model: ModelReading, sees: Callable[[Any], bool]) -> Iterator[str]:
    for c in model.components:
        known = c.ctype in _HARMLESS or c.ctype in UNSEEN or issubclass(c.ctype, pyo.Set)
        if not known and not sees(c):
            yield f'{c.ctype.__name__} "{c.name}"'


def _hidden(model: ModelReading, sees: Callable[[Any], bool]) -> Iterator[str]:
    for kind, name in UNSEEN.items():
        for c in model.components:
            if c.ctype is kind and any(d.active for d in c.values()) and not sees(c):
                yield f'{name} "{c.name}"'


def _gaps(model: ModelReading) -> Iterator[str]:
    """Name variables whose domain is neither an interval nor its integers: all readers take it for one of the two."""
    for v in model.variables:
        if not v.is_continuous() and not v.is_integer() and not v.fixed:
            yield f'Var "{v.name}" (a domain with gaps)'


def _lone_disjuncts(model: ModelReading, sees: Callable[[Any], bool]) -> Iterator[str]:
    """Name disjuncts that hold, by their indicator, with no disjunction to say so: nobody reads their rows."""
    holding = [
        d
        for d in model.data(Disjunct)
        if d.indicator_var.fixed and d.indicator_var.value and not sees(d.parent_component())
    ]
    if holding:
        chosen = {id(d) for choice in model.data(Disjunction) for d in choice.disjuncts}
        for d in holding:
            if id(d) not in chosen and any(True for _ in d.component_data_objects(pyo.Constraint, active=True)):
                yield f'Disjunct "{d.name}" (in no active disjunction)'


__all__ = ["UNSEEN", "others", "refuse_unseen", "unknown_components", "unseen"]
