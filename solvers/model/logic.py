"""Logic on a model's binaries as plain rows over its own variables, for drivers: the model itself stays as it is.

Pyomo's ``contrib.logical_to_disjunctive`` and ``gdp.bigm`` write the rows on a clone (neither needs sympy); what is new
there is stated once more on the model's variables, beside the binaries that the transformations have made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo
from pyomo.common.errors import PyomoException
from pyomo.core.expr import replace_expressions
from pyomo.gdp import Disjunction

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either
from solvers.model.cloning import clone_of
from solvers.model.expressions import variables
from solvers.model.rewriting import Visible, pairs_of
from solvers.reading import ModelReading

LOGIC = {pyo.LogicalConstraint: "contrib.logical_to_disjunctive", Disjunction: "gdp.bigm"}  # in this order


@dataclass
class Written:
    """Rows that say what logic says. ``variables``: those that are not the model's; ``components``: what is written."""

    rows: list[Any]
    variables: list[Any]
    components: list[Any]
    copy: Visible
    holder: Any = field(repr=False)  # of the rows

    def bring_back(self) -> None:
        """Give truth values to the model's own Boolean variables, by the values of the binaries."""
        self.copy.send()
        for v, copy in self.copy.logical:
            binary = copy.get_associated_binary()
            if binary is not None and binary.value is not None and not v.fixed:
                v.set_value(binary.value > 0.5, skip_validation=True)


def written_rows(reading: ModelReading, sees: Callable[[Any], bool]) -> Written | None:
    """Return the rows for the logic that ``sees`` does not take; None where there is none.

    Raises
    ------
    ModelError
        If it cannot be written, for example for want of a bound on a variable in a disjunction.
    """
    model = reading.model
    found = [c for c in reading.components if c.ctype in LOGIC and not sees(c) and any(d.active for d in c.values())]
    if not found:
        return None
    _refuse_two_sides(reading)
    clone = clone_of(model)
    seen = Visible(clone, [], pairs_of(model, clone, pyo.Var), pairs_of(model, clone, pyo.BooleanVar))
    for c in reading.components:
        if c.ctype in LOGIC and sees(c):
            clone.find_component(c).deactivate()
    known = {id(row) for row in _rows(clone)}
    names = '", "'.join(c.name for c in found)
    try:
        for transformation in LOGIC.values():
            pyo.TransformationFactory(transformation).apply_to(clone)
    except (PyomoException, ValueError, KeyError) as error:
        said = " ".join(str(error).split())
        raise ModelError(
            f'"{names}" cannot be written as rows, {transformation} failed: {said} Bound the variables in it, '
            "or apply a transformation of your own before solving."
        ) from error
    own = {id(copy): v for v, copy in seen.pairs}
    holder = pyo.ConcreteModel(name="logic")
    holder.rows = pyo.Constraint([names], pyo.NonNegativeIntegers)
    new: dict[int, Any] = {}
    for k, row in enumerate(row for row in _rows(clone) if id(row) not in known):
        held = list(variables(row.body))
        new |= {id(v): v for v in held if id(v) not in own}
        body = replace_expressions(row.body, own)
        holder.rows[names, k] = (body, row.upper) if row.equality else (row.lower, body, row.upper)
    return Written(list(holder.rows.values()), list(new.values()), found, seen, holder)


def _refuse_two_sides(reading: ModelReading) -> None:
    """Refuse a row of a disjunct that is neither linear nor quadratic and has two sides: one of the two is not convex.

    Written as rows it would be two with one side each. Raises ModelError.
    """
    outside = {id(row) for row in reading.stated(pyo.Constraint)}
    for row in reading.data(pyo.Constraint):
        if id(row) not in outside and row.has_lb() and row.has_ub() and row.body.polynomial_degree() not in (0, 1, 2):
            raise ModelError(
                f'Row "{row.name}" of a disjunct is nonlinear with two sides, which is not convex: solve the model '
                f"whole by name, for example with {either(C.MINLP)}."
            )


def _rows(clone: Any) -> list[Any]:
    return list(clone.component_data_objects(pyo.Constraint, active=True))
