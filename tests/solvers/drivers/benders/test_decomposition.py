"""Taking a model apart: what goes where, what counts as an edit, and that dense rows are not walked."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.gdp import Disjunction

import solvers.drivers.benders.split
import solvers.model.expressions
from solvers import Benders, ModelError, OptionError, Structure
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.master import Master
from solvers.drivers.benders.split import split
from solvers.facts.snapshot import data_of
from solvers.facts.structure import Cut
from solvers.values import fixed


def plan():
    """x complicates; y, z are the subproblem's; a builder made rows, a coupling and two terms of the objective."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], domain=pyo.Binary)
    m.y, m.z = pyo.Var([0, 1], bounds=(0, 9)), pyo.Var()
    dense = [m.y[0], m.y[1], m.z]
    m.rows = pyo.Constraint(
        range(5), rule=lambda m, i: LinearExpression(linear_coefs=[1.0, i, 1.0], linear_vars=dense) >= 1
    )
    m.link = pyo.Constraint([0, 1], rule=lambda m, j: m.y[j] <= 9 * m.x[j])
    m.pick = pyo.Constraint(expr=m.x[0] + m.x[1] <= 1)
    m.size = pyo.Expression(expr=m.y[0] + m.y[1])
    m.rest = pyo.Expression(expr=m.z)
    m.cost = pyo.Objective(expr=m.size + 2 * m.rest + 3 * m.x[0] + 4)
    structure = Structure(
        complicating=list(m.x.values()),
        subproblem=[m.y, m.z],
        rows=[m.rows],
        coupling=[m.link],
        terms=[m.size, m.rest],
    )
    structure.attach(m)
    return m


def names(things):
    return [thing.name for thing in things]


def test_the_parts_of_a_model_as_built():
    m = plan()
    parts = split(m, m.structure)
    assert parts.as_built
    assert parts.sign == 1
    assert names(parts.subproblem_rows) == [f"rows[{i}]" for i in range(5)]
    assert names(parts.coupling_rows) == ["link[0]", "link[1]"]
    assert names(parts.master_rows) == ["pick"]
    assert names(parts.master_variables) == ["x[0]", "x[1]"]
    assert [str(t) for t in parts.subproblem_terms] == ["size", "2*z"]
    assert [str(t) for t in parts.master_terms] == ["3*x[0]", "4"]


def test_dense_rows_are_not_walked(monkeypatch):
    """Neither by identify_variables nor by reading their lists."""
    m = plan()
    seen = []
    for module in (solvers.drivers.benders.split, solvers.model.expressions):
        original = module.variables
        monkeypatch.setattr(module, "variables", lambda e, *a, f=original: seen.append(e) or f(e, *a))
    assert split(m, m.structure).as_built
    bodies = [id(row.body) for row in m.rows.values()]
    assert seen  # the master's row was read
    assert not any(id(e) in bodies for e in seen)


def replaced(m):
    m.del_component(m.rows)
    m.rows = pyo.Constraint(range(5), rule=lambda m, i: m.y[0] + i * m.y[1] + m.z >= 1)


def nested(m):
    m.inner = pyo.Block()
    m.inner.deep = pyo.Block([1])
    m.inner.deep[1].row = pyo.Constraint(expr=m.y[0] + m.z <= 5)


EDITS = {
    'row "rows[2]" (changed, deactivated, deleted or replaced)': [
        lambda m: m.rows[2].deactivate(),
        lambda m: m.rows[2].set_value(m.y[0] >= 1),
        lambda m: m.rows[2].set_value(m.rows[2].expr.args[1] >= 1),
        replaced,
        lambda m: m.del_component(m.rows),
        lambda m: m.rows.deactivate(),
    ],
    'row "new"': [lambda m: m.add_component("new", pyo.Constraint(expr=m.y[0] >= m.z))],
    'row "inner.deep[1].row"': [nested],
    'row "link[1]" (changed, deactivated, deleted or replaced)': [
        lambda m: m.link[1].deactivate(),
        lambda m: m.link[1].set_value(m.y[1] <= 8 * m.x[1]),
        lambda m: m.link[1].set_value(m.x[0] == m.x[1]),
    ],
    'variable "y[0]" (bounds, domain or fixed value)': [
        lambda m: m.y[0].setub(8),
        lambda m: m.y[0].fix(2),
        lambda m: m.y[0].fix(None),
        lambda m: setattr(m.y[0], "domain", pyo.Integers),
    ],
    "objective": [
        lambda m: m.cost.set_value(m.cost.expr + m.z),
        lambda m: m.cost.set_value(m.cost.expr + m.size),
        lambda m: m.cost.set_value(m.size + 3 * m.x[0]),
        lambda m: m.size.set_value(m.y[0]),
        lambda m: m.rest.set_value(m.z + m.x[1]),
        lambda m: setattr(m.cost, "sense", pyo.maximize),
    ],
}


