"""The compiled loop: beside numpy on the same questions, and what happens where it cannot be had."""

import itertools
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import ParameterError
from fsmodels.models.fsp import oracle
from fsmodels.models.fsp.oracle import SvmOracle, compiled, gram, relaxation
from fsmodels.models.fsp.oracle.relaxation import Rows
from fsmodels.models.proofs.losses import Hinge
from fsmodels.models.proofs.svm import SvmProof
from solvers import interrupt


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(oracle, "FIRST", 0)


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
def test_it_says_what_numpy_says(samples, n, C, monkeypatch):
    rng = np.random.default_rng(samples)
    X, y = numbers(samples, n, seed=n)
    cost = rng.uniform(0, 0.1, n)
    answered = 0
    for _ in range(8):
        lower, upper, rows = questions(n, rng)
        bounds = []
        for first in (0, math.inf):
            monkeypatch.setattr(oracle, "FIRST", first)
            answer = SvmOracle(X, y, C).relax(cost, rows, lower, upper, accuracy=1e-6)
            if answer is not None:
                found, v = answer
                np.testing.assert_allclose(v, (X - X.mean(axis=0)).T @ (y * found.alpha), atol=1e-8 * np.abs(v).max())
                bounds.append(found.bound)
        answered += len(bounds) == 2
        assert len(bounds) != 1
        assert not bounds or bounds[0] == pytest.approx(bounds[1], rel=3e-6)
    assert answered >= 3


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_values_at_supports_are_certified(C, at_once):
    X, y = numbers(50, 6, seed=1)
    svm, plain = SvmOracle(X, y, C), SvmOracle(X, y, C)
    methods = set()
    for bits in itertools.product([0.0, 1.0], repeat=6):
        answer = svm.solve(bits)
        methods.add(answer.method)
        plain._asked = -math.inf  # numpy
        assert answer.gap <= 1e-7
        assert answer.value == pytest.approx(plain.solve(bits, tolerance=1e-10).value, rel=2e-7)
    assert "compiled" in methods


def test_a_fractional_point_is_solved_too(at_once):
    X, y = numbers(60, 5, seed=2)
    sigma = np.array([0.3, 1.0, 0.0, 1e-6, 0.7])
    answer = SvmOracle(X, y, 2.0).solve(sigma)
    assert answer.gap <= 1e-7
    assert answer.w[2] == 0.0


def test_a_breakdown_is_for_numpy(monkeypatch, at_once):
    X, y = numbers(60, 5, seed=3)
    rows = Rows(np.ones((1, 5)), np.array([2.0]), np.array([False]))
    right = SvmOracle(X, y, 1.0).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-8)[0].bound
    monkeypatch.setattr(compiled, "advance", lambda *_: compiled.STUCK)
    svm = SvmOracle(X, y, 1.0)
    assert svm.relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-8)[0].bound == pytest.approx(
        right, rel=1e-7
    )
    assert svm.solve(np.ones(5)).method == "interior-point"


def test_wrong_multipliers_prove_less_and_nothing_false(monkeypatch, at_once, every_support, values_of):
    X, y = numbers(40, 5, seed=4)
    data = fs.Dataset.from_arrays(X, y)
    q = values_of(data, 1.0)
    best = min(value for support, value in zip(every_support(5), q.values(), strict=True) if sum(support) <= 2)
    rows = Rows(np.ones((1, 5)), np.array([2.0]), np.array([False]))
    rng = np.random.default_rng(0)
    node = compiled.node

    def spoilt(*words):
        for end, told, alpha, x, w, theta, margins in node(*words):
            noise = rng.uniform(0, 2, alpha.shape), rng.uniform(-1, 3, theta.shape)
            yield end, told, alpha * noise[0], x, w, theta * noise[1], margins

    monkeypatch.setattr(compiled, "node", spoilt)
    for _ in range(10):
        found, _ = SvmOracle(X, y, 1.0).relax(np.zeros(5), rows, np.zeros(5), np.ones(5), accuracy=1e-6)
        assert found.bound <= best * (1 + 1e-9)


def test_without_a_compiler_the_answers_are_the_same(monkeypatch):
    data = fs.load_dataset("cleveland").scaled("standard")
    answers = []
    for kernel in (compiled, None):
        monkeypatch.setattr(relaxation, "_loaded", lambda kernel=kernel: kernel)
        answers.append(fs.solve(fs.fsp.fsp_m(data, max_features=4, C=1.0)))
    assert [a.status.value for a in answers] == ["optimal", "optimal"]
    assert answers[0].selected == answers[1].selected
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-6)


def test_little_time_does_not_pay_for_compiling(monkeypatch):
    monkeypatch.setattr(compiled, "ready", lambda: False)
    assert relaxation.compiled_loop(5.0) is None
    assert relaxation.compiled_loop(math.inf) is compiled
    monkeypatch.setattr(compiled, "ready", lambda: True)
    assert relaxation.compiled_loop(5.0) is compiled


def test_prices_of_samples_say_what_repeated_samples_say(at_once, monkeypatch):
    """C_i of 2 or 3 is the sample twice or three times; at supports and in relaxations, by either loop."""
    X, y = numbers(40, 6, seed=5)
    times = np.random.default_rng(3).integers(1, 4, 40)
    one, many = SvmOracle(X, y, 0.5 * times), SvmOracle(np.repeat(X, times, axis=0), np.repeat(y, times), 0.5)
    arguments = np.zeros(6), Rows(np.ones((1, 6)), np.array([2.0]), np.array([False])), np.zeros(6), np.ones(6)
    for first in (0, math.inf):
        monkeypatch.setattr(oracle, "FIRST", first)
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
    proof = SvmProof(X, np.ones(40), y, Hinge(0.02 * times))
    assert gram.improve(proof, X, np.ones(40), 1e-6) > 0
    assert proof.gap <= 1e-4
    many = SvmOracle(np.repeat(X, times, axis=0), np.repeat(y, times), 0.02)
    assert proof.value == pytest.approx(many.solve(np.ones(40)).value, rel=2e-4)


def test_prices_of_samples_are_refused_where_they_are_no_prices():
    X, y = numbers(10, 2, seed=1)
    with pytest.raises(ParameterError, match="one per sample, 10"):
        SvmOracle(X, y, np.ones(9))
    with pytest.raises(ParameterError, match="above 0"):
        SvmOracle(X, y, np.append(np.ones(9), 0.0))


def kept(**environment):
    """Return where a fresh interpreter keeps what it compiles."""
    asked = "from fsmodels.models.fsp.oracle import compiled, certified; print(compiled.advance.stats.cache_path)"
    tree = str(Path(fs.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": tree, **environment}
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def test_nothing_compiled_is_left_in_the_package(tmp_path):
    assert Path(fs.__file__).resolve().parent not in kept(NUMBA_CACHE_DIR="", HOME=str(tmp_path)).parents


def test_the_user_says_where_it_is_kept(tmp_path):
    assert tmp_path in kept(NUMBA_CACHE_DIR=str(tmp_path)).parents


def test_ctrl_c_waits_for_the_first_answer_only():
    """Half loaded, numba fails in every later call of the process."""
    answers = []

    @relaxation._tells
    def question():
        signal.raise_signal(signal.SIGINT)
        answers.append(1)
        return 1

    with interrupt.run(), interrupt.raising():
        assert question() == 1
        assert interrupt.pressed()
    with interrupt.run(), interrupt.raising(), pytest.raises(KeyboardInterrupt):
        question()
    assert answers == [1]
