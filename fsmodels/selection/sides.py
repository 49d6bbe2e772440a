"""Side constraints of a selection, as words: checked, stated on ``model.sigma`` or ``model.w``, and told in a report.

One row of ``KINDS`` is one kind: the function of ``side_constraints`` that states it, and how it is given. Messages of
solvers name components of the model; ``as_words`` replaces them by the words that asked for them.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import feature_count
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import quoted
from fsmodels.errors import DataWarning, ModelError, ParameterError
from fsmodels.models import side_constraints
from fsmodels.models.parameters import changeable
from fsmodels.models.recipe import Recipe
from fsmodels.selection.recipes import MODELS
from fsmodels.words import as_names, check_known_features, iterable, listed
from solvers.outside import warn

Sides = list["Side"]
FREE = ("force_in", "force_out")  # one list of features
ONCE = (*FREE, "signs", "hierarchy")  # each other kind may be given several times
ON_WEIGHTS = ("signs", "fair")


@dataclass(frozen=True)
class Side:
    """One side constraint: its kind, its name on the model, the arguments after the model, what a report tells."""

    kind: str
    name: str
    arguments: tuple[Any, ...]
    told: Any

    @property
    def on_weights(self) -> bool:
        """Whether it is a row on the weights, and not on sigma."""
        return self.kind in ON_WEIGHTS

    def constraint(self, model: pyo.ConcreteModel) -> pyo.Constraint:
        """Return the constraint on the model's sigma or w, which belongs to no model yet."""
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


def _grouped(given: Any) -> Side:
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], Mapping):
        raise ParameterError(
            f'at_most_of_group={given!r} is no pair of groups and a number: give ({{"a": "lab", "b": "lab"}}, 1).'
        )
    groups, most = dict(given[0]), dict(given[1]) if isinstance(given[1], Mapping) else given[1]
    return Side("at_most_of_group", "at_most_of_group", (groups, most), {"groups": groups, "most": most})


def _signs(given: Any) -> Side:
    return Side("signs", "signs", (given,), dict(given) if isinstance(given, Mapping) else given)


def _fair(given: Any, data: Dataset) -> Side:
    by, limit = given
    return Side("fair", f"fair_{by}", (data, by, limit), {"by": by, "limit": limit})


def beside(data: Dataset, fair: Any) -> tuple[Dataset, list[tuple[str, Any]]]:
    """Return the data with the groups of ``fair`` aside, and ``fair`` by their names.

    A feature that gives the groups is none any more; ``data.set_aside(name, keep=True)`` beforehand keeps it.
    Raises ParameterError: no pair of groups and a limit. Raises DataError: no such column.
    """
    example = '("sex", 0.1)'
    single = isinstance(fair, tuple) and len(fair) == 2 and not all(isinstance(part, tuple) for part in fair)
    named: list[tuple[str, Any]] = []
    for given in [fair] if single else _several("fair", fair, example):
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(f"fair={given!r} is no pair of groups and a limit: give {example}.")
        by, limit = given
        if not isinstance(by, str):
            name, k = "group", 1
            while name in data.aside:
                name, k = f"group {k + 1}", k + 1
            by, data = name, data.with_aside(**{name: by})
        elif by not in data.aside:
            if by not in data.features:
                there = f" Columns that lie aside: {listed(data.aside)}." if data.aside else ""
                check_known_features([by], data.features, f"fair={given!r}{there}")
            data = data.set_aside(by)
        named.append((by, limit))
    return data, named


