"""The iteration table that all drivers share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pandas as pd

from solvers import progress
from solvers.clock import Clock
from solvers.display import Table, is_live
from solvers.result import relative_gap

logger = logging.getLogger("solvers")

COLUMNS = ["Iter", "Step", "Objective", "Bound", "Incumbent", "Gap", "Cuts", "|S|", "Time"]
SHOWN = 12  # rows of the live table


class Trace:
    """Rows of the iteration table: kept, logged, and with ``tee`` shown while they come.

    Incumbent and bound are given in the model's own sense. In a terminal and in Jupyter the last rows are shown, with a
    line on how things stand; elsewhere a line a row goes to standard output.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        minimize: bool,
        tee: bool,
        callback: Callable[[dict[str, Any]], Any] | None,
        resolution: float = 0.0,
    ):
        self.clock, self.minimize, self.callback, self.resolution = clock, minimize, callback, resolution
        self.rows: list[dict[str, Any]] = []
        self.stopped_by_callback = False
        self._tee, self._open = tee, ExitStack()
        self._nudge: Callable[[], Any] | None = None
        self._lines: _Lines | None = None

    def __enter__(self) -> Trace:
        if self._tee:
            self._open.enter_context(progress.shown(is_live()))
            self._nudge = self._open.enter_context(progress.table(self._shown))
            self._lines = _Lines() if self._nudge is None else None
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _shown(self) -> Table:
        return COLUMNS, [cells(row) for row in self.rows[-SHOWN:]]

    def row(
        self,
        step: str,
        *,
        objective: float | None = None,
        bound: float | None = None,
        incumbent: float | None = None,
        cuts: int = 0,
        support: int | None = None,
    ) -> None:
        """Add a row; a callback that returns True asks the driver to stop."""
        values = (
            len(self.rows),
            step,
            objective,
            bound,
            incumbent,
            relative_gap(incumbent, bound, minimize=self.minimize, resolution=self.resolution),
            cuts,
            support,
            self.clock.elapsed,
        )
        row = dict(zip(COLUMNS, values, strict=True))
        self.rows.append(row)
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", "  ".join(cells(row)))
        if self._nudge is not None:
            self._nudge()
        if self._lines is not None:
            self._lines.write(cells(row))
        if self.callback is not None and self.callback(dict(row)):
            self.stopped_by_callback = True

    def table(self) -> pd.DataFrame:
        """Return the rows as a DataFrame."""
        return pd.DataFrame(self.rows, columns=COLUMNS)


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row as text, in the order of the columns."""

    def number(x: float | None) -> str:
        return "-" if x is None else f"{x:.6g}"

    gap = "-" if row["Gap"] is None else f"{row['Gap']:.2%}"
    support = "-" if row["|S|"] is None else str(row["|S|"])
    return [
        str(row["Iter"]),
        row["Step"],
        *(number(row[c]) for c in ("Objective", "Bound", "Incumbent")),
        gap,
        str(row["Cuts"]),
        support,
        f"{row['Time']:.2f}",
    ]


class _Lines:
    """One line a row, for a pipe or a file."""

    WIDTHS = (5, 12, 12, 12, 12, 9, 5, 5, 8)

    def __init__(self) -> None:
        self._file = sys.stdout
        self.write(COLUMNS)

    def write(self, texts: list[str]) -> None:
        """Write a row."""
        self._file.write("".join(text.rjust(width) for text, width in zip(texts, self.WIDTHS, strict=True)) + "\n")
        self._file.flush()
