"""Checks of data for builders and ``select``: type, values, weights and scaling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fsmodels.checks import LARGEST, choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, DataWarning, ParameterError
from fsmodels.text import DEFAULT_SCALING, SCALINGS, built_model
from fsmodels.weights import column_sizes
from solvers.user_warnings import warn

APART = 100.0  # ratio of column sizes above which builders warn


def dataset(data: Any) -> Dataset:
    """Return the data. Raises ParameterError if they are no Dataset, with the way to make one."""
    if not isinstance(data, Dataset):
        how = "use Dataset.from_csv, from_frame or from_arrays."
        if isinstance(getattr(data, "data", None), Dataset):
            how = "give its data, .data."
        raise ParameterError(built_model(data) or f"This needs a Dataset and got {type(data).__name__}: {how}")
    return data


def checked_data(data: Any, *, weights: bool = False, who: str = "This model") -> Dataset:
    """Return the data as a model takes them.

    ``weights``: whether the model, named ``who`` in messages, uses weights of samples.

    Raises ParameterError: no Dataset, or one with weights that the model would ignore. Raises DataError: a value is too
    large for the arithmetic of models.
    """
    values = data.X.data if dataset(data).is_sparse else data.X
    if values.size and max(values.max(), -values.min()) > LARGEST:
        sizes = np.asarray(abs(data.X).max(axis=0).todense() if data.is_sparse else np.abs(data.X).max(axis=0)).ravel()
        beyond = np.flatnonzero(sizes > LARGEST)
        others = f" ({len(beyond)} such columns)" if len(beyond) > 1 else ""
        how = "unit-ball" if data.is_sparse else "standard"
        raise DataError(
            f'Column "{data.features[beyond[0]]}" of data "{data.name}" reaches {sizes[beyond[0]]:.3g}{others}. Models '
            f"square and multiply values, so at most {LARGEST:g} is allowed. Scale the data (--scale {how}; Python: "
            f'data.scaled("{how}")), or give the column in other units.'
        )
    return data if weights else require_unweighted(data, who)


def require_unweighted(data: Any, who: str) -> Dataset:
    """Return the data. Raises ParameterError: no Dataset, or one with weights that ``who`` would ignore."""
    found = dataset(data).sample_weight
    if found is not None and (data.weighting.by_class is not None or bool((found != 1.0).any())):
        raise ParameterError(
            f'{who} does not use sample weights, and data "{data.name}" have some ({data.weighting}): its objective is '
            "no sum over samples. Leave class_weight and sample_weight out (data.weighted() removes them), or use a "
            "model with a sum of slacks, such as fsp-m, one-norm-svm, fsv, gmeb or full-fs."
        )
    return data


def require_both_classes(data: Dataset) -> None:
    """Raise DataError if a class has no sample."""
    for sign in (1, -1):
        if not (data.y == sign).any():
            raise DataError(f"Class {sign:+d} has no sample: both classes need at least one.")


def apply_scaling(data: Dataset, scale: str | None = None) -> Dataset:
    """Return the data scaled by ``scale``, if they are not scaled already.

    ``scale``: by default "standard", and for sparse data none, since a shift would fill every cell. Raises
    ParameterError: an unknown scaling, or another one than that of the data. Raises DataError: sparse data and a
    scaling that shifts zeros; a value that overflows.

    >>> data = Dataset.from_arrays([[1.0], [3.0]], [0, 1])
    >>> apply_scaling(data).X.ravel().tolist(), apply_scaling(data.scaled("none")).X.ravel().tolist()
    ([-1.0, 1.0], [1.0, 3.0])
    """
    has = dataset(data).scale
    if scale is not None:
        choice("scale", scale, list(SCALINGS))
    if not has.chosen:
        return data if scale is None and data.is_sparse else data.scaled(scale or DEFAULT_SCALING)
    if scale not in (None, "none", *has.method.split(", ")):
        raise ParameterError(
            f'scale="{scale}": data "{data.name}" are scaled already ("{has.method}"). Leave scale out, or give '
            "unscaled data."
        )
    return data


def reweighted(data: Dataset, sample_weight: Any = None, class_weight: Any = None) -> Dataset:
    """Return the data with new weights; those that are not given remain. Errors are those of ``Dataset.weighted``."""
    if sample_weight is None and class_weight is None:
        return data
    has, new = data.weighting, data.weighted(sample_weight, class_weight)
    if has is None or new.weighting is None:
        return new
    kept: dict[str, Any] = {}
    if sample_weight is None:
        kept = {"given": has.given, "column": has.column}
    elif class_weight is None:
        kept = {"by_class": has.by_class}
    return replace(new, weighting=replace(new.weighting, **kept))


def as_given(data: Dataset, *, weights: bool = False, who: str = "This model") -> Dataset:
    """Return the data as a builder takes them, without scaling; parameters and errors are those of ``checked_data``.

    Warns DataWarning: columns differ by more than 100 times in size, and no scaling was chosen (``"none"`` is one).
    """
    if checked_data(data, weights=weights, who=who).scale.chosen or not data.n_samples:
        return data
    sizes = column_sizes(data.X)
    varied = np.flatnonzero(sizes)
    if len(varied) < 2:
        return data
    least, most = (int(varied[k]) for k in (sizes[varied].argmin(), sizes[varied].argmax()))
    if sizes[most] / APART > sizes[least]:
        remedy = "columns divided by their largest values" if data.is_sparse else 'data.scaled("standard")'
        warn(
            f'Data "{data.name}": columns differ by {sizes[most] / sizes[least]:.2g} times in size '
            f'("{data.features[most]}" up to {sizes[most]:.3g}, "{data.features[least]}" up to {sizes[least]:.3g}), so '
            f"weights cannot be compared and solvers lose digits: use {remedy}, or "
            'data.scaled("none") to keep these units.',
            DataWarning,
        )
    return data
