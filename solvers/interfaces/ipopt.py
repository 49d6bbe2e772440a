"""Ipopt as a Pyomo solver, through cyipopt and the derivatives of a ``Tape``: no program and no ASL library.

Ipopt minimises s f(x), s = -1 for an objective that is maximised, with multipliers of its Lagrangian

    s f + lambda'g - z_L'(x - x_L) + z_U'(x - x_U)

In Pyomo's sign, d objective / d right-hand side, the multiplier of a row is -s lambda, and the reduced cost of a
variable is s (z_L - z_U).

Variables without a value start at 0, as in Pyomo's other interfaces, and Ipopt moves the start inside the bounds.
Multipliers are a start, too, with ``warm_start_init_point="yes"``, from the suffixes ``dual``, ``ipopt_zL_in`` and
``ipopt_zU_in`` of the model; ``ipopt_zL_out`` and ``ipopt_zU_out`` receive those of the bounds, the latter with the
opposite sign, as in the program. Rows without a free variable are not passed to Ipopt.

The time limit and Ctrl-C take effect between two iterations. A status "infeasible" counts only if the final point
violates a row.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from tempfile import NamedTemporaryFile
from typing import Any

import cyipopt
import numpy as np
import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.solution_loader import SolutionLoader

from solvers import interrupt
from solvers.clock import Clock
from solvers.model_cache import cached
from solvers.progress import print_new_lines
from solvers.result import FEASIBLE
from solvers.tape import SparseDerivatives, Tape
from solvers.values import bounds_of

_SOLVED = (0, 1, 6)  # optimal, acceptable, and feasible for a square system
_STOPPED_BY_US, _INFEASIBLE = 5, 2
_MEANING = {
    **dict.fromkeys(_SOLVED, TerminationCondition.convergenceCriteriaSatisfied),
    _INFEASIBLE: TerminationCondition.locallyInfeasible,
    4: TerminationCondition.unbounded,
    -1: TerminationCondition.iterationLimit,
    -4: TerminationCondition.maxTimeLimit,
    -5: TerminationCondition.maxTimeLimit,
}


class NonlinearProgram:
    """A model as arrays, with the functions that cyipopt calls.

    Attributes
    ----------
    variables, rows : list
        The free variables that are used, and the rows that contain any.
    violated : str
        Name of a violated row without free variables, or "".
    """

    def __init__(self, model: Any, clock: Clock, pressed: threading.Event) -> None:
        cache = cached(model)
        objective = next(iter(cache.objectives), None)
        self.sign = 1.0 if objective is None or objective.sense == pyo.minimize else -1.0
        sides = [row.to_bounded_expression() for row in cache.rows]
        bodies = [0.0 if objective is None else objective.expr, *(body for _, body, _ in sides)]
        names = ["The objective", *(f'Row "{row.name}"' for row in cache.rows)]
        self.tape = Tape(bodies, None, names)
        self.variables = self.tape.variables
        self.lower, self.upper = np.array([bounds_of(v) for v in self.variables]).reshape(-1, 2).T
        least = np.array([-np.inf if low is None else pyo.value(low) for low, _, _ in sides])
        most = np.array([np.inf if up is None else pyo.value(up) for _, _, up in sides])
        fixed = self.tape.fixed[self.tape.outputs[1:]]
        off = self.off(self.tape.values(np.zeros(len(self.variables)))[1:], least, most)
        self.violated = next((cache.rows[k].name for k in np.flatnonzero(fixed & (off > FEASIBLE)).tolist()), "")
        self.kept = np.flatnonzero(~fixed & (np.isfinite(least) | np.isfinite(most))) + 1
        self.rows = [cache.rows[k - 1] for k in self.kept.tolist()]
        self.least, self.most = least[self.kept - 1], most[self.kept - 1]
        self.derivatives = SparseDerivatives(self.tape, self.kept)
        self._clock, self._pressed = clock, pressed
        self.show, self.iterations = lambda: None, 0

    @staticmethod
    def off(values: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Return the violations of rows, relative to 1 or the side."""
        with np.errstate(invalid="ignore"):
            below = (least - values) / np.maximum(1.0, np.where(np.isfinite(least), np.abs(least), 1.0))
            above = (values - most) / np.maximum(1.0, np.where(np.isfinite(most), np.abs(most), 1.0))
        return np.maximum(0.0, np.fmax(below, above))

    def _weights(self, factor: float, multipliers: Any = 0.0) -> np.ndarray:
        weights = np.zeros(len(self.tape.outputs))
        weights[0], weights[self.kept] = self.sign * factor, multipliers
        return weights

    def start(self, warm: bool, model: Any) -> list[np.ndarray]:
        """Return the start: x, and with ``warm`` the multipliers of rows and bounds in the suffixes of the model."""
        point = [np.array([0.0 if v.value is None else v.value for v in self.variables])]
        if warm:
            parts = (
                ("dual", self.rows, -self.sign),
                ("ipopt_zL_in", self.variables, 1),
                ("ipopt_zU_in", self.variables, -1),
            )
            for name, held, sign in parts:
                suffix = model.component(name) or {}
                point.append(sign * np.array([suffix.get(c, 0.0) for c in held], dtype=float))
        return point

    def objective(self, x: np.ndarray) -> float:
        """Return the objective, to be minimised."""
        return self.sign * float(_checked(self.tape.values(x)[:1])[0])

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective."""
        return _checked(self.tape.gradient(x, self._weights(1.0)))

    def constraints(self, x: np.ndarray) -> np.ndarray:
        """Return the bodies of the rows."""
        return _checked(self.tape.values(x)[self.kept])

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and columns of the Jacobian."""
        return self.derivatives.jacobian_pattern

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the entries of the Jacobian."""
        return _checked(self.derivatives.jacobian(x))

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and columns of the Hessian of the Lagrangian."""
        return self.derivatives.hessian_pattern

    def hessian(self, x: np.ndarray, multipliers: np.ndarray, factor: float) -> np.ndarray:
        """Return the entries of the Hessian of the Lagrangian."""
        return _checked(self.derivatives.hessian(x, self._weights(factor, multipliers)))

    def intermediate(self, *state: Any) -> bool:
        """Return True to continue after an iteration."""
        self.show()
        self.iterations = state[1]
        return self._clock.left != 0 and not self._pressed.is_set()


