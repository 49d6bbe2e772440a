"""A file of finished runs: nothing is computed twice after a kill, and nothing of another question is mixed in."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.evaluation import checkpoint, fold_run
from fsmodels.evaluation.checkpoint import fingerprint


def plain(found):
    return found.runs.drop(columns="seconds")


def test_a_second_run_takes_all_from_the_file(data, tmp_path, counted):
    file = tmp_path / "runs.jsonl"
    first = fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == 4
    again = fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == 4
    pd.testing.assert_frame_equal(again.runs, first.runs)  # seconds too
    assert plain(fs.cross_validate(data, "rfe", max_features=2, cv=4)).equals(plain(first))
    assert "4 of 4 runs were taken from runs.jsonl." in again.sentence
    assert "runs.jsonl" not in first.sentence


KILLED = """
import sys, time
import fsmodels as fs
from fsmodels.evaluation import fold_run

real = fold_run.FoldRun.found

def found(one):
    found = real(one)
    with open(sys.argv[2], "a") as log:
        print(one.part.learn.name, file=log, flush=True)
    return found

fold_run.FoldRun.found = found
run = fold_run.FoldRun.run

def slow(one):
    row = run(one)
    time.sleep(float(sys.argv[3]))  # the one is made and not yet written
    return row

fold_run.FoldRun.run = slow
fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5, checkpoint=sys.argv[1])
"""


def test_after_a_kill_what_was_written_is_not_computed_again(tmp_path):
    file, log = tmp_path / "runs.jsonl", tmp_path / "log"
    words = [sys.executable, "-c", KILLED, str(file), str(log)]
    run = subprocess.Popen([*words, "0.5"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 600
    while (not file.exists() or file.read_bytes().count(b"\n") < 3) and time.monotonic() < deadline:
        assert run.poll() is None, run.stderr.read().decode()
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    written = file.read_bytes().count(b"\n") - 1
    assert 2 <= written < 5
    before = log.read_text().split()
    subprocess.run([*words, "0"], check=True, timeout=600)
    after = log.read_text().split()[len(before) :]
    assert after == [f"bupa/{k}" for k in range(written + 1, 6)]
    whole = fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5)
    resumed = fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5, checkpoint=file)
    assert plain(resumed).equals(plain(whole))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_ctrl_c_left_is_made_later(data, tmp_path, monkeypatch, n_jobs):
    file, real, met = tmp_path / "runs.jsonl", fold_run.FoldRun.found, []
    whole = fs.cross_validate(data, max_features=2, cv=4)

    def found(one):
        if len(met) == 2:
            raise KeyboardInterrupt
        met.append(one)
        return real(one)

    with monkeypatch.context() as patch:
        patch.setattr(fold_run.FoldRun, "found", found)
        cut = fs.cross_validate(data, max_features=2, cv=4, checkpoint=file)
    assert len(cut.runs) == 2
    resumed = fs.cross_validate(data, max_features=2, cv=4, checkpoint=file, n_jobs=n_jobs)
    assert "2 of 4 runs were taken" in resumed.sentence
    assert plain(resumed).equals(plain(whole))


def other(data, what):
    """The same question about other data, or another one."""
    words = {"model": "rfe", "max_features": 2, "cv": 4}
    X, y = data.X.copy(), data.y.copy()
    if what == "cell":
        X[3, 0] += 1e-9
    elif what == "label":
        y[3] = -y[3]
    elif what == "name":
        return fs.Dataset.from_arrays(X, y, features=["a", "b", "c", "d", "z"]), words
    elif what == "aside":
        return data.with_aside(half=np.arange(60) % 2), words
    elif what == "scaling":
        return data.scaled("minmax"), words
    else:
        words |= {"C": {"C": 2.0}, "seed": {"seed": 1}, "cv": {"cv": 3}}.get(what, {"model": what})
    return fs.Dataset.from_arrays(X, y, features=list(data.features)), words


@pytest.mark.parametrize(
    "what", ["cell", "label", "name", "aside", "scaling", "C", "seed", "cv", "relief", "information-gain"]
)
def test_runs_of_something_else_are_not_used_and_that_is_said(data, tmp_path, counted, what):
    file = tmp_path / "runs.jsonl"
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    mine, words = other(data, what)
    found = fs.cross_validate(mine, **words, checkpoint=file)
    assert len(counted) == 4 + words["cv"]
    cv = words["cv"]
    said = f"0 of {cv} runs were taken from runs.jsonl. 4 others there are of other data, words or versions, and not"
    assert said in found.sentence
    assert plain(found).equals(plain(fs.cross_validate(mine, **words)))
    again = fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert "4 of 4 runs were taken" in again.sentence


def test_all_that_data_carry_is_known_again(tmp_path, counted):
    rng, file = np.random.default_rng(1), tmp_path / "runs.jsonl"
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"]).assign(target=np.arange(40) % 2)
    frame.loc[[3, 9], "a"] = np.nan
    kinds = []
    for impute in ("mean", "median"):
        data = fs.Dataset.from_frame(frame, impute=impute)
        kinds += [data, data.with_interactions("a", "b"), data.weighted(class_weight={1: 2.0})]
    for _ in range(2):
        for data in kinds:
            fs.cross_validate(data, "svm", cv=3, checkpoint=file)
        assert len(counted) == 3 * len(kinds)


def test_runs_of_another_version_are_not_used(data, tmp_path, counted, monkeypatch):
    file = tmp_path / "runs.jsonl"
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    monkeypatch.setattr(checkpoint, "__version__", "9.9.9")
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == 8


@pytest.mark.parametrize("cut", [1, 40])
def test_a_line_that_a_kill_cut_off_is_none(data, tmp_path, counted, cut):
    file = tmp_path / "runs.jsonl"
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    file.write_bytes(file.read_bytes()[:-cut])
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == (4 if cut == 1 else 5)  # without the last byte the line is whole
    fs.cross_validate(data, "rfe", max_features=3, cv=4, checkpoint=file)
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == (8 if cut == 1 else 9)


def test_a_file_cut_within_its_first_line_is_begun_anew(data, tmp_path, counted):
    file = tmp_path / "runs.jsonl"
    file.write_bytes(checkpoint.HEADER[:7])
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    fs.cross_validate(data, "rfe", max_features=2, cv=4, checkpoint=file)
    assert len(counted) == 4
    assert [set(json.loads(line)) for line in file.read_text().splitlines()][1:] == [{"run", "row"}] * 4


@pytest.mark.parametrize("text", ["age,dose\n1,2\n", '{"model": "rfe"}\n'])
def test_a_file_of_something_else_is_left_as_it_is(data, tmp_path, text):
    file = tmp_path / "patients.csv"
    file.write_text(text)
    with pytest.raises(fs.ParameterError, match="is a file of something else and is left as it is"):
        fs.cross_validate(data, "rfe", max_features=2, checkpoint=file)
    assert file.read_text() == text


def test_what_cannot_be_written_is_refused_before_the_runs(data, tmp_path, counted):
    for path in (tmp_path / "no" / "runs.jsonl", tmp_path):
        with pytest.raises(fs.ParameterError, match="cannot be written"):
            fs.cross_validate(data, "rfe", max_features=2, checkpoint=path)
    with pytest.raises(fs.ParameterError, match="checkpoint got int"):
        fs.cross_validate(data, "rfe", max_features=2, checkpoint=3)
    assert not counted


def test_words_that_a_later_run_cannot_recognise_are_refused(data, tmp_path):
    with pytest.raises(fs.ParameterError, match="solver is of type object, which a later run cannot recognise"):
        fs.cross_validate(data, max_features=2, solver=object(), checkpoint=tmp_path / "runs.jsonl")


def test_a_hash_knows_values_and_not_how_they_are_held():
    assert fingerprint({"a": 1, "b": [2.0]}) == fingerprint({"b": (2,), "a": 1.0})
    assert fingerprint(np.float64(2)) == fingerprint(2)
    different = [None, "1", 1, True, [1], [[1]], {"1": 1}, [1, 1], 1.5, np.array([1.0]), np.array([[1.0]]), b"1", {2}]
    assert len({fingerprint(value) for value in different}) == len(different)
