"""What a model tells a decomposition driver about itself.

A builder attaches a ``Structure`` to its model. The structure names the variables of the subproblem and the
complicating variables that, once fixed, make it easy. It may also offer short cuts (a fast oracle, a closed-form cut,
a proven big-M); those are facts about the model *as it was built*, so the structure remembers what the builder made
and ``drivers.benders.split`` compares it, by identity, with what the model holds when it is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from solvers.errors import ModelError
from solvers.facts.certificate import Built, Certificate
from solvers.facts.change import Change
from solvers.facts.twin import Twin
from solvers.model.cloning import Attached
from solvers.model.expressions import holds, largest_coefficient, terms
from solvers.model.linear import LinearRows
from solvers.values import same, state

TINY = 1e-8  # HiGHS drops coefficients below 1e-9
FACTS = "facts of solvers"  # an attribute that nobody can write after a dot; clone and pickle copy it
SOLVED = 1e-9  # what the best of solvers leave of a violation


@dataclass(frozen=True)
class Cut:
    """The affine minorant ``constant + coefficients . x`` of the subproblem's value, x the complicating variables."""

    constant: float
    coefficients: np.ndarray

    def at(self, point: np.ndarray) -> float:
        """Return the cut's value at a point of shape (n,)."""
        return float(self.constant + self.coefficients @ point)

    def over(self, unit: float) -> Cut:
        """Return the cut on the value in these units."""
        return Cut(self.constant / unit, self.coefficients / unit)

    def lowered(self, floor: float, most: float) -> Cut:
        """Return the mean of the cut and the floor that says ``most`` where the cut says most over 0/1 points.

        What lies above ``most`` is no candidate for the optimum, however far above.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        if top <= most:
            return self
        share = (most - floor) / (top - floor)
        return Cut(floor + share * (self.constant - floor), share * self.coefficients)

    def clipped(self, floor: float) -> Cut:
        """Return a cut that agrees at every 0/1 point where it is above ``floor``, with the least coefficients.

        With ``top = constant + sum of positive coefficients``, a coefficient below ``floor - top`` puts the cut under
        the floor wherever its variable is 1, and so does ``floor - top`` itself. Badly scaled data make coefficients
        of 1e8 and more, which LP solvers cannot tell from infinity. Not a minorant between the 0/1 points.
        """
        top = self.constant + float(np.maximum(self.coefficients, 0.0).sum())
        return Cut(self.constant, np.maximum(self.coefficients, min(0.0, floor - top)))

    def without_tiny(self, lower: np.ndarray, upper: np.ndarray) -> Cut:
        """Return a cut, weaker by next to nothing, without coefficients that solvers would drop.

        A solver that drops ``c x`` strengthens the cut; here the least value of ``c x`` over the bounds joins the
        constant instead. Coefficients of unbounded variables stay.
        """
        tiny = (np.abs(self.coefficients) <= TINY) & np.isfinite(lower) & np.isfinite(upper)
        small = np.where(tiny, self.coefficients, 0.0)
        least = np.minimum(small * np.where(tiny, lower, 0.0), small * np.where(tiny, upper, 0.0))
        return Cut(self.constant + float(least.sum()), np.where(tiny, 0.0, self.coefficients))


@dataclass(frozen=True)
class SubAnswer:
    """What a subproblem answers at one point of the complicating variables.

    ``value`` is attained by the values ``load`` puts on the model, ``bound`` is proven; ``value`` is None when the
    subproblem is infeasible there. ``prices`` (n,) estimate the slope of the value where the cut's coefficients say
    little: the order of exchanges follows them.
    """

    value: float | None
    bound: float
    cut: Cut | None
    load: Callable[[], None]
    values: Any = None
    prices: np.ndarray | None = None

    @property
    def guide(self) -> Cut | None:
        """The cut, by whose coefficients exchanges are chosen, with the prices in their place where there are some."""
        return self.cut if self.cut is None or self.prices is None else Cut(self.cut.constant, self.prices)


@dataclass(frozen=True)
class RelaxedAnswer:
    """The continuous relaxation of the master with the true subproblem, within bounds on the master's variables.

    ``bound`` is proven, ``reduced_costs`` are of the proof, ``point`` is near the optimum, and ``cut`` nearly tight
    there. ``choices`` are 0/1 points of the complicating variables worth a try as incumbents.
    """

    bound: float
    point: np.ndarray
    reduced_costs: np.ndarray
    cut: Cut
    choices: Sequence[np.ndarray] = ()


class Relaxation(Protocol):
    """Solves the continuous relaxation of the master with the true subproblem at once."""

    def __call__(
        self,
        master: LinearRows,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        accuracy: float,
        enough: float,
        time_limit: float | None,
    ) -> RelaxedAnswer | None:
        """Return it to a relative gap of ``accuracy``, or any proof of ``enough``; None where it cannot, or may not."""
        ...


class Oracle(Protocol):
    """A fast replacement of the declarative subproblem, exact for the model as it was built."""

    def solve(self, point: np.ndarray, tolerance: float, time_limit: float | None) -> SubAnswer:
        """Answer at a point of shape (n,) to a relative gap of ``tolerance``."""
        ...


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
    twin : Twin, optional
        The same problem for a decomposition driver, whose proof counts in place of a solver's word; with a
        certificate.
    default_solver : str
        Solver or driver where none is named; "" chooses by the model's class.
    implicit : str
        What stands for rows that the model does not state. Not empty: only a driver that asks it may solve the model,
        and only as built.
    remedy : str
        How to build the model with those rows, for the refusal.
    """

    selected: Callable[[Any], list[str]] | None = field(default=None, kw_only=True)
    violation: Callable[[Any], float] | None = field(default=None, kw_only=True)
    resolution: Callable[[Any], float] | None = field(default=None, kw_only=True)
    certificate: Certificate | None = field(default=None, kw_only=True)
    change: Change | None = field(default=None, kw_only=True)
    twin: Twin | None = field(default=None, kw_only=True)
    default_solver: str = field(default="", kw_only=True)
    implicit: str = field(default="", kw_only=True)
    remedy: str = field(default="build the model with all its rows", kw_only=True)

    def attach(self, model: Any) -> Self:
        """Attach these facts to the model and return them.

        They can be read as ``model.structure`` too, unless the user has that name.
        """
        setattr(model, FACTS, self)
        if isinstance(vars(model).get("structure", self), Facts):
            model.structure = self
        return self

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach the change of variables to the clone: nothing else here holds of one."""
        if self.change is not None and facts_of(model) is self:
            Facts(change=self.change.moved(copies, rows)).attach(clone)

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


def built_of(model: Any) -> Built:
    """Return the model as its builder left it, of one whose builder proves its answers."""
    facts = facts_of(model)
    assert facts is not None
    assert facts.certificate is not None
    assert facts.certificate.built is not None
    return facts.certificate.built


def told_violation(model: Any) -> float:
    """Return the violation that a model's facts measure, 0 where they measure none."""
    facts = facts_of(model)
    return 0.0 if facts is None or facts.violation is None else facts.violation(model)


