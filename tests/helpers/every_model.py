"""Samples and parameters with which every model by name can be solved."""

from typing import Any

import numpy as np

import fsmodels as fs
from fsmodels.selection.catalogue import MODELS

FEATURES = ["a", "b", "c", "d"]
VALUES = {"max_features": 2, "penalty": 0.1, "C": 1.0, "R_plus": 1.0, "R_minus": 1.0}


def samples() -> fs.Dataset:
    """Return 40 samples of two classes that overlap, in different units, with a column ``half`` aside."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 1]
    y = np.where((X - [0, 5, 0, 1]) @ [1.0, -0.1, 8.0, 0.1] + 0.5 * rng.normal(size=40) > 0, "ill", "well")
    half = np.where(np.arange(40) % 2, "f", "m")
    return fs.Dataset.from_arrays(X, y, features=FEATURES, positive="ill").with_aside(half=half)


def parameters_of(name: str) -> dict[str, Any]:
    """Return the values of the parameters that a model has."""
    return {key: value for key, value in VALUES.items() if key in MODELS[name].parameters}
