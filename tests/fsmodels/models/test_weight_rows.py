"""Rows on the weights: signs of features, and mean scores of groups of samples."""

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import fsmodels as fs
from fsmodels import side_constraints as sides

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(40, 4)) + np.repeat([[0.0], [1.0]], 20, axis=0) * [1.0, 0.0, 0.5, 0.0]
    y = np.where(X @ [1.0, -0.8, 0.6, 0.3] + 0.7 * rng.normal(size=40) > 0.4, 1, -1)
    third = np.array(["young", "old", "older"])[rng.integers(0, 3, 40)]
    data = fs.Dataset.from_arrays(X, y, features=NAMES).scaled("standard")
    return data.with_aside(half=np.repeat(["f", "m"], 20), third=third)


def svm(data, used, words):
    """The optimum on a set of features, by the cone solver on the model without a selection."""
    model = fs.svm.l2_svm(data)
    for j in NAMES:
        if j not in used:
            model.w[j].fix(0.0)
    for kind, arguments in words.items():
        model.add_component(kind, getattr(sides, kind)(model, *arguments))
    return fs.solve(model, "clarabel").objective


WORDS = {
    "signs": lambda data: {"signs": ({"a": "-", "b": "-"},)},
    "fair": lambda data: {"fair": (data, "half", 0.05)},
    "equal": lambda data: {"fair": (data, "half", 0)},
    "three groups": lambda data: {"fair": (data, "third", 0.1)},
    "both": lambda data: {"signs": ({"a": "+", "d": "-"},), "fair": (data, "half", 0.2)},
}


@pytest.mark.parametrize("solver", ["branch-and-cut", "benders", "scip"])
@pytest.mark.parametrize("case", WORDS)
def test_the_best_selection_is_that_of_every_support(data, case, solver):
    words = WORDS[case](data)
    model = fs.fsp.fsp_m(data, max_features=2)
    for kind, arguments in words.items():
        model.add_component(kind, getattr(sides, kind)(model, *arguments))
    result = fs.solve(model, solver)
    best = min(svm(data, set(s), words) for s in itertools.combinations(NAMES, 2))
    assert result.status.value == "optimal"
    assert result.objective == pytest.approx(best, rel=2e-4)
    assert min(svm(data, set(s), {}) for s in itertools.combinations(NAMES, 2)) < best * (1 - 1e-3)  # it matters


def test_the_words_of_select_say_the_same_in_original_units(data):
    raw = fs.Dataset.from_arrays(data.X * [10, 2, 1, 0.1] + 3, data.y, features=NAMES)
    found = fs.select(raw, max_features=3, signs={"a": "-", "c": "+"}, fair=(data.aside["half"], 0.1))
    assert found.parameters["signs"] == {"a": "-", "c": "+"}
    assert found.parameters["fair"] == [{"by": "group", "limit": 0.1}]
    assert found.weights_original.get("a", 0) <= 0 <= found.weights_original.get("c", 0)
    scores = found.decision(raw)
    assert abs(scores[:20].mean() - scores[20:].mean()) <= 0.1 + 1e-6
    assert "Mean scores by group" in repr(found)


def test_a_feature_that_gives_the_groups_is_none_unless_it_is_kept():
    data = fs.load_dataset("cleveland")
    words = {"C": 0.1, "fair": ("sex", 0.1), "solver": "clarabel"}
    assert "sex" not in fs.select(data, "svm", **words).weights
    assert "sex" in fs.select(data.set_aside("sex", keep=True), "svm", **words).weights


def test_the_group_is_that_of_original_values_under_any_scaling():
    data = fs.load_dataset("cleveland")
    for scaled in (data, data.scaled("standard"), data.scaled("minmax").scaled("unit-ball")):
        assert scaled.set_aside("cp").aside["cp"].tolist() == [f"{x:g}" for x in data.X[:, data.features.index("cp")]]


def test_groups_go_with_the_rows_and_come_from_tables(tmp_path):
    text = "age,sex,dose,y\n1,f,2,0\n3,m,1,1\n4,m,0,0\n2,f,5,1\n"
    (tmp_path / "a.csv").write_text(text)
    data = fs.Dataset.from_csv(tmp_path / "a.csv", "y", aside="sex")
    assert data.features == ("age", "dose")
    assert data.take([2, 0]).aside["sex"].tolist() == ["m", "f"]
    assert data.scaled("standard").select_features(["age"]).aside["sex"].tolist() == ["f", "m", "m", "f"]
    (tmp_path / "b.csv").write_text(text.replace("3,m", "3,"))
    with pytest.raises(fs.DataError, match=r'Column "sex" of file .* has no value in row 2'):
        fs.Dataset.from_csv(tmp_path / "b.csv", "y", aside="sex")


