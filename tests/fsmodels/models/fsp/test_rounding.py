"""Bounds against the exact value of what their multipliers prove, on many samples and badly scaled columns.

The exact multipliers are those returned, with the class of the larger sum scaled down until y'alpha = 0 exactly, so
that they are feasible. Fractions are exact; extended precision has 11 more bits, for 10^5 samples.
"""

from fractions import Fraction

import numpy as np
import pytest

from fsmodels.models.fsp.oracle import SvmOracle, certified
from fsmodels.models.fsp.oracle.problem import JointProblem, Rows, Terms
from fsmodels.models.proofs.bounds import one_norm_bound, svm_bound, unsquared_bound
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.losses import Hinge, LossKind, SquaredHinge
from fsmodels.models.proofs.svm import SvmProof


def exactly(array):
    """Return numbers that sums and products of are exact, or far more so than in double precision."""
    if array.size > 5000:
        return array.astype(np.longdouble)
    return np.array([Fraction(x) for x in array.ravel().tolist()], dtype=object).reshape(array.shape)


def fraction(x):
    """Return a number of ``exactly`` as a fraction."""
    return Fraction(float(x)) + Fraction(float(x - float(x))) if isinstance(x, np.longdouble) else Fraction(x)


def feasible(alpha, y):
    """Return exact multipliers with y'alpha = 0, at most ``alpha``."""
    alpha, positive = exactly(alpha), y > 0
    plus, minus = alpha[positive].sum(), alpha[~positive].sum()
    more, less = (positive, minus / plus if plus else 1) if plus > minus else (~positive, plus / minus if minus else 1)
    alpha[more] = alpha[more] * less
    return alpha


def parts(X, y, C, alpha, squared):
    """Return g(alpha) and v of the exact multipliers."""
    a = feasible(alpha, y)
    gained = a.sum()
    if squared:
        gained = gained - (a * a / exactly(4 * C)).sum()
    return fraction(gained), [fraction(x) for x in exactly(X).T.dot(exactly(y) * a)]


