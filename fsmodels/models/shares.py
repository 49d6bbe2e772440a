"""By what the slacks of samples are multiplied: in a sum, and in the means of the two classes.

With s_i = g_i c(y_i) (``fsmodels.datasets.weighting``) a sum of slacks is sum_i s_i xi_i, or sum_i s_i xi_i^2. Its
multipliers then end at C s_i (``proofs.svm`` has one C_i for each sample throughout), and wherever a size of a class
stands in what follows from that (what w = 0 costs, W), its sum of s stands there.

A mean over a class is that of its rows as often as they count, times what a mistake costs there:

    c(y) sum_{i: y_i = y} g_i xi_i / sum_{i: y_i = y} g_i.

Two such means, added, weigh both classes the same whatever their sizes, which is what "balanced" asks for: c is 1 then.

A sample of weight 0 is in no sum and has no row: ``Dataset.counting`` is without it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset

__all__ = ["class_shares", "mean_of", "slack_weights"]

Array = np.ndarray[Any, np.dtype[np.float64]]


def slack_weights(data: Dataset) -> Array:
    """Return s (l,), by which the slacks of a sum are multiplied: 1 for all where the data have no weights."""
    return np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight


def mean_of(data: Dataset, rows: Any, values: Any) -> Any:
    """Return the mean over some rows of values of shape (l, ...), dense or CSR, rows as often as they count."""
    if data.multiplicity is None:
        return values[rows].mean(axis=0)
    g = data.multiplicity[rows]
    return g @ values[rows] / g.sum()


def class_shares(data: Dataset) -> Array:
    """Return what each sample's slack counts in the sum of the means of both classes, (l,)."""
    y, positive = data.y, data.y > 0
    g = np.ones(len(y)) if data.multiplicity is None else data.multiplicity
    by_class = None if data.weighting is None else data.weighting.by_class
    minus, plus = by_class if isinstance(by_class, tuple) else (1.0, 1.0)
    plus_sum, minus_sum = (float(g[rows].sum()) for rows in (positive, ~positive))
    return g * np.where(positive, plus / plus_sum, minus / minus_sum)
