"""Clarabel in both generations of Pyomo's interfaces: the same results in the form of each generation."""

import io
import logging
import pickle
import signal
from typing import NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.common.errors import ApplicationError
from pyomo.contrib.solver.common.base import Availability, LegacySolverWrapper
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError, NoSolutionError
from pyomo.opt import SolverStatus

import solvers.clarabel.interface
from solvers import interrupt
from solvers.clarabel.interface import Clarabel
from solvers.errors import ModelError, OptionError

SAME = {
    TerminationCondition.convergenceCriteriaSatisfied: "optimal",
    TerminationCondition.provenInfeasible: "infeasible",
    TerminationCondition.unbounded: "unbounded",
    TerminationCondition.maxTimeLimit: "maxTimeLimit",
    TerminationCondition.iterationLimit: "maxIterations",
}


class Said(NamedTuple):
    condition: str
    bound: float
    value: float
    message: str
    iterations: int


class Door:
    """One generation: how a solver is made, called and read."""

    def __init__(self, modern):
        self.modern = modern

    def make(self, **options):
        return (
            SolverFactory("clarabel", solver_options=options)
            if self.modern
            else pyo.SolverFactory("clarabel", options=options)
        )

    def call(self, solver, m, *, limit=None, tee=False, load=True, **options):
        if self.modern:
            words = {"raise_exception_on_nonoptimal_result": False, "load_solutions": False, "time_limit": limit}
            results = solver.solve(m, solver_options=options, tee=tee, **words)
            if load and results.solution_loader.get_number_of_solutions():
                results.solution_loader.load_solution()
            return results
        return solver.solve(m, options=options, tee=tee, timelimit=limit, load_solutions=load)

    def read(self, results):
        if self.modern:
            value, extra = results.incumbent_objective, results.extra_info
            value = np.nan if value is None else value
            return Said(
                SAME[results.termination_condition],
                results.objective_bound,
                value,
                extra.solver_message,
                extra.iteration_count,
            )
        problem, solver = results.problem, results.solver
        ends = [problem.lower_bound, problem.upper_bound]
        bound, value = ends if problem.sense == pyo.minimize else ends[::-1]
        value = value if np.isfinite(value) else np.nan
        return Said(str(solver.termination_condition), bound, value, solver.message, solver.iterations)

    def said(self, m, solver=None, **words):
        return self.read(self.call(solver or self.make(), m, **words))


@pytest.fixture(params=[True, False], ids=["second generation", "first generation"])
def door(request):
    return Door(request.param)


def small(rows=(), sense=pyo.minimize):
    """min 3 x + 1 over 2 x >= 4: value 7, multiplier 3/2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(1, None))
    m.y = pyo.Var(bounds=(0, 5))
    m.row = pyo.Constraint(expr=2 * m.x >= 4)
    sign = 1 if sense == pyo.minimize else -1
    m.cost = pyo.Objective(expr=sign * (3 * m.x + m.y + 1), sense=sense)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return m


def longer():
    """A quadratic program of more than three iterations."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 4))
    m = pyo.ConcreteModel()
    m.x, m.s = pyo.Var(range(4)), pyo.Var(range(40), bounds=(0, None))
    m.rows = pyo.Constraint(range(40), rule=lambda m, i: sum(A[i, j] * m.x[j] for j in range(4)) + m.s[i] >= 1)
    m.cost = pyo.Objective(expr=sum(x**2 for x in m.x.values()) + sum(m.s.values()))
    return m


def clashing():
    m = small()
    m.x.fix(3)
    m.clash = pyo.Constraint(expr=m.x**2 + 1 <= 2)
    return m


# ------------------------------------------------------------------------------------------------------ by its name


