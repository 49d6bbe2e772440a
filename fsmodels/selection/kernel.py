"""From a solved kernel model to a reported selection: weights in use, the SVM on them, Omega recomputed from data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyomo.environ as pyo

from fsmodels.models.kernel.fitted import KernelClassifier, classifier
from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.problem import used
from fsmodels.selection.linear import AGREEMENT
from fsmodels.selection.machines import KernelMachine
from fsmodels.selection.recipes import KernelSvm, Recipe
from solvers import SolutionStatus, StopReason, facts_of
from solvers.facts.oracle_blocks import OracleBlocks

if TYPE_CHECKING:
    from fsmodels.selection.selection import Selection

__all__ = ["recomputed"]

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
    again = small > 0 or result.stop_reason not in FINISHED
    if again:
        point = problem.fitted(_point(machine, problem, used(machine.z)), None)
        _load(model, point)
        machine = classifier(model)
        if status is SolutionStatus.STATIONARY and not _is_still(
            model, problem, point, result.details.get("tolerance")
        ):
            status = SolutionStatus.FEASIBLE
    objective = recipe.objective(KernelSvm(machine, found.parameters))
    if theirs is not None and abs(theirs - objective) > AGREEMENT * abs(objective) + found.result.resolution:
        how = " with the SVM solved again" if again else ""
        notes.insert(0, f"Omega is {objective:.9g}{how}; {result.solver} reports {theirs:.9g}.")
    if small:
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


def _point(machine: KernelClassifier, problem: Any, keep: Any = True) -> FloatArray:
    """Return the classifier as a point (u, b, z, 1), without the weights that ``keep`` leaves out."""
    u = np.zeros(problem.n)
    u[machine.rows] = problem.y[machine.rows] * machine.a
    return np.concatenate([u, [machine.b], np.where(keep, machine.z, 0.0), [1.0]])


def _load(model: pyo.ConcreteModel, point: FloatArray) -> None:
    variables = [*model.u.values(), model.b, *model.z.values(), model.margin]
    for v, value in zip(variables, point.tolist(), strict=True):
        v.set_value(value, skip_validation=True)


def _is_still(model: Any, problem: Any, point: FloatArray, tolerance: float | None) -> bool:
    """Tell whether a driver of this tolerance would call the point stationary; False where none measured it."""
    facts = facts_of(model)
    if tolerance is None or not isinstance(facts, OracleBlocks):
        return False
    return bool(problem.residual(point, *facts.box()) <= tolerance)
