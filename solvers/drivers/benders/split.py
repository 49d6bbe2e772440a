"""Decomposition of a model into a master and a subproblem, at each solve.

The user edits one ordinary model. Rows and objective terms without subproblem variables belong to the master, with all
their variables; the others belong to the subproblem. In a model of a builder, variables that the user has added belong
to the subproblem if they share rows with it (``widened``), and linear rows may contain variables of both parts. Without
a builder a row with variables of both parts is rejected by name unless it is a declared coupling, and so is any such
term. Nothing of the user's model is copied: master and subproblem are models with references to its variables and rows.

``floor_of`` returns a lower bound of the subproblem's value, also for an edited model. Additional rows and narrower
bounds can only raise the value, and so can terms that are nonnegative by the bounds of their variables, so that the
builder's floor remains valid. If terms or rows of the builder are missing, the bounds of the variables may still imply
the floor. A floor far below that of the builder would be worse than none, since units and tolerances are chosen for
values near it.

``widened`` adds the user's variables to the subproblem or to the master. A continuous variable that shares a row or an
objective term with the subproblem is solved with it, and so are the variables that share rows with this one. An integer
variable among them is decided in the master, and its value is a constant of the subproblem: w_j <= 5 g.

``adapted`` passes the edits of a subproblem as arrays to the builder's oracle. If the oracle does not support them, the
subproblem is solved by its rows, and the message names the edit.
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
from solvers.interfaces.registry import SOLVERS, names
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import needs, single_objective, used_variables
from solvers.model.expressions import terms, variables
from solvers.model.function import Curve, is_linear
from solvers.model.linear import LinearRows
from solvers.model.rewriting import whole_solvers
from solvers.model_cache import ModelCache, cached


@dataclass
class SplitModel:
    """A model in two parts, with the edits of its subproblem.

    - ``sign``: -1 for a model that maximises; both parts then minimise the negative.
    - ``edits``, ``coupling_edits``: names of the changes of the subproblem and of its coupling since they were built.
    - ``restricted``: whether only rows, terms and narrower bounds were added.
    - ``linking_rows``: linear rows of the user with variables of both parts, of a structure with switches.
    - ``mixed``: rows and terms with variables of both parts that are not declared as coupling.
    - ``taken``: whether the structure's oracle handles the edits.
    - ``structure``: the structure of the model, with the added variables.
    - ``complements``: pairs (x, z) of binaries with z = 1 - x; the master leaves z out.
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
    links: Any = None  # the models with the rows for disjunctions and products in the master
    complements: list[tuple[Any, Any]] = field(default_factory=list)
    cache: ModelCache | None = None  # the whole model
    held: dict[int, list[Any]] = field(default_factory=dict)  # variables of the subproblem's rows and terms, by id

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

    def solvers(self, *, convex: bool = True) -> str:
        """Return the solvers of the whole model, as ``whole_solvers`` does."""
        return whole_solvers(self.cache, convex=convex)

    def check_separable(self) -> None:
        """Raise ModelError for mixed rows and terms and for relaxed switches, which prevent a decomposition.

        The message names the first of them, and the solvers for the whole model.
        """
        if self.mixed:
            names = ", ".join({v.parent_component().name: None for v in self.structure.variables()})
            raise ModelError(
                f"{self.mixed[0]} holds variables of the subproblem ({names}) together with others, and is not a "
                f"declared coupling: no decomposition driver supports it. {self._remedy()}Solve the whole model by "
                f"name: {self.solvers(convex=False)}."
            )
        for binary, _ in self.structure.switches:
            low, up = (binary.value, binary.value) if binary.fixed else binary.bounds
            if not ((binary.fixed or binary.is_integer()) and {low, up} <= {0, 1}):
                raise ModelError(
                    f'Variable "{binary.name}" is not binary, but it switches a variable on or off. Solve the relaxed '
                    "model whole, with clarabel if it is convex."
                )

    def check_master(self, *, supported: bool = False) -> None:
        """Raise ModelError for a row or term of the master that is not linear, unless its solver supports it."""
        rows = (f'Row "{row.name}"' for row in self.master_rows if not is_linear(row.body))
        first = next(rows, next((f"Objective term {t}" for t in self.master_terms if not is_linear(t)), ""))
        if first and not supported:
            able = [n for n in names(C.MILP | needs(self.cache)[0]) if not SOLVERS[n].untrusted]
            remedy = f'use "benders" with master_solver="{able[0]}", or ' if able else ""
            whole = f"solve the whole model by name: {self.solvers(convex=False)}"
            raise ModelError(f"{first} of the master is not linear: {remedy}{whole}.")

    def _remedy(self) -> str:
        """Return a sentence with the variables that belong to neither part, "" if there are none."""
        structure = self.structure
        known = {id(v) for v in [*structure.variables(), *structure.complicating]}
        added = [] if structure.built else [v for v in used_variables(self.cache) if id(v) not in known]
        left = {v.parent_component().name: None for v in added}
        if not structure.built and structure.coupling is not None:
            return "Add it to coupling=, or leave coupling= out. "
        return f"Give {', '.join(left)} to complicating= or subproblem=, or leave subproblem= out. " if left else ""


