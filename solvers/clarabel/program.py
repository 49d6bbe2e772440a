r"""Clarabel's standard form of a compiled model, and the way back.

    minimise    1/2 x'Px + q'x
    subject to  A x + s = b,   s in {0}^m0 x R+^m1 x L x ... x L

x holds the variables that are free to move, then the auxiliary ones (quotients; long squares of the objective). Fixed
variables, and those with equal bounds, are put in as numbers. Rows, in this order: linear equalities; ``Fx + g = 0``
and definitions of auxiliary variables; linear rows from above (``a'x <= u``: a, u) and from below (``a'x >= l``: -a,
-l); finite bounds likewise; cones (``v(x) = Vx + v in L``: -V, v). No row is ever infinite.

**Signs.** With z the dual of ``Ax + s = b``, d optimum / d b = -z. So for minimisation, in Pyomo's convention
(d objective / d right-hand side as written): equality -z, from above -z, from below +z, a range the sum of both, a cone
row ``f <= u`` -mu, ``f >= l`` +mu with mu from ``cones``; reduced cost of a variable z_lower - z_upper.
Maximisation minimises -objective, and every sign turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from solvers.clarabel.body import Affine, Body, affine
from solvers.clarabel.cones import ConicRows, apex, conic_rows, objective_parts
from solvers.clarabel.rows import BoundProver, Bounds, CompiledRow, ConicModel, Triplets, label
from solvers.errors import ModelError


@dataclass(frozen=True)
class Behind:
    """Where the multiplier of a nonlinear row is: an inequality's row, or a cone's first row and its size."""

    row: CompiledRow
    sign: float
    at: int
    size: int = 0
    kappa: float = 0.0


@dataclass
class Program:
    """The numbers of one solve, and what stands behind each."""

    P: sp.csc_matrix
    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    cones: list[tuple[str, int]]
    const: float
    sense: float  # +1 minimise, -1 maximise
    free: np.ndarray  # columns of the model that move
    columns: Bounds
    used: np.ndarray
    linear: Triplets
    sides: list[tuple[np.ndarray, float]]  # row of A of each linear row, -1 where it has none; sign of its multiplier
    bounds: list[tuple[np.ndarray, float]]  # the same of the bounds of the free variables
    behind: list[Behind]
    undefined: list[CompiledRow]  # rows without a multiplier
    contradiction: str = ""  # a row that is false whatever x is

    def same_pattern(self, other: Program) -> bool:
        """Whether the numbers of one may replace those of the other inside the solver."""
        return (
            self.cones == other.cones
            and self.A.shape == other.A.shape
            and all(
                np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
                for a, b in ((self.A, other.A), (self.P, other.P))
            )
        )

    def objective_at(self, x: np.ndarray) -> float:
        """Objective in the user's sense."""
        return self.sense * (float(0.5 * x @ (self._full_p() @ x) + self.q @ x) + self.const)

    def bound_from(self, x: np.ndarray, z: np.ndarray) -> float:
        """Bound on the optimum, in the user's sense, from a pair the solver calls optimal.

        The Lagrangian at z is bounded below by its value at x plus its gradient r there times the step to the optimum.
        The solver leaves r at its tolerance, not at 0; steps up to x itself are paid for by ``|r|'|x|``. Where that is
        more than the objective, x has gone towards infinity, and the bound is infinite.
        """
        px = self._full_p() @ x
        r = px + self.q + self.A.T @ z
        paid = float(np.abs(r) @ np.abs(x))
        dual = float(-0.5 * x @ px - self.b @ z) + float(r @ x) - paid
        primal = float(0.5 * x @ px + self.q @ x)
        if paid > max(1.0, abs(primal)):
            return -self.sense * np.inf
        return self.sense * (min(dual, primal) + self.const)

    def _full_p(self) -> sp.csc_matrix:
        return self.P + sp.triu(self.P, 1).T

    def values(self, x: np.ndarray) -> np.ndarray:
        """Values by column of the model, within the bounds (the solver keeps them to its tolerance only)."""
        values = self.columns.values.copy()
        values[self.free] = np.clip(x[: len(self.free)], self.columns.lower[self.free], self.columns.upper[self.free])
        return values

    def duals(self, x: np.ndarray, z: np.ndarray) -> dict[Any, float]:
        """Multipliers of the rows as written; rows at a cone's apex are left out."""
        y = self.sense * _multipliers(self.sides, z, len(self.linear.owners))
        missing = {id(row) for row in self.undefined}
        rows = zip(self.linear.owners, y, strict=True)
        duals = {row.owner: float(value) for row, value in rows if id(row) not in missing}
        slack = self.b - self.A @ x if self.behind else self.b
        for item in self.behind:
            if id(item.row) in missing:
                continue
            if not item.size:
                mu = float(z[item.at])
            else:
                v, dual = slack[item.at : item.at + item.size], z[item.at : item.at + item.size]
                if apex(v, dual):
                    continue
                mu = float(dual[0]) / (2.0 * item.kappa * float(v[0]))
            duals[item.row.owner] = self.sense * item.sign * mu
        return duals

    def reduced_costs(self, z: np.ndarray) -> dict[int, float]:
        """Reduced costs by column, of the variables that are free to move."""
        costs = self.sense * _multipliers(self.bounds, z, len(self.free))
        return {int(col): float(c) for col, c in zip(self.free, costs, strict=True)}


