"""The generators give what the paper says, one seed one instance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmodels.datasets.synthetic import aytug, bertsimas, bertsimas_price, ndcc, peleg_meir
from fsmodels.datasets.synthetic.aytug import data_set_one, data_set_two
from fsmodels.datasets.synthetic.peleg_meir import weston
from fsmodels.errors import ParameterError


@given(n=st.integers(1, 30), samples=st.integers(2, 60), seed=st.integers(0, 10**6), data=st.data())
def test_parts_share_one_hyperplane_and_have_no_noise(n, samples, seed, data):
    relevant = data.draw(st.integers(1, n))
    triplet = aytug(n, samples, relevant, seed)
    assert triplet.n_relevant == len(triplet.relevant) == relevant
    assert np.abs(triplet.w_true).max() <= 1
    assert triplet.b_true == 0.0
    for part in (triplet.train, triplet.validation, triplet.test):
        assert part.X.shape == (samples, n)
        np.testing.assert_allclose(np.linalg.norm(part.X, axis=1), 1.0)
        assert (part.y * (part.X @ triplet.w_true + triplet.b_true) > 0).all()
        assert set(part.y) == {-1.0, 1.0}


def test_parts_are_different_and_seeds_too():
    one, again, other = aytug(5, 50, 2, seed=1), aytug(5, 50, 2, seed=1), aytug(5, 50, 2, seed=2)
    np.testing.assert_array_equal(one.test.X, again.test.X)
    np.testing.assert_array_equal(one.w_true, again.w_true)
    assert not np.array_equal(one.train.X, one.validation.X)
    assert not np.array_equal(one.train.X, other.train.X)
    assert one.train.features == ("x1", "x2", "x3", "x4", "x5")
    assert (one.name, one.train.name) == ("aytug-n5-l50-M2", "aytug-n5-l50-M2/train")


def test_a_seed_sequence_can_be_used_twice():
    root = np.random.SeedSequence(7)
    np.testing.assert_array_equal(aytug(4, 9, 2, root).train.X, aytug(4, 9, 2, root).train.X)
    np.testing.assert_array_equal(aytug(4, 9, 2, root).train.X, aytug(4, 9, 2, 7).train.X)


def test_directions_are_uniform_and_weights_spread():
    triplet = aytug(n_features=4, n_samples=20_000, n_relevant=4, seed=3)
    np.testing.assert_allclose(triplet.train.X.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(triplet.train.X.T @ triplet.train.X / 20_000, np.eye(4) / 4, atol=0.01)
    weights = aytug(n_features=5000, n_samples=2, n_relevant=5000, seed=3).w_true
    np.testing.assert_allclose([weights.mean(), (weights**2).mean()], [0.0, 1 / 3], atol=0.02)


def test_data_set_one_has_its_ninety_instances():
    names = [f"aytug1-n{n}-l{samples}-{k}" for n in (20, 50, 100) for samples in (500, 1000, 5000) for k in range(10)]
    few = list(data_set_one(n_samples=(500,)))
    assert [triplet.name for triplet in few] == [name for name in names if "-l500-" in name]
    assert len(names) == 90
    for triplet in few:
        assert triplet.train.X.shape == (500, int(triplet.name.split("-")[1][1:]))
        assert 1 <= triplet.n_relevant < triplet.train.n_features
    shares = [triplet.n_relevant / triplet.train.n_features for triplet in few]
    assert min(shares) < 0.2 < 0.8 < max(shares)


def test_an_instance_does_not_depend_on_the_others():
    full = {triplet.name: triplet for triplet in data_set_one(n_features=(20, 50), n_samples=(500, 1000), instances=3)}
    alone = list(data_set_one(n_features=(50,), n_samples=(1000,), instances=2))[1]
    np.testing.assert_array_equal(full["aytug1-n50-l1000-1"].test.X, alone.test.X)
    np.testing.assert_array_equal(full["aytug1-n50-l1000-1"].w_true, alone.w_true)
    assert not np.array_equal(next(data_set_one(seed=1)).train.X, full["aytug1-n20-l500-0"].train.X)


def test_data_set_two_has_its_twenty_five_instances():
    triplets = list(data_set_two(n_samples=10))
    assert [triplet.n_relevant for triplet in triplets] == [M for M in (20, 100, 200, 400, 600) for _ in range(5)]
    assert len({triplet.name for triplet in triplets}) == 25
    first = next(data_set_two())
    assert first.train.X.shape == first.test.X.shape == (1000, 800)
    last = next(itertools.islice(data_set_two(n_relevant=(600,)), 4, None))
    assert last.name == "aytug2-M600-4"


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((0, 10, 1), ["n_features=0", "use at least 1"]),
        ((5, 1, 1), ["n_samples=1", "at least 2"]),
        ((5, 10, 0), ["n_relevant=0", "1..5"]),
        ((5, 10, 6), ["n_features=5", "6 relevant", "at least 6"]),
    ],
)
def test_impossible_sizes_are_refused(sizes, words):
    with pytest.raises(ParameterError) as caught:
        aytug(*sizes)
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(ParameterError, match="at least 2"):
        next(data_set_one(n_features=(1,)))


def test_weston_has_two_cases_of_three_features_and_wide_noise():
    pair = weston(n_samples=60_000, n_features=8, n_test=40_000, seed=5)
    X, y = pair.train.X, pair.train.y
    means = np.r_[0.7 * np.arange(1, 4), 0.3 * np.arange(1, 4)]
    for sign in (1, -1):
        np.testing.assert_allclose(X[y == sign].mean(axis=0)[:6], sign * means, atol=0.05)
    np.testing.assert_allclose(X[:, 6:].std(axis=0), 20.0, rtol=0.02)
    # of case I or II, never both: the product of the two groups' signals has no mean
    np.testing.assert_allclose(np.mean(X[:, 2] * X[:, 5]), 0.0, atol=0.05)
    np.testing.assert_allclose(X[:, 0] @ X[:, 2] / len(y), 0.7 * 1 * 3, atol=0.08)
    assert pair.relevant == ("x1", "x2", "x3", "x4", "x5", "x6")


def test_weston_reaches_the_error_that_the_paper_states():
    pair = weston(n_samples=10, n_features=6, n_test=200_000, seed=2)
    assert round(100 * pair.linear_error, 1) == 0.4
    angle = 0.7323674947  # of the best linear classifier, from the two normal tails
    means = np.array([1.0, 2.0, 3.0])
    side = np.sign(pair.test.X @ np.r_[np.cos(angle) * means, np.sin(angle) * means])
    np.testing.assert_allclose((side != pair.test.y).mean(), pair.linear_error, atol=5e-4)


def test_noise_of_weston_scales_the_other_columns_alone():
    wide, narrow = weston(20, seed=3), weston(20, seed=3, noise=20**0.5)
    np.testing.assert_array_equal(wide.test.X[:, :6], narrow.test.X[:, :6])
    np.testing.assert_allclose(wide.test.X[:, 6:], 20**0.5 * narrow.test.X[:, 6:])
    np.testing.assert_allclose(wide.train.scaled("standard").X, narrow.train.scaled("standard").X)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_peleg_meir_has_the_covariance_of_the_paper(k):
    pair = peleg_meir(n_samples=100_000, n_features=k + 2, n_relevant=k, n_test=100_000, seed=k)
    X, y = pair.train.X, pair.train.y
    centred = X - y[:, None] * np.r_[np.ones(k), 0, 0]
    covariance = centred.T @ centred / len(y)
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance[:k, :k]), np.arange(1, k + 1), rtol=0.03)
    np.testing.assert_allclose(covariance[k:, k:], np.eye(2), atol=0.02)
    np.testing.assert_allclose(covariance[:k, k:], 0.0, atol=0.05)
    # the test part has the same covariance; Bayes: the linear rule of its inverse
    weights = np.linalg.solve(covariance[:k, :k], np.ones(k))
    wrong = (np.sign(pair.test.X[:, :k] @ weights) != pair.test.y).mean()
    np.testing.assert_allclose(wrong, pair.linear_error, atol=5e-3)
    assert pair.n_relevant == k


def test_two_relevant_features_err_between_their_limits():
    errors = [peleg_meir(10, 2, 2, seed=seed).linear_error for seed in range(50)]
    assert 0.0786 < min(errors) < 0.085
    assert 0.15 < max(errors) < 0.1587


@pytest.mark.parametrize(
    "draw",
    [weston, lambda n, **seed: peleg_meir(n, 20, 3, **seed), lambda n, **seed: bertsimas(n, 20, 3, snr=6, **seed)],
)
def test_a_pair_depends_on_its_seed_only(draw):
    one, again, other = draw(12, seed=1), draw(12, seed=1), draw(12, seed=2)
    np.testing.assert_array_equal(one.train.X, again.train.X)
    np.testing.assert_array_equal(one.test.y, again.test.y)
    assert not np.array_equal(one.train.X, other.train.X)
    assert not np.array_equal(one.train.X, one.test.X[:12])
    root = np.random.SeedSequence(1)
    np.testing.assert_array_equal(draw(12, seed=root).test.X, draw(12, seed=root).test.X)
    np.testing.assert_array_equal(draw(12, seed=root).test.X, one.test.X)
    later = draw(20, seed=1).test  # whatever the size of the training part; bertsimas scales by it
    np.testing.assert_allclose(one.test.scaled("standard").X, later.scaled("standard").X)
    assert one.train.name.endswith("/train")
    assert all(set(draw(2, seed=k).train.y) == {-1.0, 1.0} for k in range(20))


def test_bertsimas_rows_are_an_autoregression_of_columns_of_norm_root_n():
    pair = bertsimas(n_samples=20_000, n_features=6, n_relevant=3, n_test=20_000, seed=4)
    X = pair.train.X
    np.testing.assert_allclose((X**2).sum(axis=0), len(X))
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    for part in (pair.train, pair.test):
        np.testing.assert_allclose(np.corrcoef(part.X.T), 0.3**distance, atol=0.03)
    np.testing.assert_allclose(pair.test.X.std(axis=0), 1.0, atol=0.03)  # by the training part's norms
    assert np.abs(X.mean(axis=0)).max() > 1e-6  # not shifted


@pytest.mark.parametrize("snr", [np.inf, 6.0])
def test_bertsimas_labels_are_the_side_of_signs_over_the_relevant(snr):
    pair = bertsimas(n_samples=40_000, n_features=30, n_relevant=4, seed=8, snr=snr)
    where = [pair.train.features.index(name) for name in pair.relevant]
    X = pair.train.X[:, where]
    w = np.linalg.lstsq(X, pair.train.y, rcond=None)[0]
    np.testing.assert_allclose(np.abs(w) / np.abs(w).mean(), 1.0, atol=0.05)
    error = np.mean(np.sign(X @ np.sign(w)) != pair.train.y)
    np.testing.assert_allclose(error, pair.linear_error, atol=0.005)
    assert (pair.linear_error == 0) == (snr == np.inf)
    assert set(np.sign(w)) == {-1.0, 1.0}


def test_bertsimas_prices_are_those_of_the_paper():
    train = bertsimas(n_samples=2000, n_test=2, seed=0).train
    largest = max(row @ row for row in train.X)
    assert bertsimas_price(train, 10) == pytest.approx(1000 * 1000 / (10 * 2000 * largest))
    assert bertsimas_price(train, 10) == pytest.approx(0.042, rel=0.06)
    assert bertsimas_price(train, 10, t=3) == pytest.approx(0.33, rel=0.06)
    assert bertsimas_price(train, 30) == pytest.approx(bertsimas_price(train, 10) / 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weston(1), ["n_samples=1", "at least 2"]),
        (lambda: weston(10, n_features=5), ["n_features=5", "at least 6"]),
        (lambda: weston(10, n_test=0), ["n_test=0", "at least 2"]),
        (lambda: weston(10, noise=0.0), ["noise=0", "standard deviation"]),
        (lambda: peleg_meir(10, 5, 0), ["n_relevant=0", "1..5"]),
        (lambda: peleg_meir(10, 5, 6), ["n_features=5", "6 relevant", "at least 6"]),
        (lambda: bertsimas(10, 5, 6), ["n_features=5", "6 relevant", "at least 6"]),
        (lambda: bertsimas(10, 5, 2, correlation=1.0), ["correlation=1.0", "between -1 and 1"]),
        (lambda: bertsimas(10, 5, 2, snr=0.0), ["snr=0.0", "above 0"]),
        (lambda: bertsimas_price(bertsimas(10, 5, 2).train, 6), ["n_relevant=6", "1..5"]),
    ],
)
def test_impossible_pairs_are_refused(call, words):
    with pytest.raises(ParameterError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def nearest(clusters, part):
    X = part.X[:, : clusters.n_relevant]
    return np.argmin(
        (X**2).sum(axis=1)[:, None] - 2 * X @ clusters.centres.T + (clusters.centres**2).sum(axis=1), axis=1
    )


def test_ndcc_centres_by_hand():
    clusters = ndcc(10, n_features=3, n_relevant=2, n_validation=10, n_test=10, seed=0)
    cubes = {
        (R * s, 0): s * sign for R, sign in ((1, 1), (3, -1), (5, 1)) for s in (1, -1)
    }  # opposite vertices differ, and so do neighbouring cubes
    cubes |= {(0, first): label for (first, _), label in list(cubes.items())}
    assert {tuple(map(int, c)): int(k) for c, k in zip(clusters.centres, clusters.classes, strict=True)} == cubes
    assert clusters.relevant == ("x1", "x2")
    assert clusters.train.features == ("x1", "x2", "x3")
    assert clusters.test.name == "ndcc-n10-d3-k2/test"


@settings(max_examples=25)
@given(k=st.integers(1, 6), noise=st.integers(0, 3), samples=st.integers(2, 40), seed=st.integers(0, 10**6))
def test_ndcc_classes_are_those_of_the_nearest_centre(k, noise, samples, seed):
    clusters = ndcc(samples, k + noise, k, n_validation=samples + 1, n_test=samples + 2, seed=seed)
    for part, size in ((clusters.train, 0), (clusters.validation, 1), (clusters.test, 2)):
        assert part.X.shape == (samples + size, k + noise)
        assert set(part.y) == {-1.0, 1.0}
        assert (clusters.classes[nearest(clusters, part)] == part.y).mean() > 0.95
    assert clusters.shares.sum() == pytest.approx(1.0)
    assert 0.05 <= clusters.shares[clusters.classes > 0].sum() <= 0.95


def test_ndcc_parts_share_their_clusters():
    clusters = ndcc(30_000, 5, 3, n_test=30_000, seed=1)
    shares, spreads = [], []
    for part in (clusters.train, clusters.test):
        which = nearest(clusters, part)
        shares.append(np.bincount(which, minlength=18) / len(which))
        largest = which == np.argmax(clusters.shares)
        spreads.append(np.cov(part.X[largest, :3].T))
        np.testing.assert_allclose(np.cov(part.X[:, 3:].T), np.eye(2), atol=0.03)
    np.testing.assert_allclose(shares, np.tile(clusters.shares, (2, 1)), atol=0.01)
    np.testing.assert_allclose(*spreads, atol=0.001)
    assert np.abs(spreads[0]).max() > 0.003


def test_ndcc_clusters_have_the_spread_of_the_paper_each_its_own():
    clusters = ndcc(60_000, 2, 2, concentration=1000.0, n_test=2, seed=3)
    which = nearest(clusters, clusters.train)
    spreads = [np.cov(clusters.train.X[which == c].T) for c in range(12)]
    # E tr(0.01 B B' / k) = 0.01 k; its relative standard deviation is sqrt(2) / k a centre
    np.testing.assert_allclose(np.mean([np.trace(s) for s in spreads]), 0.02, rtol=3 * np.sqrt(2 / 12) / 2)
    assert np.ptp([np.trace(s) for s in spreads]) > 0.005


def test_the_concentration_decides_how_equal_the_shares_are():
    largest = [np.mean([ndcc(2, concentration=a, seed=s).shares.max() for s in range(5)]) for a in (0.1, 1.0, 100.0)]
    assert largest[0] > 2 * largest[1] > 4 * largest[2]
    assert largest[2] < 1.5 / 120


def test_ndcc_parts_and_noise_do_not_depend_on_other_sizes():
    one, again, other = ndcc(seed=1), ndcc(seed=1), ndcc(seed=2)
    np.testing.assert_array_equal(one.test.X, again.test.X)
    np.testing.assert_array_equal(one.shares, again.shares)
    assert not np.array_equal(one.train.X, other.train.X)
    assert not np.array_equal(one.train.X, one.validation.X)
    np.testing.assert_array_equal(one.test.X, ndcc(300, n_validation=5, seed=1).test.X)
    bare = ndcc(n_features=20, seed=1)
    np.testing.assert_array_equal(one.train.X[:, :20], bare.train.X)
    np.testing.assert_array_equal(one.train.y, bare.train.y)
    root = np.random.SeedSequence(1)
    np.testing.assert_array_equal(ndcc(seed=root).train.X, ndcc(seed=root).train.X)


def test_no_line_parts_ndcc_but_a_kernel_does():
    from sklearn.svm import SVC

    clusters = ndcc(n_samples=500, n_features=3, n_relevant=3, seed=0)
    train = clusters.train.scaled("standard")
    test = train.apply_scale_to(clusters.test)
    line, curve = (
        SVC(C=100.0, kernel=kernel).fit(train.X, train.y).score(test.X, test.y) for kernel in ("linear", "rbf")
    )
    assert line < 0.9 < 0.98 < curve


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"n_samples": 1}, ["n_samples=1", "at least 2"]),
        ({"n_validation": 0}, ["n_validation=0", "at least 2"]),
        ({"n_test": 1}, ["n_test=1", "at least 2"]),
        ({"n_relevant": 0}, ["n_relevant=0", "1..120"]),
        ({"n_features": 19}, ["n_features=19", "20 relevant", "at least 20"]),
        ({"concentration": 0.0}, ["concentration=0", "above 0"]),
        ({"concentration": float("inf")}, ["concentration=inf"]),
        ({"concentration": 0.001}, ["concentration=0.001", "one class", "at least 0.01"]),
    ],
)
def test_impossible_clusters_are_refused(sizes, words):
    with pytest.raises(ParameterError) as caught:
        ndcc(**sizes)
    for word in words:
        assert word in str(caught.value)


def test_few_samples_and_unequal_shares_still_have_two_classes():
    for seed in range(20):
        assert set(ndcc(2, 2, 1, concentration=0.01, seed=seed).train.y) == {-1.0, 1.0}
