r"""The master as a Pyomo model: references to the user's rows and variables, ``eta``, and the cuts, in suitable units.

``with_linear_products`` writes products with a binary as linear rows. For binary x and L <= y <= U, z = x y means

.. math:: L x \le z \le U x, \quad y - U (1 - x) \le z \le y - L (1 - x)

(Glover 1975; for two binaries these are McCormick's rows). The square of a binary is the binary. Rows and terms with
other products, or with a product of an unbounded variable, are left unchanged for master solvers that support them.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.label import LPFileLabeler
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.opt import ProblemFormat
from pyomo.repn import generate_standard_repn

from solvers.drivers.benders.block_rows import BlockCuts
from solvers.drivers.benders.split import SplitModel
from solvers.facts.structure import Cut
from solvers.model.expressions import variables
from solvers.model.function import is_linear
from solvers.model.linear import LinearRows, power_of_two
from solvers.values import bounds_of, give_values, values_of

IN_SCALE = (10.0, 1e5)  # range of objectives that suits absolute tolerances of 1e-6
REDUCED_COSTS = 1e-9  # tolerance of reduced costs in solvers with ``tight_options``
PRINTED = 1e-7  # relative error of printed numbers (cbc: eight digits)
MISSED = 1e-9  # relative: least violation of a cut that is added
MOST = 1e6  # in the master's units: larger values of cuts are lowered, so that errors of 1e-9 do not hide the objective


class Master:
    """The master as a separate model: references to the user's rows and variables, ``eta``, and the cuts.

    ``model.eta`` is a lower bound of the subproblem's value, and ``model.cuts`` grow. With several blocks
    ``model.part`` bounds the value of each block or group, and ``eta`` their sum. Objective, ``eta``, ``part`` and
    their cuts are in units of ``unit``, a power of two, because the tolerances of solvers for rows and gaps are
    absolute.
    """

    def __init__(self, parts: SplitModel, floor: float | None, groups: int = 1) -> None:
        self.parts = parts
        self.point_variables = parts.structure.complicating
        self.unit = 1.0
        model = self.model = pyo.ConcreteModel(name="master")
        model.variables = pyo.Reference(dict(enumerate(parts.master_variables)), ctype=pyo.Var)
        model.rows = pyo.Reference(dict(enumerate(self._well_scaled())), ctype=pyo.Constraint)
        model.eta = pyo.Var(doc="lower bound of the subproblem's value, in the master's units")
        if groups > 1:
            model.part = pyo.Var(range(groups), doc="lower bound of the value of a block or group of blocks")
            model.part.fix(0.0)
        model.cuts = pyo.ConstraintList(doc="optimality and feasibility cuts")
        self._cost = parts.sign * pyo.quicksum(parts.master_terms) if parts.master_terms else 0.0
        model.objective = pyo.Objective(expr=model.eta + self._cost)
        self._bound_below = floor
        model.eta.setlb(floor)
        self.bounded = floor is not None  # whether the optimum of the master bounds that of the model
        self._floor = floor if all(v.is_binary() for v in self.point_variables) else None
        self._objective_floor: float | None = None
        # Reduced costs may have the wrong sign within the tolerance, which raises the optimum by up to this much.
        ranges = [v.ub - v.lb for v in parts.master_variables if not v.fixed and None not in v.bounds]
        self.hidden = REDUCED_COSTS * (1.0 + sum(ranges))
        # In the subproblem's units, in the order of ``model.cuts``, with the bounded variable; None: a feasibility cut.
        self._added: list[tuple[Cut, Any]] = []
        if floor is None:
            model.eta.fix(0.0)  # eta is unbounded before the first cut

    def _well_scaled(self) -> list[Any]:
        """Return the user's rows, with ill-scaled rows in other units.

        Raises ModelError with the name of a row that no units make solvable.
        """
        rows, model = list(self.parts.master_rows), self.model
        linear = [k for k, row in enumerate(rows) if is_linear(row.body)]
        unscaled = LinearRows.of([rows[k] for k in linear], self.parts.master_variables, [], 1.0)
        scaled = unscaled.scaled()
        model.scaled = pyo.Constraint(pyo.Any, doc="the user's rows in other units")
        for r in np.flatnonzero(scaled.units != 1.0).tolist():
            here = slice(scaled.matrix.indptr[r], scaled.matrix.indptr[r + 1])
            held = [unscaled.variables[k] for k in scaled.matrix.indices[here]]
            body = LinearExpression(linear_coefs=scaled.matrix.data[here].tolist(), linear_vars=held)
            low, up = (float(side) if np.isfinite(side) else None for side in (scaled.lower[r], scaled.upper[r]))
            model.scaled[r] = (body, low) if low == up else (low, body, up)
            rows[linear[r]] = model.scaled[r]
        return rows

    def ill_scaled(self, objective: float, value: float, room: float = 1.0) -> bool:
        """Return whether an objective, with this value of the subproblem, is too large or small for the tolerances.

        ``room`` widens the accepted range if a change of units is expensive.
        """
        size = self._size(objective, value) / self.unit
        return size > 0.0 and not IN_SCALE[0] / room <= size <= IN_SCALE[1] * room

    def rescale(self, objective: float, value: float) -> None:
        """Choose units in which this objective is about 64, and rewrite all cuts."""
        self._set_unit(power_of_two(self._size(objective, value) / 64.0))

    def _set_unit(self, unit: float) -> None:
        model, self.unit = self.model, unit
        model.eta.setlb(None if self._bound_below is None else self._bound_below / self.unit)
        model.objective.set_value(model.eta + self._cost / self.unit)
        if self._objective_floor is not None:
            model.del_component("floor")
            self.add_floor(self._objective_floor)
        for k, (cut, bounded) in enumerate(self._added):
            model.cuts[k + 1].set_value(self._row(cut, bounded))

    def write(self, path: Path) -> None:
        """Write the master with its cuts as an LP file, in the units of the model; replace a file at once.

        Raises OSError if the file cannot be written.
        """
        unit, part, short = self.unit, path.with_name(f".{path.name}.{os.getpid()}.part"), LPFileLabeler()
        self._set_unit(1.0)

        def label(component: Any) -> str:  # the user's variables may have the names of the master's
            return f"{'master_' if component.model() is self.model else ''}{short(component)}"

        try:
            self.model.write(str(part), format=ProblemFormat.cpxlp, io_options={"labeler": label})
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            self._set_unit(unit)

    def _size(self, objective: float, value: float) -> float:
        """Return the size to which tolerances are relative: at least the rounding error of terms and cuts."""
        steepest = 0.0
        if self._floor is None:  # no cut can be lowered
            sizes = (np.abs(c.coefficients).max(initial=0.0) for c, bounded in self._added if bounded is not None)
            steepest = float(max(sizes, default=0.0))
        return max(abs(objective), 1e-6 * abs(value), 1e-6 * steepest)

    def proven(self, bound: float | None, *, of_point: bool = False) -> float | None:
        """Return the bound of the objective that a solver's bound proves, less the solver's tolerances.

        ``of_point``: the bound is the objective at the values on the model, which were read from a file.
        """
        if bound is None:
            return None
        hidden = self.hidden
        if of_point:
            costs = sum(abs(float(pyo.value(term))) for term in self.parts.master_terms)
            hidden += PRINTED * (abs(self.model.eta.value) + costs / self.unit)
        return self.unit * (bound - hidden)

    def add_floor(self, floor: float) -> None:
        """Bound the objective itself from below."""
        self._free_eta()
        self._objective_floor = floor
        row = self.model.eta + self._cost / self.unit >= floor / self.unit
        self.model.floor = pyo.Constraint(expr=row, doc="lower bound of every solution")

    def _free_eta(self) -> None:
        if not self.bounded:
            self.model.eta.unfix()
            self.bounded = True

    @property
    def linear(self) -> bool:
        """Whether the rows and costs of the master are linear."""
        parts = self.parts
        return all(map(is_linear, [*(row.body for row in parts.master_rows), *parts.master_terms]))

    def cost(self) -> float:
        """Return the master's own objective terms at the values on the model."""
        return float(pyo.value(self._cost))

    def clear_values(self) -> None:
        """Clear the values of the variables: a variable that no solver sees would keep an old value."""
        for v in self.parts.master_variables:
            if not v.fixed:
                v.set_value(None)

    def point(self) -> np.ndarray:
        """Return the values of the complicating variables; round the integers on the model."""
        give_values(self.parts.master_variables)
        for v in self.parts.master_variables:
            if not v.is_continuous() and not v.fixed:
                v.set_value(round(v.value), skip_validation=True)
        return np.array([pyo.value(v) for v in self.point_variables], dtype=float)

    def add_cut(self, cut: Cut) -> Any:
        """Add ``eta >= constant + coefficients . x``; return the row."""
        self._free_eta()
        return self._add(cut, self.model.eta)

    def add_block_cuts(self, cuts: BlockCuts, which: np.ndarray | None = None) -> None:
        """Add cuts for the values of groups of blocks: those in ``which``, by default those that are violated."""
        model, parts = self.model, self.model.component("part")
        levels = [model.eta] if parts is None else list(parts.values())
        if which is None and self.bounded:
            eta = self.unit * np.array([pyo.value(v) for v in levels], dtype=float)
            point = np.array([pyo.value(v) for v in self.point_variables], dtype=float)
            which = np.flatnonzero(cuts.at(point) > eta + MISSED * (1.0 + np.abs(eta)))
        if parts is not None and model.component("total") is None:
            parts.unfix()
            model.total = pyo.Constraint(expr=model.eta >= pyo.quicksum(levels))
            which = None  # the first cuts are for all groups
        for g in range(len(levels)) if which is None else which.tolist():
            self._free_eta()
            self._add(cuts.single(g), levels[g])

    def add_feasibility_cut(self, cut: Cut) -> Any:
        """Add the feasibility cut ``0 >= constant + coefficients . x``; return the row.

        The row is scaled so that it excludes the point on the model by more than the tolerance of a solver.
        """
        held = [v for v, c in zip(self.point_variables, cut.coefficients, strict=True) if c]
        if all(v.is_binary() and v.value is not None for v in held):
            cut = cut.tightened(values_of(self.point_variables))
        return self._add(cut, None)

    def _add(self, cut: Cut, bounded: Any) -> Any:
        self._added.append((cut, bounded))
        return self.model.cuts.add(self._row(cut, bounded))

    def _row(self, cut: Cut, bounded: Any) -> Any:
        if bounded is self.model.eta and self._floor is not None:
            cut = cut.lowered(self._floor, self._floor + MOST * self.unit).clipped(self._floor)
        optimality = bounded is not None
        largest = float(np.abs(cut.coefficients).max(initial=0.0)) or 1.0
        unit = self.unit if optimality else largest  # presolvers may fail at coefficients near 1 that are not 1
        where = np.flatnonzero(cut.coefficients)
        held = [self.point_variables[k] for k in where.tolist()]
        bounds = np.array([[np.nan if x is None else x for x in v.bounds] for v in held], dtype=float).reshape(-1, 2)
        cut = Cut(cut.constant, cut.coefficients[where]).over(unit).without_tiny(bounds[:, 0], bounds[:, 1])
        where = np.flatnonzero(cut.coefficients)
        coefs, held = (-cut.coefficients[where]).tolist(), [held[k] for k in where.tolist()]
        if optimality:
            coefs, held = [1.0, *coefs], [bounded, *held]
        if not held:  # the subproblem is always infeasible: a row that no point satisfies
            coefs, held = [0.0], [self.model.eta]
        return (float(cut.constant), LinearExpression(linear_coefs=coefs, linear_vars=held), None)


