"""What a classifier decides of samples as they come: data sets, tables, arrays, lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import choice
from fsmodels.datasets import made_again
from fsmodels.datasets.categories import UNSEEN
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ModelError
from fsmodels.models.classifier import LinearClassifier
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.multivariate import measures
from fsmodels.words import listed

__all__ = ["Deciding"]

FloatArray = NDArray[np.float64]


class Deciding:
    """Decisions, labels and errors of a ``machine`` found on ``data``, whose labels and scaling it has."""

    machine: LinearClassifier | KernelClassifier | None
    data: Dataset

    def _none(self) -> str:
        """Say why there is no classifier."""
        return ""

    def decision(self, data: Any, unseen: str = "refuse") -> FloatArray:
        """Return w.x + b, or the kernel's sum, for each row: above 0 means class +1.

        A sample on the decision boundary gets exactly 0, although rounding may give its sum another sign: see
        ``on_boundary``.

        Parameters
        ----------
        data : Dataset, DataFrame, array or list
            A Dataset under any scaling; or samples in original units. Columns of a table, or of a list of mappings, are
            found by name; an array or a list of rows has those of all features, in the order of the data. Blanks are
            filled in if those of the data were (``impute=``), and refused otherwise.
        unseen : {"refuse", "zeros"}
            What becomes of a level of a category that the data did not have: "zeros" decides as of no level.

        Raises
        ------
        ModelError
            If there is no solution.
        DataError
            If a feature is missing, or a cell is no number.
        """
        choice("unseen", unseen, list(UNSEEN))
        if self.machine is None:
            raise ModelError(f"There is no classifier{self._none()}")
        names = list(self.machine.weights)
        own = self.data.select_features(names) if names else None
        if isinstance(data, Dataset):
            return self.machine.scores(np.empty((len(data), 0)) if own is None else own.apply_scale_to(data).X)
        table = self._table(data)
        if own is None:
            return self.machine.scores(np.empty((len(table), 0)))
        X, plain = made_again.raw(own, table, unseen)
        return self.machine.scores(own.apply_scale_to(Dataset(X, np.ones(len(X)), plain)).X)

    decision_function = decision

    def predict(self, data: Any, unseen: str = "refuse") -> NDArray[Any]:
        """Return the class of each row; a decision of 0 counts as the negative class.

        Of a Dataset -1.0 or +1.0, as its ``y`` has them; of any other samples (``decision``) the labels that the data
        had before: where several were merged into class -1, ``"not <positive label>"``.

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

        Their decision is 0 within 1e-6, and within 1e-6 of the terms that it is the sum of. Solvers leave errors of
        that size in the weights, so that its sign would depend on the solver.
        """
        return int(np.count_nonzero(self.decision(data, unseen) == 0))

    def error(self, data: Dataset) -> float:
        """Return the share of wrong labels on other data."""
        return float(np.mean(self.predict(dataset(data)) != data.y))

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
            raise DataError(f"The rows are no matrix ({error}): give every row the same number of values.") from None
        plain = [name for name in self.data.features if name not in self.data.products]
        if X.ndim != 2 or X.shape[1] != len(plain):
            raise DataError(
                f"The samples have shape {X.shape}: give rows of {len(plain)} values, the features in their order "
                f"({listed(plain, 5)}); or a DataFrame, whose columns are found by name."
            )
        return pd.DataFrame(X, columns=plain)
