"""The rows of a risk met so far, which the problems of one model share."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.facts.composite import RiskRow

FloatArray = NDArray[np.float64]

KEPT = 80  # rows that the next problem begins with


class RowPool:
    """The rows of a risk met so far, over all columns; it depends on the data alone, so that clones begin with them.

    ``matrix`` (n, m), ``worst``, ``scale``: as in ``CompositeRisk``.
    """

    def __init__(self, matrix: Any, worst: Callable[[np.ndarray], RiskRow], scale: float) -> None:
        self.matrix, self.worst, self.scale = matrix, worst, scale
        self.P, self.q = np.empty((0, matrix.shape[1])), np.empty(0)
        self._known: dict[tuple[float, bytes], int] = {}
        self.first, _ = self.at(np.zeros(matrix.shape[0]))
        self.active = [self.first]

    def __deepcopy__(self, memo: dict[int, Any]) -> RowPool:
        """Return a pool that begins with these rows, which hold for every copy; arrays are shared until one grows."""
        other = copy(self)
        other._known = dict(self._known)
        return other

    def at(self, scores: FloatArray) -> tuple[int, float]:
        """Return the place of the worst row at scores, and the risk there."""
        row = self.worst(scores)
        risk = max(0.0, self.scale * (row.side - float(row.coefficients.astype(float) @ scores)))
        key = (row.side, row.coefficients.tobytes())
        if key not in self._known:
            slopes = -self.scale * np.asarray(self.matrix.T @ row.coefficients.astype(float)).ravel()
            self._known[key] = len(self.q)
            self.P, self.q = np.vstack([self.P, slopes]), np.append(self.q, self.scale * row.side)
        return self._known[key], risk

    def scores(self, w: FloatArray, columns: Any = None) -> FloatArray:
        """Return X w, of weights on some columns."""
        X = self.matrix if columns is None else self.matrix[:, columns]
        return np.asarray(X @ w, dtype=float).ravel()

    def nearest(self, points: list[FloatArray], used: list[int]) -> list[int]:
        """Return which of some rows are nearest to the worst of them at any of some weights."""
        P, q = self.P[used], self.q[used]
        values = np.array([q + P @ w for w in points])
        behind = (values.max(axis=1)[:, None] - values).min(axis=0)
        return [used[k] for k in np.argsort(behind, kind="stable")[:KEPT].tolist()]

    def near(self, w: FloatArray) -> None:
        """Let the next problem begin with the rows that are nearest to the worst at w."""
        values = self.q + self.P @ w
        self.active = np.argsort(-values, kind="stable")[:KEPT].tolist()
