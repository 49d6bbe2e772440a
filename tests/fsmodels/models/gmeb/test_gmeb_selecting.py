"""Rows on the features of GMEB: all supports beside the model, bounds, limits, parameters, refusals."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from cutting_planes import brackets
from fsmodels import ParameterError, gmeb
from fsmodels import side_constraints as rows
from model_state import state
from solvers import ModelError, SolutionStatus

R = (0.4, 0.9)
pytestmark = pytest.mark.filterwarnings("ignore:Data .* (columns differ|Constant):fsmodels.DataWarning")


@pytest.fixture(scope="module")
def data(make_data):
    return make_data(24, 5, seed=3)


@pytest.fixture(scope="module")
def worth(data):
    return losses(data, *R)


def losses(data, *limits, **own):
    """The optimum on each set of features, by the model without sigma."""
    found = {}
    for size in range(len(data.features) + 1):
        for used in itertools.combinations(data.features, size):
            model = gmeb.primal(data, R_plus=limits[0], R_minus=limits[1])
            for j in data.features:
                if j not in used:
                    model.w[j].fix(0.0)
            result = fs.solve(model, gap=1e-7)
            assert result.status is SolutionStatus.OPTIMAL
            found[frozenset(used)] = result.objective
    return found


def built(data, **own):
    return gmeb.primal(data, R_plus=R[0], R_minus=R[1], sigma=True, **own)


COST = [3.0, 1.0, 2.0, 4.0, 2.5]
ROWS = {
    "budget": (lambda m, f: rows.budget(m, dict(zip(f, COST, strict=True)), 5.0), lambda u, f: _cost(u, f) <= 5),
    "few": (lambda m, f: pyo.Constraint(expr=sum(m.sigma.values()) <= 2), lambda u, f: len(u) <= 2),
    "pair": (lambda m, f: rows.requires(m, f[0], f[1]), lambda u, f: f[1] in u or f[0] not in u),
    "group": (lambda m, f: rows.all_or_none(m, f[:3]), lambda u, f: len(u & set(f[:3])) in (0, 3)),
    "in": (lambda m, f: rows.force_in(m, f[4]), lambda u, f: f[4] in u),
}


def _cost(used, f):
    return sum(price for price, j in zip(COST, f, strict=True) if j in used)


def allowed(kind, used, f):
    return ROWS[kind][1](used, f)


def least(worth, f, *kinds):
    return min(loss for used, loss in worth.items() if all(allowed(kind, used, f) for kind in kinds))


@pytest.mark.parametrize("kinds", [("few",), ("budget", "pair", "group"), ("few", "in")])
def test_rows_on_features_end_at_the_best_support_that_they_allow(data, worth, kinds):
    f = list(data.features)
    model = built(data)
    for k, kind in enumerate(kinds):
        model.add_component(f"asked_{k}", ROWS[kind][0](model, f))
    before = state(model)
    result = fs.solve(model)
    optimum = least(worth, f, *kinds)
    assert (result.solver, result.status) == ("cutting-plane", SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(optimum, rel=2e-6, abs=1e-6)
    assert result.details["violation"] <= 1e-9
    assert all(allowed(kind, set(result.selected), f) for kind in kinds)
    assert all(model.w[j].value == 0 for j in f if j not in result.selected)
    brackets(result, optimum, rel=2e-6)
    assert state(model) == before


@pytest.mark.parametrize("limits", [(4.0, 0.1), (0.05, 2.0)])
def test_the_big_m_follows_the_parameters(data, limits):
    f = list(data.features)
    model = built(data)
    model.asked = ROWS["few"][0](model, f)
    M = {j: pyo.value(model.M[j]) for j in f}
    model.R_plus, model.R_minus = limits
    for j in f:
        bounds = [R / pyo.value(v[j]) for R, v in zip(limits, (model.v_plus, model.v_minus), strict=True)]
        assert pyo.value(model.M[j]) == pytest.approx(np.sqrt(min(bounds)), rel=1e-12)
        assert pyo.value(model.M[j]) != M[j]
    optimum = least(losses(data, *limits), f, "few")
    assert fs.solve(model).objective == pytest.approx(optimum, rel=2e-6)


def test_the_big_m_is_attained(data):
    """At s_j = M_j^2 with all other weights 0, (15) holds with equality: no smaller number is a bound."""
    model = built(data)
    for j in data.features:
        for part in (model.w, model.s, model.t):
            for v in part.values():
                v.set_value(0.0)
        M = pyo.value(model.M[j])
        model.w[j].set_value(M), model.s[j].set_value(M**2), model.t[j].set_value(1.0)
        shares = [pyo.value(row.body) / pyo.value(row.upper) for row in (model.second_plus, model.second_minus)]
        assert max(shares) == pytest.approx(1.0, rel=1e-12)
        assert pyo.value(model.cone[j].body) == pytest.approx(0.0, abs=1e-12)
        assert pyo.value(model.only_selected[j].body) == pytest.approx(0.0, abs=1e-12)


def test_quotients_go_to_scip(data, worth):
    f = list(data.features)
    model = built(data, form="quotient")
    model.asked = ROWS["few"][0](model, f)
    result = fs.solve(model, time_limit=20)
    assert result.solver == "scip"
    assert result.objective >= least(worth, f, "few") * (1 - 1e-6)
    assert result.bound <= least(worth, f, "few") * (1 + 1e-5)


def test_rows_that_clash_are_named(data):
    model = built(data)
    f = list(data.features)
    model.wanted = rows.force_in(model, f[0], f[1])
    model.not_both = rows.excludes(model, f[0], f[1])
    result = fs.solve(model)
    assert (result.status, result.objective) == (SolutionStatus.INFEASIBLE, None)
    assert "not_both" in result.message
    assert "wanted" in result.message


def test_what_the_driver_does_not_take_is_refused_by_name(data):
    model = built(data)
    for v in model.sigma.values():
        v.domain = pyo.UnitInterval
    with pytest.raises(ModelError, match=r'"sigma\[.*no longer integer.*clarabel'):
        fs.solve(model, "cutting-plane")
    model = built(data)
    model.row = pyo.Constraint(expr=model.s[data.features[0]] <= model.sigma[data.features[1]])
    with pytest.raises(ModelError, match="holds"):
        fs.solve(model, "cutting-plane")


@pytest.mark.parametrize("build", [gmeb.dual, gmeb.nonconvex])
def test_forms_without_weights_of_their_own_say_what_to_build(data, build):
    with pytest.raises(ParameterError, match=r"Rows on the selection \(sigma=True\) are not allowed.*gmeb\.primal"):
        build(data, R_plus=1.0, R_minus=1.0, sigma=True)


def test_a_column_that_does_not_vary_may_be_selected(data, worth):
    f = [*data.features, "one"]
    wide = fs.Dataset.from_arrays(np.column_stack([data.X, np.ones(len(data.y))]), data.y, f)
    with pytest.warns(fs.DataWarning, match="left out"):
        model = built(wide)
    model.asked = rows.force_in(model, "one")
    model.few = pyo.Constraint(expr=sum(model.sigma.values()) <= 3)
    result = fs.solve(model)
    assert "one" in result.selected
    assert result.objective == pytest.approx(least(worth, f[:5], "few"), rel=2e-6)


@pytest.fixture(scope="module")
def uneven(data):
    """Columns that vary in one class more than in the other, for which three rows of the norms are not enough."""
    X = data.X * np.where((data.y > 0)[:, None], [4, 4, 1, 1, 2], [1, 1, 4, 4, 1])
    return fs.Dataset.from_arrays(X, data.y, list(data.features))


def test_uneven_classes_need_more_rows(uneven):
    model = gmeb.primal(uneven, R_plus=0.8, R_minus=0.6, sigma=True)
    model.asked = pyo.Constraint(expr=sum(model.sigma.values()) <= 3)
    result = fs.solve(model)
    worth = losses(uneven, 0.8, 0.6)
    optimum = min(loss for used, loss in worth.items() if len(used) <= 3)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=2e-6)
    assert result.iterations["Cuts"].sum() >= 1
    brackets(result, optimum, rel=2e-6)


def test_the_path_takes_the_rows(uneven):
    data, f = uneven, list(uneven.features)

    def state_rows(model):
        model.asked, model.pair = ROWS["budget"][0](model, f), ROWS["pair"][0](model, f)

    sizes = [0.3, 0.6, 0.8]
    table = gmeb.path(data, R_plus=sizes, R_minus=sizes[:2], scale="none", rows=state_rows, validation=data)
    assert table["status"].unique().tolist() == ["optimal"]
    assert table["rows"].max() > 3
    for (plus, minus), point in table.iterrows():
        model = gmeb.primal(data, R_plus=plus, R_minus=minus, sigma=True)
        state_rows(model)
        alone = fs.solve(model)
        assert point["objective"] == pytest.approx(alone.objective, rel=2e-6, abs=1e-6)
        assert point["bound"] <= alone.objective * (1 + 1e-6)
        assert allowed("budget", set(point["selected"]), f)
        assert point["training_error"] == point["validation_error"]
    free = gmeb.path(data, R_plus=sizes, R_minus=sizes[:2], scale="none")
    assert (free["bound"] <= table["objective"] + 1e-6).all()
    used = [{j for j, w in zip(f, weights, strict=True) if w} for weights in table.attrs["weights"]]
    assert all(u <= set(names) for u, names in zip(used, table["selected"], strict=True))


def test_a_path_whose_rows_clash_or_are_none(data):
    f = list(data.features)

    def clash(model):
        model.wanted, model.apart = rows.force_in(model, f[0], f[1]), rows.excludes(model, f[0], f[1])

    with pytest.raises(ModelError, match="apart"):
        gmeb.path(data, R_plus=[0.4], R_minus=[0.9], scale="none", rows=clash)
    with pytest.raises(ParameterError, match=r"rows is dict: give a function"):
        gmeb.path(data, R_plus=[0.4], R_minus=[0.9], scale="none", rows={"a": 1})
    assert gmeb.path(data, R_plus=[0.4], R_minus=[0.9], scale="none", rows=clash, time_limit=1e-9).empty
