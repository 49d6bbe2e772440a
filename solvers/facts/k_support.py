r"""Half the squared k-support norm, the regulariser of weights with a budget of columns, in closed form.

Claim
    With D = {d : sum d = B, 0 <= d <= 1}, B a whole number, z the absolute values of w in falling order and S_r = sum
    of z_i over i >= B - r, the least ``1/2 sum_j w_j^2 / d_j`` over D is the least of

    .. math::
        \tfrac12 \Bigl( \textstyle\sum_{i < B - r} z_i^2 + S_r^2 / (r + 1) \Bigr) \quad
        \text{over } r = 0, ..., B - 1 \text{ with } (r + 1) z_{B - r} \le S_r

    (i from 1 on); where at most B weights are not 0, it is ``1/2 w.w``.
Proof
    The Lagrangian of sum d = B gives d_j = min(1, |w_j| / t) for some t >= 0: the B - r - 1 largest have d = 1, and
    the others share the remaining r + 1 in proportion, d_i = (r + 1) z_i / S_r, at the cost S_r^2 / (r + 1). Each r
    with the last d_i <= 1 is a point of D, so no value is too small, and the optimal r is among them. It is the
    largest: with z = z_{B - r}, the value falls by (r z - S_{r-1})^2 / (r (r + 1)) from r - 1 to r, and the condition
    for r implies that for r - 1, as S_{r-1} = S_r - z. (A comparison of values determines r to half of the digits.)
Conjugate
    max over w of ``c.w - Omega(w)`` = max over D of ``1/2 sum_j d_j c_j^2``, half the sum of the B largest c_j^2.
Source
    Argyriou, Foygel, Srebro 2012, "Sparse prediction with the k-support norm", proposition 2.1; Mao, Tsang 2013, (4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TIE = 1e-12  # relative rounding error of the sum on the right


def half_norm(w: FloatArray, budget: int) -> tuple[float, FloatArray]:
    """Return the least ``1/2 sum_j w_j^2 / d_j`` over D, and its d: 0 where w is 0, so that sum d may be less than B.

    ``w``: ndarray of shape (p,). ``budget``: B, at least 1; it may exceed p.

    >>> half_norm(np.array([3.0, -1.0, 1.0]), 2)
    (6.5, array([1. , 0.5, 0.5]))
    >>> half_norm(np.array([3.0, -1.0, 1.0]), 1)[0]  # half the squared 1-norm
    12.5
    """
    size = np.abs(w)
    d = np.zeros_like(size)
    if np.count_nonzero(size) <= budget:
        d[size > 0] = 1.0
        return 0.5 * float(size @ size), d
    order = np.argsort(-size, kind="stable")
    z = size[order]
    r = np.arange(budget)
    tail = z[budget:].sum() + np.cumsum(z[:budget][::-1])  # S_r
    head = np.concatenate([[0.0], np.cumsum(z[:budget] ** 2)])[budget - 1 - r]
    inside = (r + 1) * z[budget - 1 - r] <= tail * (1 + TIE)
    best = int(np.count_nonzero(inside)) - 1
    d[order] = np.minimum(1.0, (best + 1) * z / tail[best])
    d[order[: budget - 1 - best]] = 1.0
    return 0.5 * float(head[best] + tail[best] ** 2 / (best + 1)), d


def norm_at(w: FloatArray, d: FloatArray) -> float:
    """Return ``1/2 sum_j w_j^2 / d_j``; infinite if a weight has no share."""
    used = w != 0
    if np.any(d[used] <= 0.0):
        return float("inf")
    return 0.5 * float((w[used] ** 2 / d[used]).sum())


def largest(c: FloatArray, budget: int) -> NDArray[np.intp]:
    """Return the positions of the B largest ``|c_j|`` in ascending order; ties are broken deterministically."""
    if budget >= len(c):
        return np.arange(len(c))
    return np.sort(np.argpartition(-np.abs(c), budget - 1)[:budget])


def vertices(d: FloatArray, budget: int, least: float = 1e-7) -> tuple[list[NDArray[np.intp]], FloatArray]:
    """Return sets of B positions, and shares, such that d in D is the weighted mean of the 0/1 vectors of the sets.

    Laid end to end, intervals of lengths d_j fill [0, B]. For each u in [0, 1) the points u, u + 1, ... are in B of
    them. The sets change when a point passes an end, at most as many times as there are fractions. If the sum of d is
    below B, d is first increased. Shares below ``least`` are left out.

    >>> sets, shares = vertices(np.array([1.0, 0.75, 0.25]), 2)
    >>> [t.tolist() for t in sets], shares
    ([[0, 1], [0, 2]], array([0.75, 0.25]))
    """
    d = np.clip(np.asarray(d, dtype=float), 0.0, 1.0)
    budget = min(budget, len(d))
    order = np.argsort(-d, kind="stable")
    full = d[order] * min(1.0, budget / max(d.sum(), 1e-300))
    room = np.cumsum(1.0 - full)
    full += np.diff(np.minimum(room, budget - full.sum()), prepend=0.0)
    ends = np.cumsum(full)
    ends[-1] = budget
    steps = np.unique(np.concatenate([[0.0], ends % 1.0, [1.0]]))
    found: dict[tuple[int, ...], float] = {}
    for low, high in zip(steps[:-1].tolist(), steps[1:].tolist(), strict=True):
        if high - low >= least:
            places = np.searchsorted(ends, 0.5 * (low + high) + np.arange(budget), side="right")
            key = tuple(sorted(order[places].tolist()))
            found[key] = found.get(key, 0.0) + high - low
    shares = np.array(list(found.values()))
    return [np.array(key, dtype=np.intp) for key in found], shares / shares.sum()


def half_conjugate(c: FloatArray, budget: int) -> float:
    """Return half the sum of the B largest c_j^2.

    >>> half_conjugate(np.array([1.0, -2.0, 0.5]), 2)
    2.5
    """
    return 0.5 * float((c[largest(c, budget)] ** 2).sum())
