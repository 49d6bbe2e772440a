"""Constants of a feature scaling: fitted, applied, composed, and used to bring weights back to original units."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import choice
from fsmodels.errors import DataError
from fsmodels.text import SCALINGS, SPARSE_SCALINGS
from fsmodels.weights import FloatArray

HUGE = 1e100  # from which the squares of a column are not trusted to be finite
BLOCK = 1000  # columns that are copied at a time
WIDE = 10_000  # features; the constants of a million would fill tens of megabytes


@dataclass(frozen=True, eq=False)
class Scale:
    """Constants that turn original values into scaled ones: ``scaled = (original - shift) * factor``.

    Attributes
    ----------
    method : str
        "none", "standard", "unit-ball", "minmax", or several in the order applied ("standard, unit-ball").
    shift : ndarray of shape (n_features,)
        In the units of each feature.
    factor : ndarray of shape (n_features,)
        In 1/units of each feature; never 0.
    chosen : bool
        True if the scaling was requested, "none" included; False for data that were not scaled.
    """

    method: str
    shift: FloatArray
    factor: FloatArray
    chosen: bool = True

    @classmethod
    def none(cls, n_features: int, chosen: bool = False) -> "Scale":
        """Return the scaling that changes nothing."""
        return cls("none", np.zeros(n_features), np.ones(n_features), chosen)

    @classmethod
    def fit(cls, X: Any, method: str, counts: FloatArray | None = None) -> "Scale":
        """Return the constants of a method for the rows of X, dense or CSR; ``counts``: weights of the rows."""
        choice("scale", method, list(SCALINGS))
        n_features = X.shape[1]
        if method == "none":
            return cls.none(n_features, chosen=True)
        if sparse.issparse(X) and method not in SPARSE_SCALINGS:
            raise DataError(
                f'Scaling "{method}" would shift the zeros of these sparse data and fill {X.shape[0]} x {n_features} '
                f"cells: use {' or '.join(SPARSE_SCALINGS)}, or make the data dense first with to_dense().",
                parameter="scale",
            )
        if X.shape[0] == 0:
            raise DataError(
                f'Scaling "{method}" needs samples and there are 0: scale the training part and apply it here.'
            )
        X, counts = counted(X, counts)
        with np.errstate(over="ignore", invalid="ignore"):
            if method == "unit-ball":
                return cls(method, np.zeros(n_features), np.full(n_features, 1.0 / (_largest_norm(X) or 1.0)))
            parts = [_constants(X[:, a : a + BLOCK], method, counts) for a in range(0, max(n_features, 1), BLOCK)]
            shift, factor = (np.concatenate(part) for part in zip(*parts, strict=True))
            return cls(method, shift, factor)

    @property
    def is_none(self) -> bool:
        """Whether the scaling changes nothing."""
        return not self.shift.any() and bool((self.factor == 1.0).all())

    def apply(self, X: Any, features: tuple[str, ...]) -> Any:
        """Scale the rows of X, dense or CSR. Raises DataError: a shift of sparse data, or an overflow."""
        if self.is_none:
            return X
        if sparse.issparse(X) and self.shift.any():
            raise DataError(
                f'Scaling "{self.method}" shifts zeros and these data are sparse: scale by '
                f"{' or '.join(SPARSE_SCALINGS)}, or make the data dense first with to_dense()."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            if sparse.issparse(X):
                scaled = X.copy()
                scaled.data *= self.factor[scaled.indices]
                bad = np.flatnonzero(~np.isfinite(scaled.data))
                values, column = X.data[bad], X.indices[bad]
            else:
                scaled = (X - self.shift) * self.factor
                row, column = np.nonzero(~np.isfinite(scaled))
                values = X[row, column]
        if len(values):
            raise DataError(
                f'Column "{features[column[0]]}" overflows when it is scaled by "{self.method}" '
                f"(value {values[0]:.3g}): give it in other units."
            )
        return scaled

    def then(self, later: "Scale") -> "Scale":
        """Return the composition as one scaling of the original values: this scaling first, then ``later``."""
        if later.method == "none":
            return replace(self, chosen=self.chosen or later.chosen)
        method = later.method if self.method == "none" else f"{self.method}, {later.method}"
        return Scale(method, self.shift + later.shift / self.factor, self.factor * later.factor)

    def after(self, earlier: "Scale") -> "Scale":
        """Return the scaling that turns values scaled by ``earlier`` into values scaled by this one."""
        shift, factor = (self.shift - earlier.shift) * earlier.factor, self.factor / earlier.factor
        return Scale(self.method, shift, factor, self.chosen)

    def take(self, columns: NDArray[np.intp]) -> "Scale":
        """Return the constants of some features."""
        return replace(self, shift=self.shift[columns], factor=self.factor[columns])

    def joined(self, other: "Scale") -> "Scale":
        """Return the constants followed by those of further features."""
        shift, factor = np.append(self.shift, other.shift), np.append(self.factor, other.factor)
        return replace(self, shift=shift, factor=factor)

    def original_weights(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return (w, b) on original values for (w, b) on scaled values."""
        if w.shape != self.factor.shape:
            raise DataError(f"w has shape {w.shape}: give one weight for each of the {len(self.factor)} features.")
        original = w * self.factor
        return original, float(b - original @ self.shift)

    def as_dict(self, features: tuple[str, ...], used: Container[str] = ()) -> dict[str, Any]:
        """Return the constants as numbers by feature, for the JSON file; of wide data only those of ``used``."""
        constants: Mapping[str, FloatArray] = {"shift": self.shift, "factor": self.factor}
        wide = len(features) > WIDE
        named = [(k, name) for k, name in enumerate(features) if not wide or name in used]
        return {"method": self.method} | {
            key: {name: float(values[k]) for k, name in named} for key, values in constants.items()
        }


