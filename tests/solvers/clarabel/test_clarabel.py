"""Clarabel against HiGHS, scipy, pounce, closed forms and finite differences."""

import highspy  # noqa: F401  the LP tests need it
import numpy as np
import pyomo.environ as pyo
import pyomo_pounce  # noqa: F401  registers "pounce"
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.contrib.solver.common.results import TerminationCondition
from pyomo.core.expr.numeric_expr import LinearExpression
from scipy.optimize import linprog

from solvers.clarabel.cones import psd_factor
from solvers.clarabel.interface import Clarabel
from solvers.clarabel.program import Program
from solvers.errors import ModelError

MIN, MAX = pyo.minimize, pyo.maximize
OPTIMAL = TerminationCondition.convergenceCriteriaSatisfied
INFEASIBLE, UNBOUNDED = TerminationCondition.provenInfeasible, TerminationCondition.unbounded


def model_with(**components):
    m = pyo.ConcreteModel()
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for name, component in components.items():
        m.add_component(name, component)
    return m


def solved(m, solver=None, **options):
    """Solve and load what there is to load."""
    results = (solver or Clarabel()).solve(
        m, solver_options=options, load_solutions=False, raise_exception_on_nonoptimal_result=False
    )
    if results.solution_loader.get_number_of_solutions():
        results.solution_loader.load_solution()
    return results


def optimum(m, solver=None, **options):
    results = solved(m, solver, **options)
    assert results.termination_condition is OPTIMAL
    value, bound = results.incumbent_objective, results.objective_bound
    objectives = list(m.component_data_objects(pyo.Objective, active=True))
    assert (bound - value) * (objectives[0].sense if objectives else MIN) <= 0
    assert abs(value - bound) <= 1e-7 * max(1.0, abs(value))
    return value


def infeasible(m, solver=None):
    return solved(m, solver).termination_condition is INFEASIBLE


def pounced(m):
    clone = m.clone()
    pyo.SolverFactory("pounce").solve(clone, options={"tol": 1e-10})
    return pyo.value(next(clone.component_data_objects(pyo.Objective, active=True)))


# ------------------------------------------------------------------------------------------------- linear programs


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_random_lps_match_highs_in_value_and_multipliers(seed):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(2, 6), rng.integers(1, 5)
    A, x0 = rng.standard_normal((k, n)), rng.uniform(-1, 1, n)
    b, c = A @ x0 + rng.uniform(0.1, 1, k), rng.standard_normal(n)
    eq, beq = rng.standard_normal((1, n)), None
    beq = eq @ x0
    truth = linprog(c, A, b, eq, beq, bounds=[(-2, 2)] * n)
    m = model_with(x=pyo.Var(range(n), bounds=(-2, 2)))
    m.le = pyo.Constraint(range(k), rule=lambda m, i: sum(A[i, j] * m.x[j] for j in range(n)) <= b[i])
    m.eq = pyo.Constraint(expr=sum(eq[0, j] * m.x[j] for j in range(n)) == beq[0])
    m.cost = pyo.Objective(expr=sum(c[j] * m.x[j] for j in range(n)))
    assert optimum(m) == pytest.approx(truth.fun, abs=1e-6)
    # generic data: the multipliers are unique
    assert [m.dual[m.le[i]] for i in range(k)] == pytest.approx(list(truth.ineqlin.marginals), abs=1e-6)
    assert m.dual[m.eq] == pytest.approx(truth.eqlin.marginals[0], abs=1e-6)
    rc = truth.lower.marginals + truth.upper.marginals
    assert [m.rc[m.x[j]] for j in range(n)] == pytest.approx(list(rc), abs=1e-6)


def test_degenerate_rows_and_empty_ones():
    m = model_with(x=pyo.Var(range(2), bounds=(0, None)), p=pyo.Var(initialize=1))
    m.p.fix()
    m.twice = pyo.Constraint([0, 1, 2], rule=lambda m, i: m.x[0] + m.x[1] >= 1)
    m.empty = pyo.Constraint(expr=m.p <= 2)
    m.zero = pyo.Constraint(expr=0 * m.x[0] + m.p == 1)
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1])
    assert optimum(m) == pytest.approx(1, abs=1e-7)
    assert sum(m.dual[m.twice[i]] for i in range(3)) == pytest.approx(1, abs=1e-6)
    assert m.dual[m.empty] == m.dual[m.zero] == 0


def test_no_objective_no_rows_no_variables():
    m = model_with(x=pyo.Var(bounds=(0, 1)))
    m.row = pyo.Constraint(expr=m.x >= 0.5)
    assert optimum(m) == 0
    m = model_with(x=pyo.Var())
    m.cost = pyo.Objective(expr=(m.x - 3) ** 2 + 1)
    assert optimum(m) == pytest.approx(1, abs=1e-7)
    m.x.fix(5)
    assert optimum(m) == 5


# ---------------------------------------------------------------------------------------------------- sign of duals

