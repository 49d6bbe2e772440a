"""The squared hinge with edits on columns of very different units: the best point and its bound meet."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs


@pytest.mark.parametrize("seed", range(6))
def test_edits_are_solved_to_the_gap_whatever_the_units(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    data = fs.Dataset.from_arrays(X * 10 ** rng.uniform(-3, 3, 5), y, features=list("abcde")).scaled("none")
    model = fs.fsp.fsp_m(data, max_features=2, C=10 ** rng.uniform(0, 3.5), loss="squared-hinge")
    model.w["a"].setub(0.5)
    model.w["b"].setlb(0.0)
    model.row = pyo.Constraint(expr=model.w["c"] - model.w["d"] <= 0.1)
    found = fs.solve(model)
    assert found.status.value == "optimal", found.message
    values = []
    for one in range(5):
        for other in range(one, 5):
            for k, v in enumerate(model.sigma.values()):
                v.fix(int(k in (one, other)))
            values.append(fs.solve(model).objective)
    assert found.bound <= min(values) * (1 + 1e-7)
    assert found.objective == pytest.approx(min(values), rel=1e-4)
