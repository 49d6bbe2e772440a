r"""Check a certificate from the data alone: numpy, and no line of what found the proof.

Problem
    For sigma in {0, 1}^n within lo <= A sigma <= up, X the scaled data,

    .. math::
        f(\sigma) = \sum_j p_j \sigma_j
            + \min_{w, b} \{ \tfrac12 \sum_j r_j w_j^2 + \sum_i C_i \max(0, 1 - y_i (w^\top x_i + b)) :
                            \sigma_j a_j \le w_j \le \sigma_j z_j \}

    with r = 1 and no a, z unless the model says so. The certificate gives an incumbent (sigma*, w, b), and a tree that
    divides {0, 1}^n until multipliers close each part.
Check
    1. The incumbent meets the rows and the bounds, w is 0 off its support, and its objective is recomputed.
    2. The tree is walked from the whole box, first entry first; each entry speaks of the next open box, after what the
       rows leave no choice of has been fixed there (``narrow``):

       - ``EMPTY``: the rows leave it nothing; ``CLOSED`` (k, theta): multipliers k and theta prove it;
       - ``GIVEN_UP`` (k, theta, columns): for each of these columns in turn the part with the value that costs more is
         proven so, and the other value is what is left, of which the next entry speaks;
       - ``BRANCH`` (column): the part with 0 is spoken of first, then that with 1.

       Every selection is in some part, because nothing but these steps divides the box.
    3. Multipliers alpha are clipped to [0, C] and balanced here until y'alpha = 0; theta is at least 0 on upper sides
       and at most 0 on lower sides. With v = X'(y alpha), weak duality bounds f on a box:

       .. math::
           f \ge e^\top \alpha - \theta_+^\top up + \theta_-^\top lo
             + \sum_j \min_{\sigma_j \in box_j} (p_j + (A^\top \theta)_j - g_j(v_j)) \sigma_j, \quad
           g_j(v) = \max_{a_j \le t \le z_j} v t - \tfrac12 r_j t^2 \; (= \tfrac12 v^2)

       Rounding of all terms is taken off.
    4. The least of these bounds is the proven bound; it must reach objective - gap |objective|.

    With ``loss`` "squared-hinge" the loss is max(0, .)^2, alpha has no upper end and e'alpha loses
    sum alpha_i^2 / (4 C_i); where C_i is 0, so is alpha_i. Without an intercept (``intercept`` a number) alpha
    need not balance, and e'alpha loses b y'alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BRANCH", "CLOSED", "EMPTY", "GIVEN_UP", "Checked", "Claim", "Entry", "OneSided", "check", "narrow"]

Array = np.ndarray[Any, np.dtype[Any]]
EPSILON = float(np.finfo(float).eps)
ROWS = 1e-9  # of a row's size: what a selection may miss it by
TOGETHER = 4096  # multipliers whose v are computed at once
EMPTY, CLOSED, GIVEN_UP, BRANCH = 0, 1, 2, 3


@dataclass(frozen=True)
class Entry:
    """One step of the tree: its kind, the place of its multipliers, and the columns that it gives up or branches on."""

    kind: int
    multipliers: int = -1
    theta: Array | None = None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Claim:
    """What a certificate says, over arrays.

    - ``price`` (n,): of each feature; ``C`` (l,): of a unit of slack of each sample, 0 of one that does not count;
      ``loss``: "hinge" or "squared-hinge".
    - ``ridge`` (n,), ``least``, ``most`` (n,): r, a, z.
    - ``intercept``: the value of b where it is fixed, None where it is free.
    - ``matrix`` (r, n), ``lower``, ``upper`` (r,): the rows; infinite where there is no side.
    - ``chosen`` (n,), ``w`` (n,), ``b``: the incumbent, on the scaled data.
    - ``gap``: what is claimed. ``alphas`` (K, l), ``tree``: the proof.
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
    alphas: Array
    tree: list[Entry]