ROWS = {  # name -> (row as written, at right-hand side r); every optimum is unique and moves smoothly with r
    "<=": lambda m, r: m.x <= r,
    ">=": lambda m, r: -m.x >= -r,
    "==": lambda m, r: 2 * m.x == r,
    "range above": lambda m, r: (-50, m.x, r),
    "range below": lambda m, r: (-r, -m.x, 50),
    "convex quadratic": lambda m, r: m.x**2 + m.y**2 - m.y <= r,
    "ball": lambda m, r: (m.x - 1) ** 2 + (m.x + 2 * m.y) ** 2 <= r,
    "concave from below": lambda m, r: -(m.x**2) - 2 * m.y**2 >= -r,
    "cone": lambda m, r: m.x**2 + m.y**2 <= m.z**2 + r - 2,
    "rotated cone": lambda m, r: m.x**2 + 1 <= m.t * m.z + r - 2,
    "cone from below": lambda m, r: 4 * m.t * m.z - 3 * m.x**2 >= 2 - r,
    "shifted cone": lambda m, r: m.x**2 <= (m.t + 1) * (2 - m.z) + r - 2,
    "quotient": lambda m, r: m.x**2 / m.t + 2 * m.y**2 / (m.z + 1) <= r,
}


def row_model(name, sense, rhs):
    m = model_with(x=pyo.Var(), y=pyo.Var(), z=pyo.Var(bounds=(0, 1)), t=pyo.Var(bounds=(0, None)))
    m.row = pyo.Constraint(expr=ROWS[name](m, rhs))
    sign = 1 if sense == MIN else -1
    m.cost = pyo.Objective(expr=sign * (-3 * m.x + m.y**2 + 0.1 * (m.t - 1) ** 2 + 0.05 * m.x**2 + 7), sense=sense)
    return m


@pytest.mark.parametrize("sense", [MIN, MAX])
@pytest.mark.parametrize("name", ROWS)
def test_the_dual_is_the_derivative_by_the_right_hand_side(name, sense):
    m, h = row_model(name, sense, 2.0), 1e-3
    value = optimum(m, tolerance=1e-9)
    try:
        above, below = (optimum(row_model(name, sense, 2.0 + s * h), tolerance=1e-9) for s in (1, -1))
    except ModelError:  # with a positive constant the cone is not one any more: the derivative from one side
        above, below = value, optimum(row_model(name, sense, 2.0 - h), tolerance=1e-9)
        further = optimum(row_model(name, sense, 2.0 - 2 * h), tolerance=1e-9)
        slope = (3 * above - 4 * below + further) / (2 * h)
    else:
        slope = (above - below) / (2 * h)
    written = -1 if name in (">=", "range below", "concave from below", "cone from below") else 1
    assert abs(slope) > 0.01
    assert m.dual[m.row] == pytest.approx(written * slope, rel=1e-4)


@pytest.mark.parametrize("sense", [MIN, MAX])
@pytest.mark.parametrize("name", ["<=", ">=", "==", "range above", "range below"])
def test_linear_duals_and_reduced_costs_have_the_sign_highs_gives(name, sense):
    m = model_with(x=pyo.Var(), y=pyo.Var(bounds=(1, 5)))
    m.row = pyo.Constraint(expr=ROWS[name](m, 2.0))
    sign = 1 if sense == MIN else -1
    m.cost = pyo.Objective(expr=sign * (-3 * m.x + 4 * m.y), sense=sense)
    optimum(m)
    ours = m.dual[m.row], m.rc[m.y]
    pyo.SolverFactory("highs").solve(m)
    assert ours == pytest.approx((m.dual[m.row], m.rc[m.y]), abs=1e-6)


@pytest.mark.parametrize("name", [name for name in ROWS if name != "quotient"])
def test_values_and_duals_match_pounce(name):
    m = row_model(name, MIN, 2.0)
    for var, start in ((m.x, 0.1), (m.y, 0.1), (m.z, 0.5), (m.t, 1.0)):
        var.value = start
    ours = optimum(m, tolerance=1e-9)
    dual = m.dual[m.row]
    del m.rc
    pyo.SolverFactory("pounce").solve(m, options={"tol": 1e-10})
    assert ours == pytest.approx(pyo.value(m.cost), abs=1e-6)
    assert dual == pytest.approx(m.dual[m.row], rel=1e-4, abs=1e-6)


# --------------------------------------------------------------------------------------------------- closed forms


def test_convex_qp_in_closed_form():
    rng = np.random.default_rng(1)
    F, c = rng.standard_normal((3, 6)), rng.standard_normal(3)
    c = F.T @ c  # in the range of Q: bounded, although Q has rank 3
    m = model_with(x=pyo.Var(range(6)))
    x = list(m.x.values())
    Q = F.T @ F
    m.cost = pyo.Objective(expr=0.5 * sum(Q[i, j] * x[i] * x[j] for i in range(6) for j in range(6)) - c @ x)
    assert optimum(m) == pytest.approx(-0.5 * c @ np.linalg.pinv(Q) @ c, rel=1e-7)


