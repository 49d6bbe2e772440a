"""Features that are computed from the rows: products of two features, and values for blanks; also for new rows.

Products
    The constants by which the two features are standardised are remembered, so that other data have the same products.
Blanks
    They are filled in by scikit-learn's SimpleImputer: median, mean or most frequent value of a column. The values
    come from the rows at hand, and which cells were blank is remembered: rows that are taken for a fold get values of
    their own (``Dataset.refitted``), rows held out those of the rows that were learnt from (``apply_scale_to``), and
    new samples those that are stored with the selection. Categories get the most frequent level, whatever the method.
    Weights of samples do not count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.datasets import columns
from fsmodels.datasets.columns import Category
from fsmodels.datasets.dialect import FRAME
from fsmodels.datasets.scaling import Scale, counted
from fsmodels.errors import DataError
from fsmodels.words import check_known_features, iterable, listed

FloatArray = NDArray[np.float64]
MOST = 100_000  # products
METHODS = ("median", "mean", "most-frequent")


@dataclass(frozen=True)
class Interaction:
    """``((a - shift_a) * factor_a) * ((b - shift_b) * factor_b)`` of two features in original units."""

    a: str
    b: str
    shift: tuple[float, float]
    factor: tuple[float, float]

    def of(self, original: Callable[[str], FloatArray]) -> FloatArray:
        """Return the column, of a function that gives features in original units."""
        one = (original(self.a) - self.shift[0]) * self.factor[0]
        other = (original(self.b) - self.shift[1]) * self.factor[1]
        return np.asarray(one * other)


def named_pairs(
    names: Sequence[str],
    pairs: Iterable[tuple[str, str]] | None,
    plain: Sequence[str],
) -> list[tuple[str, str]]:
    """Return the pairs to multiply: those given, and all of ``names``, where neither is given of all plain features.

    Raises DataError: what is no feature, a product, a feature with itself, or too many.
    """
    check_known_features(names, plain, "with_interactions")
    among = list(plain) if pairs is None and not names else list(names)
    if len(among) * (len(among) - 1) // 2 > MOST:
        raise DataError(
            f"{len(among)} features have {len(among) * (len(among) - 1) // 2} pairs: name the features or pairs to "
            'multiply, with_interactions("age", "dose").'
        )
    if pairs is not None and (isinstance(pairs, str) or not iterable(pairs)):
        raise DataError(f'with_interactions: pairs got {type(pairs).__name__}: give pairs=[("age", "dose")].')
    found = list(itertools.combinations(among, 2))
    for pair in () if pairs is None else pairs:
        if isinstance(pair, str) or not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f'with_interactions: {pair!r} is no pair of features: give pairs=[("age", "dose")].')
        check_known_features(pair, plain, "with_interactions")
        found.append((pair[0], pair[1]))
    for a, b in found:
        if a == b:
            raise DataError(f'with_interactions: "{a}" stands on both sides: name two features.')
    if not found:
        raise DataError("with_interactions needs two features or more: name them, or give pairs=.")
    return list({frozenset(pair): pair for pair in reversed(found)}.values())[::-1]


def made(
    pairs: Iterable[tuple[str, str]],
    original: Callable[[str], FloatArray],
    taken: Collection[str],
    counts: FloatArray | None = None,
) -> dict[str, Interaction]:
    """Return the products of pairs of standardised columns by their names ``"a:b"``; constant columns have none.

    ``counts``: how often each row counts.
    """
    names = sorted({name for pair in pairs for name in pair})
    constants = {name: Scale.fit(original(name)[:, None], "standard", counts) for name in names}
    varied = {name for name in names if np.ptp(counted(original(name), counts)[0]) > 0}
    found: dict[str, Interaction] = {}
    for a, b in pairs:
        if not {a, b} <= varied:
            continue
        name = f"{a}:{b}"
        if name in taken or name in found:
            raise DataError(f'with_interactions: there is a column "{name}" already: rename it, or leave the pair out.')
        one, other = constants[a], constants[b]
        shift, factor = (one.shift[0], other.shift[0]), (one.factor[0], other.factor[0])
        found[name] = Interaction(a, b, (float(shift[0]), float(shift[1])), (float(factor[0]), float(factor[1])))
    return found


def sources(
    features: Iterable[str], products: Mapping[str, Interaction], there: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the columns by which features are known, of those that are ``there``, and those that are missing."""
    needed: dict[str, None] = {}
    for name in features:
        whole = name in there or name not in products
        needed |= dict.fromkeys([name] if whole else [products[name].a, products[name].b])
    return list(needed), [name for name in needed if name not in there]


@dataclass(frozen=True, eq=False)
class Imputing:
    """How blanks were filled: method, feature -> value in original units, and feature -> rows, where there were any."""

    method: str
    values: Mapping[str, float]
    missing: Mapping[str, NDArray[np.bool_]]

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


def filled(
    X: FloatArray, features: Sequence[str], method: str, categories: Mapping[str, Category], where: str
) -> tuple[FloatArray, Imputing]:
    """Return X without its NaN, and how they were filled. Raises DataError: a column without a value."""
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
    needed, missing = sources(own.features, own.products, there | made.keys())
    if missing:
        of = {name: key for key, each in own.categories.items() for name in each.features}
        lacking = list(dict.fromkeys(of.get(name, name) for name in missing))
        raise DataError(f"predict: the table lacks columns ({listed(lacking)}): give each selected feature.")
    plain = [name for name in needed if name in there]
    X = np.empty((len(table), len(needed)))
    X[:, [needed.index(name) for name in plain]] = columns.feature_matrix(table[plain], plain, FRAME, blanks=True)
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
