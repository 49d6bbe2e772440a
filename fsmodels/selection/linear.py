"""From a solved model with weights w and offset b to a reported selection, its objective recomputed from data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.models import concave
from fsmodels.selection.machines import LinearMachine
from fsmodels.selection.recipes import Classifier, Recipe
from fsmodels.weights import column_sizes, used
from fsmodels.words import listed
from solvers import SolutionStatus

if TYPE_CHECKING:
    from fsmodels.selection.selection import Selection

__all__ = ["AGREEMENT", "recomputed"]

FloatArray = NDArray[np.float64]

AGREEMENT = 1e-6  # relative: the solver's objective and the one recomputed from the weights


def _weights(model: pyo.ConcreteModel) -> tuple[FloatArray, float]:
    return np.array([pyo.value(weight) for weight in model.w.values()], dtype=np.float64), float(pyo.value(model.b))


def recomputed(found: Selection, recipe: Recipe) -> Selection:
    """Return the selection with its classifier, and what of the solver's claims the data confirm."""
    data, model, result, bound, status = found.data, found.model, found.result, found.bound, found.status
    w, b = (recipe.classifier or _weights)(model)
    notes = [found.message]

    def seen(w: FloatArray, b: float, take: NDArray[np.bool_]) -> Classifier:
        selected = np.array(data.features, dtype=object)[take]
        return Classifier(data, w, b, selected.tolist(), found.parameters, model)

    assert recipe.objective is not None
    sizes = column_sizes(data.X)
    take = np.isin(data.features, result.selected or []) if recipe.selects else used(w, sizes)
    if recipe.selects:
        w[~take] = 0.0
    elif recipe.fs:  # weights of rounding go, unless they matter
        whole, fewer = seen(w, b, take), seen(np.where(take, w, 0.0), b, take)
        if abs(fewer.error - whole.error) <= AGREEMENT:
            w = fewer.w
        else:
            take = w != 0
    if recipe.fs and not w.any():  # any plane w = 0 costs the same with gamma in [-1, 1]
        b = 1.0 if (data.y > 0).sum() >= (data.y < 0).sum() else -1.0
        notes.insert(0, "No feature is used: every sample gets the label of the larger class.")
    classifier = seen(w, b, take)
    objective, theirs = recipe.objective(classifier), result.objective
    if theirs is not None and abs(theirs - objective) > AGREEMENT * abs(objective) + result.resolution:
        notes.insert(0, f"{result.solver} reports {theirs:.9g}; its weights give {objective:.9g}.")
        if status is SolutionStatus.OPTIMAL:
            status = SolutionStatus.FEASIBLE
    elif bound is not None:  # attained, so any excess of the bound is the solver's rounding
        bound = min(bound, objective) if result.minimize else max(bound, objective)
    if recipe.remark is not None:
        notes.insert(0, recipe.remark(classifier))
    weights = {j: x for j, x, has in zip(data.features, w.tolist(), take | (w != 0), strict=True) if has}
    idle = np.array(data.features, dtype=object)[take & ~used(w, sizes)]
    if len(idle):
        notes.insert(0, f"Selected, but of no use to the classifier (weight 0): {listed(idle)}.")
    return replace(
        found,
        selected=tuple(classifier.selected),
        machine=LinearMachine(data, weights, b),
        objective=objective,
        fs_objective=concave.fs_objective(w, classifier.error, classifier.penalty) if recipe.fs else None,
        bound=bound,
        status=status,
        message=" ".join(note for note in notes if note),
    )
