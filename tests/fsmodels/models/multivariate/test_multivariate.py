"""FSmulti against every labelling enumerated, the paper's relations, invariances, limits, edits, strict, the CLI."""

import itertools
import json

import clarabel
import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from pyomo.mpec import Complementarity, complements
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import LinearSVC

import fsmodels as fs
from fsmodels import multivariate as mv
from fsmodels.cli import main
from fsmodels.errors import InfeasibleParameter, ModelError, OptionError, ParameterError
from fsmodels.models.multivariate.labellings import Worst
from fsmodels.models.multivariate.measures import FBeta, Loss, contingency
from labellings import explicit
from solvers import SolutionStatus, StopReason
from solvers.facts import facts_of

LOSSES = ["hamming", "f1", "f0.5", "prbep", "rec@3", "rec@2p", "prec@3", "auc"]
OPTIMUM = 1e-4  # relative, at a gap of 1e-5
ROUNDING = 1e-9


# The optimum once more, without the code under test: all rows from the definitions, one cone a feature, and its proof.


def delta(y, labelling, loss):
    """Delta(y, y'), None for y' not in Y."""
    a, b = ((labelling > 0) & (y > 0)).sum(), ((labelling > 0) & (y < 0)).sum()
    c, p = ((labelling < 0) & (y > 0)).sum(), (y > 0).sum()
    kind, _, k = loss.partition("@")
    if kind == "hamming":
        return 2.0 * (b + c)
    if kind[0] == "f":
        beta = float(kind[1:])
        return 100 - 100 * (1 + beta**2) * a / ((1 + beta**2) * a + b + beta**2 * c)
    k = {"": p, "2p": 2 * p}.get(k) or int(k)
    return 100 - 100 * a / (k if kind == "prec" else p) if a + b == k else None


def every_row(data, loss):
    """Rows xi >= q_k - u_k.w, one for each labelling of the samples; of the pairs for AUC."""
    X, y, n = np.asarray(data.X), data.y, len(data.y)
    if loss == "auc":
        pairs = [X[i] - X[j] for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
        swaps = np.array(list(itertools.product((0.0, 1.0), repeat=len(pairs)))) * 100 / len(pairs) / n
        return 2 * swaps @ np.array(pairs), swaps.sum(axis=1)
    labellings = [np.array(s) for s in itertools.product((-1.0, 1.0), repeat=n)]
    found = [((y - s) @ X / n, delta(y, s, loss)) for s in labellings]
    U, q = zip(*(pair for pair in found if pair[1] is not None), strict=True)
    return np.array(U), np.array(q) / n


def spread(w, B):
    """The least 1/2 sum w^2 / d over D: d = min(1, |w| / t), t by bisection."""
    size = np.abs(w)
    if np.count_nonzero(size) <= B:
        return 0.5 * float(size @ size)
    low, high = 0.0, size.sum() / B * len(w)
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.minimum(1, size / t).sum() > B else (low, t)
    used = size > 0
    return 0.5 * float((size[used] ** 2 / np.minimum(1, size[used] / high)).sum())


def solved(U, q, B, C):
    """Proven lower and upper bounds on the optimum over these rows, and w."""
    (K, m), top, size = U.shape, q.max(), np.abs(U).max()
    length = min(top / size, C * size)  # of w, roughly
    A = np.zeros((2 + K + 2 * m + 3 * m, 3 * m + 1))  # over w, d, t, xi; w and xi scaled
    b = np.zeros(len(A))
    A[0, m : 2 * m], b[0] = 1.0, B
    A[1 : 1 + K, :m], A[1 : 1 + K, -1], b[1 : 1 + K] = -U * length / top, -1.0, -q / top
    A[1 + K, -1] = -1.0
    A[2 + K : 2 + K + m, m : 2 * m], b[2 + K : 2 + K + m] = np.eye(m), 1.0
    A[2 + K + m : 2 + K + 2 * m, m : 2 * m] = -np.eye(m)
    for j in range(m):  # (d + t, 2 w, d - t) in a cone
        row = 2 + K + 2 * m + 3 * j
        A[row, [m + j, 2 * m + j]] = -1.0
        A[row + 1, j] = -2.0
        A[row + 2, [m + j, 2 * m + j]] = -1.0, 1.0
    cost = np.r_[np.zeros(2 * m), np.full(m, 0.5 * length**2), C * top]
    unit = np.sqrt(C * top) * length
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(K + 1 + 2 * m), *[clarabel.SecondOrderConeT(3)] * m]
    quiet = clarabel.DefaultSettings()
    quiet.verbose, quiet.tol_gap_abs, quiet.tol_gap_rel, quiet.tol_feas = False, 1e-12, 1e-12, 1e-12
    none = sparse.csc_array((3 * m + 1, 3 * m + 1))
    run = clarabel.DefaultSolver(none, cost / unit, sparse.csc_array(A), b, cones, quiet).solve()
    w = np.array(run.x[:m]) * length
    alpha = np.maximum(np.array(run.z[1 : 1 + K]), 0) * unit / top
    alpha *= min(1.0, C / alpha.sum())
    lower = q @ alpha - 0.5 * np.sort((alpha @ U) ** 2)[::-1][:B].sum()
    upper = min(spread(v, B) + C * max(0.0, (q - U @ v).max()) for v in (w, 0 * w))
    return lower, upper, w


def proven(data, loss, B, C):
    lower, upper, _ = solved(*every_row(data, loss), B, C)
    assert upper - lower <= 1e-6 * max(upper, 1e-6)
    return upper


def agrees(result, optimum):
    """The result is optimal, within 1e-4 of the truth, and its bounds enclose it, as do those of each row."""
    assert result.status is SolutionStatus.OPTIMAL, result
    assert result.objective == pytest.approx(optimum, rel=OPTIMUM, abs=1e-9)
    slack = 1e-6 * abs(optimum) + ROUNDING  # of the truth itself
    table = result.iterations
    for bound, value in ((result.bound, result.objective), *zip(table["Bound"], table["Incumbent"], strict=True)):
        assert bound <= optimum + slack
        assert optimum <= value + slack
        assert bound <= value * (1 + ROUNDING) + ROUNDING
    return True


