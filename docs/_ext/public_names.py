"""Pages of the reference: marks for the public names of a package, and for a table of the names of a module.

The line ``% names: fsmodels.datasets`` is replaced by all public names of that package, and the line
``% summary: fsmodels.models.fsp`` by a table of the functions and classes of that module.
"""

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
_MODULE = re.compile(r"^% summary: (.+)$", re.MULTILINE)


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
        here.sort(key=lambda name: (name.split(".")[1][0].isupper(), name))
        return "\n".join([_summary(here), *map(_directive, here)])

    return _MODULE.sub(_functions, _MARK.sub(names, text))


def _summary(names: list[str]) -> str:
    """Return a table with the first sentence of each name."""
    rows = "".join(f"   {name}\n" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{rows}```\n"


def _functions(mark: re.Match[str]) -> str:
    """Return the summary of the functions and classes that a module defines."""
    module = importlib.import_module(mark[1])
    public = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    own = [name for name in public if getattr(getattr(module, name), "__module__", "").startswith(mark[1])]
    return _summary([f"~{mark[1]}.{name}" for name in sorted(own, key=lambda name: (name[0].isupper(), name))])


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
    if _MARK.search(source[0]) or _MODULE.search(source[0]):
        source[0] = written(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Connect to the reading of pages."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
