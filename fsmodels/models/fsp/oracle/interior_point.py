"""Interior point for the SVM of one support; symbols and equations are those of ``fsp.oracle``.

Primal-dual interior point: Mehrotra's predictor and corrector and one Gondzio centrality corrector on ::

    u = Z' alpha        y' alpha = 0        Z u + y b + xi - s = e
    alpha s = mu        beta xi = mu        alpha + beta = C           (mu -> 0, products by component)

Linearise and eliminate ds = (r_s - s da)/alpha, dxi = (r_xi + xi da)/beta. With D = diag(s/alpha + xi/beta) > 0 ::

    D da + Z du + y db = r := r_p + r_s/alpha - r_xi/beta,    du - Z' da = r_u,    y' da = r_e.

* k <= l: da = D^-1 (r - Z du - y db) leaves positive definite normal equations of size k + 1, in O(l k^2) ::

    [ I + Z' D^-1 Z    Z' D^-1 y ] [du]   [ r_u + Z' D^-1 r ]
    [     y' D^-1 Z    y' D^-1 y ] [db] = [ y' D^-1 r - r_e ]

  This is (D + Z Z')^-1 by Sherman-Morrison-Woodbury with u kept as a variable, which spares the cancellation in
  Z' alpha - u. X is centred first: b absorbs the shift, and large column means no longer spoil the matrix.
* k > l: u = Z' gamma, gamma (l,), needs only K = Z Z': (D + K) da = r - K r_gamma - y db by Cholesky, db from
  y' da = r_e, dgamma = da + r_gamma, r_gamma = alpha - gamma. O(l^2 k) once, O(l^3 / 3) an iteration. If K
  stalls (it squares the scales of the columns), Z' = Q R and the first form runs with R' (l, l) and Q'u.

Mehrotra 1992. Ferris and Munson 2002, "Interior-point methods for massive support vector machines": low-rank normal
equations. Gondzio 1996: centrality correctors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from fsmodels.models.proofs.svm import Array, Hinge, PrimalDual, SvmProof


def cholesky(H: Array) -> Array | None:
    """Lower Cholesky factor, with a relative shift of the diagonal where rounding made H singular."""
    diagonal = H.diagonal().copy()
    for shift in (0.0, 1e-15, 1e-13, 1e-11):
        np.einsum("ii->i", H)[:] = diagonal * (1 + shift)
        factor, info = dpotrf(H, lower=1)
        if info == 0:
            return factor
    return None


class FeatureSystem:
    """Solves ``D da + Z dw + y db = r``, ``Z' da - E^-1 dw = -E^-1 c``, ``y' da = e`` with k + 1 normal equations.

    Where y is 0, and e, so is db.
    """

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled = np.empty((y.size, Z.shape[1] + 1), order="F")
        self._rows = np.empty_like(self._scaled)
        self._scaled[:, -1] = y
        self._alone = 0.0 if y.any() else 1.0

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system of these diagonals; whether it could be."""
        self._inverse, self._root = 1 / D, np.sqrt(E)
        np.multiply(self._Z, self._root, out=self._scaled[:, :-1])
        np.multiply(self._scaled, np.sqrt(self._inverse)[:, None], out=self._rows)
        N = dsyrk(1.0, self._rows, trans=1, lower=1)
        np.einsum("ii->i", N)[:-1] += 1.0
        N[-1, -1] += self._alone
        self._factor = cholesky(N)
        return self._factor is not None

    def solve(self, r: Array | None, c: Array, e: float) -> tuple[Array, Array, float]:
        """Return (da, dw, db); no ``r`` counts as 0."""
        right = np.zeros(self._root.size + 1) if r is None else self._scaled.T @ (self._inverse * r)
        right[:-1] += c / self._root
        right[-1] -= e
        z = dpotrs(self._factor, right, lower=1)[0]
        image = self._scaled @ z
        return self._inverse * (-image if r is None else r - image), self._root * z[:-1], float(z[-1])


