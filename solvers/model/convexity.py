"""Convex functions of a model: what is proven convex, values, and linearisations with the row's name in errors."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression

from solvers.errors import ModelError
from solvers.model.expressions import terms, variables
from solvers.model.quadratic import Quadratic
from solvers.model.smooth import SmoothObjective

INSIDE = (1e-2, 1e-4, 1e-6, 1e-8)  # distances from a bound, of the room between bounds


@dataclass
class ConvexFunction:
    """A row g(x) <= 0, or an objective: its function and its name."""

    name: str
    function: SmoothObjective
    side: float = 0.0

    def at(self, x: np.ndarray) -> float:
        """Return g, as a share of its side where that is above 1; infinite where it has no value."""
        try:
            return self.function.value(x) / max(1.0, abs(self.side))
        except ModelError:
            return np.inf

    def cut(self, x: np.ndarray, *, bounds_only: bool = False) -> tuple[np.ndarray, float]:
        """Return a and b of the linearisation a.z <= b; at a bound where g has no value or slope, of one inside.

        A linearisation at any point of the domain holds in all of it: the one farthest inside that cuts x off is
        taken, the flattest. ``bounds_only`` takes one that cuts nothing off too, as a bound on an objective may.
        """
        try:
            return self._linearised(x)
        except ModelError as error:
            found = None
            for share in INSIDE:
                near = self.function.inside(x, share)
                with suppress(ModelError):
                    slope, side = self._linearised(x if near is None else near)
                    if float(slope @ x) > side:
                        return slope, side
                    found = slope, side
            if found is None or not bounds_only:
                raise error
            return found

    def _linearised(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        value, slope = self._named(self.function.value, x), self._named(self.function.gradient, x)
        if not np.all(np.isfinite(slope)):
            raise ModelError(f"{self.name} has an infinite slope at a point of a linear program.")
        return slope, float(slope @ x) - value

    def _named(self, evaluate: Any, x: np.ndarray) -> Any:
        try:
            return evaluate(x)
        except ModelError as error:
            said = str(error).replace("The objective", self.name).replace("within the rows", "of a linear program")
            raise ModelError(f"{said} Bound its variables to where it is smooth.") from error


def is_linear(expression: Any) -> bool:
    """Return whether an expression is affine in its free variables; a dense row is not walked."""
    return type(expression) is LinearExpression or all(map(_is_linear_term, terms(expression)))


def _is_linear_term(term: Any) -> bool:
    if type(term) is MonomialTermExpression or type(term) in native_numeric_types:
        return True
    degree = term.polynomial_degree()
    return degree is not None and degree <= 1


def is_convex(expression: Any, sign: float = 1.0) -> bool | None:
    """Return whether sign times an expression is convex; None where it is not quadratic."""
    held = list(variables(expression))
    found = Quadratic.read(expression, {id(v): k for k, v in enumerate(held)}, len(held))
    return None if found is None else found.is_convex(sign)
