"""The parts of the tree search, each on an instance small enough to see."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from solvers.drivers.branch_cut.branching import PseudoCosts, Tree
from solvers.drivers.exchange import Incumbent, exchange, exchange_blocks, renew
from solvers.facts.structure import Cut


def test_the_tree_takes_the_best_bound_and_the_nearer_side_first():
    tree = Tree()
    tree.add(1.0)
    tree.branch(tree.pop(), 2.0, column=0, value=0.7)
    first = tree.pop()
    assert first.up
    assert first.changes == ((0, 1.0, np.inf),)
    tree.branch(first, 5.0, column=1, value=0.2)
    assert tree.bound == 2.0
    assert tree.pop().bound == 2.0
    assert [(node.bound, node.up) for node in (tree.pop(), tree.pop())] == [(5.0, False), (5.0, True)]
    assert tree.pop() is None
    assert tree.bound == np.inf


def test_pseudo_costs_prefer_what_gains_on_both_sides():
    costs = PseudoCosts(2)
    for column, gains in ((0, (10.0, 0.0)), (1, (2.0, 2.0))):
        for up in (False, True):
            costs.update(column, up, 0.5, gains[up])
    assert costs.choose(np.array([0.5, 0.5]), np.array([0, 1])) == 1


def test_exchange_finds_the_best_pair_of_a_modular_function():
    weight = np.array([-1.0, -5.0, -2.0, -4.0])
    seen = []

    def evaluate(choice):
        if choice.sum() > 2:
            return None
        seen.append((float(weight @ choice), choice))
        return seen[-1][0], Cut(0.0, weight)

    start = Incumbent(np.array([1.0, 0.0, 1.0, 0.0]), -3.0, Cut(0.0, weight))
    best = exchange(start, evaluate, np.ones(4, bool), np.zeros(4), lambda: False)
    assert best.objective == min(value for value, _ in seen) == -9.0
    assert best.choice.tolist() == [0.0, 1.0, 0.0, 1.0]


def test_blocks_reach_what_single_exchanges_cannot():
    def value(choice):  # the pairs pay only together
        return float(-2.0 * choice[0] * choice[1] - 3.0 * choice[2] * choice[3] - 0.1 * choice[4:].sum())

    def evaluate(choice):
        return None if choice.sum() > 8 else (value(choice), Cut(0.0, prices))

    prices = np.array([-0.2, -0.2, -0.5, -0.5, *[-0.1] * 6])
    start = np.array([1.0, 1.0, 0.0, 0.0, *[1.0] * 6])
    now = Incumbent(start, value(start), Cut(0.0, prices))
    arguments = np.ones(10, bool), np.zeros(10), lambda: False
    assert exchange(now, evaluate, *arguments) is now
    found = exchange_blocks(now, evaluate, lambda choice: Cut(0.0, prices), *arguments)
    assert found.objective == pytest.approx(-5.4)
    assert found.choice.sum() == start.sum()


def test_renewal_exchanges_more_than_a_block():
    weight = np.array([-1.0, -1.0, -3.0, -3.0, -2.0, -4.0, -5.0])

    def probe(choice):
        sizes.append(int(choice.sum()))
        return Cut(0.0, weight)

    def evaluate(choice):
        return float(weight @ choice), Cut(0.0, weight)

    sizes: list[int] = []
    now = Incumbent(np.array([1.0, 1.0, *[0.0] * 5]), -2.0, Cut(0.0, weight))
    arguments = np.ones(7, bool), np.zeros(7)
    other = renew(now, evaluate, probe, *arguments)
    assert other.choice.tolist() == [0.0] * 5 + [1.0] * 2
    assert other.objective == -9.0
    assert sizes == [6, 3]  # at most half of the elements leave at a time
    assert renew(other, evaluate, probe, *arguments) is None
    assert renew(now, lambda choice: None, probe, *arguments) is None


def test_a_search_stops_when_told():
    asked = []

    def evaluate(choice):
        asked.append(choice)
        return 0.0, Cut(0.0, np.zeros(4))

    now = Incumbent(np.array([1.0, 0.0, 0.0, 0.0]), 0.0, Cut(0.0, np.zeros(4)))
    assert exchange(now, evaluate, np.ones(4, bool), np.zeros(4), lambda: len(asked) >= 2) is now
    assert len(asked) == 2


POINTS = list(itertools.product((0.0, 1.0), repeat=4))


@given(
    arrays(float, 4, elements=st.floats(-1e9, 1e3)),
    st.floats(-1e3, 1e3),
    st.floats(-1e3, 1e3),
)
def test_a_clipped_cut_says_the_same_above_the_floor_at_every_0_1_point(coefficients, constant, floor):
    cut = Cut(constant, coefficients)
    clipped = cut.clipped(floor)
    assert (clipped.coefficients >= cut.coefficients).all()
    size = np.abs(coefficients).sum() + abs(constant) + abs(floor)
    for point in POINTS:
        before, after = max(cut.at(np.array(point)), floor), max(clipped.at(np.array(point)), floor)
        assert after == pytest.approx(before, abs=1e-12 * (1 + size))


@given(arrays(float, 4, elements=st.floats(-1e3, 1e3)), st.sampled_from(POINTS), st.floats(1e-9, 1.0))
def test_a_tightened_cut_forbids_its_point_and_nothing_that_was_allowed(coefficients, point, said):
    at, every = np.array(point), np.array(POINTS)
    cut = Cut(said - float(coefficients @ at), coefficients)
    tightened, rounding = cut.tightened(at), 1e-12 * np.abs(coefficients).sum()
    before, after = (c.constant + every @ c.coefficients for c in (cut, tightened))
    assert (after[before <= 0] <= rounding).all()
    assert tightened.at(at) >= 0.5 * said - rounding
    assert np.abs(tightened.coefficients).max() <= max(np.abs(coefficients).max(), 0.0)


def test_a_faint_cut_says_it_beside_coefficients_of_its_size():
    cut = Cut(-0.78125, np.array([1.5625e-6, -0.78125, 0.7812515625]))  # 3e-6 above 0 at (1, 0, 1) alone
    tightened = cut.tightened(np.array([1.0, 0.0, 1.0]))
    assert np.abs(tightened.coefficients).max() == pytest.approx(3.125e-6)
    forbidden = [point for point in itertools.product((0.0, 1.0), repeat=3) if tightened.at(np.array(point)) > 0]
    assert forbidden == [(1.0, 0.0, 1.0)]


@given(arrays(float, 3, elements=st.floats(-1e-7, 1e-7)), st.floats(-10, 10))
def test_a_cut_without_tiny_coefficients_is_never_stronger(coefficients, constant):
    cut = Cut(constant, coefficients)
    weaker = cut.without_tiny(np.zeros(3), np.ones(3))
    for point in itertools.product((0.0, 0.5, 1.0), repeat=3):
        assert weaker.at(np.array(point)) <= cut.at(np.array(point)) + 1e-15
    kept = weaker.coefficients[weaker.coefficients != 0]
    assert (np.abs(kept) > 1e-8).all()
