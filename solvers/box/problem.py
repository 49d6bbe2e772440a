"""A smooth function over a box in units of its variables, the problem that the methods of ``minimise`` solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from solvers.box.polyhedron import Polyhedron
from solvers.errors import OptionError, SolverFailure

FloatArray = NDArray[np.float64]
Watch = Callable[[FloatArray, float], bool]


class Smooth(Protocol):
    """A function with two derivatives."""

    def value(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        ...

    def product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian times v; raise ``NotImplementedError`` if there is none."""
        ...


def residual(
    x: FloatArray, value: float, gradient: FloatArray, lower: FloatArray, upper: FloatArray, unit: FloatArray | float
) -> float:
    """Return the largest decrease for one unit in one variable to first order, relative to max(1, |f|).

    >>> x, g = np.array([0.0, 2.0]), np.array([3.0, 0.5])
    >>> residual(x, 10.0, g, np.zeros(2), np.full(2, np.inf), 1.0)
    0.05
    """
    room = np.where(gradient > 0, x - lower, upper - x)
    decrease = np.abs(gradient) * np.minimum(unit, np.maximum(room, 0.0))
    return float(decrease.max(initial=0.0)) / max(1.0, abs(value))


@dataclass
class Scaled:
    """The problem in units, y = x / unit, with the stop rules."""

    function: Smooth
    unit: FloatArray
    lower: FloatArray
    upper: FloatArray
    tolerance: float
    iteration_limit: int
    watch: Watch
    seed: int
    rows: Polyhedron | None = None  # over y
    iterations: int = 0
    _last: tuple[FloatArray, float, FloatArray] | None = None

    def value(self, y: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; those of the last point are cached."""
        if self._last is None or not np.array_equal(self._last[0], y):
            value, gradient = self.function.value(y * self.unit)
            self._last = y.copy(), value, gradient * self.unit
        return self._last[1], self._last[2].copy()

    def product(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian times v."""
        return np.asarray(self.function.product(y * self.unit, v * self.unit) * self.unit)

    def residual(self, y: FloatArray, value: float, gradient: FloatArray) -> float:
        """Return the residual; the units are 1."""
        if self.rows is not None:
            return self.rows.residual(y, value, gradient, self.lower, self.upper, 1.0)
        return residual(y, value, gradient, self.lower, self.upper, 1.0)

    def inside(self, y: FloatArray) -> FloatArray:
        """Return the nearest point of the box, and of the rows if there are any.

        Raises SolverFailure if it is not found.
        """
        if self.rows is not None:
            near = self.rows.nearest(y, self.lower, self.upper)
            if near is None:
                raise SolverFailure("The nearest point of the rows was not found.", "clarabel")
            return near
        return np.clip(y, self.lower, self.upper)

    def stops(self, y: FloatArray, value: float) -> bool:
        """Count an iteration; return True to stop after it."""
        self.iterations += 1
        return self.watch(y * self.unit, value) or self.iterations >= self.iteration_limit

    def why(self) -> str:
        """Return the reason of ``stops``."""
        return "iteration limit" if self.iterations >= self.iteration_limit else "stopped"

    def require_products(self, method: str, y: FloatArray) -> None:
        """Raise OptionError for a function without a Hessian."""
        try:
            self.product(y, np.zeros_like(y))
        except NotImplementedError:
            raise OptionError(
                f'Method "{method}" needs Hessian products, which this function does not have: use l-bfgs-b or '
                "projected-gradient."
            ) from None
