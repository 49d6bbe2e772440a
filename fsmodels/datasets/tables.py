"""Tables to numbers: what a CSV file or a DataFrame must hold before it becomes a ``Dataset``, and how it is refused.

Cells are read as text by pandas and converted one column at a time by Python's own ``float``, so that a number is the
double nearest to what the file says whatever the version of pandas, and a cell that is no number is shown as written.
"""

import csv
import gzip
import math
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fsmodels.errors import DataError
from fsmodels.words import listed, short, suggestion

FloatArray = NDArray[np.float64]
LONGEST_CELL = 2**31 - 1  # characters
# What people write for a missing value.
BLANKS = {"na", "n/a", "#n/a", "<na>", "none", "null", "missing", "?", "-", "."}


@dataclass(frozen=True)
class Origin:
    """Where data come from, for messages: what to call it, which line a row is, how to leave a column out."""

    where: str
    path: Path | None = None

    def row(self, row: int) -> str:
        """Name a row counted from 0: ``"row 17, line 18"`` for a file (blank lines and line breaks in quotes count)."""
        if self.path is not None:
            for k, (line, _) in enumerate(_records(self.path)):
                if k == row + 1:
                    return f"row {row + 1}, line {line}"
        return f"row {row + 1}"

    def leave_out(self, names: Sequence[str]) -> str:
        """Say how to leave columns out."""
        what = "the column" if len(names) == 1 else "the columns"
        if self is ARRAYS:
            return f"leave {what} out of X"
        python = f"drop=[{', '.join(quoted(name) for name in names)}]"
        if self.path is None:
            return f"leave {what} out with {python}"
        options = " ".join(f"--drop {quoted(name) if ' ' in name else name}" for name in names)
        return f"leave {what} out with {options} (Python: {python})"


FRAME, ARRAYS = Origin("the DataFrame"), Origin("X")


def quoted(name: object) -> str:
    """Put a name in double quotes."""
    return f'"{name}"'


def open_text(path: Path) -> TextIO:
    """Open plain or gzipped UTF-8 text; an Excel byte-order mark is skipped."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def as_path(path: Any) -> Path:
    """Return the path of a file as a Path. Raises DataError if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"This needs the path of a file and got {type(path).__name__}: give text or a pathlib.Path.")
    return Path(path)


def exists(path: Path) -> bool:
    """Tell whether there is something of this name; a name that no folder can hold is none."""
    try:
        return path.exists()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Tell whether there is a file of this name; a name that no folder can hold is none."""
    return exists(path) and path.is_file()


def check_file(path: Path, kind: str, beside: Callable[[str], bool]) -> None:
    """Refuse what is no file to read, twice if need be: nothing, a folder, a pipe, a device.

    Raises DataError, naming the files of the folder that ``beside`` takes for one of this kind.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        here = [p.name for p in path.parent.iterdir() if beside(p.name)] if path.parent.is_dir() else []
        raise DataError(missing(path, here, kind)) from None
    except (OSError, ValueError) as error:
        raise DataError(
            f'File "{path}" cannot be read ({getattr(error, "strerror", None) or error}): check its name and that '
            "you may read it."
        ) from None
    if stat.S_ISDIR(mode):
        raise DataError(f'"{path}" is a folder: give the path of a {kind} file.')
    if not stat.S_ISREG(mode):
        raise DataError(
            f'"{path}" is no regular file but a pipe or a device, which cannot be read twice: write what it gives to '
            "a file first."
        )


def missing(path: Path, beside: Sequence[str], kind: str) -> str:
    """Say that there is no such file, and which files of its kind are in the folder."""
    here = f"{kind} files in {path.parent.resolve()}: {listed(sorted(beside))}." if beside else "Check the path."
    return f'There is no file "{path}". {suggestion(path.name, beside)}{here}'


