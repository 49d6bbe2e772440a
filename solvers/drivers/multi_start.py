r"""Several starts of a local solver on one nonlinear model.

    min { f(x) : rows, bounds }, f and the rows smooth where the local solver goes, x continuous.

    1. A start: the values that the model holds; then, one start after another, seeded random values, uniform between
       bounds, for the variables in nonlinear terms of rows or objective, and the model's values for all others. What
       has no value starts at 0; everything is moved within its bounds.
    2. Solve the model with ``sub_solver`` from there, in the time that is left, and in the units of the model's change
       of variables where it declares one.
    3. The point counts if it misses no row by more than 1e-6, and is put on the rows where the model says how; the
       best one is kept. Go to 1.

(Multistart, the simplest of the methods of Rinnooy Kan and Timmer 1987, "Stochastic global optimization methods", part
I: with starts that are uniform over a bounded set the best local optimum is found with probability 1 as they go on.)

What is certified: nothing about other points. The status is "stationary" where the best point is one at which the local
solver converged, "feasible" where it stopped earlier, and a bound there is none. What a local solver says of a failed
start, "infeasible" or "no end" among it, is true near that start at most: the next one follows, and only where all of
them fail the run ends without a solution, in the words of the first. A linear model needs no starts: HiGHS solves it to
its optimum, or to a proof that there is none.

Complementarities are written as products on a clone, whose points are judged there and brought back; disjunctions,
logical statements and ordered sets mean integers, and are refused as these are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.mpec import Complementarity

from solvers.drivers.base import Driver
from solvers.drivers.slots import slot_words
from solvers.drivers.starts import RandomStartsConfig, Start, random_points, spread, table
from solvers.errors import OptionError, SolverError
from solvers.facts.base import facts_of, worst_violation
from solvers.facts.change import Changed
from solvers.interfaces.registry import SOLVERS, SolverSpec, default_solver, find, names, require
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.model.classes import needs, refuse_integers, single_objective, used_variables, violation
from solvers.model.conflict import clashing_rows
from solvers.model.duals import dual_suffix
from solvers.model.function import curved_variables
from solvers.model.linear import hand_over
from solvers.model.rewriting import visible
from solvers.options import SolverObject
from solvers.reading import ModelReading, read
from solvers.result import FEASIBLE, HOPELESS, Result, SolutionStatus, StopReason
from solvers.values import bounds_of, plain_domains

Ended = tuple[StopReason, SolutionStatus | None]

_ENDS = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)  # in a start, of the whole run
_SAID = {
    SolutionStatus.INFEASIBLE: "found no feasible point near its start, which does not prove that there is none",
    SolutionStatus.UNBOUNDED: "found no end to the objective from there",
}


@dataclass
class MultiStartConfig(RandomStartsConfig):
    """Options of ``multi-start``; ``iteration_limit`` counts starts.

    A linear model has a single start.

    Attributes
    ----------
    sub_solver : str
        A local solver for NLP.
    sub_options : mapping, optional
        Its own options.
    warm_start : bool
        Start first from the values that the model holds, where it holds any (a model solved before starts from its
        answer).
    """

    sub_solver: str | SolverObject = "pounce"
    sub_options: Mapping[str, Any] | None = None
    warm_start: bool = True


@dataclass
class LocalStart(Start):
    """The result of one start of a local solver."""

    violation: float | None = None
    status: SolutionStatus = SolutionStatus.NO_SOLUTION
    seconds: float = 0.0


class MultiStart(Driver):
    """A local solver from several starts; ``runs`` has the result of each."""

    name = "multi-start"
    title = "any continuous nonlinear model (a local solver from several starts, to a stationary point)"
    options_type = MultiStartConfig
    config: MultiStartConfig

    def sees(self, component: Any) -> bool:
        """Return whether a component is a complementarity, which is written as rows."""
        return component.ctype is Complementarity

    def prepare(self) -> None:
        """Check the class of the model, and find the variables whose starting values matter."""
        c, model = self.config, self.model
        c.check("warm_start")
        self.spec = _local(c.sub_solver)
        objective = single_objective(self.reading)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        if facts_of(model) is not None:  # a builder's, which may be large
            self.check_time(hand_over(model, self.spec.seconds_per_term))
        self.seen = visible(self.reading, self.spec)
        refuse_integers(self.seen.reading, self.name, C.MINLP)
        needed = needs(self.seen.reading)
        self.linear = needed == [C.LP]
        if not self.linear and not any(n in self.spec.capabilities for n in needed):
            require(c.sub_solver, needed[0])
        self.variables = _free(self.seen.reading)
        self.drawn = [] if self.linear else _curved(self.seen.reading)
        free = {id(v) for v in self.variables}
        copied = [v for v, copy in self.seen.pairs if id(copy) in free]
        self._mine = copied if self.seen.pairs else self.variables  # the user's, whose values are the incumbent
        spec = default_solver([C.LP]) if self.linear else self.spec
        if self.linear and c.sub_options:
            raise OptionError(
                f"sub_options={dict(c.sub_options)} are for {self.spec.name}, but the model is linear, which "
                f"{spec.name} solves: leave them out."
            )
        self._runner = Runner(spec, slot_words(c, "sub", gap=c.gap, threads=c.threads, seed=c.seed))
        self.runs: list[LocalStart] = []
        self._best_run: LocalStart | None = None
        self._nearly: tuple[LocalStart, list[float | None]] | None = None  # the point that misses the rows by least

    def loop(self) -> Ended:
        """Run from each start and keep the best; the numbers in comments are the steps of the algorithm."""
        try:
            if not self.variables or self.linear:
                return self._settled_at_once()
            if crossed := next((v.name for v in self.variables if bounds_of(v)[0] > bounds_of(v)[1]), ""):
                self.message = f'The bounds of "{crossed}" cross: no value is between them.'
                return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
            for (label, point), _ in zip(self._starts(), self.rounds(), strict=False):  # 1
                run = LocalStart(label)
                self.runs.append(run)
                with self.timing("subproblem"):
                    stop = self._solve(run, point)  # 2, 3
                self.record(run.start, self._counted(run), cuts=0, support=None)
                if stop is not StopReason.CONVERGED:
                    return stop, None
            return self.stop, None
        finally:
            self._conclude()

    def solve(self) -> Result:
        """Run; a limit, Ctrl-C or a callback returns the best point so far, without a bound."""
        result = super().solve()
        if not self.late and self._best_run is not None:  # as it was judged: a clone may have more rows than the model
            result.details["violation"] = self._best_run.violation
        return result

    def _starts(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield a name and the values of all variables (1)."""
        c = self.config
        low, high = np.array([bounds_of(v) for v in self.variables], dtype=float).T
        base = np.clip(np.array([v.value or 0.0 for v in self.variables], dtype=float), low, high)
        valued = any(v.value is not None for v in (self.drawn or self.variables))
        if (c.warm_start and (valued or not c.starts)) or not self.drawn:
            yield "model's values", base
        place = {id(v): k for k, v in enumerate(self.variables)}
        places = [place[id(v)] for v in self.drawn]
        if self.drawn:
            for label, point in random_points(base, np.array(places), self.drawn, c):
                yield label, np.clip(point, low, high)

    def _solve(self, run: LocalStart, point: np.ndarray) -> StopReason:
        """Solve from one start (2) and keep a feasible point (3); return the end of the run, if it ends."""
        before = self.clock.elapsed
        for v, x in zip(self.variables, point.tolist(), strict=True):
            v.set_value(x, skip_validation=True)
        try:
            answer = self._answer()
        except SolverError as error:  # of this start: for example a function without a value there
            run.failure = str(error)
            return StopReason.CONVERGED
        finally:
            run.seconds = self.clock.elapsed - before
        self._judge(run, answer)
        return answer.stop_reason if answer.stop_reason in _ENDS else StopReason.CONVERGED

    def _answer(self) -> Answer:
        """Solve the view from its values, in the units of its change of variables."""
        facts = facts_of(self.seen.model)  # a clone's facts hold its own variables
        view = None if facts is None or facts.change is None else Changed(self.seen.model, facts.change)
        reading = self.seen.reading if view is None else read(view.model)
        with plain_domains(reading.variables, continuous=True):
            answer = self._runner.solve(reading.model, time_limit=self.clock.left)
        if view is None:
            return answer
        if answer.has_point:
            view.bring_back()
        return replace(answer, bound=view.bound_of(answer.bound))

    def _judge(self, run: LocalStart, answer: Answer) -> None:
        """Evaluate the point of a start, and offer it."""
        spoken = f"{self._runner.spec.name} {_SAID.get(answer.status, answer.message)}"
        if not answer.has_point:
            run.failure = "" if answer.stop_reason in _ENDS else spoken
            return
        self.seen.bring_back()
        run.violation, value = self._evaluated()
        facts = facts_of(self.model)
        if run.violation <= FEASIBLE and facts is not None and facts.certificate is not None:
            facts.certificate.settle(self.reading, has_point=True)
            run.violation, value = self._evaluated()
        if run.violation > HOPELESS:
            run.failure = f"the point of {self._runner.spec.name} violates the rows by {run.violation:.1e}"
            return
        if not math.isfinite(value):
            run.failure = f"the objective has no finite value at the point of {self._runner.spec.name}"
            return
        run.objective = self.sign * value
        if run.violation > FEASIBLE:
            run.status = SolutionStatus.FEASIBLE
            if self._nearly is None or run.violation < (self._nearly[0].violation or 0.0):
                self._nearly = run, [v.value for v in self._mine]
            return
        converged = answer.status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)
        run.status = SolutionStatus.STATIONARY if converged else SolutionStatus.FEASIBLE
        if not converged and answer.stop_reason not in _ENDS:
            run.failure = f"{self._runner.spec.name} stopped before it converged ({answer.message})"
        if self.best is None or run.objective < self.best:
            self._best_run = run
        self.offer(run.objective, self._mine, lambda: None)

    def _evaluated(self) -> tuple[float, float]:
        """Return violation and objective at the model's values; infinite and nan where a function is undefined."""
        try:
            off = worst_violation(self.reading)
            off = max(off, violation(self.seen.reading)) if self.seen.pairs else off
        except (ArithmeticError, TypeError, ValueError):  # 1/0; a complex power; log of a negative number
            off = math.inf
        try:
            return off, float(pyo.value(single_objective(self.reading)))
        except (ArithmeticError, TypeError, ValueError):
            return off, math.nan

    def _settled_at_once(self) -> Ended:
        """Solve a model that is linear or has no free variable."""
        run = LocalStart("linear model" if self.variables else "no free variable")
        self.runs.append(run)
        if not self.variables:
            holds = violation(self.seen.reading) <= FEASIBLE
            answer = Answer(StopReason.CONVERGED, SolutionStatus.OPTIMAL, True, None, "") if holds else None
        else:
            with self.timing("subproblem"):
                answer = self._answer()
        run.seconds = self.clock.elapsed
        if answer is None or answer.status is SolutionStatus.INFEASIBLE:
            return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
        if answer.status is SolutionStatus.UNBOUNDED:
            self.message = "The objective has no end: a bound or a row is missing."
            return StopReason.CONVERGED, SolutionStatus.UNBOUNDED
        self._judge(run, answer)
        if answer.status is SolutionStatus.OPTIMAL and self._best_run is run:
            run.status = SolutionStatus.OPTIMAL
            self.raise_bound(run.objective if answer.bound is None else self.sign * answer.bound)
        self.record(run.start, self._counted(run), cuts=0, support=None)
        return answer.stop_reason, None

    def why_infeasible(self) -> str:
        """Return rows that have no solution together, in words."""
        rows = list(self.reading.rows)
        held = list({id(v): v for v in used_variables(self.reading)}.values())
        return clashing_rows(rows, held, Runner(find("highs"), SolveOptions())) if self.linear else self.message

    # What came out.

    def _counted(self, run: LocalStart) -> float | None:
        """Return a start's objective, if its point satisfies the rows."""
        return run.objective if run.violation is not None and run.violation <= FEASIBLE else None

    def claim(self) -> SolutionStatus | None:
        """Return the status of the best start."""
        return None if self._best_run is None else self._best_run.status

    def _conclude(self) -> None:
        """Use the nearly feasible point where there is no other, and write the closing message."""
        sentences = [self.message]
        if self._best_run is None and self._nearly is not None:
            self._best_run, values = self._nearly
            assert self._best_run.objective is not None
            for v, x in zip(self._mine, values, strict=True):
                v.set_value(x, skip_validation=True)
            self.offer(self._best_run.objective, self._mine, lambda: None)
            missed = self._best_run.violation
            sentences.append(f"No start satisfies the rows; the point misses them by {missed:.1e}.")
        ends = [run.objective for run in self.runs if run.status is SolutionStatus.STATIONARY]
        sentences.append(spread([end for end in ends if end is not None], self.sign))
        failed = [run for run in self.runs if run.failure]
        if failed:
            first = next((run for run in failed if run is self._best_run), failed[0])
            more = f" ({len(failed)} of {len(self.runs)} starts failed)" if len(self.runs) > 1 else ""
            sentences.append(f'Start "{first.start}": {first.failure.rstrip(".")}{more}.')
        self.message = " ".join(s for s in sentences if s)
        if (suffix := dual_suffix(self.model)) is not None:
            suffix.clear()  # some interfaces write into it, and it would be of the last start
        columns = ["start", "objective", "status", "violation", "seconds"]
        rows = table(self.runs, self.sign, columns)
        rows["status"] = [str(status) for status in rows["status"]]
        self.details["starts"] = rows.astype({"violation": float, "seconds": float})


def _local(solver: Any) -> SolverSpec:
    """Return a local solver. Raises SolverError if it does not support NLP, or is a global solver."""
    spec = require(solver, C.NLP)
    if not spec.local:
        able = " or ".join(n for n in names(C.NLP) if SOLVERS[n].local) or "none installed"
        raise SolverError(
            f'sub_solver="{spec.name}" searches everywhere by itself, so that more starts are pointless: solve the '
            f'model whole, with solver="{spec.name}", or use a local sub_solver ({able}).'
        )
    return spec


def _free(reading: ModelReading) -> list[Any]:
    return list({id(v): v for v in used_variables(reading) if not v.fixed}.values())


def _curved(reading: ModelReading) -> list[Any]:
    """Return the free variables in nonlinear terms of objective and active rows; dense rows are skipped."""
    bodies = [single_objective(reading).expr]
    bodies += [row.body for row in reading.rows]
    held: dict[int, Any] = {}
    for body in bodies:
        held.update({id(v): v for v in curved_variables(body)})
    return list(held.values())
