"""``fsmodels path``, ``stability`` and ``predict``."""

import json

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run
from fsmodels.cli.commands import parse


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a CSV file of four features and text labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4)) * [1, 10, 1, 1]
    ill = X @ [1, 0.1, 0.4, 0] + 0.5 * rng.normal(size=40) > 0
    pd.DataFrame(X, columns=list("abcd")).assign(group=np.where(ill, "ill", "well")).to_csv("p.csv", index=False)
    return tmp_path


DATA = ["p.csv", "--target", "group", "--positive", "ill"]


def test_a_path_is_that_of_python(folder, capsys):
    words = ["--max-features", "1:3", "-C", "0.1,1", "--folds", 3, "--seed", 2, "--choose", "one-se"]
    code, out, _ = run(capsys, "path", *DATA, *words, "--json", "a.json", "--picture", "NAME.pdf")
    data = fs.Dataset.from_csv("p.csv", "group", "ill")
    path = fs.path(data, max_features=[1, 2, 3], C=[0.1, 1.0], folds=3, seed=2)
    found = json.loads((folder / "a.json").read_text())
    assert code == 0
    assert [row["objective"] for row in found["points"]] == pytest.approx(path["objective"].to_list(), rel=1e-6)
    assert [row["cv_error"] for row in found["points"]] == pytest.approx(path["cv_error"].to_list())
    assert found["chosen"]["selected"] == list(path.choose("one-se").selected)
    assert "memory" not in found["chosen"]["solver"]["options"]
    assert [row["C"] for row in found["points"][:2]] == [0.1, 1.0]
    assert (folder / "NAME.pdf").read_bytes()[:4] == b"%PDF"
    assert "Chosen by one-se: max_features=" in out
    assert "6 points by max_features, C" in out


def test_a_path_over_the_penalty_with_side_constraints(folder, capsys):
    words = ["--model", "fsp-lambda", "--penalty", "0.1,1", "--force-in", "d", "--sign", "a:-", "--quiet"]
    code, out, _ = run(capsys, "path", *DATA, *words, "--json", "a.json")
    found = json.loads((folder / "a.json").read_text())
    assert (code, out.count("\n")) == (0, 1)
    assert all("d" in row["selected"] for row in found["points"])
    assert [row["penalty"] for row in found["points"]] == [0.1, 1.0]


def test_the_knee_needs_no_folds(folder, capsys):
    code, out, _ = run(capsys, "path", *DATA, "--max-features", "1,2,4", "--choose", "knee", "--quiet")
    data = fs.Dataset.from_csv("p.csv", "group", "ill")
    assert code == 0
    assert out.rstrip().endswith(", ".join(fs.path(data, max_features=[1, 2, 4]).knee().selected))


def test_a_path_without_a_solution_ends_with_3(folder, capsys):
    words = ["--max-features", "1,2", "--force-in", "a", "--force-out", "a"]
    code, _, err = run(capsys, "path", *DATA, *words, "--json", "a.json")
    assert code == 3
    assert "no point has a solution" in err


def test_stability_is_that_of_python(folder, capsys):
    words = ["--max-features", 2, "--bootstraps", 4, "--seed", 3, "--n-jobs", 2]
    code, out, _ = run(capsys, "stability", *DATA, *words, "--json", "s.json", "--picture", "NAME.pdf")
    found = json.loads((folder / "s.json").read_text())
    stable = fs.stability(fs.Dataset.from_csv("p.csv", "group", "ill"), max_features=2, bootstraps=4, seed=3)
    assert code == 0
    assert found["index"] == pytest.approx(stable.index)
    frequencies = {row["feature"]: row["frequency"] for row in found["features"]}
    assert frequencies == stable.frequency.to_dict()
    assert found["sentence"] in out
    assert (folder / "NAME.pdf").read_bytes()[:4] == b"%PDF"
    assert len(found["runs"]) == 4
    code, out, _ = run(capsys, "stability", *DATA, "--max-features", 2, "--folds", 3, "--quiet")
    assert (code, out.count("\n")) == (0, 1)


def test_labels_of_new_samples(folder, capsys):
    assert run(capsys, "select", *DATA, "--model", "fsp-m", "--max-features", 2, "--quiet", "--json", "x.json")[0] == 0
    code, out, err = run(capsys, "predict", "x.json", "p.csv", "--target", "group")
    data = fs.Dataset.from_csv("p.csv", "group", "ill")
    found = fs.select(data, max_features=2)
    (folder / "out.csv").write_text(out)
    rows = pd.read_csv("out.csv")
    assert code == 0
    assert rows["row"].tolist() == list(range(1, 41))
    assert rows["score"].to_list() == pytest.approx(found.decision(data), abs=1e-6)
    assert rows["label"].tolist() == np.where(rows["score"] > 0, "ill", "well").tolist()
    wrong = round(found.training_error * 40)
    assert f"({wrong} of 40 samples)" in err
    few = pd.read_csv("p.csv")[list(found.selected)]
    few.to_csv("few.csv", index=False)
    assert run(capsys, "predict", "x.json", "few.csv", "--out", "y.csv")[:2] == (0, "")
    assert (folder / "y.csv").read_text() == out


