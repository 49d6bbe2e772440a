"""Graph forms: the least value of the bounds of a function is its value, for every function that is recognised."""

import math

import numpy as np
import pyomo.environ as pyo
import pytest

from convex_functions import CONVEX, NONCONVEX, space
from solvers import ModelError
from solvers.clarabel.engine import Engine, settings_of
from solvers.clarabel.program import Program
from solvers.clarabel.rows import ConicModel
from solvers.model.graph_form import GraphForm


def optimum(m):
    """Return the optimum of a model with ``rows`` and ``objective`` by its graph form."""
    graph, model = GraphForm(m), ConicModel()
    model.compile(graph.model, graph.cones)
    program = Program(model)
    ending = Engine().run(program, settings_of({"tolerance": 1e-9})[0], math.inf)
    assert ending.status in ("Solved", "AlmostSolved")
    return program.objective_at(ending.x)


def at_point(seed):
    """Return the variables, with rows that state a point, and room for a further row."""
    m, rng = space(), np.random.default_rng(seed)
    m.rows = pyo.Constraint([*"xyzuv", "curved"])
    for v, ends in zip(
        (m.x, m.y, m.z, m.u, m.v), [(0.2, 1.2), (0.2, 2.8), (1.3, 2.8), (-1.5, 1.5), (-1.5, 1.5)], strict=True
    ):
        v.set_value(float(rng.uniform(*ends)))
        m.rows[v.name] = v == v.value
    return m


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [kind for kind in CONVEX if kind != "geometric mean"])  # with 0 times a function
def test_the_least_bound_of_a_convex_function_is_its_value(kind, seed):
    m = at_point(seed)
    m.objective = pyo.Objective(expr=CONVEX[kind](m))
    assert optimum(m) == pytest.approx(pyo.value(m.objective), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", CONVEX)
def test_the_largest_bound_of_a_concave_function_is_its_value(kind):
    m = at_point(0)
    m.t = pyo.Var()
    m.rows["curved"] = 2 - 2 * CONVEX[kind](m) >= m.t
    m.objective = pyo.Objective(expr=-m.t)
    assert optimum(m) == pytest.approx(2 * pyo.value(CONVEX[kind](m)) - 2, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", NONCONVEX)
def test_a_function_that_is_not_convex_has_no_graph_form(kind):
    m = space()
    m.rows = pyo.Constraint(["none"])
    m.objective = pyo.Objective(expr=NONCONVEX[kind](m))
    with pytest.raises(ModelError):
        optimum(m)
