"""Rankings: each against its definition, written out in loops, and what it must not depend on."""

import math

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import fsmodels as fs
from changed_data import changed
from fsmodels import rankings
from fsmodels.baselines.rankings import information_gain, kernel_rfe, mutual_information, r2w2, relief
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError

RANKINGS = [information_gain, mutual_information, relief, kernel_rfe, r2w2]


def drawn(n, d, seed, signal=lambda X: X[:, 0]):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return Dataset.from_arrays(X, np.where(signal(X) + 0.1 * rng.normal(size=n) > 0, 1, -1))


def entropy(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(shares * np.log2(shares)).sum())


def left_over(values, labels):
    """Samples times entropy after Fayyad and Irani's recursion, written out over all cuts."""
    if len(labels) == 0:
        return 0.0
    whole, best = len(labels) * entropy(labels), None
    for cut in np.unique(values)[1:]:
        low, high = labels[values < cut], labels[values >= cut]
        rest = len(low) * entropy(low) + len(high) * entropy(high)
        if best is None or rest < best[0] - 1e-9:
            best = rest, cut, low, high
    if best is None:
        return whole
    rest, cut, low, high = best
    kinds = [len(np.unique(part)) for part in (labels, low, high)]
    price = math.log2(len(labels) - 1) + math.log2(3 ** kinds[0] - 2)
    price -= kinds[0] * entropy(labels) - kinds[1] * entropy(low) - kinds[2] * entropy(high)
    if whole - rest <= price:
        return whole
    return left_over(values[values < cut], low) + left_over(values[values >= cut], high)


@given(
    values=st.lists(st.integers(0, 8), min_size=2, max_size=40),
    seed=st.integers(0, 1000),
)
def test_information_gain_is_what_fayyad_and_irani_leave(values, seed):
    values = np.array(values, dtype=float)
    y = np.where(np.random.default_rng(seed).random(len(values)) < 0.15 + 0.7 * (values > 3), 1.0, -1.0)
    gain = rankings._gain(values, y)
    # cuts of equal entropy may be taken in either order: read from the other end, the recursion may end elsewhere
    ends = {round(entropy(y) - left_over(side * values, y) / len(y), 9) for side in (1, -1)}
    assume(len(ends) == 1)
    assert gain == pytest.approx(ends.pop(), abs=1e-8)
    assert 0.0 <= gain <= entropy(y) + 1e-12


def relief_in_loops(X, y, k):
    ranges, weights = np.ptp(X, axis=0), np.zeros(X.shape[1])
    for i in range(len(y)):
        apart = np.abs(X - X[i]) / ranges
        near = [int(j) for j in np.argsort(apart.sum(axis=1), kind="stable") if j != i]
        hits = [j for j in near if y[j] == y[i]][:k]
        misses = [j for j in near if y[j] != y[i]][:k]
        weights += apart[misses].sum(axis=0) / len(misses) - apart[hits].sum(axis=0) / len(hits)
    return weights / len(y)


@pytest.mark.parametrize("k", [1, 5, 10])
def test_relief_is_its_definition(k):
    data = drawn(41, 6, seed=k)
    ranking = relief(data, n_neighbors=k)
    np.testing.assert_allclose(ranking[list(data.features)], relief_in_loops(data.X, data.y, k), atol=1e-12)
    assert (np.diff(ranking) <= 0).all()


def test_relief_by_hand():
    # nearest hits: 1-2 and 3-4, apart by (1/4, 1); nearest misses: 1-3, apart by (1, 0), and 2-4, by (1/2, 0)
    data = Dataset.from_arrays([[0, 0], [0.25, 1], [1, 0], [0.75, 1]], [-1, -1, 1, 1])
    assert relief(data, n_neighbors=1).to_dict() == {"x1": 0.5, "x2": -1.0}


def test_relief_never_takes_a_sample_as_its_own_neighbour():
    data = drawn(20, 3, seed=0)
    others = min((data.y > 0).sum(), (data.y < 0).sum()) - 1
    np.testing.assert_allclose(
        relief(data, n_neighbors=100)[list(data.features)], relief_in_loops(data.X, data.y, others), atol=1e-12
    )


def test_relief_takes_few_values_for_numbers():
    data = drawn(60, 4, seed=3)
    three_values = np.repeat([0.0, 1.0, 2.0], 20)
    data = Dataset.from_arrays(np.column_stack([data.X, three_values]), data.y)
    np.testing.assert_allclose(relief(data)[list(data.features)], relief_in_loops(data.X, data.y, 10), atol=1e-12)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_relief_depends_neither_on_units_nor_on_orders_nor_on_the_sign_of_the_labels(seed):
    data, rng = drawn(40, 5, seed), np.random.default_rng(seed)
    plain = relief(data, n_neighbors=3)
    columns, rows = rng.permutation(5), rng.permutation(40)
    factors = rng.choice([-1, 1], 5) * rng.uniform(0.1, 10, 5)
    others = [
        changed(data, X=data.X * factors + rng.normal(size=5)),
        changed(data, X=data.X[:, columns], features=[data.features[j] for j in columns]),
        changed(data, X=data.X[rows], y=data.y[rows]),
        changed(data, y=-data.y),
    ]
    for other in others:
        np.testing.assert_allclose(relief(other, n_neighbors=3)[plain.index], plain, atol=1e-10)


