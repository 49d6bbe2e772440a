"""Arguments of commands, quoted for messages."""

from __future__ import annotations

import os
import re
import shlex

__all__ = ["quoted", "word"]

PLAIN = re.compile(r"[^\s\"'\\$`!&|;<>()*?\[\]{}#~]+")  # no character with a meaning in a shell


def quoted(name: object) -> str:
    """Put a name in double quotes."""
    return f'"{name}"'


def word(text: object) -> str:
    """Return an argument of a command, in double quotes where a shell needs quotes and these suffice."""
    argument = str(text)
    if PLAIN.fullmatch(argument):
        return argument
    double = '"' not in argument and (os.name == "nt" or not re.search(r"[$`\\!]", argument))
    return quoted(argument) if double else shlex.quote(argument)
