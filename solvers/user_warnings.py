"""Warnings that point at a line of the code of the user."""

from __future__ import annotations

import site
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

PACKAGES = ("fsmodels", "solvers")


def _folder(path: str | Path) -> str:
    return str(path).rstrip("/\\") + ("\\" if "\\" in str(path) else "/")


OURS = tuple(
    _folder(root / name)
    for root in {Path(__file__).parents[1], Path(__file__).resolve().parents[1]}
    for name in PACKAGES
)
LIBRARIES = tuple(
    _folder(path)
    for path in {*site.getsitepackages(), site.getusersitepackages(), *map(sysconfig.get_path, ("stdlib", "platlib"))}
)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the nearest caller that is neither in these packages nor in an installed library.

    If there is none, for example in a library that uses these packages, the nearest caller outside them is taken.
    """
    frames = list(_callers())
    outside = [level for level, name in frames if not name.startswith(OURS)]
    users = [level for level, name in frames if not name.startswith((*OURS, *LIBRARIES, "<frozen"))]
    warnings.warn(message, category, stacklevel=(users or outside or [2])[0])


def _callers() -> Iterator[tuple[int, str]]:
    """Yield the stack level and the file of each caller of ``warn``."""
    frame: FrameType | None = sys._getframe(2)
    level = 2
    while frame is not None:
        name = frame.f_code.co_filename
        if not ("importlib" in name and "_bootstrap" in name):  # ``warnings.warn`` skips these too
            yield level, name
            level += 1
        frame = frame.f_back
