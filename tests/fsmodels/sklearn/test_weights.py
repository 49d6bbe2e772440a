"""Weights of samples count as repeats, weights of classes as costs; models that cannot weigh say so and show it."""

import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

import fsmodels as fs
from fsmodels.selection.catalogue import MODELS
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier
from fsmodels.sklearn.weights import distinct, takes_weights

BUPA = fs.load_dataset("bupa")
X, Y = BUPA.X[:120], np.where(BUPA.y[:120] > 0, "ill", "well")


def estimator(name, **words):
    return (KernelSelectorClassifier if MODELS[name].page == "kernel" else SelectorClassifier)(name, **words)


def several(seed=0, n=24, p=4, classes=2):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), np.arange(n) % classes
    X[:, 1] += y
    s = rng.integers(0, 4, size=n)
    s[:classes] = 1
    return X, y, s


@pytest.mark.parametrize("name", ["svm", "fsp-m", "one-norm-svm", "fs", "gmeb"])
def test_the_objective_is_that_of_the_repeated_samples_without_the_merge(name):
    """``fs.select`` takes rows as they are: what merging and weights leave must cost the same."""
    X, y, s = several(seed=1)
    est = SelectorClassifier(name).fit(X, y, sample_weight=s)
    data = fs.Dataset(X.repeat(s, axis=0), np.where(y.repeat(s) == 1, 1.0, -1.0), tuple("abcd")).scaled("standard")
    words = {"max_features": 4} if name == "fsp-m" else {}
    found = fs.select(data, name, **MODELS[name].defaults, **words)
    assert est.objective_ == pytest.approx(found.objective, rel=1e-5)


def test_rows_are_merged_by_their_values_alone():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, -0.0], [2.0, 1.0], [2.0, 1.0]])
    codes = np.array([0, 1, 0, 1, 0])
    for given in (X, sparse.csr_array(X)):
        rows, labels, weights = distinct(given, codes, None)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        found = sorted(zip(dense.tolist(), labels.tolist(), weights.tolist(), strict=True))
        assert found == [([1.0, 0.0], 0, 2.0), ([2.0, 1.0], 0, 1.0), ([2.0, 1.0], 1, 2.0)]
    alone = np.array([[2.0], [1.0]])
    rows, labels, weights = distinct(alone, np.array([0, 1]), None)
    assert rows is alone
    assert weights is None


@pytest.mark.parametrize("name", ["svm", "fsp-m", "one-norm-svm", "gmeb", "rfe"])
def test_a_class_that_costs_more_is_missed_less(name):
    words = {"max_features": 2} if name in ("fsp-m", "rfe") else {}
    plain = SelectorClassifier(name, **words).fit(X, Y)
    dear = SelectorClassifier(name, class_weight={"ill": 20}, **words).fit(X, Y)
    missed = [np.mean(est.predict(X[Y == "ill"]) != "ill") for est in (plain, dear)]
    assert missed[1] < missed[0] or missed == [0, 0]


def test_weights_of_classes_are_costs_of_their_samples():
    by_class = SelectorClassifier(max_features=2, scale="none", class_weight={"ill": 3}).fit(X, Y)
    by_sample = SelectorClassifier(max_features=2, scale="none").fit(X, Y, sample_weight=np.where(Y == "ill", 3, 1))
    assert by_class.objective_ == pytest.approx(by_sample.objective_, rel=1e-6)
    counts = {label: len(Y) / (2 * np.sum(label == Y)) for label in ("ill", "well")}
    balanced = SelectorClassifier(max_features=2, class_weight="balanced").fit(X, Y)
    stated = SelectorClassifier(max_features=2, class_weight=counts).fit(X, Y)
    assert balanced.objective_ == pytest.approx(stated.objective_, rel=1e-6)
    data = fs.Dataset.from_arrays(X, Y, positive="well").weighted(class_weight="balanced")
    assert balanced.objective_ == pytest.approx(fs.select(data, max_features=2).objective, rel=1e-4)


