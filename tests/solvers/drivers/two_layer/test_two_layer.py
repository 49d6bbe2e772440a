"""Two-layer cutting planes on a risk that is no classifier's: the largest residual of a regression."""

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

from solvers import SolutionStatus, StopReason, solve
from solvers.drivers.two_layer.columns import feasible_multipliers, solve_shares
from solvers.drivers.two_layer.saddle_point import solve_restricted
from solvers.drivers.two_layer.shares import GroupShares
from solvers.errors import ModelError, OptionError
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.facts.k_support import half_conjugate, half_norm

SAMPLES, COLUMNS = 20, 5


def regression(seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLES, COLUMNS))
    return X, X @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.3 * rng.normal(size=SAMPLES)


class Residual:
    """The risk max_i |v_i - t_i|; its oracle counts, and can be interrupted."""

    def __init__(self, t):
        self.t, self.calls, self.stop_at = t, 0, 0

    def __call__(self, v):
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        i = int(np.argmax(np.abs(v - self.t)))
        sign = 1.0 if self.t[i] >= v[i] else -1.0
        u = np.zeros(len(v))
        u[i] = sign
        return RiskRow(u, sign * self.t[i])


def chebyshev(X, t, B, C, scale=1.0):
    """min Omega(w) + C max_i |w.x_i - t_i|."""
    model = pyo.ConcreteModel()
    model.columns = pyo.Set(initialize=range(X.shape[1]))
    model.w, model.risk = pyo.Var(model.columns), pyo.Var(domain=pyo.NonNegativeReals)
    model.omega = pyo.Var(domain=pyo.NonNegativeReals)
    model.B = pyo.Param(initialize=B, mutable=True, domain=pyo.PositiveIntegers)
    model.C = pyo.Param(initialize=C, mutable=True, domain=pyo.PositiveReals)
    model.objective = pyo.Objective(expr=model.omega + model.C * model.risk)
    residual = Residual(t)

    def load(columns, w, d, risk):
        assert columns.shape == w.shape == d.shape
        model.w.set_values(dict.fromkeys(model.columns, 0.0) | dict(zip(columns.tolist(), w.tolist(), strict=True)))
        model.omega.set_value(half_norm(w, int(pyo.value(model.B)))[0])
        model.risk.set_value(risk)

    CompositeRisk(
        X, residual, model.B, model.C, load, scale, implicit="an oracle for residuals, by this builder"
    ).attach(model)
    return model, residual


def stated(X, t, B, C, scale=1.0):
    """The same with all rows, by Clarabel."""
    n, p = X.shape
    m = pyo.ConcreteModel()
    m.w, m.d = pyo.Var(range(p)), pyo.Var(range(p), bounds=(0, 1))
    m.t, m.xi = pyo.Var(range(p), domain=pyo.NonNegativeReals), pyo.Var(domain=pyo.NonNegativeReals)
    m.cone = pyo.Constraint(range(p), rule=lambda m, j: m.w[j] ** 2 <= m.d[j] * m.t[j])
    m.budget = pyo.Constraint(expr=sum(m.d.values()) == B)
    fit = [sum(float(X[i, j]) * m.w[j] for j in range(p)) - float(t[i]) for i in range(n)]
    m.above = pyo.Constraint(range(n), rule=lambda m, i: scale * fit[i] <= m.xi)
    m.below = pyo.Constraint(range(n), rule=lambda m, i: -scale * fit[i] <= m.xi)
    m.o = pyo.Objective(expr=0.5 * sum(m.t.values()) + C * m.xi)
    result = solve(m, "clarabel", gap=1e-9)
    assert result.gap < 1e-7
    return result.objective


def value(model, X, t, scale=1.0):
    w = np.array([v.value for v in model.w.values()])
    risk = scale * np.abs(X @ w - t).max()
    return half_norm(w, int(pyo.value(model.B)))[0] + pyo.value(model.C) * risk


