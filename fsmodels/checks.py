"""Checks of parameters for all builders, and the range of numbers that the arithmetic supports.

The models multiply values, weights and parameters: an SVM has ``C x_i.x_j`` summed over n samples, GMEB ``x^2 / R``,
and their oracles square such terms once more. In double precision (1e-308..1e308) all of these are finite and not 0 for

    values up to 1e30 in size, parameters within 1e-30..1e30, and n up to 1e9: (1e30 * 1e9 * 1e60)^2 = 1e198.

A ``Dataset`` may contain larger values, because it can be scaled; a builder rejects them. Solvers have smaller ranges,
which this module does not check.
"""

from __future__ import annotations

import functools
import importlib
import math
import numbers
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsmodels.errors import Error, InfeasibleParameter, ParameterError
from fsmodels.text import shown

LARGEST = 1e30
SMALLEST = 1e-30

P = ParamSpec("P")
T = TypeVar("T")


def import_extra(module: str, extra: str) -> Any:
    """Import a module of this package that needs an extra of the installation.

    Raises ParameterError: a package of the extra is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f'This needs the package {error.name}, which is not installed: pip install "fsmodels[{extra}]".'
        ) from error


def number(value: Any) -> float:
    """Return a real number as float, and NaN for any other object."""
    try:
        return math.nan if isinstance(value, bool) or not isinstance(value, numbers.Real) else float(value)
    except OverflowError:  # an integer beyond floating point
        return math.inf


def number_array(name: str, values: Any, error: type[Error] = ParameterError) -> NDArray[np.float64]:
    """Return numbers as an array of float64. Raises ``error``, with the name, if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{name}={shown(values)} is not allowed: give an array of numbers.", parameter=name) from None


def positive(name: str, value: Any, meaning: str, *, any_size: bool = False) -> float:
    """Return a number above 0 as float, within the range of the arithmetic unless ``any_size``.

    Raises ParameterError, with the value and the meaning of the parameter.
    """
    found = number(value)
    if not (math.isfinite(found) and found > 0):
        raise ParameterError(
            f"{name}={shown(value)} is not allowed: {meaning}. Give a number above 0, for example {name}=1.",
            parameter=name,
        )
    if not any_size and not SMALLEST <= found <= LARGEST:
        raise ParameterError(
            f"{name}={shown(value)} is outside the range of the arithmetic: give {SMALLEST:g}..{LARGEST:g}, or data in "
            "other units.",
            parameter=name,
        )
    return found


def share(name: str, value: Any, meaning: str, *, open_below: bool = False) -> float:
    """Return a number in [0, 1), or (0, 1) with ``open_below``, as float.

    Raises ParameterError, with the value and the meaning of the parameter.
    """
    found = number(value)
    if not 0 <= found < 1 or (open_below and found == 0):
        least = "above 0" if open_below else "from 0"
        raise ParameterError(
            f"{name}={shown(value)} is not allowed: {meaning}. Give a number {least} to below 1.", parameter=name
        )
    return found


def whole(name: str, value: Any, least: int, most: int | None, meaning: str) -> int:
    """Return an integer from ``least`` to ``most`` (None: no maximum) as int.

    Raises ParameterError, with the value and the meaning of the parameter.
    """
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_whole and least <= value and (most is None or value <= most):
        return int(value)
    allowed = f"of at least {least}" if most is None else f"in {least}..{most}"
    raise ParameterError(
        f"{name}={shown(value)} is not allowed: {meaning}. Give a whole number {allowed}.", parameter=name
    )


def choice(name: str, value: Any, allowed: list[str]) -> str:
    """Return an allowed value. Raises ParameterError, with the allowed values."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name}={shown(value)} is not known: use one of {', '.join(allowed)}.", parameter=name)
    return str(value)


def switch(name: str, value: Any, meaning: str) -> bool:
    """Return a Boolean value. Raises ParameterError, with the value and the meaning of True."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(
            f"{name}={shown(value)} is not allowed: give True for {meaning}, or False.", parameter=name
        )
    return bool(value)


def each_once(name: str, values: list[T]) -> list[T]:
    """Return the values of a grid. Raises ParameterError: there is no value, or a value is repeated."""
    if not values:
        raise ParameterError(f"{name} has no values: give at least one.")
    for k, value in enumerate(values):
        if value in values[:k]:
            raise ParameterError(f"{name} contains {value!r} twice: give each value once.")
    return values


def choosing(sigma: Any) -> bool:
    """Return the argument ``sigma`` of a builder, True for binaries. Raises ParameterError, with the value."""
    return switch("sigma", sigma, "binaries that define the selection")


def feature_count(
    value: Any, n_features: int, instead: str = "", name: str = "max_features", what: str = "features"
) -> int:
    """Return max_features as int, an integer in 1..n_features.

    ``instead``: an alternative for the message. ``what``: the counted objects.

    Raises InfeasibleParameter, with the value and the range.
    """
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if is_whole and 1 <= value <= n_features:
        return int(value)
    wrong = "is not an integer"
    if is_whole:
        wrong = "selects no feature" if value < 1 else f"is above the {n_features} {what} of the data"
    raise InfeasibleParameter(f"{name}={shown(value)} {wrong}: use 1..{n_features}{instead}.", parameter=name)


def renamed(old: str, new: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Reject the removed keyword ``old``; the message names the replacement. Raises ParameterError."""

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if old in kwargs:
                raise ParameterError(f"{function.__name__} takes no {old}: {new}.")
            return function(*args, **kwargs)

        return checked

    return wrap
