"""Independent blocks of a subproblem, and their convex rows and terms.

No row or term connects two blocks, so each has its own value and cut. ``Curves`` separates the linear rows and terms of
the blocks from the convex ones, and lists the rows, terms and variables for which no cut is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy import sparse
from scipy.sparse import csgraph

from solvers.drivers.benders.split import SplitModel
from solvers.errors import ModelError
from solvers.model.function import SmoothFunction, is_linear


@dataclass
class SubBlock:
    """Connected variables with their rows and terms, and the master's variables in these.

    ``coupling``: rows with variables of the master. ``first``: positions of these among the complicating variables.
    """

    variables: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    coupling: list[Any] = field(default_factory=list)
    terms: list[Any] = field(default_factory=list)
    first: list[int] = field(default_factory=list)


def blocks_of(parts: SplitModel) -> list[SubBlock]:
    """Return the connected blocks of a subproblem, in the order of their first variables.

    A variable in no row is a separate block if it has a cost or is declared as a block, and in no block otherwise.
    Raises ModelError if a row connects two declared blocks; the message names it.
    """
    declared = [{id(v) for v in group} for group in parts.structure.blocks]
    inside = [v for v in parts.structure.variables() if not v.fixed]
    place = {id(v): k for k, v in enumerate(inside)}
    master = {id(v): k for k, v in enumerate(parts.structure.complicating)}
    kinds = {"rows": parts.subproblem_rows, "coupling": parts.coupling_rows, "terms": parts.subproblem_terms}
    rows = [row for part in kinds.values() for row in part]
    members = [[place[id(v)] for v in parts.variables_of(row) if id(v) in place] for row in rows]
    members += [[place[key] for key in group if key in place] for group in declared]
    ends = np.cumsum([0, *map(len, members)])
    columns = np.fromiter((k for group in members for k in group), dtype=int, count=int(ends[-1]))
    graph = sparse.csr_array((np.ones(len(columns), dtype=np.int8), columns, ends), shape=(len(members), len(inside)))
    full = sparse.block_array([[None, graph], [graph.T, None]], format="csr")
    _, label = csgraph.connected_components(full, directed=False)
    _refuse_connected(parts, rows, inside, full, label)
    used = np.zeros(len(inside), dtype=bool)
    used[columns] = True
    label_of = label[len(members) :]
    number: dict[int, int] = {}
    for k in np.flatnonzero(used).tolist():
        number.setdefault(int(label_of[k]), len(number))
    blocks = [SubBlock() for _ in number]
    for k in np.flatnonzero(used).tolist():
        blocks[number[int(label_of[k])]].variables.append(inside[k])
    if rows and not blocks:
        blocks = [SubBlock()]
    for r, (kind, row) in enumerate((kind, row) for kind, part in kinds.items() for row in part):
        k = number[int(label[r])] if members[r] else 0  # all its variables are fixed: it can be in any block
        getattr(blocks[k], kind).append(row)
    for block in blocks:
        held = (v for row in block.coupling for v in parts.variables_of(row))
        block.first = sorted({master[id(v)] for v in held if id(v) in master})
    return blocks


def _refuse_connected(parts: SplitModel, rows: list[Any], inside: list[Any], graph: Any, label: np.ndarray) -> None:
    """Raise ModelError for two declared blocks that are connected, with the first row on a path between them."""
    count, groups = len(rows), parts.structure.blocks
    owner: dict[int, int] = {}
    for g in range(len(groups)):
        other = owner.setdefault(int(label[count + g]), g)
        if other == g:
            continue
        _, before = csgraph.breadth_first_order(graph, count + g, directed=False)
        path, node = [], count + other
        while node != count + g:
            path.append(node)
            node = int(before[node])
        r = next(k for k in path if k < count)
        what = f'Row "{rows[r].name}"' if r < count - len(parts.subproblem_terms) else f"Objective term {rows[r]}"
        through = [inside[k - count - len(groups)].name for k in path if k >= count + len(groups)]
        raise ModelError(
            f"{what} connects block {other + 1} and block {g + 1} (by {', '.join(through[:3])}): give these variables "
            "to the master, or declare the two as one block."
        )


def whole_model(parts: SplitModel, blocks: Sequence[SubBlock]) -> pyo.ConcreteModel:
    """Return all blocks as one Pyomo model, to be minimised."""
    model = pyo.ConcreteModel(name="subproblem")
    variables = [v for block in blocks for v in block.variables]
    rows = [row for block in blocks for row in [*block.rows, *block.coupling]]
    model.variables = pyo.Reference(dict(enumerate(variables)), ctype=pyo.Var)
    model.rows = pyo.Reference(dict(enumerate(rows)), ctype=pyo.Constraint)
    model.objective = pyo.Objective(expr=parts.sign * pyo.quicksum(term for block in blocks for term in block.terms))
    return model


@dataclass(frozen=True)
class BlockCurve:
    """A block's row g(y, x) <= 0 or term f(y) of the objective; ``places`` in (y, x) of its function's columns."""

    block: int
    function: SmoothFunction
    places: np.ndarray
    of_objective: bool

    def at(self, z: np.ndarray) -> float:
        """Return the value at a point (y, x); for a row with a side above 1, relative to that side."""
        return self.function.at(z[self.places])

    def tangent(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a, b of the tangent row a . z <= b, or of the tangent term a . z - b."""
        return self.function.cut(z[self.places], bounds_only=self.of_objective)


