r"""Equivalent models: the same problem with other components, which a decomposition driver solves and proves.

A builder that models a choice with continuous r in [0, 1] in place of sigma in {0, 1} declares how to build the model
with sigma. It guarantees that every point of its model gives a point of the equivalent model at no higher cost, with
sigma_j = 1 if r_j = 1, sigma_j = 0 if r_j < 1 and equal other variables, and that every point of the equivalent model
is a point of the model.

Rows on r
    that the user adds hold for sigma too if they still hold when fractions are rounded down. This is true in the
    following cases: all their r are binary; it is an upper bound with coefficients of r >= 0, or a lower bound with
    coefficients <= 0; it is r_a <= r_b or r_a = r_b, and one of them may be integer; it is on r only, with coefficients
    of one sign, and the other side is at most 0 or as large as possible. Fractions could satisfy any other row at a
    lower cost.
Bounds
    If every point of the edited model is a point of the model as built, the equivalent model with the rows that hold
    for sigma is a relaxation of it, so its bound is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.visitor import replace_expressions
from pyomo.repn import generate_standard_repn

from solvers.errors import ModelError
from solvers.facts.snapshot import AsBuilt
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.expressions import variables
from solvers.model.rewriting import others
from solvers.values import INSIDE, same, state


@dataclass(frozen=True)
class EquivalentModel:
    """Construction of a model that ``driver`` can solve and prove.

    - ``build``: model -> the equivalent model with the present values of parameters, without edits of the user.
    - ``choices``: model or equivalent model -> the choice variables, in the same order for both.
    - ``load``: (model, equivalent) -> None: copies the point of the equivalent model to the model as built.
    - ``driver``: str.
    - ``floor``: a lower bound of the objective of the model as built.
    """

    build: Callable[[Any], Any]
    choices: Callable[[Any], list[Any]]
    load: Callable[[Any, Any], None]
    driver: str = "branch-and-cut"
    floor: float = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> EquivalentModel:
        """Return this object, which a clone of the model shares, because it refers to no component."""
        return self

    def exact(self, model: Any, built: AsBuilt) -> Any:
        """Return the equivalent model with the rows of the user on the choices.

        Raises ModelError, naming an edit that the equivalent model does not support.
        """
        for edit in self._edits(model, built):
            raise ModelError(
                f"{edit}: {self.driver} solves an equivalent model with 0/1 choices, which does not support this edit. "
                f"State it on a binary sigma, or solve the model by name: {either(C.SOS)}."
            )
        return self.relaxed(model, built)

    def _edits(self, model: Any, built: AsBuilt) -> Iterator[str]:
        """Yield the edits of the user that the equivalent model does not contain, as text."""
        choices = {id(v) for v in self.choices(model)}
        if not built.restricted(model):
            yield "A row, bound or objective is no longer as built"
        own = {id(part.parent_component()) for part in built.others}
        for name in others(model, lambda component: id(component) in own):
            yield f"The model has {name}"
        for v, before in zip(built.variables, built.states, strict=True):
            if id(v) not in choices and not same(state(v), before):
                yield f'Variable "{v.name}" is no longer as built'
            elif id(v) in choices and not {*v.bounds, v.value if v.fixed else 0} <= {0, 1}:
                yield f'Variable "{v.name}" is bounded or fixed by a fraction'
        for row in _added(model, built):
            if not self._holds(model, built, row):
                yield f'Row "{row.name}" is not on sigma only, or fractions of sigma may satisfy it'

    def relaxed(self, model: Any, built: AsBuilt) -> Any:
        """Return a relaxation of a model whose points are all points of the model as built."""
        equivalent = self.build(model)
        pairs = list(zip(self.choices(model), self.choices(equivalent), strict=True))
        for given, chosen in pairs:  # an upper bound below 1 excludes 1, and a lower bound of 1 excludes fractions
            least, most = (given.value, given.value) if given.fixed else given.bounds
            if most < 1:
                chosen.setub(0)
            elif least >= 1:
                chosen.setlb(1)
        rows = [row for row in _added(model, built) if self._holds(model, built, row)]
        known = {id(given) for given, _ in pairs}
        own = {id(v): v for row in rows for v in variables(row.body) if id(v) not in known}
        equivalent.own_variables = pyo.Reference(dict(enumerate(own.values())), ctype=pyo.Var)
        there = {id(given): chosen for given, chosen in pairs}
        parts: dict[int, Any] = {}  # with the names of the user, for the message about conflicting rows
        for row in rows:
            part, sides = row.parent_component(), (row.lower, replace_expressions(row.body, there), row.upper)
            if id(part) in parts:
                parts[id(part)][row.index()] = sides
                continue
            parts[id(part)] = same = pyo.Constraint(pyo.Any) if part.is_indexed() else pyo.Constraint(expr=sides)
            equivalent.add_component(unique_component_name(equivalent, part.local_name), same)
            if part.is_indexed():
                same[row.index()] = sides
        return equivalent

    def _holds(self, model: Any, built: AsBuilt, row: Any) -> bool:
        """Return True if a row is on the choices and on variables of the user, and holds for integer choices too."""
        choices = {id(v): v for v in self.choices(model)}
        inside = {id(v) for v in built.variables} - set(choices)
        held = list(variables(row.body))
        if any(id(v) in inside for v in held):
            return False
        return _rounds_down(row, {id(v) for v in held if id(v) in choices and not v.is_integer() and not v.fixed})


def _added(model: Any, built: AsBuilt) -> list[Any]:
    """Return the rows that are not in the snapshot, including those of disjuncts."""
    return built.added(model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE))


def _rounds_down(row: Any, fractions: set[int]) -> bool:
    """Return True if a row still holds after some of these variables, which are in [0, 1), are set to 0."""
    if not fractions:
        return True
    repn = generate_standard_repn(row.body, compute_values=True)
    if not repn.is_linear():
        return False
    lower, upper = (None if side is None else float(side) - repn.constant for side in (row.lb, row.ub))
    if all(c <= 0 for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True) if id(v) in fractions):
        coefs = [-c for c in repn.linear_coefs]
        lower, upper = None if upper is None else -upper, None if lower is None else -lower
    else:
        coefs = list(repn.linear_coefs)
    alone = all(id(v) in fractions for v in repn.linear_vars)
    whole = all(id(v) in fractions or v.is_integer() for v in repn.linear_vars)  # rounding these down keeps their order
    if whole and len(coefs) == 2 and coefs[0] == -coefs[1]:
        return {lower, upper} <= {None, 0.0}
    if any(c < 0 for v, c in zip(repn.linear_vars, coefs, strict=True) if id(v) in fractions):
        return False
    return lower is None or (alone and (lower <= 0 or lower >= sum(coefs)))
