"""Short forms of common rows over features, as Pyomo constraints.

Each function returns a new constraint. Assign it to the model under any name; then it can be printed, deactivated and
deleted as any other constraint. The rows of the table have the syntax of ``fs.rows``:

=====================  =====================================  ========================================
function               rows                                   meaning
=====================  =====================================  ========================================
``budget``             ``2.5 a + 4 b + c <= 5``               limit on the cost of the selection
``requires``           ``a <= b``                             a only together with b
``excludes``           ``a + b <= 1``                         not both a and b
``all_or_none``        ``b == a``, ``c == a``                 the whole group or none of it
``at_most``            ``a + b + c <= 2``                     at most k features of a group
``at_least``           ``a + b + c >= 2``                     at least k features of a group
``at_most_of_group``   ``a + b <= 1``, ``c + d <= 1``         ``at_most`` for each group of a mapping
``hierarchy``          ``product <= a``, ``product <= b``     products of features only with these
``force_in``           ``a == 1``                             selected
``force_out``          ``a == 0``                             not selected
``signs``              ``w[a] >= 0``, ``w[b] <= 0``           signs of weights
``fair``               ``-0.1 <= 3 w[a] - w[b] <= 0.1``       limit on differences of mean scores
=====================  =====================================  ========================================

``sigma`` must be binary. The variable r of FSL is accepted too: it is 1 if a feature is used, and may be a fraction
otherwise. Rounding fractions down to 0 violates none of these rows except ``at_least`` with 0 < k < size of the group
and the weak hierarchy; these make r of their features binary.

All functions raise ``DataError`` if a name is not a feature or is repeated, or if there are too few names,
``ParameterError`` if a number is out of range, and ``ModelError`` if the model has no ``sigma`` (or no ``w``).

Other linear rows: ``fs.rows.parse(text, model)``, or a Pyomo constraint on ``model.sigma`` and ``model.w``. Solvers and
drivers support such rows, or reject them by name.

Examples
--------
>>> import fsmodels as fs
>>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
>>> model.pair = fs.side_constraints.requires(model, "sgpt", "sgot")
>>> print(model.pair.expr)
sigma[sgpt]  <=  sigma[sgot]
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.checks import choice, number
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, InfeasibleParameter, ParameterError
from fsmodels.models.rows import Row, Term, constraint, switches, weights
from fsmodels.models.shares import mean_of
from fsmodels.text import check_known_features, iterable, listed

EXPENSIVE = 1e6  # a cost above this multiple of the limit excludes the feature
LARGE = 1e9  # larger numbers are scaled
NO_DIFFERENCE = 1e-13  # relative to the mean size of a feature: equal means
NEGLIGIBLE = 1e-9  # relative to the largest cost: below the resolution of solvers in a row

__all__ = [
    "all_or_none",
    "at_least",
    "at_most",
    "at_most_of_group",
    "budget",
    "excludes",
    "fair",
    "force_in",
    "force_out",
    "hierarchy",
    "requires",
    "signs",
]
__dir__ = __all__.copy  # what <TAB> offers


def budget(model: pyo.ConcreteModel, costs: Mapping[str, float], limit: float) -> pyo.Constraint:
    """Limit the cost of the selected features.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    costs : mapping feature -> number
        At least 0 each, in any unit; a feature without a cost is free.
    limit : float
        At least 0, in the unit of the costs.

    Returns
    -------
    pyo.Constraint
        ``sum_j cost_j sigma_j <= limit``, to be assigned to the model. Costs above a million times the limit are
        replaced by twice the limit, which also excludes the feature. Numbers above 1e9 are divided by a power of two,
        because solvers drop rows with coefficients of 1e15.

    Raises
    ------
    DataError
        A cost is for an unknown feature.
    ParameterError
        A cost or the limit is negative or not finite; there are no costs; costs differ so much that rounding removes
        the small ones.
    ModelError
        The model has no ``sigma``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=6)
    >>> model.budget = fs.side_constraints.budget(model, {"sgpt": 3, "sgot": 2.5, "drinks": 0}, limit=4)
    >>> len(fs.solve(model).selected) <= 5
    True
    """
    sigma = switches(model)
    if not isinstance(costs, Mapping):
        raise ParameterError(f'budget: the costs are {type(costs).__name__}: give a mapping, such as {{"age": 2.5}}.')
    check_known_features(costs, list(sigma), "budget")
    for name, cost in costs.items():
        if not 0 <= number(cost) < math.inf:
            raise ParameterError(f'budget: the cost {cost!r} of "{name}" is not allowed: give a number of at least 0.')
    _check_limit("budget", limit, "which not even the empty selection satisfies")
    priced = {name: float(cost) for name, cost in costs.items() if cost}
    if not priced:
        raise ParameterError("budget: no feature has a cost above 0, so the limit has no effect: give the costs.")
    priced, most = _within_range(priced, float(limit), binary=all(s.is_binary() for s in sigma.values()))
    return constraint(model, Row.of(priced, "<=", most), "cost of the selected features")


def _within_range(costs: dict[str, float], limit: float, *, binary: bool) -> tuple[dict[str, float], float]:
    """Return costs and a limit that allow the same selections, with numbers in the range of solvers."""
    if binary:
        expensive = [name for name, cost in costs.items() if cost > EXPENSIVE * limit and cost > EXPENSIVE]
        costs = costs | dict.fromkeys(expensive, 2 * limit or 1.0)
    name, most = max(costs.items(), key=lambda item: item[1])
    least = min(costs.values())
    if sum(c / most for c in costs.values()) > limit / most and min(least, limit or least) < NEGLIGIBLE * most:
        small = f'the cost {least:g} of "{min(costs, key=costs.__getitem__)}"'
        small = small if least < NEGLIGIBLE * most else f"the limit {limit:g}"
        raise ParameterError(
            f'budget: {small} is negligible compared with the cost {most:g} of "{name}": give numbers that differ by '
            f"less than {1 / NEGLIGIBLE:g} times, or costs of 0."
        )
    unit = 2.0 ** -math.floor(math.log2(most)) if most > LARGE else 1.0
    return {name: cost * unit for name, cost in costs.items()}, limit * unit


def requires(model: pyo.ConcreteModel, a: str, b: str) -> pyo.Constraint:
    """Allow feature ``a`` only together with feature ``b``: ``sigma_a <= sigma_b``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("wdbc").scaled("standard"), max_features=3)
    >>> model.pair = fs.side_constraints.requires(model, "mean_radius", "mean_area")
    """
    _check_pair("requires", a, b, list(switches(model)))
    return constraint(model, Row.of({a: 1}, "<=", {b: 1}), f"{a} requires {b}")


def excludes(model: pyo.ConcreteModel, a: str, b: str) -> pyo.Constraint:
    """Allow at most one of the features ``a`` and ``b``: ``sigma_a + sigma_b <= 1``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("wdbc").scaled("standard"), max_features=3)
    >>> model.not_both = fs.side_constraints.excludes(model, "mean_radius", "worst_radius")
    """
    _check_pair("excludes", a, b, list(switches(model)))
    return constraint(model, Row.of({a: 1, b: 1}, "<=", 1), f"not both {a} and {b}")


def hierarchy(model: pyo.ConcreteModel, parents: Mapping[str, Iterable[str]], kind: str = "strong") -> pyo.Constraint:
    """Select products of features only together with their factors.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    parents : mapping feature -> features
        ``data.parents`` of data with ``with_interactions``.
    kind : {"strong", "weak"}
        With all parents, or with at least one.

    Returns
    -------
    pyo.Constraint
        Indexed by (child, parent), ``sigma_child <= sigma_parent``, or by child, ``sigma_child <= sum sigma_parent``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").with_interactions("sgpt", "sgot", "drinks").scaled("standard")
    >>> model = fs.fsp.fsp_m(data, max_features=3)
    >>> model.order = fs.side_constraints.hierarchy(model, data.parents)
    >>> fs.solve(model).status.value
    'optimal'
    """
    sigma = switches(model)
    choice("hierarchy", kind, ["strong", "weak"])
    if not isinstance(parents, Mapping) or not parents:
        raise ParameterError(
            "hierarchy: there are no products of features, so it has no effect: use data.with_interactions()."
        )
    check_known_features(parents, list(sigma), "hierarchy")
    above = {child: _group("hierarchy", of, list(sigma), least=1) for child, of in parents.items()}
    if kind == "strong":
        pairs = {(child, parent): Row.of({child: 1}, "<=", {parent: 1}) for child, of in above.items() for parent in of}
        return constraint(model, pairs, "a product only with its features")
    rows = {child: Row.of({child: 1}, "<=", dict.fromkeys(of, 1)) for child, of in above.items()}
    return constraint(model, rows, "a product only with one of its features")


def all_or_none(model: pyo.ConcreteModel, features: Iterable[str]) -> pyo.Constraint:
    """Select all features of a group or none, such as the dummies of one category.

    Returns
    -------
    pyo.Constraint
        Indexed by the group without its first feature: ``sigma_j == sigma_first``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_lambda(fs.load_dataset("bupa").scaled("standard"), penalty=1.0)
    >>> model.liver = fs.side_constraints.all_or_none(model, ["sgpt", "sgot", "gammagt"])
    >>> {"sgpt", "sgot", "gammagt"}.isdisjoint(fs.solve(model).selected)
    False
    """
    first, *others = _group("all_or_none", features, list(switches(model)), least=2)
    rows = {name: Row.of({name: 1}, "==", {first: 1}) for name in others}
    return constraint(model, rows, f"as {first}: all of them or none")


def at_most(model: pyo.ConcreteModel, features: Iterable[str], k: int) -> pyo.Constraint:
    """Select at most ``k`` features of a group: ``sum sigma_j <= k``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.one_enzyme = fs.side_constraints.at_most(model, ["sgpt", "sgot", "gammagt"], 1)
    """
    return _counted(model, "at_most", features, k, "<=")


def at_most_of_group(
    model: pyo.ConcreteModel, groups: Mapping[str, Any], most: int | Mapping[Any, int]
) -> pyo.Constraint:
    """Select at most ``most`` features of each group.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    groups : mapping feature -> group
        For example the laboratory that measures it, or ``data.correlated(0.95)``; other features are not limited.
    most : int, or mapping group -> int
        One number for all groups, or a number for each group with a limit.

    Returns
    -------
    pyo.Constraint
        Indexed by the groups with a limit below their size, to be assigned to the model.

    Raises
    ------
    DataError
        A name is not a feature, or a limit is for an unknown group.
    ParameterError
        A limit is negative or not an integer; no group has more features than its limit.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> model = fs.fsp.fsp_m(data, max_features=3)
    >>> model.alike = fs.side_constraints.at_most_of_group(model, data.correlated(0.95), 1)
    >>> fs.solve(model).status.value
    'optimal'
    """
    sigma = switches(model)
    _check_mapping("at_most_of_group", groups, "no group", '{"age": "person"}')
    check_known_features(groups, list(sigma), "at_most_of_group")
    by_group: dict[str, list[str]] = {}
    for name, group in groups.items():
        by_group.setdefault(str(group), []).append(name)
    limits = (
        {str(group): k for group, k in most.items()} if isinstance(most, Mapping) else dict.fromkeys(by_group, most)
    )
    if unknown := [group for group in limits if group not in by_group]:
        raise DataError(f"at_most_of_group: {listed(unknown)} is not a group. Groups: {listed(by_group)}.")
    for group, k in limits.items():
        if not _is_whole(k) or k < 0:
            raise InfeasibleParameter(f'at_most_of_group: {k!r} of group "{group}" is not allowed: use 0, 1, 2, ...')
    limited = [group for group, k in limits.items() if k < len(by_group[group])]
    if not limited:
        raise ParameterError("at_most_of_group: no group has more features than its limit, so it has no effect.")
    rows = {group: Row.of(dict.fromkeys(by_group[group], 1), "<=", int(limits[group])) for group in limited}
    return constraint(model, rows, "at most of the group")


def at_least(model: pyo.ConcreteModel, features: Iterable[str], k: int) -> pyo.Constraint:
    """Select at least ``k`` features of a group: ``sum sigma_j >= k``.

    The variables r of FSL become binary for the group; see the module docstring.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2)
    >>> model.an_enzyme = fs.side_constraints.at_least(model, ["sgpt", "sgot", "gammagt"], 1)
    """
    return _counted(model, "at_least", features, k, ">=")


def _counted(model: pyo.ConcreteModel, what: str, features: Iterable[str], k: int, relation: str) -> pyo.Constraint:
    group = _group(what, features, list(switches(model)), least=1)
    if not _is_whole(k) or k < 0 or (relation == ">=" and k > len(group)):
        raise InfeasibleParameter(f"{what}: k={k!r} is not allowed: use 0..{len(group)}, the size of the group.")
    row = Row.of(dict.fromkeys(group, 1), relation, int(k))
    return constraint(model, row, f"{what.replace('_', ' ')} {k} of the group")


def force_in(model: pyo.ConcreteModel, *features: str) -> pyo.Constraint:
    """Select these features: ``sigma_j == 1``, one row each.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2)
    >>> model.wanted = fs.side_constraints.force_in(model, "drinks")
    >>> "drinks" in fs.solve(model).selected
    True
    """
    return _forced(model, "force_in", features, 1)


def force_out(model: pyo.ConcreteModel, *features: str) -> pyo.Constraint:
    """Do not select these features: ``sigma_j == 0``, one row each.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2)
    >>> model.unwanted = fs.side_constraints.force_out(model, "drinks", "mcv")
    """
    return _forced(model, "force_out", features, 0)


def _forced(model: pyo.ConcreteModel, what: str, features: tuple[Any, ...], value: int) -> pyo.Constraint:
    if len(features) == 1 and not isinstance(features[0], str) and isinstance(features[0], Iterable):
        features = tuple(features[0])  # a list instead of separate names
    group = _group(what, features, list(switches(model)), least=1)
    rows = {name: Row.of({name: 1}, "==", value) for name in group}
    return constraint(model, rows, "selected" if value else "not selected")


def signs(model: pyo.ConcreteModel, signs: Mapping[str, str]) -> pyo.Constraint:
    """Fix the signs of weights: "+" for w_j >= 0, "-" for w_j <= 0.

    Scaling does not change the sign of a weight. A feature that is not selected has weight 0, which satisfies both
    rows.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with weights ``w`` over features.
    signs : mapping feature -> "+" or "-"

    Returns
    -------
    pyo.Constraint
        Indexed by these features, to be assigned to the model.

    Raises
    ------
    DataError
        A name is not a feature.
    ParameterError
        A sign is neither "+" nor "-", or there is no sign.
    ModelError
        The model has no weights ``w``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.dose = fs.side_constraints.signs(model, {"drinks": "+"})
    >>> fs.solve(model).status.value, model.w["drinks"].value >= -1e-9
    ('optimal', True)
    """
    w = weights(model)
    _check_mapping("signs", signs, "no sign", '{"age": "+"}')
    check_known_features(signs, list(w), "signs")
    for name, sign in signs.items():
        if sign not in ("+", "-"):
            raise ParameterError(f'signs: "{name}" has {sign!r}: give "+" for a weight of at least 0, or "-".')
    rows = {name: Row.of({name: 1}, ">=" if sign == "+" else "<=", 0, "w") for name, sign in signs.items()}
    return constraint(model, rows, "direction of the feature")


def fair(model: pyo.ConcreteModel, data: Dataset, groups: Any, limit: float) -> pyo.Constraint:
    r"""Limit the difference between the mean scores of groups of samples.

    With the score :math:`w \cdot x_i + b` and the means :math:`\bar x_A, \bar x_B` of two groups

    .. math:: -\epsilon \le w \cdot (\bar x_A - \bar x_B) \le \epsilon,

    is one row on w, because b cancels. Each pair of groups has a row. The means have the sample weights.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with weights ``w`` over features.
    data : Dataset
        The data of the model, with the same scaling.
    groups : str, or one value per sample
        An auxiliary column (``Dataset.set_aside``), or the group of each sample.
    limit : float
        At least 0, in units of the score; the margin is 1.

    Returns
    -------
    pyo.Constraint
        Indexed by pairs of groups, to be assigned to the model.

    Raises
    ------
    DataError
        The column does not exist, the number of values is not the number of samples, there is one group or more than
        20, or the data have other features.
    ParameterError
        The limit is negative or not a number.
    ModelError
        The model has no weights ``w``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("cleveland").scaled("standard").set_aside("sex")
    >>> model = fs.fsp.fsp_m(data, max_features=4)
    >>> model.fair = fs.side_constraints.fair(model, data, "sex", 0.1)
    >>> list(model.fair)
    [('0', '1')]
    """
    w = weights(model)
    if not isinstance(data, Dataset) or any(name not in data.features for name in w):
        raise DataError("fair needs the data that the model was built from, with all of its features: give them.")
    _check_limit("fair", limit, "which no weights satisfy")
    own = data.select_features(list(w)) if tuple(w) != data.features else data
    sizes = np.asarray(abs(own.X).mean(axis=0)).ravel()
    means = {name: np.asarray(mean_of(data, rows, own.X)).ravel() for name, rows in data.members(groups).items()}

    rows = {}
    for one, other in itertools.combinations(means, 2):
        differences = zip(w, means[one] - means[other], sizes, strict=True)
        terms = tuple(Term(float(d), "w", name) for name, d, size in differences if abs(d) > NO_DIFFERENCE * size)
        if terms:
            rows[one, other] = Row(((Term(-float(limit)),), terms, (Term(float(limit)),)), "<=")
    return constraint(model, rows, "mean scores of two groups")


def _check_pair(what: str, a: str, b: str, known: list[str]) -> None:
    check_known_features([a, b], known, what)
    if a == b:
        raise DataError(f'{what}: "{a}" is on both sides: name two features.')


def _check_limit(what: str, limit: Any, reason: str) -> None:
    if not math.isfinite(number(limit)):
        raise ParameterError(f"{what}: limit={limit!r} is not allowed: give a number of at least 0.")
    if limit < 0:
        raise InfeasibleParameter(f"{what}: limit={limit:g} is below 0, {reason}: give at least 0.")


def _check_mapping(what: str, given: Any, empty: str, example: str) -> None:
    if not isinstance(given, Mapping) or not given:
        got = empty if isinstance(given, Mapping) else type(given).__name__
        raise ParameterError(f"{what} got {got}: give a mapping, such as {example}.")


def _group(what: str, features: Iterable[str], known: list[str], *, least: int) -> list[str]:
    if isinstance(features, str):
        raise DataError(f'{what}: got the text "{features}": give a list of features, for example ["{features}"].')
    group: list[Any] = list(features) if iterable(features) else [features]
    check_known_features(group, known, what)
    twice = [name for name, count in Counter(group).items() if count > 1]
    if twice:
        raise DataError(f"{what}: these features are repeated: {listed(twice)}. Name each once.")
    if len(group) < least:
        raise DataError(f"{what}: got {len(group)} features: give at least {least}.")
    return group


def _is_whole(x: Any) -> bool:
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)