class SampleSystem:
    """The same for k > l, by ``(D + Z E Z') da = r - Z c - y db`` of size l."""

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled = np.empty_like(Z)

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system of these diagonals; whether it could be."""
        self._E = E
        np.multiply(self._Z, np.sqrt(E), out=self._scaled)
        M = dsyrk(1.0, self._scaled, lower=1)
        np.einsum("ii->i", M)[:] += D
        self._factor = cholesky(M)
        if self._factor is not None:
            self._along_y = dpotrs(self._factor, self._y, lower=1)[0]
        return self._factor is not None

    def solve(self, r: Array | None, c: Array, e: float) -> tuple[Array, Array, float]:
        """Return (da, dw, db); no ``r`` counts as 0."""
        right = -(self._Z @ c) if r is None else r - self._Z @ c
        p = dpotrs(self._factor, right, lower=1)[0]
        db = (float(self._y @ p) - e) / (float(self._y @ self._along_y) or 1.0)
        da = p - db * self._along_y
        return da, self._E * (self._Z.T @ da) + c, db


ITERATION_LIMIT = 200  # measured: 5-35 on all data tried, badly scaled and degenerate ones included
PATIENCE = 15  # iterations without a better gap before a run counts as stalled
TRUSTED = 1e-6  # gaps below this may be rounding in the iterates' own numbers: evaluate on the data at once
TO_BOUNDARY = 0.995  # fraction of the step to the boundary
CYCLE = 4  # iterations without a smaller complementarity
SHORT = 0.3  # of the complementarity, the target of a cautious step
CENTRAL = 1e-3  # least product after a cautious step, of their mean


class Features:
    """Linear algebra for k <= l: u itself, normal equations of size k + 1."""

    method = "interior-point"

    def __init__(self, Z: Array, y: Array) -> None:
        self._A = np.empty((y.size, Z.shape[1] + 1), order="F")  # [Z, y]
        self._A[:, :-1], self._A[:, -1] = Z, y
        self._scaled = np.empty_like(self._A)
        self._alone = 0.0 if y.any() else 1.0  # y is 0 where there is no offset: db is 0 then

    def lift(self, alpha: Array) -> Array:
        """Represent Z' alpha."""
        return self._A[:, :-1].T @ alpha

    def image(self, u: Array) -> Array:
        """Z u."""
        return self._A[:, :-1] @ u

    def half_square(self, u: Array) -> float:
        """Half of ||Z' alpha||^2, of its representation."""
        return 0.5 * float(u @ u)

    def weights(self, u: Array) -> Array:
        """Return u (k,) from its representation."""
        return u

    def factor(self, d: Array) -> bool:
        """Factorise for D = diag(d); False if H is singular beyond repair."""
        self._inverse = 1 / d
        np.multiply(self._A, np.sqrt(self._inverse)[:, None], out=self._scaled)
        H = dsyrk(1.0, self._scaled, trans=1, lower=1)
        np.einsum("ii->i", H)[:-1] += 1.0
        H[-1, -1] += self._alone
        self._factor = cholesky(H)
        return self._factor is not None

    def step(self, r: Array, r_u: Array, r_e: float) -> tuple[Array, float, Array]:
        """Return (du, db, da)."""
        rhs = self._A.T @ (self._inverse * r)
        rhs[:-1] += r_u
        rhs[-1] -= r_e
        x = dpotrs(self._factor, rhs, lower=1)[0]
        return x[:-1], float(x[-1]), self._inverse * (r - self._A @ x)


class Rotated(Features):
    """Linear algebra for k > l without squaring: Z' = Q R, and u is represented by Q'u (l,)."""

    method = "interior-point-rotated"

    def __init__(self, Z: Array, y: Array) -> None:
        self._Q, R = np.linalg.qr(Z.T)
        super().__init__(R.T, y)

    def weights(self, u: Array) -> Array:
        """Weights (k,) of a representation."""
        return self._Q @ u


