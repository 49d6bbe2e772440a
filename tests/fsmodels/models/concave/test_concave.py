"""The family of FS: rows by hand, duality, every support by scipy, invariances, and what the smoothings cost."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from scipy import sparse
from scipy.optimize import linprog

import fsmodels as fs
from changed_data import changed
from fsmodels import side_constraints as sides
from model_state import linear
from robust_reference import least_fs, robust, robust_by_support
from solvers import SolutionStatus
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import names
from solvers.model.classes import violation

LAMBDAS = [0.0, 0.05, 0.3, 0.9]
BUILDERS = {name: getattr(fs.concave, name) for name in ("fs", "fsl", "fsv", "fss", "fsb")}
# Those whose driver is there: FSB runs once "alternating" is among them.
LOCAL = ["fsv", "fss", "fsb"]


@pytest.fixture
def five():
    """A: (0, 2), (3, 0), (-1, 4). B: (1, -1), (2, 1)."""
    X = [[0.0, 2.0], [1.0, -1.0], [3.0, 0.0], [2.0, 1.0], [-1.0, 4.0]]
    return fs.Dataset.from_arrays(X, [1, -1, 1, -1, 1], features=["f", "g"])


# By hand.


def rows(model):
    """Every active row as (lower, {variable: coefficient}, upper)."""
    found = {}
    for row in model.component_data_objects(pyo.Constraint, active=True):
        coefs, constant = linear(row.body)
        lower, upper = (None if side is None else pyo.value(side) - constant for side in (row.lower, row.upper))
        found[row.name] = (lower, coefs, upper)
    return found


PLANE = {  # w.x - gamma + y >= 1 on A, -w.x + gamma + z >= 1 on B
    "plane_A[0]": (1, {"w[g]": 2, "gamma": -1, "y[0]": 1}, None),
    "plane_A[2]": (1, {"w[f]": 3, "gamma": -1, "y[2]": 1}, None),
    "plane_A[4]": (1, {"w[f]": -1, "w[g]": 4, "gamma": -1, "y[4]": 1}, None),
    "plane_B[1]": (1, {"w[f]": -1, "w[g]": 1, "gamma": 1, "z[1]": 1}, None),
    "plane_B[3]": (1, {"w[f]": -2, "w[g]": -1, "gamma": 1, "z[3]": 1}, None),
}
ABOVE = {
    "v_above_w[f]": (None, {"w[f]": 1, "v[f]": -1}, 0),
    "v_above_w[g]": (None, {"w[g]": 1, "v[g]": -1}, 0),
    "v_above_minus_w[f]": (0, {"w[f]": 1, "v[f]": 1}, None),
    "v_above_minus_w[g]": (0, {"w[g]": 1, "v[g]": 1}, None),
}
ERROR = {"y[0]": 1 / 3, "y[2]": 1 / 3, "y[4]": 1 / 3, "z[1]": 1 / 2, "z[3]": 1 / 2}


def assert_bounds(model):
    for v in [*model.y.values(), *model.z.values(), *(model.v.values() if model.component("v") else [])]:
        assert v.bounds == (0, None)
    assert all(v.bounds == (None, None) for v in [*model.w.values(), model.gamma])
    assert linear(model.b.expr) == ({"gamma": -1}, 0)


def test_robust_lp_by_hand(five):
    model = fs.svm.robust_lp(five)
    assert rows(model) == PLANE
    assert linear(model.objective.expr) == (pytest.approx(ERROR), 0)
    assert model.objective.sense == pyo.minimize
    assert_bounds(model)


def weighed(share, prices):
    return pytest.approx({name: share * c for name, c in ERROR.items()} | prices)


def test_fs_by_hand(five):
    model = fs.concave.fs(five, penalty=0.25)
    complement = {f"complement[{j}]": (1, {f"unselected[{j}]": 1, f"sigma[{j}]": 1}, 1) for j in "fg"}
    assert rows(model) == PLANE | ABOVE | complement
    assert linear(model.objective.expr) == (weighed(0.75, {"sigma[f]": 0.25, "sigma[g]": 0.25}), 0)
    sets = {s.name: (s.level, sorted(v.name for v in s.get_variables())) for s in model.only_selected.values()}
    assert sets == {f"only_selected[{j}]": (1, [f"unselected[{j}]", f"v[{j}]"]) for j in "fg"}
    assert all(v.is_binary() for v in model.sigma.values())
    assert all(v.bounds == (0, 1) for v in model.unselected.values())
    assert_bounds(model)
    few = fs.concave.fs(five, penalty=0.25, max_features=1)
    assert rows(few)["cardinality"] == (None, {"sigma[f]": 1, "sigma[g]": 1}, 1)


def test_fs_with_indicators_by_hand(five):
    model = fs.concave.fs(five, penalty=0.25, form="indicator")
    assert {name: row for name, row in rows(model).items() if not name.startswith("dropped")} == PLANE | ABOVE
    assert {j: rows(model.dropped[j]) for j in "fg"} == {
        j: {f"dropped[{j}].weight": (0, {f"w[{j}]": 1}, 0)} for j in "fg"
    }
    prices = {f"selected[{j}].binary_indicator_var": 0.25 for j in "fg"}
    assert linear(model.objective.expr) == (weighed(0.75, prices), 0)
    for j in "fg":
        assert [d.name for d in model.only_selected[j].disjuncts] == [f"selected[{j}]", f"dropped[{j}]"]
        assert model.only_selected[j].xor
        assert model.sigma[j] is model.selected[j].binary_indicator_var


def products(model):
    """Every complementarity as the two expressions that are at least 0."""
    found = {}
    for pair in (model.step_where_used, model.used_where_step):
        for condition in pair.values():
            lows_and_highs = [row.args for row in condition._args]
            found[condition.name] = [linear(high - low) for low, high in lows_and_highs]
    return found


def test_fsl_by_hand(five):
    model = fs.concave.fsl(five, penalty=0.25)
    assert rows(model) == PLANE | ABOVE
    assert products(model) == {
        **{f"step_where_used[{j}]": [({f"r[{j}]": 1}, 0), ({f"u[{j}]": 1, f"v[{j}]": -1}, 0)] for j in "fg"},
        **{f"used_where_step[{j}]": [({f"u[{j}]": 1}, 0), ({f"r[{j}]": -1}, 1)] for j in "fg"},
    }
    assert linear(model.objective.expr) == (weighed(0.75, {"r[f]": 0.25, "r[g]": 0.25}), 0)
    assert all(v.bounds == (0, 1) for v in model.r.values())
    assert all(v.bounds == (0, None) for v in model.u.values())
    assert_bounds(model)


@pytest.mark.parametrize("kind", ["fsv", "fss"])
def test_smoothings_by_hand(kind, five):
    model = BUILDERS[kind](five, penalty=0.25, alpha=2.0)
    assert rows(model) == PLANE | ABOVE
    assert_bounds(model)
    values = {"y": [0.5, 1.0, 0.0], "z": [2.0, 0.25], "v": [0.0, 0.75]}
    for name, numbers in values.items():
        for v, number in zip(model.component(name).values(), numbers, strict=True):
            v.set_value(number)
    step = {"fsv": [0.0, 1 - np.exp(-1.5)], "fss": [0.5, 1 / (1 + np.exp(-1.5))]}[kind]
    assert [pyo.value(model.step[j]) for j in "fg"] == pytest.approx(step)
    assert pyo.value(model.objective) == pytest.approx(0.75 * (1.5 / 3 + 2.25 / 2) + 0.25 * sum(step))


def test_alpha_is_five_by_default(five):
    for kind in ("fsv", "fss"):
        assert BUILDERS[kind](five, penalty=0.1).alpha.value == 5


def test_fsb_by_hand(five):
    model = fs.concave.fsb(five, penalty=0.25, mu=0.4)
    above = {f"above[{j}]": (0, {f"u[{j}]": 1, f"v[{j}]": -1}, None) for j in "fg"}
    assert {name: relative(row) for name, row in rows(model).items()} == PLANE | ABOVE | above
    repn = generate_standard_repn(model.objective.expr, quadratic=True)
    assert repn.is_quadratic()
    assert repn.constant == 0
    squares = {
        tuple(sorted((v.name, w.name))): c for (v, w), c in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)
    }
    assert squares == pytest.approx({("r[f]", "v[f]"): -0.4, ("r[g]", "v[g]"): -0.4})
    costs = dict(zip([v.name for v in repn.linear_vars], repn.linear_coefs, strict=True))
    prices = {"r[f]": 0.15, "r[g]": 0.15, "u[f]": 0.4, "u[g]": 0.4}  # (1 - mu) lambda, mu
    assert costs == weighed(0.6 * 0.75, prices)
    assert all(v.bounds == (0, 1) for v in model.r.values())
    assert all(v.bounds == (0, None) for v in model.u.values())
    assert_bounds(model)


def relative(row):
    """A row with the sign that makes its first bound a lower one, where both signs say the same."""
    lower, coefs, upper = row
    if lower is None and any(name.startswith("u[") for name in coefs):
        return -upper, {name: -c for name, c in coefs.items()}, None
    return row


@pytest.mark.parametrize("kind", BUILDERS)
def test_sparse_data_give_the_same_rows(kind, five):
    thin = fs.Dataset.from_arrays(sparse.csr_matrix(five.X), five.y, features=["f", "g"])
    assert rows(BUILDERS[kind](thin, penalty=0.2)) == rows(BUILDERS[kind](five, penalty=0.2))
    assert rows(fs.svm.robust_lp(thin)) == rows(fs.svm.robust_lp(five))


# By scipy: (5) on each support, and its dual.


def robust_dual(X, y):
    """max e'a: X'(y a) = 0, y'a = 0, 0 <= a_i <= 1/m in A and 1/k in B."""
    share = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    A = np.vstack([(y[:, None] * X).T, y])
    answer = linprog(-np.ones(len(y)), A_eq=A, b_eq=np.zeros(len(A)), bounds=[(0, s) for s in share])
    return -answer.fun


