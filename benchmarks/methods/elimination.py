r"""Proven linear SVMs on decreasing sets of features, each started from the multipliers of the previous one.

Let F be the samples with 0 < alpha < C, U those with alpha = C, and z_i = y_i x_i. The optimum satisfies

    [K_FF  y_F] [alpha_F]   [e - C K_FU e]
    [y_F'   0 ] [   b   ] = [ -C y_U'e   ],   K = Z Z'.

If the data are centred and F contains all samples, K is singular. K + s y y' is not; it changes b by a known number,
which is subtracted. From one SVM to the next few samples enter or leave F and U. The primal-dual active set method
starts with the F and U of the previous SVM, solves the system, moves every sample that violates a condition, and
repeats this until no sample moves. It may cycle, and K_FF is singular if F has more samples than there are features; in
these cases ``SvmOracle`` solves the SVM. The result is always proven on the data, to ``TOLERANCE``.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyr

from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.fsp.oracle.problem import Rows, Terms
from fsmodels.models.fsp.oracle.support import SupportProof
from fsmodels.models.fsp.oracle.svm_solvers import Backoff
from fsmodels.models.proofs.svm import Hinge

TOLERANCE = 1e-7  # relative gap of the objective; the error of the weights is about its square root
ROUNDS = 20
RIDGE = 1e-10  # relative to the diagonal of K
INSIDE = 1e-6  # distance of the multipliers in F from 0 and from C, relative to C
MARGIN_TOLERANCE = 1e-9  # violation of a margin above which its sample moves
SHARE, SAMPLES = 8, 4000  # with fewer than samples / SHARE features, or with more samples, the oracle is faster


class Elimination:
    """Linear SVM on the features ``left`` for one C; ``fast`` is the number of SVMs solved without the oracle."""

    def __init__(self, data, C):
        self._oracle, self._sigma = SvmOracle(data.X, data.y, C), np.ones(data.n_features)
        self._y, self._C = data.y, np.full(len(data.y), float(C))
        self._mean = data.X.mean(axis=0)
        self._X = np.asfortranarray(data.X - self._mean)  # its first columns are those of the features left
        self._features, self._alpha, self.fast = np.arange(data.n_features), None, 0
        self._gram, self._more, self._tries = None, 0.0, Backoff()  # K + s y y', s, and when to try the fast method

    @property
    def left(self):
        """Return the positions of the features that are left."""
        return np.sort(self._features)

    @property
    def inside(self):
        """Return True if no multiplier of the last SVM is at C; it is then optimal for every larger C, too."""
        return bool((self._alpha < (1 - INSIDE) * self._C).all())

    def solve(self):
        """Return the weights of all features, 0 for removed ones, and the offset."""
        found, k, samples = None, len(self._features), len(self._y)
        if self._alpha is not None and k * SHARE >= samples and samples <= SAMPLES and self._tries.due():
            found = self._from_last()
            self._tries.record(success=found is not None)
        w, b = found or self._afresh()
        return w, b - float(self._mean @ w)

    def drop(self, feature):
        """Drop a feature, by its position in the data."""
        place, last = int(np.flatnonzero(self._features == feature)[0]), len(self._features) - 1
        if self._gram is not None:
            self._gram = dsyr(-1.0, self._y * self._X[:, place], a=self._gram, lower=1, overwrite_a=True)
        self._X[:, place], self._features[place] = self._X[:, last], self._features[last]
        self._features, self._sigma[feature] = self._features[:last], 0.0

    def _afresh(self):
        found = self._oracle.solve(self._sigma, tolerance=TOLERANCE)
        self._alpha = found.alpha
        return found.w, found.b + float(self._mean @ found.w)

    def _from_last(self):
        """Return w and b of the centred data, None if the method does not converge."""
        y, C, k = self._y, self._C, len(self._features)
        X = self._X[:, :k]
        if self._gram is None:
            signed = y[:, None] * X
            self._gram = np.asfortranarray(signed @ signed.T)
            self._more = float(np.trace(self._gram)) / len(y)
            self._gram += self._more * np.outer(y, y)
        free = (self._alpha > INSIDE * C) & (self._alpha < (1 - INSIDE) * C)
        most, seen = self._alpha >= (1 - INSIDE) * C, set()
        while len(seen) < ROUNDS:
            sides = free.tobytes(), most.tobytes()
            seen.add(sides)
            alpha = self._on_sides(X, free, most)
            if alpha is None:
                return None
            w, b = X.T @ (y * alpha[:-1]), alpha[-1]
            alpha, margin = alpha[:-1], y * (X @ w + b)
            high, low = free & (alpha > C), free & (alpha < 0)
            joins = (~free & ~most & (margin < 1 - MARGIN_TOLERANCE)) | (most & (margin > 1 + MARGIN_TOLERANCE))
            free, most = (free & ~high & ~low) | joins, (most & ~joins) | high
            if sides == (free.tobytes(), most.tobytes()):
                break
            if (free.tobytes(), most.tobytes()) in seen:
                return None
        rows = Rows(np.empty((0, k)), np.empty(0), np.empty(0, bool))
        proof = SupportProof(X, np.ones(k), Terms.plain(y, Hinge(C), k), rows)
        proof.try_point(w, b)
        proof.try_multipliers(alpha, np.empty(0))
        if proof.gap > TOLERANCE:
            return None
        self._alpha, self.fast = alpha, self.fast + 1
        weights = np.zeros(len(self._sigma))
        weights[self._features] = proof.w
        return weights, proof.b

    def _on_sides(self, X, free, most):
        """Return alpha followed by b: margins of ``free`` are 1, alpha is C for ``most`` and 0 for the others."""
        y, F = self._y, np.flatnonzero(free)
        alpha = np.where(most, self._C, 0.0)
        system = self._gram[np.ix_(F, F)]
        system[np.diag_indices(F.size)] *= 1 + RIDGE
        try:
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        right = 1 - y[F] * (X[F] @ (X.T @ (y * alpha)))
        bare, of_b = cho_solve(factor, np.column_stack([right, y[F]]), check_finite=False).T
        slope = float(y[F] @ of_b)
        if not slope > 0:
            return None
        at_bound = float(y @ alpha)
        b = (float(y[F] @ bare) + at_bound) / slope
        alpha[F] = bare - b * of_b
        return np.append(alpha, b - self._more * at_bound)
