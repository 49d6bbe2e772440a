"""Signs, fairness and groups on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run

NAMES = ("dose", "ratio: a/b", "age", "k=1", "site 2", "weight", "height")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a CSV file of seven features and text labels, and a cost file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(36, 7)) + np.where(np.arange(36) % 3 == 0, 0.6, 0.0)[:, None]
    ill = X @ [1, 0.5, 1.5, 0.7, 0.1, 0, 0.3] + rng.normal(size=36) > 1.0
    frame = pd.DataFrame(X, columns=list(NAMES)).assign(group=np.where(ill, "ill", "well"))
    frame.to_csv("patients.csv", index=False)
    (tmp_path / "costs.csv").write_text("feature,cost\nage,1\n")
    return tmp_path


SELECT = ["select", "patients.csv", "--target", "group", "--positive", "ill", "--scale", "none"]


def test_signs_groups_and_fairness(folder, capsys):
    frame = pd.read_csv("patients.csv")
    frame["ward"] = np.where(np.arange(36) % 3 == 0, "north", "south: new")
    frame.to_csv("wards.csv", index=False)
    (folder / "groups.csv").write_text("feature,group\ndose,lab\nk=1,lab\n")
    base = ["select", "wards.csv", "--target", "group", "--positive", "ill", "--model", "fsp-m", "--max-features", 4]
    words = ["--sign", "ratio: a/b:-", "--fair", "ward:0.05", "--at-most-of-group", "groups.csv:1"]
    code, out, _ = run(capsys, *base, *words, "--json", "a.json")
    assert (code, "Mean scores by ward" in out) == (0, True)
    found = json.loads((folder / "a.json").read_text())
    assert found["status"] == "optimal"
    assert found["weights"].get("ratio: a/b", 0) <= 0
    assert not {"dose", "k=1"} <= set(found["selected"])
    data = fs.Dataset.from_csv("wards.csv", "group", "ill", aside="ward").scaled("standard")
    scores = sum(w * data.X[:, data.features.index(j)] for j, w in found["weights"].items())
    north = data.aside["ward"] == "north"
    assert abs(scores[north].mean() - scores[~north].mean()) <= 0.05 + 1e-6
    free = fs.select(data, max_features=4).objective
    assert found["objective"] > free * (1 + 1e-3)
    again = fs.select(
        data,
        max_features=4,
        signs={"ratio: a/b": "-"},
        fair=("ward", 0.05),
        at_most_of_group=(fs.read_groups("groups.csv"), 1),
    )
    assert again.objective == pytest.approx(found["objective"], rel=2e-4)


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_interactions_and_their_hierarchy(folder, capsys, kind):
    words = ["--interactions", "age:dose:ratio: a/b", "--interactions", "age:height", "--hierarchy", kind]
    code, _, _ = run(
        capsys, *SELECT[:-2], "--model", "fsp-m", "--max-features", 3, *words, "--json", "a.json", "--quiet"
    )
    found = json.loads((folder / "a.json").read_text())
    assert code == 0
    assert found["data"]["features"] == 11
    data = fs.Dataset.from_csv("patients.csv", "group", "ill")
    wide = data.with_interactions("age", "dose", "ratio: a/b", pairs=[("age", "height")])
    again = fs.select(wide, max_features=3, hierarchy=kind)
    assert found["selected"] == list(again.selected)
    assert found["objective"] == pytest.approx(again.objective, rel=2e-4)


def test_a_group_of_numbers_stays_a_feature_where_it_is_kept(capsys):
    words = ["select", "cleveland", "--model", "svm", "--fair", "sex:0.1", "--quiet", "--solver", "clarabel"]
    code, out, _ = run(capsys, *words)
    assert (code, "sex" in out) == (0, False)
    code, out, _ = run(capsys, *words, "--keep-fair")
    assert (code, "sex" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sign", "age"], "has no sign: write A:+ or A:-"),
        (["--sign", "agee:+"], 'Did you mean "age"'),
        (["--sign", "age:+", "--sign", "age:-"], 'gives "age" both signs'),
        (["--fair", "age"], "write COLUMN:LIMIT"),
        (["--fair", "sex:0.1"], 'There is no column "sex" to set aside'),
        (["--fair", "age:0.1"], "36 different values"),
        (["--interactions", "age"], "needs at least two features"),
        (["--interactions", "all", "--interactions", "age:dose"], "all includes every pair"),
        (["--hierarchy", "strong"], "there are no products of features"),
        (["--keep-fair"], "give --fair COL:LIMIT with it"),
        (["--at-most-of-group", "groups.csv"], "write GROUPS.csv:K"),
        (["--at-most-of-group", "costs.csv:1"], 'it must be "feature,group"'),
        (["--at-most-of-group", "correlation=a:1"], "write correlation=0.95:K"),
        (["--at-most-of-group", "correlation=0.99:1"], "give a lower one"),
    ],
)
def test_rows_on_weights_and_groups_that_are_none(folder, capsys, words, message):
    code, _, err = run(capsys, *SELECT, "--model", "fsp-m", "--max-features", 2, *words)
    assert code == 2
    assert message in err
