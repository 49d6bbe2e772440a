"""The SVM models: their rows written by hand, duality, and an independent LP solver."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.repn import generate_standard_repn
from scipy import sparse
from scipy.optimize import linprog

import fsmodels as fs
from fsmodels.models.fsp.oracle import SvmOracle
from solvers.interfaces.registry import DUALS, find, names
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions

QP_SOLVERS = names(C.QP | DUALS, installed=False)


def written(row):
    """A row as (lower, {variable: coefficient}, upper)."""
    repn = generate_standard_repn(row.body, quadratic=False)
    assert repn.is_linear()
    coefs = dict(zip([v.name for v in repn.linear_vars], repn.linear_coefs, strict=True))
    return pyo.value(row.lower), {name: c for name, c in coefs.items() if c}, pyo.value(row.upper)


def rows(model):
    return {row.name: written(row) for row in model.component_data_objects(pyo.Constraint, active=True)}


def quadratic(model):
    """The objective as ({(variable, variable): coefficient}, {variable: coefficient})."""
    repn = generate_standard_repn(model.objective.expr, quadratic=True)
    squares = {(v.name, w.name): c for (v, w), c in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)}
    return squares, dict(zip([v.name for v in repn.linear_vars], repn.linear_coefs, strict=True))


MARGINS = {  # y_i (w.x_i + b) + xi_i >= 1
    "margin[0]": (1, {"w[g]": 2, "b": 1, "xi[0]": 1}, None),
    "margin[1]": (1, {"w[f]": -1, "w[g]": 1, "b": -1, "xi[1]": 1}, None),
    "margin[2]": (1, {"w[f]": 3, "b": 1, "xi[2]": 1}, None),
}


def test_l2_svm_by_hand(three):
    model = fs.svm.l2_svm(three, C=4)
    assert rows(model) == MARGINS
    assert quadratic(model) == (
        {("w[f]", "w[f]"): 0.5, ("w[g]", "w[g]"): 0.5},
        {"xi[0]": 4, "xi[1]": 4, "xi[2]": 4},
    )
    assert all(v.bounds == (0, None) for v in model.xi.values())
    assert all(v.bounds == (None, None) for v in [*model.w.values(), model.b])


def test_l2_svm_dual_by_hand(three):
    model = fs.svm.l2_svm_dual(three, C=4)
    assert rows(model) == {
        "balance": (0, {"alpha[0]": 1, "alpha[1]": -1, "alpha[2]": 1}, 0),
        "weight[0]": (0, {"alpha[1]": -1, "alpha[2]": 3, "v[f]": -1}, 0),
        "weight[1]": (0, {"alpha[0]": 2, "alpha[1]": 1, "v[g]": -1}, 0),
    }
    assert model.objective.sense == pyo.maximize
    assert quadratic(model) == (
        {("v[f]", "v[f]"): -0.5, ("v[g]", "v[g]"): -0.5},
        {"alpha[0]": 1, "alpha[1]": 1, "alpha[2]": 1},
    )
    assert all(v.bounds == (0, 4) for v in model.alpha.values())


def test_one_norm_svm_by_hand(three):
    model = fs.svm.one_norm_svm(three, C=4)
    assert rows(model) == {
        "margin[0]": (1, {"p[g]": 2, "q[g]": -2, "b": 1, "xi[0]": 1}, None),
        "margin[1]": (1, {"p[f]": -1, "p[g]": 1, "q[f]": 1, "q[g]": -1, "b": -1, "xi[1]": 1}, None),
        "margin[2]": (1, {"p[f]": 3, "q[f]": -3, "b": 1, "xi[2]": 1}, None),
    }
    prices = dict.fromkeys(["p[f]", "p[g]", "q[f]", "q[g]"], 1) | {f"xi[{i}]": 4 for i in range(3)}
    assert quadratic(model) == ({}, prices)


def test_sparse_data_give_the_same_rows(three):
    thin = fs.Dataset.from_arrays(sparse.csr_matrix(three.X), three.y, features=["f", "g"])
    for build in (fs.svm.l2_svm, fs.svm.l2_svm_dual, fs.svm.one_norm_svm):
        assert rows(build(thin)) == rows(build(three))


@pytest.mark.parametrize(("C", "value"), [(1.0, 0.5), (0.5, 0.5), (0.25, 0.375)])
def test_two_points_in_closed_form(C, value):
    """x = -1, 1: the margin takes w = 1; with 2C < 1 slack is cheaper and w = 2C, value 2C - 2C^2."""
    data = fs.Dataset.from_arrays([[-1.0], [1.0]], [-1, 1], features=["x"])
    for build in (fs.svm.l2_svm, fs.svm.l2_svm_dual):
        assert fs.solve(build(data, C=C), "clarabel").objective == pytest.approx(value, rel=1e-6)


def solved(model, solver, duals):
    answer = Runner(find(solver), SolveOptions()).solve(model, duals=duals)
    assert answer.has_point
    return answer.duals


@pytest.mark.parametrize("solver", QP_SOLVERS)
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_primal_and_dual_meet_with_the_signs_that_are_documented(solver, C, make_data, need):
    data = make_data(30, 3, seed=4)
    primal, dual = fs.svm.l2_svm(data, C=C), fs.svm.l2_svm_dual(data, C=C)
    of_margins = solved(primal, need(solver), list(primal.margin.values()))
    of_rows = solved(dual, solver, [dual.balance, *dual.weight.values()])
    truth = SvmOracle(data.X, data.y, C).solve(np.ones(3), tolerance=1e-10)

    assert pyo.value(primal.objective) == pytest.approx(truth.value, rel=1e-6)
    assert pyo.value(dual.objective) == pytest.approx(truth.value, rel=1e-6)
    alpha = np.array([of_margins[row] for row in primal.margin.values()])
    np.testing.assert_allclose(alpha, [v.value for v in dual.alpha.values()], atol=2e-4 * C)
    assert alpha.min() >= -1e-6
    assert alpha.max() <= C + 1e-6
    assert data.y @ alpha == pytest.approx(0, abs=1e-5)
    w = np.array([v.value for v in primal.w.values()])
    np.testing.assert_allclose(data.X.T @ (data.y * alpha), w, atol=1e-4)
    np.testing.assert_allclose([v.value for v in dual.v.values()], w, atol=1e-4)
    # d optimum / d right-hand side
    assert of_rows[dual.balance] == pytest.approx(primal.b.value, abs=1e-3)
    np.testing.assert_allclose([of_rows[r] for r in dual.weight.values()], w, atol=1e-3)


def test_balance_dual_is_the_derivative(make_data):
    """The sign of the test above, by finite differences."""
    data = make_data(30, 3, seed=4)
    values = []
    for step in (-1e-3, 1e-3):
        model = fs.svm.l2_svm_dual(data)
        model.balance.set_value(model.balance.body == step)
        values.append(fs.solve(model, "clarabel").objective)
    model = fs.svm.l2_svm(data)
    fs.solve(model, "clarabel")
    assert (values[1] - values[0]) / 2e-3 == pytest.approx(model.b.value, abs=1e-2)


def linprog_value(data, C):
    """(ONSVM) by scipy."""
    rows, n = data.X.shape
    yX = data.y[:, None] * data.X
    A = np.hstack([-yX, yX, -data.y[:, None], -np.eye(rows)])
    cost = np.concatenate([np.ones(2 * n), [0.0], np.full(rows, C)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * rows
    return linprog(cost, A_ub=A, b_ub=-np.ones(rows), bounds=bounds).fun


@pytest.mark.parametrize("solver", names(C.LP, installed=False))
def test_one_norm_svm_equals_linprog(solver, make_data, need):
    data = make_data(25, 4, seed=6)
    result = fs.solve(fs.svm.one_norm_svm(data, C=0.7), need(solver))
    assert result.objective == pytest.approx(linprog_value(data, 0.7), rel=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), C=st.sampled_from([0.05, 1.0, 20.0]))
def test_one_norm_svm_equals_linprog_on_any_data(seed, C, make_data):
    data = make_data(12, 3, seed=seed)
    model = fs.svm.one_norm_svm(data, C=C)
    assert fs.solve(model, "highs").objective == pytest.approx(linprog_value(data, C), rel=1e-6)
    assert all(min(model.p[j].value, model.q[j].value) <= 1e-9 for j in model.features)  # w = p - q, |w| = p + q


@pytest.mark.parametrize("build", [fs.svm.l2_svm, fs.svm.l2_svm_dual, fs.svm.one_norm_svm])
@pytest.mark.parametrize("C", [0, -1, float("nan"), float("inf"), "much"])
def test_a_price_of_slack_that_means_nothing(build, C, three):
    with pytest.raises(fs.ParameterError, match="C="):
        build(three, C=C)


@pytest.mark.parametrize("solver", ["scip", "clarabel"])
def test_the_dual_with_a_small_bound_of_its_multipliers(solver):
    """All terms of its balance are below 1e-6, so that SCIP took any multipliers for balanced: 7% above the optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, -1))
    result = fs.solve(fs.svm.l2_svm_dual(data, C=1e-7), solver)
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(fs.solve(fs.svm.l2_svm(data, C=1e-7)).objective, rel=1e-6)


