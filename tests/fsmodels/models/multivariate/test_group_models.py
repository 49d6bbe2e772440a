"""(15) and (16): strong duality, multipliers, edits by two solvers, every labelling and group, the working set."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn

import fsmodels as fs
from fsmodels.errors import ModelError, ParameterError
from fsmodels.models.multivariate import Groups, fsmulti, objective
from fsmodels.models.multivariate.groups import group_dual, group_primal, groups_of
from labellings import explicit

CONIC = ["clarabel", "pounce", "gurobi", "scip"]
TIGHT = 1e-5  # relative: what these solvers agree to; scip and gurobi work to 1e-6 in each row


def overlapping(seed):
    """Five cuts over four features in three groups that share features."""
    rng = np.random.default_rng(seed)
    P, q = rng.normal(size=(5, 4)), rng.uniform(0.2, 1.5, size=5)
    return Groups(
        P, q, (("a", "b"), ("b", "c"), ("a", "d")), ("a", "b", "c", "d"), C=float(rng.choice([0.3, 2.0, 20.0]))
    )


@pytest.mark.parametrize("seed", range(6))
def test_strong_duality(seed):
    groups = overlapping(seed)
    primal, dual = (fs.solve(build(groups), gap=1e-8) for build in (group_primal, group_dual))
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)
    assert primal.objective > 0


@pytest.mark.parametrize("solver", CONIC)
@pytest.mark.parametrize("build", [group_primal, group_dual])
def test_each_solver_by_name(build, solver, need):
    groups = overlapping(1)
    expected = fs.solve(group_primal(groups), "clarabel", gap=1e-8).objective
    assert fs.solve(build(groups), need(solver)).objective == pytest.approx(expected, rel=10 * TIGHT)


def summed(model):
    """w of each feature, over its groups."""
    w = dict.fromkeys("abcd", 0.0)
    for (_, j), v in model.w.items():
        w[j] += v.value
    return np.array(list(w.values()))


@pytest.mark.parametrize("seed", range(6))
def test_the_point_of_the_primal_from_the_multipliers_of_the_dual(seed):
    groups = overlapping(seed)
    primal, dual = group_primal(groups), group_dual(groups)
    dual.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    fs.solve(primal, gap=1e-8)
    result = fs.solve(dual, "clarabel", gap=1e-8)
    mu = np.array([dual.dual[dual.sphere[t]] for t in dual.groups])
    assert np.all(mu >= -1e-7)
    assert mu.sum() == pytest.approx(1.0, abs=1e-5)
    w = dict.fromkeys("abcd", 0.0)
    for (t, j), c in dual.c.items():
        w[j] -= mu[t] * c.value  # w_t = -mu_t sum_k alpha_k p_t^k
    w = np.array(list(w.values()))
    alpha = np.array([v.value for v in dual.alpha.values()])
    members = [[groups.features.index(j) for j in t] for t in groups.groups]
    sizes = np.array([np.linalg.norm(alpha @ groups.P[:, t]) for t in members])
    assert dual.theta.value == pytest.approx(0.5 * sizes.max() ** 2, rel=1e-4)
    risk = max(0.0, (groups.q + groups.P @ w).max())
    value = 0.5 * (mu * sizes).sum() ** 2 + groups.C * risk  # a point of (15), so that it is no less than its optimum
    assert value == pytest.approx(result.objective, rel=1e-4)
    np.testing.assert_allclose(w, summed(primal), atol=1e-3 * np.abs(w).max())


@pytest.mark.parametrize("seed", range(3))
def test_the_multipliers_of_the_primal_are_alpha(seed):
    groups = overlapping(seed)
    primal, dual = group_primal(groups), group_dual(groups)
    primal.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    fs.solve(primal, "clarabel", gap=1e-8)
    fs.solve(dual, "clarabel", gap=1e-8)
    alpha = np.array([primal.dual[primal.row[k]] for k in primal.cuts])
    assert np.all(alpha >= -1e-7)
    assert alpha.sum() <= groups.C * (1 + 1e-6)
    theirs = np.array([v.value for v in dual.alpha.values()])
    np.testing.assert_allclose(alpha @ groups.P, theirs @ groups.P, atol=1e-4)


def test_a_cap_on_one_group_by_two_solvers(need):
    groups = overlapping(1)
    free = group_primal(groups)
    without = fs.solve(free, "clarabel", gap=1e-8).objective
    top = max(free.groups, key=lambda t: free.norm[t].value)
    cap = 0.5 * free.norm[top].value
    found = []
    for solver in ("clarabel", need("gurobi")):
        model = group_primal(groups)
        model.cap = pyo.Constraint(expr=model.norm[top] <= cap)
        found.append(fs.solve(model, solver).objective)
        size = np.linalg.norm([v.value for (t, _), v in model.w.items() if t == top])
        assert size <= cap + 1e-4
    assert found[0] == pytest.approx(found[1], rel=10 * TIGHT)
    assert found[0] > without * (1 + 1e-4)


@pytest.mark.parametrize("solver", ["clarabel", "pounce"])
def test_a_row_on_alpha_of_the_dual(solver, need):
    groups = overlapping(2)
    model = group_dual(groups)
    without = fs.solve(model, "clarabel", gap=1e-8).objective
    top = max(model.cuts, key=lambda k: model.alpha[k].value)
    limit = 0.5 * model.alpha[top].value
    model.cap = pyo.Constraint(expr=model.alpha[top] <= limit)
    capped = fs.solve(model, need(solver)).objective
    assert capped < without * (1 - 1e-4)
    assert model.alpha[top].value <= limit + 1e-6
    del model.cap
    assert fs.solve(model, solver).objective == pytest.approx(without, rel=TIGHT)


def test_c_can_be_changed_between_solves():
    groups = overlapping(1)
    for build in (group_primal, group_dual):
        model = build(groups)
        before = fs.solve(model, "clarabel").objective
        model.C = 3 * groups.C
        after = fs.solve(model, "clarabel").objective
        fresh = build(Groups(groups.P, groups.q, groups.groups, groups.features, 3 * groups.C))
        assert after == pytest.approx(fs.solve(fresh, "clarabel").objective, rel=1e-6)
        assert after > before


@pytest.mark.parametrize(("loss", "B"), [("f1", 1), ("f1", 2), ("hamming", 2), ("prbep", 3)])
def test_all_labellings_and_all_groups_are_the_whole_problem(loss, B, make_data):
    data, C = make_data(6, 4, seed=3), 30.0
    model = explicit(data, budget=B, C=C, loss=loss)
    expected = fs.solve(model, "clarabel", gap=1e-7).objective
    P, q = [], []
    for row in model.labelling.values():  # xi + w.(1/n) sum (y - y') x >= Delta / n
        terms = generate_standard_repn(row.body)
        slopes = {v.name: c for c, v in zip(terms.linear_coefs, terms.linear_vars, strict=True)}
        P.append([-slopes.get(f"w[{j}]", 0.0) for j in data.features])
        q.append(pyo.value(row.lower))
    groups = Groups(np.array(P), np.array(q), tuple(itertools.combinations(data.features, B)), data.features, C)
    assert fs.solve(group_dual(groups), "clarabel", gap=1e-7).objective == pytest.approx(expected, rel=1e-5)
    assert fs.solve(group_primal(groups), "clarabel", gap=1e-7).objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["f1", "hamming", "rec@2p", "auc"])
def test_the_working_set_of_a_solve(loss, data):
    result = fs.solve(fsmulti(data, budget=2, C=40.0, loss=loss), gap=1e-5)
    groups = groups_of(result, data.features)
    assert all(len(t) == 2 for t in groups.groups)
    assert set(groups.features) <= set(data.features)
    assert len(groups.q) == len(groups.P) > 0
    assert groups.C == 40.0
    primal = group_primal(groups)
    restricted = fs.solve(primal, gap=1e-6).objective
    assert restricted >= result.bound * (1 - 1e-5)
    assert restricted <= result.objective * (1 + 1e-5)
    w = np.zeros(4)
    for (_, j), v in primal.w.items():
        w[data.features.index(j)] += v.value
    assert objective(data, w, budget=2, C=40.0, loss=loss) >= result.bound * (1 - 1e-9)


def test_the_working_set_of_a_selection(data):
    found = fs.select(data, "fsmulti", budget=2, C=40.0)
    assert groups_of(found.result, data.features).C == 40.0


def test_a_whole_models_result_has_no_working_set(make_data):
    data = make_data(6, 3, seed=1)
    result = fs.solve(fsmulti(data, budget=1, C=6.0, form="extended"), "clarabel")
    with pytest.raises(ModelError, match=r'"clarabel" has no groups.*"two-layer"'):
        groups_of(result, data.features)


def test_bad_groups_are_named():
    with pytest.raises(ParameterError, match=r"shape \(1, 2\).*2 cuts over 2 features"):
        Groups([[1.0, 2.0]], [1.0, 2.0], (("a",),), ("a", "b"), 1.0)
    with pytest.raises(ParameterError, match=r"'z', which is not among the features"):
        Groups([[1.0, 2.0]], [1.0], (("a", "z"),), ("a", "b"), 1.0)
    for C in (0.0, -1.0, float("nan")):
        with pytest.raises(ParameterError, match="C="):
            group_dual(Groups([[1.0]], [1.0], (("a",),), ("a",), C))


def test_groups_by_the_places_of_columns():
    groups = Groups.from_columns([[-2.0, 0.0, 1.0]], [1.0], [[0, 2], [1]], 4.0)
    assert groups.groups == (("0", "2"), ("1",))
    assert groups.features == ("0", "1", "2")
    assert fs.solve(group_primal(groups)).objective == pytest.approx(0.5 / 5.0, rel=1e-4)  # 1 = sqrt(5) ||w||


def test_cuts_that_ask_for_nothing():
    for build in (group_primal, group_dual):
        assert fs.solve(build(Groups([[1.0, -1.0]], [0.0], (("a", "b"),), ("a", "b"), 3.0))).objective == pytest.approx(
            0.0, abs=1e-6
        )
        flat = Groups([[0.0, 0.0]], [2.0], (("a", "b"),), ("a", "b"), 3.0)  # no weight helps: C q
        assert fs.solve(build(flat)).objective == pytest.approx(6.0, rel=1e-5)
