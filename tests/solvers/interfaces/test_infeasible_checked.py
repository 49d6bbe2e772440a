"""A claim of infeasibility by an interior-point method is checked by slacks in the rows."""

import pyomo.environ as pyo
import pytest

from solvers import SolutionStatus
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions


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
