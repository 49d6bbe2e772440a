"""Reformulation of products in the objective by binaries and ordered sets, without bounds and tolerances, on a clone.

Let r be a continuous variable in [0, 1] that no row holds, and in which the objective is affine: some optimum has r in
{0, 1}, because moving one such variable to its better bound, then the next, makes nothing worse. A binary r may be in
rows as well. Then r v with v >= 0 is p in

    p + n = v,  p, n >= 0,  r + s = 1,  one of p and s is 0,  one of n and r is 0

with v unbounded: r = 1 gives s = 0, n = 0 and p = v; r = 0 gives s = 1 and p = 0. With the product itself, a solver
gains 1e-8 v by r = 1 + 1e-8, which is 0.5 for v = 5e7, and prunes the optimum. If the change of variables of the model
is v = f v', then p = f p' and n = f n', and the first row is divided by f.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.repn import generate_standard_repn

from solvers.facts.base import facts_of
from solvers.model.classes import single_objective
from solvers.model.expressions import variables
from solvers.model.rewriting import Visible
from solvers.model_cache import cached
from solvers.values import bounds_of


def products_as_sets(model: Any) -> Visible | None:
    """Return a linear model with ordered sets for a model with products as above in its objective; otherwise None."""
    cache = cached(model)
    model, objective = cache.model, single_objective(cache)
    repn = generate_standard_repn(objective.expr, compute_values=True, quadratic=True)
    found = [_product(v, w, c) for (v, w), c in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True) if c]
    products = [p for p in found if p is not None]
    if repn.nonlinear_expr is not None or not products or len(products) < len(found):
        return None
    boxes = {id(r): r for r, _, _ in products}
    loose = {key for key, r in boxes.items() if r.is_continuous()}
    if loose and any(id(v) in loose for row in cache.rows for v in variables(row.body)):
        return None
    if any(id(v) in loose for ordered in cache.stated(pyo.SOSConstraint) for v in ordered.get_variables()):
        return None
    answer = Visible.cloned(model, [])
    clone = answer.model
    place = pyo.Block()
    clone.add_component(unique_component_name(clone, "products"), place)
    keys, boxed = range(len(products)), list(boxes.values())
    index = {id(r): k for k, r in enumerate(boxed)}
    for r in boxed:
        answer.copy_of(r).domain = pyo.Binary
    place.rest = pyo.Var(range(len(boxed)), bounds=(0, 1))
    place.complement = pyo.Constraint(range(len(boxed)), rule=lambda b, k: b.rest[k] + answer.copy_of(boxed[k]) == 1)
    place.with_box = pyo.Var(keys, domain=pyo.NonNegativeReals)
    place.without = pyo.Var(keys, domain=pyo.NonNegativeReals)
    place.split = pyo.Constraint(keys, rule=lambda b, k: b.with_box[k] + b.without[k] == answer.copy_of(products[k][1]))
    place.off = pyo.SOSConstraint(keys, rule=lambda b, k: [b.with_box[k], b.rest[index[id(products[k][0])]]], sos=1)
    place.on = pyo.SOSConstraint(keys, rule=lambda b, k: [b.without[k], answer.copy_of(products[k][0])], sos=1)
    linear = zip(repn.linear_vars, repn.linear_coefs, strict=True)
    single_objective(clone).set_value(
        repn.constant
        + pyo.quicksum(c * answer.copy_of(v) for v, c in linear)
        + pyo.quicksum(c * place.with_box[k] for k, (_, _, c) in enumerate(products))
    )
    _in_their_units(clone, place, [answer.copy_of(v) for _, v, _ in products])
    return answer


def _in_their_units(clone: Any, place: Any, variables: list[Any]) -> None:
    """Give the two parts of each variable its factor in the change of variables of the model."""
    facts = facts_of(clone)
    if facts is None or facts.change is None:
        return
    change = facts.change
    factor = {id(v): f for v, f in change.factors}
    for k, v in enumerate(variables):
        f = factor.get(id(v), 1.0)
        change.factors += [(place.with_box[k], f), (place.without[k], f)]
        change.rows.append((place.split[k], 1.0 / f))


def _product(v: Any, w: Any, c: float) -> tuple[Any, Any, float] | None:
    """Return the variable in [0, 1], the other, nonnegative one, and their coefficient; None for other products."""
    for r, other in ((v, w), (w, v)):
        if v is not w and _is_box(r) and not _is_box(other) and bounds_of(other)[0] >= 0 and other.is_continuous():
            return r, other, c
    return None


def _is_box(v: Any) -> bool:
    return not v.fixed and bounds_of(v) == (0, 1)
