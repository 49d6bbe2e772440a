"""``solve``: one call for every solver and driver; ``takers``: the drivers and solvers of a model."""

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
from solvers.model.rewriting import unseen
from solvers.reading import ModelReading, read
from solvers.result import Result
from solvers.shared_state import put_off
from solvers.values import fixed, put_back
from solvers.whole_model.outcome import trivial_result
from solvers.whole_model.solve import solve_by_class, solve_whole

_logger = logging.getLogger("solvers")


def solve(model: pyo.ConcreteModel, solver: Any = None, *, progress: bool = False, **options: Any) -> Result:
    """Solve a model with a solver or driver, and leave the answer's values on the model.

    Parameters
    ----------
    model : pyo.ConcreteModel
    solver : str or Pyomo solver object, optional
        A name of ``solvers.available()``, any other name that Pyomo knows, or a solver object. Default: what the
        model's structure names, or where that refuses an edited model, or nothing is named, by the model's class
        (highs, clarabel, pounce, scip); the message then says why. What you name is never replaced.
    progress : bool
        Show how things stand while they change, in a terminal and in Jupyter; elsewhere a line every ten seconds goes
        to standard error. ``tee=True`` shows a driver's iteration table, a solver's own log.
    **options
        ``time_limit`` (s, whole run), ``gap`` (relative, default 1e-4), ``threads``, ``seed``, ``tee``, and the
        driver's or solver's own.

    Returns
    -------
    Result
        Status, stop reason, objective, bound, gap, selected names and, from drivers, the iteration table.

    Raises
    ------
    SolverError
        If the solver is unknown, not installed, cannot solve this class of model, or fails and the model's builder
        knows no feasible point to return in its place.
    OptionError
        If an option is unknown, or its value not allowed.
    ModelError
        If the model cannot be treated this way; the row is named.

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
            f"solve needs a Pyomo ConcreteModel and got {type(model).__name__}: give the model that a builder returns."
        )
    if (known := facts_of(model)) is not None:
        known.check_names(model)
    with interrupt.run(), one_clock(), watching.shown(progress):
        on = [(b, 1.0) for b in always_on(model)]
        try:
            with fixed(on):
                result = _solved(model, solver, options)
        except SolverFailure as failure:
            found = trivial_result(model, solver, failure, options)
            if found is None:
                raise
            result = found
        if result.has_solution:
            put_back(on)
        facts = facts_of(model)
        if facts is not None and facts.note:
            result.message = f"{result.message} {facts.note}".strip()
        return result


def _solved(model: pyo.ConcreteModel, solver: Any, options: dict[str, Any]) -> Result:
    facts = facts_of(model)
    if solver is None and facts is not None and facts.default_solver:
        try:
            return _valued(model, facts.default_solver, options)
        except (ModelError, SolverError) as refusal:
            return _otherwise(model, facts, options, refusal)
    return _valued(model, solver, options)


def _otherwise(model: pyo.ConcreteModel, facts: Facts, options: dict[str, Any], refusal: Error) -> Result:
    """Solve by the model's class where the solver that its builder names refuses it, for an edit or an installation.

    What the builder leaves to a driver no other solver sees; options that only the driver has were meant for it. What
    has an equivalent model is a choice, which a solver with ordered sets makes, and a local one does not.
    """
    if facts.implicit:
        raise refusal
    _logger.info("Not by %s: %s", facts.default_solver, refusal)
    try:
        result = _valued(model, default_solver([C.SOS]).name if _equivalent(facts) is not None else None, options)
    except Error:
        raise refusal from None
    why = f"Not by {facts.default_solver}: {refusal}"
    if why not in result.message:
        result.message = f"{result.message} {why}".strip()
    return result


def _valued(model: pyo.ConcreteModel, solver: Any, options: dict[str, Any]) -> Result:
    """Solve, for the values of a penalty where the model leaves one to be found."""
    penalty = penalty_of(model)
    if penalty is None:
        return _once(model, solver, options)
    return by_values(model, penalty, lambda: _once(model, solver, options), options)


def _once(model: pyo.ConcreteModel, solver: Any, options: dict[str, Any]) -> Result:
    if isinstance(solver, str) and solver.removeprefix(PREFIX) in DRIVERS:
        return _driven(model, DRIVERS[solver.removeprefix(PREFIX)], options)
    clock = Clock.of_run(options.get("time_limit"))
    logs = bool(options.get("tee"))  # which are better than what could be shown beside
    with put_off(), watching.paused(logs), watching.doing("whole model", left=lambda: clock.left):
        reading = ModelReading(model)
        refuse_nonfinite(reading)
        if solver is None:
            return solve_by_class(reading, options)
        return solve_whole(reading, find(solver, DRIVERS) if isinstance(solver, str) else recognise(solver), options)


def _driven(model: pyo.ConcreteModel, driver: type[Driver], options: dict[str, Any]) -> Result:
    """Solve by a driver; by its equivalent model what the driver cannot take apart as it is."""
    target, equivalent = model, _equivalent(facts_of(model))
    if equivalent is not None and _declared(model, options):
        equivalent = None
    with put_off():  # while the model is taken apart
        if equivalent is not None and issubclass(driver, DecompositionDriver):
            target = equivalent.exact(model, built_of(model))
            if (stale := dual_suffix(model)) is not None:
                stale.clear()
                target.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)  # for what is said of it
        with watching.doing(f"{driver.name}: taking the model apart"):
            run = driver.kind_for(target, options)(target, **options)
    result = run.solve()
    if equivalent is not None and target is not model and result.has_solution:
        equivalent.load(model, target)
    return result


def _declared(model: pyo.ConcreteModel, options: dict[str, Any]) -> bool:
    """Return whether the user says how to take a model apart."""
    given = any(options.get(option) is not None for option in ("complicating", "blocks"))
    return given or stages_of(model) is not None


def _equivalent(facts: Facts | None) -> EquivalentModel | None:
    """Return the equivalent model by which decomposition drivers solve a model that has no structure of its own."""
    return None if facts is None or isinstance(facts, Structure) else facts.equivalent


@dataclass(frozen=True)
class Takers:
    """Who can solve a model, installed here or not.

    Attributes
    ----------
    default : str
        Who solves it where nobody is named.
    drivers : list of str
        That take it apart without being told how.
    whole : list of str
        Solvers of its class; none where the model leaves rows to a driver.
    local : list of str
        The same, without a proof of optimality.
    """

    default: str
    drivers: list[str]
    whole: list[str]
    local: list[str]


def takers(model: Any) -> Takers:
    """Return who can solve a model.

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
    """Return whether a driver takes a model apart; it solves nothing."""
    try:
        DRIVERS[name].kind_for(model, {})(model)
    except Error:
        return False
    return True


def _classes(model: Any) -> list[C]:
    """Return what a solver of the whole model must be able to do, as alternatives."""
    reading = read(model)
    hidden = unseen(reading)
    if hidden:
        return [C.SOS, C.NLP] if hidden == ["Complementarity"] else [C.SOS]
    needed = needs(reading)
    if needed == [C.QP] and not all(is_convex(o.expr, float(o.sense)) for o in reading.objectives):
        return [C.NONCONVEX, C.NLP]
    return needed
