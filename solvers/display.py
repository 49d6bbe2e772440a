"""The status line of a long run: rewritten in a terminal and in Jupyter, elsewhere a new line now and then."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
PACE = 10.0  # s between lines where there is no terminal


def printable(text: str) -> str:
    r"""Return text with controls of a terminal and marks of direction as escapes; tabs and new lines stay.

    >>> print(printable("a\x1b[2J, \u202eb"))
    a\x1b[2J, \u202eb
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _terminal() -> TextIO | None:
    if os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # None, closed
            if stream.isatty():
                return stream
    return None


def _own(stream: Any) -> TextIO:
    """Return a stream to the same file that nobody redirects: Pyomo does, while a solver runs."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        return open(os.dup(stream.fileno()), "w", encoding=encoding, errors="replace")
    except (AttributeError, OSError, ValueError):  # no file behind it
        return stream if stream is not None else open(os.devnull, "w")


class StatusLine:
    """A line that is rewritten where that is possible, and else written every ``pace`` seconds by the clock ``now``."""

    def __init__(self, pace: float = PACE, now: Callable[[], float] = time.perf_counter) -> None:
        self._pace, self._now = pace, now

    def open(self) -> None:
        """Begin."""
        terminal = _terminal()
        self._notebook = "ipykernel" in sys.modules
        self._file = sys.stdout if self._notebook else _own(terminal or sys.stderr)
        self._rewrites = self._notebook or terminal is not None
        self._last = self._now()

    def draw(self, line: str) -> None:
        """Show a line; "" removes it."""
        if self._rewrites:
            from rich.cells import set_cell_size

            width = shutil.get_terminal_size((100, 24)).columns - 1
            self._file.write("\r" + set_cell_size(printable(line), width) + ("" if line else "\r"))
        elif line and self._now() - self._last >= self._pace:
            self._last = self._now()
            self._file.write(f"{printable(line)}\n")
        self._file.flush()

    def close(self) -> None:
        """Remove the line."""
        self.draw("")
        if self._file not in (sys.stdout, sys.stderr):
            self._file.close()
