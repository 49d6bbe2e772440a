"""Masters in units of their own: data, prices and budgets of any size, against every support."""

import itertools
import os

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import SolutionStatus
from solvers.drivers.benders.master import Master
from solvers.drivers.benders.split import split
from solvers.errors import ModelError
from solvers.facts.structure import Cut
from solvers.interfaces.registry import SOLVERS

SOAK = float(os.environ.get("FSMODELS_SOAK", "1"))
DRIVERS = ["benders", "single-tree", "branch-and-cut"]


def scaled_data(make_data, rows, n, seed, size):
    data = make_data(rows, n, seed=seed)
    return fs.Dataset.from_arrays(np.asarray(data.X) * size, np.asarray(data.y), features=list(data.features))


def check(result, truth, gap=1e-4):
    assert result.status is SolutionStatus.OPTIMAL, str(result)
    assert truth * (1 - 1e-6) <= result.objective <= truth * (1 + 1.01 * gap)
    assert truth * (1 - 1.01 * gap) <= result.bound <= truth * (1 + 1e-7)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("size", "C", "seed"), [(1e4, 100.0, 22), (1e4, 1.0, 25), (1e-4, 1.0, 3), (1.0, 1e-6, 4)])
def test_data_of_any_size(driver, size, C, seed, make_data, enumerated):
    data = scaled_data(make_data, 16, 4, seed, size)
    truth = enumerated(data, C=C, max_features=2)
    check(fs.solve(fs.fsp.fsp_m(data, max_features=2, C=C), driver), truth)
    price = dict(zip(data.features, np.array([0.3, 0.1, 0.2, 0.05]) * truth, strict=True))
    truth = enumerated(data, C=C, penalty=price)
    check(fs.solve(fs.fsp.fsp_lambda(data, penalty=price, C=C), driver), truth)


@pytest.mark.slow
def test_many_data_sets_of_any_size(make_data, enumerated):
    """60 data sets by two drivers; FSMODELS_SOAK=10 makes them 600."""
    for seed in range(max(1, round(60 * SOAK))):
        random = np.random.default_rng(seed)
        n = int(random.integers(3, 7))
        size, C = 10.0 ** random.choice([4, -4, 2, 0]), 10.0 ** random.choice([0, -4, 2])
        data = scaled_data(make_data, int(random.integers(12, 40)), n, seed, size)
        most = int(random.integers(1, n))
        truth = enumerated(data, C=C, max_features=most)
        for driver in [d for d in DRIVERS[:2] if d != "single-tree" or SOLVERS["gurobi"].found]:
            check(fs.solve(fs.fsp.fsp_m(data, max_features=most, C=C), driver), truth)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    ("costs", "limit"),
    [
        ([1e12, 2.0, 3.0, 1.0], 4.0),
        ([2e15, 3e15, 1e15, 4e15], 4e15),
        ([2e-12, 3e-12, 1e-12, 4e-12], 4e-12),
        ([1.0, 1.0, 5e-17, 1.0], 2.0),  # rounding where 0 was meant
    ],
)
def test_a_budget_in_any_unit(driver, costs, limit, data, enumerated):
    price = dict(zip(data.features, costs, strict=True))
    model = fs.fsp.fsp_m(data, max_features=3)
    model.budget = pyo.Constraint(expr=sum(price[j] * model.sigma[j] for j in model.features) <= limit)
    truth = enumerated(data, max_features=3, allowed=lambda s: sum(price[j] * s[j] for j in s) <= limit)
    check(fs.solve(model, driver), truth)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_budget_that_no_unit_makes_fit_is_refused_by_name(driver, data):
    model = fs.fsp.fsp_m(data, max_features=3)
    model.budget = pyo.Constraint(expr=1e15 * model.sigma["b"] + 2 * model.sigma["c"] <= 4)
    with pytest.raises(ModelError, match=r'"budget" has coefficients from 2 to 1e\+15 \(of "sigma\[b\]"\)'):
        fs.solve(model, driver)


def test_a_lowered_cut_is_below_the_cut_and_still_rules_its_point_out():
    random = np.random.default_rng(5)
    for _ in range(50):
        cut = Cut(float(random.uniform(0, 1e9)), random.uniform(-1, 0.3, 4) * 10.0 ** random.uniform(0, 9))
        low = cut.lowered(0.0, 1e4)
        values = [(cut.at(np.array(z)), low.at(np.array(z))) for z in itertools.product((0.0, 1.0), repeat=4)]
        most = max(v for v, _ in values)
        assert all(lowered <= max(v, 0.0) + 1e-6 for v, lowered in values)
        assert max(lowered for _, lowered in values) == pytest.approx(min(most, 1e4))


def test_a_master_in_other_units_is_the_same_master(data):
    model = fs.fsp.fsp_m(data, max_features=2)
    master = Master(split(model, model.structure), floor=0.0)
    cut = master.add_cut(Cut(3e-9, np.array([-1e-9, 0.0, -2e-9, -5e-10])))
    master.add_feasibility_cut(Cut(2e-11, np.array([-1e-11, 0.0, 0.0, 0.0])))
    master.rescale(2e-9, 2e-9)
    assert master.ill_scaled(2.0, 2.0)
    assert not master.ill_scaled(2e-9, 2e-9)
    for v, x in zip(master.point_variables, (1.0, 0.0, 0.0, 1.0), strict=True):
        v.set_value(x)
    master.model.eta.set_value(5e-9 / master.unit)
    assert pyo.value(cut.body) - cut.lower == pytest.approx((5e-9 - 1.5e-9) / master.unit)
    assert pyo.value(master.model.objective) * master.unit == pytest.approx(5e-9)
    feasibility = master.model.cuts[2]
    assert pyo.value(feasibility.body) / feasibility.lower == pytest.approx(0.5)
    assert 0.1 < feasibility.lower < 10
