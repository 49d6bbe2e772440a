r"""A trust-region Newton method within a box, of second order: steps shrink near a bound, and no variable is fixed.

After Coleman and Li 1996, "An interior trust region approach for nonlinear minimization subject to bounds". With room_i
the distance to the bound in the direction of the negative gradient, 1 without such a bound, and s = r q, r =
room^(1/2),

    psi(q) = (r g)'q + q'(R H R + C) q / 2,    C_i = |g_i| where there is a bound, else 0

is the quadratic model in scaled variables: a variable whose slope holds it at its bound goes there as fast as in
Newton's method, and is not fixed before the others have settled.

    0. The radius is one unit.
    1. Residual small: stop, unless R H R + C has a negative eigenvalue (Lanczos from a seeded vector); then try its
       eigenvector, both ways. Otherwise: the global minimum of psi within the radius (``ball``), and the least psi
       along the scaled gradient.
    2. Shorten a step that leaves the box to most of the way to the first bound; of two steps take the lower psi.
    3. Compare the decrease, curvature C included, with psi: accept, and shrink or widen the radius. Go to 1.
    4. At the end, variables near a bound that holds them are moved to it if f agrees; in every step, those nearest to
    it.

Steps that project onto the box fix variables too early if a bound cannot be left again: in (7) of
``fsmodels.models.kernel`` a weight of 0 has a slope of mu > 0 for any values of the others. Projected, FULL-FS from z =
1 on Sonar at C = 2, mu = 1 ended at 46.0, scaled at 33.9; of 27 such points (two sets NDCC, Sonar; FULL-FS, AO-EFS) 25
end lower, after 45% of the iterations and 79% of the CPU time in all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from solvers.box.ball import ball_step
from solvers.box.problem import FloatArray, Scaled

ENOUGH = 1e-4  # of the predicted decrease: a smaller one rejects the step
FAR = 0.95  # of the way to a bound, at least; all of it as steps become short
HELD, NEAR = 1e-6, 1e-3  # units: distance to a bound at which a variable is moved to it in a step, and at the end
NEGATIVE = 1e-6  # relative to max(1, |f|), for one unit: curvature that counts as negative
DENSE = 20  # variables up to which all eigenvalues are computed
LEAST = 1e-300  # in place of a divisor of 0


@dataclass
class _Model:
    """The quadratic model at a point, in scaled variables."""

    p: Scaled
    y: FloatArray
    g: FloatArray

    def __post_init__(self) -> None:
        p, y, g = self.p, self.y, self.g
        low, up = (g > 0) & np.isfinite(p.lower), (g < 0) & np.isfinite(p.upper)
        self.root = np.sqrt(np.where(low, y - p.lower, np.where(up, p.upper - y, 1.0)))
        self.curvature = np.where(low | up, np.abs(g), 0.0)
        self.slope = self.root * g

    def times(self, q: FloatArray) -> FloatArray:
        """Return (R H R + C) q."""
        return np.asarray(self.root * self.p.product(self.y, self.root * q) + self.curvature * q)

    def value(self, q: FloatArray) -> float:
        """Return psi."""
        return float(self.slope @ q + 0.5 * (q @ self.times(q)))

    def within(self, q: FloatArray) -> FloatArray:
        """Return q, shortened if the step leaves the box; no entry leads out from a bound."""
        p, y = self.p, self.y
        q = np.where(((q < 0) & (y <= p.lower)) | ((q > 0) & (y >= p.upper)), 0.0, q)
        s = self.root * q
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(s < 0, (p.lower - y) / s, np.where(s > 0, (p.upper - y) / s, np.inf))
        most = float(room.min(initial=np.inf))
        return q if most > 1.0 else q * most * max(FAR, 1.0 - float(np.linalg.norm(s)))

    def downhill(self, radius: float) -> FloatArray:
        """Return the minimum of psi along the scaled gradient, within the radius."""
        size = float(np.linalg.norm(self.slope))
        along = self.slope / max(size, LEAST)
        bent = float(along @ self.times(along))
        return -along * (min(radius, size / bent) if bent > 0 else radius)


def trust_newton(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> tuple[FloatArray, str]:
    """Run the algorithm box; the numbers are its steps."""
    p.require_products("trust-newton", y)
    radius, why = 1.0, "the trust region has vanished"  # 0
    while radius > 1e-12:
        model = _Model(p, y, g)
        size = float(np.linalg.norm(model.slope))
        if p.residual(y, f, g) <= p.tolerance:  # 1
            down = _negative(model, f, p.seed)
            if down is None:
                why = ""
                break
            steps = [radius * down, -radius * down]
        else:
            best = ball_step(model.times, model.slope, radius, min(0.1, math.sqrt(size)) * size)
            steps = [best, model.downhill(radius)]
        predicted, q = min(((model.value(q), q) for q in map(model.within, steps)), key=lambda pair: pair[0])  # 2
        if predicted >= 0:
            why = "no step lowers the quadratic model"
            break
        trial = _moved_to_bounds(p, y + model.root * q, g, HELD)
        value, slope = p.value(trial)  # 3
        ratio = (value - f + 0.5 * float(model.curvature @ q**2)) / predicted
        length = float(np.linalg.norm(q))
        if ratio < 0.25:
            radius = min(radius, length) / 4
        elif ratio > 0.75 and length >= 0.8 * radius:
            radius *= 2
        if ratio > ENOUGH:
            y, f, g = trial, value, slope
        if p.stops(y, f):
            why = p.why()
            break
    return _on_bounds(p, y, f, g), why


def _on_bounds(p: Scaled, y: FloatArray, f: float, g: FloatArray) -> FloatArray:
    """Move variables to the bounds that hold them and are near, if that is no worse."""
    near = _moved_to_bounds(p, y, g, NEAR)
    value, slope = p.value(near)
    return near if value <= f and p.residual(near, value, slope) <= max(p.tolerance, p.residual(y, f, g)) else y


def _moved_to_bounds(p: Scaled, y: FloatArray, g: FloatArray, near: float) -> FloatArray:
    """Move variables within ``near`` of the bounds that hold them to these bounds, and all others into the box."""
    low, up = (g > 0) & (y - p.lower <= near), (g < 0) & (p.upper - y <= near)
    return p.inside(np.where(low, p.lower, np.where(up, p.upper, y)))


def _negative(model: _Model, f: float, seed: int) -> FloatArray | None:
    """Return a unit vector of scaled variables along which psi curves down, or None."""
    n = len(model.slope)
    if n == 0:
        return None
    if n <= DENSE:
        matrix = np.column_stack([model.times(e) for e in np.eye(n)])
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    else:
        start = np.random.default_rng(seed).normal(size=n)
        operator = LinearOperator((n, n), matvec=lambda v: model.times(np.ravel(v)), dtype=float)
        try:
            values, vectors = eigsh(operator, k=1, which="SA", v0=start, tol=1e-2, maxiter=50)
        except (ArithmeticError, RuntimeError):  # no convergence: no clearly negative eigenvalue
            return None
    return None if values[0] >= -NEGATIVE * max(1.0, abs(f)) else np.asarray(vectors[:, 0])
