"""Drivers as Pyomo solvers of both generations: results and options."""

import io
import logging
import math
import pickle

import pyomo.environ as pyo
import pytest
from pyomo.common.errors import ApplicationError
from pyomo.contrib.solver.common.base import Availability
from pyomo.contrib.solver.common.factory import SolverFactory as SolverFactoryV2
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.util import NoDualsError, NoFeasibleSolutionError, NoOptimalSolutionError
from pyomo.opt import SolverStatus
from pyomo.opt import TerminationCondition as Legacy

import solvers
from solvers import ModelError, OptionError, StopReason
from solvers.drivers.catalogue import DRIVERS

NAME = "fsmodels.benders"


def plant(sense=pyo.minimize):
    m = pyo.ConcreteModel()
    m.open = pyo.Var(range(3), domain=pyo.Binary, initialize=1)
    m.serve = pyo.Var(range(3), range(3), bounds=(0, None), initialize=0.5)
    m.demand = pyo.Constraint(range(3), rule=lambda m, k: sum(m.serve[j, k] for j in range(3)) == 1)
    m.only = pyo.Constraint(range(3), range(3), rule=lambda m, j, k: m.serve[j, k] <= m.open[j])
    total = 2 * sum(m.open.values()) + sum((1 + abs(j - k)) * m.serve[j, k] for j, k in m.serve)
    m.total = pyo.Objective(expr=total if sense == pyo.minimize else -total, sense=sense)
    return m


OPTIMUM = solvers.solve(plant(), "highs").objective


def split(m):
    return {"complicating": [m.open]}


def bilinear():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 2))
    m.cost = pyo.Objective(expr=m.x * (m.y - 1))
    return m


@pytest.mark.parametrize("name", DRIVERS)
def test_each_driver_is_in_both_factories(name):
    new, old = SolverFactoryV2(f"fsmodels.{name}"), pyo.SolverFactory(f"fsmodels.{name}")
    assert (new.name, old.name) == (f"fsmodels.{name}",) * 2
    assert new.driver is old.driver is DRIVERS[name]
    found = bool(solvers.available().set_index("name").found[name])
    assert bool(new.available()) is old.available(exception_flag=False) is found
    assert isinstance(new.version(), tuple)
    assert new.version() == old.version()
    assert not new.is_persistent()


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_the_second_generation_reports_proofs(sense):
    m = plant(sense)
    results = SolverFactoryV2(NAME).solve(m, solver_options=split(m), rel_gap=1e-5, time_limit=60, threads=1)
    sign = 1 if sense == pyo.minimize else -1
    assert results.termination_condition is TerminationCondition.convergenceCriteriaSatisfied
    assert results.solution_status is SolutionStatus.optimal
    assert results.incumbent_objective == pytest.approx(sign * OPTIMUM)
    assert results.objective_bound == pytest.approx(sign * OPTIMUM, rel=1e-5)
    assert pyo.value(m.total) == pytest.approx(sign * OPTIMUM)
    result = results.extra_info.result
    assert results.extra_info.iteration_count == len(result.iterations) > 0
    assert (result.options["gap"], result.options["time_limit"], result.options["threads"]) == (1e-5, 60, 1)
    assert results.timing_info.wall_time > 0
    assert results.timing_info.start_timestamp.tzinfo is not None
    assert results.solver_name == NAME


def test_values_are_loaded_on_request():
    m = plant()
    results = SolverFactoryV2(NAME).solve(m, load_solutions=False, solver_options=split(m))
    assert [v.value for v in m.open.values()] == [1, 1, 1]
    assert m.serve[0, 0].value == 0.5
    values = results.solution_loader.get_vars()
    assert results.solution_loader.get_vars([m.open[0]])[m.open[0]] == values[m.open[0]]
    results.solution_loader.load_vars()
    assert pyo.value(m.total) == pytest.approx(OPTIMUM)
    with pytest.raises(NoDualsError):
        results.solution_loader.get_duals()


def test_no_stale_multipliers_are_left():
    for factory in (SolverFactoryV2, pyo.SolverFactory):
        m = plant()
        m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        m.dual[m.demand[0]] = 7.0
        factory(NAME).solve(m, solver_options=split(m))
        assert len(m.dual) == 0
        assert pyo.value(m.total) == pytest.approx(OPTIMUM)


