"""Cells to numbers: what the columns of a table must hold before they become features, and how they are refused.

Cells are converted one column at a time by Python's own ``float``, so that a number is the double nearest to what the
file says, and a cell that is no number is shown as written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.datasets.categories import MOST_LEVELS, levels_of
from fsmodels.datasets.decimals import BLANKS, is_missing, number, readings
from fsmodels.datasets.origin import ARRAYS, Origin
from fsmodels.datasets.shell import quoted
from fsmodels.errors import DataError
from fsmodels.words import listed, short

__all__ = ["check_finite", "feature_matrix", "numeric_matrix", "refuse_entry"]

FloatArray = NDArray[np.float64]
SHOWN = 20  # columns with text in an error


def _column(values: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Numbers of one column with NaN where there is none, and where there is text instead (dates count as text)."""
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
    """Convert cells at once; None if one of them is not a number, for ``_column`` then."""
    some = cells.ravel()
    if not set(map(type, some)) <= {str, int, float} or any("_" in cell for cell in some if type(cell) is str):
        return None
    try:
        return cells.astype(np.float64, order="C")
    except (ValueError, OverflowError):
        return None


def numeric_matrix(table: pd.DataFrame, origin: Origin, blanks: bool = False) -> FloatArray:
    """Turn feature columns into a finite float64 matrix of shape (rows, columns).

    ``blanks``: whether a blank cell, or what people write for one, may be and becomes NaN.

    Raises DataError: a cell is text, blank, NaN or infinite; the message names column, row and cell, and says how many
    there are.
    """
    plain = all(dtype.kind == "O" for dtype in table.dtypes)  # then an array spares much work on each column
    if plain and (numbers := _all_numbers(table.to_numpy())) is not None:
        check_finite(numbers, [str(name) for name in table.columns], origin, blanks=blanks)
        return numbers
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
        raise _refused_text(table, texts, origin)
    check_finite(X, [str(name) for name in table.columns], origin, blanks=blanks)
    return X


def _refused_text(table: pd.DataFrame, texts: dict[str, NDArray[np.bool_]], origin: Origin) -> DataError:
    """Build the error for columns with text: the first with its row, and the options that treat all of them."""
    name, is_text = next(iter(texts.items()))
    row, cells = int(np.argmax(is_text)), int(is_text.sum())
    others = [quoted(other) for other in texts if other != name]
    also = f" So {'has' if len(others) == 1 else 'have'} {listed(others)}." if others else ""
    shown = list(texts)[:SHOWN]
    values = {
        column: [str(cell) for cell in table[column] if not is_missing(cell) and str(cell).strip()] for column in shown
    }
    by: dict[str, Any] = {}
    for column in shown:
        odd = [str(cell) for cell in table.loc[texts[column], column]]
        by.setdefault(_treatment(values[column], odd, origin), []).append(column)
    few = name in by.get("impute", ()) or 2 * cells < len(values[name])
    remedy = f"{'fill in' if name in by.get('impute', ()) else 'give'} numbers,{' remove such rows,' if few else ''}"
    if "impute" in by:
        by = {**by, "impute": "median"}
    treat = f"treat {'them' if others else 'it'} with {origin.options(by)}, " if by.keys() != {"drop"} else ""
    if origin.path is not None and (ways := next(filter(None, map(readings, values.values())), [])):
        treat = f"give {', or '.join(way.words for way in ways)}, "
    return DataError(
        f'Column "{name}" has text in {origin.row(row)} ("{short(str(table.iloc[row][name]))}"'
        f"{f', {cells} such cells' if cells > 1 else ''}): {remedy} {treat}or {origin.leave_out(shown)}.{also}"
    )


def _treatment(values: Sequence[str], odd: Sequence[str], origin: Origin) -> str:
    """Return the option for a column with text: for words for missing values, a few categories, anything else."""
    if all(text.strip().lower() in BLANKS for text in odd):
        return "impute"
    few = 2 <= len(levels_of(values)) <= min(MOST_LEVELS, max(2, len(values) // 2))
    return "one-hot" if few and 2 * len(odd) >= len(values) and origin is not ARRAYS else "drop"


def check_finite(X: FloatArray, features: Sequence[str], origin: Origin, blanks: bool = False) -> None:
    """Refuse infinite entries of a dense matrix, and NaN unless ``blanks`` may be."""
    finite = np.isfinite(X) | (np.isnan(X) if blanks else False)
    if not finite.all():
        row, column = (int(k) for k in np.argwhere(~finite)[0])
        rows = np.unique(np.nonzero(~finite)[0])
        refuse_entry(X[row, column], features[column], origin, rows, int((~finite).sum()))


def refuse_entry(
    value: float, feature: str, origin: Origin, rows: NDArray[Any], cells: int, wanted: str = "finite numbers"
) -> None:
    """Raise for an entry in the first of ``rows`` that is NaN or infinite, one of ``cells``."""
    what = "no value (blank or NaN)" if math.isnan(value) else f"an infinite value ({value})"
    row = "row" if len(rows) == 1 else "rows"
    many = f"; {cells} such cells in {len(rows)} {row} in all" if cells > 1 else ""
    impute = f", have them filled in with {origin.impute}" if math.isnan(value) else ""
    raise DataError(
        f'Column "{feature}" has {what} in {origin.row(int(rows[0]))}{many}: fill in {wanted}{impute}, '
        f"remove the {row}, or {origin.leave_out([feature])}."
    )


def feature_matrix(X: Any, features: Sequence[str], origin: Origin, blanks: bool = False) -> Any:
    """Check and copy features: a DataFrame or array to dense float64 in C order, any scipy.sparse form to CSR.

    ``blanks``: whether dense ones may have NaN.
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
        value, feature = float(rows.data[bad[0]]), features[rows.indices[bad[0]]]
        refuse_entry(value, feature, origin, np.unique(places), len(bad))
    return rows
