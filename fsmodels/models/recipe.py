"""What a model by name is: how it is built, solved and read. Each room declares its own, ``selection`` gathers them.

``Recipe`` is what all kinds have, ``Linear`` the kind of models with weights w and an offset b. Other kinds stand in
the rooms of their models: of the family of FS, of kernels, of baselines. A kind says by its methods what is special to
it; nobody else asks which kind a recipe is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.checks import feature_count, positive
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.svm import C_MEANING
from fsmodels.weights import column_sizes, used
from fsmodels.words import listed
from solvers import Result, SolutionStatus, interrupt, solve
from solvers.result import recomputed_verdict

__all__ = ["AGREEMENT", "STEPS", "Given", "Ladder", "Linear", "Objective", "Reading", "Recipe"]

FloatArray = NDArray[np.float64]
Given = Mapping[str, Any]  # parameter -> value: those of the builder, and those that a driver has set
Objective = Callable[[LinearClassifier, Given, Any], float]
Ladder = tuple[tuple[str, ...], Callable[[Dataset, float], FloatArray]]  # parameters, (data, C) -> their common values

AGREEMENT = 1e-6  # relative: the solver's objective and the one recomputed from the weights
STEPS = 25  # of a ladder

CHECKS: dict[str, Callable[[Any, Dataset], Any]] = {
    "max_features": lambda value, data: feature_count(value, len(data.features)),
    "budget": lambda value, data: feature_count(value, len(data.features), name="budget"),
    "C": lambda value, data: positive("C", value, C_MEANING),
}


@dataclass(frozen=True)
class Reading:
    """The classifier of a solved model, and what the data confirm of the solver's claims.

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
class Recipe:
    """One model by name: what all kinds have in common.

    - ``name``, ``title``: one word, and one line for lists.
    - ``build``: ``build(data, *, parameters)``, whose signature says which parameters there are.
    - ``selects``: whether the model has ``sigma``, so that side constraints can be stated. Others have it on demand, by
      ``sigma=True`` of ``build``.
    - ``weighs``: whether it honours weights of samples (``Dataset.weighted``), or refuses them.
    - ``rows``: whether a method without a model takes a model of the rows on a sigma in its place.
    - ``proves_bound``: whether its default solver proves a bound that a selection can be compared with.
    - ``dense_only``: whether it takes no sparse data.
    - ``compared``: attributes of a ``Selection`` by which it is compared with other models.
    - ``settled``: parameters of the model to report besides those given: their defaults, or what the driver has set.
    - ``defaults``: values of required parameters where an estimator gives none, for standardised data.
    - ``ladder``: parameters that decide how many features are selected, and their values from loose to tight.
    - ``aliases``: other words for the method, for which an error message names this model.
    - ``refit``: the model that is solved on the selected features, for predictions; "" for none.
    - ``page``: the module whose docstring is the paper's page, in ``fsmodels.models`` unless it has a dot. ``numbers``:
      of the rows there that state the model; "``word``" of the paragraph that does.
    """

    name: str
    title: str
    build: Callable[..., Any]
    _: KW_ONLY
    selects: bool = False
    weighs: bool = False
    rows: bool = False
    proves_bound: bool = False
    dense_only: bool = False
    compared: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    ladder: Ladder | None = None
    aliases: tuple[str, ...] = ()
    refit: str = ""
    page: str = ""
    numbers: tuple[str, ...] = ()

    runs_solver: ClassVar[bool] = True
    weighed: ClassVar[bool] = False  # whether it honours rows on the model's weights w
    class_means: ClassVar[bool] = False  # whether the objective is the mean slacks of both classes
    certifies: ClassVar[bool] = False  # whether a certificate file can be written
    keeps_model: ClassVar[bool] = True  # along a path: its parameters are changed between solves
    always_reported: ClassVar[tuple[str, ...]] = ()  # parameters whose defaults are reported too
    exact: ClassVar[str] = "fsp-m"  # the model that finds, with a proof, what this one seeks
    instead: ClassVar[Mapping[str, str]] = {}  # required parameter -> the one that may be given in its place
    # How the optimal objective moves as a parameter grows: more features allow more, a higher price costs more.
    direction: ClassVar[Mapping[str, int]] = {"max_features": -1, "budget": -1, "C": 1, "penalty": 1}

    @property
    def parameters(self) -> dict[str, bool]:
        """Parameters that ``build`` takes besides the data, and whether each is required."""
        keyword = inspect.Parameter.KEYWORD_ONLY
        given = inspect.signature(self.build).parameters.values()
        return {p.name: p.default is p.empty or p.name in self.instead for p in given if p.kind is keyword}

    def default(self, parameter: str) -> Any:
        """Return what ``build`` takes where a parameter is not given."""
        return inspect.signature(self.build).parameters[parameter].default

    def refuse(self, words: Given) -> None:
        """Raise ``ParameterError`` for words that this model cannot take; None counts as not given."""

    def check(self, parameter: str, value: Any, data: Dataset) -> None:
        """Raise an error for a value that a path must not contain."""
        if parameter in CHECKS:
            CHECKS[parameter](value, data)

    def suited(
        self, parameters: dict[str, Any], data: Dataset, solver: Any, options: Given, *, on_weights: bool = False
    ) -> dict[str, Any]:
        """Return the parameters with those that the solver or the size of the data ask for, where none are given.

        ``on_weights``: rows on the weights will be stated.
        """
        return parameters

    def model(self, data: Dataset, parameters: Given) -> pyo.ConcreteModel | None:
        """Build; None where there is nothing to edit."""
        return self.build(data, **parameters)

    def solve(self, model: Any, data: Dataset, parameters: Given, solver: Any, options: Given) -> Result:
        """Run the solver."""
        return solve(model, solver, **options)

    def answer(
        self, model: Any, data: Dataset, parameters: Given, solver: Any, options: Given
    ) -> tuple[Result, Reading | None]:
        """Solve, and read what came out; None where nothing did."""
        result = self.solve(model, data, parameters, solver, options)
        with interrupt.finishing():
            given = {**parameters, **self.settings(model)}
            return result, self.read(model, data, given, result) if result.has_solution else None

    def has_sigma(self, given: Given) -> bool:
        """Return whether the model with these parameters has a sigma."""
        return self.selects or bool(given.get("sigma"))

    def settings(self, model: Any) -> dict[str, float]:
        """Return the values of ``settled``."""
        return {name: float(pyo.value(model.component(name))) for name in self.settled}

    def read(self, model: Any, data: Dataset, given: Given, result: Result) -> Reading:
        """Read the classifier off a solved model, and recompute its objective from data."""
        raise NotImplementedError