@pytest.mark.parametrize(("name", "edit"), [(name, edit) for name, edits in EDITS.items() for edit in edits])
def test_every_edit_of_the_subproblem_is_noticed(name, edit):
    m = plan()
    edit(m)
    parts = split(m, m.structure)
    assert not parts.as_built
    assert name in parts.edits
    assert bool(parts.coupling_edits) == ("link" in name)


def test_a_deleted_row_is_noticed():
    m = plan()
    del m.rows[3]
    parts = split(m, m.structure)
    assert not parts.as_built
    assert names(parts.subproblem_rows) == ["rows[0]", "rows[1]", "rows[2]", "rows[4]"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.pick.deactivate(),
        lambda m: m.x[0].fix(1),
        lambda m: m.add_component("e", pyo.Constraint(expr=m.x[0] >= m.x[1])),
        lambda m: m.cost.set_value(m.cost.expr + 7 * m.x[1]),
        lambda m: m.cost.set_value(m.cost.expr - 7),
        lambda m: m.y[0].set_value(5),
        lambda m: m.rows[2].set_value(m.rows[2].expr),
        lambda m: (m.rows.deactivate(), m.rows.activate()),
    ],
)
def test_what_is_not_an_edit_of_the_subproblem(edit):
    m = plan()
    edit(m)
    assert split(m, m.structure).as_built


def test_the_users_variables_go_to_the_master():
    m = plan()
    m.g = pyo.Var(domain=pyo.Binary)
    m.group = pyo.Constraint(expr=m.x[0] + m.x[1] <= 2 * m.g)
    m.cost.set_value(m.cost.expr + 5 * m.g)
    parts = split(m, m.structure)
    assert parts.as_built
    assert names(parts.master_variables) == ["x[0]", "x[1]", "g"]
    assert sorted(names(parts.master_rows)) == ["group", "pick"]


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (lambda m: m.add_component("mix", pyo.Constraint(expr=m.z**2 <= m.x[0])), 'Row "mix"'),
        (lambda m: m.cost.set_value(m.cost.expr + m.z * m.x[0]), "Objective term z*x[0]"),
        (lambda m: m.rest.set_value(m.z * m.x[1]), "Objective term"),
    ],
)
def test_what_mixes_both_parts_is_named(edit, name):
    m = plan()
    edit(m)
    parts = split(m, m.structure)
    assert parts.mixed[0].startswith(name)
    with pytest.raises(ModelError, match="scip"):
        parts.check_separable()


def test_variables_that_share_rows_with_the_subproblem_join_it():
    m = plan()
    m.g, m.h, m.k, m.apart = pyo.Var(), pyo.Var(), pyo.Var(domain=pyo.Integers), pyo.Var()
    m.cost.set_value(m.cost.expr + m.h * m.h)
    m.far = pyo.Constraint(expr=m.h + m.g >= m.x[1])
    m.near = pyo.Constraint(expr=m.g <= m.y[0] + 2 * m.k)
    m.fee = pyo.Constraint(expr=m.apart <= m.x[0] + m.k)
    parts = split(m, m.structure)
    assert names(parts.structure.variables()) == ["y[0]", "y[1]", "z", "g", "h"]
    assert names(parts.structure.complicating) == ["x[0]", "x[1]", "k"]
    assert names(parts.master_variables) == ["x[0]", "x[1]", "k", "apart"]
    assert names(parts.coupling_rows) == ["link[0]", "link[1]", "far", "near"]
    assert (names(parts.master_rows), parts.mixed, parts.as_built) == (["pick", "fee"], [], False)
    assert names(m.structure.variables()) == ["y[0]", "y[1]", "z"]  # what the builder said stays


def test_what_is_no_row_is_named():
    m = plan()
    m.either = Disjunction(expr=[[m.x[0] >= 1], [m.x[1] >= 1]])
    m.sets = pyo.SOSConstraint(var=m.x, sos=1)
    with pytest.raises(ModelError, match='support SOSConstraint "sets"'):
        Benders(m)
    m.sets.deactivate()
    assert Benders(m)
    m.far = Disjunction(expr=[[m.x[0] >= 1], [m.z >= 1]])
    with pytest.raises(ModelError, match=r'"far" cannot be written as rows.*Bound its variables'):
        Benders(m)  # z has no bound for a big-M


