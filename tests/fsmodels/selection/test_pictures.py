"""Pictures of selections and paths: values on the axes, any number of features, names of any length, no solution."""

import itertools
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import fsmodels as fs
from fsmodels.selection.pictures import draw_scores

mpl.use("Agg")


def axes():
    return mpl.figure.Figure(figsize=(5.6, 3.4), layout="constrained").subplots()


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def drawn_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.fixture(scope="module")
def found():
    return fs.select(fs.load_dataset("bupa"), max_features=2)


def test_the_bars_are_the_scaled_weights_the_largest_on_top(found):
    ax = found.plot(axes())
    table = found.table()
    assert drawn_names(ax)[::-1] == table.index.tolist()
    assert widths(ax)[::-1] == pytest.approx(table["weight"].tolist())
    assert [text.get_text() for text in ax.texts][::-1] == [f"{w:.3g} ({v:.3g})" for w, v in table.to_numpy()]
    assert ax.get_xlabel().startswith("weight per standard deviation\n(in brackets: per unit of the feature)")


def test_the_title_says_what_is_proven(found):
    title = found.plot(axes()).get_title(loc="left")
    assert title.startswith("fsp-m on bupa: 2 of 6 features\noptimal, objective ")
    assert "\nbound " in title
    assert "gap 0%" in title


def test_the_colour_tells_for_which_class_a_feature_speaks():
    X, y = [[0.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]], ["well", "well", "ill", "ill"]
    ax = fs.select(fs.Dataset.from_arrays(X, y, ["up", "down"], positive="ill"), "svm").plot(axes())
    shades = {name: bar.get_facecolor() for name, bar in zip(drawn_names(ax), ax.patches, strict=True)}
    assert shades == {"up": mpl.colors.to_rgba("C0"), "down": mpl.colors.to_rgba("C3")}
    assert "blue: larger values favour class ill\nred: well" in ax.get_xlabel()


def test_unscaled_weights_stand_alone():
    ax = fs.select(fs.load_dataset("cleveland"), max_features=2, scale="none").plot(axes())
    assert not any("(" in text.get_text() for text in ax.texts)
    assert ax.get_xlabel().startswith("weight per unit of the feature")


def test_a_hundred_features_with_long_names_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 100))
    names = [f"concentration in serum, marker {k} ($\\mu$mol/l)" for k in range(100)]
    data = fs.Dataset.from_arrays(X, np.where(X[:, :9].sum(1) > 0, 1, -1), names)
    ax = fs.select(data, "svm").plot()
    assert len(ax.patches) == 40
    assert "60 smaller weights not shown" in ax.get_xlabel()
    canvas = mpl.backends.backend_agg.FigureCanvasAgg(ax.figure)
    canvas.draw()  # a stray $ would end in an error of mathtext
    boxes = [text.get_window_extent() for text in [*ax.texts, *ax.get_yticklabels(), ax.xaxis.label, ax.title]]
    for box in boxes:
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1
    rows = sorted((text.get_window_extent() for text in ax.get_yticklabels()), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(rows))


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_numbers_of_weights_are_inside_narrow_axes(signs):
    names = ["customer_tenure_in_months", "average_monthly_bill_in_euro"]
    X = np.random.default_rng(0).normal(size=(60, 2))
    data = fs.Dataset.from_arrays(X * [1000.0, 0.001], np.where(X @ signs > 0, 1, -1), names)
    ax = fs.select(data, "svm").plot(Figure(figsize=(4.3, 3.1), layout="constrained").subplots())
    ax.figure.draw_without_rendering()
    inside = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1


def test_without_a_solution_the_picture_says_so(found):
    status = fs.SolutionStatus.NO_SOLUTION
    nothing = replace(found, classifier=None, objective=None, bound=None, selected=(), status=status)
    ax = nothing.plot(axes())
    assert not ax.patches
    assert "No solution" in ax.texts[0].get_text()


def test_weights_inside_a_kernel_speak_for_no_class():
    found = fs.select(fs.load_dataset("bupa"), "gmkl", C=1, penalty=1.0, time_limit=2)
    assert "favour" not in found.plot(axes()).get_xlabel()


def test_features_against_points_show_how_often_folds_select_them():
    data = fs.load_dataset("cleveland")
    path = fs.path(data, max_features=[1, 2, 3], C=0.1, folds=4)
    assert path.frequencies.shape == (3, 13)
    assert (path.frequencies.sum(axis=1) <= [1, 2, 3]).all()
    ax = path.plot("features", axes())
    shown = np.asarray(ax.images[0].get_array())
    names = drawn_names(ax)
    assert np.allclose(shown.T, 100 * path.frequencies[names])
    marked = {(names[int(y)], int(x)) for x, y in ax.get_lines()[0].get_xydata()}
    assert marked == {(name, k) for k, one in enumerate(path.points) for name in one.selected}
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]


def test_features_against_points_show_weights_where_there_are_no_folds():
    path = fs.path(fs.load_dataset("bupa"), max_features=[1, 2], C=[0.1, 1.0])
    assert path.frequencies is None
    ax = path.plot("features", axes())
    names, shown = drawn_names(ax), np.asarray(ax.images[0].get_array())
    for k, one in enumerate(path.points):
        column = {name: w for name, w in zip(names, shown[:, k], strict=True) if np.isfinite(w)}
        assert column == pytest.approx({name: one.weights[name] for name in one.selected})
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1, 0.1", "1, 1", "2, 0.1", "2, 1"]


def test_scores_are_counted_by_class():
    data = fs.load_dataset("bupa").with_class_names("ill", "well")
    found = fs.select(data, max_features=2)
    ax = draw_scores(found, axes())
    first, second = ax.containers
    positive, above = data.y > 0, found.predict(data) > 0
    assert sum(bar.get_height() for bar in first) == positive.sum()
    assert sum(bar.get_height() for bar in second if bar.get_x() > 0) <= (above & ~positive).sum()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ill", "well"]
