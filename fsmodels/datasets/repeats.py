"""Columns without information: which are constant, equal an earlier one, or nearly, or only number the rows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fsmodels.datasets.cells import FloatArray
from fsmodels.datasets.scaling import counted
from fsmodels.datasets.shell import quoted
from fsmodels.errors import ParameterError


def uninformative(X: Any, features: Sequence[str], limit: int = 20) -> list[str]:
    """Say in sentences which columns are constant and which equal an earlier one; none for data without.

    The first ``limit`` of each kind are named, and at most five of those that are equal.
    """
    constant, equal = _sparse_repeats(X) if sparse.issparse(X) else _dense_repeats(X)
    sentences = []
    if len(constant):
        shown = [f'"{features[j]}" ({X[0, j] + 0.0:g} in every row)' for j in constant[:limit]]
        sentences.append(f"Constant, so without information: {_some(shown, ', ', len(constant))}.")
    if equal:
        few = min(limit, 5)
        shown = [_some([quoted(features[j]) for j in js[:few]], " = ", len(js)) for js in equal[:limit]]
        sentences.append(f"Equal columns, of which one is enough: {_some(shown, ', ', len(equal))}.")
    return sentences


def correlated(
    X: FloatArray, features: Sequence[str], least: float, counts: FloatArray | None = None
) -> dict[str, str]:
    """Return feature -> first of its group, where any two of a group correlate by ``least``; no single features.

    ``counts``: how often each row counts.
    """
    if isinstance(least, bool) or not isinstance(least, numbers.Real) or not 0 < least <= 1:
        raise ParameterError(f"correlated: least={least!r} is not allowed: give a number above 0, at most 1.")
    from scipy.cluster import hierarchy  # 0.2 s to import

    X, counts = counted(X, counts)
    varied = np.flatnonzero(X.max(axis=0) > X.min(axis=0)) if len(X) else np.arange(0)
    if len(varied) < 2:
        return {}
    if counts is not None:  # which corrcoef does not take
        X = np.sqrt(counts)[:, None] * (X - np.average(X, axis=0, weights=counts))
        sizes = np.linalg.norm(X[:, varied], axis=0)
        alike = X[:, varied].T @ X[:, varied] / np.outer(sizes, sizes)
    else:
        alike = np.corrcoef(X[:, varied], rowvar=False)
    apart = np.clip(1.0 - np.abs(alike), 0.0, None)
    tree = hierarchy.complete(apart[np.triu_indices(len(varied), 1)])
    group = hierarchy.fcluster(tree, 1.0 - least + 1e-12, criterion="distance")
    first = {g: features[j] for g, j in zip(group[::-1].tolist(), varied[::-1].tolist(), strict=True)}
    sizes = np.bincount(group)
    named = zip(group.tolist(), varied.tolist(), strict=True)
    return {features[j]: first[g] for g, j in named if sizes[g] > 1}


def _some(shown: list[str], mark: str, count: int) -> str:
    """Join the first of ``count`` names."""
    return mark.join(shown) + (f"{mark}... ({count} in all)" if count > len(shown) else "")


Repeats = tuple[Sequence[int], list[list[int]]]  # constant columns; groups of equal ones


def _dense_repeats(X: FloatArray) -> Repeats:
    columns = np.asfortranarray(X + 0.0)  # + 0.0 makes -0.0 equal to 0.0
    constant = (columns == columns[:1]).all(axis=0)
    same: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(~constant).tolist():
        same.setdefault(columns[:, j].tobytes(), []).append(j)
    return np.flatnonzero(constant).tolist(), [group for group in same.values() if len(group) > 1]


def _sparse_repeats(X: Any) -> Repeats:
    """Find the same in the stored entries, none of which is 0; only columns whose random sums agree are compared."""
    columns = X.tocsc()
    starts = columns.indptr
    fixed = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() == 0
    with np.errstate(over="ignore", invalid="ignore"):
        sums = X.T @ np.random.default_rng(0).random(X.shape[0])
    _, kind, many = np.unique(sums, return_inverse=True, return_counts=True)
    same: dict[bytes, list[int]] = {}
    for j in np.flatnonzero((many[kind] > 1) & ~fixed).tolist():
        part = slice(starts[j], starts[j + 1])
        same.setdefault(columns.indices[part].tobytes() + columns.data[part].tobytes(), []).append(j)
    return np.flatnonzero(fixed).tolist(), [group for group in same.values() if len(group) > 1]
