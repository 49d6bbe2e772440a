r"""Products with a binary in the master, as linear rows.

At every binary x and L <= y <= U, z = x y says

.. math:: L x \le z \le U x, \quad y - U (1 - x) \le z \le y - L (1 - x)

(Glover 1975; for two binaries McCormick's rows). The square of a binary is the binary. What has
another product in it, or one with a variable without bounds, stays as it is, for master solvers that take it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn import generate_standard_repn

from solvers.drivers.benders.split import SplitModel
from solvers.model.convexity import is_linear
from solvers.values import bounds_of


def with_linear_products(parts: SplitModel) -> SplitModel:
    """Return the parts with linear rows and terms in the master where products with binaries were."""
    rows, terms = parts.master_rows, parts.master_terms
    if all(is_linear(part) for part in (*(row.body for row in rows), *terms)):
        return parts
    products = _Products()
    model = products.model
    model.rows = pyo.Constraint(pyo.Any)
    stated = []
    for row in rows:
        body = products.linear(row.body)
        if body is row.body:
            stated.append(row)
        else:
            model.rows[row.name] = (body, row.upper) if row.equality else (row.lower, body, row.upper)
            stated.append(model.rows[row.name])
    costs = [products.linear(term) for term in terms]
    return replace(
        parts,
        master_rows=[*stated, *model.known.values()],
        master_terms=costs,
        master_variables=[*parts.master_variables, *products.made.values()],
        links=[parts.links, model],
    )


class _Products:
    """The products met so far: a variable and four rows each, on a model of their own."""

    def __init__(self) -> None:
        self.model = pyo.ConcreteModel(name="products")
        self.model.z = pyo.Var(pyo.Any, dense=False)
        self.model.known = pyo.ConstraintList()
        self.made: dict[tuple[int, int], Any] = {}

    def linear(self, expression: Any) -> Any:
        """Return an expression with linear terms for its products; as it is where one of them has none."""
        if is_linear(expression):
            return expression
        parts = generate_standard_repn(expression, compute_values=True, quadratic=True)
        pairs = [(v, w) if v.is_binary() else (w, v) for v, w in parts.quadratic_vars]
        if parts.nonlinear_expr is not None or not all(_is_written(v, w) for v, w in pairs):
            return expression
        held = [*parts.linear_vars, *(v if v is w else self._product(v, w) for v, w in pairs)]
        coefs = [float(c) for c in (*parts.linear_coefs, *parts.quadratic_coefs)]
        return LinearExpression(constant=float(parts.constant), linear_coefs=coefs, linear_vars=held)

    def _product(self, x: Any, y: Any) -> Any:
        key = (id(x), id(y)) if id(x) < id(y) or not y.is_binary() else (id(y), id(x))
        if key not in self.made:
            z = self.made[key] = self.model.z[f"{x.name} {y.name}"]
            low, up = bounds_of(y)
            z.setlb(min(low, 0.0)), z.setub(max(up, 0.0))
            for row in (z >= low * x, z <= up * x, z >= y - up * (1 - x), z <= y - low * (1 - x)):
                self.model.known.add(row)
        return self.made[key]


def _is_written(x: Any, y: Any) -> bool:
    """Tell whether the product of two variables that are free can be written as linear rows."""
    return x.is_binary() and all(abs(side) < float("inf") for side in bounds_of(y))
