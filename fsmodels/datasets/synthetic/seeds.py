"""Random generators from one seed: one for each part of an instance."""

import numpy as np


def generators(seed: int | np.random.SeedSequence, number: int) -> list[np.random.Generator]:
    """Return generators whose draws do not depend on one another, the same for the same seed."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # children by key and not by spawn(), which would count up in a sequence that the caller may use again
    children = [np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, k)) for k in range(number)]
    return [np.random.default_rng(child) for child in children]
