r"""Quadratic rows that are second-order cones, as convex functions.

A row f(x) <= 0 such as ``x^2 + y^2 <= s t`` with s, t >= 0 has a convex set of points, but f is not convex, so that its
linearisations cut off points of the set. ``clarabel.cones`` writes the row as ``||v(x)|| <= v_0(x)`` with affine v_0
and v, for example ``v = (2 x, 2 y, s - t)`` and ``v_0 = s + t``. The function

    g(x) = ||v(x)|| - v_0(x)

is convex and has the same zero set. By the inequality of Cauchy and Schwarz, u.v <= ||v|| for each unit vector u, so

    u.v(x) - v_0(x) <= 0,    u = v(x-bar) / ||v(x-bar)||    (u = 0 if v(x-bar) = 0)

holds in the whole cone. It is the linearisation of g at x-bar, and x-bar violates it by g(x-bar). At the apex of the
cone it is still finite, where the linearisation ``2 (w/s) w' - (w/s)^2 s' <= t'`` of ``w^2 / s <= t`` is not.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from solvers.clarabel.cones import Cone, conic_rows
from solvers.clarabel.rows import BoundProver
from solvers.errors import ModelError
from solvers.model.function import SmoothFunction
from solvers.walker import stacked


class ConeFunction:
    """The function g of a row that is a second-order cone; it has the interface of a ``SmoothFunction``.

    - ``name``: for messages. ``linear``: zeros. ``curved``: positions of the variables of the row.
    """

    def __init__(self, row: SmoothFunction, cone: Cone) -> None:
        self.name, self._row = row.name, row
        self.linear = np.zeros_like(row.linear)
        rows, cols, coefs, self._shift = stacked(cone.entries)
        self._matrix = sparse.csr_array((coefs, (rows, cols)), shape=(len(cone.entries), len(row.linear)))
        self.curved = np.unique(cols)

    @classmethod
    def of(cls, row: SmoothFunction, prover: BoundProver) -> ConeFunction | None:
        """Return the function of a quadratic row; None if the row is not proven to be a cone."""
        if row.quadratic is None:
            return None
        try:
            cone = conic_rows(row.quadratic.body.times(row.sign), prover, row.name).cone
        except ModelError:
            return None
        return None if cone is None else cls(row, cone)

    def _entries(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._matrix @ x + self._shift)

    def at(self, x: np.ndarray) -> float:
        """Return the violation: the larger of g and of the row as written.

        Near the apex g is the larger one: ``w^2 <= s t`` holds to 1e-8 for s = 0 and w = 1e-4. Far from it the row is.
        """
        v = self._entries(x)
        return max(float(np.linalg.norm(v[1:]) - v[0]), self._row.at(x))

    def cut(self, x: np.ndarray, *, bounds_only: bool = False) -> tuple[np.ndarray, float]:
        """Return a and b of the linearisation a.z <= b at a point; ``bounds_only`` has no effect."""
        v = self._entries(x)
        size = float(np.linalg.norm(v[1:]))
        direction = np.concatenate([[-1.0], v[1:] / size if size else np.zeros(len(v) - 1)])
        return np.asarray(self._matrix.T @ direction), -float(direction @ self._shift)
