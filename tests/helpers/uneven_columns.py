"""Sixty samples of five columns in very different units, of which three are informative."""

import numpy as np

import fsmodels as fs


def uneven_columns() -> fs.Dataset:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5)) * [1, 5, 1, 1, 100]
    y = np.where(X @ [1.5, 0.1, 0.3, 0.0, 0.0] + 0.8 * rng.normal(size=60) > 0, 1, -1)
    return fs.Dataset.from_arrays(X, y, features=["a", "b", "c", "d", "e"])
