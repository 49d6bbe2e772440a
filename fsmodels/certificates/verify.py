r"""Check a certificate from the data alone: numpy, and no line of what found the proof.

Problem
    For sigma in {0, 1}^n within lo <= A sigma <= up, X the scaled data,

    .. math::
        f(\sigma) = \sum_j p_j \sigma_j
            + \min_{w, b} \{ \tfrac12 \sum_j r_j w_j^2 + \sum_i C_i \max(0, 1 - y_i (w^\top x_i + b)) :
                            \sigma_j a_j \le w_j \le \sigma_j z_j \}

    with r = 1 and no a, z unless the model says so. The certificate gives an incumbent (sigma*, w, b), and leaves:
    boxes of sigma, each with multipliers.
Check
    1. The incumbent meets the rows and the bounds, w is 0 off its support, and its objective is recomputed.
    2. For a leaf with alpha, clipped to [0, C] and balanced here until y'alpha = 0, and theta (at least 0 on upper
       sides, at most 0 on lower sides), with v = X'(y alpha), weak duality bounds f on the leaf's box:

       .. math::
           f \ge e^\top \alpha - \theta_+^\top up + \theta_-^\top lo
             + \sum_j \min_{\sigma_j \in box_j} (p_j + (A^\top \theta)_j - g_j(v_j)) \sigma_j, \quad
           g_j(v) = \max_{a_j \le t \le z_j} v t - \tfrac12 r_j t^2 \; (= \tfrac12 v^2)

       Rounding of all terms is taken off. A leaf without alpha says that the rows leave it empty: the same sum without
       alpha and p is then above 0 (Farkas).
    3. The boxes cover {0, 1}^n: split on a feature that most boxes fix, until one box holds all that is left.
    4. The least bound of a leaf is the proven bound; it must reach objective - gap |objective|.

    With ``loss`` "squared-hinge" the loss is max(0, .)^2, alpha has no upper end and e'alpha loses
    sum alpha_i^2 / (4 C_i).
    Without an intercept (``intercept`` a number) alpha need not balance, and e'alpha loses b y'alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Checked", "Claim", "Leaf", "check"]

Array = np.ndarray[Any, np.dtype[Any]]
EPSILON = float(np.finfo(float).eps)
ROWS = 1e-9  # of a row's size: what a selection may miss it by
TOGETHER = 256  # leaves whose v are computed at once


@dataclass(frozen=True)
class Leaf:
    """A box of sigma, closed: feature -> 0 or 1, and the multipliers that close it; no alpha where the rows do."""

    fixed: dict[int, int]
    theta: Array
    alpha: Array | None = None


@dataclass(frozen=True)
class Claim:
    """What a certificate says, over arrays.

    - ``price`` (n,): of each feature; ``C`` (l,): of a unit of slack of each sample; ``loss``: "hinge" or
      "squared-hinge".
    - ``ridge`` (n,), ``least``, ``most`` (n,): r, a, z.
    - ``intercept``: the value of b where it is fixed, None where it is free.
    - ``matrix`` (r, n), ``lower``, ``upper`` (r,): the rows; infinite where there is no side.
    - ``chosen`` (n,), ``w`` (n,), ``b``: the incumbent, on the scaled data.
    - ``gap``: what is claimed.
    """

    price: Array
    C: Array
    loss: str
    ridge: Array
    least: Array
    most: Array
    intercept: float | None
    matrix: Array
    lower: Array
    upper: Array
    chosen: Array
    w: Array
    b: float
    gap: float
    leaves: list[Leaf]


@dataclass(frozen=True)
class Checked:
    """What came out: ``holds``, the recomputed objective and bound, and the sentence that says where it fails."""

    holds: bool
    objective: float | None
    bound: float | None
    leaves: int
    why: str

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / |objective|``, at least 0."""
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), float(np.finfo(float).tiny))


def check(claim: Claim, X: Any, y: Array) -> Checked:
    """Check a claim against the scaled data ``X`` (l, n), dense or sparse, and labels ``y`` (l,) of -1 and +1."""
    count = len(claim.leaves)
    objective, why = _objective(claim, X, y)
    if why:
        return Checked(False, objective, None, count, why)
    open_box = uncovered([leaf.fixed for leaf in claim.leaves])
    if open_box is not None:
        return Checked(
            False, objective, None, count, f"The leaves do not cover every selection: none holds {_told(open_box)}."
        )
    bounds = leaf_bounds(claim, X, y)
    worst = int(np.argmin(bounds))
    bound = min(float(bounds[worst]), objective)
    if not objective - bound <= claim.gap * abs(objective):
        return Checked(
            False, objective, bound, count,
            f"Leaf {worst + 1} of {count} ({_told(claim.leaves[worst].fixed)}) proves {bounds[worst]:.9g} only, and "
            f"{objective - claim.gap * abs(objective):.9g} is claimed.",
        )  # fmt: skip
    return Checked(True, objective, bound, count, "")


def _told(box: dict[int, int]) -> str:
    return ", ".join(f"sigma[{j}] = {value}" for j, value in sorted(box.items())[:12]) or "any selection"


