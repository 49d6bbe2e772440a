"""Weak-duality cuts of small random subproblems, compared with their values at every 0/1 point."""

import itertools
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse
from scipy.optimize import linprog

from solvers.clarabel.interface import Clarabel
from solvers.errors import ModelError
from solvers.facts import RowCut
from solvers.facts.row_cut import lagrangian_bound
from solvers.model.linear import LinearRows

INFEASIBLE = {"load_solutions": False, "raise_exception_on_nonoptimal_result": False}


def subproblem(seed):
    """Three weights, two other variables (one free, one with bounds), rows of every kind."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.w, m.t, m.u = pyo.Var(range(3)), pyo.Var(range(3), bounds=(0, None)), pyo.Var(range(3))
    m.free, m.slack = pyo.Var(), pyo.Var(bounds=(0, rng.choice([5.0, np.inf])))
    if seed % 2:
        m.w[0].setub(0.3)
    A = rng.normal(size=(5, 4))
    m.rows = pyo.ConstraintList()
    for k, row in enumerate(A):
        body = sum(a * v for a, v in zip(row, [*m.w.values(), m.free], strict=True)) + m.slack
        m.rows.add([body >= 1.0, (0.5, body, 4.0), body >= -1.0][k % 3])
    m.rows.add(m.free == 0.4 * m.w[1] + 0.1)
    m.linear = pyo.Expression(expr=rng.uniform(1, 3) * m.slack + 0.2 * m.w[2] + 0.7)
    m.cost = pyo.Objective(expr=0.5 * sum(w**2 for w in m.w.values()) + m.linear)
    return m


def solved(m, point):
    """Return the value at a point, and the multipliers of the rows."""
    for w, x in zip(m.w.values(), point, strict=True):
        w.unfix() if x else w.fix(0.0)
    results = Clarabel().solve(m, **INFEASIBLE)
    if results.incumbent_objective is None:
        return np.inf, None
    found = results.solution_loader.get_duals()
    return results.incumbent_objective, np.array([found[row] for row in m.rows.values()])


def linear(m):
    for w in m.w.values():
        w.unfix()
    variables = [*m.w.values(), m.free, m.slack, *m.t.values(), *m.u.values()]
    return LinearRows.of(list(m.rows.values()), variables, [m.linear, 0.5 * sum(m.t.values())], 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_cut_is_below_the_value_everywhere_and_meets_it_where_it_is_made(seed):
    m, rng = subproblem(seed), np.random.default_rng(seed)
    cut_of = RowCut([*m.w.values()], [*m.t.values()])
    points = list(itertools.product([0, 1], repeat=3))
    truth = {point: solved(m, point) for point in points}
    rows = linear(m)
    homes = [(point, r) for point, (_, r) in truth.items() if r is not None]
    assert len(homes) > 1
    for home, r in homes:
        cut = cut_of(rows, r)
        assert cut.at(np.array(home)) == pytest.approx(truth[home][0], rel=1e-6)
        for noise in (0.0, 0.1, 3.0):
            try:
                cut = cut_of(rows, r + noise * rng.normal(size=len(r)))
            except ModelError:  # no bound, which is valid too
                continue
            for point, (value, _) in truth.items():
                assert cut.at(np.array(point)) <= value + 1e-7


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda m: m.rows.add(m.u[1] <= 3), 'Row "rows'),
        (lambda m: m.linear.set_value(m.linear.expr + m.u[1]), 'The cost of "u'),
        (lambda m: m.u[1].setub(3), 'The bound of "u'),
        (lambda m: m.t[1].setub(3), 'The bound of "t'),
    ],
)
def test_what_is_on_an_auxiliary_variable_is_refused_by_name(edit, named):
    m = subproblem(0)
    cut_of = RowCut([*m.w.values()], [*m.t.values()], [*m.u.values()])
    edit(m)
    rows = linear(m)
    with pytest.raises(ModelError, match=named):
        cut_of(rows, np.zeros(len(rows.rows)))


@pytest.mark.parametrize("seed", range(100))
def test_terms_at_small_reduced_costs_are_kept(seed):
    """A reduced cost of 1e-14 of its terms, on a variable with a far bound, lowers the exact bound by as much."""
    rng = np.random.default_rng(seed)
    m = pyo.ConcreteModel()
    m.w, m.z = pyo.Var([0]), pyo.Var(range(3), bounds=(-1e6, 1e6))
    A = rng.normal(size=(4, 3)) * 10.0 ** rng.integers(-3, 4)
    m.rows = pyo.ConstraintList()
    for row in A:
        m.rows.add(sum(a * z for a, z in zip(row.tolist(), m.z.values(), strict=True)) >= 1.0)
    r = rng.uniform(0, 1, 4)
    cost = A.T @ r * (1 + rng.choice([0.0, 2e-16, -2e-16, 5e-14, -5e-14], 3))
    variables = [*m.w.values(), *m.z.values()]
    linear = sum(c * z for c, z in zip(cost.tolist(), m.z.values(), strict=True))
    rows = LinearRows.of(list(m.rows.values()), variables, [linear], 1.0)
    exact = [Fraction(c) - sum(Fraction(a) * Fraction(x) for a, x in zip(A[:, k], r, strict=True))
             for k, c in enumerate(cost.tolist())]  # fmt: skip
    truth = sum(map(Fraction, r.tolist())) - sum(abs(d) * 10**6 for d in exact)
    cut = RowCut([*m.w.values()])(rows, r)
    assert Fraction(cut.constant) <= truth
    assert float(truth) - cut.constant <= 1e-12 * (r.sum() + 1e6 * np.abs(A).sum())
    assert Fraction(_lagrangian(rows, r)) <= truth


def _lagrangian(rows, r):
    """Return what multipliers prove of the rows' cost."""
    return lagrangian_bound(rows, r)[0]


