# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Interior point method of ``oracle.relaxation`` in compiled code, for the many small nodes of a tree.

``Node`` copies the data of a node and computes a start. ``Node.advance`` takes steps until the gap or the bound is
sufficient, and ``Node.solution`` returns the point on all samples and columns. The numbers of this loop are not a
proof: bounds are computed from the data, by ``bounds`` or ``problem``. ``iterates`` is the same method in numpy; it is
used if this loop fails or the extension is not installed.

Symbols are those of ``relaxation``. Z = X' diag(y) has one row per feature. All complementary pairs are in two arrays ::

    P = (alpha, beta, x - lower, upper - x, w - l sigma, u sigma - w, theta)
    Q = (s,     xi,   r,         zeta,      push,        pull,        kappa)

so that one loop updates each pair. The rows of theta are the inequalities first; equations follow and are no pairs.
With the squared hinge beta and xi are absent. ``iterates`` derives the terms of bounds on weights.

One iteration is ``measure`` (residuals and gap), ``assemble`` (the matrix scaled S with the system I + S S'), the
product S S', and ``move`` (factorisation, predictor, corrector, step).
"""

from libc.math cimport INFINITY, fabs, hypot, isfinite, sqrt
from libc.stdlib cimport calloc, free

import numpy as np

from fsmodels.models.fsp.oracle.clones cimport cloned

cdef double[10] SHARES = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]  # of the way from lower to upper
cdef int PATIENCE = 12  # iterations without a better gap
cdef double TO_BOUNDARY = 0.995
cdef double ROW_TOLERANCE = 1e-7
cdef double TINY = 1e-300
cdef double LARGER = 10.0  # as in ``iterates``
cdef int HALVINGS = 40  # for the offset of a start
cdef double BLAS = 2e7  # multiplications from which on BLAS is the faster product

ctypedef Py_ssize_t Index


cdef struct Problem:  # the used samples and columns, and the free entries of x
    Index k, l, f, R  # columns, samples, free entries of x, rows
    Index inequalities  # the first rows; the others are equations
    Index linked  # free entries of x that are the sigma of a column
    Index lows, ups  # columns with a finite lower and upper bound on the weight
    Index at_x, at_up, at_least, at_largest, at_rows  # first positions of the parts of P and Q
    Index size, pairs  # of P and Q, and how many of them are complementary pairs
    bint squared, free_b, on_weights  # squared hinge; there is an offset; rows have coefficients of weights
    double fixed_y, fixed_sum, fixed_cost  # terms of samples with alpha = C in y'alpha and e'alpha; cost of fixed x
    double *Z  # (k, l)
    double *y  # (l,) coefficients of b in the margins: the labels, or 0 without an offset
    double *need  # (l,)
    double *C  # (l,)
    double *A  # (R, f)
    double *G  # (R, k) and
    double *on_b  # (R,): coefficients of w and b in the rows
    double *b  # (R,)
    double *cost  # (f,)
    double *low  # (f,)
    double *up  # (f,)
    double *fixed_sigma  # (k,) the fixed value of sigma; 0 if sigma is free
    double *fixed_v  # (k,) terms of samples with alpha = C, and of linear costs of w, in v
    double *least  # (k,)
    double *largest  # (k,)
    Index *sigmas  # (linked,) entries of x, and
    Index *of  # (linked,) their columns
    Index *with_low  # (lows,) columns
    Index *with_up  # (ups,) columns
    Index *mixed  # (R,) 1 if a row has coefficients of w or b


cdef struct Iterate:
    double *P  # (size,)
    double *Q  # (size,)
    double *sigma  # (k,)
    double *w  # (k,)
    double offset, gap, value, bound
    double balance  # y'alpha - g'theta - c_b, to be 0
    double mu
    bint failed


cdef struct Work:  # of shape (size,), (f,), (k,), (l,) or (R,) by the first word; see the comments
    double *T  # (size,) required change of the products
    double *dP
    double *dQ
    double *per_P
    double *per_Q
    double *scaled  # (k + 1, l) rows of S
    double *N  # (k + 1, k + 1) I + S S', then its factor
    double *right  # (k + 1,)
    double *responses  # (R, k + 1)
    double *B  # (R, k)
    double *S  # (R, R)
    double *M  # (R, R)
    double *miss_rows  # (R,)
    double *short  # (l,) d - Z'w - y b
    double *slack  # (l,)
    double *image  # (l,)
    double *inverse  # (l,)
    double *weight  # (l,)
    double *v  # (f,)
    double *g
    double *h
    double *miss_x
    double *v_all  # (k,)
    double *v_tilde
    double *E
    double *root
    double *c
    double *miss_w
    double *F
    double *slope
    double *to_w
    double *to_x
    double *kept
    double *first
    double *second
    double *third
    double *spread
    double *moved


# ---- dense linear algebra on small matrices


cdef inline bint factor(double *N, Index n) noexcept nogil:
    """Compute the lower Cholesky factor in place; return 0 if N is not positive definite."""
    cdef Index i, j, p
    cdef double d, s, inverse
    cdef double *row
    cdef double *below
    for j in range(n):
        row = N + j * n
        d = row[j]
        for p in range(j):
            d -= row[p] * row[p]
        if not d > 0.0:
            return False
        d = sqrt(d)
        row[j] = d
        inverse = 1.0 / d
        for i in range(j + 1, n):
            below = N + i * n
            s = below[j]
            for p in range(j):
                s -= below[p] * row[p]
            below[j] = s * inverse
    return True


cdef inline void solve_factored(const double *N, double *right, Index n) noexcept nogil:
    cdef Index i, p
    cdef double s
    for i in range(n):
        s = right[i]
        for p in range(i):
            s -= N[i * n + p] * right[p]
        right[i] = s / N[i * n + i]
    for i in range(n - 1, -1, -1):
        s = right[i] / N[i * n + i]
        right[i] = s
        for p in range(i):
            right[p] -= s * N[i * n + p]


cdef inline bint eliminate(double *T, double *right, Index n) noexcept nogil:
    """Solve a small dense system in place; return 0 if it is singular."""
    cdef Index i, j, p, q
    cdef double m, s
    for j in range(n):
        p = j
        for i in range(j + 1, n):
            if fabs(T[i * n + j]) > fabs(T[p * n + j]):
                p = i
        if not fabs(T[p * n + j]) > 0.0:
            return False
        if p != j:
            for q in range(n):
                T[j * n + q], T[p * n + q] = T[p * n + q], T[j * n + q]
            right[j], right[p] = right[p], right[j]
        for i in range(j + 1, n):
            m = T[i * n + j] / T[j * n + j]
            if m != 0.0:
                for q in range(j, n):
                    T[i * n + q] -= m * T[j * n + q]
                right[i] -= m * right[j]
    for i in range(n - 1, -1, -1):
        s = right[i]
        for q in range(i + 1, n):
            s -= T[i * n + q] * right[q]
        right[i] = s / T[i * n + i]
    return True


cdef inline void times(const double *Z, const double *a, double *out, Index k, Index l) noexcept nogil:
    """Set out (k,) to Z a."""
    cdef Index i, j
    cdef double s
    cdef const double *row
    for j in range(k):
        s = 0.0
        row = Z + j * l
        for i in range(l):
            s += row[i] * a[i]
        out[j] = s


cdef inline void transposed_times(const double *Z, const double *w, double *out, Index k, Index l) noexcept nogil:
    """Set out (l,) to Z'w."""
    cdef Index i, j
    cdef double x
    cdef const double *row
    for i in range(l):
        out[i] = 0.0
    for j in range(k):
        x = w[j]
        if x != 0.0:
            row = Z + j * l
            for i in range(l):
                out[i] += x * row[i]


cdef inline void block(const double *a, const double *b, double *N, Index n, Index l, int rows,
                       int columns) noexcept nogil:
    """Set one block of N, at most 3 by 3, to the products of rows of a and of b; the sums stay in registers."""
    cdef double s00 = 0, s01 = 0, s02 = 0, s10 = 0, s11 = 0, s12 = 0, s20 = 0, s21 = 0, s22 = 0
    cdef const double *a1 = a + (l if rows > 1 else 0)
    cdef const double *a2 = a + (2 * l if rows > 2 else 0)
    cdef const double *b1 = b + (l if columns > 1 else 0)
    cdef const double *b2 = b + (2 * l if columns > 2 else 0)
    cdef Index p
    for p in range(l):
        s00 += a[p] * b[p]
        s01 += a[p] * b1[p]
        s02 += a[p] * b2[p]
        s10 += a1[p] * b[p]
        s11 += a1[p] * b1[p]
        s12 += a1[p] * b2[p]
        s20 += a2[p] * b[p]
        s21 += a2[p] * b1[p]
        s22 += a2[p] * b2[p]
    cdef double[9] sums = [s00, s01, s02, s10, s11, s12, s20, s21, s22]
    cdef int i, j
    for i in range(rows):
        for j in range(columns):
            N[i * n + j] = sums[3 * i + j]


cdef cloned square(const double *S, double *N, Index n, Index l) noexcept nogil:
    """Set the lower triangle of N to S S', in blocks of 3 by 3."""
    cdef Index i, j
    for i in range(0, n, 3):
        for j in range(0, i + 1, 3):
            block(S + i * l, S + j * l, N + i * n + j, n, l, <int>min(3, n - i), <int>min(3, n - j))


# ---- one iteration


cdef cloned measure(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Compute v, the slacks, the residuals, and the gap of the iterate."""
    cdef Index a, i, j, q, k = p.k, l = p.l, f = p.f
    cdef double *alpha = at.P
    cdef double *above = at.P + p.at_x
    cdef double *theta = at.P + p.at_rows
    cdef double *r = at.Q + p.at_x
    cdef double *zeta = at.Q + p.at_up
    cdef double *push = at.Q + p.at_least
    cdef double *pull = at.Q + p.at_largest
    cdef double *kappa = at.Q + p.at_rows
    cdef double *short = work.short
    cdef double *v = work.v_all
    cdef double *v_tilde = work.v_tilde
    cdef double *curb = work.first  # g(v)
    cdef double *gamma = work.second
    cdef double norm = 0.0, loss = 0.0, summed = p.fixed_sum, balance = p.fixed_y, total = 0.0, miss = 0.0
    cdef double value = p.fixed_cost + p.fixed_sum - p.fixed_y * at.offset, bound = p.fixed_cost
    cdef double t, d, left, gap
    times(p.Z, alpha, v, k, l)
    transposed_times(p.Z, at.w, work.image, k, l)
    for i in range(l):
        short[i] = p.need[i] - work.image[i] - p.y[i] * at.offset
        balance += p.y[i] * alpha[i]
        total += alpha[i]
    if p.squared:
        for i in range(l):
            t = max(short[i], 0.0)
            loss += p.C[i] * t * t
            summed += (p.need[i] - 0.25 * alpha[i] / p.C[i]) * alpha[i]
    else:
        for i in range(l):
            loss += p.C[i] * max(short[i], 0.0)
            summed += p.need[i] * alpha[i]
    for j in range(k):
        v[j] += p.fixed_v[j]
        if at.sigma[j] > 0:
            norm += at.w[j] * at.w[j] / at.sigma[j]
        value -= p.fixed_v[j] * at.w[j]
    if p.on_weights:
        for a in range(p.R):
            for j in range(k):
                v[j] -= p.G[a * k + j] * theta[a]
    for j in range(k):
        v_tilde[j] = v[j]
        curb[j] = gamma[j] = 0.5 * v[j] * v[j]
    if p.lows + p.ups > 0:
        for j in range(k):
            t = min(max(v[j], p.least[j]), p.largest[j])
            curb[j], gamma[j] = t * (v[j] - 0.5 * t), 0.0
        for q in range(p.lows):
            j = p.with_low[q]
            v_tilde[j] += push[q]
            gamma[j] -= push[q] * p.least[j]
        for q in range(p.ups):
            j = p.with_up[q]
            v_tilde[j] -= pull[q]
            gamma[j] += pull[q] * p.largest[j]
        for j in range(k):
            gamma[j] += 0.5 * v_tilde[j] * v_tilde[j]
    for j in range(k):
        bound -= p.fixed_sigma[j] * curb[j]
    value += 0.5 * norm + loss
    bound += summed
    for i in range(f):
        work.v[i], work.g[i] = 0.0, 0.0
    for q in range(p.linked):
        work.v[p.sigmas[q]], work.g[p.sigmas[q]] = curb[p.of[q]], gamma[p.of[q]]
    for a in range(p.R):
        left = -p.b[a]
        for i in range(f):
            left += p.A[a * f + i] * (p.low[i] + above[i])
        if p.on_weights:
            for j in range(k):
                left += p.G[a * k + j] * at.w[j]
        left += p.on_b[a] * at.offset
        balance -= p.on_b[a] * theta[a]
        bound -= p.b[a] * theta[a]
        miss = max(miss, (left if a < p.inequalities else fabs(left)) / max(1.0, fabs(p.b[a])))
        work.miss_rows[a] = -left - kappa[a]
    for i in range(f):
        d = p.cost[i]
        for a in range(p.R):
            d += p.A[a * f + i] * theta[a]
        value += p.cost[i] * (p.low[i] + above[i])
        work.miss_x[i] = r[i] - zeta[i] - d + work.g[i]
        d -= work.v[i]
        bound += d * (p.low[i] if d > 0 else p.up[i])
    gap = (value - bound) / max(fabs(value), TINY)
    if miss > ROW_TOLERANCE or fabs(balance) > ROW_TOLERANCE * total:
        gap = max(gap, 1.0)
    at.gap, at.value, at.bound, at.balance = gap, value, bound, balance


cdef inline void bound_terms(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Add the terms of bounds on weights to E, F, slope, kept, to_w and to_x: K, L and B of ``iterates``."""
    cdef Index j, q
    cdef double t, u, e, z, K, L, D, d
    cdef double *push = at.Q + p.at_least
    cdef double *pull = at.Q + p.at_largest
    cdef double *first = work.first
    cdef double *second = work.second
    cdef double *third = work.third
    cdef double *spread = work.spread
    for j in range(p.k):
        first[j], second[j], third[j], spread[j] = 0.0, 0.0, 0.0, 0.0
    for q in range(p.lows):
        j = p.with_low[q]
        t, u = push[q] * work.per_P[p.at_least + q], p.least[j]
        first[j], second[j], third[j] = t, t * u, t * u * u
        spread[j] = t * (work.v_tilde[j] - u) ** 2
    for q in range(p.ups):
        j = p.with_up[q]
        t, u = pull[q] * work.per_P[p.at_largest + q], p.largest[j]
        spread[j] += t * (work.v_tilde[j] - u) ** 2
        if first[j] > 0.0:
            spread[j] += at.sigma[j] * t * first[j] * (u - p.least[j]) ** 2
        first[j], second[j], third[j] = first[j] + t, second[j] + t * u, third[j] + t * u * u
    for j in range(p.k):
        if first[j] > 0.0:
            e, z, u, K, L, t = at.sigma[j], work.slope[j], work.v_tilde[j], first[j], second[j], third[j]
            D, d = 1.0 + e * K + z * spread[j], z * (u * u + e * t) + e
            work.E[j], work.F[j], work.kept[j] = d / D, z * (u + e * L) / D, z * e / d
            work.slope[j] = z * (1.0 + e * K) / D
            work.to_w[j], work.to_x[j] = (1.0 + z * (t - L * u)) / D, z * (L - K * u) / D


cdef cloned assemble(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Compute the diagonal parts of the system and the rows of S."""
    cdef Index i, j, q, k = p.k, l = p.l
    cdef double mu = 0.0, e
    cdef double *P = at.P
    cdef double *Q = at.Q
    cdef double *s = at.Q
    cdef double *xi = at.Q + l
    cdef double *r = at.Q + p.at_x
    cdef double *zeta = at.Q + p.at_up
    cdef double *per_P = work.per_P
    cdef double *weight = work.weight
    cdef const double *z
    cdef double *to
    for q in range(p.pairs):
        per_P[q], work.per_Q[q] = 1.0 / P[q], 1.0 / Q[q]
        work.T[q] = -P[q] * Q[q]
        mu -= work.T[q]
    at.mu = mu / p.pairs
    if p.squared:
        for i in range(l):
            work.slack[i] = 0.5 * P[i] / p.C[i]
            work.inverse[i] = 1.0 / (s[i] * per_P[i] + 0.5 / p.C[i])
    else:
        for i in range(l):
            work.slack[i] = xi[i]
            work.inverse[i] = 1.0 / (s[i] * per_P[i] + xi[i] * per_P[l + i])
    for i in range(l):
        weight[i] = sqrt(work.inverse[i])
    for i in range(p.f):
        work.h[i] = 1.0 / (r[i] * per_P[p.at_x + i] + zeta[i] * per_P[p.at_up + i])
    for j in range(k):
        work.miss_w[j] = at.sigma[j] * work.v_tilde[j] - at.w[j]
        work.slope[j] = 0.0
    for q in range(p.linked):
        work.slope[p.of[q]] = work.h[p.sigmas[q]]
    for j in range(k):
        work.F[j] = work.slope[j] * work.v_tilde[j]
        work.E[j] = at.sigma[j] + work.F[j] * work.v_tilde[j]
        work.kept[j] = work.slope[j] * at.sigma[j] / work.E[j]
        work.to_w[j], work.to_x[j] = 1.0, 0.0
    if p.lows + p.ups > 0:
        bound_terms(p, at, work)
    for j in range(k):
        e = work.root[j] = sqrt(work.E[j])
        z, to = p.Z + j * l, work.scaled + j * l
        for i in range(l):
            to[i] = z[i] * weight[i] * e
    to = work.scaled + k * l
    for i in range(l):
        to[i] = p.y[i] * weight[i]


cdef inline void border(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Compute the small system S of the rows: their responses to dtheta, by the factor of N."""
    cdef Index a, o, i, j, q, k = p.k, f = p.f, R = p.R
    cdef double t
    cdef double *to
    cdef double *theta = at.P + p.at_rows
    cdef double *kappa = at.Q + p.at_rows
    for a in range(R):
        for q in range(p.linked):
            j = p.of[q]
            work.B[a * k + j] = work.F[j] / work.E[j] * p.A[a * f + p.sigmas[q]]
        to = work.responses + a * (k + 1)
        for j in range(k):
            to[j] = -work.root[j] * (work.B[a * k + j] + p.G[a * k + j])
        to[k] = -p.on_b[a]
        solve_factored(work.N, to, k + 1)
        for j in range(k):
            to[j] *= work.root[j]
    for i in range(f):
        work.g[i] = work.h[i]
    for q in range(p.linked):
        work.g[p.sigmas[q]] = work.kept[p.of[q]]
    for a in range(R):
        for o in range(R):
            t = 0.0
            for i in range(f):
                t += p.A[a * f + i] * work.g[i] * p.A[o * f + i]
            for j in range(k):
                t -= (work.B[a * k + j] + p.G[a * k + j]) * work.responses[o * (k + 1) + j]
            work.S[a * R + o] = t - p.on_b[a] * work.responses[o * (k + 1) + k]
        if a < p.inequalities:
            work.S[a * R + a] += kappa[a] / theta[a]


cdef inline bint direction(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Set dP and (dw, db) to the direction that changes each product by T; return 0 if there is none."""
    cdef Index a, o, i, j, q, k = p.k, l = p.l, f = p.f, R = p.R
    cdef bint bounded = p.lows + p.ups > 0
    cdef double t, side
    cdef double *T = work.T
    cdef double *per_P = work.per_P
    cdef double *right = work.right
    cdef double *c = work.c
    cdef double *g = work.g
    cdef double *tau = work.first
    cdef double *of_g = work.second
    cdef double *da = work.dP
    cdef double *dx = work.dP + p.at_x
    cdef double *dtheta = work.dP + p.at_rows
    for i in range(l):
        da[i] = work.short[i] - work.slack[i] + at.Q[i] + T[i] * per_P[i]
    if not p.squared:
        for i in range(l):
            da[i] -= T[l + i] * per_P[l + i]
    for i in range(l):
        da[i] *= work.inverse[i]
    times(p.Z, da, right, k, l)
    t = at.balance
    for i in range(l):
        t += p.y[i] * da[i]
    right[k] = t
    for i in range(f):
        g[i] = T[p.at_x + i] * per_P[p.at_x + i] - T[p.at_up + i] * per_P[p.at_up + i] + work.miss_x[i]
    if bounded:
        for j in range(k):
            tau[j], of_g[j] = 0.0, 0.0
        for q in range(p.lows):
            j = p.with_low[q]
            t = T[p.at_least + q] * per_P[p.at_least + q]
            tau[j], of_g[j] = t, -t * p.least[j]
        for q in range(p.ups):
            j = p.with_up[q]
            t = T[p.at_largest + q] * per_P[p.at_largest + q]
            tau[j], of_g[j] = tau[j] - t, of_g[j] + t * p.largest[j]
        for j in range(k):
            c[j] = work.to_w[j] * work.miss_w[j] + work.E[j] * tau[j]
    else:
        for j in range(k):
            c[j] = work.miss_w[j]
    for q in range(p.linked):
        j = p.of[q]
        t = g[p.sigmas[q]] + (of_g[j] if bounded else 0.0)
        c[j] += work.F[j] * t
        work.moved[j] = work.slope[j] * t
        if bounded:
            work.moved[j] += work.F[j] * tau[j] + work.to_x[j] * work.miss_w[j]
    for i in range(f):
        g[i] *= work.h[i]
    for q in range(p.linked):
        g[p.sigmas[q]] = work.moved[p.of[q]]
    for j in range(k):
        right[j] = work.root[j] * right[j] + c[j] / work.root[j]
    solve_factored(work.N, right, k + 1)
    for j in range(k):
        right[j] *= work.root[j]
    for a in range(R):
        side = -work.miss_rows[a]
        if a < p.inequalities:
            side += T[p.at_rows + a] * per_P[p.at_rows + a]
        for i in range(f):
            side += p.A[a * f + i] * g[i]
        for j in range(k):
            side += p.G[a * k + j] * right[j] - work.B[a * k + j] * (c[j] - right[j])
        dtheta[a] = side + p.on_b[a] * right[k]
        for o in range(R):
            work.M[a * R + o] = work.S[a * R + o]
    if not eliminate(work.M, dtheta, R):
        return False
    for a in range(R):
        for j in range(k + 1):
            right[j] += dtheta[a] * work.responses[a * (k + 1) + j]
    transposed_times(p.Z, right, work.image, k, l)
    for i in range(l):
        da[i] -= work.inverse[i] * (work.image[i] + p.y[i] * right[k])
    if not p.squared:
        for i in range(l):
            da[l + i] = -da[i]
    for i in range(f):
        t = 0.0
        for a in range(R):
            t += p.A[a * f + i] * dtheta[a]
        work.v[i] = t
        dx[i] = g[i] - work.h[i] * t
    for q in range(p.linked):
        i, j = p.sigmas[q], p.of[q]
        t = (right[j] - c[j]) / work.E[j]
        for a in range(R):
            t += work.B[a * k + j] * dtheta[a]
        dx[i] = g[i] - work.slope[j] * work.v[i] + work.F[j] * t
    for i in range(f):
        dx[f + i] = -dx[i]
    if bounded:
        for j in range(k):
            work.moved[j] = 0.0
        for q in range(p.linked):
            work.moved[p.of[q]] = dx[p.sigmas[q]]
        for q in range(p.lows):
            j = p.with_low[q]
            work.dP[p.at_least + q] = right[j] - p.least[j] * work.moved[j]
        for q in range(p.ups):
            j = p.with_up[q]
            work.dP[p.at_largest + q] = p.largest[j] * work.moved[j] - right[j]
    return True


cdef inline double shrinkage(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Set dQ; return the largest relative decrease of all P and Q."""
    cdef Index q
    cdef double shrink = 0.0
    for q in range(p.pairs):
        work.dQ[q] = (work.T[q] - at.Q[q] * work.dP[q]) * work.per_P[q]
        shrink = max(shrink, max(-work.dP[q] * work.per_P[q], -work.dQ[q] * work.per_Q[q]))
    return shrink


cdef cloned move(Problem *p, Iterate *at, Work *work) noexcept nogil:
    """Take one predictor-corrector step; set ``failed`` if the factorisation or the step fails."""
    cdef Index j, q, n = p.k + 1
    cdef int corrector
    cdef double t = 0.0, ahead, target
    at.failed = True
    for j in range(p.k):
        work.N[j * n + j] += 1.0
    if not p.free_b:
        work.N[n * n - 1] += 1.0
    if not factor(work.N, n):
        return
    border(p, at, work)
    for corrector in range(2):
        if not direction(p, at, work):
            return
        if corrector:
            t = min(1.0, TO_BOUNDARY / max(shrinkage(p, at, work), TINY))
            break
        t = min(1.0, 1.0 / max(shrinkage(p, at, work), TINY))
        ahead = 0.0
        for q in range(p.pairs):
            ahead += (at.P[q] + t * work.dP[q]) * (at.Q[q] + t * work.dQ[q])
        target = at.mu * min(1.0, max(ahead / (p.pairs * at.mu), 1e-6)) ** 3
        for q in range(p.pairs):
            work.T[q] += target - work.dP[q] * work.dQ[q]
    if not isfinite(t) or t < 1e-10:
        return
    for q in range(p.size):
        at.P[q] += t * work.dP[q]
        at.Q[q] += t * work.dQ[q]
    for j in range(p.k):
        at.w[j] += t * work.right[j]
    at.offset += t * work.right[p.k]
    for q in range(p.linked):
        at.sigma[p.of[q]] = p.low[p.sigmas[q]] + at.P[p.at_x + p.sigmas[q]]
    at.failed = False


# ---- the start


cdef inline double start_offset(const double *kinks, const double *y, const double *C, Index l) noexcept nogil:
    """Return approximately the best b: the sum of C over the kinks below it is that of class +1."""
    cdef Index i
    cdef int halving
    cdef double low = INFINITY, high = -INFINITY, rank = 0.0, b, below
    for i in range(l):
        low, high = min(low, kinks[i]), max(high, kinks[i])
        if y[i] > 0:
            rank += C[i]
    for halving in range(HALVINGS):
        b, below = 0.5 * (low + high), 0.0
        for i in range(l):
            if kinks[i] < b:
                below += C[i]
        if below < rank:
            low = b
        else:
            high = b
    return 0.5 * (low + high)


cdef inline void start_point(Problem *p, Iterate *at, Work *work, const double *labels, double biggest) noexcept nogil:
    """Set alpha, w and the offset without a neighbour: alpha balanced by class, w the best multiple of sigma v."""
    cdef Index i, j
    cdef double plus = 0.0, minus = 0.0, summed = 0.0, square_sum = 0.0, less, more, scale
    cdef double *alpha = at.P
    for i in range(p.l):
        if labels[i] > 0:
            plus += p.C[i] / biggest
        else:
            minus += p.C[i] / biggest
    for i in range(p.l):
        alpha[i] = p.C[i] / biggest
        if p.free_b:
            less, more = (minus, plus) if labels[i] > 0 else (plus, minus)
            alpha[i] *= 2.0 * less / (less + more) if p.squared else min(1.0, less / more)
        summed += alpha[i]
        if p.squared:
            square_sum += 0.5 * alpha[i] * alpha[i] / p.C[i]
    times(p.Z, alpha, work.v_all, p.k, p.l)
    for j in range(p.k):
        square_sum += at.sigma[j] * work.v_all[j] * work.v_all[j]
    scale = summed / square_sum if square_sum > 0 else INFINITY
    if not p.squared:
        scale = min(0.5 * biggest, scale)
    for j in range(p.k):
        at.w[j] = scale * at.sigma[j] * work.v_all[j]
    for i in range(p.l):
        alpha[i] *= scale if p.squared else min(0.5 * biggest, max(50 * scale, 0.05 * biggest))
    transposed_times(p.Z, at.w, work.image, p.k, p.l)
    if p.free_b:  # at its kink a sample has the required margin; labels are 1 and -1
        for i in range(p.l):
            work.short[i] = labels[i] * (p.need[i] - work.image[i])
        at.offset = start_offset(work.short, labels, p.C, p.l)


cdef inline void start_weights(Problem *p, Iterate *at) noexcept nogil:
    """Move w into the interior of its bounds."""
    cdef Index j
    cdef double size = 1e-8, lo, hi, room
    for j in range(p.k):
        size = max(size, fabs(at.w[j]))
    for j in range(p.k):
        lo, hi = p.least[j], p.largest[j]
        room = 0.1 * min(size, at.sigma[j] * (hi - lo))
        if lo > -INFINITY:
            at.w[j] = max(at.w[j], at.sigma[j] * lo + room)
        if hi < INFINITY:
            at.w[j] = min(at.w[j], at.sigma[j] * hi - room)


cdef inline void start_pairs(Problem *p, Iterate *at, Work *work, const double *x, double biggest) noexcept nogil:
    """Set all pairs but alpha from the point: both sides positive, products of one size."""
    cdef Index a, i, j, q, k = p.k, l = p.l, f = p.f
    cdef double *alpha = at.P
    cdef double *theta = at.P + p.at_rows
    cdef double *kappa = at.Q + p.at_rows
    cdef double *v = work.v_all
    cdef double mean = 0.0, typical = 0.0, spread, slack, t, size
    for i in range(l):
        work.short[i] = p.need[i] - work.image[i] - p.y[i] * at.offset
        mean += fabs(work.short[i])
        typical += alpha[i]
    mean = max(1e-6 if p.squared else 1.0, mean / l)
    for i in range(l):
        spread = hypot(work.short[i], mean)
        at.Q[i], slack = 0.5 * (spread - work.short[i]), 0.5 * (spread + work.short[i])
        if p.squared:  # as in ``iterates``
            alpha[i] = min(2.0 * p.C[i], LARGER * typical / l) * slack
        else:
            at.P[l + i], at.Q[l + i] = p.C[i] - alpha[i], slack
    times(p.Z, alpha, v, k, l)
    typical = 0.0
    for j in range(k):
        v[j] += p.fixed_v[j]
        typical += v[j] * v[j]
    typical = max(1e-8, 0.5 * typical / max(1, k))
    for i in range(f):
        typical = max(typical, fabs(p.cost[i]))
    for a in range(p.inequalities):
        t = p.b[a]
        for i in range(f):
            t -= p.A[a * f + i] * x[i]
        kappa[a], theta[a] = max(t, 1e-3 * max(1.0, fabs(p.b[a]))), typical
        if p.mixed[a]:
            size, t = 0.0, t - p.on_b[a] * at.offset
            for j in range(k):
                t -= p.G[a * k + j] * at.w[j]
                size = max(size, fabs(p.G[a * k + j]))
            kappa[a] = max(t, max(0.3 * fabs(t), 1e-3 * max(1.0, fabs(p.b[a]))))
            theta[a] = sqrt(2.0 * typical) / size if size > 0.0 else INFINITY
            if p.on_b[a] != 0.0:
                theta[a] = min(theta[a], 0.1 * biggest / fabs(p.on_b[a]))
    # v~ = w / sigma if a multiplier allows it, and products of the size of the others, but no larger v~
    size = 0.3 * sqrt(2.0 * typical)
    for q in range(p.lows):
        j = p.with_low[q]
        t = at.w[j] - at.sigma[j] * p.least[j]
        at.P[p.at_least + q] = t
        at.Q[p.at_least + q] = min(0.3 * typical / t, size) + max(at.w[j] / at.sigma[j] - v[j], 0.0)
    for q in range(p.ups):
        j = p.with_up[q]
        t = at.sigma[j] * p.largest[j] - at.w[j]
        at.P[p.at_largest + q] = t
        at.Q[p.at_largest + q] = min(0.3 * typical / t, size) + max(v[j] - at.w[j] / at.sigma[j], 0.0)
    for i in range(f):
        at.P[p.at_x + i], at.P[p.at_up + i] = x[i] - p.low[i], p.up[i] - x[i]
        at.Q[p.at_x + i] = at.Q[p.at_up + i] = typical


cdef inline void choose_x(Problem *p, double *x) noexcept nogil:
    """Set x (f,) between its bounds, within the inequalities on x alone if possible."""
    cdef Index a, i
    cdef double share, t
    cdef bint fits
    for share in SHARES:
        for i in range(p.f):
            x[i] = p.low[i] + share * (p.up[i] - p.low[i])
        fits = True
        for a in range(p.inequalities):
            t = 0.0
            for i in range(p.f):
                t += p.A[a * p.f + i] * x[i]
            if not p.mixed[a] and not t < p.b[a]:
                fits = False
        if fits:
            return


cdef inline void scores(const double *columns, const Index *which, const double *w, double *out, Index k,
                        Index l) noexcept nogil:
    """Add w_j times the rows ``which`` of the columns to out (l,)."""
    cdef Index i, j
    cdef double x
    cdef const double *row
    for j in range(k):
        x = w[j]
        row = columns + which[j] * l
        for i in range(l):
            out[i] += x * row[i]


cdef inline double hinge(double C, double margin, bint squared) noexcept nogil:
    cdef double slack = max(1.0 - margin, 0.0)
    return C * (slack * slack if squared else slack)


def _floats(array):
    return np.ascontiguousarray(array, dtype=np.float64)


cdef class Node:
    """Relaxation of one node: its data, the iterate, and the memory of an iteration.

    - ``columns`` (K, l): Z of all features; ``which`` (k,): the used rows; ``where`` (k,): their positions in x.
    - ``terms``: the samples and the bounds of these columns.
    - ``cost``, ``lower``, ``upper`` (m,), ``rows``: of x.
    - ``kept``, ``at_bound``: the used samples, and those with alpha = C; the others have alpha = 0.
    - ``start`` (k + 1,): weights and offset of a neighbour, or None.

    ``offset``, ``gap``, ``value`` and ``bound`` are those of the last iterate, on the used samples.
    """

    cdef Problem p
    cdef Iterate at
    cdef Work work
    cdef double *memory
    cdef Index used, most
    cdef const double[:, ::1] columns
    cdef const Index[::1] which, kept, at_bound
    cdef const double[::1] C, need, shift, lower
    cdef object slope, S, N
    cdef Index *free_x  # (f,) places in x
    cdef Index *stays  # (R,) rows that are kept
    cdef Index rows
    cdef readonly Index iterations

    def __init__(self, const double[:, ::1] columns, const Index[::1] which, const Index[::1] where, terms, cost, rows,
                 lower, upper, const Index[::1] kept, const Index[::1] at_bound, start=None):
        cdef const double[::1] y = _floats(terms.y), guess
        self.columns, self.which, self.kept, self.at_bound = columns, which, kept, at_bound
        self.C, self.need, self.shift = _floats(terms.loss.C), _floats(terms.need), _floats(terms.shift)
        self.slope, self.lower = _floats(terms.slope), lower
        self._allocate(which.shape[0], kept.shape[0], cost.size, rows.sides.size)
        self.p.squared, self.p.free_b = terms.loss.squared, terms.loss.free_b
        self._set_columns(terms.least, terms.largest)
        self._set_variables(where, cost, lower, upper)
        self._set_rows(rows, lower, upper)
        self._set_workspace()
        cdef double *x = self.take(self.p.f)
        cdef double *labels = self.take(self.p.l)
        cdef double biggest = 0.0
        cdef Index i, j, q
        for i in range(self.p.l):
            labels[i] = y[kept[i]]
            biggest = max(biggest, self.p.C[i])
        choose_x(&self.p, x)
        for j in range(self.p.k):
            self.at.sigma[j] = self.p.fixed_sigma[j]
        for q in range(self.p.linked):
            self.at.sigma[self.p.of[q]] = x[self.p.sigmas[q]]
        if start is None:
            start_point(&self.p, &self.at, &self.work, labels, biggest)
        else:
            guess = _floats(start)
            for j in range(self.p.k):
                self.at.w[j] = guess[j] if self.at.sigma[j] > 0 else 0.0
            self.at.offset = guess[self.p.k]
            for i in range(self.p.l):
                self.at.P[i] = 0.5 * self.p.C[i]
            transposed_times(self.p.Z, self.at.w, self.work.image, self.p.k, self.p.l)
        if self.p.lows + self.p.ups > 0:
            start_weights(&self.p, &self.at)
            transposed_times(self.p.Z, self.at.w, self.work.image, self.p.k, self.p.l)
        start_pairs(&self.p, &self.at, &self.work, x, biggest)

    def __dealloc__(self):
        free(self.memory)

    cdef int _allocate(self, Index k, Index l, Index m, Index R) except -1:
        """Allocate the memory for all arrays; the sizes are upper bounds of those that the other methods take."""
        self.p.k, self.p.l = k, l
        cdef Index pairs = 2 * l + 2 * m + 2 * k + R
        cdef Index matrices = k * l + R * (m + 3 * (k + 1) + 2 * R)
        self.most = matrices + 7 * pairs + 10 * l + 12 * m + 30 * (k + 1) + 6 * R
        self.memory = <double *>calloc(self.most, sizeof(double))
        if self.memory == NULL:
            raise MemoryError
        return 0

    cdef double *take(self, Index n) except? NULL:
        """Return n numbers, all 0, of the node's memory."""
        if self.used + n > self.most:
            raise MemoryError("the memory of a node was computed too small")
        cdef double *found = self.memory + self.used
        self.used += n
        return found

    cdef Index *take_indices(self, Index n) except? NULL:
        return <Index *>self.take(n)

    cdef int _set_columns(self, least, largest) except -1:
        """Copy Z of the used columns and samples; add up the terms of samples with alpha = C."""
        cdef Index i, j, q
        cdef Problem *p = &self.p
        cdef double t
        cdef const double *row
        cdef const double[::1] slope = self.slope, low = _floats(least), up = _floats(largest)
        p.Z, p.fixed_v = self.take(p.k * p.l), self.take(p.k)
        p.y, p.need, p.C = self.take(p.l), self.take(p.l), self.take(p.l)
        p.least, p.largest = self.take(p.k), self.take(p.k)
        p.with_low, p.with_up = self.take_indices(p.k), self.take_indices(p.k)
        for i in range(p.l):
            q = self.kept[i]
            p.y[i], p.need[i], p.C[i] = self.shift[q], self.need[q], self.C[q]
        p.fixed_y = -slope[p.k]
        for i in range(self.at_bound.shape[0]):
            q = self.at_bound[i]
            p.fixed_y += self.C[q] * self.shift[q]
            p.fixed_sum += self.C[q] * self.need[q]
        for j in range(p.k):
            row = &self.columns[self.which[j], 0]
            for i in range(p.l):
                p.Z[j * p.l + i] = row[self.kept[i]]
            t = -slope[j]
            for i in range(self.at_bound.shape[0]):
                q = self.at_bound[i]
                t += self.C[q] * row[q]
            p.fixed_v[j] = t
            p.least[j], p.largest[j] = low[j], up[j]
            if low[j] > -INFINITY:
                p.with_low[p.lows] = j
                p.lows += 1
            if up[j] < INFINITY:
                p.with_up[p.ups] = j
                p.ups += 1
        return 0

    cdef int _set_variables(self, const Index[::1] where, const double[::1] cost, const double[::1] lower,
                            const double[::1] upper) except -1:
        """Find the free entries of x, and those that are the sigma of a column."""
        cdef Index i, j, m = cost.shape[0]
        cdef Problem *p = &self.p
        cdef Index *column = self.take_indices(m)
        p.cost, p.low, p.up, p.fixed_sigma = self.take(m), self.take(m), self.take(m), self.take(p.k)
        p.sigmas, p.of, self.free_x = self.take_indices(m), self.take_indices(m), self.take_indices(m)
        for i in range(m):
            column[i] = -1
        for j in range(p.k):
            i = where[j]
            column[i] = j
            if lower[i] == upper[i]:
                p.fixed_sigma[j] = lower[i]
        for i in range(m):
            if lower[i] < upper[i]:
                if column[i] >= 0:
                    p.sigmas[p.linked], p.of[p.linked] = p.f, column[i]
                    p.linked += 1
                self.free_x[p.f] = i
                p.cost[p.f], p.low[p.f], p.up[p.f] = cost[i], lower[i], upper[i]
                p.f += 1
            else:
                p.fixed_cost += cost[i] * lower[i]
        return 0

    cdef int _set_rows(self, rows, const double[::1] lower, const double[::1] upper) except -1:
        """Copy the rows on free entries of x; a tight row that the bounds imply would have no interior."""
        weights, offsets = rows.on_weights(self.p.k)
        cdef const double[:, ::1] matrix = rows.arrays[0], G = _floats(weights)
        cdef const double[::1] sides = rows.arrays[1], on_b = _floats(offsets)
        cdef const unsigned char[::1] equal = rows.arrays[2].view(np.uint8)
        cdef Index a, i, j, m = lower.shape[0]
        cdef Problem *p = &self.p
        cdef double side, high, size, t
        cdef bint other
        cdef unsigned char equations
        self.rows = sides.shape[0]
        p.A, p.G = self.take(self.rows * p.f), self.take(self.rows * p.k)
        p.on_b, p.b = self.take(self.rows), self.take(self.rows)
        p.mixed, self.stays = self.take_indices(self.rows), self.take_indices(self.rows)
        for equations in range(2):
            for a in range(self.rows):
                if equal[a] != equations:
                    continue
                other = on_b[a] != 0.0
                for j in range(p.k):
                    other = other or G[a, j] != 0.0
                side, high, size = sides[a], 0.0, 0.0
                for i in range(m):
                    t = matrix[a, i]
                    if lower[i] < upper[i]:
                        high += t * (upper[i] if t > 0 else lower[i])
                        size = max(size, fabs(t))
                    else:
                        side -= t * lower[i]
                if not other and not ((size > 0 or fabs(side) > ROW_TOLERANCE) if equations else high > side):
                    continue
                for i in range(p.f):
                    p.A[p.R * p.f + i] = matrix[a, self.free_x[i]]
                for j in range(p.k):
                    p.G[p.R * p.k + j] = G[a, j]
                    p.on_weights = p.on_weights or G[a, j] != 0.0
                p.b[p.R], p.on_b[p.R], p.mixed[p.R], self.stays[p.R] = side, on_b[a], other, a
                p.R += 1
            if not equations:
                p.inequalities = p.R
        return 0

    cdef int _set_workspace(self) except -1:
        cdef Problem *p = &self.p
        cdef Iterate *at = &self.at
        cdef Work *work = &self.work
        cdef Index k = p.k, l = p.l, f = p.f, R = p.R
        p.at_x = l if p.squared else 2 * l
        p.at_up, p.at_least = p.at_x + f, p.at_x + 2 * f
        p.at_largest = p.at_least + p.lows
        p.at_rows = p.at_largest + p.ups
        p.size, p.pairs = p.at_rows + R, p.at_rows + p.inequalities
        at.P, at.Q, at.sigma, at.w = self.take(p.size), self.take(p.size), self.take(k), self.take(k)
        work.T, work.dP, work.dQ = self.take(p.size), self.take(p.size), self.take(p.size)
        work.per_P, work.per_Q = self.take(p.size), self.take(p.size)
        self.S, self.N = np.empty((k + 1, l)), np.empty((k + 1, k + 1))
        cdef double[:, ::1] S = self.S, N = self.N
        work.scaled, work.N = &S[0, 0], &N[0, 0]
        work.right, work.responses, work.B = self.take(k + 1), self.take(R * (k + 1)), self.take(R * k)
        work.S, work.M, work.miss_rows = self.take(R * R), self.take(R * R), self.take(R)
        work.short, work.slack, work.image = self.take(l), self.take(l), self.take(l)
        work.inverse, work.weight = self.take(l), self.take(l)
        work.v, work.g, work.h, work.miss_x = self.take(f), self.take(f), self.take(f), self.take(f)
        work.v_all, work.v_tilde, work.E, work.root = self.take(k), self.take(k), self.take(k), self.take(k)
        work.c, work.miss_w, work.F, work.slope = self.take(k), self.take(k), self.take(k), self.take(k)
        work.to_w, work.to_x, work.kept, work.moved = self.take(k), self.take(k), self.take(k), self.take(k)
        work.first, work.second, work.third = self.take(k), self.take(k), self.take(k)
        work.spread = self.take(k)
        return 0

    @property
    def offset(self):
        return self.at.offset

    @property
    def gap(self):
        return self.at.gap

    @property
    def value(self):
        return self.at.value

    @property
    def bound(self):
        return self.at.bound

    def advance(self, double accuracy, double enough, Index most):
        """Take up to ``most`` steps; return True if the gap is at most ``accuracy`` or the bound at least ``enough``."""
        cdef Index step, n = self.p.k + 1, l = self.p.l
        cdef double smallest = INFINITY
        cdef int patience = PATIENCE
        cdef bint large = <double>n * n * l > BLAS
        for step in range(most + 1):
            with nogil:
                measure(&self.p, &self.at, &self.work)
            if not isfinite(self.at.gap):
                return False
            patience = PATIENCE if self.at.gap < 0.9 * smallest else patience - 1
            smallest = min(self.at.gap, smallest)
            if self.at.bound >= enough or self.at.gap <= accuracy:
                return True
            if patience <= 0 or step == most:
                return False
            with nogil:
                assemble(&self.p, &self.at, &self.work)
                if not large:
                    square(self.work.scaled, self.work.N, n, l)
            if large:
                np.matmul(self.S, self.S.T, out=self.N)
            with nogil:
                move(&self.p, &self.at, &self.work)
            if self.at.failed:
                return False
            self.iterations += 1
        return False

    def solution(self):
        """Return alpha of all samples, all x, w, theta of all rows, the margins of all samples, and the gap on them."""
        cdef Problem *p = &self.p
        cdef Index a, i, j, samples = self.C.shape[0]
        cdef double gap = self.at.gap, left_out = 0.0
        all_alpha, all_x = np.zeros(samples), np.array(self.lower)
        all_w, all_theta, all_margins = np.empty(p.k), np.zeros(self.rows), np.empty(samples)
        cdef double[::1] alpha = all_alpha, x = all_x, w = all_w, theta = all_theta, margins = all_margins
        cdef const double[::1] slope = self.slope
        for i in range(self.at_bound.shape[0]):
            alpha[self.at_bound[i]] = self.C[self.at_bound[i]]
        for i in range(p.l):
            alpha[self.kept[i]] = self.at.P[i]
        for i in range(p.f):
            x[self.free_x[i]] = min(p.low[i] + self.at.P[p.at_x + i], p.up[i])
        for a in range(p.R):
            theta[self.stays[a]] = self.at.P[p.at_rows + a]
        for j in range(p.k):
            w[j] = self.at.w[j]
        for i in range(samples):
            margins[i] = 1.0 - self.need[i] + self.shift[i] * self.at.offset
        if p.k:
            scores(&self.columns[0, 0], &self.which[0], self.at.w, &margins[0], p.k, samples)
        if p.l < samples:
            for i in range(samples):
                left_out += hinge(self.C[i], margins[i], p.squared)
            for i in range(p.l):
                left_out -= hinge(p.C[i], margins[self.kept[i]], p.squared)
            left_out -= p.fixed_sum - (p.fixed_y + slope[p.k]) * self.at.offset
            for j in range(p.k):
                left_out += (p.fixed_v[j] + slope[j]) * w[j]
            gap += left_out / max(fabs(self.at.value), TINY)
        return all_alpha, all_x, all_w, all_theta, all_margins, gap
