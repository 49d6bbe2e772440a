"""A claim of infeasibility by an interior-point method is checked by slacks in the rows."""

import pyomo.environ as pyo
import pytest

from solvers import SolutionStatus
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions


@pytest.mark.parametrize(("side", "status"), [(0.5, SolutionStatus.INFEASIBLE), (1.5, SolutionStatus.OPTIMAL)])
def test_a_quadratic_row_that_no_point_satisfies_stays_infeasible(side, status):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.ball = pyo.Constraint(expr=m.x**2 + m.y**2 <= side)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1.5)
    m.cost = pyo.Objective(expr=m.x)
    assert Runner(find("clarabel"), SolveOptions()).solve(m).status is status


@pytest.mark.parametrize("kind", ["row", "fixed"])
def test_a_cone_that_clashes_stays_infeasible(kind):
    """A cone with a slack is no cone: the linear rows alone have slacks."""
    m = pyo.ConcreteModel()
    m.w, m.d, m.t = pyo.Var(), pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.cone = pyo.Constraint(expr=m.w**2 <= m.d * m.t)
    m.row = pyo.Constraint(expr=m.w + m.d >= (3.0 if kind == "row" else 0.0))
    if kind == "fixed":
        m.w.fix(2.0)
    m.cost = pyo.Objective(expr=m.t)
    assert Runner(find("clarabel"), SolveOptions()).solve(m).status is SolutionStatus.INFEASIBLE


def soak_model(seed):
    """Seeds 1157 and 2468 of the soak: models whose objective falls for ever with b."""
    if seed == 1157:
        X = [[-0.6288477, -0.829923047], [-0.337757627, -1.25744881], [0.123089159, 0.967241351],
             [-1.69131812, -0.70911524], [-1.20495951, 0.993598364], [-0.831180636, 0.230858416],
             [0.465331806, 1.47998376], [0.933259707, -0.772742552], [0.503190534, -1.49750206]]  # fmt: skip
        data = fs.Dataset.from_arrays(1e6 * np.array(X), [1, -1, 1, -1, -1, -1, -1, 1, 1])
        m = fs.fsp.fsp_m(data, C=1.0, max_features=2)
        m.xi[4].setub(0.4)
        m.row = pyo.Constraint(expr=443732.43686017103 * m.w["x1"] == 0.4961968544680111)
        m.objective.set_value(m.objective.expr + 1e3 * m.b)
        return m
    X = [[2.11363885, 0.671561633, 0.597166982], [-0.3673296, -0.400286515, -0.0867016820], [-0.151116986, 1.45002559,
         0.704943673], [-0.355163392, 0.816623498, -0.339456987], [1.4250989, -0.220093823, 1.54452756],
         [1.19382392, 0.398630661, -1.49884569]]  # fmt: skip
    data = fs.Dataset.from_arrays(1e-6 * np.array(X), [1, -1, -1, -1, 1, 1])
    m = fs.fsp.fsp_m(data, C=1e-3, max_features=1)
    m.row = pyo.Constraint(expr=-1.532e-6 * m.w["x1"] + 1.336e-7 * m.w["x2"] <= -2.186)
    m.objective.set_value(m.objective.expr + m.b)
    return m


@pytest.mark.parametrize(("seed", "solver"), [(1157, "gurobi"), (2468, "scip"), (2468, None)])
def test_an_objective_without_end_is_not_infeasible(seed, solver):
    if solver is not None and find(solver).version() is None:
        pytest.skip(f"{solver} is not installed")
    result = fs.solve(soak_model(seed), solver)
    assert result.status is SolutionStatus.UNBOUNDED
    assert result.bound is None


@pytest.mark.parametrize("solver", ["scip", "gurobi"])
@pytest.mark.parametrize("kind", ["integers", "ordered set", "small coefficients"])
def test_a_claim_of_a_search_stands_where_no_point_satisfies_the_rows(solver, kind):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, 3), domain=pyo.Integers)
    if kind == "integers":
        m.ball = pyo.Constraint(expr=m.x**2 + (m.y - 0.5) ** 2 <= 0.2)
    elif kind == "ordered set":
        m.pair = pyo.Reference({1: m.x, 2: m.y})
        m.set = pyo.SOSConstraint(var=m.pair, sos=1)
        m.rows = pyo.ConstraintList()
        m.rows.add(m.x**2 + m.y**2 <= 9), m.rows.add(m.x >= 1), m.rows.add(m.y >= 1)
    else:
        m.row = pyo.Constraint(expr=1e-6 * m.x + 1e-6 * m.y >= 1e-5)
    m.cost = pyo.Objective(expr=m.x + m.y)
    assert Runner(find(solver), SolveOptions()).solve(m, integer=True).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize("C", [1e5, 1e6])
def test_a_dual_in_a_large_box_is_solved(C):
    """Clarabel's certificates hold relative to its iterates, of 1e5 here: a model in a box is not unbounded."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 3)) * 1e6, np.where(rng.random(10) < 0.5, 1, -1)
    y[:2] = 1, -1
    data = fs.Dataset.from_arrays(X, y)
    primal, dual = fs.solve(fs.svm.l2_svm(data, C=C)), fs.solve(fs.svm.l2_svm_dual(data, C=C))
    assert dual.objective == pytest.approx(primal.objective, rel=1e-6)
    assert dual.bound >= primal.objective * (1 - 1e-6)


def test_a_claim_that_is_not_verified_is_one_sentence(monkeypatch):
    monkeypatch.setattr("solvers.whole.solve.verified", lambda *_: (SolutionStatus.NO_SOLUTION, "No ray was found."))
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.cost = pyo.Objective(expr=m.x)
    result = fs.solve(m, "clarabel")
    assert (result.status, result.message) == (SolutionStatus.NO_SOLUTION, "No ray was found.")
