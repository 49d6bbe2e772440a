"""Processes of this machine that explore parts of a tree, forked from the one that deals.

A fork has data, cuts and compiled code at once, for some milliseconds; no pickle, no import. The least objective and
the word to halt are in memory that all share; all else goes through a pipe each. A point goes through the pipe before
its objective is shared, so that nobody prunes by what is lost with its process. Ctrl-C is for the one that deals;
processes end with it, however it ends.
"""

from __future__ import annotations

import math
import mmap
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from solvers import interrupt
from solvers.drivers.tree.dealt import Board, Explorer, Job, Report, Slice
from solvers.errors import Error, SolverFailure
from solvers.processes import end_with_parent
from solvers.shared_state import without_warnings

BEST, HALT = 0, 1  # places in the shared memory
POLL = 0.05  # s, between looks at limits and Ctrl-C
PATIENCE = 2.0  # s that processes have to report once they were told to halt


class Unavailable(Exception):
    """There can be no processes; says why."""


class Shared(Board):
    """The memory that the processes share, and the pipe home of one of them."""

    def __init__(self) -> None:
        super().__init__()
        self._cells = np.frombuffer(mmap.mmap(-1, 16), dtype=np.float64)
        self._cells[:] = np.inf, 0.0
        self._home: Connection | None = None
        self._parent = os.getpid()

    def belong(self, home: Connection) -> None:
        """Be a process's own, which tells by its pipe."""
        self._home = home

    def best(self) -> float:
        """Return the least objective that was claimed."""
        return float(self._cells[BEST])

    def confirm(self, objective: float) -> None:
        """Share the incumbent's objective."""
        self._cells[BEST] = objective

    def claim(self, point: np.ndarray, objective: float) -> None:
        """Tell of a point at once, then share its objective."""
        assert self._home is not None
        self._home.send((point, objective))
        self._cells[BEST] = min(objective, self.best())

    def halt(self, now: bool) -> None:
        """Tell the processes to end their slices, or that they need not."""
        self._cells[HALT] = float(now)

    def halted(self) -> bool:
        """Tell whether the slice is to end now, or nobody waits for it any more."""
        return bool(self._cells[HALT]) or (self._home is not None and os.getppid() != self._parent)


@dataclass
class Failed:
    """What a process says where it has failed: the error itself, if it is one of ours, or else in words."""

    error: Error

    @classmethod
    def by(cls, error: Exception) -> Failed:
        """Return an error as it can be sent."""
        if isinstance(error, Error):
            return cls(error)
        said = f"{type(error).__name__}: {error}".strip(": ")
        return cls(SolverFailure(f"A process that explored a part of the tree has failed ({said}).", "branch-and-cut"))


class Forks:
    """Processes that keep their part of the tree until another one has nothing left."""

    keeps = True
    first, longest = 0.1, 0.5  # s, of slices
    why = "killed, or out of memory"

    def __init__(self, job: Job, size: int) -> None:
        self.board = Shared()
        self._handles: list[Any] = []
        self._pipes: list[Connection] = []
        for _ in range(size):
            here, there = multiprocessing.Pipe()
            inherited = [*self._pipes, here]
            with without_warnings(DeprecationWarning):  # threads of BLAS or a display do not come along: none is needed
                handle = multiprocessing.get_context("fork").Process(
                    target=_serve, args=(job, self.board, there, inherited), daemon=True
                )
                try:
                    handle.start()
                except OSError as error:
                    self.end()
                    raise Unavailable(f"the system starts no other ({error})") from error
            there.close()
            self._handles.append(handle)
            self._pipes.append(here)

    def confirm(self, objective: float) -> None:
        """Tell the processes of the incumbent's objective."""
        self.board.confirm(objective)

    def run(
        self, parts: Mapping[int, Slice], take: Callable[[np.ndarray], None], stopped: Callable[[], Any]
    ) -> dict[int, Report]:
        """Let processes explore; return what they report, without those that have died.

        ``take``: called with each point found. ``stopped``: whether to end at once.
        Raises the error that a process has met.
        """
        reports: dict[int, Report] = {}
        waiting: dict[Any, int] = {}  # by pipe
        self.board.halt(False)
        for k, part in parts.items():
            if _sent(self._pipes[k], part):
                waiting[self._pipes[k]] = k
        until = math.inf
        with interrupt.noticing():
            while waiting and time.perf_counter() < until:
                alive = {pipe for pipe, k in waiting.items() if self._handles[k].is_alive()}
                for pipe in wait(list(waiting), POLL):
                    said = _received(pipe)
                    if isinstance(said, Failed):
                        raise said.error
                    if isinstance(said, tuple):
                        take(said[0])
                        continue
                    k = waiting.pop(pipe)
                    if said is not None:
                        reports[k] = said
                        if not said.open and not said.nodes:  # it has nothing left: the others share theirs
                            self.board.halt(True)
                for pipe in set(waiting) - alive:
                    if not pipe.poll():
                        del waiting[pipe]
                if until == math.inf and stopped():
                    self.board.halt(True)
                    until = time.perf_counter() + PATIENCE
        return reports

    def end(self) -> None:
        """End all processes; what they hold is of no use any more."""
        for handle, pipe in zip(self._handles, self._pipes, strict=True):
            handle.kill()
            handle.join()
            handle.close()
            pipe.close()


def possible() -> bool:
    """Tell whether processes are forked here."""
    return sys.platform == "linux"


def check_allowed() -> None:
    """Raise Unavailable where this process may start no other: it is one of a ``multiprocessing.Pool``, say."""
    if multiprocessing.current_process().daemon:
        raise Unavailable("a daemonic process may start no other")


def _sent(pipe: Any, what: Any) -> bool:
    """Send something; tell whether there is anybody at the other end."""
    try:
        pipe.send(what)
    except OSError:
        return False
    return True


def _received(pipe: Any) -> Any:
    """Return what came, None where the other end is dead."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def _serve(job: Job, board: Shared, home: Connection, inherited: list[Connection]) -> None:
    """Explore slices until the pipe ends."""
    interrupt.leave_to_parent()
    end_with_parent()
    for pipe in inherited:  # else no pipe would end while another process lives
        pipe.close()
    board.belong(home)
    with suppress(EOFError, OSError):
        try:
            with threadpool_limits(1):
                explorer = Explorer(job, board)
                while True:
                    home.send(explorer.explore(home.recv()))
        except (EOFError, OSError):
            raise
        except Exception as error:
            home.send(Failed.by(error))
