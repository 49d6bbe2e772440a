"""Tables from files: a CSV file of any dialect, a workbook of Excel or a Parquet file as columns of cells.

Cells of text are as written, but for numbers, which are written as Python reads them (``decimals``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.datasets import decimals, formats, records
from fsmodels.datasets.dialect import AUTO, SEPARATORS, Dialect
from fsmodels.datasets.encodings import decoded, packed
from fsmodels.datasets.files import TABLES, as_path, check_file, check_fits
from fsmodels.datasets.origin import Origin
from fsmodels.datasets.shell import beside, python_line
from fsmodels.datasets.workbooks import read_parquet, read_workbook
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import listed, short, suggestion

__all__ = ["named", "read_table", "without"]

LOOKED_AT = 100  # rows
SHORT_CELL, TEXT_CELL = 40, 90  # bytes of memory for a cell of one character, which Python shares, and of several


def read_table(
    path: str | Path, asked: Dialect = AUTO, unused: Sequence[str] = (), like: Dialect | None = None
) -> tuple[pd.DataFrame, Origin]:
    """Read a table from a file.

    ``asked``: what the user says of it; the rest is found, and ``origin.notes`` tells of what is not as in plain CSV.
    ``unused``: columns that are not looked at for the marks of numbers. ``like``: how the file was read that this one
    goes with, which decides where numbers can be read in several ways.

    Returns ``table``: cells, whose columns are the header's names; ``origin``: the file, to name rows in messages.
    Raises DataError: no such file, unreadable, empty, header only, ragged rows, a column without a name or two of one
    name, no way or several ways to read it, a format that is not read.
    """
    path = as_path(path)
    check_file(path, "CSV or Excel", lambda name: name.removesuffix(".gz").endswith(TABLES))
    raw = packed(path)
    what = formats.kind(path, raw)
    if what == formats.TEXT:
        text, encoding = decoded(raw, path, asked)
        if asked.sheet is not None:
            raise ParameterError(f'--sheet is a sheet of a workbook, and "{path}" is text: leave it out.')
        many = max(text.count(sep) for sep in (SEPARATORS if asked.sep is None else [asked.sep]))
        check_fits(path, many * (TEXT_CELL if len(text) > 3 * many else SHORT_CELL))
        found = records.split(text, path, asked)
        rows: list[list[Any]] = list(found.rows)
        dialect, lines, notes = Dialect(sep=found.sep, encoding=encoding), found.lines, []
    else:
        _refuse_words_of_text(asked, path, what)
        sheet = read_workbook(path, raw, asked) if what == formats.EXCEL else read_parquet(path)
        rows, lines, notes = sheet.rows, sheet.lines, list(sheet.notes)
        dialect = Dialect(sheet=sheet.name)
    if len(rows) == 1:
        raise DataError(f'File "{path}" has a header and no rows: add one row per sample.')
    header, columns = _named([str(name).strip() for name in rows[0]], list(zip(*rows[1:], strict=True)))
    skipped = set(named(unused, header))
    texts = [
        (name, cells if dialect.sep else [cell for cell in cells if isinstance(cell, str)])
        for name, cells in zip(header, columns, strict=True)
        if name not in skipped
    ]
    way = decimals.convention(texts, path, dialect.sep or "", asked, like)
    if way != decimals.POINT:
        columns = [decimals.plain(cells, way) for cells in columns]
    dialect = Dialect(dialect.sep, way.decimal, way.thousands, dialect.encoding, dialect.sheet)
    headless = _headless(header, columns, path, dialect)
    _check_header(header, path, headless)
    cells = np.array(columns, dtype=object).T  # one block, which pandas handles fast for any number of columns
    table = pd.DataFrame(cells, columns=header, dtype=object)
    notes = _notes(dialect, asked, path, notes)
    return table, Origin(f'file "{path}"', path, dialect, lines, notes, headless)


def named(words: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return columns that words name: a word that is no column may be several, with commas between.

    >>> named(["id,name", "b, in mg"], ["id", "name", "b, in mg"])
    ['id', 'name', 'b, in mg']
    """
    found: dict[str, None] = {}
    for word in words:
        parts = [part.strip() for part in word.split(",") if part.strip()]
        whole = word in columns or len(parts) < 2
        found |= dict.fromkeys([word] if whole else _joined(parts, columns))
    return list(found)


def _joined(parts: list[str], columns: Collection[str]) -> list[str]:
    """Return names that parts make up, the longest first where several parts are one name."""
    found, k = [], 0
    while k < len(parts):
        end = next((e for e in range(len(parts), k, -1) if ",".join(parts[k:e]) in columns), None)
        end = end or next((e for e in range(len(parts), k, -1) if ", ".join(parts[k:e]) in columns), k + 1)
        name = ",".join(parts[k:end])
        found.append(name if name in columns or end == k + 1 else ", ".join(parts[k:end]))
        k = end
    return found


