"""What multipliers prove, in compiled code: ``problem`` for a relaxation and ``proofs.svm`` for SUB, over plain arrays.

It takes no number from the loop that found the multipliers but the multipliers: all is computed from the data, feature
by feature times the labels. On the questions of a tree numpy's calls cost as much as the loop.

Bounds are less what rounding may have added: ``proofs.svm`` derives ``unit`` and the error of v_j, whose sizes a_j =
sum_i alpha_i |z_ij| are summed with v.
"""

from __future__ import annotations

import math

import numpy as np

from fsmodels.models.fsp.oracle.fast import fast

EPSILON = float(np.finfo(float).eps)
HALVINGS = 50  # of the interval that holds the best b


@fast
def _repaired(rows, y, C, alpha, squared, free_b):
    """Return alpha within [0, C] (squared loss: at least 0), with y'alpha = 0 if b is free; its sum, v of all rows.

    And sum alpha^2 / (4 C) with the squared loss, else 0: ``proofs.losses``. And the sizes a_j of v's terms.
    """
    alpha, plus, minus = alpha.copy(), 0.0, 0.0
    for i in range(y.size):
        alpha[i] = max(alpha[i], 0.0) if squared else min(max(alpha[i], 0.0), C[i])
        if y[i] > 0:
            plus += alpha[i]
        else:
            minus += alpha[i]
    share, total, curved = min(plus, minus) / (max(plus, minus) or 1.0) if free_b else 1.0, 0.0, 0.0
    for i in range(y.size):
        if (y[i] > 0) == (plus > minus):
            alpha[i] *= share
        total += alpha[i]
        if squared:
            curved += 0.25 * alpha[i] * alpha[i] / C[i]
    v, sizes = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    for j in range(v.size):
        row, t, size = rows[j], 0.0, 0.0
        for i in range(y.size):
            t += row[i] * alpha[i]
            size += abs(row[i]) * alpha[i]
        v[j], sizes[j] = t, size
    return alpha, total, curved, v, sizes


@fast
def _unit(samples, terms):
    """Return ``proofs.svm.unit``."""
    return EPSILON * (3 * samples + terms + 20)


@fast
def relaxed(rows, which, where, y, C, cost, matrix, sides, equal, lower, upper, alpha, theta, squared, free_b):
    """Return the bound of ``JointProblem.proven``, alpha as it is used, the reduced costs, and v of all ``rows``."""
    m, R = cost.size, sides.size
    alpha, total, curved, v, sizes = _repaired(rows, y, C, alpha, squared, free_b)
    rounding = _unit(y.size, m + R)
    half, half_size, reduced = np.zeros(m), np.zeros(m), np.empty(m)
    for j in range(which.size):
        at, a = v[which[j]], sizes[which[j]]
        half[where[j]] = 0.5 * at**2
        half_size[where[j]] = 0.5 * at**2 + abs(at) * a + 0.5 * rounding * a**2
    bound, lost = total - curved, total + curved
    for a in range(R):
        side, size, whole = sides[a], abs(sides[a]), sides[a] == round(sides[a])
        t = theta[a] if equal[a] else max(theta[a], 0.0)
        for i in range(m):
            if lower[i] == upper[i]:
                held = matrix[a, i] * lower[i]
                side, size, whole = side - held, size + abs(held), whole and held == round(held)
        bound -= side * t
        lost += abs(side * t) + (0.0 if whole else size * abs(t))
    at_fixed, held_half = 0.0, 0.0
    for i in range(m):
        d, size = cost[i] - half[i], abs(cost[i]) + half_size[i]
        for a in range(R):
            t = theta[a] if equal[a] else max(theta[a], 0.0)
            d, size = d + matrix[a, i] * t, size + abs(matrix[a, i] * t)
        error = rounding * size
        if lower[i] == upper[i]:
            at_fixed += cost[i] * lower[i]
            held_half += half[i] * lower[i]
            lost += (abs(cost[i]) + half_size[i]) * abs(lower[i])
        else:
            at = lower[i] if d > 0 else upper[i]
            bound += d * at - error * abs(at)
        bound -= max(error - abs(d), 0.0) * (upper[i] - lower[i])
        reduced[i] = math.copysign(max(abs(d) - error, 0.0), d)
    return bound + at_fixed - held_half - rounding * lost, alpha, reduced, v