def test_chebyshev_regression_on_one_column():
    """min 1/2 w^2 + C max_i |x_i w - t_i| for x = (1, 2), t = (1, 2): w = 1 from C = 1 on."""
    X, t = np.array([[1.0], [2.0]]), np.array([1.0, 2.0])

    def worst(v):
        i = int(np.argmax(np.abs(v - t)))
        sign = 1.0 if v[i] > t[i] else -1.0
        return RiskRow(-sign * np.eye(2)[i], -sign * t[i])

    model = pyo.ConcreteModel()
    model.w, model.risk = pyo.Var(), pyo.Var()
    model.cost = pyo.Objective(expr=0.5 * model.w**2 + 10 * model.risk)

    def load(columns, w, d, risk):
        model.w.set_value(w.sum())
        model.risk.set_value(risk)

    CompositeRisk(X, worst, budget=1, weight=10.0, load=load).attach(model)
    result = solve(model, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert model.w.value == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("B", [1, 2, 5])
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("stabilised", [True, False])
def test_chebyshev_regression(B, C, stabilised):
    X, t = regression()
    model, _ = chebyshev(X, t, B, C)
    result, expected = solve(model, gap=1e-5, stabilised=stabilised), stated(X, t, B, C)
    assert result.solver == "two-layer"
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=2e-5)
    assert result.objective == pytest.approx(value(model, X, t), rel=1e-9)
    table = result.iterations
    slack = 1e-6 * expected
    assert (table["Bound"] <= expected + slack).all()
    assert (table["Incumbent"] >= expected - slack).all()
    assert (table["Objective"] >= expected - slack).all()
    assert (table["Bound"].diff().dropna() >= 0).all()
    if "tidy" not in table["Step"].tolist():
        assert (table["Incumbent"].diff().dropna() <= 0).all()


def test_a_scale_of_the_risk():
    X, t = regression(2)
    model, _ = chebyshev(X, t, 2, 30.0, scale=0.05)
    result = solve(model, gap=1e-5)
    assert result.objective == pytest.approx(stated(X, t, 2, 30.0, scale=0.05), rel=2e-5)
    assert result.objective == pytest.approx(value(model, X, t, scale=0.05), rel=1e-9)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_a_sparse_matrix(kind):
    X, t = regression(3)
    X[np.abs(X) < 0.5] = 0.0
    results = [solve(chebyshev(matrix, t, 2, 5.0)[0], gap=1e-6) for matrix in (X, kind(X))]
    assert results[0].objective == pytest.approx(results[1].objective, rel=2e-6)
    assert results[1].status is SolutionStatus.OPTIMAL


def test_many_columns_of_which_few_are_in_use():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 400))
    t = 2 * X[:, 3] - X[:, 77]
    result = solve(chebyshev(X, t, 2, 2.0)[0], gap=1e-4)
    assert result.status is SolutionStatus.OPTIMAL
    working = result.details["working_set"]
    assert {3, 77} <= set(working["columns"].tolist())
    assert len(working["columns"]) < 200
    assert working["P"].shape == (len(working["q"]), len(working["columns"]))
    assert all(group.max() < len(working["columns"]) for group in working["groups"])


def test_budget_and_price_are_read_at_each_solve():
    X, t = regression()
    model, _ = chebyshev(X, t, 1, 1.0)
    for B, C in ((1, 1.0), (3, 50.0), (2, 0.1)):
        model.B, model.C = B, C
        assert solve(model, gap=1e-5).objective == pytest.approx(stated(X, t, B, C), rel=2e-5)
    model.B = 50  # above the columns: all of them
    assert solve(model, gap=1e-5).objective == pytest.approx(stated(X, t, COLUMNS, 0.1), rel=2e-5)


def test_plain_numbers_as_budget_and_price():
    X, t = regression()
    model, residual = chebyshev(X, t, 2, 5.0)
    CompositeRisk(X, residual, 2, 5.0, model.structure.load).attach(model)
    assert solve(model, gap=1e-5).objective == pytest.approx(stated(X, t, 2, 5.0), rel=2e-5)


# Limits.


def calls_of_a_whole_run():
    model, residual = chebyshev(*regression(), 2, 20.0)
    result = solve(model, gap=1e-6)
    return residual.calls, result


