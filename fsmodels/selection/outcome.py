"""What a selection holds, and what follows from it; ``Selection`` adds how it shows itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.datasets import products, tables
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError
from fsmodels.models import fsp
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.multivariate import measures
from fsmodels.selection.recipes import find
from fsmodels.words import listed
from solvers import Result, SolutionStatus, StopReason
from solvers.result import relative_gap

FloatArray = NDArray[np.float64]
FSP_SECONDS = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
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

    def decision(self, data: Dataset | pd.DataFrame) -> FloatArray:
        """Return w.x + b, or the kernel's sum, for each row: above 0 means class +1.

        Parameters
        ----------
        data : Dataset or DataFrame
            A Dataset under any scaling, or a table in original units; columns are found by name.

        Raises
        ------
        ModelError
            If there is no solution.
        DataError
            If a feature is missing.
        """
        if self.machine is None:
            raise ModelError(f"There is no classifier: the solve ended as {self.status.value}. {self.message}".strip())
        if not isinstance(data, Dataset | pd.DataFrame):
            raise DataError(
                f"This needs a Dataset or a DataFrame and got {type(data).__name__}: columns are found by name, as in "
                "pandas.DataFrame(X, columns=found.data.features)."
            )
        names = list(self.machine.weights)
        if not names:
            return self.machine.scores(np.empty((len(data), 0)))
        own = self.data.select_features(names)
        if not isinstance(data, pd.DataFrame):
            return self.machine.scores(own.apply_scale_to(data).X)
        there = {str(column) for column in data.columns}
        needed, missing = products.sources(names, own.products, there)
        if missing:
            raise DataError(f"predict: the table lacks columns ({listed(missing)}): give each selected feature.")
        table = data.set_axis([str(column) for column in data.columns], axis=1)
        X = tables.feature_matrix(table[needed], needed, tables.FRAME)
        return self.machine.scores(own.apply_scale_to(Dataset(X, np.ones(len(X)), tuple(needed))).X)

    def predict(self, data: Dataset | pd.DataFrame) -> FloatArray:
        """Return the class of each row, -1.0 or +1.0; a decision of 0 counts as -1."""
        return np.where(self.decision(data) > 0, 1.0, -1.0)

    def error(self, data: Dataset) -> float:
        """Return the share of wrong labels on other data."""
        return float(np.mean(self.predict(data) != dataset(data).y))

    def measure(self, data: Dataset, names: Sequence[str] = ("error", "balanced-error", "f1", "prbep")) -> pd.Series:
        """Return measures of the decisions on other data in percent, by names as ``fs.measures.measure`` knows them.

        Examples
        --------
        >>> import fsmodels as fs
        >>> train, _, test = fs.load_dataset("wdbc").split(seed=0)
        >>> found = fs.select(train.scaled("standard"), "fsmulti", max_features=2, C=100, loss="rec@2p")
        >>> found.measure(test, ["rec@2p", "f1"]).index.tolist()
        ['rec@2p', 'f1']
        """
        return measures.measure(dataset(data).y, self.decision(data), names)
