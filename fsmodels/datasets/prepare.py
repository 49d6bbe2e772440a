"""Features that are computed from the rows, and from new rows: products of two features, and values for blank cells.

Products
    The constants that standardise the two features are stored, so that other data have the same products.
Blanks
    scikit-learn's SimpleImputer fills them in: median, mean or most frequent value of a column. The positions of blank
    cells are stored. So the training rows of a fold get values of their own (``Dataset.refitted``), held-out rows those
    of the training rows (``apply_scale_to``), and new samples those that are stored with the selection. Categories get
    the most frequent level for every method. Weights of samples do not count.
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
from fsmodels.datasets.dialect import NEW
from fsmodels.datasets.scaling import Scale, counted
from fsmodels.errors import DataError
from fsmodels.text import check_known_features, iterable, listed, suggestion
from fsmodels.weights import FloatArray

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
        """Return the column; ``original``: returns the values of a feature in original units."""
        one = (original(self.a) - self.shift[0]) * self.factor[0]
        other = (original(self.b) - self.shift[1]) * self.factor[1]
        return np.asarray(one * other)


def with_interactions(data: Any, names: Sequence[str], pairs: Iterable[tuple[str, str]] | None) -> Any:
    """Return dense data with products; arguments and errors are those of ``Dataset.with_interactions``."""
    plain = [name for name in data.features if name not in data.products]
    found = _products(data, _pairs(names, pairs, plain))
    if not found:
        raise DataError("with_interactions: each pair has a constant feature. Give pairs of other features.")
    wide, method = _with_products(data, found), data.scale.method
    if method == "none":
        return wide
    if method not in ("standard", "minmax"):
        raise DataError(f'Data "{data.name}" are scaled ("{method}"): call with_interactions before scaled.')
    scale = data.scale.joined(Scale.fit(wide.X[:, data.n_features :], method, data.multiplicity))
    return replace(wide, X=scale.after(wide.scale).apply(wide.X, wide.features), scale=scale)


def _pairs(
    names: Sequence[str], pairs: Iterable[tuple[str, str]] | None, plain: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the pairs to multiply: ``pairs`` and all pairs of ``names``; without both, all pairs of plain features.

    Raises DataError: a name is no feature or a product, a pair has one feature twice, or there are too many pairs.
    """
    check_known_features(names, plain, "with_interactions")
    several = list(plain) if pairs is None and not names else list(names)
    if len(several) * (len(several) - 1) // 2 > MOST:
        raise DataError(
            f"{len(several)} features have {len(several) * (len(several) - 1) // 2} pairs: name the features or pairs "
            'to multiply, with_interactions("age", "dose").'
        )
    if pairs is not None and (isinstance(pairs, str) or not iterable(pairs)):
        raise DataError(f'with_interactions: pairs got {type(pairs).__name__}: give pairs=[("age", "dose")].')
    found = list(itertools.combinations(several, 2))
    for pair in () if pairs is None else pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f'with_interactions: {pair!r} is no pair of features: give pairs=[("age", "dose")].')
        check_known_features(pair, plain, "with_interactions")
        found.append((pair[0], pair[1]))
    for a, b in found:
        if a == b:
            raise DataError(f'with_interactions: "{a}" is multiplied by itself: name two features.')
    if not found:
        raise DataError("with_interactions needs at least two features: name them, or give pairs=.")
    return list({frozenset(pair): pair for pair in reversed(found)}.values())[::-1]


def _products(data: Any, pairs: Iterable[tuple[str, str]]) -> dict[str, Interaction]:
    """Return the products of pairs of standardised columns by their names ``"a:b"``, without those of constants."""
    columns = {name: data.original(name) for name in sorted({name for pair in pairs for name in pair})}
    counts = data.multiplicity
    constants = {name: Scale.fit(values[:, None], "standard", counts) for name, values in columns.items()}
    varied = {name for name, values in columns.items() if np.ptp(counted(values, counts)[0]) > 0}
    found: dict[str, Interaction] = {}
    for a, b in pairs:
        if not {a, b} <= varied:
            continue
        name = f"{a}:{b}"
        if name in data.features or name in found:
            raise DataError(f'with_interactions: there is a column "{name}" already: rename it, or leave the pair out.')
        one, other = constants[a], constants[b]
        shift, factor = (one.shift[0], other.shift[0]), (one.factor[0], other.factor[0])
        found[name] = Interaction(a, b, (float(shift[0]), float(shift[1])), (float(factor[0]), float(factor[1])))
    return found


