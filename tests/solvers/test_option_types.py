"""Options of the wrong type are rejected before a run, by every driver and solver."""

import dataclasses
import typing

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from pyomo.common.collections import ComponentMap

from solvers import ModelError, OptionError, SolverError, solve
from solvers.drivers.base import configure
from solvers.drivers.catalogue import DRIVERS

WRONG = {
    "time_limit": ("soon", "a number"),
    "gap": ([0.1], "a number"),
    "iteration_limit": (2.5, "a whole number"),
    "threads": (True, "a whole number"),
    "seed": ("x", "a whole number"),
    "tee": (3, "True or False"),
    "callback": (3, "a function"),
    "root_limit": ("x", "a whole number"),
    "patience": (1.5, "a whole number"),
    "starts": ("many", "a whole number"),
    "start_range": (("a", "b"), "a pair of numbers"),
    "tolerance": ("1e-6", "a number"),
    "risk_tolerance": (True, "a number"),
    "assume_convex": ("no", "True or False"),
    "linear_start": (1, "True or False"),
    "warm_start": ("yes", "True or False"),
    "stabilised": (2, "True or False"),
    "sub_solver": (3, "the name of a solver"),
    "lp_solver": (pyo.SolverFactory, "the name of a solver or a Pyomo solver object"),
    "master_solver": (pyo.ConcreteModel, "the name of a solver or a Pyomo solver object"),
    "sub_options": ("x=1", "a mapping from option to value"),
    "lp_options": ([("x", 1)], "a mapping from option to value"),
    "master_options": ("x=1", "a mapping from option to value"),
    "oracle": (None, "a name in quotes"),
    "memory": ({}, "a solvers.Memory"),
    "separable": (3, "a solvers.Separable"),
    "blocks": ("x", "a list"),
}
CHECKED_LATER = {"validation", "complicating", "subproblem", "coupling"}  # by what they must be beside a type


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_every_option_of_every_driver_has_a_type(driver):
    config = DRIVERS[driver].options_type
    names, hints = {f.name for f in dataclasses.fields(config)}, typing.get_type_hints(config)
    refused_later = CHECKED_LATER | {name for name in ("blocks",) if hints.get(name) is typing.Any}
    for name in names - refused_later:
        value, words = WRONG.get(name, (object(), ""))
        with pytest.raises(OptionError, match=rf"{name}=.* is not allowed: give .*{words}"):
            configure(config, {name: value}, driver)
    untyped = {name for name in names if hints[name] is typing.Any}
    assert untyped <= refused_later
    defaults = {f.name: f.default for f in dataclasses.fields(config)}
    assert configure(config, defaults, driver) == config()


@pytest.mark.parametrize(
    ("option", "value"), [("tee", "x"), ("threads", 1.5), ("seed", 2**70), ("seed", -1), ("gap", True)]
)
@pytest.mark.parametrize("solver", ["highs", "scip", "clarabel"])
def test_the_common_options_have_types_for_solvers_too(solver, option, value, need):
    need(solver)
    with pytest.raises(OptionError, match=f"{option}=.*is not allowed"):
        solve(two_parts(), solver, **{option: value})


def test_numpy_numbers_are_numbers():
    result = solve(two_parts(), "benders", complicating=[two_parts.last.x], gap=np.float64(1e-4), threads=np.int64(1))
    assert result.objective == pytest.approx(-1.0)


def two_parts():
    m = two_parts.last = pyo.ConcreteModel()
    m.x = pyo.Var([1, 2], domain=pyo.Binary)
    m.y = pyo.Var([1, 2], bounds=(0, 3))
    m.row = pyo.Constraint(expr=m.y[1] <= 2 * m.x[1])
    m.other = pyo.Constraint([1, 2], rule=lambda m, k: m.y[k] <= 5)
    m.objective = pyo.Objective(expr=m.x[1] + m.x[2] - m.y[1])
    m.scenario = pyo.Block([1, 2])
    return m


