"""The trust region's problem: beside all eigenvalues, beside random points of the ball, in the hard case."""

import numpy as np
import pytest

from solvers.box.ball import ball_step, over_ball


def by_eigenvalues(H, g, radius):
    """The least value over the ball, by bisection in nu over the eigenvalues: the dual in one variable."""
    values, vectors = np.linalg.eigh(H)
    c = vectors.T @ g
    low, high = max(0.0, -values[0]), max(0.0, -values[0]) + np.linalg.norm(g) / radius + 1.0
    if values[0] > 0 and np.linalg.norm(c / values) <= radius:
        return float(-0.5 * np.sum(c**2 / values))
    for _ in range(200):
        nu = (low + high) / 2
        low, high = (nu, high) if np.linalg.norm(c / np.maximum(values + nu, 1e-300)) > radius else (low, nu)
    return float(-0.5 * np.sum(c**2 / (values + high)) - 0.5 * high * radius**2)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_global_minimum_whatever_the_curvature(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    A = rng.normal(size=(n, n))
    H, g = (A + A.T) / 2 + rng.choice([-2.0, 0.0, 4.0]) * np.eye(n), rng.normal(size=n)
    radius = float(rng.choice([0.01, 1.0, 100.0]))
    s = ball_step(lambda v: H @ v, g, radius, 0.0, most=n)
    assert np.linalg.norm(s) <= radius * (1 + 1e-6)
    found, best = g @ s + 0.5 * s @ H @ s, by_eigenvalues(H, g, radius)
    # the last vector ends it, but on the sphere a residual of a tenth may end it before
    assert found == pytest.approx(best, rel=0.05)
    z, nu = over_ball(np.array([[float(H[0, 0])]]), abs(float(g[0])), radius)
    assert nu >= 0
    assert abs(z[0]) <= radius * (1 + 1e-6)


def test_a_slope_that_does_not_see_the_least_curvature_leaves_the_ball_filled():
    T = np.diag([1.0, -2.0])
    s, nu = over_ball(T, 1.0, 2.0)
    assert nu == pytest.approx(2.0)
    assert np.linalg.norm(s) == pytest.approx(2.0)
    assert s[0] == pytest.approx(-1 / 3)  # (1 + nu) s = -1


def test_a_flat_curve_is_followed_beside_a_steep_one():
    """A first step of conjugate gradients ends on the sphere along the steep variable and misses the flat one."""
    H, g = np.diag([1e4, 0.0]), np.array([10.0, 1.0])
    s = ball_step(lambda v: H @ v, g, 0.5, 1e-6)
    assert s == pytest.approx([-1e-3, -0.5], abs=1e-4)


def test_no_slope_is_no_step():
    assert ball_step(lambda v: v, np.zeros(3), 1.0, 1e-6).tolist() == [0.0, 0.0, 0.0]
