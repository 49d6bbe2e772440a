"""The drivers as Pyomo solvers: ``pyo.SolverFactory("fsmodels.benders").solve(model, solver_options={...})``.

Each driver is registered in Pyomo's second-generation factory, and under the same name in the first generation's
(``solvers.import_hook``: importing ``solvers`` is enough). The statuses correspond to those of ``solvers.Result``:
"optimal" needs a proof. A stationary point has the condition ``convergenceCriteriaSatisfied`` and the solution status
``feasible``; any other point without a proof has ``unknown`` and ``feasible``. In the first generation both are
``feasible``, because its ``locallyOptimal`` counts as optimal.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, ClassVar

import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap
from pyomo.common.timing import HierarchicalTimer
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import BranchAndBoundConfig
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import Results, TerminationCondition
from pyomo.contrib.solver.common.results import SolutionStatus as Claimed
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.contrib.solver.common.util import (
    NoDualsError,
    NoFeasibleSolutionError,
    NoOptimalSolutionError,
    NoReducedCostsError,
)
from pyomo.opt import SolverResults, SolverStatus
from pyomo.opt import TerminationCondition as Legacy
from pyomo.opt.results.solution import Solution

from solvers.drivers.base import Driver
from solvers.drivers.catalogue import DRIVERS
from solvers.errors import OptionError, SolverError
from solvers.interfaces.registry import SOLVERS, find
from solvers.lazy import PREFIX
from solvers.legacy import LegacyInterface
from solvers.result import Result, SolutionStatus, StopReason
from solvers.run import solve
from solvers.values import INSIDE, put_back

logger = logging.getLogger("solvers")

_STOPPED = {
    StopReason.TIME_LIMIT: (TerminationCondition.maxTimeLimit, Legacy.maxTimeLimit, SolverStatus.aborted),
    StopReason.ITERATION_LIMIT: (TerminationCondition.iterationLimit, Legacy.maxIterations, SolverStatus.aborted),
    StopReason.INTERRUPTED: (TerminationCondition.interrupted, Legacy.userInterrupt, SolverStatus.aborted),
    StopReason.CALLBACK: (TerminationCondition.interrupted, Legacy.userInterrupt, SolverStatus.aborted),
    StopReason.SOLVER_ERROR: (TerminationCondition.error, Legacy.error, SolverStatus.error),
}
_PROVEN = {
    SolutionStatus.OPTIMAL: (TerminationCondition.convergenceCriteriaSatisfied, Legacy.optimal, SolverStatus.ok),
    SolutionStatus.INFEASIBLE: (TerminationCondition.provenInfeasible, Legacy.infeasible, SolverStatus.warning),
    SolutionStatus.UNBOUNDED: (TerminationCondition.unbounded, Legacy.unbounded, SolverStatus.warning),
}
_ENDED = {
    SolutionStatus.STATIONARY: (
        TerminationCondition.convergenceCriteriaSatisfied,
        Legacy.feasible,
        SolverStatus.ok,
    ),
    SolutionStatus.FEASIBLE: (TerminationCondition.unknown, Legacy.feasible, SolverStatus.ok),
    SolutionStatus.NO_SOLUTION: (TerminationCondition.unknown, Legacy.unknown, SolverStatus.warning),
}


def _conditions(result: Result) -> tuple[Any, Any, Any]:
    """Return the termination conditions of both generations, and the status of the first one."""
    return _PROVEN.get(result.status) or _STOPPED.get(result.stop_reason) or _ENDED[result.status]


class DriverSolution(SolutionLoader):
    """The incumbent of a driver, without multipliers, because a driver solves several programs."""

    def __init__(self, model: Any, values: ComponentMap | None) -> None:
        self._pyomo_model, self._values = model, values

    def get_number_of_solutions(self) -> int:
        """Return 1 if there is an incumbent, otherwise 0."""
        return 0 if self._values is None else 1

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the values of some variables, by default of all."""
        if self._values is None:
            raise NoFeasibleSolutionError
        return self._values if vars_to_load is None else ComponentMap((v, self._values[v]) for v in vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Raise NoDualsError."""
        raise NoDualsError

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Raise NoReducedCostsError."""
        raise NoReducedCostsError

    def load_import_suffixes(self) -> None:
        """Leave import suffixes empty."""
        self._collect_and_clear_import_suffixes()


class DriverPlugin(SolverBase):
    """A driver as a solver of Pyomo's second generation; a subclass names the driver."""

    CONFIG = BranchAndBoundConfig()
    driver: ClassVar[type[Driver]]

    def solve(self, model: Any, **kwds: Any) -> Results:
        """Solve a model.

        Parameters
        ----------
        model : ConcreteModel
        **kwds
            As for Pyomo's other solvers: ``time_limit`` (s), ``rel_gap``, ``threads``, ``tee`` (the table of the
            driver; True, streams or loggers), ``solver_options`` (those of the driver, such as
            ``{"complicating": [model.x]}``), ``load_solutions``, ``raise_exception_on_nonoptimal_result``. ``abs_gap``
            and ``working_dir`` are rejected; ``symbolic_solver_labels`` has no effect, because no file is written.

        Returns
        -------
        Results
            ``objective_bound`` is infinite if there is no bound. ``extra_info``: ``iteration_count``,
            ``solver_message`` and ``result``, the ``solvers.Result`` with the iteration table.

        Raises
        ------
        ModelError, OptionError, SolverError
            As ``solvers.solve`` does.
        NoOptimalSolutionError, NoFeasibleSolutionError
            If there is no proven optimum, or no point to load, unless ``raise_exception_on_nonoptimal_result`` or
            ``load_solutions`` is False.
        """
        began, start = datetime.now(UTC), time.perf_counter()
        config = self.config(value=kwds, preserve_implicit=True)
        timer = config.timer or HierarchicalTimer()
        options = self._options(config)
        before = [(v, v.value) for v in model.component_data_objects(pyo.Var, descend_into=INSIDE)]
        timer.start("solve")
        try:
            result = solve(model, self.driver.name, **options)
        finally:
            timer.stop("solve")
        values = None
        if result.has_solution:
            values = ComponentMap((v, v.value) for v, _ in before if v.value is not None)
        put_back(before)
        results = self._results(model, result, values, config)
        times = results.timing_info
        times.start_timestamp, times.wall_time, times.timer = began, time.perf_counter() - start, timer
        outcome = f'"{self.driver.name}" ended {result.status.value} ({result.stop_reason.value}). {result.message}'
        if config.raise_exception_on_nonoptimal_result and result.status is not SolutionStatus.OPTIMAL:
            raise NoOptimalSolutionError(f"{outcome} {NoOptimalSolutionError.default_message}")
        if config.load_solutions:
            if values is None:
                raise NoFeasibleSolutionError(f"{outcome} {NoFeasibleSolutionError.default_message}")
            results.solution_loader.load_solution()
        return results

    def _options(self, config: Any) -> dict[str, Any]:
        """Return the options of the driver. Raises OptionError for an option without effect, or one given twice."""
        for name, instead in (("abs_gap", "give rel_gap"), ("working_dir", "no file is written")):
            if (value := getattr(config, name)) is not None:
                raise OptionError(f'{name}={value!r} is not allowed for "{self.driver.name}": {instead}.')
        own = {name: value for name, value in config.solver_options.value().items() if value is not None}
        common = {"time_limit": config.time_limit, "gap": config.rel_gap, "threads": config.threads}
        common = {name: value for name, value in common.items() if value is not None}
        if twice := set(common) & set(own):
            raise OptionError(f"{', '.join(sorted(twice))} is given twice, by itself and in solver_options: keep one.")
        options = {**own, **common}
        streams = [stream for stream in config.tee if stream is not sys.stdout]
        if len(streams) < len(config.tee):
            options.setdefault("tee", True)
        if streams:
            options["callback"] = _shown(streams, own.get("callback"))
        return options

    def _results(self, model: Any, result: Result, values: ComponentMap | None, config: Any) -> Results:
        results = Results()
        results.solver_name, results.solver_version, results.solver_config = self.name, self.version(), config
        results.termination_condition = _conditions(result)[0]
        point = Claimed.optimal if result.status is SolutionStatus.OPTIMAL else Claimed.feasible
        results.solution_status = Claimed.noSolution if values is None else point
        results.incumbent_objective = result.objective
        no_bound = -math.inf if result.minimize else math.inf
        results.objective_bound = no_bound if result.bound is None else result.bound
        results.solution_loader = DriverSolution(model, values)
        extra = results.extra_info
        extra.iteration_count, extra.solver_message, extra.result = len(result.iterations), result.message, result
        return results

    def available(self) -> Availability:
        """Return ``FullLicense`` if the solvers that the driver needs are installed."""
        needed = getattr(self.driver.options_type, "master_solver", None)
        if not isinstance(needed, str) or needed not in SOLVERS:
            return Availability.FullLicense
        try:
            solver = find(needed).make()
        except SolverError:
            return Availability.NotFound
        return solver.available() if isinstance(solver, SolverBase) else Availability.FullLicense

    def version(self) -> tuple[int, ...]:
        """Return the version of the distribution; () if the package is not installed."""
        try:
            return tuple(int(part) for part in metadata.version(PREFIX.rstrip(".")).split(".") if part.isdigit())
        except metadata.PackageNotFoundError:
            return ()


def _shown(streams: list[Any], own: Callable[[dict[str, Any]], Any] | None) -> Callable[[dict[str, Any]], Any]:
    """Return a callback that writes each row of the table to streams and calls the callback of the user."""

    def callback(row: dict[str, Any]) -> Any:
        line = "  ".join(f"{name} {x:.6g}" if isinstance(x, float) else f"{name} {x}" for name, x in row.items())
        for stream in streams:
            stream.write(line + "\n")
        return None if own is None else own(row)

    return callback


class LegacyDriverPlugin(LegacyInterface):
    """A driver as a solver of Pyomo's first generation; ``rel_gap`` is a keyword of ``solve`` as in the second one."""

    def _map_results(self, model: Any, found: Results) -> tuple[SolverResults, Solution]:
        results, solution = super()._map_results(model, found)
        _, results.solver.termination_condition, results.solver.status = _conditions(found.extra_info.result)
        return results, solution


def register_drivers() -> None:
    """Register each driver in both of Pyomo's factories, as "fsmodels." and its name."""
    for name, driver in DRIVERS.items():
        plugin = type(driver.__name__, (DriverPlugin,), {"driver": driver, "__doc__": driver.__doc__})
        legacy = type(f"Legacy{driver.__name__}", (LegacyDriverPlugin, plugin), {})
        SolverFactory.register(PREFIX + name, doc=driver.title)(plugin, legacy)
