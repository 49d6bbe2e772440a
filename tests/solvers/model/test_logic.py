"""Logic written as rows for drivers: the same result as for the whole model, which does not change."""

import itertools
import math
from functools import cache

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction

import solvers
from model_state import state
from solvers.model.rewriting import written_rows
from solvers.model_cache import ModelCache


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
    assert written_rows(ModelCache(model), lambda c: False) is None


KINDS = {
    "implies": lambda Y, Z, D: Y[0].implies(Y[1]),
    "equivalent": lambda Y, Z, D: Y[0].equivalent_to(Y[1].lor(Y[2])),
    "xor": lambda Y, Z, D: Y[0].xor(Y[2]),
    "land": lambda Y, Z, D: pyo.land(Y[0], Y[2]),
    "lor": lambda Y, Z, D: pyo.lor(Y[0], Y[1], Y[2]),
    "not": lambda Y, Z, D: ~(Y[1].land(Y[0])),
    "atleast": lambda Y, Z, D: pyo.atleast(2, Y[0], Y[1], Y[2]),
    "atmost": lambda Y, Z, D: pyo.atmost(1, Y[0], Y[1], Y[2]),
    "exactly": lambda Y, Z, D: pyo.exactly(2, Y[0], Y[1], Y[2]),
    "nested": lambda Y, Z, D: pyo.exactly(1, Y[0].land(Y[1]), Y[2].implies(Y[0])).implies(Y[2]),
    "one variable": lambda Y, Z, D: Y[2],
    "without binaries": lambda Y, Z, D: Y[0].equivalent_to(Z[0].land(Z[1])).land(Z[0].implies(Y[2])),
    "on disjuncts": lambda Y, Z, D: pyo.atleast(1, Y[0].land(D[0]), D[1]),
    "equivalent to a disjunct": lambda Y, Z, D: D[0].equivalent_to(Y[2]),
    "of two disjunctions": lambda Y, Z, D: pyo.exactly(1, D[0], D[2]),
}


def routes(kind):
    """Three binaries with costs, two amounts, two disjunctions over the amounts, and one logical constraint."""
    rng = np.random.default_rng(0)
    costs, least = rng.integers(-4, 5, 3).tolist(), rng.integers(1, 4, 4).tolist()
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(range(3), domain=pyo.Binary), pyo.Var(range(2), bounds=(0, 5))
    m.Y, m.Z = pyo.BooleanVar(range(3)), pyo.BooleanVar(range(2))
    for j in range(3):
        m.Y[j].associate_binary_var(m.x[j])
    m.d = Disjunct(range(4))
    for j in range(4):
        m.d[j].row = pyo.Constraint(expr=m.y[j % 2] + (j // 2) * m.y[(j + 1) % 2] >= least[j])
    m.one, m.two = Disjunction(expr=[m.d[0], m.d[1]]), Disjunction(expr=[m.d[2], m.d[3]])
    m.link = pyo.Constraint(expr=m.y[0] + m.y[1] >= 1.5 * m.x[0] + m.x[2] + 0.5)
    m.cost = pyo.Objective(expr=sum(costs[j] * m.x[j] for j in range(3)) + m.y[0] + 2 * m.y[1])
    m.logic = pyo.LogicalConstraint(expr=KINDS[kind](m.Y, m.Z, [d.indicator_var for d in m.d.values()]))
    return m


@cache
def least_cost(kind):
    """The optimum of ``routes``, by every choice; the amounts are on a grid of halves, as all numbers are."""
    m, grid = routes(kind), [0.5 * k for k in range(11)]
    best = math.inf
    for x, a, b in itertools.product(itertools.product((0, 1), repeat=3), (0, 1), (2, 3)):
        m.x[0].value, m.x[1].value, m.x[2].value = x
        for j in range(4):
            m.d[j].indicator_var.set_value(j in (a, b))
        for j in range(3):
            m.Y[j].set_value(bool(x[j]))
        if not any(_true(m, z) for z in itertools.product((False, True), repeat=2)):
            continue
        for m.y[0].value, m.y[1].value in itertools.product(grid, grid):
            if all(pyo.value(row.expr) for row in (m.d[a].row, m.d[b].row, m.link)):
                best = min(best, pyo.value(m.cost))
    return best


def _true(m, z):
    m.Z[0].set_value(z[0]), m.Z[1].set_value(z[1])
    return pyo.value(m.logic.expr)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree", "cutting-plane"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_logic_with_default_options(driver, kind):
    model = routes(kind)
    result = solvers.solve(model, driver)
    assert result.status is solvers.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(least_cost(kind), rel=1e-5)
    assert pyo.value(model.logic.expr)


@pytest.mark.parametrize("driver", ["sla", "alternating", "multi-start", "two-layer", "row-generation"])
def test_other_drivers_refuse_logic_by_name(driver):
    with pytest.raises(solvers.ModelError, match=r'LogicalConstraint "logic"|"x\[0\]" is integer'):
        solvers.solve(routes("nested"), driver)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
def test_variables_made_for_logic_have_no_stage(driver):
    model = routes("nested")
    model.stage = pyo.Suffix()
    model.stage[model.x], model.stage[model.y] = 0, 1
    result = solvers.solve(model, driver)
    assert result.objective == pytest.approx(least_cost("nested"), rel=1e-5)
    assert not solvers.explain_split(routes("nested")).refused
