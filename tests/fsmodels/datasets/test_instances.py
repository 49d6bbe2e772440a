"""Bags: (27) by hand and by loops, what it implies, other bags, files in, instances named, refusals, MILES on musk1."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

import fsmodels as fs
from fsmodels import instances
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.instances import BagRows, closest, embed, load_bags
from fsmodels.datasets.shipped import list_bags
from fsmodels.errors import DataWarning, ParameterError
from refusals import refusal


def of_arrays(parts, y, names=None, attributes=None):
    """Rows of a matrix for each bag, with one label a bag."""
    sizes = [len(part) for part in parts]
    names = [str(k + 1) for k in range(len(parts))] if names is None else names
    data = Dataset.from_arrays(np.concatenate([np.array(part) for part in parts]), np.repeat(y, sizes), attributes)
    return data.with_aside(bag_id=np.repeat(names, sizes))


def drawn(seed, n_bags=8, d=3, most=5):
    """Bags of 1 to ``most`` normal instances, one label after the other."""
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(rng.integers(1, most + 1), d)) for _ in range(n_bags)]
    return of_arrays(parts, [1, -1] * (n_bags // 2), names=[f"b{k}" for k in range(n_bags)])


def as_frame(data):
    """A table of the rows, with their bags and labels."""
    return pd.DataFrame(data.X, columns=list(data.features)).assign(bag_id=data.aside["bag_id"], target=data.y)


TINY = """bag_id,u,v,target
north,0,0,1
south,3,4,-1
north,0,1,1
south,0,2,-1
"""


@pytest.fixture
def tiny_file(tmp_path):
    path = tmp_path / "tiny.csv"
    path.write_text(TINY)
    return path


@pytest.fixture
def tiny(tiny_file):
    """north: (0, 0), (0, 1), rows 1 and 3 of the file; south: (3, 4), (0, 2), rows 2 and 4."""
    return Dataset.from_csv(tiny_file, aside="bag_id")


# --- the embedding --------------------------------------------------------------------------------------------------


def test_the_embedding_by_hand(tiny):
    embedding = embed(tiny, sigma=2.0)
    assert embedding.data.features == ("north:1", "north:2", "south:1", "south:2")
    # squared distances to the closest instance of the bag
    squares = [[0, 0, 18, 1], [4, 1, 0, 0]]
    np.testing.assert_allclose(embedding.data.X, np.exp(-np.array(squares) / 8), rtol=1e-15)
    assert embedding.data.y.tolist() == [1, -1]
    assert (embedding.data.name, embedding.data.positive_label, embedding.data.negative_label) == ("tiny", 1, -1)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    sigma=st.floats(0.05, 20),
    shift=st.sampled_from([0.0, 1e5]),
    block=st.sampled_from([1, 7, instances.BLOCK]),
)
def test_the_embedding_is_formula_27(seed, sigma, shift, block):
    """Far from the origin too, and however the distances are cut in blocks."""
    data = drawn(seed)
    frame = as_frame(data)
    frame[list(data.features)] += shift
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instances, "BLOCK", block)
        embedding = embed(frame, sigma)
    found, bags, X = embedding.data.X, embedding.bags, embedding.bags.instances.X
    for i in range(len(bags.names)):
        for k in range(len(X)):
            best = 0.0
            for j in np.flatnonzero(bags.bag == i):
                square = sum((a - b) ** 2 for a, b in zip(X[j], X[k], strict=True))
                best = max(best, math.exp(-square / (2 * sigma**2)))
            assert found[i, k] == pytest.approx(best, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_and_bags_does_not_matter(seed):
    data = drawn(seed)
    order = np.random.default_rng(seed).permutation(len(data))
    ours, theirs = embed(data), embed(as_frame(data).iloc[order])
    bags, other = ours.bags, theirs.bags
    assert theirs.sigma == pytest.approx(ours.sigma, rel=1e-12)
    rows = [bags.names.index(name) for name in other.names]
    columns = order[other.row - 1]  # the row that it was before
    np.testing.assert_allclose(theirs.data.X, ours.data.X[np.ix_(rows, columns)], rtol=1e-12)
    np.testing.assert_array_equal(other.y, bags.y[rows])
    np.testing.assert_array_equal(other.instances.X, bags.instances.X[columns])


def test_a_bag_has_similarity_1_with_its_own_instances():
    embedding = embed(load_bags("musk1_bags").scaled("standard"), sigma=3.0)
    X = embedding.data.X
    assert (X[embedding.bags.bag, np.arange(476)] == 1.0).all()
    assert X.min() >= 0
    assert X.max() == 1


def test_an_instance_in_two_bags_gives_two_equal_features():
    data = of_arrays([[[1.0, 2.0], [5.0, 5.0]], [[1.0, 2.0]], [[0.0, 9.0]]], [1, -1, 1])
    X = embed(data, sigma=1.0).data.X
    np.testing.assert_array_equal(X[:, 0], X[:, 2])
    assert X[:2, 0].tolist() == [1, 1]


def test_the_limits_of_sigma(tiny):
    assert (embed(tiny, sigma=1e9).data.X == 1).all()
    for sigma in (1e-3, 1e-200, 1e-308):
        assert embed(tiny, sigma=sigma).data.X.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("seed", range(3))
def test_similarities_grow_with_sigma(seed):
    embedding = embed(drawn(seed))
    narrow, wide = (embedding.with_sigma(s).data.X for s in (0.5, 1.0))
    assert (narrow <= wide).all()
    assert (narrow < wide).any()
    np.testing.assert_array_equal(wide, embed(drawn(seed), 1.0).data.X)


def test_the_default_of_sigma_is_the_median_distance_to_other_bags(tiny):
    embedding = embed(tiny)
    assert embedding.sigma == pytest.approx(np.median([math.sqrt(18), 1, 2, 1]))  # south's to north, north's to south
    assert embedding.sigma_rule == "median"
    assert embedding.with_sigma(1).sigma_rule == embed(tiny, 1).sigma_rule == "given"
    assert repr(embedding) == "Embedding('tiny', 2 bags x 4 instances, sigma 1.5 (median))"


def test_sigma_follows_the_units(tiny):
    """Rescaled attributes and sigma together change nothing; the default sigma rescales by itself."""
    frame = as_frame(tiny)
    frame[["u", "v"]] *= 1000
    np.testing.assert_allclose(embed(frame).data.X, embed(tiny).data.X, rtol=1e-12)


# --- other bags -----------------------------------------------------------------------------------------------------


def test_other_bags_are_embedded_by_the_training_instances(tiny):
    embedding = embed(tiny, sigma=2.0)
    other = pd.DataFrame({"v": [1.0, 4.0], "u": [1.0, 3.0], "bag_id": ["w", "x"], "target": [1, -1]})
    data = embedding.transform(Dataset.from_frame(other, aside="bag_id"))
    assert data.features == embedding.data.features
    np.testing.assert_allclose(data.X, np.exp(-np.array([[2, 1, 13, 2], [25, 18, 0, 13]]) / 8), rtol=1e-14)
    assert data.y.tolist() == [1, -1]


def test_the_training_bags_transform_to_the_training_data():
    data = drawn(1).scaled("standard")
    embedding = embed(data)
    np.testing.assert_array_equal(embedding.transform(data).X, embedding.data.X)


def test_held_out_bags_get_the_scaling_of_the_training_bags_and_do_not_depend_on_one_another():
    data = load_bags("musk1_bags")
    rows, others = next(GroupKFold(3).split(data.X, data.y, data.aside["bag_id"]))
    train, test = data.take(rows).scaled("standard"), data.take(others)
    embedding = embed(train)
    expected = embedding.transform(test)
    assert expected.X.shape == (len(set(test.aside["bag_id"])), len(train))
    for other in (train.apply_scale_to(test), test.scaled("minmax")):
        np.testing.assert_allclose(embedding.transform(other).X, expected.X, rtol=1e-9)
    bag = test.take(test.aside["bag_id"] == embed(test).bags.names[4])
    np.testing.assert_allclose(embedding.transform(bag).X, expected.X[[4]], rtol=1e-12)


# --- whole bags -----------------------------------------------------------------------------------------------------


def test_a_bag_that_is_divided_is_refused():
    data = load_bags("musk1_bags")
    train, _, test = data.split(0.7, 0, 0.3, seed=1)
    assert "GroupKFold" in refusal(embed(train).transform, test)


def test_bags_have_the_order_of_their_first_rows(tiny):
    bags = embed(tiny.take([1, 0, 2, 3])).bags
    assert bags.names == ("south", "north")
    assert bags.row.tolist() == [1, 4, 2, 3]
    assert bags.row_in_bag.tolist() == [1, 2, 1, 2]
    assert bags.y.tolist() == [-1, 1]


@pytest.mark.parametrize("name", ["Bags", "BagFold", "BagSplit"])
def test_a_removed_name_leads_to_embed(name):
    with pytest.raises(
        AttributeError, match=rf'instances\.{name} was removed.*embed\(data, bag="bag_id"\).*GroupKFold'
    ):
        getattr(fs.instances, name)
    assert not hasattr(fs.instances, "bogus")


# --- which instances ------------------------------------------------------------------------------------------------


def test_the_selected_instances_are_rows_of_the_file(tmp_path):
    """A positive bag holds one instance near (5, 5, 5), anywhere in the file; the rest is noise."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)) * [1, 10, 0.1], columns=["a", "b", "weight"])
    frame["bag_id"] = [f"bag {k % 30}" for k in rng.permutation(120)]
    frame["musk"] = np.where(frame.bag_id.str[4:].astype(int) % 2, "yes", "no")
    planted = frame[frame.musk == "yes"].drop_duplicates("bag_id").index
    frame.loc[planted, ["a", "b", "weight"]] += [5, 50, 0.5]
    path = tmp_path / "planted.csv"
    frame.to_csv(path, index=False)

    embedding = embed(Dataset.from_csv(path, target="musk", aside="bag_id").scaled("standard"))
    found = fs.select(embedding.data, "one-norm-svm", C=10.0)
    table = embedding.concepts(found, attributes=True)
    assert list(table["feature"]) == sorted(found.selected, key=lambda name: -abs(found.weights[name]))
    for row in table.to_dict("records"):
        line = frame.iloc[row["row"] - 1]
        assert row["bag"] == line.bag_id
        assert row["label"] == (1 if line.musk == "yes" else -1)
        assert row["feature"] == f"{row['bag']}:{row['row_in_bag']}"
        assert row["row_in_bag"] == 1 + (frame.bag_id.iloc[: row["row"] - 1] == line.bag_id).sum()
        assert row["weight"] == found.weights[row["feature"]]
        values = [row["a"], row["b"], row["weight (attribute)"]]
        np.testing.assert_allclose(values, line[["a", "b", "weight"]].astype(float), rtol=1e-9, atol=1e-12)
    assert table["weight"].iloc[0] > 0
    assert table["row"].iloc[0] - 1 in planted
    assert found.training_error == 0


