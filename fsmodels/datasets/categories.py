"""Columns of categories as 0/1 features, named ``colour=red``: how they are made, and made again of other samples.

A column of three levels or more becomes one feature for each, and none is left out as a reference: with an offset their
sum is a constant, but the norm of the weights makes the classifier unique, prices all levels alike, and so the answer
does not depend on which level would have been left out; selected apart, a feature then says "this level or any other".
A column of two levels becomes one feature, of the later level: two would be each other's mirror and count twice.

``together``: the features of a column are selected all or none. Each of them counts for ``max_features``.

Levels are those of the data that were read. Where rows are taken, a level without a row is a feature of 0 in each, with
weight 0, so that a held-out row of that level is decided as one of no level: as by an encoder fitted on these rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsmodels.datasets.decimals import is_missing, number
from fsmodels.datasets.origin import Origin
from fsmodels.datasets.tables import named
from fsmodels.errors import DataError, ParameterError
from fsmodels.words import as_names, listed, short, suggestion

__all__ = ["MOST_LEVELS", "UNSEEN", "Category", "expanded", "is_text", "levels_of"]

FloatArray = NDArray[np.float64]
MOST_LEVELS = 50
HOW = ("together", "apart")
ALL = "all"
UNSEEN = ("refuse", "zeros")


@dataclass(frozen=True)
class Category:
    """A column of categories: its levels in order, and whether its features are selected together."""

    column: str
    levels: tuple[str, ...]
    together: bool = True

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the 0/1 features."""
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return tuple(f"{self.column}={level}" for level in shown)

    def coded(self, cells: Iterable[Any], where: str, unseen: str = "refuse") -> FloatArray:
        """Return the features of cells, NaN in rows without a value. Raises DataError: a level that is not known.

        ``unseen``: "zeros" decides of such a row as of one of no level.
        """
        texts = [level(cell) for cell in cells]
        if unseen == "refuse" and (new := [text for text in texts if text is not None and text not in self.levels]):
            row = texts.index(new[0])
            raise DataError(
                f'{where} has "{short(new[0])}" in row {row + 1}, which is none of the levels of "{self.column}" '
                f"({listed(self.levels)}): correct it, leave the row out, or let such rows count as of no level with "
                '--unseen zeros (Python: unseen="zeros").'
            )
        levels = self.levels[1:] if len(self.levels) == 2 else self.levels
        blank = np.array([text is None for text in texts])
        columns = [np.where(blank, math.nan, [float(text == each) for text in texts]) for each in levels]
        return np.column_stack(columns) if len(texts) else np.zeros((0, len(levels)))


def level(cell: Any) -> str | None:
    """Return a cell as the text of its level: numbers that are whole without a point; None where there is none."""
    if is_missing(cell):
        return None
    if isinstance(cell, float | np.floating) and math.isfinite(cell) and cell == int(cell):
        return str(int(cell))
    text = str(cell).strip()
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", text) or None


def levels_of(cells: Iterable[Any]) -> tuple[str, ...]:
    """Return the levels of a column, numbers first and in their order."""
    return tuple(sorted({text for cell in cells if (text := level(cell)) is not None}, key=level_order))


def level_order(text: str) -> tuple[bool, float, str]:
    """Return the key by which levels are sorted: numbers first and in their order."""
    value = number(text)
    return (value is None, 0.0 if value is None or math.isnan(value) else value, text)


def is_text(cells: pd.Series) -> bool:
    """Tell whether most cells of a column are text, and no numbers or truth values."""
    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_bool_dtype(cells.dtype):
        return False
    told = [str(cell).strip() for cell in cells if level(cell) is not None]
    if {text.lower() for text in told} <= {"true", "false"}:
        return False
    return 2 * sum(number(text) is None for text in told) > len(told)


def expanded(table: pd.DataFrame, one_hot: Any, origin: Origin) -> tuple[pd.DataFrame, dict[str, Category]]:
    """Return the table with the columns of ``one_hot`` as 0/1 features in their place, and the categories.

    Raises DataError: no such column, one level, too many, or a feature's name that is taken.
    """
    asked = _asked(one_hot, table, origin)
    if not asked:
        return table, {}
    categories: dict[str, Category] = {}
    parts: dict[str, Any] = {}
    for name in [str(column) for column in table.columns]:
        if name not in asked:
            parts[name] = table[name]
            continue
        levels = levels_of(table[name])
        if not 2 <= len(levels) <= MOST_LEVELS:
            raise DataError(
                f'Column "{name}" has {len(levels)} different values ({listed(map(short, levels), 5)}), and --one-hot '
                f"(Python: one_hot=) takes categories of 2 to {MOST_LEVELS} levels: {origin.leave_out([name])}."
            )
        category = categories[name] = Category(name, levels, asked[name])
        coded = category.coded(table[name], origin.where)
        for feature, values in zip(category.features, coded.T, strict=True):
            if feature in parts or feature in table.columns:
                raise DataError(f'Column "{name}" would make the feature "{feature}", and there is one: rename it.')
            parts[feature] = values
    return pd.DataFrame(parts, index=table.index), categories


def _asked(one_hot: Any, table: pd.DataFrame, origin: Origin) -> dict[str, bool]:
    """Return column -> whether its features are selected together, of names, ``name:apart``, or a mapping."""
    if one_hot is None or one_hot is False:
        return {}
    if isinstance(one_hot, Mapping):
        pairs = [(str(name), how) for name, how in one_hot.items()]
    else:
        words = [ALL] if one_hot is True else as_names(one_hot, "one_hot")
        pairs = [pair for word in words for pair in _split(word, table.columns)]
    found: dict[str, bool] = {}
    for name, how in pairs:
        if how not in HOW:
            raise ParameterError(f"--one-hot {name}:{how} (Python: one_hot=) is not known: use {' or '.join(HOW)}.")
        if name == ALL and name not in table.columns:
            for column in table.columns:
                if is_text(table[column]):
                    found.setdefault(str(column), how == "together")
            continue
        if name not in table.columns:
            raise DataError(
                f'There is no column "{name}" for --one-hot (Python: one_hot=) in {origin.where}. '
                f"{suggestion(name, table.columns)}Its columns besides the labels are {listed(table.columns)}."
                f"{origin.headless}"
            )
        found[name] = how == "together"
    return found


def _split(word: str, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Read ``a``, ``a,b`` and ``a:apart``; a word that is a column is that column."""
    name, colon, how = word.rpartition(":")
    if word in columns or not colon or (how.strip() not in HOW and name not in columns):
        return [(part, "together") for part in named([word], columns)]
    return [(part, how.strip()) for part in named([name], columns)]
