"""GMEB: rows by hand, duality, one feature by hand, the recovered classifier, invariances, edits, bad input."""

import dataclasses
import itertools
import warnings

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar
from sklearn.svm import SVC

import fsmodels as fs
from fsmodels import gmeb
from fsmodels.errors import DataWarning
from model_state import linear
from solvers.interfaces import spec as table
from solvers.interfaces.registry import DUALS, names
from solvers.interfaces.registry import Capability as C
from solvers.model.classes import violation

PAIRS = [(1.0, 1.0), (0.2, 3.0), (10.0, 2.0)]
DUAL_SOLVERS = names(C.QCP | DUALS, installed=False)
SHIPPED = ["bupa", "cleveland"]


@pytest.fixture
def three():
    """Means (1, 1); centred: (-1, 1) and (2, 0) of class +1, (-1, -1) of class -1."""
    return fs.Dataset.from_arrays([[0.0, 2.0], [0.0, 0.0], [3.0, 1.0]], [1, -1, 1], features=["f", "g"])


@pytest.fixture(scope="module", params=[1, 2, 3])
def seeded(request, make_data):
    return make_data(25, 5, seed=request.param)


# By hand.


def written(row):
    """A row as (lower, {variables: coefficient}, upper); a pair of names where the term is quadratic."""
    repn = generate_standard_repn(row.body, quadratic=True)
    assert repn.nonlinear_expr is None
    coefs = dict(zip([v.name for v in repn.linear_vars], repn.linear_coefs, strict=True))
    for (v, w), c in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True):
        coefs[tuple(sorted([v.name, w.name]))] = c
    sides = [None if side is None else pyo.value(side) - repn.constant for side in (row.lower, row.upper)]
    return sides[0], {name: c for name, c in coefs.items() if c}, sides[1]


def rows(model):
    return {row.name: written(row) for row in model.component_data_objects(pyo.Constraint, active=True)}


MARGINS = {  # y_i (w.(x_i - mean) + offset) + xi_i >= 1
    "margin[0]": (1, {"w[f]": -1, "w[g]": 1, "offset": 1, "xi[0]": 1}, None),
    "margin[1]": (1, {"w[f]": 1, "w[g]": 1, "offset": -1, "xi[1]": 1}, None),
    "margin[2]": (1, {"w[f]": 2, "offset": 1, "xi[2]": 1}, None),
}
LOSS = ({f"xi[{i}]": 1 for i in range(3)}, 0)


def assert_shared(model):
    assert list(model.features) == ["f", "g"]
    assert [pyo.value(m) for m in model.mean.values()] == [1, 1]
    assert [pyo.value(v) for v in model.v_plus.values()] == [2.5, 0.5]
    assert [pyo.value(v) for v in model.v_minus.values()] == [1, 1]


def test_the_conic_primal_by_hand(three):
    model = gmeb.primal(three, R_plus=3, R_minus=2)
    assert_shared(model)
    assert rows(model) == MARGINS | {
        "cone[f]": (None, {("w[f]", "w[f]"): 3.5, ("s[f]", "t[f]"): -3.5}, 0),
        "cone[g]": (None, {("w[g]", "w[g]"): 1.5, ("s[g]", "t[g]"): -1.5}, 0),
        "unit": (None, {"t[f]": 1, "t[g]": 1}, 1),
        "second_plus": (None, {"s[f]": 2.5, "s[g]": 0.5}, 3),
        "second_minus": (None, {"s[f]": 1, "s[g]": 1}, 2),
    }
    assert linear(model.objective.expr) == LOSS
    assert model.objective.sense == pyo.minimize
    assert linear(model.b.expr) == ({"offset": 1, "w[f]": -1, "w[g]": -1}, 0)
    assert all(v.bounds == (0, None) for part in (model.s, model.t, model.xi) for v in part.values())
    assert all(v.bounds == (None, None) for v in [*model.w.values(), model.offset])


def test_the_quotients_by_hand(three):
    model = gmeb.primal(three, R_plus=3, R_minus=2, form="quotient")
    for j, w, s in (("f", 0.3, 0.5), ("g", -0.4, 0.8)):
        model.w[j].set_value(w)
        model.s[j].set_value(s)
    assert pyo.value(model.unit.body) == pytest.approx(0.09 / 0.5 + 0.16 / 0.8)
    assert pyo.value(model.unit.upper) == 1
    model.unit.deactivate()
    assert rows(model) == MARGINS | {
        "floor[f]": (1e-7, {"s[f]": pytest.approx(2.5 / 3 + 1 / 2)}, None),
        "floor[g]": (1e-7, {"s[g]": pytest.approx(0.5 / 3 + 1 / 2)}, None),
        "second_plus": (None, {"s[f]": 2.5, "s[g]": 0.5}, 3),
        "second_minus": (None, {"s[f]": 1, "s[g]": 1}, 2),
    }


