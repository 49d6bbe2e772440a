"""Rows on the shares d in the lazy form: the optimum of the form that states all labellings, or a refusal."""

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import linprog

import fsmodels as fs
from fsmodels import multivariate as mv
from fsmodels.errors import ModelError
from solvers import SolutionStatus
from solvers.drivers.two_layer.columns import Polytope, solve_columns
from solvers.drivers.two_layer.saddle_point import solve_saddle
from solvers.drivers.two_layer.shares import BudgetRows

GAP = 1e-5


@pytest.fixture(scope="module")
def small(make_data):
    data = make_data(8, 5, seed=4, noise=2.0)
    return fs.Dataset.from_arrays(np.asarray(data.X), [1, -1, 1, -1, -1, -1, 1, -1], features=list("abcde"))


def pair(m):
    m.pair = pyo.Constraint(expr=m.d["a"] <= m.d["d"])


def test_rows_that_clash_are_infeasible_and_named(small):
    model = mv.fsmulti(small, budget=2, C=20.0, form="lazy")
    model.much = pyo.Constraint(expr=sum(model.d[j] for j in model.features) >= 3)
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE
    assert "much" in result.message
    model = mv.fsmulti(small, budget=2, C=20.0, form="lazy")
    model.d["a"].setlb(0.5), model.d["a"].setub(0.2)
    assert fs.solve(model).status is SolutionStatus.INFEASIBLE


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda m: m.add_component("mixed", pyo.Constraint(expr=m.d["a"] <= m.w["b"])), "mixed"),
        (lambda m: m.add_component("mixed", pyo.Constraint(expr=m.d["a"] <= m.xi)), "mixed"),
        (lambda m: m.add_component("curved", pyo.Constraint(expr=m.d["a"] ** 2 <= 0.1)), "curved"),
        (lambda m: setattr(m.d["a"], "domain", pyo.Binary), r"d\[a\]"),
    ],
)
def test_what_is_no_row_on_shares_is_refused_with_a_remedy(edit, named, small):
    model = mv.fsmulti(small, budget=2, C=20.0, form="lazy")
    edit(model)
    with pytest.raises(ModelError, match=f'{named}.*form="extended"'):
        fs.solve(model)


def test_integers_of_the_user_are_refused_with_a_remedy(small):
    model = mv.fsmulti(small, budget=2, C=20.0, form="lazy")
    model.use = pyo.Var(domain=pyo.Binary)
    model.off = pyo.Constraint(expr=model.d["a"] <= model.use)
    with pytest.raises(ModelError, match=r'"off".*form="extended"'):
        fs.solve(model)


def test_the_algorithms_as_printed_take_no_rows_on_shares(small):
    model = mv.fsmulti(small, budget=2, C=20.0, form="lazy")
    pair(model)
    with pytest.raises(ModelError, match='"pair"'):
        fs.solve(model, stabilised=False)
    result = fs.solve(model)
    with pytest.raises(ModelError, match="rows, bounds or values of d"):
        mv.groups_of(result, small.features)


def test_the_price_of_slopes_is_that_of_the_whole_program():
    """Against an LP over all columns, with more columns alike than slots; the bound is never below it."""
    rng = np.random.default_rng(0)
    m = pyo.ConcreteModel()
    columns = 12
    m.d = pyo.Var(range(columns))
    m.z = pyo.Var(bounds=(0, 1))
    held = [0, 3, 5, 7]
    m.rows = pyo.ConstraintList()
    m.rows.add(sum((j + 1) * m.d[j] for j in held) <= 4)
    m.rows.add(m.d[0] + m.d[3] >= m.z)
    m.rows.add((0.2, m.z + m.d[7], 0.9))
    A = np.zeros((5, columns + 1))
    A[0, held] = np.array(held) + 1
    A[1, [0, 3]], A[1, -1] = -1, 1
    A[2, [7, columns]], A[3, [7, columns]] = 1, -1
    A[4, :columns] = 1
    for B in (1, 2, 5, 11):
        shares = BudgetRows(B, columns, list(m.rows.values()), [(j, m.d[j]) for j in held], [m.z])
        for _ in range(20):
            c, unit = rng.normal(size=columns), 10.0 ** rng.integers(-6, 6)
            worth = -linprog(np.r_[-0.5 * c**2, 0], A, [4, 0, 0.9, -0.2, B], bounds=(0, 1)).fun * unit**2
            assert shares.conjugate(c * unit) == pytest.approx(worth, rel=1e-8)
            vertex = shares.price(c * unit)
            assert 0.5 * vertex.d @ (c * unit)[vertex.columns] ** 2 == pytest.approx(worth, rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_the_interior_point_with_rows_is_the_conic_program(seed):
    rng = np.random.default_rng(seed)
    K, F, B = int(rng.integers(1, 12)), int(rng.integers(4, 15)), int(rng.integers(1, 4))
    P, q, C = rng.normal(size=(K, F)), rng.uniform(0, 10, K), float(rng.uniform(0.1, 100))
    A = np.vstack(
        [np.ones(F), rng.uniform(0, 1, F), np.r_[1.0, -1.0, np.zeros(F - 2)], np.r_[0, 0, 1, -1, np.zeros(F - 4)]]
    )
    lower, upper = np.zeros(F), np.ones(F)
    upper[0], lower[1] = 0.3, 0.1
    within = Polytope(A, np.array([B, 0.4 * B, 0.0, 0.0]), np.array([False] * 3 + [True]), lower, upper, np.zeros(F), F)
    fast = solve_saddle(P, q, B, C, accuracy=1e-10, within=within)
    slow = solve_columns(P, q, B, C, within=within)

    def worth(answer):
        return float(answer.alpha @ q - 0.5 * answer.d @ (answer.alpha @ P) ** 2)

    assert fast is not None
    assert within.rows.missed(fast.d) <= 1e-7
    assert worth(fast) == pytest.approx(worth(slow), rel=1e-5, abs=1e-7)
    exact = linprog(
        -0.5 * (fast.alpha @ P) ** 2,
        A[:3],
        [B, 0.4 * B, 0.0],
        A[3:],
        [0.0],
        bounds=list(zip(lower, upper, strict=True)),
    )
    assert -exact.fun == pytest.approx(0.5 * float(fast.d @ (fast.alpha @ P) ** 2), rel=1e-5, abs=1e-8)


def test_points_next_to_the_rows_are_put_on_them():
    within = Polytope(
        np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.0]), np.array([False, True]),
        np.zeros(2), np.ones(2), np.zeros(2), 2,
    )  # fmt: skip
    x = within.near(np.array([0.5, 0.5 + 1e-5]))
    assert within.rows.missed(x) <= 1e-9
    assert np.abs(x - 0.5).max() <= 1e-5


def test_columns_in_no_row_are_priced_too():
    """More columns than the rows speak of: a budget on three of forty."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 40))
    data = fs.Dataset.from_arrays(X, np.where(X[:, :6].sum(axis=1) + rng.normal(size=30) > 0, 1, -1))
    stated, lazy = (mv.fsmulti(data, budget=3, C=100.0, form=form) for form in ("stated", "lazy"))
    for model in (stated, lazy):
        names = list(model.features)
        model.few = pyo.Constraint(expr=sum(model.d[j] for j in names[:3]) <= 0.5)
        model.tie = pyo.Constraint(expr=model.d[names[4]] <= 0.5 * model.d[names[5]])
    assert fs.solve(lazy, gap=GAP).objective == pytest.approx(fs.solve(stated, gap=GAP).objective, rel=2 * GAP)
