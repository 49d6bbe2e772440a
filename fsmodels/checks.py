"""Checks of parameters that all builders share."""

from __future__ import annotations

import math
from typing import Any

from fsmodels.errors import ParameterError


def positive(name: str, value: Any, meaning: str) -> float:
    """Return a finite number above 0 as float.

    Raises
    ------
    ParameterError
        With the value and what the parameter means.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(
            f"{name}={value!r} is not allowed: {meaning}. Give a number above 0, for example {name}=1."
        )
    return number


def choice(name: str, value: Any, allowed: list[str]) -> str:
    """Return a value that is one of those allowed.

    Raises
    ------
    ParameterError
        With the allowed values.
    """
    if value not in allowed:
        raise ParameterError(f"{name}={value!r} is not known: use one of {', '.join(allowed)}.")
    return str(value)
