"""A failure is attributed to an option only if the solver names the option and has not run with it before."""

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers.errors import LargeNumbers, LicenceError, OptionError, SolverFailure
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions
from solvers.lp.highs import HighsLP, LpStatus
from solvers.lp.mixed import HighsProgram


def runner(**own):
    return Runner(find("highs"), SolveOptions(own=own))


def test_the_value_of_an_option_in_the_text_is_no_reason():
    assert type(runner(random_seed=1)._explained(RuntimeError("row 1 of 11 failed"))) is SolverFailure
    assert type(runner(random_seed=1)._explained(RuntimeError("my_random_seed2 is odd"))) is SolverFailure
    assert type(runner(random_seed=1)._explained(RuntimeError("random_seed=1 is odd"))) is OptionError


def test_an_option_that_was_accepted_is_no_reason_later():
    used = runner(random_seed=1)
    used._ran = True
    assert type(used._explained(RuntimeError("random_seed=1 is odd"))) is SolverFailure
    assert type(used._explained(KeyError("x"))) is SolverFailure


def test_rows_that_highs_does_not_take_are_an_error():
    words, two = SolveOptions(), np.zeros(2)
    program = HighsProgram(find("highs"), words, two, two, two + 1, np.array([0]))
    with pytest.raises(LargeNumbers, match="no coefficient above 1e15"):
        program.add_rows(np.array([[1e20, 1.0]]), np.array([0.0]), np.array([1.0]))


def test_columns_that_highs_does_not_take_are_an_error():
    lp = HighsLP(np.zeros(1), np.zeros(1), np.ones(1))
    lp.add_rows(np.ones((1, 1)), np.zeros(1), np.ones(1))
    with pytest.raises(LargeNumbers, match="no coefficient above 1e15"):
        lp.add_columns(np.array([[1e20]]), np.zeros(1), np.zeros(1), np.ones(1))
    assert lp.columns == 1


@pytest.mark.parametrize("code", [10009, 10010])
def test_a_missing_licence_is_recognised_by_the_code_of_gurobi(code):
    refusal = RuntimeError("no words about it")
    refusal.errno = code
    assert type(runner()._explained(refusal)) is LicenceError
    assert type(runner()._explained(RuntimeError("the licence was read, then a singular matrix"))) is SolverFailure


def test_an_unbounded_linear_program_is_not_infeasible():
    for presolve in ("on", "off"):
        lp = HighsLP(np.array([-1.0, -1.0]), np.zeros(2), np.full(2, np.inf))
        lp._highs.setOptionValue("presolve", presolve)
        lp.add_rows(np.array([[1.0, -1.0]]), np.array([-1.0]), np.array([1.0]))
        assert lp.solve().status is LpStatus.UNBOUNDED


def test_an_iteration_limit_of_a_solver_inside_is_no_time_limit():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(8), bounds=(0, 5))
    m.rows = pyo.Constraint(range(8), rule=lambda m, i: sum((1 + (i * j) % 5) * m.x[j] for j in range(8)) >= 7 + i)
    m.disc = pyo.Constraint(expr=sum(v**2 for v in m.x.values()) <= 30)
    m.cost = pyo.Objective(expr=sum((1 + j % 3) * v for j, v in m.x.items()))
    result = solvers.solve(m, "cutting-plane", lp_options={"simplex_iteration_limit": 1, "presolve": "off"})
    assert result.stop_reason is solvers.StopReason.ITERATION_LIMIT
    assert "iteration limit in its options" in result.message
