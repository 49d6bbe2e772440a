"""What any model may tell whoever solves it, and how that is attached to the model and found again.

What a run does without because the model was edited, and which edit it was: said in one way by all who ask facts.

An oracle, a separator, a proof from the data, a closed form hold for the model as built. Where an edit takes one away
the answer is as right as before, and may come slower or with less proof: whoever reads it should know which row did it.
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
from solvers.reading import ModelReading, read
from solvers.result import FEASIBLE, ROUNDING
from solvers.values import INSIDE, may_be_zero, value_or_none

FACTS = "facts of solvers"  # an attribute that nobody can write after a dot; clone and pickle copy it
SOLVED = 1e-9  # what the best of solvers leave of a violation


@dataclass
class Facts(Attached):
    """What any model may tell whoever solves it.

    Parameters
    ----------
    selected : callable, optional
        model -> names of what its values select.
    violation : callable, optional
        model -> by how much its values miss what the rows mean, where the rows' own numbers hide it.
    resolution : callable, optional
        model -> the value of the objective that its arithmetic cannot tell from 0.
    certificate : Certificate, optional
        How answers are proven from the data, whatever a solver's tolerances.
    change : Change, optional
        A change of variables under which the numbers are of one size; solvers of the whole model see the new ones.
    equivalent : EquivalentModel, optional
        The same problem for a decomposition driver, whose proof counts in place of a solver's word; with a
        certificate.
    switches : list of (binary, variable)
        The rows as built imply that the variable is 0 while its binary is 0.
    default_solver : str
        Solver or driver where none is named; "" chooses by the model's class.
    implicit : str
        What stands for rows that the model does not state. Not empty: only a driver that asks it may solve the model,
        and only as built.
    note : str
        A sentence about the model for the message of each result.
    remedy : str
        How to build the model with those rows, for the refusal.
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

    def seal(self, model: Any) -> Self:
        """Attach these facts to the model, which they remember as it stands, and return them; a builder's end.

        They can be read as ``model.structure`` too, unless the user has that name.
        """
        forget_rules(model)
        self.remember(model)
        self.built_components = dict(model.component_map())
        parts = model.component_data_objects((pyo.Constraint, pyo.Objective), descend_into=pyo.Block)
        self.built_expressions = ComponentMap((part, part.expr) for part in parts)
        if self.certificate is not None:
            self.certificate.seal(model, self.change)
        setattr(model, FACTS, self)
        if isinstance(vars(model).get("structure", self), Facts):
            model.structure = self
        return self

    def remember(self, model: Any) -> None:
        """Take the snapshot of what these facts hold of as built only, if there is any."""

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach the change of variables to the clone: nothing else here holds of one."""
        if self.change is not None and facts_of(model) is self:
            Facts(change=self.change.moved(copies, rows)).seal(clone)

    def check_names(self, model: Any) -> None:
        """Refuse a component of the user in place of one of the builder. Raises ModelError, naming it.

        A row or objective in place of another is an edit; a parameter, set, variable or expression is still in the
        rows as built.
        """
        for name, component in self.built_components.items():
            now = model.component(name)
            edit = now is None or now.ctype is component.ctype in (pyo.Constraint, pyo.Objective)
            if now is not component and not edit:
                raise ModelError(
                    f'"{name}" is a {component.ctype.__name__} of the builder, and a {now.ctype.__name__} has replaced '
                    "it: build the model again, and give your component another name."
                )

    def has_changed(self, part: Any) -> bool:
        """Return True if a row or objective of the builder has another expression than as built."""
        return part in self.built_expressions and part.expr is not self.built_expressions[part]

    def check_stated(self, reason: str) -> None:
        """Refuse what needs all rows where the model does not state them.

        Raises
        ------
        ModelError
            With the reason, what states them instead, and the remedy.
        """
        if self.implicit:
            raise ModelError(
                f"{reason}, but this model leaves rows to {self.implicit}: a driver must ask it, as built. "
                f'Use "{self.default_solver}", or {self.remedy} to edit or to solve it whole.'
            )


def facts_of(model: Any) -> Facts | None:
    """Return the facts attached to a model; None where there are none.

    Facts that a user put at ``model.structure`` count; anything else of that name is the user's own and does not.
    """
    for name in ("structure", FACTS):
        found = getattr(model, name, None)
        if isinstance(found, Facts):
            return found
    return None


def built_of(model: Any) -> AsBuilt:
    """Return the model as its builder left it, of one whose builder proves its answers."""
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
    """Drop local functions that components were built by: a model with one of them cannot be pickled.

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
    """Return the violation that a model's facts measure, 0 where they measure none."""
    facts = facts_of(model)
    return 0.0 if facts is None or facts.violation is None else facts.violation(model)


