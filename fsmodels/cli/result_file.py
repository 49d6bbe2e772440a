"""The file of ``--json``: what was there before stays whole until the new result replaces it in one step.

The text is written to a file beside it, forced to the disk and renamed over the old name, so that a full disk, a limit
on the size of files or Ctrl-C leave either the old file or the new one. A run without a solution leaves a file that
may hold one alone.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsmodels.errors import ParameterError

__all__ = ["ResultFile", "check_target"]


def check_target(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a file to write that is read, or written otherwise, by this run, or is in no folder.

    Raises ParameterError.
    """
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise ParameterError(
            f'{option} "{path}" cannot be written (no such folder): give a file in a folder that exists.'
        )
    if real.is_dir():
        raise ParameterError(f'{option} "{path}" is a folder: give a file.')
    for other in inputs:
        if real == Path(os.path.realpath(other)) or (
            real.exists() and other.exists() and os.path.samefile(real, other)
        ):
            raise ParameterError(f'{option} "{path}" is the file "{other}" of this run: give another file.')


class ResultFile:
    """Where a result goes; everything that can be refused is refused before the run.

    ``path``: as the user wrote it; a symbolic link is followed, and what is no regular file (``/dev/stdout``, a pipe)
    is written to as it is. ``inputs``: files that the run reads, or writes otherwise. ``force``: whether a run without
    a solution may replace a file that has one. ``option``: what named it. Raises ParameterError if the file cannot be
    written, or is one of the inputs, whatever their names.
    """

    def __init__(self, path: Path, inputs: Iterable[Path], *, force: bool, option: str = "--json") -> None:
        self.path, self.force, self.option = path, force, option
        try:
            self._check(inputs)
        except ParameterError:
            raise
        except (OSError, ValueError) as error:  # ValueError: a name with a null byte
            why = getattr(error, "strerror", None) or error
            raise ParameterError(
                f'{option} "{path}" cannot be written ({why}): give a file in a folder that exists and takes files.'
            ) from None

    def _check(self, inputs: Iterable[Path]) -> None:
        self._real = Path(os.path.realpath(self.path))
        self._mode: int | None = None
        if not self._real.parent.is_dir():
            raise FileNotFoundError(2, "no such folder")
        with suppress(FileNotFoundError):
            self._mode = os.stat(self.path).st_mode
            for other in inputs:
                if other.exists() and os.path.samefile(other, self.path):
                    raise ParameterError(
                        f'{self.option} "{self.path}" is the file "{other}" that this run reads: give another file.'
                    )
            if stat.S_ISDIR(self._mode):
                raise IsADirectoryError(21, "it is a folder")
            if not os.access(self.path, os.W_OK):
                raise PermissionError(13, "it may not be written to")
        if self._is_file:
            os.close(os.open(beside := self._beside(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            os.unlink(beside)

    @property
    def _is_file(self) -> bool:
        return self._mode is None or stat.S_ISREG(self._mode)

    def _beside(self) -> Path:
        # not made of the file's own name, which may be as long as names can be
        return self._real.parent / f".fsmodels-{secrets.token_hex(8)}.part"

    def write(self, content: dict[str, Any], *, has_solution: bool) -> str:
        """Write a result; return what to tell the user where it was not, else nothing."""
        # A name that is no UTF-8 has lone surrogates: their JSON escapes are just what this writes for them.
        text = (json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )
        if not has_solution and not self.force and self._may_hold_solution():
            return f'"{self.path}" is left as it was, as this run has no solution to put there: --force replaces it.'
        return self.put(text)

    def put(self, text: bytes) -> str:
        """Write bytes; return what to tell the user where they were not, else nothing."""
        try:
            if self._is_file:
                self._replace(text)
            else:
                self.path.write_bytes(text)
        except OSError as error:
            kept = "; what was there is as it was" if self._mode is not None and self._is_file else ""
            return f'cannot write "{self.path}" ({error.strerror}){kept}: give another file with {self.option}.'
        return ""

    def _replace(self, text: bytes) -> None:
        beside = self._beside()
        try:
            handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            with open(handle, "wb") as file:
                file.write(text)
                file.flush()
                if self._mode is not None:
                    os.chmod(beside, stat.S_IMODE(self._mode))
                os.fsync(file.fileno())
            os.replace(beside, self._real)
        except BaseException:  # Ctrl-C too
            with suppress(OSError):
                os.unlink(beside)
            raise

    def _may_hold_solution(self) -> bool:
        """Tell whether the file there has a result with a solution, or is not known to have none."""
        try:
            old = self._real.read_bytes() if self._is_file else b""
        except FileNotFoundError:
            return False
        except OSError:
            return True
        if not old.strip():
            return False
        try:
            before = json.loads(old)
        except ValueError:
            return True
        return not (isinstance(before, dict) and before.get("status") and before.get("selected") is None)
