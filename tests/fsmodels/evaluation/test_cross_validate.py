"""Held-out errors: those of a loop by hand, with scaling inside the folds, by any workers, and after Ctrl-C."""

import math

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import LeaveOneOut, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fsmodels as fs
from fsmodels.evaluation import folds
from fsmodels.evaluation.folds import resampled_t_test

mpl.use("Agg")


@pytest.fixture(scope="module")
def found(data):
    return fs.cross_validate(data, max_features=2, cv=4)


def test_it_is_a_loop_of_scikit_learn_with_everything_inside(data):
    found = fs.cross_validate(data, "rfe", max_features=2, C=0.5, cv=4, seed=3)
    rows = []
    for learn, held in StratifiedKFold(4, shuffle=True, random_state=3).split(data.X, data.y):
        machine = make_pipeline(StandardScaler(), RFE(SVC(C=0.5, kernel="linear"), n_features_to_select=2))
        machine.fit(data.X[learn], data.y[learn])
        y, given = data.y[held], machine.predict(data.X[held])
        rows.append(
            {
                "error": np.mean(y != given),
                "balanced_error": 1 - balanced_accuracy_score(y, given),
                "f1": f1_score(y, given),
                "auc": roc_auc_score(y, machine.decision_function(data.X[held])),
                "training_error": np.mean(data.y[learn] != machine.predict(data.X[learn])),
            }
        )
    by_hand = pd.DataFrame(rows)
    assert by_hand["error"].nunique() > 1
    pd.testing.assert_frame_equal(found.runs[list(by_hand)], by_hand, check_dtype=False)
    assert found.error == pytest.approx(by_hand["error"].mean())
    assert found.standard_error == pytest.approx(by_hand["error"].std(ddof=1) / 2)


def test_blanks_are_filled_in_inside_the_folds():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(60, 4)) ** 2
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    X[rng.random(X.shape) < 0.25] = np.nan
    data = fs.Dataset.from_frame(pd.DataFrame(X, columns=list("abcd")).assign(target=y), impute="mean")
    by_hand = []
    for learn, held in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        chosen = RFE(SVC(C=1, kernel="linear"), n_features_to_select=2)
        machine = make_pipeline(SimpleImputer(strategy="mean"), StandardScaler(), chosen).fit(X[learn], y[learn])
        by_hand.append(np.mean(machine.predict(X[held]) != y[held]))
    assert fs.cross_validate(data, "rfe", max_features=2, cv=4).runs["error"].to_list() == by_hand


def test_weights_of_classes_are_those_of_each_fold(data):
    few = data.take([*np.flatnonzero(data.y > 0), *np.flatnonzero(data.y < 0)[:13]])
    found = fs.cross_validate(few, "svm", cv=3, class_weight="balanced")
    alone = fs.select(few.folds(3, seed=0)[0].train, "svm", class_weight="balanced")
    assert found.runs["objective"][0] == pytest.approx(alone.objective)
    require_unweighted = fs.cross_validate(few, "svm", cv=3)
    assert found.runs["objective"][0] != pytest.approx(require_unweighted.runs["objective"][0], rel=1e-3)


def test_weights_of_samples_go_with_the_folds(data):
    weights = np.linspace(0.5, 2.0, 60)
    found = fs.cross_validate(data, "svm", cv=3, sample_weight=weights)
    learn, _ = next(StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.y))
    alone = fs.select(data.take(learn), "svm", sample_weight=weights[learn])
    assert found.runs["objective"][0] == pytest.approx(alone.objective)


def test_each_fold_is_a_selection_of_its_own(data, found):
    for fold, row in zip(data.folds(4, seed=0), found.runs.itertuples(), strict=True):
        alone = fs.select(fold.train, max_features=2)
        assert (row.selected, row.objective, row.bound) == (list(alone.selected), alone.objective, alone.bound)
        assert row.error == alone.error(fold.held_out)


