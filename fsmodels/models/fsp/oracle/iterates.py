"""Interior point method of the joint relaxation in numpy, in the notation of ``oracle.relaxation``.

It is used instead of the compiled loop for sparse data, for more columns than samples, and after a failure. With all
sigma fixed it solves SUB. Normal equations of low rank: Ferris and Munson 2002, "Interior-point methods for massive
support vector machines".

The weight and the sigma of one feature, with bounds that scale with sigma, in the Newton system.

Bounds l sigma <= w <= u sigma add complementary pairs ``push (w - l sigma)`` and ``pull (u sigma - w)`` to those of
``oracle.relaxation``. With ``v~ = v + push - pull`` the conditions of a feature are ``w = sigma v~`` and ``r + gamma =
c + A'theta + zeta``, gamma = 1/2 v~^2 - l push + u pull, which is g(v) of ``problem`` at the best push and pull. Linear
in (dw, ds), with kp = push / (w - l sigma), kq = pull / (u sigma - w), and pairs to move by t5 and t6 ::

    (1/sigma + K) dw - (v~/sigma + L) ds = dv + tau + m / sigma                 K = kp + kq, L = l kp + u kq
    (1/h + v~^2/sigma + B) ds - (v~/sigma + L) dw = g~ - A'dtheta - v~ m/sigma   B = l^2 kp + u^2 kq
    tau = t5/(w - l sigma) - t6/(u sigma - w),   g~ = g - l t5/(w - l sigma) + u t6/(u sigma - w),   m = sigma v~ - w

The solution is dw = E dv + c - F A'dtheta and ds = F dv + e - S A'dtheta, without differences of near numbers in ::

    Q = 1 + sigma K + h (kp (v~ - l)^2 + kq (v~ - u)^2 + sigma kp kq (u - l)^2)
    E = (h (v~^2 + sigma B) + sigma) / Q,   F = h (v~ + sigma L) / Q,   S = h (1 + sigma K) / Q
    c = E tau + F g~ + (1 + h (B - L v~)) m / Q,   e = F tau + S g~ + h (L - K v~) m / Q
    S - F^2/E = sigma h / (h (v~^2 + sigma B) + sigma)

Without bounds this is E = sigma + h v^2, F = h v, S = h; for a fixed sigma h = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from fsmodels.models.fsp.oracle.problem import JointProblem, Relaxed, Rows, Screened, lost
from fsmodels.models.proofs.svm import TINY, Array


def cholesky(H: Array) -> Array | None:
    """Return the lower Cholesky factor, with a relative shift of the diagonal if H is singular by rounding."""
    diagonal = H.diagonal().copy()
    for shift in (0.0, 1e-15, 1e-13, 1e-11):
        np.einsum("ii->i", H)[:] = diagonal * (1 + shift)
        factor, info = dpotrf(H, lower=1)
        if info == 0:
            return factor
    return None


class FeatureSystem:
    """Linear system ``D da + Z dw + y db = r``, ``Z' da - E^-1 dw = -E^-1 c``, ``y' da = e`` by k + 1 normal equations.

    If y and e are 0, db is 0.
    """

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled = np.empty((y.size, Z.shape[1] + 1), order="F")
        self._rows = np.empty_like(self._scaled)
        self._scaled[:, -1] = y
        self._alone = 0.0 if y.any() else 1.0

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system for these diagonals; return False if it is singular."""
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
    """The same system for k > l, by ``(D + Z E Z') da = r - Z c - y db`` of size l."""

    def __init__(self, Z: Array, y: Array) -> None:
        self._Z, self._y = Z, y
        self._scaled, self._E = np.empty_like(Z), np.zeros(0)

    def factor(self, D: Array, E: Array) -> bool:
        """Factor the system for these diagonals; return False if it is singular."""
        if not np.array_equal(E, self._E):  # fixed sigma have the same E in every iteration
            self._E = E
            np.multiply(self._Z, np.sqrt(E), out=self._scaled)
            self._gram = dsyrk(1.0, self._scaled, lower=1)
        M = self._gram.copy(order="F")
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


