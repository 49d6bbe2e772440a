"""Two-layer cutting planes on a regression that has nothing to do with classifiers."""

import numpy as np
import pyomo.environ as pyo
import pytest

from solvers import CompositeRisk, RiskRow, SolutionStatus, solve


def test_chebyshev_regression_on_one_column():
    """min 1/2 w^2 + C max_i |x_i w - t_i| for x = (1, 2), t = (1, 2): w = 1 from C = 1 on."""
    X, t = np.array([[1.0], [2.0]]), np.array([1.0, 2.0])

    def worst(v):
        i = int(np.argmax(np.abs(v - t)))
        sign = 1.0 if v[i] > t[i] else -1.0
        return RiskRow(-sign * np.eye(2)[i], -sign * t[i])

    model = pyo.ConcreteModel()
    model.w, model.risk = pyo.Var(), pyo.Var()
    model.cost = pyo.Objective(expr=0.5 * model.w**2 + 10 * model.risk)

    def load(columns, w, d, risk):
        model.w.set_value(w.sum())
        model.risk.set_value(risk)

    CompositeRisk(X, worst, budget=1, weight=10.0, load=load).seal(model)
    result = solve(model, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert model.w.value == pytest.approx(1.0, abs=1e-5)