def _with_products(data: Any, found: Mapping[str, Interaction]) -> Any:
    """Append the columns of products, without scaling."""
    wide = _with_columns(data, {name: product.of(data.original) for name, product in found.items()})
    return replace(wide, products={**data.products, **found})


def _with_columns(data: Any, columns: Mapping[str, FloatArray]) -> Any:
    """Append features in original units, without scaling."""
    X = np.column_stack([data.require_dense("A computed feature").X, *columns.values()])
    scale = data.scale.joined(Scale.none(len(columns)))
    return replace(data, X=X, features=(*data.features, *columns), scale=scale)


def _sources(
    features: Iterable[str], products: Mapping[str, Interaction], present: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the columns that determine features, and those of them that are not ``present``."""
    needed: dict[str, None] = {}
    for name in features:
        whole = name in present or name not in products
        needed |= dict.fromkeys([name] if whole else [products[name].a, products[name].b])
    return list(needed), [name for name in needed if name not in present]


@dataclass(frozen=True, eq=False)
class Imputing:
    """Imputed cells: the method, feature -> value in original units, and feature -> mask of blank rows."""

    method: str
    values: Mapping[str, float]
    missing: Mapping[str, NDArray[np.bool_]]

    def take(self, index: Any) -> Imputing:
        """Return the part for some rows."""
        return replace(self, missing={name: rows[index] for name, rows in self.missing.items()})

    def of(self, features: Collection[str], sources: Collection[str]) -> Imputing:
        """Return the part for some features; ``sources``: these, and the features of products among them."""
        kept = set(features)
        return replace(
            self,
            values={name: value for name, value in self.values.items() if name in sources},
            missing={name: rows for name, rows in self.missing.items() if name in kept},
        )

    def refitted(self, X: FloatArray, features: Sequence[str], categories: Mapping[str, Category]) -> Imputing:
        """Return the values that these rows give; a feature that is blank in all of them keeps its value."""
        holes = X.copy()
        place = {name: j for j, name in enumerate(features)}
        for name, rows in self.missing.items():
            holes[rows, place[name]] = np.nan
        names = [name for name in features if name in self.values]
        fitted = _values(holes[:, [place[name] for name in names]], names, self.method, categories)
        return replace(self, values={**self.values, **fitted})

    @property
    def cells(self) -> int:
        """Number of blank cells."""
        return int(sum(rows.sum() for rows in self.missing.values()))

    def __repr__(self) -> str:
        return f"{self.cells} blanks by {self.method}"


def filled(
    X: FloatArray, features: Sequence[str], method: str, categories: Mapping[str, Category], where: str
) -> tuple[FloatArray, Imputing]:
    """Return X without NaN, and the imputed cells. Raises DataError: a column without a value."""
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
    """Return the value that replaces blanks, for each feature that is not blank in all rows."""
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
        most = int(shares.argmax()) if shares.max() > 1.0 - shares.sum() else -1  # -1: a level without a feature
        found |= {name: float(k == most) for k, name in enumerate(names)}
    return found


def refitted(data: Any) -> Any:
    """Return unscaled data with imputed values and products of these rows, as ``Dataset.refitted``."""
    if data.imputing is not None:
        data = _refilled(data, data.imputing.refitted(data.X, data.features, data.categories))
    parents = data.parents
    if not parents or not {name for pair in parents.values() for name in pair} <= set(data.features):
        return data
    plain = data.select_features([name for name in data.features if name not in parents])
    again = plain.with_interactions(pairs=list(parents.values()))
    return again.select_features([name for name in data.features if name in again.features])


def as_in(own: Any, other: Any) -> Any:
    """Return other data with the features of ``own``: its levels of categories, imputed values and products.

    Raises DataError: a feature is missing, or a row has a level that ``own`` does not have.
    """
    other = _with_levels(own, other)
    if own.imputing is not None and other.imputing is not None and other.imputing.missing:
        missing = {*other.imputing.missing}
        other = _refilled(other, replace(other.imputing, values={**other.imputing.values, **own.imputing.values}))
        outdated = [name for name, product in other.products.items() if {product.a, product.b} & missing]
        if outdated:
            other = other.select_features([name for name in other.features if name not in outdated])
    present = set(other.features)
    computed = {
        name: product
        for name, product in own.products.items()
        if {product.a, product.b} <= present and (name not in present or other.products.get(name, product) != product)
    }
    if lacking := _sources([name for name in own.features if name not in computed], own.products, present)[1]:
        raise DataError(f'Data "{other.name}" lack features ({listed(lacking)}): give data with the same columns.')
    if computed:
        other = _with_products(
            other.select_features([name for name in other.features if name not in computed]), computed
        )
    return other if other.features == own.features else other.select_features(own.features)


def _refilled(data: Any, imputing: Imputing) -> Any:
    """Replace blank cells by the values of an imputation."""
    X = np.array(data.X)
    place = {name: j for j, name in enumerate(data.features)}
    for name, rows in imputing.missing.items():
        j = place[name]
        X[rows, j] = (imputing.values[name] - data.scale.shift[j]) * data.scale.factor[j]
    return replace(data, X=X, imputing=imputing)


def _with_levels(own: Any, other: Any) -> Any:
    """Add features of 0 for levels that other data lack. Raises DataError: a level that only the other data have."""
    wanted = {*own.features, *(part for each in own.products.values() for part in (each.a, each.b))}
    for column, category in own.categories.items():
        levels = other.categories.get(column, category)
        if levels.levels == category.levels:
            continue
        new = [level for level in levels.levels if level not in category.levels]
        if new:
            raise DataError(
                f'Column "{column}" of data "{other.name}" has levels ({listed(new)}) that "{own.name}" does not have '
                f"({listed(category.levels)}): correct them, or leave these rows out."
            )
        known = next(name for name in levels.features if name in other.features)
        added = {name: np.zeros(other.n_samples) for name in category.features if name in wanted - {*other.features}}
        first = f"{column}={levels.levels[0]}"
        if len(levels.levels) == 2 and first in added:  # two levels have one feature, of the second
            added[first] = 1.0 - other.original(known)
        imputing = other.imputing
        if imputing is not None and known in imputing.missing:
            missing = {**imputing.missing, **dict.fromkeys(added, imputing.missing[known])}
            imputing = replace(imputing, missing=missing, values={**imputing.values, **dict.fromkeys(added, 0.0)})
        other = replace(_with_columns(other, added), imputing=imputing)
    return other


def raw(own: Any, table: pd.DataFrame, unseen: str = "refuse") -> tuple[FloatArray, tuple[str, ...]]:
    """Return rows of a table as numbers in original units, and the names of their features.

    The features are those of ``own``, with the two features of each product in its place. Columns are found by name: a
    feature, or the column of its category. ``unseen``: as in ``Category.coded``.

    Raises DataError: a column is missing, a cell is no number or blank without an imputed value, or a level is new.
    """
    table = table.set_axis([str(column) for column in table.columns], axis=1)
    there = {str(column) for column in table.columns}
    made = {name: each for each in own.categories.values() if each.column in there for name in each.features}
    needed, missing = _sources(own.features, own.products, there | made.keys())
    if missing:
        of = {name: key for key, each in own.categories.items() for name in each.features}
        lacking = list(dict.fromkeys(of.get(name, name) for name in missing))
        raise DataError(
            f"predict: the table lacks columns ({listed(lacking)}): give each selected feature. "
            f"{suggestion(lacking[0], there)}Its columns are {listed(table.columns)}."
        )
    plain = [name for name in needed if name in there]
    X = np.empty((len(table), len(needed)))
    X[:, [needed.index(name) for name in plain]] = columns.feature_matrix(table[plain], plain, NEW, blanks=True)
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
            'A selection on data that were read with --impute median (Python: impute="median") fills such cells in.'
        )
    return X, tuple(needed)
