"""Specifications of the models that ``select`` knows by name: how each one is built, solved and read.

``ModelSpec`` is the common part and ``LinearSpec`` is the class of models with weights w and an offset b. The folders
of the models define further classes (the family of FS, kernels, baselines), which override methods. The rest of the
package uses these methods and attributes and does not distinguish the classes. ``selection.catalogue`` collects all
specifications.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from fsmodels.checks import feature_count, positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.proofs.certified import values_of
from fsmodels.models.svm import C_MEANING
from fsmodels.text import listed
from fsmodels.weights import FloatArray, column_sizes, used
from solvers import Result, SolutionStatus, interrupt, solve
from solvers.result import recomputed_verdict

__all__ = [
    "GRID_SIZE",
    "OBJECTIVE_TOLERANCE",
    "LinearSpec",
    "ModelSolution",
    "ModelSpec",
    "Objective",
    "Parameters",
    "TuningGrid",
]

Parameters = Mapping[str, Any]  # parameters of the builder, and those that a driver has set
Objective = Callable[[LinearClassifier, Parameters, Any], float]
TuningGrid = tuple[tuple[str, ...], Callable[[Dataset, float], FloatArray]]  # parameters, (data, C) -> common values

OBJECTIVE_TOLERANCE = 1e-6  # relative difference of the solver's objective and the recomputed one
GRID_SIZE = 25

CHECKS: dict[str, Callable[[Any, Dataset], Any]] = {
    "max_features": lambda value, data: feature_count(value, len(data.features)),
    "budget": lambda value, data: feature_count(value, len(data.features), name="budget"),
    "C": lambda value, data: positive("C", value, C_MEANING),
}


@dataclass(frozen=True)
class ModelSolution:
    """Classifier of a solved model, with the objective, bound and status that the data confirm.

    ``classifier``: LinearClassifier or KernelClassifier. ``objective``, ``bound``, ``status``, ``message``: as in
    ``Selection``. ``fs_objective``: (7) of the family of FS. ``ranking``: scores of a baseline.
    """

    classifier: Any
    objective: float | None
    bound: float | None
    status: SolutionStatus
    message: str
    fs_objective: float | None = None
    ranking: pd.Series | None = None


@dataclass(frozen=True)
class ModelSpec:
    """Specification of one model.

    - ``name``, ``title``: name on the command line, and a title of one line.
    - ``build``: ``build(data, *, parameters)``. Its signature defines the parameters.
    - ``selects``: True if side constraints on the selection are supported: the model has ``sigma``, or a method without
      a model takes a model of them. Other models have ``sigma`` on request, by ``sigma=True`` of ``build``.
    - ``takes_weights``: True if sample weights (``Dataset.weighted``) are supported.
    - ``proves_bound``: True if the default solver proves a bound for comparison with a selection.
    - ``dense_only``: True if sparse data are not supported.
    - ``comparison_objectives``: attributes of a ``Selection`` for comparison with other models.
    - ``reported_parameters``: parameters of the model to report if they were not given: defaults, or values of the
      driver.
    - ``defaults``: values of required parameters for an estimator, for standardised data.
    - ``tuning_grid``: parameters that determine the number of selected features, with values from loose to tight.
    - ``aliases``: other names of the method; the error message for an unknown model refers to them.
    - ``refit``: name of the model that is solved on the selected features, for predictions; "" for none.
    - ``page``: module whose docstring describes the model, in ``fsmodels.models`` unless it contains a dot.
    - ``equations``: numbers of the equations there that state the model, or "``word``" of the paragraph.
    - ``alternatives``: required parameter -> parameter that replaces it.
    """

    name: str
    title: str
    build: Callable[..., Any]
    _: KW_ONLY
    selects: bool = False
    takes_weights: bool = False
    proves_bound: bool = False
    dense_only: bool = False
    comparison_objectives: tuple[str, ...] = ()
    reported_parameters: tuple[str, ...] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    tuning_grid: TuningGrid | None = None
    aliases: tuple[str, ...] = ()
    refit: str = ""
    page: str = ""
    equations: tuple[str, ...] = ()
    alternatives: Mapping[str, str] = field(default_factory=dict)

    runs_solver: ClassVar[bool] = True
    takes_weight_rows: ClassVar[bool] = False  # side constraints on the weights w are supported
    class_means: ClassVar[bool] = False  # the loss is the sum of the mean slacks of both classes
    certifies: ClassVar[bool] = False  # a certificate file can be written
    reuses_model: ClassVar[bool] = True  # a path changes parameters between solves of one model
    reported_defaults: ClassVar[tuple[str, ...]] = ("C",)  # parameters whose defaults are reported
    exact_model: ClassVar[str] = "fsp-m"  # model with a proof for the same purpose
    # Sign of the change of the optimal objective as a parameter grows.
    objective_direction: ClassVar[Mapping[str, int]] = {"max_features": -1, "budget": -1, "C": 1, "penalty": 1}

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes besides the data; the value is True if the parameter is required."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        arguments = inspect.signature(self.build).parameters.values()
        return {p.name: p.default is p.empty or p.name in self.alternatives for p in arguments if p.kind is keyword}

    def default(self, parameter: str) -> Any:
        """Return the default of a parameter of ``build``."""
        return inspect.signature(self.build).parameters[parameter].default

    def check_parameters(self, parameters: Parameters) -> None:
        """Raise ``ParameterError`` for a value that this model does not accept; None is accepted."""

    def check_value(self, parameter: str, value: Any, data: Dataset) -> None:
        """Raise an error for a value that a path must not contain."""
        if parameter == "penalty":
            self.check_penalty(value, data)
        elif parameter in CHECKS:
            CHECKS[parameter](value, data)

    def check_penalty(self, penalty: Any, data: Dataset) -> None:
        """Raise an error for a penalty that a path must not contain."""

    def choose_form(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Parameters, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with the form that suits the solver and the size of the data, if none is given.

        ``on_weights``: True if side constraints on the weights will be added.
        """
        return parameters

    def build_model(self, data: Dataset, parameters: Parameters) -> pyo.ConcreteModel | None:
        """Build the model; return None for a method without a model."""
        return self.build(data, **parameters)

    def solve(self, model: Any, data: Dataset, parameters: Parameters, solver: Any, options: Parameters) -> Result:
        """Run the solver."""
        return solve(model, solver, **options)

    def solve_and_read(
        self, model: Any, data: Dataset, parameters: Parameters, solver: Any, options: Parameters
    ) -> tuple[Result, ModelSolution | None]:
        """Solve the model and read the solution; return None in its place if there is none."""
        result = self.solve(model, data, parameters, solver, options)
        with interrupt.finishing():
            reported = {**parameters, **self.reported_values(model)}
            return result, self.read(model, data, reported, result) if result.has_solution else None

    def has_sigma(self, parameters: Parameters) -> bool:
        """Return True if the model with these parameters has a sigma."""
        return self.selects or bool(parameters.get("sigma"))

    def reported_values(self, model: Any) -> dict[str, float]:
        """Return the values of ``reported_parameters``."""
        return {name: float(pyo.value(model.component(name))) for name in self.reported_parameters}

    def read(self, model: Any, data: Dataset, parameters: Parameters, result: Result) -> ModelSolution:
        """Read the classifier from a solved model and recompute its objective from the data."""
        raise NotImplementedError


