"""Hooks: drivers enter Pyomo's factories by name, and IPython shows models that carry facts.

Importing ``solvers`` imports neither Pyomo nor a driver: where Pyomo is not there yet, its factory is met as it comes.
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

FACTORY = "pyomo.contrib.solver.common.factory"  # of the second generation, which knows the first one's
SCIPY = "scipy"
MODEL = ("pyomo.core.base.PyomoModel", "ConcreteModel")  # by name: Pyomo need not be imported yet


def enter() -> None:
    """Enter every driver in both of Pyomo's factories, now or once Pyomo is imported, and the page in IPython."""
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
    """Return the page of a model that carries facts; None leaves another model to IPython."""
    from solvers.facts.base import facts_of
    from solvers.model_page import show

    return None if facts_of(model) is None else show(model)._repr_html_()


def _enter(pyomo: ModuleType) -> None:
    """Enter a stand-in for each name that is not taken."""
    second, first = pyomo.SolverFactory, pyomo.LegacySolverFactory
    for name in (PREFIX + driver for driver in DRIVER_NAMES):
        if name not in second:
            second.register(name, doc=f'The driver "{name.removeprefix(PREFIX)}"')(
                _stand_in(second, name), _stand_in(first, name)
            )


def _stand_in(factory: Any, name: str) -> Callable[..., Any]:
    """Return what a factory calls for a solver of that name: it puts the drivers themselves into its place."""

    def make(*arguments: Any, **words: Any) -> Any:
        from solvers.plugin import register_drivers

        register_drivers()
        return factory.get_class(name)(*arguments, **words)

    return make


class _Waiting(MetaPathFinder):
    """Finds nothing itself; the factory's module, once imported, is told of the drivers."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders have, with one more step at its end."""
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
