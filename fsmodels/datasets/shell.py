"""Commands for messages, to be copied into a terminal as they stand."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

__all__ = ["beside", "python_line", "quoted", "word"]

PLAIN = re.compile(r"[^\s\"'\\$`!&|;<>()*?\[\]{}#~]+")  # what no shell takes for something else


def quoted(name: object) -> str:
    """Put a name in double quotes."""
    return f'"{name}"'


def word(text: object) -> str:
    """Return an argument of a command, in double quotes where a shell needs quotes and these will do."""
    told = str(text)
    if PLAIN.fullmatch(told):
        return told
    return quoted(told) if _double(told) else shlex.quote(told)


def python_line(code: str) -> str:
    """Return the command that runs a line of Python."""
    return f"python -c {quoted(code) if _double(code) else shlex.quote(code)}"


def beside(path: Path, what: str) -> str:
    """Return the name of a CSV file to write beside a file: ``patients.xls`` -> ``patients-plain.csv``."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return str(path.with_name(f"{stem}{what}.csv"))


def _double(text: str) -> bool:
    """Tell whether a text means itself in double quotes, on any shell."""
    return '"' not in text and (os.name == "nt" or not re.search(r"[$`\\!]", text))
