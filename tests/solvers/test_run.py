"""``solvers.solve`` on whole models: statuses, limits, Ctrl-C, classes of models, and other solvers of Pyomo."""

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2
from pyomo.contrib.solver.common.results import Results, TerminationCondition
from pyomo.contrib.solver.common.results import SolutionStatus as Claimed
from pyomo.contrib.solver.common.solution_loader import SolutionLoader
from pyomo.core.expr.numeric_expr import LinearExpression

import solvers
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.clarabel.interface import Clarabel, LegacyClarabel
from solvers.interfaces.registry import SOLVERS, recognise, unlisted
from solvers.interfaces.registry import Capability as C
from solvers.interfaces.runner import Runner, SolveOptions

# ------------------------------------------------------------------------------------------- what a solver may claim


class Loader(SolutionLoader):
    def __init__(self, values):
        self.values = values

    def get_number_of_solutions(self):
        return 1

    def load_vars(self, vars_to_load=None):
        for v, x in self.values:
            v.set_value(x, skip_validation=True)


class Fake(SolverBase):
    """Says what it is told to say, and sets what it is told to set."""

    def __init__(self, x=None, bound=None, condition=TerminationCondition.convergenceCriteriaSatisfied, error=None):
        super().__init__(name="fake")
        self.x, self.bound, self.condition, self.error, self.calls = x, bound, condition, error, 0

    def available(self):
        return True

    def solve(self, model, **words):
        self.calls += 1
        if self.error is not None:
            raise self.error
        answer = Results()
        answer.termination_condition = self.condition
        answer.solution_status = Claimed.noSolution if self.x is None else Claimed.optimal
        answer.objective_bound = self.bound
        answer.solution_loader = Loader([] if self.x is None else [(model.x, self.x)])
        return answer


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    """Add the fake solver to the table, so that its claims count."""
    spec = replace(unlisted("fake", Fake(None, None)), untrusted="", in_table=True, interface=f"{__name__}.Fake")
    monkeypatch.setitem(SOLVERS, "fake", replace(spec, version=lambda: None))


def test_a_feasible_point_with_its_bound_is_optimal(line):
    result = solvers.solve(line, Fake(2.0, 2.0))
    assert (result.status, result.objective, result.bound, result.gap) == (SolutionStatus.OPTIMAL, 2, 2, 0)
    assert result.solver == "fake"


def test_a_point_that_misses_a_row_is_never_optimal(line):
    result = solvers.solve(line, Fake(2 - 1e-5, 2 - 1e-5))
    assert result.status is SolutionStatus.FEASIBLE
    assert "violates the rows by 5.0e-06, so it is not reported as optimal" in result.message


def test_a_point_that_misses_a_bound_or_an_integer_is_never_optimal(line):
    line.row.deactivate()
    assert solvers.solve(line, Fake(-1e-5, -1e-5)).status is SolutionStatus.FEASIBLE
    line.x.domain = pyo.Integers
    assert solvers.solve(line, Fake(2.3, 2.3)).status is SolutionStatus.NO_SOLUTION


def test_a_point_with_a_large_violation_is_not_kept(line):
    result = solvers.solve(line, Fake(1.0, 1.0))
    assert (result.status, result.objective, result.bound) == (SolutionStatus.NO_SOLUTION, None, None)
    assert "violates the rows by 5.0e-01 and is not kept" in result.message
    assert line.x.value == 4  # as it was


@pytest.mark.parametrize("bound", [None, float("-inf"), -1e20, 1.0])
def test_optimal_without_a_bound_that_proves_it_is_only_feasible(line, bound):
    result = solvers.solve(line, Fake(2.0, bound))
    assert (result.status, result.objective) == (SolutionStatus.FEASIBLE, 2)
    assert result.bound == (1.0 if bound == 1.0 else None)
    assert "fake reports optimal" in result.message


def test_what_a_local_solver_calls_optimal_and_bounded_is_neither(line):
    spec = replace(recognise(Fake(2.0, 2.0)), local=True)
    answer = Runner(spec, SolveOptions()).solve(line)
    assert (answer.status, answer.bound, answer.has_point) == (SolutionStatus.STATIONARY, None, True)


def test_a_limit_with_a_closed_gap_is_optimal(line):
    result = solvers.solve(line, Fake(2.0, 2 - 1e-6, TerminationCondition.iterationLimit))
    assert (result.status, result.stop_reason) == (SolutionStatus.OPTIMAL, StopReason.ITERATION_LIMIT)


