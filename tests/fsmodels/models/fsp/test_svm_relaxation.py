"""The relaxation of the whole master in one interior point: its value, and that what it proves is true."""

import itertools
import math

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import fsmodels as fs
from fsmodels.errors import DataWarning
from fsmodels.models.fsp.oracle import SvmOracle, relaxation
from fsmodels.models.fsp.oracle.problem import Rows
from loops import LOOPS
from solvers.drivers.benders.split import split
from solvers.model.linear import LinearRows


@pytest.fixture(autouse=True, scope="module", params=LOOPS)
def way(request):
    """Both ways to the same answers: numpy, and the compiled loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relaxation, "compiled", lambda: request.param == "compiled")
        yield request.param


def relax(model, *, accuracy=1e-7, enough=math.inf, time_limit=None):
    """Return the master's rows and what the model's structure answers for them."""
    parts = split(model, model.structure)
    rows = LinearRows.of(parts.master_rows, parts.master_variables, parts.master_terms, parts.sign)
    answer = model.structure.relaxation(
        rows, rows.x_lower, rows.x_upper, accuracy=accuracy, enough=enough, time_limit=time_limit
    )
    return rows, answer


def by_clarabel(model):
    """The same convex problem, written down in full: every integer becomes continuous."""
    for v in model.component_data_objects(pyo.Var):
        if not v.is_continuous():
            low, up = v.bounds
            v.domain = pyo.Reals
            v.setlb(low), v.setub(up)
    return fs.solve(model, "clarabel").objective


def numbers(rows, n, seed, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n))
    y = np.where(X @ rng.uniform(-1, 1, n) + noise * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def no_rows(size):
    return Rows(np.zeros((0, size)), np.zeros(0), np.zeros(0, bool))


def at_most(most, n):
    return Rows(np.ones((1, n)), np.array([float(most)]), np.array([False]))


def certify(oracle, found, cost, rows, lower, upper, accuracy):
    """Check an answer from the data alone: point and multipliers are feasible, and their values meet."""
    answer, v = found
    n = len(v)
    assert answer.alpha.min() >= 0
    assert np.all(answer.alpha <= oracle._C)
    assert abs(oracle._y @ answer.alpha) <= 1e-12 * answer.alpha.sum()
    np.testing.assert_allclose(v, oracle._X.T @ (oracle._y * answer.alpha), rtol=1e-9, atol=1e-9 * np.abs(v).max())
    x = answer.x
    assert np.all((x >= lower) & (x <= upper))
    miss = rows.matrix @ x - rows.sides
    miss = np.where(rows.equal, np.abs(miss), miss) / np.maximum(1.0, np.abs(rows.sides))
    assert miss.max(initial=0.0) <= 1e-6
    value = float(cost @ x) + oracle.solve(x[:n], tolerance=1e-9).value
    assert answer.bound <= value + 1e-6 * abs(value)  # x may miss a row by 1e-7, which alpha's v magnifies
    assert value - answer.bound <= 3 * accuracy * max(abs(value), 1e-10) + 1e-6 * abs(value)
    # (*) with the multipliers that the reduced costs imply, and the best ones for this cut
    open_ = (upper > 0) | (np.arange(len(cost)) >= n)
    slope = cost - np.append(0.5 * v**2, np.zeros(len(cost) - n))
    d = answer.reduced_costs
    scale = np.maximum(1.0, np.abs(d[open_])).max()
    theta = np.linalg.lstsq(rows.matrix[:, open_].T / scale, (d - slope)[open_] / scale, rcond=None)[0]
    if np.linalg.matrix_rank(rows.matrix[:, open_]) == len(rows.sides):
        size = abs(answer.bound) + answer.alpha.sum() + np.abs(theta) @ np.abs(rows.sides)
        assert np.all(theta[~rows.equal] >= -1e-7 * scale)
        again = answer.alpha.sum() - rows.sides @ theta + np.minimum(d * lower, d * upper)[open_].sum()
        assert again == pytest.approx(answer.bound, rel=1e-7, abs=1e-7 * size)
    best = linprog(
        slope,
        A_ub=rows.matrix[~rows.equal] if (~rows.equal).any() else None,
        b_ub=rows.sides[~rows.equal] if (~rows.equal).any() else None,
        A_eq=rows.matrix[rows.equal] if rows.equal.any() else None,
        b_eq=rows.sides[rows.equal] if rows.equal.any() else None,
        bounds=np.column_stack([lower, upper]),
        options={"presolve": False},  # with it scipy 1.14 and 1.15 end in "unknown" on some of these
    )
    assert best.status == 0, best.message
    assert answer.bound <= answer.alpha.sum() + best.fun + 1e-6 * max(1.0, abs(best.fun), answer.alpha.sum())


def add_rows(m):
    """Rows <=, >=, = and two-sided, a group binary, a general integer and a continuous variable."""
    s = list(m.sigma.values())
    m.group, m.k, m.u = pyo.Var(domain=pyo.Binary), pyo.Var(domain=pyo.Integers, bounds=(-1, 3)), pyo.Var(bounds=(0, 2))
    m.r1 = pyo.Constraint(expr=s[0] + s[1] + s[2] <= 3 * m.group)
    m.r2 = pyo.Constraint(expr=s[3] + 2 * s[4] >= 0.4)
    m.r3 = pyo.Constraint(expr=s[0] - s[3] + m.u - 0.5 * m.k == 0.25)
    m.r4 = pyo.Constraint(expr=(0.3, s[1] + s[5] + 0.1 * m.u, 1.2))
    m.objective.set_value(m.objective.expr + 2.0 * m.group + 0.7 * m.k - 0.2 * m.u + 1.5)


EDITS = {
    "cardinality": lambda m: None,
    "rows and variables": add_rows,
    "forced in and out": lambda m: (next(iter(m.sigma.values())).fix(1), list(m.sigma.values())[2].fix(0)),
    "sum given": lambda m: m.add_component("e", pyo.Constraint(expr=sum(m.sigma.values()) == 2)),
}


@pytest.mark.parametrize("edit", list(EDITS))
@pytest.mark.parametrize(("rows", "n", "C"), [(40, 7, 1.0), (60, 8, 100.0), (30, 6, 0.01), (12, 30, 10.0)])
def test_value_is_that_of_the_convex_problem(rows, n, C, edit):
    X, y = numbers(rows, n, seed=rows + n)
    model = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y), max_features=3, C=C)
    EDITS[edit](model)
    answer = relax(model)[1]
    truth = by_clarabel(model)
    assert answer.bound == pytest.approx(truth, rel=1e-5)
    assert answer.bound <= truth * (1 + 1e-6)


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_value_with_prices_instead_of_a_cardinality(C):
    X, y = numbers(50, 8, seed=4)
    data = fs.Dataset.from_arrays(X, y)
    price = dict(zip(data.features, [0.5, 3.0, 0.0, 1.0, 2.0, 0.1, 20.0, 0.3], strict=True))
    model = fs.fsp.fsp_lambda(data, penalty=price, C=C)
    model.clash = fs.side_constraints.excludes(model, *list(data.features)[:2])
    answer = relax(model)[1]
    assert answer.bound == pytest.approx(by_clarabel(model), rel=1e-5)


def test_the_form_without_rows_gives_the_same(make_data):
    data = make_data(40, 6, seed=2)
    one, other = (relax(fs.fsp.fsp_m(data, max_features=2, form=form))[1] for form in ("perspective", "rmp"))
    assert one.bound == other.bound
    np.testing.assert_array_equal(one.point, other.point)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(40, 6), (25, 9), (8, 20), (5, 3)]),
    C=st.sampled_from([0.01, 0.3, 1.0, 10.0, 100.0]),
    kind=st.sampled_from(["plain", "scales", "zeros", "twins", "lonely", "integers"]),
    extra=st.integers(0, 3),
    given_sum=st.booleans(),
)
def test_whatever_the_data_the_answer_is_certified(seed, shape, C, kind, extra, given_sum):
    rng = np.random.default_rng(seed)
    samples, n = shape
    X, y = numbers(samples, n, seed, noise=float(rng.choice([0.0, 1.0])))
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-3, 4, n)
    elif kind == "zeros":
        X[:, : n // 2] = 3.0
    elif kind == "twins":
        X[:, -1] = X[:, 0]
    elif kind == "lonely":
        y[1:] = -1.0
    elif kind == "integers":
        X = np.round(X)
    lower, upper = np.zeros(n + extra), np.append(np.ones(n), rng.uniform(0.5, 4, extra))
    for j in rng.choice(n, size=min(n - 2, int(rng.integers(0, 3))), replace=False):
        lower[j] = upper[j] = float(rng.integers(0, 2))
    inside = lower + rng.uniform(0.1, 0.9, n + extra) * (upper - lower)  # what the rows are built around
    matrix = np.vstack([np.append(np.ones(n), np.zeros(extra)), rng.normal(size=(extra, n + extra))])
    rows = Rows(matrix, matrix @ inside + np.append(0.0, 0.3 * np.ones(extra)), np.zeros(1 + extra, bool))
    rows.equal[0] = given_sum
    rows.sides[0] += 0.0 if given_sum else 0.2
    cost = C * np.append(rng.uniform(0, 1, n) * rng.integers(0, 2), rng.normal(size=extra))
    oracle = SvmOracle(X, y, C)
    found = oracle.relax(cost, rows, lower, upper, accuracy=1e-5)
    if found is not None:  # which any run may end with; the tests above say where it must not
        certify(oracle, found, cost, rows, lower, upper, 1e-5)


STALLED = {((60, 10), 1.0), ((20, 40), 100.0)}  # without an answer, as cutting planes then do the work


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(60, 10), (20, 40)])
def test_columns_of_very_different_scale(C, shape):
    X, y = numbers(*shape, seed=5, noise=1.0)
    X *= np.logspace(-3, 4, shape[1])
    oracle, n = SvmOracle(X, y, C), shape[1]
    rows, lower, upper = at_most(4, n), np.zeros(n), np.ones(n)
    found = oracle.relax(np.zeros(n), rows, lower, upper, accuracy=1e-4)
    if found is not None:
        certify(oracle, found, np.zeros(n), rows, lower, upper, 1e-4)
    assert found is not None or (shape, C) in STALLED


def test_sparse_data_give_what_dense_data_give():
    X, y = numbers(40, 8, seed=3)
    X[np.abs(X) < 0.8] = 0.0
    arguments = np.zeros(8), at_most(3, 8), np.zeros(8), np.append(np.ones(7), 0.0)
    one, other = (SvmOracle(data, y, 2.0).relax(*arguments, accuracy=1e-6) for data in (X, sp.csr_array(X)))
    assert one[0].bound == pytest.approx(other[0].bound, rel=1e-9)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("accuracy", [0.3, 1e-3, 1e-7])
@pytest.mark.parametrize("seed", range(4))
def test_reduced_costs_and_cut_hold_at_every_support(seed, accuracy, every_support, values_of, make_data):
    """Also of a run that was not taken far: weak duality knows no accuracy."""
    C, rng = [0.05, 1.0, 10.0, 100.0][seed], np.random.default_rng(seed)
    data = make_data(30, 6, seed=seed)
    price = dict(zip(data.features, rng.uniform(0, C, 6).tolist(), strict=True))
    model = fs.fsp.fsp_lambda(data, penalty=price, C=C)
    model.few = fs.side_constraints.at_most(model, data.features, 3)
    model.pair = fs.side_constraints.requires(model, "a", "b")
    _, answer = relax(model, accuracy=accuracy)
    q, d = values_of(data, C), answer.reduced_costs
    prices, away = np.array(list(price.values())), 0
    for support in every_support(6, most=3):
        value = q[tuple(support)]
        assert answer.cut.at(support) <= value * (1 + 1e-9)
        if support[0] > support[1]:
            continue
        cost = value + prices @ support
        assert answer.bound <= cost * (1 + 1e-9)
        moved = np.where(d > 0, support, 1 - support) > 0
        assert np.all(answer.bound + np.abs(d[moved]) <= cost * (1 + 1e-9))
        assert answer.bound + np.abs(d[moved]).sum() <= cost * (1 + 1e-9)  # they even add up
        away += moved.sum()
    assert away
    for support in every_support(6):
        assert answer.cut.at(support) <= q[tuple(support)] * (1 + 1e-9)


def test_reduced_costs_of_a_general_integer_are_per_unit(make_data, values_of):
    data = make_data(30, 4, seed=6)
    model = fs.fsp.fsp_m(data, max_features=4, C=1.0)
    model.k = pyo.Var(domain=pyo.Integers, bounds=(0, 5))
    model.bins = pyo.Constraint(expr=1.5 * sum(model.sigma.values()) <= model.k + 0.7)
    model.objective.set_value(model.objective.expr + 1.3 * model.k)
    _, answer = relax(model, accuracy=1e-6)
    q, d = values_of(data, 1.0), answer.reduced_costs[-1]
    for support, k in itertools.product(q, range(6)):
        if 1.5 * sum(support) <= k + 0.7:
            moved = d * k if d > 0 else d * (k - 5)
            assert answer.bound + moved <= q[support] + 1.3 * k + 1e-7


def test_a_proof_of_enough_stops_early_and_is_a_proof():
    X, y = numbers(80, 12, seed=7)
    oracle, arguments = SvmOracle(X, y, 1.0), (np.zeros(12), at_most(3, 12), np.zeros(12), np.ones(12))
    full, _ = oracle.relax(*arguments, accuracy=1e-8)
    for share in (0.3, 0.7, 0.9):
        part, _ = oracle.relax(*arguments, accuracy=1e-8, enough=share * full.bound)
        assert share * full.bound <= part.bound <= full.bound * (1 + 1e-9)
        assert part.iterations < full.iterations
    beyond, _ = oracle.relax(*arguments, accuracy=1e-8, enough=1.5 * full.bound)
    assert beyond.bound == pytest.approx(full.bound, rel=1e-9)


def test_no_time_is_no_answer(make_data):
    model = fs.fsp.fsp_m(make_data(40, 6, seed=1), max_features=2)
    assert relax(model, time_limit=0.0)[1] is None
    assert relax(model, time_limit=60.0)[1] is not None


THIN = {
    "both sides of a sum": lambda n: Rows(
        np.vstack([np.ones(n), -np.ones(n)]), np.array([2.0, -2.0]), np.zeros(2, bool)
    ),
    "forced in by a row": lambda n: Rows(-np.eye(n)[:2], -np.ones(2), np.zeros(2, bool)),
    "forced out by a row": lambda n: Rows(np.eye(n)[:2], np.zeros(2), np.zeros(2, bool)),
    "one row twice": lambda n: Rows(np.ones((2, n)), np.full(2, 2.0), np.ones(2, bool)),
    "one inequality twice": lambda n: Rows(np.ones((2, n)), np.full(2, 2.0), np.zeros(2, bool)),
    "an empty row": lambda n: Rows(np.zeros((1, n)), np.zeros(1), np.zeros(1, bool)),
    "one point": lambda n: Rows(np.ones((1, n)), np.array([float(n)]), np.ones(1, bool)),
    "no feature": lambda n: Rows(np.ones((1, n)), np.zeros(1), np.zeros(1, bool)),
}


@pytest.mark.parametrize("thin", list(THIN))
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_rows_without_an_interior_never_give_a_wrong_bound(thin, C, every_support, values_of, make_data):
    """Their multipliers may grow without end: what is proven must still be below every support that they allow."""
    for seed in range(3):
        data = make_data(24, 5, seed=seed)
        rows = THIN[thin](5)
        found = SvmOracle(data.X, data.y, C).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-6)
        q = values_of(data, C)
        kept = [s for s in every_support(5) if np.all(rows.matrix @ s <= rows.sides)]
        kept = [s for s in kept if np.all((rows.matrix @ s == rows.sides)[rows.equal])]
        assert kept
        if found is not None:
            assert found[0].bound <= min(q[tuple(s)] for s in kept) * (1 + 1e-7)
            assert all(found[0].alpha.sum() - 0.5 * found[1] ** 2 @ s <= q[tuple(s)] * (1 + 1e-9) for s in kept)


@pytest.mark.parametrize("scale", [1.0, 0.1])
@pytest.mark.parametrize("C", [0.1, 100.0, 1e4])
def test_rows_that_fixing_makes_tight_never_give_a_wrong_bound(C, scale, every_support, values_of, make_data):
    """As branching leaves them: "not both" beside a fixed one once proved 0.8125 where 0.7700 is the optimum."""
    rng, answered = np.random.default_rng(3), 0
    for seed in range(6):
        data = make_data(6 + 4 * seed, 5, seed=seed, noise=0.1)
        oracle, q = SvmOracle(data.X, data.y, C), values_of(data, C)
        matrix = scale * np.array([[1, 1, 0, 0, 0], [0, 0, 1, -1, 0], [0, -1, 0, 0, 1], [3, 1, 2, 1, 1.0]])
        rows = Rows(matrix, scale * np.array([1.0, 0.0, 0.0, 6.0]), np.zeros(4, bool))
        for _ in range(8):
            lower, upper = np.zeros(5), np.ones(5)
            for j in rng.choice(5, size=3, replace=False):
                lower[j] = upper[j] = float(rng.integers(0, 2))
            kept = [
                s
                for s in every_support(5)
                if np.all((lower <= s) & (s <= upper) & (matrix[:3] @ s <= rows.sides[:3]).all())
            ]
            kept = [s for s in kept if matrix[3] @ s <= rows.sides[3] + 1e-9]
            found = oracle.relax(np.zeros(5), rows, lower, upper, accuracy=1e-4)
            if found is None or not kept:
                continue
            answered += 1
            d = np.where(lower < upper, found[0].reduced_costs, 0.0)
            for s in kept:
                moved = np.abs(d) @ np.where(d > 0, s, 1 - s)
                assert found[0].bound + moved <= q[tuple(s)] * (1 + 1e-7)
    assert answered


@pytest.mark.parametrize("equal", [True, False])
def test_rows_that_clash_end_without_a_number_for_the_rest(equal, make_data, values_of):
    """Any bound is right where no point is; the cut must hold all the same."""
    data = make_data(24, 5, seed=1)
    rows = Rows(np.vstack([np.ones(5), -np.ones(5)]), np.array([1.0, -3.0]), np.array([equal, equal]))
    found = SvmOracle(data.X, data.y, 1.0).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-6)
    if found is not None:
        for s, q in values_of(data).items():
            assert found[0].alpha.sum() - 0.5 * found[1] ** 2 @ np.array(s) <= q * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [(1, 0, 1, 0), (1, 1, 1, 1), (0, 0, 0, 0)])
def test_without_a_free_variable_it_is_the_subproblem(sigma, data):
    sigma = np.array(sigma, dtype=float)
    oracle, cost = SvmOracle(data.X, data.y, 1.0), np.array([0.5, 1.0, 2.0, 4.0])
    answer, _ = oracle.relax(cost, no_rows(4), sigma, sigma, accuracy=1e-7)
    assert answer.bound == pytest.approx(cost @ sigma + oracle.solve(sigma).value, rel=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_feature_left_beside_other_variables(data):
    oracle = SvmOracle(data.X, data.y, 1.0)
    lower, upper = np.zeros(6), np.append(np.zeros(4), [1.0, 3.0])
    rows = Rows(np.array([[0, 0, 0, 0, -1.0, -1.0]]), np.array([-1.5]), np.array([False]))
    answer, _ = oracle.relax(np.array([0, 0, 0, 0, 2.0, 1.0]), rows, lower, upper, accuracy=1e-7)
    assert answer.bound == pytest.approx(oracle.solve(np.zeros(4)).value + 1.5, rel=1e-6)


def test_twin_columns_share_and_constant_columns_count_for_nothing(make_data):
    data = make_data(40, 4, seed=8)
    with pytest.warns(DataWarning):
        wide = fs.Dataset.from_arrays(np.hstack([data.X, data.X[:, :1], np.full((40, 2), 5.0)]), data.y)
    narrow, more = (relax(fs.fsp.fsp_m(d, max_features=2, C=1.0))[1] for d in (data, wide))
    # Two twins may be worth up to twice a feature, so the relaxation is never above the one without.
    assert more.bound <= narrow.bound * (1 + 1e-6)
    model = fs.fsp.fsp_m(wide, max_features=2, C=1.0)
    list(model.sigma.values())[4].fix(0)
    assert relax(model)[1].bound == pytest.approx(narrow.bound, rel=1e-6)


def test_too_many_rows_or_an_unbounded_variable_are_for_the_cutting_planes(make_data):
    model = fs.fsp.fsp_m(make_data(30, 5, seed=1), max_features=2)
    model.u = pyo.Var(bounds=(0, None))
    model.e = pyo.Constraint(expr=sum(model.sigma.values()) <= 3 + model.u)
    model.objective.set_value(model.objective.expr + model.u)
    assert relax(model)[1] is None
    model.u.setub(1.0)
    assert relax(model)[1] is not None
    model.many = pyo.Constraint(range(300), rule=lambda m, i: sum(m.sigma.values()) <= 5 + i)
    assert relax(model)[1] is None


@given(st.floats(0.01, 0.99), st.floats(-10.0, 10.0).filter(lambda w: abs(w) > 1e-2))
def test_the_semidefinite_relaxation_of_a_feature_is_the_perspective(sigma, w):
    def least_eigenvalue(W):
        return np.linalg.eigvalsh([[1.0, sigma, w], [sigma, sigma, w], [w, w, W]])[0]

    W = w * w / sigma
    assert least_eigenvalue(W) >= -1e-12 * max(1.0, W)
    assert least_eigenvalue(0.99 * W) < -1e-9
