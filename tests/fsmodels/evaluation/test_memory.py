"""A ``joblib.Memory`` of finished runs: no run is computed twice, and no run of another question is used."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.evaluation import folds


def plain(found):
    return found.runs.drop(columns="seconds")


def kept(folder):
    """How many runs a memory keeps."""
    return len(list(folder.rglob("output.pkl")))


@pytest.mark.parametrize("make", [str, lambda path: path, lambda path: joblib.Memory(path, verbose=0)])
def test_a_second_call_reads_all_runs_from_the_memory(data, tmp_path, counted, make):
    memory = make(tmp_path / "folds")
    first = fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=memory)
    assert len(counted) == 4
    again = fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=memory)
    assert len(counted) == 4
    pd.testing.assert_frame_equal(again.runs, first.runs)  # seconds too
    assert plain(fs.cross_validate(data, "rfe", max_features=2, cv=4)).equals(plain(first))
    assert "4 of 4 runs were read from folds." in again.sentence
    assert "folds." not in first.sentence


KILLED = """
import sys, time
import fsmodels as fs
from fsmodels.evaluation import folds

run = folds.FoldRun.run

def slow(one):
    row = run(one)
    with open(sys.argv[2], "a") as log:
        print(one.part.learn.name, file=log, flush=True)
    time.sleep(float(sys.argv[3]))  # this run is finished and not yet kept
    return row

folds.FoldRun.run = slow
fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5, memory=sys.argv[1])
"""


def test_after_a_kill_finished_folds_are_not_computed_again(tmp_path):
    folder, log = tmp_path / "folds", tmp_path / "log"
    words = [sys.executable, "-c", KILLED, str(folder), str(log)]
    run = subprocess.Popen([*words, "0.5"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 600
    while kept(folder) < 2 and time.monotonic() < deadline:
        assert run.poll() is None, run.stderr.read().decode()
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    written = kept(folder)
    assert 2 <= written < 5
    before = log.read_text().split()
    subprocess.run([*words, "0"], check=True, timeout=600)
    after = log.read_text().split()[len(before) :]
    assert after == [f"bupa/{k}" for k in range(written + 1, 6)]
    whole = fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5)
    resumed = fs.cross_validate(fs.load_dataset("bupa"), "rfe", max_features=2, cv=5, memory=folder)
    assert plain(resumed).equals(plain(whole))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_after_ctrl_c_the_missing_folds_are_computed(data, tmp_path, stopped_after, n_jobs):
    folder = tmp_path / "folds"
    whole = fs.cross_validate(data, max_features=2, cv=4)
    with stopped_after(2):
        cut = fs.cross_validate(data, max_features=2, cv=4, memory=folder)
    assert len(cut.runs) == 2
    resumed = fs.cross_validate(data, max_features=2, cv=4, memory=folder, n_jobs=n_jobs)
    assert "2 of 4 runs were read" in resumed.sentence
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
def test_runs_of_another_question_are_not_used(data, tmp_path, counted, what):
    folder = tmp_path / "folds"
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=folder)
    mine, words = other(data, what)
    found = fs.cross_validate(mine, **words, memory=folder)
    assert len(counted) == 4 + words["cv"]
    assert "were read" not in found.sentence
    assert plain(found).equals(plain(fs.cross_validate(mine, **words)))
    again = fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=folder)
    assert "4 of 4 runs were read" in again.sentence


def test_data_of_every_kind_have_a_key_that_lasts(tmp_path, counted):
    rng, folder = np.random.default_rng(1), tmp_path / "folds"
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"]).assign(target=np.arange(40) % 2)
    frame.loc[[3, 9], "a"] = np.nan
    kinds = []
    for impute in ("mean", "median"):
        data = fs.Dataset.from_frame(frame, impute=impute)
        kinds += [data, data.with_interactions("a", "b"), data.weighted(class_weight={1: 2.0})]
    for _ in range(2):
        for data in kinds:
            fs.cross_validate(data, "svm", cv=3, memory=folder)
        assert len(counted) == 3 * len(kinds)


def test_runs_of_another_version_are_not_used(data, tmp_path, counted, monkeypatch):
    folder = tmp_path / "folds"
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=folder)
    monkeypatch.setattr(folds, "__version__", "9.9.9")
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=folder)
    assert len(counted) == 8


def test_the_name_of_the_data_does_not_count(data, tmp_path, counted):
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=tmp_path)
    fs.cross_validate(dataclasses.replace(data, name="other"), "rfe", max_features=2, cv=4, memory=tmp_path)
    assert len(counted) == 4


def test_a_file_that_cannot_be_read_is_computed_again(data, tmp_path, counted):
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=tmp_path)
    next(tmp_path.rglob("output.pkl")).write_bytes(b"")
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=tmp_path)
    assert len(counted) == 5
    fs.cross_validate(data, "rfe", max_features=2, cv=4, memory=tmp_path)
    assert len(counted) == 5


def test_a_memory_that_cannot_be_used_is_an_error_before_the_runs(data, tmp_path, counted):
    file = tmp_path / "patients.csv"
    file.write_text("age,dose\n1,2\n")
    with pytest.raises(fs.ParameterError, match=r"patients.csv\" is not a folder that can be written"):
        fs.cross_validate(data, "rfe", max_features=2, memory=file)
    assert file.read_text() == "age,dose\n1,2\n"
    with pytest.raises(fs.ParameterError, match=r"memory got int: give a folder or a joblib\.Memory"):
        fs.cross_validate(data, "rfe", max_features=2, memory=3)
    with pytest.raises(fs.ParameterError, match="memory cannot hash these parameters"):
        fs.cross_validate(data, max_features=2, solver=lambda: None, memory=tmp_path)
    assert not counted
