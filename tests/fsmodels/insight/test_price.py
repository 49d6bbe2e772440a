"""``fs.price_of``: what side constraints cost, as enumeration finds it; the model stays as it was."""

import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels.selection.request import Request
from tests.helpers.enumeration import every_support, instance
from tests.helpers.seeds import seeds


def best(data, C, M, rows):
    found = every_support(data, C, M, rows)
    return found[0][0] if found else float("inf")


@pytest.mark.parametrize("seed", seeds(range(8), 2000, 500))
def test_price_agrees_with_enumeration(seed):
    data, C, M, rows = instance(seed)
    model = Request.of(data, "fsp-m", max_features=M, C=C, **rows).build().model
    prices = {price.row: price for price in fs.price_of(model, gap=1e-8)}
    whole = best(data, C, M, rows)
    unlimited = best(data, C, data.n_features, rows)
    assert prices["cardinality"].least <= (whole - unlimited) * (1 + 1e-6) + 1e-6 * whole
    assert prices["cardinality"].most >= (whole - unlimited) * (1 - 1e-6) - 1e-6 * whole
    for kind in rows:
        price = next(p for name, p in prices.items() if name.startswith(kind))
        without = best(data, C, M, {other: row for other, row in rows.items() if other != kind})
        assert price.kept.objective == pytest.approx(whole, rel=1e-6)
        assert price.dropped.objective == pytest.approx(without, rel=1e-6)
        assert price.least - 2e-6 * whole <= whole - without <= price.most + 2e-6 * whole


def bupa(most=3):
    return fs.fsp.fsp_m(fs.load_dataset("bupa").scaled("standard"), max_features=most)


def test_a_budget_is_followed_over_its_limit():
    data, C, M, _ = instance(5)
    costs = {name: 1.0 + j % 3 for j, name in enumerate(data.features)}
    model = fs.fsp.fsp_m(data, max_features=M, C=C)
    model.budget = fs.side_constraints.budget(model, costs, 3)
    prices = fs.price_of(model, "budget", at=[1, 2, 4, 6], gap=1e-8)
    for limit, point in prices[0].along:
        assert point.objective == pytest.approx(best(data, C, M, {"budget": (costs, limit)}), rel=1e-6)
    assert prices.along().index.names == ["row", "limit"]
    assert prices.plot().get_xlabel() == 'limit of "budget"'


def test_the_model_is_left_as_it_was_with_the_values_of_all_rows():
    model = bupa()
    model.apart = fs.side_constraints.excludes(model, "sgpt", "sgot")
    before = [c.name for c in model.component_objects(pyo.Constraint, active=True)]
    prices = fs.price_of(model, at={"cardinality": [1]})
    assert [c.name for c in model.component_objects(pyo.Constraint, active=True)] == before
    assert pyo.value(model.sigma["sgpt"]) + pyo.value(model.sigma["sgot"]) <= 1
    assert pyo.value(model.objective) == pytest.approx(prices[0].kept.objective, rel=1e-6)
    assert prices.table().index.tolist() == ["apart", "cardinality"]
    assert prices[0].slack == 0
    assert prices.plot() is not None


def test_a_row_that_leaves_nothing_has_no_finite_price():
    model = bupa(most=1)
    model.both = fs.side_constraints.force_in(model, ["sgpt", "sgot"])
    price = fs.price_of(model, "both")[0]
    assert price.least == float("inf")
    assert "no selection is possible" in price.sentence
    assert price.slack is None


def test_rows_that_cannot_be_asked_are_refused():
    model = bupa()
    with pytest.raises(fs.ParameterError, match='"nobody" is no active constraint'):
        fs.price_of(model, "nobody")
    with pytest.raises(fs.ParameterError, match="is not a single row with an upper limit only"):
        fs.price_of(model, "margin", at=[1.0])
    plain = pyo.ConcreteModel()
    plain.x = pyo.Var(bounds=(0, 1))
    plain.objective = pyo.Objective(expr=plain.x, sense=pyo.maximize)
    with pytest.raises(fs.ParameterError, match="minimises"):
        fs.price_of(plain)
    plain.objective.sense = pyo.minimize
    with pytest.raises(fs.ModelError, match="no active constraint on sigma"):
        fs.price_of(plain)


def test_rows_of_ones_own_on_weights_are_priced_too():
    model = bupa()
    model.small = pyo.Constraint(expr=model.w["sgpt"] >= -0.2)
    assert {price.row for price in fs.price_of(model)} == {"small", "cardinality"}
    with pytest.raises(fs.ParameterError, match="needs a model and got Dataset"):
        fs.price_of(fs.load_dataset("bupa"))


def test_the_objective_at_other_limits_is_told():
    assert (
        "Objective at other limits: at 1: 290; at 2: 275.843" in fs.price_of(bupa(), "cardinality", at=[1, 2]).sentence
    )


def test_members_of_a_row_that_are_switched_off_stay_off():
    model = bupa()
    model.pairs = pyo.Constraint([1, 2], rule=lambda m, k: m.sigma["mcv"] + m.sigma["sgpt"] <= k)
    model.pairs[1].deactivate()
    fs.price_of(model, "pairs")
    assert not model.pairs[1].active
    assert model.pairs[2].active
