"""Bad values of parameters of public functions: a result, or an error of the package that names the parameter."""

import inspect

import numpy as np
import pytest

import fsmodels as fs
from fsmodels.errors import Error
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(14, 4))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
DATA = fs.Dataset(X, Y, ("a", "b", "c", "d"))


class Thing:
    def __repr__(self):
        return "Thing()"


BAD = {
    "text": "text", "empty text": "", "text of a number": "3", "None": None, "True": True, "NaN": float("nan"),
    "infinity": float("inf"), "-1": -1, "0": 0, "2.5": 2.5, "10**400": 10**400, "10**30": 10**30, "0-d": np.array(2),
    "1-d": np.array([1.0, 2.0]), "no cells": np.array([]), "list": [], "list of text": ["x"], "list of None": [None],
    "dict": {}, "dict of text": {"x": 1}, "dict of None": {1: None}, "pair": (1, 2), "object": Thing(), "class": Thing,
    "bytes": b"b", "complex": 1j, "nested": [[1]], "numbers": [3],
}  # fmt: skip
BUILDERS = [
    fs.fsp.fsp_m, fs.fsp.fsp_lambda, fs.svm.l2_svm, fs.svm.one_norm_svm, fs.svm.robust_lp, fs.concave.fs,
    fs.concave.fsl, fs.concave.fsv, fs.concave.fss, fs.concave.fsb, fs.gmeb.primal, fs.gmeb.dual, fs.gmeb.nonconvex,
    fs.gmeb.penalized, fs.kernel.full_fs, fs.kernel.ao_simple, fs.kernel.ao_margin, fs.kernel.ao_efs, fs.kernel.gmkl,
    fs.multivariate.fsmulti, fs.multivariate.structural_svm, fs.multivariate.fgm,
    fs.svm.l2_svm_dual, fs.multivariate.objective, fs.multivariate.risk, fs.fsp.rmp, fs.fsp.sub, fs.fsp.value,
]  # fmt: skip
USUAL = {"max_features": 2, "C": 1.0, "penalty": 0.5, "R_plus": 1.0, "R_minus": 1.0, "C_plus": 1.0, "C_minus": 1.0}
USUAL |= {"budget": 2, "w": [1.0, 0, 0, 0], "sigma": ["a"], "selected": ["a"]}
WHOLE = {
    fs.select: {"max_features": 2},
    fs.path: {"max_features": [1, 2]},
    fs.explore: {"max_features": 2},
    fs.near_optimal: {"max_features": 2, "limit": 3},
    fs.stability: {"max_features": 2, "folds": 2},
    fs.certify: {"max_features": 2, "features": ["a", "b"]},
    fs.necessity: {"max_features": 2},
    fs.cross_validate: {"max_features": 2, "cv": 2},
    fs.compare: {"models": ["fsp-m", "rfe"], "max_features": 2, "cv": 2},
    fs.choose: {"over": {"max_features": [1, 2]}, "cv": 2, "nested": False},
}
ROWS = "max_features C penalty budget requires excludes force_in force_out all_or_none at_most at_least"
ROWS += " at_most_of_group hierarchy signs fair sample_weight class_weight"
FURTHER = ["time_limit", "gap", "threads", "seed", "iteration_limit", "tee", "loss", "form"]
NOT_TRIED = {"n_jobs", "memory", "progress", "callback"}  # workers, files, functions of the user
OTHER_WORDS = {"data": "dataset", "validation": "dataset", "fair": "group", "features": "selected", "rows": "row"}


def accepted_or_named(function, words, name, value):
    """Call a function with one value replaced, and check that an error is one of the package that names it."""
    raised = None
    try:
        function(**{**words, name: value})
    except Error as error:
        raised = error
    if raised is not None:
        assert isinstance(raised, ValueError) or name == "solver", repr(raised)
        message = str(raised).lower()
        assert name.lower() in message or OTHER_WORDS.get(name, name) in message, message


def names_of(function, *further):
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.kind is not p.VAR_KEYWORD and p.name not in NOT_TRIED] + list(further)


@pytest.mark.parametrize("function", BUILDERS, ids=lambda f: f.__name__)
def test_builders(function):
    required = {p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty}
    words = {name: USUAL[name] for name in required & set(USUAL)} | {"data": DATA}
    if "alpha" in required:
        words |= {"alpha": np.zeros(len(Y))} if function is fs.fsp.rmp else {"alpha": 5.0}
    function(**words)
    for name in names_of(function):
        for value in BAD.values():
            accepted_or_named(function, words, name, value)


@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
def test_dataset(value):
    words = {"X": X, "y": Y, "features": ("a", "b", "c", "d")}
    for name in (*words, "aside", "weighting"):
        accepted_or_named(fs.Dataset, words, name, value)


@pytest.mark.parametrize("label", ["text of a number", "0-d", "10**400", "dict", "bytes"])
@pytest.mark.parametrize("function", [fs.select, fs.path, fs.explore], ids=lambda f: f.__name__)
def test_selections(function, label):
    words = {"data": DATA, "time_limit": 2, **WHOLE[function]}
    for name in {*names_of(function, *FURTHER), *ROWS.split()}:
        accepted_or_named(function, words, name, BAD[label])


@pytest.mark.parametrize(
    ("name", "value"), [("time_limit", {}), ("C", "3"), ("models", None), ("cv", b"b"), ("repeats", "text")]
)
def test_values_that_were_accepted_or_had_a_traceback(name, value):
    function = {"models": fs.compare, "repeats": fs.choose}.get(name, fs.cross_validate)
    with pytest.raises(Error, match=name):
        function(**{"data": DATA, "time_limit": 2, **WHOLE[function], name: value})


def test_cuts_that_highs_refuses_lose_no_selection():
    found = fs.certify(DATA, max_features=2, features=["a", "b"], C=1e30)
    assert found.bound <= found.best.objective < found.objective


@pytest.mark.slow
@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_all_functions(function, value):
    words = {"data": DATA, "time_limit": 2, **WHOLE[function]}
    for name in {*names_of(function, *FURTHER), *ROWS.split()}:
        accepted_or_named(function, words, name, value)


@pytest.mark.slow
@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
@pytest.mark.parametrize("estimator", [SelectorClassifier, KernelSelectorClassifier])
def test_estimators(estimator, value):
    usual = {"time_limit": 2, "C": 1.0, "max_features": 2} if estimator is SelectorClassifier else {"C": 1.0}
    for name in names_of(estimator):
        if name == "constraints" and callable(value):
            continue  # a function of the user
        if name == "solver_options" and isinstance(value, dict):
            continue  # the error names the option inside
        accepted_or_named(lambda **words: estimator(**words).fit(X, Y), usual, name, value)