def integers(variables: Iterable[Any], parts: SplitModel) -> Iterator[str]:
    """Yield a message for each integer variable of a subproblem: multipliers bound its relaxation only."""
    found = [v for v in variables if not v.is_continuous() and not v.fixed]
    able = parts.solvers() if found else ""
    for v in found:
        yield (
            f'Variable "{v.name}" of the subproblem is integer, so that no cut is valid: make it complicating, or '
            f"solve the whole model by name: {able}."
        )


@dataclass
class Curves:
    """The convex rows and terms of blocks, and the linear ones.

    ``refused``: messages for integer variables, and for rows and terms that are not proven convex: no cut is known for
    these. ``assumed``: rows and terms that are convex by assumption of the user.
    """

    curves: list[BlockCurve]
    linear_rows: list[list[Any]]
    terms: list[Any]
    refused: list[str]
    assumed: list[str]
    parts: SplitModel

    @classmethod
    def of(cls, parts: SplitModel, blocks: Sequence[SubBlock], *, assume_convex: bool) -> Curves:
        """Sort the rows and terms of blocks."""
        inside = [v for block in blocks for v in block.variables]
        place = {id(v): k for k, v in enumerate([*inside, *parts.structure.complicating])}
        found = cls([], [], [], list(integers(inside, parts)), [], parts)
        for b, block in enumerate(blocks):
            linear = []
            for row in [*block.rows, *block.coupling]:
                if is_linear(row.to_bounded_expression()[1]):
                    linear.append(row)
                else:
                    found._add_row(b, row, parts.variables_of(row), place, assume_convex)
            found.linear_rows.append(linear)
            curved: list[Any] = []
            for term in block.terms:
                (found.terms if is_linear(term) else curved).append(term)
            if curved:
                found._add_terms(b, curved, parts, place, assume_convex)
        return found

    def _add_row(self, b: int, row: Any, held: list[Any], place: dict[int, int], assume: bool) -> None:
        free = _free(held)
        function = SmoothFunction.of_row(row, free)
        if function is None:
            self.refused.append(
                f'Row "{row.name}" is not linear and has two sides, which is not convex, and then no multipliers give '
                f"a cut. Solve the whole model by name: {self.parts.solvers(convex=False)}."
            )
        elif self._convex(function.is_convex(), function.name, assume):
            self.curves.append(BlockCurve(b, function, np.array([place[id(v)] for v in free], dtype=int), False))

    def _add_terms(self, b: int, terms: list[Any], parts: SplitModel, place: dict[int, int], assume: bool) -> None:
        """Add the terms one by one if each is convex, for better tangents, otherwise their sum."""

        def curve(group: list[Any]) -> BlockCurve:
            free = _free(v for term in group for v in parts.variables_of(term))
            function = SmoothFunction(pyo.quicksum(group), free, parts.sign)
            return BlockCurve(b, function, np.array([place[id(v)] for v in free], dtype=int), True)

        curves = [curve([term]) for term in terms]
        if not all(c.function.is_convex() for c in curves):
            curves = [curve(terms)]
        if self._convex(curves[0].function.is_convex(), "The objective of the subproblem", assume):
            self.curves += curves

    def _convex(self, proven: bool | None, name: str, assume: bool) -> bool:
        """Return True if a row or term is convex or assumed to be; record a message otherwise."""
        if proven:
            return True
        if proven is None and assume:
            self.assumed.append(name)
            return True
        if proven is None:
            self.refused.append(
                f"{name} is not quadratic, and its convexity is not proven here, without which no multipliers give a "
                "cut: pass assume_convex=True if you know it, or solve the whole model by name: "
                f"{self.parts.solvers(convex=False)}."
            )
        else:
            self.refused.append(
                f"{name} is quadratic and not convex as a function (nor is a cone w^2 <= s t), so that its multipliers "
                f"give no cut. Solve the whole model by name: {self.parts.solvers(convex=False)}."
            )
        return False


def _free(variables: Iterable[Any]) -> list[Any]:
    """Return the variables that are not fixed, each once."""
    return list({id(v): v for v in variables if not v.fixed}.values())
