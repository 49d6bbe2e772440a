"""HTML for Jupyter: all text is escaped, and no dollar sign in it starts mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["code", "escaped", "frame", "mathematics", "paragraph", "split_doc", "table"]

LEFT = ' style="text-align: left"'


def escaped(text: Any) -> str:
    """Return text escaped for HTML in Jupyter.

    >>> escaped("a < b for $5")
    'a &lt; b for <span>$</span>5'
    """
    text = escape(str(text)).replace("$", "<span>$</span>")  # MathJax looks for a pair within one element
    return text.replace(r"\(", r"\<span>(</span>").replace(r"\[", r"\<span>[</span>")


def paragraph(text: Any, bold: str = "") -> str:
    """Return a paragraph with line breaks; it starts with ``bold``."""
    head = f"<b>{escaped(bold)}</b> " if bold else ""
    return f"<p>{head}{escaped(text)}</p>".replace("\n", "<br>")


def mathematics(latex: str) -> str:
    r"""Return LaTeX, line by line, in a form that Jupyter and the pages of Sphinx render.

    >>> mathematics("x < 1")
    '<span class="math tex2jax_process mathjax_process">\\(\\displaystyle x &lt; 1\\)</span>'
    """
    lines = (rf"\(\displaystyle {escape(line)}\)" for line in latex.split(r" \\ "))
    return f'<span class="math tex2jax_process mathjax_process">{"<br>".join(lines)}</span>'


def split_doc(doc: str) -> tuple[str, str]:
    r"""Return the text of a component's ``doc``, and the LaTeX between ``\(`` and ``\)`` in it.

    >>> split_doc(r"(7) bound on w \(w \le v\)")
    ('(7) bound on w', 'w \\le v')
    """
    text, _, rest = doc.partition(r"\(")
    latex, _, after = rest.partition(r"\)")
    return f"{text}{after}".strip(), latex


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = (), right: Iterable[int] = ()) -> str:
    """Return a table; the columns ``right`` are aligned to the right. Cells of type ``Raw`` are not escaped."""
    right = set(right)

    def cell(text: Any, k: int, tag: str) -> str:
        body = text if isinstance(text, Raw) else escaped(text)
        return f"<{tag}{'' if k in right else LEFT}>{body}</{tag}>"

    top = "".join(cell(text, k, "th") for k, text in enumerate(head))
    lines = ("".join(cell(text, k, "td") for k, text in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{body}</tbody></table>"


class Raw(str):
    """HTML that is not to be escaped."""


def code(text: Any) -> Raw:
    """Return a cell of a table in the font of code."""
    return Raw(f"<code>{escaped(text)}</code>")


def frame(data: pd.DataFrame, **options: Any) -> str:
    """Return a DataFrame as HTML of pandas, without mathematics; ``options``: of ``DataFrame.to_html``."""
    import pandas as pd

    with pd.option_context("display.html.use_mathjax", False):
        return str(data.to_html(**options))
