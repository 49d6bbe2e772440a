r"""Selections on a part of the samples, judged by the samples held out, and workers with a memory that run them.

Of the labels y and the decisions d on the held-out samples, by scikit-learn: the share of wrong labels, the mean of
that share over the two classes, F1 of class +1 (0 where no sample is given that class), and the area under the ROC
curve. Where only one class was held out, the last three have no value.

The share e of wrong labels among n samples held out has the standard error :math:`\sqrt{e (1 - e) / n}`, that of n
independent samples. It is 0 where no sample or every sample is wrong, so that reports state Wilson's interval instead.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from fsmodels.checks import share, whole
from fsmodels.datasets.checks import dataset, reweighted
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import look
from fsmodels.datasets.splitting import check_seed
from fsmodels.errors import NoSelection, ParameterError
from fsmodels.selection.report import as_json, boundary_note, percent
from fsmodels.selection.resampling import Resample, folds_of, split_off
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import KINDS, beside
from fsmodels.selection.workers import each
from fsmodels.version import __version__
from fsmodels.words import lasting
from solvers import StopReason
from solvers.clock import own_clock

MEASURES = ("error", "balanced_error", "f1", "auc")
COUNTS = ("on_boundary", "confusion")
FAILED = "failed"  # why a run came to nothing
OURS = (
    "validation",
    "choose_by",
    "progress",
    "callback",
    "memory",
)  # words of select for a single run


@dataclass(frozen=True)
class FoldRun:
    """A selection to be made on a part of the samples: ``select(part.train, model, **words)``."""

    model: str
    words: Mapping[str, Any]
    part: Resample

    @property
    def held_out(self) -> Any:
        """The samples that judge it."""
        return self.part.held_out

    def found(self) -> tuple[Selection, dict[str, Any]]:
        """Select on the rows to learn from, which are scaled there; return what is to be told besides, too."""
        with own_clock():
            return select(self.part.train, self.model, **self.words), {}

    @property
    def label(self) -> str:
        """Whose run it is, for whoever watches."""
        return self.model

    def run(self) -> dict[str, Any]:
        """Return what came out in plain numbers, as a worker sends it and a file holds it."""
        try:
            found, more = self.found()
        except NoSelection as error:
            if error.selection is None:
                raise
            found, more = replace(error.selection, message=str(error)), {}
        return {**told(found, self.part), **more}


def raw_and_words(asked: str, data: Dataset, words: Mapping[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """Return the data with the groups of ``fair`` aside, and words that may be used again and again.

    Raises ParameterError: a word that has no meaning in many runs.
    """
    for word in OURS:
        if word in words:
            raise ParameterError(f"{asked} does not take {word}: what a fold leaves out is its held-out data.")
    kept = {name: lasting(value) for name, value in words.items()}
    weighted = reweighted(dataset(data), kept.pop("sample_weight", None), kept.pop("class_weight", None))
    data, kept["fair"] = beside(weighted, kept.get("fair", ()))
    look(data)
    return data, {name: value for name, value in kept.items() if not _is_nothing(name, value)}


def _is_nothing(name: str, value: Any) -> bool:
    """Tell whether a word says no more than leaving it out."""
    return value is None or (name in KINDS and isinstance(value, list | tuple | Mapping) and not value)


def parts_of(data: Dataset, cv: Any, repeats: int, seed: int, name: str = "cv") -> list[Resample]:
    """Return the folds, one repeat after another. Raises ParameterError: no folds, or repeats of a splitter."""
    repeats = whole("repeats", repeats, 1, 10_000, "how often the samples are divided into folds anew")
    if repeats > 1 and not isinstance(cv, int | np.integer):
        raise ParameterError(
            f"repeats={repeats} goes with a number of folds, and cv is {type(cv).__name__}: a splitter such as "
            "RepeatedStratifiedKFold repeats by itself."
        )
    check_seed(seed)
    return [part for k in range(repeats) for part in folds_of(data, cv, seed + k, name)]


def told(found: Selection, part: Resample) -> dict[str, Any]:
    """Return what is known of a run: measures, features, what is proven."""
    solved = found.has_solution
    return {
        "n_train": part.learn.n_samples,
        "n_held_out": 0 if part.held_out is None else part.held_out.n_samples,
        **(measured(found, part.held_out) if solved else dict.fromkeys((*MEASURES, *COUNTS))),
        "training_error": found.training_error,
        "n_selected": len(found.selected) if solved else None,
        "selected": list(found.selected) if solved else None,
        "objective": found.objective,
        "bound": found.bound,
        "gap": found.gap,
        "status": found.status.value,
        "stop_reason": found.stop_reason.value,
        "seconds": found.seconds,
        "message": found.message,
    }


def was_interrupted(row: Mapping[str, Any]) -> bool:
    """Tell whether Ctrl-C ended a run, which is then no run of the kind that was asked for."""
    return bool(row.get("stop_reason") == StopReason.INTERRUPTED.value)


def measured(found: Selection, held_out: Any) -> dict[str, Any]:
    """Return the measures of a selection on samples held out, how many are on the decision boundary, and the confusion.

    ``confusion``: samples by true class (rows) and predicted class (columns), class +1 first.
    """
    if held_out is None or not held_out.n_samples:
        return dict.fromkeys((*MEASURES, *COUNTS))
    from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, roc_auc_score

    decision, y = found.decision(held_out), held_out.y
    given = np.where(decision > 0, 1.0, -1.0)
    values: dict[str, Any] = {
        "error": float(np.mean(given != y)), "on_boundary": int(np.count_nonzero(decision == 0)),
        "confusion": confusion_matrix(y, given, labels=[1.0, -1.0]).tolist(),
    }  # fmt: skip
    if len(np.unique(y)) < 2:
        return {**dict.fromkeys(MEASURES), **values}
    return {
        **values,
        "balanced_error": 1.0 - float(balanced_accuracy_score(y, given)),
        "f1": float(f1_score(y, given, pos_label=1.0, zero_division=0.0)),
        "auc": float(roc_auc_score(y, decision)),
    }


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


@dataclass(frozen=True)
class HeldOut:
    """What a selection decides about samples that had no part in it.

    ``n_train``, ``n_held_out``: samples. ``error``, ``balanced_error``, ``f1``, ``auc``: as of ``fs.cross_validate``.
    ``on_boundary``: samples held out with a decision of 0, which count as class -1. ``confusion``: samples held out by
    true class (rows) and predicted class (columns), class +1 first.
    """

    n_train: int
    n_held_out: int
    error: float
    balanced_error: float | None
    f1: float | None
    auc: float | None
    on_boundary: int = 0
    confusion: list[list[int]] | None = None

    @property
    def standard_error(self) -> float:
        """Of ``error``."""
        return math.sqrt(self.error * (1.0 - self.error) / self.n_held_out)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of ``error`` at 95%, which has a width where no sample is wrong, too."""
        wrong = round(self.error * self.n_held_out)
        low, high = scipy.stats.binomtest(wrong, self.n_held_out).proportion_ci(0.95, method="wilson")
        return float(low), float(high)

    @property
    def sentence(self) -> str:
        """What came out."""
        wrong, n, (low, high) = round(self.error * self.n_held_out), self.n_held_out, self.interval
        said = f"Held-out error {100 * self.error:.1f}% (95% interval {100 * low:.1f} to {100 * high:.1f}%): {wrong} "
        said += f"of {n} samples that had no part in the selection, which is of the other {self.n_train}."
        if self.balanced_error is not None and self.f1 is not None and self.auc is not None:
            said += f" Balanced error {percent(self.balanced_error)}, F1 {self.f1:.3f}, AUC {self.auc:.3f}."
        return f"{said} {boundary_note(self.on_boundary)}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON file holds of it."""
        plain: dict[str, Any] = as_json(
            {"way": "test", **self.__dict__, "standard_error": self.standard_error, "interval": self.interval}
        )
        return {**plain, "sentence": self.sentence}


def held_out_part(data: Dataset, test: float, seed: int) -> Resample:
    """Hold a share of the samples out, at random with the classes in proportion.

    Raises ParameterError: no share between 0 and 1. Raises DataError: a part would have no sample of a class.
    """
    return split_off(data, share("test", test, "the share of the samples to hold out", open_below=True), seed)


def judged(found: Selection, part: Resample) -> HeldOut:
    """Judge a selection on a part by what the part left out."""
    assert part.held_out is not None
    return HeldOut(part.learn.n_samples, part.held_out.n_samples, **measured(found, part.held_out))
