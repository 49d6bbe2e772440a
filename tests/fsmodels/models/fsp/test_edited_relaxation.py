"""The joint relaxation of an edited SUB, by either loop: beside Clarabel's cones, and what its multipliers prove."""

import math
import os
import time

import clarabel
import numpy as np
import pytest
from scipy import sparse

from fsmodels.models.fsp.oracle import relaxation
from fsmodels.models.fsp.oracle.problem import CentredColumns, JointProblem, Rows, Terms, balance
from fsmodels.models.proofs.svm import Hinge
from loops import LOOPS

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))


def by_cones(problem):
    """Minimise cost.x + prices.(w, b) + C xi + sum t_j with 2 t_j sigma_j >= w_j^2; the optimum, or None."""
    X, terms, rows = problem.columns.dense, problem.terms, problem.rows
    (samples, n), (G, g) = X.shape, rows.on_weights(X.shape[1])
    size = 3 * n + 1 + samples  # sigma, w, b, xi, t
    w, b, xi, t = n, 2 * n, 2 * n + 1, 2 * n + 1 + samples
    q = np.concatenate([problem.cost, terms.slope, terms.loss.C, np.ones(n)])
    unit = np.eye(size)
    A = np.zeros((rows.sides.size, size))
    A[:, :n], A[:, w : w + n], A[:, b] = rows.matrix, G, g
    margin = np.zeros((samples, size))
    margin[:, w : w + n], margin[:, b] = terms.y[:, None] * X, terms.y
    margin[:, xi : xi + samples] = np.eye(samples)
    fixed, bounded = problem.lower == problem.upper, (np.isfinite(terms.least), np.isfinite(terms.largest))
    low, up = np.where(bounded[0], terms.least, 0.0), np.where(bounded[1], terms.largest, 0.0)
    equal = [(A[rows.equal], rows.sides[rows.equal]), (unit[:n][fixed], problem.lower[fixed])]
    below = [
        (A[~rows.equal], rows.sides[~rows.equal]),
        (unit[:n][~fixed], problem.upper[~fixed]),
        (-unit[:n][~fixed], -problem.lower[~fixed]),
        (-margin, -terms.need),
        (-unit[xi : xi + samples], np.zeros(samples)),
        ((low[:, None] * unit[:n] - unit[w : w + n])[bounded[0]], np.zeros(int(bounded[0].sum()))),
        ((unit[w : w + n] - up[:, None] * unit[:n])[bounded[1]], np.zeros(int(bounded[1].sum()))),
    ]
    root = math.sqrt(2.0)
    curved = [
        (np.array([-(unit[t + j] + unit[j]), -root * unit[w + j], -(unit[t + j] - unit[j])]), np.zeros(3))
        for j in range(n)
    ]
    matrix, sides = (np.concatenate(part) for part in zip(*equal, *below, *curved, strict=True))
    cones = [
        clarabel.ZeroConeT(sum(len(s) for _, s in equal)),
        clarabel.NonnegativeConeT(sum(len(s) for _, s in below)),
        *(clarabel.SecondOrderConeT(3) for _ in range(n)),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    none = sparse.csc_matrix((size, size))
    answer = clarabel.DefaultSolver(none, q, sparse.csc_matrix(matrix), sides, cones, settings).solve()
    return answer.obj_val if answer.status == clarabel.SolverStatus.Solved else None


def drawn(seed):
    """A node of a random SUB with prices of samples, sides, costs, bounds and rows of its own."""
    rng = np.random.default_rng(seed)
    samples, n = int(rng.integers(6, 40)), int(rng.integers(2, 7))
    X = rng.normal(size=(samples, n))
    y = np.where(X @ rng.normal(size=n) + rng.normal(size=samples) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X -= X.mean(axis=0)
    C = rng.uniform(0.1, 2.0, samples) if rng.random() < 0.5 else np.full(samples, 10.0 ** rng.uniform(-2, 1))
    need, slope = np.ones(samples), np.zeros(n + 1)
    least, largest = np.full(n, -np.inf), np.full(n, np.inf)
    if rng.random() < 0.3:
        need = rng.uniform(-0.5, 2.0, samples)
    if rng.random() < 0.3:
        slope[:n] = rng.normal(size=n)
    if rng.random() < 0.3:
        slope[n] = rng.uniform(-0.5, 0.5) * min(C[y > 0].sum(), C[y < 0].sum())
    for j in range(n):
        largest[j] = rng.choice([0.0, 0.05, 0.3, 1.0]) if rng.random() < 0.4 else np.inf
        least[j] = -rng.choice([0.0, 0.05, 0.3, 1.0]) if rng.random() < 0.4 and largest[j] else -np.inf
    count = int(rng.integers(0, 4)) if rng.random() < 0.6 else 0
    rows = Rows(
        np.vstack([np.ones(n), rng.normal(size=(count, n)) * (rng.random((count, 1)) < 0.4)]),
        np.append(rng.integers(1, n + 1), rng.uniform(0, 0.5, count)),
        np.append(False, rng.random(count) < 0.2),
        np.vstack([np.zeros(n), rng.normal(size=(count, n)) * (rng.random((count, 1)) < 0.7)]),
        np.append(0.0, rng.normal(size=count) * (rng.random(count) < 0.4)),
    )
    lower, upper = np.zeros(n), np.ones(n)
    if n > 3:
        one, other = rng.permutation(n)[:2]
        lower[one], upper[other] = 1.0, 0.5
    terms = Terms(y, Hinge(C), need, slope, least, largest)
    return JointProblem(
        CentredColumns.of(np.asfortranarray(X)), np.arange(n), terms, rng.uniform(0, 0.3, n), rows, lower, upper
    )


def solved(problem, *, way, accuracy=1e-7):
    goal = relaxation.Goal(accuracy, deadline=time.perf_counter() + 100)
    if way == "compiled":
        along = np.ascontiguousarray((problem.columns.dense * problem.terms.y[:, None]).T), problem.where
        return relaxation.minimise_compiled(along, problem, goal)
    return relaxation.minimise(problem, goal)


def compare(seeds, way):
    """Check the bounds of all that converge, and that nearly all do."""
    asked = failed = 0
    for seed in seeds:
        problem = drawn(seed)
        truth = by_cones(problem)
        if truth is None:  # rows that clash
            continue
        asked += 1
        found = solved(problem, way=way)
        if found is None:
            failed += 1
            continue
        size = 2e-6 * max(1.0, abs(truth))
        assert truth - size <= found.bound <= truth + size, (seed, found.bound, truth)
    assert asked > 0.6 * len(seeds)
    assert failed <= 0.05 * asked, failed


@pytest.mark.parametrize("way", LOOPS)
def test_edited_relaxations_say_what_cones_say(way):
    compare(range(60), way)


@pytest.mark.slow
@pytest.mark.parametrize("way", LOOPS)
def test_many_edited_relaxations_say_what_cones_say(way):
    """1,000 nodes each; FSMODELS_SOAK=20 makes them 20,000."""
    compare(range(10_000, 10_000 + round(1000 * SOAK)), way)


def test_any_multipliers_prove_a_bound():
    rng = np.random.default_rng(1)
    proven = 0
    for seed in range(40):
        problem = drawn(seed)
        truth = by_cones(problem)
        for _ in range(5):
            alpha = rng.uniform(-0.2, 1.2, problem.terms.y.size) * problem.terms.loss.C
            theta = rng.normal(size=problem.rows.sides.size)
            bound, alpha, theta, _ = problem.proven(alpha, theta)
            g = problem.rows.on_weights(problem.where.size)[1]
            if np.isfinite(bound):
                proven += 1
                assert np.all((alpha >= 0) & (alpha <= problem.terms.loss.C * (1 + 1e-12)))
                assert np.all(theta[~problem.rows.equal] >= 0)
                off = problem.terms.y @ alpha - g @ theta - problem.terms.slope[-1]
                assert abs(off) <= 1e-10 * (alpha.sum() + np.abs(g) @ np.abs(theta) + 1)
            if truth is not None:
                assert bound <= truth + 1e-6 * max(1.0, abs(truth))
    assert proven > 100


def test_a_price_of_b_beyond_all_multipliers_proves_nothing():
    problem = drawn(3)
    terms = problem.terms
    slope = np.append(np.zeros(problem.where.size), 10 * terms.loss.C.sum())
    dear = Terms(terms.y, terms.loss, terms.need, slope, terms.least, terms.largest)
    rows = Rows(np.zeros((0, problem.where.size)), np.zeros(0), np.zeros(0, bool))
    assert balance(np.zeros(terms.y.size), np.zeros(0), dear, rows, np.zeros(0)) is None