def error_of(data, w, b):
    """E of a plane w.x + b = 0."""
    losses = np.maximum(0.0, 1.0 - data.y * (data.X @ w + b))
    return losses[data.y > 0].mean() + losses[data.y < 0].mean()


def plane(model):
    w = np.array([v.value for v in model.w.values()])
    return w, pyo.value(model.b)


def seven(data, w, b, penalty, threshold=1e-7):
    """(7) at a plane, of which weights of rounding are dropped."""
    w = np.where(np.abs(w) > threshold, w, 0.0)
    return (1 - penalty) * error_of(data, w, b) + penalty * np.count_nonzero(w)


def test_five_points(five):
    """16/15 at w = (-4/5, 2/5), gamma = -1/5: (3, 0) alone is wrong, by 16/5, and is a third of A."""
    model = fs.svm.robust_lp(five)
    assert fs.solve(model).objective == pytest.approx(16 / 15)
    assert error_of(five, *plane(model)) == pytest.approx(16 / 15)
    assert error_of(five, np.array([-0.8, 0.4]), 0.2) == pytest.approx(16 / 15)
    assert robust_dual(five.X, five.y) == pytest.approx(16 / 15)
    assert robust_by_support(five.X, five.y)[()][0] == pytest.approx(2)


@pytest.mark.parametrize("solver", names(C.LP, installed=False))
def test_robust_lp_meets_its_dual(solver, make_data, need):
    data = make_data(24, 4, seed=6)
    model = fs.svm.robust_lp(data)
    result = fs.solve(model, need(solver))
    assert result.objective == pytest.approx(robust(data.X, data.y)[0], abs=1e-6)
    assert result.objective == pytest.approx(robust_dual(data.X, data.y), abs=1e-6)
    assert error_of(data, *plane(model)) == pytest.approx(result.objective, abs=1e-6)


