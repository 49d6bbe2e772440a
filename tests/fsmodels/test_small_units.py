"""Rows of a user on weights of 1e-6 and less: met in the units of the change of variables, not in the model's."""

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from solvers import SolutionStatus

BUILDERS = {
    "svm": lambda data: fs.svm.l2_svm(data, C=1.0),
    "robust-lp": fs.svm.robust_lp,
    "gmeb": lambda data: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0),
    "fsmulti": lambda data: fs.multivariate.fsmulti(data, C=1.0, budget=1, loss="hamming", form="extended"),
    "fsmulti stated": lambda data: fs.multivariate.fsmulti(data, C=1.0, budget=1, form="stated", sigma=True),
}


UNIT = 1e6  # of the columns; weights are about its inverse


def model_in(name, unit, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(7, 3)), np.where(rng.random(7) < 0.5, 1, -1)
    y[:2] = 1, -1
    return BUILDERS[name](fs.Dataset.from_arrays(X * unit, y))


@pytest.mark.parametrize("solver", [None, "clarabel", "scip"])
@pytest.mark.parametrize("name", BUILDERS)
def test_a_ball_may_be_stated_in_any_unit(name, solver):
    if name == "fsmulti stated" and solver is not None:
        pytest.skip("an oracle has the rows")
    found = []
    for square in (1.0, 0.04 / UNIT**2):  # the same row in units of 1, and in units of the weights
        m = model_in(name, UNIT)
        m.ball = pyo.Constraint(
            expr=pyo.quicksum(m.w[j] ** 2 for j in m.features) * (square / 0.04 * UNIT**2) <= square
        )
        result = fs.solve(m, solver)
        assert result.status is SolutionStatus.OPTIMAL
        assert result.bound <= result.objective * (1 + 1e-6)
        found.append(result.objective)
    assert found[1] == pytest.approx(found[0], rel=2e-4)


@pytest.mark.parametrize("name", ["svm", "robust-lp", "fsmulti", "fsmulti stated"])
def test_an_integer_that_allows_a_small_weight_is_not_a_fraction(name):
    """k >= |w| is 0 or at least 1: a fraction of 1e-6, within the tolerance on integers, would allow all w of 1e-7."""
    m, without = model_in(name, 1e7, seed=1), model_in(name, 1e7, seed=1)
    m.k = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 3))
    m.up = pyo.Constraint(m.features, rule=lambda m, j: m.w[j] <= m.k)
    m.down = pyo.Constraint(m.features, rule=lambda m, j: -m.w[j] <= m.k)
    m.objective.set_value(m.objective.expr + 100 * m.k)
    for j in without.features:
        without.w[j].fix(0.0)
    result, least = fs.solve(m), fs.solve(without).objective
    assert result.objective is None or result.objective == pytest.approx(least, rel=1e-4)
    assert result.bound is None or result.bound <= least * (1 + 1e-6)


def test_the_violation_is_that_of_the_users_rows():
    m = model_in("svm", 1e6)
    m.cap = pyo.Constraint(expr=m.w["x1"] <= 1e-7)
    fs.solve(m)
    facts = m.structure
    m.w["x1"].set_value(2e-7)
    assert 0.1 < facts.change.violation([m.cap]) < 1.0
    m.w["x1"].set_value(1e-7)
    assert facts.change.violation([m.cap]) < 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e7])
def test_a_complementarity_holds_for_small_weights(unit):
    """r = 1 where the weight is fixed off 0; in 0 <= u - v, which is 0 or 1e-8 here, scip took all for 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 3)), np.where(rng.random(7) < 0.5, 1, -1)
    y[:2] = 1, -1
    model = fs.concave.fsl(fs.Dataset.from_arrays(X * unit, y), penalty=0.2)
    for j in model.features:
        model.w[j].fix(0.1 / unit)
    fs.solve(model, "scip")
    assert [r.value for r in model.r.values()] == pytest.approx([1.0] * 3, abs=1e-6)
    assert [unit * u.value for u in model.u.values()] == pytest.approx([0.1] * 3, abs=1e-6)


def test_a_price_of_sigma_beside_a_small_objective_is_no_false_optimum():
    """With a price of 0.2 and an optimum of 1.75e-6, an objective of 1.83e-6 was optimal to scip's tolerances."""
    X = [
        [-7.76200445e05, 7.61447833e05, -1.91557704e06, -3.65558759e05],
        [2.13106703e06, -9.64518403e04, 1.12124086e06, -2.07999194e04],
        [1.06390631e06, -1.22276715e06, -2.16832175e06, 1.12812469e06],
        [1.78572210e05, 1.75578252e05, -2.18798841e05, 5.38846286e05],
        [1.12133723e06, -1.48527560e06, 2.15506795e05, 5.74015553e05],
    ]
    model = fs.svm.one_norm_svm(fs.Dataset.from_arrays(np.array(X), [1, -1, 1, 1, 1]), C=1.0, sigma=True)
    sigma = list(model.sigma.values())
    model.user_row = pyo.Constraint(expr=sum(sigma) >= 2)
    model.objective.expr += 0.2 * sigma[2] * sigma[3]
    result = fs.solve(model, "scip")
    optimum = 1.75032435e-06  # by enumeration of sigma
    assert result.bound <= optimum * (1 + 1e-6)
    assert result.objective <= optimum * (1 + 1e-4) or result.status is SolutionStatus.FEASIBLE


def test_rows_that_make_the_weights_larger_than_the_units_assume():
    """The units assume weights of 8 C = 0.008, and a row requires weights of 1e6: HiGHS drops small coefficients."""
    X = 1e-6 * np.array(
        [
            [0.140801938, 1.52297081, 0.756799773],
            [0.323063392, -0.049795993, 1.56271776],
            [-1.19343475, 0.489293955, -1.11234589],
            [-1.29342759, 0.349757658, -1.46212898],
            [0.239231484, -0.245034684, 1.03351937],
            [-0.535144763, 0.169339139, -1.59399934],
            [-0.219825726, -0.216964328, -0.0102168868],
            [0.409767498, 1.10067128, -0.0825374206],
            [0.140801938, 1.52297081, 0.756799773],
        ]
    )
    y = np.array([1.0, -1, -1, -1, 1, -1, 1, 1, -1])
    model = fs.svm.one_norm_svm(fs.Dataset.from_arrays(X, y).scaled("none"), C=0.001)
    model.low = pyo.Constraint(expr=model.b <= -0.01)
    model.good = pyo.Constraint(expr=model.xi[0] + model.xi[1] + model.xi[7] <= 0.5)
    rows = np.hstack([-1e6 * y[:, None] * X, 1e6 * y[:, None] * X, -y[:, None], -np.eye(9)])
    rows = np.vstack([rows, np.zeros((2, 16))])
    rows[9, 6], rows[10, [7, 8, 14]] = 1.0, 1.0
    cost, sides = [1.0] * 6 + [0.0] + [1e-9] * 9, [-1.0] * 9 + [-0.01, 0.5]
    right = 1e6 * linprog(cost, rows, sides, bounds=[(0, None)] * 6 + [(None, None)] + [(0, None)] * 9).fun
    result = fs.solve(model, "highs")
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(right, rel=1e-6)