class Samples:
    """Linear algebra for k > l: u = Z' gamma is represented by gamma (l,), and only K = Z Z' is needed."""

    method = "interior-point-gram"

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y, self._K = Z, y, Z @ Z.T

    def lift(self, alpha: Array) -> Array:
        """Represent Z' alpha."""
        return alpha

    def image(self, u: Array) -> Array:
        """Z u."""
        return self._K @ u

    def half_square(self, u: Array) -> float:
        """Half of ||Z' alpha||^2, of its representation."""
        return 0.5 * float(u @ (self._K @ u))

    def weights(self, u: Array) -> Array:
        """Weights (k,) of a representation."""
        return self._Z.T @ u

    def factor(self, d: Array) -> bool:
        """Factor the system of these diagonals; whether it could be."""
        M = self._K.copy(order="F")
        np.einsum("ii->i", M)[:] += d
        self._factor = cholesky(M)
        if self._factor is not None:
            self._along_y = dpotrs(self._factor, self._y, lower=1)[0]
        return self._factor is not None

    def step(self, r: Array, r_u: Array, r_e: float) -> tuple[Array, float, Array]:
        """Solve for the step of alpha, b and u."""
        p = dpotrs(self._factor, r - self._K @ r_u, lower=1)[0]
        db = float(self._y @ p - r_e) / (float(self._y @ self._along_y) or 1.0)
        da = p - db * self._along_y
        return da + r_u, db, da


System = Features | Samples


def improve(proof: SvmProof, columns: Array, root: Array, tolerance: float, deadline: float) -> tuple[int, str]:
    """Run until the proof is good enough or a limit strikes; return the iterations and the last form's name.

    ``columns``: array (l, k). ``root`` (k,): square roots of sigma. ``deadline``: in ``time.perf_counter``'s seconds.
    """
    iterations, method = 0, Features.method
    Z = np.multiply(columns, root)
    Z *= proof.y[:, None]
    for form in (Features,) if root.size <= proof.y.size else (Samples, Rotated):
        if time.perf_counter() >= deadline or proof.gap <= tolerance:
            break
        method = form.method
        iterations += _run(
            proof, form(Z, proof.y if proof.loss.free_b else np.zeros(proof.y.size)), tolerance, deadline
        )
    return iterations, method


def _run(proof: SvmProof, system: System, tolerance: float, deadline: float) -> int:
    """Run the interior point until the proof is good enough or a limit strikes; return the iterations."""
    smallest, patience, iterations = math.inf, PATIENCE, 0
    for point in _interior_point(system, proof.y, proof.loss):
        gap, own = proof.offer(point), point.value - point.bound
        patience = PATIENCE if own < 0.9 * smallest else patience - 1
        smallest = min(own, smallest)
        stop = patience == 0 or iterations == ITERATION_LIMIT or time.perf_counter() >= deadline
        if stop or (gap <= max(tolerance, TRUSTED) and proof.settle(system) <= tolerance):
            break
        iterations += 1
    proof.settle(system)
    return iterations


def _direction(system: System, at: tuple[Any, ...], r_s: Array, r_xi: Array) -> tuple[Any, ...]:
    """Return the longest step that a Newton direction allows, and (du, db, da, ds, dxi)."""
    r_p, r_u, r_e, s, xi, per_alpha, per_beta, per_s, per_xi = at
    du, db, da = system.step(r_p + r_s * per_alpha - r_xi * per_beta, r_u, r_e)
    ds, dxi = (r_s - s * da) * per_alpha, (r_xi + xi * da) * per_beta
    shrink = max(-(da * per_alpha).min(), (da * per_beta).max(), -(ds * per_s).min(), -(dxi * per_xi).min())
    return 1 / max(float(shrink), 1e-300), du, db, da, ds, dxi


def _within_neighbourhood(move: tuple[Any, ...], alpha: Array, beta: Array, s: Array, xi: Array, mu: float) -> float:
    """Return a step after which the products are smaller on average, and none far below (Wright 1997, long steps)."""
    reach, _, _, da, ds, dxi = move
    t = min(1.0, TO_BOUNDARY * reach)
    for _ in range(60):
        products = np.concatenate([(alpha + t * da) * (s + t * ds), (beta - t * da) * (xi + t * dxi)])
        mean = float(products.mean())
        if mean < mu and products.min() >= CENTRAL * mean:
            break
        t *= 0.8
    return t


