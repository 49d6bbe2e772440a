"""What restricts a variable, to be compared between solves, and values that are put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def state(variable: Any) -> tuple[Any, ...]:
    """Return what restricts a variable: bounds, domain and the value it is fixed at.

    A bound that is an expression of parameters is that expression: it may follow them.
    """
    fixed_at = variable.value if variable.fixed else None
    return (variable.lower, variable.upper, variable.domain, variable.fixed, fixed_at)


def same(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Compare states without comparing expressions by value, which Pyomo would turn into a relation."""
    numbers = (int, float, type(None))
    return all(
        a is b or (isinstance(a, numbers) and isinstance(b, numbers) and a == b)
        for a, b in zip(now, before, strict=True)
    )


def put_back(values: Iterable[tuple[Any, float | None]]) -> None:
    """Give variables values that they had, whatever their domains and bounds say of them."""
    for v, value in values:
        v.set_value(value, skip_validation=True)
