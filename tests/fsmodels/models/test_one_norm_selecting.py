"""Rows on the features of the 1-norm SVM: all supports beside the model, the big-M, parameters, refusals."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from fsmodels import side_constraints as rows
from fsmodels.models.svm import one_norm_svm
from solvers import ModelError, SolutionStatus, StopReason

COST = [3.0, 1.0, 2.0, 4.0, 2.5]
ROWS = {
    "budget": (lambda m, f: rows.budget(m, dict(zip(f, COST, strict=True)), 4.0), lambda u, f: _cost(u, f) <= 4),
    "few": (lambda m, f: pyo.Constraint(expr=sum(m.sigma.values()) <= 2), lambda u, f: len(u) <= 2),
    "pair": (lambda m, f: rows.requires(m, f[0], f[1]), lambda u, f: f[1] in u or f[0] not in u),
    "in": (lambda m, f: rows.force_in(m, f[4]), lambda u, f: f[4] in u),
}


def _cost(used, f):
    return sum(price for price, j in zip(COST, f, strict=True) if j in used)


@pytest.fixture(scope="module")
def data(make_data):
    return make_data(24, 5, seed=3)


def losses(data, C):
    found = {}
    for size in range(len(data.features) + 1):
        for used in itertools.combinations(data.features, size):
            model = one_norm_svm(data, C=C)
            for j in set(data.features) - set(used):
                model.p[j].fix(0.0), model.q[j].fix(0.0)
            found[frozenset(used)] = fs.solve(model, "highs").objective
    return found


@pytest.fixture(scope="module")
def worth(data):
    return losses(data, 1.0)


@pytest.mark.parametrize("kinds", [("few",), ("budget", "pair", "in")])
def test_rows_on_features_end_at_the_best_support_that_they_allow(data, worth, kinds):
    f = list(data.features)
    model = one_norm_svm(data, C=1.0, sigma=True)
    for k, kind in enumerate(kinds):
        model.add_component(f"asked_{k}", ROWS[kind][0](model, f))
    result = fs.solve(model, gap=1e-7)
    optimum = min(cost for used, cost in worth.items() if all(ROWS[kind][1](used, f) for kind in kinds))
    assert (result.solver, result.status) == ("highs", SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(optimum, rel=1e-6)
    assert result.bound <= optimum * (1 + 1e-6)
    assert result.details["violation"] <= 1e-9
    assert all(ROWS[kind][1](set(result.selected), f) for kind in kinds)
    assert all(pyo.value(model.w[j]) == 0 for j in f if j not in result.selected)


@pytest.mark.parametrize("C", [1e-3, 0.05, 30.0])
def test_the_big_m_follows_C(data, C):
    f = list(data.features)
    model = one_norm_svm(data, C=1.0, sigma=True)
    model.few = ROWS["few"][0](model, f)
    model.C = C
    smaller = min(np.sum(data.y > 0), np.sum(data.y < 0))
    assert pyo.value(model.M) == pytest.approx(2 * C * smaller)
    worth = losses(data, C)
    result = fs.solve(model, gap=1e-7)
    assert result.objective == pytest.approx(min(c for u, c in worth.items() if len(u) <= 2), rel=1e-6)
    assert max(worth.values()) <= pyo.value(model.M) * (1 + 1e-9)


def test_the_big_m_is_attained():
    """Two samples a distance of 1/C apart: their plane and none cost the same, and no smaller number is a bound."""
    data = fs.Dataset.from_arrays([[0.0], [0.5]], [-1, 1], features=["f"])
    model = one_norm_svm(data, C=2.0, sigma=True)
    model.p["f"].set_value(4.0)  # w = 2 / distance, no slack
    assert pyo.value(model.M) == 4.0 == fs.solve(one_norm_svm(data, C=2.0)).objective


def test_rows_on_weights_are_refused_by_name(data):
    model = one_norm_svm(data, C=1.0, sigma=True)
    model.big = pyo.Constraint(expr=model.p["a"] >= 1e3)
    with pytest.raises(ModelError, match=r"big.*p_j \+ q_j <= 2 C min.*rows on sigma only"):
        fs.solve(model)


def test_rows_that_clash_and_limits(data):
    f = list(data.features)
    model = one_norm_svm(data, C=1.0, sigma=True)
    model.wanted, model.apart = rows.force_in(model, f[0], f[1]), rows.excludes(model, f[0], f[1])
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE
    assert "apart" in result.message
    model.apart.deactivate()
    stopped = fs.solve(model, time_limit=0)
    assert stopped.stop_reason is StopReason.TIME_LIMIT
    assert set(stopped.selected) == {f[0], f[1]}
    assert stopped.bound <= stopped.objective


def wide_units(seed):
    """Return data with columns of sizes from 1e-6 to 1e6, and C."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 5)) * 10.0 ** rng.uniform(-6, 6, 5)
    y = np.where((X / np.abs(X).max(axis=0)) @ rng.normal(size=5) + 0.2 * rng.normal(size=16) > 0, 1, -1)
    y[:2] = 1, -1
    return fs.Dataset.from_arrays(X, y).scaled("none"), float(10 ** rng.uniform(-2, 3))


def best_of_pairs(data, C, least_offset=-np.inf):
    """Return the least cost over all pairs of columns, each divided by its size."""
    best, samples = np.inf, len(data.y)
    for pair in itertools.combinations(range(data.X.shape[1]), 2):
        size = np.abs(data.X[:, pair]).max(axis=0)
        z = data.y[:, None] * data.X[:, pair] / size
        cost = np.concatenate([1 / size, 1 / size, [0.0], np.full(samples, C)])
        bounds = [(0, None)] * 4 + [(least_offset, None)] + [(0, None)] * samples
        rows = np.hstack([z, -z, data.y[:, None], np.eye(samples)])
        best = min(best, linprog(cost, A_ub=-rows, b_ub=-np.ones(samples), bounds=bounds).fun)
    return best


@pytest.mark.parametrize("seed", [6, 8, 16, 27, *(pytest.param(s, marks=pytest.mark.slow) for s in range(40, 120))])
def test_columns_from_1e_6_to_1e6_end_at_the_best_pair_with_a_bound(seed, need):
    """In rows p + q <= M sigma with M = 1e9 in the units of a column, sigma = 1e-6 counts as 0 and leaves w free."""
    need("scip")
    data, C = wide_units(seed)
    for least_offset in (None, 0.5):
        model = one_norm_svm(data, C=C, sigma=True)
        model.pair = pyo.Constraint(expr=pyo.quicksum(model.sigma.values()) <= 2)
        if least_offset is not None:
            if model.only_selected.ctype is not pyo.SOSConstraint:
                continue
            model.edited = pyo.Constraint(expr=model.b >= least_offset)
        result = fs.solve(model)
        best = best_of_pairs(data, C, -np.inf if least_offset is None else least_offset)
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(best, rel=1e-6)
        assert best * (1 - 2e-4) <= result.bound <= best * (1 + 1e-8)