def test_no_weight_costs_two_at_every_plane_between_the_classes(make_data):
    data = make_data(20, 3, seed=1)
    model = fs.svm.robust_lp(data)
    for w in model.w.values():
        w.fix(0)
    for gamma in (-1.0, -0.3, 1.0):
        model.gamma.fix(gamma)
        assert fs.solve(model).objective == pytest.approx(2)
    model.gamma.fix(1.5)
    assert fs.solve(model).objective > 2.4
    assert fs.solve(fs.svm.robust_lp(data)).objective <= 2


# FS and FSL are exact.


@pytest.mark.parametrize("penalty", LAMBDAS)
@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("kind", ["fs", "fsl"])
def test_fs_and_fsl_are_the_enumerated_optimum(kind, seed, penalty, make_data):
    data = make_data(20, 4, seed=seed)
    truth = least_fs(data, penalty)
    model = BUILDERS[kind](data, penalty=penalty)
    result = fs.solve(model)
    assert (result.solver, result.status) == ("branch-and-cut", fs.SolutionStatus.OPTIMAL)
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.bound <= truth * (1 + 1e-7)
    w, b = plane(model)
    used = [j for j, x in zip(data.features, w, strict=True) if abs(x) > 1e-5]
    assert set(used) <= set(result.selected)
    assert (1 - penalty) * error_of(data, w, b) + penalty * len(result.selected) == pytest.approx(truth, rel=1e-4)
    if kind == "fsl":
        for j in model.features:
            r, u, v = (model.component(name)[j].value for name in "ruv")
            assert abs(r * (u - v)) <= 1e-5
            assert abs(u * (1 - r)) <= 1e-5


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_the_penalties_above_select_different_numbers(seed, make_data):
    """Else they would be one test."""
    data = make_data(20, 4, seed=seed)
    found = robust_by_support(data.X, data.y)
    sizes = [len(min(found, key=lambda s: (1 - p) * found[s][0] + p * len(s))) for p in LAMBDAS]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


