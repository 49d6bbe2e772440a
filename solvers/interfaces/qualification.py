"""Trial problems for a solver that a user registers: small models with known optima and multipliers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo

from solvers.errors import SolverError
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.interfaces.spec import DUALS, SolverSpec, describe
from solvers.interfaces.spec import Capability as C
from solvers.result import SolutionStatus

EXACT = 1e-4  # relative, of objectives, bounds and multipliers
GAP = 1e-7  # relative, of the trials: far below EXACT
LIMIT = 0.3  # s, for the trial that no solver completes
TRIED = C.LP | C.QP | C.MILP | DUALS


@dataclass(frozen=True)
class Trial:
    """A model, its optimum or None, the tested capability, and d optimum / d right-hand side of its rows."""

    model: Any
    optimum: float | None
    capability: C
    multipliers: list[tuple[Any, float]] = field(default_factory=list)
    time_limit: float | None = None


def qualify(spec: SolverSpec) -> None:
    """Solve the trial problems of the declared capabilities.

    Raises SolverError for the first wrong answer, or if no declared capability has trial problems.
    """
    if not spec.capabilities & TRIED:
        raise SolverError(f"There are trial problems for {describe(TRIED)} only: register it without qualify=True.")
    options = SolveOptions(gap=None if "gap" in spec.unsupported_options else GAP)
    for trial in trials():
        if trial.capability not in spec.capabilities or (trial.time_limit and "time_limit" in spec.unsupported_options):
            continue
        wanted = C.QP_DUALS if trial.capability is C.QP else C.LP_DUALS
        rows = [row for row, _ in trial.multipliers] if wanted in spec.capabilities else []
        for v in trial.model.component_data_objects(pyo.Var):
            v.set_value(0, skip_validation=True)
        integer = trial.capability is C.MILP
        answer = Runner(spec, options).solve(trial.model, integer=integer, duals=rows, time_limit=trial.time_limit)
        if (wrong := _wrong(answer, trial, spec, rows)) is not None:
            raise SolverError(f'Solver "{spec.name}" fails the trial problem "{trial.model.name}": {wrong}.')


def _wrong(answer: Answer, trial: Trial, spec: SolverSpec, rows: list[Any]) -> str | None:
    """Return a description of the error in an answer, or None."""
    claim, optimum = answer.status, trial.optimum
    if optimum is None:
        right = claim.value == trial.model.name or answer.undecided or (spec.local and not answer.has_point)
        return None if right else f"status {claim.value}, which should be {trial.model.name}"
    minimize, slack = trial.model.cost.sense == pyo.minimize, EXACT * max(1.0, abs(optimum))
    if answer.bound is not None and (answer.bound - optimum if minimize else optimum - answer.bound) > slack:
        return f"bound {answer.bound:g}, beyond the optimum {optimum:g}"
    if trial.time_limit is not None and claim is not SolutionStatus.OPTIMAL:
        return f"status {claim.value}" if claim in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED) else None
    proven = (SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY) if spec.untrusted or spec.local else ()
    if claim not in (SolutionStatus.OPTIMAL, *proven):
        return f"status {claim.value} ({answer.message}), which should be optimal"
    if abs((value := float(pyo.value(trial.model.cost))) - optimum) > slack:
        return f"objective {value:g}, which should be {optimum:g}"
    for row, slope in trial.multipliers if rows else ():
        if abs(answer.duals.get(row, float("nan")) - slope) <= EXACT:
            continue
        return f"multiplier {answer.duals.get(row)} of row {row.name}, which should be {slope:g}"
    return None


def trials() -> Iterator[Trial]:
    """Yield the trial problems."""
    for sense in (pyo.minimize, pyo.maximize):
        yield _linear(sense)
        yield _quadratic(sense)
        yield _integer(sense)
        yield _market_split(sense)
        for domain, capability in ((pyo.Reals, C.LP), (pyo.Integers, C.MILP)):
            yield _unbounded(sense, domain, capability)
    yield from (_infeasible(pyo.Reals, C.LP), _infeasible(pyo.Integers, C.MILP), _free_integers())


def _linear(sense: Any) -> Trial:
    """Build a linear program with binding rows of every kind: optimum -7 at (3, 2, 2, 1, 4, -10)."""
    m = pyo.ConcreteModel(name="LP")
    m.x = pyo.Var(range(1, 7), bounds=(-10, 10))
    x, sign = m.x, 1.0 if sense == pyo.minimize else -1.0
    m.one = pyo.Constraint(expr=2 * x[1] + x[2] <= 8)
    m.two = pyo.Constraint(expr=x[1] + 2 * x[2] <= 7)
    m.equal = pyo.Constraint(expr=x[3] - x[4] == 1)
    m.least = pyo.Constraint(expr=x[3] + x[4] >= 3)
    m.range = pyo.Constraint(expr=(-3, x[5], 4))
    m.loose = pyo.Constraint(expr=x[1] + x[6] <= 5)
    cost = -3 * x[1] - 2 * x[2] + 2 * x[3] + x[4] - x[5] + x[6] + 15
    m.cost = pyo.Objective(expr=sign * cost, sense=sense)
    slopes = [(m.one, -4 / 3), (m.two, -1 / 3), (m.equal, 0.5), (m.least, 1.5), (m.range, -1.0), (m.loose, 0.0)]
    return Trial(m, sign * -7.0, C.LP, [(row, sign * slope) for row, slope in slopes])


def _quadratic(sense: Any) -> Trial:
    """Build a convex quadratic program: optimum 0.5 at (0.5, 1.5); the multiplier of the row is -1."""
    m = pyo.ConcreteModel(name="convex QP")
    m.x, m.y = (pyo.Var(bounds=(-5, 5)) for _ in range(2))
    m.row = pyo.Constraint(expr=m.x + m.y <= 2)
    m.loose = pyo.Constraint(expr=m.x - m.y >= -4)
    sign = 1.0 if sense == pyo.minimize else -1.0
    m.cost = pyo.Objective(expr=sign * ((m.x - 1) ** 2 + (m.y - 2) ** 2), sense=sense)
    return Trial(m, sign * 0.5, C.QP, [(m.row, -sign), (m.loose, 0.0)])


def _integer(sense: Any) -> Trial:
    """Build a mixed-integer program: optimum -20 at (4, 0); the optimum of the relaxation is -20.33."""
    m = pyo.ConcreteModel(name="MILP")
    m.x, m.y = (pyo.Var(bounds=(0, 10), domain=pyo.Integers) for _ in range(2))
    m.one = pyo.Constraint(expr=6 * m.x + 4 * m.y <= 24)
    m.two = pyo.Constraint(expr=m.x + 2 * m.y <= 6)
    sign = 1.0 if sense == pyo.minimize else -1.0
    m.cost = pyo.Objective(expr=sign * (-5 * m.x - 4 * m.y), sense=sense)
    return Trial(m, sign * -20.0, C.MILP)


def _free_integers() -> Trial:
    """Build a program with unbounded integers: optimum -327.68 at x = (-1, 9, 4, 3); cbc reports -307.2."""
    m = pyo.ConcreteModel(name="MILP with unbounded integers")
    m.eta, m.x = pyo.Var(), pyo.Var(range(4), domain=pyo.Integers)
    for k, (low, up) in enumerate([(None, 4), (0, 9), (-1, None), (3, 4)]):
        m.x[k].setlb(low), m.x[k].setub(up)
    value = m.eta + 61.44 * m.x[0] - 20.48 * m.x[2] + 81.92 * m.x[3]
    m.one = pyo.Constraint(expr=0.8 * m.x[0] + 0.8 * m.x[1] + m.x[2] + m.x[3] >= 13)
    m.two = pyo.Constraint(expr=m.eta >= -368.64000000000004)
    m.three = pyo.Constraint(expr=0.3333333333333333 * m.x[1] - m.x[2] >= -1.6666666666666665)
    m.floor = pyo.Constraint(expr=value >= -355.4986666666667)
    m.cost = pyo.Objective(expr=value - 61.44)
    return Trial(m, -327.68, C.MILP)


def _market_split(sense: Any) -> Trial:
    """Build a market-split program, which no solver completes in a second; its optimum is 7."""
    draw = random.Random(7)
    m = pyo.ConcreteModel(name="MILP stopped at a time limit")
    m.x = pyo.Var(range(40), domain=pyo.Binary)
    m.off = pyo.Var(range(6), [0, 1], bounds=(0, None))
    sizes = [[draw.randrange(100) for _ in m.x] for _ in range(6)]
    hidden = [draw.randrange(2) for _ in m.x]

    def split(m: Any, i: int) -> Any:
        total = sum(a * on for a, on in zip(sizes[i], hidden, strict=True))
        return sum(a * m.x[j] for j, a in enumerate(sizes[i])) + m.off[i, 0] - m.off[i, 1] == total

    m.split = pyo.Constraint(range(6), rule=split)
    sign = 1.0 if sense == pyo.minimize else -1.0
    m.cost = pyo.Objective(expr=sign * (7 + pyo.quicksum(m.off.values())), sense=sense)
    return Trial(m, sign * 7.0, C.MILP, time_limit=LIMIT)


def _infeasible(domain: Any, capability: C) -> Trial:
    """Build three rows without a common point."""
    m = pyo.ConcreteModel(name="infeasible")
    m.x = pyo.Var([1, 2], bounds=(0, None), domain=domain)
    m.least = pyo.Constraint(expr=m.x[1] + m.x[2] >= 3)
    m.one = pyo.Constraint(expr=m.x[1] + 2 * m.x[2] <= 2)
    m.two = pyo.Constraint(expr=2 * m.x[1] + m.x[2] <= 2)
    m.cost = pyo.Objective(expr=m.x[1] + m.x[2])
    return Trial(m, None, capability)


def _unbounded(sense: Any, domain: Any, capability: C) -> Trial:
    """Build a model with an unbounded objective; cbc reports it as infeasible if ``x`` is an integer."""
    m = pyo.ConcreteModel(name="unbounded")
    m.x, m.v = pyo.Var(bounds=(0, 6), domain=domain), pyo.Var(bounds=(-1, None))
    m.least = pyo.Constraint(expr=5 * m.x >= 5)
    sign = 1.0 if sense == pyo.minimize else -1.0
    m.cost = pyo.Objective(expr=sign * (3 * m.x - 4 * m.v), sense=sense)
    return Trial(m, None, capability)
