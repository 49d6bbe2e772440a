r"""Selections on parts of the samples, evaluated on the held-out samples, with workers and a memory.

scikit-learn computes from the labels and decisions on the held-out samples: the share of wrong labels, the mean of that
share over the two classes, F1 of class +1 (0 if no sample is predicted in that class), and the area under the ROC
curve. If only one class was held out, the last three have no value.

The share e of wrong labels among n held-out samples has the standard error :math:`\sqrt{e (1 - e) / n}`, that of n
independent samples. It is 0 if no sample or every sample is wrong, so reports contain Wilson's interval instead.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy

from fsmodels.checks import whole
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.splitting import check_seed
from fsmodels.errors import Error, NoSelection, ParameterError
from fsmodels.selection.catalogue import find
from fsmodels.selection.report import BaseAnswer, as_json, boundary_note, percent
from fsmodels.selection.request import Request
from fsmodels.selection.resampling import Resample, folds_of
from fsmodels.selection.selection import Selection
from fsmodels.selection.workers import each
from fsmodels.text import listed
from fsmodels.version import __version__
from solvers import SolutionStatus, StopReason
from solvers.clock import own_clock

# A column of the error tables: its title, and its value by sklearn.metrics, labels, predictions and decisions.
MEASURES: dict[str, tuple[str, Callable[[Any, Any, Any, Any], Any]]] = {
    "error": ("error", lambda metrics, y, predicted, decision: np.mean(predicted != y)),
    "balanced_error": (
        "balanced error",
        lambda metrics, y, predicted, decision: 1.0 - metrics.balanced_accuracy_score(y, predicted),
    ),
    "f1": ("F1", lambda metrics, y, predicted, decision: metrics.f1_score(y, predicted, zero_division=0.0)),
    "auc": ("AUC", lambda metrics, y, predicted, decision: metrics.roc_auc_score(y, decision)),
}
COUNTS = ("on_boundary", "confusion")
FAILED = "failed"  # the error of a run
SINGLE = ("validation", "choose_by", "progress", "callback", "memory")  # parameters of ``select`` for a single run


@dataclass(frozen=True)
class FoldRun:
    """A request on a part of the samples; the data of the request are replaced by the training samples."""

    request: Request
    part: Resample

    keeps_errors: ClassVar[bool] = False  # an error is a row of the table, and the other runs continue

    def select(self) -> tuple[Selection, dict[str, Any]]:
        """Select on the training samples, which are scaled; return the selection and further columns."""
        with own_clock():
            return self.request.on(self.part.train).solve(), {}

    def run(self) -> dict[str, Any]:
        """Return the row of the run as plain values, for workers and the memory."""
        try:
            try:
                found, more = self.select()
            except NoSelection as error:
                if error.selection is None:
                    raise
                found, more = replace(error.selection, message=str(error)), {}
            return {**row_of(found, self.part), **more}
        except Exception as error:
            if not self.keeps_errors:
                raise
            return {FAILED: str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"}


def row_of(found: Selection, part: Resample) -> dict[str, Any]:
    """Return the row of a run: measures, features, and the proven bound."""
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


def measured(found: Selection, held_out: Dataset | None) -> dict[str, Any]:
    """Return the measures of a selection on held-out samples, the number on the decision boundary, and the confusion.

    ``confusion``: samples by true class (rows) and predicted class (columns), class +1 first.
    """
    if held_out is None or not held_out.n_samples:
        return dict.fromkeys((*MEASURES, *COUNTS))
    from sklearn import metrics

    decision, y = found.decision(held_out), held_out.y
    predicted = np.where(decision > 0, 1.0, -1.0)
    names = MEASURES if len(np.unique(y)) == 2 else ("error",)  # the others need both classes
    return {
        **dict.fromkeys(MEASURES),
        **{name: float(MEASURES[name][1](metrics, y, predicted, decision)) for name in names},
        "on_boundary": int(np.count_nonzero(decision == 0)),
        "confusion": metrics.confusion_matrix(y, predicted, labels=[1.0, -1.0]).tolist(),
    }


def confusion_table(counts: Any, classes: Sequence[str]) -> pd.DataFrame:
    """Return the ``confusion`` of a run as a table with the names of the classes."""
    columns = [f"predicted {name}" for name in classes]
    return pd.DataFrame(counts, index=pd.Index(classes, name="true class"), columns=columns)


def check_repeatable(function: str, arguments: Iterable[str]) -> None:
    """Raise ParameterError for a parameter of ``select`` that has no meaning in many runs."""
    for word in SINGLE:
        if word in arguments:
            raise ParameterError(f"{function} does not take {word}, a parameter of a single run: leave it out.")


class Folds:
    """Folds of the samples, with the workers and the memory of their runs; parameters as of ``fs.cross_validate``.

    Raises ParameterError: ``memory`` is not a writable folder.
    """

    def __init__(
        self, cv: Any = 5, repeats: int = 1, seed: int = 0, n_jobs: int | None = None, memory: Any = None
    ) -> None:
        import joblib

        self.cv, self.repeats, self.seed, self.n_jobs = cv, repeats, seed, n_jobs
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
        self._read = self._requested = 0

    def parts(self, data: Dataset) -> list[Resample]:
        """Return the folds, one repeat after another. Raises ParameterError: no folds, or repeats of a splitter."""
        repeats = whole("repeats", self.repeats, 1, 10_000, "the number of times that samples are divided into folds")
        if repeats > 1 and not isinstance(self.cv, int | np.integer):
            raise ParameterError(
                f"repeats={repeats} needs a number of folds, and cv is {type(self.cv).__name__}: use a splitter that "
                "repeats, such as RepeatedStratifiedKFold."
            )
        check_seed(self.seed)
        return [part for k in range(repeats) for part in folds_of(data, self.cv, self.seed + k, "cv")]

    def rows(self, runs: Sequence[FoldRun], what: str = "fold") -> list[dict[str, Any] | None]:
        """Return the row of each run; None for a run after Ctrl-C. ``what``: the word for a run in progress lines.

        Raises KeyboardInterrupt if no run was finished.
        """
        keys = [_key(run) if self.memory.location else "" for run in runs]
        rows: list[dict[str, Any] | None] = [None] * len(runs)
        for k, key in enumerate(keys):
            with suppress(LookupError):
                rows[k] = self._finished(key, None)
        missing = [k for k, row in enumerate(rows) if row is None]
        self._read += len(rows) - len(missing)
        self._requested += len(rows)

        def done(place: int, row: dict[str, Any]) -> None:
            k = missing[place]
            if FAILED in row:  # not stored: another attempt may succeed
                rows[k] = row
            elif row.get("stop_reason") != StopReason.INTERRUPTED.value:
                rows[k] = self._finished(keys[k], as_json(row))

        left, name = [runs[k] for k in missing], attrgetter("request.spec.name")
        limit = max((run.request.time_limit or 0.0 for run in left), default=0.0)
        each(methodcaller("run"), left, self.n_jobs, done, what, name, limit or None)
        if rows and not any(row is not None for row in rows):
            raise KeyboardInterrupt
        return rows

    @property
    def note(self) -> str:
        """Sentence on the runs that were read from the memory; empty if there are none."""
        if not self._read:
            return ""
        return f"{self._read} of {self._requested} runs were read from {Path(self.memory.location).name}."


def _finished(key: str, row: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of a finished run, which a ``joblib.Memory`` stores by its key. Raises LookupError: no row yet."""
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
            f"memory cannot hash these parameters ({error}). Give plain values, such as the name of a solver, or leave "
            "memory out."
        ) from None


