"""Taking a model apart into a master and a subproblem, afresh at each solve.

The user edits one ordinary model. Rows and objective terms without subproblem variables go to the master, with
whatever variables they hold; the rest goes to the subproblem. Of a builder's model, variables of the user's own that
share rows with the subproblem's go there too (``widened``), and rows may be on both parts. Without a builder a row
that mixes both is refused by name unless it is a declared coupling, and so is any term. Nothing of the user's model is
copied: master and subproblem are separate models that hold references to its variables and rows.

``floor_of`` gives a bound below the subproblem's value, for a model as it stands, edited or not. A row, or a narrower
bound, can only raise the value, so that what a builder knows of its own model goes on to hold, and so can a term that
is at least 0 by the bounds of its variables. Where the builder's terms are no longer there, or rows are gone, the
bounds of the variables may still say as much. A floor far below the builder's would be worse than none: units and
tolerances are made for values near it.

``widened`` finds variables of the user's own that belong to the subproblem, or must be decided before it. A continuous
variable that shares a row or an objective term with one of the subproblem's is solved with it, and so is any that
shares a row with that one in turn. An integer one among them is decided in the master, and the subproblem sees its
value: w_j <= 5 g.

``adapted`` reads the edits of a subproblem as numbers and offers them to the builder's oracle. What it cannot take is
solved from rows, as any other subproblem, and the message says for which edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import PyomoException
from pyomo.contrib.fbbt.expression_bounds_walker import ExpressionBoundsVisitor
from pyomo.gdp import Disjunct, Disjunction

from solvers.errors import ModelError
from solvers.facts.snapshot import AsBuilt
from solvers.facts.structure import EditedSub, Inexpressible, Structure
from solvers.model.classes import single_objective
from solvers.model.expressions import terms, variables
from solvers.model.function import Curve, is_linear
from solvers.model.linear import LinearRows, unfixed
from solvers.reading import ModelReading, read


@dataclass
class SplitModel:
    """A model in two parts, with the edits of its subproblem.

    ``sign`` is -1 for a model that maximises: both parts then minimise the negative. ``edits`` are the changes of the
    subproblem since it was built, in words, and ``coupling_edits`` those of the coupling. It is ``restricted`` where
    only rows, terms and narrower bounds were added. ``linking_rows`` are linear rows of the user on both parts of a
    structure with switches. ``mixed`` are rows and terms that hold both kinds of variables without being declared.
    ``taken``: whether the structure's oracle handles the edits. ``structure``: that of the model, with adopted
    variables.
    """

    structure: Structure
    sign: float
    master_rows: list[Any] = field(default_factory=list)
    subproblem_rows: list[Any] = field(default_factory=list)
    coupling_rows: list[Any] = field(default_factory=list)
    linking_rows: list[Any] = field(default_factory=list)
    master_terms: list[Any] = field(default_factory=list)
    subproblem_terms: list[Any] = field(default_factory=list)
    master_variables: list[Any] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)
    coupling_edits: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    restricted: bool = False
    taken: bool = False
    links: Any = None  # holds the rows that stand for disjunctions in the master
    held: dict[int, list[Any]] = field(default_factory=dict)  # of the subproblem's rows and terms that were walked

    @property
    def as_built(self) -> bool:
        """Whether the subproblem is unchanged since it was built."""
        return self.structure.built is not None and not self.edits and not self.mixed

    def check_facts(self) -> None:
        """Raise ModelError for edits that invalidate a fact in use, unless an oracle handles them."""
        edits, fact = [*self.edits, *self.mixed], self.structure.only_as_built
        if fact and edits and not self.taken:
            raise ModelError(
                f"{edits[0]} edits the subproblem, but {fact} holds only for the model as it was built. "
                f"{self.structure.instead}"
            )

    def variables_of(self, part: Any) -> list[Any]:
        """Return the variables of a row or term of the subproblem."""
        if id(part) not in self.held:
            self.held[id(part)] = list(variables(getattr(part, "body", part)))
        return self.held[id(part)]

    def check_separable(self, solvers: str) -> None:
        """Raise ModelError for mixed rows and terms and for relaxed switches, which prevent a decomposition.

        The message names the first of them, and the solvers for the whole model.
        """
        if self.mixed:
            names = ", ".join({v.parent_component().name: None for v in self.structure.variables()})
            raise ModelError(
                f"{self.mixed[0]} holds variables of the subproblem ({names}) together with others, and is not a "
                f"declared coupling: no decomposition driver can take it. Solve the whole model by name: {solvers}."
            )
        for binary, _ in self.structure.switches:
            low, up = (binary.value, binary.value) if binary.fixed else binary.bounds
            if not ((binary.fixed or binary.is_integer()) and {low, up} <= {0, 1}):
                raise ModelError(
                    f'Variable "{binary.name}" is not binary: what it selects is all or nothing. Solve the relaxed '
                    "model whole, with clarabel where it is convex."
                )


def is_declared(structure: Structure, component: Any) -> bool:
    """Return whether a component belongs to the coupling that a builder declared, or holds its disjuncts."""
    coupling = structure.coupling or () if structure.built is not None else ()
    choices = [choice for c in coupling if c.ctype is Disjunction for choice in c.values()]
    own = {*map(id, coupling), *(id(d.parent_component()) for choice in choices for d in choice.disjuncts)}
    return id(component) in own


def split(model: Any, structure: Structure) -> SplitModel:
    """Sort the active rows and objective terms of a model.

    Rows that are still the builder's own objects are not walked, however dense. Raises ModelError if the model has no
    single active objective.
    """
    model = read(model)
    objective = single_objective(model)
    built, built_coupling = structure.built, structure.built_coupling
    known = built.stated_by_rows() if built else {}
    known_coupling = built_coupling.stated_by_rows() if built_coupling else {}
    choices = [d for c in structure.coupling or () if c.ctype is Disjunction for d in c.values()]
    written = {id(row) for d in choices for row in _written(d)} if built else set()
    stated = known | known_coupling
    walked = {
        id(row): list(variables(row.body))
        for row in model.rows
        if id(row) not in written and not (id(row) in stated and row.expr is stated[id(row)])
    }
    atoms = built.same_named() if built else []
    intact = built is not None and len(atoms) == len(structure.terms)
    own = {id(t) for t in structure.built_terms} if intact else set()
    found = [(t, [] if id(t) in own else list(variables(t))) for t in terms(objective.expr, atoms)]
    strangers = [*walked.values(), *(held for _, held in found)] if built else []
    if not built and model.written is not None:  # its binaries are nobody's yet
        strangers = [walked[id(row)] for row in model.written.rows]
    structure = widened(structure, strangers)
    inside = {id(v) for v in structure.variables()}
    complicating = {id(v) for v in structure.complicating}
    parts = SplitModel(structure, 1.0 if objective.sense == pyo.minimize else -1.0)
    parts.master_variables = list(structure.complicating)
    seen = set(complicating)

    def to_master(held: list[Any]) -> None:
        fresh = {id(v): v for v in held if id(v) not in seen}
        seen.update(fresh)
        parts.master_variables.extend(fresh.values())

    coupling = {id(c) for c in structure.coupling or ()}
    alive = set()

    for row in model.rows:
        key = id(row)
        if key in known and row.expr is known[key]:
            alive.add(key)
            parts.subproblem_rows.append(row)
            continue
        if key in written:  # says the same as its disjunction, which the switches cover
            continue
        if key in known_coupling and row.expr is known_coupling[key]:
            alive.add(key)
            parts.coupling_rows.append(row)
            continue
        held = walked[key]
        kind = {id(v) in inside for v in held}
        outside = {id(v) for v in held} - inside
        if True in kind:
            parts.held[key] = held
        if kind == {True}:
            parts.subproblem_rows.append(row)
            parts.edits.append(f'row "{row.name}"')
        elif True not in kind:
            parts.master_rows.append(row)
            to_master(held)
        elif outside <= complicating and (structure.coupling is None or id(row.parent_component()) in coupling):
            parts.coupling_rows.append(row)
        elif outside <= complicating and built and is_linear(row.body):
            (parts.linking_rows if structure.switches else parts.coupling_rows).append(row)
            parts.edits.append(f'row "{row.name}"')
        else:
            parts.mixed.append(f'Row "{row.name}"')

    for term, held in found:
        kind = {id(v) in inside for v in held}
        if id(term) in own or kind == {True}:
            parts.held[id(term)] = held
            parts.subproblem_terms.append(term)
        elif True not in kind:
            parts.master_terms.append(term)
            to_master(held)
        else:
            parts.mixed.append(f"Objective term {term}")

    if built and built_coupling:
        coupling_edits, set_edits = _coupling_edits(built_coupling, choices, alive), _set_edits(model, structure)
        parts.coupling_edits = [*coupling_edits, *set_edits]
        parts.edits += [*_edits(built, alive), *parts.coupling_edits]
        same = intact and objective.sense == built.sense
        there = alive.issuperset(map(id, built.rows)) and not parts.coupling_edits
        parts.restricted = same and there and own <= set(map(id, parts.subproblem_terms)) and built.narrowed()
        if not (same and sorted(map(id, parts.subproblem_terms)) == sorted(own)):
            parts.edits.append("objective")
    parts.links = _links([d for d in choices if d.active])
    for row in parts.links.disjunction.values():
        parts.master_rows.append(row)
        to_master(list(variables(row.body)))
    return parts


def _edits(built: AsBuilt, alive: set[int]) -> Iterator[str]:
    """Yield the removed and changed parts of the builder's subproblem, in words, without the coupling."""
    for row in built.rows:
        if id(row) not in alive:
            yield f'row "{row.name}" (changed, deactivated, deleted or replaced)'
    for v in built.changed_variables():
        yield f'variable "{v.name}" (bounds, domain or fixed value)'


