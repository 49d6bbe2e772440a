"""What comes back where a solver failed: the point that a model's builder knows to be feasible, and what it proves."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from solvers import interrupt
from solvers.clock import Clock
from solvers.errors import SolverFailure, UnsupportedModel
from solvers.facts.base import facts_of, resolution_of, told_violation
from solvers.model.classes import single_objective
from solvers.reading import read
from solvers.result import DEFAULT_GAP, Result, SolutionStatus, StopReason, verdict


def without_solver(model: Any, solver: Any, failure: SolverFailure, options: dict[str, Any]) -> Result | None:
    """Return the builder's trivial point and its bound as the result; None where there is none for this model.

    ``solver``: what was asked for, and failed.
    """
    facts = facts_of(model)
    if facts is None or facts.certificate is None or isinstance(failure, UnsupportedModel):
        return None
    with interrupt.finishing():
        reading = read(model)
        error = facts.certificate.settle(reading, has_point=False)
        if error is None:
            return None
        error, objective = max(error, told_violation(model)), single_objective(reading)
        name, minimize = solver if isinstance(solver, str) else failure.solver, objective.sense == pyo.minimize
        value, resolution = float(pyo.value(objective)), resolution_of(reading)
        judged = verdict(
            value,
            facts.certificate.bound_with(reading, {}, None, minimize=minimize),
            minimize=minimize,
            gap=options.get("gap", DEFAULT_GAP),
            resolution=resolution,
            violation=error,
            claim=SolutionStatus.FEASIBLE,
            who=name,
        )
        return Result(
            judged.status,
            StopReason.SOLVER_ERROR,
            objective=value,
            bound=judged.bound,
            minimize=minimize,
            selected=None if facts.selected is None else facts.selected(model),
            seconds=Clock.of_run(None).elapsed,
            solver=name,
            options=options,
            message=f"{failure} The point is not {name}'s, but the model's trivial one.",
            resolution=resolution,
            details={"violation": error},
        )