def read_table(path: str | Path) -> tuple[pd.DataFrame, Origin]:
    """Read a CSV file (plain or .gz) as text cells.

    Returns ``table``: text cells; the columns are the header's names; ``origin``: the file, to name rows in messages.
    Raises DataError: no such file, unreadable, empty, header only, no comma, ragged rows, a column without a name or
    two of one name.
    """
    path = as_path(path)
    check_file(path, "CSV", lambda name: ".csv" in name)
    try:
        records = pd.read_csv(
            path,
            header=None,
            dtype=str,
            keep_default_na=False,
            na_values=[],
            skipinitialspace=True,
            encoding="utf-8-sig",
            compression="gzip" if path.suffix == ".gz" else None,
        )
    except pd.errors.EmptyDataError:
        raise DataError(f'File "{path}" is empty: give a CSV file with a header and one sample a row.') from None
    except pd.errors.ParserError as error:
        raise _ragged(path) or DataError(f'File "{path}" is no CSV file ({error}): save it again as CSV.') from None
    except UnicodeDecodeError as error:
        raise DataError(
            f'File "{path}" is not UTF-8 text ({error.reason} at byte {error.start}): save it as CSV in UTF-8; '
            'a compressed file needs a name that ends in ".gz".'
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f'File "{path}" cannot be read ({error}): check that it is complete and that you may read it.'
        ) from None

    header = [str(name).strip() for name in records.iloc[0]]
    _check_header(header, path)
    if len(records) == 1:
        raise DataError(f'File "{path}" has a header and no rows: add one row per sample.')
    records = records.fillna("")
    if (records.iloc[:, -1] == "").any() and (ragged := _ragged(path)):  # pandas fills short rows with blanks
        raise ragged
    table = records.iloc[1:].reset_index(drop=True)
    table.columns = pd.Index(header)
    return table, Origin(f'file "{path}"', path)


def without(table: pd.DataFrame, drop: Sequence[str], target: str, origin: Origin) -> pd.DataFrame:
    """Leave out the columns in ``drop``; each must be there, and none is the target."""
    for name in drop:
        if name not in table.columns:
            raise DataError(
                f'There is no column "{name}" to drop in {origin.where}. {suggestion(name, table.columns)}'
                f"Its columns are {listed(table.columns)}."
            )
        if name == target:
            raise DataError(
                f'Column "{name}" holds the labels and cannot be dropped: '
                "name another column of labels with --target (Python: target=), or do not drop it."
            )
    return table.drop(columns=list(drop))


def _check_header(header: list[str], path: Path) -> None:
    for name, count in Counter(header).items():
        if count > 1 and name:
            places = [str(k + 1) for k, other in enumerate(header) if other == name]
            raise DataError(
                f'File "{path}" has {len(places)} columns named "{name}" (columns {", ".join(places)}): '
                "give each column a name of its own in line 1."
            )
    if "" in header:
        raise DataError(
            f'Column {header.index("") + 1} of file "{path}" has no name: name it in line 1. '
            "If it is the row index that pandas wrote, write the file again with index=False."
        )
    if other := _other_separator(header, path):
        raise other


def _other_separator(header: list[str], path: Path, decimal: str = "") -> DataError | None:
    """Build the error for a file whose columns something else than commas separates."""
    if len(header) == 1 and re.fullmatch(r"\S+(\s+\d+:\S+)+", header[0]):
        return DataError(
            f'File "{path}" is no CSV file, but seems to be a libsvm-format file ("{short(header[0])}"): use '
            'Dataset.from_svmlight, and on the command line a name that ends in ".svm" or ".svm.gz".'
        )
    for mark, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and mark in header[0]:
            return DataError(
                f'File "{path}" separates its columns by {word} ("{short(header[0])}"): save it with commas, or read '
                f"it with pandas.read_csv(path, sep={mark!r}{decimal}) and use Dataset.from_frame."
            )
    return None