def with_linear_products(parts: SplitModel) -> SplitModel:
    """Return the parts with products of binaries in the master replaced by linear rows and terms."""
    rows, terms = parts.master_rows, parts.master_terms
    if all(is_linear(part) for part in (*(row.body for row in rows), *terms)):
        return parts
    products = _Products()
    model = products.model
    model.rows = pyo.Constraint(pyo.Any)
    written = []
    for row in rows:
        stated = row.body
        body = products.linear(stated)
        if body is stated:
            written.append(row)
        else:
            model.rows[row.name] = (body, row.upper) if row.equality else (row.lower, body, row.upper)
            written.append(model.rows[row.name])
    costs = [products.linear(term) for term in terms]
    return replace(
        parts,
        master_rows=[*written, *model.definition.values()],
        master_terms=costs,
        master_variables=[*parts.master_variables, *products.variables.values()],
        links=[parts.links, model],
    )


def without_complements(parts: SplitModel) -> SplitModel:
    """Return the parts without binaries z that only occur in x + z = 1 of a disjunction, and without these rows.

    A disjunction of two disjuncts has such a row, which doubles the variables of the master. ``complements`` of the
    result contains the pairs (x, z): after a solve z is 1 - x.
    """
    links = [] if parts.links is None else [row for row in parts.links.disjunction.values() if row.equality]
    pairs = {id(row): list(variables(row.body)) for row in links}
    pairs = {key: held for key, held in pairs.items() if len(held) == 2 and all(map(_is_free_binary, held))}
    if not pairs:
        return parts
    outside = [row.body for row in parts.master_rows if id(row) not in pairs] + list(parts.master_terms)
    used = Counter(id(v) for held in pairs.values() for v in held)
    used.update(id(v) for v in [*parts.structure.complicating, *(v for part in outside for v in variables(part))])
    found: dict[int, tuple[Any, Any]] = {}
    for key, (x, z) in pairs.items():
        x, z = (x, z) if used[id(z)] == 1 else (z, x)
        if used[id(z)] == 1 and used[id(x)] > 1:
            found[key] = x, z
    gone = {id(z) for _, z in found.values()}
    return replace(
        parts,
        master_rows=[row for row in parts.master_rows if id(row) not in found],
        master_variables=[v for v in parts.master_variables if id(v) not in gone],
        complements=list(found.values()),
    )


