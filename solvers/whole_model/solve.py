"""One solver on a whole model: which one, what it sees, and what is proven of its answer."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from solvers import interrupt, progress
from solvers.clock import Clock
from solvers.drivers.benders.split import SplitModel, adapted, split
from solvers.drivers.catalogue import DRIVERS
from solvers.drivers.unbounded import may_fall, verified
from solvers.errors import ModelError, OptionError, SolverError, SolverFailure
from solvers.facts.base import Dropped, Facts, facts_of, feasible_value, resolution_of, told_violation, worst_violation
from solvers.facts.certificate import Certificate
from solvers.facts.change import Change, Changed
from solvers.facts.structure import Structure
from solvers.interfaces.registry import (
    COMMON,
    SOLVERS,
    SolverSpec,
    default_solver,
    find,
    names,
    refuse_unpassed,
)
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Answer, Runner, SolveOptions
from solvers.interfaces.spec import describe
from solvers.model.classes import has_integers, needs, single_objective, used_variables, violation
from solvers.model.conflict import clashing_rows
from solvers.model.duals import Multipliers, dual_suffix, is_constant, why_no_duals
from solvers.model.finite import has_poles
from solvers.model.linear import hand_over
from solvers.model.rewriting import Visible, unseen, visible
from solvers.options import check_limits
from solvers.reading import ModelReading, read
from solvers.result import (
    AT_START,
    DEFAULT_GAP,
    FEASIBLE,
    HOPELESS,
    TOLERANCE,
    Result,
    SolutionStatus,
    StopReason,
    verdict,
)
from solvers.values import kept, plain_domains, put_back
from solvers.whole_model.equivalent_proof import Proof, prove
from solvers.whole_model.fix_and_polish import CHOICES, Settled, cut_off, never_off, settle
from solvers.whole_model.ordered_products import products_as_sets
from solvers.whole_model.units import change_of

ALMOST_INTEGER = 1e-4
SMALL = 0.1  # an objective, as a solver sees it, of which its absolute tolerance of 1e-6 is a tenth of the usual gap
SHARPER = 3  # times that it is multiplied
BEYOND = 10.0  # how often the objective may be the builder's upper bound on the optimum before its units are replaced
CONVEX = C.QP | C.QCP


def solve_by_class(model: Any, options: dict[str, Any]) -> Result:
    """Solve with the default solver of the model's class.

    Whether a quadratic model is convex only Clarabel finds out, by its factors, before it solves: what it refuses goes
    to SCIP, which is slower and needs no convexity.
    """
    reading = read(model)
    hidden = unseen(reading)
    if hidden:
        return solve_whole(reading, default_solver([C.NLP if hidden == ["Complementarity"] else C.SOS]), options)
    needed = needs(reading)
    spec = default_solver(needed)
    try:
        return solve_whole(reading, spec, options)
    except ModelError as refusal:
        if not any(n & CONVEX for n in needed):
            raise
        result = solve_whole(reading, default_solver([C.NONCONVEX]), options)
        result.message = f"{result.message} Not by {spec.name}: {refusal}".strip()
        return result


@dataclass(frozen=True)
class _Whole:
    """A model on its way through one solver: what was asked, what the solver sees, and how the model is structured."""

    reading: ModelReading
    spec: SolverSpec
    options: dict[str, Any]
    clock: Clock
    seen: Visible
    needed: list[C]
    structure: Facts | None
    parts: SplitModel | None
    multipliers: Multipliers | None  # that the user wants
    most: float | None = None  # the objective of an earlier solve, if its units did not fit
    cuts: list[Settled] = field(default_factory=list)  # that the solver sees as rows
    proofs: list[Proof] = field(default_factory=list)  # what the equivalent model proves, once it has been asked

    @property
    def model(self) -> Any:
        """The user's."""
        return self.reading.model

    def run(self, words: SolveOptions) -> Answer:
        """Solve what the solver sees, which may have rows for cuts, all on integers."""
        model, integer = self.seen.model, any(s.cut for s in self.cuts) or has_integers(self.seen.reading)
        rows = self._asked()
        change = change_of(self.seen.reading)  # a clone's facts hold its own variables
        if self.most is not None:
            if change is not None and self.most > _most(change):  # its factors assume a smaller objective
                change = Change([], change.offset, change.centre)
            change = replace(change or Change([]), most=self.most)
        view = None if change is None else Changed(model, change)
        runner, continuous = Runner(self.spec, words), bool(rows) or C.MILP not in self.spec.capabilities
        target, asked = (self.seen.reading, rows) if view is None else (read(view.model), view.rows_of(rows))
        with plain_domains(target.variables, continuous=continuous), progress.doing(f"{self.spec.name} runs"):
            answer = runner.solve(target, time_limit=self.clock.left, integer=integer, duals=asked)
        answer = self._doubted(answer, target, words)
        if answer.has_point and self._helper is not None:
            answer = replace(answer, duals=self._from_helper(target, view))
        if not self.spec.in_table and C.LP not in self.needed:
            answer = runner.without_proof(answer)
        if view is None:
            return answer
        if answer.has_point:
            view.bring_back()
        bound = view.bound_of(answer.bound)
        if view.steepest > self.spec.max_big_m:  # its tolerances on integers let any weight pass
            bound = None
        return replace(answer, bound=bound, duals=view.duals_of(rows or self._proving(), answer.duals))

    def _doubted(self, answer: Answer, target: ModelReading, words: SolveOptions) -> Answer:
        """Return the answer without claims on which the solver was found wrong."""
        if answer.bound is None and answer.status is not SolutionStatus.INFEASIBLE:
            return answer  # no claim
        poles = not self.spec.proves_at_poles and has_poles(target)
        has_sets = bool(target.stated(pyo.SOSConstraint))
        sets = has_sets and not self.spec.proves_with_sets
        flat = has_sets and self.spec.least_curvature > 0 and _least_curvature(target) < self.spec.least_curvature
        if answer.bound is not None and not self.spec.retry_options.keys() <= words.own.keys():
            flat |= self.spec.least_coefficient > 0 and _least_coefficient(target) < self.spec.least_coefficient
        if not (poles or flat or (sets and may_fall(target, self.clock.left))):
            return answer
        if answer.status is SolutionStatus.INFEASIBLE:
            message = "reports that no point satisfies the model, which was not confirmed"
            return replace(answer, status=SolutionStatus.NO_SOLUTION, message=message, undecided=sets)
        return replace(answer, bound=None)

    def in_time(self, spec: SolverSpec) -> bool:
        """Return whether a solver could be handed the model in what is left of the time."""
        return self.clock.left is None or self.clock.left > hand_over(self.model, spec.seconds_per_term)

    def _asked(self) -> list[Any]:
        """Return the rows whose multipliers are wanted: by the user, and for a proof of the bound."""
        wanted = {} if self.multipliers is None else {id(row): row for row in self.multipliers.rows}
        if not why_no_duals(self.spec, self.seen, self.needed):
            wanted |= {id(row): row for row in self._proving()}
        return list(wanted.values())

    @cached_property
    def _as_built(self) -> bool:
        """Whether the certificate proves a bound of the model as it is."""
        built = None if self.certificate is None else self.certificate.built
        return built is not None and built.restricted(self.reading)

    def _proving(self) -> list[Any]:
        """Return the rows whose multipliers prove the bound; none where an edit has made the proof void."""
        certificate = self.certificate
        if certificate is None or certificate.bound is None or not self._as_built:
            return []
        return [row for row in certificate.row_data() if row.active and not is_constant(row)]

    @cached_property
    def _helper(self) -> SolverSpec | None:
        """Who gives the multipliers that prove the bound where the solver has none to give."""
        if not why_no_duals(self.spec, self.seen, self.needed) or not self._proving():
            return None
        for spec in map(find, ("highs", "clarabel")):
            if any(n in spec.capabilities for n in self.needed) and not why_no_duals(spec, self.seen, self.needed):
                return spec
        return None

    def _from_helper(self, target: ModelReading, view: Changed | None) -> dict[Any, float]:
        """Return multipliers by the helper, in the rows of what was solved; values stay the solver's."""
        assert self._helper is not None
        if not self.in_time(self._helper):
            return {}
        rows = self._proving() if view is None else view.rows_of(self._proving())
        try:
            with kept(target.variables), plain_domains(target.variables, continuous=True):
                helped = Runner(self._helper, SolveOptions()).solve(target, time_limit=self.clock.left, duals=rows)
        except (ModelError, SolverError):
            return {}
        return helped.duals

    @property
    def certificate(self) -> Certificate | None:
        """How the data prove an answer, where the model says so."""
        return None if self.structure is None else self.structure.certificate

    def too_small(self, result: Result) -> bool:
        """Return whether an objective by the solver's word was below its tolerances, which are absolute."""
        if (
            self.structure is not None
            and self.structure.equivalent is not None
            and result.status is SolutionStatus.OPTIMAL
        ):
            return False  # by the equivalent model's
        if not self.in_time(self.spec) or self.structure is None:
            return False
        if self._proving() and self.certificate.untouched(self.reading):  # type: ignore[union-attr]
            return False  # the bound is that of the multipliers alone
        if self.spec.local or not result.minimize:
            return False
        change = self.structure.change
        unit = 1.0 if change is None else min(1.0, _most(change))
        unit = unit if self.most is None else self.most
        return result.resolution < (result.objective or 0.0) < SMALL * unit and not interrupt.pressed()

    def too_large(self, result: Result) -> bool:
        """Return whether the objective is larger than the units of the view assume.

        A builder may choose them by the cost of w = 0. A user's row can exclude w = 0. The weights are then larger, and
        the coefficients of the view can be so small that a solver drops them, and with them every feasible point.
        """
        change = None if self.structure is None else self.structure.change
        if change is None or self.most is not None or self.spec.local or not result.minimize:
            return False
        if interrupt.pressed() or not self.in_time(self.spec) or _most(change) == math.inf:
            return False
        if result.objective is None:
            return result.status is SolutionStatus.INFEASIBLE
        return result.objective > BEYOND * _most(change)

    def decided(self, words: SolveOptions) -> tuple[Answer, str]:
        """Solve until what is chosen has a point that satisfies the rows, and leave it on the user's model.

        Returns with the answer why the point may be inexact, "" where it is exact.
        """
        cuts = self.cuts
        cuts[:] = never_off(self.parts)
        while True:
            with cut_off(self.seen, cuts):
                answer = self.run(words)
            if not answer.has_point:
                return answer, ""
            with interrupt.finishing():
                _round(self.seen.reading)
                self.seen.bring_back()
                settled = settle(self.reading, self.seen, self.parts, self.spec, self.clock)
            if settled.cut is None:
                return replace(answer, bound=None) if settled.failed else answer, settled.doubt
            if not settled.cut:  # no other choice is left
                return replace(answer, has_point=False, status=SolutionStatus.INFEASIBLE, bound=None, message=""), ""
            stopped = answer.stop_reason is not StopReason.CONVERGED or interrupt.pressed() or self.clock.over
            if stopped or len(cuts) >= CHOICES:
                said = "no point satisfies the rows at any choice that it came to"
                return replace(answer, has_point=False, status=SolutionStatus.NO_SOLUTION, message=said), ""
            cuts.append(settled)

    def again(self, words: SolveOptions, first: list[tuple[Any, float | None]]) -> Result | None:
        """Solve once more; None where the solver fails, which takes no answer away that is there: ``first``."""
        try:
            return self.judged(*self.decided(words), first)
        except SolverFailure:
            put_back(first)
            return None

    def judged(self, answer: Answer, doubt: str, before: list[tuple[Any, float | None]]) -> Result:
        """Say what is proven of the values on the user's model; restore ``before`` where they are worth nothing."""
        with progress.doing("proving a bound"):
            proof = self._by_twin()
        with interrupt.finishing():
            return self._weighed(answer, doubt, before, proof)

    def _by_twin(self) -> Proof | None:
        """Return what the equivalent model proves, within what is left of the time; None where a word has to do."""
        facts = self.structure
        if facts is None or facts.equivalent is None or facts.certificate is None:
            return None
        if self.spec.local:  # which claims nothing
            return Proof(None, "")
        if not self.proofs:
            gap, limit = self.options.get("gap", DEFAULT_GAP), self.options.get("time_limit")
            in_time = not self.clock.over and not interrupt.pressed()
            self.proofs.append(prove(self.model, facts, gap=0.5 * gap, time_limit=limit, in_time=in_time))
        return self.proofs[0]

    def _weighed(
        self, answer: Answer, doubt: str, before: list[tuple[Any, float | None]], proof: Proof | None
    ) -> Result:
        error, trivial = None, False
        certificate = self.certificate
        if answer.has_point:
            if certificate is not None:
                error = certificate.settle(self.reading, has_point=True)
            else:
                error = max(worst_violation(self.reading), violation(self.seen.reading) if self.seen.pairs else 0.0)
            if error is not None and error > HOPELESS:
                words = f"its point misses the model's rows by {error:.1e} and is not kept"
                answer = replace(answer, has_point=False, status=SolutionStatus.NO_SOLUTION, bound=None, message=words)
                error = None
        if error is None:
            put_back(before)
            endless = answer.status is SolutionStatus.UNBOUNDED  # which an edited model may be
            if certificate is not None and not (endless and certificate.at_hand(self.reading) is None):
                error = certificate.settle(self.reading, has_point=False)
                trivial = error is not None
        at_start = error is not None and self._start_is_better(before)
        if at_start:
            error, trivial = worst_violation(self.reading), False
            claim = SolutionStatus.FEASIBLE if answer.status is SolutionStatus.STATIONARY else answer.status
            answer = replace(answer, status=claim)
        if error is not None:
            error = max(error, told_violation(self.model))
        if certificate is not None:
            minimize = single_objective(self.reading).sense == pyo.minimize
            bound = None if proof is None else proof.bound
            if proof is None:
                bound = certificate.bound_with(self.reading, answer.duals, answer.bound, minimize=minimize)
            if bound is None and answer.stop_reason is not StopReason.CONVERGED:
                bound = certificate.at_hand(self.reading)
            impossible = error is not None and answer.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED)
            answer = replace(answer, bound=bound, status=SolutionStatus.FEASIBLE if impossible else answer.status)
        result = _judged(self, replace(answer, has_point=error is not None), error, doubt)
        if trivial:
            result.message = (
                f"{result.message} The point is not {self.spec.name}'s, but the model's trivial one.".strip()
            )
        if at_start:
            result.message = f"{AT_START} {result.message}".strip()
        unproven = answer.status is SolutionStatus.OPTIMAL and result.status is SolutionStatus.FEASIBLE
        if proof is not None and proof.lacks and unproven and not trivial:
            result.message = f"{self.spec.name} says optimal, {proof.lacks}"
        if self.multipliers is not None and not at_start:
            self.multipliers.fill(answer, result)
        return result

    def _start_is_better(self, before: list[tuple[Any, float | None]]) -> bool:
        """Put the values before the solve back if they are a better point than those on the model."""
        objective, after = single_objective(self.reading), [(v, v.value) for v, _ in before]
        sign = 1.0 if objective.sense == pyo.minimize else -1.0
        least = sign * float(pyo.value(objective))
        put_back(before)
        value = feasible_value(self.reading)
        if value is not None and value < least - TOLERANCE * abs(least):
            return True
        put_back(after)
        return False