def test_each_factory_makes_its_own():
    old, new = pyo.SolverFactory("clarabel"), SolverFactory("clarabel")
    assert type(new) is Clarabel
    assert isinstance(old, Clarabel)
    assert isinstance(old, LegacySolverWrapper)
    assert new.name == old.name == "clarabel"
    assert old.available() is True
    assert new.available() is Availability.FullLicense
    assert len(new.version()) == 3


def test_without_the_package_both_say_so(door, monkeypatch):
    solver = door.make()
    monkeypatch.setattr(solvers.clarabel.interface, "clarabel", None)
    assert not (solver.available() if door.modern else solver.available(exception_flag=False))
    with pytest.raises(ApplicationError, match="pip install clarabel"):
        door.call(solver, small())


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_value_bound_point_and_multipliers(door, sense):
    m, sign = small(sense=sense), 1 if sense == pyo.minimize else -1
    with door.make() as solver:
        said = door.said(m, solver)
    assert said.condition == "optimal"
    assert said.value == pytest.approx(sign * 7, abs=1e-6)
    assert sign * said.bound <= sign * said.value
    assert said.bound == pytest.approx(sign * 7, abs=1e-6)
    assert said.iterations > 0
    assert m.x.value == pytest.approx(2, abs=1e-6)
    assert not m.x.stale
    assert m.dual[m.row] == pytest.approx(sign * 1.5, abs=1e-6)
    assert m.rc[m.y] == pytest.approx(sign, abs=1e-6)


def test_first_generation_results_are_complete():
    m = small()
    results = pyo.SolverFactory("clarabel").solve(m)
    pyo.assert_optimal_termination(results)
    assert results.solver.status == SolverStatus.ok
    assert 0 <= results.solver.solve_time <= results.solver.wallclock_time
    found = results.problem
    assert (found.number_of_constraints, found.number_of_variables, found.number_of_objectives) == (1, 2, 1)
    pickle.loads(pickle.dumps(results))


def test_second_generation_results_are_complete():
    m = small()
    results = SolverFactory("clarabel").solve(m)
    assert results.solution_status is SolutionStatus.optimal
    assert (results.solver_name, len(results.solver_version)) == ("clarabel", 3)
    times = results.timing_info
    assert 0 <= times.clarabel_time <= times.wall_time
    assert "optimize" in str(times.timer)


# ------------------------------------------------------------------------------------------------- loaded another time


def test_first_generation_results_can_be_loaded_later():
    m = small()
    results = pyo.SolverFactory("clarabel").solve(m, load_solutions=False)
    assert m.x.value is None
    assert len(results.solution) == 1
    m.solutions.load_from(results)
    assert m.x.value == pytest.approx(2)
    assert m.dual[m.row] == pytest.approx(1.5)
    assert m.rc[m.y] == pytest.approx(1)
    assert m.rc[m.x] == pytest.approx(0, abs=1e-6)


def test_second_generation_results_outlive_the_next_solve():
    m, solver = small(), SolverFactory("clarabel")
    first = solver.solve(m, load_solutions=False)
    assert m.x.value is None
    m.row.set_value(2 * m.x >= 8)
    second = solver.solve(m)
    assert m.x.value == pytest.approx(4)
    assert solver.compilations == 1
    loader = first.solution_loader
    loader.load_solution()
    assert m.x.value == pytest.approx(2)
    assert m.dual[m.row] == pytest.approx(1.5)
    assert loader.get_number_of_solutions() == len(loader.get_solution_ids()) == 1
    assert second.solution_loader.get_vars()[m.x] == pytest.approx(4)


def test_a_loader_gives_what_is_named_and_is_there():
    m = small()
    m.z = pyo.Var()
    loader = SolverFactory("clarabel").solve(m).solution_loader
    assert list(loader.get_vars([m.y, m.z])) == [m.y]
    assert dict(loader.get_duals([m.row])) == {m.row: pytest.approx(1.5)}
    assert list(loader.get_reduced_costs([m.y])) == [m.y]
    m.x.value = m.y.value = 9
    loader.load_vars([m.x])
    assert (m.x.value, m.y.value) == (pytest.approx(2), 9)


