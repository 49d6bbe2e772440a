"""Bounds, domains and values of variables: comparison, temporary changes and restoration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import mul
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunct

from solvers.interrupt import finishing
from solvers.result import HOPELESS

INSIDE = (pyo.Block, Disjunct)  # blocks whose components belong to the model


def state(variable: Any) -> tuple[Any, ...]:
    """Return the bounds, the domain and the fixed value of a variable.

    A bound that is an expression of parameters is returned as the expression, since it changes with them.
    """
    fixed_at = variable.value if variable.fixed else None
    return (variable.lower, variable.upper, variable.domain, variable.fixed, fixed_at)


def same(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Return True if two states are equal; expressions are equal only if they are the same object."""
    numbers = (int, float, type(None))
    return all(
        a is b or (isinstance(a, numbers) and isinstance(b, numbers) and a == b)
        for a, b in zip(now, before, strict=True)
    )


def put_back(values: Iterable[tuple[Any, float | None]]) -> None:
    """Restore values of variables, without a check of domains and bounds."""
    for v, value in values:
        v.set_value(value, skip_validation=True)


@contextmanager
def kept(variables: Iterable[Any]) -> Iterator[None]:
    """Restore the values of variables at the end."""
    before = [(v, v.value) for v in variables]
    try:
        yield
    finally:
        with finishing():
            put_back(before)


def values_of(variables: Iterable[Any]) -> np.ndarray:
    """Return the values of variables; a missing value is 0."""
    return np.array([0.0 if v.value is None else v.value for v in variables], dtype=float)


def bounds_of(v: Any) -> tuple[float, float]:
    """Return the bounds of a variable; a missing bound is infinite."""
    lower, upper = v.bounds
    return -math.inf if lower is None else lower, math.inf if upper is None else upper


def may_be_zero(v: Any) -> bool:
    """Return True if the bounds of a variable, or its fixed value, allow 0."""
    if v.fixed:
        return bool(v.value == 0.0)
    low, up = bounds_of(v)
    return low <= 0.0 <= up


def put_on_bounds(variables: Iterable[Any]) -> bool:
    """Move values that violate a bound by a tolerance onto the bound; return True if there was such a value.

    In a product r v with r = 1 + 1e-8 the error is multiplied by v. Larger violations are not changed.
    """
    moved = False
    for v in variables:
        x = v.value
        if x is None or v.fixed:
            continue
        low, up = bounds_of(v)
        if x < low <= up:
            beyond, x = low - x, low
        elif x > up >= low:
            beyond, x = x - up, up
        else:
            continue
        if beyond <= HOPELESS * max(1.0, abs(x)):
            v.set_value(x, skip_validation=True)
            moved = True
    return moved


def give_values(variables: Sequence[Any]) -> None:
    """Give variables without a value one within their bounds: solvers return none for columns without row and cost."""
    for v in variables:
        if v.value is None:
            low, up = bounds_of(v)
            v.set_value(min(max(0.0, low), up))


@contextmanager
def fixed(variables_and_values: Sequence[tuple[Any, float]]) -> Iterator[None]:
    """Fix variables, and restore their values and fixing at the end."""
    before = [(v, v.fixed, v.value) for v, _ in variables_and_values]
    for v, value in variables_and_values:
        v.fix(value, skip_validation=True)
    try:
        yield
    finally:
        with finishing():
            for v, was_fixed, value in before:
                v.set_value(value, skip_validation=True)
                v.fixed = was_fixed


@contextmanager
def inactive(components: Sequence[Any]) -> Iterator[None]:
    """Deactivate active components, and activate them again at the end."""
    for component in components:
        component.deactivate()
    try:
        yield
    finally:
        with finishing():
            for component in components:
                component.activate()


@contextmanager
def without_domains(variables: Iterable[Any]) -> Iterator[None]:
    """Make variables continuous, and restore their domains at the end."""
    before = [(v, v.domain) for v in variables]
    try:
        for v, _ in before:
            v.domain = pyo.Reals
        yield
    finally:
        with finishing():
            for v, domain in before:
                v.domain = domain


@contextmanager
def plain_domains(variables: Iterable[Any], *, continuous: bool) -> Iterator[None]:
    """Make integer variables continuous that are fixed at a fraction; with ``continuous`` all integer variables.

    Pyomo treats a variable that is fixed at a fraction as a constant, but some interfaces pass it as an integer, which
    makes the model infeasible. A continuous solver rejects an integer variable even if it is in no row. For some
    interfaces a linear program with a fixed integer is a mixed-integer program, which has no multipliers.
    """
    hidden = [v for v in variables if (v.fixed and is_fraction(v)) or (continuous and not v.is_continuous())]
    with without_domains(hidden):
        yield


def is_fraction(v: Any) -> bool:
    """Return True if an integer variable has a fractional value: for some interfaces it is infeasible when fixed."""
    return not v.is_continuous() and v.value is not None and v.value != round(v.value)


def value_or_none(body: Any) -> float | None:
    """Return the value of an expression, or None if it or a variable has none; a dense row is not walked."""
    if type(body) is LinearExpression:
        try:
            values = (v.value for v in body.linear_vars)
            return float(sum(map(mul, body.linear_coefs, values), body.constant))
        except TypeError:  # a missing value, or a coefficient that is a parameter
            pass
    try:
        value = pyo.value(body, exception=False)
        return None if value is None else float(value)
    except (ArithmeticError, TypeError, ValueError):  # outside the domain: 1/0, a complex power, log of 0
        return None
