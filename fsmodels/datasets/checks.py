"""Checks of data that builders and ``select`` share: their type, values, weights and scaling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fsmodels.checks import LARGEST, choice
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, DataWarning, ParameterError
from fsmodels.weights import column_sizes
from fsmodels.words import DEFAULT_SCALING, SCALINGS, built_model
from solvers.outside import warn

APART = 100.0  # ratio of column sizes from which builders say so


def dataset(data: Any) -> Dataset:
    """Return the data, if they are a Dataset.

    Raises ParameterError, with what they are and how to make a Dataset of them.
    """
    if not isinstance(data, Dataset):
        how = "use Dataset.from_csv, from_frame or from_arrays."
        if isinstance(getattr(data, "data", None), Dataset):
            how = "give the data that it was found on, its .data."
        raise ParameterError(built_model(data) or f"This needs a Dataset and got {type(data).__name__}: {how}")
    return data


def bearable(data: Any, *, weights: bool = False, who: str = "This model") -> Dataset:
    """Return the data, if they are a Dataset whose values a model can bear; one that is to be scaled need not.

    ``weights``: whether the model, called ``who``, honours weights of samples.

    Raises ParameterError if they are no Dataset, or one with weights that would be ignored. Raises DataError, with the
    column of a value that is too large.
    """
    check_values(dataset(data))
    return data if weights else unweighted(data, who)


def unweighted(data: Any, who: str) -> Dataset:
    """Return the data, if they are a Dataset whose samples all count the same.

    Raises ParameterError, with who would ignore their weights, and what to do.
    """
    found = dataset(data).sample_weight
    if found is not None and (data.weighting.by_class is not None or bool((found != 1.0).any())):
        raise ParameterError(
            f'{who} cannot weigh samples, and data "{data.name}" have weights ({data.weighting}): what it minimises is '
            "no sum over samples that they could multiply. Leave class_weight and sample_weight out (data.weighted() "
            "takes them off), or use a model with a sum of slacks, such as fsp-m, one-norm-svm, fsv, gmeb or full-fs."
        )
    return data


def check_values(data: Dataset) -> None:
    """Refuse data with a value beyond what can be borne.

    Raises DataError, with the column, its largest value and how to scale it.
    """
    values = data.X.data if data.is_sparse else data.X
    if not values.size or max(values.max(), -values.min()) <= LARGEST:
        return
    sizes = np.asarray(abs(data.X).max(axis=0).todense() if data.is_sparse else np.abs(data.X).max(axis=0)).ravel()
    beyond = np.flatnonzero(sizes > LARGEST)
    others = f" ({len(beyond)} such columns)" if len(beyond) > 1 else ""
    how = "unit-ball" if data.is_sparse else "standard"
    raise DataError(
        f'Column "{data.features[beyond[0]]}" of data "{data.name}" reaches {sizes[beyond[0]]:.3g}{others}, and models '
        f"square and multiply values: at most {LARGEST:g} can be borne. Scale the data (--scale {how}; Python: "
        f'data.scaled("{how}")), or give the column in other units.'
    )


def on_one_footing(data: Dataset, scale: str | None = None) -> Dataset:
    """Return the data scaled by ``scale``; scaled data as they are.

    ``data``: Dataset. ``scale``: by default "standard"; sparse data are then taken as they are, since a shift would
    fill every cell. Raises ParameterError: another word, or another scaling than the one that the data carry. Raises
    DataError: sparse data and a scaling that shifts zeros; a value that overflows.

    >>> data = Dataset.from_arrays([[1.0], [3.0]], [0, 1])
    >>> on_one_footing(data).X.ravel().tolist(), on_one_footing(data.scaled("none")).X.ravel().tolist()
    ([-1.0, 1.0], [1.0, 3.0])
    """
    has = dataset(data).scale
    if scale is not None:
        choice("scale", scale, list(SCALINGS))
    if not has.chosen:
        return data if scale is None and data.is_sparse else data.scaled(scale or DEFAULT_SCALING)
    if scale not in (None, "none", *has.method.split(", ")):
        raise ParameterError(
            f'scale="{scale}": data "{data.name}" are scaled already ("{has.method}") and taken as they are. Leave '
            "scale out, or give the data unscaled."
        )
    return data


def reweighted(data: Dataset, sample_weight: Any = None, class_weight: Any = None) -> Dataset:
    """Return the data with weights as ``select`` takes them: what is not given stays as the data have it.

    Raises what ``Dataset.weighted`` does.
    """
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
    """Return the data for a builder, without scaling; ``weights``: whether the model ``who`` supports weights.

    Raises ParameterError if they are no Dataset, or one with weights that would be ignored. Raises DataError if a value
    is larger than models can bear. Warns DataWarning: nobody chose a scaling, ``"none"`` included, and columns differ
    by more than 100 times in size.
    """
    if bearable(data, weights=weights, who=who).scale.chosen or not data.n_samples:
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
            'data.scaled("none") where these units are meant.',
            DataWarning,
        )
    return data
