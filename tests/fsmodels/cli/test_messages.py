"""Messages in the words of who typed the command, or called the function: rows, dropped columns, options, models."""

import pickle

import pytest

import fsmodels as fs
from commands import run
from fsmodels.selection.rows import keywords_by_row, with_keywords

BUPA = ["bupa", "--max-features", 1, "--force-in", "mcv", "--force-in", "sgot", "--quiet"]


@pytest.mark.parametrize(
    "command", [["select", "--model", "fsp-m"], ["near-optimal"], ["necessity"], ["path", "-C", "1,2"]]
)
def test_rows_that_clash_are_named_in_the_words_of_select(capsys, command):
    code, _, err = run(capsys, command[0], *BUPA, *command[1:])
    assert code in (2, 3)
    assert "max_features=1" in err
    assert 'force_in=["mcv"]' in err
    assert "cardinality" not in err
    assert "force_in[" not in err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--requires", "mcv:sgot", "--excludes", "mcv:sgot", "--force-in", "mcv"], 'requires=("mcv", "sgot")'),
        (["--at-least", "3:mcv:sgot:sgpt"], "at_least=(['mcv', 'sgot', 'sgpt'], 3)"),
        (["--all-or-none", "mcv:sgot:sgpt", "--force-in", "mcv"], "all_or_none=['mcv', 'sgot', 'sgpt']"),
    ],
)
def test_each_kind_of_row_is_named_in_the_words_of_select(capsys, words, asked):
    _, _, err = run(capsys, "select", "bupa", "--model", "fsp-m", "--max-features", 2, "--quiet", *words)
    assert asked in err


def test_rows_are_told_in_the_words_of_select():
    found = fs.select(fs.load_dataset("bupa"), max_features=1, force_in=["mcv", "sgot"])
    assert 'max_features=1, force_in=["mcv"], force_in=["sgot"]. Relax or leave out' in found.message
    assert '"force_in[mcv]"' in found.result.message  # of the model, which has it
    parameters = {"max_features": 3, "excludes": [["a", "b"], ["a", "b"]], "signs": {"a": "+"}, "budget": 4}
    assert (
        with_keywords('"excludes_a_b_2", "signs[a]", "own"', parameters)
        == 'excludes=("a", "b"), signs={"a": "+"}, "own"'
    )
    assert keywords_by_row(parameters)["cardinality"] == "max_features=3"
    parameters = {"fair": [{"by": "sex", "limit": 0.1}], "hierarchy": "strong"}
    told = 'fair=("sex", 0.1) and hierarchy="strong"'
    assert with_keywords('"fair_sex[f,m]" and "hierarchy[a*b,a]"', parameters) == told
    assert keywords_by_row(parameters) == {"fair_sex": 'fair=("sex", 0.1)', "hierarchy": 'hierarchy="strong"'}


def test_prices_are_shown_in_the_words_of_select_and_written_by_name(capsys, tmp_path):
    file = tmp_path / "p.json"
    code, out, _ = run(capsys, "price", "bupa", "--max-features", 2, "--force-in", "mcv", "--json", file)
    assert code == 0
    assert "force_in=['mcv'] costs" in out
    assert "cardinality" not in out
    assert '"row": "force_in"' in file.read_text()


def test_an_error_of_a_parameter_names_its_option(capsys):
    code, _, err = run(capsys, "select", "bupa", "--model", "fsp-m", "--max-features", 2, "--threads", 0)
    assert code == 2
    assert err.endswith("Option: --threads.\n")
    with pytest.raises(fs.OptionError) as refusal:
        fs.select(fs.load_dataset("bupa"), max_features=2, threads=0)
    assert refusal.value.parameter == "threads"
    assert pickle.loads(pickle.dumps(refusal.value)).parameter == "threads"


def test_an_unknown_option_lists_what_can_be_typed(capsys):
    words = ["select", "bupa", "--model", "fsp-m", "--max-features", 2, "--quiet", "--solver-option", "foo=1"]
    _, _, err = run(capsys, *words)
    assert "iteration_limit" in err
    assert "In Python also: callback" in err
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
    with pytest.raises(fs.ParameterError, match=r"does not accept a built model.*fs\.solve\(model\)"):
        ask(model, data)
    assert len(fs.solve(model, "branch-and-cut", within=0.01).details["near"].choices) >= 1


def test_a_curve_without_a_knee_leaves_the_path(capsys):
    code, out, err = run(capsys, "path", "bupa", "--max-features", "1:4", "--choose", "knee")
    assert code == 0
    assert "4 points by max_features" in out
    assert "folds=5" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--penalty", "1", "--penalty", "2"], "--penalty has two values for all features, 1 and 2: give one."),
        (
            ["--penalty", "mcv=1", "--penalty", "mcv=2"],
            '--penalty mcv=2: "mcv" has a penalty already: give each feature once.',
        ),
    ],
)
def test_a_penalty_that_is_given_twice_is_an_error(capsys, words, message):
    code, _, err = run(capsys, "select", "bupa", "--model", "fsp-lambda", "--quiet", *words)
    assert code == 2
    assert message in err


def test_a_range_without_numbers_is_an_error(capsys):
    code, _, err = run(capsys, "path", "bupa", "--max-features", "3:1", "--quiet")
    assert code == 2
    assert '"3:1" contains no number: give the smaller end first, 1:10.' in err


def test_without_a_command_the_help_is_shown(capsys):
    code, _, err = run(capsys)
    assert code == 2
    assert err.startswith("Usage: fsmodels [OPTIONS] COMMAND")


def test_a_table_with_long_ranges_has_all_columns(capsys):
    rows = ["--excludes", "sgpt:sgot", "--requires", "drinks:mcv", "--at-most", "1:sgot:gammagt"]
    code, out, _ = run(capsys, "price", "bupa", "--model", "fsp-m", "--max-features", 3, *rows)
    assert code == 0
    header = next(line for line in out.splitlines() if "Slack" in line)
    assert [title for title in ("Row", "Price", "Share", "Slack") if title not in header] == []
