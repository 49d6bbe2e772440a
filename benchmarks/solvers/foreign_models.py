"""Benders on models from other fields, compared with one solver of the whole model, by CPU time.

python -m benchmarks foreign_models            # two minutes
python -m benchmarks foreign_models --full     # fifteen seeds for five
python -m benchmarks foreign_models --page     # only the page, from the log
"""

import time

import numpy as np
import pyomo.environ as pyo

import solvers
from benchmarks.harness.page import Page
from benchmarks.solvers.two_stage_models import Farmer

NAME, PROTOCOL = "foreign_models", 1
PACKAGES = ("pyomo", "highspy", "pyscipopt", "numpy", "scipy")
SEEDS, MORE_SEEDS = range(5), range(15)
TIME_LIMIT = 60.0
FACTS = {"time limit (s)": TIME_LIMIT}
# Kazarlis, Bakirtzis, Petridis (1996): maximum and minimum power p (MW); a, b, c of the cost a + b p + c p^2; minimum
# up and down time (h); start-up cost; hours on (above 0) or off at the start.
UNITS = [
    (455, 150, 1000, 16.19, 0.00048, 8, 4500, 8),
    (455, 150, 970, 17.26, 0.00031, 8, 5000, 8),
    (130, 20, 700, 16.60, 0.00200, 5, 550, -5),
    (130, 20, 680, 16.50, 0.00211, 5, 560, -5),
    (162, 25, 450, 19.70, 0.00398, 6, 900, -6),
    (80, 20, 370, 22.26, 0.00712, 3, 170, -3),
    (85, 25, 480, 27.74, 0.00079, 3, 260, -3),
    (55, 10, 660, 25.92, 0.00413, 1, 30, -1),
    (55, 10, 665, 27.27, 0.00222, 1, 30, -1),
    (55, 10, 670, 27.79, 0.00173, 1, 30, -1),
]
LOAD = [700, 750, 850, 950, 1000, 1100, 1150, 1200, 1300, 1400, 1450, 1500]
LOAD += [1400, 1300, 1200, 1050, 1000, 1100, 1200, 1400, 1300, 1100, 900, 800]


def farmer(seed, scenarios=1000):
    m = Farmer.model(Farmer.draw(scenarios, seed), range(scenarios))
    return m, {"complicating": m.acres}


def facility(seed, sites, customers, *, capacitated=False, strong=True):
    rng = np.random.default_rng(seed)
    f, c = range(sites), range(customers)
    demand = rng.integers(1, 9, customers) if capacitated else np.ones(customers)
    cost, price = rng.uniform(1, 9, (sites, customers)), rng.uniform(5, 40, sites)
    m = pyo.ConcreteModel("facility location")
    m.open, m.ship = pyo.Var(f, domain=pyo.Binary), pyo.Var(f, c, bounds=(0, None))
    m.met = pyo.Constraint(c, rule=lambda m, k: sum(m.ship[i, k] for i in f) >= float(demand[k]))
    if strong:
        m.only_open = pyo.Constraint(f, c, rule=lambda m, i, k: m.ship[i, k] <= float(demand[k]) * m.open[i])
    if capacitated:
        size = rng.integers(8, 20, sites) * 3 * demand.sum() / (14 * sites)
        m.room = pyo.Constraint(f, rule=lambda m, i: sum(m.ship[i, k] for k in c) <= float(size[i]) * m.open[i])
    shipped = pyo.quicksum(float(cost[i, k]) * m.ship[i, k] for i in f for k in c)
    m.cost = pyo.Objective(expr=shipped + sum(float(price[i]) * m.open[i] for i in f))
    return m, {"complicating": m.open}


