r"""The same problem once more, on components of its own, which a decomposition driver solves and proves.

A builder whose model writes a choice with continuous r in [0, 1] in place of sigma in {0, 1} declares how to build the
model with sigma. It guarantees that every point of its model gives a point of the equivalent model at no higher cost,
with sigma_j = 1 where r_j = 1, sigma_j = 0 where r_j < 1 and all else equal, and that every point of the equivalent
model is a point of the model.

Rows on r
    of the user's own hold for sigma too if rounding a fraction down keeps them: all of their r are binary; or it is an
    upper bound and the coefficients of r are >= 0, or a lower one and they are <= 0, whatever else it holds; or it says
    r_a <= r_b or r_a = r_b, where one may be integer; or it is on r alone, with coefficients of one sign, and the other
    side is 0 at most or as large as can be. Fractions could satisfy any other row at a lower cost.
Bounds
    Where every point of the edited model is one of the model as built, the equivalent model with the rows that hold for
    sigma is a relaxation of it, so its bound holds.
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
    """How a model is built anew as one that ``driver`` proves.

    - ``build``: model -> the equivalent model with the current values of parameters, without the user's edits.
    - ``choices``: model or equivalent model -> the variables that choose, in one order for both.
    - ``load``: (model, equivalent): write the equivalent model's point on the model as built.
    - ``driver``: str.
    - ``floor``: no point of the model as built costs less.
    """

    build: Callable[[Any], Any]
    choices: Callable[[Any], list[Any]]
    load: Callable[[Any, Any], None]
    driver: str = "branch-and-cut"
    floor: float = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> EquivalentModel:
        """Return this object, which holds nothing of the model: its clone shares it."""
        return self

    def exact(self, model: Any, built: AsBuilt) -> Any:
        """Return the equivalent model with the user's rows on the choices.

        Raises ModelError, naming an edit that the equivalent model cannot have.
        """
        for edit in self._edits(model, built):
            raise ModelError(
                f"{edit}: {self.driver} solves a 0/1 choice in place of this model, which does not have that. State it "
                f"on a binary sigma, or solve the model by name: {either(C.SOS)}."
            )
        return self.relaxed(model, built)

    def _edits(self, model: Any, built: AsBuilt) -> Iterator[str]:
        """Yield, in words, what of the user's edits the equivalent model leaves out."""
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
                yield f'Row "{row.name}" is not on sigma alone, or a fraction of it may satisfy it'

    def relaxed(self, model: Any, built: AsBuilt) -> Any:
        """Return a relaxation of a model whose points are all points of the model as built."""
        equivalent = self.build(model)
        pairs = list(zip(self.choices(model), self.choices(equivalent), strict=True))
        for given, chosen in pairs:  # above a bound below 1 there is no 1, and no fraction is above 1
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
        parts: dict[int, Any] = {}  # under the names they have, for the message that says which of them clash
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
        """Return whether a row is on the choices and variables of the user's own, and holds for whole choices too."""
        choices = {id(v): v for v in self.choices(model)}
        inside = {id(v) for v in built.variables} - set(choices)
        held = list(variables(row.body))
        if any(id(v) in inside for v in held):
            return False
        return _rounds_down(row, {id(v) for v in held if id(v) in choices and not v.is_integer() and not v.fixed})


def _added(model: Any, built: AsBuilt) -> list[Any]:
    """Return the rows that are not the builder's."""
    known = {id(row) for row in built.rows}
    rows = model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE)
    return [row for row in rows if id(row) not in known]


def _rounds_down(row: Any, fractions: set[int]) -> bool:
    """Return whether a row still holds where some of these variables, in [0, 1), are put to 0."""
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
