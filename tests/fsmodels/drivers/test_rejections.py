"""What a driver or solver does not take is rejected with the reason and an alternative, or solved."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus
from solvers.errors import ModelError, SolverError, UnsupportedModel

RADII = {"R_plus": 0.1, "R_minus": 0.1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    return fs.Dataset.from_arrays(rng.normal(size=(12, 3)) + 0.8 * y[:, None] * [1, 0, 0], y)


def with_steps(data, price):
    """Weights are at most 0.1 times an integer without upper bound, at a price for each step."""
    model = fs.fsp.fsp_lambda(data, penalty=0.1, C=1.0)
    model.steps = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.limit = pyo.Constraint(model.features, rule=lambda m, j: m.w[j] <= 0.1 * m.steps)
    model.objective.set_value(model.objective.expr + price * model.steps + 0.1 * model.w["x1"])
    return model


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders"])
def test_the_relaxation_bounds_a_master_with_an_unbounded_integer(driver, data):
    model = with_steps(data, 0.2)
    expected = fs.solve(with_steps(data, 0.2), "scip").objective
    result = fs.solve(model, driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=1e-4)
    assert result.bound <= expected * (1 + 1e-6)


def test_a_master_that_nothing_bounds_names_the_variable(data):
    with pytest.raises(SolverError, match="give bounds to steps, or solve the whole model by name with scip"):
        fs.solve(with_steps(data, -0.2), "branch-and-cut")


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders"])
def test_a_model_without_a_cut_names_what_is_missing(driver, data):
    model = fs.svm.one_norm_svm(data, sigma=True)
    model.requires = pyo.Constraint(expr=model.sigma["x1"] <= model.sigma["x2"])
    with pytest.raises(ModelError, match=f'"{driver}" needs a cut for the subproblem.*name no solver'):
        fs.solve(model, driver)
    assert fs.solve(model).status is SolutionStatus.OPTIMAL


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders"])
def test_rotated_cones_with_switches_are_decomposed(data, driver):
    result = fs.solve(fs.gmeb.primal(data, **RADII, sigma=True), driver)
    assert result.objective == pytest.approx(fs.solve(fs.gmeb.primal(data, **RADII)).objective, rel=1e-4)


@pytest.mark.parametrize(
    ("solver", "why"), [("gurobi", "linear and quadratic"), ("gurobi_direct", "does not support expressions of degree")]
)
def test_quotients_are_refused_for_gurobi_and_no_trivial_point_replaces_the_answer(data, need, solver, why):
    need(solver)
    with pytest.raises(UnsupportedModel, match=rf"{solver} cannot solve this model: .*{why}.*leave the solver out"):
        fs.solve(fs.gmeb.primal(data, **RADII, form="quotient"), solver)
