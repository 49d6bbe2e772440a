"""Solvers of Pyomo's own by name or as objects: options that they would swallow, and use again after a failure."""

from contextlib import suppress

import pyomo.environ as pyo
import pytest

import solvers
from solvers import Error, OptionError, SolutionStatus


def program():
    m = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], bounds=(0, 3))
    m.row = pyo.Constraint(expr=m.x[1] + m.x[2] >= 2)
    m.cost = pyo.Objective(expr=m.x[1] + 2 * m.x[2])
    return m


@pytest.fixture(
    params=["appsi_highs", "appsi_gurobi", "gurobi_persistent", "gurobi_direct", "appsi_cbc", "scip_persistent"]
)
def foreign(request, need):
    need(request.param.replace("appsi_", "").split("_")[0])
    return pyo.SolverFactory(request.param)


def test_a_persistent_solver_is_good_again_after_a_failure(foreign):
    model = program()
    assert solvers.solve(model, foreign).objective == pytest.approx(2.0)
    model.odd = pyo.Constraint(expr=pyo.sin(model.x[1]) <= 1)
    with suppress(Error):  # scip knows sines
        solvers.solve(model, foreign)
    model.del_component("odd")
    assert solvers.solve(model, foreign).objective == pytest.approx(2.0)
    model.tight = pyo.Constraint(expr=model.x[1] <= 1)
    assert solvers.solve(model, foreign).objective == pytest.approx(3.0)
    model.row.deactivate()
    assert solvers.solve(model, foreign).objective == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["appsi_highs", "appsi_cbc", "appsi_gurobi", "gurobi_direct", "scip_direct"])
def test_an_unknown_option_is_refused(name, need):
    need(name.replace("appsi_", "").split("_")[0])
    with pytest.raises(OptionError, match="nonsense"):
        solvers.solve(program(), name, nonsense=3)
    assert solvers.solve(program(), name).status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)


def test_an_option_of_the_program_is_taken(need):
    need("highs")
    assert solvers.solve(program(), "appsi_highs", presolve="off").objective == pytest.approx(2.0)
