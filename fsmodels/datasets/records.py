"""Text to rows of cells: which mark stands between them, by what is the same in every row.

Where the first line has two cells or more under one mark alone, it is that one. Under several, those under which every
row has as many cells are left; of two of these one falls out if some column of it holds the other's mark in every row,
and no number with a decimal comma. What is still open is refused, with the words that decide it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from fsmodels.datasets.decimals import comma_number
from fsmodels.datasets.dialect import SEPARATORS, Dialect
from fsmodels.datasets.shell import beside, python_line
from fsmodels.errors import DataError
from fsmodels.words import listed, short
from solvers.shared_state import process_wide

__all__ = ["Records", "split"]

LONGEST_CELL = 2**31 - 1  # characters
END = "\0the end"  # a last line of our own, which an open quote swallows
LIBSVM = re.compile(r"\S+(\s+\d+:\S+)+")
SEP_LINE = re.compile(r'"?sep=(.)"?[;,|\t]*', re.IGNORECASE)  # the first line by which Excel is told


@dataclass
class Records:
    """Rows of cells, the header first, and the line on which each ends."""

    rows: list[list[str]]
    lines: list[int]
    sep: str
    open_quote: int = 0  # the line of the record with a quote that is never closed

    @property
    def width(self) -> int:
        """Cells of the header."""
        return len(self.rows[0]) if self.rows else 0

    @property
    def even(self) -> bool:
        """Whether every row has as many cells as the header."""
        return not self.open_quote and all(len(row) == self.width for row in self.rows)


def split(text: str, path: Path, asked: Dialect) -> Records:
    """Return the rows of a text. Raises DataError: none, ragged ones, two ways to read them."""
    told = SEP_LINE.fullmatch(text[:40].partition("\n")[0].strip())
    sep = asked.sep or (told[1] if told else None)
    found = _read(text, sep) if sep else _by_look(text, path)
    if told:
        found.rows, found.lines = found.rows[1:], found.lines[1:]
    if not found.rows:
        raise DataError(f'File "{path}" is empty: give a CSV file with a header and one sample a row.')
    if not found.even:
        raise _ragged(found, path)
    if found.width == 1:
        _refuse_one_column(found, path)
    return found


def _refuse_one_column(found: Records, path: Path) -> None:
    """Refuse what has several columns that no mark separates."""
    header, many = found.rows[0][0], len(found.rows[0][0].split())
    if LIBSVM.fullmatch(header.strip()):
        raise _libsvm(path, header)
    if many > 1 and all(len(row[0].split()) == many for row in found.rows):
        line = python_line(
            f"import pandas as pd; pd.read_csv({str(path)!r}, sep=' +', engine='python', skipinitialspace=True)"
            f".to_csv({beside(path, '-table')!r}, index=False)"
        )
        raise DataError(
            f'File "{path}" separates its {many} columns by spaces ("{short(header.strip())}"). To make a CSV file of '
            f"it: {line}"
        )


def _read(text: str, sep: str, most: int | None = None) -> Records:
    """Return the rows under a mark, at most so many; blank lines are none."""
    found = Records([], [], sep)
    with _long_cells():
        lines = chain(io.StringIO(text, newline=""), [END])
        reader = csv.reader(lines, delimiter=sep, skipinitialspace=sep != " ")
        start = 0
        for cells in reader:
            if cells == [END]:
                return found
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                found.rows.append(cells)
                found.lines.append(reader.line_num)
                if len(found.rows) == most:
                    return found
            last, start = start, reader.line_num
        found.open_quote = last + 1
    return found


@process_wide
@contextmanager
def _long_cells() -> Iterator[None]:
    """Let cells have any length; the limit is one of the process, and 131072 by default."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _by_look(text: str, path: Path) -> Records:
    """Return the rows under the mark that the text shows."""
    able = [sep for sep in SEPARATORS if _read(text, sep, most=1).width > 1]
    if len(able) < 2:
        return _read(text, able[0] if able else ",")
    ways = [_read(text, sep) for sep in able]
    even = [way for way in ways if way.even] or [max(ways, key=_agreement)]
    if len(even) > 1:
        even = [way for way in even if not any(_holds(way, other.sep) for other in even if other is not way)]
    if len(even) == 1:
        return even[0]
    words = ", or ".join(Dialect(sep=way.sep).words for way in ways if way.even)
    raise DataError(
        f'The columns of file "{path}" can be separated by {" or by ".join(SEPARATORS[way.sep] for way in ways)} '
        f'("{short(ways[0].rows[0][0])}"): give {words}.'
    )


