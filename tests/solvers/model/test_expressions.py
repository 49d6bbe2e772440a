"""Terms of a sum, and the variables they hold."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers.model.expressions import holds, terms, variables


@pytest.fixture
def m():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(initialize=2), pyo.Var(initialize=3), pyo.Var(initialize=5)
    m.p = pyo.Param(initialize=7, mutable=True)
    m.atom = pyo.Expression(expr=m.x**2 + m.y)
    return m


def test_terms_of_nested_sums(m):
    e = m.x + (m.y - (m.z + 4)) + m.p * (m.x + m.y) - 2 * (m.x * m.y + 1) / m.p
    found = list(terms(e))
    assert sum(pyo.value(t) for t in found) == pytest.approx(pyo.value(e))
    assert len(found) == 8
    assert all(len({v.name for v in variables(t)}) <= 2 for t in found)


def test_a_factor_on_the_right_is_multiplied_out(m):
    for e in ((m.x + m.y) * 0.5, (m.x + m.y) * m.p, (m.x - m.y) * (1 / m.p)):
        found = list(terms(e))
        assert len(found) == 2
        assert sum(pyo.value(t) for t in found) == pytest.approx(pyo.value(e))
    product = (m.x + m.y) * m.z
    assert list(terms(product)) == [product]


def test_atoms_stay_whole_and_are_the_same_object(m):
    m.objective = pyo.Objective(expr=m.atom + 3 * m.z)
    whole = list(terms(m.objective.expr, [m.atom]))
    assert any(t is m.atom for t in whole)
    assert len(list(terms(m.objective.expr))) == 3
    scaled = list(terms(5 * m.atom + m.z, [m.atom]))
    assert len(scaled) == 2
    again = list(terms(m.objective.expr, [m.atom]))
    assert all(a is b for a, b in zip(whole, again, strict=True))


def test_named_expressions_are_looked_into(m):
    m.outer = pyo.Expression(expr=2 * m.atom)
    assert sum(pyo.value(t) for t in terms(m.z - m.outer)) == pytest.approx(5 - 2 * 7)


@pytest.mark.parametrize("constant", [4, 4.5, np.int64(4), np.float32(0.5), True])
def test_constants_hold_no_variables(constant):
    assert list(variables(constant)) == []
    assert list(terms(constant)) == [constant]


def test_parameters_and_single_variables(m):
    assert list(variables(m.p)) == []
    assert list(variables(m.x)) == [m.x]
    assert list(variables(3 * m.x)) == [m.x]
    m.x.fix(1)
    assert list(variables(m.x * m.y)) == [m.x, m.y]  # fixed ones too


def test_the_variables_of_a_row_are_yielded_once_in_order(m):
    row = LinearExpression(linear_coefs=[1.0, 2.0], linear_vars=[m.x, m.y])
    assert list(variables(row)) == [m.x, m.y]
    assert holds(row, {id(m.y)})
    assert not holds(row, {id(m.z)})
    m.square = pyo.Expression(expr=m.y**2 + m.x)
    m.z.fix(1.0)
    found = list(variables(m.x * m.z + 2 * m.square + pyo.exp(-m.square) + 3))
    assert [v.name for v in found] == ["x", "z", "y"]
    assert list(variables(3.0)) == []
