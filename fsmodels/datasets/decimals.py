"""Marks in numbers: the decimal mark, the mark between thousands, and cells as Python's ``float`` reads them.

Only a file whose columns are not separated by commas is searched for a decimal comma. A column of numbers with a mark
decides if one of its numbers has a single reading (0,5 or 1,2345). Where each has two (1,234 is 1.234 or 1234), or two
columns decide differently, the file is refused. A mark between thousands must be given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from fsmodels.datasets.dialect import THOUSANDS, Dialect
from fsmodels.datasets.shell import word
from fsmodels.errors import DataError

__all__ = ["BLANKS", "Columns", "check_marks", "found_marks", "is_missing", "number", "plain", "readings"]

# Words for a missing value.
BLANKS = {"na", "n/a", "#n/a", "<na>", "nan", "none", "null", "missing", "?", "-", "."}
AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
LOOSE = re.compile(r"[\d.,eE+-]+")

Columns = Sequence[tuple[str, Sequence[str]]]  # names and cells
Marks = tuple[str, str]  # decimal mark, mark between thousands or ""


@cache
def _pattern(decimal: str, thousands: str = "") -> re.Pattern[str]:
    """Return the pattern of numbers, where groups of thousands have three digits and do not begin with 0."""
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
                f"{', or '.join(way.words for way in ways)}, or {_without(name)}."
            )
    if len(found) == 2:
        (a, points), (b, commas) = found["."][0], found[","][0]
        raise DataError(
            f'File "{path}" has "{points}" in column "{a}" and "{commas}" in column "{b}", so that its columns have '
            "different decimal marks: write them with one, leave columns out with --drop (Python: drop=), or give both "
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
    """Refuse a cell that Python reads as a number and that is none with the marks that the user gave."""
    for name, cells in columns:
        values = _values(cells)
        wrong = [value for value in values if not _pattern(*marks).fullmatch(value)]
        bad = next((value for value in wrong if _pattern(".").fullmatch(value)), None)
        if bad is not None and all(map(LOOSE.fullmatch, wrong)):
            raise DataError(
                f'Column "{name}" of file "{path}" has "{bad}", which is not a number with the decimal mark '
                f'"{marks[0]}": correct it, give other marks (Python: decimal=, thousands=), or {_without(name)}.'
            )


def _without(name: str) -> str:
    return f'leave the column out with --drop {word(name)} (Python: drop=["{name}"])'


def readings(cells: Sequence[str]) -> list[Dialect]:
    """Return the marks other than the decimal point with which all cells are numbers."""
    values = _values(cells)
    if all(map(_pattern(".").fullmatch, values)):
        return []
    there = ["", *(mark for mark in THOUSANDS if any(mark in value for value in values))]
    ways = [(decimal, mark) for mark in there for decimal in ".," if decimal != mark and (decimal, mark) != (".", "")]
    fits = [way for way in ways if all(map(_pattern(*way).fullmatch, values))]
    return [Dialect(decimal=decimal, thousands=mark or None) for decimal, mark in fits]


def plain(cells: Sequence[Any], marks: Marks) -> list[Any]:
    """Return cells with the numbers among them as Python writes them."""
    fits, (decimal, thousands) = _pattern(*marks).fullmatch, marks
    return [
        text.replace(thousands, "").replace(decimal, ".")
        if isinstance(cell, str) and fits(text := cell.strip())
        else cell
        for cell in cells
    ]


def number(text: str) -> float | None:
    """Return the number in a cell, NaN for a blank one and None for text."""
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
