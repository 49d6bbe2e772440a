"""Scaling of rows and objectives for the absolute tolerances of solvers.

Solvers satisfy rows to about 1e-6 and reduced costs to about 1e-7, for coefficients of any size. Wrong optima were
measured on random models with two to five variables: with objectives in units of 1e-6, HiGHS reported 4 of 25 (15 of 25
at 1e-9), and cbc, GLPK, Gurobi and SCIP some; GLPK 13 of 25 with linear rows in units of 1e8; SCIP 7 of 120 with convex
quadratic rows in units of 1e5. Therefore an objective or a row with terms far from 1 is multiplied by a power of two:

- if its largest term is below SMALL, up to 1;
- if its smallest term is above LARGE, down to 1. Violations are then measured in the units of the model, and the rest
  is solved again for the integers of the point (``fix_and_polish``).

A row with terms of 1 and of 1e8 is a big-M row and is not scaled. The size of a term is its coefficient; variables in
products count with their largest value. A nonzero side counts as a term if the row would be scaled down: (1e6 x)^2 <= 1
is in the units of x. Terms that are neither linear nor quadratic are not scaled, and neither are models that have their
own change of variables or a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
)

from solvers.facts.base import facts_of
from solvers.facts.change import Change
from solvers.model.expressions import terms
from solvers.model.linear import known_of
from solvers.model_cache import ModelCache
from solvers.values import bounds_of

SMALL, LARGE = 1e-2, 1e3  # sizes of terms between which nothing is scaled (see the module)


def change_of(cache: ModelCache) -> Change | None:
    """Return the change of variables of the model, or a scaling of its rows and objective; None if none is needed."""
    facts = facts_of(cache.model)
    if facts is not None and (facts.change is not None or facts.certificate is not None):
        return facts.change
    known = {id(row) for held in known_of(cache.model) for _, row in held.intact()}
    rows = [(row, factor(row.body, (row.lb, row.ub))) for row in cache.rows if id(row) not in known]
    rows = [(row, f) for row, f in rows if f != 1.0]
    times = factor(cache.objectives[0].expr)
    return Change([], rows=rows, times=times) if rows or times != 1.0 else None


def factor(expression: Any, sides: tuple[float | None, ...] = ()) -> float:
    """Return the power of two that brings the terms of an expression near 1; 1 if they are, or if this is unknown.

    ``sides``: the sides of the row whose body is the expression.

    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.y = pyo.Var(), pyo.Var()
    >>> factor(1e-6 * m.x + 2e-6 * m.y**2), factor(1e8 * m.x + m.y), factor(2.0**20 * (m.x - 1) ** 2 + 2.0**21 * m.y)
    (262144.0, 1.0, 1.9073486328125e-06)
    """
    most, least = 0.0, min([abs(side) for side in sides if side], default=math.inf)
    for term in _terms(expression):
        found = [_size(term, at) for at in (_far, _near)]
        if not all(map(math.isfinite, found)):
            return 1.0
        most, least = max(most, found[0]), min(least, found[1] or math.inf)
        if most >= SMALL and least <= LARGE:
            return 1.0  # for any further terms: long rows are decided by their first terms
    if 0 < most < SMALL:
        return float(2.0 ** -np.frexp(most)[1])
    return float(2.0 ** np.frexp(1.0 / least)[1]) if LARGE < least < math.inf else 1.0


def _terms(expression: Any) -> Iterator[Any]:
    """Yield the terms with variables."""
    if type(expression) is LinearExpression:
        yield from (size for c in expression.linear_coefs if (size := pyo.value(c)))
        return
    for term in terms(expression):
        if type(term) not in native_numeric_types and term.is_potentially_variable():
            # the size of a linear term is its coefficient, for any bounds of the variable
            yield term.args[0] if type(term) is MonomialTermExpression else 1.0 if term.is_variable_type() else term


def _far(v: Any) -> float:
    return max(1.0, _reach(v))


def _near(v: Any) -> float:
    return min(1.0, _reach(v))


def _reach(v: Any) -> float:
    """Return the largest absolute value within the bounds of a variable, 1 if it is infinite or 0."""
    most = max(map(abs, bounds_of(v)))
    return most if 0 < most < math.inf else 1.0


def _size(expression: Any, of: Callable[[Any], float]) -> float:
    """Return the size of a number, or that of a polynomial by its factors; inf for other expressions."""
    kind = type(expression)
    if kind in native_numeric_types or not expression.is_potentially_variable():
        value = pyo.value(expression, exception=False)
        return math.inf if value is None else abs(float(value))
    if expression.is_variable_type():
        return abs(expression.value or 0.0) if expression.fixed else of(expression)
    if expression.is_named_expression_type():
        return _size(expression.expr, of)
    if kind in (SumExpression, LinearExpression):
        return max((_size(term, of) for term in expression.args), default=0.0)
    if kind is NegationExpression:
        return _size(expression.args[0], of)
    if kind in (ProductExpression, MonomialTermExpression):
        return math.prod(_size(part, of) for part in expression.args)
    by = expression.args[1] if kind in (PowExpression, DivisionExpression) else None
    if by is None or (type(by) not in native_numeric_types and by.is_potentially_variable()):
        return math.inf
    value = pyo.value(by, exception=False)
    if kind is DivisionExpression:
        return _size(expression.args[0], of) / abs(value) if value else math.inf
    return _size(expression.args[0], of) ** value if value in (1, 2) else math.inf
