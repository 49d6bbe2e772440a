"""Side constraints of a selection, as words: checked, stated on ``model.sigma``, and told in a report.

One row of ``KINDS`` is one kind: the function of ``side_constraints`` that states it, and how it is given.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import feature_count
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models import side_constraints
from fsmodels.models.parameters import changeable
from fsmodels.models.recipe import Recipe
from fsmodels.selection.recipes import MODELS
from fsmodels.words import as_names, listed

__all__ = [
    "KINDS",
    "Side",
    "Sides",
    "able",
    "number_and_rows",
    "prices",
    "read_sides",
    "rows_model",
    "state",
    "state_most",
]

Sides = list["Side"]
FREE = ("force_in", "force_out")  # one list of features; each other kind may be given several times


@dataclass(frozen=True)
class Side:
    """One side constraint: its kind, its name on the model, the arguments after the model, what a report tells."""

    kind: str
    name: str
    arguments: tuple[Any, ...]
    told: Any

    def constraint(self, model: pyo.ConcreteModel) -> pyo.Constraint:
        """Return the constraint on the model's sigma, which belongs to no model yet."""
        made: pyo.Constraint = getattr(side_constraints, self.kind)(model, *self.arguments)
        return made


def _budget(given: Any) -> Side:
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], Mapping):
        raise ParameterError(f'budget={given!r} is no pair of costs and limit: give ({{"a": 2.5}}, 4).')
    costs = dict(given[0])
    told = {"costs": costs, "limit": float(given[1]) if isinstance(given[1], int | float) else given[1]}
    return Side("budget", "budget", (costs, given[1]), told)


def _pair(kind: str, given: Any) -> Side:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ParameterError(f'{kind}={given!r} is no pair of features: give [("a", "b")].')
    a, b = given
    return Side(kind, f"{kind}_{a}_{b}", (a, b), [a, b])


def _whole_group(given: Any) -> Side:
    group = as_names(given, "all_or_none")
    return Side("all_or_none", "all_or_none", (group,), group)


def _counted(kind: str, given: Any) -> Side:
    if not isinstance(given, tuple | list) or len(given) != 2 or isinstance(given[0], str | int | float):
        raise ParameterError(f'{kind}={given!r} is no pair of a group and a number: give [(["a", "b"], 1)].')
    group = as_names(given[0], kind)
    return Side(kind, kind, (group, given[1]), {"features": group, "k": given[1]})


# kind -> an example of its list, how one of the list is read, whether that one may stand alone
KINDS: dict[str, tuple[str, Any, Any]] = {
    "budget": ('({"a": 2.5}, 4)', _budget, lambda given: isinstance(given, tuple) and isinstance(given[0], Mapping)),
    "requires": ('[("a", "b")]', lambda given: _pair("requires", given), None),
    "excludes": ('[("a", "b")]', lambda given: _pair("excludes", given), None),
    "all_or_none": ('[["a", "b"]]', _whole_group, lambda given: all(isinstance(name, str) for name in given)),
    "at_most": ('[(["a", "b"], 1)]', lambda given: _counted("at_most", given), None),
    "at_least": ('[(["a", "b"], 1)]', lambda given: _counted("at_least", given), None),
    "force_in": ('["a"]', None, None),
    "force_out": ('["a"]', None, None),
}


def able(recipe: Recipe) -> bool:
    """Tell whether rows on the selection can be stated on what this recipe builds."""
    return recipe.selects or recipe.rows or "sigma" in recipe.parameters


def read_sides(recipe: Recipe, given: Mapping[str, Any]) -> Sides:
    """Return the side constraints that were given by kind; None counts as nothing.

    Raises ParameterError, DataError: what was given has not the shape of its kind. Raises ModelError: the model has no
    selection to constrain.
    """
    sides: Sides = []
    for kind, (example, one, alone) in KINDS.items():
        if kind in FREE:
            names = as_names(() if given.get(kind) is None else given[kind], kind)
            sides += [Side(kind, kind, tuple(names), list(names))] if names else []
            continue
        several = _several(kind, given.get(kind), example)
        single = bool(alone and several and alone(given[kind]))
        sides += [one(part) for part in ([given[kind]] if single else several)]
    if sides and not able(recipe):
        others = [name for name, r in MODELS.items() if able(r)]
        raise ModelError(
            f'Model "{recipe.name}" has no sigma to constrain, so it cannot take {sides[0].kind}. '
            f"Models that can: {', '.join(others)}."
        )
    return sides


def _several(what: str, given: Any, example: str) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ParameterError(f"{what} got {type(given).__name__}: give {example}.")
    return list(given)


def number_and_rows(budget: Any) -> tuple[Any, Any]:
    """Return the number among several budgets, None where there is none, and the rows of costs."""
    if not isinstance(budget, list):
        return None, budget
    counts = [part for part in budget if isinstance(part, numbers.Number)]
    if len(counts) > 1:
        raise ParameterError(
            f"budget has the numbers {listed(map(str, counts))}: give one, and pairs of costs and limit."
        )
    return (counts[0] if counts else None), [part for part in budget if not isinstance(part, numbers.Number)]


def prices(budget: Any) -> bool:
    """Tell whether a budget is rows of costs, and not the number of fsmulti or a grid of these."""
    parts = budget if isinstance(budget, list) else [budget]
    return any(isinstance(part, tuple) and part and isinstance(part[0], Mapping) for part in parts)


def state(model: pyo.ConcreteModel, sides: Sides) -> dict[str, Any]:
    """Add the side constraints to the model; return them in words for the report."""
    stated: dict[str, Any] = {}
    for side in sides:
        constraint, name, k = side.constraint(model), side.name, 1
        while model.component(name) is not None:
            name, k = f"{side.name}_{k + 1}", k + 1
        model.add_component(name, constraint)
        if side.kind in FREE:
            stated[side.kind] = side.told
        else:
            stated.setdefault(side.kind, []).append(side.told)
    return stated


def state_most(model: pyo.ConcreteModel, most: int) -> None:
    """Add "at most that many features" as ``cardinality``; ``model.max_features`` can be changed between solves."""
    sigma = list(model.sigma.values())
    checked = partial(feature_count, n_features=len(sigma))
    model.max_features = changeable(checked, most, "most features")
    model.cardinality = pyo.Constraint(expr=pyo.quicksum(sigma) <= model.max_features, doc="at most that many features")


def rows_model(features: Iterable[str]) -> pyo.ConcreteModel:
    """Return a model of a binary sigma alone, for a method that has no model: rows on it say what is allowed."""
    model = pyo.ConcreteModel(name="selections")
    model.features = pyo.Set(initialize=list(features), doc="features, in the order of the data's columns")
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc="1 where a feature is selected")
    return model