def test_scaling_outside_the_folds_would_say_something_else():
    """One held-out sample is so large that constants of all samples make the others equal."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 20)
    X = np.column_stack([y + 0.3 * rng.normal(size=40), 5 * y + rng.normal(size=40)])
    X[0] = [1e6, 1e6]
    data = fs.Dataset.from_arrays(X, y, features=["a", "b"])
    (outer,) = [rows for rows in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y) if 0 in rows[1]]
    pair = [outer, outer[::-1]]
    inside = fs.cross_validate(data, max_features=1, cv=pair).runs["training_error"][0]
    leaked = fs.select(data.scaled("standard").take(outer[0]), max_features=1).training_error
    assert inside < 0.05 < 0.3 < leaked


def test_data_that_are_scaled_are_scaled_again_in_the_folds(data, found):
    assert fs.cross_validate(data.scaled("standard"), max_features=2, cv=4).runs["error"].equals(found.runs["error"])
    other = fs.cross_validate(data.scaled("minmax"), max_features=2, cv=4)
    said = fs.cross_validate(data, max_features=2, cv=4, scale="minmax")
    assert other.runs["objective"].to_list() == pytest.approx(said.runs["objective"].to_list())
    assert other.runs["objective"].to_list() != pytest.approx(found.runs["objective"].to_list())


def plain(found):
    """What does not depend on the clock."""
    return found.runs.drop(columns="seconds")


def test_repeats_divide_anew_and_make_no_more_samples(data):
    twice = fs.cross_validate(data, "rfe", max_features=2, cv=3, repeats=2, seed=5)
    one, other = (fs.cross_validate(data, "rfe", max_features=2, cv=3, seed=s) for s in (5, 6))
    both = pd.concat([one.runs["error"], other.runs["error"]])
    assert twice.runs["error"].to_list() == both.to_list()
    assert twice.standard_error == pytest.approx(both.std(ddof=1) / np.sqrt(3))
    assert twice.table().index.to_list() == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert "6 folds of 2 repeats" in twice.sentence


def test_splitters_and_pairs_of_rows_are_folds(data):
    by_number = fs.cross_validate(data, "rfe", max_features=2, cv=4, seed=1)
    splitter = StratifiedKFold(4, shuffle=True, random_state=1)
    pairs = list(splitter.split(data.X, data.y))
    for cv in (splitter, pairs):
        assert plain(fs.cross_validate(data, "rfe", max_features=2, cv=cv)).equals(plain(by_number))
    assert len(fs.cross_validate(data, "rfe", max_features=2, cv=RepeatedStratifiedKFold(n_splits=2)).runs) == 20


def test_one_sample_held_out_has_an_error_and_no_curve(data):
    few = data.take([*np.flatnonzero(data.y > 0)[:6], *np.flatnonzero(data.y < 0)[:6]])
    found = fs.cross_validate(few, "rfe", max_features=1, cv=LeaveOneOut())
    assert set(found.runs["error"]) <= {0.0, 1.0}
    assert found.runs[["balanced_error", "f1", "auc"]].isna().all(axis=None)
    assert np.isnan(found.summary().loc["auc", "mean"])


def test_frequency_and_stability_are_those_of_the_folds(data, found):
    chosen = np.array([[name in names for name in data.features] for names in found.runs["selected"]])
    assert found.frequency.to_list() == chosen.mean(axis=0).tolist()
    assert (found.index, found.interval) == fs.stability_index(chosen)


def test_groups_of_samples_go_with_the_folds(data):
    sex = np.where(np.arange(60) % 2, "m", "f")
    found = fs.cross_validate(data, "svm", cv=3, fair=[(sex, 0.1)])
    fold = data.with_aside(sex=sex).folds(3, seed=0)[0]
    assert found.runs["objective"][0] == pytest.approx(fs.select(fold.train, "svm", fair=[("sex", 0.1)]).objective)


def test_words_that_can_be_read_once_serve_every_fold(data):
    once = fs.cross_validate(data, "rfe", max_features=2, cv=3, force_out=(name for name in ["a"]))
    assert not [names for names in once.runs["selected"] if "a" in names]


def test_folds_without_a_solution_do_not_count(data, monkeypatch):
    real = folds.FoldRun.select

    def select(run):
        if run.part.learn.name.endswith("/2"):
            error = fs.NoSelection("Rows clash.")
            error.selection = fs.select(run.part.train, max_features=1, at_least=[(["a", "b"], 2)])
            raise error
        return real(run)

    monkeypatch.setattr(folds.FoldRun, "select", select)
    found = fs.cross_validate(data, max_features=2, cv=3)
    assert found.runs["selected"].isna().to_list() == [False, True, False]
    assert found.error == pytest.approx(found.runs["error"].dropna().mean())
    assert "1 fold has no solution: Rows clash." in found.sentence


def test_where_no_fold_has_a_solution_there_is_no_error(data):
    with pytest.raises(fs.ModelError, match="No fold has a solution"):
        fs.cross_validate(data, max_features=1, cv=3, at_least=[(["a", "b"], 2)])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_folds_that_are_done(data, stopped_after, n_jobs):
    with stopped_after(2), joblib.parallel_config("sequential"):  # whose workers see the patch
        found = fs.cross_validate(data, "rfe", max_features=2, cv=4, n_jobs=n_jobs)
        assert found.runs["fold"].to_list() == [1, 2]
        assert "Interrupted after 2 of 4 folds." in found.sentence
        with pytest.raises(KeyboardInterrupt):
            fs.cross_validate(data, "rfe", max_features=2, cv=4, n_jobs=n_jobs)


def test_a_fold_that_ctrl_c_ended_is_none(data, monkeypatch):
    real = folds.FoldRun.run

    def run(one):
        row = real(one)
        return {**row, "stop_reason": "interrupted"} if one.part.learn.name.endswith("/2") else row

    monkeypatch.setattr(folds.FoldRun, "run", run)
    found = fs.cross_validate(data, "rfe", max_features=2, cv=3)
    assert found.runs["fold"].to_list() == [1, 3]


def test_the_corrected_t_test_is_that_of_a_calculation_by_hand():
    """d = 2, s^2 = 1, k = 3: t^2 = 4 / (1/3 + 1/2) = 4.8, and with 2 degrees of freedom p = 1 - t / sqrt(2 + t^2)."""
    assert resampled_t_test([1.0, 2.0, 3.0], 1 / 2) == pytest.approx(1 - math.sqrt(4.8 / 6.8), rel=1e-12)
    assert resampled_t_test([-1.0, -2.0, -3.0], 1 / 2) == resampled_t_test([1.0, 2.0, 3.0], 1 / 2)
    assert resampled_t_test([1.0, -1.0], 1.0) == pytest.approx(1.0)  # mean 0


@pytest.mark.parametrize("differences", [[], [0.1], [0.2, 0.2, 0.2], [None, 0.1]])
def test_the_corrected_t_test_has_no_value_without_variance(differences):
    assert math.isnan(resampled_t_test(differences, 0.25))
