"""A node's joint relaxation as one compiled loop: the equations of ``oracle.relaxation``, over plain arrays.

``node`` prepares the problem and a start, and lets ``advance`` move the iterates until they are good enough or an end
is reached. Nothing it says is believed: what is proven is computed from the data by ``problem``, and ``iterates`` takes
over where this breaks down. Symbols are those of ``relaxation``; Z = diag(y) X is transposed here, so that its rows are
features. All of it stands in one file: numba looks for changes of a cached function in its own file only.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numba import njit

STARTS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # share of the way from lower to upper
PATIENCE, TO_BOUNDARY = 12, 0.995
ROW_TOLERANCE = 1e-7
TINY = 1e-300

HALVINGS = 40  # for the offset of a start

GOING, DONE, STUCK = 0, 1, 2  # how a call ended
SUMS = {"reassoc", "contract", "arcp", "nsz"}  # in any order; nan and inf stay what they are
FAST = {"cache": True, "fastmath": SUMS, "error_model": "numpy"}


def ready():
    """Tell whether the loop runs at once: compiled in this process, or kept on disk since this file was written."""
    if advance.signatures:
        return True
    kept = Path(advance.stats.cache_path).glob("compiled.advance-*.nbi")
    written = Path(__file__).stat().st_mtime
    return any(index.stat().st_mtime >= written for index in kept)


@njit(**FAST)
def _factor(N):
    """Cholesky in place, lower; False where N is not positive definite."""
    n = N.shape[0]
    for j in range(n):
        row = N[j]
        d = row[j]
        for k in range(j):
            d -= row[k] * row[k]
        if not d > 0.0:
            return False
        d = math.sqrt(d)
        row[j] = d
        for i in range(j + 1, n):
            below = N[i]
            s = below[j]
            for k in range(j):
                s -= below[k] * row[k]
            below[j] = s / d
    return True


@njit(**FAST)
def _solve(N, right):
    """Solve with the factor, in place."""
    n = N.shape[0]
    for i in range(n):
        s = right[i]
        for k in range(i):
            s -= N[i, k] * right[k]
        right[i] = s / N[i, i]
    for i in range(n - 1, -1, -1):
        s = right[i] / N[i, i]
        right[i] = s
        for k in range(i):
            right[k] -= s * N[i, k]


@njit(**FAST)
def _small(T, right):
    """Solve a small dense system in place by elimination; False where it is singular."""
    n = T.shape[0]
    for j in range(n):
        p = j
        for i in range(j + 1, n):
            if abs(T[i, j]) > abs(T[p, j]):
                p = i
        if not abs(T[p, j]) > 0.0:
            return False
        if p != j:
            for k in range(n):
                T[j, k], T[p, k] = T[p, k], T[j, k]
            right[j], right[p] = right[p], right[j]
        for i in range(j + 1, n):
            m = T[i, j] / T[j, j]
            if m != 0.0:
                for k in range(j, n):
                    T[i, k] -= m * T[j, k]
                right[i] -= m * right[j]
    for i in range(n - 1, -1, -1):
        s = right[i]
        for k in range(i + 1, n):
            s -= T[i, k] * right[k]
        right[i] = s / T[i, i]
    return True


@njit(**FAST)
def _into(Z, a, out):
    """Out = Z a, of shape (k,)."""
    for j in range(Z.shape[0]):
        s = 0.0
        row = Z[j]
        for i in range(a.size):
            s += row[i] * a[i]
        out[j] = s


@njit(**FAST)
def _back(Z, w, out):
    """Out = Z' w, of shape (l,)."""
    for i in range(out.size):
        out[i] = 0.0
    for j in range(Z.shape[0]):
        x = w[j]
        if x != 0.0:
            row = Z[j]
            for i in range(out.size):
                out[i] += x * row[i]


