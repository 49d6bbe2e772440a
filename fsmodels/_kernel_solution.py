"""From a solved kernel model to a reported selection: weights in use, the SVM on them, Omega recomputed from data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyomo.environ as pyo

from fsmodels._kernel_classifier import KernelClassifier, classifier
from fsmodels._kernel_functions import FloatArray
from fsmodels._kernel_problem import used
from fsmodels._linear_solution import AGREEMENT
from fsmodels._machines import KernelMachine
from fsmodels.recipes import KernelSvm, Recipe
from solvers import Result, SolutionStatus, StopReason
from solvers.oracle_blocks import OracleDescent
from solvers.trace import Clock

if TYPE_CHECKING:
    from fsmodels.selection import Selection

__all__ = ["recomputed"]

GRACE = 0.1  # of the time limit
AT_ONCE = 0.1  # s
FINISHED = (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)  # the SVM was solved again on the last weights


def recomputed(found: Selection, recipe: Recipe) -> Selection:
    """Return the selection with its classifier: weights below 0.01 of the largest are 0, and the SVM is that of z."""
    model, result, status = found.model, found.result, found.status
    assert model is not None
    assert recipe.objective is not None
    problem = model.kernel_problem
    notes = [found.message]
    machine, theirs = classifier(model), result.objective
    small = int(np.count_nonzero(machine.z[~used(machine.z)]))
    again = (small > 0 or result.stop_reason not in FINISHED) and _in_time(result, problem)
    if again:
        point = problem.fitted(_point(machine, problem, used(machine.z)), None)
        _load(model, point)
        machine = classifier(model)
        if status is SolutionStatus.STATIONARY and not _is_still(result.details.get("driver"), problem, point):
            status = SolutionStatus.FEASIBLE
    objective = recipe.objective(KernelSvm(machine, found.parameters))
    if theirs is not None and abs(theirs - objective) > AGREEMENT * abs(objective) + found.result.resolution:
        how = " with the SVM solved again" if again else ""
        notes.insert(0, f"Omega is {objective:.9g}{how}; {result.solver} reports {theirs:.9g}.")
    if small and again:
        notes.insert(0, f"Weights below 0.01 of the largest count as 0 ({small} here).")
    if machine.is_constant and (said := problem.remark(_point(machine, problem))) not in found.message:
        notes.insert(0, said)
    return replace(
        found,
        selected=tuple(KernelMachine(machine).weights),
        machine=KernelMachine(machine),
        objective=objective,
        status=status,
        message=" ".join(note for note in notes if note),
    )


def _in_time(result: Result, problem: Any) -> bool:
    """Tell whether the SVM may be solved once more: a run that a limit ended is not made much longer by it."""
    limit = result.options.get("time_limit")
    left = Clock.of_run(limit).left
    return limit is None or left is None or problem.seconds() <= left + max(GRACE * limit, AT_ONCE)


def _point(machine: KernelClassifier, problem: Any, keep: Any = True) -> FloatArray:
    """Return the classifier as a point (u, b, z, 1), without the weights that ``keep`` leaves out."""
    u = np.zeros(problem.n)
    u[machine.rows] = problem.y[machine.rows] * machine.a
    return np.concatenate([u, [machine.b], np.where(keep, machine.z, 0.0), [1.0]])


def _load(model: pyo.ConcreteModel, point: FloatArray) -> None:
    variables = [*model.u.values(), model.b, *model.z.values(), model.margin]
    for v, value in zip(variables, point.tolist(), strict=True):
        v.set_value(value, skip_validation=True)


def _is_still(driver: Any, problem: Any, point: FloatArray) -> bool:
    """Tell whether the driver would call the point stationary; False where it measures nothing."""
    if not isinstance(driver, OracleDescent):
        return False
    return problem.residual(point, driver.lower, driver.upper) <= driver.config.tolerance
