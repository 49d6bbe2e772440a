"""Docstrings are plain text with mathematics in letters: ``|w_j|``, ``mu_`` and ``2 * x`` stand for themselves."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

import notation  # noqa: E402

_PAGES = (Path(__file__).parents[1] / "formulations").glob("*.md")
FORMULATIONS = {re.findall(r"automodule:: (\S+)", page.read_text("utf-8"))[0] for page in _PAGES}
_MARKED = re.compile(r"(``(?:(?!\n\s*\n).)*?``|:[\w:]+:`[^`]*`|`[^`]*`_?)", re.DOTALL)

_EDGE = re.compile(r"^ *=+(?: +=+)+ *$")  # of a table
_ROW = re.compile(r"^ *``[^`]+`` {2,}\S")  # of a list in columns: a literal, and what it is


_LEFT_OUT = ("Symbols", "Source")  # sections that the pages of the formulations write out


def without_notes(lines: list[str]) -> list[str]:
    """Return the docstring of a module without the sections of its page and without the rule on imports.

    >>> without_notes(["One.", "", "Symbols", "    w -> ``w``", "Class", "    LP", "", "May import ``fsmodels``."])
    ['One.', '', 'Class', '    LP', '']
    """
    found, section = [], ""
    for line in lines:
        if line and not line.startswith(" ") and not section.startswith("May import "):
            section = line
        if section not in _LEFT_OUT and not section.startswith("May import "):
            found.append(line)
        elif not line:
            section = ""
    return found


def escaped(lines: list[str], *, mathematics: bool = False) -> list[str]:
    r"""Escape what reStructuredText would read as markup, outside literals, roles, displays and examples.

    >>> escaped(["the size |w_j| of mu_ in ``a|b_``", ".. math::", "    |x_|", "so"])
    ['the size \\|w_j\\| of mu\\_ in ``a|b_``', '.. math::', '    |x_|', 'so']
    >>> escaped(["so w_j <= 2"], mathematics=True)
    ['so :math:`w_{j} \\le 2`']
    """
    found: list[str] = []
    prose: list[str] = []
    inside = -1  # the depth of what begins a display or an example that goes on
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if inside >= 0 and line.strip() and depth <= inside:
            inside = -1
        if inside >= 0 or line.lstrip().startswith((">>>", "...")):
            found += [*_prose(prose, mathematics), line]
            prose = []
        else:
            prose.append(line)
            if line.lstrip().startswith(".. ") or line.endswith("::"):
                inside = depth
    return found + _prose(prose, mathematics)


def _prose(lines: list[str], mathematics: bool = False) -> list[str]:
    if not lines:
        return []
    parts = _MARKED.split("\n".join(lines))
    parts[::2] = [_written(part) if mathematics else _plain(part) for part in parts[::2]]
    if mathematics:
        parts[1::2] = [_formula(part) for part in parts[1::2]]
    found = "".join(parts).split("\n")
    edges = [k for k, line in enumerate(found) if _EDGE.match(line)]
    tables = range(edges[0], edges[-1]) if edges else ()
    rows = [bool(_ROW.match(line)) and k not in tables for k, line in enumerate(found)]
    return [
        _row(line, mathematics) if row and (rows[k - 1 : k] == [True] or rows[k + 1 : k + 2] == [True]) else line
        for k, (line, row) in enumerate(zip(found, rows, strict=True))
    ]


def _plain(text: str) -> str:
    text = re.sub(r"(?m)^(\s*)\((\d+)\)", r"\1\\(\2)", text)  # an equation, not an item of a list
    text = re.sub(r"(?<=[\w'])_(?=[^\w]|$)", r"\\_", text.replace("|", r"\|"))
    return re.sub(r"(?<![\w*\n])\*(?=[\w(])(?!\*)", r"\\*", text)


def _row(line: str, mathematics: bool) -> str:
    """Return a line of a list in columns; with mathematics, whose widths differ, dashes separate the columns."""
    text = re.sub(r"(?<=\S) {2,}", " – ", line) if mathematics else line
    return text.replace("``", "| ``", 1)


def _written(text: str) -> str:
    """Return text with its formulas as mathematics."""
    found = notation.converted(text)
    return "".join(rf":math:`{part}`" if k % 2 else _plain(part) for k, part in enumerate(found))


def _formula(literal: str) -> str:
    """Return a literal that is a formula as mathematics."""
    text = literal.strip("`")
    formula = literal.startswith("``") and " " in text and notation.is_formula(text)
    return rf":math:`{notation.latex(notation.tokens(text))}`" if formula else literal


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring before anything else reads it."""
    page = what == "module" and name in FORMULATIONS
    lines[:] = escaped(without_notes(lines) if page else lines, mathematics=page)


def setup(app: Any) -> dict[str, Any]:
    """Connect to autodoc, before napoleon."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
