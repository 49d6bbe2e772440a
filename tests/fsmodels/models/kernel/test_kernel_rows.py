"""Rows on the weights z, and on what is selected: kept by every method, against a grid and all supports."""

import itertools

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


# Rows on what is selected.

COSTS = {"x1": 3.0, "x2": 2.0, "x3": 1.0}
ALLOWED = {
    "budget": lambda s: sum(COSTS[j] for j in s) <= 4,
    "pair": lambda s: ("x1" not in s or "x3" in s) and not {"x1", "x2"} <= s,
    "group": lambda s: ("x1" in s) == ("x3" in s) and len(s) <= 2,
    "force": lambda s: "x3" in s and "x1" not in s,
    "odd": lambda s: len(s) % 2 == 1,
}


def state(model, rows):
    side = fs.side_constraints
    if rows == "budget":
        model.row = side.budget(model, COSTS, 4)
    elif rows == "pair":
        model.row, model.other = side.requires(model, "x1", "x3"), side.excludes(model, "x1", "x2")
    elif rows == "group":
        model.row, model.other = side.all_or_none(model, ["x1", "x3"]), side.at_most(model, list(COSTS), 2)
    elif rows == "force":
        model.row, model.other = side.force_in(model, "x3"), side.force_out(model, "x1")
    else:
        model.half = pyo.Var(domain=pyo.Integers, bounds=(0, 2))
        model.row = pyo.Constraint(expr=sum(model.sigma.values()) == 2 * model.half + 1)


@pytest.fixture(scope="module")
def by_support(data):
    """Omega of every support, by the value function."""
    found = {}
    for bits in itertools.product([0, 1], repeat=3):
        support = frozenset(j for j, bit in zip(data.features, bits, strict=True) if bit)
        model = fs.kernel.full_fs(data, form="reduced", **SHARED)
        for j in set(data.features) - support:
            model.z[j].fix(0.0)
        found[support] = fs.solve(model).objective
    return found


@pytest.mark.parametrize(
    ("name", "rows"), [*(("full-fs", rows) for rows in ALLOWED), *((name, "pair") for name in BUILDERS)]
)
def test_rows_on_sigma_are_kept_and_enumeration_finds_nothing_better(name, rows, data, by_support):
    model = BUILDERS[name](data, sigma=True, **SHARED)
    state(model, rows)
    result = fs.solve(model)
    assert ALLOWED[rows](set(result.selected))
    assert all(model.z[j].value == 0.0 for j in data.features if j not in result.selected)
    assert violation(model) <= 1e-9
    assert result.status is SolutionStatus.FEASIBLE
    assert "A heuristic over selections" in result.message
    if name != "ao-efs":  # which descends another function
        best = min(value for support, value in by_support.items() if ALLOWED[rows](support))
        assert result.objective == pytest.approx(best, rel=2e-3)


def test_rows_on_sigma_and_weights_together_hold(data):
    model = fs.kernel.full_fs(data, sigma=True, **SHARED)
    model.floor = pyo.Constraint(model.features, rule=lambda m, j: m.z[j] >= 0.3 * m.sigma[j])
    model.few = pyo.Constraint(expr=sum(model.sigma.values()) <= 2)
    result = fs.solve(model, exchanges=2)
    assert violation(model) <= 1e-9
    assert 1 <= len(result.selected) <= 2
    assert min(model.z[j].value for j in result.selected) >= 0.3 - 1e-9


def test_rows_on_sigma_that_clash_are_named(data):
    model = fs.kernel.gmkl(data, sigma=True, **SHARED)
    model.some = fs.side_constraints.at_least(model, ["x1", "x2"], 2)
    model.one = fs.side_constraints.at_most(model, ["x1", "x2"], 1)
    result = fs.solve(model)
    assert result.status is SolutionStatus.INFEASIBLE
    assert '"some"' in result.message
    assert '"one"' in result.message


def test_a_stopped_search_returns_a_selection_that_the_rows_allow(data):
    model = fs.kernel.full_fs(data, sigma=True, **SHARED)
    state(model, "force")
    result = fs.solve(model, time_limit=1e-4)
    assert result.has_solution
    assert ALLOWED["force"](set(result.selected))
    assert violation(model) <= 1e-9


def test_without_exchanges_the_first_selection_is_kept_and_options_are_checked(data):
    model = fs.kernel.gmkl(data, sigma=True, **SHARED)
    state(model, "budget")
    assert fs.solve(model, exchanges=0).details["exchanges"] == {"descended": 0, "better": 0}
    with pytest.raises(OptionError, match="exchanges=-1"):
        fs.solve(model, exchanges=-1)
    with pytest.raises(OptionError, match="exchanges"):
        fs.solve(fs.kernel.gmkl(data, **SHARED), exchanges=1)  # nothing to exchange


def test_sigma_beside_the_algebra_is_refused(data):
    with pytest.raises(fs.ParameterError, match='sigma=True is not for form="algebra"'):
        fs.kernel.full_fs(data, sigma=True, form="algebra", **SHARED)
