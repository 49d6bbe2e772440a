"""Linear rows beside a box: the nearest point by another method, descent to a known optimum, the residual."""

import numpy as np
import pytest
from scipy.optimize import minimize

from solvers import OptionError
from solvers.box.minimise import BY_PROJECTION, METHODS, check_method, minimise
from solvers.box.polyhedron import Polyhedron


def random_rows(rng, n):
    """Rows that a point of the box satisfies: one-sided, two-sided and equalities."""
    m = int(rng.integers(1, 4))
    A, x = rng.normal(size=(m, n)).round(1), rng.uniform(0, 1, n)
    side = A @ x
    below = np.where(rng.random(m) < 0.5, side - rng.random(m) * (rng.random(m) < 0.6), -np.inf)
    above = np.where(np.isinf(below) | (rng.random(m) < 0.5), side + rng.random(m) * (rng.random(m) < 0.5), np.inf)
    return Polyhedron(A, below, above), x


def as_scipy(rows):
    pairs = [(a, side, sign) for sides, sign in ((rows.below, 1.0), (rows.above, -1.0))
             for a, side in zip(rows.matrix, sides, strict=True) if np.isfinite(side)]  # fmt: skip
    return [{"type": "ineq", "fun": lambda z, a=a, b=b, s=s: s * (a @ z - b)} for a, b, s in pairs]


@pytest.mark.parametrize("seed", range(25))
def test_the_nearest_point_is_that_of_another_method_and_holds_exactly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    rows, inside = random_rows(rng, n)
    low, up, x = np.zeros(n), np.full(n, 1.5), 2 * rng.normal(size=n)
    near = rows.nearest(x, low, up)
    assert rows.missed(near) <= 1e-9
    assert np.all((near >= low) & (near <= up))
    other = minimize(lambda z: 0.5 * ((z - x) ** 2).sum(), inside, jac=lambda z: z - x, method="SLSQP",
                     bounds=[(0, 1.5)] * n, constraints=as_scipy(rows), options={"ftol": 1e-14})  # fmt: skip
    assert ((near - x) ** 2).sum() <= ((other.x - x) ** 2).sum() + 1e-6


def test_rows_without_a_point_have_no_nearest_one():
    rows = Polyhedron(np.ones((1, 2)), np.array([5.0]), np.array([np.inf]))
    assert rows.nearest(np.zeros(2), np.zeros(2), np.ones(2)) is None


class Quadratic:
    def __init__(self, Q, c):
        self.Q, self.c = Q, c

    def value(self, x):
        return float(0.5 * x @ self.Q @ x + self.c @ x), self.Q @ x + self.c

    def product(self, x, v):
        return self.Q @ v


@pytest.mark.parametrize("method", BY_PROJECTION)
@pytest.mark.parametrize("seed", range(5))
def test_a_convex_function_over_rows_reaches_the_optimum_of_another_method(seed, method):
    rng = np.random.default_rng(seed)
    B, c = rng.normal(size=(6, 6)), 3 * rng.normal(size=6)
    function = Quadratic(B @ B.T + 0.1 * np.eye(6), c)
    rows = Polyhedron(np.vstack([np.ones(6), rng.normal(size=6)]), np.array([1.0, -np.inf]), np.array([1.0, 0.5]))
    start = rows.nearest(np.full(6, 0.1), np.zeros(6), np.full(6, np.inf))
    found = minimise(function, start, np.zeros(6), np.full(6, np.inf), method=method, rows=rows, unit=0.3)
    other = minimize(function.value, start, jac=True, method="SLSQP", bounds=[(0, None)] * 6,
                     constraints=as_scipy(rows), options={"ftol": 1e-13})  # fmt: skip
    assert found.value == pytest.approx(other.fun, abs=1e-6)
    assert rows.missed(found.point) <= 1e-9
    assert found.residual <= 1e-4


def test_the_residual_counts_only_what_rows_let_move():
    rows = Polyhedron(np.ones((1, 2)), np.array([1.0]), np.array([1.0]))
    x, box = np.array([0.5, 0.5]), (np.zeros(2), np.full(2, np.inf))
    assert rows.residual(x, 1.0, np.array([2.0, 2.0]), *box, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert rows.residual(x, 1.0, np.array([2.0, 0.0]), *box, 1.0) == pytest.approx(
        1.0
    )  # half a unit from one to the other
    assert rows.residual(x, 4.0, np.array([2.0, 0.0]), *box, 1.0) == pytest.approx(0.25)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(BY_PROJECTION)))
def test_methods_without_projections_refuse_rows(method):
    with pytest.raises(OptionError, match=f'"{method}" takes bounds, and no rows: use spectral-gradient'):
        check_method(method, with_rows=True)
