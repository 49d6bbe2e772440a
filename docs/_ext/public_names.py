"""Pages of the reference: a line ``% names: fsmodels.datasets`` stands for all public names that live there."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from solvers.lazy import read

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "reference"
_MARK = re.compile(r"^% names: (.+)$", re.MULTILINE)


def homes() -> dict[str, str]:
    """Return public name, as ``fsmodels.select``, -> the module it lives in; modules and tables are left out."""
    found = {}
    for package in ("solvers", "fsmodels"):
        homes, public = read(ROOT / package / "__init__.pyi")
        held = importlib.import_module(package)
        for name in public:
            if callable(getattr(held, name)) and homes[name][0].split(".")[0] == package:
                found[f"{package}.{name}"] = homes[name][0]
    return found


def marked(text: str) -> list[str]:
    """Return the prefixes that a page names."""
    return [prefix for line in _MARK.findall(text) for prefix in line.split()]


def written(text: str) -> str:
    """Return a page with its names in place of the marks."""
    known = homes()

    def names(mark: re.Match[str]) -> str:
        prefixes = tuple(mark[1].split())
        here = [name for name, home in known.items() if any(f"{home}.".startswith(f"{p}.") for p in prefixes)]
        return "\n".join(
            _directive(name) for name in sorted(here, key=lambda name: (name.split(".")[1][0].isupper(), name))
        )

    return _MARK.sub(names, text)


def _directive(name: str) -> str:
    package, own = name.split(".")
    what = getattr(importlib.import_module(package), own)
    kind = "autofunction"
    if inspect.isclass(what):
        kind = "autoexception" if issubclass(what, BaseException) else "autoclass"
    options = "   :members:\n" if kind == "autoclass" and package == "fsmodels" else ""
    if inspect.isclass(what) and what.__module__.split(".")[0] != package:
        options += "   :no-index:\n"  # indexed where it is defined: Sphinx refuses a second entry
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n{options}```\n"


def _read(app: Any, docname: str, source: list[str]) -> None:
    source[0] = written(source[0]) if "% names: " in source[0] else source[0]


def setup(app: Any) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
