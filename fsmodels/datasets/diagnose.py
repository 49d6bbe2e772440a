"""Warnings about data, each with numbers and a remedy.

When data are read: constant columns, and columns that equal another. Once for a data set and all data derived from it:

- A single feature separates the classes: its AUC is at least 0.995 (the largest in the shipped data is 0.992). Such a
  feature is often a leak that is known only after the label. Sparse data are not searched, nor data with fewer than ten
  samples of a class, where this happens by chance.
- A class has fewer than ten samples.
- There are more features than samples.

``checks`` warns about columns of different sizes when a model is built from unscaled data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.checks import number
from fsmodels.datasets.dialect import options, quoted
from fsmodels.datasets.scaling import BLOCK, counted
from fsmodels.errors import DataWarning, ParameterError
from fsmodels.text import listed
from fsmodels.weights import FloatArray
from solvers.user_warnings import warn

FEW = 10  # samples of a class
NEARLY = 0.995  # area under the curve
SHOWN = 5
NAMED, NAMED_SPARSE = 20, 5  # columns that a remark names; bags of words have thousands that are empty or equal


def warn_once(data: Any) -> None:
    """Issue the warnings about data, unless they were issued for these data or for data that they derive from."""
    if data.looked_at:
        return
    for sentence in remarks(data):
        warn(f'Data "{data.name}": {sentence}', DataWarning)
    object.__setattr__(data, "looked_at", True)  # data that derive from these have the same value


def remarks(data: Any) -> list[str]:
    """Return the warnings about data, a sentence each."""
    return [sentence for sentence in (_leaks(data), _few(data), _wide(data)) if sentence]


def separation(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area under the ROC curve of each column as a classifier, or 1 minus it if that is larger.

    >>> separation(np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 5.0]]), np.array([-1.0, -1.0, 1.0])).tolist()
    [1.0, 0.75]
    """
    positives = int((y > 0).sum())
    pairs = positives * (len(y) - positives)
    ranks = pd.DataFrame(X).rank().to_numpy()  # equal values share the mean of their ranks
    area = (ranks[y > 0].sum(axis=0) - positives * (positives + 1) / 2) / pairs
    return np.asarray(np.maximum(area, 1.0 - area))


def _leaks(data: Any) -> str:
    positives = int((data.y > 0).sum())
    if data.is_sparse or min(positives, data.n_samples - positives) < FEW:
        return ""
    area = separation(data.X, data.y)
    found = [j for j in np.argsort(-area, kind="stable").tolist() if area[j] >= NEARLY]
    if not found:
        return ""
    names = [data.features[j] for j in found[:SHOWN]]
    shown = listed((f"{quoted(data.features[j])} (AUC {math.floor(area[j] * 1e4) / 1e4:.4g})" for j in found), SHOWN)
    verb, they, them = ("alone separates", "it is", "it") if len(found) == 1 else ("each separate", "they are", "them")
    nearly = "" if area[found[-1]] == 1.0 else ", or nearly so"
    return (
        f"{shown} {verb} the classes{nearly}: if {they} known only after the label, leave {them} out "
        f"with {options({'drop': names})}."
    )


def _few(data: Any) -> str:
    positives = int((data.y > 0).sum())
    classes = [(positives, "+1", data.positive_label), (data.n_samples - positives, "-1", data.negative_label)]
    few = [
        f"class {sign} has {many} sample{'s' if many != 1 else ''}"
        + ("" if isinstance(label, tuple) or str(label) in (sign, "1") else f" (label {label})")
        for many, sign, label in classes
        if many < FEW
    ]
    if not few:
        return ""
    return (
        f"{' and '.join(few)}, and a selection from fewer than {FEW} depends on each: measure its stability with "
        "fsmodels stability (fs.stability) before you use it, or collect more."
    )


def _wide(data: Any) -> str:
    if data.n_features <= data.n_samples:
        return ""
    return (
        f"{data.n_features} features for {data.n_samples} samples, so that some separate the classes by chance: "
        "select few (--max-features), and use held-out errors, --cv 5 (fs.cross_validate)."
    )


def uninformative(X: Any, features: Sequence[str]) -> list[str]:
    """Return sentences about constant columns and columns that equal an earlier one, with the first names of each."""
    constant, equal = _repeats(X)
    limit = NAMED_SPARSE if sparse.issparse(X) else NAMED
    sentences = []
    if constant:
        shown = (f'"{features[j]}" ({X[0, j] + 0.0:g} in every row)' for j in constant)
        sentences.append(f"Constant, so without information: {listed(shown, limit)}.")
    if equal:
        more = [f" = ... ({len(js)} in all)" if len(js) > SHOWN else "" for js in equal]
        names = [
            " = ".join(quoted(features[j]) for j in js[:SHOWN]) + rest for js, rest in zip(equal, more, strict=True)
        ]
        sentences.append(f"Equal columns, of which one is enough: {listed(names, limit)}.")
    return sentences


def correlated(
    X: FloatArray, features: Sequence[str], least: float, counts: FloatArray | None = None
) -> dict[str, str]:
    """Return the groups of ``Dataset.correlated``; ``counts``: weights of the rows."""
    if not 0 < number(least) <= 1:
        raise ParameterError(f"correlated: least={least!r} is not allowed: give a number above 0, at most 1.")
    from scipy.cluster import hierarchy  # 0.2 s to import

    X, counts = counted(X, counts)
    varied = np.flatnonzero(X.max(axis=0) > X.min(axis=0)) if len(X) else np.arange(0)
    if len(varied) < 2:
        return {}
    products = np.cov(X[:, varied], rowvar=False, aweights=counts)
    sizes = np.sqrt(np.diag(products))
    alike = products / np.outer(sizes, sizes)
    apart = np.clip(1.0 - np.abs(alike), 0.0, None)
    tree = hierarchy.complete(apart[np.triu_indices(len(varied), 1)])
    group = hierarchy.fcluster(tree, 1.0 - least + 1e-12, criterion="distance")
    first = {g: features[j] for g, j in zip(group[::-1].tolist(), varied[::-1].tolist(), strict=True)}
    members = np.bincount(group)
    named = zip(group.tolist(), varied.tolist(), strict=True)
    return {features[j]: first[g] for g, j in named if members[g] > 1}


def _repeats(X: Any) -> tuple[list[int], list[list[int]]]:
    """Return the constant columns, and the groups of other columns that are equal."""
    if sparse.issparse(X):
        entries = X.tocsc()
        constant = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() == 0
        ends = zip(entries.indptr[:-1].tolist(), entries.indptr[1:].tolist(), strict=True)
        content = (entries.indices[a:b].tobytes() + entries.data[a:b].tobytes() for a, b in ends)
    else:
        constant = (X[:1] == X).all(axis=0)
        blocks = (np.asfortranarray(X[:, a : a + BLOCK]) + 0.0 for a in range(0, X.shape[1], BLOCK))  # no -0.0
        content = (column.tobytes() for block in blocks for column in block.T)
    same: dict[bytes, list[int]] = {}
    for j, column in enumerate(content):
        if not constant[j]:
            same.setdefault(blake2b(column).digest(), []).append(j)
    return np.flatnonzero(constant).tolist(), [group for group in same.values() if len(group) > 1]