def resolution_of(model: Any) -> float:
    """Return the value of the objective that cannot be told from 0: what the facts say, else by its coefficients.

    Solvers satisfy rows to 1e-9 at best, so an objective that is 0 at the optimum comes back as that times a
    coefficient.
    """
    facts = facts_of(model)
    if facts is not None and facts.resolution is not None:
        return facts.resolution(model)
    objective = next(model.component_data_objects(pyo.Objective, active=True), None)
    return 0.0 if objective is None else SOLVED * largest_coefficient(objective.expr)


@dataclass
class Structure(Facts):
    """Facts about a model that a decomposition into master and subproblem may use.

    Parameters
    ----------
    complicating : list of Var data
        In the order of the coefficients of every ``Cut``.
    subproblem : list of Var components or data
        Variables solved while the complicating ones are fixed. Rows and objective terms without them go to the master.
    rows : list of Constraint components
        Rows known to hold subproblem variables only, so that nobody needs to walk them.
    coupling : list of components or None
        Rows, disjunctions or ordered sets that may hold both kinds; None allows every row (a textbook model without a
        builder).
    switches : list of (binary, variable)
        The variable is 0 while the binary is 0. With these variables fixed at 0 where the binary is 0, the coupling
        rows read at binary = 1 are the subproblem at any binary point.
    terms : list of named Expressions
        Parts of the objective known to hold subproblem variables only, so that nobody needs to walk them.
    core : named Expression, optional
        The one of them that ``cut`` covers; every other term must be linear there.
    oracle, cut, score : callables, optional
        Fast subproblem; cut from the linear rows of the subproblem and their multipliers; (model, data) -> validation
        error of the values that the model holds.
    suggest : callable, optional
        (fractional point, answer there) -> a point where the next cut is likely worth more.
    relaxation : Relaxation, optional
        Solves the continuous relaxation at once, for the model as built.
    floor : float, optional
        A bound below the subproblem's value at every point, for the model as built.
    parameters : callable, optional
        The values of the subproblem's mutable parameters now; while they stay, cuts of one run hold in the next.
    starts : list of arrays
        Points at which a first cut is worth having; they need not satisfy the master's rows.
    only_as_built : str
        What else holds for the model as built only (the proven big-M, say). Not empty: no solver may solve the model
        after an edit of its subproblem.
    """

    complicating: list[Any]
    subproblem: list[Any]
    rows: list[Any] = field(default_factory=list)
    coupling: list[Any] | None = None
    switches: list[tuple[Any, Any]] = field(default_factory=list)
    terms: list[Any] = field(default_factory=list)
    core: Any = None
    oracle: Oracle | None = None
    cut: Callable[[LinearRows, np.ndarray], Cut] | None = None
    score: Callable[[Any, Any], float] | None = None
    suggest: Callable[[np.ndarray, SubAnswer], np.ndarray | None] | None = None
    relaxation: Relaxation | None = None
    floor: float | None = None
    parameters: Callable[[], Hashable] | None = None
    starts: list[np.ndarray] = field(default_factory=list)
    only_as_built: str = ""
    default_solver: str = field(default="benders", kw_only=True)
    built: AsBuilt | None = None

    def seal(self, model: pyo.ConcreteModel) -> Structure:
        """Remember the subproblem as it stands, attach this structure to the model and return it; a builder's end."""
        self.built = AsBuilt.of(model, self)
        return self.attach(model)

    def variables(self) -> list[Any]:
        """Return the data of every subproblem variable, in order."""
        return data_of(self.subproblem)

    def core_intact(self) -> bool:
        """Tell whether the content of ``core`` is still the builder's."""
        contents = dict(zip(map(id, self.terms), self.built.terms, strict=True)) if self.built else {}
        return self.core is not None and self.core.expr is contents.get(id(self.core))


