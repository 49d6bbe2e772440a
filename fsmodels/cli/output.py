r"""Output of the command line: exit codes, standard output and error, and the file of ``--json``.

A closed pipe (``| head -1``), a full disk, a closed stream or a terminal with ASCII only does not end a run or lose its
result: text that cannot be written is dropped, characters that cannot be encoded are written as ``\xe4``. Control
characters in names, also of text direction, are written as ``\x1b``, except for the styles of rich.

The file of ``--json`` is checked before the run and replaced completely or not at all. A run without a solution does
not replace a file that may have one.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fsmodels.datasets.files import write_file
from fsmodels.errors import ParameterError
from solvers.progress import paused, printable

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

BAD_INPUT, NO_SOLUTION = 2, 3  # exit codes
MANY = 8  # columns of a table that is set closely
NUMBER = re.compile(r"(?:[-+]?\d|$)")  # a cell that is aligned to the right
STYLES = re.compile(r"(\x1b\[(?:(?:[0-4]|31);?)+m)")  # plain, bold, dim, italic, underlined, red


def complain(what: str, text: str) -> None:
    """Write a line to standard error; control characters are escaped, as a live display bypasses ``Guard``."""
    with paused():
        print(printable(f"{what}: {text}"), file=sys.stderr)


def show(*parts: Any) -> None:
    """Write texts and tables of a report to standard output; a terminal wraps text at words.

    A table, also a DataFrame of texts, has the width of the terminal, and 80 characters in a file.
    """
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    for part in parts:
        soft_wrap = isinstance(part, str) and not console.is_terminal
        console.print(_as_table(part) if hasattr(part, "iterrows") else part, soft_wrap=soft_wrap)


def _as_table(frame: pd.DataFrame) -> Table:
    """Return a table of texts: numbers on the right, other texts and titles wrapped at words."""
    from rich.table import Table
    from rich.text import Text

    frame = frame.reset_index().astype(str)
    apart = 2 if len(frame.columns) < MANY else 1  # columns of spaces; with folds, a path has 80 columns of text
    table = Table(box=None, padding=(0, apart, 0, 0), pad_edge=False)
    for title in map(str, frame):
        cells = list(frame[title])
        if all(NUMBER.match(cell) for cell in cells):
            width = max(map(len, [*title.split(), *cells, "Objective"]))
            ranges = any(" " in cell for cell in cells)  # "1.2 to 1.4" may be wrapped, a number may not
            table.add_column(textwrap.fill(title, width), justify="right", no_wrap=not ranges)
        else:
            table.add_column(title, overflow="fold")
    for cells in frame.itertuples(index=False):
        table.add_row(*map(Text, cells))
    return table


class Guard:
    """Text stream that never fails; ``failed`` is the first error of the underlying stream."""

    buffer = None  # click would write to it directly if a terminal has ASCII only
    exact = False  # True for the content of a file, which is escaped only in a terminal
    failed: Exception | None = None

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115

    def write(self, text: str) -> int:
        """Write text as far as possible."""
        with self._failing():
            if not self.exact or self._stream.isatty():
                text = "".join(part if k % 2 else printable(part) for k, part in enumerate(STYLES.split(text)))
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        with self._failing():
            self._stream.flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # ValueError: closed in the meantime
            self.failed = self.failed or error

    def close(self) -> None:
        """Flush, and prevent another attempt at the end of the interpreter."""
        self.flush()
        if self.failed is not None and self._stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @property
    def lost(self) -> str:
        """The reason for a failure, "" if the reader closed the stream."""
        if not isinstance(self.failed, OSError) or self.failed.errno in (errno.EPIPE, errno.EBADF):
            return ""
        return str(self.failed.strerror)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Iterator[tuple[Guard, Guard]]:
    """Replace standard output and error by guards."""
    for number in range(3):  # solvers write to these numbers, so a file opened later must not get them
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


class ResultFile:
    """Output file of a run; it is checked before the run and replaced completely or not at all.

    ``path``: a symbolic link is followed; a device or a pipe is written to directly. ``inputs``: other files that the
    run reads or writes. ``option``: the option of the file. ``force``: True if a run without a solution may replace a
    file that has one.

    Raises ParameterError: the file cannot be written, or is one of the inputs.
    """

    def __init__(self, path: Path, inputs: Iterable[Path], *, option: str = "--json", force: bool = False) -> None:
        self.path, self.force, self.option = path, force, option
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
                    raise PermissionError(13, "it is not writable")
            self._is_file = mode is None or stat.S_ISREG(mode)
            if self._is_file:
                tempfile.TemporaryFile(dir=real.parent).close()  # the folder is writable
            same = [
                other
                for other in inputs
                if real == Path(os.path.realpath(other))
                or (mode and os.path.exists(other) and os.path.samefile(other, path))
            ]
        except (OSError, ValueError) as error:  # ValueError: a name with a null byte
            why = getattr(error, "strerror", None) or error
            raise ParameterError(
                f'{option} "{path}" cannot be written ({why}): give a file in a writable folder.'
            ) from None
        if same:
            raise ParameterError(f'{option} "{path}" is the file "{same[0]}" of this run: give another file.')

    def write(self, content: dict[str, Any], *, has_solution: bool) -> None:
        """Write a result as JSON. Raises ParameterError as ``put``; without a solution, a failure is a note."""
        # A name that is not UTF-8 has lone surrogates, which ``write_file`` writes as JSON escapes.
        text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        try:
            if not has_solution and not self.force and self._may_hold_solution():
                raise ParameterError(
                    f'"{self.path}" is not replaced, because this run has no solution: --force replaces it.'
                )
            self.put(text)
        except ParameterError as error:
            if has_solution:
                raise
            complain("Note", str(error))

    def put(self, content: str | bytes) -> None:
        """Write text or bytes. Raises ParameterError: the file cannot be written."""
        try:
            write_file(self.path, content)
        except (KeyboardInterrupt, OSError) as error:
            if isinstance(error, OSError):
                kept = "; its content is unchanged" if self._is_file and self.path.exists() else ""
                why = f"({error.strerror}){kept}"
            elif self._is_file:
                raise
            else:
                why = "(Ctrl-C before it was read)"
            raise ParameterError(f'{self.option} "{self.path}" cannot be written {why}: give another file.') from None

    def _may_hold_solution(self) -> bool:
        """Return False if there is no file, or its result has no solution."""
        try:
            old = self.path.read_bytes().strip() if self._is_file else b""
            before = json.loads(old or b"null")
        except FileNotFoundError:
            return False
        except (OSError, ValueError, RecursionError):
            return True
        unsolved = isinstance(before, dict) and before.get("status") and before.get("selected") is None
        return bool(old) and not unsolved
