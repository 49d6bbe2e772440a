"""Edited models by solvers of the whole model: what a builder knows of its own is no longer so."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs


@pytest.mark.parametrize("solver", [None, "highs", "clarabel"])
def test_a_cost_without_end_is_reported_so(solver, make_data):
    model = fs.svm.robust_lp(make_data(12, 2, seed=1))
    model.objective.set_value(model.error + 100 * model.w["a"])
    result = fs.solve(model, solver)
    assert result.status is fs.SolutionStatus.UNBOUNDED
    assert result.objective is None
    model.least = pyo.Constraint(expr=model.w["a"] >= -3)
    assert fs.solve(model, solver).status is fs.SolutionStatus.OPTIMAL


@pytest.mark.parametrize("solver", ["clarabel", "gurobi"])
def test_rows_that_are_switched_off_cost_nothing(solver, make_data, need):
    """What a builder repairs, slacks of every sample, is no better than a solver's point there."""
    data, answers = make_data(14, 3, seed=2, noise=1.0), []
    for name in (need(solver), "clarabel"):
        model = fs.gmeb.primal(data, R_plus=2.0, R_minus=2.0)
        for row in list(model.margin.values())[::3]:
            row.deactivate()
        answers.append(fs.solve(model, name))
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-4)
    assert answers[0].status is fs.SolutionStatus.OPTIMAL