def _agreement(way: Records) -> tuple[float, int]:
    """Return the share of the rows with the header's number of cells, and that number."""
    return sum(len(row) == way.width for row in way.rows) / len(way.rows), way.width


def _holds(way: Records, mark: str) -> bool:
    """Tell whether a column holds another mark in every row, where that is no decimal comma."""
    rows = way.rows[1:]
    for j in range(way.width if rows else 0):
        if all(mark in row[j] for row in rows) and not (mark == "," and all(comma_number(row[j]) for row in rows)):
            return True
    return False


def _ragged(found: Records, path: Path) -> DataError:
    """Build the error for the first row with more or fewer cells than the header."""
    if found.open_quote:
        return DataError(
            f'File "{path}" is no CSV file: a quote that opens in the row of line {found.open_quote} is never closed. '
            'Close it, or write a quote inside a quoted cell twice ("").'
        )
    header, width = found.rows[0], found.width
    if width == 1 and LIBSVM.fullmatch(header[0].strip()):
        return _libsvm(path, header[0])
    row = next(k for k, cells in enumerate(found.rows) if len(cells) != width)
    many = len(found.rows[row])
    cells_of_it = f"{many} cell{'s' * (many != 1)}"
    what = f'Row {row} (line {found.lines[row]}) of file "{path}" has {cells_of_it} and the header has {width}: '
    if many < width:
        return DataError(f"{what}add the missing cells.")
    common, times = Counter(len(cells) for cells in found.rows[1:]).most_common(1)[0]
    if common > width and times > 0.5 * (len(found.rows) - 1):
        first = next((k for k, cells in enumerate(found.rows) if len(cells) == common), 0)
        title = [short(" ".join(cells)) for cells in found.rows[:first]]
        if row == first > 0 and _decimal_commas(found.rows[1:], common, width):
            return DataError(
                f"{what}if the decimal mark is a comma too, save the table again with another mark between columns, as "
                'in 1,5;2,5, which is read; or quote the numbers ("1,5").'
            )
        if all(not _number(cell) for cell in found.rows[first]):
            skip = found.lines[first - 1]
            line = python_line(
                f"lines = open({str(path)!r}, encoding='utf-8-sig').read().splitlines()[{skip}:]; "
                f"open({beside(path, '-table')!r}, 'w', encoding='utf-8').write(chr(10).join(lines))"
            )
            return DataError(
                f"{what}if the header is line {found.lines[first]}, leave out what is above it "
                f'("{listed(title, 3)}"): {line}'
            )
    return DataError(
        f"{what}remove the extra cells, quote text that holds a "
        f"{'comma' if found.sep == ',' else 'mark between columns'}, or add the missing names to the header."
    )


def _decimal_commas(rows: Sequence[Sequence[str]], many: int, width: int) -> bool:
    """Tell whether all rows are whole numbers, twice as many as the header has names or nearly."""
    return width < many <= 2 * width and all(cell.strip().lstrip("+-").isdigit() for row in rows[:50] for cell in row)


def _number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _libsvm(path: Path, line: str) -> DataError:
    """Build the error for a file of another format that a CSV file is easily taken for."""
    return DataError(
        f'File "{path}" is no CSV file, but seems to be a libsvm-format file ("{short(line)}"): use '
        'Dataset.from_svmlight, and on the command line a name that ends in ".svm" or ".svm.gz".'
    )
