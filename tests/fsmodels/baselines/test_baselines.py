"""Baselines: each against its definition on data small enough to check."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC

from fsmodels import rankings
from fsmodels.baselines import information_gain, mutual_information, one_norm_svm, relief, rfe
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.shipped import load_dataset
from fsmodels.datasets.synthetic import aytug
from fsmodels.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def wdbc():
    return load_dataset("wdbc").scaled("standard")


def test_rfe_drops_one_feature_after_another():
    data = aytug(n_features=7, n_samples=120, n_relevant=3, seed=2).train
    found = rfe(data, max_features=3, C=4.0)
    kept, order = list(range(7)), []
    while len(kept) > 3:
        w = SVC(kernel="linear", C=4.0).fit(data.X[:, kept], data.y).coef_.ravel()
        order.append(kept.pop(int(np.argmin(w**2))))
    assert found.selected == tuple(data.features[j] for j in kept)
    assert list(found.ranking.index[3:]) == [data.features[j] for j in reversed(order)]
    np.testing.assert_array_equal(found.ranking.loc[list(found.selected)], 4)


def test_without_noise_every_method_finds_the_relevant_features():
    triplet = aytug(n_features=10, n_samples=2000, n_relevant=3, seed=11)
    assert np.abs(triplet.w_true[triplet.w_true != 0]).min() > 0.2  # none is nearly irrelevant
    for method in (rfe, information_gain, mutual_information, relief):
        found = method(triplet.train, max_features=3, C=32.0)
        assert found.selected == triplet.relevant
        errors = (triplet.test.y * (triplet.test.X @ found.weights + found.bias) <= 0).mean()
        assert errors < 0.02


@pytest.mark.parametrize("method", [rfe, information_gain, mutual_information, relief])
def test_weights_are_those_of_the_svm_on_the_selected_features(method, wdbc):
    found = method(wdbc, max_features=4, C=0.5)
    columns = [wdbc.features.index(name) for name in found.selected]
    svm = SVC(kernel="linear", C=0.5).fit(wdbc.X[:, columns], wdbc.y)
    np.testing.assert_allclose(found.weights[columns], svm.coef_.ravel())
    assert found.bias == pytest.approx(svm.intercept_[0])
    assert np.count_nonzero(found.weights) == len(found.selected) == 4
    assert set(found.ranking.index) == set(wdbc.features)
    assert (np.diff(found.ranking) <= 0).all()
    assert found.seconds > 0
    assert (wdbc.y * (wdbc.X @ found.weights + found.bias) > 0).mean() > 0.9


def test_information_gain_of_a_perfect_and_of_a_useless_feature():
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 50)
    X = np.column_stack([y * 1e-12 + 1.0, rng.normal(size=100), np.tile([0.0, 1.0], 50)])
    found = information_gain(Dataset.from_arrays(X, y, features=["split", "noise", "even"]), max_features=3)
    assert found.ranking["split"] == pytest.approx(1.0)  # though the values differ by less than float32 can tell
    assert found.ranking["noise"] == found.ranking["even"] == 0.0
    assert found.selected == ("split", "noise", "even")  # as many as asked for; equal gains in the data's order
    assert information_gain(Dataset.from_arrays(X, y), max_features=2).selected == ("x1", "x2")
    assert found.ranking.name == "information gain (bits)"


def test_information_gain_does_not_depend_on_scaling_or_on_the_side(wdbc):
    plain = information_gain(load_dataset("wdbc"), max_features=5).ranking
    np.testing.assert_allclose(information_gain(wdbc, max_features=5).ranking[plain.index], plain)


def test_sparse_data_give_the_dense_answer():
    rng = np.random.default_rng(1)
    X = rng.random((80, 5)) * (rng.random((80, 5)) < 0.5)
    y = np.where(X[:, 1] + X[:, 3] > 0.6, 1, -1)
    dense = Dataset.from_arrays(X, y)
    thin = Dataset.from_arrays(sparse.csr_array(X), y)
    for method in (rfe, information_gain):
        one, other = method(dense, max_features=2), method(thin, max_features=2)
        assert one.selected == other.selected
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-3)
    for method in (mutual_information, relief):
        with pytest.raises(DataError, match="to_dense"):
            method(thin, max_features=2)


@pytest.mark.parametrize("name", ["information_gain", "mutual_information", "relief"])
def test_a_filter_takes_the_best_of_its_ranking(name, wdbc):
    found = {"information_gain": information_gain, "mutual_information": mutual_information, "relief": relief}[name](
        wdbc, max_features=3
    )
    ranking = getattr(rankings, name)(wdbc)
    assert set(found.selected) == set(ranking.index[:3])
    assert found.ranking.equals(ranking)


def test_one_norm_svm_reaches_the_optimum_of_its_linear_program():
    pytest.importorskip("fsmodels.models.svm")
    data = aytug(n_features=8, n_samples=60, n_relevant=3, seed=4).train
    n, samples, C = 8, 60, 2.0
    yx = data.y[:, None] * data.X
    rows = -np.hstack([yx, -yx, data.y[:, None], np.eye(samples)])
    costs = np.r_[np.ones(2 * n), 0.0, np.full(samples, C)]
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * samples
    optimum = linprog(costs, A_ub=rows, b_ub=-np.ones(samples), bounds=bounds).fun
    found = one_norm_svm(data, C=C)
    slack = np.maximum(0.0, 1 - data.y * (data.X @ found.weights + found.bias))
    assert np.abs(found.weights).sum() + C * slack.sum() == pytest.approx(optimum, rel=1e-6)
    assert found.selected == tuple(name for name, w in zip(data.features, found.weights, strict=True) if w)
    assert one_norm_svm(data, C=1e-6).selected == ()
    with pytest.raises(DataError, match="larger C"):
        one_norm_svm(data, C=1e-6, refit=True)
    assert one_norm_svm(data, C=C, refit=True).selected == found.selected


@pytest.mark.parametrize("method", [rfe, information_gain, mutual_information, relief])
def test_parameters_out_of_range_are_refused(method, wdbc):
    for options, words in (
        ({"max_features": 0}, ["max_features=0 selects no feature", "1..30"]),
        ({"max_features": 31}, ["max_features=31", "1..30"]),
        ({"max_features": 1, "C": 0}, ["C=0", "above 0"]),
        ({"max_features": 1, "C": math.nan}, ["C=nan"]),
    ):
        with pytest.raises(ParameterError) as caught:
            method(wdbc, **options)
        for word in words:
            assert word in str(caught.value)


def test_a_step_or_neighbours_out_of_range_are_refused(wdbc):
    for step in (0, -1, 1.5):
        with pytest.raises(ParameterError, match=f"step={step}"):
            rfe(wdbc, max_features=1, step=step)
    with pytest.raises(ParameterError, match="n_neighbors=0"):
        mutual_information(wdbc, max_features=1, n_neighbors=0)
    with pytest.raises(ParameterError, match="n_neighbors=0"):
        relief(wdbc, max_features=1, n_neighbors=0)
    assert len(rfe(wdbc, max_features=3, step=0.5).selected) == 3


def test_rfe_of_one_feature_keeps_it():
    data = Dataset.from_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    found = rfe(data, max_features=1)
    assert found.selected == ("x1",)
    assert found.weights[0] > 0
