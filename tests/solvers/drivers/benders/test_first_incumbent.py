"""A two-stage model with integers has an incumbent after the first optimum of the relaxed master."""

import numpy as np
import pyomo.environ as pyo
import pytest

import solvers
from solvers import SolutionStatus
from solvers.drivers.dive import dive


def location(seed, rows):
    """Sites with capacities and three scenarios of demand; ``rows`` adds rows on the sites."""
    rng = np.random.default_rng(seed)
    sites, customers, scenarios = range(8), range(10), range(3)
    demand, cost = rng.integers(5, 30, (3, 10)), rng.integers(1, 20, (8, 10))
    m = pyo.ConcreteModel()
    m.open = pyo.Var(sites, domain=pyo.Binary)
    m.share, m.lost = pyo.Var(scenarios, sites, customers, bounds=(0, 1)), pyo.Var(scenarios, customers, bounds=(0, 1))
    m.served = pyo.Constraint(
        scenarios, customers, rule=lambda m, s, c: sum(m.share[s, j, c] for j in sites) + m.lost[s, c] == 1
    )
    m.capacity = pyo.Constraint(
        scenarios,
        sites,
        rule=lambda m, s, j: sum(int(demand[s, c]) * m.share[s, j, c] for c in customers) <= (50 + 5 * j) * m.open[j],
    )
    rows(m)
    served = sum(int(cost[j, c]) * m.share[s, j, c] for s, j, c in m.share)
    m.cost = pyo.Objective(expr=40 * sum(m.open.values()) + (served + 200 * sum(m.lost.values())) / 3)
    return m


def pairs(m):
    m.number = pyo.Constraint(expr=sum(m.open.values()) == 4)
    m.pairs = pyo.Constraint(range(0, 8, 2), rule=lambda m, j: m.open[j] + m.open[j + 1] == 1)


def levels(m):
    """A knapsack equation, which no rounding to the nearest integers satisfies."""
    m.level = pyo.Var(range(5), domain=pyo.Integers, bounds=(0, 4))
    m.total = pyo.Constraint(expr=sum(a * v for a, v in zip((3, 4, 5, 7, 9), m.level.values(), strict=True)) == 31)
    m.few = pyo.Constraint(range(5), rule=lambda m, k: m.level[k] <= 4 * m.open[k])


ROWS = {"no rows": lambda m: None, "pairs": pairs, "an equation": levels}


@pytest.mark.parametrize("driver", ["benders", "branch-and-cut", "single-tree"])
@pytest.mark.parametrize("rows", ROWS)
def test_there_is_an_incumbent_before_the_integer_master(rows, driver, need):
    if driver == "single-tree":
        need("gurobi")
    for seed in range(4):
        best = solvers.solve(location(seed, ROWS[rows]), "highs", gap=1e-7).objective
        result = solvers.solve(location(seed, ROWS[rows]), driver, gap=1e-6)
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(best, rel=1e-5)
        first = result.iterations["Incumbent"].first_valid_index()
        steps = result.iterations["Step"].tolist()
        search = next((k for k, step in enumerate(steps) if step in ("master+sub", "candidate", "tree")), len(steps))
        if rows == "an equation" and driver != "branch-and-cut":  # the master may find the first point
            assert first <= search
        else:
            assert first < search
            assert driver != "benders" or first <= 2


def test_a_run_that_ends_in_the_relaxed_master_returns_the_incumbent():
    result = solvers.solve(location(0, pairs), "benders", iteration_limit=3)
    assert result.status is SolutionStatus.FEASIBLE
    assert set(result.iterations["Step"]) == {"relaxed", "rounded"}


@pytest.mark.parametrize("seed", range(20))
def test_a_dive_returns_integral_points_of_the_relaxation(seed):
    rng = np.random.default_rng(seed)
    a, cost = rng.integers(1, 9, 6), rng.integers(-9, 9, 6)
    integer, limit = np.array([True] * 5 + [False]), float(a.sum() * 0.6)

    def solve(lower, upper):
        lp = solvers.lp.highs.HighsLP(cost.astype(float), lower, upper)
        lp.add_rows(a[None].astype(float), np.array([limit - 9]), np.array([limit]))
        answer = lp.solve()
        return answer.point if answer.status is solvers.lp.highs.LpStatus.OPTIMAL else None

    lower, upper = np.zeros(6), np.full(6, 2.0)
    point = dive(solve(lower, upper), lower, upper, integer, solve)
    assert point is not None
    assert np.all(point[:5] == np.round(point[:5]))
    assert np.all((point >= 0) & (point <= 2))
    assert limit - 9 - 1e-7 <= a @ point <= limit + 1e-7


def test_a_dive_ends_where_no_integral_point_exists():
    def solve(lower, upper):  # x = 0.5
        return np.array([0.5]) if lower[0] <= 0.5 <= upper[0] else None

    assert dive(np.array([0.5]), np.zeros(1), np.ones(1), np.ones(1, dtype=bool), solve) is None


def test_rounding_stays_within_fractional_bounds_of_an_integer():
    """An upper bound of 1.5 was rounded to 2, and the point became the incumbent."""
    found = dive(np.array([1.5]), np.zeros(1), np.array([1.5]), np.ones(1, dtype=bool), lambda low, up: up)
    assert found.tolist() == [1.0]
    assert dive(np.array([0.5]), np.array([0.2]), np.array([0.8]), np.ones(1, dtype=bool), lambda low, up: up) is None
