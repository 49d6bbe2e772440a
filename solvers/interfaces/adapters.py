"""Adapters of the solvers: construction, and corrections of their Pyomo interfaces.

The table of solvers refers to these functions and classes. Each correction is based on a measurement (Pyomo 6.10.1,
highspy 1.15.1, pyscipopt 6.3, cyipopt 1.7.0 with Ipopt 3.11.9, glpsol 5.0).
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.common.timing import HierarchicalTimer
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2
from pyomo.contrib.solver.solvers.gurobi.gurobi_persistent import GurobiPersistent
from pyomo.contrib.solver.solvers.scip import base as scip_base
from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect
from pyomo.core.expr.numeric_expr import AbsExpression, NegationExpression, ProductExpression, SumExpression
from pyomo.core.expr.relational_expr import TrivialRelationalExpression
from pyomo.core.staleflag import StaleFlagManager
from pyomo.opt import TerminationCondition as Legacy
from pyomo.solvers.plugins.solvers.GLPK import GLPKSHELL

from solvers import interrupt
from solvers.clock import Clock
from solvers.errors import OptionError
from solvers.interfaces.installation import scip_options
from solvers.progress import print_new_lines


def modern(name: str) -> Callable[[], Any]:
    """Return a function that constructs a solver of Pyomo's second generation."""
    return lambda: SolverFactoryV2(name)


def classic(name: str, *, module: str = "pyomo.environ") -> Callable[[], Any]:
    """Return a function that constructs a solver of Pyomo's first generation; ``module`` registers its name."""
    return lambda: importlib.import_module(module) and pyo.SolverFactory(name)


@cache
def _drop_log_records(logger: str, text: str) -> None:
    """Drop the records of a logger that contain a text."""
    logging.getLogger(logger).addFilter(lambda record: text not in str(record.msg))


def pounce() -> Any:
    """Construct POUNCE; the import of its package registers it in Pyomo."""
    import pyomo_pounce  # noqa: F401

    return _without_log_parser(SolverFactoryV2("pounce"))


def ipopt() -> Any:
    """Construct the interface to an Ipopt executable."""
    return _without_log_parser(SolverFactoryV2("ipopt"))


def _without_log_parser(solver: Any) -> Any:
    """Disable Pyomo's parser of the Ipopt log, which raises or warns if standard error interrupts a line of the log."""
    solver._parse_ipopt_output = lambda log: {}
    return solver


def cyipopt() -> Any:
    """Construct our interface to Ipopt."""
    from solvers.interfaces.ipopt import Ipopt

    return Ipopt()


def highs_silent() -> Any:
    """Construct HiGHS without Pyomo's capture of the output of the process."""
    from solvers.interfaces.highs import Highs, QuietHighs

    _drop_log_records(Highs.__module__, "kInterrupt")  # Pyomo warns about the status of HiGHS after Ctrl-C
    return QuietHighs()


def clarabel() -> Any:
    """Construct our interface to Clarabel."""
    from solvers.clarabel.interface import Clarabel

    return Clarabel()


class Gurobi(GurobiPersistent):
    """Pyomo's ``gurobi_persistent``, which here accepts products of parameters and quadratic terms.

    Pyomo splits ``p * (p * x - x * y)`` into its terms and the remainder ``p * (p * 0) * x``, which is 0 for every p.
    It takes the remainder for a nonlinear term and rejects the expression.
    """

    def _get_expr_from_pyomo_repn(self, repn: Any) -> Any:
        if repn.nonlinear_expr is not None and _is_zero(repn.nonlinear_expr):
            repn.nonlinear_expr = None
        return super()._get_expr_from_pyomo_repn(repn)


def _is_zero(expression: Any) -> bool:
    """Return whether an expression has the number 0 as a factor."""
    if type(expression) in native_numeric_types:
        return bool(expression == 0)
    if isinstance(expression, ProductExpression):
        return any(map(_is_zero, expression.args))
    return isinstance(expression, SumExpression | NegationExpression) and all(map(_is_zero, expression.args))


_scip_threads = interrupt.Crew(32)  # CppAD in SCIP crashes after 48 threads in the life of a process


IPOPT_OPTFILE, COLUMN_ORDER = "nlpi/ipopt/optfile", "propagating/symmetry/orbitopalreduction/columnordering"


scip_base._operator_map.setdefault(AbsExpression, scip_base._handle_abs)  # Pyomo's table has no entry for abs(x)


