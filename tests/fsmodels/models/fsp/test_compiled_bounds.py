"""The compiled bounds of multipliers equal those of numpy, for any multipliers and data."""

import numpy as np
import pytest

from fsmodels.models.fsp.oracle.problem import CentredColumns, JointProblem, Rows, Terms
from fsmodels.models.proofs.svm import Hinge, SquaredHinge

bounds = pytest.importorskip("fsmodels.models.fsp.oracle.bounds", reason="installed without a C compiler")


def data(rng, *, one_price):
    """Small data with columns of sizes 1e-3 to 1e3, some of them twice, and C from 1e-4 to 1e4."""
    samples, n = int(rng.integers(4, 60)), int(rng.integers(1, 9))
    X = rng.normal(size=(samples, n)) * 10.0 ** rng.uniform(-3, 3, n)
    X[:, -1] = X[:, 0]
    X -= X.mean(axis=0)
    y = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, np.full(samples, 10.0 ** rng.uniform(-4, 4)) if one_price else 10.0 ** rng.uniform(-4, 4, samples)


def multipliers(rng, C):
    return rng.uniform(-0.1, 1.1, C.size) * C * (rng.random(C.size) < 0.7)


def priced(seed, C):
    """Return the hinge or the squared hinge, with an offset or without."""
    return (SquaredHinge if seed // 2 % 2 else Hinge)(C, seed // 4 % 2 == 0)


def a_node(rng, n):
    """Bounds, costs and rows of a node: some fixed in and out, one in between, whole and other coefficients."""
    m = n + int(rng.integers(0, 3))
    lower, upper, fixed = np.zeros(m), np.ones(m), rng.random(m) < 0.3
    lower[fixed] = upper[fixed] = rng.integers(0, 2, m)[fixed]
    if rng.random() < 0.2:
        lower[0], upper[0] = 0.25, 0.75
    R = int(rng.integers(0, 4))
    matrix = rng.integers(-2, 3, (R, m)) * (1.0 if rng.random() < 0.6 else 0.37)
    rows = Rows(matrix, rng.integers(0, 4, R).astype(float), rng.random(R) < 0.3)
    return lower, upper, rng.uniform(-1, 1, m) * (rng.random() < 0.7), rows


@pytest.mark.parametrize("seed", range(100))
def test_the_bound_of_a_relaxation(seed):
    rng = np.random.default_rng(seed)
    X, y, C = data(rng, one_price=seed % 2 == 0)
    lower, upper, cost, rows = a_node(rng, X.shape[1])
    where = np.flatnonzero(upper[: X.shape[1]])
    alpha, theta = multipliers(rng, C), rng.uniform(0, 3, rows.sides.size) * 10.0 ** rng.uniform(-3, 8)
    loss = priced(seed, C)
    problem = JointProblem(
        CentredColumns.of(X[:, where]), where, Terms.plain(y, loss, where.size), cost, rows, lower, upper
    )
    bound, right, _, reduced_costs = problem.proven(alpha, theta)
    Z = np.ascontiguousarray(X.T) * y
    found = bounds.relaxed(Z, where, where, y, C, cost, rows, lower, upper, alpha, theta, loss.squared, loss.free_b)
    size = max(abs(bound), right.sum(), 4 * np.abs(theta).sum(), 0.5 * float(found[3] @ found[3]))
    assert found[0] == pytest.approx(bound, abs=1e-12 * size)
    np.testing.assert_allclose(found[1], right, rtol=1e-12)
    np.testing.assert_allclose(found[2], reduced_costs, rtol=1e-9, atol=1e-11 * np.abs(reduced_costs).max(initial=0.0))
    np.testing.assert_allclose(found[3], X.T @ (y * right), atol=1e-11 * np.abs(found[3]).max())


def test_a_row_from_below_has_no_negative_multiplier():
    X, y = np.array([[1.0], [-1.0], [0.5], [-0.5]]), np.array([1.0, -1.0, 1.0, -1.0])
    rows = Rows(np.ones((1, 1)), np.ones(1), np.zeros(1, bool))
    words = y, np.ones(4), np.zeros(1), rows, np.zeros(1), np.ones(1), np.full(4, 0.1)
    j = np.zeros(1, np.int64)
    negative, none = (bounds.relaxed(X.T * y, j, j, *words, np.array([t]), False, True)[0] for t in (-5.0, 0.0))
    assert negative == none
