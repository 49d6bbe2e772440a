"""Kelley's cutting planes: textbook models with known optima, bounds that bracket, limits, separators, refusals."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

import solvers
from cutting_planes import Norm, brackets
from model_state import state
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.facts.separable import Separable
from solvers.interfaces.registry import SOLVERS
from solvers.interfaces.runner import SolveOptions
from solvers.lp.highs import HighsLP, LpStatus
from solvers.lp.pyomo import PyomoLP
from solvers.walker import Walker

LP_SOLVERS = ["highs", "clarabel", "gurobi", "glpk"]
INF = np.inf


def disc(sense=pyo.maximize):
    """Maximum sqrt(6) of x + y in a disc of radius sqrt(3)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 3)
    m.sum = pyo.Objective(expr=m.x + m.y if sense == pyo.maximize else -m.x - m.y, sense=sense)
    return m


def ellipse(n=4):
    """Distance of a point from an ellipsoid, whose nearest point comes from a scalar equation."""
    axes, target = np.linspace(1, 2, n), np.linspace(3, 1, n)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n))
    m.inside = pyo.Constraint(expr=sum((m.x[j] / axes[j]) ** 2 for j in range(n)) <= 1)
    m.distance = pyo.Objective(expr=sum((m.x[j] - target[j]) ** 2 for j in range(n)))
    low, high = 0.0, 1e3
    for _ in range(200):  # x = target / (1 + k / axes^2) with k >= 0 where the ellipsoid binds
        k = (low + high) / 2
        x = target / (1 + k / axes**2)
        low, high = (k, high) if ((x / axes) ** 2).sum() > 1 else (low, k)
    return m, x, float(((x - target) ** 2).sum())


def unproven(x):
    """Return the exponential function in a form that no rule of convexity covers."""
    return pyo.cosh(x) + pyo.sinh(x)


def box(exp=pyo.exp):
    """Least surface of a box of volume 1, in logarithms of its sides: 6 for the cube."""
    m = pyo.ConcreteModel()
    m.u = pyo.Var(range(3), bounds=(-3, 3), initialize=0.5)
    m.area = pyo.Var(bounds=(0, 100))
    pairs = [(0, 1), (0, 2), (1, 2)]
    m.surface = pyo.Constraint(expr=sum(2 * exp(m.u[i] + m.u[j]) for i, j in pairs) <= m.area)
    m.volume = pyo.Constraint(expr=m.u[0] + m.u[1] + m.u[2] >= 0)
    m.cost = pyo.Objective(expr=m.area)
    return m


@pytest.mark.parametrize("lp_solver", LP_SOLVERS)
@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
def test_a_linear_objective_over_a_disc(sense, lp_solver, need):
    model = disc(sense)
    before = state(model)
    result = solvers.solve(model, "cutting-plane", lp_solver=need(lp_solver))
    sign = -1.0 if sense == pyo.maximize else 1.0
    assert (result.status, result.stop_reason) == (SolutionStatus.OPTIMAL, StopReason.CONVERGED)
    assert sign * result.objective == pytest.approx(-np.sqrt(6), rel=1e-6)
    assert (model.x.value, model.y.value) == pytest.approx((np.sqrt(1.5), np.sqrt(1.5)), abs=2e-3)
    assert pyo.value(model.sum) == pytest.approx(result.objective, rel=1e-12)
    brackets(result, -sign * np.sqrt(6), sign)
    assert state(model) == before


def test_projection_onto_an_ellipsoid_without_bounds():
    model, nearest, distance = ellipse()
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(distance, rel=2e-6)
    np.testing.assert_allclose([v.value for v in model.x.values()], nearest, atol=5e-3)
    brackets(result, distance)