class Boxes:
    """The eliminated pairs of all features at one iterate; ``low`` or ``up`` is 0 if ``kp`` or ``kq`` is 0."""

    def __init__(self, sigma: Array, h: Array, v: Array, low: Array, up: Array, kp: Array, kq: Array) -> None:
        self.low, self.up = low, up
        K, L, B = kp + kq, low * kp + up * kq, low**2 * kp + up**2 * kq
        Q = 1 + sigma * K + h * (kp * (v - low) ** 2 + kq * (v - up) ** 2 + sigma * kp * kq * (up - low) ** 2)
        both = h * (v**2 + sigma * B) + sigma
        self.E, self.F, self.S = both / Q, h * (v + sigma * L) / Q, h * (1 + sigma * K) / Q
        self.kept = sigma * h / both  # S - F^2 / E
        self._to_w, self._to_x = (1 + h * (B - L * v)) / Q, h * (L - K * v) / Q

    def sides(self, missed: Array, g: Array, by_low: Array, by_up: Array) -> tuple[Array, Array]:
        """Return c and e; ``by_low``, ``by_up`` are t5 and t6 over their slacks, and ``g`` is 0 for a fixed sigma."""
        tau, g = by_low - by_up, g - self.low * by_low + self.up * by_up
        return self.E * tau + self.F * g + self._to_w * missed, self.F * tau + self.S * g + self._to_x * missed


TO_BOUNDARY = 0.995
STARTS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # relative positions between lower and upper
ROW_TOLERANCE = 1e-7  # relative violation of a row
NOTHING = np.empty(0)
LARGER = 10.0  # upper limit of the initial multipliers relative to those that give w, in units of the slacks


