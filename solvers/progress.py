"""The progress of long calls: what runs now, in a status line that is refreshed every second.

Nothing is shown unless it was asked for, and then by the outermost ``shown`` alone; all else is free where nobody
watches. Functions that take long say what they do:

>>> from solvers import progress
>>> with progress.shown(False):                                  # ``progress=True`` of what the user called
...     for size in progress.each([1, 2, 5], "size"):            # "size 2 of 3"
...         with progress.doing("fitting", facts=lambda: [f"{size} features"]):
...             pass
...     with progress.counted(20, "fold", workers=2) as count:   # "3 of 20 folds done, 2 at work"
...         for _ in range(20):
...             count.one()                                      # another result has come home from a worker

``facts`` and ``left`` are asked by another thread, at any time: they read and never change anything, and cost nothing
between. What runs in workers is not seen: whoever waits for them counts. In a forked process nothing is shown.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TextIO, TypeVar

from solvers.errors import OptionError
from solvers.shared_state import Turn

__all__ = ["Count", "StatusLine", "counted", "doing", "each", "paused", "printable", "shown", "watched"]

EVERY = 1.0  # s between looks
FIRST = 0.7  # s before the first: many runs end before
PATIENCE = 2.0  # s that the end waits for the thread that draws
CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
PACE = 10.0  # s between lines where there is no terminal

Item = TypeVar("Item")


def printable(text: str) -> str:
    r"""Return text with controls of a terminal and marks of direction as escapes; tabs and new lines stay.

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


def _own(stream: Any) -> TextIO:
    """Return a stream to the same file that nobody redirects: Pyomo does, while a solver runs."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        return open(os.dup(stream.fileno()), "w", encoding=encoding, errors="replace")
    except (AttributeError, OSError, ValueError):  # no file behind it
        return stream if stream is not None else open(os.devnull, "w")


class StatusLine:
    """A line that is rewritten where that is possible, and else written every ``pace`` seconds by the clock ``now``."""

    def __init__(self, pace: float = PACE, now: Callable[[], float] = time.perf_counter) -> None:
        self._pace, self._now = pace, now

    def open(self) -> None:
        """Begin."""
        terminal = _terminal()
        self._notebook = "ipykernel" in sys.modules
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
    """Something that is going on, within what is outside of it.

    ``facts``: numbers, as texts. ``left``: seconds until its limit, None where there is none.
    """

    words: str
    facts: Callable[[], list[str]] | None = None
    left: Callable[[], float | None] | None = None


@dataclass(eq=False)
class Scene:
    """What is told: frames, the outermost first, of the thread that opened it; ``now``: its clock in seconds."""

    display: StatusLine
    now: Callable[[], float] = time.perf_counter
    frames: list[Frame] = field(default_factory=list)
    pauses: int = 0

    def __post_init__(self) -> None:
        self.owner, self.start = threading.get_ident(), self.now()
        self._end, self._ended = threading.Event(), False
        self.lock = threading.RLock()  # while something is drawn: no fork, no end
        self._thread: threading.Thread | None = None

    def line(self) -> str:
        """Return how things stand, in a line; a narrow terminal shows its beginning."""
        frames = list(self.frames)
        left = next((frame.left() for frame in reversed(frames) if frame.left is not None), None)
        told = [duration(self.now() - self.start) + ("" if left is None else f", {duration(left)} left")]
        told.append(" > ".join(frame.words for frame in frames if frame.words))
        for frame in reversed(frames):
            if frame.facts is not None:
                told += frame.facts()
                break
        return " | ".join(text for text in told if text)

    def draw(self) -> None:
        """Look once."""
        with self.lock:
            if not self._ended and not self.pauses:
                self.display.draw(self.line())

    def begin(self) -> None:
        """Open the display, and look from now on."""
        with suppress(OSError, ValueError):  # a stream that is gone
            self.display.open()
        self._thread = threading.Thread(target=self._look, name="fsmodels-progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more; Ctrl-C in the midst of this leaves no half-open display."""
        try:
            with self.lock:
                self._ended = True
            self._end.set()
            if self._thread is not None:
                self._thread.join(PATIENCE)
        finally:
            with suppress(OSError, ValueError):
                self.display.close()

    def _look(self) -> None:
        self._end.wait(FIRST)
        while not self._ended:
            with suppress(Exception):  # what is shown must not harm a run: a number that is just changing, a full disk
                self.draw()
            self._end.wait(EVERY)


_scene: Scene | None = None  # of the process: a terminal has room for one
_opening = Turn()
_held: list[Scene] = []  # by whoever forks


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


if hasattr(os, "register_at_fork"):  # the thread that draws does not come along, and holds no stream meanwhile
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_forget)


def _mine() -> Scene | None:
    scene = _scene
    return scene if scene is not None and scene.owner == threading.get_ident() else None


def watched() -> bool:
    """Return whether anybody watches what this thread does."""
    return _mine() is not None


@contextmanager
def shown(wanted: bool = True, display: Callable[[], StatusLine] = StatusLine) -> Iterator[None]:
    """Show what goes on inside, where that is wanted and nobody outside shows it already.

    Raises OptionError: ``wanted`` is neither True nor False.
    """
    global _scene
    if not isinstance(wanted, bool):
        raise OptionError(f"progress={wanted!r} is not allowed: give True or False.")
    if not wanted:
        yield
        return
    with _opening.lock:  # of threads that begin at the same time, one shows what it does
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
    """Say what is done inside; ``facts``, ``left``: see ``Frame``."""
    scene = _mine()
    if scene is None:
        yield
        return
    frame = Frame(words, facts, left)
    scene.frames.append(frame)
    try:
        yield
    finally:
        if frame in scene.frames:  # with what Ctrl-C has left inside
            del scene.frames[scene.frames.index(frame) :]


def each(items: Iterable[Item], what: str, name: Callable[[Item], str] = lambda item: "") -> Iterator[Item]:
    """Give items one by one and say which it is: "point 3 of 12", with what ``name`` says of it in brackets."""
    known = list(items)
    for k, item in enumerate(known, start=1):
        said = name(item)
        with doing(f"{what} {k} of {len(known)}" + (f" ({said})" if said else "")):
            yield item


@dataclass
class Count:
    """How much of something is done."""

    total: int
    what: str
    workers: int = 1
    done: int = 0
    _frame: Frame | None = None

    def one(self) -> None:
        """Count one more."""
        self.done += 1
        if self._frame is not None:
            self._frame.words = self.words

    @property
    def words(self) -> str:
        """Say it."""
        at_work = min(self.workers, self.total - self.done)
        return f"{self.done} of {self.total} {self.what}s done" + (f", {at_work} at work" if at_work else "")


@contextmanager
def counted(total: int, what: str, workers: int = 1) -> Iterator[Count]:
    """Say how many of so many are done; ``what`` is one of them, "fold"."""
    count = Count(total, what, workers)
    with doing(count.words):
        scene = _mine()
        count._frame = None if scene is None else scene.frames[-1]
        yield count


@contextmanager
def paused(wanted: bool = True) -> Iterator[None]:
    """Show nothing inside, where something else is written: the log of a solver, or a row of a table."""
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
    """Return seconds for people: "48 s", "3 min 20 s", "2 h 05 min"."""
    whole = int(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
