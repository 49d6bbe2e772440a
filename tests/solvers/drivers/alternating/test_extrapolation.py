"""Sweeps that begin where the last ones lead to: fewer of them, descending, off the bounds."""

import numpy as np
import pyomo.environ as pyo
import pytest

from solvers import SolutionStatus, StopReason, solve
from solvers.box.problem import residual
from solvers.drivers.alternating.oracle_descent import PATIENCE, Extrapolation
from solvers.facts.blocks import Moved, OracleBlock, OracleBlocks

N = 4
UNBOUNDED = np.full(N, -np.inf), np.full(N, np.inf)


def valley(*, carried, curve=0.0, start=3.0, sweeps=100, seen=None, lower=None):
    """min 1/2 x'Hx + curve |x|^4 over x = (u, z), which block by block contracts by 0.98 in the worst direction."""
    correlation = np.diag([0.99, 0.9, 0.8, 0.5])
    H = np.block([[np.eye(N), correlation], [correlation, np.eye(N)]])
    target = np.concatenate([np.zeros(N), np.linspace(1, 2, N)])

    def value(x):
        return float(0.5 * (x - target) @ H @ (x - target) + curve * np.sum((x - target) ** 4))

    def gradient(x):
        return H @ (x - target) + 4 * curve * (x - target) ** 3

    def block(places):
        other = np.setdiff1d(np.arange(2 * N), places)

        def move(x, inside):
            point = x.copy()
            for _ in range(30):  # Newton's method in each variable, whose Hessian is diagonal within a block
                shift = point - target
                bend = 1 + 12 * curve * shift**2
                point[places] = np.clip(point - gradient(point) / bend, inside.lower, inside.upper)[places]
            assert np.array_equal(point[other], x[other])
            if seen is not None:
                seen.append((x.copy(), point.copy()))
            return Moved(point, value(x), value(point))

        return move

    m = pyo.ConcreteModel()
    m.u = pyo.Var(range(N), initialize=0.0)
    m.z = pyo.Var(range(N), initialize=start, bounds=(lower, None))
    m.f = pyo.Objective(expr=pyo.ExternalFunction(fgh=lambda a, *_: (value(np.array(a)), None, None))(*m.u.values()))
    OracleBlocks(
        [m.u, m.z],
        [OracleBlock("u", block(np.arange(N))), OracleBlock("z", block(np.arange(N, 2 * N)))],
        value=value,
        residual=lambda x, low, up: residual(x, value(x), gradient(x), low, up, 1.0),
        settled=lambda before, after, tolerance: bool(np.abs(after - before).max() < tolerance),
        boxed=[m.z],
        sweeps=sweeps,
        carried=[m.z] if carried else [],
    ).attach(m)
    return m


@pytest.mark.parametrize("curve", [0.0, 0.05])
def test_fewer_sweeps_reach_the_same_point(curve):
    slow, fast = (solve(valley(carried=c, curve=curve, sweeps=2000), tolerance=1e-6) for c in (False, True))
    assert slow.status is fast.status is SolutionStatus.STATIONARY
    assert fast.objective == pytest.approx(slow.objective, abs=1e-6)
    sweeps = [int(r.details["steps"]["sweep"].max()) for r in (slow, fast)]
    assert sweeps[0] > 100 > 2 * sweeps[1]
    assert fast.details["steps"]["ahead"].any()
    assert not slow.details["steps"]["ahead"].any()


@pytest.mark.parametrize("curve", [0.0, 0.05])
def test_the_objective_falls_in_every_step(curve):
    result = solve(valley(carried=True, curve=curve), tolerance=1e-6)
    assert (result.iterations["Objective"].diff().dropna() <= 1e-12).all()


def test_a_point_that_is_no_better_is_not_taken(monkeypatch):
    def misled(self, x):
        if self._sweeps:
            yield x + 100.0
            yield x - 100.0

    monkeypatch.setattr(Extrapolation, "points", misled)
    result = solve(valley(carried=True, sweeps=30))
    assert not result.details["steps"]["ahead"].any()
    assert result.stop_reason is StopReason.ITERATION_LIMIT
    assert (result.iterations["Objective"].diff().dropna() <= 1e-12).all()


def test_no_variable_is_put_on_a_bound_and_none_taken_off():
    ahead = Extrapolation(np.arange(3), np.zeros(3), np.array([np.inf, np.inf, 4.0]))
    for _ in range(PATIENCE - 1):
        ahead.note(np.array([9.0, 0.0, 1.0]), np.array([1.0, 0.0, 3.0]))
        assert list(ahead.points(np.array([1.0, 0.0, 3.0]))) == []
    ahead.note(np.array([9.0, 0.0, 1.0]), np.array([1.0, 0.0, 3.0]))
    *_, point = ahead.points(np.array([1.0, 0.0, 3.0]))
    assert point == pytest.approx([0.5, 0.0, 3.5])  # 1 - 8 and 3 + 2 are cut off at half the room


def test_a_variable_on_its_bound_stays_there_to_the_end():
    result = solve(valley(carried=True, lower=1.5, sweeps=500), tolerance=1e-6)
    assert result.status is SolutionStatus.STATIONARY
