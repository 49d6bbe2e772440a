r"""The kernel family on arrays: the steps of its algorithms, for the driver ``alternating``.

Each step moves a flat point (u, b, z, lambda). ``kernel`` defines the steps and the stop rule of each model.

    SVM   (u, b) <- argmin Omega at z, lambda <- 1                                        libsvm
    FS    z <- descend Omega for fixed (u, b)
    XFS   (z, lambda) <- descend (11) for fixed (u, b), from lambda = 1
    EFS   (z, lambda) <- descend (12) for fixed (u, b), from lambda = 1 / sqrt(u'Ku)
    ALL   (u, b, z) <- descend Omega
    VALUE z <- descend F(z) + mu ||z||_1 (5), with (u, b) optimal for z

A first step is at most a quarter of ||z||: a long one would end at the strict local minimum z = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.kernel.kernels import FloatArray, Kernel
from fsmodels.models.kernel.objective import Objective, hinge, positions
from fsmodels.models.kernel.value_function import SVM_TOLERANCE, ValueFunction, solve_svm
from fsmodels.models.libsvm import seconds
from fsmodels.models.proofs.certified import values_of
from fsmodels.models.shares import slack_weights
from solvers.box.minimise import Minimum, Smooth, minimise
from solvers.box.polyhedron import Polyhedron
from solvers.box.problem import residual
from solvers.facts import Inside, Moved

__all__ = ["MARGIN", "STOPS", "ZERO", "Problem"]

ZERO = 0.01  # of the largest weight: smaller weights count as 0 (footnote 4)
FIRST = 0.25  # of ||z||: the longest first step
MARGIN = (1e-3, 1e3)  # bounds of lambda; at z = 0 it is unbounded
LEAST_OFFSET = 1e-6  # of a classifier without weights: an offset of 0 predicts no class
INNER = 10  # ratio of the tolerances of the result and of a step, since the new SVM changes the slopes
EXACT = 1e-6  # tolerance of libsvm in the value function, whose slopes need its optimum


@dataclass
class Problem:
    """Data, kernel and parameters of one model; C and mu are read from the model when they are needed.

    ``model``: with Params ``C`` and ``penalty``. ``data``: Dataset; ``rows`` are the samples with a weight other than
    0, and ``s`` their weights.
    """

    model: Any
    data: Dataset
    kernel: Kernel
    eps: float
    centre: FloatArray = field(init=False)
    _objective: Objective | None = field(default=None, repr=False)
    _made_for: tuple[float, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        kept = self.data.counting
        X, self.s = kept.X, slack_weights(kept)
        self.rows = np.arange(len(self.s)) if kept is self.data else np.flatnonzero(slack_weights(self.data))
        self.centre = X.mean(axis=0) if self.kernel.shift_invariant else np.zeros(X.shape[1])
        self.X = np.ascontiguousarray(X - self.centre)
        self.y = np.asarray(kept.y)
        self.n, self.d = X.shape
        self.positions = positions(self.n, self.d)

    @property
    def objective(self) -> Objective:
        """Omega over flat points, (11), with the present parameters of the model."""
        C, mu = float(pyo.value(self.model.C)), float(pyo.value(self.model.penalty))
        if self._objective is None or self._made_for != (C, mu):
            self._objective = Objective(self.kernel, self.X, self.y, C * self.s, mu, self.eps)
            self._made_for = C, mu
        return self._objective

    def value(self, x: FloatArray) -> float:
        """Return Omega at a point; if all coefficients are 0, no kernel is evaluated."""
        o = self.objective
        u, b, z, margin = o.parts(x)
        if not u.any():
            return float(o.C @ hinge(self.y * b / margin, o.eps)) + o.mu * float(z.sum())
        return o.value(x)[0]

    def evaluated(self, arguments: Any, order: int, fixed: Any = None) -> tuple[float, Any, Any]:
        """Return value, gradient and upper triangle of the Hessian by columns, as Pyomo's external functions do."""
        x = np.array(arguments, dtype=float)
        value, gradient = self.objective.value(x)
        second = None
        if order > 1:
            columns = [self.objective.product(x, e) for e in np.eye(len(x))]
            second = [float(column[i]) for j, column in enumerate(columns) for i in range(j + 1)]
        return value, gradient.tolist() if order else None, second

    def seconds(self) -> float:
        """Return an upper bound on the seconds for a kernel matrix with its SVM or its slopes."""
        return seconds(self.n, self.d)

    def weights(self, x: FloatArray) -> FloatArray:
        """Return z."""
        return x[self.n + 1 : self.n + 1 + self.d]

    # The steps.

    def solve_svm(self, x: FloatArray, inside: Inside) -> Moved:
        """SVM: (u, b) for z."""
        point = self.fitted(x, inside)
        return Moved(point, self.value(x), self.value(point))

    def fitted(self, x: FloatArray, inside: Inside) -> FloatArray:
        """Return the point with the SVM solved at its z."""
        return solve_svm(self.objective, x, EXACT if self.eps == 0 else SVM_TOLERANCE)

    def trivial(self, x: FloatArray) -> FloatArray:
        """Return the point with u = 0, lambda = 1, the given z, and the offset of least loss."""
        point = x.copy()
        point[: self.n], point[self.n], point[-1] = 0.0, self.offset, 1.0
        return point

    @property
    def offset(self) -> float:
        """The b of least loss at u = 0: n_larger V'(|b|) + n_smaller = 0 within the smooth part, of eps <= 1/2.

        The sizes of the classes are sums of weights.
        """
        plus, minus = (float(self.s[rows].sum()) for rows in (self.y > 0, self.y < 0))
        size = max(LEAST_OFFSET, 1.0 - 2.0 * min(self.eps, 0.5) * min(plus, minus) / max(plus, minus))
        return size if plus >= minus else -size

    def select(self, x: FloatArray, inside: Inside) -> Moved:
        """FS: z for (u, b)."""
        return self._move(self.objective, x, self.positions["z"], inside)

    def select_sharing(self, x: FloatArray, inside: Inside) -> Moved:
        """XFS: (z, lambda) for (u, b)."""
        return self._move(self.objective, x, self._selecting(), inside)

    def select_explicit(self, x: FloatArray, inside: Inside) -> Moved:
        """EFS: (z, lambda) for (u, b), from the geometric margin."""
        o = self.objective
        start = x.copy()
        start[-1] = np.clip(1.0 / np.sqrt(max(o.norm(x), 1e-300)), *MARGIN)
        return self._move(o, start, self._selecting(), inside, explicit=True)

    def move_all(self, x: FloatArray, inside: Inside) -> Moved:
        """ALL: (u, b, z) together, at lambda = 1; with rows on z by VALUE, which has the same local minima."""
        if inside.rows is not None:
            return self.move_by_value(x, inside)
        return self._move(self.objective, x, np.arange(self.n + 1 + self.d), inside)

    def move_by_value(self, x: FloatArray, inside: Inside) -> Moved:
        """VALUE: z, with the SVM solved at each z."""
        function = ValueFunction(self.objective, x, EXACT)
        found = self._minimised(function, x, self.positions["z"], inside, function.at)
        return Moved.by(found, function.at(found.point), self.value(x))

    def _selecting(self) -> Any:
        return np.append(self.positions["z"], self.positions["margin"])

    def _move(self, o: Objective, x: FloatArray, free: Any, inside: Inside, explicit: bool = False) -> Moved:
        function = o.restricted(x, free, explicit)

        def at(part: FloatArray) -> FloatArray:
            point = x.copy()
            point[free] = part
            return point

        before, _ = function.value(x[free])
        found = self._minimised(function, x, free, inside, at)
        return Moved.by(found, at(found.point), before)

    def _minimised(self, function: Smooth, x: FloatArray, free: Any, inside: Inside, at: Any) -> Minimum:
        """Minimise over the coordinates in ``free``; ``at`` returns the complete point."""
        return minimise(
            function,
            x[free],
            inside.lower[free],
            inside.upper[free],
            method=inside.method,
            unit=self.unit(x)[free],
            tolerance=inside.tolerance / INNER,
            iteration_limit=inside.iteration_limit,
            watch=lambda part, value: inside.watch(at(part), value),
            seed=inside.seed,
            rows=None if inside.rows is None else inside.rows.part(x, free),
        )

    def unit(self, x: FloatArray) -> FloatArray:
        """Return the size of the first step in each coordinate of a point."""
        unit = np.ones_like(x)
        u, z = np.abs(x[: self.n]), self.weights(x)
        unit[: self.n] = float(u.max(initial=0.0)) or self.objective.C
        unit[self.n + 1 : self.n + 1 + self.d] = FIRST * (float(np.linalg.norm(z)) or 1.0)
        unit[-1] = FIRST * x[-1]
        return unit

    # Functions of a point for the driver.

    def residual(self, x: FloatArray, lower: FloatArray, upper: FloatArray, rows: Polyhedron | None = None) -> float:
        """Return the first-order residual of Omega at lambda = 1 in (u, b, z), for the hinge in z at the optimal u."""
        point = x.copy()
        point[: self.n + 1] /= x[-1]
        point[-1] = 1.0
        value, gradient = self.objective.value(point)
        part = self.positions["z"] if self.eps == 0 else np.arange(self.n + 1 + self.d)
        here = (point[part], value, gradient[part], lower[part], upper[part], self.unit(point)[part])
        return residual(*here) if rows is None else rows.part(point, part).residual(*here)

    def same_weights(self, before: FloatArray, after: FloatArray, tolerance: float) -> bool:
        """Return True if no weight has moved by more than the tolerance (Algorithms 1 and 2)."""
        return float(np.abs(self.weights(after) - self.weights(before)).max()) < tolerance

    def settled(self, rule: str, before: FloatArray, after: FloatArray, tolerance: float) -> bool:
        """Return True if Algorithm 3 ends by a rule of ``STOPS``."""
        return STOPS[rule](self.weights(before), self.weights(after))

    def is_zero(self, x: FloatArray) -> bool:
        """Return True if all weights are 0; no slope leads away from there."""
        return not self.weights(x).any()

    def support(self, x: FloatArray) -> int:
        """Return the number of weights that do not count as 0."""
        return int(used(self.weights(x)).sum())

    def remark(self, x: FloatArray) -> str:
        """Return a sentence on the classifier at z = 0; elsewhere an empty string."""
        if not self.is_zero(x):
            return ""
        larger = self.offset > 0
        label = self.data.positive_label if larger else self.data.negative_label
        most = int(((self.y > 0) == larger).sum())
        return (
            f"All weights are 0: every sample gets the label of the larger class ({label}: {most} of {self.n}). "
            "z = 0 is a strict local minimum: start elsewhere, or lower the penalty."
        )

    def selected(self, model: Any) -> list[str]:
        """Return the names of the features in use."""
        z = values_of(model.z)
        return [j for j, uses in zip(self.data.features, used(z).tolist(), strict=True) if uses]


def same_support(z: FloatArray, new: FloatArray) -> bool:
    """Return True if the same weights count as 0."""
    return bool(np.array_equal(used(z), used(new)))


def unchanged(z: FloatArray, new: FloatArray) -> bool:
    """Return True if no weight has moved by 0.01 of the largest: ``||z' - z||_0 = 0``, as Algorithm 3 prints it."""
    return bool(np.all(np.abs(new - z) < ZERO * max(float(np.abs(new).max()), 1e-300)))


STOPS = {"support": same_support, "weights": unchanged}  # rules that end Algorithm 3


def used(z: FloatArray) -> Any:
    """Return a mask of the weights that are positive and at least 0.01 of the largest (footnote 4).

    Examples
    --------
    >>> used(np.array([2.0, 0.019, 0.5])).tolist()
    [True, False, True]
    """
    return (z > 0) & (z >= ZERO * z.max(initial=0.0))
