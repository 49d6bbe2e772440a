r"""Data of a joint relaxation, and the bounds that multipliers prove from the data: (*) of ``oracle.relaxation``.

An edited SUB
    With sides d, bounds on weights that scale with sigma, linear costs (c, c_b) of w and b, and user rows on sigma, w
    and b (a fixed b, or a bound on it, is such a row):

    .. math::
        q(\sigma) = \min_{w, b, \xi}\ & \tfrac12 \sum_j w_j^2 / \sigma_j + c^\top w + c_b b + \sum_i C_i \xi_i \\
        \text{s.t.}\ & y_i (w^\top x_i + b) + \xi_i \ge d_i,\ \xi \ge 0,\quad
                       l_j \sigma_j \le w_j \le u_j \sigma_j,\quad S \sigma + G w + g b \le h

    With multipliers alpha of the margins and pi >= 0 of the rows (free where they are equations), the Lagrangian is
    linear in xi (alpha_i <= C_i) and in b, so that y'alpha - g'pi = c_b, and with v = Z'alpha - G'pi - c it leaves

    .. math::
        d^\top \alpha - h^\top \pi + \pi^\top S \sigma - \sum_j \sigma_j g_j(v_j), \qquad
        g_j(v) = \max_{l_j \le t \le u_j} (v t - \tfrac12 t^2) = v t^* - \tfrac12 t^{*2},\
        t^* = \min(\max(v, l_j), u_j)

    since for sigma_j > 0 the minimum of w^2/(2 sigma_j) - v w is sigma_j times that of t^2/2 - v t, t = w / sigma_j,
    and for sigma_j = 0 the bounds require w_j = 0. So g_j replaces v^2/2 in every cut, bound and reduced cost. The
    scaled bounds are those of the user at sigma_j = 1. At sigma_j = 0 they require w_j = 0, which satisfies the bounds
    of the user if these allow 0; otherwise the model of the user has no point with sigma_j = 0, and the caller fixes
    sigma_j at 1. Any alpha in [0, C] and pi with the right signs and y'alpha - g'pi = c_b prove this bound, optimal or
    not.
The repair of multipliers
    alpha is clipped to [0, C], pi to its signs. An equation with b, if there is one, takes the difference of the
    balance. Otherwise the terms y_i alpha_i and -g_r pi_r with the sign of the difference are scaled down, which keeps
    all signs and bounds. With c_b = 0 this is sufficient; otherwise alpha of the other class rises by the rest.

Screening: a relaxation leaves out the samples far from the margin of a neighbouring relaxation.

At an optimum alpha = C for a sample inside its margin, alpha = 0 for a sample well outside, and few samples are on the
margin. With alpha fixed for the far samples, the dual is smaller, and its solution is feasible for the whole dual: its
bound is valid for any guess. A test on all samples shows if the guess was right; a wrong guess is extended. With the
squared hinge alpha = 2 C xi has no upper bound, and only samples outside are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from fsmodels.errors import ModelError
from fsmodels.models.proofs.svm import Array, Hinge, unit
from fsmodels.models.proofs.svm import sizes as sizes_of

try:
    import fsmodels.models.fsp.oracle.bounds as bounds
except ImportError:  # installed without a C compiler
    bounds = None

MOST_CELLS = 2_000_000_000  # entries of a dense matrix of columns: 16 GB


@dataclass(frozen=True)
class CentredColumns:
    """Centred columns of the data; products do not copy them, unless they are few.

    ``X`` (l, n): dense and centred, or sparse and not centred. ``mean`` (n,): subtracted from sparse columns.
    ``which`` (k,): positions of the columns in X.
    """

    X: Any
    mean: Array
    which: Array

    @classmethod
    def of(cls, X: Array) -> CentredColumns:
        """Return all columns of a dense X (l, k)."""
        return cls(X, np.zeros(X.shape[1]), np.arange(X.shape[1]))

    def among(self, which: Array) -> CentredColumns:
        """Return some of these columns."""
        return replace(self, which=self.which[which])

    @cached_property
    def _source(self) -> tuple[Any, Array]:
        """A matrix with these columns, and their positions in it; a copy if they are less than half of X."""
        if 2 * self.which.size >= self.mean.size:
            return self.X, self.which
        return self.X[:, self.which] if sp.issparse(self.X) else self.dense, np.arange(self.which.size)

    def times(self, a: Array) -> Array:
        """Return Z'a (k,) for the centred columns Z."""
        X, which = self._source
        v = np.asarray(X.T @ a)[which]
        return v - self.mean[self.which] * float(a.sum()) if sp.issparse(X) else v

    def products(self, a: Array) -> tuple[Array, Array]:
        """Return Z'a (k,) for the centred columns Z, and the sums of the absolute values of its terms."""
        X, which = self._source
        if sp.issparse(X):
            size = np.abs(a)
            sizes = np.asarray(abs(X).T @ size)[which] + np.abs(self.mean[self.which]) * float(size.sum())
            return self.times(a), sizes
        if bounds is not None and X.flags.f_contiguous:
            v, sizes = bounds.products(X.T, a)
            return v[which], sizes[which]
        return self.times(a), sizes_of(X, np.abs(a))[which]

    @cached_property
    def dense(self) -> Array:
        """Return the centred columns (l, k) in Fortran order; X itself if these are all columns of a dense X."""
        samples, features = self.X.shape[0], self.which.size
        if features == self.mean.size and not sp.issparse(self.X):
            return np.asarray(self.X)
        if samples * features > MOST_CELLS:
            raise ModelError(
                f"{features} features of {samples} samples need a dense matrix of {8e-9 * samples * features:.0f} GB: "
                f"select among fewer features first (at most {MOST_CELLS // samples} for these samples)."
            )
        columns = self.X[:, self.which]
        return columns.toarray(order="F") - self.mean[self.which] if sp.issparse(columns) else columns


