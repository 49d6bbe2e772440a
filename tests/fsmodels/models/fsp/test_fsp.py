"""FSP-M, FSP-lambda, SUB and RMP: rows by hand, enumerated optima, relaxations, invariances, degenerate data."""

import itertools
import math

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.repn import generate_standard_repn
from scipy import sparse

import fsmodels as fs
from fsmodels.models.fsp.oracle import SvmOracle
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import find, names
from solvers.interfaces.runner import Runner, SolveOptions

FORMS = fs.fsp.FORMS
GLOBAL = ["benders", *names(C.MIQCP | C.NONCONVEX, installed=False)]
PENALTIES = [0.4, {"a": 2.0, "c": 0.1, "d": 0.7}]


W = math.sqrt(8)  # sqrt(2 C min(l+, l-)) of `three`, C = 4
SHARED = {
    "margin[0]": (1, {"w[g]": 2, "b": 1, "xi[0]": 1}, None),
    "margin[1]": (1, {"w[f]": -1, "w[g]": 1, "b": -1, "xi[1]": 1}, None),
    "margin[2]": (1, {"w[f]": 3, "b": 1, "xi[2]": 1}, None),
}
SELECTION = {
    "perspective": {
        f"only_selected[{j}]": (None, {(f"w[{j}]", f"w[{j}]"): 1, (f"t[{j}]", f"sigma[{j}]"): -1}, 0) for j in "fg"
    },
    "bilinear": {f"only_selected[{j}]": (0, {f"w[{j}]": 1, (f"sigma[{j}]", f"u[{j}]"): -1}, 0) for j in "fg"},
    "big-m": {f"only_selected[{j}]": (None, {f"w[{j}]": 1, f"sigma[{j}]": -W}, 0) for j in "fg"}
    | {f"only_selected_below[{j}]": (0, {f"w[{j}]": 1, f"sigma[{j}]": W}, None) for j in "fg"},
    "indicator": {},
}
SQUARES = {("w[f]", "w[f]"): 0.5, ("w[g]", "w[g]"): 0.5}


def collected(expression):
    """Coefficients of an expression, linear and quadratic."""
    repn = generate_standard_repn(expression, quadratic=True)
    assert repn.nonlinear_expr is None
    terms = {v.name: c for v, c in zip(repn.linear_vars, repn.linear_coefs, strict=True)}
    squares = zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)
    return {k: c for k, c in (terms | {(v.name, w.name): c for (v, w), c in squares}).items() if c}


def sides(row):
    """A row as (lower, coefficients, upper), constants moved to the sides, products with names in order."""
    repn = generate_standard_repn(row.body, quadratic=True)
    low, up = pyo.value(row.lower), pyo.value(row.upper)
    terms = {k if isinstance(k, str) else _ordered(k): c for k, c in collected(row.body).items()}
    if low is None and up is not None and row.name.startswith("only_selected_below"):  # written as 0 >= ...
        return -up, {k: -c for k, c in terms.items()}, None
    return (None if low is None else low - repn.constant), terms, (None if up is None else up - repn.constant)


def _ordered(pair):
    order = "wtsu"
    return tuple(sorted(pair, key=lambda name: order.index(name[0])))


@pytest.mark.parametrize("form", FORMS)
def test_fsp_m_by_hand(form, three):
    model = fs.fsp.fsp_m(three, max_features=1, C=4, form=form)
    found = {row.name: sides(row) for row in model.component_data_objects(pyo.Constraint, active=True)}
    sigma = "selected[{}].binary_indicator_var" if form == "indicator" else "sigma[{}]"
    cardinality = {"cardinality": (None, {sigma.format(j): 1 for j in "fg"}, 1)}
    expected = SHARED | SELECTION[form] | cardinality
    assert set(found) == set(expected)
    for name, (low, terms, up) in expected.items():
        assert found[name][0] == low, name
        assert found[name][1] == pytest.approx(terms), name
        assert found[name][2] == up, name
    norm = {"t[f]": 0.5, "t[g]": 0.5} if form == "perspective" else SQUARES
    assert collected(model.objective.expr) == norm | {f"xi[{i}]": 4 for i in range(3)}
    assert all(v.is_binary() for v in model.sigma.values())
    assert pyo.value(model.W) == pytest.approx(W)
    if form == "bilinear":
        assert all(v.bounds == pytest.approx((-W, W)) for v in model.u.values())
    if form == "indicator":
        assert collected(model.dropped["f"].weight.body) == {"w[f]": 1}
        assert pyo.value(model.BigM[model.dropped["f"].weight]) == pytest.approx(W)