def test_it_agrees_with_clarabel_on_random_convex_quadratic_models(need):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(4), bounds=(-3, 3))
        x = list(m.x.values())
        m.rows = pyo.ConstraintList()
        for _ in range(3):
            F, c = rng.normal(size=(2, 4)), rng.normal(size=4)
            m.rows.add(sum((sum(F[k, j] * x[j] for j in range(4))) ** 2 for k in range(2)) + sum(c * x) <= 2.0)
        m.plane = pyo.Constraint(expr=sum(x) == 0.5)
        G = rng.normal(size=(3, 4))
        curved = sum((sum(G[k, j] * x[j] for j in range(4)) - 1) ** 2 for k in range(3)) if seed % 2 else 0.0
        m.cost = pyo.Objective(expr=curved + sum(rng.normal(size=4) * x))
        truth = solvers.solve(m, need("clarabel")).objective
        result = solvers.solve(m, "cutting-plane")
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(truth, rel=3e-6, abs=3e-6)
        brackets(result, truth, rel=3e-6)


def test_rows_that_are_convex_by_rules():
    result = solvers.solve(box(), "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    brackets(result, 6)


def test_rows_that_are_convex_by_assumption():
    model = box(unproven)
    with pytest.raises(ModelError, match=r'Row "surface" is not quadratic.*assume_convex=True'):
        solvers.solve(model, "cutting-plane")
    result = solvers.solve(model, "cutting-plane", assume_convex=True)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.bound is None
    assert result.details["bound_if_convex"] == pytest.approx(6, rel=1e-6)
    assert result.objective == pytest.approx(6, rel=1e-6)
    assert 'if convex, as assumed: Row "surface"' in result.message
    brackets(result, 6)


def test_a_convex_objective_by_assumption(textbook):
    model = textbook.nlp()
    model.cost.set_value(unproven(model.x) - 2 * model.x)
    with pytest.raises(ModelError, match='Objective "cost" is not quadratic'):
        solvers.solve(model, "cutting-plane")
    result = solvers.solve(model, "cutting-plane", assume_convex=True)
    assert result.objective == pytest.approx(2 - 2 * np.log(2), rel=1e-6)
    brackets(result, 2 - 2 * np.log(2))
    assert not result.iterations["Incumbent"].isna().any()  # every point satisfies the linear rows


def test_a_concave_objective_is_maximised():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4))
    model.gain = pyo.Objective(expr=3 * model.x - model.x**2, sense=pyo.maximize)
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(2.25, rel=1e-6)
    brackets(result, 2.25, -1.0)


def test_a_row_with_a_lower_side_and_a_parameter():
    model = pyo.ConcreteModel()
    model.p = pyo.Param(initialize=-4.0, mutable=True)
    model.x = pyo.Var(bounds=(-9, 9))
    model.row = pyo.Constraint(expr=-(model.x**2) >= model.p)
    model.cost = pyo.Objective(expr=model.x)
    assert solvers.solve(model, "cutting-plane").objective == pytest.approx(-2, rel=1e-6)
    model.p = -9.0
    assert solvers.solve(model, "cutting-plane").objective == pytest.approx(-3, rel=1e-6)


def test_a_linear_model_needs_one_program(textbook):
    model = textbook.lp()
    result = solvers.solve(model, "cutting-plane")
    assert (result.status, len(result.iterations)) == (SolutionStatus.OPTIMAL, 1)
    assert (result.objective, result.bound) == pytest.approx((11, 11))


def test_what_is_fixed_or_inactive_does_not_count():
    model = disc()
    model.k = pyo.Var(domain=pyo.Integers)
    model.k.fix(2)
    model.row = pyo.Constraint(expr=model.x * model.k <= 2)
    model.off = pyo.Constraint(expr=model.x * model.y <= -9)
    model.off.deactivate()
    result = solvers.solve(model, "cutting-plane")
    assert result.objective == pytest.approx(1 + np.sqrt(2), rel=1e-6)


# Where there is nothing to find.


def test_linear_rows_that_clash_are_named():
    model = disc()
    model.high, model.low = pyo.Constraint(expr=model.x >= 2), pyo.Constraint(expr=model.x <= 1)
    result = solvers.solve(model, "cutting-plane")
    assert (result.status, result.objective, result.bound) == (SolutionStatus.INFEASIBLE, None, None)
    assert "high" in result.message
    assert "low" in result.message


