"""Results: the gap, the sentences, and the table of a driver."""

import pickle

import pandas as pd
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvers
from solvers import Result, SolutionStatus, StopReason
from solvers.result import recomputed_verdict, relative_gap, verdict

FINITE = st.floats(-1e6, 1e6)


def test_the_gap_is_relative_to_the_objective():
    assert relative_gap(10.0, 9.0) == pytest.approx(0.1)
    assert relative_gap(-10.0, -11.0) == pytest.approx(0.1)
    assert relative_gap(10.0, 11.0, minimize=False) == pytest.approx(0.1)
    assert relative_gap(1e-12, 0.0) == 1.0  # however small
    assert relative_gap(0.0, -1e-11) == pytest.approx(1e10)  # never divided by less than 1e-10 of the bound


def test_what_the_arithmetic_cannot_tell_from_0_has_no_gap():
    assert relative_gap(1e-12, 0.0, resolution=1e-12) == 0
    assert relative_gap(2e-12, 0.0, resolution=1e-12) == 1.0  # one of the two is not below it
    assert relative_gap(1.0, 1.0 - 1e-4, resolution=1e-3) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    ("objective", "bound", "options", "status", "kept", "words"),
    [
        (1.0, 0.99995, {}, "optimal", 0.99995, ""),
        (1.0, 0.999, {}, "feasible", 0.999, ""),
        (
            1.0,
            0.999,
            {"claim": SolutionStatus.OPTIMAL},
            "feasible",
            0.999,
            "scip reports optimal, but its bound proves a gap of 1.0e-03",
        ),
        (1.0, None, {"claim": SolutionStatus.OPTIMAL}, "feasible", None, "reports no reliable bound"),
        (1.0, None, {"claim": SolutionStatus.STATIONARY}, "stationary", None, ""),
        (1.0, 1.0, {"claim": SolutionStatus.STATIONARY}, "optimal", 1.0, ""),
        (1.0, 1.0, {"violation": 1e-5}, "feasible", 1.0, "violates the rows by 1.0e-05"),
        (1.0, 1.0, {"violation": 1e-2}, "no_solution", 1.0, "violates the rows"),
        (1.0, 1.001, {"claim": SolutionStatus.OPTIMAL}, "feasible", None, "is above the objective"),
        (
            1.0,
            0.999,
            {"minimize": False, "claim": SolutionStatus.OPTIMAL},
            "feasible",
            None,
            "is below the objective",
        ),
        (1.0, 1.0 + 1e-8, {}, "optimal", 1.0, ""),
        (1.0, 1.0 + 1e-8, {"gap": 0.0}, "feasible", None, "is above"),  # what was asked for is finer than that
        (1e-9, 0.0, {}, "feasible", 0.0, ""),
        (1e-9, 0.0, {"resolution": 1e-8}, "optimal", 0.0, ""),
        (None, 1.0, {"claim": SolutionStatus.OPTIMAL}, "no_solution", 1.0, ""),
        (None, 1.0, {"claim": SolutionStatus.INFEASIBLE}, "infeasible", None, ""),
        (
            1.0,
            None,
            {"claim": SolutionStatus.INFEASIBLE},
            "feasible",
            None,
            "but a point satisfies the rows",
        ),
        (-1e9, None, {"claim": SolutionStatus.UNBOUNDED}, "unbounded", None, ""),
    ],
)
def test_the_verdict(objective, bound, options, status, kept, words):
    judged = verdict(objective, bound, who="scip", **options)
    assert (judged.status.value, judged.bound) == (status, kept)
    assert words in judged.message
    assert bool(words) == bool(judged.message)


@given(FINITE, FINITE, st.sampled_from([0.0, 1e-9, 1e-4, 0.5]), st.sampled_from([0.0, 1e-6, 1.0]), st.booleans())
def test_status_bound_and_gap_of_a_verdict_agree(objective, bound, gap, resolution, minimize):
    judged = verdict(objective, bound, minimize=minimize, gap=gap, resolution=resolution, claim=SolutionStatus.OPTIMAL)
    left = relative_gap(objective, judged.bound, minimize=minimize, resolution=resolution)
    assert (judged.status is SolutionStatus.OPTIMAL) == (left is not None and left <= max(gap, 1e-9))
    if judged.bound is not None:
        assert judged.bound <= objective if minimize else judged.bound >= objective


