"""What a joint relaxation is given, and what multipliers prove about it on the data: (*) of ``oracle.relaxation``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsmodels.models.proofs.svm import EPSILON, Array, SlackLoss, repaired


@dataclass(frozen=True)
class Rows:
    """Rows ``matrix x <= sides``, with equality where ``equal``."""

    matrix: Array
    sides: Array
    equal: Array

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """The three as compiled code takes them."""
        matrix, sides = (np.ascontiguousarray(a, dtype=float) for a in (self.matrix, self.sides))
        return matrix, sides, np.ascontiguousarray(self.equal, dtype=bool)


@dataclass(frozen=True)
class Relaxed:
    """What is proven: ``bound`` (*) and the reduced costs behind it, by alpha; ``x`` where the run ended."""

    bound: float
    x: Array
    alpha: Array
    reduced_costs: Array
    gap: float  # of the run's own numbers, on all samples
    iterations: int
    margins: Array  # y (w.x + b) of every sample
    w: Array  # of the columns
    offset: float
    constant: float  # of the cut of alpha
    v: Array | None = None  # X' (y alpha) of the rows that the compiled loop was given


@dataclass(frozen=True)
class JointProblem:
    """The data of a relaxation, as in ``minimise``, and what multipliers prove about it."""

    columns: Array
    where: Array
    y: Array
    loss: SlackLoss
    cost: Array
    rows: Rows
    lower: Array
    upper: Array

    def proven(self, alpha: Array, theta: Array) -> tuple[float, Array, Array]:
        """Return (*) of the repaired alpha, that alpha, and the reduced costs."""
        alpha = repaired(alpha, self.y, self.loss.most)
        total, v = float(alpha.sum()), self.columns.T @ (self.y * alpha)
        bound, reduced_costs = self.bound(total, self.loss.gained(alpha), v, theta)
        return bound, alpha, reduced_costs

    @cached_property
    def _sides(self) -> tuple[Array, Array, Array, Array, float]:
        """Free x, fixed columns, the rows' sides less what is fixed, their rounding, and the cost of what is fixed."""
        lower, upper, rows = self.lower, self.upper, self.rows
        fixed = lower == upper
        held = rows.matrix[:, fixed] * lower[fixed]
        whole = (rows.sides == np.round(rows.sides)) & (held == np.round(held)).all(axis=1)
        error = np.where(whole, 0.0, np.abs(rows.sides) + np.abs(held).sum(axis=1))
        at_fixed = float(self.cost[fixed] @ lower[fixed])
        return np.flatnonzero(~fixed), np.flatnonzero(fixed[self.where]), rows.sides - held.sum(axis=1), error, at_fixed

    def bound(self, total: float, gained: float, v: Array, theta: Array) -> tuple[float, Array]:
        """Return (*) and the reduced costs, less what rounding may have added: theta may grow without end.

        ``total``: e'alpha. ``gained``: g(alpha), which is the same for the hinge.
        """
        free, fixed, b, b_error, at_fixed = self._sides
        half, matrix, rounding = 0.5 * v**2, self.rows.matrix, EPSILON * (10 + self.rows.sides.size)
        d, size = self.cost + matrix.T @ theta, np.abs(self.cost) + np.abs(matrix).T @ np.abs(theta)
        d[self.where] -= half
        size[self.where] += half
        error, span = rounding * size, self.upper - self.lower
        at = np.where(d > 0, self.lower, self.upper)
        terms = (
            gained,
            -b @ theta,
            at_fixed,
            -half[fixed] @ self.lower[self.where[fixed]],
            d[free] @ at[free],
        )
        lost = rounding * (2 * total - gained + np.abs(b) @ np.abs(theta) + abs(terms[2]) + abs(terms[3]))
        lost += rounding * float(b_error @ np.abs(theta)) + float(error[free] @ np.abs(at[free]))
        lost += float(np.maximum(error - np.abs(d), 0.0) @ span)
        return float(sum(terms) - lost), np.sign(d) * np.maximum(np.abs(d) - error, 0.0)
