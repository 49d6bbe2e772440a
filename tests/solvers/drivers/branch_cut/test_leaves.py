"""Closing nodes in which one more choice is left: against enumeration, with a subproblem of sums."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from solvers.drivers.branch_cut.memory import CutPool
from solvers.drivers.branch_cut.node import Leaves
from solvers.facts.structure import Cut, RelaxedAnswer, SubAnswer

N = 6


class Search:
    """Incumbents of q(x) = (a.x - 3)^2, convex, with its tangents as cuts."""

    def __init__(self, lp, a):
        self.lp, self.a, self.pool, self.best, self.asked = lp, a, CutPool(N), np.inf, []

    @property
    def cutoff(self):
        return self.best

    def q(self, x):
        return float((self.a @ x - 3.0) ** 2)

    def has_answer(self, choice):
        return False

    def solve_subproblem(self, point, tolerance):
        self.asked.append(point.copy())
        slope = 2 * (self.a @ point - 3.0) * self.a
        cut = Cut(self.q(point) - float(slope @ point), slope)
        self.pool.add(cut)
        return SubAnswer(self.q(point), self.q(point), cut, lambda: None)

    def offer(self, point, answer):
        self.best = min(self.best, self.lp.value(point) + answer.value)


class Bounds:
    """Bounds at points, half of what they lack to the value beside what is asked for; none with ``able=False``."""

    def __init__(self, search, able=True):
        self.search, self.able, self.asked = search, able, []

    def relax(self, choice, upper, accuracy, enough):
        if not self.able:
            return None
        self.asked.append(choice.copy())
        value = self.search.lp.value(choice) + self.search.q(choice)
        bound = value if value < enough else 0.5 * (value + enough)
        return RelaxedAnswer(bound, choice, np.zeros(N), Cut(0.0, np.zeros(N)))


def master(matrix, upper, cost):
    rows = SimpleNamespace(matrix=sparse.csr_matrix(matrix), lower=np.full(len(upper), -np.inf), upper=np.array(upper))
    lp = SimpleNamespace(
        size=N, n=N, integer=np.ones(N, bool), lower=np.zeros(N), upper=np.ones(N), linear=rows, cost=cost
    )
    lp.value = lambda x: float(cost @ x)
    lp.satisfies = lambda x: bool(np.all(matrix @ x <= rows.upper + 1e-9))
    return lp


@pytest.mark.parametrize("able", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_that_of_the_best_choice_left(seed, able):
    rng = np.random.default_rng(seed)
    matrix, upper = np.vstack([np.ones(N), rng.uniform(0.5, 2, N)]), [3.0, 4.0]
    lp = master(matrix, upper, rng.uniform(0, 1, N))
    search = Search(lp, rng.normal(size=N))
    lower, top = np.zeros(N), np.ones(N)
    lower[:2], top[5] = 1.0, 0.0
    choices = [lower, *(lower + np.eye(N)[j] for j in (2, 3, 4))]
    values = [lp.value(x) + search.q(x) for x in choices if lp.satisfies(x)]
    bounds = Bounds(search, able)
    bound = Leaves(search, bounds).bound(Cut(0.0, np.zeros(N)), lower, top)
    assert bound == pytest.approx(min(values))
    assert search.best == pytest.approx(min(values))
    assert all(any(np.array_equal(x, y) for y in choices) for x in search.asked + bounds.asked)


def test_a_choice_whose_bound_is_enough_is_not_asked_for_its_value():
    lp = master(np.ones((1, N)), [1.0], np.zeros(N))
    search = Search(lp, np.full(N, 0.5))  # 9 without a choice, 6.25 with any
    search.best = 7.0
    bound = Leaves(search, Bounds(search)).bound(Cut(0.0, np.zeros(N)), np.zeros(N), np.ones(N))
    assert search.best == bound == pytest.approx(6.25)
    assert len(search.asked) == 1


def test_choices_that_a_cut_rules_out_are_not_asked():
    lp = master(np.ones((1, N)), [1.0], np.zeros(N))
    search = Search(lp, np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    search.best = 0.5
    cut = Cut(1.0, np.array([-1.0, 0, 0, 0, 0, 0]))  # says at least 1 of all but the first
    assert Leaves(search, Bounds(search)).bound(cut, np.zeros(N), np.ones(N)) == pytest.approx(0.0)
    assert len(search.asked) == 1


@pytest.mark.parametrize("most", [2.0, 6.0])
def test_nodes_with_more_to_choose_are_left_alone(most):
    lp = master(np.ones((1, N)), [most], np.zeros(N))
    search = Search(lp, np.ones(N))
    assert Leaves(search, Bounds(search)).bound(Cut(0.0, np.zeros(N)), np.zeros(N), np.ones(N)) is None


def test_a_row_with_a_negative_coefficient_leaves_room():
    matrix = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, -1.0]])
    lp = master(matrix, [1.0], np.zeros(N))
    search = Search(lp, np.ones(N))
    assert Leaves(search, Bounds(search)).bound(Cut(0.0, np.zeros(N)), np.zeros(N), np.ones(N)) is None
    pairs = [x for x in itertools.product([0, 1], repeat=N) if sum(x) == 2 and lp.satisfies(np.array(x))]
    assert pairs


def test_other_variables_than_binaries_are_branched_on():
    lp = master(np.ones((1, N)), [1.0], np.zeros(N))
    lp.integer = np.array([True] * (N - 1) + [False])
    search = Search(lp, np.ones(N))
    assert Leaves(search, Bounds(search)).bound(Cut(0.0, np.zeros(N)), np.zeros(N), np.ones(N)) is None