@pytest.mark.parametrize(
    ("status", "objective", "said", "expected", "bound"),
    [
        ("optimal", 1.0 - 2e-9, {}, "optimal", 1.0 - 2e-9),  # attained: the bound is above it by rounding
        ("optimal", 1.0 + 9e-7, {}, "optimal", 1.0 - 1e-9),
        ("optimal", 1.1, {}, "feasible", 1.0 - 1e-9),  # the bound does not prove that
        ("optimal", 1.1, {"doubt": "another number"}, "feasible", 1.0 - 1e-9),
        ("optimal", 0.5, {"doubt": "another number"}, "feasible", None),  # one of the two is wrong
        ("stationary", 1.0, {}, "stationary", 1.0 - 1e-9),
        ("stationary", 1.1, {"doubt": "another number"}, "stationary", 1.0 - 1e-9),
        ("stationary", 1.0, {"moved": True}, "feasible", 1.0 - 1e-9),
        ("feasible", 1.0, {}, "feasible", 1.0 - 1e-9),  # the solver knew why, though the gap is closed
    ],
)
@pytest.mark.parametrize("minimize", [True, False])
def test_a_recomputed_verdict_is_never_better_than_the_solver(status, objective, said, expected, bound, minimize):
    sign = 1.0 if minimize else -1.0
    result = Result(
        SolutionStatus(status), StopReason.CONVERGED, objective=sign, bound=sign * (1.0 - 1e-9), minimize=minimize
    )
    judged = recomputed_verdict(result, sign * objective, **said)
    assert judged.status.value == expected
    assert judged.bound == (None if bound is None else sign * bound)


def test_the_gap_of_an_unknown_is_unknown():
    assert relative_gap(None, 1.0) is None
    assert relative_gap(1.0, None) is None


def test_a_bound_past_the_objective_by_rounding_is_a_gap_of_nothing():
    assert relative_gap(1.0, 1.0 + 1e-12) == 0
    assert relative_gap(1.0, 1.0 - 1e-12, minimize=False) == 0


@given(FINITE, FINITE)
def test_the_gap_does_not_depend_on_the_sense(objective, bound):
    gap = relative_gap(objective, bound)
    assert gap >= 0
    assert gap == relative_gap(-objective, -bound, minimize=False)


def test_the_names_are_those_of_the_json_contract():
    assert {s.value for s in SolutionStatus} == {
        "optimal", "stationary", "feasible", "infeasible", "unbounded", "no_solution",
    }  # fmt: skip
    assert {s.value for s in StopReason} == {
        "converged", "time_limit", "iteration_limit", "interrupted", "callback", "solver_error",
    }  # fmt: skip


def test_a_result_reports_whether_it_has_a_solution():
    assert not Result(SolutionStatus.NO_SOLUTION, StopReason.TIME_LIMIT, bound=3.0).has_solution
    held = Result(SolutionStatus.FEASIBLE, StopReason.TIME_LIMIT, objective=4.0, bound=3.0)
    assert held.has_solution
    assert held.gap == pytest.approx(0.25)
    assert isinstance(held.iterations, pd.DataFrame)


def test_a_result_reads_as_sentences():
    result = Result(SolutionStatus.FEASIBLE, StopReason.TIME_LIMIT, objective=4.0, bound=3.0, solver="scip")
    result.selected, result.message = ["age", "size"], "scip stopped at the time limit."
    lines = str(result).splitlines()
    assert lines[0] == "feasible (time_limit) by scip in 0.00 s"
    assert lines[1] == "objective 4, bound 3, gap 25.00%"
    assert lines[2:] == ["selected 2: age, size", "scip stopped at the time limit."]


def test_a_result_without_a_solution_shows_no_selection():
    result = Result(SolutionStatus.INFEASIBLE, StopReason.CONVERGED, solver="highs", selected=[])
    assert str(result).splitlines()[1:] == ["objective none, bound none, gap unknown"]


@pytest.mark.parametrize("driver", ["branch-and-cut", "benders", "highs"])
def test_a_result_travels_by_pickle(driver):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(domain=pyo.Binary), pyo.Var(bounds=(0, 3))
    model.row = pyo.Constraint(expr=model.y >= 1.5 - model.x)
    model.cost = pyo.Objective(expr=model.x + 2 * model.y)
    words = {} if driver == "highs" else {"complicating": model.x}
    result = solvers.solve(model, driver, **words)
    result.options = {}  # which may hold the user's own
    again = pickle.loads(pickle.dumps(result))
    assert (again.objective, again.status) == (pytest.approx(2.0), result.status)
    assert again.iterations.equals(result.iterations)
    assert again.details.keys() == result.details.keys()
