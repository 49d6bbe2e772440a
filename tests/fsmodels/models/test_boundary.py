"""Samples on the decision boundary: one rule for every report, whatever solver found the weights."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.models.classifier import linear_decision

X = np.array([[-1.0], [-1.0], [0.0], [0.0], [1.0], [1.0]])
Y = [-1, -1, -1, 1, 1, 1]  # the SVM is w = 1, b = 0: two samples are on the boundary


@pytest.fixture
def symmetric() -> fs.Dataset:
    return fs.Dataset.from_arrays(X, Y, ["x"]).scaled("none")


def test_select_and_path_report_one_error_for_one_rule():
    data = fs.load_dataset("cleveland")
    alone = fs.select(data, max_features=4)
    along = fs.path(data, max_features=[3, 4, 5])
    assert along.points[1].selected == alone.selected
    assert along["training_error"][4] == alone.training_error == pytest.approx(44 / 297)
    assert along.points[1].training_on_boundary == alone.training_on_boundary == 2


@pytest.mark.parametrize("noise", [0.0, 5e-9, -5e-9])
@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 1e2])
def test_the_sign_of_rounding_decides_nothing(noise, size):
    w, b = size * np.array([1.0, -1.0]), size * noise
    points = np.array([[2.0, 2.0], [2.0, 1.9], [1.9, 2.0]])
    for rows in (points, sparse.csr_matrix(points)):
        assert np.sign(linear_decision(rows, w, b)).tolist() == [0.0, 1.0, -1.0]


def test_columns_with_large_values_keep_their_margins():
    years = np.array([[2e6], [2e6 + 1.0]])
    assert linear_decision(years, np.array([2.0]), -4e6 - 1.0).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("solver", ["clarabel", "scip", "pounce"])
def test_every_report_counts_the_samples_on_the_boundary_as_negative(solver, symmetric, tmp_path, capsys):
    found = fs.select(symmetric, "svm", scale="none", solver=solver)
    assert found.decision(symmetric)[2:4].tolist() == [0.0, 0.0]
    assert found.predict(symmetric).tolist() == [-1, -1, -1, -1, 1, 1]
    assert found.training_error == found.error(symmetric) == pytest.approx(1 / 6)
    assert found.on_boundary(symmetric) == found.training_on_boundary == 2
    assert found.measure(symmetric, ["error"])["error"] == pytest.approx(100 / 6)
    assert "2 samples have a decision of 0 and count as class -1." in repr(found)
    assert found.to_dict()["training_on_boundary"] == 2
    found.save(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text("utf-8"))["training_on_boundary"] == 2
    assert fs.load_selection(tmp_path / "found.json").on_boundary(symmetric) == 2
    pd.DataFrame({"x": X.ravel()}).to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(tmp_path / "found.json"), str(tmp_path / "new.csv")]) == 0
    out, err = capsys.readouterr()
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["-1", "-1", "-1", "-1", "1", "1"]
    assert "2 samples have a decision of 0" in err


def test_held_out_samples_on_the_boundary_are_counted(symmetric):
    folds = [(np.arange(6), np.arange(6))] * 2  # learnt from all, judged on all
    found = fs.cross_validate(symmetric, "svm", scale="none", cv=folds)
    assert found.runs["on_boundary"].tolist() == [2, 2]
    assert "Held out: 4 samples have a decision of 0 and count as class -1." in found.sentence
    assert found.error == pytest.approx(1 / 6)
    compared = fs.compare(symmetric, ["svm", "rfe"], max_features=1, cv=folds, scale="none")
    assert compared.runs["on_boundary"].tolist() == [2] * 4
    assert "svm: 4 samples have a decision of 0" in compared.sentence


def test_the_estimator_follows_the_same_rule(symmetric):
    from fsmodels.sklearn import SelectorClassifier

    classifier = SelectorClassifier("svm", scale="none").fit(X, Y)
    assert classifier.predict(X).tolist() == [-1, -1, -1, -1, 1, 1]
    assert classifier.decision_function(X)[2:4].tolist() == [0.0, 0.0]


def test_a_kernel_follows_the_same_rule():
    points = np.array([[-1.0, 1.0], [-1.0, -1.0], [0.0, 0.5], [0.0, -0.5], [1.0, 1.0], [1.0, -1.0]])
    data = fs.Dataset.from_arrays(points, Y, ["x", "z"]).scaled("none")
    classifier = fs.select(data, "full-fs", scale="none", C=1.0, penalty=0.1).classifier
    moved = fs.kernel.KernelClassifier(
        data, classifier.kernel, classifier.z, classifier.rows, classifier.a, classifier.b + 1e-9
    )
    values = moved.values
    assert np.array_equal(moved.decision(data.X) == 0, np.abs(values) <= 1e-6)
    assert np.array_equal(moved.predict(data.X), np.where(values > 1e-6, 1, -1))