@dataclass(frozen=True)
class Checked:
    """What came out: ``holds``, the recomputed objective and bound, the parts that were closed, and where it fails."""

    holds: bool
    objective: float | None
    bound: float | None
    parts: int
    why: str

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / |objective|``, at least 0."""
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), float(np.finfo(float).tiny))


def check(claim: Claim, X: Any, y: Array) -> Checked:
    """Check a claim against the scaled data ``X`` (l, n), dense or sparse, and labels ``y`` (l,) of -1 and +1."""
    objective, why = _objective(claim, X, y)
    if why:
        return Checked(False, objective, None, 0, why)
    walk = _walked(claim)
    if walk.why:
        return Checked(False, objective, None, len(walk.multipliers), walk.why)
    bounds = _bounds(claim, walk, X, y)
    worst = int(np.argmin(bounds)) if bounds.size else -1
    bound = min(float(bounds[worst]), objective) if bounds.size else objective
    if not objective - bound <= claim.gap * abs(objective):
        return Checked(
            False, objective, bound, bounds.size,
            f"Part {worst + 1} of {bounds.size} ({_told(walk.lower[worst], walk.upper[worst])}) is proven down to "
            f"{bounds[worst]:.9g} only, and {objective - claim.gap * abs(objective):.9g} is claimed.",
        )  # fmt: skip
    return Checked(True, objective, bound, bounds.size, "")


def _told(lower: Array, upper: Array) -> str:
    fixed = np.flatnonzero(lower == upper)
    return ", ".join(f"sigma[{j}] = {lower[j]:g}" for j in fixed[:12]) or "any selection"


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


@dataclass
class _Division:
    """Parts that multipliers are said to close: bounds on sigma, multipliers, and theta of each; ``why`` it broke."""

    lower: list[Array]
    upper: list[Array]
    multipliers: list[int]
    theta: list[Array]
    why: str = ""


def _walked(claim: Claim) -> _Division:
    """Divide the box as the tree says; each part is empty, or among those returned."""
    n, walk = claim.price.size, _Division([], [], [], [])
    todo, entries = [(np.zeros(n), np.ones(n))], iter(claim.tree)
    rows = OneSided.of(claim.matrix, claim.lower, claim.upper)
    while todo:
        lower, upper = todo.pop()
        entry = next(entries, None)
        if entry is None:
            walk.why = f"The tree ends before every part is closed: {_told(lower, upper)} is open."
            return walk
        something = narrow(lower, upper, rows)
        if entry.kind == EMPTY:
            if something:
                walk.why = f"The rows are said to leave a part empty, and do not: {_told(lower, upper)}."
                return walk
        elif entry.kind == CLOSED:
            _add(walk, claim, entry, lower, upper)
        elif entry.kind == GIVEN_UP:
            todo.append(_given_up(walk, claim, entry, lower, upper))
        else:
            (j,) = entry.columns
            down, up = upper.copy(), lower.copy()
            down[j], up[j] = min(upper[j], 0.0), max(lower[j], 1.0)
            todo += [(up, upper), (lower.copy(), down)]
    if next(entries, None) is not None:
        walk.why = "The tree goes on after every part is closed."
    return walk


def _add(walk: _Division, claim: Claim, entry: Entry, lower: Array, upper: Array) -> None:
    walk.lower.append(lower)
    walk.upper.append(upper)
    walk.multipliers.append(entry.multipliers)
    walk.theta.append(np.zeros(claim.lower.size) if entry.theta is None else entry.theta)


def _given_up(walk: _Division, claim: Claim, entry: Entry, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Add the parts that are given up: j + 1 for sigma_j = 1, -(j + 1) for 0; return what is left."""
    for signed in entry.columns:
        j, value = abs(signed) - 1, 1.0 if signed > 0 else 0.0
        low, high = lower.copy(), upper.copy()
        low[j] = high[j] = value
        if lower[j] <= value <= upper[j]:
            _add(walk, claim, entry, low, high)
        lower[j], upper[j] = max(lower[j], 1.0 - value), min(upper[j], 1.0 - value)
    return lower, upper


@dataclass(frozen=True)
class OneSided:
    """Rows as ``matrix sigma <= side``, with what each may be missed by."""

    matrix: Array
    size: Array
    side: Array

    @classmethod
    def of(cls, matrix: Array, lower: Array, upper: Array) -> OneSided:
        """Return those of the sides that are finite."""
        above, below = np.isfinite(upper), np.isfinite(lower)
        one = np.vstack([matrix[above], -matrix[below]])
        side = np.append(upper[above], -lower[below])
        return cls(one, np.abs(one), side + ROWS * (1.0 + np.abs(one).sum(axis=1) + np.abs(side)))