def test_fsl_by_a_local_solver_is_never_below(make_data, need):
    data = make_data(14, 4, seed=1)
    model = fs.concave.fsl(data, penalty=0.1)
    result = fs.solve(model, need("pounce"))
    assert result.status in (fs.SolutionStatus.STATIONARY, fs.SolutionStatus.FEASIBLE)
    assert result.bound is None
    assert violation(model) <= 1e-6
    assert seven(data, *plane(model), 0.1, threshold=1e-4) >= least_fs(data, 0.1) - 1e-3


def bounded(model, data, factor=2.0):
    """Bounds on w beyond the weights of every enumerated optimum, so that they cut none off."""
    widest = factor * max(1.0, *(np.abs(w).max(initial=0.0) for _, w in robust_by_support(data.X, data.y).values()))
    for w in model.w.values():
        w.setlb(-widest), w.setub(widest)
    return model


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("penalty", LAMBDAS)
def test_fs_with_indicators_and_bounds(penalty, solver, make_data):
    data = make_data(20, 4, seed=5)
    model = bounded(fs.concave.fs(data, penalty=penalty, form="indicator"), data)
    result = fs.solve(model, solver)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(least_fs(data, penalty), rel=1e-5)
    assert result.bound <= least_fs(data, penalty) * (1 + 1e-7)
    assert len(result.selected) == round(sum(model.sigma[j].value for j in model.features))


def test_indicators_without_bounds_are_an_error_that_says_so(make_data):
    with pytest.raises(fs.ModelError, match="Bound its variables"):
        fs.solve(fs.concave.fs(make_data(20, 4, seed=5), penalty=0.1, form="indicator"), "highs")


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("form", fs.concave.FORMS)
def test_at_most_so_many_features(form, most, make_data):
    data = make_data(20, 4, seed=5)
    model = bounded(fs.concave.fs(data, penalty=0.02, max_features=4, form=form), data)
    model.max_features = most
    result = fs.solve(model)
    assert len(result.selected) <= most
    assert result.objective == pytest.approx(least_fs(data, 0.02, lambda s: len(s) <= most), rel=1e-5)


COSTS = {"a": 3.0, "b": 2.0, "c": 1.0}
SIDES = {
    "requires": (lambda m: sides.requires(m, "a", "c"), lambda s: "a" not in s or "c" in s),
    "excludes": (lambda m: sides.excludes(m, "a", "b"), lambda s: not {"a", "b"} <= s),
    "budget": (lambda m: sides.budget(m, COSTS, 3.5), lambda s: sum(COSTS.get(j, 0.0) for j in s) <= 3.5),
    "force_in": (lambda m: sides.force_in(m, "c", "d"), lambda s: {"c", "d"} <= s),
    "force_out": (lambda m: sides.force_out(m, "a"), lambda s: "a" not in s),
    "at_least": (lambda m: sides.at_least(m, ["b", "c", "d"], 2), lambda s: len(s & {"b", "c", "d"}) >= 2),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["fs", "fs-indicator", "fsl"])
def test_side_constraints(kind, side, make_data):
    data = make_data(20, 4, seed=5)
    state, allowed = SIDES[side]
    options = {"form": "indicator"} if kind == "fs-indicator" else {}
    model = bounded(BUILDERS[kind[:3].rstrip("-")](data, penalty=0.04, **options), data)
    model.side = state(model)
    truth = least_fs(data, 0.04, allowed)
    result = fs.solve(model)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.bound <= truth * (1 + 1e-7)
    assert allowed(set(result.selected))
    assert violation(model) <= 1e-6


