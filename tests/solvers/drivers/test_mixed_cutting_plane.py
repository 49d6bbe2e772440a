"""Cutting planes over MILPs: convex models with integers beside enumeration, bounds, limits, refusals."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from cutting_planes import Norm, brackets
from model_state import state
from solvers import ModelError, SolutionStatus, SolverError, StopReason
from solvers.facts.separable import Separable
from solvers.lp.highs import HighsLP
from solvers.values import fixed

MILP_SOLVERS = ["highs", "scip", "gurobi", "glpk"]


def plant(seed, *, unit=1.0, sense=pyo.minimize):
    """Which of five units to build, each with a fixed cost, and how far to run them inside an ellipsoid."""
    rng = np.random.default_rng(seed)
    n = 5
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(0, 4 * unit))
    m.y = pyo.Var(range(n), domain=pyo.Binary)
    m.z = pyo.Var(domain=pyo.Integers, bounds=(-1, 3))
    wanted, price = rng.uniform(0.5, 3, n), rng.uniform(0.2, 1.5, n)
    G = rng.normal(size=(2, n))
    m.on = pyo.Constraint(range(n), rule=lambda m, j: m.x[j] <= 4 * unit * m.y[j])
    m.few = pyo.Constraint(expr=sum(m.y.values()) <= 3)
    m.pair = pyo.Constraint(expr=m.y[0] <= m.y[1])
    m.ball = pyo.Constraint(expr=sum((m.x[j] / unit) ** 2 for j in range(n)) <= 9)
    m.mix = pyo.Constraint(expr=sum(sum(G[k, j] * m.x[j] / unit for j in range(n)) ** 2 for k in range(2)) <= 4 + m.z)
    curved = sum((m.x[j] / unit - wanted[j]) ** 2 for j in range(n)) if seed % 2 else 0.0
    linear = sum(-2 * wanted[j] * m.x[j] / unit for j in range(n)) if not seed % 2 else 0.0
    cost = curved + linear + sum(price[j] * m.y[j] for j in range(n)) + 0.7 * m.z
    m.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    return m


def enumerated(model, solver="clarabel"):
    """The optimum over all choices of the integers, each solved by a solver of convex models; None without a point."""
    held = [v for v in model.component_data_objects(pyo.Var) if not v.is_continuous() and not v.fixed]
    sign = 1.0 if model.cost.sense == pyo.minimize else -1.0
    found = []
    for choice in itertools.product(*(range(int(v.lb), int(v.ub) + 1) for v in held)):
        with fixed(list(zip(held, map(float, choice), strict=True))):
            answer = solvers.solve(model, solver)
        if answer.status is SolutionStatus.OPTIMAL:
            found.append(sign * answer.objective)
    return sign * min(found) if found else None


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_optimum_of_all_choices(seed):
    sense = pyo.minimize if seed < 2 else pyo.maximize
    model = plant(seed, sense=sense)
    optimum, before = enumerated(model), state(model)
    result = solvers.solve(model, "cutting-plane")
    assert (result.status, result.stop_reason) == (SolutionStatus.OPTIMAL, StopReason.CONVERGED)
    assert result.objective == pytest.approx(optimum, rel=3e-6, abs=3e-6)
    brackets(result, optimum, 1.0 if sense == pyo.minimize else -1.0, rel=3e-6)
    assert all(v.value == round(v.value) for v in [*model.y.values(), model.z])
    assert pyo.value(model.cost) == pytest.approx(result.objective, rel=1e-12)
    assert state(model) == before
    assert set(result.iterations["Step"]) == {"relaxation", "milp", "choice"}


def test_a_quadratic_objective_in_small_units_is_not_called_optimal_at_any_value():
    result = solvers.solve(plant(1, unit=1e-6), "cutting-plane", iteration_limit=30)
    assert result.status is not SolutionStatus.OPTIMAL or result.bound >= result.objective * (1 - 1e-5)
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 4e-6)), pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x / 1e-6 + m.y <= 0.5)
    m.cost = pyo.Objective(expr=(m.x / 1e-6 - 1) ** 2 + m.y)
    found = solvers.solve(m, "cutting-plane")
    assert found.objective == pytest.approx(0.25, rel=1e-4)
    assert found.bound == pytest.approx(0.25, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_units_of_a_big_m_do_not_matter(unit):
    result = solvers.solve(plant(2, unit=unit), "cutting-plane", time_limit=600)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solvers.solve(plant(2), "cutting-plane").objective, rel=1e-5)


@pytest.mark.parametrize("master_solver", MILP_SOLVERS)
def test_any_solver_of_milps(master_solver, need):
    optimum = solvers.solve(plant(2), "cutting-plane").objective
    result = solvers.solve(plant(2), "cutting-plane", master_solver=need(master_solver), gap=1e-5)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=2e-5)
    assert master_solver in result.details["inside"]


def test_the_solver_of_lps_solves_milps_where_it_can(need):
    told = solvers.solve(plant(0), "cutting-plane", lp_solver=need("clarabel")).details["inside"]
    assert {"clarabel", "highs"} <= set(told)
    assert solvers.solve(plant(0), "cutting-plane", lp_solver=need("glpk")).details["inside"][:1] == ["glpk"]


def test_a_solver_with_untrusted_optima_is_rejected(need):
    with pytest.raises(SolverError, match=r'Solver "cbc" cannot .*Use highs'):
        solvers.solve(plant(0), "cutting-plane", master_solver=need("cbc"))
    with pytest.raises(SolverError, match="clarabel"):
        solvers.solve(plant(0), "cutting-plane", master_solver="clarabel")


def test_rows_that_are_convex_by_rules():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 3)), pyo.Var(domain=pyo.Integers, bounds=(0, 4))
    m.grown = pyo.Constraint(expr=pyo.exp(m.x) <= 2 + 3 * m.y)
    m.cost = pyo.Objective(expr=-3 * m.x + m.y)
    result = solvers.solve(m, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    worth = {y: -3 * np.log(2 + 3 * y) + y for y in range(5)}
    assert result.objective == pytest.approx(min(worth.values()), rel=1e-6)
    assert m.y.value == min(worth, key=worth.get)
    brackets(result, min(worth.values()))


def test_choices_that_a_curved_row_alone_forbids():
    """The disc holds no point with both coordinates whole but the origin's neighbours, which the row cuts off."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(domain=pyo.Integers, bounds=(-5, 5)), pyo.Var(domain=pyo.Integers, bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=(m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 0.45)
    m.cost = pyo.Objective(expr=m.x + m.y)
    result = solvers.solve(m, "cutting-plane")
    assert (result.status, result.objective) == (SolutionStatus.INFEASIBLE, None)
    assert '"disc"' in result.message
    m.disc.set_value((m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 0.55)
    assert solvers.solve(m, "cutting-plane").objective == pytest.approx(0.0, abs=1e-9)


def test_rows_on_integers_that_clash_are_named():
    model = plant(0)
    model.odd = pyo.Constraint(expr=2 * model.y[0] + 2 * model.y[1] == 3)
    result = solvers.solve(model, "cutting-plane")
    assert (result.status, result.objective, result.bound) == (SolutionStatus.INFEASIBLE, None, None)
    assert "odd" in result.message


def test_without_curved_rows_it_is_a_milp(textbook):
    m = pyo.ConcreteModel()
    m.y = pyo.Var(range(6), domain=pyo.Binary)
    weight, worth = [5, 4, 3, 7, 6, 2], [9, 7, 5, 13, 10, 3]
    m.sack = pyo.Constraint(expr=sum(w * y for w, y in zip(weight, m.y.values(), strict=True)) <= 12)
    m.cost = pyo.Objective(expr=sum(w * y for w, y in zip(worth, m.y.values(), strict=True)), sense=pyo.maximize)
    optimum = max(np.dot(worth, c) for c in itertools.product([0, 1], repeat=6) if np.dot(weight, c) <= 12)
    result = solvers.solve(m, "cutting-plane")
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(optimum))


