"""A run of the kernel family that ends at once: the classifier without a kernel, at the weights it started from."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import fsmodels as fs
from solvers.model.classes import violation

EVERY = {
    "full_fs": ["oracle", "reduced", "algebra"],
    "gmkl": ["oracle", "algebra"],
    "ao_simple": ["oracle", "algebra"],
    "ao_margin": ["oracle", "algebra"],
    "ao_efs": ["oracle", "algebra"],
}
CASES = [(name, form) for name, forms in EVERY.items() for form in forms]


def smoothed(m, eps):
    """(8)."""
    if eps == 0:
        return np.maximum(0.0, 1.0 - m)
    return np.where(m >= 1, 0.0, np.where(m >= 1 - 2 * eps, (1 - m) ** 2 / (4 * eps), 1 - eps - m))


@pytest.fixture
def data(make_data):
    return make_data(14, 3, seed=1)


@pytest.mark.parametrize("limit", [0, 1e-9])
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_run_that_a_limit_ends_at_once_has_a_point(name, form, limit, data):
    model = getattr(fs.kernel, name)(data, C=2.0, penalty=0.5, form=form)
    start = [v.value for v in model.z.values()]
    result = fs.solve(model, time_limit=limit)
    assert (result.status, result.stop_reason) == (fs.SolutionStatus.FEASIBLE, fs.StopReason.TIME_LIMIT)
    by_solvers = form == "algebra" and name.startswith("ao")  # blocks, of which each knows its own rows only
    assert result.bound == (None if by_solvers else 0.0)
    assert violation(model) <= 1e-9
    assert [v.value for v in model.z.values()] == start  # where a second solve begins
    eps = 0.0 if name == "gmkl" else 0.5

    def cost(b):
        return 2.0 * smoothed(data.y * b, eps).sum() + 0.5 * sum(start)

    best = minimize_scalar(cost, bounds=(-1, 1), method="bounded", options={"xatol": 1e-12}).fun
    if name.startswith("ao") and form == "algebra":  # begins at slacks of 1
        assert result.objective >= best - 1e-6
    else:
        assert result.objective == pytest.approx(best, rel=1e-6)
        assert "trivial" in result.message


@pytest.mark.parametrize("positive", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("eps", [0.05, 0.5])
def test_the_offset_without_a_kernel_costs_least(eps, positive):
    y = np.where(np.arange(20) < 20 * positive, 1.0, -1.0)
    model = fs.kernel.full_fs(fs.Dataset.from_arrays(np.arange(20.0)[:, None], y), C=1.0, penalty=1.0, eps=eps)
    at = model.kernel_problem.offset
    best = min(smoothed(y * b, eps).sum() for b in np.linspace(-1.5, 1.5, 3001))
    assert smoothed(y * at, eps).sum() <= best + 1e-9


def test_weights_out_of_their_bounds_are_put_on_them(data):
    model = fs.kernel.full_fs(data, C=1.0, penalty=1.0)
    model.z["a"].fix(0.0)
    model.z["b"].setub(0.25)
    assert fs.solve(model, time_limit=0).status is fs.SolutionStatus.FEASIBLE
    assert (model.z["a"].value, model.z["b"].value) == (0.0, 0.25)