def _multipliers(places: list[tuple[np.ndarray, float]], z: np.ndarray, size: int) -> np.ndarray:
    """Add up the entries of z at the rows of each side, with its sign."""
    total = np.zeros(size)
    for at, sign in places:
        has = at >= 0
        total[has] += sign * z[at[has]]
    return total


class _Coordinates:
    """Collects the rows of A."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.cols: list[np.ndarray] = []
        self.coefs: list[np.ndarray] = []
        self.b: list[np.ndarray] = []
        self.size = 0

    def put(self, rows: np.ndarray, cols: np.ndarray, coefs: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Append ``len(b)`` rows; return their numbers."""
        self.rows.append(rows + self.size)
        self.cols.append(cols)
        self.coefs.append(coefs)
        self.b.append(b)
        numbers = np.arange(self.size, self.size + len(b))
        self.size += len(b)
        return numbers

    def put_affine(self, entries: list[Affine], sign: float) -> np.ndarray:
        """Append rows ``sign * coefs x + s = -sign * const``."""
        sizes = [len(entry.cols) for entry in entries]
        return self.put(
            np.repeat(np.arange(len(entries)), sizes),
            np.concatenate([entry.cols for entry in entries]),
            sign * np.concatenate([entry.coefs for entry in entries]),
            np.array([-sign * entry.const for entry in entries]),
        )


def _restated(row: CompiledRow, key: bytes, prover: BoundProver, build: Any) -> Any:
    """Restate a row, or take what was made of it at the same fixings and bounds."""
    if row.cache is not None and row.cache[0] == key:
        return row.cache[1]
    prover.asked_rows = False
    made = build()
    row.cache = None if prover.asked_rows else (key, made)
    return made


def _sides(row: CompiledRow, body: Body, lo: float, hi: float, prover: BoundProver) -> list[tuple[float, ConicRows]]:
    """Restate ``lo <= body <= hi`` with cones: the sign of Pyomo's dual, and the rows."""
    name = label(row.owner)
    if lo == hi:
        msg = f"{name} is a quadratic equality, which is not convex: relax it to an inequality, or use scip or pounce."
        raise ModelError(msg)
    sides = []
    if hi < np.inf:
        sides.append((-1.0, conic_rows(body.plus(Body(affine(const=-hi))), prover, name)))
    if lo > -np.inf:
        sides.append((1.0, conic_rows(body.times(-1.0).plus(Body(affine(const=lo))), prover, name)))
    return sides


def _nonlinear(
    model: ConicModel, columns: Bounds, prover: BoundProver
) -> tuple[list[tuple[CompiledRow, float, ConicRows, int]], list[tuple[CompiledRow, Affine, float, float]], int]:
    """Restate the nonlinear rows: cones with their first auxiliary variable, rows now linear, number of auxiliaries."""
    pinned, values = columns.pinned, columns.values
    behind: list[tuple[CompiledRow, float, ConicRows, int]] = []
    extra: list[tuple[CompiledRow, Affine, float, float]] = []
    auxiliaries = 0
    for row in model.nonlinear:
        lo, hi = row.bounds()
        cols = row.columns
        numbers = (pinned[cols], pinned[cols] * values[cols], prover.lower[cols], prover.upper[cols], [lo, hi])
        key = np.concatenate(numbers).tobytes()

        def restate(row: CompiledRow = row, lo: float = lo, hi: float = hi) -> Any:
            body = row.body.substitute(pinned, values)
            return body.linear if body.is_linear else _sides(row, body, lo, hi, prover)

        made = _restated(row, key, prover, restate)
        if isinstance(made, Affine):
            extra.append((row, made, lo, hi))
            continue
        for sign, rows in made:
            behind.append((row, sign, rows, auxiliaries))
            auxiliaries += len(rows.quotients)
    return behind, extra, auxiliaries