def test_integers_come_back_as_integers(line):
    line.x.domain = pyo.Integers
    assert solvers.solve(line, Fake(2 + 4e-6, 2.0)).status is SolutionStatus.OPTIMAL
    assert line.x.value == 2


def test_what_a_solver_raises_is_one_kind_of_error_with_its_words(line):
    with pytest.raises(SolverError, match="fake failed: licence expired"):
        solvers.solve(line, Fake(error=RuntimeError("licence expired")))
    assert line.x.value == 4


@pytest.mark.parametrize(
    ("condition", "stop"),
    [
        (TerminationCondition.error, StopReason.SOLVER_ERROR),
        (TerminationCondition.unknown, StopReason.SOLVER_ERROR),
        (TerminationCondition.iterationLimit, StopReason.ITERATION_LIMIT),
        (TerminationCondition.interrupted, StopReason.INTERRUPTED),
    ],
)
def test_a_stop_without_a_point_raises_nothing(line, condition, stop):
    result = solvers.solve(line, Fake(condition=condition))
    assert (result.status, result.stop_reason, result.objective) == (SolutionStatus.NO_SOLUTION, stop, None)
    assert result.message.startswith("fake ")
    assert line.x.value == 4


def test_a_keyboard_interrupt_inside_a_solver_ends_in_a_result(line):
    result = solvers.solve(line, Fake(error=KeyboardInterrupt()))
    assert (result.status, result.stop_reason) == (SolutionStatus.NO_SOLUTION, StopReason.INTERRUPTED)


# --------------------------------------------------------------------------------------------------------- limits


@pytest.mark.solver_with(C.MILP)
def test_a_time_limit_before_the_first_point(solver, textbook):
    model = textbook.market_split()
    result = solvers.solve(model, solver, time_limit=0.5, threads=1)
    assert (result.stop_reason, result.status) == (StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION), result
    assert (result.objective, result.gap) == (None, None)
    assert result.bound is None or result.bound <= 0
    assert all(v.value is None for v in model.x.values())
    assert "stopped at the time limit, without a point" in result.message


@pytest.mark.solver_with(C.LP)
def test_a_time_limit_of_nothing(solver, textbook):
    result = solvers.solve(textbook.lp(), solver, time_limit=0)
    assert (result.stop_reason, result.status) == (StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": -1}, r"time_limit=-1 is not allowed"),
        ({"gap": "small"}, r"gap='small' is not allowed"),
        ({"threads": 0}, r"threads=0 is not allowed"),
    ],
)
def test_limits_that_mean_nothing_are_refused(options, message, textbook):
    with pytest.raises(OptionError, match=message):
        solvers.solve(textbook.lp(), "highs", **options)


INTERRUPTED = """
    import importlib.util, os, signal, sys, threading, time
    spec = importlib.util.spec_from_file_location("models", sys.argv[1])
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    import solvers
    from solvers.interfaces.runner import Runner

    def press():
        begun = time.process_time()
        time.sleep(1.0)
        while sys.argv[2] in ("highs", "scip", "gurobi") and time.process_time() - begun < 1.0:  # on a busy machine
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    def running(self, *arguments, inside=Runner._attempt):
        threading.Thread(target=press).start()
        return inside(self, *arguments)

    Runner._attempt = running
    model = models.market_split(exact=False)
    before = signal.getsignal(signal.SIGINT)
    result = solvers.solve(model, sys.argv[2], time_limit=600, threads=1)
    assert result.seconds < 600, "it ran to its limit"
    assert signal.getsignal(signal.SIGINT) is before
    print(result.stop_reason, result.status, result.objective is not None)
"""


@pytest.fixture(scope="module")
def interrupted():
    """Every MILP solver in a process of its own that gets Ctrl-C while it solves; what each printed."""
    models = str(Path(__file__).parent / "conftest.py")
    program = textwrap.dedent(INTERRUPTED)
    able = [s.name for s in SOLVERS.values() if C.MILP in s.capabilities and s.found]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    children = {n: subprocess.Popen([sys.executable, "-c", program, models, n], **pipes) for n in able}
    return {name: child.communicate(timeout=500) for name, child in children.items()}


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.solver_with(C.MILP)
def test_ctrl_c_returns_the_incumbent(solver, interrupted):
    out, err = interrupted[solver]
    assert out.strip(), err
    stop, status, point = out.strip().splitlines()[-1].split()
    assert stop == "interrupted"
    assert (status, point) in (("feasible", "True"), ("no_solution", "False"))
    if solver in ("highs", "scip", "gurobi"):  # in this process: the incumbent is at hand
        assert (status, point) == ("feasible", "True")