def _most(change: Change) -> float:
    return float(pyo.value(change.most))


def solve_whole(model: Any, spec: SolverSpec, options: dict[str, Any]) -> Result:
    """Solve the monolith with one Pyomo solver; fills the model's import suffix ``dual``, where it has one."""
    reading = read(model)
    model = reading.model
    if (stale := dual_suffix(model)) is not None:
        stale.clear()
    clock = Clock.of_run(options.get("time_limit"))
    structure = facts_of(model)
    parts = None
    single_objective(reading)
    if structure is not None:
        structure.check_stated(f'solver="{spec.name}" takes whole models')
    if isinstance(structure, Structure):
        parts, _ = adapted(split(reading, structure))
        parts.check_facts()  # refuses a big-M that no longer holds
    words = _words(spec, options, polished=parts is not None)
    before = [(v, v.value) for v in reading.variables]
    unseen_yet = _Whole(reading, spec, options, clock, Visible.of(reading), [], structure, parts, None)
    if not unseen_yet.in_time(spec):  # and nothing of the size of the model
        late = Answer(StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION, False, None, "no time left")
        return unseen_yet.judged(late, "", before)
    change = None if structure is None else structure.change
    seen = visible(reading, spec, {id(v): f for v, f in change.factors} if change is not None else None)
    needed = needs(seen.reading)
    if needed in ([C.QP], [C.MIQP]) and not seen.pairs and C.SOS in spec.capabilities:
        seen = products_as_sets(reading) or seen
        needed = needs(seen.reading)
    refuse_unpassed(spec, options)
    multipliers = Multipliers.wanted(reading, spec, seen, needed)
    whole = _Whole(reading, spec, options, clock, seen, needed, structure, parts, multipliers)
    if not any(n in spec.capabilities for n in needed):
        raise _cannot(spec, seen, needed, "" if structure is None else structure.default_solver)
    if all(v.fixed for v in used_variables(seen.reading)):
        return whole.judged(_constant(seen.reading), "", before)
    _start(seen.reading)
    try:
        answer, doubt = whole.decided(words)
    except ModelError as refusal:
        raise _refused(spec, needed, refusal) from refusal
    result = whole.judged(answer, doubt, before)
    for _ in range(SHARPER):
        if not (whole.too_small(result) or whole.too_large(result)):
            break
        least = math.inf if result.objective is None else result.objective
        first, whole = [(v, v.value) for v in reading.variables], replace(whole, most=least)
        sharper = whole.again(words, first)
        if sharper is None or sharper.objective is None or sharper.objective > least:
            put_back(first)
            bound = None if sharper is None else sharper.bound
            if bound is not None and result.bound is not None and bound < result.bound:  # proven to finer tolerances
                result = whole.judged(replace(answer, bound=bound), doubt, first)
            break
        result = sharper
    unproven = answer.status is SolutionStatus.OPTIMAL and result.status is SolutionStatus.FEASIBLE
    over = not whole.in_time(spec) or interrupt.pressed()
    if unproven and spec.retry_options and not over and not set(spec.retry_options) & set(words.own):
        first = [(v, v.value) for v in reading.variables]
        second = whole.again(replace(words, own={**words.own, **spec.retry_options}), first)
        if second is not None and second.gap is not None and (result.gap is None or second.gap < result.gap):
            return second
        put_back(first)
    return result


