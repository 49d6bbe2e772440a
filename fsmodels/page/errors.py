"""Errors on samples that the rule has not seen, as a page tells them: of the model, and of who always says the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.evaluation.cross_validation import CrossValidated, standard_error
from fsmodels.selection.resampling import folds_of

__all__ = ["Held", "majority"]

Mean = tuple[float, float]  # over the folds, with its standard error; NaN where there is none


@dataclass(frozen=True)
class Held:
    """Errors held out.

    ``error``: share of wrong labels. ``balanced``: mean of the shares of both classes. ``auc``: area under the ROC
    curve. ``sizes``: features in each fold. ``chosen``: in how many folds each feature was selected. ``lost``: folds
    without a solution.
    """

    error: Mean
    balanced: Mean
    auc: Mean
    sizes: tuple[int, ...]
    chosen: Mapping[str, int]
    lost: int = 0

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.sizes)

    @classmethod
    def of(cls, run: CrossValidated) -> Held:
        """Read a cross-validation."""
        table = run.summary()
        error, balanced, auc = (
            (float(table.loc[name, "mean"]), float(table.loc[name, "se"]))
            for name in ("error", "balanced_error", "auc")
        )
        solved = run.runs[run.runs["selected"].notna()]
        chosen = {name: round(share * len(solved)) for name, share in run.frequency.items() if share > 0}
        sizes = tuple(int(size) for size in solved["n_selected"])
        return cls(error, balanced, auc, sizes, chosen, run.planned - len(solved))


def majority(data: Dataset, *, cv: int, seed: int) -> Held:
    """Give every sample the more frequent class of what was learnt from."""
    wrong = []
    for part in folds_of(data, cv, seed):
        assert part.held_out is not None
        said = 1.0 if (part.learn.y > 0).mean() > 0.5 else -1.0
        wrong.append(float(np.mean(part.held_out.y != said)))
    return Held(
        (float(np.mean(wrong)), standard_error(wrong, cv) or 0.0), (0.5, math.nan), (0.5, math.nan), (0,) * cv, {}
    )
