"""What docstrings say, by their shape: sections of a formulation's page, and parameters of builders."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

_TAKEN = re.compile(r"as (?:for|in) ``([\w.]+)``", re.IGNORECASE)


def sections(text: str) -> dict[str, str]:
    r"""Return heading -> text below it, of a page whose headings are lines of their own with indented text below.

    >>> sections("A model.\n\nProblem\n    min x\n\n    x >= 0\nClass\n    LP.\n")
    {'Problem': 'min x\n\nx >= 0', 'Class': 'LP.'}
    """
    found: dict[str, list[str]] = {}
    heading = ""
    for line in inspect.cleandoc(text).splitlines():
        if line and not line.startswith(" "):
            heading = line.strip()
        elif heading:
            found.setdefault(heading, []).append(line)
    bodies = {name: inspect.cleandoc("\n" + "\n".join(lines)) for name, lines in found.items()}
    return {name: body for name, body in bodies.items() if body}


def parameter(function: Callable[..., Any], name: str) -> str:
    """Return what a function's docstring says of a parameter; "" for nothing.

    It stands under its name in the numpydoc section, or as ``name``: in a sentence, or in the docstring of a function
    that is named by "as for" or "as in".
    """
    text = inspect.getdoc(function) or ""
    own = _entry(text, name)
    if own and not _TAKEN.match(own):
        return own
    told = re.search(rf"``{name}``: ([^`]+?\.)(?=\s|$)", text)
    if told:
        return " ".join(told.group(1).split())
    for other in _TAKEN.findall(own or text):
        found = parameter(_named(function, other), name)
        if found:
            return found
    return ""


def kind(function: Callable[..., Any], name: str) -> str:
    """Return the type that the docstring gives a parameter, with the values it may have; "" for nothing."""
    text = inspect.getdoc(function) or ""
    head = _head(text, name)
    if head:
        return head
    for other in _TAKEN.findall(text):
        found = kind(_named(function, other), name)
        if found:
            return found
    return ""


def _named(function: Callable[..., Any], path: str) -> Callable[..., Any]:
    """Return what a docstring calls by a name of its own module."""
    held: Any = sys.modules[inspect.unwrap(function).__module__]
    for part in path.split("."):
        held = getattr(held, part)
    return held


def _entries(text: str) -> list[tuple[list[str], str, str]]:
    """Return (names, type, text) of the section Parameters."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        return []
    parts = re.findall(r"^(\S[^\n]*)\n((?:(?: +[^\n]*)?\n?)*)", found.group(1), re.MULTILINE)
    entries = []
    for head, body in parts:
        names, _, of = head.partition(" : ")
        entries.append(([part.strip() for part in names.split(",")], of.strip(), " ".join(body.split())))
    return entries


def _entry(text: str, name: str) -> str:
    return next((body for names, _, body in _entries(text) if name in names), "")


def _head(text: str, name: str) -> str:
    return next((of for names, of, _ in _entries(text) if name in names), "")
