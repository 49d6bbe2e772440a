"""Copies of the first stage that rows declare to be equal are one variable of the master."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

import solvers
from solvers import SolutionStatus, explain_split

SCENARIOS = [1, 2, 3]


def linked(m, style, x, keys):
    """Add rows of nonanticipativity for x(scenario, key)."""
    first, pairs = SCENARIOS[0], [(s, t) for s in SCENARIOS for t in SCENARIOS if s < t]
    if style == "star":
        m.same = pyo.Constraint(SCENARIOS[1:], keys, rule=lambda m, s, k: x(s, k) == x(first, k))
    elif style == "chain":
        m.same = pyo.Constraint(SCENARIOS[1:], keys, rule=lambda m, s, k: x(s - 1, k) - x(s, k) == 0)
    elif style == "pairs":
        m.same = pyo.Constraint(pairs, keys, rule=lambda m, s, t, k: 2 * x(s, k) == 2 * x(t, k))
    else:
        m.z = pyo.Var(keys)
        m.same = pyo.Constraint(SCENARIOS, keys, rule=lambda m, s, k: m.z[k] == x(s, k))


def random_model(seed):
    """Return a random model with copies in blocks, and one of the ways to declare its stages."""
    rng = np.random.default_rng(seed)
    keys = range(1, int(rng.integers(2, 4)))
    domains = {k: (pyo.Reals, pyo.Binary, pyo.Integers)[rng.integers(3)] for k in keys}
    quadratic, c = rng.random() < 0.25, {k: int(rng.integers(-4, 5)) for k in keys}
    m = pyo.ConcreteModel()

    def scenario(b, s):
        b.x, b.y = pyo.Var(keys), pyo.Var([0, 1], bounds=(0, 5))
        for k in keys:
            b.x[k].domain = domains[k]
            if domains[k] is not pyo.Binary:
                b.x[k].setlb(int(rng.integers(-2, 1))), b.x[k].setub(int(rng.integers(1, 4)))
        b.row = pyo.Constraint([0, 1, 2])
        for i in range(3):
            own = sum(int(rng.integers(-3, 4)) * b.x[k] for k in keys)
            b.row[i] = own + sum(int(rng.integers(-2, 3)) * b.y[j] for j in (0, 1)) <= int(rng.integers(2, 7))
        squares = sum(v**2 for v in b.y.values()) if quadratic else 0
        gain = sum(int(rng.integers(4)) * v for v in b.y.values())
        b.cost = pyo.Expression(expr=sum(c[k] * b.x[k] for k in keys) - gain + squares)
        if rng.random() < 0.2:
            b.choice = Disjunction(expr=[[b.y[0] + b.x[1] <= 1], [b.y[1] <= 1]])

    m.s = pyo.Block(SCENARIOS, rule=scenario)
    style = ("star", "chain", "pairs", "one more")[rng.integers(4)]
    linked(m, style, lambda s, k: m.s[s].x[k], keys)
    if rng.random() < 0.3:
        m.extra = pyo.Constraint(expr=sum(m.s[2].x[k] for k in keys) <= 1)
    if rng.random() < 0.2:
        m.s[3].x[1].fix(1)
    m.cost = pyo.Objective(expr=sum(b.cost for b in m.s.values()) / 3)
    first = m.z if style == "one more" else m.s[1].x
    every = [b.x for b in m.s.values()]
    return m, [{}, {"blocks": m.s}, {"complicating": every}, {"complicating": first}][rng.integers(4)]


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
@pytest.mark.parametrize("seed", range(25))
def test_random_models_with_copies_reach_the_optimum_of_the_whole_model(seed, driver):
    best = solvers.solve(random_model(seed)[0], "scip", gap=1e-7)
    m, options = random_model(seed)
    found = explain_split(m, **options)
    assert not any(name.startswith("same") for name in [*found.master.rows, *found.couplings])
    result = solvers.solve(m, driver, gap=1e-6, **options)
    assert result.status is best.status
    if best.has_solution:
        assert result.objective == pytest.approx(best.objective, rel=1e-4, abs=1e-4)
        for k in m.s[1].x:
            assert len({round(b.x[k].value, 9) for b in m.s.values()}) == 1


def newsvendor(style="star", demands=(60, 90, 120)):
    m = pyo.ConcreteModel("newsvendor")
    m.order = pyo.Var(SCENARIOS, ["a"], bounds=(0, 200))
    m.sold = pyo.Var(SCENARIOS, bounds=lambda m, s: (0, demands[s - 1]))
    m.supply = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.sold[s] <= m.order[s, "a"])
    m.gain = pyo.Objective(expr=sum(3 * m.sold[s] - 5 / 3 * m.order[s, "a"] for s in SCENARIOS), sense=pyo.maximize)
    linked(m, style, lambda s, k: m.order[s, k], ["a"])
    return m


@pytest.mark.parametrize("style", ["star", "chain", "pairs", "one more"])
def test_copies_need_no_declaration(style):
    m = newsvendor(style)
    found = explain_split(m)
    assert len(found.master.variables) == 1
    assert [len(block.variables) for block in found.blocks] == [1, 1, 1]
    assert found.couplings == ["supply[1]", "supply[2]", "supply[3]"]
    assert "copies" in found.source
    result = solvers.solve(m, "benders")
    assert result.objective == pytest.approx(270)
    assert [v.value for v in m.order.values()] == pytest.approx([90, 90, 90])
    assert result.details["violation"] <= 1e-9


def test_bounds_and_fixed_values_of_copies_are_rows_of_the_master():
    m = newsvendor()
    m.order[2, "a"].setub(80)
    m.order[1, "a"].setlb(10)
    assert explain_split(m).master.rows == ["order[(1,a),lower bound]"]  # order[2] has the closest bounds
    assert solvers.solve(m, "benders").objective == pytest.approx(260)
    m.order[3, "a"].fix(70)
    assert solvers.solve(m, "benders").objective == pytest.approx(250)
    assert m.order[3, "a"].value == 70
    m.order[3, "a"].fix(90)
    assert solvers.solve(m, "benders").status is SolutionStatus.INFEASIBLE


def test_rows_between_copies_that_contradict_them_are_infeasible():
    m = newsvendor()
    m.apart = pyo.Constraint(expr=m.order[1, "a"] - m.order[2, "a"] >= 1)
    for driver in ("benders", "branch-and-cut"):
        assert solvers.solve(m, driver).status is SolutionStatus.INFEASIBLE


def test_copies_in_curved_terms_are_not_merged():
    m = newsvendor()
    m.gain.expr -= 0.01 * sum(v**2 for v in m.order.values())
    with pytest.raises(solvers.OptionError, match=r"Without stages solve the whole model by name: .*clarabel"):
        solvers.solve(m, "benders")
    m.z = pyo.Var(bounds=(0, 200))
    m.copy = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.order[s, "a"] == m.z)
    m.same.deactivate()
    best = solvers.solve(m.clone(), "clarabel").objective
    assert solvers.solve(m, "benders", complicating=m.z).objective == pytest.approx(best, rel=1e-4)


def test_equal_variables_of_one_block_stay_in_it():
    m = newsvendor()
    m.sent = pyo.Var(SCENARIOS, bounds=(0, None))
    m.all_sent = pyo.Constraint(SCENARIOS, rule=lambda m, s: m.sent[s] == m.sold[s])
    found = explain_split(m)
    assert len(found.master.variables) == 1
    assert [len(block.variables) for block in found.blocks] == [2, 2, 2]
