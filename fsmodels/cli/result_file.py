"""The file of ``--json``: it is checked before the run and replaced completely or not at all.

A run without a solution does not replace a file that may have one.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsmodels.datasets.files import exists, write_file
from fsmodels.errors import ParameterError

__all__ = ["ResultFile", "check_target"]


def check_target(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a file that cannot be written, or that this run reads or writes otherwise; ``option`` names it.

    Raises ParameterError.
    """
    try:
        real = Path(os.path.realpath(path))
        if not real.parent.is_dir():
            raise FileNotFoundError(2, "no such folder")
        mode = None
        with suppress(FileNotFoundError):
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(21, "it is a folder")
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "it may not be written to")
        if mode is None or stat.S_ISREG(mode):
            tempfile.TemporaryFile(dir=real.parent).close()  # the folder takes files
        same = [
            other
            for other in inputs
            if real == Path(os.path.realpath(other)) or (mode and exists(other) and os.path.samefile(other, path))
        ]
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        why = getattr(error, "strerror", None) or error
        raise ParameterError(
            f'{option} "{path}" cannot be written ({why}): give a file in a folder that exists and takes files.'
        ) from None
    if same:
        raise ParameterError(f'{option} "{path}" is the file "{same[0]}" of this run: give another file.')


class ResultFile:
    """Where a result goes; everything that can be refused is refused before the run.

    ``path``: as the user wrote it; a symbolic link is followed, and what is no regular file (``/dev/stdout``, a pipe)
    is written to as it is. ``inputs``: files that the run reads, or writes otherwise. ``force``: whether a run without
    a solution may replace a file that has one. ``option``: what named it. Raises ParameterError as ``check_target``.
    """

    def __init__(self, path: Path, inputs: Iterable[Path], *, force: bool, option: str = "--json") -> None:
        self.path, self.force, self.option = path, force, option
        check_target(option, path, inputs)
        self._is_file = path.is_file() or not path.exists()

    def write(self, content: dict[str, Any], *, has_solution: bool) -> str:
        """Write a result; return what to tell the user where it was not, else nothing."""
        # A name that is no UTF-8 has lone surrogates, which ``write_file`` writes as JSON escapes.
        text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        if not has_solution and not self.force and self._may_hold_solution():
            return f'"{self.path}" is left as it was, as this run has no solution to put there: --force replaces it.'
        return self.put(text)

    def put(self, text: str) -> str:
        """Write text; return what to tell the user where they were not, else nothing."""
        try:
            write_file(self.path, text)
        except KeyboardInterrupt:
            if self._is_file:
                raise
            return f'cannot write "{self.path}" (Ctrl-C before it was read): give another file with {self.option}.'
        except OSError as error:
            kept = "; what was there is as it was" if self._is_file and self.path.exists() else ""
            return f'cannot write "{self.path}" ({error.strerror}){kept}: give another file with {self.option}.'
        return ""

    def _may_hold_solution(self) -> bool:
        """Tell whether the file there has a result with a solution, or is not known to have none."""
        try:
            old = self.path.read_bytes() if self._is_file else b""
        except FileNotFoundError:
            return False
        except OSError:
            return True
        if not old.strip():
            return False
        try:
            before = json.loads(old)
        except (ValueError, RecursionError):
            return True
        return not (isinstance(before, dict) and before.get("status") and before.get("selected") is None)
