r"""Several starts of a local solver on one nonlinear model.

    min { f(x) : rows, bounds }, f and the rows smooth along the path of the local solver, x continuous.

    1. Choose a start: first the values on the model; then seeded random values, uniform between the bounds, for the
       variables in nonlinear terms, and the values on the model for all others. Missing values are 0, and values
       outside the bounds are moved onto them.
    2. Solve the model with ``sub_solver`` from there in the remaining time, in the units of the model's change of
       variables if it has one.
    3. Accept the point if it violates no row by more than 1e-6, repair it if the builder supports that, and keep the
       best. Go to 1.

This is multistart, the simplest method of Rinnooy Kan and Timmer 1987, "Stochastic global optimization methods", part
I: with uniform starts over a bounded set it finds the best local optimum with probability 1 as their number grows.

The method proves nothing about other points and has no bound. The status is "stationary" if the local solver converged
at the best point, and "feasible" if it stopped early there. A local solver that reports "infeasible" or "unbounded"
refers to the neighbourhood of its start at most. The next start follows; the run ends without a solution only if all
starts fail, with the message of the first. A linear model has one start: HiGHS solves it, or proves that it is
infeasible or unbounded.

Complementarities are written as products on a clone. Its points are checked there and copied back. Disjunctions,
logical statements and ordered sets need integers and are rejected like these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyomo.mpec import Complementarity

from solvers.drivers.base import Driver, End
from solvers.drivers.solver_options import slot_solver_options
from solvers.drivers.starts import RandomStartsConfig, Start, random_points, spread, table
from solvers.errors import OptionError, SolverError
from solvers.facts.base import facts_of, worst_violation
from solvers.facts.change import Changed
from solvers.interfaces.registry import SOLVERS, SolverSpec, default_solver, names, require
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, Runner
from solvers.model.classes import needs, refuse_integers, single_objective, used_variables, violation
from solvers.model.conflict import clashing_rows
from solvers.model.duals import dual_suffix
from solvers.model.function import curved_variables
from solvers.model.linear import hand_over
from solvers.model.rewriting import visible
from solvers.model_cache import cached
from solvers.options import SolverObject
from solvers.result import FEASIBLE, HOPELESS, Result, SolutionStatus, StopReason
from solvers.values import bounds_of, plain_domains, put_back, value_or_none

_ENDS = (StopReason.TIME_LIMIT, StopReason.INTERRUPTED)  # of a start, which end the run
_REASONS = {
    SolutionStatus.INFEASIBLE: "found no feasible point near its start, which does not prove that there is none",
    SolutionStatus.UNBOUNDED: "found no end to the objective from there",
}


@dataclass
class MultiStartConfig(RandomStartsConfig):
    """Options of ``multi-start``; ``iteration_limit`` counts starts.

    A linear model has a single start.

    Attributes
    ----------
    sub_solver : str, optional
        Local solver for NLP; by default pounce, or the first local solver that is installed.
    sub_options : mapping, optional
        Its own options.
    warm_start : bool
        Use the values on the model as the first start, if it has any. A model that was solved before starts from its
        solution.
    """

    sub_solver: str | SolverObject | None = None
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
        solver = c.sub_solver or _installed()
        self.spec = _local(solver)
        if facts_of(model) is not None:  # the model of a builder may be large
            self.check_time(hand_over(model, self.spec.seconds_per_term))
        self.visible = visible(self.cache, self.spec)
        cache = self.visible.cache
        refuse_integers(cache, self.name, C.MINLP)
        needed = needs(cache)
        self.linear = needed == [C.LP]
        if not self.linear and not any(n in self.spec.capabilities for n in needed):
            require(solver, needed[0])
        free = {id(v): v for v in used_variables(cache) if not v.fixed}
        self.variables = list(free.values())
        bodies = [] if self.linear else [single_objective(cache).expr, *(row.body for row in cache.rows)]
        self.drawn = list({id(v): v for body in bodies for v in curved_variables(body)}.values())
        copied = [v for v, copy in self.visible.pairs if id(copy) in free]
        self._own = copied if self.visible.pairs else self.variables  # the user's, whose values are the incumbent
        spec = default_solver([C.LP]) if self.linear else self.spec
        if self.linear and c.sub_options:
            raise OptionError(
                f"sub_options={dict(c.sub_options)} are for {self.spec.name}, but the model is linear, which "
                f"{spec.name} solves: leave them out."
            )
        self._runner = Runner(spec, slot_solver_options(c, "sub", gap=c.gap, threads=c.threads, seed=c.seed))
        self.runs: list[LocalStart] = []
        self._best_run: LocalStart | None = None
        self._nearest: tuple[LocalStart, list[Any]] | None = None  # the infeasible point with the least violation

    def loop(self) -> End:
        """Run from each start and keep the best; the numbers in comments are the steps of the algorithm."""
        try:
            crossed = next((v.name for v in self.variables if bounds_of(v)[0] > bounds_of(v)[1]), "")
            if crossed and not self.linear:
                self.message = f'The bounds of "{crossed}" cross: no value is between them.'
                return StopReason.CONVERGED, SolutionStatus.INFEASIBLE
            for (label, point), _ in zip(self._starts(), self.rounds(), strict=False):  # 1
                run = LocalStart(label)
                self.runs.append(run)
                with self.timing("subproblem"):
                    answer = self._solve(run, point)  # 2, 3
                if self.linear and answer is not None and answer.status in _REASONS:
                    return StopReason.CONVERGED, answer.status
                self.record(run.start, self._feasible_objective(run), cuts=0, support=None)
                if answer is not None and (self.linear or answer.stop_reason in _ENDS):
                    return answer.stop_reason, None
            return self.stop, None
        finally:
            self._conclude()

    def solve(self) -> Result:
        """Run; a limit, Ctrl-C or a callback returns the best point so far, without a bound."""
        result = super().solve()
        if not self.late and self._best_run is not None:  # of the clone too, which may have more rows than the model
            result.details["violation"] = self._best_run.violation
        return result

    def _starts(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield a name and the values of all variables (1)."""
        c = self.config
        low, high = np.array([bounds_of(v) for v in self.variables], dtype=float).reshape(-1, 2).T
        base = np.clip(np.array([v.value or 0.0 for v in self.variables], dtype=float), low, high)
        if self.linear:
            yield "linear model" if self.variables else "no free variable", base
            return
        valued = any(v.value is not None for v in (self.drawn or self.variables))
        if (c.warm_start and (valued or not c.starts)) or not self.drawn:
            yield "model's values", base
        place = {id(v): k for k, v in enumerate(self.variables)}
        places = [place[id(v)] for v in self.drawn]
        if self.drawn:
            for label, point in random_points(base, np.array(places), self.drawn, c):
                yield label, np.clip(point, low, high)

    def _solve(self, run: LocalStart, point: np.ndarray) -> Answer | None:
        """Solve from one start (2) and keep a feasible point (3); return None if the solver failed."""
        before = self.clock.elapsed
        put_back(zip(self.variables, point.tolist(), strict=True))
        try:
            answer = self._answer()
        except SolverError as error:  # of this start: for example a function without a value there
            if self.linear:
                raise
            run.failure = str(error)
            return None
        finally:
            run.seconds = self.clock.elapsed - before
        if not (self.linear and answer.status in _REASONS):
            self._evaluate(run, answer)
        return answer

    def _answer(self) -> Answer:
        """Solve what the solver sees from its values, in the units of its change of variables."""
        cache = self.visible.cache
        facts = facts_of(self.visible.model)  # those of a clone refer to its variables
        if not self.variables:
            status = SolutionStatus.OPTIMAL if violation(cache) <= FEASIBLE else SolutionStatus.INFEASIBLE
            return Answer(StopReason.CONVERGED, status, status is SolutionStatus.OPTIMAL, None, "")
        view = None if facts is None or facts.change is None else Changed(self.visible.model, facts.change)
        cache = cache if view is None else cached(view.model)
        with plain_domains(cache.variables, continuous=True):
            answer = self._runner.solve(cache.model, time_limit=self.clock.left)
        return answer if view is None else view.loaded(answer)

    def _evaluate(self, run: LocalStart, answer: Answer) -> None:
        """Evaluate the point of a start, and offer it."""
        solver = self._runner.spec.name
        if not answer.has_point:
            reason = f"{solver} {_REASONS.get(answer.status, answer.message)}"
            run.failure = "" if answer.stop_reason in _ENDS else reason
            return
        self.visible.bring_back()
        run.violation, value = self._violation_and_value()
        if run.violation <= FEASIBLE and self.certificate is not None:
            self.certificate.repair_point(self.cache, has_point=True)
            run.violation, value = self._violation_and_value()
        if run.violation > HOPELESS:
            run.failure = f"the point of {solver} violates the rows by {run.violation:.1e}"
            return
        if not math.isfinite(value):
            run.failure = f"the objective has no finite value at the point of {solver}"
            return
        run.objective = self.sign * value
        if run.violation > FEASIBLE:
            run.status = SolutionStatus.FEASIBLE
            if self._nearest is None or run.violation < (self._nearest[0].violation or 0.0):
                self._nearest = run, [(v, v.value) for v in self._own]
            return
        converged = answer.status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)
        run.status = SolutionStatus.STATIONARY if converged else SolutionStatus.FEASIBLE
        if not converged and answer.stop_reason not in _ENDS:
            run.failure = f"{solver} stopped before it converged ({answer.message})"
        if self.best is None or run.objective < self.best:
            self._best_run = run
        self.offer(run.objective, self._own, lambda: None)
        if answer.status is SolutionStatus.OPTIMAL:  # of a linear model
            run.status = SolutionStatus.OPTIMAL
            self.raise_bound(run.objective if answer.bound is None else self.sign * answer.bound)

    def _violation_and_value(self) -> tuple[float, float]:
        """Return violation and objective at the model's values; infinite and nan where a function is undefined."""
        try:
            worst = worst_violation(self.cache)
            worst = max(worst, violation(self.visible.cache)) if self.visible.pairs else worst
        except (ArithmeticError, TypeError, ValueError):  # 1/0; a complex power; log of a negative number
            worst = math.inf
        value = value_or_none(single_objective(self.cache).expr)
        return worst, math.nan if value is None else value

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution, if the model is linear."""
        return clashing_rows(self.cache.rows, [*used_variables(self.cache)]) if self.linear else self.message

    def _feasible_objective(self, run: LocalStart) -> float | None:
        """Return the objective of a start if its point satisfies the rows."""
        return run.objective if run.violation is not None and run.violation <= FEASIBLE else None

    def claim(self) -> SolutionStatus | None:
        """Return the status of the best start."""
        return None if self._best_run is None else self._best_run.status

    def _conclude(self) -> None:
        """Use the point with the least violation if no other was found, and write the final message and table."""
        sentences = [self.message]
        if self._best_run is None and self._nearest is not None:
            self._best_run, values = self._nearest
            assert self._best_run.objective is not None
            put_back(values)
            self.offer(self._best_run.objective, self._own, lambda: None)
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
            suffix.clear()  # some interfaces write the multipliers of the last start into it
        columns = ["start", "objective", "status", "violation", "seconds"]
        rows = table(self.runs, self.sign, columns)
        rows["status"] = [str(status) for status in rows["status"]]
        self.details["starts"] = rows.astype({"violation": float, "seconds": float})


def _installed() -> str:
    """Return the name of the first installed local solver; pounce first, or if there is none."""
    able = [name for name in names(C.NLP) if SOLVERS[name].local]
    return able[0] if able and "pounce" not in able else "pounce"


def _local(solver: Any) -> SolverSpec:
    """Return the entry of a local solver. Raises SolverError if it does not support NLP, or is a global solver."""
    spec = require(solver, C.NLP)
    if not spec.local:
        able = " or ".join(n for n in names(C.NLP) if SOLVERS[n].local) or "none installed"
        raise SolverError(
            f'sub_solver="{spec.name}" is a global solver, so that more starts are pointless: solve the '
            f'model whole, with solver="{spec.name}", or use a local sub_solver ({able}).'
        )
    return spec
