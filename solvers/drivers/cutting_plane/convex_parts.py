"""A convex model in its parts: linear rows kept as they are, curved rows and objective as functions g(x) <= 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyomo.environ as pyo

from solvers.errors import ModelError
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import either, for_cones
from solvers.model.classes import single_objective, used_variables
from solvers.model.function import ConvexFunction, SmoothObjective, is_linear
from solvers.model.linear import LinearRows
from solvers.reading import read


class ConvexParts:
    """The active rows and the objective over the free variables. Raises ModelError where convexity is not proven.

    ``model``: pyo.ConcreteModel. ``rows``, ``variables``: by default all active rows, and all free variables of rows
    and objective. ``assume_convex``: other smooth functions than linear and quadratic ones count as convex.

    - ``linear``: LinearRows.
    - ``curved``: the other rows.
    - ``convex``: their functions, in the same order.
    - ``objective``: to be minimised: ``sign`` is -1 for a model that maximises; ``cost``: the same, for its tangents.
    - ``assumed``: rows and terms that are convex by assumption.
    """

    def __init__(
        self,
        model: Any,
        rows: Sequence[Any] | None = None,
        variables: Sequence[Any] | None = None,
        *,
        assume_convex: bool = False,
    ) -> None:
        self._assume, self.assumed = assume_convex, list[str]()
        reading = read(model)
        every = reading.rows if rows is None else rows
        held = {id(v): v for v in used_variables(reading) if not v.fixed}.values() if variables is None else variables
        self.variables, objective = list(held), single_objective(reading)
        self.sign = 1.0 if objective.sense == pyo.minimize else -1.0
        linear: list[Any] = []
        self.curved: list[Any] = []
        for row in every:
            (linear if is_linear(row.body) else self.curved).append(row)
        self.linear = LinearRows.of(linear, self.variables, [], 1.0)
        self.convex = [self._row(row) for row in self.curved]
        self.objective = SmoothObjective(objective.expr, self.variables, self.sign)
        self.cost = ConvexFunction("The objective", self.objective)
        if len(self.objective.curved):
            self._prove(self.objective, f'Objective "{objective.name}"')

    def _row(self, row: Any) -> ConvexFunction:
        """Return a nonlinear row as g <= 0, if it can be convex."""
        name = f'Row "{row.name}"'
        lower, upper = pyo.value(row.lower), pyo.value(row.upper)
        if lower is not None and upper is not None:
            raise ModelError(
                f"{name} is nonlinear with two sides, which is not convex: solve the model whole by name, for example "
                f"with {either(C.NONCONVEX)} (global), or {either(C.NLP)} (a local optimum)."
            )
        sign, side = (1.0, upper) if upper is not None else (-1.0, lower)
        function = SmoothObjective(row.body - side, self.variables, sign)
        self._prove(function, name)
        return ConvexFunction(name, function, float(side))

    def _prove(self, function: SmoothObjective, name: str) -> None:
        """Raise ModelError for a function that is not convex, or not proven to be."""
        proven = function.is_convex()
        if proven is False:
            raise ModelError(
                f"{name} is quadratic and not convex as a function: solve the model whole by name, for example with "
                f"{for_cones()} (cones), {either(C.NONCONVEX)} (global), or {either(C.NLP)} (a local optimum)."
            )
        if proven is None:
            if not self._assume:
                raise ModelError(
                    f"{name} is not quadratic, and its convexity is not proven here: pass assume_convex=True if you "
                    f"know it, or solve the model whole by name, for example with {either(C.NLP)} (a local optimum) "
                    f"or {either(C.MINLP)} (global)."
                )
            self.assumed.append(name)
