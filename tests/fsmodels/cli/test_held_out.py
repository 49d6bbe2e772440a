"""Held-out errors by the command line: folds beside a selection, a part taken away before it, models compared."""

import json

import joblib
import numpy as np
import pytest

import fsmodels as fs
from fsmodels.cli import main
from solvers import progress

RFE = ["select", "wdbc", "--model", "rfe", "--max-features", "3"]


def test_folds_stand_beside_the_selection_on_all_data(capsys, tmp_path):
    file = tmp_path / "r.json"
    assert main([*RFE, "--cv", "4", "--seed", "2", "--json", str(file)]) == 0
    told, out = json.loads(file.read_text()), capsys.readouterr().out
    data = fs.load_dataset("wdbc")
    assert told["selected"] == list(fs.select(data, "rfe", max_features=3).selected)
    found = fs.cross_validate(data, "rfe", max_features=3, cv=4, seed=2)
    assert told["held_out"]["error"] == found.error
    assert [row["selected"] for row in told["held_out"]["runs"]] == found.runs["selected"].to_list()
    assert found.sentence in out
    assert "balanced error" in out


def test_a_part_is_taken_away_before_the_selection(capsys, tmp_path):
    file = tmp_path / "r.json"
    assert main([*RFE, "--test", "0.25", "--seed", "3", "--json", str(file)]) == 0
    told, out = json.loads(file.read_text()), capsys.readouterr().out
    train, _, test = fs.load_dataset("wdbc").split(0.75, 0.0, 0.25, seed=3)
    found = fs.select(train, "rfe", max_features=3)
    assert told["selected"] == list(found.selected)
    assert told["weights"] == pytest.approx({name: found.weights[name] for name in found.selected})
    assert told["data"]["samples"] == len(train)
    held_out = told["held_out"]
    error = found.error(test)
    assert (held_out["error"], held_out["n_held_out"], held_out["n_train"]) == (error, len(test), len(train))
    assert held_out["standard_error"] == pytest.approx(np.sqrt(error * (1 - error) / len(test)))
    assert f"{round(error * len(test))} of {len(test)} samples that had no part in the selection" in out


@pytest.mark.parametrize("way", [["--cv", "3"], ["--test", "0.3"]])
def test_quiet_adds_a_line(capsys, way):
    assert main([*RFE, *way, "--quiet"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "eld-out error" in second
    assert "eld-out" not in first


def test_a_second_run_reads_the_folds_from_the_memory(capsys, tmp_path):
    words = [*RFE, "--cv", "3", "--memory", str(tmp_path / "folds"), "--quiet"]
    assert main(words) == 0
    assert "were read" not in capsys.readouterr().out
    assert main(words) == 0
    assert "3 of 3 runs were read from folds." in capsys.readouterr().out


def test_repeats_and_workers(capsys):
    assert main([*RFE, "--cv", "3", "--repeats", "2", "--n-jobs", "2", "--quiet"]) == 0
    assert "6 folds of 2 repeats" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cv", "3", "--test", "0.2"], "give one of them"),
        (["--n-jobs", "2"], "--n-jobs is for the folds of --cv"),
        (["--repeats", "2"], "--repeats is for the folds of --cv"),
        (["--test", "0.2", "--memory", "x"], "--memory is for the folds of --cv"),
        (["--test", "1.5"], "test=1.5 is not allowed"),
        (["--cv", "1"], "cv=1 is not allowed"),
        (["--cv", "3", "--checkpoint", "x"], "the option was removed. Use --memory DIR"),
        (["--cv", "3", "--bags", "bag_id"], "--bags derives features also from held-out bags"),
        (["--test", "0.2", "--certificate", "c.json"], "checked with all samples"),
    ],
)
def test_words_that_do_not_go_together_are_refused_before_the_selection(capsys, words, message, monkeypatch):
    monkeypatch.setattr("fsmodels.cli.select.select", None)
    words = [*RFE, *words]
    if "--certificate" in words:
        words[words.index("rfe")] = "fsp-m"
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_file_cannot_be_the_memory(capsys, tmp_path):
    data = tmp_path / "d.csv"
    text = fs.load_dataset("bupa").to_frame().to_csv(index=False)
    data.write_text(text)
    words = ["select", str(data), "--model", "rfe", "--max-features", "1", "--cv", "3", "--memory", str(data)]
    assert main(words) == 2
    assert f'memory="{data}" is not a folder' in capsys.readouterr().err
    assert data.read_text() == text


