"""Methods over a box: a quadratic with its optimum by enumeration, curvature, limits, what is refused."""

import itertools

import numpy as np
import pytest

from solvers import OptionError
from solvers.box.minimise import BY_PROJECTION, METHODS, check_method, minimise
from solvers.box.problem import residual


class Quadratic:
    """1/2 x'Hx - c'x."""

    def __init__(self, H, c):
        self.H, self.c, self.calls = np.asarray(H, dtype=float), np.asarray(c, dtype=float), 0

    def value(self, x):
        self.calls += 1
        return float(0.5 * x @ self.H @ x - self.c @ x), self.H @ x - self.c

    def product(self, x, v):
        return self.H @ v


class FirstOrder(Quadratic):
    def product(self, x, v):
        raise NotImplementedError


def enumerated(q, lower, upper):
    """The least value over the box of a convex quadratic: one active set has it as its stationary point."""
    n, best = len(q.c), np.inf
    for held in itertools.product((0, 1, 2), repeat=n):
        x = np.where(np.array(held) == 1, lower, upper)
        free = [k for k in range(n) if held[k] == 0]
        fixed = [k for k in range(n) if held[k] != 0]
        if free:
            x[free] = np.linalg.solve(q.H[np.ix_(free, free)], q.c[free] - q.H[np.ix_(free, fixed)] @ x[fixed])
        if (x >= lower - 1e-12).all() and (x <= upper + 1e-12).all():
            best = min(best, q.value(x)[0])
    return best


@pytest.mark.parametrize("unit", [1.0, 0.01, np.array([1.0, 30.0, 0.2, 5.0])])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_reaches_the_enumerated_optimum(method, unit):
    if method == "projected-gradient" and np.ndim(unit):
        pytest.skip("the gradient alone is slow on scales that differ")
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 4))
    q, lower, upper = Quadratic(A.T @ A, 8 * rng.normal(size=4)), np.zeros(4), np.full(4, 1.5)
    seen = []
    tolerance = 1e-4 if method in BY_PROJECTION else 1e-7  # it ends when gains are below 1e-10
    found = minimise(
        q,
        np.full(4, 0.7),
        lower,
        upper,
        method=method,
        unit=unit,
        tolerance=tolerance,
        watch=lambda x, f: seen.append(f),
    )
    assert found.value == pytest.approx(enumerated(q, lower, upper), rel=tolerance + 1e-6)
    assert found.converged
    assert found.residual <= tolerance
    assert ((found.point >= 0) & (found.point <= 1.5)).all()
    at = (found.point == 0) | (found.point == 1.5)
    assert at.any()
    assert len(seen) == found.iterations


@pytest.mark.parametrize("n", [3, 40])
def test_second_order_leaves_a_saddle_that_first_order_calls_stationary(n):
    H = np.diag(np.r_[np.ones(n - 1), -0.5])
    box = -np.ones(n), np.ones(n)
    first = minimise(Quadratic(H, np.zeros(n)), np.zeros(n), *box)
    second = minimise(Quadratic(H, np.zeros(n)), np.zeros(n), *box, method="trust-newton", seed=1)
    assert (first.value, first.converged, first.iterations) == (0.0, True, 0)
    assert second.value == pytest.approx(-0.25)
    assert abs(second.point[-1]) == 1.0


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 30])
def test_a_start_on_the_bounds_that_no_slope_holds_there_goes_inside(n, seed):
    H = np.diag(np.r_[-1.0, np.ones(n - 1)])
    found = minimise(Quadratic(H, np.zeros(n)), np.zeros(n), np.zeros(n), np.ones(n), method="trust-newton", seed=seed)
    assert (found.point[0], found.value) == (1.0, -0.5)


def test_negative_curvature_held_by_a_bound_is_no_way_out():
    found = minimise(Quadratic(-np.eye(1), [-1.0]), np.zeros(1), np.zeros(1), np.ones(1), method="trust-newton")
    assert (found.point[0], found.converged) == (0.0, True)  # the slope is 1 there