@pytest.fixture(scope="module")
def few(make_data):
    """Six samples, two of class +1 (AUC has 2^8 labellings of the pairs), four features."""
    data = make_data(6, 4, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1], features=list("abcd")).scaled("none")


# The optimum.


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [0.5, 12.0, 120.0])  # 120 = 20 n
@pytest.mark.parametrize("B", [1, 2, 4])
def test_the_optimum_over_every_labelling(loss, weight, B, few):
    model = mv.fsmulti(few, budget=B, C=weight, loss=loss)
    result = fs.solve(model, gap=1e-5)
    assert agrees(result, proven(few, loss, B, weight))
    w, b = mv.classifier(model)
    U, q = every_row(few, loss)
    assert b == 0
    assert spread(w, B) + weight * max(0.0, (q - U @ w).max()) == pytest.approx(result.objective, rel=1e-9)
    assert model.xi.value == pytest.approx(max(0.0, (q - U @ w).max()), abs=1e-9)
    assert pyo.value(model.omega) == pytest.approx(spread(w, B), rel=1e-9, abs=1e-12)
    d = np.array([v.value for v in model.d.values()])
    assert np.all((d >= 0) & (d <= 1))
    assert d.sum() <= B * (1 + 1e-9)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != "auc"])
def test_the_reference_with_every_labelling_is_the_same_problem(loss, few):
    model = explicit(few, budget=2, C=30.0, loss=loss)
    result = fs.solve(model, gap=1e-7)
    assert result.solver == "clarabel"
    assert result.objective == pytest.approx(proven(few, loss, 2, 30.0), rel=1e-5)
    assert len(model.labelling) == len(every_row(few, loss)[1])


