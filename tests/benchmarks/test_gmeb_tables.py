"""The tasks behind the GMEB page: each returns what the page needs, and what speeds them up changes no answer."""

import numpy as np
import pytest
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

import fsmodels as fs
from benchmarks.harness.log import Log
from benchmarks.harness.run import finish
from benchmarks.methods import gmeb as gmeb_methods
from benchmarks.papers.peleg_meir import gmeb_tables as gmeb_page
from benchmarks.papers.peleg_meir import tasks as gmeb_tasks
from fsmodels import synthetic


@pytest.fixture(scope="module")
def pair():
    """Return 24 training samples with 8 features whose classes overlap, and a test set."""
    return synthetic.peleg_meir(24, 8, 2, n_test=50, seed=1)


def test_a_task_returns_what_the_page_needs(tmp_path):
    spec = {"kind": "type 1", "set": 10, "scaling": "none, variance 20", "rep": 0, "protocol": gmeb_tasks.PROTOCOL}
    log = Log("gmeb_tables", tmp_path)
    finish(log, [spec | {"method": method} for method in ("SVM", "GMEB")], gmeb_tasks.work)
    gmeb_page.page(log).write(log, folder=tmp_path)
    lines = (tmp_path / "gmeb_tables.md").read_text().splitlines()
    row = next(line for line in lines if " as they are | 1 |" in " ".join(line.split()))
    svm, ours = log.entries()
    assert f"{100 * svm['error']:.1f} ± ? [?] ({svm['features']:.1f} [?]; {svm['relevant']:.1f})" in row
    assert f"{100 * (ours['error'] - svm['error']):+.1f} ± ?" in row


def test_no_task_is_there_twice():
    tasks = [tuple(task.get(name) for name in gmeb_tasks.KEY) for task in gmeb_tasks.tasks(full=True)]
    assert len(tasks) == len(set(tasks))
    small = {tuple(task.get(name) for name in gmeb_tasks.KEY) for task in gmeb_tasks.tasks(full=False)}
    assert small < set(tasks)


@pytest.mark.parametrize("method", gmeb_methods.METHODS)
def test_every_method_has_49_points(method):
    assert len(gmeb_methods.METHODS[method].points(30, tame=False)) == 49


def test_svms_at_all_points_are_those_of_each_alone(pair):
    W, _ = gmeb_methods.linear_svm(pair.train, points := gmeb_methods.svm_points(8, tame=False)[::12])
    for w, (C,) in zip(W, points, strict=True):
        alone = SVC(kernel="linear", C=C, tol=1e-8).fit(pair.train.X, pair.train.y)
        assert w == pytest.approx(alone.coef_[0], abs=1e-3)


def test_elimination_drops_what_scikit_learn_drops(pair):
    points = [(count, C) for count in (2, 5, 8) for C in (0.05, 1.0, 20.0)]
    W, _ = gmeb_methods.rfe(pair.train, points)
    for w, (count, C) in zip(W, points, strict=True):
        alone = RFE(SVC(kernel="linear", C=C, tol=1e-8), n_features_to_select=count).fit(pair.train.X, pair.train.y)
        assert np.flatnonzero(w).tolist() == np.flatnonzero(alone.support_).tolist()


def test_the_linear_program_over_c_is_the_model_at_each(pair):
    points = [(0.05,), (1.0,), (20.0,)]
    W, b = gmeb_methods.one_norm_svm(pair.train, points)
    for w, offset, (C,) in zip(W, b, points, strict=True):
        slacks = np.maximum(0.0, 1.0 - pair.train.y * (pair.train.X @ w + offset))
        known = fs.solve(fs.svm.one_norm_svm(pair.train, C=C), "highs").objective
        assert np.abs(w).sum() + C * slacks.sum() == pytest.approx(known, rel=1e-7)
