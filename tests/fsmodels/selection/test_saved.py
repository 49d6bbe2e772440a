"""Selections as files: they decide the same, know what was proven, and their models are built again."""

import json
import warnings

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from every_model import parameters_of, samples
from fsmodels.selection.catalogue import MODELS


@pytest.fixture(scope="module")
def data():
    return samples()


def found_by(name, data, **words):
    limit = {"time_limit": 10} if MODELS[name].runs_solver else {}
    return fs.select(data, name, **parameters_of(name), **limit, **words)


def test_rows_are_stated_again(data, tmp_path):
    wide = data.with_interactions("a", "c")
    words = {
        "budget": ({"a": 1, "b": 2.5}, 3), "requires": [("a", "c")], "excludes": [("b", "d")], "hierarchy": "weak",
        "at_most": [(["a", "b"], 1)], "at_least": [(["a", "c"], 1)], "all_or_none": [["a", "c"]], "force_out": ["d"],
        "fair": ("half", 0.1), "signs": {"c": "+"}, "at_most_of_group": [({"a": "x", "b": "x"}, 1)],
    }  # fmt: skip
    found = fs.select(wide, max_features=3, **words)
    found.save(tmp_path / "x.json")
    saved = fs.load_selection(tmp_path / "x.json")
    model = saved.rebuild(wide)
    names = [row.name for row in model.component_objects(pyo.Constraint)]
    theirs = [row.name for row in found.model.component_objects(pyo.Constraint)]
    assert names == theirs
    assert fs.solve(model).objective == pytest.approx(found.objective, rel=2e-4)
    with pytest.raises(fs.DataError, match="give the same data"):
        saved.rebuild(wide.take(range(20)))


def test_samples_come_as_they_are(data, tmp_path):
    found = fs.select(data, max_features=2)
    found.save(tmp_path / "x.json")
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    labels = np.where(found.decision(data) > 0, "ill", "well").tolist()
    for one in (found, fs.load_selection(tmp_path / "x.json")):
        assert one.predict(data.X).tolist() == labels
        assert one.predict(data.X.tolist()).tolist() == labels
        assert one.predict(frame[list("dcba")]).tolist() == labels
        assert one.predict(frame[list(found.selected)].to_dict("records")).tolist() == labels
        assert one.decision_function(frame).tolist() == one.decision(data.X).tolist()
        assert one.predict(data).tolist() == np.where(np.array(labels) == "ill", 1.0, -1.0).tolist()


def test_labels_are_those_of_the_data():
    X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    numbers = fs.select(fs.Dataset.from_arrays(X, [1, 1, 1, 2, 2, 2]), "svm")
    assert numbers.predict(X).tolist() == [1, 1, 1, 2, 2, 2]
    truth = fs.select(fs.Dataset.from_arrays(X, [False] * 3 + [True] * 3), "svm").predict(X)
    assert (truth.dtype, truth.tolist()) == (bool, [False] * 3 + [True] * 3)
    merged = fs.select(fs.Dataset.from_arrays(X, ["a", "b", "b", "c", "c", "c"], positive="c"), "svm")
    assert merged.predict(X).tolist() == ["not c"] * 3 + ["c"] * 3


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([[1.0, 2.0]], r"shape \(1, 2\): give rows of 4 values, the features in this order: a, b, c, d"),
        ([1.0, 2.0, 3.0, 4.0], r"shape \(4,\)"),
        ([[1.0], [2.0, 3.0]], "not a matrix"),
        ("new.csv", "got str"),
        ({"a": 1}, "got dict"),
        (None, "got NoneType"),
        ([["x", 1, 2, 3]], "has text"),
        ([[np.nan] * 4], "no value"),
    ],
)
def test_what_is_no_sample_is_refused(data, samples, message):
    found = fs.select(data, "svm")
    with pytest.raises(fs.DataError, match=message):
        found.predict(samples)


def test_products_of_features_are_made_of_new_samples(data, tmp_path):
    found = fs.select(data.with_interactions(), max_features=3, force_in=["a:b"])
    found.save(tmp_path / "x.json")
    again = fs.load_selection(tmp_path / "x.json")
    assert again.decision(data.X) == pytest.approx(found.decision(data), abs=1e-9)
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    assert again.decision(frame) == pytest.approx(found.decision(frame), abs=1e-9)


def test_what_the_command_line_wrote_is_read_too(tmp_path, capsys):
    from fsmodels import cli

    file = tmp_path / "x.json"
    assert cli.main(["select", "bupa", "--model", "fsp-m", "--max-features", "2", "--quiet", "--json", str(file)]) == 0
    again = fs.load_selection(file)
    data = fs.load_dataset("bupa")
    assert again.error(data) == fs.select(data, max_features=2).training_error
    kernel = tmp_path / "k.json"
    words = ["--model", "gmkl", "-C", "1", "--penalty", "1", "--quiet", "--json", str(kernel)]
    assert cli.main(["select", "bupa", *words]) == 0
    with pytest.raises(fs.DataError, match=r"no support vectors of its kernel: save it in Python, found\.save"):
        fs.load_selection(kernel)
    capsys.readouterr()


def test_a_file_without_a_solution_decides_nothing(data, tmp_path):
    found = fs.select(data, max_features=1, at_least=[(["a", "b"], 2)])
    assert not found.has_solution
    found.save(tmp_path / "x.json")
    with pytest.raises(fs.ModelError, match="There is no classifier: the solve ended as infeasible"):
        fs.load_selection(tmp_path / "x.json").predict(data)


def test_what_is_no_file_of_a_selection_is_refused(data, tmp_path):
    found = fs.select(data, max_features=2)
    with pytest.raises(fs.DataError, match="cannot be read"):
        fs.load_selection(tmp_path / "none.json")
    (tmp_path / "a.json").write_text("a,b")
    with pytest.raises(fs.DataError, match="no JSON file"):
        fs.load_selection(tmp_path / "a.json")
    (tmp_path / "b.json").write_text("[]")
    with pytest.raises(fs.DataError, match="no selection"):
        fs.load_selection(tmp_path / "b.json")
    content = found.to_dict()
    (tmp_path / "c.json").write_text(json.dumps({**content, "scale": {"shift": {"a": "x"}}}))
    with pytest.raises(fs.DataError, match="save it again"):
        fs.load_selection(tmp_path / "c.json")
    with pytest.raises(fs.ParameterError, match="cannot be written"):
        found.save(tmp_path / "no" / "x.json")
    with pytest.raises(fs.ParameterError, match="needs the path of a file"):
        found.save(3)


def test_saving_leaves_nothing_beside_the_file(data, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fs.select(data, max_features=2).save(tmp_path / "x.json")
    assert [file.name for file in tmp_path.iterdir()] == ["x.json"]
