r"""Clarabel's standard form of a compiled model, and the solution of the model.

    minimise    1/2 x'Px + q'x
    subject to  A x + s = b,   s in {0}^m0 x R+^m1 x L x ... x L

x consists of the free variables, then the auxiliary ones (quotients; long squares of the objective). Fixed variables,
and those with equal bounds, are replaced by numbers. Rows, in this order: linear equalities; ``Fx + g = 0`` and
definitions of auxiliary variables; linear rows with upper sides (``a'x <= u``: a, u) and lower sides (``a'x >= l``: -a,
-l); finite bounds likewise; cones (``v(x) = Vx + v in L``: -V, v). All sides are finite.

**Signs.** With z the dual of ``Ax + s = b``, d optimum / d b = -z. So for minimisation, in Pyomo's convention
(d objective / d right-hand side as written): equality -z, from above -z, from below +z, a range the sum of both, a cone
row ``f <= u`` -mu, ``f >= l`` +mu with mu from ``cones``; reduced cost of a variable z_lower - z_upper.
To maximise, -objective is minimised, and all signs change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from solvers.clarabel.cones import ConicRows, apex, conic_rows, objective_parts
from solvers.clarabel.rows import BoundProver, CompiledRow, ConicModel, Triplets, label
from solvers.errors import ModelError
from solvers.walker import Affine, Body, affine, stacked

UNBALANCED = 0.1  # share of the cost of a column that its gradient must not exceed in a proof
NEGLIGIBLE = 1e-9  # relative to the largest cost: smaller gradients are the error of the solver


@dataclass(frozen=True)
class Behind:
    """Position of the multiplier of a nonlinear row: the row of an inequality, or the first row and size of a cone."""

    row: CompiledRow
    sign: float
    at: int
    size: int = 0
    kappa: float = 0.0


Restated = tuple[CompiledRow, float, ConicRows, int]  # row, sign of its multiplier, as cones, first auxiliary variable
NowLinear = tuple[CompiledRow, Affine, float, float]  # row, body and both sides


class StandardForm:
    """The numbers of one solve.

    - ``P``, ``q``: objective; P is an upper triangle.
    - ``A``, ``b``, ``cones``: rows; ``cones`` has the kind and the size of each cone.
    - ``contradiction``: a row that is violated by all x, or "".
    """

    P: sp.csc_matrix
    q: np.ndarray
    A: sp.csc_matrix
    b: np.ndarray
    cones: list[tuple[str, int]]
    contradiction = ""

    def same_pattern(self, other: StandardForm) -> bool:
        """Return True if the numbers of one program can replace those of the other in the solver."""
        return (
            self.cones == other.cones
            and self.A.shape == other.A.shape
            and all(
                np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
                for a, b in ((self.A, other.A), (self.P, other.P))
            )
        )


class Program(StandardForm):
    """The numbers of one solve, with their rows and variables.

    - ``const``: constant term of the objective.
    - ``sense``: 1 to minimise, -1 to maximise.
    - ``columns``: bounds and fixings by column of the model; ``used``: used columns; ``free``: free columns.
    - ``linear``: the linear rows.
    - ``sides``: for each kind of side of these, its row of A (-1 if there is none) and the sign of its multiplier.
    - ``bounds``: the same for the bounds of the free columns.
    - ``behind``: multipliers of the nonlinear rows.
    - ``undefined``: rows without a multiplier.
    """

    def __init__(self, model: ConicModel) -> None:
        """Write a compiled model in standard form, with the present bounds, fixings and right-hand sides.

        Raises ModelError if a row or the objective is not convex, or a variable is integer.
        """
        self.columns, self.used = model.columns(), model.used()
        self.behind: list[Behind] = []
        self.undefined: list[CompiledRow] = []
        prover = BoundProver(self.columns, model.linear(), model.walker.variables)
        # Nonlinear rows first: some are linear for the present fixings, some determine a variable.
        restated, extra = self._restate(model, prover)
        while pins := _pins(restated):
            self._pin(pins)
            restated, extra = self._restate(model, prover)
        self.linear = _extended(model.linear(), extra)
        self.sense, line, quad, squares, costs = self._objective(model.objective, prover)
        offset = sum(len(rows.quotients) for _, _, rows, _ in restated)
        every = [*restated, (None, 0.0, costs, offset)]

        n, auxiliaries = len(self.used), offset + len(costs.quotients)
        self.free = np.flatnonzero(self.used & ~self.columns.pinned)
        place = np.full(n + auxiliaries, -1, dtype=np.intp)
        place[self.free] = np.arange(len(self.free))
        place[n:] = len(self.free) + np.arange(auxiliaries)
        size = len(self.free) + auxiliaries

        def placed(entry: Affine, offset: int) -> Affine:
            cols = np.where(entry.cols < 0, n + offset - 1 - entry.cols, entry.cols)
            return Affine(place[cols], entry.coefs, entry.const)

        line = placed(line, offset)
        q = np.bincount(line.cols, weights=line.coefs, minlength=size).astype(float)
        if quad is not None:
            quad = (place[quad[0]], place[quad[1]], quad[2])
        self.P, q, const, long = _quadratic(quad, [placed(s, 0) for s in squares], q, size)
        self.q, self.const = np.concatenate((q, np.zeros(len(long)))), const + line.const

        A = _Coordinates()
        zeros = [placed(z, start) for _, _, rows, start in every for z in rows.zeros]
        zeros += [entry.plus(affine([size + k], [-1.0])) for k, entry in enumerate(long)]  # y = Fx + g, objective y'y
        count = self._put_linear(A, place, zeros)
        self._put_inequalities(A, restated, placed)
        cones = [("zero", count), ("nonnegative", A.size - count)]
        for owner, sign, rows, start in every:
            for cone in ([rows.cone] if rows.cone else []) + rows.quotients:
                at = A.put_affine([placed(entry, start) for entry in cone.entries], -1.0)
                cones.append(("second-order", len(at)))
                if cone.kappa is not None and owner is not None:
                    self.behind.append(Behind(owner, sign, int(at[0]), len(at), cone.kappa))
        for kind, entries in model.cones:
            now = [entry.substitute(self.columns.pinned, self.columns.values) for entry in entries]
            cones.append((kind, len(A.put_affine([placed(entry, 0) for entry in now], -1.0))))
        triplets = (np.concatenate(A.coefs), (np.concatenate(A.rows), np.concatenate(A.cols)))
        self.A, self.b = sp.csc_matrix(triplets, shape=(A.size, size + len(long))), np.concatenate(A.b)
        self.cones = [cone for cone in cones if cone[1]]

    def _restate(self, model: ConicModel, prover: BoundProver) -> tuple[list[Restated], list[NowLinear]]:
        """Return the nonlinear rows as cones, and those that are linear for the present fixings."""
        pinned, values = self.columns.pinned, self.columns.values
        restated: list[Restated] = []
        extra: list[NowLinear] = []
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
                restated.append((row, sign, rows, auxiliaries))
                auxiliaries += len(rows.quotients)
        return restated, extra

    def _pin(self, pins: dict[int, tuple[float, CompiledRow, ConicRows]]) -> None:
        """Fix columns for which a row allows one value only.

        For example, w^2 <= s t with s fixed at 0 implies w = 0, which removes a dense column from the problem.
        """
        columns = self.columns
        for col, (value, row, rows) in pins.items():
            columns.pinned[col], columns.values[col] = True, value
            if rows.cone is None and rows.inequality is None:  # otherwise only a quotient of the row is pinned
                self.undefined.append(row)
            if not columns.lower[col] - 1e-8 <= value <= columns.upper[col] + 1e-8:
                self.contradiction = label(row.owner)

    def _objective(
        self, objective: CompiledRow | None, prover: BoundProver
    ) -> tuple[float, Affine, Any, Any, ConicRows]:
        """Return sense, linear part, quadratic part, squares and the rows for quotients."""
        if objective is None:
            return 1.0, affine(), None, [], ConicRows()
        pinned, values, cols = self.columns.pinned, self.columns.values, objective.columns
        sense = float(objective.owner.sense)
        parts = (pinned[cols], pinned[cols] * values[cols], prover.lower[cols], prover.upper[cols], [sense])

        def restate() -> Any:
            rows = ConicRows()
            body = objective.body.times(sense).substitute(pinned, values)
            return (*objective_parts(body, rows, prover, label(objective.owner)), rows)

        return (sense, *_restated(objective, np.concatenate(parts).tobytes(), prover, restate))

    def _put_linear(self, A: _Coordinates, place: np.ndarray, zeros: list[Affine]) -> int:
        """Add the linear rows, ``zeros`` = 0, and the bounds; return the number of equations."""
        linear, columns = self.linear, self.columns
        keep = ~columns.pinned[linear.cols]
        fixed = linear.coefs[~keep] * columns.values[linear.cols[~keep]]
        gone = np.bincount(linear.index[~keep], fixed, minlength=len(linear.lower))
        lower, upper = linear.lower - linear.const - gone, linear.upper - linear.const - gone
        index, cols, coefs = linear.index[keep], place[linear.cols[keep]], linear.coefs[keep]
        some = np.bincount(index, minlength=len(lower)) > 0
        self.contradiction = self.contradiction or _contradiction(linear, lower, upper, some)

        def take(which: np.ndarray, sign: float, sides: np.ndarray) -> np.ndarray:
            number = np.cumsum(which) - 1
            mine = which[index]
            at = np.full(len(which), -1, dtype=np.intp)
            at[which] = A.put(number[index[mine]], cols[mine], sign * coefs[mine], sign * sides[which])
            return at

        same = some & (linear.lower == linear.upper)
        equal = take(same, 1.0, upper)
        if zeros:
            A.put_affine(zeros, 1.0)
        count = A.size
        above = take(some & ~same & (upper < np.inf), 1.0, upper)
        below = take(some & ~same & (lower > -np.inf), -1.0, lower)
        self.sides = [(equal, -1.0), (above, -1.0), (below, 1.0)]
        self.bounds = []
        for sides, sign in ((columns.lower[self.free], -1.0), (columns.upper[self.free], 1.0)):
            at, has = np.full(len(self.free), -1, dtype=np.intp), np.flatnonzero(np.isfinite(sides))
            at[has] = A.put(np.arange(len(has)), has, np.full(len(has), sign), sign * sides[has])
            self.bounds.append((at, -sign))
        return count

    def _put_inequalities(
        self, A: _Coordinates, restated: list[Restated], placed: Callable[[Affine, int], Affine]
    ) -> None:
        """Add the nonlinear rows that are inequalities for the present fixings; store those without a multiplier."""
        for row, sign, rows, start in restated:
            if rows.inequality is not None and len(rows.inequality.cols):
                (at,) = A.put_affine([placed(rows.inequality, start)], 1.0)
                self.behind.append(Behind(row, sign, int(at)))
            elif rows.inequality is not None:
                self.undefined.append(row)
                if rows.inequality.const > 1e-8:
                    self.contradiction = self.contradiction or label(row.owner)
            elif rows.cone is None:
                self.undefined.append(row)

    def objective_at(self, x: np.ndarray) -> float:
        """Return the objective in the sense of the user."""
        return self.sense * (float(0.5 * x @ (self.full_quadratic() @ x) + self.q @ x) + self.const)

    def bound_from(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return a bound on the optimum, in the sense of the user, from a solution that the solver reports as optimal.

        The Lagrangian at z is bounded below by its value at x plus its gradient r at x times the step to the optimum.
        The solver leaves r at its tolerance and not at 0; ``|r|'|x|`` covers steps up to the size of x. If that is more
        than the objective, x has diverged, and the bound is infinite. The same holds if r is as large as the cost of a
        column: the multipliers do not balance this cost, and the objective may fall along the column without end.
        """
        px = self.full_quadratic() @ x
        r = px + self.q + self.A.T @ z
        margin = float(np.abs(r) @ np.abs(x))
        dual = float(-0.5 * x @ px - self.b @ z) + float(r @ x) - margin
        primal = float(0.5 * x @ px + self.q @ x)
        cost = np.abs(self.q)
        unbalanced = (np.abs(r) > UNBALANCED * cost) & (np.abs(r) > NEGLIGIBLE * cost.max(initial=0.0))
        if margin > max(1.0, abs(primal)) or bool(np.any(unbalanced & (cost > 0.0))):
            return -self.sense * np.inf
        return self.sense * (min(dual, primal) + self.const)

    def full_quadratic(self) -> sp.csc_matrix:
        """Return P with both triangles."""
        return self.P + sp.triu(self.P, 1).T

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the values by column of the model, moved within the bounds."""
        values = self.columns.values.copy()
        values[self.free] = np.clip(x[: len(self.free)], self.columns.lower[self.free], self.columns.upper[self.free])
        return values

    def duals(self, x: np.ndarray, z: np.ndarray) -> dict[Any, float]:
        """Return the multipliers of the rows as written; rows at the apex of a cone are left out."""
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
        """Return the reduced costs of the free variables by column."""
        costs = self.sense * _multipliers(self.bounds, z, len(self.free))
        return {int(col): float(c) for col, c in zip(self.free, costs, strict=True)}


def _multipliers(places: list[tuple[np.ndarray, float]], z: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of the entries of z at the rows of each side, with its sign."""
    total = np.zeros(size)
    for at, sign in places:
        has = at >= 0
        total[has] += sign * z[at[has]]
    return total


