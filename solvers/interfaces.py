"""One way to run any Pyomo solver: the same option words in, one answer out.

Pyomo has two generations of solver interfaces with different words for options, statuses, bounds and duals. A
``Runner`` hides that, stays alive between solves where the interface is persistent, and guards what was measured to
go wrong: options that outlive a solve, time limits counted from the first solve on, unknown options swallowed,
multipliers of the opposite sign, infinite bounds reported as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError
from pyomo.contrib.solver.common.base import SolverBase
from pyomo.contrib.solver.common.results import TerminationCondition as Termination
from pyomo.opt import TerminationCondition as Legacy

from solvers.errors import Error, OptionError, SolverError
from solvers.registry import SolverSpec, check_options
from solvers.result import SolutionStatus, StopReason

_OPTIMAL = (StopReason.CONVERGED, SolutionStatus.OPTIMAL)
_INFEASIBLE = (StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
_UNBOUNDED = (StopReason.CONVERGED, SolutionStatus.UNBOUNDED)
_ERROR = (StopReason.SOLVER_ERROR, SolutionStatus.NO_SOLUTION)
_EITHER = (StopReason.CONVERGED, SolutionStatus.NO_SOLUTION)
_TIME = (StopReason.TIME_LIMIT, SolutionStatus.FEASIBLE)
_ITERATIONS = (StopReason.ITERATION_LIMIT, SolutionStatus.FEASIBLE)
_INTERRUPTED = (StopReason.INTERRUPTED, SolutionStatus.FEASIBLE)

MEANING = {
    Termination.convergenceCriteriaSatisfied: _OPTIMAL,
    Termination.emptyModel: _OPTIMAL,
    Termination.maxTimeLimit: _TIME,
    Termination.iterationLimit: _ITERATIONS,
    Termination.objectiveLimit: (StopReason.CONVERGED, SolutionStatus.FEASIBLE),
    Termination.unbounded: _UNBOUNDED,
    Termination.provenInfeasible: _INFEASIBLE,
    Termination.locallyInfeasible: _ERROR,
    Termination.infeasibleOrUnbounded: _EITHER,
    Termination.interrupted: _INTERRUPTED,
    Legacy.optimal: _OPTIMAL,
    Legacy.globallyOptimal: _OPTIMAL,
    Legacy.locallyOptimal: (StopReason.CONVERGED, SolutionStatus.STATIONARY),
    Legacy.feasible: (StopReason.CONVERGED, SolutionStatus.FEASIBLE),
    Legacy.maxTimeLimit: _TIME,
    Legacy.maxIterations: _ITERATIONS,
    Legacy.infeasible: _INFEASIBLE,
    Legacy.unbounded: _UNBOUNDED,
    Legacy.infeasibleOrUnbounded: _EITHER,
    Legacy.userInterrupt: _INTERRUPTED,
}

# What makes a solver tell infeasible from unbounded when its presolve could not.
TELL_APART: dict[str, dict[str, Any]] = {"highs": {"presolve": "off"}, "gurobi": {"DualReductions": 0}}


@dataclass(frozen=True)
class SolveOptions:
    """The words every solver and driver understands, and the solver's own options."""

    time_limit: float | None = None  # s
    gap: float | None = None  # relative
    threads: int | None = None
    seed: int | None = None
    tee: bool = False
    own: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a solver said. The model holds the values when ``has_point``."""

    stop_reason: StopReason
    status: SolutionStatus
    has_point: bool
    bound: float | None
    message: str
    duals: dict[Any, float]


class Runner:
    """Runs one solver, again and again on the same model where that pays."""

    def __init__(self, spec: SolverSpec, options: SolveOptions) -> None:
        check_options(spec, options.own)
        self.spec, self.options = spec, options
        self.solver = spec.make()
        self._threads: int | None = None

    def solve(
        self, model: Any, *, time_limit: float | None = None, integer: bool = False, duals: Sequence[Any] = ()
    ) -> Answer:
        """Solve the model as it stands and load the values.

        Parameters
        ----------
        time_limit : float, optional
            Seconds for this solve; the smaller of this and the option counts.
        integer : bool
            Whether the model has integer variables.
        duals : rows whose multipliers are wanted, in Pyomo's sign: d objective / d right-hand side.
        """
        limits = [t for t in (time_limit, self.options.time_limit) if t is not None]
        limit = max(0.01, min(limits)) if limits else None
        run = self._run_v2 if isinstance(self.solver, SolverBase) else self._run_legacy
        try:
            answer = run(model, limit, integer, duals, {})
            if (answer.stop_reason, answer.status) == _EITHER and self.spec.name in TELL_APART:
                answer = run(model, limit, integer, duals, dict(TELL_APART[self.spec.name]))
            return answer
        except KeyboardInterrupt:
            return Answer(StopReason.INTERRUPTED, SolutionStatus.NO_SOLUTION, False, None, "interrupted", {})
        except Error:
            raise
        except Exception as error:  # a foreign program: whatever it raises becomes one kind of error with its words
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> Error:
        text = str(error).strip() or type(error).__name__
        for name in self.options.own:
            if f"'{name}'" in text or f'"{name}"' in text:
                return OptionError(f'{self.spec.name} does not take the option "{name}": {text}')
        hint = ""
        if "size-limited license" in text:
            hint = " Without a licence gurobi takes 2000 rows and columns: use scip, or a driver."
        return SolverError(f"{self.spec.name} failed: {text}{hint}")

    def _own_options(self) -> dict[str, Any]:
        own = dict(self.options.own)
        if self.options.seed is not None and "seed" in self.spec.words:
            own.setdefault(self.spec.words["seed"], self.options.seed)
        return own

    def _run_v2(
        self, model: Any, limit: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> Answer:
        if self.spec.name == "highs":
            limit = self._reset_highs(limit, integer)
        words: dict[str, Any] = {"time_limit": limit, "tee": self.options.tee}
        if integer:
            words["rel_gap"] = self.options.gap
        if "threads" in self.solver.config:
            words["threads"] = self.options.threads
        native = self.solver.solve(
            model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            solver_options={**self._own_options(), **extra},
            **words,
        )
        stop, status = MEANING.get(native.termination_condition, _ERROR)
        message = f"{self.spec.name}: {native.termination_condition.name}"
        if self._interrupted():
            stop, status = _INTERRUPTED
        if stop is StopReason.SOLVER_ERROR and native.termination_condition is Termination.error:
            log = str(native.solver_log or "").strip().splitlines()
            unknown = [n for n in self.options.own if any(n in line for line in log)]
            if unknown or self.options.own:
                raise OptionError(f"{self.spec.name} refused its options {sorted(self.options.own)}: {log[-3:]}")
        has_point = (
            status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)
            and native.solution_loader.get_number_of_solutions() > 0
            and not (self.spec.local and native.solution_status.name in ("noSolution", "infeasible"))
        )
        multipliers: dict[Any, float] = {}
        if has_point:
            native.solution_loader.load_vars()
            if rows:
                multipliers = dict(native.solution_loader.get_duals(cons_to_load=list(rows)))
        return self._answer(stop, status, has_point, native.objective_bound, message, multipliers)

    def _run_legacy(
        self, model: Any, limit: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> Answer:
        words = self.spec.words
        options: dict[str, Any] = {**self._own_options(), **extra}
        if limit is not None and "time_limit" in words:
            options[words["time_limit"]] = math.ceil(limit) if self.spec.name == "glpk" else limit
        if integer and self.options.gap is not None and "gap" in words:
            options[words["gap"]] = self.options.gap
        if self.options.threads is not None and "threads" in words:
            options[words["threads"]] = self.options.threads
        if rows and model.component("dual") is None:
            model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        try:
            native = self.solver.solve(model, load_solutions=False, tee=self.options.tee, options=options)
        except (ApplicationError, TypeError) as error:
            raise SolverError(f"{self.spec.name} failed: {error}") from error
        stop, status = MEANING.get(native.solver.termination_condition, _ERROR)
        message = f"{self.spec.name}: {native.solver.termination_condition}"
        has_point = status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY) and bool(
            len(native.solution)
        )
        multipliers: dict[Any, float] = {}
        if has_point:
            model.solutions.load_from(native)
            sign = -1.0 if self.spec.flip_duals else 1.0
            multipliers = {r: sign * model.dual[r] for r in rows if model.dual.get(r) is not None}
        problem = native.problem
        minimize = str(problem.sense) != "maximize"
        return self._answer(
            stop, status, has_point, problem.lower_bound if minimize else problem.upper_bound, message, multipliers
        )

    def _answer(
        self,
        stop: StopReason,
        status: SolutionStatus,
        has_point: bool,
        bound: Any,
        message: str,
        duals: dict[Any, float],
    ) -> Answer:
        if self.spec.local:
            bound = None
            if status is SolutionStatus.OPTIMAL:
                status = SolutionStatus.STATIONARY
        elif (bound is not None and not math.isfinite(pyo.value(bound))) or (bound is not None and abs(bound) >= 1e20):
            bound = None
        if not has_point and status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY):
            status = SolutionStatus.NO_SOLUTION
        return Answer(stop, status, has_point, None if bound is None else float(bound), message, duals)

    def _reset_highs(self, limit: float | None, integer: bool) -> float | None:
        """Undo what HiGHS keeps from one solve to the next, and return the time limit as it counts it."""
        import highspy

        if self.options.threads != self._threads:  # otherwise ignored within a process, silently
            highspy.Highs.resetGlobalScheduler(True)
            self._threads = self.options.threads
        highs = getattr(self.solver, "_solver_model", None)
        if highs is None:
            return limit
        highs.resetOptions()
        # An LP's time limit counts from the first solve of the object, a MILP's from this one.
        return limit if limit is None or integer else highs.getRunTime() + limit

    def _interrupted(self) -> bool:
        highs = getattr(self.solver, "_solver_model", None)
        return self.spec.name == "highs" and highs is not None and "Interrupt" in str(highs.getModelStatus())
