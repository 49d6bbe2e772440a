"""One step of the driver that alternates: minimise over a block, and keep the answer only where it is better."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.alternating.partition import Part, Partition
from solvers.drivers.alternating.problems import BlockProblem, Step
from solvers.drivers.alternating.starts import rows_only
from solvers.errors import ModelError
from solvers.interfaces.registry import default_solver
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.model.classes import needs, violation
from solvers.model.conflict import clashing_rows
from solvers.model.smooth import SmoothObjective
from solvers.result import FEASIBLE, SolutionStatus

ACCURACY = 1e-6  # relative: by how much an exact answer may be worse than the values it would replace


@dataclass
class Work:
    """A block, the problem behind it, and the objective that it minimises."""

    model: Any
    part: Part
    problem: BlockProblem
    objective: SmoothObjective

    def improve(self, partition: Partition, *, free: bool, tolerance: float, time_limit: float | None) -> Step:
        """Minimise over the block.

        Values that satisfy the block's rows are kept unless the answer is better by more than the tolerance; with
        ``free``, and where they satisfy nothing, any answer is taken.
        """
        x = self._begin(partition)
        old = value_at(self.objective, x)
        held = not free and math.isfinite(old) and self.problem.violation(x) <= FEASIBLE
        step = self.problem.solve(x, self.objective, time_limit)
        y = partition.read()
        new = value_at(self.objective, y) if step.has_point else math.inf
        scale = max(1.0, abs(old)) if held else 1.0
        if step.status is SolutionStatus.UNBOUNDED or not (held or step.stop or math.isfinite(new)):
            partition.write(x)
            return replace(step, moved=False, failure=_failure(self.part, step))
        if not math.isfinite(new) or (held and not old - new > tolerance * scale):
            partition.write(x)
            return replace(step, moved=False, exact=step.exact and new <= old + ACCURACY * scale)
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
        """Move to a nicer optimum, unless it is none."""
        if self.part.block.tidy is None:
            return
        z = partition.apply(self.part.block.tidy, self.model)
        outside = np.delete(z != y, self.part.places).any()
        if outside or not value_at(self.objective, z) <= most or self.problem.violation(z) > FEASIBLE:
            partition.write(y)


def value_at(objective: SmoothObjective, x: np.ndarray) -> float:
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
    """Name the rows or bounds of a block that cannot hold together."""
    crossed = [v.name for v in part.variables if None not in v.bounds and v.lb > v.ub]
    if crossed:
        return f'The bounds of "{crossed[0]}" cross.'
    named = clashing_rows(
        part.rows, part.variables, Runner(default_solver(needs(rows_only(part.rows))), SolveOptions())
    )
    return named if '"' in named else ""


def rest_holds(model: Any, part: Part) -> bool:
    """Tell whether the rows without this block hold at the values on the model."""
    mine = {id(row) for row in part.rows}
    every = model.component_data_objects(pyo.Constraint, active=True, descend_into=True)
    return violation(rows_only([row for row in every if id(row) not in mine])) <= FEASIBLE
