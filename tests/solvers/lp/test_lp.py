"""Linear programs: the same results from HiGHS and from every solver with LP multipliers by Pyomo."""

import itertools
import threading
from functools import partial
from types import SimpleNamespace

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse
from scipy.optimize import linprog

import solvers
from foreign_models import integers_and_continuous
from solvers import SolutionStatus, StopReason
from solvers.errors import SolverError
from solvers.interfaces.registry import SOLVERS
from solvers.interfaces.runner import Answer, SolveOptions
from solvers.lp import dual as dual_lp
from solvers.lp import highs
from solvers.lp.dual import DualLP, prefers_dual
from solvers.lp.highs import FINEST, HighsLP, LpStatus
from solvers.lp.pyomo import NEEDED, PyomoLP, linear_program, polished, require_lp_solver

INF = np.inf
ABLE = [s for s in SOLVERS.values() if NEEDED in s.capabilities and not s.local]


def over(names):
    return [
        pytest.param(
            s.name, marks=[] if s.found else pytest.mark.skip(reason=f"{s.name} is not installed: {s.install}")
        )
        for s in ABLE
        if s.name in names
    ]


EVERY = over([s.name for s in ABLE])


def through_pyomo(name, *arrays):
    return PyomoLP(require_lp_solver(name), SolveOptions(seed=0, threads=1), *arrays)


@pytest.fixture(params=["direct", "dual", *EVERY])
def make(request):
    """A function (cost, lower, upper) -> an LP, for HiGHS directly, by the dual, and for every solver through Pyomo."""
    if request.param in ("direct", "dual"):
        return {"direct": HighsLP, "dual": DualLP}[request.param]
    return partial(through_pyomo, request.param)


def lagrangian(answer, cost, matrix, sides, lower, upper):
    """The bound that the multipliers prove: the optimum, if each has the sign of the side that binds."""
    y = answer.multipliers
    d = cost - (matrix.T @ y if len(y) else 0.0)
    terms = [(m, *side) for m, side in zip(y, sides, strict=True)] + list(zip(d, lower, upper, strict=True))
    return sum(m * (low if m > 0 else up) for m, low, up in terms if abs(m) > 1e-6)


def test_the_lp_follows_rows_and_bounds(make):
    lp = make(np.array([1.0, 2.0]), np.zeros(2), np.full(2, INF))
    assert (lp.columns, lp.rows) == (2, 0)
    lp.add_rows(np.array([[1.0, 1.0]]), np.array([3.0]), np.array([INF]))
    assert lp.solve().objective == pytest.approx(3.0)
    lp.set_bounds(np.array([0]), np.array([0.0]), np.array([1.0]))
    answer = lp.solve()
    assert answer.objective == pytest.approx(5.0)
    assert answer.point == pytest.approx([1.0, 2.0])
    assert answer.reduced_costs == pytest.approx([-1.0, 0.0], abs=1e-6)
    lp.add_rows(np.array([[0.0, 1.0], [1.0, 0.0]]), np.full(2, -INF), np.array([9.0, 9.0]))
    lp.solve()
    assert lp.slack_rows().tolist() == [False, True, True]
    lp.delete_rows(np.array([1]))
    assert lp.rows == 2
    lp.set_bounds(np.array([1]), np.array([0.0]), np.array([1.0]))
    assert lp.solve().status is LpStatus.INFEASIBLE
    lp.set_bounds(np.array([1]), np.array([0.0]), np.array([4.0]))
    lp.set_cost(np.array([2.0, 1.0]))
    assert lp.solve().point == pytest.approx([0.0, 3.0], abs=1e-6)


def test_the_lp_agrees_with_scipy_after_many_changes(make):
    rng = np.random.default_rng(0)
    cost = rng.uniform(-1, 1, 8)
    lp = make(cost, np.zeros(8), np.ones(8))
    rows = np.empty((0, 8))
    for _ in range(10):
        row = rng.uniform(0, 1, (1, 8))
        rows = np.vstack([rows, row])
        lp.add_rows(row, np.array([-INF]), np.array([1.5]))
        upper = rng.integers(0, 2, 8).astype(float)
        lp.set_bounds(np.arange(8), np.zeros(8), upper)
        want = linprog(cost, A_ub=rows, b_ub=np.full(len(rows), 1.5), bounds=list(zip(np.zeros(8), upper, strict=True)))
        assert lp.solve().objective == pytest.approx(want.fun, abs=1e-6)


def covering(options=None):
    """An LP of 30 rows that takes HiGHS some thirty iterations."""
    rng = np.random.default_rng(0)
    lp = HighsLP(rng.uniform(1, 2, 40), np.zeros(40), np.full(40, INF), options=options)
    lp.add_rows(rng.uniform(0, 1, (30, 40)), np.ones(30), np.full(30, INF))
    return lp


