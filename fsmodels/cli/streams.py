r"""Standard output and error of the command line, which no run depends on.

A reader that went away (``| head -1``), a full disk, a closed stream or a terminal with ASCII only must not end a run
or lose its result: what cannot be written is dropped, what cannot be encoded is written as ``\xe4``. Names in data must
not control the terminal: controls and marks of direction are written as ``\x1b``, except for the styles of rich.
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

    buffer = None  # click would write to it, past this class, where a terminal has ASCII only
    exact = False  # whether the content of a file is written, which gets escapes only in a terminal
    failed: Exception | None = None

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115

    def write(self, text: str) -> int:
        """Write what can be written."""
        with self._failing():
            if not self.exact or self._stream.isatty():
                text = "".join(part if k % 2 else printable(part) for k, part in enumerate(STYLES.split(text)))
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        with self._failing():
            self._stream.flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: closed in the meantime
            self.failed = self.failed or error

    def close(self) -> None:
        """Flush, and keep the interpreter from another try at its end."""
        self.flush()
        if self.failed is not None and self._stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @property
    def lost(self) -> str:
        """Why the stream took no more, "" where its reader went away or closed it."""
        if not isinstance(self.failed, OSError) or self.failed.errno in (errno.EPIPE, errno.EBADF):
            return ""
        return str(self.failed.strerror)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
