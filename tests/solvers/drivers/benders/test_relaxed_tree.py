"""Tree of relaxations for a Benders master: bounds and cuts at every 0/1 point, and models that need it."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus
from solvers.drivers.benders.block_subproblem import BlockSubproblem
from solvers.drivers.benders.declared import structure_of
from solvers.drivers.benders.relaxed_tree import RelaxedTree
from solvers.drivers.benders.split import split
from solvers.interfaces.runner import SolveOptions
from solvers.model.linear import LinearRows


def regression(p, n, most, seed):
    """Least squares with at most ``most`` of p columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, :3] @ [1.0, -1.5, 0.7] + rng.normal(size=n)
    m = pyo.ConcreteModel()
    m.b, m.z = pyo.Var(range(p)), pyo.Var(range(p), domain=pyo.Binary)
    m.above = pyo.Constraint(range(p), rule=lambda m, j: m.b[j] <= 10 * m.z[j])
    m.below = pyo.Constraint(range(p), rule=lambda m, j: m.b[j] >= -10 * m.z[j])
    m.few = pyo.Constraint(expr=sum(m.z.values()) <= most)
    lines = [sum(float(c) * m.b[j] for j, c in enumerate(row)) for row in X]
    m.cost = pyo.Objective(expr=sum((float(t) - line) ** 2 for t, line in zip(y, lines, strict=True)))
    return m


def ellipsoids(count, seed):
    """Integers and continuous variables in three ellipsoids."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(count), domain=pyo.Integers, bounds=(-5, 5))
    m.y = pyo.Var(range(count), bounds=(-5, 5))
    v, m.rows = [*m.x.values(), *m.y.values()], pyo.ConstraintList()
    for _ in range(3):
        F, c = rng.normal(size=(len(v), len(v))) / len(v) ** 0.5, rng.normal(size=len(v))
        squares = sum(sum(float(a) * u for a, u in zip(row, v, strict=True)) ** 2 for row in F)
        m.rows.add(squares + sum(float(a) * u for a, u in zip(c, v, strict=True)) <= 10)
    m.cost = pyo.Objective(expr=sum(float(a) * u for a, u in zip(rng.normal(size=len(v)), v, strict=True)))
    return m


def tree_of(model):
    parts = split(model, structure_of(model))
    inside = BlockSubproblem(parts, None, SolveOptions())
    rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign)
    return RelaxedTree(rows, inside.relaxation), inside


@pytest.mark.parametrize("seed", range(3))
def test_bounds_and_cuts_at_every_choice(seed):
    tree, inside = tree_of(regression(6, 20, 2, seed))
    points = [np.array(z, dtype=float) for z in itertools.product((0, 1), repeat=6) if sum(z) <= 2]
    values = [inside.solve(z, 1e-9, None).value for z in points]
    options = {"accuracy": 1e-7, "time_limit": None}
    tree.add(tree.rows.x_lower, tree.rows.x_upper, -np.inf, **options)
    before = -np.inf
    for _ in range(200):
        assert before - 1e-9 <= tree.bound <= min(values) + 1e-6
        before = tree.bound
        tree.expand(**options)
    assert tree.bound == pytest.approx(min(values), rel=1e-5)
    assert len(tree.cuts) >= 3
    for cut in tree.cuts:
        for z, value in zip(points, values, strict=True):
            assert cut.at(z) <= value + 1e-6 * (1 + abs(value))


def test_an_infeasible_root_has_an_infinite_bound():
    model = regression(4, 10, 2, 0)
    model.all = pyo.Constraint(expr=sum(model.z.values()) >= 3)
    tree, _ = tree_of(model)
    tree.add(tree.rows.x_lower, tree.rows.x_upper, -np.inf, accuracy=1e-6, time_limit=None)
    tree.expand(accuracy=1e-6, time_limit=None)
    assert tree.bound == np.inf
    assert solvers.solve(model, "benders").status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize(
    ("model", "rounds"), [(regression(25, 60, 3, 0), 5), (ellipsoids(6, 0), 20), (ellipsoids(6, 1), 20)]
)
def test_the_master_needs_few_iterations(model, rounds):
    truth = solvers.solve(model.clone(), "branch-and-cut", gap=1e-6).objective
    result = solvers.solve(model, "benders", gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.bound <= truth + 1e-5 * abs(truth)
    assert len(result.iterations) <= rounds
