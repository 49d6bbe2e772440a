"""Centred columns and their second moments by class, the data of GMEB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmodels.datasets.checks import checked_data, require_both_classes
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, DataWarning
from fsmodels.models.shares import slack_weights
from fsmodels.text import listed
from fsmodels.weights import FloatArray, column_sizes
from solvers.user_warnings import warn

CENTRING = 4 * np.finfo(float).eps  # of a centred value, relative to the column's largest


@dataclass(frozen=True)
class Centred:
    """Data with centred columns, and their second moments by class.

    Attributes
    ----------
    features : tuple of str
    y : ndarray of shape (n,)
    X : ndarray of shape (n, d)
        0 in columns that do not vary.
    s : ndarray of shape (n,)
        Factors of the slacks: 1, or the weights of the samples.
    plus, minus : float
        Numbers of samples of class +1 and -1, with multiplicities.
    mean : ndarray of shape (d,)
        Units of the features.
    v_plus, v_minus : ndarray of shape (d,)
        Mean squares over class +1 and -1, units^2; both 0 where a column does not vary.
    """

    features: tuple[str, ...]
    y: FloatArray
    X: FloatArray
    s: FloatArray
    plus: float
    minus: float
    mean: FloatArray
    v_plus: FloatArray
    v_minus: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """Largest absolute value of each column."""
        return column_sizes(self.X)

    def varying(self) -> list[str]:
        """Return the features that vary."""
        total = self.v_plus + self.v_minus
        return [j for j, v in zip(self.features, total.tolist(), strict=True) if v > 0]

    def even(self, R_plus: float, R_minus: float) -> float:
        """Return the s of Lemma 18, the same for all features and halfway to the bounds."""
        limits = [R / v for R, v in ((R_plus, self.v_plus.sum()), (R_minus, self.v_minus.sum())) if v > 0]
        return float(min(limits)) / 2


def centred(data: Dataset) -> Centred:
    """Centre the columns (step 1 of the algorithm in section 4.3) and compute their second moments by class.

    Means weight each row by its multiplicity; rows of weight 0 are excluded.

    Parameters
    ----------
    data : Dataset of shape (n, d)
        Dense.

    Returns
    -------
    Centred
        Values within rounding of 0 are 0, so that v = 0 marks a column that does not vary.

    Raises
    ------
    DataError
        If a class has no sample, no column varies, or the data are sparse.

    Warns
    -----
    DataWarning
        Names the columns that do not vary.

    Examples
    --------
    >>> columns = centred(Dataset.from_arrays([[1.0], [3.0], [5.0]], [-1, 1, 1]))
    >>> columns.mean, columns.v_plus, columns.v_minus
    (array([3.]), array([2.]), array([4.]))
    """
    data = checked_data(data, weights=True).require_dense("gmeb").counting
    require_both_classes(data)
    g = np.ones(data.n_samples) if data.multiplicity is None else data.multiplicity
    mean = _mean(data.X, g)
    X = data.X - mean
    X[np.abs(X) <= CENTRING * np.abs(data.X).max(axis=0)] = 0.0
    classes = [data.y > 0, data.y < 0]
    v_plus, v_minus = (_mean(X[rows] ** 2, g[rows]) for rows in classes)
    X[:, v_plus + v_minus == 0] = 0.0  # squares that underflow
    plus, minus = (float(g[rows].sum()) for rows in classes)
    columns = Centred(data.features, data.y, X, slack_weights(data), plus, minus, mean, v_plus, v_minus)
    constant = [j for j, v in zip(data.features, (v_plus + v_minus).tolist(), strict=True) if v == 0]
    if len(constant) == len(data.features):
        raise DataError("No column varies: GMEB needs at least one feature with two different values.")
    if constant:
        kept = "it is" if len(constant) == 1 else "they are"
        warn(
            f'Data "{data.name}": constant: {listed(constant)}; {kept} left out, with w and s fixed at 0.',
            DataWarning,
        )
    return columns


def _mean(X: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the means of columns weighted by ``counts``."""
    if (counts == counts[0]).all():
        return np.asarray(X.mean(axis=0))
    return np.asarray(counts @ X / counts.sum())