@pytest.mark.parametrize("count", [3, 400])
def test_squares_of_long_sums_in_the_objective(count):
    """Few squares of many variables become variables of their own; many squares of few variables a matrix."""
    rng = np.random.default_rng(2)
    n = 400 // count + 3
    F, g = rng.standard_normal((count, n if count > 3 else 200)), rng.standard_normal(count)
    m = model_with(x=pyo.Var(range(F.shape[1])))
    x = list(m.x.values())
    m.cost = pyo.Objective(
        expr=sum(
            (LinearExpression(linear_coefs=row.tolist(), linear_vars=x) - gi) ** 2 for row, gi in zip(F, g, strict=True)
        )
        + 0.01 * sum(v**2 for v in x)
    )
    best = np.linalg.solve(F.T @ F + 0.01 * np.eye(F.shape[1]), F.T @ g)
    assert optimum(m) == pytest.approx(np.sum((F @ best - g) ** 2) + 0.01 * best @ best, rel=1e-7)
    assert [v.value for v in x] == pytest.approx(list(best), abs=1e-5)


def test_squares_may_compensate_negative_curvature_of_the_objective():
    m = model_with(x=pyo.Var(bounds=(1, None)), y=pyo.Var())
    m.cost = pyo.Objective(expr=(m.x + m.y) ** 2 - 2 * m.x * m.y)
    assert optimum(m) == pytest.approx(1, abs=1e-7)


def test_largest_linear_function_on_a_ball():
    c = np.array([3.0, -4.0, 12.0])
    m = model_with(x=pyo.Var(range(3)))
    m.ball = pyo.Constraint(expr=sum(v**2 for v in m.x.values()) <= 4)
    m.cost = pyo.Objective(expr=sum(c[j] * m.x[j] for j in range(3)) + 5, sense=MAX)
    assert optimum(m) == pytest.approx(2 * 13 + 5, rel=1e-8)
    assert m.dual[m.ball] == pytest.approx(13 / 4, rel=1e-6)  # d/dr 13 sqrt(r) at 4


def test_a_cone_whose_sign_a_linear_row_states():
    m = model_with(x=pyo.Var(range(2)))
    m.cone = pyo.Constraint(expr=(m.x[0] - 1) ** 2 + m.x[1] ** 2 <= (m.x[0] + m.x[1] + 1) ** 2)
    m.cost = pyo.Objective(expr=m.x[0] ** 2 + m.x[1] ** 2)
    with pytest.raises(ModelError, match='Constraint "cone" is a second-order cone only if'):
        Clarabel().solve(m)
    m.side = pyo.Constraint(expr=2 * m.x[0] + 2 * m.x[1] >= -2)
    assert optimum(m) == pytest.approx(0, abs=1e-7)


def test_quotients_in_the_objective():
    """min x^2/s + 4/s + s over x >= 1: s = sqrt(5), value 2 sqrt(5)."""
    m = model_with(x=pyo.Var(bounds=(1, None)), s=pyo.Var(bounds=(0, None)))
    m.cost = pyo.Objective(expr=m.x**2 / m.s + 4 / m.s + m.s)
    assert optimum(m) == pytest.approx(2 * 5**0.5, rel=1e-7)
    m.cost.deactivate()
    m.gain = pyo.Objective(expr=-((m.x - 2) ** 2 + m.x**2) / (2 * m.s) - 2 * m.s, sense=MAX)
    assert optimum(m) == pytest.approx(-2 * 2**0.5, rel=1e-7)  # x = 1 leaves -1/s - 2s


# ------------------------------------------------------------------------------------------------------ SVM shapes


