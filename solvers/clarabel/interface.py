r"""Clarabel as a Pyomo solver: linear rows, convex quadratics, second-order cones.

    >>> import pyomo.environ as pyo
    >>> import solvers.clarabel
    >>> m = pyo.ConcreteModel()
    >>> m.x, m.t = pyo.Var(), pyo.Var(bounds=(0, None))
    >>> m.cone = pyo.Constraint(expr=m.x**2 <= 4 * m.t)
    >>> m.row = pyo.Constraint(expr=m.x >= 2)
    >>> m.cost = pyo.Objective(expr=m.t)
    >>> m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    >>> results = pyo.SolverFactory("clarabel").solve(m)
    >>> print(results.solver.termination_condition, round(pyo.value(m.t), 6), round(m.dual[m.row], 4))
    optimal 1.0 1.0

What it takes, besides linear rows, bounds, fixed variables and a convex quadratic objective: ``x'Qx + q'x <= r`` with
Q positive semidefinite; ``x'x <= y*z`` and ``x'x <= y**2`` where bounds or rows say y, z >= 0; quotients ``x**2 / y``
with y >= 0, alone or in sums, in rows and objective. How rows become cones and multipliers come back is derived in
``cones``; the standard form and the signs in ``program``; what a Pyomo expression is read as in
``body``. What cannot be solved exactly is refused by name, never dropped.

**Solving again.** The object keeps the model compiled. ``solve()`` notices what changed and does the least that serves:

- *another right-hand side, another value of a bound, of a fixed variable or of a coefficient*: numbers are replaced
  inside the solver (``updates``), which keeps its symbolic factorisation;
- *a variable fixed or freed, a bound added or removed, a row switched on or off*: the numbers are arranged anew,
  without looking at an expression again (``setups``);
- *a row, the objective, or a parameter or named expression inside them*: that one is walked again (``walks``), and its
  numbers replaced;
- *another model*: everything is compiled (``compilations``).

There is no warm start: interior points gain nothing from the last solution.

**What a result claims.** ``optimal`` and a bound (the Lagrangian at the dual solution, its remaining gradient given
away) only when Clarabel reports full accuracy. A run stopped early has neither a bound nor a solution: an iterate of an
interior point satisfies nothing. ``unbounded`` means a ray and a feasible point; ``infeasible`` a certificate.

Source: Goulart, Chen 2024, "Clarabel: An interior-point solver for conic programs with quadratic objectives".
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.collections import Bunch, ComponentMap
from pyomo.common.errors import ApplicationError
from pyomo.core.base.suffix import active_import_suffix_generator
from pyomo.core.expr.symbol_map import SymbolMap
from pyomo.core.staleflag import StaleFlagManager
from pyomo.opt import SolverResults, SolverStatus, TerminationCondition
from pyomo.opt.results.solution import Solution

from solvers import interrupt
from solvers.clarabel.arrays import cones_of
from solvers.clarabel.options import accepted_as_aim, settings_of
from solvers.clarabel.program import Program, assemble
from solvers.clarabel.rows import ConicModel
from solvers.errors import ModelError

try:
    import clarabel
except ImportError:  # pragma: no cover - a declared dependency; available() says so
    clarabel = None

logger = logging.getLogger(__name__)

_MEANING = {
    "Solved": (SolverStatus.ok, TerminationCondition.optimal),
    "PrimalInfeasible": (SolverStatus.warning, TerminationCondition.infeasible),
    "DualInfeasible": (SolverStatus.warning, TerminationCondition.infeasibleOrUnbounded),
    "MaxTime": (SolverStatus.aborted, TerminationCondition.maxTimeLimit),
    "MaxIterations": (SolverStatus.aborted, TerminationCondition.maxIterations),
    "CallbackTerminated": (SolverStatus.aborted, TerminationCondition.userInterrupt),
    "InsufficientProgress": (SolverStatus.warning, TerminationCondition.minStepLength),
    "NumericalError": (SolverStatus.error, TerminationCondition.internalSolverError),
}
_UNPROVEN = (SolverStatus.warning, TerminationCondition.other)
_ALMOST = {  # with the reduced tolerances set to the tolerance asked for, these are full answers
    "AlmostSolved": "Solved",
    "AlmostPrimalInfeasible": "PrimalInfeasible",
    "AlmostDualInfeasible": "DualInfeasible",
}
_DECISIVE = ("Solved", "PrimalInfeasible", "DualInfeasible", "MaxTime", "MaxIterations", "CallbackTerminated")


@dataclass
class _Ending:
    """What Clarabel answered."""

    status: str
    x: np.ndarray
    z: np.ndarray
    iterations: int = 0
    seconds: float = 0.0


@pyo.SolverFactory.register("clarabel", doc="The conic interior-point solver Clarabel")
class Clarabel:
    """Persistent Pyomo interface to Clarabel (see the module for what it takes, and what solving again costs).

    Parameters
    ----------
    options : mapping, optional
        Options of every solve: ``time_limit`` (s), ``iteration_limit``, ``threads``, ``gap`` (relative), ``tolerance``
        (gap and feasibility at once; 1e-8 is accepted, 1e-11 aimed at), and Clarabel's own settings by name, such as
        ``tol_feas``.

    Attributes
    ----------
    compilations, walks, setups, updates : int
        Whole models walked; expressions walked; solver objects made; solves that only replaced numbers.

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
    ...     print(round(results.problem.lower_bound, 6))
    0.5
    2.0
    >>> solver.compilations, solver.setups, solver.updates
    (1, 1, 1)
    """

    name = "clarabel"

    def __init__(self, options: Mapping[str, Any] | None = None, **words: Any) -> None:
        for ignored in ("type", "solver_io", "solver"):
            words.pop(ignored, None)
        # Checked at solve: Pyomo's factory swallows whatever a constructor raises.
        self.options = Bunch(**dict(options or {}), **words)
        self._model = ConicModel()
        self._engine: Any = None
        self._program: Program | None = None
        self._settings: dict[str, Any] = {}
        self.setups = self.updates = 0

    def __enter__(self) -> Clarabel:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine = self._program = None

    @property
    def compilations(self) -> int:
        """How often a whole model was walked."""
        return self._model.compilations

    @property
    def walks(self) -> int:
        """How many expressions were walked."""
        return self._model.walks

    def available(self, exception_flag: bool = True) -> bool:
        """Tell whether the package ``clarabel`` is there."""
        if clarabel is None and exception_flag:
            msg = "Clarabel is not installed: pip install clarabel"
            raise ApplicationError(msg)
        return clarabel is not None

    def license_is_valid(self) -> bool:
        """Clarabel is free software."""
        return True

    def version(self) -> tuple[int, ...] | None:
        """Return the version as numbers."""
        return tuple(int(part) for part in clarabel.__version__.split(".")[:3]) if clarabel is not None else None

    def has_capability(self, capability: str) -> bool:
        """Answer as Pyomo's other solvers do."""
        return capability in ("linear", "quadratic_objective", "quadratic_constraint")

    def warm_start_capable(self) -> bool:
        """Interior points start afresh."""
        return False

    def set_instance(self, model: Any) -> None:
        """Compile a model now; ``solve()`` without one then takes it."""
        self._model.compile(model)

    def solve(
        self,
        model: Any = None,
        *,
        load_solutions: bool = True,
        tee: bool = False,
        timelimit: float | None = None,
        options: Mapping[str, Any] | None = None,
        **words: Any,
    ) -> SolverResults:
        """Solve a model and load the values, and multipliers where the model has an import suffix ``dual`` or ``rc``.

        Parameters
        ----------
        model : ConcreteModel or Block, optional
            The one solved last may be left out; given again, it is not compiled again.
        load_solutions : bool
            Load into the model; otherwise the solution is in the results, for ``model.solutions.load_from(results)``.
        tee : bool
            Show Clarabel's log.
        timelimit : float, optional
            Seconds, for reading the model and solving it.
        options : mapping, optional
            Options of this solve, over those of the object.

        Returns
        -------
        SolverResults
            ``solver``: status, termination condition, message, ``iterations``, ``wallclock_time``, ``solve_time``
            (s, in Clarabel). ``problem``: bounds, which are infinite unless the termination condition is ``optimal``.

        Raises
        ------
        ModelError
            If the model is not convex, has integer variables that are free, or components Clarabel does not take.
        OptionError
            If an option is unknown or its value not allowed.
        """
        start = time.perf_counter()
        self.available()
        for ignored in ("suffixes", "symbolic_solver_labels", "keepfiles", "report_timing"):
            words.pop(ignored, None)
        own = {**self.options, **(options or {}), **words}
        if timelimit is not None:
            own["time_limit"] = timelimit
        settings, limit = settings_of(own)
        settings["verbose"] = bool(tee)

        if model is not None and model is not self._model.model:
            self._model.compile(model)
        elif self._model.model is None:
            msg = "There is no model to solve: give one to solve() or to set_instance()."
            raise ModelError(msg)
        else:
            self._model.refresh()
        program = assemble(self._model)
        run = self._run(program, settings, start + limit)
        results = self._results(program, run)
        results.solver.wallclock_time = time.perf_counter() - start
        if load_solutions:
            self._load(program, run, results)
        elif run.status == "Solved":
            self._attach(program, run, results)
        return results

    # ------------------------------------------------------------------------------------------ Clarabel

    def _run(self, program: Program, settings: dict[str, Any], deadline: float) -> _Ending:
        """Solve; where the answer is not decisive, try again: from a fresh start, with other scaling, with less an aim.

        Past what the arithmetic of an instance allows the iterates get worse, so the aim is then what is accepted.
        """
        none = _Ending("PrimalInfeasible", np.zeros(program.A.shape[1]), np.zeros(program.A.shape[0]))
        if program.contradiction:
            return none
        if program.A.shape[1] == 0:  # nothing to decide
            wrong = bool(np.any(np.abs(program.b) > 1e-8)) if len(program.b) else False
            return none if wrong else _Ending("Solved", none.x, none.z)
        run = self._attempt(program, settings, deadline, keep=True)
        if run.status not in _DECISIVE:
            logger.debug("Clarabel answered %s; trying again.", run.status)
            other = {**settings, "equilibrate_enable": not settings.get("equilibrate_enable", True)}
            for again in (settings, other, accepted_as_aim(settings)):
                second = self._attempt(program, again, deadline, keep=False)
                if second.status in _DECISIVE:
                    run = second
                    break
            self._engine = None
        if run.status == "DualInfeasible":  # a ray; unbounded if there is a point to start from
            zero = Program(**{**vars(program), "P": program.P * 0.0, "q": program.q * 0.0})
            start = self._attempt(zero, settings, deadline, keep=False)
            run.status = {"Solved": "Unbounded", "PrimalInfeasible": "PrimalInfeasible"}.get(start.status, run.status)
            self._engine = None
        return run

    def _attempt(self, program: Program, settings: dict[str, Any], deadline: float, *, keep: bool) -> _Ending:
        left = deadline - time.perf_counter()
        if left <= 0:
            return _Ending("MaxTime", np.zeros(program.A.shape[1]), np.zeros(program.A.shape[0]))
        chosen = clarabel.DefaultSettings()
        chosen.presolve_enable = False  # data updates need every row where it was
        for key, value in settings.items():
            setattr(chosen, key, value)
        chosen.time_limit = left
        before, engine = self._program, self._engine
        if keep and engine is not None and before is not None and before.same_pattern(program):
            data = {"P": (before.P.data, program.P.data), "A": (before.A.data, program.A.data)}
            data |= {"q": (before.q, program.q), "b": (before.b, program.b)}
            engine.update(settings=chosen, **{k: new for k, (old, new) in data.items() if not np.array_equal(old, new)})
            self.updates += 1
        else:
            cones = cones_of(program.cones)
            engine = clarabel.DefaultSolver(program.P, program.q, program.A, program.b, cones, chosen)
            self.setups += 1
        self._engine, self._program = engine, program
        with interrupt.noticing() as pressed:  # Rust would not notice Ctrl-C: it asks at each iteration
            engine.set_termination_callback(lambda _: pressed.is_set())
            solution = engine.solve()
        if pressed.is_set():
            raise KeyboardInterrupt
        return _Ending(
            _ALMOST.get(str(solution.status), str(solution.status)),
            np.array(solution.x),
            np.array(solution.z),
            int(solution.iterations),
            float(solution.solve_time),
        )

    # ------------------------------------------------------------------------------------------- Pyomo

    def _results(self, program: Program, run: _Ending) -> SolverResults:
        unbounded = (SolverStatus.warning, TerminationCondition.unbounded)
        status, condition = unbounded if run.status == "Unbounded" else _MEANING.get(run.status, _UNPROVEN)
        results = SolverResults()
        solver, problem = results.solver, results.problem
        solver.name = self.name
        solver.status, solver.termination_condition = status, condition
        solver.termination_message = f"Clarabel: {run.status}"
        if program.contradiction:
            solver.termination_message = f"{program.contradiction} is false whatever its variables are"
        solver.message = solver.termination_message
        solver.iterations, solver.solve_time = run.iterations, run.seconds
        problem.name = self._model.model.name
        problem.number_of_constraints = len(self._model.rows)
        problem.number_of_variables = int(program.used.sum())
        problem.number_of_objectives = int(self._model.objective is not None)
        problem.sense = pyo.minimize if program.sense > 0 else pyo.maximize
        problem.lower_bound, problem.upper_bound = -math.inf, math.inf
        if run.status == "Solved":
            ends = (program.bound_from(run.x, run.z), program.objective_at(run.x))
            problem.lower_bound, problem.upper_bound = ends if program.sense > 0 else ends[::-1]
        return results

    def _load(self, program: Program, run: _Ending, results: SolverResults) -> None:
        if run.status != "Solved":
            logger.warning(
                'No solution was loaded into "%s": %s (%s).',
                self._model.model.name,
                results.solver.termination_condition,
                results.solver.termination_message,
            )
            return
        StaleFlagManager.mark_all_as_stale(delayed=True)
        values, variables = program.values(run.x), self._model.walker.variables
        for col in np.flatnonzero(program.used):
            if not variables[col].fixed:
                variables[col].set_value(float(values[col]), skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=True)
        for name, suffix in active_import_suffix_generator(self._model.model):
            if name == "dual":
                suffix.clear()
                suffix.update(ComponentMap(program.duals(run.x, run.z).items()))
            elif name == "rc":
                suffix.clear()
                suffix.update(ComponentMap((variables[col], c) for col, c in program.reduced_costs(run.z).items()))

    def _attach(self, program: Program, run: _Ending, results: SolverResults) -> None:
        """Put the solution into the results, in the words of Pyomo's older solvers."""
        model, variables, solution, names = self._model.model, self._model.walker.variables, Solution(), SymbolMap()
        values, costs = program.values(run.x), program.reduced_costs(run.z)
        wanted = {name for name, _ in active_import_suffix_generator(model)}
        for col in np.flatnonzero(program.used):
            if not variables[col].fixed:
                names.addSymbol(variables[col], f"x{col}")
                solution.variable[f"x{col}"] = {"Value": float(values[col])}
                if "rc" in wanted and int(col) in costs:
                    solution.variable[f"x{col}"]["Rc"] = costs[int(col)]
        if "dual" in wanted:
            for k, (row, mu) in enumerate(program.duals(run.x, run.z).items()):
                names.addSymbol(row, f"c{k}")
                solution.constraint[f"c{k}"] = {"Dual": mu}
        results.solution.insert(solution)
        results._smap, results._smap_id = names, id(names)
        model.solutions.add_symbol_map(names)