@dataclass(frozen=True)
class Terms:
    """Data of SUB for samples and weights; the symbols are those of the module docstring.

    ``y``, ``need`` (d) of shape (l,); ``loss``: cost of slacks; ``slope`` (c, c_b) of shape (k + 1,); ``least``,
    ``largest`` (l_j, u_j) of shape (k,), infinite without a bound. ``edited``: False if there are only labels and
    prices.
    """

    y: Array
    loss: Hinge
    need: Array
    slope: Array
    least: Array
    largest: Array
    edited: bool = True

    @classmethod
    def plain(cls, y: Array, loss: Hinge, features: int) -> Terms:
        """Return the terms of a SUB as built."""
        free = np.full(features, np.inf)
        return cls(y, loss, np.ones(y.size), np.zeros(features + 1), -free, free, edited=False)

    @property
    def shift(self) -> Array:
        """The coefficients of b in the margins: y, or 0 without an offset."""
        return self.y if self.loss.free_b else np.zeros(self.y.size)

    def of(self, support: Array) -> Terms:
        """Return the terms of some features."""
        if support.size == self.least.size:
            return self
        if not self.edited:  # the same for all features
            k = support.size
            if k not in self._of_size:
                self._of_size[k] = replace(
                    self, slope=self.slope[: k + 1], least=self.least[:k], largest=self.largest[:k]
                )
            return self._of_size[k]
        slope = np.append(self.slope[support], self.slope[-1])
        return Terms(self.y, self.loss, self.need, slope, self.least[support], self.largest[support])

    @cached_property
    def _of_size(self) -> dict[int, Terms]:
        return {}

    def gained(self, alpha: Array) -> float:
        """Return the part of the bound without weights and rows: d'alpha, minus the term of a squared loss."""
        return self.loss.gained(alpha) + (float((self.need - 1.0) @ alpha) if self.edited else 0.0)

    def curb(self, v: Array) -> tuple[Array, Array]:
        """Return g(v) and its maximiser t*."""
        at = np.minimum(np.maximum(v, self.least), self.largest)
        return at * (v - 0.5 * at), at