def svm(samples, features, form="l2", seed=0, C=1.0):
    """L2-SVM; ``form="perspective"``: w_j^2 <= t_j sigma_j."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    y = np.where(X @ rng.standard_normal(features) + 0.7 * rng.standard_normal(samples) >= 0, 1.0, -1.0)
    m = model_with(w=pyo.Var(range(features)), b=pyo.Var(), xi=pyo.Var(range(samples), bounds=(0, None)))
    m.X, m.y = X, y
    m.margin = pyo.Constraint(range(samples))
    for i, row in enumerate((np.column_stack((X, np.ones(samples))) * y[:, None]).tolist()):
        variables = [*m.w.values(), m.b, m.xi[i]]
        m.margin[i] = LinearExpression(linear_coefs=[*row, 1.0], linear_vars=variables) >= 1
    loss = C * pyo.quicksum(m.xi.values())
    if form == "l2":
        m.cost = pyo.Objective(expr=0.5 * sum(w**2 for w in m.w.values()) + loss)
    else:
        m.sigma = pyo.Var(range(features), bounds=(0, 1))
        m.t = pyo.Var(range(features), bounds=(0, None))
        m.cone = pyo.Constraint(range(features), rule=lambda m, j: m.w[j] ** 2 <= m.t[j] * m.sigma[j])
        m.cost = pyo.Objective(expr=0.5 * sum(m.t.values()) + loss)
    return m


def cut_value(m):
    """Value of the dual at the multipliers of the margin rows: sum alpha - 1/2 sum sigma_j v_j^2."""
    alpha = np.array([m.dual[m.margin[i]] for i in range(len(m.y))])
    v = (alpha * m.y) @ m.X
    sigma = np.array([m.sigma[j].value for j in range(len(v))]) if m.component("sigma") else np.ones(len(v))
    return float(alpha.sum() - 0.5 * sigma @ v**2), sigma * v


def test_l2_svm_has_strong_duality():
    m = svm(80, 4)
    value = optimum(m)
    dual, w = cut_value(m)
    assert dual == pytest.approx(value, rel=1e-7)
    assert [m.w[j].value for j in range(4)] == pytest.approx(list(w), abs=1e-5)
    assert value == pytest.approx(pounced(m), rel=1e-6)


@pytest.mark.parametrize("sigma", [(1, 1, 1), (1, 0, 1), (0, 0, 0), (0.3, 1e-6, 1), (1, -1e-10, 1e-12)])
def test_perspective_rows_with_sigma_fixed(sigma):
    m = svm(60, 3, "perspective")
    for j, value in enumerate(sigma):
        m.sigma[j].fix(value, skip_validation=True)
    value = optimum(m)
    for j, fixed in enumerate(sigma):
        m.sigma[j].set_value(max(fixed, 0.0))
    dual, w = cut_value(m)
    assert dual == pytest.approx(value, rel=1e-6)
    assert [m.w[j].value for j in range(3)] == pytest.approx(list(w), abs=1e-4)
    for j, fixed in enumerate(sigma):
        if fixed <= 0:
            assert m.w[j].value == pytest.approx(0, abs=1e-8)
            assert m.cone[j] not in m.dual  # no multiplier where the row means w_j = 0
        elif fixed >= 0.3:
            assert m.dual[m.cone[j]] == pytest.approx(-0.5 / fixed, rel=1e-3)


def test_perspective_rows_with_sigma_free_and_a_budget():
    m = svm(60, 3, "perspective")
    m.budget = pyo.Constraint(expr=sum(m.sigma.values()) <= 1.5)
    value = optimum(m, tolerance=1e-9)
    marginal, h = m.dual[m.budget], 1e-3
    ends = []
    for rhs in (1.5 + h, 1.5 - h):
        m.budget.set_value(sum(m.sigma.values()) <= rhs)
        ends.append(optimum(m, tolerance=1e-9))
    assert ends[0] < value < ends[1]
    assert marginal == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-3)


def test_gmeb_row_with_a_sum_of_quotients():
    """max c'w on sum_j w_j^2 / s_j <= 1, sum_j s_j <= 1: all on the largest c_j; with s fixed sqrt(sum s_j c_j^2)."""
    c = np.array([3.0, 1.0, -2.0])
    m = model_with(w=pyo.Var(range(3)), s=pyo.Var(range(3), bounds=(0, None)))
    m.ellipsoid = pyo.Constraint(expr=sum(m.w[j] ** 2 / m.s[j] for j in range(3)) <= 1)
    m.simplex = pyo.Constraint(expr=sum(m.s.values()) <= 1)
    m.gain = pyo.Objective(expr=sum(c[j] * m.w[j] for j in range(3)), sense=MAX)
    assert optimum(m) == pytest.approx(3, rel=1e-6)
    assert m.dual[m.ellipsoid] == pytest.approx(1.5, rel=1e-4)  # value 3 sqrt(r)
    for j, s in enumerate((0.2, 0.0, 0.5)):  # s_1 = 0: the closure, w_1 = 0
        m.s[j].fix(s)
    value = (0.2 * 9 + 0.5 * 4) ** 0.5
    assert optimum(m) == pytest.approx(value, rel=1e-7)
    assert m.w[1].value == pytest.approx(0, abs=1e-8)
    assert m.dual[m.ellipsoid] == pytest.approx(value / 2, rel=1e-5)  # value sqrt(r) at r = 1


def test_gmeb_dual_cones():
    """min mu_1 + sum r_j with q_j^2 <= 4 mu_1 r_j, q given: mu_1 = 1/2 ||q||, value ||q||."""
    q = [3.0, 4.0]
    m = model_with(mu=pyo.Var([1, 2], bounds=(0, None)), r=pyo.Var(range(2), bounds=(0, None)), q=pyo.Var(range(2)))
    m.cone = pyo.Constraint(range(2), rule=lambda m, j: m.q[j] ** 2 <= 4 * m.mu[1] * m.r[j])
    m.given = pyo.Constraint(range(2), rule=lambda m, j: m.q[j] == q[j])
    m.cost = pyo.Objective(expr=m.mu[1] + sum(m.r.values()))
    assert optimum(m) == pytest.approx(5, rel=1e-7)
    assert [m.dual[m.given[j]] for j in range(2)] == pytest.approx([0.6, 0.8], abs=1e-5)
    m.mu[1].fix(0.5)
    assert optimum(m) == pytest.approx(0.5 + 25 / 2, rel=1e-7)


