"""Lazy Benders cuts in one tree: equal to enumeration and the other drivers, cuts the same, bounds, limits, refusals.

Every test that solves runs once for each registered solver that claims lazy cuts.
"""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn

import fsmodels as fs
import solvers
from fsmodels.models.fsp.oracle import relaxation
from model_state import state
from solvers import OptionError, SolutionStatus, SolverError, StopReason
from solvers.drivers.benders.lazy_tree import LazyTree
from solvers.errors import LicenceError
from solvers.interfaces.registry import SOLVERS, names
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import violation

DRIVER = "single-tree"


@pytest.fixture(params=names(C.LAZY_CUTS, installed=False))
def tree(request, need):
    """A function that solves in one tree, checks that nothing but values changed, and brackets the optimum."""
    need(request.param)

    def solve(model, truth=None, **options):
        before = state(model)
        result = fs.solve(model, DRIVER, master_solver=request.param, **options)
        assert state(model) == before
        if truth is not None:
            sign = 1.0 if result.minimize else -1.0
            bound, incumbent = (sign * result.iterations[c].dropna().to_numpy(float) for c in ("Bound", "Incumbent"))
            room = 1e-9 * max(1.0, abs(truth))
            assert (bound <= sign * truth + room).all()
            assert (incumbent >= sign * truth - 100 * room).all()
            assert (np.diff(bound) >= 0).all()
            assert (np.diff(incumbent) <= 0).all()
        return result

    return solve


def assert_optimal(result, model, truth, rel=1e-6):
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=rel)
    assert violation(model) <= 1e-6
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    assert pyo.value(objective) == pytest.approx(result.objective, rel=1e-6)


# Against enumeration and the monolith.


SITES, CUSTOMERS = range(6), range(10)


def facility(capacity=None, sense=pyo.minimize):
    """Open facilities, serve customers: the textbook's model."""
    cost = np.random.default_rng(0).uniform(1, 10, (len(SITES), len(CUSTOMERS)))
    m = pyo.ConcreteModel()
    m.open = pyo.Var(SITES, domain=pyo.Binary)
    m.serve = pyo.Var(SITES, CUSTOMERS, bounds=(0, None))
    m.all = pyo.Constraint(CUSTOMERS, rule=lambda m, c: sum(m.serve[f, c] for f in SITES) == 1)
    m.link = pyo.Constraint(SITES, CUSTOMERS, rule=lambda m, f, c: m.serve[f, c] <= m.open[f])
    if capacity is not None:
        m.room = pyo.Constraint(SITES, rule=lambda m, f: sum(m.serve[f, c] for c in CUSTOMERS) <= capacity * m.open[f])
    total = 8.0 * sum(m.open.values()) + sum(cost[f, c] * m.serve[f, c] for f in SITES for c in CUSTOMERS)
    m.cost = pyo.Objective(expr=total if sense == pyo.minimize else 500 - total, sense=sense)
    return m, cost


def test_a_master_without_integers_is_solved_tree_after_tree(tree):
    model, _ = facility()
    for v in model.open.values():
        v.domain = pyo.UnitInterval
    truth = fs.solve(model, "highs").objective
    assert_optimal(tree(model, complicating=model.open, gap=1e-6), model, truth)


def test_everything_fixed(tree, data, values_of):
    model = fs.fsp.fsp_m(data, max_features=2)
    for j in model.features:
        model.sigma[j].fix(j in "ab")
    model.shift = pyo.Constraint(expr=model.b >= -50)  # no longer as built
    model.structure.floor = None  # so that eta starts fixed
    assert_optimal(tree(model, gap=1e-6), model, values_of(data)[1, 1, 0, 0])


def test_an_unbounded_master_of_a_bounded_model(tree):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Integers), pyo.Var(bounds=(0, None))
    m.row = pyo.Constraint(expr=m.y >= m.x)
    m.cost = pyo.Objective(expr=2 * m.y - m.x)
    result = tree(m, complicating=m.x, time_limit=600)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, 0.0)
    m.cost.set_value(0.5 * m.y - m.x)
    result = tree(m, complicating=m.x, time_limit=600)
    assert (result.status, result.bound) == (SolutionStatus.UNBOUNDED, None)


# The cuts.


def as_numbers(row):
    repn = generate_standard_repn(row.body)
    named = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    return named, pyo.value(row.lower) - repn.constant


def test_the_cuts_are_those_of_benders_and_hold_at_every_support(tree, make_data, values_of, monkeypatch):
    monkeypatch.setattr(relaxation, "compiled", lambda: False)  # screened samples give other digits
    data = make_data(40, 6, seed=3)
    model = fs.fsp.fsp_m(data, max_features=3)
    driver = solvers.SingleTree(model, gap=1e-6, master_solver=tree(model).options["master_solver"])
    result = driver.solve()
    other = solvers.Benders(fs.fsp.fsp_m(data, max_features=3), gap=1e-6)
    asked = [np.frombuffer(key) for key in driver._rows]
    assert len(asked) == len(driver.master.cuts) == result.iterations["Cuts"].iloc[-1] > 3
    for point in asked:
        other._add(other._answer(point))
    for mine, theirs in zip(driver.master.cuts.values(), other.master.cuts.values(), strict=True):
        (slopes, constant), (expected, level) = as_numbers(mine), as_numbers(theirs)
        assert slopes == pytest.approx(expected)
        assert constant == pytest.approx(level)
    for support, value in values_of(data).items():
        for answer in driver._asked.values():
            assert answer.cut.at(np.array(support, dtype=float)) <= value * (1 + 1e-9)