@pytest.mark.parametrize("pair", ["requires", "all_or_none"])
def test_a_pair_of_a_feature_of_which_there_must_be_one_keeps_the_proof(pair, make_data):
    data = make_data(20, 4, seed=5)
    model = bounded(BUILDERS["fsl"](data, penalty=0.04), data)
    model.some = sides.at_least(model, ["a", "b"], 1)  # makes r of both binary, and the row below is of one of them
    model.pair = sides.requires(model, "a", "c") if pair == "requires" else sides.all_or_none(model, ["a", "c"])
    result = fs.solve(model)
    assert result.status is fs.SolutionStatus.OPTIMAL, result.message

    def allowed(s):
        return {"a", "b"} & s and ("a" not in s or "c" in s) and (pair == "requires" or "c" not in s or "a" in s)

    assert result.objective == pytest.approx(least_fs(data, 0.04, allowed), rel=1e-5)


def test_the_side_constraints_bind(make_data):
    data = make_data(20, 4, seed=5)
    free = least_fs(data, 0.04)
    assert sum(least_fs(data, 0.04, allowed) > free + 1e-3 for _, allowed in SIDES.values()) == 5


@pytest.mark.parametrize("kind", ["fs", "fsl"])
def test_side_constraints_that_clash(kind, make_data):
    model = BUILDERS[kind](make_data(14, 4, seed=3), penalty=0.04)
    model.both = sides.force_in(model, "a", "b")
    model.never = sides.excludes(model, "a", "b")
    result = fs.solve(model)
    assert result.status is fs.SolutionStatus.INFEASIBLE
    assert all(f'"{name}"' in result.message for name in ("both[a]", "both[b]", "never")), result.message


# FSV, FSS, FSB against (7).


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", LOCAL)
def test_local_models_are_never_below_the_optimum_of_fs(kind, seed, penalty, make_data):
    data = make_data(20, 4, seed=seed)
    model = BUILDERS[kind](data, penalty=penalty)
    result = fs.solve(model)
    assert result.status is fs.SolutionStatus.STATIONARY
    assert result.bound is None
    w, b = plane(model)
    assert seven(data, w, b, penalty) >= least_fs(data, penalty) - 1e-7
    assert error_of(data, w, b) == pytest.approx(pyo.value(model.error), abs=1e-7)


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_fsv_is_a_lower_estimate_of_fs_that_steepness_closes(seed, penalty, make_data):
    """1 - exp(-alpha v) <= v_*, so FSV at FS's optimum costs no more; as alpha grows it costs the same."""
    data = make_data(20, 4, seed=seed)
    truth = least_fs(data, penalty)
    best = min(
        robust_by_support(data.X, data.y).items(),
        key=lambda item: (1 - penalty) * item[1][0] + penalty * len(item[0]),
    )
    for alpha, least in ((5.0, 0.0), (1e4, truth - 1e-6)):
        model = fs.concave.fsv(data, penalty=penalty, alpha=alpha)
        w = np.zeros(4)
        w[list(best[0])] = best[1][1]
        for v, value in zip(model.v.values(), np.abs(w), strict=True):
            v.set_value(value)
        used = sum(pyo.value(model.step[j]) for j in model.features)
        assert least <= (1 - penalty) * best[1][0] + penalty * used <= truth + 1e-9


def test_no_penalty_is_the_robust_lp(make_data):
    data = make_data(14, 4, seed=0)
    for kind in ("fsv", "fss"):
        model = BUILDERS[kind](data, penalty=0.0)
        result = fs.solve(model)
        assert result.status is fs.SolutionStatus.OPTIMAL  # a linear program
        assert result.objective == result.bound == pytest.approx(robust_by_support(data.X, data.y)[(0, 1, 2, 3)][0])


@pytest.mark.parametrize("solver", ["pounce", "cyipopt", "ipopt"])
@pytest.mark.parametrize("kind", ["fsv", "fss"])
def test_any_nlp_solver_by_name(kind, solver, make_data, need):
    data = make_data(14, 4, seed=0)
    model = BUILDERS[kind](data, penalty=0.1)
    result = fs.solve(model, need(solver))
    assert result.status is fs.SolutionStatus.STATIONARY
    assert violation(model) <= 1e-6
    w, b = plane(model)
    alpha = 5 * np.abs(w)
    steps = (1 - np.exp(-alpha)) if kind == "fsv" else 1 / (1 + np.exp(-alpha))
    assert result.objective == pytest.approx(0.9 * error_of(data, w, b) + 0.1 * steps.sum(), abs=1e-5)