def _interior_point(system: System, y: Array, loss: Hinge) -> Iterator[PrimalDual]:
    """Yield iterates until rounding ends the run; the caller decides when they are good enough.

    The start takes for u the best multiple of the difference of the class centroids, s and xi of order 1 around its
    margins, and alpha well inside the box. Tying alpha to u instead cost 10-25 iterations on badly scaled columns.
    """
    C, shift = loss.C, y if loss.free_b else np.zeros(y.size)
    most = float(C.max())
    share = loss.at_zero(y) / most
    u = system.lift(share)
    square = 2 * system.half_square(u)
    scale = min(0.5 * most, float(share.sum()) / square) if square > 0 else 0.5 * most
    u, alpha = scale * u, share * min(0.5 * most, max(50 * scale, 0.05 * most))
    image, beta = system.image(u), C - alpha
    b = loss.offset(y * image, y)[1]
    short = 1 - image - shift * b
    spread = np.hypot(short, max(1.0, float(np.abs(short).mean())))
    s, xi = 0.5 * (spread - short), 0.5 * (spread + short)  # xi - s = short
    smallest, rises = math.inf, 0

    while True:
        short = 1 - system.image(u) - shift * b  # afresh, like lift: updates along the steps drift on badly scaled data
        value = system.half_square(u) + float(C @ np.maximum(short, 0.0))
        lifted = system.lift(alpha)
        yield PrimalDual(value, float(alpha.sum()) - system.half_square(lifted), u, alpha)

        alpha_s, beta_xi = alpha * s, beta * xi
        mu = float(alpha_s.sum() + beta_xi.sum()) / (2 * y.size)
        inverses = per_alpha, per_beta, _, _ = 1 / alpha, 1 / beta, 1 / s, 1 / xi
        if not mu * y.size > 1e-18 * abs(value) or not system.factor(s * per_alpha + xi * per_beta):
            return  # below rounding, not a number, or singular
        rises = 0 if mu < 0.9 * smallest else rises + 1
        smallest = min(mu, smallest)
        at = short - xi + s, lifted - u, -float(shift @ alpha), s, xi, *inverses
        if rises >= CYCLE:  # correctors that overshoot have been seen to repeat the same four points for ever
            move = _direction(system, at, SHORT * mu - alpha_s, SHORT * mu - beta_xi)
            t = _within_neighbourhood(move, alpha, beta, s, xi, mu)
            _, du, db, da, ds, dxi = move
            u, b, alpha, beta, s, xi = u + t * du, b + t * db, alpha + t * da, beta - t * da, s + t * ds, xi + t * dxi
            continue
        # Predictor: what the affine step reaches sets the centring.
        reach, _, _, da, ds, dxi = _direction(system, at, -alpha_s, -beta_xi)
        t = min(1.0, reach)
        reached = float((alpha + t * da) @ (s + t * ds) + (beta - t * da) @ (xi + t * dxi)) / (2 * y.size)
        target = mu * (reached / mu) ** 3
        # Corrector: second-order terms.
        r_s, r_xi = target - alpha_s - da * ds, target - beta_xi + da * dxi
        move = _direction(system, at, r_s, r_xi)
        # Centrality: pull the products that a longer step would leave far from the target back to within a factor 10.
        reach, _, _, da, ds, dxi = move
        t = min(1.0, reach + 0.3)
        products = (alpha + t * da) * (s + t * ds), (beta - t * da) * (xi + t * dxi)
        pulls = [np.minimum(np.maximum(p, 0.1 * target), 10 * target) - p for p in products]
        pull_s, pull_xi = (np.maximum(pull, -10 * target) for pull in pulls)
        longer = _direction(system, at, r_s + pull_s, r_xi + pull_xi)
        if min(1.0, longer[0]) >= min(1.0, reach) + 0.03:
            move = longer

        reach, du, db, da, ds, dxi = move
        t = min(1.0, TO_BOUNDARY * reach)
        u, b, alpha, beta, s, xi = u + t * du, b + t * db, alpha + t * da, beta - t * da, s + t * ds, xi + t * dxi
