"""Successive linear approximation: stationary by an independent LP, enumerated vertices, limits, refusals."""

import contextlib
import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from pyomo.network import Arc, Port
from scipy.optimize import linprog

import solvers
import solvers.model.function
from model_state import state
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.drivers.sla.pieces import Pieces
from solvers.errors import SolverFailure
from solvers.lp.highs import HighsLP, LpStatus
from solvers.model.classes import violation

LP_SOLVERS = ["highs", "clarabel", "gurobi", "glpk"]
PRICES, SCALE, SHIP = [4.0, 3.0, 5.0, 2.0], [1.0, 2.0, 0.5, 3.0], [0.2, 0.5, 0.1, 0.4]
CAPACITY, DEMAND = [3.0, 4.0, 2.5, 2.0], 6.0


# A textbook model: which plants meet a demand, with economies of scale.


def plants(sense=pyo.minimize):
    """Concave cost a log(1 + x / s) + c x of four plants; 1 and 2 share workers."""
    m = pyo.ConcreteModel()
    m.j = pyo.RangeSet(0, 3)
    m.x = pyo.Var(m.j, bounds=lambda m, j: (0, CAPACITY[j]))
    m.demand = pyo.Constraint(expr=pyo.quicksum(m.x.values()) == DEMAND)
    m.workers = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 7)
    m.mix = pyo.Constraint(expr=m.x[2] - m.x[3] >= -1)
    cost = sum(PRICES[j] * pyo.log(1 + m.x[j] / SCALE[j]) + SHIP[j] * m.x[j] for j in m.j)
    m.cost = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    return m


def plants_cost(x):
    return sum(PRICES[j] * np.log(1 + x[j] / SCALE[j]) + SHIP[j] * x[j] for j in range(4))


def plants_vertices(extra=(), dropped=()):
    """Every vertex of the rows above, from all choices of three rows that hold with equality beside the demand."""
    eye = np.eye(4)
    rows = [(-eye[j], 0.0) for j in range(4)] + [(eye[j], CAPACITY[j]) for j in range(4)]
    rows += [(np.array([1.0, 2, 0, 0]), 7.0), (np.array([0.0, 0, -1, 1]), 1.0), *extra]
    rows = [row for k, row in enumerate(rows) if k not in dropped]
    A, b = np.array([a for a, _ in rows]), np.array([side for _, side in rows])
    found = []
    for chosen in itertools.combinations(range(len(rows)), 3):
        M = np.vstack([A[list(chosen)], np.ones(4)])
        if abs(np.linalg.det(M)) > 1e-9:
            x = np.linalg.solve(M, [*b[list(chosen)], DEMAND])
            if np.all(A @ x <= b + 1e-9) and not any(np.allclose(x, other) for other in found):
                found.append(x)
    return np.array(found)


@pytest.fixture(scope="module")
def vertices():
    return plants_vertices()


def point(model):
    return np.array([model.x[j].value for j in range(4)])


