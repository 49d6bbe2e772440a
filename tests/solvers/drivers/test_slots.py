"""Options and logs by slot: each reaches the solver it is for, or is refused; and what ends a run of any driver."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

from model_state import state
from separators import rounded
from solvers import Block, OptionError, SolutionStatus, StopReason, solve
from solvers.drivers.catalogue import DRIVERS
from solvers.interfaces.runner import Runner
from solvers.lp.highs import HighsLP
from solvers.lp.mixed import HighsProgram
from solvers.model.classes import violation


def plant():
    """Open facilities and serve demand: 8 at y = (1, 0, 1)."""
    m = pyo.ConcreteModel()
    m.open = pyo.Var(range(3), domain=pyo.Binary)
    m.serve = pyo.Var(range(3), range(3), bounds=(0, None))
    cost = np.array([[1, 4, 5], [4, 3, 4], [5, 4, 1]])
    m.demand = pyo.Constraint(range(3), rule=lambda m, k: sum(m.serve[j, k] for j in range(3)) == 1)
    m.only = pyo.Constraint(range(3), range(3), rule=lambda m, j, k: m.serve[j, k] <= m.open[j])
    m.cost = pyo.Objective(expr=2 * sum(m.open.values()) + sum(cost[j, k] * m.serve[j, k] for j, k in m.serve))
    return m


def enumerated():
    best = np.inf
    for y in itertools.product([0, 1], repeat=3):
        m = plant()
        for j in range(3):
            m.open[j].fix(y[j])
        value = solve(m, "highs").objective
        best = best if value is None else min(best, value)
    return best


def disc(domain=pyo.Reals):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5), domain=domain), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


def concave():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.cost = pyo.Objective(expr=-pyo.exp(-m.x) * 0 - (m.x - 1.5) ** 2 + m.y)
    return m


def chosen():
    """A concave cost and a choice."""
    m = concave()
    m.on = pyo.Var(domain=pyo.Binary)
    m.link = pyo.Constraint(expr=m.x <= 2 * m.on)
    m.cost.set_value(m.cost.expr + 0.1 * m.on)
    return m


def bilinear():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x >= 0.5)
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    return m


def curved():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-3, 3), initialize=0)
    m.cost = pyo.Objective(expr=pyo.exp(m.x) - 2 * m.x)
    return m


# driver, slot -> (model, further options, an option that its default solver has, a name that it does not have)
SLOTS = {
    ("benders", "master"): (plant, ["open"], {"mip_heuristic_effort": 0.2}, "mip_heuristic_efort"),
    ("benders", "sub"): (plant, ["open"], {"presolve": "off"}, "presolv"),
    ("single-tree", "master"): (plant, ["open"], {"Heuristics": 0.5}, "Heuristic"),
    ("single-tree", "sub"): (plant, ["open"], {"presolve": "off"}, "presolv"),
    ("branch-and-cut", "lp"): (plant, ["open"], {"primal_feasibility_tolerance": 1e-8}, "primal_feasibility_tol"),
    ("branch-and-cut", "sub"): (plant, ["open"], {"presolve": "off"}, "presolv"),
    ("cutting-plane", "lp"): (disc, [], {"primal_feasibility_tolerance": 1e-9}, "primal_feasibility_tol"),
    ("cutting-plane", "master"): (
        lambda: disc(pyo.Integers),
        [],
        {"mip_heuristic_effort": 0.2},
        "mip_heuristic_efort",
    ),
    ("sla", "lp"): (concave, [], {"primal_feasibility_tolerance": 1e-9}, "primal_feasibility_tol"),
    ("sla", "master"): (chosen, [], {"mip_heuristic_effort": 0.2}, "mip_heuristic_efort"),
    ("row-generation", "master"): (lambda: rounded(True), [], {"mip_heuristic_effort": 0.2}, "mip_heuristic_efort"),
    ("alternating", "lp"): (bilinear, ["blocks"], {"primal_feasibility_tolerance": 1e-9}, "primal_feasibility_tol"),
    ("multi-start", "sub"): (curved, [], {"mu_init": 0.01}, "mu_initial"),
}


def words(model, further):
    if "open" in further:
        return {"complicating": [model.open]}
    return {"blocks": [[model.x], [model.y]]} if "blocks" in further else {}


@pytest.fixture
def told(monkeypatch):
    """What every solver inside was told, in its own words."""
    seen, solve_, init = [], Runner.solve, HighsLP.__init__

    def noted(self, model, **more):
        seen.append(dict(self.options.own))
        return solve_(self, model, **more)

    def made(self, *arguments, **more):
        seen.append(dict(more.get("options") or {}))
        init(self, *arguments, **more)

    def mixed(self, spec, words, *arguments, **more):
        seen.append(dict(words.own))
        begin(self, spec, words, *arguments, **more)

    begin = HighsProgram.__init__
    monkeypatch.setattr(HighsProgram, "__init__", mixed)
    monkeypatch.setattr(Runner, "solve", noted)
    monkeypatch.setattr(HighsLP, "__init__", made)
    return seen


def test_every_slot_of_every_driver_has_options_and_is_in_the_table():
    slots = {(name, slot) for name, driver in DRIVERS.items() for slot in driver.options_type.slots()}
    assert slots == set(SLOTS)
    for name, slot in slots:
        assert f"{slot}_options" in DRIVERS[name].options_type.__dataclass_fields__


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_the_options_of_a_slot_reach_its_solver(driver, slot, told, need):
    build, further, option, _ = SLOTS[driver, slot]
    if driver == "single-tree":
        need("gurobi")
    plain = build()
    without = solve(plain, driver, **words(plain, further))
    assert not [own for own in told if option.items() <= own.items()]
    model = build()
    result = solve(model, driver, **{f"{slot}_options": option}, **words(model, further))
    assert [own for own in told if option.items() <= own.items()]
    assert (result.status, result.objective) == (without.status, pytest.approx(without.objective, abs=1e-5))


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_an_option_that_the_solver_of_a_slot_does_not_have_is_refused(driver, slot, need):
    build, further, option, wrong = SLOTS[driver, slot]
    if driver == "single-tree":
        need("gurobi")
    model = build()
    with pytest.raises(OptionError, match=rf'"{wrong}" is not one of \w+. Did you mean "{next(iter(option))}"'):
        solve(model, driver, **{f"{slot}_options": {wrong: 1}}, **words(model, further))


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_a_value_that_an_option_does_not_allow_is_refused(driver, slot, need):
    build, further, option, _ = SLOTS[driver, slot]
    if driver == "single-tree":
        need("gurobi")
    model, name = build(), next(iter(option))
    with pytest.raises(OptionError, match=name):
        solve(model, driver, **{f"{slot}_options": {name: "nonsense"}}, **words(model, further))
    with pytest.raises(OptionError, match="a mapping from option to value"):
        solve(model, driver, **{f"{slot}_options": [name]}, **words(model, further))


def test_what_a_driver_needs_of_a_solver_is_not_to_be_changed(need):
    m = plant()
    with pytest.raises(OptionError, match="simplex_strategy=4 is not allowed for the linear programs of a driver"):
        solve(m, "branch-and-cut", complicating=[m.open], lp_options={"simplex_strategy": 4})
    with pytest.raises(OptionError, match=r"mip_rel_gap=0.5 is not allowed here: give the option gap of the driver"):
        solve(disc(pyo.Integers), "cutting-plane", master_options={"mip_rel_gap": 0.5})
    need("gurobi")
    with pytest.raises(OptionError, match="the driver needs LazyConstraints=1"):
        solve(m, "single-tree", complicating=[m.open], master_options={"lazyconstraints": 0})


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
@pytest.mark.parametrize("name", ["time_limit", "TimeLimit", "limits/time"])
def test_a_time_limit_is_the_runs(driver, slot, name):
    build, further, _, _ = SLOTS[driver, slot]
    model = build()
    with pytest.raises(OptionError, match=f"{slot}_options {name}=3 is not allowed: give the driver's time_limit"):
        solve(model, driver, **{f"{slot}_options": {name: 3}}, **words(model, further))


def press(row):
    raise KeyboardInterrupt


STOPS = [
    ({"time_limit": 0}, StopReason.TIME_LIMIT),
    ({"iteration_limit": 1}, StopReason.ITERATION_LIMIT),
    ({"callback": lambda row: True}, StopReason.CALLBACK),
    ({"callback": press}, StopReason.INTERRUPTED),
]


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_a_run_that_is_stopped_returns_what_there_is_and_leaves_the_model(driver, slot):
    build, further, _, _ = SLOTS[driver, slot]
    model = build()
    best = solve(model, driver, **words(model, further))
    sign = 1.0 if best.minimize else -1.0
    for stop, reason in STOPS:
        model = build()
        before = state(model)
        result = solve(model, driver, **stop, **words(model, further))
        assert result.stop_reason in (reason, StopReason.CONVERGED)
        assert state(model) == before
        assert (result.objective is None) == (result.status is SolutionStatus.NO_SOLUTION)
        if result.objective is None:
            assert all(v.value in (None, 0) for v in model.component_data_objects(pyo.Var))
        else:
            assert violation(model) <= 1e-6
            objective = next(model.component_data_objects(pyo.Objective, active=True))
            assert result.objective == pytest.approx(pyo.value(objective), abs=1e-9)
            assert best.bound is None or sign * result.objective >= sign * best.bound - 1e-5
        assert result.bound is None or sign * result.bound <= sign * best.objective + 1e-6


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_an_error_in_a_callback_leaves_the_model(driver, slot):
    build, further, _, _ = SLOTS[driver, slot]
    model = build()
    for v in model.component_data_objects(pyo.Var):
        v.set_value(1.0)
    before = state(model)
    with pytest.raises(ZeroDivisionError):
        solve(model, driver, callback=lambda row: 1 / 0, **words(model, further))
    assert state(model) == before
    assert {v.value for v in model.component_data_objects(pyo.Var)} == {1.0}


def test_options_that_would_go_to_another_solver_are_refused():
    m = concave()
    m.cost.set_value(m.x + m.y)
    with pytest.raises(OptionError, match="the model is linear, which highs solves"):
        solve(m, "multi-start", sub_options={"mu_init": 0.01})


def test_options_of_curved_blocks_are_for_a_solver_that_is_named(told):
    m = plant()
    m.cost.set_value(m.cost.expr + sum(pyo.cosh(x) + pyo.sinh(x) for x in m.serve.values()))  # without a rule
    words = {"complicating": [m.open], "assume_convex": True}
    with pytest.raises(OptionError, match=r'curved blocks.*sub_solver="'):
        solve(m, "benders", sub_options={"max_iter": 90}, **words)
    solve(m, "benders", sub_solver="pounce", sub_options={"max_iter": 90}, **words)
    assert {"max_iter": 90} in told


def test_options_of_conic_blocks_are_those_of_clarabel():
    m = plant()
    m.cost.set_value(m.cost.expr + sum(x**2 for x in m.serve.values()))
    with pytest.raises(OptionError, match='Clarabel has no option "mu_init"'):
        solve(m, "benders", complicating=[m.open], sub_options={"mu_init": 0.1})
    assert solve(m, "benders", complicating=[m.open], sub_options={"max_iter": 90}).objective is not None


def test_a_block_has_options_of_its_own(told):
    m = bilinear()
    blocks = [Block([m.x], options={"presolve": "off"}), Block([m.y], solver="highs", options={"presolve": "on"})]
    assert solve(m, "alternating", blocks=blocks).objective == pytest.approx(-2)
    assert {"presolve": "off"} in told
    assert {"presolve": "on"} in told
    with pytest.raises(OptionError, match=r'"presolv" is not one of highs. Did you mean "presolve"'):
        solve(m, "alternating", blocks=[Block([m.x], solver="highs", options={"presolv": "off"}), [m.y]])


@pytest.mark.parametrize(("driver", "slot"), SLOTS)
def test_a_slot_shows_its_log_and_no_other_does(driver, slot, need, capfd):
    build, further, _, _ = SLOTS[driver, slot]
    if driver == "single-tree":
        need("gurobi")
    model = build()
    solve(model, driver, **words(model, further))
    assert capfd.readouterr().out == ""
    model = build()
    solve(model, driver, tee=slot, **words(model, further))
    log = capfd.readouterr().out
    assert any(word in log for word in ("HiGHS", "Gurobi", "POUNCE", "iter")), log
    assert "|S|" not in log
    model = build()
    solve(model, driver, tee=[slot, "table"], **words(model, further))
    assert "|S|" in capfd.readouterr().out


def test_a_log_that_nobody_writes_is_refused():
    m = plant()
    with pytest.raises(OptionError, match=r"tee='lp' is not allowed: give True, False, or .*table, sub, master"):
        solve(m, "benders", complicating=[m.open], tee="lp")
    with pytest.raises(OptionError, match="highs solves the whole model"):
        solve(m, "highs", tee="master")


def test_the_answer_is_that_of_enumeration():
    best = enumerated()
    for driver in ("benders", "branch-and-cut"):
        m = plant()
        result = solve(m, driver, complicating=[m.open], sub_options={"presolve": "off"})
        assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(best))
