"""Parts of the rows for repeated runs: folds and bootstrap samples, scaled inside, and workers to run them."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmodels.checks import whole
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.splitting import check_seed, fold_rows, split_rows
from fsmodels.errors import ParameterError
from fsmodels.words import iterable


@dataclass(frozen=True)
class Resample:
    """Rows to learn from and rows held out, both in original units, and how those to learn from are to be scaled.

    ``methods``: scalings that the whole data carried, in order; none where the run decides.
    """

    learn: Dataset
    held_out: Dataset | None
    methods: tuple[str, ...]

    @property
    def train(self) -> Dataset:
        """The rows to learn from, with products and scaling of constants of their own."""
        data = self.learn.refitted()
        for method in self.methods:
            data = data.scaled(method)
        return data


def folds_of(data: Dataset, folds: Any, seed: int, name: str = "folds") -> list[Resample]:
    """Return a part for each fold: of a number of folds, of a splitter of scikit-learn, or of pairs of rows.

    ``name``: what the argument is called, for messages.

    Raises ParameterError: none of these, or a number that does not go with the classes.
    """
    if isinstance(folds, bool) or folds is None or isinstance(folds, str | bytes):
        raise ParameterError(
            f"{name}={folds!r} is not allowed: give a number such as 5, or a splitter of scikit-learn."
        )
    if isinstance(folds, numbers.Number):
        pairs: Iterable[Any] = fold_rows(data.y, whole(name, folds, 0, None, "the number of folds"), seed, name)
    elif hasattr(folds, "split"):
        pairs = folds.split(np.zeros(data.n_samples), data.y)
    elif iterable(folds):
        pairs = folds
    else:
        raise ParameterError(
            f"{name} got {type(folds).__name__}: give a number such as 5, a splitter of scikit-learn, or pairs of rows."
        )
    raw, methods = _raw(data)
    try:
        found = [(np.asarray(learn), np.asarray(held)) for learn, held in pairs]
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} gives what are no pairs of rows to learn from and rows held out: give a number such as 5, or a "
            "splitter of scikit-learn."
        ) from None
    parts = [_part(raw, learn, held, methods, k) for k, (learn, held) in enumerate(found, start=1)]
    if len(parts) < 2:
        raise ParameterError(f"{name} gives {len(parts)} part: give 2 or more.")
    return parts


def bootstraps_of(data: Dataset, count: int, seed: int) -> list[Resample]:
    """Return samples of the rows with replacement, class by class; what is not drawn is held out."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 2:
        raise ParameterError(f"bootstraps={count!r} is not allowed: give a whole number of at least 2.")
    check_seed(seed)
    rng, (raw, methods) = np.random.default_rng(seed), _raw(data)
    classes = [np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)]
    parts = []
    for k in range(1, int(count) + 1):
        drawn = np.sort(np.concatenate([rng.choice(rows, len(rows)) for rows in classes]))
        parts.append(_part(raw, drawn, np.setdiff1d(np.arange(data.n_samples), drawn), methods, k))
    return parts


def split_off(data: Dataset, test: float, seed: int) -> Resample:
    """Hold a share of the rows out, drawn with the classes in proportion."""
    raw, methods = _raw(data)
    rows = split_rows(raw.y, 1.0 - test, 0.0, test, seed)
    train, held_out = (raw.take(rows[what], f"{raw.name}/{what}") for what in ("train", "test"))
    return Resample(train, held_out, methods)


def _raw(data: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Return the data in original units, and the scalings that they carried."""
    return (data.unscaled(), tuple(data.scale.method.split(", "))) if data.scale.chosen else (data, ())


def _part(raw: Dataset, learn: Any, held: Any, methods: tuple[str, ...], k: int) -> Resample:
    raw = replace(raw, looked_at=True)  # the whole was, or will be
    train, rest = raw.take(learn, f"{raw.name}/{k}"), raw.take(held, f"{raw.name}/{k}-held-out")
    counted = train.y if train.sample_weight is None else train.y[train.sample_weight > 0]
    if len(np.unique(counted)) < 2:
        raise ParameterError(f"Part {k} has samples of one class only: use fewer folds, or give more samples.")
    return Resample(train, rest if rest.n_samples else None, methods)
