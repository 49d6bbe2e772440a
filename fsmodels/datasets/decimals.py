"""Marks of numbers: decimal mark, mark between thousands, and cells as Python's ``float`` reads them.

A convention is a decimal mark and a mark between thousands, or none. It fits a column if every cell of it that looks
like a number is one under it, where groups of thousands have three digits and do not begin with 0; a column that none
fits, such as dates, is text. Of a file those conventions are left that fit every other column:

- all of them say the same numbers, and these are read;
- two numbers could be meant (1,234 is 1.234 or 1234): refused, with the words for each. Only where columns are
  separated by commas a point is the decimal mark without further evidence, as everywhere in CSV;
- none is left: the columns do not agree; refused, with the command that writes them alike.

Marks between thousands are taken unasked only where some column is no numbers without them (1.234.567 or 1.234,5); else
decimals with three digits would become thousands by what another column shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from fsmodels.datasets.dialect import THOUSANDS, Dialect
from fsmodels.datasets.shell import beside, python_line, quoted
from fsmodels.errors import DataError
from fsmodels.words import listed

__all__ = ["BLANKS", "POINT", "Columns", "Convention", "comma_number", "convention", "is_missing", "number", "plain"]

# What people write for a missing value.
BLANKS = {"na", "n/a", "#n/a", "<na>", "nan", "none", "null", "missing", "?", "-", "."}
SPACES = "".join(mark for mark in THOUSANDS if mark not in ".,")
LOOSE = re.compile(rf"[+-]?[\d.,{SPACES}]*\d[\d.,{SPACES}]*(?:[eE][+-]?\d+)?")
MARKED = re.compile(rf"[.,{SPACES}]")

Columns = Sequence[tuple[str, Sequence[str]]]  # names and cells


@dataclass(frozen=True)
class Convention:
    """A decimal mark, and a mark between thousands or none."""

    decimal: str
    thousands: str = ""

    def number(self, cell: str) -> float | None:
        """Return the number that a stripped cell is, None where it is none."""
        return float(self.plain(cell)) if _pattern(self).fullmatch(cell) else None

    def plain(self, cell: str) -> str:
        """Write a number as Python does."""
        return (cell.replace(self.thousands, "") if self.thousands else cell).replace(self.decimal, ".")

    @property
    def words(self) -> str:
        """The words that say so."""
        return Dialect(decimal=self.decimal, thousands=self.thousands or None).words


POINT, COMMA = Convention("."), Convention(",")
GROUPED = [Convention(decimal, mark) for mark in THOUSANDS for decimal in ".," if decimal != mark]
ALL = [POINT, COMMA, *GROUPED]


@cache
def _pattern(way: Convention) -> re.Pattern[str]:
    d, t = re.escape(way.decimal), re.escape(way.thousands)
    grouped = rf"[1-9]\d{{0,2}}(?:{t}\d{{3}})+(?:{d}\d*)?|" if way.thousands else ""
    return re.compile(rf"[+-]?(?:{grouped}(?:\d+(?:{d}\d*)?|{d}\d+)(?:[eE][+-]?\d+)?)", re.ASCII)


def comma_number(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma, or without a mark."""
    return COMMA.number(cell.strip()) is not None


@dataclass
class _Marked:
    """A column of numbers with marks: its name, those cells, the marks, and the conventions that fit, at least one."""

    name: str
    cells: list[str]
    marks: set[str]
    fits: list[Convention]


def convention(columns: Columns, path: Path, sep: str, asked: Dialect, like: Dialect | None = None) -> Convention:
    """Return the convention of a file; between two that fit, that of ``like``.

    Raises DataError: two that differ, or none that fits, or not the one asked.
    """
    if asked.decimal is not None or asked.thousands is not None:
        way = Convention(asked.decimal or ".", asked.thousands or "")
        _check(columns, path, way)
        return way
    if sep == "," and not any(_marked(*column) for column in columns if not _floats(column[1])):
        return POINT
    found = [one for column in columns if (one := _marked(*column)) is not None]
    there = set().union(*(one.marks for one in found))
    for one in found:  # a mark that is in other columns only
        one.fits += [
            way for way in GROUPED if way.thousands in there - one.marks and Convention(way.decimal) in one.fits
        ]
    fitting = [way for way in ALL if all(way in one.fits for one in found)]
    if not found or (sep == "," and POINT in fitting):
        return POINT
    for one in found if len(fitting) > 1 else ():
        for cell in one.cells:
            numbers = {way.number(cell): way for way in reversed(fitting)}
            if len(numbers) > 1 and like is not None and Convention(str(like.decimal), like.thousands or "") in fitting:
                return Convention(str(like.decimal), like.thousands or "")
            if len(numbers) > 1:
                options = ", or ".join(f"{way.words} if it is {x:.15g}" for x, way in reversed(numbers.items()))
                raise DataError(
                    f'Column "{one.name}" of file "{path}" has "{cell}", which can be two numbers: give {options}.'
                )
    if fitting and (fitting[0] in (POINT, COMMA) or any(not {POINT, COMMA} & {*one.fits} for one in found)):
        return fitting[0]
    raise _apart(found, fitting, path, sep)


