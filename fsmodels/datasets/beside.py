"""Columns that lie beside the features: known for each sample, and used by no classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.datasets.categories import level, level_order
from fsmodels.datasets.origin import Origin
from fsmodels.errors import DataError
from fsmodels.words import listed, shown, suggestion

__all__ = ["checked", "labels", "members", "taken"]

Labels = NDArray[Any]
MOST = 20  # groups
DIGITS = 12  # of a number


def labels(values: Any, where: str) -> Labels:
    """Return values as text; numbers that are whole without a point. Raises DataError where one is missing."""
    cells = values.to_numpy() if isinstance(values, pd.Series) else np.asarray(values)
    if cells.ndim != 1:
        raise DataError(f"{where} has shape {cells.shape}: give one value a sample.")
    # The rounding makes values equal that a scaling was taken off.
    found = [level(float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell) for cell in cells.tolist()]
    if None in found:
        blank = found.index(None)
        raise DataError(f"{where} has no value in row {blank + 1}: fill it in or remove the row.")
    made = np.array(found, dtype=object)
    made.setflags(write=False)
    return made


def taken(table: pd.DataFrame, names: Sequence[str], target: str, origin: Origin) -> dict[str, Labels]:
    """Return columns of a table; each must be there, and none is the target."""
    for name in names:
        if name not in table.columns:
            raise DataError(
                f'There is no column "{name}" to set aside (--bags, --fair; Python: aside=) in {origin.where}. '
                f"{suggestion(name, table.columns)}Its columns are {listed(table.columns)}.{origin.headless}"
            )
        if name == target:
            raise DataError(f'Column "{name}" holds the labels: set another column aside, or name another target.')
    return {name: labels(table[name], f'Column "{name}" of {origin.where}') for name in names}


def members(
    groups: Any, aside: Mapping[str, Labels], features: Sequence[str], n_samples: int
) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each group: of a column that lies aside, or of one value a sample.

    Raises DataError: no such column, not one value a sample, one group only, or too many.
    """
    if isinstance(groups, str):
        if groups not in aside:
            there = listed(aside) or "none"
            hint = f' It is a feature: data.set_aside("{groups}").' if groups in features else ""
            raise DataError(f'No column "{groups}" lies aside (there: {there}).{hint}')
        what, found = f'"{groups}"', aside[groups]
    else:
        what, found = "the groups", labels(groups, "The groups")
        if len(found) != n_samples:
            raise DataError(f"The groups have {len(found)} values for {n_samples} samples: give one a sample.")
    names = sorted(set(found.tolist()), key=level_order)
    if not 2 <= len(names) <= MOST:
        raise DataError(
            f"Column {what} has {len(names)} different values ({listed(names, 5)}): fairness is between 2 to {MOST} "
            "groups of samples, so give a column of categories."
        )
    return {name: np.flatnonzero(found == name) for name in names}


def checked(aside: Mapping[str, Any], n_samples: int) -> dict[str, Labels]:
    """Return what lies aside, one label a sample each."""
    if not isinstance(aside, Mapping):
        raise DataError(f"aside={shown(aside)} is not allowed: give a mapping from name to one label a sample.")
    found = {str(name): labels(values, f'aside "{name}"') for name, values in aside.items()}
    for name, values in found.items():
        if len(values) != n_samples:
            raise DataError(f'"{name}" has {len(values)} values for {n_samples} samples: give one a sample.')
    return found
