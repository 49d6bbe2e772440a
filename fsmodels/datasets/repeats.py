"""Columns without information: which are constant, equal an earlier one, or nearly, or only number the rows."""

from __future__ import annotations

import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fsmodels.datasets.cells import FloatArray
from fsmodels.datasets.scaling import counted
from fsmodels.datasets.shell import quoted
from fsmodels.errors import ParameterError

ROWS = 10  # fewer tell nothing of a column that numbers them
NAMES = r"(^|[\W_])(id|ids|idx|index|uid|uuid|key|nr|row|rownum|record|unnamed)([\W_]|$)|(?-i:[a-z]I[dD])$"
NUMBERING = re.compile(NAMES, re.IGNORECASE)


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


def numbering(X: Any, features: Sequence[str], limit: int = 5) -> list[str]:
    """Say in a sentence which columns look like names of the rows: whole numbers, no two of them the same.

    They are named so (id, index, "Unnamed: 0"), or count the rows one by one; none is looked for in sparse data, nor
    among few rows, where a measurement may be all that.
    """
    if sparse.issparse(X) or len(X) < ROWS:
        return []
    found = []
    for j, name in enumerate(features):
        values = X[:, j]
        if (values != np.floor(values)).any():
            continue
        ordered = np.sort(values)
        steps = np.diff(ordered)
        if (steps > 0).all() and (NUMBERING.search(name) or (np.diff(values) == 1).all()):
            found.append(quoted(name))
    if not found:
        return []
    return [f"Numbers of the rows and no features, by their look: {_some(found[:limit], ', ', len(found))}."]


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
    n_rows, starts = X.shape[0], columns.indptr
    sizes = np.diff(starts)
    fixed = sizes == 0
    for j in np.flatnonzero(sizes == n_rows):
        values = columns.data[starts[j] : starts[j + 1]]
        fixed[j] = bool((values == values[0]).all())

    marks = np.random.default_rng(0).integers(2**64, size=n_rows, dtype=np.uint64)
    hashes = columns.data.view(np.uint64) ^ marks[columns.indices]
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):  # odd, so that no two values become one
        hashes *= np.uint64(factor)
        hashes ^= hashes >> np.uint64(32)
    filled = np.flatnonzero(sizes)
    sums = np.add.reduceat(hashes, starts[filled]) if len(filled) else hashes
    _, kind, many = np.unique(sums, return_inverse=True, return_counts=True)
    same: dict[bytes, list[int]] = {}
    for j in filled[many[kind] > 1].tolist():
        if not fixed[j]:
            part = slice(starts[j], starts[j + 1])
            same.setdefault(columns.indices[part].tobytes() + columns.data[part].tobytes(), []).append(j)
    return np.flatnonzero(fixed).tolist(), [group for group in same.values() if len(group) > 1]