def test_a_constant_feature_counts_for_nothing():
    data = drawn(60, 3, seed=1)
    with pytest.warns(UserWarning, match="flat"):
        wide = changed(data, X=np.column_stack([data.X, np.ones(60)]), features=[*data.features, "flat"])
    found = relief(wide)
    assert found["flat"] == 0.0
    np.testing.assert_allclose(found[list(data.features)], relief(data)[list(data.features)])
    assert kernel_rfe(wide).index[-1] == "flat"
    with pytest.warns(UserWarning, match="Constant"):
        flat = Dataset.from_arrays(np.ones((6, 2)), [1, 1, 1, -1, -1, -1])
    assert relief(flat).to_dict() == {"x1": 0.0, "x2": 0.0}
    assert r2w2(wide).index[-1] == "flat"
    assert (
        list(r2w2(flat).index) == list(kernel_rfe(flat).index) == ["x1", "x2"]
    )  # of equal ones the earlier column stays


def squared_margin(X, a, sigma):
    n = len(a)
    return sum(a[i] * a[j] * math.exp(-sum((X[i] - X[j]) ** 2) / sigma**2) for i in range(n) for j in range(n))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_changes_are_those_of_kernels_written_out(sigma):
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(12, 4)), rng.normal(size=12)
    whole = squared_margin(X, a, sigma)
    expected = [squared_margin(np.delete(X, k, axis=1), a, sigma) - whole for k in range(4)]
    np.testing.assert_allclose(rankings._changes(X, a, sigma), expected, atol=1e-12)


def test_changes_far_apart_do_not_overflow():
    X = np.array([[0.0, 0.0], [1e3, 0.1]])  # K is 0, and exp(|x_1 - x_2|^2) infinite
    np.testing.assert_allclose(rankings._changes(X, np.array([1.0, -1.0]), 1.0), [-2 * math.exp(-0.01), 0.0])


def test_kernel_rfe_by_hand():
    # two samples: a = (u, -u), W^2 = 2 u^2 (1 - K), and the feature in which they are closer changes it less
    data = Dataset.from_arrays([[0, 0, 0], [1, 3, 2]], [-1, 1])
    assert kernel_rfe(data, C=10).to_dict() == {"x2": 2.0, "x3": 1.0, "x1": 0.0}


@pytest.mark.parametrize(("C", "width"), [(1.0, 2.0), (20.0, 1.0)])
def test_kernel_rfe_drops_one_feature_after_another(C, width):
    data = drawn(30, 5, seed=2, signal=lambda X: X[:, 0] * X[:, 1])
    left, dropped = list(range(5)), []
    while len(left) > 1:
        X = data.X[:, left]
        svm = SVC(kernel="precomputed", C=C)
        svm.fit(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / width**2), data.y)
        a = svm.dual_coef_.ravel()
        whole = squared_margin(X[svm.support_], a, width)
        change = [
            abs(squared_margin(np.delete(X, k, axis=1)[svm.support_], a, width) - whole) for k in range(len(left))
        ]
        dropped.append(left.pop(int(np.argmin(change))))
    assert list(kernel_rfe(data, C=C, width=width).index) == [data.features[j] for j in (*left, *reversed(dropped))]


def test_features_that_matter_together_only_come_first():
    data = drawn(300, 8, seed=0, signal=lambda X: X[:, 0] * X[:, 1])
    for ranking in (relief(data), kernel_rfe(data, C=8.0), kernel_rfe(data, C=8.0, step=0.3)):
        assert set(ranking.index[:2]) == {"x1", "x2"}
    assert set(mutual_information(data).index[:2]) != {"x1", "x2"}  # each alone tells nothing


def test_kernel_rfe_depends_neither_on_orders_nor_on_the_sign_of_the_labels():
    data, rng = drawn(60, 6, seed=4, signal=lambda X: X[:, 0] + X[:, 1] * X[:, 2]), np.random.default_rng(0)
    plain = kernel_rfe(data, C=3.0)
    columns, rows = rng.permutation(6), rng.permutation(60)
    others = [
        changed(data, X=data.X[:, columns], features=[data.features[j] for j in columns]),
        changed(data, X=data.X[rows], y=data.y[rows]),
        changed(data, y=-data.y),
    ]
    for other in others:
        assert list(kernel_rfe(other, C=3.0).index) == list(plain.index)
    # units of all features at once are the width's
    assert kernel_rfe(changed(data, X=7 * data.X), C=3.0, width=7 * math.sqrt(6)).equals(plain)


def smallest_ball(X, ridge, solver):
    """R^2 of points with the inner products X X' + ridge I, as a quadratic program."""
    model = pyo.ConcreteModel()
    model.beta = pyo.Var(range(len(X)), bounds=(0, 1))
    model.one = pyo.Constraint(expr=sum(model.beta.values()) == 1)
    beta = np.array(list(model.beta.values()), dtype=object)
    centre = beta @ X
    square = sum(c**2 for c in centre) + ridge * sum(b**2 for b in beta)
    model.value = pyo.Objective(expr=square - sum(b * float(x @ x + ridge) for b, x in zip(beta, X, strict=True)))
    return -fs.solve(model, solver, gap=1e-8).objective


