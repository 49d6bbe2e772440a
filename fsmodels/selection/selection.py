"""A reported selection: features, classifier, and what is proven about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray

from fsmodels.datasets import tables
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError
from fsmodels.models import fsp
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.multivariate import measures
from fsmodels.selection import report
from fsmodels.selection.recipes import find
from fsmodels.words import listed
from solvers import Result, SolutionStatus, StopReason
from solvers.result import relative_gap

__all__ = ["Selection"]

FloatArray = NDArray[np.float64]
FSP_SECONDS = 30.0


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Selected features, their classifier, and what is proven about them.

    Attributes
    ----------
    name : str
        The model's name in the table.
    data : Dataset
        What the model was built from.
    parameters : dict
        Those of the model, and the side constraints.
    selected : tuple of str
        sigma = 1 where the model has a sigma; else ``|w_j| max_i |x_ij|`` above 1e-6 of the largest; of a kernel,
        weights of at least 0.01 of the largest, and the others are set to 0. In order.
    machine : LinearClassifier, KernelClassifier or None
        What decides, on ``data`` as scaled.
    objective, bound : float or None
        The formulation's objective, recomputed from ``data`` and ``machine`` without the solver, and a
        proven lower bound on the best one.
    status, stop_reason : SolutionStatus, StopReason
        What you hold, and why the run stopped.
    message : str
        What a person should know: rows that clash, a bound that could not be proven.
    validation_error : float or None
        Share of wrong labels on the validation data.
    chosen_by : str or None
        "validation" where this is not the optimum but the classifier of least ``validation_error`` among those met
        (``choose_by`` of ``select``), whose error is then no estimate for new data.
    result : Result
        The solver's own, with the iteration table of a driver.
    fs_objective : float or None
        For the family of FS (Bradley, Mangasarian, Street 1998): (7) at ``weights`` and ``bias``.
    refit : Selection or None
        For fsl, fsv, fss and fsb: the robust LP on the selected features, with ``predict`` and errors of its own.
    model : pyo.ConcreteModel or None
        The live model with the solution's values; None for a baseline.
    ranking : pandas.Series or None
        Scores of a baseline, best first.
    """

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
    refit: Selection | None = None
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
        if missing := [name for name in names if name not in there]:
            raise DataError(f"predict: the table lacks columns ({listed(missing)}): give each selected feature.")
        table = data.set_axis([str(column) for column in data.columns], axis=1)
        X = tables.feature_matrix(table[names], names, tables.FRAME)
        return self.machine.scores(own.scale.apply(X, own.features))

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

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file; ``null`` (None) where there is none, never NaN.

        ``objective``, ``bound``, ``weights`` and ``bias`` belong to the scaled data, so that the objective can be
        recomputed: ``weights`` holds every weight that is not 0. ``weights_original`` and ``bias_original`` are the
        same classifier for the file's units. ``kernel`` holds what decides besides, where there is a kernel.
        """
        return report.contract(self)

    def __repr__(self) -> str:
        return report.text(self)

    def _repr_html_(self) -> str:
        return report.html(self)
