"""The single tree: same optimum as enumeration and the monolith, and a bound that never passes the truth."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
import solvers
from solvers import SolutionStatus, StopReason

DRIVER = "branch-and-cut"


@pytest.fixture(params=[(40, 6, 2, 1.0), (60, 7, 3, 10.0), (30, 8, 4, 0.1), (25, 5, 5, 100.0)])
def instance(request, make_data):
    rows, n, M, C = request.param
    return make_data(rows, n, seed=rows), M, C


def test_reaches_the_enumerated_optimum_and_brackets_it_all_along(instance, enumerated):
    data, M, C = instance
    best = enumerated(data, C=C, max_features=M)
    result = fs.solve(fs.fsp.fsp_m(data, max_features=M, C=C), DRIVER)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert result.bound <= best * (1 + 1e-7)
    table = result.iterations
    assert (table["Bound"].dropna() <= best * (1 + 1e-6)).all()
    assert (table["Incumbent"].dropna() >= best * (1 - 1e-7)).all()
    assert table["Bound"].dropna().is_monotonic_increasing
    assert table["Incumbent"].dropna().is_monotonic_decreasing


def test_prices_per_feature_and_side_constraints(make_data, enumerated):
    data = make_data(50, 6, seed=9)
    price = dict(zip(data.features, [0.5, 3.0, 0.0, 1.0, 2.0, 0.1], strict=True))
    best = enumerated(data, penalty=price, allowed=lambda s: s["a"] <= s["b"] and s["c"] + s["d"] <= 1)
    model = fs.fsp.fsp_lambda(data, penalty=price)
    model.needs = fs.side_constraints.requires(model, "a", "b")
    model.clash = fs.side_constraints.excludes(model, "c", "d")
    result = fs.solve(model, DRIVER)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("seed", [1, 2])
def test_seeds_change_nothing(instance, seed):
    data, M, C = instance
    results = [fs.solve(fs.fsp.fsp_m(data, max_features=M, C=C), DRIVER, seed=s) for s in (0, seed)]
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-4)
    again = fs.solve(fs.fsp.fsp_m(data, max_features=M, C=C), DRIVER, seed=0)
    columns = ["Step", "Objective", "Bound", "Incumbent", "Cuts"]
    assert again.iterations[columns].equals(results[0].iterations[columns])


def test_edits_of_the_subproblem_end_at_the_monoliths_optimum(build, convex_edit, edited_values):
    best = min(value for support, value in edited_values(convex_edit).items() if sum(support) <= 2)
    model = build()
    convex_edit(model)
    result = fs.solve(model, DRIVER)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4, abs=1e-6)


def test_edits_that_no_cut_covers_are_refused_by_name(data, refused_edit):
    edit, named = refused_edit
    model = fs.fsp.fsp_m(data, max_features=2)
    edit(model)
    with pytest.raises(solvers.Error) as refusal:
        fs.solve(model, DRIVER)
    assert named in str(refusal.value)


def test_edits_of_the_master_agree_with_benders(data, master_edit):
    answers = []
    for driver in (DRIVER, "benders"):
        model = fs.fsp.fsp_m(data, max_features=2)
        master_edit(model)
        answers.append(fs.solve(model, driver).objective)
    assert answers[0] == pytest.approx(answers[1], rel=2e-4)


@pytest.mark.parametrize("form", fs.fsp.FORMS)
@pytest.mark.parametrize("sub_solver", ["clarabel", "pounce"])
def test_declarative_subproblem_in_every_form(data, form, sub_solver, enumerated, need):
    need(sub_solver)
    model = fs.fsp.fsp_m(data, max_features=2, form=form)
    result = fs.solve(model, DRIVER, sub_solver=sub_solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(enumerated(data, max_features=2), rel=1e-4)


def facility_location(capacity=None, seed=0):
    """Open facilities, serve customers: the textbook's model, strong formulation."""
    rng = np.random.default_rng(seed)
    facilities, customers = range(6), range(10)
    cost = rng.uniform(1, 10, (6, 10))
    model = pyo.ConcreteModel()
    model.open = pyo.Var(facilities, domain=pyo.Binary)
    model.serve = pyo.Var(facilities, customers, bounds=(0, None))
    model.all = pyo.Constraint(customers, rule=lambda m, c: sum(m.serve[f, c] for f in facilities) == 1)
    if capacity is None:
        model.link = pyo.Constraint(facilities, customers, rule=lambda m, f, c: m.serve[f, c] <= m.open[f])
    else:
        model.link = pyo.Constraint(
            facilities, rule=lambda m, f: sum(m.serve[f, c] for c in customers) <= capacity * m.open[f]
        )
    model.cost = pyo.Objective(
        expr=sum(8.0 * model.open[f] for f in facilities)
        + sum(cost[f, c] * model.serve[f, c] for f in facilities for c in customers)
    )
    return model