@pytest.mark.parametrize("solver", ["clarabel", "scip"])
@pytest.mark.parametrize("ridge", [0.5, 0.01])
def test_radius_and_margin_are_those_of_two_quadratic_programs(ridge, solver):
    """W^2 is twice the optimum of the SVM with squared slacks at the price 1 / (2 ridge)."""
    data, s = drawn(12, 3, seed=1), np.array([0.3, 1.7, 0.0])
    scaled = changed(data, X=data.X * np.sqrt(s))
    svm = fs.svm.l2_svm(scaled, C=0.5 / ridge, loss="squared-hinge")
    margin = 2 * fs.solve(svm, solver, gap=1e-8).objective
    radius = smallest_ball(scaled.X, ridge, solver)
    found = rankings._radius_margin(data.X, data.y, ridge, s)[0]
    assert found == pytest.approx(math.log(radius * margin), abs=2e-5)


def test_the_gradient_of_radius_over_margin_is_that_of_differences():
    data, s, step = drawn(30, 4, seed=2), np.array([0.3, 1.7, 1.0, 0.5]), 1e-5
    value = lambda s: rankings._radius_margin(data.X, data.y, 0.05, s)  # noqa: E731
    differences = [(value(s + step * e)[0] - value(s - step * e)[0]) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(value(s)[1], differences, atol=1e-4)


def test_r2w2_finds_the_features_of_a_plane_and_does_not_depend_on_the_sign_of_the_labels():
    data = drawn(80, 8, seed=3, signal=lambda X: X[:, 1] - 2 * X[:, 4])
    for step in (1, 3, 0.5):
        assert set(r2w2(data, C=10.0, step=step).index[:2]) == {"x2", "x5"}
    assert r2w2(changed(data, y=-data.y), C=10.0).index[0] == r2w2(data, C=10.0).index[0] == "x5"


def test_a_step_drops_several_at_once():
    data = drawn(50, 10, seed=5)
    first = kernel_rfe(data)
    for step in (1, 3, 0.25, 50):
        ranking = kernel_rfe(data, step=step)
        assert sorted(ranking) == list(range(10))
        if step == 50:  # one SVM only: its least change goes first
            assert ranking.index[-1] == first.index[-1]
    assert kernel_rfe(data, step=0.05).equals(first)  # a fraction drops at least one


@pytest.mark.parametrize("ranking", RANKINGS)
def test_a_ranking_holds_every_feature_once_and_is_repeatable(ranking):
    data = drawn(40, 5, seed=6)
    found = ranking(data)
    assert sorted(found.index) == sorted(data.features)
    assert (np.diff(found) <= 0).all()
    assert found.name
    assert found.equals(ranking(data))


def test_seeds_of_mutual_information_are_its_own():
    data = drawn(40, 3, seed=7)
    data = changed(data, X=np.round(data.X, 1))  # ties, which the noise breaks
    assert mutual_information(data, seed=1).equals(mutual_information(data, seed=1))
    assert not mutual_information(data, seed=1).equals(mutual_information(data, seed=2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: relief(d, n_neighbors=0), ["n_neighbors=0", "at least 1"]),
        (lambda d: mutual_information(d, n_neighbors=30), ["n_neighbors=30", "1..29"]),
        (lambda d: kernel_rfe(d, C=0), ["C=0", "above 0"]),
        (lambda d: kernel_rfe(d, width=-1), ["width=-1", "sigma"]),
        (lambda d: kernel_rfe(d, step=0), ["step=0"]),
        (lambda d: kernel_rfe(d, step=1.5), ["step=1.5", "whole number"]),
        (lambda d: kernel_rfe(d, step=math.nan), ["step=nan"]),
        (lambda d: r2w2(d, C=0), ["C=0", "above 0"]),
        (lambda d: r2w2(d, step=0), ["step=0"]),
    ],
)
def test_parameters_out_of_range_are_refused(call, words):
    with pytest.raises(ParameterError) as caught:
        call(drawn(30, 2, seed=0))
    for word in words:
        assert word in str(caught.value)


def test_data_that_a_ranking_cannot_use_are_refused():
    thin = Dataset.from_arrays(sparse.csr_array(np.eye(6)), [1, 1, 1, -1, -1, -1])
    for ranking in (mutual_information, relief, kernel_rfe):
        with pytest.raises(DataError, match="to_dense"):
            ranking(thin)
    with pytest.raises(DataError, match="two samples of each class"):
        relief(Dataset.from_arrays([[0.0], [1.0], [2.0]], [1, 1, -1]))
    for ranking in RANKINGS:
        with pytest.raises(ParameterError, match="needs a Dataset"):
            ranking(np.eye(3))


def test_one_feature_is_ranked_too():
    data = drawn(30, 1, seed=8)
    for ranking in RANKINGS:
        assert list(ranking(data).index) == ["x1"]
