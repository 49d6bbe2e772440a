"""What a selection must also satisfy, as ordinary Pyomo constraints on ``model.sigma``.

Each function returns a new constraint that belongs to no model yet. Assign it, under a name of your choice, and treat
it as any other Pyomo constraint: print it, deactivate it, delete it. With sigma_j = 1 for a selected feature:

=================  =========================================  ======================================
function           in words                                   constraint
=================  =========================================  ======================================
``budget``         what is selected costs ``limit`` at most   sum_j cost_j sigma_j <= limit
``requires``       a only together with b                     sigma_a <= sigma_b
``excludes``       not both a and b                           sigma_a + sigma_b <= 1
``all_or_none``    the whole group or nothing of it           sigma_j == sigma_first for j in group
``at_most``        at most k of a group                       sum_{j in group} sigma_j <= k
``at_least``       at least k of a group                      sum_{j in group} sigma_j >= k
``force_in``       these are selected                         sigma_j == 1
``force_out``      these are not                              sigma_j == 0
=================  =========================================  ======================================

``at_most_of_group`` states ``at_most`` for each group of a mapping, ``hierarchy`` says which features products of
features need. Rows on the weights ``model.w``, from ``weight_rows``: ``signs``, w_j >= 0 or w_j <= 0, and ``fair``, a
limit on the difference of mean scores between groups.

``sigma`` must be binary. FSL's r is taken too: it is 1 where a feature is used, may be a fraction where it is not, and
rounding it down keeps every row above but those of ``at_least`` with 0 < k < the size of the group, and of a weak
hierarchy. There fractions would count (three overlapping pairs, each satisfied by two halves), so that these make the
group's r binary.

All raise ``DataError`` where a name is no feature, stands twice (the same a and b) or there are too few,
``ParameterError`` where k is no whole number from 0 on (``at_least``: to the size of the group), and ``ModelError``
where the model has no ``sigma``.

Anything else linear in ``model.sigma`` is stated in Pyomo itself: ``model.odd = pyo.Constraint(expr=...)``. Solvers and
drivers honour such rows, or refuse them by name.

Examples
--------
>>> import fsmodels as fs
>>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
>>> model.pair = fs.side_constraints.requires(model, "sgpt", "sgot")
>>> print(model.pair.expr)
sigma[sgpt]  <=  sigma[sgot]
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import choice
from fsmodels.errors import DataError, InfeasibleParameter, ModelError, ParameterError
from fsmodels.models.weight_rows import fair, signs
from fsmodels.words import check_known_features, iterable, listed

DEAR = 1e6  # times the limit
LARGE = 1e9  # numbers that are left as they are
LOST = 1e-9  # of the largest cost: less than solvers resolve in a row

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
    """Bound what the selected features cost together.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    costs : mapping feature -> number
        At least 0 each, in any unit; a feature that is left out is free.
    limit : float
        At least 0, in the unit of the costs.

    Returns
    -------
    pyo.Constraint
        ``sum_j cost_j sigma_j <= limit``, to be assigned to the model. Of costs above a million times the limit it
        has twice the limit, which forbids a binary as well, and where numbers are above 1e9 it is divided by a power
        of two: solvers drop rows with coefficients of 1e15.

    Raises
    ------
    DataError
        A cost for something that is no feature.
    ParameterError
        A cost or the limit is negative or not finite, or there are no costs; costs are so far apart that the small
        ones are lost.
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
    sigma = _sigma(model)
    if not isinstance(costs, Mapping):
        raise ParameterError(f'budget: the costs are {type(costs).__name__}: give a mapping, such as {{"age": 2.5}}.')
    check_known_features(costs, list(sigma), "budget")
    for name, cost in costs.items():
        if not _is_number(cost) or cost < 0:
            raise ParameterError(f'budget: the cost {cost!r} of "{name}" is not allowed: give a number of at least 0.')
    if not _is_number(limit):
        raise ParameterError(f"budget: limit={limit!r} is not allowed: give a number of at least 0.")
    if limit < 0:
        raise InfeasibleParameter(
            f"budget: limit={limit:g} is below 0, which not even the empty selection satisfies: give at least 0."
        )
    priced = {name: float(cost) for name, cost in costs.items() if cost}
    if not priced:
        raise ParameterError("budget: no feature has a cost above 0, so nothing would be bounded: give the costs.")
    priced, most = _within_range(priced, float(limit), binary=all(s.is_binary() for s in sigma.values()))
    return pyo.Constraint(
        expr=pyo.quicksum(cost * sigma[name] for name, cost in priced.items()) <= most,
        doc="cost of the selected features",
    )


