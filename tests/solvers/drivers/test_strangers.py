"""Solvers of Pyomo's own in every slot of every driver: the known answer, or refused by name."""

import itertools
import logging

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from separators import rounded
from solvers import Block, OptionError, SolutionStatus, SolverError, solve
from solvers.interfaces import strangers, trials
from solvers.interfaces.highs import quiet_highs
from solvers.interfaces.registry import SOLVERS
from solvers.interfaces.runner import Runner
from solvers.interfaces.trials import DOWN
from solvers.reading import read

FORGOTTEN = ("cbc", "glpk")
STRANGERS = ["appsi_highs", "gurobi_direct", "appsi_gurobi", "cbc", "glpk"]
TRIALS = {
    t.model.name for t in (*trials.clashing(True), *(f(DOWN) for f in (trials.linear, trials.integer, trials.hard)))
}
TRIALS.add(trials.free_integers().model.name)
QUADRATIC = {"gurobi_direct", "appsi_gurobi", "gurobi_persistent"}


@pytest.fixture(params=STRANGERS)
def stranger(request, need, monkeypatch):
    """The name of a solver that is not in the table."""
    need(request.param.replace("appsi_", "").split("_")[0])
    for name in FORGOTTEN:
        monkeypatch.delitem(SOLVERS, name)
    assert request.param not in SOLVERS
    return request.param


@pytest.fixture
def asked(monkeypatch):
    """The solvers that were run inside, but for trials."""
    names, real = set(), Runner.solve

    def solve_(self, model, **words):
        if read(model).model.name not in TRIALS:
            names.add(self.spec.name)
        return real(self, model, **words)

    monkeypatch.setattr(Runner, "solve", solve_)
    return names


@pytest.fixture(params=["appsi_highs", "gurobi_persistent", "gurobi_direct_v2"])
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
def test_the_linear_programs_of_branch_and_cut(stranger, asked, sense):
    m = plant(sense=sense)
    result = solve(m, "branch-and-cut", complicating=[m.open], lp_solver=stranger)
    optimal(result, LINEAR if sense == pyo.minimize else -LINEAR)
    assert stranger in result.details["inside"]
    assert stranger in asked


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_the_subproblems_of_benders(stranger, asked, driver):
    m = plant()
    optimal(solve(m, driver, complicating=[m.open], sub_solver=stranger), LINEAR)
    assert stranger in asked
    m.demand[0].set_value(sum(m.serve[j, 0] for j in range(4)) == 5)  # of the most that is there, 4
    m.low = pyo.Constraint(expr=m.serve[0, 0] <= 0.5)
    assert solve(m, driver, complicating=[m.open], sub_solver=stranger).status is SolutionStatus.INFEASIBLE


def test_an_unbounded_subproblem(stranger):
    m = plant()
    m.gain = pyo.Var(bounds=(0, None))
    m.link = pyo.Constraint(expr=m.gain >= m.serve[0, 0] - 2)
    m.total.set_value(m.total.expr - m.gain)
    assert solve(m, "benders", complicating=[m.open], sub_solver=stranger).status is SolutionStatus.UNBOUNDED


def test_quadratic_subproblems_of_benders(stranger, asked):
    m = plant(curved=True)
    if stranger in QUADRATIC:
        optimal(solve(m, "benders", complicating=[m.open], sub_solver=stranger), CURVED)
        assert stranger in asked
    else:
        with pytest.raises(SolverError, match=rf'"{stranger}" cannot do this: convex QP needed.*clarabel'):
            solve(m, "benders", complicating=[m.open], sub_solver=stranger)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_the_master_of_benders(stranger, asked, sense):
    m = plant(sense=sense)
    if stranger == "cbc":
        with pytest.raises(SolverError, match=r'"cbc" cannot solve a master.*-307.2.*whose optimum is -327.68.*highs'):
            solve(m, "benders", complicating=[m.open], master_solver=stranger)
        return
    result = solve(m, "benders", complicating=[m.open], master_solver=stranger)
    optimal(result, LINEAR if sense == pyo.minimize else -LINEAR)
    assert stranger in result.details["inside"]
    assert stranger in asked
    m.none = pyo.Constraint(expr=sum(m.open.values()) <= 1)
    result = solve(m, "benders", complicating=[m.open], master_solver=stranger, sub_solver=stranger)
    assert result.status is SolutionStatus.INFEASIBLE


