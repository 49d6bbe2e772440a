"""The script of Bradley, Mangasarian and Street's tables still runs, and its page takes what a run writes."""

import pytest

from benchmarks.comparisons import concave_optimum
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.papers.bradley import concave_tables
from benchmarks.papers.bradley import records as concave_records
from benchmarks.papers.bradley import tasks as concave_tasks

SHORT = {"paper": [0.0, 0.05], "below": [0.01]}


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setitem(concave_tasks.GRIDS, "paper", SHORT["paper"])
    monkeypatch.setitem(concave_tasks.GRIDS, "below", SHORT["below"])
    monkeypatch.setattr(concave_tasks, "FOLDS", 2)
    monkeypatch.setattr(concave_tasks, "INNER", 2)


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
    concave_tables.page(log).write(log, folder=tmp_path)
    page = (tmp_path / "concave_tables.md").read_text()
    assert "table 1 has 1 of 50" in page
    assert (tmp_path / "concave_tables.png").exists()
    finish(log, wanted, concave_tasks.work)
    assert len(log.entries()) == len(wanted)


def test_lambda_is_chosen_on_the_training_part(quick, monkeypatch):
    seen = []
    on_fold = concave_tasks.on_fold

    def noted(task, fold, start, penalties):
        seen.append((len(fold.train), len(fold.held_out), list(penalties)))
        return on_fold(task, fold, start, penalties)

    monkeypatch.setattr(concave_tasks, "on_fold", noted)
    which = {"data": "WPBC", "scaling": "standard", "method": concave_tasks.ONE["FSV"], "grid": "paper", "seed": 0}
    found = concave_tasks.nested(which)
    assert set(found["chosen"]) <= set(SHORT["paper"])
    for inner_1, inner_2, outer in (seen[:3], seen[3:]):
        assert inner_1[0] + inner_1[1] == inner_2[0] + inner_2[1] == outer[0]
        assert outer[2] in ([0.0], [0.05])
    records = concave_records.nested_folds([{"kind": "nested"} | which | found])
    assert [record["lambda"] for record in records] == found["chosen"]
    right, wrong = found["labels"][0][::2], found["labels"][0][1::2]
    assert records[0]["correct"] == pytest.approx(100 * sum(right) / sum(right + wrong))


def test_the_best_lambda_leaves_a_feature_in_every_fold_and_few_features_in_a_tie():
    def fold(right, features):
        return {"labels": [(k, 10 - k, 0, 0) for k in right], "features": features}

    folds = [fold([6, 7, 7, 9], [5, 4, 3, 0]), fold([6, 7, 7, 9], [5, 4, 3, 2])]
    assert concave_tasks.choice([0.0, 0.1, 0.2, 0.3], folds) == 0.2


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
