"""Products of a variable in [0, 1] with one that has no bound, by ordered sets; values are put on their bounds."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import solvers
from solvers import SolutionStatus
from solvers.interfaces.registry import SOLVERS
from solvers.interfaces.registry import Capability as C
from solvers.values import put_on_bounds
from solvers.whole_model.ordered_products import products_as_sets


def bilinear(seed, n=3, rows=5, sense=pyo.minimize):
    """min c'v + d'r - sum_j p_j r_j v_j over A v >= b, v >= 0, 0 <= r <= 1, with p <= c: bounded below."""
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(rows, n)).round(2), random.normal(size=rows).round(2)
    c, d = random.uniform(0.1, 1, n).round(2), random.uniform(0.1, 2, n).round(2)
    p = c * random.choice([0.5, 1.0], n)
    m = pyo.ConcreteModel()
    m.J, m.K = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, rows - 1)
    m.v, m.y = pyo.Var(m.J, domain=pyo.NonNegativeReals), pyo.Var(m.K, domain=pyo.NonNegativeReals)
    m.r = pyo.Var(m.J, bounds=(0, 1))
    m.rows = pyo.Constraint(m.K, rule=lambda m, i: sum(A[i, j] * m.v[j] for j in m.J) + m.y[i] >= b[i])
    cost = sum(c[j] * m.v[j] + d[j] * m.r[j] - p[j] * m.r[j] * m.v[j] for j in m.J) + 3 * sum(m.y.values())
    m.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    least = min(
        linprog(
            np.concatenate([c - p * s, np.full(rows, 3.0)]), -np.hstack([A, np.eye(rows)]), -b, bounds=(0, None)
        ).fun
        + d @ s
        for s in (np.array(s) for s in itertools.product((0, 1), repeat=n))
    )
    return m, least if sense == pyo.minimize else -least


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.solver_with(C.SOS)
def test_a_bilinear_objective_by_every_choice(solver, seed, sense):
    model, best = bilinear(seed, sense=sense)
    result = solvers.solve(model, solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=2e-4, abs=1e-6)
    assert {v.value for v in model.r.values()} <= {0, 1}
    assert all(v.is_continuous() for v in model.r.values())


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("e", pyo.Constraint(expr=m.r[0] + m.r[1] <= 1.5)),
        lambda m: m.cost.set_value(m.cost.expr + m.r[0] ** 2),
        lambda m: m.cost.set_value(m.cost.expr + m.v[0] * m.v[1]),
        lambda m: setattr(m.v[0], "domain", pyo.Reals),
        lambda m: m.r[0].setub(2),
        lambda m: m.cost.set_value(m.cost.expr + m.r[0] * m.r[1]),
    ],
)
def test_what_needs_values_between_or_has_other_products_stays_as_it_is(edit):
    model, _ = bilinear(0)
    assert products_as_sets(model) is not None
    edit(model)
    assert products_as_sets(model) is None


@pytest.mark.parametrize("solver", ["pounce", "multi-start", "scip", "gurobi"])
def test_a_value_beyond_its_bound_by_a_tolerance_gains_nothing(solver):
    """min (1 - r) (v - 1) with v >= 5e7: 0 at r = 1, and -0.5 at r = 1 + 1e-8."""
    if solver in SOLVERS and not SOLVERS[solver].found:
        pytest.skip(f"{solver} is not installed")
    model = pyo.ConcreteModel()
    model.r, model.v = pyo.Var(bounds=(0, 1), initialize=0.9), pyo.Var(bounds=(5e7, 1e8), initialize=6e7)
    model.cost = pyo.Objective(expr=model.r - 1 - model.r * model.v + model.v)
    result = solvers.solve(model, solver)
    assert result.objective >= 0
    assert 0 <= model.r.value <= 1


def test_values_far_beyond_a_bound_are_no_rounding():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["near", "far", "fixed", "none"], bounds=(0, 1))
    for key, value in (("near", 1 + 1e-8), ("far", 1.5), ("fixed", 1 + 1e-8)):
        model.x[key].set_value(value, skip_validation=True)
    model.x["fixed"].fixed = True
    assert put_on_bounds(model.x.values())
    assert [v.value for v in model.x.values()] == [1, 1.5, 1 + 1e-8, None]
    assert not put_on_bounds(model.x.values())
