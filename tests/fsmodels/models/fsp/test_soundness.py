"""What branch-and-cut proves is true: its cuts, its bounds and its optimum, wherever it stops."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import fsmodels as fs
import solvers
from fsmodels.errors import ModelError
from fsmodels.models.fsp.oracle import SvmOracle
from solvers import SolutionStatus, StopReason
from solvers.drivers.benders.relaxation import UnboundedSubproblem
from solvers.drivers.benders.split import split
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.drivers.branch_cut.master import MasterLP
from solvers.drivers.branch_cut.memory import KEPT, CutPool
from solvers.facts.structure import Cut, SubAnswer
from solvers.lp.highs import LpStatus

DRIVER = "branch-and-cut"
FORMS = ["perspective", "rmp"]


def larger(rows, n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, n))
    y = np.where(X[:, : max(2, n // 3)].sum(axis=1) + noise * rng.normal(size=rows) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return fs.Dataset.from_arrays(X, y)


def run(model, **options):
    return fs.solve(model, DRIVER, **options)


def assert_incumbent(model, result):
    """The model holds a point that satisfies every row and has the objective that is reported."""
    sigma = np.array([pyo.value(v) for v in model.sigma.values()])
    assert set(sigma) <= {0.0, 1.0}
    assert result.selected == [j for j, s in zip(model.sigma, sigma, strict=True) if s]
    objective = next(model.component_data_objects(pyo.Objective, active=True))
    assert pyo.value(objective) == pytest.approx(result.objective, rel=1e-9)
    for row in model.component_data_objects(pyo.Constraint, active=True):
        assert min(row.lslack(), row.uslack()) >= -1e-7


# ---- cuts


def pool_of(driver):
    pool = driver.incumbents.pool
    return pool._constants[: len(pool)], pool._coefficients[: len(pool)]


def assert_valid(driver, points, values):
    constants, coefficients = pool_of(driver)
    assert len(constants) > 1
    cuts = constants[:, None] + coefficients @ np.array(points).T
    assert np.all(cuts <= np.array(values) * (1 + 1e-8))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("relaxation", [True, False])
def test_every_cut_of_the_pool_holds_at_every_support(form, C, relaxation, make_data, values_of):
    data = make_data(30, 7, seed=3)
    model = fs.fsp.fsp_m(data, max_features=3, C=C, form=form)
    if not relaxation:
        model.structure.relaxation = None
    driver = solvers.BranchAndCut(model, gap=1e-6)
    driver.solve()
    q = values_of(data, C)
    assert_valid(driver, list(q), list(q.values()))


@pytest.mark.parametrize("C", [0.1, 30.0])
def test_every_cut_of_the_pool_holds_at_random_supports_of_a_larger_model(C):
    data = larger(80, 60, seed=1)
    driver = solvers.BranchAndCut(fs.fsp.fsp_m(data, max_features=6, C=C, form="rmp"), iteration_limit=40)
    driver.solve()
    rng, oracle = np.random.default_rng(0), SvmOracle(data.X, data.y, C)
    points = [(rng.random(60) < share).astype(float) for share in rng.uniform(0.02, 0.6, 200)]
    assert_valid(driver, points, [oracle.solve(p, tolerance=1e-9).value for p in points])


# ---- the optimum


def sided(model, seed):
    """Rows an analyst may add, each with a test of a support."""
    rng, names = np.random.default_rng(seed), list(model.sigma)
    cost = {j: float(c) for j, c in zip(names, np.round(rng.uniform(0.5, 3, len(names)), 1), strict=True)}
    a, b, c, d, e, *_ = rng.permutation(names)
    model.budget = fs.side_constraints.budget(model, cost, 5.0)
    model.pair = fs.side_constraints.requires(model, a, b)
    model.clash = fs.side_constraints.excludes(model, c, d)
    model.all = fs.side_constraints.force_in(model, e)
    model.group = pyo.Var(domain=pyo.Binary)
    model.entry = pyo.Constraint(expr=model.sigma[a] + model.sigma[c] <= 2 * model.group)
    model.objective.set_value(model.objective.expr + 1.5 * model.group)

    def price(s):
        s = dict(zip(names, s, strict=True))
        allowed = sum(cost[j] * s[j] for j in names) <= 5 + 1e-9 and s[a] <= s[b] and s[c] + s[d] <= 1 and s[e] == 1
        return 1.5 * max(s[a], s[c]) if allowed else np.inf

    return price


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize(
    ("rows", "n", "most", "C"),
    [(30, 8, 1, 1.0), (24, 9, 3, 0.01), (40, 8, 8, 10.0), (12, 9, 4, 100.0), (60, 9, 2, 0.3)],
)
def test_optimum_by_enumeration(rows, n, most, C, sides, form):
    data = larger(rows, n, seed=rows)
    model = fs.fsp.fsp_m(data, max_features=most, C=C, form=form)
    price = sided(model, rows) if sides else lambda s: 0.0
    oracle, best = SvmOracle(data.X, data.y, C), np.inf
    for s in itertools.product((0.0, 1.0), repeat=n):
        if sum(s) <= most and np.isfinite(price(s)):
            best = min(best, price(s) + oracle.solve(s, tolerance=1e-9).value)
    result = run(model, gap=1e-5)
    if not np.isfinite(best):
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert best * (1 - 1e-9) <= result.objective <= best * (1 + 1.1e-5)
    assert result.bound <= best * (1 + 1e-7)
    assert_incumbent(model, result)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(25, 5), (5, 6), (40, 4)]),
    C=st.sampled_from([1e-3, 0.1, 1.0, 50.0, 1e4]),
    kind=st.sampled_from(["plain", "scales", "zeros", "twins", "integers"]),
    most=st.integers(1, 4),
    equal=st.booleans(),
    form=st.sampled_from(FORMS),
    relaxation=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_any_data_and_any_row(seed, shape, C, kind, most, equal, form, relaxation):
    rng, n = np.random.default_rng(seed), shape[1]
    X = rng.normal(size=shape)
    y = np.where(X[:, 0] + rng.integers(0, 2) * rng.normal(size=shape[0]) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = {
        "plain": X,
        "scales": X * 10.0 ** rng.integers(-3, 4, n),
        "zeros": X * (rng.random(n) < 0.6),
        "twins": X[:, rng.integers(0, n, n)],
        "integers": np.round(X),
    }[kind]
    model = fs.fsp.fsp_m(fs.Dataset.from_arrays(X, y), max_features=most, C=C, form=form)
    if not relaxation:
        model.structure.relaxation = None
    weight, side = np.round(rng.normal(size=n), 1), float(np.round(rng.normal(), 1))
    sigma = list(model.sigma.values())
    model.e = pyo.Constraint(expr=sum(float(a) * s for a, s in zip(weight, sigma, strict=True)) <= side)
    if equal:
        model.f = pyo.Constraint(expr=sum(sigma) == most)
    kept = [np.array(s) for s in itertools.product((0.0, 1.0), repeat=n) if sum(s) <= most]
    kept = [s for s in kept if weight @ s <= side + 1e-9 and (not equal or s.sum() == most)]
    oracle = SvmOracle(X, y, C)
    best = min((oracle.solve(s, tolerance=1e-10).value for s in kept), default=np.inf)
    result = run(model)
    if not kept:
        assert result.status is SolutionStatus.INFEASIBLE
    else:
        assert result.status is SolutionStatus.OPTIMAL
        assert result.bound <= best * (1 + 1e-7) + 1e-12
        assert best * (1 - 1e-7) - 1e-12 <= result.objective <= best * (1 + 1.01e-4) + 1e-8


# ---- limits


@pytest.fixture(scope="module")
def long_data():
    """Some hundred nodes."""
    return larger(60, 20, seed=3, noise=2.0)


@pytest.fixture(scope="module")
def optimum(long_data):
    return run(fs.fsp.fsp_m(long_data, max_features=5), gap=1e-7).objective


@pytest.fixture(params=[*FORMS, "no relaxation"])
def long_run(request, long_data):
    form = request.param if request.param in FORMS else "rmp"
    model = fs.fsp.fsp_m(long_data, max_features=5, form=form)
    if request.param not in FORMS:
        model.structure.relaxation = None
    return model


def assert_sound(model, result, optimum):
    if result.bound is not None:
        assert result.bound <= optimum * (1 + 1e-7)
    assert (result.status is SolutionStatus.NO_SOLUTION) == (result.objective is None)
    if result.objective is not None:
        assert result.objective >= optimum * (1 - 1e-6)
        assert_incumbent(model, result)


@pytest.mark.parametrize("limit", [0.0, 1e-3, 0.01, 0.03, 0.1, 0.2])
def test_time_limits(long_run, limit, optimum):
    assert_sound(long_run, run(long_run, time_limit=limit), optimum)


@pytest.mark.parametrize("limit", [1, 2, 5, 20])
def test_iteration_limits(long_run, limit, optimum):
    result = run(long_run, iteration_limit=limit)
    assert_sound(long_run, result, optimum)
    assert result.objective is not None
    assert result.bound is not None


@pytest.mark.parametrize("step", ["root", "incumbent", "tree", "end"])
@pytest.mark.parametrize("how", ["stop", "Ctrl-C"])
def test_a_callback_at_each_kind_of_step(long_run, step, how, optimum):
    seen = []

    def callback(row):
        if row["Step"] == step:
            seen.append(row)
            if how == "Ctrl-C":
                raise KeyboardInterrupt
            return True
        return False

    result = run(long_run, callback=callback)
    assert seen
    assert_sound(long_run, result, optimum)
    if step != "end":
        assert result.stop_reason is (StopReason.INTERRUPTED if how == "Ctrl-C" else StopReason.CALLBACK)


class Interrupted:
    """The model's oracle, interrupted at its k-th call; relaxations count too."""

    def __init__(self, structure, k):
        self.oracle, self.relaxation, self.left = structure.oracle, structure.relaxation, k

    def _count(self):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def solve(self, point, tolerance, time_limit):
        self._count()
        return self.oracle.solve(point, tolerance, time_limit)

    def relax(self, *args, **options):
        self._count()
        return self.relaxation(*args, **options)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 20, 60])
