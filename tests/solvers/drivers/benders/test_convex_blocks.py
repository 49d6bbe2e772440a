"""Convex blocks: cuts valid at every point whatever solver leads, answers of the whole model, refusals."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import ModelError, SolutionStatus, SolverError
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.split import split
from solvers.interfaces.runner import SolveOptions

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
N = 3
KINDS = ["separable", "products", "rows", "exponential", "unproven"]


def bent(seed, kind):
    """Return binaries x and two convex blocks y_b, of which some x may leave no point."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel(f"bent {kind} {seed}")
    m.x = pyo.Var(range(N), domain=pyo.Binary)
    m.y = pyo.Var([0, 1], range(3), bounds=(-4, 4) if kind in ("exponential", "unproven") else (None, None))
    m.rows = pyo.ConstraintList()
    cost = [float(c) * x for c, x in zip(rng.integers(-3, 6, N), m.x.values(), strict=True)]
    for b in (0, 1):
        y, target = [m.y[b, k] for k in range(3)], rng.normal(0, 2, 3)
        weight, push = rng.uniform(0.3, 2, 3), rng.normal(0, 2, N)
        m.rows.add(sum(y) >= float(push @ np.ones(N)) * m.x[0] + float(push[1]) * m.x[1] - 1)
        m.rows.add(y[0] - y[1] <= 2 - float(abs(push[2])) * m.x[2])
        if kind == "products":
            a = rng.normal(size=(3, 3))
            q = a.T @ a
            cost.append(sum(float(q[i, j]) * y[i] * y[j] for i in range(3) for j in range(3)))
            cost.append(sum(float(t) * v for t, v in zip(target, y, strict=True)))
        else:
            cost += [float(w) * (v - float(t)) ** 2 for w, v, t in zip(weight, y, target, strict=True)]
        if kind == "rows":
            m.rows.add(sum(float(w) * v**2 for w, v in zip(weight, y, strict=True)) <= 3 + 4 * m.x[0] - 2.5 * m.x[1])
            m.rows.add((y[0] - m.x[2]) ** 2 + y[2] <= 2)
        if kind in ("exponential", "unproven"):
            exp = pyo.exp if kind == "exponential" else lambda u: pyo.cosh(u) + pyo.sinh(u)  # without a rule
            m.rows.add(exp(0.5 * y[0]) + exp(y[1] - m.x[1]) <= 4)
            cost.append(exp(0.3 * y[2]))
    m.cost = pyo.Objective(expr=sum(cost))
    return m


def asked(m, solver=None):
    parts = split(m, structure_of(m))
    return BlockSubproblem(parts, solver, SolveOptions(), assume_convex=True)


def points():
    return [np.array(p, dtype=float) for p in itertools.product((0, 1), repeat=N)]


def values(m, kind):
    """Return the whole subproblem's value at every point; None without a solution."""
    found = []
    for point in points():
        for v, x in zip(m.x.values(), point.tolist(), strict=True):
            v.fix(x)
        found.append(solvers.solve(m, "pounce" if kind in ("exponential", "unproven") else "clarabel").objective)
        m.x.unfix()
    return found


def first_stage(m, point):
    """Return what the master pays at a point."""
    parts = split(m, structure_of(m))
    for v, x in zip(m.x.values(), point.tolist(), strict=True):
        v.set_value(x)
    return sum(pyo.value(t) for t in parts.master_terms)


def assert_valid(m, kind, solver=None, places=None):
    sub, truth = asked(m, solver), values(m, kind)
    own = [first_stage(m, p) for p in points()]
    for x in points() if places is None else places:
        answer = sub.solve(x, 1e-7, None)
        if answer.cuts is None:
            for cut in answer.infeasible:
                assert cut.at(x) > 0
        else:
            assert answer.cut.at(x) == pytest.approx(answer.value, rel=1e-5, abs=1e-5)
        for point, whole, paid in zip(points(), truth, own, strict=True):
            if whole is None:
                continue
            if answer.cuts is None:
                assert all(cut.at(point) <= 1e-6 for cut in answer.infeasible)
            else:
                assert answer.cut.at(point) <= whole - paid + 1e-5 * (1 + abs(whole))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_cuts_are_valid_at_every_point(kind, seed):
    rng = np.random.default_rng(seed)
    assert_valid(bent(seed, kind), kind, places=[*points(), *rng.uniform(0, 1, (3, N))])


