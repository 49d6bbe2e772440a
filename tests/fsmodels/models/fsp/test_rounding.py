"""Bounds against the exact value of what their multipliers prove, on many samples and badly scaled columns.

The exact multipliers are those returned, with the class of the larger sum scaled down until y'alpha = 0 exactly, so
that they are feasible. Fractions are exact; extended precision has 11 more bits, for 10^5 samples.
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from fsmodels.models.fsp.oracle import SvmOracle, relaxation
from fsmodels.models.fsp.oracle.problem import CentredColumns, Edits, JointProblem, Rows, Terms
from fsmodels.models.fsp.oracle.support import SupportProof
from fsmodels.models.gmeb.norm import Moments
from fsmodels.models.gmeb.proof import MomentProof
from fsmodels.models.multivariate.proof import LabellingRows, MarginRows
from fsmodels.models.proofs.bounds import _product, one_norm_bound, svm_bound, unsquared_bound
from fsmodels.models.proofs.equilibration import Columns
from fsmodels.models.proofs.svm import Hinge, LossKind, SquaredHinge
from loops import needs_compiled


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
@needs_compiled
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
    words = cost, rows, lower, upper, alpha, theta, squared, True
    for bound, right, _, _ in (
        JointProblem(CentredColumns.of(X), j, terms, cost, rows, lower, upper).proven(alpha, theta),
        relaxation.bounds.relaxed(Z, j, j, y, C, *words),
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
    rows = Rows(np.empty((0, 3)), np.empty(0), np.empty(0, bool))
    proof = SupportProof(X, sigma, Terms.plain(y, loss, 3), rows)
    proof.try_multipliers(alpha, np.zeros(0))
    gained, v = parts(X, y, C, proof.alpha, squared)
    value = gained - sum(Fraction(s) * x * x for s, x in zip(sigma, v, strict=True)) / 2
    below(
        proof.bound, value, 10 * (proof.alpha.sum() + np.abs(X).T.dot(proof.alpha) @ np.abs(np.array(v, dtype=float)))
    )


@pytest.mark.parametrize("seed", range(61))
@pytest.mark.parametrize("squared", [False, True])
def test_a_cut_is_not_above_the_exact_one_at_any_support(seed, squared):
    """Constant and slopes, on the data as given: the oracle's centred columns are rounded too."""
    _, X, y, C, alpha = instance(seed)
    X = X + 1e3 * (seed % 4 == 0) * X[0]
    oracle = SvmOracle(X, y, C, "squared-hinge" if squared else "hinge")
    if y.size < 1000:
        alpha = oracle.solve(np.array([1.0, 1.0, 0.0]), 1e-6).alpha
    alpha = (SquaredHinge if squared else Hinge)(C).repaired(alpha, y)
    constant, slopes = oracle.cut(alpha, np.zeros(0), (X - X.mean(axis=0)).T @ (y * alpha))
    gained, v = parts(X, y, C, alpha, squared)
    assert Fraction(constant) <= gained
    assert all(Fraction(s) <= -x * x / 2 for s, x in zip(slopes, v, strict=True))
    sizes = np.abs(X - X.mean(axis=0)).T.dot(alpha) ** 2
    np.testing.assert_allclose(slopes, [-(float(x) ** 2) / 2 for x in v], rtol=0, atol=1e-8 * sizes.max() + 1e-300)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", [s for s in range(61) if s % 10])
