"""A solver of Pyomo's second generation with the interface of the first one: ``pyo.SolverFactory(name)``.

The class uses Pyomo's ``LegacySolverWrapper`` and replaces some of its methods. In Pyomo 6.10 the wrapper keeps the
options of one solve for the next, because it resets the configuration to itself. It raises an exception if there is no
solution to load, drops the message and the iterations, rejects options as keywords, and stores all reduced costs under
one key. Here each solve passes its options as arguments; the configuration of the object does not change.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyomo.environ as pyo
from pyomo.contrib.solver.common.base import LegacySolverWrapper
from pyomo.contrib.solver.common.results import Results
from pyomo.contrib.solver.common.util import NoDualsError, NoReducedCostsError
from pyomo.core.base.suffix import active_import_suffix_generator
from pyomo.core.expr.symbol_map import SymbolMap
from pyomo.opt import SolverResults
from pyomo.opt.results.solution import Solution

logger = logging.getLogger("solvers")

_WITHOUT_EFFECT = ("suffixes", "symbolic_solver_labels", "keepfiles", "warmstart")


class LegacyInterface(LegacySolverWrapper):
    """Base class: a subclass inherits from it first and from the solver of the second generation next.

    Parameters
    ----------
    options : mapping, optional
        Options of every solve; as keywords too.
    """

    def __init__(self, options: Mapping[str, Any] | None = None, **more: Any) -> None:
        for ignored in ("type", "solver_io", "solver"):
            more.pop(ignored, None)
        # Options are checked at the solve: Pyomo's factory hides all exceptions of a constructor.
        super().__init__(solver_options={**(options or {}), **(more.pop("solver_options", None) or {}), **more})

    def solve(
        self,
        model: Any = None,
        *,
        load_solutions: bool = True,
        tee: Any = False,
        timelimit: float | None = None,
        options: Mapping[str, Any] | None = None,
        solver_options: Mapping[str, Any] | None = None,
        report_timing: bool = False,
        raise_exception_on_nonoptimal_result: bool = False,
        **more: Any,
    ) -> SolverResults:
        """Solve a model and load the values, and multipliers where the model has an import suffix for them.

        Parameters
        ----------
        model : ConcreteModel or Block, optional
            A persistent solver solves its last model again if none is given.
        load_solutions : bool
            Load into the model; otherwise the solution is in the results, for ``model.solutions.load_from(results)``.
        tee : bool, stream or logger
            Show the log of the solver or the table of the driver.
        timelimit : float, optional
            Seconds.
        options, solver_options : mapping, optional
            Options of this solve, which override those of the object; as keywords too.
        report_timing : bool
            Print the time of each part.
        raise_exception_on_nonoptimal_result : bool
            Raise an exception; otherwise a warning is logged if there is no solution.

        Returns
        -------
        SolverResults
            ``solver``: status, termination condition, message, ``iterations``, ``wallclock_time`` (s). ``problem``:
            bounds, infinite if there are none.
        """
        for name in _WITHOUT_EFFECT:
            more.pop(name, None)
        gaps = {name: more.pop(name) for name in ("rel_gap", "abs_gap") if name in self.config and name in more}
        own = {**(options or {}), **(solver_options or {}), **more}
        if timelimit is not None:
            own["time_limit"] = timelimit
        found: Results = super(LegacySolverWrapper, self).solve(
            model,
            solver_options=own,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=raise_exception_on_nonoptimal_result,
            **({"tee": tee} if tee else {}),
            **gaps,
        )
        loader = found.solution_loader
        model = loader._pyomo_model
        results, solution = self._map_results(model, found)
        if load_solutions and loader.get_number_of_solutions():
            loader.load_solution()
        elif load_solutions:
            condition, text = results.solver.termination_condition, results.solver.message
            logger.warning('No solution was loaded into "%s": %s (%s).', model.name, condition, text)
        elif loader.get_number_of_solutions():
            names = SymbolMap()
            _fill(solution, names, model, loader)
            results.solution.insert(solution)
            results._smap, results._smap_id = names, id(names)
        if report_timing:
            print(found.timing_info.timer)
        return results

    def _map_results(self, model: Any, found: Results) -> tuple[SolverResults, Solution]:
        """Add the entries that Pyomo leaves out; a subclass sets its own statuses."""
        results, solution = super()._map_results(model, found)
        solver, problem = results.solver, results.problem
        solver.name, solver.iterations = found.solver_name, found.extra_info.iteration_count
        solver.termination_message = solver.message = found.extra_info.solver_message
        solver.wallclock_time, problem.name = found.timing_info.wall_time, model.name
        if found.incumbent_objective is None and problem.sense == pyo.maximize:
            problem.lower_bound = -math.inf
        elif found.incumbent_objective is None:
            problem.upper_bound = math.inf
        return results, solution


def _fill(solution: Solution, names: SymbolMap, model: Any, loader: Any) -> None:
    """Write the values, and the multipliers that the model imports and the solver has, into a solution."""
    wanted = {name for name, _ in active_import_suffix_generator(model)}
    for k, (variable, value) in enumerate(loader.get_vars().items()):
        names.addSymbol(variable, f"x{k}")
        solution.variable[f"x{k}"] = {"Value": value}
    with suppress(NoReducedCostsError):
        for variable, cost in loader.get_reduced_costs().items() if "rc" in wanted else ():
            solution.variable[names.getSymbol(variable)]["Rc"] = cost
    with suppress(NoDualsError):
        for k, (row, multiplier) in enumerate(loader.get_duals().items() if "dual" in wanted else ()):
            names.addSymbol(row, f"c{k}")
            solution.constraint[f"c{k}"] = {"Dual": multiplier}