def test_the_textbook_model_has_vertices_to_get_stuck_at(vertices):
    """Else the tests below would prove nothing."""
    costs = np.sort([plants_cost(x) for x in vertices])
    assert len(vertices) >= 8
    assert costs[1] > costs[0] + 0.1


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_enough_starts_reach_the_best_vertex(sense, vertices):
    best = min(vertices, key=plants_cost)
    model = plants(sense)
    result = solvers.solve(model, "sla", starts=30, seed=1)
    sign = 1 if sense == pyo.minimize else -1
    assert (result.status, result.stop_reason) == (SolutionStatus.STATIONARY, StopReason.CONVERGED)
    assert sign * result.objective == pytest.approx(plants_cost(best), rel=1e-9)
    np.testing.assert_allclose(point(model), best, atol=1e-7)
    assert pyo.value(model.cost) == pytest.approx(result.objective, rel=1e-12)
    assert result.bound is None  # nothing is proven about other vertices
    assert result.gap is None
    incumbent = sign * result.iterations["Incumbent"].to_numpy(dtype=float)
    assert (np.diff(incumbent) <= 0).all()
    assert incumbent[-1] == pytest.approx(plants_cost(best), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_each_start_ends_at_a_vertex_that_no_slope_leaves(seed, vertices):
    model = plants()
    result = solvers.solve(model, "sla", starts=1, linear_start=False, seed=seed)
    x = point(model)
    slope = [PRICES[j] / (SCALE[j] + x[j]) + SHIP[j] for j in range(4)]
    assert min(np.abs(vertices - x).max(axis=1)) <= 1e-7
    assert min(vertices @ slope) >= slope @ x - 1e-7  # (17): an LP's optimum is at a vertex
    assert result.details["starts"]["stationary"].all()
    assert (np.diff(result.iterations["Objective"]) < 0).all()


def test_the_first_start_is_the_optimum_of_the_linear_part(vertices):
    result = solvers.solve(plants(), "sla", starts=0)
    first = min(vertices, key=lambda x: SHIP @ x)
    assert result.iterations["Objective"].iloc[0] == pytest.approx(plants_cost(first), rel=1e-9)
    assert list(result.details["starts"]["start"]) == ["linear part"]


def test_the_table_of_starts_says_how_far_apart_they_ended(vertices):
    result = solvers.solve(plants(), "sla", starts=6, seed=3)
    table = result.details["starts"]
    ends = {label: rows["Objective"].iloc[-1] for label, rows in result.iterations.groupby("Step")}
    assert list(table["start"]) == ["linear part", *(f"random {k}" for k in range(1, 7))]
    assert dict(zip(table["start"], table["objective"], strict=True)) == pytest.approx(ends)
    assert result.objective == table["objective"].min()
    assert table["linear_programs"].sum() == result.details["linear_programs"]
    costs = [plants_cost(x) for x in vertices]
    assert all(min(abs(np.array(costs) - end)) <= 1e-7 for end in table["objective"])
    best = int((table["objective"] <= table["objective"].min() + 1e-6).sum())
    assert f"7 starts ended between {table['objective'].min():.6g} and {table['objective'].max():.6g}" in result.message
    assert f"; {best} of them at the best." in result.message


def test_starts_find_different_vertices(vertices):
    table = solvers.solve(plants(), "sla", starts=30, seed=1).details["starts"]
    assert table["objective"].round(6).nunique() > 1


def test_where_random_starts_are_drawn(monkeypatch):
    """Between the bounds, or in the range that is asked for."""
    drawn = []
    original = solvers.model.function.SmoothFunction.gradient
    monkeypatch.setattr(
        solvers.model.function.SmoothFunction, "gradient", lambda f, x: drawn.append(x.copy()) or original(f, x)
    )
    solvers.solve(plants(), "sla", starts=1, linear_start=False, start_range=(0.25, 0.5))
    assert ((drawn[0] >= 0.25) & (drawn[0] <= 0.5)).all()
    drawn.clear()
    for seed in range(20):
        solvers.solve(plants(), "sla", starts=1, linear_start=False, iteration_limit=1, seed=seed)
    assert ((np.array(drawn) >= 0) & (np.array(drawn) <= CAPACITY)).all()
    assert np.array(drawn).max(axis=0) == pytest.approx(CAPACITY, rel=0.4)
    assert (np.array(drawn).max(axis=0) > 1).all()


def test_two_runs_with_one_seed_are_the_same():
    first, second = (solvers.solve(plants(), "sla", seed=5).iterations.drop(columns="Time") for _ in range(2))
    other = solvers.solve(plants(), "sla", seed=6).iterations.drop(columns="Time")
    assert first.equals(second)
    assert not first.equals(other)


# Objectives that are linear, or not concave.


def test_a_linear_model_is_solved_to_optimality(textbook):
    model = textbook.lp()
    result = solvers.solve(model, "sla", seed=2)
    assert (result.status, result.stop_reason) == (SolutionStatus.OPTIMAL, StopReason.CONVERGED)
    assert (result.objective, result.bound) == pytest.approx((11, 11))
    assert (model.x.value, model.y.value) == pytest.approx((3, 1))
    assert result.details["linear_programs"] == 1  # nothing is left to start at random


def test_the_table_of_a_linear_model_ends_with_its_bound(textbook):
    assert solvers.solve(textbook.lp(), "sla").iterations["Bound"].iloc[-1] == pytest.approx(11)


def test_a_curved_part_that_is_constant_leaves_a_linear_model():
    model = plants()
    model.price = pyo.Param(initialize=0.0, mutable=True)
    model.cost.set_value(model.x[0] - model.x[1] + model.price * pyo.exp(model.x[2]))
    result = solvers.solve(model, "sla")
    assert result.status is SolutionStatus.OPTIMAL
    truth = linprog([1, -1, 0, 0], A_ub=[[1, 2, 0, 0], [0, 0, -1, 1]], b_ub=[7, 1], A_eq=[[1] * 4], b_eq=[DEMAND],
                    bounds=[(0, c) for c in CAPACITY]).fun  # fmt: skip
    assert result.objective == pytest.approx(truth)
    assert result.bound == pytest.approx(truth)
    model.price = -1.0
    assert solvers.solve(model, "sla").status is SolutionStatus.STATIONARY


def test_a_convex_quadratic_whose_optimum_is_no_vertex():
    """Distance of (0.3, 0.9) from x + y <= 1, both at least 0: 2 (1/10)^2 at (1/5, 4/5)."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x + model.y <= 1)
    model.distance = pyo.Objective(expr=(model.x - 0.3) ** 2 + (model.y - 0.9) ** 2)
    result = solvers.solve(model, "sla", starts=2, tolerance=1e-6, iteration_limit=20_000)
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(0.02, abs=1e-6)  # convex: the stop (17) bounds the distance
    assert (model.x.value, model.y.value) == pytest.approx((0.2, 0.8), abs=2e-3)
    steps = result.details["starts"]["shortest_step"]
    assert (steps < 1).all()
    for _, rows in result.iterations.groupby("Step"):
        assert (np.diff(rows["Objective"]) < 0).all()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_the_tolerance_of_the_stop_bounds_the_distance_to_a_convex_optimum(tolerance):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1, 2], bounds=(0, None))
    model.row = pyo.Constraint(expr=pyo.quicksum(model.x.values()) == 1)
    target = [0.2, 0.5, 0.9]  # projected on the simplex: (0, 0.3, 0.7)
    model.distance = pyo.Objective(expr=sum((model.x[j] - t) ** 2 for j, t in enumerate(target)))
    result = solvers.solve(model, "sla", starts=0, tolerance=tolerance, iteration_limit=50_000)
    assert result.status is SolutionStatus.STATIONARY
    assert 0.12 - 1e-9 <= result.objective <= 0.12 + tolerance


def test_a_nonconvex_saddle(textbook):
    """x y: (17) holds at both optima, and at no vertex that is none."""
    result = solvers.solve(textbook.nonconvex(), "sla", starts=5)
    assert result.objective == pytest.approx(-2)


def test_a_step_must_gain_its_share():
    """x^2 from 1: the whole step to -0.99 gains 0.02, where the slope promises 4; half of it ends near 0."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(-0.99, 1))
    model.cost = pyo.Objective(expr=model.x**2 - 1e-3 * model.x)
    table = solvers.solve(model, "sla", starts=0).iterations["Objective"]
    assert table.iloc[0] == pytest.approx(0.999)
    assert table.iloc[1] < 1e-3
    assert model.x.value == pytest.approx(5e-4, abs=1e-4)


def test_steps_are_whole_where_the_objective_is_concave():
    steps = solvers.solve(plants(), "sla", starts=10).details["starts"]["shortest_step"].dropna()
    assert len(steps)
    assert (steps == 1).all()


# Where there is nothing to find.


def test_infeasible_rows():
    model = plants()
    model.more = pyo.Constraint(expr=model.x[0] + model.x[1] >= 8)
    model.x[0].set_value(0.5)
    result = solvers.solve(model, "sla")
    assert (result.status, result.stop_reason) == (SolutionStatus.INFEASIBLE, StopReason.CONVERGED)
    assert result.objective is result.bound is None
    assert model.x[0].value == 0.5


def test_rows_that_clash_are_named():
    model = plants()
    model.more = pyo.Constraint(expr=model.x[0] + model.x[1] >= 8)
    message = solvers.solve(model, "sla").message
    assert "more" in message
    assert "mix" not in message


@pytest.mark.parametrize("lp_solver", LP_SOLVERS)
def test_a_linear_objective_without_end(lp_solver, need):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x - model.y <= 1)
    model.cost = pyo.Objective(expr=-model.x - model.y)
    result = solvers.solve(model, "sla", lp_solver=need(lp_solver))
    assert result.status is SolutionStatus.UNBOUNDED
    assert result.objective is result.bound is None