def test_a_fixed_integer_is_a_number_and_a_relaxed_one_continuous():
    model = plant(3, sense=pyo.maximize)
    model.y[2].fix(1)
    model.z.fix(2)
    assert solvers.solve(model, "cutting-plane").objective == pytest.approx(enumerated(model), rel=3e-6)
    for v in model.y.values():
        v.domain = pyo.Reals
        v.setlb(0), v.setub(1)
    result = solvers.solve(model, "cutting-plane")
    assert result.objective == pytest.approx(solvers.solve(model, "clarabel").objective, rel=3e-6)
    assert "milp" not in set(result.iterations["Step"])


def test_binaries_that_nothing_needs_are_0():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(range(3), bounds=(0, 2)), pyo.Var(range(3), domain=pyo.Binary, initialize=1)
    m.on = pyo.Constraint(range(3), rule=lambda m, j: m.x[j] <= 2 * m.y[j])
    m.one = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] ** 2 + m.x[2] ** 2 <= 2)
    m.asked = pyo.Constraint(expr=m.y[2] >= 1)
    m.cost = pyo.Objective(expr=-m.x[0] + 0.1 * (m.x[1] + m.x[2]))
    solvers.solve(m, "cutting-plane")
    assert [v.value for v in m.y.values()] == [1, 0, 1]


