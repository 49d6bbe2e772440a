"""Several solvers on one model: the table, the plot, the solution that the model holds, and contradictory claims."""

import warnings

import matplotlib as mpl
import pyomo.environ as pyo
import pytest

import solvers
from solvers import Cancel, OptionError, Result, SolutionStatus, SolverError, StopReason, comparison

mpl.use("Agg")


@pytest.fixture
def model():
    """Open plants at least cost; the minimum is 2 + 3 = 5."""
    m = pyo.ConcreteModel()
    m.open = pyo.Var(range(3), domain=pyo.Binary, initialize=1)
    m.made = pyo.Var(range(3), bounds=(0, None))
    m.room = pyo.Constraint(range(3), rule=lambda m, k: m.made[k] <= 3 * m.open[k])
    m.demand = pyo.Constraint(expr=sum(m.made.values()) >= 3)
    m.cost = pyo.Objective(expr=sum((2 + k) * m.open[k] + m.made[k] for k in range(3)))
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return m


@pytest.fixture
def claims(monkeypatch):
    """Replace the solvers by results for the names highs and scip, and record the values at their start."""
    starts = []

    def use(*results):
        waiting = list(results)

        def solve(model, solver, **options):
            starts.append(model.open[0].value)
            model.open[0].set_value(len(waiting), skip_validation=True)
            return waiting.pop(0)

        monkeypatch.setattr(comparison, "solve", solve)
        return starts

    return use


def point(objective, bound, status=SolutionStatus.OPTIMAL, stop=StopReason.CONVERGED, **more):
    return Result(status, stop, objective=objective, bound=bound, **more)


def test_every_solver_reaches_the_optimum_and_the_model_holds_it(model):
    found = solvers.compare(model, ["branch-and-cut", "benders", "highs"], gap=1e-6)
    assert found.table.index.tolist() == ["branch-and-cut", "benders", "highs"]
    assert found.table["objective"].astype(float).tolist() == pytest.approx([5, 5, 5])
    assert set(found.table["status"]) == {"optimal"}
    assert found.table.loc["benders", "iterations"] > 0
    assert "message" not in found.table
    assert pyo.value(model.cost) == pytest.approx(5)
    axes = found.plot()
    assert {line.get_gid() for line in axes.get_lines()} == {"incumbent", "bound"}
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == [
        "branch-and-cut: best found",
        "branch-and-cut: proven bound",
    ]
    assert len(found.plot("iterations").get_lines()) == 4  # highs has no iterations
    assert "<table" in found._repr_html_()
    assert "benders" in repr(found)


def test_a_solver_that_fails_is_a_row(model):
    model.curved = pyo.Constraint(expr=model.made[0] * model.made[1] <= 1)
    found = solvers.compare(model, ["highs", "scip", "xpress_persistent"])
    assert found.best == "scip"
    assert found.table.loc["highs", "status"] == "no_solution"
    assert "needs MISOCP" in found.table.loc["highs", "message"]
    assert "not installed" in found.table.loc["xpress_persistent", "message"]
    assert pyo.value(model.cost) == pytest.approx(5)
    assert len(found.plot().get_lines()) == 2


def test_a_misspelled_name_is_an_error_before_anything_is_solved(model, claims):
    starts = claims()
    with pytest.raises(SolverError, match='Did you mean "benders"'):
        solvers.compare(model, ["highs", "bender"])
    with pytest.raises(OptionError, match="one name"):
        solvers.compare(model, "highs")
    assert not starts


def test_options_of_each_solver_and_labels(model):
    found = solvers.compare(
        model, {"one": {"solver": "benders", "iteration_limit": 1}, "benders": {"master_solver": "scip"}}, time_limit=30
    )
    assert found.results["one"].stop_reason is StopReason.ITERATION_LIMIT
    assert found.results["benders"].options["master_solver"] == "scip"
    assert found.results["benders"].options["time_limit"] == 30


def test_every_solver_starts_at_the_same_values_and_the_best_solution_stays(model, claims):
    starts = claims(point(7.0, 5.0), point(5.0, 5.0))
    found = solvers.compare(model, ["highs", "scip"])
    assert starts == [1, 1]
    assert found.best == "scip"
    assert model.open[0].value == 1
    claims(point(5.0, 5.0), point(7.0, 5.0))
    assert solvers.compare(model, ["highs", "scip"]).best == "highs"
    assert model.open[0].value == 2


def test_without_a_solution_the_values_stay(model, claims):
    nothing = Result(SolutionStatus.NO_SOLUTION, StopReason.TIME_LIMIT)
    claims(nothing, nothing)
    found = solvers.compare(model, ["highs", "scip"])
    assert found.best is None
    assert model.open[0].value == 1
    assert "no point and no bound" in [text.get_text() for text in found.plot().texts]
    with pytest.raises(OptionError, match="no iterations"):
        found.plot("iterations")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (point(5.0, 5.0), point(6.0, 5.5), 'bound 5.5 of "scip" is above the objective 5 of "highs"'),
        (point(5.0, 5.0, minimize=False), point(4.0, 4.5, minimize=False), 'bound 4.5 of "scip" is below'),
        (
            Result(SolutionStatus.INFEASIBLE, StopReason.CONVERGED),
            point(5.0, None),
            '"highs" reports that the model is',
        ),
    ],
)
def test_contradictory_claims_are_a_warning(model, claims, first, second, message):
    claims(first, second)
    with pytest.warns(UserWarning, match=message):
        solvers.compare(model, ["highs", "scip"])


def test_claims_within_the_tolerance_are_none(model, claims):
    claims(point(5.0, 5.0), point(5.0 + 1e-6, 5.0 + 1e-6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solvers.compare(model, ["highs", "scip"])


def test_a_token_leaves_out_the_remaining_solvers(model):
    cancel = Cancel()
    cancel.set()
    found = solvers.compare(model, ["branch-and-cut", "highs"], cancel=cancel)
    assert list(found.results) == ["branch-and-cut"]
