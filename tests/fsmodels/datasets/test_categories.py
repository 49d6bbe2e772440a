"""Columns of categories as 0/1 features, from the table to the prediction."""

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.datasets.dataset import Dataset
from fsmodels.models.fsp.oracle import SvmOracle
from refusals import refusal


def a_frame(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)).round(2), columns=["age", "dose", "size"])
    frame.insert(1, "colour", rng.choice(["red", "green", "blue"], rows))
    frame["smoker"] = rng.choice(["no", "yes"], rows)
    ill = frame["age"] + 1.5 * (frame["colour"] == "red") - (frame["smoker"] == "yes") + rng.normal(size=rows) > 0.3
    return frame.assign(group=np.where(ill, "ill", "well"))


def read(frame, **options):
    return Dataset.from_frame(frame, **{"target": "group", "positive": "ill", **options})


def test_columns_become_features_in_their_place_and_two_levels_one_feature():
    frame = a_frame()
    data = read(frame, one_hot=["colour", "smoker"])
    assert data.features == ("age", "colour=blue", "colour=green", "colour=red", "dose", "size", "smoker=yes")
    for level in ("blue", "green", "red"):
        column = data.X[:, data.features.index(f"colour={level}")]
        np.testing.assert_array_equal(column, (frame["colour"] == level).astype(float))
    assert data.categories["colour"].levels == ("blue", "green", "red")
    for way in ("all", True, ["colour,smoker"], {"colour": "together", "smoker": "apart"}):
        assert read(frame, one_hot=way).features == data.features


def test_levels_are_in_the_order_of_numbers_and_written_as_they_are():
    column = ["10", "9", "9.0", "01", " 9 ", "none", "1.5"]
    data = read(pd.DataFrame({"c": column, "group": ["ill", "well"] * 3 + ["ill"]}), one_hot="c")
    assert data.categories["c"].levels == ("01", "1.5", "9", "10", "none")
    numbers = read(pd.DataFrame({"c": [1.0, 2.0, 3.0], "group": ["ill", "well", "well"]}), one_hot="c")
    assert numbers.features == ("c=1", "c=2", "c=3")


def test_names_win_over_what_stands_behind_a_colon():
    frame = pd.DataFrame({"a:apart": ["u", "v", "w"], "a": ["x", "y", "z"], "group": ["ill", "well", "well"]})
    data = read(frame, one_hot=["a:apart", "a:apart:apart", "a"])
    assert (data.categories["a:apart"].together, data.categories["a"].together) == (False, True)
    assert "known: use together or apart" in refusal(
        read, frame, one_hot={"a": "alone"}, error=fs.ParameterError
    ).replace("is not ", "")


def test_what_cannot_be_made_is_refused():
    frame = a_frame()
    assert 'Did you mean "colour"?' in refusal(read, frame, one_hot="color")
    assert "1 different values" in refusal(read, frame.assign(colour="red"), one_hot="colour")
    assert "60 different values" in refusal(read, frame.assign(colour=[f"p{k}" for k in range(60)]), one_hot="colour")
    taken = frame.assign(**{"colour=red": 1.0})
    assert 'needs a feature "colour=red"' in refusal(read, taken, one_hot="colour")
    holes = frame.assign(colour=[None, "", *frame["colour"][2:]])
    message = refusal(read, holes, one_hot="all")
    assert 'Column "colour" has no value (blank or NaN) in row 1; 2 such cells in 2 rows' in message
    message = refusal(read, frame)
    assert 'one_hot=["colour", "smoker"]' in message


def best(data, most, groups):
    """The least objective of fsp-m over all selections that take groups as a whole."""
    oracle, found = SvmOracle(data.X, data.y, 1.0), np.inf
    for support in itertools.product((0, 1), repeat=data.n_features):
        chosen = {name for name, one in zip(data.features, support, strict=True) if one}
        if len(chosen) <= most and all(not chosen & set(g) or set(g) <= chosen for g in groups):
            found = min(found, oracle.solve(np.array(support, dtype=float), 1e-9).value)
    return found


@pytest.mark.parametrize("how", ["together", "apart"])
@pytest.mark.parametrize("solver", [None, "scip"])
def test_the_features_of_a_category_are_selected_together_or_apart(how, solver):
    data = read(a_frame(), one_hot={"colour": how, "smoker": how}).scaled("standard")
    groups = [data.categories["colour"].features] if how == "together" else []
    found = fs.select(data, "fsp-m", max_features=4, solver=solver)
    assert found.objective == pytest.approx(best(data, 4, groups), rel=1e-3)
    if how == "together":
        assert len(set(groups[0]) & set(found.selected)) in (0, 3)
        assert found.parameters["all_or_none"] == [list(groups[0])]
    else:
        assert "all_or_none" not in found.parameters


