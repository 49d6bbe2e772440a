"""A point with integral values near the optimum of a relaxation, by rounding in rounds, with a repair of each round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

STEP = 0.1  # by which the distance grows, at which a round fixes variables at the nearest integer
ROUNDS = 50  # at most
TINY = 1e-9  # distance from an integer that counts as 0


def dive(
    point: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    integer: np.ndarray,
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray | None],
) -> np.ndarray | None:
    """Return a point of a relaxation with integral values; None if none is found.

    Each round fixes the variables that are near an integer, and solves the relaxation again. If it is infeasible, only
    the fractional variable that is nearest to an integer is fixed, at this integer or else on its other side.

    - ``point``, ``lower``, ``upper``, ``integer`` (n,): optimum and bounds of the relaxation, mask of integers.
    - ``solve``: (lower, upper) -> optimum within bounds, None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> def solve(lower, upper):  # max x + y over 2 x + 2 y <= 3
    ...     x = min(upper[0], 1.5 - lower[1])
    ...     y = min(upper[1], 1.5 - x)
    ...     return None if x < lower[0] or y < lower[1] else np.array([x, y])
    >>> dive(np.array([1.0, 0.5]), np.zeros(2), np.ones(2), np.ones(2, dtype=bool), solve).tolist()
    [1.0, 0.0]
    """
    lower = np.where(integer, np.ceil(lower - TINY) + 0.0, lower)  # no -0.0
    upper = np.where(integer, np.floor(upper + TINY), upper)
    if np.any(lower > upper):
        return None
    for k in range(1, ROUNDS + 1):
        free = integer & (lower < upper)
        if not free.any():
            return np.where(integer, np.round(point), point)
        nearest = np.clip(np.round(point), lower, upper)
        off = np.where(free, np.abs(point - nearest), np.inf)
        trials = [(off <= max(STEP * k, off.min()), nearest)]
        fractional = np.where(off > TINY, off, np.inf)
        if np.isfinite(fractional.min()):
            one = np.arange(len(off)) == np.argmin(fractional)
            other = np.clip(nearest + np.where(point > nearest, 1.0, -1.0), lower, upper)
            trials += [(one, nearest), (one, other)]
        for where, values in trials:
            low, up = np.where(where, values, lower), np.where(where, values, upper)
            if (found := solve(low, up)) is not None:
                break
        else:
            return None
        point, lower, upper = found, low, up
    return None