def standard_error(values: Any, folds: int) -> float | None:
    """Return the standard error of a mean over folds, ``folds`` per repeat.

    None for fewer than two values, or if all are equal, as a deviation of 0 does not estimate the error.
    """
    numbers = pd.to_numeric(pd.Series(values)).dropna()
    if numbers.nunique() < 2:
        return None
    return float(numbers.std(ddof=1) / math.sqrt(min(folds, len(numbers))))


def resampled_t_test(differences: Any, ratio: float) -> float:
    r"""Return the two-sided p-value of the corrected resampled t-test for a mean difference of 0 over folds.

    With mean d and variance s^2 (ddof 1) of the differences of k folds, each with n_held_out held-out and n_train
    training samples,

    .. math:: t = \frac{d}{\sqrt{(1/k + n_\text{held out} / n_\text{train})\, s^2}}

    has a t distribution with k - 1 degrees of freedom under the hypothesis (Nadeau and Bengio 2003, "Inference for the
    generalization error", Machine Learning 52, 239-281). The second term accounts for the common training samples of
    the folds. ``ratio``: n_held_out / n_train. NaN for fewer than two folds, or if all differences are equal.
    """
    values = pd.to_numeric(pd.Series(differences)).dropna()
    if values.nunique() < 2:
        return math.nan
    t = values.mean() / math.sqrt((1 / len(values) + ratio) * values.var(ddof=1))
    return float(2 * scipy.stats.t.sf(abs(t), len(values) - 1))


