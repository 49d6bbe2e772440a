"""SUB and the joint relaxation with the squared hinge, beside a quadratic program by clarabel and all supports."""

import itertools

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import fsmodels as fs
from fsmodels.errors import ParameterError
from fsmodels.models.fsp.oracle import SvmOracle, relaxation
from fsmodels.models.fsp.oracle.problem import Guide, Rows
from fsmodels.models.proofs.svm import SquaredHinge
from loops import LOOPS

SQUARED = "squared-hinge"


@pytest.fixture(autouse=True, params=LOOPS)
def way(request, monkeypatch):
    """Both ways to the same answers: numpy, and the compiled loop."""
    monkeypatch.setattr(relaxation, "compiled", lambda: request.param == "compiled")


def numbers(seed, samples, n, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, n)) * 10.0 ** rng.uniform(-1, 1, n) + 3 * rng.normal(size=n)
    y = np.where((X - X.mean(axis=0)) @ rng.normal(size=n) + noise * rng.normal(size=samples) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def by_clarabel(X, y, C, sigma):
    """Return min 1/2 sum w^2 / sigma + C sum xi^2, of the rows as they are written."""
    S, samples = np.flatnonzero(sigma), len(y)
    C = np.broadcast_to(C, samples)
    weights = sp.diags_array(1 / sigma[S]) if S.size else sp.csc_array((0, 0))
    P = sp.block_diag([weights, sp.csc_array((1, 1)), sp.diags_array(2.0 * C)], format="csc")
    margins = sp.hstack([-y[:, None] * X[:, S], -y[:, None], -sp.eye_array(samples)])
    signs = sp.hstack([sp.csc_array((samples, S.size + 1)), -sp.eye_array(samples)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(P)), np.zeros(S.size + 1 + samples), sp.csc_matrix(sp.vstack([margins, signs])),
        np.append(-np.ones(samples), np.zeros(samples)), [clarabel.NonnegativeConeT(2 * samples)], settings,
    )  # fmt: skip
    solution = solver.solve()
    assert str(solution.status) == "Solved"
    return solution.obj_val


@pytest.mark.parametrize(("samples", "n", "C"), [(40, 5, 1.0), (25, 3, 1e-3), (30, 4, 1e3), (8, 12, 10.0)])
def test_values_and_cuts_are_those_of_the_quadratic_program(samples, n, C):
    X, y = numbers(n, samples, n)
    svm, rng = SvmOracle(X, y, C, SQUARED), np.random.default_rng(n)
    points = [rng.choice([0.0, 1.0, 1.0, 0.3, 1e-2], n) for _ in range(8)] + [np.zeros(n), np.ones(n)]
    truth = [by_clarabel(X, y, C, sigma) for sigma in points]
    for sigma, q in zip(points, truth, strict=True):
        found = svm.solve(sigma, tolerance=1e-9)
        assert found.value == pytest.approx(q, rel=2e-6)
        assert found.gap <= 1e-9
        assert found.alpha.min() >= 0
        assert abs(y @ found.alpha) <= 1e-9 * found.alpha.sum()
        slacks = np.maximum(0.0, 1 - y * (X @ found.w + found.b))
        norms = np.divide(found.w**2, sigma, out=np.zeros(n), where=sigma > 0)
        assert 0.5 * norms.sum() + C * slacks @ slacks == pytest.approx(found.value, rel=1e-9)
        np.testing.assert_allclose(found.alpha, 2 * C * slacks, rtol=1e-4, atol=1e-4 * found.alpha.max())
        assert found.cut(sigma) == pytest.approx(found.value, rel=1e-8)
        for other, value in zip(points, truth, strict=True):
            assert found.cut(other) <= value * (1 + 1e-5)


def test_each_sample_may_have_its_own_price():
    X, y = numbers(5, 40, 4)
    C = 10.0 ** np.random.default_rng(5).uniform(-2, 1, 40)
    svm = SvmOracle(X, y, C, SQUARED)
    for sigma in (np.ones(4), np.array([0.5, 0.0, 1.0, 0.0]), np.zeros(4)):
        found = svm.solve(sigma, tolerance=1e-9)
        assert found.gap <= 1e-9
        assert found.value == pytest.approx(by_clarabel(X, y, C, sigma), rel=2e-6)


def test_nothing_selected_costs_4_C_times_both_classes_over_their_sum():
    X, y = numbers(1, 30, 4)
    plus = np.count_nonzero(y > 0)
    found = SvmOracle(X, y, 3.0, SQUARED).solve(np.zeros(4))
    assert found.value == pytest.approx(4 * 3.0 * plus * (30 - plus) / 30, rel=1e-12)
    assert found.gap <= 1e-12


def test_a_separable_support_needs_almost_no_slack_at_a_large_C():
    X, y = numbers(2, 30, 3, noise=0.0)
    found = SvmOracle(X, y, 1e6, SQUARED).solve(np.ones(3), tolerance=1e-9)
    hard = SvmOracle(X, y, 1e6).solve(np.ones(3), tolerance=1e-9)
    assert found.gap <= 1e-9
    assert found.value == pytest.approx(hard.value, rel=1e-3)
    assert found.value < hard.value


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_joint_relaxation_is_below_every_support_and_near_its_own_point(C, sparse):
    X, y = numbers(3, 60, 7)
    svm, rng = SvmOracle(sp.csr_array(X) if sparse else X, y, C, SQUARED), np.random.default_rng(3)
    value = {s: svm.solve(s, tolerance=1e-9).value for s in itertools.product([0.0, 1.0], repeat=7)}
    for k in range(6):
        cost = rng.uniform(0, 0.1 * C, 7)
        lower, upper = np.zeros(7), np.ones(7)
        upper[k], lower[(k + 2) % 7] = 0.0, 1.0
        rows = Rows(np.vstack([np.ones(7), rng.uniform(0, 1, 7)]), np.array([3.0, 1.8]), np.zeros(2, bool))
        answer, v = svm.relax(cost, rows, lower, upper, accuracy=1e-7)
        at = svm.solve(np.clip(answer.x, 0, 1), tolerance=1e-9).value + cost @ answer.x
        assert at * (1 - 1e-4) <= answer.bound <= at * (1 + 1e-7)
        assert abs(y @ answer.alpha) <= 1e-12 * answer.alpha.sum()
        assert answer.constant == pytest.approx(answer.alpha.sum() - answer.alpha @ answer.alpha / (4 * C))
        for s, q in value.items():
            allowed = np.all(s >= lower) and np.all(s <= upper) and np.all(rows.matrix @ s <= rows.sides)
            assert not allowed or answer.bound <= (q + cost @ s) * (1 + 1e-8)
            assert answer.constant - 0.5 * np.array(s) @ v**2 <= q * (1 + 1e-8)


def test_samples_far_outside_may_be_left_out():
    data = fs.load_dataset("wdbc").scaled("standard")
    svm, rows = SvmOracle(data.X, data.y, 10.0, SQUARED), Rows(np.ones((1, 30)), np.array([5.0]), np.array([False]))
    upper = np.ones(30)
    whole = svm.relax(np.zeros(30), rows, np.zeros(30), upper, accuracy=1e-6)[0]
    guide = Guide(whole.margins, np.zeros(30), 0.0)
    part = svm._screen.part(guide, data.y, len(data.y), np.zeros(len(data.y), dtype=bool))
    assert part is not None
    assert part.kept.size < len(data.y)
    assert not part.at_bound.size
    again = svm.relax(np.zeros(30), rows, np.zeros(30), upper, accuracy=1e-6)[0]
    assert again.bound == pytest.approx(whole.bound, rel=3e-6)


def test_the_best_offset_is_that_of_every_piece():
    rng = np.random.default_rng(0)
    for _ in range(300):
        samples = int(rng.integers(2, 9))
        y = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        scores = np.round(rng.normal(size=samples) * 10.0 ** rng.uniform(-1, 2), 1) + 3 * y * (rng.random() < 0.3)
        C = np.ones(samples) if rng.random() < 0.5 else 10.0 ** rng.uniform(-1, 1, samples)
        value, b = SquaredHinge(C).offset(scores, y)
        kinks = np.sort(y - scores)
        tried = [*kinks]
        for middle in [kinks[0] - 1, *(0.5 * (kinks[1:] + kinks[:-1])), kinks[-1] + 1]:
            slack = 1 - y * (scores + middle) > 0
            tried.append(np.average((y - scores)[slack], weights=C[slack]) if slack.any() else middle)
        best = min(C @ np.maximum(1 - y * (scores + t), 0) ** 2 for t in tried)
        assert value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert SquaredHinge(C).offset(-scores, -y)[1] == pytest.approx(-b, rel=1e-9, abs=1e-12)


def test_another_loss_is_refused_with_the_names():
    X, y = numbers(4, 10, 2)
    with pytest.raises(ParameterError, match=r"loss='logistic' is not known: use one of hinge, squared-hinge"):
        SvmOracle(X, y, 1.0, "logistic")
