"""Second-order cones by cutting planes, compared with Clarabel, SCIP and enumeration."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from cutting_planes import brackets
from solvers import ModelError, SolutionStatus
from solvers.drivers.cutting_plane.column_lp import ConvexParts
from solvers.model.cone_function import ConeFunction

CONES = {
    "second-order": lambda m: m.x**2 + m.y**2 <= m.s**2,
    "rotated": lambda m: m.x**2 + m.y**2 <= m.s * m.t,
    "with a lower side": lambda m: m.s * m.t - m.x**2 >= m.y**2,
    "with affine factors": lambda m: (m.x + 1) ** 2 + 2 * m.y**2 <= (m.s + 2) * (2 * m.t + 1),
    "hyperbola": lambda m: m.s * m.t >= 2,
    "with a constant": lambda m: m.x**2 + m.x * m.y + m.y**2 + 1 <= 3 * m.s * m.t,
    "equal factors": lambda m: (m.x - m.y) ** 2 <= (m.s + m.t) ** 2,
}


def cone(kind, integer=False):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-4, 4)), pyo.Var(bounds=(-4, 4))
    m.s = pyo.Var(domain=pyo.NonNegativeIntegers if integer else pyo.NonNegativeReals, bounds=(0, 5))
    m.t = pyo.Var(domain=pyo.NonNegativeReals, bounds=(0, 5))
    m.cone = pyo.Constraint(expr=CONES[kind](m))
    m.far = pyo.Constraint(expr=m.x - 2 * m.y + m.t >= 1.3)
    m.cost = pyo.Objective(expr=m.s + 1.5 * m.t - 0.4 * m.x + 0.1 * m.y)
    return m


@pytest.mark.parametrize("kind", CONES)
def test_the_optimum_is_that_of_clarabel(kind):
    model = cone(kind)
    truth = solvers.solve(model, "clarabel").objective
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(truth, rel=3e-6, abs=3e-6)
    brackets(result, truth, rel=3e-6)


@pytest.mark.parametrize("kind", CONES)
def test_the_optimum_with_integers_is_that_of_enumeration(kind):
    model, found = cone(kind), []
    for s in range(6):
        model.s.fix(s)
        answer = solvers.solve(model, "clarabel")
        found += [answer.objective] if answer.status is SolutionStatus.OPTIMAL else []
    model = cone(kind, integer=True)
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(min(found), rel=3e-6, abs=3e-6)


@pytest.mark.parametrize("kind", CONES)
def test_each_cut_holds_in_the_cone_and_excludes_its_point(kind):
    model, rng = cone(kind), np.random.default_rng(3)
    order = [model.x, model.y, model.s, model.t]
    g = ConvexParts(model, variables=order).convex[0]
    assert isinstance(g, ConeFunction)
    points = rng.uniform([-4, -4, 0, 0], [4, 4, 5, 5], size=(400, 4))
    points[:50, 2:] = 0.0  # at the apex
    inside = []
    for p in points:
        for v, value in zip(order, p.tolist(), strict=True):
            v.set_value(value)
        miss = model.cone.body() - model.cone.upper() if model.cone.has_ub() else model.cone.lower() - model.cone.body()
        assert (miss > 0) == (g.at(p) > 0)
        inside += [p] if miss <= 0 else []
    assert len(inside) > 10
    for p in points[:100]:
        slope, side = g.cut(p)
        assert max(slope @ q - side for q in inside) <= 1e-9
        if g.at(p) > 1e-6:
            assert slope @ p > side


@pytest.mark.parametrize("row", [lambda m: m.x * m.y <= 1, lambda m: m.x**2 <= m.s * m.x, lambda m: m.x**2 >= m.y**2])
def test_a_row_that_is_one_of_two_nappes_is_refused_by_name(row):
    model = cone("rotated")
    model.other = pyo.Constraint(expr=row(model))
    with pytest.raises(ModelError, match='"other" is quadratic and not convex'):
        solvers.solve(model, "cutting-plane")


def test_the_sign_of_a_factor_by_a_linear_row():
    model = cone("rotated")
    model.s.setlb(None)
    model.s.domain = pyo.Reals
    with pytest.raises(ModelError, match='"cone" is quadratic and not convex'):
        solvers.solve(model, "cutting-plane")
    model.sign = pyo.Constraint(expr=2 * model.s >= 0)
    assert solvers.solve(model, "cutting-plane").status is SolutionStatus.OPTIMAL


def test_an_empty_cone_is_infeasible():
    model = cone("rotated")
    model.s.fix(0)
    model.away = pyo.Constraint(expr=model.y >= 0.5)
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"cone"' in result.message


@pytest.mark.parametrize("limit", [1, 2])
def test_feature_selection_in_perspective_form(limit):
    data = fs.load_dataset("cleveland").scaled("standard")
    model = fs.fsp.fsp_m(data, max_features=limit, C=1.0, form="perspective")
    truth = solvers.solve(model, "branch-and-cut", gap=1e-6).objective
    result = solvers.solve(model, "cutting-plane", gap=1e-4, time_limit=60)
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(truth, rel=2e-4)
    brackets(result, truth, rel=2e-4)
