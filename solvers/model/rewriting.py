"""Reformulation as rows, or rejection, of components that solvers do not support, such as disjunctions.

All solvers and drivers read active rows, one objective, and the bounds and integrality of variables. Pyomo's solvers
ignore other components and still report "optimal". Therefore any other component that restricts a model is supported by
a driver that declares it (``Driver.sees``), or written as rows, or rejected by name. Unknown kinds are rejected too.

- ``visible``: for a solver. The rows are written on a clone, and the values are mapped back to the user's model, whose
  components and active flags stay as they are.
- ``written_rows``: for a driver. The new rows of the clone are stated on the variables of the model, with the binaries
  that the transformations have added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import PyomoException
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr import replace_expressions
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity

from solvers.errors import ModelError
from solvers.interfaces.registry import SOLVERS, SolverSpec, either, names
from solvers.interfaces.registry import Capability as C
from solvers.interrupt import finishing
from solvers.model.classes import has_integers, needs
from solvers.model.expressions import variables
from solvers.model.function import is_linear
from solvers.model_cache import ModelCache, cached
from solvers.values import INSIDE

# Components that some solvers ignore; only these can be written as rows.
UNSEEN = {Disjunction: "Disjunction", pyo.LogicalConstraint: "LogicalConstraint", Complementarity: "Complementarity"}
UNSEEN |= {pyo.SOSConstraint: "SOSConstraint"}
_HARMLESS = {pyo.Var, pyo.Constraint, pyo.Objective, pyo.Block, pyo.Expression, pyo.Suffix, pyo.BooleanVar, Disjunct}
_HARMLESS |= {pyo.Param, pyo.RangeSet, pyo.SetOf, pyo.BuildCheck, pyo.BuildAction, pyo.ExternalFunction}
LOGIC = {"LogicalConstraint": "contrib.logical_to_disjunctive", "Disjunction": "gdp.bigm"}  # in this order
_REMEDY = "Write it as rows with a transformation of Pyomo, or deactivate it"


def unseen(model: Any) -> list[str]:
    """Return the kinds of active components that solvers ignore, but that can be written as rows."""
    model = cached(model)
    return [name for kind, name in UNSEEN.items() if model.data(kind)]


def others(model: Any, sees: Callable[[Any], bool]) -> list[str]:
    """Return the names of components other than rows, objectives and variables for which ``sees`` is False."""
    model = cached(model)
    return [*unknown_components(model, sees), *_hidden(model, sees)]


def unknown_components(model: ModelCache, sees: Callable[[Any], bool] = lambda component: False) -> list[str]:
    """Return the names of components that cannot be written as rows: arcs, derivatives, domains with gaps.

    These include disjuncts whose indicator is fixed at True if no active disjunction contains them, because solvers do
    not read their rows.
    """
    readable = _HARMLESS | UNSEEN.keys()
    odd = [c for c in model.components if c.ctype not in readable and not issubclass(c.ctype, pyo.Set) and not sees(c)]
    gaps = [v for v in model.variables if not v.is_continuous() and not v.is_integer() and not v.fixed]
    in_use = (d for d in model.data(Disjunct) if d.indicator_var.fixed and d.indicator_var.value)
    lone = [d for d in in_use if not sees(d.parent_component())]
    if lone:
        chosen = {id(d) for choice in model.data(Disjunction) for d in choice.disjuncts}
        lone = [d for d in lone if id(d) not in chosen and _has_rows(d)]
    return [
        *(f'{c.ctype.__name__} "{c.name}"' for c in odd),
        *(f'Var "{v.name}" (a domain with gaps)' for v in gaps),
        *(f'Disjunct "{d.name}" (in no active disjunction)' for d in lone),
    ]


def _has_rows(block: Any) -> bool:
    return any(True for _ in block.component_data_objects(pyo.Constraint, active=True))


def refuse_unseen(model: Any, who: str, sees: Callable[[Any], bool], remedy: str = "") -> None:
    """Raise ModelError for a model with active components that a driver does not support; the message names them.

    - ``model``: pyo.ConcreteModel.
    - ``who``: name of the driver.
    - ``sees``: component -> True if the driver supports it.
    - ``remedy``: the alternative if the model does not state its rows.
    """
    model = cached(model)
    strange = unknown_components(model, sees)
    hidden = [] if strange else list(_hidden(model, sees))
    if not strange and not hidden:
        return
    what = ", ".join((strange or hidden)[:3])
    if strange:
        remedy = f"no installed solver does. {_REMEDY}"
    elif not remedy:
        remedy = f"{_REMEDY[:1].lower()}{_REMEDY[1:]}, or solve the whole model by name: {whole_solvers(model)}"
    raise ModelError(f'"{who}" does not support {what} of the model: {remedy}.')


def smooth_pairs(cache: ModelCache) -> bool:
    """Return True for a continuous model whose only components besides rows and objectives are complementarities."""
    return unseen(cache) == ["Complementarity"] and not has_integers(cache)


def whole_solvers(model: Any, *, convex: bool = True) -> str:
    """Return the installed solvers of a whole model as text, such as "highs or scip", for messages.

    ``convex``: False if a row or the objective is not convex. Then local solvers are named too, and a driver that
    finds a stationary point: ``sla`` if all rows are linear, ``multi-start`` if all variables are continuous.
    """
    cache = cached(model)
    kinds, integer = needs(cache), has_integers(cache)
    if not convex and kinds[0] in (C.QP, C.QCP, C.MIQP, C.MIQCP):
        kinds = [C.MIQCP | C.NONCONVEX] if integer else [C.NONCONVEX, C.NLP]
    sided = (row for row in cache.rows if row.has_lb() and row.has_ub() and not row.equality)
    if not all(is_linear(row.body) for row in sided):  # Pyomo passes no such rows to gurobi
        kinds = [kind | C.NLP for kind in kinds]
    hidden = set(unseen(cache))
    if hidden & {"Disjunction", "LogicalConstraint"} and cache.written is None:  # their rows may have any class
        kinds = [C.MINLP]
    if hidden & {"SOSConstraint", "Complementarity"}:
        kinds = [kind | C.SOS for kind in kinds]
    able = dict.fromkeys(name for kind in kinds for name in names(kind))
    programs: dict[Any, str] = {}  # each once
    for name in able:
        if not SOLVERS[name].local:
            programs.setdefault(SOLVERS[name].version, name)
    found = " or ".join(programs.values()) or "none installed"
    if not any(C.NLP in kind for kind in kinds) and (convex or kinds[0] in (C.LP, C.MILP)):
        return found
    local = [name for name in able if SOLVERS[name].local and not integer]
    if all(is_linear(row.body) for row in cache.rows):
        local = [*local, '"sla"']
    elif not integer:
        local = [*local, '"multi-start"']
    return f"{found} (global), or {' or '.join(local)} (a stationary point)" if local else found


def _hidden(model: ModelCache, sees: Callable[[Any], bool]) -> Iterator[str]:
    for kind, name in UNSEEN.items():
        for c in model.components:
            if c.ctype is kind and any(d.active for d in c.values()) and not sees(c):
                yield f'{name} "{c.name}"'


class Attached:
    """Base class of data that are attached to models."""

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach these data to a clone; ``copies``, ``rows``: its variables and rows by the id of the originals."""


