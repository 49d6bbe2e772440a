"""GMEB without s: the family of norms, the driver on (15), and the path, against Clarabel, brute force and by hand."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.model_selection import StratifiedKFold

import fsmodels as fs
from fsmodels.models.gmeb.grid import _snake, selected
from fsmodels.models.gmeb.norm import Moments
from solvers.model.classes import violation

GRID = [1.0, 3.0, 8.0]


def truth(data, R_plus, R_minus):
    result = fs.solve(fs.gmeb.primal(data, R_plus=R_plus, R_minus=R_minus), "clarabel")
    assert result.status is fs.SolutionStatus.OPTIMAL or result.objective < 1e-6  # no relative gap closes at 0
    return result.objective


def weights(table):
    return np.array(table.attrs["weights"])


def wide(rows=20, n=150, seed=0):
    """More columns than the first linear program of the path holds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n)) * rng.uniform(0.1, 10, n)
    y = np.where(np.arange(rows) % 3 > 0, 1.0, -1.0)
    X[:, :5] += 0.4 * y[:, None] * X.std(axis=0)[:5]
    return fs.Dataset.from_arrays(X, y).scaled("none")


SETS = {
    "noisy": lambda make: make(18, 4, 1),
    "tall": lambda make: make(40, 6, 2, 1.5),
    "bupa": lambda make: fs.load_dataset("bupa").scaled("standard").take(np.arange(0, 345, 5)),
    "wdbc": lambda make: fs.load_dataset("wdbc").scaled("standard").take(np.arange(0, 569, 8)),
    "wide": lambda make: wide(),
    "unscaled": lambda make: fs.load_dataset("bupa").take(np.arange(0, 345, 7)).scaled("none"),
}


@pytest.fixture(params=list(SETS))
def some(request, make_data):
    return SETS[request.param](make_data)


# The family of norms.

SIZES = st.floats(1e-6, 10) | st.just(0.0)


@settings(max_examples=60)
@given(
    arrays(float, 5, elements=st.floats(-5, 5)),
    arrays(float, 5, elements=SIZES),
    arrays(float, 5, elements=SIZES),
    st.floats(0.1, 20),
    st.floats(0.1, 20),
)
def test_separation_finds_the_worst_row_of_all(w, v_plus, v_minus, R_plus, R_minus):
    w[np.abs(w) < 1e-6] = 0.0
    found = Moments(v_plus, v_minus).worst(w, R_plus, R_minus)
    angle = np.linspace(0, np.pi / 2, 20001)[:, None]
    p, q = np.cos(angle) ** 2 / R_plus, np.sin(angle) ** 2 / R_minus
    ratios = np.sqrt(p * v_plus + q * v_minus) @ np.abs(w)
    assert found.ratio >= ratios.max() * (1 - 1e-7) - 1e-9
    assert found.p * R_plus + found.q * R_minus == pytest.approx(1)
    here = np.sqrt(found.p * v_plus + found.q * v_minus) @ np.abs(w)
    assert here == pytest.approx(found.ratio, rel=1e-9, abs=1e-9)  # attained, not only bounded


@pytest.mark.parametrize("seed", range(10))
def test_s_is_recovered_from_w(seed):
    """(w, s) satisfies (15) exactly where w satisfies every row, and no s does where w does not."""
    rng = np.random.default_rng(seed)
    v_plus, v_minus, w = rng.uniform(0.1, 4, 7), rng.uniform(0.1, 4, 7), rng.normal(size=7)
    w[seed % 7] = 0.0
    R_plus, R_minus = rng.uniform(0.5, 5, 2)
    moments = Moments(v_plus, v_minus)
    ratio = moments.worst(w, R_plus, R_minus).ratio
    s = moments.scales(w, R_plus, R_minus)
    assert s[seed % 7] == 0
    assert (s >= 0).all()
    assert v_plus @ s <= R_plus * (1 + 1e-9)
    assert v_minus @ s <= R_minus * (1 + 1e-9)
    used = w != 0
    assert (w[used] ** 2 / s[used]).sum() == pytest.approx(ratio**2, rel=1e-8)
    for _ in range(200):  # no other s does better
        other = s * rng.uniform(0.5, 1.5, 7)
        other /= max(v_plus @ other / R_plus, v_minus @ other / R_minus)
        assert (w[used] ** 2 / other[used]).sum() >= ratio**2 * (1 - 1e-9)