def _coupling_edits(built: AsBuilt, choices: list[Any], alive: set[int]) -> Iterator[str]:
    """Yield the removed and changed parts of the builder's coupling, and rows added to its disjuncts, in words."""
    own = set(map(id, built.rows))
    for choice in choices:
        switched_off = not choice.active and choice.algebraic_constraint is None
        if switched_off or not all(row.active for row in _written(choice)):
            yield f'disjunction "{choice.name}" (deactivated)'
        for disjunct in choice.disjuncts:
            for row in disjunct.component_data_objects(pyo.Constraint):
                if id(row) not in own and (row.active or disjunct.transformation_block is not None):
                    yield f'row "{row.name}"'
    for row, expression in zip(built.rows, built.expressions, strict=True):
        disjunct = row.parent_block()
        if disjunct is None or disjunct.ctype is not Disjunct:
            same = id(row) in alive
        else:  # a transformation deactivates what it has written as rows
            block = disjunct.transformation_block
            rows = () if block is None else block.component_data_objects(pyo.Constraint)
            same = row.expr is expression and (row.active or any(True for _ in rows))
        if not same:
            yield f'row "{row.name}" (changed, deactivated, deleted or replaced)'


def _set_edits(model: ModelReading, structure: Structure) -> Iterator[str]:
    """Yield the removed, changed and new ordered sets of the coupling, in words."""
    built = structure.built_coupling
    if built is None or not any(c.ctype is pyo.SOSConstraint for c in structure.coupling or ()):
        return
    yield from (f'ordered set "{s.name}" (changed, deactivated or deleted)' for s in built.changed_sets(model))
    active = model.data(pyo.SOSConstraint)
    own = set(map(id, built.others))
    yield from (f'ordered set "{s.name}"' for s in active if id(s) not in own)


