r"""Readers of docstrings: sections of a formulation's page, its formulas as LaTeX and text, parameters of builders."""

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


_ROWS = re.compile(r"^\.\. math::[^\n]*\n((?:[ \t]+[^\n]*\n|\n)*)", re.MULTILINE)
_TAG = re.compile(r"&&(.*)$", re.DOTALL)
_FIRST = re.compile(r"\\(?:min|max)(?![a-z])")

_WORDS = {
    r"\le": "<=", r"\ge": ">=", r"\in": "in", r"\forall": "for all", r"\infty": "inf", r"\quad": "  ", r"\qquad": "   ",
    r"\ldots": "...", r"\perp": "_|_", r"\top": "'", r"\epsilon": "eps", r"\cdot": ".", r"\lVert": "||",
    r"\rVert": "||", r"\textstyle": "", r"\neq": "!=", r"\ne": "!=",
}  # fmt: skip
_NEXT = re.compile(r"\\([a-zA-Z]+)")


def rows(text: str, tags: tuple[str, ...]) -> list[str]:
    """Return the rows of LaTeX with one of these tags, and those up to the next problem of the same display.

    ``text``: the section Problem of a page. ``tags``: as they stand after ``&&``, the first one's rows first.
    """
    found: list[str] = []
    for tag in tags:
        for display in displays(text):
            taking = False
            for row in display:
                taking = tag in said(row) or (taking and not _FIRST.search(row))
                if taking and row not in found:
                    found.append(row)
    return found


def displays(text: str) -> list[list[str]]:
    """Return the rows of each display, as they stand."""
    blocks = [part for block in _ROWS.findall(text + "\n") for part in re.split(r"\n\s*\n", block) if part.strip()]
    return [
        [" ".join(row.split()) for row in re.split(r"\\\\(?:\[[^]]*\])?", block) if row.strip()] for block in blocks
    ]


def said(row: str) -> str:
    """Return a row's tag, "" for none."""
    tag = _TAG.search(row)
    return tag.group(1).strip() if tag else ""


def aligned(found: list[str]) -> str:
    """Return rows as LaTeX to be displayed."""
    return "\\begin{aligned}\n" + " \\\\\n".join(found) + "\n\\end{aligned}"


def plain(row: str) -> str:
    r"""Return a row as the text of a terminal.

    >>> plain(r"\min_{w, b}\ & \tfrac12 w^\top w + C \sum_i \xi_i && (1)")
    "min over w, b:  1/2 w'w + C sum_i xi_i   (1)"
    """
    tag = said(row)
    text = _TAG.sub("", row).replace("&", "")
    text = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\t?frac(\d)(\d)", r"\1/\2 ", text)
    text = re.sub(r"\\tfrac(\d)([a-z])", r"\1/\2 ", text)
    for _ in range(3):  # within one another
        text = re.sub(r"\\sqrt\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", r"sqrt(\1)", text)
        text = re.sub(r"\\t?frac\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", r"(\1)/(\2)", text)
    text = re.sub(r"\\(?:tilde|bar)\{?(\w)\}?|\\(?:tilde|bar) (\w)", lambda m: f"{m[1] or m[2]}~", text)
    text = re.sub(r"\\(min|max)_(?:\{([^{}]*)\}|(\\?\w+))", lambda m: f"{m[1]} over {m[2] or m[3]}:  ", text)
    text = (
        text.replace(r"\{", "\x01").replace(r"\}", "\x02").replace(r"\;", " ").replace("\\ ", " ").replace(r"\,", " ")
    )
    text = re.sub(r"\^\s*\\top", "'", text)
    text = _NEXT.sub(lambda m: _WORDS.get(m[0], m[1]), text)
    text = re.sub(r"\^\{([^{}]*)\}", lambda m: f"^({m[1]})" if len(m[1]) > 1 else f"^{m[1]}", text)
    text = re.sub(r"_\{([^{}]*)\}", lambda m: f"_{m[1]}" if len(m[1].replace(" ", "")) <= 2 else f"_({m[1]})", text)
    text = text.replace("{", "").replace("}", "").replace("\x01", "{").replace("\x02", "}")
    text = re.sub(
        r"(?<=\w)' +(?=[a-zA-Z(])", "'", re.sub(r"(?<=\d) +(?=\S)", " ", re.sub(r" {2,}", "  ", text))
    ).strip()
    tag = re.sub(r"\\text\{([^{}]*)\}|\\", lambda m: m[1] or "", tag).replace("{", "").replace("}", "")
    return f"{text}   {tag if tag.startswith('(') else f'({tag})'}" if tag else text
