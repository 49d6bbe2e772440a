# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What multipliers prove, in compiled code: ``problem`` for a relaxation and ``proofs.svm`` for SUB.

Only the multipliers come from the loop. Everything else is computed from the data, Z = X' diag(y) with one row per
feature. At the nodes of a tree the calls of numpy would cost as much as the loop.

Bounds are reduced by what rounding may have added: ``proofs.svm`` derives ``unit`` and the error of v_j, whose sizes
a_j = sum_i alpha_i |z_ij| are summed with v. They hold for sums in any order, which the compiler may choose.
"""

from libc.math cimport INFINITY, copysign, fabs, isfinite, rint

import numpy as np

from fsmodels.models.fsp.oracle.clones cimport cloned

cdef double EPSILON = np.finfo(float).eps
cdef int HALVINGS = 50  # of the interval that holds the best b

ctypedef Py_ssize_t Index


cdef struct Samples:
    Index l
    const double *y
    const double *C
    bint squared, free_b


cdef struct Sums:
    double total  # e'alpha
    double curved  # sum alpha^2 / (4 C) with the squared hinge, else 0


cdef cloned repair(Samples *p, double *alpha, Sums *sums) noexcept nogil:
    """Put alpha within [0, C] (squared hinge: at least 0), with y'alpha = 0 if b is free."""
    cdef Index i
    cdef double plus = 0.0, minus = 0.0, share = 1.0, larger
    for i in range(p.l):
        alpha[i] = max(alpha[i], 0.0) if p.squared else min(max(alpha[i], 0.0), p.C[i])
        if p.y[i] > 0:
            plus += alpha[i]
        else:
            minus += alpha[i]
    if p.free_b:
        larger = max(plus, minus)
        share = min(plus, minus) / (larger if larger != 0.0 else 1.0)
    sums.total = sums.curved = 0.0
    for i in range(p.l):
        if (p.y[i] > 0) == (plus > minus):
            alpha[i] *= share
        sums.total += alpha[i]
        if p.squared:
            sums.curved += 0.25 * alpha[i] * alpha[i] / p.C[i]


cdef cloned products(const double *Z, const double *alpha, double *v, double *sizes, Index n, Index l) noexcept nogil:
    """Set v (n,) to Z alpha, and sizes to the sums of the absolute values of its terms."""
    cdef Index i, j
    cdef double t, size
    cdef const double *row
    for j in range(n):
        row, t, size = Z + j * l, 0.0, 0.0
        for i in range(l):
            t += row[i] * alpha[i]
            size += fabs(row[i]) * alpha[i]
        v[j], sizes[j] = t, size


cdef inline double rounding_unit(Index samples, Index terms) noexcept nogil:
    """Return ``proofs.svm.unit``."""
    return EPSILON * (3 * samples + terms + 20)


cdef inline double best_b(Samples *p, const double *kinks) noexcept nogil:
    """Return the middle of the best b, by halving: they lie between the kinks where the sums of C pass class +1's."""
    cdef Index i
    cdef int halving
    cdef double low = INFINITY, high = -INFINITY, rank = 0.0, close = 0.0, last, below = 0.0, b, left, right
    for i in range(p.l):
        low, high = min(low, kinks[i]), max(high, kinks[i])
        close += 64 * EPSILON * p.C[i]  # what another order of the sum may change
        if p.y[i] > 0:
            rank += p.C[i]
    last = high
    high += max(fabs(high), fabs(low)) * EPSILON + 1e-300  # no kink lies at it, or beyond
    for halving in range(HALVINGS):
        b, below = 0.5 * (low + high), 0.0
        for i in range(p.l):
            if kinks[i] < b:
                below += p.C[i]
        if below < rank - close:
            low = b
        else:
            high = b
    left, right, below = -INFINITY, last, 0.0
    for i in range(p.l):
        if kinks[i] < high:
            left = max(left, kinks[i])
            below += p.C[i]
        else:
            right = min(right, kinks[i])
    return left if below > rank + close else 0.5 * (left + right)


