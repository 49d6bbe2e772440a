"""The script of Mao and Tsang's tables still runs, and its page takes what a run writes."""

import json

import pytest

from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.papers.mao import data as multivariate_data
from benchmarks.papers.mao import multivariate_tables as multivariate_page
from benchmarks.papers.mao import records as multivariate_records
from benchmarks.papers.mao import tasks as multivariate_tasks


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A generated text of 200 documents, and a log of its own."""
    tasks, source = multivariate_tasks, multivariate_data
    caches = (source.documents, source.parts_of, tasks.fold, tasks._chosen)
    for each in caches:
        each.cache_clear()
    monkeypatch.setattr(multivariate_data, "DOCUMENTS", 200)
    monkeypatch.setattr(multivariate_tasks, "PATH", multivariate_tasks.PATH[::8])
    log = Log(multivariate_tasks.NAME, tmp_path)
    monkeypatch.setattr(multivariate_tasks, "Log", lambda name: log)
    yield log
    for each in caches:
        each.cache_clear()


@pytest.mark.slow
def test_a_run_writes_what_the_page_needs_and_is_not_repeated(few, tmp_path):
    task = multivariate_tasks.task
    wanted = [
        task("c", "topics", "FSmulti", loss="f1"),
        task("fit", "topic 0", "FSmulti", loss="f1", B=250),
        task("path", "topic 0", "l1"),
    ]
    for each in wanted:
        assert each in list(multivariate_tasks.wanted(full=True))
    finish(few, wanted, multivariate_tasks.work)
    entries = few.entries()
    assert entries[1]["used"] == entries[0]["best"]
    _, found = multivariate_records.read(entries)
    assert [(p["method"], p["group"], p["B"]) for p in found["points"]] == [
        ("FSmulti", "topics", 250),
        ("l1", "topics", 250),
    ]
    ours, rival = found["points"]
    assert 0 < rival["features"] <= ours["features"]
    (contest,) = found["contests"]
    assert contest["difference"] == pytest.approx(ours["test"]["f1"] - rival["test"]["f1"], abs=1e-3)
    multivariate_page.page(few).write(few, folder=tmp_path)
    parts = json.loads((tmp_path / "multivariate_tables.json").read_text())["parts"]
    assert (parts["table 2"]["done"], parts["figure 7"]["done"]) == (1, 1)
    finish(few, wanted, multivariate_tasks.work)
    assert len(few.entries()) == len(wanted)


def test_theorem_1_bounds_the_iterations_of_the_log():
    _, records = multivariate_records.read(Log(multivariate_tasks.NAME).entries())
    bounds = records["bounds"]
    proven = [r for r in bounds if r["method"] == multivariate_tasks.ALL]
    assert len(bounds) == 2 * len(proven) == 24
    assert all(r["stop"] == "converged" and 0 < r["rounds"] <= r["bound"] for r in proven)


def test_mcnemar_counts_samples_that_one_of_two_labels_right():
    same = {"group": "text", "task": "acq", "B": 10, "loss": "hamming"}
    points = [same | {"method": "FSmulti"}, same | {"method": "RFE"}]
    wrong = {id(points[0]): "80", id(points[1]): "7f"}  # of eight samples, bits are those that are wrong
    (found,) = multivariate_records.tests_of_errors(points, wrong)
    assert (found["rival"], found["ours"], found["theirs"]) == ("RFE", 7, 1)
    assert found["p"] == pytest.approx(2 * 9 / 256)