def instance(seed):
    """Return data of 10^5 samples, or of few with columns from 1e-8 to 1e8, far from 0 and with large values."""
    rng = np.random.default_rng(seed)
    samples = 100_000 if seed % 10 == 0 else int(rng.integers(6, 60))
    y = np.where(np.arange(samples) < max(2, samples // 3), 1.0, -1.0)
    X = rng.normal(size=(samples, 3)) + 0.4 * y[:, None]
    if seed % 3 == 0:
        X *= 10.0 ** rng.integers(-8, 9, size=3)
    if seed % 3 == 1:
        X[rng.integers(samples)] *= 1e6
    C = np.full(samples, 10.0 ** rng.integers(-3, 4)) * (rng.uniform(0.1, 3, samples) if seed % 2 else 1.0)
    alpha = C * np.clip(rng.uniform(-0.5, 1.5, samples), 0, 1) * (rng.random(samples) < rng.choice([0.2, 1.0]))
    return rng, X, y, C, alpha


def below(bound, exact, size):
    """Assert that a bound is not above the exact value, and below it by rounding only."""
    assert Fraction(bound) <= exact
    assert float(exact - Fraction(bound)) <= 1e-9 * float(size)


@pytest.mark.parametrize("seed", range(61))
@pytest.mark.parametrize("squared", [False, True])
def test_the_bound_of_a_relaxation_is_not_above_the_exact_one(seed, squared):
    rng, X, y, C, alpha = instance(seed)
    n, j = 3, np.arange(3)
    loss = (SquaredHinge if squared else Hinge)(C)
    v = X.T @ (y * loss.repaired(alpha, y))
    # costs next to 1/2 v^2: all of the reduced cost is rounding
    cost = 0.5 * v**2 * (1 + rng.choice([0.0, 1e-15, -1e-15, 0.5, -0.5], n))
    lower, upper = np.zeros(n), np.ones(n)
    lower[rng.random(n) < 0.3] = 1.0
    rows = Rows(np.ones((1, n)), np.array([2.0]), np.zeros(1, bool))
    theta = np.array([float(rng.choice([0.0, 0.3, 1e3]))])
    terms = Terms.plain(y, loss, n)
    Z = np.ascontiguousarray(X.T) * y
    words = cost, *rows.arrays, lower, upper, alpha, theta, squared, True
    for bound, right, _, _ in (
        JointProblem(X, j, terms, cost, rows, lower, upper).proven(alpha, theta),
        certified.relaxed(Z, j, j, y, C, *words),
    ):
        gained, exact = parts(X, y, C, right, squared)
        d = [Fraction(cost[k]) + Fraction(theta[0]) - exact[k] ** 2 / 2 for k in j]
        value = gained - 2 * Fraction(theta[0])
        value += sum(min(d[k] * Fraction(lower[k]), d[k] * Fraction(upper[k])) for k in j)
        size = right.sum() + theta[0] + cost.sum() + np.abs(X).T.dot(right) @ np.abs(v)
        below(bound, value, 10 * size)


@pytest.mark.parametrize("seed", range(61))
@pytest.mark.parametrize("squared", [False, True])
def test_the_bound_at_a_support_is_not_above_the_exact_one(seed, squared):
    rng, X, y, C, alpha = instance(seed)
    loss, sigma = (SquaredHinge if squared else Hinge)(C), rng.uniform(0.2, 1, 3)
    proof = SvmProof(X, np.sqrt(sigma), y, loss)
    proof.bound = -np.inf
    proof.try_alpha(alpha)
    Z = np.ascontiguousarray(X.T) * y
    compiled = certified.supported(Z, np.arange(3), sigma, y, C, alpha, np.zeros(3), squared, True)
    for bound, right in ((proof.bound, proof.alpha), (compiled[2], compiled[3])):
        gained, v = parts(X, y, C, right, squared)
        value = gained - sum(Fraction(s) * x * x for s, x in zip(sigma, v, strict=True)) / 2
        size = right.sum() + np.abs(X).T.dot(right) @ np.abs(np.array(v, dtype=float))
        below(bound, value, 10 * size)


@pytest.mark.parametrize("seed", range(1, 60))
@pytest.mark.parametrize("squared", [False, True])
def test_a_cut_is_not_above_the_exact_one_at_any_support(seed, squared):
    """On the data as given: the oracle's centred columns are rounded too."""
    rng, X, y, C, _ = instance(seed)
    if seed % 10 == 0:
        X, y, C = X[::500], y[::500], C[::500]
    X = X + 1e3 * (seed % 4 == 0) * X[0]
    answer = SvmOracle(X, y, C, "squared-hinge" if squared else "hinge").solve(np.array([1.0, 1.0, 0.0]), 1e-6)
    gained, v = parts(X, y, C, answer.alpha, squared)
    for sigma in [*np.eye(3).tolist(), [1, 1, 1], [0, 0, 0], rng.uniform(0, 1, 3).tolist()]:
        exact, cut = (
            constant - sum(Fraction(s) * Fraction(x) ** 2 for s, x in zip(sigma, slopes, strict=True)) / 2
            for constant, slopes in ((gained, v), (Fraction(answer.constant), answer.v))
        )
        a = np.abs(X - X.mean(axis=0)).T.dot(answer.alpha)  # the slopes are rounded
        assert cut <= exact + Fraction(1e-13 * float(np.array(sigma) @ (a * np.abs(answer.v) + 1e-13 * a**2)))


@pytest.mark.parametrize("seed", range(61))
def test_bounds_of_classifiers_are_not_above_the_exact_ones(seed):
    """SVM: the dual's value of the exact multipliers at the best multiple; 1-norm and norm: their condition holds."""
    _, X, y, C, alpha = instance(seed)
    columns = Columns.of(X)
    alpha = Hinge(C).repaired(alpha, y)
    total, v = parts(X, y, C, alpha, False)
    if not total:
        return
    largest = fraction((feasible(alpha, y) / exactly(C)).max())
    square = sum(x * x for x in v)
    most = 1 / largest
    t = min(most, total / square) if square else most
    assert Fraction(svm_bound(columns, y, C, alpha, LossKind())) <= t * total - t * t * square / 2
    t = min(most, 1 / max(map(abs, v))) if square else most
    assert Fraction(one_norm_bound(columns, y, C, alpha)) <= t * total
    # 1/2 ||w||: ||t v|| <= 1/2
    t_square = min(most**2, 1 / (4 * square)) if square else most**2
    assert Fraction(unsquared_bound(columns, y, C, alpha)) ** 2 <= t_square * total**2
