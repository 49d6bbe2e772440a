"""Taking Pyomo expressions apart: the terms of a sum, and which variables they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyomo.core.expr.numeric_expr import (
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.visitor import identify_variables


def terms(expression: Any, atoms: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the terms of a sum, through named expressions, negations and constant factors.

    ``atoms`` are named expressions that stay whole; a term that is an argument of the sum as it stands is yielded as
    that very object, so that it can be recognised later.
    """
    kind = type(expression)
    if kind in (SumExpression, LinearExpression):
        for term in expression.args:
            yield from terms(term, atoms)
    elif _is_named(expression):
        if any(expression is atom for atom in atoms):
            yield expression
        else:
            yield from terms(expression.expr, atoms)
    elif kind in (NegationExpression, ProductExpression) and _factor(expression, atoms) is not None:
        factor, inner = _factor(expression, atoms)  # type: ignore[misc]
        yield from (factor * term for term in terms(inner, atoms))
    else:
        yield expression


def _factor(expression: Any, atoms: Sequence[Any]) -> tuple[Any, Any] | None:
    """Split ``c * sum`` into factor and sum; None where there is nothing to distribute."""
    *constant, inner = (-1.0, *expression.args) if type(expression) is NegationExpression else expression.args
    content = inner
    while _is_named(content):
        if any(content is atom for atom in atoms):
            return None
        content = content.expr
    constant_factor = constant[0] if constant else 1.0
    if getattr(constant_factor, "is_potentially_variable", lambda: False)():
        return None
    return (constant_factor, content) if type(content) in (SumExpression, LinearExpression) else None


def variables(expression: Any, atoms: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the variables of an expression, fixed ones too; a dense row is read, not walked."""
    if type(expression) is LinearExpression:
        yield from expression.linear_vars
    elif type(expression) is MonomialTermExpression:
        yield expression.args[1]
    elif not isinstance(expression, int | float):
        yield from identify_variables(expression, include_fixed=True)


def holds(expression: Any, inside: set[int], atoms: Sequence[Any] = ()) -> bool:
    """Tell whether an expression holds any variable of a set of ids."""
    return any(id(v) in inside for v in variables(expression, atoms))


def _is_named(expression: Any) -> bool:
    return getattr(expression, "is_named_expression_type", lambda: False)()
