"""Copies of the variables of the first stage, one for each scenario, are one complicating variable.

Many two-stage models have a copy x[s] of each decision of the first stage for each scenario, and the rows of
nonanticipativity x[s] == x[1], x[s] == x[s+1] or x[s] == z. Variables that such rows connect are a group. A group is
merged if it belongs to the master:

- a variable of it is declared as complicating, or is integer by default;
- or it connects two declared blocks;
- or nothing is declared, and two of its variables are data of the same component.

The master then has one variable of the group, with the tightest bounds; the rows between the copies are left out, and
all other rows and terms contain this variable in place of the copies. After the run the copies get its value. Groups
with a variable in an expression that is not linear are not merged: in the master it would be a curved term.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr.numeric_expr import LinearExpression, decompose_term
from pyomo.repn import generate_standard_repn
from scipy import sparse
from scipy.sparse import csgraph

from solvers.model.classes import single_objective
from solvers.model.expressions import terms, variables
from solvers.model.function import is_linear
from solvers.model_cache import ModelCache
from solvers.values import bounds_of


class Copies:
    """The groups of a model: lists of variables that rows declare to be equal; ``merged`` are those of the master."""

    def __init__(self, model: ModelCache) -> None:
        links = {id(row): pair for row in model.rows if (pair := _linked(row)) is not None}
        held = {id(v) for pair in links.values() for v in pair}
        found = [v for v in model.variables if id(v) in held] if links else []
        place = {id(v): k for k, v in enumerate(found)}
        ends = np.array([[place[id(v)] for v in pair] for pair in links.values()], dtype=int).reshape(-1, 2).T
        graph = sparse.coo_array((np.ones(len(links)), tuple(ends)), shape=(len(found), len(found)))
        count, label = csgraph.connected_components(graph, directed=False)
        groups: list[list[Any]] = [[] for _ in range(count)]
        for v, k in zip(found, label.tolist(), strict=True):
            groups[k].append(v)
        curved = _curved(model, links, place)
        self.groups = [
            group for group in groups if not (all(v.fixed for v in group) or any(id(v) in curved for v in group))
        ]
        self.merged: list[list[Any]] = []
        self.origin: dict[int, Any] = {}  # the row of the user, by the id of the new row
        self._links = links
        self._rewritten = pyo.ConcreteModel(name="merged copies")

    def merge(self, wanted: Iterable[list[Any]]) -> None:
        """Merge some groups."""
        self.merged = list(wanted)
        self._main = {id(v): _main(group) for group in self.merged for v in group}
        self._pairs = [(x, v) for group in self.merged for v in group if (x := self._main[id(v)]) is not v]

    def repeated(self) -> list[list[Any]]:
        """Return the groups with two data of one component, or of components of the same name in two blocks."""
        return [group for group in self.groups if len({v.parent_component().local_name for v in group}) < len(group)]

    def touching(self, variables: Iterable[Any]) -> list[list[Any]]:
        """Return the groups that contain one of some variables."""
        known = {id(v) for v in variables}
        return [group for group in self.groups if any(id(v) in known for v in group)]

    def between(self, blocks: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Return the groups that are not within one block."""
        block = {id(v): k for k, held in enumerate(blocks) for v in held}
        return [group for group in self.groups if len({block.get(id(v), -1) for v in group}) > 1]

    def main(self, variables: Iterable[Any]) -> list[Any]:
        """Return variables, each once, with that of its group in place of a copy."""
        return list({id(v): v for v in (self._main.get(id(v), v) for v in variables)}.values())

    def without(self, variables: Iterable[Any]) -> list[Any]:
        """Return variables that are in no merged group."""
        return [v for v in variables if id(v) not in self._main]

    @property
    def values(self) -> list[tuple[Any, Any]]:
        """The pairs (x, copy of x) without fixed copies."""
        return [(x, v) for x, v in self._pairs if not v.fixed]

    def rows(self, rows: Iterable[Any]) -> list[Any]:
        """Return rows without copies, and the bounds of the copies as rows."""
        found = []
        for row in rows:
            pair = self._links.get(id(row), ())
            if any(id(v) in self._main for v in pair):
                continue
            body = self.term(row.body)
            if body is None:
                found.append(row)
                continue
            new = (body, row.upper) if row.equality else (row.lower, body, row.upper)
            found.append(self._row(row.parent_component(), row.index(), new))
            self.origin[id(found[-1])] = row
        for x, copy in self._pairs:
            (low, up), (least, most) = (copy.value, copy.value) if copy.fixed else bounds_of(copy), bounds_of(x)
            if low > least:
                found.append(self._row(copy.parent_component(), (copy.index(), "lower bound"), x >= low))
            if up < most:
                found.append(self._row(copy.parent_component(), (copy.index(), "upper bound"), x <= up))
        return found

    def _row(self, component: Any, index: Any, expression: Any) -> Any:
        """Return a new row with the name of a row or variable of the model."""
        rows = self._same_place(component, pyo.Constraint)
        rows[index] = expression
        return rows[index]

    def _same_place(self, component: Any, kind: Any) -> Any:
        """Return the component of ``kind`` in the model of new rows that has the name of a component."""
        block = component.parent_block()
        inside = self._rewritten
        if block.parent_block() is not None:
            inside = self._same_place(block.parent_component(), pyo.Block)[block.index()]
        name, indexed = component.local_name, component.is_indexed() or component.ctype is not kind
        while (found := inside.component(name)) is not None and found.is_indexed() != indexed:
            name += "_"  # rows that were written for logic may have the name of a component of the user
        if found is None:
            inside.add_component(name, kind(pyo.Any) if indexed else kind())
        return inside.component(name)

    def term(self, expression: Any) -> Any:
        """Return a linear expression without copies; None if it contains none."""
        if not any(self._main.get(id(v), v) is not v for v in variables(expression)):
            return None
        read = generate_standard_repn(expression)
        slope: dict[int, list[Any]] = {}
        for c, v in zip(read.linear_coefs, read.linear_vars, strict=True):
            x = self._main.get(id(v), v)
            slope.setdefault(id(x), [x, 0.0])[1] += c
        coefs, held = [c for _, c in slope.values()], [x for x, _ in slope.values()]
        return LinearExpression(constant=read.constant, linear_coefs=coefs, linear_vars=held)


