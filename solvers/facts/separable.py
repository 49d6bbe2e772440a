"""What a model tells the driver that adds cutting planes: which variables and rows a separator stands for."""

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
from solvers.reading import read


@dataclass(frozen=True)
class Cuts:
    """Rows ``lower <= A x <= upper`` over the columns of the LP, and by how much a point missed the worst of them.

    ``violation`` is relative to the sizes of the rows, 0 where there is none.
    """

    matrix: Any
    lower: np.ndarray
    upper: np.ndarray
    violation: float = 0.0


class Separator(Protocol):
    """Stands for hidden variables and their rows; points are values of the visible variables."""

    def start(self) -> Cuts:
        """Return rows to start from."""

    def separate(self, point: np.ndarray) -> Cuts:
        """Return rows that the point violates most, none where it satisfies all."""

    def repair(self, point: np.ndarray) -> np.ndarray | None:
        """Return a point near by that satisfies all that the separator stands for, if it has one."""

    def load(self, point: np.ndarray) -> None:
        """Put values of the hidden variables on the model, for a point that satisfies all."""


@dataclass
class Separable(Facts):
    """A separator that stands for some rows and all variables that occur in these alone.

    Parameters
    ----------
    visible : list of Var components or data
        What the separator's points are values of.
    hidden : list of Var components or data
        In the rows that the separator stands for, and nowhere else.
    rows : list of Constraint components
        Those rows.
    separator : Separator
        It reads mutable parameters of the rows when it is asked.
    lift : sparse array of shape (visible, columns), optional
        The visible variables in terms of the LP's columns, for rows that need more columns than variables (w = w+ -
        w-); by default each variable is a column.
    lower : array over the columns, optional
        Least values; by default none.
    discrete : list of Var components or data
        Visible variables that must be integer, or fixed, for the separator to stand for the rows.
    proof : callable, optional
        (model, slopes (K, visible), sides (K,), multipliers (K,)) -> what rows ``slopes . x >= sides`` of the separator
        prove of the optimum of the model as built, whatever the multipliers are; where the model does not state them.
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
        """Return the lift and the least values of its columns."""
        lift = sparse.eye_array(len(data_of(self.visible)), format="csr") if self.lift is None else self.lift
        return lift, np.full(lift.shape[1], -np.inf) if self.lower is None else self.lower

    def edits(self, model: Any) -> list[str]:
        """Name what is no longer as built in what the separator stands for, and what else holds hidden variables."""
        if self.built is None:
            self.remember(model)
        assert self.built is not None
        if self.certificate is not None and self.certificate.untouched(model):
            return []  # and dense rows need not be walked
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
        """Name what is no longer as built in what the separator stands for; without a walk over the other rows."""
        built = self.built
        if built is None:
            return []
        relaxed = [v for v in data_of(self.discrete) if not v.is_integer() and not v.fixed]
        found = [f'"{v.name}" is no integer any more' for v in relaxed[:1]]
        return [*built.lost(read(model)), *built.variable_edits(built.variables), *found]


def _first(expression: Any, inside: set[int]) -> str:
    """Return the name of the first variable of a set of ids in an expression, or nothing."""
    return next((v.name for v in variables(expression) if id(v) in inside), "")


def no_cuts(columns: int) -> Cuts:
    """Return no rows over so many columns."""
    return Cuts(sparse.csr_array((0, columns)), np.empty(0), np.empty(0))


def stacked(cuts: Sequence[Cuts], columns: int) -> Cuts:
    """Return the rows of several together."""
    if not cuts:
        return no_cuts(columns)
    return Cuts(
        sparse.vstack([sparse.csr_array(c.matrix) for c in cuts], format="csr"),
        np.concatenate([c.lower for c in cuts]),
        np.concatenate([c.upper for c in cuts]),
        max(c.violation for c in cuts),
    )
