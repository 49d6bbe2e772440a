"""Exact solution for the integer choice of a mixed-integer solver.

A solver's point satisfies rows to 1e-6 and integrality to 1e-5, which allows w >= 1e-3 if w^2 <= t sigma and sigma = 0.
Therefore the integers are fixed at whole numbers, variables that they switch off are fixed at 0, and the rest is solved
again. If no point satisfies the rows with a choice, that choice is excluded by a cut, and the solver is called again:

    sum_{sigma_j = 0} sigma_j >= 1                                       if the subproblem has no point
    sum_{sigma_j = 0} sigma_j + sum_{sigma_j = 1} (1 - sigma_j) >= 1     otherwise

The first cut also excludes all smaller choices, in which more variables are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.repn import generate_standard_repn

from solvers.clock import Clock
from solvers.drivers.benders.split import SplitModel, is_declared
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.errors import ModelError, SolverError
from solvers.facts.base import worst_violation
from solvers.facts.change import Changed
from solvers.facts.structure import Cut, SubAnswer
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, default_solver, find
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.model.classes import has_integers, needs, used_variables
from solvers.model.rewriting import Visible, others, unseen
from solvers.model_cache import ModelCache, cached
from solvers.result import FEASIBLE, SolutionStatus
from solvers.values import fixed, may_be_zero, put_back, without_domains
from solvers.whole_model.units import change_of

CHOICES = 100  # largest number of excluded choices
WHOLE = 1e-3  # largest distance of integers from whole numbers for which the choice is clear
ORACLE = 1e-9  # relative gap of an oracle
_EASY = C.LP | C.QP | C.QCP


@dataclass(frozen=True)
class PolishResult:
    """Result for a choice: ``doubt`` is the reason why its point may be inexact, ``cut`` excludes a choice without one.

    A cut consists of pairs (coefficient, variable), of the model of the user or of the solver, whose sum must be at
    least ``least``.
    """

    doubt: str = ""
    failed: bool = False  # the rest has no solution to tolerances, so the bound is not used either
    cut: list[tuple[float, Any]] | None = None
    least: float = 1.0


EXACT = PolishResult()


@contextmanager
def excluding(seen: Visible, cuts: Sequence[PolishResult]) -> Iterator[None]:
    """Add the cuts to the model of the solver within the block."""
    if not cuts:
        yield
        return
    rows = pyo.ConstraintList()
    seen.model.add_component(unique_component_name(seen.model, "excluded"), rows)
    try:
        for s in cuts:
            rows.add(pyo.quicksum(c * seen.copy_of(v) for c, v in s.cut or ()) >= s.least)
        yield
    finally:
        seen.model.del_component(rows)


def always_on_cuts(parts: SplitModel | None) -> list[PolishResult]:
    """Return cuts for the binaries of switched variables whose bounds exclude 0: these binaries are 1."""
    if parts is None or parts.coupling_edits:
        return []
    free = [(b, v) for b, v in parts.structure.switches if b.is_binary() and not b.fixed]
    return [PolishResult(cut=[(1.0, b)]) for b, v in free if not may_be_zero(v)]


def polish(cache: ModelCache, seen: Visible, parts: SplitModel | None, spec: SolverSpec, clock: Clock) -> PolishResult:
    """Solve the model again with the integer choice of its present values.

    - ``cache``, ``seen``: the model of the user and that of the solver; both hold the values of the solver.
    - ``parts``: the decomposition of the model by its structure, if it has one.
    """
    if parts is None or not parts.structure.switches:
        chosen = _free_integers(seen.cache)
        whole = all(v.value == round(v.value) for v in chosen)
        if whole and (spec.local or not chosen or worst_violation(seen.cache) <= FEASIBLE):
            return EXACT
        return _fractional(chosen) or _solve_rest(seen, chosen, [], spec, clock)
    chosen = [v for v in parts.structure.complicating if not v.fixed]
    if not all(v.is_integer() for v in chosen):  # a relaxation
        return EXACT
    polished = _fractional(chosen)
    if polished is None and not (parts.mixed or others(cache, partial(is_declared, parts.structure))):
        polished = _by_subproblem(cache, parts, clock)
        if polished is EXACT:
            seen.send()
    if polished is None:
        polished = _solve_rest(seen, [seen.copy_of(v) for v in chosen], _switched_off(seen, parts), spec, clock)
    return polished


def _fractional(chosen: Sequence[Any]) -> PolishResult | None:
    off = max([math.inf if v.value is None else abs(v.value - round(v.value)) for v in chosen], default=0.0)
    return PolishResult(f"its integers are off by {off:.1e}") if off > WHOLE else None


def _by_subproblem(cache: ModelCache, parts: SplitModel, clock: Clock) -> PolishResult | None:
    """Solve the subproblem only; return None if that is not sufficient."""
    structure = parts.structure
    point = np.array([round(v.value) for v in structure.complicating], dtype=float)
    try:
        answer: SubAnswer | None
        if parts.as_built and structure.oracle is not None:
            answer = structure.oracle.solve(point, ORACLE, clock.left)
        else:
            answer = SwitchedSubproblem(parts, Runner(find("clarabel"), SolveOptions())).evaluate(point, clock.left)
    except (ModelError, SolverError):  # an edit that only the solver of the whole model supports
        return None
    if answer is None:
        return PolishResult("no time was left to solve its choice exactly")
    if answer.value is None:
        return None if answer.cut is None else _excluding(answer.cut, structure.complicating)
    before = [(v, v.value) for v in [*parts.master_variables, *structure.variables()]]
    for v in parts.master_variables:
        if not v.is_continuous() and not v.fixed:
            v.set_value(round(v.value), skip_validation=True)
    answer.load()
    if worst_violation(cache) <= FEASIBLE:
        return EXACT
    put_back(before)  # rounding has violated a row of the master
    return None


def _excluding(cut: Cut, variables: Sequence[Any]) -> PolishResult:
    """Return a feasibility cut, 0 >= constant + coefficients . x, as a row on the variables that are free."""
    pairs = list(zip(variables, cut.coefficients.tolist(), strict=True))
    level = cut.constant + sum(c * v.value for v, c in pairs if v.fixed)
    return PolishResult(cut=[(-c, v) for v, c in pairs if c and not v.fixed], least=level)


def _switched_off(seen: Visible, parts: SplitModel) -> list[Any]:
    """Return the variables that are 0 for the choice: by their switches, or by an edited row c w^2 <= 0."""
    if not parts.coupling_edits:
        return [seen.copy_of(v) for binary, v in parts.structure.switches if round(binary.value) == 0]
    held = []
    with fixed([(v, float(round(v.value))) for v in parts.structure.complicating]):
        for row in parts.coupling_rows:
            held += _squared(row)
    return [seen.copy_of(v) for v in held]


def _squared(row: Any) -> list[Any]:
    """Return the variable w of a row c w^2 <= 0 with c > 0, as a list; [] for other rows."""
    repn = generate_standard_repn(row.body, compute_values=True, quadratic=True)
    linear = any(c for c in repn.linear_coefs) or repn.nonlinear_expr is not None
    if linear or len(repn.quadratic_vars) != 1 or row.upper is None or pyo.value(row.upper) != repn.constant:
        return []
    (v, w), (c,) = repn.quadratic_vars[0], repn.quadratic_coefs
    return [v] if v is w and c > 0 and not v.fixed else []


def _solve_rest(seen: Visible, chosen: list[Any], off: list[Any], spec: SolverSpec, clock: Clock) -> PolishResult:
    """Solve for all variables except those chosen and those off, with all rows of the model of the solver."""
    before = [(v, v.value) for v in seen.cache.variables]
    held = [(v, float(round(v.value))) for v in chosen] + [(v, 0.0) for v in off if not v.fixed]
    with fixed(held):
        answer = _solve(seen.cache, spec, clock)
    if answer is not None and answer.has_point:
        put_back(held)
        others = _free_integers(seen.cache)
        if len(others) > len(chosen):  # these integers are inexact too
            return _solve_rest(seen, others, off, spec, clock)
        if worst_violation(seen.cache) <= FEASIBLE:
            seen.bring_back()
            return EXACT
    put_back(before)
    binary = all(v.is_binary() for v in chosen)
    if answer is not None and answer.status is SolutionStatus.INFEASIBLE and binary:
        ones = sum(round(v.value) for v in chosen)
        return PolishResult(cut=[(1.0 - 2.0 * round(v.value), v) for v in chosen], least=1.0 - ones)
    reason = "not solved" if answer is None else answer.message or answer.status.value
    return PolishResult(
        f"with its integers at whole numbers the rest could not be solved exactly ({reason})", failed=True
    )


def _free_integers(cache: ModelCache) -> list[Any]:
    return list({id(v): v for v in used_variables(cache) if not v.fixed and not v.is_continuous()}.values())


def _solve(cache: ModelCache, spec: SolverSpec, clock: Clock) -> Answer | None:
    """Solve the rest by the most exact solver for its class, otherwise by the solver of the whole model.

    The units are those of the change of variables of the model; in others a column may be below tolerances.
    """
    model = cache.model
    needed, change = needs(cache), change_of(cache)
    view = None if change is None else Changed(model, change)
    target = cache if view is None else cached(view.model)
    easy = [default_solver(needed)] if any(n & _EASY for n in needed) and not unseen(cache) else []
    for candidate in [*easy, spec]:
        integer = has_integers(cache)
        hidden = [v for v in cache.variables if not v.is_continuous()]
        options = SolveOptions(own=dict(candidate.retry_options))
        try:
            with without_domains([] if integer else hidden):
                answer = Runner(candidate, options).solve(target, time_limit=clock.left, integer=integer)
        except (ModelError, SolverError):
            continue
        answer = answer if view is None else view.loaded(answer)
        if answer.has_point or answer.status is SolutionStatus.INFEASIBLE:
            return answer
    return None
