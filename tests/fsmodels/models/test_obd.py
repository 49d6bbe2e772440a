"""Optimal brain damage: derivatives by a loop, what is dropped, and that the model is left as it was."""

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from scipy import sparse

import fsmodels as fs
from model_state import state
from robust_reference import robust
from solvers import Result, SolutionStatus, StopReason
from solvers.clock import Clock
from solvers.model.classes import violation


@pytest.fixture
def data(make_data):
    """Not separable: each feature counts for something."""
    return make_data(40, 6, seed=3, noise=1.0)


def f(data, w, gamma):
    """(4), term by term."""
    A, B = data.X[data.y > 0], data.X[data.y < 0]
    first = sum(max(0.0, -x @ w + gamma + 1) for x in A) / len(A)
    return first + sum(max(0.0, x @ w - gamma + 1) for x in B) / len(B)


def robust_on(data, kept):
    """(5) on some features by scipy."""
    return robust(data.X[:, [data.features.index(j) for j in kept]], data.y)[0]


def plane(model):
    return np.array([v.value for v in model.w.values()]), model.gamma.value


@pytest.mark.parametrize("delta", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("solved", [True, False])
def test_derivatives_by_a_loop(solved, delta, data):
    model = fs.svm.robust_lp(data)
    if solved:
        fs.solve(model)
    else:
        rng = np.random.default_rng(0)
        for v in [*model.w.values(), model.gamma]:
            v.set_value(rng.normal())
    w, gamma = plane(model)
    here = f(data, w, gamma)
    by_hand = [
        max(abs(f(data, w + sign * delta * e, gamma) - here) for sign in (1, -1)) for e in np.eye(data.n_features)
    ]
    found = fs.obd.derivatives(model, data, delta)
    np.testing.assert_allclose(found.to_numpy(), by_hand, rtol=1e-9, atol=1e-12)
    assert list(found.index) == list(data.features)
    assert min(by_hand) >= 0
    np.testing.assert_array_equal(plane(model)[0], w)


def test_derivatives_of_sparse_data_and_in_pieces(data, monkeypatch):
    model = fs.svm.robust_lp(data)
    fs.solve(model)
    whole = fs.obd.derivatives(model, data)
    thin = fs.Dataset.from_arrays(sparse.csr_matrix(data.X), data.y, features=list(data.features))
    np.testing.assert_allclose(fs.obd.derivatives(model, thin), whole, rtol=1e-12)
    for chunk in (1, 90):  # one column at a time, and two
        monkeypatch.setattr("fsmodels.models.obd.CHUNK", chunk)
        np.testing.assert_allclose(fs.obd.derivatives(model, data), whole, rtol=1e-12)
        np.testing.assert_allclose(fs.obd.derivatives(model, thin), whole, rtol=1e-12)


def test_derivatives_grow_with_the_step_as_f_is_convex(data):
    model = fs.svm.robust_lp(data)
    fs.solve(model)
    small, large = (fs.obd.derivatives(model, data, delta) / delta for delta in (1e-3, 1.0))
    assert (large >= small - 1e-9).all()
    assert (large > small + 1e-3).any()


@pytest.mark.filterwarnings("ignore:Data")
@pytest.mark.parametrize("name", ["cleveland", "ionosphere", "wpbc"])
def test_the_readings_of_delta_2(name):
    """Compared with the largest directional derivative as printed, all differences are small: nothing is kept."""
    data = fs.load_dataset(name).scaled("standard")
    model = fs.svm.robust_lp(data)
    fs.solve(model, "highs")
    differences, slopes = fs.obd.derivatives(model, data, 0.01), fs.obd.derivatives(model, data, 1e-7) / 1e-7
    assert (differences >= 0.01 * slopes * (1 - 1e-5) - 1e-10).all()  # f is convex
    assert (differences < 0.05 * slopes.max()).all()
    for nu in (0.05, 0.3, 0.6):
        by_slope = set(slopes.index[slopes < nu * slopes.max()])
        dropped = fs.obd.suppress(model, data, nu=nu, solver="highs").details["suppressed"]
        assert len(by_slope ^ set(dropped)) <= 1  # of 13, 34 and 32 features


@pytest.mark.parametrize("nu", [0.0, 0.4, 0.55, 0.7, 0.999999])
def test_what_is_dropped_and_what_the_rest_costs(nu, data):
    model = fs.svm.robust_lp(data)
    before = state(model)
    result = fs.obd.suppress(model, data, nu=nu, delta=0.1)
    assert state(model) == before
    D = result.details["derivatives"]
    dropped = [j for j in data.features if D[j] < nu * D.max()]
    kept = [j for j in data.features if j not in dropped]
    assert result.details["suppressed"] == dropped
    assert set(result.selected) <= set(kept)
    assert result.objective == pytest.approx(robust_on(data, kept), abs=1e-7)
    assert f(data, *plane(model)) == pytest.approx(result.objective, abs=1e-7)
    assert [model.w[j].value for j in dropped] == [0.0] * len(dropped)
    assert result.bound == pytest.approx(robust_on(data, data.features), abs=1e-7)
    assert result.bound <= result.objective + 1e-9
    lost = robust_on(data, kept) > robust_on(data, data.features) + 1e-4
    assert result.status is (SolutionStatus.FEASIBLE if lost else SolutionStatus.OPTIMAL)
    assert violation(model) <= 1e-6
    if nu == 0:
        assert dropped == []
    if nu == 0.999999:
        assert kept == [D.idxmax()]


def test_more_is_dropped_as_nu_grows(data):
    sizes = [
        len(fs.obd.suppress(fs.svm.robust_lp(data), data, nu=nu, delta=0.1).details["suppressed"])
        for nu in (0, 0.4, 0.55, 0.7, 0.999999)
    ]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) >= 4  # the test above has seen several sizes


