"""The problem of one block with all other variables fixed, by a persistent LP or any solver; the step over all blocks.

With one block fixed, a row such as q (y_1 + y_2) = 3 x_1 + x_2 restricts the other: q never changes again, and from
most starts a block has no solution at all. A local solver uses all variables together: it starts where the blocks
stop and ends at a point that is stationary for the model. Sweeps then continue from there. Integers are fixed.

On pooling problems the blocks alone, flows first, end at the best point of two (Haverly 1, Ben-Tal 4), at 93 and 94%
of it on two (Haverly 2 and 3) and at 0 on Adhya 1 and 4. With qualities first, no block has a solution at any start.
With these steps 10 starts reach the best point of all but Adhya 1, which needs 20 to 40.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.drivers.alternating.partition import Part, Partition, rows_only
from solvers.errors import ModelError, SolverError
from solvers.facts.blocks import Block
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, called, default_solver, entry, find, names, require
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.lp.highs import LpStatus
from solvers.lp.pyomo import linear_program
from solvers.model.classes import has_integers, needs, violation
from solvers.model.conflict import clashing_rows
from solvers.model.expressions import variables
from solvers.model.function import SmoothFunction, is_linear
from solvers.model.linear import LinearRows
from solvers.result import ALMOST_INTEGER, FEASIBLE, HOPELESS, SolutionStatus, StopReason
from solvers.values import bounds_of, fixed, put_back

GAIN = 1e-6  # relative: a smaller gain of a local solver is within its tolerance
ACCURACY = 1e-6  # relative: an exact solution may be worse than the values that it would replace by this much
SAME = 1e-4  # relative distance of two points that a local solver does not distinguish
GENERIC = 1.2345  # value of the fixed variables when the class is determined: with y = 0, x*y has degree 0 for Pyomo


@dataclass(frozen=True)
class Step:
    """The result of one block. If ``has_point``, the model has its values.

    ``exact``: optimal, or stationary by a local solver. ``stop``: the limit that ended it, if any. ``moved``: True if
    the values have changed. ``still``: True if the solution is the point from which the solver began.
    """

    status: SolutionStatus
    has_point: bool
    exact: bool = False
    stop: StopReason | None = None
    message: str = ""
    solves: int = 1
    moved: bool = True
    still: bool = False
    failure: str = ""  # the reason why the start ends


class BlockProblem:
    """The problem of a block with all other variables fixed; it minimises ``objective``."""

    def __init__(self, model: Any, part: Part, partition: Partition, objective: SmoothFunction) -> None:
        self.model, self.part, self.partition, self.objective = model, part, partition, objective

    def solve(self, x: np.ndarray, time_limit: float | None) -> Step:
        """Minimise over the block from the point ``x`` of the space, which are also the values of the model."""
        raise NotImplementedError

    def violation(self, x: np.ndarray) -> float:
        """Return the violation of the block's rows and bounds at the point ``x``, the values of the model."""
        raise NotImplementedError

    def improve(self, *, free: bool, tolerance: float, time_limit: float | None) -> Step:
        """Minimise over the block.

        Values that satisfy the block's rows are kept unless the solution is better by more than the tolerance. With
        ``free``, and for infeasible values, any solution is accepted.
        """
        partition, x = self.partition, self._begin()
        old = value_at(self.objective, x)
        held = not free and math.isfinite(old) and self.violation(x) <= FEASIBLE
        step = self.solve(x, time_limit)
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
        self._tidy(y, new + tolerance * max(1.0, abs(new)))
        return step

    def _begin(self) -> np.ndarray:
        """Return the point from which the block is solved."""
        partition = self.partition
        x = partition.read()
        if self.part.block.begin is None:
            return x
        y = partition.apply(self.part.block.begin, self.model)
        if np.delete(y != x, self.part.places).any() or not np.isfinite(y).all():
            partition.write(x)
            return x
        return y

    def _tidy(self, y: np.ndarray, most: float) -> None:
        """Call ``tidy`` of the block; undo it if the result is not an optimum of the block."""
        if self.part.block.tidy is None:
            return
        z = self.partition.apply(self.part.block.tidy, self.model)
        outside = np.delete(z != y, self.part.places).any()
        if outside or not value_at(self.objective, z) <= most or self.violation(z) > FEASIBLE:
            self.partition.write(y)