def assemble(model: ConicModel) -> Program:
    """Put a compiled model in standard form, with the bounds, fixings and right-hand sides of now.

    Raises ModelError if a row or the objective is not convex, or a variable is integer.
    """
    columns, linear, used = model.columns(), model.linear(), model.used()
    n = len(used)
    prover = BoundProver(columns, linear, model.walker.variables)
    pinned, values = columns.pinned, columns.values

    # Nonlinear rows first: some are linear at the present fixings, some pin a variable, and they count the auxiliaries.
    undefined: list[CompiledRow] = []
    contradiction = ""
    while True:
        behind, extra, auxiliaries = _nonlinear(model, columns, prover)
        pins = {
            int(zero.cols[0]): (-zero.const / float(zero.coefs[0]), row, rows)
            for row, _, rows, _ in behind
            for zero in rows.zeros
            if len(zero.cols) == 1 and zero.cols[0] >= 0
        }
        if not pins:
            break
        # w^2 <= s t with s fixed at 0 leaves w no choice; as a number it takes its dense column out of the problem.
        for col, (value, row, rows) in pins.items():
            pinned[col], values[col] = True, value
            if rows.cone is None and rows.inequality is None:  # else only a quotient of the row is pinned
                undefined.append(row)
            if not columns.lower[col] - 1e-8 <= value <= columns.upper[col] + 1e-8:
                contradiction = label(row.owner)
    linear = _extended(linear, extra)

    objective = model.objective
    sense, line, quad, squares, costs = 1.0, affine(), None, [], ConicRows()
    if objective is not None:
        sense = float(objective.owner.sense)
        cols = objective.columns
        parts = (pinned[cols], pinned[cols] * values[cols], prover.lower[cols], prover.upper[cols], [sense])

        def restate_objective(objective: CompiledRow = objective) -> Any:
            rows = ConicRows()
            body = objective.body.times(sense).substitute(pinned, values)
            return (*objective_parts(body, rows, prover, label(objective.owner)), rows)

        line, quad, squares, costs = _restated(objective, np.concatenate(parts).tobytes(), prover, restate_objective)
    cost_offset = auxiliaries
    auxiliaries += len(costs.quotients)

    free = np.flatnonzero(used & ~pinned)
    place = np.full(n + auxiliaries, -1, dtype=np.intp)
    place[free] = np.arange(len(free))
    place[n:] = len(free) + np.arange(auxiliaries)
    size = len(free) + auxiliaries

    def placed(entry: Affine, offset: int) -> Affine:
        cols = np.where(entry.cols < 0, n + offset - 1 - entry.cols, entry.cols)
        return Affine(place[cols], entry.coefs, entry.const)

    line = placed(line, cost_offset)
    q = np.bincount(line.cols, weights=line.coefs, minlength=size).astype(float)
    if quad is not None:
        quad = (place[quad[0]], place[quad[1]], quad[2])
    P, q, const, long = _quadratic(quad, [placed(s, 0) for s in squares], q, size)
    const += line.const
    if long:  # y = Fx + g, objective y'y
        q = np.concatenate((q, np.zeros(len(long))))

    A = _Coordinates()
    keep = ~pinned[linear.cols]
    gone = np.bincount(
        linear.index[~keep], linear.coefs[~keep] * values[linear.cols[~keep]], minlength=len(linear.lower)
    )
    lower, upper = linear.lower - linear.const - gone, linear.upper - linear.const - gone
    index, cols, coefs = linear.index[keep], place[linear.cols[keep]], linear.coefs[keep]
    some = np.bincount(index, minlength=len(lower)) > 0
    contradiction = contradiction or _contradiction(linear, lower, upper, some)

    def take(which: np.ndarray, sign: float, sides: np.ndarray) -> np.ndarray:
        number = np.cumsum(which) - 1
        mine = which[index]
        at = np.full(len(which), -1, dtype=np.intp)
        at[which] = A.put(number[index[mine]], cols[mine], sign * coefs[mine], sign * sides[which])
        return at

    same = some & (linear.lower == linear.upper)
    equal = take(same, 1.0, upper)
    zeros = [placed(z, offset) for _, _, rows, offset in behind for z in rows.zeros]
    zeros += [placed(z, cost_offset) for z in costs.zeros]
    zeros += [entry.plus(affine([size + k], [-1.0])) for k, entry in enumerate(long)]
    if zeros:
        A.put_affine(zeros, 1.0)
    zero_rows = A.size

    above = take(some & ~same & (upper < np.inf), 1.0, upper)
    below = take(some & ~same & (lower > -np.inf), -1.0, lower)
    bounds = []
    for sides, sign in ((columns.lower[free], -1.0), (columns.upper[free], 1.0)):
        at, has = np.full(len(free), -1, dtype=np.intp), np.flatnonzero(np.isfinite(sides))
        at[has] = A.put(np.arange(len(has)), has, np.full(len(has), sign), sign * sides[has])
        bounds.append((at, -sign))
    found: list[Behind] = []
    for row, sign, rows, offset in behind:
        if rows.inequality is not None and len(rows.inequality.cols):
            (at_row,) = A.put_affine([placed(rows.inequality, offset)], 1.0)
            found.append(Behind(row, sign, int(at_row)))
        elif rows.inequality is not None:
            undefined.append(row)
            if rows.inequality.const > 1e-8:
                contradiction = contradiction or label(row.owner)
        elif rows.cone is None:
            undefined.append(row)
    cones = [("zero", zero_rows), ("nonnegative", A.size - zero_rows)]

    for owner, sign, rows, offset in [*behind, (None, 0.0, costs, cost_offset)]:
        for cone in ([rows.cone] if rows.cone else []) + rows.quotients:
            at_cone = A.put_affine([placed(entry, offset) for entry in cone.entries], -1.0)
            cones.append(("second-order", len(at_cone)))
            if cone.kappa is not None and owner is not None:
                found.append(Behind(owner, sign, int(at_cone[0]), len(at_cone), cone.kappa))

    size += len(long)
    triplets = (np.concatenate(A.coefs), (np.concatenate(A.rows), np.concatenate(A.cols)))
    return Program(
        P=P,
        q=q,
        A=sp.csc_matrix(triplets, shape=(A.size, size)),
        b=np.concatenate(A.b),
        cones=[cone for cone in cones if cone[1]],
        const=const,
        sense=sense,
        free=free,
        columns=columns,
        used=used,
        linear=linear,
        sides=[(equal, -1.0), (above, -1.0), (below, 1.0)],
        bounds=bounds,
        behind=found,
        undefined=undefined,
        contradiction=contradiction,
    )


