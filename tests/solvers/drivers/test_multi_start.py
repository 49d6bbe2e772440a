"""A local solver from several starts: known optima, what each start may claim, limits, refusals."""

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

from solvers import Facts, ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.drivers.multi_start import MultiStart
from solvers.errors import Error
from solvers.facts import Change
from solvers.interfaces.registry import SOLVERS, find
from solvers.interfaces.runner import Answer

BEST, SECOND, THIRD = -1.0316284535, -0.2154638244, 2.1042503103  # of the six-hump camel, each twice


def camel(sense=pyo.minimize, value=None):
    """Six local minima in a box (Dixon and Szego 1978); z is linear, and held by a row."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-2, 2), initialize=value), pyo.Var(bounds=(-1, 1), initialize=value)
    m.z = pyo.Var(bounds=(0, 5))
    m.row = pyo.Constraint(expr=m.z + 0.0 * m.x >= 1)
    f = (4 - 2.1 * m.x**2 + m.x**4 / 3) * m.x**2 + m.x * m.y + (4 * m.y**2 - 4) * m.y**2 + m.z - 1
    m.cost = pyo.Objective(expr=f if sense == pyo.minimize else -f, sense=sense)
    return m


def line():
    """Minimum 2 at x = 2; the cost is curved, so that x is drawn."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 5), initialize=4)
    m.row = pyo.Constraint(expr=m.x >= 2)
    m.cost = pyo.Objective(expr=m.x**2 / 2)
    return m


# With a real solver.


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_enough_starts_reach_the_best_of_six_humps(sense):
    model = camel(sense)
    result = MultiStart(model, starts=12, seed=1).solve()
    sign = 1 if sense == pyo.minimize else -1
    assert (result.status, result.stop_reason) == (SolutionStatus.STATIONARY, StopReason.CONVERGED)
    assert sign * result.objective == pytest.approx(BEST, abs=1e-6)
    assert (abs(model.x.value), abs(model.y.value)) == pytest.approx((0.0898420, 0.7126564), abs=1e-4)
    assert model.z.value == pytest.approx(1, abs=1e-6)
    assert pyo.value(model.cost) == result.objective
    assert result.bound is None  # nothing is proven about other points
    assert result.gap is None
    incumbent = sign * result.iterations["Incumbent"].to_numpy(dtype=float)
    assert (np.diff(incumbent) <= 0).all()


def test_every_start_ends_at_one_of_the_known_points_and_not_all_at_the_best():
    result = MultiStart(camel(), starts=12, seed=1).solve()
    table = result.details["starts"]
    assert list(table.columns) == ["start", "objective", "status", "violation", "seconds"]
    assert list(table["start"]) == [f"random {k}" for k in range(1, 13)]  # the model holds no value to start from
    assert list(result.iterations["Step"]) == list(table["start"])
    assert result.iterations["Objective"].tolist() == table["objective"].tolist()
    assert set(table["status"]) == {"stationary"}
    assert (table["violation"] <= 1e-6).all()
    known = np.array([BEST, SECOND, THIRD])
    assert all(np.abs(known - end).min() <= 1e-6 for end in table["objective"])
    assert table["objective"].max() > BEST + 0.1
    best = int((table["objective"] <= BEST + 1e-5).sum())
    assert f"12 starts ended between -1.03163 and {table['objective'].max():.6g}; {best} of them" in result.message


def test_the_values_of_the_model_are_the_first_start():
    model = camel(value=0.0)
    model.x.set_value(1.6), model.y.set_value(-0.6)  # beside a local minimum
    result = MultiStart(model, starts=0).solve()
    assert result.objective == pytest.approx(SECOND, abs=1e-6)
    assert list(result.details["starts"]["start"]) == ["model's values"]
    model.x.set_value(1.6), model.y.set_value(-0.6)
    both = MultiStart(model, starts=12, seed=1).solve()
    assert both.objective == pytest.approx(BEST, abs=1e-6)
    assert both.details["starts"]["objective"][0] == pytest.approx(SECOND, abs=1e-6)
    cold = MultiStart(model, starts=2, warm_start=False).solve()
    assert list(cold.details["starts"]["start"]) == ["random 1", "random 2"]


def test_two_runs_with_one_seed_are_the_same():
    first, second, other = (MultiStart(camel(), starts=4, seed=s).solve().details["starts"] for s in (5, 5, 6))
    assert first["objective"].tolist() == second["objective"].tolist() != other["objective"].tolist()


