"""Weights of samples in a loss: the product of sample weights and class weights.

``s_i = g_i c(y_i)``. The sample weights g_i are multiplicities: 2 is equivalent to the row twice, 0 excludes it. All
constants that are computed from the rows (of a scaling, of products of features, "balanced") count them so. The class
weights c are the costs of an error in a class, and multiply losses only. "balanced" is

    c(y) = sum_i g_i / (2 sum_{i: y_i = y} g_i),

n / (2 n_y) without sample weights, as scikit-learn's ``compute_class_weight``. It is computed again for any subset of
the rows, so that held-out rows have no influence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.checks import LARGEST, SMALLEST, number
from fsmodels.datasets.columns import same_label
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import listed, short, shown
from fsmodels.weights import FloatArray

ClassWeight = str | tuple[float, float] | None  # BALANCED, or the costs of -1 and +1
BALANCED = "balanced"
EXAMPLE = f'class_weight="{BALANCED}" or class_weight={{"ill": 5}}'


@dataclass(frozen=True, eq=False)
class Weighting:
    """Weights of samples.

    Attributes
    ----------
    given : ndarray of shape (n_samples,) or None
        Multiplicities g_i, at least 0; None: all 1.
    by_class : "balanced", pair of floats or None
        Cost of an error in class -1 and in class +1; None: 1 in both.
    labels : tuple
        The labels of class -1 (several as a tuple) and of class +1, for reports.
    column : str
        The column of ``given``; "" for an array.
    """

    given: FloatArray | None
    by_class: ClassWeight
    labels: tuple[object, object] = (-1, 1)
    column: str = ""

    def take(self, rows: Any) -> Weighting:
        """Return the weights of some rows."""
        given = None if self.given is None else _sealed(self.given[rows])
        return Weighting(given, self.by_class, self.labels, self.column)

    def classes(self, y: FloatArray) -> tuple[float, float]:
        """Return the cost of an error in class -1 and in class +1, for samples with labels y."""
        if not isinstance(self.by_class, str):
            return self.by_class or (1.0, 1.0)
        g = np.ones(len(y)) if self.given is None else self.given
        both = [float(g[y < 0].sum()), float(g[y > 0].sum())]
        minus, plus = (sum(both) / (2.0 * mass) if mass > 0 else 1.0 for mass in both)
        return minus, plus

    def of(self, y: FloatArray) -> FloatArray:
        """Return the weights of samples with labels y."""
        minus, plus = self.classes(y)
        weights = np.where(y > 0, plus, minus)
        return _sealed(weights if self.given is None else weights * self.given)

    @property
    def words(self) -> dict[str, Any]:
        """The entry of a report: a rule, the column of the weights, or True for an array of weights."""
        given: dict[str, Any] = {}
        if isinstance(self.by_class, str):
            given["class_weight"] = self.by_class
        elif self.by_class is not None:
            labels = (-1, 1) if isinstance(self.labels[0], tuple) else self.labels
            given["class_weight"] = {str(label): c for label, c in zip(labels, self.by_class, strict=True)}
        if self.given is not None:
            given["sample_weight"] = self.column or True
        return given

    def __str__(self) -> str:
        given = self.words
        rule = given.get("class_weight")
        if isinstance(rule, dict):
            given["class_weight"] = ", ".join(f"{label}: {c:g}" for label, c in rule.items())
        if given.get("sample_weight") is True:
            given["sample_weight"] = "one per sample"
        return "; ".join(f"{key} {value}" for key, value in given.items())


def weighting(
    sample_weight: Any,
    class_weight: Any,
    y: FloatArray,
    aside: Mapping[str, NDArray[Any]],
    labels: tuple[object, object],
) -> Weighting | None:
    """Return the weighting of ``Dataset.weighted``, None without weights; text names a column of ``aside``."""
    by_class = class_weights(class_weight, *labels)
    if sample_weight is None:
        return None if by_class is None else Weighting(None, by_class, labels)
    column = sample_weight if isinstance(sample_weight, str) else ""
    given = given_weights(aside[column] if column else sample_weight, len(y), f'Column "{column}"' if column else "")
    check_classes(given, y)
    return Weighting(given, by_class, labels, column)


def check_classes(weights: FloatArray, y: FloatArray) -> None:
    """Raise DataError if all weights of a class are 0."""
    for sign, rows in (("-1", y < 0), ("+1", y > 0)):
        if rows.any() and not weights[rows].any():
            raise DataError(
                f"The sample weights are 0 for all {int(rows.sum())} samples of class {sign}, which leaves one class: "
                "give at least one sample of each class a number above 0."
            )


def _sealed(values: FloatArray) -> FloatArray:
    values.setflags(write=False)
    return values


def given_weights(values: Any, n_samples: int, where: str = "") -> FloatArray:
    """Return sample weights. Raises DataError: not one number per sample, or a number that is negative or extreme."""
    where = where or "sample_weight"
    cells = values.to_numpy() if isinstance(values, pd.Series) else values
    try:
        found = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where} contains values that are not numbers: give a number of at least 0.") from None
    if found.shape != (n_samples,):
        raise DataError(f"{where} has shape {found.shape} for {n_samples} samples: give one number per sample.")
    wrong = np.flatnonzero((found != 0) & ~((found >= SMALLEST) & (found <= LARGEST)))
    if len(wrong):
        more = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
        raise DataError(
            f"{where} is {found[wrong[0]]:g} in row {wrong[0] + 1}{more}: give 0, which excludes a sample, or a number "
            f"in {SMALLEST:g}..{LARGEST:g}."
        )
    return _sealed(found)


def class_weights(wanted: Any, negative: object, positive: object) -> ClassWeight:
    """Return class weights, by a rule or by labels.

    The labels are those of the data, or else -1 and +1. A class that is not named has weight 1.

    Raises ParameterError: an unknown rule or label, a class twice, or a weight that is not a number above 0.

    >>> class_weights({"ill": 5}, "well", "ill"), class_weights({-1: 2}, "well", "ill"), class_weights({1: 3}, 1, 2)
    ((1.0, 5.0), (2.0, 1.0), (3.0, 1.0))
    """
    if wanted is None or (isinstance(wanted, str) and wanted == BALANCED):
        return wanted
    if not isinstance(wanted, Mapping) or not wanted:
        got = f'"{short(wanted)}"' if isinstance(wanted, str) else f"{type(wanted).__name__} {short(repr(wanted))}"
        raise ParameterError(f"class_weight got {got}: give {EXAMPLE}.")
    ours = list(negative) if isinstance(negative, tuple) else [negative]
    classes = [ours, [positive]]
    if not all(any(same_label(label, key) for label in (*ours, positive)) for key in wanted):
        classes = [[-1], [1]]
    costs: dict[object, float] = {}
    for key, weight in wanted.items():
        label = next((label for labels in classes for label in labels if same_label(label, key)), None)
        if label is None:
            raise ParameterError(
                f'class_weight: "{short(str(key))}" is no label of the data. Labels: {listed([*ours, positive])}'
                f"{'' if {-1, 1} <= {*ours, positive} else ' (or -1 and 1)'}: give a weight for one or both."
            )
        cost = number(weight)
        if not SMALLEST <= cost <= LARGEST:
            raise ParameterError(
                f'class_weight: {shown(weight)} for "{key}" is not allowed: give a number above 0. To exclude '
                "samples, give them sample_weight 0.",
                parameter="class_weight",
            )
        if label in costs:
            raise ParameterError(f'class_weight names class "{label}" twice: give one weight per class.')
        costs[label] = cost
    minus, plus = ({costs.get(label) for label in labels} for labels in classes)
    if len(minus) > 1:
        raise ParameterError(
            f"class_weight: the labels {listed(ours)} are one class, -1, which has one weight: give "
            "class_weight={-1: ...}, or sample_weight with one number per sample."
        )
    return minus.pop() or 1.0, plus.pop() or 1.0
