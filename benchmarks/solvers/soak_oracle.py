r"""Optimum of a small mixed-integer convex program by enumeration, with numpy, scipy and clarabel only.

Problem
    ``min 1/2 sum_k p_k x_k^2 + c.x + c_0`` over bounds, two-sided linear rows, rotated cones ``x^2 <= d t``, balls
    ``sum x_k^2 <= r``, integer variables, and alternatives, of which one must be satisfied (a switch, a set of ordered
    variables, a disjunction). Each combination of integer values and alternatives gives a convex program.

Certificate
    Each convex program is scaled and solved, a linear one by HiGHS in scipy, others by clarabel, whose point is
    accepted if its residuals and the gap of its dual are below 1e-6. The best one is solved again by clarabel in other
    units. If the two results differ, ``Unsure`` is raised and the case is not counted. This is also done if one method
    finds no point of a program and another one, without the objective, finds one.

Nothing here imports ``fsmodels`` or ``solvers``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
from scipy import optimize, sparse

Key = Hashable
Form = dict[Any, float]  # linear form: key of a variable -> coefficient
Row = tuple[Form, float, float]  # lower <= form <= upper
INF = math.inf
MOST = 700  # convex programs of one case
SURE = 2e-6  # relative difference of two ways to solve the best one


class Unsure(Exception):
    """Raised if the optimum is not known accurately enough."""


@dataclass
class Program:
    """A program; variables are named by keys."""

    lower: dict[Key, float] = field(default_factory=dict)
    upper: dict[Key, float] = field(default_factory=dict)
    cost: Form = field(default_factory=dict)
    square: Form = field(default_factory=dict)  # p: 1/2 p x^2
    product: dict[tuple[Key, Key], float] = field(default_factory=dict)  # of integer variables
    constant: float = 0.0
    integer: set[Key] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)
    cones: list[tuple[Key, Key, Key]] = field(default_factory=list)
    balls: list[tuple[list[Key], float]] = field(default_factory=list)
    alternatives: list[list[list[Row]]] = field(default_factory=list)
    conditions: list[Callable[[dict[Key, float]], bool]] = field(default_factory=list)  # of the integer variables
    worst: Callable[[dict[Key, float]], Row] | None = None  # of infinitely many linear rows, the one missed most
    retreat: list[Row] = field(default_factory=list)  # rows that imply all of these
    units: Form = field(default_factory=dict)  # sizes of variables, where known
    scale: float = 0.0  # size of the objective, where known
    missed: float = 0.0  # largest relative violation at the point that ``solve`` found

    def add(self, key: Key, lower: float = -INF, upper: float = INF, *, cost: float = 0.0, square: float = 0.0,
            integer: bool = False) -> None:  # fmt: skip
        """Add a variable."""
        self.lower[key], self.upper[key] = lower, upper
        self.cost[key], self.square[key] = cost, square
        if integer:
            self.integer.add(key)

    def switch(self, binary: Key, *zero: Key) -> None:
        """Add the condition that variables are 0 unless a binary is 1."""
        self.alternatives.append([[({binary: 1.0}, 1.0, 1.0)], [({k: 1.0}, 0.0, 0.0) for k in (binary, *zero)]])

    def value(self, x: dict[Key, float]) -> tuple[float, float]:
        """Return the objective at a point, and the sum of its terms' sizes."""
        terms = [self.cost[k] * x[k] for k in self.cost] + [0.5 * p * x[k] ** 2 for k, p in self.square.items()]
        terms += [p * x[a] * x[b] for (a, b), p in self.product.items()] + [self.constant]
        return math.fsum(terms), math.fsum(map(abs, terms))

    def violations(self, x: dict[Key, float]) -> Iterable[tuple[str, float]]:
        """Yield the name and the relative size of each violation."""
        for k, v in x.items():
            size = 1 + abs(v)
            yield f"bound of {k}", max(self.lower[k] - v, v - self.upper[k]) / size
            if k in self.integer:
                yield f"integrality of {k}", abs(v - round(v))
        for form, lo, up in self.rows:
            yield f"row {form}", _missed((form, lo, up), x)
        for a, d, t in self.cones:
            yield f"cone {a}", (x[a] ** 2 - x[d] * x[t]) / (1 + x[a] ** 2 + abs(x[d]) + abs(x[t]))
        for keys, r in self.balls:
            yield f"ball {keys}", (sum(x[k] ** 2 for k in keys) - r) / (1 + r)
        for choice in self.alternatives:
            yield f"one of {choice}", min(max(_missed(row, x) for row in rows) for rows in choice)
        if self.worst is not None:
            yield "worst row", _missed(self.worst(x), x)
        whole = {k: round(x[k]) for k in self.integer}
        for condition in self.conditions:
            yield "logic", 0.0 if condition(whole) else 1.0

    def solve(self) -> tuple[float, dict[Key, float]]:
        """Return the optimum and a point: (inf, {}) if there is none, (-inf, {}) if the optimum has no end."""
        best, point = INF, {}
        for found in self._leaves():
            value, x = _convex(self, found)
            if value == -INF:
                return value, {}
            if value < best:
                best, point = value, x
        if point:
            self._check(best, point)
            self.missed = max([0.0, *(v for _, v in self.violations(point))])
        return best, point

    def _leaves(self) -> list[tuple[dict[Key, float], list[Row]]]:
        """Return the integer values and rows of each combination that the integer rows allow."""
        whole = sorted(self.integer, key=str)
        ranges = [range(math.ceil(self.lower[k] - 1e-9), math.floor(self.upper[k] + 1e-9) + 1) for k in whole]
        if math.prod(map(len, ranges)) > 20_000:
            raise Unsure("too many combinations of integers")
        pure = [row for row in self.rows if row[0].keys() <= self.integer]
        leaves = []
        for values in itertools.product(*ranges):
            x = dict(zip(whole, map(float, values), strict=True))
            if any(_missed(row, x) > 1e-9 for row in pure) or not all(c(x) for c in self.conditions):
                continue
            open_ = [[rows for rows in choice if not _excluded(rows, x)] for choice in self.alternatives]
            leaves += [(x, [row for part in parts for row in part]) for parts in itertools.product(*open_)]
            if len(leaves) > MOST:
                raise Unsure("too many convex programs")
        return leaves

    def _check(self, best: float, point: dict[Key, float]) -> None:
        """Solve the best convex program by a second method and compare."""
        fixed = {k: round(point[k]) for k in self.integer}
        holding = [min(choice, key=lambda rows: max(_missed(r, point) for r in rows)) for choice in self.alternatives]
        leaf = (fixed, [row for rows in holding for row in rows])
        other = _convex(self, leaf, again=True)[0]
        size = max(min(1.0, self.scale or 1.0), self.value(point)[1])
        if not abs(other - best) <= SURE * abs(best) + 1e-9 * size:
            raise Unsure(f"two ways to solve the best program differ: {best!r}, {other!r}")


