"""Parameters that can be changed between solves, which take what their builder takes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import pyomo.environ as pyo

__all__ = ["changeable"]


def changeable(check: Callable[[Any], Any], value: Any, doc: str, index: Any = None) -> pyo.Param:
    """Return a mutable parameter whose new values are checked as its first is.

    Pyomo's domains know neither sizes nor what a parameter means. ``check``: value -> the value as it is taken.
    ``value``: number, or mapping over ``index``. ``doc``: str. ``index``: Set. Raises ParameterError, from ``check``,
    here and wherever the parameter is set; it keeps the value that it had.

    >>> from functools import partial
    >>> from fsmodels.checks import share
    >>> model = pyo.ConcreteModel()
    >>> model.penalty = changeable(partial(share, "penalty", meaning="lambda"), 0.5, "(7) lambda")
    >>> model.penalty = 1.5
    Traceback (most recent call last):
    fsmodels.errors.ParameterError: penalty=1.5 is not allowed: lambda. Give a number from 0 to below 1.
    """
    first = check(value) if index is None else {key: check(x) for key, x in value.items()}
    where = () if index is None else (index,)
    return pyo.Param(*where, initialize=first, within=pyo.Any, validate=partial(_allowed, check), mutable=True, doc=doc)


def _allowed(check: Callable[[Any], Any], model: Any, new: Any, *_: Any) -> bool:
    check(new if isinstance(new, Real) else None)  # text of a number would stay text
    return True
