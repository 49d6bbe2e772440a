r"""Sequential minimal optimisation (libsvm) for the SVM of a large support, on its Gram matrix in single precision.

An interior point method needs O(l k^2) per iteration; K = Z Z' needs O(l^2 k) once, and half of it in single precision.
From about k = l/8 on this is faster: at l = 1000 and k = 800 20 ms instead of 150, at 5000 and 10,000 4 s instead of
20. The multipliers of libsvm satisfy 0 <= alpha <= C and y'alpha = 0, and ``SupportProof`` certifies them. The interior
point method closes the gap that remains with single precision or on difficult data.

Newton's method for the SVM of one support with the squared hinge; symbols are those of ``fsp.oracle``.

.. math::
    \min_{u, b}\ F(u, b) = \tfrac12 u^\top u + \sum_i C_i \max(0, m_i)^2, \quad m = e - Z u - y b

is convex, its slope is piecewise linear, and on the samples A = {i : m_i > 0} it is a least-squares problem. Its
optimum on A is the full Newton step; with exact line searches (F is piecewise quadratic along a line) the method ends
at the optimum, whose A is its own, after finitely many steps: 3 to 10 are usual, each O(\|A\| k^2).

* k <= \|A\|: the normal equations, D = diag(2 C_A) ::

      [ I + Z_A'D Z_A   Z_A'D y_A ] [u]   [ Z_A'D e ]
      [    y_A'D Z_A    y_A'D y_A ] [b] = [ y_A'D e ]

* k > \|A\|: (Z_A Z_A' + D^-1) alpha = e - y_A b, y_A'alpha = 0, u = Z_A'alpha.

Without an offset b is 0, and its column and equation do not exist. At the optimum alpha_i = 2 C_i max(0, m_i) are the
multipliers: y'alpha = 0 is the equation of b, and u = Z'alpha.

Mangasarian 2002, "A finite Newton method for classification"; Keerthi and DeCoste 2005, "A modified finite Newton
method for fast solution of large scale linear SVMs".
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from fsmodels.models.fsp.oracle.support import SupportProof
from fsmodels.models.libsvm import seconds, svc
from fsmodels.models.proofs.svm import Array

GRAM = "libsvm-gram"
PRECISION = 1e-6  # smallest relative gap in single precision
BLOCK = 1000  # columns that are converted to single precision together
PASSES = 60  # limit of libsvm iterations, in units of k^2 / l: a third of the time of the interior point method


class Backoff:
    """Exponential backoff: after consecutive failures skip 1, 2, 4, ... up to 32 attempts."""

    def __init__(self) -> None:
        self._failures = self._wait = 0

    def due(self) -> bool:
        """Return True if the next attempt is due."""
        self._wait -= 1
        return self._wait < 0

    def record(self, *, success: bool) -> None:
        """Record the result of an attempt."""
        self._failures = 0 if success else min(self._failures + 1, 5)
        self._wait = 0 if success else 2**self._failures


def worth_trying(samples: int, features: int, tolerance: float, left: float = math.inf) -> bool:
    """Return True if the Gram matrix is probably faster and within the time; it cannot be interrupted."""
    large = features >= max(samples / 8, 6 * math.sqrt(samples))
    return tolerance >= PRECISION and large and seconds(samples, features) <= left


def improve_by_libsvm(proof: SupportProof, tolerance: float) -> int:
    """Improve the proof by libsvm; return its iterations."""
    y, loss, sigma = proof.terms.y, proof.terms.loss, proof.sigma
    gram = _gram(proof.columns, np.sqrt(sigma))
    if not np.isfinite(gram).all():  # beyond single precision
        return 0
    k = sigma.size
    most = int(max(2 * y.size, PASSES * k * k / y.size))
    # The gap is about tol times the sum of alpha: separable data with a value far below C l need a smaller tol.
    share = max(1e-3, proof.bound / loss.gained(loss.at_zero(y)))
    tight = min(1e-3, 10 * tolerance * share)
    machine = svc(1.0, strict=False, kernel="precomputed", tol=tight, max_iter=most, cache_size=500)
    machine.fit(gram, y, sample_weight=loss.C)
    alpha = np.zeros(y.size)
    alpha[machine.support_] = machine.dual_coef_[0] * y[machine.support_]
    proof.try_point(proof.try_multipliers(alpha, proof.theta), 0.0)
    return int(machine.n_iter_[0])


def _gram(columns: Array, root: Array) -> Array:
    """Return X_S diag(sigma_S) X_S' (l, l), computed in single precision."""
    rows = columns.shape[0]
    gram = np.zeros((rows, rows), dtype=np.float32, order="F")
    for start in range(0, root.size, BLOCK):
        part = slice(start, start + BLOCK)
        with np.errstate(over="ignore"):
            block = np.multiply(columns[:, part], root[part], order="F").astype(np.float32)
        gram = ssyrk(1.0, block, beta=1.0, c=gram, lower=0, overwrite_c=1)
    upper = np.triu(gram, 1)
    gram += upper.T
    return gram.astype(float)