def _marked(name: str, cells: Sequence[str]) -> _Marked | None:
    """Return a column if it bears on the question."""
    told = [text for cell in cells if (text := cell.strip()) and text.lower() not in BLANKS]
    numbers = [text for text in told if LOOSE.fullmatch(text)]
    marked = list(dict.fromkeys(text for text in numbers if MARKED.search(text)))
    if not marked or 2 * len(numbers) < len(told):
        return None
    there = set().union(*marked)  # a mark between thousands that is nowhere says nothing
    ways = [way for way in ALL if not way.thousands or way.thousands in there]
    fits = [way for way in ways if all(map(_pattern(way).fullmatch, marked))]
    return _Marked(name, marked, there, fits) if fits else None


def _floats(cells: Sequence[str]) -> bool:
    try:
        for cell in cells:
            float(cell or "0")
    except ValueError:
        return False
    return True


def _check(columns: Columns, path: Path, way: Convention) -> None:
    """Refuse what Python would take for a number, and the convention that was asked for does not."""
    for name, cells in columns if way != POINT else ():
        numbers = [text for cell in cells if LOOSE.fullmatch(text := cell.strip())]
        bad = next((text for text in numbers if way.number(text) is None and _is_float(text)), None)
        if bad is None or 2 * len(numbers) < sum(bool(cell.strip()) for cell in cells):
            continue
        others = [other for other in ALL if all(other.number(text) is not None for text in numbers)]
        remedy = f"give {others[0].words}, " if others else ""
        between = f' and "{way.thousands}" stands between thousands' if way.thousands else ""
        raise DataError(
            f'Column "{name}" of file "{path}" has "{bad}", which is no number where "{way.decimal}" is the decimal '
            f'mark{between}: {remedy}write it so, or leave the column out with --drop (Python: drop=["{name}"]).'
        )


def _is_float(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _apart(columns: Sequence[_Marked], fitting: Sequence[Convention], path: Path, sep: str) -> DataError:
    """Build the error for columns that no convention fits, or that seem to have one each."""
    ways: dict[Convention, list[_Marked]] = {}
    for one in columns:
        ways.setdefault(one.fits[0], []).append(one)
    shown = [f'"{parts[0].cells[0]}" in {quoted(parts[0].name)}' for parts in ways.values()]
    steps = []
    for way, parts in ways.items():
        without = f".str.replace({way.thousands!r}, '')" if way.thousands else ""
        points = f".str.replace({way.decimal!r}, '.')" if way.decimal != "." else ""
        if without or points:
            names = [part.name for part in parts]
            steps.append(f"t[{names!r}] = t[{names!r}].apply(lambda c: c{without}{points})")
    line = python_line(
        f"import pandas as pd; t = pd.read_csv({str(path)!r}, sep={sep!r}, dtype=str, keep_default_na=False); "
        f"{'; '.join(steps)}; t.to_csv({beside(path, '-points')!r}, index=False)"
    )
    either = "".join(
        f' If "{cell}" is {way.number(cell):.15g}, give {way.words}; if not:'
        for way in fitting[:1]
        for cell in [next(cell for one in columns for cell in one.cells if way.thousands in cell)]
    )
    return DataError(
        f'The columns of file "{path}" write numbers in several ways ({listed(shown)}).{either or " What follows"} '
        f"{'this' if either else ''} writes each column with points as it is by itself: {line}".replace("  ", " ")
    )


def number(text: str) -> float | None:
    """Return the number that a cell says, NaN for a blank one and None for text."""
    text = text.strip()
    if not text:
        return math.nan
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def is_missing(cell: object) -> bool:
    """Tell whether a cell holds nothing."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and math.isnan(cell))


def plain(cells: Sequence[Any], way: Convention) -> list[Any]:
    """Return cells with the numbers among them as Python writes them."""
    fits = _pattern(way).fullmatch
    return [way.plain(text) if isinstance(cell, str) and fits(text := cell.strip()) else cell for cell in cells]