def test_a_feature_that_varies_in_one_class_only():
    moments = Moments(np.array([0.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0]))
    w = np.array([1.0, -1.0, 0.5])
    ratio = moments.worst(w, 3.0, 2.0).ratio
    s = moments.scales(w, 3.0, 2.0)
    assert (w**2 / s).sum() == pytest.approx(ratio**2, rel=1e-8)
    assert moments.v_plus @ s <= 3 * (1 + 1e-9)
    assert moments.v_minus @ s <= 2 * (1 + 1e-9)


# The driver on (15).


@pytest.mark.parametrize(("R_plus", "R_minus"), [(1.0, 1.0), (2.0, 9.0), (6.0, 5.0)])
def test_cutting_planes_reach_the_optimum_of_the_cones(some, R_plus, R_minus):
    model = fs.gmeb.primal(some, R_plus=R_plus, R_minus=R_minus)
    result = fs.solve(model, "cutting-plane")
    expected = truth(some, R_plus, R_minus)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=2e-6, abs=1e-6)
    assert violation(model) <= 1e-8  # of (15) itself, with the s and t that were recovered
    bound, incumbent = (result.iterations[c].to_numpy(dtype=float) for c in ("Bound", "Incumbent"))
    assert (bound <= expected * (1 + 1e-6) + 1e-6).all()
    assert (incumbent >= expected * (1 - 1e-6) - 1e-6).all()


SEEN = {
    "row on w": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] >= m.w["b"] + 0.3)),
    "row on b": lambda m: m.add_component("e", pyo.Constraint(expr=m.b >= 0.5)),
    "bound on w": lambda m: m.w["a"].setub(-0.2),
    "sign of w": lambda m: setattr(m.w["b"], "domain", pyo.NonPositiveReals),
    "bound on xi": lambda m: [m.xi[i].setub(1.2) for i in (1, 9)],
    "fixed w": lambda m: m.w["a"].fix(0.2),
    "fixed offset": lambda m: m.offset.fix(0.3),
    "convex row": lambda m: m.add_component("e", pyo.Constraint(expr=m.w["c"] ** 2 + m.offset**2 <= 0.64)),
    "margin deactivated": lambda m: [m.margin[i].deactivate() for i in range(5)],
    "weighted loss": lambda m: m.objective.set_value(m.loss + 2 * m.xi[0] + 0.3 * m.offset),
}


@pytest.mark.parametrize("edit", SEEN)
def test_rows_of_w_offset_and_xi_count(edit, data):
    models = [fs.gmeb.primal(data, R_plus=3.0, R_minus=3.0) for _ in range(2)]
    plain = truth(data, 3.0, 3.0)
    for m in models:
        SEEN[edit](m)
    expected = fs.solve(models[0], "clarabel").objective
    result = fs.solve(models[1], "cutting-plane", tolerance=1e-9)
    assert result.status is fs.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(expected, rel=5e-6)
    assert violation(models[1]) <= 1e-6
    assert abs(expected - plain) > 1e-4  # the edit matters


REFUSED = {
    "row on s": (lambda m: m.add_component("side", pyo.Constraint(expr=m.s["a"] <= 0.1)), 'row "side" holds "s'),
    "budget on s": (
        lambda m: m.add_component("side", pyo.Constraint(expr=pyo.quicksum(m.s.values()) <= 1)),
        'row "side" holds "s',
    ),
    "row on t": (lambda m: m.add_component("side", pyo.Constraint(expr=m.t["a"] <= m.w["a"])), 'row "side" holds "t'),
    "bound on s": (lambda m: m.s["a"].setub(0.1), r'"s\[a\]" were changed'),
    "fixed s": (lambda m: m.s["a"].fix(0.1), r'"s\[a\]" were changed'),
    "cost of s": (lambda m: m.objective.set_value(m.loss + m.s["a"]), 'the objective holds "s'),
    "cone deactivated": (lambda m: m.cone["b"].deactivate(), r'row "cone\[b\]" was deactivated'),
    "unit changed": (lambda m: m.unit.set_value(pyo.quicksum(m.t.values()) <= 2), 'row "unit" was changed'),
    "class deactivated": (lambda m: m.second_plus.deactivate(), 'row "second_plus" was deactivated'),
    "cone deleted": (lambda m: m.cone.__delitem__("b"), "cone"),
}


