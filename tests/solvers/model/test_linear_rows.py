"""Linear rows as matrices."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers import ModelError
from solvers.model.linear import LinearRows


@pytest.fixture
def m():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(bounds=(0, 4)), pyo.Var(domain=pyo.NonNegativeReals), pyo.Var()
    m.p = pyo.Param(initialize=3, mutable=True)
    m.dense = pyo.Constraint(expr=LinearExpression(linear_coefs=[1, 2.0, m.p], linear_vars=[m.z, m.x, m.y]) >= 1)
    m.range = pyo.Constraint(expr=(-1, m.x - m.y + 5, m.p))
    m.equal = pyo.Constraint(expr=2 * (m.x + m.z) == m.x + 1)
    m.zero = pyo.Constraint(expr=m.x + 0 * m.y <= 2)
    return m


def rows(m, terms=(), sign=1.0):
    return LinearRows.of([m.dense, m.range, m.equal, m.zero], [m.x, m.y, m.z], terms, sign)


def test_matrix_and_sides(m):
    found = rows(m)
    np.testing.assert_array_equal(found.matrix.toarray(), [[2, 3, 1], [1, -1, 0], [1, 0, 2], [1, 0, 0]])
    np.testing.assert_array_equal(found.lower, [1, -6, 1, -np.inf])
    np.testing.assert_array_equal(found.upper, [np.inf, -2, 1, 2])
    np.testing.assert_array_equal(found.x_lower, [0, 0, -np.inf])
    np.testing.assert_array_equal(found.x_upper, [4, np.inf, np.inf])
    assert found.constant == 0
    m.p.set_value(8)
    assert rows(m).matrix.toarray()[0, 1] == 8
    assert rows(m).upper[1] == 3


def test_costs_and_their_sense(m):
    found = rows(m, [2 * m.x + 1, 3 * m.x - m.z], sign=-1.0)
    np.testing.assert_array_equal(found.cost, [-5, 0, 1])
    assert found.constant == -1


def test_fixed_variables_keep_their_columns(m):
    m.x.fix(1.5)
    found = rows(m)
    np.testing.assert_array_equal(found.matrix.toarray()[:, 0], [2, 1, 1, 1])
    assert (found.x_lower[0], found.x_upper[0]) == (1.5, 1.5)
    assert m.x.fixed
    assert m.x.value == 1.5


def test_what_is_not_linear_is_named(m):
    m.bad = pyo.Constraint(expr=m.x * m.y <= 1)
    m.x.fix(1)
    with pytest.raises(ModelError, match='Row "bad" is not linear'):
        LinearRows.of([m.bad], [m.x, m.y], [], 1.0)
    assert m.x.fixed  # restored although it failed
    with pytest.raises(ModelError, match="Objective term"):
        LinearRows.of([], [m.x, m.y], [pyo.exp(m.y)], 1.0)


def test_no_rows_at_all(m):
    found = LinearRows.of([], [m.x, m.y], [], 1.0)
    assert found.matrix.shape == (0, 2)