def test_a_convex_row_that_clashes_is_named():
    model = disc()
    model.far = pyo.Constraint(expr=model.x + model.y >= 2.6)
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"disc"' in result.message


@pytest.mark.parametrize(("small", "integer"), [(1e-13, False), (1e-11, False), (1e-11, True)])
def test_a_bound_counts_coefficients_that_highs_drops(small, integer):
    """By default HiGHS drops the coefficient of x; the LP's own value is then 1000 where 999.9 is optimal."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(0, None))
    m.margin = pyo.Constraint(expr=m.z + small * m.x >= 1)
    m.most = pyo.Constraint(expr=m.x + m.y <= 1e-4 / small)
    m.cost = pyo.Objective(expr=1e3 * m.z + m.y**2)
    if integer:
        m.n = pyo.Var(domain=pyo.Binary)
        m.more = pyo.Constraint(expr=m.y >= 1e-3 - m.n)
        m.cost.expr += m.n
    result = solvers.solve(m, "cutting-plane")
    assert result.bound is None or result.bound <= 999.9 + 1e-6 * (1 + integer)


def test_a_tangent_with_coefficients_above_1e15_is_scaled():
    """The slope of 9 / s is -9e16 at the first point, s = 1e-8; HiGHS accepts no coefficient above 1e15."""
    m = pyo.ConcreteModel()
    m.w, m.s = pyo.Var(bounds=(3, 5)), pyo.Var(bounds=(1e-8, None), initialize=20)
    m.unit = pyo.Constraint(expr=m.w**2 / m.s <= 1)
    m.least = pyo.Objective(expr=m.s)
    result = solvers.solve(m, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(9, rel=1e-6)
    assert result.bound <= 9


def test_a_linear_objective_without_end():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, None))
    model.cost = pyo.Objective(expr=-model.x)
    result = solvers.solve(model, "cutting-plane")
    assert (result.status, result.objective) == (SolutionStatus.UNBOUNDED, None)
    assert "bound or a row is missing" in result.message


@pytest.mark.parametrize("integer", [False, True])
def test_a_ray_of_curved_rows_is_unbounded(integer):
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=1.0), pyo.Var(domain=pyo.Integers if integer else pyo.Reals)
    model.row = pyo.Constraint(expr=model.y**2 - model.x <= 1)  # x may grow for ever
    model.cost = pyo.Objective(expr=-model.x + model.y**2)
    assert solvers.solve(model, "cutting-plane").status is SolutionStatus.UNBOUNDED
    model.far = pyo.Constraint(expr=model.y**2 + model.x <= -4)
    assert solvers.solve(model, "cutting-plane").status is SolutionStatus.INFEASIBLE


def test_an_end_that_rows_do_not_show_is_an_error_that_names_the_variable():
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=1.0), pyo.Var()
    model.row = pyo.Constraint(expr=model.y**2 + pyo.exp(-model.x) <= 1)  # x may grow for ever
    model.cost = pyo.Objective(expr=-model.x)
    with pytest.raises(ModelError, match=r"Bound the variables that grow: x\."):
        solvers.solve(model, "cutting-plane")
    assert model.x.value == 1.0


# What it does not take.

REFUSED = {
    "two sides": (
        lambda m: m.add_component("e", pyo.Constraint(expr=(1, m.x**2 + m.y**2, 3))),
        'Row "e" is nonlinear with two sides',
    ),
    "equation": (lambda m: m.add_component("e", pyo.Constraint(expr=m.x**2 == m.y)), '"e" is nonlinear with two'),
    "not convex": (lambda m: m.add_component("e", pyo.Constraint(expr=m.x * m.y <= 1)), '"e" is quadratic and not'),
    "wrong side": (lambda m: m.add_component("e", pyo.Constraint(expr=m.x**2 >= 1)), '"e" is quadratic and not'),
    "objective": (lambda m: m.sum.set_value(m.x**2), 'Objective "sum" is quadratic and not convex'),
    "a slightly concave part": (
        lambda m: m.sum.set_value(m.y**2 - 1e-10 * m.x**2),  # x may be in units of a millionth
        'Objective "sum" is quadratic and not convex',
    ),
    "no objective": (lambda m: m.sum.deactivate(), "exactly one active objective"),
}


@pytest.mark.parametrize("assume_convex", [False, True])
@pytest.mark.parametrize("kind", REFUSED)
def test_refuses_by_name(kind, assume_convex):
    edit, words = REFUSED[kind]
    model = disc()
    edit(model)
    before = state(model)
    with pytest.raises(ModelError, match=words):
        solvers.solve(model, "cutting-plane", assume_convex=assume_convex)
    assert state(model) == before


def test_a_disjunction_is_written_as_rows():
    models = disc(), disc()
    for model in models:
        model.e = Disjunction(expr=[[model.x <= -0.5], [model.y <= -0.6]])
    assert solvers.solve(models[0], "cutting-plane").status is SolutionStatus.OPTIMAL
    assert pyo.value(models[0].sum) == pytest.approx(solvers.solve(models[1], "scip").objective, rel=1e-4)


def test_a_row_without_a_value_is_an_error_that_names_it():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(-3, 3), initialize=1.0)
    model.row = pyo.Constraint(expr=-pyo.log(model.x) <= 0.5)
    model.cost = pyo.Objective(expr=model.x + 5)
    model.row2 = pyo.Constraint(expr=-pyo.log(model.x + 1) <= 0)
    model.x.set_value(-1.0)
    with pytest.raises(ModelError, match='Row "row'):
        solvers.solve(model, "cutting-plane", assume_convex=True)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tolerance": 0}, OptionError, "tolerance=0"),
        ({"tolerance": 1e-3}, OptionError, r"tolerance=0\.001"),
        ({"assume": True}, OptionError, 'Did you mean "assume_convex"'),
        ({"separable": 3}, OptionError, "separable=3"),
        ({"lp_solver": "pounce"}, SolverError, "pounce"),
        ({"iteration_limit": 0}, OptionError, "iteration_limit=0"),
    ],
)
def test_options_that_mean_nothing(options, error, words):
    with pytest.raises(error, match=words):
        solvers.solve(disc(), "cutting-plane", **options)


# Limits.


@pytest.mark.parametrize("limit", [1, 3])
def test_an_iteration_limit_returns_the_bound(limit):
    model = disc()
    model.x.set_value(0.25)
    result = solvers.solve(model, "cutting-plane", iteration_limit=limit)
    assert (result.status, result.stop_reason) == (SolutionStatus.NO_SOLUTION, StopReason.ITERATION_LIMIT)
    assert len(result.iterations) == limit
    assert result.bound >= np.sqrt(6)
    assert model.x.value == 0.25


def test_a_limit_returns_the_incumbent_where_only_the_objective_is_curved():
    model = ellipse()[0]
    model.inside.deactivate()
    for v in model.x.values():
        v.setlb(-2.5), v.setub(2.5)
    result = solvers.solve(model, "cutting-plane", iteration_limit=1)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.ITERATION_LIMIT)
    assert result.bound < result.objective == pytest.approx(pyo.value(model.distance))


def test_an_iteration_limit_holds_in_boxes_too():
    result = solvers.solve(ellipse()[0], "cutting-plane", iteration_limit=3)
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert result.bound is None  # of a box, and not of the model


def test_a_box_without_a_point_proves_nothing():
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(), pyo.Var()
    model.far = pyo.Constraint(expr=model.y >= 500)
    model.row = pyo.Constraint(expr=(model.x - 300) ** 2 - model.y <= 0)
    model.cost = pyo.Objective(expr=model.x + model.y)
    result = solvers.solve(model, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(800 - np.sqrt(500), rel=1e-6)


def test_a_gap_stops_early():
    loose = solvers.solve(ellipse()[0], "cutting-plane", gap=1e-2)
    tight = solvers.solve(ellipse()[0], "cutting-plane")
    assert loose.status is tight.status is SolutionStatus.OPTIMAL
    assert len(loose.iterations) <= len(tight.iterations)
    assert loose.gap <= 1e-2


# A separator: the largest eigenvalue of x0 [[1, 0], [0, -1]] + x1 [[0, 1], [1, 0]], which is the norm of x.


def cone(attach=True):
    m = pyo.ConcreteModel()
    m.most = pyo.Param(initialize=1.0, mutable=True)
    m.x, m.y = pyo.Var(bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.r = pyo.Var(bounds=(0, None))
    m.norm = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.r**2)
    m.size = pyo.Constraint(expr=m.r <= m.most)
    m.cost = pyo.Objective(expr=-m.x - 2 * m.y)
    facts = Separable([m.x, m.y], [m.r], [m.norm, m.size], Norm(m))
    if attach:
        facts.attach(m)
    return m, facts


@pytest.mark.parametrize("attach", [True, False])
def test_a_separator_gives_an_incumbent_at_every_iteration(attach):
    model, facts = cone(attach)
    own = {} if attach else {"separable": facts}
    result = solvers.solve(model, "cutting-plane", **own)
    assert (result.status, result.objective) == (SolutionStatus.OPTIMAL, pytest.approx(-np.sqrt(5), rel=1e-6))
    assert model.r.value == pytest.approx(1, rel=1e-9)
    assert result.details["violation"] <= 1e-9
    assert not result.iterations["Incumbent"].isna().any()
    brackets(result, -np.sqrt(5))
    model.most = 3.0
    assert solvers.solve(model, "cutting-plane", **own).objective == pytest.approx(-3 * np.sqrt(5), rel=1e-6)


def test_a_limit_returns_what_the_separator_repairs():
    model, _ = cone()
    result = solvers.solve(model, "cutting-plane", iteration_limit=1)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.ITERATION_LIMIT)
    assert result.bound < -np.sqrt(5) < result.objective
    assert result.details["violation"] <= 1e-9


def test_rows_and_bounds_of_visible_variables_join_the_program():
    for edit, optimum in (
        (lambda m: m.add_component("e", pyo.Constraint(expr=m.y <= 0.6)), -0.8 - 1.2),
        (lambda m: m.y.setub(0.6), -0.8 - 1.2),
        (lambda m: m.y.fix(0.6), -0.8 - 1.2),
        (lambda m: m.add_component("e", pyo.Constraint(expr=m.y**2 <= 0.36)), -0.8 - 1.2),
        (lambda m: m.cost.set_value(-m.x), -1.0),
        (
            lambda m: (m.add_component("z", pyo.Var(bounds=(0, 1))),
                       m.add_component("e", pyo.Constraint(expr=m.y + m.z <= 0.6))),
            -0.8 - 1.2,
        ),
    ):  # fmt: skip
        model, _ = cone()
        edit(model)
        result = solvers.solve(model, "cutting-plane")
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(optimum, rel=2e-6)
        assert result.details["violation"] <= 1e-6


HIDDEN_EDITS = {
    "row": (lambda m: m.add_component("e", pyo.Constraint(expr=m.r + m.x <= 1)), 'row "e" holds "r"'),
    "objective": (lambda m: m.cost.set_value(-m.x + m.r), 'the objective holds "r"'),
    "bound": (lambda m: m.r.setub(0.5), 'bounds, domain or fixing of "r"'),
    "fixed": (lambda m: m.r.fix(0.5), 'bounds, domain or fixing of "r"'),
    "deactivated": (lambda m: m.size.deactivate(), 'row "size" was deactivated'),
    "changed": (lambda m: m.size.set_value(m.r <= 2 * m.most), 'row "size" was changed'),
}


@pytest.mark.parametrize("kind", HIDDEN_EDITS)
def test_edits_of_what_a_separator_stands_for_are_refused_by_name(kind):
    edit, words = HIDDEN_EDITS[kind]
    model, _ = cone()
    edit(model)
    with pytest.raises(ModelError, match=f"{words}.*clarabel"):
        solvers.solve(model, "cutting-plane")


# The sides of rows, and columns, of the LP.


@pytest.mark.parametrize("solver", ["direct", *LP_SOLVERS])
def test_sides_of_rows_change(solver, need):
    arrays = np.array([1.0, 2.0]), np.zeros(2), np.full(2, INF)
    lp = HighsLP(*arrays) if solver == "direct" else PyomoLP(SOLVERS[need(solver)], SolveOptions(), *arrays)
    lp.add_rows(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([3.0, -INF, -INF]), np.array([INF, 1.0, INF]))
    assert lp.solve().objective == pytest.approx(5.0)
    lp.set_sides(np.array([1, 0]), np.array([-INF, 4.0]), np.array([2.0, INF]))
    answer = lp.solve()
    assert answer.objective == pytest.approx(6.0)
    assert answer.multipliers[:2] == pytest.approx([2.0, -1.0], abs=1e-6)
    lp.set_sides(np.array([2]), np.array([3.0]), np.array([3.0]))
    assert lp.solve().objective == pytest.approx(7.0)
    lp.set_sides(np.array([2, 1]), np.array([-INF, -INF]), np.array([1.0, 2.0]))
    assert lp.solve().status is LpStatus.INFEASIBLE
    lp.set_sides(np.array([2]), np.array([-INF]), np.array([INF]))
    assert lp.solve().objective == pytest.approx(6.0)
    lp.set_sides(np.empty(0, dtype=int), np.empty(0), np.empty(0))
    lp.delete_rows(np.array([0]))
    lp.set_sides(np.array([0]), np.array([1.5]), np.array([2.0]))
    assert lp.solve().objective == pytest.approx(1.5)


def test_columns_join_a_highs_lp():
    lp = HighsLP(np.array([3.0]), np.zeros(1), np.full(1, INF))
    lp.add_rows(np.array([[1.0]]), np.array([2.0]), np.array([INF]))
    assert lp.solve().objective == pytest.approx(6.0)
    lp.add_columns(np.array([[2.0, -1.0]]), np.array([1.0, 1.0]), np.zeros(2), np.full(2, INF))
    answer = lp.solve()
    assert (answer.objective, lp.columns) == (pytest.approx(1.0), 3)
    assert answer.point == pytest.approx([0.0, 1.0, 0.0])
    lp.set_cost(np.array([0.1, 1.0, 1.0]))
    assert lp.solve().objective == pytest.approx(0.2)


def test_quadratic_rows_are_read_once(monkeypatch):
    model, nearest, _ = ellipse()
    walks = []
    original = Walker.walk
    monkeypatch.setattr(Walker, "walk", lambda walker, *args: walks.append(1) or original(walker, *args))
    monkeypatch.setattr(solvers.model.function, "Tape", None)  # no derivatives of expressions
    result = solvers.solve(model, "cutting-plane")
    np.testing.assert_allclose([v.value for v in model.x.values()], nearest, atol=5e-3)
    assert len(result.iterations) > 4
    assert len(walks) <= 4


# Rows that are hard for tangents.


def test_an_infeasible_row_is_found_so_where_its_slope_is_rounding():
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.row = pyo.Constraint(
        expr=(-0.2867299190012126 * model.x + 0.12317992062651277) ** 2
        + (2.3624189202137407 * model.x + 1.0218538102952426) ** 2
        <= -0.9159130024616493
    )
    model.cost = pyo.Objective(expr=0.35 * model.x)
    assert solvers.solve(model, "cutting-plane").status is SolutionStatus.INFEASIBLE