def test_mkl_qcqp_from_squares_and_from_a_matrix():
    """max sum a - theta, 1/2 ||P_k a||^2 <= theta: the same from squares of sums and multiplied out."""
    rng = np.random.default_rng(3)
    kernels = [rng.standard_normal((4, 12)) for _ in range(3)]
    values = []
    for expanded in (False, True):
        m = model_with(a=pyo.Var(range(12), bounds=(0, 1)), theta=pyo.Var())
        a = list(m.a.values())
        m.kernel = pyo.ConstraintList()
        for P in kernels:
            if expanded:
                K = P.T @ P
                body = 0.5 * sum(K[i, j] * a[i] * a[j] for i in range(12) for j in range(12))
            else:
                body = 0.5 * sum(LinearExpression(linear_coefs=row.tolist(), linear_vars=a) ** 2 for row in P)
            m.kernel.add(body <= m.theta)
        m.gain = pyo.Objective(expr=sum(a) - m.theta, sense=MAX)
        values.append(optimum(m))
        # the kernel weights: a convex combination
        assert sum(m.dual[row] for row in m.kernel.values()) == pytest.approx(1, abs=1e-6)
        assert all(m.dual[row] >= -1e-7 for row in m.kernel.values())
    assert values[0] == pytest.approx(values[1], rel=1e-7)
    for var in [*a, m.theta]:
        var.value = 0.5
    assert values[0] == pytest.approx(pounced(m), rel=1e-6)


# ------------------------------------------------------------------------------------------------------------ apex


def test_at_the_apex_there_is_no_multiplier():
    m = model_with(x=pyo.Var(), y=pyo.Var(bounds=(0, None)), z=pyo.Var(bounds=(0, None)))
    m.cone = pyo.Constraint(expr=m.x**2 <= m.y * m.z)
    m.side = pyo.Constraint(expr=m.x + m.y >= 0)
    m.cost = pyo.Objective(expr=m.y + m.z + 0.5 * m.x)
    assert optimum(m) == pytest.approx(0, abs=1e-7)
    assert m.cone not in m.dual
    assert m.side in m.dual
    assert m.dual.get(m.cone) is None


def test_close_to_the_apex_there_is_one():
    """min y + z on x^2 <= y z, x = e: y = z = e and the multiplier is -2/(2e)."""
    for e in (1.0, 1e-2, 1e-3):
        m = model_with(x=pyo.Var(), y=pyo.Var(bounds=(0, None)), z=pyo.Var(bounds=(0, None)))
        m.cone = pyo.Constraint(expr=m.x**2 <= m.y * m.z)
        m.at = pyo.Constraint(expr=m.x == e)
        m.cost = pyo.Objective(expr=m.y + m.z)
        assert optimum(m) == pytest.approx(2 * e, rel=1e-4)
        assert m.dual[m.cone] == pytest.approx(-1 / e, rel=1e-3)


def test_a_row_that_means_zero_has_no_multiplier():
    m = model_with(x=pyo.Var(), y=pyo.Var())
    m.zero = pyo.Constraint(expr=(m.x - 1) ** 2 + m.y**2 <= 0)
    m.cost = pyo.Objective(expr=m.x + m.y)
    assert optimum(m) == pytest.approx(1, abs=1e-7)
    assert m.zero not in m.dual


def test_a_ball_of_radius_zero_in_disguise():
    m = model_with(x=pyo.Var(), y=pyo.Var(bounds=(0, 3)))
    m.point = pyo.Constraint(expr=(m.x - 1) ** 2 + (m.x + 1) ** 2 <= 2)
    m.cost = pyo.Objective(expr=m.y - m.x)
    assert optimum(m) == pytest.approx(0, abs=1e-7)
    assert m.point not in m.dual
    m.point.set_value((m.x - 1) ** 2 + (m.x + 1) ** 2 <= 4)
    assert optimum(m) == pytest.approx(-1, abs=1e-7)
    assert m.dual[m.point] == pytest.approx(-1 / 4, rel=1e-6)  # value -sqrt((r - 2) / 2)
    m.point.set_value((m.x - 1) ** 2 + (m.x + 1) ** 2 <= 1.9)
    assert infeasible(m)


def test_values_that_rows_imply_meet_bounds_and_each_other():
    m = model_with(w=pyo.Var(), s=pyo.Var(bounds=(0, 1)), t=pyo.Var(bounds=(0, None)))
    m.cone = pyo.Constraint(expr=(m.w - 2) ** 2 <= m.t * m.s)
    m.cost = pyo.Objective(expr=m.t + 3 * m.w)
    m.s.fix(0)
    solver = Clarabel()
    assert optimum(m, solver) == pytest.approx(6, abs=1e-7)
    m.w.setub(1)
    assert infeasible(m, solver)
    m.w.setub(2)
    m.other = pyo.Constraint(expr=m.w**2 <= m.s)
    assert infeasible(m, solver)
    m.s.unfix()
    assert optimum(m, solver) == pytest.approx(min((w - 2) ** 2 + 3 * w for w in np.linspace(-1, 1, 2001)), rel=1e-6)


# ------------------------------------------------------------------------------------- infeasible, unbounded, refused