def test_predictions_carry_the_columns_that_name_the_rows(folder, capsys):
    assert run(capsys, "select", *DATA, "--model", "fsp-m", "--max-features", 2, "--quiet", "--json", "x.json")[0] == 0
    frame = pd.read_csv("p.csv").assign(patient=[f"0{k:02d}" for k in range(40)], **{"ward, bed": "7, b"})
    frame.to_csv("named.csv", index=False)
    plain, named = ("predict", "x.json", "p.csv"), ("predict", "x.json", "named.csv", "--id", "patient")
    (folder / "plain.csv").write_text(run(capsys, *plain)[1])
    code, out, _ = run(capsys, *named, "--id", "ward, bed")
    (folder / "out.csv").write_text(out)
    rows = pd.read_csv("out.csv", dtype=str)
    assert code == 0
    assert rows.columns.tolist() == ["patient", "ward, bed", "label", "score"]
    assert rows["patient"].tolist() == frame["patient"].tolist()
    assert rows["label"].tolist() == pd.read_csv("plain.csv")["label"].tolist()
    code, _, err = run(capsys, *named[:-1], "patent")
    assert (code, 'There is no column "patent"' in err) == (2, True)
    code, _, err = run(capsys, *named, "--id", "patient")
    assert (code, "leave it out" in err) == (2, True)


def test_numbers_as_labels_are_compared_as_numbers(folder, capsys):
    assert run(capsys, "select", "bupa", "--model", "rfe", "--max-features", 2, "--quiet", "--json", "x.json")[0] == 0
    data = fs.load_dataset("bupa")
    frame = pd.DataFrame(data.X, columns=data.features).assign(target=data.y)  # 1.0 and -1.0
    frame.to_csv("new.csv", index=False)
    _, _, err = run(capsys, "predict", "x.json", "new.csv", "--target", "target")
    wrong = round(fs.select(data, "rfe", max_features=2).training_error * len(data))
    assert f"({wrong} of {len(data)} samples)" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["path", *DATA, "--max-features", "2"], 2, "several values of at least one parameter"),
        (["path", *DATA, "--max-features", "1:x"], 2, "no list of whole numbers"),
        (["path", *DATA, "--max-features", "3:1"], 2, '"3:1" contains no number'),
        (["path", *DATA, "--max-features", "1:2", "--choose", "one-se"], 2, "give --folds 5 with it"),
        (["path", *DATA, "--max-features", "1:2", "--choose", "odd"], 2, "is not one of 'one-se', 'best', 'knee'"),
        (["path", *DATA, "--max-features", "1:2", "--picture", "a.doc"], 2, "give a .png, .pdf, .svg file"),
        (["path", *DATA, "--max-features", "1:2", "--picture", "no/NAME.pdf"], 2, "file in a writable folder"),
        (["path", *DATA, "--max-features", "1:2", "--folds", "90"], 2, "folds=90 is not allowed"),
        (["path", *DATA, "-C", "1,x"], 2, "no list of numbers"),
        (
            ["select", *DATA, "--model", "fsp-m", "--max-features", "1:2"],
            2,
            "Invalid value for '--max-features': '1:2' is not a valid integer",
        ),
        (["stability", *DATA, "--max-features", "2", "--bootstraps", "1"], 2, "bootstraps=1 is not allowed"),
        (["stability", *DATA, "--max-features", "2", "--folds", "3", "--bootstraps", "3"], 2, "not both"),
        (["stability", *DATA, "--max-features", "2", "--n-jobs", "0"], 2, "n_jobs=0"),
        (["predict", "none.json", "p.csv"], 2, "cannot be read"),
        (["predict", "p.csv", "p.csv"], 2, "no JSON file"),
    ],
)
def test_bad_words_are_refused(folder, capsys, words, code, message):
    ended, _, err = run(capsys, *words)
    assert (ended, message in err) == (code, True), err


def test_samples_that_do_not_fit_are_refused(folder, capsys):
    run(capsys, "select", *DATA, "--model", "fsp-m", "--max-features", 1, "--quiet", "--json", "x.json")
    name = fs.load_selection("x.json").selected[0]
    pd.read_csv("p.csv").drop(columns=name).to_csv("less.csv", index=False)
    assert f"lacks columns ({name})" in run(capsys, "predict", "x.json", "less.csv")[2]
    assert 'no column "y"' in run(capsys, "predict", "x.json", "p.csv", "--target", "y")[2]
    assert "cannot be written" in run(capsys, "predict", "x.json", "p.csv", "--out", "no/y.csv")[2]


def test_the_time_limit_is_of_each_run(folder, capsys, monkeypatch):
    limits = []
    from solvers import clock

    of_run = clock.Clock.of_run.__func__
    monkeypatch.setattr(
        clock.Clock, "of_run", classmethod(lambda c, limit: limits.append(of_run(c, limit)) or limits[-1])
    )
    assert run(capsys, "path", *DATA, "--max-features", "1:3", "--time-limit", "20", "--quiet")[0] == 0
    starts = {one._start for one in limits if one.limit == 20}
    assert len(starts) >= 3


def test_ranges_are_words_of_paths_only():
    asked = parse(["path", "wdbc", "--max-features", "1:10:3", "-C", "0.5"])
    assert (asked.max_features, asked.C) == ([1, 4, 7, 10], 0.5)
    assert parse(["stability", "wdbc", "--max-features", "3"]).max_features == 3
