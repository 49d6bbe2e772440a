"""Read tables from text, workbooks and Parquet files, as a DataFrame with the names of the header.

Python's ``csv`` splits text: ``pandas.read_csv`` fills short rows with blanks, and takes 100 times as long for 300,000
columns. openpyxl reads sheets row by row: ``pandas.read_excel`` fills the rectangle around the cells, 137 GB for a
workbook of 5 kB with cells in two corners. Text is not changed, except for the marks in numbers.
"""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.datasets import dialect
from fsmodels.datasets.dialect import AUTO, PLAIN, Dialect, Origin
from fsmodels.datasets.files import as_path, available_memory, check_file, check_fits, content
from fsmodels.errors import DataError, DataWarning, ParameterError
from fsmodels.text import listed, short, suggestion
from solvers.shared_state import process_wide, without_warnings
from solvers.user_warnings import warn

Rows = list[list[Any]]
TABLE_OPTIONS = [part.name for part in fields(Dialect)]

SEPARATORS = ",;\t|"
SHORT_CELL, TEXT_CELL = 40, 90  # bytes of memory for a cell of one character, which Python shares, and of several
CELL, COLUMN = 100, 5000  # bytes of memory for a cell of a sheet or a Parquet file, and for a column of the latter
LONGEST_CELL = 2**31 - 1  # characters
END = "\0end"  # last line for the parser; part of a cell if a quote is not closed
LIBSVM = re.compile(r"\S+(\s+\d+:\S+)+")
OTHER_FORMATS = {
    ".json": "read_json", ".jsonl": "read_json", ".dta": "read_stata", ".sav": "read_spss", ".sas7bdat": "read_sas",
    ".xpt": "read_sas", ".feather": "read_feather", ".pkl": "read_pickle", ".xls": "read_excel", ".xlsb": "read_excel",
    ".ods": "read_excel", ".html": "read_html", ".xml": "read_xml",
}  # fmt: skip


def read_table(
    path: str | Path,
    requested: Dialect = AUTO,
    unused: Sequence[str] = (),
    like: Dialect | None = None,
    used: Collection[str] | None = None,
) -> tuple[pd.DataFrame, Origin]:
    """Return a table from a file, with the names of the header, and its origin, which names rows in messages.

    ``requested``: options of the user; a warning names those that were found and differ from plain CSV.
    ``unused``: columns that are not searched for the decimal mark; ``used``: the only ones that are. ``like``: options
    of another file, which are used if numbers have two readings.

    Raises DataError: the file is missing, unreadable, empty or has another format, has a header only or rows of
    different lengths, a column has no name or the name of another, or there is not exactly one way to read it.
    """
    path = as_path(path)
    check_file(path)
    if (reader := OTHER_FORMATS.get(path.suffix.lower())) is not None:
        raise DataError(
            f'File "{path}" is not CSV, Excel or Parquet: save it as CSV, or read it in Python with '
            f"Dataset.from_frame(pandas.{reader}({str(path)!r}))."
        )
    raw = content(path)
    where = f'file "{path}"'
    if raw.startswith(b"PAR1"):
        _refuse_options(requested, TABLE_OPTIONS, path, "a Parquet file")
        table = _parquet(path)
        _check_header(list(table.columns), path, "")
        return table, Origin(where, path, Dialect(sheet=""))
    if raw.startswith(b"PK\x03\x04"):
        _refuse_options(requested, ("sep", "encoding"), path, "a workbook")
        rows, lines, sheet = _workbook(path, raw, requested.sheet, requested.header or 1)
        sep = encoding = None
    else:
        _refuse_options(requested, ("sheet",), path, "text")
        text, encoding = _text(raw, requested.encoding, path)
        text, sheet = _from_line(requested.header or 1, text), None
        sep = requested.sep or _separator(text, path)
        rows, lines = _rows(text, sep, path)
    if requested.header is None and (names := _names_below_groups(rows)):
        rows, lines = [names, *rows[2:]], lines[1:]
        warn(f'The header of file "{path}" has two rows: columns have the names of the second one.', DataWarning)
    if len(rows) == 1:
        raise DataError(f'File "{path}" has a header and no rows: add one row per sample.')
    header, columns = _named([str(name).strip() for name in rows[0]], list(zip(*rows[1:], strict=True)), path)
    skipped = set(named(unused, header))
    texts = [
        (name, [cell for cell in cells if isinstance(cell, str)])
        for name, cells in zip(header, columns, strict=True)
        if name not in skipped and (used is None or name in used)
    ]
    marks = requested.decimal or ".", requested.thousands or ""
    if requested.decimal is not None or requested.thousands is not None:
        dialect.check_marks(texts, path, marks)
    elif sep not in (None, ","):
        marks = dialect.found_marks(texts, path, like)
    if marks != (".", ""):
        columns = [dialect.plain(cells, marks) for cells in columns]
    headless = _headless(header)
    _check_header(header, path, headless, lines)
    cells = np.array(columns, dtype=object).T  # one block is fast in pandas for any number of columns
    table = pd.DataFrame(cells, columns=header, dtype=object)
    found = Dialect(sep, *marks, encoding, sheet, requested.header)
    unusual = {
        name: value
        for name in ("sep", "decimal", "thousands", "encoding")
        if getattr(requested, name) is None and (value := getattr(found, name)) not in (None, getattr(PLAIN, name))
    }
    if unusual:
        warn(f'File "{path}" is read with {Dialect(**unusual).words}.', DataWarning)
    return table, Origin(where, path, found, lines, headless)


