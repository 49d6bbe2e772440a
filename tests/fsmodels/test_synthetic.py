"""The generators give what the paper says, one seed one instance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmodels.errors import ParameterError
from fsmodels.synthetic import aytug, data_set_one, data_set_two


@settings(deadline=None)
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
        ((0, 10, 1), ["n_features=0", "at least 1"]),
        ((5, 1, 1), ["n_samples=1", "at least 2"]),
        ((5, 10, 0), ["n_relevant=0", "1..5"]),
        ((5, 10, 6), ["n_relevant=6", "1..5"]),
    ],
)
def test_impossible_sizes_are_refused(sizes, words):
    with pytest.raises(ParameterError) as caught:
        aytug(*sizes)
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(ParameterError, match="at least 2"):
        next(data_set_one(n_features=(1,)))
