"""Thumbnails of the notebooks on the page docs/gallery.md, from their stored figures."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

PAGE = "docs/gallery"
SIZE = (360, 240)  # pixels
_ITEM = re.compile(r"^- (?=\[[^]]+\]\((\.\./notebooks/\w+)\.ipynb\))", re.MULTILINE)


def thumbnail(notebook: Path) -> str:
    """Return the first stored figure of a notebook as the URL of a small picture."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    figure = next(data["image/png"] for data in outputs if "image/png" in data)
    picture = Image.open(io.BytesIO(base64.b64decode("".join(figure)))).convert("RGB")
    picture.thumbnail(SIZE)
    stored = io.BytesIO()
    picture.save(stored, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(stored.getvalue()).decode()}"


def with_thumbnails(text: str, folder: Path) -> str:
    """Return a page whose items link notebooks, with the picture of each before its text."""

    def item(found: re.Match[str]) -> str:
        url = thumbnail(folder / f"{found[1]}.ipynb")
        return f'- <a href="{found[1]}.html"><img alt="" src="{url}"></a><br>'

    return _ITEM.sub(item, text)


def _read(app: Any, docname: str, source: list[str]) -> None:
    if docname == PAGE:
        source[0] = with_thumbnails(source[0], Path(app.srcdir) / "docs")


def setup(app: Any) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
