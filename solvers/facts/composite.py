r"""Facts for the driver "two-layer": a model with few columns of a matrix and a risk given by its most violated row.

.. math::
    \min_{d \in D,\ w}\ \tfrac12 \textstyle\sum_j w_j^2 / d_j + C\, r(X w), \qquad
    D = \{d : \textstyle\sum_j d_j = B,\ 0 \le d \le 1\}, \\
    r(v) = \max\bigl(0,\ \max_k\ h\, (s_k - u_k \cdot v)\bigr)

The rows k, and sometimes the columns of X, are too many to state. A row may be a labelling of all samples, or the
largest residual of a regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.facts.base import Facts
from solvers.facts.snapshot import AsBuilt
from solvers.model.expressions import variables
from solvers.model.function import is_linear
from solvers.model_cache import ModelCache, cached


@dataclass(frozen=True)
class RiskRow:
    """Row ``h (side - sum(coefficients * v))`` of a risk; ``coefficients`` (n,) are int8 if possible."""

    coefficients: np.ndarray
    side: float


@dataclass
class CompositeRisk(Facts):
    """Facts about ``min Omega(w) + C risk(X w)``.

    Parameters
    ----------
    matrix : ndarray or scipy sparse array of shape (n, m)
    worst : callable
        v (n,) -> the ``RiskRow`` with the largest value at v.
    budget : Param or int
        B, a whole number.
    weight : Param or float
        C, above 0.
    load : callable
        (columns, w, d, risk): put a solution on the model; all other columns have w = d = 0.
    scale : float
        h, above 0.
    shares : Var component, optional
        d; only the used elements need to exist. Linear rows, bounds and fixed values of d are respected, and rows on d
        and new continuous variables of the user.
    column : callable, optional
        Index of ``shares`` -> its column.
    """

    matrix: Any
    worst: Callable[[np.ndarray], RiskRow]
    budget: Any
    weight: Any
    load: Callable[[np.ndarray, np.ndarray, np.ndarray, float], None]
    scale: float = 1.0
    shares: Any = None
    column: Callable[[Any], int] | None = None
    own: list[Any] = field(default_factory=list, init=False)  # variables of the builder except the shares
    default_solver: str = field(default="two-layer", kw_only=True)
    implicit: str = field(default="an oracle for its rows", kw_only=True)  # "": the model states all rows

    def remember(self, model: pyo.ConcreteModel) -> None:
        """Take the snapshot of the whole model."""
        self.built = AsBuilt.of(model)
        self.own = [c for c in model.component_objects(pyo.Var) if c is not self.shares]

    def edits(self, model: Any) -> list[str]:
        """Return the edits that the driver does not support: all except rows on the shares."""
        assert self.built is not None
        cache = cached(model)
        if self.shares is None:
            found = [*self.built.additions(cache), *self.built.loosened(cache)]
            return [*found, *self.built.variable_edits(self._active(cache))]
        mine, whole = set(map(id, self.own)), self._rows(cache)
        seen = {f'row "{row.name}" was added' for row in whole}
        found = [edit for edit in self.built.additions(cache) if edit not in seen]
        found += self.built.loosened(cache)
        held = (v for v in self._active(cache) if id(v.parent_component()) in mine)
        found += self.built.variable_edits(held)
        for v in self.shares.values():
            if not v.fixed and not v.is_continuous():
                found.append(f'"{v.name}" is integer')
        return found

    def restriction(self, model: Any) -> Restriction | None:
        """Return the restrictions of the shares in addition to the budget; None if there are none."""
        if self.shares is None or self.column is None:
            return None
        cache = cached(model)
        rows = self._rows(cache)
        held = {id(v): v for row in rows for v in variables(row.body)}
        boxed = [v for v in self.shares.values() if v.fixed or v.bounds not in ((None, None), (0, 1))]
        ours = {id(v): v for v in [*boxed, *(v for v in held.values() if v.parent_component() is self.shares)]}
        if not rows and not ours:
            return None
        others = [v for key, v in held.items() if key not in ours]
        return Restriction(rows, [(self.column(v.index()), v) for v in ours.values()], others)

    def _rows(self, cache: ModelCache) -> list[Any]:
        """Return the added rows that are linear in shares and new continuous variables."""
        assert self.built is not None
        mine = set(map(id, self.own))

        def fits(v: Any) -> bool:
            return id(v.parent_component()) not in mine and (v.fixed or v.is_continuous())

        added = self.built.added(cache.rows)
        return [row for row in added if all(map(fits, variables(row.body))) and is_linear(row.body)]

    def _active(self, cache: ModelCache) -> list[Any]:
        return list(cache.model.component_data_objects(pyo.Var, active=True))


@dataclass(frozen=True)
class Restriction:
    """Rows on the shares; ``shares``: (column, variable) in the rows or with bounds; ``others``: other variables."""

    rows: list[Any]
    shares: list[tuple[int, Any]]
    others: list[Any]

    @property
    def first(self) -> str:
        """The name of the first restriction."""
        return f'row "{self.rows[0].name}"' if self.rows else f'the bounds or the value of "{self.shares[0][1].name}"'
