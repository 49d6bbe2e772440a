"""Products of features: their values, how other data get the same ones, and what a hierarchy allows."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import fsmodels as fs

NAMES = ("a", "b", "c")


@pytest.fixture
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3)) * [1, 10, 0.1] + [5, 0, 1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(Z[:, 0] * Z[:, 1] + 0.3 * Z[:, 2] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    return fs.Dataset.from_arrays(X, y, features=NAMES)


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_products_are_those_of_standardised_columns(data):
    wide, Z = data.with_interactions(), standard(data.X)
    assert wide.features == ("a", "b", "c", "a:b", "a:c", "b:c")
    assert wide.X[:, 3:] == pytest.approx(np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 0] * Z[:, 2], Z[:, 1] * Z[:, 2]]))
    assert wide.X[:, :3].tolist() == data.X.tolist()
    assert data.with_interactions(pairs=[("c", "a")]).features[3:] == ("c:a",)
    assert data.with_interactions("a", "b", pairs=[("b", "a"), ("b", "c")]).features[3:] == ("a:b", "b:c")


@pytest.mark.parametrize("method", ["standard", "minmax"])
def test_products_and_scaling_may_come_in_any_order(data, method):
    one, other = data.with_interactions().scaled(method), data.scaled(method).with_interactions()
    assert one.features == other.features
    assert pytest.approx(other.X, abs=1e-12) == one.X
    assert one.scale.shift == pytest.approx(other.scale.shift, abs=1e-12)
    w, b = one.original_weights([1.0] * 6, 0.5)
    assert data.with_interactions().X @ w + b == pytest.approx(one.X.sum(axis=1) + 0.5)


def test_other_data_have_the_same_products_without_the_column(data):
    train, _, test = data.split(0.7, 0, 0.3, seed=0)
    wide = train.with_interactions().scaled("standard")
    there = wide.apply_scale_to(test)
    Z = (test.X - train.X.mean(axis=0)) / train.X.std(axis=0)
    P = standard(train.X)
    P = P[:, 0] * P[:, 1]
    assert there.X[:, 3] == pytest.approx((Z[:, 0] * Z[:, 1] - P.mean()) / P.std())
    own = wide.apply_scale_to(test.with_interactions())  # products with constants of their own are made again
    assert pytest.approx(there.X) == own.X
    assert pytest.approx(wide.X) == wide.apply_scale_to(wide).X
    swapped = wide.apply_scale_to(test.select_features(["c", "a", "b"]))
    assert pytest.approx(there.X) == swapped.X
    with pytest.raises(fs.DataError, match=r"lack features \(b\)"):
        wide.apply_scale_to(test.select_features(["a", "c"]))


def test_predictions_need_the_features_of_products_only(data):
    train, _, test = data.split(0.7, 0, 0.3, seed=0)
    found = fs.select(train.with_interactions(), max_features=1)
    assert found.selected == ("a:b",)
    table = pd.DataFrame(test.X, columns=NAMES)
    assert found.decision(table[["b", "a"]]) == pytest.approx(found.decision(test))
    assert found.error(test) < 0.25 < fs.select(train, max_features=3).error(test)
    assert found.decision(pd.DataFrame(train.with_interactions().X[:, 3:4], columns=["a:b"])) == pytest.approx(
        found.decision(train)
    )
    with pytest.raises(fs.DataError, match=r"lacks columns \(b\)"):
        found.predict(table[["a", "c"]])


def test_a_part_of_a_fold_has_constants_of_its_own(data):
    wide = data.with_interactions()
    fold = wide.folds(3, seed=0)[0].train
    again = fold.refitted()
    assert again.features == wide.features
    Z = standard(fold.X[:, :3])
    assert again.X[:, 3] == pytest.approx(Z[:, 0] * Z[:, 1])
    assert abs(again.X[:, 3] - fold.X[:, 3]).max() > 1e-3
    assert data.refitted() is data
    assert wide.select_features(["a", "a:b"]).refitted().features == (
        "a",
        "a:b",
    )  # b is not there to be multiplied again


HIERARCHIES = {
    "strong": lambda s: all(set(child.split(":")) <= s for child in s if ":" in child),
    "weak": lambda s: all(set(child.split(":")) & s for child in s if ":" in child),
}


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_a_hierarchy_allows_exactly_what_it_says(data, kind):
    wide = data.with_interactions()
    model = fs.fsp.fsp_m(wide.scaled("standard"), max_features=6)
    model.order = fs.side_constraints.hierarchy(model, wide.parents, kind)
    for values in itertools.product((0, 1), repeat=6):
        model.sigma.set_values(dict(zip(wide.features, values, strict=True)))
        held = all(pyo.value(row.body) <= pyo.value(row.upper) for row in model.order.values())
        assert held == HIERARCHIES[kind]({j for j, v in zip(wide.features, values, strict=True) if v})


@pytest.mark.parametrize("model", ["fsp-m", "fsl", "relief", "rfe"])
@pytest.mark.parametrize("kind", HIERARCHIES)
def test_families_select_by_a_hierarchy(data, kind, model):
    wide = data.with_interactions().scaled("standard")
    given = {"penalty": 0.01} if model == "fsl" else {}
    found = fs.select(wide, model, max_features=3, hierarchy=kind, **given)
    assert HIERARCHIES[kind](set(found.selected))
    assert found.parameters["hierarchy"] == kind
    if model == "fsp-m":
        sets = (s for k in range(4) for s in itertools.combinations(wide.features, k) if HIERARCHIES[kind](set(s)))
        assert found.objective == pytest.approx(min(fs.fsp.value(wide, s, C=1.0) for s in sets), rel=2e-4)
    if model == "fsl":
        exact = fs.select(wide, "fs", max_features=3, hierarchy=kind, penalty=0.01)
        assert found.objective >= exact.bound - 1e-9


def test_constant_columns_have_no_products():
    X = np.column_stack([np.arange(6.0), np.ones(6), [1, 0, 2, 0, 1, 0]])
    data = fs.Dataset.from_arrays(X, [0, 1] * 3)
    assert data.with_interactions().features[3:] == ("x1:x3",)
    with pytest.raises(fs.DataError, match="each pair has a constant feature"):
        data.with_interactions("x1", "x2")


def test_they_go_through_pickle_and_parts(data):
    wide = data.with_interactions()
    again = pickle.loads(pickle.dumps(wide))
    assert again.products == wide.products
    assert wide.select_features(["a", "a:b"]).parents == {"a:b": ("a", "b")}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.with_interactions("a"), "needs at least two features"),
        (lambda d: d.with_interactions("a", "z"), '"z" is not a feature'),
        (lambda d: d.with_interactions(pairs=[("a", "a")]), "is multiplied by itself"),
        (lambda d: d.with_interactions(pairs=["ab"]), "no pair of features"),
        (lambda d: d.with_interactions().with_interactions("a", "a:b"), '"a:b" is not a feature'),
        (lambda d: d.with_interactions().with_interactions("a", "b"), 'a column "a:b" already'),
        (lambda d: d.scaled("unit-ball").with_interactions(), "call with_interactions before scaled"),
        (
            lambda d: fs.select(d, max_features=2, hierarchy="strong"),
            r"there are no products .* data.with_interactions",
        ),
        (lambda d: fs.select(d.with_interactions(), max_features=2, hierarchy="odd"), "hierarchy='odd'"),
        (
            lambda d: fs.select(d.with_interactions().select_features(["a", "a:b"]), max_features=2, hierarchy="weak"),
            'hierarchy: "b" is not a feature',
        ),
    ],
)
def test_bad_words_are_refused(data, call, message):
    with pytest.raises(fs.errors.Error, match=message):
        call(data)
