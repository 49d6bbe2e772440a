"""Benders drivers on models that are not ours: random small mixed-integer ones, against HiGHS on the whole model."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus
from solvers.interfaces.registry import SOLVERS

DRIVERS = ["benders", "branch-and-cut"] + (["single-tree"] if SOLVERS["gurobi"].found else [])
SOAK = float(os.environ.get("FSMODELS_SOAK", "1.0"))
EMPTY = (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)


def bounds_of(rng, kind):
    """Boxes of all kinds, some without a side or both."""
    low, up = sorted(rng.integers(-5, 6, 2).tolist())
    shapes = [(0, 1), (low, up), (0, up + 5), (low, None), (None, up), (None, None)]
    odds = {"tame": [0.4, 0.4, 0.2, 0, 0, 0], "wild": [0.2, 0.2, 0.1, 0.2, 0.15, 0.15]}[kind]
    return shapes[rng.choice(len(shapes), p=odds)]


def random_model(seed):
    """Return a model of integers x, continuous v that stay with them, and y; rows of every shape."""
    rng = np.random.default_rng(seed)
    nx, nv, ny = int(rng.integers(1, 5)), int(rng.choice([0, 0, 1])), int(rng.integers(1, 5))
    kind = "wild" if rng.random() < 0.3 else "tame"
    m = pyo.ConcreteModel()
    m.x, m.v, m.y = pyo.Var(range(nx)), pyo.Var(range(nv)), pyo.Var(range(ny))
    for x in m.x.values():
        continuous = rng.random() < 0.1
        x.setlb((box := bounds_of(rng, kind))[0]), x.setub(box[1])
        x.domain = pyo.Reals if continuous else pyo.Binary if box == (0, 1) else pyo.Integers
    for v in [*m.v.values(), *m.y.values()]:
        v.setlb((box := bounds_of(rng, "wild" if rng.random() < 0.5 else "tame"))[0]), v.setub(box[1])
    if rng.random() < 0.05:
        m.x[0].fix(m.x[0].lb if m.x[0].lb is not None else 0)
    inside = [*m.x.values(), *m.y.values()]
    unit = 10.0 ** rng.choice([0, 0, 0, -2, 2, 4])
    anchor = {id(v): _within(rng, v) for v in [*inside, *m.v.values()]}  # most rows hold there
    m.rows = pyo.ConstraintList()
    for _ in range(int(rng.integers(1, 7))):
        held = [[*m.x.values(), *m.v.values()], inside, inside, list(m.y.values())][rng.integers(4)]
        coefs = rng.integers(-5, 6, len(held)) * (rng.random(len(held)) < 0.7)
        if not np.any(coefs):
            continue
        body = pyo.quicksum(float(c) * v for c, v in zip(coefs, held, strict=True))
        at = sum(float(c) * anchor[id(v)] for c, v in zip(coefs, held, strict=True))
        off = rng.integers(-9, 10) if rng.random() < 0.15 else 0
        low, up = at + off - int(rng.integers(0, 6)), at + off + int(rng.integers(0, 6))
        m.rows.add(
            [body <= up, body >= low, body == at + off, (low, body, up)][rng.choice(4, p=[0.3, 0.3, 0.15, 0.25])]
        )
    every = [*inside, *m.v.values()]
    cost = rng.integers(-5, 6, len(every)) * (rng.random(len(every)) < 0.8)
    expr = pyo.quicksum(unit * float(c) * v for c, v in zip(cost, every, strict=True)) + unit * int(rng.integers(-3, 4))
    m.objective = pyo.Objective(expr=expr, sense=pyo.maximize if rng.random() < 0.4 else pyo.minimize)
    return m, unit


def _within(rng, v):
    low = -3 if v.lb is None else v.lb
    return int(rng.integers(low, (low + 6 if v.ub is None else v.ub) + 1)) if v.ub is None or v.ub >= low else v.ub


def truth_of(model):
    """Return HiGHS' status and optimum, told apart by a second solve without an objective."""
    result = solvers.solve(model, "highs", gap=1e-9)
    status = SolutionStatus.OPTIMAL if result.has_solution else result.status  # a gap of 1e-9 may be too much to ask
    if status not in (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE):
        expr = model.objective.expr
        model.objective.set_value(0.0)
        found = solvers.solve(model, "highs").status
        model.objective.set_value(expr)
        status = SolutionStatus.INFEASIBLE if found is SolutionStatus.INFEASIBLE else SolutionStatus.UNBOUNDED
    return SimpleNamespace(status=status, objective=result.objective)


def faults(model, unit, driver, truth, **options):
    """Return what is wrong with a driver's answer, and whether it is an answer at all."""
    if len(model.v) and len(model.y) % 2:  # v is the master's own, or else the subproblem's
        options["subproblem"] = model.y
    result = solvers.solve(model, driver, complicating=model.x, time_limit=120, **options)
    sign = 1.0 if result.minimize else -1.0
    wrong, status = [], result.status
    if truth.status is SolutionStatus.OPTIMAL:
        room = 1e-6 * max(unit, abs(truth.objective))
        if status in EMPTY:
            wrong.append(f"{status} for an optimum of {truth.objective}")
        if result.objective is not None and sign * (truth.objective - result.objective) > 10 * room:
            wrong.append(f"objective {result.objective} beats the optimum {truth.objective}")
        if result.bound is not None and sign * (result.bound - truth.objective) > room:
            wrong.append(f"bound {result.bound} passes the optimum {truth.objective}")
        if status is SolutionStatus.OPTIMAL and abs(result.objective - truth.objective) > room + 1e-4 * abs(
            result.objective
        ):
            wrong.append(f"optimal {result.objective} for {truth.objective}")
        return wrong, status is SolutionStatus.OPTIMAL, result
    if status is SolutionStatus.OPTIMAL or (status in EMPTY and status is not truth.status):
        wrong.append(f"{status} for {truth.status}")
    if truth.status is SolutionStatus.UNBOUNDED and result.bound is not None:
        wrong.append(f"bound {result.bound} of an unbounded model")
    return wrong, status is truth.status, result


