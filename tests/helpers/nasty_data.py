"""Small data in nasty units, drawn from a generator."""

from __future__ import annotations

import numpy as np

UNITS = ["one", "one", "powers", "tiny", "huge", "far", "near", "twin", "integers", "rare"]


def two_classes(rng: np.random.Generator, fewest: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (l, n) with fewest <= l < most and n in 1..4, and y (l,) of both classes, near to separable or not."""
    rows, n = int(rng.integers(fewest, most)), int(rng.integers(1, 5))
    X = rng.normal(size=(rows, n))
    y = np.where(X[:, 0] + rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def put_in_units(rng: np.random.Generator, X: np.ndarray, kind: str) -> None:
    """Give each column units of a kind, one in five of any."""
    for j in range(X.shape[1]):
        unit = str(rng.choice(UNITS)) if rng.random() < 0.2 else kind
        X[:, j] = {
            "one": X[:, j],
            "powers": X[:, j] * 10.0 ** rng.uniform(-6, 6),
            "tiny": X[:, j] * 1e-6,
            "huge": X[:, j] * 1e6,
            "far": 1e8 + np.round(3 * X[:, j]),
            "near": 1 + 1e-7 * X[:, j],
            "twin": X[:, int(rng.integers(j + 1))] * rng.choice([1.0, -1.0, 2.0]),
            "integers": np.round(X[:, j]),
            "rare": X[:, j] * (rng.random(len(X)) < 0.3),
        }[unit]