def test_a_linear_objective_without_end_is_told_in_words():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None))
    model.cost = pyo.Objective(expr=-model.x)
    assert "bound or a row is missing" in solvers.solve(model, "sla").message


def test_an_unbounded_linear_part_is_left_to_the_other_starts():
    """-x + log(1 + e^2x) is least at x = 0 and grows for ever; its linear part -x falls for ever."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, 2))
    model.cost = pyo.Objective(expr=-model.x + pyo.log(1 + pyo.exp(2 * model.x)) - pyo.sqrt(1 + model.y))
    result = solvers.solve(model, "sla", starts=3)
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(np.log(2) - np.sqrt(3))
    assert (model.x.value, model.y.value) == pytest.approx((0, 2))
    table = result.details["starts"].set_index("start")
    assert np.isnan(float(table.loc["linear part", "objective"] or np.nan))
    assert table.loc[["random 1", "random 2", "random 3"], "stationary"].all()
    with pytest.raises(ModelError, match="bound the variables of the objective"):
        solvers.solve(model, "sla", starts=0)


def test_an_objective_without_end_is_an_error_that_says_what_to_do():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None))
    model.x.set_value(0.5)
    model.cost = pyo.Objective(expr=-pyo.log(1 + model.x))
    with pytest.raises(ModelError, match="bound the variables of the objective"):
        solvers.solve(model, "sla")
    assert model.x.value == 0.5


# What it does not take.


def square(model):
    return pyo.Constraint(expr=model.x[0] ** 2 <= 4)


REFUSED = {
    "ordered set of two": (lambda m: m.add_component("e", pyo.SOSConstraint(var=m.x, sos=2)), '"e" is of type 2.*scip'),
    "integers alone": (
        lambda m: (m.cost.set_value(m.x[0] + m.x[1]), setattr(m.x[0], "domain", pyo.Integers)),
        r'"x\[0\]" is integer, and the objective is linear.*Solve the model by name',
    ),
    "convex row": (lambda m: m.add_component("round", square(m)), 'Row "round" is not linear.*multi-start'),
    "row of two sides": (
        lambda m: m.add_component("round", pyo.Constraint(expr=(1, pyo.log(1 + m.x[0]), 4))),
        'Row "round" is not linear',
    ),
    "row in a block": (
        lambda m: m.add_component("side", pyo.Block(rule=lambda b: b.add_component("c", square(m)))),
        'Row "side.c" is not linear',
    ),
    "no objective": (lambda m: m.cost.deactivate(), "exactly one active objective"),
    "two objectives": (lambda m: m.add_component("o", pyo.Objective(expr=m.x[0])), "exactly one active objective"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_refuses_by_name(kind):
    edit, words = REFUSED[kind]
    model = plants()
    edit(model)
    before = state(model)
    with pytest.raises(ModelError, match=words):
        solvers.solve(model, "sla")
    assert state(model) == before


# Integers and ordered sets.


def with_sites(fixed_cost=2.0, sites=2):
    """The same plants, of which at most some may work, each at a fixed cost."""
    model = plants()
    model.works = pyo.Var(model.j, domain=pyo.Binary)
    model.only = pyo.Constraint(model.j, rule=lambda m, j: m.x[j] <= CAPACITY[j] * m.works[j])
    model.few = pyo.Constraint(expr=pyo.quicksum(model.works.values()) <= sites)
    model.cost.set_value(model.cost.expr + fixed_cost * pyo.quicksum(model.works.values()))
    return model


def best_with_sites(vertices, fixed_cost=2.0, sites=2):
    """A concave cost has its best point, for given plants, at a vertex; dropping plants adds rows x_j = 0 only."""
    return min(
        (plants_cost(x) + fixed_cost * np.count_nonzero(x > 1e-9) for x in vertices if (x > 1e-9).sum() <= sites),
    )


@pytest.mark.parametrize("sites", [2, 3])
@pytest.mark.parametrize("master_solver", ["highs", "scip"])
def test_binaries_choose_among_polyhedra_and_enumeration_agrees(master_solver, sites, vertices):
    model = with_sites(sites=sites)
    result = solvers.solve(model, "sla", master_solver=master_solver)
    assert result.status is SolutionStatus.STATIONARY
    assert result.objective == pytest.approx(best_with_sites(vertices, sites=sites), rel=1e-6)
    assert violation(model) <= 1e-9


def test_an_ordered_set_leaves_one_plant_nonzero(vertices):
    model = plants()
    model.one = pyo.SOSConstraint(var=model.x, index=[0, 2], sos=1)
    best = min(plants_cost(x) for x in vertices if min(x[0], x[2]) < 1e-9)
    result = solvers.solve(model, "sla")
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert min(model.x[0].value, model.x[2].value) == 0.0


def test_a_disjunction_is_written_as_rows(vertices):
    model = plants()
    model.either = Disjunction(expr=[[model.x[0] <= 0], [model.x[1] <= 0]])
    best = min(plants_cost(x) for x in vertices if min(x[0], x[1]) < 1e-9)
    before = state(model)
    result = solvers.solve(model, "sla")
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert state(model) == before
    assert [d.indicator_var.value for d in model.either.disjuncts].count(True) == 1


def test_binaries_that_the_objective_does_not_see_are_put_at_their_least_sum():
    model = with_sites(fixed_cost=0.0, sites=4)
    solvers.solve(model, "sla")
    assert [model.works[j].value for j in model.j] == [float(model.x[j].value > 0) for j in model.j]


def test_rows_on_binaries_that_clash_are_infeasible_and_named():
    model = with_sites(sites=1)
    result = solvers.solve(model, "sla")
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"few"' in result.message
    assert '"demand"' in result.message


def test_a_program_that_is_stopped_at_once_proves_nothing():
    model = with_sites()
    result = solvers.solve(model, "sla", master_seconds=1e-6)
    assert result.status in (SolutionStatus.NO_SOLUTION, SolutionStatus.FEASIBLE)
    with pytest.raises(OptionError, match="master_seconds=0"):
        solvers.solve(model, "sla", master_seconds=0)


def test_a_row_that_is_not_linear_is_refused_by_name():
    model = plants()
    model.hours = pyo.Constraint(expr=pyo.quicksum(pyo.log(1 + 4 * model.x[j]) for j in range(3)) <= 4.2)
    with pytest.raises(ModelError, match=r'Row "hours" is not linear.*sigma=True.*"multi-start".*scip'):
        solvers.solve(model, "sla")


def test_what_is_fixed_or_inactive_does_not_count(vertices):
    model = plants()
    model.whole = pyo.Var(domain=pyo.Integers)
    model.whole.fix(2)
    model.row = pyo.Constraint(expr=model.x[0] <= 1 + model.whole)
    model.round = pyo.Constraint(expr=model.x[0] ** 2 <= 1)
    model.round.deactivate()
    assert solvers.solve(model, "sla", starts=20).objective == pytest.approx(min(map(plants_cost, vertices)))


def test_a_row_that_a_fixed_variable_makes_linear_is_linear(vertices):
    model = plants()
    model.factor = pyo.Var()
    model.factor.fix(2.0)
    model.row = pyo.Constraint(expr=model.factor * model.x[0] <= 6)
    assert solvers.solve(model, "sla", starts=20).objective == pytest.approx(min(map(plants_cost, vertices)))


def test_an_unknown_kind_of_component_is_rejected_by_name():
    model = plants()
    model.left, model.right = Port(), Port()
    model.left.add(model.x[0], "flow"), model.right.add(model.x[1], "flow")
    model.pipe = Arc(source=model.left, destination=model.right)
    with pytest.raises(ModelError, match='Arc "pipe"'):
        solvers.solve(model, "sla")


def kink(function):
    """Least at x = 0, where the linear part's optimum is, and the slope does not exist."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-3, 3)), pyo.Var(bounds=(0, 2))
    model.right = pyo.Constraint(expr=model.x >= 0)  # a row: at a bound the slope from within would do
    model.cost = pyo.Objective(expr=function(model.x) + 0.1 * model.x + model.y)
    return model