def test_ctrl_c_at_the_kth_call_of_the_oracle(long_run, k, optimum):
    structure = long_run.structure
    interrupted = Interrupted(structure, k)
    structure.oracle = interrupted
    structure.relaxation = structure.relaxation and interrupted.relax
    result = run(long_run)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert_sound(long_run, result, optimum)


class Sloppy:
    """The model's oracle, stopped early at every call as a time limit would: its values are attained, not best."""

    def __init__(self, oracle, tolerance):
        self.oracle, self.tolerance = oracle, tolerance

    def solve(self, point, tolerance, time_limit):
        return self.oracle.solve(point, self.tolerance, time_limit)


@pytest.mark.parametrize("relaxation", [True, False])
@pytest.mark.parametrize("tolerance", [0.02, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_values_that_are_not_optimal_are_never_taken_for_bounds(seed, tolerance, relaxation, make_data, enumerated):
    C = [0.1, 1.0, 10.0, 100.0, 1e4][seed]
    data = make_data(25, 5, seed=seed)
    model = fs.fsp.fsp_m(data, max_features=2, C=C)
    model.clash = fs.side_constraints.excludes(model, "a", "b")
    best = enumerated(data, C=C, max_features=2, allowed=lambda s: s["a"] + s["b"] <= 1)
    model.structure.oracle = Sloppy(model.structure.oracle, tolerance)
    if not relaxation:
        model.structure.relaxation = None
    result = run(model)
    assert result.bound <= best * (1 + 1e-7)
    assert result.objective >= best * (1 - 1e-7)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6])
