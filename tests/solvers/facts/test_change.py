"""Changes of variables: the same optimum, values, multipliers and sets in the units of the model."""

import pickle

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import Facts, SolutionStatus
from solvers.facts.base import facts_of
from solvers.facts.change import Change, Changed
from solvers.model.classes import violation


def diet(**edits):
    """Rows in units of 1e6 and 1e-6, around an offset."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(0, None))
    m.b = pyo.Var()
    m.slack = pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=1e6 * m.x[0] + m.b + m.slack >= 2)
    m.second = pyo.Constraint(expr=1e-6 * m.x[1] - m.b >= 1)
    m.cost = pyo.Objective(expr=1e6 * m.x[0] + 3e-6 * m.x[1] + 10 * m.slack)
    change = Change([(m.x[0], 2.0**-20), (m.x[1], 2.0**20)], m.b, [(1e6, m.x[0])])
    change.rows = [(m.second, 4.0)] if edits.get("rows") else []
    Facts(change=change).attach(m)
    return m


@pytest.mark.parametrize("rows", [False, True])
def test_values_and_multipliers_come_back_in_the_models_own_units(rows):
    plain, changed = diet(), diet(rows=rows)
    Facts().attach(plain)
    for m in (plain, changed):
        m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        assert solvers.solve(m, "highs").objective == pytest.approx(3.0)  # b = -1, x_0 = 3e-6
    for v, w in zip(plain.component_data_objects(pyo.Var), changed.component_data_objects(pyo.Var), strict=True):
        assert v.name == w.name
    assert violation(changed) < 1e-9
    for name in ("first", "second"):
        assert changed.dual[changed.component(name)] == pytest.approx(plain.dual[plain.component(name)], abs=1e-7)


def test_the_view_leaves_the_model_as_it_is():
    m = diet()
    text = str(m.first.expr), str(m.cost.expr), m.x[0].bounds
    view = Changed(m, facts_of(m).change)
    assert (str(m.first.expr), str(m.cost.expr), m.x[0].bounds) == text
    assert {id(v) for v in view.model.component_data_objects(pyo.Var)} & {id(v) for v in m.x.values()} == set()


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.b.fix(1.0),
        lambda m: m.b.setub(-2.0),
        lambda m: m.b.setlb(0.5),
        lambda m: m.x[0].setub(1e-6),
        lambda m: m.x[0].fix(4e-6),
        lambda m: m.add_component("more", pyo.Constraint(expr=m.x[0] >= 4e-6)),
        lambda m: m.add_component("ball", pyo.Constraint(expr=(1e6 * m.x[0]) ** 2 <= 0.25)),
    ],
)
def test_edits_hold_in_the_new_variables_too(edit):
    values = []
    for facts in (None, Facts()):
        m = diet()
        if facts is not None:
            facts.attach(m)
        edit(m)
        result = solvers.solve(m, "scip")
        # Without the change of variables the costs differ by 1e12: no bound of scip is used if a row is quadratic.
        unproven = facts is not None and "no reliable bound" in result.message
        assert result.status is (SolutionStatus.FEASIBLE if unproven else SolutionStatus.OPTIMAL)
        values.append(result.objective)
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] > 3.1


def test_ordered_sets_are_those_of_the_new_variables():
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1, 2], bounds=(0, 1e6))
    m.one = pyo.SOSConstraint(var=m.x, sos=1)
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] + m.x[2] <= 1e6)
    m.gain = pyo.Objective(expr=3e-6 * m.x[0] + 5e-6 * m.x[1] + 2e-6 * m.x[2], sense=pyo.maximize)
    Facts(change=Change([(v, 2.0**20) for v in m.x.values()])).attach(m)
    result = solvers.solve(m, "scip")
    assert result.objective == pytest.approx(3.0, rel=1e-6)
    assert [m.x[k].value > 1 for k in range(3)] == [True, False, False]


def test_facts_with_a_change_survive_clone_and_pickle():
    for copy in (diet().clone(), pickle.loads(pickle.dumps(diet()))):
        assert facts_of(copy).change.factors[0][0] is copy.x[0]
        assert solvers.solve(copy, "highs").objective == pytest.approx(3.0)


def test_an_objective_below_tolerances_is_multiplied_and_comes_back_as_it_is():
    """SCIP's and HiGHS' gaps are absolute below 1e-6: any point would do."""
    rng = np.random.default_rng(1)
    value, weight = rng.uniform(1, 2, 20), rng.uniform(1, 2, 20)
    found = []
    for size in (1.0, 1e-9):
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(20), domain=pyo.Binary)
        m.enough = pyo.Constraint(expr=sum(w * x for w, x in zip(weight, m.x.values(), strict=True)) >= 7.3)
        m.cost = pyo.Objective(expr=size * sum(c * x for c, x in zip(value, m.x.values(), strict=True)))
        Facts(change=Change([], most=20 * size)).attach(m)
        result = solvers.solve(m, "highs", gap=1e-7)
        assert result.status is SolutionStatus.OPTIMAL
        found.append((result.objective / size, result.bound / size))
    assert found[1] == pytest.approx(found[0], rel=1e-6)


def test_multipliers_of_an_objective_that_is_multiplied():
    m = diet()
    m.cost.set_value(1e-9 * m.cost.expr)
    facts = facts_of(m)
    facts.change.most = 1e-8
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert solvers.solve(m, "highs").objective == pytest.approx(3e-9)
    assert m.dual[m.first] == pytest.approx(1e-9)


def test_what_the_user_has_fixed_is_never_given_another_value():
    m = diet()
    m.b.fix(1.0)
    m.x[0].fix(4e-6)
    view = Changed(m, facts_of(m).change)
    for v in view.model.component_data_objects(pyo.Var):
        v.set_value(0.3, skip_validation=True)  # as a solver of few digits may
    view.bring_back()
    assert (m.b.value, m.x[0].value) == (1.0, 4e-6)


@pytest.mark.parametrize("declared", [False, True])
def test_a_big_m_is_as_large_as_its_solver_sees_it(declared):
    """x = u / 1024 and x <= 3 z: in u the coefficient of z is 3072, with a declared factor of the row or without."""
    m = pyo.ConcreteModel()
    m.x, m.z = pyo.Var(), pyo.Var(domain=pyo.Binary)
    m.row = pyo.Constraint(expr=m.x <= 3 * m.z)
    m.cost = pyo.Objective(expr=m.z - m.x)
    change = Change([(m.x, 2.0**-10)], rows=[(m.row, 2.0**10)] if declared else [])
    assert Changed(m, change).steepest == 3072


@pytest.mark.parametrize("features", [2, 20])
def test_a_product_with_a_binary_is_as_steep_as_the_bound_of_its_variable(features):
    """Gurobi writes sigma w with |w| <= 5 as a big-M: in u, where w = u / 1024, that is 5120."""
    m = pyo.ConcreteModel()
    m.w, m.sigma = pyo.Var(range(features), bounds=(-5, 5)), pyo.Var(range(features), domain=pyo.Binary)
    m.row = pyo.Constraint(range(3), rule=lambda m, i: sum(m.sigma[j] * m.w[j] for j in m.w) >= i)
    m.cost = pyo.Objective(expr=sum(m.sigma.values()))
    assert Changed(m, Change([(w, 2.0**-10) for w in m.w.values()])).steepest == 5120
