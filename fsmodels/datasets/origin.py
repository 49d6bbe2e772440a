"""Source of data, for messages: its name, the line of a row, the options that treat a column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsmodels.datasets.dialect import PLAIN, Dialect
from fsmodels.datasets.shell import word

__all__ = ["ARRAYS", "FRAME", "Origin"]


@dataclass(frozen=True)
class Origin:
    """Source of data.

    ``where``: its name in messages. ``path``, ``dialect``, ``lines``: of a file, the options with which it was read,
    and the line (or row of the sheet) where each row ends, the header first. ``notes``: sentences for the user.
    ``headless``: a sentence for errors about missing columns, where the first line looks like a sample.
    """

    where: str
    path: Path | None = None
    dialect: Dialect = PLAIN
    lines: Sequence[int] = ()
    notes: Sequence[str] = ()
    headless: str = ""

    def row(self, row: int) -> str:
        """Name a row counted from 0: ``"row 17, line 18"`` for a file (blank lines and line breaks in quotes count)."""
        if row + 1 < len(self.lines):
            return f"row {row + 1}, {'line' if self.dialect.sheet is None else 'sheet row'} {self.lines[row + 1]}"
        return f"row {row + 1}"

    def options(self, given: Mapping[str, str | Sequence[str]]) -> str:
        """Write options for both interfaces: ``--drop a --drop b (Python: drop=["a", "b"])``."""
        python = ", ".join(f"{name.replace('-', '_')}={json.dumps(v, ensure_ascii=False)}" for name, v in given.items())
        if self.path is None:
            return python
        values = {name: [value] if isinstance(value, str) else value for name, value in given.items()}
        return f"{' '.join(f'--{name} {word(v)}' for name in values for v in values[name])} (Python: {python})"

    @property
    def impute(self) -> str:
        """The option that fills blanks."""
        return self.options({"impute": "median"})

    def leave_out(self, names: Sequence[str]) -> str:
        """Return the words that leave columns out."""
        what = "the column" if len(names) == 1 else "the columns"
        if self is ARRAYS:
            return f"leave {what} out of X"
        return f"leave {what} out with {self.options({'drop': list(names)})}"


FRAME, ARRAYS = Origin("the DataFrame"), Origin("X")
