"""The live model of a saved selection, built again from the data that it was made of."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from fsmodels.datasets.checks import dataset
from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import DataError
from fsmodels.selection.recipes import find
from fsmodels.selection.select import prepared
from fsmodels.selection.sides import KINDS, beside, words_of

__all__ = ["rebuilt"]


def rebuilt(told: dict[str, Any], space: Dataset, data: Dataset) -> pyo.ConcreteModel | None:
    """Return the model that ``select`` built for what a file tells; ``space``: features and scaling of then.

    Raises DataError: the data are others.
    """
    recipe, parameters, about = find(told["model"]), dict(told["parameters"]), told["data"]
    kinds = [kind for kind in KINDS if kind in parameters and not isinstance(parameters[kind], int | float)]
    sides = words_of({kind: parameters.pop(kind) for kind in kinds})
    if "budget_features" in parameters:
        parameters.pop("budget", None)
        sides["budget"] = [parameters.pop("budget_features"), *sides.get("budget", [])]
    given = _weighed(dataset(data), about.get("weights") or {})
    for row in sides.get("fair", ()):
        given = given if row[0] in given.aside else beside(given, [row])[0]
    if (given.n_samples, len(space.features)) != (about["samples"], about["features"]):
        held = f"{about['samples']} samples and {about['features']} features (scaling of {len(space.features)})"
        raise DataError(f'The selection is of {held}, and data "{data.name}" are others: give those of then.')
    scaled = space.apply_scale_to(given)
    own = {name: value for name, value in parameters.items() if name in recipe.parameters or name == "max_features"}
    return prepared(scaled, told["model"], **own, **sides).model


def _weighed(data: Dataset, words: dict[str, Any]) -> Dataset:
    """Return the data with the weights of a report's words.

    Raises DataError: they were given one by one, and the data have none.
    """
    column = words.get("sample_weight")
    if column is True and data.multiplicity is None:
        raise DataError(
            f'The selection is of samples with a weight each, and data "{data.name}" have none: give them with those '
            "of then, data.weighted(sample_weight)."
        )
    given = column if isinstance(column, str) else data.multiplicity if column else None
    return data.weighted(given, words.get("class_weight"))