@pytest.mark.filterwarnings("ignore::fsmodels.errors.DataWarning")
def test_an_incumbent_that_fixes_variables_while_its_node_is_open(most):
    """The node went on with bounds that the LP no longer had, and closed with a bound 16% too low."""
    X = np.array([[-1, -2, 1, -2, 1, -1], [0, 0, 0, 0, 0, 0], [-1, -3, -2, 1, 0, -1], [0, -1, -1, 0, -1, 0]])
    data = fs.Dataset.from_arrays(X, [1.0, -1.0, 1.0, 1.0], features=list("abcdef"))
    model = fs.fsp.fsp_m(data, max_features=most, C=100.0)
    model.structure.relaxation = None
    model.k = pyo.Var(domain=pyo.Integers, bounds=(-1, 3))
    model.bins = pyo.Constraint(expr=1.5 * sum(model.sigma[j] for j in "adcf") - 0.7 <= model.k)
    model.objective.set_value(model.objective.expr + 83.48472082997469 * model.k - 2.5)
    result = run(model)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.bound <= result.objective


def test_a_continuous_complicating_variable_that_is_never_integral():
    def build():
        m = pyo.ConcreteModel()
        m.x, m.z, m.y = pyo.Var(bounds=(0.5, 0.6)), pyo.Var(domain=pyo.Binary), pyo.Var(bounds=(0, None))
        m.link = pyo.Constraint(expr=m.y >= 2.2 - m.x - 0.5 * m.z)
        m.cost = pyo.Objective(expr=0.7 * m.x + 0.3 * m.z + m.y)
        return m

    model = build()
    result = solvers.solve(model, DRIVER, complicating=[model.x, model.z], subproblem=[model.y])
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(solvers.solve(build(), "highs").objective, rel=1e-6)


