"""Columns of a table: cells to numbers, labels to -1 and +1, categories to 0/1 features, and columns in ``aside``.

Numbers
    Python's ``float`` converts the cells of one column after another, so that a number is the double nearest to the
    text of the file, and messages show a cell that is no number as it was written.
Categories
    A column of three levels or more becomes one feature for each level, named ``colour=red``, without a reference
    level. With an offset the sum of these features is constant, but the norm of the weights makes the classifier unique
    and treats all levels alike, so that the result does not depend on a reference. A feature that is selected alone
    means "this level or any other". A column of two levels becomes one feature, of the later level: a second one would
    be its mirror image and count twice. ``together``: all features of a column are selected, or none. Each of them
    counts for ``max_features``.

    Levels are those of the data that were read. In a subset of the rows, a level without a row is a feature of 0 with
    weight 0, so that a held-out row of that level is classified as one without a level, as by an encoder that is fitted
    to the subset.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.datasets.dialect import ARRAYS, BLANKS, NEW, Origin, is_missing, number, quoted, readings
from fsmodels.datasets.tables import check_columns, named
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import as_names, listed, short, shown, suggestion
from fsmodels.weights import FloatArray

SHOWN = 20  # columns with text in an error
MOST_SEARCHED = 5000  # columns that are searched for text and labels
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\S)")
IDENTIFIER = re.compile(r"(?i:(?:^|[\W_])(?:id|nr|no|number|index))$|[a-z](?:ID|Id|Nr|No)$")
FEW_ROWS = 5  # in which different whole numbers may be values
MOST_LABELS = 20  # of a column that may be meant
MOST_LEVELS = 50
MOST_GROUPS = 20
DIGITS = 12  # of a number that names a group
HOW = ("together", "apart")
ALL = "all"
UNSEEN = ("refuse", "zeros")

# ------------------------------------------------------------------------------------------------------------- numbers


def _column(values: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the numbers of a column, NaN for other cells, and a mask of the cells with text (dates are text)."""
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_complex_dtype(values.dtype):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan)), np.zeros(len(values), dtype=bool)
    cells = np.asarray(values, dtype=object)
    text = np.array(["" if is_missing(cell) else str(cell) for cell in cells], dtype=object)
    lower = [cell.strip().lower() for cell in text]
    if {"true", "false", ""} >= set(lower) != {""}:  # as pandas writes its 0/1 columns
        truths = [float(cell == "true") if cell else math.nan for cell in lower]
        return np.array(truths), np.zeros(len(text), dtype=bool)
    parsed = [number(cell) for cell in text]
    is_text = np.array([value is None for value in parsed], dtype=bool)
    return np.array([math.nan if value is None else value for value in parsed], dtype=np.float64), is_text


def _all_numbers(cells: NDArray[Any]) -> FloatArray | None:
    """Convert all cells at once; return None if one of them is not a number."""
    some = cells.ravel()
    if not set(map(type, some)) <= {str, int, float} or any("_" in cell for cell in some if type(cell) is str):
        return None
    try:
        return cells.astype(np.float64, order="C")
    except (ValueError, OverflowError):
        return None


def numeric_matrix(table: pd.DataFrame, origin: Origin, blanks: bool = False) -> FloatArray:
    """Return feature columns as a finite float64 matrix of shape (rows, columns).

    ``blanks``: blank cells, and words for missing values, are allowed and become NaN.

    Raises DataError: a cell is text, blank, NaN or infinite; the message has column, row, cell and their number.
    """
    plain = all(dtype.kind == "O" for dtype in table.dtypes)  # an array is much faster than a frame
    X = _all_numbers(table.to_numpy()) if plain else None
    if X is None:
        X = np.empty(table.shape, dtype=np.float64)
        texts: dict[str, NDArray[np.bool_]] = {}
        columns = table.to_numpy().T if plain else (values for _, values in table.items())
        for j, (name, values) in enumerate(zip(table.columns, columns, strict=True)):
            X[:, j], is_text = _column(values)
            if blanks and is_text.any():
                is_text &= [str(cell).strip().lower() not in BLANKS for cell in values]
            if is_text.any():
                texts[str(name)] = is_text
        if texts:
            raise _refused_text(table, texts, origin, blanks)
    check_finite(X, [str(name) for name in table.columns], origin, blanks=blanks)
    return X


