"""Run a Pyomo solver with common options, and return a common answer.

Pyomo has two generations of solver interfaces with different options, statuses, bounds and duals. A ``Runner`` has one
form for both. It keeps persistent solvers between solves, and corrects defects that were measured: unknown options that
are ignored, multipliers of the opposite sign, infinite bounds reported as numbers, invalid bounds, limits reported as
failures. Data of single solvers are in the table of solvers.
"""

from __future__ import annotations

import math
import re
import subprocess
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary, ref

import pyomo.environ as pyo
from pyomo.contrib.appsi.base import LegacySolverInterface as LegacyAppsi
from pyomo.contrib.appsi.base import Solver as Appsi
from pyomo.contrib.appsi.base import legacy_termination_condition_map
from pyomo.contrib.solver.common.base import LegacySolverWrapper, SolverBase
from pyomo.contrib.solver.common.results import SolutionStatus as Claimed
from pyomo.contrib.solver.common.results import TerminationCondition as Termination
from pyomo.contrib.solver.common.util import IncompatibleModelError
from pyomo.opt import TerminationCondition as Legacy
from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

from solvers import per_thread  # noqa: F401 - Pyomo's visitors per thread
from solvers.errors import Error, LicenceError, OptionError, SolverFailure, UnsupportedModel
from solvers.interfaces.infeasibility import doubtful, surely_infeasible
from solvers.interfaces.registry import SOLVERS, SolverSpec, check_options, names, refused_option
from solvers.interfaces.registry import Capability as C
from solvers.model_cache import ModelCache, cached
from solvers.result import SolutionStatus, StopReason
from solvers.shared_state import Turn
from solvers.values import put_back, put_on_bounds