def _cannot(spec: SolverSpec, seen: Visible, needed: list[C], own: str) -> SolverError:
    able = sorted({name for n in needed for name in names(n)} - {own})
    if own in DRIVERS and not set(seen.written) - {"Disjunction"}:  # which a builder's own driver takes
        able.insert(0, f"{own} (the model's own driver)")
    elif own and own in SOLVERS and any(n in SOLVERS[own].capabilities for n in needed):
        able.insert(0, own)
    written = f", once its {' and '.join(seen.written)} is written as rows" if seen.written else ""
    return SolverError(
        f'Solver "{spec.name}" cannot solve this model, which needs {describe(needed[0])}{written}. '
        f"Installed solvers that can: {', '.join(able) or 'none'}."
    )


def _refused(spec: SolverSpec, needed: list[C], error: ModelError) -> ModelError:
    """Add to a convex solver's refusal who needs no convexity."""
    if not any(n & CONVEX for n in needed):
        return error
    anywhere, local = names(C.NONCONVEX), [n for n in names(C.NLP) if SOLVERS[n].local]
    return ModelError(
        f"{error} Installed solvers that need no convexity: {', '.join(anywhere) or 'none'} (global); "
        f"{', '.join(local) or 'none'} (a local optimum)."
    )


def _least_curvature(model: ModelReading) -> float:
    """Return the smallest ratio of two curvatures of the objective, 1 without any.

    The curvature along v is the coefficient of v^2 over the square of the largest coefficient of v in a row, so that
    it does not depend on the unit of v.
    """
    objective = generate_standard_repn(model.objectives[0].expr, compute_values=True, quadratic=True)
    products = zip(objective.quadratic_coefs, objective.quadratic_vars, strict=True)
    square = {id(v): abs(c) for c, (v, w) in products if v is w and c}
    largest: dict[int, float] = {}
    for row in model.rows:
        repn = generate_standard_repn(row.body, compute_values=True, quadratic=False)
        for c, v in zip(repn.linear_coefs, repn.linear_vars, strict=True):
            largest[id(v)] = max(largest.get(id(v), 0.0), abs(c))
    found = [c / largest[v] ** 2 for v, c in square.items() if largest.get(v)]
    return min(found) / max(found) if found else 1.0


