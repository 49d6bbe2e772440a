"""Models on the same folds: rows are those of each alone, supports are judged alike, failures are rows, not crashes."""

import matplotlib as mpl
import numpy as np
import pytest

import fsmodels as fs
from fsmodels.evaluation.compare import tune
from fsmodels.models.spec import GRID_SIZE
from fsmodels.selection.catalogue import MODELS
from fsmodels.selection.request import Request

mpl.use("Agg")


@pytest.fixture(scope="module")
def found(data):
    return fs.compare(data, ["fsp-m", "rfe", "one-norm-svm", "fsv", "gmeb"], max_features=2, C=0.5, cv=4, seed=1)


def test_a_row_is_that_of_the_model_alone(data, found):
    for name in ("fsp-m", "rfe"):
        alone = fs.cross_validate(data, name, max_features=2, C=0.5, cv=4, seed=1)
        mine = found.runs[found.runs["method"] == name].reset_index()
        for column in ("error", "auc", "selected", "status"):
            assert mine[column].to_list() == alone.runs[column].to_list()
        row = found.table().loc[name]
        assert (row["error"], row["se"]) == pytest.approx((alone.error, alone.standard_error))
        assert row["stability"] == pytest.approx(alone.index)


def test_every_support_is_judged_by_the_same_objective_and_svm(data, found):
    for k, fold in enumerate(data.folds(4, seed=1), start=1):
        train = fold.train.scaled("standard")
        best = fs.select(train, max_features=2, C=0.5).objective
        for row in found.runs[found.runs["fold"] == k].itertuples():
            assert row.fsp_objective == pytest.approx(fs.fsp.value(train, row.selected, C=0.5))
            again = fs.select(train.select_features(row.selected), "svm", C=0.5)
            assert row.fsp_error == again.error(fold.held_out)
            assert len(row.selected) <= 2
            assert row.fsp_objective >= best * (1 - 1e-4)


def test_models_without_a_budget_are_turned_inside_the_fold_until_they_meet_it(data, found):
    for name, words in (("one-norm-svm", ["C"]), ("fsv", ["penalty"]), ("gmeb", ["R_plus", "R_minus"])):
        names, values_of = MODELS[name].tuning_grid
        values = [float(f"{value:.4g}") for value in values_of(data, 0.5)]
        assert list(names) == words
        mine = found.runs[found.runs["method"] == name].reset_index()
        for row, fold in zip(mine.itertuples(), data.folds(4, seed=1), strict=True):
            assert set(row.tuned) == set(words)
            alone = fs.select(fold.train, name, **row.tuned)
            assert list(alone.selected) == row.selected
            looser = values[values.index(row.tuned[words[0]]) - 1]
            more = fs.select(fold.train, name, **dict.fromkeys(words, looser))
            assert len(row.selected) <= 2 < len(more.selected)
        assert f"{' = '.join(words)} tuned in each fold until at most 2 features" in found.settings[name]


def test_what_a_fold_is_turned_to_does_not_see_what_it_holds_out(data):
    first = fs.compare(data, ["rfe", "one-norm-svm"], max_features=2, cv=3).runs
    rows = data.folds(3, seed=0)[0]
    held = [k for k in range(60) if any((data.X[k] == x).all() for x in rows.held_out.X)]
    y = data.y.copy()
    y[held] = -y[held]
    other = fs.Dataset.from_arrays(data.X, y, features=list(data.features))
    splits = [(np.setdiff1d(np.arange(60), held), np.array(held))] * 2
    again = fs.compare(other, ["rfe", "one-norm-svm"], max_features=2, cv=splits).runs
    for name in ("rfe", "one-norm-svm"):
        a, b = (runs[(runs["method"] == name) & (runs["fold"] == 1)].iloc[0] for runs in (first, again))
        assert (a["selected"], a["tuned"], a["training_error"]) == (b["selected"], b["tuned"], b["training_error"])
        assert b["error"] == pytest.approx(1 - a["error"])


