"""The names "ipopt" and "cyipopt": their installation, and the real Ipopt, which is installed in CI."""

import math
from dataclasses import replace

import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolverError
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.result import SolutionStatus, StopReason


@pytest.mark.parametrize("asked", ["ipopt", "cyipopt"])
def test_without_it_the_error_says_how_to_get_it_and_what_is_there(asked, textbook, monkeypatch):
    for name in ("ipopt", "cyipopt"):
        monkeypatch.setitem(SOLVERS, name, replace(SOLVERS[name], version=lambda: None))
    with pytest.raises(SolverError) as error:
        solvers.solve(textbook.qp(), asked)
    how, here = str(error.value).split("Installed: ")
    assert how.startswith(f'Solver "{asked}" is not installed. To get it: ')
    assert "pip install cyipopt-wheels, or conda install -c conda-forge cyipopt" in how
    assert ("an ipopt executable on the PATH" in how) == (asked == "ipopt")
    assert {"highs", "clarabel", "pounce", "scip"} <= {*here.rstrip(".").split(", ")}
    assert "ipopt" not in here


@pytest.mark.solver_with(C.NLP)
def test_the_result_has_the_requested_name(solver, textbook):
    assert solvers.solve(textbook.nlp(), solver).solver == solver


@pytest.mark.parametrize(("sense", "sign"), [(pyo.minimize, 1), (pyo.maximize, -1)], ids=["minimise", "maximise"])
@pytest.mark.solver_with(C.NLP)
def test_multipliers_of_nonlinear_rows_have_pyomos_sign(solver, sense, sign):
    """The derivative of the optimum by the right-hand side; rows of one linear term are in test_registry."""
    if C.QP_DUALS not in SOLVERS[solver].capabilities:
        return
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-9, 9), initialize=1), pyo.Var(bounds=(-9, 9), initialize=1)
    m.most = pyo.Constraint(expr=pyo.exp(m.x) <= 2)  # x = log 2
    m.least = pyo.Constraint(expr=m.y**3 >= 8)  # y = 2
    m.cost = pyo.Objective(expr=sign * (m.y - m.x), sense=sense)
    answer = Runner(find(solver), SolveOptions()).solve(m, duals=[m.most, m.least])
    assert answer.duals[m.most] == pytest.approx(-sign / 2, abs=1e-5)
    assert answer.duals[m.least] == pytest.approx(sign / 12, abs=1e-5)


def test_ipopt_by_name_is_ipopt_itself_and_no_port_of_it(capfd, textbook):
    if not SOLVERS["ipopt"].found:
        pytest.skip(f"ipopt is not installed: {SOLVERS['ipopt'].install}")
    solvers.solve(textbook.nlp(), "ipopt", tee=True)
    shown = capfd.readouterr().out
    assert "This is Ipopt version 3." in shown, shown
    assert "pounce" not in shown.lower()


@pytest.fixture
def cyipopt(need):
    return need("cyipopt")


def curved_model():
    """The optimum is x = log 2, y = 1 / 4 on the bound of y."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(initialize=0.1), pyo.Var(bounds=(0.25, None), initialize=3)
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.most = pyo.Constraint(expr=pyo.exp(m.x) <= m.p)
    m.cost = pyo.Objective(expr=2 * m.y**2 - m.x)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_duals_and_reduced_costs_have_pyomos_sign(sense, cyipopt):
    m = curved_model()
    m.cost.set_value(m.cost.expr * sense)
    m.cost.sense = sense
    results = find(cyipopt).make().solve(m)
    assert results.solution_loader.get_vars()[m.x] == pytest.approx(math.log(2), abs=1e-6)
    assert results.solution_loader.get_duals()[m.most] == pytest.approx(-sense / 2, abs=1e-6)
    assert results.solution_loader.get_reduced_costs([m.y])[m.y] == pytest.approx(sense, abs=1e-6)
    assert results.incumbent_objective == pytest.approx(sense * (0.125 - math.log(2)), abs=1e-6)


def test_parameters_and_fixed_variables_are_read_at_each_solve(cyipopt):
    m = curved_model()
    runner = Runner(find(cyipopt), SolveOptions())
    assert runner.solve(m).status is SolutionStatus.STATIONARY
    m.p, m.y.value = 3.0, 7.0
    m.y.fix()
    runner.solve(m)
    assert (m.x.value, m.y.value) == (pytest.approx(math.log(3), abs=1e-6), 7.0)


def test_multipliers_are_a_start(cyipopt):
    m = curved_model()
    for name in ("ipopt_zL_in", "ipopt_zU_in", "dual"):
        m.add_component(name, pyo.Suffix(direction=pyo.Suffix.IMPORT_EXPORT))
    for name in ("ipopt_zL_out", "ipopt_zU_out"):
        m.add_component(name, pyo.Suffix(direction=pyo.Suffix.IMPORT))
    counted = []
    solver = find(cyipopt).make()
    for options in ({}, {"warm_start_init_point": "yes", "mu_init": 1e-9, "warm_start_bound_push": 1e-9}):
        found = solver.solve(m, solver_options=options)
        found.solution_loader.load_vars()
        m.dual.update(found.solution_loader.get_duals())
        m.ipopt_zL_in.update(m.ipopt_zL_out)
        m.ipopt_zU_in.update(m.ipopt_zU_out)
        counted.append(found.extra_info.iteration_count)
    assert m.ipopt_zL_out[m.y] == pytest.approx(1.0, abs=1e-6)
    assert counted[1] < counted[0] / 2


def test_an_infeasible_model_has_no_point(cyipopt):
    m = curved_model()
    m.least = pyo.Constraint(expr=m.x >= 1)
    result = solvers.solve(m, cyipopt)
    assert result.status is SolutionStatus.NO_SOLUTION
    assert "found no feasible point near its start" in result.message


def test_a_start_without_a_value_is_an_error_of_the_solver(cyipopt):
    m = curved_model()
    m.cost.set_value(m.y - pyo.log(m.x - 5))
    assert solvers.solve(m, cyipopt).stop_reason is StopReason.SOLVER_ERROR


def test_a_model_without_rows_or_bounds(cyipopt):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    m.cost = pyo.Objective(expr=pyo.quicksum((m.x[k] - k) ** 4 + m.x[k] ** 2 for k in range(3)))
    assert solvers.solve(m, cyipopt).status is SolutionStatus.STATIONARY
    assert m.x[0].value == pytest.approx(0, abs=1e-6)


def test_an_operation_that_is_not_smooth_is_rejected_with_its_row(cyipopt):
    m = curved_model()
    m.step = pyo.Constraint(expr=pyo.ceil(m.x) <= 9)
    with pytest.raises(
        solvers.ModelError, match='Row "step" cannot be differentiated: "ceil" is not a smooth function'
    ):
        solvers.solve(m, cyipopt)
