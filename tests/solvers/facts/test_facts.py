"""Facts of a model do not conflict with a component of the user that is named ``structure``."""

import pickle

import pyomo.environ as pyo
import pytest

import solvers
from solvers.facts.base import Facts, facts_of
from solvers.facts.blocks import Block, Blocks


def foreign():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 3))
    m.y = pyo.Var(bounds=(0, 2))
    m.row = pyo.Constraint(expr=m.x + m.y <= 6)
    m.cost = pyo.Objective(expr=-m.x - 2 * m.y)
    return m


OWN = {
    "variable": lambda: pyo.Var(bounds=(0, 1)),
    "block": lambda: pyo.Block(),
    "set": lambda: pyo.Set(initialize=[1, 2]),
    "text": lambda: "two floors",
    "None": lambda: None,
}
CALLS = {
    "default": {},
    "highs": {"solver": "highs"},
    "alternating": {"solver": "alternating", "blocks": lambda m: [[m.x], [m.y]]},
    "sla": {"solver": "sla"},
    "cutting-plane": {"solver": "cutting-plane"},
    "multi-start": {"solver": "multi-start"},
    "branch-and-cut": {"solver": "branch-and-cut", "complicating": lambda m: m.x},
    "benders": {"solver": "benders", "complicating": lambda m: m.x},
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("own", OWN)
def test_a_component_named_structure_in_another_model_is_ignored(own, call):
    m = foreign()
    m.structure = OWN[own]()
    options = {k: v(m) if callable(v) else v for k, v in CALLS[call].items()}
    result = solvers.solve(m, **options)
    assert result.objective == pytest.approx(-7.0)
    assert result.selected is None


@pytest.mark.parametrize("taken", [False, True])
def test_facts_survive_pickle_and_belong_to_the_copy(taken):
    m = foreign()
    if taken:
        m.structure = pyo.Var()
    Blocks([Block([m.x]), Block([m.y])]).attach(m)
    copy = pickle.loads(pickle.dumps(m))
    assert facts_of(copy).blocks[0].variables[0].model() is copy
    assert solvers.solve(copy, "alternating").objective == pytest.approx(-7.0)


def test_facts_attached_to_a_model_that_has_the_name_leave_it_alone():
    m = foreign()
    m.structure = pyo.Var()
    own = m.structure
    Facts(default_solver="highs", selected=lambda m: ["x"]).attach(m)
    assert m.structure is own
    result = solvers.solve(m)
    assert (result.solver, result.selected) == ("highs", ["x"])


def test_facts_that_a_user_puts_there_count():
    m = foreign()
    m.structure = Facts(default_solver="highs", selected=lambda m: ["y"])
    assert solvers.solve(m).selected == ["y"]
