"""A smooth objective as numbers: its linear part extracted once, the rest differentiated in reverse mode by Pyomo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.calculus.diff_with_pyomo import DifferentiationException
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from solvers.errors import ModelError


def curved_variables(expression: Any) -> Sequence[Any]:
    """Return the free variables of an expression's nonlinear terms; a dense row is not walked."""
    if type(expression) is LinearExpression:
        return ()
    found: Sequence[Any] = generate_standard_repn(expression, compute_values=True, quadratic=False).nonlinear_vars
    return found


class SmoothObjective:
    """``constant + linear . x + f(x)``, to be minimised; parameters and fixed variables count with their values now.

    Attributes
    ----------
    linear : array over the variables
    curved : positions of the variables of f; empty for a linear objective
    rest : the expression f in the model's own sense, or None
    """

    def __init__(self, expression: Any, variables: Sequence[Any], sign: float) -> None:
        column = {id(v): k for k, v in enumerate(variables)}
        parts = generate_standard_repn(expression, compute_values=True, quadratic=False)
        self._sign, self._constant = sign, sign * float(parts.constant)
        self.linear = np.zeros(len(variables))
        for c, v in zip(parts.linear_coefs, parts.linear_vars, strict=True):
            self.linear[column[id(v)]] += sign * float(c)
        self.rest = parts.nonlinear_expr
        held = [] if self.rest is None else list(identify_variables(self.rest, include_fixed=False))
        self.curved = np.array([column[id(v)] for v in held], dtype=int)
        self._held = held

    def value(self, x: np.ndarray) -> float:
        """Return the objective at a point; sets the values of the variables of f.

        Raises
        ------
        ModelError
            If the objective has no value there.
        """
        total = self._constant + float(self.linear @ x)
        if self.rest is not None:
            self._put(x)
            try:
                total += self._sign * float(pyo.value(self.rest))
            except (ArithmeticError, ValueError, TypeError) as error:
                raise ModelError(f"The objective has no value at a point within the rows: {error}.") from error
        return total

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient at a point; sets the values of the variables of f.

        Raises
        ------
        ModelError
            If f has no derivative there, or Pyomo knows none.
        """
        slope = self.linear.copy()
        if self.rest is not None:
            self._put(x)
            try:
                found = differentiate(self.rest, wrt_list=self._held, mode=Modes.reverse_numeric)
            except (DifferentiationException, ArithmeticError, ValueError, TypeError, KeyError) as error:
                said = str(error) or type(error).__name__
                raise ModelError(f"The objective cannot be differentiated: {said}. It must be smooth.") from error
            slope[self.curved] += self._sign * np.array(found, dtype=float)
            if not np.all(np.isfinite(slope)):
                raise ModelError("The objective has an infinite slope at a point within the rows: it must be smooth.")
        return slope

    def _put(self, x: np.ndarray) -> None:
        for v, value in zip(self._held, x[self.curved].tolist(), strict=True):
            v.set_value(value, skip_validation=True)
