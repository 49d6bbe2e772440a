"""Results for points: objective, selected names, and the verdict."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from solvers import interrupt
from solvers.clock import Clock
from solvers.errors import SolverFailure, UnsupportedModel
from solvers.facts.base import facts_of, facts_violation, resolution_of
from solvers.model.classes import single_objective
from solvers.model_cache import ModelCache, cached
from solvers.result import DEFAULT_GAP, Result, SolutionStatus, StopReason, verdict


def point_result(
    cache: ModelCache,
    *,
    claim: SolutionStatus,
    stop: StopReason,
    bound: float | None,
    violation: float,
    solver: str,
    options: dict[str, Any],
    doubt: str = "",
) -> Result:
    """Return the result for the values of a model.

    - ``claim``: the status that the solver reports.
    - ``bound``: of the objective, in the sense of the model.
    - ``violation``: of rows and bounds by the values.
    - ``doubt``: why the point may be inexact; "" if it is exact.
    """
    objective, facts = single_objective(cache), facts_of(cache.model)
    minimize, value = objective.sense == pyo.minimize, float(pyo.value(objective))
    resolution = resolution_of(cache)
    found = verdict(
        value,
        bound,
        minimize=minimize,
        gap=options.get("gap", DEFAULT_GAP),
        resolution=resolution,
        violation=violation,
        doubt=doubt,
        claim=claim,
        who=solver,
    )
    return Result(
        found.status,
        stop,
        objective=value,
        bound=found.bound,
        minimize=minimize,
        selected=None if facts is None or facts.selected is None else facts.selected(cache.model),
        seconds=Clock.of_run(None).elapsed,
        solver=solver,
        options=options,
        message=found.message,
        resolution=resolution,
        details={"violation": violation},
    )


TRIVIAL_POINT = "The returned point is the trivial point of the model."


def trivial_result(model: Any, solver: Any, failure: SolverFailure, options: dict[str, Any]) -> Result | None:
    """Return the result for the trivial point of the builder after a failure; None if the model has no such point.

    ``solver``: the solver that the user has named, if any.
    """
    facts = facts_of(model)
    if facts is None or facts.certificate is None or isinstance(failure, UnsupportedModel):
        return None
    with interrupt.finishing():
        cache = cached(model)
        violation = facts.certificate.repair_point(cache, has_point=False)
        if violation is None:
            return None
        name = solver if isinstance(solver, str) else failure.solver
        minimize = single_objective(cache).sense == pyo.minimize
        result = point_result(
            cache,
            claim=SolutionStatus.FEASIBLE,
            stop=StopReason.SOLVER_ERROR,
            bound=facts.certificate.bound_with(cache, {}, None, minimize=minimize),
            violation=max(violation, facts_violation(model)),
            solver=name,
            options=options,
        )
        result.message = f"{failure} {TRIVIAL_POINT}"
        return result
