"""What the four functions have in common: workers, text, JSON and rejected parameters."""

import json
import pickle

import joblib
import matplotlib as mpl
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import fsmodels as fs
from fsmodels.selection.resampling import bootstraps_of
from fsmodels.selection.workers import each

mpl.use("Agg")
CALLS = {
    "cross_validate": (fs.cross_validate, (), {"max_features": 2, "cv": 4}),
    "choose": (fs.choose, ("rfe", {"max_features": [1, 2, 4], "C": [0.1, 1.0]}), {"rule": "best", "cv": 3}),
    "compare": (fs.compare, (["fsp-m", "rfe", "fsv"],), {"max_features": 2, "C": 0.5, "cv": 4, "seed": 1}),
    "stability": (fs.stability, (), {"max_features": 2, "bootstraps": 6, "seed": 1}),
}


@pytest.fixture(scope="module", params=CALLS)
def call(request, data):
    """A function with its arguments, and its result."""
    function, args, words = CALLS[request.param]
    return lambda **more: function(data, *args, **words, **more), function(data, *args, **words)


def runs_of(found):
    """The runs without the column that depends on the clock."""
    return getattr(found, "nested", found).runs.drop(columns="seconds")


def test_workers_give_equal_results(call):
    function, found = call
    by_two = function(n_jobs=2)
    assert by_two.sentence == found.sentence
    assert (
        by_two.table()
        .drop(columns="seconds", errors="ignore")
        .equals(found.table().drop(columns="seconds", errors="ignore"))
    )
    assert runs_of(by_two).equals(runs_of(found))


def test_results_are_shown_sent_and_written(call):
    _, found = call
    content = found.to_dict()
    json.dumps(content, allow_nan=False)
    assert content["sentence"] == str(found) == pickle.loads(pickle.dumps(found)).sentence
    assert repr(found).startswith(str(found))
    assert "<table" in found._repr_html_()
    axes = mpl.figure.Figure().subplots()
    assert found.plot(axes) is axes


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(data, n_jobs):
    done = []

    def slow(part):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(part)
        return len(done)

    found = {}
    with joblib.parallel_config("sequential"):  # in this process, so that its workers see ``done``
        assert not each(slow, bootstraps_of(data, 6, 0), n_jobs, found.__setitem__)
    assert found == {0: 1, 1: 2, 2: 3}


@pytest.mark.parametrize("name", ["cv", "folds"])
@pytest.mark.parametrize(
    ("folds", "message"),
    [
        (1, "=1 is not allowed"),
        (3.5, "=3.5 is not allowed"),
        ("many", "='many' is not allowed"),
        (True, "=True is not allowed"),
        (object(), "=<object object at .* is not allowed: give a number such as 5, a splitter"),
        ([1, 2], r"=\[1, 2\] is not allowed"),
        ([(np.arange(40), np.arange(40, 60))], " gives 1 part"),
        ([(np.arange(3), np.arange(3, 60))] * 2, "Part 1 has samples of one class only"),
    ],
)
def test_what_is_no_folds_is_rejected(data, name, folds, message):
    function = {"cv": fs.cross_validate, "folds": fs.stability}[name]
    match = message if message.startswith("Part") else name + message
    with pytest.raises(fs.ParameterError, match=match):
        function(data.take(np.argsort(data.y)), max_features=2, **{name: folds})


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        *((name, {"validation": None}, "does not take validation") for name in CALLS),
        *((name, {"n_jobs": 0}, "n_jobs=0") for name in CALLS),
        *((name, {"modell": 1}, "modell") for name in ("cross_validate", "choose", "stability")),
        *(
            (name, {"checkpoint": "runs.jsonl"}, "takes no checkpoint: memory=DIR")
            for name in ("cross_validate", "choose", "compare")
        ),
        ("cross_validate", {"cv": StratifiedKFold(3), "repeats": 2}, "repeats=2 needs a number of folds"),
        ("cross_validate", {"repeats": 0}, "repeats=0"),
        ("cross_validate", {"seed": -1}, "seed=-1"),
        ("cross_validate", {"model": "fspm"}, "Did you mean"),
        ("cross_validate", {"penalty": 1.0}, "does not use penalty"),
        ("stability", {"folds": 3, "bootstraps": 3}, "folds or bootstraps, not both"),
        ("stability", {"bootstraps": 1}, "bootstraps=1 is not allowed"),
        ("stability", {"bootstraps": 2.5}, "bootstraps=2.5 is not allowed"),
        ("stability", {"level": 1.5}, "level=1.5"),
        ("stability", {"max_features": 0}, "max_features=0"),
        ("compare", {"models": ["rfe"]}, "at least two models"),
        ("compare", {"models": []}, "at least two models and got none"),
        ("compare", {"models": ["rfe", "rfe"]}, "names rfe, rfe"),
        ("compare", {"models": ["rfe", "fspm"]}, "Did you mean"),
        ("compare", {"penalty": 1.0, "models": ["rfe", "relief"]}, "none of rfe, relief uses penalty"),
        ("compare", {"max_features": 6}, "max_features=6"),
        ("compare", {"C": -1}, "C=-1"),
        ("choose", {"over": None}, "choose needs values"),
        ("choose", {"over": {}}, "choose needs values"),
        ("choose", {"over": {"max_features": 3}}, "max_features is 3: give several"),
        ("choose", {"over": {"max_features": []}}, "give at least one"),
        ("choose", {"over": {"max_features": [1, 1]}}, "give each value once"),
        ("choose", {"max_features": 3}, "given twice"),
        ("choose", {"rule": "knee"}, "rule='knee'"),
        ("choose", {"nested": 1}, "nested=1"),
        ("choose", {"nested": False, "repeats": 2}, "nested=False has no outer folds"),
        ("choose", {"inner": 29}, "inner=29 is not allowed"),
        ("choose", {"over": {"max_features": [1, 9]}}, "max_features=9"),
        ("choose", {"search": "bisection"}, "takes no search: every value of over"),
    ],
)
def test_wrong_parameters_are_rejected(data, name, words, message):
    function, args, own = CALLS[name]
    positions = {"choose": ("model", "over"), "compare": ("models",)}.get(name, ())
    with pytest.raises(fs.errors.Error, match=message):
        function(data, **{**dict(zip(positions, args, strict=True)), **own, **words})