@njit(**FAST)
def _system(Z, y, root, inverse, N, r, c, right, image):
    """Solve D da + Z' dw + y db = r, Z da - E^-1 dw = -E^-1 c, y'da = c_k, with the factor in N.

    ``r`` becomes da, ``c`` (k + 1,) becomes (dw, db); ``right`` and ``image`` are scratch.
    """
    k, l = Z.shape
    s_y = 0.0
    for i in range(l):
        r[i] *= inverse[i]
        s_y += y[i] * r[i]
    _into(Z, r, right)
    for j in range(k):
        right[j] = root[j] * right[j] + c[j] / root[j]
    right[k] = s_y - c[k]
    _solve(N, right)
    for j in range(k):
        c[j] = root[j] * right[j]
    c[k] = right[k]
    _back(Z, c, image)
    for i in range(l):
        r[i] -= inverse[i] * (image[i] + y[i] * c[k])


@njit(**FAST)
def advance(
    Z, y, A, b, equal, cost, low, up, of, sigmas, C, fixed_v, fixed_y, fixed_sum, at_fixed, held,
    alpha, beta, s, xi, x, r, zeta, theta, kappa, sigma, w, v_all, short, numbers, accuracy, enough, most,
):  # fmt: skip
    """Take up to ``most`` steps; return how it ended.

    ``held`` (k,): the lower bound of columns whose sigma is fixed, 0 for the others. ``numbers``: offset, gap, value,
    bound, smallest gap, patience, iterations; the first is the iterate's, the others are told.
    """
    k, l = Z.shape
    f, R = x.size, b.size
    offset, smallest, patience = numbers[0], numbers[4], numbers[5]
    v, h, E, root, inverse = np.zeros(f), np.empty(f), np.empty(k), np.empty(k), np.empty(l)
    scaled, N, right = np.empty((k + 1, l)), np.empty((k + 1, k + 1)), np.empty(k + 1)
    P, T, M, ratio = np.zeros((R, k)), np.empty((R, R)), np.empty((R, R)), np.zeros(R)
    resp_a, resp_w = np.empty((R, l)), np.empty((R, k + 1))
    above, below, g, at = np.empty(f), np.empty(f), np.empty(f), np.empty(f)
    miss_margins, miss_w, miss_x, miss_rows = np.empty(l), np.empty(k), np.empty(f), np.empty(R)
    da, ds, dxi, dw, c = np.empty(l), np.empty(l), np.empty(l), np.empty(k + 1), np.empty(k)
    dx, dr, dzeta, dtheta, dkappa = np.empty(f), np.empty(f), np.empty(f), np.zeros(R), np.zeros(R)
    t0, t1, t2, t3, t4 = np.empty(l), np.empty(l), np.empty(f), np.empty(f), np.zeros(R)
    image = np.empty(l)
    count = 2 * l + 2 * f
    for a in range(R):
        if not equal[a]:
            count += 1
    for step in range(most + 1):
        # the gap of the iterate's own numbers
        _into(Z, alpha, v_all)
        norm = 0.0
        for j in range(k):
            v_all[j] += fixed_v[j]
            if sigma[j] > 0:
                norm += w[j] * w[j] / sigma[j]
        _back(Z, w, image)
        loss, summed, balance = 0.0, 0.0, fixed_y
        for i in range(l):
            m = 1.0 - image[i] - y[i] * offset
            short[i] = m
            if m > 0.0:
                loss += C[i] * m
            summed += alpha[i]
            balance += y[i] * alpha[i]
        value = at_fixed + 0.5 * norm + loss + fixed_sum - fixed_y * offset
        for j in range(k):
            value -= fixed_v[j] * w[j]
        bound = fixed_sum + summed + at_fixed
        for i in range(f):
            value += cost[i] * x[i]
        miss = 0.0
        for a in range(R):
            left = -b[a]
            for i in range(f):
                left += A[a, i] * x[i]
            bound -= b[a] * theta[a]
            size = max(1.0, abs(b[a]))
            miss = max(miss, (abs(left) if equal[a] else left) / size)
            miss_rows[a] = -left - kappa[a]
        for i in range(f):
            v[i] = 0.0
        for q in range(of.size):
            v[sigmas[q]] = v_all[of[q]]
        for j in range(k):
            bound -= 0.5 * held[j] * v_all[j] * v_all[j]
        for i in range(f):
            d = cost[i] - 0.5 * v[i] * v[i]
            for a in range(R):
                d += A[a, i] * theta[a]
            bound += d * (low[i] if d > 0 else up[i])
            miss_x[i] = r[i] - zeta[i] - d
        scale = max(abs(value), TINY)
        gap = (value - bound) / scale
        if miss > ROW_TOLERANCE:
            gap = max(gap, 1.0)
        numbers[0], numbers[1], numbers[2], numbers[3] = offset, gap, value, bound
        if not math.isfinite(gap):
            return STUCK
        patience = PATIENCE if gap < 0.9 * smallest else patience - 1
        smallest = min(gap, smallest)
        numbers[4], numbers[5] = smallest, patience
        if bound >= enough or gap <= accuracy:
            return DONE
        if patience <= 0:
            return STUCK
        if step == most:
            return GOING
        # the system
        for i in range(f):
            above[i], below[i] = x[i] - low[i], up[i] - x[i]
            h[i] = 1.0 / (r[i] / above[i] + zeta[i] / below[i])
        for j in range(k):
            E[j] = sigma[j]
            miss_w[j] = sigma[j] * v_all[j] - w[j]
        for q in range(of.size):
            i = sigmas[q]
            E[of[q]] += h[i] * v[i] * v[i]
        for j in range(k):
            root[j] = math.sqrt(E[j])
        for i in range(l):
            inverse[i] = 1.0 / (s[i] / alpha[i] + xi[i] / beta[i])
            miss_margins[i] = short[i] - xi[i] + s[i]
            image[i] = math.sqrt(inverse[i])
        for j in range(k):
            z, to, e = Z[j], scaled[j], root[j]
            for i in range(l):
                to[i] = z[i] * image[i] * e
        for i in range(l):
            scaled[k, i] = y[i] * image[i]
        np.dot(scaled, scaled.T, N)
        for j in range(k):
            N[j, j] += 1.0
        if not _factor(N):
            return STUCK
        for a in range(R):
            for q in range(of.size):
                i, j = sigmas[q], of[q]
                P[a, j] = h[i] * v[i] / E[j] * A[a, i]
        for a in range(R):
            for i in range(l):
                resp_a[a, i] = 0.0
            for j in range(k):
                resp_w[a, j] = -E[j] * P[a, j]
            resp_w[a, k] = 0.0
            _system(Z, y, root, inverse, N, resp_a[a], resp_w[a], right, image)
            ratio[a] = 0.0 if equal[a] else kappa[a] / theta[a]
        for i in range(f):
            dx[i] = h[i]
        for q in range(of.size):
            dx[sigmas[q]] *= sigma[of[q]] / E[of[q]]
        for a in range(R):
            for o in range(R):
                t = ratio[a] if a == o else 0.0
                for i in range(f):
                    t += A[a, i] * dx[i] * A[o, i]
                for j in range(k):
                    t -= P[a, j] * resp_w[o, j]
                T[a, o] = t
        mu = 0.0
        for i in range(l):
            t0[i], t1[i] = -alpha[i] * s[i], -beta[i] * xi[i]
            mu -= t0[i] + t1[i]
        for i in range(f):
            t2[i], t3[i] = -above[i] * r[i], -below[i] * zeta[i]
            mu -= t2[i] + t3[i]
        for a in range(R):
            t4[a] = -theta[a] * kappa[a]
            mu -= t4[a]
        mu /= count
        t, ahead0, ahead1, ahead2 = 0.0, 0.0, 0.0, 0.0  # of the products: constant, linear and square part of the step
        for corrector in range(2):
            # the direction that moves each product by (t0, .., t4)
            for i in range(f):
                g[i] = t2[i] / above[i] - t3[i] / below[i] + miss_x[i]
                at[i] = 0.0
            for i in range(l):
                da[i] = miss_margins[i] + t0[i] / alpha[i] - t1[i] / beta[i]
            for j in range(k):
                c[j] = miss_w[j]
            for q in range(of.size):
                i = sigmas[q]
                c[of[q]] += v[i] * h[i] * g[i]
            for j in range(k):
                dw[j] = c[j]
            dw[k] = -balance
            _system(Z, y, root, inverse, N, da, dw, right, image)
            for a in range(R):
                side = -miss_rows[a]
                if not equal[a]:
                    side += t4[a] / theta[a]
                for i in range(f):
                    side += A[a, i] * h[i] * g[i]
                for j in range(k):
                    side -= P[a, j] * (c[j] - dw[j])
                dtheta[a] = side
                for o in range(R):
                    M[a, o] = T[a, o]
            if not _small(M, dtheta):
                return STUCK
            for a in range(R):
                t = dtheta[a]
                for i in range(l):
                    da[i] += t * resp_a[a, i]
                for j in range(k + 1):
                    dw[j] += t * resp_w[a, j]
                for i in range(f):
                    at[i] += A[a, i] * t
                dkappa[a] = 0.0 if equal[a] else t4[a] / theta[a] - ratio[a] * t
            for i in range(f):
                dx[i] = h[i] * (g[i] - at[i])
            for q in range(of.size):
                i, j = sigmas[q], of[q]
                dv = (dw[j] - c[j]) / E[j]
                for a in range(R):
                    dv += P[a, j] * dtheta[a]
                dx[i] += h[i] * v[i] * dv
            shrink = 0.0
            for i in range(l):
                ds[i] = (t0[i] - s[i] * da[i]) / alpha[i]
                dxi[i] = (t1[i] + xi[i] * da[i]) / beta[i]
                shrink = max(shrink, max(max(-da[i] / alpha[i], da[i] / beta[i]), max(-ds[i] / s[i], -dxi[i] / xi[i])))
            for i in range(f):
                dr[i] = (t2[i] - r[i] * dx[i]) / above[i]
                dzeta[i] = (t3[i] + zeta[i] * dx[i]) / below[i]
                shrink = max(shrink, max(-dx[i] / above[i], dx[i] / below[i]))
                shrink = max(shrink, max(-dr[i] / r[i], -dzeta[i] / zeta[i]))
            for a in range(R):
                if not equal[a]:
                    shrink = max(shrink, max(-dtheta[a] / theta[a], -dkappa[a] / kappa[a]))
            if corrector:
                t = min(1.0, TO_BOUNDARY / max(shrink, TINY))
                break
            t = min(1.0, 1.0 / max(shrink, TINY))
            for i in range(l):
                ahead0 += alpha[i] * s[i] + beta[i] * xi[i]
                ahead1 += da[i] * s[i] + alpha[i] * ds[i] - da[i] * xi[i] + beta[i] * dxi[i]
                ahead2 += da[i] * ds[i] - da[i] * dxi[i]
            for i in range(f):
                ahead0 += above[i] * r[i] + below[i] * zeta[i]
                ahead1 += dx[i] * r[i] + above[i] * dr[i] - dx[i] * zeta[i] + below[i] * dzeta[i]
                ahead2 += dx[i] * dr[i] - dx[i] * dzeta[i]
            for a in range(R):
                if not equal[a]:
                    ahead0 += theta[a] * kappa[a]
                    ahead1 += dtheta[a] * kappa[a] + theta[a] * dkappa[a]
                    ahead2 += dtheta[a] * dkappa[a]
            ahead = (ahead0 + t * ahead1 + t * t * ahead2) / (count * mu)
            target = mu * min(1.0, max(ahead, 1e-6)) ** 3
            for i in range(l):
                t0[i] += target - da[i] * ds[i]
                t1[i] += target + da[i] * dxi[i]
            for i in range(f):
                t2[i] += target - dx[i] * dr[i]
                t3[i] += target + dx[i] * dzeta[i]
            for a in range(R):
                t4[a] = 0.0 if equal[a] else t4[a] + target - dtheta[a] * dkappa[a]
        if not math.isfinite(t) or t < 1e-10:
            return STUCK
        for i in range(l):
            alpha[i] += t * da[i]
            beta[i] -= t * da[i]
            s[i] += t * ds[i]
            xi[i] += t * dxi[i]
        for i in range(f):
            x[i] += t * dx[i]
            r[i] += t * dr[i]
            zeta[i] += t * dzeta[i]
        for a in range(R):
            theta[a] += t * dtheta[a]
            kappa[a] += t * dkappa[a]
        for j in range(k):
            w[j] += t * dw[j]
        offset += t * dw[k]
        for q in range(of.size):
            sigma[of[q]] = x[sigmas[q]]
        numbers[6] += 1
    return GOING


