"""The fast SUB oracle against closed forms, clarabel, libsvm and the mathematics of its cut."""

import itertools

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import fsmodels.models.fsp.oracle.iterates
import fsmodels.models.fsp.oracle.svm_solvers
import fsmodels.models.proofs.svm
from fsmodels.errors import DataError, ParameterError
from fsmodels.models.fsp.oracle import SvmOracle, relaxation


@pytest.fixture(autouse=True, scope="module")
def numpy_only():
    """The compiled loop has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relaxation, "compiled", lambda: False)
        yield


def overlapping(rows, n, seed, noise=0.5):
    """Two classes that no hyperplane separates with many more rows than columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n))
    y = np.where(X @ rng.uniform(-1, 1, n) + noise * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def objective(X, y, C, sigma, w, b):
    """(1), from the data alone."""
    on = sigma > 0
    assert not w[~on].any()
    return 0.5 * np.sum(w[on] ** 2 / sigma[on]) + C * np.maximum(0, 1 - y * (X @ w + b)).sum()


def clarabel_value(X, y, C, sigma):
    """(1)-(2) by an independent conic solver, in u = w / sqrt(sigma)."""
    Z = y[:, None] * X * np.sqrt(sigma)
    rows, n = X.shape
    P = sp.block_diag([sp.eye(n), sp.csc_matrix((rows + 1, rows + 1))], format="csc")
    q = np.concatenate([np.zeros(n + 1), np.full(rows, C)])
    A = sp.bmat([[-Z, -y[:, None], -sp.eye(rows)], [None, None, -sp.eye(rows)]], format="csc")
    A.resize(2 * rows, n + 1 + rows)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_rel = options.tol_gap_abs = options.tol_feas = 1e-10
    rhs = np.concatenate([-np.ones(rows), np.zeros(rows)])
    answer = clarabel.DefaultSolver(P, q, A, rhs, [clarabel.NonnegativeConeT(2 * rows)], options).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return answer.obj_val


def assert_certified(answer, X, y, C, sigma, gap=1e-7, rel=1e-9):
    """Everything that is promised of an answer, checked from the data."""
    X, y, sigma = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.asarray(sigma, dtype=float)
    assert answer.gap <= gap
    assert answer.bound <= answer.value * (1 + 1e-10)
    assert answer.alpha.min() >= 0
    assert answer.alpha.max() <= C
    assert abs(y @ answer.alpha) <= 1e-12 * answer.alpha.sum() + 1e-300
    scale = 1 + np.abs(X).max() * answer.alpha.sum()
    np.testing.assert_allclose(answer.v, X.T @ (y * answer.alpha), atol=1e-11 * scale)
    assert answer.cut(sigma) == pytest.approx(answer.bound, rel=rel)
    assert objective(X, y, C, sigma, answer.w, answer.b) == pytest.approx(answer.value, rel=rel)


CASES = [
    (60, 5, 1.0, "support"),
    (60, 5, 32.0, "fractional"),
    (200, 20, 10.0, "support"),
    (200, 20, 0.25, "fractional"),
    (15, 40, 1.0, "support"),
    (15, 40, 10.0, "fractional"),
]


@pytest.mark.parametrize(("rows", "n", "C", "kind"), CASES)
def test_value_and_bound_meet_clarabel(rows, n, C, kind):
    X, y = overlapping(rows, n, seed=rows + n)
    sigma = np.random.default_rng(n).random(n)
    sigma = (sigma < 0.7).astype(float) if kind == "support" else np.where(sigma < 0.3, 0.0, sigma)
    answer = SvmOracle(X, y, C).solve(sigma)
    reference = clarabel_value(X, y, C, sigma)
    assert_certified(answer, X, y, C, sigma)
    assert answer.value == pytest.approx(reference, rel=1e-6)
    assert answer.bound == pytest.approx(reference, rel=1e-6)
    assert answer.method == "interior-point"


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_equals_libsvm_run_to_a_tight_tolerance(C):
    X, y = overlapping(80, 6, seed=3)
    svc = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    reference = objective(X, y, C, np.ones(6), svc.coef_[0], svc.intercept_[0])
    answer = SvmOracle(X, y, C).solve(np.ones(6), tolerance=1e-9)
    assert answer.value <= reference * (1 + 1e-9)
    assert answer.value == pytest.approx(reference, rel=1e-6)  # libsvm's own b and w are not better than that
    np.testing.assert_allclose(answer.w, svc.coef_[0], atol=1e-3)


@pytest.mark.parametrize("C", [0.5, 32.0])
def test_cut_is_valid_everywhere_and_tight_at_home(C):
    X, y = overlapping(24, 6, seed=8)
    oracle = SvmOracle(X, y, C)
    corners = [np.array(s, dtype=float) for s in itertools.product((0, 1), repeat=6)]
    inside = list(np.random.default_rng(0).random((16, 6)))
    answers = [oracle.solve(sigma) for sigma in corners + inside]
    sigmas, values = np.array(corners + inside), np.array([answer.value for answer in answers])
    for sigma, answer in zip(sigmas, answers, strict=True):
        cuts = answer.alpha.sum() - 0.5 * sigmas @ answer.v**2
        assert (cuts <= values * (1 + 1e-12)).all()
        assert answer.cut(sigma) == pytest.approx(answer.value, rel=1.1e-7)


def test_cut_of_a_run_that_was_stopped_is_valid_too():
    X, y = overlapping(24, 6, seed=8)
    oracle = SvmOracle(X, y, 10.0)
    early = oracle.solve(np.ones(6), tolerance=0.5)
    assert early.gap > 1e-3
    for sigma in itertools.product((0, 1), repeat=6):
        assert early.cut(sigma) <= oracle.solve(sigma).value


@pytest.mark.parametrize(("positives", "negatives"), [(3, 7), (7, 3), (4, 4), (1, 1)])
def test_no_feature_has_the_closed_form(positives, negatives):
    C, y = 2.5, np.repeat([1.0, -1.0], [positives, negatives])
    X = np.random.default_rng(0).normal(size=(y.size, 3))
    answer = SvmOracle(X, y, C).solve(np.zeros(3))
    assert answer.value == 2 * C * min(positives, negatives)
    assert answer.bound == pytest.approx(answer.value, rel=1e-14)
    assert (answer.b, answer.method, answer.gap) == (np.sign(positives - negatives), "closed-form", 0.0)
    assert_certified(answer, X, y, C, np.zeros(3))


def test_constant_columns_are_worth_no_feature():
    X, y = np.full((10, 2), 7.0), np.repeat([1.0, -1.0], [3, 7])
    answer = SvmOracle(X, y, 4.0).solve([1, 1])
    assert answer.value == pytest.approx(24.0, rel=1e-7)
    assert_certified(answer, X, y, 4.0, [1, 1])


def test_one_sample_of_each_class_has_the_widest_margin():
    X = np.array([[1.0, 2.0], [4.0, 6.0]])  # 5 apart: |w| = 2/5
    answer = SvmOracle(X, [-1, 1], C=10.0).solve([1, 1])
    assert answer.value == pytest.approx(0.5 * 0.4**2, rel=1e-7)
    np.testing.assert_allclose(answer.w, [0.24, 0.32], rtol=1e-4)
    np.testing.assert_allclose(answer.alpha, [0.08, 0.08], rtol=1e-4)


def test_swapping_the_labels_negates_w_and_b():
    X, y = overlapping(50, 4, seed=5)
    one, other = (SvmOracle(X, labels, 3.0).solve([1, 1, 0, 1]) for labels in (y, -y))
    assert one.value == pytest.approx(other.value, rel=1e-7)
    assert one.b == pytest.approx(-other.b, abs=1e-4)
    np.testing.assert_allclose(one.w, -other.w, atol=1e-4)


@pytest.mark.parametrize(("rows", "n"), [(60, 8), (10, 30)])
def test_order_of_rows_and_columns_is_irrelevant(rows, n):
    X, y = overlapping(rows, n, seed=6)
    rng = np.random.default_rng(1)
    sigma, order, columns = rng.random(n), rng.permutation(rows), rng.permutation(n)
    one = SvmOracle(X, y, 5.0).solve(sigma, tolerance=1e-10)
    other = SvmOracle(X[order][:, columns], y[order], 5.0).solve(sigma[columns], tolerance=1e-10)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    np.testing.assert_allclose(one.w[columns], other.w, atol=1e-4)


def test_duplicate_rows_count_as_a_larger_C():
    X, y = overlapping(40, 5, seed=2)
    single = SvmOracle(X, y, 6.0).solve(np.ones(5))
    double = SvmOracle(np.vstack([X, X]), np.tile(y, 2), 3.0).solve(np.ones(5))
    assert double.value == pytest.approx(single.value, rel=2e-7)


def test_duplicate_columns_count_as_one_with_their_sigmas_added():
    X, y = overlapping(40, 5, seed=2)
    single = SvmOracle(X, y, 6.0).solve([1, 1, 0, 1, 1])
    halves = SvmOracle(np.hstack([X, X]), y, 6.0).solve(np.tile([0.5, 0.5, 0, 0.5, 0.5], 2))
    assert halves.value == pytest.approx(single.value, rel=2e-7)


@pytest.mark.parametrize("C", [2.0**-10, 1.0, 32.0, 2.0**15])
@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize("shape", [(150, 8), (20, 40)])
def test_extreme_C_and_columns_of_very_different_scale(C, separable, shape):
    X, y = overlapping(*shape, seed=11, noise=0.0 if separable else 1.0)
    X = X * np.logspace(-3, 4, shape[1]) + np.logspace(4, -3, shape[1])
    sigma = np.ones(shape[1])
    assert_certified(SvmOracle(X, y, C).solve(sigma), X, y, C, sigma, rel=1e-6)


def test_more_columns_than_samples_of_very_different_scale():
    X, y = overlapping(28, 35, seed=4, noise=1.0)
    X *= 10.0 ** np.random.default_rng(0).integers(-6, 6, 35)
    assert_certified(SvmOracle(X, y, 4096.0).solve(np.ones(35)), X, y, 4096.0, np.ones(35), rel=1e-6)


def test_reports_the_true_gap_when_the_linear_algebra_breaks_down(monkeypatch):
    X, y = overlapping(60, 4, seed=1)
    reference = SvmOracle(X, y, 1.0).solve(np.ones(4))
    monkeypatch.setattr(fsmodels.models.fsp.oracle.iterates, "cholesky", lambda H: None)
    answer = SvmOracle(X, y, 1.0).solve(np.ones(4))
    assert answer.gap > 1e-3
    assert_certified(answer, X, y, 1.0, np.ones(4), gap=1.0)
    assert answer.bound <= reference.bound
    assert answer.value >= reference.value


@pytest.mark.parametrize("n", [12, 90])
@pytest.mark.parametrize("time_limit", [0, 1e-9])
def test_time_limit_returns_a_valid_bracket(n, time_limit):
    X, y = overlapping(80, n, seed=7)
    oracle = SvmOracle(X, y, 10.0)
    late, full = oracle.solve(np.ones(n), time_limit=time_limit), oracle.solve(np.ones(n), time_limit=60)
    assert late.iterations == 0
    assert full.gap <= 1e-7 < late.gap
    assert_certified(late, X, y, 10.0, np.ones(n), gap=1.0)
    assert 0 <= late.bound <= full.bound
    assert full.value <= late.value <= 2 * 10.0 * min((y > 0).sum(), (y < 0).sum())


def test_a_tolerance_below_rounding_ends_with_the_gap_it_reached():
    X, y = overlapping(80, 5, seed=7)
    answer = SvmOracle(X, y, 1.0).solve(np.ones(5), tolerance=1e-30)
    assert answer.gap <= 1e-11
    assert answer.iterations < 60


@pytest.mark.parametrize("seed", range(8))
def test_running_into_rounding_never_loses_the_accuracy_passed_on_the_way(seed):
    rng = np.random.default_rng(seed)
    X, y = overlapping(26, 18, seed=seed, noise=1.0)
    X *= 10.0 ** rng.integers(-6, 6, 18)
    oracle = SvmOracle(X, y, 2.0 ** rng.integers(0, 16))
    assert oracle.solve(np.ones(18)).gap <= 1e-7
    assert oracle.solve(np.ones(18), tolerance=1e-30).gap <= 1e-7


@pytest.mark.parametrize("rows", [7, 10, 11])
def test_b_is_optimal_for_w(rows):
    rng = np.random.default_rng(rows)
    y = np.where(np.arange(rows) < 4, 1.0, -1.0)
    scores = rng.integers(-3, 4, rows).astype(float)  # ties among the kinks
    best, b = fsmodels.models.proofs.svm.hinges(scores, y)

    def loss(b):
        return np.maximum(0, 1 - y * (scores + b)).sum()

    assert loss(b) == pytest.approx(best)
    assert best == pytest.approx(min(loss(kink) for kink in y - scores))


def test_sparse_data_give_the_dense_answer():
    X, y = overlapping(70, 9, seed=9)
    X[np.abs(X) < 0.8] = 0.0
    sigma = np.array([1, 0, 1, 0.5, 0, 0, 1, 1, 0])
    dense, sparse = (SvmOracle(data, y, 2.0).solve(sigma, tolerance=1e-9) for data in (X, sp.csr_matrix(X)))
    assert sparse.value == pytest.approx(dense.value, rel=1e-8)
    np.testing.assert_allclose(sparse.v, dense.v, atol=1e-3)
    assert_certified(sparse, X, y, 2.0, sigma)


def test_sigma_just_outside_the_box_is_clipped_and_the_data_are_copied():
    X, y = overlapping(30, 3, seed=0)
    oracle, expected = SvmOracle(X, y, 1.0), SvmOracle(X, y, 1.0).solve([1, 0, 1])
    X[:], y[:] = 0.0, 1.0
    answer = oracle.solve([1 + 1e-7, -1e-9, 1])
    assert answer.value == expected.value
    assert answer.w[1] == 0


@pytest.mark.parametrize(
    ("X", "y", "C", "error", "text"),
    [
        ([[1.0], [2.0]], [1, -1, 1], 1, DataError, "shape"),
        ([[1.0], [np.nan]], [1, -1], 1, DataError, "NaN"),
        (sp.csr_matrix([[1.0], [np.inf]]), [1, -1], 1, DataError, "NaN or inf"),
        ([[1.0], [2.0]], [0, 1], 1, DataError, r"\[0.0, 1.0\]"),
        ([[1.0], [2.0]], [1, 1], 1, DataError, "one class"),
        ([[1.0], [2.0]], [1, -1], 0, ParameterError, "C=0"),
        ([[1.0], [2.0]], [1, -1], np.inf, ParameterError, "C=inf"),
    ],
)
def test_bad_data_stop_at_the_door(X, y, C, error, text):
    with pytest.raises(error, match=text):
        SvmOracle(X, y, C)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([1, 1],), "shape"),
        (([2.0],), "within"),
        (([np.nan],), "within"),
        (([1], 0.0), "tolerance"),
        (([1], 1e-7, -1), "time_limit"),
    ],
)
def test_bad_parameters_stop_at_the_door(arguments, text):
    with pytest.raises(ParameterError, match=text):
        SvmOracle([[1.0], [2.0]], [1, -1], 1).solve(*arguments)


