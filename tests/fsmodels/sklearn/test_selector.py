"""The estimators beside ``fs.select``, in scikit-learn's own machinery, and what they refuse."""

import copy
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyomo.environ as pyo
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import fsmodels as fs
from fsmodels.sklearn import KernelSelectorClassifier, SelectorClassifier

WHOLE = fs.load_dataset("bupa")
BUPA = WHOLE.take(np.sort(np.unique(np.column_stack([WHOLE.X, WHOLE.y]), axis=0, return_index=True)[1]))  # each once
FRAME = pd.DataFrame(BUPA.X, columns=list(BUPA.features))
LABELS = np.where(BUPA.y > 0, "ill", "well")
DATA = fs.Dataset.from_arrays(FRAME, LABELS, positive="well")


def not_both(model):
    return model.sigma["sgpt"] + model.sigma["sgot"] <= 1


def test_import_of_the_package_leaves_scikit_learn_alone():
    code = "import fsmodels, sys; print('fsmodels.sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "constraints",
    [
        {"excludes": [("sgpt", "sgot")]},
        {"at_most": [(["sgpt", "sgot"], 1)]},
        not_both,
        [not_both, {"force_in": ["mcv"]}],
        lambda model: fs.side_constraints.excludes(model, "sgpt", "sgot"),
        lambda model: {"pair": fs.side_constraints.excludes(model, "sgpt", "sgot")},
        lambda model: setattr(model, "own", pyo.Constraint(expr=not_both(model))),
    ],
    ids=["pair", "group", "relation", "both", "row", "named", "assigned"],
)
@pytest.mark.parametrize("name", ["fsp-m", "rfe"])
def test_constraints_are_declarations_or_functions_of_the_model(name, constraints):
    free = set(SelectorClassifier(name, 2).fit(FRAME, LABELS).get_feature_names_out())
    kept = set(SelectorClassifier(name, 2, constraints=constraints).fit(FRAME, LABELS).get_feature_names_out())
    assert {"sgpt", "sgot"} <= free
    assert not {"sgpt", "sgot"} <= kept


@pytest.mark.parametrize("labels", [LABELS, np.arange(len(LABELS)) % 3], ids=["two", "three"])
def test_select_from_model_keeps_the_selection(labels):
    own = SelectorClassifier("rfe", max_features=3).fit(FRAME, labels)
    from_model = SelectFromModel(SelectorClassifier("rfe", max_features=3), importance_getter="feature_importances_")
    assert from_model.fit(FRAME, labels).get_feature_names_out().tolist() == own.get_feature_names_out().tolist()
    every = SelectFromModel(SelectorClassifier("svm"), importance_getter="feature_importances_").fit(FRAME, labels)
    assert every.get_support().all()
    assert not hasattr(SelectorClassifier(), "feature_importances_")  # before the fit


def test_select_from_model_keeps_the_features_inside_a_kernel():
    kernel = KernelSelectorClassifier("full-fs", penalty=1.0, time_limit=5.0)
    part = FRAME[:60], LABELS[:60]
    own = clone(kernel).fit(*part).get_support()
    np.testing.assert_array_equal(SelectFromModel(kernel).fit(*part).get_support(), own)


def test_features_of_arrays_are_named_by_position():
    j, k = BUPA.features.index("sgpt"), BUPA.features.index("sgot")
    costs = {i: float(i == j) for i in range(6)}
    for constraints in [
        {"excludes": [(j, k)]},
        {"excludes": [(f"x{j}", f"x{k}")]},
        {"budget": (costs, 0)},
        {"budget": [(costs, 0)]},
        {"force_out": [k]},
        {"force_out": np.int64(k)},
        {"signs": {k: "-", j: "+"}},
    ]:
        est = SelectorClassifier(max_features=2, constraints=constraints).fit(BUPA.X, LABELS)
        assert not {f"x{j}", f"x{k}"} <= set(est.get_feature_names_out()) or "signs" in constraints
        assert est.objective_ > SelectorClassifier(max_features=2).fit(BUPA.X, LABELS).objective_ + 1e-6


def test_a_row_on_the_weights_and_a_feature_that_gives_groups():
    est = SelectorClassifier(max_features=2, constraints={"signs": {"sgot": "+"}}).fit(FRAME, LABELS)
    assert est.selection_.weights.get("sgot", 0.0) >= 0
    heart = fs.load_dataset("cleveland")
    X = pd.DataFrame(heart.X, columns=list(heart.features))
    est = SelectorClassifier("svm", constraints={"fair": ("sex", 0.1)}).fit(X, heart.y)
    assert "sex" not in est.get_feature_names_out()
    scores = est.decision_function(X)
    assert abs(scores[X.sex == 0].mean() - scores[X.sex == 1].mean()) <= 0.1 + 1e-6
    assert est.coef_.shape == (1, heart.n_features)


