"""Clones of models with attached facts: the same model, and the original as it was."""

import signal

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from solvers import Facts, interrupt
from solvers.facts.base import facts_of
from solvers.facts.change import Change
from solvers.model.rewriting import clone_of
from solvers.values import fixed


def dense():
    m, rng = pyo.ConcreteModel(), np.random.default_rng(0)
    m.x = pyo.Var(range(30), bounds=(0, 1), initialize=0.5)
    m.price = pyo.Param(initialize=2.0, mutable=True)
    held = list(m.x.values())

    def body():
        return LinearExpression(constant=1.0, linear_coefs=rng.normal(size=30).tolist(), linear_vars=held)

    m.least = pyo.Constraint(range(3), rule=lambda m, k: body() >= -3.0)
    m.equal = pyo.Constraint(expr=body() == 1.5)
    m.between = pyo.Constraint(expr=(-4.0, body(), 5.0))
    m.priced = pyo.Constraint(expr=m.price * m.x[0] + m.x[1] <= 3)
    m.cost = pyo.Objective(expr=sum(m.x.values()))
    Facts(change=Change([(m.x[0], 4.0)], rows=[(m.equal, 2.0)])).attach(m)
    return m


def test_a_clone_has_the_same_rows_over_its_own_variables():
    m = dense()
    clone = clone_of(m)
    for row, copy in zip(*(list(k.component_data_objects(pyo.Constraint)) for k in (m, clone)), strict=True):
        assert row.name == copy.name
        assert (row.equality, pyo.value(row.lower), pyo.value(row.upper)) == (
            copy.equality,
            pyo.value(copy.lower),
            pyo.value(copy.upper),
        )
        assert pyo.value(row.body) == pyo.value(copy.body)
    clone.x[3].set_value(0.9)
    assert m.x[3].value == 0.5
    assert pyo.value(m.equal.body) != pyo.value(clone.equal.body)
    assert facts_of(clone).change.factors[0][0] is clone.x[0]
    assert facts_of(clone).change.rows[0][0] is clone.equal


def test_the_original_is_as_it_was():
    m = dense()
    facts, expressions = facts_of(m), [row.expr for row in m.component_data_objects(pyo.Constraint)]
    clone_of(m)
    assert facts_of(m) is facts
    now = [row.expr for row in m.component_data_objects(pyo.Constraint)]
    assert all(a is b for a, b in zip(expressions, now, strict=True))


def test_ctrl_c_while_fixed_variables_are_restored_leaves_none_fixed(monkeypatch):
    m = dense()
    of_pyomo, pressed = type(m.x[0]).set_value, []

    def set_value(v, value, skip_validation=False):
        if value == 0.5 and not pressed:
            pressed.append(v)
            signal.raise_signal(signal.SIGINT)
        return of_pyomo(v, value, skip_validation=skip_validation)

    monkeypatch.setattr(type(m.x[0]), "set_value", set_value)
    with interrupt.run(), interrupt.raising(), fixed([(v, 1.0) for v in m.x.values()]):
        pass
    assert pressed
    assert not any(v.fixed for v in m.x.values())