@pytest.mark.parametrize("sub_solver", ["pounce", "ipopt", "cyipopt"])
def test_every_local_solver(sub_solver, need):
    result = MultiStart(camel(), starts=6, seed=1, sub_solver=need(sub_solver)).solve()
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(BEST, abs=1e-6)


def test_a_nonconvex_row(textbook):
    """The farthest point of a ring from (2, 0) inside a box: nothing that a convex solver takes."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-2, 2)), pyo.Var(bounds=(-2, 2))
    model.ring = pyo.Constraint(expr=(1, model.x**2 + model.y**2, 2))
    model.far = pyo.Objective(expr=(model.x - 2) ** 2 + model.y**2, sense=pyo.maximize)
    result = MultiStart(model, starts=6).solve()
    assert result.objective == pytest.approx((2 + np.sqrt(2)) ** 2, rel=1e-6)
    assert result.details["violation"] <= 1e-6


def test_a_complementarity_is_written_as_a_product_on_a_clone(textbook):
    model = textbook.complementarity()
    before = [c.name for c in model.component_objects()]
    result = MultiStart(model, starts=3).solve()
    assert (result.status, result.objective) == (SolutionStatus.STATIONARY, pytest.approx(5, abs=1e-5))
    assert (model.x.value, model.y.value) == pytest.approx((5, 0), abs=1e-5)
    assert [c.name for c in model.component_objects()] == before
    assert model.either.active


def test_a_variable_in_a_complementarity_only_comes_back(textbook):
    model = textbook.complementarity()
    model.sum.set_value(model.x)
    model.y.set_value(2.0)
    assert MultiStart(model, starts=0).solve().objective == pytest.approx(5, abs=1e-5)
    assert model.y.value == pytest.approx(0, abs=1e-5)


def test_a_start_where_the_functions_have_no_value_does_not_end_the_run():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(initialize=-1.0)
    model.cost = pyo.Objective(expr=model.x - pyo.log(model.x))
    result = MultiStart(model, starts=6, start_range=(-2, 2)).solve()
    table = result.details["starts"]
    assert result.objective == pytest.approx(1, abs=1e-6)
    assert (result.status, result.stop_reason) == (SolutionStatus.STATIONARY, StopReason.CONVERGED)
    assert table["status"][0] == "no_solution"
    assert np.isnan(table["objective"][0])
    assert 'Start "model\'s values": the objective has no finite value at the point of pounce' in result.message
    assert "starts failed" in result.message


# A linear model, or nothing to decide.


def test_a_linear_model_is_solved_once_to_optimality(textbook):
    model = textbook.lp()
    result = MultiStart(model).solve()
    assert (result.status, result.objective, result.bound) == (SolutionStatus.OPTIMAL, 11, pytest.approx(11))
    assert len(result.details["starts"]) == len(result.iterations) == 1
    assert (model.x.value, model.y.value) == pytest.approx((3, 1))


def test_a_linear_model_is_proven_infeasible_by_name_and_unbounded(textbook):
    model = textbook.lp()
    model.more = pyo.Constraint(expr=model.x + model.y >= 5)
    result = MultiStart(model).solve()
    assert (result.status, result.objective) == (SolutionStatus.INFEASIBLE, None)
    assert '"more"' in result.message
    model = textbook.lp()
    model.first.deactivate(), model.second.deactivate()
    result = MultiStart(model).solve()
    assert result.status is SolutionStatus.UNBOUNDED
    assert result.message == "The objective is unbounded: a bound or a row is missing."


def test_a_model_whose_variables_are_all_fixed():
    model = line()
    model.x.fix(3)
    result = MultiStart(model).solve()
    assert (result.status, result.objective, result.bound) == (SolutionStatus.OPTIMAL, 4.5, 4.5)
    model.x.fix(1)
    result = MultiStart(model).solve()
    assert result.status is SolutionStatus.INFEASIBLE
    assert "row" in result.message


def test_crossed_bounds_are_named():
    model = line()
    model.x.setlb(6)
    result = MultiStart(model).solve()
    assert result.status is SolutionStatus.INFEASIBLE
    assert 'The bounds of "x" cross' in result.message


# What a start may claim: a solver that says what it is told.

CONVERGED, OPTIMAL = StopReason.CONVERGED, SolutionStatus.STATIONARY


class Scripted:
    """Sets x to the next value, or says the next words; keeps the starts and the limits that it is given."""

    def __init__(self, *script):
        self.script, self.starts, self.limits, self.spec = list(script), [], [], find("pounce")

    def solve(self, model, *, time_limit=None):
        self.starts.append(model.x.value)
        self.limits.append(time_limit)
        said = self.script.pop(0)
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, Answer):
            return said
        x, stop, status = said if isinstance(said, tuple) else (said, CONVERGED, OPTIMAL)
        model.x.set_value(x, skip_validation=True)
        return Answer(stop, status, True, None, "as told")


def none(stop=CONVERGED, status=SolutionStatus.NO_SOLUTION, message="lost its way"):
    return Answer(stop, status, False, None, message)


def told(model, *script, **options):
    driver = MultiStart(model, **({"starts": len(script), "warm_start": False} | options))
    driver._runner = Scripted(*script)
    return driver.solve(), driver._runner


def test_a_linear_solve_that_failed_is_not_reported_as_converged(textbook):
    driver = MultiStart(textbook.lp())
    driver._runner = Scripted(none(StopReason.SOLVER_ERROR))
    result = driver.solve()
    assert (result.status, result.stop_reason) == (SolutionStatus.NO_SOLUTION, StopReason.SOLVER_ERROR)


def test_the_best_feasible_point_is_kept():
    model = line()
    result, _ = told(model, 3.0, 2.0, 2.5)
    assert (result.status, result.objective, model.x.value) == (OPTIMAL, 2, 2)
    assert result.iterations["Incumbent"].tolist() == [4.5, 2, 2]
    assert "3 starts ended between 2 and 4.5; 1 of them at the best" in result.message


def test_a_point_that_misses_a_row_is_no_incumbent_where_another_satisfies_it():
    model = line()
    result, _ = told(model, 2 - 1e-4, 3.0, 1.0)
    assert (result.status, result.objective) == (OPTIMAL, 4.5)
    table = result.details["starts"]
    assert list(table["status"]) == ["feasible", "stationary", "no_solution"]
    assert table["violation"].tolist() == pytest.approx([5e-5, 0, 0.5])
    assert np.isnan(table["objective"][2])
    assert result.iterations["Objective"].isna().tolist() == [True, False, True]


def test_the_least_violation_is_all_there_is_and_is_called_so():
    model = line()
    result, _ = told(model, 2 - 1e-3, 2 - 1e-5, 0.5)
    assert result.status is SolutionStatus.FEASIBLE
    assert model.x.value == 2 - 1e-5
    assert "violates the rows by 5.0e-06, so it is not reported as optimal" in result.message
    assert result.iterations["Incumbent"].isna().all()


def test_a_hopeless_point_is_no_solution():
    model = line()
    result, _ = told(model, 1.0, 0.0)
    assert (result.status, result.objective, model.x.value) == (SolutionStatus.NO_SOLUTION, None, 4)
    assert "violates the rows by 5.0e-01" in result.message


@pytest.mark.parametrize(
    "failure",
    [
        none(),
        none(status=SolutionStatus.INFEASIBLE),
        none(status=SolutionStatus.UNBOUNDED),
        none(stop=StopReason.SOLVER_ERROR),
        none(stop=StopReason.ITERATION_LIMIT),
        SolverError("pounce failed: no derivative"),
    ],
)
def test_what_a_start_says_is_true_near_it_at_most(failure):
    result, _ = told(line(), failure, 2.5, failure)
    assert (result.status, result.stop_reason, result.objective) == (OPTIMAL, CONVERGED, 3.125)
    assert 'Start "random 1": pounce' in result.message
    assert "(2 of 3 starts failed)" in result.message
    model = line()
    result, _ = told(model, failure, none(message="other words"))
    assert (result.status, result.objective) == (SolutionStatus.NO_SOLUTION, None)
    assert result.message.startswith('Start "random 1": pounce')
    assert "other words" not in result.message
    assert model.x.value == 4


def test_a_best_point_that_has_not_converged_is_only_feasible():
    stopped = (2.0, StopReason.ITERATION_LIMIT, SolutionStatus.FEASIBLE)
    result, _ = told(line(), 3.0, stopped)
    assert (result.status, result.objective) == (SolutionStatus.FEASIBLE, 2)
    assert "pounce stopped before it converged" in result.message
    result, _ = told(line(), 2.0, (3.0, *stopped[1:]))
    assert result.status is OPTIMAL


@pytest.mark.parametrize("function", [lambda x: pyo.log(x - 3), lambda x: 1 / (x - 2.5), lambda x: (x - 3) ** 0.5])
def test_a_function_without_a_value_is_no_solution(function):
    model = line()
    model.cost.set_value(function(model.x))
    model.x.set_value(3.5)  # no better a start than the point found
    result, _ = told(model, 2.5, 3.5)
    assert result.objective == pytest.approx(pyo.value(function(3.5)))
    assert "the objective has no finite value at the point of pounce" in result.message
    model = line()
    model.more = pyo.Constraint(expr=function(model.x) <= 100)
    result, _ = told(model, 2.5, 3.5)
    assert result.details["starts"]["violation"].tolist() == [np.inf, 0]


def test_an_error_in_the_question_is_not_a_failed_start():
    with pytest.raises(OptionError):
        told(line(), OptionError("no such option"))


# Limits.


def test_the_time_that_is_left_is_handed_on_and_ends_the_run():
    stopped = (2.5, StopReason.TIME_LIMIT, SolutionStatus.FEASIBLE)
    model = line()
    result, runner = told(model, 3.0, stopped, 2.0, time_limit=60)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.TIME_LIMIT)
    assert (result.objective, len(runner.limits)) == (3.125, 2)
    assert 60 > runner.limits[0] > runner.limits[1] > 0
    assert told(line(), 2.0, none(StopReason.TIME_LIMIT), time_limit=60)[0].status is OPTIMAL


def test_iteration_limit_and_callback_stop_between_starts():
    result, runner = told(line(), 3.0, 2.5, 2.0, iteration_limit=2)
    assert (result.stop_reason, result.objective, len(runner.starts)) == (StopReason.ITERATION_LIMIT, 3.125, 2)
    result, runner = told(line(), 3.0, 2.5, 2.0, callback=lambda row: row["Incumbent"] < 4)
    assert (result.stop_reason, result.objective, len(runner.starts)) == (StopReason.CALLBACK, 3.125, 2)
    assert told(line(), 3.0, iteration_limit=1)[0].stop_reason is CONVERGED


@pytest.mark.parametrize("pressed", [none(StopReason.INTERRUPTED), KeyboardInterrupt()])
def test_ctrl_c_returns_the_incumbent(pressed):
    model = line()
    result, _ = told(model, 3.0, pressed, 2.0)
    assert (result.status, result.stop_reason, result.objective) == (OPTIMAL, StopReason.INTERRUPTED, 4.5)
    assert model.x.value == 3
    assert len(result.details["starts"]) == 2


# Where starts are drawn.


def test_starts_are_drawn_between_bounds_or_in_a_range():
    _, runner = told(line(), *[3.0] * 40)
    assert 0 <= min(runner.starts) < 1
    assert 4 < max(runner.starts) <= 5
    _, runner = told(line(), *[3.0] * 40, start_range=(-4, 1))
    assert min(runner.starts) == 0  # moved within its bound
    assert 0 < max(runner.starts) <= 1


def test_only_variables_in_nonlinear_terms_are_drawn():
    model = camel()
    model.z.set_value(3.0)
    model.spare = pyo.Var(initialize=7.0, domain=pyo.Integers)
    driver = MultiStart(model, starts=2)
    assert [v.name for v in driver.drawn] == ["x", "y"]
    starts = {label: dict(zip([v.name for v in driver.variables], x, strict=True)) for label, x in driver._starts()}
    assert {start["z"] for start in starts.values()} == {3.0}
    model.ball = pyo.Constraint(expr=model.z**2 <= 9)
    assert [v.name for v in MultiStart(model).drawn] == ["x", "y", "z"]
    model.x.fix(0.1)
    assert [v.name for v in MultiStart(model).drawn] == ["y", "z"]
    assert MultiStart(model, starts=2).solve().objective is not None
    assert (model.spare.value, model.spare.domain.name) == (7.0, "Integers")


def test_a_value_outside_its_bounds_is_moved_within():
    model = line()
    model.x.set_value(9.0, skip_validation=True)
    _, runner = told(model, 3.0, warm_start=True, starts=0)
    assert runner.starts == [5.0]


# In the units of the model's change of variables.


def tiny(curved):
    """v >= |x| and x >= 1e-7: with coefficients of 1, an error of 1e-8 in the row v >= x is a tenth of v."""
    m = pyo.ConcreteModel()
    m.x, m.v = pyo.Var(), pyo.Var(bounds=(0, None))
    m.right, m.left = pyo.Constraint(expr=m.v >= m.x), pyo.Constraint(expr=m.v >= -m.x)
    m.row = pyo.Constraint(expr=1e7 * m.x >= 1)
    m.cost = pyo.Objective(expr=1 - pyo.exp(-m.v) if curved else m.v)
    change = Change([(m.x, 2.0**-23), (m.v, 2.0**-23)], times=2.0**23)
    Facts(change=change).attach(m)
    return m


@pytest.mark.parametrize("curved", [True, False])
def test_each_start_is_solved_in_the_units_of_the_change_of_variables(curved):
    model = tiny(curved)
    result = MultiStart(model, starts=3).solve()
    assert result.status is (SolutionStatus.STATIONARY if curved else SolutionStatus.OPTIMAL)
    assert 1e7 * model.x.value == pytest.approx(1, abs=1e-6)
    assert 1e7 * model.v.value == pytest.approx(1, abs=1e-6)
    assert 1e7 * result.objective == pytest.approx(1, abs=1e-6)
    if not curved:
        assert 1e7 * result.bound == pytest.approx(1, abs=1e-6)


def test_a_row_that_is_missed_in_these_units_is_missed():
    """v = 1e-7 is twice what the row allows; the difference is below the tolerances in the model's own units."""
    model = tiny(True)
    model.cap = pyo.Constraint(expr=model.v <= 0.5e-7)
    result = MultiStart(model, starts=1).solve()
    assert result.status is SolutionStatus.NO_SOLUTION
    assert result.objective is None


