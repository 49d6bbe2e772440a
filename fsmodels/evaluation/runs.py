"""Runs on folds by workers, with a ``joblib.Memory`` that keeps the finished ones."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from fsmodels.errors import ParameterError
from fsmodels.evaluation.fold_run import FAILED, FoldRun, was_interrupted
from fsmodels.selection.report import as_json
from fsmodels.selection.workers import each
from fsmodels.version import __version__

__all__ = ["FoldRunner"]


class FoldRunner:
    """Runs on folds by ``n_jobs`` workers; ``memory`` is a folder or a ``joblib.Memory`` with finished runs.

    Raises ParameterError: ``memory`` is something else, or a folder that cannot be written.
    """

    def __init__(self, n_jobs: int | None, memory: Any) -> None:
        import joblib

        if memory is not None and not isinstance(memory, str | Path) and not hasattr(memory, "cache"):
            raise ParameterError(f"memory got {type(memory).__name__}: give a folder or a joblib.Memory.")
        try:
            if isinstance(memory, str | Path):
                Path(memory).mkdir(parents=True, exist_ok=True)
            self.memory = memory if hasattr(memory, "cache") else joblib.Memory(memory, verbose=0)
            self._finished = self.memory.cache(_finished, ignore=["row"], verbose=0)
        except OSError as error:
            raise ParameterError(
                f'memory="{memory}" is not a folder that can be written ({error.strerror}). Give another folder.'
            ) from None
        self.n_jobs = n_jobs
        self._read = self._requested = 0

    def rows(self, runs: Sequence[FoldRun], what: str = "fold") -> list[dict[str, Any] | None]:
        """Return the row of each run; None where Ctrl-C came first. ``what``: the word for a run in progress lines.

        Raises KeyboardInterrupt if no run was finished.
        """
        keys = [_key(run) if self.memory.location else "" for run in runs]
        rows = [self._earlier(key) for key in keys]
        missing = [k for k, row in enumerate(rows) if row is None]
        self._read += len(rows) - len(missing)
        self._requested += len(rows)

        def done(place: int, row: dict[str, Any]) -> None:
            k = missing[place]
            if FAILED in row:  # not kept: another attempt may succeed
                rows[k] = row
            elif not was_interrupted(row):
                rows[k] = self._finished(keys[k], as_json(row))

        each(methodcaller("run"), [runs[k] for k in missing], self.n_jobs, done, what, attrgetter("label"))
        if rows and not any(row is not None for row in rows):
            raise KeyboardInterrupt
        return rows

    def _earlier(self, key: str) -> dict[str, Any] | None:
        with suppress(LookupError):
            return self._finished(key, None)
        return None

    @property
    def note(self) -> str:
        """How many runs were read from the memory; empty if none was."""
        if not self._read:
            return ""
        return f"{self._read} of {self._requested} runs were read from {Path(self.memory.location).name}."


def _finished(key: str, row: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of a finished run. A ``joblib.Memory`` keeps it by its key. Raises LookupError: no row yet."""
    if row is None:
        raise LookupError(key)
    return row


def _key(run: FoldRun) -> str:
    """Return a hash of the samples, the model, its parameters and the version; the name of the data does not count."""
    import joblib

    part = run.part
    held_out = None if part.held_out is None else replace(part.held_out, name="")
    part = replace(part, learn=replace(part.learn, name=""), held_out=held_out)
    try:
        return str(joblib.hash((__version__, replace(run, part=part))))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"memory cannot recognise these parameters in a later run ({error}). Give plain values, such as a solver "
            "by its name, or leave memory out."
        ) from None
