"""Relaxations on some columns and samples: wrong guesses prove less, are seen, and end in the answer on all of them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from fsmodels.models.fsp import oracle
from fsmodels.models.fsp.oracle import SvmOracle, problem, relaxation
from fsmodels.models.fsp.oracle.neighbours import Neighbours, Pricing, Solved
from fsmodels.models.fsp.oracle.problem import CentredColumns, JointProblem, Rows, Screen, Screened, Terms
from fsmodels.models.fsp.oracle.relaxation import Goal, minimise, minimise_compiled
from fsmodels.models.proofs.svm import Hinge
from loops import LOOPS, needs_compiled


def numbers(samples, n, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, n)) * 10.0 ** rng.uniform(-spread, spread, n)
    y = np.where(X @ (rng.normal(size=n) / X.std(axis=0)) + rng.normal(size=samples) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def at_most(n, M):
    return Rows(np.ones((1, n)), np.array([float(M)]), np.array([False]))


@pytest.mark.parametrize("way", LOOPS)
@pytest.mark.parametrize(
    ("C", "spread", "loss"), [(1.0, 1.0, "hinge"), (1e-2, 3.0, "hinge"), (0.5, 1.0, "squared-hinge")]
)
def test_blind_guesses_end_in_the_same_bound(way, C, spread, loss, monkeypatch):
    rng = np.random.default_rng(7)
    X, y = numbers(120, 40, seed=3, spread=spread)
    monkeypatch.setattr(relaxation, "compiled", lambda: way == "compiled")
    nodes = [(np.zeros(40), np.ones(40))]
    for _ in range(5):
        lower, upper = np.zeros(40), np.ones(40)
        which = rng.permutation(40)
        lower[which[:2]], upper[which[2:8]] = 1.0, 0.0
        nodes.append((lower, upper))
    plain = SvmOracle(X, y, C, loss)
    monkeypatch.setattr(plain._pricing, "part", lambda near, support, needed: np.arange(support.size))
    monkeypatch.setattr(plain._screen, "part", lambda *_: None)
    blind, asked, answered = SvmOracle(X, y, C, loss), [], 0

    def columns(near, support, needed):
        asked.append(support.size)
        return np.union1d(np.flatnonzero(needed), rng.permutation(support.size)[:8])

    def samples(start, y, at_most, also):
        stays = also | (rng.random(y.size) < 0.5)
        kept, far = np.flatnonzero(stays), np.flatnonzero(~stays)
        return Screened(kept, far[rng.random(far.size) < 0.3] if loss == "hinge" else far[:0], start.w, start.offset)

    monkeypatch.setattr(blind._pricing, "part", columns)
    monkeypatch.setattr(blind._screen, "part", samples)
    for lower, upper in nodes:
        words = np.zeros(40), at_most(40, 6), lower, upper
        right, found = plain.relax(*words, accuracy=1e-5), blind.relax(*words, accuracy=1e-5)
        if right is None:  # rounding
            continue
        answered += 1
        assert found is not None
        assert found[0].bound == pytest.approx(right[0].bound, rel=3e-5)
        np.testing.assert_allclose(found[1], (X - X.mean(axis=0)).T @ (y * found[0].alpha), rtol=1e-6, atol=1e-8)
    assert len(asked) == len(nodes)
    assert answered >= 3


@needs_compiled
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_few_columns_never_prove_more_than_any_support_costs(spread):
    X, y = numbers(60, 9, seed=11, spread=spread)
    rng = np.random.default_rng(1)
    C, M, n = 0.7, 3, 9
    terms = Terms.plain(y, Hinge(np.full(60, C)), n)
    svm = SvmOracle(X, y, C)
    centred = np.asfortranarray(X - X.mean(axis=0))
    rows_of = np.ascontiguousarray(centred.T) * y
    values = {s: svm.solve(np.isin(np.arange(n), s)).value for s in itertools.combinations(range(n), M)}
    for _ in range(20):
        among = np.sort(rng.permutation(n)[: rng.integers(4, n + 1)])
        kept = np.flatnonzero(np.append([True, True], rng.random(58) < 0.6))
        far = np.setdiff1d(np.arange(60), kept)
        part = None if rng.random() < 0.3 else Screened(kept, far[rng.random(far.size) < 0.5], np.zeros(n), 0.0)
        words = np.zeros(n), at_most(n, M), np.zeros(n), np.ones(n)
        problem = JointProblem(CentredColumns.of(centred), np.arange(n), terms, *words)
        for found in (
            minimise_compiled((rows_of, np.arange(n)), problem, Goal(1e-4), part, among),
            minimise(problem, Goal(1e-4), part, among),
        ):
            if found is None:
                continue
            assert found.bound <= min(values.values()) * (1 + 1e-9)
            out = np.setdiff1d(np.arange(n), among)
            np.testing.assert_array_equal(found.w[out], 0.0)
            # what the columns left out cost, by hand: each lowers the bound by its negative reduced cost
            own = float(np.maximum(-found.reduced_costs[out], 0.0).sum())
            if part is None:
                assert found.left_out[0] == pytest.approx(0.0, abs=1e-9)
                assert found.gap - found.left_out[1] <= 1e-4 * (1 + 1e-9)
            assert (found.left_out[1] > 0) == (own > 0)


def test_the_problem_of_some_columns_fixes_the_others_at_zero():
    X, y = numbers(20, 5, seed=0)
    problem = JointProblem(
        CentredColumns.of(X),
        np.arange(5),
        Terms.plain(y, Hinge(np.ones(20)), 5),
        np.zeros(6),
        at_most(6, 2),
        np.zeros(6),
        np.ones(6),
    )
    some = problem.among(np.array([1, 4]))
    assert some.upper.tolist() == [0, 1, 0, 0, 1, 1]  # the last is no sigma
    assert some.where.tolist() == [1, 4]
    np.testing.assert_array_equal(some.columns.dense, X[:, [1, 4]])
    assert problem.upper.all()


def test_the_nearest_has_wider_bounds_and_a_sigma_that_hardly_moves():
    n = 4
    near = Neighbours(n)
    free = np.zeros(n), np.ones(n)
    assert near.nearest(*free) is None

    def solved(*sigma):
        return Solved(np.zeros(n), 0.0, np.array(sigma, dtype=float), np.zeros(n))

    root, without, within = solved(0.9, 0.6, 0.5, 0), solved(0, 1, 0.8, 0.2), solved(1, 0.3, 0.3, 0.4)
    near.add(*free, root)
    near.add(np.zeros(n), np.array([0.0, 1, 1, 1]), without)
    near.add(np.array([1.0, 0, 0, 0]), np.ones(n), within)
    assert near.nearest(np.zeros(n), np.array([0.0, 1, 0, 1])) is without
    assert near.nearest(np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 1, 1])) is within
    assert near.nearest(np.zeros(n), np.array([1.0, 1, 1, 0])) is root  # the others are narrower
    alone = Neighbours(n)
    alone.add(np.array([1.0, 0, 0, 0]), np.ones(n), within)
    assert alone.nearest(*free) is within  # the latest where none is wider


def test_neighbours_forget_the_oldest_but_the_first(monkeypatch):
    from fsmodels.models.fsp.oracle import neighbours

    monkeypatch.setattr(neighbours, "MOST", 3)
    near, n = Neighbours(2), 2
    kept = [Solved(np.zeros(n), float(k), np.zeros(n), np.zeros(n)) for k in range(8)]
    for one in kept:
        near.add(np.zeros(n), np.ones(n), one)
    assert sorted(s.offset for s in near._solved) == [0.0, 6.0, 7.0]
    assert near.nearest(np.zeros(n), np.ones(n)) is kept[-1]


def test_columns_that_are_needed_or_above_zero_stay():
    near = Solved(np.zeros(100), 0.0, np.zeros(100), np.arange(100.0))
    near.sigma[90:95] = 0.5
    needed = np.zeros(80, dtype=bool)
    needed[70] = True
    support = np.arange(20, 100)
    stays = support[Pricing().part(near, support, needed)]
    assert {90, 91, 92, 93, 94}.issubset(stays)
    assert set(range(20, 27)).issubset(stays)  # least reduced costs
    assert len(stays) < 40
    assert Pricing().part(None, support, needed).size == 80
    joined = Pricing().joined(np.array([1, 2]), np.array([-9.0, -9.0, 1.0, -1.0, 0.0, -3.0]))
    assert joined.tolist() == [0, 1, 2, 3, 5]


def test_samples_on_the_wrong_side_stay_from_then_on():
    part = Screened(np.array([0]), np.array([1, 2]), np.zeros(1), 0.0)
    wrong = Screen().wrong(part, np.array([5.0, 0.5, 1.5, 2.0, 0.9]))
    assert wrong.tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(("C", "loss"), [(1.0, "hinge"), (0.01, "hinge"), (0.5, "squared-hinge")])
def test_a_large_first_relaxation_starts_with_few_columns(C, loss, monkeypatch):
    n = 400
    X, y = numbers(150, n, seed=11, spread=0.3)
    words = np.zeros(n), at_most(n, 6), np.zeros(n), np.ones(n)
    right, _ = SvmOracle(X, y, C, loss).relax(*words, accuracy=1e-6)
    monkeypatch.setattr(oracle, "_RELAXATION_WORK", 150 * 150 * 399)  # the whole relaxation is too large
    sizes = []
    monkeypatch.setattr(relaxation, "minimise", lambda *given: sizes.append(given[3].size) or minimise(*given))
    found, v = SvmOracle(X, y, C, loss).relax(*words, accuracy=1e-6)
    assert found.bound == pytest.approx(right.bound, rel=1e-5)
    assert max(sizes, default=100) < n
    assert found.bound <= right.bound + right.gap * abs(right.bound) + 1e-9
    alpha = found.alpha  # the bound of these multipliers, from all columns
    value = alpha.sum() - (0.0 if loss == "hinge" else (alpha**2 / (4 * C)).sum())
    assert found.bound <= value - 0.5 * np.sort(v**2)[-6:].sum() + 1e-7


def test_a_large_first_relaxation_of_few_columns(monkeypatch):
    """170,000 samples of 80 features raised ValueError."""
    X, y = numbers(150, 20, seed=11)
    words = np.zeros(20), at_most(20, 3), np.zeros(20), np.ones(20)
    right, _ = SvmOracle(X, y, 1.0).relax(*words, accuracy=1e-6)
    monkeypatch.setattr(oracle, "LARGE", 1e6)
    found, _ = SvmOracle(X, y, 1.0).relax(*words, accuracy=1e-6)
    assert found.bound == pytest.approx(right.bound, rel=1e-5)


@pytest.mark.parametrize("which", [np.arange(40), np.arange(2, 39), np.array([7, 3])])
@pytest.mark.parametrize("way", LOOPS)
def test_products_of_centred_columns(way, which, monkeypatch):
    if way != "compiled":
        monkeypatch.setattr(problem, "bounds", None)
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(30, 40)) * (rng.random((30, 40)) < 0.4), rng.normal(size=30)
    mean = X.mean(axis=0)
    dense = CentredColumns(np.asfortranarray(X - mean), mean, which)
    sparse = CentredColumns(sp.csc_array(X), mean, which)
    v, sizes = (X - mean)[:, which].T @ a, np.abs((X - mean)[:, which]).T @ np.abs(a)
    for columns in (dense, sparse):
        found, their_sizes = columns.products(a)
        np.testing.assert_allclose(found, v, atol=1e-12)
        np.testing.assert_allclose(columns.times(a), v, atol=1e-12)
        np.testing.assert_allclose(columns.dense, (X - mean)[:, which], atol=1e-15)
        assert np.all(their_sizes >= sizes * (1 - 1e-12))
    np.testing.assert_allclose(dense.products(a)[1], sizes, rtol=1e-12)


def test_wide_sparse_data_stay_sparse(monkeypatch):
    n, samples = 3000, 60
    rng = np.random.default_rng(1)
    X = rng.normal(size=(samples, n)) * (rng.random((samples, n)) < 0.05)
    y = np.where(X[:, :20].sum(axis=1) + 0.1 * rng.normal(size=samples) > 0, 1.0, -1.0)
    words = np.zeros(n), at_most(n, 5), np.zeros(n), np.ones(n)
    right, _ = SvmOracle(X, y, 1.0).relax(*words, accuracy=1e-6)
    monkeypatch.setattr(problem, "MOST_CELLS", samples * n // 2)
    monkeypatch.setattr(oracle, "_RELAXATION_WORK", samples * samples * n // 2)
    found, _ = SvmOracle(sp.csc_array(X), y, 1.0).relax(*words, accuracy=1e-6)
    assert found.bound == pytest.approx(right.bound, rel=1e-5)
