"""The class of a model, and the violation of its rows by a point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types, native_types
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.expressions import variables
from solvers.model.linear import KnownRows, bodies_of, known_of
from solvers.model_cache import cached
from solvers.values import value_or_none
from solvers.walker import is_conic

SMOOTH, NONCONVEX, GENERAL = 2, 3, 4  # quadratic, perhaps convex; quadratic, not convex; other


def needs(model: Any) -> list[C]:
    """Return the capabilities for a model; a solver needs one of them.

    Convexity is not tested here, except that a quadratic row with two sides is not convex. A convex solver rejects any
    other nonconvex row by name.
    """
    model = cached(model)
    integer = has_integers(model)
    degree = max([0, *(_degree(o.expr) for o in model.objectives)])
    row_degree = max([0, *(_row_degree(row) for row in model.rows)])
    if GENERAL in (degree, row_degree):
        return [C.MINLP] if integer else [C.NLP]
    if row_degree == NONCONVEX:
        return [C.NONCONVEX] if integer else [C.NONCONVEX, C.NLP]
    if row_degree == SMOOTH:
        return [C.MIQCP] if integer else [C.QCP]
    if degree == SMOOTH:
        return [C.MIQP] if integer else [C.QP]
    return [C.MILP] if integer else [C.LP]


def has_integers(model: Any) -> bool:
    """Return True if an active row or the objective contains a free integer variable."""
    model = cached(model)
    integer = {id(v) for v in model.variables if not v.is_continuous() and not v.fixed}
    return bool(integer) and any(id(v) in integer for v in used_variables(model))


def refuse_integers(model: Any, who: str, capability: C) -> None:
    """Raise ModelError for a model with a free integer variable.

    ``who``: name of the solver. ``capability``: of solvers of the whole model, which the message lists.
    """
    model = cached(model)
    if has_integers(model):
        first = next(v for v in used_variables(model) if not v.is_continuous() and not v.fixed)
        raise ModelError(
            f'"{who}" supports continuous variables only, and "{first.name}" is integer: solve the whole model by '
            f"name, for example with {either(capability)}, or fix or relax its integers."
        )


def used_variables(model: Any) -> Iterator[Any]:
    """Yield the variables of the objective and of active rows and sets, including fixed ones and repetitions."""
    model = cached(model)
    for objective in model.objectives:
        yield from variables(objective.expr)
    # Known row -> the rows of its matrix, the matrix, and their positions in it.
    together: dict[int, tuple[set[int], KnownRows, list[int]]] = {}
    for known in known_of(model.model):
        at = dict(known.intact())
        group = {id(row) for row in at.values()}
        together.update((key, (group, known, list(at))) for key in group)
    done: set[int] = set()
    for row in model.rows:
        if id(row) in done:
            continue
        if id(row) in together:
            group, known, places = together[id(row)]
            done |= group
            yield from known.variables_of(places)
        else:
            yield from variables(row.body)
    for ordered in model.stated(pyo.SOSConstraint):
        yield from ordered.get_variables()


def _degree(expression: Any) -> int:
    """Return 0, 1, SMOOTH or GENERAL."""
    if type(expression) is LinearExpression:
        return 1
    if type(expression) in native_numeric_types:
        return 0
    degree = expression.polynomial_degree()
    if degree is None and is_conic(expression):
        return SMOOTH
    return degree if degree is not None and degree <= SMOOTH else GENERAL


def _row_degree(row: Any) -> int:
    degree = _degree(row.body)
    return NONCONVEX if degree == SMOOTH and row.has_lb() and row.has_ub() else degree


def violation(model: Any) -> float:
    """Return the largest violation of active rows, ordered sets, bounds and integrality at the values of the model.

    The violation of a row is relative to 1 or its right-hand side, whichever is larger. The violation of a disjunction
    is the smallest of its disjuncts; a logical constraint that is False has the violation 1. That of a complementarity
    a, b >= 0, a b = 0 is the smaller of a and b if the other is at least 1, and otherwise their product. Fixed
    variables are constants, whose bounds and domain solvers do not check. Variables in no active row and not in the
    objective are ignored.
    """
    model = cached(model)
    known = bodies_of(model.model)
    worst = max((_row_violation(row, known) for row in model.rows), default=0.0)
    for disjunction in model.data(Disjunction):
        parts = [d.component_data_objects(pyo.Constraint, active=True) for d in disjunction.disjuncts if d.active]
        misses = [max((_row_violation(row, known) for row in rows), default=0.0) for rows in parts]
        worst = max(worst, min(misses, default=0.0))
    if any(_truth(logic.expr) is False for logic in model.data(pyo.LogicalConstraint)):
        worst = max(worst, 1.0)
    for condition in model.stated(Complementarity):
        worst = max(worst, _complementarity_violation(condition))
    for ordered in model.stated(pyo.SOSConstraint):
        worst = max(worst, _sos_violation(ordered))
    outside = {}
    for v in model.variables:
        if v.value is not None and not v.fixed:
            off = _outside(v)
            if off > worst:
                outside[id(v)] = off
    if outside:
        used = {id(v) for v in used_variables(model)}
        worst = max([worst, *(off for key, off in outside.items() if key in used)])
    return worst


def rows_violation(model: Any, rows: Iterable[Any]) -> float:
    """Return the largest violation of some rows of a model, as in ``violation``."""
    known = bodies_of(cached(model).model)
    return max((_row_violation(row, known) for row in rows), default=0.0)


def _complementarity_violation(condition: Any) -> float:
    """Return the violation of a complementarity of two sides with one bound each, or of bounds l <= y <= u and F."""
    above, values, below = [], [], []
    for side in condition._args:
        row = condition._canonical_expression(side)
        lower, body, upper = row if len(row) == 3 else (row[0], row[1], row[0])  # an equation
        value = value_or_none(body)
        if value is None:
            return math.inf
        values.append(value)
        above.append(math.inf if lower is None else value - pyo.value(lower))
        below.append(math.inf if upper is None else pyo.value(upper) - value)
    apart = [min(pair) for pair in zip(above, below, strict=True)]  # from the nearest bound
    a, b = (max(0.0, distance) for distance in apart)
    if math.inf in apart:
        y, free = (0, 1) if math.isinf(apart[1]) else (1, 0)
        a, b = max(0.0, above[y] if values[free] > 0 else below[y]), abs(values[free])
    both = b if math.isinf(a) else a * b / max(1.0, a, b)
    return max(both, -min(apart))


def _truth(expression: Any) -> bool | None:
    """Return the value of a logical expression by the binaries of its variables, None if one has no value."""
    if not expression.is_expression_type():
        binary = expression.get_associated_binary() if expression.is_variable_type() else None
        value = pyo.value(expression if binary is None else binary, exception=False)
        return None if value is None else bool(value > 0.5)
    parts = [part if type(part) in native_types else _truth(part) for part in expression.args]
    return None if None in parts else bool(pyo.value(expression.create_node_with_local_data(parts)))


def _row_violation(row: Any, known: dict[int, float]) -> float:
    least, expression, most = row.to_bounded_expression()
    body = known[id(row)] if id(row) in known else value_or_none(expression)
    if body is None:
        return float("inf")
    below = 0.0 if least is None else _short(pyo.value(least), body, 1.0)
    return max(0.0, below, 0.0 if most is None else _short(pyo.value(most), body, -1.0))


def _short(side: float, body: float, sign: float) -> float:
    off = sign * (side - body)
    off = off / max(1.0, abs(side)) if math.isfinite(side) else off
    return off if off == off else float("inf")  # nan violates every row


def _outside(v: Any) -> float:
    lower, upper = v.bounds
    off = 0.0 if v.value == v.value else float("inf")
    if lower is not None:
        off = max(off, (lower - v.value) / max(1.0, abs(lower)))
    if upper is not None:
        off = max(off, (v.value - upper) / max(1.0, abs(upper)))
    return off if v.is_continuous() else max(off, abs(v.value - round(v.value)))


def _sos_violation(ordered: Any) -> float:
    """Return the violation of an ordered set, in which at most ``level`` neighbours are nonzero."""
    by_weight = sorted(ordered.get_items(), key=lambda item: item[1])
    sizes = [abs(v.value or 0.0) for v, _ in by_weight]
    starts = range(max(1, len(sizes) - ordered.level + 1))
    return min(max([0.0, *sizes[:k], *sizes[k + ordered.level :]]) for k in starts)


def single_objective(model: Any) -> Any:
    """Return the one active objective. Raises ModelError if there is none, or more than one."""
    objectives = cached(model).objectives
    if len(objectives) != 1:
        found = ", ".join(o.name for o in objectives)
        remedy = "Deactivate the others" if found else "Add model.cost = pyo.Objective(expr=...), or activate one"
        raise ModelError(f"The model needs exactly one active objective, found: {found or 'none'}. {remedy}.")
    return objectives[0]
