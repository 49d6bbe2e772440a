"""Logic written as rows for drivers: the answer of the whole model, which stays as it was."""

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction

import solvers
from model_state import state
from solvers.model.logic import written_rows
from solvers.reading import ModelReading


def plant(seed):
    """Machines that are bought or not, and what they make; logic on both, one disjunct within another."""
    m = pyo.ConcreteModel()
    m.buy = pyo.Var(range(4), domain=pyo.Binary)
    m.make = pyo.Var(range(4), bounds=(0, 6))
    m.limit = pyo.Constraint(range(4), rule=lambda m, k: m.make[k] <= 6 * m.buy[k])
    m.demand = pyo.Constraint(expr=pyo.quicksum(m.make.values()) >= 7 + seed)
    m.bought = pyo.BooleanVar(range(4))
    for k in range(3):
        m.bought[k].associate_binary_var(m.buy[k])
    m.needs = pyo.LogicalConstraint(expr=m.bought[0].implies(m.bought[1].lor(m.bought[3])))
    m.few = pyo.LogicalConstraint(expr=pyo.atmost(2, m.bought[0], m.bought[1], m.bought[2]))
    m.day, m.night = Disjunct(), Disjunct()
    m.day.little = pyo.Constraint(expr=m.make[1] + m.make[2] <= 3)
    m.night.much = pyo.Constraint(expr=m.make[2] >= 2 + seed)
    m.night.hot, m.night.cold = Disjunct(), Disjunct()
    m.night.hot.off = pyo.Constraint(expr=m.buy[0] == 0)
    m.night.cold.on = pyo.Constraint(expr=m.make[0] >= 5)
    m.night.which = Disjunction(expr=[m.night.hot, m.night.cold])
    m.shift = Disjunction(expr=[m.day, m.night])
    m.cost = pyo.Objective(
        expr=3 * m.buy[0] + m.buy[1] + 2 * m.buy[2] + m.buy[3] + sum((k + 1) * v for k, v in m.make.items())
    )
    return m


def true(model):
    logical = all(pyo.value(c.expr) for c in (model.needs, model.few))
    day, night = (bool(d.indicator_var.value) for d in (model.day, model.night))
    within = model.night.hot.indicator_var.value + model.night.cold.indicator_var.value
    return logical and day != night and (not night or within == 1)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_logic_on_both_parts_of_a_model(driver, seed, need):
    if driver == "single-tree":
        need("gurobi")
    model, whole = plant(seed), plant(seed)
    before = state(model)
    result = solvers.solve(model, driver, complicating=model.buy, gap=1e-6)
    assert result.status is solvers.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solvers.solve(whole, "scip").objective, rel=1e-5)
    assert true(model)
    assert state(model) == before
    assert model.bought[3].get_associated_binary() is None


def test_an_infeasible_logic():
    model = plant(0)
    model.no = pyo.LogicalConstraint(expr=pyo.exactly(3, *(model.bought[k] for k in range(3))))
    result = solvers.solve(model, "benders", complicating=model.buy)
    assert result.status is solvers.SolutionStatus.INFEASIBLE
    assert "few" in result.message


def test_nothing_is_written_where_there_is_no_logic():
    model = plant(0)
    for c in (model.needs, model.few, model.shift, model.day, model.night):
        c.deactivate()
    assert written_rows(ModelReading(model), lambda c: False) is None
