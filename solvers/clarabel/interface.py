r"""Clarabel as a Pyomo solver: linear rows, convex quadratics, second-order cones.

    >>> import pyomo.environ as pyo
    >>> import solvers.clarabel.interface
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.t = pyo.Var(), pyo.Var(bounds=(0, None))
    >>> m.cone = pyo.Constraint(expr=m.x**2 <= 4 * m.t)
    >>> m.row = pyo.Constraint(expr=m.x >= 2)
    >>> m.cost = pyo.Objective(expr=m.t)
    >>> m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    >>> results = pyo.SolverFactory("clarabel").solve(m)
    >>> print(results.solver.termination_condition, round(pyo.value(m.t), 6), round(m.dual[m.row], 4))
    optimal 1.0 1.0

The name is registered in both generations of Pyomo: ``pyo.SolverFactory`` returns a ``LegacyClarabel`` as above, and
``pyomo.contrib.solver.common.factory.SolverFactory`` a ``Clarabel``, with the options, results and exceptions of that
generation.

Besides linear rows, bounds, fixed variables and a convex quadratic objective, it supports ``x'Qx + q'x <= r`` with Q
positive semidefinite; ``x'x <= y*z`` and ``x'x <= y**2`` if bounds or rows imply y, z >= 0; quotients ``x**2 / y`` with
y >= 0, alone or in sums, in rows and objective. ``cones`` derives the cones of rows and the multipliers; ``program``
describes the standard form and the signs; ``body`` reads Pyomo expressions. Unsupported components are rejected by
name.

**Repeated solves.** The object keeps the model compiled. ``solve()`` detects changes and does the least work:

- *another right-hand side, another value of a bound, of a fixed variable or of a coefficient*: numbers are replaced
  inside the solver (``updates``), which keeps its symbolic factorisation;
- *a variable fixed or freed, a bound added or removed, a row activated or deactivated*: the numbers are arranged again
  without a walk over expressions (``setups``);
- *a row, the objective, or a parameter or named expression in them*: this expression is walked again (``walks``), and
  its numbers are replaced;
- *another model*: everything is compiled (``compilations``).

There is no warm start, because interior points gain nothing from the last solution.

**Results.** ``optimal`` and a bound (the Lagrangian at the dual solution, less the effect of its remaining gradient)
are reported only if Clarabel reports full accuracy. A run that is stopped early has neither a bound nor a solution,
because iterates of an interior-point method are infeasible. ``unbounded`` means a ray and a feasible point;
``infeasible`` a certificate.

Source: Goulart, Chen 2024, "Clarabel: An interior-point solver for conic programs with quadratic objectives".
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np
from pyomo.common.collections import ComponentMap, ComponentSet
from pyomo.common.errors import ApplicationError
from pyomo.common.timing import HierarchicalTimer
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError, NoSolutionError
from pyomo.core.staleflag import StaleFlagManager
from pyomo.opt import SolverResults, SolverStatus
from pyomo.opt.results.solution import Solution

from solvers.clarabel.engine import Ending, Engine, settings_of
from solvers.clarabel.program import Program
from solvers.clarabel.rows import ConicModel
from solvers.errors import ModelError
from solvers.legacy import LegacyInterface

try:
    import clarabel
except ImportError:  # pragma: no cover - a declared dependency; see available()
    clarabel = None

_MEANING = {
    "Solved": TerminationCondition.convergenceCriteriaSatisfied,
    "PrimalInfeasible": TerminationCondition.provenInfeasible,
    "DualInfeasible": TerminationCondition.infeasibleOrUnbounded,
    "Unbounded": TerminationCondition.unbounded,
    "MaxTime": TerminationCondition.maxTimeLimit,
    "MaxIterations": TerminationCondition.iterationLimit,
    "CallbackTerminated": TerminationCondition.interrupted,
    "InsufficientProgress": TerminationCondition.minStepLength,
    "NumericalError": TerminationCondition.error,
}
_STATUS = {  # of the first generation; a warning for other conditions
    TerminationCondition.convergenceCriteriaSatisfied: SolverStatus.ok,
    TerminationCondition.maxTimeLimit: SolverStatus.aborted,
    TerminationCondition.iterationLimit: SolverStatus.aborted,
    TerminationCondition.error: SolverStatus.error,
}


class Clarabel(SolverBase):
    """Persistent Pyomo interface to Clarabel; see the module for supported models and repeated solves.

    Parameters
    ----------
    **kwds
        ``solver_options`` of every solve: ``time_limit`` (s), ``iteration_limit``, ``threads``, ``gap`` (relative),
        ``tolerance`` (gap and feasibility; 1e-8 is accepted, the target is 1e-11), and Clarabel's settings by name,
        such as ``tol_feas``; and the options of Pyomo's ``SolverConfig``, such as ``time_limit`` and ``tee``.

    Attributes
    ----------
    compilations, walks, setups, updates : int
        Numbers of compiled models, of walked expressions, of created solver objects, and of solves that only replaced
        numbers.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.p = pyo.Var(bounds=(0, None)), pyo.Param(initialize=1.0, mutable=True)
    >>> m.row = pyo.Constraint(expr=m.x >= m.p)
    >>> m.cost = pyo.Objective(expr=m.x**2 / 2)
    >>> solver = Clarabel()
    >>> for m.p.value in (1.0, 2.0):
    ...     results = solver.solve(m)
    ...     print(round(results.objective_bound, 6), round(results.solution_loader.get_duals()[m.row], 4))
    0.5 1.0
    2.0 2.0
    >>> solver.compilations, solver.setups, solver.updates
    (1, 1, 1)
    """

    CONFIG = SolverConfig()

    def __init__(self, **kwds: Any) -> None:
        super().__init__(**kwds)
        self._model = ConicModel()
        self._engine = Engine()

    def __exit__(self, *_: object) -> None:
        self._engine.forget()

    @property
    def compilations(self) -> int:
        """Number of compiled models."""
        return self._model.compilations

    @property
    def walks(self) -> int:
        """Number of walked expressions."""
        return self._model.walks

    @property
    def setups(self) -> int:
        """Number of created solver objects."""
        return self._engine.setups

    @property
    def updates(self) -> int:
        """Number of solves that only replaced numbers."""
        return self._engine.updates

    def available(self) -> Availability:
        """Return ``FullLicense`` if the package ``clarabel`` is installed."""
        return Availability.NotFound if clarabel is None else Availability.FullLicense

    def version(self) -> tuple[int, ...] | None:
        """Return the version as numbers."""
        return tuple(int(part) for part in clarabel.__version__.split(".")[:3]) if clarabel is not None else None

    def set_instance(self, model: Any) -> None:
        """Compile a model, which ``solve()`` without a model then solves."""
        self._model.compile(model)

    def solve(self, model: Any = None, **kwds: Any) -> Results:
        """Solve a model and load the values, and multipliers where the model has an import suffix ``dual`` or ``rc``.

        Parameters
        ----------
        model : ConcreteModel or Block, optional
            The default is the last model, which is not compiled again.
        **kwds
            The options of the object, for this solve. ``time_limit``: seconds, for reading the model and solving it.
            ``tee``: Clarabel's log, on standard output during the run, on other streams after it.
            ``raise_exception_on_nonoptimal_result``, ``load_solutions``: as for Pyomo's other solvers.

        Returns
        -------
        Results
            ``objective_bound`` is infinite unless the model was solved. ``extra_info``: ``iteration_count`` and
            ``solver_message``; ``timing_info``: ``wall_time`` and ``clarabel_time`` (s). The solution loader remains
            valid after further solves.

        Raises
        ------
        ModelError
            If the model is not convex, or has free integer variables or unsupported components.
        OptionError
            If an option is unknown or its value not allowed.
        NoOptimalSolutionError, NoFeasibleSolutionError
            If there is no optimum, unless ``raise_exception_on_nonoptimal_result`` or ``load_solutions`` is False.
        """
        start, began = time.perf_counter(), datetime.now(UTC)
        if clarabel is None:
            raise ApplicationError("Clarabel is not installed: pip install clarabel")
        config = self.config(value=kwds, preserve_implicit=True)
        if config.timer is None:
            config.timer = HierarchicalTimer()
        own = {"threads": config.threads, "time_limit": config.time_limit}
        own |= {name: value for name, value in config.solver_options.value().items() if value is not None}
        settings, limit = settings_of(own)

        with _timed(config.timer, "read"):
            if model is not None and model is not self._model.model:
                self._model.compile(model)
            elif self._model.model is None:
                raise ModelError("There is no model to solve: pass one to solve() or to set_instance().")
            else:
                self._model.refresh()
            program = Program(self._model)
        with _timed(config.timer, "optimize"):
            ending = self._engine.run(program, settings, start + limit, config.tee)

        results = Results()
        results.solver_name, results.solver_version, results.solver_config = self.name, self.version(), config
        results.termination_condition = _MEANING.get(ending.status, TerminationCondition.unknown)
        message = f"Clarabel: {ending.status}"
        if program.contradiction:
            message = f"{program.contradiction} is violated by all values of its variables"
        results.extra_info.solver_message, results.extra_info.iteration_count = message, ending.iterations
        results.objective_bound = -program.sense * math.inf
        if ending.solved:
            results.solution_status = SolutionStatus.optimal
            results.incumbent_objective = program.objective_at(ending.x)
            results.objective_bound = program.bound_from(ending.x, ending.z)
        results.solution_loader = ConicSolution(self._model.model, self._model.walker.variables, program, ending)
        if config.raise_exception_on_nonoptimal_result and not ending.solved:
            raise NoOptimalSolutionError(f"{message}. {NoOptimalSolutionError.default_message}")
        if config.load_solutions:
            if not ending.solved:
                raise NoFeasibleSolutionError(f"{message}. {NoFeasibleSolutionError.default_message}")
            results.solution_loader.load_solution()
        times = results.timing_info
        times.start_timestamp, times.timer, times.clarabel_time = began, config.timer, ending.seconds
        times.wall_time = time.perf_counter() - start
        return results


class LegacyClarabel(LegacyInterface, Clarabel):
    """Clarabel as a solver of Pyomo's first generation: ``pyo.SolverFactory("clarabel")``.

    ``solver.solve_time`` of the results is the time in Clarabel (s).
    """

    def __exit__(self, *error: object) -> None:
        Clarabel.__exit__(self, *error)

    def has_capability(self, capability: str) -> bool:
        """Return True if Clarabel supports a kind of model, as in Pyomo's other interfaces."""
        return capability in ("linear", "quadratic_objective", "quadratic_constraint")

    def _map_results(self, model: Any, found: Results) -> tuple[SolverResults, Solution]:
        results, solution = super()._map_results(model, found)
        results.solver.status = _STATUS.get(found.termination_condition, SolverStatus.warning)
        results.solver.solve_time = found.timing_info.clarabel_time
        results.problem.number_of_constraints = len(self._model.rows)
        results.problem.number_of_variables = int(found.solution_loader.program.used.sum())
        return results, solution


