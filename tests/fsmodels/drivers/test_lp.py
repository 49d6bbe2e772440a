"""Branch-and-cut on FSP over every LP solver."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus
from solvers.interfaces.registry import SOLVERS, names
from solvers.lp.pyomo import NEEDED

EVERY = [name for name in names(NEEDED, installed=False) if not SOLVERS[name].local]
OTHERS = [name for name in EVERY if name != "highs"]


@pytest.fixture
def lp_solver(request, need):
    return need(request.param)


@pytest.mark.parametrize("lp_solver", OTHERS, indirect=True)
def test_a_cost_of_zero_in_a_budget_is_as_good_as_none(data, lp_solver):
    budget = fs.fsp.fsp_m(data, max_features=2)
    budget.row = pyo.Constraint(expr=sum(k * budget.sigma[j] for k, j in enumerate(budget.features)) <= 2)
    assert fs.solve(budget, "branch-and-cut").objective == pytest.approx(
        fs.solve(budget, "branch-and-cut", lp_solver=lp_solver).objective, rel=2e-4
    )


@pytest.mark.parametrize("lp_solver", EVERY, indirect=True)
@pytest.mark.parametrize(("rows", "n", "M", "C"), [(40, 6, 2, 1.0), (60, 7, 3, 10.0), (30, 8, 4, 0.1)])
def test_branch_and_cut_selects_features(lp_solver, rows, n, M, C, make_data, enumerated):
    data = make_data(rows, n, seed=rows)
    best = enumerated(data, C=C, max_features=M)
    result = fs.solve(fs.fsp.fsp_m(data, max_features=M, C=C), "branch-and-cut", lp_solver=lp_solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert (result.iterations["Bound"].dropna() <= best * (1 + 1e-6)).all()


@pytest.mark.parametrize("lp_solver", EVERY, indirect=True)
def test_rows_that_exclude_everything_are_proven_infeasible(lp_solver, make_data):
    model = fs.fsp.fsp_m(make_data(20, 4, seed=1), max_features=2)
    model.three = fs.side_constraints.force_in(model, *"abc")
    result = fs.solve(model, "branch-and-cut", lp_solver=lp_solver)
    assert result.status is SolutionStatus.INFEASIBLE
    assert "cardinality" in result.message


@pytest.mark.parametrize("lp_solver", OTHERS, indirect=True)
def test_cutting_planes_reach_the_same_root_bound(lp_solver, make_data):
    data = make_data(60, 8, seed=4)
    bounds = []
    for name in ("highs", lp_solver):
        table = fs.solve(fs.fsp.fsp_m(data, max_features=3), "branch-and-cut", lp_solver=name).iterations
        bounds.append(table.loc[table["Step"] == "root", "Bound"].iloc[-1])
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-3)
