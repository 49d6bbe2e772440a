"""Files that give each feature a cost or a group."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from fsmodels.datasets.decimals import number
from fsmodels.datasets.tables import read_table
from fsmodels.errors import DataError, DataWarning
from fsmodels.words import short
from solvers.outside import warn

__all__ = ["read_costs", "read_groups"]


def read_costs(path: str | Path) -> dict[str, float]:
    r"""Read what each feature costs from a CSV file with the header ``feature,cost``.

    Parameters
    ----------
    path : str or Path
        Plain or gzipped CSV; costs are finite and not negative, in the user's unit.

    Returns
    -------
    dict
        Feature name -> cost. Whether the names are features of the data is the caller's to check, with
        ``check_known_features(costs, data.features, where)``.

    Raises
    ------
    DataError
        Missing file, another header, a blank or repeated feature, a cost that is no finite number or negative.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "costs.csv"
    >>> _ = path.write_text("feature,cost\nage,1\nscan,250.5\n")
    >>> read_costs(path)
    {'age': 1.0, 'scan': 250.5}
    """
    costs: dict[str, float] = {}
    for name, text, where in _by_feature(path, "Costs", "cost"):
        cost = number(text)
        if cost is None or not math.isfinite(cost) or cost < 0:
            raise DataError(
                f'Costs file "{path}" has the cost "{short(text)}" for "{name}" in {where}: '
                "give a finite number of at least 0."
            )
        costs[name] = cost
    return costs


def read_groups(path: str | Path) -> dict[str, str]:
    r"""Read the group of each feature from a CSV file with the header ``feature,group``.

    Raises
    ------
    DataError
        Missing file, another header, a blank or repeated feature, a blank group.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "groups.csv"
    >>> _ = path.write_text("feature,group\nage,person\nscan,imaging\n")
    >>> read_groups(path)
    {'age': 'person', 'scan': 'imaging'}
    """
    groups: dict[str, str] = {}
    for name, text, where in _by_feature(path, "Groups", "group"):
        if not text:
            raise DataError(f'Groups file "{path}" has no group for "{name}" in {where}: fill it in or remove the row.')
        groups[name] = text
    return groups


def _by_feature(path: str | Path, what: str, column: str) -> Iterable[tuple[str, str, str]]:
    """Feature, cell and place of each row of a file with the header ``feature,column``."""
    table, origin = read_table(path)
    for note in origin.notes:
        warn(note, DataWarning)
    if list(table.columns) != ["feature", column]:
        raise DataError(
            f'{what} file "{path}" has the header "{",".join(table.columns)}": it must be "feature,{column}", '
            "with one row per feature."
        )
    seen = set[str]()
    for row, (cell, text) in enumerate(zip(table["feature"], table[column], strict=True)):
        name, where = str(cell).strip(), origin.row(row)
        if not name:
            raise DataError(f'{what} file "{path}" has no feature name in {where}: fill it in or remove the row.')
        if name in seen:
            raise DataError(f'{what} file "{path}" has a second {column} for "{name}" in {where}: keep one of them.')
        seen.add(name)
        yield name, str(text).strip(), where
