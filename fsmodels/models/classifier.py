"""The linear classifier of a selection: what it decides, and the losses that objectives are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.shares import class_shares, slack_weights

__all__ = ["LinearClassifier"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """``w.x + b`` on the features of ``data`` as scaled.

    Attributes
    ----------
    data : Dataset
        What it was found on.
    w : array of shape (n,)
    b : float
    selected : tuple of str
        Features that count as selected, in the order of the data; weights of others are 0 or of rounding.
    """

    data: Dataset
    w: FloatArray
    b: float
    selected: tuple[str, ...]

    @cached_property
    def values(self) -> FloatArray:
        """Decision values w.x_i + b on ``data``, shape (l,)."""
        return np.asarray(self.data.X @ self.w).ravel() + self.b

    @cached_property
    def losses(self) -> FloatArray:
        """Hinge losses max(0, 1 - y_i (w.x_i + b)), shape (l,)."""
        return np.asarray(np.maximum(0.0, 1.0 - self.data.y * self.values))

    @property
    def loss(self) -> float:
        """The sum of hinge losses, each times its sample's weight."""
        return float(slack_weights(self.data) @ self.losses)

    @property
    def squared_loss(self) -> float:
        """The sum of squared hinge losses, each times its sample's weight."""
        return float(slack_weights(self.data) @ self.losses**2)

    @property
    def error(self) -> float:
        """E of Bradley, Mangasarian, Street 1998: the mean hinge losses of the two classes, added."""
        return float(class_shares(self.data) @ self.losses)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each selected feature, and of any other whose weight is not 0."""
        chosen = set(self.selected)
        return {j: x for j, x in zip(self.data.features, self.w.tolist(), strict=True) if j in chosen or x}

    @property
    def bias(self) -> float:
        """The offset b."""
        return self.b

    def scores(self, X: Any) -> FloatArray:
        """Return decision values of shape (n,) for the columns of ``weights``, in order and as scaled."""
        return np.asarray(X @ np.array(list(self.weights.values()))).ravel() + self.b

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return weights and offset with the same decisions on data in original units."""
        w, b = self.data.original_weights(self.weights, self.b)
        by_name = dict(zip(self.data.features, w.tolist(), strict=True))
        return {name: by_name[name] for name in self.weights}, b

    @property
    def inside(self) -> dict[str, Any] | None:
        """What a file holds besides weights and offset: nothing."""
        return None

    @property
    def facts(self) -> Mapping[str, str]:
        """What reports say besides: nothing."""
        return {}