def test_infeasible_and_unbounded_are_distinguished():
    def answer(*rows, cost=lambda m: m.x):
        m = model_with(x=pyo.Var(initialize=7), y=pyo.Var(bounds=(0, None)))
        m.rows = pyo.ConstraintList()
        for row in rows:
            m.rows.add(row(m))
        m.cost = pyo.Objective(expr=cost(m))
        results = solved(m)
        assert m.x.value == 7
        assert (results.objective_bound, results.incumbent_objective) == (-np.inf, None)
        return results.termination_condition

    assert answer(lambda m: m.x <= 1, lambda m: m.x >= 2) is INFEASIBLE
    assert answer(lambda m: m.x**2 + m.y**2 <= 1, lambda m: m.x + m.y >= 2) is INFEASIBLE
    assert answer(lambda m: m.x**2 + 1 <= 0) is INFEASIBLE
    assert answer(lambda m: m.x**2 / m.y <= -1) is INFEASIBLE
    assert answer(lambda m: m.x <= 1) is UNBOUNDED
    assert answer(lambda m: (m.x - 1) ** 2 <= m.y**2) is UNBOUNDED
    assert answer(lambda m: m.x**2 <= m.y, cost=lambda m: -m.y) is UNBOUNDED
    assert answer(lambda m: m.x**2 <= m.y) is not OPTIMAL  # x falls for ever, but along no ray: there is no certificate
    assert answer(lambda m: m.y <= 1, lambda m: m.y >= 2) is INFEASIBLE  # a ray as well, but no point


@pytest.mark.parametrize(
    "row",
    [
        lambda m: m.x**2 + m.y**2 >= 1,
        lambda m: m.x**2 == m.y,
        lambda m: (0, m.x**2 + m.y**2, 1),
        lambda m: m.x * m.y <= 1,
        lambda m: m.x**2 <= m.y * m.z,  # y, z of any sign
        lambda m: m.x**2 <= m.p * m.z,  # one of them
        lambda m: m.x**2 <= m.p * m.q + 1,
        lambda m: m.x**2 - m.y**2 + m.z <= 0,
        lambda m: m.x**2 / m.y <= 1,
        lambda m: m.x / m.p <= 1,
        lambda m: -(m.x**2) / m.p <= 1,
        lambda m: m.x * m.y * m.z <= 1,
        lambda m: pyo.exp(m.x) <= 1,
        lambda m: (m.x**2 / m.p) ** 2 <= 1,
        lambda m: m.x**4 <= 1,
        lambda m: m.x**2 <= m.p * m.q * m.p,
    ],
)
def test_rows_that_are_not_convex_are_refused_by_name(row):
    m = model_with(x=pyo.Var(), y=pyo.Var(), z=pyo.Var(), p=pyo.Var(bounds=(0, None)), q=pyo.Var(bounds=(0, None)))
    m.odd = pyo.Constraint(expr=row(m))
    m.cost = pyo.Objective(expr=m.x)
    with pytest.raises(ModelError, match='Constraint "odd"'):
        Clarabel().solve(m)


@pytest.mark.parametrize("sense", [MIN, MAX])
def test_an_objective_that_is_not_convex_is_refused_by_name(sense):
    sign = 1 if sense == MIN else -1
    for wrong in (
        lambda m: -(m.x**2),
        lambda m: m.x * m.y,
        lambda m: -((m.x + m.y) ** 2),
        lambda m: m.x**2 - 3 * m.x * m.y,
    ):
        m = model_with(x=pyo.Var(bounds=(0, 1)), y=pyo.Var(bounds=(0, 1)))
        m.odd = pyo.Objective(expr=sign * wrong(m), sense=sense)
        with pytest.raises(ModelError, match='Objective "odd"'):
            Clarabel().solve(m)


def test_integers_are_refused_unless_they_cannot_move():
    m = model_with(z=pyo.Var(domain=pyo.Binary), x=pyo.Var(bounds=(0, None)))
    m.row = pyo.Constraint(expr=m.x + m.z >= 1.5)
    m.cost = pyo.Objective(expr=m.x)
    with pytest.raises(ModelError, match='Variable "z" is integer'):
        Clarabel().solve(m)
    m.z.fix(1)
    solver = Clarabel()
    assert optimum(m, solver) == pytest.approx(0.5, abs=1e-7)
    m.z.unfix()
    with pytest.raises(ModelError, match='Variable "z" is integer'):
        solver.solve(m)


def test_components_it_would_ignore_are_refused_by_name():
    from pyomo.gdp import Disjunction
    from pyomo.mpec import Complementarity, complements

    def add_disjunction(m):
        m.either = Disjunction(expr=[m.x <= 1, m.x >= 2])

    def add_logic(m):
        m.flag = pyo.BooleanVar()
        m.either = pyo.LogicalConstraint(expr=m.flag.implies(m.flag))

    def add_complementarity(m):
        m.either = Complementarity(expr=complements(m.x >= 0, m.y >= 0))

    def add_sos(m):
        m.v = pyo.Var([1, 2])
        m.either = pyo.SOSConstraint(var=m.v, sos=1)

    for add in (add_disjunction, add_logic, add_complementarity, add_sos):
        m = model_with(x=pyo.Var(bounds=(0, 5)), y=pyo.Var(bounds=(0, 5)))
        m.cost = pyo.Objective(expr=m.x)
        add(m)
        with pytest.raises(ModelError, match="either"):
            Clarabel().solve(m)
        m.either.deactivate()
        if add is not add_disjunction:  # its disjuncts stay active
            optimum(m)