def test_a_kink_is_an_error_that_names_the_fault():
    with pytest.raises(ModelError, match="must be smooth"):
        solvers.solve(kink(abs), "sla", starts=0)


def test_an_infinite_slope_is_an_error_that_names_the_fault():
    with pytest.raises(ModelError, match="must be smooth"):
        solvers.solve(kink(pyo.sqrt), "sla", starts=0)


def test_an_objective_without_a_value_is_an_error_that_names_the_fault():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(-3, 3), initialize=1.5)
    model.cost = pyo.Objective(expr=pyo.log(model.x) + 2 * model.x)
    with pytest.raises(ModelError, match=r"no value at a point within the rows|must be smooth"):
        solvers.solve(model, "sla", starts=0)
    assert model.x.value == 1.5


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"starts": 0, "linear_start": False}, OptionError, "starts=0 leaves no start.*linear_start=True"),
        ({"starts": -1}, OptionError, "starts=-1"),
        ({"starts": 1.5}, OptionError, r"starts=1\.5"),
        ({"starts": True}, OptionError, "starts=True"),
        ({"start": 3}, OptionError, 'Did you mean "starts"'),
        ({"oracle": "pyomo"}, OptionError, '"oracle" is not one of sla'),
        ({"iteration_limit": 0}, OptionError, "iteration_limit=0"),
        ({"time_limit": -1}, OptionError, "time_limit=-1"),
        ({"lp_solver": "higs"}, SolverError, 'Did you mean "highs"'),
        ({"lp_solver": "pounce"}, SolverError, '"pounce" is local'),
        ({"lp_solver": "scip"}, SolverError, '"scip" does not support'),
    ],
)
def test_options_that_mean_nothing(options, error, words):
    with pytest.raises(error, match=words):
        solvers.solve(plants(), "sla", **options)