def test_the_cut_of_an_edited_problem_is_not_above_the_exact_one(seed, sparse):
    """With b fixed by a row, bounds and costs of the weights, and a row between them and sigma."""
    rng, X, y, C, alpha = instance(seed)
    X = X + 1e3 * (seed % 4 == 0) * X[0]
    need, slope = rng.uniform(0.5, 1.5, y.size), rng.normal(size=4)
    least, largest = np.array([-np.inf, -1.0, 0.5]), np.array([np.inf, 2.0, 1.5])
    rows = Rows(
        np.array([[0.0, 0, 0], [1.1, 0.3, 0]]), np.array([0.3, 0.7]), np.array([True, False]),
        np.array([[0.0, 0, 0], [0.1, -0.7, 0.3]]), np.array([float(rng.choice([1.0, 0.3])), 0.9]),
    )  # fmt: skip
    edits = Edits(need, slope, least, largest, rows)
    oracle = SvmOracle(scipy.sparse.csc_array(X) if sparse else X, y, C, edits=edits)
    shift, theta = slope[-1], np.array([0.0, 10.0 ** rng.integers(-3, 4)])
    theta[0] = ((y * alpha).sum() - rows.offset[1] * theta[1] - shift) / rows.offset[0]
    constant, slopes = oracle.cut(alpha, theta)
    a, t, one = exactly(alpha), exactly(theta), exactly(rows.offset)
    t[0] = ((exactly(y) * a).sum() - one[1] * t[1] - Fraction(shift)) / one[0]
    v = exactly(X).T.dot(exactly(y) * a) - exactly(rows.weights).T.dot(t) - exactly(slope[:-1])
    at = [v[0], min(max(v[1], -1), 2), min(max(v[2], Fraction(1, 2)), Fraction(3, 2))]
    right = exactly(rows.matrix).T.dot(t) - [x * (z - x / 2) for x, z in zip(at, v, strict=True)]
    assert Fraction(constant) <= exactly(need).dot(a) - exactly(rows.sides).dot(t)
    assert all(Fraction(s) <= x for s, x in zip(slopes, right, strict=True))


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


@pytest.mark.parametrize("seed", range(61))
def test_bounds_of_gmeb_are_not_above_the_exact_ones(seed):
    """The exact multipliers prove e'mu - k(h) at the share h that the dual point has; the data are centred once."""
    _, X, y, C, alpha = instance(seed)
    X = X - X.mean(axis=0)
    plus, minus = (np.square(X[y == sign]).mean(axis=0) for sign in (1, -1))
    found = MomentProof(Moments(plus, minus), X, y, C).bound(alpha, 0.5, 2.0)
    if found.value == 0:
        return
    total, v = parts(X, y, C, found.mu, False)
    p, q = (Fraction(x) / (Fraction(found.mu_1)) for x in (found.mu_plus, found.mu_minus))
    square = [(exactly(X[y == sign]) ** 2).sum(axis=0) / int((y == sign).sum()) for sign in (1, -1)]
    ratios = [x * x / (p * fraction(a) + q * fraction(b)) for x, a, b in zip(v, *square, strict=True) if a or b]
    assert max(ratios) <= (total - Fraction(found.value)) ** 2
    assert total >= Fraction(found.value)


@pytest.mark.parametrize("seed", [s for s in range(61) if s % 10])
def test_bounds_of_labelling_rows_and_squared_hinges_are_not_above_the_exact_ones(seed):
    """Rows with multipliers of any size: at the best multiple, and with no more than C in sum."""
    rng, X, y, C, alpha = instance(seed)
    model = SimpleNamespace(C=float(C[0]), budget=2)
    sides = np.abs(rng.normal(size=y.size))
    a, price = exactly(alpha), Fraction(float(C[0]))
    if not alpha.any():
        return
    for rows, right in ((LabellingRows(X, sides), exactly(sides)), (MarginRows(X * y[:, None]), 1 + 0 * a)):
        c = exactly(X * y[:, None] if isinstance(rows, MarginRows) else X).T.dot(a)
        cost, gain = sum(sorted(x * x for x in c)[-2:]) / 2, a.dot(right)
        most = price / a.sum()
        if isinstance(rows, MarginRows):
            cost, most = cost + a.dot(a) / (2 * price), None
        t = gain / (2 * cost) if cost else most
        t = t if most is None else min(t, most)
        assert Fraction(rows.bound(model, alpha)) <= t * gain - t * t * cost


@pytest.mark.parametrize("samples", [7, 300, 100_000])
def test_the_rounding_of_a_product_is_not_above_its_bound(samples):
    """The robust LP's rest A u where its terms cancel, in badly scaled columns."""
    rng = np.random.default_rng(samples)
    A = rng.normal(size=(4, samples)) * np.array([1e-8, 1.0, 1e8, 1.0])[:, None]
    A[:, 1::2], u = -A[:, : samples // 2 * 2 : 2], np.repeat(rng.uniform(size=(samples + 1) // 2), 2)[:samples]
    for matrix in (A, scipy.sparse.csc_array(A)):
        r, noise = _product(matrix, u)
        exact = exactly(A).dot(exactly(u))
        assert all(abs(Fraction(x) - fraction(e)) <= Fraction(z) for x, e, z in zip(r, exact, noise, strict=True))
        assert (noise <= 1e-13 * np.abs(A).dot(u)).all()
