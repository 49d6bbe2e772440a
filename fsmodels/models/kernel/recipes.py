"""The models by name of Tayal, Coleman, Li: weights z of the features inside a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from fsmodels.checks import positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.models import kernel
from fsmodels.models.kernel.build import MU_MEANING
from fsmodels.models.kernel.fitted import KernelClassifier, classifier
from fsmodels.models.kernel.kernels import FloatArray
from fsmodels.models.kernel.objective import hinge
from fsmodels.models.kernel.problem import Problem, used
from fsmodels.models.recipe import AGREEMENT, STEPS, Given, Ladder, Reading, Recipe
from fsmodels.models.shares import slack_weights
from fsmodels.words import listed
from solvers import Result, StopReason, facts_of
from solvers.clock import Clock
from solvers.facts import OracleBlocks
from solvers.result import recomputed_verdict

__all__ = ["RECIPES"]

GRACE = 0.1  # of the time limit
AT_ONCE = 0.1  # s
FINISHED = (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)  # the SVM was solved again on the last weights


@dataclass(frozen=True)
class WithKernel(Recipe):
    """A model with weights z, read as the SVM on those in use."""

    _: KW_ONLY
    weighs: bool = True
    dense_only: bool = True
    settled: tuple[str, ...] = ("eps",)
    defaults: Mapping[str, float] = field(default_factory=lambda: {"penalty": 1.0})
    ladder: Ladder | None = (("penalty",), lambda data, C: np.geomspace(0.1, 1e4, STEPS))
    page: str = "kernel"

    keeps_model: ClassVar[bool] = False  # weights that the last point left at 0 would stay there

    def refuse(self, words: Given) -> None:
        """Refuse a price for each feature."""
        if isinstance(words.get("penalty"), Mapping):
            raise ParameterError(
                f'Model "{self.name}" has one penalty for all features, mu: give a number above 0, for example '
                "penalty=1, and not one for each feature."
            )

    def check(self, parameter: str, value: Any, data: Dataset) -> None:
        """Refuse a price too."""
        if parameter == "penalty":
            positive("penalty", value, MU_MEANING)
        super().check(parameter, value, data)

    def read(self, model: Any, data: Dataset, given: Given, result: Result) -> Reading:
        """Return the classifier: weights below 0.01 of the largest are 0, and the SVM is that of z."""
        problem = model.kernel_problem
        c, moved = classifier(model), False
        small = int(np.count_nonzero(c.z[~used(c.z)]))
        again = (small > 0 or result.stop_reason not in FINISHED) and _in_time(result, problem)
        if again:
            point = problem.fitted(_point(c, problem, used(c.z)), None)
            _load(model, point)
            c = classifier(model)
            moved = not _is_still(model, problem, point, result.details.get("tolerance"))
        objective, theirs, notes = _omega(c, given), result.objective, [result.message]
        judged = recomputed_verdict(result, objective, moved=moved)
        if theirs is not None and abs(theirs - objective) > AGREEMENT * abs(objective) + result.resolution:
            how = " with the SVM solved again" if again else ""
            notes.insert(0, f"Omega is {objective:.9g}{how}; {result.solver} reports {theirs:.9g}.")
        if small and again:
            notes.insert(0, f"Weights below 0.01 of the largest count as 0 ({small} here).")
        if self.has_sigma(given):
            c = replace(c, chosen=tuple(result.selected or ()))
            if idle := [j for j in c.selected if j not in c.weights]:
                notes.insert(0, f"Selected, but of no use to the classifier (weight 0): {listed(idle)}.")
        if c.is_constant and (remark := problem.remark(_point(c, problem))) not in result.message:
            notes.insert(0, remark)
        return Reading(c, objective, judged.bound, judged.status, " ".join(note for note in notes if note))


def _omega(c: KernelClassifier, given: Given) -> float:
    """Omega (7): half of a'Ka, C times the losses, mu times the sum of weights."""
    f = c.values
    losses = float(slack_weights(c.data) @ hinge(c.data.y * f, given["eps"]))
    return 0.5 * float(c.a @ (f[c.rows] - c.b)) + given["C"] * losses + given["penalty"] * float(c.z.sum())


def _point(c: KernelClassifier, problem: Problem, keep: Any = True) -> FloatArray:
    """Return the classifier as a point (u, b, z, 1), without the weights that ``keep`` leaves out."""
    u = np.zeros(len(c.data))
    u[c.rows] = c.data.y[c.rows] * c.a
    u = u[problem.rows]
    return np.concatenate([u, [c.b], np.where(keep, c.z, 0.0), [1.0]])


def _load(model: Any, point: FloatArray) -> None:
    variables = [*model.u.values(), model.b, *model.z.values(), model.margin]
    for v, value in zip(variables, point.tolist(), strict=True):
        v.set_value(value, skip_validation=True)


def _in_time(result: Result, problem: Problem) -> bool:
    """Return whether the SVM may be solved once more: a run that a limit ended is not made much longer by it."""
    limit = result.options.get("time_limit")
    left = Clock.of_run(limit).left
    return limit is None or left is None or problem.seconds() <= left + max(GRACE * limit, AT_ONCE)


def _is_still(model: Any, problem: Problem, point: FloatArray, tolerance: float | None) -> bool:
    """Return whether a driver of this tolerance would call the point stationary; False where none measured it."""
    facts = facts_of(model)
    if tolerance is None or not isinstance(facts, OracleBlocks):
        return False
    return bool(problem.residual(point, *facts.box()) <= tolerance)


def _recipe(
    name: str, title: str, build: Callable[..., Any], number: str = "(7)", aliases: tuple[str, ...] = ()
) -> WithKernel:
    numbers = (number, "(8)", "(13)") if number != "(5)" else (number, "(13)")
    return WithKernel(name, title, build, aliases=aliases, numbers=numbers)


RECIPES = [
    _recipe(
        "full-fs",
        "weights z of the features inside an RBF kernel, with its SVM at once, local",
        kernel.full_fs,
        aliases=("rbf", "kernel", "kernel-svm"),
    ),
    _recipe("ao-simple", "full-fs, SVM and weights in turn, local", kernel.ao_simple),
    _recipe("ao-margin", "full-fs in turn, with the weights a functional margin, local", kernel.ao_margin, "(11)"),
    _recipe("ao-efs", "full-fs in turn, the weights for the largest functional margin, local", kernel.ao_efs, "(12)"),
    _recipe(
        "gmkl",
        "full-fs by projected gradient on the value function of the SVM, local",
        kernel.gmkl,
        "(5)",
        aliases=("mkl", "multiple-kernel-learning"),
    ),
]
