"""A node's joint relaxation as one compiled loop: the equations of ``oracle.relaxation``, over plain arrays.

``node`` prepares the problem and a start, and lets ``advance`` move the iterates until they are good enough or an end
is reached. Nothing it says is believed: what is proven is computed from the data by ``certified`` or ``problem``, and
``iterates`` takes over where this breaks down. Symbols are those of ``relaxation``; Z = diag(y) X is transposed here,
so that its rows are features. All complementary pairs stand in two arrays, P = (alpha, beta, x - lower, upper - x, w -
l sigma, u sigma - w, theta) and Q = (s, xi, r, zeta, push, pull, kappa), so that what is done to each pair is one loop;
equations stand last in them, and are no pairs. What bounds on weights make of the system is in ``boxes``. All of it
stands in one file: numba looks for changes of a cached function in its own file only.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from fsmodels.models.fsp.oracle import certified
from fsmodels.models.fsp.oracle.fast import fast

STARTS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # share of the way from lower to upper
PATIENCE, TO_BOUNDARY = 12, 0.995
ROW_TOLERANCE = 1e-7
TINY = 1e-300

HALVINGS = 40  # for the offset of a start
LARGER = 10.0  # as in ``iterates``

LOOPS = 20_000_000  # multiplications up to which the product below is faster than BLAS, twice and more

GOING, DONE, STUCK = 0, 1, 2  # how a call ended


def ready():
    """Tell whether all runs at once: compiled in this process, or kept on disk since these files were written."""
    return all(_ready(function) for function in (_prepared, advance, _finished, certified.relaxed, certified.supported))


def _ready(function):
    if function.overloads:
        return True
    file = Path(function.py_func.__code__.co_filename)
    kept = Path(function.stats.cache_path).glob(f"{file.stem}.{function.py_func.__name__}-*.nbi")
    written = file.stat().st_mtime
    return any(index.stat().st_mtime >= written for index in kept)


@fast
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
        inverse = 1.0 / d
        for i in range(j + 1, n):
            below = N[i]
            s = below[j]
            for k in range(j):
                s -= below[k] * row[k]
            below[j] = s * inverse
    return True


@fast
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


@fast
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


@fast
def _into(Z, a, out):
    """Out = Z a, of shape (k,)."""
    for j in range(Z.shape[0]):
        s = 0.0
        row = Z[j]
        for i in range(a.size):
            s += row[i] * a[i]
        out[j] = s


@fast
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


@fast
def _square(S, N):
    """Set the lower triangle of N to S S': two rows by two at a time, whose sums stay in registers."""
    n, l = S.shape
    if n * n * l > LOOPS:
        np.dot(S, S.T, N)
        return
    for i in range(0, n - 1, 2):
        a0, a1 = S[i], S[i + 1]
        for j in range(0, i + 1, 2):
            b0, b1 = S[j], S[j + 1]
            s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
            for p in range(l):
                s00 += a0[p] * b0[p]
                s01 += a0[p] * b1[p]
                s10 += a1[p] * b0[p]
                s11 += a1[p] * b1[p]
            N[i, j], N[i, j + 1], N[i + 1, j], N[i + 1, j + 1] = s00, s01, s10, s11
    if n % 2:
        _into(S, S[n - 1], N[n - 1])


