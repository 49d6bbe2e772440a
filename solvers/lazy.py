"""Public names that are imported when they are first used (PEP 562), so that importing a package takes no time.

The names are listed once, in the stub next to ``__init__.py``: its imports give the module of each name, its
``__all__`` the public names. Type checkers and editors read the same file. (The library ``lazy_loader`` supports
neither names of another package nor modules of sub-packages.)

The module also holds the names of the drivers, which are needed before a driver is imported. Their classes are in
``solvers.drivers.catalogue``.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def attach(
    package: str, file: str, removed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``package``, ``file``: ``__name__`` and ``__file__`` of its ``__init__.py``. ``removed``: former names, each with a
    text that names its replacement.
    """
    homes, public = read(Path(file).with_suffix(".pyi"))

    def attribute(name: str) -> Any:
        if name in homes:
            module, own = homes[name]
            held = importlib.import_module(module)
            defined = module != package and hasattr(held, own)  # the package itself would call this function again
            found = getattr(held, own) if defined else importlib.import_module(f"{module}.{own}")
            setattr(importlib.import_module(package), name, found)  # next time without this function
            return found
        if removed and name in removed:
            raise AttributeError(f"{package}.{name} was removed: {removed[name]}.", name=name, obj=None)
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)

    return attribute, lambda: list(public), public


def read(stub: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return name -> (module, name in the module), and the public names, of a stub."""
    homes: dict[str, tuple[str, str]] = {}
    public: list[str] = []
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign):
            public = ast.literal_eval(node.value)
    return homes, public


DRIVER_NAMES = (
    "benders",
    "branch-and-cut",
    "single-tree",
    "sla",
    "alternating",
    "multi-start",
    "cutting-plane",
    "two-layer",
    "row-generation",
)
PREFIX = "fsmodels."  # before the names of drivers in Pyomo's factories