def capacitated(seed):
    """Capacitated facility location: most choices of open facilities cannot serve all demand."""
    rng = np.random.default_rng(seed)
    f, c = range(int(rng.integers(3, 8))), range(int(rng.integers(4, 9)))
    demand, size = rng.integers(1, 9, len(c)), rng.integers(8, 20, len(f))
    cost, price = rng.uniform(1, 9, (len(f), len(c))), rng.uniform(5, 40, len(f))
    m = pyo.ConcreteModel()
    m.x, m.v = pyo.Var(f, domain=pyo.Binary), pyo.Var([])
    m.y = pyo.Var(f, c, bounds=(0, None))
    m.met = pyo.Constraint(c, rule=lambda m, k: sum(m.y[i, k] for i in f) >= float(demand[k]))
    m.room = pyo.Constraint(f, rule=lambda m, i: sum(m.y[i, k] for k in c) <= float(size[i]) * m.x[i])
    m.objective = pyo.Objective(
        expr=sum(price[i] * m.x[i] for i in f) + sum(cost[i, k] * m.y[i, k] for i in f for k in c)
    )
    return m


def no_integer_point():
    """Unbounded relaxation, no integer solution."""
    m = pyo.ConcreteModel()
    m.x, m.v, m.y = pyo.Var([0, 1], bounds=(0, 9), domain=pyo.Integers), pyo.Var([]), pyo.Var([0])
    m.odd = pyo.Constraint(expr=2 * m.x[0] - 2 * m.x[1] == 1)
    m.row = pyo.Constraint(expr=m.y[0] >= m.x[0])
    m.objective = pyo.Objective(expr=m.y[0], sense=pyo.maximize)
    return m


def ranged():
    """Optimum -16, of which heuristics find -7."""
    m = pyo.ConcreteModel()
    m.x, m.v, m.y = pyo.Var([1, 2], domain=pyo.Integers), pyo.Var([]), pyo.Var([0], bounds=(0, 9))
    m.x[1].setlb(-4), m.x[1].setub(0), m.x[2].setlb(-1), m.x[2].setub(1)
    m.row = pyo.Constraint(expr=(-12, -5 * m.x[1] + 3 * m.x[2] + 2 * m.y[0], 3))
    m.objective = pyo.Objective(expr=m.x[1] + 4 * m.x[2] - 4 * m.y[0])
    return m


def assert_right(build, driver, **options):
    wrong, answered, result = faults(*build(), driver, truth_of(build()[0]), **options)
    assert not wrong
    assert answered, result
    if result.status is SolutionStatus.OPTIMAL:
        assert result.bound is not None


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("build", [ranged, no_integer_point])
def test_models_that_were_answered_wrongly(build, driver):
    assert_right(lambda: (build(), 1.0), driver)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("seed", range(4))
def test_capacitated_facility_location(driver, seed):
    assert_right(lambda: (capacitated(seed), 1.0), driver)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("seed", [1, 3, 8, 12, 21, 33])
def test_random_models(driver, seed):
    assert_right(lambda: random_model(seed), driver)


def test_a_point_off_an_equality_by_rounding_is_not_an_endless_subproblem():
    assert_right(lambda: random_model(183), "branch-and-cut")


OTHERS = [  # whatever solves the parts
    ("benders", {"sub_solver": "clarabel"}),
    ("benders", {"sub_solver": "gurobi", "master_solver": "gurobi"}),
    ("benders", {"master_solver": "scip"}),
    ("benders", {"master_solver": "glpk"}),  # its bound is a printed point's
    ("branch-and-cut", {"sub_solver": "clarabel"}),
    ("branch-and-cut", {"lp_solver": "clarabel"}),
    ("branch-and-cut", {"lp_solver": "gurobi"}),
    ("single-tree", {"sub_solver": "glpk"}),  # cannot tell an infeasible LP from an unbounded one
]


@pytest.mark.parametrize(("driver", "options"), OTHERS)
def test_random_models_by_other_solvers(driver, options, need):
    for solver in options.values():
        need(solver)
    for seed in (1, 6, 23):
        assert_right(lambda seed=seed: random_model(seed), driver, **options)


@pytest.mark.parametrize("seed", [66, 101])  # cbc's masters cut off the optimum, and called unbounded infeasible
@pytest.mark.parametrize("solver", ["cbc", "glpk", "scip"])
def test_masters_that_were_answered_wrongly(solver, seed, need):
    need(solver)
    if solver == "cbc":
        model = random_model(seed)[0]
        with pytest.raises(solvers.SolverError, match=r"cuts off optima, .* Use .*highs"):
            solvers.solve(model, "benders", complicating=model.x, master_solver=solver)
    else:
        assert_right(lambda: random_model(seed), "benders", master_solver=solver)


@pytest.mark.slow
def test_many_random_models():
    """200 models by every driver; FSMODELS_SOAK=10 makes them 2000. At most 1 in 100 may go without an answer."""
    wrong, silent, runs = [], [], 0
    for seed in range(max(1, round(200 * SOAK))):
        truth = truth_of(random_model(seed)[0])
        for driver in DRIVERS:
            runs += 1
            found, answered, result = faults(*random_model(seed), driver, truth)
            wrong += [f"{driver}, seed {seed}: {fault}" for fault in found]
            silent += [] if answered or found else [f"{driver}, seed {seed}: {result}"]
    assert not wrong
    assert len(silent) <= 0.01 * runs, silent
