"""Columns of one size: the change of variables for solvers and proofs, for any units of the data.

With ``z_ij = f_j (x_ij - c_j)``, f_j a power of two near one over the column's spread and c_j its middle where that is
far from 0, ``w.x_i + b = u.z_i + b'`` for ``w = f u`` and ``b = b' - c.w``. A product with a power of two is exact and
a difference is rounded once, so z has the precision of the data. Columns of the right size do not change; if all have
it, the model does not change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from fsmodels.checks import LARGEST
from fsmodels.models.proofs.svm import norms
from fsmodels.weights import FloatArray
from solvers.facts import Change

LEVEL = 8.0  # sizes from 1/LEVEL to LEVEL, and centres up to LEVEL spreads, do not change
FARTHEST = math.ceil(math.log2(LARGEST))  # exponent


class SharedByClones:
    """Base class of constant data that a model shares with its clones."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return this object."""
        return self


@dataclass(frozen=True)
class Columns(SharedByClones):
    """Columns of the data as z_ij = f_j (x_ij - c_j).

    ``X`` (ndarray or scipy sparse array of shape (l, n)): the data; sparse columns are not centred. ``centre``,
    ``factor``, ``largest`` (ndarrays of shape (n,)): c in the unit of the column, f in its inverse, and the largest
    absolute value of x.
    """

    X: Any
    centre: FloatArray
    factor: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Measure the columns of X (l, n)."""
        if sparse.issparse(X):
            size = abs(X).max(axis=0).toarray().ravel() if X.shape[0] else np.zeros(X.shape[1])
            return cls(X, np.zeros(X.shape[1]), powers(size), size)
        least, most = X.min(axis=0), X.max(axis=0)
        middle, spread = least + 0.5 * (most - least), 0.5 * (most - least)
        centre = np.where(np.abs(middle) > LEVEL * spread, middle, 0.0)
        largest = np.maximum(np.abs(least), np.abs(most))
        return cls(X, centre, powers(np.where(centre != 0.0, spread, largest)), largest)

    @property
    def plain(self) -> bool:
        """True if all columns have the right size."""
        return not self.centre.any() and bool(np.all(self.factor == 1.0))

    @cached_property
    def z(self) -> Any:
        """The equilibrated columns, (l, n); X itself if it does not change."""
        if self.plain:
            return self.X
        if sparse.issparse(self.X):
            return sparse.csr_array(self.X @ sparse.diags_array(self.factor))
        return (self.X - self.centre) * self.factor

    @cached_property
    def norms(self) -> FloatArray:
        """Euclidean norms of the columns of z, shape (n,)."""
        return norms(self.z)

    def sizes(self, most: float) -> FloatArray:
        """Return factors f for weights w = f u of size at most ``most``: f_j, or a power of two near ``most``."""
        return np.minimum(self.factor, float(2.0 ** np.frexp(most)[1]))

    def change(
        self, weights: Sequence[tuple[float, Sequence[Any]]], offset: tuple[float, Any] | None, most: float = np.inf
    ) -> Change | None:
        """Return the change of variables for w = sum of sign * variables, b = sign * offset; None where none is due.

        ``weights``: list of (sign, variables over the columns). ``offset`` (sign, variable): none where the rows hold
        centred columns. ``most``: what the best weights are not above. Theirs is the size of u where it is smaller than
        the column allows.
        """
        factor = self.sizes(most) if np.isfinite(most) else self.factor
        if self.plain and np.all(factor == 1.0):
            return None
        pairs = [(sign, v, k) for sign, part in weights for k, v in enumerate(part)]
        factors = [(v, float(factor[k])) for _, v, k in pairs]
        if offset is None or not self.centre.any():
            return Change(factors)
        side, b = offset
        centre = [(side * sign * float(self.centre[k]), v) for sign, v, k in pairs if self.centre[k] != 0.0]
        return Change(factors, b, centre)


def rounding(largest: FloatArray, w: FloatArray, b: float) -> float:
    """Return the rounding error of 1 - y (w.x + b): the size of its terms times a few units in the last place."""
    size = 1.0 + abs(b) + float(np.abs(w) @ largest)
    return 4 * float(np.finfo(float).eps) * size if np.isfinite(size) else 0.0


def powers(size: FloatArray) -> FloatArray:
    """Return the powers of two that scale sizes into [1/2, 1); 1 for a size within a factor of 8 of 1, or 0.

    All are within the range of the arithmetic (``checks``), because they are squared; a very small column stays small.
    """
    exponent = np.clip(np.frexp(size)[1], -FARTHEST, FARTHEST)
    fine = (size == 0.0) | ((size <= LEVEL) & (size >= 1 / LEVEL))
    return np.where(fine, 1.0, np.ldexp(1.0, -exponent))