@pytest.mark.parametrize("s", [1.0, 0.1, 10.0])
@pytest.mark.parametrize("penalty", [0.1, 0.6, 0.9])
def test_two_points_in_closed_form(penalty, s):
    """x = -s, s: E = 2 (1 - s w) for s w in [0, 1], so each concave model is at w = 0 or w = 1 / s."""
    data = fs.Dataset.from_arrays([[-s], [s]], [-1, 1], features=["x"])
    wide = 5.0 / s
    ends = {
        "fs": (0.0, 1.0),
        "fsl": (0.0, 1.0),
        "fsv": (0.0, 1 - np.exp(-wide)),
        "fss": (0.5, 1 / (1 + np.exp(-wide))),
    }
    for kind, (none, one) in ends.items():
        best = min((1 - penalty) * 2 + penalty * none, penalty * one)
        result = fs.solve(BUILDERS[kind](data, penalty=penalty))
        assert result.objective == pytest.approx(best, rel=1e-5), kind


# Invariances.


@pytest.mark.parametrize("kind", ["fsv", "fss"])
def test_the_smoothings_depend_on_units(kind, make_data):
    """With large columns small weights do, and their price vanishes: all stay where the others drop some."""
    data = make_data(14, 4, seed=1)
    small, large = BUILDERS[kind](data, penalty=0.3), BUILDERS[kind](changed(data, X=1e4 * data.X), penalty=0.3)
    floor = 0.3 * 4 * (0.5 if kind == "fss" else 0.0)
    cheap = fs.solve(large).objective - floor
    assert cheap == pytest.approx(0.7 * robust_by_support(data.X, data.y)[(0, 1, 2, 3)][0], abs=5e-3)
    assert fs.solve(small).objective - floor > cheap + 0.05
    assert len(_support(large)) > len(_support(small))


@pytest.mark.parametrize("unit", [1e6, 1e3, 1e-6])
@pytest.mark.parametrize("solver", ["multi-start", "pounce", "sla"])
def test_the_objective_of_a_smoothing_is_that_of_its_plane_in_any_units(solver, unit, make_data):
    """v = |w|, and the slacks of w and gamma: the rows are satisfied to rounding and not to 1e-8, which may be |w|."""
    data = make_data(9, 3, seed=3)
    model = fs.concave.fsv(changed(data, X=unit * data.X), penalty=0.4)
    options = {"starts": 2} if solver != "pounce" else {}
    result = fs.solve(model, solver, **options)
    assert result.status is SolutionStatus.STATIONARY
    w, gamma = np.array([v.value for v in model.w.values()]), model.gamma.value
    missed = np.maximum(0, 1 - data.y * (unit * data.X @ w - gamma))
    error = missed[data.y > 0].mean() + missed[data.y < 0].mean()
    assert result.objective == pytest.approx(0.6 * error - 0.4 * np.expm1(-5 * np.abs(w)).sum(), rel=1e-7)


def test_a_stationary_point_is_not_replaced_by_the_trivial_one(make_data):
    """w = 0 may cost less than a stationary point, and need not be stationary itself."""
    model = fs.concave.fsv(make_data(9, 3, seed=3), penalty=0.9)
    for w in model.w.values():
        w.set_value(5.0)
    model.structure.certificate.repair_point(model, has_point=True)
    assert [w.value for w in model.w.values()] == [5.0] * 3
    assert [v.value for v in model.v.values()] == [5.0] * 3


def _support(model):
    """Features in use; a vertex solution has zeros."""
    w = np.array([v.value for v in model.w.values()])
    return np.flatnonzero(np.abs(w) > 1e-9 * np.abs(w).max())