def _checked(found: np.ndarray) -> np.ndarray:
    """Return finite numbers; for others Ipopt shortens its step."""
    if not np.all(np.isfinite(found)):
        raise cyipopt.CyIpoptEvaluationError
    return found


class Ipopt(SolverBase):
    """Pyomo interface to Ipopt; see the module.

    ``solver_options`` are the options of Ipopt by name. ``stop_event``: event that Ctrl-C sets during a solve; without
    an event the solve raises ``KeyboardInterrupt``.
    """

    CONFIG = SolverConfig()
    stop_event: threading.Event | None = None

    def available(self) -> Availability:
        """Return ``FullLicense``."""
        return Availability.FullLicense

    def version(self) -> tuple[int, ...]:
        """Return the version of Ipopt."""
        return tuple(cyipopt.IPOPT_VERSION)

    def solve(self, model: Any, **kwds: Any) -> Results:
        """Solve a model; the arguments are those of Pyomo's interfaces.

        Raises ModelError if an operation of the model is not smooth, and ValueError for an option or value that Ipopt
        rejects.
        """
        config = self.config(value=kwds, preserve_implicit=True)
        clock = Clock(config.time_limit)
        results = Results()
        results.solver_name, results.solver_version, results.solver_config = self.name, self.version(), config
        options = config.solver_options.value()
        with interrupt.setting_event() if self.stop_event is None else nullcontext(self.stop_event) as pressed:
            program = NonlinearProgram(model, clock, pressed)
            if program.violated:
                results.termination_condition = TerminationCondition.provenInfeasible
                results.solution_status = SolutionStatus.noSolution
                results.extra_info.solver_message = f'row "{program.violated}" is violated, and has no free variable'
                return results
            found = self._run(program, model, options, config.tee)
        if self.stop_event is None and pressed.is_set():
            raise KeyboardInterrupt
        status = found["status"]
        condition = _MEANING.get(status, TerminationCondition.error)
        if status == _STOPPED_BY_US:
            condition = TerminationCondition.interrupted if pressed.is_set() else TerminationCondition.maxTimeLimit
        misses = program.off(found["g"], program.least, program.most)
        if status == _INFEASIBLE and misses.max(initial=0.0) <= FEASIBLE:
            condition = TerminationCondition.error
        results.termination_condition = condition
        if condition is TerminationCondition.locallyInfeasible:
            results.solution_status = SolutionStatus.infeasible
        elif not np.all(np.isfinite(program.tape.values(found["x"]))):  # after a start without values
            results.solution_status = SolutionStatus.noSolution
        else:
            results.solution_status = SolutionStatus.optimal if status in _SOLVED else SolutionStatus.unknown
        results.incumbent_objective = program.sign * found["obj_val"]
        results.extra_info.solver_message = f"Ipopt: {found['status_msg'].decode()}"
        results.extra_info.iteration_count = program.iterations
        results.solution_loader = IpoptSolution(model, program, found)
        return results

    def _run(self, program: NonlinearProgram, model: Any, options: dict[str, Any], tee: list[Any]) -> dict[str, Any]:
        problem = cyipopt.Problem(
            n=len(program.variables),
            m=len(program.rows),
            problem_obj=program,
            lb=program.lower,
            ub=program.upper,
            cl=program.least,
            cu=program.most,
        )
        start = program.start(options.get("warm_start_init_point") == "yes", model)
        with NamedTemporaryFile("r", suffix=".log", errors="replace") if tee else nullcontext() as log:
            quiet: dict[str, Any] = {"print_level": 0, "sb": "yes"}
            if log is not None:
                quiet |= {"output_file": log.name, "file_print_level": 5, "sb": "no"}
                program.show = lambda: print_new_lines(log, tee)
            for name, setting in {**quiet, **options}.items():
                _set(problem, name, setting)
            found: dict[str, Any] = problem.solve(*start)[1]
            problem.close()
            program.show()
        return found