# The model afterwards, and refusals.


def test_the_model_is_left_as_it_was_but_for_the_answer():
    model = camel(value=0.5)
    model.spare = pyo.Var(initialize=1.5)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    before = [(v.name, v.fixed, v.bounds, v.domain.name) for v in model.component_data_objects(pyo.Var)]
    components = [(c.name, c.active) for c in model.component_objects()]
    MultiStart(model, starts=2).solve()
    assert [(v.name, v.fixed, v.bounds, v.domain.name) for v in model.component_data_objects(pyo.Var)] == before
    assert [(c.name, c.active) for c in model.component_objects()] == components
    assert model.spare.value == 1.5
    assert len(model.dual) == 0


def test_integers_are_refused_by_name_with_who_can(textbook):
    with pytest.raises(ModelError, match=r'"x" is integer: solve the whole model by name, for example with .*scip'):
        MultiStart(textbook.nlp(pyo.Integers))
    model = textbook.nlp(pyo.Integers)
    model.x.fix(1)
    assert MultiStart(model).solve().objective == pytest.approx(np.e - 2)


def test_what_the_driver_does_not_see_is_refused(textbook):
    for model, kind in ((textbook.disjunction(), "Disjunction"), (textbook.sos(), "SOSConstraint")):
        with pytest.raises(ModelError, match=f"does not support {kind}"):
            MultiStart(model)
    model = camel()
    model.choice = Disjunction(expr=[[model.x >= 1], [model.x <= -1]])
    model.choice.deactivate()
    assert MultiStart(model)


