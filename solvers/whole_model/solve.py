"""Solve a whole model with one solver: by name, or the default solver of its class."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers import interrupt
from solvers.clock import Clock
from solvers.drivers.benders.split import adapted, split
from solvers.drivers.catalogue import DRIVERS
from solvers.errors import ModelError, OptionError, SolverError
from solvers.facts.base import facts_of
from solvers.facts.structure import Structure
from solvers.interfaces.registry import (
    COMMON,
    SOLVERS,
    SolverSpec,
    default_solver,
    names,
    refuse_unpassed,
)
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, SolveOptions
from solvers.interfaces.spec import describe
from solvers.model.classes import needs, single_objective, used_variables, violation
from solvers.model.duals import Multipliers, dual_suffix
from solvers.model.rewriting import Visible, smooth_pairs, unseen, visible
from solvers.model_cache import ModelCache, cached
from solvers.options import check_limits
from solvers.result import DEFAULT_GAP, FEASIBLE, Result, SolutionStatus, StopReason
from solvers.values import bounds_of, put_back
from solvers.whole_model.ordered_products import products_as_sets
from solvers.whole_model.run import RESCALED, WholeModelRun

CONVEX = C.QP | C.QCP


def solve_by_class(model: Any, options: dict[str, Any]) -> Result:
    """Solve with the default solver of the class of the model.

    Clarabel tests the convexity of a quadratic model by its factors. Models that it rejects are solved by SCIP, which
    is slower and needs no convexity.
    """
    cache = cached(model)
    if unseen(cache):
        return solve_whole(cache, default_solver([C.NLP if smooth_pairs(cache) else C.SOS]), options)
    needed = needs(cache)
    spec = default_solver(needed)
    try:
        return solve_whole(cache, spec, options)
    except ModelError as refusal:
        if not any(n & CONVEX for n in needed):
            raise
        result = solve_whole(cache, default_solver([C.NONCONVEX]), options)
        result.message = f"{result.message} Not by {spec.name}: {refusal}".strip()
        return result


def solve_whole(model: Any, spec: SolverSpec, options: dict[str, Any]) -> Result:
    """Solve the model with one Pyomo solver; fill its import suffix ``dual``, if it has one."""
    cache = cached(model)
    if (stale := dual_suffix(cache.model)) is not None:
        stale.clear()
    single_objective(cache)
    facts, parts = facts_of(cache.model), None
    if facts is not None:
        facts.check_stated(f'solver="{spec.name}" solves whole models')
    if isinstance(facts, Structure):
        parts, _ = adapted(split(cache, facts))
        parts.check_facts()  # a big-M that no longer holds is rejected
    own = _solve_options(spec, options, polished=parts is not None)
    before = [(v, v.value) for v in cache.variables]
    clock = Clock.of_run(options.get("time_limit"))
    run = WholeModelRun(cache, spec, options, clock, Visible.of(cache), [], facts, parts, None)
    if not run.in_time(spec):  # before anything of the size of the model is created
        late = Answer(StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION, False, None, "no time left")
        return run.result(late, "", before)
    run = _prepared(run)
    if all(v.fixed for v in used_variables(run.visible.cache)):
        return run.result(_constant(run.visible.cache), "", before)
    _start(run.visible.cache)
    try:
        answer, doubt = run.solve(own)
    except ModelError as refusal:
        raise _with_alternatives(run.needed, refusal) from refusal
    run, result = _rescaled(run, own, answer, doubt, run.result(answer, doubt, before))
    return _retried(run, own, answer, result)


def _prepared(run: WholeModelRun) -> WholeModelRun:
    """Return the run with the model of the solver. Raises SolverError if the solver cannot solve such a model."""
    cache, spec, facts = run.cache, run.spec, run.facts
    change = None if facts is None else facts.change
    seen = visible(cache, spec, {id(v): f for v, f in change.factors} if change is not None else None)
    needed = needs(seen.cache)
    if needed in ([C.QP], [C.MIQP]) and not seen.pairs and C.SOS in spec.capabilities:
        seen = products_as_sets(cache) or seen
        needed = needs(seen.cache)
    refuse_unpassed(spec, run.options)
    multipliers = Multipliers.wanted(cache, spec, seen, needed)
    if not any(n in spec.capabilities for n in needed):
        raise _cannot(spec, seen, needed, "" if facts is None else facts.default_solver)
    return replace(run, visible=seen, needed=needed, multipliers=multipliers)


def _rescaled(
    run: WholeModelRun, own: SolveOptions, answer: Answer, doubt: str, result: Result
) -> tuple[WholeModelRun, Result]:
    """Solve again with a scaled objective while it is unsuitable for the absolute tolerances of the solver."""
    for _ in range(RESCALED):
        if not (run.too_small(result) or run.too_large(result)):
            break
        level = math.inf if result.objective is None else result.objective
        first, run = [(v, v.value) for v in run.cache.variables], replace(run, level=level)
        again = run.solve_again(own, first)
        if again is None or again.objective is None or again.objective > level:
            put_back(first)
            bound = None if again is None else again.bound
            if bound is not None and result.bound is not None and bound < result.bound:  # proven to finer tolerances
                result = run.result(replace(answer, bound=bound), doubt, first)
            break
        result = again
    return run, result


def _retried(run: WholeModelRun, own: SolveOptions, answer: Answer, result: Result) -> Result:
    """Solve again with tighter rows if the solver reports an optimum that the recomputed point does not confirm."""
    spec = run.spec
    unproven = answer.status is SolutionStatus.OPTIMAL and result.status is SolutionStatus.FEASIBLE
    if not unproven or not spec.retry_options or set(spec.retry_options) & set(own.own):
        return result
    if not run.in_time(spec) or interrupt.pressed() or (run.may_grow and answer.bound is None):
        return result
    first = [(v, v.value) for v in run.cache.variables]
    again = run.solve_again(replace(own, own={**own.own, **spec.retry_options}), first)
    if again is not None and again.gap is not None and (result.gap is None or again.gap < result.gap):
        return again
    put_back(first)
    return result


def _cannot(spec: SolverSpec, seen: Visible, needed: list[C], own: str) -> SolverError:
    able = sorted({name for n in needed for name in names(n)} - {own})
    if own in DRIVERS and not set(seen.written) - {"Disjunction"}:  # which the driver of a builder supports
        able.insert(0, f"{own} (the driver of the model)")
    elif own and own in SOLVERS and any(n in SOLVERS[own].capabilities for n in needed):
        able.insert(0, own)
    written = f" after {' and '.join(seen.written)} is written as rows" if seen.written else ""
    return SolverError(
        f'Solver "{spec.name}" cannot solve this model, which needs {describe(needed[0])}{written}. '
        f"Installed solvers that can: {', '.join(able) or 'none'}."
    )


def _with_alternatives(needed: list[C], error: ModelError) -> ModelError:
    """Return the error of a convex solver with the names of solvers that need no convexity."""
    if not any(n & CONVEX for n in needed):
        return error
    anywhere, local = names(C.NONCONVEX), [n for n in names(C.NLP) if SOLVERS[n].local]
    return ModelError(
        f"{error} Installed solvers that need no convexity: {', '.join(anywhere) or 'none'} (global); "
        f"{', '.join(local) or 'none'} (a local optimum)."
    )


def _constant(model: ModelCache) -> Answer:
    """Return the answer for a model without free variables, on which some solvers fail."""
    if violation(model) > FEASIBLE:
        return Answer(StopReason.CONVERGED, SolutionStatus.INFEASIBLE, False, None, "every variable is fixed")
    value = float(pyo.value(single_objective(model)))
    return Answer(StopReason.CONVERGED, SolutionStatus.OPTIMAL, True, value, "")


def _start(model: ModelCache) -> None:
    """Set variables without a value, or with one outside their bounds, to a value within the bounds.

    Interfaces drop a variable whose coefficients are all 0 and do not change its value; some of them fail if it has
    none.
    """
    off = {id(v): v for v in model.variables if not v.fixed and (v.value is None or _is_outside(v))}
    for v in used_variables(model) if off else ():
        if off.pop(id(v), None) is not None:
            lower, upper = bounds_of(v)
            if not v.is_continuous() and lower > -math.inf:
                lower = math.ceil(lower)
            v.set_value(min(max(v.value or 0.0, lower), upper), skip_validation=True)
            if not off:
                break


def _is_outside(v: Any) -> bool:
    lower, upper = bounds_of(v)
    return bool(v.value < lower or v.value > upper)


def _solve_options(spec: SolverSpec, options: dict[str, Any], *, polished: bool) -> SolveOptions:
    """Return the common options and the solver's own. Raises OptionError for an option of a driver."""
    check_limits(options)
    if not isinstance(options.get("tee", False), bool | np.bool_):
        raise OptionError(
            f"tee={options['tee']!r} is not allowed: {spec.name} solves the whole model without other solvers. "
            "Give True or False."
        )
    own = {k: v for k, v in options.items() if k not in COMMON}
    if "iteration_limit" in own and "iteration_limit" in spec.common_options:
        own[spec.common_options["iteration_limit"]] = own.pop("iteration_limit")
    refuse_unpassed(spec, options)
    for name in (name for name in own if name not in spec.common_options.values()):
        users = [n for n, d in DRIVERS.items() if name in {f.name for f in dataclasses.fields(d.options_type)}]
        if users:
            whose = f"driver{'s' if len(users) > 1 else ''} ({', '.join(users)})"
            raise OptionError(f'Option "{name}" belongs to the {whose}, not to {spec.name}.')
    common = {k: options[k] for k in COMMON if k in options}
    common["gap"] = common.get("gap", DEFAULT_GAP) * (0.5 if polished else 1.0)  # polishing may increase the objective
    return SolveOptions(**common, own=own)