NEWTON = "newton"
ITERATION_LIMIT = 100
LINE = 60  # steps of a line search
TINY = 1e-300


def improve_by_newton(proof: SupportProof, tolerance: float, deadline: float) -> int:
    """Run Newton's method from the best point to the tolerance or a limit; return the iterations."""
    y, C, free_b, root = proof.terms.y, proof.terms.loss.C, proof.terms.loss.free_b, np.sqrt(proof.sigma)
    Z = np.multiply(proof.columns, root)
    Z *= y[:, None]
    u, b = np.zeros(root.size) if proof.w is None else proof.w / root, proof.b
    shift = proof.terms.shift
    missing = 1 - Z @ u - shift * b
    for iteration in range(1, ITERATION_LIMIT + 1):
        if time.perf_counter() >= deadline:
            return iteration - 1
        active = np.flatnonzero(missing > 0)
        to = _optimum(Z[active], y[active], C[active], free_b=free_b) if active.size else (np.zeros(u.size), b)
        if to is None:
            return iteration - 1
        du, db = to[0] - u, to[1] - b
        moved = Z @ du + shift * db
        t = _line_search(u, du, missing, moved, C)
        u, b, missing = u + t * du, b + t * db, missing - t * moved
        converged = t == 1.0 and bool(np.all((missing > 0)[active])) and np.count_nonzero(missing > 0) == active.size
        if converged or iteration % 5 == 0 or t == 0.0:
            missing = 1 - Z @ u - shift * b  # without accumulated rounding errors
            proof.try_point(root * u, b)
            proof.try_multipliers(2 * C * np.maximum(missing, 0.0), proof.theta)
            if proof.gap <= tolerance or converged or t == 0.0:
                return iteration
    return ITERATION_LIMIT


def _optimum(Z: Array, y: Array, C: Array, *, free_b: bool) -> tuple[Array, float] | None:
    """Return the optimum of the least-squares problem on samples; None if the factorisation fails."""
    if Z.shape[1] > y.size:
        K = dsyrk(1.0, Z, lower=1)
        np.einsum("ii->i", K)[:] += 0.5 / C
        factor, info = dpotrf(K, lower=1)
        if info:
            return None
        along_e, along_y = dpotrs(factor, np.column_stack([np.ones(y.size), y]), lower=1)[0].T
        b = float(y @ along_e) / float(y @ along_y) if free_b else 0.0
        return Z.T @ (along_e - b * along_y), b
    root = np.sqrt(2.0 * C)
    A = np.column_stack([Z, y if free_b else np.zeros(y.size)]) * root[:, None]
    H = dsyrk(1.0, A, trans=1, lower=1)
    np.einsum("ii->i", H)[: None if not free_b else -1] += 1.0
    factor, info = dpotrf(H, lower=1)
    if info:
        return None
    point = dpotrs(factor, A.T @ root, lower=1)[0]
    return point[:-1], float(point[-1])


def _line_search(u: Array, du: Array, missing: Array, moved: Array, C: Array) -> float:
    """Return the t in (0, 1] that minimises F(u + t du, b + t db); 1 if the slope at 1 is not positive."""
    first, second = float(u @ du), float(du @ du)

    def slope(t: float) -> tuple[float, float]:
        short = missing - t * moved
        inside = short > 0
        delta = moved[inside]
        weighted = 2 * C[inside] * delta
        return first + t * second - float(short[inside] @ weighted), second + float(delta @ weighted)

    low, high, t = 0.0, 1.0, 1.0
    start = abs(slope(0.0)[0])
    for _ in range(LINE):
        value, curvature = slope(t)
        if value > 0:
            high = t
        elif t == 1.0:
            return 1.0
        else:
            low = t
        if abs(value) <= 1e-9 * start or high - low <= 1e-12:
            return t
        newton = t - value / max(curvature, TINY)
        t = newton if low < newton < high else 0.5 * (low + high)
    return t
