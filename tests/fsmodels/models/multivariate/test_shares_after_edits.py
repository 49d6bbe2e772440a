"""Shares of weights after an edit: no weight without a share, and no optimum below that of the cone program."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus

ROWS = {
    "equation": lambda m, a: pyo.quicksum(c * w for c, w in zip(a, m.w.values(), strict=True)) == 0.2,
    "weight": lambda m, a: m.w["x1"] >= 0.2,
    "share": lambda m, a: m.d["x1"] <= 0.3,
    "shares": lambda m, a: m.d["x1"] + 2 * m.d["x2"] <= 0.7,
    "weight and share": lambda m, a: m.w["x1"] <= 0.4 * m.d["x1"],
}


def model_of(seed, kind, form, *, sigma):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(6, 10)), int(rng.integers(2, 5))
    X, y, a = rng.normal(size=(n, m)), np.where(rng.random(n) < 0.5, 1, -1), rng.normal(size=m)
    y[:2] = 1, -1
    loss, C, B = str(rng.choice(["f1", "hamming", "auc"])), float(rng.choice([1.0, 10.0])), int(rng.integers(1, m + 1))
    data = fs.Dataset.from_arrays(X, y)
    model = fs.multivariate.fsmulti(data, C=C, budget=B, loss=loss, form=form, sigma=sigma)
    model.row = pyo.Constraint(expr=ROWS[kind](model, a))
    return model


def check(seed, kind, form, *, sigma):
    """Without a limit on sigma the model with sigma has the optimum of the cone program, which clarabel solves."""
    least = fs.solve(model_of(seed, kind, "extended", sigma=False), "clarabel")
    assert least.status is SolutionStatus.OPTIMAL
    model = model_of(seed, kind, form, sigma=sigma)
    result = fs.solve(model)
    assert result.objective == pytest.approx(least.objective, rel=1.1e-4)
    assert result.objective >= least.objective * (1 - 1e-6)
    assert result.bound <= least.objective * (1 + 1e-6)
    for w, d, t in zip(model.w.values(), model.d.values(), model.t.values(), strict=True):
        assert w.value**2 <= d.value * t.value + 1e-9


@pytest.mark.parametrize("sigma", [False, True])
@pytest.mark.parametrize("form", ["extended", "stated"])
@pytest.mark.parametrize("kind", ROWS)
def test_a_row_on_weights_or_shares(kind, form, sigma):
    check(23, kind, form, sigma=sigma)
