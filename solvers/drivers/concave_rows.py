r"""Rows "concave <= side" for methods of linear programs: each linearisation at a point is an inner approximation.

For g concave and any x in its domain, g(p) <= g(x) + g'(x)(p - x). So a point p of

    g(x) + g'(x)(p - x) <= side

satisfies g(p) <= side, and x is such a point itself if it satisfies the row. x itself need not satisfy any row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.convexity import is_linear
from solvers.model.curvature import is_concave
from solvers.model.smooth import SmoothObjective

HALVINGS = 20  # of the way to a point


class ConcaveRows:
    """Rows g(x) <= 0 with g concave, over the columns of a linear program."""

    def __init__(self, rows: Sequence[Any], variables: Sequence[Any], who: str) -> None:
        """Read the rows.

        Raises ModelError, naming a row that is not known to be of this kind, and who can solve the model.
        """
        self.rows, self.columns = list(rows), len(variables)
        self._functions, self._sizes = [], []
        for row in self.rows:
            sign, side = _one_side(row, who)
            self._functions.append(SmoothObjective(row.body - side, variables, sign))
            self._sizes.append(max(1.0, abs(side)))

    def __len__(self) -> int:
        return len(self.rows)

    def missed(self, x: np.ndarray) -> float:
        """Return by how much a point misses the worst row, as a share of its side where that is above 1."""
        return max([0.0, *(value / size for value, size in zip(self._values(x), self._sizes, strict=True))])

    def excess(self, x: np.ndarray) -> float:
        """Return the sum of what a point misses."""
        return float(np.maximum(self._values(x), 0.0).sum())

    def at(self, x: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return A and b of the rows' linearisations A p <= b at x; a point that misses no row misses none of them."""
        slopes = np.array([self._slope(k, x) for k in range(len(self))]).reshape(len(self), self.columns)
        return sparse.csr_matrix(slopes), slopes @ x - self._values(x)

    def corner(self, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return x with the curved variables at the bound to which the rows fall; within bounds, not within rows.

        A linearisation is an inner approximation wherever it is made. Far out, where steps are flat, one says nothing.
        """
        point = x.copy()
        for k, function in enumerate(self._functions):
            slope = self._slope(k, x)[function.curved]
            least = np.where(slope > 0, lower[function.curved], upper[function.curved])
            point[function.curved] = np.where(np.isfinite(least), least, x[function.curved])
        return point

    def towards(self, x: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return the last point on the way from the corner to x that misses no row, or x where there is none."""
        corner = self.corner(x, lower, upper)
        if self.missed(x) == 0 or self.missed(corner) > 0:
            return x
        inside, outside = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if self.missed(corner + middle * (x - corner)) else (middle, outside)
        return corner + inside * (x - corner)

    def _values(self, x: np.ndarray) -> np.ndarray:
        return np.array([self._named(k, function.value, x) for k, function in enumerate(self._functions)])

    def _slope(self, k: int, x: np.ndarray) -> np.ndarray:
        slope: np.ndarray = self._named(k, self._functions[k].gradient, x)
        if not np.all(np.isfinite(slope)):
            raise ModelError(
                f'Row "{self.rows[k].name}" has an infinite slope at a point of a linear program: bound its variables '
                "to where it is smooth."
            )
        return slope

    def _named(self, k: int, evaluate: Any, x: np.ndarray) -> Any:
        try:
            return evaluate(x)
        except ModelError as error:
            raise ModelError(str(error).replace("The objective", f'Row "{self.rows[k].name}"')) from error


def split_rows(rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the linear rows, and the others."""
    linear: list[Any] = []
    curved: list[Any] = []
    for row in rows:
        (linear if is_linear(row.body) else curved).append(row)
    return linear, curved


def _one_side(row: Any, who: str) -> tuple[float, float]:
    """Return sign and side of a row sign * (body - side) <= 0 whose function is concave."""
    lower, upper = pyo.value(row.lower), pyo.value(row.upper)
    sign, side = (1.0, upper) if upper is not None else (-1.0, lower)
    if (lower is None or upper is None) and is_concave(row.body, sign):
        return sign, float(side)
    raise ModelError(
        f'Row "{row.name}" is neither linear nor known to be of the kind "concave <= number", the rows that "{who}" '
        f'takes: solve the model by name, with "multi-start" ({either(C.NLP)} inside) where it is continuous, or whole '
        f"with {either(C.MINLP)}."
    )
