"""One selection on a part of the samples, judged by the samples held out: the unit of all that this room does.

Of the labels y and the decisions d on the held-out samples, by scikit-learn: the share of wrong labels, the mean of
that share over the two classes, F1 of class +1 (0 where no sample is given that class), and the area under the ROC
curve. Where only one class was held out, the last three have no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmodels.checks import whole
from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.looks import look
from fsmodels.datasets.splitting import check_seed
from fsmodels.datasets.units import reweighted
from fsmodels.errors import NoSelection, ParameterError
from fsmodels.selection.resampling import Resample, folds_of
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from fsmodels.selection.sides import KINDS, beside
from fsmodels.words import lasting
from solvers import StopReason
from solvers.clock import own_clock

__all__ = ["FAILED", "MEASURES", "FoldRun", "measured", "parts_of", "raw_and_words", "told", "was_interrupted"]

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
