"""What a selection decides with: linear on scaled features, or a kernel of weighted ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.kernel.fitted import KernelClassifier
from fsmodels.models.kernel.kernels import FloatArray, Kernel

__all__ = ["KernelMachine", "LinearMachine", "Machine"]


class Machine(Protocol):
    """A classifier on scaled data, whose features are those of ``weights``."""

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each feature that decides."""
        ...

    @property
    def bias(self) -> float:
        """The offset b."""
        ...

    def scores(self, X: Any) -> FloatArray:
        """Return decision values of shape (n,) for the columns of ``weights``, in order and as scaled."""
        ...

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return weights and offset with the same decisions on data in original units; None where there are none."""
        ...

    @property
    def kernel(self) -> dict[str, Any] | None:
        """What the JSON file holds besides weights and offset; None of a linear classifier."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What reports say besides."""
        ...


@dataclass(frozen=True)
class LinearMachine:
    """``w.x + b`` on the scaled features of ``data``."""

    data: Dataset
    weights: dict[str, float]
    bias: float

    kernel = None

    def scores(self, X: Any) -> FloatArray:
        """Return w.x + b of shape (n,)."""
        return np.asarray(X @ np.array(list(self.weights.values()))).ravel() + self.bias

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return w and b for original units."""
        w, b = self.data.original_weights(self.weights, self.bias)
        by_name = dict(zip(self.data.features, w.tolist(), strict=True))
        return {name: by_name[name] for name in self.weights}, b

    @property
    def facts(self) -> Mapping[str, str]:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class KernelMachine:
    """``sum_i a_i K(Z x_i, Z x) + b`` on the scaled features of ``classifier.data``; weights are z, at least 0."""

    classifier: KernelClassifier

    @property
    def weights(self) -> dict[str, float]:
        """The weights z by feature, where they are not 0."""
        c = self.classifier
        return {name: z for name, z in zip(c.data.features, c.z.tolist(), strict=True) if z}

    @property
    def bias(self) -> float:
        """The offset b of the SVM."""
        return self.classifier.b

    def scores(self, X: Any) -> FloatArray:
        """Return f of shape (n,); +1 or -1, the larger class, where all weights are 0."""
        whole = np.zeros((X.shape[0], len(self.classifier.z)))
        whole[:, np.flatnonzero(self.classifier.z)] = X.toarray() if sparse.issparse(X) else X
        return self.classifier.decision(whole)

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return z times the factors of the scaling, if the kernel does not see its shifts, and b as it is."""
        c, scale = self.classifier, self.classifier.data.scale
        if not (c.kernel.shift_invariant or not scale.shift[c.z != 0].any()):
            return None, None
        original = dict(zip(c.data.features, (c.z * scale.factor).tolist(), strict=True))
        return {name: original[name] for name in self.weights}, c.b

    @property
    def kernel(self) -> dict[str, Any] | None:
        """Return the kernel, support vectors as rows of the data from 0, a_i = y_i u_i, and the class of z = 0."""
        c = self.classifier
        constant = float(self.scores(np.empty((1, 0)))[0]) if c.is_constant else None
        return {**_named(c.kernel), "support_vectors": c.rows, "coefficients": c.a, "constant": constant}

    @property
    def facts(self) -> Mapping[str, str]:
        """The kernel, and how many samples carry it."""
        c = self.classifier
        named = _named(c.kernel)
        name = " ".join([named.pop("name"), *(f"{key} {value:g}" for key, value in named.items())])
        return {"Kernel": f"{name}, {len(c.rows)} support vectors of {c.data.n_samples} samples"}


def _named(kernel: Kernel) -> dict[str, Any]:
    """Return name and parameters of a kernel; the linear one is the polynomial of degree 1 and offset 0."""
    parameters = {key: value for key, value in vars(kernel).items() if key != "shift_invariant"}
    return {"name": type(kernel).__name__.lower(), **parameters}