def is_declared(structure: Structure, component: Any) -> bool:
    """Return whether a component belongs to the coupling that a builder declared, or contains its disjuncts."""
    coupling = structure.coupling or () if structure.built is not None else ()
    choices = [choice for c in coupling if c.ctype is Disjunction for choice in c.values()]
    own = {*map(id, coupling), *(id(d.parent_component()) for choice in choices for d in choice.disjuncts)}
    return id(component) in own


class _Stated:
    """The rows and terms of a builder, by id; empty for a structure that a user declared.

    ``rows``, ``coupling``: with their expressions. ``choices``: the disjunctions of the coupling. ``written``: the rows
    of their transformations. ``terms``: of the objective, if ``intact``: none of its named expressions was changed.
    """

    def __init__(self, structure: Structure, objective: Any) -> None:
        built, built_coupling = structure.built, structure.built_coupling
        self.rows = built.stated_by_rows() if built else {}
        self.coupling = built_coupling.stated_by_rows() if built_coupling else {}
        self.choices = [d for c in structure.coupling or () if c.ctype is Disjunction for d in c.values()]
        self.written = {id(row) for d in self.choices for row in _written(d)} if built else set()
        atoms = built.same_named() if built else []
        self.intact = built is not None and len(atoms) == len(structure.terms)
        self.terms = {id(t) for t in structure.built_terms} if self.intact else set()
        self.objective = list(terms(objective.expr, atoms))
        self.alive: set[int] = set()  # rows that are unchanged and active

    def kind(self, row: Any) -> str:
        """Return "subproblem", "coupling" or "written" for a row of the builder, and "" for other and changed rows."""
        key = id(row)
        if key in self.rows and row.expr is self.rows[key]:
            return "subproblem"
        if key in self.written:  # equivalent to its disjunction, which the switches cover
            return "written"
        return "coupling" if key in self.coupling and row.expr is self.coupling[key] else ""


def split(model: Any, structure: Structure) -> SplitModel:
    """Split the active rows and objective terms of a model.

    Rows that are still the builder's own objects are not walked, which saves time if they are dense. Raises ModelError
    if the model does not have exactly one active objective.
    """
    model = cached(model)
    objective = single_objective(model)
    stated = _Stated(structure, objective)
    rows, copies, origin = model.rows, structure.copies, {}
    if copies is not None and copies.merged:
        origin = copies.origin
        rows = copies.rows(rows)
        stated.objective = [t if (term := copies.term(t)) is None else term for t in stated.objective]
    walked = {id(row): list(variables(row.body)) for row in rows if not stated.kind(row)}
    of_terms = [(t, [] if id(t) in stated.terms else list(variables(t))) for t in stated.objective]
    added = [*walked.values(), *(held for _, held in of_terms)] if structure.built else []
    if not structure.built and model.written is not None:  # its binaries belong to no part yet
        written = {id(row) for row in model.written.rows}
        added = [walked[id(row)] for row in rows if id(origin.get(id(row), row)) in written]
    structure = widened(structure, added)
    parts = SplitModel(structure, 1.0 if objective.sense == pyo.minimize else -1.0)
    parts.cache = model
    parts.links = _links([d for d in stated.choices if d.active])
    links = [(row, list(variables(row.body))) for row in parts.links.disjunction.values()]
    of_master = [
        structure.complicating,
        *_split_rows(parts, rows, stated, walked),
        *_split_terms(parts, stated, of_terms),
        *(held for _, held in links),
    ]
    _add_edits(parts, model, stated, objective)
    parts.master_rows += [row for row, _ in links]
    parts.master_variables = list({id(v): v for held in of_master for v in held}.values())
    return parts


