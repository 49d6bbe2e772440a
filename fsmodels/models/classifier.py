"""Linear classifier of a selection: its decisions, and the losses for objectives.

Decision boundary
    A sample gets class +1 if its decision value is above 0, as in scikit-learn, and class -1 otherwise. A solver
    returns weights with an error of 1e-8 or so, and the sign of a value of that size is arbitrary. Every decision value
    therefore passes through ``on_boundary_zero``: a value that is 0 within ``BOUNDARY`` is set to exactly 0. The sample
    is then on the boundary and has class -1, in every report and for every solver. Losses and objectives use the values
    as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.shares import class_shares, slack_weights
from fsmodels.weights import FloatArray

__all__ = ["LinearClassifier", "error_rate", "linear_decision", "on_boundary_zero"]

BOUNDARY = 1e-6  # relative to the margin 1, or to the terms of the sum if these are smaller


def on_boundary_zero(values: FloatArray, terms: FloatArray) -> FloatArray:
    """Return decision values of shape (n,), with exactly 0 for samples on the decision boundary.

    ``terms``: of shape (n,), the sum of the absolute terms of each value. A value is on the boundary if it is at most
    1e-6, and at most 1e-6 of its terms. The first part keeps margins apart on columns with large values. The second
    keeps small values apart where all weights are small.

    >>> on_boundary_zero(np.array([5e-9, -2e-3, 3e-7]), np.array([1.0, 1e6, 3e-7])).tolist()
    [0.0, -0.002, 3e-07]
    """
    return np.asarray(np.where(np.abs(values) <= BOUNDARY * np.minimum(terms, 1.0), 0.0, values))


def linear_decision(X: Any, w: FloatArray, b: float) -> FloatArray:
    """Return w.x + b of shape (n,) for the rows of X, dense or CSR, with 0 for samples on the boundary."""
    terms = np.asarray(abs(X) @ np.abs(w)).ravel() + abs(b)
    return on_boundary_zero(np.asarray(X @ w).ravel() + b, terms)


def error_rate(data: Dataset, w: FloatArray, b: float) -> float:
    """Return the share of wrong labels of the classifier w.x + b."""
    return float(np.mean(np.where(linear_decision(data.X, w, b) > 0, 1.0, -1.0) != data.y))


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """``w.x + b`` on the features of ``data`` as scaled.

    Attributes
    ----------
    data : Dataset
        Training data.
    w : array of shape (n,)
    b : float
    selected : tuple of str
        Selected features, in the order of the data; weights of other features are 0 or rounding errors.
    """

    data: Dataset
    w: FloatArray
    b: float
    selected: tuple[str, ...]

    @cached_property
    def values(self) -> FloatArray:
        """The sums w.x_i + b on ``data``, shape (l,), for the losses."""
        return np.asarray(self.data.X @ self.w).ravel() + self.b

    @cached_property
    def losses(self) -> FloatArray:
        """Hinge losses max(0, 1 - y_i (w.x_i + b)), shape (l,)."""
        return np.asarray(np.maximum(0.0, 1.0 - self.data.y * self.values))

    @property
    def loss(self) -> float:
        """The weighted sum of hinge losses."""
        return float(slack_weights(self.data) @ self.losses)

    @property
    def squared_loss(self) -> float:
        """The weighted sum of squared hinge losses."""
        return float(slack_weights(self.data) @ self.losses**2)

    @property
    def error(self) -> float:
        """E of Bradley, Mangasarian, Street 1998: the sum of the mean hinge losses of the two classes."""
        return float(class_shares(self.data) @ self.losses)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each selected feature, and of each other feature with a weight other than 0."""
        selected = set(self.selected)
        return {j: x for j, x in zip(self.data.features, self.w.tolist(), strict=True) if j in selected or x}

    @property
    def bias(self) -> float:
        """The offset b."""
        return self.b

    def scores(self, X: Any) -> FloatArray:
        """Return decision values of shape (n,) for the scaled columns of ``weights``, in order."""
        return linear_decision(X, np.array(list(self.weights.values())), self.b)

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return weights and offset with the same decisions on data in original units."""
        w, b = self.data.original_weights(self.weights, self.b)
        by_name = dict(zip(self.data.features, w.tolist(), strict=True))
        return {name: by_name[name] for name in self.weights}, b

    @property
    def inside(self) -> dict[str, Any] | None:
        """Content of a file in addition to weights and offset: None."""
        return None

    @property
    def facts(self) -> Mapping[str, str]:
        """Further facts for reports: none."""
        return {}
