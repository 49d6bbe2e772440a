"""A task of the kernel tables has what the page asks for, and test data choose nothing."""

import json

import pytest

from benchmarks.harness import log
from benchmarks.papers.tayal import choice as kernel_choice
from benchmarks.papers.tayal import rankings_page as kernel_rankings_page
from benchmarks.papers.tayal import records as kernel_records
from benchmarks.papers.tayal.plan import KEYS, grid_tasks, tasks_of
from benchmarks.papers.tayal.tasks import (
    ALPHA,
    EFS,
    FULL,
    NDCC,
    QUASI,
    SPLITS,
    SVM,
    SVM_TRUE,
    TRUST,
    protocol,
    rows,
    work,
)


def spec(**more):
    task = {"part": "grid", "data": NDCC, "split": 0, "method": EFS, "way": TRUST, "folds": 0} | more
    return {"protocol": protocol(task["method"], task["way"])} | task


@pytest.mark.parametrize("more", [{}, {"method": FULL, "way": QUASI}, {"method": SVM, "way": ""}])
def test_a_row_has_what_the_page_asks_for(more):
    task = spec(C=-5, mus=[8, 4], **more)
    entry = json.loads(json.dumps(task | work(**task)))
    assert [point["mu"] for point in entry["points"]] == [8, 4]
    for point in entry["points"]:
        assert 0 <= point["held"] <= entry["held_out"] == 200
        assert 0 <= point["test"] <= entry["tested"] == 1000
        assert (point["fits"], sum(point["reasons"].values())) == (1, 1)
        assert {"features", "cpu", "slowest"} <= set(point)
        if task["method"] != SVM:
            assert point["right"] + point["wrong"] == point["features"] == len(point["order"])
            assert point["omega"] > 0
    (record,) = kernel_records.of([entry])["ends"]
    assert record["fits"] == 2


def test_a_row_by_folds_counts_every_held_out_sample_once():
    task = spec(data="Sonar", folds=3, C=-5, mus=[8], method=FULL, way=QUASI)
    entry = work(**task)
    assert (entry["held_out"], entry["tested"]) == (139, 69)
    assert entry["points"][0]["fits"] == 4


def test_the_table_over_alpha_has_the_svm_of_table_one():
    records = kernel_records.of(log.Log("kernel_tables").entries())
    first = {(r["split"], r["method"]): r["error"] for r in records["alphas"] if r["alpha"] == ALPHA}
    second = {
        (r["split"], r["method"]): r["error"]
        for r in records["chosen"]
        if r["data"] == NDCC and r["grid"] == "paper" and r["method"] in (SVM, SVM_TRUE)
    }
    assert first == second
    assert len(first) == 2 * SPLITS
    task = {"part": "alpha", "data": NDCC, "grid": "coarse", "alpha": 0.5, "split": 0}
    every, relevant = (work(**task, method=method)["error"] for method in (SVM, SVM_TRUE))
    assert 0 <= relevant < every < 0.5


def test_a_ranking_is_tested_at_each_number_of_features():
    task = {"protocol": 1, "part": "ranking", "data": NDCC, "split": 0, "grid": "coarse", "folds": 0}
    entry = work(**task, method=FULL, order=[3, 1, 2])
    assert [k for k, _ in entry["curve"]] == [1, 2, 3]


def made(points):
    """Log entries of a coarse grid in which points (C, mu) -> (held, test) differ from (50, 0)."""
    entries = []
    for c, mus in rows(FULL)[0]:
        found = [dict(zip(("held", "test"), points.get((c, mu), (50, 0)), strict=True), mu=mu) for mu in mus]
        entries.append(spec(method=FULL, C=c, mus=list(mus)) | {"held_out": 200, "tested": 1000, "points": found})
    return entries