def counted(X: Any, counts: FloatArray | None) -> tuple[Any, FloatArray | None]:
    """Return the rows with a weight above 0, and their weights; None if all are equal."""
    if counts is None or counts.size == 0:
        return X, None
    some = counts > 0
    if not some.all():
        X, counts = X[some], counts[some]
    return X, None if counts.size == 0 or counts.min() == counts.max() else counts


def _constants(X: FloatArray, method: str, counts: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the shift and the factor of each column."""
    # Squares and ranges of huge values overflow, so such columns are multiplied by a power of two, exactly.
    halved = _powers(X)
    shift, scale = _standard(X * halved, counts) if method == "standard" else _range(X * halved)
    constant = (halved != 1.0) & (X[0] == X).all(axis=0)  # rounding of the mean would look like a variance
    return np.where(constant, X[0], shift / halved), np.where(constant, 1.0, halved / scale)


def _standard(X: FloatArray, counts: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations as scikit-learn's StandardScaler: 1 if a column varies by rounding only.

    The import of scikit-learn takes a second, and a selection does not need it otherwise.
    """
    n = float(len(X) if counts is None else counts.sum())

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(values.sum(axis=0) if counts is None else counts @ values)

    mean = total(X) / n
    off = X - mean
    variance = (total(off**2) - total(off) ** 2 / n) / n
    eps = np.finfo(float).eps
    varies = variance > n * eps * variance + (n * mean * eps) ** 2
    return mean, np.where(varies, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def _range(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least values and the ranges, 1 for a constant column."""
    least = X.min(axis=0)
    size = X.max(axis=0) - least
    return least, np.where(size < 10 * np.finfo(float).eps, 1.0, size)


def _largest_norm(X: Any) -> float:
    """Return the largest Euclidean norm of a row; values are divided by the largest one, so no square overflows."""
    values = X.data if sparse.issparse(X) else X
    peak = float(np.abs(values).max(initial=0.0))
    if peak == 0.0:
        return 0.0
    relative = X / peak
    squares = (relative * relative).sum(axis=1)
    return peak * float(np.sqrt(np.max(squares)))


def _powers(X: FloatArray) -> FloatArray:
    """Return powers of two that make the squares of scaled columns finite; 1 for all but huge columns."""
    peak = np.abs(X).max(axis=0)
    return np.where(peak > HUGE, np.exp2(-np.floor(np.log2(np.maximum(peak, 1.0)))), 1.0)