def _records(path: Path) -> Iterable[tuple[int, list[str]]]:
    """Last line number and cells of each record that is not blank, the header first."""
    before = csv.field_size_limit(LONGEST_CELL)  # of the process, and 131072 by default: fewer than pandas reads
    try:
        with open_text(path) as text:
            reader = csv.reader(text, skipinitialspace=True)
            for cells in reader:
                if any(cell.strip() for cell in cells) or len(cells) > 1:
                    yield reader.line_num, cells
    finally:
        csv.field_size_limit(before)


def _ragged(path: Path) -> DataError | None:
    """Build the error for the first row with more or fewer cells than the header."""
    records = iter(_records(path))
    _, header = next(records)
    for row, (line, cells) in enumerate(records, start=1):
        if len(cells) != len(header):
            if other := _other_separator(header, path, ", decimal=','"):  # the cells' commas are decimal ones
                return other
            remedy = (
                "remove the extra cells, quote text that holds a comma, or add the missing names to the header"
                if len(cells) > len(header)
                else "add the missing cells"
            )
            return DataError(
                f'Row {row} (line {line}) of file "{path}" has {len(cells)} cells and the header has {len(header)}: '
                f"{remedy}."
            )
    return None


def number(text: str) -> float | None:
    """Return the number that a cell says, NaN for a blank one and None for text."""
    text = text.strip()
    if not text:
        return math.nan
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _column(values: pd.Series) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Numbers of one column with NaN where there is none, and where there is text instead (dates count as text)."""
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_complex_dtype(values.dtype):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan)), np.zeros(len(values), dtype=bool)
    cells = values.astype(object).to_numpy()
    text = np.array(["" if is_missing(cell) else str(cell) for cell in cells], dtype=object)
    lower = {cell.strip().lower() for cell in text}
    if lower <= {"true", "false"}:  # as pandas writes its 0/1 columns
        return np.array([float(cell.strip().lower() == "true") for cell in text]), np.zeros(len(text), dtype=bool)
    parsed = [number(cell) for cell in text]
    is_text = np.array([value is None for value in parsed], dtype=bool)
    return np.array([math.nan if value is None else value for value in parsed], dtype=np.float64), is_text


def is_missing(cell: object) -> bool:
    """Tell whether a cell holds nothing."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))


def numeric_matrix(table: pd.DataFrame, origin: Origin) -> FloatArray:
    """Turn feature columns into a finite float64 matrix of shape (rows, columns).

    Raises DataError: a cell is text, blank, NaN or infinite; the message names column, row and cell, and says how many
    there are.
    """
    X = np.empty(table.shape, dtype=np.float64)
    texts: dict[str, NDArray[np.bool_]] = {}
    for j, name in enumerate(table.columns):
        X[:, j], is_text = _column(table.iloc[:, j])
        if is_text.any():
            texts[str(name)] = is_text
    if texts:
        name, is_text = next(iter(texts.items()))
        row = int(np.argmax(is_text))
        many = f", {int(is_text.sum())} such cells" if is_text.sum() > 1 else ""
        others = [quoted(other) for other in texts if other != name]
        also = f" So {'has' if len(others) == 1 else 'have'} {listed(others)}." if others else ""
        cell = str(table.iloc[row][name])
        remedy = "fill in numbers, remove such rows, or" if cell.strip().lower() in BLANKS else "give numbers, or"
        raise DataError(
            f'Column "{name}" has text in {origin.row(row)} ("{short(cell)}"{many}): {remedy} '
            f"{origin.leave_out(list(texts)[:8])}.{also}"
        )
    check_finite(X, [str(name) for name in table.columns], origin)
    return X


def check_finite(X: FloatArray, features: Sequence[str], origin: Origin) -> None:
    """Refuse blank, NaN and infinite entries of a dense matrix."""
    finite = np.isfinite(X)
    if not finite.all():
        row, column = (int(k) for k in np.argwhere(~finite)[0])
        rows = np.unique(np.nonzero(~finite)[0])
        refuse_entry(X[row, column], features[column], origin, rows, int((~finite).sum()))


