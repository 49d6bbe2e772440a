"""Limit and measure the CPU seconds of a solve, because wall-clock time depends on the load of the machine.

    with cpu_limit(3.0) as limit:
        result = fs.solve(model, "benders")
    limit.reached  # True if the limit interrupted the solve

At the limit the process receives SIGINT, as after Ctrl-C, and the solve returns its incumbent and bound. POSIX only: on
other systems AttributeError is raised, and outside the main thread ValueError.
"""

import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass

import solvers

REPEAT = 10.0  # CPU seconds between signals: Python drops a KeyboardInterrupt in the callback of a weak reference


@dataclass
class Limit:
    """State of a limit; ``reached`` is True if the limit interrupted the block."""

    reached: bool = False


@contextmanager
def cpu_limit(seconds):
    """Interrupt the block when the process has used this many CPU seconds, summed over its threads."""
    limit = Limit()

    def interrupt(number, frame):
        limit.reached = True
        signal.raise_signal(signal.SIGINT)

    profile_handler = signal.signal(signal.SIGPROF, interrupt)
    interrupt_handler = signal.getsignal(signal.SIGINT)
    if interrupt_handler is signal.SIG_IGN:  # shells start background jobs with SIGINT ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT)
    try:
        yield limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, profile_handler)
        signal.signal(signal.SIGINT, interrupt_handler)


def limited_solve(model, solver, seconds, **options):
    """Solve a model on one thread within a limit of CPU seconds; return the result and its record for a log."""
    cpu, wall = time.process_time(), time.perf_counter()
    with cpu_limit(seconds):
        found = solvers.solve(model, solver, threads=1, **options)
    record = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "status": found.status.value}
    record |= {"objective": found.objective, "bound": found.bound, "gap": found.gap}
    return found, record | {"nodes": found.details.get("nodes")}
