"""FSL, and FS by solvers of the whole model: optimal only where the tree proves it, rows on sigma and lies included."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from solvers.facts.base import facts_of
from solvers.interfaces.runner import Answer
from solvers.model.classes import violation
from solvers.whole_model.run import WholeModelRun

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
OPTIMAL, FEASIBLE = fs.SolutionStatus.OPTIMAL, fs.SolutionStatus.FEASIBLE
BUILDERS = {"fs": fs.concave.fs, "fsl": fs.concave.fsl}


def error(X, y, used):
    """(5) on some columns, by scipy."""
    Z = np.column_stack([X[:, used], np.ones(len(y))]) * y[:, None]
    s = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    free = [(None, None)] * Z.shape[1] + [(0, None)] * len(y)
    return linprog(np.r_[np.zeros(Z.shape[1]), s], -np.hstack([Z, np.eye(len(y))]), -np.ones(len(y)), bounds=free).fun


def least_fractions(A, b, used):
    """The least e'r with r = 1 where used, in [0, 1] else, and A r <= b; inf where there is none."""
    n = len(used)
    found = linprog(np.ones(n), A if len(A) else None, b if len(A) else None, bounds=[(u, 1.0) for u in used * 1.0])
    return found.fun if found.status == 0 else np.inf


def row(r, n):
    """A random row on r: (coefficients, right side) of <=."""
    kind = r.choice(["most", "least", "pair", "equal", "any"])
    c = np.zeros(n)
    where = r.choice(n, int(r.integers(1, n + 1)), replace=False)
    c[where] = r.integers(1, 3, len(where))
    if kind == "least":
        return [(-c, -float(r.choice([0.0, 0.5, 1.0, c.sum()])))]
    if kind in ("pair", "equal") and n > 1:
        c = np.zeros(n)
        c[r.choice(n, 2, replace=False)] = 1.0, -1.0
        return [(c, 0.0), (-c, 0.0)] if kind == "equal" else [(c, 0.0)]
    if kind == "any":
        return [(r.integers(-2, 3, n).astype(float), float(r.integers(-1, 3)))]
    return [(c, float(r.integers(0, int(c.sum()) + 1)))]