def clone_of(model: Any) -> Any:
    """Return a clone of a model with its attached data."""
    attached = {name: value for name, value in vars(model).items() if isinstance(value, Attached)}
    with finishing():  # delay Ctrl-C until the model has its attributes again
        try:
            for name in attached:
                delattr(model, name)
            clone = model.clone()
        finally:
            for name, found in attached.items():
                setattr(model, name, found)
    copies = {id(v): copy for v, copy in _pairs(model, clone, pyo.Var)}
    rows = {id(row): copy for row, copy in _pairs(model, clone, pyo.Constraint, active=True)}
    for found in {id(value): value for value in attached.values()}.values():
        found.follow(model, clone, copies, rows)
    return clone


def _pairs(model: Any, clone: Any, kind: Any, active: bool | None = None) -> list[tuple[Any, Any]]:
    """Return each component of a kind with its copy in a clone."""
    own, copies = (m.component_data_objects(kind, active=active, descend_into=INSIDE) for m in (model, clone))
    return list(zip(own, copies, strict=True))


@dataclass
class Visible:
    """A model with plain rows only: that of the user, or a clone with other components written as rows.

    ``written``: kinds of components that were written. ``pairs``, ``logical``: variables of the user with their copies.
    """

    model: Any
    written: list[str] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    logical: list[tuple[Any, Any]] = field(default_factory=list)

    @cached_property
    def cache(self) -> ModelCache:
        """The components of the model."""
        return ModelCache(self.model)

    @classmethod
    def of(cls, cache: ModelCache) -> Visible:
        """Return the model of the user itself."""
        seen = cls(cache.model)
        seen.cache = cache
        return seen

    @classmethod
    def cloned(cls, model: Any, written: list[str]) -> Visible:
        """Return a clone of a model, on which some kinds of components will be written as rows."""
        clone = clone_of(model)
        return cls(clone, written, _pairs(model, clone, pyo.Var), _pairs(model, clone, pyo.BooleanVar))

    def copy_of(self, v: Any) -> Any:
        """Return the copy of a variable of the user; the variable itself without a clone."""
        return self._copies.get(id(v), v)

    @cached_property
    def _copies(self) -> dict[int, Any]:
        return {id(v): copy for v, copy in self.pairs}

    def send(self) -> None:
        """Copy the values of the user's model to the clone."""
        for v, copy in self.pairs:
            copy.set_value(v.value, skip_validation=True)

    def bring_back(self) -> None:
        """Copy the values of the clone, including truth values, to the model of the user."""
        for v, copy in self.pairs:
            v.set_value(copy.value, skip_validation=True)
        self.set_truth_values()

    def set_truth_values(self) -> None:
        """Set the Boolean variables of the user by the binaries of the copy."""
        for v, copy in self.logical:
            binary = copy.get_associated_binary()
            if binary is not None and binary.value is not None and not v.fixed:
                v.set_value(binary.value > 0.5, skip_validation=True)