def test_ctrl_c_at_any_call_of_the_oracle():
    X, t = regression()
    calls, whole = calls_of_a_whole_run()
    assert calls > 10
    for call in range(1, calls + 1):
        model, residual = chebyshev(X, t, 2, 20.0)
        residual.stop_at = call
        result = solve(model, gap=1e-6)
        assert result.stop_reason is StopReason.INTERRUPTED
        assert result.has_solution is (call > 1)
        if result.has_solution:
            assert value(model, X, t) == pytest.approx(result.objective, rel=1e-9)
            assert result.objective >= whole.bound
        else:
            assert result.status is SolutionStatus.NO_SOLUTION
            assert all(v.value is None for v in model.w.values())
        assert result.bound is None or result.bound <= whole.objective


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"time_limit": 0}, StopReason.TIME_LIMIT),
        ({"iteration_limit": 1}, StopReason.ITERATION_LIMIT),
        ({"callback": lambda row: True}, StopReason.CALLBACK),
    ],
)
def test_limits(options, reason):
    X, t = regression()
    model, _ = chebyshev(X, t, 2, 20.0)
    result = solve(model, gap=1e-6, **options)
    assert (result.stop_reason, result.status) == (reason, SolutionStatus.FEASIBLE)
    assert value(model, X, t) == pytest.approx(result.objective, rel=1e-9)
    assert len(result.iterations) == (0 if reason is StopReason.TIME_LIMIT else 1)


def test_an_oracle_that_fails_is_not_swallowed_and_the_model_is_as_before():
    X, t = regression()
    model, _ = chebyshev(X, t, 2, 20.0)
    model.w.set_values(dict.fromkeys(model.columns, 0.25))
    asked = []

    def broken(v):
        asked.append(v)
        if len(asked) == 5:
            raise ZeroDivisionError
        return Residual(t)(v)

    model.structure.worst = broken
    with pytest.raises(ZeroDivisionError):
        solve(model)
    assert [v.value for v in model.w.values()] == [0.25] * COLUMNS


# Options and edits.


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"stabilised": 1}, "stabilised=1"),
        ({"stabilized": True}, "stabilised"),
        ({"risk_tolerance": 0.0}, "risk_tolerance=0.0"),
        ({"risk_tolerance": True}, "risk_tolerance=True"),
        ({"gap": -1}, "gap=-1"),
        ({"iteration_limit": 0}, "iteration_limit=0"),
        ({"sub_solver": "gurobi"}, "takes no sub_solver here: it solves its restricted problems itself"),
        ({"master_solver": "gurobi"}, "takes no master_solver here: it solves its restricted problems itself"),
    ],
)
def test_options_that_mean_nothing(options, says):
    model, _ = chebyshev(*regression(), 2, 20.0)
    with pytest.raises(OptionError) as error:
        solve(model, **options)
    assert says in str(error.value)


def test_a_tolerance_on_the_risk():
    model, _ = chebyshev(*regression(), 2, 20.0)
    result = solve(model, gap=1e-12, risk_tolerance=0.01)
    assert result.objective - result.bound <= 20.0 * 0.01
    assert result.stop_reason is StopReason.CONVERGED


@pytest.mark.parametrize("solver", ["clarabel", "highs", "benders", "cutting-plane"])
def test_other_solvers_are_refused(solver):
    model, _ = chebyshev(*regression(), 2, 20.0)
    with pytest.raises(ModelError, match="an oracle for residuals"):
        solve(model, solver)


def test_other_solvers_reject_the_option():
    model, residual = chebyshev(*regression(), 2, 20.0)
    CompositeRisk(regression()[0], residual, 2, 20.0, model.structure.load).attach(model)
    with pytest.raises(ModelError):
        solve(model, "clarabel")


def test_a_row_is_refused_by_name():
    model, _ = chebyshev(*regression(), 2, 20.0)
    model.cap = pyo.Constraint(expr=model.w[0] <= 1)
    with pytest.raises(ModelError, match='row "cap" was added'):
        solve(model)
    model.cap.deactivate()
    assert solve(model).status is SolutionStatus.OPTIMAL


@pytest.mark.parametrize("edit", [lambda m: m.w[0].fix(0.0), lambda m: m.w[0].setub(0.1), lambda m: m.risk.setlb(9.0)])
def test_a_bound_is_refused_by_name(edit):
    model, _ = chebyshev(*regression(), 2, 20.0)
    edit(model)
    with pytest.raises(ModelError):
        solve(model)