def test_the_tree_of_single_tree_takes_no_stranger(stranger, need):
    m = plant()
    with pytest.raises(
        SolverError, match=rf'"{stranger}" cannot do this: lazy cuts needed.*"branch-and-cut", "benders"'
    ):
        solve(m, "single-tree", complicating=[m.open], master_solver=stranger)
    need("gurobi")
    optimal(solve(m, "single-tree", complicating=[m.open], sub_solver=stranger), LINEAR)


def test_the_linear_programs_of_cutting_planes(stranger, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    optimal(solve(m, "cutting-plane", lp_solver=stranger, gap=1e-4), 6**0.5)
    assert stranger in asked
    m.far = pyo.Constraint(expr=m.x >= 2)
    assert solve(m, "cutting-plane", lp_solver=stranger, gap=1e-4).status is SolutionStatus.INFEASIBLE


def test_the_mixed_integer_programs_of_cutting_planes(stranger, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5), domain=pyo.Integers), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    if stranger == "cbc":
        with pytest.raises(SolverError, match="cannot solve a master"):
            solve(m, "cutting-plane", master_solver=stranger)
    else:
        optimal(solve(m, "cutting-plane", master_solver=stranger, lp_solver=stranger, gap=1e-4), 1 + 2**0.5)
        assert stranger in asked


def test_the_linear_programs_of_sla(stranger, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.cost = pyo.Objective(expr=m.y - (m.x - 1.5) ** 2)
    result = solve(m, "sla", lp_solver=stranger)
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(-1.25))
    assert stranger in asked


def test_the_mixed_integer_programs_of_sla(stranger, asked):
    m = pyo.ConcreteModel()
    m.x, m.y, m.on = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2)), pyo.Var(domain=pyo.Binary)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.link = pyo.Constraint(expr=m.x <= 2 * m.on)
    m.cost = pyo.Objective(expr=m.y - (m.x - 1.5) ** 2 + 0.1 * m.on)
    result = solve(m, "sla", master_solver=stranger)
    shown = SolutionStatus.FEASIBLE if stranger == "cbc" else SolutionStatus.STATIONARY
    assert (result.status, result.objective) == (shown, pytest.approx(-1.25))
    assert stranger in asked


@pytest.mark.parametrize("integer", [False, True])
def test_the_problems_of_row_generation(stranger, integer):
    m = rounded(integer)
    result = solve(m, "row-generation", master_solver=stranger)
    value = -2.0 if integer else -(5**0.5)
    if (stranger, integer) == ("cbc", True):
        assert (result.status, result.bound) == (SolutionStatus.FEASIBLE, None)
        return
    optimal(result, value)


@pytest.mark.parametrize("how", ["slot", "block"])
def test_the_blocks_of_alternating(stranger, asked, how):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x >= 0.5)
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    if how == "slot":
        result = solve(m, "alternating", blocks=[[m.x], [m.y]], lp_solver=stranger)
    else:
        result = solve(m, "alternating", blocks=[Block([m.x], solver=stranger), Block([m.y], solver=stranger)])
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(-2))
    assert stranger in asked


def test_a_block_with_integers(stranger, asked):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 4), domain=pyo.Integers), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=2 * m.x <= 5)
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    result = solve(m, "alternating", blocks=[Block([m.x], solver=stranger), [m.y]])
    assert result.objective == pytest.approx(-2)
    assert stranger in asked


def test_the_local_solver_of_multi_start(stranger):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-1, 2)), pyo.Var(bounds=(-1, 2))
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.cost = pyo.Objective(expr=m.x * m.y)
    if stranger in QUADRATIC:
        result = solve(m, "multi-start", sub_solver=stranger, starts=2)
        assert (result.status, result.objective, result.bound) == (SolutionStatus.STATIONARY, pytest.approx(-2), None)
    else:
        with pytest.raises(SolverError, match=stranger):
            solve(m, "multi-start", sub_solver=stranger, starts=2)


