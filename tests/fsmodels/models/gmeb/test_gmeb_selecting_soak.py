"""Random rows on the features of random GMEB instances: the driver beside all supports. Slow: pytest -m slow."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from cutting_planes import brackets
from fsmodels import gmeb
from solvers import SolutionStatus

COUNT = max(1, int(30 * float(os.environ.get("FSMODELS_SOAK", "1"))))
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::fsmodels.DataWarning")]


def instance(rng):
    """Data of mixed scales, with copies, constants and few samples of one class, two bounds, and rows on sigma."""
    n, d = int(rng.integers(6, 30)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5, d)
    if rng.random() < 0.3:
        X[:, 0] = X[:, -1]
    if rng.random() < 0.2:
        X[:, 0] = 1.0
    y = np.where(X @ (rng.normal(size=d) / np.maximum(np.abs(X).max(axis=0), 1e-9)) > rng.normal() * 0.3, 1, -1)
    y[:2] = [1, -1]
    R = 10.0 ** rng.uniform(-2, 1.5, 2)
    rows = []
    for _ in range(int(rng.integers(1, 4))):
        a = rng.integers(-2, 4, d) if rng.random() < 0.3 else rng.integers(0, 4, d)
        rows.append((a, int(rng.integers(0, max(1, a.clip(0).sum()) + 1)), rng.random() < 0.15))
    return fs.Dataset.from_arrays(X, y, [f"x{j}" for j in range(d)]), R, rows


def fits(used, rows):
    return all(a @ used == most if equal else a @ used <= most for a, most, equal in rows)


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_driver_beside_all_supports(seed):
    rng = np.random.default_rng(90_000 + seed)
    try:
        data, R, rows = instance(rng)
        model = gmeb.primal(data, R_plus=R[0], R_minus=R[1], sigma=True)
    except fs.DataError:  # no column varies
        return
    f, best = list(data.features), np.inf
    for used in itertools.product([0, 1], repeat=len(f)):
        if fits(np.array(used), rows):
            plain = gmeb.primal(data, R_plus=R[0], R_minus=R[1])
            for j, uses in zip(f, used, strict=True):
                if not uses:
                    plain.w[j].fix(0.0)
            best = min(best, fs.solve(plain, gap=1e-8).objective)
    sigma = list(model.sigma.values())
    model.asked = pyo.ConstraintList()
    for a, most, equal in rows:
        held = pyo.quicksum(int(c) * s for c, s in zip(a, sigma, strict=True)) + 0 * sigma[0]
        model.asked.add(held == most if equal else held <= most)
    result = fs.solve(model, time_limit=60)
    if not np.isfinite(best):
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(best, rel=3e-6, abs=1e-7)
    assert result.details["violation"] <= 1e-6
    assert fits(np.array([round(s.value) for s in sigma]), rows)
    assert all(model.w[j].value == 0 for j, s in zip(f, sigma, strict=True) if s.value == 0)
    brackets(result, best, rel=3e-6)
