"""Blanks that are filled in by scikit-learn's SimpleImputer: median, mean or most frequent value of a column.

The values come from the rows at hand, and which cells were blank is remembered: rows that are taken for a fold get
values of their own (``Dataset.refitted``), rows held out those of the rows that were learnt from (``apply_scale_to``),
and new samples those that are stored with the selection. Categories get the most frequent level, whatever the method.
Weights of samples do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmodels.datasets.categories import Category
from fsmodels.errors import DataError, ParameterError

__all__ = ["METHODS", "Imputing", "filled"]

FloatArray = NDArray[np.float64]
Rows = NDArray[np.bool_]
METHODS = ("median", "mean", "most-frequent")


@dataclass(frozen=True, eq=False)
class Imputing:
    """How blanks were filled: method, feature -> value in original units, and feature -> rows, where there were any."""

    method: str
    values: Mapping[str, float]
    missing: Mapping[str, Rows]

    def take(self, index: Any) -> Imputing:
        """Go with rows."""
        return replace(self, missing={name: rows[index] for name, rows in self.missing.items()})

    def of(self, features: Collection[str], sources: Collection[str]) -> Imputing:
        """Go with features; ``sources``: those that they are made of, too, of which the values stay known."""
        kept = set(features)
        return replace(
            self,
            values={name: value for name, value in self.values.items() if name in sources},
            missing={name: rows for name, rows in self.missing.items() if name in kept},
        )

    def refitted(self, X: FloatArray, features: Sequence[str], categories: Mapping[str, Category]) -> Imputing:
        """Return the same with values of these rows; a feature without any value here keeps its own."""
        holes = X.copy()
        place = {name: j for j, name in enumerate(features)}
        for name, rows in self.missing.items():
            holes[rows, place[name]] = np.nan
        names = [name for name in features if name in self.values]
        fitted = _values(holes[:, [place[name] for name in names]], names, self.method, categories)
        return replace(self, values={**self.values, **fitted})

    @property
    def cells(self) -> int:
        """How many cells were blank."""
        return int(sum(rows.sum() for rows in self.missing.values()))

    def __repr__(self) -> str:
        return f"{self.cells} blanks by {self.method}"


def check_method(method: Any) -> None:
    """Refuse another method."""
    if method not in METHODS:
        raise ParameterError(f'--impute "{method}" (Python: impute=) is not known: use one of {", ".join(METHODS)}.')


def filled(
    X: FloatArray, features: Sequence[str], method: str, categories: Mapping[str, Category], where: str
) -> tuple[FloatArray, Imputing]:
    """Return X without its NaN, and how they were filled. Raises DataError: a column without a value."""
    check_method(method)
    blank = np.isnan(X)
    if (empty := np.flatnonzero(blank.all(axis=0))).size:
        name = features[int(empty[0])]
        raise DataError(
            f'Column "{name}" of {where} has no value in any row, so that none can be imputed: leave it out.'
        )
    values = _values(X, features, method, categories)
    missing = {name: blank[:, j] for j, name in enumerate(features) if blank[:, j].any()}
    X = np.where(blank, [values[name] for name in features], X)
    return X, Imputing(method, values, missing)


def _values(
    X: FloatArray, features: Sequence[str], method: str, categories: Mapping[str, Category]
) -> dict[str, float]:
    """Return the value for each feature that has any."""
    from sklearn.impute import SimpleImputer

    found: dict[str, float] = {}
    of_category = {name for category in categories.values() for name in category.features}
    plain = [j for j, name in enumerate(features) if name not in of_category and not np.isnan(X[:, j]).all()]
    if plain:
        imputer = SimpleImputer(strategy=method.replace("-", "_")).fit(X[:, plain])
        found |= {features[j]: float(value) for j, value in zip(plain, imputer.statistics_, strict=True)}
    place = {name: j for j, name in enumerate(features)}
    for category in categories.values():
        names = [name for name in category.features if name in place]
        if not names or np.isnan(X[:, place[names[0]]]).all():
            continue
        shares = np.nanmean(X[:, [place[name] for name in names]], axis=0)
        most = int(shares.argmax()) if shares.max() > 1.0 - shares.sum() else -1  # or a level that has no feature here
        found |= {name: float(k == most) for k, name in enumerate(names)}
    return found