def _split_rows(parts: SplitModel, rows: list[Any], stated: _Stated, walked: dict[int, list[Any]]) -> list[Any]:
    """Add the rows to the parts, and return the variables of each row of the master.

    ``walked``: the variables of the rows that the builder has not stated.
    """
    structure, of_master = parts.structure, []
    inside = {id(v) for v in structure.variables()}
    complicating = {id(v) for v in structure.complicating}
    coupling = {id(c) for c in structure.coupling or ()}
    origin: dict[int, Any] = {} if structure.copies is None else structure.copies.origin
    for row in rows:
        kind = stated.kind(row)
        if kind == "written":
            continue
        if kind:
            stated.alive.add(id(row))
            (parts.subproblem_rows if kind == "subproblem" else parts.coupling_rows).append(row)
            continue
        held = walked[id(row)]
        outside = {id(v) for v in held} - inside
        component = origin.get(id(row), row).parent_component()
        if all(id(v) not in inside for v in held):
            parts.master_rows.append(row)
            of_master.append(held)
            continue
        parts.held[id(row)] = held
        if not outside:
            parts.subproblem_rows.append(row)
            parts.edits.append(f'row "{row.name}"')
        elif outside <= complicating and (structure.coupling is None or id(component) in coupling):
            parts.coupling_rows.append(row)
        elif outside <= complicating and structure.built and is_linear(row.body):
            (parts.linking_rows if structure.switches else parts.coupling_rows).append(row)
            parts.edits.append(f'row "{row.name}"')
        else:
            parts.mixed.append(f'Row "{row.name}"')
    return of_master


def _split_terms(parts: SplitModel, stated: _Stated, of_terms: list[tuple[Any, list[Any]]]) -> list[Any]:
    """Add the terms with their variables to the parts, and return the variables of each term of the master."""
    inside, of_master = {id(v) for v in parts.structure.variables()}, []
    for term, held in of_terms:
        kind = {id(v) in inside for v in held}
        if id(term) in stated.terms or kind == {True}:
            parts.held[id(term)] = held
            parts.subproblem_terms.append(term)
        elif True not in kind:
            parts.master_terms.append(term)
            of_master.append(held)
        else:
            parts.mixed.append(f"Objective term {term}")
    return of_master


def _add_edits(parts: SplitModel, model: ModelCache, stated: _Stated, objective: Any) -> None:
    """Add the names of the edits of a builder's subproblem and coupling to the parts."""
    structure = parts.structure
    built, built_coupling = structure.built, structure.built_coupling
    if not built or not built_coupling:
        return
    coupling_edits = _coupling_edits(built_coupling, stated.choices, stated.alive)
    parts.coupling_edits = [*coupling_edits, *_set_edits(model, structure)]
    parts.edits += [*_edits(built, stated.alive), *parts.coupling_edits]
    same = stated.intact and objective.sense == built.sense
    there = stated.alive.issuperset(map(id, built.rows)) and not parts.coupling_edits
    now = {id(term) for term in parts.subproblem_terms}
    parts.restricted = same and there and stated.terms <= now and built.narrowed()
    if not (same and sorted(map(id, parts.subproblem_terms)) == sorted(stated.terms)):
        parts.edits.append("objective")


def _edits(built: AsBuilt, alive: set[int]) -> Iterator[str]:
    """Yield the names of the removed and changed parts of the builder's subproblem, without the coupling."""
    for row in built.rows:
        if id(row) not in alive:
            yield f'row "{row.name}" (changed, deactivated, deleted or replaced)'
    for v in built.changed_variables():
        yield f'variable "{v.name}" (bounds, domain or fixed value)'


def _coupling_edits(built: AsBuilt, choices: list[Any], alive: set[int]) -> Iterator[str]:
    """Yield the names of the removed and changed parts of the builder's coupling, and of rows added to disjuncts."""
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
        else:  # a transformation deactivates the rows that it has rewritten
            block = disjunct.transformation_block
            rows = () if block is None else block.component_data_objects(pyo.Constraint)
            same = row.expr is expression and (row.active or any(True for _ in rows))
        if not same:
            yield f'row "{row.name}" (changed, deactivated, deleted or replaced)'


def _set_edits(model: ModelCache, structure: Structure) -> Iterator[str]:
    """Yield the names of the removed, changed and new ordered sets of the coupling."""
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
    """Return a model with a row for each disjunction: exactly one of its indicators is 1, or at least one."""
    links = pyo.ConcreteModel()
    links.disjunction = pyo.Constraint(pyo.Any)
    for choice in choices:
        total = pyo.quicksum(d.binary_indicator_var for d in choice.disjuncts)
        links.disjunction[choice.name] = total == 1 if choice.xor else total >= 1
    return links


def floor_of(parts: SplitModel) -> float | None:
    """Return a lower bound of the subproblem's value at every point; None if none is known."""
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
    """Return the parts with an oracle that handles the edits; without one the same parts, and the reason."""
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
        objective = pyo.quicksum(parts.subproblem_terms)
        cost = Curve.of(objective, "the objective", variables, parts.sign, keep_fixed=True)
    except ModelError:
        raise Inexpressible("the objective, which is not convex quadratic") from None
    return EditedSub(variables, complicating, kept, rows, cost, list(parts.edits))
