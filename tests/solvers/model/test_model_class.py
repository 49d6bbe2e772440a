"""The class of a model, and the violation of a point."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.numeric_expr import LinearExpression

import solvers
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import has_integers, needs, violation


def test_the_class_of_a_model(textbook):
    assert needs(textbook.lp()) == [C.LP]
    assert needs(textbook.milp()) == [C.MILP]
    assert needs(textbook.qp()) == [C.QP]
    assert needs(textbook.qp(pyo.Integers)) == [C.MIQP]
    assert needs(textbook.qcp()) == [C.QCP]
    assert needs(textbook.qcp(pyo.Integers)) == [C.MIQCP]
    assert needs(textbook.nlp()) == [C.NLP]
    assert needs(textbook.nlp(pyo.Integers)) == [C.MINLP]


@pytest.mark.parametrize("row", [lambda x: x**2 == 1, lambda x: pyo.inequality(1, x**2, 4)])
def test_a_quadratic_row_with_two_sides_is_not_convex(row):
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(-3, 3), initialize=-1)
    model.row = pyo.Constraint(expr=row(model.x))
    model.cost = pyo.Objective(expr=model.x)
    assert needs(model) == [C.NONCONVEX, C.NLP]
    result = solvers.solve(model)
    assert result.solver == "scip"
    assert result.objective == pytest.approx(-1 if model.row.equality else -2, abs=1e-5)


def test_a_fixed_factor_makes_a_product_linear(textbook):
    model = textbook.nonconvex()
    model.x.fix(1)
    assert needs(model) == [C.LP]


def test_a_parameter_as_the_objective(line):
    line.price = pyo.Param(initialize=3, mutable=True)
    line.cost.set_value(line.price)
    assert needs(line) == [C.LP]
    assert solvers.solve(line, "highs").objective == 3


def test_an_integer_counts_only_where_it_is_free_and_used(line):
    line.z = pyo.Var(domain=pyo.Binary)
    assert not has_integers(line)
    line.both = pyo.Constraint(expr=line.x + line.z >= 3)
    assert has_integers(line)
    line.z.fix(1)
    assert not has_integers(line)
    line.z.unfix(), line.both.deactivate()
    assert not has_integers(line)


def test_the_violation_of_dense_rows_is_that_of_plain_ones():
    r = np.random.default_rng(0)
    A, x = r.normal(size=(6, 4)), r.normal(size=4)
    model = pyo.ConcreteModel()
    model.x, model.shift = pyo.Var(range(4)), pyo.Param(initialize=0.25, mutable=True)
    for v, value in zip(model.x.values(), x, strict=True):
        v.set_value(value)
    model.dense = pyo.Constraint(
        range(5),
        rule=lambda m, i: (
            LinearExpression(constant=0.5, linear_coefs=A[i].tolist(), linear_vars=list(m.x.values())) >= 3
        ),
    )
    assert violation(model) == pytest.approx(max(0, *((3 - 0.5 - A[:5] @ x) / 3)))
    model.dense.deactivate()
    model.soft = pyo.Constraint(
        expr=LinearExpression(linear_coefs=[model.shift, 1.0], linear_vars=[model.x[0], model.x[1]]) <= -9
    )
    assert violation(model) == pytest.approx((0.25 * x[0] + x[1] + 9) / 9)
    model.x[0].set_value(None)
    assert violation(model) == float("inf")


def test_the_violation_of_ordered_sets(textbook):
    model = textbook.sos()
    for v, value in zip(model.x.values(), (0, 3, 1), strict=True):
        v.set_value(value)
    assert violation(model) == 1
    model.one.deactivate()
    model.two = pyo.SOSConstraint(var=model.x, sos=2)
    assert violation(model) == 0
    model.x[1].set_value(2)
    assert violation(model) == 1
    model.x[2].set_value(0)
    assert violation(model) == 1  # 2, 0, 1: not neighbours
