"""Certificates of edited models: valid after restrictions, not after other changes."""

import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import Facts, SolutionStatus
from solvers.facts.base import facts_of
from solvers.facts.certificate import Certificate


def put(model, x):
    model.x.set_value(x)
    model.y.set_value(max(0.0, 3.0 - x))


def repair(model):
    put(model, min(max(model.x.value or 0.0, 0.0), 2.0))


def trivial(model):
    put(model, 0.0)


def bound(model, multipliers):
    """Return what weak duality gives for min x + 2 y: x + y >= 3 (u), 0 <= x <= 2, y >= 0."""
    u = 0.0 if multipliers is None else float(np.clip(multipliers[0], 0.0, 2.0))
    return 3 * u + 2 * min(0.0, 1 - u)


def built():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, None))
    m.row = pyo.Constraint(expr=m.x + m.y >= 3)
    m.part = pyo.Expression(expr=2 * m.y)
    m.cost = pyo.Objective(expr=m.x + m.part)
    Facts(certificate=Certificate([m.row], bound, repair, trivial)).attach(m)
    return m


EDITS = {
    "nothing": (lambda m: None, True, True),
    "a row": (lambda m: m.add_component("more", pyo.Constraint(expr=m.x <= 1)), False, True),
    "a variable": (lambda m: m.add_component("z", pyo.Var()), False, True),
    "a tighter bound": (lambda m: m.x.setub(1), False, True),
    "a fixed variable": (lambda m: m.x.fix(1), False, True),
    "an integer": (lambda m: setattr(m.x, "domain", pyo.Integers), False, True),
    "a set": (lambda m: m.add_component("one", pyo.SOSConstraint(var=pyo.Reference([m.x, m.y]), sos=1)), False, True),
    "a looser bound": (lambda m: m.x.setub(3), False, False),
    "no bound": (lambda m: m.y.setlb(None), False, False),
    "another row": (lambda m: m.row.set_value(m.x + m.y >= 1), False, False),
    "no row": (lambda m: m.row.deactivate(), False, False),
    "another objective": (lambda m: m.cost.set_value(m.x), False, False),
    "the other sense": (lambda m: m.cost.set_sense(pyo.maximize), False, False),
    "another term": (lambda m: m.part.set_value(m.y), False, False),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("copied", [lambda m: m, lambda m: m.clone(), lambda m: pickle.loads(pickle.dumps(m))])
def test_what_an_edit_leaves_of_the_proof(edit, copied):
    model = copied(built())
    change, untouched, restricted = EDITS[edit]
    change(model)
    snapshot = facts_of(model).certificate.built
    assert (snapshot.untouched(model), snapshot.restricted(model)) == (untouched, restricted)


@pytest.mark.parametrize("copied", [lambda m: m, lambda m: m.clone(), lambda m: pickle.loads(pickle.dumps(m))])
def test_a_set_that_says_something_else_is_an_edit(copied):
    """It may forbid less: a set of one variable forbids nothing."""
    model = built()
    model.z = pyo.Var(bounds=(0, 1))
    model.one = pyo.SOSConstraint(var=pyo.Reference([model.x, model.z]), sos=1)
    facts_of(model).attach(model)
    model = copied(model)
    snapshot = facts_of(model).certificate.built
    assert (snapshot.untouched(model), snapshot.restricted(model)) == (True, True)
    model.one.set_items([model.z], [1.0])
    assert (snapshot.untouched(model), snapshot.restricted(model)) == (False, False)


@pytest.mark.parametrize("edit", [name for name in EDITS if name not in ("the other sense", "no bound")])
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_an_edited_model_is_solved_as_it_is(edit, solver):
    model, plain = built(), built()
    Facts().attach(plain)
    for m in (model, plain):
        EDITS[edit][0](m)
    if edit == "a set" and solver == "highs":
        pytest.skip("HiGHS has no ordered sets")
    mine, theirs = solvers.solve(model, solver), solvers.solve(plain, solver)
    assert mine.status is theirs.status
    assert mine.objective == pytest.approx(theirs.objective)
    assert mine.bound <= theirs.objective + 1e-9


def test_the_bound_is_what_the_multipliers_prove():
    result = solvers.solve(built(), "highs")
    assert result.status is SolutionStatus.OPTIMAL
    assert (result.objective, result.bound) == (pytest.approx(4.0), pytest.approx(4.0))


def test_a_limit_before_the_first_point_leaves_the_trivial_one_and_a_bound():
    model = built()
    result = solvers.solve(model, "highs", time_limit=0)
    assert (result.status, result.stop_reason.value) == (SolutionStatus.FEASIBLE, "time_limit")
    assert (result.objective, result.bound) == (6.0, 0.0)
    assert (model.x.value, model.y.value) == (0.0, 3.0)


def test_the_trivial_point_is_not_put_where_a_row_forbids_it():
    model = built()
    model.more = pyo.Constraint(expr=model.y <= 2)
    result = solvers.solve(model, "highs", time_limit=0)
    assert result.status is SolutionStatus.NO_SOLUTION
    assert model.x.value is None


def test_a_fixed_variable_keeps_its_value():
    model = built()
    model.x.fix(1.5)
    assert solvers.solve(model, "highs").objective == pytest.approx(4.5)
    assert model.x.value == 1.5
