"""Whose line it is: the frames of the user's own code, for warnings that point there and for short tracebacks."""

from __future__ import annotations

import linecache
import site
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

__all__ = ["rendered", "warn"]

PACKAGES = ("fsmodels", "solvers")
RED, PLAIN = "\x1b[31m", "\x1b[39m"


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
    """Warn at the user's line: the nearest caller that is neither ours nor in an installed library.

    Where there is none, as in a library that calls us, the nearest that is not ours.
    """
    frames = list(_callers())
    outside = [level for level, name in frames if not _ours(name)]
    users = [level for level, name in frames if _users(name)]
    warnings.warn(message, category, stacklevel=(users or outside or [2])[0])


def _callers() -> Iterator[tuple[int, str]]:
    """Yield stack level, as ``warn`` counts it, and file of each caller of ``warn``."""
    frame: FrameType | None = sys._getframe(2)
    level = 2
    while frame is not None:
        name = frame.f_code.co_filename
        if not ("importlib" in name and "_bootstrap" in name):  # not counted there either
            yield level, name
            level += 1
        frame = frame.f_back


def _ours(name: str) -> bool:
    return name.startswith(OURS)


def _users(name: str) -> bool:
    """Tell whether a file is of the user's own code: a script, a notebook's cell, a prompt."""
    return not (_ours(name) or name.startswith((*LIBRARIES, "<frozen")))


def rendered(error: BaseException) -> list[str]:
    """Return the lines that IPython shows for an error of ours: its message, and the user's lines that led to it.

    ``%tb Verbose``, or ``%xmode Verbose`` for all that follow, shows every frame.
    """
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    tracer = getattr(shell, "InteractiveTB", None)
    if tracer is not None and tracer.mode == "Verbose":
        full: list[str] = tracer.structured_traceback(type(error), error, error.__traceback__)
        return full
    lines = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if _users(name):
            lines.append(f"  {_place(shell, name)}, line {number}: {linecache.getline(name, number).strip()}")
    head = f"{RED}{type(error).__name__}{PLAIN}: {error}"
    return [head, *lines, "  (%tb Verbose shows all frames)"]


def _place(shell: object, name: str) -> str:
    """Return what IPython calls a cell, a file otherwise."""
    told = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(name)
    return " ".join(told) if told else f"File {name}"