@pytest.mark.parametrize("edit", REFUSED)
def test_edits_of_s_and_t_are_refused_by_name_with_who_can(edit, data):
    change, words = REFUSED[edit]
    model = fs.gmeb.primal(data, R_plus=3.0, R_minus=3.0)
    change(model)
    with pytest.raises(fs.ModelError, match=f"(?s){words}.*clarabel"):
        fs.solve(model, "cutting-plane")
    assert fs.solve(model, "clarabel").status is fs.SolutionStatus.OPTIMAL


# The path.


def test_the_path_has_the_optima_of_the_cones(some):
    table = fs.gmeb.path(some, R_plus=GRID, R_minus=GRID)
    assert list(table.index) == list(itertools.product(GRID, GRID))
    assert set(table["status"]) == {"optimal"}
    columns = fs.gmeb.centred(some)
    for (pair, row), w, b in zip(table.iterrows(), weights(table), table.attrs["bias"], strict=True):
        expected = truth(some, *pair)
        assert row["objective"] == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert row["bound"] <= expected * (1 + 1e-6) + 1e-6
        assert row["bound"] <= row["objective"]
        # By hand, from the weights for the data as given:
        margins = some.y * (some.X @ w + b)
        assert np.maximum(0, 1 - margins).sum() == pytest.approx(row["objective"], rel=1e-9, abs=1e-7)
        assert Moments(columns.v_plus, columns.v_minus).worst(w, *pair).ratio <= 1 + 1e-12
        assert row["training_error"] == np.mean(np.where(some.X @ w + b > 0, 1, -1) != some.y)
        assert row["selected"] == selected(w, some.features)
        assert row["n_selected"] == len(row["selected"])


@pytest.mark.parametrize("lp_solver", ["clarabel", "gurobi", "glpk"])
def test_the_path_by_other_solvers(lp_solver, data, need):
    table = fs.gmeb.path(data, R_plus=[1, 4], R_minus=[2, 3], lp_solver=need(lp_solver), gap=1e-6)
    for pair, row in table.iterrows():
        assert row["objective"] == pytest.approx(truth(data, *pair), rel=5e-6)


def test_one_feature_in_closed_form():
    """Two samples of each class at -1 and 1, centred at 0: |w| <= min of sqrt(R / v), loss 1 - w each."""
    data = fs.Dataset.from_arrays([[1.0], [1.0], [-1.0], [-1.0]], [1, 1, -1, -1])
    table = fs.gmeb.path(data, R_plus=[0.04, 0.25, 4.0], R_minus=[0.09, 9.0])
    for (R_plus, R_minus), row in table.iterrows():
        w = min(1.0, np.sqrt(min(R_plus, R_minus)))  # v+ = v- = 1
        assert row["objective"] == pytest.approx(4 * (1 - w), abs=1e-8)
    assert table.attrs["weights"][0][0] == pytest.approx(0.2)


def test_the_objective_never_rises_with_a_bound(some):
    objective = fs.gmeb.path(some, R_plus=GRID, R_minus=GRID)["objective"].to_numpy().reshape(3, 3)
    assert (np.diff(objective, axis=0) <= 1e-6).all()
    assert (np.diff(objective, axis=1) <= 1e-6).all()


def test_the_units_of_the_columns_do_not_matter(make_data):
    data = make_data(30, 5, 4)
    other = fs.Dataset.from_arrays(data.X * [0.01, 1, 100, 5, 0.3] + 7, data.y)
    first, second = (fs.gmeb.path(d, R_plus=GRID, R_minus=GRID)["objective"] for d in (data, other))
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_columns_join_where_the_data_are_wide():
    data = wide(seed=1)
    table = fs.gmeb.path(data, R_plus=GRID, R_minus=GRID)
    assert table["lps"].sum() > len(table)
    assert table["lp_iterations"].sum() > 0
    assert (table["rows"] >= 3).all()


def test_linear_programs_in_which_highs_goes_in_circles_are_solved():
    train = fs.synthetic.peleg_meir(100, 1000, 2, seed=0).train
    rows = list(StratifiedKFold(5, shuffle=True, random_state=0).split(train.X, train.y))[4][0]
    values = [1.0, 2.5, 4.0, 5.5, 7.0, 8.5, 10.0]
    table = fs.gmeb.path(train.take(rows).scaled("none"), R_plus=values[5:], R_minus=values, time_limit=60)
    assert len(table) == 14
    assert (table["objective"] - table["bound"] < 1e-6).all()