@pytest.mark.parametrize(("penalty", "prices"), [(0.5, (0.5, 0.5)), ({"g": 2}, (0, 2))])
def test_fsp_lambda_by_hand(penalty, prices, three):
    model = fs.fsp.fsp_lambda(three, penalty=penalty, C=4)
    expected = {"t[f]": 0.5, "t[g]": 0.5, "xi[0]": 4, "xi[1]": 4, "xi[2]": 4}
    expected |= {f"sigma[{j}]": p for j, p in zip("fg", prices, strict=True) if p}
    assert collected(model.objective.expr) == expected
    assert model.component("cardinality") is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", GLOBAL)
@pytest.mark.parametrize("penalty", [None, *PENALTIES])
def test_every_form_and_solver_reaches_the_enumerated_optimum(form, solver, penalty, data, enumerated, need):
    need(solver)
    if penalty is None:
        model, truth = fs.fsp.fsp_m(data, max_features=2, C=1.0, form=form), enumerated(data, max_features=2)
    else:
        prices = penalty if isinstance(penalty, dict) else dict.fromkeys(data.features, penalty)
        truth = enumerated(data, penalty={j: prices.get(j, 0.0) for j in data.features})
        model = fs.fsp.fsp_lambda(data, penalty=penalty, C=1.0, form=form)
    result = fs.solve(model, solver, gap=1e-6 if solver == "benders" else 1e-4)
    assert result.objective == pytest.approx(truth, rel=1e-4)
    assert result.bound <= truth * (1 + 1e-6)
    assert result.gap <= 2e-4  # of a point polished after the solver's bound
    chosen = SvmOracle(data.X, data.y, 1.0).solve([float(j in result.selected) for j in data.features])
    price = 0.0 if penalty is None else sum(pyo.value(model.penalty[j]) for j in result.selected)
    assert chosen.value + price == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize("form", ["perspective", "big-m"])
def test_value_of_the_relaxation(form, data):
    """Perspective: min over sigma of max over alpha, by enumeration of the M largest v_j^2; big-m is weaker."""
    model = fs.fsp.fsp_m(data, max_features=2, C=1.0, form=form)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    assert Runner(find("clarabel"), SolveOptions()).solve(model).has_point
    value = pyo.value(model.objective)
    # q is convex in sigma: its minimum over the simplex equals max over alpha of sum alpha - 1/2 (M largest v_j^2).
    dual = pyo.ConcreteModel()
    dual.base = fs.svm.l2_svm_dual(data, C=1.0)
    dual.base.objective.deactivate()
    dual.top, dual.rest = pyo.Var(bounds=(0, None)), pyo.Var(data.features, bounds=(0, None))
    dual.cover = pyo.Constraint(data.features, rule=lambda m, j: m.base.v[j] ** 2 <= m.top + m.rest[j])
    alpha = pyo.quicksum(dual.base.alpha.values())
    dual.value = pyo.Objective(expr=alpha - 0.5 * (2 * dual.top + pyo.quicksum(dual.rest.values())), sense=pyo.maximize)
    assert Runner(find("clarabel"), SolveOptions()).solve(dual).has_point
    best = pyo.value(dual.value)
    assert best == pytest.approx(10.84361, abs=1e-4)
    if form == "perspective":
        assert value == pytest.approx(best, rel=1e-6)
    else:
        assert value <= best + 1e-6
        assert value == pytest.approx(10.6349, abs=1e-3)  # W is too large to cost anything here


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(2, 12),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    scale=st.sampled_from([1e-2, 1.0, 1e2]),
)
def test_no_optimal_weight_exceeds_its_bound(seed, rows, C, scale, make_data):
    data = make_data(rows, 2, seed)
    data = fs.Dataset.from_arrays(scale * data.X, data.y)
    bound = fs.fsp.weight_bound(data, C)
    oracle = SvmOracle(data.X, data.y, C)
    for sigma in itertools.product((0.0, 1.0), repeat=2):
        w = oracle.solve(sigma, tolerance=1e-9).w
        assert np.sqrt(w @ w) <= bound * (1 + 1e-6)


