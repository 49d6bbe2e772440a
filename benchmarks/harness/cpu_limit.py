"""A limit in CPU seconds of the process, for solves on a machine that is shared.

    with cpu_limit(3.0) as limit:
        result = fs.solve(model, "benders")
    limit.reached  # whether it ended the solve

At the limit Ctrl-C is pressed, at which a solve returns its incumbent and bound. POSIX only; elsewhere, and outside the
main thread, it raises ValueError or AttributeError.
"""

import signal
from contextlib import contextmanager
from dataclasses import dataclass

AGAIN = 10.0  # CPU seconds from press to press: a KeyboardInterrupt raised inside a weak reference's callback is lost


@dataclass
class Limit:
    """Limit of CPU seconds; ``reached`` is True if it ended the block."""

    reached: bool = False


@contextmanager
def cpu_limit(seconds):
    """Press Ctrl-C once the process has used so many CPU seconds, all threads together."""
    limit = Limit()

    def press(number, frame):
        limit.reached = True
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGPROF, press)
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.SIG_IGN:  # as in a background job of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
    try:
        yield limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        signal.signal(signal.SIGINT, heard)
