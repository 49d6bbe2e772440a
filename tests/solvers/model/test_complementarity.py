"""The violation of complementarities at the values of a model."""

import pyomo.environ as pyo
import pytest
from pyomo.mpec import Complementarity, complements

from solvers.model.classes import violation


@pytest.mark.parametrize(
    ("x", "y", "missed"),
    [(0.0, 5.0, 0.0), (3.0, 1.0, 0.0), (0.03, 2.0, 0.03), (2.0, 3.0, 2.0), (1e-4, 1 + 1e-4, 1e-8), (-0.5, 1.0, 0.5)],
)
def test_two_inequalities(x, y, missed):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(initialize=x), pyo.Var(initialize=y)
    m.either = Complementarity(expr=complements(m.x >= 0, m.y >= 1))
    assert violation(m) == pytest.approx(missed, abs=1e-12)
    m.either.deactivate()
    assert violation(m) == 0.0


@pytest.mark.parametrize(
    ("x", "f", "missed"), [(0.0, 2.0, 0.0), (3.0, -2.0, 0.0), (1.0, 0.0, 0.0), (0.1, 2.0, 0.1), (1.0, -0.2, 0.2)]
)
def test_two_bounds_and_a_free_function(x, f, missed):
    m = pyo.ConcreteModel()
    m.x, m.f = pyo.Var(initialize=x), pyo.Var(initialize=f)
    m.mixed = Complementarity(expr=complements(pyo.inequality(0, m.x, 3), m.f))
    assert violation(m) == pytest.approx(missed, abs=1e-12)


def test_an_equation_and_a_free_function():
    m = pyo.ConcreteModel()
    m.x, m.f = pyo.Var(initialize=3.0), pyo.Var(initialize=7.0)
    m.mixed = Complementarity(expr=complements(m.x == 3, m.f))
    assert violation(m) == 0.0
    m.x.set_value(3.5)
    assert violation(m) == pytest.approx(0.5)