def test_methods_take_a_category_as_a_whole_or_say_that_they_do_not():
    data = read(a_frame(), one_hot="colour", drop="smoker")
    group = set(data.categories["colour"].features)
    for model in ("rfe", "relief", "fs", "one-norm-svm"):
        words = {"penalty": 0.1} if model == "fs" else {"max_features": 4}
        found = fs.select(data, model, **words)
        assert len(group & set(found.selected)) in (0, 3), model
        assert found.parameters["all_or_none"] == [list(data.categories["colour"].features)]
    with pytest.warns(
        fs.DataWarning, match=r'"one-norm-svm" selects the features of "colour" separately.*max_features'
    ):
        assert "all_or_none" not in fs.select(data, "one-norm-svm").parameters
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fs.select(data, "svm").model.component("sigma") is None


def test_the_row_comes_once_where_it_is_given_too_and_along_in_every_question():
    data = read(a_frame(), one_hot="colour", drop="smoker")
    group = list(data.categories["colour"].features)
    found = fs.select(data, max_features=4, all_or_none=[group[::-1]])
    assert len(found.parameters["all_or_none"]) == 1
    near = fs.near_optimal(data, max_features=4, within=0.05)
    assert all(len(set(group) & set(names)) in (0, 3) for names in near.table()["features"].str.split(", "))
    runs = fs.stability(data, max_features=4, folds=3)
    assert runs.table().loc[group, "frequency"].nunique() == 1
    session = fs.explore(data, max_features=4)
    session.ask(force_in=["colour=red"])
    assert set(group) <= set(session.answers[-1].found.selected)


def test_a_table_is_decided_by_its_column_and_a_new_level_is_refused_unless_told(tmp_path):
    frame = a_frame()
    data = read(frame, one_hot="all")
    found = fs.select(data, "svm")
    found.save(tmp_path / "x.json")
    new = a_frame(seed=5).drop(columns="group")
    wide = read(a_frame(seed=5), one_hot="all")
    for each in (found, fs.load_selection(tmp_path / "x.json")):
        np.testing.assert_allclose(each.decision(new), each.decision(wide), atol=1e-12)
        np.testing.assert_allclose(each.decision(new.to_dict("records")), each.decision(wide), atol=1e-12)
        strange = new.assign(colour=["pink", *new["colour"][1:]])
        message = refusal(each.predict, strange)
        assert '"pink" in row 1' in message
        assert 'unseen="zeros"' in message
        zeros = dict.fromkeys(data.categories["colour"].features, 0.0)
        row = pd.DataFrame([{**new.iloc[0].drop("colour"), **zeros}])
        assert each.decision(strange, unseen="zeros")[0] == pytest.approx(each.decision(row)[0])
        assert "lacks columns (colour)" in refusal(each.predict, new.drop(columns="colour"))


def test_other_data_of_fewer_levels_have_zeros_and_of_more_are_refused():
    frame = a_frame()
    data = read(frame, one_hot="colour", drop="smoker").scaled("standard")
    few = frame[frame["colour"] != "red"]
    other = data.apply_scale_to(read(few, one_hot="colour", drop="smoker"))
    full = read(frame, one_hot="colour", drop="smoker").take(np.flatnonzero(frame["colour"] != "red"))
    np.testing.assert_allclose(other.X, data.apply_scale_to(full).X, atol=1e-12)
    less = read(few, one_hot="colour", drop="smoker")
    assert "levels (red)" in refusal(less.apply_scale_to, data)


def test_a_level_without_a_row_in_a_fold_is_decided_as_none():
    frame = a_frame()
    frame.loc[:3, "colour"] = "pink"
    data = read(frame, one_hot="colour:apart", drop="smoker")
    train = data.take(range(4, 60)).scaled("standard")
    found = fs.select(train, "svm")
    assert found.weights.get("colour=pink", 0.0) == 0.0
    assert np.isfinite(found.decision(data.take(range(4)))).all()


