"""Facts for the driver ``cutting-plane``: the variables and rows that a separator replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo
from scipy import sparse

from solvers.facts.base import Facts
from solvers.facts.snapshot import AsBuilt, data_of
from solvers.model.expressions import variables
from solvers.model_cache import cached


@dataclass(frozen=True)
class Cuts:
    """Rows ``lower <= A x <= upper`` over the columns of the LP, and the largest violation of these by a point.

    ``violation`` is relative to the sizes of the rows, 0 without a violated row.
    """

    matrix: Any
    lower: np.ndarray
    upper: np.ndarray
    violation: float = 0.0


class Separator(Protocol):
    """Oracle for hidden variables and their rows; points are values of the visible variables."""

    def start(self) -> Cuts:
        """Return the first rows."""

    def separate(self, point: np.ndarray) -> Cuts:
        """Return the rows that the point violates most; none if it satisfies all."""

    def repair(self, point: np.ndarray) -> np.ndarray | None:
        """Return a near point that satisfies all rows of the separator, or None."""

    def load(self, point: np.ndarray) -> None:
        """Set the hidden variables of the model for a point that satisfies all rows."""


@dataclass
class Separable(Facts):
    """A separator that replaces some rows and all variables that are in these rows only.

    Parameters
    ----------
    visible : list of Var components or data
        The variables whose values are the points of the separator.
    hidden : list of Var components or data
        Variables that are in the replaced rows only.
    rows : list of Constraint components
        The replaced rows.
    separator : Separator
        It reads mutable parameters of the rows at each call.
    lift : sparse array of shape (visible, columns), optional
        The visible variables as linear functions of the columns of the LP, for rows that need more columns than
        variables (w = w+ - w-); by default each variable is a column.
    lower : array over the columns, optional
        Lower bounds of the columns; by default none.
    discrete : list of Var components or data
        Visible variables that must be integer, or fixed; otherwise the separator does not replace the rows.
    proof : callable, optional
        (model, slopes (K, visible), sides (K,), multipliers (K,)) -> bound on the optimum of the model as built, from
        rows ``slopes . x >= sides`` of the separator with any multipliers; for models that do not state these rows.
    """

    visible: list[Any]
    hidden: list[Any]
    rows: list[Any]
    separator: Separator
    lift: Any = None
    lower: np.ndarray | None = None
    discrete: list[Any] = field(default_factory=list)
    proof: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], float] | None = None
    default_solver: str = field(default="cutting-plane", kw_only=True)

    def remember(self, model: pyo.ConcreteModel) -> None:
        """Take the snapshot of the rows and hidden variables."""
        rows, hidden = data_of(self.rows), data_of(self.hidden)
        self.built = AsBuilt.of(model, rows=rows, variables=hidden, named=(), others=(), names=True)

    def columns(self) -> tuple[Any, np.ndarray]:
        """Return the lift and the lower bounds of its columns."""
        lift = sparse.eye_array(len(data_of(self.visible)), format="csr") if self.lift is None else self.lift
        return lift, np.full(lift.shape[1], -np.inf) if self.lower is None else self.lower

    def edits(self, model: Any) -> list[str]:
        """Return the edits of the replaced rows and hidden variables, and other uses of hidden variables."""
        if self.built is None:
            self.remember(model)
        assert self.built is not None
        if self.certificate is not None and self.certificate.untouched(model):
            return []  # without a walk over dense rows
        found = self.own_edits(model)
        mine, inside = {id(row) for row in self.built.rows}, {id(v) for v in self.built.variables}
        for row in model.component_data_objects(pyo.Constraint, active=True, descend_into=True):
            if id(row) not in mine and (held := _first(row.body, inside)):
                found.append(f'row "{row.name}" holds "{held}"')
        for objective in model.component_data_objects(pyo.Objective, active=True):
            if held := _first(objective.expr, inside):
                found.append(f'the objective holds "{held}"')
        return found

    def own_edits(self, model: Any) -> list[str]:
        """Return the edits of the replaced rows and hidden variables, without a walk over the other rows."""
        built = self.built
        if built is None:
            return []
        relaxed = [v for v in data_of(self.discrete) if not v.is_integer() and not v.fixed]
        found = [f'"{v.name}" is no longer integer' for v in relaxed[:1]]
        return [*built.lost(cached(model)), *built.variable_edits(built.variables), *found]


def _first(expression: Any, inside: set[int]) -> str:
    """Return the name of the first variable of an expression whose id is in a set, or ""."""
    return next((v.name for v in variables(expression) if id(v) in inside), "")


def no_cuts(columns: int) -> Cuts:
    """Return an empty set of rows over some columns."""
    return Cuts(sparse.csr_array((0, columns)), np.empty(0), np.empty(0))


def stacked(cuts: Sequence[Cuts], columns: int) -> Cuts:
    """Return the rows of several sets as one."""
    if not cuts:
        return no_cuts(columns)
    return Cuts(
        sparse.vstack([sparse.csr_array(c.matrix) for c in cuts], format="csr"),
        np.concatenate([c.lower for c in cuts]),
        np.concatenate([c.upper for c in cuts]),
        max(c.violation for c in cuts),
    )
