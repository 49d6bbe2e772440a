"""A smooth objective as numbers: quadratic as matrices; else the rest of a linear part, differentiated by Pyomo."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.calculus.derivatives import Modes, differentiate
from pyomo.core.expr.calculus.diff_with_pyomo import DifferentiationException
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn

from solvers.errors import ModelError
from solvers.model.quadratic import Quadratic

NEAR = (1e-6, 1e-12)  # distances from a bound at which a limit is looked for, of the room between bounds
SAME = 1e-3  # what slopes at the nearer of them may differ by, relative


def curved_variables(expression: Any) -> Sequence[Any]:
    """Return the free variables of an expression's nonlinear terms; a dense row is not walked."""
    if type(expression) is LinearExpression:
        return ()
    found: Sequence[Any] = generate_standard_repn(expression, compute_values=True, quadratic=False).nonlinear_vars
    return found


class SmoothObjective:
    """``constant + linear . x + f(x)``, to be minimised; parameters and fixed variables count with their values now.

    ``linear``: array over the variables. ``curved``: positions of the variables of f; empty for a linear objective.
    ``quadratic``: all of it as matrices in the model's own sense, None where f is not quadratic.
    """

    def __init__(self, expression: Any, variables: Sequence[Any], sign: float) -> None:
        column = {id(v): k for k, v in enumerate(variables)}
        self._expression, self._sign = expression, sign
        self.quadratic = Quadratic.read(expression, column, len(variables))
        if self.quadratic is not None:
            self.linear, self.curved = sign * self.quadratic.linear, self.quadratic.columns
            self._held = [variables[k] for k in self.curved.tolist()]
            return
        parts = generate_standard_repn(expression, compute_values=True, quadratic=False)
        self._constant = sign * float(parts.constant)
        self.linear = np.zeros(len(variables))
        for c, v in zip(parts.linear_coefs, parts.linear_vars, strict=True):
            self.linear[column[id(v)]] += sign * float(c)
        self.rest = parts.nonlinear_expr
        self._held = [] if self.rest is None else list(identify_variables(self.rest, include_fixed=False))
        self.curved = np.array([column[id(v)] for v in self._held], dtype=int)

    @cached_property
    def rest(self) -> Any:
        """The expression f in the model's own sense, or None."""
        return generate_standard_repn(self._expression, compute_values=True, quadratic=False).nonlinear_expr

    def is_convex(self) -> bool | None:
        """Return whether it is convex; None where it is not quadratic."""
        return None if self.quadratic is None else self.quadratic.is_convex(self._sign)

    def value(self, x: np.ndarray) -> float:
        """Return the objective at a point; sets the values of the variables of f that is not quadratic.

        Raises ModelError if the objective has no value there.
        """
        if self.quadratic is not None:
            return self._sign * self.quadratic.value(x)
        total = self._constant + float(self.linear @ x)
        if self.rest is not None:
            self._put(x)
            try:
                total += self._sign * float(pyo.value(self.rest, exception=False))
            except (ArithmeticError, ValueError, TypeError) as error:
                raise ModelError(f"The objective has no value at a point within the rows: {error}.") from error
        return total

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient at a point; sets the values of the variables of f that is not quadratic.

        At a bound where f has no derivative, as x**0.5 at 0, the limit from within the bounds: there an entry may be
        infinite. Raises ModelError if f has no derivative there, or Pyomo knows none.
        """
        slope = self.linear.copy()
        if self.quadratic is not None:
            slope[self.curved] += self._sign * self.quadratic.slope(x)
        elif self.rest is not None:
            try:
                slope[self.curved] += self._slope(x)
            except ModelError as error:
                limit = self._limit(x)
                if limit is None:
                    raise error
                slope[self.curved] += limit
        return slope

    def inside(self, x: np.ndarray, share: float, uneven: bool = False) -> np.ndarray | None:
        """Return the point with the curved variables that are at a bound moved inside; None where none is."""
        lower, upper = (np.array([b if b is not None else s * np.inf for b in side]) for s, side in self._sides())
        at, room = x[self.curved], np.minimum(upper - lower, 1.0)
        low, up = at <= lower, at >= upper
        if not np.any((low | up) & (room > 0)):
            return None
        size = share * room * (1.0 + np.arange(len(at)) % 7 if uneven else 1.0)
        moved = x.copy()
        moved[self.curved] = np.where(low, lower + size, np.where(up, upper - size, at))
        return moved

    def _sides(self) -> Sequence[tuple[float, list[float | None]]]:
        return (-1.0, [v.lb for v in self._held]), (1.0, [v.ub for v in self._held])

    def _slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of f, all finite."""
        self._put(x)
        try:
            found = differentiate(self.rest, wrt_list=self._held, mode=Modes.reverse_numeric)
            slope = self._sign * np.array(found, dtype=float)
        except (DifferentiationException, ArithmeticError, ValueError, TypeError, KeyError) as error:
            said = str(error) or type(error).__name__
            raise ModelError(f"The objective cannot be differentiated: {said}. It must be smooth.") from error
        if not np.all(np.isfinite(slope)):
            raise ModelError("The objective has an infinite slope at a point within the rows: it must be smooth.")
        return slope

    def _limit(self, x: np.ndarray) -> np.ndarray | None:
        """Return the limit of the slope from within the bounds, None where there is none.

        Entries that grow are infinite. The others must be the same on the way from two sides: sqrt(x y) at 0 has slopes
        that depend on it, and what is stationary for one of them need not be for f.
        """
        found = []
        for uneven in (False, True):
            for share in NEAR:
                point = self.inside(x, share, uneven)
                if point is None:
                    return None
                try:
                    found.append(self._slope(point))
                except ModelError:
                    return None
        far, near, far_too, near_too = found
        grows, grows_too = (np.abs(b) > 2 * np.abs(a) + 1 for a, b in ((far, near), (far_too, near_too)))
        even = np.abs(near - near_too) <= SAME * np.maximum(1.0, np.abs(near))
        if np.any(grows != grows_too) or not np.all(grows | even):
            return None
        return np.where(grows, np.sign(near) * np.inf, near)

    def _put(self, x: np.ndarray) -> None:
        for v, value in zip(self._held, x[self.curved].tolist(), strict=True):
            v.set_value(value, skip_validation=True)
