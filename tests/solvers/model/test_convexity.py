"""Convexity by rules of composition: known expressions, random ones compared with their Hessians, and the drivers."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.environ import cosh, exp, log, sqrt

import solvers
from convex_functions import CONVEX, NONCONVEX, space
from solvers import ModelError, SolutionStatus
from solvers.model.convexity import curvature
from solvers.model.linear import LinearRows, prover_of
from solvers.tape import SparseDerivatives, Tape


def found(m, expression):
    variables = [m.x, m.y, m.z, m.u, m.v]
    return curvature(expression, variables, prover_of(LinearRows.of([], variables, [], 1.0)))


@pytest.mark.parametrize("kind", CONVEX)
def test_a_convex_function_is_recognised_and_its_negative_is_concave(kind):
    m = space()
    assert found(m, CONVEX[kind](m)) == (True, False)
    assert found(m, -2 * CONVEX[kind](m)) == (False, True)


@pytest.mark.parametrize("kind", NONCONVEX)
def test_a_function_that_is_not_convex_is_refused_by_name(kind):
    m = space()
    assert not found(m, NONCONVEX[kind](m))[0]
    m.curved = pyo.Constraint(expr=NONCONVEX[kind](m) <= 5)
    m.cost = pyo.Objective(expr=m.x)
    with pytest.raises(ModelError, match=r'Row "curved" is not quadratic, and its convexity is not proven'):
        solvers.solve(m, "cutting-plane")


def test_bounds_rows_fixings_and_parameters_count():
    m = space()
    m.p = pyo.Param(initialize=2.0, mutable=True)
    m.v.fix(1.0)
    free = [m.u]
    assert curvature(exp(m.p * m.u) * m.v, free, prover_of(LinearRows.of([], free, [], 1.0))) == (True, False)
    m.p.set_value(-1.0)
    assert found(m, m.p * exp(m.u)) == (False, True)
    variables = [m.u, m.x]
    m.row = pyo.Constraint(expr=m.u + m.x >= 1)
    assert not curvature((m.u + m.x) ** 3, variables, prover_of(LinearRows.of([], variables, [], 1.0)))[0]
    assert curvature((m.u + m.x) ** 3, variables, prover_of(LinearRows.of([m.row], variables, [], 1.0)))[0]


def random_expression(m, rng, depth):
    """An expression of random operations; most are not convex."""
    if depth == 0 or rng.random() < 0.15:
        line = sum(float(c) * v for c, v in zip(rng.integers(-2, 3, 5), (m.x, m.y, m.z, m.u, m.v), strict=True))
        return line + float(rng.integers(-1, 4))
    a, b = random_expression(m, rng, depth - 1), random_expression(m, rng, depth - 1)
    choices = [
        lambda: a + b,
        lambda: float(rng.choice([-2, -1, 0.5, 3])) * a,
        lambda: a * b,
        lambda: a * log(a) if rng.random() < 0.5 else a * log(b),
        lambda: a * log(a / b),
        lambda: a / b,
        lambda: a**2 / b,
        lambda: a ** float(rng.choice([-2, -1, -0.5, 0.3, 0.5, 1.5, 2, 3, 4])),
        lambda: exp(a),
        lambda: log(a),
        lambda: sqrt(a**2 + b**2),
        lambda: sqrt(a * b),
        lambda: abs(a),
        lambda: cosh(a),
    ]
    return choices[int(rng.integers(len(choices)))]()


@pytest.mark.parametrize("part", range(4))
def test_the_hessian_of_a_recognised_function_is_semidefinite(part):
    """At random points of the box where the function is defined and smooth."""
    m, recognised = space(), 0
    variables = [m.x, m.y, m.z, m.u, m.v]
    for seed in range(part * 1000, part * 1000 + 400):
        rng = np.random.default_rng(seed)
        try:
            expression = random_expression(m, rng, int(rng.integers(1, 4)))
        except (ArithmeticError, ValueError):
            continue
        if not hasattr(expression, "is_expression_type") or not expression.is_potentially_variable():
            continue
        convex, concave = found(m, expression)
        if not convex and not concave:
            continue
        recognised += 1
        tape = Tape([expression], variables, ["f"])
        derivatives = SparseDerivatives(tape, np.array([0]))
        for point in rng.uniform([0, 0, 0, -3, -3], 3, size=(30, 5)):
            H = np.zeros((5, 5))
            rows, columns = derivatives.hessian_pattern
            H[rows, columns] = derivatives.hessian(point, np.ones(1))
            if not np.isfinite(tape.values(point)[0]) or not np.all(np.isfinite(H)):
                continue
            eigenvalues = np.linalg.eigvalsh(H)  # of the lower triangle
            slack = 1e-7 * max(1.0, np.abs(eigenvalues).max())
            assert not convex or eigenvalues[0] >= -slack, (seed, str(expression))
            assert not concave or eigenvalues[-1] <= slack, (seed, str(expression))
    assert recognised > 50


@pytest.mark.parametrize("kind", CONVEX)
def test_a_recognised_row_and_objective_are_solved_to_a_proven_optimum(kind):

    def model(size):
        m = space(size)
        for v in (m.x, m.y, m.z):
            v.setlb(0.1)
        for v in (m.x, m.y, m.z, m.u, m.v):
            v.set_value(0.5)
        m.row = pyo.Constraint(expr=-CONVEX[kind](m) >= -pyo.value(CONVEX[kind](m)) - 0.5)
        m.n = pyo.Var(domain=pyo.Integers, bounds=(-1, 1))
        m.link = pyo.Constraint(expr=m.u >= m.n - 0.4)
        m.cost = pyo.Objective(expr=m.x - m.y - 0.5 * m.z + m.u - 2 * m.v - 1.2 * m.n)
        return m

    result = solvers.solve(model(abs), "cutting-plane", time_limit=30)
    assert result.status is SolutionStatus.OPTIMAL, result.message
    truth = solvers.solve(model(lambda u: sqrt(u**2)), "scip", time_limit=30)
    assert result.objective == pytest.approx(truth.objective, rel=2e-5, abs=2e-5)


DRIVERS = ["cutting-plane", "benders", "branch-and-cut", "single-tree"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_convex_block_needs_no_assumption(driver):
    m = space()
    m.b = pyo.Var(range(2), domain=pyo.Binary)
    m.on = pyo.Constraint(range(2), rule=lambda m, k: (m.x, m.y)[k] <= 3 * m.b[k])
    m.loss = pyo.Constraint(expr=log(exp(1 - m.x) + exp(1 - m.y)) <= m.z)
    m.cost = pyo.Objective(expr=m.z + 0.2 * exp(m.x) + 0.1 * m.y + 0.3 * m.b[0] + 0.2 * m.b[1])
    best = []
    for choice in itertools.product((0, 1), repeat=2):
        for k in range(2):
            m.b[k].fix(choice[k])
        best.append(solvers.solve(m, "pounce").objective)
    m.b.unfix()
    result = solvers.solve(m, driver)
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(min(best), rel=1e-4)
    assert result.bound <= min(best) * (1 + 1e-6)


@pytest.mark.parametrize("size", [lambda m: sqrt(m.u**2 + m.v**2), lambda m: abs(m.u) + abs(m.v)])
@pytest.mark.parametrize("in_row", [False, True])
def test_a_kink_at_the_start_and_at_the_optimum(size, in_row):
    m = space()
    m.u.set_value(0.0)
    m.v.set_value(0.0)
    m.t = pyo.Var(bounds=(-9, 9))
    if in_row:
        m.row = pyo.Constraint(expr=size(m) <= m.t)
    m.cost = pyo.Objective(expr=(m.t if in_row else size(m)) + 0.2 * m.u - 0.3 * m.v)
    result = solvers.solve(m, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(0.0, abs=1e-6)


def test_linear_programs_leave_the_domain_of_a_logarithm():
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-50, 50), initialize=1.0), pyo.Var(bounds=(-50, 50), initialize=1.0)
    m.row = pyo.Constraint(expr=log(m.x + 2 * m.y) + log(3 * m.x + m.y) >= 1)
    m.cost = pyo.Objective(expr=m.x + m.y - 0.1 * log(m.x - m.y + 1))
    result = solvers.solve(m, "cutting-plane")
    assert result.status is SolutionStatus.OPTIMAL, result.message
    assert result.objective == pytest.approx(solvers.solve(m, "pounce").objective, rel=1e-5)