def test_two_objectives_and_a_fixed_variable_without_value():
    m = model_with(x=pyo.Var(bounds=(0, 1)), y=pyo.Var())
    m.one, m.two = pyo.Objective(expr=m.x), pyo.Objective(expr=m.x + m.y)
    with pytest.raises(ModelError, match="2 active objectives"):
        Clarabel().solve(m)
    m.one.deactivate()
    m.y.fixed = True
    with pytest.raises(ModelError, match='Variable "y" is fixed at None'):
        Clarabel().solve(m)


# ------------------------------------------------------------------------------------------------- solving again


def counts(solver):
    return solver.compilations, solver.walks, solver.setups, solver.updates


def test_numbers_change_without_looking_at_an_expression_again():
    m, solver = svm(30, 3, "perspective"), Clarabel()
    m.limit = pyo.Param(initialize=2.0, mutable=True)
    m.budget = pyo.Constraint(expr=sum(m.sigma.values()) <= m.limit)
    solver.set_instance(m)
    optimum(m, solver)
    walks = solver.walks
    assert counts(solver) == (1, walks, 1, 0)

    m.limit.value = 1.0  # a right-hand side
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    m.sigma[0].setub(0.5)  # the value of a bound
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks, 1, 2)

    m.sigma[0].fix(0.25)  # fixed: other columns
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks, 2, 2)
    m.sigma[0].fix(0.35)  # the value of a fixed variable
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks, 2, 3)
    m.sigma[0].fix(0)  # w_0 = 0
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    m.sigma[0].unfix()
    m.margin[3].deactivate()
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert m.margin[3] not in m.dual
    m.w[1].setlb(0.0)
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks, 5, 3)


def test_what_changed_is_walked_again_and_nothing_else():
    m, solver = svm(30, 3), Clarabel()
    optimum(m, solver)
    walks = solver.walks
    m.cost.set_value(m.cost.expr + m.w[0])  # another linear objective
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    m.margin[0].set_value(m.margin[0].body >= 2)
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks + 2, 1, 2)
    m.cap = pyo.Constraint(expr=m.w[0] <= 0.1)
    assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert counts(solver) == (1, walks + 3, 2, 2)
    other = svm(30, 3, seed=1)
    assert optimum(other, solver) == pytest.approx(optimum(other), rel=1e-7)
    assert solver.compilations == 2


def test_parameters_and_named_expressions_inside_rows_are_noticed():
    m, solver = model_with(x=pyo.Var(bounds=(0, 10)), a=pyo.Param(initialize=2.0, mutable=True)), Clarabel()
    m.e = pyo.Expression(expr=m.x)
    m.row = pyo.Constraint(expr=m.a * m.e**2 <= 8)
    m.cost = pyo.Objective(expr=m.x, sense=MAX)
    assert optimum(m, solver) == pytest.approx(2, rel=1e-7)
    m.a.value = 8.0
    assert optimum(m, solver) == pytest.approx(1, rel=1e-7)
    m.e.set_value(2 * m.x)
    assert optimum(m, solver) == pytest.approx(0.5, rel=1e-7)
    m.cost.sense = MIN
    assert optimum(m, solver) == pytest.approx(0, abs=1e-7)


def test_fixings_beyond_quadratic_are_folded_and_noticed():
    m, solver = model_with(x=pyo.Var(), y=pyo.Var(bounds=(0, 1)), z=pyo.Var(initialize=2.0)), Clarabel()
    m.z.fix()
    m.row = pyo.Constraint(expr=m.z * (m.x + m.y) ** 2 + pyo.exp(m.z) * m.y <= 8)
    m.cost = pyo.Objective(expr=m.x + m.y, sense=MAX)
    assert optimum(m, solver) == pytest.approx(2, rel=1e-7)
    m.z.fix(8)
    assert optimum(m, solver) == pytest.approx(1, rel=1e-7)
    m.z.unfix()
    with pytest.raises(ModelError, match='Constraint "row"'):
        solver.solve(m)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["fix0", "fix", "free", "bound", "row", "cost"])), max_size=6)
)
def test_after_any_edits_solving_again_equals_solving_afresh(edits):
    m, solver = svm(15, 3, "perspective"), Clarabel()
    rows = 0
    for j, edit in edits:
        if edit in ("fix0", "fix"):
            m.sigma[j].fix(0.0 if edit == "fix0" else 0.5)
        elif edit == "free":
            m.sigma[j].unfix()
        elif edit == "bound":
            m.w[j].setub(0.1 * (j + 1))
        elif edit == "row":
            rows += 1
            m.add_component(f"row{rows}", pyo.Constraint(expr=m.w[j] - m.w[0] <= 0.2))
        else:
            m.cost.set_value(m.cost.expr + 0.1 * m.t[j])
        assert optimum(m, solver) == pytest.approx(optimum(m), rel=1e-7)
    assert solver.compilations <= 1


