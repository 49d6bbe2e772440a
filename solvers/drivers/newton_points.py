r"""Where to cut next: points of Newton's method, which keep Kelley's from jumping between far vertices.

The optimum of a linear program over tangents is a vertex, far from the optimum in all directions in which the rows
bend: 60 rows on 40 variables took 274 rounds. The tangents that matter are those at the optimum itself. So beside the
bound, which is the linear program's as ever, a point y is led there:

    0. y <- the start, mu <- multipliers in which each row's slope weighs as much as the objective's.
    1. H <- f''(y) + sum_k mu_k g_k''(y).
    2. Minimise f'(y).z + 1/2 (z - y)'H (z - y) over the linear rows and the tangents at the last points
       -> y, and mu from the tangents' multipliers.
    3. The tangents at y of the rows that are violated or nearly so join the linear program.

This is sequential quadratic programming (Wilson 1963): the distance to the optimum squares in each round once y is
near (the 60 rows: 10 rounds). Tangents of convex functions cut no feasible point off, so the program in 2 is feasible
where the model is. Nothing is proven of y: where its violation does not halve, the driver cuts at the vertex too, and
that converges by itself.

A level bundle (``tree.level_bundle``) asks for a function's values alone and needs a round for each direction; here the
rows tell how they bend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from solvers.drivers.convex_parts import ConvexParts
from solvers.errors import ModelError
from solvers.lp.projection import least_quadratic
from solvers.model.convexity import ConvexFunction

ACCURACY = 1e-10  # of the quadratic programs
MEMORY = 2  # points whose tangents these hold
NEAR = 1e-2  # a row is near where it is short by less than this, or by less than the worst is violated
DENSE = 1000  # variables up to which H is summed as a dense matrix
FAR = 1e5  # a tangent that far from its point has rounding for a slope
PROXIMAL = 1e-8  # of H's mean diagonal: a step has an end where no row bends

Tangents = list[tuple[np.ndarray, float]]  # a.x <= b


@dataclass(frozen=True)
class NewtonStep:
    """A point, the largest violation of the convex rows there, and the tangents of rows that are near."""

    point: np.ndarray
    worst: float
    tangents: Tangents
    gains: bool  # whether the violation has halved


class NewtonPoints:
    """The sequence of points y for the convex rows and the objective of ``parts``, from ``start``."""

    def __init__(self, parts: ConvexParts, start: np.ndarray) -> None:
        self._parts, self._point, self._worst = parts, start, np.inf
        self._seen: list[tuple[np.ndarray, Tangents]] = []  # which rows, and their tangents
        self._weights: np.ndarray | None = None  # mu

    def step(self, time_limit: float | None) -> NewtonStep | None:
        """Return the next point; None where it has no value or slope, or no quadratic program finds it."""
        try:
            if self._weights is None:
                self._look()
            found = self._next(time_limit)
            if found is None:
                return None
            self._point, last = found, self._worst
            tangents = self._look()
        except ModelError:  # outside the domain of a row
            return None
        return NewtonStep(self._point, self._worst, tangents, self._worst < 0.5 * last)

    def _look(self) -> Tangents:
        """Take the tangents at the point."""
        rows = self._parts.convex
        values = np.array([g.at(self._point) for g in rows])
        self._worst = float(values.max(initial=0.0))
        if not np.isfinite(self._worst):
            raise ModelError("A row has no value at a point of Newton's method.")
        near = np.flatnonzero(values >= -max(NEAR, self._worst))
        if self._weights is None:
            near = np.arange(len(rows))
        all_of_them = [rows[k].cut(self._point) for k in near.tolist()]
        close = [_distance(t, self._point) <= FAR * max(1.0, np.abs(self._point).max()) for t in all_of_them]
        near, tangents = near[close], [t for t, here in zip(all_of_them, close, strict=True) if here]
        self._seen = [*self._seen, (near, tangents)][-MEMORY:]
        if self._weights is None:
            price = float(np.linalg.norm(self._parts.cost.function.gradient(self._point)))
            steep = np.array([np.linalg.norm(a) for a, _ in tangents])
            self._weights = np.zeros(len(rows))
            self._weights[near] = price / np.maximum(steep, 1e-12) / max(1, len(rows))
        return tangents

    def _next(self, time_limit: float | None) -> np.ndarray | None:
        """Solve the quadratic program, and take its multipliers (1 and 2)."""
        parts, y = self._parts, self._point
        hessian = self._hessian()
        slope = parts.cost.function.gradient(y) - hessian @ y
        near = np.concatenate([np.empty(0, dtype=int), *(rows for rows, _ in self._seen)])
        matrix, side = _stacked([t for _, tangents in self._seen for t in tangents], len(y))
        r = parts.linear
        found = least_quadratic(
            sparse.triu(hessian, format="csc"),
            slope,
            [(matrix, side)],
            (r.matrix, r.lower, r.upper),
            (r.x_lower, r.x_upper),
            accuracy=ACCURACY,
            time_limit=time_limit,
        )
        if found is None:
            return None
        point, multipliers = found
        weights = np.bincount(near, weights=multipliers, minlength=len(parts.convex))
        if np.any(weights > 0):
            self._weights = weights
        return point

    def _hessian(self) -> sparse.csc_matrix:
        """Return H, positive definite."""
        n = len(self._point)
        terms: list[tuple[float, ConvexFunction]] = [(1.0, self._parts.cost)]
        assert self._weights is not None
        terms += zip(self._weights.tolist(), self._parts.convex, strict=True)
        blocks = [(w, f.function.curved, f.function.hessian(self._point)) for w, f in terms if w > 0]
        dense = np.zeros((n, n)) if n <= DENSE else None
        entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for weight, at, block in blocks:
            if dense is not None and not sparse.issparse(block):
                dense[np.ix_(at, at)] += weight * block
            else:
                coo = sparse.coo_array(block)
                entries.append((weight * coo.data, at[coo.row], at[coo.col]))
        whole = sparse.csc_matrix((n, n) if dense is None else dense)
        if entries:
            values, i, j = (np.concatenate(parts) for parts in zip(*entries, strict=True))
            whole = whole + sparse.csc_matrix((values, (i, j)), shape=(n, n))
        least = PROXIMAL * max(float(whole.diagonal().mean()), 1e-12) if n else 0.0
        return whole + least * sparse.identity(n, format="csc")


def _distance(tangent: tuple[np.ndarray, float], point: np.ndarray) -> float:
    """Return how far a point that a tangent cuts off is from it."""
    slope, side = tangent
    missed, steep = float(slope @ point - side), float(np.linalg.norm(slope))
    return 0.0 if missed <= 0 else missed / steep if steep > missed * np.finfo(float).eps else np.inf


def _stacked(tangents: Sequence[tuple[np.ndarray, float]], size: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    matrix = sparse.csr_matrix(np.array([a for a, _ in tangents]).reshape(-1, size))
    return matrix, np.array([b for _, b in tangents])
