"""Every report names the class that a positive weight speaks for, a guess once, and labels that were merged."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels import cli

X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])


def told(data, model="svm", **options):
    found = fs.select(data, model, **options)
    return found, repr(found), found._repr_html_()


@pytest.mark.parametrize(
    ("labels", "positive", "guessed"),
    [
        (["ill", "well"], None, True),
        ([1, 2], None, True),
        ([0.5, 1], None, True),
        (["ill", "well"], "ill", False),
        (["ill", "well"], "well", False),
        ([0, 1], None, False),
        ([-1, 1], None, False),
        (["-1", "+1"], None, False),
        ([False, True], None, False),
        ([1, 2], 2, False),
    ],
)
def test_a_guess_is_what_nobody_named_and_no_one_expects(labels, positive, guessed, tmp_path):
    y = np.array(labels, dtype=object)[[0, 0, 0, 1, 1, 1]]
    frame = pd.DataFrame({"x": X.ravel(), "target": y})
    frame.to_csv(tmp_path / "six.csv", index=False)
    every = [
        fs.Dataset.from_arrays(X, y, positive=positive),
        fs.Dataset.from_frame(frame, positive=positive),
        fs.Dataset.from_csv(tmp_path / "six.csv", positive=positive),
    ]
    assert [data.positive_guessed for data in every] == [guessed] * len(every)
    for data in (every[0].scaled("standard"), every[0].take([0, 5]), every[0].select_features(["x1"])):
        assert data.positive_guessed == guessed


def test_of_libsvm_files_and_embedded_bags_too(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n2 1:3\n2 1:1\n")
    assert fs.Dataset.from_svmlight(tmp_path / "a.svm").positive_guessed
    assert not fs.Dataset.from_svmlight(tmp_path / "a.svm", positive=1).positive_guessed
    data = fs.Dataset.from_arrays(X, ["a", "b"] * 3).with_aside(bag_id=range(6))
    assert fs.instances.embed(data, sigma=1.0).data.positive_guessed


def test_reports_name_the_class_of_a_positive_weight_and_say_a_guess_once():
    found, text, html = told(fs.Dataset.from_arrays(X, ["ill"] * 3 + ["well"] * 3, features=["dose"]))
    assert found.weights["dose"] > 0  # well where the dose is high
    for report in (text, html):
        assert "well (favoured by positive weights); class -1 is ill" in report
        assert report.count("the later of the two labels in order") == 1
        assert "--positive ill" in report
    assert found.to_dict()["data"]["positive_guessed"] is True
    turned, text, html = told(fs.Dataset.from_arrays(X, ["ill"] * 3 + ["well"] * 3, positive="ill", features=["dose"]))
    assert turned.weights["dose"] < 0
    for report in (text, html):
        assert "ill (favoured by positive weights); class -1 is well" in report
        assert "the later" not in report
    assert turned.to_dict()["data"]["positive_guessed"] is False


def test_merged_labels_are_listed():
    data = fs.Dataset.from_arrays(X, ["a", "b", "c", "d", "d", "d"], positive="d")
    found, text, html = told(data)
    for report in (text, html):
        assert "d (favoured by positive weights); class -1 is 3 labels merged, a, b, c" in report
    assert found.to_dict()["data"]["negative_label"] == ["a", "b", "c"]


def test_of_a_kernel_it_is_the_decision_that_has_a_sign():
    _, text, html = told(fs.Dataset.from_arrays(X, [0, 0, 1, 1, 0, 0]), "gmkl", C=1.0, penalty=0.01)
    for report in (text, html):
        assert "1 (a decision above 0); class -1 is 0" in report


def test_baselines_and_sparse_data_say_it_too():
    data = fs.Dataset.from_arrays(sparse.csr_array(X), ["ill"] * 3 + ["well"] * 3)
    for model in ("rfe", "information-gain"):
        assert "well (favoured by positive weights)" in repr(fs.select(data, model, max_features=1))


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_the_command_line_says_the_guess_once_at_the_start(quiet, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": X.ravel(), "target": ["no way"] * 3 + ["well"] * 3}).to_csv("six.csv", index=False)
    assert cli.main(["select", "six.csv", "--model", "svm", "--json", "out.json", *quiet]) == 0
    out, err = capsys.readouterr()
    assert err.count("Class +1 is well, the later of the two labels in order: --positive 'no way' (Python: ") == 1
    assert "the later" not in out
    assert quiet or "well (favoured by positive weights); class -1 is no way" in out
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["data"]["positive_guessed"] is True
    assert cli.main(["select", "six.csv", "--model", "svm", "--positive", "no way", *quiet]) == 0
    assert "Class +1" not in capsys.readouterr().err


def test_names_of_classes_appear_in_reports_and_not_in_predictions():
    data = fs.Dataset.from_arrays(X, [0, 0, 0, 1, 1, 1], features=["dose"]).with_class_names("ill", "well")
    found, text, html = told(data)
    for report in (text, html):
        assert "ill (favoured by positive weights); class -1 is well" in report
    assert repr(data) == "Dataset('data', 6 samples x 1 features, +1: 3 (ill), -1: 3 (well), scale none)"
    assert "favour class ill\nred: well" in found.plot().get_xlabel()
    assert fs.cross_validate(data, "svm", cv=3).confusion.index.tolist() == ["ill", "well"]
    assert found.to_dict()["data"]["class_names"] == ["ill", "well"]
    assert found.predict([[0.0], [5.0]]).tolist() == [0, 1]


def test_names_of_classes_stay_with_parts_and_embedded_bags():
    data = fs.Dataset.from_arrays(X, ["a", "b"] * 3).with_aside(bag_id=range(6)).with_class_names("B", "A")
    parts = [data.take([0, 1]), data.scaled("standard"), data.unscaled()]
    parts.append(fs.instances.embed(data, sigma=1.0).data)
    assert all(part.classes == ("B", "A") for part in parts)


def test_without_names_the_classes_are_the_labels():
    assert fs.Dataset.from_arrays(X, [1, 1, 1, 2, 2, 2]).classes == ("2", "1")
    assert fs.Dataset.from_arrays(X, ["a", "b", "c", "d", "d", "d"], positive="d").classes == ("d", "not d")


@pytest.mark.parametrize("names", [("a", "a"), ("", "a"), ("a", "  "), (1, 0), (None, "a")])
def test_names_that_do_not_distinguish_the_classes_are_rejected(names):
    with pytest.raises(fs.ParameterError, match="give two different texts"):
        fs.Dataset.from_arrays(X, [0, 1] * 3).with_class_names(*names)


@pytest.mark.parametrize("name", [name for name in fs.list_datasets()["name"] if name != "bupa"])
def test_shipped_data_sets_have_names_of_classes(name):
    positive, negative = fs.load_dataset(name).classes
    assert {positive, negative}.isdisjoint({"1", "-1"})


def test_the_command_line_writes_the_names_of_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": X.ravel(), "target": [0, 0, 0, 1, 1, 1]}).to_csv("six.csv", index=False)
    names = ["--class-names", "ill, well"]
    assert cli.main(["select", "six.csv", "--model", "svm", "--cv", "3", "--json", "out.json", *names]) == 0
    out = capsys.readouterr().out
    assert "class +1 is ill (3 samples)" in out
    assert "predicted ill  predicted well" in out
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["data"]["class_names"] == ["ill", "well"]
    assert cli.main(["predict", "out.json", "six.csv", "--target", "target"]) == 0
    out, err = capsys.readouterr()
    assert [line.split(",")[1] for line in out.splitlines()] == ["label", *["well"] * 3, *["ill"] * 3]
    assert "0% (0 of 6 samples)" in err
    assert cli.main(["select", "six.csv", "--model", "svm", "--class-names", "ill"]) == 2
    assert "write POS,NEG" in capsys.readouterr().err


def test_the_command_line_names_the_classes_of_shipped_data_unless_labels_are_given(capsys):
    assert cli.main(["select", "wdbc", "--model", "relief", "--max-features", "1"]) == 0
    assert "class +1 is malignant (212 samples)" in capsys.readouterr().out
    assert cli.main(["select", "wdbc", "--model", "relief", "--max-features", "1", "--positive=-1"]) == 0
    assert "class +1 is -1 (357 samples)" in capsys.readouterr().out
