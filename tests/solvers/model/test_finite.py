"""No solver and no driver takes a model with a number that is not finite."""

import math

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction
from pyomo.mpec import Complementarity, complements

import solvers
from solvers.drivers.catalogue import DRIVERS
from solvers.errors import ModelError
from solvers.model.linear import add_matrix_rows

NAN, INF = math.nan, math.inf
WHOLE = [None, "highs", "clarabel", "scip", "pounce", "gurobi"]


def model_with(parameter=1.0):
    """Minimise x[a] + x[b] - y over a row and a binary y."""
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=parameter, mutable=True, within=pyo.Any)
    m.unset = pyo.Param(mutable=True, within=pyo.Any)
    m.x = pyo.Var(["a", "b"], bounds=(0, 3))
    m.y = pyo.Var(domain=pyo.Binary)
    m.cost = pyo.Objective(expr=m.x["a"] + m.x["b"] - m.y)
    m.cover = pyo.Constraint(expr=m.x["a"] + m.x["b"] >= 1 + m.y)
    return m


def with_row(row, parameter=1.0):
    m = model_with(parameter)
    m.row = pyo.Constraint(expr=row(m))
    return m


def with_cost(cost, parameter=1.0):
    m = model_with(parameter)
    m.cost.set_value(cost(m))
    return m


def with_x(edit, parameter=1.0):
    m = model_with(parameter)
    edit(m, m.x["a"])
    return m


def in_an_expression():
    m = model_with()
    m.part = pyo.Expression(expr=NAN * m.x["a"])
    m.row = pyo.Constraint(expr=m.part + m.y <= 1)
    return m


def in_a_disjunct():
    m = model_with()
    m.left, m.right = Disjunct(), Disjunct()
    m.left.row = pyo.Constraint(expr=NAN * m.x["a"] >= 1)
    m.right.row = pyo.Constraint(expr=m.x["a"] >= 2)
    m.either = Disjunction(expr=[m.left, m.right])
    return m


def in_dense_rows():
    m = model_with()
    add_matrix_rows(m, "dense", [0, 1], [[1.0, 2.0], [1.0, 2.0]], list(m.x.values()), lambda body: body <= 9)
    m.dense[1].set_value(m.x["a"] + NAN * m.x["b"] <= 9)
    return m


def in_a_complementarity():
    m = model_with()
    m.pair = Complementarity(expr=complements(NAN * m.x["a"] >= 0, m.y >= 0))
    return m


def in_a_weight():
    m = model_with()
    m.one = pyo.SOSConstraint(var=m.x, sos=1, weights={"a": NAN, "b": 2.0})
    return m


PLACES = {
    "objective times nan": (lambda: with_cost(lambda m: NAN * (m.x["a"] - m.y)), 'Objective "cost" .*nan of x'),
    "objective, parameter": (lambda: with_cost(lambda m: m.p * m.x["a"] - m.y, NAN), "coefficient nan of x"),
    "objective, constant": (lambda: with_cost(lambda m: m.x["a"] + m.p, -INF), "has the constant -inf"),
    "row": (lambda: with_row(lambda m: NAN * m.x["a"] + m.y <= 1), 'Constraint "row" .*coefficient nan of x'),
    "row, infinite": (lambda: with_row(lambda m: m.x["a"] - INF * m.y <= 1), "coefficient -inf of y"),
    "row, overflow": (lambda: with_row(lambda m: m.p * m.p * m.x["a"] <= 1, 1e200), "coefficient inf of x"),
    "row, quadratic": (lambda: with_row(lambda m: NAN * m.x["a"] ** 2 <= 1), r"coefficient nan of x\[a\]\*\*2"),
    "row, x**2 p": (lambda: with_row(lambda m: m.x["a"] ** 2 * m.p <= 1, NAN), 'the number nan in the term "x'),
    "row, nonlinear": (lambda: with_row(lambda m: pyo.exp(m.p * m.x["a"]) <= 1, NAN), 'number nan in .* "exp'),
    "row, divided by 0": (lambda: with_row(lambda m: m.x["a"] / m.p <= 1, 0.0), 'Constraint "row"'),
    "row, no value": (lambda: with_row(lambda m: m.x["a"] * m.unset <= 1), "coefficient nan of x"),
    "expression": (in_an_expression, "coefficient nan of x"),
    "disjunct": (in_a_disjunct, 'Constraint "left.row"'),
    "complementarity": (in_a_complementarity, 'Complementarity "pair" has the number nan'),
    "weight": (in_a_weight, r'SOSConstraint "one" has the weight nan of "x\[a\]"'),
    "dense rows": (in_dense_rows, r'Constraint "dense\[1\]" .*nan of x\[b\]'),
    "side nan": (lambda: with_row(lambda m: m.x["a"] <= m.p, NAN), "upper bound nan: .* inf for no bound"),
    "wrong side": (lambda: with_row(lambda m: m.x["a"] <= m.p, -INF), "upper bound -inf"),
    "equality": (lambda: with_row(lambda m: m.x["a"] == m.p, INF), "right-hand side inf: use a finite number."),
    "range": (lambda: with_row(lambda m: pyo.inequality(m.p, m.x["a"], 2), INF), "lower bound inf"),
    "lower bound": (lambda: with_x(lambda m, x: x.setlb(NAN)), r'Variable "x\[a\]" has the lower bound nan'),
    "lower bound inf": (lambda: with_x(lambda m, x: x.setlb(INF)), "lower bound inf"),
    "upper bound": (lambda: with_x(lambda m, x: x.setub(m.p), -INF), "upper bound -inf: .* inf for no bound"),
    "fixed": (lambda: with_x(lambda m, x: x.fix(NAN, skip_validation=True)), "is fixed at nan"),
}


@pytest.mark.parametrize("solver", [*WHOLE, *DRIVERS])
def test_numbers_that_are_not_finite_are_refused_by_name(solver, need):
    need(solver)
    for place, (build, words) in PLACES.items():
        with pytest.raises(ModelError, match=words):
            pytest.fail(f"{place}: {solvers.solve(build(), solver)}")


@pytest.mark.parametrize("solver", [None, "highs", "scip", "benders", "branch-and-cut", "single-tree", "cutting-plane"])
@pytest.mark.parametrize(
    "build",
    [
        lambda: with_row(lambda m: m.x["a"] + m.y <= m.p, INF),
        lambda: with_row(lambda m: pyo.inequality(-INF, m.x["a"] - m.y, 5)),
        lambda: with_x(lambda m, x: x.setub(m.p), INF),
    ],
)
def test_an_open_side_restricts_nothing(solver, build):
    result = solvers.solve(build(), solver)
    assert result.status is solvers.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(1)


def test_a_builder_s_matrix_is_checked():
    model = model_with()
    numbers, x = [[1.0, 1.0], [1.0, NAN]], list(model.x.values())
    add_matrix_rows(model, "dense", [0, 1], numbers, x, lambda body: body <= 9)
    with pytest.raises(ModelError, match=r'"dense\[1\]" has the coefficient nan of x\[b\]'):
        solvers.solve(model, "highs")