def test_a_solve_leaves_the_users_handler_of_ctrl_c(textbook):
    def mine(*_):
        pass

    before = signal.signal(signal.SIGINT, mine)
    try:
        for solver in ("highs", "scip", "clarabel"):
            solvers.solve(textbook.lp(), solver)
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


# ------------------------------------------------------------------------------------------------ models as they come


@pytest.mark.solver_with(C.LP)
def test_a_model_without_variables(solver):
    model = pyo.ConcreteModel()
    model.cost = pyo.Objective(expr=3.0)
    result = solvers.solve(model, solver)
    assert (result.status, result.objective, result.bound) == (SolutionStatus.OPTIMAL, 3, 3)


@pytest.mark.solver_with(C.LP)
def test_a_model_whose_variables_are_all_fixed(solver, line):
    line.x.fix(3)
    assert solvers.solve(line, solver).objective == 3
    line.x.fix(1)
    assert solvers.solve(line, solver).status is SolutionStatus.INFEASIBLE


@pytest.mark.solver_with(C.LP)
def test_a_constant_objective(solver, line):
    line.cost.set_value(7.0)
    result = solvers.solve(line, solver)
    assert result.objective == 7
    assert line.x.value >= 2 - 1e-6


@pytest.mark.solver_with(C.LP)
def test_what_is_deactivated_does_not_count(solver, line):
    line.extra = pyo.Block()
    line.extra.z = pyo.Var(bounds=(0, 1), domain=pyo.Binary, initialize=0.5)
    line.extra.row = pyo.Constraint(expr=line.extra.z + line.x >= 4)
    line.extra.deactivate()
    line.spare = pyo.Var(domain=pyo.Integers, bounds=(0, 1), initialize=8)
    result = solvers.solve(line, solver)
    assert result.status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)
    assert result.objective == pytest.approx(2, abs=1e-6)
    assert (line.extra.z.value, line.spare.value) == (0.5, 8)
    assert line.spare.domain is pyo.Integers


@pytest.mark.solver_with(C.LP)
def test_a_fixed_integer_is_a_constant(solver, line):
    line.z = pyo.Var(domain=pyo.Binary)
    line.z.fix(0.5)
    line.both = pyo.Constraint(expr=line.x + line.z >= 3)
    result = solvers.solve(line, solver)
    assert result.objective == pytest.approx(2.5, abs=1e-6)
    assert result.status in (SolutionStatus.OPTIMAL, SolutionStatus.STATIONARY)


@pytest.mark.solver_with(C.LP)
def test_a_variable_whose_coefficients_are_all_zero(solver, line):
    line.idle = pyo.Var(bounds=(3, 4))
    line.zero = pyo.Constraint(expr=LinearExpression(linear_coefs=[1.0, 0.0], linear_vars=[line.x, line.idle]) <= 4)
    line.cost.set_value(line.x + 0.0 * line.idle)
    result = solvers.solve(line, solver)
    assert result.objective == pytest.approx(2, abs=1e-6)
    assert 3 - 1e-6 <= line.idle.value <= 4 + 1e-6
    line.idle.set_value(9, skip_validation=True)
    assert solvers.solve(line, solver).objective == pytest.approx(2, abs=1e-6)
    assert 3 - 1e-6 <= line.idle.value <= 4 + 1e-6


@pytest.mark.solver_with(C.LP)
def test_contradicting_equalities_are_infeasible_or_not_proven(solver):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-9, 9)), pyo.Var(bounds=(-9, 9))
    model.a = pyo.Constraint(expr=model.x == 1)
    model.b = pyo.Constraint(expr=model.y == model.x + 1)
    model.c = pyo.Constraint(expr=model.y == 7)
    model.cost = pyo.Objective(expr=model.x)
    result = solvers.solve(model, solver)
    allowed = {SolutionStatus.INFEASIBLE, SolutionStatus.NO_SOLUTION} if SOLVERS[solver].local else {"infeasible"}
    assert result.status in allowed
    assert result.objective is None


def test_a_model_needs_one_objective(line):
    line.other = pyo.Objective(expr=-line.x)
    with pytest.raises(ModelError, match="exactly one active objective, found: cost, other"):
        solvers.solve(line, "highs")


