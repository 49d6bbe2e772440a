"""FS by branch-and-cut over supports: every bound and cut against enumeration, rows on sigma, edits, limits."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import side_constraints as sides
from fsmodels.models.concave.tree import RobustOn
from fsmodels.models.proofs.equilibration import Columns
from robust_reference import robust, robust_by_support
from solvers import facts_of
from solvers.drivers.benders.split import split
from solvers.drivers.branch_cut.branch_and_cut import BranchAndCut
from solvers.drivers.branch_cut.master import MasterLP
from solvers.facts.row_cut import RowBound
from solvers.model.linear import LinearRows

OPTIMAL = fs.SolutionStatus.OPTIMAL


def drawn(seed, most=5):
    """Columns of one size and labels that no plane separates, as a rule; some columns twice."""
    r = np.random.default_rng(seed)
    X = r.normal(size=(int(r.integers(5, 22)), int(r.integers(1, most + 1)))).round(int(r.integers(0, 4)))
    y = np.where(X @ r.normal(size=X.shape[1]) + r.choice([0.0, 0.5, 2.0]) * r.normal(size=len(X)) > 0, 1.0, -1.0)
    if r.random() < 0.3:
        X[:, r.integers(X.shape[1])] = X[:, r.integers(X.shape[1])]
    if r.random() < 0.1:
        y[:] = -1.0
    if abs(y.sum()) == len(y):
        y[r.integers(len(y))] *= -1.0
    return r, X, y


def in_other_units(r, X):
    """(columns as given, the same columns of one size): both have the same E on every support."""
    n, kind = X.shape[1], r.random()
    if kind < 0.4:
        return X, X
    if kind < 0.75:
        return X * 10.0 ** r.integers(-6, 7, n), X
    whole = np.round(8 * X)
    return whole + 1e8 * (r.random(n) < 0.6), whole


def edited(r, model, names):
    """Rows, bounds and costs on sigma: (support -> allowed, support -> its further cost)."""
    n, tests, costs = len(names), [], [lambda s: 0.0]
    if n > 1 and r.random() < 0.3:
        price, limit = r.integers(1, 5, n), int(r.integers(1, 3 * n))
        model.budget = sides.budget(model, dict(zip(names, price.tolist(), strict=True)), limit)
        tests.append(lambda s: sum(price[j] for j in s) <= limit)
    if n > 1 and r.random() < 0.25:
        a, b = r.choice(n, 2, replace=False)
        model.pair = sides.requires(model, names[a], names[b])
        tests.append(lambda s: a not in s or b in s)
    if n > 1 and r.random() < 0.2:
        c, d = r.choice(n, 2, replace=False)
        model.either = sides.excludes(model, names[c], names[d])
        tests.append(lambda s: not {c, d} <= set(s))
    if r.random() < 0.3:
        e, kind = int(r.integers(n)), r.choice(["fix", "lower", "upper"])
        v = model.sigma[names[e]]
        v.fix(1) if kind == "fix" else v.setlb(1) if kind == "lower" else v.setub(0)
        tests.append(lambda s: (e in s) == (kind != "upper"))
    if r.random() < 0.2:
        least = int(r.integers(0, n + 1))
        model.least = pyo.Constraint(expr=pyo.quicksum(model.sigma.values()) >= least)
        tests.append(lambda s: len(s) >= least)
    objective = model.objective.expr
    if r.random() < 0.25:  # some features are paid for
        extra = (0.3 * r.normal(size=n)).round(2).tolist()
        objective += pyo.quicksum(x * v for x, v in zip(extra, model.sigma.values(), strict=True))
        costs.append(lambda s: sum(extra[j] for j in s))
    if r.random() < 0.25:  # a variable of the user's own in the master
        fixed = float(r.choice([0.05, -0.1, 0.4]))
        model.lab = pyo.Var(domain=pyo.Binary)
        model.in_lab = pyo.Constraint(names, rule=lambda m, j: m.sigma[j] <= m.lab)
        objective += fixed * model.lab
        costs.append(lambda s: fixed if s else min(fixed, 0.0))
    model.objective.set_value(objective)
    return (lambda s: all(test(s) for test in tests)), (lambda s: sum(cost(s) for cost in costs))


def instance(seed, form, edits=True):
    """A random model of FS and the objective of every allowed support, by scipy."""
    r, X, y = drawn(seed)
    given, plain = in_other_units(r, X)
    data = fs.Dataset.from_arrays(given, y)
    penalty = float(r.choice([0.0, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99]))
    most = int(r.integers(1, X.shape[1] + 1)) if r.random() < 0.3 else None
    model = fs.concave.fs(data, penalty=penalty, max_features=most, form=form)
    allowed, cost = edited(r, model, list(data.features)) if edits else (lambda s: True, lambda s: 0.0)
    values = {
        s: (1 - penalty) * E + penalty * len(s) + cost(s)
        for s, (E, _) in robust_by_support(plain, y).items()
        if allowed(s) and (most is None or len(s) <= most)
    }
    return model, values


def check(seed, form, solver="branch-and-cut", gap=1e-4):
    """A solve against the enumeration; True where the instance has a solution."""
    model, values = instance(seed, form)
    result = fs.solve(model, solver, gap=gap, time_limit=60)
    if not values:
        assert result.status is fs.SolutionStatus.INFEASIBLE
        return False
    truth = min(values.values())
    small = 1e-7 * max(1.0, abs(truth))
    assert result.status is OPTIMAL
    assert truth - small <= result.objective <= truth + gap * abs(result.objective) + small
    assert result.bound <= truth + small
    support = tuple(k for k, v in enumerate(model.sigma.values()) if v.value == 1)
    assert values[support] == pytest.approx(result.objective, rel=1e-6, abs=1e-7)
    return True


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("form", fs.concave.FORMS)
def test_rows_on_sigma_in_any_units_against_every_support(form):
    solved = [check(seed, form) for seed in range(20)]
    assert sum(solved) >= 15


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_benders_takes_it_too():
    for seed in range(6):
        check(seed, "sos1", "benders")


def nodes(model):
    """The structure's own relaxation at every node of small instances: (lower, upper, answer)."""
    structure = facts_of(model)
    lp = MasterLP(split(model, structure), 0.0)
    n = lp.n
    for ends in itertools.product([(0, 0), (1, 1), (0, 1)], repeat=n):
        lower, upper = lp.lower.copy(), lp.upper.copy()
        lower[:n], upper[:n] = np.maximum(lower[:n], [a for a, _ in ends]), np.minimum(upper[:n], [b for _, b in ends])
        if np.all(lower <= upper):
            for enough in (np.inf, 0.7):
                ask = {"accuracy": 1e-6, "enough": enough, "time_limit": None}
                yield lower[:n], upper[:n], structure.relaxation(lp.linear, lower, upper, **ask)


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("seed", range(12))
def test_no_bound_of_a_node_is_above_a_support_within(seed):
    model, values = instance(seed, "sos1")
    supports = {s: np.isin(np.arange(len(model.features)), s).astype(float) for s in values}
    asked = 0
    for lower, upper, answer in nodes(model):
        within = [v for s, v in values.items() if np.all(lower <= supports[s]) and np.all(supports[s] <= upper)]
        least = min(within, default=np.inf)
        assert answer.bound <= least + 1e-9 * (1 + abs(least))
        asked += 1
    assert asked >= 1


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("seed", range(6))
def test_a_node_without_open_features_is_worth_its_support(seed):
    model, values = instance(seed, "sos1", edits=False)
    for lower, upper, answer in nodes(model):
        if np.array_equal(lower, upper) and tuple(np.flatnonzero(lower)) in values:
            assert answer.bound == pytest.approx(values[tuple(np.flatnonzero(lower))], abs=1e-7)


