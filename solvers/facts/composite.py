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

from solvers.facts.as_built import AsBuilt
from solvers.facts.base import Facts


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
        (P, q, groups, C) -> Pyomo model of (16) with a Var ``alpha`` over the cuts in order, for ``master_solver``.
    """

    matrix: Any
    worst: Callable[[np.ndarray], RiskRow]
    budget: Any
    weight: Any
    load: Callable[[np.ndarray, np.ndarray, np.ndarray, float], None]
    scale: float = 1.0
    group_model: Callable[..., pyo.ConcreteModel] | None = None
    default_solver: str = field(default="two-layer", kw_only=True)
    implicit: str = field(default="an oracle for its rows", kw_only=True)

    def remember(self, model: pyo.ConcreteModel) -> None:
        """Take the snapshot of the whole model."""
        self.built = AsBuilt.of(model)

    def edits(self, model: Any) -> list[str]:
        """Name what the driver does not see: whatever the builder did not make."""
        assert self.built is not None
        variables = model.component_data_objects(pyo.Var, active=True)
        return [*self.built.additions(model), *self.built.variable_edits(variables)]