@fast
def advance(
    Z, y, need, C, A, G, on_b, b, inequalities, cost, low, up, of, sigmas, held, fixed_v, constants, least, largest,
    lows, ups, squared, P, Q, sigma, w, v_all, short, numbers, accuracy, enough, most,
):  # fmt: skip
    """Take up to ``most`` steps; return how it ended.

    ``y``: the coefficients of b in the margins, 0 where there is no offset. ``squared``: whether squares of slacks cost
    C; then beta and xi are no pairs.
    ``held`` (k,): the lower bound of columns whose sigma is fixed, 0 for the others. ``lows``, ``ups``: the columns
    with a finite bound ``least``, ``largest`` on the weight. ``constants``: what samples with alpha = C, and linear
    costs of b, add to y'alpha, what they add to the sum of alpha, and the cost of what is fixed. ``numbers``: offset,
    gap, value, bound, smallest gap, patience, iterations; the first is the iterate's, the others are told.
    """
    k, l = Z.shape
    f, R = low.size, b.size
    at_x = l if squared else 2 * l
    at_up, at_least, at_largest = at_x + f, at_x + 2 * f, at_x + 2 * f + lows.size
    at_rows = at_largest + ups.size
    size, pairs = at_rows + R, at_rows + inequalities
    alpha, above, theta = P[:l], P[at_x:at_up], P[at_rows:]
    s, xi, r, zeta, kappa = Q[:l], Q[l:at_x], Q[at_x:at_up], Q[at_up:at_least], Q[at_rows:]
    push, pull = Q[at_least:at_largest], Q[at_largest:at_rows]
    fixed_y, fixed_sum, at_fixed = constants
    offset, smallest, patience = numbers[0], numbers[4], numbers[5]
    # T: what the products are to change by; P and Q move by dP and dQ.
    T, dP, dQ, per_P, per_Q = np.empty(size), np.empty(size), np.zeros(size), np.empty(size), np.empty(size)
    da, dx, dtheta = dP[:l], dP[at_x:at_up], dP[at_rows:]
    scaled, N, right = np.empty((k + 1, l)), np.empty((k + 1, k + 1)), np.empty(k + 1)
    E, root, c, miss_w, v = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.zeros(f)
    h, g, miss_x, image, inverse, weight = np.empty(f), np.empty(f), np.empty(f), np.empty(l), np.empty(l), np.empty(l)
    B, S, M = np.zeros((R, k)), np.empty((R, R)), np.empty((R, R))
    responses, miss_rows = np.empty((R, k + 1)), np.empty(R)
    v_tilde, F, slope, to_w, to_x, kept = np.empty(k), np.empty(k), np.empty(k), np.ones(k), np.zeros(k), np.empty(k)
    first, second, third, spread, moved = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)
    bounded, beside = lows.size + ups.size > 0, False
    for a in range(R):
        for j in range(k):
            beside = beside or G[a, j] != 0.0
    slack, alone = np.empty(l), 1.0
    for i in range(l):
        if y[i] != 0.0:
            alone = 0.0
    for step in range(most + 1):
        # the gap of the iterate's own numbers
        _into(Z, alpha, v_all)
        _back(Z, w, image)
        norm, loss, summed, balance, held_up = 0.0, 0.0, fixed_sum, fixed_y, 0.0
        value = at_fixed + fixed_sum - fixed_y * offset
        bound = at_fixed
        for i in range(l):
            short[i] = need[i] - image[i] - y[i] * offset
            balance += y[i] * alpha[i]
            held_up += alpha[i]
        if squared:
            for i in range(l):
                t = max(short[i], 0.0)
                loss += C[i] * t * t
                summed += (need[i] - 0.25 * alpha[i] / C[i]) * alpha[i]
        else:
            for i in range(l):
                loss += C[i] * max(short[i], 0.0)
                summed += need[i] * alpha[i]
        for j in range(k):
            v_all[j] += fixed_v[j]
            if sigma[j] > 0:
                norm += w[j] * w[j] / sigma[j]
            value -= fixed_v[j] * w[j]
        if beside:
            for a in range(R):
                for j in range(k):
                    v_all[j] -= G[a, j] * theta[a]
        for j in range(k):  # first: g(v), second: gamma
            v_tilde[j] = v_all[j]
            first[j] = second[j] = 0.5 * v_all[j] * v_all[j]
        if bounded:
            for j in range(k):
                t = min(max(v_all[j], least[j]), largest[j])
                first[j], second[j] = t * (v_all[j] - 0.5 * t), 0.0
            for q in range(lows.size):
                v_tilde[lows[q]] += push[q]
                second[lows[q]] -= push[q] * least[lows[q]]
            for q in range(ups.size):
                v_tilde[ups[q]] -= pull[q]
                second[ups[q]] += pull[q] * largest[ups[q]]
            for j in range(k):
                second[j] += 0.5 * v_tilde[j] * v_tilde[j]
        for j in range(k):
            bound -= held[j] * first[j]
        value += 0.5 * norm + loss
        bound += summed
        for i in range(f):
            v[i], g[i] = 0.0, 0.0
        for q in range(of.size):
            v[sigmas[q]], g[sigmas[q]] = first[of[q]], second[of[q]]
        miss = 0.0
        for a in range(R):
            left = -b[a]
            for i in range(f):
                left += A[a, i] * (low[i] + above[i])
            if beside:
                for j in range(k):
                    left += G[a, j] * w[j]
            left += on_b[a] * offset
            balance -= on_b[a] * theta[a]
            bound -= b[a] * theta[a]
            miss = max(miss, (left if a < inequalities else abs(left)) / max(1.0, abs(b[a])))
            miss_rows[a] = -left - kappa[a]
        for i in range(f):
            d = cost[i]
            for a in range(R):
                d += A[a, i] * theta[a]
            value += cost[i] * (low[i] + above[i])
            miss_x[i] = r[i] - zeta[i] - d + g[i]
            d -= v[i]
            bound += d * (low[i] if d > 0 else up[i])
        gap = (value - bound) / max(abs(value), TINY)
        if miss > ROW_TOLERANCE or abs(balance) > ROW_TOLERANCE * held_up:
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
        mu = 0.0
        for p in range(pairs):
            per_P[p], per_Q[p] = 1.0 / P[p], 1.0 / Q[p]
            T[p] = -P[p] * Q[p]
            mu -= T[p]
        mu /= pairs
        if squared:
            for i in range(l):
                slack[i] = 0.5 * alpha[i] / C[i]
                inverse[i] = 1.0 / (s[i] * per_P[i] + 0.5 / C[i])
        else:
            for i in range(l):
                slack[i] = xi[i]
                inverse[i] = 1.0 / (s[i] * per_P[i] + xi[i] * per_P[l + i])
        for i in range(l):
            weight[i] = math.sqrt(inverse[i])
        for i in range(f):
            h[i] = 1.0 / (r[i] * per_P[at_x + i] + zeta[i] * per_P[at_up + i])
        for j in range(k):
            miss_w[j] = sigma[j] * v_tilde[j] - w[j]
            slope[j] = 0.0
        for q in range(of.size):
            slope[of[q]] = h[sigmas[q]]
        for j in range(k):
            F[j] = slope[j] * v_tilde[j]
            E[j] = sigma[j] + F[j] * v_tilde[j]
            kept[j] = slope[j] * sigma[j] / E[j]
        if bounded:  # first, second, third: K, L, B of ``boxes``
            for j in range(k):
                first[j], second[j], third[j], spread[j] = 0.0, 0.0, 0.0, 0.0
            for q in range(lows.size):
                j, t = lows[q], push[q] * per_P[at_least + q]
                first[j], second[j], third[j] = t, t * least[j], t * least[j] * least[j]
                spread[j] = t * (v_tilde[j] - least[j]) ** 2
            for q in range(ups.size):
                j, t = ups[q], pull[q] * per_P[at_largest + q]
                u = largest[j]
                spread[j] += t * (v_tilde[j] - u) ** 2
                if first[j] > 0.0:
                    spread[j] += sigma[j] * t * first[j] * (u - least[j]) ** 2
                first[j], second[j], third[j] = first[j] + t, second[j] + t * u, third[j] + t * u * u
            for j in range(k):
                if first[j] > 0.0:
                    e, z, u, K, L, t = sigma[j], slope[j], v_tilde[j], first[j], second[j], third[j]
                    D, d = 1.0 + e * K + z * spread[j], z * (u * u + e * t) + e
                    E[j], F[j], slope[j], kept[j] = d / D, z * (u + e * L) / D, z * (1.0 + e * K) / D, z * e / d
                    to_w[j], to_x[j] = (1.0 + z * (t - L * u)) / D, z * (L - K * u) / D
                first[j] = second[j] = 0.0
        for j in range(k):
            root[j] = math.sqrt(E[j])
            z, to, e = Z[j], scaled[j], root[j]
            for i in range(l):
                to[i] = z[i] * weight[i] * e
        for i in range(l):
            scaled[k, i] = y[i] * weight[i]
        _square(scaled, N)
        for j in range(k):
            N[j, j] += 1.0
        N[k, k] += alone
        if not _factor(N):
            return STUCK
        for a in range(R):
            for q in range(of.size):
                i, j = sigmas[q], of[q]
                B[a, j] = F[j] / E[j] * A[a, i]
            to = responses[a]
            for j in range(k):
                to[j] = -root[j] * (B[a, j] + G[a, j])
            to[k] = -on_b[a]
            _solve(N, to)
            for j in range(k):
                to[j] *= root[j]
        for i in range(f):
            g[i] = h[i]
        for q in range(of.size):
            g[sigmas[q]] = kept[of[q]]
        for a in range(R):
            for o in range(R):
                t = 0.0
                for i in range(f):
                    t += A[a, i] * g[i] * A[o, i]
                for j in range(k):
                    t -= (B[a, j] + G[a, j]) * responses[o, j]
                S[a, o] = t - on_b[a] * responses[o, k]
            if a < inequalities:
                S[a, a] += kappa[a] / theta[a]
        t = 0.0
        for corrector in range(2):
            # the direction that moves each product by T
            for i in range(l):
                da[i] = short[i] - slack[i] + s[i] + T[i] * per_P[i]
            if not squared:
                for i in range(l):
                    da[i] -= T[l + i] * per_P[l + i]
            for i in range(l):
                da[i] *= inverse[i]
            _into(Z, da, right)
            tail = balance
            for i in range(l):
                tail += y[i] * da[i]
            right[k] = tail
            for i in range(f):
                g[i] = T[at_x + i] * per_P[at_x + i] - T[at_up + i] * per_P[at_up + i] + miss_x[i]
            if bounded:  # first, second: tau, and what makes g~ of g
                for j in range(k):
                    first[j], second[j] = 0.0, 0.0
                for q in range(lows.size):
                    t = T[at_least + q] * per_P[at_least + q]
                    first[lows[q]], second[lows[q]] = t, -t * least[lows[q]]
                for q in range(ups.size):
                    j, t = ups[q], T[at_largest + q] * per_P[at_largest + q]
                    first[j], second[j] = first[j] - t, second[j] + t * largest[j]
            for j in range(k):
                c[j] = to_w[j] * miss_w[j] + E[j] * first[j] if bounded else miss_w[j]
            for q in range(of.size):
                i, j = sigmas[q], of[q]
                t = g[i]
                if bounded:
                    t += second[j]
                c[j] += F[j] * t
                moved[j] = slope[j] * t
                if bounded:
                    moved[j] += F[j] * first[j] + to_x[j] * miss_w[j]
            for i in range(f):
                g[i] *= h[i]
            for q in range(of.size):
                g[sigmas[q]] = moved[of[q]]
            for j in range(k):
                right[j] = root[j] * right[j] + c[j] / root[j]
            _solve(N, right)
            for j in range(k):
                right[j] *= root[j]
            for a in range(R):
                side = -miss_rows[a]
                if a < inequalities:
                    side += T[at_rows + a] * per_P[at_rows + a]
                for i in range(f):
                    side += A[a, i] * g[i]
                for j in range(k):
                    side += G[a, j] * right[j] - B[a, j] * (c[j] - right[j])
                dtheta[a] = side + on_b[a] * right[k]
                for o in range(R):
                    M[a, o] = S[a, o]
            if not _small(M, dtheta):
                return STUCK
            for a in range(R):
                for j in range(k + 1):
                    right[j] += dtheta[a] * responses[a, j]
            _back(Z, right, image)
            for i in range(l):
                da[i] -= inverse[i] * (image[i] + y[i] * right[k])
            if not squared:
                for i in range(l):
                    dP[l + i] = -da[i]
            for i in range(f):
                t = 0.0
                for a in range(R):
                    t += A[a, i] * dtheta[a]
                v[i] = t
                dx[i] = g[i] - h[i] * t
            for q in range(of.size):
                i, j = sigmas[q], of[q]
                t = (right[j] - c[j]) / E[j]
                for a in range(R):
                    t += B[a, j] * dtheta[a]
                dx[i] = g[i] - slope[j] * v[i] + F[j] * t
            for i in range(f):
                dP[at_up + i] = -dx[i]
            if bounded:
                for j in range(k):
                    moved[j] = 0.0
                for q in range(of.size):
                    moved[of[q]] = dx[sigmas[q]]
                for q in range(lows.size):
                    dP[at_least + q] = right[lows[q]] - least[lows[q]] * moved[lows[q]]
                for q in range(ups.size):
                    dP[at_largest + q] = largest[ups[q]] * moved[ups[q]] - right[ups[q]]
            shrink = 0.0
            for p in range(pairs):
                dQ[p] = (T[p] - Q[p] * dP[p]) * per_P[p]
                shrink = max(shrink, max(-dP[p] * per_P[p], -dQ[p] * per_Q[p]))
            if corrector:
                t = min(1.0, TO_BOUNDARY / max(shrink, TINY))
                break
            t = min(1.0, 1.0 / max(shrink, TINY))
            ahead = 0.0
            for p in range(pairs):
                ahead += (P[p] + t * dP[p]) * (Q[p] + t * dQ[p])
            target = mu * min(1.0, max(ahead / (pairs * mu), 1e-6)) ** 3
            for p in range(pairs):
                T[p] += target - dP[p] * dQ[p]
        if not math.isfinite(t) or t < 1e-10:
            return STUCK
        for p in range(size):
            P[p] += t * dP[p]
            Q[p] += t * dQ[p]
        for j in range(k):
            w[j] += t * right[j]
        offset += t * right[k]
        for q in range(of.size):
            sigma[of[q]] = low[sigmas[q]] + above[sigmas[q]]
        numbers[6] += 1
    return GOING


