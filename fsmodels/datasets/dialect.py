"""Options for reading a file, the decimal mark of its numbers, and names of its rows and columns in messages.

Only a file whose columns are not separated by commas is searched for a decimal comma. A column of numbers determines
the mark if one of its numbers has a single reading (0,5 or 1,2345). If all have two (1,234 is 1.234 or 1234), or two
columns have different marks, the file is rejected. A mark between thousands must be given.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from fsmodels.checks import whole
from fsmodels.errors import DataError, ParameterError
from fsmodels.text import short

SAFE = re.compile(r"[^\s\"'\\$`!&|;<>()*?\[\]{}#~]+")  # no special character of a shell
SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
THOUSANDS = (".", ",", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009")  # narrow and other spaces among them
# Words for a missing value.
BLANKS = {"na", "n/a", "n.a.", "k.a.", "#n/a", "<na>", "nan", "none", "null", "missing", "?", "-", "."}
LAST_LINE = 1_000_000
AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
LOOSE = re.compile(r"[\d.,eE+-]+")

Columns = Sequence[tuple[str, Sequence[str]]]  # names and cells
Marks = tuple[str, str]  # decimal mark, mark between thousands or ""


def quoted(name: object) -> str:
    """Return a name in double quotes."""
    return f'"{name}"'


def word(text: object) -> str:
    """Return an argument of a command, quoted if necessary; in double quotes if these suffice."""
    argument = str(text)
    if SAFE.fullmatch(argument):
        return argument
    double = '"' not in argument and (os.name == "nt" or not re.search(r"[$`\\!]", argument))
    return quoted(argument) if double else shlex.quote(argument)


def options(given: Mapping[str, Any]) -> str:
    """Return options for both interfaces: ``--drop a --drop b (Python: drop=["a", "b"])``."""
    values = {name: [value] if isinstance(value, str | int) else value for name, value in given.items()}
    words = [f"--{name} {'tab' if v == chr(9) else word(v)}" for name in values for v in values[name]]
    return f"{' '.join(words)} (Python: {in_python(given)})"


def in_python(given: Mapping[str, Any]) -> str:
    """Return options as arguments in Python: ``drop=["a", "b"]``."""
    return ", ".join(f"{name.replace('-', '_')}={json.dumps(v, ensure_ascii=False)}" for name, v in given.items())


@dataclass(frozen=True)
class Dialect:
    r"""Options for reading a file; the reader determines those that are None.

    ``sep``: between columns. ``decimal``, ``thousands``: marks in numbers, ``""`` for no mark between thousands.
    ``encoding``: of a text file, by Python's name. ``sheet``: of a workbook. ``header``: line or row with the names of
    the columns, counted from 1; the lines above it are not read.

    Raises ParameterError: a value that is not allowed.

    >>> Dialect(sep="tab"), Dialect(sep=";", decimal=",").words
    (Dialect(sep='\t'), '--sep ";" --decimal , (Python: sep=";", decimal=",")')
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header: int | None = None

    def __post_init__(self) -> None:
        if self.header is not None:
            whole("header", self.header, 1, LAST_LINE, "it is the line with the names of the columns, counted from 1")
        for part in fields(self)[:-1]:
            given = getattr(self, part.name)
            if given is not None and not isinstance(given, str):
                raise ParameterError(f"{part.name} got {type(given).__name__}: give text.")
        if self.sep is not None:
            sep = SEPARATOR_NAMES.get(self.sep.lower(), self.sep)
            object.__setattr__(self, "sep", sep)
            if len(sep) != 1 or sep.isalnum() or sep in "\"'\r\n.+-_":
                raise _wrong("sep", self.sep, "one of , ; | or tab")
        if self.decimal not in (None, ".", ","):
            raise _wrong("decimal", self.decimal, '"." or ","')
        point = self.thousands == "." and self.decimal != ","
        if self.thousands is not None and (point or self.thousands not in ("", *THOUSANDS)):
            raise _wrong("thousands", self.thousands, '"," or a space, or "." together with --decimal ,')
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f'--decimal and --thousands are both "{self.decimal}": give two marks.')
        try:
            "".encode(self.encoding or "utf-8")
        except (LookupError, ValueError):
            raise _wrong("encoding", self.encoding, "utf-8, cp1252, latin-1, utf-16 or another of Python's") from None

    @property
    def given(self) -> dict[str, Any]:
        """The options that are given, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def words(self) -> str:
        """The options for the command line and for Python."""
        return options(self.given)

    def __repr__(self) -> str:
        return f"Dialect({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


def _wrong(name: str, value: object, allowed: str) -> ParameterError:
    return ParameterError(f'--{name} "{short(str(value))}" (Python: {name}=) is not allowed: give {allowed}.')


AUTO = Dialect()
PLAIN = Dialect(sep=",", decimal=".", thousands="", encoding="utf-8")


@dataclass(frozen=True)
class Origin:
    """Source of data.

    ``where``: its name in messages. ``path``, ``dialect``, ``lines``: of a file, the options with which it was read,
    and the line (or row of the sheet) where each row ends, the header first.
    ``headless``: a sentence for errors about missing columns, if the first line looks like a sample.
    """

    where: str
    path: Path | None = None
    dialect: Dialect = PLAIN
    lines: Sequence[int] = ()
    headless: str = ""

    def row(self, row: int) -> str:
        """Return the name of a row, counted from 0: ``"row 17, line 18"`` for a file, including blank lines."""
        if row + 1 < len(self.lines):
            return f"row {row + 1}, {'line' if self.dialect.sheet is None else 'sheet row'} {self.lines[row + 1]}"
        return f"row {row + 1}"

    def options(self, given: Mapping[str, Any]) -> str:
        """Return options for both interfaces, or for Python only if there is no file."""
        return in_python(given) if self.path is None else options(given)

    def leave_out(self, names: Sequence[str]) -> str:
        """Return the remedy that leaves columns out."""
        what = "the column" if len(names) == 1 else "the columns"
        if self.path is None and self is not FRAME:
            return f"leave {what} out of {self.where}"
        return f"leave {what} out with {self.options({'drop': list(names)})}"


FRAME, ARRAYS = Origin("the DataFrame"), Origin("X")
NEW = Origin("the new samples")  # a selection needs their columns, so that none can be left out


@cache
def _pattern(decimal: str, thousands: str = "") -> re.Pattern[str]:
    """Return the pattern of numbers; groups of thousands have three digits, and the first does not begin with 0."""
    d, t = re.escape(decimal), re.escape(thousands)
    grouped = rf"[1-9]\d{{0,2}}(?:{t}\d{{3}})+(?:{d}\d*)?|" if thousands else ""
    return re.compile(rf"[+-]?(?:{grouped}(?:\d+(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?)", re.ASCII)


def _values(cells: Sequence[str]) -> list[str]:
    """Return the cells that are not blank."""
    return [text for cell in cells if (text := cell.strip()) and text.lower() not in BLANKS]


def found_marks(columns: Columns, path: Path, like: Dialect | None = None) -> Marks:
    """Return the marks of a file; numbers with two readings are read as in ``like``.

    Raises DataError: numbers with two readings, or columns with different decimal marks.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name, cells in columns:
        values = _values(cells)
        marks = [mark for mark in ".," if all(map(_pattern(mark).fullmatch, values))]  # both for whole numbers
        if len(marks) == 1:
            marked = [value for value in values if marks[0] in value]
            clear = (value for value in marked if not AMBIGUOUS.fullmatch(value))
            found.setdefault(marks[0], []).append((name, next(clear, marked[0])))
        elif not marks and (ways := readings(values)):
            raise DataError(
                f'Column "{name}" of file "{path}" has a mark between thousands ("{max(values, key=len)}"): give '
                f"{', or '.join(way.words for way in ways)}, or leave the column out with {options({'drop': [name]})}."
            )
    if len(found) == 2:
        (a, points), (b, commas) = found["."][0], found[","][0]
        raise DataError(
            f'File "{path}" has "{points}" in column "{a}" and "{commas}" in column "{b}", so its columns have '
            "different decimal marks: use one in the file, leave columns out with --drop (Python: drop=), or give both "
            f"marks, such as {Dialect(decimal='.', thousands=',').words}."
        )
    for mark, pairs in found.items():
        name, cell = pairs[0]
        if any(not AMBIGUOUS.fullmatch(value) for _, value in pairs):
            return mark, ""
        if like is not None and mark in (like.decimal, like.thousands):
            return str(like.decimal), like.thousands or ""
        digits = cell.replace(mark, ".")
        grouped = Dialect(decimal="." if mark == "," else ",", thousands=mark)
        raise DataError(
            f'Column "{name}" of file "{path}" has "{cell}", which can be two numbers: give '
            f"{Dialect(decimal=mark).words} if it is {float(digits):.15g}, or {grouped.words} if it is "
            f"{float(digits.replace('.', '')):.15g}."
        )
    return ".", ""


