r"""Check a certificate from the data alone, with numpy and without the code that found the proof.

Problem
    For sigma in {0, 1}^n within lo <= A sigma <= up, X the scaled data,

    .. math::
        f(\sigma) = \sum_j p_j \sigma_j
            + \min_{w, b} \{ \tfrac12 \|w\|^2 + \sum_i C_i \max(0, 1 - y_i (w^\top x_i + b)) :
                            w_j = 0 \text{ where } \sigma_j = 0 \}

    The certificate gives an incumbent (sigma*, w, b), and a tree that divides {0, 1}^n until multipliers close each
    part.
Check
    1. The incumbent satisfies the rows, w is 0 off its support, and its recomputed objective is the stated one.
    2. The tree starts with the whole box. Each entry refers to the next open box, after the rows have fixed all values
       that they determine there (``narrow``):

       - ``EMPTY``: no point of the box satisfies the rows; ``CLOSED`` (k, theta): multipliers k and theta prove it;
       - ``GIVEN_UP`` (k, theta, columns): for each of these columns in turn, the multipliers prove the part with the
         more expensive value; the next entry refers to the part with the other value;
       - ``BRANCH`` (column): the next entries refer to the part with 0, then to the part with 1.

       Every selection is in some part, because only these steps divide the box.
    3. Multipliers alpha are clipped to [0, C] and balanced here until y'alpha = 0; theta is at least 0 on upper sides
       and at most 0 on lower sides. With v = X'(y alpha), weak duality bounds f on a box:

       .. math::
           f \ge e^\top \alpha - \theta_+^\top up + \theta_-^\top lo
             + \sum_j \min_{\sigma_j \in box_j} (p_j + (A^\top \theta)_j - \tfrac12 v_j^2) \sigma_j

       The rounding errors of all terms are subtracted.
    4. The least of these bounds is the proven bound. It must reach objective - gap |objective|, and the stated bound
       must not be above it, nor above the objective.

    With ``loss`` "squared-hinge" the loss is max(0, .)^2, alpha has no upper end and e'alpha loses
    sum alpha_i^2 / (4 C_i); where C_i is 0, so is alpha_i. Without an intercept (``intercept`` a number) alpha
    need not balance, and e'alpha loses b y'alpha.
Rounding
    With u = 2^-53, a sum of k products in any order has the error gamma_k sum |terms|, gamma_k = k u / (1 - k u)
    (Higham 2002, 3.1). The balance of alpha holds to gamma_(2l+2) only; the exact multipliers are alpha with one class
    scaled down by a factor of at least 1 - gamma_(2l+2), which are feasible. So the computed v_j is within
    gamma_(3l+2) a_j of theirs, a_j = sum_i alpha_i |x_ij|, and 1/2 v_j^2 within |v_j| e_j + 1/2 e_j^2 for an error e_j
    of v_j. ``_unit`` is 2 u (3 l + n + rows + 20), above twice the gamma of every sum that is taken, so that the
    rounding of the error terms themselves is covered as well.

    Data that were scaled in other steps than those of the certificate differ by rounding: x_ij by at most
    8 u (|x_ij| + h_j), h_j = ``shifted`` being the distance of the two shifts in scaled units. With |x_ij| + h_j in
    place of |x_ij| the terms above cover that too. These errors, computed from the data, are the only tolerances: of
    the stated objective, of the stated bound (twice, once for each of the two computations), and of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
EPSILON = float(np.finfo(float).eps)
TOGETHER = 4096  # multipliers whose v are computed at once
EMPTY, CLOSED, GIVEN_UP, BRANCH = 0, 1, 2, 3


@dataclass(frozen=True)
class Entry:
    """Step of the tree: its kind, the index of its multipliers, and the columns that it excludes or branches on."""

    kind: int
    multipliers: int = -1
    theta: Array | None = None
    columns: tuple[int, ...] = ()


@dataclass(frozen=True)
class Claim:
    """The content of a certificate as arrays.

    - ``price`` (n,): of each feature; ``C`` (l,): of a unit of slack of each sample, 0 for an excluded sample;
      ``loss``: "hinge" or "squared-hinge".
    - ``intercept``: the value of b if it is fixed, None if it is free.
    - ``matrix`` (r, n), ``lower``, ``upper`` (r,): the rows; infinite if there is no side.
    - ``chosen`` (n,), ``w`` (n,), ``b``: the incumbent, on the scaled data.
    - ``objective``, ``bound``, ``gap``: the claim. ``alphas`` (K, l), ``tree``: the proof.
    - ``shifted`` (n,): h, 0 if the data equal those of the certificate to the last bit.
    """

    price: Array
    C: Array
    loss: str
    intercept: float | None
    matrix: Array
    lower: Array
    upper: Array
    chosen: Array
    w: Array
    b: float
    objective: float
    bound: float
    gap: float
    alphas: Array
    tree: list[Entry]
    shifted: Array


@dataclass(frozen=True)
class Checked:
    """Result of a check: ``holds``, the recomputed objective and bound, the number of closed parts, the first error.

    ``problem``: the verified problem of ``certificates.document.problem_of``; empty for ``check`` alone.
    """

    holds: bool
    objective: float | None
    bound: float | None
    parts: int
    why: str
    problem: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / |objective|``, at least 0."""
        if self.objective is None or self.bound is None:
            return None
        return max(0.0, self.objective - self.bound) / max(abs(self.objective), float(np.finfo(float).tiny))

    def __str__(self) -> str:
        if not self.holds:
            return f"The certificate does not hold. {self.why}"
        assert self.gap is not None
        share = "0" if self.gap <= 5e-7 else f"{100 * self.gap:.2g}"
        proof = f"proven within {share}% of the best (bound {self.bound:.6g}), by {self.parts} parts"
        lines = [f"The certificate holds: objective {self.objective:.6g}, {proof}."]
        if self.problem:
            lines += ["Problem verified:", *(f"  {key}: {_text(value)}" for key, value in self.problem.items())]
        return "\n".join(lines)