@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
@pytest.mark.parametrize("seed", range(12))
def test_every_cut_is_valid_at_every_support(seed):
    r, X, y = drawn(seed)
    given, plain = in_other_units(r, X)
    model = fs.concave.fs(fs.Dataset.from_arrays(given, y), penalty=0.2)
    oracle, truth = facts_of(model).oracle, {s: 0.8 * E for s, (E, _) in robust_by_support(plain, y).items()}
    points = {s: np.isin(np.arange(X.shape[1]), s).astype(float) for s in truth}
    for _ in range(2):  # the second time with a floor from the support of all
        for s, point in points.items():
            answer = oracle.solve(point, 1e-7, None)
            assert answer.value == pytest.approx(truth[s], abs=1e-8)
            assert truth[s] - 1e-6 <= answer.bound <= truth[s] + 1e-9
            assert answer.cut.at(point) == pytest.approx(truth[s], abs=1e-6)
            assert all(answer.cut.at(points[t]) <= truth[t] + 1e-9 for t in truth)


def test_out_of_time_an_oracle_proves_nothing():
    _, X, y = drawn(3)
    data = fs.Dataset.from_arrays(X, y)
    shares = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    plane = RobustOn(Columns.of(data.X), y, shares)(np.ones(X.shape[1], dtype=bool), 0.0)
    assert plane.bound <= robust(X, y)[0] + 1e-9
    assert plane.error == pytest.approx(float(shares @ plane.xi))


