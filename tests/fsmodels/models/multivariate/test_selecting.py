"""FSmulti with binaries: every selection enumerated, every cut and bound against them, rows on sigma, and refusals."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import multivariate as mv
from fsmodels import side_constraints as sides
from fsmodels.errors import ModelError
from labellings import explicit
from solvers import SolutionStatus
from solvers.facts import facts_of
from solvers.model.linear import LinearRows

NAMES = list("abcde")
COSTS = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 4.0, "e": 1.5}


@pytest.fixture(scope="module")
def small(make_data):
    data = make_data(8, 5, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1, 1, -1], features=NAMES)


@pytest.fixture(scope="module")
def values(small):
    """q at every selection, by the form that states all labellings."""
    known = {}

    def of(B, C):
        if (B, C) not in known:
            found = {}
            for on in itertools.product((0, 1), repeat=5):
                model = explicit(small, budget=B, C=C)
                for j, used in zip(NAMES, on, strict=True):
                    if not used:
                        model.d[j].fix(0.0)
                found[on] = fs.solve(model, gap=1e-7).objective
            known[B, C] = found
        return known[B, C]

    return of


def cost_row(m):
    m.costs = sides.budget(m, COSTS, 4.5)


def pair(m):
    m.pair = sides.requires(m, "a", "e")


def forced(m):
    m.wanted, m.unwanted = sides.force_in(m, "d"), sides.force_out(m, "a")


def groups(m):
    m.same = sides.all_or_none(m, ["b", "c"])
    m.some = sides.at_least(m, ["a", "d"], 1)


def excluded(m):
    m.not_both = sides.excludes(m, "a", "c")
    m.one = sides.at_most(m, ["b", "d", "e"], 1)


def priced(m):
    m.objective.set_value(m.objective.expr + sum(0.05 * cost * m.sigma[j] for j, cost in COSTS.items()))


def own_variable(m):
    m.store = pyo.Var(["near", "far"], domain=pyo.Binary)
    m.open = pyo.Constraint(NAMES, rule=lambda m, j: m.sigma[j] <= m.store["near" if j in "ab" else "far"])
    m.one_store = pyo.Constraint(expr=m.store["near"] + m.store["far"] <= 1)


def fixed(m):
    m.sigma["b"].fix(1)
    m.sigma["c"].setub(0)


ROWS = {
    None: lambda s: True,
    cost_row: lambda s: sum(c * on for c, on in zip(COSTS.values(), s, strict=True)) <= 4.5,
    pair: lambda s: s[0] <= s[4],
    forced: lambda s: s[3] == 1 and s[0] == 0,
    groups: lambda s: s[1] == s[2] and s[0] + s[3] >= 1,
    excluded: lambda s: s[0] + s[2] <= 1 and s[1] + s[3] + s[4] <= 1,
    priced: lambda s: True,
    own_variable: lambda s: not (s[0] + s[1] and s[2] + s[3] + s[4]),
    fixed: lambda s: s[1] == 1 and s[2] == 0,
}


def best(values, allowed, most, price=0.0):
    paid = {s: q + price * sum(c * on for c, on in zip(COSTS.values(), s, strict=True)) for s, q in values.items()}
    return min(q for s, q in paid.items() if sum(s) <= most and allowed(s))


@pytest.mark.parametrize(("solver", "B", "most"), [(None, 2, 2), (None, 1, 3), ("benders", 2, 5)])
@pytest.mark.parametrize("edit", ROWS, ids=lambda edit: edit.__name__ if edit else "none")
def test_the_best_selection_that_the_rows_allow(edit, solver, B, most, small, values):
    model = mv.fsmulti(small, budget=B, C=30.0, sigma=True)
    model.few = sides.at_most(model, NAMES, most)
    if edit:
        edit(model)
    result = fs.solve(model, solver, gap=1e-6)
    truth = best(values(B, 30.0), ROWS[edit], most, 0.05 if edit is priced else 0.0)
    assert result.solver == (solver or "branch-and-cut")
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.bound <= truth * (1 + 1e-7)
    for bound in result.iterations["Bound"].dropna():
        assert bound <= truth * (1 + 1e-7)
    on = tuple(round(v.value) for v in model.sigma.values())
    assert ROWS[edit](on)
    assert sum(on) <= most
    assert result.selected == [j for j, used in zip(NAMES, on, strict=True) if used]
    w = np.array([v.value for v in model.w.values()])
    assert not w[np.array(on) == 0].any()
    assert model.xi.value == pytest.approx(mv.risk(small, w, "f1"), abs=1e-9)
    assert pyo.value(model.omega) == pytest.approx(mv.regulariser(w, B), rel=1e-6)


@pytest.mark.parametrize("loss", ["f1", "hamming", "prbep"])
@pytest.mark.parametrize("B", [1, 2, 5])
def test_every_cut_holds_at_every_selection(loss, B, small):
    model = mv.fsmulti(small, budget=B, C=20.0, loss=loss, sigma=True)
    oracle, rng = facts_of(model).oracle, np.random.default_rng(B)
    points = [np.array(on, dtype=float) for on in itertools.product((0, 1), repeat=5)]
    answers = [oracle.solve(point, 1e-8, None) for point in points]
    asked = [*answers, *(oracle.solve(rng.random(5), 1e-6, None) for _ in range(20))]
    for point, answer in zip(points, answers, strict=True):
        assert answer.bound == pytest.approx(answer.value, rel=1e-6)
        assert answer.cut.at(point) == pytest.approx(answer.bound, rel=1e-9)
        for other in asked:
            assert other.cut.at(point) <= answer.value * (1 + 1e-9)


@pytest.mark.parametrize("B", [2, 3])
def test_the_relaxation_bounds_every_selection_that_the_rows_allow(B, small, values):
    model = mv.fsmulti(small, budget=B, C=30.0, sigma=True)
    rows = [sides.budget(model, COSTS, 5.0), sides.at_most(model, NAMES, 2 if B == 2 else 4)]
    for k, row in enumerate(rows):
        model.add_component(f"row{k}", row)
    sigma = list(model.sigma.values())
    master, oracle = LinearRows.of([model.row0, model.row1], sigma, [], 1.0), facts_of(model).oracle
    truth, rng = values(B, 30.0), np.random.default_rng(0)
    for _ in range(12):
        lower, upper = np.zeros(5), np.ones(5)
        upper[rng.random(5) < 0.2] = 0.0
        lower[(rng.random(5) < 0.15) & (upper > 0)] = 1.0
        found = oracle.relax(master, lower, upper, accuracy=1e-6, enough=1e9, time_limit=None)
        inside = [
            (q, np.array(s))
            for s, q in truth.items()
            if np.all((s >= lower) & (s <= upper))
            and sum(c * on for c, on in zip(COSTS.values(), s, strict=True)) <= 5.0
            and sum(s) <= (2 if B == 2 else 4)
        ]
        if not inside:
            continue
        assert found is not None
        for q, s in inside:
            assert found.bound <= q * (1 + 1e-7)
            moved = np.where(found.reduced_costs > 0, s - lower, s - upper)
            assert found.bound + float(found.reduced_costs @ moved) <= q * (1 + 1e-7)
            assert found.cut.at(s) <= q * (1 + 1e-7)


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("edit", pyo.Constraint(expr=m.w["a"] <= 0.1)),
        lambda m: m.add_component("edit", pyo.Constraint(expr=m.d["a"] <= 0.1)),
        lambda m: m.add_component("edit", pyo.Constraint(expr=m.xi <= 0.1 * m.sigma["a"])),
        lambda m: m.w["a"].setub(0.1),
        lambda m: m.d["a"].fix(0.5),
        lambda m: m.objective.set_value(m.omega + 2 * m.C * m.xi),
    ],
)
@pytest.mark.parametrize("solver", [None, "benders"])
def test_edits_of_what_the_oracle_knows_are_refused_with_a_remedy(edit, solver, small):
    model = mv.fsmulti(small, budget=2, C=30.0, sigma=True, form="lazy")
    edit(model)
    with pytest.raises(ModelError, match=r'form="extended" or "stated", and sigma=True|no decomposition driver'):
        fs.solve(model, solver)


def test_rows_that_clash_are_named(small):
    model = mv.fsmulti(small, budget=2, C=30.0, sigma=True)
    model.wanted = sides.force_in(model, "a")
    model.costs = sides.budget(model, COSTS, 2.0)
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE
    assert "wanted" in result.message
    assert "costs" in result.message


def test_an_offset_has_a_sigma_that_is_no_selected_feature(small):
    model = mv.fsmulti(small, budget=3, C=30.0, sigma=True, offset=True)
    model.few = pyo.Constraint(expr=sum(model.sigma.values()) <= 3)
    result = fs.solve(model, gap=1e-6)
    ones = fs.Dataset.from_arrays(np.c_[np.asarray(small.X), np.ones(8)], small.y, features=[*NAMES, "one"])
    by_hand = mv.fsmulti(ones, budget=3, C=30.0, sigma=True)
    by_hand.few = sides.at_most(by_hand, [*NAMES, "one"], 3)
    assert result.objective == pytest.approx(fs.solve(by_hand, gap=1e-6).objective, rel=1e-5)
    assert "(offset)" not in result.selected


# By name.


def test_what_has_no_weight_is_selected_only_where_a_row_asks_for_it(small):
    """A free sigma of 1 without a weight would be told as selected."""
    given = {"budget": [1, (COSTS, 100.0)], "C": 0.01, "loss": "f1", "scale": "none"}  # all weights are next to nothing
    found = fs.select(small, "fsmulti", **given)
    used = {j for j, w in found.weights.items() if w}
    assert set(found.selected) == used
    forced = fs.select(small, "fsmulti", **given, force_in=["b"], at_least=[(["d", "e"], 1)])
    assert {"b"} < set(forced.selected)
    assert len(set(forced.selected) & {"d", "e"}) >= 1
    alike = fs.select(small, "fsmulti", **given, all_or_none=[["a", "b", "c", "d", "e"]])
    assert set(alike.selected) in ({"a", "b", "c", "d", "e"}, set())


def test_select_by_name_with_rows(small, values):
    """At most two features under a cost, with a pair, as fs.select states them; and rows without max_features."""
    found = fs.select(
        small,
        "fsmulti",
        max_features=2,
        C=30.0,
        loss="f1",
        budget=(COSTS, 4.5),
        requires=[("a", "e")],
        scale="none",
        gap=1e-6,
    )
    allowed = lambda s: ROWS[cost_row](s) and ROWS[pair](s)  # noqa: E731
    assert found.status is SolutionStatus.OPTIMAL
    assert found.result.solver == "branch-and-cut"
    assert found.objective == pytest.approx(best(values(2, 30.0), allowed, 2), rel=1e-5)
    assert len(found.selected) <= 2
    shared = fs.select(small, "fsmulti", budget=[1, (COSTS, 4.5)], C=30.0, force_in=["c"], scale="none", gap=1e-6)
    allowed = lambda s: ROWS[cost_row](s) and s[2] == 1  # noqa: E731
    assert shared.objective == pytest.approx(best(values(1, 30.0), allowed, 5), rel=1e-5)
    assert "c" in shared.selected
    assert shared.parameters["budget"] == 1 or shared.parameters["budget"] == [{"costs": COSTS, "limit": 4.5}]


def test_max_features_without_rows_is_the_search_of_before(small):
    found = fs.select(small, "fsmulti", max_features=2, C=30.0, loss="f1", scale="none")
    assert found.result.solver == "two-layer"
    assert len(found.selected) <= 2


def test_a_path_with_rows_changes_the_most(small, values):
    allowed = lambda s: s[0] + s[2] <= 1 and ROWS[cost_row](s)  # noqa: E731
    given = {"excludes": [("a", "c")], "budget": (COSTS, 4.5), "C": 30.0, "scale": "none", "gap": 1e-6}
    table = fs.path(small, "fsmulti", max_features=[1, 2], **given)
    for most in (1, 2):
        assert table["objective"][most] == pytest.approx(best(values(most, 30.0), allowed, most), rel=1e-5)


@pytest.mark.parametrize("B", [1, 2])
def test_what_is_too_large_to_be_relaxed_at_once_has_a_weaker_bound_that_holds(B, small, values, monkeypatch):
    monkeypatch.setattr("solvers.drivers.two_layer.selection.MAX_SIZE", 0)
    model = mv.fsmulti(small, budget=B, C=30.0, sigma=True)
    cost_row(model)
    oracle = facts_of(model).oracle
    master = LinearRows.of([model.costs], list(model.sigma.values()), [], 1.0)
    truth = best(values(B, 30.0), ROWS[cost_row], 5)
    found = oracle.relax(master, np.zeros(5), np.ones(5), accuracy=1e-6, enough=1e9, time_limit=None)
    assert 0 < found.bound <= truth * (1 + 1e-7)
    for s, q in values(B, 30.0).items():
        if ROWS[cost_row](s):
            moved = np.where(found.reduced_costs > 0, s, np.array(s) - 1.0)
            assert found.bound + float(found.reduced_costs @ moved) <= q * (1 + 1e-7)
    result = fs.solve(model, gap=1e-6)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-5)
