r"""What a cut proves over many boxes at once, without a solver.

    min { c + d.x : A x <= b, lo <= x <= up }  >=  c - b.theta + sum_j min { (d + A'theta)_j x_j : lo_j <= x_j <= up_j }

for every theta >= 0, by weak duality. With one row the best theta is a breakpoint of a concave function of one
variable, found by sorting -d_j / a_j; with several, each row's is found in turn, the others held, a few times over.
Beforehand integer variables are narrowed to what the rows leave them.
"""

from __future__ import annotations

import numpy as np

from solvers.model.linear import LinearRows

EPSILON = float(np.finfo(float).eps)
ROW_SLACK = 2e-9  # relative, twice what a point of the master may miss a row by
SWEEPS = 4  # over several rows
MOST = 1_000_000  # numbers in an array at once
Rows = tuple[np.ndarray, np.ndarray]


def one_sided(linear: LinearRows) -> Rows:
    """Return the rows as (A, b) with A x <= b, equations as two."""
    matrix = linear.matrix.toarray()
    above, below = np.isfinite(linear.upper), np.isfinite(linear.lower)
    return np.vstack([matrix[above], -matrix[below]]), np.append(linear.upper[above], -linear.lower[below])


def narrowed(lower: np.ndarray, upper: np.ndarray, rows: Rows, integer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (K, m) that hold the same integral points of the rows; where there are none, lower > upper."""
    lower, upper = lower.copy(), upper.copy()
    for _ in range(2):
        for a, b in zip(*rows, strict=True):
            used = np.flatnonzero(a)
            lo, up, size = lower[:, used], upper[:, used], np.abs(a[used])
            least = np.where(a[used] > 0, lo, -up)
            far = size * np.maximum(np.abs(lo), np.abs(up))
            slack = b - (size * least).sum(axis=1)
            miss = ROW_SLACK * (1.0 + np.where(np.isfinite(far), far, 0.0).sum(axis=1))
            room = np.floor((slack + miss)[:, None] / size + ROW_SLACK)
            fixable = integer[used] & np.isfinite(room) & np.isfinite(least) & (slack >= -miss)[:, None]
            room = np.where(fixable, room, 0.0)
            lower[:, used] = np.where(fixable & (a[used] < 0), np.maximum(lo, up - room), lo)
            upper[:, used] = np.where(fixable & (a[used] > 0), np.minimum(up, lo + room), up)
            empty = slack < -miss
            if empty.any():
                lower[empty], upper[empty] = 1.0, 0.0
    return lower, upper


def least(
    constants: np.ndarray, slopes: np.ndarray, lower: np.ndarray, upper: np.ndarray, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """Return a lower bound of ``constants + slopes.x`` over each box and the rows, and about where it is attained.

    ``constants`` (K,), ``slopes``, ``lower``, ``upper`` (K, m). The bound of an empty box is inf, that of one without
    an end -inf; it is less what rounding may have added.
    """
    bounds, points = np.full(len(constants), -np.inf), np.zeros_like(slopes)
    step = max(1, MOST // max(1, slopes.shape[1]))
    for start in range(0, len(constants), step):
        part = slice(start, start + step)
        bounds[part], points[part] = _least(constants[part], slopes[part], lower[part], upper[part], rows)
    return bounds, points


def _least(
    constants: np.ndarray, slopes: np.ndarray, lower: np.ndarray, upper: np.ndarray, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    empty, endless = (lower > upper).any(axis=1), ~(np.isfinite(lower) & np.isfinite(upper)).all(axis=1)
    skip = (empty | endless)[:, None]
    lower, upper = np.where(skip, 0.0, lower), np.where(skip, 0.0, upper)
    matrix, sides = rows
    theta, d = np.zeros((len(constants), len(sides))), slopes.copy()
    for _ in range(SWEEPS if len(sides) > 1 else 1):
        for r, (a, b) in enumerate(zip(matrix, sides, strict=True)):
            d -= theta[:, r, None] * a
            theta[:, r] = _best_multiplier(d, a, b, lower, upper)
            d += theta[:, r, None] * a
    far = np.maximum(np.abs(lower), np.abs(upper))
    size = np.abs(constants) + theta @ np.abs(sides) + ((np.abs(slopes) + theta @ np.abs(matrix)) * far).sum(axis=1)
    points = np.where(d > 0, lower, upper)
    bounds = constants - theta @ sides + (d * points).sum(axis=1) - EPSILON * (10 + len(sides) + d.shape[1]) * size
    return np.where(empty, np.inf, np.where(endless, -np.inf, bounds)), points


def _best_multiplier(d: np.ndarray, a: np.ndarray, b: float, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the theta >= 0 (K,) that maximises -b theta + sum_j min over the box of (d + theta a)_j x_j."""
    theta, used = np.zeros(len(d)), np.flatnonzero(a)
    d, lo, up, a = d[:, used], lower[:, used], upper[:, used], a[used]
    down = np.where(d == 0, a > 0, d > 0)
    excess = (a * np.where(down, lo, up)).sum(axis=1) - b  # by which the row is violated at theta = 0
    where = np.flatnonzero(excess > 0)
    if len(where):
        d, excess = d[where], excess[where]
        at = np.where(d * a < 0, -d / a, np.inf)  # the theta at which x_j goes to its other bound
        order = np.argsort(at, axis=1)
        gain = np.take_along_axis((up - lo)[where] * np.abs(a), order, axis=1)
        at = np.take_along_axis(at, order, axis=1)
        reached = (np.cumsum(np.where(np.isfinite(at), gain, 0.0), axis=1) >= excess[:, None]) & np.isfinite(at)
        best = np.take_along_axis(at, reached.argmax(axis=1)[:, None], axis=1)[:, 0]
        most = np.where(np.isfinite(at), at, 0.0).max(axis=1, initial=0.0)
        theta[where] = np.where(reached.any(axis=1), best, most)
    return theta