@dataclass(frozen=True)
class LinearSpec(ModelSpec):
    """Specification of a model with weights w and an offset b.

    ``objective``: (LinearClassifier, parameters, model) -> objective of the formulation, recomputed from the data.
    """

    objective: Objective
    _: KW_ONLY
    takes_weights: bool = True

    takes_weight_rows = True

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b) for the unscaled data."""
        return values_of(model.w), float(pyo.value(model.b))

    def remark(self, c: LinearClassifier, parameters: Parameters, model: Any) -> str:
        """Return a sentence for the report."""
        return ""

    def fs_objective(self, c: LinearClassifier, parameters: Parameters) -> float | None:
        """Return (7) of the family of FS."""
        return None

    def selected_classifier(
        self, data: Dataset, parameters: Parameters, w: FloatArray, b: float, sizes: FloatArray, result: Result
    ) -> tuple[LinearClassifier, str]:
        """Return the classifier with its selected features, and a sentence for the report."""
        if not self.has_sigma(parameters):
            return LinearClassifier(data, w, b, _names(data, used(w, sizes))), ""
        selected = np.isin(data.features, result.selected or [])
        return LinearClassifier(data, np.where(selected, w, 0.0), b, _names(data, selected)), ""

    def read(self, model: Any, data: Dataset, parameters: Parameters, result: Result) -> ModelSolution:
        """Read the classifier and recompute its objective; a difference from the solver's objective is reported."""
        sizes = column_sizes(data.X)
        c, remark = self.selected_classifier(data, parameters, *self.weights(model), sizes, result)
        objective, reported, mismatch = self.objective(c, parameters, model), result.objective, ""
        tolerance = OBJECTIVE_TOLERANCE * abs(objective) + result.resolution
        if reported is not None and abs(reported - objective) > tolerance:
            mismatch = f"{result.solver} reports {reported:.9g}; its weights give {objective:.9g}."
        verdict = recomputed_verdict(result, objective, doubt=mismatch)
        selected, uses = set(c.selected), used(c.w, sizes)
        idle = [j for j, is_used in zip(data.features, uses, strict=True) if j in selected and not is_used]
        notes = [
            f"Selected, but of no use to the classifier (weight 0): {listed(idle)}." if idle else "",
            self.remark(c, parameters, model),
            mismatch,
            verdict.message,
            remark,
            result.message,
        ]
        message = " ".join(note for note in notes if note)
        return ModelSolution(c, objective, verdict.bound, verdict.status, message, self.fs_objective(c, parameters))


def _names(data: Dataset, selected: Any) -> tuple[str, ...]:
    return tuple(np.array(data.features, dtype=object)[selected].tolist())
