"""Components that a user names in an option: single ones, lists, slices; and how anything else is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.component import ComponentBase
from pyomo.core.base.indexed_component_slice import IndexedComponent_slice
from pyomo.gdp import Disjunction

from solvers.errors import OptionError

__all__ = ["flat", "named"]

_WORDS = {pyo.Var: "variable", pyo.Constraint: "constraint", Disjunction: "disjunction"}


def named(
    option: str, given: Any, model: Any, kinds: tuple[type, ...] = (pyo.Var,), *, whole: bool = False
) -> list[Any]:
    """Return the components, or their data, that an option holds, in order.

    - ``option``: for messages.
    - ``given``: component, slice, or an iterable of them.
    - ``model``: the model to which they must belong.
    - ``kinds``: tuple of component types.
    - ``whole``: whether one member of an indexed component is refused.

    Raises OptionError: for text, numbers and whatever else is no such component, for those of another model, and for
    none at all.
    """
    found = list(flat(given))
    words = " or ".join(_WORDS[kind] for kind in kinds)
    for c in found:
        if getattr(c, "ctype", None) not in kinds:
            name = isinstance(c, str) and isinstance(model.find_component(c) if c else None, ComponentBase)
            meant = f"give {option}=[model.{c}], without quotes" if name else f"give {option}=[model.x]"
            what = f'"{c}"' if isinstance(c, str) or hasattr(c, "ctype") else repr(c)
            raise OptionError(f"{option}= holds {what}, which is no {words}: {meant}.")
        if c.model() is not model.model():
            raise OptionError(f'{option}= holds "{c.name}" of another model: give {words}s of this one.')
        if whole and c.parent_component() is not c:
            raise OptionError(
                f'{option}= holds "{c.name}", a part of "{c.parent_component().name}": give whole components.'
            )
    if not found:
        raise OptionError(f"{option}= holds no {words}: give {option}=[model.x].")
    return found


def flat(given: Any) -> Iterable[Any]:
    """Yield what an option holds, without the lists and slices around it."""
    if isinstance(given, IndexedComponent_slice):
        yield from given
    elif isinstance(given, str | bytes) or hasattr(given, "ctype") or not isinstance(given, Iterable):
        yield given
    else:
        for part in given:
            yield from flat(part)