def test_grid_search_in_workers_pickles_after_fit():
    grid = {"selectorclassifier__max_features": [1, 2], "selectorclassifier__C": [0.1, 1.0]}
    pipe = make_pipeline(
        PolynomialFeatures(1, include_bias=False), SelectorClassifier(constraints={"force_in": ["x1"]})
    )
    search = GridSearchCV(pipe, grid, cv=3, n_jobs=2).fit(BUPA.X, LABELS)
    again = pickle.loads(pickle.dumps(search))
    assert (again.predict(BUPA.X) == search.predict(BUPA.X)).all()
    est = again.best_estimator_[-1]
    assert est.get_support()[1]
    assert est.certificate_.status == "optimal"
    assert isinstance(est.model_, pyo.ConcreteModel)


def test_a_pickle_leaves_the_live_model_out_and_builds_it_again():
    est = SelectorClassifier(max_features=2, constraints=not_both).fit(FRAME, LABELS)
    live = est.model_
    assert live is est.selection_.model
    assert sum(s.value for s in live.sigma.values()) == pytest.approx(2)
    for again in (pickle.loads(pickle.dumps(est)), copy.deepcopy(est)):
        assert b"pyomo" not in pickle.dumps(est)
        model = again.model_
        assert model is again.model_
        assert model.component("not_both") is not None
        assert fs.solve(model).objective == pytest.approx(est.objective_, rel=1e-4)
        assert again.get_support().tolist() == est.get_support().tolist()
    with pytest.raises(NotFittedError):
        _ = clone(est).model_


def test_cross_validation_and_what_comes_after():
    assert cross_val_score(SelectorClassifier(max_features=2), FRAME, LABELS, cv=3).mean() > 0.5
    pipe = make_pipeline(SelectorClassifier(max_features=3), KNeighborsClassifier()).fit(FRAME, LABELS)
    assert pipe[1].n_features_in_ == 3
    calibrated = CalibratedClassifierCV(SelectorClassifier(max_features=2), cv=3).fit(FRAME, LABELS)
    assert calibrated.predict_proba(FRAME).sum(axis=1) == pytest.approx(1)
    assert not hasattr(SelectorClassifier(), "predict_proba")


def test_frames_in_frames_out():
    est = SelectorClassifier(max_features=2).set_output(transform="pandas").fit(FRAME, LABELS)
    out = est.transform(FRAME)
    assert list(out.columns) == list(est.get_feature_names_out()) == ["sgpt", "sgot"]
    assert out.equals(FRAME[["sgpt", "sgot"]])
    assert list(est.feature_names_in_) == list(FRAME.columns)
    with pytest.raises(fs.DataError, match="have the same name"):
        SelectorClassifier().fit(FRAME.set_axis([*FRAME.columns[:-1], "mcv"], axis=1), LABELS)


def test_each_class_against_the_rest():
    iris = load_iris(as_frame=True)
    y = iris.target_names[iris.target]
    est = SelectorClassifier(max_features=1).fit(iris.data, y)
    assert est.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert est.decision_function(iris.data).shape == (150, 3)
    assert [len(one.selected) for one in est.selection_] == [1, 1, 1]
    assert set(est.get_feature_names_out()) == {name for one in est.selection_ for name in one.selected}
    total = sum(one.objective for one in est.selection_)
    assert est.objective_ == pytest.approx(total)
    assert est.bound_ == pytest.approx(sum(one.bound for one in est.selection_))
    for k, name in enumerate(est.classes_):
        alone = SelectorClassifier(max_features=1).fit(iris.data, y == name)
        assert est.decision_function(iris.data)[:, k] == pytest.approx(alone.decision_function(iris.data))
    assert len(est.model_) == 3


