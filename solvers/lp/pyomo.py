"""Linear programs solved by any Pyomo solver with LP multipliers, and the choice between these and ``HighsLP``.

Measured on one core, branch-and-cut on 100 binaries with 440 dense cuts, in nodes per second: ``HighsLP`` 167,
``PyomoLP`` with highs 88, gurobi 75, clarabel 8. The LPs alone, with 100 binaries and 200 dense cuts, one of which is
exchanged at every fourth node: 1.1 ms per node with ``HighsLP``, 4.2 with highs, 5.1 with gurobi, 41 with clarabel, 140
with glpk, which is a program that is started for each LP. Interior points (clarabel) are not vertices. More variables
may be fractional and the trees larger, but the bounds are valid, because they are computed from multipliers.

Polishing of multipliers
    Some solvers print multipliers with seven or eight digits. A reduced cost of 0 is then returned as 1e-8 with either
    sign. On a column without a bound on that side, weak duality turns it into a bound of minus infinity. The reduced
    costs that should be 0 are far below the terms of which they are the sum. The smallest change of the nonzero
    multipliers makes all of them 0: A_J' (p + dp) = c_J.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy import sparse
from scipy.sparse.linalg import lsqr

from solvers.errors import SolverError
from solvers.interfaces.registry import SOLVERS, SolverSpec, check_options, names, require
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.lp.dual import DualLP, prefers_dual
from solvers.lp.highs import LP_TOLERANCE, HighsLP, LpAnswer, LpStatus
from solvers.options import SolverObject
from solvers.result import SolutionStatus, StopReason

SLACK = 1e-6  # relative to the size of a row: the distance of interior points from binding rows
NEEDED = C.LP | C.LP_DUALS

logger = logging.getLogger("solvers")


def linear_program(
    solver: str | SolverObject,
    cost: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    options: SolveOptions | None = None,
    tolerance: float = LP_TOLERANCE,
    rows: tuple[sparse.csr_matrix, np.ndarray, np.ndarray] | None = None,
    stay: bool = False,
) -> LinearProgram:
    """Return min cost.x over bounds: ``HighsLP`` or ``DualLP`` for "highs", otherwise ``PyomoLP`` of the solver.

    - ``options``: seed, log and the options of the solver.
    - ``tolerance``: of rows and reduced costs, for HiGHS; other solvers keep their own.
    - ``rows``: matrix and both sides of the first rows.
    - ``stay``: True if these rows do not change. HiGHS then solves the dual if that is the smaller program.

    Raises SolverError and OptionError as ``require_lp_solver`` does.
    """
    options = SolveOptions() if options is None else options
    spec, seed = require_lp_solver(solver, options.own), options.seed or 0
    lp: LinearProgram
    if isinstance(solver, str) and solver == "highs":
        make = DualLP if stay and rows is not None and prefers_dual(rows[0]) else HighsLP
        lp = make(cost, lower, upper, seed=seed, tolerance=tolerance, options=options.own, show=options.tee)
    else:
        lp = PyomoLP(spec, replace(options, seed=seed, threads=1), cost, lower, upper)
    if rows is not None:
        lp.add_rows(*rows)
    return lp


def require_lp_solver(solver: str | SolverObject, options: Mapping[str, Any] | None = None) -> SolverSpec:
    """Return the entry of an installed solver that tree search and cut loops may use.

    Raises SolverError if it is unknown, not installed, without LP multipliers, or unable to prove that an LP is
    infeasible: a search would then prune nodes without a proof. Raises OptionError if it does not have one of the
    options and this is known before it runs.
    """
    spec = require(solver, NEEDED)
    if spec.local:
        able = ", ".join(n for n in names(NEEDED) if not SOLVERS[n].local)
        raise SolverError(
            f'Solver "{spec.name}" is local and does not prove that an LP is infeasible. '
            f"Installed solvers that do: {able}."
        )
    check_options(spec, dict(options or {}))
    return spec


class PyomoLP:
    """Linear program in a Pyomo model, solved by a solver with a name.

    Reduced costs are computed from the multipliers, and slack rows are found by their activity. No basis is needed.
    ``integer``: positions of the integer columns.
    """

    def __init__(
        self,
        spec: SolverSpec,
        options: SolveOptions,
        cost: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        integer: Sequence[int] | np.ndarray = (),
    ) -> None:
        self._spec, self._options = spec, options
        self._runner = Runner(spec, options)
        self.columns = len(cost)
        model = self._model = pyo.ConcreteModel()
        model.x = pyo.Var(range(self.columns))
        model.rows = pyo.Constraint(pyo.Any)
        model.cost = pyo.Objective(expr=0.0)
        self._x = list(model.x.values())
        for k in integer:
            self._x[k].domain = pyo.Integers
        self._lower, self._upper = np.full(self.columns, -np.inf), np.full(self.columns, np.inf)
        self._matrix = sparse.csr_matrix((0, self.columns))
        self._sides = np.empty((0, 2))
        self._keys: list[int] = []  # indices of the rows on the model, by position
        self._next_key = 0
        self._point: np.ndarray | None = None  # the last optimum
        self.set_cost(cost)
        self.set_bounds(np.arange(self.columns), lower, upper)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self._keys)

    def set_cost(self, cost: np.ndarray) -> None:
        """Replace the objective."""
        self._cost = np.asarray(cost, dtype=float).copy()
        used = np.flatnonzero(self._cost)
        self._model.cost.set_value(self._expression(used, self._cost[used]))

    def add_rows(self, matrix: Any, lower: np.ndarray, upper: np.ndarray) -> None:
        """Add rows ``lower <= A x <= upper``; A of shape (rows, columns), dense or CSR."""
        a = sparse.csr_matrix(matrix, dtype=float, copy=True)  # do not change the arrays of the caller
        a.eliminate_zeros()
        sides = np.column_stack([np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)])
        first = self.rows
        self._matrix = sparse.vstack([self._matrix, a], format="csr")
        self._sides = np.vstack([self._sides, sides])
        self._keys += range(self._next_key, self._next_key + len(sides))
        self._next_key += len(sides)
        for k in range(first, self.rows):
            self._write(k)

    def _write(self, k: int) -> None:
        """Add a row to the model.

        Pyomo has no rows without variables or without sides: only ``_contradiction`` reads those.
        """
        here = slice(self._matrix.indptr[k], self._matrix.indptr[k + 1])
        low, up = self._sides[k].tolist()
        if here.start < here.stop and low <= up and (np.isfinite(low) or np.isfinite(up)):
            body = self._expression(self._matrix.indices[here], self._matrix.data[here])
            finite = (low if np.isfinite(low) else None, body, up if np.isfinite(up) else None)
            self._model.rows[self._keys[k]] = (body, low) if low == up else finite

    def set_sides(self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace both sides of some rows, by position; each row once."""
        rows = np.asarray(rows, dtype=int)
        sides = np.column_stack([np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)])
        for k, new in zip(rows.tolist(), sides, strict=True):
            if np.array_equal(self._sides[k], new):
                continue
            self._sides[k] = new
            if self._keys[k] in self._model.rows:
                del self._model.rows[self._keys[k]]
            self._write(k)

    def delete_rows(self, rows: np.ndarray) -> None:
        """Delete rows by position; later rows move up."""
        if not len(rows):
            return
        kept = np.setdiff1d(np.arange(self.rows), rows)
        for k in np.setdiff1d(np.arange(self.rows), kept).tolist():
            if self._keys[k] in self._model.rows:
                del self._model.rows[self._keys[k]]
        self._keys = [self._keys[k] for k in kept]
        self._matrix, self._sides = self._matrix[kept], self._sides[kept]

    def set_bounds(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace bounds of some columns."""
        columns = np.asarray(columns, dtype=int)
        # A persistent solver takes every bound that was set for a changed one.
        changed = columns[(self._lower[columns] != lower) | (self._upper[columns] != upper)]
        self._lower[columns], self._upper[columns] = lower, upper
        for j in changed.tolist():
            low, up = float(self._lower[j]), float(self._upper[j])
            self._x[j].setlb(low if np.isfinite(low) else None)
            self._x[j].setub(up if np.isfinite(up) else None)

    def solve(self, time_limit: float | None = None) -> LpAnswer:
        """Solve from the last basis, if the solver is persistent.

        Raises SolverError with the message of the solver if it fails before the first optimum. After that, the status
        of a failure is ``FAILED``.
        """
        if self._contradiction():
            return LpAnswer.without_point(LpStatus.INFEASIBLE)
        end = None if time_limit is None else time.perf_counter() + time_limit
        # Solvers return no value for a column without cost and rows.
        for v, low, up in zip(self._x, self._lower.tolist(), self._upper.tolist(), strict=True):
            v.set_value(min(max(0.0, low), up), skip_validation=True)
        rows = dict(self._model.rows.items())
        status = LpStatus.OPTIMAL
        duals: dict[Any, float] = {}
        if rows or np.any(self._cost):  # HiGHS reports a model without rows and costs as empty
            status, duals = self._run(end, list(rows.values()))
            if status is LpStatus.FAILED:  # once more from scratch
                self._runner = Runner(self._spec, self._options)
                status, duals = self._run(end, list(rows.values()))
        if status is not LpStatus.OPTIMAL:
            return LpAnswer.without_point(status)
        point = np.array([v.value for v in self._x], dtype=float)
        multipliers = np.array([duals.get(rows.get(key), 0.0) for key in self._keys])
        multipliers = polished(self._matrix, self._cost, multipliers)
        self._point = point
        reduced_costs = self._cost - self._matrix.T @ multipliers
        return LpAnswer(status, float(self._cost @ point), point, reduced_costs, multipliers)

    def slack_rows(self) -> np.ndarray:
        """Return a mask of the rows that are strictly between their sides at the last optimum."""
        if self._point is None:
            return np.zeros(self.rows, dtype=bool)
        activity = self._matrix @ self._point
        margin = SLACK * (1.0 + abs(self._matrix) @ np.abs(self._point))
        return (activity > self._sides[:, 0] + margin) & (activity < self._sides[:, 1] - margin)

    def _run(self, end: float | None, rows: list[Any]) -> tuple[LpStatus, dict[Any, float]]:
        """Return the status and the multipliers."""
        try:
            answer = self._answer(end, rows)
            if not answer.undecided:
                return _meaning(answer), answer.duals
            self._model.cost.set_value(0.0)  # with a point the LP is unbounded, without one infeasible
            try:
                status = _meaning(self._answer(end, []))
            finally:
                self.set_cost(self._cost)
            return LpStatus.UNBOUNDED if status is LpStatus.OPTIMAL else status, {}
        except SolverError as error:
            if self._point is None:
                raise
            logger.warning("An LP was not solved: %s", error)
            return LpStatus.FAILED, {}

    def _answer(self, end: float | None, rows: list[Any]) -> Answer:
        left = None if end is None else max(0.0, end - time.perf_counter())
        answer = self._runner.solve(self._model, time_limit=left, duals=rows)
        if answer.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt  # the solver has caught it
        return answer

    def _contradiction(self) -> bool:
        """Return True if bounds or sides cross, or 0 violates a row without coefficients: Pyomo's writers fail then."""
        empty = np.diff(self._matrix.indptr) == 0
        low, up = self._sides.T
        crossed = bool(np.any(low > up) or np.any(self._lower > self._upper))
        return crossed or bool(np.any(empty & ((low > SLACK) | (up < -SLACK))))

    def _expression(self, columns: np.ndarray, coefficients: np.ndarray) -> Any:
        if not len(columns):
            return 0.0
        return LinearExpression(
            constant=0.0, linear_coefs=coefficients.tolist(), linear_vars=[self._x[j] for j in columns.tolist()]
        )


# min c.x over rows and bounds; the classes have the same methods and keep the basis between solves if the solver can.
LinearProgram = HighsLP | DualLP | PyomoLP


def _meaning(answer: Answer) -> LpStatus:
    if answer.status is SolutionStatus.OPTIMAL and answer.has_point:
        return LpStatus.OPTIMAL
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT):
        return LpStatus.LIMIT
    proven = {SolutionStatus.INFEASIBLE: LpStatus.INFEASIBLE, SolutionStatus.UNBOUNDED: LpStatus.UNBOUNDED}
    return proven.get(answer.status, LpStatus.FAILED)


DIGITS = 1e-6  # relative: smaller reduced costs are 0 but for the printed digits
EXACT = 1e-12  # relative: smaller reduced costs are rounding errors and need no polishing


def polished(matrix: sparse.csr_matrix, cost: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    """Return multipliers (rows,) for which reduced costs that are 0 up to printed digits are 0 (see the module)."""
    d = cost - matrix.T @ multipliers
    size = np.abs(cost) + abs(matrix).T @ np.abs(multipliers)
    basic = np.abs(d) <= DIGITS * size
    rows = np.flatnonzero(multipliers)
    if not np.any(np.abs(d[basic]) > EXACT * size[basic]) or not len(rows):
        return multipliers
    change = lsqr(matrix[rows][:, basic].T, d[basic], atol=1e-15, btol=1e-15)[0]
    better = multipliers.copy()
    better[rows] += change
    return multipliers if np.any(better * multipliers < 0.0) else better  # unless a sign changes