_OPTIMAL = (StopReason.CONVERGED, SolutionStatus.OPTIMAL)
_INFEASIBLE = (StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
_UNBOUNDED = (StopReason.CONVERGED, SolutionStatus.UNBOUNDED)
_EITHER = (StopReason.CONVERGED, SolutionStatus.NO_SOLUTION)  # infeasible or unbounded, or neither proven
_TIME = (StopReason.TIME_LIMIT, SolutionStatus.FEASIBLE)
_ITERATIONS = (StopReason.ITERATION_LIMIT, SolutionStatus.FEASIBLE)
_INTERRUPTED = (StopReason.INTERRUPTED, SolutionStatus.FEASIBLE)
_UNCLEAR = (StopReason.SOLVER_ERROR, SolutionStatus.FEASIBLE)  # an incumbent is used, if there is one

MEANING = {
    Termination.convergenceCriteriaSatisfied: _OPTIMAL,
    Termination.emptyModel: _OPTIMAL,
    Termination.maxTimeLimit: _TIME,
    Termination.iterationLimit: _ITERATIONS,
    Termination.objectiveLimit: (StopReason.CONVERGED, SolutionStatus.FEASIBLE),
    Termination.unbounded: _UNBOUNDED,
    Termination.provenInfeasible: _INFEASIBLE,
    Termination.locallyInfeasible: _EITHER,
    Termination.infeasibleOrUnbounded: _EITHER,
    Termination.interrupted: _INTERRUPTED,
    Legacy.optimal: _OPTIMAL,
    Legacy.globallyOptimal: _OPTIMAL,
    Legacy.locallyOptimal: (StopReason.CONVERGED, SolutionStatus.STATIONARY),
    Legacy.feasible: (StopReason.CONVERGED, SolutionStatus.FEASIBLE),
    Legacy.maxTimeLimit: _TIME,
    Legacy.maxIterations: _ITERATIONS,
    Legacy.maxEvaluations: _ITERATIONS,
    Legacy.infeasible: _INFEASIBLE,
    Legacy.unbounded: _UNBOUNDED,
    Legacy.infeasibleOrUnbounded: _EITHER,
    Legacy.intermediateNonInteger: (StopReason.SOLVER_ERROR, SolutionStatus.NO_SOLUTION),
    Legacy.userInterrupt: _INTERRUPTED,
}
_POINT = (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY)
_STOPPED = (StopReason.SOLVER_ERROR, StopReason.INTERRUPTED)  # after the time limit these mean that it has passed
_UNDECIDED = (Termination.infeasibleOrUnbounded, Legacy.infeasibleOrUnbounded)
_EXPLAINED = {
    Termination.locallyInfeasible: "found no feasible point near its start, which does not prove that there is none",
    Termination.infeasibleOrUnbounded: "reports infeasible or unbounded: bound the variables and solve again",
    Legacy.infeasibleOrUnbounded: "reports infeasible or unbounded: bound the variables and solve again",
}
SECONDS = 5.0  # for the check of a reported infeasibility
_turn = Turn()  # lock for interfaces that redirect the output of the process
NO_LICENCE, TOO_LARGE = 10009, 10010  # codes of gurobipy.GRB.Error
_HUGE = 1e18  # infinity in the output of solvers: scip reported -9.99999998e19 as the optimum of an unbounded model
_held: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # persistent solver -> its last runner and model


@dataclass(frozen=True)
class SolveOptions:
    """Options that all solvers and drivers have, and the options of one solver."""

    time_limit: float | None = None  # s
    gap: float | None = None  # relative
    threads: int | None = None
    seed: int | None = None
    tee: bool = False
    own: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """Answer of a solver. If ``has_point``, the model holds its values."""

    stop_reason: StopReason
    status: SolutionStatus
    has_point: bool
    bound: float | None
    message: str
    duals: dict[Any, float] = field(default_factory=dict)
    undecided: bool = False  # infeasible or unbounded


@dataclass
class _Native:
    """Answer in the terms of the interface, with the values on the model."""

    condition: Any
    has_point: bool
    bound: float | None
    duals: dict[Any, float]
    log: str = ""


class Runner:
    """Interface to one solver, for repeated solves of the same model if the solver is persistent."""

    def __init__(self, spec: SolverSpec, options: SolveOptions) -> None:
        self.spec, self.options = spec, replace(options, own=check_options(spec, options.own))
        self._ran = False  # True after a run without an exception

    @cached_property
    def solver(self) -> Any:
        """The Pyomo solver, constructed when it is first needed."""
        return self.spec.make()

    def solve(
        self, model: Any, *, time_limit: float | None = None, integer: bool = False, duals: Sequence[Any] = ()
    ) -> Answer:
        """Solve the model and load the values.

        - ``time_limit``: seconds for this solve; the smaller of this and the option applies. If no time is left the
          solver is not called.
        - ``integer``: True if the model has integer variables.
        - ``duals``: rows whose multipliers are requested, in Pyomo's sign: d objective / d right-hand side.

        Raises OptionError if the solver rejects an option, SolverFailure with the message of the solver if it fails,
        and LicenceError if gurobi has no licence for this model.
        """
        cache = cached(model)
        limits = [t for t in (time_limit, self.options.time_limit) if t is not None]
        end = time.perf_counter() + min(limits) if limits else None
        answer = self._attempt(cache, end, integer, duals, self.spec.required_options)
        if answer.undecided and self.spec.certificate_options:
            answer = self._attempt(cache, end, integer, duals, self._certifying)
        no_point = not answer.has_point and answer.stop_reason in (StopReason.CONVERGED, StopReason.SOLVER_ERROR)
        if self.spec.untrusted and (integer or not self.spec.in_table) and no_point:  # although no limit was reached
            message = f"reports {answer.message} without a proof: {self.spec.untrusted}"
            answer = replace(answer, status=SolutionStatus.NO_SOLUTION, message=message, undecided=True)
        if answer.status is SolutionStatus.UNBOUNDED and self.spec.interior:
            again = self._attempt(cache, end, integer, duals, self._certifying)
            answer = again if again.status is SolutionStatus.OPTIMAL else answer
        if answer.status is SolutionStatus.INFEASIBLE and (self.spec.interior or doubtful(cache)):
            answer = self._checked(cache, end, answer, integer, duals)
        return self.without_proof(answer) if integer and self.spec.untrusted else answer

    @property
    def _certifying(self) -> dict[str, Any]:
        """The options of a second solve with more exact certificates."""
        return {**self.spec.required_options, **self.spec.certificate_options}

    def _checked(
        self, cache: ModelCache, end: float | None, answer: Answer, integer: bool, duals: Sequence[Any]
    ) -> Answer:
        """Check a reported infeasibility by the elastic program, and solve again if that contradicts it."""
        by = end if self.spec.interior else min(time.perf_counter() + SECONDS, math.inf if end is None else end)

        def solved(model: Any) -> SolutionStatus:
            found = self._attempt(cached(model), by, integer, (), self.spec.required_options)
            if found.stop_reason is StopReason.SOLVER_ERROR:
                raise SolverFailure(f"{self.spec.name} failed: {found.message}.", self.spec.name)
            return found.status

        if surely_infeasible(cache, solved):
            return answer
        again = self._attempt(cache, end, integer, duals, self._certifying)
        if again.has_point:
            return again
        message = "reports the model as infeasible, which a solve with slacks in the rows does not confirm"
        return replace(answer, status=SolutionStatus.NO_SOLUTION, message=message, undecided=True)

    def without_proof(self, answer: Answer) -> Answer:
        """Return the answer without bound and proof, for a solver that is not trusted on this class of model."""
        status = {
            SolutionStatus.OPTIMAL: SolutionStatus.FEASIBLE,
            SolutionStatus.INFEASIBLE: SolutionStatus.NO_SOLUTION,
        }
        if answer.status not in status:
            return replace(answer, bound=None)
        able = ", ".join(n for n in names(C.MILP) if not SOLVERS[n].untrusted)
        message = f"reports {answer.status.value} without a proof: {self.spec.untrusted}. Solvers that prove it: {able}"
        return replace(answer, status=status[answer.status], bound=None, message=message)

    def _attempt(
        self, cache: ModelCache, end: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> Answer:
        limit = None if end is None else end - time.perf_counter()
        if limit is not None and limit <= 0:
            return Answer(StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION, False, None, "no time left")
        run = self._run_modern if isinstance(self.solver, SolverBase) else self._run_classic
        run = self._run_appsi if isinstance(self.solver, Appsi) else run
        held = [(v, v.value) for v in cache.variables if v.fixed]
        try:
            with _turn.lock if self.spec.serialised else nullcontext():
                self._hand_over(cache.model)
                limit = None if end is None else max(0.0, end - time.perf_counter())
                with self.spec.context(self.solver, cache.model, self.options, limit, integer) as attempt:
                    native = run(cache, attempt.limit, integer, rows, extra)
        except KeyboardInterrupt:
            return Answer(StopReason.INTERRUPTED, SolutionStatus.NO_SOLUTION, False, None, "interrupted")
        except subprocess.TimeoutExpired:  # a program that overran its limit was killed
            return Answer(StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION, False, None, "killed at its limit")
        except TimeoutError as error:  # a library that overran its limit
            return Answer(StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION, False, None, str(error))
        except Error:
            raise
        except Exception as error:  # any exception of a solver becomes a SolverFailure with its message
            _held.pop(self.solver, None)
            raise self._explained(error) from error
        self._ran = True
        infinite = native.has_point and any(not math.isfinite(v.value or 0.0) for v in cache.variables)
        if infinite:  # from Gurobi on an unbounded model
            native.has_point = False
        if native.has_point:
            put_back(held)  # scip and gurobi return a fixed value of 1e-10 as 0
            put_on_bounds(cache.variables)
        late = end is not None and time.perf_counter() >= end
        answer = self._answer(native, late=late, pressed=attempt.pressed.is_set(), integer=integer, cache=cache)
        if infinite:
            return replace(answer, bound=None, message="returns a point with infinite values", undecided=True)
        return answer

    def _explained(self, error: Exception) -> Error:
        text, own = str(error).strip() or type(error).__name__, self.options.own
        if not self._ran:  # otherwise the solver has accepted the options before
            if (name := _named(own, text)) is not None:
                return refused_option(self.spec, name, own[name], text)
            if own and isinstance(error, TypeError | KeyError):
                return OptionError(f"{self.spec.name} fails with its options {own}: {text}")
        refused = isinstance(error, NotImplementedError | IncompatibleModelError)
        if refused or type(error).__name__ == "DegreeError":  # each direct interface of Pyomo has a class of this name
            why = text.splitlines()[0].partition(":")[0].rstrip(".")
            able = " or ".join(name for name in names(C.NLP) if name != self.spec.name)
            message = f"{self.spec.name} cannot solve this model: {why}. Use {able}, or leave the solver out."
            return UnsupportedModel(message, self.spec.name)
        options = f" with its options {own}" if own and self.spec.option_names is None else ""
        message = f"{self.spec.name} failed{options}: {text.rstrip('.!')}."
        code = getattr(error, "errno", None)
        if code == TOO_LARGE:
            limit = "Without a licence gurobi accepts at most 2000 rows and columns: use scip, or a driver."
            return LicenceError(f"{message} {limit}")
        return LicenceError(message) if code == NO_LICENCE else SolverFailure(message, self.spec.name)

    def _own_options(self, extra: dict[str, Any], **common: Any) -> dict[str, Any]:
        """Return the options of the solver, with the common options under the names of the solver."""
        names_of = self.spec.common_options
        own = {names_of[k]: v for k, v in common.items() if v is not None and k in names_of}
        return {**self.spec.default_options, **own, **self.options.own, **extra}

    def _old_options(self, extra: dict[str, Any], *, integer: bool) -> dict[str, Any]:
        """Return the options for the older interfaces, which have no arguments for the common options."""
        o = self.options
        return self._own_options(extra, threads=o.threads, seed=o.seed, gap=o.gap if integer else None)

    def _run_modern(
        self, cache: ModelCache, limit: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> _Native:
        o = self.options
        arguments: dict[str, Any] = {"time_limit": limit, "tee": o.tee}
        if integer and "rel_gap" in self.solver.config:
            arguments["rel_gap"] = o.gap
        if "threads" in self.solver.config:
            arguments["threads"] = o.threads
        if "writer_config" in self.solver.config:  # Pyomo's presolve loses multipliers, and fails on contradictions
            arguments["writer_config"] = {"linear_presolve": False}
        # The wrapper for the first generation keeps options between solves; the wrapped solver does not.
        wrapped = isinstance(self.solver, LegacySolverWrapper)
        solve = super(LegacySolverWrapper, self.solver).solve if wrapped else self.solver.solve  # type: ignore[misc]
        native = solve(
            cache.model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            solver_options=self._own_options(extra, seed=o.seed),
            **arguments,
        )
        condition, loader = native.termination_condition, native.solution_loader
        if condition is Termination.emptyModel:  # the model holds the point
            return _Native(condition, True, native.objective_bound, {})
        log = str(native.solver_log or "")
        if condition is Termination.error and (name := _named(o.own, log)) is not None and not self._ran:
            raise refused_option(self.spec, name, o.own[name], " ".join(log.strip().splitlines()[-3:]))
        good = native.solution_status not in (Claimed.noSolution, Claimed.infeasible)
        has_point = good and loader is not None and loader.get_number_of_solutions() > 0
        multipliers: dict[Any, float] = {}
        if has_point:
            loader.load_vars()
            if rows and condition is Termination.convergenceCriteriaSatisfied:
                multipliers = dict(loader.get_duals(cons_to_load=list(rows)))
        message = str(getattr(native.extra_info, "solver_message", ""))
        if condition is Termination.iterationLimit and "time" in message.lower():  # the ASL has one code for both
            condition = Termination.maxTimeLimit
        return _Native(condition, has_point, native.objective_bound, multipliers, log)

    def _run_classic(
        self, cache: ModelCache, limit: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> _Native:
        model, options = cache.model, self._old_options(extra, integer=integer)
        arguments: dict[str, Any] = {"tee": self.options.tee}
        if limit is not None and "time_limit" in self.spec.common_options:
            options[self.spec.common_options["time_limit"]] = self.spec.seconds(limit)
        elif limit is not None:
            arguments["timelimit"] = self.spec.seconds(limit)
        ours = bool(rows) and model.component("dual") is None
        if ours:
            model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        try:
            native = self.solver.solve(model, load_solutions=False, options=options, **arguments)
            condition, minimize = native.solver.termination_condition, cache.objectives[0].sense == pyo.minimize
            if self.spec.local and condition is Legacy.infeasible:
                condition = Termination.locallyInfeasible
            claimed = MEANING.get(condition, _UNCLEAR)[1]
            has_point = bool(len(native.solution)) and claimed in _POINT
            multipliers: dict[Any, float] = {}
            if has_point:
                model.solutions.load_from(native)
                multipliers = {r: model.dual[r] for r in rows if model.dual.get(r) is not None}
        finally:
            if ours:
                model.del_component("dual")
        bound = native.problem.lower_bound if minimize else native.problem.upper_bound
        return _Native(condition, has_point, bound, multipliers)

    def _run_appsi(
        self, cache: ModelCache, limit: float | None, integer: bool, rows: Sequence[Any], extra: dict[str, Any]
    ) -> _Native:
        """Run an interface of APPSI without the wrapper for the first generation.

        The wrapper takes rows named "slack" or "dual" for suffixes, and calls methods of objects of the user.
        """
        solver = self.solver
        solve = super(LegacyAppsi, solver).solve if isinstance(solver, LegacyAppsi) else solver.solve  # type: ignore[misc]
        config, own = solver.config, LegacyAppsi.options.fget(solver)
        solver.config = config()
        try:
            solver.config.stream_solver, solver.config.load_solution = self.options.tee, False
            solver.config.time_limit = None if limit is None else self.spec.seconds(limit)
            LegacyAppsi.options.fset(solver, {**own, **self._old_options(extra, integer=integer)})
            native = solve(cache.model)
        finally:
            solver.config = config
            LegacyAppsi.options.fset(solver, own)
        condition = legacy_termination_condition_map[native.termination_condition]
        has_point = native.best_feasible_objective is not None and MEANING.get(condition, _UNCLEAR)[1] in _POINT
        multipliers: dict[Any, float] = {}
        if has_point:
            native.solution_loader.load_vars()
            if rows and condition is Legacy.optimal:
                multipliers = dict(native.solution_loader.get_duals(cons_to_load=list(rows)))
        return _Native(condition, has_point, native.best_objective_bound, multipliers)

    def _hand_over(self, model: Any) -> None:
        """Pass the model to a persistent solver, unless this runner has passed it and was the last to use the solver.

        After a failed solve the model is passed again, because the solver may hold only a part of it. Solvers of the
        first generation do not detect changes of the model, so it is passed each time. Solvers of the second generation
        detect changes themselves, unless several runners share the object.
        """
        solver = self.solver
        if not hasattr(solver, "set_instance") or (isinstance(solver, SolverBase) and self.spec.instance is None):
            return
        runner, held = _held.get(solver, (lambda: None, None))
        unshared = isinstance(solver, SolverBase) and runner() is None
        if (runner() is not self and not unshared) or held is not model or isinstance(solver, PersistentSolver):
            solver.set_instance(model)
        _held[solver] = ref(self), model

    def _answer(self, native: _Native, *, late: bool, pressed: bool, integer: bool, cache: ModelCache) -> Answer:
        """Return the answer for the status that the interface reports, with its bound if that is valid."""
        spec = self.spec
        stop, status = MEANING.get(native.condition, _UNCLEAR)
        if pressed and status is not SolutionStatus.OPTIMAL:
            stop, status = _INTERRUPTED
        elif late and (stop in _STOPPED or native.condition is Legacy.feasible):
            stop, status = _TIME
        bound = native.bound if native.bound is None else float(pyo.value(native.bound))
        if spec.proves_optimum:
            bound = None
            if status is SolutionStatus.OPTIMAL and native.has_point:
                bound = pyo.value(cache.objectives[0], exception=False)  # None if a variable has no value
        if bound is not None and not abs(bound) < _HUGE:
            bound = None
        if stop is StopReason.SOLVER_ERROR:  # the bound of a failed run cannot be verified
            bound = None
        if spec.local:
            bound = None
            if status is SolutionStatus.OPTIMAL:
                status = SolutionStatus.STATIONARY
        if not native.has_point and status in _POINT:
            status = SolutionStatus.NO_SOLUTION
        has_point = native.has_point and status in _POINT
        message = _EXPLAINED.get(native.condition, str(getattr(native.condition, "name", native.condition)))
        undecided = native.condition in _UNDECIDED
        flipped = self.spec.flip_duals and cache.objectives[0].sense == pyo.minimize
        duals = {row: -x for row, x in native.duals.items()} if flipped else native.duals
        return Answer(stop, status, has_point, bound, message, duals, undecided)


def _named(options: dict[str, Any], text: str) -> str | None:
    """Return the first option whose name occurs in a text."""
    return next((name for name in options if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)), None)
