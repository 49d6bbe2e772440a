"""Values chosen inside the folds: the procedure by hand, noise that must stay noise, workers and files."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import fsmodels as fs

mpl.use("Agg")
GRID = {"max_features": [1, 2, 4], "C": [0.1, 1.0]}


@pytest.fixture(scope="module")
def chosen(data):
    return fs.choose(data, "rfe", GRID, rule="best", cv=3)


def by_hand(data, folds, rule):
    """The point that folds choose, and its error there."""
    points = [{"max_features": m, "C": C} for m in GRID["max_features"] for C in GRID["C"]]
    errors = np.array([[fs.select(f.train, "rfe", **point).error(f.held_out) for f in folds] for point in points])
    mean, se = errors.mean(axis=1), errors.std(axis=1, ddof=1) / np.sqrt(len(folds))
    best = min(range(6), key=lambda k: (mean[k], points[k]["max_features"], k))
    if rule == "one-se":
        allowed = [k for k in range(6) if mean[k] <= mean[best] + se[best]]
        best = min(allowed, key=lambda k: (points[k]["max_features"], mean[k], k))
    return points[best], mean[best]


@pytest.mark.parametrize(("rule", "inner"), [("best", None), ("one-se", 3), ("one-se", 4)])
def test_it_is_two_loops_one_inside_the_other(data, rule, inner):
    found = fs.choose(data, "rfe", GRID, rule=rule, cv=3, inner=inner, seed=5)
    count = inner or 3
    values, error = by_hand(data, data.folds(count, seed=5), rule)
    assert (found.values, found.inner_error) == (values, pytest.approx(error))
    assert found.found.selected == fs.select(data, "rfe", **values).selected
    errors = []
    for k, fold in enumerate(data.folds(3, seed=5)):
        inside, _ = by_hand(fold.train, fold.train.folds(count, seed=5), rule)
        assert found.nested.runs["chosen"][k] == inside
        again = fs.select(fold.train, "rfe", **inside)
        assert found.nested.runs["selected"][k] == list(again.selected)
        errors.append(again.error(fold.held_out))
    assert found.nested.runs["error"].to_list() == errors
    assert found.error == pytest.approx(np.mean(errors))


def noise(seed, n=60, p=60):
    rng = np.random.default_rng(seed)
    return fs.Dataset.from_arrays(rng.normal(size=(n, p)), np.repeat([-1, 1], n // 2))


def test_features_chosen_outside_the_folds_would_find_something_in_noise():
    outside, inside = [], []
    for seed in range(4):
        data = noise(seed)
        kept = data.select_features(fs.select(data, "rfe", max_features=5).selected)
        outside.append(fs.cross_validate(kept, "svm").error)
        inside.append(fs.cross_validate(data, "rfe", max_features=5).error)
    assert np.mean(outside) < 0.3
    assert np.mean(inside) > 0.4


def test_the_error_that_chose_is_too_small_and_that_of_the_procedure_is_not():
    """Which feature: the best of 12 that are all noise."""
    data = noise(2, n=36, p=12)
    found = fs.choose(data, "svm", {"force_in": list(data.features)}, max_features=1, rule="best", cv=3)
    assert found.inner_error < 0.35
    assert found.error > 0.45
    assert found.found.selected == (found.values["force_in"],)


def test_nothing_is_computed_twice(data, chosen, tmp_path, counted):
    folder = tmp_path / "folds"
    first = fs.choose(data, "rfe", GRID, rule="best", cv=3, memory=folder)
    assert len(counted) == 6 * 3 + 6 * 3 * 3  # the outer folds are those that chose on all samples
    again = fs.choose(data, "rfe", GRID, rule="one-se", cv=3, memory=folder)
    assert len(counted) == 72
    assert first.sentence == chosen.sentence
    assert "72 of 72 runs were read from folds." in again.sentence
    fs.choose(data, "rfe", {**GRID, "C": [0.1, 1.0, 10.0]}, rule="best", cv=3, memory=folder)
    assert len(counted) == 108
    fs.choose(data, "rfe", GRID, rule="best", cv=4, inner=3, memory=folder)
    assert len(counted) == 108 + 6 * 3 * 4 + 4


@pytest.mark.parametrize("inner", [3, 4])
def test_ctrl_c_keeps_the_outer_folds_that_are_known(data, stopped_after, inner, tmp_path):
    folder = tmp_path / "folds"
    with stopped_after(6 * inner + 6 * inner * 2):  # the choice on all samples, and two outer folds
        cut = fs.choose(data, "rfe", GRID, rule="best", cv=3, inner=inner, memory=folder)
    whole = fs.choose(data, "rfe", GRID, rule="best", cv=3, inner=inner)
    assert cut.values == whole.values
    resumed = fs.choose(data, "rfe", GRID, rule="best", cv=3, inner=inner, memory=folder)
    assert resumed.nested.runs["error"].to_list() == whole.nested.runs["error"].to_list()
    if inner == 3:
        assert cut.nested.runs["error"].to_list() == whole.nested.runs["error"].to_list()[:2]
        assert "Interrupted after 2 of 3 folds." in cut.sentence


def test_ctrl_c_before_a_choice_is_ctrl_c(data, stopped_after):
    with stopped_after(0), pytest.raises(KeyboardInterrupt):
        fs.choose(data, "rfe", GRID, cv=3)


def test_without_outer_folds_there_is_no_error_of_the_procedure(data, chosen, counted):
    found = fs.choose(data, "rfe", GRID, rule="best", cv=3, nested=False)
    assert len(counted) == 18
    assert (found.values, found.error, found.standard_error) == (chosen.values, None, None)
    assert "so it is biased: nested=True estimates the error" in found.sentence
    found.to_dict()
    found.plot()


def test_splitters_text_and_two_values(data):
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    found = fs.choose(data, "svm", {"loss": ["hinge", "squared-hinge"]}, cv=cv, inner=cv)
    assert found.values["loss"] in ("hinge", "squared-hinge")
    found.plot()
    two = fs.choose(data, "gmeb", {"R_plus": [0.5, 2.0], "R_minus": [0.5, 2.0]}, cv=3)
    assert list(two.inner.index.names) == ["R_plus", "R_minus"]


@pytest.mark.parametrize("over", [{"scale": ["standard", "minmax"]}, {"class_weight": [None, "balanced"]}])
def test_scalings_and_weights_of_classes_are_chosen(data, over):
    found = fs.choose(data, "svm", over, rule="best", cv=3, nested=False)
    ((name, values),) = over.items()
    errors = [fs.cross_validate(data, "svm", cv=3, **{name: value}).error for value in values]
    assert found.inner["error"].to_list() == pytest.approx(errors)
    assert found.found.objective == fs.select(data, "svm", **found.values).objective


def test_where_no_point_has_a_solution_that_is_said(data):
    with pytest.raises(fs.ModelError, match="no point has a solution in every fold"):
        fs.choose(data, "fsp-m", {"max_features": [1]}, at_least=[(["a", "b"], 2)], cv=3)
