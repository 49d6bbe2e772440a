"""Where progress is shown: a line under a table that changes in a terminal or in Jupyter, or a line now and then."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from typing import Any, Protocol, TextIO

CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
PACE = 10.0  # s between lines where there is no terminal

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # header, rows


class Display(Protocol):
    """Where it is shown."""

    live: bool  # whether a table can be shown that changes

    def open(self) -> None:
        """Begin."""
        ...

    def draw(self, line: str, table: Table | None) -> None:
        """Show how things stand now."""
        ...

    def keep(self, table: Table) -> None:
        """Leave a table on the screen."""
        ...

    def close(self) -> None:
        """Remove what shall not stay."""
        ...


def printable(text: str) -> str:
    r"""Return text with controls of a terminal and marks of direction as escapes; tabs and new lines stay.

    >>> print(printable("a\x1b[2J, \u202eb"))
    a\x1b[2J, \u202eb
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def is_live() -> bool:
    """Tell whether what is shown can change in place."""
    return "ipykernel" in sys.modules or _terminal() is not None


def chosen() -> Display:
    """Return the place for this process."""
    if "ipykernel" in sys.modules:
        return Notebook()
    terminal = _terminal()
    return Lines() if terminal is None else Terminal(terminal)


def _terminal() -> TextIO | None:
    if os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # None, closed
            if stream.isatty():
                return stream
    return None


def _own(stream: TextIO) -> TextIO:
    """Return a stream to the same place that nobody redirects: Pyomo does, while a solver runs."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        return open(os.dup(stream.fileno()), "w", encoding=encoding, errors="replace")
    except (AttributeError, OSError, ValueError):  # no file behind it
        return stream


class Terminal:
    """A line that is written anew, and a table above it."""

    live = True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def open(self) -> None:
        """Begin."""
        from rich.console import Console
        from rich.live import Live

        self._file = _own(self._stream)
        self._console = Console(file=self._file, highlight=False, markup=False, emoji=False)
        out, err = (_is_terminal(stream) for stream in (sys.stdout, sys.stderr))
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, redirect_stdout=out, redirect_stderr=err
        )
        self._live.start()

    def draw(self, line: str, table: Table | None) -> None:
        """Show how things stand now."""
        from rich.console import Group
        from rich.text import Text

        text = Text(printable(line), no_wrap=True, overflow="ellipsis", style="dim")
        self._live.update(text if table is None else Group(_rich(table), text), refresh=True)

    def keep(self, table: Table) -> None:
        """Leave a table on the screen."""
        self._live.update("", refresh=True)
        self._console.print(_rich(table))

    def close(self) -> None:
        """Remove the line."""
        self._live.stop()
        if self._file is not self._stream:
            self._file.close()


def _is_terminal(stream: Any) -> bool:
    return bool(stream is not None and not stream.closed and stream.isatty())


def _rich(table: Table) -> Any:
    from rich.table import Table as RichTable

    header, rows = table
    made = RichTable(box=None, padding=(0, 1))
    for column in header:
        made.add_column(printable(column), justify="left" if column == "Step" else "right")
    for row in rows:
        made.add_row(*map(printable, row))
    return made


class Lines:
    """A line on standard error now and then; ``now``: its clock in seconds."""

    live = False

    def __init__(self, pace: float = PACE, now: Callable[[], float] = time.perf_counter) -> None:
        self._pace, self._now = pace, now

    def open(self) -> None:
        """Begin."""
        self._file = _own(sys.stderr) if sys.stderr is not None else open(os.devnull, "w")  # noqa: SIM115
        self._last = self._now()

    def draw(self, line: str, table: Table | None) -> None:
        """Show how things stand, where it is time to."""
        if line and self._now() - self._last >= self._pace:
            self._last = self._now()
            self._file.write(f"{printable(line)}\n")
            self._file.flush()

    def keep(self, table: Table) -> None:
        """Nothing: its rows have gone elsewhere."""

    def close(self) -> None:
        """End."""
        if self._file is not sys.stderr:
            self._file.close()


class Notebook:
    """An output of the cell that is replaced."""

    live = True

    def open(self) -> None:
        """Begin, in the cell that runs now."""
        from IPython.display import HTML, display

        self._handle: Any = display(HTML(""), display_id=True)
        self._kept = ""

    def draw(self, line: str, table: Table | None) -> None:
        """Show how things stand now."""
        self._show(
            (_html(table) if table is not None else "") + (f"<p><small>{escape(line)}</small></p>" if line else "")
        )

    def keep(self, table: Table) -> None:
        """Leave a table in the output."""
        self._kept += _html(table)
        self._show("")

    def close(self) -> None:
        """Remove the line."""
        self._show("")

    def _show(self, html: str) -> None:
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(self._kept + html))


def _html(table: Table) -> str:
    import pandas as pd

    return str(pd.DataFrame([*table[1]], columns=[*table[0]]).to_html(index=False))