# ---- form="rmp"


@pytest.fixture
def rmp(data):
    return fs.fsp.fsp_m(data, max_features=2, form="rmp")


@pytest.mark.parametrize(
    "options",
    [{"solver": "scip"}, {"solver": "highs"}, {"sub_solver": "clarabel"}, {"oracle": "pyomo"}, {"complicating": True}],
    ids=lambda options: next(iter(options)) + "=" + str(next(iter(options.values()))),
)
def test_what_needs_the_subproblems_rows_is_refused(options, rmp):
    options = {k: [rmp.sigma] if k == "complicating" else v for k, v in options.items()}
    with pytest.raises(solvers.Error, match="oracle"):
        fs.solve(rmp, options.pop("solver", DRIVER), **options)


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] >= 0.5)),
        lambda m: m.add_component("e", pyo.Constraint(expr=m.b <= 1.0)),
        lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] <= m.sigma["a"])),
        lambda m: m.w["a"].setub(0.1),
        lambda m: m.b.fix(0.0),
        lambda m: m.objective.set_value(m.objective.expr + m.w["a"]),
    ],
)
@pytest.mark.parametrize("driver", [DRIVER, "benders"])
def test_edits_of_weights_are_taken_without_the_rows_too(edit, driver, rmp, data):
    """As the model that states its rows takes them, by the general subproblem."""
    stated = fs.fsp.fsp_m(data, max_features=2)
    edit(stated)
    edit(rmp)
    truth = fs.solve(stated, "benders", oracle="pyomo", gap=1e-6)
    result = fs.solve(rmp, driver, gap=1e-6)
    assert truth.status is result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth.objective, rel=1e-5)


@pytest.mark.parametrize("driver", [DRIVER, "benders"])
def test_the_cost_may_be_turned_around(driver, rmp, data, enumerated):
    rmp.objective.set_value(-rmp.eta)
    rmp.objective.sense = pyo.maximize
    assert fs.solve(rmp, driver).objective == pytest.approx(-enumerated(data, max_features=2), rel=1e-4)


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.add_component("e", pyo.Constraint(expr=m.eta >= 3.0)),
        lambda m: m.objective.set_value(2 * m.eta),
        lambda m: m.add_component("e", pyo.Constraint(expr=m.w["a"] ** 2 <= 0.1)),
    ],
)
@pytest.mark.parametrize("driver", [DRIVER, "benders"])
def test_edits_that_its_oracle_knows_nothing_of_are_refused(edit, driver, rmp):
    edit(rmp)
    with pytest.raises(ModelError):
        fs.solve(rmp, driver)


def test_it_has_weights_to_classify_with(rmp, data):
    result = run(rmp)
    w = np.array([v.value for v in rmp.w.values()])
    loss = np.maximum(0, 1 - data.y * (data.X @ w + rmp.b.value)).sum()
    assert 0.5 * w @ w + loss == pytest.approx(result.objective, rel=1e-9)


# ---- the pool of cuts


def test_a_pool_without_cuts_proves_nothing():
    pool = CutPool(3)
    assert len(pool) == 0
    assert pool.at(np.ones(3)) == -np.inf


@given(arrays(float, (25, 3), elements=st.floats(-1e6, 1e6)), arrays(float, 2, elements=st.floats(0, 1)))
def test_a_pool_is_the_largest_of_its_cuts(numbers, point):
    pool = CutPool(2)
    for k, (constant, *coefficients) in enumerate(numbers):
        pool.add(Cut(constant, np.array(coefficients)))
        expected = (numbers[: k + 1, 0] + numbers[: k + 1, 1:] @ point).max()
        assert pool.at(point) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert len(pool) == 25


