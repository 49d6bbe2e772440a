"""Bounds of affine functions over boxes and rows: against every 0/1 point, and against the linear program."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from solvers.drivers.tree.boxes import least, narrowed


def instance(seed):
    rng = np.random.default_rng(seed)
    m, r, K = int(rng.integers(2, 7)), int(rng.integers(0, 4)), 4
    rows = rng.integers(-2, 4, (r, m)).astype(float), rng.integers(0, 6, r).astype(float)
    lower = rng.integers(0, 2, (K, m)).astype(float)
    upper = np.maximum(lower, rng.integers(0, 2, (K, m)))
    return rows, rng.normal(size=K), 2 * rng.normal(size=(K, m)), lower, upper


@pytest.mark.parametrize("seed", range(30))
def test_no_point_of_the_rows_is_below_the_bound_or_lost_by_narrowing(seed):
    rows, constants, slopes, lower, upper = instance(seed)
    inside = narrowed(lower, upper, rows, np.ones(len(lower[0]), dtype=bool))
    bounds, _ = least(constants, slopes, *inside, rows)
    for k in range(len(lower)):
        points = [np.array(x, dtype=float) for x in itertools.product((0, 1), repeat=lower.shape[1])]
        allowed = [
            x for x in points if np.all(x >= lower[k]) and np.all(x <= upper[k]) and np.all(rows[0] @ x <= rows[1])
        ]
        assert bounds[k] <= min((constants[k] + slopes[k] @ x for x in allowed), default=np.inf)
        assert all(np.all(x >= inside[0][k]) and np.all(x <= inside[1][k]) for x in allowed)


@pytest.mark.parametrize("seed", range(30))
def test_without_narrowing_the_bound_is_that_of_the_linear_program(seed):
    rows, constants, slopes, lower, upper = instance(seed)
    bounds, _ = least(constants, slopes, lower, upper, rows)
    for k in range(len(lower)):
        stated = {"A_ub": rows[0], "b_ub": rows[1]} if len(rows[1]) else {}
        found = linprog(slopes[k], **stated, bounds=list(zip(lower[k], upper[k], strict=True)))
        if found.status == 0:
            assert bounds[k] == pytest.approx(found.fun + constants[k], abs=1e-9)


def test_boxes_without_a_point_or_without_an_end():
    rows = np.ones((1, 2)), np.array([1.0])
    lower, upper = np.array([[1.0, 1.0], [1.0, 0.0], [-np.inf, 0.0]]), np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    inside = narrowed(lower, upper, rows, np.ones(2, dtype=bool))
    bounds, _ = least(np.zeros(3), np.ones((3, 2)), *inside, rows)
    assert bounds.tolist() == [np.inf, np.inf, -np.inf]


def test_integers_are_narrowed_to_what_a_row_leaves_them_and_others_are_not():
    rows = np.array([[2.0, 1.0, -1.0]]), np.array([2.5])
    box = np.zeros((1, 3)), np.array([[5.0, 5.0, 1.0]])
    lower, upper = narrowed(*box, rows, np.array([True, False, True]))
    assert lower.tolist() == [[0.0, 0.0, 0.0]]
    assert upper.tolist() == [[1.0, 5.0, 1.0]]
