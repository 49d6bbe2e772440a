r"""SUB at one sigma: the best point and the best bound of several methods, evaluated on the data.

The bound is that of ``problem`` with all of x fixed. The value is that of weights within their bounds and rows. An
interior point is strictly within the bounds. A violation of rows by rounding is removed by the least change of (w, b),
and a larger one by a step towards a feasible point of the rows, from a linear program. For given w the best b is that
of the hinges, moved into the interval that the rows allow, because the sum of hinges is convex in b.

If the rows have no point at sigma, the linear program that minimises the sum of the violations has multipliers r,
0 <= r <= 1 (between -1 and 1 for equations), with g'r = 0, and

.. math::
    r^\top S \sigma - r^\top h + \sum_j \sigma_j \min_{l_j \le t \le u_j} (G^\top r)_j t

is above 0 there and at most 0 at every sigma with a point. If a minimum is -inf, every point with sigma_j = 1 is
allowed: for binaries this is a coefficient larger than all other terms together.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import scipy

from fsmodels.models.fsp.oracle import relaxation
from fsmodels.models.fsp.oracle.iterates import Iterates
from fsmodels.models.fsp.oracle.problem import CentredColumns, JointProblem, Rows, Terms
from fsmodels.models.proofs.svm import Array, relative

ITERATION_LIMIT, PATIENCE = 200, 15  # measured: 5-35 iterations, also on badly scaled data
EVALUATED = 1e-4  # an iterate with a smaller gap is evaluated on the data, because of rounding errors
FINISHING, NEAR = 12, 1e-7  # steps of Newton's method; relative slack of a tight row or bound
VIOLATION = 1e-10  # allowed violation of rows, relative to the sizes of their terms
CONTRADICTION = 1e-9  # rows with a larger sum of violations have no point
CANCELLED = 1e-12  # relative size of a sum of multipliers that counts as 0


class SupportProof:
    """Best point (w, b) and best multipliers of SUB at one support.

    ``columns`` (l, k): of the support. ``sigma`` (k,): above 0, or at any value for edited weights. ``rows``: on w and
    b alone. ``clash``: multipliers that prove that the rows have no point, or None.
    """

    def __init__(self, columns: Array, sigma: Array, terms: Terms, rows: Rows) -> None:
        self.columns, self.sigma, self.terms, self._rows = columns, sigma, terms, rows
        self._G, self._g = rows.on_weights(sigma.size)
        self.low, self.up = sigma * terms.least, sigma * terms.largest
        nothing = np.zeros((rows.sides.size, sigma.size))
        own = replace(rows, matrix=nothing)
        self.problem = JointProblem(
            CentredColumns.of(columns), np.arange(sigma.size), terms, np.zeros(sigma.size), own, sigma, sigma
        )
        self.value, self.bound = math.inf, -math.inf
        self.w: Array | None = None
        self.b = 0.0
        self.alpha: Array | None = None
        self.theta = np.zeros(rows.sides.size)
        self.clash: Array | None = None
        self._allowed: tuple[Array, float] | None = None

    @property
    def gap(self) -> float:
        """Certified relative gap."""
        return relative(self.value, self.bound) if math.isfinite(self.value) else math.inf

    def start(self) -> None:
        """Try w = 0 and its multipliers, which are optimal without features; for an edited SUB the multipliers 0."""
        y, loss = self.terms.y, self.terms.loss
        if self.terms.edited:
            self.try_multipliers(np.zeros(y.size), self.theta)
        else:
            self.try_point(np.zeros(self.sigma.size), 0.0)
            self.try_multipliers(loss.at_zero(y), self.theta)
            if not self.sigma.size:  # both sums are equal
                self.bound = self.value

    def find_allowed(self) -> Array | None:
        """Find a feasible point of the rows; return None if it exists, else multipliers of a contradiction."""
        if self._allowed is not None or not self._rows.sides.size:
            return None
        rows, k, count = self._rows, self.sigma.size, self._rows.sides.size
        matrix = np.column_stack([self._G, self._g])
        equal, one = rows.equal, np.eye(count)
        answer = scipy.optimize.linprog(
            np.concatenate([np.zeros(k + 1), np.ones(2 * count)]),
            A_ub=np.hstack([matrix, -one, one * 0.0])[~equal] if (~equal).any() else None,
            b_ub=rows.sides[~equal] if (~equal).any() else None,
            A_eq=np.hstack([matrix, -one, one])[equal] if equal.any() else None,
            b_eq=rows.sides[equal] if equal.any() else None,
            bounds=[*zip(self.low, self.up, strict=True), (None, None), *[(0, None)] * (2 * count)],
            method="highs",
        )
        if answer.x is None:
            return None
        if answer.fun <= CONTRADICTION * max(1.0, float(np.abs(rows.sides).max())):
            self._allowed = np.clip(answer.x[:k], self.low, self.up), float(answer.x[k])
            return None
        r = np.zeros(count)
        if (~equal).any():
            r[~equal] = np.maximum(-answer.ineqlin.marginals, 0.0)
        if equal.any():
            r[equal] = -answer.eqlin.marginals
        return r

    def missed(self, w: Array, b: float) -> Array:
        """Return the violations of the rows, relative to their terms."""
        rows = self._rows
        off = self._G @ w + self._g * b - rows.sides
        size = 1.0 + np.abs(rows.sides) + np.abs(self._G) @ np.abs(w) + np.abs(self._g * b)
        return np.where(rows.equal, np.abs(off), np.maximum(off, 0.0)) / size

    def try_point(self, w: Array, b: float) -> None:
        """Evaluate weights, moved into their bounds and rows, with the best b that the rows allow."""
        w = np.clip(w, self.low, self.up)
        least, most = -math.inf, math.inf
        if self._rows.sides.size:
            found = self._within_rows(w, b)
            if found is None:
                return
            w, b = found
            least, most = self._interval(w)
        terms = self.terms
        scores = np.asarray(self.columns @ w)
        b = min(max(self._best_b(scores, b), least), most) if least <= most else b
        slacks = np.maximum(terms.need - terms.y * (scores + b), 0.0)
        value = 0.5 * float((w**2 / self.sigma).sum()) + float(terms.slope[:-1] @ w) + float(terms.slope[-1]) * b
        value += terms.loss.cost(slacks)
        if value < self.value:
            self.value, self.w, self.b = value, w, b

    def try_multipliers(self, alpha: Array, theta: Array) -> Array:
        """Evaluate the bound of repaired multipliers, scaled for SUB as built; return the w of the best multiple."""
        terms, loss, w = self.terms, self.terms.loss, np.zeros(self.sigma.size)
        if not terms.edited:
            alpha = loss.repaired(alpha, terms.y)
            v = self.columns.T @ (terms.y * alpha)
            t = loss.multiple(alpha, float(self.sigma @ v**2))
            alpha, w = np.minimum(t * alpha, loss.most), t * self.sigma * v
        bound, alpha, theta, _ = self.problem.proven(alpha, theta)
        if bound > self.bound:
            self.bound, self.alpha, self.theta = bound, alpha, theta
        return w

    def try_compiled(self, along: tuple[Array, Array], tolerance: float, most: int) -> int:
        """Try the point of the compiled loop after at most ``most`` iterations; return the iterations."""
        p, samples = self.problem, np.arange(self.terms.y.size)
        none = np.empty(0, dtype=np.int64)  # samples with fixed alpha
        node = relaxation.loop.Node(*along, p.where, p.terms, p.cost, p.rows, p.lower, p.upper, samples, none)
        node.advance(0.5 * tolerance, math.inf, most)
        alpha, _, w, theta, _, _ = node.solution()
        self._try(alpha, theta, w, node.offset)
        return int(node.iterations)

    def improve(self, tolerance: float, deadline: float) -> int:
        """Run the interior point method in numpy to the tolerance or a limit; return the iterations."""
        if self.w is None:
            self.clash = self.find_allowed()
            if self.clash is not None:
                return 0
        run = Iterates(self.problem, None, np.arange(self.sigma.size))
        smallest, patience, iteration = math.inf, PATIENCE, 0
        while True:
            gap = run.gap()
            patience = PATIENCE if gap < 0.9 * smallest else patience - 1
            smallest = min(gap, smallest)
            last = not math.isfinite(gap) or patience == 0 or iteration == ITERATION_LIMIT
            last = last or time.perf_counter() >= deadline
            if last or gap <= max(tolerance, EVALUATED):
                self._try(run.alpha, run.all_theta(), run.w, float(run.offset))
                if last or self.gap <= tolerance:
                    break
            if not run.step():
                self._try(run.alpha, run.all_theta(), run.w, float(run.offset))
                break
            iteration += 1
        self.finish(tolerance)
        if self.w is None:
            self.try_point(np.zeros(self.sigma.size), 0.0)
        return iteration

    def _try(self, alpha: Array, theta: Array, w: Array, b: float) -> None:
        if all(np.isfinite(found).all() for found in (alpha, theta, w)):
            self.try_multipliers(alpha, theta)
            self.try_point(w, b)

    def finish(self, tolerance: float) -> None:
        """Improve the bound of a squared loss by Newton steps from the best point.

        An error of w changes alpha = 2 C xi, and with it v, by the square of the data. Steps on the system of the
        slacks, of the weights inside their bounds and of the tight rows remove this error.
        """
        terms, equal = self.terms, self._rows.equal
        if not terms.loss.squared or self.w is None or self.gap <= tolerance:
            return
        w, b, free_b = self.w.copy(), self.b, terms.loss.free_b
        size = 1.0 + np.abs(self._rows.sides) + np.abs(self._G) @ np.abs(w) + np.abs(self._g * b)
        tight = equal | (self._G @ w + self._g * b - self._rows.sides >= -NEAR * size)
        edge = NEAR * np.maximum(1e-8, np.abs(w))
        inside = (w - self.low > edge) & (self.up - w > edge)
        Z, shift = self.columns * terms.y[:, None], terms.shift
        for _ in range(FINISHING):
            places = np.append(inside, free_b)
            both, all_rows = np.column_stack([Z, shift])[:, places], np.column_stack([self._G, self._g])
            rows, m, count = all_rows[tight][:, places], int(places.sum()), int(tight.sum())
            short = terms.need - Z @ w - shift * b
            price = np.where(short > 0, 2.0 * terms.loss.C, 0.0)
            alpha, ridge = price * short, np.append(1.0 / self.sigma, 0.0)[places]
            system = np.zeros((m + count, m + count))
            system[:m, :m] = np.diag(ridge) + (both * price[:, None]).T @ both
            system[:m, m:], system[m:, :m] = rows.T, rows
            rest = np.concatenate([
                both.T @ alpha - ridge * np.append(w, b)[places] - terms.slope[places],
                (self._rows.sides - self._G @ w - self._g * b)[tight],
            ])  # fmt: skip
            scale = 1.0 / np.sqrt(np.maximum(np.abs(system).max(axis=1, initial=0.0), np.finfo(float).tiny))
            move = scale * np.linalg.lstsq(scale[:, None] * system * scale, scale * rest, rcond=None)[0]
            if not np.isfinite(move).all():
                return
            theta, step = np.zeros(equal.size), np.zeros(places.size)
            theta[tight], step[places] = move[m:], move[:m]
            alpha = np.maximum(alpha - price * (Z @ step[:-1] + shift * step[-1]), 0.0)
            self.try_multipliers(alpha, theta)
            w, b = w + step[:-1], b + float(step[-1])
            self.try_point(w, b)
            if self.gap <= tolerance:
                return
            v = Z.T @ alpha - self._G.T @ theta - terms.slope[:-1]
            over = self._G @ w + self._g * b - self._rows.sides > NEAR * size
            tight = equal | (tight & (theta >= 0)) | over
            inside = np.where(inside, (w > self.low) & (w < self.up), (v > terms.least) & (v < terms.largest))
            w = np.clip(w, self.low, self.up)

    def _within_rows(self, w: Array, b: float) -> tuple[Array, float] | None:
        """Return the nearest feasible point of the rows, or one towards that of ``find_allowed``; None without one."""
        both, size = np.column_stack([self._G, self._g]), self.sigma.size
        for _ in range(4):
            missed = self.missed(w, b)
            if float(missed.max()) <= VIOLATION:
                return w, b
            active = self._rows.equal | (missed > 0)
            off = (both @ np.append(w, b) - self._rows.sides)[active]
            move = np.linalg.lstsq(both[active], -off, rcond=None)[0]
            w, b = np.clip(w + move[:size], self.low, self.up), b + float(move[size])
        if self.find_allowed() is not None or self._allowed is None:
            return None
        for t in (1e-8, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 1.0):
            there = (1 - t) * w + t * self._allowed[0], (1 - t) * b + t * self._allowed[1]
            if float(self.missed(*there).max()) <= max(VIOLATION, 2 * float(self.missed(*self._allowed).max())):
                return there
        return None

    def _interval(self, w: Array) -> tuple[float, float]:
        """Return the interval of b that the rows allow."""
        g, rest = self._g, self._rows.sides - self._G @ w
        ends = np.divide(rest, g, out=np.zeros_like(rest), where=g != 0)
        above, below = (g > 0) | ((g != 0) & self._rows.equal), (g < 0) | ((g != 0) & self._rows.equal)
        return float(ends[below].max(initial=-math.inf)), float(ends[above].min(initial=math.inf))

    def _best_b(self, scores: Array, b: float) -> float:
        """Return the best b for scores without rows; for a squared loss with a cost of b, return b."""
        terms = self.terms
        moved, price = scores + terms.y * (1.0 - terms.need), float(terms.slope[-1])
        if not price:
            return float(terms.loss.offset(moved, terms.y)[1])
        if terms.loss.squared:
            return b
        kinks = terms.y - moved
        order = np.argsort(kinks)
        rises = np.cumsum(terms.loss.C[order]) - float(terms.loss.C[terms.y > 0].sum()) + price
        return float(kinks[order[min(int(np.searchsorted(rises, 0.0)), kinks.size - 1)]])


def clash_cut(r: Array, x: Array, own: Rows, terms: Terms) -> tuple[float, Array]:
    """Return a cut ``constant + slopes.x`` that is above 0 at x and at most 0 at all points of SUB.

    It is that of the multipliers r of a contradiction. If rounding errors invalidate it, the cut excludes only the 0/1
    point x.
    """
    G, g = own.on_weights(terms.least.size)
    slopes, along_b = G.T @ r, float(g @ r)
    end = np.where(slopes > 0, terms.least, terms.largest)
    small = np.isinf(end) & (np.abs(slopes) <= CANCELLED * np.maximum(1.0, np.abs(G).T @ np.abs(r)))
    least = np.where(small, 0.0, slopes * np.where(small, 0.0, end))
    coefficients, constant = own.matrix.T @ r, -float(r @ own.sides)
    finite = np.where(np.isfinite(least), least, 0.0)
    coefficients[: least.size] += finite
    top = constant + float(np.maximum(coefficients, 0.0).sum())
    coefficients[: least.size] = np.where(np.isfinite(least), coefficients[: least.size], -max(top, 1.0))
    cancelled = abs(along_b) <= CANCELLED * max(1.0, float(np.abs(g) @ np.abs(r)))
    if cancelled and constant + float(coefficients @ x) > 0:
        return constant, coefficients
    on = x > 0.5
    return 1.0 - float(np.sum(on)), np.where(on, 1.0, -1.0)