def test_a_view_of_a_models_parts_is_loaded_too(door):
    m, view = small(), pyo.ConcreteModel()
    view.row, view.x, view.cost = pyo.Reference(m.row), pyo.Reference(m.x), pyo.Objective(expr=m.cost.expr)
    view.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    results = door.call(door.make(), view, load=False)
    if door.modern:
        results.solution_loader.load_solution()
    else:
        view.solutions.load_from(results)
    assert m.x.value == pytest.approx(2)
    assert view.dual[m.row] == pytest.approx(1.5)


# ------------------------------------------------------------------------------------------------------------ its log


def test_tee_shows_the_log_and_nothing_else_prints(door, capfd):
    door.said(small())
    assert capfd.readouterr().out == ""
    door.said(small(), tee=True)
    assert "Clarabel" in capfd.readouterr().out


def test_a_stream_gets_the_log_instead_of_the_screen(door, capfd):
    m, solver, log = small(), door.make(), io.StringIO()
    door.said(m, solver, tee=log)
    assert log.getvalue().count("Clarabel.rs") == 1
    m.row.set_value(2 * m.x >= 8)
    door.said(m, solver)
    assert log.getvalue().count("Clarabel.rs") == 1
    m.row.set_value(2 * m.x >= 6)
    door.said(m, solver, tee=log)
    assert solver.updates == 2
    assert log.getvalue().count("Clarabel.rs") == 2
    assert capfd.readouterr().out == ""


# ------------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tol_fes": 1e-6}, 'Did you mean "tol_feas"'),
        ({"max_iter": "many"}, "whole number"),
        ({"time_limit": -1}, "of at least 0"),
        ({"presolve_enable": True}, "no option"),
    ],
)
def test_options_are_checked(door, options, says):
    with pytest.raises(OptionError, match=says):
        door.said(small(), **options)
    with pytest.raises(OptionError, match=says):
        door.said(small(), door.make(**options))


def test_options_as_keywords_and_both_names_of_them_in_the_first_generation():
    solver, m = pyo.SolverFactory("clarabel", max_iter=2), longer()
    assert solver.solve(m).solver.termination_condition == "maxIterations"
    for words in ({"max_iter": 50}, {"solver_options": {"max_iter": 50}}, {"options": {"max_iter": 50}}):
        assert solver.solve(m, **words).solver.termination_condition == "optimal"
    with pytest.raises(OptionError, match='"tol_feas"'):
        solver.solve(m, tol_fes=1e-8)
    with pytest.raises(OptionError, match="time_limit=-1 "):
        solver.solve(m, timelimit=-1)
    solver.options["max_iter"] = 50
    assert solver.solve(m).solver.termination_condition == "optimal"


def test_an_option_or_a_limit_of_one_solve_is_gone_in_the_next(door):
    m, solver = longer(), door.make(threads=1)
    assert door.said(m, solver, iteration_limit=2).condition == "maxIterations"
    assert door.said(m, solver, limit=0).condition == "maxTimeLimit"
    assert door.said(m, solver).condition == "optimal"
    kept = solver.config.solver_options.value()
    assert (kept, solver.config.time_limit) == ({"threads": 1}, None)


def test_an_option_of_the_object_holds_in_every_solve(door):
    m, solver = longer(), door.make(iteration_limit=2)
    for _ in range(2):
        assert door.said(m, solver, threads=1).condition == "maxIterations"
    assert door.said(m, solver, iteration_limit=50).condition == "optimal"


def test_options_of_the_second_generation_are_accepted():
    m, solver = longer(), SolverFactory("clarabel", time_limit=0)
    free = {"raise_exception_on_nonoptimal_result": False, "load_solutions": False}
    assert solver.solve(m, **free).termination_condition is TerminationCondition.maxTimeLimit
    assert solver.solve(m, time_limit=60, threads=1).solution_status is SolutionStatus.optimal
    with pytest.raises(ValueError, match="tim_limit"):
        solver.solve(m, tim_limit=60)


