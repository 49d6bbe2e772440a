"""Base classes of ``Selection``: decisions of its classifier on samples, and its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import choice
from fsmodels.datasets import prepare
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.columns import UNSEEN
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError
from fsmodels.models import fsp
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.multivariate import measures
from fsmodels.selection.catalogue import find
from fsmodels.text import listed
from fsmodels.weights import FloatArray
from solvers import Result, SolutionStatus, StopReason
from solvers.result import relative_gap
from solvers.user_warnings import warn

FSP_SECONDS = 30.0


class FittedSelection:
    """Base class of new and loaded selections: decisions, labels, errors and weights of ``classifier``."""

    data: Dataset
    selected: tuple[str, ...]
    classifier: LinearClassifier | KernelClassifier | None

    @property
    def machine(self) -> LinearClassifier | KernelClassifier | None:
        """Former name of ``classifier``."""
        warn("Selection.machine is called classifier now.", DeprecationWarning)
        return self.classifier

    def _reason(self) -> str:
        """Return the reason for a missing classifier, as the end of a message."""
        raise NotImplementedError

    @property
    def has_solution(self) -> bool:
        """True if there is a classifier."""
        return self.classifier is not None

    @property
    def weights(self) -> dict[str, float]:
        """Feature -> weight on ``data`` as scaled, for selected features and others with a weight that is not 0.

        For a kernel, the weights z inside it.
        """
        return {} if self.classifier is None else self.classifier.weights

    @property
    def bias(self) -> float | None:
        """The offset of the classifier on ``data`` as scaled."""
        return None if self.classifier is None else self.classifier.bias

    @cached_property
    def _original(self) -> tuple[dict[str, float] | None, float | None]:
        return ({}, None) if self.classifier is None else self.classifier.original()

    @property
    def weights_original(self) -> dict[str, float] | None:
        """The weights for data in original units; None for a kernel without such weights."""
        return self._original[0]

    @property
    def bias_original(self) -> float | None:
        """The bias for data in original units."""
        return self._original[1]

    def table(self) -> pd.DataFrame:
        """Return a frame of the selected features, the largest weight first: ``weight`` as scaled, ``weight_original``.

        Examples
        --------
        >>> import fsmodels as fs
        >>> fs.select(fs.load_dataset("bupa"), max_features=2).table().round(2).to_dict("index")
        {'sgot': {'weight': -1.41, 'weight_original': -0.14}, 'sgpt': {'weight': 1.14, 'weight_original': 0.06}}
        """
        weights, original = self.weights, self.weights_original or {}
        rows = {name: [weights.get(name, 0.0), original.get(name, np.nan)] for name in self.selected}
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["weight", "weight_original"], dtype=float)
        order = frame["weight"].abs().sort_values(ascending=False, kind="stable").index
        return frame.loc[order].rename_axis("feature")

    def decision(self, data: Any, unseen: str = "refuse") -> FloatArray:
        """Return w.x + b, or the sum of a kernel classifier, for each row: above 0 means class +1.

        A sample on the decision boundary has exactly 0, independent of rounding; see ``on_boundary``.

        Parameters
        ----------
        data : Dataset, DataFrame, array or list
            A Dataset with any scaling, or samples in original units. Columns of a table, or of a list of mappings, are
            found by name; an array or a list of rows has all features in the order of the data. Blanks are filled in if
            those of the data were (``impute=``), and are errors otherwise.
        unseen : {"refuse", "zeros"}
            How to handle a level of a category that the data did not have; "zeros": as a row without a level.

        Raises
        ------
        ModelError
            There is no solution.
        DataError
            A feature is missing, or a cell is no number.
        """
        choice("unseen", unseen, list(UNSEEN))
        if self.classifier is None:
            raise ModelError(f"There is no classifier{self._reason()}")
        names = list(self.classifier.weights)
        own = self.data.select_features(names) if names else None
        if isinstance(data, Dataset):
            return self.classifier.scores(np.empty((len(data), 0)) if own is None else own.apply_scale_to(data).X)
        table = self._table(data)
        if own is None:
            return self.classifier.scores(np.empty((len(table), 0)))
        X, plain = prepare.raw(own, table, unseen)
        return self.classifier.scores(own.apply_scale_to(Dataset(X, np.ones(len(X)), plain)).X)

    decision_function = decision

    def predict(self, data: Any, unseen: str = "refuse") -> NDArray[Any]:
        """Return the class of each row; a decision of 0 counts as the negative class.

        For a Dataset the classes are -1.0 and +1.0 as in ``y``, for other samples (see ``decision``) the original
        labels; ``"not <positive label>"`` if several labels became class -1.

        Examples
        --------
        >>> import fsmodels as fs
        >>> data = fs.Dataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], ["well", "well", "ill", "ill"], positive="ill")
        >>> found = fs.select(data, "svm")
        >>> found.predict(data).tolist(), found.predict([[0.2], [2.9]]).tolist()
        ([-1.0, -1.0, 1.0, 1.0], ['well', 'ill'])
        """
        above = self.decision(data, unseen) > 0
        if isinstance(data, Dataset):
            return np.where(above, 1.0, -1.0)
        positive, negative = self.data.positive_label, self.data.negative_label
        if isinstance(negative, tuple):
            negative = f"not {positive}"
        alike = type(positive) is type(negative)
        labels = np.array([negative, positive], dtype=None if alike else object)
        return np.asarray(labels[above.astype(int)])

    def on_boundary(self, data: Any, unseen: str = "refuse") -> int:
        """Return the number of samples on the decision boundary, which count as the negative class.

        Their decision is 0 within 1e-6, absolutely and relative to its terms. The weights have errors of this size, so
        that the sign would depend on the solver.
        """
        return int(np.count_nonzero(self.decision(data, unseen) == 0))

    def error(self, data: Dataset) -> float:
        """Return the share of wrong labels on other data."""
        return float(np.mean(self.predict(dataset(data)) != data.y))

    def measure(self, data: Dataset, names: Sequence[str] = ("error", "balanced-error", "f1", "prbep")) -> pd.Series:
        """Return measures of the decisions on other data in percent, by the names of ``fs.measures.measure``.

        Examples
        --------
        >>> import fsmodels as fs
        >>> train, _, test = fs.load_dataset("wdbc").split(seed=0)
        >>> found = fs.select(train.scaled("standard"), "fsmulti", max_features=2, C=100, loss="rec@2p")
        >>> found.measure(test, ["rec@2p", "f1"]).index.tolist()
        ['rec@2p', 'f1']
        """
        return measures.measure(dataset(data).y, self.decision(data), names)

    def _table(self, given: Any) -> pd.DataFrame:
        """Return samples as a table whose columns have names."""
        if isinstance(given, pd.DataFrame):
            return given
        if hasattr(given, "to_pandas"):
            return pd.DataFrame(given.to_pandas())
        if isinstance(given, list | tuple) and given and all(isinstance(row, dict) for row in given):
            return pd.DataFrame(list(given))
        if isinstance(given, str | bytes | dict) or given is None:
            raise DataError(
                f"This needs samples and got {type(given).__name__}: give a Dataset, a DataFrame, an array or a list "
                "of rows."
            )
        try:
            X = given.toarray() if sparse.issparse(given) else np.asarray(given)
        except ValueError as error:
            raise DataError(f"The rows are not a matrix ({error}): give every row the same number of values.") from None
        plain = [name for name in self.data.features if name not in self.data.products]
        if X.ndim != 2 or X.shape[1] != len(plain):
            raise DataError(
                f"The samples have shape {X.shape}: give rows of {len(plain)} values, the features in this order: "
                f"{listed(plain, 5)}; or a DataFrame, whose columns are found by name."
            )
        return pd.DataFrame(X, columns=plain)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(FittedSelection):
    """Fields of ``Selection``, where they are described."""

    name: str
    data: Dataset
    parameters: dict[str, Any]
    selected: tuple[str, ...]
    classifier: LinearClassifier | KernelClassifier | None
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
    def gap(self) -> float | None:
        """``|objective - bound| / |objective|``; None without a bound."""
        result = self.result
        return relative_gap(self.objective, self.bound, minimize=result.minimize, resolution=result.resolution)

    @cached_property
    def fsp_objective(self) -> float | None:
        """The objective of fsp-m at the selected features: the optimum of the soft-margin SVM on them, with the same C.

        It compares models that select for an SVM by other means; None if it cannot be certified within 30 seconds. The
        weights of ``classifier`` may have another objective.
        """
        if not (self.has_solution and "fsp_objective" in find(self.name).comparison_objectives):
            return None
        return fsp.value(self.data, self.selected, C=self.parameters["C"], time_limit=FSP_SECONDS)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the solve."""
        return self.result.seconds

    @property
    def training_error(self) -> float | None:
        """Share of wrong labels on ``data``."""
        return self.error(self.data) if self.has_solution else None

    @property
    def training_on_boundary(self) -> int | None:
        """Number of samples of ``data`` on the decision boundary, which count as class -1 (``on_boundary``)."""
        return self.on_boundary(self.data) if self.has_solution else None

    def _reason(self) -> str:
        return f": the solve ended as {self.status.value}. {self.message}".rstrip()