def without(table: pd.DataFrame, drop: Sequence[str], target: str, origin: Origin) -> pd.DataFrame:
    """Leave out the columns in ``drop``; each must be there, and none is the target."""
    names = named(drop, set(table.columns))
    for name in names:
        if name not in table.columns:
            raise DataError(
                f'There is no column "{name}" to drop in {origin.where}. {suggestion(name, table.columns)}'
                f"Its columns are {listed(table.columns)}.{origin.headless}"
            )
        if name == target:
            raise DataError(
                f'Column "{name}" holds the labels and cannot be dropped: '
                "name another column of labels with --target (Python: target=), or do not drop it."
            )
    return table.drop(columns=names)


def _named(header: list[str], columns: list[Sequence[Any]]) -> tuple[list[str], list[Sequence[Any]]]:
    """Leave out columns without a name that hold nothing, as a mark at the end of each line makes them."""
    kept = [j for j, name in enumerate(header) if name or any(str(cell).strip() for cell in columns[j])]
    if len(kept) == len(header) or not kept:
        return header, columns
    return [header[j] for j in kept], [columns[j] for j in kept]


def _check_header(header: list[str], path: Path, headless: str) -> None:
    for name, count in Counter(header).items():
        if count > 1 and name:
            places = [str(k + 1) for k, other in enumerate(header) if other == name]
            raise DataError(
                f'File "{path}" has {len(places)} columns named "{name}" (columns {", ".join(places)}): '
                f"give each column a name of its own in line 1.{headless}"
            )
    if "" in header:
        raise DataError(
            f'Column {header.index("") + 1} of file "{path}" has no name: name it in line 1. '
            f"If it is the row index that pandas wrote, write the file again with index=False.{headless}"
        )


def _headless(header: list[str], columns: list[Sequence[Any]], path: Path, dialect: Dialect) -> str:
    """Say that the first line looks like a sample, where it does: a number wherever the column has numbers."""
    words_first = sorted(range(len(header)), key=lambda j: _is_number(header[j]))
    numeric = (j for j in words_first if all(_is_number(cell) for cell in columns[j][:LOOKED_AT]))
    if (first := next(numeric, None)) is None or not _is_number(header[first]):
        return ""
    target = beside(path, "-named")
    read = f"read_excel({str(path)!r}, sheet_name={dialect.sheet!r}, "
    if dialect.sep:
        words = f"sep={dialect.sep!r}, encoding={dialect.encoding!r}, keep_default_na=False"
        read = f"read_csv({str(path)!r}, {words}, "
    line = python_line(
        f"import pandas as pd; t = pd.{read}header=None, dtype=str); "
        f"t.columns = [*('x%d' % k for k in range(1, t.shape[1])), 'target']; t.to_csv({target!r}, index=False)"
    )
    return (
        f' The first line ("{short(", ".join(header))}") looks like a sample, and the file like one without a header. '
        f"If so, this names the columns x1, x2, ... and the last one target: {line}"
    )


def _is_number(cell: object) -> bool:
    if isinstance(cell, bool | int | float):
        return True
    try:
        float(str(cell).strip().replace(",", ".") or "0")
    except ValueError:
        return False
    return True


def _refuse_words_of_text(asked: Dialect, path: Path, kind: str) -> None:
    """Refuse what is said of a file in which it means nothing."""
    what = "a workbook" if kind == formats.EXCEL else "a Parquet file"
    for name in ("sep", "encoding", *(() if kind == formats.EXCEL else ("sheet",))):
        if name in asked.told:
            raise ParameterError(
                f'--{name} (Python: {name}=) is for other files, and "{path}" is {what}: leave it out.'
            )


def _notes(dialect: Dialect, asked: Dialect, path: Path, notes: list[str]) -> list[str]:
    """Tell in a line what was found that is not as in plain CSV, and was not asked for."""
    said: dict[str, str] = {}
    if asked.sep is None and dialect.sep not in (None, ","):
        said["sep"] = (
            f"{records.SEPARATORS[str(dialect.sep)]} between columns" if dialect.sep in records.SEPARATORS else ""
        )
    if asked.decimal is None and dialect.decimal == ",":
        said["decimal"] = "a decimal comma"
    if asked.thousands is None and dialect.thousands:
        said["thousands"] = f'"{dialect.thousands}" between thousands'
        said.setdefault("decimal", "a decimal point")
    if asked.encoding is None and dialect.encoding == "utf-8-sig":
        said["encoding"] = "a byte-order mark"
    if not said and not notes:
        return []
    what = listed([*said.values(), *notes])
    words = Dialect(**{name: getattr(dialect, name) for name in said}).words if said else ""
    return [f'File "{path}" is read with {what}' + (f"; to say so yourself, {words}." if words else ".")]