def test_the_tightest_is_taken_where_none_meets_the_budget(data):
    request = Request.of(data.scaled("standard"), "one-norm-svm")
    found, told = tune(request.changed(C=1.0), budget=0)
    assert len(found.selected) == 0
    found, told = tune(request.changed(force_in=["a", "b"]), budget=1)
    assert told["tuned"] == {"C": 1e-4}
    assert set(found.selected) >= {"a", "b"}
    assert GRID_SIZE == 25


def test_every_model_that_selects_has_a_budget_of_its_own_or_a_ladder():
    alone = {"svm", "robust-lp"}
    native = {name for name, spec in MODELS.items() if spec.parameters.get("max_features")}
    turned = {name for name, spec in MODELS.items() if spec.tuning_grid is not None}
    assert set(MODELS) == alone | native | turned
    assert not native & turned


def test_differences_are_those_of_the_same_folds(found):
    frame = found.table()
    best = frame.index[0]
    assert frame["error"].iloc[0] == frame["error"].min()
    errors = {name: part["error"].to_numpy(dtype=float) for name, part in found.runs.groupby("method")}
    for name, row in frame.iloc[1:].iterrows():
        apart = errors[name] - errors[best]
        assert row["difference"] == pytest.approx(apart.mean())
        assert row["difference_se"] == pytest.approx(apart.std(ddof=1) / 2)


def test_workers_and_a_memory_give_equal_results(data, found, tmp_path):
    words = {"max_features": 2, "C": 0.5, "cv": 4, "seed": 1, "memory": tmp_path / "folds"}
    models = ["fsp-m", "rfe", "one-norm-svm", "fsv", "gmeb"]
    fs.compare(data, models[:2], **words)
    again = fs.compare(data, models, n_jobs=2, **words)
    assert "8 of 20 runs were read from folds." in again.sentence
    clock = ["seconds"]
    assert again.runs.drop(columns=clock).equals(found.runs.drop(columns=clock))


def test_a_model_that_fails_is_a_row_with_its_reason(data):
    models = {"rfe": {}, "three": {"model": "fsp-m", "max_features": 3}, "none": {"model": "fsp-m", "max_features": 9}}
    found = fs.compare(data, models, max_features=2, cv=3)
    frame = found.table()
    assert list(frame.index)[-1] == "none"
    assert frame.loc["none", "folds"] == 0
    assert "max_features=9 is above the 5 features" in frame.loc["none", "reason"]
    assert "none has no result on 3 folds: max_features=9" in found.sentence
    assert frame.loc["three", "n_selected"] == 3.0
    assert found.short()["Folds"].to_list() == ["3", "3", "0"]


def test_an_unforeseen_failure_is_a_row_too_and_is_made_again(data, monkeypatch, tmp_path):
    words = {"max_features": 2, "cv": 3, "memory": tmp_path / "folds"}
    with monkeypatch.context() as patch:
        patch.setattr("fsmodels.evaluation.compare.tune", lambda *_: 1 / 0)
        broken = fs.compare(data, ["rfe", "fsv"], **words)
    assert "ZeroDivisionError: division by zero" in broken.table().loc["fsv", "reason"]
    again = fs.compare(data, ["rfe", "fsv"], **words)
    assert "3 of 6 runs were read" in again.sentence
    assert again.table()["folds"].to_list() == [3, 3]


def test_where_all_fail_that_is_said(data):
    found = fs.compare(data, ["fsp-m", "rfe"], max_features=2, at_least=[(["a", "b", "c"], 3)], cv=3)
    assert "none has a solution" in found.sentence
    assert found.table()["error"].isna().all()
    found.to_dict()
    found.plot()


def test_words_go_to_the_models_that_take_them(data):
    found = fs.compare(data, ["fsp-m", "rfe"], max_features=2, cv=3, time_limit=600, force_out=["a"], loss="hinge")
    assert found.table()["folds"].to_list() == [3, 3]
    assert not [names for names in found.runs["selected"] if "a" in names]


def test_it_can_be_shown_and_written(found):
    told = found.to_dict()
    assert [row["model"] for row in told["models"]] == list(found.table().index)
    assert len(told["runs"]) == 20
    assert "<table" in found._repr_html_()
    ax = found.plot()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == set(found.settings)