class _Coordinates:
    """Rows of A in coordinates."""

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
        rows, cols, coefs, constants = stacked(entries)
        return self.put(rows, cols, sign * coefs, -sign * constants)


def _restated(row: CompiledRow, key: bytes, prover: BoundProver, build: Any) -> Any:
    """Return the cones of a row; those for the same fixings and bounds are cached."""
    if row.cache is not None and row.cache[0] == key:
        return row.cache[1]
    prover.used_rows = False
    made = build()
    row.cache = None if prover.used_rows else (key, made)
    return made


def _sides(row: CompiledRow, body: Body, lo: float, hi: float, prover: BoundProver) -> list[tuple[float, ConicRows]]:
    """Return ``lo <= body <= hi`` as cones, with the sign of Pyomo's dual for each side."""
    name = label(row.owner)
    if lo == hi:
        raise ModelError(
            f"{name} is a quadratic equality, which is not convex: relax it to an inequality, or use scip or pounce."
        )
    sides = []
    if hi < np.inf:
        sides.append((-1.0, conic_rows(body.plus(Body(affine(const=-hi))), prover, name)))
    if lo > -np.inf:
        sides.append((1.0, conic_rows(body.times(-1.0).plus(Body(affine(const=lo))), prover, name)))
    return sides


def _pins(restated: list[Restated]) -> dict[int, tuple[float, CompiledRow, ConicRows]]:
    """Return the columns for which a row allows one value only, with this value."""
    return {
        int(zero.cols[0]): (-zero.const / float(zero.coefs[0]), row, rows)
        for row, _, rows, _ in restated
        for zero in rows.zeros
        if len(zero.cols) == 1 and zero.cols[0] >= 0
    }


