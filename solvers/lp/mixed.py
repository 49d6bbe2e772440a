"""A linear program with integer columns, of rows that only come, by any solver whose bounds count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.interfaces.registry import SOLVERS, SolverSpec, called, names, require_proofs
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, SolveOptions
from solvers.lp.highs_mixed import HighsProgram
from solvers.lp.pyomo import PyomoLP
from solvers.options import SolverObject
from solvers.values import give_values

PRINTED = 1e-7  # relative: what is lost where numbers are printed (glpk's are, cbc's too)
REDUCED_COSTS = 1e-9  # what they may miss in ``tight`` solvers


@dataclass(frozen=True)
class MixedAnswer:
    """What a solver said; ``point`` over the columns, integers rounded, ``objective`` there; ``bound`` is proven."""

    answer: Answer
    point: np.ndarray | None
    objective: float | None
    bound: float | None


def mixed_solver(solver: str | SolverObject | None, lp_solver: str | SolverObject) -> SolverSpec:
    """Return the entry of a solver whose word on mixed-integer programs counts.

    None: ``lp_solver`` where it is one, else highs. Raises SolverError if there is none of that name, or its optima
    were measured to be none.
    """
    if solver is None:
        proves = [n for n in names(C.MILP) if not SOLVERS[n].misled]
        solver = lp_solver if called(lp_solver) in proves else "highs"
    return require_proofs(solver, C.MILP)


class MixedProgram:
    """min c.x over bounds and rows, some columns integer; ``add_rows`` and ``set_bounds`` as for LPs.

    ``unit``: what the costs are divided by, as tolerances of reduced costs are absolute.
    """

    def __init__(
        self,
        spec: SolverSpec,
        words: SolveOptions,
        cost: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        integer: np.ndarray,
        *,
        unit: float = 1.0,
    ) -> None:
        self._spec, self._unit, self._integer, self._cost = spec, unit, integer, cost / unit
        ranges = (upper - lower)[integer]
        self._hidden = REDUCED_COSTS * (1.0 + float(ranges[np.isfinite(ranges)].sum()))
        direct = spec.name == "highs" and not words.tee
        kind = HighsProgram if direct else PyomoProgram
        self._program = kind(spec, words, self._cost, lower, upper, integer)

    def add_rows(self, matrix: Any, lower: np.ndarray, upper: np.ndarray) -> None:
        """Add rows ``lower <= A x <= upper``."""
        self._program.add_rows(matrix, lower, upper)

    def set_bounds(self, columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
        """Replace bounds of some columns."""
        self._program.set_bounds(columns, lower, upper)

    def solve_to(self, gap: float, time_limit: float | None, start: np.ndarray | None = None) -> MixedAnswer:
        """Solve to a relative gap; the bound is the solver's own less what its tolerances may hide.

        ``start``: values of the integers to begin with, where the solver can.
        """
        answer, point = self._program.solve(gap, time_limit, start)
        hidden = self._hidden
        if point is not None:
            point[self._integer] = np.round(point[self._integer])
            if self._spec.proves_optimum:  # its bound is the objective at a printed point
                hidden += PRINTED * float(np.abs(self._cost) @ np.abs(point))
        value = np.inf if point is None else float(self._cost @ point)
        bound = answer.bound
        if bound is not None:
            bound = self._unit * (min(bound, value) - hidden)
        return MixedAnswer(answer, point, None if point is None else self._unit * value, bound)


class PyomoProgram(PyomoLP):
    """The same by any Pyomo solver; none is given a point."""

    def __init__(
        self,
        spec: SolverSpec,
        words: SolveOptions,
        cost: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        integer: np.ndarray,
    ) -> None:
        self._begin(spec, words)
        self._state(cost, lower, upper)
        for k in integer.tolist():
            self._x[k].domain = pyo.Integers

    def solve(  # type: ignore[override]
        self, gap: float, time_limit: float | None, start: np.ndarray | None
    ) -> tuple[Answer, np.ndarray | None]:
        """Solve to a relative gap; return the point too."""
        self._runner.options = replace(self._runner.options, gap=gap)
        for v in self._x:
            v.set_value(None, skip_validation=True)  # a solver sees no column without cost and rows
        answer = self._runner.solve(self._model, time_limit=time_limit, integer=True)
        if not answer.has_point:
            return answer, None
        give_values(self._x)
        return answer, np.array([v.value for v in self._x], dtype=float)