def test_the_derivatives_are_those_of_the_first_solution(data):
    model = fs.svm.robust_lp(data)
    fs.solve(model)
    expected = fs.obd.derivatives(model, data, 0.1)
    result = fs.obd.suppress(fs.svm.robust_lp(data), data, nu=0.6, delta=0.1)
    np.testing.assert_allclose(result.details["derivatives"], expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Data")
def test_a_feature_that_says_nothing_is_dropped_first(data):
    wider = fs.Dataset.from_arrays(np.column_stack([data.X, np.zeros(40)]), data.y, features=[*data.features, "idle"])
    result = fs.obd.suppress(fs.svm.robust_lp(wider), wider, nu=1e-9, delta=0.1)
    assert result.details["derivatives"]["idle"] == pytest.approx(
        0, abs=1e-12
    )  # up to rounding, which is not the same with all numbers of threads
    assert result.details["suppressed"] == ["idle"]
    assert result.status is SolutionStatus.OPTIMAL  # nothing was lost


@pytest.mark.filterwarnings("ignore:Data")
def test_separable_classes_in_closed_form():
    """x = -1, 1: w = 1 just separates, so a step of delta back costs delta in each class, and one ahead nothing."""
    data = fs.Dataset.from_arrays([[-1.0, 0.5], [1.0, 0.5]], [-1, 1], features=["x", "shift"])
    model = fs.svm.robust_lp(data)
    for v, value in ((model.w["x"], 1.0), (model.w["shift"], 0.0), (model.gamma, 0.0)):
        v.set_value(value)
    D = fs.obd.derivatives(model, data, 0.25)
    assert D["x"] == pytest.approx(0.5)
    assert D["shift"] == pytest.approx(0.125)  # moves both margins by 1/8, one of them below 1


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip"])
def test_a_weight_of_rounding_is_not_selected(solver, need):
    """Column "idle" raises no error and lowers none; an interior point leaves 1e-10 in place of 0."""
    need(solver)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    X = np.vstack([np.c_[x, np.ones(40)], np.c_[x, -np.ones(40)]])
    y = np.tile(np.where(x[:, 0] + rng.normal(size=40) > 0, 1, -1), 2)
    data = fs.Dataset.from_arrays(X, y, features=["x", "idle"])
    assert fs.obd.suppress(fs.svm.robust_lp(data), data, nu=0.0, solver=solver).selected == ["x"]


# Edits, fixings, limits.


def test_fixed_weights_stay_fixed(data):
    model = fs.svm.robust_lp(data)
    result = fs.obd.suppress(model, data, nu=0.9, delta=0.1)
    first = result.details["suppressed"][0]
    model.w[first].fix(0.7)
    again = fs.obd.suppress(model, data, nu=0.9, delta=0.1)
    assert (model.w[first].fixed, model.w[first].value) == (True, 0.7)
    assert first not in again.details["suppressed"]
    assert not any(model.w[j].fixed for j in data.features if j != first)


def test_a_row_that_needs_a_dropped_weight_keeps_the_first_solution(data):
    model = fs.svm.robust_lp(data)
    j = fs.obd.suppress(model, data, nu=0.9, delta=0.1).details["suppressed"][0]
    model.row = pyo.Constraint(expr=model.w[j] >= 0.01)
    whole = fs.solve(model).objective
    before = state(model)
    result = fs.obd.suppress(model, data, nu=0.999, delta=0.1)
    assert state(model) == before
    D = result.details["derivatives"]
    assert D[j] < 0.999 * D.max()  # it was to be dropped
    assert result.details["suppressed"] == []
    assert result.objective == pytest.approx(whole)
    assert "Without the dropped features there is no solution" in result.message
    assert model.w[j].value >= 0.01 - 1e-9
    assert f(data, *plane(model)) == pytest.approx(result.objective, abs=1e-7)


def test_a_bound_that_needs_a_dropped_weight_is_kept(data):
    model = fs.svm.robust_lp(data)
    j = fs.obd.suppress(model, data, nu=0.9, delta=0.1).details["suppressed"][0]
    model.w[j].setlb(0.01)
    fs.obd.suppress(model, data, nu=0.999, delta=0.1)
    assert model.w[j].value >= 0.01 - 1e-9
    assert violation(model) <= 1e-6


def test_infeasible_rows_end_before_anything_is_dropped(data):
    model = fs.svm.robust_lp(data)
    model.row = pyo.Constraint(expr=sum(model.y.values()) <= -1)
    result = fs.obd.suppress(model, data, nu=0.5)
    assert result.status is SolutionStatus.INFEASIBLE
    assert not any(v.fixed for v in model.w.values())


def test_another_objective_is_respected_by_both_solves(data):
    """A user's price of one class: what is dropped follows (4), what is solved is the model."""
    model = fs.svm.robust_lp(data)
    model.objective.set_value(sum(model.y.values()) + 3 * sum(model.z.values()))
    result = fs.obd.suppress(model, data, nu=0.9, delta=0.1)
    assert pyo.value(model.objective) == pytest.approx(result.objective)
    assert result.bound <= result.objective


@pytest.mark.parametrize("solver", ["highs", "scip", "clarabel", "gurobi"])
def test_every_solver_by_name(solver, data, need):
    result = fs.obd.suppress(fs.svm.robust_lp(data), data, nu=0.0, solver=need(solver))
    assert result.objective == pytest.approx(robust_on(data, data.features), abs=1e-6)


def test_time_limit_of_nothing(data):
    model = fs.svm.robust_lp(data)
    before = state(model)
    result = fs.obd.suppress(model, data, nu=0.5, delta=0.1, time_limit=0)
    assert state(model) == before
    if result.has_solution:  # an LP that small may be done before the clock is read
        assert f(data, *plane(model)) == pytest.approx(result.objective, abs=1e-7)
    else:
        assert (result.stop_reason, result.status) == (StopReason.TIME_LIMIT, SolutionStatus.NO_SOLUTION)


def test_a_limit_in_the_second_solve_keeps_the_first_solution(data, monkeypatch):
    model = fs.svm.robust_lp(data)
    solve, given = fs.obd.solve, []

    def out_of_time(model, solver, **options):
        given.append(Clock.of_run(options["time_limit"]).left)
        if len(given) == 1:
            return solve(model, solver, **options)
        for v in model.component_data_objects(pyo.Var):
            v.set_value(9.0, skip_validation=True)
        return Result(SolutionStatus.NO_SOLUTION, StopReason.TIME_LIMIT, message="stopped at the time limit")

    monkeypatch.setattr("fsmodels.models.obd.solve", out_of_time)
    result = fs.obd.suppress(model, data, nu=0.7, delta=0.1, time_limit=100)
    assert 100 >= given[0] > given[1] > 0  # both count from one beginning
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.objective == pytest.approx(robust_on(data, data.features))
    assert result.details["suppressed"] == []
    assert "stopped at the time limit" in result.message
    assert f(data, *plane(model)) == pytest.approx(result.objective, abs=1e-7)
    assert not any(v.fixed for v in model.w.values())


def test_a_second_solve_that_has_only_the_trivial_point_keeps_the_first_solution(data, monkeypatch):
    """A linear program that is stopped at once has w = 0, which is feasible and decides nothing."""
    model, solve, calls = fs.svm.robust_lp(data), fs.obd.solve, []

    def out_of_time(model, solver, **options):
        calls.append(None)
        return solve(model, solver, time_limit=100 if len(calls) == 1 else 1e-9)

    monkeypatch.setattr("fsmodels.models.obd.solve", out_of_time)
    result = fs.obd.suppress(model, data, nu=0.7, delta=0.1)
    assert len(calls) == 2
    assert result.stop_reason is StopReason.TIME_LIMIT
    assert result.objective == pytest.approx(robust_on(data, data.features))
    assert result.details["suppressed"] == []
    assert result.selected == list(data.features)
    assert f(data, *plane(model)) == pytest.approx(result.objective, abs=1e-7)


def test_an_error_in_the_second_solve_unfixes(data, monkeypatch):
    model = fs.svm.robust_lp(data)
    solve, calls = fs.obd.solve, []

    def twice(model, solver, **options):
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve(model, solver, **options)

    monkeypatch.setattr("fsmodels.models.obd.solve", twice)
    with pytest.raises(KeyboardInterrupt):
        fs.obd.suppress(model, data, nu=0.9, delta=0.1)
    assert not any(v.fixed for v in model.w.values())


@pytest.mark.parametrize("nu", [-0.1, 1, 1.0, float("nan"), "half", None])
def test_a_share_that_means_nothing(nu, data):
    with pytest.raises(fs.ParameterError, match=r"nu=.*dropped.*from 0 to below 1"):
        fs.obd.suppress(fs.svm.robust_lp(data), data, nu=nu)


@pytest.mark.parametrize("delta", [0, -1.0, float("inf"), "small"])
def test_a_step_that_means_nothing(delta, data):
    with pytest.raises(fs.ParameterError, match="delta="):
        fs.obd.suppress(fs.svm.robust_lp(data), data, nu=0.5, delta=delta)


# Rows on features.


def with_rows(data, kind):
    model = fs.svm.robust_lp(data)
    model.sigma = pyo.Var(model.features, domain=pyo.Binary)
    a, b, c, *_ = data.features
    side, costs = fs.side_constraints, dict(zip(data.features, [3, 1, 2, 2, 1, 4], strict=True))
    if kind == "budget":
        model.row = side.budget(model, costs, 6)
    elif kind == "pair":
        model.row, model.other = side.requires(model, a, b), side.excludes(model, a, c)
    elif kind == "group":
        model.row, model.other = side.all_or_none(model, [a, b, c]), side.at_most(model, data.features, 4)
    elif kind == "force":
        model.row, model.other = side.force_in(model, a), side.force_out(model, b)
    else:
        model.half = pyo.Var(domain=pyo.Integers, bounds=(0, 3))
        model.row = pyo.Constraint(expr=pyo.quicksum(model.sigma.values()) == 2 * model.half + 1)
    return model, {
        "budget": lambda s: sum(costs[j] for j in s) <= 6,
        "pair": lambda s: (a not in s or b in s) and not {a, c} <= s,
        "group": lambda s: len({j in s for j in (a, b, c)}) == 1 and len(s) <= 4,
        "force": lambda s: a in s and b not in s,
        "odd": lambda s: len(s) % 2 == 1,
    }[kind]


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("kind", ["budget", "pair", "group", "force", "odd"])
def test_rows_on_features_hold_and_the_least_is_lost_of_all_selections(kind, nu, data):
    model, allowed = with_rows(data, kind)
    before = state(model)
    result = fs.obd.suppress(model, data, nu=nu)
    changes = result.details["derivatives"]
    rule = {j for j in data.features if changes[j] >= nu * changes.max()}

    def worth(s):
        return changes[list(s & rule)].sum() - 1e-4 * changes.max() * len(s - rule) / len(changes)

    everything = [{j for k, j in enumerate(data.features) if bits >> k & 1} for bits in range(2**data.n_features)]
    kept = set(data.features) - set(result.details["suppressed"])
    assert allowed(kept)
    assert set(result.selected) == kept
    assert worth(kept) == pytest.approx(max(worth(s) for s in everything if allowed(s)), abs=1e-9)
    assert result.objective == pytest.approx(robust_on(data, sorted(kept)), abs=1e-9)
    assert result.bound <= result.objective + 1e-9
    assert (result.status is SolutionStatus.OPTIMAL) == (result.objective <= result.bound * (1 + 1e-4))
    assert {j for j in data.features if model.sigma[j].value > 0.5} == kept
    assert violation(model) <= 1e-9
    assert state(model) == before
    assert ("against the rule" in result.message) == (kept != rule)


def test_rows_without_a_selection_are_an_error_that_names_them(data):
    model, _ = with_rows(data, "force")
    model.none = pyo.Constraint(expr=pyo.quicksum(model.sigma.values()) == 0)
    with pytest.raises(fs.InfeasibleParameter, match=r"No selection satisfies the rows none, other, row: relax"):
        fs.obd.suppress(model, data, nu=0.3)


def test_a_row_on_sigma_and_weights_is_refused_by_name(data):
    model, _ = with_rows(data, "force")
    a = data.features[0]
    model.link = pyo.Constraint(expr=model.w[a] <= 5 * model.sigma[a])
    with pytest.raises(fs.ModelError, match=r'Row "link" contains both sigma and variables of the plane.*use fs'):
        fs.obd.suppress(model, data, nu=0.3)


def test_by_name_obd_and_the_robust_lp_take_rows(data):
    a, b, *rest = data.features
    for model in ("obd", "robust-lp"):
        found = fs.select(data, model, penalty=0.3, max_features=3, force_in=[b], excludes=[(a, rest[0])])
        assert b in found.selected
        assert len(found.selected) <= 3
        assert not {a, rest[0]} <= set(found.selected)
    assert found.status is SolutionStatus.OPTIMAL


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda m: m.objective.set_value(m.objective.expr + m.sigma["a"]), 'Objective "objective"'),
        (lambda m: m.add_component("e", Disjunction(expr=[[m.sigma["a"] == 1], [m.sigma["b"] == 1]])), "Disjunction"),
    ],
)
def test_what_is_said_of_the_selection_without_a_row_is_named(edit, named, make_data):
    data = make_data(12, 3, seed=1)
    model = fs.obd.build(data, penalty=0.1, sigma=True)
    edit(model)
    with pytest.raises(fs.ModelError, match=named):
        fs.obd.suppress(model, data, nu=0.1)


def test_a_model_with_sigma_says_what_is_selected_to_any_solver():
    data = fs.load_dataset("bupa").scaled("standard")
    model = fs.obd.build(data, penalty=0.5, sigma=True)
    model.few = pyo.Constraint(expr=sum(model.sigma.values()) <= 2)
    result = fs.solve(model)
    assert result.selected is not None
    assert len(result.selected) <= 2
