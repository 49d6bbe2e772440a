"""The clock of a run, which starts with the function that the user calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_start: ContextVar[float | None] = ContextVar("start", default=None)


@contextmanager
def one_clock() -> Iterator[None]:
    """Start one clock for all runs in the block, unless an outer block has started one.

    A time limit applies to the whole call of the user, including reading, building and all solves.
    """
    token = _start.set(time.perf_counter()) if _start.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _start.reset(token)


@contextmanager
def own_clock() -> Iterator[None]:
    """Start a new clock for the runs in the block, so that a time limit applies to each of several runs."""
    token = _start.set(time.perf_counter())
    try:
        yield
    finally:
        _start.reset(token)


class Clock:
    """Seconds since the start of a run, and the time that is left."""

    def __init__(self, limit: float | None, start: float | None = None) -> None:
        self.limit, self._start = limit, time.perf_counter() if start is None else start

    @classmethod
    def of_run(cls, limit: float | None) -> Clock:
        """Return a clock that started with the call of the user; see ``one_clock``."""
        return cls(limit, _start.get())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float | None:
        """Seconds that are left, at least 0; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.elapsed)

    def extended(self) -> Clock:
        """Return a clock with 0.5 s or a tenth more, for a last step that improves the point of a stopped run."""
        return self if self.limit is None else Clock(self.limit + max(0.5, 0.1 * self.limit), self._start)

    def left_of(self, share: float) -> float | None:
        """Return the seconds left until a share of the limit has passed; None without a limit."""
        return None if self.limit is None else max(0.0, share * self.limit - self.elapsed)

    @property
    def over(self) -> bool:
        """Whether the limit has passed."""
        return self.left == 0.0
