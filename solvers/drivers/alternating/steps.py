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
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import put_on_bounds

ACCURACY = 1e-6  # relative: by how much an exact answer may be worse than the values it would replace


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


GAIN = 1e-6  # relative: a smaller gain is a local solver's tolerance
SAME = 1e-4  # relative distance of two points that a local solver does not tell apart


@dataclass(frozen=True)
class Leap:
    """The result of a step over all blocks; the model holds the point.

    ``moved``: whether the point is feasible and better. ``stays``: whether the solver reports the old point as
    stationary. ``why``: why there is no feasible point.
    """

    moved: bool = False
    stays: bool = False
    stop: StopReason | None = None
    why: str = ""


class Together:
    """The model over the free continuous variables of all blocks, for a local solver."""

    def __init__(self, model: Any, partition: Partition, objective: Any, options: SolveOptions) -> None:
        self._partition = partition
        parts = partition.parts
        mine = {id(v): v for part in parts for v in part.variables if v.is_continuous()}
        rows = {id(row): row for part in parts for row in part.rows}
        others = {id(v): v for part in parts for v in (*part.variables, *part.others) if id(v) not in mine}
        place = {id(v): k for k, v in enumerate(partition.space)}
        self.solver = default_solver([C.NLP]).name
        self._part = Part(
            Block(list(mine.values()), solver=self.solver),
            "all blocks",
            list(mine.values()),
            np.array([place[key] for key in mine], dtype=int),
            list(rows.values()),
            list(others.values()),
            False,
        )
        self._problem = GeneralBlock(self._part, partition, objective.expr, objective.sense, options)

    @classmethod
    def of(cls, model: Any, partition: Partition, objective: Any, options: SolveOptions) -> Together | None:
        """Return the problem where rows couple the blocks and a local solver is installed."""
        if not partition.coupling:
            return None
        try:
            return cls(model, partition, objective, options)
        except SolverError:
            return None

    def leap(self, blocks: list[Work], objective: SmoothFunction, time_limit: float | None) -> Leap:
        """Solve for all blocks from the point on the model.

        The blocks repair violations within the local solver's tolerance, one after the other; where they cannot, or
        the point is no better, the old one is kept.
        """
        p = self._partition
        x = p.read()
        held = self._problem.violation(x) <= FEASIBLE
        old = value_at(objective, x) if held else math.inf
        step = self._problem.solve(x, objective, time_limit)
        if not step.has_point:
            why = ", ".join(s for s in (self._worst(), step.message) if s)
            p.write(x)
            return Leap(stop=step.stop, why=why)
        y = p.read()
        put_on_bounds(self._part.variables)
        stays = step.exact and held and bool(np.all(np.abs(y - x) <= SAME * np.maximum(1.0, np.abs(x))))
        self._repair(blocks, time_limit)
        new = value_at(objective, p.read())
        if self._problem.violation(p.read()) <= FEASIBLE and new < old - GAIN * max(1.0, abs(new)):
            return Leap(moved=True, stop=step.stop)
        why = "" if held else self._worst()
        p.write(x)
        return Leap(stays=stays, stop=step.stop, why=why)

    def _repair(self, blocks: list[Work], time_limit: float | None) -> None:
        """Move a point that violates rows within a local solver's tolerance onto them."""
        for work in blocks:
            if self._problem.violation(self._partition.read()) <= FEASIBLE:
                return
            work.improve(self._partition, free=True, tolerance=0.0, time_limit=time_limit)

    def _worst(self) -> str:
        """Return the most violated row at the values on the model, in words."""
        found = [(violation(rows_only([row])), row.name) for row in self._part.rows]
        error, name = max(found, default=(0.0, ""))
        return f'row "{name}" is missed by {error:.2g}' if error > FEASIBLE else ""