@pytest.mark.parametrize("kind", ["fsv", "fss"])
def test_order_and_labels_do_not_matter_to_a_stationary_plane(kind, make_data):
    """The mirrored plane (-w, -gamma) of swapped labels costs the same, and is stationary too."""
    data = make_data(14, 4, seed=5)
    swapped = changed(data, y=-data.y)
    first, second = BUILDERS[kind](data, penalty=0.1), BUILDERS[kind](swapped, penalty=0.1)
    value = fs.solve(first).objective
    w, b = plane(first)
    assert error_of(data, w, b) == pytest.approx(error_of(swapped, -w, -b))
    for j, weight in zip(second.features, w, strict=True):
        second.w[j].set_value(-weight), second.v[j].set_value(abs(weight))
    second.gamma.set_value(b)
    for i in second.samples:
        loss = max(0.0, 1 - swapped.y[i] * (swapped.X[i] @ -w - b))
        (second.y if swapped.y[i] > 0 else second.z)[i].set_value(loss)
    assert violation(second) <= 1e-9
    assert pyo.value(second.objective) == pytest.approx(value)
    best = fs.solve(second, starts=30).objective
    assert best == pytest.approx(fs.solve(first, starts=30).objective, rel=1e-6)


# FSB as a model; its solution by the driver "alternating" has its own tests.


@pytest.mark.parametrize("mu", [0.05, 0.5, 0.95])
def test_r_is_the_best_for_the_weights(mu, make_data):
    model = fs.concave.fsb(make_data(14, 4, seed=2), penalty=0.3, mu=mu)
    fs.solve(model, "alternating", starts=3)
    assert [r.value for r in model.r.values()] == [float(mu * v.value > (1 - mu) * 0.3) for v in model.v.values()]


def test_tidying_costs_nothing_at_an_optimum_of_its_block(make_data):
    """Where r_j = 1, v and u may grow together; the smallest of these optima is taken."""
    data = make_data(14, 4, seed=2)
    model = fs.concave.fsb(data, penalty=0.3, mu=0.5)
    block = model.structure.blocks[1]
    assert {v.name for v in block.variables} == {"w", "gamma", "y", "z", "v", "u"}
    for v, number in zip(model.r.values(), (1, 1, 0, 0), strict=True):
        v.fix(number)
    value = fs.solve(model, "highs").objective
    w, b = plane(model)
    for j, more in zip("ab", (2.0, 0.5), strict=True):  # as good, but not unique
        model.v[j].set_value(model.v[j].value + more), model.u[j].set_value(model.u[j].value + more)
    assert violation(model) <= 1e-7
    assert pyo.value(model.objective) == pytest.approx(value)
    block.tidy(model)
    assert pyo.value(model.objective) == pytest.approx(value)
    assert violation(model) <= 1e-7
    assert [v.value for v in model.v.values()] == [v.value for v in model.u.values()] == np.abs(w).tolist()
    assert plane(model)[1] == b


@pytest.mark.parametrize("mu", [0.05, 0.95])
def test_fsb_over_all_r_is_a_linear_program_each_and_never_above_fs(mu, make_data):
    """min over r of (14): r in {0, 1}^n; for fixed r a linear program, here by highs and by scipy."""
    data, penalty = make_data(14, 3, seed=4), 0.1
    model = fs.concave.fsb(data, penalty=penalty, mu=mu)
    rows, n = data.X.shape
    share = np.where(data.y > 0, 1 / (data.y > 0).sum(), 1 / (data.y < 0).sum())
    values = []
    for r in itertools.product((0, 1), repeat=n):
        for v, number in zip(model.r.values(), r, strict=True):
            v.fix(number)
        values.append(fs.solve(model, "highs").objective)
        yX = data.y[:, None] * data.X  # w = p - q, |w| = p + q where it has a price
        A = np.hstack([-yX, yX, -data.y[:, None], -np.eye(rows)])
        prices = np.where(np.array(r) == 1, 0.0, mu)
        cost = np.concatenate([prices, prices, [0.0], (1 - mu) * (1 - penalty) * share])
        bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * rows
        truth = linprog(cost, A_ub=A, b_ub=-np.ones(rows), bounds=bounds).fun + (1 - mu) * penalty * sum(r)
        assert values[-1] == pytest.approx(truth, abs=1e-7)
    exact = (1 - mu) * least_fs(data, penalty)
    assert min(values) <= exact + 1e-9
    if mu == 0.95:  # (14) is an exact penalty
        assert min(values) == pytest.approx(exact, rel=1e-6)
    else:
        assert min(values) < 0.99 * exact  # so that the line above says something


