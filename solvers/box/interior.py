"""Interior points over a box, by Ipopt or its port pounce, with exact derivatives: dense Hessians, small dimensions."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from solvers.box.problem import FloatArray, Scaled

TOUCHING = 1e-4  # units: what an interior point leaves of a variable at its bound
SLACK = 1e-9  # relative: what f may lose when such variables are put on their bounds


class Ipopt:
    """The problem as cyipopt's and pounce's ``Problem`` ask for it: dense Hessian, lower triangle."""

    def __init__(self, p: Scaled, y: FloatArray) -> None:
        self.p, self.rows = p, np.tril_indices(len(y))
        self.best = (math.inf, y)
        self.error: BaseException | None = None  # the solver swallows what its callbacks raise

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.error = error
            raise

    def _at(self, y: FloatArray) -> tuple[float, FloatArray]:
        with self._kept():
            point = np.array(y, dtype=float)
            value, slope = self.p.value(point)
            self.best = min(self.best, (value, point), key=lambda pair: pair[0])
            return value, slope

    def objective(self, y: FloatArray) -> float:
        """Return f."""
        return self._at(y)[0]

    def gradient(self, y: FloatArray) -> FloatArray:
        """Return the gradient."""
        return self._at(y)[1]

    def constraints(self, y: FloatArray) -> FloatArray:
        """Return no rows."""
        return np.zeros(0)

    def jacobian(self, y: FloatArray) -> FloatArray:
        """Return no entries."""
        return np.zeros(0)

    def jacobianstructure(self) -> tuple[Any, Any]:
        """Return no entries."""
        return np.zeros(0, dtype=int), np.zeros(0, dtype=int)

    def hessianstructure(self) -> tuple[Any, Any]:
        """Return the lower triangle."""
        return self.rows

    def hessian(self, y: FloatArray, multipliers: FloatArray, factor: float) -> FloatArray:
        """Return its entries, from products with unit vectors."""
        with self._kept():
            y = np.array(y, dtype=float)
            matrix = np.column_stack([self.p.product(y, e) for e in np.eye(len(y))])
        return np.asarray(factor * matrix[self.rows])

    def intermediate(self, *_: Any) -> bool:
        """Tell whether to go on."""
        with self._kept():
            return not self.p.stops(self.best[1], self.best[0])


def interior(module: str) -> Callable[[Scaled, FloatArray, float, FloatArray], tuple[FloatArray, str]]:
    """Return the method of a module with Ipopt's ``Problem``: pounce or cyipopt."""

    def solve(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
        asked = Ipopt(p, y)
        p.require_products(module, y)
        lower, upper = (np.clip(side, -1e20, 1e20) for side in (p.lower, p.upper))
        n = len(y)
        problem = importlib.import_module(module).Problem(
            n=n, m=0, problem_obj=asked, lb=lower, ub=upper, cl=np.zeros(0), cu=np.zeros(0)
        )
        for option, value in (("print_level", 0), ("sb", "yes"), ("tol", 1e-8), ("max_iter", p.iteration_limit)):
            problem.add_option(option, value)
        try:
            _, info = problem.solve(y)
        finally:
            if asked.error is not None:
                raise asked.error
        value, found = asked.best
        message = info.get("status_msg", "")
        touching = [p.inside(found) - p.lower <= TOUCHING, p.upper - p.inside(found) <= TOUCHING]
        clean = np.where(touching[0], p.lower, np.where(touching[1], p.upper, p.inside(found)))
        cleaner = p.value(clean)[0] <= p.value(p.inside(found))[0] + SLACK * max(1.0, abs(value))
        return clean if cleaner else p.inside(found), message.decode() if isinstance(message, bytes) else str(message)

    return solve
