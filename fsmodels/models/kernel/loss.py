"""The smoothed hinge V (8) of the kernel family, and its two derivatives."""

from __future__ import annotations

import numpy as np

from fsmodels.models.kernel.kernels import FloatArray


def hinge(m: FloatArray, eps: float) -> FloatArray:
    """Return the smoothed hinge V (8) of margins; with eps = 0 the hinge.

    >>> hinge(np.array([-1.0, 0.5, 2.0]), 0.5)
    array([1.5  , 0.125, 0.   ])
    """
    short = np.maximum(0.0, 1.0 - m)
    if eps == 0:
        return short
    bent = np.minimum(short, 2.0 * eps)
    return np.asarray(short - bent + bent**2 / (4.0 * eps))


def hinge_slope(m: FloatArray, eps: float) -> FloatArray:
    """Return V', for eps > 0."""
    return np.asarray(-np.clip((1.0 - m) / (2.0 * eps), 0.0, 1.0))


def hinge_curvature(m: FloatArray, eps: float) -> FloatArray:
    """Return V'', which jumps at 1 - 2 eps and 1, for eps > 0."""
    return ((m < 1.0) & (m >= 1.0 - 2.0 * eps)) / (2.0 * eps)
