"""Every method of the comparison returns what its pages need, on data small enough to see."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import fsmodels as fs
from benchmarks.comparisons.all_methods import page, page_at_k, page_of_rules, tasks
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.methods import catalogue as fits
from benchmarks.methods import heuristics
from fsmodels.selection.catalogue import MODELS


@pytest.fixture
def tiny(monkeypatch):
    """Thirty samples of four features, of which two matter, in place of all sets."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + X[:, 1] + 0.3 * random.normal(size=30) > 0, 1, -1))
    monkeypatch.setattr(tasks, "sets", lambda: ["tiny"])
    monkeypatch.setattr(tasks, "wide", lambda: ["tiny"])
    monkeypatch.setattr(tasks, "loaded", lambda name: (data, None, None))
    monkeypatch.setattr(tasks, "KS", range(1, 3))
    monkeypatch.setattr(tasks, "warm", lambda: None)
    for name, method in fits.METHODS.items():  # two points each
        monkeypatch.setitem(fits.METHODS, name, replace(method, points=lambda n, d, all=method.points: all(n, d)[-2:]))
    for model, spec in MODELS.items():
        if spec.tuning_grid is not None:
            names, values = spec.tuning_grid
            few = names, lambda data, C, all=values: all(data, C)[::12]
            monkeypatch.setitem(MODELS, model, replace(spec, tuning_grid=few))
    tasks.parts.cache_clear()
    yield data
    tasks.parts.cache_clear()


def test_every_method_answers_and_the_pages_follow(tiny, tmp_path, monkeypatch):
    log = Log("all_methods", tmp_path)
    monkeypatch.setattr(tasks, "Log", lambda name: log)
    finish(log, tasks.tasks(full=False), tasks.work)
    known = {(entry["part"], entry["method"]): entry for entry in log.entries()}
    compared = [entry for key, entry in known.items() if key[0] == "methods"]
    assert [entry["method"] for entry in compared] == list(fits.METHODS)
    for entry in compared:
        assert entry["answer"], (entry["method"], entry["reason"])
        assert not entry["failed_trials"], (entry["method"], entry["reason"])
        assert 0 <= entry["error"] <= 1
        assert entry["features"] == len(entry["selected"])
    assert next(e for e in compared if e["method"] == "SVM")["error"] <= 0.3
    for entry in (entry for key, entry in known.items() if key[0] == "rules"):
        assert entry["honoured"] or entry["refused"], (entry["method"], entry["reason"])
    for entry in (entry for key, entry in known.items() if key[0] == "k"):
        assert not entry["reason"], entry["method"]
        assert all(point["features"] <= point["k"] for point in entry["curve"])
    for each in (page, page_at_k, page_of_rules):
        each.page(log).write(log, folder=tmp_path)
    for name in ("all_methods", "all_methods_k", "all_methods_rules"):
        assert len((tmp_path / f"{name}.md").read_text().splitlines()) <= 150
    finish(log, tasks.tasks(full=False), tasks.work)  # nothing is computed twice
    assert len(log.entries()) == len(known)


def test_what_does_not_end_is_interrupted():
    with pytest.raises(fits.NoAnswer, match=r"nothing within 0\.1 CPU s"), fits.within(0.1):
        sum(1 for _ in itertools.count())


def test_forward_selection_says_that_its_limit_came(tiny):
    train = tiny.scaled("standard")
    assert fits.forward(train, 4, 0.0) == ((), True)
    names, cut = fits.forward(train, 2, 60.0)
    assert (set(names), cut) == ({"x1", "x2"}, False)


def test_stability_selection_ranks_the_relevant_features_first(tiny):
    train = tiny.scaled("standard")
    assert set(heuristics.stability_selection(train.X, train.y, 2)[:2]) == {0, 1}


def test_the_steps_of_fasterrisk_are_its_selections_of_each_size(tiny):
    search = pytest.importorskip("fasterrisk.sparseBeamSearch")
    train, found = tiny.scaled("standard"), []
    heuristics.fasterrisk(train.X, train.y, 3, found)
    assert set(found[1]) == {0, 1}
    for k, used in enumerate(found, 1):
        alone = search.sparseLogRegModel(train.X, train.y)
        alone.get_sparse_sol_via_OMP(k)
        assert np.flatnonzero(alone.betas).tolist() == used.tolist()


def test_okridge_proves_the_enumerated_optimum(tiny):
    pytest.importorskip("okridge")
    train = tiny.scaled("standard")

    def loss(used):
        A = train.X[:, used]
        w = np.linalg.solve(A.T @ A + np.eye(len(used)), A.T @ train.y)
        return np.sum((train.y - A @ w) ** 2) + w @ w

    used, proven = heuristics.okridge(train.X, train.y, 2, 60.0)
    assert proven
    assert used.tolist() == min(map(list, itertools.combinations(range(4), 2)), key=loss)
    wide = np.hstack([train.X, train.X, train.X])  # several eigenvalues are zero: no bound
    used, proven = heuristics.okridge(wide, train.y, 2, 60.0)
    assert len(used) == 2
    assert not proven
