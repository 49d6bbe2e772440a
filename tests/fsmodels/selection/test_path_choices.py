"""What a path chooses by: held-out errors with scaling inside the folds, the knee, certified intervals, pictures."""

import pickle

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import fsmodels as fs

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 5)) * [1, 5, 1, 1, 100]
    y = np.where(X @ [1.5, 0.2, 0.6, 0.0, 0.0] + 0.8 * rng.normal(size=80) > 0, 1, -1)
    return fs.Dataset.from_arrays(X, y, features=["a", "b", "c", "d", "e"])


@pytest.fixture(scope="module")
def path(data):
    return fs.path(data, max_features=[1, 2, 3, 4], folds=4, seed=0)


def test_held_out_errors_are_those_of_selections_on_each_fold_scaled_there(data, path):
    for m in (1, 3):
        by_hand = []
        for fold in data.folds(4, seed=0):
            found = fs.select(fold.train.scaled("standard"), max_features=m)
            by_hand.append(found.error(fold.held_out))
        assert path.errors.loc[m].to_list() == by_hand
        assert path.loc[m, "cv_error"] == pytest.approx(np.mean(by_hand))
        assert path.loc[m, "cv_se"] == pytest.approx(np.std(by_hand, ddof=1) / 2)


def test_data_that_are_scaled_are_scaled_again_in_the_folds(data, path):
    scaled = fs.path(data.scaled("standard"), max_features=[1, 2, 3, 4], folds=4, seed=0)
    assert scaled.errors.equals(path.errors)


def test_workers_say_the_same(data, path):
    by_two = fs.path(data, max_features=[1, 2, 3, 4], folds=4, seed=0, n_jobs=2)
    assert by_two.errors.equals(path.errors)


def test_best_and_one_standard_error(path):
    error, se = path["cv_error"], path["cv_se"]
    best = path.choose("best")
    least = error.min()
    assert len(best.selected) == path["n_selected"][error == least].min()
    at = error.idxmin()
    simple = path.choose()
    allowed = path[error <= least + se[at]]
    assert len(simple.selected) == allowed["n_selected"].min()
    assert simple.selected in [tuple(names) for names in allowed["selected"]]
    assert simple.error(simple.data) == path["training_error"][path["n_selected"] == len(simple.selected)].iloc[0]


def point(size, objective):
    """A row of a path."""
    return {
        "max_features": size,
        "objective": objective,
        "bound": None,
        "n_selected": size,
        "seconds": 0,
        "selected": [],
    }


@pytest.mark.parametrize(
    ("errors", "sizes", "best", "one_se"),
    [
        ([[0.3, 0.3], [0.1, 0.2], [0.1, 0.18]], [1, 2, 3], 3, 2),
        ([[0.19, 0.19], [0.1, 0.2], [0.1, 0.18]], [1, 2, 3], 3, 2),
        ([[0.17, 0.19], [0.1, 0.2], [0.1, 0.18]], [1, 2, 3], 3, 1),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]], [1, 2, 3], 1, 1),
        ([[np.nan, 0.0], [0.1, 0.1], [0.2, 0.2]], [1, 2, 3], 2, 2),
    ],
)
def test_the_rules_by_hand(path, errors, sizes, best, one_se):
    rows = [point(s, 1.0) for s in sizes]
    folds = [[(error, ()) for error in of_point] for of_point in errors]
    made = type(path).of(
        rows, ["max_features"], [path.points[s - 1] for s in sizes], np.eye(len(sizes), dtype=bool), folds
    )
    assert len(made.choose("best").selected) == best
    assert len(made.choose("one-se").selected) == one_se


def test_best_by_validation_data(data):
    train, validation, _ = data.split(seed=0)
    path = fs.path(train, max_features=[1, 2, 3], validation=validation)
    assert path.choose("best").validation_error == path["validation_error"].min()
    with pytest.raises(fs.ParameterError, match=r"give folds=5 to fs\.path"):
        path.choose("one-se")


@pytest.mark.parametrize(
    ("objectives", "knee"),
    [([100, 50, 45, 40, 38], 2), ([10, 9, 8, 1, 0.9], 4), ([10, 5, 3, 2, 1.5], 2)],
)
def test_the_knee_is_farthest_below_the_straight_line(path, objectives, knee):
    rows = [point(s, float(y)) for s, y in enumerate(objectives, start=1)]
    points = [*path.points, path.points[-1]]
    made = type(path).of(rows, ["max_features"], points, np.eye(len(points), dtype=bool), None)
    assert made.knee() is points[knee - 1]


