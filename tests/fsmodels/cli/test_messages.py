"""Messages in the words of who typed the command, or called the function: rows, dropped columns, options, models."""

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.selection.row_words import as_flags, as_words, flags_of

BUPA = ["bupa", "--max-features", 1, "--force-in", "mcv", "--force-in", "sgot", "--quiet"]


def said(capsys, *words):
    code = main([str(word) for word in words])
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    "command", [["select", "--model", "fsp-m"], ["near-optimal"], ["necessity"], ["path", "-C", "1,2"]]
)
def test_rows_that_clash_are_told_as_they_were_typed(capsys, command):
    code, _, err = said(capsys, command[0], *BUPA, *command[1:])
    assert code in (2, 3)
    assert "--max-features 1" in err
    assert "--force-in mcv" in err
    assert "cardinality" not in err
    assert "force_in" not in err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--requires", "mcv:sgot", "--excludes", "mcv:sgot", "--force-in", "mcv"], "--requires mcv:sgot"),
        (["--at-least", "3:mcv:sgot:sgpt"], "--at-least 3:mcv:sgot:sgpt"),
        (["--all-or-none", "mcv:sgot:sgpt", "--force-in", "mcv"], "--all-or-none mcv:sgot:sgpt"),
    ],
)
def test_each_kind_of_row_is_told_as_it_was_typed(capsys, words, asked):
    _, _, err = said(capsys, "select", "bupa", "--model", "fsp-m", "--max-features", 2, "--quiet", *words)
    assert asked in err


def test_rows_are_told_in_the_words_of_select():
    found = fs.select(fs.load_dataset("bupa"), max_features=1, force_in=["mcv", "sgot"])
    assert 'max_features=1, force_in=["mcv"], force_in=["sgot"]. Relax or leave out' in found.message
    assert '"force_in[mcv]"' in found.result.message  # of the model, which has it
    parameters = {"max_features": 3, "excludes": [["a", "b"], ["a", "b"]], "signs": {"a": "+"}, "budget": 4}
    assert as_words('"excludes_a_b_2", "signs[a]", "own"', parameters) == 'excludes=("a", "b"), signs={"a": "+"}, "own"'
    assert as_flags('excludes=("a", "b")', parameters) == "--excludes a:b"
    assert flags_of(parameters)["cardinality"] == "--max-features 3"


def test_prices_are_told_as_typed_and_written_by_name(capsys, tmp_path):
    file = tmp_path / "p.json"
    code, out, _ = said(capsys, "price", "bupa", "--max-features", 2, "--force-in", "mcv", "--json", file)
    assert code == 0
    assert '"--force-in mcv" costs' in out
    assert "cardinality" not in out
    assert '"row": "force_in"' in file.read_text()


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    frame["sex"] = rng.integers(0, 2, 40)
    frame["target"] = (frame["a"] + rng.normal(size=40) > 0).astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("words", "more"),
    [(["--fair", "sex:0.1"], "for --fair makes it no feature by itself"), (["--force-in", "sex"], "")],
)
def test_a_column_that_was_dropped_is_told_so(capsys, table, words, more):
    code, _, err = said(capsys, "select", table, "--model", "fsp-m", "--max-features", 2, "--drop", "sex", *words)
    assert code == 2
    assert '"sex" was left out by --drop sex: take that away' in err
    assert more in err


def test_an_unknown_option_lists_what_can_be_typed(capsys):
    words = ["select", "bupa", "--model", "fsp-m", "--max-features", 2, "--quiet", "--solver-option", "foo=1"]
    _, _, err = said(capsys, *words)
    assert "iteration_limit" in err
    assert "callback" not in err
    with pytest.raises(fs.OptionError, match=r"In Python also: callback, .*memory"):
        fs.select(fs.load_dataset("bupa"), max_features=2, foo=1)


@pytest.mark.parametrize("gap", [1, 1.0, 2, float("inf")])
@pytest.mark.parametrize("solver", ["branch-and-cut", "benders", "scip"])
def test_a_gap_that_proves_nothing_is_refused(gap, solver):
    data = fs.load_dataset("bupa")
    with pytest.raises(fs.OptionError, match="below 1"):
        fs.select(data, max_features=2, solver=solver, gap=gap)
    assert fs.select(data, max_features=1, gap=0.99).has_solution


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, data: fs.certify(data, ["mcv"], model),
        lambda model, data: fs.near_optimal(model),
        lambda model, data: fs.necessity(data, model),
        lambda model, data: fs.explore(model),
        lambda model, data: fs.select(data, model),
        lambda model, data: fs.stability(model),
    ],
)
def test_an_edited_model_is_told_where_it_is_solved(ask):
    data = fs.load_dataset("bupa")
    model = fs.fsp.fsp_m(data.scaled("standard"), max_features=2)
    with pytest.raises(fs.ParameterError, match=r"takes no model that was built and edited.*fs\.solve\(model\)"):
        ask(model, data)
    assert len(fs.solve(model, "branch-and-cut", within=0.01).details["near"].choices) >= 1


def test_a_curve_without_a_knee_leaves_the_path(capsys):
    code, out, err = said(capsys, "path", "bupa", "--max-features", "1:4", "--choose", "knee")
    assert code == 0
    assert "4 points by max_features" in out
    assert "--folds 5 --choose one-se" in err