def test_tee_shows_the_solvers_log(capfd, textbook):
    solvers.solve(textbook.milp(), "highs", tee=True)
    assert "HiGHS" in capfd.readouterr().out
    solvers.solve(textbook.milp(), "highs")
    assert capfd.readouterr().out == ""


@pytest.mark.solver_with(C.MILP)
def test_a_second_solve_after_an_edit_sees_the_edit(solver, textbook):
    model = textbook.milp()
    assert solvers.solve(model, solver).objective == pytest.approx(21)
    model.cap = pyo.Constraint(expr=model.x <= 2)
    result = solvers.solve(model, solver)
    status = SolutionStatus.FEASIBLE if SOLVERS[solver].untrusted else SolutionStatus.OPTIMAL
    assert (result.status, result.objective) == (status, pytest.approx(19))
    model.cap.deactivate()
    assert solvers.solve(model, solver).objective == pytest.approx(21)


def test_gurobi_without_a_licence_names_alternatives():
    if not SOLVERS["gurobi"].found:
        pytest.skip("gurobi is not installed")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2100), bounds=(0, 1))
    model.sum = pyo.Objective(expr=sum(model.x.values()))
    model.row = pyo.Constraint(expr=sum(model.x.values()) >= 1)
    if SolverFactoryV2("gurobi_persistent").available() is Availability.FullLicense:
        pytest.skip("gurobi has a licence here")
    with pytest.raises(SolverError, match="accepts at most 2000 rows and columns: use scip"):
        solvers.solve(model, "gurobi")


# ---------------------------------------------------------------------------------------------- solvers of Pyomo's own


def test_any_other_name_goes_to_pyomo_untouched(textbook, monkeypatch):
    asked, real = [], pyo.SolverFactory.__class__.__call__

    def call(self, name=None, **words):
        asked.append((name, words))
        return real(self, name, **words)

    monkeypatch.setattr(pyo.SolverFactory.__class__, "__call__", call)
    result = solvers.solve(textbook.milp(), "appsi_highs")
    assert {name for name, words in asked if not words} == {"appsi_highs"}
    assert (result.solver, result.status) == ("appsi_highs", SolutionStatus.OPTIMAL)
    assert (result.objective, result.bound) == (pytest.approx(21), pytest.approx(21))


def test_a_model_that_appsi_highs_cannot_solve_is_an_error(textbook):
    with pytest.raises(SolverError, match=r'"appsi_highs" cannot solve this model, which needs NLP.*pounce'):
        solvers.solve(textbook.nlp(), "appsi_highs")
    with pytest.raises(ModelError, match="appsi_highs does not support SOS constraints"):
        solvers.solve(textbook.sos(), "appsi_highs")


@pytest.mark.parametrize("make", [lambda: pyo.SolverFactory("appsi_highs"), lambda: pyo.SolverFactory("highs")])
def test_a_solver_object_of_the_first_generation(make, textbook):
    solver = make()
    assert solvers.solve(textbook.milp(), solver).objective == pytest.approx(21)
    assert solvers.solve(textbook.lp(), solver, time_limit=600).objective == pytest.approx(11)


def test_a_solver_object_of_the_second_generation(textbook):
    solver = SolverFactoryV2("highs")
    result = solvers.solve(textbook.milp(), solver)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(21))
    assert solvers.solve(textbook.lp(), solver, time_limit=600, threads=1).objective == pytest.approx(11)


@pytest.mark.parametrize("make", [Clarabel, LegacyClarabel])
def test_clarabel_as_an_object_of_either_generation(make, textbook):
    solver = make()
    words = {"time_limit": 30, "threads": 1, "iteration_limit": 100}
    assert solvers.solve(textbook.lp(), solver, **words).objective == pytest.approx(11)
    assert solvers.solve(textbook.qp(), solver, **words).status is SolutionStatus.OPTIMAL
    assert solvers.solve(textbook.qp(), solver, iteration_limit=1).stop_reason is StopReason.ITERATION_LIMIT
    with pytest.raises(OptionError, match="tol_feas"):
        solvers.solve(textbook.qp(), solver, tol_fes=1e-9)
    assert solver.config.solver_options.value() == {}


def test_common_options_are_passed_on(textbook):
    words = {"seed": 1, "threads": 1, "gap": 0.5, "time_limit": 20}
    assert solvers.solve(textbook.milp(), "appsi_highs", **words).gap <= 0.5
    assert solvers.solve(textbook.milp(), "scip_direct", seed=1).objective == pytest.approx(21)
