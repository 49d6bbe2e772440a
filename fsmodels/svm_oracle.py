r"""Fast subproblem of feature selection: the linear SVM of one support, with its certified value and its cut.

Problem
    For sigma in {0, 1}^n, or fractional in [0, 1]^n, and with w_j = 0 where sigma_j = 0,

    .. math::
        q(\sigma) = \min_{w, b, \xi}\ & \tfrac12 \sum_j w_j^2 / \sigma_j + C \sum_i \xi_i            && (1) \\
        \text{s.t.}\ & y_i (w^\top x_i + b) + \xi_i \ge 1,\ \xi \ge 0                                && (2) \\
        = \max_\alpha\ & \sum_i \alpha_i - \tfrac12 \sum_j \sigma_j v_j^2,\ v_j = \sum_i \alpha_i y_i x_{ij} && (3) \\
        \text{s.t.}\ & y^\top \alpha = 0,\ 0 \le \alpha \le C                                        && (4)

    The optimal w_j is sigma_j v_j. As (4) is free of sigma, any feasible alpha, optimal or not, bounds q everywhere:

    .. math::
        q(\sigma') \ge \sum_i \alpha_i - \tfrac12 \sum_j \sigma'_j v_j^2 \quad \text{for } \sigma' \in [0, 1]^n && (5)
Symbols
    l samples, n features, k = number of j with sigma_j > 0; Z = diag(y) X_S diag(sqrt(sigma_S)) (l, k);
    u_j = w_j / sqrt(sigma_j) (k,); s (l,) surplus and xi (l,) slack of (2); beta = C - alpha (l,).
Method
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

    What is returned is a certificate, wherever the interior point stopped; its own estimates are never reported:

    * bound: alpha is clipped to [0, C] and the class with the larger sum scaled down until y' alpha = 0, which stays in
      the box; then t alpha, t = min(sum alpha / sum sigma v^2, C / max alpha), is the multiple that maximises (3).
    * value: (1) on the centred data. For given w the sum of hinges is piecewise linear in b with kinks y_i - w.x_i; its
      slope is -l_+ at the far left and gains 1 at each kink, so the best b lie between the kinks of rank l_+ and
      l_+ + 1; the midpoint is taken (swapping the labels then negates b). xi_i = max(0, 1 - y_i (w.x_i + b)).

    With k = 0: q = 2 C min(l_+, l_-), alpha = C on the smaller class and C l_min / l_max on the larger.
Source
    Aytug 2015, (5)-(10): SUB, its dual, the cut. Ferris and Munson 2002, "Interior-point methods for massive support
    vector machines": low-rank normal equations. Mehrotra 1992. Gondzio 1996: centrality correctors.
Deviations
    Aytug maximises -q; here q is minimised. sigma may be fractional, with the perspective w_j^2 / sigma_j.
Class
    Convex QP.
Certificate
    exact: bound <= q <= value, to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from fsmodels.errors import DataError, ParameterError

__all__ = ["SvmOracle", "SvmSolution"]

Array = np.ndarray[Any, np.dtype[Any]]

_SIGMA_SLACK = 1e-6  # LP solvers return sigma outside [0, 1] by their feasibility tolerance
_ITERATION_LIMIT = 200  # measured: 5-35 on all data tried, badly scaled and degenerate ones included
_PATIENCE = 15  # iterations without a better gap before a run counts as stalled
_TRUSTED = 1e-6  # gaps below this may be rounding in the iterates' own numbers: evaluate on the data at once
_TO_BOUNDARY = 0.995  # fraction of the step to the boundary


@dataclass(frozen=True)
class SvmSolution:
    """Certified answer for one sigma.

    Attributes
    ----------
    value, bound, gap : float
        Objective (1) of ``(w, b)``, at least q; objective (3) of ``alpha``, at most q; and
        ``(value - bound) / max(|value|, 1e-10)``, not below 0.
    alpha : ndarray (l,)
        Multipliers of (2): within [0, C], and y'alpha = 0 to rounding.
    w, b : ndarray (n,), float
        Effective weights, 0 where sigma is 0, and the best intercept; slacks are ``max(0, 1 - y (X w + b))``.
    v : ndarray (n,)
        ``X' (y alpha)`` for ALL features: the slopes of the cut are ``-v**2 / 2``.
    iterations, seconds : int, float
        Interior-point iterations, and wall-clock time.
    method : str
        "closed-form" (k = 0), "interior-point" (k <= l), "interior-point-gram" (k > l), "interior-point-rotated".
    """

    value: float
    bound: float
    gap: float
    alpha: Array
    w: Array
    b: float
    v: Array
    iterations: int
    seconds: float
    method: str

    def cut(self, sigma: Any) -> float:
        """Right-hand side of (5): a lower bound on q at any ``sigma`` (n,) in [0, 1]."""
        return float(self.alpha.sum() - 0.5 * np.asarray(sigma, dtype=float) @ self.v**2)


class SvmOracle:
    """Solve the SVM of any support of one data set.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix, shape (l, n)
        Samples by features, finite; copied. Sparse stays sparse: only the selected columns become dense.
    y : array_like (l,)
        Labels -1 and +1, both present.
    C : float
        Price of one unit of slack, > 0; it multiplies the unscaled sum of slacks.

    Raises
    ------
    DataError
        Shapes that do not match, NaN or inf, labels other than -1 and +1, or one class only.
    ParameterError
        C that is not a positive number.

    Examples
    --------
    >>> X = [[0.0, 5.0], [2.0, 5.0], [1.0, 4.0], [3.0, 6.0]]
    >>> oracle = SvmOracle(X, [-1, 1, -1, 1], C=10.0)
    >>> answer = oracle.solve([1, 0])
    >>> print(f"{answer.value:.4f} {answer.w.round(3)} {answer.b:.3f} {answer.gap <= 1e-7}")
    2.0000 [2. 0.] -3.000 True
    >>> answer.cut([1, 1]) <= oracle.solve([1, 1]).value
    True
    """

    def __init__(self, X: Any, y: Any, C: float) -> None:
        sparse = sp.issparse(X)
        # Fortran order: gathering the columns of a support is then a plain memory copy.
        self._X: Any = sp.csc_array(X, dtype=float) if sparse else np.array(X, dtype=float, order="F")
        self._y, self._C = np.array(y, dtype=float), float(C)
        if self._X.ndim != 2 or self._y.shape != self._X.shape[:1]:
            raise DataError(f"X has shape {self._X.shape} and y {self._y.shape}: give X (l, n) and y (l,).")
        if not np.isfinite(self._X.data if sparse else self._X).all():
            raise DataError("X has NaN or inf: drop or fill these cells first.")
        if not np.isin(self._y, (-1.0, 1.0)).all():
            raise DataError(f"y has labels {np.unique(self._y)[:5].tolist()}: map them to -1 and +1 first.")
        if np.unique(self._y).size < 2:
            raise DataError(f"y has one class only, {self._y[:1].tolist()}: give samples of both classes.")
        if not 0 < self._C < math.inf:
            raise ParameterError(f"C={C} is not allowed: give a finite number above 0.")
        self._mean: Array = np.asarray(self._X.mean(axis=0)).ravel()
        if not sparse:
            self._X -= self._mean

    def solve(self, sigma: Any, tolerance: float = 1e-7, time_limit: float | None = None) -> SvmSolution:
        """Solve SUB at ``sigma``.

        Parameters
        ----------
        sigma : array_like (n,)
            Within [0, 1]; values outside by at most 1e-6 are clipped, and the answer is for the clipped sigma.
        tolerance : float
            Relative gap to reach, > 0. If rounding does not allow it, the run ends earlier with the gap it reports.
        time_limit : float, optional
            Seconds, checked once an iteration; then the best certified point so far is returned, never an error.

        Raises
        ------
        ParameterError
            ``sigma`` of another length or outside [0, 1], ``tolerance`` not positive, ``time_limit`` negative.
        """
        start = time.perf_counter()
        sigma = np.asarray(sigma, dtype=float)
        if sigma.shape != self._mean.shape:
            raise ParameterError(f"sigma has shape {sigma.shape}: give one number per feature, {self._mean.size}.")
        if not ((sigma >= -_SIGMA_SLACK) & (sigma <= 1 + _SIGMA_SLACK)).all():
            raise ParameterError(f"sigma spans [{sigma.min():.6g}, {sigma.max():.6g}]: keep it within [0, 1].")
        if not tolerance > 0:
            raise ParameterError(f"tolerance={tolerance} is not allowed: give a relative gap above 0, such as 1e-7.")
        if time_limit is not None and not time_limit >= 0:
            raise ParameterError(f"time_limit={time_limit} is not allowed: give seconds, or None for no limit.")
        deadline = start + (math.inf if time_limit is None else time_limit)

        sigma = np.clip(sigma, 0.0, 1.0)
        support = np.flatnonzero(sigma)
        root = np.sqrt(sigma[support])
        columns = self._X[:, support]
        if sp.issparse(columns):
            columns = columns.toarray(order="F") - self._mean[support]
        proof = _Proof(columns, root, self._y, self._C)
        iterations, method = 0, "closed-form"
        if support.size:
            Z = np.multiply(columns, root)
            Z *= self._y[:, None]
            for form in (_Features,) if support.size <= self._y.size else (_Samples, _Rotated):
                if time.perf_counter() >= deadline or proof.gap <= tolerance:
                    break
                method = form.method
                iterations += _improve(proof, form(Z, self._y), tolerance, deadline)

        w = np.zeros(sigma.size)
        w[support] = root * proof.u
        b = proof.b - float(self._mean @ w)
        v = np.asarray(self._X.T @ (self._y * proof.alpha))
        seconds = time.perf_counter() - start
        return SvmSolution(proof.value, proof.bound, proof.gap, proof.alpha, w, b, v, iterations, seconds, method)


class _Point(NamedTuple):
    """An iterate of the interior point with its objectives (1) and (3); ``u`` as its system represents it."""

    value: float
    bound: float
    u: Array
    alpha: Array


class _Proof:
    """Best point and best bound for one sigma, evaluated on the data; starts from w = 0 and the alpha of k = 0."""

    def __init__(self, columns: Array, root: Array, y: Array, C: float) -> None:
        self._columns, self._root, self.y, self.C = columns, root, y, C
        self.value, self.bound = math.inf, -math.inf
        self._try_u(np.zeros(root.size))
        self._try_alpha(C * _balanced(y))
        self._estimates, self._offered = (math.inf, -math.inf), dict[str, _Point]()

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return _relative(self.value, self.bound)

    def offer(self, point: _Point) -> float:
        """Keep the better sides of an iterate, and return the relative gap so far by the iterates' own numbers."""
        upper, lower = self._estimates
        if point.value < upper:
            self._offered["primal"] = point
        if point.bound > lower:
            self._offered["dual"] = point
        self._estimates = min(upper, point.value), max(lower, point.bound)
        return _relative(*self._estimates)

    def settle(self, system: _System) -> float:
        """Evaluate on the data what was offered; return the certified relative gap."""
        if "primal" in self._offered:
            self._try_u(system.weights(self._offered["primal"].u))
        if "dual" in self._offered:
            self._try_u(self._try_alpha(self._offered["dual"].alpha))
        # Where rounding made the estimates too good, they must not hide the better points that follow.
        self._estimates, self._offered = (self.value, self.bound), {}
        return self.gap

    def _try_u(self, u: Array) -> None:
        value, b = _hinges(self._columns @ (self._root * u), self.y)
        value = 0.5 * float(u @ u) + self.C * value
        if value < self.value:
            self.value, self.u, self.b = value, u, b

    def _try_alpha(self, alpha: Array) -> Array:
        """Take the bound of alpha, repaired, and return the u that belongs to it."""
        alpha, positive = np.clip(alpha, 0.0, self.C), self.y > 0
        plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
        alpha[positive if plus > minus else ~positive] *= min(plus, minus) / (max(plus, minus) or 1.0)
        u = self._root * (self._columns.T @ (self.y * alpha))
        total, square, largest = float(alpha.sum()), float(u @ u), float(alpha.max())
        t = min(self.C / largest if largest > 0 else 1.0, total / square if square > 0 else math.inf)
        alpha, u = np.minimum(t * alpha, self.C), t * u
        bound = t * total - 0.5 * t * t * square
        if bound > self.bound:
            self.bound, self.alpha = bound, alpha
        return u


