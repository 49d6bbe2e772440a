"""Side constraints of a selection by keyword: read, added to a model, and shown in reports and messages.

Each entry of ``KEYWORDS`` defines a keyword of ``select``. ``rows`` takes rows as text; each other keyword is a short
form of some of them (``side_constraints``). Messages of solvers name components of the model; ``with_keywords``
replaces these names by the keywords.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.dialect import quoted
from fsmodels.errors import DataWarning, ModelError, ParameterError
from fsmodels.models import side_constraints
from fsmodels.models.rows import Row, constraint
from fsmodels.models.spec import ModelSpec
from fsmodels.selection.catalogue import MODELS
from fsmodels.text import as_names, check_known_features, iterable, listed
from solvers.user_warnings import warn


@dataclass(frozen=True)
class Declaration:
    """Side constraint given by a keyword.

    Attributes
    ----------
    keyword, name : str
        The keyword, and the name of the component on the model.
    build : function of the model
        Returns the constraint, which belongs to no model yet.
    reported : Any
        The declaration in reports and JSON.
    texts : mapping
        The keyword with its value for each row, by the index of the row with brackets; ``""`` for the component.
    on_sigma, on_weights : bool
        True if the rows contain sigma, or weights.
    """

    keyword: str
    name: str
    build: Callable[[pyo.ConcreteModel], pyo.Constraint]
    reported: Any
    texts: Mapping[str, str]
    on_sigma: bool = True
    on_weights: bool = False


@dataclass(frozen=True)
class Keyword:
    """A keyword of ``select`` for side constraints.

    Attributes
    ----------
    example : str
        A value, for messages.
    read : function of a value and the data
        Returns the declarations of one value. The data are None if only ``texts`` are needed.
    is_one : function of a value, optional
        Return True if the value is one declaration, not several. None: the keyword takes only one value.
    keys : tuple of str
        Keys of a pair in a report.
    names_features : bool
        True if the value, or the first part of a pair, contains names of features; estimators also take positions.
    """

    example: str
    read: Callable[[Any, Any], list[Declaration]]
    is_one: Callable[[Any], bool] | None = None
    keys: tuple[str, ...] = ()
    names_features: bool = True

    def values(self, name: str, given: Any) -> list[Any]:
        """Return the single values of an argument. Raises ParameterError: not a list of these."""
        if given is None:
            return []
        if self.is_one is None or self.is_one(given):
            return [given]
        return _several(name, given, self.example)


def _pair(keyword: str, given: Any, what: str, is_first: Callable[[Any], bool] = lambda first: True) -> tuple[Any, Any]:
    """Return a pair. Raises ParameterError: not a pair of ``what``, or its first part is wrong."""
    if not isinstance(given, tuple | list) or len(given) != 2 or not is_first(given[0]):
        raise ParameterError(f"{keyword}={given!r} is no pair of {what}: give {KEYWORDS[keyword].example}.")
    return given[0], given[1]


def _is_mapping(given: Any) -> bool:
    return isinstance(given, Mapping)


def _read_row(given: Any, data: Dataset | None) -> list[Declaration]:
    row = given if data is None or not isinstance(given, str | Row) else _parsed_row(str(given), data)
    if data is not None and not isinstance(row, Row):
        raise ParameterError(f'rows: got {type(given).__name__}: give text, for example "slope <= oldpeak".')
    on = {"on_sigma": row.on_sigma, "on_weights": row.on_weights} if isinstance(row, Row) else {}
    text = str(row)
    build = partial(constraint, rows=row, doc=text)
    return [Declaration("rows", "rows", build, text, {"": f'rows=["{text}"]'}, **on)]


def _parsed_row(text: str, data: Dataset) -> Row:
    """Return the row of a text. Raises ParameterError: the weight of a column, which has several."""
    first = first_features(data)
    row = Row.parse(text, [*data.features, *first])
    for term in (term for side in row.sides for term in side):
        if term.variable == "w" and term.feature in first:
            names = listed(f"w[`{name}`]" for name in data.columns[term.feature])
            raise ParameterError(f'Row "{text}": column "{term.feature}" has a weight for each feature: write {names}.')
    return row.renamed(first)


def _read_budget(given: Any, data: Any) -> list[Declaration]:
    costs, limit = _pair("budget", given, "costs and limit", _is_mapping)
    costs = dict(costs)
    build = partial(side_constraints.budget, costs=costs, limit=limit)
    limit = float(limit) if isinstance(limit, int | float) else limit
    text = f"budget=(costs, {f'{limit:g}' if isinstance(limit, float) else limit})"
    return [Declaration("budget", "budget", build, {"costs": costs, "limit": limit}, {"": text})]


def _read_pair(keyword: str, given: Any, data: Any) -> list[Declaration]:
    a, b = _pair(keyword, given, "features")
    build = partial(getattr(side_constraints, keyword), a=a, b=b)
    return [Declaration(keyword, f"{keyword}_{a}_{b}", build, [a, b], {"": f'{keyword}=("{a}", "{b}")'})]


def _read_group(given: Any, data: Any) -> list[Declaration]:
    group = as_names(given, "all_or_none")
    texts = dict.fromkeys(["", *(f"[{name}]" for name in group)], f"all_or_none={group}")
    build = partial(side_constraints.all_or_none, features=group)
    return [Declaration("all_or_none", "all_or_none", build, group, texts)]


def _read_count(keyword: str, given: Any, data: Any) -> list[Declaration]:
    group, k = _pair(keyword, given, "a group and a number", lambda group: not isinstance(group, str | int | float))
    group = as_names(group, keyword)
    build = partial(getattr(side_constraints, keyword), features=group, k=k)
    reported = {"features": group, "k": k}
    return [Declaration(keyword, keyword, build, reported, {"": f"{keyword}=({group}, {k})"})]


def _read_groups(given: Any, data: Any) -> list[Declaration]:
    groups, most = _pair("at_most_of_group", given, "groups and a number", _is_mapping)
    groups, most = dict(groups), dict(most) if isinstance(most, Mapping) else most
    limits = most if isinstance(most, dict) else dict.fromkeys(groups.values(), most)
    texts = {f"[{group}]": f'at_most_of_group "{group}": {k}' for group, k in limits.items()}
    build = partial(side_constraints.at_most_of_group, groups=groups, most=most)
    return [Declaration("at_most_of_group", "at_most_of_group", build, {"groups": groups, "most": most}, texts)]


def _read_signs(given: Any, data: Any) -> list[Declaration]:
    if isinstance(given, Mapping | list | tuple) and not given:
        return []
    signs = dict(given) if isinstance(given, Mapping) else given
    texts = {f"[{j}]": f'signs={{"{j}": "{sign}"}}' for j, sign in signs.items()} if isinstance(signs, dict) else {}
    build = partial(side_constraints.signs, signs=given)
    return [Declaration("signs", "signs", build, signs, texts, on_sigma=False, on_weights=True)]


def _read_fair(given: Any, data: Any) -> list[Declaration]:
    by, limit = given
    build = partial(side_constraints.fair, data=data, groups=by, limit=limit)
    text, reported = f'fair=("{by}", {limit})', {"by": by, "limit": limit}
    return [Declaration("fair", f"fair_{by}", build, reported, {"": text}, on_sigma=False, on_weights=True)]


def _read_hierarchy(given: Any, data: Any) -> list[Declaration]:
    parents = {} if data is None else data.parents
    build = partial(side_constraints.hierarchy, parents=parents, kind=given)
    return [Declaration("hierarchy", "hierarchy", build, given, {"": f'hierarchy="{given}"'})]


def _read_forced(keyword: str, given: Any, data: Any) -> list[Declaration]:
    names = as_names(given, keyword)
    texts = {"": f"{keyword}={names}"} | {f"[{name}]": f'{keyword}=["{name}"]' for name in names}

    def build(model: pyo.ConcreteModel) -> pyo.Constraint:
        return getattr(side_constraints, keyword)(model, *names)

    return [Declaration(keyword, keyword, build, names, texts)] if names else []


def _has_costs(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) > 0 and isinstance(given[0], Mapping)


def _is_group(given: Any) -> bool:
    collection = isinstance(given, Collection) and iterable(given)  # an array of no dimension has no length
    several = collection and not isinstance(given, str | Mapping) and len(given) > 0
    return several and all(isinstance(name, str) for name in given)


def _is_row(given: Any) -> bool:
    return isinstance(given, str | Row)


def _never(given: Any) -> bool:
    return False


KEYWORDS: dict[str, Keyword] = {
    "budget": Keyword('({"a": 2.5}, 4)', _read_budget, _has_costs, ("costs", "limit")),
    "requires": Keyword('[("a", "b")]', partial(_read_pair, "requires"), _never),
    "excludes": Keyword('[("a", "b")]', partial(_read_pair, "excludes"), _never),
    "all_or_none": Keyword('[["a", "b"]]', _read_group, _is_group),
    "at_most": Keyword('[(["a", "b"], 1)]', partial(_read_count, "at_most"), _never, ("features", "k")),
    "at_least": Keyword('[(["a", "b"], 1)]', partial(_read_count, "at_least"), _never, ("features", "k")),
    "at_most_of_group": Keyword('({"a": "lab", "b": "lab"}, 1)', _read_groups, _has_costs, ("groups", "most")),
    "signs": Keyword('{"a": "+"}', _read_signs),
    "fair": Keyword('("sex", 0.1)', _read_fair, _never, ("by", "limit"), names_features=False),
    "hierarchy": Keyword('"strong"', _read_hierarchy, names_features=False),
    "force_in": Keyword('["a"]', partial(_read_forced, "force_in")),
    "force_out": Keyword('["a"]', partial(_read_forced, "force_out")),
    "rows": Keyword('["slope <= oldpeak"]', _read_row, _is_row, names_features=False),
}


def set_groups_aside(data: Dataset, fair: Any) -> tuple[Dataset, list[tuple[str, Any]]]:
    """Return the data with the groups of ``fair`` set aside, and the pairs of ``fair`` with the names of the columns.

    The column of the groups is removed from the features, unless ``data.set_aside(name, keep=True)`` was called before.
    Raises ParameterError: a value is no pair of groups and a limit. Raises DataError: the column does not exist.
    """
    single = isinstance(fair, tuple) and len(fair) == 2 and not all(isinstance(part, tuple) for part in fair)
    named: list[tuple[str, Any]] = []
    for given in [fair] if single else KEYWORDS["fair"].values("fair", fair):
        by, limit = _pair("fair", given, "groups and a limit")
        if not isinstance(by, str):
            name, k = "group", 1
            while name in data.aside:
                name, k = f"group {k + 1}", k + 1
            by, data = name, data.with_aside(**{name: by})
        elif by not in data.aside:
            if by not in data.features:
                there = f" Columns that are set aside: {listed(data.aside)}." if data.aside else ""
                check_known_features([by], data.features, f"fair={given!r}{there}")
            data = data.set_aside(by)
        named.append((by, limit))
    return data, named


def first_features(data: Dataset) -> dict[str, str]:
    """Return the first feature of each encoded column whose features are selected together.

    The sigma of this feature is 1 if the column is used, so that rows with names of columns count each column once.
    """
    columns = data.columns if data.categories else {}
    return {
        column: columns[column][0]
        for column, category in data.categories.items()
        if column in columns and column not in data.features and (category.together or len(columns[column]) == 1)
    }


def _by_features(keyword: str, given: Any, data: Dataset) -> Any:
    """Return the value of a keyword in which the name of a column is replaced by that of its first feature."""
    first = first_features(data) if KEYWORDS[keyword].names_features and keyword != "signs" else {}

    def replaced(part: Any) -> Any:
        if isinstance(part, str):
            return first.get(part, part)
        if isinstance(part, Mapping):
            names = [first.get(name, name) for name in part]
            if len({*names}) < len(names):
                twice = next(name for name in part if name in first and first[name] in part)
                raise ParameterError(f'{keyword} names column "{twice}" and its feature "{first[twice]}": keep one.')
            return dict(zip(names, part.values(), strict=True))
        return type(part)(map(replaced, part)) if type(part) in (list, tuple) else part

    return replaced(given) if first else given


def accepts_rows(spec: ModelSpec) -> bool:
    """Return True if rows on sigma can be added to this model."""
    return spec.selects or "sigma" in spec.parameters


def read_rows(spec: ModelSpec, given: Mapping[str, Any], data: Dataset, *, limited: bool = False) -> list[Declaration]:
    """Return the side constraints of the given keywords.

    ``fair`` has the form that ``set_groups_aside`` returns. ``limited``: True if a row limits the number of features.
    The 0/1 features of a category are selected together if any row or limit is on sigma.

    Raises ParameterError, DataError: a value does not have the form of its keyword. Raises ModelError: the model has no
    sigma, or no weights, to constrain.
    """
    found = [
        declaration
        for name, keyword in KEYWORDS.items()
        for value in keyword.values(name, _by_features(name, given.get(name), data))
        for declaration in keyword.read(value, data)
    ]
    if spec.selects or limited or any(declaration.on_sigma for declaration in found):
        found += _together(data, found)
    for declaration in found:
        for needed, accepts, what in (
            (declaration.on_sigma, accepts_rows, "has no sigma to constrain"),
            (declaration.on_weights, attrgetter("takes_weight_rows"), "takes no rows on weights"),
        ):
            if needed and not accepts(spec):
                others = [name for name, r in MODELS.items() if accepts(r)]
                raise ModelError(
                    f'Model "{spec.name}" {what}, so it cannot take {declaration.keyword}. Models that can: '
                    f"{', '.join(others)}."
                )
    return found


def warn_of_split_categories(name: str, data: Dataset, stated: Mapping[str, Any]) -> None:
    """Warn if a model selects the features of a category separately."""
    columns = [column for column, category in data.categories.items() if category.together and len(category.levels) > 2]
    spec = MODELS[name]
    if columns and name != "svm" and "all_or_none" not in stated:
        able = [other for other, r in MODELS.items() if r.selects]
        limit = "" if "max_features" in spec.parameters else ", or with --max-features (max_features=)"
        warn(
            f'Model "{name}" selects the features of {listed(map(quoted, columns), 5)} separately: they are selected '
            f"together by {listed(able)}{limit}.",
            DataWarning,
        )


def _together(data: Dataset, found: list[Declaration]) -> list[Declaration]:
    """Return "all or none" for the 0/1 features of each category that is selected together, unless it was given."""
    given = [set(one.reported) for one in found if one.keyword == "all_or_none"]
    groups = [
        names
        for column, names in data.columns.items()
        if len(names) > 1 and set(names) not in given and data.categories[column].together
    ]
    return [declaration for names in groups for declaration in _read_group(names, data)]


def _several(what: str, given: Any, example: str) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not iterable(given):
        raise ParameterError(f"{what} got {type(given).__name__}: give {example}.")
    return list(given)


def number_and_rows(budget: Any) -> tuple[Any, Any]:
    """Return the number in a list of budgets, None without one, and the pairs of costs and a limit."""
    if not isinstance(budget, list):
        return None, budget
    counts = [part for part in budget if isinstance(part, numbers.Number)]
    if len(counts) > 1:
        raise ParameterError(
            f"budget has the numbers {listed(map(str, counts))}: give one, and pairs of costs and limit."
        )
    return (counts[0] if counts else None), [part for part in budget if not isinstance(part, numbers.Number)]


def prices(budget: Any) -> bool:
    """Return True if a budget consists of pairs of costs and a limit, False for numbers (fsmulti)."""
    parts = budget if isinstance(budget, list) else [budget]
    return any(isinstance(part, tuple) and part and isinstance(part[0], Mapping) for part in parts)


def state(model: pyo.ConcreteModel, declarations: Iterable[Declaration]) -> dict[str, Any]:
    """Add the side constraints to the model; return them by keyword for the report."""
    stated: dict[str, Any] = {}
    for declaration in declarations:
        row = declaration.build(model)
        model.add_component(free_name(model, declaration.name), row)
        if KEYWORDS[declaration.keyword].is_one is None:
            stated[declaration.keyword] = declaration.reported
        else:
            stated.setdefault(declaration.keyword, []).append(declaration.reported)
    return stated


def free_name(model: pyo.ConcreteModel, name: str) -> str:
    """Return the name, with ``_2``, ``_3``, ... if the model has an attribute of this name."""
    free, k = name, 1
    while model.component(free) is not None or hasattr(model, free):
        k += 1
        free = f"{name}_{k}"
    return free


def declared(reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return the side constraints of a report by keyword; the report may have other entries."""
    words: dict[str, Any] = {}
    for name, keyword in KEYWORDS.items():
        if name in reported:
            one, keys = reported[name], keyword.keys
            words[name] = [tuple(part[key] for key in keys) for part in one] if keys else one
    return words


