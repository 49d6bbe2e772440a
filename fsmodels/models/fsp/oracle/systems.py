"""The Newton system that is left of the joint relaxation, ``oracle.relaxation``, in two forms."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from fsmodels.models.proofs.svm import Array


def cholesky(H: Array) -> Array | None:
    """Lower Cholesky factor, with a relative shift of the diagonal where rounding made H singular."""
    diagonal = H.diagonal().copy()
    for shift in (0.0, 1e-15, 1e-13, 1e-11):
        np.einsum("ii->i", H)[:] = diagonal * (1 + shift)
        factor, info = dpotrf(H, lower=1)
        if info == 0:
            return factor
    return None


class FeatureSystem:
    """Solves ``D da + Z dw + y db = r``, ``Z' da - E^-1 dw = -E^-1 c``, ``y' da = e`` with k + 1 normal equations.

    Where y is 0, and e, so is db.
    """

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled = np.empty((y.size, Z.shape[1] + 1), order="F")
        self._rows = np.empty_like(self._scaled)
        self._scaled[:, -1] = y
        self._alone = 0.0 if y.any() else 1.0

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system of these diagonals; whether it could be."""
        self._inverse, self._root = 1 / D, np.sqrt(E)
        np.multiply(self._Z, self._root, out=self._scaled[:, :-1])
        np.multiply(self._scaled, np.sqrt(self._inverse)[:, None], out=self._rows)
        N = dsyrk(1.0, self._rows, trans=1, lower=1)
        np.einsum("ii->i", N)[:-1] += 1.0
        N[-1, -1] += self._alone
        self._factor = cholesky(N)
        return self._factor is not None

    def solve(self, r: Array | None, c: Array, e: float) -> tuple[Array, Array, float]:
        """Return (da, dw, db); no ``r`` counts as 0."""
        right = np.zeros(self._root.size + 1) if r is None else self._scaled.T @ (self._inverse * r)
        right[:-1] += c / self._root
        right[-1] -= e
        z = dpotrs(self._factor, right, lower=1)[0]
        image = self._scaled @ z
        return self._inverse * (-image if r is None else r - image), self._root * z[:-1], float(z[-1])


class SampleSystem:
    """The same for k > l, by ``(D + Z E Z') da = r - Z c - y db`` of size l."""

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled = np.empty_like(Z)

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system of these diagonals; whether it could be."""
        self._E = E
        np.multiply(self._Z, np.sqrt(E), out=self._scaled)
        M = dsyrk(1.0, self._scaled, lower=1)
        np.einsum("ii->i", M)[:] += D
        self._factor = cholesky(M)
        if self._factor is not None:
            self._along_y = dpotrs(self._factor, self._y, lower=1)[0]
        return self._factor is not None

    def solve(self, r: Array | None, c: Array, e: float) -> tuple[Array, Array, float]:
        """Return (da, dw, db); no ``r`` counts as 0."""
        right = -(self._Z @ c) if r is None else r - self._Z @ c
        p = dpotrs(self._factor, right, lower=1)[0]
        db = (float(self._y @ p) - e) / (float(self._y @ self._along_y) or 1.0)
        da = p - db * self._along_y
        return da, self._E * (self._Z.T @ da) + c, db