def test_the_least_held_out_error_chooses_then_the_least_c_then_the_largest_mu():
    entries = made({(1, -4): (40, 900), (1, 0): (40, 800), (3, 8): (40, 100), (5, 0): (41, 1)})
    found = kernel_choice.by_run(entries)
    assert kernel_choice.choose(found, NDCC, 0, FULL, TRUST, 0, "coarse")["test"] == 800
    assert kernel_choice.choose(found, NDCC, 0, FULL, TRUST, 0, "paper") is None  # whose other rows are not there
    missing = kernel_choice.by_run(entries[:-1])
    assert kernel_choice.choose(missing, NDCC, 0, FULL, TRUST, 0, "coarse") is None


def test_the_whole_grids_are_the_papers_and_tasks_are_told_from_each_other():
    for method, extra in ((FULL, 0), (EFS, 2 * 11)):
        coarse, rest = rows(method)
        points = [(c, mu) for c, mus in coarse + rest for mu in mus]
        assert len(points) == len(set(points)) == 21 * 11 + extra
    tasks = [json.dumps([t.get(k) for k in KEYS]) for part in ("ndcc", "uci") for t in tasks_of(part, True)]
    assert len(tasks) == len(set(tasks))
    assert grid_tasks(NDCC, 0, [(FULL, TRUST)], 0, False) == grid_tasks(NDCC, 0, [(FULL, TRUST)], 0, True)[:11]


def ranking(data, split, grid, method, errors):
    task = {"protocol": 1, "part": "ranking", "data": data, "split": split, "grid": grid, "folds": 0}
    return task | {
        "method": method,
        "order": None,
        "cpu_seconds": 1.0,
        "curve": [[k, e] for k, e in errors.items()],
        "ranked": max(errors),
    }


def test_figure_five_is_done_with_the_papers_one_set_and_said_in_pairs(tmp_path):
    """A curve of another set on the paper's grid counts apart; a set that AO-EFS does not have is in no difference."""
    book = log.Log("kernel_tables", tmp_path / "logs")
    methods = {EFS: 0.1, FULL: 0.2, "GMKL": 0.3, "Kernel RFE": 0.4, "Mutual information": 0.45, "Relief": 0.45}
    for split in range(5):
        for method, error in methods.items():
            if not (method == EFS and split == 4):
                mine = error + split * error / 10
                book.add(ranking(NDCC, split, "coarse", method, {15: mine + 0.01, 20: mine, 120: 0.5}))
    book.add(ranking(NDCC, 0, "paper", EFS, {1: 0.5, 120: 0.5}))
    book.add(ranking(NDCC, 1, "paper", EFS, {1: 0.5, 120: 0.5}))
    book.add(ranking("Sonar", 0, "coarse", EFS, {1: 0.3, 60: 0.2}))
    kernel_rankings_page.page(book).write(book, folder=tmp_path)
    told = json.loads((tmp_path / "kernel_rankings.json").read_text())
    done = [(part["done"], part["of"]) for part in told["parts"].values()]
    assert done == [(30, 36), (1, 24), (0, 30), (0, 30), (0, 90), (1, 90), (0, 126), (0, 126)]
    first, second = told["answer"], (tmp_path / "kernel_rankings.md").read_text().split("In numbers: ")[1]
    assert "with 15 features, the ranking by AO-EFS gives fewer errors than FULL-FS, GMKL and Kernel RFE." in first
    assert "is 12.5 ± 0.6 (4), and the differences in points are -11.5 ± 0.6 (4) to FULL-FS, -23.0 ± 1.3 (4)" in second
    assert "is 11.5 ± 0.6 (4), and the differences in points are -11.5 ± 0.6 (4) to FULL-FS, -23.0 ± 1.3 (4)" in second
    assert "significant for FULL-FS and GMKL and Kernel RFE" in second
    assert (tmp_path / "kernel_rankings.png").exists()


def test_a_page_without_curves_is_a_page(tmp_path):
    kernel_rankings_page.page(log.Log("kernel_tables", tmp_path / "logs")).write(folder=tmp_path)
    assert "figure 5 has 0 of 36" in (tmp_path / "kernel_rankings.md").read_text()
