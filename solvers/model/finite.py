"""Checks of the numbers of a model before a solve: finite numbers, and divisors that can be 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_types
from pyomo.core.expr.numeric_expr import DivisionExpression, LinearExpression
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.model.expressions import terms
from solvers.model.linear import known_of
from solvers.model_cache import ModelCache
from solvers.values import bounds_of


def refuse_nonfinite(cache: ModelCache) -> None:
    """Reject coefficients, constants, sides, bounds and fixed values that are nan or infinite.

    An infinite side or bound is allowed if it restricts nothing, as in ``x <= inf``. Solvers read nan as 0, as infinity
    or not at all. Each model is checked once per solve, before any reformulation.

    Raises
    ------
    ModelError
        If there is such a number, a division by 0, or a parameter without a value; the message names the component.
    """
    for objective in cache.objectives:
        _refuse_terms(objective, objective.expr)
    # Rows that a builder has created from a finite matrix are not walked.
    checked = {id(e) for k in known_of(cache.model) if np.isfinite(k.matrix.data).all() for e in k.expressions}
    for row in cache.data(pyo.Constraint):
        try:
            _, body, _ = row.to_bounded_expression(evaluate_bounds=True)
        except (ValueError, ArithmeticError):  # from Pyomo: nan, or an infinite side that restricts the row
            _refuse_sides(row, row.lower, row.upper)
            raise
        if id(row.expr) not in checked:
            _refuse_terms(row, body)
    for condition in cache.data(Complementarity):
        for part in condition._args:
            if part is not None and (x := _nonfinite(part)) is not None and math.isnan(x):
                raise ModelError(f"{_named(condition)} has the number {x}: use a finite number.")
    for ordered in cache.data(pyo.SOSConstraint):
        for v, weight in ordered.get_items():
            if not math.isfinite(_value(weight)):
                raise ModelError(f'{_named(ordered)} has the weight {weight} of "{v.name}": use a finite number.')
    for v in cache.variables:
        if v.fixed and v.value is not None and not math.isfinite(v.value):
            raise ModelError(f'Variable "{v.name}" is fixed at {v.value}: fix it at a finite number.')
        try:
            _ = v.bounds
        except (ValueError, ArithmeticError):
            _refuse_sides(v, v.lower, v.upper)
            raise


def _refuse_sides(component: Any, lower: Any, upper: Any) -> None:
    sides = [("lower bound", lower, -math.inf), ("upper bound", upper, math.inf)]
    if lower is upper or (component.ctype is pyo.Constraint and component.equality):
        sides = [("right-hand side", lower, math.nan)]
    for side, bound, free in sides:
        if bound is not None and not math.isfinite(x := _value(bound)) and x != free:
            otherwise = "" if math.isnan(free) else f", or {free} for no bound"
            raise ModelError(f"{_named(component)} has the {side} {x}: use a finite number{otherwise}.")


def _refuse_terms(component: Any, expression: Any) -> None:
    if _nonfinite(expression) is None:
        return
    for term in terms(expression):
        if (x := _nonfinite(term)) is not None:
            factor, *rest = getattr(term, "args", (term,))
            if not _varies(term):
                what = f"the constant {x}"
            elif len(rest) == 1 and not _varies(factor) and _nonfinite(factor) is not None:
                what = f"the coefficient {x} of {rest[0]}"
            else:
                what = f'the number {x} in the term "{term}"'
            raise ModelError(f"{_named(component)} has {what}: use a finite number.")


def _nonfinite(expression: Any) -> float | None:
    """Return a number of an expression that is not finite, or None."""
    for node in _nodes(expression):
        if _varies(node):
            if type(node) is DivisionExpression and not _varies(node.args[1]) and _value(node.args[1]) == 0:
                return math.inf
        elif not isinstance(node, str) and not math.isfinite(x := _value(node)):  # text: for external functions
            return x
    return None


def has_poles(cache: ModelCache) -> bool:
    """Return True if the objective or a row divides by a variable whose bounds allow 0."""
    return any(map(_has_pole, (part.expr for part in cache.objectives))) or any(
        _has_pole(row.body) for row in cache.rows if type(row.body) is not LinearExpression
    )


def _has_pole(expression: Any) -> bool:
    for node in _nodes(expression):
        if type(node) is DivisionExpression and _varies(node.args[1]) and node.args[1].is_variable_type():
            lower, upper = bounds_of(node.args[1])
            if lower <= 0 <= upper:
                return True
    return False


def _nodes(expression: Any) -> Iterator[Any]:
    """Yield the nodes of an expression; parts without variables are not split."""
    left = [expression]
    while left:
        node = left.pop()
        yield node
        if _varies(node) and node.is_expression_type():
            left.extend(node.args)


def _varies(expression: Any) -> bool:
    return type(expression) not in native_types and expression.is_potentially_variable()


def _value(expression: Any) -> float:
    """Return the value of a number or of parameters, nan if one has none or a divisor is 0."""
    try:
        x = pyo.value(expression, exception=False)
    except ArithmeticError:
        return math.nan
    return math.nan if x is None else float(x)


def _named(component: Any) -> str:
    return f'{component.ctype.__name__.replace("Var", "Variable")} "{component.name}"'