@fast
def supported(rows, which, sigma, y, C, alpha, w, squared, free_b):
    """Return of SUB at sigma > 0 (k,): value at w and its best b, that b, bound, alpha as it is used, v of all rows.

    As ``proofs.svm.SvmProof`` has it.
    """
    alpha, total, curved, v, sizes = _repaired(rows, y, C, alpha, squared, free_b)
    square, errors, rounding, most = 0.0, 0.0, _unit(y.size, which.size), math.inf
    for j in range(which.size):
        square += sigma[j] * v[which[j]] ** 2
        errors += sigma[j] * (abs(v[which[j]]) * sizes[which[j]] + 0.5 * rounding * sizes[which[j]] ** 2)
    for i in range(y.size):
        if alpha[i] > 0 and not squared:
            most = min(most, C[i] / alpha[i])
    t = min(most, total / (square + 2.0 * curved)) if square + curved > 0 else most
    if not math.isfinite(t):
        t = 1.0
    for i in range(y.size):
        alpha[i] = t * alpha[i] if squared else min(t * alpha[i], C[i])
    v *= t
    bound = t * total - t * t * (0.5 * square + curved)
    bound -= rounding * (t * total + t * t * (0.5 * square + curved + errors))
    value, images = 0.0, np.zeros(y.size)
    for j in range(which.size):
        value += 0.5 * w[j] * w[j] / sigma[j]
        row, x = rows[which[j]], w[j]
        for i in range(y.size):
            images[i] += x * row[i]
    b = 0.0
    if free_b:
        b = _best_squared_b(y, C, images) if squared else _best_b(y, C, images)
    for i in range(y.size):
        slack = max(1.0 - images[i] - y[i] * b, 0.0)
        value += C[i] * (slack * slack if squared else slack)
    return value, b, bound, alpha, v


@fast
def _best_b(y, C, images):
    """Return the middle of the best b, by halving: they lie between the kinks where the sums of C pass class +1's."""
    low, high, rank, close = math.inf, -math.inf, 0.0, 0.0
    kinks = np.empty(y.size)
    for i in range(y.size):
        kinks[i] = y[i] * (1.0 - images[i])
        low, high = min(low, kinks[i]), max(high, kinks[i])
        close += 64 * EPSILON * C[i]  # what adding them up in another order may change
        if y[i] > 0:
            rank += C[i]
    last, below = high, 0.0
    high += max(abs(high), abs(low)) * EPSILON + 1e-300  # no kink lies at it, or beyond
    for _ in range(HALVINGS):
        b, below = 0.5 * (low + high), 0.0
        for i in range(y.size):
            if kinks[i] < b:
                below += C[i]
        if below < rank - close:
            low = b
        else:
            high = b
    left, right, below = -math.inf, last, 0.0
    for i in range(y.size):
        if kinks[i] < high:
            left = max(left, kinks[i])
            below += C[i]
        else:
            right = min(right, kinks[i])
    return left if below > rank + close else 0.5 * (left + right)


@fast
def _best_squared_b(y, C, images):
    """Return the best b with the squared loss: the mean kink of those with a slack there, by Newton within brackets."""
    low, high = -math.inf, math.inf  # the kinks of class +1 end, those of class -1 begin
    first, last = math.inf, -math.inf
    for i in range(y.size):
        kink = y[i] * (1.0 - images[i])
        first, last = min(first, kink), max(last, kink)
        if y[i] > 0:
            low = max(low, kink)
        else:
            high = min(high, kink)
    if low <= high:
        return 0.5 * (low + high)
    low, high, b = first, last, 0.5 * (first + last)
    for _ in range(HALVINGS):
        slope, curvature = 0.0, 0.0
        for i in range(y.size):
            slack = 1.0 - images[i] - y[i] * b
            if slack > 0:
                slope -= C[i] * y[i] * slack
                curvature += C[i]
        if slope > 0:
            high = b
        else:
            low = b
        to = b - slope / curvature if curvature > 0 else 0.5 * (low + high)
        if abs(to - b) <= 4 * EPSILON * (abs(b) + 1.0):
            return to
        b = to if low < to < high else 0.5 * (low + high)
    return b