@pytest.mark.parametrize("method", ["l-bfgs-b", "trust-newton", "projected-gradient"])
def test_limits_and_the_watch_stop_and_never_leave_a_worse_point(method):
    def curved():
        return Quadratic(np.diag([1.0, 100.0, 1e4]), [1.0, 1.0, 1.0])

    start, box = np.array([3.0, -2.0, 1.0]), (np.full(3, -9.0), np.full(3, 9.0))
    before = curved().value(start)[0]
    one = minimise(curved(), start, *box, method=method, iteration_limit=1)
    asked = minimise(curved(), start, *box, method=method, watch=lambda x, f: True)
    for found in (one, asked):
        assert found.iterations == 1
        assert found.value <= before
    with pytest.raises(KeyboardInterrupt):
        minimise(curved(), start, *box, method=method, watch=_interrupt)


def _interrupt(x, value):
    raise KeyboardInterrupt


def test_a_start_outside_the_box_is_moved_into_it_and_equal_bounds_hold():
    lower, upper = np.array([1.0, 2.0]), np.array([1.0, 5.0])
    for method in ("l-bfgs-b", "trust-newton", "projected-gradient"):
        found = minimise(Quadratic(np.eye(2), [0.0, 0.0]), np.array([7.0, 0.0]), lower, upper, method=method)
        assert found.point.tolist() == [1.0, 2.0]


def test_the_residual_depends_neither_on_the_scale_of_f_nor_of_x():
    x, g, low, up = np.array([0.5, 0.0]), np.array([4.0, 7.0]), np.zeros(2), np.full(2, 9.0)
    here = residual(x, 20.0, g, low, up, 0.1)
    assert here == pytest.approx(4.0 * 0.1 / 20)
    assert residual(x, 2e4, 1e3 * g, low, up, 0.1) == pytest.approx(here)
    assert residual(1e3 * x, 20.0, g / 1e3, 1e3 * low, 1e3 * up, 100.0) == pytest.approx(here)


def test_what_is_refused():
    with pytest.raises(OptionError, match=r'Method "lbfgs" is not known\. Did you mean "l-bfgs-b"\?'):
        check_method("lbfgs")
    with pytest.raises(OptionError, match='Method "trust-newton" needs Hessian products'):
        minimise(FirstOrder(np.eye(1), [1.0]), np.zeros(1), -np.ones(1), np.ones(1), method="trust-newton")
    for method in ("pounce", "cyipopt"):
        with pytest.raises(OptionError, match=f'Method "{method}" was removed: use "trust-newton"'):
            check_method(method)


def test_lbfgs_stops_as_soon_as_the_measured_residual_meets_the_tolerance():
    """Scipy's own test is of the absolute slope: at |f| = 1e6 it would ask for 1e-6 of the tolerance."""
    n = 40
    start, box = np.ones(n), (np.full(n, -9.0), np.full(n, 9.0))
    seen = []
    tilted = Quadratic(1e3 * np.diag(np.geomspace(1.0, 100.0, n)), np.full(n, 2.0))

    def measure(x, f):
        seen.append(residual(x, *tilted.value(x), *box, 1.0))
        return False

    found = minimise(tilted, start, *box, tolerance=1e-2, watch=measure)
    assert found.converged
    assert found.message == "the residual is within the tolerance"
    assert seen[-1] <= 1e-2 < min(seen[:-1])


@pytest.mark.parametrize("method", ["l-bfgs-b", "trust-newton", "projected-gradient"])
def test_a_limit_of_iterations_is_called_so(method):
    curved = Quadratic(np.diag([1.0, 100.0, 1e4]), [1.0, 1.0, 1.0])
    box = np.full(3, -9.0), np.full(3, 9.0)
    limited = minimise(curved, np.array([3.0, -2.0, 1.0]), *box, method=method, iteration_limit=1)
    assert (limited.message, limited.converged) == ("iteration limit", False)
    asked = minimise(curved, np.array([3.0, -2.0, 1.0]), *box, method=method, watch=lambda x, f: True)
    assert asked.message == "stopped"
