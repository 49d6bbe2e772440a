"""Taking a model apart into a master and a subproblem, afresh at each solve.

The user edits one ordinary model. Rows and objective terms without subproblem variables go to the master, with
whatever variables they hold; the rest goes to the subproblem. A term that mixes both is refused by name unless its
component is a declared coupling. Nothing of the user's model is copied: master and subproblem are separate models
that hold references to its variables and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.errors import ModelError
from solvers.expressions import terms, variables
from solvers.structure import AsBuilt, Structure

TINY = 1e-8


@dataclass
class Split:
    """A model in two parts, and how its subproblem differs from what the builder made.

    ``sign`` is -1 for a model that maximises: both parts then minimise the negative. ``edits`` names what changed in
    the subproblem; ``mixed`` names rows and terms that hold both kinds of variables without being a coupling.
    """

    structure: Structure
    sign: float
    master_rows: list[Any]
    subproblem_rows: list[Any]
    coupling_rows: list[Any]
    master_terms: list[Any]
    subproblem_terms: list[Any]
    master_variables: list[Any]
    edits: list[str]
    mixed: list[str]

    @property
    def as_built(self) -> bool:
        """Whether the subproblem is exactly what the builder made."""
        return self.structure.built is not None and not self.edits and not self.mixed

    def check_separable(self, solvers: str) -> None:
        """Refuse rows and terms that mix master and subproblem.

        Raises
        ------
        ModelError
            Naming the first of them and the solvers that can solve the whole model.
        """
        if self.mixed:
            names = ", ".join(str(v) for v in self.structure.subproblem)
            raise ModelError(
                f"{self.mixed[0]} holds variables of the subproblem ({names}) together with others, and is not a "
                f"declared coupling: no decomposition driver can take it. Solve the whole model by name: {solvers}."
            )


def split(model: Any, structure: Structure) -> Split:
    """Sort the active rows and objective terms of a model.

    Rows that are still the builder's own objects are not walked, however dense.

    Raises
    ------
    ModelError
        If the model has no single active objective, or was edited where a fact that holds only as built is in use.
    """
    objective = single_objective(model)
    subproblem = structure.variables()
    inside = {id(v) for v in subproblem}
    built = structure.built
    known = dict(zip(map(id, built.rows), built.expressions, strict=True)) if built else {}
    coupling = None if structure.coupling is None else {id(c) for c in structure.coupling}
    complicating = {id(v) for v in structure.complicating}

    parts = Split(structure, 1.0, [], [], [], [], [], list(structure.complicating), [], [])
    parts.sign = 1.0 if objective.sense == pyo.minimize else -1.0
    seen = set(complicating)
    alive = set()

    for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
        component = row.parent_component()
        unchanged = id(row) in known and row.expr is known[id(row)]
        if unchanged:
            alive.add(id(row))
        if coupling is not None and id(component) in coupling:
            if not unchanged:
                parts.edits.append(f'row "{row.name}"')
            parts.coupling_rows.append(row)
        elif unchanged:
            parts.subproblem_rows.append(row)
        else:
            held = list(variables(row.body))
            kind = {id(v) in inside for v in held}
            if kind == {True}:
                parts.subproblem_rows.append(row)
                parts.edits.append(f'row "{row.name}"')
            elif True not in kind:
                parts.master_rows.append(row)
                _collect(held, seen, parts.master_variables)
            elif coupling is None:
                parts.coupling_rows.append(row)
            else:
                parts.mixed.append(f'Row "{row.name}"')

    for term in terms(objective.expr, structure.terms):
        if any(term is t for t in (built.objective if built else ())):
            parts.subproblem_terms.append(term)
            continue
        held = list(variables(term))
        kind = {id(v) in inside for v in held}
        if kind == {True}:
            parts.subproblem_terms.append(term)
        elif True not in kind:
            parts.master_terms.append(term)
            _collect(held, seen, parts.master_variables)
        else:
            parts.mixed.append(f"Objective term {term}")

    if built:
        parts.edits += _edits(structure, built, parts, alive)
    if structure.only_as_built and (parts.edits or parts.mixed):
        raise ModelError(
            f"{[*parts.edits, *parts.mixed][0]} edits the subproblem, but {structure.only_as_built} holds only for the "
            'model as it was built. Build it with form="perspective" and edit that.'
        )
    return parts


def _edits(structure: Structure, built: AsBuilt, parts: Split, alive: set[int]) -> Iterator[str]:
    """Yield, in words, what of the builder's subproblem is gone or changed."""
    for row in built.rows:
        in_disjunct = row.parent_component() is not None and row.parent_block() is not row.model()
        if id(row) not in alive and not in_disjunct:
            yield f'row "{row.name}" (deactivated, deleted or replaced)'
    for row, expression in zip(built.rows, built.expressions, strict=True):
        if row.parent_block() is not row.model() and (row.expr is not expression or not row.active):
            yield f'row "{row.name}"'
    for component in structure.coupling or ():
        if component.ctype is not pyo.Constraint and not component.active:
            yield f'disjunction "{component.name}" (deactivated)'
    for v in built.changed_variables():
        yield f'variable "{v.name}" (bounds, domain or fixed value)'
    same = len(parts.subproblem_terms) == len(built.objective)
    same &= all(any(t is b for b in built.objective) for t in parts.subproblem_terms)
    same &= all(e.expr is before for e, before in zip(structure.terms, built.terms, strict=True))
    if not same:
        yield "objective"


