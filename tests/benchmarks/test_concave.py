"""The script of Bradley, Mangasarian and Street's tables still runs, and its page takes what a run writes."""

import pytest

from benchmarks.comparisons import concave_optimum
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.papers.bradley import page as concave_page
from benchmarks.papers.bradley import records as concave_records
from benchmarks.papers.bradley import tasks as concave_tasks

SHORT = {"paper": [0.0, 0.05], "below": [0.01]}


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setitem(concave_tasks.GRIDS, "paper", SHORT["paper"])
    monkeypatch.setitem(concave_tasks.GRIDS, "below", SHORT["below"])
    monkeypatch.setattr(concave_tasks, "FOLDS", 2)


def test_a_run_writes_what_the_page_needs_and_is_not_repeated(quick, tmp_path):
    wanted = [
        task
        for task in concave_tasks.tasks(full=False)
        if (task["data"], task["scaling"], task["method"]) == ("WPBC", "standard", concave_tasks.ONE["FSB"])
    ]
    assert [(task["kind"], task["grid"]) for task in wanted] == [
        ("typical", None),
        ("division", "paper"),
        ("division", "below"),
    ]
    log = Log("concave", tmp_path)
    finish(log, wanted, concave_tasks.work)
    known, again = concave_records.read(log.entries())
    assert len(known) == len(wanted)
    assert again == []
    (best,) = concave_records.reductions([e for e in known if e["kind"] == "division"], ("paper", "below"))
    assert best["features"] >= 0 <= best["error"]
    concave_page.page(log).write(log, folder=tmp_path)
    page = (tmp_path / "concave_tables.md").read_text()
    assert "table 1 has 1 of 50" in page
    assert (tmp_path / "concave_tables.png").exists()
    finish(log, wanted, concave_tasks.work)
    assert len(log.entries()) == len(wanted)


def test_the_lambda_of_the_other_divisions_does_not_see_its_own(monkeypatch):
    monkeypatch.setitem(concave_tasks.GRIDS, "paper", SHORT["paper"])

    def division(seed, correct):
        told = {"data": "WPBC", "scaling": "none", "method": "OBD", "grid": "paper", "seed": seed, "correct": correct}
        return told | {"balanced": correct, "features": [38.0, 4.0], "empty": [0, 0], "random": [10, 0]}

    found = concave_records.reductions([division(0, [0.5, 0.75]), division(1, [0.75, 0.5])], ("paper",))
    assert [record["error"] for record in found] == [50.0, 0.0]
    assert [record["elsewhere"] for record in found] == [0.0, -100.0]
    assert [record["random_gone"] for record in found] == [0.05, 0.05]


def test_the_page_of_optima_takes_what_a_task_returns(monkeypatch, tmp_path):
    for name, value in (("FEATURES", 4), ("SAMPLES", 20), ("STARTS", 1), ("PENALTIES", (0.1,))):
        monkeypatch.setattr(concave_optimum, name, value)
    log = Log(concave_optimum.NAME, tmp_path)
    finish(log, concave_optimum.tasks(full=False)[:1], concave_optimum.work)
    found = concave_optimum.shares(log.entries())
    assert {record["reached"] for record in found} <= {0.0, 1.0}
    assert all((record["excess"] < 1e-6) == bool(record["reached"]) for record in found)
    concave_optimum.page(log).write(log, folder=tmp_path)
    assert "in 1 of 1 cases" in (tmp_path / "concave_optimum.md").read_text()
