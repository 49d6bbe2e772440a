"""Unbounded needs a feasible point and a ray, verified on the model, by every driver and solver."""

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus
from solvers.drivers.unbounded import verified
from solvers.lp.highs import HighsLP, LpAnswer, LpStatus


def model_of(kind):
    """The objective falls with y; a row may leave no integer, or no ray."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Integers, bounds=(0, 3)), pyo.Var(bounds=(0, None))
    m.u = pyo.Var(bounds=(-1, 1))
    if kind == "no integer point":
        m.odd = pyo.Constraint(expr=2 * m.x == 3)
    if kind == "a quadratic row":
        m.row = pyo.Constraint(expr=m.u**2 - m.y <= 4)
    if kind == "a row that ends it":
        m.row = pyo.Constraint(expr=1e-8 * m.y + m.u <= 4)
    if kind == "a product":
        m.y.setub(2), m.y.setlb(1), m.u.setub(None)
    m.cost = pyo.Objective(expr=-m.u * m.y if kind == "a product" else m.x - m.y)
    return m


@pytest.mark.parametrize("solver", [None, "cutting-plane", "benders", "branch-and-cut", "highs", "scip"])
def test_a_model_without_an_integer_point_is_not_unbounded(solver):
    assert solvers.solve(model_of("no integer point"), solver).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("solver", [None, "cutting-plane", "benders", "branch-and-cut", "highs", "scip"])
def test_a_point_and_a_ray_are_unbounded(solver):
    assert solvers.solve(model_of("free"), solver).status is SolutionStatus.UNBOUNDED


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("free", SolutionStatus.UNBOUNDED),
        ("no integer point", SolutionStatus.INFEASIBLE),
        ("a quadratic row", SolutionStatus.UNBOUNDED),
        ("a row that ends it", SolutionStatus.NO_SOLUTION),
        ("a product", SolutionStatus.UNBOUNDED),
    ],
)
def test_what_is_verified(kind, status):
    model = model_of(kind)
    model.x.set_value(1)
    assert verified(model, None)[0] is status
    assert (model.x.value, model.y.value) == (1, None)


def test_a_claim_that_is_not_verified_is_no_solution():
    """Along the parabola u^2 <= y the objective falls without end, but along no ray."""
    m = pyo.ConcreteModel()
    m.u, m.y = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.u**2 <= m.y)
    m.cost = pyo.Objective(expr=-m.u)
    status, words = verified(m, None)
    assert status is SolutionStatus.NO_SOLUTION
    assert "no ray was found" in words


def model_with_a_convex_block(kind):
    """The block, of x and y, has an optimum or falls without end; Kelley's method sees neither at first."""
    m = pyo.ConcreteModel()
    m.u, m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.x <= 3 * m.u)
    if kind == "linear part":
        m.cost = pyo.Objective(expr=m.u + (m.x - 1) ** 2 - m.y)
    elif kind == "quadratic row":
        m.ball = pyo.Constraint(expr=m.x**2 <= m.y)
        m.cost = pyo.Objective(expr=m.u - m.y)
    elif kind == "along both":
        m.cost = pyo.Objective(expr=m.u + (m.x - m.y) ** 2 + m.x)
    else:
        m.cost = pyo.Objective(expr=m.u + (m.x - 2) ** 2 + (m.y - m.x) ** 2)
    return m


@pytest.mark.parametrize("solver", ["benders", "branch-and-cut", "single-tree"])
@pytest.mark.parametrize("kind", ["linear part", "quadratic row", "along both", "bounded"])
def test_a_convex_block_without_end_has_a_status(kind, solver):
    result = solvers.solve(model_with_a_convex_block(kind), solver)
    if kind == "bounded":
        assert result.objective == pytest.approx(1.0, abs=1e-4)
    else:
        assert result.status is SolutionStatus.UNBOUNDED


@pytest.mark.parametrize("points", [True, False])
def test_a_program_inside_that_is_called_infeasible_proves_nothing_where_there_is_a_point(points, monkeypatch):
    """HiGHS called rows with coefficients of 1e-9 beside sides of 1e-6 infeasible, at w = 5e7."""
    empty = np.empty(0)
    answer = LpAnswer(LpStatus.INFEASIBLE, np.nan, empty, empty, empty)
    monkeypatch.setattr(HighsLP, "solve", lambda self, time_limit=None: answer)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 3))
    m.row = pyo.Constraint(expr=m.x >= (1 if points else 4))
    m.cost = pyo.Objective(expr=m.x)
    result = solvers.solve(m, "cutting-plane")
    assert result.status is (SolutionStatus.NO_SOLUTION if points else SolutionStatus.INFEASIBLE)
    assert ("a point satisfies the model" in result.message) is points