def single_objective(model: Any) -> Any:
    """Return the one active objective.

    Raises
    ------
    ModelError
        If there is none, or more than one.
    """
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    if len(objectives) != 1:
        found = ", ".join(o.name for o in objectives) or "none"
        raise ModelError(f"The model needs exactly one active objective, found: {found}. Deactivate the others.")
    return objectives[0]


def implied_structure(model: Any, complicating: Sequence[Any], subproblem: Sequence[Any] | None = None) -> Structure:
    """Return the structure of a model without a builder: every other variable in use is the subproblem's.

    Parameters
    ----------
    complicating : Var components or data
    subproblem : Var components, optional
        Default: all variables of active rows and of the objective that are not complicating.
    """
    fixed_first = [d for c in complicating for d in (c.values() if c.is_indexed() else [c])]
    outside = {id(v) for v in fixed_first}
    if subproblem is None:
        subproblem = [
            c
            for c in model.component_objects(pyo.Var, active=True, descend_into=True)
            if not any(id(v) in outside for v in c.values())
        ]
    return Structure(complicating=fixed_first, subproblem=list(subproblem), coupling=None)


def _collect(held: Sequence[Any], seen: set[int], into: list[Any]) -> None:
    for v in held:
        if id(v) not in seen:
            seen.add(id(v))
            into.append(v)


class Master:
    """The master as a model of its own: references to the user's rows and variables, ``eta``, and the cuts.

    ``model.eta`` bounds the subproblem's value from below; ``model.cuts`` grow.
    """

    def __init__(self, parts: Split, floor: float | None) -> None:
        self.parts = parts
        self.point_variables = parts.structure.complicating
        model = self.model = pyo.ConcreteModel(name="master")
        model.variables = pyo.Reference(dict(enumerate(parts.master_variables)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(parts.master_rows)), ctype=pyo.Constraint)
        model.eta = pyo.Var(bounds=(floor, None), doc="value of the subproblem, at least")
        model.cuts = pyo.ConstraintList(doc="optimality and feasibility cuts")
        cost = parts.sign * pyo.quicksum(parts.master_terms) if parts.master_terms else 0.0
        model.objective = pyo.Objective(expr=model.eta + cost)
        self._cost = cost
        self._has_floor = floor is not None
        if floor is None:
            model.eta.fix(0.0)  # nothing bounds eta before the first cut

    @property
    def bounded(self) -> bool:
        """Whether the master's optimum bounds the model's."""
        return self._has_floor

    def cost(self) -> float:
        """Return the master's own objective terms at the values on the model."""
        return float(pyo.value(self._cost))

    def point(self) -> np.ndarray:
        """Return the complicating variables' values, discrete ones rounded, and put the rounded ones on the model."""
        for v in self.parts.master_variables:
            if not v.is_continuous() and not v.fixed:
                v.set_value(round(pyo.value(v)), skip_validation=True)
        return np.array([pyo.value(v) for v in self.point_variables])

    def add_cut(self, constant: float, coefficients: np.ndarray) -> None:
        """Add ``eta >= constant + coefficients . x``."""
        if not self._has_floor:
            self.model.eta.unfix()
            self._has_floor = True
        self._add(constant, coefficients, with_eta=True)

    def add_feasibility_cut(self, constant: float, coefficients: np.ndarray) -> None:
        """Add ``0 >= constant + coefficients . x``: there the subproblem has a solution."""
        self._add(constant, coefficients, with_eta=False)

    def _add(self, constant: float, coefficients: np.ndarray, *, with_eta: bool) -> None:
        # MILP solvers drop coefficients this small, which strengthens the cut: their least value goes to the constant.
        bounded = np.array([None not in v.bounds for v in self.point_variables])
        tiny = (np.abs(coefficients) <= TINY) & (coefficients != 0) & bounded
        constant += sum(min(c * x for x in self.point_variables[k].bounds) for k, c in _at(coefficients, tiny))
        where = np.flatnonzero((coefficients != 0) & ~tiny)
        coefs, held = (-coefficients[where]).tolist(), [self.point_variables[k] for k in where]
        if with_eta:
            coefs, held = [1.0, *coefs], [self.model.eta, *held]
        if held:
            self.model.cuts.add((float(constant), LinearExpression(linear_coefs=coefs, linear_vars=held), None))


def _at(values: np.ndarray, mask: np.ndarray) -> Iterator[tuple[int, float]]:
    return ((int(k), float(values[k])) for k in np.flatnonzero(mask))


@contextmanager
def fixed(variables_and_values: Sequence[tuple[Any, float]]) -> Iterator[None]:
    """Fix variables for a while, and restore what they were."""
    before = [(v, v.fixed, v.value) for v, _ in variables_and_values]
    for v, value in variables_and_values:
        v.fix(value, skip_validation=True)
    try:
        yield
    finally:
        for v, was_fixed, value in before:
            v.set_value(value, skip_validation=True)
            v.fixed = was_fixed
