"""A claim of infeasibility by an interior-point method is checked by slacks in the rows."""

import gc

import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus
from solvers.errors import SolverFailure
from solvers.interfaces.infeasibility import surely_infeasible
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model_cache import cached


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


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
@pytest.mark.parametrize("kind", ["integers", "ordered set", "small coefficients"])
def test_infeasibility_of_a_search_holds_if_no_point_satisfies_the_rows(solver, kind, need):
    need(solver)
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, 3), domain=pyo.Integers)
    if kind == "integers":
        m.ball = pyo.Constraint(expr=m.x**2 + (m.y - 0.5) ** 2 <= 0.2)
    elif kind == "ordered set":
        m.pair = pyo.Reference({1: m.x, 2: m.y})
        m.set = pyo.SOSConstraint(var=m.pair, sos=1)
        m.rows = pyo.ConstraintList()
        m.rows.add(m.x**2 + m.y**2 <= 9), m.rows.add(m.x >= 1), m.rows.add(m.y >= 1)
    else:
        m.row = pyo.Constraint(expr=1e-6 * m.x + 1e-6 * m.y >= 1e-5)
    m.cost = pyo.Objective(expr=m.x + m.y)
    assert Runner(find(solver), SolveOptions()).solve(m, integer=True).status is SolutionStatus.INFEASIBLE


def test_a_claim_that_is_not_verified_is_one_sentence(monkeypatch):
    monkeypatch.setattr(
        "solvers.whole_model.run.verified", lambda *_: (SolutionStatus.NO_SOLUTION, "No ray was found.")
    )
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.cost = pyo.Objective(expr=m.x)
    result = solvers.solve(m, "clarabel")
    assert (result.status, result.message) == (SolutionStatus.NO_SOLUTION, "No ray was found.")


def test_rows_hold_only_their_own_variables_after_the_check(caplog):
    """A sum of Pyomo shares its list of arguments with ``sum + x``: the clone copied variables of a deleted model."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(0, 10))
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] >= 4)
    m.ball = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] ** 2 <= 1)
    m.cost = pyo.Objective(expr=m.x[0])
    assert solvers.solve(m, "clarabel").status is SolutionStatus.INFEASIBLE
    gc.collect()
    clone = m.clone()
    assert caplog.text == ""
    assert str(clone.row.expr) == str(m.row.expr)


@pytest.mark.parametrize(
    ("slack", "t", "confirmed"), [(0.0, 0.04, False), (2e-7, 0.04, False), (1e-3, 0.04, True), (6.5e-5, 1e9, False)]
)
def test_the_least_sum_of_slacks_must_exceed_rounding(slack, t, confirmed):
    """Gurobi called feasible models infeasible: a cone with terms of 1e9 had a slack of 6.5e-5 in its elastic point."""
    m = pyo.ConcreteModel()
    m.w, m.t = pyo.Var(), pyo.Var(bounds=(0, None))
    m.cone = pyo.Constraint(expr=m.w**2 <= m.t)
    m.row = pyo.Constraint(expr=m.w <= -0.2)
    m.cost = pyo.Objective(expr=m.t)

    def solved(elastic):
        m.w.set_value(-(t**0.5)), m.t.set_value(t)
        for k in elastic.up:
            elastic.up[k].set_value(slack / 2), elastic.down[k].set_value(0.0)
        return SolutionStatus.OPTIMAL

    assert surely_infeasible(cached(m), solved) is confirmed


@pytest.mark.parametrize("status", [SolutionStatus.FEASIBLE, SolutionStatus.NO_SOLUTION])
def test_an_elastic_program_without_an_optimum_confirms_nothing(status):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x >= 2)
    m.cost = pyo.Objective(expr=m.x)
    assert not surely_infeasible(cached(m), lambda elastic: status)


@pytest.mark.parametrize(("solver", "size"), [("gurobi", 1e7), ("gurobi", 1e4), ("scip", 1e7)])
def test_a_row_with_small_coefficients_that_demands_large_variables_is_not_infeasible(solver, size, need):
    """Gurobi called this infeasible: the slack of the row cost less than its tolerance on reduced costs."""
    need(solver)
    m = pyo.ConcreteModel()
    m.w, m.t, m.s = pyo.Var([0, 1]), pyo.Var([0, 1], bounds=(0, None)), pyo.Var([0, 1], domain=pyo.Binary)
    m.cone = pyo.Constraint([0, 1], rule=lambda m, j: m.w[j] ** 2 <= m.t[j] * m.s[j])
    m.row = pyo.Constraint(expr=1e-4 * m.w[0] + 1.1e-4 * m.w[1] >= 1e-4 * size)
    m.limit = pyo.Constraint(expr=m.s[0] + m.s[1] <= 1)
    m.cost = pyo.Objective(expr=m.t[0] + m.t[1] + m.s[0] + m.s[1])
    result = solvers.solve(m, solver, time_limit=20)
    assert result.status is not SolutionStatus.INFEASIBLE
    if result.objective is not None:
        assert result.objective == pytest.approx((size / 1.1) ** 2, rel=1e-4)


def test_a_failed_elastic_program_confirms_nothing():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=1e-6 * m.x >= 2e-6)
    m.cost = pyo.Objective(expr=m.x)

    def solved(elastic):
        raise SolverFailure("failed", "gurobi")

    assert not surely_infeasible(cached(m), solved)
