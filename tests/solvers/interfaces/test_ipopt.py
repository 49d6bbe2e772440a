"""The names "ipopt" and "cyipopt": their installation, and the real Ipopt, which is installed in CI."""

from dataclasses import replace

import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolverError
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions


@pytest.mark.parametrize("asked", ["ipopt", "cyipopt"])
def test_without_it_the_error_says_how_to_get_it_and_what_is_there(asked, textbook, monkeypatch):
    for name in ("ipopt", "cyipopt"):
        monkeypatch.setitem(SOLVERS, name, replace(SOLVERS[name], version=lambda: None))
    with pytest.raises(SolverError) as error:
        solvers.solve(textbook.qp(), asked)
    how, here = str(error.value).split("Installed: ")
    assert how.startswith(f'Solver "{asked}" is not installed. To get it: ')
    assert "conda install -c conda-forge cyipopt pynumero_libraries" in how
    assert "scripts/install_ipopt.sh" in how
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