def _refused_text(table: pd.DataFrame, texts: dict[str, NDArray[np.bool_]], origin: Origin, blanks: bool) -> DataError:
    """Return the error for columns with text: the first with its row, and the options that treat all of them."""
    name, is_text = next(iter(texts.items()))
    row, cells = int(np.argmax(is_text)), int(is_text.sum())
    text = f'Column "{name}" has text in {origin.row(row)} ("{short(str(table.iloc[row][name]))}"'
    text += f", {cells} such cells): " if cells > 1 else "): "
    if origin is NEW:
        return DataError(f"{text}give numbers, or leave such rows out.")
    others = [quoted(other) for other in texts if other != name]
    also = f" So {'has' if len(others) == 1 else 'have'} {listed(others)}." if others else ""
    first = list(texts)[:SHOWN]
    values = {column: _written(table[column]) for column in first}
    found = [one for one in treatments(table, origin) if not (blanks and one.option == "impute")]
    by = as_options(found)
    missing = {one.option for one in found if one.column == name} == {"impute"}
    few = missing or 2 * cells < len(values[name])
    remedy = f"{'fill in' if missing else 'give'} numbers,{' remove such rows,' if few else ''}"
    treat = f"treat {'them' if others else 'it'} with {origin.options(by)}, " if by.keys() != {"drop"} else ""
    if origin.path is not None and (ways := next(filter(None, map(readings, values.values())), [])):
        treat = f"give {', or '.join(way.words for way in ways)}, "
    return DataError(f"{text}{remedy} {treat}or {origin.leave_out(first)}.{also}")


@dataclass(frozen=True)
class Treatment:
    """What a column of features needs: ``option`` is "drop", "one-hot" or "impute", with the reason."""

    column: str
    option: str
    reason: str


def treatments(table: pd.DataFrame, origin: Origin, most: int = SHOWN) -> list[Treatment]:
    """Return what columns of features need, for the first ``most`` that need something."""
    found: list[Treatment] = []
    for name, values in itertools.islice(table.items(), MOST_SEARCHED):
        found += [Treatment(str(name), *pair) for pair in _needs(str(name), values, origin)]
        if len({one.column for one in found}) >= most:
            break
    return found


def as_options(found: Iterable[Treatment]) -> dict[str, Any]:
    """Return treatments as options: ``{"drop": ["id"], "one-hot": ["colour"], "impute": "median"}``."""
    by: dict[str, Any] = {}
    for way in ("drop", "one-hot", "impute"):
        if names := [one.column for one in found if one.option == way]:
            by[way] = "median" if way == "impute" else names
    return by


