"""Facts of any model, their attachment to the model, and the report of facts that a run does not use.

Oracles, separators, proofs from the data and closed forms hold for the model as built. After an edit some of them are
not used. The solution is still correct, but may take longer or have a weaker proof, so the message names the edit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import pyomo.environ as pyo
from pyomo.common.collections import ComponentMap

from solvers.errors import ModelError
from solvers.facts.certificate import Certificate
from solvers.facts.change import Change
from solvers.facts.equivalent import EquivalentModel
from solvers.facts.snapshot import AsBuilt
from solvers.model.classes import single_objective, violation
from solvers.model.expressions import largest_coefficient
from solvers.model.linear import known_of
from solvers.model.rewriting import Attached, unseen
from solvers.model_cache import ModelCache, cached
from solvers.result import FEASIBLE, ROUNDING
from solvers.user_warnings import warn
from solvers.values import INSIDE, may_be_zero, value_or_none

FACTS = "facts of solvers"  # name of an attribute that is not an identifier; clone and pickle copy it
SOLVED = 1e-9  # smallest violation to which solvers satisfy rows


@dataclass
class Facts(Attached):
    """Facts of any model.

    Parameters
    ----------
    selected : callable, optional
        model -> names of the selected features.
    violation : callable, optional
        model -> violation of the rows by its values, if the numbers of the rows do not show it.
    resolution : callable, optional
        model -> the largest objective that counts as 0 in its arithmetic.
    certificate : Certificate, optional
        Proof of solutions from the data, independent of the tolerances of a solver.
    change : Change, optional
        A change of variables after which the numbers are of similar size; solvers of the whole model solve the changed
        model.
    equivalent : EquivalentModel, optional
        The same problem for a decomposition driver, whose proof replaces that of a solver; needs a certificate.
    switches : list of (binary, variable)
        The rows as built imply that the variable is 0 if its binary is 0.
    default_solver : str
        Default solver or driver; "" selects by the class of the model.
    implicit : str
        Name of the oracle for rows that the model does not state. If it is not empty, only a driver that uses the
        oracle can solve the model, and only as built.
    note : str
        A sentence about the model for the message of each result.
    remedy : str
        How to build the model with these rows, for error messages.
    """

    selected: Callable[[Any], list[str]] | None = field(default=None, kw_only=True)
    violation: Callable[[Any], float] | None = field(default=None, kw_only=True)
    resolution: Callable[[Any], float] | None = field(default=None, kw_only=True)
    certificate: Certificate | None = field(default=None, kw_only=True)
    change: Change | None = field(default=None, kw_only=True)
    equivalent: EquivalentModel | None = field(default=None, kw_only=True)
    switches: list[tuple[Any, Any]] = field(default_factory=list, kw_only=True)
    default_solver: str = field(default="", kw_only=True)
    implicit: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True)
    remedy: str = field(default="build the model with all its rows", kw_only=True)
    built: AsBuilt | None = field(default=None, init=False)
    built_components: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # as built, by name
    built_expressions: ComponentMap = field(default_factory=ComponentMap, init=False, repr=False)  # rows, objectives

    def attach(self, model: Any) -> Self:
        """Take the snapshot of the model, attach these facts to it and return them; the last step of a builder.

        The facts are available as ``model.structure`` too, unless the user has a component of that name.
        """
        forget_rules(model)
        self.remember(model)
        self.built_components = dict(model.component_map())
        parts = model.component_data_objects((pyo.Constraint, pyo.Objective), descend_into=pyo.Block)
        self.built_expressions = ComponentMap((part, part.expr) for part in parts)
        if self.certificate is not None:
            self.certificate.attach(model, self.change)
        setattr(model, FACTS, self)
        if isinstance(vars(model).get("structure", self), Facts):
            model.structure = self
        return self

    def seal(self, model: Any) -> Self:
        """Former name of ``attach``."""
        warn("Facts.seal is called attach now.", DeprecationWarning)
        return self.attach(model)

    def remember(self, model: Any) -> None:
        """Take the snapshot of the parts of the model to which these facts refer; by default nothing."""

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach the change of variables to the clone; the other facts do not hold for a clone."""
        if self.change is not None and facts_of(model) is self:
            Facts(change=self.change.moved(copies, rows)).attach(clone)

    def check_names(self, model: Any) -> None:
        """Reject a component of the user that replaces one of the builder. Raises ModelError, naming it.

        A row or an objective that replaces another is an edit. A replaced parameter, set, variable or expression would
        still be in the rows as built.
        """
        for name, component in self.built_components.items():
            now = model.component(name)
            edit = now is None or now.ctype is component.ctype in (pyo.Constraint, pyo.Objective)
            if now is not component and not edit:
                raise ModelError(
                    f'A {now.ctype.__name__} has replaced "{name}", a {component.ctype.__name__} of the builder: build '
                    "the model again, and give your component another name."
                )

    def has_changed(self, part: Any) -> bool:
        """Return True if the expression of a row or objective of the builder was changed."""
        return part in self.built_expressions and part.expr is not self.built_expressions[part]

    def check_stated(self, reason: str) -> None:
        """Raise ModelError with a reason and the remedy if the model does not state all its rows."""
        if self.implicit:
            raise ModelError(
                f"{reason}, but this model leaves rows to {self.implicit}, which only a driver uses, for the model as "
                f'built. Use "{self.default_solver}", or {self.remedy} to edit or to solve it whole.'
            )