def _least_coefficient(model: ModelReading) -> float:
    """Return the smallest ratio of two coefficients of the objective, 1 without any."""
    repn = generate_standard_repn(model.objectives[0].expr, compute_values=True, quadratic=True)
    found = [abs(c) for c in (*repn.linear_coefs, *repn.quadratic_coefs) if c]
    return min(found) / max(found) if found else 1.0


def _constant(model: ModelReading) -> Answer:
    """Answer without a solver where nothing is left to decide: some of them fail on such a model."""
    if violation(model) > FEASIBLE:
        return Answer(StopReason.CONVERGED, SolutionStatus.INFEASIBLE, False, None, "every variable is fixed")
    value = float(pyo.value(single_objective(model)))
    return Answer(StopReason.CONVERGED, SolutionStatus.OPTIMAL, True, value, "")


def _start(model: ModelReading) -> None:
    """Put variables without a value, or out of bounds, within their bounds.

    An interface drops a variable whose coefficients are all 0, and leaves it as it is; where it has no value some of
    them fail. Any value within the bounds will do.
    """
    off = {id(v): v for v in model.variables if _off(v)}
    for v in used_variables(model) if off else ():
        if off.pop(id(v), None) is not None:
            lower, upper = v.bounds
            whole = math.ceil if not v.is_continuous() else float
            least = -math.inf if lower is None else whole(lower)
            v.set_value(min(max(v.value or 0.0, least), math.inf if upper is None else upper), skip_validation=True)
            if not off:
                break


