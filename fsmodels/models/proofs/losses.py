r"""What slacks cost, and what that leaves of multipliers: the hinge and the squared hinge.

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

    So with g(alpha) = sum alpha_i, less sum alpha_i^2 / (4 C_i) of the squared hinge, ``gained``,

    .. math:: g(\alpha) - \tfrac12 \|v\|^2 \quad \text{for any } \alpha \ge 0,\ y^\top \alpha = 0\ (\alpha \le C)

    is a lower bound, and with v_j^2 weighed by sigma_j one at every sigma: the cut.
Without an offset
    Where b is 0 (``free_b`` is False) nothing asks for y'alpha = 0: any alpha >= 0 (alpha <= C) proves its bound, w = 0
    has slacks of 1, alpha_i = C_i or 2 C_i, and the bound on the weights is another (``fsmodels.models.fsp``).
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
    piecewise linear and rises; between the two kinks where it changes its sign, b is the mean, by C_i, of the kinks of
    those with a slack. Where h = 0 on an interval, no sample has one: b is its middle (swapping the labels negates b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fsmodels.checks import choice
from fsmodels.models.proofs.svm import Array, SlackLoss, balanced, hinges, repaired

__all__ = ["HINGE", "LOSSES", "PLAIN", "SQUARED", "Hinge", "LossKind", "SquaredHinge", "loss_of", "squared_offset"]

HINGE, SQUARED = "hinge", "squared-hinge"


@dataclass(frozen=True, eq=False)
class Hinge:
    """C (l,) times slacks; ``free_b``: whether there is an offset, else it is 0."""

    C: Array
    free_b: bool = True
    squared: ClassVar[bool] = False

    @property
    def most(self) -> Array:
        """C."""
        return self.C

    def of(self, samples: Array) -> Hinge:
        """Return the loss of some samples, by their positions."""
        return Hinge(self.C[samples], self.free_b)

    def repaired(self, alpha: Array, y: Array) -> Array:
        """Return multipliers that are feasible: within [0, C], and balanced where there is an offset."""
        return repaired(alpha, y, self.C) if self.free_b else np.clip(alpha, 0.0, self.C)

    def cost(self, slacks: Array) -> float:
        """Return what slacks of at least 0 cost."""
        return float(self.C @ slacks)

    def gained(self, alpha: Array) -> float:
        """Return g(alpha), the constant of its cut."""
        return float(alpha.sum())

    def multiple(self, alpha: Array, square: float) -> float:
        """Return the t with the best bound of t alpha; ``square`` is ||v||^2."""
        largest, total = float((alpha / self.C).max(initial=0.0)), float(alpha.sum())
        return min(1.0 / largest if largest > 0 else 1.0, total / square if square > 0 else math.inf)

    def at_zero(self, y: Array) -> Array:
        """Return multipliers of w = 0."""
        return balanced(y, self.C) if self.free_b else self.C.copy()

    def offset(self, scores: Array, y: Array) -> tuple[float, float]:
        """Return the least cost over b, and the b."""
        if not self.free_b:
            return self.cost(np.maximum(1 - y * scores, 0.0)), 0.0
        return hinges(scores, y, self.C)


@dataclass(frozen=True, eq=False)
class SquaredHinge:
    """C (l,) times squared slacks; multipliers have no upper bound. ``free_b``: as of ``Hinge``."""

    C: Array
    free_b: bool = True
    squared: ClassVar[bool] = True
    most: ClassVar[float] = math.inf

    def of(self, samples: Array) -> SquaredHinge:
        """Return the loss of some samples, by their positions."""
        return SquaredHinge(self.C[samples], self.free_b)

    def repaired(self, alpha: Array, y: Array) -> Array:
        """Return multipliers that are feasible: at least 0, and balanced where there is an offset."""
        return repaired(alpha, y, math.inf) if self.free_b else np.maximum(alpha, 0.0)

    def cost(self, slacks: Array) -> float:
        """Return what slacks of at least 0 cost."""
        return float(self.C @ slacks**2)

    def gained(self, alpha: Array) -> float:
        """Return g(alpha), the constant of its cut."""
        return float(alpha.sum()) - 0.25 * float(alpha @ (alpha / self.C))

    def multiple(self, alpha: Array, square: float) -> float:
        """Return the t with the best bound of t alpha; ``square`` is ||v||^2."""
        square += 0.5 * float(alpha @ (alpha / self.C))
        return float(alpha.sum()) / square if square > 0 else 1.0

    def at_zero(self, y: Array) -> Array:
        """Return multipliers of w = 0."""
        if not self.free_b:
            return 2.0 * self.C
        plus, minus = float(self.C[y > 0].sum()), float(self.C[y < 0].sum())
        return 4.0 * self.C * np.where(y > 0, minus, plus) / (plus + minus)

    def offset(self, scores: Array, y: Array) -> tuple[float, float]:
        """Return the least cost over b, and the b."""
        b = squared_offset(scores, y, self.C) if self.free_b else 0.0
        return self.cost(np.maximum(1 - y * (scores + b), 0.0)), b


LOSSES: dict[str, type[Hinge] | type[SquaredHinge]] = {HINGE: Hinge, SQUARED: SquaredHinge}


def loss_of(name: str, C: Array, *, free_b: bool = True) -> SlackLoss:
    """Return the loss of a name with prices of shape (l,). Raises ParameterError, with the names."""
    return LOSSES[choice("loss", name, list(LOSSES))](C, free_b)


class LossKind(NamedTuple):
    """What a model was built with: the name of its loss, and whether it has an offset."""

    loss: str = HINGE
    free_b: bool = True

    @property
    def squared(self) -> bool:
        """Whether squares of slacks are paid for."""
        return self.loss == SQUARED

    def priced(self, C: Array) -> SlackLoss:
        """Return the loss with prices of shape (l,)."""
        return loss_of(self.loss, C, free_b=self.free_b)

    def at_nothing(self, y: Array, s: Array) -> float:
        """Return what w = 0 costs with its best offset, with prices s (l,)."""
        plus, minus = float(s[y > 0].sum()), float(s[y < 0].sum())
        if not self.free_b:
            return plus + minus
        return 4.0 * plus * minus / (plus + minus) if self.squared else 2.0 * min(plus, minus)


PLAIN = LossKind()


def squared_offset(scores: Array, y: Array, C: Array) -> float:
    """Return the b of least sum of C_i times squared slacks; O(l log l)."""
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
