r"""Convex quadratic and conic blocks of a subproblem: one cone program for all blocks, and cuts from its multipliers.

The blocks are written in Clarabel's standard form (``solvers.clarabel.program``). Over the columns y of the blocks and
the complicating variables x,

    q(x) = min 1/2 y'Py + c.y   s.t.  A y + B x + s = b,  s in K,  y in [y_lower, y_upper]

with K a product of zero cones, nonnegative cones and second-order cones, and of exponential and power cones for
functions that are not quadratic (``model.graph_form``). Only b - B x changes from point to point.

**Cut.** Let y-bar be any point, z any vector of the dual cone K*, and r = P y-bar + c + A'z. For all y, x in the rows
z.(A y + B x - b) = -z.s <= 0, and 1/2 y'Py >= y-bar'P y - 1/2 y-bar'P y-bar because P is positive semidefinite. So

    q(x) >= -1/2 y-bar'P y-bar - b.z + (B'z).x + sum_j min { r_j y_j : y_j in its bounds }

for every x: weak duality. The cut is valid for inexact multipliers, which are moved into K* first, and it is tight at
x-bar if they are optimal there. Bounds of y are implied ones too. If r_j has the sign of an infinite bound, multipliers
of linear rows are moved towards 0 (``row_cut.dual_feasible``). What is left is an error of the solver if it is small,
and it counts for steps up to ten times the size of y-bar_j. Otherwise the cut is worthless.

**Dual cones.** Multipliers are moved into K* by the entry that has the least effect: the first one of a second-order
cone, the second one of the others, which is mostly that of a constant. For s = (s1, s2, s3) in the exponential cone
``s2 exp(s1 / s2) <= s3`` and multipliers u < 0, v, w > 0, with t = s1 / s2,

    u s1 + v s2 + w s3 >= s2 (u t + v + w exp(t)) >= s2 (v - u (1 + log(w / -u))),

because exp(t) = -u / w at the least t. So v >= u (1 + log(w / -u)) is sufficient; with u = 0, v, w >= 0 is. This is the
tangent of the exponential at t: a cut of such cones is a cut of tangents at the point of the multipliers. For the power
cone ``s1^p s2^(1 - p) >= |s3|``, by the inequality of the arithmetic and the geometric mean, u s1 + v s2 >= (u / p)^p
(v / (1 - p))^(1 - p) s1^p s2^(1 - p), so that v >= (1 - p) (|w| (p / u)^p)^(1 / (1 - p)) is sufficient.

**Feasibility cuts** are cuts of the distance from feasibility, min { |z - x| : the rows at z, z in the bounds of x },
which is a cone program of the same form (``elastic``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from scipy import sparse
from scipy.sparse import csgraph

from solvers.clarabel.engine import Ending, Engine, settings_of
from solvers.clarabel.program import Program, StandardForm
from solvers.clarabel.rows import ConicModel
from solvers.drivers.benders.block_lp import BlockSolution
from solvers.drivers.benders.block_rows import BlockCuts
from solvers.drivers.benders.blocks import SubBlock, integers, whole_model
from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError
from solvers.facts.row_cut import dual_feasible
from solvers.lp.highs import LpStatus
from solvers.model.function import is_linear
from solvers.model.graph_form import EXPONENTIAL, POWER, GraphForm
from solvers.model.linear import LinearRows
from solvers.values import bounds_of

ROUNDS = 5  # of the propagation of bounds
INACCURATE = 1e-7  # relative size of a gradient that is an error of the solver
REACH = 10.0  # length of a step along a column without a bound, relative to its value
CLOSE = 1e-6  # relative: violation and gap of a point without the status "Solved" that is accepted
LOOSER = (1e-6, 1e-5)  # tolerances if the solver is not accurate, or its cuts are steep
LARGEST = 700.0  # exponent of the largest number
STEEP = 1e7  # slope of a cut, relative to the value: at the apex of a cone it grows with the accuracy
KNOWN = {"PrimalInfeasible": LpStatus.INFEASIBLE, "Unbounded": LpStatus.UNBOUNDED, "MaxTime": LpStatus.LIMIT}


class LinearPart(NamedTuple):
    """Positions of the linear rows of blocks, and these rows at x = 0."""

    where: np.ndarray
    rows: LinearRows


@dataclass(frozen=True)
class BlockCones:
    """Blocks in standard form, as in the module.

    - ``quadratic``: P, symmetric; ``cost``; ``matrix``: A; ``coupling``: B; ``side``: b; ``cones``: kinds and sizes.
    - ``bound_rows``: mask of the rows of A that are bounds of y.
    - ``row_block``, ``column_block``: number of the block of each row and column.
    - ``places``: position of each column among the variables of the blocks, -1 for auxiliary columns.
    - ``units``: the unit of each column in that of its variable.
    - ``constants``: constant terms of the objectives of the blocks. ``contradiction``: row that no point satisfies.
    """

    quadratic: Any
    cost: np.ndarray
    matrix: Any
    coupling: Any
    side: np.ndarray
    cones: list[tuple[str, int]]
    bound_rows: np.ndarray
    y_lower: np.ndarray
    y_upper: np.ndarray
    row_block: np.ndarray
    column_block: np.ndarray
    places: np.ndarray
    units: np.ndarray
    constants: np.ndarray
    contradiction: str = ""

    @classmethod
    def of(cls, whole: pyo.ConcreteModel, blocks: Sequence[SubBlock], complicating: Sequence[Any]) -> BlockCones:
        """Return the blocks of the model ``whole``, in which complicating variables are relaxed.

        Raises ModelError if a row or the objective is not proven to be convex.
        """
        model = ConicModel(relaxed=True)
        try:
            model.compile(whole)
        except ModelError:  # not quadratic
            graph = GraphForm(whole)
            model.compile(graph.model, graph.cones)
        program = Program(model)
        inside = {id(v): k for k, v in enumerate(v for block in blocks for v in block.variables)}
        owner = [b for b, block in enumerate(blocks) for _ in block.variables]
        first = {id(v): k for k, v in enumerate(complicating)}
        held = [model.walker.variables[k] for k in program.free.tolist()]
        auxiliary = program.A.shape[1] - len(held)
        place = np.array([inside.get(id(v), -1) for v in held] + [-1] * auxiliary, dtype=int)
        of_x = np.array([id(v) in first for v in held] + [False] * auxiliary, dtype=bool)
        x = np.array([first[id(v)] for v in held if id(v) in first], dtype=int)
        bound_rows, own_rows = np.zeros(len(program.b), dtype=bool), np.ones(len(program.b), dtype=bool)
        for at, _ in program.bounds:
            bound_rows[at[at >= 0]] = True
            own_rows[at[(at >= 0) & of_x[: len(held)]]] = False  # bounds of x
        A = sparse.csr_array(program.A)[own_rows]
        spread = sparse.csr_array((np.ones(len(x)), (np.arange(len(x)), x)), shape=(len(x), len(complicating)))
        of_y = ~of_x
        cones, start = [], 0
        for kind, size in program.cones:
            left = int(own_rows[start : start + size].sum())
            cones += [(kind, left)] if left else []
            start += size
        low, up = np.array([bounds_of(v) for v in held]).reshape(-1, 2).T
        free = np.full(auxiliary, np.inf)
        P = sparse.csr_array(program.full_quadratic())[of_y][:, of_y]
        result = cls(
            P,
            program.q[of_y],
            sparse.csr_array(A[:, of_y]),
            sparse.csr_array(A[:, of_x] @ spread),
            program.b[own_rows],
            cones,
            bound_rows[own_rows],
            np.concatenate([low, -free])[of_y],
            np.concatenate([up, free])[of_y],
            np.zeros(int(own_rows.sum()), dtype=int),
            np.zeros(int(of_y.sum()), dtype=int),
            place[of_y],
            np.ones(int(of_y.sum())),
            np.zeros(max(1, len(blocks))),
            program.contradiction,
        )
        result.constants[0] = program.const
        return result._with_owners(np.array(owner, dtype=int))

    def _with_owners(self, owner: np.ndarray) -> BlockCones:
        """Return the same with the blocks of rows and columns; ``owner``: the block of each variable."""
        rows, columns = self.matrix.shape
        tails = np.flatnonzero(~self.linear)  # each is connected with the first row of its cone
        tied = sparse.csr_array((np.ones(len(tails)), (tails, self.first[tails])), shape=(rows, rows))
        graph = sparse.block_array([[tied, abs(self.matrix)], [abs(self.matrix).T, abs(self.quadratic)]], format="csr")
        _, label = csgraph.connected_components(graph, directed=False)
        block = np.zeros(int(label.max(initial=-1)) + 1, dtype=int)
        known = self.places >= 0
        block[label[rows : rows + columns][known]] = owner[self.places[known]]
        return replace(self, row_block=block[label[:rows]], column_block=block[label[rows : rows + columns]])

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.constants)

    @cached_property
    def kinds(self) -> np.ndarray:
        """The kind of the cone of each row."""
        return np.repeat(np.array([kind for kind, _ in self.cones], dtype=str), [size for _, size in self.cones])

    @cached_property
    def first(self) -> np.ndarray:
        """The first row of the cone of each row."""
        sizes = np.array([size for _, size in self.cones], dtype=int)
        return np.repeat(np.cumsum(sizes) - sizes, sizes)

    @cached_property
    def heads(self) -> np.ndarray:
        """Mask of the first rows of second-order cones."""
        return np.asarray((self.kinds == "second-order") & (self.first == np.arange(len(self.kinds))))

    @cached_property
    def tails(self) -> np.ndarray:
        """Mask of the other rows of second-order cones."""
        return np.asarray((self.kinds == "second-order") & ~self.heads)

    @cached_property
    def linear(self) -> np.ndarray:
        """Mask of the rows of zero and nonnegative cones."""
        return np.isin(self.kinds, ("zero", "nonnegative"))

    def _first_of(self, kind: str) -> np.ndarray:
        """Return the first rows of the cones of a kind, without the exponent of a power."""
        of_kind = np.array([name.split()[0] == kind for name in self.kinds.tolist()], dtype=bool)
        return np.flatnonzero(of_kind & (self.first == np.arange(len(self.kinds))))

    @cached_property
    def exponentials(self) -> np.ndarray:
        """The first rows of exponential cones."""
        return self._first_of(EXPONENTIAL)

    @cached_property
    def powers(self) -> tuple[np.ndarray, np.ndarray]:
        """The first rows of power cones, and their exponents."""
        where = self._first_of(POWER)
        return where, np.array([float(name.split()[1]) for name in self.kinds[where].tolist()])

    def _norms(self, s: np.ndarray) -> np.ndarray:
        """Return the norm of the other entries for the first row of each second-order cone."""
        squares = np.bincount(self.first[self.tails], weights=s[self.tails] ** 2, minlength=len(s))
        return np.asarray(np.sqrt(squares[self.heads]))

    def values(self, y: np.ndarray) -> np.ndarray:
        """Return the objectives of the blocks at values of their columns."""
        each = y * (self.cost + 0.5 * (self.quadratic @ y))
        return np.asarray(self.constants + np.bincount(self.column_block, weights=each, minlength=self.count))

    def in_dual_cone(self, z: np.ndarray) -> np.ndarray:
        """Return multipliers moved into the dual cone; those of bounds are 0, because the cut uses the bounds."""
        z = np.where(self.bound_rows, 0.0, z)
        z = np.where(self.kinds == "nonnegative", np.maximum(z, 0.0), z)
        z[self.heads] = np.maximum(z[self.heads], self._norms(z))
        k = self.exponentials
        u, w = np.minimum(z[k], 0.0), np.maximum(z[k + 2], 0.0)
        u = np.where(w > 0.0, u, 0.0)
        inside = u < 0.0
        ratio = np.divide(w, -u, out=np.ones(len(k)), where=inside)
        z[k], z[k + 1], z[k + 2] = u, np.maximum(z[k + 1], u * (1.0 + np.log(ratio)) * inside), w
        k, p = self.powers
        u = np.maximum(z[k], 0.0)
        w = np.where(u > 0.0, z[k + 2], 0.0)
        share = np.divide(p, u, out=np.zeros(len(k)), where=u > 0.0)
        least = (1.0 - p) * (np.abs(w) * share**p) ** (1.0 / (1.0 - p))
        z[k], z[k + 1], z[k + 2] = u, np.maximum(z[k + 1], least), w
        return z

    def cuts(self, y: np.ndarray, z: np.ndarray) -> BlockCuts:
        """Return the cuts of a point and of multipliers by weak duality; a constant is -inf if they prove no bound."""
        bent = self.quadratic @ y
        z = self._repaired(self.in_dual_cone(z), self.cost + bent)
        r = bent + self.cost + self.matrix.T @ z
        size = 1.0 + np.abs(bent) + np.abs(self.cost) + abs(self.matrix).T @ np.abs(z)
        bound = np.where(r > 0, self.y_lower, self.y_upper)
        finite = np.isfinite(bound)
        without = np.where(np.abs(r) > INACCURATE * size, -np.inf, -REACH * np.abs(r * y))
        at = np.where(finite, r * np.where(finite, bound, 0.0), without)
        constants = self.constants - np.bincount(self.row_block, weights=z * self.side, minlength=self.count)
        constants += np.bincount(self.column_block, weights=at - 0.5 * y * bent, minlength=self.count)
        owner = sparse.csr_array((z, (self.row_block, np.arange(len(z)))), shape=(self.count, len(z)))
        return BlockCuts(constants, sparse.csr_array(owner @ self.coupling))

    def _repaired(self, z: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return multipliers whose gradients have the right signs at infinite bounds, as far as linear rows allow."""
        linear, open_ends = self._linear, np.flatnonzero(np.isinf(self.y_lower) | np.isinf(self.y_upper))
        if not len(open_ends):
            return z
        curved = np.ones(len(z), dtype=bool)
        curved[linear.where] = False
        program = replace(linear.rows, cost=slope + self.matrix.T @ np.where(curved, z, 0.0))
        repaired = z.copy()
        repaired[linear.where] = -dual_feasible(program, -z[linear.where], open_ends)
        return repaired

    @cached_property
    def _linear(self) -> LinearPart:
        """The linear rows."""
        where = np.flatnonzero(self.linear & ~self.bound_rows)
        side = self.side[where]
        lower = np.where(self.kinds[where] == "zero", side, -np.inf)
        matrix = sparse.csr_array(self.matrix[where])
        return LinearPart(where, LinearRows([], [], matrix, lower, side, self.y_lower, self.y_upper, self.cost, 0.0))

    def outside(self, s: np.ndarray) -> float:
        """Return the largest distance of a part of s from its cone."""
        missed = np.where(self.kinds == "zero", np.abs(s), -s)
        missed[self.heads] += self._norms(s)
        k, v = self.exponentials, np.maximum(s[self.exponentials + 1], np.finfo(float).tiny)
        missed[k] = v * np.exp(np.clip(s[k] / v, -LARGEST, LARGEST)) - s[k + 2]
        k, p = self.powers
        missed[k + 2] = np.abs(s[k + 2]) - np.maximum(s[k], 0.0) ** p * np.maximum(s[k + 1], 0.0) ** (1.0 - p)
        return float(missed[~self.tails].max(initial=0.0))

    def with_implied_bounds(self, x_lower: np.ndarray, x_upper: np.ndarray) -> BlockCones:
        """Return the same with bounds of y that the rows and the bounds of x imply.

        An entry of a second-order cone is at most as large as the largest first entry.
        """
        low, up = self.y_lower.copy(), self.y_upper.copy()
        rows = sparse.coo_array(sparse.hstack([self.matrix, self.coupling]))
        rows.eliminate_zeros()
        row, column, a = rows.row, rows.col, rows.data
        own = column < len(low)
        rows_count, zero = len(self.side), self.kinds == "zero"
        for _ in range(ROUNDS):
            at_low, at_up = np.concatenate([low, x_lower])[column], np.concatenate([up, x_upper])[column]
            least, most = np.where(a > 0, a * at_low, a * at_up), np.where(a > 0, a * at_up, a * at_low)
            head = self.side - np.bincount(row, weights=least, minlength=rows_count)  # largest value of s
            radius = np.where(self.tails, np.maximum(head, 0.0)[self.first], 0.0)
            radius[[*self.exponentials, *(self.powers[0] + 2)]] = np.inf  # may be negative
            above = _ends(row, a, self.side + radius, least)
            below = _ends(row, -a, np.where(self.tails | zero, radius - self.side, np.inf), -most)
            for end, slope in ((above, a), (below, -a)):
                good = own & np.isfinite(end)
                np.minimum.at(up, column[good & (slope > 0)], end[good & (slope > 0)])
                np.maximum.at(low, column[good & (slope < 0)], end[good & (slope < 0)])
        crossed = low > up
        low[crossed], up[crossed] = self.y_lower[crossed], self.y_upper[crossed]
        return replace(self, y_lower=low, y_upper=up)

    def in_units_of_bounds(self) -> BlockCones:
        """Return the same with columns in units of their largest values, which are powers of two.

        The solver leaves an error of 1e-9 in each gradient r_j, which counts for steps of the size of the bounds.
        """
        size = np.maximum(np.abs(self.y_lower), np.abs(self.y_upper))
        known = np.isfinite(size) & (size > 0.0)
        unit = 2.0 ** np.round(np.log2(np.where(known, size, 1.0)))
        scale = sparse.diags_array(unit, format="csr")
        return replace(
            self,
            quadratic=sparse.csr_array(scale @ self.quadratic @ scale),
            cost=self.cost * unit,
            matrix=sparse.csr_array(self.matrix @ scale),
            y_lower=self.y_lower / unit,
            y_upper=self.y_upper / unit,
            units=self.units * unit,
        )

    def elastic(self, x_lower: np.ndarray, x_upper: np.ndarray) -> BlockCones:
        """Return the blocks of the distances from feasibility, as in the module.

        Each block has a copy of the complicating variables in its rows; copies and distances follow its own columns.
        """
        owner, x = self.coupling.tocoo(), self.coupling.shape[1]
        copies, place = np.unique(self.row_block[owner.row] * x + owner.col, return_inverse=True)
        block, k = copies // max(x, 1), copies % max(x, 1)
        count, rows, columns = len(k), len(self.side), len(self.cost)
        at_copy = sparse.csr_array((owner.data, (owner.row, place)), shape=(rows, count))
        unit, each = sparse.eye_array(count, format="csr"), np.arange(count)
        low, up = x_lower[k], x_upper[k]
        has_low, has_up, has_range = np.isfinite(low), np.isfinite(up), np.isfinite(low) & np.isfinite(up)
        matrix = sparse.block_array(
            [
                [self.matrix, at_copy, None, None],
                [sparse.csr_array((count, columns)), unit, unit, -unit],
                [None, -unit[has_low], None, None],
                [None, unit[has_up], None, None],
                [None, None, -unit, None],
                [None, None, None, -unit],
            ],
            format="csr",
        )
        picked = sparse.csr_array((-np.ones(count), (each, k)), shape=(count, x))
        nothing = sparse.csr_array((rows, x))
        bounds = int(has_low.sum() + has_up.sum()) + 2 * count
        most = np.where(has_range, up - low, np.inf)
        return replace(
            self,
            quadratic=sparse.csr_array((columns + 3 * count,) * 2),
            cost=np.concatenate([np.zeros(columns + count), np.ones(2 * count)]),
            matrix=matrix,
            coupling=sparse.vstack([nothing, picked, sparse.csr_array((bounds, x))], format="csr"),
            side=np.concatenate([self.side, np.zeros(count), -low[has_low], up[has_up], np.zeros(2 * count)]),
            cones=[*self.cones, *([("zero", count), ("nonnegative", bounds)] if count else [])],
            bound_rows=np.concatenate([self.bound_rows, np.zeros(count, dtype=bool), np.ones(bounds, dtype=bool)]),
            y_lower=np.concatenate([self.y_lower, low, np.zeros(2 * count)]),
            y_upper=np.concatenate([self.y_upper, up, most, most]),
            row_block=np.concatenate([self.row_block, block, block[has_low], block[has_up], block, block]),
            column_block=np.concatenate([self.column_block, block, block, block]),
            places=np.concatenate([self.places, np.full(3 * count, -1)]),
            units=np.concatenate([self.units, np.ones(3 * count)]),
            constants=np.zeros(self.count),
        )