def _off(v: Any) -> bool:
    if v.fixed:
        return False
    lower, upper = v.bounds
    return v.value is None or (lower is not None and v.value < lower) or (upper is not None and v.value > upper)


def _round(model: ModelReading) -> None:
    """Round integers, which come back within 1e-5 of one, where the rounded point satisfies the rows as well."""
    held = {id(v): v for v in used_variables(model) if not v.is_continuous() and not v.fixed}
    off = [(v, v.value) for v in held.values() if 0 < abs(v.value - round(v.value)) < ALMOST_INTEGER]
    if off:
        error = worst_violation(model)
        for v, x in off:
            v.set_value(round(x), skip_validation=True)
        if worst_violation(model) > max(error, FEASIBLE):
            put_back(off)


def _judged(whole: _Whole, answer: Answer, error: float | None, doubt: str) -> Result:
    """Recompute the objective from the model and say what is proven of it."""
    model, spec, options, structure = whole.reading, whole.spec, whole.options, whole.structure
    minimize = single_objective(model).sense == pyo.minimize
    if error is None and (answer.status is SolutionStatus.UNBOUNDED or answer.undecided):
        status, words = verified(whole.seen.reading, whole.clock.left)
        if not answer.undecided or status is not SolutionStatus.NO_SOLUTION:
            answer = replace(answer, status=status, message=words)
    result = Result(answer.status, answer.stop_reason, minimize=minimize, solver=spec.name, options=options)
    result.bound = answer.bound if answer.status not in (SolutionStatus.INFEASIBLE, SolutionStatus.UNBOUNDED) else None
    if error is not None:
        result.objective = float(pyo.value(single_objective(model)))
        result.details["violation"] = error
        result.resolution = resolution_of(model)
        judged = verdict(
            result.objective,
            result.bound,
            minimize=minimize,
            gap=options.get("gap", DEFAULT_GAP),
            resolution=result.resolution,
            violation=error,
            doubt=doubt,
            claim=answer.status,
            who=spec.name,
        )
        result.status, result.bound = judged.status, judged.bound
        told = replace(answer, status=judged.status) if judged.status is SolutionStatus.OPTIMAL else answer
        result.message = judged.message or _sentence(spec, told, result.gap)
        if structure is not None and structure.selected is not None:
            result.selected = structure.selected(model.model)
    elif result.status is SolutionStatus.INFEASIBLE and whole.parts is not None:
        result.message = clashing_rows(
            whole.parts.master_rows, whole.parts.master_variables, Runner(find("highs"), SolveOptions())
        )
    else:
        result.message = _sentence(spec, answer, None)
    dropped = Dropped()
    dropped.look_at(model)
    if whole.parts is not None and whole.parts.structure.oracle is not None and whole.parts.structure.built is not None:
        dropped.add("the builder's oracle", [*whole.parts.edits, *whole.parts.mixed], quiet=True)
    result.message = dropped.tell(result.message, result.details)
    result.seconds = whole.clock.elapsed
    return result