def test_a_full_pool_forgets_the_oldest():
    pool = CutPool(1)
    for k in range(KEPT):
        pool.add(Cut(float(-k), np.zeros(1)))
        assert len(pool) == k + 1
    assert pool.at(np.zeros(1)) == 0.0
    for k in range(3 * KEPT + 7):
        pool.add(Cut(float(-KEPT - k), np.zeros(1)))
        assert len(pool) == KEPT
        assert pool.at(np.zeros(1)) == -k - 1.0


def test_a_pool_keeps_a_copy():
    pool, slope = CutPool(2), np.ones(2)
    pool.add(Cut(1.0, slope))
    slope[:] = 100.0
    assert pool.at(np.ones(2)) == 3.0


# ---- the LP


def master(seed, n=8):
    """A master with rows, a group variable and random valid cuts."""
    data, rng = larger(30, n, seed=seed), np.random.default_rng(seed)
    model = fs.fsp.fsp_m(data, max_features=4)
    sided(model, seed)
    model.all.deactivate()
    parts, oracle = split(model, model.structure), SvmOracle(data.X, data.y, 1.0)
    cuts = []
    for _ in range(40):
        answer = oracle.solve(rng.random(n))
        cuts.append(SubAnswer(answer.value, answer.bound, Cut(answer.alpha.sum(), -0.5 * answer.v**2), lambda: None))
    return parts, cuts


def filled(parts, cuts, *, everywhere=True):
    lp = MasterLP(parts, 0.0)
    lp.start(cuts[0].value)
    for cut in cuts:
        lp.add(cut, everywhere=everywhere)
    return lp


def by_scipy(lp, cuts, lower, upper):
    """The same LP written down on its own."""
    rows, n = lp.linear, lp.n
    matrix, up, low = rows.matrix.toarray(), np.isfinite(rows.upper), np.isfinite(rows.lower)
    pad = np.zeros((len(cuts), lp.size - n))
    A = np.vstack(
        [
            np.column_stack([matrix[up], np.zeros(up.sum())]),
            np.column_stack([-matrix[low], np.zeros(low.sum())]),
            np.column_stack([np.array([c.cut.coefficients for c in cuts]), pad, -np.ones(len(cuts))]),
        ]
    )
    b = np.concatenate([rows.upper[up], -rows.lower[low], [-c.cut.constant for c in cuts]])
    bounds = [*zip(lower, upper, strict=True), (0.0, None)]
    found = linprog(np.append(rows.cost, 1.0), A_ub=A, b_ub=b, bounds=bounds)
    return found.fun + rows.constant if found.status == 0 else np.inf


def value_of(lp, lower, upper):
    answer = lp.solve(lower, upper, None)
    return np.inf if answer is LpStatus.INFEASIBLE else answer.bound


