"""How much each sample counts in a loss: weights given one by one, weights of the classes, and their product.

``s_i = g_i c(y_i)``. The g_i, one a sample, are multiplicities: 2 is as good as the row twice and 0 as leaving it out,
so whatever is computed from the rows (the constants of a scaling, products of features, "balanced") counts them so. The
c are what a mistake costs in a class: they weigh losses, and nothing else. "balanced" is

    c(y) = sum_i g_i / (2 sum_{i: y_i = y} g_i),

n / (2 n_y) without the g_i, as scikit-learn's ``compute_class_weight`` has it. It is a rule and not numbers: wherever
rows are taken, it follows the rows that are there, so that nothing of a held-out part enters.
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
from fsmodels.words import listed, short, shown

FloatArray = NDArray[np.float64]
ClassWeight = str | tuple[float, float] | None  # BALANCED, or those of -1 and +1
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
        What a mistake costs in class -1 and in class +1; None: 1 in both.
    labels : tuple
        The labels of class -1 (several as a tuple) and of class +1, for reports.
    column : str
        The column that ``given`` came from; "" where it was an array.
    """

    given: FloatArray | None
    by_class: ClassWeight
    labels: tuple[object, object] = (-1, 1)
    column: str = ""

    def take(self, rows: Any) -> Weighting:
        """Keep the weights of some rows."""
        given = None if self.given is None else _sealed(self.given[rows])
        return Weighting(given, self.by_class, self.labels, self.column)

    def classes(self, y: FloatArray) -> tuple[float, float]:
        """Return what a mistake costs in class -1 and in class +1, among samples of labels y."""
        if not isinstance(self.by_class, str):
            return self.by_class or (1.0, 1.0)
        g = np.ones(len(y)) if self.given is None else self.given
        both = [float(g[y < 0].sum()), float(g[y > 0].sum())]
        minus, plus = (sum(both) / (2.0 * mass) if mass > 0 else 1.0 for mass in both)
        return minus, plus

    def of(self, y: FloatArray) -> FloatArray:
        """Return the weights of samples of labels y."""
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
            given["sample_weight"] = "one a sample"
        return "; ".join(f"{key} {value}" for key, value in given.items())


def weighting(
    sample_weight: Any,
    class_weight: Any,
    y: FloatArray,
    aside: Mapping[str, NDArray[Any]],
    labels: tuple[object, object],
) -> Weighting | None:
    """Return the weighting of ``Dataset.weighted``, or None without one; text names a column of ``aside``."""
    by_class = class_weights(class_weight, *labels)
    if sample_weight is None:
        return None if by_class is None else Weighting(None, by_class, labels)
    column = sample_weight if isinstance(sample_weight, str) else ""
    given = given_weights(aside[column] if column else sample_weight, len(y), f'Column "{column}"' if column else "")
    check_classes(given, y)
    return Weighting(given, by_class, labels, column)


def check_classes(weights: FloatArray, y: FloatArray) -> None:
    """Refuse weights that leave nothing of a class that has samples."""
    for sign, rows in (("-1", y < 0), ("+1", y > 0)):
        if rows.any() and not weights[rows].any():
            raise DataError(
                f"The sample weights are 0 for all {int(rows.sum())} samples of class {sign}, which leaves one class: "
                "give a number above 0 to some sample of each."
            )


def _sealed(values: FloatArray) -> FloatArray:
    values.setflags(write=False)
    return values


def given_weights(values: Any, n_samples: int, where: str = "") -> FloatArray:
    """Return weights given one by one, checked.

    Raises DataError: not one number a sample, negative, not finite, or of a size that the arithmetic cannot bear.
    """
    where = where or "sample_weight"
    cells = values.to_numpy() if isinstance(values, pd.Series) else values
    try:
        found = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where} holds what are no numbers: sample weights are one of at least 0 a sample.") from None
    if found.shape != (n_samples,):
        raise DataError(f"{where} has shape {found.shape} for {n_samples} samples: give one number a sample.")
    wrong = np.flatnonzero((found != 0) & ~((found >= SMALLEST) & (found <= LARGEST)))
    if len(wrong):
        more = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
        raise DataError(
            f"{where} is {found[wrong[0]]:g} in row {wrong[0] + 1}{more}: give finite numbers of at least 0; "
            f"0 leaves a sample out, and others are in {SMALLEST:g}..{LARGEST:g}."
        )
    return _sealed(found)


def class_weights(wanted: Any, negative: object, positive: object) -> ClassWeight:
    """Return weights of the classes, by a rule or by labels.

    Labels are the data's own; where not all of them are, -1 and +1. A class that is not named has weight 1.

    Raises ParameterError: another rule, an unknown label, a class twice, a weight that is no number above 0.

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
                f'class_weight: {shown(weight)} for "{key}" is not allowed: give a number above 0. To leave '
                "samples out, give them sample_weight 0.",
                parameter="class_weight",
            )
        if label in costs:
            raise ParameterError(f'class_weight names class "{label}" twice: give one weight a class.')
        costs[label] = cost
    minus, plus = ({costs.get(label) for label in labels} for labels in classes)
    if len(minus) > 1:
        raise ParameterError(
            f"class_weight: the labels {listed(ours)} became one class, -1, and can have one weight only: give "
            "class_weight={-1: ...}, or sample_weight one number a sample."
        )
    return minus.pop() or 1.0, plus.pop() or 1.0
