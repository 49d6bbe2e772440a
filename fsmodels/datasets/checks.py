"""Checks of data that all builders share."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmodels.checks import LARGEST
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import built_model


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