def test_concepts_of_weights_from_elsewhere(tiny):
    embedding = embed(tiny)
    table = embedding.concepts({"south:1": -2.0, "north:2": 2.0, "north:1": 3.0, "south:2": 0.0})
    assert list(table["feature"]) == ["north:1", "north:2", "south:1"]  # equal sizes in the order of the instances
    assert list(table["row"]) == [1, 3, 2]
    first = {"feature": "north:1", "bag": "north", "row_in_bag": 1, "row": 1, "label": 1, "weight": 3.0}
    assert json.loads(json.dumps(table.to_dict("records")))[0] == first
    assert list(table.columns) == ["feature", "bag", "row_in_bag", "row", "label", "weight"]
    assert 'Did you mean "south:1"' in refusal(embedding.concepts, {"south:10": 1.0})
    assert len(embedding.concepts({})) == len(embedding.concepts({}, attributes=True)) == 0


def test_instances_of_numbered_bags_are_called_bag1_and_so_on():
    assert embed(of_arrays([[[0.0]], [[1.0], [2.0]]], [1, 0])).features == ("bag1:1", "bag2:1", "bag2:2")


def test_the_facts_are_enough_to_embed_again(tiny_file):
    embedding = embed(Dataset.from_csv(tiny_file, aside="bag_id").scaled("standard"))
    facts, table = json.loads(json.dumps(embedding.facts())), pd.read_csv(tiny_file)
    scale = facts["attribute_scale"]
    Z = np.column_stack([(table[name] - scale["shift"][name]) * scale["factor"][name] for name in ("u", "v")])
    square = min(((Z[k] - Z[1]) ** 2).sum() for k in (0, 2))  # from north to south:1
    assert embedding.data.X[0, 2] == pytest.approx(math.exp(-square / (2 * facts["sigma"] ** 2)))
    assert [facts[what] for what in ("bags", "instances", "attributes", "sigma_rule")] == [2, 4, 2, "median"]


