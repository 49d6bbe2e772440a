"""Linear programs of tree search and cut loops in HiGHS: fixed columns, rows that are added and deleted, bounds.

``HighsLP`` calls highspy directly, which solves twice as many nodes per second as any Pyomo interface.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from solvers.errors import LargeNumbers, OptionError
from solvers.interfaces.highs import quiet_highs, run

LONG = 10_000  # non-zeros; a smaller LP takes milliseconds, and starting a thread 0.1 ms
INFINITY = highspy.kHighsInf
LP_TOLERANCE = 1e-7  # default tolerance of rows
FINEST = 1e-9  # tolerance of rows that a proof needs, the smallest that solvers accept
TURNS, FEWEST = 10, 1000  # most iterations: a multiple of rows and columns, and a minimum; LPs take a tenth of it
_CHOOSE, _DUAL, _PRIMAL = 0, 1, 4  # HiGHS' simplex_strategy
_RESERVED = {
    "solver": 'they use the simplex method, from the last basis; for interior points: lp_solver="clarabel"',
    "simplex_strategy": "it is chosen for each solve by the changes since the last one",
    "output_flag": 'give tee="lp"',
    "log_to_console": 'give tee="lp"',
}


class LpStatus(enum.Enum):
    """Outcome of an LP solve."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    LIMIT = "limit"
    UNBOUNDED = "unbounded"
    FAILED = "failed"


@dataclass(frozen=True)
class LpAnswer:
    """Status and, if optimal, objective, point and reduced costs (columns), multipliers (rows).

    Multipliers and reduced costs are derivatives of the optimum by sides and bounds: a multiplier is positive if the
    lower side binds, and negative if the upper side binds.
    """

    status: LpStatus
    objective: float
    point: np.ndarray
    reduced_costs: np.ndarray
    multipliers: np.ndarray

    @classmethod
    def without_point(cls, status: LpStatus) -> LpAnswer:
        """Return the answer of a solve that found no optimum."""
        return cls(status, np.nan, np.empty(0), np.empty(0), np.empty(0))


