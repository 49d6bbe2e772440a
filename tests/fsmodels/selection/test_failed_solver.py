"""A solver that fails on a model whose builder knows a feasible point: that point comes back, with its words."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import StopReason
from solvers.errors import SolverFailure
from solvers.interfaces.registry import SOLVERS
from solvers.interfaces.runner import Runner

BUILD = {
    "svm": lambda data: fs.svm.l2_svm(data),
    "one-norm-svm": lambda data: fs.svm.one_norm_svm(data),
    "robust-lp": lambda data: fs.svm.robust_lp(data),
    "fsp-m": lambda data: fs.fsp.fsp_m(data, max_features=2),
    "fsp-m, big-m": lambda data: fs.fsp.fsp_m(data, max_features=2, form="big-m"),
    "fsp-lambda": lambda data: fs.fsp.fsp_lambda(data, penalty=0.1),
    "fs": lambda data: fs.concave.fs(data, penalty=0.1),
    "fsl": lambda data: fs.concave.fsl(data, penalty=0.1),
    "gmeb": lambda data: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0),
    "svm, norm not squared": lambda data: fs.gmeb.svm_unsquared(data),
    "svm, ratio": lambda data: fs.gmeb.svm_ratio(data, form="perspective"),
    "sub": lambda data: fs.fsp.sub(data, sigma={"a": 1.0, "b": 0.3}),
    "fsmulti": lambda data: fs.multivariate.fsmulti(data.take(range(6)), budget=2, form="extended"),
}
ANY, MIXED = ["scip", "gurobi", "clarabel", "pounce"], ["scip", "gurobi"]
ABLE = dict.fromkeys(BUILD, MIXED) | {
    "svm": ANY,
    "one-norm-svm": [*ANY, "highs", "glpk", "cbc"],
    "robust-lp": [*ANY, "highs", "glpk", "cbc"],
    "gmeb": ANY,
    "sub": ANY,
    "fsmulti": ANY,
    "svm, norm not squared": ANY,
    "svm, ratio": ANY,
}


class Broken(Exception):
    """Not one of ours."""


@pytest.fixture
def broken(monkeypatch):
    """Every solver fails once it is called."""

    def fails(*_):
        raise Broken("SCIP: error in LP solver!")

    monkeypatch.setattr(Runner, "_run_modern", fails)
    monkeypatch.setattr(Runner, "_run_classic", fails)


@pytest.mark.parametrize(("family", "solver"), [(family, s) for family, able in ABLE.items() for s in able])
def test_a_failure_leaves_the_trivial_point(family, solver, data, broken, need):
    need(solver)
    model = BUILD[family](data)
    result = fs.solve(model, solver)
    assert (result.status, result.stop_reason) == (fs.SolutionStatus.FEASIBLE, fs.StopReason.SOLVER_ERROR)
    assert result.solver == solver
    assert result.message.startswith(
        f"{solver} failed: SCIP: error in LP solver. The returned point is the trivial point of the"
    )
    assert result.objective == pytest.approx(pyo.value(model.objective))
    assert result.details["violation"] <= 1e-9
    assert result.bound is None or result.bound <= result.objective
    assert not np.any(pyo.value(model.w[:]))


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
def test_a_driver_whose_solvers_fail_has_it_too(driver, data, broken, need):
    need("gurobi" if driver == "single-tree" else "highs")
    model = fs.fsp.fsp_m(data, max_features=2)
    model.b.fix(0.2)  # the declarative subproblem
    result = fs.solve(model, driver, oracle="pyomo")
    assert (result.status, result.stop_reason) == (fs.SolutionStatus.FEASIBLE, fs.StopReason.SOLVER_ERROR)
    assert result.solver == driver
    assert pyo.value(model.b) == 0.2
    assert result.objective == pytest.approx(np.maximum(0, 1 - data.y * 0.2).sum())


def test_rows_that_the_trivial_point_breaks_leave_the_error(data, broken, need):
    need("scip")
    model = fs.svm.l2_svm(data)
    model.far = pyo.Constraint(expr=model.w["a"] >= 1)
    with pytest.raises(SolverFailure, match="scip failed: SCIP: error in LP solver"):
        fs.solve(model, "scip")


def test_a_second_solve_that_fails_takes_no_answer_away(data, monkeypatch, need):
    need("scip")
    strict, solve, failed = SOLVERS["scip"].retry_options, Runner.solve, []

    def once(self, model, **words):
        if strict.keys() <= self.options.own.keys():
            failed.append(self.options.own)
            raise SolverFailure("scip failed", "scip")
        return solve(self, model, **words)

    monkeypatch.setattr(Runner, "solve", once)
    model = fs.svm.l2_svm(data)
    model.structure.certificate.bound = lambda model, alpha: 1e-3  # proves next to nothing
    result = fs.solve(model, "scip")
    assert failed
    assert (result.status, result.bound) == (fs.SolutionStatus.FEASIBLE, 1e-3)
    assert result.objective == pytest.approx(fs.solve(fs.svm.l2_svm(data)).objective, rel=1e-4)


def test_what_a_solver_calls_infeasible_is_not_where_the_trivial_point_satisfies_it():
    """Columns of 1e6, w of 0.1: slacks of 1e5, of which Clarabel says that there are none."""
    rng = np.random.default_rng(3)
    X, y = 2e6 * rng.normal(size=(8, 2)), np.array([1.0, -1.0] * 4)
    model = fs.fsp.fsp_lambda(fs.Dataset.from_arrays(X, y), penalty=1e6, C=1e6)
    model.w["x2"].setlb(0.08)
    model.forced = pyo.Constraint(expr=model.sigma["x1"] == 1)
    for solver in (None, "branch-and-cut", "benders"):
        result = fs.solve(model, solver)
        assert result.status in (fs.SolutionStatus.FEASIBLE, fs.SolutionStatus.OPTIMAL), solver
        assert pyo.value(model.w["x2"]) >= 0.08


def test_the_weights_of_a_stopped_solver_are_those_of_its_selection():
    found = fs.select(fs.load_dataset("sonar"), max_features=6, solver="scip", time_limit=1)
    assert found.stop_reason is StopReason.TIME_LIMIT
    best = fs.fsp.value(found.data, found.selected, C=1.0)
    assert found.objective == pytest.approx(best, rel=1e-6)
