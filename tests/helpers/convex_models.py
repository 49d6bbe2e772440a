"""Random mixed-integer models with convex quadratic and conic rows, and their optima by enumeration of the integers."""

import itertools

import numpy as np
import pyomo.environ as pyo

import solvers
from solvers import SolutionStatus


def convex_model(seed):
    """Return a model with 2 to 4 integers x and 2 to 5 continuous y; it may be infeasible or unbounded."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel(f"convex {seed}")
    n, k = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    general = rng.random() < 0.3
    m.x = pyo.Var(range(n), domain=pyo.Integers if general else pyo.Binary, bounds=(-1, 2) if general else (0, 1))
    size = float(10.0 ** rng.integers(-2, 4)) if rng.random() < 0.3 else 1.0
    open_ends = rng.random() < 0.4
    m.y = pyo.Var(range(k), bounds=(None, None) if open_ends else (-3 * size, 3 * size))
    m.s, m.t = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, 5 * size))
    x, y = list(m.x.values()), list(m.y.values())
    m.rows = pyo.ConstraintList()
    for _ in range(int(rng.integers(0, 3))):
        a, b = rng.normal(size=k).round(2), rng.normal(size=n).round(2)
        body = sum(float(c) * v for c, v in zip(a, y, strict=True))
        body += size * sum(float(c) * v for c, v in zip(b, x, strict=True))
        side = size * round(float(rng.normal()), 2)
        m.rows.add(body == side if rng.random() < 0.25 else body <= side + size)
    if rng.random() < 0.5:
        m.rows.add(sum(x) <= int(rng.integers(1, n + 1)))
    if rng.random() < 0.5 and not general:  # switched variables
        for j in range(min(n, k)):
            m.rows.add(y[j] <= 2 * size * x[j])
            m.rows.add(y[j] >= -2 * size * x[j])
    kinds = rng.random(4)
    if kinds[0] < 0.4:
        m.rows.add(y[0] ** 2 + y[1] ** 2 <= m.s * m.t)
    if kinds[1] < 0.3:
        m.rows.add(sum(v**2 for v in y) <= ((3 * size) ** 2 if general else (2 * size + size * 0.5 * sum(x)) ** 2))
    if kinds[2] < 0.3:
        f = rng.normal(size=(2, k)).round(2)
        squares = sum(sum(float(c) * v for c, v in zip(row, y, strict=True)) ** 2 for row in f)
        m.rows.add(squares <= 2 * size**2 + size * m.t)
    if kinds[3] < 0.3 and not general:
        m.rows.add(y[0] ** 2 <= m.t * x[0] * size)
    cost = [size * float(c) * v for c, v in zip(rng.normal(size=n).round(2), x, strict=True)]
    cost += [float(c) * v for c, v in zip(rng.normal(size=k).round(2), y, strict=True)]
    cost += [float(rng.choice([0.1, 0.3, 1.0])) * m.s, float(rng.choice([0.0, 0.2])) * m.t]
    if rng.random() < 0.6:
        f = rng.normal(size=(int(rng.integers(1, k + 2)), k)).round(2) / size**0.5
        cost += [sum(float(c) * v for c, v in zip(row, y, strict=True)) ** 2 for row in f]
    up = rng.random() < 0.3
    m.cost = pyo.Objective(expr=-sum(cost) if up else sum(cost), sense=pyo.maximize if up else pyo.minimize)
    return m


def enumerated(m):
    """Return "unbounded", "infeasible", or the optimum; None if a solve is not decided."""
    best, sign = None, 1.0 if m.cost.sense == pyo.minimize else -1.0
    for point in itertools.product(*(range(v.lb, v.ub + 1) for v in m.x.values())):
        for v, value in zip(m.x.values(), point, strict=True):
            v.fix(value)
        result = solvers.solve(m, "clarabel")
        m.x.unfix()
        if result.status is SolutionStatus.UNBOUNDED:
            return "unbounded"
        if result.status is SolutionStatus.INFEASIBLE:
            continue
        if result.status is not SolutionStatus.OPTIMAL:
            return None
        best = result.objective if best is None else sign * min(sign * best, sign * result.objective)
    return "infeasible" if best is None else best