def _relative(value: float, bound: float) -> float:
    return max(value - bound, 0.0) / max(abs(value), 1e-10)


def _balanced(y: Array) -> Array:
    """Return the largest alpha in [0, 1] that is constant on each class and has y'alpha = 0."""
    plus, minus = np.count_nonzero(y > 0), np.count_nonzero(y < 0)
    return np.where(y > 0, min(1.0, minus / plus), min(1.0, plus / minus))


def _hinges(scores: Array, y: Array) -> tuple[float, float]:
    """Return min over b of sum_i max(0, 1 - y_i (scores_i + b)), and the middle of the best b; O(l)."""
    rank = np.count_nonzero(y > 0)
    kinks = np.partition(y - scores, (rank - 1, rank))
    b = 0.5 * float(kinks[rank - 1] + kinks[rank])
    return float(np.maximum(1 - y * (scores + b), 0.0).sum()), b


class _Features:
    """Linear algebra for k <= l: u itself, normal equations of size k + 1."""

    method = "interior-point"

    def __init__(self, Z: Array, y: Array) -> None:
        self._A = np.empty((y.size, Z.shape[1] + 1), order="F")  # [Z, y]
        self._A[:, :-1], self._A[:, -1] = Z, y
        self._scaled = np.empty_like(self._A)

    def lift(self, alpha: Array) -> Array:
        """Represent Z' alpha."""
        return self._A[:, :-1].T @ alpha

    def image(self, u: Array) -> Array:
        """Z u."""
        return self._A[:, :-1] @ u

    def half_square(self, u: Array) -> float:
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
        self._factor = _cholesky(H)
        return self._factor is not None

    def step(self, r: Array, r_u: Array, r_e: float) -> tuple[Array, float, Array]:
        """Return (du, db, da)."""
        rhs = self._A.T @ (self._inverse * r)
        rhs[:-1] += r_u
        rhs[-1] -= r_e
        x = dpotrs(self._factor, rhs, lower=1)[0]
        return x[:-1], float(x[-1]), self._inverse * (r - self._A @ x)


