"""Exchanges of columns against every support enumerated, on a risk that has nothing to do with classes.

The risk is the largest absolute residual of a regression: rows y_i - v_i and v_i - y_i.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse

from solvers.clock import Clock
from solvers.drivers.two_layer.columns import Polytope, solve_columns
from solvers.drivers.two_layer.support_search import SupportSearch
from solvers.facts.composite import CompositeRisk, RiskRow
from solvers.result import StopReason


class Regression:
    """Largest residual; a call may be told to be interrupted, or to count."""

    def __init__(self, seed, n=25, m=7, as_sparse=False):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, m)) @ (np.eye(m) + 0.6 * rng.normal(size=(m, m)))
        self.y = self.X @ np.where(np.arange(m) < 3, rng.normal(size=m), 0.1) + 0.3 * rng.normal(size=n)
        self.calls, self.stop_at = 0, None
        matrix = sparse.csr_array(self.X) if as_sparse else self.X
        self.facts = CompositeRisk(matrix=matrix, worst=self.worst, budget=2, weight=1.0, load=lambda *_: None)

    def worst(self, v):
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        residual = self.y - v
        i = int(np.argmax(np.abs(residual)))
        sign = 1 if residual[i] > 0 else -1
        u = np.zeros(len(v), dtype=np.int8)
        u[i] = sign
        return RiskRow(u, sign * self.y[i])

    def value(self, columns, C):
        """The optimum on some columns, all rows stated."""
        P = np.vstack([-self.X[:, columns], self.X[:, columns]])
        q = np.r_[self.y, -self.y]
        F = len(columns)
        w = solve_columns(P, q, F, C, within=Polytope.of_budget(F, F)).w  # the cones
        return 0.5 * w @ w + C * max(0.0, float((q + P @ w).max()))

    def search(self, K, C, starts, **options):
        slopes = self.X.T @ self.y
        return SupportSearch(self.facts, K, C, slopes, [np.array(s) for s in starts], Clock(None), **options)


@pytest.mark.parametrize("C", [0.3, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_where_the_budget_holds_all_columns_a_coarse_answer_proves_its_value(seed, C):
    rng = np.random.default_rng(seed)
    P, q = rng.normal(size=(40, 60)), rng.uniform(0.5, 1.0, 40)
    cones = solve_columns(P, q, 60, C, within=Polytope.of_budget(60, 60))
    value = 0.5 * cones.w @ cones.w + C * max(0.0, float((q + P @ cones.w).max()))
    coarse = solve_columns(P, q, 60, C, accuracy=1e-5)
    slopes = coarse.alpha @ P
    assert (coarse.d == 1.0).all()
    assert float(coarse.alpha @ q) - 0.5 * slopes @ slopes == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("C", [0.3, 10.0, 1e4])
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_it_ends_where_no_exchange_is_better(seed, K, C):
    task = Regression(seed, as_sparse=seed % 2 == 0)
    values = {s: task.value(list(s), C) for k in range(1, K + 1) for s in itertools.combinations(range(7), k)}
    search = task.search(K, C, [range(7 - K, 7)])
    found = search.run(None, 1e-4)
    here = frozenset(found.columns.tolist())
    assert found.local
    assert found.value == pytest.approx(values[tuple(sorted(here))], rel=1e-5)
    assert found.value == pytest.approx(
        0.5 * found.w @ found.w + C * np.abs(task.y - task.X[:, found.columns] @ found.w).max(), rel=1e-9
    )
    for support, value in values.items():
        if len(here - set(support)) <= 1 and len(support) == K:
            assert found.value <= value * (1 + 2e-6)
    for cut in search.cuts:  # every cut holds at every support
        by_place = dict(zip(search.columns.tolist(), -cut.coefficients, strict=True))
        for support, value in values.items():
            assert cut.constant - sum(by_place[j] for j in support) <= value * (1 + 1e-6)


def test_a_start_with_too_many_columns_is_thinned_and_several_starts_are_tried():
    task = Regression(9)
    best = min(task.value(list(s), 10.0) for s in itertools.combinations(range(7), 2))
    found = task.search(2, 10.0, [[5, 6], range(7)]).run(None, 1e-4)
    assert len(found.columns) == 2
    assert found.value == pytest.approx(best, rel=1e-5)


def test_locked_columns_stay():
    task = Regression(3)
    found = task.search(2, 10.0, [[6, 5]], locked=[6]).run(None, 1e-4)
    assert 6 in found.columns
    assert found.value == pytest.approx(min(task.value([6, j], 10.0) for j in range(6)), rel=1e-5)


def test_it_stops_where_the_bound_is_met_and_without_exchanges_where_none_are_asked_for():
    task = Regression(3)
    start = task.value([5, 6], 10.0)
    met = task.search(2, 10.0, [[5, 6]]).run(start, 1e-4)
    assert (met.exchanges, sorted(met.columns.tolist())) == (0, [5, 6])
    plain = task.search(2, 10.0, [[5, 6]]).run(None, 1e-4, exchanges=False)
    assert plain.value == pytest.approx(start, rel=1e-6)
    assert not plain.local
    assert task.search(2, 10.0, [[5, 6]]).run(None, 1e-4).exchanges > 0


def test_an_interruption_at_any_call_keeps_the_best_so_far():
    whole = Regression(3)
    full = whole.search(2, 10.0, [[5, 6]]).run(None, 1e-4)
    seen = []
    for call in range(1, whole.calls + 1):
        task = Regression(3)
        task.stop_at = call
        found = task.search(2, 10.0, [[5, 6]]).run(None, 1e-4)
        if found is None:  # before the first fit
            assert not seen
            continue
        assert found.stop is StopReason.INTERRUPTED
        assert not found.local
        seen.append(found.value)
    assert seen
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] >= full.value * (1 - 1e-9)


def test_a_limit_returns_the_incumbent():
    task = Regression(3)
    search = SupportSearch(task.facts, 2, 10.0, np.ones(7), [np.array([5, 6])], Clock(0.0))
    found = search.run(None, 1e-4)
    assert found.stop is StopReason.TIME_LIMIT
    assert len(found.columns) == 2