def _missed(row: Row, x: dict[Key, float]) -> float:
    """Return the violation of a row, relative to its terms."""
    form, lo, up = row
    terms = [a * x[k] for k, a in form.items()]
    side = max(abs(v) for v in (lo, up) if math.isfinite(v))
    return max(lo - sum(terms), sum(terms) - up) / (1 + side + max(map(abs, terms), default=0.0))


def _excluded(rows: list[Row], x: dict[Key, float]) -> bool:
    return any(row[0].keys() <= x.keys() and _missed(row, x) > 1e-9 for row in rows)


def _convex(program: Program, leaf: tuple[dict[Key, float], list[Row]], *, again: bool = False) -> Any:
    """Solve with the integers fixed, and with more of the infinitely many rows until none is missed: (value, point)."""
    value, x = _finite(program, leaf, again=again)
    if program.worst is None:
        return value, x
    fixed, rows = leaf[0], list(leaf[1])
    for _ in range(60):
        if not x:
            if value == -INF and not program.retreat:
                raise Unsure("unbounded with some of the rows")
            if value == -INF and _finite(program, (fixed, [*rows, *program.retreat]), again=again)[0] != -INF:
                raise Unsure("unbounded with some of the rows")
            return value, x
        row = program.worst(x)
        if _missed(row, x) <= 1e-9:
            return value, x
        rows.append(row)
        value, x = _finite(program, (fixed, rows), again=again)
    raise Unsure("rows without end")


def _finite(program: Program, leaf: tuple[dict[Key, float], list[Row]], *, again: bool) -> Any:
    fixed, extra = leaf
    low, high = dict(program.lower), dict(program.upper)
    rows = []
    for form, lo, up in [*program.rows, *extra]:
        free = {k: a for k, a in form.items() if k not in fixed and a}
        known = sum(a * fixed[k] for k, a in form.items() if k in fixed)
        if not free:
            if max(lo - known, known - up) > 1e-9 * (1 + abs(known)):
                return INF, {}
        elif len(free) == 1 and not again:  # a bound
            ((k, a),) = free.items()
            ends = sorted(((lo - known) / a, (up - known) / a))
            low[k], high[k] = max(low[k], ends[0]), min(high[k], ends[1])
        else:
            rows.append((free, lo - known, up - known))
    constant = program.constant + sum(program.cost[k] * v + 0.5 * program.square[k] * v * v for k, v in fixed.items())
    constant += sum(p * fixed[a] * fixed[b] for (a, b), p in program.product.items())
    known = dict(fixed)
    for k in program.lower:
        if k not in known and low[k] > high[k] + 1e-12 * (1 + abs(low[k])):
            return INF, {}
    zero = {k for k in program.lower if k not in known and abs(low[k]) == abs(high[k]) == 0.0}
    known |= dict.fromkeys(zero, 0.0)
    keys = [k for k in program.lower if k not in known]
    rows = [({k: a for k, a in form.items() if k not in zero}, lo, up) for form, lo, up in rows]
    if any(not form and max(lo, -up) > 1e-12 for form, lo, up in rows):
        return INF, {}
    part = _Arrays(program, keys, [r for r in rows if r[0]], low, high, zero, again=again)
    value, x = part.solve(again=again)
    return value + constant, known | x if math.isfinite(value) else {}


