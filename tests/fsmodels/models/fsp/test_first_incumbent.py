"""Incumbents before the relaxation: they are the best known on wide data, and satisfy the rows of the user."""

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.datasets.synthetic import bertsimas
from solvers.drivers.base import Ended
from solvers.drivers.branch_cut.node import NodeBounds
from solvers.result import SolutionStatus, StopReason


@pytest.fixture
def without_relaxation(monkeypatch):
    """End the run where the relaxation begins."""

    def end(*_):
        raise Ended(StopReason.TIME_LIMIT)

    monkeypatch.setattr(NodeBounds, "relax", end)


@pytest.mark.parametrize(("samples", "relevant", "C"), [(300, 10, 0.1), (300, 10, 10.0), (80, 3, 1.0)])
def test_the_true_features_are_found_before_the_relaxation(samples, relevant, C, without_relaxation):
    pair = bertsimas(samples, 600, relevant, n_test=2, seed=3)
    found = fs.solve(fs.fsp.fsp_m(pair.train.scaled("none"), max_features=relevant, C=C), "branch-and-cut")
    assert found.status is SolutionStatus.FEASIBLE
    assert set(found.selected) == set(pair.relevant)


def test_rows_of_the_user_hold_before_the_relaxation(without_relaxation):
    data = bertsimas(60, 200, 4, n_test=2, seed=1).train.scaled("none")
    model = fs.fsp.fsp_m(data, max_features=4, C=0.5)
    sigma, cost = list(model.sigma.values()), np.random.default_rng(0).integers(1, 9, 200)
    model.budget = pyo.Constraint(expr=sum(int(c) * s for c, s in zip(cost, sigma, strict=True)) <= 20)
    model.needs = pyo.Constraint(range(0, 200, 2), rule=lambda m, j: sigma[j] <= sigma[j + 1])
    sigma[7].setlb(1)
    found = fs.solve(model, "branch-and-cut")
    on = np.array([s.value for s in sigma])
    assert found.status is SolutionStatus.FEASIBLE
    assert on[7] == 1
    assert on.sum() == 4
    assert cost @ on <= 20
    assert np.all(on[::2] <= on[1::2])


def test_a_penalty_selects_few_features_before_the_relaxation(without_relaxation):
    pair = bertsimas(300, 600, 10, n_test=2, seed=3)
    found = fs.solve(fs.fsp.fsp_lambda(pair.train.scaled("none"), penalty=5.0, C=0.5), "branch-and-cut")
    assert set(found.selected) == set(pair.relevant)
