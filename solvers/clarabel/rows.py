"""Compiled rows of a Pyomo model, which are updated when the model changes.

A row is walked again only if its expression is another object, a mutable parameter in its body has another value, or a
named expression in it was replaced. The comparison takes a few milliseconds for 5000 rows. Bounds, fixings, domains,
active flags and right-hand sides are read each time and never cause a walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.numeric_types import native_types
from pyomo.repn.util import categorize_valid_components

from solvers.errors import ModelError
from solvers.walker import Affine, Body, Inputs, Walker, stacked

_SUPPORTED = {
    pyo.Block,
    pyo.Constraint,
    pyo.Objective,
    pyo.Var,
    pyo.Param,
    pyo.Expression,
    pyo.Suffix,
    pyo.Set,
    pyo.RangeSet,
    pyo.BuildCheck,
    pyo.BuildAction,
}
_REMEDY = {
    "Disjunction": 'apply pyo.TransformationFactory("gdp.bigm") and a MIP solver',
    "Disjunct": 'apply pyo.TransformationFactory("gdp.bigm") and a MIP solver',
    "LogicalConstraint": 'apply pyo.TransformationFactory("core.logical_to_linear") and a MIP solver',
    "Complementarity": 'apply pyo.TransformationFactory("mpec.simple_nonlinear") and an NLP solver',
    "SOSConstraint": "use a MIP solver such as scip",
}
INFINITE = 1e20  # bounds of at least this size are infinite, as in other solvers


def label(component: Any) -> str:
    """Return the name of a component for a message."""
    return f'{"Objective" if component.ctype is pyo.Objective else "Constraint"} "{component.name}"'


@dataclass(slots=True, eq=False)
class CompiledRow:
    """One Pyomo constraint (or objective, without bounds) as numbers."""

    owner: Any
    expr: Any
    body: Body
    inputs: Inputs
    lower: Any = None
    upper: Any = None
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    cache: tuple[Any, Any] | None = None  # of the cones of the row

    def current(self, owner: Any) -> bool:
        """Return True if the numbers are those of its component."""
        return self.owner is owner and self.expr is owner.expr and (not self.inputs or self.inputs.unchanged())

    def bounds(self) -> tuple[float, float]:
        """Return the present lower and upper bound, infinite if there is none."""
        lo = -np.inf if self.lower is None else float(pyo.value(self.lower))
        hi = np.inf if self.upper is None else float(pyo.value(self.upper))
        return (lo if lo > -INFINITE else -np.inf), (hi if hi < INFINITE else np.inf)


@dataclass
class Bounds:
    """Present bounds of the variables, and the values of pinned ones."""

    lower: np.ndarray
    upper: np.ndarray
    pinned: np.ndarray
    values: np.ndarray


@dataclass
class Triplets:
    """Linear rows in coordinates: ``lower <= sum coefs x[cols] + const <= upper``, entry k in row ``index[k]``."""

    owners: list[CompiledRow]
    index: np.ndarray
    cols: np.ndarray
    coefs: np.ndarray
    const: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class ConicModel:
    """The compiled rows of one Pyomo model.

    ``compilations``: number of compiled models. ``walks``: number of walked expressions. ``relaxed``: whether integer
    variables are continuous; otherwise they raise ModelError.
    """

    def __init__(self, *, relaxed: bool = False) -> None:
        self.relaxed = relaxed
        self.compilations = self.walks = 0
        self._forget(None)

    def _forget(self, model: Any) -> None:
        self.model = model
        self.walker = Walker()
        self.rows: dict[int, CompiledRow] = {}
        self.objective: CompiledRow | None = None
        self._linear: Triplets | None = None
        self.nonlinear: list[CompiledRow] = []
        self._domains: list[Any] = []
        self._continuous = np.empty(0, dtype=bool)
        self.cones: list[tuple[str, list[Affine]]] = []

    def compile(self, model: Any, cones: Iterable[tuple[str, Sequence[Any]]] = ()) -> None:
        """Walk all expressions of a model; ``cones``: kinds and linear expressions of further cones."""
        self._forget(model)
        self.compilations += 1
        self.refresh()
        self.cones = [(kind, [self.walker.walk(entry, kind)[0].linear for entry in entries]) for kind, entries in cones]

    def refresh(self) -> None:
        """Walk the expressions that have changed since the last call.

        Raises ModelError if the model has an unsupported active component, several active objectives, or an expression
        that is not quadratic.
        """
        self._refuse_other_components()
        rows, changed = {}, False
        for con in self.model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
            key = id(con)
            row = self.rows.get(key)
            if row is None or not row.current(con):
                row = self._read_row(con)
                changed = True
            rows[key] = row
        if changed or rows.keys() != self.rows.keys() or self._linear is None:
            self.rows = rows
            self._gather()
        self._read_objective()

    def _refuse_other_components(self) -> None:
        _, others = categorize_valid_components(self.model, active=True, valid=_SUPPORTED)
        for ctype, found in others.items():
            kind = ctype.__name__
            remedy = _REMEDY.get(kind, "write it as constraints")
            raise ModelError(f'Clarabel does not support {kind} "{found[0].name}": {remedy}, or deactivate it.')

    def _read_row(self, con: Any) -> CompiledRow:
        name = label(con)
        lower, body, upper = con.to_bounded_expression()
        self.walks += 1
        numbers, inputs = self.walker.walk(0.0 if body is None else body, name)
        return CompiledRow(con, con.expr, numbers, inputs, lower, upper, numbers.columns())

    def _read_objective(self) -> None:
        active = list(self.model.component_data_objects(pyo.Objective, active=True, descend_into=True))
        if len(active) > 1:
            names = ", ".join(obj.name for obj in active[:3])
            raise ModelError(f"The model has {len(active)} active objectives ({names}): deactivate all but one.")
        if not active:
            self.objective = None
            return
        obj, row = active[0], self.objective
        if row is None or not row.current(obj):
            self.walks += 1
            body, inputs = self.walker.walk(obj.expr, label(obj))
            self.objective = CompiledRow(obj, obj.expr, body, inputs, columns=body.columns())

    def _gather(self) -> None:
        linear = [row for row in self.rows.values() if row.body.is_linear]
        self.nonlinear = [row for row in self.rows.values() if not row.body.is_linear]
        self._linear = Triplets(
            linear,
            *stacked([row.body.linear for row in linear]),
            np.array([-np.inf if _varies(row.lower) else _number(row.lower, -np.inf) for row in linear]),
            np.array([np.inf if _varies(row.upper) else _number(row.upper, np.inf) for row in linear]),
        )
        self._varying = [k for k, row in enumerate(linear) if _varies(row.lower) or _varies(row.upper)]
        totals = np.bincount(self._linear.index, self._linear.coefs, len(linear)) + self._linear.const
        for k in np.flatnonzero(~np.isfinite(totals)):
            raise ModelError(f"{label(linear[k].owner)} has a coefficient that is not finite.")

    def linear(self) -> Triplets:
        """Return the linear rows with the present right-hand sides."""
        rows = self._linear
        assert rows is not None
        for i in self._varying:
            rows.lower[i], rows.upper[i] = rows.owners[i].bounds()
        for name, sides in (("lower", rows.lower), ("upper", rows.upper)):
            for k in np.flatnonzero(np.isnan(sides)):
                raise ModelError(f"{label(rows.owners[k].owner)} has a {name} bound that is not a number.")
        return rows

    def columns(self) -> Bounds:
        """Return the present bounds and fixings.

        Raises ModelError if a used variable is integer and free, or fixed without a value.
        """
        variables = self.walker.variables
        n = len(variables)
        lower, upper, values = np.empty(n), np.empty(n), np.zeros(n)
        for i, (lb, ub) in enumerate([var.bounds for var in variables]):
            lower[i] = -np.inf if lb is None or lb <= -INFINITE else lb
            upper[i] = np.inf if ub is None or ub >= INFINITE else ub
        fixed = np.fromiter((var.fixed for var in variables), bool, n)
        pinned = fixed | (lower == upper)
        for k in np.flatnonzero(fixed):
            value = variables[k].value
            if value is None or not np.isfinite(value):
                raise ModelError(f'Variable "{variables[k].name}" is fixed at {value}: fix it at a number, or free it.')
            values[k] = value
        # A master may pass 0 as -1e-10: values outside their bounds by less than tolerances are moved to the bounds.
        near = fixed & (values >= lower - 1e-8) & (values <= upper + 1e-8)
        values[near] = np.clip(values[near], lower[near], upper[near])
        values[pinned & ~fixed] = lower[pinned & ~fixed]
        if not self.relaxed:
            self._refuse_integers(pinned)
        return Bounds(lower, upper, pinned, values)

    def used(self) -> np.ndarray:
        """Return a mask of the columns in active rows or the objective."""
        used = np.zeros(len(self.walker.variables), dtype=bool)
        assert self._linear is not None
        used[self._linear.cols] = True
        for row in [*self.nonlinear, *([self.objective] if self.objective else [])]:
            used[row.columns] = True
        for _, entries in self.cones:
            used[np.concatenate([entry.cols for entry in entries])] = True
        return used

    def _refuse_integers(self, pinned: np.ndarray) -> None:
        domains = [var.domain for var in self.walker.variables]
        if len(domains) != len(self._domains) or any(a is not b for a, b in zip(domains, self._domains, strict=True)):
            self._domains = domains
            self._continuous = np.array([var.is_continuous() for var in self.walker.variables], dtype=bool)
        for k in np.flatnonzero(self.used() & ~pinned & ~self._continuous):
            var = self.walker.variables[k]
            raise ModelError(
                f'Variable "{var.name}" is integer ({var.domain}), and Clarabel supports only continuous ones: fix '
                'it, relax it with pyo.TransformationFactory("core.relax_integer_vars"), or use scip.'
            )


def _varies(bound: Any) -> bool:
    return bound is not None and bound.__class__ not in native_types


def _number(bound: Any, default: float) -> float:
    return default if bound is None or abs(bound) >= INFINITE else float(bound)


class BoundProver:
    """Proofs of ``a'x + alpha >= 0`` from bounds and linear rows."""

    def __init__(self, columns: Bounds, rows: Triplets, variables: list[Any]) -> None:
        self.lower, self.upper = columns.lower.copy(), columns.upper.copy()
        self.used_rows = False
        self._rows, self._variables = rows, variables
        self._sizes = np.bincount(rows.index, minlength=len(rows.lower))
        single = self._sizes[rows.index] == 1
        with np.errstate(invalid="ignore", divide="ignore"):
            index, cols, coefs = rows.index[single], rows.cols[single], rows.coefs[single]
            ends = np.stack((rows.lower[index] - rows.const[index], rows.upper[index] - rows.const[index])) / coefs
        good = ~np.isnan(ends).any(axis=0)
        np.maximum.at(self.lower, cols[good], ends.min(axis=0)[good])
        np.minimum.at(self.upper, cols[good], ends.max(axis=0)[good])

    def nonnegative(self, expression: Affine) -> bool:
        """Return True if bounds, or one linear row with the same variables, imply that it is nonnegative."""
        e = expression.merged()
        slack = -1e-9 * max(1.0, abs(e.const))
        if not len(e.cols):
            return e.const >= slack
        ends = np.where(e.coefs > 0, self.lower[e.cols], self.upper[e.cols])
        return e.const + float(e.coefs @ ends) >= slack or self._implied_by_row(e, slack)

    def _implied_by_row(self, e: Affine, slack: float) -> bool:
        self.used_rows = True
        rows = self._rows
        for k in self._by_columns.get((int(e.cols[0]), len(e.cols)), ()):
            mine = slice(*np.searchsorted(rows.index, [k, k + 1]))
            order = np.argsort(rows.cols[mine])
            cols, coefs = rows.cols[mine][order], rows.coefs[mine][order]
            if not np.array_equal(cols, e.cols) or coefs[0] == 0.0:
                continue
            ratio = e.coefs[0] / coefs[0]
            if np.allclose(coefs * ratio, e.coefs, rtol=1e-9, atol=0.0):
                end = rows.lower[k] if ratio > 0 else rows.upper[k]
                if e.const + ratio * (end - rows.const[k]) >= slack:
                    return True
        return False

    @cached_property
    def _by_columns(self) -> dict[tuple[int, int], list[int]]:
        """Rows by their smallest column and their number of entries."""
        first = np.full(len(self._sizes), len(self._variables))
        np.minimum.at(first, self._rows.index, self._rows.cols)
        found: dict[tuple[int, int], list[int]] = {}
        for k, key in enumerate(zip(first.tolist(), self._sizes.tolist(), strict=True)):
            found.setdefault(key, []).append(k)
        return found

    def size(self, expression: Affine) -> float:
        """Return the largest absolute value of an expression within the bounds of variables; 1 if it is unknown."""
        e = expression.merged()
        ends = np.maximum(np.abs(self.lower[e.cols]), np.abs(self.upper[e.cols]))
        size = abs(e.const) + float(np.abs(e.coefs) @ ends)
        return size if np.isfinite(size) and size > 0.0 else 1.0

    def show(self, expression: Affine) -> str:
        """Return the expression as text with the names of the user."""
        e = expression.merged()
        names = [self._variables[col].name for col in e.cols]
        terms = [name if coef == 1 else f"{coef:.6g}*{name}" for coef, name in zip(e.coefs, names, strict=True)]
        if len(terms) > 4:
            terms = [*terms[:3], "..."]
        return " + ".join(terms + ([f"{e.const:.6g}"] if e.const else []))