class _Rotated(_Features):
    """Linear algebra for k > l without squaring: Z' = Q R, and u is represented by Q'u (l,)."""

    method = "interior-point-rotated"

    def __init__(self, Z: Array, y: Array) -> None:
        self._Q, R = np.linalg.qr(Z.T)
        super().__init__(R.T, y)

    def weights(self, u: Array) -> Array:
        return self._Q @ u


class _Samples:
    """Linear algebra for k > l: u = Z' gamma is represented by gamma (l,), and only K = Z Z' is needed."""

    method = "interior-point-gram"

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y, self._K = Z, y, Z @ Z.T

    def lift(self, alpha: Array) -> Array:
        return alpha

    def image(self, u: Array) -> Array:
        return self._K @ u

    def half_square(self, u: Array) -> float:
        return 0.5 * float(u @ (self._K @ u))

    def weights(self, u: Array) -> Array:
        return self._Z.T @ u

    def factor(self, d: Array) -> bool:
        M = self._K.copy(order="F")
        np.einsum("ii->i", M)[:] += d
        self._factor = _cholesky(M)
        if self._factor is not None:
            self._along_y = dpotrs(self._factor, self._y, lower=1)[0]
        return self._factor is not None

    def step(self, r: Array, r_u: Array, r_e: float) -> tuple[Array, float, Array]:
        p = dpotrs(self._factor, r - self._K @ r_u, lower=1)[0]
        db = float(self._y @ p - r_e) / float(self._y @ self._along_y)
        da = p - db * self._along_y
        return da + r_u, db, da


