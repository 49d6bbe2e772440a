"""The classifier of a solved kernel model, on new data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo
from scipy import sparse

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError
from fsmodels.models.classifier import on_boundary_zero
from fsmodels.models.kernel.kernels import FloatArray, Kernel
from fsmodels.models.proofs.certified import values_of
from fsmodels.models.shares import slack_weights

CHUNK = 4_000_000  # entries of the kernel matrix at a time


@dataclass(frozen=True, eq=False)
class KernelClassifier:
    """``f(x) = sum_i a_i K(Z x_i, Z x) + b`` with a_i = y_i u_i, over the support vectors; class +1 where f > 0.

    Samples on the boundary: ``fsmodels.models.classifier``.

    Attributes
    ----------
    data : Dataset
        Training data; new data take their features and scaling.
    kernel : Kernel
    z : ndarray of shape (d,)
        Weights of the features.
    rows : ndarray of shape (m,)
        Positions of the support vectors among the samples.
    a : ndarray of shape (m,)
        Coefficients of the support vectors, for a margin of 1.
    b : float
    chosen : tuple of str, optional
        Features selected by the binaries of the model; by default the features with a weight.
    """

    data: Dataset
    kernel: Kernel
    z: FloatArray
    rows: Any
    a: FloatArray
    b: float
    chosen: tuple[str, ...] | None = None

    @property
    def weights(self) -> dict[str, float]:
        """The nonzero weights z by feature."""
        return {name: z for name, z in zip(self.data.features, self.z.tolist(), strict=True) if z}

    @property
    def selected(self) -> tuple[str, ...]:
        """Selected features: those in ``chosen``, or else those with a nonzero weight."""
        return tuple(self.weights) if self.chosen is None else self.chosen

    @property
    def bias(self) -> float:
        """The offset b of the SVM."""
        return self.b

    @property
    def vectors(self) -> FloatArray:
        """The support vectors, shape (m, d)."""
        return np.asarray(self.data.X[self.rows])

    @property
    def is_constant(self) -> bool:
        """True if all weights are 0, so that every sample gets the label of the larger class."""
        return not self.z.any()

    @property
    def values(self) -> FloatArray:
        """Decision values K a + b of the SVM on its training data, shape (n,), also if all weights are 0."""
        if self.is_constant:
            return np.full(len(self.data), float(self.kernel.entries(np.zeros((1, 1)))[0, 0]) * self.a.sum() + self.b)
        return self._summed(self.data.X)[0]

    def scores(self, X: Any) -> FloatArray:
        """Return decision values of shape (n,) for the scaled columns of ``weights``, in order."""
        full = np.zeros((X.shape[0], len(self.z)))
        full[:, np.flatnonzero(self.z)] = X.toarray() if sparse.issparse(X) else X
        return self.decision(full)

    def decision(self, X: Any) -> FloatArray:
        """Return f of shape (n,) for a Dataset, matched by column names, or an array (n, d) scaled as ``data``.

        Raises
        ------
        DataError
            If a Dataset lacks a feature, or is sparse.
        ModelError
            If an array has another number of columns.
        """
        if isinstance(X, Dataset):
            X = self.data.apply_scale_to(X.require_dense("kernel")).X
        X = np.atleast_2d(np.asarray(X, dtype=float))
        if X.shape[1] != len(self.z):
            raise ModelError(
                f"The array has {X.shape[1]} columns for {len(self.z)} features: give all, in their order."
            )
        if self.is_constant:
            return np.full(len(X), 1.0 if float(slack_weights(self.data) @ self.data.y) >= 0 else -1.0)
        return on_boundary_zero(*self._summed(X))

    def _summed(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f of shape (n,), and the sums of its absolute terms."""
        columns = np.flatnonzero(self.z)
        q, A = self.z[columns] ** 2, self.vectors[:, columns]
        centre = A.mean(axis=0) if self.kernel.shift_invariant and len(A) else np.zeros(len(columns))
        step = max(1, CHUNK // max(1, len(A)))
        parts = [X[k : k + step][:, columns] - centre for k in range(0, len(X), step)]
        kernels = (self.kernel.entries(self.kernel.exponent(A - centre, part, q)) for part in parts)
        found = [(self.a @ K, np.abs(self.a) @ np.abs(K)) for K in kernels]
        values, terms = np.hstack(found) if found else np.zeros((2, 0))
        return values + self.b, terms + abs(self.b)

    def predict(self, X: Any) -> FloatArray:
        """Return labels -1 and +1 of shape (n,); f = 0 gives -1."""
        return np.where(self.decision(X) > 0, 1.0, -1.0)

    def error(self, data: Dataset) -> float:
        """Return the share of samples with the wrong label."""
        return float(np.mean(self.predict(data) != data.y))

    def original(self) -> tuple[dict[str, float] | None, float | None]:
        """Return z in the original units and b, or None, None if the kernel depends on the shifts of the scaling."""
        scale = self.data.scale
        if not (self.kernel.shift_invariant or not scale.shift[self.z != 0].any()):
            return None, None
        original = dict(zip(self.data.features, (self.z * scale.factor).tolist(), strict=True))
        return {name: original[name] for name in self.weights}, self.b

    @property
    def inside(self) -> dict[str, Any] | None:
        """Return the kernel, support vectors as rows of the data from 0, a_i = y_i u_i, and the class of z = 0."""
        constant = float(self.scores(np.empty((1, 0)))[0]) if self.is_constant else None
        return {**_named(self.kernel), "support_vectors": self.rows, "coefficients": self.a, "constant": constant}

    @property
    def facts(self) -> Mapping[str, str]:
        """The kernel and the number of support vectors."""
        named = _named(self.kernel)
        name = " ".join([named.pop("name"), *(f"{key} {value:g}" for key, value in named.items())])
        return {"Kernel": f"{name}, {len(self.rows)} support vectors of {self.data.n_samples} samples"}


def _named(kernel: Kernel) -> dict[str, Any]:
    """Return the name and the parameters of a kernel; the linear one is the polynomial of degree 1 and offset 0."""
    return {"name": type(kernel).__name__.lower(), **vars(kernel)}


def classifier(model: pyo.ConcreteModel) -> KernelClassifier:
    """Return the classifier of a solved model of this module.

    Parameters
    ----------
    model : pyo.ConcreteModel
        A solved model with its values loaded.

    Returns
    -------
    KernelClassifier
        With ``decision(data)``, ``predict(data)`` and ``error(data)``.

    Raises
    ------
    ModelError
        If the model is not one of this module, or was not solved.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> model = fs.kernel.gmkl(data, C=1.0, penalty=1.0)
    >>> result = fs.solve(model)
    >>> fs.kernel.classifier(model).error(data) < 0.4
    True
    """
    problem = getattr(model, "kernel_problem", None)
    if problem is None:
        raise ModelError(f'Model "{model.name}" is not one of fs.kernel: it has no kernel.')
    u, z = values_of(model.u), values_of(model.z)
    if np.isnan(u).any() or np.isnan(z).any() or not (u.any() or model.b.value):
        raise ModelError(f'Model "{model.name}" has no solution loaded: solve it first, with fs.solve(model).')
    margin = float(model.margin.value)
    a = problem.y * u / margin
    support = np.flatnonzero(a)
    rows, b = problem.rows[support], float(model.b.value) / margin
    return KernelClassifier(problem.data, problem.kernel, z, rows, a[support], b)


def ranking(model: pyo.ConcreteModel) -> pd.Series:
    """Return the weights z of a solved model by feature, the largest first (section 5.2).

    Equal weights keep the order of the data. Parameters and errors as for ``classifier``.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").take(range(60)).scaled("standard")
    >>> model = fs.kernel.gmkl(data, C=1.0, penalty=1.0)
    >>> result = fs.solve(model)
    >>> set(result.selected) <= set(fs.kernel.ranking(model).index)
    True
    """
    found = pd.Series(classifier(model).z, index=list(model.features), name="weight")
    return found.sort_values(ascending=False, kind="stable")