def test_the_command_line_makes_categories_and_predicts_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    a_frame().to_csv("p.csv", index=False, sep=";", decimal=",")
    a_frame(seed=3).to_csv("new.csv", index=False)
    words = ["--target", "group", "--positive", "ill"]
    assert main(["select", "p.csv", *words, "--model", "fsp-m", "--max-features", "4"]) == 2
    err = capsys.readouterr().err
    assert "--one-hot colour" in err
    making = ["--one-hot", "colour,smoker", "--max-features", "4"]
    run = ["select", "p.csv", *words, "--model", "fsp-m", *making, "--json", "r.json", "--certificate", "c.json"]
    assert main(run) == 0
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["categories"]["colour"] == {"column": "colour", "levels": ["blue", "green", "red"], "together": True}
    assert main(["verify", "c.json", "p.csv", *words, "--one-hot", "all"]) == 0
    assert main(["predict", "r.json", "new.csv", "--target", "group"]) == 0
    frame = pd.read_csv("new.csv")
    frame.loc[1, "colour"] = "pink"
    frame.to_csv("strange.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "r.json", "strange.csv"]) in (0, 2)  # 2 where colour is selected
    if any(name.startswith("colour=") for name in told["selected"]):
        assert "--unseen zeros" in capsys.readouterr().err
    assert main(["predict", "r.json", "strange.csv", "--unseen", "zeros"]) == 0
    assert main(["select", "strange.csv", "--model", "svm", "--one-hot", "all", "--bags", "colour"]) == 2


@pytest.fixture(scope="module")
def mixed():
    rng, n = np.random.default_rng(4), 40
    words = {"colour": ["red", "green", "blue"], "size": list("SMLX"), "sex": ["f", "m"]}
    frame = pd.DataFrame({name: rng.normal(size=n) for name in "ab"} | {k: rng.choice(v, n) for k, v in words.items()})
    score = frame["a"] + 1.5 * (frame["colour"] == "red") - 1.2 * (frame["size"] == "S") + 0.3 * rng.normal(size=n)
    return frame.assign(target=(score > score.median()).astype(int))


def test_a_limit_on_columns_reaches_the_optimum_of_enumeration_over_columns(mixed):
    data = Dataset.from_frame(mixed, one_hot="all").scaled("standard")
    assert list(data.columns) == ["a", "b", "colour", "size", "sex"]
    for k in (1, 2, 3):
        found = fs.select(data, max_features=k, count="columns")
        least = min(
            fs.select(data.select_features([name for c in chosen for name in data.columns[c]]), "svm").objective
            for chosen in itertools.combinations(data.columns, k)
        )
        assert found.status.value == "optimal"
        assert found.objective == pytest.approx(least, rel=1e-6)
        assert len(data.columns_of(found.selected)) <= k
    assert (data.columns_of(found.selected), len(found.selected)) == (["a", "colour", "size"], 8)
    assert "8 of 10 features in 3 of 5 columns" in str(found)
    assert found.to_dict()["columns"] == ["a", "colour", "size"]
    table = fs.path(data, max_features=[1, 3], count="columns")  # one model, whose limit changes
    assert table["objective"].iloc[-1] == pytest.approx(found.objective, rel=1e-6)
    session = fs.explore(data, max_features=1, count="columns")
    assert session.ask(max_features=3).found.objective == pytest.approx(found.objective, rel=1e-6)
    assert session.ask(max_features=2, force_in=["b"]).found.selected[0] == "a"
    assert "at most 2 columns" in fs.near_optimal(data, max_features=2, count="columns").sentence
    assert fs.select(data, max_features=3, count="columns", solver="scip").objective == pytest.approx(least, rel=1e-4)


def test_a_limit_on_columns_is_rebuilt_named_and_refused_where_it_is_not_possible(mixed, tmp_path):
    data = Dataset.from_frame(mixed, one_hot="all").scaled("standard")
    found = fs.select(data, "fs", penalty=0.05, max_features=2, count="columns")
    assert len(data.columns_of(found.selected)) == 2 < len(found.selected)
    found.save(tmp_path / "x.json")
    assert fs.load_selection(tmp_path / "x.json").rebuild(data).column_limit.upper.value == 2
    both = fs.select(data, max_features=1, count="columns", force_in=["a", "b"])
    assert 'max_features=1, count="columns"' in both.message
    apart = Dataset.from_frame(mixed, one_hot=["colour:apart", "size", "sex"])
    for call, words in (
        (lambda: fs.select(data, max_features=6, count="columns"), "above the 5 columns of the data: use 1..5"),
        (lambda: fs.select(data, max_features=2, count="column"), "use one of features, columns"),
        (lambda: fs.select(data, "fsp-lambda", penalty=1, count="columns"), "give max_features too"),
        (lambda: fs.select(data, "rfe", max_features=2, count="columns"), "use fsp-m or fs"),
        (lambda: fs.select(data, "fsmulti", max_features=2, count="columns"), "use fsp-m or fs"),
        (lambda: fs.select(apart, max_features=2, count="columns"), "encode it without :apart"),
    ):
        with pytest.raises(fs.ParameterError, match=words):
            call()


def test_the_command_line_counts_columns(mixed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mixed.to_csv("m.csv", index=False)
    words = ["select", "m.csv", "--one-hot", "all", "--max-features", "2", "--count", "columns"]
    assert main([*words, "--json", "m.json"]) == 0
    out = capsys.readouterr().out
    assert "in 2 of 5 columns" in out
    assert "a, colour" in out
    assert main([*words, "--model", "rfe"]) == 2
    assert "Option: --count." in capsys.readouterr().err


ROWS_BY_COLUMN = {
    "row": ({"rows": ["colour + a <= 1"]}, lambda c: {"colour", "a"} - c),
    "row with coefficients": ({"rows": ["2 colour + size >= 2"]}, lambda c: "colour" in c),
    "budget": ({"budget": ({"colour": 3, "a": 2, "sex": 2}, 4)}, lambda c: "colour" not in c or not c & {"a", "sex"}),
    "force_in": ({"force_in": "sex"}, lambda c: "sex" in c),
    "force_out": ({"force_out": ["colour", "b"]}, lambda c: not c & {"colour", "b"}),
    "requires": ({"requires": [("a", "colour")]}, lambda c: "a" not in c or "colour" in c),
    "excludes": ({"excludes": [("size", "colour")]}, lambda c: not {"size", "colour"} <= c),
    "at_most": ({"at_most": [(["colour", "size", "a"], 1)]}, lambda c: len(c & {"colour", "size", "a"}) <= 1),
    "group": ({"at_most_of_group": ({"colour": "g", "sex": "g"}, 1)}, lambda c: not {"colour", "sex"} <= c),
}  # fmt: skip


@pytest.mark.parametrize(("given", "allowed"), ROWS_BY_COLUMN.values(), ids=ROWS_BY_COLUMN)
def test_a_row_with_the_name_of_a_column_counts_it_once(mixed, given, allowed, tmp_path):
    data = Dataset.from_frame(mixed, one_hot="all").scaled("standard")
    found = fs.select(data, max_features=2, count="columns", **given)
    least = min(
        fs.select(data.select_features([name for c in chosen for name in data.columns[c]]), "svm").objective
        for chosen in itertools.combinations(data.columns, 2)
        if allowed({*chosen})
    )
    assert found.objective == pytest.approx(least, rel=1e-4)
    assert allowed({*data.columns_of(found.selected)})
    found.save(tmp_path / "f.json")
    rebuilt = fs.load_selection(tmp_path / "f.json").rebuild(data)
    assert fs.solve(rebuilt).objective == pytest.approx(found.objective, rel=1e-4)


def test_names_of_columns_that_have_no_single_switch_are_refused(mixed):
    data = Dataset.from_frame(mixed, one_hot="all")
    apart = Dataset.from_frame(mixed, one_hot=["colour:apart", "size", "sex"])
    for call, message in [
        (lambda: fs.select(data, max_features=2, rows=["w[colour] >= 0"]), "for each feature: write w[`colour="),
        (lambda: fs.select(data, max_features=2, signs={"colour": "+"}), '"colour" is not a feature'),
        (lambda: fs.select(apart, max_features=2, force_in="colour"), '"colour" is not a feature'),
        (
            lambda: fs.select(data, max_features=2, budget=({"colour": 1, data.columns["colour"][0]: 2}, 3)),
            'budget names column "colour" and its feature',
        ),
    ]:  # fmt: skip
        assert message in refusal(call, error=(fs.DataError, fs.ParameterError))


def test_the_command_line_takes_names_of_columns_in_rows_and_costs(mixed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mixed.to_csv("m.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\ncolour,3\nsize,1\na,1\n")
    (tmp_path / "groups.csv").write_text("feature,group\nsize,g\nsex,g\n")
    words = ["select", "m.csv", "--one-hot", "all", "--max-features", "3", "--count", "columns", "--json", "m.json"]
    rows = ["--budget", "costs.csv:4", "--force-in", "colour", "--excludes", "size:a", "--row", "b <= sex"]
    assert main([*words, *rows, "--at-most-of-group", "groups.csv:1"]) == 0
    columns = json.loads((tmp_path / "m.json").read_text())["columns"]
    assert "colour" in columns
    assert len({"size", "a"} & {*columns}) <= 1
    capsys.readouterr()
    assert main([*words, "--force-in", "color"]) == 2
    assert "color" in capsys.readouterr().err