def test_a_fact_that_holds_only_as_built():
    m = plan()
    m.structure.only_as_built = "the bound 9"
    assert split(m, m.structure).as_built
    m.x[0].fix(1)
    split(m, m.structure).check_facts()
    m.z.setub(3)
    with pytest.raises(ModelError, match=r'variable "z".*the bound 9'):
        Benders(m)


@pytest.mark.parametrize("count", [0, 2])
def test_exactly_one_objective(count):
    m = plan()
    m.cost.deactivate()
    if count:
        m.cost.activate()
        m.other = pyo.Objective(expr=m.z)
    with pytest.raises(ModelError, match="other" if count else "none"):
        split(m, m.structure)


def test_a_model_without_a_builder():
    m = plan()
    m.inner = pyo.Block()
    m.inner.v = pyo.Var()
    m.again = pyo.Reference(m.y)
    structure = structure_of(m, complicating=[m.x[0]])
    assert names(structure.complicating) == ["x[0]"]
    assert sorted(names(structure.variables())) == ["inner.v", "x[1]", "y[0]", "y[1]", "z"]
    parts = split(m, structure_of(m, complicating=[m.x]))
    assert not parts.as_built
    assert names(parts.coupling_rows) == ["link[0]", "link[1]"]
    assert names(parts.subproblem_rows) == [f"rows[{i}]" for i in range(5)]
    parts = split(m, structure_of(m, complicating=[m.x], subproblem=[m.y]))  # z is of neither part
    assert parts.mixed == [f'Row "rows[{i}]"' for i in range(5)]
    with pytest.raises(OptionError, match="another model"):
        structure_of(m, complicating=[plan().x])


def test_data_of_components():
    m = plan()
    assert names(data_of([m.y, m.z, m.x[1], m.y[0]])) == ["y[0]", "y[1]", "z", "x[1]"]


def test_known_rows_of_a_clone_refer_to_its_components():
    clone = plan().clone()
    parts = split(clone, clone.structure)
    assert parts.as_built
    assert all(row.model() is clone for row in parts.subproblem_rows)
    clone.y[0].setub(1)
    assert not split(clone, clone.structure).as_built


def test_fixed_restores_flags_and_values():
    m = plan()
    m.x[0].fix(1)
    m.x[1].set_value(0)
    m.z.set_value(2.5)

    def fail():
        with fixed([(m.x[0], 0.0), (m.x[1], 1.0), (m.z, 7.0)]):
            assert [v.value for v in (m.x[0], m.x[1], m.z)] == [0, 1, 7]
            assert all(v.fixed for v in (m.x[0], m.x[1], m.z))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [v.value for v in (m.x[0], m.x[1], m.z)] == [1, 0, 2.5]
    assert [v.fixed for v in (m.x[0], m.x[1], m.z)] == [True, False, False]


def test_the_master_and_its_cuts():
    m = plan()
    master = Master(split(m, m.structure), floor=None)
    assert master.model.eta.fixed  # nothing bounds it yet
    assert not master.bounded
    master.add_feasibility_cut(Cut(1.0, np.array([-1.0, -1.0])))
    assert not master.bounded
    master.add_cut(Cut(5.0, np.array([-2.0, 1e-12])))
    assert master.bounded
    first, second = master.model.cuts.values()
    assert str(first.expr) == "1.0  <=  x[0] + x[1]"
    assert str(second.expr) == "5.0  <=  eta + 2.0*x[0]"  # 1e-12 x is at least 0
    m.x[0].set_value(0.9999999)
    assert master.point().tolist() == [1, 0]  # x[1] had no value: any will do
    assert master.cost() == 7


def test_a_cut_without_tiny_coefficients_is_weaker():
    cut = Cut(1.0, np.array([1e-10, -1e-10, 1e-10, 2.0]))
    lower, upper = np.array([0.0, 0.0, -np.inf, 0.0]), np.array([3.0, 3.0, 1.0, 1.0])
    weaker = cut.without_tiny(lower, upper)
    assert weaker.coefficients.tolist() == [0, 0, 1e-10, 2]
    for point in ([0, 0, 0, 0], [3, 3, 1, 1], [0, 3, -5, 0], [3, 0, 0, 1]):
        assert weaker.at(np.array(point)) <= cut.at(np.array(point))