def test_no_held_out_error_leaves_the_selection(capsys, monkeypatch):
    def stopped(*args, **words):
        raise KeyboardInterrupt

    monkeypatch.setattr("fsmodels.cli.select.over_folds", stopped)
    assert main([*RFE, "--cv", "3"]) == 0
    out, err = capsys.readouterr()
    assert "3 of 30 features" in out
    assert "there is no held-out error" in err


COMPARE = ["compare", "bupa", "--models", "rfe,relief,svm", "--cv", "3"]


def test_models_are_compared_on_the_same_folds(capsys, tmp_path):
    file, picture = tmp_path / "c.json", tmp_path / "NAME.png"
    words = ["--max-features", "2", "--seed", "4", "--json", str(file), "--picture", str(picture), "--n-jobs", "2"]
    assert main([*COMPARE, *words]) == 0
    told, out = json.loads(file.read_text()), capsys.readouterr().out
    found = fs.compare(fs.load_dataset("bupa"), ["rfe", "relief", "svm"], max_features=2, cv=3, seed=4)
    assert [row["model"] for row in told["models"]] == found.table().index.to_list()
    assert [row["error"] for row in told["models"]] == found.table()["error"].to_list()
    assert told["settings"] == found.settings
    assert found.sentence in out
    assert "rfe: C=1.0, max_features=2" in out
    assert picture.stat().st_size > 1000


def test_a_second_comparison_reads_the_folds_from_the_memory(capsys, tmp_path):
    words = [*COMPARE, "--memory", str(tmp_path / "folds"), "--quiet"]
    assert main(words) == 0
    assert main(words) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert second == f"{first} 9 of 9 runs were read from folds."


def test_a_budget_above_the_features_of_small_data_is_theirs(capsys, tmp_path):
    file = tmp_path / "small.csv"
    small = fs.load_dataset("bupa").select_features(["sgpt", "sgot", "drinks"])
    file.write_text(small.to_frame().to_csv(index=False))
    assert main(["compare", str(file), "--models", "rfe,relief", "--cv", "3"]) == 0
    assert "rfe: C=1.0, max_features=3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--models", "rfe"], 2, "at least two models"),
        (["--models", "rfe,fspm"], 2, "Did you mean"),
        (["--max-features", "9"], 2, "max_features=9"),
        (["--penalty", "2"], 2, "No such option"),
        (["--picture", "c.txt"], 2, "cannot be drawn"),
        (["--bags", "b"], 2, "leave it out"),
        (["--max-features", "1", "--at-least", "2:sgpt:sgot", "--models", "rfe,relief"], 3, "none has a solution"),
    ],
)
def test_comparisons_that_cannot_be_made_say_why(capsys, words, code, message):
    assert main([*COMPARE, *words]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("words", "seconds"), [([], 5000), (["--n-jobs", "2"], 3000), (["--n-jobs", "-1"], None)])
def test_the_time_left_is_that_of_the_selection_and_its_folds(capsys, monkeypatch, words, seconds):
    seen = []

    def asked(*args, **options):
        seen.append(progress._scene.frames[0].left())
        return fs.select(*args, **options)

    monkeypatch.setattr("fsmodels.cli.select.select", asked)
    command = ["select", "bupa", "--max-features", "1", "--cv", "4", "--time-limit", "1000", *words]
    assert main(command) == 0
    workers = min(4, joblib.cpu_count())
    most = seconds or 1000 + 1000 * -(-4 // workers)
    assert most - 900 < seen[0] <= most