def test_a_limit_is_told_with_the_incumbent_and_its_bound():
    m = plant()
    m.extra, m.far = pyo.Var(bounds=(0, None)), pyo.Var(range(3), bounds=(0, None))
    m.curve = pyo.Constraint(range(3), rule=lambda m, j: m.far[j] >= m.serve[j, j] - 0.3 * (j + 1))
    m.total.set_value(m.total.expr + 3 * sum(x**2 for x in m.serve.values()) + sum(m.far.values()))
    found = []
    for limit in range(1, 20):
        words = {"solver_options": {**split(m), "iteration_limit": limit}, "rel_gap": 0.0}
        results = SolverFactoryV2("fsmodels.branch-and-cut").solve(
            m, raise_exception_on_nonoptimal_result=False, load_solutions=False, **words
        )
        stop = results.extra_info.result.stop_reason
        if results.solution_status is not SolutionStatus.feasible or stop is not StopReason.ITERATION_LIMIT:
            continue
        found.append(limit)
        assert results.termination_condition is TerminationCondition.iterationLimit
        assert results.objective_bound < results.incumbent_objective
        results.solution_loader.load_vars()
        assert pyo.value(m.total) == pytest.approx(results.incumbent_objective)
        with pytest.raises(NoOptimalSolutionError, match="iteration_limit"):
            SolverFactoryV2("fsmodels.branch-and-cut").solve(m, **words)
    assert found
    m = plant()
    late = SolverFactoryV2(NAME).solve(
        m, raise_exception_on_nonoptimal_result=False, load_solutions=False, time_limit=0, solver_options=split(m)
    )
    assert late.termination_condition is TerminationCondition.maxTimeLimit
    assert (late.solution_status, late.incumbent_objective) == (SolutionStatus.noSolution, None)
    assert late.objective_bound == -math.inf
    assert late.solution_loader.get_number_of_solutions() == 0


def test_no_solution_is_reported_in_both_generations(caplog):
    m = plant()
    m.clash = pyo.Constraint(expr=sum(m.open.values()) <= 0)
    opt = SolverFactoryV2(NAME)
    quiet = {"raise_exception_on_nonoptimal_result": False, "solver_options": split(m)}
    with pytest.raises(NoFeasibleSolutionError):
        opt.solve(m, **quiet)
    results = opt.solve(m, load_solutions=False, **quiet)
    assert results.termination_condition is TerminationCondition.provenInfeasible
    assert results.solution_status is SolutionStatus.noSolution
    with caplog.at_level(logging.WARNING, "solvers"):
        old = pyo.SolverFactory(NAME).solve(m, solver_options=split(m))
    assert old.solver.termination_condition is Legacy.infeasible
    assert "No solution was loaded" in caplog.text
    assert m.serve[0, 0].value == 0.5
    with pytest.raises(NoOptimalSolutionError):
        pyo.SolverFactory(NAME).solve(m, raise_exception_on_nonoptimal_result=True, **split(m))


def test_a_stationary_point_is_not_called_optimal():
    m = bilinear()
    words = {"solver_options": {"blocks": [[m.x], [m.y]]}, "raise_exception_on_nonoptimal_result": False}
    results = SolverFactoryV2("fsmodels.alternating").solve(m, **words)
    assert results.termination_condition is TerminationCondition.convergenceCriteriaSatisfied
    assert results.solution_status is SolutionStatus.feasible
    assert (results.incumbent_objective, results.objective_bound) == (pytest.approx(-2), -math.inf)
    old = pyo.SolverFactory("fsmodels.alternating").solve(m, solver_options=words["solver_options"])
    assert old.solver.termination_condition is Legacy.feasible
    assert not pyo.check_optimal_termination(old)
    with pytest.raises(RuntimeError, match="Termination condition: feasible"):
        pyo.assert_optimal_termination(old)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_the_first_generation(sense):
    m = plant(sense)
    opt = pyo.SolverFactory(NAME)
    opt.options["complicating"] = [m.open]
    results = opt.solve(m, timelimit=60, rel_gap=1e-6)
    assert pyo.check_optimal_termination(results)
    assert results.solver.status is SolverStatus.ok
    assert pyo.value(m.total) == pytest.approx(OPTIMUM * (1 if sense == pyo.minimize else -1))
    assert results.problem.lower_bound == pytest.approx(results.problem.upper_bound, rel=1e-4)
    assert results.problem.sense == sense
    assert results.solver.iterations > 0
    assert results.solver.wallclock_time > 0
    limited = opt.solve(m, iteration_limit=1)
    assert limited.solver.termination_condition is Legacy.maxIterations
    assert pyo.check_optimal_termination(opt.solve(m))  # the limit was of that solve


def test_the_first_generation_keeps_a_solution_for_later():
    m = plant()
    results = pyo.SolverFactory(NAME, complicating=[m.open]).solve(m, load_solutions=False)
    assert m.serve[0, 0].value == 0.5
    m.solutions.load_from(results)
    assert pyo.value(m.total) == pytest.approx(OPTIMUM)