SolverFactory.register("clarabel", doc="The conic interior-point solver Clarabel")(Clarabel, LegacyClarabel)


@contextmanager
def _timed(timer: HierarchicalTimer, name: str) -> Iterator[None]:
    timer.start(name)
    try:
        yield
    finally:
        timer.stop(name)


class ConicSolution(SolutionLoader):
    """Values, multipliers and reduced costs of one solve, which further solves do not change.

    Requested components without a value are left out: a row at the apex of a cone has no multiplier, and an unused
    variable has no value.
    """

    def __init__(self, model: Any, variables: list[Any], program: Program, ending: Ending) -> None:
        self._pyomo_model = model
        self._variables, self.program, self._ending = variables, program, ending
        used = np.flatnonzero(program.used) if ending.solved else ()
        self._columns = [int(col) for col in used if not variables[col].fixed]

    def get_number_of_solutions(self) -> int:
        """Return 1 if there is an optimum, otherwise 0: a run that is stopped early has no point."""
        return int(self._ending.solved)

    def load_vars(self, vars_to_load: Sequence[Any] | None = None) -> None:
        """Load the values; other variables become stale."""
        values = self.get_vars(vars_to_load)
        StaleFlagManager.mark_all_as_stale(delayed=True)
        for variable, value in values.items():
            variable.set_value(value, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=True)

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the values of the variables in the model that are not fixed."""
        self._refuse_none()
        values = self.program.values(self._ending.x)
        return _named(((self._variables[col], float(values[col])) for col in self._columns), vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Return the multipliers of rows, in Pyomo's sign: d objective / d right-hand side."""
        self._refuse_none()
        return dict(_named(self.program.duals(self._ending.x, self._ending.z).items(), cons_to_load))

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the reduced costs of the free variables."""
        self._refuse_none()
        costs = self.program.reduced_costs(self._ending.z).items()
        return _named(((self._variables[col], cost) for col, cost in costs), vars_to_load)

    def _refuse_none(self) -> None:
        if not self._ending.solved:
            raise NoSolutionError(f"Clarabel ended with {self._ending.status}: there is no solution to load.")


def _named(found: Iterable[tuple[Any, float]], names: Sequence[Any] | None) -> ComponentMap:
    wanted = None if names is None else ComponentSet(names)
    return ComponentMap((c, value) for c, value in found if wanted is None or c in wanted)
