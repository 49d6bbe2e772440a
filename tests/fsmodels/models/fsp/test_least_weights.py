"""Rows on w_j and sigma_j that a feature which is not selected meets: they select nothing by themselves."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs

LOSSES = ["hinge", "squared-hinge"]
SIZES = [0.05, -0.05, 0.6]


@pytest.fixture(scope="module")
def data(make_data):
    return make_data(30, 4, seed=2)


def solved(data, loss, edit):
    model = fs.fsp.fsp_m(data, max_features=2, loss=loss)
    edit(model, next(iter(model.w)))
    result = fs.solve(model, gap=1e-6)
    assert result.status.value == "optimal"
    return result


def either(data, loss, within):
    """Return the best of both choices of the first feature; ``within`` edits its weight where it is selected."""

    def without(model, j):
        model.sigma[j].fix(0)

    return min(solved(data, loss, without).objective, solved(data, loss, within).objective)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", SIZES)
def test_a_least_weight_of_a_selected_feature_does_not_select_it(data, size, loss):
    def row(model, j):
        far = model.w[j] - size * model.sigma[j]
        model.least = pyo.Constraint(expr=far >= 0 if size > 0 else far <= 0)

    def bound(model, j):
        (model.w[j].setlb if size > 0 else model.w[j].setub)(size)

    found = solved(data, loss, row)
    assert found.objective == pytest.approx(either(data, loss, bound), rel=1e-5)
    assert "oracle" not in found.message


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", SIZES)
def test_one_value_of_a_selected_feature_does_not_select_it(data, size, loss):
    def row(model, j):
        model.one = pyo.Constraint(expr=model.w[j] == size * model.sigma[j])

    found = solved(data, loss, row)
    assert found.objective == pytest.approx(either(data, loss, lambda model, j: model.w[j].fix(size)), rel=1e-5)
