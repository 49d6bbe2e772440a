r"""Successive linear approximation of a smooth objective over linear rows, integers and ordered sets.

For min { f(x) : x in P }, P a polyhedron, f smooth on it:

    0. Start at x: the minimiser over P of the linear part of f, or a random point for the other variables.
    1. p <- a vertex of P that minimises f'(x) p.
    2. Stop if f'(x)(x - p) <= tolerance max(1, |f(x)|): x is stationary, no feasible direction descends.
    3. x <- p if that decreases f by as much as a concave f would; otherwise the first of p, x + (p - x)/2,
       x + (p - x)/4, ... that decreases f enough (Armijo). Go to 1.

Concave f
    f(p) <= f(x) - f'(x)(x - p) < f(x), so that step 3 accepts every p, f decreases strictly, no vertex is repeated, and
    the method ends after finitely many linear programs (Mangasarian 1997, "Machine learning via polyhedral concave
    minimization", theorem 4.2; Bradley, Mangasarian, Street 1998, Algorithm 2.1 and result 2.2, with stop (17)). This
    needs vertices, and therefore a simplex method as ``lp_solver``; with an interior point the stop is still valid.
Other f
    The method of Frank and Wolfe (1956) with Armijo's step (Dunn 1980), which is stationary in the limit.
Integers, ordered sets of type 1
    P is a union of polyhedra, the pieces (``pieces``). A minimum of a concave or linear function over P is a minimum
    over its convex hull, so that the above holds for mixed-integer instead of linear programs. To solve few of them,
    the method first descends within the piece of x by linear programs. The mixed-integer program is solved when these
    end at the best point so far; its piece is accepted if it descends, by steps of length 1 only. The final point is
    stationary in every piece that contains it. If a mixed-integer program reaches ``master_seconds``, nothing is proven
    and the status is "feasible". Finally, integers that are not in the objective get their least sum, so that features
    that are not needed are not selected.

The status is at best "stationary", unless f and all rows are linear: then the linear program is the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.base import Driver, End, Ended
from solvers.drivers.sla.pieces import NoPiece, Pieces, ordered_sets
from solvers.drivers.solver_options import lp_solver_options, master_solver_options
from solvers.drivers.starts import Start, StartsConfig, random_points, spread, table
from solvers.errors import ModelError, OptionError, SolverFailure
from solvers.facts.row_cut import lagrangian_bound
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import called, either, require
from solvers.interfaces.runner import Runner
from solvers.lp.highs import FINEST, LP_TOLERANCE, LpStatus
from solvers.lp.pyomo import LinearProgram, linear_program
from solvers.model.classes import has_integers, single_objective, used_variables, violation
from solvers.model.conflict import clashing_rows
from solvers.model.function import SmoothFunction, is_linear
from solvers.model.linear import LinearRows
from solvers.options import SolverObject
from solvers.result import FEASIBLE, SolutionStatus, StopReason
from solvers.values import put_back

ARMIJO = 0.1  # required share of the decrease that the slope predicts
SHORTEST = 2.0**-30  # shortest step
Fixed = tuple[np.ndarray, np.ndarray]  # fixed columns and their values
GAP = 1e-6  # relative gap of the mixed-integer programs
NOTHING: Fixed = (np.empty(0, dtype=int), np.empty(0))


@dataclass
class LinearizationConfig(StartsConfig):
    """Options of ``sla``. ``iteration_limit`` counts the linear programs of all starts; ``tolerance`` is that of (17).

    Bradley, Mangasarian, Street 1998 draw starts from (-1, 1), although their rows require nonnegative values;
    ``start_range`` can do the same.

    Attributes
    ----------
    linear_start : bool
        Start first at the minimiser of the linear part of the objective.
    master_solver, master_options : str, mapping
        Solver of the mixed-integer programs if the model has integers or ordered sets, and its own options.
    master_seconds : float
        Time limit of one mixed-integer program.
    """

    linear_start: bool = True
    master_solver: str | SolverObject = "highs"
    master_options: Mapping[str, Any] | None = None
    master_seconds: float = 10.0


@dataclass
class SlaStart(Start):
    """The result of one start of ``sla``."""

    linear_programs: int = 0
    mixed_programs: int = 0
    stationary: bool = False
    steps: list[float] = field(default_factory=list)  # lengths; below 1 if f is not concave

    @property
    def shortest_step(self) -> float:
        """The shortest step; nan without any."""
        return min(self.steps, default=math.nan)


def _with_fixed(fixed: Fixed, columns: np.ndarray, x: np.ndarray) -> Fixed:
    """Return fixed columns with further columns, which are fixed at their values in x."""
    more = np.setdiff1d(columns, fixed[0])
    return np.concatenate([fixed[0], more]), np.concatenate([fixed[1], x[more]])


class SuccessiveLinearization(Driver):
    """Successive linear approximation; ``runs`` has the result of each start."""

    name = "sla"
    title = "smooth objectives over linear rows, above all concave ones (successive linear approximation)"
    options_type = LinearizationConfig
    writes_logic = True
    config: LinearizationConfig

    def sees(self, component: Any) -> bool:
        """Return whether a component is an ordered set."""
        return component.ctype is pyo.SOSConstraint

    def prepare(self) -> None:
        """Read the rows and the objective."""
        c = self.config
        c.check("linear_start")
        if not c.master_seconds > 0:
            raise OptionError(f"master_seconds={c.master_seconds!r} is not allowed: give a number above 0.")
        self.check_time()
        held = {id(v): v for v in used_variables(self.cache)}
        self.variables = [v for v in held.values() if not v.fixed]
        curved = next((row for row in self.cache.rows if not is_linear(row.body)), None)
        if curved is not None:
            raise ModelError(
                f'Row "{curved.name}" is not linear, and "{self.name}" takes linear rows only. Use a linear row on the '
                f'sigma of a builder with sigma=True, "multi-start" ({either(C.NLP)} inside) where the model is '
                f"continuous, or solve the whole model by name: {either(C.MINLP)}."
            )
        self.rows = LinearRows.of(self.cache.rows, self.variables, [], 1.0)
        self.objective = SmoothFunction(single_objective(self.cache).expr, self.variables, self.sign)
        self.check_time()
        self.pieces = self._split_into_pieces()
        self.lp = self._over_rows()
        self.runs: list[SlaStart] = []
        self._solved = 0
        self._multipliers = np.zeros(0)  # of the last linear program

    def _split_into_pieces(self) -> Pieces | None:
        """Return the pieces of a model with integers or ordered sets."""
        c = self.config
        column = {id(v): k for k, v in enumerate(self.variables)}
        sets = ordered_sets(self.cache, column, self.name)
        if not sets and not has_integers(self.cache):
            return None
        if not len(self.objective.curved):
            first = next((f'"{v.name}" is integer' for v in self.variables if not v.is_continuous()), "")
            first = first or f'SOSConstraint "{self.cache.stated(pyo.SOSConstraint)[0].name}" is an ordered set'
            raise ModelError(
                f'{first}, and the objective is linear: "{self.name}" linearises curved objectives only. '
                f"Solve the model by name with {either(C.SOS if sets else C.MILP)}."
            )
        spec = require(c.master_solver, C.MILP)
        return Pieces(self.rows, sets, Runner(spec, replace(master_solver_options(c, spec), gap=GAP)), c.master_seconds)

    def _over_rows(self) -> LinearProgram:
        """Return the linear program over the rows."""
        c, r = self.config, self.rows
        rows = (r.matrix, r.lower, r.upper)
        tolerance = LP_TOLERANCE if len(self.objective.curved) else FINEST  # a linear program is solved only once
        return linear_program(
            c.lp_solver, self.objective.linear, r.x_lower, r.x_upper, options=lp_solver_options(c), rows=rows,
            stay=True, tolerance=tolerance,
        )  # fmt: skip

    def loop(self) -> End:
        """Run from each start and keep the best; the status is that of the best."""
        stop, status = StopReason.CONVERGED, None
        try:
            for label, point in self._starts():
                run = SlaStart(label)
                self.runs.append(run)
                try:
                    with self.timing("subproblem"):
                        self._descend(run, point)
                except ModelError as error:  # of this start: unbounded, or a function without a value
                    run.failure = str(error)
            if all(run.failure for run in self.runs):
                raise ModelError(self.runs[0].failure)
        except Ended as end:
            stop, status = end.stop, end.status
        finally:
            self._report()
        status = status or self._status_of_best()
        if stop is not StopReason.INTERRUPTED and self.pieces is not None and self._kept is not None:
            self._reduce_integers(self.pieces)
        return stop, status

    def _starts(self) -> Iterator[tuple[str, np.ndarray | None]]:
        """Yield a name and the point whose slope is the cost of the first linear program (0); None: the linear part."""
        c, f = self.config, self.objective
        if c.linear_start or not len(f.curved):
            yield "linear part", None
        if len(f.curved):
            yield from random_points(np.zeros(len(self.variables)), f.curved, [self.variables[j] for j in f.curved], c)

    def _descend(self, run: SlaStart, start: np.ndarray | None) -> None:
        """Descend from one start to a stationary point; the numbers in comments are the steps of the algorithm."""
        x, value = self._first(run, start)  # 0
        if run.stationary:
            return
        for _ in self.rounds(math.inf):  # the limit is of linear programs
            slope = self.objective.gradient(x)
            steep, piece = np.flatnonzero(np.isinf(slope)), self._piece(x, slope)
            if len(steep) and (escape := self._escape(run, x, value, slope, piece)) is not None:
                x, value = self._moved(run, *escape)
                continue
            slope[steep] = 0.0
            p = self._linear_program(run, slope, _with_fixed(piece, steep, x))  # 1
            descent, small = float(slope @ (x - p)), self.config.tolerance * max(1.0, abs(value))
            if descent > small:
                step, x, new = self._step(x, p, value, descent)  # 3
                if step > 0.0:
                    x, value = self._moved(run, step, x, new)
                    continue
            stationary = descent <= 1e3 * small  # 2; rounding may hide a larger descent
            if self.pieces is None or value != self.best:  # only the best point is checked in all pieces
                run.stationary = stationary and self.pieces is None
                return
            elsewhere, proven = self._best_piece(run, slope, steep, x)
            new = math.inf if elsewhere is None else self._value(elsewhere)
            if elsewhere is None or not new < value - small:
                run.stationary = stationary and proven and float(slope @ (x - elsewhere)) <= 1e3 * small
                return
            x, value = self._moved(run, 1.0, elsewhere, new)
        raise Ended(self.stop)

    def _first(self, run: SlaStart, start: np.ndarray | None) -> tuple[np.ndarray, float]:
        """Return the vertex at which a start begins, and its value."""
        f = self.objective
        cost = f.linear if start is None else f.gradient(start)
        x = self._linear_program(run, np.where(np.isfinite(cost), cost, f.linear))
        proven = self.pieces is None
        if self.pieces is not None:
            slope = f.gradient(x)  # at the start the slope of curved terms may be 0, and the program would take long
            found, proven = self._best_piece(run, np.where(np.isfinite(slope), slope, f.linear), np.empty(0, int), x)
            if found is None:
                self.message = "No feasible choice of the integers was found: increase master_seconds."
                raise Ended(StopReason.TIME_LIMIT)
            x = found
        value = f.value(x)
        if not len(f.curved) and proven:  # the model is the linear or mixed-integer program
            self.raise_bound(value if self.pieces is not None else self._lagrangian(value - float(f.linear @ x)))
            run.stationary = True
        return x, self._keep(run, x, value)

    def _lagrangian(self, constant: float) -> float:
        """Return the bound of the multipliers of the last linear program, plus a constant."""
        program = replace(self.rows, cost=self.objective.linear, constant=constant)
        return lagrangian_bound(program, self._multipliers)[0]

    def _piece(self, x: np.ndarray, slope: np.ndarray) -> Fixed:
        """Return the columns that are fixed in the piece of x, and their values."""
        if self.pieces is None:
            return NOTHING
        piece = self.pieces.around(x, slope)
        return piece.columns, piece.values

    def _best_piece(
        self, run: SlaStart, slope: np.ndarray, steep: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray | None, bool]:
        """Return the best vertex of all pieces for a slope, None if not found, and whether it is proven."""
        assert self.pieces is not None
        cost = slope.copy()
        cost[steep] = 0.0
        within = self.pieces.widen(x)
        found = self.pieces.best(cost, self.clock.left)
        if isinstance(found, NoPiece):
            if found.infeasible:
                raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
            if found.stop is StopReason.INTERRUPTED or self.clock.over:
                raise Ended(self.stopped() or StopReason.INTERRUPTED)
            return None, False
        run.mixed_programs += 1
        try:
            p = self._linear_program(run, cost, (found.columns, found.values))
        except ModelError:  # feasible only within the tolerances of integers
            return None, False
        return p, found.proven and within

    def _moved(self, run: SlaStart, step: float, x: np.ndarray, value: float) -> tuple[np.ndarray, float]:
        """Keep the point after a step."""
        run.steps.append(step)
        return x, self._keep(run, x, value)

    def _escape(
        self, run: SlaStart, x: np.ndarray, value: float, slope: np.ndarray, piece: Fixed
    ) -> tuple[float, np.ndarray, float] | None:
        """Take a step where f has an infinite slope, such as -x**0.5 at 0; None if the rows or f do not allow it."""
        steep = np.isinf(slope)
        gains = steep & (np.where(x <= self.rows.x_lower, slope, -slope) < 0)
        if not np.any(gains):
            return None
        held = _with_fixed(piece, np.flatnonzero(steep & ~gains), x)
        p = self._linear_program(run, np.where(gains, np.sign(slope), 0.0), held)
        if np.all(np.abs(p - x)[gains] <= self.config.tolerance):
            return None
        step, point, new = self._step(x, p, value, 0.0)
        return None if step == 0.0 else (step, point, new)

    def _step(self, x: np.ndarray, p: np.ndarray, value: float, descent: float) -> tuple[float, np.ndarray, float]:
        """Return length, point and value of the longest step 1, 1/2, 1/4, ... that descends enough; else length 0."""
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

    def _linear_program(self, run: SlaStart, cost: np.ndarray, fixed: Fixed = NOTHING) -> np.ndarray:
        """Return a vertex that minimises a linear objective over the rows; if there is none, the start or the run ends.

        ``fixed``: fixed columns and their values.
        """
        limit = self.config.iteration_limit
        if limit is not None and self._solved >= limit:
            raise Ended(StopReason.ITERATION_LIMIT)
        columns, values = fixed
        self.lp.set_cost(cost)
        self._solved += 1
        run.linear_programs += 1
        if len(columns):
            self.lp.set_bounds(columns, values, values)
        try:
            answer = self.lp.solve(self.clock.left)
        finally:
            if len(columns):
                self.lp.set_bounds(columns, self.rows.x_lower[columns], self.rows.x_upper[columns])
        if answer.status is LpStatus.OPTIMAL:
            self._multipliers = answer.multipliers
            return answer.point
        if answer.status is LpStatus.LIMIT or self.clock.over:
            raise Ended(StopReason.TIME_LIMIT)
        if answer.status is LpStatus.INFEASIBLE:
            if len(columns):
                raise ModelError("The linear program of a step has no point.")
            raise Ended(StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
        if answer.status is LpStatus.UNBOUNDED:
            if not len(self.objective.curved):
                raise Ended(StopReason.CONVERGED, SolutionStatus.UNBOUNDED)
            if run.objective is None:
                raise ModelError("The linear program of this start is unbounded: bound the variables of the objective.")
            raise ModelError(
                f"The linear approximation of the objective is unbounded ({run.start}, linear program "
                f"{run.linear_programs}): bound the variables of the objective."
            )
        name = called(self.config.lp_solver)
        raise SolverFailure(f"{name} failed on a linear program of {run.start}.", name)

    def _keep(self, run: SlaStart, x: np.ndarray, value: float) -> float:
        """Record a feasible point and offer it as incumbent."""
        run.objective = value
        if self.best is None or value < self.best:
            put_back(zip(self.variables, x.tolist(), strict=True))
            self.offer(value, self.variables, lambda: None)
            self._best_run = run
        self.record(run.start, value, cuts=0, support=None)
        return value

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution."""
        return clashing_rows(self.rows.rows, self.variables)

    def _reduce_integers(self, pieces: Pieces) -> None:
        """Choose the least sum of the integers that are not in the objective, and repair the point."""
        f, before = self.objective, [(v, v.value) for v in self.cache.variables]
        self._load()
        x = np.array([v.value for v in self.variables])
        kept = f.linear != 0
        kept[f.curved] = True
        kept[~pieces.near_integers] = True
        first, chosen, least = [(v, v.value) for v in self.variables], False, None
        value, missed = self._objective_value(), violation(self.cache)
        with suppress(SolverFailure):  # the point that was found stays as it is
            least = pieces.least(x, np.flatnonzero(kept), self.clock.left)
        if least is not None:
            piece = pieces.around(least, np.zeros(len(x)))
            least[piece.columns] = piece.values
            put_back(zip(self.variables, np.where(kept, x, least).tolist(), strict=True))
            chosen = violation(self.cache) <= max(FEASIBLE, missed)
        if not chosen:
            put_back(first)
        if self.certificate is not None:
            self.certificate.repair_within(self.cache, self.cache)
        final = [(v, v.value) for v in self.cache.variables]
        if self._objective_value() > value + FEASIBLE * max(1.0, abs(value)):
            final = first
        put_back(before)
        self._load = partial(put_back, final)

    def _status_of_best(self) -> SolutionStatus | None:
        """Return the status of the best start; None without an incumbent, or if the bound proves it."""
        if self.best is None or self.closed(self.config.gap):
            return None
        return SolutionStatus.STATIONARY if self._best_run.stationary else SolutionStatus.FEASIBLE

    def _report(self) -> None:
        """Write the message and the table of the starts."""
        columns = ["start", "objective", "linear_programs", "mixed_programs", "stationary", "shortest_step"]
        self.details["starts"] = table(self.runs, self.sign, columns)
        self.details["linear_programs"] = self._solved
        failed = [run for run in self.runs if run.failure]
        summary = spread([run.objective for run in self.runs if run.objective is not None], self.sign)
        if failed:
            summary += (
                f' {len(failed)} of {len(self.runs)} starts failed, first "{failed[0].start}": {failed[0].failure}'
            )
        self.message = self.message or summary.strip()