def _transform(clone: Any, steps: Mapping[str, str], what: str, hint: str = "") -> None:
    """Apply to a clone the transformation of each kind of component that it has.

    Raises ModelError if one fails; ``what`` begins the message and ``hint`` ends it.
    """
    try:
        for kind, transformation in steps.items():  # the first may create disjunctions
            if kind in unseen(clone):
                pyo.TransformationFactory(transformation).apply_to(clone)
    except (PyomoException, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{what} {transformation} failed: {reason} Bound its variables, or apply another transformation before "
            f"solving.{hint}"
        ) from error


def visible(model: Any, spec: SolverSpec, sizes: Mapping[int, float] | None = None) -> Visible:
    """Return the model in a form that the solver supports.

    ``sizes``: sizes of variables by their id, by default 1; new variables have the same sizes.

    Raises ModelError if a component is of an unknown kind, or cannot be transformed, for example a disjunction of
    variables without bounds for its big-M.
    """
    cache = cached(model)
    model = cache.model
    strange = unknown_components(cache)
    if strange:
        raise ModelError(f"No installed solver supports {', '.join(strange)}: transform or deactivate it.")
    hidden = unseen(cache)
    if "SOSConstraint" in hidden:
        if C.SOS not in spec.capabilities:
            able = ", ".join(names(C.SOS)) or "none"
            raise ModelError(f"{spec.name} does not support SOS constraints. Installed solvers that do: {able}.")
        hidden.remove("SOSConstraint")
    if not hidden:
        return Visible.of(cache)
    answer = Visible.cloned(model, hidden)
    clone = answer.model
    if C.SOS in spec.capabilities:
        _as_ordered_sets(clone, {id(copy): sizes.get(id(v), 1.0) for v, copy in answer.pairs} if sizes else {})
    steps = {"Complementarity": "mpec.simple_nonlinear" if spec.local else "mpec.simple_disjunction", **LOGIC}
    what = f"{spec.name} does not support {', '.join(hidden)}, and"
    able = ", ".join(names(C.SOS))
    hint = f" Installed solvers that need no bounds: {able}." if hidden == ["Complementarity"] and able else ""
    _transform(clone, steps, what, hint)
    left = [kind for kind in unseen(clone) if kind != "SOSConstraint"]
    if left:
        raise ModelError(f"{spec.name} does not support {', '.join(left)}: transform them before solving.")
    return answer