# --- bags in --------------------------------------------------------------------------------------------------------


def test_a_file_and_a_frame_are_the_same_bags(tiny_file, tiny):
    ours, theirs = embed(tiny).bags, embed(pd.read_csv(tiny_file)).bags
    np.testing.assert_array_equal(theirs.instances.X, ours.instances.X)
    assert theirs.names == ours.names == ("north", "south")
    assert theirs.row.tolist() == ours.row.tolist() == [1, 3, 2, 4]


def test_bags_are_numbers_or_text_and_the_label_may_be_named():
    frame = pd.DataFrame({"molecule": [7.0, 7.0, 10.0, 8.0], "x": range(4), "kind": list("aacb")})
    embedding = embed(frame, bag="molecule", target="kind", positive="b")
    assert embedding.bags.names == ("7", "10", "8")
    assert embedding.data.y.tolist() == [-1, -1, 1]  # two labels in one class are fine
    assert "labels a, c" in repr(embedding.data)


def test_the_shipped_bags_are_those_of_their_source():
    row = list_bags().set_index("name").loc["musk1_bags"]
    data = load_bags("musk1_bags")
    bags = BagRows.of(data, "bag_id")
    assert (row.bags, row.instances, row.attributes, row.positives) == (92, 476, 166, 47)
    assert (len(bags.names), len(data), data.n_features, (bags.y > 0).sum()) == (92, 476, 166, 47)
    assert "CC BY 4.0" in row.licence
    flat = fs.load_dataset("musk1")
    ours = np.column_stack([data.X, data.y])
    theirs = np.column_stack([flat.X, flat.y])
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
    assert "load_dataset" in refusal(load_bags, "wdbc")
    assert "no set of bags" in (message := refusal(load_bags, "musk1_bag"))
    assert 'Did you mean "musk1_bags"?' in message


