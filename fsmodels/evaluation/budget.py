"""A budget of features for models that have none: their own parameter is turned until so many are selected.

A model whose parameter decides how many features it selects gets the loosest of a ladder of values, from loose to
tight, with which it selects no more than the budget. The ladder is fixed beforehand, the search is by halves and sees
the rows to learn from only, so that it belongs inside the folds. Numbers of features need not fall along the whole
ladder; what is taken meets the budget all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fsmodels.datasets.dataset import Dataset
from fsmodels.models.recipe import STEPS
from fsmodels.selection.recipes import MODELS, find
from fsmodels.selection.select import select
from fsmodels.selection.selection import Selection
from solvers import StopReason
from solvers.clock import own_clock

__all__ = ["ladder", "within"]


def ladder(model: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters by which a model is held to a budget; none where it is not, or ``own`` has one of them.

    ``own``: the words that were given for this model.
    """
    recipe = MODELS.get(model)
    names = recipe.ladder[0] if recipe is not None and recipe.ladder is not None else ()
    return () if "max_features" in own or any(name in own for name in names) else names


def within(data: Dataset, model: str, words: Mapping[str, Any], most: int) -> tuple[Selection, dict[str, Any]]:
    """Return the selection at the loosest value that meets the budget; that value, and the seconds of the search.

    Where none of them does, the tightest is taken. Each solve has an equal share of the time limit.
    """
    turned = find(model).ladder
    assert turned is not None
    names, values_of = turned
    values = [float(f"{value:.4g}") for value in values_of(data, words.get("C", 1.0))]
    limit = words.get("time_limit")
    share = {} if limit is None else {"time_limit": limit / (math.ceil(math.log2(STEPS)) + 1)}
    met: dict[int, Selection] = {}

    def at(place: int) -> Selection:
        if place not in met:
            with own_clock():
                met[place] = select(data, model, **{**words, **dict.fromkeys(names, values[place]), **share})
        return met[place]

    low, high = 0, STEPS - 1
    while low < high:
        middle = (low + high) // 2
        found = at(middle)
        if found.stop_reason is StopReason.INTERRUPTED:
            return found, {}
        low, high = (low, middle) if found.has_solution and len(found.selected) <= most else (middle + 1, high)
    found = at(low)
    return found, {"tuned": dict.fromkeys(names, values[low]), "seconds": sum(one.seconds for one in met.values())}
