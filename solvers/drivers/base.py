"""Base class of the drivers: options, clock, iteration table, incumbent, and the values of the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pyomo.environ as pyo

from solvers import interrupt, progress
from solvers.clock import Clock
from solvers.drivers.trace import RunState, Trace
from solvers.drivers.unbounded import point_exists, verified
from solvers.errors import OptionError, SolverFailure
from solvers.facts.base import (
    Facts,
    UnusedFacts,
    facts_of,
    facts_violation,
    feasible_value,
    resolution_of,
    worst_violation,
)
from solvers.facts.certificate import Certificate
from solvers.interfaces.registry import SOLVERS, called, entry, nearest, refuse_unpassed
from solvers.model.classes import single_objective
from solvers.model.conflict import clashing_rows
from solvers.model.duals import dual_suffix
from solvers.model.expressions import variables
from solvers.model.finite import refuse_nonfinite
from solvers.model.function import is_linear
from solvers.model.rewriting import refuse_unseen, written_rows
from solvers.model_cache import ModelCache
from solvers.options import TABLE, Config, check_limits, check_types, listed
from solvers.result import (
    AT_START,
    BELOW_TOLERANCES,
    ROUNDING,
    TOLERANCE,
    Result,
    SolutionStatus,
    StopReason,
    Verdict,
    is_closed,
    verdict,
)
from solvers.values import kept, put_back, put_on_bounds

REFUTED = "A problem inside the driver was reported as infeasible, but a point satisfies the model: nothing is proven."
ENDLESS = "The objective is unbounded: a bound or a row is missing."
LIMITS = {
    StopReason.TIME_LIMIT: "Stopped at the time limit.",
    StopReason.ITERATION_LIMIT: "Stopped at the iteration limit.",
    StopReason.INTERRUPTED: "Interrupted.",
}

End = tuple[StopReason, SolutionStatus | None]  # of a run; the status is None if the gap determines it
INFINITE = 1e20  # infinity of solvers: a feasible point with a larger objective proves that it is unbounded


class OutOfTime(Exception):
    """Raised if the time limit is reached, or Ctrl-C is pressed, before the run starts."""


class Ended(Exception):
    """Raised in a round to end the run; the loop of the driver catches it."""

    def __init__(self, stop: StopReason, status: SolutionStatus | None = None) -> None:
        super().__init__(stop.value)
        self.stop, self.status = stop, status


def configure(config: type[Config], options: dict[str, Any], name: str) -> Any:
    """Return a filled ``config``.

    Raises OptionError for an unknown option (with the nearest match), a value of the wrong type, or a limit that is not
    positive.
    """
    known = [f.name for f in dataclasses.fields(config)]
    for option in options:
        if option in config.renamed:
            raise OptionError(f'"{name}" takes no {option} here: {config.renamed[option]}.')
        if option not in known:
            raise OptionError(f'Option "{option}" is not one of {name}.{nearest(option, known)} {listed(config)}')
    check_types(config, options)
    check_limits(options)
    filled = config(**options)
    filled.check_tee()
    filled.check_own()
    return filled


class Driver(RunState):
    """A decomposition algorithm over one model; a subclass implements ``prepare`` and ``loop``.

    Drivers minimise: the objective of a model that maximises is negated.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    options_type: ClassVar[type[Config]]
    facts_type: ClassVar[type[Facts] | tuple[()]] = ()  # facts that can replace rows of the model
    writes_logic: ClassVar[bool] = False  # whether logic is written as rows in ``self.cache``

    def __init__(self, model: pyo.ConcreteModel, /, **options: Any) -> None:
        super().__init__()
        self.model, self.options = model, options
        self.cache = ModelCache(model)
        self.config = configure(self.options_type, options, self.name)
        self._check_passed_options()
        facts = facts_of(model)
        if facts is not None and not isinstance(facts, self.facts_type):
            need = "needs facts of another kind" if self.facts_type else "solves whole models"
            facts.check_stated(f'"{self.name}" {need}')
        self.clock = Clock.of_run(self.config.time_limit)
        refuse_nonfinite(self.cache)
        remedy = "" if facts is None or not facts.implicit else f"{facts.remedy} to edit it"
        if self.writes_logic and (written := written_rows(self.cache, self.sees)) is not None:
            self.cache = ModelCache(model, written)
        refuse_unseen(self.cache, self.name, self._supports, remedy)
        self.at_start = False  # whether the incumbent is the point on the model before the run
        self.stop = StopReason.CONVERGED  # the reason why ``rounds`` ended
        self.message = ""
        self.details: dict[str, Any] = {}
        self.dropped = UnusedFacts()
        self.assumed: list[str] = []  # rows and terms that are assumed to be convex: no bound is proven
        self.late = False  # whether the time limit was reached during ``prepare``
        self.sign = 1.0 if single_objective(self.cache).sense == pyo.minimize else -1.0
        try:
            with self.timing("prepare"):
                self.prepare()
        except OutOfTime:
            self.late = True
        given = [v for v in self.cache.variables if v.value is not None and not v.fixed]
        with kept(given):  # large values before the run would make any gap a rounding error
            for v in given:
                v.set_value(None)
            self.resolution = resolution_of(self.cache)

    def _check_passed_options(self) -> None:
        """Check that options of the run can be passed to the solvers inside. Raises OptionError."""
        common = {name: self.options.get(name) for name in ("threads", "seed", "time_limit")}
        for slot in self.config.slots() if any(value is not None for value in common.values()) else ():
            solver = getattr(self.config, f"{slot}_solver")
            if solver is not None and not (isinstance(solver, str) and solver in SOLVERS):
                refuse_unpassed(entry(solver), common)

    def check_time(self, seconds: float = 0.0) -> None:
        """End ``prepare`` if the run must stop, or if a step of ``seconds`` would exceed the time limit.

        Called before steps whose time grows with the model.

        Raises
        ------
        OutOfTime
        """
        left = self.clock.left
        if (left is not None and left <= seconds) or interrupt.pressed():
            raise OutOfTime

    @classmethod
    def kind_for(cls, model: Any, options: dict[str, Any]) -> type[Driver]:
        """Return the driver class for a model: drivers with several classes choose by its facts."""
        return cls

    def sees(self, component: Any) -> bool:
        """Return whether the driver can handle a component that is neither row, objective nor variable."""
        return False

    def _supports(self, component: Any) -> bool:
        written = self.cache.written
        return self.sees(component) or (written is not None and any(component is c for c in written.components))

    def prepare(self) -> None:
        """Check the options, read the model, and build the problems of the run."""
        raise NotImplementedError

    def loop(self) -> End:
        """Run; return the reason to stop, and the status if the gap does not determine it."""
        raise NotImplementedError

    def claim(self) -> SolutionStatus | None:
        """Return the status of the incumbent, for a driver without a bound; None if the bound determines it."""
        return None

    def inside(self) -> list[str]:
        """Return the names of the solvers inside: HiGHS for linear programs, unless an option names another."""
        options = vars(self.config)
        named = [called(value) for key, value in options.items() if key.endswith("_solver") and value is not None]
        return list(dict.fromkeys([*named, *([] if options.get("master_solver") else ["highs"])]))

    def why_infeasible(self) -> str:
        """Return a sentence with rows that have no common solution, for an infeasible model."""
        return ""

    def solve(self) -> Result:
        """Run the driver; at a limit or Ctrl-C, or if a callback stops it, return the incumbent and the bound."""
        with interrupt.run(), progress.doing(self.name, facts=self.progress_text, left=lambda: self.clock.left):
            with progress.paused(bool(self.config.tee) and not self.config.shows(TABLE)):
                stop, status = self._run_loop()
            if stop is StopReason.TIME_LIMIT and not self.late and self.config.time_limit is None:
                stop, reason = (
                    StopReason.ITERATION_LIMIT,
                    "A solver inside stopped at an iteration limit in its options.",
                )
                self.add_message(reason)
            with interrupt.finishing(), progress.doing("reading the answer"):
                return self._result(stop, status)

    def add_message(self, sentence: str) -> None:
        """Append a sentence to the message of the result."""
        self.message = f"{self.message} {sentence}".strip()

    def _run_loop(self) -> End:
        """Run the loop, then restore the values of the model."""
        c = self.config
        self.cache = ModelCache(self.model, self.cache.written)  # the model may have been edited since
        before = [(v, v.value) for v in self.cache.variables]
        if (stale := dual_suffix(self.model)) is not None:
            stale.clear()
        minimize = self.sign > 0
        self.trace = Trace(
            self.clock, minimize=minimize, tee=c.shows(TABLE), callback=c.callback, resolution=self.resolution
        )
        try:
            with interrupt.raising():
                stop, status = (self.stopped() or StopReason.TIME_LIMIT, None) if self.late else self.loop()
        except KeyboardInterrupt:
            stop, status = StopReason.INTERRUPTED, None
        except SolverFailure as failure:
            if self._kept is None:
                raise
            self.message = str(failure)
            stop, status = StopReason.SOLVER_ERROR, None
        finally:
            put_back(before)
        if self._offer_start():
            status = None
        if self._kept is None and status is None:
            self._offer_trivial()
        if self.bound is None and stop is not StopReason.CONVERGED and self._kept is not None:
            self.raise_bound(self._bound_at_hand())
        return stop, status

    def _result(self, stop: StopReason, status: SolutionStatus | None) -> Result:
        """Load the incumbent, and return the result with what is proven."""
        facts = facts_of(self.model)
        objective, error = self._load_incumbent(facts)
        if status is None and objective is not None and not self.late and not self.at_start:
            status = self.claim()
        status = self._checked_claim(status, objective, facts)
        outcome = self._verdict(objective, status, error)
        if self.assumed:
            outcome = self._without_assumption(outcome)
        if outcome.status is SolutionStatus.NO_SOLUTION:
            objective = None
        selects = None if facts is None or objective is None else facts.selected
        details = self.details | {"seconds": dict(self.seconds), "inside": self.inside()}
        if objective is not None:
            details["violation"] = error
        if self._kept is not None and getattr(self.config, "validation", None) is not None:
            details["validation_error"] = self._kept[0]
            details["best_objective"] = self._signed(self.best)  # to which the bound refers
        message = self._message(stop, status, outcome, objective)
        self.dropped.check(self.cache)
        return Result(
            status=outcome.status,
            stop_reason=stop,
            objective=self._signed(objective),
            bound=self._signed(outcome.bound),
            minimize=self.sign > 0,
            selected=None if selects is None else selects(self.model),
            iterations=self.trace.table(),
            seconds=self.clock.elapsed,
            solver=self.name,
            options=self.options,
            message=self.dropped.report(message, details),
            resolution=self.resolution,
            details=details,
        )

    def complete_point(self) -> None:
        """Set values that follow from those of the incumbent, after it is loaded."""

    def _load_incumbent(self, facts: Facts | None) -> tuple[float | None, float]:
        """Put the incumbent on the model, and return its objective and its violation; None and 0 if there is none."""
        self._load()
        if self._kept is None:
            return None, 0.0
        self.complete_point()
        if self.cache.written is not None:
            self.cache.written.bring_back()
        objective = self._kept[1]
        if put_on_bounds(self.cache.variables) and (facts is None or not facts.implicit):
            objective = self._objective_value()
        error = worst_violation(self.cache)
        self.resolution = resolution_of(self.cache)
        if self.certificate is not None and (error > ROUNDING or self._nearly_closed()):  # a point of a named solver
            self.certificate.repair_point(self.cache, has_point=True)
            objective, error = self._objective_value(), worst_violation(self.cache)
            self.best = objective if self.best is None else min(self.best, objective)
        return objective, max(error, facts_violation(self.model))

    def _nearly_closed(self) -> bool:
        """Return True if the objective and the bound differ from 0 by little more than rounding."""
        most, gap = 1e3 * self.resolution, self.config.gap
        return is_closed(self.best, self.bound, gap, most) and not self.closed(gap)

    @property
    def certificate(self) -> Certificate | None:
        """The proof from the data, if the builder of the model has one."""
        facts = facts_of(self.model)
        return None if facts is None else facts.certificate

    def bound_with_data(self, bound: float | None, duals: dict[Any, float]) -> float | None:
        """Return a bound, or the better bound that the certificate proves with multipliers of the model's rows."""
        if self.certificate is None:
            return bound
        proven = self.certificate.bound_with(self.cache, duals, self._signed(bound), minimize=self.sign > 0)
        return self._signed(proven)

    def _objective_value(self) -> float:
        """Return the objective, to be minimised, at the values of the model."""
        return self.sign * float(pyo.value(single_objective(self.cache)))

    def _checked_claim(
        self, status: SolutionStatus | None, objective: float | None, facts: Facts | None
    ) -> SolutionStatus | None:
        """Return the status after a check of the claims that the model is unbounded or infeasible."""
        if status is SolutionStatus.UNBOUNDED:
            reason = ""
            if objective is None or abs(objective) < INFINITE:
                status, reason = verified(self.model, self.clock.left)
            self.message = reason or self.message or ENDLESS
        if status is not SolutionStatus.INFEASIBLE or objective is not None or self.assumed:
            return status
        if (facts is None or not facts.implicit) and point_exists(self.cache, self.clock.left):
            self.bound, self.message = None, f"{REFUTED} Solve the model whole, or scale its columns."
            return SolutionStatus.NO_SOLUTION
        return status

    def _message(
        self, stop: StopReason, claim: SolutionStatus | None, outcome: Verdict, objective: float | None
    ) -> str:
        """Return the message of the result, without the facts that were not used."""
        message = outcome.message or self.message
        if objective is not None and outcome.status is not SolutionStatus.OPTIMAL:
            parts = [LIMITS.get(stop, ""), AT_START if self.at_start else "", message]
            message = " ".join(part for part in parts if part)
        if outcome.status is SolutionStatus.INFEASIBLE and not outcome.message:
            message = self.why_infeasible()
        if outcome.status is SolutionStatus.NO_SOLUTION and not message:
            message = "Stopped before the first incumbent: allow more time or iterations."
        unproven = stop is StopReason.CONVERGED and outcome.status is SolutionStatus.FEASIBLE and claim is None
        if unproven and not message and self._kept == (0.0, self.best):
            message = BELOW_TOLERANCES
        if objective is not None and dual_suffix(self.model) is not None:
            message = f"{message} No multipliers in model.dual: {self.name} does not solve the model as one problem."
            message = f"{message.strip()} Fix its choice and solve the whole model to get multipliers at that choice."
        if self._kept is not None and getattr(self.config, "validation", None) is not None:
            best = f"the best objective is {self._signed(self.best):.9g}"
            message = f"Chosen by the validation error among all incumbents; {best}. {message}".strip()
        return message

    def start_value(self) -> float | None:
        """Return the objective, to be minimised, at the values of the model; None if they are infeasible."""
        return feasible_value(self.cache)

    def _offer_start(self) -> bool:
        """Offer the point on the model before the run; return whether it is better than the incumbent.

        It is not offered if incumbents are chosen by another score, or if the gap is closed.
        """
        if self._kept is None or getattr(self.config, "validation", None) or self.closed(self.config.gap):
            return False
        score, objective = self._kept
        with kept(self.cache.variables):
            value = self.start_value()
            if value is None or value >= objective - TOLERANCE * abs(objective):
                return False
            self.offer(value, self.cache.variables, lambda: None, score)
        self.at_start = True
        self.record("start", value, cuts=0, support=None)
        return True

    def _offer_trivial(self) -> None:
        """Offer the trivial point of the builder if the run has found no point."""
        certificate = self.certificate
        if certificate is None or certificate.repair_point(self.cache, has_point=False) is None:
            return
        self.offer(self._objective_value(), self.cache.variables, lambda: None)
        self.record("trivial", self.best, cuts=0, support=None)
        self.raise_bound(self.bound_with_data(self.bound, {}))

    def _bound_at_hand(self) -> float | None:
        """Return a bound that needs no solve, or None."""
        return None if self.certificate is None else self._signed(self.certificate.at_hand(self.cache))

    def _verdict(self, objective: float | None, claim: SolutionStatus | None, error: float) -> Verdict:
        """Return the verdict on the incumbent."""
        bound = self.bound
        if self._contradiction is not None:
            objective_then, bound = self._contradiction
            objective = None if objective is None else min(objective, objective_then)
        c = self.config
        who = f'Driver "{self.name}"'
        return verdict(objective, bound, gap=c.gap, resolution=self.resolution, violation=error, claim=claim, who=who)

    def linear_clash(self) -> str:
        """Return a sentence with linear rows of the whole model that have no common solution, "" if none is found."""
        linear = [row for row in self.cache.rows if is_linear(row.body)]
        held = list({id(v): v for row in linear for v in variables(row.body)}.values())
        left = self.clock.left
        return clashing_rows(linear, held, time_limit=30.0 if left is None else min(30.0, left), otherwise="")

    def _without_assumption(self, outcome: Verdict) -> Verdict:
        """Return what is proven without the assumption of convexity: no bound, and infeasibility by linear rows."""
        names = f"if convex, as assumed: {', '.join(self.assumed)}."
        if outcome.status is SolutionStatus.INFEASIBLE:
            if reason := self.linear_clash():
                return Verdict(outcome.status, None, reason)
            return Verdict(SolutionStatus.NO_SOLUTION, None, f"Infeasible {names} Nothing is proven without that.")
        if outcome.bound is None:
            return outcome
        self.details["bound_if_convex"] = bound = self._signed(outcome.bound)
        status = SolutionStatus.FEASIBLE if outcome.status is SolutionStatus.OPTIMAL else outcome.status
        side = "below" if self.sign > 0 else "above"
        message = f"No objective is {side} {bound:.9g} {names} {outcome.message} {self.message}"
        return Verdict(status, None, " ".join(message.split()))

    def rounds(self, limit: float | None = None, done: Callable[[], int] | None = None) -> Iterator[int]:
        """Yield the numbers of the rounds of a loop, from 0, until the run must stop; ``stop`` is the reason.

        Before each round the callback, Ctrl-C, the time limit and the iteration limit are checked, in this order.
        ``limit``: by default the option ``iteration_limit``. ``done``: the count that it limits, by default the rounds.
        """
        limit, k, self.stop = self.config.iteration_limit if limit is None else limit, 0, StopReason.CONVERGED
        while (stop := self.stopped()) is None:
            if limit is not None and (k if done is None else done()) >= limit:
                stop = StopReason.ITERATION_LIMIT
                break
            yield k
            k += 1
        self.stop = stop

    def stopped(self) -> StopReason | None:
        """Return the reason to stop now, or None."""
        if self.trace.stopped_by_callback:
            return StopReason.CALLBACK
        if interrupt.pressed():
            return StopReason.INTERRUPTED
        return StopReason.TIME_LIMIT if self.clock.over else None
