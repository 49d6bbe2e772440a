# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Bound of the multipliers of a relaxation in compiled code: ``JointProblem.proven`` of ``problem`` without edits.

Only the multipliers come from the loop. All other numbers are computed from the data, Z = X' diag(y) with one row per
feature. At the nodes of a tree calls of numpy would take as much time as the loop.

Bounds are reduced by the possible rounding error: ``proofs.svm`` derives ``unit`` and the error of v_j, whose sizes
a_j = sum_i alpha_i |z_ij| are summed with v. The errors are valid for any order of summation, which the compiler may
choose.
"""

from libc.math cimport copysign, fabs, rint

import numpy as np

from fsmodels.models.fsp.oracle.clones cimport cloned

cdef double EPSILON = np.finfo(float).eps

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


cdef cloned multiply(const double *Z, const double *a, double *v, double *sizes, Index n, Index l) noexcept nogil:
    """Set v (n,) to Z a, and sizes to the sums of the absolute values of its terms."""
    cdef Index i, j
    cdef double t, size
    cdef const double *row
    for j in range(n):
        row, t, size = Z + j * l, 0.0, 0.0
        for i in range(l):
            t += row[i] * a[i]
            size += fabs(row[i] * a[i])
        v[j], sizes[j] = t, size


def products(const double[:, ::1] Z, const double[::1] a):
    """Return Z a (n,) and the sums of the absolute values of its terms, in one pass over Z (n, l)."""
    cdef Index n = Z.shape[0], l = Z.shape[1]
    own_v, own_sizes = np.zeros(n), np.zeros(n)
    cdef double[::1] v = own_v, sizes = own_sizes
    with nogil:
        if n and l:
            multiply(&Z[0, 0], &a[0], &v[0], &sizes[0], n, l)
    return own_v, own_sizes


cdef inline double rounding_unit(Index samples, Index terms) noexcept nogil:
    """Return ``proofs.svm.unit``."""
    return EPSILON * (3 * samples + terms + 20)


def relaxed(
    const double[:, ::1] Z, const Index[::1] which, const Index[::1] where, const double[::1] y, const double[::1] C,
    const double[::1] cost, rows, const double[::1] lower, const double[::1] upper, multipliers,
    const double[::1] theta, bint squared, bint free_b
):
    """Return the bound of ``JointProblem.proven``, the repaired alpha, the reduced costs, and v of all rows of Z."""
    cdef const double[:, ::1] matrix = rows.arrays[0]
    cdef const double[::1] sides = rows.arrays[1]
    cdef const unsigned char[::1] equal = rows.arrays[2].view(np.uint8)
    cdef Index a, i, j, m = cost.shape[0], R = sides.shape[0], n = Z.shape[0], l = y.shape[0]
    cdef Samples samples = Samples(l, &y[0], &C[0], squared, free_b)
    cdef Sums sums
    cdef double rounding = rounding_unit(l, m + R), bound, lost, side, size, t, product, d, error, at, at_fixed = 0.0
    cdef double held_half = 0.0
    cdef bint whole
    own_alpha, own_v, own_reduced = np.array(multipliers, dtype=float), np.empty(n), np.empty(m)
    cdef double[::1] alpha = own_alpha, v = own_v, reduced = own_reduced, sizes = np.empty(n)
    cdef double[::1] half = np.zeros(m), half_size = np.zeros(m)
    with nogil:
        repair(&samples, &alpha[0], &sums)
        if n:
            multiply(&Z[0, 0], &alpha[0], &v[0], &sizes[0], n, l)
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
                    product = matrix[a, i] * lower[i]
                    side, size, whole = side - product, size + fabs(product), whole and product == rint(product)
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
