"""The compiled loop: the same results as numpy, and an installation without it."""

import importlib.util
import itertools
import shutil
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import ParameterError
from fsmodels.models.fsp.oracle import SvmOracle, relaxation, svm_solvers
from fsmodels.models.fsp.oracle.problem import Rows, Terms
from fsmodels.models.fsp.oracle.support import SupportProof
from fsmodels.models.proofs.svm import Hinge
from loops import LOOPS, needs_compiled


def numbers(samples, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, n)) * 10.0 ** rng.uniform(-1, 1, n)
    y = np.where(X @ rng.normal(size=n) + rng.normal(size=samples) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def questions(n, rng):
    """Bounds and rows of some nodes: features fixed in and out, and rows that are tight, implied, and equal."""
    lower, upper = np.zeros(n), np.ones(n)
    which = rng.permutation(n)
    lower[which[:2]], upper[which[2:4]] = 1.0, 0.0
    matrix = np.vstack(
        [np.ones(n), rng.uniform(0, 1, n), np.eye(n)[which[0]], np.eye(n)[which[4]] - np.eye(n)[which[5]]]
    )
    sides = np.array([4.0, 0.5 * n, 1.0, 0.0])
    return lower, upper, Rows(matrix, sides, np.array([False, False, False, True]))


@pytest.mark.parametrize(("samples", "n", "C"), [(40, 8, 1.0), (200, 12, 0.1), (90, 7, 100.0), (30, 9, 1e-3)])
@needs_compiled
def test_relaxations_equal_those_of_numpy(samples, n, C, monkeypatch):
    rng = np.random.default_rng(samples)
    X, y = numbers(samples, n, seed=n)
    cost = rng.uniform(0, 0.1, n)
    answered = 0
    for _ in range(8):
        lower, upper, rows = questions(n, rng)
        bounds = []
        for way in (True, False):
            monkeypatch.setattr(relaxation, "compiled", lambda way=way: way)
            answer = SvmOracle(X, y, C).relax(cost, rows, lower, upper, accuracy=1e-6)
            if answer is not None:
                found, v = answer
                np.testing.assert_allclose(v, (X - X.mean(axis=0)).T @ (y * found.alpha), atol=1e-8 * np.abs(v).max())
                bounds.append(found.bound)
        answered += len(bounds) == 2
        assert len(bounds) != 1
        assert not bounds or bounds[0] == pytest.approx(bounds[1], rel=3e-6)
    assert answered >= 3


@needs_compiled
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_values_at_supports_equal_those_of_numpy(C, monkeypatch):
    X, y = numbers(50, 6, seed=1)
    supports = [*itertools.product([0.0, 1.0], repeat=6)]
    answers = [SvmOracle(X, y, C).solve(bits) for bits in supports]
    assert "compiled" in {answer.method for answer in answers}
    monkeypatch.setattr(relaxation, "compiled", lambda: False)
    plain = SvmOracle(X, y, C)
    for bits, answer in zip(supports, answers, strict=True):
        assert answer.gap <= 1e-7
        assert answer.value == pytest.approx(plain.solve(bits, tolerance=1e-10).value, rel=2e-7)


def test_a_fractional_point_is_solved_too():
    X, y = numbers(60, 5, seed=2)
    sigma = np.array([0.3, 1.0, 0.0, 1e-6, 0.7])
    answer = SvmOracle(X, y, 2.0).solve(sigma)
    assert answer.gap <= 1e-7
    assert answer.w[2] == 0.0


class Failing:
    """A node at which the compiled loop breaks down."""

    offset, iterations = 0.0, 0

    def __init__(self, *_):
        pass

    def advance(self, *_):
        return False

    def solution(self):
        return [np.array([np.nan])] * 6


@needs_compiled
def test_numpy_takes_over_where_the_loop_breaks_down(monkeypatch):
    X, y = numbers(60, 5, seed=3)
    rows = Rows(np.ones((1, 5)), np.array([2.0]), np.array([False]))
    right = SvmOracle(X, y, 1.0).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-8)[0].bound
    monkeypatch.setattr(relaxation.loop, "Node", Failing)
    svm = SvmOracle(X, y, 1.0)
    assert svm.relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-8)[0].bound == pytest.approx(
        right, rel=1e-7
    )
    assert svm.solve(np.ones(5)).method == "interior-point"


@needs_compiled
def test_wrong_multipliers_prove_less_and_nothing_false(monkeypatch, every_support, values_of):
    X, y = numbers(40, 5, seed=4)
    data = fs.Dataset.from_arrays(X, y)
    q = values_of(data, 1.0)
    best = min(value for support, value in zip(every_support(5), q.values(), strict=True) if sum(support) <= 2)
    rows = Rows(np.ones((1, 5)), np.array([2.0]), np.array([False]))
    rng = np.random.default_rng(0)

    class Spoilt(relaxation.loop.Node):
        def solution(self):
            alpha, x, w, theta, margins, gap = super().solution()
            noise = rng.uniform(0, 2, alpha.shape), rng.uniform(-1, 3, theta.shape)
            return alpha * noise[0], x, w, theta * noise[1], margins, gap

    monkeypatch.setattr(relaxation.loop, "Node", Spoilt)
    for _ in range(10):
        found, _ = SvmOracle(X, y, 1.0).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-6)
        assert found.bound <= best * (1 + 1e-9)


