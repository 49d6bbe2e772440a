r"""What a model tells the driver "two-layer": few columns of a matrix, and a risk that is known by its worst row only.

.. math::
    \min_{d \in D,\ w}\ \tfrac12 \textstyle\sum_j w_j^2 / d_j + C\, r(X w), \qquad
    D = \{d : \textstyle\sum_j d_j = B,\ 0 \le d \le 1\}, \\
    r(v) = \max\bigl(0,\ \max_k\ h\, (s_k - u_k \cdot v)\bigr)

The rows k are too many to write, and the columns of X may be. Nothing here knows what they are: a labelling of all
samples, or the largest residual of a regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo

from solvers.expressions import variables
from solvers.model_class import INSIDE
from solvers.structure import Facts, same, state


@dataclass(frozen=True)
class RiskRow:
    """The row ``h (side - coefficients . v)`` of a risk; ``coefficients`` (n,) are int8 where they can be."""

    coefficients: np.ndarray
    side: float


@dataclass
class CompositeRisk(Facts):
    """Facts about ``min Omega(w) + C risk(X w)``.

    Parameters
    ----------
    matrix : ndarray or scipy sparse array of shape (n, m)
    worst : callable
        v (n,) -> the ``RiskRow`` with the largest value there.
    budget : Param or int
        B, a whole number.
    weight : Param or float
        C, above 0.
    load : callable
        (columns, w, d, risk): put a solution on the model; all other columns have w = d = 0.
    scale : float
        h, above 0.
    group_model : callable, optional
        (P, q, groups, C) -> Pyomo model of (16) with a Var ``alpha`` over the cuts in order, for ``sub_solver``.
    """

    matrix: Any
    worst: Callable[[np.ndarray], RiskRow]
    budget: Any
    weight: Any
    load: Callable[[np.ndarray, np.ndarray, np.ndarray, float], None]
    scale: float = 1.0
    group_model: Callable[..., pyo.ConcreteModel] | None = None
    default_solver: str = field(default="two-layer", kw_only=True)
    built: list[Any] | None = None

    def seal(self, model: pyo.ConcreteModel) -> CompositeRisk:
        """Remember the objective and the rows as they stand, attach these facts to the model; a builder's end."""
        self.built = [_objective(model).expr, *_rows(model)]
        model.structure = self
        return self

    def edits(self, model: Any) -> list[str]:
        """Name what the driver does not see: all rows, objectives and bounds that the builder did not make."""
        assert self.built is not None
        objective, *rows = self.built
        known = {id(row) for row in rows}
        found = [f'row "{row.name}" was added' for row in _rows(model) if id(row) not in known]
        if _objective(model).expr is not objective:
            found.append("the objective was changed")
        for v in variables(objective):
            for data in v.parent_component().values():
                free = (data.lower, None, data.domain, False, None)
                if data.fixed or (data.upper is not None and not same(state(data), free)):
                    found.append(f'the bounds or fixing of "{data.name}" were changed')
        return found


def _objective(model: Any) -> Any:
    return next(model.component_data_objects(pyo.Objective, active=True))


def _rows(model: Any) -> list[Any]:
    return list(model.component_data_objects(pyo.Constraint, active=True, descend_into=INSIDE))
