"""Theorem 1: R and Delta over all labellings and groups, and counts of the algorithm as printed."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels.models import multivariate as mv
from fsmodels.models.multivariate.measures import loss as loss_of


@pytest.fixture
def data(make_data):
    return make_data(8, 4, seed=2)


def constants(data, loss, budget):
    """Delta and R^2 of Theorem 1 by all labellings and all groups of B features."""
    measure, n = loss_of(loss), data.n_samples
    largest, square = 0.0, 0.0
    for labels in itertools.product([-1, 1], repeat=n):
        labels = np.array(labels)
        if loss == "prbep" and (labels > 0).sum() != (data.y > 0).sum():
            continue
        largest = max(largest, measure.value(data.y, labels) / n)
        p = data.X.T @ (data.y - labels) / n
        square = max(square, float(np.sort(p**2)[::-1][:budget].sum()))
    return largest, square


@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep"])
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_the_bound_is_that_of_the_theorem_with_r_from_above(loss, budget, data):
    """The term with epsilon increases with R^2; for B = 1 and losses with all labellings both terms are exact."""
    largest, square = constants(data, loss, budget)
    epsilon, C = 1e-3, 2.0
    exact = max(0, math.ceil(math.log2(largest / (4 * square * C)))) + math.ceil(16 * square * C / epsilon)
    found = mv.iteration_bound(data, budget=budget, C=C, loss=loss, risk_tolerance=epsilon)
    if budget == 1 and loss != "prbep":
        assert found == exact
    assert exact - 10 <= found <= 4 * exact
    thin = fs.Dataset.from_arrays(sparse.csr_array(data.X), data.y)
    assert mv.iteration_bound(thin, budget=budget, C=C, loss=loss, risk_tolerance=epsilon) == found


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep", "rec@2", "prec@2", "auc"])
def test_no_row_of_a_run_is_longer_than_r(loss, offset, data):
    """4 R^2 C is the largest tolerance; the error message contains it."""
    for budget in (1, 2, 4):
        with pytest.raises(fs.ParameterError, match=r"exceeds 4 R\^2 C = .*, the largest in Theorem 1") as refused:
            mv.iteration_bound(data, budget=budget, loss=loss, risk_tolerance=1e9, offset=offset)
        square = float(str(refused.value).split(" = ")[1].split(",")[0]) / 4
        model = mv.fsmulti(data, budget=budget, C=5.0, loss=loss, offset=offset, form="lazy")
        rows = fs.solve(model, stabilised=False, gap=1e-6).details["working_set"]["P"]
        assert (np.sort(rows**2, axis=1)[:, ::-1][:, :budget].sum(axis=1) <= square * (1 + 1e-5)).all()


@pytest.mark.parametrize("loss", ["hamming", "f1", "prbep", "auc"])
@pytest.mark.parametrize("epsilon", [0.1, 1e-3])
def test_the_algorithm_as_printed_takes_no_more_iterations(loss, epsilon, make_data):
    """For one group, by the driver as printed, and by row-generation with clarabel."""
    data = make_data(60, 5, seed=3)
    most = mv.iteration_bound(data, budget=5, C=10.0, loss=loss, risk_tolerance=epsilon)
    model = mv.structural_svm(data, C=10.0, loss=loss, form="lazy")
    result = fs.solve(model, stabilised=False, risk_tolerance=epsilon, gap=1e-12)
    assert result.objective - result.bound <= 10.0 * epsilon
    assert len(result.iterations) <= most
    stated = mv.structural_svm(data, C=10.0, loss=loss, form="stated")
    again = fs.solve(stated, "row-generation", gap=10.0 * epsilon / result.objective, master_solver="clarabel")
    assert again.objective == pytest.approx(result.objective, abs=10.0 * epsilon)
    assert len(again.iterations) <= most


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "small", None])
def test_a_tolerance_that_is_no_number_above_0_is_refused(wrong, data):
    with pytest.raises(fs.ParameterError, match="risk_tolerance="):
        mv.iteration_bound(data, budget=2, risk_tolerance=wrong)
