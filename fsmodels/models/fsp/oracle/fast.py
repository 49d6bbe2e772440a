"""Numba's compiler as the oracle uses it: sums in any order, and what is compiled is kept for the next run.

It is kept in the user's cache folder, not beside the source as numba would: pip removes only what it installed, and a
folder of compiled files left behind in site-packages is a package without code to Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.misc.appdirs import AppDirs

SUMS = {"reassoc", "contract", "arcp", "nsz"}  # in any order; nan and inf stay what they are
FOLDER = AppDirs(appname="fsmodels", appauthor=False).user_cache_dir


def fast(function: Callable[..., Any]) -> Any:
    """Return the function as numba compiles it on its first call; NUMBA_CACHE_DIR, where set, says where it is kept.

    Numba asks for the folder when a function is declared. Where it cannot be written, numba looks for another.
    """
    told = config.CACHE_DIR  # not used: ``.numba_config.yaml`` of the working directory can set it
    config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or FOLDER
    try:
        return njit(cache=True, fastmath=SUMS, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = told
