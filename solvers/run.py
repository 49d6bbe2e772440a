"""``solve``: one call for every solver and driver."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import PyomoException
from pyomo.gdp import Disjunct

from solvers.benders import Benders
from solvers.conflict import clashing_rows
from solvers.decomposition import Split, single_objective, split
from solvers.driver import Driver, check_limits
from solvers.errors import ModelError, OptionError, SolverError
from solvers.interfaces import Answer, Runner, SolveOptions
from solvers.model_class import needs, unseen, violation
from solvers.registry import COMMON, SOLVERS, SolverSpec, describe, find, names
from solvers.registry import Capability as C
from solvers.result import Result, SolutionStatus, relative_gap
from solvers.structure import Structure
from solvers.subproblem import OracleSubproblem, SwitchedSubproblem
from solvers.trace import Clock

DRIVERS: dict[str, type[Driver]] = {driver.name: driver for driver in [Benders]}
FEASIBLE = 1e-6  # largest violation of a point called optimal
DEFAULT_GAP = 1e-4
_DEFAULTS = [("highs", C.LP), ("highs", C.MILP), ("clarabel", C.QP), ("clarabel", C.QCP), ("pounce", C.NLP)]
_DEFAULTS += [("scip", C.MIQP), ("scip", C.MIQCP), ("scip", C.NONCONVEX), ("scip", C.MINLP)]


def solve(model: pyo.ConcreteModel, solver: Any = None, **options: Any) -> Result:
    """Solve a model with a solver or driver, and leave the answer's values on the model.

    Parameters
    ----------
    model : pyo.ConcreteModel
    solver : str or Pyomo solver object, optional
        A name of ``solvers.available()``, any other name that Pyomo knows, or a solver object. Default: the driver
        the model's structure names, else by the model's class (highs, clarabel, pounce, scip).
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
        If the solver is unknown, not installed, or cannot solve this class of model.
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
    structure = getattr(model, "structure", None)
    if solver is None:
        solver = structure.default_solver if structure is not None else _default(model)
    if isinstance(solver, str) and solver in DRIVERS:
        return DRIVERS[solver](model, **options).solve()
    if isinstance(solver, str):
        spec = find(solver)
    elif callable(getattr(solver, "solve", None)):
        spec = SolverSpec(getattr(solver, "name", type(solver).__name__), ~C.LAZY_CUTS, "", lambda: solver, lambda: "")
    else:
        raise SolverError(f"solver={solver!r} is neither a name nor a Pyomo solver: use one of {', '.join(SOLVERS)}.")
    return _solve_whole(model, spec, options)


def _default(model: Any) -> str:
    hidden = unseen(model)
    if hidden:
        return "pounce" if hidden == ["Complementarity"] else "scip"
    needed = needs(model)
    return next(name for name, capability in _DEFAULTS if capability in needed)


def _solve_whole(model: Any, spec: SolverSpec, options: dict[str, Any]) -> Result:
    """Solve the monolith with one Pyomo solver."""
    clock = Clock(options.get("time_limit"))
    words = _words(spec, options)
    objective = single_objective(model)
    minimize = objective.sense == pyo.minimize
    structure: Structure | None = getattr(model, "structure", None)
    parts = split(model, structure) if structure is not None else None  # refuses a big-M that no longer holds
    before = [(v, v.value) for v in model.component_data_objects(pyo.Var, descend_into=(pyo.Block, Disjunct))]
    target, copies = _visible(model, spec)
    needed = needs(target)
    if not any(n in spec.capabilities for n in needed):
        able = sorted({name for n in needed for name in names(n)})
        raise SolverError(
            f'Solver "{spec.name}" cannot solve this model, which needs {describe(needed[0])}. '
            f"Installed solvers that can: {', '.join(able) or 'none'}."
        )
    integer = any(n & (C.MILP | C.MIQP | C.MIQCP | C.MINLP) for n in needed) or _has_integers(target)
    answer = Runner(spec, words).solve(target, time_limit=clock.left, integer=integer)
    if answer.has_point:
        for v, copy in copies:
            v.set_value(copy.value, skip_validation=True)
        if structure is not None and parts is not None:
            _polish(model, structure, parts, clock)
    else:
        for v, value in before:
            v.set_value(value, skip_validation=True)
    return _judged(model, spec, answer, options, minimize=minimize, seconds=clock, structure=structure, parts=parts)


