"""The k-support norm: comparison with a conic program over D, its conjugate, ties, zeros, invariances."""

import clarabel
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from solvers.facts.k_support import half_conjugate, half_norm, largest


def least_over_d(w, budget):
    """min 1/2 sum t, w_j^2 <= d_j t_j, sum d = B, 0 <= d <= 1, as a conic program over (d, t) of w over its size."""
    m, size = len(w), np.abs(w).max()
    A = np.zeros((1 + 2 * m + 3 * m, 2 * m))
    b = np.zeros(len(A))
    A[0, :m], b[0] = 1.0, budget
    A[1 : 1 + m, :m], b[1 : 1 + m] = np.eye(m), 1.0
    A[1 + m : 1 + 2 * m, :m] = -np.eye(m)
    for j in range(m):  # (d + t, 2 w, d - t) in a cone
        row = 1 + 2 * m + 3 * j
        A[row, [j, m + j]] = -1.0
        b[row + 1] = 2.0 * w[j] / size
        A[row + 2, [j, m + j]] = -1.0, 1.0
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * m), *[clarabel.SecondOrderConeT(3)] * m]
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    cost = np.r_[np.zeros(m), np.full(m, 0.5)]
    none = sparse.csc_array((2 * m, 2 * m))
    run = clarabel.DefaultSolver(none, cost, sparse.csc_array(A), b, cones, quiet).solve()
    assert str(run.status) == "Solved"
    return run.obj_val * size**2


AWKWARD = {
    "distinct": [3.0, -1.0, 0.5, 2.0, -0.25],
    "all equal": [1.0, 1.0, -1.0, 1.0],
    "ties at the border": [2.0, 1.0, 1.0, 1.0, 0.5],
    "zeros": [0.0, 3.0, 0.0, -1.0, 1.0],
    "one": [0.0, 0.0, -4.0],
    "far apart": [1e4, 1.0, 1e-4, 1e-2],
    "one large": [100.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "single column": [-2.5],
}


@pytest.mark.parametrize("w", AWKWARD.values(), ids=AWKWARD)
def test_the_closed_form_is_the_least_value_over_d(w):
    w = np.array(w)
    for budget in range(1, len(w) + 1):
        value, d = half_norm(w, budget)
        assert value == pytest.approx(least_over_d(w, budget), rel=1e-6)
        assert_attained(w, budget, value, d)


def assert_attained(w, budget, value, d):
    """d is in D but for unused budget, and 1/2 sum w_j^2 / d_j is the value."""
    used = w != 0
    assert np.all((d >= 0) & (d <= 1))
    assert d.sum() <= budget * (1 + 1e-9)
    assert np.all(d[~used] == 0)
    assert 0.5 * (w[used] ** 2 / d[used]).sum() == pytest.approx(value, rel=1e-9)


def test_random_weights_against_the_conic_minimum():
    rng = np.random.default_rng(1)
    for _ in range(60):
        m = int(rng.integers(1, 9))
        w = rng.normal(size=m) * 10.0 ** rng.uniform(-1, 1, size=m)
        budget = int(rng.integers(1, m + 1))
        assert half_norm(w, budget)[0] == pytest.approx(least_over_d(w, budget), rel=1e-6)


@pytest.mark.parametrize("budget", [1, 3, 7])
def test_no_weights_cost_nothing(budget):
    value, d = half_norm(np.zeros(5), budget)
    assert (value, d.tolist()) == (0.0, [0.0] * 5)
    assert half_norm(np.zeros(0), budget)[0] == 0.0


def test_the_ends_are_the_two_norms():
    w = np.array([3.0, -1.0, 0.0, 2.0])
    assert half_norm(w, 1)[0] == pytest.approx(0.5 * 6.0**2)  # half the squared 1-norm
    for budget in (3, 4, 100):  # three weights are not 0
        assert half_norm(w, budget)[0] == pytest.approx(0.5 * 14.0)


# Whole numbers make ties.
NUMBERS = st.integers(-4, 4).map(float) | st.floats(-1e3, 1e3).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
WEIGHTS = st.lists(NUMBERS, min_size=1, max_size=8).map(np.array)


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 9))
def test_the_point_is_in_d_and_attains_the_value(w, budget):
    assert_attained(w, budget, *half_norm(w, budget))


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 9), st.data())
def test_no_other_point_of_d_is_better(w, budget, data):
    raw = np.array(data.draw(st.lists(st.floats(1e-3, 1.0), min_size=len(w), max_size=len(w))))
    d = np.minimum(1.0, raw * min(1.0, budget / raw.sum()))
    assert half_norm(w, budget)[0] <= 0.5 * (w**2 / d).sum() * (1 + 1e-9)


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 9), st.data())
def test_fenchel_young(w, budget, data):
    c = np.array(data.draw(st.lists(NUMBERS, min_size=len(w), max_size=len(w))))
    value = half_norm(w, budget)[0]
    assert c @ w <= value + half_conjugate(c, budget) + 1e-9 * (1 + value)


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 9))
@example(np.array([1.0, 128.0, 128.0, 128.0, 127.00001]), 4)  # ties, whose values differ by less than rounding
def test_equality_at_the_gradient(w, budget):
    value, d = half_norm(w, budget)
    gradient = np.divide(w, d, out=np.zeros_like(w), where=d > 0)
    assert gradient @ w == pytest.approx(2 * value, rel=1e-9)
    assert half_conjugate(gradient, budget) == pytest.approx(value, rel=1e-9)


@settings(max_examples=200)
@given(WEIGHTS, st.integers(1, 9), st.randoms(use_true_random=False), st.sampled_from([1e-6, -0.5, 3.0, 1e6]))
def test_order_sign_and_size(w, budget, random, factor):
    value, order = half_norm(w, budget)[0], list(range(len(w)))
    random.shuffle(order)
    assert half_norm(w[order], budget)[0] == pytest.approx(value, rel=1e-12)
    assert half_norm(factor * w, budget)[0] == pytest.approx(factor**2 * value, rel=1e-12)
    assert half_norm(w, budget + 1)[0] <= value * (1 + 1e-12)
    assert half_norm(np.r_[w, 0.0], budget)[0] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 9])
def test_the_largest_places(budget):
    c = np.array([1.0, -3.0, 2.0, 2.0])
    places = largest(c, budget)
    assert places.tolist() == sorted(set(places.tolist()))
    best = np.sort(np.abs(c))[::-1][:budget]
    assert sorted(np.abs(c[places]), reverse=True) == best.tolist()
    assert half_conjugate(c, budget) == pytest.approx(0.5 * (best**2).sum())
