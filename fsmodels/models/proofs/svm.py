r"""Losses of slacks, the multipliers that they allow, and the rounding of bounds of one SVM.

A certificate is evaluated on the data after any method; estimates of the method are not reported:

* bound: alpha is clipped to [0, C] and the class with the larger sum scaled down until y' alpha = 0, which stays in
  the box; then t alpha, t = min(sum alpha / sum sigma v^2, min C_i / alpha_i), is the multiple that maximises (3).
  For the squared hinge the same without an upper bound, by its own multiple (below).
* value: (1) on the centred data. For given w the weighted sum of hinges is piecewise linear in b with kinks
  y_i - w.x_i; its slope is -C_+, the sum of C_i over class +1, at the far left and gains C_i at each kink, so the best
  b lie between the kinks where these sums pass C_+: with one C for all, those of rank l_+ and l_+ + 1. The midpoint is
  taken (swapping the labels then negates b). xi_i = max(0, 1 - y_i (w.x_i + b)).

Rounding
    The possible rounding error is subtracted from the bound. With u = 2^-53, a sum of k products in any order, fused or
    not, has the error gamma_k sum |terms|, gamma_k = k u / (1 - k u) (Higham 2002, section 3.1). For l samples:

    - y'alpha = 0 is satisfied to gamma_(2l+2) times the sum of a class. alpha*, with one class scaled down by a factor
      of at least 1 - gamma_(2l+2), is exactly feasible.
    - So v_j is within e_j = gamma_(3l+2) a_j of that of alpha*, a_j = sum_i alpha_i |z_ij| <= ||z_j|| ||alpha||: l
      products, and the change of alpha. Centred columns are rounded once, which adds one u.
    - 1/2 v_j^2 is within |v_j| e_j + 1/2 e_j^2, and g(alpha) within gamma_(3l+4) of the sizes of its terms.
    - Sums over k columns and R rows add gamma_(k+R+8) of the sizes of their terms.

    ``unit`` is 2 u (3 l + k + R + 20), at least twice all of these together, which covers the rounding of the error
    terms themselves. On 10^5 samples it is 7e-11.

C may differ between samples. With k = 0: q = 2 min(C_+, C_-), alpha = C on the class with the smaller sum of C and C
times the ratio of the sums on the other.

Costs of slacks and the feasible multipliers, for the hinge and the squared hinge.

Problem
    .. math:: \min_{u, b, \xi}\ \tfrac12 u^\top u + \sum_i \ell_i(\xi_i) \quad \text{s.t.}\quad
              y_i (z_i^\top u + b) + \xi_i \ge 1,\ \xi_i \ge 0

    with ell_i(xi) = C_i xi (``hinge``) or C_i xi^2 (``squared-hinge``; C is that of liblinear's L2-loss SVC, which has
    1/2 w'w + C sum xi_i^2 too, not C/2).
Multipliers
    The Lagrangian ``1/2 u'u + sum ell_i(xi_i) - sum alpha_i (y_i (z_i.u + b) + xi_i - 1)`` over xi_i >= 0, b and u: its
    minimum over b is finite where y'alpha = 0, over u it is -1/2 ||v||^2 with v = sum_i alpha_i y_i z_i, and over xi_i

    - hinge: (C_i - alpha_i) xi_i is least at 0 if alpha_i <= C_i, else unbounded: 0 <= alpha_i <= C_i;
    - squared hinge: C_i xi_i^2 - alpha_i xi_i is least at xi_i = alpha_i / (2 C_i) for every alpha_i >= 0, where it is
      -alpha_i^2 / (4 C_i): no upper bound.

    So with g(alpha) = sum alpha_i, minus sum alpha_i^2 / (4 C_i) for the squared hinge, ``gained``,

    .. math:: g(\alpha) - \tfrac12 \|v\|^2 \quad \text{for any } \alpha \ge 0,\ y^\top \alpha = 0\ (\alpha \le C)

    is a lower bound, and with the factors sigma_j of v_j^2 a lower bound at every sigma: the cut.
Without an offset
    If b is 0 (``free_b`` is False), y'alpha = 0 is not required: any alpha >= 0 (alpha <= C) proves its bound, w = 0
    has slacks of 1, alpha_i = C_i or 2 C_i, and the bound on the weights differs (``fsmodels.models.fsp``).
The best multiple
    Of t alpha, t >= 0: t e'alpha - t^2/2 ||v||^2 is largest at e'alpha / ||v||^2, with t alpha <= C; for the squared
    hinge at e'alpha / (||v||^2 + sum alpha_i^2 / (2 C_i)).
w = 0
    With C+ and C- the sums of C_i over the classes. Hinge: 2 min(C+, C-), alpha = C_i on the smaller class and C_i
    times the ratio of the sums on the larger. Squared hinge: C+ (1 - b)^2 + C- (1 + b)^2 is least at
    b = (C+ - C-) / (C+ + C-): 4 C+ C- / (C+ + C-), with alpha = 2 C_i xi = 4 C_i C- / (C+ + C-) on class +1 and
    4 C_i C+ / (C+ + C-) on class -1. For one C: 4 C l+ l- / l.
The best offset
    For given scores f, sum_i ell_i(max(0, 1 - y_i (f_i + b))) is convex in b, with kinks k_i = y_i - f_i: a sample of
    class +1 has the slack k_i - b left of its kink, one of class -1 the slack b - k_i right of it. Hinge: piecewise
    linear, ``proofs.svm.hinges``. Squared: half the slope, h(b) = sum_- C_i (b - k_i)_+ - sum_+ C_i (k_i - b)_+, is
    piecewise linear and increasing. Between the two kinks where it changes its sign, b is the mean of the kinks of the
    samples with a slack, with weights C_i. If h = 0 on an interval, no sample has a slack: b is its middle (swapping
    the labels negates b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fsmodels.checks import choice

TINY = float(np.finfo(float).tiny)
EPSILON = float(np.finfo(float).eps)
TOGETHER = 64  # columns per block of absolute values
Array = np.ndarray[Any, np.dtype[Any]]


def unit(samples: int, terms: int) -> float:
    """Return the relative error of the sums of a bound over samples, and columns and rows; "Rounding" above."""
    return EPSILON * (3 * samples + terms + 20)


def norms(X: Any) -> Array:
    """Return the Euclidean norm of each column of X (l, k), dense or sparse."""
    return np.sqrt(X.multiply(X).sum(axis=0) if hasattr(X, "multiply") else np.einsum("ij,ij->j", X, X))


def sizes(X: Array, alpha: Array) -> Array:
    """Return a = |X|' alpha (k,), by blocks of columns."""
    parts = [np.abs(X[:, j : j + TOGETHER]).T @ alpha for j in range(0, X.shape[1], TOGETHER)]
    return np.concatenate([np.zeros(0), *parts])


