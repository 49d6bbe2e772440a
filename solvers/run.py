"""``solve``: one function for all solvers and drivers; ``takers``: the drivers and solvers that can solve a model."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.block import BlockData

from solvers import interrupt
from solvers import progress as watching
from solvers.clock import Clock, one_clock
from solvers.drivers.base import Driver
from solvers.drivers.benders.base import DecompositionDriver
from solvers.drivers.catalogue import DRIVERS
from solvers.drivers.penalty import by_values, penalty_of
from solvers.errors import Error, ModelError, SolverError, SolverFailure
from solvers.facts.base import Facts, always_on, built_of, facts_of
from solvers.facts.equivalent import EquivalentModel
from solvers.facts.structure import Structure, stages_of
from solvers.interfaces.registry import SOLVERS, default_solver, find, names, recognise
from solvers.interfaces.registry import Capability as C
from solvers.lazy import PREFIX
from solvers.model.classes import needs
from solvers.model.duals import dual_suffix
from solvers.model.finite import refuse_nonfinite
from solvers.model.function import is_convex
from solvers.model.rewriting import smooth_pairs, unseen
from solvers.model_cache import ModelCache, cached
from solvers.result import Result
from solvers.shared_state import put_off
from solvers.values import fixed, put_back
from solvers.whole_model.outcome import trivial_result
from solvers.whole_model.solve import solve_by_class, solve_whole

_logger = logging.getLogger("solvers")


def solve(
    model: pyo.ConcreteModel,
    solver: Any = None,
    *,
    progress: bool = False,
    cancel: interrupt.Cancel | None = None,
    **options: Any,
) -> Result:
    """Solve a model with a solver or driver, and store the solution in the variables of the model.

    Parameters
    ----------
    model : pyo.ConcreteModel
    solver : str or Pyomo solver object, optional
        A name in ``solvers.available()``, another name in Pyomo's factory, or a solver object. A named solver is never
        replaced. The default is the solver that the builder of the model recommends. If it rejects an edited model, or
        there is no recommendation, the solver is chosen by the class of the model (highs, clarabel, pounce, scip), and
        the message gives the reason.
    progress : bool
        Show a status line in a terminal or in Jupyter; elsewhere write a line to standard error every ten seconds.
        ``tee=True`` prints the iteration table of a driver, or the log of a solver.
    cancel : Cancel, optional
        Token that ends the solve from another thread, as Ctrl-C does.
    **options
        ``time_limit`` (s, whole run), ``gap`` (relative, default 1e-4), ``threads``, ``seed``, ``tee``, and options of
        the driver or solver.

    Returns
    -------
    Result
        Status, stop reason, objective, bound, gap, selected names and, from drivers, the iteration table.

    Raises
    ------
    SolverError
        If the solver is unknown, not installed, or cannot solve this class of model. Also if it fails, unless the
        builder of the model provides a feasible point, which is then returned.
    OptionError
        If an option is unknown, or its value is not allowed.
    ModelError
        If the model cannot be solved this way. The message names the row.

    Examples
    --------
    >>> import pyomo.environ as pyo, solvers
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(bounds=(0, 3))
    >>> model.objective = pyo.Objective(expr=-model.x)
    >>> solvers.solve(model, "highs").objective
    -3.0
    """
    if not (isinstance(model, BlockData) and model.is_constructed()):
        raise ModelError(
            f"solve needs a Pyomo ConcreteModel and got {type(model).__name__}: pass the model that a builder returns."
        )
    if (facts := facts_of(model)) is not None:
        facts.check_names(model)
    with interrupt.run(cancel), one_clock(), watching.shown(progress):
        on = [(b, 1.0) for b in always_on(model)]
        try:
            with fixed(on):
                result = _solve_by_default(model, options) if solver is None else _solve(model, solver, options)
        except SolverFailure as failure:
            trivial = trivial_result(model, solver, failure, options)
            if trivial is None:
                raise
            result = trivial
        if result.has_solution:
            put_back(on)
        if facts is not None and facts.note:
            result.message = f"{result.message} {facts.note}".strip()
        return result


def _solve_by_default(model: pyo.ConcreteModel, options: dict[str, Any]) -> Result:
    """Solve with the recommended solver, or by the class of the model if that rejects it or is not installed.

    Raise the rejection if rows are left to the driver, or if the options are those of the driver only. A model with an
    equivalent model has complementarities, which need a solver with ordered sets.
    """
    facts = facts_of(model)
    if facts is None or not facts.default_solver:
        return _solve(model, None, options)
    try:
        return _solve(model, facts.default_solver, options)
    except (ModelError, SolverError) as error:
        if facts.implicit:
            raise
        refusal = error
    why = f"Not by {facts.default_solver}: {refusal}"
    _logger.info(why)
    try:
        result = _solve(model, default_solver([C.SOS]).name if _equivalent(facts) is not None else None, options)
    except Error:
        raise refusal from None
    if why not in result.message:
        result.message = f"{result.message} {why}".strip()
    return result


def _solve(model: pyo.ConcreteModel, solver: Any, options: dict[str, Any]) -> Result:
    """Solve the model; if it has a penalty whose value must be found, solve it for several values."""
    penalty = penalty_of(model)
    if penalty is None:
        return _solve_once(model, solver, options)
    return by_values(model, penalty, lambda: _solve_once(model, solver, options), options)


def _solve_once(model: pyo.ConcreteModel, solver: Any, options: dict[str, Any]) -> Result:
    if isinstance(solver, str) and solver.removeprefix(PREFIX) in DRIVERS:
        return _solve_by_driver(model, DRIVERS[solver.removeprefix(PREFIX)], options)
    clock = Clock.of_run(options.get("time_limit"))
    logs = bool(options.get("tee"))  # a log replaces the status line
    with put_off(), watching.paused(logs), watching.doing("whole model", left=lambda: clock.left):
        cache = ModelCache(model)
        refuse_nonfinite(cache)
        if solver is None:
            return solve_by_class(cache, options)
        return solve_whole(cache, find(solver, DRIVERS) if isinstance(solver, str) else recognise(solver), options)


def _solve_by_driver(model: pyo.ConcreteModel, driver: type[Driver], options: dict[str, Any]) -> Result:
    """Solve with a driver. A decomposition driver solves the equivalent model if the model has no structure.

    The equivalent model is not used if the user states how to decompose the model.
    """
    target, equivalent = model, _equivalent(facts_of(model))
    stated = any(options.get(option) is not None for option in ("complicating", "blocks"))
    if equivalent is not None and (stated or stages_of(model) is not None):
        equivalent = None
    with put_off():  # while the model is decomposed
        if equivalent is not None and issubclass(driver, DecompositionDriver):
            target = equivalent.exact(model, built_of(model))
            if (stale := dual_suffix(model)) is not None:
                stale.clear()
                target.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)  # the message explains why it stays empty
        with watching.doing(f"{driver.name}: decomposing the model"):
            run = driver.kind_for(target, options)(target, **options)
    result = run.solve()
    if equivalent is not None and target is not model and result.has_solution:
        equivalent.load(model, target)
    return result


def _equivalent(facts: Facts | None) -> EquivalentModel | None:
    """Return the equivalent model, which decomposition drivers solve in place of a model without structure, or None."""
    return None if facts is None or isinstance(facts, Structure) else facts.equivalent


@dataclass(frozen=True)
class Takers:
    """Solvers and drivers that can solve a model, installed or not.

    Attributes
    ----------
    default : str
        Default solver or driver.
    drivers : list of str
        Drivers that can decompose the model without further options.
    whole : list of str
        Solvers for its class; empty if the model leaves rows to a driver.
    local : list of str
        Local solvers for its class.
    """

    default: str
    drivers: list[str]
    whole: list[str]
    local: list[str]


def takers(model: Any) -> Takers:
    """Return the solvers and drivers that can solve a model.

    Examples
    --------
    >>> import fsmodels as fs
    >>> found = takers(fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=2))
    >>> found.default, found.drivers[:2]
    ('branch-and-cut', ['benders', 'branch-and-cut'])
    """
    facts = facts_of(model)
    drivers = [name for name in DRIVERS if _takes(name, model)]
    classes = [] if facts is not None and facts.implicit else _classes(model)
    able = list(dict.fromkeys(name for capability in classes for name in names(capability, installed=False)))
    default = facts.default_solver if facts is not None and facts.default_solver else default_solver(classes).name
    whole = [name for name in able if not SOLVERS[name].local]
    return Takers(default, drivers, whole, [name for name in able if SOLVERS[name].local])


def _takes(name: str, model: Any) -> bool:
    """Return True if a driver can decompose a model; nothing is solved."""
    try:
        DRIVERS[name].kind_for(model, {})(model)
    except Error:
        return False
    return True


def _classes(model: Any) -> list[C]:
    """Return the capabilities for the whole model; a solver needs one of them."""
    cache = cached(model)
    if unseen(cache):
        return [C.SOS, C.NLP] if smooth_pairs(cache) else [C.SOS]
    needed = needs(cache)
    if needed == [C.QP] and not all(is_convex(o.expr, float(o.sense)) for o in cache.objectives):
        return [C.NONCONVEX, C.NLP]
    return needed