def test_sparse_data_where_the_scaling_keeps_zeros():
    X = sparse.csr_matrix(np.where(BUPA.X > 30, BUPA.X, 0.0))
    for name in ("fsp-m", "one-norm-svm", "rfe"):
        est = SelectorClassifier(name, scale="unit-ball", max_features=2).fit(X, LABELS)
        dense = SelectorClassifier(name, scale="unit-ball", max_features=2).fit(X.toarray(), LABELS)
        assert est.get_support().tolist() == dense.get_support().tolist()
        assert est.decision_function(X) == pytest.approx(dense.decision_function(X.toarray()), abs=1e-5)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        SelectorClassifier().fit(X, LABELS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"model": "gmeb", "penalty": 0.1}, r'SelectorClassifier\(model="gmeb"\) does not use penalty=0.1.*R_plus'),
        ({"model": "fsp-m", "alpha": 2}, r"does not use alpha=2. Models that use it: fsv, fss"),
        ({"model": "gmeb", "C": 2.0}, "does not use C=2.0.*set C=1.0"),
        ({"model": "full-fs"}, "KernelSelectorClassifier"),
        ({"model": "fsp"}, 'Did you mean "fsp-m"'),
        ({"max_features": 7}, r"max_features=7.*6 features.*1\.\.6"),
        ({"max_features": 0}, r"max_features=0.*1\.\.6"),
        ({"max_features": "all"}, 'max_features="all"'),
        ({"max_features": None}, "needs max_features"),
        ({"C": -1}, "C=-1"),
        ({"scale": "robust"}, "scale='robust'.*standard"),
        ({"multiclass": "ovo"}, "multiclass='ovo'.*each"),
        ({"constraints": {"exclude": []}}, 'Did you mean "excludes"'),
        ({"constraints": 3}, "constraints=3"),
        ({"constraints": {"force_in": [9]}}, r"feature 9.*0\.\.5"),
        ({"constraints": {"force_in": ["age"]}}, '"age"'),
        ({"constraints": {"budget": ({"mcv": 1}, 1)}, "budget": 2}, "does not use budget"),
        ({"model": "rfe", "solver": "scip"}, "runs no solver.*solver"),
        ({"model": "relief", "time_limit": 3}, "runs no solver.*time_limit"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"seed": 1, "solver_options": {"seed": 2}}, "seed is given twice"),
        ({"solver_options": ["threads"]}, "solver_options"),
        ({"solver_options": {"thread": 1}}, "threads"),
    ],
)
def test_what_is_refused_is_refused_at_fit_by_name(words, said):
    est = SelectorClassifier(**words)
    with pytest.raises(ValueError, match=re.compile(said, re.DOTALL)):
        est.fit(FRAME, LABELS)


def test_kernels_refuse_by_name_too():
    for words, said in [
        ({"model": "gmkl", "stop": "support"}, r'KernelSelectorClassifier\(model="gmkl"\).*stop.*ao-efs'),
        ({"model": "fsp-m"}, "use SelectorClassifier for it"),
        ({"kernel": "poly"}, "rbf, linear, polynomial"),
    ]:
        with pytest.raises(fs.ParameterError, match=said):
            KernelSelectorClassifier(**words).fit(FRAME, LABELS)


def test_a_function_is_told_when_there_is_no_selection_to_constrain():
    with pytest.raises(fs.ModelError, match="sigma=True"):
        SelectorClassifier("svm", constraints=not_both).fit(FRAME, LABELS)
    est = SelectorClassifier("one-norm-svm", C=0.1, sigma=True, constraints=not_both).fit(FRAME, LABELS)
    assert not {"sgpt", "sgot"} <= set(est.get_feature_names_out())
    with pytest.raises(fs.ModelError, match="returned int"):
        SelectorClassifier(max_features=2, constraints=lambda model: 3).fit(FRAME, LABELS)


def test_nothing_satisfies_the_constraints():
    clash = {"force_in": ["sgpt", "sgot"], "excludes": [("sgpt", "sgot")]}
    with pytest.raises(fs.NoSelection, match="sgpt"):
        SelectorClassifier(max_features=2, constraints=clash).fit(FRAME, LABELS)


def test_a_limit_that_ends_a_fit_is_a_warning_with_what_was_proven():
    wide = fs.load_dataset("sonar")
    with pytest.warns(ConvergenceWarning, match="the proven bound is|proven within"):
        est = SelectorClassifier(max_features=5, solver_options={"iteration_limit": 1}).fit(wide.X, wide.y)
    assert est.status_ == "feasible"
    assert est.bound_ < est.objective_
    assert "a gap of" in est.certificate_.sentence


def test_a_callback_that_stops_the_solver_keeps_the_selection_and_the_bound():
    sonar = fs.load_dataset("sonar")
    rows = []
    options = {"callback": lambda row: rows.append(row) or True}
    est = SelectorClassifier(max_features=5, solver_options=options).fit(sonar.X, sonar.y)
    assert rows
    assert est.selection_.stop_reason.value == "callback"
    assert est.bound_ < est.objective_


@pytest.mark.parametrize("est", [SelectorClassifier(), KernelSelectorClassifier()])
def test_set_callbacks_was_removed_with_an_error_that_names_the_option(est):
    assert not hasattr(est, "set_callbacks")
    with pytest.raises(AttributeError, match=r"set_callbacks was removed\. Use solver_options"):
        est.set_callbacks(print)