@pytest.mark.parametrize("seed", range(30))
def test_rows_costs_and_own_variables_are_bounded_by_weak_duality(seed):
    r = np.random.default_rng(seed)
    n = int(r.integers(1, 5))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(n), domain=pyo.Binary)
    model.g = pyo.Var(bounds=(0, 3))
    model.q = pyo.Var()
    A, sides_ = r.integers(-3, 4, (3, n)), r.integers(-2, 5, 3)
    model.rows = pyo.Constraint(
        range(3), rule=lambda m, i: sum(int(A[i, j]) * m.x[j] for j in range(n)) - (m.g if i else 0) <= int(sides_[i])
    )
    model.tied = pyo.Constraint(expr=model.q >= model.g - model.x[0])
    c = r.integers(-3, 4, n)
    terms = [sum(int(c[j]) * model.x[j] for j in range(n)) + 0.5 * model.g, model.q * 1.0]
    rows = LinearRows.of([*model.rows.values(), model.tied], [*model.x.values(), model.g, model.q], terms, 1.0).scaled()
    bound = RowBound(rows, n)
    for ends in itertools.product([(0, 0), (1, 1), (0, 1)], repeat=n):
        low, up = (np.array(side, dtype=float) for side in zip(*ends, strict=True))
        free = low < up
        lower, upper = np.append(low, [0.0, -np.inf]), np.append(up, [3.0, np.inf])
        for among in (free, np.zeros(n, dtype=bool)):
            if among.any() or not free.any():
                truth = np.inf
                for x in itertools.product((0, 1), repeat=n):
                    if np.all(low <= x) and np.all(x <= up) and (not among.any() or np.any(np.array(x)[among])):
                        need = max(0.0, float((A @ x - sides_)[1:].max()))
                        if (A @ x)[0] <= sides_[0] and need <= 3:
                            truth = min(truth, float(c @ x) + 0.5 * need + need - x[0])
                assert bound.least(lower, upper, among, None)[0] <= truth + 1e-9 * (1 + abs(truth))


@pytest.fixture
def data(make_data):
    return make_data(20, 4, seed=5)


