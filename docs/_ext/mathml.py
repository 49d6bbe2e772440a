"""Mathematics as MathML, written when the pages are built: browsers show it themselves, and nothing is fetched."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)

# LaTeX that the converter does not know -> what says the same.
INSTEAD = [
    (r"\tfrac12", r"\tfrac{1}{2}"),
    (r"\tfrac1n", r"\tfrac{1}{n}"),
    (r"\tfrac1m", r"\tfrac{1}{m}"),
    (r"\tfrac1k", r"\tfrac{1}{k}"),
    (r"\textstyle", ""),
    (r"\arg\min", r"\operatorname{argmin}"),
    (r"\Big\lVert", r"\lVert"),
    (r"\Big\rVert", r"\rVert"),
]
_CELL = re.compile(r"<math[^>]*>(.*)</math>", re.DOTALL)
SHOWN = r"\(\displaystyle "  # begins a formula of ``solvers.html.mathematics``
_SHOWN = re.compile(re.escape(SHOWN) + r"(.*?)\\\)", re.DOTALL)


def mathml(latex: str, *, block: bool = False) -> str:
    """Return LaTeX as MathML; lines of a display are aligned at ``&``."""
    for known, other in INSTEAD:
        latex = latex.replace(known, other)
    latex = re.sub(r"\\tag\{([^{}]*)\}", r"\\qquad (\1)", latex)
    latex = re.sub(r"\\(?:begin|end)\{(?:aligned|align\*?|split|gather\*?|equation\*?)\}", "", latex).strip()
    if block and (r"\\" in latex or "&" in latex):
        found = _table([line.split("&") for line in latex.split(r"\\") if line.strip()])
    else:
        found = _convert(latex, block=block)
    left = re.findall(r"\\[a-zA-Z]+", found)
    if left:
        logger.warning("mathematics that is not converted: %s in %s", ", ".join(left), latex)
    return found


def _convert(latex: str, *, block: bool = True) -> str:
    spaced = re.sub(r"\\(?=\s|$)", r"\\, ", latex)  # a backslash before a space, which the converter shows
    return str(convert(spaced, display="block" if block else "inline"))


def _table(lines: list[list[str]]) -> str:
    """Return lines of cells as a table, columns right and left in turn, as LaTeX aligns them."""
    rows = ""
    for cells in lines:
        parts = [_CELL.fullmatch(_convert(cell)) if cell.strip() else None for cell in cells]
        ends = ("right", "left")
        rows += "<mtr>"
        for k, part in enumerate(parts):
            rows += f'<mtd style="text-align: {ends[k % 2]}">{part[1] if part else ""}</mtd>'
        rows += "</mtr>"
    head = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
    return f'{head}<mtable displaystyle="true">{rows}</mtable></math>'


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write inline mathematics."""
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write displays: those of one block are parted by empty lines."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    for display in re.split(r"\n\s*\n", node.astext()):
        if display.strip():
            translator.body.append(mathml(display, block=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def stored(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Convert the formulas in stored outputs of notebooks, which the display of a model writes for Jupyter."""
    if SHOWN in context.get("body", ""):
        context["body"] = _SHOWN.sub(lambda found: mathml(html.unescape(found[1])), context["body"])


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("html-page-context", stored)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
