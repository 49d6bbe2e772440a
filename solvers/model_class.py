"""What class of model this is, which of its components a solver would not see, and whether a point satisfies it."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity

from solvers.registry import Capability as C

# Components that some solvers skip in silence, and then say "optimal".
UNSEEN = {Disjunction: "Disjunction", pyo.LogicalConstraint: "LogicalConstraint", Complementarity: "Complementarity"}
UNSEEN |= {pyo.SOSConstraint: "SOSConstraint"}


def needs(model: Any) -> list[C]:
    """Return what a solver must be able to do, as alternatives: any one of them is enough.

    Convexity is not decided here: a convex solver that meets a nonconvex row names it.
    """
    integer = any(not v.is_continuous() and not v.fixed for v in model.component_data_objects(pyo.Var))
    rows = [_row_degree(row) for row in model.component_data_objects(pyo.Constraint, active=True)]
    objectives = [_degree(o.expr) for o in model.component_data_objects(pyo.Objective, active=True)]
    degree = max([*objectives, 0])
    row_degree = max([*rows, 0])
    if degree > 3 or row_degree > 3:
        return [C.MINLP] if integer else [C.NLP]
    if row_degree == 3:  # a quadratic equality
        return [C.NONCONVEX] if integer else [C.NONCONVEX, C.NLP]
    if row_degree == 2:
        return [C.MIQCP] if integer else [C.QCP]
    if degree == 2:
        return [C.MIQP] if integer else [C.QP]
    return [C.MILP] if integer else [C.LP]


def _degree(expression: Any) -> int:
    """Return 0..2, or 4 for anything that is not quadratic."""
    if type(expression) is LinearExpression:
        return 1
    if isinstance(expression, int | float):
        return 0
    degree = expression.polynomial_degree()
    if degree is None and _conic(expression):
        return 2
    return degree if degree is not None and degree <= 2 else 4


def _row_degree(row: Any) -> int:
    degree = _degree(row.body)
    return 3 if degree == 2 and row.equality else degree


def _conic(expression: Any) -> bool:
    """Tell whether the conic walker, which knows quotients x**2/y, can read the expression."""
    from solvers.conic_body import is_conic

    return is_conic(expression)


def unseen(model: Any) -> list[str]:
    """Return the kinds of active components that a solver of plain rows does not see."""
    kinds = []
    for kind, name in UNSEEN.items():
        if any(True for _ in model.component_data_objects(kind, active=True, descend_into=(pyo.Block, Disjunct))):
            kinds.append(name)
    return kinds


def violation(model: Any) -> float:
    """Return the largest violation of active rows, bounds and integrality at the model's values.

    A row's violation is relative to 1 or its right-hand side, whichever is larger.
    """
    worst = 0.0
    for row in model.component_data_objects(pyo.Constraint, active=True):
        body = pyo.value(row.body, exception=False)
        if body is None:
            return float("inf")
        lower, upper = pyo.value(row.lower), pyo.value(row.upper)
        for side, sign in ((lower, 1.0), (upper, -1.0)):
            if side is not None:
                worst = max(worst, sign * (side - body) / max(1.0, abs(side)))
    for v in model.component_data_objects(pyo.Var):
        if v.value is None:
            continue
        if v.lb is not None:
            worst = max(worst, (v.lb - v.value) / max(1.0, abs(v.lb)))
        if v.ub is not None:
            worst = max(worst, (v.value - v.ub) / max(1.0, abs(v.ub)))
        if not v.is_continuous():
            worst = max(worst, abs(v.value - round(v.value)))
    return worst
