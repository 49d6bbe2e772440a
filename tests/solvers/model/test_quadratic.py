"""Quadratic expressions as matrices: values, slopes and convexity for any form of the expression."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.calculus.derivatives import Modes, differentiate

from solvers.model.function import Quadratic, SmoothFunction, is_convex


def random_expression(x, rng, sizes=3):
    """Terms, squares, products of sums, all of them nested and scaled."""
    n = len(x)

    def form():
        held = rng.choice(n, size=rng.integers(1, n + 1), replace=False)
        return sum(float(rng.normal()) * x[j] for j in held) + float(rng.choice([0.0, rng.normal()]))

    parts = [form()]
    for _ in range(sizes):
        i, j = rng.integers(n, size=2)
        parts += [float(rng.normal()) * x[i] * x[j], -2.5 * (form() ** 2 - form() * form()), form() * x[i] / 3.0]
    return sum(parts[k] for k in rng.permutation(len(parts)))


@pytest.mark.parametrize("seed", range(8))
def test_values_and_slopes_are_those_of_the_expression(seed):
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(5))
    x = list(m.x.values())
    expression = random_expression(x, rng)
    if seed % 2:
        m.x[2].fix(float(rng.normal()))
    order = [x[k] for k in rng.permutation(5) if not x[k].fixed]
    q = Quadratic.read(expression, {id(v): k for k, v in enumerate(order)}, len(order))
    for _ in range(3):
        point = rng.normal(size=len(order))
        for v, value in zip(order, point.tolist(), strict=True):
            v.set_value(value)
        slope = q.linear.copy()
        slope[q.columns] += q.slope(point)
        assert q.value(point) == pytest.approx(pyo.value(expression), rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(
            slope, differentiate(expression, wrt_list=order, mode=Modes.reverse_numeric), rtol=1e-9, atol=1e-9
        )
    f = SmoothFunction(expression, order, -1.0)
    assert f.value(point) == pytest.approx(-pyo.value(expression), rel=1e-10)
    np.testing.assert_allclose(f.gradient(point), -slope)


@pytest.mark.parametrize("seed", range(12))
def test_convexity_is_that_of_the_hessian(seed):
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4))
    x, n = list(m.x.values()), 4
    form = [sum(float(c) * v for c, v in zip(rng.normal(size=n), x, strict=True)) for _ in range(3)]
    weight = float(rng.uniform(0, 2))
    expression = form[0] ** 2 + (form[1] + 1) ** 2 - weight * x[0] * x[1] + float(rng.uniform(0, 1)) * x[2] ** 2
    if seed % 3 == 0:
        expression = expression + sum(2.0 * v**2 for v in x) - form[2] * (form[2] + x[0])
    q = Quadratic.read(expression, {id(v): k for k, v in enumerate(x)}, n)
    hessian = np.array([q.slope(e) - q.slope(np.zeros(n)) for e in np.eye(n)])
    least = np.linalg.eigvalsh(hessian)[0]
    assert abs(least) > 1e-6
    assert is_convex(expression) is bool(least > 0)
    assert is_convex(-expression, -1.0) is bool(least > 0)


def test_what_is_not_quadratic_is_not_read():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var()
    column = {id(v): k for k, v in enumerate([m.x, m.y, m.z])}
    for expression in (pyo.exp(m.x), m.x**2 / m.y, m.x * m.y * m.z, m.x**3):
        assert Quadratic.read(expression, column, 3) is None
        assert is_convex(expression) is None
    m.z.fix(2.0)
    q = Quadratic.read(m.x * m.y * m.z, column, 3)
    assert q.value(np.array([3.0, 5.0, 0.0])) == 30.0


def test_a_square_far_from_0_loses_no_digits():
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    q = Quadratic.read((m.x - 1e4) ** 2, {id(m.x): 0}, 1)
    assert q.value(np.array([1e4 + 1e-6])) == pytest.approx(1e-12, rel=1e-5)


def test_named_expressions_and_parameters_have_their_present_values():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.curve = pyo.Expression(expr=m.p * m.x[0] ** 2 + m.x[1])
    column = {id(v): k for k, v in enumerate(m.x.values())}
    point = np.array([3.0, 1.0])
    assert Quadratic.read(m.curve - m.p, column, 2).value(point) == 17.0
    m.p = 1.0
    assert Quadratic.read(m.curve - m.p, column, 2).value(point) == 9.0
    m.curve.set_value(m.x[0] * m.x[1])
    assert Quadratic.read(m.curve, column, 2).value(point) == 3.0