@pytest.mark.parametrize("seed", range(25))
def test_random_instances(seed, make_data):
    """Distinct shapes, either loss, C from 2 n to 20 n: the small instances of the command line, in process."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 10)), int(rng.integers(1, 7))
    data = make_data(n, m, seed=seed, noise=rng.uniform(0.1, 3))
    B, loss, C = int(rng.integers(1, m + 1)), ["f1", "hamming"][seed % 2], rng.uniform(2, 20) * n
    assert agrees(fs.solve(mv.fsmulti(data, budget=B, C=C, loss=loss), gap=1e-5), proven(data, loss, B, C))


@pytest.mark.parametrize("loss", ["hamming", "f1", "rec@2p", "auc"])
@pytest.mark.parametrize("B", [1, 3])
def test_the_algorithms_as_printed_agree(loss, B, data):
    fast, printed = (
        fs.solve(mv.fsmulti(data, budget=B, C=90.0, loss=loss), stabilised=how, gap=1e-5) for how in (True, False)
    )
    assert fast.status is printed.status is SolutionStatus.OPTIMAL
    assert fast.objective == pytest.approx(printed.objective, rel=2e-5)
    assert max(fast.bound, printed.bound) <= min(fast.objective, printed.objective) * (1 + ROUNDING)


def test_auc_with_a_slack_for_each_pair(data):
    """The risk is a sum over pairs: a quadratic program where B = m."""
    X, y, C = np.asarray(data.X), data.y, 50.0
    ahead, behind = np.flatnonzero(y > 0).tolist(), np.flatnonzero(y < 0).tolist()
    m = pyo.ConcreteModel()
    m.w, m.e = pyo.Var(range(4)), pyo.Var(ahead, behind, domain=pyo.NonNegativeReals)
    m.pair = pyo.Constraint(
        ahead, behind, rule=lambda m, i, j: m.e[i, j] >= 1 - 2 * sum(m.w[k] * float(X[i, k] - X[j, k]) for k in m.w)
    )
    price = 100 * C / len(m.e) / len(y)
    m.o = pyo.Objective(expr=0.5 * sum(w**2 for w in m.w.values()) + price * sum(m.e.values()))
    expected = fs.solve(m, "clarabel", gap=1e-8).objective
    assert fs.solve(mv.structural_svm(data, C=C, loss="auc"), gap=1e-6).objective == pytest.approx(expected, rel=1e-5)


# Relations of section 6.


@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep"])
def test_one_feature_in_the_budget_is_the_squared_1_norm(loss, few):
    """(20)."""
    U, q = every_row(few, loss)
    m = pyo.ConcreteModel()
    m.plus, m.minus = (pyo.Var(range(4), domain=pyo.NonNegativeReals) for _ in range(2))
    m.size, m.xi = pyo.Var(), pyo.Var(domain=pyo.NonNegativeReals)
    m.norm = pyo.Constraint(expr=m.size >= sum(m.plus.values()) + sum(m.minus.values()))
    m.row = pyo.Constraint(
        range(len(q)),
        rule=lambda m, k: m.xi + sum(float(U[k, j]) * (m.plus[j] - m.minus[j]) for j in range(4)) >= float(q[k]),
    )
    m.o = pyo.Objective(expr=0.5 * m.size**2 + 40.0 * m.xi)
    expected = fs.solve(m, "clarabel", gap=1e-8).objective
    result = fs.solve(mv.fsmulti(few, budget=1, C=40.0, loss=loss), gap=1e-5)
    assert result.objective == pytest.approx(expected, rel=OPTIMUM)


@pytest.mark.parametrize("C", [1.0, 18.0, 360.0])
def test_the_structural_svm_for_errors_is_the_linear_svm(C, data):
    svm = LinearSVC(loss="hinge", fit_intercept=False, C=2 * C / 18, tol=1e-10, max_iter=10**7)
    w = svm.fit(np.asarray(data.X), data.y).coef_.ravel()
    hinges = np.maximum(0, 1 - data.y * (data.X @ w))
    expected = 0.5 * w @ w + 2 * C / 18 * hinges.sum()
    model = mv.structural_svm(data, C=C, loss="hamming")
    result = fs.solve(model, gap=1e-7)
    assert result.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(mv.classifier(model)[0], w, atol=2e-3 * np.abs(w).max())
    same = fs.solve(mv.fsmulti(data, budget=4, C=C, loss="hamming"), gap=1e-7)
    assert same.objective == pytest.approx(result.objective, rel=1e-6)


def best_support(data, loss, B, C):
    """(23): the structural SVM on each support."""
    U, q = every_row(data, loss)
    return min(solved(U[:, s], q, B, C)[1] for s in map(list, itertools.combinations(range(U.shape[1]), B)))


@pytest.mark.parametrize("loss", ["hamming", "f1"])
@pytest.mark.parametrize("B", [1, 2])
def test_the_relaxation_the_best_support_and_strict(loss, B, few):
    exact, C = best_support(few, loss, B, 12.0), 12.0
    whole = fs.select(few, "fsmulti", budget=B, C=C, loss=loss, gap=1e-5)
    strict = fs.select(few, "fsmulti", max_features=B, C=C, loss=loss, gap=1e-5)
    assert whole.objective <= exact * (1 + 1e-5)
    assert exact <= strict.objective * (1 + 1e-6)
    assert strict.bound <= exact * (1 + 1e-9)
    assert len(strict.selected) <= B
    assert strict.status is (
        SolutionStatus.OPTIMAL
        if strict.objective - strict.bound <= 1e-5 * strict.objective
        else SolutionStatus.FEASIBLE
    )
    w = np.array([strict.weights.get(j, 0.0) for j in few.features])
    U, q = every_row(few, loss)
    assert 0.5 * w @ w + C * max(0.0, (q - U @ w).max()) == pytest.approx(strict.objective, rel=1e-9)


def test_the_relaxation_can_be_far_below_the_best_support():
    """Not equal to (23), as section 6.3 has it."""
    rng = np.random.default_rng(17)
    X = np.round(rng.normal(size=(6, 4)), 1)
    data = fs.Dataset.from_arrays(X, np.where(rng.random(6) < 0.5, 1, -1), features=list("abcd"))
    result = fs.solve(mv.fsmulti(data, budget=1, C=120.0, loss="f1"), gap=1e-5)
    assert agrees(result, proven(data, "f1", 1, 120.0))
    assert best_support(data, "f1", 1, 120.0) > 3.5 * result.objective


@pytest.mark.parametrize("C", [0.1, 3.0, 100.0])
def test_fgm_with_all_features_is_the_svm_with_squared_hinges(C, data):
    svm = LinearSVC(loss="squared_hinge", fit_intercept=False, C=C / 2, tol=1e-12, max_iter=10**7)
    w = svm.fit(np.asarray(data.X), data.y).coef_.ravel()
    hinges = np.maximum(0, 1 - data.y * (data.X @ w))
    result = fs.solve(mv.fgm(data, budget=4, C=C), gap=1e-7)
    assert result.objective == pytest.approx(0.5 * w @ w + 0.5 * C * hinges @ hinges, rel=1e-5)


@pytest.mark.parametrize("B", [1, 2, 3])
def test_fgm_over_all_groups(B, data):
    """min 1/2 (sum_t ||w_t||)^2 + C/2 sum xi^2, w the sum of the w_t of all groups of B features."""
    X, y, C = np.asarray(data.X), data.y, 5.0
    groups = list(itertools.combinations(range(4), B))
    members = [(t, j) for t, group in enumerate(groups) for j in group]
    m = pyo.ConcreteModel()
    m.w, m.xi = pyo.Var(members), pyo.Var(range(18), domain=pyo.NonNegativeReals)
    m.norm = pyo.Var(range(len(groups)), domain=pyo.NonNegativeReals)
    m.cone = pyo.Constraint(
        range(len(groups)), rule=lambda m, t: sum(m.w[t, j] ** 2 for j in groups[t]) <= m.norm[t] ** 2
    )
    m.row = pyo.Constraint(
        range(18), rule=lambda m, i: float(y[i]) * sum(float(X[i, j]) * m.w[t, j] for t, j in members) + m.xi[i] >= 1
    )
    m.o = pyo.Objective(expr=0.5 * sum(m.norm.values()) ** 2 + 0.5 * C * sum(v**2 for v in m.xi.values()))
    expected = fs.solve(m, "clarabel", gap=1e-8).objective
    model = mv.fgm(data, budget=B, C=C)
    result = fs.solve(model, gap=1e-7)
    assert result.objective == pytest.approx(expected, rel=1e-5)
    w, _ = mv.classifier(model)
    hinges = np.maximum(0, 1 - y * (X @ w))
    assert spread(w, B) + 0.5 * C * hinges @ hinges == pytest.approx(result.objective, rel=1e-4)


@pytest.mark.parametrize("B", [1, 2, 4])
def test_fgm_is_bounded_by_any_multipliers(B, data):
    """Never above what any weights cost, and met at the optimum by those of the rows."""
    X, y, C, rng = np.asarray(data.X), data.y, 5.0, np.random.default_rng(B)
    model = mv.fgm(data, budget=B, C=C)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    certificate, found = facts_of(model).certificate, fs.solve(model, gap=1e-7)
    best = np.array([model.dual[row] for row in certificate.row_data()])
    assert best.min() > -1e-6 * best.max()
    assert certificate.bound(model, best) == pytest.approx(found.objective, rel=1e-6)
    assert certificate.bound(model, -best) == 0.0
    for alpha in (None, *rng.exponential(size=(50, 18)), *(best * rng.uniform(0.5, 1.5, (50, 18)))):
        assert certificate.bound(model, alpha) <= found.objective * (1 + 1e-7)
    for w in rng.normal(size=(50, 4)):
        hinges = np.maximum(0, 1 - y * (X @ w))
        assert found.bound <= spread(w, B) + 0.5 * C * hinges @ hinges


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("C", [1e-6, 5.0, 1e5])
def test_fgm_in_other_units_is_proven_from_the_data(C, unit, data):
    """Columns times s with C over s^2 cost 1 / s^2: what solvers take for 0 is no optimum."""
    scaled = fs.Dataset.from_arrays(np.asarray(data.X) * unit, data.y).scaled("none")
    model, plain = mv.fgm(scaled, budget=2, C=C / unit**2), mv.fgm(data, budget=2, C=C)
    result, expected = fs.solve(model), fs.solve(plain, gap=1e-6).objective
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective * unit**2 == pytest.approx(expected, rel=1.1e-4)
    w, _ = mv.classifier(model)
    hinges = np.maximum(0, 1 - scaled.y * (np.asarray(scaled.X) @ w))
    assert spread(w, 2) + 0.5 * model.C.value * hinges @ hinges == pytest.approx(result.objective, rel=1e-9)


def test_weights_are_read_by_name_in_whatever_order_they_came(data, monkeypatch):
    model = mv.fsmulti(data, budget=2, C=5.0)
    for j, value in zip(reversed(data.features[1:]), (3.0, 2.0, 1.0), strict=True):
        model.w[j] = value
    model.xi.set_value(0.0)
    monkeypatch.setattr(type(model.features), "ord", None)  # it would number all names, of which there may be millions
    w, b = mv.classifier(model)
    assert (w.tolist(), b) == ([0.0, 1.0, 2.0, 3.0], 0.0)


def test_the_regulariser_and_the_risk_as_functions(few):
    w = np.array([0.3, -0.2, 0.0, 1.0])
    for B in (1, 2, 3, 4):
        assert mv.regulariser(w, B) == pytest.approx(spread(w, B), rel=1e-9)
    for loss in LOSSES:
        U, q = every_row(few, loss)
        assert mv.risk(few, w, loss) == pytest.approx(max(0.0, (q - U @ w).max()), abs=1e-12)
        assert mv.objective(few, w, budget=2, C=3.0, loss=loss) == pytest.approx(
            spread(w, 2) + 3 * max(0.0, (q - U @ w).max())
        )
    for B in (0, 5, 1.5):
        with pytest.raises(ParameterError):
            mv.regulariser(w, B)


# Invariances.


def optimum(X, y, loss="f1", B=2, C=40.0, gap=1e-6):
    return fs.solve(mv.fsmulti(fs.Dataset.from_arrays(X, y), budget=B, C=C, loss=loss), gap=gap).objective


@pytest.mark.parametrize("loss", ["hamming", "f1", "rec@2p", "auc"])
def test_order_scale_and_sparsity(loss, data):
    X, y = np.asarray(data.X), data.y
    value, rng = optimum(X, y, loss), np.random.default_rng(0)
    rows, columns = rng.permutation(18), rng.permutation(4)
    assert optimum(X[rows], y[rows], loss) == pytest.approx(value, rel=2e-6)
    assert optimum(X[:, columns], y, loss) == pytest.approx(value, rel=2e-6)
    assert optimum(X * rng.choice([-1, 1], 4), y, loss) == pytest.approx(value, rel=2e-6)
    assert optimum(sparse.csr_array(X), y, loss) == pytest.approx(value, rel=2e-6)
    for c in (0.1, 7.0):  # w over c: c^2 times the norm
        assert optimum(c * X, y, loss, C=40.0 / c**2) * c**2 == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize(("loss", "factor"), [("hamming", 1.0), ("auc", 2.0)])
def test_samples_twice(loss, factor, data):
    """The risk of errors is a mean; that of AUC, whose Delta stays, is halved by 1/n."""
    X, y = np.asarray(data.X), data.y
    twice = optimum(np.vstack([X, X]), np.r_[y, y], loss, C=40.0 * factor)
    assert twice == pytest.approx(optimum(X, y, loss), rel=2e-6)


@pytest.mark.parametrize("loss", ["hamming", "auc"])
def test_classes_swapped(loss, data):
    X, y = np.asarray(data.X), data.y
    assert optimum(X, -y, loss) == pytest.approx(optimum(X, y, loss), rel=2e-6)


def test_a_sparse_file_is_never_made_dense(data):
    X = sparse.csr_array(np.where(np.abs(data.X) > 0.7, data.X, 0.0))
    dense = fs.solve(mv.fsmulti(fs.Dataset.from_arrays(X.toarray(), data.y), budget=2, C=40.0), gap=1e-6)
    model = mv.fsmulti(fs.Dataset.from_arrays(X, data.y), budget=2, C=40.0)
    X.toarray = X.todense = None
    result = fs.solve(model, gap=1e-6)
    assert result.objective == pytest.approx(dense.objective, rel=2e-6)
    assert set(result.selected) == set(dense.selected)


# Degenerate data.


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep", "rec@2p"])
def test_constant_and_empty_columns(loss, few):
    X = np.column_stack([few.X, np.full(6, 3.0), np.zeros(6)])
    data = fs.Dataset.from_arrays(X, few.y)
    for B in (1, 3, 6):  # 6 is more than there are useful features
        result = fs.solve(mv.fsmulti(data, budget=B, C=20.0, loss=loss), gap=1e-5)
        assert agrees(result, proven(data, loss, B, 20.0))
        assert "x6" not in result.selected


@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep", "rec@1", "prec@3", "auc"])
def test_one_sample_of_a_class(loss, few):
    for y in ([1, -1, -1, -1, -1, -1], [1, 1, 1, 1, 1, -1]):
        if loss == "prec@3":
            y = [1, 1, 1, -1, -1, -1]
        data = fs.Dataset.from_arrays(np.asarray(few.X), y)
        assert agrees(fs.solve(mv.fsmulti(data, budget=2, C=20.0, loss=loss), gap=1e-5), proven(data, loss, 2, 20.0))


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_two_samples_and_twins_of_opposite_class():
    pair = fs.Dataset.from_arrays([[1.0, 2.0], [0.0, 1.0]], [1, -1])
    for loss in ("hamming", "f1", "prbep"):
        assert agrees(fs.solve(mv.fsmulti(pair, budget=1, C=4.0, loss=loss), gap=1e-5), proven(pair, loss, 1, 4.0))
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 2, axis=0)
    twins = fs.Dataset.from_arrays(X, [1, -1] * 4)
    model = mv.fsmulti(twins, budget=2, C=30.0, loss="hamming")
    result = fs.solve(model, gap=1e-5)
    assert result.objective == pytest.approx(60.0, rel=1e-5)  # w = 0: twice the mean hinge of 1
    assert result.selected == []


def test_no_feature_is_worth_its_norm(few):
    """With k = n every labelling in Y is the same, and its loss 0."""
    found = fs.select(few, "fsmulti", budget=2, C=20.0, loss="rec@6")
    assert found.status is SolutionStatus.OPTIMAL
    assert (found.objective, found.bound, found.selected) == (0.0, 0.0, ())
    assert "All weights are 0" in found.message
    assert found.predict(few).tolist() == [-1.0] * 6


@pytest.mark.parametrize("C", [1e-8, 1e-4])
def test_a_price_of_next_to_nothing(C, few):
    assert fs.solve(mv.fsmulti(few, budget=2, C=C), gap=1e-5).objective == pytest.approx(
        proven(few, "f1", 2, C), rel=OPTIMUM
    )


# Where the group problems lose accuracy.

INTEGERS = [
    [-2, 2, 3, 1, -1, 2], [3, 2, -1, 3, 2, -3], [0, -3, 1, 0, 2, 3], [-2, 3, -3, 0, -2, 1],
    [-1, 2, -2, -1, -1, -3], [2, -2, 0, -1, -3, -1], [1, 0, -1, 3, -1, -1], [-1, 3, -3, 2, -1, 3],
]  # fmt: skip


def test_separable_whole_numbers():
    data = fs.Dataset.from_arrays(INTEGERS, [1, 1, 1, -1, -1, 1, 1, -1])
    result = fs.solve(mv.fsmulti(data, budget=6, C=156.65944095964304, loss="hamming"), gap=1e-5)
    assert agrees(result, proven(data, "hamming", 6, 156.65944095964304))


@pytest.mark.parametrize("B", [2, 4])
def test_separable_pairs(B, few):
    assert agrees(fs.solve(mv.fsmulti(few, budget=B, C=120.0, loss="auc"), gap=1e-5), proven(few, "auc", B, 120.0))


def test_one_separable_pair():
    """w = (1/4, 1/4) or (1/2, 0), which the 1-norm does not tell apart: 1/8."""
    pair = fs.Dataset.from_arrays([[1.0, 2.0], [0.0, 1.0]], [1, -1])
    result = fs.solve(mv.fsmulti(pair, budget=1, C=4.0, loss="auc"), gap=1e-5)
    assert result.objective == pytest.approx(0.125, rel=1e-5)
    assert result.status is SolutionStatus.OPTIMAL


def test_separable_data_and_a_huge_price():
    X = np.random.default_rng(0).normal(size=(8, 5))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] > 0, 1, -1))
    result = fs.solve(mv.fsmulti(data, budget=2, C=1e8, loss="hamming"), gap=1e-4)
    assert result.status is SolutionStatus.OPTIMAL
    hard = proven(data, "hamming", 2, 1e4)  # no slack is used here, nor at any C above
    assert result.objective == pytest.approx(hard, rel=1e-3)


def test_columns_of_very_different_size():
    wrong = []
    for seed, B in itertools.product(range(5), (1, 2)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9, 4)) * 10.0 ** np.array([-4, -2, 2, 4])
        data = fs.Dataset.from_arrays(X, np.where(rng.random(9) < 0.5, 1, -1)).scaled("none")
        best = solved(*every_row(data, "f1"), B, 50.0)[1]  # attained, so that the optimum is no larger
        result = fs.solve(mv.fsmulti(data, budget=B, C=50.0, loss="f1"), gap=1e-5)
        if result.status is not SolutionStatus.OPTIMAL or result.objective > best * (1 + 1e-4):
            wrong.append((seed, B, result.objective, best))
    assert not wrong


def test_columns_far_from_zero():
    rng = np.random.default_rng(160)
    X = 10 + 50 * np.abs(rng.normal(size=(6, 5)))
    data = fs.Dataset.from_arrays(X, [-1, 1, 1, 1, -1, 1])
    wrong = []
    for B, loss in itertools.product((1, 2, 3, 4, 5), ("hamming", "f1")):
        result = fs.solve(mv.fsmulti(data, budget=B, C=90.0, loss=loss), gap=1e-5)
        best = solved(*every_row(data, loss), B, 90.0)[1]
        if result.status is not SolutionStatus.OPTIMAL or result.objective > best * (1 + 1e-4):
            wrong.append((B, loss, result.objective, best))
    assert not wrong


def test_groups_dropped_in_the_last_round():
    X = [
        [0, 2, 3, -3, -1, -3, 2], [-3, -2, -1, 2, -3, 2, 1], [-2, -1, 1, -1, -3, 2, 2], [-1, 2, 3, 2, 0, 1, 0],
        [0, -2, 2, -2, 2, 3, -1], [2, -1, 1, 2, 2, 1, -3], [3, 2, 2, -1, 0, 2, 3],
    ]  # fmt: skip
    data = fs.Dataset.from_arrays(X, [1, 1, 1, -1, -1, -1, 1])
    result = fs.solve(mv.fsmulti(data, budget=4, C=14.142956737302173, loss="hamming"), gap=1e-5)
    assert agrees(result, proven(data, "hamming", 4, 14.142956737302173))


# Limits.


class Stopping(FBeta):
    """F1 whose oracle is interrupted at its k-th call from ``arm`` on."""

    left = -1

    def arm(self, k):
        object.__setattr__(self, "left", k)
        return self

    def most_violated(self, y, scores):
        object.__setattr__(self, "left", self.left - 1)
        if self.left == 0:
            raise KeyboardInterrupt
        return super().most_violated(y, scores)


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5, 7, 9])
def test_ctrl_c_at_any_call_of_the_oracle(call, data):
    loss = Stopping()
    model = mv.fsmulti(data, budget=2, C=90.0, loss=loss)
    loss.arm(call)
    result = fs.solve(model, gap=1e-6)
    assert result.stop_reason is StopReason.INTERRUPTED
    full = fs.solve(mv.fsmulti(data, budget=2, C=90.0), gap=1e-6)
    if call == 1:
        assert result.status is SolutionStatus.NO_SOLUTION
        assert not result.has_solution
        assert all(v.value is None for v in model.component_data_objects(pyo.Var))
        return
    w, _ = mv.classifier(model)
    assert mv.objective(data, w, budget=2, C=90.0) == pytest.approx(result.objective, rel=1e-9)
    assert result.objective >= full.bound
    assert result.bound is None or result.bound <= full.objective
    mv.groups_of(result, data.features)
    again = fs.solve(model, gap=1e-6)  # nothing of the interrupted run is left
    assert again.objective == pytest.approx(full.objective, rel=2e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"time_limit": 0}, StopReason.TIME_LIMIT),
        ({"time_limit": 1e-9}, StopReason.TIME_LIMIT),
        ({"iteration_limit": 1}, StopReason.ITERATION_LIMIT),
        ({"iteration_limit": 3}, StopReason.ITERATION_LIMIT),
        ({"callback": lambda row: True}, StopReason.CALLBACK),
        ({"callback": lambda row: row["Iter"] >= 2}, StopReason.CALLBACK),
    ],
)
@pytest.mark.parametrize("word", ["budget", "max_features"])
def test_limits_return_the_incumbent(options, reason, word, data):
    found = fs.select(data, "fsmulti", **{word: 1}, C=90.0, gap=1e-6, **options)
    assert found.stop_reason is reason
    assert found.status is SolutionStatus.FEASIBLE
    full = fs.solve(mv.fsmulti(data, budget=1, C=90.0), gap=1e-6)
    assert found.objective >= full.bound
    assert found.bound is None or found.bound <= full.objective
    w = np.array([found.weights.get(j, 0.0) for j in data.features])
    assert mv.objective(data, w, budget=1, C=90.0) == pytest.approx(found.objective, rel=1e-9)


def test_a_tolerance_on_the_risk(data):
    result = fs.solve(mv.fsmulti(data, budget=2, C=90.0), gap=1e-9, risk_tolerance=0.05)
    assert result.objective - result.bound <= 90.0 * 0.05
    assert "0.05" in result.message
    for bad in (0, -1.0, "a", True):
        with pytest.raises(OptionError, match="risk_tolerance"):
            fs.solve(mv.fsmulti(data, budget=2, C=90.0), risk_tolerance=bad)


def test_a_run_stopped_at_w_0_does_not_call_it_best(data):
    found = fs.select(data, "fsmulti", budget=2, C=90.0, time_limit=0)
    assert found.bound == 0.0
    assert "is best" not in found.message


def test_ctrl_c_at_any_call_of_a_strict_selection(data):
    loss = Stopping()
    fs.select(data, "fsmulti", max_features=1, C=90.0, loss=loss.arm(-1))
    calls = -1 - loss.left
    for call in range(2, calls):  # 1 is the builder's, the last the report's
        try:
            found = fs.select(data, "fsmulti", max_features=1, C=90.0, loss=loss.arm(call))
        except KeyboardInterrupt:
            continue  # between the solves
        if call > 2:
            assert found.has_solution


# Edits.


@pytest.fixture
def lazy(data):
    return mv.fsmulti(data, budget=2, C=90.0, form="lazy")


def add(model, component):
    model.add_component("edit", component)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda m: m.xi.setlb(5.0), id="least xi"),
        pytest.param(lambda m: m.omega.setlb(50.0), id="least omega"),
        pytest.param(lambda m: m.omega.setub(1.0), id="bound on omega"),
        pytest.param(lambda m: m.xi.fix(0.3), id="fixed xi"),
        pytest.param(lambda m: m.w["a"].setlb(9.0), id="least w"),
        pytest.param(lambda m: setattr(m.d["a"], "domain", pyo.Binary), id="domain of d"),
        pytest.param(lambda m: setattr(m.xi, "domain", pyo.NonNegativeIntegers), id="domain of xi"),
        pytest.param(lambda m: m.objective.set_sense(pyo.maximize), id="sense"),
        pytest.param(lambda m: m.objective.deactivate(), id="no objective"),
        pytest.param(lambda m: add(m, pyo.Objective(expr=m.xi)), id="two objectives"),
        pytest.param(
            lambda m: add(m, Complementarity(expr=complements(m.omega >= 0, m.xi >= 0))), id="complementarity"
        ),
        pytest.param(lambda m: add(m, pyo.SOSConstraint(var=m.w, index=["a", "b"], sos=1)), id="special ordered set"),
    ],
)
def test_no_edit_is_lost_in_silence(edit, lazy):
    edit(lazy)
    with pytest.raises(ModelError, match=r'"two-layer"|objective'):
        fs.solve(lazy)


@pytest.mark.parametrize(
    "solver",
    ["clarabel", "highs", "pounce", "gurobi", "scip", "benders", "branch-and-cut", "single-tree", "sla", "alternating",
     "multi-start", "cutting-plane"],
)  # fmt: skip
def test_nothing_else_solves_the_lazy_model(solver, lazy, need):
    with pytest.raises(ModelError, match='"two-layer"'):
        fs.solve(lazy, need(solver))
    assert all(v.value is None for v in lazy.component_data_objects(pyo.Var))


def test_two_layer_needs_a_composite_risk(few):
    with pytest.raises(ModelError, match='"two-layer" needs'):
        fs.solve(mv.fgm(few, budget=2, C=9.0), "two-layer")
    with pytest.raises(ModelError, match='"two-layer" needs'):
        fs.solve(fs.fsp.fsp_m(few, max_features=2, C=9.0), "two-layer")


def test_the_extended_form_is_edited_like_any_model(few, need):
    free = fs.solve(mv.fsmulti(few, budget=2, C=30.0, form="extended"), gap=1e-7)
    found = []
    for solver in ("clarabel", need("gurobi")):
        model = mv.fsmulti(few, budget=2, C=30.0, form="extended")
        model.alike = pyo.Constraint(expr=model.w["a"] == model.w["b"])
        found.append(fs.solve(model, solver).objective)
        assert model.w["a"].value == pytest.approx(model.w["b"].value, abs=1e-5)
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    U, q = every_row(few, "f1")
    assert found[0] >= free.objective * (1 - 1e-6)
    w = np.array([v.value for v in model.w.values()])
    assert spread(w, 2) + 30.0 * max(0.0, (q - U @ w).max()) == pytest.approx(found[1], rel=1e-3)


def test_parameters_are_checked_by_the_builder(data):
    for B in (0, 5, -1, 1.5, "2"):
        with pytest.raises(ParameterError, match="budget"):
            mv.fsmulti(data, budget=B, C=1.0)
    for C in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="C="):
            mv.fsmulti(data, budget=1, C=C)
    with pytest.raises(ParameterError, match="form"):
        mv.fsmulti(data, budget=1, C=1.0, form="eager")
    with pytest.raises(ParameterError, match=r'form="explicit" was removed.*form="extended"'):
        mv.fsmulti(data, budget=1, C=1.0, form="explicit")
    with pytest.raises(InfeasibleParameter, match="k=19 is above the 18"):
        mv.fsmulti(data, budget=1, C=1.0, loss="rec@19")
    with pytest.raises(ModelError, match="no solution loaded"):
        mv.classifier(mv.fsmulti(data, budget=1, C=1.0))


# A loss of one's own, and select.


class Costly(Loss):
    """Errors that cost 5 where a positive sample is missed."""

    name = "costly"

    def value(self, y, labelling):
        table = contingency(y, labelling)
        return table.b + 5.0 * table.c

    def most_violated(self, y, scores):
        cost = np.where(y > 0, 5.0, 1.0)
        labelling = np.where(cost - 2 * y * scores > 0, -y, y)
        return Worst.of(y, scores, labelling, self.value(y, labelling))


def test_a_loss_of_ones_own(few):
    model = mv.fsmulti(few, budget=2, C=12.0, loss=Costly())
    U, q = [], []
    for signs in itertools.product((-1.0, 1.0), repeat=6):
        wrong = few.y != signs
        U.append((few.y - signs) @ np.asarray(few.X) / 6)
        q.append((wrong & (few.y < 0)).sum() / 6 + 5.0 * (wrong & (few.y > 0)).sum() / 6)
    assert agrees(fs.solve(model, gap=1e-5), solved(np.array(U), np.array(q), 2, 12.0)[1])
    found = fs.select(few, "fsmulti", budget=2, C=12.0, loss=Costly(), gap=1e-5)
    assert found.objective == pytest.approx(solved(np.array(U), np.array(q), 2, 12.0)[1], rel=OPTIMUM)
    assert "costly on these data" in found.message


def test_a_loss_of_ones_own_has_its_name_in_the_file(few):
    assert fs.select(few, "fsmulti", budget=2, C=12.0, loss=Costly()).to_dict()["parameters"]["loss"] == "costly"


def test_predictions_and_validation(data, make_data):
    other = make_data(30, 4, seed=8)
    found = fs.select(data.scaled("standard"), "fsmulti", budget=2, C=90.0, validation=other)
    w = np.array([found.weights_original.get(j, 0.0) for j in data.features])
    scores = other.X @ w + found.bias_original
    np.testing.assert_array_equal(found.predict(other), np.where(scores > 0, 1.0, -1.0))
    assert found.result.details.get("validation_error") is None  # no choice by validation: one optimum
    assert found.error(other) == pytest.approx(np.mean(np.where(scores > 0, 1, -1) != other.y))


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_ties_at_a_score_of_0_are_told():
    X = np.array([[1.0, 0.0], [0.8, 0.0], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    data = fs.Dataset.from_arrays(X, [1, 1, 1, -1, -1, -1])
    found = fs.select(data, "fsmulti", budget=1, C=20.0, scale="none")
    assert "3 samples have a decision of 0 and count as class -1." in str(found)
    assert found.predict(found.data).tolist() == [1, 1, -1, -1, -1, -1]


def test_words_that_are_gone_name_the_new_ones(few):
    with pytest.raises(ParameterError, match=r"takes no strict: max_features=K \(--max-features\).*budget=B"):
        fs.select(few, "fsmulti", max_features=1, C=1.0, strict=True)
    for build in (mv.fsmulti, mv.fgm):
        with pytest.raises(ParameterError, match=r"takes no max_features: B of \(5\) is budget.*fs\.select"):
            build(few, max_features=1, C=1.0)
    with pytest.raises(ParameterError, match="budget"):
        mv.objective(few, np.zeros(4), max_features=1)
    with pytest.raises(ParameterError, match=r"one of max_features .--max-features., at most so many features, or bud"):
        fs.select(few, "fsmulti", max_features=1, budget=1)
    with pytest.raises(ParameterError, match=r"needs max_features.*or budget"):
        fs.select(few, "fsmulti")
    with pytest.raises(ParameterError, match=r"budget got int 2, .*is for fsmulti.*takes \(costs, limit\)"):
        fs.select(few, "fsp-m", max_features=1, budget=2)
    with pytest.raises(ParameterError, match='exchanges need form="lazy"'):
        fs.select(few, "fsmulti", max_features=1, form="stated")
    with pytest.raises(fs.InfeasibleParameter, match=r"budget=5 is above the 4 features"):
        fs.select(few, "fsmulti", budget=5)


# The command line.


@pytest.fixture
def command(tmp_path, capsys):
    def run(data, *words, kind="csv"):
        path, out = tmp_path / f"data.{kind}", tmp_path / "out.json"
        if kind == "csv":
            pd.DataFrame(np.asarray(data.X), columns=list(data.features)).assign(target=data.y).to_csv(
                path, index=False
            )
        else:
            dump_svmlight_file(np.asarray(data.X), data.y, str(path), zero_based=False)
        code = main(["select", str(path), "--scale", "none", "--json", str(out), *words])
        return code, json.loads(out.read_text()) if code == 0 else None, capsys.readouterr()

    return run


FSMULTI = ["--model", "fsmulti", "--budget-features", "2", "-C", "48"]
AT_MOST = ["--model", "fsmulti", "--max-features", "2", "-C", "48"]


@pytest.mark.parametrize("loss", [*LOSSES[:-1], None])
def test_the_file_of_a_selection_is_the_optimum(loss, few, command):
    words = FSMULTI if loss is None else [*FSMULTI, "--loss", loss]
    code, found, _ = command(few, *words, "--gap", "1e-5")
    loss = loss or "f1"
    assert code == 0
    assert found["parameters"] == {"budget": 2, "C": 48.0, "loss": loss}
    w = np.array([found["weights"].get(j, 0.0) for j in few.features])
    U, q = every_row(few, loss)
    assert spread(w, 2) + 48.0 * max(0.0, (q - U @ w).max()) == pytest.approx(found["objective"], rel=1e-9)
    truth = proven(few, loss, 2, 48.0)
    assert found["objective"] == pytest.approx(truth, rel=OPTIMUM)
    assert found["bound"] <= truth * (1 + 1e-6)
    assert found["bias"] == 0
    assert set(found["selected"]) <= set(found["weights"])
    assert found["status"] == "optimal"


def test_at_most_so_many_and_sparse_files(few, command):
    code, found, _ = command(few, *AT_MOST)
    assert code == 0
    assert found["parameters"]["max_features"] == 2
    assert len(found["selected"]) <= 2
    assert found["bound"] <= best_support(few, "f1", 2, 48.0) <= found["objective"] * (1 + 1e-6)
    _, dense, _ = command(few, *FSMULTI, "--gap", "1e-6")
    _, sparsely, _ = command(few, *FSMULTI, "--gap", "1e-6", kind="svm")
    assert sparsely["objective"] == pytest.approx(dense["objective"], rel=2e-6)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*FSMULTI, "--loss", "accuracy"], 'Loss "accuracy" is not known: use one of hamming, f1'),
        ([*FSMULTI, "--loss", "rec@k"], "k='k' is not a number of samples: use a whole number"),
        ([*FSMULTI, "--loss", "rec@100000"], "k=100000 is above the 6 samples: use 1..6"),
        ([*FSMULTI, "--loss", "rec@0"], "k=0 labels no sample positive"),
        (["--model", "fsmulti"], 'Model "fsmulti" needs max_features'),
        (["--model", "fsmulti", "--budget-features", "5"], "budget=5 is above the 4 features"),
        (["--model", "fsmulti", "--max-features", "5"], "max_features=5 is above the 4 features"),
        (["--model", "fsmulti", "--max-features", "0"], "max_features=0 selects no feature"),
        ([*FSMULTI, "-C", "-1"], "C=-1.0 is not allowed"),
        (["--model", "fsp-m", "--max-features", "2", "--loss", "f1"], "use one of hinge, squared-hinge"),
        (["--model", "svm", "--loss", "f1"], "use one of hinge, squared-hinge"),
        (["--model", "rfe", "--max-features", "2", "--loss", "f1"], "use loss: svm, fsp-m, fsp-lambda, fsmulti"),
        ([*FSMULTI, "--strict"], "the option was removed. --max-features K selects at most K"),
        (["--model", "svm", "--budget-features", "2"], "--budget COSTS.csv:LIMIT. Option: --budget-features."),
        ([*FSMULTI, "--max-features", "2"], 'Model "fsmulti" takes one of max_features'),
        ([*FSMULTI, "--solver", "highs"], 'Solver "highs" cannot solve this model'),
        ([*FSMULTI, "--force-in", "z"], "z"),
    ],
)
def test_bad_words_are_named(words, says, few, command):
    code, _, said = command(few, *words)
    assert code == 2
    assert says in " ".join(said.err.split())


def test_the_hint_is_the_exact_model(few, command):
    code, _, said = command(few, *AT_MOST, "--gap", "0.01")
    assert code == 0
    assert "  --model fsp-m --max-features " in said.out


# The offset.


@pytest.mark.parametrize("loss", ["f1", "hamming", "prbep"])
@pytest.mark.parametrize("form", ["lazy", "extended"])
def test_an_offset_is_a_column_of_ones(form, loss, few):
    ones = np.ones((few.n_samples, 1))
    by_hand = fs.Dataset.from_arrays(np.hstack([few.X, ones]), few.y, [*few.features, "one"])
    expected = fs.solve(mv.fsmulti(by_hand, budget=2, C=30.0, loss=loss), gap=1e-6)
    model = mv.fsmulti(few, budget=2, C=30.0, loss=loss, offset=True, form=form)
    result = fs.solve(model, gap=1e-6)
    assert result.objective == pytest.approx(expected.objective, rel=1e-5)
    w, b = mv.classifier(model)
    assert w.shape == (few.n_features,)
    assert "(offset)" not in result.selected
    again = mv.objective(few, w, b=b, budget=2, C=30.0, loss=loss)
    assert again == pytest.approx(result.objective, rel=1e-5)


@pytest.mark.parametrize("word", ["budget", "max_features"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_an_offset_is_the_bias_of_a_selection(as_sparse, word):
    data = fs.load_dataset("bupa").scaled("standard").take(range(0, 345, 3))
    if as_sparse:
        data = fs.Dataset.from_arrays(sparse.csr_array(data.X), data.y, list(data.features))
    found = fs.select(data, "fsmulti", **{word: 3}, C=100.0, offset=True, gap=1e-3)
    assert found.bias != 0
    assert word == "budget" or len(found.selected) + 1 <= 3
    w = np.array([found.weights.get(j, 0.0) for j in data.features])
    again = mv.objective(data, w, b=found.bias, budget=3, C=100.0)
    assert found.objective == pytest.approx(again, rel=1e-9)
    assert found.bound <= found.objective
    assert found.predict(data).tolist() == np.where(data.X @ w + found.bias > 0, 1.0, -1.0).tolist()


def test_an_offset_is_yes_or_no(few):
    with pytest.raises(ParameterError, match=r"offset=1\.0 is not allowed"):
        mv.fsmulti(few, budget=2, offset=1.0)


@pytest.mark.filterwarnings("ignore::fsmodels.DataWarning")
@pytest.mark.parametrize("loss", ["f1", "prbep", "hamming"])
def test_inexact_multipliers_on_the_way_do_not_stall_the_bound(loss):
    mail = fs.load_dataset("spambase")
    kept = np.sort(np.r_[np.flatnonzero(mail.y < 0), np.flatnonzero(mail.y > 0)[::6]])
    train = fs.Dataset.from_arrays((mail.X[kept] > 0).astype(float), mail.y[kept]).split(0.4, 0.2, 0.4, seed=0)[0]
    model = fs.multivariate.fsmulti(train, budget=5, C=float(len(train)), loss=loss)
    assert fs.solve(model, gap=0.03, iteration_limit=100).status is fs.SolutionStatus.OPTIMAL