_STOPPED = {
    StopReason.TIME_LIMIT: "stopped at the time limit",
    StopReason.ITERATION_LIMIT: "stopped at an iteration limit",
    StopReason.INTERRUPTED: "was interrupted",
}
_CONVERGED = {
    SolutionStatus.OPTIMAL: "",
    SolutionStatus.STATIONARY: "found a stationary point, and proves nothing about better ones elsewhere",
    SolutionStatus.INFEASIBLE: "proves that no point satisfies the model",
    SolutionStatus.UNBOUNDED: "finds no end to the objective: a bound or a row is missing",
}


def _sentence(spec: SolverSpec, answer: Answer, gap: float | None) -> str:
    """Say in a sentence what came out."""
    if answer.stop_reason in _STOPPED:
        proven = "" if gap is None else f", with an objective proven within {gap:.1%}"
        nothing = "" if answer.has_point else f", without a point ({answer.message})"
        return f"{spec.name} {_STOPPED[answer.stop_reason]}{proven}{nothing}."
    if answer.stop_reason is StopReason.SOLVER_ERROR:
        return f"{spec.name} failed: {answer.message}."
    verified_elsewhere = answer.message if answer.undecided else ""
    said = verified_elsewhere or _CONVERGED.get(answer.status, answer.message)
    if said.endswith("."):  # a sentence of its own
        return said
    return f"{spec.name} {said}." if said else ""