def _refuse_options(requested: Dialect, names: Sequence[str], path: Path, what: str) -> None:
    for name in names:
        if name in requested.given:
            raise ParameterError(
                f'--{name} (Python: {name}=) is for other files, and "{path}" is {what}: leave it out.'
            )


def _text(raw: bytes, wanted: str | None, path: Path) -> tuple[str, str]:
    """Return the text and its encoding: the given one, UTF-8, or cp1252 if no character beyond ASCII is UTF-8."""
    encoding = wanted or "utf-8"
    try:
        return _decoded(raw, encoding, path), encoding
    except DataError:
        if wanted is None and b"\0" not in raw and raw.decode(errors="ignore").isascii():
            return _decoded(raw, "cp1252", path), "cp1252"
        raise


def _from_line(first: int, text: str) -> str:
    """Return a text with blank lines in place of those before ``first``, so that the later ones keep their numbers."""
    if first == 1:
        return text
    lines = io.StringIO(text, newline="").readlines()
    return "\n" * (first - 1) + "".join(lines[first - 1 :])


def _decoded(raw: bytes, encoding: str, path: Path) -> str:
    try:
        if encoding.lower().startswith(("utf-16", "utf16")) and b"\0" not in raw:
            raise UnicodeError("it has one byte per character")  # pairs of such bytes are characters of East Asia
        text = raw.decode(encoding).removeprefix("\ufeff")
        if text.count("\0") > 0.2 * len(text):
            raise UnicodeError("it has many zero bytes")
        return text
    except UnicodeError as error:
        other = "utf-16" if b"\0" in raw else "cp1252" if encoding.lower() == "utf-8" else "utf-8"
        raise DataError(
            f'File "{path}" is not {encoding.upper()} text ({error}): save the table as CSV in UTF-8, or give the '
            f"encoding of the file, such as {Dialect(encoding=other).words}."
        ) from None


def _separator(text: str, path: Path) -> str:
    """Return the most frequent separator of the header outside quotes."""
    line = re.match(r"[^\r\n]*", text.lstrip("\r\n"))
    header = re.sub(r'"[^"]*("|$)', "", line[0] if line else "")
    counts = {sep: header.count(sep) for sep in SEPARATORS}
    most = [sep for sep, count in counts.items() if count == max(counts.values())]
    if len(most) > 1 and counts[most[0]]:
        words = ", or ".join(Dialect(sep=sep).words for sep in most)
        raise DataError(
            f'The columns of file "{path}" can be separated in several ways ("{short(header)}"): give {words}.'
        )
    return most[0]


def _rows(text: str, sep: str, path: Path) -> tuple[Rows, list[int]]:
    """Return the rows of a text that are not blank, and the line where each ends.

    Raises DataError: no row, rows of different lengths, a quote that is not closed, or one column of several words.
    """
    many = text.count(sep)
    check_fits(path, many * (TEXT_CELL if len(text) > 3 * many else SHORT_CELL))
    source = iter(io.StringIO(text, newline=""))
    if sep == " ":
        source = (" ".join(line.split()) + "\n" for line in source)
    reader = csv.reader(chain(source, [END]), delimiter=sep, skipinitialspace=sep != " ")
    rows: Rows = []
    lines: list[int] = []
    start = 1
    with _long_cells():
        for cells in reader:
            if cells == [END]:
                break
            if cells and cells[-1].endswith(END):
                raise DataError(
                    f'File "{path}" is not CSV: a quote that opens in the row of line {start} is not closed. Close it, '
                    'or write a quote inside a quoted cell twice ("").'
                )
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                rows.append(cells)
                lines.append(reader.line_num)
            start = reader.line_num + 1
    if not rows:
        raise DataError(f'File "{path}" is empty: give a CSV file with a header and at least one row below it.')
    first, width = rows[0], len(rows[0])
    if width == 1 and LIBSVM.fullmatch(first[0].strip()):
        raise DataError(
            f'File "{path}" seems to be a libsvm-format file ("{short(first[0])}"): use Dataset.from_svmlight, and on '
            'the command line a name that ends in ".svm" or ".svm.gz".'
        )
    ragged = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if ragged is not None:
        found = len(rows[ragged])
        remedy = "add the missing cells" if found < width else f'remove the extra cells, or quote text with "{sep}"'
        sizes, above = Counter(map(len, rows)), ""
        if sizes[found] > sizes[width]:  # lines with a title are above the header
            above = (
                f" If the header is not in line {lines[0]}, delete the lines above it or give its line, such as "
                f"{Dialect(header=lines[ragged]).words}."
            )
        raise DataError(
            f'Row {ragged} (line {lines[ragged]}) of file "{path}" has {found} cell{"s" * (found != 1)} and the header '
            f"has {width}: {remedy}.{above} If another mark separates the columns, give it with --sep (Python: sep=)."
        )
    if (words := {len(row[0].split()) for row in rows}) != {1} and len(words) == width == 1:
        raise DataError(
            f'File "{path}" has one column and the same number of words in each row ("{short(first[0])}"): if spaces '
            'separate its columns, give --sep space (Python: sep="space").'
        )
    return rows, lines


