"""FSmulti stated but for its labellings: every edit ends at the optimum of the form that states all of them."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import multivariate as mv
from fsmodels.errors import ModelError
from labellings import explicit
from solvers import SolutionStatus

GAP = 1e-6


@pytest.fixture(scope="module")
def small(make_data):
    data = make_data(8, 4, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1, 1, -1], features=list("abcd"))


@pytest.mark.parametrize("loss", ["f1", "auc"])
@pytest.mark.parametrize("B", [1, 4])
def test_as_built_it_is_the_lazy_form(loss, B, small):
    lazy = fs.solve(mv.fsmulti(small, budget=B, C=40.0, loss=loss), gap=GAP)
    stated = fs.solve(mv.fsmulti(small, budget=B, C=40.0, loss=loss, form="stated"), gap=GAP)
    assert stated.status is SolutionStatus.OPTIMAL
    assert stated.objective == pytest.approx(lazy.objective, rel=2e-6)
    assert stated.selected == lazy.selected


def chosen(m):
    """At most one of three features, by binaries of the user's own; another two go together."""
    m.use = pyo.Var(m.features, domain=pyo.Binary)
    m.off = pyo.Constraint(m.features, rule=lambda m, j: m.d[j] <= m.use[j])
    m.one = pyo.Constraint(expr=m.use["a"] + m.use["b"] + m.use["c"] <= 1)
    m.pair = pyo.Constraint(expr=m.use["c"] == m.use["d"])


def test_binaries_of_the_user(small, need):
    model = mv.fsmulti(small, budget=2, C=30.0, form="stated")
    chosen(model)
    result = fs.solve(model, gap=1e-4)
    best = np.inf
    for keep in ([], ["a"], ["b"], ["c", "d"]):  # of the four features, all that the rows allow at most
        part = explicit(small, budget=2, C=30.0)
        for j in part.features:
            if j not in keep:
                part.d[j].fix(0.0)
        best = min(best, fs.solve(part, gap=GAP).objective)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=2e-4)
    assert result.bound <= best * (1 + 1e-6)
    assert all(v.value in (0, 1) for v in model.use.values())


def test_rows_that_clash_are_infeasible(small):
    model = mv.fsmulti(small, budget=2, C=30.0, form="stated")
    model.much = pyo.Constraint(expr=sum(model.d.values()) >= 3)
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE


def test_a_risk_that_no_weights_have_is_infeasible_or_unsolved(small):
    model = mv.fsmulti(small, budget=2, C=30.0, form="stated")
    for w in model.w.values():
        w.fix(0.0)
    model.risk = pyo.Constraint(expr=model.xi <= 0.1)
    assert fs.solve(model).status is SolutionStatus.INFEASIBLE


def test_what_is_no_row_is_refused_by_name(small):
    model = mv.fsmulti(small, budget=2, C=30.0, form="stated")
    model.few = pyo.SOSConstraint(var=model.w, index=["a", "b"], sos=1)
    with pytest.raises(ModelError, match=r'"few".*extended'):
        fs.solve(model)
    with pytest.raises(ModelError, match='master_solver="highs" cannot'):
        fs.solve(mv.fsmulti(small, budget=2, C=30.0, form="stated"), master_solver="highs")


def test_an_unselected_feature_has_no_weight():
    """At sigma = d = 1e-7 the cone w^2 <= d t held to a tolerance at w = 5e-4: 1894.387 in place of 1894.407."""
    x = [[0.49, 0.05, -1.07], [-0.79, -0.29, 1.18], [0.17, 0.91, -0.79], [-1.07, -0.44, -1.76], [0.14, -0.35, 0.14]]
    x += [[-0.76, -0.73, -1.21], [0.04, -0.55, -1.05]]
    data = fs.Dataset.from_arrays(np.array(x), [1, -1, -1, -1, 1, -1, -1])
    model = mv.fsmulti(data, budget=1, C=1000.0, loss="rec@3", form="stated", sigma=True)
    first, second, third = model.features
    model.few = pyo.Constraint(
        expr=1.3 * model.sigma[first] + 2.4 * model.sigma[second] + 0.7 * model.sigma[third] <= 2.6
    )
    model.side = pyo.Constraint(expr=model.w[second] + 1e-3 * model.w[third] >= -1.0)
    result = fs.solve(model)
    assert result.status is SolutionStatus.OPTIMAL
    off = [j for j in model.features if model.sigma[j].value == 0.0]
    assert off
    assert all(model.w[j].value == 0.0 for j in off)
    model.switch.deactivate()  # now any share is allowed
    free = fs.solve(model)
    assert free.objective <= result.objective * (1.0 + 1e-6)