def test_the_nonconvex_form_by_hand(three):
    model = gmeb.nonconvex(three, R_plus=3, R_minus=2)
    assert_shared(model)
    scaled = {f"effective[{j}]": (0, {f"w[{j}]": 1, (f"sigma[{j}]", f"u[{j}]"): -1}, 0) for j in "fg"}
    unit = {"unit": (None, {("u[f]", "u[f]"): 1, ("u[g]", "u[g]"): 1}, 1)}
    squares = ("sigma[f]", "sigma[f]"), ("sigma[g]", "sigma[g]")
    assert rows(model) == MARGINS | scaled | unit | {
        "second_plus": (None, dict(zip(squares, (2.5, 0.5), strict=True)), 3),
        "second_minus": (None, dict(zip(squares, (1, 1), strict=True)), 2),
    }
    assert linear(model.objective.expr) == LOSS
    assert all(v.bounds == (0, None) for v in model.sigma.values())

    priced = gmeb.penalized(three, C_plus=4, C_minus=5)
    sizes = [{("size_plus", "size_plus"): -1}, {("size_minus", "size_minus"): -1}]
    assert rows(priced) == MARGINS | scaled | unit | {
        "second_plus": (None, dict(zip(squares, (2.5, 0.5), strict=True)) | sizes[0], 0),
        "second_minus": (None, dict(zip(squares, (1, 1), strict=True)) | sizes[1], 0),
    }
    shares = {f"xi[{i}]": 1 / 3 for i in range(3)} | {"size_plus": 4 * np.sqrt(2) / 3, "size_minus": 5 / 3}
    assert linear(priced.objective.expr) == (pytest.approx(shares), 0)


def test_the_dual_by_hand(three):
    model = gmeb.dual(three, R_plus=3, R_minus=2)
    assert_shared(model)
    for v, value in zip([model.q["f"], model.mu_1, model.r["f"]], [2.0, 3.0, 0.25], strict=True):
        v.set_value(value)
    assert pyo.value(model.cone["f"].body) == pytest.approx((2.0**2 - 4 * 3.0 * 0.25) / 3**2)  # over n^2
    assert pyo.value(model.cone["f"].upper) == 0
    model.cone.deactivate()
    assert rows(model) == {
        "weight[f]": (0, {"mu[0]": -1, "mu[1]": 1, "mu[2]": 2, "q[f]": -np.sqrt(3.5)}, 0),
        "weight[g]": (0, {"mu[0]": 1, "mu[1]": 1, "q[g]": -np.sqrt(1.5)}, 0),
        "moment[f]": (0, {"r[f]": 3.5, "mu_plus": -2.5, "mu_minus": -1}, 0),
        "moment[g]": (0, {"r[g]": 1.5, "mu_plus": -0.5, "mu_minus": -1}, 0),
        "balance": (0, {"mu[0]": 1, "mu[1]": -1, "mu[2]": 1}, 0),
    }
    assert model.objective.sense == pyo.maximize
    prices = {"mu[0]": 1, "mu[1]": 1, "mu[2]": 1, "mu_1": -1, "mu_plus": -3, "mu_minus": -2}
    assert linear(model.objective.expr) == (prices, 0)
    assert all(v.bounds == (0, 1) for v in model.mu.values())
    multipliers = [model.mu_1, model.mu_plus, model.mu_minus, *model.r.values()]
    assert all(v.bounds == (0, None) for v in multipliers)


def least_loss(x, y, limit):
    """The least hinge loss of a w x + b with |w| <= limit: at a vertex of the lines y (w x + b) = 1 and w = +-limit."""
    lines = [(y_i * x_i, y_i, 1.0) for x_i, y_i in zip(x, y, strict=True)] + [(1, 0, limit), (1, 0, -limit)]
    best = np.inf
    for (a, b, c), (d, e, f) in itertools.combinations(lines, 2):
        if a * e - b * d:
            w, offset = np.linalg.solve([[a, b], [d, e]], [c, f])
            if abs(w) <= limit * (1 + 1e-12):
                best = min(best, np.maximum(0, 1 - y * (w * x + offset)).sum())
    return best


