"""Many independent runs: one after another, or by joblib's workers, here or on a cluster; Ctrl-C keeps what is done."""

from __future__ import annotations

import multiprocessing
import numbers
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from fsmodels.errors import ParameterError
from solvers import interrupt, progress
from solvers.shared_state import end_with_parent, safe_path, without_warnings


def each(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    n_jobs: int | None,
    done: Callable[[int, Any], None],
    what: str = "part",
    name: Callable[[Any], str] = lambda item: "",
) -> bool:
    """Call ``done`` with the place and the result of each item as soon as it is computed; return True if all are.

    ``n_jobs``: 1 for this process; None for 1, or the value of ``joblib.parallel_config``. ``what``, ``name``: the word
    for an item and the text for each, for progress lines. At Ctrl-C, ``done`` was called for every finished item.

    Raises ParameterError: ``n_jobs`` is no whole number, or 0.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ParameterError(f"n_jobs={n_jobs!r} is not allowed: give a number of workers, or -1 for one a core.")
    with interrupt.run():
        try:
            alone = _one(n_jobs)
            answers = _alone(function, items, what, name) if alone else _by_workers(function, items, n_jobs, what)
            with closing(answers):
                for place, answer in answers:
                    with interrupt.finishing():
                        done(place, answer)
                    if interrupt.pressed():
                        return False
        except KeyboardInterrupt:
            return False
    return True


def _one(n_jobs: int | None) -> bool:
    """Return True if this process computes all items."""
    if n_jobs is not None:
        return n_jobs == 1
    import joblib

    return bool(joblib.effective_n_jobs(None) == 1)


def _alone(
    function: Callable[[Any], Any], items: Sequence[Any], what: str, name: Callable[[Any], str]
) -> Generator[tuple[int, Any]]:
    for place, item in enumerate(progress.each(items, what, name)):
        yield place, function(item)


def _by_workers(
    function: Callable[[Any], Any], items: Sequence[Any], n_jobs: int | None, what: str
) -> Generator[tuple[int, Any]]:
    """Return results in the order in which they are finished; in batches if the backend cannot, such as Ray's."""
    import joblib
    from joblib.parallel import get_active_backend

    jobs = None if n_jobs is None else min(int(n_jobs), max(1, len(items)))  # more would have nothing to do
    at_once = joblib.effective_n_jobs(jobs)
    calls = (joblib.delayed(_placed)(function, place, item) for place, item in enumerate(items))
    with safe_path(), interrupt.raising(), progress.counted(len(items), what, at_once) as count:
        if get_active_backend()[0].supports_return_generator:
            with _deaf():
                answers = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(calls)
            try:
                for answer in answers:
                    count.one()
                    yield answer
            finally:
                with without_warnings(UserWarning):  # joblib warns of the calls that Ctrl-C cancels
                    answers.close()
            return
        workers = joblib.Parallel(n_jobs=jobs, batch_size=1)
        while some := list(islice(calls, at_once)):
            for answer in workers(some):
                count.one()
                yield answer


@contextmanager
def _deaf() -> Iterator[None]:
    """Block Ctrl-C and SIGHUP in processes that are started inside, to which a terminal sends them too.

    The process that waits for them handles Ctrl-C and ends them. In this process the signal arrives after the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from joblib.externals.loky.backend import resource_tracker as of_loky

    for tracker in (resource_tracker, of_loky):
        tracker.ensure_running()  # which it would be in there, and lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_no_semaphore() -> None:
    """Replace the semaphore that importing Pyomo creates in a worker; a killed worker would leave it, with a warning.

    A lock of threads is enough for Pyomo, as no process is forked while it is held.
    """
    from pyomo.common import dependencies

    lock = getattr(dependencies, "capture_output_lock", None)
    if type(lock).__module__ == "multiprocessing.synchronize" and multiprocessing.parent_process() is not None:
        dependencies.capture_output_lock = threading.Lock()


def _placed(function: Callable[[Any], Any], place: int, item: Any) -> tuple[int, Any]:
    _leave_no_semaphore()
    end_with_parent()
    return place, function(item)