class _Arrays:
    """A convex program in scaled arrays."""

    def __init__(self, program: Program, keys: list[Key], rows: list[Row], low: Any, high: Any, zero: set[Key], *,
                 again: bool) -> None:  # fmt: skip
        self.keys, n, at = keys, len(keys), {k: i for i, k in enumerate(keys)}
        A = np.zeros((len(rows), n))
        for i, (form, _, _) in enumerate(rows):
            for k, a in form.items():
                A[i, at[k]] = a
        lo, up = (np.array([r[s] for r in rows], dtype=float) for s in (1, 2))
        p = np.array([program.square[k] for k in keys], dtype=float)
        c = np.array([program.cost[k] for k in keys], dtype=float)
        size = np.abs(A).max(axis=0, initial=0.0)
        D = np.where(size > 0, 1 / np.where(size > 0, size, 1), 1.0)
        D = np.array([program.units.get(k, v) for k, v in zip(keys, D, strict=True)])
        self.cones = [(at[w], at[d], at[t]) for w, d, t in program.cones if not {w, d, t} & zero]
        scale = program.scale or np.abs(c).max(initial=0.0) or p.max(initial=0.0)
        D[p > 0] = np.minimum(D[p > 0], np.sqrt(scale / p[p > 0]))
        for w, d, t in self.cones:
            D[w] = min(D[w], math.sqrt(scale * D[d] / c[t])) if c[t] > 0 else D[w]
        if again:
            D = D * 2.0 ** (np.arange(n) % 5 - 2)
        lone = [(w, d, t) for w, d, t in program.cones if {w, d, t} & zero]
        for w, d, t in lone:  # x^2 <= 0
            if (d in zero or t in zero) and w not in zero:
                A, lo, up = np.vstack([A, np.eye(n)[at[w]]]), np.append(lo, 0.0), np.append(up, 0.0)
        for w, d, t in self.cones:
            D[t] = D[w] ** 2 / D[d]
        self.balls = [([at[k] for k in ks if k in at], r) for ks, r in program.balls]
        self.D, A = D, A * D
        R = 1 / np.maximum(np.abs(A).max(axis=1, initial=0.0), 1e-300)
        self.A, self.lo, self.up = A * R[:, None], lo * R, up * R
        self.low, self.high = (np.array([v[k] for k in keys], dtype=float) / D for v in (low, high))
        self.p, self.c = p * D * D, c * D
        self.unit = max(np.abs(self.c).max(initial=0.0), self.p.max(initial=0.0)) or 1.0

    def solve(self, *, again: bool) -> tuple[float, dict[Key, float]]:
        if not self.keys:
            return 0.0, {}
        linear = not (self.p.any() or self.cones or self.balls)
        value, x = self._highs() if linear and not again else self._clarabel(tight=again)
        if x is None:
            if value == -INF and self._feasible() is False:
                return INF, {}
            if value == -INF and not self._ray():
                raise Unsure("clarabel finds no end, and there is no ray")
            if value == INF and self._feasible():
                raise Unsure("a program has no point by one way to solve it, and one by another")
            return value, {}
        return value, dict(zip(self.keys, (x * self.D).tolist(), strict=True))

    def _feasible(self) -> bool:
        """Return True if there is a point, by a solve without a cost: clarabel's infeasibility may be false."""
        p, c, self.p, self.c = self.p, self.c, self.p * 0, self.c * 0
        try:
            return (self._clarabel(tight=True) if self.cones or self.balls else self._highs())[1] is not None
        finally:
            self.p, self.c = p, c

    def _ray(self) -> bool:
        """Return True if a direction lowers the cost without limit: linear, and 0 in the nonlinear terms."""
        zero = set(np.flatnonzero(self.p)) | {w for w, _, _ in self.cones} | {k for ks, _ in self.balls for k in ks}
        low, high = (np.where(np.isfinite(v), 0.0, s) for v, s in ((self.low, -1.0), (self.high, 1.0)))
        low[list(zero)] = high[list(zero)] = 0.0
        rows = [np.where(np.isfinite(v), 0.0, s) for v, s in ((self.lo, -INF), (self.up, INF))]
        held = self.lo, self.up, self.low, self.high
        self.lo, self.up, self.low, self.high = *rows, low, high
        try:
            return bool(self._highs()[0] < -1e-9 * self.unit)
        finally:
            self.lo, self.up, self.low, self.high = held

    def _clarabel(self, *, tight: bool) -> Any:
        n, eye = len(self.keys), np.eye(len(self.keys))
        A, lo, up = np.vstack([self.A, eye]), np.append(self.lo, self.low), np.append(self.up, self.high)
        same, below, above = _sides(lo, up)
        blocks, sides = [A[same], -A[below], A[above]], [lo[same], -lo[below], up[above]]
        cones = [clarabel.ZeroConeT(int(same.sum())), clarabel.NonnegativeConeT(int(below.sum() + above.sum()))]
        for w, d, t in self.cones:
            blocks.append(np.array([-eye[d] - eye[t], -2 * eye[w], eye[t] - eye[d]]))
            sides.append(np.zeros(3))
            cones.append(clarabel.SecondOrderConeT(3))
        for ks, r in self.balls:
            blocks.append(np.vstack([np.zeros(n), -eye[ks] * self.D[ks][:, None]]) / max(math.sqrt(r), 1e-9))
            sides.append(np.append(math.sqrt(r) / max(math.sqrt(r), 1e-9), np.zeros(len(ks))))
            cones.append(clarabel.SecondOrderConeT(len(ks) + 1))
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 300
        settings.tol_gap_abs = 1e-13
        P = sparse.diags(self.p / self.unit).tocsc()
        c, lines = self.c / self.unit, sparse.csc_matrix(np.vstack(blocks))
        for tolerance in (1e-10 if tight else 1e-9, 1e-13):
            settings.tol_gap_rel = settings.tol_feas = tolerance
            answer = clarabel.DefaultSolver(P, c, lines, np.concatenate(sides), cones, settings).solve()
            status, x = str(answer.status), np.array(answer.x)
            if status.endswith("PrimalInfeasible"):
                return INF, None
            if status.endswith("DualInfeasible"):
                return -INF, None
            f, g = answer.obj_val, answer.obj_val_dual
            wrong = float(np.abs(P @ x + c + lines.T @ np.array(answer.z)) @ np.abs(x))  # of g: residuals times x
            if abs(f - g) + wrong <= 1e-6 * abs(f) + 1e-9 and max(answer.r_prim, answer.r_dual) <= 1e-7:
                return f * self.unit, x
        raise Unsure(f"clarabel: {status}, {f!r}, {g!r}")

    def _highs(self) -> Any:
        same, below, above = _sides(self.lo, self.up)
        answer = optimize.linprog(
            self.c / self.unit,
            A_ub=np.vstack([-self.A[below], self.A[above]]),
            b_ub=np.append(-self.lo[below], self.up[above]),
            A_eq=self.A[same],
            b_eq=self.lo[same],
            bounds=np.column_stack([self.low, self.high]),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status in (2, 3):  # infeasible, unbounded
            return (INF if answer.status == 2 else -INF), None
        if answer.status:
            raise Unsure(f"highs: {answer.message}")
        return answer.fun * self.unit, answer.x


def _sides(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return masks of the equations, and of the other rows with a lower and with an upper side."""
    same = (low == high) & np.isfinite(low)
    return same, np.isfinite(low) & ~same, np.isfinite(high) & ~same


def concave_optimum(planes: np.ndarray, sides: np.ndarray, units: np.ndarray,
                    value: Callable[[np.ndarray], np.ndarray]) -> float:  # fmt: skip
    """Return the least of a function that is concave and bounded below on each cell of an arrangement of planes.

    Such a function is least at a vertex of the arrangement, if the normals of the planes span the space. ``units``:
    sizes of the coefficients by variable.
    """
    P = planes / units
    norm = np.linalg.norm(P, axis=1)
    P, s = P[norm > 0] / norm[norm > 0, None], sides[norm > 0] / norm[norm > 0]
    sets = np.array(list(itertools.combinations(range(len(P)), P.shape[1])))
    M = P[sets]
    good = np.abs(np.linalg.det(M)) > 1e-9
    if not good.any():
        raise Unsure("no vertex")
    points = np.linalg.solve(M[good], s[sets[good]][..., None])[..., 0] / units
    return float(value(points).min())