def _set(problem: Any, name: str, setting: Any) -> None:
    """Set an option; a whole number serves where Ipopt requires a real one. Raises ValueError if Ipopt rejects it."""
    for attempt in [setting, float(setting)] if type(setting) is int else [setting]:
        try:
            problem.add_option(name, attempt)
            return
        except TypeError:
            continue
    raise ValueError(f"Ipopt rejects {name}={setting!r}")


class IpoptSolution(SolutionLoader):
    """Values, multipliers and reduced costs of one solve."""

    def __init__(self, model: Any, program: NonlinearProgram, found: dict[str, Any]) -> None:
        self._pyomo_model, self._program, self._found = model, program, found

    def get_number_of_solutions(self) -> int:
        """Return 1."""
        return 1

    def load_vars(self, vars_to_load: Sequence[Any] | None = None) -> None:
        """Load the values, and the multipliers of bounds into the suffixes of the model for them."""
        for variable, number in self.get_vars(vars_to_load).items():
            variable.set_value(number, skip_validation=True)
        for name, key, sign in (("ipopt_zL_out", "mult_x_L", 1), ("ipopt_zU_out", "mult_x_U", -1)):
            suffix = self._pyomo_model.component(name)
            if suffix is not None:
                suffix.update(zip(self._program.variables, (sign * self._found[key]).tolist(), strict=True))

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the values of the free variables."""
        return _chosen(self._program.variables, self._found["x"], vars_to_load)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Return the multipliers of rows, in Pyomo's sign; see the module."""
        return dict(_chosen(self._program.rows, -self._program.sign * self._found["mult_g"], cons_to_load))

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Return the reduced costs of the free variables."""
        costs = self._program.sign * (self._found["mult_x_L"] - self._found["mult_x_U"])
        return _chosen(self._program.variables, costs, vars_to_load)


def _chosen(held: Sequence[Any], numbers: np.ndarray, wanted: Sequence[Any] | None) -> ComponentMap:
    found = ComponentMap(zip(held, numbers.tolist(), strict=True))
    return found if wanted is None else ComponentMap((c, found[c]) for c in wanted if c in found)
