"""Several classes with one selection: one model, proven, against enumeration."""

import itertools
import pickle

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.datasets import load_iris, load_wine

import fsmodels as fs
from fsmodels.sklearn import SelectorClassifier

WINE = load_wine(as_frame=True)
FEW = WINE.data.iloc[::3, :6]
LABELS = WINE.target_names[WINE.target][::3]


def parts(X, y):
    data = [fs.Dataset(X.to_numpy(), np.where(y == k, 1.0, -1.0), tuple(X.columns)) for k in np.unique(y)]
    return [part.scaled("standard") for part in data]


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ({"max_features": 2}, lambda names: len(names) <= 2),
        ({"max_features": 3, "C": 0.1, "constraints": {"excludes": [("alcohol", "ash")]}},
         lambda names: len(names) <= 3 and not {"alcohol", "ash"} <= set(names)),
        ({"model": "fsp-lambda", "penalty": 3.0}, lambda names: True),
        ({"max_features": 2, "loss": "squared-hinge", "solver": "benders"}, lambda names: len(names) <= 2),
    ],
)  # fmt: skip
def test_shared_is_the_best_selection_for_the_sum_over_the_classes(words, allowed):
    est = SelectorClassifier(multiclass="shared", gap=1e-6, **words).fit(FEW, LABELS)
    problems, price = parts(FEW, LABELS), words.get("penalty", 0.0)
    choices = [names for r in range(7) for names in itertools.combinations(FEW.columns, r) if allowed(names)]
    known = {name: words[name] for name in ("C", "loss") if name in words}
    costs = [sum(fs.fsp.value(d, names, **known) for d in problems) + price * len(names) for names in choices]
    assert est.objective_ == pytest.approx(min(costs), rel=1e-5)
    assert est.bound_ <= min(costs) * (1 + 1e-6)
    assert est.status_ == "optimal"
    assert tuple(est.get_feature_names_out()) == choices[int(np.argmin(costs))]
    assert {one.selected for one in est.selection_} == {tuple(est.get_feature_names_out())}


def test_shared_keeps_the_promise_of_the_most_features():
    iris = load_iris()
    each = SelectorClassifier(max_features=1).fit(iris.data, iris.target)
    shared = SelectorClassifier(max_features=1, multiclass="shared").fit(iris.data, iris.target)
    assert shared.get_support().sum() == 1
    assert shared.objective_ >= each.objective_ * (1 - 1e-6)
    assert shared.decision_function(iris.data).shape == (150, 3)
    assert iris.data @ shared.coef_.T + shared.intercept_ == pytest.approx(shared.decision_function(iris.data))
    assert all(one.bound is None and "One selection for 3 classes" in one.message for one in shared.selection_)
    assert "proven that none is lower" in shared.certificate_.sentence


def a_row(model):
    return model.sigma["alcohol"] + model.sigma["ash"] == 1


def test_the_shared_model_is_one_and_comes_back_after_a_pickle():
    est = SelectorClassifier(max_features=2, multiclass="shared", constraints=a_row).fit(FEW, LABELS)
    assert isinstance(est.model_, pyo.ConcreteModel)
    assert len({"alcohol", "ash"} & set(est.get_feature_names_out())) == 1
    assert pyo.value(est.model_.objective) == pytest.approx(est.objective_, rel=1e-6)
    again = pickle.loads(pickle.dumps(est))
    assert fs.solve(again.model_).objective == pytest.approx(est.objective_, rel=1e-4)
    assert (again.predict(FEW) == est.predict(FEW)).all()


def test_shared_by_a_solver_of_the_whole_model():
    est = SelectorClassifier(max_features=2, multiclass="shared").fit(FEW, LABELS)
    by_scip = SelectorClassifier(max_features=2, multiclass="shared", solver="scip").fit(FEW, LABELS)
    assert by_scip.objective_ == pytest.approx(est.objective_, rel=2e-4)


def test_two_classes_have_one_selection_anyway():
    two = LABELS != "class_2"
    est = SelectorClassifier("one-norm-svm", multiclass="shared").fit(FEW[two], LABELS[two])
    assert not isinstance(est.selection_, list)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"model": "one-norm-svm"}, 'multiclass="shared" is for fsp-m and fsp-lambda.*multiclass="each"'),
        ({"model": "rfe"}, 'model="rfe"'),
        ({"constraints": {"signs": {"ash": "+"}}}, "signs.*which class"),
        ({"form": "bilinear"}, "perspective, big-m"),
        ({"max_features": 2, "constraints": {"force_in": ["alcohol", "ash", "magnesium"]}}, "force_in"),
    ],
)
def test_what_shared_cannot_do_is_refused(words, said):
    with pytest.raises(ValueError, match=said):
        SelectorClassifier(multiclass="shared", **words).fit(FEW, LABELS)


def test_a_limit_of_the_whole_fit_is_divided_among_the_classes():
    est = SelectorClassifier(max_features=3, time_limit=60.0).fit(FEW, LABELS)
    limits = [one.result.options["time_limit"] for one in est.selection_]
    assert limits[0] == pytest.approx(20.0, abs=5)
    assert sum(limits) > 60.0  # what is left over goes to the next