@pytest.mark.parametrize("within", [(1, -1), 3, (0, 1, 2), (0, float("inf"))])
def test_a_range_of_starts_that_means_nothing(within):
    with pytest.raises(OptionError, match="start_range"):
        solvers.solve(plants(), "sla", start_range=within)


@pytest.mark.parametrize("tolerance", ["tight", -1.0, float("nan")])
def test_a_tolerance_that_means_nothing(tolerance):
    with pytest.raises(OptionError, match="tolerance"):
        solvers.solve(plants(), "sla", tolerance=tolerance)


# Edits between solves.


def test_fixed_variables_are_constants(vertices):
    model = plants()
    model.x[3].fix(1.5)
    level = plants_vertices(extra=[(np.eye(4)[3], 1.5), (-np.eye(4)[3], -1.5)])
    truth = min(map(plants_cost, level))
    assert truth > min(map(plants_cost, vertices)) + 0.1
    result = solvers.solve(model, "sla", starts=20)
    assert result.objective == pytest.approx(truth)
    assert (model.x[3].fixed, model.x[3].value) == (True, 1.5)
    model.x[3].unfix()
    assert solvers.solve(model, "sla", starts=20).objective == pytest.approx(min(map(plants_cost, vertices)))


def test_a_fixed_variable_outside_its_bounds_is_still_a_constant():
    model = plants()
    model.x[3].fix(2.5)
    result = solvers.solve(model, "sla", starts=20)
    assert model.x[3].value == 2.5
    assert sum(point(model)) == pytest.approx(DEMAND)
    assert pyo.value(model.cost) == pytest.approx(result.objective)


