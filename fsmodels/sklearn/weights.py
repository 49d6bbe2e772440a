"""Weights of samples and of classes, and the distinct rows of weighted samples.

A sample weight of 2 is equivalent to the row twice, and 0 to its absence. Both must give the same fit, even if there
are several optima. So equal rows with equal labels become one row of the model, with the sum of their weights, in the
order of their values. This changes no objective, since equal rows have equal slacks, and no scaling constant, which
counts weights as rows. Without repeated rows and weights, rows keep their order.

Weights of classes are the costs of an error; scalings ignore them. A model with the mean slack of each class gives both
classes the same weight, as "balanced" does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import positive
from fsmodels.datasets.weighting import BALANCED, given_weights
from fsmodels.errors import DataError, ParameterError
from fsmodels.selection.catalogue import MODELS
from fsmodels.text import listed, short
from fsmodels.weights import FloatArray


def takes_weights(model: Any) -> bool:
    """Return True if the model is known and takes weights of samples."""
    return isinstance(model, str) and model in MODELS and MODELS[model].takes_weights


class FitByModel:
    """Descriptor of ``fit``, whose signature contains ``sample_weight`` only if the model takes weights.

    scikit-learn inspects the signature to decide whether to pass weights. The class has the complete signature.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None or takes_weights(estimator.model):
            return self._function.__get__(estimator, owner)
        fit = update_wrapper(partial(self._function, estimator), self._function)
        fit.__signature__ = inspect.signature(lambda X, y: None)  # type: ignore[attr-defined]
        return fit


def checked_weights(weights: Any, n_samples: int) -> FloatArray | None:
    """Return the sample weights; None if all are 1.

    Raises DataError: not one number of at least 0 for each sample, or all are 0.
    """
    if weights is None:
        return None
    found = given_weights(np.full(n_samples, weights) if np.isscalar(weights) else weights, n_samples)
    if not found.any():
        raise DataError("Sample weights must contain at least one non-zero number: all sample weights are zero.")
    return None if (found == 1.0).all() else found


def by_class(given: Any, classes: NDArray[Any], codes: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
    """Return the cost of an error in each class, 1 if it is not named; ``weights`` count as rows.

    Raises ParameterError: neither "balanced" nor numbers above 0 by label, or an unknown label.
    """
    if isinstance(given, str) and given == BALANCED:
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        return np.asarray(mass.sum() / (len(classes) * mass))
    if not isinstance(given, Mapping):
        raise ParameterError(
            f'class_weight={short(repr(given))} is not allowed: give "{BALANCED}", or a mapping of labels to numbers.'
        )
    names = classes.tolist()
    if unknown := [label for label in given if label not in names]:
        raise ParameterError(f"class_weight names {listed(unknown)}: the labels are {listed(names)}.")
    costs = [positive("class_weight", given.get(name, 1.0), f"it is the cost of an error in {name}") for name in names]
    return np.array(costs)


def against_rest(
    costs: FloatArray, is_one: NDArray[np.bool_], weights: FloatArray | None
) -> tuple[FloatArray, tuple[float, float]]:
    """Return the share of each sample, of mean 1 in one class and in the rest, and the costs of the rest and the class.

    ``costs`` (n_samples,): by the original classes, several of which are the rest. A sum of slacks then contains the
    costs, and so does a mean over the rest: sum g c xi / sum g, with the ``weights`` g.
    """
    g = np.ones(len(costs)) if weights is None else weights
    rest, one = (float(np.average(costs[rows], weights=g[rows])) for rows in (~is_one, is_one))
    return costs / np.where(is_one, one, rest), (rest, one)


def distinct(X: Any, codes: NDArray[np.intp], weights: FloatArray | None) -> tuple[Any, NDArray[np.intp], Any]:
    """Return rows, labels and weights with equal rows merged, in order; unchanged if no row repeats.

    Rows of weight 0 are removed; None means that all weights are 1.
    """
    order, starts = _groups(X, codes)
    if weights is None and len(starts) == len(order):
        return X, codes, None
    mass = np.add.reduceat(np.ones(len(order)) if weights is None else weights[order], starts)
    rows = order[starts]
    mass, rows = mass[mass > 0], rows[mass > 0]
    return X[rows], codes[rows], mass


def _groups(X: Any, codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return an order by the values of the rows alone, and the start of each group of equal rows."""
    if sparse.issparse(X):
        X = X.sorted_indices()
        X.eliminate_zeros()
        ends = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
        keys = [
            (code, X.indices[a:z].astype(np.int64).tobytes(), X.data[a:z].tobytes())
            for code, (a, z) in zip(codes.tolist(), ends, strict=True)
        ]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
        new = [k == 0 or keys[order[k]] != keys[order[k - 1]] for k in range(len(order))]
        return order, np.flatnonzero(new)
    table = np.column_stack([codes, X + 0.0])  # without -0.0
    order = np.lexsort(table.T[::-1])
    ordered = table[order]
    new = np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)]
    return order, np.flatnonzero(new)