def _text(value: Any) -> str:
    """Return an entry of a verified problem as text; None is a free intercept."""
    if isinstance(value, list):
        return "; ".join(map(_text, value))
    return "free" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def check(claim: Claim, X: Any, y: Array) -> Checked:
    """Check a claim against the scaled data ``X`` (l, n), dense or sparse, and labels ``y`` (l,) of -1 and +1."""
    with np.errstate(all="ignore"):  # numbers of a forged file may overflow; bounds that are not finite prove nothing
        return _checked(claim, X, y)


def _checked(claim: Claim, X: Any, y: Array) -> Checked:
    objective, rounding, why = _objective(claim, X, y)
    if why:
        return Checked(False, objective, None, 0, why)
    walk = _walked(claim)
    if walk.why:
        return Checked(False, objective, None, len(walk.multipliers), walk.why)
    bounds, lost = _bounds(claim, walk, X, y)
    if not bounds.size:
        return Checked(False, objective, None, 0, "The tree closes no part, not even that of the incumbent.")
    worst = int(np.argmin(bounds))
    bound, needed, why = min(float(bounds[worst]), objective), objective - claim.gap * abs(objective), ""
    if not bound >= needed:
        why = (
            f"Part {worst + 1} of {bounds.size} ({_fixed_at(walk.lower[worst], walk.upper[worst])}) is proven down to "
            f"{bounds[worst]:.9g} only, and {needed:.9g} is claimed."
        )
    elif not abs(claim.objective - objective) <= rounding:
        why = f"The stated objective is {claim.objective:.17g}; the incumbent's is {objective:.17g}."
    elif not needed - rounding <= claim.bound <= objective + rounding:
        why = f"The stated bound is {claim.bound:.17g}, not within the gap {claim.gap:g} of {claim.objective:.17g}."
    elif not claim.bound <= float((bounds + 2.0 * lost).min()):
        why = f"The stated bound is {claim.bound:.17g}; {bound:.17g} is proven."
    return Checked(not why, objective, bound, bounds.size, why)


