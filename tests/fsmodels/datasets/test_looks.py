"""Warnings about data: the right ones, with their numbers, and each once."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.diagnose import separation, warn_once


def told(function, *words, **options):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*words, **options)
    return [str(w.message) for w in caught if issubclass(w.category, fs.DataWarning)]


def some(rows=60, n=4, seed=0, **columns):
    """Data of two balanced classes that no feature tells apart, and columns made of the labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(rows) % 2, 1, -1)
    frame = pd.DataFrame(rng.normal(size=(rows, n)), columns=list("abcdefghij")[:n])
    return Dataset.from_frame(frame.assign(target=y, **{name: make(y, rng) for name, make in columns.items()}))


@pytest.mark.parametrize("name", fs.list_datasets()["name"])
def test_shipped_data_are_warned_of_nothing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = fs.load_dataset(name)
    assert told(warn_once, data) == []


def test_separation_is_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, size=(40, 7)).astype(float), np.where(rng.random(40) < 0.4, 1.0, -1.0)
    areas = [roc_auc_score(y > 0, X[:, j]) for j in range(7)]
    np.testing.assert_allclose(separation(X, y), [max(area, 1 - area) for area in areas], rtol=1e-12)


def test_a_feature_that_alone_tells_the_classes_apart_is_named_with_the_way_out():
    data = some(leak=lambda y, rng: 3 * y + rng.random(len(y)))
    (message,) = told(warn_once, data)
    assert '"leak" (AUC 1) alone separates the classes: ' in message
    assert '--drop leak (Python: drop=["leak"])' in message
    (message,) = told(warn_once, some(leak=lambda y, rng: -y, other=lambda y, rng: y + rng.random(len(y))))
    assert '"leak" (AUC 1), "other" (AUC 1) each separate the classes: ' in message
    assert '--drop leak --drop other (Python: drop=["leak", "other"])' in message
    near = some(rows=400, **{"the leak": lambda y, rng: y + 0.53 * rng.normal(size=len(y))})
    area = separation(near.X, near.y).max()
    assert 0.995 <= area < 1
    (message,) = told(warn_once, near)
    assert f'"the leak" (AUC {math.floor(area * 1e4) / 1e4:.4g}) alone separates the classes, or nearly so' in message
    assert '--drop "the leak"' in message
    assert told(warn_once, some(rows=400, weaker=lambda y, rng: y + 0.7 * rng.normal(size=len(y)))) == []


def test_what_chance_explains_is_no_leak():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(10, 3000)), np.repeat([0, 1], 5)
    data = Dataset.from_arrays(X, y)
    assert separation(data.X, data.y).max() == 1.0  # by chance
    assert not any("separates" in message or "each separate" in message for message in told(warn_once, data))


def test_few_samples_and_many_features_are_said_with_numbers():
    data = Dataset.from_frame(
        pd.DataFrame({"a": range(25), "kind": ["ill"] * 7 + ["well"] * 18}).sample(frac=1, random_state=0), "kind"
    )
    messages = told(warn_once, data.select_features(["a"]))
    assert any("class -1 has 7 samples (label ill)" in m and "fsmodels stability" in m for m in messages)
    rng = np.random.default_rng(0)
    wide = Dataset.from_arrays(rng.normal(size=(30, 31)), [0, 1] * 15)
    (message,) = told(warn_once, wide)
    assert "31 features for 30 samples" in message
    assert told(warn_once, Dataset.from_arrays(sparse.csr_array(wide.X), [0, 1] * 15)) == [message]


def test_each_warning_comes_once_in_a_call_and_not_in_its_folds():
    def fresh():
        return some(rows=30, leak=lambda y, rng: y + 0.1 * rng.random(len(y)))

    for ask in (
        lambda data: fs.select(data, max_features=1),
        lambda data: fs.path(data, max_features=[1, 2], folds=2),
        lambda data: fs.stability(data, max_features=1, bootstraps=3),
        lambda data: fs.cross_validate(data, max_features=1, cv=2),
        lambda data: fs.near_optimal(data, max_features=1),
        lambda data: fs.certify(data, ["a"]),
    ):
        messages = told(ask, fresh())
        assert len([m for m in messages if "separates the classes" in m]) == 1, messages
        assert len(messages) == 1
    data = fresh()
    assert told(fs.select, data, max_features=1)
    assert told(fs.select, data.scaled("standard"), max_features=1) == []  # of what was looked at


def test_the_command_line_says_it_once_and_as_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    some(rows=30, leak=lambda y, rng: y + 0.1 * rng.random(len(y))).to_frame().to_csv("p.csv", index=False)
    for words in (["select", "--model", "fsp-m"], ["stability", "--folds", "2"], ["path"]):
        limit = ["--max-features", "1:2" if words[0] == "path" else "1"]
        assert main([words[0], "p.csv", *words[1:], *limit, "--quiet"]) == 0
        err = capsys.readouterr().err
        assert err.count("separates the classes") == 1
        assert len(err.strip().splitlines()) == 1
    assert main(["select", "p.csv", "--drop", "leak", "--model", "fsp-m", "--max-features", "1", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_unscaled_columns_that_differ_are_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [1, 1000]
    lines = [f"{1 if k % 2 else -1} 1:{a} 2:{b}" for k, (a, b) in enumerate(X)]
    (tmp_path / "p.svm").write_text("\n".join(lines) + "\n")
    assert main(["select", "p.svm", "--model", "fsp-m", "--max-features", "1", "--quiet"]) == 0
    assert capsys.readouterr().err.count("times in size") == 1
    data = Dataset.from_svmlight("p.svm")
    assert len(told(fs.select, data, max_features=1)) == 1
    dense = data.to_dense()
    assert told(fs.select, dense, max_features=1) == []  # which scales them
    assert len(told(fs.fsp.fsp_m, dense, max_features=1)) == 1
