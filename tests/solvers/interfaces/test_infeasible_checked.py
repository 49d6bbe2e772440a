"""A claim of infeasibility by an interior-point method is checked by slacks in the rows."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.errors import SolverError
from solvers import SolutionStatus
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions

FAR = [
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
    [-1.89216448e-06, -6.79128505e-07, 1.08845201e-06],
    [-2.78395884e-07, 1.11979540e-06, -6.19418485e-07],
    [-1.32336969e-06, 7.07116689e-07, -1.22472130e-06],
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
]


def test_a_feasible_model_with_an_optimum_of_1e13_is_not_infeasible():
    data = fs.Dataset.from_arrays(np.array(FAR), [1, -1, 1, -1, -1])
    m = fs.fsp.fsp_lambda(data, C=1e6, penalty=1e5, form="perspective")
    m.no_slack = pyo.Constraint(expr=m.xi[0] + m.xi[1] + m.xi[2] <= 0)
    m.row_b = pyo.Constraint(expr=m.b <= -0.28998086844908244)
    m.objective.set_value(m.objective.expr - 8e-3 * m.w["x2"] + 1e-3 * m.w["x3"])
    with pytest.raises(SolverError, match="slacks in the rows"):
        fs.solve(m, "branch-and-cut")


@pytest.mark.parametrize(("side", "status"), [(0.5, SolutionStatus.INFEASIBLE), (1.5, SolutionStatus.OPTIMAL)])
def test_a_quadratic_row_that_no_point_satisfies_stays_infeasible(side, status):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.ball = pyo.Constraint(expr=m.x**2 + m.y**2 <= side)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1.5)
    m.cost = pyo.Objective(expr=m.x)
    assert Runner(find("clarabel"), SolveOptions()).solve(m).status is status


@pytest.mark.parametrize("kind", ["row", "fixed"])
def test_a_cone_that_clashes_stays_infeasible(kind):
    """A cone with a slack is no cone: the linear rows alone have slacks."""
    m = pyo.ConcreteModel()
    m.w, m.d, m.t = pyo.Var(), pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.cone = pyo.Constraint(expr=m.w**2 <= m.d * m.t)
    m.row = pyo.Constraint(expr=m.w + m.d >= (3.0 if kind == "row" else 0.0))
    if kind == "fixed":
        m.w.fix(2.0)
    m.cost = pyo.Objective(expr=m.t)
    assert Runner(find("clarabel"), SolveOptions()).solve(m).status is SolutionStatus.INFEASIBLE
