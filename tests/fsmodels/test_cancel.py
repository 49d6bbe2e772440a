"""A token ends a call from another thread, with the incumbent and the bound by then."""

import threading
import time

import pytest

import fsmodels as fs
from fsmodels.insight.explore import explore
from solvers import interrupt

LONG = {"max_features": 8, "C": 100.0}  # 11 s on an idle machine, 5 s with two processes


@pytest.fixture(scope="module")
def wdbc():
    return fs.load_dataset("wdbc")


def in_thread(call):
    """Return the result of a call in a thread that is not the main one."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def stopped(call, after=1.0):
    """Call a function with a token that is set after some seconds; return its result and the seconds since then."""
    cancel, moment = fs.Cancel(), []

    def stop():
        moment.append(time.perf_counter())
        cancel.set()

    timer = threading.Timer(after, stop)
    timer.start()
    result = call(cancel)
    assert moment, "the call ended before the token was set"
    return result, time.perf_counter() - moment[0]


@pytest.mark.parametrize("run", [lambda call: call(), in_thread], ids=["main thread", "another thread"])
@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"solver": "scip"}, {"solver": "benders"}], ids=str)
def test_a_selection_stops_with_its_incumbent_and_bound(wdbc, run, options):
    found, seconds = run(lambda: stopped(lambda cancel: fs.select(wdbc, **LONG, **options, cancel=cancel)))
    assert found.stop_reason is fs.StopReason.INTERRUPTED
    assert 0 < found.bound < 2480 < found.objective + 1
    assert seconds < 30  # 0.1 s on an idle machine


@pytest.mark.parametrize(
    "call",
    [
        lambda data, cancel: fs.near_optimal(data, **LONG, cancel=cancel).best,
        lambda data, cancel: fs.necessity(data, **LONG, cancel=cancel).best,
        lambda data, cancel: fs.certify(data, data.features[:12], C=10, cancel=cancel).best,
        lambda data, cancel: fs.solve(hard(data), cancel=cancel),
        lambda data, cancel: fs.price_of(hard(data), "apart", cancel=cancel),
        lambda data, cancel: fs.path(data, max_features=[2, 12], C=10, cancel=cancel),
        lambda data, cancel: fs.cross_validate(data, max_features=4, cv=20, repeats=20, cancel=cancel),
        lambda data, cancel: fs.cross_validate(data, max_features=4, cv=20, repeats=20, n_jobs=2, cancel=cancel),
        lambda data, cancel: fs.compare(data, ["fsp-m", "rfe"], max_features=4, cv=20, repeats=20, cancel=cancel),
        lambda data, cancel: fs.stability(data, max_features=4, bootstraps=400, cancel=cancel),
        lambda data, cancel: fs.choose(data, over={"max_features": [2, 12]}, C=10, cancel=cancel),
        lambda data, cancel: fs.report(data, **LONG, cancel=cancel),
    ],
    ids=[
        "near",
        "necessity",
        "certify",
        "solve",
        "price",
        "path",
        "cv",
        "workers",
        "compare",
        "stability",
        "choose",
        "report",
    ],
)
def test_each_long_function_stops(wdbc, call):
    def finished(cancel):
        try:
            return call(wdbc, cancel)
        except KeyboardInterrupt:  # nothing was found
            return None

    _, seconds = in_thread(lambda: stopped(finished))
    assert seconds < 30


def hard(data):
    model = fs.fsp.fsp_m(data.scaled("standard"), **LONG)
    model.apart = fs.side_constraints.excludes(model, "mean_texture", "worst_texture")
    return model


def test_a_token_that_is_set_before_the_start(wdbc):
    cancel = fs.Cancel()
    cancel.set()
    for found in (fs.select(wdbc, **LONG, cancel=cancel), in_thread(lambda: fs.select(wdbc, **LONG, cancel=cancel))):
        assert found.stop_reason is fs.StopReason.INTERRUPTED
        assert found.bound < found.objective


def test_a_token_that_is_set_after_the_end_changes_nothing(wdbc):
    cancel = fs.Cancel()
    found = fs.select(wdbc, max_features=2, cancel=cancel)
    cancel.set()
    assert found.status is fs.SolutionStatus.OPTIMAL
    assert fs.select(wdbc, max_features=2).status is fs.SolutionStatus.OPTIMAL
    assert not interrupt.pressed()


def test_only_the_thread_with_the_token_stops(wdbc):
    first, second = fs.Cancel(), fs.Cancel()
    answers = {}

    def select(cancel, name, **size):
        answers[name] = fs.select(wdbc, **size, cancel=cancel)

    threads = [
        threading.Thread(target=select, args=(first, "stopped"), kwargs=LONG),
        threading.Thread(target=select, args=(second, "finished"), kwargs={"max_features": 4}),
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    first.set()
    for thread in threads:
        thread.join()
    assert answers["stopped"].stop_reason is fs.StopReason.INTERRUPTED
    assert answers["finished"].status is fs.SolutionStatus.OPTIMAL


def test_a_session_continues_after_a_stop(wdbc):
    session = explore(wdbc, max_features=2)
    answer, _ = stopped(lambda cancel: session.ask(**LONG, cancel=cancel))
    assert answer.found.stop_reason is fs.StopReason.INTERRUPTED
    assert session.ask(max_features=2, C=1.0).found.status is fs.SolutionStatus.OPTIMAL


def test_another_value_is_an_error(wdbc):
    with pytest.raises(fs.OptionError, match=r"fs\.Cancel\(\)"):
        fs.select(wdbc, max_features=2, cancel=True)