def check_marks(columns: Columns, path: Path, marks: Marks) -> None:
    """Raise DataError for a cell that is a number in Python's notation, but not with the marks of the user."""
    for name, cells in columns:
        values = _values(cells)
        wrong = [value for value in values if not _pattern(*marks).fullmatch(value)]
        bad = next((value for value in wrong if _pattern(".").fullmatch(value)), None)
        if bad is not None and all(map(LOOSE.fullmatch, wrong)):
            raise DataError(
                f'Column "{name}" of file "{path}" has "{bad}", which is not a number with the decimal mark '
                f'"{marks[0]}": correct it, give other marks (Python: decimal=, thousands=), or leave the column out '
                f"with {options({'drop': [name]})}."
            )


def readings(cells: Sequence[str]) -> list[Dialect]:
    """Return the marks with which all cells are numbers; none if the decimal point is enough."""
    values = _values(cells)
    if all(map(_pattern(".").fullmatch, values)):
        return []
    there = ["", *(mark for mark in THOUSANDS if any(mark in value for value in values))]
    ways = [(decimal, mark) for mark in there for decimal in ".," if decimal != mark and (decimal, mark) != (".", "")]
    fits = [way for way in ways if all(map(_pattern(*way).fullmatch, values))]
    return [Dialect(decimal=decimal, thousands=mark or None) for decimal, mark in fits]


def plain(cells: Sequence[Any], marks: Marks) -> list[Any]:
    """Return cells, with numbers in Python's notation."""
    fits, (decimal, thousands) = _pattern(*marks).fullmatch, marks
    return [
        text.replace(thousands, "").replace(decimal, ".")
        if isinstance(cell, str) and fits(text := cell.strip())
        else cell
        for cell in cells
    ]


def number(text: str) -> float | None:
    """Return the number in a cell, NaN for a blank cell and None for text."""
    text = text.strip()
    if not text:
        return math.nan
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def is_missing(cell: object) -> bool:
    """Return True if a cell has no value."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))