EDITS = {
    "a row on w": lambda m: m.add_component("small", pyo.Constraint(expr=m.w["a"] + m.w["b"] <= 0.1)),
    "a row on w and sigma": lambda m: m.add_component("mixed", pyo.Constraint(expr=m.w["a"] <= 0.1 * m.sigma["b"])),
    "a bound on v": lambda m: m.v["a"].setub(0.1),
    "a fixed w": lambda m: m.w["a"].fix(0.05),
    "a fixed gamma": lambda m: m.gamma.fix(0.3),
    "a bound on a slack": lambda m: next(iter(m.y.values())).setub(0.5),
    "a row of the data gone": lambda m: m.plane_B[next(iter(m.plane_B))].deactivate(),
    "a price of w": lambda m: m.objective.set_value(m.objective.expr + 0.2 * sum(m.v.values())),
    "an ordered set gone": lambda m: m.only_selected["a"].deactivate(),
    "all ordered sets gone": lambda m: m.del_component("only_selected"),
    "another ordered set": lambda m: m.add_component("one", pyo.SOSConstraint(var=m.v, sos=1)),
    "unselected fixed": lambda m: m.unselected["a"].fix(0),
    "complement gone": lambda m: m.complement["a"].deactivate(),
    "relaxed": lambda m: [setattr(v, "domain", pyo.UnitInterval) for v in m.sigma.values()],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_the_tree_does_not_see_is_for_solvers_of_the_whole_model(edit, data):
    model, same = (fs.concave.fs(data, penalty=0.05) for _ in range(2))
    EDITS[edit](model), EDITS[edit](same)
    with pytest.raises((fs.ModelError, fs.SolverError), match=r"scip|not binary"):
        fs.solve(model, "branch-and-cut")
    result, known = fs.solve(model), fs.solve(same, "scip")
    assert result.solver == ("highs" if edit == "all ordered sets gone" else "scip")  # that is an LP beside sigma
    assert "Not by branch-and-cut" in result.message
    assert (result.status, result.objective) == (known.status, pytest.approx(known.objective, rel=1e-6))


def test_a_changed_ordered_set_is_an_edit(data):
    model = fs.concave.fs(data, penalty=0.05)
    model.only_selected["a"].set_items([model.v["a"], model.unselected["b"]], [1, 2])
    with pytest.raises(fs.ModelError, match=r'ordered set "only_selected\[a\]"'):
        fs.solve(model, "branch-and-cut")


def test_indicators_need_no_bounds_in_the_tree(data):
    model = fs.concave.fs(data, penalty=0.05, form="indicator")
    known = fs.solve(fs.concave.fs(data, penalty=0.05)).objective
    assert fs.solve(model).objective == pytest.approx(known, rel=1e-9)


def test_bounds_bracket_at_every_row_of_the_table():
    data = fs.load_dataset("cleveland").scaled("standard")
    result = fs.solve(fs.concave.fs(data, penalty=0.05))
    assert result.status is OPTIMAL
    table = result.iterations
    assert (table["Bound"].dropna() <= result.objective * (1 + 1e-9)).all()
    assert table["Bound"].dropna().is_monotonic_increasing


@pytest.mark.parametrize("limit", [{"time_limit": 0}, {"time_limit": 0.05}, {"iteration_limit": 1}])
def test_at_a_limit_incumbent_and_bound_come_back(limit):
    data = fs.load_dataset("wpbc").scaled("standard")
    result = fs.solve(fs.concave.fs(data, penalty=0.05), **limit)
    assert result.status is fs.SolutionStatus.FEASIBLE
    assert 1.3 <= result.objective <= 2 * 0.95 + 1e-9
    assert result.bound is None or result.bound <= 1.59


def test_seeds_agree_and_the_driver_is_the_default():
    data = fs.load_dataset("bupa").scaled("standard")
    found = [fs.solve(fs.concave.fs(data, penalty=0.05), seed=seed) for seed in (0, 1)]
    assert {r.solver for r in found} == {BranchAndCut.name}
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)
    assert found[0].selected == found[1].selected


@pytest.mark.parametrize("seed", range(4))
def test_the_price_of_a_feature_is_no_less_than_what_it_saves(seed):
    r, X, y = drawn(seed)
    columns, n = Columns.of(in_other_units(r, X)[0]), X.shape[1]
    shares = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    on = RobustOn(columns, y, shares)
    every = np.ones(n, dtype=bool)
    for k, price in enumerate(on.prices(every, on(every, None))):
        assert -price >= on(np.arange(n) != k, None).error - on(every, None).error - 1e-9


def test_exchanges_follow_prices_where_an_answer_has_them(data):
    answer = facts_of(fs.concave.fs(data, penalty=0.05)).oracle.solve(np.array([1.0, 1.0, 0.0, 0.0]), 1e-7, None)
    assert answer.guide.coefficients is answer.prices
    assert (answer.guide.coefficients <= 1e-12).all()
    assert answer.guide.constant == answer.cut.constant
