"""Where data come from, for messages: what to call it, which line a row is, how to leave a column out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fsmodels.datasets.dialect import PLAIN, Dialect
from fsmodels.datasets.shell import quoted, word

__all__ = ["ARRAYS", "FRAME", "Origin"]


@dataclass(frozen=True)
class Origin:
    """Where data come from.

    ``where``: what to call it. ``path``, ``dialect``, ``lines``: of a file, how it was read, and the line (or row of
    the sheet) where each row ends, the header first. ``notes``: what to tell of the dialect. ``headless``: what to say
    where a column is not there and the first line looks like a sample.
    """

    where: str
    path: Path | None = None
    dialect: Dialect = PLAIN
    lines: Sequence[int] = ()
    notes: Sequence[str] = field(default=())
    headless: str = ""

    def row(self, row: int) -> str:
        """Name a row counted from 0: ``"row 17, line 18"`` for a file (blank lines and line breaks in quotes count)."""
        if row + 1 < len(self.lines):
            return f"row {row + 1}, {'line' if self.dialect.sheet is None else 'sheet row'} {self.lines[row + 1]}"
        return f"row {row + 1}"

    def option(self, option: str, names: Sequence[str]) -> str:
        """Write the words that give names to an option: ``--drop a --drop b (Python: drop=["a", "b"])``."""
        python = f"{option.replace('-', '_')}=[{', '.join(quoted(name) for name in names)}]"
        if self.path is None:
            return python
        return f"{' '.join(f'--{option} {word(name)}' for name in names)} (Python: {python})"

    @property
    def impute(self) -> str:
        """The words that fill blanks in."""
        return '--impute median (Python: impute="median")' if self.path is not None else 'impute="median"'

    def leave_out(self, names: Sequence[str]) -> str:
        """Say how to leave columns out."""
        what = "the column" if len(names) == 1 else "the columns"
        if self is ARRAYS:
            return f"leave {what} out of X"
        return f"leave {what} out with {self.option('drop', names)}"


FRAME, ARRAYS = Origin("the DataFrame"), Origin("X")
