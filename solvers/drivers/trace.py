"""The iteration table that all drivers share."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from solvers.clock import Clock
from solvers.result import relative_gap

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

logger = logging.getLogger("solvers")

COLUMNS = ["Iter", "Step", "Objective", "Bound", "Incumbent", "Gap", "Cuts", "|S|", "Time"]
SHOWN = 12  # rows of the live table


class Trace:
    """Rows of the iteration table: kept, logged, and with ``tee`` shown while they come.

    Incumbent and bound are given in the model's own sense; the table closes its live display when it leaves the
    context.
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
        self._display = _display() if tee else None

    def __enter__(self) -> Trace:
        if self._display:
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display:
            self._display.stop()

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
        if self._display:
            self._display.show(self.rows)
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


def _display() -> _Terminal | _Lines | _Notebook:
    if "ipykernel" in sys.modules:
        return _Notebook()
    from rich.console import Console

    console = Console()
    return _Terminal(console) if console.is_terminal else _Lines(console)


def _rich_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "Step" else "right")
    for row in rows[-SHOWN:]:
        table.add_row(*cells(row))
    return table


class _Terminal:
    """A table that grows in place."""

    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._live = Live(console=console, refresh_per_second=8)

    def start(self) -> None:
        self._live.start()

    def show(self, rows: list[dict[str, Any]]) -> None:
        self._live.update(_rich_table(rows))

    def stop(self) -> None:
        self._live.stop()


class _Lines:
    """One line a row, for a pipe or a file."""

    WIDTHS = (5, 12, 12, 12, 12, 9, 5, 5, 8)

    def __init__(self, console: Console) -> None:
        self._file = console.file

    def _line(self, texts: list[str]) -> None:
        self._file.write("".join(text.rjust(width) for text, width in zip(texts, self.WIDTHS, strict=True)) + "\n")
        self._file.flush()

    def start(self) -> None:
        self._line(COLUMNS)

    def show(self, rows: list[dict[str, Any]]) -> None:
        self._line(cells(rows[-1]))

    def stop(self) -> None:
        pass


class _Notebook:
    """A table updated in place in a notebook's output."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0

    def start(self) -> None:
        pass

    def show(self, rows: list[dict[str, Any]]) -> None:
        if time.perf_counter() - self._shown > 0.2:
            self._draw(rows)
        self._rows = rows

    def _draw(self, rows: list[dict[str, Any]]) -> None:
        from IPython.display import HTML, display

        body = pd.DataFrame([cells(r) for r in rows[-SHOWN:]], columns=COLUMNS).to_html(index=False)
        self._shown = time.perf_counter()
        if self._handle is None:
            self._handle = display(HTML(body), display_id=True)
        else:
            self._handle.update(HTML(body))

    def stop(self) -> None:
        if getattr(self, "_rows", None):
            self._draw(self._rows)
