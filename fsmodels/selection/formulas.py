r"""The mathematics of a formulation's page: its rows by the numbers they have there, as LaTeX and as plain text."""

from __future__ import annotations

import re

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