def test_everything_fixed():
    model = plants()
    for v, value in zip(model.x.values(), [3.0, 0.0, 2.5, 0.5], strict=True):
        v.fix(value)
    assert solvers.solve(model, "sla").objective == pytest.approx(plants_cost([3.0, 0.0, 2.5, 0.5]))


def test_a_row_of_fixed_variables_alone_still_counts():
    model = plants()
    model.x[0].fix(3.0)
    model.x[1].fix(2.5)  # together too many workers
    assert solvers.solve(model, "sla").status is SolutionStatus.INFEASIBLE
    model.x[1].fix(2.0)
    assert solvers.solve(model, "sla").status is SolutionStatus.STATIONARY


def test_everything_fixed_where_no_row_allows_it():
    model = plants()
    for v, value in zip(model.x.values(), [1.0, 0.0, 2.5, 0.5], strict=True):
        v.fix(value)
    result = solvers.solve(model, "sla")
    assert result.status is SolutionStatus.INFEASIBLE
    assert result.objective is result.bound is None


def test_mutable_parameters_count_with_their_values_now(vertices):
    model = plants()
    model.price = pyo.Param(initialize=1.0, mutable=True)
    model.least = pyo.Param(initialize=0.0, mutable=True)
    model.cost.set_value(model.cost.expr + model.price * pyo.sqrt(1 + model.x[2]))
    model.floor = pyo.Constraint(expr=model.x[3] >= model.least)
    for price, least in ((1.0, 0.0), (5.0, 0.0), (5.0, 0.7), (1.0, 0.0)):
        model.price, model.least = price, least
        level = plants_vertices(extra=[(-np.eye(4)[3], -least)])
        truth = min(plants_cost(x) + price * np.sqrt(1 + x[2]) for x in level)
        assert solvers.solve(model, "sla", starts=20).objective == pytest.approx(truth)


