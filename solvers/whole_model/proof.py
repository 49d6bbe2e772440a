"""Verification of a solver's answer: unreliable reports, and the bound of an equivalent model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from solvers.drivers.catalogue import DRIVERS
from solvers.drivers.unbounded import may_fall
from solvers.errors import Error
from solvers.facts.base import AsBuilt, Facts, built_of
from solvers.facts.structure import Structure
from solvers.interfaces.runner import Answer, SolveOptions
from solvers.interfaces.spec import SolverSpec
from solvers.model.classes import has_integers
from solvers.model.finite import has_poles
from solvers.model_cache import ModelCache
from solvers.result import Result, SolutionStatus, relative_gap
from solvers.shared_state import put_off
from solvers.values import INSIDE, kept

# The smallest ratio of two coefficients of the objective for which a bound is used if rows are quadratic and an edit,
# such as a cost on a weight, may move the optimum far away (without one the builder limits the weights). In
# min c t - g u + ... with u^2 <= t z, gurobi and scip treat reduced costs below 1e-9 as 0 and cut the cone where its
# slope is below their tolerance: they reported optima that were 28% (1e-7) to 100% (1e-10) wrong. Of 67 bounds of
# random models with 1e-6 none was wrong by more than the tolerances.
LEAST_COST = 1e-6


def without_unreliable_claims(
    answer: Answer, spec: SolverSpec, model: ModelCache, options: SolveOptions, time_left: float | None, may_grow: bool
) -> Answer:
    """Return the answer without bounds and statuses that are known to be unreliable for such models.

    ``model``: the model of the solver. ``may_grow``: True for rows that are not linear and points of any size. The
    fields of ``SolverSpec`` describe the other cases.
    """
    infeasible = answer.status is SolutionStatus.INFEASIBLE
    if answer.bound is None and not infeasible:
        return answer
    has_sets = bool(model.stated(pyo.SOSConstraint))
    sets = has_sets and not spec.proves_with_sets and may_fall(model, time_left)
    retried = spec.retry_options.keys() <= options.own.keys()
    integers = has_integers(model)
    tiny_costs = not infeasible and not retried and integers
    unreliable = (
        sets
        or (not spec.proves_at_poles and has_poles(model))
        or (spec.least_curvature > 0 and (has_sets or integers) and _least_curvature(model) < spec.least_curvature)
        or (tiny_costs and _least_coefficient(model) < spec.least_coefficient)
        or (may_grow and not infeasible and _least_coefficient(model) < LEAST_COST)
    )
    if not unreliable:
        return answer
    if infeasible:
        message = "reports that no point satisfies the model, which is not confirmed"
        return replace(answer, status=SolutionStatus.NO_SOLUTION, message=message, undecided=sets)
    return replace(answer, bound=None)


def _least_curvature(model: ModelCache) -> float:
    """Return the smallest ratio of two curvatures of the objective, 1 if there are none.

    The curvature along v is the coefficient of v^2 divided by the square of the largest coefficient of v in a row, so
    that it does not depend on the unit of v.
    """
    objective = generate_standard_repn(model.objectives[0].expr, compute_values=True, quadratic=True)
    products = zip(objective.quadratic_coefs, objective.quadratic_vars, strict=True)
    square = {id(v): abs(c) for c, (v, w) in products if v is w and c}
    largest: dict[int, float] = {}
    for row in model.rows:
        repn = generate_standard_repn(row.body, compute_values=True, quadratic=False)
        for c, v in zip(repn.linear_coefs, repn.linear_vars, strict=True):
            largest[id(v)] = max(largest.get(id(v), 0.0), abs(c))
    found = [c / largest[v] ** 2 for v, c in square.items() if largest.get(v)]
    return min(found) / max(found) if found else 1.0


def _least_coefficient(model: ModelCache) -> float:
    """Return the smallest ratio of two coefficients of the objective, 1 if there are none."""
    repn = generate_standard_repn(model.objectives[0].expr, compute_values=True, quadratic=True)
    found = [abs(c) for c in (*repn.linear_coefs, *repn.quadratic_coefs) if c]
    return min(found) / max(found) if found else 1.0


@dataclass(frozen=True)
class EquivalentBound:
    """A bound on the optimum by the equivalent model, or None, and the reason if the bound is too weak."""

    bound: float | None
    reason: str


def bound_by_equivalent(
    model: Any, facts: Facts, *, gap: float, time_limit: float | None, in_time: bool
) -> EquivalentBound:
    """Solve the equivalent model by its driver, and return the bound; the values of the model do not change.

    ``time_limit``: of the whole run, in seconds. ``in_time``: False if no time is left.
    """
    equivalent, built = facts.equivalent, built_of(model)
    assert equivalent is not None
    restricted = built.restricted(model)
    floor = equivalent.floor if restricted else None
    if not in_time:
        return EquivalentBound(floor, f"but no time was left for {equivalent.driver} to prove it from the data.")
    driver = DRIVERS[equivalent.driver]

    def solved(build: Callable[[Any, AsBuilt], Any] | None) -> Result:
        with kept(model.component_data_objects(pyo.Var, descend_into=INSIDE)), put_off():
            target = model if build is None else build(model, built)
            return driver(target, gap=gap, time_limit=time_limit).solve()

    try:
        result = solved(None if isinstance(facts, Structure) else equivalent.exact)
    except Error as refusal:
        why = f"Not by {equivalent.driver}: {refusal}"
        if not restricted:
            return EquivalentBound(None, f"which is not proven from the data. {why}")
        result = solved(equivalent.relaxed)
        relaxed = equivalent.floor if result.bound is None else max(equivalent.floor, result.bound)
        return EquivalentBound(relaxed, f"but from the data only the bound without that edit is proven. {why}")
    bound = result.bound if floor is None else max(floor, result.bound or floor)
    distance = relative_gap(result.objective, bound, resolution=result.resolution)
    if result.objective is None or distance is None:
        return EquivalentBound(
            bound, f"but {equivalent.driver} does not prove it from the data. {result.message}".strip()
        )
    return EquivalentBound(
        bound, f"but {equivalent.driver} finds {result.objective:.9g}, proven from the data to {distance:.1e}."
    )
