r"""A projected trust-region Newton method over a box, second order.

After Coleman and Li 1996, with the projected search of Lin and More 1999 in place of their scaling, so that
variables reach their bounds:

    0. The radius is one unit.
    1. Variables at a bound, or nearly, whose slope holds them there are bound: they go to it. The others are free.
    2. Residual small: stop, unless the Hessian of the free ones has a negative eigenvalue (Lanczos from a seeded
       vector); then its eigenvector, downhill, is the step.
       Otherwise: the global minimum of the quadratic model of the free ones within the radius (``ball``).
    3. Halve the step until its projection lowers the quadratic model.
    4. Compare the decrease with the model's: accept, and shrink or widen the radius. Go to 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from solvers.box.ball import ball_step
from solvers.box.problem import FloatArray, Scaled

ENOUGH = 1e-4  # of the promised decrease: less is no success
NEAR = 1e-3  # units: a variable so near to a bound that holds it goes there
NEGATIVE = 1e-6  # relative to max(1, |f|), for one unit: curvature that counts as negative
DENSE = 20  # variables up to which all eigenvalues are computed


def trust_newton(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
    """Run the algorithm box; the numbers are its steps."""
    p.require_products("trust-newton", y)
    radius = 1.0  # 0
    while radius > 1e-12:
        left = p.residual(y, f, g)
        near = min(NEAR, left)
        low, high = (g > 0) & (y - p.lower <= near), (g < 0) & (p.upper - y <= near)  # 1
        free = ~(low | high)
        s = np.where(low, p.lower - y, np.where(high, p.upper - y, 0.0))
        if left <= p.tolerance:  # 2
            down = _negative(p, y, f, free)
            if down is None:
                return y, ""
            s = s + radius * (down if g @ down <= 0 else -down)
        else:
            s[free] = _ball(p, y, g, free, radius)
        step, promised = _lowering(p, y, g, s, radius)  # 3
        if promised >= 0:
            return y, "no step lowers the quadratic model"
        value, slope = p.value(y + step)  # 4
        ratio, size = (value - f) / promised, float(np.linalg.norm(step))
        if ratio < 0.25:
            radius = min(radius, size) / 4
        elif ratio > 0.75 and size >= 0.8 * radius:
            radius *= 2
        if ratio > ENOUGH:
            y, f, g = p.inside(y + step), value, slope
        if p.stops(y, f):
            return y, p.why()
    return y, "the trust region has vanished"


def _ball(p: Scaled, y: FloatArray, g: FloatArray, free: NDArray[np.bool_], radius: float) -> FloatArray:
    """Minimise the quadratic model over the free variables within the radius."""
    full, size = np.zeros_like(y), float(np.linalg.norm(g[free]))

    def times(v: FloatArray) -> FloatArray:
        full[free] = v
        return p.product(y, full)[free]

    return ball_step(times, g[free], radius, min(0.1, math.sqrt(size)) * size)


def _lowering(p: Scaled, y: FloatArray, g: FloatArray, s: FloatArray, radius: float) -> tuple[FloatArray, float]:
    """Return a projected step and what the model promises of it: the step given, halved, or the gradient's."""
    slope = float(np.linalg.norm(p.inside(y - g) - y))
    for direction in (s, -g * (radius / max(slope, 1e-300))):
        for _ in range(20):
            step = p.inside(y + direction) - y
            promised = float(g @ step + 0.5 * step @ p.product(y, step))
            if promised < 0:
                return step, promised
            direction = direction / 2
    return np.zeros_like(y), 0.0


def _negative(p: Scaled, y: FloatArray, f: float, free: NDArray[np.bool_]) -> FloatArray | None:
    """Return a unit vector of the free variables along which f curves down, or None."""
    n, full = int(free.sum()), np.zeros_like(y)
    if n == 0:
        return None

    def times(v: FloatArray) -> FloatArray:
        full[free] = np.ravel(v)
        return p.product(y, full)[free]

    if n <= DENSE:
        matrix = np.column_stack([times(e) for e in np.eye(n)])
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    else:
        start = np.random.default_rng(p.seed).normal(size=n)
        operator = LinearOperator((n, n), matvec=times, dtype=float)
        try:
            values, vectors = eigsh(operator, k=1, which="SA", v0=start, tol=1e-2, maxiter=50)
        except (ArithmeticError, RuntimeError):  # no convergence: none that stands out
            return None
    if values[0] >= -NEGATIVE * max(1.0, abs(f)):
        return None
    down = np.zeros_like(y)
    down[free] = vectors[:, 0]
    return down
