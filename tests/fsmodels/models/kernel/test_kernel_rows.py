"""Rows on the weights z, and on what is selected: kept by every method, against a grid and all supports."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from solvers import ModelError, OptionError, SolutionStatus
from solvers.model.classes import violation

SHARED = {"C": 1.0, "penalty": 0.5}
BUILDERS = {
    "full-fs": fs.kernel.full_fs,
    "reduced": lambda data, **words: fs.kernel.full_fs(data, form="reduced", **words),
    "ao-simple": fs.kernel.ao_simple,
    "ao-margin": fs.kernel.ao_margin,
    "ao-efs": fs.kernel.ao_efs,
    "gmkl": lambda data, **words: fs.kernel.gmkl(data, eps=0.5, **words),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.2 * rng.normal(size=40) > 0.7, 1, -1)
    return fs.Dataset.from_arrays(X, y).scaled("standard")


def z_of(model):
    return np.array([v.value for v in model.z.values()])


def on_weights(model):
    """A ceiling on the sum, an order of two weights, a share."""
    model.total = pyo.Constraint(expr=sum(model.z.values()) <= 0.9)
    model.order = pyo.Constraint(expr=model.z["x1"] <= model.z["x2"])
    model.share = pyo.Constraint(expr=model.z["x3"] == 0.5 * model.z["x2"])


@pytest.fixture(scope="module")
def best_on_a_grid(data):
    """On these rows z is (a, c, c / 2) with a <= c and a + 1.5 c <= 0.9."""
    points = [
        (a, c, c / 2) for c in np.linspace(0, 0.6, 31) for a in np.linspace(0, 0.9, 46) if a <= min(c, 0.9 - 1.5 * c)
    ]
    return min(fs.kernel.omega(data, z, **SHARED) for z in points if any(z))


@pytest.mark.parametrize("name", BUILDERS)
def test_rows_on_weights_hold_and_a_grid_finds_nothing_better(name, data, best_on_a_grid):
    model = BUILDERS[name](data, **SHARED)
    on_weights(model)
    result = fs.solve(model)
    z = z_of(model)
    assert violation(model) <= 1e-9
    assert z[2] == pytest.approx(z[1] / 2, abs=1e-9)
    assert result.objective == pytest.approx(fs.kernel.omega(data, z, **SHARED), rel=1e-6)
    if name != "ao-efs":  # which descends another function
        assert result.status is SolutionStatus.STATIONARY
        assert result.objective <= best_on_a_grid * (1 + 1e-3)


def test_a_row_that_does_not_bind_changes_nothing(data):
    plain, loose = fs.kernel.full_fs(data, **SHARED), fs.kernel.full_fs(data, **SHARED)
    loose.row = pyo.Constraint(expr=sum(loose.z.values()) <= 1000)
    assert fs.solve(loose).objective == pytest.approx(fs.solve(plain).objective, rel=1e-4)


def test_rows_that_clash_are_named(data):
    model = fs.kernel.gmkl(data, **SHARED)
    model.much = pyo.Constraint(expr=sum(model.z.values()) >= 5)
    model.little = pyo.Constraint(expr=sum(model.z.values()) <= 1)
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"much"' in result.message
    assert '"little"' in result.message


REFUSED = {
    "on u": lambda m: m.add_component("row", pyo.Constraint(expr=m.u[0] + m.z["x1"] <= 1)),
    "curved": lambda m: m.add_component("row", pyo.Constraint(expr=m.z["x1"] ** 2 + m.z["x2"] <= 1)),
    "own variable": lambda m: (
        m.add_component("own", pyo.Var()),
        m.add_component("row", pyo.Constraint(expr=m.own >= m.z["x1"])),
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_rows_are_refused_by_name_with_what_to_do(kind, data):
    model = fs.kernel.full_fs(data, **SHARED)
    REFUSED[kind](model)
    with pytest.raises(ModelError, match=r'row "row" was added: only bounds.*linear rows on it.*form="algebra"'):
        fs.solve(model)


def test_a_method_without_projections_is_refused_where_there_are_rows(data):
    model = fs.kernel.full_fs(data, **SHARED)
    on_weights(model)
    with pytest.raises(OptionError, match='"trust-newton" takes bounds, and no rows'):
        fs.solve(model, method="trust-newton")
