"""What the subproblem's value is never below, for a model as it stands, edited or not.

A row, or a narrower bound, can only raise the value, so that what a builder knows of its own model goes on to hold, and
so can a term that is at least 0 by the bounds of its variables. Where the builder's terms are no longer there, or rows
are gone, the bounds of the variables may still say as much. A floor far below the builder's would be worse than none:
units and tolerances are made for values near it.
"""

from __future__ import annotations

from typing import Any

from pyomo.common.errors import PyomoException
from pyomo.contrib.fbbt.expression_bounds_walker import ExpressionBoundsVisitor

from solvers.drivers.benders.split import SplitModel


def floor_of(parts: SplitModel) -> float | None:
    """Return a bound below the subproblem's value at every point; None where none is known."""
    floor, terms = parts.structure.floor, parts.subproblem_terms
    if floor is None:
        return None
    own = {id(term) for term in parts.structure.built_terms}
    if parts.restricted and _least([t for t in terms if id(t) not in own], parts.sign) >= 0:
        return floor
    return floor if _least(terms, parts.sign) >= floor else None


def _least(terms: list[Any], sign: float) -> float:
    """Return the least that a sum of terms can be by the bounds of its variables, -inf where these do not say."""
    total = 0.0
    for term in terms:
        try:
            low, up = ExpressionBoundsVisitor(use_fixed_var_values_as_bounds=True).walk_expression(term)
        except (PyomoException, ArithmeticError, ValueError):  # outside a function's domain
            return -float("inf")
        total += low if sign > 0 else -up
    return total