# --- refusals -------------------------------------------------------------------------------------------------------


def changed(tmp_path, old, new, **options):
    path = tmp_path / "changed.csv"
    assert old in TINY
    path.write_text(TINY.replace(old, new))
    return refusal(lambda: embed(Dataset.from_csv(path, aside="bag_id"), **options))


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (
            "0,1,1\n",
            "0,1,-1\n",
            ['Bag "north" has class +1 in row 1', "class -1 in row 3", "the same label"],
        ),
        ("-1", "1", ['"target" has the label 1']),
        ("bag_id", "bag-id", ['no column "bag_id"', 'Did you mean "bag-id"?', "--bags"]),
        ("target", "y", ['no column "target" for the labels']),
        ("north,0,1", ",0,1", ['Column "bag_id" of', "no value in row 3", "fill it in"]),
        ("south,3", "south,three", ['Column "u" has text in row 2, line 3 ("three")']),
        ("3,4", "3,", ['Column "v" has no value', "row 2, line 3"]),
        ("3,4", "3,inf", ['Column "v" has an infinite value']),
        ("u,v", "u,u", ['2 columns named "u"']),
        ("u,v", "u,bag_id", ['2 columns named "bag_id"']),
        ("4,-1", "4,", ['"target" has no label in row 2, line 3']),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, old, new, parts):
    message = changed(tmp_path, old, new)
    assert all(part in message for part in parts), message


