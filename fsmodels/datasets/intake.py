"""From a table or from arrays to what a ``Dataset`` holds, with every check on the way."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fsmodels.datasets import beside, cells, repeats, tables
from fsmodels.datasets.categories import Category, expanded
from fsmodels.datasets.decimals import is_missing, number
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.imputing import Imputing, check_method, filled
from fsmodels.datasets.origin import ARRAYS, FRAME, Origin
from fsmodels.datasets.shell import quoted, word
from fsmodels.errors import DataError
from fsmodels.words import as_names, listed, short, suggestion

FloatArray = NDArray[np.float64]
MANY_LABELS = 20
LOOKED_AT = 1000  # columns, for what may be the labels


@dataclass(frozen=True, eq=False)
class Intake:
    """Checked data; ``remarks`` are sentences on columns that tell nothing, ``guessed`` tells of class +1.

    ``aside``: columns that are no features. ``dialect``: how a file was read, and ``notes`` on that. ``categories``,
    ``imputing``: of columns that were made 0/1 features, and of blanks that were filled in.
    """

    X: Any
    y: NDArray[np.float64]
    features: tuple[str, ...]
    negative_label: object
    positive_label: object
    remarks: list[str]
    guessed: bool
    aside: dict[str, beside.Labels] = field(default_factory=dict)
    dialect: Dialect | None = None
    notes: Sequence[str] = ()
    categories: dict[str, Category] = field(default_factory=dict)
    imputing: Imputing | None = None


def from_csv(
    path: Path, target: str, positive: object, drop: Sequence[str], aside: Sequence[str], asked: Dialect,
    one_hot: Any = (), impute: str | None = None,
) -> Intake:  # fmt: skip
    """Take the columns of a file besides ``target`` and those in ``drop``; those in ``aside`` are no features."""
    table, origin = tables.read_table(path, asked, unused=drop)
    return _with(aside, tables.without(table, drop, target, origin), target, positive, origin, one_hot, impute)


def from_frame(
    df: pd.DataFrame, target: str, positive: object, drop: Sequence[str], aside: Sequence[str] = (),
    one_hot: Any = (), impute: str | None = None,
) -> Intake:  # fmt: skip
    """Take the columns of a DataFrame; column names become text."""
    if not isinstance(df, pd.DataFrame):
        raise DataError(f"from_frame needs a DataFrame and got {type(df).__name__}: use from_arrays or from_csv.")
    table = df.set_axis([str(column) for column in df.columns], axis=1)
    return _with(aside, tables.without(table, drop, target, FRAME), target, positive, FRAME, one_hot, impute)


def _with(
    aside: Sequence[str], table: pd.DataFrame, target: str, positive: object, origin: Origin, one_hot: Any,
    impute: str | None,
) -> Intake:  # fmt: skip
    kept = beside.taken(table, aside, target, origin)
    rest = table.drop(columns=list(kept))
    return replace(_from_table(rest, target, positive, origin, one_hot, impute), aside=kept)


def _meant(table: pd.DataFrame, target: str) -> str:
    """Say which column may be the labels': one of nearly that name, or those of two values, text first."""
    names = [str(column) for column in table.columns]
    found: dict[str, list[str]] = {}
    for name in names[:LOOKED_AT]:
        values = pd.unique(table[name].astype(str).str.strip())
        if len(values) == 2:
            found[name] = sorted(values)
    if near := suggestion(target, found or names):
        return near
    of_text = [name for name, values in found.items() if any(number(value) is None for value in values)]
    few = [*of_text, *(name for name in found if name not in of_text)]
    if not few:
        return ""
    told = listed([f"{name} ({' / '.join(short(value) for value in found[name])})" for name in few], 5)
    give = f"--target {word(few[0])} (Python: target={quoted(few[0])})"
    return f"Two values, as labels have: {told}; for the first give {give}. "


