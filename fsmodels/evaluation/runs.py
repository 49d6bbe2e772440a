"""Many runs: those of a checkpoint are taken from it, the others are made by workers and written as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from fsmodels.evaluation.checkpoint import Checkpoint, fingerprint
from fsmodels.evaluation.fold_run import FAILED, FoldRun, was_interrupted
from fsmodels.selection.report import as_json
from fsmodels.selection.workers import each

__all__ = ["Runs", "run_all"]


@dataclass(frozen=True)
class Runs:
    """What became of runs: a row each, None where Ctrl-C came first, and what a checkpoint had to do with it."""

    rows: list[dict[str, Any] | None]
    note: str = ""

    @property
    def done(self) -> list[dict[str, Any]]:
        """The rows that there are."""
        return [row for row in self.rows if row is not None]

    @property
    def complete(self) -> bool:
        """Whether all were made."""
        return len(self.done) == len(self.rows)


def run_all(
    folds: Sequence[FoldRun], n_jobs: int | None, checkpoint: str | Path | None = None, what: str = "fold"
) -> Runs:
    """Make all runs; after Ctrl-C there are those that were finished. Raises KeyboardInterrupt where none was.

    ``what``: the word for a run, for whoever watches.
    """
    keep = None if checkpoint is None else Checkpoint(checkpoint)
    keys = [None if keep is None else fingerprint(one) for one in folds]
    note = "" if keep is None else keep.says(key for key in keys if key is not None)
    rows: list[dict[str, Any] | None] = [None if keep is None else keep.rows.get(str(key)) for key in keys]
    open_ = [k for k, row in enumerate(rows) if row is None]

    def done(place: int, row: dict[str, Any]) -> None:
        k = open_[place]
        if FAILED in row:  # what failed may do better another time: it is not kept in the file
            rows[k] = row
        elif not was_interrupted(row):
            rows[k] = as_json(row) if keep is None else keep.write(str(keys[k]), row)

    each(methodcaller("run"), [folds[k] for k in open_], n_jobs, done, what, attrgetter("label"))
    found = Runs(rows, note)
    if rows and not found.done:
        raise KeyboardInterrupt
    return found
