"""Changes of the whole process by a run: threads share them, and a forked process undoes them."""

import gc
import multiprocessing
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyomo.environ as pyo
import pytest

import solvers
from solvers import progress
from solvers.drivers.branch_cut import joblib_pool
from solvers.interfaces import runner
from solvers.shared_state import VARIABLE, Turn, process_wide, put_off, safe_path, without_warnings


@contextmanager
def held_by_another_thread(*contexts):
    """Let another thread stay inside contexts."""
    entered, leave = threading.Event(), threading.Event()

    def stay():
        for context in contexts:
            context.__enter__()
        entered.set()
        leave.wait()
        for context in reversed(contexts):
            context.__exit__(None, None, None)

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_the_last_thread_that_leaves_undoes_a_change():
    state, seen = ["before"], []

    @process_wide
    @contextmanager
    def changed():
        saved = state[0]
        state[0] = "changed"
        yield
        state[0] = saved

    with changed():
        other = changed()
        other.__enter__()
        seen.append(state[0])
    seen.append(state[0])  # the one that entered second is inside
    other.__exit__(None, None, None)
    assert [*seen, state[0]] == ["changed", "changed", "before"]


def test_threads_that_explore_slices_leave_the_number_of_threads_of_linear_algebra():
    from threadpoolctl import threadpool_info

    def numbers():
        return [library["num_threads"] for library in threadpool_info()]

    before = numbers()
    first, second = joblib_pool._one_thread(), joblib_pool._one_thread()
    first.__enter__()
    second.__enter__()
    assert set(numbers()) == {1}
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert numbers() == before


def in_fork(work):
    """Run a function in a forked process; return whether it ended well within a minute."""
    process = multiprocessing.get_context("fork").Process(target=work)
    with without_warnings(DeprecationWarning):
        process.start()
    process.join(60)
    ended = process.exitcode == 0
    process.kill()
    process.join()
    return ended


needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")


@needs_fork
def test_a_process_forked_while_another_thread_uses_a_solver_object_solves_with_it():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 2))
    model.cost = pyo.Objective(expr=-model.x)
    solver = pyo.SolverFactory("highs")  # one at a time: it is a solver object of the user

    def solve():
        assert solvers.solve(model, solver).objective == pytest.approx(-2)

    with held_by_another_thread(runner._turn.lock):
        assert in_fork(solve)


@needs_fork
def test_a_forked_process_is_free_of_what_other_threads_have_changed():
    def check():
        assert gc.isenabled()
        assert VARIABLE not in os.environ
        with put_off():
            assert not gc.isenabled()
        assert gc.isenabled()

    before = os.environ.pop(VARIABLE, None)
    try:
        with held_by_another_thread(put_off(), safe_path()):
            assert in_fork(check)
    finally:
        if before is not None:
            os.environ[VARIABLE] = before


@needs_fork
def test_a_forked_process_keeps_what_its_own_thread_has_changed():
    def check():
        assert os.environ[VARIABLE] == "1"

    with safe_path():
        assert in_fork(check)


def test_a_copy_of_a_lock_is_free():
    import pickle

    turn = Turn()
    with held_by_another_thread(turn.lock):
        assert pickle.loads(pickle.dumps(turn)).lock.acquire(blocking=False)


def test_steps_in_threads_leave_the_filters_of_warnings():
    def step(_):
        with without_warnings(UserWarning):
            warnings.warn("not shown", UserWarning, stacklevel=1)

    before, pace = list(warnings.filters), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(step, range(400)))
    finally:
        sys.setswitchinterval(pace)
    assert warnings.filters == before


def test_of_threads_that_begin_at_the_same_time_one_shows_what_it_does():
    both, opened = threading.Barrier(2), []

    class Screen:
        live = False

        def __init__(self):
            opened.append(self)

        def open(self): ...
        def close(self): ...
        def draw(self, line, table): ...

    def show(_):
        both.wait()
        with progress.shown(True, Screen):
            both.wait()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as executor:
            for _ in range(50):
                opened.clear()
                list(executor.map(show, range(2)))
                assert len(opened) == 1
    finally:
        sys.setswitchinterval(before)
    assert progress._scene is None