def _ends(row: np.ndarray, a: np.ndarray, side: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return for each entry of rows ``sum a x <= side`` the bound of its x; ``least``: the least value of each term."""
    infinite = np.isinf(least)
    finite = np.where(infinite, 0.0, least)
    total = np.bincount(row, weights=finite, minlength=len(side))
    alone = np.bincount(row[infinite], minlength=len(side))[row] == infinite  # all other terms are finite
    return np.where(alone, (side[row] - total[row] + finite) / a, np.inf)


def conic_blocks(parts: SplitModel, blocks: Sequence[SubBlock]) -> BlockCones | None:
    """Return the blocks in standard form; None if all are linear, or one is not convex quadratic or has integers."""
    variables = [v for block in blocks for v in block.variables]
    every = [part for block in blocks for part in [*block.rows, *block.coupling, *block.terms]]
    if next(integers(variables, parts), "") or all(is_linear(getattr(part, "body", part)) for part in every):
        return None
    try:
        return BlockCones.of(whole_model(parts, blocks), blocks, parts.structure.complicating)
    except ModelError:  # ``Curves`` names the row or the term
        return None


class ConicProgram:
    """All blocks in one cone program, which keeps its factorisation pattern between points."""

    def __init__(
        self, cones: BlockCones, start: np.ndarray, x_bounds: tuple[np.ndarray, np.ndarray], options: dict[str, Any]
    ) -> None:
        self.rows, self._start, self._x_bounds, self._options = cones, start, x_bounds, options
        self._engine = Engine()
        self._P = sparse.csc_matrix(sparse.triu(cones.quadratic))
        self._A = sparse.csc_matrix(cones.matrix)
        self._distance: ConicProgram | None = None
        self._loose = (cones.kinds == "nonnegative") | cones.heads

    @property
    def distance(self) -> ConicProgram:
        """The program of the distances of the blocks from feasibility."""
        if self._distance is None:
            elastic = self.rows.elastic(*self._x_bounds)
            self._distance = ConicProgram(elastic, self._start, self._x_bounds, self._options)
        return self._distance

    def solve(self, point: np.ndarray, time_limit: float | None, room: float = 0.0) -> BlockSolution | LpStatus:
        """Solve at a point of the complicating variables; return a status if there is no optimum.

        ``room``: tolerance for violated inequalities. The cuts are those of the rows without this tolerance.
        """
        rows = self.rows
        side = rows.side - rows.coupling @ point
        form = StandardForm()
        form.P, form.q, form.A, form.cones = self._P, rows.cost, self._A, rows.cones
        form.b = side + np.where(self._loose, room * (1.0 + abs(rows.coupling).sum(axis=1)), 0.0) if room else side
        form.contradiction = rows.contradiction
        deadline = time.perf_counter() + (np.inf if time_limit is None else time_limit)
        found: BlockSolution | LpStatus = LpStatus.FAILED
        for accuracy in (None, *LOOSER):
            options = self._options if accuracy is None else {**self._options, "tolerance": accuracy}
            ending = self._engine.run(form, settings_of(options)[0], deadline)
            if ending.status in KNOWN:
                return KNOWN[ending.status] if found is LpStatus.FAILED else found
            answer = self._read(ending, point, form.b)
            if answer is not None:  # the first point, which is the most accurate, with cuts that are not steep
                found = replace(found, cuts=answer.cuts) if isinstance(found, BlockSolution) else answer
                steepest = np.abs(answer.cuts.slopes.data).max(initial=0.0)
                if steepest <= STEEP * (1.0 + np.abs(answer.values).max(initial=0.0)):
                    break
        return found

    def _read(self, ending: Ending, point: np.ndarray, side: np.ndarray) -> BlockSolution | None:
        """Return the solution if it is accurate; ``side``: of the rows at the point."""
        rows = self.rows
        if not ending.finite:
            return None
        y = np.clip(ending.x, rows.y_lower, rows.y_upper)
        values, cuts = rows.values(y), rows.cuts(ending.x, ending.z)
        if not np.all(np.isfinite(cuts.constants)):
            return None
        if not ending.solved:
            value, missed = float(values.sum()), rows.outside(side - self._A @ y)
            near = value - float(cuts.at(point).sum()) <= CLOSE * (1.0 + abs(value))
            if not near or missed > CLOSE * (1.0 + np.abs(y).max(initial=0.0)):
                return None
        return BlockSolution(self._variables(y), values, cuts)

    def _variables(self, y: np.ndarray) -> np.ndarray:
        """Return the values of the variables of the blocks for values of the columns."""
        values, known = self._start.copy(), self.rows.places >= 0
        values[self.rows.places[known]] = (y * self.rows.units)[known]
        return values