def test_the_bound_is_reached_within_a_factor_of_root_two():
    """Two points at +-1 with 2C = 1: w = 1 and W = sqrt(2C) = 1, so no smaller bound holds for all data."""
    data = fs.Dataset.from_arrays([[-1.0], [1.0]], [-1, 1])
    w = SvmOracle(data.X, data.y, 0.5).solve([1.0], tolerance=1e-10).w
    assert fs.fsp.weight_bound(data, 0.5) == pytest.approx(1.0)
    assert w[0] == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("sigma", [["a"], ["b", "c"], [], {"a": 0.5, "b": 1.0, "d": 0.25}, {"c": 0.01}])
def test_sub_equals_the_oracle(sigma, data):
    model = fs.fsp.sub(data, sigma=sigma, C=2.0)
    result = fs.solve(model, "clarabel")
    values = sigma if isinstance(sigma, dict) else dict.fromkeys(sigma, 1.0)
    answer = SvmOracle(data.X, data.y, 2.0).solve([values.get(j, 0.0) for j in data.features], tolerance=1e-9)
    assert result.objective == pytest.approx(answer.value, rel=1e-6)
    np.testing.assert_allclose([v.value for v in model.w.values()], answer.w, atol=1e-4)


def test_duals_of_sub_make_the_cut_of_the_paper(data, every_support, values_of):
    """eta >= sum alpha - 1/2 sum sigma_j v_j^2, from the duals of the margins alone."""
    truth = values_of(data)
    for s in every_support(4):
        model = fs.fsp.sub(data, sigma=[j for j, on in zip(data.features, s, strict=True) if on])
        answer = Runner(find("clarabel"), SolveOptions()).solve(model, duals=list(model.margin.values()))
        alpha = np.array([answer.duals[row] for row in model.margin.values()])
        v = data.X.T @ (data.y * alpha)
        for other, q in truth.items():
            assert alpha.sum() - 0.5 * np.array(other) @ v**2 <= q * (1 + 1e-6)
        assert alpha.sum() - 0.5 * s @ v**2 == pytest.approx(truth[tuple(s)], rel=1e-6)


@pytest.mark.parametrize("penalty", [None, 0.4, {"a": 2.0, "d": 0.7}])
def test_rmp_with_all_cuts_is_the_whole_problem(penalty, data, every_support, enumerated):
    oracle = SvmOracle(data.X, data.y, 1.0)
    alpha = np.array([oracle.solve(s, tolerance=1e-9).alpha for s in every_support(4)])
    if penalty is None:
        model, truth = fs.fsp.rmp(data, alpha=alpha, C=1.0, max_features=2), enumerated(data, max_features=2)
    else:
        prices = penalty if isinstance(penalty, dict) else dict.fromkeys(data.features, penalty)
        model = fs.fsp.rmp(data, alpha=alpha, C=1.0, penalty=penalty)
        truth = enumerated(data, penalty={j: prices.get(j, 0.0) for j in data.features})
    result = fs.solve(model, "highs", gap=1e-9)
    assert result.objective == pytest.approx(truth, rel=1e-6)
    fewer = fs.solve(fs.fsp.rmp(data, alpha=alpha[:3], C=1.0, max_features=2), "highs", gap=1e-9)
    assert fewer.objective <= enumerated(data, max_features=2) * (1 + 1e-9)


def test_rmp_takes_the_duals_that_a_solver_returned(data):
    model = fs.fsp.sub(data, sigma=["a", "c"])
    answer = Runner(find("clarabel"), SolveOptions()).solve(model, duals=list(model.margin.values()))
    alpha = np.array([answer.duals[row] for row in model.margin.values()])
    alpha[np.argmin(alpha)] = -1e-12  # interior points leave such
    assert fs.solve(fs.fsp.rmp(data, alpha=alpha, C=1.0, max_features=4), "highs").objective > 0