def facts_of(model: Any) -> Facts | None:
    """Return the facts attached to a model, or None.

    Facts that a user assigned to ``model.structure`` are found; other components of that name are ignored.
    """
    for name in ("structure", FACTS):
        found = getattr(model, name, None)
        if isinstance(found, Facts):
            return found
    return None


def built_of(model: Any) -> AsBuilt:
    """Return the snapshot of a model with a certificate."""
    facts = facts_of(model)
    assert facts is not None
    assert facts.certificate is not None
    assert facts.certificate.built is not None
    return facts.certificate.built


def always_on(model: Any) -> list[Any]:
    """Return the free binaries that are 1 at every point, because the bounds of their variable exclude 0.

    A solver's tolerances would allow 0 where the variable is small: the row ``w <= M sigma`` with w = 3e-10.
    """
    facts = facts_of(model)
    pairs = [] if facts is None else [(b, v) for b, v in facts.switches if b.is_binary() and not b.fixed]
    found = [b for b, v in pairs if v.is_variable_type() and not may_be_zero(v)]
    if not found or facts is None or facts.certificate is None:
        return []
    return found if built_of(model).has_rows(model) else []


def forget_rules(model: Any) -> None:
    """Remove local functions that were rules of components, because a model with such a rule cannot be pickled.

    Pyomo calls a rule again only for an index that is added to a set later.
    """
    for component in model.component_objects(descend_into=INSIDE):
        for name in ("_rule", "_rule_init", "_rule_bounds", "_init_rule"):
            rule = getattr(component, name, None)
            rule = getattr(rule, "_initializer", rule)  # of bounds
            function = getattr(rule, "_fcn", rule)
            if "<locals>" in getattr(function, "__qualname__", ""):
                setattr(component, name, None)


def facts_violation(model: Any) -> float:
    """Return the violation that the facts of a model measure, 0 without such facts."""
    facts = facts_of(model)
    return 0.0 if facts is None or facts.violation is None else facts.violation(model)


def worst_violation(model: Any) -> float:
    """Return the largest violation at the values of the model, in its units and in those of its change of variables."""
    cache = cached(model)
    facts = facts_of(cache.model)
    if facts is not None and facts.certificate is not None:
        return facts.certificate.violation(cache)
    worst = violation(cache)
    return worst if facts is None or facts.change is None else max(worst, facts.change.violation(cache.rows))


def feasible_value(model: Any) -> float | None:
    """Return the objective, to be minimised, at the values of the model; None unless they satisfy the model.

    If the model has a certificate, the values are first repaired: a violation within tolerances may gain much.
    """
    cache, facts = cached(model), facts_of(cached(model).model)
    value = value_or_none(single_objective(cache).expr)
    if value is None or unseen(cache) or (facts is not None and facts.implicit):
        return None
    if worst_violation(cache) > FEASIBLE:
        return None
    if facts is not None and facts.certificate is not None:
        facts.certificate.repair_point(cache, has_point=True)
    if max(worst_violation(cache), facts_violation(cache.model)) > ROUNDING:
        return None
    objective = single_objective(cache)
    value = float(pyo.value(objective)) * (1.0 if objective.sense == pyo.minimize else -1.0)
    return value if math.isfinite(value) else None


def resolution_of(model: Any) -> float:
    """Return the largest objective that counts as 0, by the facts or else by its coefficients.

    Solvers satisfy rows to 1e-9 at best, so an optimum of 0 is returned as 1e-9 times a coefficient.
    """
    model = cached(model)
    facts = facts_of(model.model)
    if facts is not None and facts.resolution is not None:
        return facts.resolution(model.model)
    objective = next(iter(model.objectives), None)
    return 0.0 if objective is None else SOLVED * largest_coefficient(objective.expr, within_bounds=True)


KEY = "dropped"  # of a result's details


@dataclass
class UnusedFacts:
    """Facts that are not used, with the edits that are the reason; ``quiet``: those of the details only."""

    found: dict[str, str] = field(default_factory=dict)
    quiet: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, edits: Iterable[str], *, quiet: bool = False) -> None:
        """Add a fact that is not used because of some edits; without edits nothing is added."""
        named = list(dict.fromkeys(edits))
        if named:
            more = f" and {len(named) - 1} more" if len(named) > 1 else ""
            (self.quiet if quiet else self.found).setdefault(what, f"{named[0]}{more}")

    def check(self, model: ModelCache) -> None:
        """Add the facts that no run on the model uses."""
        facts = facts_of(model.model)
        certificate = None if facts is None else facts.certificate
        if certificate is not None and certificate.built is not None:
            self.add("the proof from the data", certificate.built.loosened(model))
        changed = (name for known in known_of(model.model) for name in known.changed())
        self.add("the numbers of dense rows", (f'row "{name}" was changed' for name in changed), quiet=True)

    @property
    def sentence(self) -> str:
        """The sentence for a message; "" if all facts are used."""
        listed = ", ".join(f"{what} [{why}]" for what, why in self.found.items())
        return f"Not used, because the model was edited: {listed}." if listed else ""

    def report(self, message: str, details: dict[str, Any]) -> str:
        """Add the unused facts to the details, and return the message with the sentence."""
        if self.found or self.quiet:
            details[KEY] = {**self.found, **self.quiet}
        return f"{message} {self.sentence}".strip()
