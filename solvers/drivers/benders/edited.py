"""Whether the builder's oracle takes an edited subproblem: the edits are read as numbers and offered to it.

What it cannot take is solved from rows, as any other subproblem, and the message says for which edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo

from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError
from solvers.facts.edited import EditedSub, Inexpressible
from solvers.model.convexity import is_linear
from solvers.model.curves import Curve
from solvers.model.linear import LinearRows


def adapted(parts: SplitModel) -> tuple[SplitModel, str]:
    """Return the parts with an oracle that takes the edits, or the parts as they are and why there is none."""
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
    """Return the subproblem in numbers. Raises Inexpressible."""
    structure = parts.structure
    assert structure.built is not None
    for edit in [*parts.coupling_edits, *parts.mixed]:
        raise Inexpressible(edit)
    said = structure.built.said_by_rows()
    kept = [row for row in parts.subproblem_rows if said.get(id(row)) is row.expr]
    inside = set(map(id, kept))
    others = [*(row for row in parts.subproblem_rows if id(row) not in inside), *parts.linking_rows]
    for row in others:
        if not is_linear(row.body):
            raise Inexpressible(f'row "{row.name}", which is not linear')
    variables, complicating = structure.variables(), structure.complicating
    try:
        rows = LinearRows.of(others, [*variables, *complicating], [], parts.sign)
        cost = _cost(parts.subproblem_terms, variables, parts.sign)
    except ModelError:
        raise Inexpressible("the objective, which is not convex quadratic") from None
    return EditedSub(variables, complicating, kept, rows, cost, list(parts.edits))


def _cost(terms: Iterable[Any], variables: list[Any], sign: float) -> Curve:
    """Return what is minimised as a quadratic over the variables, a fixed one with its column too."""
    fixed = [v for v in variables if v.fixed]
    values = [v.value for v in fixed]
    for v in fixed:
        v.unfix()
    try:
        return Curve.of(pyo.quicksum(terms), "the objective", variables, sign)
    finally:
        for v, value in zip(fixed, values, strict=True):
            v.fix(value)