class LinearBlock(BlockProblem):
    """One persistent LP; between solves only its costs change, and the bounds that fix the other variables."""

    def __init__(
        self,
        model: Any,
        part: Part,
        partition: Partition,
        objective: SmoothFunction,
        lp_solver: Any,
        words: SolveOptions,
    ) -> None:
        super().__init__(model, part, partition, objective)
        rows = self._rows = LinearRows.of(part.rows, part.variables + part.others, [], 1.0)
        place = {id(v): k for k, v in enumerate(partition.space)}
        moving = [
            (c, place[id(v)]) for c, v in enumerate(rows.variables) if c >= len(self.part.variables) and not v.fixed
        ]
        self._columns = np.array([c for c, _ in moving], dtype=int)
        self._places = np.array([p for _, p in moving], dtype=int)
        self._lp = linear_program(lp_solver, np.zeros(len(rows.variables)), rows.x_lower, rows.x_upper, options=words)
        if rows.rows:
            self._lp.add_rows(rows.matrix, rows.lower, rows.upper)
        self._lower, self._upper = rows.x_lower, rows.x_upper
        self._name = called(lp_solver)

    def solve(self, x: np.ndarray, time_limit: float | None) -> Step:
        """Minimise the objective, which is linear in the block, by its constant gradient."""
        places, n = self.part.places, len(self.part.variables)
        cost = np.zeros(self._lp.columns)
        cost[:n] = self.objective.gradient(x)[places]
        self._lp.set_cost(cost)
        self._lp.set_bounds(self._columns, x[self._places], x[self._places])
        answer = self._lp.solve(time_limit)
        if answer.status is LpStatus.OPTIMAL:
            y = x.copy()
            y[places] = np.clip(answer.point[:n], self._lower[:n], self._upper[:n])
            self.partition.write(y, places)
            return Step(SolutionStatus.OPTIMAL, True, exact=True)
        if answer.status is LpStatus.LIMIT:
            return Step(SolutionStatus.NO_SOLUTION, False, stop=StopReason.TIME_LIMIT)
        proven = {LpStatus.INFEASIBLE: SolutionStatus.INFEASIBLE, LpStatus.UNBOUNDED: SolutionStatus.UNBOUNDED}
        status = proven.get(answer.status, SolutionStatus.NO_SOLUTION)
        return Step(status, False, message=f"{self._name} reports {answer.status.value}")

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of rows and bounds, relative to 1 or the side."""
        n, point = len(self.part.variables), self._rows.x_lower.copy()  # of a fixed variable both bounds are its value
        point[:n], point[self._columns] = x[self.part.places], x[self._places]
        activity = self._rows.matrix @ point
        sides = [(self._rows.lower, self._rows.upper, activity), (self._lower[:n], self._upper[:n], point[:n])]
        return max(_short(*three) for three in sides)


class GeneralBlock(BlockProblem):
    """A view of the block's rows and variables with an objective, for any solver; built once."""

    def __init__(
        self,
        model: Any,
        part: Part,
        partition: Partition,
        objective: SmoothFunction,
        stated: tuple[Any, Any],
        options: SolveOptions,
    ) -> None:
        super().__init__(model, part, partition, objective)
        self._options, (expression, sense) = options, stated
        view = self._view = pyo.ConcreteModel(name=part.name)
        view.variables = pyo.Reference(dict(enumerate(part.variables)), ctype=pyo.Var)
        view.rows = pyo.Reference(dict(enumerate(part.rows)), ctype=pyo.Constraint)
        view.objective = pyo.Objective(expr=expression, sense=sense)
        mine = {id(v) for v in part.variables}
        around = {id(v): v for v in (*part.others, *variables(expression)) if not v.fixed and id(v) not in mine}
        self._others = list(around.values())
        with fixed([(v, GENERIC) for v in self._others]):
            self._needed, self._integer = needs(view), has_integers(view)
        self.spec = self._chosen()
        near = self.spec.warm_start_options if part.block.begin is not None else {}
        self._runner = Runner(self.spec, replace(options, own={**near, **options.own, **(part.block.options or {})}))

    def _chosen(self) -> SolverSpec:
        if self.part.block.solver is None:
            return default_solver(self._needed)
        spec = entry(self.part.block.solver)
        if spec.in_table and any(n in spec.capabilities for n in self._needed):
            return spec
        try:
            return require(self.part.block.solver, self._needed[0])
        except SolverError as error:
            raise SolverError(f'Block "{self.part.name}": {error}') from None

    def solve(self, x: np.ndarray, time_limit: float | None) -> Step:
        """Solve the view with every other variable fixed."""
        if self._needed == [C.MILP]:  # in numbers: interfaces do not multiply out products of parameters
            sign = 1.0 if self._view.objective.sense == pyo.minimize else -1.0
            slope = sign * self.objective.gradient(x)[self.part.places]
            body = LinearExpression(linear_coefs=slope.tolist(), linear_vars=list(self.part.variables))
            self._view.objective.set_value(body)
        with fixed([(v, v.value) for v in self._others]):
            answer = self._ask(time_limit)
            if answer.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # the solver has caught it
            error = self._tidied() if answer.has_point else math.inf
        limit = answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT)
        stop = StopReason.TIME_LIMIT if answer.stop_reason is StopReason.TIME_LIMIT else None
        status = answer.status
        if self.spec.local and status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED):
            status = SolutionStatus.NO_SOLUTION  # a local result proves nothing
        solved = status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)
        message = f"{self.spec.name}: {answer.message}"
        if error > FEASIBLE and (answer.has_point or self.spec.local):
            missed, name = max(((violation(rows_only([row])), row.name) for row in self.part.rows), default=(0.0, ""))
            if missed > FEASIBLE:
                message = f'{self.spec.name} ends at a point that violates row "{name}" by {missed:.1e}'
        exact = solved and error <= FEASIBLE and not limit
        return Step(status, answer.has_point and error <= HOPELESS, exact, stop, message)

    def _ask(self, time_limit: float | None) -> Answer:
        """Call the solver; if the default solver rejects the block as nonconvex, use SCIP."""
        try:
            return self._runner.solve(self._view, time_limit=time_limit, integer=self._integer)
        except ModelError as refusal:
            convex = any(n & (C.QP | C.QCP) for n in self._needed)
            chosen = self.part.block.solver is not None or bool(self.part.block.options)
            if not convex or chosen or C.NONCONVEX in self.spec.capabilities:
                able = ", ".join(n for n in names(C.NONCONVEX) if n != self.spec.name) or "none"
                hint = f" Installed solvers that need no convexity: {able}." if convex else ""
                raise ModelError(f'Block "{self.part.name}": {refusal}{hint}') from refusal
            self.spec = find("scip")
            self._runner = Runner(self.spec, self._options)
            return self._runner.solve(self._view, time_limit=time_limit, integer=self._integer)

    def _tidied(self) -> float:
        """Round integers and move values to near bounds if the rows still hold; return the violation.

        The values are constants in the next block, and a constant outside its bounds would make that infeasible.
        """
        error = violation(self._view)
        held = [v for v in self.part.variables if v.value is not None]
        off = [(v, v.value) for v in held if v.value != _tidy(v)]
        for v, _ in off:
            v.set_value(_tidy(v), skip_validation=True)
        after = violation(self._view) if off else error
        if after <= max(error, FEASIBLE):
            return after
        put_back(off)
        return error

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of the view."""
        return violation(self._view)


def is_linear_program(part: Part, objective: SmoothFunction) -> bool:
    """Return True if a block's problem is one LP whose rows keep their numbers."""
    if any(not v.is_continuous() for v in part.variables):
        return False
    if objective.rest is None:
        return True
    mine = {id(v) for v in part.variables}
    outside = [v for v in variables(objective.rest) if id(v) not in mine and not v.fixed]
    with fixed([(v, GENERIC) for v in {id(v): v for v in outside}.values()]):
        return is_linear(objective.rest)