# The group problems.


def random_groups(seed):
    rng = np.random.default_rng(seed)
    groups = [np.sort(rng.choice(6, size=3, replace=False)) for _ in range(4)]
    return rng.normal(size=(5, 6)), rng.uniform(0.1, 1.0, size=5), groups, float(rng.choice([0.1, 3.0, 50.0]))


def shares_of(groups):
    shares = GroupShares(3)
    for t in groups:
        shares.add(np.arange(6), t)
    return shares


@pytest.mark.parametrize("seed", range(12))
def test_a_group_problem_has_no_gap(seed):
    """The multipliers' value and that of w = -sum_t mu_t P_t' alpha in (15) are the same."""
    P, q, groups, C = random_groups(seed)
    shares = shares_of(groups)
    groups, within = shares.groups, shares.within(np.arange(6))  # each once
    answer = solve_restricted(P, q, 3, C, accuracy=1e-12, time_limit=None, within=within)
    alpha, mu = answer.alpha, answer.rest
    assert (alpha.min() >= 0, mu.min() >= 0, alpha.sum() <= C * (1 + 1e-12)) == (True, True, True)
    assert mu.sum() == pytest.approx(1.0)
    sizes = np.array([np.linalg.norm(alpha @ P[:, t]) for t in groups])
    lower = q @ alpha - 0.5 * sizes.max() ** 2
    w = np.zeros(6)
    for share, t in zip(mu, groups, strict=True):
        w[t] -= share * (alpha @ P[:, t])
    assert answer.w == pytest.approx(w, abs=1e-6)
    upper = 0.5 * (mu @ sizes) ** 2 + C * max(0.0, (q + P @ w).max())
    assert lower <= upper * (1 + 1e-9)
    assert upper == pytest.approx(lower, rel=1e-6)


def test_a_group_is_kept_once_and_dropped_without_weight():
    groups = [np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([3, 4, 5])]
    shares = shares_of(groups)
    assert [t.tolist() for t in shares.groups] == [[0, 1, 2], [3, 4, 5]]
    shares.drop(np.array([1.0, 0.0]), 1)
    assert [t.tolist() for t in shares.groups] == [[0, 1, 2]]


@pytest.mark.parametrize("seed", range(6))
def test_given_shares_are_a_quadratic_program(seed):
    P, q, _, C = random_groups(seed)
    d = np.array([1.0, 0.5, 0.0, 0.25, 1.0, 0.25])
    m = pyo.ConcreteModel()
    use = np.flatnonzero(d).tolist()
    m.w, m.xi = pyo.Var(use), pyo.Var(domain=pyo.NonNegativeReals)
    m.row = pyo.Constraint(range(5), rule=lambda m, k: m.xi >= float(q[k]) + sum(float(P[k, j]) * m.w[j] for j in use))
    m.o = pyo.Objective(expr=0.5 * sum(m.w[j] ** 2 / float(d[j]) for j in use) + C * m.xi)
    expected = solve(m, "clarabel", gap=1e-9).objective
    w = solve_shares(P, q, d, C, None).w
    assert w[2] == 0
    at = 0.5 * (w[use] ** 2 / d[use]).sum() + C * max(0.0, (q + P @ w).max())
    assert at == pytest.approx(expected, rel=1e-6)


def test_multipliers_are_put_where_they_must_be():
    assert feasible_multipliers(np.array([-1e-9, 3.0, 1.0]), 2.0).tolist() == [0.0, 1.5, 0.5]


def test_any_multipliers_are_a_lower_bound():
    X, t = regression()
    expected, rng = stated(X, t, 2, 20.0), np.random.default_rng(0)
    for _ in range(100):
        alpha = rng.exponential(size=SAMPLES) * rng.choice([-1.0, 1.0], size=SAMPLES) * (rng.random(SAMPLES) < 0.3)
        alpha *= 20.0 * rng.random() / max(np.abs(alpha).sum(), 1e-9)
        assert alpha @ t - half_conjugate(X.T @ alpha, 2) <= expected * (1 + 1e-6)