def rows_on_switches(given: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    """Return the side constraints by keyword without those on weights, for methods without weights."""
    kept: dict[str, Any] = {}
    for name, keyword in KEYWORDS.items():
        values = keyword.values(name, _by_features(name, given.get(name), data))
        values = [value for value in values if not any(row.on_weights for row in keyword.read(value, data))]
        if values:
            kept[name] = values[0] if keyword.is_one is None else values
    return kept


def rows_on_weights(reported: Mapping[str, Any], features: Sequence[str], selected: Collection[str]) -> dict[str, Any]:
    """Return the side constraints on the weights of selected features by keyword."""
    words = declared({name: reported[name] for name in ("signs", "fair") if name in reported})
    if "signs" in words:
        words["signs"] = {name: sign for name, sign in words["signs"].items() if name in selected}
    rows = [Row.parse(text, features).restricted(selected) for text in reported.get("rows", ())]
    return words | {"rows": [row for row in rows if row is not None]}


def rows_model(features: Iterable[str]) -> pyo.ConcreteModel:
    """Return a model with a binary sigma only, for the side constraints of a method without a model."""
    model = pyo.ConcreteModel(name="selections")
    model.features = pyo.Set(initialize=list(features), doc="features, in the order of the data's columns")
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, doc="1 where a feature is selected")
    return model


