"""Rows that a builder stores as a matrix: the same numbers as their terms after any edit."""

import pickle
import subprocess
import sys

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr import replace_expressions
from pyomo.core.expr.calculus.derivatives import differentiate
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.visitor import identify_variables
from pyomo.repn import generate_standard_repn
from scipy import sparse

from solvers.model import classes, linear
from solvers.model.expressions import variables
from solvers.model.linear import LinearRows
from solvers.model.rewriting import clone_of


def built(density: float = 1.0) -> pyo.ConcreteModel:
    """30 rows over 25 variables and one of its own each, as terms and as a matrix."""
    random = np.random.default_rng(3)
    dense = random.standard_normal((30, 25)) * (random.random((30, 25)) <= density)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(25), initialize=dict(enumerate(random.standard_normal(25).tolist())))
    model.slack = pyo.Var(range(30), domain=pyo.NonNegativeReals, initialize=0.5)
    model.y = pyo.Var(initialize=1.0)
    x, slack = list(model.x.values()), list(model.slack.values())
    matrix = sparse.hstack([sparse.csr_array(dense), sparse.eye_array(30)], format="csr")
    linear.add_matrix_rows(model, "rows", range(30), matrix, [*x, *slack], lambda body: body >= 1.0)
    model.other = pyo.Constraint(expr=model.x[0] + 2 * model.y <= 1)
    model.objective = pyo.Objective(expr=pyo.quicksum(slack) + model.y)
    return model


def without(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Return a clone of which nothing is known."""
    clone = model.clone()
    delattr(clone, linear.KNOWN)
    return clone


def edit(model: pyo.ConcreteModel, kind: str) -> None:
    if kind == "changed":
        model.rows[3].set_value(model.rows[3].body + 5 * model.y >= 4)
    elif kind == "deactivated":
        model.rows[3].deactivate()
    elif kind == "deleted":
        del model.rows[3]
    elif kind == "fixed":
        model.x[4].fix(2.5)
    elif kind == "no value":
        model.x[4].set_value(None)


EDITS = ["none", "changed", "deactivated", "deleted", "fixed", "no value"]


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("copy", [lambda m: m, lambda m: m.clone(), clone_of])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_known_rows_equal_their_terms(kind, copy, density):
    model = copy(built(density))
    edit(model, kind)
    plain = without(model)
    assert len(linear.bodies_of(model)) == (29 if kind in ("changed", "deactivated", "deleted") else 30)
    assert classes.violation(model) == pytest.approx(classes.violation(plain), rel=1e-12)
    first, second = ({v.name: v for v in classes.used_variables(m)} for m in (model, plain))
    assert set(first) == set(second)
    assert kind == "changed" or list(first) == list(second)
    if kind == "no value":
        return
    found = {}
    for m, used in ((model, first), (plain, second)):
        free = [used[name] for name in first if not used[name].fixed]
        found[id(m)] = LinearRows.of(list(m.component_data_objects(pyo.Constraint, active=True)), free, [], 1.0)
    ours, theirs = found[id(model)], found[id(plain)]
    assert [row.name for row in ours.rows] == [row.name for row in theirs.rows]
    assert np.abs(ours.matrix - theirs.matrix).max() == 0.0
    assert ours.lower == pytest.approx(theirs.lower, rel=1e-12)
    assert ours.upper == pytest.approx(theirs.upper, rel=1e-12)


def test_known_rows_are_not_walked(monkeypatch):
    model = built()
    model.other.deactivate()

    def walk(self):
        raise AssertionError("a known row was walked")

    monkeypatch.setattr(LinearExpression, "_build_cache", walk)
    rows, held = list(model.rows.values()), [*model.x.values(), *model.slack.values()]
    assert LinearRows.of(rows, held, [], 1.0).matrix.shape == (30, 55)
    assert classes.violation(model) > 0


YOUNG = """
import gc
from solvers import shared_state
shared_state.MANY = 10_000
searched = []
gc.collect()
gc.callbacks.append(lambda phase, info: searched.append(info["generation"]) if phase == "start" else None)
with shared_state.put_off():
    made = [[k] for k in range(100_000)]
assert gc.isenabled()
after = [[k] for k in range(300)]
gc.callbacks.pop()
assert searched == [], searched
assert gc.get_freeze_count() == 0
assert any(part is made for part in gc.get_objects(generation=2))
"""


def test_many_young_objects_are_not_looked_through_and_nothing_stays_frozen():
    subprocess.run([sys.executable, "-c", YOUNG], check=True, timeout=60)  # pytest has a collector of its own


def unread(model: pyo.ConcreteModel) -> int:
    """Return how many rows have no terms yet."""
    return sum(row.body._args_._made is None for row in model.rows.values())


def test_terms_of_rows_are_created_when_they_are_read():
    model = built()
    for copy in (model, model.clone(), pickle.loads(pickle.dumps(model))):
        assert unread(copy) == 30
        x = [*copy.x.values(), *copy.slack.values()]
        assert LinearRows.of(list(copy.rows.values()), x, [], 1.0).matrix.nnz == 30 * 26
        assert next(variables(copy.rows[3].body)) is copy.x[0]
        assert unread(copy) == 30
        assert copy.rows[3].body.args[0].args[1] is copy.x[0]
        assert unread(copy) == 29


def test_matrix_rows_are_ordinary_expressions():
    model, x = pyo.ConcreteModel(), np.array([2.0, 3.0])
    model.x = pyo.Var([0, 1], initialize=dict(enumerate(x)))
    linear.add_matrix_rows(model, "rows", [0], [[1.5, -2.0]], list(model.x.values()), lambda body: body <= 4)
    body = model.rows[0].body
    assert str(body) == "1.5*x[0] - 2.0*x[1]"
    assert pyo.value(body) == 1.5 * 2.0 - 2.0 * 3.0
    assert str(body + model.x[0]) == "1.5*x[0] - 2.0*x[1] + x[0]"
    assert str(body + 1) == "1.5*x[0] - 2.0*x[1] + 1"
    assert str(2 * body) == "2*(1.5*x[0] - 2.0*x[1])"
    assert str(body) == "1.5*x[0] - 2.0*x[1]"
    assert len(body.args) == body.nargs() == 2
    assert body.linear_coefs == (1.5, -2.0)
    assert list(body.linear_vars) == list(model.x.values())
    assert list(identify_variables(body)) == list(model.x.values())
    assert generate_standard_repn(body).linear_coefs == (1.5, -2.0)
    assert differentiate(body, wrt=model.x[1]) == -2.0
    assert str(replace_expressions(body, {id(model.x[0]): model.x[1]})) == "1.5*x[1] - 2.0*x[1]"