def test_without_pounce_another_local_solver_is_used(monkeypatch, need):
    need("ipopt")
    monkeypatch.setitem(SOLVERS, "pounce", replace(SOLVERS["pounce"], version=lambda: None))
    run = MultiStart(camel(), starts=6, seed=1)
    assert run.spec.name == "ipopt"
    assert run.solve().objective == pytest.approx(BEST, rel=1e-6)


def test_without_a_local_solver_the_message_names_the_package_of_pounce(monkeypatch):
    for missing in {"pounce", "ipopt", "cyipopt"}:
        monkeypatch.setitem(SOLVERS, missing, replace(SOLVERS[missing], version=lambda: None))
    with pytest.raises(SolverError, match=r'"pounce" is not installed\. To get it: pip install pyomo-pounce'):
        MultiStart(camel())


def test_sub_solvers_that_cannot_or_need_not_are_refused():
    with pytest.raises(SolverError, match=r'"highs" does not support NLP.*pounce'):
        MultiStart(camel(), sub_solver="highs")
    with pytest.raises(SolverError, match=r'pointless: solve the model whole, with solver="scip", .*pounce'):
        MultiStart(camel(), sub_solver="scip")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": -1}, "starts=-1 is not allowed"),
        ({"starts": 0, "warm_start": False}, "leaves no start: give at least 1, or warm_start=True"),
        ({"start_range": (1, 0)}, "start_range="),
        ({"sub_sover": "pounce"}, 'Did you mean "sub_solver"'),
        ({"tolerance": 1e-3}, 'Option "tolerance" is not one of multi-start'),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(Error, match=message):
        MultiStart(camel(), **options)


def test_a_model_with_two_objectives_is_refused():
    model = camel()
    model.other = pyo.Objective(expr=model.x)
    with pytest.raises(ModelError, match="exactly one active objective"):
        MultiStart(model)
