"""Which sizes of numbers the arithmetic can bear, in one place.

The models multiply values, weights and parameters: an SVM has ``C x_i.x_j`` summed over n samples, GMEB ``x^2 / R``,
and their oracles square such terms once more. In double precision (1e-308..1e308) all of these are finite and not 0 for

    values up to 1e30 in size, parameters within 1e-30..1e30, and n up to 1e9: (1e30 * 1e9 * 1e60)^2 = 1e198.

Data beyond may be held and scaled, so a builder refuses them and a ``Dataset`` does not. That a solver takes fewer
digits than that is not what this module is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsmodels.errors import DataError

if TYPE_CHECKING:
    from fsmodels.datasets.dataset import Dataset

__all__ = ["LARGEST", "SMALLEST", "check_values"]

LARGEST = 1e30
SMALLEST = 1e-30


def check_values(data: Dataset) -> None:
    """Refuse data with a value beyond what can be borne.

    Raises
    ------
    DataError
        With the column, its largest value and how to scale it.
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
