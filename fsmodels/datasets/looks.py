"""What data show before a selection is made of them: features that tell the label, few samples, many features.

Each is a line of warning, once for a data set and whatever is made of it, with its numbers and what to do:

- a feature whose values alone tell the classes apart, by AUC: 1, or at least 0.995 ("nearly"; the best of the shipped
  data has 0.992). Such a feature is often a leak, known only once the label is. None is named where chance explains it:
  with d pairs of samples out of order, n+ and n- samples, chance has it so for a feature with probability at most
  2 sum_{k <= d} p(k) / C(n, n+), p(k) the number of partitions of k; times the number of features that must not pass
  1%. Not looked for in sparse data.
- fewer than ten samples of a class;
- more features than samples.

Columns that differ in size are the business of ``units``, where models are built of unscaled data.
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
CHANCE = 0.01
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


def by_chance(out_of_order: int, positives: int, negatives: int) -> float:
    """Bound the probability that a feature that knows nothing has at most so many pairs out of order."""
    n = positives + negatives
    ways = math.lgamma(n + 1) - math.lgamma(positives + 1) - math.lgamma(negatives + 1)
    most = math.pi * math.sqrt(2 * out_of_order / 3)  # log p(k) is at most that
    return math.exp(min(0.0, math.log(2 * (out_of_order + 1)) + most - ways))


def _leaks(data: Any) -> str:
    positives = int((data.y > 0).sum())
    negatives = data.n_samples - positives
    if data.is_sparse or not positives or not negatives:
        return ""
    area = separation(data.X, data.y)
    pairs = positives * negatives
    found = [
        j
        for j in np.argsort(-area, kind="stable")[: 10 * SHOWN].tolist()
        if area[j] >= NEARLY
        and data.n_features * by_chance(round((1.0 - area[j]) * pairs), positives, negatives) <= CHANCE
    ]
    if not found:
        return ""
    names = [data.features[j] for j in found]
    shown = ", ".join(f"{quoted(data.features[j])} (AUC {_told(area[j])})" for j in found[:SHOWN])
    more = f", ... ({len(found)} in all)" if len(found) > SHOWN else ""
    perfect = all(area[j] == 1.0 for j in found)
    python = ", ".join(quoted(name) for name in names[:SHOWN])
    one = len(found) == 1
    those, they = ("alone tells", "it is") if one else ("each tell", "they are")
    drop = " ".join(f"--drop {word(name)}" for name in names[:SHOWN])
    return (
        f"{shown}{more} {those} the classes apart{'' if perfect else ', or nearly so'}: "
        f"if {they} known only once the label is, leave {'it' if one else 'them'} out with "
        f"{drop} (Python: drop=[{python}])."
    )


def _told(area: float) -> str:
    return "1" if area == 1.0 else f"{math.floor(area * 10_000) / 10_000:.4g}"


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
