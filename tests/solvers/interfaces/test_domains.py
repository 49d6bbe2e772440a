"""Functions without a value or a slope at a bound: outside the domain, or a limit from within."""

import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, SolutionStatus
from solvers.model.classes import violation


def square():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 4), initialize=0), pyo.Var(bounds=(0, 4), initialize=0)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    return m


def quotient_row():
    m = square()
    m.t = pyo.Var(bounds=(0, 100), initialize=0)
    m.quotient = pyo.Constraint(expr=m.x**2 / m.y <= m.t)
    m.cost = pyo.Objective(expr=m.t + 2 * m.y)
    return m, 2 * 3**0.5 - 2


def reciprocal_row():
    m = square()
    m.row.deactivate()
    m.reciprocal = pyo.Constraint(expr=1 / m.y <= 3)
    m.cost = pyo.Objective(expr=m.x + m.y)
    return m, 1 / 3


def quotient():
    m = square()
    m.cost = pyo.Objective(expr=m.x**2 / m.y + m.y)
    return m, 2 * 2**0.5 - 2


def convex_root():
    m = square()
    m.cost = pyo.Objective(expr=-(m.x**0.5) - m.y**0.5 + m.x + m.y)
    return m, 1 - 2**0.5


@pytest.mark.parametrize("driver", ["multi-start", "cutting-plane"])
@pytest.mark.parametrize("build", [quotient_row, reciprocal_row, quotient, convex_root])
def test_a_point_without_a_value_is_outside_the_domain(build, driver, need):
    m, best = build()
    if driver == "multi-start":
        need("pounce")
    result = solvers.solve(m, driver)
    assert result.objective == pytest.approx(best, abs=1e-4)
    assert result.status is (SolutionStatus.OPTIMAL if driver == "cutting-plane" else SolutionStatus.STATIONARY)
    if driver == "cutting-plane":
        assert result.bound <= best + 1e-9


def test_a_row_without_a_value_is_violated():
    m, _ = quotient_row()
    assert violation(m) == float("inf")
    m.x.set_value(1), m.y.set_value(1), m.t.set_value(1)
    assert violation(m) == 0.0


@pytest.mark.parametrize("power", [0.3, 0.5])
def test_a_concave_root_ends_at_a_vertex_where_its_slope_is_infinite(power):
    m = square()
    m.cost = pyo.Objective(expr=m.x**power + 2 * m.y**power)
    result = solvers.solve(m, "sla")
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(1.0)  # at (1, 0); 2 and more at the other vertices
    assert (m.x.value, m.y.value) == pytest.approx((1.0, 0.0))


def test_a_concave_root_of_a_difference_at_an_upper_bound():
    m = square()
    m.cost = pyo.Objective(expr=(4 - m.x) ** 0.5 + m.y)
    result = solvers.solve(m, "sla")
    assert (result.status, m.x.value) == (SolutionStatus.STATIONARY, 4.0)
    assert result.objective == pytest.approx(0.0)


def test_a_convex_root_leaves_the_bound_where_its_slope_is_infinite():
    m = square()
    m.row.deactivate()
    m.cost = pyo.Objective(expr=-(m.x**0.5) + m.x + m.y)
    assert solvers.solve(m, "sla", starts=0).objective == pytest.approx(-0.25, abs=1e-4)  # at x = 1/4


def test_slopes_that_depend_on_the_way_to_a_bound_certify_nothing():
    """At 0 the root of a product falls along no axis and has slopes of any size: 0 is not stationary."""
    m = square()
    m.row.deactivate()
    m.cost = pyo.Objective(expr=(m.x * m.y) ** 0.5 - 0.01 * m.x * m.x + 0.1 * m.y)
    with pytest.raises(ModelError, match="must be smooth"):
        solvers.solve(m, "sla", starts=0)


def test_a_start_without_an_end_does_not_discard_the_others():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x * (0.5 - m.y) + 0.3 * m.y)
    result = solvers.solve(m, "sla", starts=20, seed=1)
    assert result.objective == pytest.approx(0.0)
    assert result.status is SolutionStatus.STATIONARY
    assert "starts failed" in result.message
    assert "is unbounded" in result.message
    assert len(result.details["starts"]) == 21