@njit(**FAST)
def _offset(scores, y, C):
    """Return nearly the best b for given scores, where the C of the kinks below it add up to that of class +1."""
    low, high, rank = math.inf, -math.inf, 0.0
    for i in range(y.size):
        kink = y[i] - scores[i]
        low, high = min(low, kink), max(high, kink)
        if y[i] > 0:
            rank += C[i]
    for _ in range(HALVINGS):
        b, below = 0.5 * (low + high), 0.0
        for i in range(y.size):
            if y[i] - scores[i] < b:
                below += C[i]
        if below < rank:
            low = b
        else:
            high = b
    return 0.5 * (low + high)


def node(
    all_Z, which, where, all_y, all_C, cost, matrix, sides, equalities, lower, upper, kept, at_bound, guess, start,
    accuracy, enough, most,
):  # fmt: skip
    """Solve the relaxation within bounds; return (end, numbers, alpha, x, w, theta, margins).

    ``all_Z`` (K, l): columns times labels; ``which`` (k,): its rows that take part, at the places ``where`` of x.
    ``all_C`` (l,): prices of slack. ``kept``, ``at_bound``: the samples that stay, and those with alpha = C; ``guess``:
    whether ``start`` (k + 1,), the weights and offset of a neighbour, is where to start. ``numbers``: as in
    ``advance``; the gap is on all samples.
    """
    # Types and layouts other than these would be compiled anew.
    all_Z, all_y, all_C, cost, matrix, sides, lower, upper, start = (
        np.ascontiguousarray(a, dtype=np.float64)
        for a in (all_Z, all_y, all_C, cost, matrix, sides, lower, upper, start)
    )
    which, where, kept, at_bound = (np.ascontiguousarray(a, dtype=np.int64) for a in (which, where, kept, at_bound))
    equalities, guess = np.ascontiguousarray(equalities, dtype=np.bool_), bool(guess)
    # Three compiled functions: numba would optimise the loop a second time inside a caller of its own.
    problem, iterates, numbers, free, stays = _prepared(
        all_Z, which, where, all_y, all_C, cost, matrix, sides, equalities, lower, upper, kept, at_bound, guess, start
    )
    end = advance(*problem, *iterates, numbers, float(accuracy), float(enough), int(most))
    found = _finished(
        all_Z, which, all_y, all_C, sides.size, lower, kept, at_bound, free, stays, problem, iterates, numbers
    )
    return (end, numbers, *found)


