"""The progress of long calls: a status line that is refreshed every second.

Only the outermost ``shown`` displays a line. Without it the other functions do nothing. Functions that take long report
their progress:

>>> from solvers import progress
>>> with progress.shown(False):                                  # ``progress=True`` of what the user called
...     for size in progress.each([1, 2, 5], "size"):            # "size 2 of 3"
...         with progress.doing("fitting", facts=lambda: [f"{size} features"]):
...             pass
...     with progress.counted(20, "fold", workers=2) as count:   # "3 of 20 folds done, 2 at work"
...         for _ in range(20):
...             count.one()                                      # a worker has returned a result

Another thread calls ``facts`` and ``left`` at any time, so they must not change anything. The caller counts the results
of other processes. A forked process displays nothing.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TextIO, TypeVar

from solvers.clock import Clock
from solvers.errors import OptionError
from solvers.shared_state import Turn

__all__ = ["Count", "StatusLine", "counted", "doing", "each", "paused", "printable", "shown", "watched"]

EVERY = 1.0  # s between updates
FIRST = 0.7  # s before the first update, longer than many runs
PATIENCE = 2.0  # s to wait for the drawing thread at the end
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
PACE = 10.0  # s between lines without a terminal

Item = TypeVar("Item")


def printable(text: str) -> str:
    r"""Return text whose control characters and direction marks are escaped; tabs and new lines stay.

    >>> print(printable("a\x1b[2J, \u202eb"))
    a\x1b[2J, \u202eb
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _terminal() -> TextIO | None:
    if os.environ.get("TERM") in ("dumb", "unknown"):
        return None
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # None, closed
            if stream.isatty():
                return stream
    return None


def _in_notebook() -> bool:
    """Return True if this process is a kernel of Jupyter, not if it only has imported ipykernel."""
    kernels = sys.modules.get("ipykernel.kernelapp")
    return kernels is not None and bool(kernels.IPKernelApp.initialized())


def _own(stream: Any) -> TextIO:
    """Return another stream to the same file: Pyomo redirects the standard ones while a solver runs."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        return open(os.dup(stream.fileno()), "w", encoding=encoding, errors="replace")
    except (AttributeError, OSError, ValueError):  # not a file
        return stream if stream is not None else open(os.devnull, "w")


class StatusLine:
    """A line that is rewritten in a terminal and in a notebook; elsewhere a new line every ``pace`` seconds."""

    def __init__(self, pace: float = PACE, now: Callable[[], float] = time.perf_counter) -> None:
        self._pace, self._now = pace, now

    def open(self) -> None:
        """Open the stream."""
        terminal = _terminal()
        self._notebook = _in_notebook()
        self._file = sys.stdout if self._notebook else _own(terminal or sys.stderr)
        self._rewrites = self._notebook or terminal is not None
        self._last = self._now()

    def draw(self, line: str) -> None:
        """Show a line; "" removes it."""
        if self._rewrites:
            from rich.cells import set_cell_size

            width = shutil.get_terminal_size((100, 24)).columns - 1
            self._file.write("\r" + set_cell_size(printable(line), width) + ("" if line else "\r"))
        elif line and self._now() - self._last >= self._pace:
            self._last = self._now()
            self._file.write(f"{printable(line)}\n")
        self._file.flush()

    def close(self) -> None:
        """Remove the line."""
        self.draw("")
        if self._file not in (sys.stdout, sys.stderr):
            self._file.close()


@dataclass(eq=False)
class Frame:
    """One activity; frames are nested.

    ``facts``: returns numbers as text. ``left``: returns the seconds until its time limit, None without one; the line
    shows those of the outermost activity.
    """

    words: str
    facts: Callable[[], list[str]] | None = None
    left: Callable[[], float | None] | None = None


@dataclass(eq=False)
class Scene:
    """The activities of the thread that opened the display, outermost first; ``now``: a clock in seconds."""

    display: StatusLine
    now: Callable[[], float] = time.perf_counter
    frames: list[Frame] = field(default_factory=list)
    pauses: int = 0

    def __post_init__(self) -> None:
        self.owner, self.start = threading.get_ident(), self.now()
        self._end, self._ended = threading.Event(), False
        self.lock = threading.RLock()  # held while a line is drawn: no fork and no end
        self._thread: threading.Thread | None = None

    def line(self) -> str:
        """Return the status line; a narrow terminal shows its beginning."""
        frames = list(self.frames)
        left = next((left for frame in frames if frame.left and (left := frame.left()) is not None), None)
        parts = [duration(self.now() - self.start) + ("" if left is None else f", {duration(left)} left")]
        parts += next((frame.facts() for frame in reversed(frames) if frame.facts is not None), [])
        parts.append(" > ".join(frame.words for frame in frames if frame.words))
        return " | ".join(text for text in parts if text)

    def draw(self) -> None:
        """Update the display once."""
        with self.lock:
            if not self._ended and not self.pauses:
                self.display.draw(self.line())

    def begin(self) -> None:
        """Open the display and start the thread that updates it."""
        with suppress(OSError, ValueError):  # a closed stream
            self.display.open()
        self._thread = threading.Thread(target=self._update, name="fsmodels-progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the updates and close the display, also if Ctrl-C interrupts this method."""
        try:
            with self.lock:
                self._ended = True
            self._end.set()
            if self._thread is not None:
                self._thread.join(PATIENCE)
        finally:
            with suppress(OSError, ValueError):
                self.display.close()

    def _update(self) -> None:
        self._end.wait(FIRST)
        while not self._ended:
            with suppress(Exception):  # an error of the display (a number that changes, a full disk) must not end a run
                self.draw()
            self._end.wait(EVERY)


_scene: Scene | None = None  # one for each process
_opening = Turn()
_held: list[Scene] = []  # locked during a fork


def _hold() -> None:
    if (scene := _scene) is not None:
        scene.lock.acquire()
        _held.append(scene)


def _release() -> None:
    while _held:
        _held.pop().lock.release()


def _forget() -> None:
    global _scene
    _scene = None
    _held.clear()


if hasattr(os, "register_at_fork"):  # the child has no drawing thread, and must not inherit a locked stream
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_forget)