def test_an_added_row_moves_the_optimum():
    model = plants()
    best = min(plants_vertices(), key=plants_cost)
    solvers.solve(model, "sla", starts=20)
    j = int(np.argmax(best))
    model.x[j].setub(best[j] / 2)
    half = plants_vertices(extra=[(np.eye(4)[j], best[j] / 2)])
    assert solvers.solve(model, "sla", starts=20).objective == pytest.approx(min(map(plants_cost, half)))


# Limits, and leaving the model as it was found.


def test_what_a_finished_start_found_is_kept_at_a_limit():
    """Its point is stationary whatever became of the start that the limit cut off."""
    seen = set()
    for seed in range(8):
        free = solvers.solve(plants(), "sla", starts=1, linear_start=False, seed=seed)
        limit = free.details["linear_programs"] + 1
        model = plants()
        result = solvers.solve(model, "sla", starts=2, linear_start=False, seed=seed, iteration_limit=limit)
        assert result.stop_reason is StopReason.ITERATION_LIMIT
        assert result.objective <= free.objective
        assert pyo.value(model.cost) == pytest.approx(result.objective, rel=1e-9)
        kept = result.objective == free.objective and result.iterations["Objective"].iloc[-1] > free.objective + 1e-6
        if kept:
            assert result.status is SolutionStatus.STATIONARY
        seen.add(kept)
    assert True in seen


# Every solver of the linear programs.


@pytest.mark.parametrize("lp_solver", LP_SOLVERS)
def test_every_lp_solver_finds_the_best_vertex_of_the_textbook_model(lp_solver, vertices, need):
    result = solvers.solve(plants(), "sla", lp_solver=need(lp_solver), starts=20, seed=1, tolerance=1e-6)
    assert result.objective == pytest.approx(min(map(plants_cost, vertices)), rel=1e-5)


# The LP beneath: costs that change at every solve.


def test_highs_solves_what_it_should_after_each_change_of_costs():
    rng = np.random.default_rng(4)
    A, b = rng.normal(size=(12, 6)), rng.uniform(1, 2, 12)
    lp = HighsLP(np.zeros(6), np.full(6, -1.0), np.full(6, 1.0))
    lp.add_rows(A, np.full(12, -np.inf), b)
    for k in range(30):
        cost = rng.normal(size=6)
        lp.set_cost(cost)
        if k == 15:  # rows and costs at once
            A, b = np.vstack([A, rng.normal(size=(3, 6))]), np.append(b, [0.1, 0.1, 0.1])
            lp.add_rows(A[-3:], np.full(3, -np.inf), b[-3:])
        answer = lp.solve()
        assert answer.status is LpStatus.OPTIMAL
        assert answer.objective == pytest.approx(linprog(cost, A_ub=A, b_ub=b, bounds=(-1, 1)).fun, abs=1e-8)
        assert cost @ answer.point == pytest.approx(answer.objective, abs=1e-9)