def check_rows(seed):
    """FSL with rows on r by its default, against every support of w and the cheapest r there; whether proven."""
    r = np.random.default_rng(seed)
    n = int(r.integers(1, 5))
    X = r.normal(size=(int(r.integers(4, 16)), n))
    y = np.where(X[:, 0] + r.normal(size=len(X)) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    penalty, rows = float(r.choice([0.02, 0.2, 0.6])), [side for _ in range(r.integers(1, 3)) for side in row(r, n)]
    scaled = X * 10.0 ** r.integers(-4, 5, n)
    model = fs.concave.fsl(fs.Dataset.from_arrays(scaled, y).scaled("none"), penalty=penalty)
    model.rows = pyo.ConstraintList()
    for c, side in rows:
        body = sum(float(a) * v for a, v in zip(c, model.sigma.values(), strict=True))
        if not isinstance(body, int | float) and np.any(c):
            model.rows.add(body <= side)
        elif side < 0:
            model.rows.add(model.r[next(iter(model.features))] <= -1)
    A, b = np.array([c for c, _ in rows]), np.array([side for _, side in rows])
    supports = [np.array(u) for u in itertools.product((False, True), repeat=n)]
    truth = min((1 - penalty) * error(X, y, u) + penalty * least_fractions(A, b, u) for u in supports)
    result = fs.solve(model, time_limit=60)
    if truth == np.inf:
        assert result.status is fs.SolutionStatus.INFEASIBLE
        return True
    assert result.objective >= truth - 1e-6 * (1 + truth)
    assert violation(model) <= 1e-6
    if result.bound is not None:
        assert result.bound <= truth + 1e-7 * (1 + truth)
    if result.status is OPTIMAL:
        assert result.objective <= truth * (1 + 1e-4) + 1e-7
    else:
        assert "Not by branch-and-cut" in result.message
        assert result.objective == pytest.approx(truth, rel=1e-4, abs=1e-6)
    return result.status is OPTIMAL


def test_rows_on_r_of_fsl_count_fractions_or_are_said_to_be_unproven():
    proven = [check_rows(seed) for seed in range(24)]
    assert 8 <= sum(proven) < 24


@pytest.mark.slow
def test_many_rows_on_r_of_fsl():
    """150 models; FSMODELS_SOAK=10 makes them 1500."""
    for seed in range(100, 100 + max(1, round(150 * SOAK))):
        check_rows(seed)


@pytest.fixture
def data(make_data):
    return make_data(20, 4, seed=5)


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_solver_that_calls_the_trivial_point_optimal_is_not_believed(kind, data, monkeypatch):
    model = BUILDERS[kind](data, penalty=0.05)

    def lying(self, words):
        facts_of(self.cache.model).certificate.trivial(self.cache.model)
        self.visible.send()
        at = pyo.value(self.cache.model.objective)
        return Answer(fs.StopReason.CONVERGED, OPTIMAL, True, at, "")

    monkeypatch.setattr(WholeModelRun, "run", lying)
    result = fs.solve(model, "scip")
    truth = fs.solve(BUILDERS[kind](data, penalty=0.05)).objective
    assert result.status is FEASIBLE
    assert result.objective > truth * 1.01
    assert result.bound == pytest.approx(truth, rel=1e-4)
    assert f"scip reports optimal, but branch-and-cut finds {truth:.6g}"[:50] in result.message
    assert result.selected == []


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_bound_of_the_solver_counts_for_nothing(kind, data, monkeypatch):
    model, honest = BUILDERS[kind](data, penalty=0.05), WholeModelRun.run

    def boasting(self, words):
        answer = honest(self, words)
        return Answer(answer.stop_reason, answer.status, True, 100.0, "")

    monkeypatch.setattr(WholeModelRun, "run", boasting)
    result = fs.solve(model, "scip")
    assert result.status is OPTIMAL
    assert result.bound <= result.objective < 2.0


@pytest.mark.parametrize("kind", BUILDERS)
def test_an_edit_that_only_restricts_keeps_the_bound_of_the_model_without_it(kind, data):
    model = BUILDERS[kind](data, penalty=0.05)
    free = fs.solve(BUILDERS[kind](data, penalty=0.05)).objective
    model.gamma.fix(3.0)
    result = fs.solve(model, "scip")
    assert result.status is FEASIBLE
    assert result.bound == pytest.approx(free, rel=1e-4)
    assert result.objective > free * 1.01
    assert "only the bound without that edit is proven" in result.message


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_model_that_allows_more_than_was_built_has_no_bound(kind, data):
    model = BUILDERS[kind](data, penalty=0.05)
    model.plane_A[next(iter(model.plane_A))].deactivate()
    result = fs.solve(model, "scip")
    assert (result.status, result.bound) == (FEASIBLE, None)
    assert "scip reports optimal, which is not proven from the data" in result.message


def test_fsl_by_its_default_satisfies_its_rows_and_restores_nothing_else(data):
    model = fs.concave.fsl(data, penalty=0.05)
    model.lab = pyo.Var(domain=pyo.Binary, initialize=0)
    model.in_lab = pyo.Constraint(model.features, rule=lambda m, j: m.sigma[j] <= m.lab)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    result = fs.solve(model)
    assert (result.solver, result.status) == ("branch-and-cut", OPTIMAL)
    assert violation(model) <= 1e-9
    assert model.lab.value == 1
    assert result.selected == [j for j in model.features if model.r[j].value == 1]
    assert pyo.value(model.objective) == pytest.approx(result.objective, rel=1e-12)
    assert "No multipliers in model.dual" in result.message
    for j in model.features:
        assert model.u[j].value == model.v[j].value == abs(model.w[j].value)


FRACTIONS = {
    "a bound of one half": lambda m: m.r["a"].setlb(0.5),
    "fixed at one half": lambda m: m.r["a"].fix(0.5),
    "a row of halves": lambda m: m.add_component("half", pyo.Constraint(expr=m.r["a"] + m.r["b"] >= 1)),
    "a row on w": lambda m: m.add_component("small", pyo.Constraint(expr=m.w["a"] <= 0.1)),
    "another price": lambda m: m.objective.set_value(m.objective.expr - 0.2 * m.r["a"]),
    "a logical row": lambda m: m.add_component("one", pyo.SOSConstraint(var=m.v, sos=1)),
}


@pytest.mark.parametrize("edit", FRACTIONS)
def test_what_is_no_choice_in_fsl_is_refused_by_the_tree(edit, data):
    model = fs.concave.fsl(data, penalty=0.05)
    FRACTIONS[edit](model)
    with pytest.raises(fs.ModelError, match=r"solve the model by name: .*scip"):
        fs.solve(model, "branch-and-cut")
