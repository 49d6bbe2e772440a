"""Base class of synthetic data, checks of their sizes, and independent draws of their parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmodels.datasets.dataset import Dataset
from fsmodels.errors import ParameterError
from fsmodels.weights import FloatArray

Seed = int | np.random.SeedSequence


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Training and test set of one distribution whose relevant features are known.

    Attributes
    ----------
    name : str
        Name of the instance.
    train, test : Dataset
        Features x1, x2, ..., as drawn.
    relevant : tuple of str
        The features that determine the class.
    """

    name: str
    train: Dataset
    test: Dataset
    relevant: tuple[str, ...]

    @property
    def n_relevant(self) -> int:
        """Number of relevant features."""
        return len(self.relevant)


def check_sizes(n_features: int, n_relevant: int, **samples: int) -> None:
    """Raise ParameterError for sizes that no synthetic data can have; ``samples``: sizes of parts by parameter."""
    for name, size in samples.items():
        if size < 2:
            raise ParameterError(f"{name}={size} cannot contain two classes: use at least 2.")
    if n_relevant < 1:
        raise ParameterError(f"n_relevant={n_relevant} leaves no relevant feature: use 1..{n_features}.")
    if n_features < n_relevant:
        raise ParameterError(
            f"n_features={n_features} is not possible with {n_relevant} relevant features: use at least {n_relevant}."
        )


def generators(seed: Seed, number: int) -> list[np.random.Generator]:
    """Return independent generators, the same for the same seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # Children by key and not by spawn(), which would change a sequence that the caller may use again.
    children = [np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, k)) for k in range(number)]
    return [np.random.default_rng(child) for child in children]


def draw_parts(
    draw: Callable[[int, Any], tuple[FloatArray, FloatArray]], sources: Iterable[Any], title: str, **sizes: int
) -> dict[str, Dataset]:
    """Return a data set for each size, by name.

    ``draw``: returns rows and labels for a size and one of the ``sources``, a generator or several. It is called again
    until the part has both classes and no label 0 (a row on the hyperplane).
    """
    parts = {}
    for (name, size), source in zip(sizes.items(), sources, strict=True):
        X, y = draw(size, source)
        while len(np.unique(y)) < 2 or not y.all():
            X, y = draw(size, source)
        parts[name] = Dataset(X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])), f"{title}/{name}")
    return parts