@njit(**FAST)
def _prepared(
    all_Z, which, where, all_y, all_C, cost, matrix, sides, equalities, lower, upper, kept, at_bound, guess, start
):
    """Return the problem, the first iterates and the numbers as ``advance`` takes them, what is free and what stays."""
    k, l, m, R0 = which.size, kept.size, cost.size, sides.size
    y, C = np.empty(l), np.empty(l)
    Z = np.empty((k, l))
    biggest = 0.0  # of C
    for i in range(l):
        y[i], C[i] = all_y[kept[i]], all_C[kept[i]]
        biggest = max(biggest, C[i])
    for j in range(k):
        row, to = all_Z[which[j]], Z[j]
        for i in range(l):
            to[i] = row[kept[i]]
    fixed_v, fixed_y, fixed_sum = np.zeros(k), 0.0, 0.0
    for i in range(at_bound.size):
        fixed_y += all_C[at_bound[i]] * all_y[at_bound[i]]
        fixed_sum += all_C[at_bound[i]]
    for j in range(k):
        row, t = all_Z[which[j]], 0.0
        for i in range(at_bound.size):
            t += all_C[at_bound[i]] * row[at_bound[i]]
        fixed_v[j] = t
    # what is free
    position = np.full(m, -1)
    for j in range(k):
        position[where[j]] = j
    f = 0
    for i in range(m):
        if lower[i] < upper[i]:
            f += 1
    free = np.empty(f, dtype=np.int64)
    sigmas, of = np.empty(f, dtype=np.int64), np.empty(f, dtype=np.int64)
    f, q, at_fixed = 0, 0, 0.0
    for i in range(m):
        if lower[i] < upper[i]:
            free[f] = i
            if position[i] >= 0:
                sigmas[q], of[q] = f, position[i]
                q += 1
            f += 1
        else:
            at_fixed += cost[i] * lower[i]
    sigmas, of = sigmas[:q].copy(), of[:q].copy()
    low, up, c = np.empty(f), np.empty(f), np.empty(f)
    for i in range(f):
        low[i], up[i], c[i] = lower[free[i]], upper[free[i]], cost[free[i]]
    held = np.zeros(k)
    for j in range(k):
        if lower[where[j]] == upper[where[j]]:
            held[j] = lower[where[j]]
    # A row that the bounds imply has no interior where it is tight, and a multiplier without end.
    stays, b0 = np.empty(R0, dtype=np.int64), np.empty(R0)
    R = 0
    for a in range(R0):
        side, high, size = sides[a], 0.0, 0.0
        for i in range(m):
            t = matrix[a, i]
            if lower[i] < upper[i]:
                high += t * (upper[i] if t > 0 else lower[i])
                size = max(size, abs(t))
            else:
                side -= t * lower[i]
        b0[a] = side
        if (size > 0 or abs(side) > ROW_TOLERANCE) if equalities[a] else high > side:
            stays[R] = a
            R += 1
    A, b, equal = np.empty((R, f)), np.empty(R), np.empty(R, dtype=np.bool_)
    for a in range(R):
        b[a], equal[a] = b0[stays[a]], equalities[stays[a]]
        for i in range(f):
            A[a, i] = matrix[stays[a], free[i]]
    # the start
    x = np.empty(f)
    for share in STARTS:
        fits = True
        for i in range(f):
            x[i] = low[i] + share * (up[i] - low[i])
        for a in range(R):
            t = 0.0
            for i in range(f):
                t += A[a, i] * x[i]
            if not equal[a] and not t < b[a]:
                fits = False
        if fits:
            break
    sigma, w = held.copy(), np.zeros(k)
    for p in range(of.size):
        sigma[of[p]] = x[sigmas[p]]
    v, alpha, image, short = np.empty(k), np.empty(l), np.empty(l), np.empty(l)
    if guess:
        for j in range(k):
            w[j] = start[j] if sigma[j] > 0 else 0.0
        offset = start[k]
        for i in range(l):
            alpha[i] = 0.5 * C[i]
        _back(Z, w, image)
    else:
        plus, minus, summed = 0.0, 0.0, 0.0
        for i in range(l):
            if y[i] > 0:
                plus += C[i] / biggest
            else:
                minus += C[i] / biggest
        for i in range(l):
            alpha[i] = (min(1.0, minus / plus) if y[i] > 0 else min(1.0, plus / minus)) * C[i] / biggest
            summed += alpha[i]
        _into(Z, alpha, v)
        square = 0.0
        for j in range(k):
            square += sigma[j] * v[j] * v[j]
        scale = min(0.5 * biggest, summed / square) if square > 0 else 0.5 * biggest
        for j in range(k):
            w[j] = scale * sigma[j] * v[j]
        for i in range(l):
            alpha[i] *= min(0.5 * biggest, max(50 * scale, 0.05 * biggest))
        _back(Z, w, image)
        for i in range(l):
            short[i] = y[i] * image[i]
        offset = _offset(short, y, C)
    beta, s, xi = np.empty(l), np.empty(l), np.empty(l)
    mean = 0.0
    for i in range(l):
        beta[i] = C[i] - alpha[i]
        short[i] = 1 - image[i] - y[i] * offset
        mean += abs(short[i])
    mean = max(1.0, mean / l)
    for i in range(l):
        spread = math.hypot(short[i], mean)
        s[i], xi[i] = 0.5 * (spread - short[i]), 0.5 * (spread + short[i])
    theta, kappa = np.zeros(R), np.zeros(R)
    _into(Z, alpha, v)
    typical = 0.0
    for j in range(k):
        v[j] += fixed_v[j]
        typical += v[j] * v[j]
    typical = max(1e-8, 0.5 * typical / max(1, k))
    for i in range(f):
        typical = max(typical, abs(c[i]))
    for a in range(R):
        if not equal[a]:
            t = b[a]
            for i in range(f):
                t -= A[a, i] * x[i]
            kappa[a] = max(t, 1e-3 * max(1.0, abs(b[a])))
            theta[a] = typical
    r, zeta = np.full(f, typical), np.full(f, typical)
    numbers = np.array([offset, 0.0, 0.0, 0.0, math.inf, PATIENCE, 0.0])
    problem = Z, y, A, b, equal, c, low, up, of, sigmas, C, fixed_v, fixed_y, fixed_sum, at_fixed, held
    iterates = alpha, beta, s, xi, x, r, zeta, theta, kappa, sigma, w, v, short
    return problem, iterates, numbers, free, stays[:R]