def _mine() -> Scene | None:
    scene = _scene
    return scene if scene is not None and scene.owner == threading.get_ident() else None


def watched() -> bool:
    """Return whether the progress of this thread is displayed."""
    return _mine() is not None


@contextmanager
def shown(wanted: bool = True, display: Callable[[], StatusLine] = StatusLine) -> Iterator[None]:
    """Display the progress of the block if ``wanted``, unless an outer block displays it already.

    Raises OptionError: ``wanted`` is neither True nor False.
    """
    global _scene
    if not isinstance(wanted, bool):
        raise OptionError(f"progress={wanted!r} is not allowed: give True or False.")
    if not wanted:
        yield
        return
    with _opening.lock:  # only one of several threads displays its progress
        scene = Scene(display()) if _scene is None else None
        _scene = scene or _scene
    if scene is None:
        yield
        return
    try:
        scene.begin()
        yield
    finally:
        _scene = None
        scene.end()


@contextmanager
def doing(
    words: str, *, facts: Callable[[], list[str]] | None = None, left: Callable[[], float | None] | None = None
) -> Iterator[None]:
    """Report what the block does; ``facts``, ``left``: see ``Frame``."""
    scene = _mine()
    if scene is None:
        yield
        return
    frame = Frame(words, facts, left)
    scene.frames.append(frame)
    try:
        yield
    finally:
        if frame in scene.frames:  # and inner frames that remain after Ctrl-C
            del scene.frames[scene.frames.index(frame) :]


def each(
    items: Iterable[Item], what: str, name: Callable[[Item], str] = lambda item: "", seconds: float | None = None
) -> Iterator[Item]:
    """Yield the items and report the position of each, such as "point 3 of 12 (name)".

    ``seconds``: the time limit of each item; the line shows the seconds until that of the last.
    """
    known = list(items)
    for k, item in enumerate(known, start=1):
        label, clock = name(item), Clock(seconds and seconds * (len(known) + 1 - k))
        words = f"{what} {k} of {len(known)}" + (f" ({label})" if label else "")
        with doing(words, left=partial(getattr, clock, "left")):
            yield item


@dataclass
class Count:
    """The number of results that are done; ``seconds``: the time limit of each."""

    total: int
    what: str
    workers: int = 1
    seconds: float | None = None
    done: int = 0
    _frame: Frame | None = None

    def __post_init__(self) -> None:
        self._restart()

    def _restart(self) -> None:
        rounds = math.ceil((self.total - self.done) / self.workers)
        self.clock = Clock(self.seconds and self.seconds * rounds)

    def one(self) -> None:
        """Count one more result."""
        self.done += 1
        self._restart()
        if self._frame is not None:
            self._frame.words = self.words

    @property
    def words(self) -> str:
        """The text of the status line."""
        at_work = min(self.workers, self.total - self.done)
        return f"{self.done} of {self.total} {self.what}s done" + (f", {at_work} at work" if at_work else "")


@contextmanager
def counted(total: int, what: str, workers: int = 1, seconds: float | None = None) -> Iterator[Count]:
    """Report how many of ``total`` results are done; ``what``: the name of one, such as "fold".

    ``seconds``: the time limit of each.
    """
    count = Count(total, what, workers, seconds)
    with doing(count.words, left=lambda: count.clock.left):
        scene = _mine()
        count._frame = None if scene is None else scene.frames[-1]
        yield count


@contextmanager
def paused(wanted: bool = True) -> Iterator[None]:
    """Hide the status line while the block writes something else: the log of a solver, or a row of a table."""
    scene = _mine() if wanted else None
    if scene is None:
        yield
        return
    with scene.lock, suppress(OSError, ValueError):
        scene.pauses += 1
        scene.display.draw("")
    try:
        yield
    finally:
        scene.pauses -= 1


def duration(seconds: float) -> str:
    """Return seconds as text: "48 s", "3 min 20 s", "2 h 05 min"."""
    whole = int(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"


def print_new_lines(file: Any, streams: list[Any]) -> None:
    """Write what was added to a file since the last call to streams."""
    text = file.read()
    for stream in streams if text else ():
        stream.write(text)
        stream.flush()