def refuse_entry(value: float, feature: str, origin: Origin, rows: NDArray[Any], cells: int) -> None:
    """Raise for an entry in the first of ``rows`` that is NaN or infinite, one of ``cells``."""
    what = "no value (blank or NaN)" if math.isnan(value) else f"an infinite value ({value})"
    row = "row" if len(rows) == 1 else "rows"
    many = f"; {cells} such cells in {len(rows)} {row} in all" if cells > 1 else ""
    raise DataError(
        f'Column "{feature}" has {what} in {origin.row(int(rows[0]))}{many}: fill in finite numbers, '
        f"remove the {row}, or {origin.leave_out([feature])}."
    )


def feature_matrix(X: Any, features: Sequence[str], origin: Origin) -> Any:
    """Check and copy features: a DataFrame or array to dense float64 in C order, any scipy.sparse form to CSR."""
    if isinstance(X, pd.DataFrame):
        return numeric_matrix(X, origin)
    if not sparse.issparse(X):
        dense = np.array(X, dtype=np.float64, order="C")
        check_finite(dense, features, origin)
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


def read_costs(path: str | Path) -> dict[str, float]:
    r"""Read what each feature costs from a CSV file with the header ``feature,cost``.

    Parameters
    ----------
    path : str or Path
        Plain or gzipped CSV; costs are finite and not negative, in the user's unit.

    Returns
    -------
    dict
        Feature name -> cost. Whether the names are features of the data is the caller's to check, with
        ``check_known_features(costs, data.features, where)``.

    Raises
    ------
    DataError
        Missing file, another header, a blank or repeated feature, a cost that is no finite number or negative.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "costs.csv"
    >>> _ = path.write_text("feature,cost\nage,1\nscan,250.5\n")
    >>> read_costs(path)
    {'age': 1.0, 'scan': 250.5}
    """
    costs: dict[str, float] = {}
    for name, text, where in _by_feature(path, "Costs", "cost"):
        cost = number(text)
        if cost is None or not math.isfinite(cost) or cost < 0:
            raise DataError(
                f'Costs file "{path}" has the cost "{short(text)}" for "{name}" in {where}: '
                "give a finite number of at least 0."
            )
        costs[name] = cost
    return costs


def read_groups(path: str | Path) -> dict[str, str]:
    r"""Read the group of each feature from a CSV file with the header ``feature,group``.

    Raises
    ------
    DataError
        Missing file, another header, a blank or repeated feature, a blank group.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "groups.csv"
    >>> _ = path.write_text("feature,group\nage,person\nscan,imaging\n")
    >>> read_groups(path)
    {'age': 'person', 'scan': 'imaging'}
    """
    groups: dict[str, str] = {}
    for name, text, where in _by_feature(path, "Groups", "group"):
        if not text:
            raise DataError(f'Groups file "{path}" has no group for "{name}" in {where}: fill it in or remove the row.')
        groups[name] = text
    return groups


def _by_feature(path: str | Path, what: str, column: str) -> Iterable[tuple[str, str, str]]:
    """Feature, cell and place of each row of a file with the header ``feature,column``."""
    table, origin = read_table(path)
    if list(table.columns) != ["feature", column]:
        raise DataError(
            f'{what} file "{path}" has the header "{",".join(table.columns)}": it must be "feature,{column}", '
            "with one row per feature."
        )
    seen = set[str]()
    for row, (cell, text) in enumerate(zip(table["feature"], table[column], strict=True)):
        name, where = str(cell).strip(), origin.row(row)
        if not name:
            raise DataError(f'{what} file "{path}" has no feature name in {where}: fill it in or remove the row.')
        if name in seen:
            raise DataError(f'{what} file "{path}" has a second {column} for "{name}" in {where}: keep one of them.')
        seen.add(name)
        yield name, str(text).strip(), where