@pytest.mark.parametrize(
    ("name", "value"), [("threads", 1), ("equilibrate_enable", False), ("direct_solve_method", "qdldl")]
)
def test_settings_fixed_for_a_solvers_life_may_differ_from_solve_to_solve(door, name, value):
    m, solver = longer(), door.make()
    assert door.said(m, solver).condition == "optimal"
    for options in ({name: value}, {}, {"tol_feas": 1e-9}):
        assert door.said(m, solver, **options).condition == "optimal"


# ---------------------------------------------------------------------------------------------------- without an answer


@pytest.mark.parametrize(
    ("words", "condition"), [({"limit": 0}, "maxTimeLimit"), ({"iteration_limit": 3}, "maxIterations")]
)
def test_stopped_early_there_is_neither_a_bound_nor_a_point(door, words, condition, caplog):
    m = longer()
    with caplog.at_level(logging.WARNING):
        said = door.said(m, **words)
    assert said.condition == condition
    assert said.bound == -np.inf
    assert np.isnan(said.value)
    assert m.x[0].value is None
    assert door.modern or "No solution was loaded" in caplog.text


def test_infeasible_and_unbounded_by_both(door):
    m = small()
    m.no = pyo.Constraint(expr=m.x + m.y <= 1)
    assert door.said(m).condition == "infeasible"
    m.no.deactivate()
    m.cost.sense = pyo.maximize
    said = door.said(m)
    assert (said.condition, said.bound) == ("unbounded", np.inf)
    assert m.x.value is None


def test_a_row_false_at_the_fixed_values_is_named(door):
    said = door.said(clashing())
    assert said.condition == "infeasible"
    assert 'Constraint "clash"' in said.message


def test_without_an_optimum_the_second_generation_raises_with_the_reason():
    solver = SolverFactory("clarabel")
    with pytest.raises(NoOptimalSolutionError, match='"clash" is violated by all values'):
        solver.solve(clashing())
    with pytest.raises(NoFeasibleSolutionError, match='"clash" is violated by all values'):
        solver.solve(clashing(), raise_exception_on_nonoptimal_result=False)
    free = {"raise_exception_on_nonoptimal_result": False, "load_solutions": False}
    results = solver.solve(clashing(), **free)
    assert results.solution_status is SolutionStatus.noSolution
    assert results.solution_loader.get_solution_ids() == []
    for ask in ("load_solution", "get_vars", "get_duals", "get_reduced_costs"):
        with pytest.raises(NoSolutionError, match="PrimalInfeasible"):
            getattr(results.solution_loader, ask)()


def test_the_first_generation_raises_only_on_request():
    solver = pyo.SolverFactory("clarabel")
    assert solver.solve(clashing()).solver.status == SolverStatus.warning
    with pytest.raises(NoOptimalSolutionError):
        solver.solve(clashing(), raise_exception_on_nonoptimal_result=True)
    assert not len(solver.solve(clashing(), load_solutions=False).solution)


def test_a_model_may_be_handed_over_once(door):
    solver = door.make()
    with pytest.raises(ModelError, match="no model"):
        solver.solve()
    m = small()
    solver.set_instance(m)
    solver.solve()
    assert m.x.value == pytest.approx(2)
    assert solver.compilations == 1


def test_ctrl_c_is_noticed_and_passed_on(door):
    before, solver = signal.getsignal(signal.SIGINT), door.make()
    with interrupt.run():
        signal.raise_signal(signal.SIGINT)  # before Clarabel begins: it hears of it all the same
        with pytest.raises(KeyboardInterrupt):
            door.call(solver, longer())
    assert signal.getsignal(signal.SIGINT) is before
    assert door.said(longer(), solver).condition == "optimal"