@pytest.mark.parametrize(
    ("alpha", "match"),
    [
        (np.zeros(3), "one entry per sample"),
        (np.zeros((0, 18)), "at least one row"),
        (-np.ones(18), r"from -1 to -1, and SUB allows 0 to C = 1\."),
        (np.full(18, 2.0), r"from 2 to 2, and SUB allows 0 to C = 1\."),
        (np.full(18, np.nan), "feasible"),
        (np.arange(18.0) / 18, r"sum_i y_i alpha_i is .* needs 0"),
    ],
)
def test_rmp_refuses_what_is_no_dual_point(alpha, match, data):
    with pytest.raises(fs.ParameterError, match=match):
        fs.fsp.rmp(data, alpha=alpha, C=1.0)
    with pytest.raises(fs.ParameterError, match="C=0"):
        fs.fsp.rmp(data, alpha=np.zeros(18), C=0.0)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_a_point_at_the_edge_of_the_tolerance_bounds_from_below(C, data, every_support, enumerated):
    truth, oracle = enumerated(data, C=C, max_features=2), SvmOracle(data.X, data.y, C)
    exact = np.array([oracle.solve(s, tolerance=1e-10).alpha for s in every_support(4)])
    for side in (data.y > 0, data.y < 0, np.full(18, True)):
        alpha = np.where(side, (1 + 0.9e-6) * exact, exact)
        bound = fs.solve(fs.fsp.rmp(data, alpha=alpha, C=C, max_features=2), "highs", gap=1e-12).objective
        assert truth * (1 - 1e-5) <= bound <= truth * (1 + 1e-8)


def test_a_point_above_C_is_no_bound_of_a_smaller_C(data, enumerated):
    alpha = SvmOracle(data.X, data.y, 1e4).solve(np.ones(4), tolerance=1e-9).alpha
    with pytest.raises(fs.ParameterError, match=r"0 to C = 1\. Give the C"):
        fs.fsp.rmp(data, alpha=alpha, C=1.0)
    assert fs.solve(fs.fsp.rmp(data, alpha=alpha, C=1e4), "highs").objective <= enumerated(data, C=1e4)


# Degenerate data.


def assert_exact(data, enumerated, C=1.0, max_features=2):
    truth = enumerated(data, C=C, max_features=max_features)
    for form in FORMS:
        result = fs.solve(fs.fsp.fsp_m(data, max_features=max_features, C=C, form=form), "benders", gap=1e-6)
        assert result.status is fs.SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(truth, rel=1e-6, abs=1e-9)
        assert result.bound <= truth * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_duplicate_and_constant_columns(data, enumerated):
    X = np.column_stack([data.X[:, 2], data.X[:, 2], np.full(18, 3.0), np.zeros(18), data.X[:, 1]])
    assert_exact(fs.Dataset.from_arrays(X, data.y, features=list("abcde")), enumerated)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_that_say_nothing(enumerated):
    data = fs.Dataset.from_arrays(np.ones((6, 2)), [1, 1, 1, 1, -1, -1], features=["a", "b"])
    assert_exact(data, enumerated, max_features=1)
    assert enumerated(data) == pytest.approx(4.0)  # 2 C min(l+, l-)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_sample_a_class(enumerated):
    data = fs.Dataset.from_arrays([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]], [-1, 1], features=["a", "b", "c"])
    assert_exact(data, enumerated, C=10.0, max_features=1)


@pytest.mark.parametrize("C", [1e-3, 1e3])
def test_separable_data(C, enumerated):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(16, 3))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] - X[:, 1] > 0, 1, -1), features=["a", "b", "c"])
    assert_exact(data, enumerated, C=C)


def test_more_features_than_samples(make_data, enumerated):
    assert_exact(make_data(5, 7, seed=0), enumerated, C=3.0)


def test_sparse_data(data, enumerated):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    thin = fs.Dataset.from_arrays(sparse.csr_matrix(X), data.y, features=list("abcd"))
    dense = fs.Dataset.from_arrays(X, data.y, features=list("abcd"))
    truth = enumerated(dense, max_features=2)
    for solver in ("benders", "scip"):
        assert fs.solve(fs.fsp.fsp_m(thin, max_features=2), solver).objective == pytest.approx(truth, rel=1e-4)
    result = fs.solve(fs.fsp.fsp_m(thin, max_features=2), "benders", oracle="pyomo")
    assert result.objective == pytest.approx(truth, rel=1e-4)