@njit(**FAST)
def _finished(all_Z, which, all_y, all_C, rows, lower, kept, at_bound, free, stays, problem, iterates, numbers):
    """Return alpha of all samples, all x, w, all theta and all margins; the gap in ``numbers`` becomes that on them."""
    _, _, _, _, _, _, _, _, _, _, _, fixed_v, fixed_y, fixed_sum, _, _ = problem
    alpha, _, _, _, x, _, _, theta, _, _, w, _, _ = iterates
    k, l = which.size, kept.size
    full_alpha, full_x, full_theta = np.zeros(all_y.size), lower.copy(), np.zeros(rows)
    margins = np.empty(all_y.size)
    for i in range(all_y.size):
        margins[i] = all_y[i] * numbers[0]
    for i in range(at_bound.size):
        full_alpha[at_bound[i]] = all_C[at_bound[i]]
    for i in range(l):
        full_alpha[kept[i]] = alpha[i]
    for i in range(free.size):
        full_x[free[i]] = x[i]
    for a in range(stays.size):
        full_theta[stays[a]] = theta[a]
    for j in range(k):
        t, row = w[j], all_Z[which[j]]
        for i in range(all_y.size):
            margins[i] += t * row[i]
    if l < all_y.size:
        left_out = 0.0
        for i in range(all_y.size):
            left_out += all_C[i] * max(1.0 - margins[i], 0.0)
        for i in range(l):
            left_out -= all_C[kept[i]] * max(1.0 - margins[kept[i]], 0.0)
        left_out -= fixed_sum - fixed_y * numbers[0]
        for j in range(k):
            left_out += fixed_v[j] * w[j]
        numbers[1] += left_out / max(abs(numbers[2]), TINY)
    return full_alpha, full_x, w, full_theta, margins
