"""Steps of the driver that alternates: over one block, kept where the answer is better, and over all blocks at once.

With one block fixed, a row such as q (y_1 + y_2) = 3 x_1 + x_2 fixes what the other may do; q never moves again, and
from most starts a block has no solution at all. A local solver sees all variables together: it starts where the blocks
are stuck and ends at a point that is stationary for the model. Sweeps then go on from there. Integers stay as they are.

On pooling problems the blocks alone, flows first, end at the best of two (Haverly 1, Ben-Tal 4), at 93 and 94% of it
on two (Haverly 2 and 3) and at 0 on Adhya 1 and 4; qualities first, no block has a solution at any start. With these
steps 10 starts reach the best of all but Adhya 1, where 20 to 40 are needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.alternating.partition import Part, Partition, rows_only
from solvers.drivers.alternating.problems import GeneralBlock, LinearBlock, Step
from solvers.errors import ModelError, SolverError
from solvers.facts.blocks import Block
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import default_solver
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.classes import needs, violation
from solvers.model.conflict import clashing_rows
from solvers.model.function import SmoothFunction
from solvers.result import FEASIBLE, SolutionStatus

ACCURACY = 1e-6  # relative: by how much an exact answer may be worse than the values it would replace
SAME = 1e-4  # relative distance of two points that a local solver does not distinguish


@dataclass
class Work:
    """A block, the problem behind it, and the objective that it minimises."""

    model: Any
    part: Part
    problem: LinearBlock | GeneralBlock
    objective: SmoothFunction

    def improve(self, partition: Partition, *, free: bool, tolerance: float, time_limit: float | None) -> Step:
        """Minimise over the block.

        Values that satisfy the block's rows are kept unless the answer is better by more than the tolerance; with
        ``free``, and for infeasible values, any answer is accepted.
        """
        x = self._begin(partition)
        old = value_at(self.objective, x)
        held = not free and math.isfinite(old) and self.problem.violation(x) <= FEASIBLE
        step = self.problem.solve(x, self.objective, time_limit)
        y = partition.read()
        still = bool(np.all(np.abs(y - x) <= SAME * np.maximum(1.0, np.abs(x))))
        new = value_at(self.objective, y) if step.has_point else math.inf
        scale = max(1.0, abs(old)) if held else 1.0
        if step.status is SolutionStatus.UNBOUNDED or not (held or step.stop or math.isfinite(new)):
            partition.write(x)
            return replace(step, moved=False, failure=_failure(self.part, step))
        if not math.isfinite(new) or (held and not old - new > tolerance * scale):
            partition.write(x)
            return replace(step, moved=False, still=still, exact=step.exact and new <= old + ACCURACY * scale)
        self._tidy(partition, y, new + tolerance * max(1.0, abs(new)))
        return step

    def _begin(self, partition: Partition) -> np.ndarray:
        """Return the point from which the block is solved."""
        x = partition.read()
        if self.part.block.begin is None:
            return x
        y = partition.apply(self.part.block.begin, self.model)
        if np.delete(y != x, self.part.places).any() or not np.isfinite(y).all():
            partition.write(x)
            return x
        return y

    def _tidy(self, partition: Partition, y: np.ndarray, most: float) -> None:
        """Move to an equivalent optimum with rounded values, if it is one."""
        if self.part.block.tidy is None:
            return
        z = partition.apply(self.part.block.tidy, self.model)
        outside = np.delete(z != y, self.part.places).any()
        if outside or not value_at(self.objective, z) <= most or self.problem.violation(z) > FEASIBLE:
            partition.write(y)


def value_at(objective: SmoothFunction, x: np.ndarray) -> float:
    """Return an objective's value, infinite where it has none."""
    try:
        value = objective.value(x)
    except ModelError:
        return math.inf
    return value if value == value else math.inf


def _failure(part: Part, step: Step) -> str:
    where = f'block "{part.name}"'
    if step.status is SolutionStatus.UNBOUNDED:
        return f"{where} is unbounded with the other variables fixed: bound its variables"
    if step.status is SolutionStatus.INFEASIBLE:
        remedy = "" if part.closed else "; put feasible values on the model and start there with warm_start=True"
        return f"{where} has no solution with the other variables fixed{remedy}"
    return f"{where} was not solved: {step.message or 'its objective has no finite value'}"


def clash(part: Part) -> str:
    """Return rows or bounds of a block that have no solution together, in words."""
    crossed = [v.name for v in part.variables if None not in v.bounds and v.lb > v.ub]
    if crossed:
        return f'The bounds of "{crossed[0]}" cross.'
    named = clashing_rows(
        part.rows, part.variables, Runner(default_solver(needs(rows_only(part.rows))), SolveOptions())
    )
    return named if '"' in named else ""


def rest_holds(model: Any, part: Part) -> bool:
    """Return whether the rows without this block hold at the values on the model."""
    mine = {id(row) for row in part.rows}
    every = model.component_data_objects(pyo.Constraint, active=True, descend_into=True)
    return violation(rows_only([row for row in every if id(row) not in mine])) <= FEASIBLE


GAIN = 1e-6  # relative: a smaller gain of a local solver is within its tolerance


def together(
    model: Any, partition: Partition, objective: Any, smooth: SmoothFunction, options: SolveOptions
) -> Work | None:
    """Return the step over the free continuous variables of all blocks, by a local solver.

    None where no row couples blocks or no local solver is installed.
    """
    if not partition.coupling:
        return None
    parts = partition.parts
    places = sorted({int(k) for part in parts for k in part.places if partition.space[k].is_continuous()})
    mine = [partition.space[k] for k in places]
    ids = {id(v) for v in mine}
    others = {id(v): v for part in parts for v in (*part.variables, *part.others) if id(v) not in ids}
    rows = {id(row): row for part in parts for row in part.rows}
    try:
        block = Block(mine, solver=default_solver([C.NLP]).name)
        part = Part(block, "all blocks", mine, np.array(places), list(rows.values()), list(others.values()), False)
        return Work(model, part, GeneralBlock(part, partition, objective.expr, objective.sense, options), smooth)
    except SolverError:
        return None
