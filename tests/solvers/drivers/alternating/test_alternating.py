"""Alternating minimisation: partial optima enumerated by hand, the SVD, exact penalties, limits, edits, refusals."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from model_state import state
from solvers import ModelError, OptionError, SolutionStatus, SolverError, StopReason
from solvers.drivers.alternating.driver import Alternating
from solvers.drivers.alternating.problems import _tidy
from solvers.facts.blocks import Block, Blocks, PenaltyValues
from solvers.interfaces.registry import SOLVERS, names
from solvers.lp.pyomo import NEEDED
from solvers.model.classes import violation

LP_SOLVERS = [name for name in names(NEEDED, installed=False) if not SOLVERS[name].local]


def run(model, **options):
    """Solve, checking that nothing but values changed, and that the objective falls within each start."""
    before = state(model)
    result = solvers.solve(model, "alternating", **options)
    assert state(model) == before
    if result.has_solution:
        objective = next(model.component_data_objects(pyo.Objective, active=True))
        assert pyo.value(objective) == pytest.approx(result.objective, rel=1e-9, abs=1e-12)
        assert violation(model) <= 1e-6
    return result


def falls(result, sign=1.0):
    for _, sweeps in result.iterations.groupby("Step"):
        assert (np.diff(sign * sweeps["Objective"].to_numpy(dtype=float)) <= 0).all()
    return True


# A bilinear program over two simplices: a partial optimum at a vertex is an entry least in its row and its column.

PAYOFF = np.array([[3.0, 5.0, 9.0], [6.0, 2.0, 7.0], [8.0, 4.0, 1.0]])


def game(sense=pyo.minimize):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(range(3), bounds=(0, None)), pyo.Var(range(3), bounds=(0, None))
    m.in_x, m.in_y = pyo.Constraint(expr=sum(m.x.values()) == 1), pyo.Constraint(expr=sum(m.y.values()) == 1)
    sign = 1 if sense == pyo.minimize else -1
    pairs = itertools.product(range(3), range(3))
    m.cost = pyo.Objective(expr=sum(sign * PAYOFF[i, j] * m.x[i] * m.y[j] for i, j in pairs), sense=sense)
    return m


PARTIAL = {float(a) for i, row in enumerate(PAYOFF) for j, a in enumerate(row) if a == row.min() == PAYOFF[:, j].min()}


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_every_start_of_a_bilinear_program_ends_at_a_partial_optimum(sense):
    m = game(sense)
    sign = 1 if sense == pyo.minimize else -1
    result = run(m, blocks=[[m.x], [m.y]], starts=20, start_range=(0, 1))
    ends = {round(sign * e, 9) for e in result.details["starts"]["objective"]}
    assert {1.0, 2.0, 3.0} == PARTIAL
    assert ends <= PARTIAL
    assert len(ends) > 1
    assert sign * result.objective == pytest.approx(1.0)
    assert (result.status, result.stop_reason) == (SolutionStatus.STATIONARY, StopReason.CONVERGED)
    assert "20 starts ended between" in result.message
    assert result.details["starts"]["stationary"].all()
    assert result.bound is None
    assert falls(result, sign)


@pytest.mark.parametrize("lp_solver", LP_SOLVERS)
def test_every_lp_solver(lp_solver, need):
    m = game()
    result = run(m, blocks=[[m.x], [m.y]], starts=3, start_range=(0, 1), lp_solver=need(lp_solver))
    assert result.status is SolutionStatus.STATIONARY
    assert min(abs(result.objective - p) for p in PARTIAL) <= 1e-6


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip", "pounce", "gurobi"])
def test_every_solver_of_a_block(solver, need):
    m = game()
    result = run(m, blocks=[Block([m.x], solver=need(solver)), m.y], starts=3, start_range=(0, 1))
    assert result.status is SolutionStatus.STATIONARY
    assert min(abs(result.objective - p) for p in PARTIAL) <= 1e-6


def test_a_warm_start_at_a_partial_optimum_stays_and_comes_first():
    m = game()
    for v in (*m.x.values(), *m.y.values()):
        v.set_value(0)
    m.x[0].set_value(1), m.y[0].set_value(1)
    result = run(m, blocks=[[m.x], [m.y]], starts=0, warm_start=True)
    assert (result.objective, result.status) == (3.0, SolutionStatus.STATIONARY)
    assert len(result.iterations) == 1
    both = run(m, blocks=[[m.x], [m.y]], starts=8, warm_start=True, start_range=(0, 1))
    assert both.details["starts"]["objective"][0] == 3.0
    assert both.objective < 3.0


def test_the_same_seed_gives_the_same_run_and_another_one_other_starts():
    tables = []
    for seed in (3, 3, 4):
        m = game()
        tables.append(run(m, blocks=[[m.x], [m.y]], seed=seed).iterations["Objective"].tolist())
    assert tables[0] == tables[1]
    m = game()
    first = run(m, blocks=[[m.x], [m.y]]).iterations["Objective"].tolist()
    assert run(m, blocks=[[m.x], [m.y]]).iterations["Objective"].tolist() == first  # what the model holds is no matter


def test_separable_blocks_need_one_start():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x - m.y)
    result = run(m, blocks=[m.x, m.y])
    assert (result.objective, len(result.details["starts"])) == (-1.0, 1)


def test_a_fixed_variable_of_a_block_is_a_constant():
    m = game()
    m.x[2].fix(0.0)
    result = run(m, blocks=[[m.x], [m.y]], starts=20, start_range=(0, 1))
    assert result.objective == pytest.approx(2.0)
    m.x[0].fix(0.0), m.x[1].fix(1.0)  # nothing is left of the first block
    assert run(m, blocks=[[m.x], [m.y]]).objective == pytest.approx(2.0)


# Blocks that are not LPs.


def factorisation(M, sense=pyo.minimize):
    rows, columns = M.shape
    m = pyo.ConcreteModel()
    m.u, m.v = pyo.Var(range(rows)), pyo.Var(range(columns))
    cells = itertools.product(range(rows), range(columns))
    error = sum((float(M[i, j]) - m.u[i] * m.v[j]) ** 2 for i, j in cells)
    m.error = pyo.Objective(expr=error if sense == pyo.minimize else -error, sense=sense)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_rank_one_factorisation_reaches_the_svd(sense):
    M = np.random.default_rng(0).normal(size=(5, 4))
    best = float((np.linalg.svd(M, compute_uv=False)[1:] ** 2).sum())
    m = factorisation(M, sense)
    sign = 1 if sense == pyo.minimize else -1
    result = run(m, blocks=[[m.u], [m.v]], starts=3)
    assert sign * result.objective == pytest.approx(best, rel=1e-6)
    assert result.status is SolutionStatus.STATIONARY
    assert falls(result, sign)
    driver = Alternating(m, blocks=[[m.u], [m.v]])
    driver.solve()
    assert [problem.spec.name for problem in driver._problems] == ["clarabel", "clarabel"]


def test_smooth_nonlinear_block_by_a_local_solver():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-3, 3)), pyo.Var(bounds=(-3, 3))
    m.cost = pyo.Objective(expr=pyo.exp(m.x) - m.x + (m.x - m.y) ** 2)
    result = run(m, blocks=[m.x, m.y], starts=2)
    assert result.objective == pytest.approx(1.0, abs=1e-6)  # at x = y = 0
    assert result.status is SolutionStatus.STATIONARY


def test_a_nonconvex_quadratic_block_goes_to_scip_unless_a_solver_is_named():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var([0, 1], bounds=(-1, 2)), pyo.Var(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x[0] * m.x[1] + (m.y - m.x[0]) ** 2)
    result = run(m, blocks=[m.x, m.y], starts=3)
    assert result.objective == pytest.approx(-1.25, abs=1e-6)  # at x = (1.5, -1), y = 1
    with pytest.raises(ModelError, match="scip"):
        Alternating(m, blocks=[Block([m.x], solver="clarabel"), m.y]).solve()


def clusters(points, k):
    """k-means on a line: binary assignment, free centres."""
    m = pyo.ConcreteModel()
    m.z = pyo.Var(range(len(points)), range(k), domain=pyo.Binary)
    m.c = pyo.Var(range(k), bounds=(min(points), max(points)))
    m.once = pyo.Constraint(range(len(points)), rule=lambda m, i: sum(m.z[i, c] for c in range(k)) == 1)
    m.spread = pyo.Objective(expr=sum(m.z[i, c] * (p - m.c[c]) ** 2 for i, p in enumerate(points) for c in range(k)))
    return m


@pytest.mark.parametrize("order", [1, -1])
def test_blocks_of_integers_reach_the_best_clusters(order):
    m = clusters([0.0, 1.0, 2.0, 10.0, 12.0], 2)
    result = run(m, blocks=[[m.z], [m.c]][::order], starts=8)
    assert result.objective == pytest.approx(2 + 2, abs=1e-6)  # {0, 1, 2} and {10, 12}
    assert (result.status, result.stop_reason) == (SolutionStatus.FEASIBLE, StopReason.CONVERGED)
    assert '"z[0,0]" is integer' in result.message
    assert all(v.value in (0.0, 1.0) for v in m.z.values())
    assert falls(result)


def test_an_integer_fixed_at_a_fraction_is_a_constant():
    m = clusters([0.0, 1.0, 2.0, 10.0, 12.0], 2)
    for c in (0, 1):
        m.z[0, c].fix(0.5, skip_validation=True)
    result = run(m, blocks=[[m.z], [m.c]], starts=8)
    weights = np.array([0.5, 1.0, 1.0]), np.array([0.5, 1.0, 1.0])
    points = np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 12.0])
    best = sum(w @ (p - w @ p / w.sum()) ** 2 for w, p in zip(weights, points, strict=True))
    assert result.objective <= best + 1e-6


# Rows that couple blocks, constants, shared variables, own objectives.


def test_a_row_over_two_blocks_holds_both_fast():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None), initialize=1), pyo.Var(bounds=(0, None), initialize=0)
    m.sum = pyo.Constraint(expr=m.x + m.y <= 1)
    m.cost = pyo.Objective(expr=(m.x - 1) ** 2 + (m.y - 1) ** 2)
    result = run(m, blocks=[m.x, m.y], starts=0, warm_start=True, together=False)
    assert result.objective == pytest.approx(1.0, abs=1e-6)  # the optimum is 1/2, and no single variable gets there
    assert result.status is SolutionStatus.FEASIBLE
    assert 'row "sum" couples two blocks' in result.message


def test_a_kink_holds_two_blocks_fast():
    m = pyo.ConcreteModel()
    m.x, m.y = (pyo.Var(bounds=(0, 1), initialize=0) for _ in range(2))
    m.cost = pyo.Objective(expr=abs(m.x - m.y) - 0.1 * (m.x + m.y))
    result = run(m, blocks=[m.x, m.y], starts=0, warm_start=True)
    assert result.objective == pytest.approx(0.0, abs=1e-6)  # x = y = 1 has -0.2
    assert result.status is SolutionStatus.FEASIBLE
    assert "kinks" in result.message


def test_a_row_on_a_shared_variable_and_one_that_is_not_couples_them():
    m = pyo.ConcreteModel()
    m.s, m.a, m.b = (pyo.Var(bounds=(0, 1), initialize=0) for _ in range(3))
    m.on_a, m.on_b = pyo.Constraint(expr=m.s <= m.a), pyo.Constraint(expr=m.s <= m.b)
    m.cost = pyo.Objective(expr=-3 * m.s + m.a + m.b)
    result = run(m, blocks=[[m.s, m.a], [m.s, m.b]], starts=0, warm_start=True, together=False)
    assert result.objective == pytest.approx(0.0, abs=1e-9)  # s = a = b = 1 costs -1
    assert result.status is SolutionStatus.FEASIBLE
    assert '"on_a"' in result.message
    whole = run(m, blocks=[[m.s, m.a, m.b], [m.s]], starts=1)
    assert whole.objective == pytest.approx(-1.0)


def test_a_variable_of_no_block_stays_and_is_named():
    m = game()
    m.x[2].set_value(0.0)
    result = run(m, blocks=[[m.x[0], m.x[1]], [m.y]], starts=20, start_range=(0, 1))
    assert m.x[2].value == 0.0
    assert result.objective == pytest.approx(2.0)
    assert result.status is SolutionStatus.FEASIBLE
    assert '"x[2]" is in no block' in result.message


def test_an_own_objective_leads_to_a_fixed_point():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-9, 9)), pyo.Var(bounds=(-9, 9))
    m.cost = pyo.Objective(expr=(m.x - m.y) ** 2)
    result = run(m, blocks=[[m.x], Block([m.y], objective=(m.y - 0.5 * m.x - 1) ** 2)], starts=2)
    assert m.x.value == pytest.approx(2.0, abs=1e-3)
    assert m.y.value == pytest.approx(2.0, abs=1e-3)
    assert result.status is SolutionStatus.FEASIBLE
    assert "has its own objective" in result.message


def test_objectives_that_work_against_each_other_end():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(-1, 1))
    m.cost = pyo.Objective(expr=m.x * m.y)
    result = run(m, blocks=[[m.x], Block([m.y], objective=-m.x * m.y)], starts=1)
    assert result.status is SolutionStatus.FEASIBLE
    assert "did not settle" in result.message
    assert len(result.iterations) < 200


def test_tidy_chooses_among_optima_and_is_undone_where_it_spoils_them():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = (pyo.Var(bounds=(0, 4)) for _ in range(3))
    m.row = pyo.Constraint(expr=m.x + m.y == 2)
    m.cost = pyo.Objective(expr=m.x + m.y + m.z)

    def tidy_to(x, y):
        def tidy(model):
            model.x.set_value(x), model.y.set_value(y)

        return tidy

    run(m, blocks=[Block([m.x, m.y], tidy=tidy_to(1, 1)), m.z])
    assert (m.x.value, m.y.value) == (1, 1)
    for x, y in ((0, 0), (3, 3)):  # misses the row; costs more
        result = run(m, blocks=[Block([m.x, m.y], tidy=tidy_to(x, y)), m.z])
        assert result.objective == pytest.approx(2.0)
        assert m.x.value + m.y.value == pytest.approx(2.0)


# An exact penalty: the number of features by r in [0, 1] and a weight mu on what r'v misses, against enumeration.


def separation(X, y, lam):
    """Their FSB (14) with its penalty, in Pyomo."""
    features = range(X.shape[1])
    classes = {1: X[y > 0], -1: X[y < 0]}
    m = pyo.ConcreteModel()
    m.mu = pyo.Param(initialize=0.5, mutable=True)
    m.w, m.gamma = pyo.Var(features), pyo.Var()
    m.miss = pyo.Var([(s, i) for s in classes for i in range(len(classes[s]))], bounds=(0, None))
    m.v, m.u = pyo.Var(features, bounds=(0, None)), pyo.Var(features, bounds=(0, None))
    m.r = pyo.Var(features, bounds=(0, 1))

    def margin(m, s, i):
        return s * (sum(float(x) * m.w[j] for j, x in enumerate(classes[s][i])) - m.gamma) + m.miss[s, i] >= 1

    m.margin = pyo.Constraint(list(m.miss), rule=margin)
    m.above = pyo.Constraint(features, rule=lambda m, j: m.w[j] <= m.v[j])
    m.below = pyo.Constraint(features, rule=lambda m, j: -m.v[j] <= m.w[j])
    m.cover = pyo.Constraint(features, rule=lambda m, j: m.v[j] <= m.u[j])
    m.error = pyo.Expression(expr=sum(x / len(classes[s]) for (s, _), x in m.miss.items()))
    m.whole = pyo.Expression(expr=(1 - lam) * m.error + lam * sum(m.r.values()))
    m.gaps = pyo.Expression(expr=sum(m.u[j] - m.r[j] * m.v[j] for j in features))
    m.cost = pyo.Objective(expr=(1 - m.mu) * m.whole + m.mu * m.gaps)

    def tidy(m):
        for j in features:
            m.v[j].set_value(abs(m.w[j].value)), m.u[j].set_value(abs(m.w[j].value))

    def measure(m):
        r, u, v = ([x.value for x in var.values()] for var in (m.r, m.u, m.v))
        return sum(r[j] * (u[j] - v[j]) + u[j] * (1 - r[j]) for j in features)

    Blocks(
        [
            Block([m.r]),
            Block([m.w, m.gamma, m.miss, m.v, m.u], tidy=tidy, name="plane"),
        ],
        penalty=PenaltyValues(m.mu, [round(0.05 + 0.1 * k, 2) for k in range(10)], measure),
        selected=lambda m: [f"x{j}" for j in features if abs(m.w[j].value) > 1e-7],
    ).attach(m)
    return m


def steps(m, lam):
    """The objective with the step function, at the values on the model."""
    return (1 - lam) * pyo.value(m.error) + lam * sum(abs(w.value) > 1e-7 for w in m.w.values())


def enumerated(X, y, lam):
    best = np.inf
    for support in itertools.product((0, 1), repeat=X.shape[1]):
        m = separation(X, y, lam)
        for j, on in enumerate(support):
            if not on:
                m.w[j].fix(0.0)
        m.cost.set_value(m.error)
        pyo.SolverFactory("highs").solve(m)
        best = min(best, (1 - lam) * pyo.value(m.error) + lam * sum(support))
    return best


def two_classes(seed, n=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, n))
    y = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.normal(size=14) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


@pytest.mark.parametrize(("seed", "lam"), [(0, 0.05), (1, 0.1), (2, 0.2)])
def test_an_exact_penalty_is_exact_and_never_below_the_enumerated_optimum(seed, lam):
    X, y = two_classes(seed)
    m = separation(X, y, lam)
    result = run(m)
    summary = result.details["penalty"]
    assert summary["satisfied"]
    assert summary["measure"] <= 1e-6
    assert m.mu.value == summary["value"]  # the parameter stays where the point belongs
    table = summary["table"]
    assert table["satisfied"].tolist() == [False] * (len(table) - 1) + [True]
    assert pyo.value(m.whole) == pytest.approx(steps(m, lam), abs=1e-7)
    assert steps(m, lam) >= enumerated(X, y, lam) - 1e-9
    assert result.status is SolutionStatus.STATIONARY
    assert result.selected == [f"x{j}" for j in range(3) if abs(m.w[j].value) > 1e-7]
    assert falls(result)
    assert result.details["starts"]["penalty"].unique().tolist() == table["value"].tolist()
    assert result.iterations["Step"][0] == "mu=0.05 start 1"


EDITS = {
    "none": lambda m: None,
    "row on r": lambda m: m.add_component("e", pyo.Constraint(expr=sum(m.r.values()) <= 1)),
    "row on r and w": lambda m: m.add_component("e", pyo.Constraint(expr=m.r[0] + m.w[1] >= 0.4)),
    "upper bound on r": lambda m: m.r[0].setub(0.5),
    "lower bound on r": lambda m: m.r[2].setlb(1.0),
    "fixed r": lambda m: m.r[1].fix(1.0),
    "cost of r": lambda m: m.cost.set_value(m.cost.expr - 0.5 * m.r[2]),
    "square of r": lambda m: m.cost.set_value(m.cost.expr + 0.2 * (m.r[0] - 0.5) ** 2),
}


@pytest.mark.parametrize("edit", list(EDITS))
def test_a_block_of_an_edited_model_is_at_its_optimum(edit):
    X, y = two_classes(1)
    m = separation(X, y, 0.1)
    EDITS[edit](m)
    result = run(m, starts=3)
    for part in (m.w, m.gamma, m.miss, m.v, m.u):
        part.fix()
    pyo.SolverFactory("scip_direct").solve(m)
    assert pyo.value(m.cost) == pytest.approx(result.objective, rel=1e-6)


def test_a_penalty_that_is_never_exact_is_flagged():
    X, y = two_classes(1)
    m = separation(X, y, 0.1)
    m.structure.penalty.values, m.structure.penalty.tolerance = [0.05], -1.0
    result = run(m, starts=1)
    assert not result.details["penalty"]["satisfied"]
    assert "At mu=0.05 the penalty is not exact" in result.message
    assert m.mu.value == 0.05


def test_a_limit_within_a_value_of_the_penalty():
    X, y = two_classes(0)
    m = separation(X, y, 0.2)
    full = run(m, starts=1).details["starts"]
    first, second = full["sweeps"][:2].astype(int)
    assert first < second
    m.mu.set_value(0.5)
    result = run(m, starts=1, iteration_limit=first)  # of each value: ends within the second one
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert m.mu.value == result.details["penalty"]["value"] == 0.15
    assert result.objective == pytest.approx(full["objective"][1], rel=1e-2)
    assert len(result.iterations) == 2 * first
    m.mu.set_value(0.5)
    assert not run(m, time_limit=1e-9).has_solution
    assert m.mu.value == 0.5


# Limits.


def test_ctrl_c():
    X, y = two_classes(0)
    m = separation(X, y, 0.05)

    def press(row):
        if row["Iter"] == 4:
            raise KeyboardInterrupt

    result = run(m, callback=press)
    assert result.stop_reason is StopReason.INTERRUPTED
    assert result.status in (SolutionStatus.FEASIBLE, SolutionStatus.STATIONARY)
    assert result.details["penalty"]["value"] == m.mu.value


def test_ctrl_c_within_a_general_block_frees_what_was_fixed(monkeypatch):
    m = factorisation(np.eye(2))
    m.u[1].fix(1.0)

    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("solvers.interfaces.runner.Runner.solve", press)
    result = run(m, blocks=[[m.u], [m.v]])
    assert (result.stop_reason, result.status) == (StopReason.INTERRUPTED, SolutionStatus.NO_SOLUTION)


# What cannot be solved.


def test_infeasible_names_the_rows():
    m = game()
    m.much = pyo.Constraint(expr=m.x[0] + m.x[1] >= 2)
    result = run(m, blocks=[[m.x], [m.y]])
    assert (result.stop_reason, result.status) == (StopReason.CONVERGED, SolutionStatus.INFEASIBLE)
    assert '"in_x", "much"' in result.message
    m.much.deactivate()
    m.x[0].setlb(3), m.x[0].setub(2)
    result = run(m, blocks=[[m.x], [m.y]])
    assert result.status is SolutionStatus.INFEASIBLE
    assert "cross" in result.message


def test_a_fixed_row_that_does_not_hold():
    m = game()
    m.z = pyo.Var(initialize=1)
    m.z.fix()
    m.least = pyo.Constraint(expr=m.z >= 2)
    result = run(m, blocks=[[m.x], [m.y]])
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"least"' in result.message
    m.z.unfix()
    with pytest.raises(ModelError, match='"least"'):
        Alternating(m, blocks=[[m.x], [m.y]])


def test_infeasible_at_a_start_only():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1), initialize=1), pyo.Var(bounds=(0, 9), initialize=0)
    m.sum = pyo.Constraint(expr=m.x >= m.y)
    m.cost = pyo.Objective(expr=m.x * (m.y - 5))
    result = run(m, blocks=[m.x, m.y], start_range=(5, 6), together=False)
    assert result.status is SolutionStatus.NO_SOLUTION
    assert "warm_start=True" in result.message
    result = run(m, blocks=[m.x, m.y], start_range=(5, 6), warm_start=True)
    assert result.objective == pytest.approx(-5.0)
    assert run(m, blocks=[m.x, m.y], start_range=(5, 6)).objective == pytest.approx(-5.0)


def test_unbounded():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(1, 2))
    m.cost = pyo.Objective(expr=m.x * m.y)
    result = run(m, blocks=[m.x, m.y])
    assert (result.status, result.has_solution) == (SolutionStatus.UNBOUNDED, False)
    assert '"x" is unbounded' in result.message
    m.bound = pyo.Constraint(expr=m.x * m.y >= -4)  # not any more
    result = run(m, blocks=[m.x, m.y])
    assert result.objective == pytest.approx(-4.0, rel=1e-6)


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_blocks_that_run_away_together_end_as_unbounded(sense):
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    f = m.x**2 + m.y**2 - 3 * m.x * m.y  # each block alone is convex; f = -x^2 along x = y
    m.cost = pyo.Objective(expr=f if sense == pyo.minimize else -f, sense=sense)
    result = run(m, blocks=[m.x, m.y], iteration_limit=200)
    assert (result.status, result.stop_reason) == (SolutionStatus.UNBOUNDED, StopReason.CONVERGED)
    assert abs(result.objective) > 1e20
    assert "fell below -1e+20" in result.message


def test_values_are_put_on_bounds_within_the_tolerance_only():
    m = pyo.ConcreteModel()
    m.x, m.k = pyo.Var(bounds=(-5, 1e6)), pyo.Var(domain=pyo.Integers)
    for value, tidy in ((-5 - 5e-8, -5.0), (-5.001, -5.001), (2.5, 2.5), (1e6 + 0.5, 1e6), (-5 + 5e-8, -5 + 5e-8)):
        m.x.set_value(value, skip_validation=True)
        assert _tidy(m.x) == tidy
    for value, tidy in ((2.00001, 2.0), (2.1, 2.1)):
        m.k.set_value(value, skip_validation=True)
        assert _tidy(m.k) == tidy


OTHER = game()
REFUSED = [
    ({}, OptionError, "blocks="),
    ({"blocks": []}, OptionError, "blocks="),
    ({"blocks": [[], ["y"]]}, OptionError, "Block 1 is empty"),
    ({"blocks": [["x"], ["cost"]]}, OptionError, "no Var"),
    ({"blocks": [["x"], [OTHER.y]]}, OptionError, "another model"),
    ({"blocks": [["x"], ["y"]], "starts": -1}, OptionError, "starts=-1"),
    ({"blocks": [["x"], ["y"]], "starts": 0}, OptionError, "warm_start=True"),
    ({"blocks": [["x"], ["y"]], "tolerance": -1}, OptionError, "tolerance=-1"),
    ({"blocks": [["x"], ["y"]], "start_range": (2, 1)}, OptionError, "start_range"),
    ({"blocks": [["x"], ["y"]], "start": 1}, OptionError, 'Did you mean "starts"'),
    ({"blocks": [["x"], ["y"]], "lp_solver": "pounce"}, SolverError, "local"),
    ({"blocks": [["x"], ["y"]], "lp_solver": "scip"}, SolverError, "highs"),
    ({"blocks": [["x"]]}, ModelError, r'"y\[0\]" is in no block and has no value'),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_refusals(options, error, words):
    m = game()
    if options.get("blocks"):
        named = [[m.component(v) if isinstance(v, str) else v for v in block] for block in options["blocks"]]
        options = {**options, "blocks": named}
    with pytest.raises(error, match=words):
        Alternating(m, **options)


def test_a_solver_that_cannot_solve_a_block_is_refused_before_the_run():
    m = factorisation(np.eye(2))
    with pytest.raises(SolverError, match=r'Block "u".*clarabel'):
        Alternating(m, blocks=[Block([m.u], solver="highs"), [m.v]])


@pytest.mark.parametrize("kind", ["disjunction", "complementarity", "sos", "logical"])
def test_what_is_no_row_is_refused(kind, textbook):
    m = getattr(textbook, kind)()
    with pytest.raises(ModelError, match="does not support"):
        Alternating(m, blocks=[m.x])


def test_penalties_that_cannot_be_searched():
    X, y = two_classes(0)
    for values, words in (([], "ascending"), ([0.2, 0.1], "ascending")):
        m = separation(X, y, 0.1)
        m.structure.penalty.values = values
        with pytest.raises(OptionError, match=words):
            run(m)
    m = separation(X, y, 0.1)
    m.structure.penalty.parameter = m.r
    with pytest.raises(OptionError, match="mutable"):
        run(m)