def _tidy(v: Any) -> float:
    """Return a variable's value, moved to a bound or integer within the tolerance."""
    value = float(v.value)
    if not v.is_continuous() and abs(value - round(value)) < ALMOST_INTEGER:
        return float(round(value))
    inside = float(np.clip(value, *bounds_of(v)))
    return inside if abs(inside - value) <= FEASIBLE * max(1.0, abs(inside)) else value


def _short(lower: np.ndarray, upper: np.ndarray, value: np.ndarray) -> float:
    """Return the largest violation of sides, relative to 1 or the side; missing sides are infinite."""
    with np.errstate(invalid="ignore"):  # infinity divided by itself, where a side is missing
        below = np.where(np.isfinite(lower), (lower - value) / np.maximum(1.0, np.abs(lower)), 0.0)
        above = np.where(np.isfinite(upper), (value - upper) / np.maximum(1.0, np.abs(upper)), 0.0)
    worst = max(below.max(initial=0.0), above.max(initial=0.0))
    return float(worst) if worst == worst else math.inf


def value_at(objective: SmoothFunction, x: np.ndarray) -> float:
    """Return the value of an objective, infinity if it is undefined."""
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
    """Describe rows or bounds of a block that have no common solution."""
    crossed = [v.name for v in part.variables if None not in v.bounds and v.lb > v.ub]
    if crossed:
        return f'The bounds of "{crossed[0]}" cross.'
    named = clashing_rows(
        part.rows, part.variables, Runner(default_solver(needs(rows_only(part.rows))), SolveOptions())
    )
    return named if '"' in named else ""


def rest_holds(model: Any, part: Part) -> bool:
    """Return True if all rows outside the block hold at the values of the model."""
    mine = {id(row) for row in part.rows}
    every = model.component_data_objects(pyo.Constraint, active=True, descend_into=True)
    return violation(rows_only([row for row in every if id(row) not in mine])) <= FEASIBLE


def together(
    model: Any, partition: Partition, objective: Any, smooth: SmoothFunction, options: SolveOptions
) -> BlockProblem | None:
    """Return the problem over the free continuous variables of all blocks, by a local solver.

    None if no row couples blocks or no local solver is installed.
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
        return GeneralBlock(model, part, partition, smooth, (objective.expr, objective.sense), options)
    except SolverError:
        return None
