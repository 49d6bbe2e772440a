"""A model's clone whose dense rows are written anew and not copied object by object, which takes ten times as long."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.interrupt import finishing
from solvers.model.known_rows import KNOWN, KnownRows, add, known_of
from solvers.values import INSIDE

DENSE = 20  # terms from which on a row counts as dense


class Attached:
    """What a model carries besides its components."""

    def follow(self, model: Any, clone: Any, copies: dict[int, Any], rows: dict[int, Any]) -> None:
        """Attach to the clone what it is to keep; copies of variables and rows by the id of the model's."""


def clone_of(model: Any) -> Any:
    """Return a clone of a model, which keeps of what was attached to it what that says."""
    dense = [row for row in _rows(model) if _is_dense(row)]
    told = {name: value for name, value in vars(model).items() if isinstance(value, Attached)}
    known, expressions = known_of(model), [row.expr for row in dense]
    with finishing():  # Ctrl-C waits: the model's rows are rewritten meanwhile
        try:
            for name in [*told, *([KNOWN] if known else [])]:
                delattr(model, name)
            for row in dense:
                row.set_value(row.body.linear_vars[0] >= 0)
            clone = model.clone()
        finally:
            for row, expression in zip(dense, expressions, strict=True):
                row.set_value(expression)
            for name, found in told.items():
                setattr(model, name, found)
            for group in known:
                add(model, group)
    copies = dict(zip(map(id, _variables(model)), _variables(clone), strict=True))
    rows = dict(zip(map(id, _rows(model)), _rows(clone), strict=True))
    for row in dense:
        body = row.body
        held = [copies[id(v)] for v in body.linear_vars]
        new = LinearExpression(constant=body.constant, linear_coefs=body.linear_coefs, linear_vars=held)
        rows[id(row)].set_value(new == row.upper if row.equality else (row.lower, new, row.upper))
    for group in known:
        at = [k for k, row in group.intact() if id(row) in rows]
        new_rows = [rows[id(group.rows[k])] for k in at]
        held = [copies[id(v)] for v in group.variables]
        add(clone, KnownRows(new_rows, [row.expr for row in new_rows], group.matrix[at], held))
    for found in {id(value): value for value in told.values()}.values():
        found.follow(model, clone, copies, rows)
    return clone


def _is_dense(row: Any) -> bool:
    """Tell whether a row is a builder's dense one, with numbers for coefficients and sides."""
    body = row.body
    if type(body) is not LinearExpression or len(body.args) < DENSE:
        return False
    numbers = (int, float, type(None))
    sides = isinstance(row.lower, numbers) and isinstance(row.upper, numbers)
    return sides and isinstance(body.constant, numbers) and all(type(c) in (int, float) for c in body.linear_coefs)


def _rows(model: Any) -> list[Any]:
    return list(model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE))


def _variables(model: Any) -> list[Any]:
    return list(model.component_data_objects(pyo.Var, descend_into=INSIDE))
