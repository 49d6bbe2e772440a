"""Specifications of the models of Tayal, Coleman, Li: weights z of the features inside a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

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
from fsmodels.models.shares import slack_weights
from fsmodels.models.spec import GRID_SIZE, OBJECTIVE_TOLERANCE, ModelSolution, ModelSpec, Parameters, TuningGrid
from fsmodels.text import listed
from solvers import Result, StopReason, facts_of
from solvers.clock import Clock
from solvers.facts import OracleBlocks
from solvers.result import recomputed_verdict
from solvers.values import put_back

__all__ = ["SPECS"]

GRACE = 0.1  # of the time limit
AT_ONCE = 0.1  # s
FINISHED = (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)  # the SVM was solved again on the last weights


@dataclass(frozen=True)
class KernelSpec(ModelSpec):
    """Specification of a model with weights z; the classifier is the SVM on the features in use."""

    _: KW_ONLY
    takes_weights: bool = True
    dense_only: bool = True
    reported_parameters: tuple[str, ...] = ("eps",)
    defaults: Mapping[str, float] = field(default_factory=lambda: {"penalty": 1.0})
    tuning_grid: TuningGrid | None = (("penalty",), lambda data, C: np.geomspace(0.1, 1e4, GRID_SIZE))
    page: str = "kernel"

    reuses_model = False  # weights that the last point left at 0 would stay there

    def check_parameters(self, parameters: Parameters) -> None:
        """Raise an error for one penalty per feature."""
        if isinstance(parameters.get("penalty"), Mapping):
            raise ParameterError(
                f'Model "{self.name}" has one penalty for all features, mu: give a number above 0, for example '
                "penalty=1, and not one for each feature."
            )

    def check_penalty(self, penalty: Any, data: Dataset) -> None:
        """Raise an error unless mu is above 0."""
        positive("penalty", penalty, MU_MEANING)

    def read(self, model: Any, data: Dataset, parameters: Parameters, result: Result) -> ModelSolution:
        """Read the classifier: weights below 0.01 of the largest are 0, and the SVM is solved for the others."""
        problem = model.kernel_problem
        c, moved = classifier(model), False
        small = int(np.count_nonzero(c.z[~used(c.z)]))
        again = (small > 0 or result.stop_reason not in FINISHED) and _in_time(result, problem)
        if again:
            point = problem.fitted(_point(c, problem, used(c.z)), None)
            _load(model, point)
            c = classifier(model)
            moved = not _is_still(model, problem, point, result.details.get("tolerance"))
        objective, reported, notes = _omega(c, parameters), result.objective, [result.message]
        verdict = recomputed_verdict(result, objective, moved=moved)
        if (
            reported is not None
            and abs(reported - objective) > OBJECTIVE_TOLERANCE * abs(objective) + result.resolution
        ):
            how = " with the SVM solved again" if again else ""
            notes.insert(0, f"Omega is {objective:.9g}{how}; {result.solver} reports {reported:.9g}.")
        if small and again:
            notes.insert(0, f"Weights below 0.01 of the largest count as 0 ({small} here).")
        if self.has_sigma(parameters):
            c = replace(c, chosen=tuple(result.selected or ()))
            if idle := [j for j in c.selected if j not in c.weights]:
                notes.insert(0, f"Selected, but of no use to the classifier (weight 0): {listed(idle)}.")
        if c.is_constant and (remark := problem.remark(_point(c, problem))) not in result.message:
            notes.insert(0, remark)
        return ModelSolution(c, objective, verdict.bound, verdict.status, " ".join(note for note in notes if note))


def _omega(c: KernelClassifier, parameters: Parameters) -> float:
    """Omega (7): half of a'Ka, C times the losses, mu times the sum of weights."""
    f = c.values
    losses = float(slack_weights(c.data) @ hinge(c.data.y * f, parameters["eps"]))
    return 0.5 * float(c.a @ (f[c.rows] - c.b)) + parameters["C"] * losses + parameters["penalty"] * float(c.z.sum())


def _point(c: KernelClassifier, problem: Problem, keep: Any = True) -> FloatArray:
    """Return the classifier as a point (u, b, z, 1); weights outside ``keep`` are 0."""
    u = np.zeros(len(c.data))
    u[c.rows] = c.data.y[c.rows] * c.a
    u = u[problem.rows]
    return np.concatenate([u, [c.b], np.where(keep, c.z, 0.0), [1.0]])


def _load(model: Any, point: FloatArray) -> None:
    variables = [*model.u.values(), model.b, *model.z.values(), model.margin]
    put_back(zip(variables, point.tolist(), strict=True))


def _in_time(result: Result, problem: Problem) -> bool:
    """Return True if solving the SVM again takes little time compared with the time limit."""
    limit = result.options.get("time_limit")
    left = Clock.of_run(limit).left
    return limit is None or left is None or problem.seconds() <= left + max(GRACE * limit, AT_ONCE)


def _is_still(model: Any, problem: Problem, point: FloatArray, tolerance: float | None) -> bool:
    """Return True if the point is stationary within the tolerance; False if no driver measured it."""
    facts = facts_of(model)
    if tolerance is None or not isinstance(facts, OracleBlocks):
        return False
    return bool(problem.residual(point, *facts.box()) <= tolerance)


def _spec(
    name: str, title: str, build: Callable[..., Any], number: str = "(7)", aliases: tuple[str, ...] = ()
) -> KernelSpec:
    equations = (number, "(8)", "(13)") if number != "(5)" else (number, "(13)")
    return KernelSpec(name, title, build, aliases=aliases, equations=equations)


SPECS = [
    _spec(
        "full-fs",
        "weights z of the features inside an RBF kernel, with its SVM at once, local",
        kernel.full_fs,
        aliases=("rbf", "kernel", "kernel-svm"),
    ),
    _spec("ao-simple", "full-fs, SVM and weights in turn, local", kernel.ao_simple),
    _spec("ao-margin", "full-fs in turn, with the weights a functional margin, local", kernel.ao_margin, "(11)"),
    _spec("ao-efs", "full-fs in turn, the weights for the largest functional margin, local", kernel.ao_efs, "(12)"),
    _spec(
        "gmkl",
        "full-fs by projected gradient on the value function of the SVM, local",
        kernel.gmkl,
        "(5)",
        aliases=("mkl", "multiple-kernel-learning"),
    ),
]
