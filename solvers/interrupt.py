"""The handling of Ctrl-C and of cancellation tokens.

A process has one handler of Ctrl-C, which runs in its main thread. Within a ``run`` this module installs the handler. A
token (``Cancel``) works in every thread. The effect of Ctrl-C depends on the context:

- in ``raising``, it raises ``KeyboardInterrupt``, as Python does;
- in ``setting_event``, it sets an event that the callbacks of a solver read, because an exception in a callback, or the
  incumbent, would be lost;
- in ``finishing``, while an incumbent is loaded, it is delayed;
- elsewhere in a run it is delayed until the next of the first two.

A token has the same effect, except that it never raises at once: in ``raising`` the run ends where it calls
``pressed``.

Presses within ``GRACE`` seconds of an accepted one are ignored, so that a second press does not destroy the incumbent.
A later press stops everything.

SIGTERM and SIGHUP are treated alike where a program set ``signal.default_int_handler`` for them. Where SIGINT is
ignored, as in a background job of a shell script, it stays ignored.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from queue import SimpleQueue
from typing import Any

from solvers.errors import OptionError

ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
GRACE = 2.0  # s after a press, in which further ones are ignored
OVERRUN = 10.0  # s by which a solver may exceed its time limit
_POLL = 0.05  # s
_IDLE, _RAISE, _HOLD = "idle", "raise", "hold"


class _Watch:
    """State of Ctrl-C and of the tokens in a run of one thread."""

    def __init__(self) -> None:
        self.modes: list[tuple[str, threading.Event | None]] = [(_IDLE, None)]  # the last one applies
        self.last: float | None = None  # time of the last accepted press
        self.waiting = False  # True after a press that is delayed
        self.before: dict[int, Any] = {}  # the previous handlers of the signals

    def press(self, *_: object) -> None:
        now, again = time.monotonic(), self.last is not None
        if self.last is not None and now - self.last < GRACE:
            return
        self.last = now
        mode, event = self.modes[-1]
        if mode is _HOLD and not again:
            self.waiting = True
        elif event is not None and not event.is_set():
            event.set()
        elif mode is _RAISE or again:
            raise KeyboardInterrupt
        else:
            self.waiting = True

    def cancel(self) -> None:
        """Record a token, which another thread has set, as a press that is delayed or sets the event."""
        if self.last is None:
            self.last = time.monotonic()
            mode, event = self.modes[-1]
            if event is None or mode is _HOLD:
                self.waiting = True
            else:
                event.set()

    def take(self) -> bool:
        """Return True, once, if a press is delayed and the mode is not ``_HOLD``."""
        if self.modes[-1][0] is _HOLD or not self.waiting:
            return False
        self.waiting = False
        return True


class Cancel:
    """Token that ends a call from another thread, as Ctrl-C does: the call returns its incumbent and bound.

    A token is set once. One token can be given to several calls. A call without any result at that time raises
    ``KeyboardInterrupt``.

    Examples
    --------
    >>> import threading
    >>> import solvers
    >>> cancel = solvers.Cancel()
    >>> timer = threading.Timer(60, cancel.set)  # for solvers.solve(model, cancel=cancel)
    >>> cancel.set(), cancel.is_set()
    (None, True)
    """

    def __init__(self) -> None:
        self._set, self._lock = False, threading.Lock()
        self._watches: list[_Watch] = []  # of the calls that are running

    def set(self) -> None:
        """End the calls that have this token, and later ones at their start. May be called from any thread."""
        with self._lock:
            self._set = True
            for watch in self._watches:
                watch.cancel()

    def is_set(self) -> bool:
        """Return True after ``set``."""
        return self._set

    @contextmanager
    def _watched(self, watch: _Watch) -> Iterator[None]:
        with self._lock:
            self._watches.append(watch)
            if self._set:
                watch.cancel()
        try:
            yield
        finally:
            with self._lock:
                self._watches.remove(watch)


class _OfThread(threading.local):
    """The watch of each thread, None outside a run."""

    watch: _Watch | None = None


_of_thread = _OfThread()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _mode(watch: _Watch, mode: str, event: threading.Event | None = None) -> Iterator[None]:
    depth = len(watch.modes)
    watch.modes.append((_HOLD if watch.modes[-1][0] is _HOLD else mode, event))
    try:
        yield
    finally:
        del watch.modes[depth:]  # and inner modes that remain after a press


@contextmanager
def run(cancel: Cancel | None = None) -> Iterator[None]:
    """Install the handler of Ctrl-C until the end; inside another run, delay presses that would raise.

    ``cancel``: a token that ends this run too. Raises OptionError: it is no ``Cancel``.
    """
    if not isinstance(cancel, Cancel | None):
        raise OptionError(f"cancel={cancel!r} is not allowed: give a token, fs.Cancel().")
    with _watching() as watch, nullcontext() if cancel is None else cancel._watched(watch):
        yield


@contextmanager
def _watching() -> Iterator[_Watch]:
    """Yield the watch of the run of this thread, which is a new one outside a run."""
    watch = _of_thread.watch
    if watch is not None:
        with _mode(watch, _IDLE):
            yield watch
        return
    watch = _Watch()
    if _in_main_thread():
        if (handler := signal.getsignal(signal.SIGINT)) not in (signal.SIG_IGN, None):
            watch.before[signal.SIGINT] = handler
        for number in ENDING:
            if (handler := signal.getsignal(number)) is signal.default_int_handler:
                watch.before[number] = handler
        logging.getLogger("pyomo.common.numeric_types").addFilter(_is_not_a_press)
    _of_thread.watch = watch
    try:
        take_again()
        yield watch
    finally:
        for number, handler in watch.before.items():
            signal.signal(number, handler)
        _of_thread.watch = None


def _is_not_a_press(record: logging.LogRecord) -> bool:
    """Drop the error that Pyomo logs if Ctrl-C interrupts the evaluation of an expression."""
    return not isinstance(sys.exc_info()[1], KeyboardInterrupt)


def leave_to_parent() -> None:
    """Ignore Ctrl-C and SIGHUP in a forked process, since a terminal sends them to its parent too. SIGTERM ends it."""
    _of_thread.watch = None
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def take_again() -> None:
    """Install the handler again after a solver has replaced it within a run."""
    if (watch := _of_thread.watch) is not None:
        for number in watch.before:
            signal.signal(number, watch.press)


@contextmanager
def raising() -> Iterator[None]:
    """Let Ctrl-C raise ``KeyboardInterrupt``; a delayed press raises it at once."""
    watch = _of_thread.watch
    if watch is None:
        yield
        return
    with _mode(watch, _RAISE):
        if watch.take():
            raise KeyboardInterrupt
        try:
            yield
        except SystemError as error:  # from C code that calls Python at that moment
            if not _from_press(error):
                raise
            raise KeyboardInterrupt from error


def _from_press(error: BaseException | None) -> bool:
    """Return True if a ``KeyboardInterrupt`` has caused an error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def setting_event() -> Iterator[threading.Event]:
    """Let Ctrl-C set the returned event only."""
    pressed = threading.Event()
    with _watching() as watch, _mode(watch, _IDLE, pressed):
        if watch.take():
            pressed.set()
        yield pressed