# Limits.


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_an_iteration_limit_returns_bound_and_incumbent(limit):
    model = plant(1)
    optimum = enumerated(model)
    result = solvers.solve(model, "cutting-plane", iteration_limit=limit)
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert result.bound <= optimum + 1e-6
    assert result.objective is None or result.objective >= optimum - 1e-6


@pytest.mark.parametrize("step", ["relaxation", "choice", "milp"])
def test_ctrl_c_and_a_callback_return_what_there_is(step):
    def interrupt(row):
        if row["Step"] == step:
            raise KeyboardInterrupt

    model = plant(1)
    optimum, before = enumerated(model), state(model)
    for callback, why in (
        (interrupt, StopReason.INTERRUPTED),
        (lambda row: row["Step"] == step, StopReason.CALLBACK),
    ):
        result = solvers.solve(model, "cutting-plane", callback=callback)
        assert result.stop_reason is why
        assert result.bound <= optimum + 1e-6
        assert result.objective is None or result.objective >= optimum - 1e-6
        assert state(model) == before


def test_a_gap_stops_early():
    loose, tight = (solvers.solve(plant(1), "cutting-plane", gap=gap) for gap in (1e-1, 1e-6))
    assert loose.status is tight.status is SolutionStatus.OPTIMAL
    assert loose.gap <= 1e-1
    assert len(loose.iterations) <= len(tight.iterations)


# A separator beside integers.


def cone():
    m = pyo.ConcreteModel()
    m.most = pyo.Param(initialize=1.0, mutable=True)
    m.x, m.y = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.r = pyo.Var(bounds=(0, None))
    m.k = pyo.Var(domain=pyo.Integers, bounds=(-3, 3))
    m.norm = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.r**2)
    m.size = pyo.Constraint(expr=m.r <= m.most)
    m.grid = pyo.Constraint(expr=2 * m.y == m.k)
    m.cost = pyo.Objective(expr=-m.x - 2 * m.y)
    Separable([m.x, m.y], [m.r], [m.norm, m.size], Norm(m)).attach(m)
    return m


@pytest.mark.parametrize("most", [0.7, 1.1, 2.0])
def test_a_separator_beside_integers(most):
    model = cone()
    model.most = most
    result = solvers.solve(model, "cutting-plane")
    worth = [-np.sqrt(most**2 - (k / 2) ** 2) - k for k in range(-3, 4) if abs(k / 2) <= most]
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(min(worth), rel=1e-6)
    assert result.details["violation"] <= 1e-8
    brackets(result, min(worth))