def _within_range(costs: dict[str, float], limit: float, *, binary: bool) -> tuple[dict[str, float], float]:
    """Return costs and limit of the same selections, of sizes that solvers take."""
    if binary:
        dear = [name for name, cost in costs.items() if cost > DEAR * limit and cost > DEAR]
        costs = costs | dict.fromkeys(dear, 2 * limit or 1.0)
    name, most = max(costs.items(), key=lambda item: item[1])
    least = min(costs.values())
    if sum(c / most for c in costs.values()) > limit / most and min(least, limit or least) < LOST * most:
        small = f'the cost {least:g} of "{min(costs, key=costs.__getitem__)}"'
        small = small if least < LOST * most else f"the limit {limit:g}"
        raise ParameterError(
            f'budget: {small} is lost beside the cost {most:g} of "{name}": give numbers that differ by less than '
            f"{1 / LOST:g} times, or costs of 0."
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
    sigma = _sigma(model)
    _check_pair("requires", a, b, list(sigma))
    return pyo.Constraint(expr=sigma[a] <= sigma[b], doc=f"{a} requires {b}")


def excludes(model: pyo.ConcreteModel, a: str, b: str) -> pyo.Constraint:
    """Allow at most one of the features ``a`` and ``b``: ``sigma_a + sigma_b <= 1``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("wdbc").scaled("standard"), max_features=3)
    >>> model.not_both = fs.side_constraints.excludes(model, "mean_radius", "worst_radius")
    """
    sigma = _sigma(model)
    _check_pair("excludes", a, b, list(sigma))
    return pyo.Constraint(expr=sigma[a] + sigma[b] <= 1, doc=f"not both {a} and {b}")


def hierarchy(model: pyo.ConcreteModel, parents: Mapping[str, Iterable[str]], kind: str = "strong") -> pyo.Constraint:
    """Select products of features only with these.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    parents : mapping feature -> features
        ``data.parents`` of data with ``with_interactions``.
    kind : {"strong", "weak"}
        Only with all of its parents, or with one of them at least.

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
    sigma = _sigma(model)
    choice("hierarchy", kind, ["strong", "weak"])
    if not isinstance(parents, Mapping) or not parents:
        raise ParameterError(
            "hierarchy: there are no products of features, so nothing would be bounded: use data.with_interactions()."
        )
    check_known_features(parents, list(sigma), "hierarchy")
    above = {child: _group("hierarchy", of, list(sigma), least=1) for child, of in parents.items()}
    if kind == "strong":
        pairs = [(child, parent) for child, of in above.items() for parent in of]
        return pyo.Constraint(pairs, rule=lambda m, a, b: sigma[a] <= sigma[b], doc="a product only with its features")
    for parent in {parent for of in above.values() for parent in of}:
        if not _binary(sigma[parent]):
            sigma[parent].domain = pyo.Binary
    return pyo.Constraint(
        list(above),
        rule=lambda m, a: sigma[a] <= pyo.quicksum(sigma[b] for b in above[a]),
        doc="a product only with one of its features",
    )


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
    sigma = _sigma(model)
    first, *others = _group("all_or_none", features, list(sigma), least=2)
    return pyo.Constraint(others, rule=lambda m, j: sigma[j] == sigma[first], doc=f"as {first}: all of them or none")


def at_most(model: pyo.ConcreteModel, features: Iterable[str], k: int) -> pyo.Constraint:
    """Select at most ``k`` features of a group: ``sum sigma_j <= k``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=3)
    >>> model.one_enzyme = fs.side_constraints.at_most(model, ["sgpt", "sgot", "gammagt"], 1)
    """
    sigma = _sigma(model)
    group = _group("at_most", features, list(sigma), least=1)
    if not _is_whole(k) or k < 0:
        raise InfeasibleParameter(f"at_most: k={k!r} is not allowed: use 0..{len(group)}, the size of the group.")
    return pyo.Constraint(expr=pyo.quicksum(sigma[j] for j in group) <= int(k), doc=f"at most {k} of the group")


def at_most_of_group(
    model: pyo.ConcreteModel, groups: Mapping[str, Any], most: int | Mapping[Any, int]
) -> pyo.Constraint:
    """Select at most so many features of each group.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A model with ``sigma`` over features.
    groups : mapping feature -> group
        Such as the laboratory that measures it, or ``data.correlated(0.95)``; a feature without a group is free.
    most : int, or mapping group -> int
        One number for all groups, or one for each that has a limit.

    Returns
    -------
    pyo.Constraint
        Indexed by the groups with a limit below their size, to be assigned to the model.

    Raises
    ------
    DataError
        A group for something that is no feature, or a number for something that is no group.
    ParameterError
        A number that is not whole or negative; limits that no group can exceed.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("wdbc").scaled("standard")
    >>> model = fs.fsp.fsp_m(data, max_features=3)
    >>> model.alike = fs.side_constraints.at_most_of_group(model, data.correlated(0.95), 1)
    >>> fs.solve(model).status.value
    'optimal'
    """
    sigma = _sigma(model)
    if not isinstance(groups, Mapping) or not groups:
        given = "no group" if isinstance(groups, Mapping) else type(groups).__name__
        raise ParameterError(f'at_most_of_group got {given}: give a mapping, such as {{"age": "person"}}.')
    check_known_features(groups, list(sigma), "at_most_of_group")
    by_group: dict[str, list[str]] = {}
    for name, group in groups.items():
        by_group.setdefault(str(group), []).append(name)
    limits = (
        {str(group): k for group, k in most.items()} if isinstance(most, Mapping) else dict.fromkeys(by_group, most)
    )
    if unknown := [group for group in limits if group not in by_group]:
        raise DataError(f"at_most_of_group: {listed(unknown)} is no group. Groups: {listed(by_group)}.")
    for group, k in limits.items():
        if not _is_whole(k) or k < 0:
            raise InfeasibleParameter(f'at_most_of_group: {k!r} of group "{group}" is not allowed: use 0, 1, 2, ...')
    held = [group for group, k in limits.items() if k < len(by_group[group])]
    if not held:
        raise ParameterError(
            "at_most_of_group: no group has more features than its limit, so nothing would be bounded."
        )
    return pyo.Constraint(
        held,
        rule=lambda m, g: pyo.quicksum(sigma[j] for j in by_group[g]) <= int(limits[g]),
        doc="at most of the group",
    )


def at_least(model: pyo.ConcreteModel, features: Iterable[str], k: int) -> pyo.Constraint:
    """Select at least ``k`` features of a group: ``sum sigma_j >= k``.

    FSL's r becomes binary for the group, which costs no optimum: see the module.

    Examples
    --------
    >>> import fsmodels as fs
    >>> model = fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2)
    >>> model.an_enzyme = fs.side_constraints.at_least(model, ["sgpt", "sgot", "gammagt"], 1)
    """
    sigma = _sigma(model)
    group = _group("at_least", features, list(sigma), least=1)
    if not _is_whole(k) or not 0 <= k <= len(group):
        raise InfeasibleParameter(f"at_least: k={k!r} is not allowed: use 0..{len(group)}, the size of the group.")
    for j in group if 0 < k < len(group) else ():
        if not _binary(sigma[j]):
            sigma[j].domain = pyo.Binary
    return pyo.Constraint(expr=pyo.quicksum(sigma[j] for j in group) >= int(k), doc=f"at least {k} of the group")


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
    sigma = _sigma(model)
    if len(features) == 1 and not isinstance(features[0], str) and isinstance(features[0], Iterable):
        features = tuple(features[0])  # a list instead of separate names
    group = _group(what, features, list(sigma), least=1)
    return pyo.Constraint(group, rule=lambda m, j: sigma[j] == value, doc="selected" if value else "not selected")


def _sigma(model: pyo.ConcreteModel) -> Any:
    sigma = model.component("sigma") if isinstance(model, pyo.ConcreteModel) else None
    if sigma is None:
        name = getattr(model, "name", type(model).__name__)
        raise ModelError(
            f'Model "{name}" has no sigma, so there is no selection to constrain: use fsp_m or fsp_lambda, or state '
            "the constraint on the model's own variables."
        )
    scaling = next((s for s in sigma.values() if not _binary(s)), None)
    if scaling is not None and not _steps(model):
        raise ModelError(
            f'sigma of model "{model.name}" is not binary ("{scaling.name}" is a number), so that no row on '
            "it says what is selected: use fsp_m, fsp_lambda or fs, whose sigma is."
        )
    return sigma


def _binary(s: Any) -> bool:
    return s.is_variable_type() and s.is_integer() and s.bounds in ((0, 1), (0, 0), (1, 1))


def _steps(model: pyo.ConcreteModel) -> bool:
    """Tell whether complementarities (13) of FSL hold sigma at 1 wherever a feature is used."""
    return all(model.component(name) is not None for name in ("r", "step_where_used", "used_where_step"))


def _check_pair(what: str, a: str, b: str, known: list[str]) -> None:
    check_known_features([a, b], known, what)
    if a == b:
        raise DataError(f'{what}: "{a}" stands on both sides: name two features.')


def _group(what: str, features: Iterable[str], known: list[str], *, least: int) -> list[str]:
    if isinstance(features, str):
        raise DataError(f'{what}: got the text "{features}": give a list of features, for example ["{features}"].')
    group: list[Any] = list(features) if iterable(features) else [features]
    check_known_features(group, known, what)
    twice = [name for name, count in Counter(group).items() if count > 1]
    if twice:
        raise DataError(f"{what}: these features stand twice: {listed(twice)}. Name each once.")
    if len(group) < least:
        raise DataError(f"{what}: got {len(group)} features: give at least {least}.")
    return group


def _is_number(x: Any) -> bool:
    return isinstance(x, numbers.Real) and not isinstance(x, bool) and math.isfinite(x)


def _is_whole(x: Any) -> bool:
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)