def narrow(lower: Array, upper: Array, rows: OneSided) -> bool:
    """Fix in place what some row leaves no choice of; tell whether every row leaves something."""
    if (lower > upper).any():
        return False
    while rows.side.size:
        room = rows.side - np.minimum(rows.matrix * lower, rows.matrix * upper).sum(axis=1)
        if room.min() < 0.0:
            return False
        held = (rows.size > room[:, None]) & (lower < upper)
        if not held.any():
            break
        ones, zeros = (held & (rows.matrix < 0)).any(axis=0), (held & (rows.matrix > 0)).any(axis=0)
        if (ones & zeros).any():
            return False
        lower[ones], upper[zeros] = 1.0, 0.0
    return True


def _bounds(claim: Claim, walk: _Division, X: Any, y: Array) -> Array:
    """Return the proven bound of each part, less what rounding may have added to it; -inf where nothing is proven."""
    if not walk.multipliers:
        return np.zeros(0)
    gained, g, sizes = _proven(claim, feasible(claim, y), X, y)
    rows, which = claim.matrix.shape[0], np.array(walk.multipliers)
    theta = np.nan_to_num(np.array(walk.theta)).reshape(which.size, rows)
    theta = np.where(np.isfinite(claim.upper), theta, np.minimum(theta, 0.0))
    theta = np.where(np.isfinite(claim.lower), theta, np.maximum(theta, 0.0))
    sides = np.where(theta > 0, claim.upper, np.where(theta < 0, claim.lower, 0.0))
    low, high = np.array(walk.lower), np.array(walk.upper)
    d = claim.price + theta @ claim.matrix - g[which]
    size = np.abs(claim.price) + np.abs(theta) @ np.abs(claim.matrix) + sizes[which, :-1]
    rounding = EPSILON * (20 + rows + np.sqrt(y.size))
    lost = rounding * (sizes[which, -1] + np.abs(theta * sides).sum(axis=1) + (size * high).sum(axis=1))
    bounds = gained[which] - (theta * sides).sum(axis=1) + np.minimum(d * low, d * high).sum(axis=1) - lost
    return np.where(np.isfinite(bounds), bounds, -np.inf)


def feasible(claim: Claim, y: Array) -> Array:
    """Return multipliers that the dual allows: within the box, and balanced where there is an intercept to choose."""
    most = np.where(claim.C > 0, np.inf, 0.0) if claim.loss == "squared-hinge" else claim.C
    alphas = np.clip(np.nan_to_num(claim.alphas), 0.0, most)
    if claim.intercept is None:
        plus, minus = alphas[:, y > 0].sum(axis=1), alphas[:, y < 0].sum(axis=1)
        share = np.minimum(plus, minus) / np.where(np.maximum(plus, minus) > 0, np.maximum(plus, minus), 1.0)
        alphas[:, y > 0] *= np.where(plus > minus, share, 1.0)[:, None]
        alphas[:, y < 0] *= np.where(plus > minus, 1.0, share)[:, None]
    return alphas


def _proven(claim: Claim, alphas: Array, X: Any, y: Array) -> tuple[Array, Array, Array]:
    """Return e'alpha less the squares and b's share (K,), g(v) (K, n), and the sizes of terms (K, n + 1)."""
    gained, size = alphas.sum(axis=1), alphas.sum(axis=1)
    if claim.loss == "squared-hinge":
        squares = (alphas**2) @ np.divide(0.25, claim.C, out=np.zeros_like(claim.C), where=claim.C > 0)
        gained, size = gained - squares, size + squares
    if claim.intercept is not None:
        gained, size = gained - claim.intercept * (alphas @ y), size + abs(claim.intercept) * alphas.sum(axis=1)
    absolute, n = abs(X), claim.price.size
    g, sizes = np.empty((len(alphas), n)), np.empty((len(alphas), n + 1))
    for start in range(0, len(alphas), TOGETHER):
        part = slice(start, start + TOGETHER)
        v = np.asarray((alphas[part] * y) @ X)
        t = np.clip(v / claim.ridge, claim.least, claim.most)
        g[part] = v * t - 0.5 * claim.ridge * t**2
        sizes[part, :-1] = np.abs(t) * np.asarray(alphas[part] @ absolute) + 0.5 * claim.ridge * t**2
    sizes[:, -1] = size
    return gained, g, sizes