class Iterates:
    """The iterates of one run."""

    def __init__(self, whole: JointProblem, part: Screened | None, among: Array) -> None:
        problem = whole if among.size == whole.where.size else whole.among(among)
        self.whole, self.among = whole, among
        columns, where, terms, cost = problem.columns.dense, problem.where, problem.terms, problem.cost
        rows, lower, upper = problem.rows, problem.lower, problem.upper
        y, loss, shift = terms.y, terms.loss, terms.shift
        self.terms, self.cost, self.lower, self.upper = terms, cost, lower, upper
        self.columns, self.part, self.where = columns, part, where
        self.fixed_v, self.fixed_y, self.fixed_sum = -terms.slope[:-1], -float(terms.slope[-1]), 0.0
        if part is None:
            self.y, self.loss, self.need, self.Z = y, loss, terms.need, np.multiply(columns, y[:, None], order="F")
            self.shift = shift
        else:  # alpha = C contributes constants
            self.y, self.loss, self.need = y[part.kept], loss.of(part.kept), terms.need[part.kept]
            self.shift = shift[part.kept]
            self.Z = np.multiply(columns[part.kept], self.y[:, None], order="F")
            at_bound = np.zeros(y.size)
            at_bound[part.at_bound] = loss.C[part.at_bound]
            self.fixed_v = self.fixed_v + columns.T @ (y * at_bound)
            self.fixed_y += float(shift @ at_bound)
            self.fixed_sum = float(terms.need @ at_bound)
        self.ridge = 0.5 / self.loss.C  # on the diagonal, with the squared hinge, instead of the pair beta, xi
        free = self.free = np.flatnonzero(lower < upper)
        position = np.full(cost.size, -1)
        position[where] = np.arange(where.size)
        self.sigmas = np.flatnonzero(position[free] >= 0)  # of the free x
        self.of = position[free[self.sigmas]]  # their columns
        self.held = np.setdiff1d(np.arange(where.size), self.of)  # columns with a fixed sigma
        fixed = np.flatnonzero(lower == upper)
        A = rows.matrix[:, free]
        b = rows.sides - (rows.matrix[:, fixed] * lower[fixed]).sum(axis=1)
        G, g = rows.on_weights(where.size)
        mixed = G.any(axis=1) | (g != 0.0)
        # A tight row that the bounds imply has no interior and an unbounded multiplier.
        most = np.maximum(A, 0.0) @ upper[free] + np.minimum(A, 0.0) @ lower[free]
        kept = mixed | np.where(rows.equal, A.any(axis=1) | (np.abs(b) > ROW_TOLERANCE), most > b)
        own = (G[kept], g[kept]) if rows.weights is not None else (None, None)
        self.kept_rows = kept
        self.rows = rows = Rows(rows.matrix[kept], rows.sides[kept], rows.equal[kept], *own)
        self.b, self.A, self.c, self.G, self.on_b = b[kept], A[kept], cost[free], G[kept], g[kept]
        self.on_x = ~mixed[kept]
        self.at_fixed = float(cost[fixed] @ lower[fixed])
        self.lows, self.ups = np.flatnonzero(np.isfinite(terms.least)), np.flatnonzero(np.isfinite(terms.largest))
        self.least, self.largest = terms.least[self.lows], terms.largest[self.ups]
        self.form: FeatureSystem | SampleSystem = (FeatureSystem if where.size <= self.y.size else SampleSystem)(
            self.Z, self.shift
        )
        self._start()

    def _start(self) -> None:
        y, loss, inside = self.y, self.loss, ~self.rows.equal
        C = loss.C
        low, span = self.lower[self.free], (self.upper - self.lower)[self.free]
        for share in STARTS:
            self.x = low + share * span
            if np.all((self.A @ self.x < self.b)[inside & self.on_x]):
                break
        self.sigma = self.lower[self.where].astype(float)
        self.sigma[self.of] = self.x[self.sigmas]
        if self.part is None:
            most = float(C.max())
            shares = loss.at_zero(y) if loss.squared else loss.at_zero(y) / most
            v = self.Z.T @ shares
            square = float(self.sigma @ v**2)
            if loss.squared:
                scale = loss.multiple(shares, square)
            else:
                scale = min(0.5 * most, float(shares.sum()) / square) if square > 0 else 0.5 * most
            self.w = scale * self.sigma * v
            self.alpha = shares * (scale if loss.squared else min(0.5 * most, max(50 * scale, 0.05 * most)))
            image = self.Z @ self.w
            self.offset = loss.offset(y * (image + 1 - self.need), y)[1]
        else:
            self.w, self.offset = self.part.w[self.where] * (self.sigma > 0), self.part.offset
            self.alpha, image = 0.5 * C, self.Z @ self.w
        sigma, size = self.sigma, max(float(np.abs(self.w).max(initial=0.0)), 1e-8)
        wide = sigma * (self.terms.largest - self.terms.least)
        room = 0.1 * np.minimum(size, wide, where=np.isfinite(wide), out=np.full(wide.size, size))
        self.w[self.lows] = np.maximum(self.w[self.lows], sigma[self.lows] * self.least + room[self.lows])
        self.w[self.ups] = np.minimum(self.w[self.ups], sigma[self.ups] * self.largest - room[self.ups])
        self.over = self.w[self.lows] - sigma[self.lows] * self.least
        self.under = sigma[self.ups] * self.largest - self.w[self.ups]
        if self.over.size or self.under.size:
            image = self.Z @ self.w
        short = self.need - image - self.shift * self.offset
        mean = float(np.abs(short).mean())
        spread = np.hypot(short, max(1e-6 if loss.squared else 1.0, mean))
        self.s, self.xi = 0.5 * (spread - short), 0.5 * (spread + short)
        self.beta = C - self.alpha
        if loss.squared:  # all products are equal; multipliers 2 C xi would be too large for a large C
            self.alpha = np.minimum(2 * C, LARGER * float(self.alpha.mean())) * self.xi
            self.beta = self.xi = NOTHING
        left = self.b - self.A @ self.x - self.G @ self.w - self.on_b * self.offset
        left = np.where(self.on_x, left, np.maximum(left, 0.3 * np.abs(left)))
        self.kappa = np.where(inside, np.maximum(left, 1e-3 * np.maximum(1.0, np.abs(self.b))), 0.0)
        v = self.fixed_v + self.Z.T @ self.alpha
        typical = max(1e-8, 0.5 * float(v @ v) / max(1, v.size), float(np.abs(self.c).max(initial=0.0)))
        reach, on_b = np.abs(self.G).max(axis=1, initial=0.0), np.abs(self.on_b)
        along = [
            np.divide(size, largest, out=np.full(largest.size, np.inf), where=largest > 0)
            for size, largest in ((math.sqrt(2 * typical), reach), (0.1 * float(C.max()), on_b))
        ]
        self.theta = np.where(inside, np.where(self.on_x, typical, np.minimum(*along)), 0.0)
        # v~ = w / sigma if a multiplier allows it, and products of the size of the others, but no larger v~
        at = np.divide(self.w, self.sigma, out=np.zeros_like(self.w), where=self.sigma > 0)
        most = 0.3 * math.sqrt(2 * typical)
        self.push = np.minimum(0.3 * typical / self.over, most) + np.maximum(at - v, 0.0)[self.lows]
        self.pull = np.minimum(0.3 * typical / self.under, most) + np.maximum(v - at, 0.0)[self.ups]
        self.r, self.zeta = np.full(self.free.size, typical), np.full(self.free.size, typical)

    def gap(self) -> float:
        """Return the relative gap of the iterate; at least 1 for an infeasible one."""
        self.v = self.fixed_v + self.Z.T @ self.alpha - self.G.T @ self.theta
        self.short = self.need - self.Z @ self.w - self.shift * self.offset
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            norms = np.where(self.sigma > 0, self.w**2 / self.sigma, 0.0)
            value = float(self.c @ self.x) + self.at_fixed + 0.5 * float(norms.sum())
        value += self.loss.cost(np.maximum(self.short, 0.0))
        value += self.fixed_sum - float(self.fixed_v @ self.w) - self.fixed_y * self.offset
        self.value = value
        gained = self.fixed_sum + self.loss.gained(self.alpha) + float((self.need - 1) @ self.alpha)
        curb, _ = self.terms.curb(self.v)
        d = self.c + self.A.T @ self.theta
        d[self.sigmas] -= curb[self.of]
        least = float(np.minimum(d * self.lower[self.free], d * self.upper[self.free]).sum())
        held = float(curb[self.held] @ self.sigma[self.held])
        self.bound_estimate = gained - float(self.b @ self.theta) + self.at_fixed - held + least
        scale = max(abs(value), TINY)
        left = self.A @ self.x + self.G @ self.w + self.on_b * self.offset - self.b
        miss = np.where(self.rows.equal, np.abs(left), np.maximum(left, 0.0)) / np.maximum(1.0, np.abs(self.b))
        self.balance = self.fixed_y + float(self.shift @ self.alpha - self.on_b @ self.theta)
        unbalanced = abs(self.balance) > ROW_TOLERANCE * float(self.alpha.sum())
        if float(miss.max(initial=0.0)) > ROW_TOLERANCE or unbalanced:
            return max((value - self.bound_estimate) / scale, 1.0)
        return (value - self.bound_estimate) / scale

    def all_theta(self) -> Array:
        """Return the multipliers of all rows, which are 0 for implied rows."""
        theta = np.zeros(self.kept_rows.size)
        theta[self.kept_rows] = self.theta
        return theta

    def proven(self, gap: float, iterations: int) -> Relaxed:
        """Return the bound of the repaired alpha, and x."""
        alpha, margins, missed = self.alpha, 1 - self.short, 0.0
        if self.part is not None:
            terms, at_bound = self.terms, self.part.at_bound
            alpha = np.zeros(terms.y.size)
            alpha[at_bound], alpha[self.part.kept] = terms.loss.C[at_bound], self.alpha
            margins = 1 - terms.need + terms.y * (self.columns @ self.w) + terms.shift * self.offset
            hinge = np.maximum(1 - margins, 0.0)
            hinge[self.part.kept] = 0.0
            missed = terms.loss.cost(hinge)
            along = float((self.fixed_v + terms.slope[:-1]) @ self.w)
            missed -= self.fixed_sum - along - (self.fixed_y + float(terms.slope[-1])) * self.offset
        whole, scale = self.whole, max(abs(self.value), TINY)
        bound, alpha, theta, reduced_costs = whole.proven(alpha, self.all_theta())
        left_out = missed / scale, lost(reduced_costs, whole.upper, whole.where, self.where) / scale
        x, w = self.lower.astype(float), np.zeros(whole.where.size)
        x[self.free], w[self.among] = self.x, self.w
        gap, constant = gap + sum(left_out), self.terms.gained(alpha)
        return Relaxed(
            bound, x, alpha, theta, reduced_costs, gap, left_out, iterations, margins, w, self.offset, constant
        )

    def step(self) -> bool:
        """Take one predictor-corrector step; return False if the factorisation fails."""
        sigmas, of, A, G, on_b = self.sigmas, self.of, self.A, self.G, self.on_b
        inside, size = ~self.rows.equal, self.sigma.size
        above, below = self.x - self.lower[self.free], self.upper[self.free] - self.x
        with np.errstate(all="ignore"):
            v = self.v + self._at_low(self.push) - self._at_up(self.pull)
            h = 1 / (self.r / above + self.zeta / below)
            h_column = np.zeros(size)
            h_column[of] = h[sigmas]
            low, up = self._at_low(self.least), self._at_up(self.largest)
            kp, kq = self._at_low(self.push / self.over), self._at_up(self.pull / self.under)
            boxes = Boxes(self.sigma, h_column, v, low, up, kp, kq)
            E = boxes.E
            bounded = self.beta.size > 0
            if not self.form.factor(self.s / self.alpha + (self.xi / self.beta if bounded else self.ridge), E):
                return False
            P = np.zeros((size, self.b.size))
            P[of] = (boxes.F[of] / E[of])[:, None] * A[:, sigmas].T
            kept = h.copy()
            kept[sigmas] = boxes.kept[of]
            ratio = np.divide(self.kappa, self.theta, out=np.zeros_like(self.theta), where=inside)
            both = P + G.T
            responses = [self.form.solve(None, -E * p, e) for p, e in zip(both.T, on_b, strict=True)]
            T = (A * kept) @ A.T + np.diag(ratio)
            for i, (_, dw, db) in enumerate(responses):
                T[:, i] -= both.T @ dw + on_b * db
            curb = np.zeros(self.free.size)
            curb[sigmas] = (0.5 * v**2 - low * self._at_low(self.push) + up * self._at_up(self.pull))[of]
            miss_x = self.r + curb - self.c - A.T @ self.theta - self.zeta
            miss_rows = self.b - A @ self.x - G @ self.w - on_b * self.offset - self.kappa
            miss_margins = self.short + self.s - (self.xi if bounded else self.ridge * self.alpha)
            miss_w = self.sigma * v - self.w

            def direction(to: tuple[Array, ...]) -> tuple[Any, ...]:
                """Return the Newton direction that moves each product by ``to``."""
                margins = miss_margins + to[0] / self.alpha - (to[1] / self.beta if bounded else 0.0)
                g = to[2] / above - to[3] / below + miss_x
                g_column = np.zeros(size)
                g_column[of] = g[sigmas]
                c, e = boxes.sides(miss_w, g_column, self._at_low(to[5] / self.over), self._at_up(to[6] / self.under))
                moved_x = h * g
                moved_x[sigmas] = e[of]
                da, dw, db = self.form.solve(margins, c, -self.balance)
                dtheta = np.zeros(self.b.size)
                if dtheta.size:
                    moved = np.divide(to[4], self.theta, out=np.zeros_like(self.theta), where=inside)
                    right = moved - miss_rows + A @ moved_x - P.T @ (c - dw) + G @ dw + on_b * db
                    dtheta = np.linalg.solve(T, right)
                    for t, (da_i, dw_i, db_i) in zip(dtheta, responses, strict=True):
                        da, dw, db = da + t * da_i, dw + t * dw_i, db + t * db_i
                along = A.T @ dtheta
                dx = moved_x - h * along
                dv = ((dw - c) / E + P @ dtheta)[of]
                dx[sigmas] = e[of] - boxes.S[of] * along[sigmas] + boxes.F[of] * dv
                ds, dbeta = (to[0] - self.s * da) / self.alpha, -da if bounded else NOTHING
                dxi = (to[1] - self.xi * dbeta) / self.beta
                dr, dzeta = (to[2] - self.r * dx) / above, (to[3] + self.zeta * dx) / below
                dkappa = np.where(inside, moved - ratio * dtheta, 0.0) if dtheta.size else dtheta
                dsigma = np.zeros(size)
                dsigma[of] = dx[sigmas]
                dover = dw[self.lows] - self.least * dsigma[self.lows]
                dunder = self.largest * dsigma[self.ups] - dw[self.ups]
                dpush, dpull = (to[5] - self.push * dover) / self.over, (to[6] - self.pull * dunder) / self.under
                moves = [
                    (da, ds),
                    (dbeta, dxi),
                    (dx, dr),
                    (-dx, dzeta),
                    (dtheta, dkappa),
                    (dover, dpush),
                    (dunder, dpull),
                ]
                return moves, dw, db

            pairs = self._pairs(above, below)
            products = [p * q for p, q in pairs]
            count = sum(p.size for p in products) - int(np.count_nonzero(self.rows.equal))
            mu = sum(float(p.sum()) for p in products) / count
            try:
                moves, _, _ = direction(tuple(-p for p in products))
                t = min(1.0, _reach(pairs, moves, inside))
                ahead = sum(float((p + t * dp) @ (q + t * dq)) for (p, q), (dp, dq) in zip(pairs, moves, strict=True))
                target = mu * min(1.0, max(ahead / (count * mu), 1e-6)) ** 3
                aims = [target - p - dp * dq for p, (dp, dq) in zip(products, moves, strict=True)]
                aims[4] = np.where(inside, aims[4], 0.0)
                moves, dw, db = direction(tuple(aims))
            except np.linalg.LinAlgError:
                return False
            t = min(1.0, TO_BOUNDARY * _reach(pairs, moves, inside))
        if not math.isfinite(t) or t < 1e-10:
            return False
        reached = [(p + t * dp, q + t * dq) for (p, q), (dp, dq) in zip(pairs, moves, strict=True)]
        (self.alpha, self.s), (self.beta, self.xi), (_, self.r), (_, self.zeta), (self.theta, self.kappa) = reached[:5]
        (self.over, self.push), (self.under, self.pull) = reached[5:]
        self.x = self.x + t * moves[2][0]
        self.w, self.offset = self.w + t * dw, self.offset + t * db
        self.sigma[of] = self.x[sigmas]
        return True

    def _at_low(self, values: Array) -> Array:
        """Return values of the lower bounds of weights by column, 0 for columns without one."""
        return _spread(values, self.lows, self.where.size)

    def _at_up(self, values: Array) -> Array:
        return _spread(values, self.ups, self.where.size)

    def _pairs(self, above: Array, below: Array) -> list[tuple[Array, Array]]:
        """Return the complementary pairs; the fifth is that of the rows."""
        return [
            (self.alpha, self.s),
            (self.beta, self.xi),
            (above, self.r),
            (below, self.zeta),
            (self.theta, self.kappa),
            (self.over, self.push),
            (self.under, self.pull),
        ]


def _spread(values: Array, where: Array, size: int) -> Array:
    found = np.zeros(size)
    found[where] = values
    return found


def _reach(pairs: list[tuple[Array, Array]], moves: list[tuple[Array, Array]], inside: Array) -> float:
    """Return the longest step that keeps every pair at least 0."""
    shrink = 0.0
    for k, (pair, move) in enumerate(zip(pairs, moves, strict=True)):
        for value, change in zip(pair, move, strict=True):
            if value.size:
                ratio = -change / value
                shrink = max(shrink, float((ratio[inside] if k == 4 else ratio).max(initial=0.0)))
    return 1 / max(shrink, 1e-300)