def _objective(claim: Claim, X: Any, y: Array) -> tuple[float, str]:
    """Return the incumbent's objective, and what is wrong with it."""
    chosen, w = claim.chosen, claim.w
    short = np.maximum(0.0, 1.0 - y * (np.asarray(X @ w).ravel() + claim.b))
    loss = float(claim.C @ (short**2 if claim.loss == "squared-hinge" else short))
    objective = float(claim.price @ chosen) + 0.5 * float(claim.ridge @ w**2) + loss
    if not np.isfinite(objective):
        return objective, "The incumbent's objective is no number."
    if not np.isin(chosen, (0, 1)).all() or np.any((w != 0) & (chosen == 0)):
        return objective, "The incumbent has a weight on a feature that it does not select."
    outside = np.flatnonzero((w < np.where(chosen, claim.least, 0.0)) | (w > np.where(chosen, claim.most, 0.0)))
    if outside.size:
        return objective, f"The incumbent's weight {outside[0] + 1}, {w[outside[0]]:.9g}, is outside its bounds."
    if claim.intercept is not None and claim.b != claim.intercept:
        return objective, f"The incumbent's intercept is {claim.b:.9g}, and {claim.intercept:.9g} is stated."
    activity, size = claim.matrix @ chosen, np.abs(claim.matrix) @ chosen
    slack = ROWS * np.maximum(1.0, size)
    broken = np.flatnonzero((activity < claim.lower - slack) | (activity > claim.upper + slack))
    if broken.size:
        k = int(broken[0])
        sides = f"[{claim.lower[k]:.9g}, {claim.upper[k]:.9g}]"
        return objective, f"The incumbent breaks row {k + 1}: {activity[k]:.9g} is not in {sides}."
    return objective, ""


def leaf_bounds(claim: Claim, X: Any, y: Array) -> Array:
    """Return the proven bound of each leaf; infinite where the rows leave it empty, -inf where it proves nothing."""
    bounds = np.empty(len(claim.leaves))
    for start in range(0, len(claim.leaves), TOGETHER):
        part = claim.leaves[start : start + TOGETHER]
        alphas = np.array([np.zeros(y.size) if leaf.alpha is None else feasible(leaf.alpha, claim, y) for leaf in part])
        v, size = np.asarray((alphas * y) @ X), np.asarray(alphas @ abs(X))
        for k, leaf in enumerate(part):
            bounds[start + k] = _bound(claim, leaf, alphas[k], v[k], size[k], y)
    return bounds


def feasible(alpha: Array, claim: Claim, y: Array) -> Array:
    """Return multipliers that the dual allows: within the box, and balanced where there is an intercept to choose."""
    alpha = np.clip(np.nan_to_num(alpha), 0.0, np.inf if claim.loss == "squared-hinge" else claim.C)
    if claim.intercept is None:
        plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
        alpha[(y > 0) if plus > minus else (y < 0)] *= min(plus, minus) / (max(plus, minus) or 1.0)
    return alpha


def _bound(claim: Claim, leaf: Leaf, alpha: Array, v: Array, summed: Array, y: Array) -> float:
    """Return the bound of one leaf, less what rounding may have added to it; ``summed``: what v's terms sum to."""
    n, empty = claim.price.size, leaf.alpha is None
    theta = np.nan_to_num(leaf.theta)
    theta = np.where(np.isfinite(claim.upper), theta, np.minimum(theta, 0.0))
    theta = np.where(np.isfinite(claim.lower), theta, np.maximum(theta, 0.0))
    sides = np.where(theta > 0, claim.upper, np.where(theta < 0, claim.lower, 0.0))
    low, high = np.zeros(n), np.ones(n)
    for j, value in leaf.fixed.items():
        low[j] = high[j] = value
    price = np.zeros(n) if empty else claim.price
    t = np.zeros(n) if empty else np.clip(v / claim.ridge, claim.least, claim.most)
    d = price + claim.matrix.T @ theta - (v * t - 0.5 * claim.ridge * t**2)
    size = np.abs(price) + np.abs(claim.matrix).T @ np.abs(theta) + np.abs(t) * summed + 0.5 * claim.ridge * t**2
    terms = [float(alpha.sum()), -float(theta @ sides)]
    if claim.loss == "squared-hinge":
        terms.append(-float(alpha**2 @ (0.25 / claim.C)))
    if claim.intercept is not None:
        terms.append(-claim.intercept * float(y @ alpha))
    terms.append(float(np.minimum(d * low, d * high).sum()))
    rounding = EPSILON * (20 + theta.size + np.sqrt(y.size))
    lost = rounding * (float(np.abs(terms).sum()) + float(np.abs(theta) @ np.abs(sides)) + float(size @ high))
    if claim.intercept is not None:
        lost += rounding * abs(claim.intercept) * float(alpha.sum())
    bound = float(sum(terms)) - lost
    if empty:
        return float("inf") if bound > 0 else -float("inf")
    return bound if np.isfinite(bound) else -float("inf")


def uncovered(boxes: list[dict[int, int]]) -> dict[int, int] | None:
    """Return a box that none of ``boxes`` holds entirely; None where they cover {0, 1}^n."""
    todo: list[tuple[list[dict[int, int]], dict[int, int]]] = [(boxes, {})]
    while todo:
        left, at = todo.pop()
        if any(not box for box in left):
            continue
        if not left:
            return at
        single = next((j for box in left if len(box) == 1 for j in box), None)
        if single is None:
            counts: dict[int, int] = {}
            for box in left:
                for j in box:
                    counts[j] = counts.get(j, 0) + 1
            single = max(counts, key=lambda j: counts[j])
        for value in (0, 1):
            inside = [{j: x for j, x in box.items() if j != single} for box in left if box.get(single, value) == value]
            todo.append((inside, {**at, single: value}))
    return None