# ------------------------------------------------------------------------------------------------------- references


def test_a_model_that_only_refers_to_anothers_components():
    whole = svm(30, 3, "perspective")
    whole.inner = pyo.Block()
    whole.inner.cap = pyo.Constraint(expr=whole.w[0] <= 0.3)
    view = model_with(
        margin=pyo.Reference(whole.margin),
        cone=pyo.Reference(whole.cone),
        cap=pyo.Reference(whole.inner.cap),
        w=pyo.Reference(whole.w),
    )
    view.cost = pyo.Objective(expr=whole.cost.expr)
    solver = Clarabel()
    for sigma in ((1, 1, 0), (0, 1, 1)):
        for j, value in enumerate(sigma):
            whole.sigma[j].fix(value)
        value = optimum(view, solver)
        assert value == pytest.approx(optimum(whole), rel=1e-7)
        assert view.dual[whole.margin[0]] == pytest.approx(whole.dual[whole.margin[0]], abs=1e-5)
    whole.margin[0].deactivate()
    assert optimum(view, solver) == pytest.approx(optimum(whole), rel=1e-7)
    assert solver.compilations == 1


# ------------------------------------------------------------------------------------------------------- properties


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["matrix", "squares"]))
def test_random_qps_with_fixed_variables_satisfy_the_optimality_conditions(seed, maximise, form):
    rng = np.random.default_rng(seed)
    n, k, rank = rng.integers(1, 6), rng.integers(1, 5), rng.integers(0, 4)
    F, A, c = rng.standard_normal((rank, n)), rng.standard_normal((k, n)), rng.standard_normal(n)
    inner = rng.uniform(-1, 1, n)
    b = A @ inner + rng.uniform(0, 1, k)
    sense = -1.0 if maximise else 1.0
    m = model_with(x=pyo.Var(range(n), bounds=(-3, 3)))
    x = np.array(list(m.x.values()))
    m.rows = pyo.Constraint(range(k), rule=lambda m, i: (None, A[i] @ x, b[i]))
    Q = F.T @ F
    curved = 0.5 * (x @ Q @ x) if form == "matrix" else 0.5 * sum((row @ x) ** 2 for row in F)
    m.cost = pyo.Objective(expr=sense * (curved + c @ x), sense=MAX if maximise else MIN)
    free = rng.random(n) < 0.6
    for v, z, moves in zip(x, inner, free, strict=True):
        if not moves:
            v.fix(z)
    optimum(m)
    point = np.array([v.value for v in x])
    y = np.array([m.dual[m.rows[i]] for i in range(k)])
    rc = np.array([m.rc.get(v, 0.0) for v in x])
    assert np.abs((sense * (Q @ point + c) - A.T @ y - rc)[free]).max(initial=0.0) < 1e-6
    assert (point[~free] == inner[~free]).all()
    assert (A @ point <= b + 1e-7).all()
    assert (sense * y <= 1e-8).all()
    assert np.abs(y * (A @ point - b)).max() < 1e-6


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 10**6))
def test_a_factor_exists_exactly_for_semidefinite_matrices(n, rank, seed):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((rank, n))
    q = F.T @ F
    factor = psd_factor(q)
    assert factor is not None
    assert np.allclose(factor.T @ factor, q, atol=1e-9 * max(1.0, np.abs(q).max(initial=0.0)))
    assert len(factor) <= min(n, rank)
    u = rng.standard_normal(n)
    shift = 1.1 * (u @ q @ u / (u @ u) + 1e-3)
    assert psd_factor(q - shift * np.outer(u, u) / (u @ u)) is None


def test_a_point_that_goes_to_infinity_has_no_bound():
    """Its tests are relative to x: it calls b = 5e13 solved, where the objective falls for ever."""
    m = pyo.ConcreteModel()
    m.x, m.b = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.x >= 1)
    m.cost = pyo.Objective(expr=m.x**2 - m.b)
    opt = Clarabel()
    opt.solve(m, raise_exception_on_nonoptimal_result=False, load_solutions=False)
    program = Program(opt._model)
    for size in (1e13, 0.1):
        assert program.bound_from(np.array([1.0, size]), np.array([2.0])) == -np.inf


@pytest.mark.parametrize(("gradient", "bounded"), [(-1e3, False), (-1e-3, True)])
def test_multipliers_that_leave_out_the_cost_of_a_column_prove_nothing(gradient, bounded):
    """It called an unbounded model solved, where the costs of 8e6 of other columns hid a cost of 1e3."""
    m = pyo.ConcreteModel()
    m.x, m.g = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.g >= 0)
    m.cost = pyo.Objective(expr=4e6 * m.x**2 - 8e6 * m.x + 1e3 * m.g)
    opt = Clarabel()
    opt.solve(m)
    bound = Program(opt._model).bound_from(np.array([1.0, 1.0]), np.array([1e3 + gradient]))
    assert bool(np.isfinite(bound)) is bounded