@fast
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
    accuracy, goals, most, all_need, weights, offsets, prices, least, largest, shift, squared,
):  # fmt: skip
    """Solve the relaxation within bounds; yield (end, numbers, alpha, x, w, theta, margins) for each goal in turn.

    ``all_Z`` (K, l): columns times labels; ``which`` (k,): its rows that take part, at the places ``where`` of x.
    ``all_C`` (l,): prices of slack. ``kept``, ``at_bound``: the samples that stay, and those with alpha = C; ``guess``:
    whether ``start`` (k + 1,), the weights and offset of a neighbour, is where to start. ``goals``: bounds at which to
    stop. ``all_need`` (l,): what margins should be at least. ``weights`` (R, k), ``offsets`` (R,): what the rows hold
    of w and b. ``prices`` (k + 1,): linear costs of w and b. ``least``, ``largest`` (k,): bounds of w, times sigma.
    ``shift`` (l,): coefficients of b in the margins, the labels or 0. ``squared``: whether squares of slacks cost C.
    ``numbers``: as in ``advance``; the gap is on all samples. Arrays are contiguous, of float64, int64 and bool: others
    would be compiled anew.
    """
    # Three compiled functions: numba would optimise the loop a second time inside a caller of its own.
    problem, iterates, numbers, free, stays = _prepared(
        all_Z, which, where, all_y, all_C, cost, matrix, sides, equalities, lower, upper, kept, at_bound, guess, start,
        all_need, weights, offsets, prices, least, largest, shift, squared,
    )  # fmt: skip
    for goal in goals:
        end = advance(*problem, *iterates, numbers, accuracy, goal, most)
        own = float(numbers[1])
        found = _finished(
            all_Z, which, shift, all_C, all_need, prices, sides.size, lower, kept, at_bound, free, stays, problem,
            iterates, numbers, squared,
        )  # fmt: skip
        yield (end, numbers, *found)
        numbers[1] = own


