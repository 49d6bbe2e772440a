"""The classifier of a solved kernel model, on new data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ModelError
from fsmodels.models.kernel.kernels import FloatArray, Kernel

CHUNK = 4_000_000  # entries of the kernel matrix at a time


@dataclass(frozen=True, eq=False)
class KernelClassifier:
    """``f(x) = sum_i a_i K(Z x_i, Z x) + b`` with a_i = y_i u_i, over the support vectors; class +1 where f > 0.

    Attributes
    ----------
    data : Dataset
        The training data, whose features and scaling new data are brought to.
    kernel : Kernel
    z : ndarray of shape (d,)
        Weights of the features.
    rows : ndarray of shape (m,)
        Which samples are support vectors.
    a : ndarray of shape (m,)
        Their coefficients, for a margin of 1.
    b : float
    """

    data: Dataset
    kernel: Kernel
    z: FloatArray
    rows: Any
    a: FloatArray
    b: float

    @property
    def vectors(self) -> FloatArray:
        """The support vectors, shape (m, d)."""
        return np.asarray(self.data.X[self.rows])

    @property
    def is_constant(self) -> bool:
        """Whether all weights are 0: every sample then gets the label of the larger class."""
        return not self.z.any()

    def decision(self, X: Any) -> FloatArray:
        """Return f of shape (n,) for a Dataset, whose columns are taken by name, or an array (n, d) scaled as ``data``.

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
            return np.full(len(X), 1.0 if 2 * (self.data.y > 0).sum() >= len(self.data.y) else -1.0)
        columns = np.flatnonzero(self.z)
        q, A = self.z[columns] ** 2, self.vectors[:, columns]
        centre = A.mean(axis=0) if self.kernel.shift_invariant and len(A) else np.zeros(len(columns))
        step = max(1, CHUNK // max(1, len(A)))
        parts = [X[k : k + step][:, columns] - centre for k in range(0, len(X), step)]
        found = [self.a @ self.kernel.entries(self.kernel.exponent(A - centre, part, q)) for part in parts]
        return np.concatenate(found) + self.b if found else np.zeros(0)

    def predict(self, X: Any) -> FloatArray:
        """Return labels -1 and +1 of shape (n,); a tie at 0 is -1."""
        return np.where(self.decision(X) > 0, 1.0, -1.0)

    def error(self, data: Dataset) -> float:
        """Return the share of samples with the wrong label."""
        return float(np.mean(self.predict(data) != data.y))


def classifier(model: pyo.ConcreteModel) -> KernelClassifier:
    """Return the classifier of a solved model of this module.

    Parameters
    ----------
    model : pyo.ConcreteModel
        With its values loaded.

    Returns
    -------
    KernelClassifier
        With ``decision(data)``, ``predict(data)`` and ``error(data)``.

    Raises
    ------
    ModelError
        If the model is not of this module, or was not solved.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> model = fs.kernel.gmkl(data, C=1.0, penalty=1.0)
    >>> result = fs.solve(model)
    >>> fs.kernel.classifier(model).error(data) < 0.4
    True
    """
    problem = getattr(model, "kernel_problem", None)
    if problem is None:
        raise ModelError(f'Model "{model.name}" is not one of fs.kernel: it has no kernel.')
    u, z = (np.array([v.value for v in part.values()], dtype=float) for part in (model.u, model.z))
    if np.isnan(u).any() or np.isnan(z).any() or not (u.any() or model.b.value):
        raise ModelError(f'Model "{model.name}" has no solution loaded: solve it first, with fs.solve(model).')
    margin = float(model.margin.value)
    a = problem.y * u / margin
    rows = np.flatnonzero(a)
    return KernelClassifier(problem.data, problem.kernel, z, rows, a[rows], float(model.b.value) / margin)


def ranking(model: pyo.ConcreteModel) -> pd.Series:
    """Return the weights z of a solved model by feature, the largest first; equal ones in the order of the data.

    Parameters
    ----------
    model : pyo.ConcreteModel
        Of this module, with its values loaded.

    Raises
    ------
    ModelError
        As ``classifier`` does.

    Notes
    -----
    Source: Tayal, Coleman, Li, section 5.2.

    Examples
    --------
    >>> import fsmodels as fs
    >>> data = fs.load_dataset("bupa").scaled("standard")
    >>> model = fs.kernel.gmkl(data, C=1.0, penalty=1.0)
    >>> result = fs.solve(model)
    >>> set(result.selected) <= set(fs.kernel.ranking(model).index)
    True
    """
    found = pd.Series(classifier(model).z, index=list(model.features), name="weight")
    return found.sort_values(ascending=False, kind="stable")
