"""Solvers of the table in every role of every driver: the known answer, or an error that names the solver."""

import itertools
import logging

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from separators import rounded
from solvers import Block, OptionError, SolutionStatus, SolverError, solve
from solvers.interfaces.highs import quiet_highs
from solvers.interfaces.qualification import trials
from solvers.interfaces.runner import Runner

NAMES = ["appsi_highs", "gurobi_direct", "glpk", "cplex", "xpress"]
QUADRATIC = {"gurobi_direct", "cplex", "xpress"}


@pytest.fixture(params=NAMES)
def listed(request, need):
    """The name of a solver of the table that no driver uses by default."""
    return need(request.param)


@pytest.fixture
def asked(monkeypatch):
    """The solvers that were run inside."""
    names, real = set(), Runner.solve

    def solve_(self, model, **words):
        names.add(self.spec.name)
        return real(self, model, **words)

    monkeypatch.setattr(Runner, "solve", solve_)
    return names


@pytest.fixture(params=["appsi_highs", "gurobi_persistent"])
def thing(request, need):
    """A solver object, which all who work with it share."""
    need(request.param.replace("appsi_", "").split("_")[0])
    return pyo.SolverFactory(request.param)


def plant(curved=False, sense=pyo.minimize):
    """Open facilities and serve demand."""
    m = pyo.ConcreteModel()
    m.open = pyo.Var(range(4), domain=pyo.Binary)
    m.serve = pyo.Var(range(4), range(4), bounds=(0, None))
    cost = np.random.default_rng(3).uniform(1, 5, (4, 4))
    m.demand = pyo.Constraint(range(4), rule=lambda m, k: sum(m.serve[j, k] for j in range(4)) == 1)
    m.only = pyo.Constraint(range(4), range(4), rule=lambda m, j, k: m.serve[j, k] <= m.open[j])
    m.most = pyo.Constraint(range(4), rule=lambda m, j: sum(m.serve[j, k] for k in range(4)) <= 2)
    total = 1.5 * sum(m.open.values()) + sum(cost[j, k] * m.serve[j, k] for j, k in m.serve)
    total += sum(x**2 for x in m.serve.values()) if curved else 0
    m.total = pyo.Objective(expr=total if sense == pyo.minimize else -total, sense=sense)
    return m


def best(build):
    """By trying every choice."""
    found = []
    for y in itertools.product([0, 1], repeat=4):
        m = build()
        for j in range(4):
            m.open[j].fix(y[j])
        result = solve(m)
        found += [] if result.objective is None else [result.objective]
    return min(found) if result.minimize else max(found)


LINEAR = best(plant)
CURVED = best(lambda: plant(curved=True))


def optimal(result, value):
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(value, rel=2e-4)), result
    assert result.bound == pytest.approx(value, rel=3e-4)
    return result


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_the_linear_programs_of_branch_and_cut(listed, asked, sense):
    m = plant(sense=sense)
    result = solve(m, "branch-and-cut", complicating=[m.open], lp_solver=listed)
    optimal(result, LINEAR if sense == pyo.minimize else -LINEAR)
    assert listed in result.details["inside"]
    assert listed in asked


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_the_subproblems_of_benders(listed, asked, driver):
    m = plant()
    optimal(solve(m, driver, complicating=[m.open], sub_solver=listed), LINEAR)
    assert listed in asked
    m.demand[0].set_value(sum(m.serve[j, 0] for j in range(4)) == 5)  # of the most that is there, 4
    m.low = pyo.Constraint(expr=m.serve[0, 0] <= 0.5)
    assert solve(m, driver, complicating=[m.open], sub_solver=listed).status is SolutionStatus.INFEASIBLE


def test_an_unbounded_subproblem(listed):
    m = plant()
    m.gain = pyo.Var(bounds=(0, None))
    m.link = pyo.Constraint(expr=m.gain >= m.serve[0, 0] - 2)
    m.total.set_value(m.total.expr - m.gain)
    assert solve(m, "benders", complicating=[m.open], sub_solver=listed).status is SolutionStatus.UNBOUNDED