def test_of_several_classes_each_sample_costs_what_its_class_does():
    X, y, s = several(n=30, classes=3)
    costs, labels = {-1: 1.0, 0: 5.0, 1: 0.5}, np.array([-1, 0, 1])[y]  # which are also the signs of two classes
    words = {"max_features": 2, "scale": "none"}
    est = SelectorClassifier(class_weight=costs, **words).fit(X, labels, sample_weight=s)
    same = SelectorClassifier(**words).fit(X, labels, sample_weight=s * np.array([costs[k] for k in labels]))
    assert est.objective_ == pytest.approx(same.objective_, rel=1e-5)
    robust = SelectorClassifier("robust-lp", scale="none", class_weight=costs).fit(X, labels)
    (one,) = [one for one in robust.selection_ if one.data.positive_label == 1]
    slacks = np.maximum(0, 1 - one.data.y * one.decision(one.data))
    cost = np.array([costs[k] for k in labels])
    mean = sum((cost * slacks)[rows].mean() for rows in (labels == 1, labels != 1))
    assert one.objective == pytest.approx(mean, rel=1e-6)


def test_models_say_by_their_signature_whether_they_weigh():
    unable = {"fsmulti", "information-gain", "mutual-information", "relief"}
    assert {name for name in MODELS if not takes_weights(name)} == unable
    for name in MODELS:
        est = estimator(name)
        assert has_fit_parameter(est, "sample_weight") is takes_weights(name)
        assert ("class_weight" in est.get_params()) is takes_weights(name)
        assert "y" in inspect.signature(est.fit).parameters
    for name in unable:
        with pytest.raises(fs.ParameterError, match=r"takes no sample_weight.*fsp-m"):
            estimator(name).fit(X, Y, sample_weight=np.ones(120))
        with pytest.raises(fs.ParameterError, match="takes no class_weight"):
            estimator(name, class_weight="balanced").fit(X, Y)
    assert "sample_weight" in inspect.signature(SelectorClassifier.fit).parameters
    assert "sample_weight" in inspect.signature(KernelSelectorClassifier.fit).parameters


def test_a_grid_over_models_and_weights_of_classes():
    grid = [
        {"model": ["fsmulti", "relief"], "max_features": [2]},
        {"model": ["fsp-m"], "class_weight": ["balanced"], "max_features": [1]},
    ]
    search = GridSearchCV(SelectorClassifier("relief"), grid, cv=2, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 3
    est = SelectorClassifier("fsp-m", class_weight="balanced").set_params(model="fsmulti")
    assert clone(est).class_weight == "balanced"  # set, so that it is listed, and fit refuses it
    assert SelectorClassifier("relief").set_params(class_weight="balanced", model="svm").class_weight == "balanced"


def test_weights_reach_the_classifier_through_a_pipeline(request):
    import sklearn

    request.addfinalizer(lambda: sklearn.set_config(enable_metadata_routing=False))
    sklearn.set_config(enable_metadata_routing=True)
    s = np.arange(len(Y)) % 3
    est = SelectorClassifier(max_features=2).set_fit_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), est)
    pipe.fit(X, Y, sample_weight=s)
    alone = SelectorClassifier(max_features=2).fit(X, Y, sample_weight=s)
    assert pipe[-1].objective_ == pytest.approx(alone.objective_, rel=1e-6)
    assert (pickle.loads(pickle.dumps(pipe)).predict(X) == alone.predict(X)).all()


@pytest.mark.parametrize(
    ("words", "weights", "said"),
    [
        ({}, np.zeros(120), "zero"),
        ({}, np.where(Y == "ill", 1.0, 0.0), "one class"),
        ({}, -np.ones(120), "sample_weight is -1 in row 1"),
        ({}, np.full(120, np.nan), "sample_weight is nan in row 1"),
        ({}, np.ones(3), r"sample_weight has shape \(3,\) for 120 samples"),
        ({}, ["a"] * 120, "not numbers"),
        ({"class_weight": {"sick": 2}}, None, "class_weight names sick.*ill, well"),
        ({"class_weight": {"ill": 0}}, None, "class_weight=0"),
        ({"class_weight": "auto"}, None, "class_weight='auto'.*balanced"),
        ({"constraints": {"fair": ("x0", 1)}}, np.arange(120.0), "fair"),
    ],
)
def test_weights_that_are_none_are_refused(words, weights, said):
    with pytest.raises(ValueError, match=said):
        SelectorClassifier(max_features=2, **words).fit(X, Y, sample_weight=weights)