@pytest.mark.parametrize("seed", range(6))
def test_leaving_out_fixed_columns_changes_no_optimum(seed):
    parts, cuts = master(seed)
    rng, lp = np.random.default_rng(seed), filled(parts, cuts)
    for fixed in (0, 3, 5, 7, 9):
        free = np.flatnonzero(lp.lower < lp.upper)
        for j in rng.permutation(free)[: max(0, fixed - (lp.size - len(free)))]:
            lp.lower[j] = lp.upper[j] = float(rng.integers(0, 2) if j in (0, 1) else 0)
        lp.drop_fixed()
        for _ in range(3):  # and bounds moved by the search on top
            lower, upper = lp.lower.copy(), lp.upper.copy()
            for j in np.flatnonzero((lower < upper) & (rng.random(lp.size) < 0.3)):
                lower[j] = upper[j] = float(rng.integers(0, 2))
            truth = by_scipy(lp, cuts, lower, upper)
            assert value_of(lp, lower, upper) == pytest.approx(truth, rel=1e-6)
            if np.isfinite(truth):
                answer = lp.solve(lower, upper, None)
                assert np.all((answer.point >= lower) & (answer.point <= upper))
                d = answer.reduced_costs
                for j in np.flatnonzero(lower < upper):  # weak duality, left-out columns included
                    other, at = (lower, upper) if d[j] < 0 else (upper, lower)
                    moved = lower.copy(), upper.copy()
                    moved[0][j] = moved[1][j] = other[j]
                    assert by_scipy(lp, cuts, *moved) >= answer.bound + abs(d[j]) * abs(other[j] - at[j]) - 1e-6
    lp.add(cuts[0])  # a cut may still join
    assert value_of(lp, lp.lower, lp.upper) == pytest.approx(by_scipy(lp, cuts, lp.lower, lp.upper), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_cuts_that_were_dropped_return_where_they_are_violated(seed):
    parts, cuts = master(seed)
    rng, lp, returned = np.random.default_rng(seed), filled(parts, cuts), 0
    for _ in range(12):
        lower, upper = lp.lower.copy(), lp.upper.copy()
        for j in np.flatnonzero((lower < upper) & (rng.random(lp.size) < 0.3)):
            lower[j] = upper[j] = float(rng.integers(0, 2))
        truth = by_scipy(lp, cuts, lower, upper)
        answer = lp.solve(lower, upper, None)
        while not isinstance(answer, LpStatus) and lp.restore_violated(answer):
            returned += 1
            assert answer.bound <= truth * (1 + 1e-9)
            answer = lp.solve(lower, upper, None)
        bound = np.inf if isinstance(answer, LpStatus) else answer.bound
        assert bound == pytest.approx(truth, rel=1e-4)  # a cut violated by less than 1e-5 stays out
        assert len(lp._cuts) + len(lp._dropped) == len(cuts)
        if not isinstance(answer, LpStatus):
            lp.drop_slack_cuts()
        if seed % 2:
            lp.drop_fixed()
    assert returned


def test_the_first_point_meets_the_rows():
    for seed in range(6):
        parts, _ = master(seed)
        lp = MasterLP(parts, 0.0)
        point, rows = lp.first_point(), lp.linear
        assert np.all((point >= lp.lower) & (point <= lp.upper))
        assert np.all(rows.matrix @ point <= rows.upper + 1e-5)
        assert np.all(rows.matrix @ point >= rows.lower - 1e-5)


@pytest.mark.parametrize("form", ["indicator", "big-m"])
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_a_solvers_word_on_a_steep_big_m_is_no_proof(solver, form, need):
    """With w <= 5e5 sigma in the solver's units gurobi called 36532 optimal, with as large a bound: 33846 is."""
    X = [
        [0.19888389819998056, 2.268294465777988, 964.7298219713409],
        [0.4724633963435788, 1.0467504923287183, -228.6920969222434],
        [0.17063105542345353, 0.8731185868531577, 1239.108725767042],
        [-0.09906031495386998, -0.39734862961512757, 1859.2089610503049],
        [0.230903720410351, -0.29274423667805083, 1971.290399169483],
    ]
    data = fs.Dataset.from_arrays(X, [1, -1, -1, 1, 1]).scaled("none")
    model = fs.fsp.fsp_m(data, max_features=1, C=14957.440960723601, form=form)
    cost = dict(zip(data.features, (4e5, 2.3e6, 1.1e6), strict=True))
    model.cost = fs.side_constraints.budget(model, cost, 1.9e6)
    result = fs.solve(model, need(solver))
    assert result.bound is None or result.bound < 33846.109
    assert result.status != "optimal" or result.objective == pytest.approx(33846.10868, rel=1e-4)
    assert fs.solve(model).objective == pytest.approx(33846.10868, rel=1e-4)


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut"])
def test_what_is_proven_to_have_an_end_is_not_unbounded(driver, monkeypatch):
    """Clarabel said so of a subproblem with C = 1e6 on columns of 1e6, whose cost is never below 0."""

    def endless(*_, **__):
        raise UnboundedSubproblem("The subproblem is unbounded below: no cut exists.")

    monkeypatch.setattr(SwitchedSubproblem, "solve", endless)
    data = larger(20, 3, seed=1, noise=0.5)
    model = fs.fsp.fsp_lambda(data, penalty=1.0)
    model.small = pyo.Constraint(expr=model.w[data.features[0]] ** 2 <= 0.25)
    result = fs.solve(model, driver)
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.SOLVER_ERROR)
    assert 0.0 <= result.bound < result.objective
    assert "its solver failed" in result.message


def test_gurobi_has_no_dual_reductions(need):
    """With them Gurobi reported 5.35e6 as the optimum and as a bound; the optimum is 5.03e6."""
    need("gurobi")
    X = [[1, -1, -1], [-1, 1, -1], [1, 1, 1], [1, -2, 0], [-1, 0, -1], [-1, -1, 1], [1, 2, -1]]
    data = fs.Dataset.from_arrays(np.array(X, dtype=float), [1, -1, -1, -1, -1, 1, -1])
    data = data.weighted([1.0, 1.0, 0.5, 1.0, 0.5, 2.0, 0.5])
    m = fs.fsp.fsp_m(data, C=1e6, max_features=1, loss="squared-hinge", form="indicator")
    m.requires = pyo.Constraint(expr=m.sigma["x1"] <= m.sigma["x2"])
    assert fs.solve(m, "gurobi").objective == pytest.approx(5032258.14, rel=1e-6)


