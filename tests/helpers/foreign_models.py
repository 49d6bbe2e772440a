"""Textbook models from other fields, and the drivers that support them.

Each is small enough for a whole-model solver; ``FOREIGN`` says who that is, the optimum, and each driver's options.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from pooling import HAVERLY_1, HAVERLY_2, HAVERLY_3, Pooling, pooling

Options = Callable[[Any], dict[str, Any]]


def plain(model: Any) -> dict[str, Any]:
    """No option: the driver finds all by itself."""
    return {}


@dataclass(frozen=True)
class Foreign:
    """A model, who solves it whole, its optimum, and the drivers that take it: exact ones, and those that search."""

    build: Callable[[], pyo.ConcreteModel]
    whole: str
    optimum: float
    exact: dict[str, Options] = field(default_factory=dict)
    search: dict[str, Options] = field(default_factory=dict)


def integers_first(model: Any = None) -> dict[str, Options]:
    """The Benders drivers, by their default, and cutting planes."""
    return dict.fromkeys(["benders", "branch-and-cut", "single-tree", "cutting-plane"], plain)


def decided(*names: str) -> dict[str, Options]:
    """The Benders drivers, told what complicates."""

    def options(model: Any) -> dict[str, Any]:
        return {"complicating": [model.component(name) for name in names]}

    return dict.fromkeys(["benders", "branch-and-cut", "single-tree"], options)


def in_blocks(*blocks: list[str], starts: int = 10) -> dict[str, Options]:
    """The drivers of several starts."""

    def options(model: Any) -> dict[str, Any]:
        return {"blocks": [[model.component(name) for name in block] for block in blocks], "starts": starts}

    return {"alternating": options, "multi-start": lambda model: {"starts": starts}}


# Locations and networks.


def uncapacitated() -> pyo.ConcreteModel:
    """Facility location: open sites, serve each customer from an open one."""
    rng = np.random.default_rng(3)
    sites, customers, cost = range(6), range(12), rng.uniform(1, 9, (6, 12)).round(1)
    m = pyo.ConcreteModel("uncapacitated facility location")
    m.open = pyo.Var(sites, domain=pyo.Binary)
    m.share = pyo.Var(sites, customers, bounds=(0, None))
    m.served = pyo.Constraint(customers, rule=lambda m, c: sum(m.share[s, c] for s in sites) == 1)
    m.from_open = pyo.Constraint(sites, customers, rule=lambda m, s, c: m.share[s, c] <= m.open[s])
    shipped = sum(cost[s, c] * m.share[s, c] for s in sites for c in customers)
    m.cost = pyo.Objective(expr=sum((6 + s) * m.open[s] for s in sites) + shipped)
    return m


def capacitated() -> pyo.ConcreteModel:
    """Facility location with capacities: too few open sites cannot serve all demand."""
    rng = np.random.default_rng(5)
    sites, customers = range(5), range(8)
    demand, size = rng.integers(2, 9, 8).tolist(), rng.integers(12, 25, 5).tolist()
    cost, price = rng.uniform(1, 6, (5, 8)).round(1), rng.uniform(20, 45, 5).round()
    m = pyo.ConcreteModel("capacitated facility location")
    m.open = pyo.Var(sites, domain=pyo.Binary)
    m.ship = pyo.Var(sites, customers, bounds=(0, None))
    m.met = pyo.Constraint(customers, rule=lambda m, c: sum(m.ship[s, c] for s in sites) >= demand[c])
    m.room = pyo.Constraint(sites, rule=lambda m, s: sum(m.ship[s, c] for c in customers) <= size[s] * m.open[s])
    shipped = sum(cost[s, c] * m.ship[s, c] for s in sites for c in customers)
    m.cost = pyo.Objective(expr=sum(price[s] * m.open[s] for s in sites) + shipped)
    return m


def p_median() -> pyo.ConcreteModel:
    """Choose three of seven places so that all places are near a chosen one."""
    rng = np.random.default_rng(8)
    at = rng.uniform(0, 10, (7, 2))
    far = np.linalg.norm(at[:, None] - at[None], axis=2).round(2)
    places = range(7)
    m = pyo.ConcreteModel("p-median")
    m.chosen = pyo.Var(places, domain=pyo.Binary)
    m.near = pyo.Var(places, places, bounds=(0, None))
    m.three = pyo.Constraint(expr=sum(m.chosen.values()) == 3)
    m.each = pyo.Constraint(places, rule=lambda m, i: sum(m.near[i, j] for j in places) == 1)
    m.only = pyo.Constraint(places, places, rule=lambda m, i, j: m.near[i, j] <= m.chosen[j])
    m.distance = pyo.Objective(expr=sum(far[i, j] * m.near[i, j] for i in places for j in places))
    return m


def network() -> pyo.ConcreteModel:
    """Build arcs, route two commodities over them."""
    arcs = {
        (0, 1): (8, 5),
        (0, 2): (6, 4),
        (1, 3): (7, 5),
        (2, 3): (9, 6),
        (1, 2): (3, 3),
        (2, 1): (3, 3),
        (0, 3): (20, 4),
    }
    goods = {"a": (0, 3, 4.0), "b": (0, 2, 2.0)}
    m = pyo.ConcreteModel("network design")
    m.built = pyo.Var(list(arcs), domain=pyo.Binary)
    m.flow = pyo.Var(list(arcs), list(goods), bounds=(0, None))

    def conserved(m: Any, node: int, good: str) -> Any:
        source, sink, amount = goods[good]
        out = sum(m.flow[i, j, good] for i, j in arcs if i == node)
        into = sum(m.flow[i, j, good] for i, j in arcs if j == node)
        return out - into == amount * ((node == source) - (node == sink))

    m.conserved = pyo.Constraint(range(4), list(goods), rule=conserved)
    m.room = pyo.Constraint(
        list(arcs), rule=lambda m, i, j: sum(m.flow[i, j, g] for g in goods) <= arcs[i, j][1] * m.built[i, j]
    )
    routed = sum((1 + abs(i - j)) * m.flow[i, j, g] for i, j in arcs for g in goods)
    m.cost = pyo.Objective(expr=sum(price * m.built[arc] for arc, (price, _) in arcs.items()) + routed)
    return m


# Two stages.


def farmer() -> pyo.ConcreteModel:
    """Birge and Louveaux: acres first, then what is bought and sold in each of three years; profit 108,390."""
    crops, factor = ["wheat", "corn", "beets"], [1.2, 1.0, 0.8]
    crop, price, cost = dict(zip(crops, [2.5, 3.0, 20.0], strict=True)), [170, 150, 36], [150, 230, 260]
    m = pyo.ConcreteModel("farmer")
    m.acres = pyo.Var(crops, bounds=(0, 500))
    m.sold = pyo.Var(crops, range(3), bounds=(0, None))
    m.bought = pyo.Var(crops[:2], range(3), bounds=(0, None))
    m.extra = pyo.Var(range(3), bounds=(0, None))
    m.land = pyo.Constraint(expr=sum(m.acres.values()) <= 500)

    def enough(m: Any, c: str, s: int) -> Any:
        made = factor[s] * crop[c] * m.acres[c]
        if c == "beets":
            return m.sold[c, s] + m.extra[s] <= made
        return made + m.bought[c, s] - m.sold[c, s] >= {"wheat": 200, "corn": 240}[c]

    m.enough = pyo.Constraint(crops, range(3), rule=enough)
    m.quota = pyo.Constraint(range(3), rule=lambda m, s: m.sold["beets", s] <= 6000)
    income = sum(price[k] * m.sold[c, s] for k, c in enumerate(crops) for s in range(3)) + 10 * sum(m.extra.values())
    outlay = sum(238 * m.bought["wheat", s] + 210 * m.bought["corn", s] for s in range(3))
    planted = sum(cost[k] * m.acres[c] for k, c in enumerate(crops))
    m.profit = pyo.Objective(expr=(income - outlay) / 3 - planted, sense=pyo.maximize)
    return m


def newsvendor() -> pyo.ConcreteModel:
    """Order at 4 before demand is known, sell at 9; demands of equal chance."""
    demand = [12, 25, 31, 40, 44, 58, 63, 71, 90, 95]
    m = pyo.ConcreteModel("newsvendor")
    m.order = pyo.Var(bounds=(0, 100))
    m.sold = pyo.Var(range(10), bounds=lambda m, s: (0, demand[s]))
    m.there = pyo.Constraint(range(10), rule=lambda m, s: m.sold[s] <= m.order)
    m.profit = pyo.Objective(expr=0.9 * sum(m.sold.values()) - 4 * m.order, sense=pyo.maximize)
    return m


def expansion() -> pyo.ConcreteModel:
    """Units of three technologies first, then what they make in four scenarios of demand."""
    unit, price, run = [5, 8, 12], [30, 42, 55], [4.0, 3.0, 2.0]
    demand, chance = [20, 28, 35, 41], [0.3, 0.3, 0.25, 0.15]
    kinds, worlds = range(3), range(4)
    m = pyo.ConcreteModel("stochastic capacity expansion")
    m.units = pyo.Var(kinds, domain=pyo.Integers, bounds=(0, 4))
    m.make = pyo.Var(kinds, worlds, bounds=(0, None))
    m.short = pyo.Var(worlds, bounds=(0, None))
    m.room = pyo.Constraint(kinds, worlds, rule=lambda m, k, s: m.make[k, s] <= unit[k] * m.units[k])
    m.met = pyo.Constraint(worlds, rule=lambda m, s: sum(m.make[k, s] for k in kinds) + m.short[s] >= demand[s])
    later = sum(chance[s] * (sum(run[k] * m.make[k, s] for k in kinds) + 25 * m.short[s]) for s in worlds)
    m.cost = pyo.Objective(expr=sum(price[k] * m.units[k] for k in kinds) + later)
    return m


# Operations.


def commitment(curved: bool, hours: range) -> pyo.ConcreteModel:
    """Which of three units run in some hours, and how much each makes; costs are linear or quadratic."""
    least, most, start, idle, rate = [10, 15, 20], [40, 60, 90], [30, 45, 70], [10, 14, 20], [3.0, 2.2, 1.8]
    demand, units = [50, 95, 130, 70], range(3)
    m = pyo.ConcreteModel("unit commitment")
    m.on, m.started = (pyo.Var(units, hours, domain=pyo.Binary) for _ in range(2))
    m.made = pyo.Var(units, hours, bounds=(0, None))
    m.met = pyo.Constraint(hours, rule=lambda m, t: sum(m.made[u, t] for u in units) == demand[t])
    m.above = pyo.Constraint(units, hours, rule=lambda m, u, t: m.made[u, t] >= least[u] * m.on[u, t])
    m.below = pyo.Constraint(units, hours, rule=lambda m, u, t: m.made[u, t] <= most[u] * m.on[u, t])
    m.starts = pyo.Constraint(
        units, hours, rule=lambda m, u, t: m.started[u, t] >= m.on[u, t] - (m.on[u, t - 1] if t else 0)
    )
    fixed = sum(idle[u] * m.on[u, t] + start[u] * m.started[u, t] for u in units for t in hours)
    made = sum(rate[u] * m.made[u, t] + curved * 0.02 * m.made[u, t] ** 2 for u in units for t in hours)
    m.cost = pyo.Objective(expr=fixed + made)
    return m


def lot_sizing() -> pyo.ConcreteModel:
    """Wagner and Whitin with a capacity: set up, make, store."""
    demand, setup, hold = [20, 50, 10, 50, 50, 10], [40, 50, 40, 60, 50, 40], 1.0
    periods = range(6)
    m = pyo.ConcreteModel("lot sizing")
    m.setup = pyo.Var(periods, domain=pyo.Binary)
    m.make, m.stock = pyo.Var(periods, bounds=(0, 90)), pyo.Var(periods, bounds=(0, None))
    m.balance = pyo.Constraint(
        periods, rule=lambda m, t: (m.stock[t - 1] if t else 0) + m.make[t] == demand[t] + m.stock[t]
    )
    m.only = pyo.Constraint(periods, rule=lambda m, t: m.make[t] <= 90 * m.setup[t])
    m.cost = pyo.Objective(expr=sum(setup[t] * m.setup[t] + hold * m.stock[t] for t in periods))
    return m


def cutting_stock() -> pyo.ConcreteModel:
    """Gilmore and Gomory's master over all patterns of a roll of 100; what is left over is sold."""
    width, need = [45, 36, 31], [4, 6, 5]
    counts = itertools.product(*(range(100 // w + 1) for w in width))
    fitting = [p for p in counts if 100 - min(width) < sum(n * w for n, w in zip(p, width, strict=True)) <= 100]
    m = pyo.ConcreteModel("cutting stock")
    m.rolls = pyo.Var(range(len(fitting)), domain=pyo.NonNegativeIntegers, bounds=(0, 20))
    m.over = pyo.Var(range(3), bounds=(0, None))
    m.met = pyo.Constraint(
        range(3), rule=lambda m, i: sum(p[i] * m.rolls[k] for k, p in enumerate(fitting)) == need[i] + m.over[i]
    )
    m.cost = pyo.Objective(expr=sum(m.rolls.values()) - 0.001 * sum(w * m.over[i] for i, w in enumerate(width)))
    return m


# Quadratic choices and fits.


def portfolio() -> pyo.ConcreteModel:
    """Least variance with at most three of six assets, each held by at least a tenth."""
    rng = np.random.default_rng(2)
    factor, mean = rng.normal(size=(8, 6)), [0.09, 0.12, 0.07, 0.15, 0.11, 0.10]
    Q, assets = (factor.T @ factor / 8).round(4), range(6)
    m = pyo.ConcreteModel("portfolio")
    m.held = pyo.Var(assets, domain=pyo.Binary)
    m.share = pyo.Var(assets, bounds=(0, 1))
    m.few = pyo.Constraint(expr=sum(m.held.values()) <= 3)
    m.all = pyo.Constraint(expr=sum(m.share.values()) == 1)
    m.gain = pyo.Constraint(expr=sum(mean[j] * m.share[j] for j in assets) >= 0.1)
    m.most = pyo.Constraint(assets, rule=lambda m, j: m.share[j] <= 0.6 * m.held[j])
    m.least = pyo.Constraint(assets, rule=lambda m, j: m.share[j] >= 0.1 * m.held[j])
    m.variance = pyo.Objective(expr=sum(Q[i, j] * m.share[i] * m.share[j] for i in assets for j in assets))
    return m


def sparse_regression() -> pyo.ConcreteModel:
    """Least squares on at most two of five columns, with weights of at most 3."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(15, 5)).round(2)
    y = (X @ [1.5, 0, 0, -2.0, 0.2] + 0.3 * rng.normal(size=15)).round(2)
    m = pyo.ConcreteModel("sparse regression")
    m.used = pyo.Var(range(5), domain=pyo.Binary)
    m.w = pyo.Var(range(5), bounds=(-3, 3))
    m.two = pyo.Constraint(expr=sum(m.used.values()) <= 2)
    m.above = pyo.Constraint(range(5), rule=lambda m, j: m.w[j] <= 3 * m.used[j])
    m.below = pyo.Constraint(range(5), rule=lambda m, j: m.w[j] >= -3 * m.used[j])
    m.error = pyo.Objective(expr=sum((sum(X[i, j] * m.w[j] for j in range(5)) - y[i]) ** 2 for i in range(15)))
    return m


def chebyshev() -> pyo.ConcreteModel:
    """The line with the least largest error."""
    x, y = np.arange(8.0), [0.2, 1.3, 1.9, 3.4, 3.6, 5.5, 5.7, 7.4]
    m = pyo.ConcreteModel("chebyshev regression")
    m.slope, m.shift, m.worst = pyo.Var(bounds=(-9, 9)), pyo.Var(bounds=(-9, 9)), pyo.Var(bounds=(0, None))
    m.over = pyo.Constraint(range(8), rule=lambda m, i: m.slope * x[i] + m.shift - y[i] <= m.worst)
    m.under = pyo.Constraint(range(8), rule=lambda m, i: y[i] - m.slope * x[i] - m.shift <= m.worst)
    m.cost = pyo.Objective(expr=m.worst)
    return m


def knapsack() -> pyo.ConcreteModel:
    """Continuous quadratic knapsack: near one's wishes within a budget."""
    wish, weight = [3.0, 1.0, 4.0, 1.5, 2.0], [2.0, 1.0, 3.0, 1.0, 2.0]
    m = pyo.ConcreteModel("quadratic knapsack")
    m.x = pyo.Var(range(5), bounds=(0, 5))
    m.budget = pyo.Constraint(expr=sum(weight[j] * m.x[j] for j in range(5)) <= 12)
    m.distance = pyo.Objective(expr=sum((j + 1) * (m.x[j] - wish[j]) ** 2 for j in range(5)))
    return m


def ellipsoids() -> pyo.ConcreteModel:
    """As far as possible in one direction within eight ellipsoids."""
    rng = np.random.default_rng(6)
    m = pyo.ConcreteModel("ellipsoids")
    m.x = pyo.Var(range(4), bounds=(-5, 5))
    x = list(m.x.values())
    m.inside = pyo.ConstraintList()
    for _ in range(8):
        F, c = rng.normal(size=(4, 4)).round(2).tolist(), rng.uniform(-0.5, 0.5, 4).round(2).tolist()
        m.inside.add(sum(sum(f * (v - a) for f, v, a in zip(row, x, c, strict=True)) ** 2 for row in F) <= 9)
    m.far = pyo.Objective(expr=x[0] + 2 * x[1] - x[2] + 0.5 * x[3], sense=pyo.maximize)
    return m


# Not convex.


def rectangle() -> pyo.ConcreteModel:
    """The largest rectangle under a slanted roof: a product over one row, 4.5 at (1.5, 3)."""
    m = pyo.ConcreteModel("bilinear product")
    m.wide, m.high = pyo.Var(bounds=(0, 5), initialize=1), pyo.Var(bounds=(0, 8), initialize=1)
    m.roof = pyo.Constraint(expr=2 * m.wide + m.high <= 6)
    m.area = pyo.Objective(expr=m.wide * m.high, sense=pyo.maximize)
    return m


def plants() -> pyo.ConcreteModel:
    """Which plants meet a demand, with economies of scale."""
    price, scale, ship = [4.0, 3.0, 5.0, 2.0], [1.0, 2.0, 0.5, 3.0], [0.2, 0.5, 0.1, 0.4]
    m = pyo.ConcreteModel("economies of scale")
    m.x = pyo.Var(range(4), bounds=lambda m, j: (0, [3.0, 4.0, 2.5, 2.0][j]))
    m.demand = pyo.Constraint(expr=sum(m.x.values()) == 6)
    m.workers = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 7)
    m.cost = pyo.Objective(expr=sum(price[j] * pyo.log(1 + m.x[j] / scale[j]) + ship[j] * m.x[j] for j in range(4)))
    return m


def game() -> pyo.ConcreteModel:
    """A bilinear program over two simplices: the least entry of a matrix."""
    cost = [[3.0, 5.0, 9.0], [6.0, 2.0, 7.0], [8.0, 4.0, 1.0]]
    m = pyo.ConcreteModel("bilinear program")
    m.row, m.column = pyo.Var(range(3), bounds=(0, 1)), pyo.Var(range(3), bounds=(0, 1))
    m.one_row = pyo.Constraint(expr=sum(m.row.values()) == 1)
    m.one_column = pyo.Constraint(expr=sum(m.column.values()) == 1)
    m.cost = pyo.Objective(expr=sum(cost[i][j] * m.row[i] * m.column[j] for i in range(3) for j in range(3)))
    return m


def haverly(data: Pooling) -> Foreign:
    """A pooling problem."""
    search = in_blocks(["x", "y", "z"], ["q"])
    return Foreign(lambda: pooling(data), "scip", data.optimum, search=search)


CUTS = {"cutting-plane": plain}
FOREIGN = {
    "uncapacitated facility location": Foreign(uncapacitated, "highs", 53.4, integers_first()),
    "capacitated facility location": Foreign(capacitated, "highs", 147.1, integers_first()),
    "p-median": Foreign(p_median, "highs", 7.71, integers_first()),
    "network design": Foreign(network, "highs", 47.0, integers_first()),
    "farmer": Foreign(farmer, "highs", 108390.0, {**decided("acres"), **CUTS}),
    "newsvendor": Foreign(newsvendor, "highs", 165.8, {**decided("order"), **CUTS}),
    "stochastic capacity expansion": Foreign(expansion, "highs", 240.85, integers_first()),
    "unit commitment": Foreign(lambda: commitment(False, range(4)), "highs", 866.0, integers_first()),
    "quadratic unit commitment": Foreign(lambda: commitment(True, range(2)), "scip", 586.25, integers_first()),
    "lot sizing": Foreign(lot_sizing, "highs", 220.0, integers_first()),
    "cutting stock": Foreign(cutting_stock, "highs", 6.907, integers_first()),
    "portfolio": Foreign(portfolio, "scip", 0.1239547624, integers_first()),
    "sparse regression": Foreign(sparse_regression, "scip", 2.303983595, integers_first()),
    "chebyshev regression": Foreign(chebyshev, "highs", 0.425, {**decided("slope", "shift"), **CUTS}),
    "quadratic knapsack": Foreign(knapsack, "clarabel", 18.2748538, CUTS),
    "ellipsoids": Foreign(ellipsoids, "clarabel", 2.419845974, CUTS),
    "bilinear product": Foreign(rectangle, "scip", 4.5, search=in_blocks(["wide"], ["high"])),
    "bilinear program": Foreign(game, "scip", 1.0, search=in_blocks(["row"], ["column"], starts=20)),
    "economies of scale": Foreign(
        plants, "scip", 9.043112164, search={"sla": lambda m: {"starts": 20}, "multi-start": lambda m: {"starts": 20}}
    ),
    "pooling, haverly 1": haverly(HAVERLY_1),
    "pooling, haverly 2": haverly(HAVERLY_2),
    "pooling, haverly 3": haverly(HAVERLY_3),
}


def integers_and_continuous() -> pyo.ConcreteModel:
    """General integers k and a continuous u in a master, and y in its subproblem."""
    m = pyo.ConcreteModel()
    m.k = pyo.Var([0, 1], domain=pyo.Integers, bounds=(-3, 7))
    m.u, m.y = pyo.Var(bounds=(0, 5)), pyo.Var(bounds=(0, None))
    m.row = pyo.Constraint(expr=m.k[0] + 2 * m.k[1] + m.u >= 3.7)
    m.link = pyo.Constraint(expr=m.y >= 4.3 - m.k[0] - 0.7 * m.k[1])
    m.cost = pyo.Objective(expr=m.k[0] + 1.6 * m.k[1] + 2 * m.u + 3 * m.y)
    return m