def commitment(seed, curve=1.0):
    rng = np.random.default_rng(seed)
    units, hours = range(len(UNITS)), range(len(LOAD))
    load = np.array(LOAD) * (1.0 if seed == 0 else rng.uniform(0.95, 1.0, len(LOAD)))
    m = pyo.ConcreteModel("unit commitment")
    m.on, m.start = pyo.Var(units, hours, domain=pyo.Binary), pyo.Var(units, hours, domain=pyo.Binary)
    m.p = pyo.Var(units, hours, bounds=(0, None))

    def was_on(g, t):
        return m.on[g, t] if t >= 0 else int(UNITS[g][7] > 0)

    def started(g, t):
        return sum(m.start[g, k] for k in range(max(0, t - UNITS[g][5] + 1), t + 1))

    m.begin = pyo.Constraint(units, hours, rule=lambda m, g, t: m.start[g, t] >= m.on[g, t] - was_on(g, t - 1))
    m.up = pyo.Constraint(units, hours, rule=lambda m, g, t: started(g, t) <= m.on[g, t])
    m.down = pyo.Constraint(units, hours, rule=lambda m, g, t: started(g, t) <= 1 - was_on(g, t - UNITS[g][5]))
    m.reserve = pyo.Constraint(
        hours, rule=lambda m, t: sum(UNITS[g][0] * m.on[g, t] for g in units) >= 1.1 * float(load[t])
    )
    m.least = pyo.Constraint(units, hours, rule=lambda m, g, t: m.p[g, t] >= UNITS[g][1] * m.on[g, t])
    m.most = pyo.Constraint(units, hours, rule=lambda m, g, t: m.p[g, t] <= UNITS[g][0] * m.on[g, t])
    m.met = pyo.Constraint(hours, rule=lambda m, t: sum(m.p[g, t] for g in units) == float(load[t]))
    m.cost = pyo.Objective(
        expr=pyo.quicksum(
            u[2] * m.on[g, t] + u[6] * m.start[g, t] + u[3] * m.p[g, t] + curve * u[4] * m.p[g, t] ** 2
            for g, u in enumerate(UNITS)
            for t in hours
        )
    )
    return m, {"complicating": [m.on, m.start]}


def small(seed, **words):
    return facility(seed, 15, 40, capacitated=True, **words)


CASES = {  # name: model, the peer, relative gap
    "farmer, 1,000 scenarios": (farmer, "highs", 1e-4),
    "uncapacitated 30 x 60": (lambda seed: facility(seed, 30, 60), "highs", 1e-4),
    "capacitated 15 x 40, strong": (small, "highs", 1e-4),
    "capacitated 15 x 40, weak": (lambda seed: small(seed, strong=False), "highs", 1e-4),
    "unit commitment 10 x 24": (commitment, "scip", 1e-3),
    "unit commitment, ten times the curve": (lambda seed: commitment(seed, 10.0), "scip", 1e-3),
}


def measure(build, seed, solver, **options):
    """Return the CPU seconds from the Pyomo model to the result, and the result."""
    model, declared = build(seed)
    before = time.process_time()
    result = solvers.solve(model, solver, time_limit=TIME_LIMIT, **(declared if solver == "benders" else {}), **options)
    return time.process_time() - before, result


def tasks(full):
    return [{"model": name, "seed": s, "protocol": PROTOCOL} for s in (MORE_SEEDS if full else SEEDS) for name in CASES]


def work(model, seed, protocol):
    """Solve one instance by both solvers."""
    build, peer, gap = CASES[model]
    for solver in ("benders", peer):  # loads packages, which are not measured
        measure(lambda seed: facility(seed, 3, 4), 0, solver)
    ours, result = measure(build, seed, "benders", gap=gap)
    theirs, whole = measure(build, seed, peer, gap=gap)
    return {
        "peer": peer,
        "benders": ours,
        "whole": theirs,
        "ratio": ours / theirs,
        "rounds": len(result.iterations),
        "proven": result.status is solvers.SolutionStatus.OPTIMAL,
        "gap": result.gap,
        "off": abs(result.objective - whole.objective) / max(1.0, abs(whole.objective)),
    }


def page(log):
    """Return the page."""
    runs = log.entries("model", "seed", "protocol")
    page = Page(NAME, globals(), runs=runs)
    page.key("runs", "model", "seed")
    page.part("seconds", len(runs), len(tasks(False)))
    ratio = {name: page.number("ratio", "{gmean:.2f}", model=name) for name in CASES}
    low, high = (pick(ratio, key=lambda name: float(ratio[name])) for pick in (min, max))
    by = {name: [run["ratio"] for run in runs if run["model"] == name] for name in CASES}
    always, never = sum(max(of) < 1 for of in by.values()), sum(min(of) > 1 for of in by.values())
    peers = {name: peer for name, (_, peer, _) in CASES.items()}
    gaps = {name: f"{gap:.0e}" for name, (_, _, gap) in CASES.items()}
    page.values(rows=[([name], {"model": name}) for name in CASES], peers=peers, gaps=gaps)
    return page.values(ratio=ratio, low=low, high=high, always=always, never=never)
