"""Mixed-integer programs of cut loops: HiGHS directly and by Pyomo, other solvers, bounds, limits, starts."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse

import solvers
from solvers import OptionError, SolutionStatus, SolverError, StopReason
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.registry import require_proofs
from solvers.interfaces.runner import SolveOptions
from solvers.lp.mixed import HighsProgram, MixedProgram, PyomoProgram, mixed_solver

INF = np.inf
SOLVERS = ["highs", "scip", "gurobi", "glpk"]


def knapsack(seed, n=8):
    """min c.x + z over x binary, z >= a row of them, one budget; the optimum by enumeration."""
    rng = np.random.default_rng(seed)
    cost = np.append(-rng.integers(1, 20, n).astype(float), 1.0)
    weight, lift = rng.integers(1, 9, n).astype(float), rng.integers(-3, 4, n).astype(float)
    rows = np.array([np.append(weight, 0.0), np.append(-lift, 1.0)])
    lower, upper = np.array([-INF, 0.0]), np.array([weight.sum() / 2, INF])
    worth = []
    for x in itertools.product([0.0, 1.0], repeat=n):
        if weight @ x <= upper[0]:
            worth.append(cost[:n] @ x + max(0.0, lift @ x))
    return cost, rows, lower, upper, min(worth)


def program(solver, cost, rows, lower, upper, unit=1.0, **words):
    spec = require_proofs(solver, C.MILP)
    n = len(cost) - 1
    options, upper_bounds = SolveOptions(own=spec.tight_options, **words), np.append(np.ones(n), INF)
    made = MixedProgram(spec, options, cost, np.zeros(n + 1), upper_bounds, np.arange(n), unit=unit)
    made.add_rows(rows, lower, upper)
    return made


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("unit", [1.0, 64.0])
def test_the_optimum_and_a_bound_below_it(solver, unit, need):
    for seed in range(4):
        cost, rows, lower, upper, optimum = knapsack(seed)
        found = program(need(solver), cost, rows, lower, upper, unit).solve_to(1e-9, None)
        assert found.answer.status is SolutionStatus.OPTIMAL
        assert found.objective == pytest.approx(optimum, rel=1e-7, abs=1e-7)
        assert optimum - 1e-4 <= found.bound <= optimum
        assert np.all(found.point[:-1] == np.round(found.point[:-1]))


def test_rows_come_and_bounds_change():
    cost, rows, lower, upper, _ = knapsack(1)
    for made in (program("highs", cost, rows, lower, upper), program("highs", cost, rows, lower, upper, tee=True)):
        direct = isinstance(made._program, HighsProgram)
        assert direct is not isinstance(made._program, PyomoProgram)
        best = made.solve_to(1e-9, None)
        cut = sparse.csr_array(np.append(np.ones(len(cost) - 1), 0.0)[None])
        made.add_rows(cut, np.array([-INF]), np.array([best.point[:-1].sum() - 1.0]))
        fewer = made.solve_to(1e-9, None, best.point[:-1])  # a start that the new row cuts off
        assert fewer.objective >= best.objective - 1e-9
        assert fewer.point[:-1].sum() <= best.point[:-1].sum() - 1
        made.set_bounds(np.arange(len(cost) - 1), np.zeros(len(cost) - 1), np.zeros(len(cost) - 1))
        assert made.solve_to(1e-9, None).objective == pytest.approx(0.0, abs=1e-9)
        made.add_rows(cut, np.array([1.0]), np.array([INF]))
        nothing = made.solve_to(1e-9, None)
        assert (nothing.answer.status, nothing.point, nothing.bound) == (SolutionStatus.INFEASIBLE, None, None)


def test_a_start_changes_no_answer():
    for seed in range(6):
        cost, rows, lower, upper, optimum = knapsack(seed, 7)
        for start in (None, np.zeros(7), np.ones(7)):
            found = program("highs", cost, rows, lower, upper).solve_to(1e-9, None, start)
            assert found.objective == pytest.approx(optimum, abs=1e-7)
            assert found.bound <= optimum


def test_a_limit_returns_the_incumbent():
    rng = np.random.default_rng(0)
    n, m = 120, 40
    rows = rng.integers(1, 60, (m, n)).astype(float)
    cost = np.append(-rng.integers(20, 60, n).astype(float), 1.0)
    made = program("highs", cost, np.hstack([rows, np.zeros((m, 1))]), np.full(m, -INF), rows.sum(axis=1) / 3)
    found = made.solve_to(0.0, 0.3)
    assert found.answer.stop_reason is StopReason.TIME_LIMIT
    assert found.point is None or found.bound <= found.objective
    assert made.solve_to(0.5, None).answer.stop_reason is StopReason.CONVERGED


def test_solvers_without_trusted_bounds_are_rejected(need):
    assert mixed_solver(None, "highs").name == "highs"
    assert mixed_solver(None, "clarabel").name == "highs"
    assert mixed_solver(None, need("glpk")).name == "glpk"
    with pytest.raises(SolverError, match="cbc"):
        mixed_solver(need("cbc"), "highs")
    spec, one = require_proofs("highs", C.MILP), np.ones(1)
    with pytest.raises(OptionError, match="mip_feasibility_tolerance"):
        HighsProgram(spec, SolveOptions(own={"mip_feasibility_tolerance": -1.0}), one, 0 * one, one, np.arange(1))


@pytest.mark.parametrize("small", [1e-12, 1e-11, 1e-10, 1e-9])
def test_a_coefficient_that_highs_drops_does_not_raise_the_bound(small):
    """z + small x >= 1 and x + y <= 1e-4 / small: x lets z be 0.9999, y = 1e-3 - n."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z, m.n = pyo.Var(), pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(0, None)), pyo.Var(domain=pyo.Binary)
    m.margin = pyo.Constraint(expr=m.z + small * m.x >= 1)
    m.most = pyo.Constraint(expr=m.x + m.y <= 1e-4 / small)
    m.more = pyo.Constraint(expr=m.y >= 1e-3 - m.n)
    m.cost = pyo.Objective(expr=1e3 * m.z + m.y**2 + 0.01 * m.n)
    result = solvers.solve(m, "cutting-plane", time_limit=10)
    assert result.bound is None or result.bound <= 999.9 + 1e-5