cdef inline double best_squared_b(Samples *p, const double *images, const double *kinks) noexcept nogil:
    """Return the best b with the squared hinge: the mean kink of those with a slack there, by Newton in brackets."""
    cdef Index i
    cdef int halving
    cdef double low = -INFINITY, high = INFINITY  # the kinks of class +1 end, those of class -1 begin
    cdef double first = INFINITY, last = -INFINITY, b, to, slope, curvature, slack
    for i in range(p.l):
        first, last = min(first, kinks[i]), max(last, kinks[i])
        if p.y[i] > 0:
            low = max(low, kinks[i])
        else:
            high = min(high, kinks[i])
    if low <= high:
        return 0.5 * (low + high)
    low, high, b = first, last, 0.5 * (first + last)
    for halving in range(HALVINGS):
        slope, curvature = 0.0, 0.0
        for i in range(p.l):
            slack = 1.0 - images[i] - p.y[i] * b
            if slack > 0:
                slope -= p.C[i] * p.y[i] * slack
                curvature += p.C[i]
        if slope > 0:
            high = b
        else:
            low = b
        to = b - slope / curvature if curvature > 0 else 0.5 * (low + high)
        if fabs(to - b) <= 4 * EPSILON * (fabs(b) + 1.0):
            return to
        b = to if low < to < high else 0.5 * (low + high)
    return b


cdef cloned value_at(
    Samples *p, const double *Z, const Index *which, const double *sigma, const double *w, Index k, double *images,
    double *kinks, double *value, double *b
) noexcept nogil:
    """Compute the images of w, the best b and the objective of SUB there."""
    cdef Index i, j
    cdef double x, slack, found = 0.0
    cdef const double *row
    for i in range(p.l):
        images[i] = 0.0
    for j in range(k):
        x = w[j]
        found += 0.5 * x * x / sigma[j]
        row = Z + which[j] * p.l
        for i in range(p.l):
            images[i] += x * row[i]
    b[0] = 0.0
    if p.free_b:
        for i in range(p.l):
            kinks[i] = p.y[i] * (1.0 - images[i])
        b[0] = best_squared_b(p, images, kinks) if p.squared else best_b(p, kinks)
    for i in range(p.l):
        slack = max(1.0 - images[i] - p.y[i] * b[0], 0.0)
        found += p.C[i] * (slack * slack if p.squared else slack)
    value[0] = found


