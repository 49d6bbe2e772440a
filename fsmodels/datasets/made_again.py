"""Other rows made as those of a data set were: the same levels of categories, the same values for blanks.

``Dataset`` calls these of itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.datasets import cells, products
from fsmodels.datasets.imputing import Imputing
from fsmodels.datasets.origin import FRAME
from fsmodels.errors import DataError
from fsmodels.words import listed

__all__ = ["as_in", "imputed", "raw"]


def imputed(data: Any) -> Any:
    """Return unscaled data whose blanks have the values of these rows; products are left as they are."""
    assert data.imputing is not None
    return _refilled(data, data.imputing.refitted(data.X, data.features, data.categories))


def as_in(own: Any, other: Any) -> Any:
    """Return other data with the features of the categories of ``own`` and its values for blanks.

    Raises DataError: a row has a level that ``own`` does not know.
    """
    other = _with_levels(own, other)
    if own.imputing is None or other.imputing is None or not other.imputing.missing:
        return other
    values = {**other.imputing.values, **own.imputing.values}
    refilled = _refilled(other, replace(other.imputing, values=values))
    stale = [name for name, product in other.products.items() if {product.a, product.b} & {*other.imputing.missing}]
    if not stale:
        return refilled
    return refilled.select_features([name for name in refilled.features if name not in stale])


def _refilled(data: Any, imputing: Imputing) -> Any:
    """Put the values of an imputation where blanks were."""
    X = np.array(data.X)
    place = {name: j for j, name in enumerate(data.features)}
    for name, rows in imputing.missing.items():
        j = place[name]
        X[rows, j] = (imputing.values[name] - data.scale.shift[j]) * data.scale.factor[j]
    return replace(data, X=X, imputing=imputing)


def _with_levels(own: Any, other: Any) -> Any:
    """Add features of 0 for levels that other data do not have; refuse levels that only they have."""
    wanted = {*own.features, *(part for each in own.products.values() for part in (each.a, each.b))}
    for column, category in own.categories.items():
        theirs = other.categories.get(column, category)
        if theirs.levels == category.levels:
            continue
        new = [level for level in theirs.levels if level not in category.levels]
        if new:
            raise DataError(
                f'Column "{column}" of data "{other.name}" has levels ({listed(new)}) that "{own.name}" does not have '
                f"({listed(category.levels)}): correct them, or leave these rows out."
            )
        there = next(name for name in theirs.features if name in other.features)
        added = {name: np.zeros(other.n_samples) for name in category.features if name in wanted - {*other.features}}
        first = f"{column}={theirs.levels[0]}"
        if len(theirs.levels) == 2 and first in added:  # two levels have one feature, of the second
            added[first] = 1.0 - other._original(there)
        imputing = other.imputing
        if imputing is not None and there in imputing.missing:
            missing = {**imputing.missing, **dict.fromkeys(added, imputing.missing[there])}
            imputing = replace(imputing, missing=missing, values={**imputing.values, **dict.fromkeys(added, 0.0)})
        other = replace(other._with_columns(added), imputing=imputing)
    return other


def raw(own: Any, table: pd.DataFrame, unseen: str = "refuse") -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return rows of a table as numbers of the plain features that ``own`` is made of, in original units, and these.

    Columns are found by name: a feature, or the column of its category. ``unseen``: that of ``Category.coded``.

    Raises DataError: a column is missing, a cell is no number, a blank where none is to be filled in, a level is new.
    """
    table = table.set_axis([str(column) for column in table.columns], axis=1)
    there = {str(column) for column in table.columns}
    made = {name: each for each in own.categories.values() if each.column in there for name in each.features}
    needed, missing = products.sources(own.features, own.products, there | made.keys())
    if missing:
        of = {name: key for key, each in own.categories.items() for name in each.features}
        columns = list(dict.fromkeys(of.get(name, name) for name in missing))
        raise DataError(f"predict: the table lacks columns ({listed(columns)}): give each selected feature.")
    plain = [name for name in needed if name in there]
    X = np.empty((len(table), len(needed)))
    X[:, [needed.index(name) for name in plain]] = cells.feature_matrix(table[plain], plain, FRAME, blanks=True)
    for column in dict.fromkeys(made[name].column for name in needed if name not in there):
        category = own.categories[column]
        coded = category.coded(table[column], f'Column "{column}"', unseen)
        for name, values in zip(category.features, coded.T, strict=True):
            if name in needed and name not in there:
                X[:, needed.index(name)] = values
    blank = np.isnan(X)
    if own.imputing is not None:
        X = np.where(blank, [own.imputing.values[name] for name in needed], X)
    elif blank.any():
        row, k = (int(part) for part in np.argwhere(blank)[0])
        column = made[needed[k]].column if needed[k] not in there else needed[k]
        raise DataError(
            f'Column "{column}" has no value (blank or NaN) in row {row + 1}: fill it in, or leave the row out. '
            'Selections from data that were read with --impute median (Python: impute="median") fill such cells in.'
        )
    return X, tuple(needed)