def _unit(claim: Claim, y: Array) -> float:
    """Return the error of a sum relative to the sizes of its terms; "Rounding" in the module's text."""
    return EPSILON * (3 * y.size + claim.price.size + claim.lower.size + 20)


def _fixed_at(lower: Array, upper: Array) -> str:
    fixed = np.flatnonzero(lower == upper)
    return ", ".join(f"sigma[{j}] = {lower[j]:g}" for j in fixed[:12]) or "any selection"


def _objective(claim: Claim, X: Any, y: Array) -> tuple[float, float, str]:
    """Return the objective of the incumbent, its rounding error, and the first defect of the incumbent."""
    chosen, w, squared = claim.chosen, claim.w, claim.loss == "squared-hinge"
    short = np.maximum(0.0, 1.0 - y * (np.asarray(X @ w).ravel() + claim.b))
    size = 1.0 + np.asarray(abs(X) @ np.abs(w)).ravel() + float(claim.shifted @ np.abs(w)) + abs(claim.b)
    loss, error = (short**2, 3.0 * size**2) if squared else (short, size)
    square = 0.5 * float(w @ w)
    objective = float(claim.price @ chosen) + square + float(claim.C @ loss)
    rounding = 2.0 * _unit(claim, y) * (float(np.abs(claim.price) @ chosen) + square + float(claim.C @ error))
    if not np.isfinite(objective + rounding):
        return objective, rounding, "The objective of the incumbent is no number."
    if np.any((w != 0) & (chosen == 0)):
        return objective, rounding, "The incumbent has a weight on a feature that it does not select."
    if claim.intercept is not None and claim.b != claim.intercept:
        why = f"The incumbent's intercept is {claim.b:.9g}, and {claim.intercept:.9g} is stated."
        return objective, rounding, why
    activity, slack = claim.matrix @ chosen, EPSILON * (chosen.size + 8) * (np.abs(claim.matrix) @ chosen)
    broken = np.flatnonzero((activity < claim.lower - slack) | (activity > claim.upper + slack))
    if broken.size:
        k = int(broken[0])
        between = f"[{claim.lower[k]:.9g}, {claim.upper[k]:.9g}]"
        return objective, rounding, f"The incumbent violates row {k + 1}: {activity[k]:.9g} is not in {between}."
    return objective, rounding, ""


@dataclass
class _Division:
    """Parts and the multipliers that close them: bounds on sigma, multipliers and theta; ``why``: the first defect."""

    lower: list[Array]
    upper: list[Array]
    multipliers: list[int]
    theta: list[Array]
    why: str = ""


def _walked(claim: Claim) -> _Division:
    """Divide the box by the tree, and return the parts that are not empty."""
    n, walk = claim.price.size, _Division([], [], [], [])
    todo, entries = [(np.zeros(n), np.ones(n))], iter(claim.tree)
    rows = OneSided.of(claim.matrix, claim.lower, claim.upper)
    while todo:
        lower, upper = todo.pop()
        entry = next(entries, None)
        if entry is None:
            walk.why = f"The tree ends before every part is closed: {_fixed_at(lower, upper)} is open."
            return walk
        feasible_point = narrow(lower, upper, rows)
        if entry.kind == EMPTY:
            if feasible_point:
                walk.why = f"A part that is claimed to be empty is not: {_fixed_at(lower, upper)}."
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
        walk.why = "The tree continues after every part is closed."
    return walk


def _add(walk: _Division, claim: Claim, entry: Entry, lower: Array, upper: Array) -> None:
    walk.lower.append(lower)
    walk.upper.append(upper)
    walk.multipliers.append(entry.multipliers)
    walk.theta.append(np.zeros(claim.lower.size) if entry.theta is None else entry.theta)


