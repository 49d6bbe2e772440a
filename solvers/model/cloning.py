"""The clone of a model together with what is attached to the model."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from solvers.interrupt import finishing
from solvers.values import INSIDE


class Attached:
    """What a model carries besides its components."""

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach to the clone what it is to keep; copies of variables and rows by the id of the model's."""


def clone_of(model: Any) -> Any:
    """Return a clone of a model, to which each ``Attached`` object attaches what the clone keeps."""
    attached = {name: value for name, value in vars(model).items() if isinstance(value, Attached)}
    with finishing():  # Ctrl-C waits until the model has its attributes again
        try:
            for name in attached:
                delattr(model, name)
            clone = model.clone()
        finally:
            for name, found in attached.items():
                setattr(model, name, found)
    copies = dict(zip(map(id, _variables(model)), _variables(clone), strict=True))
    rows = dict(zip(map(id, _rows(model)), _rows(clone), strict=True))
    for found in {id(value): value for value in attached.values()}.values():
        found.follow(model, clone, copies, rows)
    return clone


def _rows(model: Any) -> list[Any]:
    return list(model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE))


def _variables(model: Any) -> list[Any]:
    return list(model.component_data_objects(pyo.Var, descend_into=INSIDE))
