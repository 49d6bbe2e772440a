"""Held-out errors of ``select``: ``--test`` takes samples away before it, ``--cv`` selects again on folds."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from fsmodels.cli.asked import Task
from fsmodels.cli.codes import complain, show
from fsmodels.cli.commands import EACH_LIMIT
from fsmodels.errors import ModelError, ParameterError
from fsmodels.evaluation.cross_validation import CrossValidated, over_folds
from fsmodels.evaluation.fold_run import FoldRunner, HeldOut, held_out_part, judged, parts_of
from fsmodels.selection.recipes import find
from fsmodels.selection.resampling import Resample
from fsmodels.selection.selection import Selection
from solvers import interrupt, progress

__all__ = ["Judge", "check", "judgement", "lines"]

SHOWN = {"error": "error", "balanced_error": "balanced error", "f1": "F1", "auc": "AUC"}


@dataclass
class Judge:
    """What the command line asked for: folds, a part held out, or nothing."""

    task: Task
    part: Resample | None = None

    def of(self, found: Selection) -> CrossValidated | HeldOut | None:
        """Judge the selection; None where nothing was asked, or nothing came of it."""
        if not found.has_solution:
            return None
        if self.part is not None:
            return judged(found, self.part)
        return None if self.task.asked.cv is None else self._over_folds()

    def _over_folds(self) -> CrossValidated | None:
        asked, task = self.task.asked, self.task
        if interrupt.pressed():
            complain("Note", "the folds were left out, as Ctrl-C was pressed before.")
            return None
        words = dict(task.given)
        if "time_limit" not in asked.given and "time_limit" in words:
            words["time_limit"] = EACH_LIMIT
        try:
            with progress.shown(task.shows):
                return over_folds(
                    task.data, asked.model, words, cv=asked.cv, repeats=asked.repeats or 1, seed=asked.seed or 0,
                    n_jobs=asked.n_jobs, memory=asked.memory,
                )  # fmt: skip
        except ModelError as error:
            complain("Note", f"there is no held-out error. {error}")
        except KeyboardInterrupt:
            complain("Note", "Ctrl-C came before a fold was done: there is no held-out error.")
        return None


def check(asked: SimpleNamespace) -> None:
    """Refuse words that do not go together, before anything is read."""
    if asked.cv is not None and asked.test is not None:
        raise ParameterError("--cv and --test are two ways to the same number: give one of them.")
    for word in ("repeats", "n_jobs", "memory"):
        if asked.cv is None and getattr(asked, word) is not None:
            raise ParameterError(f"--{word.replace('_', '-')} is about the folds of --cv: give --cv 5 with it.")
    if asked.bags is not None and (asked.cv is not None or asked.test is not None):
        raise ParameterError(
            "--bags makes features of the instances of all bags, those held out too, so that --cv and --test would say "
            "too little: leave them out."
        )
    if asked.test is not None and asked.certificate is not None:
        raise ParameterError(
            "--certificate is checked against all samples of the file, and --test selects on a part: give one of them."
        )


def judgement(task: Task) -> Judge:
    """Return how the selection will be judged; with ``--test`` the task's data are the training part from now on."""
    asked = task.asked
    judged_at_all = asked.cv is not None or asked.test is not None
    if judged_at_all and not task.runs_solver and "seed" not in find(asked.model).parameters:
        task.given.pop("seed", None)  # it is of the samples alone
    if asked.cv is not None:  # refused before the selection, not after it
        parts_of(task.data, asked.cv, asked.repeats or 1, asked.seed or 0)
        FoldRunner(asked.n_jobs, asked.memory)
    if asked.test is None:
        return Judge(task)
    part = held_out_part(task.data, asked.test, asked.seed or 0)
    task.data = part.train
    assert part.held_out is not None
    if not asked.quiet:
        show(
            f"Held out: {part.held_out.n_samples} samples, drawn with the classes in proportion; the selection is of "
            f"the other {part.learn.n_samples}"
        )
    return Judge(task, part)


def lines(error: CrossValidated | HeldOut) -> list[str]:
    """Return what a report says of held-out errors."""
    if isinstance(error, HeldOut):
        return ["", error.sentence]
    table = error.summary().loc[list(SHOWN)].rename(index=SHOWN).rename_axis("held out")
    return ["", error.sentence, "", table.to_string(float_format=lambda x: f"{x:.4f}")]
