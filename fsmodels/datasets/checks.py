"""Checks of data that all builders share."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmodels.checks import LARGEST
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError, ParameterError


def dataset(data: Any) -> Dataset:
    """Return the data, if they are a Dataset.

    Raises ParameterError, with what they are and how to make a Dataset of them.
    """
    if not isinstance(data, Dataset):
        raise ParameterError(
            f"This needs a Dataset and got {type(data).__name__}: use Dataset.from_csv, from_frame or from_arrays."
        )
    return data


def bearable(data: Any) -> Dataset:
    """Return the data, if they are a Dataset whose values a model can bear; one that is to be scaled need not.

    Raises ParameterError if they are no Dataset. Raises DataError, with the column of a value that is too large.
    """
    check_values(dataset(data))
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