def _is_free_binary(v: Any) -> bool:
    return not v.fixed and v.is_integer() and tuple(v.bounds) == (0, 1)


class _Products:
    """The products that were replaced: one variable and four rows each, on a separate model."""

    def __init__(self) -> None:
        self.model = pyo.ConcreteModel(name="products")
        self.model.z = pyo.Var(pyo.Any, dense=False)
        self.model.definition = pyo.ConstraintList()
        self.variables: dict[tuple[int, int], Any] = {}

    def linear(self, expression: Any) -> Any:
        """Return an expression with linear terms in place of its products; unchanged if one cannot be replaced."""
        if is_linear(expression):
            return expression
        parts = generate_standard_repn(expression, compute_values=True, quadratic=True)
        pairs = [(v, w) if v.is_binary() else (w, v) for v, w in parts.quadratic_vars]
        if parts.nonlinear_expr is not None or not all(_can_be_linear(v, w) for v, w in pairs):
            return expression
        held = [*parts.linear_vars, *(v if v is w else self._product(v, w) for v, w in pairs)]
        coefs = [float(c) for c in (*parts.linear_coefs, *parts.quadratic_coefs)]
        return LinearExpression(constant=float(parts.constant), linear_coefs=coefs, linear_vars=held)

    def _product(self, x: Any, y: Any) -> Any:
        key = (id(x), id(y)) if id(x) < id(y) or not y.is_binary() else (id(y), id(x))
        if key not in self.variables:
            z = self.variables[key] = self.model.z[f"{x.name} {y.name}"]
            low, up = bounds_of(y)
            z.setlb(min(low, 0.0)), z.setub(max(up, 0.0))
            for row in (z >= low * x, z <= up * x, z >= y - up * (1 - x), z <= y - low * (1 - x)):
                self.model.definition.add(row)
        return self.variables[key]


def _can_be_linear(x: Any, y: Any) -> bool:
    """Return whether the product of two free variables can be written as linear rows."""
    return x.is_binary() and all(abs(side) < float("inf") for side in bounds_of(y))
