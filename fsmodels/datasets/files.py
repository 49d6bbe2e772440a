"""Files as paths: what is there, what may be read, and how the rest is refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fsmodels.errors import DataError
from fsmodels.words import listed, suggestion

__all__ = ["as_path", "check_file", "exists", "is_file", "title"]

TABLES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".xlsx", ".xlsm", ".parquet")


def as_path(path: Any) -> Path:
    """Return the path of a file as a Path. Raises DataError if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"This needs the path of a file and got {type(path).__name__}: give text or a pathlib.Path.")
    return Path(path)


def title(path: Path) -> str:
    """Name data after their file: without what says how it is packed, and that it is a table."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in TABLES if name.endswith(end) and name != end), name)


def exists(path: Path) -> bool:
    """Tell whether there is something of this name; a name that no folder can hold is none."""
    try:
        return path.exists()
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Tell whether there is a file of this name; a name that no folder can hold is none."""
    return exists(path) and path.is_file()


def check_file(path: Path, kind: str, beside: Callable[[str], bool]) -> None:
    """Refuse what is no file to read, twice if need be: nothing, a folder, a pipe, a device.

    Raises DataError, naming the files of the folder that ``beside`` takes for one of this kind.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        here = [p.name for p in path.parent.iterdir() if beside(p.name)] if path.parent.is_dir() else []
        raise DataError(_missing(path, here, kind)) from None
    except (OSError, ValueError) as error:
        raise DataError(
            f'File "{path}" cannot be read ({getattr(error, "strerror", None) or error}): check its name and that '
            "you may read it."
        ) from None
    if stat.S_ISDIR(mode):
        raise DataError(f'"{path}" is a folder: give the path of a {kind} file.')
    if not stat.S_ISREG(mode):
        raise DataError(
            f'"{path}" is no regular file but a pipe or a device, which cannot be read twice: write what it gives to '
            "a file first."
        )


def _missing(path: Path, beside: Sequence[str], kind: str) -> str:
    """Say that there is no such file, and which files of its kind are in the folder."""
    here = f"{kind} files in {path.parent.resolve()}: {listed(sorted(beside))}." if beside else "Check the path."
    return f'There is no file "{path}". {suggestion(path.name, beside)}{here}'
