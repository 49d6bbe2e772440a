"""The problem of one block with all other variables fixed: by a persistent LP, or by any solver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.drivers.alternating.partition import Part, Partition, rows_only
from solvers.errors import ModelError, SolverError
from solvers.facts.base import Dropped
from solvers.facts.blocks import Block
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, called, default_solver, entry, find, names, require
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.lp.highs import LpStatus
from solvers.lp.pyomo import NEEDED, linear_program
from solvers.model.classes import has_integers, needs, violation
from solvers.model.expressions import variables
from solvers.model.function import SmoothFunction
from solvers.model.linear import LinearRows
from solvers.result import FEASIBLE, HOPELESS, SolutionStatus, StopReason
from solvers.values import bounds_of, fixed, put_back

ALMOST_INTEGER = 1e-4
GENERIC = 1.2345  # where a class is asked for: to Pyomo x*y has degree 0 where y is fixed at 0


@dataclass(frozen=True)
class Step:
    """The result of one block. The model holds the values when ``has_point``.

    ``exact``: optimal, or stationary by a local solver. ``stop``: the limit that ended it, if any. ``moved``: whether
    the values have changed. ``still``: whether the answer is the point from which it began.
    """

    status: SolutionStatus
    has_point: bool
    exact: bool = False
    stop: StopReason | None = None
    message: str = ""
    solves: int = 1
    moved: bool = True
    still: bool = False
    failure: str = ""  # why the start cannot go on


class LinearBlock:
    """One persistent LP: between solves only its costs change, and the bounds that fix the other variables."""

    def __init__(self, part: Part, partition: Partition, lp_solver: Any, words: SolveOptions) -> None:
        self._part, self._partition = part, partition
        rows = self._rows = LinearRows.of(part.rows, part.variables + part.others, [], 1.0)
        place = {id(v): k for k, v in enumerate(partition.space)}
        moving = [(c, place[id(v)]) for c, v in enumerate(rows.variables) if c >= self._size and not v.fixed]
        self._columns = np.array([c for c, _ in moving], dtype=int)
        self._places = np.array([p for _, p in moving], dtype=int)
        self._lp = linear_program(lp_solver, np.zeros(len(rows.variables)), rows.x_lower, rows.x_upper, words=words)
        if rows.rows:
            self._lp.add_rows(rows.matrix, rows.lower, rows.upper)
        self._lower, self._upper = rows.x_lower, rows.x_upper
        self._name = called(lp_solver)

    @property
    def _size(self) -> int:
        return len(self._part.variables)

    def solve(self, x: np.ndarray, objective: SmoothFunction, time_limit: float | None) -> Step:
        """Minimise the objective, which is linear in the block, so that its slope is constant."""
        places, n = self._part.places, self._size
        cost = np.zeros(self._lp.columns)
        cost[:n] = objective.gradient(x)[places]
        self._lp.set_cost(cost)
        self._lp.set_bounds(self._columns, x[self._places], x[self._places])
        answer = self._lp.solve(time_limit)
        if answer.status is LpStatus.OPTIMAL:
            y = x.copy()
            y[places] = np.clip(answer.point[:n], self._lower[:n], self._upper[:n])
            self._partition.write(y, places)
            return Step(SolutionStatus.OPTIMAL, True, exact=True)
        if answer.status is LpStatus.LIMIT:
            return Step(SolutionStatus.NO_SOLUTION, False, stop=StopReason.TIME_LIMIT)
        proven = {LpStatus.INFEASIBLE: SolutionStatus.INFEASIBLE, LpStatus.UNBOUNDED: SolutionStatus.UNBOUNDED}
        status = proven.get(answer.status, SolutionStatus.NO_SOLUTION)
        return Step(status, False, message=f"{self._name} says {answer.status.value}")

    def violation(self, x: np.ndarray) -> float:
        """Return the largest violation of rows and bounds, relative to 1 or the side."""
        n, point = self._size, self._rows.x_lower.copy()  # of a fixed variable both bounds are its value
        point[:n], point[self._columns] = x[self._part.places], x[self._places]
        activity = self._rows.matrix @ point
        sides = [(self._rows.lower, self._rows.upper, activity), (self._lower[:n], self._upper[:n], point[:n])]
        return max(_short(*three) for three in sides)


class GeneralBlock:
    """A view of the block's rows and variables with an objective, for any solver; built once."""

    def __init__(self, part: Part, partition: Partition, expression: Any, sense: Any, options: SolveOptions) -> None:
        self._part, self._options = part, options
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
        if self._part.block.solver is None:
            return default_solver(self._needed)
        spec = entry(self._part.block.solver)
        if spec.in_table and any(n in spec.capabilities for n in self._needed):
            return spec
        try:
            return require(self._part.block.solver, self._needed[0])
        except SolverError as error:
            raise SolverError(f'Block "{self._part.name}": {error}') from None

    def solve(self, x: np.ndarray, objective: SmoothFunction, time_limit: float | None) -> Step:
        """Solve the view with every other variable fixed."""
        if self._needed == [C.MILP]:  # in numbers: interfaces do not multiply out products of parameters
            sign = 1.0 if self._view.objective.sense == pyo.minimize else -1.0
            slope = sign * objective.gradient(x)[self._part.places]
            body = LinearExpression(linear_coefs=slope.tolist(), linear_vars=list(self._part.variables))
            self._view.objective.set_value(body)
        with fixed([(v, v.value) for v in self._others]):
            answer = self._ask(time_limit)
            if answer.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt  # which the solver swallowed
            error = self._tidied() if answer.has_point else math.inf
        limit = answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.ITERATION_LIMIT)
        stop = StopReason.TIME_LIMIT if answer.stop_reason is StopReason.TIME_LIMIT else None
        status = answer.status
        if self.spec.local and status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED):
            status = SolutionStatus.NO_SOLUTION  # near its start, which proves nothing
        solved = status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)
        said = f"{self.spec.name}: {answer.message}"
        if error > FEASIBLE and (answer.has_point or self.spec.local):
            missed, name = max(((violation(rows_only([row])), row.name) for row in self._part.rows), default=(0.0, ""))
            if missed > FEASIBLE:
                said = f'{self.spec.name} ends at a point that misses row "{name}" by {missed:.1e}'
        exact = solved and error <= FEASIBLE and not limit
        return Step(status, answer.has_point and error <= HOPELESS, exact, stop, said)

    def _ask(self, time_limit: float | None) -> Answer:
        """Call the solver; where the default one needs convexity and finds none, use SCIP."""
        try:
            return self._runner.solve(self._view, time_limit=time_limit, integer=self._integer)
        except ModelError as refusal:
            convex = any(n & (C.QP | C.QCP) for n in self._needed)
            chosen = self._part.block.solver is not None or bool(self._part.block.options)
            if not convex or chosen or C.NONCONVEX in self.spec.capabilities:
                able = ", ".join(n for n in names(C.NONCONVEX) if n != self.spec.name) or "none"
                hint = f" Installed solvers that need no convexity: {able}." if convex else ""
                raise ModelError(f'Block "{self._part.name}": {refusal}{hint}') from refusal
            self.spec = find("scip")
            self._runner = Runner(self.spec, self._options)
            return self._runner.solve(self._view, time_limit=time_limit, integer=self._integer)

    def _tidied(self) -> float:
        """Round integers and move values to near bounds, where the rows still hold; return the violation.

        The values are constants for the next block, and a constant outside its bounds would make it infeasible.
        """
        error = violation(self._view)
        held = [v for v in self._part.variables if v.value is not None]
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


