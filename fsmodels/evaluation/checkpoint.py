"""A file of finished runs, so that nothing is computed twice after a kill: a line of JSON each, written at its end.

A run is known by a hash of all that it depends on: the samples to learn from and those held out, with names, labels and
scaling, the model, its words, and the version of the package. A file may so hold the runs of several calls; lines whose
hash nobody asks for are left alone, and a line that a kill cut off is none.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import numbers
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.selection.report import as_json
from fsmodels.version import __version__

__all__ = ["Checkpoint", "fingerprint"]

HEADER = b'{"fsmodels": "finished runs"}\n'
NAMES = ("name",)  # of a data set, which change no result


class Checkpoint:
    """The runs that a file holds.

    Raises ParameterError: the file cannot be read or written, or holds something else.
    """

    def __init__(self, path: str | Path) -> None:
        if not isinstance(path, str | Path):
            raise ParameterError(f"checkpoint got {type(path).__name__}: give the path of a file.")
        self.path = Path(path)
        self.rows: dict[str, dict[str, Any]] = {}
        try:
            held = self.path.read_bytes() if self.path.exists() else b""
            if not held.startswith(HEADER) and not HEADER.startswith(held):
                raise ParameterError(
                    f'checkpoint "{path}" is a file of something else and is left as it is: give a new file, or one '
                    "that an earlier run wrote as its checkpoint."
                )
            for line in held.split(b"\n")[1:]:
                with suppress(ValueError, TypeError, KeyError, RecursionError):  # a line that a kill cut off
                    read = json.loads(line)
                    self.rows[read["run"]] = read["row"]
            with self.path.open("ab") as file:  # refused before the runs, not after the first
                file.write(HEADER[len(held) :] if len(held) < len(HEADER) else b"" if held.endswith(b"\n") else b"\n")
        except OSError as error:
            raise ParameterError(
                f'checkpoint "{path}" cannot be written ({error.strerror}): give a file in a folder that takes files.'
            ) from None
        self.held = frozenset(self.rows)
        self.asked: set[str] = set()

    def known(self, thing: Any) -> tuple[str, dict[str, Any] | None]:
        """Return the hash of a run, and its row where there is one."""
        run = fingerprint(thing)
        self.asked.add(run)
        return run, self.rows.get(run)

    def write(self, run: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Append a finished run; return it as the file holds it."""
        plain: dict[str, Any] = as_json(row)
        self.rows[run] = plain
        try:
            with self.path.open("ab") as file:  # in one piece, which goes to the end whoever else writes
                file.write(json.dumps({"run": run, "row": plain}, allow_nan=False).encode() + b"\n")
        except OSError as error:
            raise ParameterError(f'checkpoint "{self.path}" cannot be written ({error.strerror}).') from None
        return plain

    @property
    def note(self) -> str:
        """What of the file was used, where it held anything at the beginning."""
        if not self.held:
            return ""
        others = len(self.held - self.asked)
        said = f"{len(self.held & self.asked)} of {len(self.asked)} runs were taken from {self.path.name}."
        if others:
            runs = "1 other there is" if others == 1 else f"{others} others there are"
            said += f" {runs} of other data, words or versions, and not used."
        return said


def fingerprint(*things: Any) -> str:
    """Return a hash of values: numbers, text, arrays, data sets, and lists and mappings of them.

    The order in a mapping does not count, and 1 is 1.0. Raises ParameterError: an object that only this process knows.
    """
    told = hashlib.sha256(__version__.encode())
    _feed(told, things, "")
    return told.hexdigest()[:32]


def _feed(told: Any, value: Any, where: str) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str | bytes):
        told.update(f"{type(value).__name__}:{value!r};".encode())
    elif isinstance(value, numbers.Real):
        told.update(f"number:{float(value)!r};".encode())
    elif isinstance(value, Enum):
        _feed(told, value.value, where)
    elif sparse.issparse(value):
        held = value.tocsr()
        _feed(told, [value.shape, held.data, held.indices, held.indptr], where)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        held = np.ascontiguousarray(value)
        told.update(f"array:{held.dtype.str}{held.shape};".encode())
        told.update(held.data)
    elif isinstance(value, Mapping):
        told.update(b"{")
        for key in sorted(value, key=repr):
            _feed(told, [key, value[key]], str(key))
        told.update(b"}")
    elif isinstance(value, set | frozenset):
        _feed(told, sorted(value, key=repr), where)
    elif isinstance(value, list | tuple | range | np.ndarray):
        told.update(b"[")
        for part in value:
            _feed(told, part, where)
        told.update(b"]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        told.update(type(value).__name__.encode())
        left_out = NAMES if isinstance(value, Dataset) else ()
        fields = [part.name for part in dataclasses.fields(value) if part.name not in left_out]
        _feed(told, {name: getattr(value, name) for name in fields}, where)
    elif hasattr(value, "to_numpy"):
        _feed(told, [list(value.index), value.to_numpy()], where)
    else:
        raise ParameterError(
            f"checkpoint: {where or 'a word'} is of type {type(value).__name__}, which a later run cannot recognise: "
            "give plain values (a solver by its name), or leave the checkpoint out."
        )
