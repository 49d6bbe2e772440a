"""FS and FSL, edited too, against every support by linear programs of scipy."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def enumerated(data, penalty, price=0.0):
    """The least (1 - lambda) E + lambda |S| + price max_j |w_j| over supports S."""
    n, (A, B) = len(data.features), (data.X[data.y > 0], data.X[data.y < 0])
    m, k = len(A), len(B)
    one = np.ones
    rows = np.block(
        [  # w, gamma, slacks, t
            [-A, one((m, 1)), -np.eye(m), np.zeros((m, k + 1))],
            [B, -one((k, 1)), np.zeros((k, m)), -np.eye(k), np.zeros((k, 1))],
            [np.eye(n), np.zeros((n, 1 + m + k)), -one((n, 1))],
            [-np.eye(n), np.zeros((n, 1 + m + k)), -one((n, 1))],
        ]
    )
    sides = np.concatenate([-one(m + k), np.zeros(2 * n)])
    share = 1 - penalty
    costs = np.concatenate([np.zeros(n + 1), one(m) * share / m, one(k) * share / k, [price]])
    found = []
    for support in itertools.product((0, 1), repeat=n):
        free = [(None, None) if used else (0, 0) for used in support]
        bounds = [*free, (None, None), *[(0, None)] * (m + k + 1)]
        found.append(linprog(costs, rows, sides, bounds=bounds).fun + penalty * sum(support))
    return min(found)


def check(data, name, penalty, price, solver, **options):
    model = getattr(fs.concave, name)(data, penalty=penalty, **options)
    if price:
        model.t = pyo.Var()
        model.largest = pyo.Constraint(model.features, rule=lambda m, j: m.t >= m.v[j])
        model.objective.set_value(model.objective.expr + price * model.t)
    result = fs.solve(model, solver)
    truth = enumerated(data, penalty, price)
    if price:  # only the solver's word, which is no proof
        assert (result.status, result.bound) == (fs.SolutionStatus.FEASIBLE, None)
        assert f"{solver} reports optimal, which is not proven from the data" in result.message
    else:
        assert result.status is fs.SolutionStatus.OPTIMAL
        assert result.bound <= truth * (1 + 1e-6) + 1e-9
    assert result.objective == pytest.approx(truth, rel=2e-4, abs=1e-9)
    assert result.objective >= truth * (1 - 1e-6) - 1e-9


@pytest.mark.parametrize("name", ["fs", "fsl"])
@pytest.mark.parametrize("seed", range(6))
def test_a_price_of_the_largest_weight(name, seed, make_data):
    check(make_data(14, 3, seed=seed), name, 0.1, 0.2, "scip")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fs", "fsl"])
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_many_data_sets_by_every_support(name, solver, make_data, need):
    """40 instances each, half of them edited; FSMODELS_SOAK=25 makes them 1000."""
    need(solver)
    for seed in range(max(1, round(40 * SOAK))):
        random = np.random.default_rng(seed)
        data = make_data(int(random.integers(6, 24)), int(random.integers(1, 5)), seed=seed)
        price = float(random.choice([0.0, 0.05, 0.5]))
        check(data, name, float(random.choice([0.0, 0.02, 0.1, 0.3, 0.7])), price, solver)
