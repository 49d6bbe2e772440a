"""Where a report comes from: files and their hashes, what was left out, the command, the date, versions."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fsmodels.certificates.document import described
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.selection.report import versions
from fsmodels.selection.selection import Selection
from fsmodels.version import __version__

__all__ = ["InputFile", "Provenance", "now", "software", "values_hash"]

BESIDES = ("scipy", "pandas", "scikit-learn", "matplotlib")  # of every report


@dataclass(frozen=True)
class InputFile:
    """A file as it was read: its path, its size in bytes, and the SHA-256 of these bytes."""

    path: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: str | Path) -> InputFile:
        """Read a file. Raises ParameterError if that fails."""
        try:
            with open(path, "rb") as file:
                hashed = hashlib.file_digest(file, "sha256")
                size = file.tell()
        except (OSError, TypeError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ParameterError(
                f'source "{path}" cannot be read ({why}): give the file that the data are of.'
            ) from None
        return cls(str(path), size, hashed.hexdigest())


@dataclass(frozen=True)
class Provenance:
    """What a report says of its origin, besides the data themselves.

    ``command``: what makes the same again; of the command line where ``of_shell``. ``files``: the data first, then
    others that were read; without any, ``values`` is the hash of the data as they were given. ``target``,
    ``dropped``: columns, where they are known. ``notes``: what was said of the data. ``concepts``: what returns the
    selected instances, where samples are bags.
    """

    command: str
    of_shell: bool = False
    files: tuple[InputFile, ...] = ()
    values: str = ""
    target: str | None = None
    dropped: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    concepts: Callable[[Selection], pd.DataFrame] | None = None
    made: str = field(default_factory=lambda: now())

    @classmethod
    def read(cls, command: str, paths: Iterable[str | Path], **facts: Any) -> Provenance:
        """Return the origin of files that are read now."""
        return cls(command, files=tuple(InputFile.of(path) for path in dict.fromkeys(paths)), **facts)


def now() -> str:
    """Return date and time of this place, for people."""
    return datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z").strip()


def values_hash(data: Dataset) -> str:
    """Return the hash of values and labels, as certificates have it, where there is no file; of sparse data as CSR."""
    if not data.is_sparse:
        return str(described(data)["sha256"])
    hashed = hashlib.sha256()
    for part, kind in ((data.X.indptr, "<i8"), (data.X.indices, "<i8"), (data.X.data, "<f8"), (data.y, "<f8")):
        hashed.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    return hashed.hexdigest()


def software(found: Selection) -> dict[str, str]:
    """Return versions by name, and the system."""
    known = {name: version for name, version in versions(found).items() if version}
    for name in BESIDES:
        known.setdefault(name, importlib.metadata.version(name))
    return {**known, "fsmodels": __version__, "system": platform.platform()}