@pytest.mark.parametrize(("fewest", "status"), [(1000, LpStatus.OPTIMAL), (10, LpStatus.OPTIMAL), (1, LpStatus.FAILED)])
def test_a_simplex_that_goes_in_a_circle_begins_anew_and_at_last_fails(fewest, status, monkeypatch):
    monkeypatch.setattr(highs, "TURNS", 0)
    monkeypatch.setattr(highs, "FEWEST", fewest)
    lp = covering()
    answer = lp.solve()
    assert answer.status is status
    if status is LpStatus.OPTIMAL:
        monkeypatch.undo()
        assert answer.objective == pytest.approx(covering().solve().objective)


def test_a_requested_iteration_limit_is_used():
    assert covering({"simplex_iteration_limit": 3}).solve().status is LpStatus.LIMIT


def test_an_lp_time_limit_is_for_one_solve(make):
    lp = make(np.ones(1), np.zeros(1), np.ones(1))
    lp.add_rows(np.ones((1, 1)), np.array([0.5]), np.array([INF]))
    for _ in range(5):
        assert lp.solve(time_limit=600.0).status is LpStatus.OPTIMAL
    lp.set_cost(-np.ones(1))
    assert lp.solve(time_limit=0.0).status is LpStatus.LIMIT


@pytest.mark.parametrize(
    ("low", "up", "cost", "multiplier"),
    [
        (3.0, 3.0, 2.0, 2.0),
        (3.0, 3.0, -2.0, -2.0),
        (3.0, INF, 2.0, 2.0),
        (-INF, 3.0, -2.0, -2.0),
        (1.0, 3.0, 2.0, 2.0),
        (1.0, 3.0, -2.0, -2.0),
        (-INF, 30.0, -2.0, 0.0),
        (-INF, INF, -2.0, 0.0),
    ],
)
def test_a_multiplier_is_the_derivative_of_the_optimum_by_the_side_that_binds(make, low, up, cost, multiplier):
    lp = make(np.array([cost, 1.0]), np.zeros(2), np.full(2, 9.0))
    lp.add_rows(np.array([[1.0, 0.0]]), np.array([low]), np.array([up]))
    answer = lp.solve()
    assert answer.multipliers == pytest.approx([multiplier], abs=1e-6)
    assert answer.reduced_costs == pytest.approx([cost - multiplier, 1.0], abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_random_rows_that_come_and_go_have_one_answer_and_multipliers_that_prove_it(make, seed):
    rng = np.random.default_rng(seed)
    n, seen = 6, set()
    cost, lower, upper = rng.normal(size=n), np.zeros(n), rng.choice([3.0, 10.0], n)
    matrix, sides = np.empty((0, n)), np.empty((0, 2))
    lp = make(cost, lower, upper)
    for _ in range(8):
        rows = rng.normal(size=(3, n)) * (rng.random((3, n)) < 0.7)
        at = rows @ rng.uniform(lower, upper)
        free = rng.random((3, 2)) < 0.3
        new = at[:, None] + np.array([-0.5, 0.5]) * (rng.random((3, 1)) < 0.7)  # equations and ranges
        new = np.where(free, [-INF, INF], new)
        lp.add_rows(rows, new[:, 0], new[:, 1])
        matrix, sides = np.vstack([matrix, rows]), np.vstack([sides, new])
        if len(matrix) > 6:
            gone = rng.choice(len(matrix), 5, replace=False)  # in any order
            lp.delete_rows(gone)
            matrix, sides = np.delete(matrix, gone, axis=0), np.delete(sides, gone, axis=0)
        columns = rng.choice(n, 2, replace=False)
        upper[columns] = rng.uniform(0.5, 8, 2)
        lp.set_bounds(columns, lower[columns], upper[columns])
        if rng.random() < 0.3:
            cost = rng.normal(size=n)
            lp.set_cost(cost)
        fresh = HighsLP(cost, lower, upper)
        fresh.add_rows(matrix, sides[:, 0], sides[:, 1])
        want, answer = fresh.solve(), lp.solve()
        assert answer.status is want.status
        seen.add(answer.status)
        if answer.status is LpStatus.OPTIMAL:
            assert answer.objective == pytest.approx(want.objective, abs=1e-6)
            assert lagrangian(answer, cost, matrix, sides, lower, upper) == pytest.approx(want.objective, abs=1e-5)
            assert answer.reduced_costs == pytest.approx(cost - matrix.T @ answer.multipliers, abs=1e-6)
            activity = matrix @ answer.point
            assert (activity >= sides[:, 0] - 1e-6).all()
            assert (activity <= sides[:, 1] + 1e-6).all()
    assert LpStatus.OPTIMAL in seen


def test_an_lp_is_solved_in_a_thread_where_highs_has_another_number_of_threads():
    """HiGHS keeps a pool of threads for each thread that calls it, and refuses programs that ask for another number."""
    found = []

    def work():
        own = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 2)):
            own.setOptionValue(option, value)
        own.addVar(0.0, 1.0)
        own.addRow(0.5, 1.0, 1, np.array([0], dtype=np.int32), np.array([1.0]))
        own.run()
        lp = HighsLP(np.array([-1.0, 1.0]), np.zeros(2), np.full(2, 3.0))
        lp.add_rows(sparse.csr_matrix([[1.0, 1.0]]), np.array([0.0]), np.array([2.0]))
        found.extend(lp.solve() for _ in range(2))
        highspy.Highs.resetGlobalScheduler(False)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [(a.status, a.objective) for a in found] == [(LpStatus.OPTIMAL, -2.0)] * 2