@contextmanager
def finishing() -> Iterator[None]:
    """Delay Ctrl-C while an incumbent is loaded."""
    with _watching() as watch, _mode(watch, _HOLD):
        yield


def pressed() -> bool:
    """Return True if Ctrl-C was pressed or a token was set in this run, also if an exception was lost in a callback."""
    watch = _of_thread.watch
    if watch is None or watch.last is None:
        return False
    if watch.modes[-1][0] is _RAISE:
        watch.waiting = False  # the caller ends the run
    return True


def in_new_thread(work: Callable[[], None]) -> None:
    """Start a function in a new thread, which does not keep the process alive."""
    threading.Thread(target=work, daemon=True).start()


class Crew:
    """A pool of threads for libraries that limit the number of threads over the life of a process.

    ``size``: the number of threads; further work waits.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)  # the threads do not exist in the child

    def _forget(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None]]] = []
        self._free = threading.Semaphore(self.size)

    def start(self, work: Callable[[], None]) -> None:
        """Start a function in an idle thread."""
        self._free.acquire()
        try:
            tasks = self._idle.pop()
        except IndexError:
            tasks = SimpleQueue()
            in_new_thread(lambda: self._serve(tasks))
        tasks.put(work)

    def _serve(self, tasks: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            tasks.get()()
            self._idle.append(tasks)
            self._free.release()


def attended(
    work: Callable[[], Any],
    stop: Callable[[], Any],
    stop_event: threading.Event | None = None,
    meanwhile: Callable[[], Any] | None = None,
    start: Callable[[Callable[[], None]], None] = in_new_thread,
    limit: float | None = None,
) -> None:
    """Call ``work``, which Python cannot interrupt, in another thread; call ``stop`` at Ctrl-C and for a token.

    - ``work``: must release the interpreter lock. Its exceptions are raised here.
    - ``stop``: requests the end of the work; called repeatedly until it ends.
    - ``stop_event``: the event of an outer ``setting_event``. Without it, this function raises ``KeyboardInterrupt``.
    - ``meanwhile``: called many times a second, and once at the end.
    - ``start``: starts a function in another thread: a new one, or one of a ``Crew``.
    - ``limit``: seconds. If the work has not ended OVERRUN after them, TimeoutError is raised; the work goes on in its
      thread. It must then not share objects with the caller.
    """
    if stop_event is None:
        with setting_event() as stop_event:
            attended(work, stop, stop_event, meanwhile, start, limit)
        if stop_event.is_set():
            raise KeyboardInterrupt
        return
    raised: list[BaseException] = []
    done = threading.Event()

    def worker() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    start(worker)
    end = math.inf if limit is None else time.monotonic() + limit + OVERRUN
    while not done.wait(_POLL):
        if time.monotonic() >= end:
            with suppress(Exception):
                stop()
            raise TimeoutError(f"does not stop at its time limit of {limit:.3g} s")
        if meanwhile is not None:
            meanwhile()
        if stop_event.is_set():
            with suppress(Exception):  # before the work has started, or after its end
                stop()
    if meanwhile is not None:
        meanwhile()
    if raised:
        raise raised[0]
