"""An assumption is no proof: statuses and bounds of every driver that takes assume_convex, on models that are not."""

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction

import solvers
from solvers import ModelError, SolutionStatus

DRIVERS = ["cutting-plane", "benders", "branch-and-cut", "single-tree"]


def wave(objective=None, integer=True):
    """The optimum is at a dent of the wave that tangents cut off; a binary is decided first."""
    m = pyo.ConcreteModel()
    m.z = pyo.Var(domain=pyo.Binary if integer else pyo.UnitInterval)
    m.x, m.y = pyo.Var(bounds=(-2, 2), initialize=1.1), pyo.Var(bounds=(-2, 2), initialize=0)
    m.wave = pyo.Constraint(expr=pyo.sin(3 * m.x) + m.y**2 <= 0.2 - 0.1 * m.z)
    m.cost = pyo.Objective(expr=m.x + m.y + m.z if objective is None else objective(m))
    return m


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("start", [-2.0, -0.5, 0.4, 1.1, 1.7])
def test_no_bound_and_no_infeasibility_is_proven_on_an_assumption(driver, start):
    model, whole = wave(), wave()
    model.x.set_value(start)
    best = solvers.solve(whole, "scip").objective
    result = solvers.solve(model, driver, assume_convex=True)
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.NO_SOLUTION)
    assert result.bound is None
    assert 'as assumed: Row "wave"' in result.message or "nothing is proven" in result.message
    if result.has_solution:
        assert result.objective >= best - 1e-6
        assert pyo.sin(3 * model.x.value) + model.y.value**2 <= 0.2 - 0.1 * model.z.value + 1e-6


@pytest.mark.parametrize("start", [-2.0, -0.5, 0.4, 1.1, 1.7])
def test_a_continuous_model_is_not_called_infeasible(start):
    model = wave(integer=False)
    model.x.set_value(start)
    assert solvers.solve(model, "cutting-plane", assume_convex=True).status is not SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("driver", DRIVERS)
def test_an_objective_by_assumption_proves_no_bound(driver):
    model = wave(lambda m: pyo.cos(3 * m.x) + m.x + m.z)
    model.wave.deactivate()
    result = solvers.solve(model, driver, assume_convex=True)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is None


@pytest.mark.parametrize("driver", DRIVERS)
def test_linear_rows_that_clash_are_infeasible_without_the_assumption(driver):
    model = wave()
    model.one, model.two = pyo.Constraint(expr=model.x + model.z >= 2), pyo.Constraint(expr=model.x <= 0.5)
    result = solvers.solve(model, driver, assume_convex=True)
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"one", "two"' in result.message


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("place", ["row", "range", "disjunct"])
def test_nonlinear_rows_with_two_sides_are_refused_by_name(driver, place):
    """As in the eight-process flowsheet, whose units hold exp(x) - 1 == y."""
    model = wave()
    growth = pyo.exp(model.x) - 1 - model.y
    if place == "disjunct":
        model.on, model.off = Disjunct(), Disjunct()
        model.on.grown, model.off.none = pyo.Constraint(expr=growth == 0), pyo.Constraint(expr=model.y == 0)
        model.unit = Disjunction(expr=[model.on, model.off])
    else:
        model.grown = pyo.Constraint(expr=growth == 0 if place == "row" else (0, growth, 1))
    with pytest.raises(ModelError, match=r'grown".*two sides'):
        solvers.solve(model, driver, assume_convex=True)
