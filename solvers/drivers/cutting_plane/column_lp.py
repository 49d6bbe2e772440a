"""The parts of a convex model, and the linear program of its cutting planes.

Linear rows are kept; curved rows and the objective are functions g(x) <= 0. The variables of the model are linear
functions of the columns of the linear program, to which rows are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.clarabel.rows import BoundProver
from solvers.errors import ModelError
from solvers.facts.row_cut import lagrangian_bound
from solvers.facts.separable import Cuts, stacked
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.interfaces.runner import SolveOptions
from solvers.lp.highs import FINEST, LpAnswer, LpStatus
from solvers.lp.pyomo import linear_program
from solvers.model.classes import single_objective, used_variables
from solvers.model.cone_function import ConeFunction
from solvers.model.function import SmoothFunction, is_linear
from solvers.model.linear import LinearRows, power_of_two, prover_of
from solvers.model_cache import cached
from solvers.options import SolverObject


class ConvexParts:
    """The active rows and the objective over the free variables. Raises ModelError if convexity is not proven.

    ``model``: pyo.ConcreteModel. ``rows``, ``variables``: by default all active rows, and all free variables of rows
    and objective. ``assume_convex``: assume that functions are convex if this is not proven and they are not quadratic.

    - ``linear``: LinearRows.
    - ``curved``: the other rows.
    - ``convex``: their functions, in the same order.
    - ``objective``: to be minimised; ``sign`` is -1 for a model that maximises.
    - ``assumed``: rows and terms that are convex by assumption.
    """

    def __init__(
        self,
        model: Any,
        rows: Sequence[Any] | None = None,
        variables: Sequence[Any] | None = None,
        *,
        assume_convex: bool = False,
    ) -> None:
        self._assume, self.assumed = assume_convex, list[str]()
        cache = cached(model)
        every = cache.rows if rows is None else rows
        held = {id(v): v for v in used_variables(cache) if not v.fixed}.values() if variables is None else variables
        self.variables, objective = list(held), single_objective(cache)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        linear: list[Any] = []
        self.curved: list[Any] = []
        for row in every:
            (linear if is_linear(row.body) else self.curved).append(row)
        self.linear = LinearRows.of(linear, self.variables, [], 1.0)
        self.convex = [self._row(row) for row in self.curved]
        self.objective = SmoothFunction(objective.expr, self.variables, self.sign)
        if len(self.objective.curved):
            self._prove(self.objective, f'Objective "{objective.name}"')

    def _row(self, row: Any) -> SmoothFunction | ConeFunction:
        """Return the function g of a nonlinear row g <= 0, which is another one for a cone."""
        function = SmoothFunction.of_row(row, self.variables)
        if function is None:
            raise ModelError(
                f'Row "{row.name}" is nonlinear with two sides, which is not convex: solve the model whole by name, '
                f"for example with {either(C.NONCONVEX)} (global), or {either(C.NLP)} (a local optimum)."
            )
        if function.quadratic is not None and not function.is_convex():
            cone = ConeFunction.of(function, self._prover)
            if cone is not None:
                return cone
        self._prove(function, function.name)
        return function

    @cached_property
    def _prover(self) -> BoundProver:
        """The prover of signs from linear rows and bounds."""
        return prover_of(self.linear)

    def _prove(self, function: SmoothFunction, name: str) -> None:
        """Raise ModelError for a function that is not convex, or not proven to be."""
        proven = function.is_convex(self._prover)
        if proven is False:
            raise ModelError(
                f"{name} is quadratic and not convex, nor a cone such as w^2 <= s t with s, t >= 0 by bounds or rows: "
                f"solve the model whole by name, for example with {either(C.NONCONVEX)} (global), or {either(C.NLP)} "
                "(a local optimum)."
            )
        if proven is None:
            if not self._assume:
                raise ModelError(
                    f"{name} is not quadratic, and its convexity is not proven here: pass assume_convex=True if you "
                    f"know it, or solve the model whole by name, for example with {either(C.NLP)} (a local optimum) "
                    f"or {either(C.MINLP)} (global)."
                )
            self.assumed.append(name)


LEVEL = 1024.0  # numbers within this factor of 1 need no scaling


def sized(size: float) -> float:
    """Return a power of two near the size of a row or column; 1 if the size is 0, infinite or needs no scaling."""
    return 1.0 if not 0 < size < np.inf or 1 / LEVEL <= size <= LEVEL else power_of_two(size)


def _row_units(matrix: sparse.csr_array) -> np.ndarray:
    """Return a power of two near the largest coefficient of each row."""
    size = abs(matrix).max(axis=1).toarray().ravel()
    return np.array([sized(x) for x in size.tolist()])


class ColumnLP:
    """The linear rows and bounds of x = lift z over columns z, and a column eta if the objective is curved.

    ``parts``: ConvexParts. ``lift``: sparse array of shape (variables, columns). ``lower``: bounds of the columns.
    """

    def __init__(
        self,
        parts: ConvexParts,
        lift: sparse.csr_array,
        lower: np.ndarray,
        *,
        lp_solver: str | SolverObject,
        options: SolveOptions,
    ) -> None:
        rows, objective, columns = parts.linear, parts.objective, lift.shape[1]
        self.lift, self.own = lift, columns  # columns without eta
        self.columns = columns + bool(len(objective.curved))
        eta = np.ones(self.columns - columns)
        self.lower, self.upper = np.concatenate([lower, -np.inf * eta]), np.full(self.columns, np.inf)
        bounded = []  # variables whose bounds are rows and not bounds of a column
        for k in range(lift.shape[0]):
            here = slice(lift.indptr[k], lift.indptr[k + 1])
            if here.stop - here.start == 1 and (f := lift.data[here.start]) > 0:
                j = lift.indices[here.start]
                self.lower[j] = max(self.lower[j], rows.x_lower[k] / f)
                self.upper[j] = min(self.upper[j], rows.x_upper[k] / f)
            elif np.isfinite(rows.x_lower[k]) or np.isfinite(rows.x_upper[k]):
                bounded.append(k)
        self.cost = np.concatenate([lift.T @ objective.linear, eta])
        self._rows: list[Cuts] = []
        self._lp = linear_program(lp_solver, self.cost, self.lower, self.upper, options=options, tolerance=FINEST)
        matrix = sparse.csr_array(rows.matrix @ lift)
        self._units = _row_units(matrix)
        self.add(Cuts(matrix, rows.lower, rows.upper))  # their multipliers come first
        self.add(Cuts(lift[bounded], rows.x_lower[bounded], rows.x_upper[bounded]))
        self.constant = objective.value(np.zeros(lift.shape[0])) if self.columns == columns else 0.0

    def x(self, point: np.ndarray) -> np.ndarray:
        """Return the variables at a point of the columns."""
        return np.asarray(self.lift @ point[: self.own])

    def add(self, cuts: Cuts) -> None:
        """Add rows over the columns, with or without eta's, in units in which their largest coefficient is near 1.

        Tangents of ``w^2 / s`` near s = 0 have coefficients above 1e15, which HiGHS does not accept.
        """
        if cuts.matrix.shape[0]:
            wide = self.wide(cuts)
            units = _row_units(wide.matrix)
            matrix = sparse.csr_matrix(sparse.diags_array(1.0 / units) @ wide.matrix)
            self._rows.append(Cuts(matrix, wide.lower / units, wide.upper / units))
            self._lp.add_rows(matrix, self._rows[-1].lower, self._rows[-1].upper)

    @property
    def rows(self) -> Cuts:
        """All rows so far, those of the model first, as the LP solver sees them."""
        if len(self._rows) != 1:
            self._rows = [stacked(self._rows, self.columns)]
        return self._rows[0]

    def wide(self, cuts: Cuts) -> Cuts:
        """Return rows over all columns; the coefficient of eta is 0 if it is missing."""
        narrow = sparse.csr_array(cuts.matrix)
        matrix = sparse.csr_array((narrow.data, narrow.indices, narrow.indptr), (narrow.shape[0], self.columns))
        return Cuts(matrix, cuts.lower, cuts.upper, cuts.violation)

    def over_columns(self, tangents: Sequence[tuple[np.ndarray, float]], *, eta: bool = False) -> Cuts:
        """Return the rows a.x <= b, or a.x - eta <= b, of pairs (a, b)."""
        matrix: Any = sparse.csr_array(np.array([a for a, _ in tangents]) @ self.lift)
        if eta:
            matrix = sparse.hstack([matrix, sparse.csr_array(np.full((len(tangents), 1), -1.0))], format="csr")
        return self.wide(Cuts(matrix, np.full(len(tangents), -np.inf), np.array([b for _, b in tangents])))

    def solve(self, time_limit: float | None) -> LpAnswer:
        """Solve over all rows so far; the first multipliers are those of the model's rows."""
        answer = self._lp.solve(time_limit)
        if answer.status is LpStatus.OPTIMAL:
            answer.multipliers[: len(self._units)] /= self._units
        return answer

    def bound(self, answer: LpAnswer) -> float:
        """Return the Lagrangian bound of an answer's multipliers; -inf if they prove none.

        The objective of the LP solver is no bound: it is exact to tolerances only, and HiGHS drops small coefficients.
        """
        rows, r = self.rows, answer.multipliers.copy()
        r[: len(self._units)] *= self._units
        matrix = sparse.csr_matrix(rows.matrix)
        program = LinearRows([], [], matrix, rows.lower, rows.upper, self.lower, self.upper, self.cost, self.constant)
        return lagrangian_bound(program, r)[0]

    @contextmanager
    def bounded(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Iterator[None]:
        """Replace the bounds of columns for a while."""
        before = self.lower, self.upper
        self.lower, self.upper = self.lower.copy(), self.upper.copy()
        self.lower[columns], self.upper[columns] = lower, upper
        self._lp.set_bounds(columns, lower, upper)
        try:
            yield
        finally:
            self.lower, self.upper = before
            self._lp.set_bounds(columns, self.lower[columns], self.upper[columns])

    def solve_in_box(self, size: float, time_limit: float | None) -> LpAnswer:
        """Solve with bounds at ``size`` in place of infinite bounds."""
        free = np.flatnonzero(np.isinf(self.lower) | np.isinf(self.upper))
        low = np.where(np.isinf(self.lower), np.minimum(-size, self.upper), self.lower)
        up = np.where(np.isinf(self.upper), np.maximum(size, self.lower), self.upper)
        with self.bounded(free, low[free], up[free]):
            return self._lp.solve(time_limit)
