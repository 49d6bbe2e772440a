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
