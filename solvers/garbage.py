"""Python's search for reference cycles, put off while millions of expressions are made.

A dense model is some million small objects, none of them garbage; looking through them again and again takes longer
than making them (5000 x 800: 9 s against 3).
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0  # how many are in ``put_off``
_was_on = False


@contextmanager
def put_off() -> Iterator[None]:
    """Collect no garbage until the last of those inside has left, in any thread."""
    global _inside, _was_on
    with _lock:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.enable()
