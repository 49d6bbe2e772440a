"""Hooks that register the drivers in Pyomo's factories, and the display of models in IPython.

Importing ``solvers`` imports neither Pyomo nor a driver. If Pyomo is not imported yet, an import hook registers the
drivers when it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from solvers.lazy import DRIVER_NAMES, PREFIX

FACTORY = "pyomo.contrib.solver.common.factory"  # of the second generation; it imports that of the first
SCIPY = "scipy"
MODEL = ("pyomo.core.base.PyomoModel", "ConcreteModel")  # by name: Pyomo need not be imported yet


def enter() -> None:
    """Register each driver in both factories of Pyomo, now or when Pyomo is imported, and the display in IPython."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if (formatter := getattr(shell, "display_formatter", None)) is not None:
        formatter.formatters["text/html"].for_type_by_name(*MODEL, _page)
    if FACTORY in sys.modules:
        _enter(sys.modules[FACTORY])
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())
    if SCIPY not in sys.modules and not any(isinstance(finder, _BeforeScipy) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeScipy())


def _page(model: Any) -> str | None:
    """Return the display of a model with facts; None for other models, which IPython displays."""
    from solvers.facts.base import facts_of
    from solvers.model_page import show

    return None if facts_of(model) is None else show(model)._repr_html_()


def _enter(pyomo: ModuleType) -> None:
    """Register a placeholder for each name that is not taken."""
    second, first = pyomo.SolverFactory, pyomo.LegacySolverFactory
    for name in (PREFIX + driver for driver in DRIVER_NAMES):
        if name not in second:
            second.register(name, doc=f'The driver "{name.removeprefix(PREFIX)}"')(
                _stand_in(second, name), _stand_in(first, name)
            )


def _stand_in(factory: Any, name: str) -> Callable[..., Any]:
    """Return the constructor of a placeholder: it registers the drivers themselves and calls the right one."""

    def make(*arguments: Any, **words: Any) -> Any:
        from solvers.plugin import register_drivers

        register_drivers()
        return factory.get_class(name)(*arguments, **words)

    return make


class _Waiting(MetaPathFinder):
    """A finder that finds nothing, and registers the drivers when the module of the factory is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the other finders, with one more step at the end of the import."""
        if fullname != FACTORY:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def then_enter(module: ModuleType) -> None:
            execute(module)
            _enter(module)

        spec.loader.exec_module = then_enter  # type: ignore[method-assign]
        return spec


class _BeforeScipy(MetaPathFinder):
    """Keeps Pyomo from importing scipy.stats, which takes a second, as soon as scipy is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of scipy, once Pyomo's callback is gone; scipy imports its parts when they are used."""
        if fullname != SCIPY:
            return None
        sys.meta_path.remove(self)
        from pyomo.common import dependencies

        with suppress(AttributeError):
            dependencies.scipy_available._callback = None
        return find_spec(SCIPY)