def test_highs_distinguishes_unbounded_from_infeasible_after_a_change_of_costs():
    lp = HighsLP(np.array([1.0, 1.0]), np.zeros(2), np.full(2, np.inf))
    lp.add_rows(np.array([[1.0, -1.0]]), np.array([-np.inf]), np.array([1.0]))
    assert lp.solve().objective == pytest.approx(0)
    lp.set_cost(np.array([-1.0, -1.0]))
    assert lp.solve().status is LpStatus.UNBOUNDED
    lp.set_cost(np.array([1.0, -0.5]))
    assert lp.solve().status is LpStatus.UNBOUNDED
    lp.set_cost(np.array([1.0, 2.0]))
    assert lp.solve().objective == pytest.approx(0)
    lp.add_rows(np.array([[1.0, -1.0]]), np.array([2.0]), np.array([np.inf]))
    lp.set_cost(np.array([-1.0, -1.0]))
    assert lp.solve().status is LpStatus.INFEASIBLE


@pytest.mark.parametrize("seed", [-1, 1.5, "one"])
def test_a_seed_that_is_none(seed):
    with pytest.raises(OptionError, match=r"seed=.* is not allowed"):
        solvers.solve(plants(), "sla", seed=seed)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SolverFailure("first", "highs"), ZeroDivisionError("first")])
def test_no_further_program_is_solved_after_an_interruption_or_an_error(error, monkeypatch):
    model = with_sites()
    asked, rows = [], []

    def least(*_):
        asked.append(True)
        raise SolverFailure("second", "highs")

    def callback(row):
        rows.append(row)
        if len(rows) == 2:
            raise error

    monkeypatch.setattr(Pieces, "least", least)
    with contextlib.suppress(ZeroDivisionError):
        result = solvers.solve(model, "sla", callback=callback)
        assert result.stop_reason in (StopReason.INTERRUPTED, StopReason.SOLVER_ERROR)
        assert "second" not in result.message
    assert len(rows) == 2
    assert not asked


def test_a_failure_of_the_last_program_leaves_the_point_that_was_found(monkeypatch):
    def least(*_):
        raise SolverFailure("second", "highs")

    expected = solvers.solve(with_sites(), "sla")
    monkeypatch.setattr(Pieces, "least", least)
    result = solvers.solve(with_sites(), "sla")
    assert (result.status, result.stop_reason) == (expected.status, StopReason.CONVERGED)
    assert result.objective == pytest.approx(expected.objective)


def test_the_bound_of_a_linear_program_is_that_of_its_multipliers():
    """A step of 3000 along a column with a reduced cost of 3e-8 is worth 1e-4, which a solver's tolerance hides."""
    X = np.array([[1.00004234, 0.99982435, 0.99993231], [1.00002355, 0.99993854, 1.00001894],
                  [1.00005077, 1.00015047, 1.00009116], [0.99996699, 0.9998626, 1.00012668],
                  [1.00009936, 1.00005457, 0.99991216], [1.00000619, 0.99988289, 1.00005207],
                  [1.00015101, 0.99992223, 1.00011113], [0.9999688, 1.00008856, 1.00014341],
                  [1.00006839, 0.99996156, 1.00001305]])  # fmt: skip
    y = np.array([1.0, -1, -1, -1, 1, 1, 1, 1, 1])
    m = pyo.ConcreteModel()
    m.w, m.gamma, m.slack = pyo.Var(range(3)), pyo.Var(), pyo.Var(range(9), bounds=(0, None))
    m.margin = pyo.Constraint(
        range(9),
        rule=lambda m, i: y[i] * (sum(float(X[i, j]) * m.w[j] for j in range(3)) - m.gamma) + m.slack[i] >= 1,
    )
    m.cost = pyo.Objective(expr=sum(m.slack[i] / (6 if y[i] > 0 else 3) for i in range(9)))
    result = solvers.solve(m, "sla")
    best = solvers.solve(m, "highs", dual_feasibility_tolerance=1e-10).objective
    assert result.bound <= best * (1 + 1e-7)
    assert result.objective <= best * (1 + 1e-4)