def _extended(linear: Triplets, extra: list[NowLinear]) -> Triplets:
    if not extra:
        return linear
    rows, cols, coefs, constants = stacked([line for _, line, _, _ in extra])
    return Triplets(
        linear.owners + [row for row, _, _, _ in extra],
        np.concatenate((linear.index, len(linear.lower) + rows)),
        np.concatenate((linear.cols, cols)),
        np.concatenate((linear.coefs, coefs)),
        np.concatenate((linear.const, constants)),
        np.concatenate((linear.lower, [lo for _, _, lo, _ in extra])),
        np.concatenate((linear.upper, [hi for _, _, _, hi in extra])),
    )


def _contradiction(linear: Triplets, lower: np.ndarray, upper: np.ndarray, some: np.ndarray) -> str:
    """Return the name of a violated row without free variables, or ""."""
    with np.errstate(invalid="ignore"):
        scale = 1e-8 * (1.0 + np.abs(np.where(np.isfinite(linear.lower), linear.lower, 0.0)))
        scale += 1e-8 * np.abs(np.where(np.isfinite(linear.upper), linear.upper, 0.0))
    false = np.flatnonzero(~some & ((lower > scale) | (upper < -scale)))
    return label(linear.owners[false[0]].owner) if len(false) else ""


def _quadratic(
    quad: tuple | None, squares: list[Affine], q: np.ndarray, size: int
) -> tuple[sp.csc_matrix, np.ndarray, float, list[Affine]]:
    """Return P, q and a constant for ``x'Qx + sum of squares``, and the squares that should be auxiliary variables.

    Expanded, p squares of k variables each need up to k^2 / 2 entries in P; as rows ``y = Fx + g`` they need p k.
    """
    i, j, v = quad if quad is not None else (np.empty(0, dtype=np.intp),) * 2 + (np.empty(0),)
    rows, cols, data = [np.minimum(i, j)], [np.maximum(i, j)], [np.where(i == j, 2.0 * v, v)]
    const, long = 0.0, []
    if squares:
        f_rows, f_cols, f_coefs, g = stacked(squares)
        factor = sp.csr_matrix((f_coefs, (f_rows, f_cols)), shape=(len(squares), size))
        product = None
        if float(sum(len(s.cols) ** 2 for s in squares)) <= 4e7:
            product = sp.triu(factor.T @ factor).tocoo()
        if product is None or product.nnz > 2 * (factor.nnz + len(squares)) + 100:
            long = squares
            ys = size + np.arange(len(squares))
            rows.append(ys)
            cols.append(ys)
            data.append(np.full(len(squares), 2.0))
            size += len(squares)
        else:
            rows.append(product.row)
            cols.append(product.col)
            data.append(2.0 * product.data)
            q = q + 2.0 * (factor.T @ g)
            const = float(g @ g)
    triplets = (np.concatenate(data), (np.concatenate(rows), np.concatenate(cols)))
    return sp.csc_matrix(triplets, shape=(size, size)), q, const, long
