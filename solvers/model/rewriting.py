"""Components that solvers do not see, such as disjunctions, written as plain rows on a clone.

Pyomo's solvers skip what they do not know, and then say "optimal". Before a solve the active component types are
listed; what the solver would not see is transformed on a clone, and the values are mapped back to the user's model,
whose components and active flags stay as they are. What cannot be transformed is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import PyomoException
from pyomo.common.modeling import unique_component_name
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import SolverSpec, names
from solvers.model.cloning import clone_of
from solvers.model.expressions import variables
from solvers.model.unsupported import unknown_components, unseen
from solvers.reading import ModelReading, read
from solvers.values import INSIDE


@dataclass
class Visible:
    """A model whose rows the solver sees all: the user's own, or a clone of it with everything written as rows."""

    model: Any
    written: list[str] = field(default_factory=list)  # kinds of components that became rows
    pairs: list[tuple[Any, Any]] = field(default_factory=list)  # (user's variable, its copy)
    logical: list[tuple[Any, Any]] = field(default_factory=list)

    @cached_property
    def reading(self) -> ModelReading:
        """Its components; for whoever has written them."""
        return ModelReading(self.model)

    @classmethod
    def of(cls, reading: ModelReading) -> Visible:
        """Return a model as it is."""
        seen = cls(reading.model)
        seen.reading = reading
        return seen

    def copy_of(self, v: Any) -> Any:
        """Return the variable that stands for a user's, itself where the model is the user's own."""
        return self._copies.get(id(v), v)

    @cached_property
    def _copies(self) -> dict[int, Any]:
        return {id(v): copy for v, copy in self.pairs}

    def send(self) -> None:
        """Put the user's values on the copy."""
        for v, copy in self.pairs:
            copy.set_value(v.value, skip_validation=True)

    def bring_back(self) -> None:
        """Put the copy's values on the user's model, truth values too."""
        for v, copy in self.pairs:
            v.set_value(copy.value, skip_validation=True)
        for v, copy in self.logical:
            binary = copy.get_associated_binary()
            if binary is not None and binary.value is not None and not v.fixed:
                v.set_value(binary.value > 0.5, skip_validation=True)


def visible(model: Any, spec: SolverSpec, sizes: Mapping[int, float] | None = None) -> Visible:
    """Return a model that the solver sees all of.

    ``sizes``: sizes of variables by their id, 1 for those that are missing; new variables are of the same sizes.

    Raises ModelError if a component is of a kind nobody here knows, or cannot be transformed, for example a disjunction
    of variables without bounds for its big-M.
    """
    reading = read(model)
    model = reading.model
    strange = unknown_components(reading)
    if strange:
        raise ModelError(f"No solver here sees {', '.join(strange)}: transform or deactivate it before solving.")
    hidden = unseen(reading)
    if "SOSConstraint" in hidden:
        if C.SOS not in spec.capabilities:
            able = ", ".join(names(C.SOS)) or "none"
            raise ModelError(
                f"The model has SOS constraints, which {spec.name} does not see. Installed solvers that do: {able}."
            )
        hidden.remove("SOSConstraint")
    if not hidden:
        return Visible.of(reading)
    clone = clone_of(model)
    answer = Visible(clone, hidden, pairs_of(model, clone, pyo.Var), pairs_of(model, clone, pyo.BooleanVar))
    if C.SOS in spec.capabilities:
        _as_ordered_sets(clone, {id(copy): sizes.get(id(v), 1.0) for v, copy in answer.pairs} if sizes else {})
    steps = {"Complementarity": "mpec.simple_nonlinear" if spec.local else "mpec.simple_disjunction"}
    steps |= {"LogicalConstraint": "contrib.logical_to_disjunctive", "Disjunction": "gdp.bigm"}
    try:
        for kind, transformation in steps.items():  # the first may leave disjunctions, the second rows only
            if kind in unseen(clone):
                pyo.TransformationFactory(transformation).apply_to(clone)
    except (PyomoException, ValueError) as error:
        said = " ".join(str(error).split())
        raise ModelError(
            f"{spec.name} does not see the model's {', '.join(hidden)}, and {transformation} failed: {said} "
            f"Bound the variables in it, or apply a transformation of your own before solving.{_without_bounds(hidden)}"
        ) from error
    left = [kind for kind in unseen(clone) if kind != "SOSConstraint"]
    if left:
        raise ModelError(f"{spec.name} does not see {', '.join(left)}: transform them before solving.")
    return answer


def _without_bounds(hidden: list[str]) -> str:
    able = ", ".join(names(C.SOS))
    return f" Installed solvers that need no bounds: {able}." if hidden == ["Complementarity"] and able else ""


def _as_ordered_sets(clone: Any, size: Mapping[int, float]) -> None:
    """Write 0 <= a _|_ b >= 0 with two variables equal to a and b, one of which is 0: no bound on them is needed.

    What is bounded on both sides or free, and what holds in a disjunct only, is left to the disjunctions. The variables
    are a and b in units of their own variables' ``size``: within a solver's tolerance, 1e-6 would count as 0.
    """
    found = list(clone.component_data_objects(Complementarity, active=True, descend_into=pyo.Block))
    if not found:
        return
    place = pyo.Block(range(len(found)))
    clone.add_component(unique_component_name(clone, "ordered"), place)
    for part, condition in zip(place.values(), found, strict=True):
        sides = [_distance(condition._canonical_expression(side)) for side in condition._args]
        if None in sides:
            continue
        part.either = pyo.Var([0, 1], domain=pyo.NonNegativeReals)
        unit = [max((size.get(id(v), 1.0) for v in variables(side)), default=1.0) for side in sides]
        part.equal = pyo.Constraint([0, 1], rule=lambda b, k, sides=sides, f=unit: f[k] * b.either[k] == sides[k])
        part.one = pyo.SOSConstraint(var=part.either, sos=1)
        condition.deactivate()


def _distance(row: tuple[Any, ...]) -> Any:
    """Return the expression that is at least 0 in a row with one bound; None where it has none, two, or is equal."""
    if len(row) != 3 or (row[0] is None) == (row[2] is None):
        return None
    lower, body, upper = row
    return body - lower if upper is None else upper - body


def pairs_of(model: Any, clone: Any, kind: Any) -> list[tuple[Any, Any]]:
    """Return each variable of a model with its copy in a clone."""
    mine, copies = (m.component_data_objects(kind, descend_into=INSIDE) for m in (model, clone))
    return list(zip(mine, copies, strict=True))
