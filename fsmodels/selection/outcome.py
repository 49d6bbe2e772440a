"""What a selection holds, and what follows from it; ``Selection`` adds how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.datasets.dataset import Dataset
from fsmodels.models import fsp
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.selection.deciding import Deciding
from fsmodels.selection.recipes import find
from solvers import Result, SolutionStatus, StopReason
from solvers.result import relative_gap

FloatArray = NDArray[np.float64]
FSP_SECONDS = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Deciding):
    """Features, classifier, and what is proven about them; ``Selection`` explains the fields."""

    name: str
    data: Dataset
    parameters: dict[str, Any]
    selected: tuple[str, ...]
    machine: LinearClassifier | KernelClassifier | None
    objective: float | None
    bound: float | None
    status: SolutionStatus
    stop_reason: StopReason
    result: Result
    message: str = ""
    validation_error: float | None = None
    chosen_by: str | None = None
    fs_objective: float | None = None
    refit: Outcome | None = None
    model: pyo.ConcreteModel | None = None
    ranking: pd.Series | None = None

    @property
    def has_solution(self) -> bool:
        """Whether there is a classifier."""
        return self.machine is not None

    @property
    def gap(self) -> float | None:
        """``|objective - bound| / |objective|``; None without a bound."""
        result = self.result
        return relative_gap(self.objective, self.bound, minimize=result.minimize, resolution=result.resolution)

    @cached_property
    def fsp_objective(self) -> float | None:
        """What fsp-m would pay for the selected features: the optimum of the soft-margin SVM on them, with the same C.

        Of models that select for an SVM by other means, so that they can be compared; None where it cannot be certified
        within half a minute. Not the objective of ``machine``, whose weights may have another origin.
        """
        if not (self.has_solution and "fsp_objective" in find(self.name).compared):
            return None
        return fsp.value(self.data, self.selected, C=self.parameters["C"], time_limit=FSP_SECONDS)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the solve."""
        return self.result.seconds

    @property
    def weights(self) -> dict[str, float]:
        """Feature -> weight on ``data`` as scaled: every selected feature, and any other whose weight is not 0.

        Of a kernel z, the weights inside it.
        """
        return {} if self.machine is None else self.machine.weights

    @property
    def bias(self) -> float | None:
        """The offset of the classifier on ``data`` as scaled."""
        return None if self.machine is None else self.machine.bias

    @cached_property
    def _original(self) -> tuple[dict[str, float] | None, float | None]:
        return ({}, None) if self.machine is None else self.machine.original()

    @property
    def weights_original(self) -> dict[str, float] | None:
        """The weights for data in original units; None where a kernel does not allow it."""
        return self._original[0]

    @property
    def bias_original(self) -> float | None:
        """The bias for data in original units."""
        return self._original[1]

    @property
    def training_error(self) -> float | None:
        """Share of wrong labels on the data that the model was built from."""
        return self.error(self.data) if self.has_solution else None

    @property
    def training_on_boundary(self) -> int | None:
        """Number of samples of these data on the decision boundary, which count as class -1 (``on_boundary``)."""
        return self.on_boundary(self.data) if self.has_solution else None

    def _none(self) -> str:
        return f": the solve ended as {self.status.value}. {self.message}".rstrip()

    def table(self) -> pd.DataFrame:
        """Return a frame of the selected features, the largest weight first: ``weight`` as scaled, ``weight_original``.

        Examples
        --------
        >>> import fsmodels as fs
        >>> fs.select(fs.load_dataset("bupa"), max_features=2).table().round(2).to_dict("index")
        {'sgot': {'weight': -1.41, 'weight_original': -0.14}, 'sgpt': {'weight': 1.14, 'weight_original': 0.06}}
        """
        original = self.weights_original or {}
        weights = {name: self.weights.get(name, 0.0) for name in self.selected}  # a kernel's may lack one that is 0
        frame = pd.DataFrame(
            {"weight": weights, "weight_original": {name: original.get(name, np.nan) for name in weights}}, dtype=float
        )
        order = frame["weight"].abs().sort_values(ascending=False, kind="stable").index
        return frame.loc[order].rename_axis("feature")
