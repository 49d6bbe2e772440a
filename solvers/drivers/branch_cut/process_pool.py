"""Worker processes on this machine, forked from the coordinator.

A fork has data, cuts and compiled code after a few milliseconds, without pickling or imports. The least objective and
the request to halt are in shared memory; all other data are sent through one pipe for each worker. A point is sent
before its objective is shared, so that no worker prunes by a point that is lost with a dead worker. The coordinator
handles Ctrl-C. Workers end with the coordinator in all cases.
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
from solvers.drivers.branch_cut.worker import Report, SharedIncumbent, Slice, TreeTask, Worker
from solvers.errors import Error, SolverFailure
from solvers.shared_state import end_with_parent, without_warnings

BEST, HALT = 0, 1  # places in the shared memory
POLL = 0.05  # s between checks of limits and Ctrl-C
PATIENCE = 2.0  # s to wait for reports after the request to halt


class Unavailable(Exception):
    """No worker process can be started; the message is the reason."""


class SharedMemory(SharedIncumbent):
    """The shared memory of the workers, and the pipe of one worker to the coordinator."""

    def __init__(self) -> None:
        super().__init__()
        self._cells = np.frombuffer(mmap.mmap(-1, 16), dtype=np.float64)
        self._cells[:] = np.inf, 0.0
        self._home: Connection | None = None
        self._parent = os.getpid()

    def report_to(self, home: Connection) -> None:
        """Use this pipe for reports, in a worker."""
        self._home = home

    def best(self) -> float:
        """Return the least objective that any worker reported."""
        return float(self._cells[BEST])

    def confirm(self, objective: float) -> None:
        """Share the objective of the incumbent."""
        self._cells[BEST] = objective

    def claim(self, point: np.ndarray, objective: float) -> None:
        """Send a point, then share its objective."""
        assert self._home is not None
        self._home.send((point, objective))
        self._cells[BEST] = min(objective, self.best())

    def halt(self, now: bool) -> None:
        """Request that the workers end their slices, or withdraw the request."""
        self._cells[HALT] = float(now)

    def halted(self) -> bool:
        """Return whether the slice must end now: on request, or because the coordinator has ended."""
        return bool(self._cells[HALT]) or (self._home is not None and os.getppid() != self._parent)


@dataclass
class WorkerFailure:
    """The error of a worker: an ``Error`` of this package, or a ``SolverFailure`` with the reason."""

    error: Error

    @classmethod
    def by(cls, error: Exception) -> WorkerFailure:
        """Return an error in a form that can be sent."""
        if isinstance(error, Error):
            return cls(error)
        reason = f"{type(error).__name__}: {error}".strip(": ")
        return cls(
            SolverFailure(f"A process that explored a part of the tree has failed ({reason}).", "branch-and-cut")
        )


class ProcessPool:
    """Workers that keep their part of the tree until another worker has no open node."""

    keeps = True
    first, longest = 0.1, 0.5  # s, of slices
    why = "killed, or out of memory"

    def __init__(self, task: TreeTask, size: int) -> None:
        self.incumbent = SharedMemory()
        self._handles: list[Any] = []
        self._pipes: list[Connection] = []
        for _ in range(size):
            here, there = multiprocessing.Pipe()
            inherited = [*self._pipes, here]
            with without_warnings(DeprecationWarning):  # on threads of BLAS or a display, which workers do not use
                handle = multiprocessing.get_context("fork").Process(
                    target=_serve, args=(task, self.incumbent, there, inherited), daemon=True
                )
                try:
                    handle.start()
                except OSError as error:
                    self.end()
                    raise Unavailable(f"the system cannot start another process ({error})") from error
            there.close()
            self._handles.append(handle)
            self._pipes.append(here)

    def run(
        self, parts: Mapping[int, Slice], take: Callable[[np.ndarray], float], stopped: Callable[[], Any]
    ) -> dict[int, Report]:
        """Explore the slices; return the reports of the workers that are alive.

        ``take``: called with each point; returns the objective of the incumbent. ``stopped``: returns a reason to stop
        now, or None. Raises the error of a worker.
        """
        reports: dict[int, Report] = {}
        waiting: dict[Any, int] = {}  # by pipe
        pipe: Any
        self.incumbent.halt(False)
        for k, part in parts.items():
            with suppress(OSError):  # the worker has ended
                self._pipes[k].send(part)
                waiting[self._pipes[k]] = k
        until = math.inf
        with interrupt.setting_event():
            while waiting and time.perf_counter() < until:
                alive = {pipe for pipe, k in waiting.items() if self._handles[k].is_alive()}
                for pipe in wait(list(waiting), POLL):
                    try:
                        answer = pipe.recv()
                    except (EOFError, OSError):  # the worker has ended
                        answer = None
                    if isinstance(answer, WorkerFailure):
                        raise answer.error
                    if isinstance(answer, tuple):
                        self.incumbent.confirm(take(answer[0]))
                        continue
                    k = waiting.pop(pipe)
                    if answer is not None:
                        reports[k] = answer
                        if not answer.open and not answer.nodes:  # the others give it a share of their nodes
                            self.incumbent.halt(True)
                for pipe in set(waiting) - alive:
                    if not pipe.poll():
                        del waiting[pipe]
                if until == math.inf and stopped():
                    self.incumbent.halt(True)
                    until = time.perf_counter() + PATIENCE
        return reports

    def end(self) -> None:
        """End all workers; their nodes are no longer needed."""
        for handle, pipe in zip(self._handles, self._pipes, strict=True):
            handle.kill()
            handle.join()
            handle.close()
            pipe.close()


def possible() -> bool:
    """Return whether this platform can fork processes."""
    return sys.platform == "linux"


def check_allowed() -> None:
    """Raise Unavailable if this process may not start others, as in a ``multiprocessing.Pool``."""
    if multiprocessing.current_process().daemon:
        raise Unavailable("a daemonic process may not start others")


def _serve(task: TreeTask, incumbent: SharedMemory, home: Connection, inherited: list[Connection]) -> None:
    """Explore slices until the pipe is closed."""
    interrupt.leave_to_parent()
    end_with_parent()
    for pipe in inherited:  # a pipe is closed once every worker has closed its end
        pipe.close()
    incumbent.report_to(home)
    with suppress(EOFError, OSError):
        try:
            with threadpool_limits(1):
                worker = Worker(task, incumbent)
                while True:
                    home.send(worker.explore(home.recv()))
        except (EOFError, OSError):
            raise
        except Exception as error:
            home.send(WorkerFailure.by(error))