def _written(choice: Any) -> list[Any]:
    """Return the rows that a transformation has written for a disjunction, without its exclusive-or row."""
    blocks = [d.transformation_block for d in choice.disjuncts if choice.algebraic_constraint is not None]
    return [row for b in blocks if b is not None for row in b.component_data_objects(pyo.Constraint)]


def _links(choices: list[Any]) -> Any:
    """Return a model with one row for each disjunction: exactly one of its indicators, or at least one, is 1."""
    links = pyo.ConcreteModel()
    links.disjunction = pyo.Constraint(pyo.Any)
    for choice in choices:
        total = pyo.quicksum(d.binary_indicator_var for d in choice.disjuncts)
        links.disjunction[choice.name] = total == 1 if choice.xor else total >= 1
    return links


def floor_of(parts: SplitModel) -> float | None:
    """Return a lower bound of the subproblem's value at every point; None where none is known."""
    floor, terms = parts.structure.floor, parts.subproblem_terms
    if floor is None:
        return None
    own = {id(term) for term in parts.structure.built_terms}
    if parts.restricted and _least([t for t in terms if id(t) not in own], parts.sign) >= 0:
        return floor
    return floor if _least(terms, parts.sign) >= floor else None


def _least(terms: list[Any], sign: float) -> float:
    """Return the least value of a sum of terms within the bounds of its variables."""
    total = 0.0
    for term in terms:
        try:
            low, up = ExpressionBoundsVisitor(use_fixed_var_values_as_bounds=True).walk_expression(term)
        except (PyomoException, ArithmeticError, ValueError):  # outside a function's domain
            return -float("inf")
        total += low if sign > 0 else -up
    return total