def _words(spec: SolverSpec, options: dict[str, Any], *, polished: bool) -> SolveOptions:
    """Sort the common words from the solver's own options."""
    check_limits(options)
    if not isinstance(options.get("tee", False), bool | np.bool_):
        raise OptionError(
            f"tee={options['tee']!r} is not allowed: {spec.name} solves the model whole, with no other solver inside. "
            "Give True or False."
        )
    drivers_own = {f.name for driver in DRIVERS.values() for f in dataclasses.fields(driver.options_type)}
    own = {k: v for k, v in options.items() if k not in COMMON}
    if "iteration_limit" in own and "iteration_limit" in spec.common_options:
        own[spec.common_options["iteration_limit"]] = own.pop("iteration_limit")
    refuse_unpassed(spec, options)
    for name in own:
        if name in drivers_own and name not in spec.common_options.values():
            users = [n for n, d in DRIVERS.items() if name in {f.name for f in dataclasses.fields(d.options_type)}]
            whose = f"driver{'s' if len(users) > 1 else ''} ({', '.join(users)})"
            raise OptionError(f'Option "{name}" belongs to the {whose}, not to {spec.name}.')
    common = {k: options[k] for k in COMMON if k in options}
    common["gap"] = common.get("gap", DEFAULT_GAP) * (0.5 if polished else 1.0)  # polishing may cost a little
    return SolveOptions(**common, own=own)