@fast
def _prepared(
    all_Z, which, where, all_y, all_C, cost, matrix, sides, equalities, lower, upper, kept, at_bound, guess, start,
    all_need, weights, offsets, prices, least, largest, all_shift, squared,
):  # fmt: skip
    """Return the problem, the first iterates and the numbers as ``advance`` takes them, what is free and what stays."""
    k, l, m, R0 = which.size, kept.size, cost.size, sides.size
    y, C, need, shift = np.empty(l), np.empty(l), np.empty(l), np.empty(l)
    free_b = False
    Z = np.empty((k, l))
    biggest = 0.0  # of C
    for i in range(l):
        y[i], C[i], need[i], shift[i] = all_y[kept[i]], all_C[kept[i]], all_need[kept[i]], all_shift[kept[i]]
        free_b = free_b or shift[i] != 0.0
        biggest = max(biggest, C[i])
    for j in range(k):
        row, to = all_Z[which[j]], Z[j]
        for i in range(l):
            to[i] = row[kept[i]]
    fixed_v, fixed_y, fixed_sum = np.zeros(k), -prices[k], 0.0
    for i in range(at_bound.size):
        fixed_y += all_C[at_bound[i]] * all_shift[at_bound[i]]
        fixed_sum += all_C[at_bound[i]] * all_need[at_bound[i]]
    for j in range(k):
        row, t = all_Z[which[j]], 0.0
        for i in range(at_bound.size):
            t += all_C[at_bound[i]] * row[at_bound[i]]
        fixed_v[j] = t - prices[j]
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
    stays, b0, beside = np.empty(R0, dtype=np.int64), np.empty(R0), np.empty(R0, dtype=np.bool_)
    R = 0
    for a in range(R0):
        beside[a] = offsets[a] != 0.0
        for j in range(k):
            beside[a] = beside[a] or weights[a, j] != 0.0
        side, high, size = sides[a], 0.0, 0.0
        for i in range(m):
            t = matrix[a, i]
            if lower[i] < upper[i]:
                high += t * (upper[i] if t > 0 else lower[i])
                size = max(size, abs(t))
            else:
                side -= t * lower[i]
        b0[a] = side
        if beside[a] or ((size > 0 or abs(side) > ROW_TOLERANCE) if equalities[a] else high > side):
            stays[R] = a
            R += 1
    stays = stays[:R]
    stays = np.concatenate((stays[~equalities[stays]], stays[equalities[stays]]))
    A, G, on_b, b, inequalities = np.empty((R, f)), np.empty((R, k)), np.empty(R), np.empty(R), 0
    for a in range(R):
        b[a], on_b[a] = b0[stays[a]], offsets[stays[a]]
        for j in range(k):
            G[a, j] = weights[stays[a], j]
        if not equalities[stays[a]]:
            inequalities += 1
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
            if a < inequalities and not beside[stays[a]] and not t < b[a]:
                fits = False
        if fits:
            break
    sigma, w = held.copy(), np.zeros(k)
    for p in range(of.size):
        sigma[of[p]] = x[sigmas[p]]
    lows, ups = np.flatnonzero(least > -math.inf), np.flatnonzero(largest < math.inf)
    at_x = l if squared else 2 * l
    at_least, at_largest, at_rows = at_x + 2 * f, at_x + 2 * f + lows.size, at_x + 2 * f + lows.size + ups.size
    P, Q = np.zeros(at_rows + R), np.zeros(at_rows + R)
    alpha, beta, theta, s, xi, kappa = P[:l], P[l:at_x], P[at_rows:], Q[:l], Q[l:at_x], Q[at_rows:]
    v, image, short = np.empty(k), np.empty(l), np.empty(l)
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
        curved = 0.0
        for i in range(l):
            alpha[i] = C[i] / biggest
            if free_b:
                less, more = (minus, plus) if y[i] > 0 else (plus, minus)
                alpha[i] *= 2.0 * less / (less + more) if squared else min(1.0, less / more)
            summed += alpha[i]
            if squared:
                curved += 0.5 * alpha[i] * alpha[i] / C[i]
        _into(Z, alpha, v)
        square = curved
        for j in range(k):
            square += sigma[j] * v[j] * v[j]
        scale = summed / square if square > 0 else math.inf
        if not squared:
            scale = min(0.5 * biggest, scale)
        for j in range(k):
            w[j] = scale * sigma[j] * v[j]
        for i in range(l):
            alpha[i] *= scale if squared else min(0.5 * biggest, max(50 * scale, 0.05 * biggest))
        _back(Z, w, image)
        for i in range(l):
            short[i] = y[i] * (image[i] + 1.0 - need[i])  # kinks where y (image + b) is as needed
        offset = _offset(short, y, C) if free_b else 0.0
    if lows.size + ups.size > 0:
        size = 1e-8
        for j in range(k):
            size = max(size, abs(w[j]))
        for j in range(k):
            lo, hi = least[j], largest[j]
            room = 0.1 * min(size, sigma[j] * (hi - lo))
            if lo > -math.inf:
                w[j] = max(w[j], sigma[j] * lo + room)
            if hi < math.inf:
                w[j] = min(w[j], sigma[j] * hi - room)
        _back(Z, w, image)
    mean, typical = 0.0, 0.0
    for i in range(l):
        short[i] = need[i] - image[i] - shift[i] * offset
        mean += abs(short[i])
        typical += alpha[i]
    mean = max(1e-6 if squared else 1.0, mean / l)
    for i in range(l):
        spread = math.hypot(short[i], mean)
        s[i], slack = 0.5 * (spread - short[i]), 0.5 * (spread + short[i])
        if squared:  # as in ``iterates``
            alpha[i] = min(2.0 * C[i], LARGER * typical / l) * slack
        else:
            beta[i], xi[i] = C[i] - alpha[i], slack
    _into(Z, alpha, v)
    typical = 0.0
    for j in range(k):
        v[j] += fixed_v[j]
        typical += v[j] * v[j]
    typical = max(1e-8, 0.5 * typical / max(1, k))
    for i in range(f):
        typical = max(typical, abs(c[i]))
    for a in range(inequalities):
        t = b[a]
        for i in range(f):
            t -= A[a, i] * x[i]
        kappa[a], theta[a] = max(t, 1e-3 * max(1.0, abs(b[a]))), typical
        if beside[stays[a]]:
            size, t = 0.0, t - on_b[a] * offset
            for j in range(k):
                t -= G[a, j] * w[j]
                size = max(size, abs(G[a, j]))
            kappa[a] = max(t, max(0.3 * abs(t), 1e-3 * max(1.0, abs(b[a]))))
            theta[a] = math.inf
            if size > 0.0:
                theta[a] = math.sqrt(2.0 * typical) / size
            if on_b[a] != 0.0:
                theta[a] = min(theta[a], 0.1 * biggest / abs(on_b[a]))
    # v~ = w / sigma where a multiplier can make it so, and products of the size of the others, but no larger v~
    size = 0.3 * math.sqrt(2.0 * typical)
    for q in range(lows.size):
        j = lows[q]
        t = w[j] - sigma[j] * least[j]
        P[at_least + q], Q[at_least + q] = t, min(0.3 * typical / t, size) + max(w[j] / sigma[j] - v[j], 0.0)
    for q in range(ups.size):
        j = ups[q]
        t = sigma[j] * largest[j] - w[j]
        P[at_largest + q], Q[at_largest + q] = t, min(0.3 * typical / t, size) + max(v[j] - w[j] / sigma[j], 0.0)
    for i in range(f):
        P[at_x + i], P[at_x + f + i] = x[i] - low[i], up[i] - x[i]
        Q[at_x + i] = Q[at_x + f + i] = typical
    numbers = np.array([offset, 0.0, 0.0, 0.0, math.inf, PATIENCE, 0.0])
    constants = fixed_y, fixed_sum, at_fixed
    problem = (
        Z, shift, need, C, A, G, on_b, b, inequalities, c, low, up, of, sigmas, held, fixed_v, constants, least,
        largest, lows, ups, squared,
    )  # fmt: skip
    return problem, (P, Q, sigma, w, v, short), numbers, free, stays