def test_lps_without_rows_costs_or_points(make):
    free = make(np.array([1.0, -1.0, 0.0]), np.array([-1.0, 0, 2]), np.array([3.0, 4, 5]))
    assert free.solve().objective == pytest.approx(-5.0)
    free.set_cost(np.zeros(3))
    answer = free.solve()
    assert (answer.status, answer.objective) == (LpStatus.OPTIMAL, 0.0)
    assert ((answer.point >= [-1 - 1e-6, 0 - 1e-6, 2 - 1e-6]) & (answer.point <= [3, 4, 5])).all()

    ray = make(np.array([-1.0, 0.0]), np.zeros(2), np.full(2, INF))
    assert ray.solve().status is LpStatus.UNBOUNDED
    ray.add_rows(np.array([[1.0, -1.0]]), np.array([-INF]), np.array([1.0]))
    assert ray.solve().status is LpStatus.UNBOUNDED
    ray.add_rows(np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([-INF, 2.0]), np.array([1.0, INF]))
    assert ray.solve().status is LpStatus.INFEASIBLE
    ray.delete_rows(np.array([2]))
    ray.set_cost(np.array([-1.0, 3.0]))
    assert ray.solve().objective == pytest.approx(-1.0)

    empty = make(np.array([1.0, 1.0]), np.zeros(2), np.full(2, 9.0))
    empty.add_rows(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 2.0]), np.array([INF, INF]))
    assert empty.solve().multipliers == pytest.approx([0.0, 1.0])
    empty.add_rows(np.array([[0.0, 0.0]]), np.array([1.0]), np.array([INF]))
    assert empty.solve().status is LpStatus.INFEASIBLE
    empty.delete_rows(np.array([2]))
    empty.set_bounds(np.array([1]), np.array([2.0]), np.array([1.0]))
    assert empty.solve().status is LpStatus.INFEASIBLE


def test_arrays_handed_in_stay_as_they_are(make):
    matrix = sparse.csr_matrix(([1.0, 0.0, 2.0, 0.0], [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))  # zeros are stored
    arrays = np.array([-1.0, 1.0]), np.zeros(2), np.full(2, 9.0), np.full(2, -INF), np.array([3.0, 8.0])
    before = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr, *arrays)]
    lp = make(*arrays[:3])
    lp.add_rows(matrix, *arrays[3:])
    lp.set_sides(np.array([1, 0]), np.full(2, -INF), np.array([8.0, 3.0]))
    assert lp.solve().objective == pytest.approx(-3.0)
    lp.delete_rows(np.array([0]))
    lp.set_bounds(np.arange(2), *arrays[1:3])
    assert lp.solve().objective == pytest.approx(-4.0)
    for now, then in zip((matrix.data, matrix.indices, matrix.indptr, *arrays), before, strict=True):
        assert now.tolist() == then.tolist()


def test_rows_are_slack_strictly_inside_both_sides(make):
    lp = make(np.array([-1.0, -2.0]), np.zeros(2), np.full(2, 4.0))
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    lp.add_rows(rows, np.array([-INF, -INF, 0.0, -1.0]), np.array([3.0, 3.0, 4.0, 9.0]))
    assert lp.solve().point == pytest.approx([1.0, 2.0])
    assert lp.slack_rows().tolist() == [False, True, True, False]
    lp.delete_rows(lp.slack_rows().nonzero()[0])
    assert lp.solve().objective == pytest.approx(-5.0)


