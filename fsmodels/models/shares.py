"""Factors of the slacks of samples: in a sum, and in the means of the two classes.

With s_i = g_i c(y_i) (``fsmodels.datasets.weighting``) a sum of slacks is sum_i s_i xi_i, or sum_i s_i xi_i^2. The
upper bounds of its multipliers are C s_i (``proofs.svm`` has one C_i for each sample), and in the quantities that
follow (the cost of w = 0, W) the sum of s over a class replaces the size of the class.

The mean over a class counts each row g_i times and has the cost of an error in this class as a factor:

    c(y) sum_{i: y_i = y} g_i xi_i / sum_{i: y_i = y} g_i.

The sum of two such means gives both classes equal weights for any class sizes. This is the meaning of "balanced", with
c = 1.

A sample of weight 0 is in no sum and has no row; ``Dataset.counting`` does not contain it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset

__all__ = ["class_shares", "mean_of", "slack_weights"]

Array = np.ndarray[Any, np.dtype[np.float64]]


def slack_weights(data: Dataset) -> Array:
    """Return s (l,), the factors of the slacks in a sum; all 1 if the data have no weights."""
    return np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight


def mean_of(data: Dataset, rows: Any, values: Any) -> Any:
    """Return the mean of values of shape (l, ...), dense or CSR, over some rows with their multiplicities."""
    if data.multiplicity is None:
        return values[rows].mean(axis=0)
    g = data.multiplicity[rows]
    return g @ values[rows] / g.sum()


def class_shares(data: Dataset) -> Array:
    """Return the factor of each slack in the sum of the means of both classes, (l,)."""
    y, positive = data.y, data.y > 0
    g = np.ones(len(y)) if data.multiplicity is None else data.multiplicity
    by_class = None if data.weighting is None else data.weighting.by_class
    minus, plus = by_class if isinstance(by_class, tuple) else (1.0, 1.0)
    plus_sum, minus_sum = (float(g[rows].sum()) for rows in (positive, ~positive))
    return g * np.where(positive, plus / plus_sum, minus / minus_sum)
