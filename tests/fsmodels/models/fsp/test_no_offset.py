"""FSP and its oracle with b fixed at 0, beside all supports, each by a quadratic program of clarabel's."""

import itertools

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import fsmodels as fs
from fsmodels.errors import ParameterError
from fsmodels.models.fsp.oracle import SvmOracle, relaxation
from fsmodels.models.fsp.oracle.problem import Rows
from fsmodels.models.proofs.svm import LOSSES
from loops import LOOPS
from solvers import SOLVERS, SolutionStatus

OPTIMAL = SolutionStatus.OPTIMAL


def numbers(seed, samples, n):
    """Columns whose means are not 0, so that centring them would be another problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, n)) + rng.normal(size=n)
    y = np.where((X - X.mean(axis=0)) @ rng.normal(size=n) + rng.normal(size=samples) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def by_clarabel(X, y, C, sigma, loss):
    """Return min 1/2 sum w^2 / sigma + C sum xi, or xi^2, subject to y w.x + xi >= 1."""
    S, samples, squared = np.flatnonzero(sigma), len(y), loss != "hinge"
    P = sp.block_diag([sp.diags_array(1 / sigma[S]), 2 * C * squared * sp.eye_array(samples)], format="csc")
    cost = np.append(np.zeros(S.size), np.full(samples, 0.0 if squared else C))
    rows = sp.vstack([
        sp.hstack([-y[:, None] * X[:, S], -sp.eye_array(samples)]),
        sp.hstack([sp.csc_array((samples, S.size)), -sp.eye_array(samples)]),
    ])  # fmt: skip
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    sides, cone = np.append(-np.ones(samples), np.zeros(samples)), [clarabel.NonnegativeConeT(2 * samples)]
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(P)), cost, sp.csc_matrix(rows), sides, cone, settings
    ).solve()
    assert str(solution.status) == "Solved"
    return solution.obj_val


@pytest.fixture(scope="module", params=list(LOSSES))
def loss(request):
    return request.param


@pytest.fixture(params=LOOPS)
def way(request, monkeypatch):
    monkeypatch.setattr(relaxation, "compiled", lambda: request.param == "compiled")


@pytest.mark.parametrize(("samples", "n", "C"), [(40, 4, 1.0), (30, 3, 1e-2), (25, 4, 100.0), (6, 9, 5.0)])
def test_values_and_cuts(samples, n, C, loss, way):
    X, y = numbers(n, samples, n)
    svm, rng = SvmOracle(X, y, C, loss, free_b=False), np.random.default_rng(n)
    points = [np.ones(n), *(rng.choice([0.0, 1.0, 1.0, 0.3], n) for _ in range(6))]
    points = [p for p in points if p.any()]
    truth = [by_clarabel(X, y, C, p, loss) for p in points]
    for sigma, q in zip(points, truth, strict=True):
        found = svm.solve(sigma, tolerance=1e-8)
        assert found.gap <= 1e-8
        assert found.b == 0.0
        assert found.value == pytest.approx(q, rel=3e-6)
        for other, value in zip(points, truth, strict=True):
            assert found.cut(other) <= value * (1 + 1e-5)
    assert svm.solve(np.zeros(n)).value == pytest.approx(C * samples, rel=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_joint_relaxation(C, loss, way):
    X, y = numbers(7, 50, 6)
    svm, rng = SvmOracle(X, y, C, loss, free_b=False), np.random.default_rng(7)
    q = {s: svm.solve(s, tolerance=1e-9).value for s in itertools.product([0.0, 1.0], repeat=6)}
    answered = 0
    for k in range(6):
        cost, lower, upper = rng.uniform(0, 0.1 * C, 6), np.zeros(6), np.ones(6)
        upper[k], lower[(k + 2) % 6] = 0.0, 1.0
        rows = Rows(np.ones((1, 6)), np.array([3.0]), np.zeros(1, bool))
        found = svm.relax(cost, rows, lower, upper, accuracy=1e-6)
        if found is None:
            continue
        answered += 1
        answer, v = found
        at = svm.solve(np.clip(answer.x, 0, 1), tolerance=1e-9).value + cost @ answer.x
        assert at * (1 - 1e-4) <= answer.bound <= at * (1 + 1e-7)
        for s, value in q.items():
            allowed = np.all(s >= lower) and np.all(s <= upper) and sum(s) <= 3
            assert not allowed or answer.bound <= (value + cost @ s) * (1 + 1e-8)
            assert answer.constant - 0.5 * np.array(s) @ v**2 <= value * (1 + 1e-8)
    assert answered >= 5


@pytest.mark.parametrize("form", [fs.fsp.RMP, *fs.fsp.FORMS])
def test_models_reach_the_best_support(form, loss, need):
    X, y = numbers(3, 24, 5)
    data = fs.Dataset.from_arrays(X, y).scaled("none")
    svm, C = SvmOracle(X, y, 2.0, loss, free_b=False), 2.0
    answers = {s: svm.solve(s, tolerance=1e-9) for s in itertools.product([0.0, 1.0], repeat=5)}
    most = fs.fsp.weight_bound(data, C, loss, intercept=False)
    assert max(np.abs(answer.w).max() for answer in answers.values()) <= most
    best = min(answer.value for s, answer in answers.items() if sum(s) <= 2)
    lazy = ["single-tree"] if SOLVERS["gurobi"].found else []
    solvers = ["branch-and-cut", "benders", *lazy, *(["scip"] if form in ("big-m", "perspective") else [])]
    for solver in solvers:
        model = fs.fsp.fsp_m(data, max_features=2, C=C, form=form, loss=loss, intercept=False)
        result = fs.solve(model, need(solver))
        assert (result.status, result.objective) == (OPTIMAL, pytest.approx(best, rel=1e-4))
        assert result.bound <= best * (1 + 1e-9)
        assert model.b.value == 0.0


def test_its_own_bound_of_weights_is_attained():
    for C in (0.1, 1.0, 7.0):  # both samples on one side of the origin: squared, 1/2 w^2 + 2 C (1 - w d)^2
        data = fs.Dataset.from_arrays(np.array([[0.5], [-0.5]]) / np.sqrt(C), np.array([1.0, -1.0])).scaled("none")
        w = SvmOracle(data.X, data.y, C, "squared-hinge", free_b=False).solve([1.0], tolerance=1e-12).w[0]
        assert w == pytest.approx(fs.fsp.weight_bound(data, C, "squared-hinge", intercept=False), rel=1e-6)
        data = fs.Dataset.from_arrays(np.array([[1.0], [-1.0]]) / np.sqrt(2 * C), np.array([1.0, -1.0])).scaled("none")
        w = SvmOracle(data.X, data.y, C, free_b=False).solve([1.0], tolerance=1e-12).w[0]
        assert w == pytest.approx(fs.fsp.weight_bound(data, C, intercept=False), rel=1e-6)


def test_select_takes_it(loss):
    data = fs.load_dataset("bupa")
    found = fs.select(data, max_features=2, loss=loss, intercept=False)
    assert (found.status, found.bias) == (OPTIMAL, 0.0)
    with_b = fs.select(data, max_features=2, loss=loss)
    assert found.objective > with_b.objective
    with pytest.raises(ParameterError, match="intercept='no'"):
        fs.select(data, max_features=2, intercept="no")
