"""Stability: the index against hand-computed ones and against chance, runs by folds and bootstraps, workers."""

import itertools
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

import fsmodels as fs
from uneven_columns import uneven_columns

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    return uneven_columns()


@pytest.fixture(scope="module")
def found(data):
    return fs.stability(data, max_features=2, bootstraps=6, seed=1)


def test_the_index_of_two_runs_by_hand():
    # p = (1, 1/2, 1/2), k = 2, sum s^2 = 1: 1 - (1/3) / (2/3 * 1/3) = -1/2; both runs have one influence: no spread
    index, interval = fs.stability_index([[1, 1, 0], [1, 0, 1]])
    assert index == pytest.approx(-0.5)
    assert interval == pytest.approx((-0.5, -0.5))


def test_the_interval_of_three_runs_by_hand():
    # p = (1, 2/3, 0, 0), k = 5/3; s^2 = 3/2 * 2/9 = 1/3 of the second, mean 1/12; B = 5/12 * 7/12 = 35/144
    # index 1 - 12/35 = 23/35. Phi_i B = (z_i.p)/4 - k_i k/16 + (23/70)(2 k k_i/16 - k_i/4 - 5/12 + 1)
    # of sizes 2, 2, 1: up to the constant (23/70)(7/12), 5/12 - 5/24 - 23/840 and 1/4 - 5/48 - 23/1680
    index, (low, high) = fs.stability_index([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    assert index == pytest.approx(23 / 35)
    two, one = 5 / 12 - 5 / 24 - 23 / 840, 1 / 4 - 5 / 48 - 23 / 1680
    mean = (2 * two + one) / 3
    variance = 4 / 9 * (2 * (two - mean) ** 2 + (one - mean) ** 2) * (144 / 35) ** 2
    assert (high - low) / 2 == pytest.approx(1.959963985 * variance**0.5)
    assert (high + low) / 2 == pytest.approx(index)


def test_with_one_size_it_is_the_index_of_kuncheva():
    rng = np.random.default_rng(0)
    Z = np.array([rng.permutation([1, 1, 1, 0, 0, 0, 0]) for _ in range(8)])
    pairs = [(Z[i] @ Z[j] * 7 - 9) / (3 * 4) for i, j in itertools.combinations(range(8), 2)]
    assert fs.stability_index(Z)[0] == pytest.approx(np.mean(pairs))


def test_it_is_1_where_runs_agree_and_0_by_chance():
    assert fs.stability_index([[1, 0, 1, 0]] * 5) == (1.0, (1.0, 1.0))
    rng = np.random.default_rng(1)
    index, (low, high) = fs.stability_index(rng.random((400, 30)) < 0.3)
    assert low < 0 < high
    assert abs(index) < 0.01


def test_the_interval_covers_what_many_runs_say():
    rng, p = np.random.default_rng(3), np.array([0.9, 0.7, 0.2, 0.1, 0.1, 0.05])
    truth = fs.stability_index(rng.random((200_000, 6)) < p)[0]
    intervals = [fs.stability_index(rng.random((100, 6)) < p, 0.9)[1] for _ in range(300)]
    assert 0.84 <= np.mean([low <= truth <= high for low, high in intervals]) <= 0.96


@pytest.mark.parametrize("Z", [[[0, 0], [0, 0]], [[1, 1], [1, 1]]])
def test_it_is_not_defined_where_there_is_nothing_to_vary(Z):
    assert fs.stability_index(Z) == (None, None)


@pytest.mark.parametrize("Z", [[[1, 0]], [[1, 2], [0, 1]], "abc", [1, 0]])
def test_what_is_no_matrix_of_runs_is_refused(Z):
    with pytest.raises(fs.DataError, match="a row for each of at least two runs"):
        fs.stability_index(Z)


def test_a_run_is_the_selection_on_its_sample_scaled_there(data, found):
    rng = np.random.default_rng(1)
    drawn = np.concatenate([rng.choice(np.flatnonzero(data.y == s), int(sum(data.y == s))) for s in (1, -1)])
    sample = data.take(np.sort(drawn))
    by_hand = fs.select(sample.scaled("standard"), max_features=2)
    assert found.runs.loc[0, "selected"] == list(by_hand.selected)
    assert found.runs.loc[0, "objective"] == pytest.approx(by_hand.objective, rel=1e-9)
    rest = data.take(np.setdiff1d(np.arange(60), drawn))
    assert found.runs.loc[0, "held_out_error"] == by_hand.error(rest)


def test_frequencies_are_of_the_runs(found):
    for name, share in found.frequency.items():
        assert share == np.mean([name in selected for selected in found.runs["selected"]])
    table = found.table()
    assert table["frequency"].is_monotonic_decreasing
    assert list(table.index[table["selected"]]) == [name for name in table.index if name in found.found.selected]
    assert table.loc["a", "positive"] == 1.0
    chosen = [[name in selected for name in found.frequency.index] for selected in found.runs["selected"]]
    assert (found.index, found.interval) == fs.stability_index(chosen)


def test_folds_by_number_and_by_splitter(data):
    by_number = fs.stability(data, "rfe", max_features=2, folds=4, seed=0)
    by_splitter = fs.stability(data, "rfe", max_features=2, folds=StratifiedKFold(4, shuffle=True, random_state=0))
    assert by_number.frequency.equals(by_splitter.frequency)
    assert len(by_number.runs) == 4


def test_scaling_of_the_data_is_done_again_in_each_run(data):
    raw = fs.stability(data, max_features=2, folds=3)
    scaled = fs.stability(data.scaled("standard"), max_features=2, folds=3)
    assert scaled.runs["objective"].to_list() == pytest.approx(raw.runs["objective"].to_list(), rel=1e-6)
    assert scaled.runs["held_out_error"].equals(raw.runs["held_out_error"])


def test_rows_hold_in_each_run(data):
    half = np.arange(60) % 2
    found = fs.stability(
        data.with_interactions("a", "b").with_aside(half=half), max_features=3, folds=3, hierarchy="strong",
        fair=("half", 0.01), signs={"a": "-"},
    )  # fmt: skip
    for selected in found.runs["selected"]:
        assert "a:b" not in selected or {"a", "b"} <= set(selected)
    assert not (found.weights["a"] > 1e-9).any()


def test_what_it_says(data, found):
    assert "6 bootstrap samples" in str(found)
    assert "Stability" in str(found)
    assert repr(found).startswith(str(found))
    assert "<table" in found._repr_html_()
    assert found.plot().get_xlabel().startswith("selected in % of 6 runs")
    axes = mpl.figure.Figure().subplots()
    assert found.plot(axes) is axes
    assert pickle.loads(pickle.dumps(found)).index == found.index


def test_runs_that_stopped_early_are_said_to_be_open(data):
    found = fs.stability(data, max_features=2, bootstraps=3, iteration_limit=1)
    assert "3 runs are not proven optimal, with gaps up to" in str(found)


@pytest.mark.parametrize("runs", [0, 1, 3])
def test_runs_before_ctrl_c_are_kept(runs, data, stopped_after):
    with stopped_after(runs):
        found = fs.stability(data, "rfe", max_features=2, bootstraps=5)
    assert f"Interrupted after {runs} of 5 runs." in found.sentence
    assert (found.index is None, len(found.runs), len(found.found.selected)) == (runs < 2, runs, 2)
    content = found.to_dict()
    assert content["selection"]["selected"] == list(found.found.selected)
    assert len(content["runs"]) == runs
    assert "Interrupted" in repr(found)


def test_sparse_data_stay_sparse(data):
    dense = fs.Dataset.from_arrays(np.where(abs(data.X) > 1, data.X, 0.0), data.y)
    held = fs.Dataset.from_arrays(sparse.csr_array(dense.X), data.y)
    found = fs.stability(held.scaled("unit-ball"), max_features=2, bootstraps=3)
    by_dense = fs.stability(dense.scaled("unit-ball"), max_features=2, bootstraps=3)
    assert found.frequency.equals(by_dense.frequency)
    assert found.found.data.is_sparse
