"""Integer variables of the user in rows with w, b, xi and sigma: every driver against all supports and all integers."""

import itertools
import math

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus
from solvers.drivers.benders.multi_tree import Benders
from solvers.drivers.benders.switched import SwitchedSubproblem
from solvers.interfaces.registry import find
from solvers.interfaces.runner import Runner, SolveOptions

DRIVERS = ["branch-and-cut", "benders", "single-tree"]
PRICE = 0.15
ROWS = {
    "upper limit of w": lambda w, b, xi, sigma, n: w[0] <= n,
    "lower limit of w": lambda w, b, xi, sigma, n: -w[0] <= n,
    "limit of a slack": lambda w, b, xi, sigma, n: xi[0] <= n,
    "limit of two slacks": lambda w, b, xi, sigma, n: xi[0] + xi[1] <= 2 - n,
    "limit of b": lambda w, b, xi, sigma, n: b >= n,
    "equation": lambda w, b, xi, sigma, n: b + w[1] == 0.5 * n,
    "sum of weights": lambda w, b, xi, sigma, n: w[0] + w[1] >= n,
    "with sigma": lambda w, b, xi, sigma, n: w[0] >= 0.5 * n - 2 * sigma[0],
    "range": lambda w, b, xi, sigma, n: pyo.inequality(-1, w[2] - n, 0.5),
    "falling limit": lambda w, b, xi, sigma, n: 2 * w[2] <= 1 - n,
}


class Instance:
    """Random data with 3 features, one to three rows with an integer n, its range and its cost."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        samples = int(rng.integers(5, 9))
        X, y = rng.normal(size=(samples, 3)), np.where(rng.random(samples) < 0.5, -1, 1)
        y[:2] = 1, -1
        self.data = fs.Dataset.from_arrays(X, y, features=list("abc"))
        kinds = rng.choice(list(ROWS), size=int(rng.integers(1, 4)), replace=False)
        self.rows = [ROWS[kind] for kind in kinds.tolist()]
        self.low = int(rng.integers(-3, 1))
        self.up = self.low + int(rng.integers(1, 5))
        self.C, self.cost = float(rng.choice([0.5, 2.0])), float(rng.choice([0.0, 0.3, -0.2]))

    def model(self):
        """FSP with the rows."""
        m = fs.fsp.fsp_lambda(self.data, penalty=PRICE, C=self.C)
        m.n = pyo.Var(domain=pyo.Integers, bounds=(self.low, self.up))
        parts = [list(v.values()) for v in (m.w, m.xi, m.sigma)]
        m.mine = pyo.ConstraintList()
        for row in self.rows:
            m.mine.add(row(parts[0], m.b, parts[1], parts[2], m.n))
        m.objective.set_value(m.objective.expr + self.cost * m.n)
        return m

    def optimum(self):
        """Return the least over all supports and integers, by convex quadratic programs."""
        every = itertools.product(itertools.product((0, 1), repeat=3), range(self.low, self.up + 1))
        return min(self._value(sigma, n) for sigma, n in every)

    def _value(self, sigma, n):
        X, y, m = self.data.X, self.data.y, pyo.ConcreteModel()
        m.w, m.b, m.xi = pyo.Var(range(3)), pyo.Var(), pyo.Var(range(len(y)), bounds=(0, None))
        for j in np.flatnonzero(np.array(sigma) == 0).tolist():
            m.w[j].fix(0.0)
        m.margins = pyo.ConstraintList()
        for i in range(len(y)):
            score = sum(float(X[i, j]) * m.w[j] for j in range(3)) + m.b
            m.margins.add(float(y[i]) * score + m.xi[i] >= 1)
        for row in self.rows:
            stated = row(m.w, m.b, m.xi, sigma, n)
            if stated is False:
                return math.inf
            if stated is not True:
                m.margins.add(stated)
        m.cost = pyo.Objective(expr=0.5 * sum(v**2 for v in m.w.values()) + self.C * sum(m.xi.values()))
        result = fs.solve(m, "clarabel")
        if result.status is SolutionStatus.INFEASIBLE:
            return math.inf
        assert result.status is SolutionStatus.OPTIMAL
        return result.objective + self.cost * n + PRICE * sum(sigma)


def check(seed, driver):
    """Compare a driver with the enumerated optimum."""
    instance = Instance(seed)
    truth, result = instance.optimum(), fs.solve(instance.model(), driver)
    if math.isinf(truth):
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-4, abs=1e-4)
    assert result.bound <= truth + 1e-5 * max(1.0, abs(truth))


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("seed", [1, 5, 11, 17, 22, 24])
def test_a_feasibility_cut_keeps_every_feasible_integer(seed, driver):
    check(seed, driver)


@pytest.mark.parametrize("driver", DRIVERS)
def test_an_integer_without_an_upper_bound(driver):
    instance = Instance(1)
    instance.rows, instance.cost, instance.low, instance.up = [ROWS["lower limit of w"]], 0.3, 0, 4
    model, truth = instance.model(), instance.optimum()
    model.n.setub(None)
    result = fs.solve(model, driver)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(truth, rel=1e-4)


def test_a_choice_without_a_solution_is_excluded_by_the_bounds_of_the_model():
    """A whole-model solve reads the rows only where a choice has no solution: no weight is fixed then."""
    instance = Instance(1)
    instance.rows, instance.low, instance.up = [ROWS["sum of weights"]], 1, 3
    parts = Benders(instance.model()).parts
    subproblem = SwitchedSubproblem(parts, Runner(find("clarabel"), SolveOptions()))
    cut = subproblem.evaluate(np.array([0.0, 0.0, 1.0, 2.0]), None).cut
    assert cut.at(np.array([0.0, 0.0, 1.0, 2.0])) > 0
    for point in itertools.product((0, 1), (0, 1), (0, 1), (1, 2, 3)):
        if point[0] or point[1]:
            assert cut.at(np.array(point, dtype=float)) <= 1e-9
