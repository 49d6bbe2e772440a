"""The joint relaxation's interior point in numpy: the iterates of ``oracle.relaxation``, by the names of its text.

It stands where the compiled loop does not: a few questions, sparse data, more columns than samples, or a breakdown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fsmodels.models.fsp.oracle.problem import JointProblem, Relaxed, Rows
from fsmodels.models.fsp.oracle.screening import Screened
from fsmodels.models.fsp.oracle.systems import FeatureSystem, SampleSystem
from fsmodels.models.proofs.svm import TINY, Array, balanced

TO_BOUNDARY = 0.995
STARTS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # share of the way from lower to upper
ROW_TOLERANCE = 1e-7  # relative violation of a row
NOTHING = np.empty(0)
LARGER = 10.0  # than the multipliers that w is made of, those that a run starts from, in units of the slacks


class Iterates:
    """The iterates of one run."""

    def __init__(self, problem: JointProblem, part: Screened | None) -> None:
        columns, where, y, loss, cost = problem.columns, problem.where, problem.y, problem.loss, problem.cost
        rows, lower, upper = problem.rows, problem.lower, problem.upper
        self.all_loss, self.cost, self.lower, self.upper = loss, cost, lower, upper
        self.columns, self.all_y, self.part, self.where = columns, y, part, where
        if part is None:
            self.y, self.loss, self.Z = y, loss, np.multiply(columns, y[:, None], order="F")
            self.fixed_v, self.fixed_y, self.fixed_sum = np.zeros(where.size), 0.0, 0.0
        else:  # alpha = C contributes constants
            self.y, self.loss = y[part.kept], loss.of(part.kept)
            self.Z = np.multiply(columns[part.kept], self.y[:, None], order="F")
            at_bound = np.zeros(y.size)
            at_bound[part.at_bound] = loss.C[part.at_bound]
            self.fixed_v = columns.T @ (y * at_bound)
            self.fixed_y, self.fixed_sum = float(y @ at_bound), float(at_bound.sum())
        self.ridge = 0.5 / self.loss.C  # of the diagonal, with the squared hinge, in place of the pair beta, xi
        free = self.free = np.flatnonzero(lower < upper)
        position = np.full(cost.size, -1)
        position[where] = np.arange(where.size)
        self.sigmas = np.flatnonzero(position[free] >= 0)  # of the free x
        self.of = position[free[self.sigmas]]  # their columns
        fixed = np.flatnonzero(lower == upper)
        held, A = rows.matrix[:, fixed] * lower[fixed], rows.matrix[:, free]
        b = rows.sides - held.sum(axis=1)
        # A row that the bounds imply has no interior where it is tight, and a multiplier without end.
        most = np.maximum(A, 0.0) @ upper[free] + np.minimum(A, 0.0) @ lower[free]
        kept = np.where(rows.equal, A.any(axis=1) | (np.abs(b) > ROW_TOLERANCE), most > b)
        self.rows = rows = Rows(rows.matrix[kept], rows.sides[kept], rows.equal[kept])
        self.b, self.A, self.c = b[kept], A[kept], cost[free]
        self.at_fixed = float(cost[fixed] @ lower[fixed])
        self.problem = replace(problem, rows=rows)
        self.form: FeatureSystem | SampleSystem = (FeatureSystem if where.size <= self.y.size else SampleSystem)(
            self.Z, self.y
        )
        self._start()

    def _start(self) -> None:
        y, loss, inside = self.y, self.loss, ~self.rows.equal
        C = loss.C
        low, span = self.lower[self.free], (self.upper - self.lower)[self.free]
        for share in STARTS:
            self.x = low + share * span
            if np.all((self.A @ self.x)[inside] < self.b[inside]):
                break
        self.sigma = self.lower[self.where].astype(float)
        self.sigma[self.of] = self.x[self.sigmas]
        if self.part is None:
            most = float(C.max())
            shares = loss.at_zero(y) if loss.squared else balanced(y, C / most)
            v = self.Z.T @ shares
            square = float(self.sigma @ v**2)
            if loss.squared:
                scale = loss.multiple(shares, square)
            else:
                scale = min(0.5 * most, float(shares.sum()) / square) if square > 0 else 0.5 * most
            self.w = scale * self.sigma * v
            self.alpha = shares * (scale if loss.squared else min(0.5 * most, max(50 * scale, 0.05 * most)))
            image = self.Z @ self.w
            self.offset = loss.offset(y * image, y)[1]
        else:
            self.w, self.offset = self.part.w[self.where] * (self.sigma > 0), self.part.offset
            self.alpha, image = 0.5 * C, self.Z @ self.w
        short = 1 - image - y * self.offset
        size = float(np.abs(short).mean())
        spread = np.hypot(short, max(1e-6 if loss.squared else 1.0, size))
        self.s, self.xi = 0.5 * (spread - short), 0.5 * (spread + short)
        self.beta = C - self.alpha
        if loss.squared:  # all products are equal; multipliers of 2 C xi would be too large where C is
            self.alpha = np.minimum(2 * C, LARGER * float(self.alpha.mean())) * self.xi
            self.beta = self.xi = NOTHING
        left = self.b - self.A @ self.x
        self.kappa = np.where(inside, np.maximum(left, 1e-3 * np.maximum(1.0, np.abs(self.b))), 0.0)
        v = self.fixed_v + self.Z.T @ self.alpha
        typical = max(1e-8, 0.5 * float(v @ v) / max(1, v.size), float(np.abs(self.c).max(initial=0.0)))
        self.theta = np.where(inside, typical, 0.0)
        self.r, self.zeta = np.full(self.free.size, typical), np.full(self.free.size, typical)

    def gap(self) -> float:
        """Return the relative gap of the iterate's own numbers, infeasibilities included."""
        self.v = self.fixed_v + self.Z.T @ self.alpha
        self.short = 1 - self.Z @ self.w - self.y * self.offset
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            norms = np.where(self.sigma > 0, self.w**2 / self.sigma, 0.0)
            value = float(self.c @ self.x) + self.at_fixed + 0.5 * float(norms.sum())
        value += self.loss.cost(np.maximum(self.short, 0.0))
        value += self.fixed_sum - float(self.fixed_v @ self.w) - self.fixed_y * self.offset
        self.value = value
        total, gained = self.fixed_sum + float(self.alpha.sum()), self.fixed_sum + self.loss.gained(self.alpha)
        self.bound_estimate, _ = self.problem.bound(total, gained, self.v, self.theta)
        scale = max(abs(value), TINY)
        left = self.A @ self.x - self.b
        miss = np.where(self.rows.equal, np.abs(left), np.maximum(left, 0.0)) / np.maximum(1.0, np.abs(self.b))
        if float(miss.max(initial=0.0)) > ROW_TOLERANCE:
            return max((value - self.bound_estimate) / scale, 1.0)
        return (value - self.bound_estimate) / scale

    def proven(self, gap: float, iterations: int) -> Relaxed:
        """Return the bound of the repaired alpha, and x as it is."""
        alpha, margins = self.alpha, 1 - self.short
        if self.part is not None:
            alpha = np.zeros(self.all_y.size)
            at_bound = self.part.at_bound
            alpha[at_bound], alpha[self.part.kept] = self.all_loss.C[at_bound], self.alpha
            margins = self.all_y * (self.columns @ self.w + self.offset)
            hinge = np.maximum(1 - margins, 0.0)
            hinge[self.part.kept] = 0.0
            left_out = self.all_loss.cost(hinge)
            left_out -= self.fixed_sum - float(self.fixed_v @ self.w) - self.fixed_y * self.offset
            gap += left_out / max(abs(self.value), TINY)
        bound, alpha, reduced_costs = self.problem.proven(alpha, self.theta)
        x = self.lower.astype(float)
        x[self.free] = self.x
        constant = self.all_loss.gained(alpha)
        return Relaxed(bound, x, alpha, reduced_costs, gap, iterations, margins, self.w, self.offset, constant)

    def step(self) -> bool:
        """Take one predictor and corrector step; False where the system cannot be factorised."""
        sigmas, of, A = self.sigmas, self.of, self.A
        inside = ~self.rows.equal
        above, below = self.x - self.lower[self.free], self.upper[self.free] - self.x
        with np.errstate(all="ignore"):
            v = np.zeros(self.free.size)
            v[sigmas] = self.v[of]
            h = 1 / (self.r / above + self.zeta / below)
            E = self.sigma.copy()
            E[of] += h[sigmas] * v[sigmas] ** 2
            bounded = self.beta.size > 0
            if not self.form.factor(self.s / self.alpha + (self.xi / self.beta if bounded else self.ridge), E):
                return False
            P = np.zeros((E.size, self.b.size))
            P[of] = ((h * v)[sigmas] / E[of])[:, None] * A[:, sigmas].T
            kept = h.copy()
            kept[sigmas] *= self.sigma[of] / E[of]
            ratio = np.divide(self.kappa, self.theta, out=np.zeros_like(self.theta), where=inside)
            responses = [self.form.solve(None, -E * p, 0.0) for p in P.T]
            T = (A * kept) @ A.T + np.diag(ratio)
            for i, (_, dw, _) in enumerate(responses):
                T[:, i] -= P.T @ dw
            miss_x = self.r + 0.5 * v**2 - self.c - A.T @ self.theta - self.zeta
            miss_rows = self.b - A @ self.x - self.kappa
            miss_margins = self.short + self.s - (self.xi if bounded else self.ridge * self.alpha)
            miss_w = self.sigma * self.v - self.w

            def direction(to: tuple[Array, ...]) -> tuple[Any, ...]:
                """Return the Newton direction that moves each product by ``to``."""
                margins = miss_margins + to[0] / self.alpha - (to[1] / self.beta if bounded else 0.0)
                g = to[2] / above - to[3] / below + miss_x
                c = miss_w.copy()
                c[of] += (v * h * g)[sigmas]
                da, dw, db = self.form.solve(margins, c, -self.fixed_y - float(self.y @ self.alpha))
                dtheta = np.zeros(self.b.size)
                if dtheta.size:
                    moved = np.divide(to[4], self.theta, out=np.zeros_like(self.theta), where=inside)
                    dtheta = np.linalg.solve(T, moved - miss_rows + A @ (h * g) - P.T @ (c - dw))
                    for t, (da_i, dw_i, db_i) in zip(dtheta, responses, strict=True):
                        da, dw, db = da + t * da_i, dw + t * dw_i, db + t * db_i
                dv = np.zeros(self.free.size)
                dv[sigmas] = ((dw - c) / E + P @ dtheta)[of]
                dx = h * (v * dv - A.T @ dtheta + g)
                ds, dbeta = (to[0] - self.s * da) / self.alpha, -da if bounded else NOTHING
                dxi = (to[1] - self.xi * dbeta) / self.beta
                dr, dzeta = (to[2] - self.r * dx) / above, (to[3] + self.zeta * dx) / below
                dkappa = np.where(inside, moved - ratio * dtheta, 0.0) if dtheta.size else dtheta
                return da, ds, dbeta, dxi, dx, dr, dzeta, dtheta, dkappa, dw, db

            pairs = self._pairs(above, below)
            products = [p * q for p, q in pairs]
            count = sum(p.size for p in products) - int(np.count_nonzero(self.rows.equal))
            mu = sum(float(p.sum()) for p in products) / count
            try:
                affine = direction(tuple(-p for p in products))
                moves = _moves(affine)
                t = min(1.0, _reach(pairs, moves, inside))
                ahead = sum(float((p + t * dp) @ (q + t * dq)) for (p, q), (dp, dq) in zip(pairs, moves, strict=True))
                target = mu * min(1.0, max(ahead / (count * mu), 1e-6)) ** 3
                aims = [target - p - dp * dq for p, (dp, dq) in zip(products, moves, strict=True)]
                aims[4] = np.where(inside, aims[4], 0.0)
                final = direction(tuple(aims))
            except np.linalg.LinAlgError:
                return False
            t = min(1.0, TO_BOUNDARY * _reach(pairs, _moves(final), inside))
        if not math.isfinite(t) or t < 1e-10:
            return False
        da, ds, dbeta, dxi, dx, dr, dzeta, dtheta, dkappa, dw, db = final
        self.alpha, self.beta, self.s, self.xi = (
            self.alpha + t * da,
            self.beta + t * dbeta,
            self.s + t * ds,
            self.xi + t * dxi,
        )
        self.x, self.r, self.zeta = self.x + t * dx, self.r + t * dr, self.zeta + t * dzeta
        self.theta, self.kappa = self.theta + t * dtheta, self.kappa + t * dkappa
        self.w, self.offset = self.w + t * dw, self.offset + t * db
        self.sigma[of] = self.x[sigmas]
        return True

    def _pairs(self, above: Array, below: Array) -> list[tuple[Array, Array]]:
        return [
            (self.alpha, self.s),
            (self.beta, self.xi),
            (above, self.r),
            (below, self.zeta),
            (self.theta, self.kappa),
        ]


def _moves(d: tuple[Any, ...]) -> list[tuple[Array, Array]]:
    """Return a direction as the moves of the complementary pairs."""
    da, ds, dbeta, dxi, dx, dr, dzeta, dtheta, dkappa, _, _ = d
    return [(da, ds), (dbeta, dxi), (dx, dr), (-dx, dzeta), (dtheta, dkappa)]


def _reach(pairs: list[tuple[Array, Array]], moves: list[tuple[Array, Array]], inside: Array) -> float:
    """Return the longest step that keeps every pair at least 0."""
    shrink = 0.0
    for k, (pair, move) in enumerate(zip(pairs, moves, strict=True)):
        for value, change in zip(pair, move, strict=True):
            ratio = -change / value
            shrink = max(shrink, float((ratio[inside] if k == 4 else ratio).max(initial=0.0)))
    return 1 / max(shrink, 1e-300)
