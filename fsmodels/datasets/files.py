"""Checks of files that are read, and atomic replacement of files that are written."""

from __future__ import annotations

import gzip
import math
import os
import secrets
import stat
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsmodels.errors import DataError
from fsmodels.text import listed, suggestion
from solvers import interrupt

JSON_BYTES = 25  # of memory for a byte of JSON: short lists and objects need as much

CHUNK = 2**24  # bytes that are read at a time
COPIES = 2  # of the content of a file in memory: bytes, and text or numbers
TABLES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".xlsx", ".xlsm", ".parquet")
LIBSVM = (".svm", ".svmlight", ".libsvm")


def as_path(path: Any) -> Path:
    """Return the path of a file as a Path. Raises DataError: not a path."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"This needs the path of a file and got {type(path).__name__}: give text or a pathlib.Path.")
    return Path(path)


def title(path: Path) -> str:
    """Return the name of the data: the file name without the extensions for compression and format."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in (*TABLES, *LIBSVM) if name.endswith(end) and name != end), name)


def is_svmlight(path: Path) -> bool:
    """Return True if the name of a file has an extension of the svmlight format, plain or gzipped."""
    return path.name.lower().removesuffix(".gz").endswith(LIBSVM)


def check_file(path: Path, kind: str = "CSV or Excel", ends: tuple[str, ...] = TABLES) -> None:
    """Check that a path is a regular file that can be read.

    Raises DataError; for a missing file, with the files of its folder whose names end with one of the ``ends``.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        others = path.parent.iterdir() if path.parent.is_dir() else ()
        names = sorted(p.name for p in others if p.name.lower().removesuffix(".gz").endswith(ends))
        here = f"{kind} files in {path.parent.resolve()}: {listed(names)}." if names else "Check the path."
        raise DataError(f'There is no file "{path}". {suggestion(path.name, names)}{here}') from None
    except (OSError, ValueError) as error:
        raise DataError(
            f'File "{path}" cannot be read ({getattr(error, "strerror", None) or error}): check its name and that '
            "you may read it."
        ) from None
    if stat.S_ISDIR(mode):
        raise DataError(f'"{path}" is a folder: give the path of a {kind} file.')
    if not stat.S_ISREG(mode):
        raise DataError(
            f'"{path}" is no regular file but a pipe or a device, which cannot be read twice: write its content to a '
            "file first."
        )


def available_memory() -> float:
    """Return the bytes of memory that can be used without swapping; infinity if the system does not report them."""
    found = [math.inf]
    with suppress(OSError, ValueError):
        facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        found.append(1024 * int(facts.get("MemAvailable", "").removesuffix("kB")))
    with suppress(OSError, ValueError):  # of a container; "max" if it has no limit
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(found)


def check_fits(path: Path, needed: float, available: float | None = None) -> None:
    """Raise DataError for data that need more bytes of memory than are available.

    ``available``: bytes that were available before a part of the data was read.
    """
    available = available_memory() if available is None else available
    if needed > available:
        raise DataError(
            f'File "{path}" needs at least {needed / 1e9:.3g} GB of memory, and {available / 1e9:.3g} GB are '
            "available: give fewer rows or columns, or use a computer with more memory."
        )


def content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it is gzipped.

    Raises DataError: the file cannot be read, or its content does not fit into memory.
    """
    available, raw = available_memory(), bytearray()
    try:
        with path.open("rb") as file:
            source = gzip.GzipFile(fileobj=file) if file.peek(2).startswith(b"\x1f\x8b") else file
            while part := source.read(CHUNK):
                raw += part
                check_fits(path, COPIES * len(raw), available)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f'File "{path}" cannot be read ({error}): check that it is complete and that you may read it.'
        ) from None
    return bytes(raw)


def json_text(path: str | Path) -> str:
    """Return the text of a JSON file. Raises OSError; DataError: its content does not fit into memory."""
    check_fits(Path(path), JSON_BYTES * os.stat(path).st_size)
    return Path(path).read_text(encoding="utf-8")


def write_file(path: str | Path, content: str | bytes) -> None:
    """Replace the content of a file completely or not at all.

    The content is written to a new file in the same folder, forced to the disk and renamed. A full disk, a limit on
    the size of files or Ctrl-C leave the old file unchanged. Permissions and, where allowed, the owner are kept;
    symbolic links are followed. Pipes, devices and standard output are written directly; Ctrl-C ends the wait for the
    reader of a pipe.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    old = None
    with suppress(FileNotFoundError):
        old = os.stat(path)
    if old is not None and (target := _direct_target(path, old)) is not None:
        with interrupt.raising(), open(target, "wb") as file:
            file.write(data)
        return
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(13, os.strerror(13))
    real = os.path.realpath(path)
    part = os.path.join(
        os.path.dirname(real), f".fsmodels-{secrets.token_hex(8)}.part"
    )  # ``real`` can have full length
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                with suppress(OSError, AttributeError):  # only root may give a file away; Windows has no owner
                    os.chown(part, old.st_uid, old.st_gid)
                os.chmod(part, stat.S_IMODE(old.st_mode))
            os.fsync(file.fileno())
        os.replace(part, real)
    except BaseException:  # includes Ctrl-C
        with suppress(OSError):
            os.unlink(part)
        raise


def _direct_target(path: str | Path, there: os.stat_result) -> str | Path | int | None:
    """Return what to open if a path must be written directly; None for a regular file."""
    for number in (1, 2):  # ``/dev/stdout`` can be a regular file, whose position only this descriptor has
        with suppress(OSError):
            if os.path.samestat(there, os.fstat(number)):
                return os.dup(number)
    return None if stat.S_ISREG(there.st_mode) else path
