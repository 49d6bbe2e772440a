"""Many runs: those of a checkpoint are taken from it, the others are made by workers and written as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from fsmodels.evaluation.checkpoint import Checkpoint
from fsmodels.evaluation.fold_run import FAILED, FoldRun, was_interrupted
from fsmodels.selection.report import as_json
from fsmodels.selection.workers import each

__all__ = ["Runs", "opened", "run_all"]


@dataclass(frozen=True)
class Runs:
    """What became of runs: a row each, None where Ctrl-C came first."""

    rows: list[dict[str, Any] | None]

    @property
    def complete(self) -> bool:
        """Whether all were made."""
        return None not in self.rows


def opened(checkpoint: str | Path | None) -> Checkpoint | None:
    """Return the checkpoint of a path. Raises ParameterError as ``Checkpoint`` does."""
    return None if checkpoint is None else Checkpoint(checkpoint)


def run_all(folds: Sequence[FoldRun], n_jobs: int | None, keep: Checkpoint | None, what: str = "fold") -> Runs:
    """Make all runs; after Ctrl-C there are those that were finished. Raises KeyboardInterrupt where none was.

    ``what``: the word for a run, for whoever watches.
    """
    known = [(None, None) if keep is None else keep.known(one) for one in folds]
    rows = [row for _, row in known]
    open_ = [k for k, row in enumerate(rows) if row is None]

    def done(place: int, row: dict[str, Any]) -> None:
        k = open_[place]
        if FAILED in row:  # what failed may do better another time: it is not kept in the file
            rows[k] = row
        elif not was_interrupted(row):
            rows[k] = as_json(row) if keep is None else keep.write(str(known[k][0]), row)

    each(methodcaller("run"), [folds[k] for k in open_], n_jobs, done, what, attrgetter("label"))
    if rows and not any(row is not None for row in rows):
        raise KeyboardInterrupt
    return Runs(rows)
