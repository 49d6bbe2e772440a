"""Weights of samples: given one by one, by class, through everything that makes new data of old."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from fsmodels import Dataset, load_dataset
from fsmodels.datasets.checks import apply_scaling
from fsmodels.errors import DataError, ParameterError

LABELS = ["no", "no", "yes", "no", "yes"]


def small(labels=LABELS, **given):
    X = [[0.0, 3.0], [1.0, 5.0], [2.0, 1.0], [5.0, 2.0], [7.0, 7.0]]
    return Dataset.from_arrays(X, labels, features=["a", "b"], **given)


def repeated(data, counts):
    """The same samples, each as often as its weight says."""
    return data.take(np.repeat(np.arange(data.n_samples), counts)).weighted()


def test_data_have_no_weights_unless_asked():
    assert small().sample_weight is None
    assert small().weighted().sample_weight is None
    assert small().weighted([1, 2, 3, 4, 5]).weighted().sample_weight is None


def test_weights_given_one_by_one_are_read_only_and_a_copy():
    given = np.array([1.0, 0.0, 2.5, 1.0, 3.0])
    data = small().weighted(given)
    given[0] = 9.0
    assert data.sample_weight.tolist() == [1.0, 0.0, 2.5, 1.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        data.sample_weight[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        data.take([0, 1, 2]).sample_weight[0] = 2.0


@pytest.mark.parametrize("labels", [LABELS, [0, 0, 1, 0, 1], [3, 3, 9, 3, 9]])
def test_balanced_is_that_of_scikit_learn(labels):
    from sklearn.utils import compute_sample_weight

    ours = small(labels).weighted(class_weight="balanced").sample_weight
    np.testing.assert_allclose(ours, compute_sample_weight("balanced", labels), rtol=1e-15)


def test_both_kinds_multiply_and_balanced_counts_weights_as_rows():
    counts = [1, 2, 3, 0, 2]
    data = small().weighted(counts, class_weight="balanced")
    by_rows = repeated(small(), counts).weighted(class_weight="balanced")
    np.testing.assert_allclose(np.repeat(data.sample_weight / np.maximum(counts, 1), counts), by_rows.sample_weight)
    both = small().weighted(counts, class_weight={"yes": 10})
    assert both.sample_weight.tolist() == [1.0, 2.0, 30.0, 0.0, 20.0]


@pytest.mark.parametrize(
    ("labels", "wanted", "expected"),
    [
        (LABELS, {"yes": 2, "no": 3}, (3.0, 2.0)),
        (LABELS, {1: 2}, (1.0, 2.0)),
        (LABELS, {-1: 4, 1: 2}, (4.0, 2.0)),
        ([1, 1, 2, 1, 2], {1: 5}, (5.0, 1.0)),
        ([1, 1, 2, 1, 2], {"2": 5}, (1.0, 5.0)),
        ([1, 1, 2, 1, 2], {-1: 3, 1: 5}, (3.0, 5.0)),
        ([0, 0, 1, 0, 1], {0: 7, 1: 5}, (7.0, 5.0)),
        ([False, False, True, False, True], {True: 5}, (1.0, 5.0)),
    ],
)
def test_classes_are_named_by_their_labels_or_else_by_sign(labels, wanted, expected):
    assert small(labels).weighted(class_weight=wanted).weighting.by_class == expected


def test_labels_that_became_one_class_have_one_weight():
    data = small(["a", "b", "c", "a", "c"], positive="c")
    assert data.weighted(class_weight={"a": 2, "b": 2}).weighting.by_class == (2.0, 1.0)
    assert data.weighted(class_weight={-1: 3}).weighting.by_class == (3.0, 1.0)
    for wrong in ({"a": 2}, {"a": 2, "b": 3}):
        with pytest.raises(ParameterError, match="are one class"):
            data.weighted(class_weight=wrong)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sample_weight": [1, 2]}, r"shape \(2,\) for 5 samples"),
        ({"sample_weight": [1, 1, -1, 1, -2]}, r"-1 in row 3 \(2 such rows\)"),
        ({"sample_weight": [1, 1, np.nan, 1, 1]}, "nan in row 3"),
        ({"sample_weight": [1, 1, 1e-200, 1, 1]}, r"1e-200 in row 3: .* a number in 1e-30\.\.1e\+30"),
        ({"sample_weight": ["x"] * 5}, "not numbers"),
        ({"sample_weight": [1, 1, 0, 1, 0]}, r"0 for all 2 samples of class \+1"),
        ({"sample_weight": "c"}, "c"),
        ({"class_weight": "balance"}, '"balance": give'),
        ({"class_weight": 3}, "int 3"),
        ({"class_weight": {}}, "dict"),
        ({"class_weight": {"maybe": 2}}, '"maybe" is no label'),
        ({"class_weight": {"yes": 0}}, "above 0"),
        ({"class_weight": {"yes": "2"}}, "above 0"),
        ({"class_weight": {"yes": 2, " yes": 3}}, "twice"),
    ],
)
def test_what_is_no_weight_is_refused(given, words):
    with pytest.raises((DataError, ParameterError), match=words):
        small().weighted(**given)


def test_weights_go_with_the_rows():
    data = small().weighted([1, 2, 3, 4, 5])
    assert data.take([4, 0]).sample_weight.tolist() == [5.0, 1.0]
    assert data.take(np.array([False, True, False, False, True])).sample_weight.tolist() == [2.0, 5.0]
    for same in (
        data.scaled("standard"), data.scaled("minmax").unscaled(), data.select_features(["b"]), data.set_aside("a"),
        data.with_interactions("a", "b"), data.with_aside(c=[1, 2, 3, 4, 5]), data.to_dense(), copy.deepcopy(data),
        pickle.loads(pickle.dumps(data)), data.apply_scale_to(data), data.refitted(),
    ):  # fmt: skip
        assert same.sample_weight.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert data.scaled("standard").apply_scale_to(small()).sample_weight is None


def test_parts_and_folds_keep_their_weights_and_balance_by_their_own_rows():
    data = load_dataset("bupa").with_aside(row=range(345))
    counts = np.arange(data.n_samples) % 4
    weighted = data.weighted(counts)
    for part in [*weighted.split(seed=3), *(part for fold in weighted.folds(3, seed=1) for part in fold)]:
        assert part.sample_weight.tolist() == counts[part.aside["row"].astype(int)].tolist()
    from sklearn.utils import compute_sample_weight

    for fold in data.weighted(class_weight="balanced").folds(3):
        for part in fold:
            np.testing.assert_allclose(part.sample_weight, compute_sample_weight("balanced", part.y))


@pytest.mark.parametrize("method", ["standard", "minmax", "unit-ball"])
def test_scaling_counts_weights_as_rows(method):
    counts = [2, 1, 3, 0, 1]
    ours, rows = small().weighted(counts).scaled(method), repeated(small(), counts).scaled(method)
    np.testing.assert_allclose(ours.scale.shift, rows.scale.shift, rtol=1e-14)
    np.testing.assert_allclose(ours.scale.factor, rows.scale.factor, rtol=1e-14)
    assert ours.n_samples == 5


def test_products_and_correlations_count_weights_as_rows():
    counts = [2, 1, 3, 0, 1]
    ours, rows = (data.with_interactions() for data in (small().weighted(counts), repeated(small(), counts)))
    np.testing.assert_allclose(np.repeat(ours.X, counts, axis=0), rows.X, rtol=1e-13)
    data, many = load_dataset("wdbc"), np.arange(569) % 3
    assert data.weighted(many).correlated(0.95) == repeated(data, many).correlated(0.95) != data.correlated(0.95)


def test_weights_of_classes_leave_the_scaling_as_it_is():
    plain, weighted = small().scaled("standard"), small().weighted(class_weight={"yes": 50}).scaled("standard")
    assert weighted.scale.shift.tolist() == plain.scale.shift.tolist()
    assert apply_scaling(small().weighted([1] * 5)).X.tolist() == plain.X.tolist()


def test_a_column_of_weights_is_no_feature():
    data = small().weighted("b")
    assert data.features == ("a",)
    assert data.sample_weight.tolist() == [3.0, 5.0, 1.0, 2.0, 7.0]
    assert "sample_weight b" in repr(data)
    frame = pd.DataFrame({"x": [1, 2, 3], "n": [2, 1, 0.5], "t": [0, 1, 1]})
    assert Dataset.from_frame(frame, "t", aside="n").weighted("n").sample_weight.tolist() == [2.0, 1.0, 0.5]
    frame["n"] = ["p", "q", "r"]
    with pytest.raises(DataError, match='Column "n" contains values that are not numbers'):
        Dataset.from_frame(frame, "t", aside="n").weighted("n")


def test_the_description_says_the_rule():
    assert "class_weight balanced" in repr(small().weighted(class_weight="balanced"))
    assert "class_weight no: 1, yes: 5" in repr(small().weighted(class_weight={"yes": 5}))
    assert small().weighted([1] * 5, {"yes": 5}).weighting.words == {
        "class_weight": {"no": 1.0, "yes": 5.0},
        "sample_weight": True,
    }


def test_a_fold_whose_samples_of_a_class_all_have_weight_0_is_refused():
    import fsmodels as fs

    data = small([0, 0, 1, 1, 0]).weighted([1, 1, 0, 1, 1])
    pairs = [([0, 1, 2], [3, 4]), ([0, 1, 3], [2, 4])]
    with pytest.raises(ParameterError, match="Part 1 has samples of one class only"):
        fs.path(data, max_features=[1, 2], folds=pairs)


def test_a_rule_is_told_so_that_it_can_be_read_again():
    several = small(["a", "b", "c", "a", "c"], positive="c").weighted([1] * 5, {-1: 2, "1": 3})
    assert several.weighting.words == {"class_weight": {"-1": 2.0, "1": 3.0}, "sample_weight": True}
    assert str(several.weighting) == "class_weight -1: 2, 1: 3; sample_weight one per sample"
    for data in (several, small([True, False, True, False, True]).weighted(None, {True: 4})):
        assert data.weighted(None, data.weighting.words["class_weight"]).weighting.by_class == data.weighting.by_class