def relaxed(
    const double[:, ::1] Z, const Index[::1] which, const Index[::1] where, const double[::1] y, const double[::1] C,
    const double[::1] cost, rows, const double[::1] lower, const double[::1] upper, multipliers,
    const double[::1] theta, bint squared, bint free_b
):
    """Return the bound of ``JointProblem.proven``, alpha as it is used, the reduced costs, and v of all of Z."""
    cdef const double[:, ::1] matrix = rows.arrays[0]
    cdef const double[::1] sides = rows.arrays[1]
    cdef const unsigned char[::1] equal = rows.arrays[2].view(np.uint8)
    cdef Index a, i, j, m = cost.shape[0], R = sides.shape[0], n = Z.shape[0], l = y.shape[0]
    cdef Samples samples = Samples(l, &y[0], &C[0], squared, free_b)
    cdef Sums sums
    cdef double rounding = rounding_unit(l, m + R), bound, lost, side, size, t, held, d, error, at, at_fixed = 0.0
    cdef double held_half = 0.0
    cdef bint whole
    own_alpha, own_v, own_reduced = np.array(multipliers, dtype=float), np.empty(n), np.empty(m)
    cdef double[::1] alpha = own_alpha, v = own_v, reduced = own_reduced, sizes = np.empty(n)
    cdef double[::1] half = np.zeros(m), half_size = np.zeros(m)
    with nogil:
        repair(&samples, &alpha[0], &sums)
        if n:
            products(&Z[0, 0], &alpha[0], &v[0], &sizes[0], n, l)
        for j in range(which.shape[0]):
            t, size = v[which[j]], sizes[which[j]]
            half[where[j]] = 0.5 * t * t
            half_size[where[j]] = 0.5 * t * t + fabs(t) * size + 0.5 * rounding * size * size
        bound, lost = sums.total - sums.curved, sums.total + sums.curved
        for a in range(R):
            side, size, whole = sides[a], fabs(sides[a]), sides[a] == rint(sides[a])
            t = theta[a] if equal[a] else max(theta[a], 0.0)
            for i in range(m):
                if lower[i] == upper[i]:
                    held = matrix[a, i] * lower[i]
                    side, size, whole = side - held, size + fabs(held), whole and held == rint(held)
            bound -= side * t
            lost += fabs(side * t) + (0.0 if whole else size * fabs(t))
        for i in range(m):
            d, size = cost[i] - half[i], fabs(cost[i]) + half_size[i]
            for a in range(R):
                t = theta[a] if equal[a] else max(theta[a], 0.0)
                d, size = d + matrix[a, i] * t, size + fabs(matrix[a, i] * t)
            error = rounding * size
            if lower[i] == upper[i]:
                at_fixed += cost[i] * lower[i]
                held_half += half[i] * lower[i]
                lost += (fabs(cost[i]) + half_size[i]) * fabs(lower[i])
            else:
                at = lower[i] if d > 0 else upper[i]
                bound += d * at - error * fabs(at)
            bound -= max(error - fabs(d), 0.0) * (upper[i] - lower[i])
            reduced[i] = copysign(max(fabs(d) - error, 0.0), d)
        bound += at_fixed - held_half - rounding * lost
    return bound, own_alpha, own_reduced, own_v


def supported(
    const double[:, ::1] Z, const Index[::1] which, const double[::1] sigma, const double[::1] y,
    const double[::1] C, multipliers, const double[::1] w, bint squared, bint free_b
):
    """Return of SUB at sigma > 0 (k,): value at w and its best b, that b, bound, alpha as it is used, v of all of Z.

    As ``proofs.svm.SvmProof`` has it.
    """
    cdef Index i, j, k = which.shape[0], n = Z.shape[0], l = y.shape[0]
    cdef Samples samples = Samples(l, &y[0], &C[0], squared, free_b)
    cdef Sums sums
    cdef double rounding = rounding_unit(l, k), square = 0.0, errors = 0.0, most = INFINITY, t, bound, size
    cdef double value = 0.0, b = 0.0
    own_alpha, own_v = np.array(multipliers, dtype=float), np.empty(n)
    cdef double[::1] alpha = own_alpha, v = own_v, sizes = np.empty(n), images = np.empty(l), kinks = np.empty(l)
    with nogil:
        repair(&samples, &alpha[0], &sums)
        if n:
            products(&Z[0, 0], &alpha[0], &v[0], &sizes[0], n, l)
        for j in range(k):
            t, size = v[which[j]], sizes[which[j]]
            square += sigma[j] * t * t
            errors += sigma[j] * (fabs(t) * size + 0.5 * rounding * size * size)
        if not squared:
            for i in range(l):
                if alpha[i] > 0:
                    most = min(most, C[i] / alpha[i])
        t = min(most, sums.total / (square + 2.0 * sums.curved)) if square + sums.curved > 0 else most
        if not isfinite(t):
            t = 1.0
        for i in range(l):
            alpha[i] = t * alpha[i] if squared else min(t * alpha[i], C[i])
        for j in range(n):
            v[j] *= t
        bound = t * sums.total - t * t * (0.5 * square + sums.curved)
        bound -= rounding * (t * sums.total + t * t * (0.5 * square + sums.curved + errors))
        value_at(
            &samples, &Z[0, 0] if n else NULL, &which[0] if k else NULL, &sigma[0] if k else NULL,
            &w[0] if k else NULL, k, &images[0], &kinks[0], &value, &b
        )
    return value, b, bound, own_alpha, own_v
