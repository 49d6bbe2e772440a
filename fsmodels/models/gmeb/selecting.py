r"""Which features the convex primal of GMEB (15) may use: binaries, and rows by which sigma_j = 0 forces w_j = 0.

Problem
    .. math::
        |w_j| \le M_j \sigma_j,\quad v^+_j s_j \le R_+ \sigma_j,\quad v^-_j s_j \le R_- \sigma_j,\quad
        \sigma_j \in \{0, 1\}
Why M_j is a bound
    All terms of the rows of (15) are at least 0. So ``w_j^2 / s_j <= 1``, which is ``w_j^2 <= s_j t_j`` with t_j <= 1,
    and ``v+_j s_j <= R+``, ``v-_j s_j <= R-``, the rows above at sigma_j = 1. Together ``w_j^2 <= s_j <= min(R+ / v+_j,
    R- / v-_j) = M_j^2``, of classes with v_j > 0; columns that do not vary have w_j = 0. It is attained, at s_j = w_j^2
    = M_j^2 with all other weights 0: no smaller number will do. It follows from the rows and not from the optimum, so
    it holds beside any rows of the user, and M is an expression of R+ and R-, which may change.
Form
    ``min(1 / a, 1 / b)`` is ``2 / (a + b + |a - b|)`` for a = v+_j / R+ and b = v-_j / R-, which solvers' writers read
    as a number. The rows on s are for the conic form: a cone ``w_j^2 <= s_j t_j`` at s_j = 0 is a tighter relaxation
    than a big-M. The form of quotients keeps s_j > 0.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from fsmodels.checks import choosing
from fsmodels.errors import ParameterError
from fsmodels.models.gmeb.columns import Centred


def add_choice(model: pyo.ConcreteModel, columns: Centred, *, cones: bool) -> None:
    """Add sigma, M and the rows that join them to w, and with ``cones`` to s."""
    varying = columns.varying()
    model.sigma = pyo.Var(model.features, domain=pyo.Binary, initialize=1, doc="1 if feature j may have a weight")

    def most(m: pyo.ConcreteModel, j: str) -> Any:
        a, b = pyo.value(m.v_plus[j]) / m.R_plus, pyo.value(m.v_minus[j]) / m.R_minus
        return (2.0 / (a + b + ((a - b) ** 2) ** 0.5)) ** 0.5  # scip's writer knows no abs

    M = {j: most(model, j) for j in varying}
    model.M = pyo.Expression(varying, rule=lambda m, j: M[j], doc="(15) |w_j| <= M_j; 1/unit of feature j")
    doc = r"w_j = 0 unless sigma_j = 1 \(w_j \le M_j \sigma_j \quad \forall\, j\)"
    model.only_selected = pyo.Constraint(varying, rule=lambda m, j: m.w[j] - M[j] * m.sigma[j] <= 0, doc=doc)
    doc = r"w_j = 0 unless sigma_j = 1 \(-M_j \sigma_j \le w_j \quad \forall\, j\)"
    model.only_selected_below = pyo.Constraint(varying, rule=lambda m, j: m.w[j] + M[j] * m.sigma[j] >= 0, doc=doc)
    if not cones:
        return

    def cap(label: str) -> pyo.Constraint:
        v, R = getattr(model, f"v_{label}"), getattr(model, f"R_{label}")

        def row(m: pyo.ConcreteModel, j: str) -> Any:
            return pyo.value(v[j]) * m.s[j] - R * m.sigma[j] <= 0

        sign = "+" if label == "plus" else "-"
        doc = rf"s_j = 0 unless sigma_j = 1 \(v^{sign}_j s_j \le R_{sign} \sigma_j \quad \forall\, j\)"
        return pyo.Constraint([j for j in varying if pyo.value(v[j]) > 0], rule=row, doc=doc)

    model.cap_plus, model.cap_minus = cap("plus"), cap("minus")


def without_choice(form: str, sigma: bool, why: str) -> None:
    """Refuse ``sigma=True`` for a form that has no binaries, and say which has."""
    if choosing(sigma):
        raise ParameterError(
            f"Rows on what is selected (sigma=True) are not allowed by gmeb.{form}: {why}. State them on the model "
            '"gmeb", which is gmeb.primal(data, R_plus=, R_minus=, sigma=True); without rows its optimum is the same.'
        )