@settings(max_examples=150)
@given(data=st.data())
def test_every_small_problem_is_certified(data):
    rows, n = data.draw(st.integers(2, 9), "rows"), data.draw(st.integers(1, 6), "n")
    cells = st.floats(-100, 100).map(lambda x: round(x, 3))
    X = np.array(data.draw(st.lists(st.lists(cells, min_size=n, max_size=n), min_size=rows, max_size=rows), "X"))
    y = np.array([1, -1, *data.draw(st.lists(st.sampled_from([-1, 1]), min_size=rows - 2, max_size=rows - 2), "y")])
    sigma = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n), "sigma"))
    C = 2.0 ** data.draw(st.integers(-10, 15), "log2 C")
    answer = SvmOracle(X, y, C).solve(sigma)
    assert answer.gap <= 1e-6
    assert answer.bound <= answer.value * (1 + 1e-9)
    assert answer.alpha.min() >= 0
    assert answer.alpha.max() <= C
    assert abs(y @ answer.alpha) <= 1e-12 * C * rows
    # Weak duality where another alpha is optimal.
    other = np.array(data.draw(st.lists(st.sampled_from([0, 0.5, 1]), min_size=n, max_size=n), "other sigma"))
    assert answer.cut(other) <= SvmOracle(X, y, C).solve(other).value * (1 + 1e-9)


