r"""Edits of the subproblem of FSP in the form of its oracle, whose terms are in ``oracle.problem``.

A bound or sign on w_j, a fixed w_j, a row on one w_j (and its own sigma_j)
    Bounds l_j sigma_j <= w_j <= u_j sigma_j. If the bounds of w_j alone exclude 0, sigma_j is 1; a row that contains
    sigma_j, as w_j >= 0.1 sigma_j, allows 0. If sigma_j is 1 and w_j is fixed at t, it is not a variable: d_i becomes
    d_i - y_i x_ij t, the side h of a row becomes h - G_j t, and the constant contains the cost of t.
A bound or a value of b, linear rows on w, b and sigma
    Further rows, in addition to those of the master.
A deactivated or deleted margin, a different price of a slack, a bound on a slack
    A sample without a margin, or with a price of 0, is removed. xi_i >= f is d_i = 1 - f and the constant C_i f; a
    fixed xi_i is a row on w and b.
A cost of squared weights
    1/2 rho_j w_j^2 is that of sqrt(rho_j) w_j: the column and all coefficients of w_j are divided by sqrt(rho_j).
A linear cost of w or b
    Terms of the oracle.

Forms with \|w_j\| <= W support an edit only if no optimum violates this bound. Let rho_j >= rho, let w = 0, b = 0 be
within all bounds and rows (h >= 0), let there be no linear cost, and d <= 1. At the optimum of a sigma
rho_j w_j = v_j + p_j - q_j - (G'pi)_j if w_j is not fixed, and complementary products vanish, p (w - l) = 0,
q (u - w) = 0, pi (G w + g b - h) = 0, so that, with y'alpha = g'pi,

.. math::
    \sum_j \rho_j w_j^2 = v^\top w + p^\top l - q^\top u - \pi^\top G w
    \le v^\top w + y^\top \alpha b - h^\top \pi \le d^\top \alpha - C^\top \xi \le e^\top \alpha

and e'alpha is at most 2 min(C_+, C_-) if no row contains b, and sum C_i otherwise.

For all other edits the general subproblem is used, which is convex quadratic and many times slower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.fsp.oracle.problem import Edits, Rows
from fsmodels.models.proofs.svm import SQUARED, LossKind
from fsmodels.weights import column_sizes
from solvers.facts import EditedSub, Inexpressible

MOST_ROWS = 200  # on weights: with more the oracle is slow
ROUNDING_OF_SIDES = 1e-12  # relative: sides below it are 0
PERSPECTIVE, RMP = "perspective", "rmp"


@dataclass
class ReadSub:
    """An edited SUB for the oracle.

    ``samples``: positions of the remaining samples, with prices ``C``. ``root``: sqrt(rho). ``at`` (n,): values of
    fixed weights. ``required``: features that are always selected. ``slack_bound``, ``has_margin`` (l,): the lower
    bound of each slack, and True if its margin exists.
    """

    samples: np.ndarray
    C: np.ndarray
    edits: Edits
    root: np.ndarray
    at: np.ndarray
    constant: float
    required: np.ndarray
    slack_bound: np.ndarray
    has_margin: np.ndarray


@dataclass
class _Rows:
    """Rows on w, b and x."""

    on_w: list[np.ndarray] = field(default_factory=list)
    on_b: list[float] = field(default_factory=list)
    on_x: list[np.ndarray] = field(default_factory=list)
    sides: list[float] = field(default_factory=list)
    equal: list[bool] = field(default_factory=list)

    def add(self, w: np.ndarray, b: float, x: np.ndarray, lower: float, upper: float) -> None:
        """Add lower <= w.. + b.. + x.. <= upper."""
        if lower == upper:
            self._one(w, b, x, upper, equal=True)
            return
        if upper < math.inf:
            self._one(w, b, x, upper)
        if lower > -math.inf:
            self._one(-w, -b, -x, -lower)

    def _one(self, w: np.ndarray, b: float, x: np.ndarray, side: float, *, equal: bool = False) -> None:
        self.on_w.append(w)
        self.on_b.append(b)
        self.on_x.append(x)
        self.sides.append(side)
        self.equal.append(equal)


class Reader:
    """Reader of an edited subproblem in a form; ``s``: weights of the samples, which ``rmp`` does not contain."""

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, s: np.ndarray, form: str, sub: EditedSub, *, kind: LossKind
    ) -> None:
        self.model, self.X, self.y, self.s, self.form, self.sub = model, X, y, s, form, sub
        self.squared, self.free_b = kind.loss == SQUARED, kind.free_b
        self.n = len(model.w)
        column = {id(v): k for k, v in enumerate(sub.variables)}
        self.w = self._columns(column, model.w.values())
        self.b = column[id(model.b)]
        slacks = () if form == RMP else model.xi.values()
        stated = {PERSPECTIVE: "t", "bilinear": "u", RMP: "eta"}.get(form)
        self.xi = self._columns(column, slacks)
        self.auxiliary = self._columns(column, () if stated is None else getattr(model, stated).values())
        own = {*self.w.tolist(), self.b, *self.xi.tolist(), *self.auxiliary.tolist()}
        for k, v in enumerate(sub.variables):
            if k not in own:
                raise Inexpressible(f'your variable "{v.name}" in rows or costs with the weights')
            if not v.is_continuous():
                raise Inexpressible(f'the integer domain of "{v.name}"')
        for v in sub.complicating[self.n :]:
            if not v.is_binary():
                raise Inexpressible(f'variable "{v.name}", which is not 0/1, in rows with the weights')
        self.lower, self.upper = sub.rows.x_lower, sub.rows.x_upper
        self.least, self.largest = self.lower[self.w].copy(), self.upper[self.w].copy()
        self.required = (self.least > 0) | (self.largest < 0)
        self.rows = _Rows()
        self.constant = sub.cost.constant

    @staticmethod
    def _columns(column: dict[int, int], variables: Any) -> np.ndarray:
        return np.array([column[id(v)] for v in variables], dtype=int)

    def read(self) -> ReadSub:
        """Return the subproblem for the oracle. Raises Inexpressible."""
        self._check_auxiliary()
        rho, slope, C = self._costs()
        self._user_rows()
        has_margin = self._margins()
        floor = np.zeros(self.y.size) if self.form == RMP else self.lower[self.xi]
        kept, need = self._slacks(has_margin, floor, C)
        if np.unique(self.y[kept]).size < 2:
            raise Inexpressible("the deactivated margins of a whole class")
        low, up = self.lower[self.b], self.upper[self.b]
        if not self.free_b:
            if not low == up == 0.0:
                raise Inexpressible(f'the bounds of "{self.model.b.name}", which is 0 as built')
            self.rows.on_b, slope[-1] = [0.0] * len(self.rows.sides), 0.0
        elif low > -math.inf or up < math.inf:
            self.rows.add(np.zeros(self.n), 1.0, np.zeros(len(self.sub.complicating)), low, up)
        for j in np.flatnonzero(self.least > self.largest).tolist():
            raise Inexpressible(f'the contradictory bounds of "{self.sub.variables[self.w[j]].name}"')
        pinned = (self.least == self.largest) & (self.least != 0) & ~self.required
        for j in np.flatnonzero(pinned).tolist():
            raise Inexpressible(f'the fixed value of "{self.sub.variables[self.w[j]].name}" if it is selected')
        if len(self.rows.sides) > MOST_ROWS:
            raise Inexpressible(f"{len(self.rows.sides)} rows on the weights")
        self._check_price_of_b(slope, C[kept], self.y[kept])
        self._check_weight_bound(rho, slope, C[kept], self.y[kept], need)
        root = np.sqrt(rho)
        at, edits = self._scaled(root, rho, slope, need, kept)
        return ReadSub(kept, C[kept], edits, root, at, self.constant, self.required, floor, has_margin)

    def _check_auxiliary(self) -> None:
        low, up = (-math.inf, math.inf) if self.form == "bilinear" else (0.0, math.inf)
        for k in self.auxiliary.tolist():
            v = self.sub.variables[k]
            if self.form == "bilinear":
                W = float(pyo.value(self.model.W))
                low, up = -W, W
            if not (math.isclose(self.lower[k], low) and math.isclose(self.upper[k], up)):
                raise Inexpressible(f'the bounds of "{v.name}"')

    def _costs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rho (n,), the linear costs of w and b (n + 1,), and the price of each slack."""
        cost, names = self.sub.cost, self.sub.variables
        entries = cost.matrix.tocoo()
        crossed = (entries.row != entries.col) & (entries.data != 0)
        if crossed.any():
            k = int(np.flatnonzero(crossed)[0])
            one, other = names[entries.row[k]].name, names[entries.col[k]].name
            raise Inexpressible(f'the product of "{one}" and "{other}" in the objective')
        square, slope = cost.matrix.diagonal(), cost.slope
        flat = [self.b, *self.auxiliary.tolist(), *([] if self.squared else self.xi.tolist())]
        for k in flat:
            if square[k]:
                raise Inexpressible(f'the square of "{names[k].name}" in the objective')
        rho = square[self.w].copy()
        if self.form == PERSPECTIVE:
            rho += 2.0 * slope[self.auxiliary]
            if (slope[self.auxiliary] < 0).any():
                raise Inexpressible("a negative cost of the variables for squared weights")
        elif self.form == RMP:
            if slope[self.auxiliary[0]] != 1.0:
                raise Inexpressible(f'the cost of "{names[self.auxiliary[0]].name}"')
            rho += 1.0
        elif slope[self.auxiliary].any():
            raise Inexpressible("a cost of an auxiliary variable of the form")
        for j in np.flatnonzero(rho <= 0).tolist():
            raise Inexpressible(f'weight "{names[self.w[j]].name}" without a cost of its square')
        if self.form == RMP:
            C = float(pyo.value(self.model.C)) * self.s
        else:
            C = 0.5 * square[self.xi] if self.squared else slope[self.xi]
            if self.squared and slope[self.xi].any():
                raise Inexpressible("a linear cost of slacks in addition to their squares")
        for i in np.flatnonzero(C < 0).tolist():
            raise Inexpressible(f'the negative price of "{names[self.xi[i]].name}"')
        return rho, np.append(slope[self.w], slope[self.b]), np.asarray(C, dtype=float)

    def _margins(self) -> np.ndarray:
        """Return True for each sample with an unchanged margin."""
        if self.form == RMP:
            return np.ones(self.y.size, dtype=bool)
        kept = set(map(id, self.sub.kept))
        present = dict(self.model.margin.items())
        return np.array([i in present and id(present[i]) in kept for i in self.model.samples], dtype=bool)

    def _slacks(self, has_margin: np.ndarray, floor: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the remaining samples and the required margins; fixed slacks become rows."""
        if self.form == RMP:
            return np.arange(self.y.size), np.ones(self.y.size)
        names, most = self.sub.variables, self.upper[self.xi]
        fixed = floor == most
        odd = ~(floor >= 0) | (~fixed & (most < math.inf)) | ((floor > 0) & ~fixed & self.squared)
        for i in np.flatnonzero(odd & has_margin).tolist():
            raise Inexpressible(f'the bounds of "{names[self.xi[i]].name}"')
        self.constant += float(C @ (floor**2 if self.squared else floor))
        for i in np.flatnonzero(has_margin & fixed).tolist():
            x = self.X[[i]]
            row = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float).ravel() * self.y[i]
            self.rows.add(row, float(self.y[i]), np.zeros(len(self.sub.complicating)), 1.0 - floor[i], math.inf)
        kept = np.flatnonzero(has_margin & ~fixed & (C > 0))
        return kept, 1.0 - floor[kept]

    def _user_rows(self) -> None:
        rows, names = self.sub.rows, self.sub.variables
        matrix, count = rows.matrix.tocsr(), len(names)
        weight = np.full(count, -1)
        weight[self.w] = np.arange(self.n)
        for r, row in enumerate(rows.rows):
            here = slice(matrix.indptr[r], matrix.indptr[r + 1])
            columns, data = matrix.indices[here], matrix.data[here]
            columns, data = columns[data != 0], data[data != 0]
            w, x, b = np.zeros(self.n), np.zeros(len(self.sub.complicating)), 0.0
            for k, c in zip(columns.tolist(), data.tolist(), strict=True):
                if k >= count:
                    x[k - count] += c
                elif weight[k] >= 0:
                    w[weight[k]] += c
                elif k == self.b:
                    b += c
                else:
                    raise Inexpressible(f'row "{row.name}", which contains "{names[k].name}"')
            lower, upper = float(rows.lower[r]), float(rows.upper[r])
            on_w, on_x = np.flatnonzero(w), np.flatnonzero(x)
            if on_w.size == 1 and not b and on_x.size <= 1 and (on_x == on_w[0]).all():
                self._bound(int(on_w[0]), float(w[on_w[0]]), float(x[on_x[0]]) if on_x.size else 0.0, lower, upper)
            else:
                self.rows.add(w, b, x, lower, upper)

    def _bound(self, j: int, a: float, s: float, lower: float, upper: float) -> None:
        """Add lower <= a w_j + s sigma_j <= upper as bounds for sigma_j = 1; w_j is 0 if sigma_j is 0."""
        # A side that 0 violates by rounding, relative to the weight's unit of 1 / max |x_ij|, allows w_j = 0.
        nothing = ROUNDING_OF_SIDES * abs(a) / (float(column_sizes(self.X[:, [j]])[0]) or 1.0)
        self.required[j] |= lower > nothing or upper < -nothing
        ends = sorted([(lower - s) / a, (upper - s) / a])
        self.least[j], self.largest[j] = max(self.least[j], ends[0]), min(self.largest[j], ends[1])

    def _check_price_of_b(self, slope: np.ndarray, C: np.ndarray, y: np.ndarray) -> None:
        price = float(slope[-1])
        if price and not any(self.rows.on_b):
            inside = self.squared or -C[y < 0].sum() < price < C[y > 0].sum()
            if not inside:
                raise Inexpressible(f'the cost of "{self.model.b.name}", for which the objective is unbounded')

    def _check_weight_bound(self, rho: Any, slope: Any, C: np.ndarray, y: np.ndarray, need: np.ndarray) -> None:
        """Raise Inexpressible if an optimum may violate |w_j| <= W of the form after the edit."""
        if self.form in (PERSPECTIVE, RMP):
            return
        sides, equal = np.array(self.rows.sides), np.array(self.rows.equal, dtype=bool)
        origin = (sides >= 0).all() and not (equal & (sides != 0)).any() and not self.required.any()
        most = float(C.sum()) if any(self.rows.on_b) else 2.0 * min(float(C[y > 0].sum()), float(C[y < 0].sum()))
        W = float(pyo.value(self.model.W))
        if (
            self.squared
            or not self.free_b
            or not origin
            or slope.any()
            or (need > 1).any()
            or any(map(np.any, self.rows.on_x))
        ):
            raise Inexpressible(f'the edit, because the bound |w_j| <= W of form="{self.form}" is valid only as built')
        if most > W**2 * float(rho.min()) * (1 + 1e-9):
            raise Inexpressible(f'prices for which the bound |w_j| <= W of form="{self.form}" is not valid')

    def _scaled(
        self, root: np.ndarray, rho: np.ndarray, slope: np.ndarray, need: np.ndarray, kept: np.ndarray
    ) -> tuple[np.ndarray, Edits]:
        """Return the values of fixed weights, and the edits in units with the cost 1/2 of each square."""
        pinned = self.least == self.largest
        at = np.where(pinned, self.least, 0.0)
        slope, rows = slope.copy(), self.rows
        G = np.array(rows.on_w).reshape(-1, self.n)
        sides = np.array(rows.sides) - G @ at
        if at.any():
            need = need - self.y[kept] * np.asarray(self.X[kept] @ at).ravel()
            self.constant += float(0.5 * rho @ at**2 + slope[:-1] @ at)
        slope[:-1] = np.where(pinned, 0.0, slope[:-1] / root)
        least, largest = np.where(pinned, 0.0, self.least * root), np.where(pinned, 0.0, self.largest * root)
        matrix = np.array(rows.on_x).reshape(-1, len(self.sub.complicating))
        own = Rows(
            matrix, sides, np.array(rows.equal, dtype=bool), np.where(pinned, 0.0, G / root), np.array(rows.on_b)
        )
        return at, Edits(need, slope, least, largest, own)