def test_the_measure_of_fsb_is_what_complementarity_sets_to_zero(make_data):
    model = fs.concave.fsb(make_data(14, 3, seed=4), penalty=0.1)
    penalty = model.structure.penalty
    assert penalty.parameter is model.mu
    assert list(penalty.values) == pytest.approx([0.05 + 0.1 * k for k in range(10)])
    for name, numbers in {"r": (1.0, 0.25, 0.0), "u": (2.0, 1.0, 0.5), "v": (2.0, 0.5, 0.5)}.items():
        for v, number in zip(model.component(name).values(), numbers, strict=True):
            v.set_value(number)
    by_hand = 0.25 * 0.5 + (0 + 0.75 + 0.5)  # r'(u - v) + u'(e - r)
    assert penalty.measure(model) == pytest.approx(by_hand)
    assert pyo.value(model.complementarity) == pytest.approx(by_hand)  # -r'v + e'u
    assert fs.concave.fsb(make_data(14, 3, seed=4), penalty=0.1, mu=0.35).structure.penalty is None
    assert fs.concave.fsb(make_data(14, 3, seed=4), penalty=0.1, mu=0.35).mu.value == 0.35


# Refusals.


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("penalty", [-0.1, 1, 1.0, 7, float("nan"), float("inf"), "much", None, True, {"f": 0.1}])
def test_a_lambda_that_means_nothing(kind, penalty, five):
    with pytest.raises(fs.ParameterError, match=r"penalty=.*lambda weighs.*from 0 to below 1"):
        BUILDERS[kind](five, penalty=penalty)


def test_the_least_lambda_is_zero(five):
    for build in BUILDERS.values():
        assert build(five, penalty=0).penalty.value == 0
        assert build(five, penalty=np.float64(0.5)).penalty.value == 0.5


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("rows", [[0, 2, 4], [1, 3]])
def test_a_class_without_samples(kind, rows, five):
    part = five.take(rows)
    name = r"\+1" if part.y[0] < 0 else "-1"
    with pytest.raises(fs.DataError, match=f"Class {name} has no sample"):
        BUILDERS[kind](part, penalty=0.1)


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "words"),
    [
        ("fs", {"form": "big-m"}, fs.ParameterError, "form='big-m'.*sos1, indicator"),
        ("fs", {"max_features": 0}, fs.InfeasibleParameter, r"use 1\.\.2"),
        ("fs", {"max_features": 3}, fs.InfeasibleParameter, "above the 2 features"),
        ("fsv", {"alpha": 0}, fs.ParameterError, "alpha=0"),
        ("fss", {"alpha": -1.0}, fs.ParameterError, "alpha=-1"),
        ("fsv", {"alpha": float("inf")}, fs.ParameterError, "alpha=inf"),
        ("fsb", {"mu": 0}, fs.ParameterError, "mu=0.*above 0 to below 1"),
        ("fsb", {"mu": 1.0}, fs.ParameterError, "mu=1.0"),
    ],
)
def test_refuses_by_name(kind, arguments, error, words, five):
    with pytest.raises(error, match=words):
        BUILDERS[kind](five, penalty=0.1, **arguments)


def test_highs_is_refused_on_ordered_sets(five):
    for kind in ("fs", "fsl"):
        with pytest.raises((fs.ModelError, fs.SolverError), match="scip"):
            fs.solve(BUILDERS[kind](five, penalty=0.1), "highs")


@pytest.mark.parametrize("kind", ["fs", "fsl", "fsb"])
def test_sla_refuses_what_is_not_its_own(kind, five):
    if kind == "fsb":
        result = fs.solve(
            fs.concave.fsb(five, penalty=0.1, mu=0.5), "sla"
        )  # smooth over linear rows: any point will do
        assert result.status in (fs.SolutionStatus.STATIONARY, fs.SolutionStatus.FEASIBLE)
        return
    with pytest.raises(fs.ModelError, match=r'objective is linear: "sla"|"sla" does not support'):
        fs.solve(BUILDERS[kind](five, penalty=0.1), "sla")


def test_decompositions_are_refused_on_models_without_sigma_to_branch_on(five):
    for driver in ("benders", "branch-and-cut", "single-tree"):
        with pytest.raises(fs.OptionError, match="complicating"):
            fs.solve(fs.concave.fsv(five, penalty=0.1), driver)


def test_the_value_of_seven():
    assert fs.concave.fs_objective(np.array([0.5, 0.0, -1e-12]), 1.5, 0.2) == pytest.approx(0.8 * 1.5 + 0.2 * 2)
    assert fs.concave.fs_objective(np.zeros(3), 2.0, 0.2) == pytest.approx(1.6)
