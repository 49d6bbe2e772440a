"""Pictures as inline SVG: text that stays text, colours of the page's style sheet, nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["inline_svg"]

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
SIZE = 4.3, 3.1  # inches: text of 10 points can be read on a telephone, and two stand side by side on a screen
INK, GRID, PAPER = "#0a0b0c", "#0a0b0d", "#0a0b0e"  # colours that stand for variables of the style sheet
LINES = [f"#0a0c{k:02x}" for k in range(10)]
VARIABLES = {INK: "--ink", GRID: "--line", PAPER: "--paper"} | {c: f"--line-{k % 4}" for k, c in enumerate(LINES)}


def inline_svg(key: str, title: str, description: str, draw: Callable[[Axes], Any]) -> Markup:
    """Draw, and return an SVG element for a page.

    ``key``: begins the ids of its parts, which are so no others' of the page. ``title``, ``description``: for whoever
    does not see it.
    """
    import io

    import matplotlib.style
    from cycler import cycler
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none", "svg.hashsalt": key, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": GRID,
        "xtick.color": GRID, "ytick.color": GRID, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
        "axes.prop_cycle": cycler(color=LINES), "legend.facecolor": PAPER, "legend.edgecolor": GRID,
        "axes.spines.top": False, "axes.spines.right": False, "axes.unicode_minus": True, "text.usetex": False,
    }  # fmt: skip
    file = io.StringIO()
    with matplotlib.style.context(["default", style]):
        figure = Figure(figsize=SIZE, layout="constrained")
        ax = figure.subplots()
        draw(ax)
        ax.set_title("")  # which the page says
        figure.savefig(
            file, format="svg", transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    return Markup(_for_page(file.getvalue(), key, title, description))


def _for_page(text: str, key: str, title: str, description: str) -> str:
    """Return the element with ids, colours and fonts of the page."""
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        if (linked := element.attrib.pop(f"{XLINK}href", None)) is not None:
            element.set("href", linked)
        for attribute, value in list(element.attrib.items()):
            element.set(attribute, _changed(attribute, value, key))
    for attribute in ("width", "height"):
        del root.attrib[attribute]
    root.attrib |= {"role": "img", "aria-labelledby": f"{key}-title {key}-description", "class": "picture"}
    for place, (what, said) in enumerate((("title", title), ("desc", description))):
        held = ElementTree.Element(what, {"id": f"{key}-{'title' if what == 'title' else 'description'}"})
        held.text = said
        root.insert(place, held)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _changed(attribute: str, value: str, key: str) -> str:
    if attribute == "id":
        return f"{key}-{value}"
    if attribute == "href":
        return value.replace("#", f"#{key}-", 1)
    value = value.replace("url(#", f"url(#{key}-")
    if attribute != "style":
        return value
    value = re.sub(r"font-family:[^;]*;?", "", value)
    value = re.sub(r"font: ([\d.]+px)[^;]*", r"font-size: \1", value)
    for colour, variable in VARIABLES.items():
        value = value.replace(colour, f"var({variable})")
    return value