def label_columns(table: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns with two values and no blank, which may be the labels, and their values.

    Text comes before numbers and truth values, and later columns before earlier ones.
    """
    found = {}
    for name in reversed(table.columns):
        values: set[str] = set()
        for cell in table[name]:
            values.add("" if is_missing(cell) else str(cell).strip())
            if len(values) > 2:
                break
        if len(values) == 2 and "" not in values:
            found[str(name)] = sorted(values)
    return dict(sorted(found.items(), key=lambda pair: not is_text(table[pair[0]])))


def _needs(name: str, values: pd.Series, origin: Origin) -> list[tuple[str, str]]:
    """Return the options that a column of features needs, with reasons."""
    typed = pd.api.types.is_numeric_dtype(values.dtype)
    known = _column(values)[0] if typed else _all_numbers(values.to_numpy())
    if known is not None and not np.isnan(known).any():
        different = len(known) > FEW_ROWS and _is_identifier(name, known)
        return [("drop", "a different whole number in each row")] if different else []
    is_text, written = _column(values)[1], _written(values)
    if not written:
        return [("drop", "no value")]
    blanks = len(values) - len(written)
    impute = [("impute", f"{blanks} blank{'s' * (blanks > 1)}")] if blanks else []
    if not is_text.any():
        return impute
    odd = [str(cell) for cell in values[is_text]]
    if all(text.strip().lower() in BLANKS for text in odd):
        return [("impute", f"{len(odd) + blanks} blanks")]
    if all(DATE.match(text.strip()) for text in odd):
        return [("drop", f"dates, such as {short(odd[0])}")]
    levels = levels_of(written)
    few = 2 <= len(levels) <= min(MOST_LEVELS, max(2, len(written) // 2))
    if few and 2 * len(odd) >= len(written) and origin is not ARRAYS:
        return [("one-hot", f"{len(levels)} categories: {listed(map(short, levels), 5)}"), *impute]
    return [("drop", f"text with {len(levels)} values in {len(written)} cells, such as {short(odd[0])}")]


def _is_identifier(name: str, values: FloatArray) -> bool:
    """Return True for different whole numbers that are consecutive, or whose name is that of an identifier."""
    if not np.all(values == np.floor(values)) or len(np.unique(values)) < len(values):
        return False
    return np.ptp(values) == len(values) - 1 or IDENTIFIER.search(name) is not None


def _written(values: pd.Series) -> list[str]:
    """Return the cells of a column that are not blank, as text."""
    return [str(cell) for cell in values if not is_missing(cell) and str(cell).strip()]


def check_finite(X: FloatArray, features: Sequence[str], origin: Origin, blanks: bool = False) -> None:
    """Raise DataError for infinite entries of a dense matrix, and for NaN unless ``blanks`` are allowed."""
    finite = np.isfinite(X) | (np.isnan(X) if blanks else False)
    rows, places = np.nonzero(~finite)
    if len(rows):
        refuse_entry(X[rows[0], places[0]], features[places[0]], origin, rows)


def refuse_entry(
    value: float, feature: str, origin: Origin, rows: Any, wanted: str = "finite numbers", impute: bool = True
) -> None:
    """Raise DataError for entries that are NaN or infinite; ``value``: the first, ``rows``: the row of each."""
    cells, rows = len(rows), np.unique(rows)
    what = "no value (blank or NaN)" if math.isnan(value) else f"an infinite value ({value})"
    row = "row" if len(rows) == 1 else "rows"
    many = f"; {cells} such cells in {len(rows)} {row} in all" if cells > 1 else ""
    fill = f", impute them with {origin.options({'impute': 'median'})}" if impute and math.isnan(value) else ""
    rest = f"or remove the {row}" if origin is NEW else f"remove the {row}, or {origin.leave_out([feature])}"
    raise DataError(
        f'Column "{feature}" has {what} in {origin.row(int(rows[0]))}{many}: fill in {wanted}{fill}, {rest}.'
    )


def feature_matrix(X: Any, features: Sequence[str], origin: Origin, blanks: bool = False) -> Any:
    """Return a checked copy of features: dense float64 in C order, or CSR for any sparse format.

    ``blanks``: whether dense features may have NaN.
    """
    if isinstance(X, pd.DataFrame):
        return numeric_matrix(X, origin, blanks)
    if not sparse.issparse(X):
        dense = np.array(X, dtype=np.float64, order="C")
        check_finite(dense, features, origin, blanks)
        return dense
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if len(bad):
        places = np.searchsorted(rows.indptr, bad, side="right") - 1
        refuse_entry(rows.data[bad[0]], features[rows.indices[bad[0]]], origin, places, impute=False)
    return rows


# -------------------------------------------------------------------------------------------------------------- labels


def is_guess(positive: object, negative: object, chosen: object) -> bool:
    """Return True if class +1 follows from the order of the labels: it was not named, and is not 1 or True.

    >>> is_guess(None, "ill", "well"), is_guess("ill", "well", "ill"), is_guess(None, 0, 1), is_guess(None, 1, 2)
    (True, False, False, True)
    """
    expected = [(-1, 1), (0, 1), ("false", "true")]
    pair = tuple(label.lower() if isinstance(label, str) else label for label in (negative, chosen))
    return positive is None and pair not in expected


def signed_labels(labels: pd.Series, positive: object, what: str, origin: Origin) -> tuple[FloatArray, object, object]:
    """Return labels as -1.0 and +1.0, the label of -1 (a tuple of several) and the label of +1.

    With two labels and no ``positive`` the larger in sorted order is +1; labels that are all numbers, also as text,
    sort as numbers. With ``positive`` every other label is -1. ``what``: the source of the labels, for messages.

    Raises DataError: a label is missing, there is only one, there are more than two without ``positive``, or
    ``positive`` is no label.
    """
    cells = [cell.strip() if isinstance(cell, str) else cell for cell in labels.astype(object)]
    blank = np.flatnonzero([is_missing(cell) or cell == "" for cell in cells])
    if blank.size:
        more = f" ({blank.size} such rows)" if blank.size > 1 else ""
        raise DataError(
            f"{what} has no label in {origin.row(int(blank[0]))}{more}: fill in the label or remove the row."
        )
    codes, found = pd.factorize(np.array([*cells, None], dtype=object)[:-1])
    canonical = _canonical(list(found))
    ordered, of_table = sorted(set(canonical)), what.startswith("Column")
    if positive is None:
        if len(ordered) > 2:
            many = of_table and len(ordered) > MOST_LABELS
            wrong = ", or name another column with --target if this one has no labels" if many else ""
            raise DataError(
                f"{what} has {len(ordered)} labels ({listed(ordered)}): name the one that becomes +1 with --positive "
                f"(Python: positive=); all others become -1{wrong}."
            )
        chosen = ordered[-1]
    else:
        matches = [label for label in ordered if same_label(label, positive)]
        if not matches:
            raise DataError(
                f'positive="{positive}" is not a label of {what[0].lower()}{what[1:]}. {suggestion(positive, ordered)}'
                f"Its labels are {listed(ordered)}: give one of them with --positive (Python: positive=)."
            )
        chosen = matches[0]
    if len(ordered) == 1:
        raise DataError(
            f"{what} has the label {ordered[0]} in all {len(cells)} rows, and a classifier needs samples of two "
            f"classes: add samples of the other class{' or name another column of labels' if of_table else ''}."
        )
    rest = [label for label in ordered if label != chosen]
    sign = np.array([1.0 if label == chosen else -1.0 for label in canonical])
    return sign[codes], rest[0] if len(rest) == 1 else tuple(rest), chosen


def _canonical(found: list[Any]) -> list[Any]:
    """Return labels of one type: all bool, all numbers (integers if they are whole), or all text."""
    if all(isinstance(label, bool | np.bool_) for label in found):
        return [bool(label) for label in found]
    numbers = [number(str(label)) for label in found]
    if all(value is not None and math.isfinite(value) for value in numbers):
        return [int(value) if value == int(value) else value for value in numbers if value is not None]
    return [str(label) for label in found]


def same_label(label: object, wanted: object) -> bool:
    """Return True if a label of the data equals the value of an option: "1" and 1.0 are 1, "true" is True."""
    text = str(wanted).strip()
    if isinstance(label, bool) and not isinstance(wanted, bool | np.bool_) and text.lower() in {"true", "false"}:
        return str(label).lower() == text.lower()
    if isinstance(label, str):
        return label == text
    return number(str(float(wanted)) if isinstance(wanted, bool | np.bool_) else text) == label


# ---------------------------------------------------------------------------------------------------------- categories


@dataclass(frozen=True)
class Category:
    """Column of categories: its levels in order, and whether its features are selected together."""

    column: str
    levels: tuple[str, ...]
    together: bool = True

    @property
    def coded_levels(self) -> tuple[str, ...]:
        """The levels that have a feature."""
        return self.levels[1:] if len(self.levels) == 2 else self.levels

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the 0/1 features."""
        return tuple(f"{self.column}={level}" for level in self.coded_levels)

    def coded(self, cells: Iterable[Any], where: str, unseen: str = "refuse") -> FloatArray:
        """Return the features of cells, NaN in rows without a value.

        ``unseen``: "refuse" raises DataError for an unknown level, "zeros" gives it the features of no level.
        """
        texts = [level(cell) for cell in cells]
        if unseen == "refuse" and (new := [text for text in texts if text is not None and text not in self.levels]):
            row = texts.index(new[0])
            raise DataError(
                f'{where} has "{short(new[0])}" in row {row + 1}, which is none of the levels of "{self.column}" '
                f"({listed(self.levels)}): correct it, leave the row out, or classify such rows as without a level by "
                '--unseen zeros (Python: unseen="zeros").'
            )
        rows = [[math.nan if text is None else float(text == each) for each in self.coded_levels] for text in texts]
        return np.array(rows).reshape(len(texts), len(self.coded_levels))


def level(cell: Any) -> str | None:
    """Return the level of a cell as text, whole numbers without a decimal point; None for a missing value."""
    if is_missing(cell):
        return None
    if isinstance(cell, float | np.floating) and math.isfinite(cell) and cell == int(cell):
        return str(int(cell))
    text = str(cell).strip()
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", text) or None


def levels_of(cells: Iterable[Any]) -> tuple[str, ...]:
    """Return the sorted levels of a column, numbers first."""
    return tuple(sorted({text for cell in cells if (text := level(cell)) is not None}, key=level_order))


def level_order(text: str) -> tuple[bool, float, str]:
    """Return the sort key of a level: numbers by value, before text."""
    value = number(text)
    return (value is None, 0.0 if value is None or math.isnan(value) else value, text)


def is_text(cells: pd.Series) -> bool:
    """Return True if most cells of a column are text, not numbers or truth values."""
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_bool_dtype(cells.dtype):
        return False
    values = [str(cell).strip() for cell in cells if level(cell) is not None]
    if {text.lower() for text in values} <= {"true", "false"}:
        return False
    return 2 * sum(number(text) is None for text in values) > len(values)


def expanded(
    table: pd.DataFrame, target: str, one_hot: Any, origin: Origin
) -> tuple[pd.DataFrame, dict[str, Category]]:
    """Return the features of a table, with 0/1 features in place of the columns of ``one_hot``, and the categories.

    Raises DataError: no such column, one level, too many levels, or a column with the name of a new feature.
    """
    whole, table = table, table.drop(columns=target)
    requested = _requested(one_hot, table)
    if not requested:
        return table, {}
    check_columns(requested, whole, target, "for --one-hot (Python: one_hot=)", origin)
    categories: dict[str, Category] = {}
    parts: dict[str, Any] = {}
    for name in [str(column) for column in table.columns]:
        if name not in requested:
            parts[name] = table[name]
            continue
        levels = levels_of(table[name])
        if not 2 <= len(levels) <= MOST_LEVELS:
            raise DataError(
                f'Column "{name}" has {len(levels)} different values ({listed(map(short, levels), 5)}), and --one-hot '
                f"(Python: one_hot=) takes categories of 2 to {MOST_LEVELS} levels: {origin.leave_out([name])}."
            )
        category = categories[name] = Category(name, levels, requested[name])
        coded = category.coded(table[name], origin.where)
        for feature, values in zip(category.features, coded.T, strict=True):
            if feature in parts or feature in table.columns:
                raise DataError(f'Column "{name}" needs a feature "{feature}", which exists already: rename it.')
            parts[feature] = values
    return pd.DataFrame(parts, index=table.index), categories


def _requested(one_hot: Any, table: pd.DataFrame) -> dict[str, bool]:
    """Return column -> True if its features are selected together; from names, ``name:apart``, or a mapping."""
    if one_hot is None or one_hot is False:
        return {}
    if isinstance(one_hot, Mapping):
        pairs = [(str(name), how) for name, how in one_hot.items()]
    else:
        words = [ALL] if one_hot is True else as_names(one_hot, "one_hot")
        pairs = [pair for word in words for pair in _split(word, table.columns)]
    found: dict[str, bool] = {}
    for name, how in pairs:
        if how not in HOW:
            raise ParameterError(f"--one-hot {name}:{how} (Python: one_hot=) is not known: use {' or '.join(HOW)}.")
        if name == ALL and name not in table.columns:
            for column in table.columns:
                if is_text(table[column]):
                    found.setdefault(str(column), how == "together")
        else:
            found[name] = how == "together"
    return found


def _split(word: str, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Read ``a``, ``a,b`` and ``a:apart``; the name of a column is always that column."""
    name, colon, how = word.rpartition(":")
    if word in columns or not colon or (how.strip() not in HOW and name not in columns):
        return [(part, "together") for part in named([word], columns)]
    return [(part, how.strip()) for part in named([name], columns)]


# --------------------------------------------------------------------------------------------------- columns of aside


def as_text(values: Any, where: str) -> NDArray[Any]:
    """Return values as text, whole numbers without a decimal point. Raises DataError if a value is missing."""
    cells = values.to_numpy() if isinstance(values, pd.Series) else np.asarray(values)
    if cells.ndim != 1:
        raise DataError(f"{where} has shape {cells.shape}: give one value for each sample.")
    # Rounding makes values equal again after a scaling was undone.
    found = [level(float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell) for cell in cells.tolist()]
    if None in found:
        blank = found.index(None)
        raise DataError(f"{where} has no value in row {blank + 1}: fill it in or remove the row.")
    made = np.array(found, dtype=object)
    made.setflags(write=False)
    return made


def taken(table: pd.DataFrame, names: Sequence[str], target: str, origin: Origin) -> dict[str, NDArray[Any]]:
    """Return columns of a table as text. Raises DataError: no such column, or the target."""
    check_columns(names, table, target, "to set aside (--bags, --fair; Python: aside=)", origin)
    return {name: as_text(table[name], f'Column "{name}" of {origin.where}') for name in names}


def members(
    groups: Any, aside: Mapping[str, NDArray[Any]], features: Sequence[str], n_samples: int
) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each group: by a column of ``aside``, or by one value for each sample.

    Raises DataError: no such column, not one value for each sample, only one group, or too many.
    """
    if isinstance(groups, str):
        if groups not in aside:
            hint = f' It is a feature: use data.set_aside("{groups}").' if groups in features else ""
            raise DataError(f'No column "{groups}" is set aside (set aside: {listed(aside) or "none"}).{hint}')
        what, found = f'"{groups}"', aside[groups]
    else:
        what, found = "the groups", as_text(groups, "The groups")
        if len(found) != n_samples:
            raise DataError(f"The groups have {len(found)} values for {n_samples} samples: give one for each sample.")
    names = sorted(set(found.tolist()), key=level_order)
    if not 2 <= len(names) <= MOST_GROUPS:
        raise DataError(
            f"Column {what} has {len(names)} different values ({listed(names, 5)}): give a column with 2 to "
            f"{MOST_GROUPS} groups of samples."
        )
    return {name: np.flatnonzero(found == name) for name in names}


def checked(aside: Mapping[str, Any], n_samples: int) -> dict[str, NDArray[Any]]:
    """Return the columns of ``aside`` as text. Raises DataError: not one value for each sample."""
    if not isinstance(aside, Mapping):
        raise DataError(f"aside={shown(aside)} is not allowed: give a mapping from names to columns.")
    found = {str(name): as_text(values, f'aside "{name}"') for name, values in aside.items()}
    for name, values in found.items():
        if len(values) != n_samples:
            raise DataError(f'"{name}" has {len(values)} values for {n_samples} samples: give one for each sample.')
    return found