@dataclass(frozen=True)
class Linear(Recipe):
    """A model with weights w and an offset b.

    ``objective``: (LinearClassifier, parameters, model) -> the formulation's objective, recomputed from data.
    """

    objective: Objective
    _: KW_ONLY
    weighs: bool = True

    weighed: ClassVar[bool] = True

    def weights(self, model: Any) -> tuple[FloatArray, float]:
        """Return (w, b) on the data as given."""
        w = np.array([pyo.value(weight) for weight in model.w.values()], dtype=np.float64)
        return w, float(pyo.value(model.b))

    def remark(self, c: LinearClassifier, given: Given, model: Any) -> str:
        """Return a sentence for the report."""
        return ""

    def fs_objective(self, c: LinearClassifier, given: Given) -> float | None:
        """Return (7) of the family of FS."""
        return None

    def chosen(
        self, data: Dataset, given: Given, w: FloatArray, b: float, sizes: FloatArray, result: Result
    ) -> tuple[LinearClassifier, str]:
        """Return the classifier with its selected features, and a sentence where that needs one."""
        if not self.has_sigma(given):
            return LinearClassifier(data, w, b, _names(data, used(w, sizes))), ""
        take = np.isin(data.features, result.selected or [])
        return LinearClassifier(data, np.where(take, w, 0.0), b, _names(data, take)), ""

    def read(self, model: Any, data: Dataset, given: Given, result: Result) -> Reading:
        """Return the classifier, and what of the solver's claims the data confirm."""
        sizes = column_sizes(data.X)
        c, remark = self.chosen(data, given, *self.weights(model), sizes, result)
        objective, theirs, mismatch = self.objective(c, given, model), result.objective, ""
        if theirs is not None and abs(theirs - objective) > AGREEMENT * abs(objective) + result.resolution:
            mismatch = f"{result.solver} reports {theirs:.9g}; its weights give {objective:.9g}."
        judged = recomputed_verdict(result, objective, doubt=mismatch)
        selected, uses = set(c.selected), used(c.w, sizes)
        idle = [j for j, is_used in zip(data.features, uses, strict=True) if j in selected and not is_used]
        notes = [
            f"Selected, but of no use to the classifier (weight 0): {listed(idle)}." if idle else "",
            self.remark(c, given, model),
            mismatch,
            judged.message,
            remark,
            result.message,
        ]
        message = " ".join(note for note in notes if note)
        return Reading(c, objective, judged.bound, judged.status, message, self.fs_objective(c, given))


def _names(data: Dataset, take: Any) -> tuple[str, ...]:
    return tuple(np.array(data.features, dtype=object)[take].tolist())
