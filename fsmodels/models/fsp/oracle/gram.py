r"""Sequential minimal optimisation (libsvm) for the SVM of a large support, on its Gram matrix in single precision.

An interior point costs O(l k^2) at every iteration; K = Z Z' costs O(l^2 k) once, and half of that in single precision.
From about k = l/8 on this is faster: at l = 1000 and k = 800 20 ms for 150, at 5000 and 10,000 4 s for 20. libsvm stops
anywhere with 0 <= alpha <= C and y'alpha = 0, so that ``SvmProof`` certifies its answer like any other. What single
precision or hard data leave open is for the interior point.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.blas import ssyrk

from fsmodels.models.libsvm import seconds, svc
from fsmodels.models.proofs.svm import Array, SvmProof

METHOD = "libsvm-gram"
PRECISION = 1e-6  # relative gaps below this are out of reach in single precision
BLOCK = 1000  # columns turned to single precision at a time
PASSES = 60  # most libsvm iterations, in units of k^2 / l: a third of what the interior point costs


class Backoff:
    """Leaves out an attempt, then two, four, up to 32, after as many failures in a row."""

    def __init__(self) -> None:
        self._failures = self._wait = 0

    def due(self) -> bool:
        """Tell whether to try now."""
        self._wait -= 1
        return self._wait < 0

    def learn(self, success: bool) -> None:
        """Record how the attempt ended."""
        self._failures = 0 if success else min(self._failures + 1, 5)
        self._wait = 0 if success else 2**self._failures


def worth_trying(samples: int, features: int, tolerance: float, left: float = math.inf) -> bool:
    """Tell whether the Gram matrix is likely the faster way, and ends in time: nothing in it can be broken off."""
    large = features >= max(samples / 8, 6 * math.sqrt(samples))
    return tolerance >= PRECISION and large and seconds(samples, features) <= left


def improve(proof: SvmProof, columns: Array, root: Array, tolerance: float) -> int:
    """Offer libsvm's answer to the proof; return its iterations.

    ``columns``: array (l, k). ``root`` (k,): square roots of sigma.
    """
    y = proof.y
    gram = _gram(columns, root)
    if not np.isfinite(gram).all():  # beyond single precision
        return 0
    k = min(root.size, y.size)
    most = int(max(2 * y.size, PASSES * k * k / y.size))
    # The gap is about tol times the sum of alpha: separable data, whose value is far below C l, need a smaller tol.
    share = max(1e-3, proof.bound / proof.at_zero)
    tight = min(1e-3, 10 * tolerance * share)
    machine = svc(1.0, strict=False, kernel="precomputed", tol=tight, max_iter=most, cache_size=500)
    machine.fit(gram, y, sample_weight=proof.loss.C)
    alpha = np.zeros(y.size)
    alpha[machine.support_] = machine.dual_coef_[0] * y[machine.support_]
    proof.try_u(proof.try_alpha(alpha))
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