# Models change between solves.


# The indicator form and what Pyomo's transformations make of it.


@pytest.mark.parametrize("transformation", ["gdp.bigm", "gdp.binary_multiplication"])
@pytest.mark.parametrize(("solver", "options"), [("scip", {}), ("benders", {}), ("benders", {"oracle": "pyomo"})])
def test_a_transformed_indicator_model(transformation, solver, options, data, enumerated):
    model = fs.fsp.fsp_m(data, max_features=2, form="indicator")
    pyo.TransformationFactory(transformation).apply_to(model)
    result = fs.solve(model, solver, **options)
    assert result.objective == pytest.approx(enumerated(data, max_features=2), rel=1e-4)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert len(result.selected) <= 2


@pytest.mark.parametrize("transform", [False, True])
@pytest.mark.parametrize("solver", ["scip", "benders"])
@pytest.mark.parametrize("how", ["fixed", "row", "deactivated"])
def test_statements_on_the_disjuncts_count(how, solver, transform, data, enumerated):
    """Feature c is the best; dropping it is said of the disjunct and not of sigma."""
    model = fs.fsp.fsp_m(data, max_features=2, form="indicator")
    if how == "fixed":
        model.dropped["c"].indicator_var.fix(True)
    elif how == "row":
        model.e = pyo.Constraint(expr=model.dropped["c"].binary_indicator_var >= 1)
    else:
        model.selected["c"].deactivate()
    if transform:
        pyo.TransformationFactory("gdp.bigm").apply_to(model)
    truth = enumerated(data, max_features=2, allowed=lambda s: not s["c"])
    result = fs.solve(model, solver)
    assert result.objective == pytest.approx(truth, rel=1e-4)
    assert "c" not in result.selected


@pytest.mark.parametrize("solver", ["scip", "benders"])
@pytest.mark.parametrize("transform", [False, True])
def test_edits_inside_the_disjunction_are_refused(solver, transform, data):
    def row_in_disjunct(m):
        m.selected["a"].e = pyo.Constraint(expr=m.w["a"] >= 0.1)

    edits = [
        (row_in_disjunct, "selected[a].e"),
        (lambda m: m.only_selected["a"].deactivate(), "only_selected[a]"),
        (lambda m: m.dropped["a"].weight.deactivate(), "dropped[a].weight"),
        (lambda m: m.dropped["a"].weight.set_value(m.w["a"] == 0.5), "dropped[a].weight"),
    ]
    for edit, name in edits:
        model = fs.fsp.fsp_m(data, max_features=2, form="indicator")
        model.w["a"].setlb(-3), model.w["a"].setub(3)  # for the big-M of the new row
        model.w["a"].setlb(None), model.w["a"].setub(None)
        edit(model)
        if transform:
            model.BigM[None] = 10.0
            pyo.TransformationFactory("gdp.bigm").apply_to(model)
        with pytest.raises(fs.ModelError) as caught:
            fs.solve(model, solver)
        assert name in str(caught.value)


@pytest.mark.parametrize("max_features", [0, 5, -1, 2.5, "2", True])
def test_a_number_of_features_that_means_nothing(max_features, data):
    with pytest.raises(fs.InfeasibleParameter, match=r"use 1\.\.4"):
        fs.fsp.fsp_m(data, max_features=max_features)


@pytest.mark.parametrize("penalty", [-1.0, float("nan"), float("inf"), "much", {"a": -2}])
def test_a_penalty_that_means_nothing(penalty, data):
    with pytest.raises(fs.ParameterError, match="penalty="):
        fs.fsp.fsp_lambda(data, penalty=penalty)


@pytest.mark.parametrize("number", [np.float32(0.5), np.int64(1), 1])
def test_numpy_numbers_are_penalties_too(number, data):
    assert fs.fsp.fsp_lambda(data, penalty=number).penalty["a"].value == pytest.approx(float(number))


