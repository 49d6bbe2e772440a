"""The small programs on which a solver of Pyomo's own is tried, each with its one optimum, and its multipliers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo

DOWN, UP = pyo.minimize, pyo.maximize


@dataclass(frozen=True)
class Trial:
    """A program, its optimum (None: it has none), and d optimum / d right-hand side of its rows."""

    model: Any
    optimum: float | None
    multipliers: list[tuple[Any, float]] = field(default_factory=list)


def _sense(m: Any, cost: Any, sense: Any) -> None:
    m.cost = pyo.Objective(expr=cost if sense == DOWN else -cost, sense=sense)


def linear(sense: Any) -> Trial:
    """Rows of every kind and a bound that bind: -7, at (3, 2, 2, 1, 4, -10) alone, and with these multipliers alone."""
    m = pyo.ConcreteModel(name="lp")
    m.x = pyo.Var(range(1, 7), bounds=(-10, 10))
    x, sign = m.x, 1.0 if sense == DOWN else -1.0
    m.one = pyo.Constraint(expr=2 * x[1] + x[2] <= 8)
    m.two = pyo.Constraint(expr=x[1] + 2 * x[2] <= 7)
    m.equal = pyo.Constraint(expr=x[3] - x[4] == 1)
    m.least = pyo.Constraint(expr=x[3] + x[4] >= 3)
    m.range = pyo.Constraint(expr=(-3, x[5], 4))
    m.loose = pyo.Constraint(expr=x[1] + x[6] <= 5)  # APPSI takes "slack" for a suffix
    _sense(m, -3 * x[1] - 2 * x[2] + 2 * x[3] + x[4] - x[5] + x[6] + 15, sense)
    slopes = [(m.one, -4 / 3), (m.two, -1 / 3), (m.equal, 0.5), (m.least, 1.5), (m.range, -1.0), (m.loose, 0.0)]
    return Trial(m, sign * -7.0, [(row, sign * slope) for row, slope in slopes])


def clashing(integer: bool) -> list[Trial]:
    """Three rows that only together leave no point, and one that its bounds contradict."""
    found = []
    for last in (2.0, None):
        m = pyo.ConcreteModel(name="infeasible")
        m.x = pyo.Var([1, 2], bounds=(0, None if last else 1), domain=pyo.Integers if integer else pyo.Reals)
        m.least = pyo.Constraint(expr=m.x[1] + m.x[2] >= 3)
        if last:
            m.one = pyo.Constraint(expr=m.x[1] + 2 * m.x[2] <= last)
            m.two = pyo.Constraint(expr=2 * m.x[1] + m.x[2] <= last)
        m.cost = pyo.Objective(expr=m.x[1] + m.x[2])
        found.append(Trial(m, None))
    if integer:
        m = pyo.ConcreteModel(name="infeasible")
        m.x = pyo.Var([1, 2], bounds=(0, 5), domain=pyo.Integers)
        m.odd = pyo.Constraint(expr=2 * m.x[1] + 2 * m.x[2] == 3)
        m.cost = pyo.Objective(expr=m.x[1])
        found.append(Trial(m, None))
    return found


def endless(sense: Any, *, integer: bool) -> Trial:
    """No end: cbc calls it infeasible over integers."""
    m = pyo.ConcreteModel(name="unbounded")
    m.x = pyo.Var(bounds=(0, 6), domain=pyo.Integers if integer else pyo.Reals)
    m.v = pyo.Var(bounds=(-1, None))
    m.least = pyo.Constraint(expr=5 * m.x >= 5)
    if not integer:
        m.slow = pyo.Constraint(expr=m.v - m.x >= -2)
    _sense(m, 3 * m.x - 4 * m.v, sense)
    return Trial(m, None)


def integer(sense: Any) -> Trial:
    """-20 at (4, 0), where the relaxation has -20.33."""
    m = pyo.ConcreteModel(name="milp")
    m.x, m.y = (pyo.Var(bounds=(0, 10), domain=pyo.Integers) for _ in range(2))
    m.one = pyo.Constraint(expr=6 * m.x + 4 * m.y <= 24)
    m.two = pyo.Constraint(expr=m.x + 2 * m.y <= 6)
    _sense(m, -5 * m.x - 4 * m.y, sense)
    return Trial(m, -20.0 if sense == DOWN else 20.0)


def free_integers() -> Trial:
    """Integers without a bound: -327.68 at x = (-1, 9, 4, 3), where the preprocessing of cbc leaves -307.2."""
    m = pyo.ConcreteModel(name="milp of integers without bounds")
    m.eta, m.x = pyo.Var(), pyo.Var(range(4), domain=pyo.Integers)
    for k, (low, up) in enumerate([(None, 4), (0, 9), (-1, None), (3, 4)]):
        m.x[k].setlb(low), m.x[k].setub(up)
    value = m.eta + 61.44 * m.x[0] - 20.48 * m.x[2] + 81.92 * m.x[3]
    m.one = pyo.Constraint(expr=0.8 * m.x[0] + 0.8 * m.x[1] + m.x[2] + m.x[3] >= 13)
    m.two = pyo.Constraint(expr=m.eta >= -368.64000000000004)
    m.three = pyo.Constraint(expr=0.3333333333333333 * m.x[1] - m.x[2] >= -1.6666666666666665)
    m.floor = pyo.Constraint(expr=value >= -355.4986666666667)
    m.cost = pyo.Objective(expr=value - 61.44)
    return Trial(m, -327.68)


def hard(sense: Any) -> Trial:
    """Nobody's tree ends in a second: 40 binaries split six numbers exactly, as a point that is hidden here does; 7."""
    draw = random.Random(7)
    m = pyo.ConcreteModel(name="long")
    m.x = pyo.Var(range(40), domain=pyo.Binary)
    m.off = pyo.Var(range(6), [0, 1], bounds=(0, None))
    sizes = [[draw.randrange(100) for _ in m.x] for _ in range(6)]
    hidden = [draw.randrange(2) for _ in m.x]

    def split(m: Any, i: int) -> Any:
        total = sum(a * on for a, on in zip(sizes[i], hidden, strict=True))
        return sum(a * m.x[j] for j, a in enumerate(sizes[i])) + m.off[i, 0] - m.off[i, 1] == total

    m.split = pyo.Constraint(range(6), rule=split)
    _sense(m, 7 + pyo.quicksum(m.off.values()), sense)
    return Trial(m, 7.0 if sense == DOWN else -7.0)


def quadratic(sense: Any) -> Trial:
    """0.5 at (0.5, 1.5); the row's multiplier is -1."""
    m = pyo.ConcreteModel(name="qp")
    m.x, m.y = (pyo.Var(bounds=(-5, 5)) for _ in range(2))
    m.row = pyo.Constraint(expr=m.x + m.y <= 2)
    m.loose = pyo.Constraint(expr=m.x - m.y >= -4)
    _sense(m, (m.x - 1) ** 2 + (m.y - 2) ** 2, sense)
    sign = 1.0 if sense == DOWN else -1.0
    return Trial(m, sign * 0.5, [(m.row, -sign), (m.loose, 0.0)])


def saddle() -> Trial:
    """-2 at (-1, 2) or (2, -1): not convex, with a stationary point (0.5, 0.5)."""
    m = pyo.ConcreteModel(name="nonconvex qp")
    m.x, m.y = pyo.Var(bounds=(-1, 2), initialize=0.5), pyo.Var(bounds=(-1, 2), initialize=0.5)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1)
    m.cost = pyo.Objective(expr=m.x * m.y)
    return Trial(m, -2.0)
