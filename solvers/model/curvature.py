r"""Which expressions are known to be convex or concave within their variables' bounds, by the rules of composition.

Sums, constant factors and named expressions; quadratics, whole; exp, log, powers and reciprocals of what suits them
(Grant, Boyd, Ye 2006, "Disciplined convex programming"); and the step 1 / (c + e^t), c > 0: with h(t) its value,

    h'' = e^t (e^t - c) h^3,

so it is concave where t <= log c, as the sigmoid 1 / (1 + e^(-v)) is on v >= 0, and convex where t >= log c.
Nothing is known of anything else, which may be either.
"""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo
from pyomo.contrib.fbbt.expression_bounds_walker import ExpressionBoundsVisitor
from pyomo.core.expr import numeric_expr as ne

from solvers.model.convexity import is_convex, is_linear
from solvers.model.expressions import terms

AFFINE, CONVEX, CONCAVE = 0, 1, -1  # of a function; None is unknown


def is_concave(expression: Any, sign: float = 1.0) -> bool:
    """Tell whether sign times an expression is known to be concave.

    >>> m = pyo.ConcreteModel()
    >>> m.v = pyo.Var(bounds=(0, None))
    >>> is_concave(3 - 2 * pyo.exp(-m.v)), is_concave(1 / (1 + pyo.exp(-m.v))), is_concave(pyo.exp(-m.v))
    (True, True, False)
    """
    if is_linear(expression) or is_convex(expression, -sign):
        return True
    return all(_fits(curvature(term), CONCAVE if sign > 0 else CONVEX) for term in terms(expression))


def curvature(expression: Any) -> int | None:
    """Return AFFINE, CONVEX or CONCAVE where that is known; fixed variables and parameters are numbers."""
    if _number(expression) is not None or is_linear(expression):
        return AFFINE
    kind = type(expression)
    arguments: list[Any] = list(expression.args)
    if getattr(expression, "is_named_expression_type", lambda: False)():
        return curvature(expression.expr)
    if kind is ne.NegationExpression:
        return _scaled(curvature(arguments[0]), -1.0)
    if kind is ne.SumExpression:
        return _sum([curvature(part) for part in arguments])
    if kind is ne.ProductExpression:
        left, right = arguments
        if _number(left) is not None:
            return _scaled(curvature(right), _number(left) or 0.0)
        if _number(right) is not None:
            return _scaled(curvature(left), _number(right) or 0.0)
        return _quadratic(expression)
    if kind is ne.DivisionExpression:
        return _quotient(*arguments)
    if kind is ne.PowExpression and (power := _number(arguments[1])) is not None:
        return _power(arguments[0], power)
    if kind is ne.UnaryFunctionExpression and expression.getname() in _FUNCTIONS:
        outer, rising, least = _FUNCTIONS[expression.getname()]
        inside = curvature(arguments[0])
        return outer if _fits(inside, outer * rising) and _range(arguments[0])[0] >= least else None
    return _quadratic(expression)


# A function's own curvature, whether it rises (1) or falls, and from where on it has a value.
_FUNCTIONS = {"exp": (CONVEX, 1, -math.inf), "log": (CONCAVE, 1, 0.0), "sqrt": (CONCAVE, 1, 0.0)}


def _quadratic(expression: Any) -> int | None:
    return CONVEX if is_convex(expression) else CONCAVE if is_convex(expression, -1.0) else None


def _sum(parts: list[int | None]) -> int | None:
    kinds = {part for part in parts if part != AFFINE}
    return None if len(kinds) > 1 else next(iter(kinds), AFFINE)


def _scaled(kind: int | None, factor: float) -> int | None:
    return kind if kind is None or factor > 0 else -kind if factor < 0 else AFFINE


def _fits(kind: int | None, wanted: int) -> bool:
    return kind in (AFFINE, wanted)


def _power(base: Any, power: float) -> int | None:
    """Of x^p, where x >= 0 but for even p: convex for p > 1 and p < 0, concave between."""
    inside, least = curvature(base), _range(base)[0]
    if power > 1 and power % 2 == 0 and inside == AFFINE:
        return CONVEX
    if least < 0 or (power < 0 and least <= 0):
        return None
    if power < 0:
        return CONVEX if _fits(inside, CONCAVE) else None
    if power < 1:
        return CONCAVE if _fits(inside, CONCAVE) else None
    return CONVEX if _fits(inside, CONVEX) else None


def _quotient(above: Any, below: Any) -> int | None:
    divisor, number = _number(below), _number(above)
    if divisor:
        return _scaled(curvature(above), 1.0 / divisor)
    if number is None:
        return _quadratic(ne.DivisionExpression((above, below)))
    if (step := _step(below)) is not None:
        return _scaled(step, number)
    return _scaled(_power(below, -1.0), number)


def _step(below: Any) -> int | None:
    """Return the curvature of 1 / (c + e^t), t affine, where t stays on one side of log c; else None."""
    constant, rest = 0.0, list[Any]()
    for part in terms(below):
        value = _number(part)
        constant, rest = (constant, [*rest, part]) if value is None else (constant + value, rest)
    if constant <= 0 or len(rest) != 1 or type(rest[0]) is not ne.UnaryFunctionExpression:
        return None
    if rest[0].getname() != "exp" or not is_linear(exponent := rest[0].args[0]):
        return None
    least, most = _range(exponent)
    turn = math.log(constant)
    return CONCAVE if most <= turn else CONVEX if least >= turn else None


def _number(part: Any) -> float | None:
    """Return the value of what holds no free variable."""
    if type(part) in (int, float):
        return float(part)
    if getattr(part, "is_fixed", lambda: False)():
        return float(pyo.value(part))
    return None


def _range(part: Any) -> tuple[float, float]:
    """Return bounds on an expression from those of its variables."""
    low, high = ExpressionBoundsVisitor(use_fixed_var_values_as_bounds=True).walk_expression(part)
    return float(low), float(high)
