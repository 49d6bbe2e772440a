"""In IPython, models that carry facts show themselves; other models, and other programs, stay as they are."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["enable"]

MODEL = ("pyomo.core.base.PyomoModel", "ConcreteModel")  # by name: Pyomo need not be imported yet


def enable() -> None:
    """Tell a running IPython how to show a model."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is not None:
        formatter.formatters["text/html"].for_type_by_name(*MODEL, _html)
        formatter.formatters["text/latex"].for_type_by_name(*MODEL, _latex)


def _html(model: Any) -> str | None:
    """Return the page of a model; None leaves it to IPython."""
    from solvers.shown.page import show, shows_itself

    return show(model)._repr_html_() if shows_itself(model) else None


def _latex(model: Any) -> str | None:
    from solvers.shown.page import show, shows_itself

    return show(model)._repr_latex_() if shows_itself(model) else None
