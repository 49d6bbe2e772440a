r"""Readers of docstrings: sections of a formulation's page, its formulas as LaTeX and text, parameters of builders."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any

_REFERENCE = re.compile(r"as (?:for|in) ``([\w.]+)``", re.IGNORECASE)


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


def parameter(function: Callable[..., Any], name: str) -> tuple[str, str]:
    """Return the type and the description of a parameter from a function's docstring; "" for what it does not have.

    The description is in the numpydoc section, after ``name``: in a sentence, or in the docstring of a function to
    which "as for" or "as in" refers.
    """
    text = inspect.getdoc(function) or ""
    kind, body = _entry(text, name)
    meaning = "" if _REFERENCE.match(body) else body
    if not meaning and (sentence := re.search(rf"``{name}``: ([^`]+?\.)(?=\s|$)", text)):
        meaning = " ".join(sentence.group(1).split())
    for path in [*_REFERENCE.findall(body), *_REFERENCE.findall(text)]:
        if kind and meaning:
            break
        other = attrgetter(path)(sys.modules[inspect.unwrap(function).__module__])
        found = parameter(other, name)
        kind, meaning = kind or found[0], meaning or found[1]
    return kind, meaning


def _entry(text: str, name: str) -> tuple[str, str]:
    """Return type and text of a parameter in the section Parameters of a docstring."""
    if section := re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.DOTALL | re.MULTILINE):
        for head, body in re.findall(r"^(\S[^\n]*)\n((?:(?: +[^\n]*)?\n?)*)", section.group(1), re.MULTILINE):
            names, _, kind = head.partition(" : ")
            if name in names.split(", "):
                return kind.strip(), " ".join(body.split())
    return "", ""


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
    blocks = [part for block in _ROWS.findall(text + "\n") for part in re.split(r"\n\s*\n", block)]
    found: list[str] = []
    for tag in tags:
        for block in blocks:
            taking = False
            for row in re.split(r"\\\\(?:\[[^]]*\])?", block):
                row = " ".join(row.split())
                taking = tag in _tag(row) or (taking and not _FIRST.search(row))
                if taking and row and row not in found:
                    found.append(row)
    return found


def _tag(row: str) -> str:
    """Return a row's tag, "" for none."""
    tag = _TAG.search(row)
    return tag.group(1).strip() if tag else ""


def plain(row: str) -> str:
    r"""Return a row as the text of a terminal.

    >>> plain(r"\min_{w, b}\ & \tfrac12 w^\top w + C \sum_i \xi_i && (1)")
    "min over w, b:  1/2 w'w + C sum_i xi_i   (1)"
    """
    tag = _tag(row)
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