class HighsArrays:
    """Columns and rows of a program in highspy, with checked options."""

    def __init__(
        self, cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, options: Iterable[tuple[str, Any]]
    ) -> None:
        self.columns = len(cost)
        self._highs = quiet_highs()
        for option, value in options:
            if self._highs.setOptionValue(option, value) == highspy.HighsStatus.kError:
                raise OptionError(f"{option}={value!r} is not a value that HiGHS allows for this option.")
        self._highs.addVars(self.columns, _infinite(lower), _infinite(upper))
        self.set_cost(cost)

    def set_cost(self, cost: np.ndarray) -> None:
        """Replace the objective."""
        self._highs.changeColsCost(self.columns, np.arange(self.columns, dtype=np.int32), np.asarray(cost, dtype=float))

    def add_rows(self, matrix: Any, lower: np.ndarray, upper: np.ndarray) -> None:
        """Add rows ``lower <= A x <= upper``; A of shape (rows, columns), dense or CSR."""
        a = sparse.csr_matrix(matrix)
        status = self._highs.addRows(a.shape[0], _infinite(lower), _infinite(upper), *_entries(a))
        _refuse_large(status, a, "rows")

    def set_bounds(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace bounds of some columns."""
        columns = np.asarray(columns, dtype=np.int32)
        self._highs.changeColsBounds(len(columns), columns, _infinite(lower), _infinite(upper))


class HighsLP(HighsArrays):
    """Linear program in highspy: dual simplex, or the strategy that HiGHS chooses after a change of costs."""

    def __init__(
        self,
        cost: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        seed: int = 0,
        tolerance: float = LP_TOLERANCE,
        options: Mapping[str, Any] | None = None,
        show: bool = False,
    ) -> None:
        own = dict(options or {})
        for option, value in own.items():
            if option in _RESERVED:
                reason = _RESERVED[option]
                raise OptionError(f"{option}={value!r} is not allowed for the linear programs of a driver: {reason}.")
        defaults = {"presolve": "off", "solver": "simplex", "threads": 1, "parallel": "off", "random_seed": seed}
        defaults |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        super().__init__(cost, lower, upper, (defaults | own).items())
        if show:
            self._highs.setOptionValue("output_flag", True)
            self._highs.setOptionValue("log_to_console", True)  # passes the log to the callback
            self._highs.cbLogging.subscribe(lambda event: sys.stdout.write(event.message))
        self._limits_iterations = "simplex_iteration_limit" not in own
        self._new_cost = False
        self._refused = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._highs.getNumRow())

    def set_cost(self, cost: np.ndarray) -> None:
        """Replace the objective."""
        self._new_cost = True
        super().set_cost(cost)

    def add_columns(self, matrix: Any, cost: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Add columns; A of shape (rows, columns), dense or sparse. The last basis stays feasible, not optimal."""
        a = sparse.csc_matrix(matrix)
        cost, lower, upper = np.asarray(cost, dtype=float), _infinite(lower), _infinite(upper)
        status = self._highs.addCols(a.shape[1], cost, lower, upper, *_entries(a))
        _refuse_large(status, a, "columns")
        self.columns += a.shape[1]
        self._new_cost = True

    @property
    def iterations(self) -> int:
        """Simplex iterations of the last solve."""
        return int(self._highs.getInfo().simplex_iteration_count)

    def delete_rows(self, rows: np.ndarray) -> None:
        """Delete rows by position; later rows move up."""
        rows = np.unique(np.asarray(rows, dtype=np.int32))  # HiGHS deletes nothing unless they are in order
        if len(rows):
            self._highs.deleteRows(len(rows), rows)

    def set_sides(self, rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace both sides of some rows, by position; each row once."""
        rows = np.asarray(rows, dtype=np.int32)
        order = np.argsort(rows)  # HiGHS accepts no other order
        if len(rows):
            low, up = _infinite(lower)[order], _infinite(upper)[order]
            self._highs.changeRowsBounds(len(rows), rows[order], low, up)

    def solve(self, time_limit: float | None = None) -> LpAnswer:
        """Solve from the last basis."""
        highs = self._highs
        # HiGHS measures the time limit of an LP from the first solve of the object.
        highs.setOptionValue("time_limit", INFINITY if time_limit is None else highs.getRunTime() + time_limit)
        # A basis stays feasible when costs change: HiGHS may then choose its primal simplex, which takes half the time.
        highs.setOptionValue("simplex_strategy", _CHOOSE if self._new_cost else _DUAL)
        self._new_cost = False
        status = self._run()
        if self._cycles():  # continue by the dual simplex, which perturbs the costs again
            highs.setOptionValue("simplex_strategy", _DUAL)
            status = self._run()
        if status is LpStatus.FAILED or self._cycles():  # once more without a basis
            highs.clearSolver()
            if status is LpStatus.FAILED:  # the dual method may not decide that a program is unbounded
                highs.setOptionValue("simplex_strategy", _PRIMAL)
            status = self._run(patience=10)
            status = LpStatus.FAILED if self._cycles() else status
        if not self.columns and self._contradiction():
            status = LpStatus.INFEASIBLE
        if status is not LpStatus.OPTIMAL:
            return LpAnswer.without_point(status)
        solution = highs.getSolution()
        return LpAnswer(
            status,
            float(highs.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.col_dual),
            np.array(solution.row_dual),
        )

    def _run(self, patience: int = 1) -> LpStatus:
        """Run HiGHS; Ctrl-C stops long runs. ``patience``: factor of the largest number of iterations."""
        if self._limits_iterations:
            most = patience * max(FEWEST, TURNS * (self.rows + self.columns))
            self._highs.setOptionValue("simplex_iteration_limit", min(most, highspy.kHighsIInf))
        here = self._highs.getNumNz() < LONG and not self._refused
        if here:  # HiGHS refuses to run in a thread with the pool of another HiGHS, and is run in a new thread then
            self._refused = self._highs.run() == highspy.HighsStatus.kError
        if not here or self._refused:
            run(self._highs)
        if self._highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:  # by presolve
            before = self._highs.getOptionValue("presolve")[1]
            self._highs.setOptionValue("presolve", "off")
            self._highs.clearSolver()
            run(self._highs)
            self._highs.setOptionValue("presolve", before)
        return _MEANING.get(self._highs.getModelStatus(), LpStatus.FAILED)

    def _cycles(self) -> bool:
        """Return True if the last run reached the limit of iterations: rounding can make the simplex method cycle."""
        return self._limits_iterations and self._highs.getModelStatus() == highspy.HighsModelStatus.kIterationLimit

    def _contradiction(self) -> bool:
        """Return True if 0 violates a row without columns, which HiGHS does not check."""
        lp = self._highs.getLp()
        return bool(np.any(np.array(lp.row_lower_) > LP_TOLERANCE) or np.any(np.array(lp.row_upper_) < -LP_TOLERANCE))

    def slack_rows(self) -> np.ndarray:
        """Return a mask of the rows that were slack (basic) at the last optimum."""
        basic = highspy.HighsBasisStatus.kBasic
        return np.array([status == basic for status in self._highs.getBasis().row_status], dtype=bool)


_MEANING = {
    highspy.HighsModelStatus.kOptimal: LpStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: LpStatus.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: LpStatus.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: LpStatus.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: LpStatus.LIMIT,
    highspy.HighsModelStatus.kModelEmpty: LpStatus.OPTIMAL,
}


def _entries(a: Any) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Return a compressed matrix in the format of HiGHS: number of entries, starts, indices, values."""
    return a.nnz, a.indptr[:-1].astype(np.int32), a.indices.astype(np.int32), a.data.astype(float)


def _refuse_large(status: Any, a: Any, what: str) -> None:
    """Raise LargeNumbers if HiGHS has rejected rows or columns; it has then added none of them."""
    if status == highspy.HighsStatus.kError:
        raise LargeNumbers(
            f"HiGHS accepts no coefficient above 1e15; these {what} have {np.abs(a.data).max():.3g}. Reduce the "
            "largest numbers of the model, for example C or the unit of a feature.",
            "highs",
        )


def _infinite(bounds: np.ndarray) -> np.ndarray:
    return np.clip(np.asarray(bounds, dtype=float), -INFINITY, INFINITY)