@pytest.mark.parametrize(
    ("objectives", "why"),
    [
        ([10, 8, 6, 4, 2], "falls too evenly"),
        ([10, 7.5, 5.3, 3.4, 2], "falls too evenly"),
        ([10, 9.9, 9, 6, 2], "falls too evenly"),
        ([5, 5, 5, 5, 5], "does not fall"),
        ([5, 4, 5, 5, 6], "does not fall"),
    ],
)
def test_a_curve_without_a_knee_is_told_so(path, objectives, why):
    rows = [point(s, float(y)) for s, y in enumerate(objectives, start=1)]
    made = type(path).of(rows, ["max_features"], [*path.points, path.points[-1]], np.eye(len(rows), dtype=bool), None)
    with pytest.raises(fs.ModelError, match=why):
        made.knee()


def test_the_knee_of_a_grid_needs_the_other_parameter(data):
    path = fs.path(data, max_features=[1, 2, 3], C=[0.1, 1.0])
    assert path.knee(C=1.0).parameters["C"] == 1.0
    assert path.knee(C=1.0).selected == fs.path(data, max_features=[1, 2, 3], C=1.0).knee().selected
    for words, message in [({}, "give one value of C"), ({"C": 7.0}, "has 0"), ({"D": 1}, "D cannot be fixed")]:
        with pytest.raises(fs.ParameterError, match=message):
            path.knee(**words)
    with pytest.raises(fs.ParameterError, match="needs a path over max_features"):
        fs.path(data, "fsp-lambda", penalty=[0.1, 1.0]).knee()


def test_each_point_has_an_interval_that_holds_its_optimum(data):
    exact = fs.path(data, max_features=[1, 2, 3, 4], C=[0.1, 1.0, 10.0])
    early = fs.path(data, max_features=[1, 2, 3, 4], C=[0.1, 1.0, 10.0], iteration_limit=1)
    assert (early.intervals["lower"] <= exact["objective"] * (1 + 1e-6)).all()
    assert (early.intervals["upper"] >= exact["objective"] * (1 - 1e-4)).all()
    assert (early.intervals["upper"] <= early["objective"]).all()
    upper = early.intervals["upper"].unstack("C")
    assert (upper.diff().dropna() <= 0).all().all()  # more features allow more
    assert (upper.diff(axis=1).iloc[:, 1:] >= 0).all().all()  # a higher C costs more
    assert early.table()["lower"].equals(early.intervals["lower"])


def test_no_interval_is_claimed_of_a_heuristic(data):
    path = fs.path(data, "rfe", max_features=[1, 2, 3], folds=3)
    assert path.intervals["lower"].isna().all()
    assert path.choose("best").status.value == "feasible"


def test_it_is_a_frame_and_its_slices_are_plain(path):
    assert isinstance(path, pd.DataFrame)
    assert type(path[["objective"]]) is type(path.head(2)) is type(path.table()) is pd.DataFrame
    assert len(path.points) == len(path) == 4
    assert path.points[0].objective == path["objective"].iloc[0]


def test_it_shows_itself_and_travels(path):
    assert repr(path).startswith("fsp-m on data, 4 points by max_features\n")
    assert "<table" in path._repr_html_()
    again = pickle.loads(pickle.dumps(path))
    assert again.choose().selected == path.choose().selected
    assert repr(again) == repr(path)


@pytest.mark.parametrize("y", ["objective", "error"])
def test_pictures_go_onto_given_axes(data, path, y):
    axes = mpl.figure.Figure().subplots()
    assert path.plot(y, axes) is axes
    assert axes.get_legend_handles_labels()[1]
    assert path.plot(y) is not axes
    grid = fs.path(data, max_features=[1, 2], C=[0.1, 1.0])
    assert len(grid.plot(y).get_lines()) >= 2
    assert fs.path(data, "fsp-lambda", penalty=[0.1, 1.0]).plot(y).get_xscale() == "log"
    with pytest.raises(fs.ParameterError, match="y='z'"):
        path.plot("z")


def test_a_selection_travels_without_its_live_model(data):
    found = fs.select(data, max_features=2)
    again = pickle.loads(pickle.dumps(found))
    assert again.model is None
    assert found.model is not None
    assert again.to_dict() == found.to_dict()
    assert again.decision(data) == pytest.approx(found.decision(data))
    assert (repr(again), str(again.result)) == (repr(found), str(found.result))


def test_a_result_travels_without_what_lives_in_its_process(data):
    model = fs.fsp.fsp_m(data.scaled("standard"), max_features=2)
    from solvers import Memory

    result = fs.solve(model, memory=Memory())
    again = pickle.loads(pickle.dumps(result))
    assert again.options["memory"] == "<Memory>"
    assert again.objective == result.objective
    assert again.iterations.equals(result.iterations)
