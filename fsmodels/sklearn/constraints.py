"""The parameter ``constraints`` of an estimator: keywords of ``select``, functions of the live model, or both.

Features are named as the data name them, and by position where X is an array: 2 is ``"x2"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.errors import ModelError, ParameterError
from fsmodels.selection.rows import KEYWORDS, free_name
from fsmodels.words import iterable, listed, short, suggestion

EXAMPLE = '{"excludes": [("x0", "x3")]}'


def apart(given: Any, rows: Any, features: Sequence[str]) -> tuple[dict[str, Any], list[Callable[[Any], Any]]]:
    """Return side constraints by keyword of ``select``, with ``rows`` as text, and functions.

    Raises ParameterError: neither of them, or a keyword that does not exist.
    """
    parts = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    parts += [] if rows is None else [{"rows": rows}]
    declared: dict[str, Any] = {}
    functions: list[Callable[[Any], Any]] = []
    for part in parts:
        if isinstance(part, Mapping):
            for kind, value in part.items():
                if kind not in KEYWORDS:
                    raise ParameterError(
                        f'constraints: "{short(str(kind))}" is no kind of side constraint. {suggestion(kind, KEYWORDS)}'
                        f"Kinds: {listed(KEYWORDS, len(KEYWORDS))}."
                    )
                if kind in declared:
                    raise ParameterError(f'constraints: "{kind}" stands twice: give all of that kind in one list.')
                declared[kind] = _named(kind, value, features)
        elif callable(part):
            functions.append(part)
        else:
            raise ParameterError(
                f"constraints={short(repr(part))} is not allowed: give a mapping, such as {EXAMPLE}, a function of "
                "the model, or a list of these."
            )
    return declared, functions


def _named(kind: str, value: Any, features: Sequence[str]) -> Any:
    """Return a value of a keyword with names in place of the positions of features."""

    def name(j: Any) -> Any:
        if not isinstance(j, int | np.integer) or isinstance(j, bool):
            return j
        if not 0 <= j < len(features):
            raise ParameterError(f"constraints: {kind} names feature {j}: positions are 0..{len(features) - 1}.")
        return features[int(j)]

    def names(part: Any) -> Any:
        if isinstance(part, Mapping):
            return {name(j): x for j, x in part.items()}
        if isinstance(part, str) or not iterable(part):
            return name(part)
        return (tuple if isinstance(part, tuple) else list)(map(names, part))

    keyword = KEYWORDS[kind]
    if not keyword.names_features:
        return value
    if not keyword.keys:
        return names(value)
    pairs = keyword.values(kind, value)
    return [(names(pair[0]), *pair[1:]) if isinstance(pair, tuple | list) and pair else pair for pair in pairs]


def apply(functions: Iterable[Callable[[Any], Any]], model: pyo.ConcreteModel) -> None:
    """Call each function with the model, and add the constraints that it returns: one, a list, or a mapping by name.

    Raises ModelError: the model has no such component, or a function returns something else.
    """
    for function in functions:
        called = getattr(function, "__name__", type(function).__name__)
        try:
            made = function(model)
        except AttributeError as error:
            if model.component("sigma") is None and error.name == "sigma":
                raise ModelError(
                    f"constraints: {called} uses model.sigma, which this model has on demand only: add sigma=True."
                ) from error
            raise
        if made is None:
            continue
        named = made if isinstance(made, Mapping) else {}
        plain = [made] if _is_row(made) else [] if named else list(made) if iterable(made) else [made]
        pairs = [*named.items(), *((called if called.isidentifier() else "constraint", row) for row in plain)]
        for name, row in pairs:
            if not _is_row(row):
                row = _as_row(row, called)
            model.add_component(free_name(model, str(name)), row)


def _is_row(made: Any) -> bool:
    return getattr(made, "ctype", None) in (pyo.Constraint, pyo.ConstraintList, pyo.Block, pyo.Var, pyo.Param, pyo.Set)


def _as_row(made: Any, called: str) -> pyo.Constraint:
    """Return the constraint of a relation such as ``model.sigma["a"] <= model.sigma["b"]``."""
    if getattr(made, "is_relational", lambda: False)():
        return pyo.Constraint(expr=made)
    raise ModelError(
        f"constraints: {called} returned {type(made).__name__}: return a pyo.Constraint, a relation such as "
        'model.sigma["x0"] <= model.sigma["x1"], a list or a mapping of these, or nothing.'
    )