@needs_compiled
@pytest.mark.parametrize("seed", range(40))
def test_any_shape_has_memory(seed):
    """Few samples, no columns, no rows, none or all of x free: the sizes that the node computes are enough."""
    rng = np.random.default_rng(seed)
    samples, n = int(rng.integers(2, 12)), int(rng.integers(1, 9))
    X, y = numbers(samples, n, seed)
    k, R = int(rng.integers(0, n + 1)), int(rng.integers(0, 12))
    where, loss = np.sort(rng.permutation(n)[:k]), Hinge(np.full(samples, 10.0 ** rng.uniform(-3, 3)))
    lower, upper = np.zeros(n), (rng.random(n) < rng.uniform(0, 1)).astype(float)
    terms = Terms.plain(y, loss, k)
    if seed % 2:
        terms = Terms(y, loss, np.ones(samples), np.zeros(k + 1), np.full(k, -2.0), np.full(k, 3.0))
    matrix, weights = rng.integers(0, 2, (R, n)).astype(float), rng.integers(0, 2, (R, k)).astype(float)
    rows = Rows(matrix, np.full(R, 2.0), rng.random(R) < 0.2, weights, np.zeros(R))
    kept, none = np.arange(samples), np.empty(0, dtype=np.int64)
    Z = np.ascontiguousarray(X.T) * y
    node = relaxation.loop.Node(Z, where, where, terms, np.zeros(n), rows, lower, upper, kept, none)
    node.advance(1e-6, np.inf, 20)
    alpha, x, w, theta, margins, _ = node.solution()
    assert [a.shape for a in (alpha, x, w, theta, margins)] == [(samples,), (n,), (k,), (R,), (samples,)]


@needs_compiled
def test_the_loop_releases_the_gil():
    """A thread that only counts goes on while another is in the loop."""
    X, y = numbers(3000, 150, seed=0)
    n, counted, done = 150, [0], threading.Event()
    Z, where = np.ascontiguousarray(X.T) * y, np.arange(n)
    terms = Terms.plain(y, Hinge(np.ones(3000)), n)
    rows = Rows(np.empty((0, n)), np.empty(0), np.empty(0, bool))

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    node = relaxation.loop.Node(
        Z, where, where, terms, np.zeros(n), rows, np.ones(n), np.ones(n), np.arange(3000), np.empty(0, dtype=np.int64)
    )
    thread = threading.Thread(target=count)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100.0)  # no thread gets the GIL but by what another releases
    try:
        before = counted[0]
        node.advance(1e-9, np.inf, 20)
        assert counted[0] > before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


def test_without_the_extension_the_results_are_the_same(monkeypatch, caplog):
    data = fs.load_dataset("cleveland").scaled("standard")
    right = fs.solve(fs.fsp.fsp_m(data, max_features=4, C=1.0))
    monkeypatch.setattr(relaxation, "loop", None)
    relaxation.compiled.cache_clear()
    found = [fs.solve(fs.fsp.fsp_m(data, max_features=4, C=1.0)) for _ in range(2)]
    relaxation.compiled.cache_clear()
    for answer in found:
        assert answer.status.value == "optimal"
        assert answer.selected == right.selected
        assert answer.objective == pytest.approx(right.objective, rel=1e-6)
    assert [record.getMessage() for record in caplog.records] == [relaxation.NOT_COMPILED]  # once


def test_the_extension_is_installed_where_a_compiler_exists():
    if shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None:
        pytest.skip("no C compiler")
    for name in ("loop", "bounds"):
        assert importlib.util.find_spec(f"fsmodels.models.fsp.oracle.{name}") is not None


@pytest.mark.parametrize("way", LOOPS)
def test_prices_of_samples_equal_repeated_samples(way, monkeypatch):
    """C_i of 2 or 3 is the sample twice or three times; at supports and in relaxations."""
    monkeypatch.setattr(relaxation, "compiled", lambda: way == "compiled")
    X, y = numbers(40, 6, seed=5)
    times = np.random.default_rng(3).integers(1, 4, 40)
    one, many = SvmOracle(X, y, 0.5 * times), SvmOracle(np.repeat(X, times, axis=0), np.repeat(y, times), 0.5)
    arguments = np.zeros(6), Rows(np.ones((1, 6)), np.array([2.0]), np.array([False])), np.zeros(6), np.ones(6)
    for bits in [(1, 1, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1), (0.3, 0, 0.7, 1, 0, 0)]:
        answer = one.solve(bits)
        assert answer.gap <= 1e-7
        assert answer.value == pytest.approx(many.solve(bits).value, rel=3e-7)
    for _ in range(3):  # the later ones on screened samples
        found = one.relax(*arguments, accuracy=1e-6)[0]
        assert np.all((found.alpha >= 0) & (found.alpha <= 0.5 * times))
        assert found.bound == pytest.approx(many.relax(*arguments, accuracy=1e-6)[0].bound, rel=3e-6)


def test_prices_of_samples_reach_libsvm():
    X, y = np.random.default_rng(4).normal(size=(60, 40)), np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    times = np.random.default_rng(3).integers(1, 4, 60)
    X -= X.mean(axis=0)
    rows = Rows(np.empty((0, 40)), np.empty(0), np.empty(0, bool))
    proof = SupportProof(X, np.ones(40), Terms.plain(y, Hinge(0.02 * times), 40), rows)
    assert svm_solvers.improve_by_libsvm(proof, 1e-6) > 0
    assert proof.gap <= 1e-4
    many = SvmOracle(np.repeat(X, times, axis=0), np.repeat(y, times), 0.02)
    assert proof.value == pytest.approx(many.solve(np.ones(40)).value, rel=2e-4)


def test_prices_of_samples_are_refused_where_they_are_no_prices():
    X, y = numbers(10, 2, seed=1)
    with pytest.raises(ParameterError, match="one per sample, 10"):
        SvmOracle(X, y, np.ones(9))
    with pytest.raises(ParameterError, match="above 0"):
        SvmOracle(X, y, np.append(np.ones(9), 0.0))
