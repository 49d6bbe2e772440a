"""Changes of variables after which the numbers of a model are of similar size, applied to a copy for the solver.

Solvers use absolute tolerances. With a column in units of 1e8, or one that hardly varies around 1e8, the relevant
values are below these tolerances. With v = f u for powers of two f, and b = b' - sum_j c_j v_j for the offset b of rows
with ``x_j v_j + b``, the rows contain ``(x_j - c_j) f_j u_j + b'``: the same digits in similar size. An objective that
is never above 1e-6, for example, is below the tolerances too, and is multiplied. The model of the user does not change;
it gets values and bounds in its own units. Multipliers of rows change by the factors of the row and the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_numeric_types
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import replace_expressions
from pyomo.repn import generate_standard_repn

from solvers.interfaces.runner import Answer
from solvers.model.classes import used_variables
from solvers.model.expressions import variables
from solvers.values import INSIDE, bounds_of

LEVEL = 8.0  # a row whose largest coefficient is below its inverse is multiplied
SHORT = 16  # variables; longer rows are data rows, whose numbers are of similar size
LEAST = 1e-30  # size of an objective; smaller objectives are scaled as if they had this size


@dataclass
class Change:
    """A change of variables, as a builder declares it.

    - ``factors``: list of (variable, f): v = f u, f a power of two.
    - ``offset``: a variable b, b = b' - sum_j c_j v_j.
    - ``centre``: list of (c, variable), the terms of that sum.
    - ``rows``: list of (row, f), rows to be multiplied by f, a power of two.
    - ``most``: an upper bound on the optimum of the model as built, on which the factors may depend; infinite if the
      builder has none. If it is small, the objective is multiplied by a power of two.
    - ``times``: a further power of two by which the objective is multiplied.
    """

    factors: list[tuple[Any, float]]
    offset: Any | None = None
    centre: list[tuple[float, Any]] = field(default_factory=list)
    rows: list[tuple[Any, float]] = field(default_factory=list)
    most: Any = np.inf
    times: float = 1.0

    def violation(self, rows: Iterable[Any]) -> float:
        """Return the largest violation of rows of a user in the new units, if these are smaller than the old ones.

        For example, w = 2e-7 is twice the value that the row ``w <= 1e-7`` allows. A violation is relative to 1 or to
        the side, whichever is larger.
        """
        factors, declared = {id(v): f for v, f in self.factors}, {id(row) for row, _ in self.rows}
        worst = 0.0
        for row in rows:
            f = 1.0 if id(row) in declared else level(row, factors)[0]
            body = pyo.value(row.body, exception=False) if f > 1.0 else None
            for side, sign in ((row.lb, 1.0), (row.ub, -1.0)) if body is not None else ():
                if side is not None:
                    worst = max(worst, f * sign * (side - body) / max(1.0, f * abs(side)))
        return worst

    def moved(self, copies: dict[int, Any], rows: dict[int, Any]) -> Change:
        """Return the change for a copy; ``copies``, ``rows``: its variables and rows by the id of the originals."""
        return Change(
            [(copies[id(v)], f) for v, f in self.factors],
            None if self.offset is None else copies[id(self.offset)],
            [(c, copies[id(v)]) for c, v in self.centre],
            [(rows[id(row)], f) for row, f in self.rows if id(row) in rows],
            self.most,  # an expression of parameters of the model, which exists as long as the copy
            self.times,
        )


def level(row: Any, factors: Mapping[int, float], *, longest: float = SHORT) -> tuple[float, float]:
    """Return the factor that brings a short row to the size of its new variables, and the largest big-M in the row.

    The factor is 1 unless the row is linear or quadratic with small coefficients. The big-M is the largest coefficient
    of an integer variable relative to that of a continuous one in a linear row, or the bound of a continuous variable
    in a product with an integer one, because solvers reformulate such a product with that bound.

    - ``factors``: factors of the variables by their id.
    - ``longest``: largest number of variables of a row that is read.
    """
    held = row.body.linear_vars if type(row.body) is LinearExpression else list(variables(row.body))
    if len(held) > longest or not any(id(v) in factors for v in held):
        return 1.0, 0.0
    repn = generate_standard_repn(row.body, compute_values=True, quadratic=True)
    if repn.nonlinear_expr is not None:
        return 1.0, 0.0
    pairs = list(zip(repn.linear_vars, repn.linear_coefs, strict=True))
    sizes = [abs(c) * factors.get(id(v), 1.0) for v, c in pairs if not v.is_integer()]
    products = list(zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True))
    sizes += [abs(c) * factors.get(id(v), 1.0) * factors.get(id(w), 1.0) for (v, w), c in products]
    size = max(sizes, default=0.0)
    if size == 0.0:
        return 1.0, 0.0
    steep = max((abs(c) / size for v, c in pairs if v.is_integer()), default=0.0) if repn.is_linear() else 0.0
    switched = [v if w.is_integer() else w for (v, w), _ in products if v.is_integer() is not w.is_integer()]
    ends = [abs(end) / factors.get(id(v), 1.0) for v in switched for end in bounds_of(v) if np.isfinite(end)]
    steep = max([steep, *ends])
    return (float(2.0 ** -np.frexp(size)[1]) if size < 1 / LEVEL and len(held) <= SHORT else 1.0), steep


class Changed:
    """A copy of a model in the new variables, which is solved in place of the model."""

    def __init__(self, model: Any, change: Change) -> None:
        self._factor = {id(v): (v, f) for v, f in change.factors if v.is_continuous()}
        offset = change.offset if change.offset is not None and change.offset.is_continuous() else None
        self._offset = offset if change.centre else None
        self._centre = {id(v): c for c, v in change.centre}
        for _c, v in change.centre:
            self._factor.setdefault(id(v), (v, 1.0))
        self._row_factor = {id(row): f for row, f in change.rows}
        most = max(float(pyo.value(change.most)), LEAST)
        self._times = change.times * (float(2.0 ** -np.frexp(most)[1]) if most < 1 / LEVEL else 1.0)
        self.model = pyo.ConcreteModel(name=model.name)
        self._new: dict[int, Any] = {}
        self.steepest = 0.0  # the largest big-M, see ``level``
        self._add_variables()
        self._add_rows(model)

    def bring_back(self) -> None:
        """Copy the values to the variables of the model, except to fixed ones."""
        for key, (v, f) in self._factor.items():
            if not v.fixed:
                v.set_value(f * self._new[key].value, skip_validation=True)
        if self._offset is not None and not self._offset.fixed:
            moved = sum(c * self._factor[key][0].value for key, c in self._centre.items())
            self._offset.set_value(self._new[id(self._offset)].value - moved, skip_validation=True)

    def rows_of(self, rows: list[Any]) -> list[Any]:
        """Return the rows of the copy for rows of the model."""
        return [self._row[id(row)] for row in rows]

    def duals_of(self, rows: Sequence[Any], duals: dict[Any, float]) -> dict[Any, float]:
        """Return the multipliers of rows of the model; rows of another model are left out."""
        seen = [row for row in rows if id(row) in self._row]
        found = ((row, duals.get(self._row[id(row)]), self._row_factor.get(id(row), 1.0)) for row in seen)
        return {row: f * multiplier / self._times for row, multiplier, f in found if multiplier is not None}

    def bound_of(self, bound: float | None) -> float | None:
        """Return the bound of the objective of the model for a bound of the copy."""
        return None if bound is None else bound / self._times

    def loaded(self, answer: Answer, rows: Sequence[Any] = ()) -> Answer:
        """Copy the point of a solved copy to the model, and return the answer in its units.

        ``rows``: the rows of the model whose multipliers are returned.
        """
        if answer.has_point:
            self.bring_back()
        return replace(answer, bound=self.bound_of(answer.bound), duals=self.duals_of(rows, answer.duals))

    def add(self, rows: Any, body: LinearExpression, lower: float) -> None:
        """Add ``body >= lower``, on variables of the model, to a ConstraintList of the copy; scale it to size 1."""
        f = [self._factor.get(id(v), (v, 1.0))[1] for v in body.linear_vars]
        size = max((abs(c) * factor for c, factor in zip(body.linear_coefs, f, strict=True)), default=0.0)
        factor = float(2.0 ** -np.frexp(size)[1]) if size > 0.0 else 1.0
        row = rows.add((factor * lower, self._linear(body, factor), None))
        self._row_factor[id(row)] = factor

    def multiplier(self, row: Any, dual: float) -> float:
        """Return the multiplier of a row that was passed to ``add``."""
        return self._row_factor[id(row)] * dual / self._times

    def seen_of(self, held: list[Any]) -> list[Any]:
        """Return the variables of the copy for variables of the model; integer variables are shared."""
        return [self._new.get(id(v), v) for v in held]

    def _add_variables(self) -> None:
        view, items = self.model, list(self._factor.items())
        view.new = pyo.Var(range(len(items)), doc="v over its factor")
        for (key, (v, f)), new in zip(items, view.new.values(), strict=True):
            lower, upper = bounds_of(v)
            new.setlb(lower / f if np.isfinite(lower) else None)
            new.setub(upper / f if np.isfinite(upper) else None)
            if v.value is not None:
                new.set_value(v.value / f, skip_validation=True)
            if v.fixed:
                new.fix()
            self._new[key] = new
        b = self._offset
        if b is None:
            return
        view.offset = pyo.Var(doc="the offset for centred columns")
        self._new[id(b)] = view.offset
        moved = [c * (v.value or 0.0) for c, v in ((c, self._factor[key][0]) for key, c in self._centre.items())]
        view.offset.set_value((b.value or 0.0) + sum(moved), skip_validation=True)
        lower, upper = (b.value, b.value) if b.fixed else bounds_of(b)
        if np.isfinite(lower) or np.isfinite(upper):
            ends = (lower if np.isfinite(lower) else None, upper if np.isfinite(upper) else None)
            view.offset_bounds = pyo.Constraint(expr=(ends[0], self._moved_offset(), ends[1]))

    def _moved_offset(self) -> Any:
        coefficients = [1.0] + [-c * self._factor[key][1] for key, c in self._centre.items()]
        held = [self._new[id(self._offset)]] + [self._new[key] for key in self._centre]
        return LinearExpression(linear_coefs=coefficients, linear_vars=held)

    def _add_rows(self, model: Any) -> None:
        view = self.model
        rewrite = self._rewriter()
        others = {id(v): v for v in used_variables(model) if id(v) not in self._new}
        view.shared = pyo.Reference(dict(enumerate(others.values())), ctype=pyo.Var) if others else pyo.Param(default=0)
        rows = list(model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE))
        view.rows = pyo.Constraint(range(len(rows)))
        view.constant = pyo.Expression(range(len(rows)))
        self._row = {}
        factors = {key: f for key, (_, f) in self._factor.items()}
        read: set[int] = set()  # components; the long rows of a component are similar
        for k, row in enumerate(rows):
            component = id(row.parent_component())
            by_size, steep = level(row, factors, longest=SHORT if component in read else np.inf)
            read.add(component)
            self.steepest = max(self.steepest, steep)  # of declared rows too: a big-M is one of them
            f = self._row_factor.setdefault(id(row), by_size)
            lower, upper = (None if end is None else f * end for end in (row.lb, row.ub))
            body = rewrite(row.body, f)
            if type(body) in native_numeric_types:  # Pyomo accepts no relation of two numbers as a row
                view.constant[k] = body
                body = view.constant[k]
            view.rows[k] = body == lower if row.equality else (lower, body, upper)
            self._row[id(row)] = view.rows[k]
        sets = list(model.component_data_objects(pyo.SOSConstraint, active=True, descend_into=INSIDE))
        view.sets = pyo.Block(range(len(sets)))
        for part, ordered in zip(view.sets.values(), sets, strict=True):
            members = dict(enumerate(ordered.get_items()))
            held = {k: self._new.get(id(v), v) for k, (v, _) in members.items()}
            part.members = pyo.Reference(held, ctype=pyo.Var)
            weights = {k: w for k, (_, w) in members.items()}
            part.one = pyo.SOSConstraint(var=part.members, index=list(held), weights=weights, sos=ordered.level)
        objective = next(model.component_data_objects(pyo.Objective, active=True, descend_into=INSIDE))
        view.objective = pyo.Objective(expr=rewrite(objective.expr, self._times), sense=objective.sense)

    def _rewriter(self) -> Callable[[Any, float], Any]:
        """Return a function (expression, f) -> f times the expression in the new variables."""
        substitution: dict[int, Any] = {key: f * self._new[key] for key, (_, f) in self._factor.items()}
        if self._offset is not None:
            substitution[id(self._offset)] = self._moved_offset()

        def rewrite(expression: Any, factor: float) -> Any:
            if type(expression) is LinearExpression:
                return self._linear(expression, factor)
            if all(id(v) not in self._new for v in variables(expression)):
                return expression if factor == 1.0 else factor * expression
            new = replace_expressions(expression, substitution, remove_named_expressions=True)
            return new if factor == 1.0 else factor * new

        return rewrite

    def _linear(self, expression: Any, factor: float) -> Any:
        """Return a dense row in the new variables; a centred coefficient is one correctly rounded subtraction."""
        held = list(expression.linear_vars)
        coefficients = np.array([float(pyo.value(c)) for c in expression.linear_coefs])
        keys = [id(v) for v in held]
        if self._offset is not None and id(self._offset) in keys:
            beta = sum(c for c, key in zip(coefficients.tolist(), keys, strict=True) if key == id(self._offset))
            present = set(keys)
            absent = [key for key in self._centre if key not in present]
            held += [self._factor[key][0] for key in absent]
            keys += absent
            coefficients = np.append(coefficients, np.zeros(len(absent)))
            coefficients -= beta * np.array([self._centre.get(key, 0.0) for key in keys])
        factors = np.array([self._factor[key][1] if key in self._factor else 1.0 for key in keys])
        new = [self._new.get(key, v) for key, v in zip(keys, held, strict=True)]
        scaled = (factor * coefficients * factors).tolist()
        return LinearExpression(constant=factor * pyo.value(expression.constant), linear_coefs=scaled, linear_vars=new)