def test_unknown_names_are_named(data):
    with pytest.raises(fs.DataError, match="zz"):
        fs.fsp.fsp_lambda(data, penalty={"zz": 1.0})
    with pytest.raises(fs.DataError, match="zz"):
        fs.fsp.sub(data, sigma=["zz"])
    with pytest.raises(fs.ParameterError, match=r"sigma\['a'\]=1.5"):
        fs.fsp.sub(data, sigma={"a": 1.5})
    with pytest.raises(fs.DataError, match=r'text "a": give a list.*\["a"\]'):
        fs.fsp.sub(data, sigma="a")
    with pytest.raises(fs.ParameterError, match="perspective"):
        fs.fsp.fsp_m(data, max_features=2, form="perspectiv")


@pytest.mark.parametrize(
    "build",
    [
        lambda data: fs.fsp.fsp_m(data, max_features=2),
        lambda data: fs.fsp.fsp_lambda(data, penalty=1.0),
        lambda data: fs.fsp.sub(data, sigma=["a"]),
        lambda data: fs.fsp.rmp(data, alpha=[0.0], C=1.0),
        lambda data: fs.svm.l2_svm(data),
        lambda data: fs.baselines.rfe(data, max_features=2),
    ],
)
def test_a_table_is_no_dataset(build, data):
    with pytest.raises(fs.ParameterError, match=r"Dataset and got DataFrame: use Dataset\.from_csv"):
        build(data.to_frame())


@pytest.mark.parametrize("form", FORMS)
def test_every_component_says_where_it_stands_in_the_paper(form, data):
    for model in (fs.fsp.fsp_m(data, max_features=2, form=form), fs.fsp.fsp_lambda(data, penalty=1.0, form=form)):
        for component in model.component_objects(descend_into=False):
            numbered = component.ctype is not pyo.Set and not component.is_reference()
            assert not numbered or str(component.doc).startswith("("), component.name


def test_another_C_by_another_objective(data):
    model = fs.fsp.fsp_m(data, max_features=2, C=1.0)
    model.objective.set_value(model.norm + 10.0 * model.loss)
    expected = fs.solve(fs.fsp.fsp_m(data, max_features=2, C=10.0), "benders", gap=1e-6).objective
    assert fs.solve(model, "benders", gap=1e-6).objective == pytest.approx(expected, rel=2e-6)


def test_c_cannot_become_negative(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    with pytest.raises(fs.ParameterError, match=r"C=-1.0 is not allowed"):
        model.C = -1.0


@pytest.mark.parametrize("units", [[1e4, 1e-3, 1e4, 1e-3], [1e4] * 4, [1e-3] * 4])
@pytest.mark.parametrize("seed", range(6))
def test_unscaled_columns_are_proven_too(make_data, enumerated, units, seed):
    # sigma = 1e-8 is enough to use a column of 1e4: an LP takes that for 0.
    raw = make_data(30, 4, seed=seed)
    data = fs.Dataset.from_arrays(raw.X * np.array(units), raw.y, features=list(raw.features))
    C = [0.01, 1.0, 100.0][seed % 3]
    best = enumerated(data, C=C, max_features=2)
    for solver in ["branch-and-cut", "scip"] if best > 1e-2 else ["branch-and-cut"]:
        result = fs.solve(fs.fsp.fsp_m(data, max_features=2, C=C, form="big-m"), solver)
        assert result.status is fs.SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(best, rel=1e-4)
        assert result.bound <= best * (1 + 1e-7)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_a_declarative_subproblem_is_worth_what_its_slacks_and_squares_need(driver):
    X = np.array([[-0.9, 1.2], [1.5, 0.3], [-1.1, -1.4], [0.5, -0.1]])
    y = np.array([1.0, -1.0, -1.0, 1.0])
    model = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y), max_features=1, C=8e-6)
    model.b.fix(-1.5)
    result = fs.solve(model, driver, gap=1e-7)
    w = np.array(pyo.value(model.w[:]))
    exact = 0.5 * w @ w + 8e-6 * np.maximum(0, 1 - y * (X @ w - 1.5)).sum()
    assert result.objective == pytest.approx(exact, rel=1e-9)
    assert "nothing is proven" not in result.message