@pytest.mark.parametrize("capacity", [None, 3])
def test_facility_location_with_and_without_infeasible_subproblems(capacity):
    best = solvers.solve(facility_location(capacity), "highs", gap=1e-9).objective
    model = facility_location(capacity)
    result = solvers.solve(model, DRIVER, complicating=[model.open])
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert result.bound <= best * (1 + 1e-7)


def test_a_model_that_maximises():
    model = facility_location(3)
    model.cost.set_value(-model.cost.expr)
    model.cost.sense = pyo.maximize
    best = -solvers.solve(facility_location(3), "highs", gap=1e-9).objective
    result = solvers.solve(model, DRIVER, complicating=[model.open])
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert result.bound >= best - 1e-6 * abs(best)


def test_general_integers_and_continuous_master_variables():
    def build():
        model = pyo.ConcreteModel()
        model.k = pyo.Var([0, 1], domain=pyo.Integers, bounds=(-3, 7))
        model.u = pyo.Var(bounds=(0, 5))
        model.y = pyo.Var(bounds=(0, None))
        model.row = pyo.Constraint(expr=model.k[0] + 2 * model.k[1] + model.u >= 3.7)
        model.link = pyo.Constraint(expr=model.y >= 4.3 - model.k[0] - 0.7 * model.k[1])
        model.cost = pyo.Objective(expr=model.k[0] + 1.6 * model.k[1] + 2 * model.u + 3 * model.y)
        return model

    best = solvers.solve(build(), "highs", gap=1e-9).objective
    model = build()
    result = solvers.solve(model, DRIVER, complicating=[model.k], subproblem=[model.y])
    assert result.objective == pytest.approx(best, rel=1e-4)


@pytest.fixture
def long_run():
    """A model that takes some hundred nodes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 20))
    y = np.where(X @ rng.uniform(-1, 1, 20) + 2 * rng.normal(size=60) > 0, 1.0, -1.0)
    return fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y), max_features=5, C=1.0)


def test_a_time_limit_returns_incumbent_and_bound_at_every_stage(long_run):
    optimum = fs.solve(long_run, DRIVER)
    assert optimum.status is SolutionStatus.OPTIMAL
    for limit in (0.0, 1e-3, 0.02, 0.05, 0.1, 0.2):
        result = fs.solve(long_run, DRIVER, time_limit=limit)
        if result.bound is not None:
            assert result.bound <= optimum.objective * (1 + 1e-7)
        if result.objective is not None:
            assert result.objective >= optimum.bound * (1 - 1e-7)
        assert (result.status is SolutionStatus.NO_SOLUTION) == (result.objective is None)


def test_an_iteration_limit_and_a_callback_stop_with_what_is_held(long_run):
    limited = fs.solve(long_run, DRIVER, iteration_limit=3)
    assert limited.stop_reason is StopReason.ITERATION_LIMIT
    assert limited.status is SolutionStatus.FEASIBLE
    assert limited.bound < limited.objective
    stopped = fs.solve(long_run, DRIVER, callback=lambda row: row["Step"] == "incumbent")
    assert stopped.stop_reason is StopReason.CALLBACK
    assert stopped.objective is not None


@pytest.mark.parametrize("step", ["root", "incumbent", "tree"])
def test_ctrl_c_at_any_stage_returns_incumbent_and_bound_and_restores_the_model(long_run, step):
    def interrupt(row):
        if row["Step"] == step:
            raise KeyboardInterrupt

    before = [(v.fixed, v.lb, v.ub, v.domain) for v in long_run.component_data_objects(pyo.Var)]
    result = fs.solve(long_run, DRIVER, callback=interrupt)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert [(v.fixed, v.lb, v.ub, v.domain) for v in long_run.component_data_objects(pyo.Var)] == before
    if result.objective is not None:
        assert pyo.value(long_run.objective) == pytest.approx(result.objective)


def test_infeasible_rows_are_named(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    model.all = fs.side_constraints.force_in(model, *"abc")
    result = fs.solve(model, DRIVER)
    assert result.status is SolutionStatus.INFEASIBLE
    assert "cardinality" in result.message
    assert "all[a]" in result.message


def test_validation_keeps_the_classifier_with_the_least_error(make_data):
    train, other = make_data(40, 6, seed=5), make_data(60, 6, seed=6)
    result = fs.solve(fs.fsp.fsp_m(train, max_features=2), DRIVER, choose_by="validation", validation=other)
    plain = fs.fsp.fsp_m(train, max_features=2)
    fs.solve(plain, DRIVER)
    assert result.details["validation_error"] <= plain.structure.score(plain, other)


def test_reduced_cost_fixing_keeps_the_optimum(make_data, enumerated):
    for seed in range(8):
        data = make_data(80, 7, seed=seed, noise=0.2)
        result = fs.solve(fs.fsp.fsp_m(data, max_features=2, C=0.05), DRIVER)
        assert result.objective == pytest.approx(enumerated(data, C=0.05, max_features=2), rel=1e-4)