def test_quadratic_subproblems_of_benders(listed, asked):
    m = plant(curved=True)
    if listed in QUADRATIC:
        optimal(solve(m, "benders", complicating=[m.open], sub_solver=listed), CURVED)
        assert listed in asked
    else:
        with pytest.raises(SolverError, match=rf'"{listed}" does not support convex QP.*clarabel'):
            solve(m, "benders", complicating=[m.open], sub_solver=listed)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_the_master_of_benders(listed, asked, sense):
    m = plant(sense=sense)
    result = solve(m, "benders", complicating=[m.open], master_solver=listed)
    optimal(result, LINEAR if sense == pyo.minimize else -LINEAR)
    assert listed in result.details["inside"]
    assert listed in asked
    m.none = pyo.Constraint(expr=sum(m.open.values()) <= 1)
    result = solve(m, "benders", complicating=[m.open], master_solver=listed, sub_solver=listed)
    assert result.status is SolutionStatus.INFEASIBLE


def test_the_tree_of_single_tree_needs_lazy_cuts(listed, need):
    m = plant()
    with pytest.raises(SolverError, match=rf'"{listed}" does not support lazy cuts.*"branch-and-cut", "benders"'):
        solve(m, "single-tree", complicating=[m.open], master_solver=listed)
    need("gurobi")
    optimal(solve(m, "single-tree", complicating=[m.open], sub_solver=listed), LINEAR)


def test_the_linear_programs_of_cutting_planes(listed, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    optimal(solve(m, "cutting-plane", lp_solver=listed, gap=1e-4), 6**0.5)
    assert listed in asked
    m.far = pyo.Constraint(expr=m.x >= 2)
    assert solve(m, "cutting-plane", lp_solver=listed, gap=1e-4).status is SolutionStatus.INFEASIBLE


def test_the_mixed_integer_programs_of_cutting_planes(listed, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5), domain=pyo.Integers), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    optimal(solve(m, "cutting-plane", master_solver=listed, lp_solver=listed, gap=1e-4), 1 + 2**0.5)
    assert listed in asked


def test_the_linear_programs_of_sla(listed, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.cost = pyo.Objective(expr=m.y - (m.x - 1.5) ** 2)
    result = solve(m, "sla", lp_solver=listed)
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(-1.25))
    assert listed in asked


def test_the_mixed_integer_programs_of_sla(listed, asked):
    m = pyo.ConcreteModel()
    m.x, m.y, m.on = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2)), pyo.Var(domain=pyo.Binary)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.link = pyo.Constraint(expr=m.x <= 2 * m.on)
    m.cost = pyo.Objective(expr=m.y - (m.x - 1.5) ** 2 + 0.1 * m.on)
    result = solve(m, "sla", master_solver=listed)
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(-1.25))
    assert listed in asked


@pytest.mark.parametrize("integer", [False, True])
def test_the_problems_of_row_generation(listed, integer):
    m = rounded(integer)
    result = solve(m, "row-generation", master_solver=listed)
    value = -2.0 if integer else -(5**0.5)
    optimal(result, value)


@pytest.mark.parametrize("how", ["slot", "block"])
def test_the_blocks_of_alternating(listed, asked, how):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x >= 0.5)
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    if how == "slot":
        result = solve(m, "alternating", blocks=[[m.x], [m.y]], lp_solver=listed)
    else:
        result = solve(m, "alternating", blocks=[Block([m.x], solver=listed), Block([m.y], solver=listed)])
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(-2))
    assert listed in asked


def test_a_block_with_integers(listed, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 4), domain=pyo.Integers), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=2 * m.x <= 5)
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    result = solve(m, "alternating", blocks=[Block([m.x], solver=listed), [m.y]])
    assert result.objective == pytest.approx(-2)
    assert listed in asked


