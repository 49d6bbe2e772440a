r"""Minimisation of a smooth function, given by value, gradient and Hessian products, over a box by a named method.

    min { f(x) : l <= x <= u }

``l-bfgs-b``            scipy's projected quasi-Newton method (Byrd, Lu, Nocedal, Zhu 1995); exact zeros, no Hessian.
``trust-newton``        an interior trust-region Newton method, second order (``newton``; Coleman, Li 1996).
``projected-gradient``  steps along the projected negative gradient with Armijo's rule (Bertsekas 1976).
``spectral-gradient``   the same along spectral steps (Birgin, Martinez, Raydan 2000), at most one unit long.

Linear rows in addition to the box (``polyhedron``) are supported by the two projection methods.

Each variable has a unit, the size of a first step in it, which all methods use. The residual is the largest decrease
for one unit in one variable to first order, ``|g_i| min(unit_i, distance to the bound downhill)``, relative to
max(1, |f|): it does not depend on the scales of f and x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from solvers.box.newton import trust_newton
from solvers.box.polyhedron import Polyhedron
from solvers.box.problem import FloatArray, Scaled, Smooth, Watch, residual
from solvers.errors import OptionError
from solvers.interfaces.registry import nearest

__all__ = ["METHODS", "Minimum", "Smooth", "Watch", "check_method", "minimise", "residual"]

Method = Callable[[Scaled, FloatArray, float, FloatArray], tuple[FloatArray, str]]

MEMORY = 20  # pairs of L-BFGS
RELATIVE = 1e-10  # decrease of f below which L-BFGS stops
ARMIJO = 1e-4  # share of the predicted decrease that a step must reach; the usual value (Nocedal, Wright 3.1)
SHORTEST, LONGEST = 1e-10, 1e10  # spectral lengths
FAR = 10.0  # units: the projection onto rows from farther away loses digits


@dataclass(frozen=True)
class Minimum:
    """The result of a method; ``converged``: True if the residual is within the tolerance."""

    point: FloatArray
    value: float
    residual: float
    converged: bool
    iterations: int
    message: str = ""


def minimise(
    function: Smooth,
    x: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    method: str = "l-bfgs-b",
    unit: FloatArray | float = 1.0,
    tolerance: float = 1e-6,
    iteration_limit: int = 1000,
    watch: Watch = lambda x, value: False,
    seed: int = 0,
    rows: Polyhedron | None = None,
) -> Minimum:
    """Minimise over a box, from x; the result is never worse than the start.

    - ``function``: Smooth.
    - ``x``, ``lower``, ``upper`` (arrays of shape (n,)): the start is moved into the box; bounds may be infinite.
    - ``method``: one of ``METHODS``.
    - ``unit`` (array of shape (n,) or float): above 0; the size of a first step in each variable, and the unit of the
      residual.
    - ``tolerance``: of the residual.
    - ``watch``: (point, value) -> True to stop; called after each iteration.
    - ``seed``: of the vector from which ``trust-newton`` searches for negative curvature.
    - ``rows``: linear rows; the start is moved to the nearest feasible point.

    Raises OptionError: an unknown method, a method that takes no rows if there are some, or one that needs Hessian
    products if the function has none.

    >>> class Saddle:
    ...     def value(self, x):
    ...         return float(x[0] ** 2 - x[1] ** 2), np.array([2 * x[0], -2 * x[1]])
    ...
    ...     def product(self, x, v):
    ...         return np.array([2 * v[0], -2 * v[1]])
    >>> found = minimise(Saddle(), np.zeros(2), np.full(2, -1.0), np.full(2, 1.0), method="trust-newton")
    >>> found.value
    -1.0
    """
    solve = METHODS[check_method(method, with_rows=rows is not None)]
    unit = np.broadcast_to(np.asarray(unit, dtype=float), x.shape)
    over = None if rows is None else rows.scaled(unit)
    problem = Scaled(function, unit, lower / unit, upper / unit, tolerance, iteration_limit, watch, seed, over)
    start = problem.inside(x / unit)
    before, slope = problem.value(start)
    if problem.residual(start, before, slope) <= tolerance and method != "trust-newton":
        return Minimum(start * unit, before, problem.residual(start, before, slope), True, 0)
    y, message = solve(problem, start, before, slope)
    value, gradient = problem.value(y)
    if not value <= before:
        y, value, gradient = start, before, slope
    left = problem.residual(y, value, gradient)
    return Minimum(np.clip(y * unit, lower, upper), value, left, left <= tolerance, problem.iterations, message)


def check_method(method: str, *, with_rows: bool = False) -> str:
    """Return the name of a method.

    Raises OptionError: not one of ``METHODS``, or a method that takes no linear rows.
    """
    if method in ("pounce", "cyipopt"):
        raise OptionError(f'Method "{method}" was removed: use "trust-newton", which uses second derivatives too.')
    if method not in METHODS:
        raise OptionError(
            f'Method "{method}" is not known.{nearest(str(method), list(METHODS))} Methods over a box: '
            f"{', '.join(METHODS)}."
        )
    if with_rows and method not in BY_PROJECTION:
        raise OptionError(f'Method "{method}" takes bounds, and no rows: use {" or ".join(BY_PROJECTION)}.')
    return method


def _lbfgs(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
    why = ""

    def seen(intermediate_result: Any) -> None:
        nonlocal why
        at = np.array(intermediate_result.x, dtype=float)
        stops = p.stops(at, float(intermediate_result.fun))
        if p.residual(at, *p.value(at)) <= p.tolerance:  # scipy's test is absolute and ignores nearby bounds
            why = "the residual is within the tolerance"
        elif stops:
            why = p.why()
        if why:
            raise StopIteration

    found = scipy.optimize.minimize(
        p.value,
        y,
        jac=True,
        bounds=np.column_stack([p.lower, p.upper]),
        method="L-BFGS-B",
        callback=seen,
        options={
            "maxcor": MEMORY,
            "ftol": RELATIVE,
            "gtol": 0.0,
            "maxiter": p.iteration_limit,
            "maxfun": 20 * p.iteration_limit,
        },
    )
    return np.asarray(found.x, dtype=float), why or str(found.message)


def _projected_gradient(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
    length = 1.0 / max(1e-12, float(np.linalg.norm(p.inside(y - g) - y)))  # a first step of one unit at most
    while p.residual(y, f, g) > p.tolerance:
        for _ in range(60):
            trial = p.inside(y - length * g)
            value, slope = p.value(trial)
            if value <= f + ARMIJO * float(g @ (trial - y)):
                break
            length /= 2
        else:
            return y, "no step along the gradient decreases the function"
        gained, y, f, g = f - value, trial, value, slope
        if p.stops(y, f):
            return y, p.why()
        if gained <= RELATIVE * max(1.0, abs(f)):
            break
        length *= 2
        if p.rows is not None:
            length = min(length, FAR / max(float(np.linalg.norm(g)), 1.0 / LONGEST))
    return y, ""


def _spectral_gradient(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
    length = LONGEST
    while p.residual(y, f, g) > p.tolerance:
        length = min(length, FAR / max(float(np.linalg.norm(g)), 1.0 / LONGEST))
        along = p.inside(y - length * g) - y
        along = along / max(1.0, float(np.linalg.norm(along)))
        slope, step = float(g @ along), 1.0
        if slope >= 0:
            return y, "no direction along the gradient descends"
        for _ in range(60):
            trial = y + step * along
            value, after = p.value(trial)
            if value <= f + ARMIJO * step * slope:
                break
            step /= 2
        else:
            return y, "no step along the gradient decreases the function"
        moved, change = trial - y, after - g
        gained, y, f, g = f - value, trial, value, after
        curvature = float(moved @ change)
        length = min(max(float(moved @ moved) / curvature, SHORTEST), LONGEST) if curvature > 0 else LONGEST
        if p.stops(y, f):
            return y, p.why()
        if gained <= RELATIVE * max(1.0, abs(f)):
            break
    return y, ""


BY_PROJECTION = ("spectral-gradient", "projected-gradient")
METHODS: dict[str, Method] = {
    "l-bfgs-b": _lbfgs,
    "trust-newton": trust_newton,
    "projected-gradient": _projected_gradient,
    "spectral-gradient": _spectral_gradient,
}
