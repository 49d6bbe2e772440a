"""Bounds and points from the data: valid for any multipliers, tight at those of a solve, whatever the units."""

import dataclasses
import os

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import fsmodels as fs
from fsmodels.models.fsp.oracle import SvmOracle
from fsmodels.models.proofs.bounds import one_norm_bound, robust_bound, slacks, svm_bound
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.svm import hinges
from solvers.interfaces.registry import SOLVERS
from solvers.model.classes import violation

BUILDERS = {
    "svm": lambda data, C: fs.svm.l2_svm(data, C=C),
    "one-norm-svm": lambda data, C: fs.svm.one_norm_svm(data, C=C),
    "robust-lp": lambda data, C: fs.svm.robust_lp(data),
}
LINEAR = ["robust-lp", "one-norm-svm"]


def sample(seed, kind, rows=None, n=None):
    rng = np.random.default_rng(seed)
    rows, n = rows or int(rng.integers(4, 30)), n or int(rng.integers(1, 5))
    X = rng.normal(size=(rows, n))
    y = np.where(X @ rng.uniform(-1, 1, n) + rng.choice([0.0, 0.5, 2.0]) * rng.normal(size=rows) > 0, 1.0, -1.0)
    if kind == "one positive":
        y[:] = -1.0
    y[:2] = 1.0, -1.0
    if kind == "units":
        X = X * 10.0 ** rng.integers(-6, 7, n)
    elif kind == "far":
        X = 1e8 + np.round(5 * X)
    elif kind == "hardly vary":
        X = 1 + 1e-7 * X
    elif kind == "duplicates":
        X = np.round(X)
        X[:, -1] = X[:, 0]
        X[rows // 2] = X[0]
    elif kind == "constant":
        X[:, 0] = 7e5
    return fs.Dataset.from_arrays(X, y, features=[f"x{j}" for j in range(n)])


KINDS = ["plain", "units", "far", "hardly vary", "duplicates", "one positive", "constant"]


def truth(name, data, C):
    """The optimum by another way: linprog, or the oracle of FSP, on columns of one size, priced in the data's units."""
    columns = Columns.of(data.X)
    Z, y = np.asarray(columns.z), data.y
    rows, n = Z.shape
    if name == "svm":
        wide = Z / columns.factor  # the norm is that of the data's units
        return SvmOracle(wide, y, C).solve(np.ones(n), tolerance=1e-9).value
    share = np.full(rows, C)
    if name == "robust-lp":
        share = np.where(y > 0, 1 / np.sum(y > 0), 1 / np.sum(y < 0))
    price = columns.factor if name == "one-norm-svm" else np.zeros(n)
    cost = np.concatenate([price, price, [0, 0], share])
    A = -np.hstack([y[:, None] * Z, -y[:, None] * Z, y[:, None], -y[:, None], np.eye(rows)])
    return linprog(cost, A, -np.ones(rows), method="highs-ds").fun


def shares(name, data, C):
    y = data.y
    return np.where(y > 0, 1 / np.sum(y > 0), 1 / np.sum(y < 0)) if name == "robust-lp" else np.full(len(y), C)


def lower(name, data, C, alpha):
    columns = Columns.of(data.X)
    if name == "robust-lp":
        return robust_bound(columns, data.y, shares(name, data, C), alpha)
    return (svm_bound if name == "svm" else one_norm_bound)(columns, data.y, shares(name, data, C), alpha)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BUILDERS)
