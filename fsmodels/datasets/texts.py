"""What to do with a column of text: numbers that it nearly is, days of dates, 0/1 features of categories."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from fsmodels.datasets.categories import MOST_LEVELS, levels_of
from fsmodels.datasets.decimals import BLANKS
from fsmodels.datasets.origin import ARRAYS, Origin
from fsmodels.datasets.shell import beside, python_line
from fsmodels.words import short

__all__ = ["remedies"]

DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
TIMES = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f", " %I:%M %p")
AROUND = re.compile(r"([^\d+.,-]{0,8})([+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?)([^\d.,]{0,12})")


def remedies(name: str, texts: Sequence[str], origin: Origin) -> tuple[str, str]:
    """Return what else may be done with a column of text than to leave it out, and a line to type, if there is one.

    ``texts``: its cells that are not blank.
    """
    told = list(dict.fromkeys(text.strip() for text in texts if text.strip() and text.strip().lower() not in BLANKS))
    if formats := _dates(told):
        return _days(name, told, formats, origin)
    if mark := _mark(told):
        which = f't[{name!r}] = t[{name!r}].str.replace({mark!r}, "").str.strip()'.replace('"', "'")
        return f'take "{mark}" off its numbers', _line(which, "-numbers", origin)
    if origin is not ARRAYS and 2 <= len(levels_of(told)) <= min(MOST_LEVELS, max(2, len(texts) // 2)):
        return f"make 0/1 features of it with {origin.option('one-hot', [name])}", ""
    return "", ""


def _line(step: str, what: str, origin: Origin) -> str:
    """Return the line that changes a column, of a frame ``t`` or of a file."""
    if origin.path is None:
        return step.replace("t[", "df[")
    read = f"pd.read_csv({str(origin.path)!r}, sep={origin.dialect.sep!r}, dtype=str, keep_default_na=False"
    if origin.dialect.encoding not in ("utf-8", "utf-8-sig"):
        read += f", encoding={origin.dialect.encoding!r}"
    if origin.dialect.sheet == "":
        read = f"pd.read_parquet({str(origin.path)!r}"
    elif origin.dialect.sheet is not None:
        read = f"pd.read_excel({str(origin.path)!r}, sheet_name={origin.dialect.sheet!r}, dtype=str"
    return python_line(
        f"import pandas as pd; t = {read}); {step}; t.to_csv({beside(origin.path, what)!r}, index=False)"
    )


def _dates(told: Sequence[str]) -> list[str]:
    """Return the formats of dates that all cells have."""
    found = []
    for format_ in [day + time for day in DAYS for time in TIMES]:
        if told and all(_day(text, format_) is not None for text in told):
            found.append(format_)
    return found


def _day(text: str, format_: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.strptime(text, format_)
    except ValueError:
        return None


def _days(name: str, told: Sequence[str], formats: list[str], origin: Origin) -> tuple[str, str]:
    first = min(day for text in told if (day := _day(text, formats[0])) is not None)
    stored = origin.path is not None and origin.dialect.sheet is not None  # dates of their own kind
    style = "" if stored else f", format={formats[0]!r}"
    read = f"pd.to_datetime(t[{name!r}]{style}, errors='coerce')"
    step = f"t[{name!r}] = ({read} - pd.Timestamp('{first:%Y-%m-%d}')) / pd.Timedelta(days=1)"
    other = ""
    if len(formats) > 1:
        one, two = (f"{_day(told[0], format_):%d %B %Y}" for format_ in formats[:2])
        other = f' (if "{short(told[0])}" is {one}; if it is {two}, with format={formats[1]!r})'
    return f"make days since {first:%Y-%m-%d} of its dates{other}", _line(step, "-days", origin)


def _mark(told: Sequence[str]) -> str:
    """Return what stands beside the number in all cells, such as "%" or "kg"."""
    marks = set()
    for text in told:
        found = AROUND.fullmatch(text)
        if found is None or bool(found[1].strip()) == bool(found[3].strip()):
            return ""
        marks.add((found[1] + found[3]).strip())
    return marks.pop() if len(marks) == 1 else ""
