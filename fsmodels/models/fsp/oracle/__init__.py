r"""Fast subproblem of feature selection: the linear SVM on one support, with its certified value and its cut.

Problem
    For sigma in {0, 1}^n, or fractional in [0, 1]^n, and with w_j = 0 where sigma_j = 0,

    .. math::
        q(\sigma) = \min_{w, b, \xi}\ & \tfrac12 \sum_j w_j^2 / \sigma_j + \sum_i C_i \xi_i          && (1) \\
        \text{s.t.}\ & y_i (w^\top x_i + b) + \xi_i \ge 1,\ \xi \ge 0                                && (2) \\
        = \max_\alpha\ & \sum_i \alpha_i - \tfrac12 \sum_j \sigma_j v_j^2,\ v_j = \sum_i \alpha_i y_i x_{ij} && (3) \\
        \text{s.t.}\ & y^\top \alpha = 0,\ 0 \le \alpha_i \le C_i                                    && (4)

    with the hinge. With the squared hinge (1) has C sum_i xi_i^2, (3) has e'alpha - sum_i alpha_i^2 / (4C), and (4) has
    no upper bound (``proofs.svm`` derives it). The optimal w_j is sigma_j v_j. As (4) does not contain sigma, any
    feasible alpha, optimal or not, bounds q everywhere:

    .. math::
        q(\sigma') \ge g(\alpha) - \tfrac12 \sum_j \sigma'_j v_j^2 \quad \text{for } \sigma' \in [0, 1]^n && (5)

    where g(alpha) is the part of (3) without sigma.
Symbols
    l samples, n features, k = number of j with sigma_j > 0; Z = diag(y) X_S diag(sqrt(sigma_S)) (l, k);
    u_j = w_j / sqrt(sigma_j) (k,); s (l,) surplus and xi (l,) slack of (2); beta = C - alpha (l,).
Method
    The interior point method of the relaxation with fixed sigma (``loop``, compiled, for up to 200 features, else
    ``iterates``), O(l k^2) per iteration. For large supports libsvm on the Gram matrix is tried first; with the squared
    hinge Newton's method (``svm_solvers``). Each result is repaired and evaluated on the data (``support``).
Source
    Aytug 2015, (5)-(10): SUB, its dual, the cut.
Deviations
    Aytug maximises -q; here q is minimised. sigma may be fractional, with the perspective w_j^2 / sigma_j.
Class
    Convex QP.
Certificate
    exact: bound <= q <= value, to rounding.

May import ``fsmodels.models.proofs`` and the modules of ``fsmodels`` itself.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fsmodels.checks import number
from fsmodels.errors import DataError, ParameterError
from fsmodels.models.fsp.oracle import relaxation, svm_solvers
from fsmodels.models.fsp.oracle.neighbours import Neighbours, Pricing, Solved
from fsmodels.models.fsp.oracle.problem import (
    CentredColumns,
    Edits,
    Guide,
    JointProblem,
    Relaxed,
    Rows,
    Screen,
    SvmSolution,
    Terms,
)
from fsmodels.models.fsp.oracle.support import SupportProof, clash_cut
from fsmodels.models.proofs.svm import HINGE, Array, LossKind, lost, norms, unit
from fsmodels.text import shown

__all__ = ["SvmOracle", "SvmSolution"]

COMPILED_GAP = 10.0  # for edited SUB, numpy improves the compiled point only above this multiple of the tolerance
ATTEMPTS = 8  # for a relaxation, the last on all samples and columns if they are few enough
MOST_ATTEMPTS = 20  # otherwise
LARGE = 5  # a first relaxation of more than 1/LARGE of the maximum work starts with a part of the columns
_RELAXATION_WORK = 5e9  # multiplications per iteration, about half a second
KEPT_SAMPLES = 2000  # margins of the kept relaxations are stored for at most so many samples
KEPT_CELLS = 20_000_000  # dense data of at most so many cells are also stored by feature, 160 MB
_SIGMA_SLACK = 1e-6  # LP solvers return sigma outside [0, 1] within their feasibility tolerance


class SvmOracle:
    """Solver of the SVM on any support of one data set.

    ``X`` (array_like or scipy.sparse matrix, shape (l, n)): samples by features, finite; copied. A sparse matrix stays
    sparse, and only the selected columns become dense. ``y`` (l,): labels -1 and +1, both present. ``C``: price of one
    unit of slack, > 0, of each sample (l,) or of all; it multiplies the unscaled sum of slacks, or of squared slacks
    (``loss="squared-hinge"``). ``free_b``: True for a free offset b; else b = 0. Raises DataError: shapes that do not
    match, NaN or inf, labels other than -1 and +1, or one class only. Raises ParameterError: C is not positive or has
    another shape, or the loss is unknown.

    >>> X = [[0.0, 5.0], [2.0, 5.0], [1.0, 4.0], [3.0, 6.0]]
    >>> oracle = SvmOracle(X, [-1, 1, -1, 1], C=10.0)
    >>> answer = oracle.solve([1, 0])
    >>> print(f"{answer.value:.4f} {answer.w.round(3)} {answer.b:.3f} {answer.gap <= 1e-7}")
    2.0000 [2. 0.] -3.000 True
    >>> answer.cut([1, 1]) <= oracle.solve([1, 1]).value
    True
    """

    def __init__(
        self, X: Any, y: Any, C: float | Array, loss: str = HINGE, *, free_b: bool = True, edits: Edits | None = None
    ) -> None:
        sparse = sp.issparse(X)
        # Fortran order: gathering the columns of a support is then a plain memory copy.
        self._X: Any = sp.csc_array(X, dtype=float) if sparse else np.array(X, dtype=float, order="F")
        self._y = np.array(y, dtype=float)
        if self._X.ndim != 2 or self._y.shape != self._X.shape[:1]:
            raise DataError(f"X has shape {self._X.shape} and y {self._y.shape}: give X (l, n) and y (l,).")
        if not np.isfinite(self._X.data if sparse else self._X).all():
            raise DataError("X has NaN or inf: drop or fill these cells first.")
        if not np.isin(self._y, (-1.0, 1.0)).all():
            raise DataError(f"y has labels {np.unique(self._y)[:5].tolist()}: map them to -1 and +1 first.")
        if np.unique(self._y).size < 2:
            raise DataError(f"y has one class only, {self._y[:1].tolist()}: give samples of both classes.")
        self._C = np.array(C, dtype=float) if np.ndim(C) else np.full(self._y.size, float(C))
        if self._C.shape != self._y.shape:
            raise ParameterError(f"C has shape {self._C.shape}: give one number, or one per sample, {self._y.size}.")
        if not (np.isfinite(self._C) & (self._C > 0)).all():
            raise ParameterError(f"C={C} is not allowed: give finite numbers above 0.")
        self._loss = LossKind(loss, free_b).priced(self._C)
        self._gram = svm_solvers.Backoff()
        # Relaxations and points need different numbers of samples.
        self._screen, self._screen_at_points = (Screen(bounded=not self._loss.squared) for _ in range(2))
        self._pricing, self._neighbours = Pricing(), Neighbours(self._X.shape[1])
        self._large: Guide | None = None  # of the last large support
        self._near: Guide | None = None  # of the last relaxation or point
        self._rows: Array | None = None  # Z' of dense data
        # A free b absorbs the shift.
        self._mean: Array = np.asarray(self._X.mean(axis=0)).ravel() if free_b else np.zeros(self._X.shape[1])
        if not sparse and free_b:
            self._X -= self._mean
        self._data = CentredColumns(self._X, self._mean, np.arange(self._mean.size))
        n, self._more = self._mean.size, 0  # variables after sigma in the rows of an edited SUB
        self._terms, self._open = Terms.plain(self._y, self._loss, n), np.ones(n, dtype=bool)
        self._own = Rows(np.empty((0, n)), np.empty(0), np.empty(0, dtype=bool))
        self._joined: tuple[Rows, Rows] | None = None  # rows of a master, without and with the own rows
        if edits is not None:
            self._edit(edits)

    def _edit(self, edits: Edits) -> None:
        mean, slope, rows = self._mean, edits.slope.copy(), edits.rows
        weights, offset = rows.on_weights(mean.size)
        # Sizes of the terms of G and c, for the rounding error.
        self._rounded = np.abs(np.vstack([weights, slope[:-1]])) + np.outer(np.abs([*offset, slope[-1]]), np.abs(mean))
        slope[:-1] -= slope[-1] * mean  # b of the centred data is b + mean.w
        self._own = replace(rows, weights=weights - np.outer(offset, mean), offset=offset)
        self._more = rows.matrix.shape[1] - mean.size
        self._terms = Terms(self._y, self._loss, edits.need, slope, edits.least, edits.largest)
        self._open = (edits.least != 0.0) | (edits.largest != 0.0)

    def solve(self, x: Any, tolerance: float = 1e-7, time_limit: float | None = None) -> SvmSolution:
        """Solve SUB at ``x``.

        ``x`` (m,): sigma (n,) within [0, 1], then all other variables in the rows of an edited SUB; sigma outside by at
        most 1e-6 is clipped, and the solution is that of the clipped sigma. ``tolerance``: relative gap to reach, > 0;
        if rounding prevents it, the result has a larger gap. ``time_limit``: seconds, checked at each interior-point
        iteration; the result is then the best certified point so far. Raises ParameterError: ``x`` of another length or
        sigma outside [0, 1], ``tolerance`` not positive, ``time_limit`` negative.
        """
        start = time.perf_counter()
        n, x = self._mean.size, np.array(x, dtype=float)
        if x.shape != (n + self._more,):
            raise ParameterError(f"sigma has shape {x.shape}: give one number per feature, {n}.")
        if not ((x[:n] >= -_SIGMA_SLACK) & (x[:n] <= 1 + _SIGMA_SLACK)).all():
            raise ParameterError(f"sigma spans [{x[:n].min():.6g}, {x[:n].max():.6g}]: keep it within [0, 1].")
        if not tolerance > 0:
            raise ParameterError(f"tolerance={tolerance} is not allowed: give a relative gap above 0, such as 1e-7.")
        seconds = math.inf if time_limit is None else number(time_limit)
        if not seconds >= 0:
            raise ParameterError(f"time_limit={shown(time_limit)} is not allowed: give seconds, or None for no limit.")
        x[:n] = np.clip(x[:n], 0.0, 1.0)
        support = self._support(x)
        rows = self._own.of(support)
        if rows.sides.size:
            rows = replace(rows, sides=rows.sides - rows.matrix @ x)
        proof = SupportProof(self._data.among(support).dense, x[support], self._terms.of(support), rows)
        iterations, method = self._prove(proof, support, tolerance, start + seconds)
        w = np.zeros(n)
        if proof.w is not None:
            w[support] = proof.w
        alpha = np.zeros(self._y.size) if proof.alpha is None else proof.alpha
        v, bound = self._slopes(alpha), proof.bound
        constant, slopes = self.cut(alpha, proof.theta, v) if proof.alpha is not None else (-math.inf, np.zeros(x.size))
        if proof.clash is not None:
            bound = math.inf
            constant, slopes = clash_cut(proof.clash, x, self._own, self._terms)
        return SvmSolution(
            proof.value, bound, proof.gap, alpha, w, proof.b - float(self._mean @ w), v, constant, slopes, iterations,
            time.perf_counter() - start, method,
        )  # fmt: skip

    def _prove(self, proof: SupportProof, support: Array, tolerance: float, deadline: float) -> tuple[int, str]:
        """Improve the proof by the fastest methods first; return the iterations and the last method."""
        edited, iterations, method = self._terms.edited, 0, "closed-form"
        enough = COMPILED_GAP * tolerance if edited else tolerance
        left = deadline - time.perf_counter()
        large = self._for_libsvm(support.size, tolerance, left)
        along = None if large or not (support.size or edited) else self._along(support, support.size)
        if along is not None and left > 0:
            most = relaxation.most_iterations(self._y.size, support.size, left)
            iterations, method = proof.try_compiled(along, tolerance, most), "compiled"
        if proof.gap <= enough:
            return iterations, method
        proof.start()
        if proof.gap <= tolerance or not (support.size or edited):
            return iterations, method
        if self._loss.squared and not edited:
            return svm_solvers.improve_by_newton(proof, tolerance, deadline), svm_solvers.NEWTON
        if large and self._gram.due():
            iterations, method = svm_solvers.improve_by_libsvm(proof, tolerance), svm_solvers.GRAM
            self._gram.record(success=proof.gap <= tolerance)
            if proof.gap <= tolerance and proof.w is not None:  # the next relaxation may start from here
                self._large = Guide(
                    self._y * (proof.columns @ proof.w + proof.b), self._wide(support, proof.w), proof.b
                )
                return iterations, method
        return iterations + proof.improve(tolerance, deadline), "interior-point"

    def relax(
        self,
        cost: Array,
        rows: Rows,
        lower: Array,
        upper: Array,
        *,
        accuracy: float,
        enough: float = math.inf,
        time_limit: float | None = None,
    ) -> tuple[Relaxed, Array] | None:
        """Minimise ``cost.x + q(sigma)`` over rows and bounds, x = (sigma, other variables); see ``oracle.relaxation``.

        ``cost``, ``lower``, ``upper`` (m,), m >= n: the first n are those of sigma, within [0, 1]; bounds are finite.
        ``rows``: ``matrix`` (r, m). ``accuracy``: relative gap to reach. ``enough``: a proven bound at which to stop.
        Returns (Relaxed, v (n,) as in ``SvmSolution``); None if the problem is too large (l k min(l, k) above 5e9, k
        the number of columns that are needed) or the method did not converge. A large first relaxation starts with the
        columns that the differences of the class means favour.
        """
        deadline = time.perf_counter() + (math.inf if time_limit is None else time_limit)
        goal = relaxation.Goal(accuracy, enough, deadline)
        n, samples = self._mean.size, self._y.size
        support = self._support(upper)
        rows = self._with_own_rows(rows, support)
        problem = JointProblem(self._data.among(support), support, self._terms.of(support), cost, rows, lower, upper)
        if not (lower < upper).any():
            new = self._bounded_at_point(problem, goal)
            if new is not None:
                return new, self._slopes(new.alpha, new.v)
        near = self._neighbours.nearest(lower[:n], upper[:n])
        among = self._pricing.part(near, support, lower[support] > 0)
        if near is None and _work(samples, support.size) > _RELAXATION_WORK / LARGE:
            costs = cost[support] - 0.5 * self._slopes(self._balanced())[support] ** 2
            among = self._pricing.first(costs, lower[support] > 0)
        start = self._large if near is None else Guide(self._margins(near), near.w, near.offset)
        found, also = None, np.zeros(samples, dtype=bool)
        for attempt in range(MOST_ATTEMPTS):
            part = None
            if attempt >= ATTEMPTS - 1 and _fits(samples, support.size):
                among = np.arange(support.size)
            elif start is not None:
                part = self._screen.part(start, self._y, _samples_for(among.size), also)
            if part is None and not _fits(samples, among.size):
                break  # return the bound of a wrong guess
            along, new = self._along(support, among.size), None
            if along is not None:
                new = relaxation.minimise_compiled(along, problem, goal, part, among)
            if new is None:
                new = relaxation.minimise(problem, goal, part, among)
            if new is None:  # with all columns if they are few enough, and then with all samples
                self._screen.adapt(right=False)
                if among.size < support.size and _fits(samples, support.size):
                    among = np.arange(support.size)
                elif part is not None:
                    start = None
                else:
                    break
                continue
            found = new if found is None or new.bound >= found.bound else found
            missed, lost = (new.bound < enough and share > accuracy for share in new.left_out)
            self._screen.adapt(right=not missed)
            if attempt == 0:
                self._pricing.adapt(right=not lost)
            start = self._near = Guide(new.margins, self._wide(support, new.w), new.offset)
            if not missed and not lost:
                break
            if lost:
                among = self._pricing.joined(among, new.reduced_costs[support])
            if missed and part is not None:
                also |= self._screen.wrong(part, new.margins)
        if found is None:
            return None
        if found.bound < enough:
            self._keep(found, support, lower, upper)
        return found, self._slopes(found.alpha, found.v)

    def _keep(self, solved: Relaxed, support: Array, lower: Array, upper: Array) -> None:
        """Keep a relaxation as a neighbour of later ones."""
        n = self._mean.size
        costs, sigma = np.zeros(n), np.zeros(n)
        costs[support], sigma[support] = solved.reduced_costs[support], solved.x[support]
        margins = solved.margins if self._y.size <= KEPT_SAMPLES else None
        guide = Solved(self._wide(support, solved.w), solved.offset, sigma, costs, margins)
        self._neighbours.add(lower[:n], upper[:n], guide)

    def _balanced(self) -> Array:
        """Return multipliers (l,) in proportion to the prices, with equal sums in both classes."""
        sums = {side: float(self._C[self._y == side].sum()) for side in (-1.0, 1.0)}
        return self._C * np.where(self._y > 0, min(sums.values()) / sums[1.0], min(sums.values()) / sums[-1.0])

    def _bounded_at_point(self, problem: JointProblem, goal: relaxation.Goal) -> Relaxed | None:
        """Do the same as ``relax`` if all of x is fixed, by the compiled loop alone and from the last margins."""
        support = problem.where
        along = self._along(support, support.size)
        if along is None:
            return None
        nobody = np.zeros(self._y.size, dtype=bool)
        part = None if self._near is None else self._screen_at_points.part(self._near, self._y, self._y.size, nobody)
        while True:
            new = relaxation.minimise_compiled(along, problem, goal, part)
            missed = new is None or (new.bound < goal.enough and new.left_out[0] > goal.accuracy)
            self._screen_at_points.adapt(right=not missed)
            if new is not None:
                self._near = Guide(new.margins, self._wide(support, new.w), new.offset)
            if not missed or part is None:
                return new
            part = None

    def _margins(self, near: Solved) -> Array:
        """Return 1 - d + y (w.x + b) for all samples."""
        if near.margins is not None:
            return near.margins
        support = np.flatnonzero(near.w)
        scores = np.asarray(self._X[:, support] @ near.w[support]) + near.offset
        if sp.issparse(self._X):
            scores -= float(self._mean @ near.w)
        return 1 - self._terms.need + self._y * scores

    def _support(self, most: Array) -> Array:
        """Return the features with weights that may be nonzero, for the upper bounds ``most`` of sigma."""
        return np.flatnonzero((most[: self._mean.size] > 0) & self._open)

    def _with_own_rows(self, rows: Rows, support: Array) -> Rows:
        """Return the rows of the master, followed by those of an edited SUB."""
        own, n = self._own, self._mean.size
        if not own.sides.size:
            return rows
        if self._joined is None or self._joined[0] is not rows:
            wide = np.zeros((own.sides.size, rows.matrix.shape[1]))
            wide[:, : own.matrix.shape[1]] = own.matrix
            weights, offset = own.on_weights(n)
            joined = Rows(
                np.vstack([rows.matrix, wide]),
                np.append(rows.sides, own.sides),
                np.append(rows.equal, own.equal),
                np.vstack([np.zeros((rows.sides.size, n)), weights]),
                np.append(np.zeros(rows.sides.size), offset),
            )
            self._joined = rows, joined
        joined = self._joined[1]
        return replace(joined, weights=np.ascontiguousarray(joined.on_weights(n)[0][:, support]))

    def cost_of_slacks(self, slacks: Array) -> float:
        """Return the cost of slacks (l,)."""
        return self._loss.cost(slacks)

    def cut(self, alpha: Array, theta: Array, v: Array | None = None) -> tuple[float, Array]:
        r"""Return constant and slopes of the cut (5) of multipliers, each less its rounding error, so that it is valid.

        ``theta``: of the rows; the last ones are those of SUB. ``v`` (n,): ``X' (y alpha)``, if known.

        ``proofs.svm``: exact multipliers have v_j within e_j = unit * a_j, so that -1/2 (\|v_j\| + e_j)^2 is at most
        their slope. sigma is at least 0. With edits a_j also contains the sizes of the terms of G'theta and c, and g_j
        rises by at most \|t*\| e_j + 1/2 e_j^2. The error of a theta that balances the offset is unit times the sizes
        of that sum.
        """
        own, terms, sizes, v = self._own, self._terms, self._sizes(alpha), self._slopes(alpha, v)
        if not terms.edited:
            most = np.abs(v) + unit(alpha.size, 0) * sizes
            return terms.gained(alpha) - lost(self._loss, alpha, v[:0], v[:0]), -0.5 * most**2
        theta = theta[theta.size - own.sides.size :]
        weights, offset = own.on_weights(v.size)
        share, size, g = unit(alpha.size, 2 * theta.size), np.abs(theta), np.abs(offset)
        if g.any():
            sum_of_sizes = float(alpha.sum() + g @ size) + abs(terms.slope[-1])
            size = size + np.divide(sum_of_sizes, g, out=np.zeros_like(g), where=own.equal & (g > 0))
        sizes = sizes + self._rounded[:-1].T @ size + self._rounded[-1]
        curb, at = terms.curb(v - weights.T @ theta - terms.slope[:-1])
        slopes = own.matrix.T @ theta - share * (np.abs(own.matrix).T @ size)
        slopes[: v.size] -= curb + share * (np.abs(at) * (sizes + np.abs(at)) + 0.5 * share * sizes**2)
        gained, total = terms.gained(alpha), float(np.abs(terms.need) @ alpha)
        rounding = share * (2 * total + abs(total - gained) + float(np.abs(own.sides) @ size))
        return gained - float(own.sides @ theta) - rounding, slopes

    def _sizes(self, alpha: Array) -> Array:
        """Return an upper bound of the sizes of the terms of v (n,), including those of separate means."""
        return self._norms * float(np.linalg.norm(alpha))

    @cached_property
    def _norms(self) -> Array:
        apart = np.abs(self._mean) * math.sqrt(self._y.size) if sp.issparse(self._X) else 0.0
        return norms(self._X) + apart

    def _slopes(self, alpha: Array, v: Array | None = None) -> Array:
        """Return X' (y alpha) for all features; ``v`` itself if it already contains all of them."""
        return v if v is not None and v.size == self._mean.size else self._data.times(self._y * alpha)

    def _wide(self, support: Array, w: Array) -> Array:
        """Return the weights of all features (n,)."""
        wide = np.zeros(self._mean.size)
        wide[support] = w
        return wide

    def _for_libsvm(self, features: int, tolerance: float, left: float) -> bool:
        """Return True if libsvm is probably faster; it supports only the hinge with an offset."""
        can = self._loss.free_b and not self._loss.squared and not self._terms.edited
        return can and svm_solvers.worth_trying(self._y.size, features, tolerance, left)

    def _along(self, support: Array, most: int) -> tuple[Array, Array] | None:
        """Return the data by feature, times the labels, and the positions of a support, for the compiled loop.

        None if the loop is not used: it is not installed, or ``most`` columns are too many.
        """
        if most > min(relaxation.COMPILED, self._y.size) or not relaxation.compiled():
            return None
        if sp.issparse(self._X) or self._X.size > KEPT_CELLS:
            if support.size > relaxation.COMPILED:
                return None
            return np.ascontiguousarray((self._data.among(support).dense * self._y[:, None]).T), np.arange(support.size)
        if self._rows is None:
            self._rows = np.ascontiguousarray(self._X.T) * self._y
        return self._rows, support


def _work(samples: int, features: int) -> int:
    """Return the multiplications per iteration of a relaxation."""
    return samples * features * min(samples, features)


def _fits(samples: int, features: int) -> bool:
    """Return True if a relaxation of this size is solved."""
    return _work(samples, features) <= _RELAXATION_WORK


def _samples_for(features: int) -> int:
    """Return the number of samples for a fifth of the maximum work of a relaxation with so many features."""
    work = _RELAXATION_WORK / LARGE
    return int(max(work / max(features, 1) ** 2, math.sqrt(work / max(features, 1))))