GIVEN = {
    "a name": (lambda m: "x", '"x", which is not a variable: give complicating=.model.x., without quotes'),
    "names": (lambda m: ["x"], "without quotes"),
    "an unknown name": (lambda m: ["z"], '"z", which is not a variable: give complicating=.model.x.'),
    "a number": (lambda m: [3], "contains 3, which is not a variable"),
    "a row": (lambda m: [m.row], '"row", which is not a variable'),
    "an expression": (lambda m: [m.x[1] + 1], "which is not a variable"),
    "nothing": (lambda m: [], "contains no variable"),
    "an iterator that was used": (lambda m: iter([]), "is an iterator without items, which may have been used before"),
    "a name of data": (lambda m: "x[1]", r"give complicating=.model.find_component.'x.1.'"),
    "a slice of nothing": (lambda m: m.scenario[:].z, "has a slice that is not valid: .* no attribute 'z'"),
    "keys": (lambda m: m.x.keys(), "contains 1, which is not a variable"),
    "another model's": (lambda m: [two_parts().x], "of another model"),
}


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
@pytest.mark.parametrize("given", GIVEN)
def test_complicating_takes_variables_only(given, driver, need):
    if driver == "single-tree":
        need("gurobi")
    make, words = GIVEN[given]
    m = two_parts()
    with pytest.raises(OptionError, match=words):
        solve(m, driver, complicating=make(m))


@pytest.mark.parametrize("option", ["subproblem", "coupling"])
def test_the_other_parts_take_components_only(option):
    m = two_parts()
    with pytest.raises(OptionError, match=f'{option}= contains "y", which is not a'):
        solve(m, "benders", complicating=m.x, **{option: ["y"]})


def test_a_part_of_a_coupling_is_refused():
    m = two_parts()
    with pytest.raises(OptionError, match="a part of"):
        solve(m, "benders", complicating=m.x, coupling=[m.other[1]])


SAME = {
    "component": lambda m: m.x,
    "slice": lambda m: m.x[:],
    "list of a slice": lambda m: [m.x[:]],
    "data": lambda m: [m.x[1], m.x[2]],
    "tuple": lambda m: (m.x,),
    "view": lambda m: m.x.values(),
    "generator": lambda m: (v for v in m.x.values()),
    "mapping": lambda m: dict(m.x.items()),
    "mapping to components and lists": lambda m: {"first": m.x, "again": [m.x[1], m.x[2]]},
    "stages": lambda m: {m.x: 0},
    "map of components": lambda m: ComponentMap((v, "first") for v in m.x.values()),
    "array": lambda m: np.array([[m.x[1]], [m.x[2]]], dtype=object),
    "series": lambda m: pd.Series(dict(m.x.items())),
    "reference": lambda m: pyo.Reference(m.x[:]),
    "block": lambda m: with_block(m).master,
}


def with_block(m):
    m.master = pyo.Block()
    m.master.x = pyo.Reference(m.x[:])
    return m


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_any_collection_names_variables(make, driver):
    m = two_parts()
    options = {"complicating": make(m)}
    assert solve(m, driver, **options).objective == pytest.approx(-1.0)


BLOCKS = {
    "mapping": lambda m: {k: [m.y[k]] for k in m.y},
    "mapping to data": lambda m: dict(m.y.items()),
    "generator": lambda m: ([v] for v in m.y.values()),
    "view": lambda m: m.y.values(),
    "slice": lambda m: m.y[:],
    "array": lambda m: np.array(list(m.y.values()), dtype=object),
}


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_any_collection_names_blocks(make):
    m = two_parts()
    assert solve(m, "benders", blocks=make(m)).objective == pytest.approx(-1.0)


def test_slices_name_blocks():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var([1, 2], bounds=(-1, 1)), pyo.Var([1, 2], bounds=(-1, 1))
    m.objective = pyo.Objective(expr=m.x[1] * m.y[1] + m.x[2] * m.y[2])
    assert solve(m, "alternating", blocks=[m.x[:], [m.y[:]]]).objective == pytest.approx(-2.0)


@pytest.mark.parametrize("name", ["cat", "true", "/bin/cat"])
def test_a_program_that_is_no_solver_is_refused(name):
    m = two_parts()
    with pytest.raises(SolverError, match=f'The program "{name}" is not a solver'):
        solve(m, name)


@pytest.mark.parametrize("wrong", [None, 3, "model", [1], pyo.AbstractModel()], ids=str)
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(ModelError, match="ConcreteModel"):
        solve(wrong)