@fast
def _finished(
    all_Z, which, shift, all_C, all_need, prices, rows, lower, kept, at_bound, free, stays, problem, iterates, numbers,
    squared,
):  # fmt: skip
    """Return alpha of all samples, all x, w, all theta and all margins; the gap in ``numbers`` becomes that on them."""
    low, up, fixed_v, (fixed_y, fixed_sum, _) = problem[10], problem[11], problem[15], problem[16]
    P, _, _, w, _, _ = iterates
    k, l, f = which.size, kept.size, free.size
    at_x = l if squared else 2 * l
    alpha, above, theta = P[:l], P[at_x : at_x + f], P[P.size - stays.size :]
    full_alpha, full_x, full_theta = np.zeros(all_C.size), lower.copy(), np.zeros(rows)
    margins = np.empty(all_C.size)
    for i in range(all_C.size):
        margins[i] = 1.0 - all_need[i] + shift[i] * numbers[0]
    for i in range(at_bound.size):
        full_alpha[at_bound[i]] = all_C[at_bound[i]]
    for i in range(l):
        full_alpha[kept[i]] = alpha[i]
    for i in range(free.size):
        full_x[free[i]] = min(low[i] + above[i], up[i])
    for a in range(stays.size):
        full_theta[stays[a]] = theta[a]
    for j in range(k):
        t, row = w[j], all_Z[which[j]]
        for i in range(all_C.size):
            margins[i] += t * row[i]
    if l < all_C.size:
        left_out = 0.0
        for i in range(all_C.size):
            t = max(1.0 - margins[i], 0.0)
            left_out += all_C[i] * (t * t if squared else t)
        for i in range(l):
            t = max(1.0 - margins[kept[i]], 0.0)
            left_out -= all_C[kept[i]] * (t * t if squared else t)
        left_out -= fixed_sum - (fixed_y + prices[k]) * numbers[0]
        for j in range(k):
            left_out += (fixed_v[j] + prices[j]) * w[j]
        numbers[1] += left_out / max(abs(numbers[2]), TINY)
    return full_alpha, full_x, w, full_theta, margins
