"""HiGHS as a Pyomo solver without redirected output, and runs of HiGHS that Ctrl-C can stop.

Pyomo's interface redirects the output of the process while HiGHS runs, which deadlocks threads and loses their output.
Its handling of Ctrl-C prints. Here HiGHS is silent, or writes its log by callback.

HiGHS has one pool of threads for each thread that calls it, and rejects another number of threads while the pool
exists. Each solve therefore runs in a new thread and closes its pool. Most parts of HiGHS read the time limit during
the run, so that a limit of 0 stops them within milliseconds. The interior-point method, and linear programs in a tree,
are stopped by callback.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import highspy
from pyomo.contrib.solver.solvers.highs import Highs

from solvers import interrupt


class _Quiet(highspy.Highs):
    def enableCallbacks(self) -> None:  # noqa: N802 - the first call in the constructor of highspy
        """Turn the output off before the first call, with which highspy 1.16 prints its banner."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def quiet_highs() -> highspy.Highs:
    """Return a new HiGHS, without output.

    >>> quiet_highs().getOptionValue("output_flag")[1]
    False
    """
    highs = _Quiet()
    highs.setOptionValue("output_flag", False)  # for versions whose constructor enables no callbacks
    return highs


@contextmanager
def interruptible(callbacks: Sequence[Any], stopping: threading.Event) -> Iterator[None]:
    """Let some callbacks of HiGHS stop it when an event is set."""

    def stop(event: Any) -> None:
        if stopping.is_set():
            event.interrupt()

    for callback in callbacks:
        callback.subscribe(stop)
    try:
        yield
    finally:
        for callback in callbacks:
            callback.unsubscribe(stop)


def run(highs: highspy.Highs, stop_event: threading.Event | None = None) -> None:
    """Run HiGHS in a new thread that Ctrl-C can stop; see ``interrupt.attended``."""
    stopping = threading.Event()

    def stop() -> None:
        stopping.set()
        highs.setOptionValue("time_limit", 0.0)

    def work() -> None:
        try:
            highs.run()
        finally:
            highspy.Highs.resetGlobalScheduler(False)  # the pool of this thread

    with interruptible((highs.cbIpmInterrupt, highs.cbMipInterrupt), stopping):
        interrupt.attended(work, stop, stop_event)


class QuietHighs(Highs):
    """Pyomo's ``highs`` without its capture of the output of the process.

    ``stop_event``: event that Ctrl-C sets during a solve; without an event the solve raises ``KeyboardInterrupt``.
    """

    stop_event: threading.Event | None = None

    def set_instance(self, model: Any) -> None:
        """Compile a model."""
        if self._last_results_object is not None:
            self._last_results_object.solution_loader.invalidate()
        stop_event = self.stop_event
        self._reinit()
        self.stop_event, self._model = stop_event, model
        self._solver_model = quiet_highs()
        self.add_block(model)
        if self._objective is None:
            self.set_objective(None)

    def _solve(self) -> Any:
        config, highs, log = self._active_config, self._solver_model, io.StringIO()
        common = {"threads": config.threads, "time_limit": config.time_limit}
        common |= {"mip_rel_gap": config.rel_gap, "mip_abs_gap": config.abs_gap}

        def show(event: Any) -> None:
            for stream in (log, *config.tee):
                stream.write(event.message)

        highs.setOptionValue("output_flag", False)
        for name, value in {**{k: v for k, v in common.items() if v is not None}, **config.solver_options}.items():
            highs.setOptionValue(name, value)
        if config.tee:
            highs.cbLogging.subscribe(show)
            highs.setOptionValue("output_flag", True)
            highs.setOptionValue("log_to_console", True)  # passes the log to the callback
        config.timer.start("optimize")
        try:
            run(highs, self.stop_event)
        finally:
            config.timer.stop("optimize")
            if config.tee:
                highs.cbLogging.unsubscribe(show)
        return self._postsolve(log)
