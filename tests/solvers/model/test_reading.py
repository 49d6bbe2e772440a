"""One reading of a model per solve: what it holds, and how often a solve walks the user's model."""

import sys
from contextlib import contextmanager

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.base.block import BlockData
from pyomo.gdp import Disjunct, Disjunction

import fsmodels as fs
import solvers
from solvers.reading import ModelReading, read
from solvers.values import INSIDE

WALKS = ("component_data_objects", "component_objects", "block_data_objects")
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
def test_a_reading_says_what_pyomo_says_in_its_order(build):
    model = build()
    reading = ModelReading(model)
    for kind in KINDS:
        inside = model.component_data_objects(kind, active=True, descend_into=INSIDE)
        assert [*map(id, reading.data(kind))] == [*map(id, inside)], kind
        assert [*map(id, reading.stated(kind))] == [*map(id, model.component_data_objects(kind, active=True))], kind
    two = (Disjunction, pyo.SOSConstraint)
    both = model.component_data_objects(two, active=True, descend_into=INSIDE)
    assert [*map(id, reading.data(*two))] == [*map(id, both)]
    assert [v.name for v in reading.variables] == [
        v.name for v in model.component_data_objects(pyo.Var, descend_into=INSIDE)
    ]
    assert reading.rows == reading.stated(pyo.Constraint)
    assert reading.objectives == [model.cost]
    assert read(reading) is reading
    assert read(model).model is model


@contextmanager
def walks(monkeypatch, model):
    """Count the walks over a model's components by file, those of Pyomo itself too, but not walks within a walk."""
    counted = []

    def told(name, walk):
        def walked(self, *args, **options):
            caller = sys._getframe(1).f_globals["__name__"]
            if self is model and caller != BlockData.__module__:
                counted.append("pyomo" if caller.startswith("pyomo.") else name)
            return walk(self, *args, **options)

        return walked

    with monkeypatch.context() as patch:
        for name in WALKS:
            patch.setattr(BlockData, name, told(name, getattr(BlockData, name)))
        yield counted


def svm(data):
    return fs.svm.l2_svm(data)


def fsp(data):
    return fs.fsp.fsp_m(data, max_features=2, C=1.0)


@pytest.mark.parametrize(
    ("build", "solver", "ours", "most"),
    [
        (svm, None, 4, 5),
        (fs.svm.robust_lp, None, 2, 10),  # Pyomo's interface to HiGHS reads it twice, in four walks each
        (fs.svm.one_norm_svm, None, 2, 10),
        (fs.svm.one_norm_svm, "cutting-plane", 4, 4),
        (fsp, "branch-and-cut", 4, 4),  # again where it begins to solve: it may have been made long before
        (fsp, "benders", 4, 4),
        (fsp, "single-tree", 4, 4),
        (fsp, "scip", 2, 8),
    ],
)
def test_a_solve_reads_the_model_once(build, solver, ours, most, data, need, monkeypatch):
    if solver in solvers.interfaces.registry.SOLVERS:
        need(solver)
    model = build(data)
    with walks(monkeypatch, model) as counted:
        assert fs.solve(model, solver).has_solution
    assert 0 < len([name for name in counted if name != "pyomo"]) <= ours
    assert len(counted) <= most


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    return fs.Dataset.from_arrays(rng.normal(size=(30, 4)) + 0.7 * y[:, None] * [1, 1, 0, 0], y)


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