@dataclass
class Maker:
    """Builds the problem of a block."""

    partition: Partition
    objective: Any  # of the model
    lp_solver: Any  # a name, or an object
    lp_words: SolveOptions
    options: SolveOptions
    dropped: Dropped = field(default_factory=Dropped)

    def make(self, part: Part, objective: SmoothFunction) -> LinearBlock | GeneralBlock:
        """Return the problem of a block with a given objective."""
        lp_solver, words = self._lp_solver(part.block)
        if lp_solver is not None and self._linear(part, objective):
            try:
                return LinearBlock(part, self.partition, lp_solver, words)
            except ModelError as error:  # a row that is linear only while the other variables are fixed
                why = str(error).partition(", and")[0]
                self.dropped.add(f'one linear program for block "{part.name}"', [why[:1].lower() + why[1:]], quiet=True)
        expression = self.objective.expr if part.block.objective is None else part.block.objective
        return GeneralBlock(part, self.partition, expression, self.objective.sense, self.options)

    def _lp_solver(self, block: Block) -> tuple[Any, SolveOptions]:
        """Return the solver and its options for a linear block; None where the solver is no LP solver of this kind."""
        if block.solver is None:
            return (self.lp_solver if not block.options else None), self.lp_words
        spec = entry(block.solver)
        words = replace(self.lp_words, own=dict(block.options or {}))
        return (block.solver if NEEDED in spec.capabilities and not spec.local else None), words

    def _linear(self, part: Part, objective: SmoothFunction) -> bool:
        """Return whether a block's problem is one LP whose rows keep their numbers."""
        if any(not v.is_continuous() for v in part.variables):
            return False
        if objective.rest is None:
            return True
        mine = {id(v) for v in part.variables}
        outside = [v for v in variables(objective.rest) if id(v) not in mine and not v.fixed]
        with fixed([(v, GENERIC) for v in {id(v): v for v in outside}.values()]):
            degree = objective.rest.polynomial_degree()
        return degree is not None and degree <= 1


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
