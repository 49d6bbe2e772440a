"""State of the whole process that a run changes: locks, and changes that all threads inside share.

``Turn`` is a lock for objects that are pickled, or that a forked process uses. ``process_wide`` makes a change of the
process safe in threads: the first thread that enters makes the change, and the last one that leaves undoes it. Without
this, the thread that entered second would save the changed state and restore it at its end, for good.

A process that is forked has the thread that forked it alone. Locks that another thread held are free there, and what
another thread changed is undone.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import WeakSet

Change = Callable[[], AbstractContextManager[Any]]

__all__ = ["Turn", "process_wide", "without_warnings"]


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
        self._inside: list[int] = []  # threads, each as often as it has entered
        _renewed.add(self)

    def renew(self) -> None:
        """Undo the change in a forked process, if the thread that forked it has not entered."""
        self._lock = threading.Lock()
        before, self._inside = self._inside, [thread for thread in self._inside if thread == threading.get_ident()]
        if before and not self._inside:
            self._made.__exit__(None, None, None)

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Keep the change as long as a thread is inside."""
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
    """Return a change of the process that all threads inside share."""
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
    """Ignore warnings of a category, for steps that take little time: one thread at a time is inside.

    Before version 3.14, Python keeps the filters of warnings for the whole process.
    """
    with _filters.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield
