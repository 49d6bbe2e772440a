"""Independent runs in this process or by joblib's workers, here or on a cluster; Ctrl-C keeps finished results."""

from __future__ import annotations

import numbers
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from fsmodels.errors import ParameterError
from solvers import interrupt, progress
from solvers.shared_state import changed_environment, end_with_parent, process_wide, safe_path, without_warnings


def each(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    n_jobs: int | None,
    done: Callable[[int, Any], None],
    what: str = "part",
    name: Callable[[Any], str] = lambda item: "",
    seconds: float | None = None,
) -> bool:
    """Call ``done`` with the index and the result of each item as soon as it is computed; return True if all are.

    ``n_jobs``: 1 for this process; None for 1, or the value of ``joblib.parallel_config``. ``what``, ``name``: the word
    for an item and the text for each, for progress lines; ``seconds``: the time limit of each. After Ctrl-C, ``done``
    was called for every finished item.

    Raises ParameterError: as ``worker_count``.
    """
    workers = worker_count(n_jobs, len(items))
    with interrupt.run():
        try:
            if workers == 1:
                answers = ((k, function(item)) for k, item in enumerate(progress.each(items, what, name, seconds)))
            else:
                answers = _by_workers(function, items, None if n_jobs is None else workers, what, seconds)
            with closing(answers):
                for place, answer in answers:
                    with interrupt.finishing():
                        done(place, answer)
                    if interrupt.pressed():
                        return False
        except KeyboardInterrupt:
            return False
    return True


def worker_count(n_jobs: int | None, items: int) -> int:
    """Return the number of workers for a number of items; the default of None is that of ``joblib.parallel_config``.

    Raises ParameterError: ``n_jobs`` is no whole number, or 0.
    """
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ParameterError(f"n_jobs={n_jobs!r} is not allowed: give a number of workers, or -1 for one per core.")
    if n_jobs == 1:
        return 1
    import joblib

    return max(1, min(items, int(joblib.effective_n_jobs(n_jobs))))


def _by_workers(
    function: Callable[[Any], Any], items: Sequence[Any], n_jobs: int | None, what: str, seconds: float | None
) -> Generator[tuple[int, Any]]:
    """Yield results in the order in which they are finished; in batches if the backend cannot, such as Ray's."""
    import joblib
    from joblib.parallel import get_active_backend

    class Workers(joblib.Parallel):
        """Workers whose results are awaited until a token ends the run."""

        def _wait_retrieval(self) -> bool:  # called every 10 ms
            if interrupt.pressed():
                raise KeyboardInterrupt
            return super()._wait_retrieval()

    at_once = joblib.effective_n_jobs(n_jobs)
    calls = (joblib.delayed(_placed)(function, place, item) for place, item in enumerate(items))
    with safe_path(), interrupt.raising(), progress.counted(len(items), what, at_once, seconds) as count:
        if get_active_backend()[0].supports_return_generator:
            with _signals_blocked():
                answers = Workers(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(calls)
            try:
                for answer in answers:
                    count.one()
                    yield answer
            finally:
                with without_warnings(UserWarning):  # joblib warns of the calls that Ctrl-C cancels
                    answers.close()
            return
        workers = joblib.Parallel(n_jobs=n_jobs, batch_size=1)
        while some := list(islice(calls, at_once)):
            for answer in workers(some):
                count.one()
                yield answer


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block Ctrl-C and SIGHUP, which a terminal also sends to child processes, in processes started inside.

    This process receives the signal after the block and ends its children.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from joblib.externals.loky.backend import resource_tracker as of_loky

    with _quiet():
        for tracker in (resource_tracker, of_loky):
            tracker.ensure_running()  # a tracker that starts inside the block would unblock Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@process_wide
@contextmanager
def _quiet() -> Iterator[None]:
    """Set PYTHONWARNINGS so that a resource tracker started inside does not warn of the semaphores that it removes.

    A killed worker leaves the semaphore that the import of Pyomo creates.
    """
    with changed_environment("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning"):
        yield


def _placed(function: Callable[[Any], Any], place: int, item: Any) -> tuple[int, Any]:
    end_with_parent()
    return place, function(item)