@pytest.mark.parametrize("form", ["bilinear", "big-m"])
def test_squares_with_very_different_costs(need, form):
    """Gurobi reported 4.8e6 as optimal; the optimum is 4,457,142.89."""
    need("gurobi")
    X = [[9997, 9999, 9998], [9999, 9999, 10000], [10000, 9998, 10004], [9996, 9998, 10003], [9998, 9998, 9996],
         [10002, 10000, 9996], [10006, 10001, 9996]]  # fmt: skip
    data = fs.Dataset.from_arrays(np.array(X, dtype=float), np.array([1, -1, 1, -1, -1, 1, 1]))
    m = fs.fsp.fsp_m(data, C=1e6, max_features=1, loss="squared-hinge", form=form)
    m.excludes = pyo.Constraint(expr=m.sigma["x2"] + m.sigma["x3"] <= 1)
    result = fs.solve(m, "gurobi")
    assert result.bound is None or result.bound <= 4457142.8911


def test_scip_has_no_strong_dual_reductions(need):
    """With them SCIP reported -1.9896e6 as the optimum and as a bound; the optimum is -2.0004e6."""
    need("scip")
    X = [[10004, 9996], [10000, 9999], [10002, 9997], [10000, 9999], [10002, 10003], [10001, 9999], [10004, 9999]]
    data = fs.Dataset.from_arrays(np.array(X, dtype=float), [1, -1, 1, -1, 1, 1, 1])
    m = fs.fsp.fsp_m(data, C=1.0, max_features=1)
    m.objective.set_value(m.objective.expr + 0.2 * m.b)
    assert fs.solve(m, "scip").objective == pytest.approx(-2000399.82, rel=1e-6)


def test_a_side_that_zero_violates_by_rounding_does_not_demand_a_feature(make_data):
    """A row w <= -5e-17 counted as "feature always selected": the optimum was one penalty too high."""
    data = make_data(20, 3, seed=1)
    m = fs.fsp.fsp_lambda(data, C=1.0, penalty=5.0)
    best = fs.solve(m, DRIVER).objective
    m.row = pyo.Constraint(expr=0.59 * m.w["c"] <= -4.67e-17)
    result = fs.solve(m, DRIVER)
    assert result.objective == pytest.approx(fs.solve(m, "scip").objective, rel=1e-4)
    m.row.set_value(m.w["c"] <= -1e-6)
    assert fs.solve(m, DRIVER).objective >= max(best, 5.0)
    assert m.sigma["c"].value == 1


@pytest.mark.parametrize("driver", ["benders", DRIVER])
def test_complements_of_a_disjunction_are_left_out_and_have_values(driver, make_data):
    m = fs.fsp.fsp_m(make_data(25, 6, seed=2), max_features=2, form="indicator")
    reference = fs.solve(fs.fsp.fsp_m(make_data(25, 6, seed=2), max_features=2)).objective
    for rows in (False, True):
        result = fs.solve(m, driver)
        assert result.status is SolutionStatus.OPTIMAL
        for j in m.features:
            assert m.dropped[j].binary_indicator_var.value == 1 - round(m.sigma[j].value)
        if not rows:
            assert result.objective == pytest.approx(reference, rel=1e-4)
            first = m.features.first()
            m.own = pyo.Constraint(expr=m.dropped[first].binary_indicator_var + m.sigma[m.features.at(2)] <= 1)
    assert m.dropped[first].binary_indicator_var.value + m.sigma[m.features.at(2)].value <= 1 + 1e-9


@pytest.mark.parametrize("in_out", [True, False])
@pytest.mark.parametrize("penalised", [True, False])
def test_benders_with_and_without_cuts_at_exchanges_is_branch_and_cut(in_out, penalised, make_data):
    data = make_data(30, 6, seed=4)
    builders = [lambda: fs.fsp.fsp_lambda(data, penalty=0.5), lambda: fs.fsp.fsp_m(data, max_features=3)]
    build = builders[0] if penalised else builders[1]
    result = fs.solve(build(), "benders", in_out=in_out)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(fs.solve(build()).objective, rel=1e-4)
