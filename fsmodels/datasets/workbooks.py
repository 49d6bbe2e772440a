"""Workbooks of Excel and Parquet files as tables, whose cells are what the file holds: numbers, truth values, text.

A cell of Excel is what is stored and not how it looks: 12.5% is 0.125, and a date is text, which no feature takes. A
formula counts as the value that the program that saved it has stored; without one the file is refused.
"""

from __future__ import annotations

import datetime
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsmodels.datasets.decimals import is_missing
from fsmodels.datasets.dialect import Dialect
from fsmodels.datasets.files import check_fits
from fsmodels.errors import DataError
from fsmodels.words import listed, suggestion
from solvers.shared_state import without_warnings

__all__ = ["Sheet", "read_parquet", "read_workbook"]

CELL, COLUMN = 100, 5000  # bytes of memory for a cell and for a column of a Parquet file
INSTALL = 'pip install "fsmodels[tables]"'


@dataclass
class Sheet:
    """Rows of cells, the header first, the row of the sheet of each, and the sheet's name."""

    rows: list[list[Any]]
    lines: list[int]
    name: str
    notes: list[str]


def _needs(what: str, package: str, path: Path) -> DataError:
    return DataError(
        f'File "{path}" is {what}, which needs {package}: {INSTALL}, or pip install {package}; or save it as CSV.'
    )


def read_workbook(path: Path, raw: bytes, asked: Dialect) -> Sheet:
    """Return the one sheet that has cells, or the one asked for. Raises DataError: none, several, no openpyxl."""
    try:
        import openpyxl
    except ImportError:
        raise _needs("a workbook of Excel", "openpyxl", path) from None
    with without_warnings(Warning):  # of styles and drop-down lists that it does not know
        try:
            book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            if asked.sheet is not None and asked.sheet not in sheets:
                raise DataError(
                    f'There is no sheet "{asked.sheet}" in "{path}". {suggestion(asked.sheet, sheets)}Its sheets are '
                    f"{listed(sheets)}: give one of them with --sheet (Python: sheet=)."
                )
            wanted = list(sheets) if asked.sheet is None else [asked.sheet]
            found = [one for one in (_cells(sheets[name], name) for name in wanted) if one.rows]
            book.close()
        except (OSError, KeyError, ValueError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f'Workbook "{path}" cannot be read ({error}): save it again as .xlsx or CSV.') from None
    if not found:
        raise DataError(f'Workbook "{path}" has no cell with a value: give a sheet with a header and one sample a row.')
    if len(found) > 1:
        names = [one.name for one in found]
        raise DataError(
            f'Workbook "{path}" has {len(found)} sheets with cells ({listed(names)}): give one of them, '
            + ", or ".join(Dialect(sheet=name).words for name in names[:3])
            + "."
        )
    _refuse_formulas(path, raw, found[0])
    return found[0]


def _cells(sheet: Any, name: str) -> Sheet:
    """Return the rows of a sheet that have cells, without the columns that have none."""
    found = Sheet([], [], name, [])
    percent: set[int] = set()
    for line, row in enumerate(sheet.iter_rows(), start=1):
        values = [cell.value for cell in row]
        if any(value is not None and value != "" for value in values):
            found.rows.append([_plain(value) for value in values])
            found.lines.append(line)
            percent |= {
                j for j, cell in enumerate(row) if isinstance(cell.value, float | int) and "%" in cell.number_format
            }
    width = max((len(row) for row in found.rows), default=0)
    for row in found.rows:
        row.extend([""] * (width - len(row)))
    full = [j for j in range(width) if any(row[j] != "" for row in found.rows)]
    found.rows = [[row[j] for j in full] for row in found.rows]
    names = [str(found.rows[0][k]) for k, j in enumerate(full) if j in percent]
    if names:
        found.notes.append(f"percents of {listed(names, 5)} as shares (12.5% is 0.125)")
    return found


def _plain(value: Any) -> Any:
    """Return a cell as a number, a truth value or text; nothing is ""."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return value if isinstance(value, bool | int | float) else str(value)


def _refuse_formulas(path: Path, raw: bytes, found: Sheet) -> None:
    """Refuse a formula without a stored value, which looks blank."""
    if not any(cell == "" for row in found.rows for cell in row):
        return
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True)
    known = set(found.lines)
    try:
        stored = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        pairs = zip(book[found.name].iter_rows(), stored[found.name].iter_rows(), strict=False)
        for line, (row, values) in enumerate(pairs, start=1):
            for cell, value in zip(row, values, strict=False) if line in known else ():
                if value.value is None and isinstance(cell.value, str) and cell.value.startswith("="):
                    raise DataError(
                        f'Cell {cell.coordinate} of sheet "{found.name}" in "{path}" is a formula without a stored '
                        f"value ({cell.value[:40]}): open the file in Excel or LibreOffice and save it."
                    )
        stored.close()
    finally:
        book.close()


def read_parquet(path: Path) -> Sheet:
    """Return the columns of a Parquet file; an index with a name is a column.

    Raises DataError: no pyarrow; the file cannot be read, or its cells do not fit into memory.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise _needs("a Parquet file", "pyarrow", path) from None
    try:
        facts = pq.read_metadata(path)
        check_fits(path, (CELL * facts.num_rows + COLUMN) * facts.num_columns)
        frame = pq.read_table(path).to_pandas()
    except DataError:
        raise
    except Exception as error:  # of its own kinds
        raise DataError(f'Parquet file "{path}" cannot be read ({error}): write it again.') from None
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    cells = frame.to_numpy(dtype=object)  # one block: a million columns are too many to take one by one
    rows = [[_plain(_native(cell)) for cell in row] for row in cells]
    return Sheet([[str(name) for name in frame.columns], *rows], [], "", [])


def _native(cell: Any) -> Any:
    """Return a cell of numpy or pandas as Python has it; None where it is missing."""
    if is_missing(cell):
        return None
    if hasattr(cell, "to_pydatetime"):
        return cell.to_pydatetime()
    return cell.item() if hasattr(cell, "item") else cell