def test_options_and_limits_of_one_solve_end_with_it():
    m = plant()
    opt = pyo.SolverFactory(NAME, complicating=[m.open], time_limit=60, threads=1)
    kept = opt.config.solver_options.value()
    limited = opt.solve(m, timelimit=0, threads=2, options={"gap": 0.5})
    assert limited.solver.termination_condition is Legacy.maxTimeLimit
    assert (opt.config.solver_options.value(), opt.config.time_limit, opt.config.rel_gap) == (kept, None, None)
    assert pyo.check_optimal_termination(opt.solve(m, rel_gap=1e-6))
    assert opt.config.rel_gap is None


def test_a_kept_solution_has_no_multipliers():
    m = plant()
    m.dual, m.rc = (pyo.Suffix(direction=pyo.Suffix.IMPORT) for _ in range(2))
    results = pyo.SolverFactory(NAME, complicating=[m.open]).solve(m, load_solutions=False)
    m.solutions.load_from(results)
    assert pyo.value(m.total) == pytest.approx(OPTIMUM)
    assert len(m.dual) == len(m.rc) == 0


def test_the_table_is_shown_where_it_is_asked_for(capsys):
    m, text = plant(), io.StringIO()
    seen = []
    words = {**split(m), "callback": lambda row: seen.append(row) and False}
    results = SolverFactoryV2(NAME).solve(m, tee=text, solver_options=words)
    assert capsys.readouterr().out == ""
    assert len(text.getvalue().splitlines()) == len(seen) == results.extra_info.iteration_count
    assert "Bound" in text.getvalue()
    SolverFactoryV2(NAME).solve(m, tee=True, solver_options=split(m))
    assert "Incumbent" in capsys.readouterr().out
    pyo.SolverFactory(NAME).solve(m, tee=True, solver_options=split(m))
    assert "Incumbent" in capsys.readouterr().out


def test_options_without_effect_are_rejected():
    m = plant()
    opt = SolverFactoryV2(NAME)
    with pytest.raises(OptionError, match=r"abs_gap=0.1 is not allowed for \"benders\": give rel_gap"):
        opt.solve(m, abs_gap=0.1, solver_options=split(m))
    with pytest.raises(OptionError, match="no file is written"):
        opt.solve(m, working_dir=".", solver_options=split(m))
    with pytest.raises(OptionError, match="gap is given twice"):
        opt.solve(m, rel_gap=0.1, solver_options={"gap": 0.1, **split(m)})
    with pytest.raises(OptionError, match=r'"complicatin" is not one of benders. Did you mean "complicating"'):
        opt.solve(m, solver_options={"complicatin": [m.open]})
    with pytest.raises(OptionError, match=r'"complicatin" is not one of benders'):
        pyo.SolverFactory(NAME, complicatin=[m.open]).solve(m)
    with pytest.raises(OptionError, match="time_limit=-1"):
        pyo.SolverFactory(NAME).solve(m, solver_options={**split(m), "time_limit": -1})
    m.x = pyo.Var()
    m.odd = pyo.Constraint(expr=m.x**3 <= m.open[0])
    with pytest.raises(ModelError):
        opt.solve(m, solver_options=split(m))


def test_options_by_slot_reach_the_solvers_inside():
    m = plant()
    words = {**split(m), "master_options": {"presolve": "off"}, "sub_solver": "clarabel"}
    results = SolverFactoryV2(NAME, solver_options=words).solve(m)
    assert results.extra_info.result.details["inside"] == ["clarabel", "highs"]
    assert results.extra_info.result.options["master_options"] == {"presolve": "off"}


def test_a_driver_whose_solver_is_missing_is_not_available(monkeypatch):
    missing = type(solvers.SOLVERS["highs"])("gurobi", solvers.Capability.LP, "", object, lambda: None)
    monkeypatch.setitem(solvers.SOLVERS, "gurobi", missing)
    assert SolverFactoryV2("fsmodels.single-tree").available() is Availability.NotFound
    with pytest.raises(ApplicationError, match="not available"):
        pyo.SolverFactory("fsmodels.single-tree").available()


def test_the_name_is_registered_here_too():
    m = plant()
    assert solvers.solve(m, NAME, **split(m)).solver == "benders"


def test_a_driver_of_ones_own_is_registered_on_request(monkeypatch):
    class Mine(solvers.Benders):
        name = "mine"

    monkeypatch.setitem(DRIVERS, "mine", Mine)
    solvers.register_drivers()
    m = plant()
    results = SolverFactoryV2("fsmodels.mine").solve(m, solver_options=split(m))
    assert results.extra_info.result.solver == "mine"
    SolverFactoryV2._cls.pop("fsmodels.mine")


def test_results_of_the_first_generation_can_be_pickled():
    m = plant()
    results = pyo.SolverFactory(NAME).solve(m, solver_options=split(m))
    assert pyo.check_optimal_termination(pickle.loads(pickle.dumps(results)))