@pytest.mark.parametrize("pair", [(0.1, 0.2), (0.5, 10.0), (1e6, 0.3), (0.01, 1e6)])
def test_one_feature_by_hand(pair):
    """s = w^2 is the least that its quotient allows: |w| <= min sqrt(R / v) over the classes."""
    x, y = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 7.0]), np.array([-1, 1, -1, 1, -1, 1])
    centred = x - x.mean()
    limit = min(np.sqrt(R / (centred[y == sign] ** 2).mean()) for R, sign in zip(pair, (1, -1), strict=True))
    data = fs.Dataset.from_arrays(x[:, None], y)
    value = least_loss(x, y, limit)
    for build in (gmeb.primal, gmeb.dual):
        assert fs.solve(build(data, R_plus=pair[0], R_minus=pair[1])).objective == pytest.approx(value, rel=1e-6)
    local = fs.solve(gmeb.nonconvex(data, R_plus=pair[0], R_minus=pair[1]), "pounce")
    assert local.objective >= value - 1e-6 * max(1, value)


# Forms and duality.


def loss_of(data, w, b):
    return np.maximum(0.0, 1.0 - data.y * (data.X @ w + b)).sum()


def every_form_agrees(data, R_plus, R_minus):
    pair = {"R_plus": R_plus, "R_minus": R_minus}
    primal, dual = gmeb.primal(data, **pair), gmeb.dual(data, **pair)
    results = [fs.solve(primal, "clarabel"), fs.solve(dual, "clarabel")]
    value = results[0].objective
    assert results[0].status is fs.SolutionStatus.OPTIMAL
    assert abs(gmeb.duality_gap(value, results[1].objective)) <= 1e-6
    assert fs.solve(gmeb.primal(data, form="quotient", **pair), "clarabel").objective == pytest.approx(value, rel=1e-5)
    assert fs.solve(gmeb.primal(data, form="quotient", **pair), "pounce").objective == pytest.approx(value, rel=1e-5)
    assert fs.solve(gmeb.dual(data, **pair), "pounce").objective == pytest.approx(value, rel=1e-6)
    return primal, dual, value


@pytest.mark.parametrize("pair", PAIRS)
def test_forms_and_dual_agree_on_seeded_data(pair, seeded):
    every_form_agrees(seeded, *pair)


@pytest.mark.parametrize("name", SHIPPED)
def test_forms_and_dual_agree_on_shipped_data(name):
    every_form_agrees(fs.load_dataset(name).scaled("standard"), 1.0, 2.0)


@pytest.mark.parametrize("pair", [(1.0, 1.0), (1.0, 10.0), (2.5, 5.0), (10.0, 2.5)])
@pytest.mark.parametrize("name", ["wdbc", "ionosphere", *SHIPPED])
@pytest.mark.filterwarnings("ignore:Data")
def test_conic_primal_and_dual_are_called_optimal(name, pair):
    """The cones are scaled so that what a solver leaves of its rows stays below 1e-6."""
    data = fs.load_dataset(name).scaled("standard")
    results = [fs.solve(build(data, R_plus=pair[0], R_minus=pair[1])) for build in (gmeb.primal, gmeb.dual)]
    assert [r.status for r in results] == [fs.SolutionStatus.OPTIMAL] * 2
    assert results[1].objective == pytest.approx(results[0].objective, rel=1e-7)
    assert results[0].selected == results[1].selected


def test_the_quotient_form_does_not_escape_through_negative_s():
    """Without the floor an NLP solver takes s_j = -1e-8, which makes room for any w: 103.5 for 147.0."""
    data = fs.load_dataset("cleveland").scaled("standard")
    model = gmeb.primal(data, R_plus=1.0, R_minus=1.0, form="quotient")
    result = fs.solve(model, "pounce")
    exact = fs.solve(gmeb.primal(data, R_plus=1.0, R_minus=1.0))
    assert result.objective == pytest.approx(exact.objective, rel=1e-5)
    assert result.selected == exact.selected
    assert min(s.value for s in model.s.values()) > 0