@dataclass(frozen=True)
class Rows:
    """Rows ``matrix x + weights w + offset b <= sides``, with equality if ``equal``; the last two are optional."""

    matrix: Array
    sides: Array
    equal: Array
    weights: Array | None = field(default=None)  # (R, k)
    offset: Array | None = field(default=None)  # (R,)

    def on_weights(self, columns: int) -> tuple[Array, Array]:
        """Return the coefficients of w and b."""
        weights = np.zeros((self.sides.size, columns)) if self.weights is None else self.weights
        return weights, np.zeros(self.sides.size) if self.offset is None else self.offset

    def of(self, which: Array) -> Rows:
        """Return the rows with the weights of some columns."""
        return self if self.weights is None else replace(self, weights=self.weights[:, which])

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Matrix, sides and equality for compiled code."""
        matrix, sides = (np.ascontiguousarray(a, dtype=float) for a in (self.matrix, self.sides))
        return matrix, sides, np.ascontiguousarray(self.equal, dtype=bool)


@dataclass(frozen=True)
class Edits:
    """Edits of SUB: d (l,), (c, c_b) (n + 1,), bounds of w (n,), and rows on all of x, on w and on b."""

    need: Array
    slope: Array
    least: Array
    largest: Array
    rows: Rows


@dataclass(frozen=True)
class Relaxed:
    """Result of a relaxation: the proven ``bound`` (*), its multipliers and reduced costs, and the last ``x``.

    ``gap``: of the iterate, on all samples and columns; ``left_out``: the parts of it that are due to the samples and
    columns that were left out.
    """

    bound: float
    x: Array
    alpha: Array
    theta: Array  # of the rows
    reduced_costs: Array
    gap: float
    left_out: tuple[float, float]
    iterations: int
    margins: Array  # 1 - d + y (w.x + b) of every sample
    w: Array  # of the columns
    offset: float
    constant: float  # of the cut of alpha, without rows
    v: Array | None = None  # X' (y alpha) of the rows of the compiled loop


@dataclass(frozen=True)
class SvmSolution:
    """Certified solution for one sigma.

    - ``value``, ``bound``, ``gap``: objective (1) of ``(w, b)``, at least q; objective (3) of ``alpha``, at most q; and
      ``(value - bound) / |value|``, at least 0.
    - ``alpha`` (l,): multipliers of (2): within [0, C], and y'alpha = 0 to rounding.
    - ``w`` (n,), ``b``: effective weights, 0 if sigma is 0, and the best intercept; slacks are
      ``max(0, 1 - y (X w + b))``.
    - ``v`` (n,): ``X' (y alpha)`` for ALL features.
    - ``constant``, ``slopes`` (n,): of the cut, g(alpha) and ``-v**2 / 2``, both minus rounding errors.
    - ``iterations``, ``seconds``: iterations of the methods, and wall-clock time.
    - ``method``: the last method, "closed-form" (k = 0), "newton" (squared hinge), "compiled", "libsvm-gram" or
      "interior-point".
    """

    value: float
    bound: float
    gap: float
    alpha: Array
    w: Array
    b: float
    v: Array
    constant: float
    slopes: Array
    iterations: int
    seconds: float
    method: str

    def cut(self, sigma: Any) -> float:
        """Return the right-hand side of (5) of ``oracle``: a lower bound on q at any ``sigma`` (n,) in [0, 1]."""
        return float(self.constant + np.asarray(sigma, dtype=float) @ self.slopes)


@dataclass(frozen=True)
class JointProblem:
    """Data of a relaxation, and the bounds that multipliers prove.

    - ``columns`` (l, k): the columns of X whose sigma may be above 0.
    - ``where`` (k,): their positions in x.
    - ``terms``: samples and bounds of the weights of these columns.
    - ``cost``, ``lower``, ``upper`` (m,): of x; bounds are finite.
    """

    columns: CentredColumns
    where: Array
    terms: Terms
    cost: Array
    rows: Rows
    lower: Array
    upper: Array

    def proven(self, alpha: Array, theta: Array) -> tuple[float, Array, Array, Array]:
        """Return (*), the repaired alpha and theta, and the reduced costs; -inf if the repair fails."""
        terms, (G, g) = self.terms, self.rows.on_weights(self.where.size)
        if g.any() or terms.slope[-1]:
            found = balance(alpha, theta, terms, self.rows, g)
            if found is None:
                return -np.inf, np.zeros(alpha.size), np.zeros(theta.size), np.zeros(self.cost.size)
            alpha, theta = found
        else:
            alpha = terms.loss.repaired(alpha, terms.y)
            theta = np.where(self.rows.equal, theta, np.maximum(theta, 0.0))
        total = float(np.abs(terms.need) @ alpha)
        v, sizes = self.columns.products(self.terms.y * alpha)
        sizes = sizes + np.abs(G).T @ np.abs(theta) + np.abs(terms.slope[:-1])
        if self.rows.weights is not None or terms.slope.any():
            v = v - G.T @ theta - terms.slope[:-1]
        bound, reduced_costs = self.bound(total, terms.gained(alpha), v, theta, sizes)
        return bound, alpha, theta, reduced_costs

    def among(self, which: Array) -> JointProblem:
        """Return the problem with some columns (positions in ``where``); the other sigma are fixed at 0."""
        stay = self.where[which]
        upper = narrowed(self.upper, self.where, stay)
        columns = self.columns.among(which)
        return JointProblem(columns, stay, self.terms.of(which), self.cost, self.rows.of(which), self.lower, upper)

    @cached_property
    def _sides(self) -> tuple[Array, Array, Array, Array, float]:
        """Free x, fixed columns, sides of the rows minus fixed terms, their rounding error, and the fixed cost."""
        lower, upper, rows = self.lower, self.upper, self.rows
        fixed = lower == upper
        terms = rows.matrix[:, fixed] * lower[fixed]
        whole = (rows.sides == np.round(rows.sides)) & (terms == np.round(terms)).all(axis=1)
        error = np.where(whole, 0.0, np.abs(rows.sides) + np.abs(terms).sum(axis=1))
        sides, at_fixed = rows.sides - terms.sum(axis=1), float(self.cost[fixed] @ lower[fixed])
        return np.flatnonzero(~fixed), np.flatnonzero(fixed[self.where]), sides, error, at_fixed

    def bound(self, total: float, gained: float, v: Array, theta: Array, sizes: Array) -> tuple[float, Array]:
        """Return (*) and the reduced costs, minus the rounding errors; theta may be arbitrarily large.

        ``total``: the sum of the sizes of d_i alpha_i. ``gained``: of ``Terms.gained``, the same for the hinge and
        d = 1. ``sizes`` (k,): of the terms of v, whose error is derived in ``proofs.svm``; g_j(v + e) is at most
        g_j(v) + |t*| |e| + 1/2 e^2.
        """
        free, fixed, b, b_error, at_fixed = self._sides
        (curb, at_most), matrix = self.terms.curb(v), self.rows.matrix
        rounding = unit(self.terms.y.size, self.cost.size + self.rows.sides.size)
        d, size = self.cost + matrix.T @ theta, np.abs(self.cost) + np.abs(matrix).T @ np.abs(theta)
        d[self.where] -= curb
        curb_size = np.abs(curb) + np.abs(at_most) * sizes + 0.5 * rounding * np.square(sizes)
        size[self.where] += curb_size
        error, span = rounding * size, self.upper - self.lower
        at = np.where(d > 0, self.lower, self.upper)
        terms = (
            gained,
            -b @ theta,
            at_fixed,
            -curb[fixed] @ self.lower[self.where[fixed]],
            d[free] @ at[free],
        )
        lost = rounding * (2 * total - gained + np.abs(b) @ np.abs(theta))
        fixed_size = np.abs(self.cost) @ np.abs(self.lower) + curb_size[fixed] @ self.lower[self.where[fixed]]
        lost += rounding * float(fixed_size)
        lost += rounding * float(b_error @ np.abs(theta)) + float(error[free] @ np.abs(at[free]))
        lost += float(np.maximum(error - np.abs(d), 0.0) @ span)
        return float(sum(terms) - lost), np.sign(d) * np.maximum(np.abs(d) - error, 0.0)


def balance(alpha: Array, theta: Array, terms: Terms, rows: Rows, g: Array) -> tuple[Array, Array] | None:
    """Return multipliers within their bounds with y'alpha - g'theta = c_b; None if the repair fails."""
    alpha = np.clip(alpha, 0.0, terms.loss.most)
    theta = np.where(rows.equal, theta, np.maximum(theta, 0.0))
    push = terms.shift * alpha
    equations = np.flatnonzero(rows.equal & (g != 0.0))
    if equations.size:
        r = equations[int(np.argmax(np.abs(g[equations])))]
        theta[r] = 0.0
        theta[r] = float(push.sum() - g @ theta - terms.slope[-1]) / g[r]
        return alpha, theta
    pull = -g * theta
    over = float(push.sum() + pull.sum() - terms.slope[-1])
    sign = 1.0 if over > 0 else -1.0  # of the terms to reduce
    pushes, pulls = sign * push > 0, sign * pull > 0
    total = sign * float(push[pushes].sum() + pull[pulls].sum())
    share = min(1.0, abs(over) / total) if total > 0 else 0.0
    alpha, theta = np.where(pushes, (1 - share) * alpha, alpha), np.where(pulls, (1 - share) * theta, theta)
    left = abs(over) - share * total
    if left > 0:  # with a price of b: the terms of the other sign have to grow
        others = sign * terms.shift < 0
        room = np.where(others, np.minimum(terms.loss.most, 2 * alpha + left) - alpha, 0.0)
        if left > float(room.sum()):
            return None
        alpha = alpha + left / float(room.sum()) * room
    return alpha, theta


def narrowed(upper: Array, where: Array, stay: Array) -> Array:
    """Return the upper bounds with 0 for the sigma at ``where``, except at the positions ``stay`` of x."""
    bounds = upper.copy()
    bounds[where] = 0.0
    bounds[stay] = upper[stay]
    return bounds


def lost(reduced_costs: Array, upper: Array, where: Array, stay: Array) -> float:
    """Return the decrease of (*) by the columns at ``where`` that were left out, with lower bounds 0."""
    left_out = np.minimum(reduced_costs[where], 0.0) @ upper[where]
    return float(np.minimum(reduced_costs[stay], 0.0) @ upper[stay] - left_out)


SMALLEST, MOST = 0.02, 0.6  # shares of the samples; above MOST all are used once
LEAST = 60  # minimum number of samples
NARROWER, WIDER = 0.95, 1.2  # factors of the share after a right and after a wrong guess


@dataclass(frozen=True)
class Screened:
    """Positions of the used samples and of those with alpha = C (for the others alpha = 0), and a start."""

    kept: Array
    at_bound: Array
    w: Array  # (n,)
    offset: float


@dataclass(frozen=True)
class Guide:
    """A neighbouring solution: margins y (w.x + b) of all samples, weights of all features, offset."""

    margins: Array  # (l,)
    w: Array  # (n,)
    offset: float


class Screen:
    """Choice of the samples nearest to the margin 1, with an adaptive share of all samples."""

    def __init__(self, *, bounded: bool = True) -> None:
        self._bounded = bounded  # multipliers have an upper bound
        self._share = 0.4

    def part(self, start: Guide, y: Array, at_most: int, also: Array) -> Screened | None:
        """Return a guess of at most ``at_most`` samples; None if hardly any is left out.

        ``also`` (l,): True for samples to use in addition.
        """
        margins = start.margins
        most = min(max(LEAST, int(self._share * y.size)), at_most)
        if at_most >= y.size and ((self._share > MOST and not also.any()) or most >= y.size):
            return None
        stays = also.copy()
        stays[np.argpartition(np.abs(1 - margins) if self._bounded else margins, most)[:most]] = True
        kept, far = np.flatnonzero(stays), np.flatnonzero(~stays)
        if abs(float(y[kept].sum())) == kept.size or not far.size or (not self._bounded and margins[far].min() < 1):
            return None
        return Screened(kept, far[margins[far] < 1], start.w, start.offset)

    def wrong(self, part: Screened, margins: Array) -> Array:
        """Return True for the samples (l,) that the part used or fixed at the wrong alpha."""
        wrong = margins < 1
        wrong[part.at_bound] = margins[part.at_bound] > 1
        wrong[part.kept] = True
        return wrong

    def adapt(self, *, right: bool) -> None:
        """Use fewer samples after a right guess or no guess, and more after a wrong one."""
        self._share = max(SMALLEST, min(self._share, MOST) * NARROWER) if right else min(1.0, self._share * WIDER)