def _linked(row: Any) -> tuple[Any, Any] | None:
    """Return the two variables of a row x == y, which may be fixed; None for any other row."""
    if not row.equality or any(_size(side) > 2 for side in row.expr.args):
        return None
    linear, parts = decompose_term(row.body)
    if not linear or sum(float(pyo.value(c)) for c, v in parts if v is None) != pyo.value(row.upper):
        return None
    held = [(float(pyo.value(c)), v) for c, v in parts if v is not None]
    if len(held) != 2 or held[0][0] != -held[1][0] or not held[0][0] or held[0][1] is held[1][1]:
        return None
    return held[0][1], held[1][1]


def _size(side: Any) -> int:
    return 0 if type(side) in native_numeric_types or not side.is_expression_type() else side.nargs()


def _curved(model: ModelCache, links: dict[int, Any], place: dict[int, int]) -> set[int]:
    """Return the ids of variables of links that are in an expression that is not linear, or in an ordered set."""
    if not place:
        return set()
    parts = [row.body for row in model.rows if id(row) not in links]
    parts += terms(single_objective(model).expr)
    held = ((part, [id(v) for v in variables(part) if id(v) in place]) for part in parts)
    found = {key for part, keys in held if keys and not is_linear(part) for key in keys}
    return found | {id(v) for ordered in model.data(pyo.SOSConstraint) for v in ordered.get_variables()}


def _main(group: list[Any]) -> Any:
    """Return the variable of a group that represents it: not fixed, if possible integer, with the closest bounds."""
    return min(group, key=lambda v: (v.fixed, v.is_continuous(), float(np.subtract(*bounds_of(v)[::-1]))))