@pytest.mark.parametrize("seed", range(30))
def test_soft_margins_have_the_same_optimum_by_the_dual(seed):
    """Slacks, free weights, columns with one or two bounds, columns fixed for a while, and costs that change."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 15)), int(rng.integers(1, 6))
    lower = np.concatenate([rng.choice([-INF, -2.0, 0.0], n), np.zeros(m)])
    upper = np.concatenate([rng.choice([INF, 3.0], n), np.where(rng.random(m) < 0.8, INF, 2.0)])
    matrix = sparse.hstack([rng.integers(-3, 4, (m, n)), sparse.diags(rng.choice([1.0, 2.0, -1.0], m))], format="csr")
    low = np.where(rng.random(m) < 0.8, 1.0, -INF)
    high = np.where(rng.random(m) < 0.3, np.maximum(low, 1.0) + rng.integers(0, 3, m), INF)
    lps = [make(np.zeros(n + m), lower, upper) for make in (HighsLP, DualLP)]
    for lp in lps:
        lp.add_rows(matrix, low, high)
    for _ in range(6):
        cost = np.concatenate([rng.integers(-1, 3, n), rng.integers(0, 3, m)]).astype(float)
        fixed = np.flatnonzero(rng.random(n + m) < 0.2)
        values = np.maximum(0.0, rng.integers(0, 2, len(fixed)))
        answers = []
        for lp in lps:
            lp.set_cost(cost)
            lp.set_bounds(fixed, values, values)
            answers.append(lp.solve())
            lp.set_bounds(fixed, lower[fixed], upper[fixed])
        direct, by_dual = answers
        assert by_dual.status is direct.status
        if direct.status is not LpStatus.OPTIMAL:
            continue
        now_low, now_high = lower.copy(), upper.copy()
        now_low[fixed], now_high[fixed] = values, values
        assert by_dual.objective == pytest.approx(direct.objective, abs=1e-7)
        assert (by_dual.point >= now_low - 1e-9).all()
        assert (by_dual.point <= now_high + 1e-9).all()
        rows = matrix @ by_dual.point
        assert (rows >= low - 1e-7).all()
        assert (rows <= high + 1e-7).all()
        bound = lagrangian(by_dual, cost, matrix, zip(low, high, strict=True), now_low, now_high)
        assert bound == pytest.approx(direct.objective, abs=1e-6)


def test_by_the_dual_only_where_it_is_the_smaller_program(monkeypatch):
    soft = sparse.hstack([np.ones((30, 4)), sparse.identity(30)], format="csr")
    assert not prefers_dual(soft)  # too small to matter
    monkeypatch.setattr(dual_lp, "LONG", 100)
    assert prefers_dual(soft)
    assert not prefers_dual(sparse.csr_matrix(np.ones((20, 30))))
    cost, none, sides = np.ones(34), np.full(34, INF), (np.ones(30), np.full(30, INF))
    assert isinstance(linear_program("highs", cost, 0 * cost, none, rows=(soft, *sides), stay=True), DualLP)
    assert isinstance(linear_program("highs", cost, 0 * cost, none, rows=(soft, *sides)), HighsLP)


def test_highs_by_name_is_direct_and_others_go_through_pyomo(need):
    arrays = np.ones(2), np.zeros(2), np.ones(2)
    assert isinstance(linear_program("highs", *arrays), HighsLP)
    assert isinstance(linear_program(need("glpk"), *arrays), PyomoLP)


@pytest.mark.parametrize(
    ("name", "words"),
    [("gurobbi", "gurobi"), ("scip", "LP duals"), ("cbc", "LP duals"), ("pounce", "local"), ("benders", "not known")],
)
def test_other_solvers_are_refused_with_those_that_can(name, words, need, facilities):
    need(name)
    with pytest.raises(SolverError, match=words) as refusal:
        require_lp_solver(name)
    assert "highs" in str(refusal.value)
    with pytest.raises(SolverError, match=words):
        solvers.solve(facilities.build(), "branch-and-cut", lp_solver=name)


def test_a_solver_that_fails_says_so_at_first_and_stops_the_search_later(monkeypatch):
    lp = through_pyomo("highs", np.ones(1), np.zeros(1), np.ones(1))

    def failing(*_, **__):
        raise SolverError("no licence")

    with monkeypatch.context() as patch:
        patch.setattr("solvers.lp.pyomo.Runner.solve", failing)
        with pytest.raises(SolverError, match="no licence"):
            lp.solve()
    assert lp.solve().status is LpStatus.OPTIMAL
    monkeypatch.setattr("solvers.lp.pyomo.Runner.solve", failing)
    assert lp.solve().status is LpStatus.FAILED


def test_ctrl_c_that_a_solver_swallowed_is_raised_again(monkeypatch):
    pressed = Answer(StopReason.INTERRUPTED, SolutionStatus.NO_SOLUTION, False, None, "interrupted")
    monkeypatch.setattr("solvers.lp.pyomo.Runner.solve", lambda *_, **__: pressed)
    with pytest.raises(KeyboardInterrupt):
        through_pyomo("highs", np.ones(1), np.zeros(1), np.ones(1)).solve()


# ---- the search over them


@pytest.fixture(scope="module")
def facilities():
    """Uncapacitated facility location, and its optimum by trying every set of facilities."""
    rng = np.random.default_rng(0)
    price, cost = 8.0, rng.uniform(1, 10, (6, 10))
    sets = [list(s) for k in range(1, 7) for s in itertools.combinations(range(6), k)]
    best = min(price * len(s) + cost[s].min(axis=0).sum() for s in sets)

    def build():
        m = pyo.ConcreteModel()
        m.open = pyo.Var(range(6), domain=pyo.Binary)
        m.serve = pyo.Var(range(6), range(10), bounds=(0, None))
        m.all = pyo.Constraint(range(10), rule=lambda m, c: sum(m.serve[f, c] for f in range(6)) == 1)
        m.link = pyo.Constraint(range(6), range(10), rule=lambda m, f, c: m.serve[f, c] <= m.open[f])
        served = sum(cost[f, c] * m.serve[f, c] for f in range(6) for c in range(10))
        m.cost = pyo.Objective(expr=price * sum(m.open.values()) + served)
        return m

    return SimpleNamespace(build=build, best=best)


@pytest.mark.parametrize("lp_solver", EVERY)
def test_branch_and_cut_locates_facilities(lp_solver, facilities):
    model = facilities.build()
    result = solvers.solve(model, "branch-and-cut", complicating=[model.open], lp_solver=lp_solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(facilities.best, rel=1e-4)
    assert result.bound <= facilities.best * (1 + 1e-7)


@pytest.mark.parametrize("lp_solver", EVERY)
def test_branch_and_cut_with_continuous_and_general_integer_master_variables(lp_solver):
    model = integers_and_continuous()
    best = solvers.solve(model, "highs", gap=1e-9).objective
    result = solvers.solve(model, "branch-and-cut", complicating=[model.k], subproblem=[model.y], lp_solver=lp_solver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4)


def test_printed_multipliers_prove_the_same_bound_as_exact_ones():
    """Seven digits of each: the bound by weak duality over columns without upper bounds is lost, and comes back."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        a = sparse.csr_matrix(rng.integers(0, 4, (6, 9)).astype(float))
        cost, sides = rng.uniform(1, 5, 9), rng.uniform(1, 5, 6)
        lp = HighsLP(cost, np.zeros(9), np.full(9, np.inf))
        lp.add_rows(a, sides, np.full(6, np.inf))
        answer = lp.solve()
        if answer.status is not LpStatus.OPTIMAL:
            continue
        printed = np.array([float(f"{p:.7g}") for p in answer.multipliers])
        better = polished(a, cost, printed)
        d, size = cost - a.T @ better, cost + abs(a).T @ np.abs(better)
        assert (d >= -1e-12 * size).all()
        assert better @ sides == pytest.approx(answer.objective, rel=1e-9)
        assert (better >= 0).all()


def test_multipliers_that_are_wrong_stay_as_they_are():
    a = sparse.csr_matrix([[1.0, 2.0], [0.0, 1.0]])
    wrong = np.array([0.5, 0.0])
    assert polished(a, np.array([1.0, 3.0]), wrong) is wrong


def test_an_unbounded_program_on_which_the_dual_simplex_method_gives_up():
    lp = HighsLP(
        np.array([-0.16, -1.34, -1.23, 2.04, -3.0, 3.7048898677327746]),
        np.zeros(6),
        np.array([7.0, np.inf, 8.0, np.inf, 1.0, np.inf]),
        tolerance=FINEST,
    )
    matrix = [
        [-0.7, -0.46, -1.51, 0.26, 1.07, 0.0],
        [1.53, -0.81, 0.67, 0.02, -1.76, 0.0],
        [0.18, -0.43, -0.44, -0.41, 0.05, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0, -2.0, -0.5],
        [0.0] * 6,
    ]
    sides = np.array([0.5688283472129742, 1.423229589699604, -2.0026019754243896, 6.0, 0.0, 30.0])
    lp.add_rows(sparse.csr_matrix(np.array(matrix)), np.full(6, -np.inf), sides)
    assert lp.solve().status is LpStatus.UNBOUNDED
