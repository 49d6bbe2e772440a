"""The origin of a report: files and their hashes, columns left out, the command, versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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

__all__ = ["Provenance", "software", "values_hash"]

ALWAYS = ("scipy", "pandas", "scikit-learn", "matplotlib")  # packages that every report uses


@dataclass(frozen=True)
class Provenance:
    """The origin of a report, apart from the data themselves.

    ``command``: what makes the same report again; of the command line if ``of_shell``. ``files``: path, size in bytes
    and SHA-256 of the data file and of others that were read; without any, ``values`` is the hash of the data in
    memory. ``target``, ``dropped``: columns. ``notes``: remarks on the data. ``concepts``: returns the selected
    instances if samples are bags.
    """

    command: str
    of_shell: bool = False
    files: tuple[tuple[str, int, str], ...] = ()
    values: str = ""
    target: str | None = None
    dropped: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    concepts: Callable[[Selection], pd.DataFrame] | None = None

    @classmethod
    def read(cls, command: str, paths: Iterable[str | Path], **facts: Any) -> Provenance:
        """Return the origin of files that are read now. Raises ParameterError: a file cannot be read."""
        return cls(command, files=tuple(map(_hashed, dict.fromkeys(paths))), **facts)


def _hashed(path: str | Path) -> tuple[str, int, str]:
    try:
        content = Path(path).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ParameterError(f'source "{path}" cannot be read ({why}): give the file of the data.') from None
    return str(path), len(content), hashlib.sha256(content).hexdigest()


def values_hash(data: Dataset) -> str:
    """Return the hash of values and labels, as in certificates; of sparse data as CSR."""
    if not data.is_sparse:
        return str(described(data)["sha256"])
    hashed = hashlib.sha256()
    for part, kind in ((data.X.indptr, "<i8"), (data.X.indices, "<i8"), (data.X.data, "<f8"), (data.y, "<f8")):
        hashed.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    return hashed.hexdigest()


def software(found: Selection) -> dict[str, str]:
    """Return versions by name, and the system."""
    known = {name: version for name, version in versions(found).items() if version}
    for name in ALWAYS:
        known.setdefault(name, importlib.metadata.version(name))
    return {**known, "fsmodels": __version__, "system": platform.platform()}