def test_the_bound_of_a_small_objective():
    """SCIP's bound was 1e-4 above the optimum, 7.5e-3, of which its tolerance of 1e-6 is more than the gap."""
    X = [
        [2.4886e3, 1.00667401e6, 3.64e4],
        [1.777e4, 6.31e4, 1.86e5],
        [-3.01e3, 2.39e5, 8.33e4],
        [-2.97e3, 1.88e6, 6.03e3],
    ]
    model = fs.concave.fss(fs.Dataset.from_arrays(X, [1, -1, -1, -1]), penalty=0.05)
    model.penalty.set_value(0.005)
    result = fs.solve(model, "scip")
    assert result.status.value == "optimal"
    assert result.bound <= 0.0075015


@pytest.mark.parametrize("seed", [1, 2, 6, 13, 24])
def test_an_edited_optimum_of_1e_6_is_not_read_off_absolute_tolerances(seed, need):
    """With a row of the user the multipliers alone are no proof: scip ended 3% above the optimum."""
    need("scip")
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(7, 4))
    y = np.where(U @ rng.normal(size=4) > 0, 1.0, -1.0)
    model = fs.svm.one_norm_svm(fs.Dataset.from_arrays(1e6 * U, y).scaled("none"), C=1.0)
    model.no_errors = pyo.Constraint(model.xi.index_set(), rule=lambda m, i: m.xi[i] <= 0)
    rows = -y[:, None] * np.hstack([U, -U, np.ones((7, 1))])
    best = linprog([1] * 8 + [0], A_ub=rows, b_ub=-np.ones(7), bounds=[(0, None)] * 8 + [(None, None)])
    assert fs.solve(model, "scip").objective == pytest.approx(1e-6 * best.fun, rel=1e-4)
