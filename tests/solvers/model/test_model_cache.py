"""One reading of a model per solve: its contents, and the number of walks over the model."""

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction

import solvers
from solvers.model_cache import ModelCache, cached
from solvers.values import INSIDE

KINDS = [pyo.Var, pyo.Constraint, pyo.Objective, pyo.Expression, pyo.SOSConstraint, Disjunction, Disjunct]


def house():
    """A model with one of each: blocks, some of them off, disjuncts, references, sets, skipped and deactivated rows."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), bounds=(0, 5))
    m.again = pyo.Reference(m.x)
    m.first = pyo.Constraint(range(4), rule=lambda m, i: pyo.Constraint.Skip if i == 1 else m.x[i] <= i)
    m.first[2].deactivate()
    m.none = pyo.Constraint(rule=lambda m: pyo.Constraint.Skip)
    m.off = pyo.Block()
    m.off.y = pyo.Var(domain=pyo.Binary)
    m.off.row = pyo.Constraint(expr=m.off.y <= 0)
    m.off.deactivate()
    m.part = pyo.Block(range(2))
    for k in range(2):
        m.part[k].z = pyo.Var()
        m.part[k].row = pyo.Constraint(expr=m.part[k].z >= m.x[k])
    m.part[1].deactivate()
    m.cost = pyo.Objective(expr=m.x[0] + m.part[0].z)
    m.other = pyo.Objective(expr=m.x[1])
    m.other.deactivate()
    m.said = pyo.Expression(range(2), rule=lambda m, i: m.x[i])
    m.few = pyo.SOSConstraint(var=m.x, sos=1)
    m.late = pyo.Reference([m.first[3]], ctype=pyo.Constraint)
    return m


def disjunctive():
    m = house()
    m.either = Disjunct(range(2))
    for k in range(2):
        m.either[k].row = pyo.Constraint(expr=m.x[k] >= 1)
        m.either[k].inner = pyo.Block()
        m.either[k].inner.v = pyo.Var()
    m.choice = Disjunction(expr=[m.either[0], m.either[1]])
    return m


@pytest.mark.parametrize("build", [house, disjunctive])
def test_a_reading_lists_components_in_the_order_of_pyomo(build):
    model = build()
    cache = ModelCache(model)
    for kind in KINDS:
        inside = model.component_data_objects(kind, active=True, descend_into=INSIDE)
        assert [*map(id, cache.data(kind))] == [*map(id, inside)], kind
        assert [*map(id, cache.stated(kind))] == [*map(id, model.component_data_objects(kind, active=True))], kind
    two = (Disjunction, pyo.SOSConstraint)
    both = model.component_data_objects(two, active=True, descend_into=INSIDE)
    assert [*map(id, cache.data(*two))] == [*map(id, both)]
    assert [v.name for v in cache.variables] == [
        v.name for v in model.component_data_objects(pyo.Var, descend_into=INSIDE)
    ]
    assert cache.rows == cache.stated(pyo.Constraint)
    assert cache.objectives == [model.cost]
    assert cached(cache) is cache
    assert cached(model).model is model


def test_what_is_added_between_making_a_driver_and_its_solve_is_seen():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), domain=pyo.Binary)
    m.least = pyo.Constraint(expr=m.x[0] + m.x[1] + m.x[2] >= 2)
    m.cost = pyo.Objective(expr=m.x[0] + 2 * m.x[1] + 4 * m.x[2])
    m.y = pyo.Var(bounds=(0, 1))
    m.link = pyo.Constraint(expr=m.y >= m.x[0])
    driver = solvers.Benders(m, complicating=m.x, gap=1e-9)
    m.late = pyo.Constraint(expr=m.x[0] <= 0)
    result = driver.solve()
    assert result.status is not solvers.SolutionStatus.OPTIMAL
    assert not result.has_solution
