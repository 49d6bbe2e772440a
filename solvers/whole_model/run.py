"""Run of a solver on a whole model: units, repair of the point, and proof of the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyomo.environ as pyo

from solvers import interrupt, progress
from solvers.clock import Clock
from solvers.drivers.benders.split import SplitModel
from solvers.drivers.unbounded import verified
from solvers.errors import ModelError, SolverError, SolverFailure
from solvers.facts.base import Facts, UnusedFacts, facts_violation, feasible_value, worst_violation
from solvers.facts.certificate import Certificate
from solvers.facts.change import Change, Changed
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, find
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.model.classes import has_integers, single_objective, used_variables, violation
from solvers.model.conflict import clashing_rows
from solvers.model.duals import Multipliers, is_constant, why_no_duals
from solvers.model.linear import hand_over
from solvers.model.rewriting import Visible
from solvers.model_cache import ModelCache, cached
from solvers.result import (
    ALMOST_INTEGER,
    AT_START,
    DEFAULT_GAP,
    FEASIBLE,
    HOPELESS,
    TOLERANCE,
    Result,
    SolutionStatus,
    StopReason,
)
from solvers.values import kept, plain_domains, put_back
from solvers.whole_model.fix_and_polish import CHOICES, PolishResult, always_on_cuts, excluding, polish
from solvers.whole_model.outcome import TRIVIAL_POINT, point_result
from solvers.whole_model.proof import EquivalentBound, bound_by_equivalent, without_unreliable_claims
from solvers.whole_model.units import change_of

SMALL = 0.1  # objective in the units of the solver for which the absolute tolerance 1e-6 is a tenth of the default gap
RESCALED = 3  # largest number of solves with a scaled objective
BEYOND = 10.0  # an objective above this multiple of the builder's bound on the optimum needs other units


@dataclass(frozen=True)
class WholeModelRun:
    """A model and one solver for it.

    - ``visible``: the model of the solver: that of the user, or a clone with other components written as rows.
    - ``needed``: the capabilities for the model; the solver has one of them.
    - ``split``: the decomposition of the model by the structure of its builder, if it has one.
    - ``multipliers``: the contents of the suffix ``dual`` of the user.
    - ``level``: the objective of an earlier solve with unsuitable units.
    - ``cuts``: rows that exclude choices of the integers.
    - ``equivalent``: the bound of the equivalent model; empty before it is computed.
    """

    cache: ModelCache
    spec: SolverSpec
    options: dict[str, Any]
    clock: Clock
    visible: Visible
    needed: list[C]
    facts: Facts | None
    split: SplitModel | None
    multipliers: Multipliers | None
    level: float | None = None
    cuts: list[PolishResult] = field(default_factory=list)
    equivalent: list[EquivalentBound] = field(default_factory=list)

    def solve(self, options: SolveOptions) -> tuple[Answer, str]:
        """Solve until there is a point that satisfies the rows with the chosen integers, and store it in the model.

        Return the answer, and the reason why the point may be inexact, or "".
        """
        cuts = self.cuts
        cuts[:] = always_on_cuts(self.split)
        while True:
            with excluding(self.visible, cuts):
                answer = self.run(options)
            if not answer.has_point:
                return answer, ""
            with interrupt.finishing():
                _round(self.visible.cache)
                self.visible.bring_back()
                polished = polish(self.cache, self.visible, self.split, self.spec, self.clock.extended())
            if polished.cut is None:
                return replace(answer, bound=None) if polished.failed else answer, polished.doubt
            if not polished.cut:  # there is no other choice
                return replace(answer, has_point=False, status=SolutionStatus.INFEASIBLE, bound=None, message=""), ""
            stopped = answer.stop_reason is not StopReason.CONVERGED or interrupt.pressed() or self.clock.over
            if stopped or len(cuts) >= CHOICES:
                message = "found no point that satisfies the rows for the tried choices of the integers"
                return replace(answer, has_point=False, status=SolutionStatus.NO_SOLUTION, message=message), ""
            cuts.append(polished)

    def solve_again(self, options: SolveOptions, before: list[tuple[Any, float | None]]) -> Result | None:
        """Solve once more; restore the values ``before`` and return None if the solver fails."""
        try:
            return self.result(*self.solve(options), before)
        except SolverFailure:
            put_back(before)
            return None

    def result(self, answer: Answer, doubt: str, before: list[tuple[Any, float | None]]) -> Result:
        """Return the result for an answer; restore the values ``before`` if it has no usable point.

        ``doubt``: the reason why the point may be inexact, or "".
        """
        with progress.doing("proving a bound"):
            proof = self._bound_by_equivalent()
        with interrupt.finishing():
            return self._result(answer, doubt, before, proof)

    def in_time(self, spec: SolverSpec) -> bool:
        """Return True if the model can be passed to a solver in the time that is left."""
        return self.clock.left is None or self.clock.left > hand_over(self.cache.model, spec.seconds_per_term)

    def too_small(self, result: Result) -> bool:
        """Return True if the objective is below the absolute tolerances of the solver and there is no other proof."""
        facts = self.facts
        if facts is None or self.spec.local or not result.minimize or not self.in_time(self.spec):
            return False
        if facts.equivalent is not None and result.status is SolutionStatus.OPTIMAL:
            return False
        if self._proving_rows() and facts.certificate is not None and facts.certificate.untouched(self.cache):
            return False  # the bound is that of the multipliers
        unit = 1.0 if facts.change is None else min(1.0, _most(facts.change))
        unit = unit if self.level is None else self.level
        return result.resolution < (result.objective or 0.0) < SMALL * unit and not interrupt.pressed()

    def too_large(self, result: Result) -> bool:
        """Return True if the objective is too large for the units of the change of variables.

        A builder may choose the units by the cost of w = 0, which a row of the user can exclude. The weights are then
        larger, and the coefficients in the new units can be so small that a solver drops them, which makes the model
        infeasible.
        """
        change = None if self.facts is None else self.facts.change
        if change is None or self.level is not None or self.spec.local or not result.minimize:
            return False
        if interrupt.pressed() or not self.in_time(self.spec) or _most(change) == math.inf:
            return False
        if result.objective is None:
            return result.status is SolutionStatus.INFEASIBLE
        return result.objective > BEYOND * _most(change)

    # ------------------------------------------------------------------------------------------------------- solving

    def run(self, options: SolveOptions) -> Answer:
        """Solve the model of the solver once, in the units of the change of variables."""
        visible, rows = self.visible, self._rows_with_duals()
        integer = any(s.cut for s in self.cuts) or has_integers(visible.cache)  # all cuts are on integers
        change = self._change()
        view = None if change is None else Changed(visible.model, change)
        runner, continuous = Runner(self.spec, options), bool(rows) or C.MILP not in self.spec.capabilities
        target, wanted = (visible.cache, rows) if view is None else (cached(view.model), view.rows_of(rows))
        with plain_domains(target.variables, continuous=continuous), progress.doing(f"{self.spec.name} runs"):
            answer = runner.solve(target, time_limit=self.clock.left, integer=integer, duals=wanted)
        answer = without_unreliable_claims(answer, self.spec, target, options, self.clock.left, self.may_grow)
        if answer.has_point and self._dual_solver is not None:
            answer = replace(answer, duals=self._duals_by_other(target, view))
        if not self.spec.in_table and C.LP not in self.needed:
            answer = runner.without_proof(answer)
        if view is None:
            return answer
        answer = view.loaded(answer, rows or self._proving_rows())
        # With a larger big-M the tolerance on integers allows any weight.
        return answer if view.steepest <= self.spec.max_big_m else replace(answer, bound=None)

    def _change(self) -> Change | None:
        change = change_of(self.visible.cache)  # the facts of a clone refer to its own variables
        if self.level is None:
            return change
        if change is not None and self.level > _most(change):  # its factors are for a smaller objective
            change = Change([], change.offset, change.centre)
        return replace(change or Change([]), most=self.level)

    # ---------------------------------------------------------------------------------------------------- multipliers

    def _rows_with_duals(self) -> list[Any]:
        """Return the rows whose multipliers the user requests or the proof of the bound needs."""
        wanted = {} if self.multipliers is None else {id(row): row for row in self.multipliers.rows}
        if not why_no_duals(self.spec, self.visible, self.needed):
            wanted |= {id(row): row for row in self._proving_rows()}
        return list(wanted.values())

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of the builder, or None."""
        return None if self.facts is None else self.facts.certificate

    @cached_property
    def _restricted(self) -> bool:
        """Whether edits have only added restrictions, so that the bound of the certificate is valid."""
        built = None if self.certificate is None else self.certificate.built
        return built is not None and built.restricted(self.cache)

    @property
    def may_grow(self) -> bool:
        """Whether rows are not linear, and edits or the lack of a certificate allow points of any size."""
        return not self._restricted and not {C.LP, C.MILP, C.QP, C.MIQP} & set(self.needed)

    def _proving_rows(self) -> list[Any]:
        """Return the rows whose multipliers prove the bound; none if an edit has invalidated the proof."""
        certificate = self.certificate
        if certificate is None or certificate.bound is None or not self._restricted:
            return []
        return [row for row in certificate.row_data() if row.active and not is_constant(row)]

    @cached_property
    def _dual_solver(self) -> SolverSpec | None:
        """The solver that computes the multipliers for the proof if the solver of this run returns none."""
        if not why_no_duals(self.spec, self.visible, self.needed) or not self._proving_rows():
            return None
        for spec in map(find, ("highs", "clarabel")):
            if any(n in spec.capabilities for n in self.needed) and not why_no_duals(spec, self.visible, self.needed):
                return spec
        return None

    def _duals_by_other(self, target: ModelCache, view: Changed | None) -> dict[Any, float]:
        """Return the multipliers of the rows by another solver; the values of the model do not change."""
        assert self._dual_solver is not None
        if not self.in_time(self._dual_solver):
            return {}
        rows = self._proving_rows() if view is None else view.rows_of(self._proving_rows())
        try:
            with kept(target.variables), plain_domains(target.variables, continuous=True):
                other = Runner(self._dual_solver, SolveOptions())
                return other.solve(target, time_limit=self.clock.left, duals=rows).duals
        except (ModelError, SolverError):
            return {}

    # --------------------------------------------------------------------------------------------------------- result

    def _bound_by_equivalent(self) -> EquivalentBound | None:
        """Return the bound of the equivalent model in the time that is left; None if there is no such model."""
        facts = self.facts
        if facts is None or facts.equivalent is None or facts.certificate is None:
            return None
        if self.spec.local:  # it reports no optimum
            return EquivalentBound(None, "")
        if not self.equivalent:
            gap, limit = self.options.get("gap", DEFAULT_GAP), self.options.get("time_limit")
            in_time = not self.clock.over and not interrupt.pressed()
            found = bound_by_equivalent(self.cache.model, facts, gap=0.5 * gap, time_limit=limit, in_time=in_time)
            self.equivalent.append(found)
        return self.equivalent[0]

    def _result(
        self, answer: Answer, doubt: str, before: list[tuple[Any, float | None]], proof: EquivalentBound | None
    ) -> Result:
        error, answer = self._violation(answer)
        trivial = False
        if error is None:
            put_back(before)
            error = self._trivial(answer)
            trivial = error is not None
        at_start = error is not None and self._start_is_better(before)
        if at_start:
            error, trivial = worst_violation(self.cache), False
            claim = SolutionStatus.FEASIBLE if answer.status is SolutionStatus.STATIONARY else answer.status
            answer = replace(answer, status=claim)
        if error is not None:
            error = max(error, facts_violation(self.cache.model))
        answer = self._with_bound(replace(answer, has_point=error is not None), proof)
        result = self._result_without_point(answer) if error is None else self._result_at_point(answer, doubt, error)
        self._report_unused_facts(result)
        if trivial:
            result.message = f"{result.message} {TRIVIAL_POINT}".strip()
        if at_start:
            result.message = f"{AT_START} {result.message}".strip()
        unproven = answer.status is SolutionStatus.OPTIMAL and result.status is SolutionStatus.FEASIBLE
        if proof is not None and proof.reason and unproven and not trivial:
            result.message = f"{self.spec.name} reports optimal, {proof.reason}"
        if self.multipliers is not None and not at_start:
            self.multipliers.fill(answer, result)
        return result

    def _violation(self, answer: Answer) -> tuple[float | None, Answer]:
        """Repair the point of the solver and return its violation; None, and the answer without it, if too large."""
        if not answer.has_point:
            return None, answer
        if self.certificate is not None:
            error = self.certificate.repair_point(self.cache, has_point=True)
        else:
            error = max(worst_violation(self.cache), violation(self.visible.cache) if self.visible.pairs else 0.0)
        if error is None or error <= HOPELESS:
            return error, answer
        message = f"its point violates the rows by {error:.1e} and is not kept"
        return None, replace(answer, has_point=False, status=SolutionStatus.NO_SOLUTION, bound=None, message=message)

    def _trivial(self, answer: Answer) -> float | None:
        """Set the trivial point of the builder and return its violation; None if there is none."""
        if self.certificate is None:
            return None
        if answer.status is SolutionStatus.UNBOUNDED and self.certificate.at_hand(self.cache) is None:
            return None  # an edited model may be unbounded
        return self.certificate.repair_point(self.cache, has_point=False)

    def _start_is_better(self, before: list[tuple[Any, float | None]]) -> bool:
        """Restore the values before the solve, and return True, if they are a better point than the present values."""
        objective, after = single_objective(self.cache), [(v, v.value) for v, _ in before]
        sign = 1.0 if objective.sense == pyo.minimize else -1.0
        least = sign * float(pyo.value(objective))
        put_back(before)
        value = feasible_value(self.cache)
        if value is not None and value < least - TOLERANCE * abs(least):
            return True
        put_back(after)
        return False

    def _with_bound(self, answer: Answer, proof: EquivalentBound | None) -> Answer:
        """Return the answer with the bound that is proven from the data, if the model has a certificate."""
        certificate = self.certificate
        if certificate is None:
            return answer
        if proof is None:
            minimize = single_objective(self.cache).sense == pyo.minimize
            bound = certificate.bound_with(self.cache, answer.duals, answer.bound, minimize=minimize)
        else:
            bound = proof.bound
        if bound is None and answer.stop_reason is not StopReason.CONVERGED:
            bound = certificate.at_hand(self.cache)
        refuted = answer.has_point and answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)
        return replace(answer, bound=bound, status=SolutionStatus.FEASIBLE if refuted else answer.status)

    def _result_at_point(self, answer: Answer, doubt: str, error: float) -> Result:
        no_bound = answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)
        result = point_result(
            self.cache,
            claim=answer.status,
            stop=answer.stop_reason,
            bound=None if no_bound else answer.bound,
            violation=error,
            solver=self.spec.name,
            options=self.options,
            doubt=doubt,
        )
        if not result.message:
            optimal = result.status is SolutionStatus.OPTIMAL
            shown = replace(answer, status=result.status) if optimal else answer
            result.message = _sentence(self.spec, shown, result.gap)
        return result

    def _result_without_point(self, answer: Answer) -> Result:
        if answer.status is SolutionStatus.UNBOUNDED or answer.undecided:
            status, message = verified(self.visible.cache, self.clock.left)
            if not answer.undecided or status is not SolutionStatus.NO_SOLUTION:
                answer = replace(answer, status=status, message=message)
        minimize = single_objective(self.cache).sense == pyo.minimize
        no_bound = answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)
        if answer.status is SolutionStatus.INFEASIBLE and self.split is not None:
            message = clashing_rows(self.split.master_rows, self.split.master_variables)
        else:
            message = _sentence(self.spec, answer, None)
        return Result(
            answer.status,
            answer.stop_reason,
            bound=None if no_bound else answer.bound,
            minimize=minimize,
            seconds=self.clock.elapsed,
            solver=self.spec.name,
            options=self.options,
            message=message,
        )

    def _report_unused_facts(self, result: Result) -> None:
        """Add to the message which facts of the builder were not used because of edits."""
        unused, split = UnusedFacts(), self.split
        unused.check(self.cache)
        if split is not None and split.structure.oracle is not None and split.structure.built is not None:
            unused.add("the builder's oracle", [*split.edits, *split.mixed], quiet=True)
        result.message = unused.report(result.message, result.details)


