"""Child processes: they run no code of the working directory and end with their parent."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from solvers.shared_state import process_wide

__all__ = ["end_with_parent", "safe_path", "search_path_only"]

VARIABLE = "PYTHONSAFEPATH"  # Python does not add the working directory to the import path where it is set
POLL = 1.0  # s


@process_wide
@contextmanager
def safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH for processes that are started inside; the import path of this process does not change.

    Python starts workers and their resource tracker by ``-m`` and ``-c``, which would import a module ``joblib`` there.
    """
    before = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        os.environ.update(before)


def search_path_only(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return a finder of Pyomo that, under a safe path, does not look for a bare name in the working directory.

    Pyomo looks there first and would run ``./cbc``. A name with a folder, such as ``./cbc``, is found as before.
    """

    def found(name: str, cwd: bool = True, **words: Any) -> Any:
        safe = sys.flags.safe_path or os.environ.get(VARIABLE)
        return find(name, cwd=cwd and not (safe and os.path.basename(name) == name), **words)

    return found


def end_with_parent() -> None:
    """End this worker process when its parent has ended, also where the parent was killed; may be called again.

    Does nothing in a process that is no worker, and on Windows.
    """
    import multiprocessing  # takes long, and workers have imported it

    if multiprocessing.parent_process() is not None:
        _watch_parent(os.getpid())


@cache  # by process: a forked one has the cache of its parent, and not its threads
def _watch_parent(process: int) -> None:
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        os._exit(1)

    threading.Thread(target=watch, name="fsmodels-parent", daemon=True).start()