def test_a_constant_column_is_left_out(data):
    X = np.column_stack([data.X[:, :2], np.full(len(data), 5.0), data.X[:, 2:]])
    with pytest.warns(fs.DataWarning):
        more = fs.Dataset.from_arrays(X, data.y)
    with pytest.warns(fs.DataWarning, match="constant"):
        table = fs.gmeb.path(more, R_plus=[1, 2], R_minus=[1, 2])
    plain = fs.gmeb.path(data, R_plus=[1, 2], R_minus=[1, 2])
    np.testing.assert_allclose(table["objective"], plain["objective"], rtol=1e-7)
    assert all(w[2] == 0 for w in table.attrs["weights"])


def test_validation_is_scored_in_its_own_scaling():
    train, held, _ = fs.load_dataset("bupa").split(0.6, 0.4, 0.0, seed=1)
    scaled = train.scaled("standard")
    table = fs.gmeb.path(scaled, R_plus=[2], R_minus=[2, 3], validation=held)
    other = scaled.apply_scale_to(held)
    for row, w, b in zip(table["validation_error"], weights(table), table.attrs["bias"], strict=True):
        assert row == np.mean(np.where(other.X @ w + b > 0, 1, -1) != other.y)
    assert "validation_error" not in fs.gmeb.path(scaled, R_plus=2, R_minus=2)


def test_what_counts_as_selected():
    assert selected(np.array([2.0, 0.015, 0.009]), "abc") == ["a", "b"]  # by size
    assert selected(np.array([0.1, 0.002, 0.0009]), "abc") == ["a", "b"]  # by ratio
    assert selected(np.zeros(3), "abc") == []


def test_neighbours_follow_one_another():
    pairs = list(_snake([1, 2, 3], [4, 5]))
    assert sorted(pairs) == list(itertools.product([1, 2, 3], [4, 5]))
    assert all((a[0] == b[0]) != (a[1] == b[1]) for a, b in itertools.pairwise(pairs))


def test_no_time_leaves_an_empty_table(data):
    table = fs.gmeb.path(data, R_plus=[1, 2], R_minus=[1], time_limit=0)
    assert len(table) == 0
    assert table.attrs["weights"] == []


def test_ctrl_c_leaves_what_is_finished(data, monkeypatch):
    from fsmodels.models.gmeb import grid

    original, calls = grid._RestrictedLP.solve, []

    def stop(self, *pair):
        calls.append(pair)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *pair)

    monkeypatch.setattr(grid._RestrictedLP, "solve", stop)
    assert list(fs.gmeb.path(data, R_plus=[1, 2], R_minus=[1, 2]).index) == [(2.0, 1.0), (2.0, 2.0)]


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"R_plus": [1, 0]}, fs.ParameterError, "R_plus=0"),
        ({"R_plus": [1, -2]}, fs.ParameterError, "R_plus=-2"),
        ({"R_minus": []}, fs.ParameterError, "R_minus has no values"),
        ({"R_minus": [2, 2.0]}, fs.ParameterError, "R_minus contains 2.0 twice"),
        ({"R_minus": "x"}, fs.ParameterError, "R_minus='x'"),
        ({"lp_solver": "pounce"}, fs.SolverError, "pounce"),
        ({"gap": -1}, fs.OptionError, "gap=-1"),
        ({"time_limit": -1}, fs.OptionError, "time_limit=-1"),
    ],
)
def test_bad_input(words, error, match, data):
    with pytest.raises(error, match=match):
        fs.gmeb.path(data, **({"R_plus": 1, "R_minus": 1} | words))


def test_one_class_only(data):
    with pytest.raises(fs.DataError, match="no sample"):
        fs.gmeb.path(data.take(data.y > 0), R_plus=1, R_minus=1)


def test_a_pair_whose_norms_do_not_bind_is_proven_too():
    """With R so large that no norm row binds, its multipliers are 0 and rounding must not cost the bound."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    data = fs.Dataset.from_arrays(X, np.where(X[:, 0] + 2 * rng.normal(size=60) > 0, 1, -1))
    table = fs.gmeb.path(data, R_plus=[50, 500], R_minus=[50, 500])
    assert set(table["status"]) == {"optimal"}
    assert table["objective"].nunique() == 1 or np.ptp(table["objective"]) <= 1e-6
    assert (table["gap"] <= 1e-6).all()