@pytest.mark.parametrize("pair", PAIRS)
def test_the_nonconvex_form_is_never_below_the_primal_and_reaches_it(pair, seeded):
    value = fs.solve(gmeb.primal(seeded, R_plus=pair[0], R_minus=pair[1])).objective
    model = gmeb.nonconvex(seeded, R_plus=pair[0], R_minus=pair[1])
    found = []
    for seed in range(4):
        if seed:
            rng = np.random.default_rng(seed)
            for u, sigma, w in zip(model.u.values(), model.sigma.values(), model.w.values(), strict=True):
                u.set_value(rng.uniform(-1, 1))
                sigma.set_value(rng.uniform(0, 1))
                w.set_value(u.value * sigma.value)
        result = fs.solve(model, "pounce")
        if result.has_solution:
            found.append(result.objective)
    assert min(found) >= value - 1e-6 * max(1, value)
    assert min(found) == pytest.approx(value, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("solver", DUAL_SOLVERS)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_dual_gives_the_classifier(solver, pair, seeded, need):
    """Theorem 19, with the signs that the module derives."""
    primal, dual = (build(seeded, R_plus=pair[0], R_minus=pair[1]) for build in (gmeb.primal, gmeb.dual))
    value = fs.solve(primal, "clarabel").objective
    result = fs.solve(dual, need(solver))
    w, b = gmeb.classifier(dual)
    table = gmeb.scaling(dual)
    assert loss_of(seeded, w, b) == pytest.approx(value, rel=1e-5, abs=1e-5)
    assert (table["u"] ** 2).sum() <= 1 + 1e-4
    for R, v in zip(pair, (dual.v_plus, dual.v_minus), strict=True):
        assert table["s"] @ [pyo.value(v[j]) for j in dual.features] <= R * (1 + 1e-5)
    assert (table["s"] >= -1e-6).all()
    if solver == "clarabel":
        assert w == pytest.approx(gmeb.classifier(primal)[0], rel=1e-4, abs=1e-4)  # b may be any of an interval
        assert result.selected == primal.structure.selected(primal)
        assert violation(dual) <= 1e-6


def test_without_multipliers_the_cones_that_bind_tell_the_features(seeded):
    primal, dual = (build(seeded, R_plus=1.0, R_minus=1.0) for build in (gmeb.primal, gmeb.dual))
    fs.solve(primal)
    fs.solve(dual)
    dual.dual.clear()
    assert dual.structure.selected(dual) == primal.structure.selected(primal)
    with pytest.raises(fs.ModelError, match=r'multipliers of "weight".*clarabel'):
        gmeb.classifier(dual)


def test_a_model_without_values_has_no_classifier(three):
    model = gmeb.primal(three, R_plus=1, R_minus=1)
    model.w["f"].set_value(None)
    with pytest.raises(fs.ModelError, match="solve it first"):
        gmeb.classifier(model)


def test_without_a_local_solver_scip_solves_the_nonconvex_form_and_the_message_names_pounce(three, monkeypatch):
    for name in ("pounce", "ipopt", "cyipopt"):
        missing = dataclasses.replace(table.SOLVERS[name], version=lambda: None)
        monkeypatch.setitem(table.SOLVERS, name, missing)
    result = fs.solve(gmeb.nonconvex(three, R_plus=3, R_minus=2), time_limit=20)
    assert result.solver == "scip"
    assert result.objective == pytest.approx(fs.solve(gmeb.primal(three, R_plus=3, R_minus=2)).objective, rel=1e-4)
    assert 'Solver "pounce" is not installed. To get it: pip install pyomo-pounce.' in result.message


@pytest.mark.parametrize("build", [gmeb.primal, gmeb.nonconvex])
def test_weights_in_both_forms(build, seeded):
    """(14): w = u sigma, s = sigma^2, and a point of one form is a point of the other."""
    model = build(seeded, R_plus=2.0, R_minus=2.0)
    result = fs.solve(model)
    table = gmeb.scaling(model)
    assert table["w"].to_numpy() == pytest.approx((table["u"] * table["sigma"]).to_numpy(), abs=1e-6)
    assert table["s"].to_numpy() == pytest.approx((table["sigma"] ** 2).to_numpy(), abs=1e-8)
    other = gmeb.nonconvex(seeded, R_plus=2.0, R_minus=2.0)
    for name in ("w", "u", "sigma"):
        getattr(other, name).set_values(table[name].to_dict(), skip_validation=True)
    w, b = gmeb.classifier(model)
    other.offset.set_value(b + float(w @ seeded.X.mean(axis=0)))
    losses = np.maximum(0, 1 - seeded.y * (seeded.X @ w + b))
    other.xi.set_values(dict(enumerate(losses.tolist())))
    assert pyo.value(other.objective) == pytest.approx(result.objective, rel=1e-5, abs=1e-5)
    assert violation(other) <= 1e-5


def test_a_quotient_is_a_linear_matrix_inequality():
    """Lemma 6: [[diag(s), w], [w', 1]] is positive semidefinite exactly where sum w^2 / s <= 1."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        s, w = rng.uniform(0.05, 1, 4), rng.normal(size=4) * 0.4
        matrix = np.block([[np.diag(s), w[:, None]], [w[None, :], np.ones((1, 1))]])
        least, room = np.linalg.eigvalsh(matrix)[0], 1 - (w**2 / s).sum()
        assert (least >= 0) == (room >= 0)
        inside += room >= 0
    assert 50 < inside < 250


# What the mathematics says of other data and other bounds.


def value_of(data, R_plus, R_minus):
    return fs.solve(gmeb.primal(data, R_plus=R_plus, R_minus=R_minus)).objective


def other(data, X=None, y=None):
    return fs.Dataset.from_arrays(data.X if X is None else X, data.y if y is None else y, features=list(data.features))


def test_classes_change_places_with_their_bounds(seeded):
    assert value_of(other(seeded, y=-seeded.y), 3.0, 0.2) == pytest.approx(value_of(seeded, 0.2, 3.0), rel=1e-7)


def test_units_origins_and_orders_do_not_matter(seeded):
    """A column times c has weights over c; a shift goes into b; rows and columns may change places."""
    units, rng = np.array([1e-3, 0.5, 1.0, 20.0, 1e3]), np.random.default_rng(0)
    model = gmeb.primal(seeded, R_plus=1.0, R_minus=2.0)
    value = fs.solve(model).objective
    scaled = gmeb.primal(other(seeded, X=seeded.X * units + 3.0 * units), R_plus=1.0, R_minus=2.0)
    assert fs.solve(scaled).objective == pytest.approx(value, rel=1e-6)
    w, b = gmeb.classifier(scaled)
    assert w * units == pytest.approx(gmeb.classifier(model)[0], abs=1e-4)
    assert loss_of(seeded, w * units, b + 3.0 * (w * units).sum()) == pytest.approx(value, rel=1e-5)
    for build, solver in [(gmeb.dual, "clarabel"), (gmeb.dual, "pounce"), (gmeb.nonconvex, "pounce")]:
        rival = build(other(seeded, X=seeded.X * units + 3.0 * units), R_plus=1.0, R_minus=2.0)
        assert fs.solve(rival, solver).objective == pytest.approx(value, rel=1e-5)
    assert scaled.structure.selected(scaled) == model.structure.selected(model)
    order = rng.permutation(len(seeded.y))
    assert value_of(other(seeded, seeded.X[order], seeded.y[order]), 1.0, 2.0) == pytest.approx(value, rel=1e-7)
    turned = fs.Dataset.from_arrays(seeded.X[:, ::-1], seeded.y, features=list(seeded.features)[::-1])
    assert value_of(turned, 1.0, 2.0) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("scale_by", [1, -1])
def test_with_one_bound_it_is_the_1_norm_svm_on_scaled_columns(scale_by, seeded):
    """Remark 16, by Cauchy-Schwarz: sum |w_j| sqrt(v_j) <= sqrt(R), so columns over sqrt(v_j)."""
    columns = gmeb.centred(seeded)
    v = columns.v_plus if scale_by > 0 else columns.v_minus
    one_norm = fs.svm.one_norm_svm(other(seeded, X=columns.X / np.sqrt(v)), C=0.3)
    fs.solve(one_norm, "highs")
    w = np.array([pyo.value(e) for e in one_norm.w.values()])
    assert np.abs(w).sum() > 0.1
    R = float(np.abs(w).sum() ** 2)
    pair = (R, 1e6) if scale_by > 0 else (1e6, R)
    assert value_of(seeded, *pair) == pytest.approx(pyo.value(one_norm.loss), rel=1e-6)


def by_program(data, R_plus, R_minus, grid=400):
    """The primal without s: sum_j |w_j| sqrt(p v+_j + q v-_j) <= sqrt(p R+ + q R-) on a grid of p + q = 1: a bound."""
    columns = gmeb.centred(data)
    n, d = columns.X.shape
    p = np.linspace(0, 1, grid)[:, None]
    norm = np.sqrt(p * columns.v_plus + (1 - p) * columns.v_minus)
    signed = columns.y[:, None] * columns.X
    margins = np.hstack([-signed, signed, -columns.y[:, None], columns.y[:, None], -np.eye(n)])
    A = np.vstack([margins, np.hstack([norm, norm, np.zeros((grid, 2 + n))])])
    upper = np.concatenate([-np.ones(n), np.sqrt(p * R_plus + (1 - p) * R_minus).ravel()])
    return linprog(np.concatenate([np.zeros(2 * d + 2), np.ones(n)]), A, upper).fun


@pytest.mark.parametrize("pair", PAIRS)
def test_an_independent_linear_program(pair, seeded):
    bound, value = by_program(seeded, *pair), value_of(seeded, *pair)
    assert bound <= value * (1 + 1e-7)
    assert bound == pytest.approx(value, rel=1e-4)


def test_the_penalty_form_and_the_constraints(seeded):
    """Lemma 13: at an optimum of (10), (11) with R the squares of its sizes has the same loss."""
    model = gmeb.penalized(seeded, C_plus=0.6, C_minus=0.4)
    best = None
    for seed in range(6):
        if seed:
            rng = np.random.default_rng(seed)
            for u, sigma in zip(model.u.values(), model.sigma.values(), strict=True):
                u.set_value(rng.uniform(-1, 1))
                sigma.set_value(rng.uniform(0, 1))
        result = fs.solve(model, "pounce")
        if result.has_solution and (best is None or result.objective < best[0] - 1e-9):
            best = (result.objective, pyo.value(model.loss), model.size_plus.value**2, model.size_minus.value**2)
    _, loss, R_plus, R_minus = best
    assert min(R_plus, R_minus) > 1e-4
    assert value_of(seeded, R_plus, R_minus) == pytest.approx(loss, rel=1e-4)


# Columns that do not vary.


@pytest.fixture
def with_constants(make_data):
    """A column of 0.1, whose mean is not 0.1 in floating point, and one that only varies in class -1."""
    noise = make_data(24, 3, seed=9)
    lonely = np.where(noise.y > 0, 0.0, np.random.default_rng(0).normal(size=24))
    lonely[noise.y < 0] -= lonely[noise.y < 0].mean()
    X = np.column_stack([noise.X, np.full(24, 0.1), lonely])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return noise, fs.Dataset.from_arrays(X, noise.y, features=["a", "b", "c", "flat", "lonely"])


@pytest.mark.parametrize("build", [gmeb.primal, gmeb.dual, gmeb.nonconvex])
def test_a_column_that_does_not_vary_is_left_out(build, with_constants):
    _, data = with_constants
    with pytest.warns(DataWarning, match="flat.*left out, with w and s fixed at 0") as caught:
        model = build(data, R_plus=1.0, R_minus=1.0)
    assert caught[0].filename == __file__
    result = fs.solve(model)
    assert result.has_solution
    w, b = gmeb.classifier(model)
    assert w[3] == 0
    assert "flat" not in result.selected
    without = fs.Dataset.from_arrays(data.X[:, [0, 1, 2, 4]], data.y)
    assert loss_of(data, w, b) == pytest.approx(value_of(without, 1.0, 1.0), rel=1e-5)


def test_a_column_that_varies_in_one_class_only_is_fine(with_constants):
    columns = gmeb.centred(fs.Dataset.from_arrays(with_constants[1].X[:, [0, 4]], with_constants[1].y))
    assert columns.v_plus[1] <= 1e-30
    assert columns.v_minus[1] > 0.1
    data = fs.Dataset.from_arrays(with_constants[1].X[:, [0, 4]], with_constants[1].y)
    for pair in PAIRS:
        every_form_agrees(data, *pair)


def test_a_class_on_the_mean_has_no_row(make_data):
    """All of class +1 at the mean of a column: v+ = 0 everywhere, and R+ bounds nothing."""
    data = fs.Dataset.from_arrays([[0.0], [1.0], [-1.0], [0.0]], [1, -1, -1, 1])
    for build in (gmeb.primal, gmeb.dual, gmeb.nonconvex):
        model = build(data, R_plus=1.0, R_minus=1.0)
        assert fs.solve(model).objective == pytest.approx(value_of(data, 1e-3, 1.0), rel=1e-6)


# Edits.


def test_a_budget_on_s(seeded):
    """One more linear row on s, against a linear program over a fine grid of multipliers for three rows."""
    cost = dict(zip(seeded.features, (3.0, 1.0, 0.5, 2.0, 1.0), strict=True))
    model = gmeb.primal(seeded, R_plus=2.0, R_minus=2.0)
    free = fs.solve(model).objective
    model.budget = pyo.Constraint(expr=sum(cost[j] * model.s[j] for j in model.features) <= 0.3)
    value = fs.solve(model).objective
    assert value > free + 1e-3

    columns, (n, d), steps = gmeb.centred(seeded), seeded.X.shape, 40
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    weights = np.array(grid) / steps / np.array([2.0, 2.0, 0.3])  # so that the right-hand side is 1
    norm = np.sqrt(weights @ np.vstack([columns.v_plus, columns.v_minus, list(cost.values())]))
    signed = columns.y[:, None] * columns.X
    margins = np.hstack([-signed, signed, -columns.y[:, None], columns.y[:, None], -np.eye(n)])
    A = np.vstack([margins, np.hstack([norm, norm, np.zeros((len(grid), 2 + n))])])
    upper = np.concatenate([-np.ones(n), np.ones(len(grid))])
    bound = linprog(np.concatenate([np.zeros(2 * d + 2), np.ones(n)]), A, upper).fun
    assert bound <= value * (1 + 1e-7)
    assert bound == pytest.approx(value, rel=1e-3)


def test_a_group_without_room_is_a_group_left_out(seeded):
    model = gmeb.primal(seeded, R_plus=2.0, R_minus=2.0)
    model.group = pyo.Constraint(expr=model.s["a"] + model.s["b"] <= 0)
    result = fs.solve(model)
    without = fs.Dataset.from_arrays(seeded.X[:, 2:], seeded.y)
    assert result.objective == pytest.approx(value_of(without, 2.0, 2.0), rel=1e-5)


def test_an_edit_of_the_dual_is_an_edit_of_the_primal(seeded):
    """At most 0.4 for a multiplier: a slack that costs 0.4."""
    dual = gmeb.dual(seeded, R_plus=1.0, R_minus=1.0)
    dual.mu[3].setub(0.4)
    primal = gmeb.primal(seeded, R_plus=1.0, R_minus=1.0)
    primal.objective.set_value(primal.loss - 0.6 * primal.xi[3])
    assert fs.solve(dual).objective == pytest.approx(fs.solve(primal).objective, rel=1e-6)


# Input.


@pytest.mark.parametrize("build", [gmeb.primal, gmeb.dual, gmeb.nonconvex])
@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), "two", None, True])
def test_bounds_that_are_not_positive_are_refused(build, wrong, three):
    with pytest.raises(
        fs.ParameterError, match=r"R_plus=.* bounds the second moments of class \+1\. Give a number above 0"
    ):
        build(three, R_plus=wrong, R_minus=1.0)
    with pytest.raises(fs.ParameterError, match="R_minus="):
        build(three, R_plus=1.0, R_minus=wrong)


def test_other_bad_input(three):
    with pytest.raises(fs.ParameterError, match="form='sdp' is not known: use one of conic, quotient"):
        gmeb.primal(three, R_plus=1, R_minus=1, form="sdp")
    with pytest.raises(fs.ParameterError, match="C_minus=0"):
        gmeb.penalized(three, C_plus=1, C_minus=0)
    with pytest.raises(fs.ParameterError, match="form='convex' is not known: use one of ratio, perspective"):
        gmeb.svm_ratio(three, form="convex")
    with pytest.raises(fs.DataError, match="Class -1 has no sample"):
        gmeb.primal(one_class(three), R_plus=1, R_minus=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = fs.Dataset.from_arrays([[1.0], [1.0]], [-1, 1])
    with pytest.raises(fs.DataError, match="No column varies"):
        gmeb.dual(flat, R_plus=1, R_minus=1)
    thin = fs.Dataset.from_arrays(sparse.csr_matrix(three.X), three.y)
    with pytest.raises(fs.DataError, match="dense"):
        gmeb.primal(thin, R_plus=1, R_minus=1)


def one_class(data):
    chosen = data.y > 0
    return fs.Dataset(data.X[chosen], data.y[chosen], data.features, data.name, -1, 1)


# (18) and (19).


@pytest.mark.parametrize("C_", [0.1, 1.0, 10.0])
def test_the_ratio_and_the_norm_not_squared_are_one_problem(C_, seeded):
    """Theorem 20: the point of (19) over its norm is a point of (18), with the optimum over C."""
    conic, ratio = fs.gmeb.svm_unsquared(seeded, C=C_), fs.gmeb.svm_ratio(seeded, C=C_)
    exact = fs.solve(conic).objective
    w, b = gmeb.classifier(conic)
    norm = np.linalg.norm(w)
    assert norm > 1e-3
    assert exact == pytest.approx(norm / 2 + C_ * loss_of(seeded, w, b), rel=1e-6)
    local = fs.solve(ratio, "pounce").objective
    assert local == pytest.approx(exact / C_, rel=1e-5)
    v, c = gmeb.classifier(ratio)
    assert v == pytest.approx(w / norm, abs=1e-3)
    assert c == pytest.approx(b / norm, abs=1e-3)
    assert ratio.gamma.value == pytest.approx(1 / norm, rel=1e-3)


def test_the_norm_not_squared_by_hand():
    """x = -1, 1: the margin takes |w| = 1 at 1/2; with 2C < 1/2 slack is cheaper."""
    data = fs.Dataset.from_arrays([[-1.0], [1.0]], [-1, 1])
    assert fs.solve(gmeb.svm_unsquared(data, C=1.0)).objective == pytest.approx(0.5, rel=1e-6)
    assert fs.solve(gmeb.svm_unsquared(data, C=0.1)).objective == pytest.approx(0.2, rel=1e-6)


def test_the_ratio_by_hand(three):
    model = gmeb.svm_ratio(three, C=2.0)
    found = rows(model)
    assert found["margin[1]"] == (0, {"b": -1, "gamma": -1, "xi[1]": 1}, None)
    assert found["margin[2]"] == (0, {"w[f]": 3, "w[g]": 1, "b": 1, "gamma": -1, "xi[2]": 1}, None)
    assert found["unit"] == (None, {("w[f]", "w[f]"): 1, ("w[g]", "w[g]"): 1}, 1)
    for v, value in [(model.gamma, 0.5), *((xi, 0.1) for xi in model.xi.values())]:
        v.set_value(value)
    assert pyo.value(model.objective) == pytest.approx((0.3 + 0.25) / 0.5)


# (28).

PERSPECTIVE = {"form": "perspective"}
CONES = names(C.QCP, installed=False)


def least_ratio(data, C_):
    """Return the optimum of (18) by libsvm: its loss is the smallest for its ||w||, so it is an SVM for some C."""

    def value(log_price):
        found = SVC(kernel="linear", C=np.exp(log_price), tol=1e-10).fit(data.X, data.y)
        w, b = found.coef_[0], found.intercept_[0]
        return loss_of(data, w, b) + np.linalg.norm(w) / (2 * C_)

    grid = np.linspace(-7, 7, 29)
    best = grid[np.argmin([value(x) for x in grid])]
    return minimize_scalar(value, bounds=(best - 0.5, best + 0.5), method="bounded", options={"xatol": 1e-9}).fun


@pytest.mark.parametrize("solver", [*CONES, "cutting-plane"])
@pytest.mark.parametrize("C_", [0.1, 1.0, 10.0])
def test_the_perspective_form_has_the_optimum_of_the_ratio(C_, solver, seeded, need):
    """Lemma 23: (28) is convex, and w over t, b over t and 1 over t are the optimum of (18)."""
    if solver in CONES:
        need(solver)
    convex = gmeb.svm_ratio(seeded, C=C_, **PERSPECTIVE)
    result = fs.solve(convex, solver, gap=1e-4)
    assert result.status is fs.SolutionStatus.OPTIMAL
    best = least_ratio(seeded, C_)
    assert result.objective == pytest.approx(best, rel=1e-5 if solver == "clarabel" else 1e-4)
    assert result.bound <= best * (1 + 1e-7)
    ratio = gmeb.svm_ratio(seeded, C=C_)
    assert fs.solve(ratio, "pounce").objective == pytest.approx(best, rel=1e-5)
    (w, b), t = gmeb.classifier(convex), convex.t.value
    assert ratio.gamma.value == pytest.approx(1 / t, rel=1e-3)
    assert gmeb.classifier(ratio)[0] == pytest.approx(w / t, abs=1e-3)
    assert gmeb.classifier(ratio)[1] == pytest.approx(b / t, abs=1e-3)


def test_the_perspective_form_by_hand(three):
    model = gmeb.svm_ratio(three, C=2.0, **PERSPECTIVE)
    found = rows(model)
    assert found["margin[1]"] == (1, {"b": -1, "xi[1]": 1}, None)
    assert found["margin[2]"] == (1, {"w[f]": 3, "w[g]": 1, "b": 1, "xi[2]": 1}, None)
    assert found["norm"] == (None, {("w[f]", "w[f]"): 1, ("w[g]", "w[g]"): 1, ("t", "t"): -1}, 0)
    assert linear(model.objective.expr) == ({"xi[0]": 1, "xi[1]": 1, "xi[2]": 1, "t": 0.25}, 0)


@pytest.mark.parametrize(("C_", "best"), [(0.25, 2.0), (1.0, 0.5)])
def test_the_perspective_form_attains_an_infimum_of_the_ratio(C_, best):
    """x = -1, 1: loss 2 at w = 0, where gamma of (18) has no bound, or |w| = 1 at 1/(2C)."""
    data = fs.Dataset.from_arrays([[-1.0], [1.0]], [-1, 1])
    result = fs.solve(gmeb.svm_ratio(data, C=C_, **PERSPECTIVE))
    assert (result.objective, result.bound) == (pytest.approx(best, rel=1e-6), pytest.approx(best, rel=1e-6))


@pytest.mark.parametrize("unit", [1e5, 1e-4])
@pytest.mark.parametrize("C_", [1e-3, 1.0, 1e3])
def test_the_perspective_form_is_proven_in_any_units(C_, unit, seeded):
    """The bound holds for any multipliers; C of a model, and of its copy, can be changed."""
    scaled = fs.Dataset.from_arrays(seeded.X * unit, seeded.y)
    model = gmeb.svm_ratio(scaled, C=1.0, **PERSPECTIVE).clone()
    model.C = C_ / unit
    result = fs.solve(model, gap=1e-5)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(fs.solve(gmeb.svm_unsquared(seeded, C=C_)).objective / C_, rel=1e-5)
    certificate = model.structure.certificate
    for alpha in (None, np.random.default_rng(0).uniform(0, 1, len(seeded.y)), np.full(len(seeded.y), np.nan)):
        assert 0 <= certificate.bound(model, alpha) <= result.objective * (1 + 1e-9)
    stopped = fs.solve(model, time_limit=0)
    assert stopped.bound <= result.objective * (1 + 1e-9) <= stopped.objective * (1 + 2e-9)
