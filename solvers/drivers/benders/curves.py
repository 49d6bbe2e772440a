"""Convex rows and terms of blocks: which they are, and their tangents over the blocks' variables and the master's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.drivers.benders.blocks import SubBlock
from solvers.drivers.benders.split import SplitModel
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, names
from solvers.model.function import SmoothFunction, is_linear


@dataclass(frozen=True)
class BlockCurve:
    """A block's row g(y, x) <= 0 or term f(y) of the objective; ``places`` in (y, x) of its function's columns."""

    block: int
    function: SmoothFunction
    places: np.ndarray
    of_objective: bool

    def at(self, z: np.ndarray) -> float:
        """Return its value at a point (y, x): of a row as a share of its side, where that is above 1."""
        return self.function.at(z[self.places])

    def tangent(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a, b of the tangent row a . z <= b, and of the tangent term a . z - b."""
        return self.function.cut(z[self.places], bounds_only=self.of_objective)


@dataclass
class Curves:
    """The curves of blocks; ``terms``: the other, linear terms; ``refused``: rows and terms not proven convex."""

    curves: list[BlockCurve]
    linear_rows: list[list[Any]]
    terms: list[Any]
    refused: list[str]
    assumed: list[str]

    @classmethod
    def of(cls, parts: SplitModel, blocks: Sequence[SubBlock], *, assume_convex: bool) -> Curves:
        """Sort the rows and terms of blocks."""
        inside = [v for block in blocks for v in block.variables]
        place = {id(v): k for k, v in enumerate([*inside, *parts.structure.complicating])}
        found = cls([], [], [], [], [])
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
                flat = not hasattr(term, "polynomial_degree") or is_linear(term)
                (found.terms if flat else curved).append(term)
            if curved:
                found._add_terms(b, curved, parts, place, assume_convex)
        return found

    def _add_row(self, b: int, row: Any, held: list[Any], place: dict[int, int], assume: bool) -> None:
        free = _free(held)
        function = SmoothFunction.of_row(row, free)
        if function is None:
            self.refused.append(
                f'Row "{row.name}" is not linear and has two sides, which is not convex, and then no multipliers give '
                f"a cut. Solve the whole model by name: {either(C.NONCONVEX)}."
            )
        elif self._convex(function.is_convex(), function.name, assume):
            self.curves.append(BlockCurve(b, function, np.array([place[id(v)] for v in free], dtype=int), False))

    def _add_terms(self, b: int, terms: list[Any], parts: SplitModel, place: dict[int, int], assume: bool) -> None:
        """Add the terms one by one where each is convex, for better tangents, else their sum."""

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
        """Return whether it is convex, or assumed to be; record it otherwise."""
        if proven:
            return True
        if proven is None and assume:
            self.assumed.append(name)
            return True
        if proven is None:
            self.refused.append(
                f"{name} is not quadratic, and its convexity is not proven here, without which no multipliers give a "
                f"cut: pass assume_convex=True if you know it, or solve the whole model by name: {either(C.MINLP)}."
            )
        else:
            able = ", ".join(names(C.MIQCP | C.NONCONVEX))
            self.refused.append(
                f"{name} is quadratic and not convex as a function (nor is a cone w^2 <= s t), so that its multipliers "
                f"give no cut. Solve the whole model by name: {able}, or name no solver."
            )
        return False


def _free(variables: Iterable[Any]) -> list[Any]:
    """Return the variables that are not fixed, each once."""
    return list({id(v): v for v in variables if not v.fixed}.values())