def _judged(
    model: Any,
    spec: SolverSpec,
    answer: Answer,
    options: dict[str, Any],
    *,
    minimize: bool,
    seconds: Clock,
    structure: Structure | None,
    parts: Split | None,
) -> Result:
    """Recompute the objective from the model and say what is proven of it."""
    result = Result(answer.status, answer.stop_reason, minimize=minimize, solver=spec.name, options=options)
    result.message = "" if answer.status is SolutionStatus.OPTIMAL else answer.message
    if answer.has_point:
        result.objective = float(pyo.value(single_objective(model)))
        result.bound = answer.bound
        error = violation(model)
        result.details["violation"] = error
        gap = relative_gap(result.objective, result.bound, minimize=minimize)
        asked = options.get("gap", DEFAULT_GAP)
        if error > FEASIBLE:
            result.status = SolutionStatus.INFEASIBLE if error > 1e-3 else SolutionStatus.FEASIBLE
            result.message = f"{spec.name}'s point misses the model's rows by {error:.1e}: not called optimal."
            if result.status is SolutionStatus.INFEASIBLE:
                result.status = SolutionStatus.NO_SOLUTION
        elif result.status is SolutionStatus.OPTIMAL and (gap is None or gap > asked):
            result.status = SolutionStatus.FEASIBLE
            result.message = (
                f"{spec.name} says optimal; its bound proves the objective to {gap:.1e} only." if gap else ""
            )
        elif result.status is SolutionStatus.FEASIBLE and gap is not None and gap <= asked:
            result.status = SolutionStatus.OPTIMAL
        if structure is not None and structure.selected is not None:
            result.selected = structure.selected(model)
    elif result.status is SolutionStatus.INFEASIBLE and parts is not None:
        result.message = clashing_rows(parts, Runner(find("highs"), SolveOptions()))
    result.seconds = seconds.elapsed
    return result


def _words(spec: SolverSpec, options: dict[str, Any]) -> SolveOptions:
    """Sort the common words from the solver's own options."""
    check_limits(options)
    drivers_own = {f.name for driver in DRIVERS.values() for f in dataclasses.fields(driver.options_type)}
    own = {k: v for k, v in options.items() if k not in COMMON}
    for name in own:
        if name in drivers_own:
            raise OptionError(f'Option "{name}" belongs to the drivers ({", ".join(DRIVERS)}), not to {spec.name}.')
    common = {k: options[k] for k in COMMON if k in options}
    common.setdefault("gap", DEFAULT_GAP)
    return SolveOptions(**common, own=own)


def _has_integers(model: Any) -> bool:
    return any(not v.is_continuous() and not v.fixed for v in model.component_data_objects(pyo.Var))


def _visible(model: Any, spec: SolverSpec) -> tuple[Any, Sequence[tuple[Any, Any]]]:
    """Return a model whose rows the solver sees all, and pairs (user's variable, its copy) to bring values back.

    Disjunctions, logical constraints and complementarities are transformed on a clone.

    Raises
    ------
    ModelError
        If a component cannot be transformed, for example a disjunction without bounds for its big-M.
    """
    hidden = unseen(model)
    if not hidden:
        return model, ()
    if "SOSConstraint" in hidden and spec.name not in ("scip", "gurobi"):
        raise ModelError(f"The model has SOS constraints, which {spec.name} does not see. Solve with scip or gurobi.")
    descend = (pyo.Block, Disjunct)
    clone = model.clone()
    pairs = list(
        zip(
            model.component_data_objects(pyo.Var, descend_into=descend),
            clone.component_data_objects(pyo.Var, descend_into=descend),
            strict=True,
        )
    )
    smooth = spec.local
    steps = {"Complementarity": "mpec.simple_nonlinear" if smooth else "mpec.simple_disjunction"}
    steps |= {"LogicalConstraint": "core.logical_to_linear", "Disjunction": "gdp.bigm"}
    try:
        if "Complementarity" in hidden:
            pyo.TransformationFactory(steps["Complementarity"]).apply_to(clone)
            if not smooth:
                hidden.append("Disjunction")
        if "Disjunction" in hidden:
            pyo.TransformationFactory(steps["Disjunction"]).apply_to(clone)
        elif "LogicalConstraint" in hidden:
            pyo.TransformationFactory(steps["LogicalConstraint"]).apply_to(clone)
    except (PyomoException, ValueError) as error:
        raise ModelError(
            f"{spec.name} does not see the model's {', '.join(hidden)}, and the transformation failed: {error} "
            "Bound the variables in it, or apply a transformation of your own before solving."
        ) from error
    left = [kind for kind in unseen(clone) if kind != "SOSConstraint"]
    if left:
        raise ModelError(f"{spec.name} does not see {', '.join(left)}: transform them before solving.")
    return clone, pairs


def _polish(model: Any, structure: Structure, parts: Split, clock: Clock) -> None:
    """Solve the subproblem exactly at the solver's rounded choice.

    A MIP solver's point satisfies rows to 1e-6 and integrality to 1e-5, enough to move w where w^2 <= t sigma; what it
    decided is sigma, and the rest follows.
    """
    if parts.mixed or not structure.switches:
        return
    values = [v.value for v in structure.complicating]
    if any(x is None or abs(x - round(x)) > 1e-3 for x in values):
        return
    point = np.array([round(x) for x in values], dtype=float)
    if parts.as_built and structure.oracle is not None:
        answer = OracleSubproblem(parts).solve(point, 1e-9, clock.left)
    else:
        try:
            answer = SwitchedSubproblem(parts, Runner(find("clarabel"), SolveOptions())).evaluate(point, clock.left)
        except (ModelError, SolverError):  # an edit that only the whole model's solver takes: its own point stands
            return
    if answer is None or answer.value is None:
        return
    for v in parts.master_variables:
        if not v.is_continuous() and not v.fixed:
            v.set_value(round(v.value), skip_validation=True)
    answer.load()