_System = _Features | _Samples


def _cholesky(H: Array) -> Array | None:
    """Lower Cholesky factor, with a relative shift of the diagonal where rounding made H singular."""
    diagonal = H.diagonal().copy()
    for shift in (0.0, 1e-15, 1e-13, 1e-11):
        np.einsum("ii->i", H)[:] = diagonal * (1 + shift)
        factor, info = dpotrf(H, lower=1)
        if info == 0:
            return factor
    return None


def _improve(proof: _Proof, system: _System, tolerance: float, deadline: float) -> int:
    """Run the interior point until the proof is good enough or a limit strikes; return the iterations."""
    smallest, patience, iterations = math.inf, _PATIENCE, 0
    for point in _interior_point(system, proof.y, proof.C):
        gap, own = proof.offer(point), point.value - point.bound
        patience = _PATIENCE if own < 0.9 * smallest else patience - 1
        smallest = min(own, smallest)
        stop = patience == 0 or iterations == _ITERATION_LIMIT or time.perf_counter() >= deadline
        if stop or (gap <= max(tolerance, _TRUSTED) and proof.settle(system) <= tolerance):
            break
        iterations += 1
    proof.settle(system)
    return iterations


def _direction(system: _System, at: tuple[Any, ...], r_s: Array, r_xi: Array) -> tuple[Any, ...]:
    """Return the longest step that a Newton direction allows, and (du, db, da, ds, dxi)."""
    r_p, r_u, r_e, s, xi, per_alpha, per_beta, per_s, per_xi = at
    du, db, da = system.step(r_p + r_s * per_alpha - r_xi * per_beta, r_u, r_e)
    ds, dxi = (r_s - s * da) * per_alpha, (r_xi + xi * da) * per_beta
    shrink = max(-(da * per_alpha).min(), (da * per_beta).max(), -(ds * per_s).min(), -(dxi * per_xi).min())
    return 1 / max(float(shrink), 1e-300), du, db, da, ds, dxi