def _from_table(
    table: pd.DataFrame, target: str, positive: object, origin: Origin, one_hot: Any = (), impute: str | None = None
) -> Intake:
    """Take the columns of a table besides ``target``; all-sparse dtypes give CSR."""
    names = [str(column) for column in table.columns]
    _check_names(names, origin)
    if target not in names:
        what = origin.headless or (
            f" {_meant(table, target)}Its columns are {listed(names)}: name the column of labels with --target "
            "(Python: target=)."
        )
        raise DataError(f'There is no column "{target}" for the labels in {origin.where}.{what}')
    X: Any
    X, categories = expanded(table.drop(columns=target), one_hot, origin)
    for name in categories if impute is None else ():
        blank = np.flatnonzero([is_missing(cell) or not str(cell).strip() for cell in table[name]])
        if blank.size:
            cells.refuse_entry(math.nan, name, origin, blank, blank.size, "levels")
    names = [str(column) for column in X.columns]
    if names and all(isinstance(dtype, pd.SparseDtype) for dtype in X.dtypes):
        X = X.sparse.to_coo()
    return _checked(X, names, table[target], positive, target, origin, categories, impute)


def from_arrays(
    X: Any, y: ArrayLike, features: Sequence[str] | None, positive: object, impute: str | None = None
) -> Intake:
    """Take X (dense, DataFrame or scipy.sparse) and y; names default to x1, x2, ..."""
    if isinstance(X, pd.DataFrame) and features is None:
        features = [str(column) for column in X.columns]
    if not sparse.issparse(X):
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise DataError(f"X is no matrix ({error}): give every row the same number of values.") from None
    if X.ndim != 2:
        raise DataError(
            f"X has shape {X.shape}: give samples x features; X.reshape(-1, 1) makes a single feature of a vector."
        )
    names = [f"x{j + 1}" for j in range(X.shape[1])] if features is None else as_names(features, "features")
    if len(names) != X.shape[1]:
        raise DataError(f"features has {len(names)} names for {X.shape[1]} columns of X: give one name a column.")
    _check_names(names, ARRAYS)
    labels = y.reset_index(drop=True) if isinstance(y, pd.Series) else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or len(labels) != X.shape[0]:
        raise DataError(f"y has shape {labels.shape} for {X.shape[0]} rows of X: give one label a row.")
    if not sparse.issparse(X) and X.dtype.kind not in "fiub":
        X = pd.DataFrame(X, columns=names)
    return _checked(X, names, pd.Series(labels), positive, "y", ARRAYS, {}, impute)


def _check_names(names: list[str], origin: Origin) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"Column names stand twice in {origin.where}: {listed(twice)}. Give each column a name of its own."
        )


def _checked(
    X: Any,
    features: list[str],
    labels: pd.Series,
    positive: object,
    target: str,
    origin: Origin,
    categories: dict[str, Category],
    impute: str | None,
) -> Intake:
    if impute is not None:
        check_method(impute)
    if not features:
        raise DataError(
            f'There are no features in {origin.where}: give at least one numeric column besides "{target}".'
        )
    if X.shape[0] == 0:
        raise DataError(f"There are no rows in {origin.where}: give one row per sample.")
    X, imputing = cells.feature_matrix(X, features, origin, blanks=impute is not None), None
    if impute is not None:
        if sparse.issparse(X):
            raise DataError(f"{origin.where} is sparse, and impute= fills blanks of dense data: give it dense.")
        X, imputing = filled(X, features, impute, categories, origin.where)
    y, negative, chosen = signed_labels(labels, positive, target, origin)
    remarks = repeats.uninformative(X, features)
    guessed = is_guess(positive, negative, chosen)
    dialect = None if origin.path is None else origin.dialect
    return Intake(
        X, y, tuple(features), negative, chosen, remarks, guessed, dialect=dialect, notes=tuple(origin.notes),
        categories=categories, imputing=imputing,
    )  # fmt: skip


def is_guess(positive: object, negative: object, chosen: object) -> bool:
    """Tell whether class +1 follows from the order of the labels alone: nobody named it, nor is it 1 or True.

    >>> is_guess(None, "ill", "well"), is_guess("ill", "well", "ill"), is_guess(None, 0, 1), is_guess(None, 1, 2)
    (True, False, False, True)
    """
    expected = [(-1, 1), (0, 1), ("false", "true")]
    pair = tuple(label.lower() if isinstance(label, str) else label for label in (negative, chosen))
    return positive is None and pair not in expected