def test_frames_without_bags_or_attributes_are_refused(tiny):
    frame = pd.DataFrame({"bag_id": [None, np.nan, "", " "], "x": range(4), "target": [1, -1, 1, -1]})
    assert "no value in row 1" in refusal(embed, frame)
    assert "no column" in refusal(embed, frame.drop(columns="bag_id"))
    assert "no column" in refusal(embed, frame, bag="molecule")
    assert "contains the labels" in refusal(embed, frame, bag="target")
    assert 'aside="molecule"' in refusal(embed, tiny, bag="molecule")
    assert "no features" in refusal(embed, frame.drop(columns="x").assign(bag_id=1))


def test_sparse_attributes_and_weights_are_refused(tiny):
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.eye(4), columns=list("abcd"))
    frame = frame.assign(bag_id=[1, 1, 2, 2], target=[1, 1, -1, -1])
    assert "dense" in refusal(embed, frame)
    assert "does not use sample weights" in refusal(embed, tiny.weighted(class_weight="balanced"), error=ParameterError)


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, "wide", True])
def test_a_sigma_that_is_no_number_above_0_is_refused(tiny, sigma):
    message = refusal(embed, tiny, sigma, error=ParameterError)
    assert f"sigma={sigma!r}" in message
    assert message == refusal(embed(tiny).with_sigma, sigma, error=ParameterError)


def test_bags_that_give_no_sigma_are_refused(tiny):
    assert "there is one bag" in refusal(embed, tiny.take([0, 2]), error=ParameterError)
    alike = of_arrays([[[1.0]], [[1.0]], [[1.0], [2.0]]], [1, -1, 1])
    assert "at least half of the distances" in refusal(embed, alike, error=ParameterError)
    assert embed(alike, 1.0).data.X.min() == pytest.approx(math.exp(-0.5))


def test_what_is_no_bags_is_refused(tiny):
    data = fs.load_dataset("bupa")
    for call in (embed, embed(tiny).transform):
        assert 'aside="bag_id"' in refusal(call, data)
        assert "needs a Dataset" in refusal(call, [[1.0]], error=ParameterError)
        assert "no bag" in refusal(call, tiny.take([]))
    other = of_arrays([[[1.0]], [[2.0]]], [1, -1], attributes=["u"])
    assert "lack features (v)" in refusal(embed(tiny).transform, other)


def test_distances_that_overflow_are_refused():
    data = of_arrays([[[1e200]], [[-1e200]]], [1, -1])
    assert 'scaled("standard")' in refusal(embed, data)
    assert embed(data.scaled("minmax"), 1.0).data.X[0, 1] == pytest.approx(math.exp(-0.5))


def test_a_constant_attribute_is_a_warning_and_changes_no_distance(tiny):
    with pytest.warns(DataWarning, match='"same"') as caught:
        more = embed(as_frame(tiny).assign(same=7.0)).bags
    assert caught[0].filename == __file__
    ours = embed(tiny).bags
    np.testing.assert_allclose(closest(more, more.instances.X), closest(ours, ours.instances.X), rtol=1e-15)


# --- MILES ----------------------------------------------------------------------------------------------------------


def test_miles_labels_held_out_musk_bags():
    """One-norm SVM on embedded instances; the larger class alone would have 0.51 right."""
    data, wrong = load_bags("musk1_bags"), 0
    for rows, others in StratifiedGroupKFold(5).split(data.X, data.y, data.aside["bag_id"]):
        embedding = embed(data.take(rows).scaled("standard"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = fs.select(embedding.data, "one-norm-svm", C=10.0)
        assert 5 < len(found.selected) < len(embedding.data)  # a basic solution of the LP has at most a feature a bag
        held_out = embedding.transform(data.take(others))
        wrong += (found.predict(held_out) != held_out.y).sum()
    assert 1 - wrong / 92 > 0.75