def _given_up(walk: _Division, claim: Claim, entry: Entry, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Add the excluded parts, j + 1 for sigma_j = 1 and -(j + 1) for 0; return the remaining box."""
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
    """Rows as ``matrix sigma <= side``, with the rounding error of each added to its side."""

    matrix: Array
    size: Array
    side: Array

    @classmethod
    def of(cls, matrix: Array, lower: Array, upper: Array) -> OneSided:
        """Return the finite sides as rows."""
        above, below = np.isfinite(upper), np.isfinite(lower)
        one = np.vstack([matrix[above], -matrix[below]])
        side = np.append(upper[above], -lower[below])
        return cls(one, np.abs(one), side + EPSILON * (one.shape[1] + 8) * np.abs(one).sum(axis=1))


def narrow(lower: Array, upper: Array, rows: OneSided) -> bool:
    """Fix in place all values that a row determines; return False if no point satisfies some row."""
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


def _bounds(claim: Claim, walk: _Division, X: Any, y: Array) -> tuple[Array, Array]:
    """Return the proven bound of each part minus its rounding error, -inf if nothing is proven, and this error."""
    if not walk.multipliers:
        return np.zeros(0), np.zeros(0)
    unit = _unit(claim, y)
    gained, v, terms, sums = _proven(claim, feasible(claim, y), X, y)
    which = np.array(walk.multipliers)
    theta = np.array(walk.theta).reshape(which.size, claim.lower.size)
    theta = np.where(np.isfinite(claim.upper), theta, np.minimum(theta, 0.0))
    theta = np.where(np.isfinite(claim.lower), theta, np.maximum(theta, 0.0))
    sides = np.where(theta > 0, claim.upper, np.where(theta < 0, claim.lower, 0.0))
    low, high = np.array(walk.lower), np.array(walk.upper)
    half = 0.5 * v**2
    curved = np.abs(v) * sums + 0.5 * unit * sums**2 + half  # errors of 1/2 v^2, in units
    d = claim.price + theta @ claim.matrix - half[which]
    size = np.abs(claim.price) + np.abs(theta) @ np.abs(claim.matrix) + curved[which]
    lost = unit * (terms[which] + np.abs(theta * sides).sum(axis=1) + (size * high).sum(axis=1))
    bounds = gained[which] - (theta * sides).sum(axis=1) + np.minimum(d * low, d * high).sum(axis=1) - lost
    return np.where(np.isfinite(bounds), bounds, -np.inf), np.where(np.isfinite(lost), lost, 0.0)


def feasible(claim: Claim, y: Array) -> Array:
    """Return dual feasible multipliers: within the box, and balanced if the intercept is free."""
    most = np.where(claim.C > 0, np.inf, 0.0) if claim.loss == "squared-hinge" else claim.C
    alphas = np.clip(claim.alphas, 0.0, most)
    if claim.intercept is None:
        plus, minus = alphas[:, y > 0].sum(axis=1), alphas[:, y < 0].sum(axis=1)
        share = np.minimum(plus, minus) / np.where(np.maximum(plus, minus) > 0, np.maximum(plus, minus), 1.0)
        alphas[:, y > 0] *= np.where(plus > minus, share, 1.0)[:, None]
        alphas[:, y < 0] *= np.where(plus > minus, 1.0, share)[:, None]
    return alphas


def _proven(claim: Claim, alphas: Array, X: Any, y: Array) -> tuple[Array, Array, Array, Array]:
    """Return for each alpha the dual objective without v (K,), v (K, n), and the sizes of their terms (K,), (K, n)."""
    gained, size = alphas.sum(axis=1), alphas.sum(axis=1)
    sums = size[:, None] * claim.shifted
    if claim.loss == "squared-hinge":
        squares = (alphas**2) @ np.divide(0.25, claim.C, out=np.zeros_like(claim.C), where=claim.C > 0)
        gained, size = gained - squares, size + squares
    if claim.intercept is not None:
        gained, size = gained - claim.intercept * (alphas @ y), size + abs(claim.intercept) * alphas.sum(axis=1)
    absolute, v = abs(X), np.empty_like(sums)
    for start in range(0, len(alphas), TOGETHER):
        part = slice(start, start + TOGETHER)
        v[part] = np.asarray((alphas[part] * y) @ X)
        sums[part] += np.asarray(alphas[part] @ absolute)
    return gained, v, size, sums
