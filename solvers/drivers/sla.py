r"""Successive linear approximation of a smooth objective over linear rows.

For min { f(x) : x in P }, P a polyhedron, f smooth on it:

    0. A start x: the minimiser over P of the linear part of f, or a random point for the variables of the rest.
    1. p <- a vertex of P that minimises f'(x) p.
    2. Stop if f'(x)(x - p) <= tolerance max(1, |f(x)|): x is stationary, no feasible direction descends.
    3. x <- p, if that lowers f as a concave objective must; else the first of p, x + (p - x)/2, x + (p - x)/4, ... that
       lowers f enough (Armijo), and go to 1.

f concave: f(p) <= f(x) - f'(x)(x - p) < f(x), so step 3 takes every p, f decreases strictly, no vertex comes twice, and
the method ends after finitely many linear programs (Mangasarian 1997, "Machine learning via polyhedral concave
minimization", theorem 4.2; Bradley, Mangasarian, Street 1998, Algorithm 2.1 and result 2.2, with stop (17)). This needs
vertices: ``lp_solver`` must be a simplex method; with an interior point the stop is still valid. f not concave: the
method of Frank and Wolfe (1956) with Armijo's step (Dunn 1980), stationary in the limit; f convex as well.

Stationary is what is certified, unless f is linear: then the linear program is the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.base import Driver, Ended
from solvers.drivers.slots import lp_words
from solvers.drivers.starts import Start, StartsConfig, random_points, spread, table
from solvers.errors import ModelError, SolverFailure
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import called, find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import LpStatus
from solvers.lp.pyomo import linear_program
from solvers.model.classes import refuse_integers, single_objective, used_variables
from solvers.model.conflict import clashing_rows
from solvers.model.linear import LinearRows
from solvers.model.smooth import SmoothObjective
from solvers.result import SolutionStatus, StopReason

ARMIJO = 0.1  # share of the decrease that the slope promises
SHORTEST = 2.0**-30  # step


@dataclass
class LinearizationConfig(StartsConfig):
    """Options of ``sla``. ``iteration_limit`` counts linear programs over all starts, ``tolerance`` is of stop (17).

    Bradley, Mangasarian, Street 1998 draw starts from (-1, 1), which their rows forbid below 0; ``start_range`` can.

    Attributes
    ----------
    linear_start : bool
        Start first at the minimiser of the linear part of the objective.
    """

    linear_start: bool = True


@dataclass
class SlaStart(Start):
    """What became of one start of ``sla``."""

    linear_programs: int = 0
    stationary: bool = False
    steps: list[float] = field(default_factory=list)  # shorter than 1 where f is not concave

    @property
    def shortest_step(self) -> float:
        """The shortest step; nan without any."""
        return min(self.steps, default=math.nan)


class SuccessiveLinearization(Driver):
    """Successive linear approximation; ``runs`` tells what became of each start."""

    name = "sla"
    title = "smooth objectives over linear rows, above all concave ones (successive linear approximation)"
    options_type = LinearizationConfig
    config: LinearizationConfig

    def prepare(self) -> None:
        """Extract the rows, and the objective's linear part, once."""
        c = self.config
        c.check("linear_start")
        objective = single_objective(self.reading)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        refuse_integers(self.reading, self.name, C.MINLP)
        self.go_on()
        held = {id(v): v for v in used_variables(self.reading)}
        self.variables = [v for v in held.values() if not v.fixed]
        rows = list(self.reading.rows)
        self.rows = LinearRows.of(rows, self.variables, [], 1.0)
        self.objective = SmoothObjective(objective.expr, self.variables, self.sign)
        self.go_on()
        lp = self.lp = linear_program(
            c.lp_solver, self.objective.linear, self.rows.x_lower, self.rows.x_upper, words=lp_words(c)
        )
        lp.add_rows(self.rows.matrix, self.rows.lower, self.rows.upper)
        self.runs: list[SlaStart] = []
        self._solved = 0

    def loop(self) -> tuple[StopReason, SolutionStatus | None]:
        """Run from each start and keep the best; the status is that of the best."""
        try:
            for label, point in self._starts():
                run = SlaStart(label)
                self.runs.append(run)
                try:
                    with self.timing("subproblem"):
                        self._descend(run, point)
                except ModelError as error:  # of this start: no end, or a function without a value
                    run.failure = str(error)
            if all(run.failure for run in self.runs):
                raise ModelError(self.runs[0].failure)
            return StopReason.CONVERGED, self._certified()
        except Ended as end:
            return end.stop, end.status or self._certified()
        finally:
            self._report()

    def _starts(self) -> Iterator[tuple[str, np.ndarray | None]]:
        """Yield a name and the point whose slope is the cost of the first linear program (0); None: the linear part."""
        c, f = self.config, self.objective
        if c.linear_start or not len(f.curved):
            yield "linear part", None
        if len(f.curved):
            yield from random_points(np.zeros(len(self.variables)), f.curved, [self.variables[j] for j in f.curved], c)

    def _descend(self, run: SlaStart, start: np.ndarray | None) -> None:
        """Descend from one start to a stationary point; the numbers are the steps of the algorithm box."""
        x, value = self._first(run, start)  # 0
        if run.stationary:
            return
        for _ in self.rounds(math.inf):  # the limit is of linear programs
            slope = self.objective.gradient(x)
            steep = np.flatnonzero(np.isinf(slope))
            if len(steep) and (escape := self._escape(run, x, value, slope)) is not None:
                x, value = self._moved(run, *escape)
                continue
            slope[steep] = 0.0
            p = self._linear_program(run, slope, steep, x)  # 1
            descent, small = float(slope @ (x - p)), self.config.tolerance * max(1.0, abs(value))
            if descent <= small:  # 2
                run.stationary = True
                return
            step, x, new = self._step(x, p, value, descent)  # 3
            if step == 0.0:  # rounding hides what is left to gain
                run.stationary = descent <= 1e3 * small
                return
            x, value = self._moved(run, step, x, new)
        raise Ended(self.stop)

    def _first(self, run: SlaStart, start: np.ndarray | None) -> tuple[np.ndarray, float]:
        """Return the vertex at which a start begins, and its value."""
        f = self.objective
        cost = f.linear if start is None else f.gradient(start)
        x = self._linear_program(run, np.where(np.isfinite(cost), cost, f.linear))
        value = f.value(x)
        if not len(f.curved):  # the model is the linear program
            self.raise_bound(value)
            run.stationary = True
        return x, self._keep(run, x, value)

    def _moved(self, run: SlaStart, step: float, x: np.ndarray, value: float) -> tuple[np.ndarray, float]:
        """Keep the point that a step leads to."""
        run.steps.append(step)
        return x, self._keep(run, x, value)

    def _escape(
        self, run: SlaStart, x: np.ndarray, value: float, slope: np.ndarray
    ) -> tuple[float, np.ndarray, float] | None:
        """Move where f falls without bound on its slope, such as -x**0.5 at 0; None where the rows or f forbid it."""
        steep = np.isinf(slope)
        gains = steep & (np.where(x <= self.rows.x_lower, slope, -slope) < 0)
        if not np.any(gains):
            return None
        p = self._linear_program(run, np.where(gains, np.sign(slope), 0.0), np.flatnonzero(steep & ~gains), x)
        if np.all(np.abs(p - x)[gains] <= self.config.tolerance):
            return None
        step, point, new = self._step(x, p, value, 0.0)
        return None if step == 0.0 else (step, point, new)

    def _step(self, x: np.ndarray, p: np.ndarray, value: float, descent: float) -> tuple[float, np.ndarray, float]:
        """Return length, point and value of the longest step 1, 1/2, 1/4, ... that descends enough, 0 for none."""
        step = 1.0
        while step >= SHORTEST:
            point = p if step == 1.0 else x + step * (p - x)
            new = self._value(point)
            if new < value and new <= value - ARMIJO * step * descent:
                return step, point, new
            step /= 2.0
        return 0.0, x, value

    def _value(self, point: np.ndarray) -> float:
        """Return the objective, infinite outside its domain."""
        try:
            return self.objective.value(point)
        except ModelError:
            return math.inf

    def _linear_program(
        self, run: SlaStart, cost: np.ndarray, kept: np.ndarray | None = None, x: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a vertex that minimises a linear objective over the rows; where there is none the start or run ends.

        Variables ``kept`` stay where they are in x: where f rises without bound on its slope, no direction that moves
        them descends.
        """
        limit = self.config.iteration_limit
        if limit is not None and self._solved >= limit:
            raise Ended(StopReason.ITERATION_LIMIT)
        self.lp.set_cost(cost)
        self._solved += 1
        run.linear_programs += 1
        if kept is None or x is None or not len(kept):
            answer = self.lp.solve(self.clock.left)
        else:
            self.lp.set_bounds(kept, x[kept], x[kept])
            try:
                answer = self.lp.solve(self.clock.left)
            finally:
                self.lp.set_bounds(kept, self.rows.x_lower[kept], self.rows.x_upper[kept])
        if answer.status is LpStatus.OPTIMAL:
            return answer.point
        if answer.status is LpStatus.LIMIT or self.clock.over:
            raise Ended(StopReason.TIME_LIMIT)
        if answer.status is LpStatus.INFEASIBLE:
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
        if answer.status is LpStatus.UNBOUNDED:
            if not len(self.objective.curved):
                self.message = "The objective has no end: a bound or a row is missing."
                raise Ended(StopReason.CONVERGED, SolutionStatus.UNBOUNDED)
            if run.objective is None:
                raise ModelError("The linear program of this start has no end: bound the variables of the objective.")
            raise ModelError(
                f"The linear approximation of the objective has no end ({run.start}, linear program "
                f"{run.linear_programs}): bound the variables of the objective."
            )
        name = called(self.config.lp_solver)
        raise SolverFailure(f"{name} failed on a linear program of {run.start}.", name)

    def _keep(self, run: SlaStart, x: np.ndarray, value: float) -> float:
        """Record a feasible point and offer it as incumbent."""
        run.objective = value
        if self.best is None or value < self.best:
            for v, number in zip(self.variables, x.tolist(), strict=True):
                v.set_value(number, skip_validation=True)
            self.offer(value, self.variables, lambda: None)
            self._best_run = run
        self.record(run.start, value, cuts=0, support=None)
        return value

    def why_infeasible(self) -> str:
        """Name the rows that clash."""
        return clashing_rows(self.rows.rows, self.variables, Runner(find("highs"), SolveOptions()))

    def _certified(self) -> SolutionStatus | None:
        if self.best is None or self.closed(self.config.gap):
            return None
        return SolutionStatus.STATIONARY if self._best_run.stationary else SolutionStatus.FEASIBLE

    def _report(self) -> None:
        """Say how far apart the starts ended."""
        columns = ["start", "objective", "linear_programs", "stationary", "shortest_step"]
        self.details["starts"] = table(self.runs, self.sign, columns)
        self.details["linear_programs"] = self._solved
        failed = [run for run in self.runs if run.failure]
        said = spread([run.objective for run in self.runs if run.objective is not None], self.sign)
        if failed:
            said += f' {len(failed)} of {len(self.runs)} starts failed, first "{failed[0].start}": {failed[0].failure}'
        self.message = self.message or said.strip()