@pytest.mark.parametrize(("kind", "solver"), [("rows", "clarabel"), ("rows", "pounce"), ("exponential", "pounce")])
def test_cuts_led_by_a_solver_are_valid_too(kind, solver, need):
    assert_valid(bent(1, kind), kind, need(solver))


@pytest.mark.slow
def test_cuts_of_many_convex_models_are_valid():
    for seed in range(max(1, round(20 * SOAK))):
        for kind in KINDS:
            assert_valid(bent(seed, kind), kind)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_the_whole_models(kind, driver):
    for seed in (0, 3):
        m = bent(seed, kind)
        found = [v for v in values(m, kind) if v is not None]
        result = solvers.solve(m, driver, assume_convex=True, gap=1e-6, time_limit=60)
        assumed = kind == "unproven"
        if not found:
            assert result.status is (SolutionStatus.NO_SOLUTION if assumed else SolutionStatus.INFEASIBLE)
            continue
        assert result.status is (SolutionStatus.FEASIBLE if assumed else SolutionStatus.OPTIMAL)
        assert result.objective == pytest.approx(min(found), rel=1e-5, abs=1e-5)
        bound = result.details["bound_if_convex"] if assumed else result.bound
        assert bound <= min(found) + 1e-5 * (1 + abs(min(found)))


def test_a_maximisation_of_a_concave_gain():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var([0, 1], domain=pyo.Binary), pyo.Var([0, 1], bounds=(0, None))
    m.most = pyo.Constraint([0, 1], rule=lambda m, k: m.y[k] <= 3 * m.x[k])
    gain = sum(4 * m.y[k] - m.y[k] ** 2 - (2 + 2 * k) * m.x[k] for k in (0, 1))
    m.gain = pyo.Objective(expr=gain, sense=pyo.maximize)
    result = solvers.solve(m, "benders", gap=1e-7)
    assert result.objective == pytest.approx(2.0, rel=1e-6)
    assert result.bound >= 2.0 - 1e-6


def test_what_is_assumed_is_said_and_a_solver_that_cannot_is_refused():
    m = bent(0, "unproven")
    with pytest.raises(ModelError, match=r"not quadratic.*assume_convex=True"):
        solvers.solve(m, "benders")
    assert "assume_convex" in solvers.explain_split(m).refused[0]
    assert solvers.explain_split(m, assume_convex=True).refused == []
    assert "convex" in solvers.solve(m, "benders", assume_convex=True).message
    with pytest.raises(SolverError, match='"highs" does not support'):
        solvers.solve(m, "benders", assume_convex=True, sub_solver="highs")


def test_an_unbounded_convex_block_is_not_called_optimal():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var([0, 1])
    m.row = pyo.Constraint(expr=m.y[0] >= m.x)
    m.cost = pyo.Objective(expr=m.y[0] ** 2 - m.y[1] + m.x)
    try:
        status = solvers.solve(m, "benders", time_limit=20).status
    except SolverError:
        status = SolutionStatus.NO_SOLUTION
    assert status in (SolutionStatus.NO_SOLUTION, SolutionStatus.UNBOUNDED)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_a_square_of_nothing_is_a_constant_term(driver):
    """Data may hold zeros, and Pyomo evaluates (0 y)^2 where y has no value yet."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Binary), pyo.Var([0, 1], bounds=(0, 5))
    m.need = pyo.Constraint(expr=m.y[0] + m.y[1] >= 2 - m.x)
    m.cost = pyo.Objective(expr=(0.0 * m.y[0] + 2) ** 2 + (m.y[1] - 1) ** 2 + m.y[0] + m.x)
    assert solvers.solve(m, driver, complicating=m.x).objective == pytest.approx(4.75, abs=1e-4)