# kind -> an example of its list, how one of the list is read, whether that one may stand alone
KINDS: dict[str, tuple[str, Any, Any]] = {
    "budget": ('({"a": 2.5}, 4)', _budget, lambda given: isinstance(given, tuple) and isinstance(given[0], Mapping)),
    "requires": ('[("a", "b")]', lambda given: _pair("requires", given), None),
    "excludes": ('[("a", "b")]', lambda given: _pair("excludes", given), None),
    "all_or_none": ('[["a", "b"]]', _whole_group, lambda given: all(isinstance(name, str) for name in given)),
    "at_most": ('[(["a", "b"], 1)]', lambda given: _counted("at_most", given), None),
    "at_least": ('[(["a", "b"], 1)]', lambda given: _counted("at_least", given), None),
    "at_most_of_group": (
        '({"a": "lab", "b": "lab"}, 1)',
        _grouped,
        lambda given: isinstance(given, tuple) and isinstance(given[0], Mapping),
    ),
    "signs": ('{"a": "+"}', None, None),
    "fair": ('("sex", 0.1)', None, None),
    "hierarchy": ('"strong"', None, None),
    "force_in": ('["a"]', None, None),
    "force_out": ('["a"]', None, None),
}


def able(recipe: Recipe) -> bool:
    """Tell whether rows on the selection can be stated on what this recipe builds."""
    return recipe.selects or recipe.rows or "sigma" in recipe.parameters


def read_sides(recipe: Recipe, given: Mapping[str, Any], data: Dataset, *, limited: bool = False) -> Sides:
    """Return the side constraints that were given by kind; None counts as nothing.

    ``fair`` is by names of what lies aside in ``data``, as ``beside`` returns it. ``limited``: whether a model whose
    sigma is made on demand gets one, for a limit on it. The 0/1 features of a category come together where there is a
    sigma that something limits: elsewhere a row on it would say nothing, as all of it may be 1.

    Raises ParameterError, DataError: what was given has not the shape of its kind. Raises ModelError: the model has no
    selection to constrain.
    """
    sides: Sides = []
    for kind, (example, one, alone) in KINDS.items():
        if kind in FREE:
            names = as_names(() if given.get(kind) is None else given[kind], kind)
            sides += [Side(kind, kind, tuple(names), list(names))] if names else []
            continue
        if kind == "signs":
            directions = given.get(kind)
            nothing = directions is None or (isinstance(directions, Mapping | list | tuple) and not directions)
            sides += [] if nothing else [_signs(directions)]
            continue
        if kind == "hierarchy":
            wanted = given.get(kind)
            sides += [] if wanted is None else [Side(kind, kind, (data.parents, wanted), wanted)]
            continue
        if kind == "fair":
            sides += [_fair(part, data) for part in given.get(kind) or ()]
            continue
        several = _several(kind, given.get(kind), example)
        single = bool(alone and several and alone(given[kind]))
        sides += [one(part) for part in ([given[kind]] if single else several)]
    if recipe.selects or recipe.rows or limited or any(not side.on_weights for side in sides):
        sides += _together(data, sides)
    for side in sides:
        if not (recipe.weighed if side.on_weights else able(recipe)):
            others = [name for name, r in MODELS.items() if (r.weighed if side.on_weights else able(r))]
            what = "takes no rows on weights" if side.on_weights else "has no sigma to constrain"
            raise ModelError(
                f'Model "{recipe.name}" {what}, so it cannot take {side.kind}. Models that can: {", ".join(others)}.'
            )
    return sides


def say_apart(name: str, data: Dataset, stated: Mapping[str, Any]) -> None:
    """Warn where a model drops features, and no row keeps those of a category together."""
    columns = [column for column, category in data.categories.items() if category.together and len(category.levels) > 2]
    recipe = MODELS[name]
    if columns and name != "svm" and "all_or_none" not in stated:
        able = [other for other, r in MODELS.items() if r.selects or r.rows]
        limit = "" if "max_features" in recipe.parameters else ", or with --max-features (max_features=)"
        warn(
            f'Model "{name}" weighs the features of {listed(map(quoted, columns), 5)} one by one: they are selected '
            f"together by {listed(able)}{limit}.",
            DataWarning,
        )


