"""Two threads at the same time: clones of one model, and questions to one session."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fsmodels as fs
from solvers import Memory, OptionError
from solvers.facts.base import facts_of

BUILDERS = {
    "fsp-m": lambda data: fs.fsp.fsp_m(data, max_features=3, C=2.0),
    "fs": lambda data: fs.concave.fs(data, penalty=0.05),
    "fsmulti": lambda data: fs.multivariate.fsmulti(data, budget=2, C=10.0, form="lazy", sigma=True),
}


@pytest.fixture
def restless():
    """Let threads take turns a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 7))
    y = np.where(X @ rng.normal(size=7) + rng.normal(size=30) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return fs.Dataset.from_arrays(X, y).scaled("standard")


def solved(model):
    result = fs.solve(model, "branch-and-cut", gap=1e-6, time_limit=60)
    return result.status.value, round(result.objective, 4), bool(result.bound <= result.objective * (1 + 1e-7))


@pytest.mark.parametrize("name", BUILDERS)
def test_clones_solved_in_threads_end_where_the_model_does(name, restless):
    model = BUILDERS[name](data())
    clones = [model.clone() for _ in range(2)]
    expected = solved(model)
    with ThreadPoolExecutor(2) as executor:
        assert list(executor.map(solved, clones)) == [expected] * 2


def test_a_clone_has_an_oracle_of_its_own():
    model = BUILDERS["fsp-m"](data())
    first, second = (facts_of(one).oracle._oracle() for one in (model, model.clone()))
    assert first is not second


def test_clones_have_a_pool_of_rows_of_their_own():
    model = BUILDERS["fsmulti"](data())
    pools = [facts_of(one).oracle.pool for one in (model, model.clone())]
    assert pools[0] is not pools[1]
    known = len(pools[0].q)
    pools[1].at(np.linspace(-1, 1, 30))
    assert len(pools[1].q) == known + 1
    assert len(pools[0].q) == len(pools[0]._known) == known


def test_two_threads_ask_one_session_in_turn(restless):
    session = fs.explore(data(), max_features=3, C=2.0)

    def ask(k):
        return k, session.ask(max_features=k).found.objective

    with ThreadPoolExecutor(2) as executor:
        answers = list(executor.map(ask, [1, 2] * 2))
    for k, objective in answers:
        alone = fs.solve(fs.fsp.fsp_m(data(), max_features=k, C=2.0)).objective
        assert objective == pytest.approx(alone, rel=1e-3)


def test_one_memory_serves_one_run_at_a_time():
    memory, started, end = Memory(), threading.Event(), threading.Event()

    def ask(callback=None):
        return fs.solve(BUILDERS["fsp-m"](data()), "branch-and-cut", memory=memory, callback=callback).objective

    def wait(row):
        started.set()
        assert end.wait(60)

    with ThreadPoolExecutor(1) as executor:
        first = executor.submit(ask, wait)
        assert started.wait(60)
        try:
            with pytest.raises(OptionError, match="its own Memory"):
                ask()
        finally:
            end.set()
        found = first.result()
    assert ask() == pytest.approx(found, rel=1e-3)