def incidence(selected: Iterable[Iterable[str]], features: Sequence[str]) -> pd.DataFrame:
    """Return a 0/1 frame with a row for each selection and a column for each feature."""
    rows = [[name in names for name in features] for names in map(set, selected)]
    return pd.DataFrame(rows, columns=pd.Index(features, name="feature"), dtype=float)


def limitations(model: str, runs: pd.DataFrame, planned: int, what: str) -> str:
    """Return sentences on runs that are missing, have no solution or are not proven; empty if there are none.

    ``what``: the word for a run, "fold" or "run".
    """
    text = f" Interrupted after {len(runs)} of {planned} {what}s." if len(runs) < planned else ""
    lost = runs[runs["selected"].isna()]
    if len(lost):
        reasons = listed(dict.fromkeys(str(message) for message in lost["message"] if message), 2)
        some = f"1 {what} has" if len(lost) == 1 else f"{len(lost)} {what}s have"
        text += f" {some} no solution: {reasons or 'no time was left.'}"
    if find(model).runs_solver:
        unproven = runs[runs["selected"].notna() & (runs["status"] != SolutionStatus.OPTIMAL.value)]
        gaps = pd.to_numeric(unproven["gap"]).dropna()
        worst = f", with gaps up to {percent(float(gaps.max()))}" if len(gaps) else ""
        some = f"1 {what} is" if len(unproven) == 1 else f"{len(unproven)} {what}s are"
        text += f" {some} not proven optimal{worst}." if len(unproven) else ""
    return text


@dataclass(frozen=True, repr=False)
class HeldOut(BaseAnswer):
    """Errors of a selection on held-out samples.

    ``n_train``, ``n_held_out``: numbers of samples. ``values``: the measures of ``fs.cross_validate``, ``on_boundary``
    (held-out samples with a decision of 0, which count as class -1), and ``confusion`` (held-out samples by true class,
    rows, and predicted class, columns; class +1 first). ``classes``: the names of class +1 and class -1.
    """

    n_train: int
    n_held_out: int
    values: dict[str, Any]
    classes: tuple[str, str] = ("1", "-1")

    @classmethod
    def of(cls, found: Selection, part: Resample) -> HeldOut:
        """Evaluate a selection on the held-out samples of a part."""
        assert part.held_out is not None
        classes = found.data.classes
        return cls(part.learn.n_samples, part.held_out.n_samples, measured(found, part.held_out), classes)

    @property
    def confusion(self) -> pd.DataFrame:
        """The number of held-out samples by true class (rows) and predicted class (columns)."""
        return confusion_table(self.values["confusion"], self.classes)

    @property
    def error(self) -> float:
        """The share of wrong labels."""
        return float(self.values["error"])

    @property
    def standard_error(self) -> float:
        """Of ``error``."""
        return math.sqrt(self.error * (1.0 - self.error) / self.n_held_out)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of ``error`` at 95%, which has a width even if no sample is wrong."""
        wrong = round(self.error * self.n_held_out)
        low, high = scipy.stats.binomtest(wrong, self.n_held_out).proportion_ci(0.95, method="wilson")
        return float(low), float(high)

    @property
    def sentence(self) -> str:
        """The result in a few sentences."""
        wrong, n, (low, high) = round(self.error * self.n_held_out), self.n_held_out, self.interval
        text = f"Held-out error {100 * self.error:.1f}% (95% interval {100 * low:.1f} to {100 * high:.1f}%): {wrong} "
        text += f"of {n} samples that had no part in the selection, which is of the other {self.n_train}."
        balanced, f1, auc = (self.values.get(name) for name in ("balanced_error", "f1", "auc"))
        if balanced is not None:
            text += f" Balanced error {percent(balanced)}, F1 {f1:.3f}, AUC {auc:.3f}."
        return f"{text} {boundary_note(self.values.get('on_boundary', 0))}".rstrip()

    def _content(self) -> dict[str, Any]:
        sizes = {"way": "test", "n_train": self.n_train, "n_held_out": self.n_held_out}
        return {**sizes, **self.values, "standard_error": self.standard_error, "interval": self.interval}
