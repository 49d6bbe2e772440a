"""Features that a classifier uses, by its weights, independent of the units of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

USED = 1e-6  # relative to the largest term, or to the margin 1; solvers return smaller values for a weight of 0

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]


def column_sizes(X: Any) -> FloatArray:
    """Return the largest absolute value of each column, dense or CSR."""
    ends = [X.max(axis=0), X.min(axis=0)]  # two passes, and no copy of X
    high, low = (np.asarray(end.todense() if sparse.issparse(end) else end, dtype=float).ravel() for end in ends)
    return np.asarray(np.maximum(high, -low))


def used(w: FloatArray, sizes: FloatArray) -> Mask:
    """Return True for each column whose largest term ``|w_j| max_i |x_ij|`` is above 1e-6 times the largest, and 1e-6.

    >>> used(np.array([1.0, 1e-4, 1e-9]), np.array([1.0, 1e4, 1.0])).tolist()
    [True, True, False]
    """
    effects = np.abs(w) * sizes
    return np.asarray(effects > USED * effects.max(initial=1.0))
