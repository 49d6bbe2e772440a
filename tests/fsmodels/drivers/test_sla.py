"""sla on FSV and FSS: limits, stationary by an independent LP, edits."""

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
import solvers
import solvers.model.function
from model_state import state
from solvers import SolutionStatus, StopReason
from solvers.model.classes import violation

LP_SOLVERS = ["highs", "clarabel", "gurobi", "glpk"]


def long(data=None):
    """Some forty linear programs over seven starts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)
    return fs.concave.fsv(fs.Dataset.from_arrays(X, y, features=list("abcdef")), penalty=0.2)


def stopped(model, **options):
    before = state(model)
    result = solvers.solve(model, "sla", **options)
    assert state(model) == before
    return result


def assert_incumbent(result, model):
    assert result.status is SolutionStatus.FEASIBLE
    assert result.objective == pytest.approx(result.iterations["Objective"].min())
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-9)
    assert violation(model) <= 1e-6
    assert result.bound == 0.0  # a sum of what is at least 0


@pytest.mark.parametrize("limit", [1, 2])
def test_iteration_limit_counts_linear_programs(limit):
    model = long()
    result = stopped(model, iteration_limit=limit)
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert result.details["linear_programs"] == limit == len(result.iterations)
    assert_incumbent(result, model)


def polyhedron(data, extra=(), sides=()):
    """A x <= b of (11) for x = (w, gamma, y, z, v)."""
    X, y = data.X, data.y
    n, rows = X.shape[1], len(y)
    order = [*np.flatnonzero(y > 0), *np.flatnonzero(y < 0)]
    signed = (y[:, None] * X)[order]
    plane = np.hstack([-signed, y[order][:, None], -np.eye(rows), np.zeros((rows, n))])
    above = np.hstack([np.eye(n), np.zeros((n, 1 + rows)), -np.eye(n)])
    below = np.hstack([-np.eye(n), np.zeros((n, 1 + rows)), -np.eye(n)])
    slack = np.hstack([np.zeros((rows, n + 1)), -np.eye(rows), np.zeros((rows, n))])
    least = np.hstack([np.zeros((n, n + 1 + rows)), -np.eye(n)])
    A = np.vstack([plane, above, below, slack, least, *extra])
    return A, np.concatenate([-np.ones(rows), np.zeros(2 * n + rows + n), *sides])


def end(model):
    """The point that the model holds, in the same order."""
    values = [*model.w.values(), model.gamma, *model.y.values(), *model.z.values(), *model.v.values()]
    return np.array([v.value for v in values])


def slope_at(model, x, kind, weights=None):
    """Gradient of (10) or (11) over x = (w, gamma, y, z, v), by hand."""
    lam, alpha = model.penalty.value, model.alpha.value
    n, m, k = len(model.w), len(model.A), len(model.B)
    v = x[-n:]
    e = np.exp(-alpha * v)
    step = alpha * e if kind == "fsv" else alpha * e / (1 + e) ** 2
    if weights is not None:
        step = weights * step
    errors = np.concatenate([np.full(m, 1 / m), np.full(k, 1 / k)])
    return np.concatenate([np.zeros(n + 1), (1 - lam) * errors, lam * step])


def assert_stationary(model, kind, data, *, tolerance=1e-7, weights=None, extra=(), sides=()):
    """(17): no point of the polyhedron lies below x on the linear approximation there."""
    A, b = polyhedron(data, extra, sides)
    x = end(model)
    assert (A @ x <= b + 1e-6).all()
    slope = slope_at(model, x, kind, weights)
    answer = linprog(slope, A_ub=A, b_ub=b, bounds=(None, None))
    assert answer.status == 0
    assert slope @ x <= answer.fun + tolerance * max(1.0, abs(pyo.value(model.objective)))
    return A, b, x


@pytest.mark.parametrize("kind", ["fsv", "fss"])
@pytest.mark.parametrize("penalty", [0.05, 0.4])
@pytest.mark.parametrize("seed", range(4))
def test_every_end_is_a_stationary_vertex(kind, penalty, seed, make_data):
    data = make_data(24, 5, seed=seed)
    for options in ({"starts": 0}, {"starts": 1, "linear_start": False, "seed": seed}):
        model = getattr(fs.concave, kind)(data, penalty=penalty)  # new: a better point on the model would be kept
        result = solvers.solve(model, "sla", **options)
        assert (result.status, result.stop_reason) == (SolutionStatus.STATIONARY, StopReason.CONVERGED)
        A, b, x = assert_stationary(model, kind, data)
        assert np.linalg.matrix_rank(A[A @ x >= b - 1e-8]) == len(x)  # a vertex
        w, v = (np.array([u.value for u in var.values()]) for var in (model.w, model.v))
        np.testing.assert_allclose(v, np.abs(w), atol=1e-9)
        assert (np.diff(result.iterations["Objective"].to_numpy(dtype=float)) < 0).all()
        assert len(result.iterations) == result.details["linear_programs"] - 1  # the last one confirms


def test_the_objective_falls_strictly_within_each_start(make_data):
    table = solvers.solve(fs.concave.fsv(make_data(40, 8, seed=3), penalty=0.1), "sla", starts=8).iterations
    lengths = []
    for _, rows in table.groupby("Step"):
        assert (np.diff(rows["Objective"]) < 0).all()
        lengths.append(len(rows))
    assert len(lengths) == 9
    assert max(lengths) > 2


@pytest.mark.parametrize("lp_solver", LP_SOLVERS)
@pytest.mark.parametrize("kind", ["fsv", "fss"])
def test_every_lp_solver_ends_stationary(kind, lp_solver, make_data, need):
    data = make_data(20, 4, seed=2)
    model = getattr(fs.concave, kind)(data, penalty=0.2)
    result = solvers.solve(model, "sla", lp_solver=need(lp_solver), starts=2, tolerance=1e-6)
    assert result.status is SolutionStatus.STATIONARY, result
    assert_stationary(model, kind, data, tolerance=1e-5)
    highs = solvers.solve(getattr(fs.concave, kind)(data, penalty=0.2), "sla", starts=20)
    assert result.objective >= highs.objective - 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_an_edited_model_satisfies_its_row_and_is_stationary(seed, make_data):
    """A forced feature and a weighted price, as an analyst would edit (11)."""
    data = make_data(20, 4, seed=seed)
    model = fs.concave.fsv(data, penalty=0.3)
    prices = np.array([3.0, 1.0, 0.5, 2.0])
    model.forced = pyo.Constraint(expr=model.w["a"] >= 0.5)
    model.features_used.set_value(sum(p * model.step[j] for p, j in zip(prices, model.features, strict=True)))
    result = solvers.solve(model, "sla", starts=10, seed=seed)
    assert model.w["a"].value >= 0.5 - 1e-7
    row = np.zeros((1, 4 + 1 + 20 + 4))
    row[0, 0] = -1.0
    assert_stationary(model, "fsv", data, weights=prices, extra=[row], sides=[[-0.5]])
    w = np.array([v.value for v in model.w.values()])
    margins = np.maximum(0, 1 - data.y * (data.X @ w + pyo.value(model.b)))
    error = margins[data.y > 0].mean() + margins[data.y < 0].mean()
    assert result.objective == pytest.approx(0.7 * error + 0.3 * prices @ (1 - np.exp(-5 * np.abs(w))), rel=1e-9)


def test_a_row_that_forces_a_weight_equals_brute_force():
    """One feature at x = -1, 1, w >= 1/2: concave in w on [1/2, 1], so an end is best."""
    data = fs.Dataset.from_arrays([[-1.0], [1.0]], [-1, 1], features=["a"])
    for penalty in (0.1, 0.9, 0.99):
        model = fs.concave.fsv(data, penalty=penalty, alpha=1.0)
        model.forced = pyo.Constraint(expr=model.w["a"] >= 0.5)
        value = [(1 - penalty) * 2 * (1 - w) + penalty * (1 - np.exp(-w)) for w in (0.5, 1.0)]
        assert solvers.solve(model, "sla").objective == pytest.approx(min(value))
    assert value[0] < value[1]  # so that both ends have been best
