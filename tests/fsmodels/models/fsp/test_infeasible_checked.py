"""Models whose optimum is far away or that have none are not reported as infeasible."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.errors import SolverError
from solvers import SolutionStatus
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.interfaces import runner

FAR = [
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
    [-1.89216448e-06, -6.79128505e-07, 1.08845201e-06],
    [-2.78395884e-07, 1.11979540e-06, -6.19418485e-07],
    [-1.32336969e-06, 7.07116689e-07, -1.22472130e-06],
    [7.66495653e-07, -7.48662144e-07, 3.57950071e-07],
]


def test_a_feasible_model_with_an_optimum_of_1e13_is_not_infeasible():
    data = fs.Dataset.from_arrays(np.array(FAR), [1, -1, 1, -1, -1])
    m = fs.fsp.fsp_lambda(data, C=1e6, penalty=1e5, form="perspective")
    m.no_slack = pyo.Constraint(expr=m.xi[0] + m.xi[1] + m.xi[2] <= 0)
    m.row_b = pyo.Constraint(expr=m.b <= -0.28998086844908244)
    m.objective.set_value(m.objective.expr - 8e-3 * m.w["x2"] + 1e-3 * m.w["x3"])
    with pytest.raises(SolverError, match="slacks in the rows"):
        fs.solve(m, "branch-and-cut")


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
def test_an_objective_without_end_is_not_infeasible(seed, solver, need):
    need(solver)
    result = fs.solve(soak_model(seed), solver)
    assert result.status is SolutionStatus.UNBOUNDED
    assert result.bound is None


@pytest.mark.parametrize("seconds", [0.05, 0.2])
def test_an_elastic_program_that_ends_at_its_limit_confirms_nothing(seconds, need, monkeypatch):
    need("scip")
    monkeypatch.setattr(runner, "SECONDS", seconds)  # reported "infeasible": its point at the limit has slacks
    assert fs.solve(soak_model(2468), "scip").status is not SolutionStatus.INFEASIBLE


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


def test_a_false_claim_on_the_elastic_program_confirms_nothing():
    """Seed 65348 of the soak, whose optimum is 2.4e10: every row of the elastic program has slacks."""
    X = [
        [-2.14421384e-06, 9.42086674e-07, 1.03800307e-06],
        [2.61694210e-06, -4.08357003e-07, 1.08045617e-06],
        [2.54389919e-06, -2.55129652e-07, 1.79412493e-07],
        [-4.27730237e-07, -1.10964303e-06, 2.56035126e-06],
    ]
    m = fs.fsp.fsp_m(fs.Dataset.from_arrays(np.array(X), [1, -1, 1, -1]), C=1e-6, max_features=3)
    m.budget_row = pyo.Constraint(expr=2.3 * m.sigma["x1"] + 1.7 * m.sigma["x2"] + m.sigma["x3"] <= 3)
    m.w["x2"].fix(-218373.02183461888)
    m.a = pyo.Var(["x1", "x2", "x3"], bounds=(0, None))
    most = {"x1": 493491.5412721176, "x2": 1355185.4272530642, "x3": 1168045.6418192768}
    m.sizes = pyo.ConstraintList()
    for j, size in most.items():
        m.sizes.add(m.w[j] <= size * m.a[j])
        m.sizes.add(-m.w[j] <= size * m.a[j])
    m.sizes.add(pyo.quicksum(m.a.values()) <= 0.761691458223178)
    try:
        result = fs.solve(m, "benders")
    except SolverError:
        return
    assert result.status is not SolutionStatus.INFEASIBLE


def test_an_objective_near_the_infinity_of_scip_is_no_optimum(need):
    """SCIP reported -9.99999998e19 as the optimum and as a bound of an unbounded model."""
    need("scip")
    X = [[-6.75685007181719e-07, -3.319592765635772e-07, -4.769092766232405e-07, -3.7657840849363227e-07],
         [7.03644581879405e-07, -5.334042614918114e-07, 6.530146879075911e-07, -2.324692806780085e-07],
         [1.2868843710639818e-06, 6.693402420574417e-07, 1.0663340274192785e-07, -1.1679739037419276e-07],
         [-1.2255844861913507e-06, -9.854355477645601e-07, 2.020609735714454e-06, 1.9030075336496903e-06]]  # fmt: skip
    m = fs.svm.l2_svm(fs.Dataset.from_arrays(np.array(X), [1, -1, -1, 1]), C=1e6)
    m.w["x2"].fix(-54846.73343949214)
    m.objective.set_value(m.objective.expr + 1e9 * m.b)
    result = fs.solve(m, "scip", time_limit=20)
    assert result.status is not SolutionStatus.OPTIMAL
    assert result.bound is None


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders"])
def test_rows_on_weights_that_contradict_each_other_are_named(driver):
    """They are no rows of the master, which has the choice of features only."""
    data = fs.Dataset.from_arrays(np.array(FAR), [1, -1, 1, -1, -1])
    m = fs.fsp.fsp_m(data, max_features=2, C=1.0)
    m.low = pyo.Constraint(expr=m.w["x1"] >= 1)
    m.high = pyo.Constraint(expr=m.w["x1"] + m.w["x2"] <= 0)
    m.second = pyo.Constraint(expr=m.w["x2"] >= 0)
    result = fs.solve(m, driver, time_limit=60)
    assert result.status is SolutionStatus.INFEASIBLE
    assert len(result.iterations) <= 2  # not one for each choice
    assert all(name in result.message for name in ("No choice satisfies these together", '"low"', '"high"', '"second"'))


@pytest.mark.parametrize("fails", [False, True])
def test_a_choice_that_is_infeasible_does_not_end_the_run(fails, monkeypatch):
    """Its cut is proven also if the solver fails for the choice of all features, which is tried in addition."""
    evaluate, tried = SwitchedSubproblem.evaluate, []

    def noted(self, point, *arguments, **options):
        tried.append(point.min() > 0.5)
        if fails and tried[-1]:
            raise SolverError("no answer")
        return evaluate(self, point, *arguments, **options)

    monkeypatch.setattr(SwitchedSubproblem, "evaluate", noted)
    data = fs.Dataset.from_arrays(np.array(FAR) * 1e6, [1, -1, 1, -1, -1])
    m = fs.fsp.fsp_m(data, max_features=2, C=1.0)
    m.all = pyo.Constraint(expr=m.w["x1"] + m.w["x2"] >= 1)
    result = fs.solve(m, "benders", oracle="pyomo", time_limit=60)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(fs.solve(m, "branch-and-cut").objective, rel=1e-3)
    assert any(tried)