@pytest.mark.parametrize(("rows", "k", "C"), [(200, 100, 1.0), (300, 300, 0.1), (200, 400, 1.0), (300, 120, 0.1)])
def test_large_supports_go_to_libsvm_and_its_answer_is_certified(rows, k, C):
    X, y = overlapping(rows, k, seed=k)
    X /= np.linalg.norm(X, axis=1)[:, None]
    sigma = np.random.default_rng(0).uniform(0.05, 1.0, k)
    fast, exact = SvmOracle(X, y, C).solve(sigma, 1e-5), SvmOracle(X, y, C).solve(sigma, 1e-10)
    assert fast.method == "libsvm-gram"
    assert fast.gap <= 1e-5
    assert fast.bound <= exact.value * (1 + 1e-12)
    assert fast.value >= exact.bound * (1 - 1e-12)
    assert abs(y @ fast.alpha) <= 1e-9 * fast.alpha.sum()
    assert 0 <= fast.alpha.min() <= fast.alpha.max() <= C
    assert fast.cut(sigma) == pytest.approx(fast.bound, rel=1e-9)


def test_what_libsvm_leaves_open_the_interior_point_closes(monkeypatch):
    X, y = overlapping(200, 150, seed=3)
    monkeypatch.setattr(fsmodels.models.fsp.oracle.svm_solvers, "PASSES", 0)  # stops after 2 l iterations
    answer = SvmOracle(X, y, 100.0).solve(np.full(150, 0.5), 1e-6)
    assert answer.method == "interior-point"
    assert answer.gap <= 1e-6


def test_columns_beyond_single_precision_go_to_the_interior_point():
    X, y = overlapping(80, 60, seed=4)
    answer = SvmOracle(1e25 * X, y, 1.0).solve(np.full(60, 0.5), 1e-5)
    assert answer.method == "interior-point"
    assert answer.gap <= 1e-5


def test_correctors_that_would_repeat_four_points_for_ever_end_in_a_proof():
    """Found by the test above: without a cautious step the gap stays at 9%."""
    X = np.array([[-70, 42, 24, 31], [0] * 4, [0] * 4, [0, 28, 19, 0], [-2, -38, 0, -56], [-60, 84, 67, 32]], float)
    answer = SvmOracle(X, np.array([1, -1, -1, -1, -1, -1]), 1.0).solve(np.array([0.375, 1.0, 0.0625, 0.5]))
    assert answer.gap <= 1e-6
    assert answer.value == pytest.approx(0.0034514615, rel=1e-6)