def test_a_column_that_is_the_same_in_both_groups_bounds_nothing(data):
    X = np.tile([[0.0, 1.0], [1.0, 0.0]], (4, 1))
    even = fs.Dataset.from_arrays(X, [-1, 1] * 4, features=["a", "b"]).scaled("none")
    model = fs.svm.l2_svm(even)
    model.fair = sides.fair(model, even, [0, 0, 0, 0, 1, 1, 1, 1], 0.0)
    assert len(model.fair) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"signs": {"a": "up"}}, r'"a" has \'up\': give "\+"'),
        ({"signs": {"z": "+"}}, '"z" is not a feature'),
        ({"signs": ["a"]}, "signs got list"),
        (
            {"fair": ("sex", 0.1)},
            r'fair=\(\'sex\', 0.1\) Columns that are set aside: half, third\.: "sex" is not a feature',
        ),
        ({"fair": ("half", -1)}, "below 0"),
        ({"fair": ("half", "much")}, "limit='much' is not allowed"),
        ({"fair": ("a", 0.1)}, "40 different values"),
        ({"fair": ([1, 2], 0.1)}, "has 2 values for 40 samples"),
        ({"fair": 0.1}, "fair got float"),
        ({"fair": ([0] * 40, 0.1)}, "1 different values"),
        ({"at_most_of_group": ({"a": "x", "b": "x"}, 2)}, "it has no effect"),
        ({"at_most_of_group": ({"a": "x", "b": "x"}, {"y": 1})}, "y is not a group"),
        ({"at_most_of_group": [({"a": "x"}, -1)]}, "-1 of group"),
        ({"at_most_of_group": (["a"], 1)}, "no pair of groups and a number"),
    ],
)
def test_bad_words_are_refused_by_name(data, words, message):
    with pytest.raises(fs.errors.Error, match=message):
        fs.select(data, max_features=2, **words)


def test_a_model_without_weights_is_refused(data):
    model = pyo.ConcreteModel("bare")
    with pytest.raises(fs.ModelError, match='"bare" has no weights w'):
        sides.signs(model, {"a": "+"})
    with pytest.raises(
        fs.ModelError, match=r"takes no rows on weights, so it cannot take signs\. Models that can: svm"
    ):
        fs.select(data, "rfe", max_features=2, signs={"a": "+"})


def test_at_most_of_each_group(data):
    groups = {"a": "x", "c": "x", "b": "y", "d": "y"}
    found = fs.select(data, max_features=4, at_most_of_group=(groups, {"x": 1}))
    best = min(
        svm(data, set(s), {}) for k in range(5) for s in itertools.combinations(NAMES, k) if not {"a", "c"} <= set(s)
    )
    assert found.objective == pytest.approx(best, rel=2e-4)
    assert fs.select(data, "relief", max_features=4, at_most_of_group=[(groups, 1)]).selected != data.features


def test_correlated_groups_are_complete(data):
    X = np.column_stack([data.X, -data.X[:, 0] + 0.01 * data.X[:, 1], np.ones(40), data.X[:, 3] * 2])
    wide = fs.Dataset.from_arrays(X, data.y)
    assert wide.correlated(0.9) == {"x1": "x1", "x5": "x1", "x4": "x4", "x7": "x4"}
    r = np.abs(np.corrcoef(fs.load_dataset("wdbc").X, rowvar=False))
    groups = fs.load_dataset("wdbc").correlated(0.9)
    at = {name: j for j, name in enumerate(fs.load_dataset("wdbc").features)}
    for one, other in itertools.combinations(groups, 2):
        if groups[one] == groups[other]:
            assert r[at[one], at[other]] >= 0.9
    with pytest.raises(fs.ParameterError, match="least=2"):
        wide.correlated(2)


def test_large_data_are_written_out_where_rows_are_on_weights(data, monkeypatch):
    monkeypatch.setattr("fsmodels.models.fsp.specs.LARGE", 10)
    assert fs.select(data, max_features=2, signs={"a": "-"}).model.component("margin") is not None


def test_a_solver_of_the_whole_model_gets_a_form_that_takes_them(data):
    found = [fs.select(data, max_features=2, signs={"a": "-"}, solver=solver) for solver in ("scip", None)]
    assert found[0].objective == pytest.approx(found[1].objective, rel=2e-4)


def test_the_refit_keeps_the_rows(data):
    found = fs.select(data, "fsv", penalty=0.05, signs={"b": "+", "a": "+"}, fair=("half", 0.05))
    for one in (found, found.refit):
        scores = one.decision(data)
        assert abs(scores[:20].mean() - scores[20:].mean()) <= 0.05 + 1e-6
        assert all(one.weights.get(j, 0) >= -1e-9 for j in "ab")