def test_optimum_and_bound_meet_and_are_the_truth(name, kind):
    for seed in range(3):
        data, C = sample(seed, kind), 10.0 ** (seed - 1)
        model = BUILDERS[name](data, C)
        result = fs.solve(model)
        best = truth(name, data, C)
        assert result.status is fs.SolutionStatus.OPTIMAL
        assert result.gap <= 1e-6
        assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-12 + result.resolution)
        assert result.bound <= best * (1 + 1e-7) + 1e-12
        assert violation(model) < 1e-7


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_multipliers_make_a_bound(name, kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        data, C = sample(seed, kind), float(10.0 ** rng.uniform(-2, 2))
        best, s = truth(name, data, C), shares(name, data, C)
        for alpha in (
            None,
            rng.uniform(-1, 2, len(s)) * s,
            rng.choice([0.0, 1.0], len(s)) * s,
            np.full(len(s), np.nan),
            np.zeros(len(s)),
            1e9 * s,
        ):
            assert 0 <= lower(name, data, C, alpha) <= best * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize("name", LINEAR)
def test_rescaling_and_shifting_columns_changes_nothing(name):
    data = sample(5, "plain", 25, 3)
    if name == "one-norm-svm":  # its price is in the columns' units: a shift only
        moved = data.X + np.array([1e6, -1e3, 0.0])
    else:
        moved = data.X * np.array([1e-6, 1e5, 1.0]) + np.array([1e-2, -1e9, 0.0])
    again = fs.Dataset.from_arrays(moved, data.y, features=data.features)
    first, second = fs.solve(BUILDERS[name](data, 1.0)), fs.solve(BUILDERS[name](again, 1.0))
    assert second.objective == pytest.approx(first.objective, rel=1e-5)
    assert second.status is fs.SolutionStatus.OPTIMAL


@given(st.integers(0, 10**6))
def test_the_best_offset_is_best(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 9))
    scores, y = np.round(2 * rng.normal(size=rows)), np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    s = rng.choice([0.5, 1.0, 3.0], rows)

    def cost(b):
        return float(s @ np.maximum(0, 1 - y * (scores + b)))

    value, b = hinges(scores, y, s)
    assert cost(b) == pytest.approx(value) == pytest.approx(min(cost(b) for b in y - scores))
    assert hinges(scores, -y, s)[1] == pytest.approx(-hinges(-scores, y, s)[1])  # names of classes do not matter


def test_separable_classes_need_no_slack_whatever_the_solvers_tolerance():
    X = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    w, _, xi = slacks(Columns.of(X), y, np.full(4, 0.5), np.array([1 - 1e-8]))
    assert w[0] == pytest.approx(1.0)
    assert not xi.any()


def test_well_scaled_columns_are_left_alone():
    columns = Columns.of(np.random.default_rng(0).normal(size=(50, 3)))
    assert columns.plain
    assert columns.z is columns.X


@pytest.mark.parametrize("ends", [(0.5, 0.5), (0.7, np.inf), (-np.inf, -3.0)])
def test_an_offset_within_ends_is_the_best_there(ends):
    data = sample(2, "plain", 20, 2)
    s, w = np.full(20, 2.0), np.array([0.3, -0.7])
    _, b, xi = slacks(Columns.of(data.X), data.y, s, w, ends)
    assert ends[0] <= b <= ends[1]
    grid = np.clip(np.linspace(-9, 9, 3001), *ends)
    losses = np.maximum(0, 1 - data.y * ((data.X @ w)[None, :] + grid[:, None]))
    assert s @ xi == pytest.approx(2.0 * losses.sum(axis=1).min(), rel=1e-2)
    assert s @ xi <= 2.0 * losses.sum(axis=1).min() * (1 + 1e-12)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_solver_without_multipliers_proves_nothing_by_its_word(name):
    """Its bound is what the multipliers of another solver prove."""
    data = sample(4, "plain", 25, 3)
    for solver in ("scip", "cbc", "gurobi"):
        if SOLVERS[solver].found and not (solver == "cbc" and name == "svm"):
            result = fs.solve(BUILDERS[name](data, 1.0), solver)
            best = truth(name, data, 1.0)
            assert result.status is fs.SolutionStatus.OPTIMAL
            assert result.bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("name", [*BUILDERS, "fs", "fsl", "fsv", "fss", "fsb", "fsp-m", "fsp-lambda"])
