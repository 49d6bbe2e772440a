"""Hooks that register the drivers in Pyomo's factories, and the display of models in IPython.

Importing ``solvers`` imports neither Pyomo nor a driver. If Pyomo is not imported yet, an import hook registers the
drivers when it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from solvers.lazy import DRIVER_NAMES, PREFIX

FACTORY = "pyomo.contrib.solver.common.factory"  # of the second generation; it imports that of the first
SCIPY = "scipy"
MODEL = ("pyomo.core.base.PyomoModel", "ConcreteModel")  # by name, because Pyomo may not be imported yet


def enter() -> None:
    """Register each driver in both factories of Pyomo, now or when Pyomo is imported, and the display in IPython."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if (formatter := getattr(shell, "display_formatter", None)) is not None:
        formatter.formatters["text/html"].for_type_by_name(*MODEL, _page)
    if FACTORY in sys.modules:
        _enter(sys.modules[FACTORY])
    for finder in (_OnImport(FACTORY, _enter_after), _OnImport(SCIPY, _without_statistics)):
        if finder.module not in sys.modules and finder not in sys.meta_path:
            sys.meta_path.insert(0, finder)


def _page(model: Any) -> str | None:
    """Return the display of a model with facts; None for other models, which IPython displays itself."""
    from solvers.facts.base import facts_of
    from solvers.model_page import show

    return None if facts_of(model) is None else show(model)._repr_html_()


def _enter(pyomo: ModuleType) -> None:
    """Register a placeholder for each driver whose name is not registered."""
    second, first = pyomo.SolverFactory, pyomo.LegacySolverFactory
    for name in (PREFIX + driver for driver in DRIVER_NAMES):
        if name not in second:
            second.register(name, doc=f'The driver "{name.removeprefix(PREFIX)}"')(
                _placeholder(second, name), _placeholder(first, name)
            )


def _placeholder(factory: Any, name: str) -> Callable[..., Any]:
    """Return a constructor that registers the drivers and calls the constructor of one of them."""

    def make(*arguments: Any, **options: Any) -> Any:
        from solvers.plugin import register_drivers

        register_drivers()
        return factory.get_class(name)(*arguments, **options)

    return make


@dataclass(frozen=True)
class _OnImport(MetaPathFinder):
    """A finder that changes the import of one module, once; ``change``: spec of the module -> None."""

    module: str
    change: Callable[[ModuleSpec], None]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the changed spec of the other finders for the module; None for other modules."""
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self.change(spec)
        return spec


def _enter_after(spec: ModuleSpec) -> None:
    """Register the drivers after the import of the factory."""
    loader: Any = spec.loader
    execute = loader.exec_module

    def then_enter(module: ModuleType) -> None:
        execute(module)
        _enter(module)

    loader.exec_module = then_enter


def _without_statistics(spec: ModuleSpec) -> None:
    """Keep Pyomo from importing scipy.stats with scipy, which takes a second; scipy imports it when it is used."""
    from pyomo.common import dependencies

    with suppress(AttributeError):
        dependencies.scipy_available._callback = None