def _interior_point(system: _System, y: Array, C: float) -> Iterator[_Point]:
    """Yield iterates until rounding ends the run; the caller decides when they are good enough.

    The start takes for u the best multiple of the difference of the class centroids, s and xi of order 1 around its
    margins, and alpha well inside the box. Tying alpha to u instead cost 10-25 iterations on badly scaled columns.
    """
    share = _balanced(y)
    u = system.lift(share)
    square = 2 * system.half_square(u)
    scale = min(0.5 * C, float(share.sum()) / square) if square > 0 else 0.5 * C
    u, alpha = scale * u, share * min(0.5 * C, max(50 * scale, 0.05 * C))
    image, beta = system.image(u), C - alpha
    b = _hinges(y * image, y)[1]
    short = 1 - image - y * b
    spread = np.hypot(short, max(1.0, float(np.abs(short).mean())))
    s, xi = 0.5 * (spread - short), 0.5 * (spread + short)  # xi - s = short

    while True:
        short = 1 - system.image(u) - y * b  # afresh, like lift: updates along the steps drift on badly scaled data
        value = system.half_square(u) + C * float(np.maximum(short, 0.0).sum())
        lifted = system.lift(alpha)
        yield _Point(value, float(alpha.sum()) - system.half_square(lifted), u, alpha)

        alpha_s, beta_xi = alpha * s, beta * xi
        mu = float(alpha_s.sum() + beta_xi.sum()) / (2 * y.size)
        inverses = per_alpha, per_beta, _, _ = 1 / alpha, 1 / beta, 1 / s, 1 / xi
        if not mu * y.size > 1e-18 * abs(value) or not system.factor(s * per_alpha + xi * per_beta):
            return  # below rounding, not a number, or singular
        at = short - xi + s, lifted - u, -float(y @ alpha), s, xi, *inverses
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
        t = min(1.0, _TO_BOUNDARY * reach)
        u, b, alpha, beta, s, xi = u + t * du, b + t * db, alpha + t * da, beta - t * da, s + t * ds, xi + t * dxi
