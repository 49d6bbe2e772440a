"""Docstrings are plain text with mathematics in letters: ``|w_j|``, ``mu_`` and ``2 * x`` stand for themselves."""

from __future__ import annotations

import re
from typing import Any

_MARKED = re.compile(r"(``(?:(?!\n\s*\n).)*?``|:[\w:]+:`[^`]*`|`[^`]*`_?)", re.DOTALL)

_EDGE = re.compile(r"^ *=+(?: +=+)+ *$")  # of a table
_ROW = re.compile(r"^ *``[^`]+`` {2,}\S")  # of a list in columns: a literal, and what it is


def escaped(lines: list[str]) -> list[str]:
    r"""Escape what reStructuredText would read as markup, outside literals, roles, displays and examples.

    >>> escaped(["the size |w_j| of mu_ in ``a|b_``", ".. math::", "    |x_|", "so"])
    ['the size \\|w_j\\| of mu\\_ in ``a|b_``', '.. math::', '    |x_|', 'so']
    """
    found: list[str] = []
    prose: list[str] = []
    inside = -1  # the depth of what begins a display or an example that goes on
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if inside >= 0 and line.strip() and depth <= inside:
            inside = -1
        if inside >= 0 or line.lstrip().startswith((">>>", "...")):
            found += [*_prose(prose), line]
            prose = []
        else:
            prose.append(line)
            if line.lstrip().startswith(".. ") or line.endswith("::"):
                inside = depth
    return found + _prose(prose)


def _prose(lines: list[str]) -> list[str]:
    if not lines:
        return []
    parts = _MARKED.split("\n".join(lines))
    parts[::2] = [_plain(part) for part in parts[::2]]
    found = "".join(parts).split("\n")
    edges = [k for k, line in enumerate(found) if _EDGE.match(line)]
    tables = range(edges[0], edges[-1]) if edges else ()
    rows = [bool(_ROW.match(line)) and k not in tables for k, line in enumerate(found)]
    return [
        line.replace("``", "| ``", 1) if row and (rows[k - 1 : k] == [True] or rows[k + 1 : k + 2] == [True]) else line
        for k, (line, row) in enumerate(zip(found, rows, strict=True))
    ]


def _plain(text: str) -> str:
    text = re.sub(r"(?<=[\w'])_(?=[^\w]|$)", r"\\_", text.replace("|", r"\|"))
    return re.sub(r"(?<![\w*\n])\*(?=[\w(])(?!\*)", r"\\*", text)


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring before anything else reads it."""
    lines[:] = escaped(lines)


def setup(app: Any) -> dict[str, Any]:
    """Connect to autodoc, before napoleon."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