def worst_violation(model: Any) -> float:
    """Return the largest violation at the model's values, in its own units and in those of its change of variables."""
    reading = read(model)
    facts = facts_of(reading.model)
    if facts is not None and facts.certificate is not None:
        return facts.certificate.violation(reading)
    worst = violation(reading)
    return worst if facts is None or facts.change is None else max(worst, facts.change.violation(reading.rows))


def feasible_value(model: Any) -> float | None:
    """Return the objective of the model's values, to be minimised; None unless they satisfy all that it states.

    Where the model's builder states how, the values are first put on the rows: a tolerance may be worth much.
    """
    reading, facts = read(model), facts_of(read(model).model)
    value = value_or_none(single_objective(reading).expr)
    if value is None or unseen(reading) or (facts is not None and facts.implicit):
        return None
    if worst_violation(reading) > FEASIBLE:
        return None
    if facts is not None and facts.certificate is not None:
        facts.certificate.settle(reading, has_point=True)
    if max(worst_violation(reading), facts_violation(reading.model)) > ROUNDING:
        return None
    objective = single_objective(reading)
    value = float(pyo.value(objective)) * (1.0 if objective.sense == pyo.minimize else -1.0)
    return value if math.isfinite(value) else None


def resolution_of(model: Any) -> float:
    """Return the value of the objective that cannot be told from 0: what the facts say, else by its coefficients.

    Solvers satisfy rows to 1e-9 at best, so an objective that is 0 at the optimum comes back as that times a
    coefficient.
    """
    model = read(model)
    facts = facts_of(model.model)
    if facts is not None and facts.resolution is not None:
        return facts.resolution(model.model)
    objective = next(iter(model.objectives), None)
    return 0.0 if objective is None else SOLVED * largest_coefficient(objective.expr, within_bounds=True)


KEY = "dropped"  # of a result's details


@dataclass
class Dropped:
    """What is not used, and why, in words; ``quiet``: of these no message speaks, the details do."""

    found: dict[str, str] = field(default_factory=dict)
    quiet: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, edits: Iterable[str], *, quiet: bool = False) -> None:
        """Note that something is not used for these edits; for none it is used."""
        named = list(dict.fromkeys(edits))
        if named:
            more = f" and {len(named) - 1} more" if len(named) > 1 else ""
            (self.quiet if quiet else self.found).setdefault(what, f"{named[0]}{more}")

    def look_at(self, model: ModelReading) -> None:
        """Note what every run on a model does without."""
        facts = facts_of(model.model)
        certificate = None if facts is None else facts.certificate
        if certificate is not None and certificate.built is not None:
            self.add("the proof from the data", certificate.built.loosened(model))
        changed = (name for known in known_of(model.model) for name in known.changed())
        self.add("the numbers of dense rows", (f'row "{name}" was changed' for name in changed), quiet=True)

    @property
    def sentence(self) -> str:
        """What a message says; "" where nothing was dropped."""
        listed = ", ".join(f"{what} [{why}]" for what, why in self.found.items())
        return f"Done without what holds of the model as built: {listed}." if listed else ""

    def tell(self, message: str, details: dict[str, Any]) -> str:
        """Put what was dropped among the details, and return a message with the sentence."""
        if self.found or self.quiet:
            details[KEY] = {**self.found, **self.quiet}
        return f"{message} {self.sentence}".strip()
