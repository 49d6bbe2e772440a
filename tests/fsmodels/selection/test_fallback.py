"""Where the default solver of a model cannot take an edit, an installed one that can does; what is named stays."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from solvers.interfaces.registry import SOLVERS


def integer_weights(model):
    for w in model.w.values():
        w.domain = pyo.Integers
        w.setlb(-3), w.setub(3)


def fence(model):
    model.fence = pyo.Constraint(expr=sum(w**2 for w in model.w.values()) >= 0.05)


def epsilon(model):
    """Least features with a loss within 1.2 times the best."""
    model.objective.deactivate()
    model.enough = pyo.Constraint(expr=model.norm + model.C * model.loss <= 1.2 * BEST)
    model.fewest = pyo.Objective(expr=pyo.quicksum(model.sigma.values()) + 1e-3 * model.loss)


def mixed(model):
    model.mixed = pyo.Constraint(expr=model.w["a"] * model.sigma["b"] <= 0.1)


BEST = 20.0


@pytest.mark.parametrize("edit", [integer_weights, fence, epsilon, mixed])
def test_an_edit_that_the_default_driver_refuses_is_solved(edit, data):
    model = fs.fsp.fsp_m(data, max_features=3)
    edit(model)
    with pytest.raises(fs.ModelError) as refusal:
        fs.solve(model, "branch-and-cut")
    result = fs.solve(model)
    assert (result.solver, result.status) == ("scip", fs.SolutionStatus.OPTIMAL)
    assert f"Not by branch-and-cut: {refusal.value}" in result.message
    named = fs.solve(model, "scip")
    assert named.objective == pytest.approx(result.objective, rel=2e-4)
    assert "Not by" not in named.message


def test_what_only_the_driver_takes_was_meant_for_it(data):
    model = fs.fsp.fsp_m(data, max_features=3)
    mixed(model)
    with pytest.raises(fs.ModelError, match='"mixed"'):
        fs.solve(model, lp_solver="highs")


def test_a_model_that_leaves_rows_to_its_driver_has_no_other(data):
    model = fs.fsp.fsp_m(data, max_features=3, form="rmp")
    mixed(model)
    with pytest.raises(fs.ModelError, match="mixed"):
        fs.solve(model)


def test_a_default_that_is_not_installed_is_replaced_by_one_that_is(data, monkeypatch, need):
    need("gurobi")
    model = fs.concave.fs(data, penalty=0.1)
    model.structure.default_solver = "scip"
    known = fs.solve(model).objective
    missing = SOLVERS["scip"].__class__(**{**vars(SOLVERS["scip"]), "version": lambda: None})
    monkeypatch.setitem(SOLVERS, "scip", missing)
    result = fs.solve(model)
    assert (result.solver, result.status) == ("gurobi", fs.SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(known, rel=2e-4)
    assert 'Solver "scip" is not installed' in result.message
    with pytest.raises(fs.SolverError, match='"scip" is not installed'):
        fs.solve(model, "scip")


def test_integer_weights_of_the_robust_lp_against_all_of_them(make_data):
    data = make_data(12, 2, seed=1)
    model = fs.svm.robust_lp(data)
    integer_weights(model)
    y = data.y

    def error(w):
        share = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
        rows = np.hstack([-y[:, None], -np.eye(len(y))])  # y (x.w + b) + slack >= 1
        return linprog([0, *share], rows, y * (data.X @ w) - 1, bounds=[(None, None), *[(0, None)] * len(y)]).fun

    best = min(error(np.array(w)) for w in itertools.product(range(-3, 4), repeat=2))
    assert fs.solve(model).objective == pytest.approx(best, abs=1e-6)
