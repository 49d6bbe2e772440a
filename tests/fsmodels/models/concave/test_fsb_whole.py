"""FSB by solvers of the whole model: every r by linear programs, honest objectives, and mu where none is given."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from solvers.facts.base import facts_of
from solvers.whole_model.ordered_products import products_as_sets

SHARP = 1e-8  # what the tolerances of linprog leave of the reference


def least(costs, rows, sides, bounds):
    """A linear program's optimum; its presolve gives up on some of these costs."""
    answers = (linprog(costs, rows, sides, bounds=bounds, options={"presolve": p}) for p in (True, False))
    return next(answer.fun for answer in answers if answer.status == 0)


def enumerated(data, penalty, mu):
    """The optimum of (14): r in {0, 1}, and u = v = |w|."""
    size = np.abs(data.X).max(axis=0)  # in columns of one size: HiGHS drops what is below 1e-9
    n, (A, B) = len(data.features), (data.X[data.y > 0] / size, data.X[data.y < 0] / size)
    m, k = len(A), len(B)
    one = np.ones
    rows = np.block(
        [[-A, A, one((m, 1)), -np.eye(m), np.zeros((m, k))], [B, -B, -one((k, 1)), np.zeros((k, m)), -np.eye(k)]]
    )
    bounds = [*[(0, None)] * (2 * n), (None, None), *[(0, None)] * (m + k)]
    share = (1 - mu) * (1 - penalty)
    found = []
    for r in itertools.product((0, 1), repeat=n):
        price = mu * (1 - np.array(r)) / size
        costs = np.concatenate([price, price, [0], np.full(m, share / m), np.full(k, share / k)])
        found.append(least(costs, rows, -one(m + k), bounds) + (1 - mu) * penalty * sum(r))
    return min(found)


def drawn(seed, make_data, *, scaled=True):
    random = np.random.default_rng(seed)
    data = make_data(int(random.integers(6, 20)), int(random.integers(1, 5)), seed=seed)
    if not scaled:
        sizes = 10.0 ** random.integers(-6, 7, len(data.features))
        data = fs.Dataset.from_arrays(data.X * sizes, data.y, features=list(data.features))
    return data, float(random.choice([0.02, 0.1, 0.3, 0.7])), float(random.choice([0.05, 0.15, 0.5, 0.95]))


def is_proven(data, penalty, mu, solver):
    """Whether the answer is called optimal, and then it is; it may be feasible only."""
    result, truth = fs.solve(fs.concave.fsb(data, penalty=penalty, mu=mu), solver), enumerated(data, penalty, mu)
    assert result.status in (fs.SolutionStatus.OPTIMAL, fs.SolutionStatus.FEASIBLE)
    assert result.objective >= truth * (1 - 1e-6) - SHARP
    if result.status is fs.SolutionStatus.OPTIMAL:
        assert result.objective == pytest.approx(truth, rel=2e-4, abs=SHARP)
    assert result.bound is None or result.bound <= truth * (1 + 1e-6) + SHARP
    return result.status is fs.SolutionStatus.OPTIMAL


def check_exact(data, penalty, mu, solver):
    result = fs.solve(fs.concave.fsb(data, penalty=penalty, mu=mu), solver)
    truth = enumerated(data, penalty, mu)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=2e-4, abs=1e-9)
    assert result.bound <= truth * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_the_whole_model_is_solved_exactly(solver, seed, make_data, need):
    check_exact(*drawn(seed, make_data), need(solver))


@pytest.mark.filterwarnings("ignore:.*columns differ")
def test_columns_of_any_size_end_in_no_false_optimum(make_data):
    found = [is_proven(*drawn(seed, make_data, scaled=False), "scip") for seed in range(25)]
    assert sum(found) >= 22  # the others within scip's own tolerance, and said to be


def test_the_parts_of_a_product_are_measured_as_the_variable_is(make_data):
    data = make_data(12, 3, seed=1)
    model = fs.concave.fsb(fs.Dataset.from_arrays(data.X * 1e6, data.y), penalty=0.1, mu=0.15)
    before = len(facts_of(model).change.factors)
    change = facts_of(products_as_sets(model).model).change
    new = {v.name: f for v, f in change.factors}
    assert [new[f"products.{part}[{k}]"] for part in ("with_box", "without") for k in range(3)] == [
        new[f"v[{j}]"] for j in model.features
    ] * 2
    assert [row.name for row, _ in change.rows] == [f"products.split[{k}]" for k in range(3)]
    assert len(facts_of(model).change.factors) == before


@pytest.mark.filterwarnings("ignore:.*columns differ")
@pytest.mark.parametrize("solver", ["pounce", "multi-start", "alternating", "scip"])
@pytest.mark.parametrize("seed", [2, 6, 7, 10])
def test_no_objective_is_below_the_optimum_however_large_the_weights(solver, seed, make_data):
    data, penalty, mu = drawn(seed, make_data, scaled=False)
    model = fs.concave.fsb(data, penalty=penalty, mu=mu)
    result = fs.solve(model, solver)
    assert result.objective >= enumerated(data, penalty, mu) * (1 - 1e-6) - 1e-6
    assert all(0 <= r.value <= 1 for r in model.r.values())


@pytest.mark.parametrize("solver", ["scip", "pounce", "multi-start", "sla", "alternating"])
def test_without_mu_every_solver_finds_the_first_that_is_complementary(solver, make_data):
    data = make_data(30, 3, seed=4)
    model = fs.concave.fsb(data, penalty=0.1)
    result = fs.solve(model, solver)
    table = result.details["penalty"]["table"]
    assert table["value"].tolist() == fs.concave.MU[: len(table)]
    assert table["satisfied"].tolist() == [False] * (len(table) - 1) + [True]
    assert len(table) == 3
    assert model.mu.value == result.details["penalty"]["value"] == table["value"].iloc[-1]
    if solver == "scip":
        assert result.objective == pytest.approx(enumerated(data, 0.1, 0.25), rel=2e-4)
    assert pyo.value(model.complementarity) <= 1e-6


def test_a_penalty_that_no_value_makes_exact_says_so(make_data):
    model = fs.concave.fsb(make_data(30, 3, seed=4), penalty=0.1)
    facts_of(model).penalty.values = [0.001, 0.002]
    result = fs.solve(model, "scip")
    assert "At mu=0.002 the penalty is not exact" in result.message
    assert model.mu.value == 0.002


@pytest.mark.parametrize("solver", ["sla", "multi-start", "alternating"])
def test_an_interrupt_at_the_first_mu_is_reported(solver, make_data):
    def press(row):
        raise KeyboardInterrupt

    result = fs.solve(fs.concave.fsb(make_data(30, 3, seed=4), penalty=0.1), solver, callback=press)
    assert result.stop_reason is fs.StopReason.INTERRUPTED
