"""What the objective of the kernel family and its Hessian share: data, parameters, and what is known at a point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fsmodels.models.kernel.kernels import FloatArray, Kernel


@dataclass
class At:
    """What is known at a point, for the Hessian there."""

    x: FloatArray
    rows: NDArray[np.intp]  # where a is not 0, or all
    across: NDArray[np.intp] | slice  # where a or g is not 0, or all
    columns: NDArray[np.intp]  # where z is not 0
    D: FloatArray
    K: FloatArray  # (rows, n)
    f: FloatArray
    m: FloatArray
    g: FloatArray
    p: FloatArray
    square: float  # rho a'Ka + 1 - rho
    value: float
    gradient: FloatArray
    sums: FloatArray  # S(a p' o kappa') by the columns, where z is free


@dataclass
class Setting:
    """Kernel, data and parameters, and which coordinates of a flat point are free; a_i, f, g and p as in ``objective``.

    - ``X``: array of shape (n, d); centred where the kernel allows it, so that products keep their digits.
    - ``y``: array of shape (n,), -1 or +1.
    - ``C``: array of shape (n,), the price of each sample's loss, or one number for all. ``mu``: float.
    - ``eps``: 0 for the hinge, which has no Hessian, and slopes by f only as a choice: g = -a, right where (u, b) is
      optimal.
    - ``explicit``: rho = 0: (12).
    - ``free``: array of positions, by default all; the others stay at ``base``, array of shape (n + d + 2,).
    """

    kernel: Kernel
    X: FloatArray
    y: FloatArray
    C: FloatArray
    mu: float
    eps: float = 0.5
    explicit: bool = False
    free: NDArray[np.intp] | None = None
    base: FloatArray | None = None
    _cut: tuple[bytes, FloatArray] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.C = np.ascontiguousarray(np.broadcast_to(self.C, (self.n,)))
        self.rho = 0.0 if self.explicit else 1.0
        self.places = np.arange(self.n + self.d + 2) if self.free is None else self.free
        self.u_free = bool((self.places < self.n).any())
        self.z_free = bool(((self.places > self.n) & (self.places <= self.n + self.d)).any())

    def parts(self, x: FloatArray) -> tuple[FloatArray, float, FloatArray, float]:
        """Return u, b, z and lambda of a flat point."""
        n, d = self.n, self.d
        return x[:n], float(x[n]), x[n + 1 : n + 1 + d], float(x[-1])

    def columns(self, columns: NDArray[np.intp]) -> FloatArray:
        """Return the columns of X; those asked for last are kept."""
        if len(columns) == self.d:
            return self.X
        key = columns.tobytes()
        if self._cut is None or self._cut[0] != key:
            self._cut = key, np.ascontiguousarray(self.X[:, columns])
        return self._cut[1]

    def weights(self, at: At) -> FloatArray:
        """Return ``a p' o kappa'``, of shape (rows, across)."""
        W = self.kernel.slopes(at.D[:, at.across], at.K[:, at.across]) * at.p[at.across]
        W *= (self.y * self.parts(at.x)[0])[at.rows, None]
        return np.asarray(W)
