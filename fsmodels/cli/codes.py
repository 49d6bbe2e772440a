"""The exit codes of the command line, and what it prints."""

from __future__ import annotations

import sys
from typing import Any

SOLVED, BAD_INPUT, NO_SOLUTION = 0, 2, 3


def complain(what: str, text: str) -> None:
    """Write a line to standard error. Controls become escapes here too, as a live display bypasses ``Guard``."""
    from solvers.display import printable

    print(printable(f"{what}: {text}"), file=sys.stderr)


def show(*parts: Any) -> None:
    """Write texts and tables of a report to standard output."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))
