"""Rows in units that solvers tell from rounding, by powers of two, which change no digit.

HiGHS refuses a row with a coefficient above 1e15, and drops coefficients up to 1e-9; rows hold to about 1e-7 whatever
their size. A row whose coefficients leave SMALL..LARGE is divided by its least coefficient that counts. One that spans
more than SPAN then cannot be held by a solver that works with doubles, and is refused.
"""

from __future__ import annotations

import numpy as np

SMALL, LARGE = 1e-4, 1e7
SPAN = 1e12
NOISE = 1e-12  # of the least side: what a sum of floats leaves where it should have left 0


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a positive number."""
    return float(2.0 ** np.clip(np.round(np.log2(size)), -1000, 1000))


def row_unit(coefficients: np.ndarray, sides: np.ndarray, most: np.ndarray) -> tuple[float, float] | None:
    """Return what to divide a row by, and up to which size a coefficient is noise; None for a row that spans too much.

    ``coefficients``: array (n,). ``sides``: its finite sides. ``most`` (n,): the largest absolute value that each
    variable can take; inf where there is none.

    >>> row_unit(np.array([3.0, 1.0]), np.array([2.0]), np.ones(2))
    (1.0, 0.0)
    >>> row_unit(np.array([3.0, 1e15]), np.array([2.0]), np.ones(2)) is None
    True
    >>> row_unit(np.array([3e15, 1e15]), np.array([2e15]), np.ones(2))
    (1125899906842624.0, 0.0)
    """
    size = np.abs(coefficients)
    used = size > 0
    if not used.any() or (size[used].min() >= SMALL and size.max() <= LARGE):
        return 1.0, 0.0
    least = np.abs(sides[sides != 0]).min(initial=np.inf)
    room = NOISE * least if np.isfinite(least) else 1e-15 * float(size.max())
    noise = used & (size * np.where(used, most, 0.0) <= room)
    counts = size[used & ~noise]
    if not len(counts):
        return power_of_two(float(size.max())), 0.0
    if counts.max() > SPAN * counts.min():
        return None
    return power_of_two(float(counts.min())), float(size[noise].max(initial=0.0))