def test_whole_models(stranger):
    m = plant()
    result = solve(m, stranger)
    if stranger == "cbc":
        assert (result.status, result.bound) == (SolutionStatus.FEASIBLE, None)
        assert "-307.2" in result.message
    else:
        optimal(result, LINEAR)
    for y in m.open.values():
        y.domain = pyo.UnitInterval
    assert solve(m, stranger).objective == pytest.approx(solve(m, "highs").objective)
    for row in m.only.values():
        row.deactivate()
    m.most.deactivate()
    m.demand.deactivate()
    m.clash = pyo.Constraint(expr=m.serve[0, 0] - m.serve[0, 1] >= 1)
    m.other = pyo.Constraint(expr=m.serve[0, 1] - m.serve[0, 0] >= 1)
    assert solve(m, stranger).status is SolutionStatus.INFEASIBLE
    m.clash.deactivate()
    m.total.set_value(-m.serve[0, 0] - m.serve[0, 1])
    status = solve(m, stranger).status
    assert status in (SolutionStatus.UNBOUNDED, SolutionStatus.NO_SOLUTION)  # it may not tell which


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_multipliers_of_a_whole_model(stranger, sense):
    trial = trials.linear(sense)
    trial.model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert optimal(solve(trial.model, stranger), trial.optimum).message == ""
    for row, slope in trial.multipliers:
        assert trial.model.dual[row] == pytest.approx(slope, abs=1e-6)


def test_the_words_of_the_run_are_passed_or_refused(stranger, caplog):
    m = plant()
    words = {"time_limit": 60, "gap": 1e-3}
    for driver, slot in (("benders", "master"), ("benders", "sub"), ("branch-and-cut", "lp")):
        if (stranger, slot) != ("cbc", "master"):
            with caplog.at_level(logging.WARNING, "solvers"):
                result = solve(m, driver, complicating=[m.open], **{f"{slot}_solver": stranger}, **words)
            assert result.objective == pytest.approx(LINEAR, rel=2e-3)
            assert not caplog.text
    for word in ("threads", "seed"):
        given = {"complicating": [m.open], "sub_solver": stranger, word: 1}
        if stranger == "glpk":
            with pytest.raises(OptionError, match=f'"{word}" cannot be passed to glpk'):
                solve(m, "benders", **given)
            with pytest.raises(OptionError, match=f'"{word}" cannot be passed to glpk'):
                solve(m, "glpk", **{word: 1})
        else:
            assert solve(m, "benders", **given).objective == pytest.approx(LINEAR, rel=2e-4)
            assert solve(m, stranger, **{word: 1}).objective == pytest.approx(LINEAR, rel=2e-4)


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


def test_a_time_limit_stops_it(stranger, textbook):
    import time

    m, start = textbook.market_split(exact=False), time.perf_counter()
    result = solve(m, stranger, time_limit=1)
    assert time.perf_counter() - start < 120  # the probe and its trials are within; without a limit it takes hours
    assert result.stop_reason is solvers.StopReason.TIME_LIMIT
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.NO_SOLUTION)
    assert result.bound is None or result.bound <= result.objective


def test_options_of_a_slot_reach_a_stranger_or_are_refused(stranger):
    m = plant()
    with pytest.raises((OptionError, SolverError), match="nonsense"):
        solve(m, "benders", complicating=[m.open], sub_solver=stranger, sub_options={"nonsense": 3})
    if stranger == "appsi_highs":
        options = {"presolve": "off"}
        optimal(solve(m, "benders", complicating=[m.open], sub_solver=stranger, sub_options=options), LINEAR)


def test_words_that_pyomo_has_no_way_to_pass_are_refused_or_said(monkeypatch, caplog):
    monkeypatch.setitem(strangers._PROGRAMS, "highs", strangers._Program())
    m, odd = plant(), pyo.SolverFactory("appsi_highs")
    with caplog.at_level(logging.WARNING, "solvers"):
        optimal(solve(m, "benders", complicating=[m.open], master_solver=odd, time_limit=60), LINEAR)
    assert "passes no gap to" in caplog.text
    for word in ("threads", "seed"):
        with pytest.raises(OptionError, match=f'"{word}" cannot be passed to'):
            solve(m, "benders", complicating=[m.open], master_solver=odd, **{word: 1})
    with pytest.raises(OptionError, match='"gap" cannot be passed to'):
        solve(m, odd, gap=0.1)


def test_a_solver_that_takes_no_time_limit_gets_no_run_with_one(need, monkeypatch):
    need("gurobi")
    monkeypatch.setitem(strangers._PROGRAMS, "gurobi", strangers._Program())  # Pyomo ignores timelimit= here
    m, odd = plant(), pyo.SolverFactory("gurobi_direct")
    optimal(solve(m, "benders", complicating=[m.open], master_solver=odd), LINEAR)
    for call in ({"solver": "benders", "complicating": [m.open], "master_solver": odd}, {"solver": odd}):
        with pytest.raises(OptionError, match='"time_limit" cannot be passed to'):
            solve(m, time_limit=60, **call)


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
