"""A weight whose bounds exclude 0 selects its feature, however small it is: sigma = 1, and not 0 within tolerances."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import SolutionStatus
from solvers.facts.base import always_on

SMALL, PRICE = 3e-10, 0.5
BUILDERS = {
    "gmeb": lambda data: fs.gmeb.primal(data, R_plus=1.0, R_minus=1.0, sigma=True),
    "fsv": lambda data: fs.concave.fsv(data, penalty=0.1, sigma=True),
    "fsp": lambda data: fs.fsp.fsp_m(data, C=1.0, max_features=3),
    "fsp big-m": lambda data: fs.fsp.fsp_m(data, C=1.0, max_features=3, form="big-m"),
    "fsmulti": lambda data: fs.multivariate.fsmulti(data, C=1.0, budget=2, loss="hamming", form="extended", sigma=True),
}
CASES = [("gmeb", None), ("gmeb", "scip"), ("fsv", None), ("fsp", "branch-and-cut"),
         ("fsp", "scip"), ("fsp big-m", "cutting-plane"), ("fsmulti", "scip")]  # fmt: skip


def priced(name):
    """Return a model with a price of sigma_2, and w_2 and sigma_2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=9) > 0, 1, -1)
    y[:2] = 1, -1
    model = BUILDERS[name](fs.Dataset.from_arrays(X, y))
    model.objective.set_value(model.objective.expr + PRICE * model.sigma["x2"])
    return model, model.w["x2"], model.sigma["x2"]


@pytest.mark.parametrize(("name", "solver"), CASES)
def test_a_feature_whose_weight_is_fixed_off_zero_is_selected(name, solver):
    without, w, sigma = priced(name)
    w.fix(0.0)
    sigma.fix(0)
    least = fs.solve(without, solver).objective
    model, w, sigma = priced(name)
    w.fix(SMALL)
    result = fs.solve(model, solver)
    assert result.objective == pytest.approx(least + PRICE, abs=5e-4)
    assert result.bound is None or result.bound <= least + PRICE + 1e-6
    assert (w.value, w.fixed) == (SMALL, True)
    assert (sigma.value, sigma.fixed) == (1.0, False)
    assert result.selected is None or "x2" in result.selected


@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_bound_that_excludes_zero_selects_as_well(bound):
    model, w, sigma = priced("gmeb")
    model.objective.set_value(model.objective.expr + 1e3 * (1 if bound == "lower" else -1) * w)  # towards 0
    w.setlb(SMALL) if bound == "lower" else w.setub(-SMALL)
    assert always_on(model) == [sigma]
    assert fs.solve(model).status is SolutionStatus.OPTIMAL
    assert abs(w.value) == pytest.approx(SMALL, abs=1e-8)
    assert sigma.value == 1


def test_rows_that_the_user_has_switched_off_select_nothing():
    model, w, sigma = priced("gmeb")
    w.fix(0.1)
    for row in (model.only_selected, model.only_selected_below, model.cap_plus, model.cap_minus):
        row["x2"].deactivate()
    assert always_on(model) == []
    fs.solve(model, "scip")
    assert sigma.value == 0


@pytest.mark.parametrize("name", ["gmeb", "fsp"])
def test_a_relaxed_sigma_is_a_fraction(name):
    """With a continuous sigma, 0 < sigma < 1 allows a small weight: no row says that sigma is 1."""
    model, w, sigma = priced(name)
    w.fix(0.01)
    for part in model.sigma.values():
        part.domain = pyo.UnitInterval
    result = fs.solve(model, "clarabel")
    assert result.status is SolutionStatus.OPTIMAL
    assert 0 < sigma.value < 0.5