def lost(loss: Hinge, alpha: Array, v: Array, a: Array) -> float:
    """Return the rounding error of g(alpha) - 1/2 v'v; ``a`` (k,): upper bounds of the sizes of the terms of v."""
    share, total = unit(alpha.size, v.size), float(alpha.sum())
    return share * (2 * total - loss.gained(alpha) + float(np.abs(v) @ a + 0.5 * share * (a @ a) + 0.5 * (v @ v)))


def repaired(alpha: Array, y: Array, C: float | Array) -> Array:
    """Return alpha clipped to [0, C], with the class of the larger sum scaled down until y'alpha = 0."""
    alpha, positive = np.clip(alpha, 0.0, C), y > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    alpha[positive if plus > minus else ~positive] *= min(plus, minus) / (max(plus, minus) or 1.0)
    return alpha


def relative(value: float, bound: float) -> float:
    """Return the gap relative to the value."""
    return max(value - bound, 0.0) / max(abs(value), TINY)


def balanced(y: Array, C: float | Array = 1.0) -> Array:
    """Return the largest alpha in [0, C] that is one multiple of C on each class and has y'alpha = 0."""
    C = np.broadcast_to(C, y.shape)
    plus, minus = float(C[y > 0].sum()), float(C[y < 0].sum())
    return np.where(y > 0, min(1.0, minus / plus), min(1.0, plus / minus)) * C


def hinges(scores: Array, y: Array, C: float | Array = 1.0) -> tuple[float, float]:
    """Return min over b of sum_i C_i max(0, 1 - y_i (scores_i + b)), and the middle of the best b; O(l) for one C."""
    C = np.broadcast_to(C, y.shape)
    if C.min() == C.max():
        rank = np.count_nonzero(y > 0)
        kinks = np.partition(y - scores, (rank - 1, rank))
        b = 0.5 * float(kinks[rank - 1] + kinks[rank])
    else:
        kinks, half = y - scores, float(C[y > 0].sum())
        order = np.argsort(kinks)
        below = np.cumsum(C[order])
        close = EPSILON * float(below[-1])
        first = int(np.searchsorted(below, half - close))  # the slope is at least 0 from this kink on, but for rounding
        last = int(np.searchsorted(below, half + close, side="right"))  # and above 0 from this one
        b = 0.5 * float(kinks[order[min(first, y.size - 1)]] + kinks[order[min(last, y.size - 1)]])
    return float(C @ np.maximum(1 - y * (scores + b), 0.0)), b


HINGE, SQUARED = "hinge", "squared-hinge"