@dataclass
class AsBuilt:
    """The subproblem as the builder left it: objects to be compared by identity, which costs milliseconds.

    Parallel lists and not dictionaries by ``id``: they survive ``model.clone()`` and pickling.
    """

    rows: list[Any]
    expressions: list[Any]
    coupling: list[Any]
    coupling_expressions: list[Any]
    variables: list[Any]
    states: list[tuple[Any, ...]]
    sense: Any
    objective: list[Any]  # the terms of the objective that hold subproblem variables
    terms: list[Any]  # the content of the named expressions
    sets: list[Any]  # ordered sets of the coupling
    members: list[tuple[int, list[Any], list[float]]]

    @classmethod
    def of(cls, model: pyo.ConcreteModel, structure: Structure) -> AsBuilt:
        """Take the snapshot."""
        rows = [row for component in structure.rows for row in component.values()]
        coupling = [row for component in _coupling_constraints(structure) for row in component.values()]
        variables = structure.variables()
        objective = next(model.component_data_objects(pyo.Objective, active=True))
        inside = {id(v) for v in variables}
        return cls(
            rows,
            [row.expr for row in rows],
            coupling,
            [row.expr for row in coupling],
            variables,
            [state(v) for v in variables],
            objective.sense,
            [t for t in terms(objective.expr, structure.terms) if holds(t, inside, structure.terms)],
            [e.expr for e in structure.terms],
            (sets := [s for c in structure.coupling or () if c.ctype is pyo.SOSConstraint for s in c.values()]),
            [members(s) for s in sets],
        )

    def changed_variables(self) -> list[Any]:
        """Return the subproblem variables whose bounds, domain or fixing are no longer as built."""
        return [v for v, before in zip(self.variables, self.states, strict=True) if not same(state(v), before)]


def data_of(components: Iterable[Any]) -> list[Any]:
    """Return the data of components, indexed or not, in order and each once; data stand for themselves."""
    found = {id(d): d for c in components for d in (c.values() if c.is_indexed() else [c])}
    return list(found.values())


def members(ordered: Any) -> tuple[int, list[Any], list[float]]:
    """Return what an ordered set says: its level, its variables and their weights."""
    items = list(ordered.get_items())
    return ordered.level, [v for v, _ in items], [float(w) for _, w in items]


def _coupling_constraints(structure: Structure) -> list[Any]:
    """Return the coupling row components; a disjunction's rows are those of its disjuncts."""
    components = []
    for component in structure.coupling or ():
        if component.ctype is pyo.Constraint:
            components.append(component)
        elif component.ctype is Disjunction:
            blocks = {id(d): d for choice in component.values() for d in choice.disjuncts}
            components += [c for d in blocks.values() for c in d.component_objects(pyo.Constraint, descend_into=True)]
    return components
