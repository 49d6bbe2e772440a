r"""Standard output and error of the command line, which no run depends on.

A reader that went away (``| head -1``), a full disk, a closed stream or a terminal that knows only ASCII must not end a
run or lose its result: what cannot be written is dropped, what cannot be encoded is written as ``\xe4``. Names in data
must not control the terminal: its controls and marks of direction are written as ``\x1b``, but for the bold type and
the like of rich.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from solvers.display import printable

STYLES = re.compile(r"(\x1b\[(?:(?:[0-4]|31);?)+m)")  # plain, bold, dim, italic, underlined, red


class Guard:
    """A text stream that takes everything; ``failed`` is the first error of the stream behind it."""

    exact = False  # whether what is written is a file's content, which only a terminal gets with escapes

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        self.failed: OSError | None = None

    def write(self, text: str) -> int:
        """Write what can be written."""
        self._try(self._write, text)
        return len(text)

    def _write(self, text: str) -> None:
        if not self.exact or self._stream.isatty():
            text = "".join(part if k % 2 else printable(part) for k, part in enumerate(STYLES.split(text)))
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        """Pass on what is buffered."""
        self._try(self._stream.flush)

    def _try(self, work: Any, *arguments: Any) -> None:
        if self.failed is None:
            try:
                work(*arguments)
            except OSError as error:
                self.failed = error
            except ValueError:  # closed in the meantime
                self.failed = OSError(errno.EBADF, os.strerror(errno.EBADF))

    def close(self) -> None:
        """Flush, and keep the interpreter from another try at its end."""
        self.flush()
        if self.failed is not None and self._stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @property
    def lost(self) -> str:
        """Why the stream took no more, where its reader would want to know: not that he went away or closed it."""
        silent = (errno.EPIPE, errno.EBADF)
        return "" if self.failed is None or self.failed.errno in silent else str(self.failed.strerror)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def exact() -> Iterator[None]:
    """Write the content of a file to standard output: escapes are for a terminal only."""
    out = sys.stdout
    if isinstance(out, Guard):
        out.exact = True
    try:
        yield
    finally:
        if isinstance(out, Guard):
            out.exact = False


@contextmanager
def guarded() -> Iterator[tuple[Guard, Guard]]:
    """Put guards before standard output and error."""
    for number in range(3):  # a file opened later must not get the number of a closed stream, which solvers write to
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    before = sys.stdout, sys.stderr
    out, err = Guard(before[0]), Guard(before[1])
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        out.close()
        err.close()
        sys.stdout, sys.stderr = before