def _together(data: Dataset, sides: Sides) -> Sides:
    """Return "all or none" of the 0/1 features of each category that is selected together, where not given anyway."""
    given = [set(side.told) for side in sides if side.kind == "all_or_none"]
    present = [
        [name for name in category.features if name in data.features]
        for category in data.categories.values()
        if category.together
    ]
    return [_whole_group(names) for names in present if len(names) > 1 and set(names) not in given]


def _several(what: str, given: Any, example: str) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not iterable(given):
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
        if side.kind in ONCE:
            stated[side.kind] = side.told
        else:
            stated.setdefault(side.kind, []).append(side.told)
    return stated


def declarations(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of ``select`` for side constraints as a report tells them; ``told`` may hold more."""
    pairs = {"budget": ("costs", "limit"), "at_most": ("features", "k"), "at_least": ("features", "k")}
    pairs |= {"at_most_of_group": ("groups", "most"), "fair": ("by", "limit")}
    words: dict[str, Any] = {}
    for kind in (kind for kind in KINDS if kind in told):
        one, other = pairs.get(kind, ("", ""))
        words[kind] = [(part[one], part[other]) for part in told[kind]] if one else told[kind]
    return words


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


ROW = re.compile(r'"([^"]+)"')


def as_words(text: str, parameters: Mapping[str, Any]) -> str:
    """Return a message with ``force_in=["a"]`` for ``"force_in[a]"``, and so on; the rest as it is.

    ``parameters``: of a selection, with its side constraints.
    """
    words = dict(_rows(parameters))
    told = ROW.sub(lambda found: words.get(found[1]) or words.get(found[1].partition("[")[0], found[0]), text)
    return told if told == text else told.replace("Relax or deactivate one", "Relax or leave out one")


def words_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return component of the model -> the words of ``select`` for it."""
    return {row: words for row, words in _rows(parameters) if "[" not in row}


def _rows(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each row, or of all of a component, and the words of ``select`` for it."""
    if (most := parameters.get("max_features")) is not None:
        yield "cardinality", f"max_features={most}"
    met: dict[str, int] = {}
    for kind in KINDS:
        told = parameters.get(kind)
        if not told or (kind == "budget" and not isinstance(told, list)):
            continue
        for one in [told] if kind in ONCE else told:
            base = _name(kind, one)
            met[base] = met.get(base, 0) + 1
            name = base if met[base] == 1 else f"{base}_{met[base]}"
            yield from _of(kind, name, one)


def _name(kind: str, told: Any) -> str:
    """Return what ``sides`` calls it."""
    if kind in ("requires", "excludes"):
        return f"{kind}_{told[0]}_{told[1]}"
    return f"fair_{told['by']}" if kind == "fair" else kind


def _of(kind: str, name: str, told: Any) -> Iterator[tuple[str, str]]:
    if kind in ("force_in", "force_out"):
        for feature in told:
            yield f"{name}[{feature}]", f'{kind}=["{feature}"]'
        yield name, f"{kind}={list(told)}"
    elif kind in ("requires", "excludes"):
        yield name, f'{kind}=("{told[0]}", "{told[1]}")'
    elif kind == "all_or_none":
        for row in (name, *(f"{name}[{feature}]" for feature in told)):
            yield row, f"{kind}={list(told)}"
    elif kind in ("at_most", "at_least"):
        group = told["features"]
        yield name, f"{kind}=({list(group)}, {told['k']})"
    elif kind == "budget":
        yield name, f"budget=(costs, {told['limit']:g})"
    elif kind == "at_most_of_group":
        for group in dict.fromkeys(told["groups"].values()):
            most = told["most"][group] if isinstance(told["most"], Mapping) else told["most"]
            yield f"{name}[{group}]", f'at_most_of_group "{group}": {most}'
    elif kind == "signs":
        for feature, way in told.items():
            yield f"{name}[{feature}]", f'signs={{"{feature}": "{way}"}}'
    elif kind == "fair":
        yield name, f'fair=("{told["by"]}", {told["limit"]})'
    elif kind == "hierarchy":
        yield name, f'hierarchy="{told}"'