def test_no_run_ends_without_a_point_and_a_bound(name):
    options = {"C": 1.0} if name in ("svm", "one-norm-svm", "fsp-m", "fsp-lambda") else {}
    options |= {"penalty": 0.1} if name in ("fs", "fsl", "fsv", "fss", "fsb", "fsp-lambda") else {}
    options |= {"max_features": 2} if name == "fsp-m" else {}
    found = fs.select(sample(1, "plain", 20, 3), name, time_limit=0, **options)
    assert found.status is fs.SolutionStatus.FEASIBLE
    assert found.stop_reason is fs.StopReason.TIME_LIMIT
    assert found.objective is not None
    assert not any(found.weights.values())
    if name in (*BUILDERS, "fsp-m", "fsp-lambda"):
        assert found.bound <= found.objective


def test_an_svm_is_never_infeasible():
    data = sample(3, "far", 20, 2)
    for C in (1e-12, 1e12):
        result = fs.solve(fs.svm.l2_svm(data, C=C))
        assert result.status in (fs.SolutionStatus.OPTIMAL, fs.SolutionStatus.FEASIBLE)
        assert result.bound <= result.objective


@pytest.mark.parametrize("solver", ["cutting-plane", "sla", "highs"])
def test_an_optimum_of_0_with_large_weights_is_proven(solver):
    for seed in (3, 6, 11):  # slacks of 1e-14 remain: the rounding error of scores of size 1e3
        rng = np.random.default_rng(seed)
        X = 1 + rng.uniform(-0.01, 0.01, (40, 4))
        data = fs.Dataset.from_arrays(X, np.where((X - 1) @ rng.normal(size=4) > 0, 1, -1))
        result = fs.solve(fs.svm.robust_lp(data), solver)
        assert (result.status, result.gap) == (fs.SolutionStatus.OPTIMAL, 0.0)
        assert result.objective <= result.resolution <= 1e-9


