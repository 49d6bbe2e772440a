"""Warnings about data, once for a data set and whatever is made of it, with numbers and what to do.

- A feature that alone tells the classes apart: its AUC is at least 0.995 (the best of the shipped data has 0.992). Such
  a feature is often a leak, known only once the label is. Sparse data are not searched, nor data with fewer than ten
  samples of a class, where it happens by chance.
- Fewer than ten samples of a class.
- More features than samples.

``units`` warns of columns that differ in size, where models are built of unscaled data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.datasets.checks import dataset
from fsmodels.datasets.shell import quoted, word
from fsmodels.errors import DataWarning
from solvers.outside import warn

__all__ = ["look", "remarks", "separation"]

FEW = 10  # samples of a class
NEARLY = 0.995  # of the area under the curve
SHOWN = 5
TOGETHER = 2_000_000  # cells that are ranked at once


def look(data: Any) -> None:
    """Warn of what data show, unless they, or what they were made of, were looked at before."""
    if dataset(data).looked_at:
        return
    for sentence in remarks(data):
        warn(f'Data "{data.name}": {sentence}', DataWarning)
    object.__setattr__(data, "looked_at", True)  # also of what is made of them from now on


def remarks(data: Any) -> list[str]:
    """Return what data show, in sentences."""
    return [sentence for sentence in (_leaks(data), _few(data), _wide(data)) if sentence]


def separation(X: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how well each column alone tells the classes apart: the area under the curve, or above it where larger.

    >>> separation(np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 5.0]]), np.array([-1.0, -1.0, 1.0])).tolist()
    [1.0, 0.75]
    """
    positives = int((y > 0).sum())
    pairs = positives * (len(y) - positives)
    step = max(1, TOGETHER // max(1, len(y)))
    areas = []
    for start in range(0, X.shape[1], step):
        ranks = pd.DataFrame(X[:, start : start + step]).rank().to_numpy()  # equal values share the mean of their ranks
        above = ranks[y > 0].sum(axis=0) - positives * (positives + 1) / 2
        areas.append(above / pairs)
    area = np.concatenate(areas)
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
    areas = [f"{math.floor(area[j] * 1e4) / 1e4:.4g}" for j in found[:SHOWN]]
    shown = ", ".join(f"{quoted(name)} (AUC {value})" for name, value in zip(names, areas, strict=True))
    more = f", ... ({len(found)} in all)" if len(found) > SHOWN else ""
    verb, they, them = ("alone tells", "it is", "it") if len(found) == 1 else ("each tell", "they are", "them")
    nearly = "" if area[found[-1]] == 1.0 else ", or nearly so"
    drop = " ".join(f"--drop {word(name)}" for name in names)
    return (
        f"{shown}{more} {verb} the classes apart{nearly}: if {they} known only once the label is, leave {them} out "
        f"with {drop} (Python: drop=[{', '.join(map(quoted, names))}])."
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
        f"{' and '.join(few)}, and a selection from fewer than {FEW} depends on each: see how much with fsmodels "
        "stability (fs.stability) before you trust it, or collect more."
    )


def _wide(data: Any) -> str:
    if data.n_features <= data.n_samples:
        return ""
    return (
        f"{data.n_features} features for {data.n_samples} samples, so that some tell the classes apart by chance: "
        "select few (--max-features), and judge by errors held out with --cv 5 (fs.cross_validate)."
    )
