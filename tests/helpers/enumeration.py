"""Values of all supports of a small instance of FSP, the reference for answers to questions."""

from itertools import combinations

import numpy as np

import fsmodels as fs


def instance(seed: int, features: int = 7) -> tuple[fs.Dataset, float, int, dict[str, object]]:
    """Return random data with some signal, C, M, and side constraints as ``select`` takes them."""
    rng = np.random.default_rng(seed)
    n, samples = int(rng.integers(3, features + 1)), int(rng.integers(8, 30))
    names = [f"x{j}" for j in range(n)]
    y = np.where(np.arange(samples) < max(2, samples // int(rng.integers(2, 5))), 1.0, -1.0)
    X = rng.normal(size=(samples, n))
    X[:, : n // 2 + 1] += 0.7 * y[:, None] * rng.uniform(0, 1, size=n // 2 + 1)
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0] + 0.1 * rng.normal(size=samples)
    a, b, c = rng.choice(names, 3, replace=False).tolist()
    kinds = {
        "excludes": [(a, b)],
        "requires": [(a, b)],
        "budget": ({name: float(rng.integers(1, 4)) for name in names}, float(rng.integers(2, 7))),
        "force_out": [c],
        "at_most": [([a, b, c], 1)],
    }
    kept = {kind: rows for kind, rows in kinds.items() if rng.random() < 0.35}
    data = fs.Dataset.from_arrays(X, y, features=names, name=f"random{seed}").scaled("standard")
    return data, float(10 ** rng.uniform(-2, 1.5)), int(rng.integers(1, n + 1)), kept


def allowed(chosen: set[str], rows: dict[str, object]) -> bool:
    """Tell whether a support meets side constraints, read from their words."""
    costs, limit = rows.get("budget", ({}, 0.0))
    return (
        sum(costs.get(name, 0.0) for name in chosen) <= limit + 1e-9
        and all(not (a in chosen and b in chosen) for a, b in rows.get("excludes", ()))
        and all(a not in chosen or b in chosen for a, b in rows.get("requires", ()))
        and not chosen & set(rows.get("force_out", ()))
        and set(rows.get("force_in", ())) <= chosen
        and all(len(chosen & set(group)) <= k for group, k in rows.get("at_most", ()))
    )


def every_support(
    data: fs.Dataset, C: float, most: int, rows: dict[str, object], price: float = 0.0
) -> list[tuple[float, frozenset[str]]]:
    """Return (objective, support) of every support allowed, the best first."""
    found = []
    for k in range(most + 1):
        for names in combinations(data.features, k):
            if allowed(set(names), rows):
                found.append((fs.fsp.value(data, names, C=C) + price * k, frozenset(names)))
    return sorted(found, key=lambda pair: pair[0])