def _extended(linear: Triplets, extra: list[tuple[CompiledRow, Affine, float, float]]) -> Triplets:
    if not extra:
        return linear
    count = len(linear.lower)
    sizes = [len(line.cols) for _, line, _, _ in extra]
    return Triplets(
        linear.owners + [row for row, _, _, _ in extra],
        np.concatenate((linear.index, np.repeat(np.arange(count, count + len(extra)), sizes))),
        np.concatenate((linear.cols, *(line.cols for _, line, _, _ in extra))),
        np.concatenate((linear.coefs, *(line.coefs for _, line, _, _ in extra))),
        np.concatenate((linear.const, [line.const for _, line, _, _ in extra])),
        np.concatenate((linear.lower, [lo for _, _, lo, _ in extra])),
        np.concatenate((linear.upper, [hi for _, _, _, hi in extra])),
    )


def _contradiction(linear: Triplets, lower: np.ndarray, upper: np.ndarray, some: np.ndarray) -> str:
    """Name a row that has no variable left and is false."""
    with np.errstate(invalid="ignore"):
        scale = 1e-8 * (1.0 + np.abs(np.where(np.isfinite(linear.lower), linear.lower, 0.0)))
        scale += 1e-8 * np.abs(np.where(np.isfinite(linear.upper), linear.upper, 0.0))
    false = np.flatnonzero(~some & ((lower > scale) | (upper < -scale)))
    return label(linear.owners[false[0]].owner) if len(false) else ""


def _quadratic(
    quad: tuple | None, squares: list[Affine], q: np.ndarray, size: int
) -> tuple[sp.csc_matrix, np.ndarray, float, list[Affine]]:
    """Return P, q and a constant for ``x'Qx + sum of squares``, and the squares better left to variables of their own.

    Multiplied out, p squares of k variables each make up to k^2 / 2 entries in P; as rows ``y = Fx + g`` they make p k.
    """
    i, j, v = quad if quad is not None else (np.empty(0, dtype=np.intp),) * 2 + (np.empty(0),)
    rows, cols, data = [np.minimum(i, j)], [np.maximum(i, j)], [np.where(i == j, 2.0 * v, v)]
    const, long = 0.0, []
    if squares:
        sizes = np.array([len(s.cols) for s in squares])
        f_cols = np.concatenate([s.cols for s in squares])
        f_rows = np.repeat(np.arange(len(squares)), sizes)
        factor = sp.csr_matrix(
            (np.concatenate([s.coefs for s in squares]), (f_rows, f_cols)), shape=(len(squares), size)
        )
        product = None
        if float((sizes.astype(float) ** 2).sum()) <= 4e7:
            product = sp.triu(factor.T @ factor).tocoo()
        if product is None or product.nnz > 2 * (factor.nnz + len(squares)) + 100:
            long = squares
            ys = size + np.arange(len(squares))
            rows.append(ys)
            cols.append(ys)
            data.append(np.full(len(squares), 2.0))
            size += len(squares)
        else:
            g = np.array([s.const for s in squares])
            rows.append(product.row)
            cols.append(product.col)
            data.append(2.0 * product.data)
            q = q + 2.0 * (factor.T @ g)
            const = float(g @ g)
    triplets = (np.concatenate(data), (np.concatenate(rows), np.concatenate(cols)))
    return sp.csc_matrix(triplets, shape=(size, size)), q, const, long