@process_wide
@contextmanager
def _long_cells() -> Iterator[None]:
    """Allow cells of any length; the limit of the process is 131072 characters by default."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _needs(what: str, package: str, path: Path) -> DataError:
    return DataError(
        f'File "{path}" is {what}, which needs {package}: pip install "fsmodels[tables]", or pip install {package}; or '
        "save it as CSV."
    )


def _workbook(path: Path, raw: bytes, wanted: str | None, first: int) -> tuple[Rows, list[int], str]:
    """Return rows from row ``first`` on, row numbers and name of the requested sheet, or of the only one with cells."""
    try:
        import openpyxl
    except ImportError:
        raise _needs("a workbook of Excel", "openpyxl", path) from None
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            check_fits(path, sum(part.file_size for part in archive.infolist()))
        with without_warnings(Warning):  # about styles and drop-down lists, which are not read
            sheets = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True).worksheets
            names = [sheet.title for sheet in sheets]
            found = {sheet.title: _sheet(sheet, path, first) for sheet in sheets if wanted in (None, sheet.title)}
    except DataError:
        raise
    except Exception as error:  # openpyxl has no exception class for files that are not complete
        raise DataError(
            f'File "{path}" cannot be read as a workbook ({error}): check that it is complete, or save it as CSV.'
        ) from None
    if wanted is not None and wanted not in names:
        raise DataError(
            f'There is no sheet "{wanted}" in "{path}". {suggestion(wanted, names)}Its sheets are {listed(names)}: '
            "give one of them with --sheet (Python: sheet=)."
        )
    full = [name for name, (rows, _) in found.items() if rows]
    if not full:
        raise DataError(
            f'Workbook "{path}" has no cell with a value: give a sheet with a header and one sample per row.'
        )
    if len(full) > 1:
        raise DataError(
            f'Workbook "{path}" has {len(full)} sheets with cells ({listed(full)}): give one of them, '
            + ", or ".join(Dialect(sheet=name).words for name in full[:3])
            + "."
        )
    return *found[full[0]], full[0]


def _sheet(sheet: Any, path: Path, first: int) -> tuple[Rows, list[int]]:
    """Return the rows of a sheet from ``first`` on, without empty rows and columns, and the number of each row."""
    sheet.reset_dimensions()  # the stored dimensions can be wrong
    available, many = available_memory(), 0
    rows: Rows = []
    lines: list[int] = []
    for line, row in enumerate(sheet.iter_rows(min_row=first, values_only=True), start=first):
        if any(cell not in (None, "") for cell in row):
            many += len(row)
            check_fits(path, CELL * many, available)
            rows.append([_plain(cell) for cell in row])
            lines.append(line)
    width = max(map(len, rows), default=0)
    check_fits(path, CELL * width * len(rows), available)
    rows = [row + [""] * (width - len(row)) for row in rows]
    full = [j for j in range(width) if any(row[j] != "" for row in rows)]
    return [[row[j] for j in full] for row in rows], lines


def _plain(value: Any) -> Any:
    """Return a cell as a number, a truth value or text; an empty cell is ""."""
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else value
    return str(value).removesuffix(" 00:00:00")  # the time of a date


def _parquet(path: Path) -> pd.DataFrame:
    """Return the columns of a Parquet file, including an index with a name.

    Raises DataError: pyarrow is missing, the file cannot be read, or its cells do not fit into memory.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise _needs("a Parquet file", "pyarrow", path) from None
    try:
        facts = pq.read_metadata(path)
        check_fits(path, (CELL * facts.num_rows + COLUMN) * facts.num_columns)
        frame = pd.read_parquet(path)
    except DataError:
        raise
    except Exception as error:  # pyarrow has its own exception classes
        raise DataError(f'Parquet file "{path}" cannot be read ({error}): write it again.') from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def named(words: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return the named columns; a word that is not a column is split at commas.

    >>> named(["id,name", "b, in mg"], ["id", "name", "b, in mg"])
    ['id', 'name', 'b, in mg']
    """
    parts = ([word] if word in columns else map(str.strip, word.split(",")) for word in words)
    return list(dict.fromkeys(name for several in parts for name in several if name))


def without(table: pd.DataFrame, drop: Sequence[str], target: str, origin: Origin) -> pd.DataFrame:
    """Return the table without the columns ``drop``. Raises DataError: no such column, or the target."""
    names = named(drop, set(table.columns))
    check_columns(names, table, target, "to drop", origin)
    return table.drop(columns=names)


def check_columns(names: Iterable[str], table: pd.DataFrame, target: str, what: str, origin: Origin) -> None:
    """Raise DataError for a name that is no column, or the column of labels; ``what``: the purpose, in messages."""
    for name in names:
        if name == target and name in table.columns:
            raise DataError(
                f'Column "{name}" contains the labels: name another column {what}, or another column of labels with '
                "--target (Python: target=)."
            )
        if name not in table.columns:
            raise DataError(
                f'There is no column "{name}" {what} in {origin.where}. {suggestion(name, table.columns)}'
                f"Its columns are {listed(table.columns)}.{origin.headless}"
            )


def _named(header: list[str], columns: list[Sequence[Any]], path: Path) -> tuple[list[str], list[Sequence[Any]]]:
    """Remove columns without a name that have no values, or count the rows from 0 as the index of a DataFrame does.

    A separator at the end of each line makes a column without values.
    """
    kept = [j for j, name in enumerate(header) if name or any(str(cell).strip() for cell in columns[j])]
    if kept[:1] == [0] and not header[0] and all(str(cell) == str(k) for k, cell in enumerate(columns[0])):
        kept = kept[1:]
        warn(f'The first column of file "{path}" has no name and counts the rows: it is left out.', DataWarning)
    if len(kept) == len(header) or not kept:
        return header, columns
    return [header[j] for j in kept], [columns[j] for j in kept]


def _names_below_groups(rows: Rows) -> list[str] | None:
    """Return the names of a header of two rows, groups above names; None for another header.

    Groups are blank or repeated, the names in the second row are different, and numbers follow. A column without a name
    in the second row has the name above it. Only the first column may have no name, as the index of a DataFrame.
    """
    if len(rows) < 3:
        return None
    groups, below, values = ([str(cell).strip() for cell in row] for row in rows[:3])
    names = [name or group for name, group in zip(below, groups, strict=True)]
    if not all(names[1:]) or len({*names}) < len(names) or not ("" in groups[1:] or len({*groups}) < len(groups)):
        return None
    numbers = [
        any(dialect.number(cell.replace(",", ".")) is not None for cell in row if cell) for row in (below, values)
    ]
    return names if any(below) and numbers == [False, True] else None


def _check_header(header: list[str], path: Path, headless: str, lines: Sequence[int] = (1, 2)) -> None:
    for name, count in Counter(header).items():
        if count > 1 and name:
            places = [str(k + 1) for k, other in enumerate(header) if other == name]
            raise DataError(
                f'File "{path}" has {len(places)} columns named "{name}" (columns {", ".join(places)}): '
                f"give each column another name in line {lines[0]}.{headless}"
            )
    if "" in header:
        raise DataError(
            f'Column {header.index("") + 1} of file "{path}" has no name: name it in line {lines[0]}. If '
            "it is an index of pandas, write the file again with index=False. If the header has several rows, or is "
            f"below a title, give the row of the names, such as {Dialect(header=lines[1]).words}.{headless}"
        )


def _headless(header: list[str]) -> str:
    """Return a sentence for errors if the header has a number, so that it may be a sample."""
    if not any(name and dialect.number(name.replace(",", ".")) is not None for name in header):
        return ""
    return f' The first line ("{short(", ".join(header))}") looks like a sample: add a header above it.'


def read_costs(path: str | Path) -> dict[str, float]:
    r"""Read the cost of each feature from a CSV file with the header ``feature,cost``.

    Parameters
    ----------
    path : str or Path
        Plain or gzipped CSV; costs are finite and not negative, in any unit.

    Returns
    -------
    dict
        Feature name -> cost. The names are not compared with the features of data.

    Raises
    ------
    DataError
        The file is missing or has another header, a feature is blank or repeated, or a cost is not a finite number of
        at least 0.

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
        cost = dialect.number(text)
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
        The file is missing or has another header, a feature is blank or repeated, or a group is blank.

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
    """Yield feature, cell and place of each row of a file with the header ``feature,column``."""
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
