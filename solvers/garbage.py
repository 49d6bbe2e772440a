"""Python's search for reference cycles, put off while millions of expressions are made.

A dense model is some million small objects, none of them garbage; looking through them again and again takes longer
than making them (5000 x 800: 9 s against 3). Afterwards they go where the long-lived are, unseen: the next search would
else look through all of them three times, as it does with what is young (2 s).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from solvers.shared_state import process_wide

MANY = 1_000_000  # objects, from which on it pays

_searches = -1  # how many of everything there had been when objects last went there unseen


@process_wide
@contextmanager
def put_off() -> Iterator[None]:
    """Collect no garbage until the last of those inside has left, in any thread."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        _take_for_old()
        gc.enable()


def _take_for_old() -> None:
    """Let many young objects count as old, but not twice without a search of everything: models are cycles."""
    global _searches
    done = gc.get_stats()[-1]["collections"]
    if gc.get_count()[0] >= MANY and done != _searches and gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()  # to the oldest
        _searches = done