def _as_ordered_sets(clone: Any, size: Mapping[int, float]) -> None:
    """Write 0 <= a _|_ b >= 0 with two variables equal to a and b in an ordered set, which needs no bounds.

    Conditions with two bounds or none, and those in disjuncts, are left to the disjunctions. The new variables are a
    and b in units of the ``size`` of their variables, because 1e-6 would be 0 within the tolerance of a solver.
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
    """Return the expression that a row with one side keeps nonnegative; None for other rows."""
    if len(row) != 3 or (row[0] is None) == (row[2] is None):
        return None
    lower, body, upper = row
    return body - lower if upper is None else upper - body


@dataclass
class Written:
    """Rows for logical components; ``variables``: new variables; ``components``: the components that are written."""

    rows: list[Any]
    variables: list[Any]
    components: list[Any]
    copy: Visible
    holder: Any = field(repr=False)  # of the rows

    def bring_back(self) -> None:
        """Set the Boolean variables of the model by the values of the binaries."""
        self.copy.send()
        self.copy.set_truth_values()


def written_rows(cache: ModelCache, sees: Callable[[Any], bool]) -> Written | None:
    """Return the rows for the logical components for which ``sees`` is False; None if there are none.

    Raises ModelError if one cannot be written, for example because a variable in a disjunction has no bound.
    """
    logic = [c for c in cache.components if c.ctype in (pyo.LogicalConstraint, Disjunction)]
    found = [c for c in logic if not sees(c) and any(d.active for d in c.values())]
    if not found:
        return None
    _refuse_two_sides(cache)
    seen = Visible.cloned(cache.model, [])
    clone = seen.model
    for c in logic:
        if sees(c):
            clone.find_component(c).deactivate()
    before = {id(row) for row in clone.component_data_objects(pyo.Constraint, active=True)}
    names = '", "'.join(c.name for c in found)
    _transform(clone, LOGIC, f'"{names}" cannot be written as rows:')
    own = {id(copy): v for v, copy in seen.pairs}
    holder = pyo.ConcreteModel(name="logic")
    holder.rows = pyo.Constraint([names], pyo.NonNegativeIntegers)
    new: dict[int, Any] = {}
    after = clone.component_data_objects(pyo.Constraint, active=True)
    for k, row in enumerate(row for row in after if id(row) not in before):
        new |= {id(v): v for v in variables(row.body) if id(v) not in own}
        body = replace_expressions(row.body, own)
        holder.rows[names, k] = (body, row.upper) if row.equality else (row.lower, body, row.upper)
    return Written(list(holder.rows.values()), list(new.values()), found, seen, holder)


def _refuse_two_sides(cache: ModelCache) -> None:
    """Raise ModelError for a row of a disjunct with two sides that is neither linear nor quadratic.

    One of its sides is not convex. The transformation would split it into two rows with one side each.
    """
    outside = {id(row) for row in cache.stated(pyo.Constraint)}
    for row in cache.data(pyo.Constraint):
        if id(row) not in outside and row.has_lb() and row.has_ub() and row.body.polynomial_degree() not in (0, 1, 2):
            raise ModelError(
                f'Row "{row.name}" of a disjunct is nonlinear with two sides, which is not convex: solve the whole '
                f"model by name, for example with {either(C.MINLP)}."
            )
