"""The pooling problems of the literature: blends of sources in pools, whose quality is what their flows make of it.

Flows x (source, pool), y (pool, product), z (source, product) and qualities q (pool, quality); a pool's quality times
what leaves it is what enters, which is bilinear. All optima are known (Haverly 1978, Ben-Tal, Eiger and Gershovitz
1994, Adhya, Tawarmalani and Sahinidis 1999; data as in Tawarmalani and Sahinidis 2002).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyomo.environ as pyo


@dataclass(frozen=True)
class Pooling:
    """Sources (price, most, qualities), pools (their sources), products (price, most, largest qualities, least)."""

    optimum: float
    sources: dict[str, tuple[float, float, list[float]]]
    pools: dict[str, list[str]]
    products: dict[str, tuple[float, float, list[float]]]
    direct: tuple[str, ...] = ()
    capacity: float = float("inf")
    least: float = 0.0  # of each product
    pools_to: dict[str, list[str]] | None = None


HAVERLY_1 = Pooling(
    -400,
    {"A": (6, 300, [3]), "B": (16, 300, [1]), "C": (10, 300, [2])},
    {"P": ["A", "B"]},
    {"X": (9, 100, [2.5]), "Y": (15, 200, [1.5])},
    ("C",),
)
HAVERLY_2 = replace(
    HAVERLY_1,
    optimum=-600,
    sources={name: (price, 800, qualities) for name, (price, _, qualities) in HAVERLY_1.sources.items()},
    products={"X": (9, 600, [2.5]), "Y": (15, 200, [1.5])},
)
HAVERLY_3 = replace(HAVERLY_1, optimum=-750, sources={**HAVERLY_1.sources, "B": (13, 300, [1])})
BENTAL_4 = Pooling(
    -450,
    {"A": (6, 300, [3]), "B": (15, 50, [1]), "C": (16, 300, [1]), "D": (10, 300, [2])},
    {"P": ["A", "B", "C"]},
    {"X": (9, 100, [2.5]), "Y": (15, 200, [1.5])},
    ("D",),
)
ADHYA_1 = Pooling(
    -549.80305,
    {
        "1": (7, 75, [1, 6, 4, 0.5]),
        "2": (3, 75, [4, 1, 3, 2]),
        "3": (2, 75, [4, 5.5, 3, 0.9]),
        "4": (10, 75, [3, 3, 3, 1]),
        "5": (5, 75, [1, 2.7, 4, 1.6]),
    },
    {"P": ["1", "2"], "R": ["3", "4", "5"]},
    {
        "a": (16, 10, [3, 3, 3.25, 0.75]),
        "b": (25, 25, [4, 2.5, 3.5, 1.5]),
        "c": (15, 30, [1.5, 5.5, 3.9, 0.8]),
        "d": (10, 10, [3, 4, 4, 1.8]),
    },
    capacity=75,
)
ADHYA_4 = Pooling(
    -877.64574,
    {
        "1": (15, 85, [0.5, 1.9, 1.3, 1]),
        "2": (7, 85, [1.4, 1.8, 1.7, 1.6]),
        "3": (4, 85, [1.2, 1.9, 1.4, 1.4]),
        "4": (5, 85, [1.5, 1.2, 1.7, 1.3]),
        "5": (6, 85, [1.6, 1.8, 1.6, 2]),
        "6": (3, 85, [1.2, 1.1, 1.4, 2]),
        "7": (5, 85, [1.5, 1.5, 1.5, 1.5]),
        "8": (5, 85, [1.4, 1.6, 1.2, 1.6]),
    },
    {"P": ["1", "2", "3", "4"], "R": ["5", "6", "7", "8"]},
    {
        "a": (10, 15, [1.2, 1.7, 1.4, 1.7]),
        "b": (25, 25, [1.4, 1.3, 1.8, 1.4]),
        "c": (30, 10, [1.3, 1.3, 1.9, 1.9]),
        "d": (6, 20, [1.2, 1.1, 1.7, 1.6]),
        "e": (10, 15, [1.6, 1.9, 2, 2.5]),
    },
    capacity=85,
)
POOLING = {
    "haverly 1": HAVERLY_1,
    "haverly 2": HAVERLY_2,
    "haverly 3": HAVERLY_3,
    "bental 4": BENTAL_4,
    "adhya 1": ADHYA_1,
    "adhya 4": ADHYA_4,
}


def pooling(data: Pooling) -> pyo.ConcreteModel:
    """Build the model in flows and qualities (Haverly's own)."""
    kinds = range(len(next(iter(data.sources.values()))[2]))
    into = [(i, p) for p, held in data.pools.items() for i in held]
    bypass = [(i, j) for i in data.direct for j in data.products]
    best = {(p, k): min(data.sources[i][2][k] for i in held) for p, held in data.pools.items() for k in kinds}
    worst = {(p, k): max(data.sources[i][2][k] for i in held) for p, held in data.pools.items() for k in kinds}
    m = pyo.ConcreteModel()
    m.x = pyo.Var(into, bounds=lambda m, i, p: (0, data.sources[i][1]), doc="from source to pool")
    m.y = pyo.Var(list(data.pools), list(data.products), bounds=lambda m, p, j: (0, data.products[j][1]))
    m.z = pyo.Var(bypass, bounds=lambda m, i, j: (0, data.products[j][1]), doc="from source to product")
    m.q = pyo.Var(list(data.pools), kinds, bounds=lambda m, p, k: (best[p, k], worst[p, k]), doc="quality of a pool")

    def arrives(m, j):
        return sum(m.y[p, j] for p in data.pools) + sum(m.z[i, j] for i in data.direct)

    def used(m, i):
        return sum(m.x[s, p] for s, p in into if s == i) + sum(m.z[s, j] for s, j in bypass if s == i)

    m.available = pyo.Constraint(list(data.sources), rule=lambda m, i: used(m, i) <= data.sources[i][1])
    m.demand = pyo.Constraint(
        list(data.products), rule=lambda m, j: pyo.inequality(data.least, arrives(m, j), data.products[j][1])
    )
    m.balance = pyo.Constraint(
        list(data.pools),
        rule=lambda m, p: sum(m.x[i, p] for i in data.pools[p]) == sum(m.y[p, j] for j in data.products),
    )
    if data.capacity < float("inf"):
        m.size = pyo.Constraint(
            list(data.pools), rule=lambda m, p: sum(m.x[i, p] for i in data.pools[p]) <= data.capacity
        )
    m.mixed = pyo.Constraint(
        list(data.pools),
        kinds,
        rule=lambda m, p, k: (
            sum(data.sources[i][2][k] * m.x[i, p] for i in data.pools[p])
            == m.q[p, k] * sum(m.y[p, j] for j in data.products)
        ),
    )
    m.quality = pyo.Constraint(
        list(data.products),
        kinds,
        rule=lambda m, j, k: (
            sum(m.q[p, k] * m.y[p, j] for p in data.pools) + sum(data.sources[i][2][k] * m.z[i, j] for i in data.direct)
            <= data.products[j][2][k] * arrives(m, j)
        ),
    )
    cost = sum(data.sources[i][0] * used(m, i) for i in data.sources)
    m.cost = pyo.Objective(expr=cost - sum(data.products[j][0] * arrives(m, j) for j in data.products))
    return m