def widened(structure: Structure, held: Iterable[Sequence[Any]]) -> Structure:
    """Return the structure with the variables that the user's rows and terms add to it.

    ``held``: the variables of each row and term of the user.
    """
    inside = {id(v) for v in structure.variables()}
    outside = {id(v) for v in structure.complicating}
    adopted: list[Any] = []
    joined: list[Any] = []
    left = [part for part in held if any(id(v) not in inside and id(v) not in outside for v in part)]
    before = -1
    while before < len(inside):
        before, waiting = len(inside), []
        for part in left:
            if not any(id(v) in inside for v in part):
                waiting.append(part)
                continue
            for v in part:
                if id(v) not in inside and id(v) not in outside:
                    (inside if v.is_continuous() else outside).add(id(v))
                    (adopted if v.is_continuous() else joined).append(v)
        left = waiting
    if not adopted and not joined:
        return structure
    wider = copy(structure)
    wider.subproblem = [*structure.subproblem, *adopted]
    wider.complicating = [*structure.complicating, *joined]
    return wider


def adapted(parts: SplitModel) -> tuple[SplitModel, str]:
    """Return the parts with an oracle that handles the edits, or unchanged with the reason why there is none."""
    structure = parts.structure
    if structure.adapt is None or parts.as_built:
        return parts, ""
    try:
        found = structure.adapt(_read(parts))
    except Inexpressible as error:
        return parts, str(error)
    changed = copy(structure)
    changed.oracle, changed.relaxation, changed.detached = found.oracle, found.relaxation, found.detached
    return replace(parts, structure=changed, taken=True), ""


def _read(parts: SplitModel) -> EditedSub:
    """Return the subproblem as arrays. Raises Inexpressible."""
    structure = parts.structure
    assert structure.built is not None
    for edit in [*parts.coupling_edits, *parts.mixed]:
        raise Inexpressible(edit)
    stated = structure.built.stated_by_rows()
    kept = [row for row in parts.subproblem_rows if stated.get(id(row)) is row.expr]
    inside = set(map(id, kept))
    others = [*(row for row in parts.subproblem_rows if id(row) not in inside), *parts.linking_rows]
    for row in others:
        if not is_linear(row.body):
            raise Inexpressible(f'row "{row.name}", which is not linear')
    variables, complicating = structure.variables(), structure.complicating
    try:
        rows = LinearRows.of(others, [*variables, *complicating], [], parts.sign)
        with unfixed(variables):
            cost = Curve.of(pyo.quicksum(parts.subproblem_terms), "the objective", variables, parts.sign)
    except ModelError:
        raise Inexpressible("the objective, which is not convex quadratic") from None
    return EditedSub(variables, complicating, kept, rows, cost, list(parts.edits))