def test_whole_models(listed):
    m = plant()
    result = solve(m, listed)
    optimal(result, LINEAR)
    for y in m.open.values():
        y.domain = pyo.UnitInterval
    assert solve(m, listed).objective == pytest.approx(solve(m, "highs").objective)
    for row in m.only.values():
        row.deactivate()
    m.most.deactivate()
    m.demand.deactivate()
    m.clash = pyo.Constraint(expr=m.serve[0, 0] - m.serve[0, 1] >= 1)
    m.other = pyo.Constraint(expr=m.serve[0, 1] - m.serve[0, 0] >= 1)
    assert solve(m, listed).status is SolutionStatus.INFEASIBLE
    m.clash.deactivate()
    m.total.set_value(-m.serve[0, 0] - m.serve[0, 1])
    status = solve(m, listed).status
    assert status in (SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)  # it may not tell which


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_multipliers_of_a_whole_model(listed, sense):
    trial = next(t for t in trials() if t.model.name == "LP" and t.model.cost.sense == sense)
    trial.model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert optimal(solve(trial.model, listed), trial.optimum).message == ""
    for row, slope in trial.multipliers:
        assert trial.model.dual[row] == pytest.approx(slope, abs=1e-6)


def test_options_of_the_run_are_passed_or_rejected(listed, caplog):
    m = plant()
    words = {"time_limit": 60, "gap": 1e-3}
    for driver, slot in (("benders", "master"), ("benders", "sub"), ("branch-and-cut", "lp")):
        with caplog.at_level(logging.WARNING, "solvers"):
            result = solve(m, driver, complicating=[m.open], **{f"{slot}_solver": listed}, **words)
        assert result.objective == pytest.approx(LINEAR, rel=2e-3)
        assert not caplog.text
    for word in ("threads", "seed"):
        given = {"complicating": [m.open], "sub_solver": listed, word: 1}
        assert solve(m, "benders", **given).objective == pytest.approx(LINEAR, rel=2e-4)
        assert solve(m, listed, **{word: 1}).objective == pytest.approx(LINEAR, rel=2e-4)


@pytest.mark.parametrize("before", [1, 2])
def test_the_threads_of_highs_whoever_ran_it_before(before):
    def ran():
        """As a notebook's own calls: the pool of a run stays in this thread, and refuses another number of threads."""
        highs = quiet_highs()
        highs.addVars(1, np.zeros(1), np.ones(1))
        highs.setOptionValue("threads", before)
        return highs.run()

    ran()
    m = plant()
    for threads in (1, 2):
        optimal(solve(m, "appsi_highs", threads=threads), LINEAR)
        optimal(solve(m, "branch-and-cut", complicating=[m.open], lp_solver="appsi_highs", threads=threads), LINEAR)
    optimal(solve(m, "appsi_highs"), LINEAR)
    highspy.Highs.resetGlobalScheduler(False)
    optimal(solve(m, "appsi_highs", threads=3 - before), LINEAR)
    assert ran() == highspy.HighsStatus.kOk  # nor does ours refuse another's


def test_a_time_limit_stops_it(listed, textbook):
    import time

    m, start = textbook.market_split(exact=False), time.perf_counter()
    result = solve(m, listed, time_limit=1)
    assert time.perf_counter() - start < 120  # without a limit it takes hours
    assert result.stop_reason is solvers.StopReason.TIME_LIMIT
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.NO_SOLUTION)
    assert result.bound is None or result.bound <= result.objective


def test_options_of_a_slot_reach_the_solver_or_are_rejected(listed):
    m = plant()
    with pytest.raises((OptionError, SolverError), match="nonsense"):
        solve(m, "benders", complicating=[m.open], sub_solver=listed, sub_options={"nonsense": 3})
    if listed == "appsi_highs":
        options = {"presolve": "off"}
        optimal(solve(m, "benders", complicating=[m.open], sub_solver=listed, sub_options=options), LINEAR)


def test_one_object_in_every_slot(thing):
    m = plant()
    optimal(solve(m, "benders", complicating=[m.open], master_solver=thing, sub_solver=thing), LINEAR)
    result = solve(m, "branch-and-cut", complicating=[m.open], lp_solver=thing, sub_solver=thing)
    optimal(result, LINEAR)
    m.most.deactivate()
    value = best(lambda: edited())
    optimal(solve(m, "benders", complicating=[m.open], master_solver=thing, sub_solver=thing), value)
    optimal(solve(m, thing), value)


def edited():
    m = plant()
    m.most.deactivate()
    return m


def test_the_default_solvers_as_objects():
    m = plant()
    highs = pyo.SolverFactory("highs")
    result = solve(m, "benders", complicating=[m.open], master_solver=highs, sub_solver=highs)
    optimal(result, LINEAR)
    assert result.details["inside"] == ["highs"]