ROW = re.compile(r'"([^"]+)"')


def with_keywords(text: str, parameters: Mapping[str, Any]) -> str:
    """Return a message in which keywords replace the names of rows: ``force_in=["a"]`` for ``"force_in[a]"``.

    ``parameters``: of a selection, with its side constraints.
    """
    words = dict(_rows(parameters))
    replaced = ROW.sub(lambda found: words.get(found[1]) or words.get(found[1].partition("[")[0], found[0]), text)
    return replaced if replaced == text else replaced.replace("Relax or deactivate one", "Relax or leave out one")


def keywords_by_row(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the keyword with its value for each component of the model."""
    return {row: words for row, words in _rows(parameters) if "[" not in row}


def _rows(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each row or component, and the keyword with its value."""
    if (most := parameters.get("max_features")) is not None:
        yield "cardinality", f"max_features={most}"
        yield "column_limit", f'max_features={most}, count="columns"'
    counts: dict[str, int] = {}
    reported = {name: one for name, one in parameters.items() if one and not isinstance(one, numbers.Number)}
    for name, words in declared(reported).items():
        keyword = KEYWORDS[name]
        for value in [words] if keyword.is_one is None else words:
            for declaration in keyword.read(value, None):
                k = counts[declaration.name] = counts.get(declaration.name, 0) + 1
                component = declaration.name if k == 1 else f"{declaration.name}_{k}"
                yield from ((f"{component}{index}", text) for index, text in declaration.texts.items())