@dataclass(frozen=True, eq=False)
class Hinge:
    """Loss of slacks C_i xi_i; prices ``C`` (l,). ``free_b``: True for a free offset; else it is 0."""

    C: Array
    free_b: bool = True
    squared: ClassVar[bool] = False

    @property
    def most(self) -> float | Array:
        """Upper bounds of the multipliers."""
        return self.C

    def of(self, samples: Array) -> Hinge:
        """Return the loss of some samples, by their positions."""
        return type(self)(self.C[samples], self.free_b)

    def repaired(self, alpha: Array, y: Array) -> Array:
        """Return feasible multipliers: within their bounds, and balanced if there is an offset."""
        return repaired(alpha, y, self.most) if self.free_b else np.clip(alpha, 0.0, self.most)

    def cost(self, slacks: Array) -> float:
        """Return the cost of slacks of at least 0."""
        return float(self.C @ slacks)

    def gained(self, alpha: Array) -> float:
        """Return g(alpha), the constant of the cut of alpha."""
        return float(alpha.sum())

    def multiple(self, alpha: Array, square: float) -> float:
        """Return the t with the best bound of t alpha; ``square`` is the sum of sigma v^2."""
        largest, total = float((alpha / self.C).max(initial=0.0)), float(alpha.sum())
        return min(1.0 / largest if largest > 0 else 1.0, total / square if square > 0 else math.inf)

    def at_zero(self, y: Array) -> Array:
        """Return multipliers of w = 0."""
        return balanced(y, self.C) if self.free_b else self.C.copy()

    def offset(self, scores: Array, y: Array) -> tuple[float, float]:
        """Return the least cost over b of scores of shape (l,), and that b."""
        if not self.free_b:
            return self.cost(np.maximum(1 - y * scores, 0.0)), 0.0
        return hinges(scores, y, self.C)


class SquaredHinge(Hinge):
    """Loss of slacks C_i xi_i^2; multipliers have no upper bound."""

    squared: ClassVar[bool] = True

    @property
    def most(self) -> float:
        """Infinity."""
        return math.inf

    def cost(self, slacks: Array) -> float:
        """Return the cost of slacks of at least 0."""
        return float(self.C @ slacks**2)

    def gained(self, alpha: Array) -> float:
        """Return g(alpha), the constant of the cut of alpha."""
        return float(alpha.sum()) - 0.25 * float(alpha @ (alpha / self.C))

    def multiple(self, alpha: Array, square: float) -> float:
        """Return the t with the best bound of t alpha; ``square`` is the sum of sigma v^2."""
        square += 0.5 * float(alpha @ (alpha / self.C))
        return float(alpha.sum()) / square if square > 0 else 1.0

    def at_zero(self, y: Array) -> Array:
        """Return multipliers of w = 0."""
        if not self.free_b:
            return 2.0 * self.C
        plus, minus = float(self.C[y > 0].sum()), float(self.C[y < 0].sum())
        return 4.0 * self.C * np.where(y > 0, minus, plus) / (plus + minus)

    def offset(self, scores: Array, y: Array) -> tuple[float, float]:
        """Return the least cost over b of scores of shape (l,), and that b."""
        b = squared_offset(scores, y, self.C) if self.free_b else 0.0
        return self.cost(np.maximum(1 - y * (scores + b), 0.0)), b


LOSSES: dict[str, type[Hinge]] = {HINGE: Hinge, SQUARED: SquaredHinge}


class LossKind(NamedTuple):
    """Name of the loss of a model, and True if the model has an offset."""

    loss: str = HINGE
    free_b: bool = True

    @property
    def squared(self) -> bool:
        """True if the squares of slacks have the cost."""
        return self.loss == SQUARED

    def priced(self, C: Array) -> Hinge:
        """Return the loss with prices of shape (l,). Raises ParameterError for an unknown name."""
        return LOSSES[choice("loss", self.loss, list(LOSSES))](C, self.free_b)

    def cost_of_zero_weights(self, y: Array, s: Array) -> float:
        """Return the cost of w = 0 with its best offset, with prices s (l,)."""
        plus, minus = float(s[y > 0].sum()), float(s[y < 0].sum())
        if not self.free_b:
            return plus + minus
        return 4.0 * plus * minus / (plus + minus) if self.squared else 2.0 * min(plus, minus)


PLAIN = LossKind()


def squared_offset(scores: Array, y: Array, C: Array) -> float:
    """Return the b that minimises the sum of C_i times squared slacks; O(l log l)."""
    kinks, positive = y - scores, y > 0
    end, start = float(kinks[positive].max(initial=-math.inf)), float(kinks[~positive].min(initial=math.inf))
    if end <= start:  # no slack between the classes
        return 0.5 * (end + start)
    order = np.argsort(kinks, kind="stable")
    k, plus = kinks[order], positive[order]
    middle = k[len(k) // 2]
    off, weight = k - middle, C[order]
    # At the kink of rank r: those of class -1 to its left, and of class +1 from it on, have a slack.
    ours, others = np.where(plus, weight, 0.0), np.where(plus, 0.0, weight)
    left, right = np.cumsum(others), np.cumsum(ours[::-1])[::-1]
    left_sum, right_sum = np.cumsum(others * off), np.cumsum((ours * off)[::-1])[::-1]
    slope = left * off - left_sum - (right_sum - right * off)  # h at the kinks, rising
    r = min(max(1, int(np.searchsorted(slope, 0.0))), len(k) - 1)  # the first kink with a slope of at least 0
    b = middle + (left_sum[r - 1] + right_sum[r]) / (left[r - 1] + right[r])
    return float(min(max(b, k[r - 1]), k[r]))