def _most(change: Change) -> float:
    return float(pyo.value(change.most))


def _round(model: ModelCache) -> None:
    """Round integers, which solvers return within 1e-5, unless that increases the violation of the rows."""
    integers = {id(v): v for v in used_variables(model) if not v.is_continuous() and not v.fixed}
    off = [(v, v.value) for v in integers.values() if 0 < abs(v.value - round(v.value)) < ALMOST_INTEGER]
    if off:
        error = worst_violation(model)
        for v, x in off:
            v.set_value(round(x), skip_validation=True)
        if worst_violation(model) > max(error, FEASIBLE):
            put_back(off)


_STOPPED = {
    StopReason.TIME_LIMIT: "stopped at the time limit",
    StopReason.ITERATION_LIMIT: "stopped at an iteration limit",
    StopReason.INTERRUPTED: "was interrupted",
}
_CONVERGED = {
    SolutionStatus.OPTIMAL: "",
    SolutionStatus.STATIONARY: "found a stationary point, which proves nothing about other points",
    SolutionStatus.INFEASIBLE: "proves that no point satisfies the model",
    SolutionStatus.UNBOUNDED: "reports an unbounded objective: a bound or a row is missing",
}


def _sentence(spec: SolverSpec, answer: Answer, gap: float | None) -> str:
    """Return the outcome in a sentence."""
    if answer.stop_reason in _STOPPED:
        proven = "" if gap is None else f", with a gap of {gap:.1%}"
        nothing = "" if answer.has_point else f", without a point ({answer.message})"
        return f"{spec.name} {_STOPPED[answer.stop_reason]}{proven}{nothing}."
    if answer.stop_reason is StopReason.SOLVER_ERROR:
        return f"{spec.name} failed: {answer.message}."
    text = (answer.message if answer.undecided else "") or _CONVERGED.get(answer.status, answer.message)
    if text.endswith("."):  # a whole sentence
        return text
    return f"{spec.name} {text}." if text else ""
