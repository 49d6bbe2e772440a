r"""One part of the samples held out: the selection is of the others, and is judged by those.

The share e of wrong labels among n samples held out has the standard error :math:`\sqrt{e (1 - e) / n}`, that of n
independent samples. It is 0 where no sample or every sample is wrong, so that reports state Wilson's interval instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import scipy

from fsmodels.checks import share
from fsmodels.datasets.dataset import Dataset
from fsmodels.evaluation.fold_run import measured
from fsmodels.selection.report import as_json, boundary_note, percent
from fsmodels.selection.resampling import Resample, split_off
from fsmodels.selection.selection import Selection

__all__ = ["HeldOut", "held_out_part", "judged"]


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