def narrow(X: Any) -> Any:
    """Return sparse data as CSR of float64, with indices of 32 bits where they fit: libsvm takes no others."""
    X = sparse.csr_array(X, dtype=np.float64)
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def check_parts(X: Any, y: NDArray[np.float64], features: tuple[str, ...]) -> None:
    """Check that the parts of a ``Dataset`` fit together."""
    if X.ndim != 2 or y.shape != (X.shape[0],) or len(features) != X.shape[1]:
        raise DataError(
            f"X has shape {X.shape}, y {y.shape} and there are {len(features)} feature names: "
            "X must be samples x features, with one label a row and one name a column."
        )
    if not np.isin(y, (-1.0, 1.0)).all():
        raise DataError(
            f"y holds {listed(np.unique(y))}: Dataset(...) takes -1 and +1; Dataset.from_arrays maps other labels."
        )


def signed_labels(
    labels: pd.Series, positive: object, column: str, origin: Origin
) -> tuple[FloatArray, object, object]:
    """Map labels to -1 and +1.

    With two labels and no ``positive`` the larger in sorted order is +1: numbers (and text that is all numbers) sort as
    numbers, anything else as text. With ``positive`` every other label is -1. Returns ``y`` (ndarray of shape (rows,)):
    -1.0 and +1.0; ``negative, positive``: the labels behind -1 and +1; ``negative`` is a tuple when there are several.
    Raises DataError if a label is missing, there is one label only, more than two without ``positive``, or ``positive``
    is not one.
    """
    cells = labels.astype(object).to_numpy()
    texts = np.array([None if is_missing(c) else c.strip() if isinstance(c, str) else c for c in cells], dtype=object)
    codes, found = pd.factorize(np.array([None if isinstance(c, str) and not c else c for c in texts], dtype=object))
    if (codes < 0).any():
        row, many = int(np.argmax(codes < 0)), int((codes < 0).sum())
        raise DataError(
            f'Column "{column}" has no label in {origin.row(row)}{f" ({many} such rows)" if many > 1 else ""}: '
            "fill in the label or remove the row."
        )
    canonical = _canonical(list(found))
    ordered = sorted(set(canonical))
    if positive is None:
        if len(ordered) > 2:
            wrong = ", or another column with --target if this one is no label" if len(ordered) > MANY_LABELS else ""
            raise DataError(
                f'Column "{column}" has {len(ordered)} labels ({listed(ordered)}): name the one that becomes +1 with '
                f"--positive (Python: positive=); all others become -1{wrong}."
            )
        chosen = ordered[-1]
    else:
        matches = [label for label in ordered if same_label(label, positive)]
        if not matches:
            raise DataError(
                f'positive="{positive}" is not a label of column "{column}". {suggestion(positive, ordered)}'
                f"Its labels are {listed(ordered)}: give one of them with --positive (Python: positive=)."
            )
        chosen = matches[0]
    if len(ordered) == 1:
        raise DataError(
            f'Column "{column}" has the one label {ordered[0]} in all {len(cells)} rows: '
            "a classifier needs samples of two classes; add samples of the other class or choose another label column."
        )
    rest = [label for label in ordered if label != chosen]
    sign = np.array([1.0 if label == chosen else -1.0 for label in canonical])
    return sign[codes], rest[0] if len(rest) == 1 else tuple(rest), chosen


def _canonical(found: list[Any]) -> list[Any]:
    """Labels of one kind: all bool, all numbers (integers where they are whole), or all text."""
    if all(isinstance(label, bool | np.bool_) for label in found):
        return [bool(label) for label in found]
    numbers = [number(str(label)) for label in found]
    if all(value is not None and math.isfinite(value) for value in numbers):
        return [int(value) if value == int(value) else value for value in numbers if value is not None]
    return [str(label) for label in found]


def same_label(label: object, wanted: object) -> bool:
    """Tell whether a label of the data is what somebody wrote: "1" and 1.0 are 1, "true" is True."""
    text = str(wanted).strip()
    if isinstance(label, bool) and not isinstance(wanted, bool | np.bool_) and text.lower() in {"true", "false"}:
        return str(label).lower() == text.lower()
    if isinstance(label, str):
        return label == text
    return number(str(float(wanted)) if isinstance(wanted, bool | np.bool_) else text) == label