def test_a_domain_that_is_no_interval_is_refused_by_name():
    model = plant(0)
    model.odd = pyo.Var(domain=pyo.Set(initialize=[0, 2, 5]), bounds=(0, 5))
    model.row = pyo.Constraint(expr=model.odd + model.x[0] <= 4)
    with pytest.raises(ModelError, match="odd"):
        solvers.solve(model, "cutting-plane")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + max(1, int(15 * float(os.environ.get("FSMODELS_SOAK", "1"))))))
def test_random_models_compared_with_all_choices(seed):
    rng = np.random.default_rng(seed)
    sense = pyo.minimize if rng.random() < 0.5 else pyo.maximize
    model = plant(seed, unit=10.0 ** rng.integers(-2, 3), sense=sense)
    y = list(model.y.values())
    for k in range(int(rng.integers(0, 3))):
        a = rng.integers(-2, 3, len(y))
        body = pyo.quicksum(int(c) * v for c, v in zip(a, y, strict=True)) + 0 * y[0]
        model.add_component(f"more_{k}", pyo.Constraint(expr=body <= int(rng.integers(-1, 3))))
    if rng.random() < 0.4:
        model.floor = pyo.Constraint(expr=model.x[int(rng.integers(5))] >= 0.3 * model.x[int(rng.integers(5))].ub)
    optimum = enumerated(model)
    result = solvers.solve(model, "cutting-plane", time_limit=60)
    if optimum is None:
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=5e-6, abs=5e-6)
    brackets(result, optimum, 1.0 if sense == pyo.minimize else -1.0, rel=5e-6)


def test_integers_without_bounds():
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], domain=pyo.Integers)  # free
    m.y = pyo.Var(bounds=(-3, 3))
    m.disc = pyo.Constraint(expr=(m.x[0] - 0.4) ** 2 + (m.x[1] + 1.3) ** 2 + m.y**2 <= 20)
    m.cost = pyo.Objective(expr=m.x[0] + 2 * m.x[1] - m.y)
    m.cost.expr += (m.x[0] - m.x[1]) ** 2
    with np.errstate(invalid="raise"):
        result = solvers.solve(m, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solvers.solve(m, "scip").objective, rel=2e-4)


@pytest.mark.parametrize("driver", ["cutting-plane", "benders"])
def test_no_linear_program_takes_longer_than_the_time_that_is_left(driver, monkeypatch):
    model, limits, options = plant(1), [], {}
    if driver == "benders":  # a linear block; a block with squares is a cone program
        model = plant(0)
        options["complicating"] = [model.y, model.z]
        model.ball.deactivate(), model.mix.deactivate()
    of_highs = HighsLP.solve

    def recorded(self, time_limit=None):
        limits.append(time_limit)
        return of_highs(self, time_limit)

    monkeypatch.setattr(HighsLP, "solve", recorded)
    assert solvers.solve(model, driver, time_limit=600, **options).status is SolutionStatus.OPTIMAL
    assert limits
    assert all(limit is not None and limit <= 600 for limit in limits)


def test_a_start_with_which_highs_fails_is_left_out():
    """On this instance HiGHS 1.16 ends with "Not Set" when it begins with the integers of the incumbent."""
    rng = np.random.default_rng(190)
    n = int(rng.integers(2, 6))
    A, b = rng.normal(size=(n + 1, n)), rng.normal(size=n + 1) * 5
    m = pyo.ConcreteModel()
    m.x, m.t, m.rows = pyo.Var(range(n)), pyo.Var(), pyo.ConstraintList()
    for j in range(n):
        if rng.random() < 0.25:
            m.x[j].domain = pyo.Integers
    for _ in range(int(rng.integers(0, 3))):
        g = rng.normal(size=n)
        m.rows.add(sum(g[j] * m.x[j] for j in range(n)) <= float(rng.normal() + 1))
    ball = rng.random() < 0.5
    m.rows.add((sum((m.x[j] - float(b[j])) ** 2 for j in range(n)) if ball else 0.0) <= m.t)
    m.cost = pyo.Objective(expr=m.t + sum((sum(A[i, j] * m.x[j] for j in range(n)) - b[i]) ** 2 for i in range(n + 1)))
    assert solvers.solve(m, "cutting-plane").status is SolutionStatus.OPTIMAL