def test_a_reduced_cost_on_a_variable_without_bound_is_no_bound():
    """Below 1e-9 it counted as nothing, although the cost is -inf: here no multipliers prove anything."""
    m = pyo.ConcreteModel()
    m.x, m.z = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, None))
    m.rows = pyo.ConstraintList()
    m.rows.add(m.x + m.z >= 0.5)
    rows = LinearRows.of(list(m.rows.values()), [m.x, m.z], [m.x - 5e-10 * m.z], 1.0)
    assert _lagrangian(rows, np.zeros(1)) == -np.inf


@pytest.mark.parametrize("seed", range(20))
def test_inexact_multipliers_with_many_free_variables_prove_nearly_the_optimum(seed):
    """The LP min e'z over A w + z >= 1, z >= 0, as in a robust LP, has one reduced cost per free weight."""
    rng = np.random.default_rng(seed)
    rows, weights = 60, 25
    A = rng.normal(1.0, 1.0, (rows, weights)) * 10 ** rng.uniform(-1, 3, weights)
    A[rows // 2 :] *= -1
    cost = np.append(np.zeros(weights), np.ones(rows))
    found = linprog(
        cost, -np.hstack([A, np.eye(rows)]), -np.ones(rows), bounds=[(None, None)] * weights + [(0, None)] * rows
    )
    infinite = np.full(weights + rows, np.inf)
    lp = LinearRows(
        [None] * rows, [None] * (weights + rows), sparse.csr_matrix(np.hstack([A, np.eye(rows)])), np.ones(rows),
        np.full(rows, np.inf), np.append(-infinite[:weights], np.zeros(rows)), infinite, cost, 0.0,
    )  # fmt: skip
    multipliers = -found.ineqlin.marginals * (1 + 1e-9 * rng.normal(size=rows))
    bound = lagrangian_bound(lp, multipliers)[0]
    assert found.fun - 1e-6 * max(1.0, found.fun) <= bound <= found.fun + 1e-9 * max(1.0, found.fun)
    multipliers[0] = np.nan
    assert lagrangian_bound(lp, multipliers)[0] == -np.inf


def test_the_better_of_both_repairs_is_used():
    """Here the least-squares step moves a variable with one bound by more than rounding: alone it proved nothing."""
    A = [
        [-0.42281607169382207, -2.2791477176539225, 1.2882623023858126, -0.20160179034990458, -0.4636503840817981],
        [-0.8823638294537127, 1.1915142570367052, -1.8708201303330183, 0.7242668273321045, -1.2743177438927373],
    ]
    cost = [-1.1197495689672543, -0.07422404794243065, -0.23978570809514527, -0.9464629614893425, -0.022424079948994924]
    upper = [4.2962105837814395, -1.662003627821313, np.inf, -2.6252643238261912, -2.0472248633957557]
    rows = LinearRows(
        [None] * 2, [None] * 5, sparse.csr_matrix(A), np.array([3.9500000578644787, 2.6860824670926866]),
        np.array([5.461209054488025, 4.794112127298787]), np.full(5, -np.inf), np.array(upper), np.array(cost), 0.0,
    )  # fmt: skip
    bound = lagrangian_bound(rows, np.array([-0.10506387016559374, 0.05582358413264734]))[0]
    assert bound == pytest.approx(-1.93539213793815, rel=1e-9)
    assert bound <= -1.93539213793815


def test_a_sum_of_finite_terms_that_overflows_is_no_bound():
    ones, two = np.ones(1), np.full(2, 2.0)
    rows = LinearRows([None] * 2, [None], sparse.csr_matrix((2, 1)), two, np.full(2, np.inf), 0 * ones, ones, ones, 0.0)
    assert lagrangian_bound(rows, np.full(2, 6e307))[0] == -np.inf