class Scip(ScipDirect):
    """Pyomo's ``scip_direct`` without its capture of the output of the process, which deadlocks threads.

    SCIP runs in a separate thread without the lock of the interpreter. It is silent, because messages to Python without
    that lock crash the process: the log goes to a file and is printed from there on request. SCIP's handler of Ctrl-C
    prints text and applies to the whole process. It is off; the event ``stop_event`` stops SCIP.

    By default SCIP ends a linear program when its dual objective exceeds the incumbent. With cuts of nonlinear rows the
    dual point can be infeasible by a tolerance, and optima were cut off (in 7 of 120 random convex models with rows in
    units of 1e5, in 2 of 370 in units near 1). With nonlinear rows every linear program is therefore solved completely.

    Two parts of SCIP 10.0 crash the process on some models: METIS, which orders the matrices of the Ipopt inside SCIP
    (``scip_ipopt.opt`` selects another ordering), and orbitopal reduction with a dynamic column order, which is off.
    """

    stop_event: threading.Event | None = None

    def _add_constraint(self, con: Any) -> None:
        if not isinstance(con.expr, TrivialRelationalExpression):  # Pyomo raises an error for Constraint.Feasible
            super()._add_constraint(con)

    def solve(self, model: Any, **words: Any) -> Any:
        """Solve a model; the arguments are those of Pyomo's interface."""
        clock = Clock(words.get("time_limit"))
        config = self.config(value=words, preserve_implicit=True)
        StaleFlagManager.mark_all_as_stale()
        if config.timer is None:
            config.timer = HierarchicalTimer()
        scip, loader, has_objective = self._create_solver_model(model, config)
        scip.hideOutput()
        parameters = {"lp/threads": config.threads, "limits/time": clock.left}  # SCIP's clock starts here
        parameters |= {"limits/gap": config.rel_gap, "limits/absgap": config.abs_gap, COLUMN_ORDER: 0}
        if any(row.isNonlinear() for row in scip.getConss()):
            parameters["lp/disablecutoff"] = 1  # see the docstring of the class
            if IPOPT_OPTFILE in scip_options():
                parameters[IPOPT_OPTFILE] = str(Path(__file__).with_name("scip_ipopt.opt"))
        for name, value in {**parameters, "misc/catchctrlc": False, **config.solver_options}.items():
            if value is not None:
                try:
                    scip.setParam(name, value)
                except (TypeError, ValueError) as error:  # the message does not contain the name
                    raise ValueError(f"{name}={value!r}: {error}") from error
        if config.warmstart_discrete_vars:
            self._mipstart()
        config.timer.start("optimize")
        try:
            if config.tee:
                with NamedTemporaryFile("r", suffix=".log", errors="replace") as log:
                    scip.setLogfile(log.name)
                    self._run(scip, clock.left, lambda: print_new_lines(log, config.tee))
                    scip.setLogfile(None)
                    print_new_lines(log, config.tee)
            else:
                self._run(scip, clock.left)
        finally:
            config.timer.stop("optimize")
        return self._populate_results(scip, loader, has_objective, config)

    def _run(self, scip: Any, limit: float | None, meanwhile: Callable[[], None] | None = None) -> None:
        stop, start = scip.interruptSolve, _scip_threads.start
        interrupt.attended(scip.optimizeNogil, stop, self.stop_event, meanwhile, start, limit)


class Glpk(GLPKSHELL):
    """Pyomo's ``glpk``, with the termination condition taken from the log.

    The solution file reports an infeasible LP as "unbounded" or "undefined", and a time limit as "feasible".
    """

    _CONDITIONS = (
        ("TIME LIMIT EXCEEDED", Legacy.maxTimeLimit),
        ("HAS NO PRIMAL FEASIBLE SOLUTION", Legacy.infeasible),
        ("HAS NO INTEGER FEASIBLE SOLUTION", Legacy.infeasible),
        ("HAS UNBOUNDED PRIMAL SOLUTION", Legacy.unbounded),
        ("HAS NO DUAL FEASIBLE SOLUTION", Legacy.infeasibleOrUnbounded),
    )

    def process_soln_file(self, results: Any) -> None:
        """Read the solution, then correct the termination condition from the log."""
        super().process_soln_file(results)
        with open(self._log_file, encoding="utf-8", errors="replace") as file:
            log = file.read()
        for text, condition in self._CONDITIONS:
            if text in log:
                results.solver.termination_condition = condition
                return


@dataclass
class Attempt:
    """One call of a solver: the time limit in the type of the solver, and the event that Ctrl-C sets."""

    limit: float | None
    pressed: threading.Event = field(default_factory=threading.Event)


@contextmanager
def plain(solver: Any, model: Any, options: Any, limit: float | None, integer: bool) -> Iterator[Attempt]:
    """Raise ``KeyboardInterrupt`` on Ctrl-C, for interfaces that need no correction."""
    with interrupt.raising():
        yield Attempt(limit)


def _pass_event(solver: Any, pressed: threading.Event) -> bool:
    """Pass the event of Ctrl-C to an interface of this package; return False for other interfaces."""
    ours = hasattr(solver, "stop_event")
    if ours:
        solver.stop_event = pressed
    return ours


@contextmanager
def with_event(solver: Any, model: Any, options: Any, limit: float | None, integer: bool) -> Iterator[Attempt]:
    """Stop an interface of this package at Ctrl-C by its event, and keep the point."""
    with interrupt.setting_event() as pressed:
        _pass_event(solver, pressed)
        yield Attempt(limit, pressed)


@contextmanager
def highs(solver: Any, model: Any, options: Any, limit: float | None, integer: bool) -> Iterator[Attempt]:
    """Reset what HiGHS keeps between solves, and keep the incumbent at Ctrl-C.

    HiGHS keeps options for later solves, measures the time limit of an LP from the first solve of the object, and
    reports a wrong value of an option in its log only. Pyomo's own interface runs HiGHS in this thread, whose pool of
    threads would make HiGHS reject another number of threads without a message: the pool is closed before and after.
    """
    import highspy

    from solvers.interfaces.highs import interruptible

    clock = Clock(limit)
    if solver._model is not model:
        solver.set_instance(model)
    native = solver._solver_model
    native.resetOptions()
    native.setOptionValue("output_flag", False)
    for name, value in options.own.items():
        if native.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise OptionError(f"{name}={value!r} is not a value that HiGHS allows for this option.")
    limit = clock.left
    if limit is not None and not integer:
        limit += native.getRunTime()
    with interrupt.setting_event() as pressed:
        if _pass_event(solver, pressed):
            yield Attempt(limit, pressed)
            return
        callbacks = (native.cbSimplexInterrupt, native.cbIpmInterrupt, native.cbMipInterrupt)
        with interruptible(callbacks, pressed):
            highspy.Highs.resetGlobalScheduler(False)
            try:
                yield Attempt(limit, pressed)
            finally:
                highspy.Highs.resetGlobalScheduler(False)
                native.HandleKeyboardInterrupt = False  # Pyomo adds one more handler at each solve
