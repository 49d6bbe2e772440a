"""Resampled data: folds, bootstrap samples and a held-out part, each with its own scaling."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmodels.checks import share, whole
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.splitting import check_seed, fold_rows
from fsmodels.errors import ParameterError
from fsmodels.text import short


@dataclass(frozen=True)
class Resample:
    """Training samples and held-out samples in original units.

    ``methods``: the scalings of the whole data, in order, which are applied to the training samples.
    """

    learn: Dataset
    held_out: Dataset | None
    methods: tuple[str, ...]

    @property
    def train(self) -> Dataset:
        """The training samples, with products and scaling constants of these samples."""
        data = self.learn.refitted()
        for method in self.methods:
            data = data.scaled(method)
        return data


def folds_of(data: Dataset, folds: Any, seed: int, name: str = "folds") -> list[Resample]:
    """Return the folds by their number, by a splitter of scikit-learn, or by pairs of rows.

    ``name``: the parameter in messages. Raises ParameterError: none of these, or too few or too many folds.
    """
    if isinstance(folds, numbers.Number) and not isinstance(folds, bool):
        pairs = fold_rows(data.y, whole(name, folds, 0, None, "the number of folds"), seed, name)
    else:
        splits = hasattr(folds, "split") and not isinstance(folds, str | bytes)
        try:
            given = folds.split(np.zeros(data.n_samples), data.y) if splits else folds
            pairs = [(np.asarray(learn), np.asarray(held)) for learn, held in given]
        except (TypeError, ValueError):
            raise ParameterError(
                f"{name}={short(repr(folds))} is not allowed: give a number such as 5, a splitter of scikit-learn, or "
                "pairs of training rows and held-out rows."
            ) from None
    if len(pairs) < 2:
        raise ParameterError(f"{name} gives {len(pairs)} part: give at least 2.")
    return _parts(data, pairs)


def bootstraps_of(data: Dataset, count: int, seed: int) -> list[Resample]:
    """Return stratified bootstrap samples; the rows that were not drawn are held out."""
    count = whole("bootstraps", count, 2, None, "the number of bootstrap samples")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    classes = [np.flatnonzero(data.y > 0), np.flatnonzero(data.y < 0)]
    pairs = []
    for _ in range(count):
        drawn = np.sort(np.concatenate([rng.choice(rows, len(rows)) for rows in classes]))
        pairs.append((drawn, np.setdiff1d(np.arange(data.n_samples), drawn)))
    return _parts(data, pairs)


def held_out_part(data: Dataset, test: float, seed: int) -> Resample:
    """Hold out a random stratified share of the samples.

    Raises ParameterError: not a share between 0 and 1. Raises DataError: a part would have no sample of a class.
    """
    test = share("test", test, "the share of the samples to hold out", open_below=True)
    raw, methods = _raw(data)
    train, _, held_out = raw.split(1.0 - test, 0.0, test, seed)
    return Resample(train, held_out, methods)


def _raw(data: Dataset) -> tuple[Dataset, tuple[str, ...]]:
    """Return the data in original units, and their scalings."""
    return (data.unscaled(), tuple(data.scale.method.split(", "))) if data.scale.chosen else (data, ())


def _parts(data: Dataset, pairs: list[tuple[Any, Any]]) -> list[Resample]:
    """Return a part for each pair of training rows and held-out rows."""
    raw, methods = _raw(replace(data, looked_at=True))  # warnings are about the whole data
    parts = []
    for k, (learn, held) in enumerate(pairs, start=1):
        train, rest = raw.take(learn, f"{raw.name}/{k}"), raw.take(held, f"{raw.name}/{k}-held-out")
        counted = train.y if train.sample_weight is None else train.y[train.sample_weight > 0]
        if len(np.unique(counted)) < 2:
            raise ParameterError(f"Part {k} has samples of one class only: use fewer folds, or give more samples.")
        parts.append(Resample(train, rest if rest.n_samples else None, methods))
    return parts