def test_no_point_is_asked_twice(tree, model, optimum):
    oracle, asked = model.structure.oracle, []

    class Recorded:
        def solve(self, point, *rest):
            asked.append(point.tobytes())
            return oracle.solve(point, *rest)

    model.structure.oracle = Recorded()
    assert_optimal(tree(model, optimum, gap=1e-6), model, optimum)
    assert len(asked) == len(set(asked))


# Limits.


def assert_held(result, model, truth):
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.OPTIMAL)
    assert truth <= result.objective * (1 + 1e-7)
    assert result.bound is None or result.bound <= truth * (1 + 1e-9)
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)
    assert violation(model) <= 1e-6


def test_a_callback_stops_and_is_heard(tree, model, optimum, capsys):
    result = tree(model, optimum, callback=lambda row: print("row", row["Iter"]) or row["Iter"] == 2, gap=1e-6)
    assert result.stop_reason is StopReason.CALLBACK
    assert len(result.iterations) == 3
    assert capsys.readouterr().out.splitlines() == ["row 0", "row 1", "row 2"]  # and nothing of the solver's log
    assert_held(result, model, optimum)


def test_the_table_is_shown_while_the_tree_grows(tree, model, capsys):
    result = tree(model, tee=True)
    assert len(capsys.readouterr().out.splitlines()) == len(result.iterations) + 1


@pytest.mark.parametrize("seconds", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("sub_solver", [None, "clarabel"])
def test_ctrl_c_at_any_time(seconds, sub_solver, tree):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 24))
    y = np.where(X @ rng.uniform(-1, 1, 24) + 2 * rng.normal(size=60) > 0, 1.0, -1.0)
    model = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y), max_features=8)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT))
    started = []

    def first(row):
        if not started:
            timer.interval = seconds
            timer.start()
            started.append(row)

    result = tree(model, callback=first, sub_solver=sub_solver, gap=1e-9)
    timer.join()
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.status is SolutionStatus.FEASIBLE
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-6)
    assert signal.getsignal(signal.SIGINT) is before


# Refusals.


def test_other_solvers_are_refused_with_those_that_can(model):
    for name in names(C.MILP):
        if C.LAZY_CUTS not in SOLVERS[name].capabilities:
            with pytest.raises(SolverError, match=f'"{name}" does not support lazy cuts.*gurobi'):
                fs.solve(model, DRIVER, master_solver=name)
    with pytest.raises(SolverError, match='Did you mean "gurobi"'):
        fs.solve(model, DRIVER, master_solver="gurobbi")
    with pytest.raises(OptionError, match='Did you mean "master_solver"'):
        fs.solve(model, DRIVER, mastersolver="gurobi")


def test_without_gurobi_the_remedy_is_said(model, monkeypatch):
    missing = type(SOLVERS["gurobi"])(**{**vars(SOLVERS["gurobi"]), "version": lambda: None})
    monkeypatch.setitem(SOLVERS, "gurobi", missing)
    with pytest.raises(SolverError, match=r"pip install gurobipy.*Installed: .*branch-and-cut"):
        fs.solve(model, DRIVER)
    table = solvers.available().set_index("name")
    assert not table.found[DRIVER]
    assert "gurobipy" in table.install[DRIVER]


def test_without_a_licence_the_remedy_is_said(tree, model, monkeypatch):
    def solve(*_, **__):
        try:
            raise ValueError("Model too large for size-limited license; visit https://gurobi.com/unrestricted")
        except ValueError as error:
            raise LicenceError(f"gurobi failed: {error}") from error

    monkeypatch.setattr("solvers.drivers.benders.lazy_tree.Runner.solve", solve)
    with pytest.raises(SolverError, match=r'too large.*Install a licence.*"branch-and-cut"'):
        tree(model)


def test_a_licence_too_small_for_a_later_tree_leaves_the_incumbent(tree, monkeypatch):
    model, _ = facility()
    for v in model.open.values():
        v.domain = pyo.UnitInterval
    real, trees = LazyTree.run, []

    def run(self, time_limit):
        trees.append(1)
        if len(trees) == 3:
            raise LicenceError("Model too large")
        return real(self, time_limit)

    monkeypatch.setattr(LazyTree, "run", run)
    monkeypatch.setattr(solvers.SingleTree, "_relax", lambda self: False)  # which would leave nothing to the trees
    model.some = pyo.Constraint(expr=sum(model.open.values()) >= 1)
    result = tree(model, complicating=model.open)
    assert result.stop_reason is StopReason.SOLVER_ERROR
    assert result.message == "Model too large"
    assert result.objective is not None


def test_a_licence_file_that_is_not_there(need):
    need("gurobi")
    program = (
        "import numpy as np, fsmodels as fs\n"
        "d = fs.Dataset.from_arrays(np.array([[1.0, 2], [2, 0], [0, 1]]), np.array([1.0, -1, 1]))\n"
        "try: fs.solve(fs.fsp.fsp_m(d, max_features=1), 'single-tree')\n"
        "except fs.solvers.SolverError as error: print(error)"
    ).replace("fs.solvers", "__import__('solvers')")
    environment = {**os.environ, "GRB_LICENSE_FILE": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment)
    assert "/nonexistent" in done.stdout, done.stderr
    assert '"branch-and-cut"' in done.stdout
