"""Blanks that are filled in: of whatever rows are learnt from, and of new samples by what was stored."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.prepare import METHODS
from fsmodels.selection.resampling import bootstraps_of, folds_of
from refusals import refusal


def a_frame(rows=50, seed=0, holes=0.15):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rows, 3)), 1) * [1, 10, 100]
    ill = X @ [1, 0.1, 0] + rng.normal(size=rows) > 0.2
    X[rng.random(X.shape) < holes] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(rng.random(rows) < 0.1, None, rng.choice(["x", "x", "y", "z"], rows))
    return frame.assign(group=np.where(ill, "ill", "well"))


def read(frame, impute="median", **options):
    return Dataset.from_frame(frame, **{"target": "group", "positive": "ill", "impute": impute, **options})


def simple(frame, method, rows=slice(None)):
    """What scikit-learn makes of the numeric columns."""
    imputer = SimpleImputer(strategy=method.replace("-", "_")).fit(frame[["a", "b", "c"]].iloc[rows])
    return imputer.transform(frame[["a", "b", "c"]])


@pytest.mark.parametrize("method", METHODS)
def test_blanks_become_what_scikit_learn_makes_of_them(method):
    frame = a_frame()
    data = read(frame, method, drop="kind")
    np.testing.assert_allclose(data.X, simple(frame, method), rtol=1e-12)
    assert data.imputing.cells == frame[["a", "b", "c"]].isna().to_numpy().sum()
    assert f"{data.imputing.cells} blanks by {method}" in repr(data)
    again = Dataset.from_arrays(frame[["a", "b", "c"]], frame["group"], positive="ill", impute=method)
    np.testing.assert_array_equal(again.X, data.X)


@pytest.mark.parametrize("method", METHODS)
def test_each_fold_learns_its_own_values_and_fills_the_rows_held_out_with_them(method):
    frame = a_frame()
    data = read(frame, method, drop="kind")
    whole = data.with_aside(row=range(50))
    for part in [*folds_of(whole.scaled("standard"), 3, seed=1), *bootstraps_of(whole, 2, seed=1)]:
        learnt, held = (part.train.aside["row"].astype(int), part.held_out.aside["row"].astype(int))
        expected = simple(frame, method, learnt)
        np.testing.assert_allclose(part.train.unscaled().X, expected[learnt], rtol=1e-9, atol=1e-9)
        train = part.train if part.train.scale.chosen else part.train.scaled("standard")
        brought = train.apply_scale_to(part.held_out)
        by_hand = (expected[held] - expected[learnt].mean(axis=0)) / expected[learnt].std(axis=0)
        np.testing.assert_allclose(brought.X, by_hand, rtol=1e-9, atol=1e-9)


def test_a_category_gets_its_most_frequent_level_of_the_rows_at_hand():
    frame = a_frame()
    data = read(frame, one_hot="kind").with_aside(row=range(50))
    blank = frame["kind"].isna().to_numpy()
    names = ["kind=x", "kind=y", "kind=z"]
    X = data.X[:, [data.features.index(name) for name in names]]
    assert X[blank].tolist() == [[1.0, 0.0, 0.0]] * blank.sum()
    assert (X.sum(axis=1) == 1).all()
    most_y = data.take(np.flatnonzero((frame["kind"] != "x").to_numpy())).refitted()
    counts = frame["kind"][frame["kind"] != "x"].value_counts()
    filled = most_y.X[:, [data.features.index(name) for name in names]][most_y.imputing.missing["kind=x"]]
    assert filled[0].tolist() == [float(counts.sort_index().idxmax() == level) for level in "xyz"]
    two = read(frame.assign(kind=["x", "y", "y", None] + ["y"] * 46), one_hot="kind")
    assert two.X[3, two.features.index("kind=y")] == 1.0


def test_a_feature_without_a_value_in_a_fold_keeps_its_own():
    frame = a_frame(holes=0.0)
    frame.loc[5:, "c"] = np.nan
    data = read(frame, drop="kind")
    assert (data.take(range(10, 50)).refitted().X[:, 2] == np.median(frame["c"][:5])).all()


def test_products_are_made_anew_of_the_values_of_the_fold():
    frame = a_frame()
    data = read(frame, "mean", drop="kind").with_interactions("a", "b")
    rows = np.arange(5, 40)
    fold = data.take(rows).refitted()
    plain = Dataset.from_arrays(simple(frame, "mean", rows)[rows], frame["group"][rows], ["a", "b", "c"], "ill")
    np.testing.assert_allclose(fold.X, plain.with_interactions("a", "b").X, rtol=1e-9, atol=1e-9)
    train = fold.scaled("standard")
    held = np.arange(40, 50)
    other = Dataset.from_arrays(simple(frame, "mean", rows)[held], frame["group"][held], ["a", "b", "c"], "ill")
    np.testing.assert_allclose(
        train.apply_scale_to(data.take(held)).X, train.apply_scale_to(other).X, rtol=1e-9, atol=1e-9
    )


def test_new_blanks_are_filled_with_what_is_stored(tmp_path):
    frame = a_frame()
    data = read(frame, one_hot="kind").with_interactions("a", "b")
    found = fs.select(data, "svm")
    found.save(tmp_path / "x.json")
    new = a_frame(seed=4).drop(columns="group")
    full = new.copy()
    full[["a", "b", "c"]] = full[["a", "b", "c"]].fillna(frame[["a", "b", "c"]].median())
    full["kind"] = full["kind"].fillna("x")
    for each in (found, fs.load_selection(tmp_path / "x.json")):
        np.testing.assert_allclose(each.decision(new), each.decision(full), atol=1e-12)
    bare = fs.select(read(full.assign(group=frame["group"]), None, drop="kind"), "svm")
    message = refusal(bare.predict, new)
    assert 'Column "a" has no value' in message or 'Column "b" has no value' in message
    assert "--impute median" in message
    few = fs.select(data, "fsp-m", max_features=1)
    few.save(tmp_path / "few.json")
    np.testing.assert_allclose(fs.load_selection(tmp_path / "few.json").decision(new), few.decision(full))


def test_refusal_stays_the_default_and_names_the_option(tmp_path):
    (tmp_path / "p.csv").write_text("a,b,group\n1,2,ill\n,3,well\n2,NA,ill\n")
    message = refusal(Dataset.from_csv, tmp_path / "p.csv", "group")
    assert '--impute median (Python: impute="median")' in message
    (tmp_path / "q.csv").write_text("a,b,group\n1,2,ill\n,3,well\n2,4,ill\n")
    assert '--impute median (Python: impute="median")' in refusal(Dataset.from_csv, tmp_path / "q.csv", "group")
    data = Dataset.from_csv(tmp_path / "p.csv", "group", impute="mean")
    assert data.X.tolist() == [[1.0, 2.0], [1.5, 3.0], [2.0, 2.5]]
    assert 'impute="median"' in refusal(Dataset.from_arrays, [[np.nan], [1.0]], [0, 1])


def test_what_cannot_be_imputed_is_refused():
    frame = a_frame()
    assert "median, mean, most-frequent" in refusal(read, frame, "knn", error=fs.ParameterError)
    assert 'Column "a" of the DataFrame has no value in any row' in refusal(read, frame.assign(a=np.nan), drop="kind")
    assert "infinite" in refusal(read, frame.assign(a=np.inf), drop="kind")
    assert 'Column "kind" has text' in refusal(read, frame)


def test_the_command_line_imputes_in_folds_certificates_and_predictions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = a_frame()
    frame.to_csv("p.csv", index=False)
    a_frame(seed=2).to_csv("new.csv", index=False, sep=";", decimal=",")
    words = ["p.csv", "--target", "group", "--positive", "ill", "--one-hot", "kind:apart"]
    assert main(["select", *words, "--model", "fsp-m", "--max-features", "2"]) == 2
    assert "--impute median" in capsys.readouterr().err
    words += ["--impute", "median"]
    limit = ["--max-features", "2"]
    files = ["--json", "r.json", "--certificate", "c.json"]
    assert main(["select", *words, *limit, "--model", "fsp-m", *files]) == 0
    out = capsys.readouterr().out
    check = next(line for line in out.splitlines() if "fsmodels verify" in line)
    assert main(check.partition("fsmodels ")[2].split()) == 0
    assert main(["verify", "c.json", *words[:-1], "mean"]) == 2  # other data
    assert main(["path", *words, "--max-features", "1:2", "--folds", "3", "--quiet"]) == 0
    assert main(["predict", "r.json", "new.csv", "--target", "group", "--out", "out.csv"]) == 0
    found, new = fs.load_selection("r.json"), a_frame(seed=2)
    assert pd.read_csv("out.csv")["label"].tolist() == found.predict(new).tolist()
    data = Dataset.from_csv("p.csv", "group", "ill", one_hot="kind:apart", impute="median")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fs.verify("c.json", data).holds