@pytest.mark.parametrize("solver", ["cutting-plane", "two-layer", "benders", "branch-and-cut", "sla", None])
def test_large_values_before_the_run_do_not_count_as_a_proof(solver):
    """The rounding error of scores of 1e15 is above the optimum: any objective was within it of the bound."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    data = fs.Dataset.from_arrays(X, np.where(X @ [1, 2, -1.0] + 0.3 * rng.normal(size=40) > 0, 1, -1))
    models = {
        "two-layer": [lambda: fs.multivariate.fsmulti(data, budget=2)],
        "benders": [lambda: fs.fsp.fsp_m(data, max_features=2)],
        "sla": [lambda: fs.svm.robust_lp(data), lambda: fs.concave.fsv(data, penalty=0.1)],
    }
    models["branch-and-cut"] = models["benders"]
    models[None] = [*models["two-layer"], *models["benders"], lambda: fs.svm.l2_svm(data)]
    models["cutting-plane"] = [*models[None], lambda: fs.svm.robust_lp(data)]
    for build in models[solver]:
        found = []
        for start in (None, 1e15):
            model = build()
            for name in ("w", "b", "gamma") if start else ():
                for v in model.component_data_objects(pyo.Var):
                    if v.parent_component().local_name == name:
                        v.set_value(start, skip_validation=True)
            found.append(fs.solve(model, solver))
        assert found[0].status is found[1].status
        assert found[1].objective == pytest.approx(found[0].objective, rel=2e-4, abs=1e-9)
        assert found[1].resolution < 1e-6


def test_slacks_of_a_vertex_that_are_not_quite_0_are_repaired():
    """The vertex of the solver has slacks of 1e-11, more than the rounding error of the scores."""
    data = fs.load_dataset("ionosphere")
    noise = np.random.default_rng(0).uniform(-1, 1, (len(data), 6))
    names = (*data.features, *(f"noise{k}" for k in range(6)))
    data = dataclasses.replace(data, X=np.hstack([data.X, noise]), features=names, scale=None)
    for fold, part in ((4, 4), (5, 2), (8, 0)):
        result = fs.solve(fs.svm.robust_lp(data.folds(10, seed=0)[fold].train.folds(5, seed=0)[part].train), "sla")
        assert (result.status, result.gap) == (fs.SolutionStatus.OPTIMAL, 0.0)


@pytest.mark.slow
def test_no_false_optimum_and_no_invalid_bound():
    """Nasty data, C from 1e-6 to 1e6, default and other solvers; FSMODELS_SOAK=80 makes 20,000 instances."""
    wrong = []
    for seed in range(int(250 * float(os.environ.get("FSMODELS_SOAK", "1")))):
        rng = np.random.default_rng(seed)
        data, C = sample(seed, KINDS[seed % len(KINDS)]), float(10.0 ** rng.uniform(-6, 6))
        name = list(BUILDERS)[seed // len(KINDS) % 3]
        solver = [None, None, "clarabel", "scip"][int(rng.integers(4))]
        result = fs.solve(BUILDERS[name](data, C), solver)
        best = truth(name, data, C)
        slack = 1e-6 * abs(best) + 1e-11 + result.resolution
        invalid = result.bound is not None and result.bound > best + slack
        false = result.status is fs.SolutionStatus.OPTIMAL and result.objective > best * (1 + 1.1e-4) + slack
        below = result.objective is None or result.objective < best - slack
        if invalid or false or below:
            wrong.append((seed, name, solver, C, result.status.value, result.objective, result.bound, best))
    assert not wrong


@pytest.mark.parametrize("name", ["u", "t", "xi_", "unselected", "selected", "eta", "dropped"])
@pytest.mark.parametrize("build", ["fs", "fsp"])
def test_components_of_the_users_own_keep_their_values(build, name):
    data = sample(2, "plain", 16, 3)
    model = fs.concave.fs(data, penalty=0.1) if build == "fs" else fs.fsp.fsp_m(data, max_features=2, form="big-m")
    if model.component(name) is not None:
        pytest.skip("the model has one")
    plain = fs.solve(model.clone(), "scip").objective
    model.add_component(name, pyo.Var(bounds=(2, 5)))
    model.add_component("mine", pyo.Constraint(expr=model.component(name) >= 3 * model.sigma["x0"]))
    for solver in ("scip", "branch-and-cut"):
        result = fs.solve(model, solver)
        assert result.objective == pytest.approx(plain, rel=1e-4)
        assert 2 <= model.component(name).value <= 5


def test_a_relaxed_choice_is_not_rounded():
    model = fs.fsp.fsp_m(sample(2, "plain", 16, 3), max_features=1)
    for sigma in model.sigma.values():
        sigma.domain = pyo.UnitInterval
    result = fs.solve(model, "clarabel")
    assert any(0.01 < sigma.value < 0.99 for sigma in model.sigma.values())
    assert result.objective < fs.solve(fs.fsp.fsp_m(sample(2, "plain", 16, 3), max_features=1)).objective * 0.999


@pytest.mark.parametrize("family", ["sub", "not squared"])
@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-4])
def test_sub_and_the_norm_not_squared_are_proven_in_any_units(family, unit, data, need):
    """With w / unit and C / unit^2, or C / unit, the optimum is one number times that."""
    found = []
    for u in (1.0, unit):
        scaled = fs.Dataset.from_arrays(data.X * u, data.y, features=data.features)
        if family == "sub":
            model = fs.fsp.sub(scaled, sigma={"a": 1.0, "b": 0.3}, C=0.7 / u**2)
            found.append(fs.solve(model, "clarabel").objective * u**2)
        else:
            model = fs.gmeb.svm_unsquared(scaled, C=0.7 / u)
            found.append(fs.solve(model).objective * u)
        result = fs.solve(model, "clarabel", gap=1e-6)
        assert result.status is fs.SolutionStatus.OPTIMAL
        certificate = model.structure.certificate
        for alpha in (None, np.random.default_rng(0).uniform(0, 0.7 / u**2, len(data.y)), np.full(len(data.y), np.nan)):
            assert 0 <= certificate.bound(model, alpha) <= result.objective * (1 + 1e-9)
        stopped = fs.solve(model, time_limit=0)
        assert stopped.objective >= result.objective * (1 - 1e-9)
        assert stopped.bound <= result.objective * (1 + 1e-9)
    assert found[1] == pytest.approx(found[0], rel=1e-5)
