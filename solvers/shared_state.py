"""State of the whole process that a run changes: locks, and changes that several threads share.

``Turn`` is a lock for objects that are pickled, or that a forked process uses. ``process_wide`` makes a change of the
process safe in threads: the first thread that enters makes the change, and the last one that leaves undoes it. Without
this, the second thread would save the changed state and restore it permanently at its end.

A forked process contains only the thread that forked it. Locks that other threads held are free there, and their
changes are undone.

``put_off`` pauses the garbage collector while a model is built. A dense model has a million small objects, and repeated
searches for reference cycles take longer than building it (5000 x 800: 9 s instead of 3). Afterwards the objects are
moved to the oldest generation, which saves three more searches (2 s).

``safe_path`` keeps child processes from importing modules of the working directory, and ``end_with_parent`` ends them
with their parent.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

Change = Callable[[], AbstractContextManager[Any]]


class Turn:
    """A lock that a thread may take more than once; a copy, also in another process, is a new lock."""

    def __init__(self) -> None:
        self.renew()
        _renewed.add(self)

    def renew(self) -> None:
        """Free the lock, in a forked process."""
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type[Turn], tuple[()]]:
        return Turn, ()


class _ProcessWide:
    """A change of the process, made by the first thread that enters and undone by the last one that leaves."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._inside: list[int] = []  # threads, once for each time that they have entered
        _renewed.add(self)

    def renew(self) -> None:
        """Undo the change in a forked process, if the thread that forked it has not entered."""
        self._lock = threading.Lock()
        before, self._inside = self._inside, [thread for thread in self._inside if thread == threading.get_ident()]
        if before and not self._inside:
            self._made.__exit__(None, None, None)

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Make the change while at least one thread is in the block."""
        thread = threading.get_ident()
        with self._lock:
            if not self._inside:
                self._made = self._change()
                self._made.__enter__()
            self._inside.append(thread)
        try:
            yield
        finally:
            with self._lock:
                self._inside.remove(thread)
                if not self._inside:
                    self._made.__exit__(None, None, None)


def process_wide(change: Change) -> Change:
    """Return a context manager for a change of the process that all threads in its block share."""
    return _ProcessWide(change).enter


_renewed: WeakSet[Turn | _ProcessWide] = WeakSet()


def _renew_all() -> None:
    for each in list(_renewed):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)

_filters = Turn()


@contextmanager
def without_warnings(category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of a category in a short block, which one thread executes at a time.

    Before version 3.14, the filters of warnings apply to the whole process.
    """
    with _filters.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


MANY = 1_000_000  # young objects that are moved to the oldest generation

_searches = -1  # number of full collections when objects were last moved


@process_wide
@contextmanager
def put_off() -> Iterator[None]:
    """Pause the garbage collector until the last thread has left the block."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _move_to_oldest()
        gc.enable()


def _move_to_oldest() -> None:
    """Move young objects to the oldest generation, but only once between full collections: models are cycles."""
    global _searches
    done = gc.get_stats()[-1]["collections"]
    if gc.get_count()[0] >= MANY and done != _searches and gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()  # to the oldest
        _searches = done


VARIABLE = "PYTHONSAFEPATH"  # if it is set, Python does not add the working directory to the import path
POLL = 1.0  # s


@process_wide
@contextmanager
def safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH for processes that the block starts; the import path of this process does not change.

    Python starts workers and their resource tracker by ``-m`` and ``-c``, which would import a module ``joblib`` of the
    working directory.
    """
    with changed_environment(VARIABLE, "1"):
        yield


@contextmanager
def changed_environment(variable: str, value: str) -> Iterator[None]:
    """Set an environment variable for processes that the block starts."""
    before = {variable: os.environ[variable]} if variable in os.environ else {}
    os.environ[variable] = value
    try:
        yield
    finally:
        os.environ.pop(variable, None)
        os.environ.update(before)


def search_path_only(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return a finder of Pyomo that, with a safe path, does not look for a bare name in the working directory.

    Pyomo looks there first and would run ``./cbc``. A name with a folder, such as ``./cbc``, is still found.
    """

    def found(name: str, cwd: bool = True, **options: Any) -> Any:
        safe = sys.flags.safe_path or os.environ.get(VARIABLE)
        return find(name, cwd=cwd and not (safe and os.path.basename(name) == name), **options)

    return found


def end_with_parent() -> None:
    """End this worker process when its parent has ended or was killed; may be called again.

    Do nothing in a process that is not a worker, and on Windows.
    """
    import multiprocessing  # slow to import; workers have imported it

    if multiprocessing.parent_process() is not None:
        _watch_parent(os.getpid())


@cache  # for each process: a forked process has the cache of its parent, but not its threads
def _watch_parent(process: int) -> None:
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        os._exit(1)

    threading.Thread(target=watch, name="fsmodels-parent", daemon=True).start()
