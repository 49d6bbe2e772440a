"""The command line as outside programs see it: output, JSON file, exit codes, messages."""

import json
import math
import re
import subprocess
import sys
import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run
from fsmodels.cli.commands import TIME_LIMIT
from fsmodels.models.fsp.oracle import SvmOracle
from solvers.interfaces.runner import Runner
from solvers.progress import StatusLine

COSTS = {"dose": 4.0, "ratio: a/b": 3.0, "age": 2.0, "k=1": 2.5, "site 2": 1.0, "weight": 5.0, "height": 0.0}
PRICES = {"dose": 0.4, "ratio: a/b": 0.3, "age": 1.2, "k=1": 0.1, "site 2": 0.9, "weight": 2.0, "height": 0.6}
C = 0.5


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with a CSV file of seven features and text labels, and a cost file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(36, 7)) * [1, 2, 0.5, 1, 3, 1, 1] + [0, 1, 0, -2, 0, 0, 5]
    ill = X @ [1, -0.5, 1.5, 0.7, 0.1, 0, 0.3] + rng.normal(size=36) > 1.0
    frame = pd.DataFrame(X, columns=list(COSTS)).assign(group=np.where(ill, "ill", "well"))
    frame.to_csv("patients.csv", index=False)
    pd.DataFrame({"feature": COSTS.keys(), "cost": COSTS.values()}).to_csv("costs.csv", index=False)
    pd.DataFrame({"feature": PRICES.keys(), "cost": PRICES.values()}).to_csv("prices.csv", index=False)
    return tmp_path


SELECT = ["select", "patients.csv", "--target", "group", "--positive", "ill", "--scale", "none"]
LIMITED = ["--budget", "costs.csv:7", "--requires", "age:site 2", "--excludes", "dose:ratio: a/b"]


@pytest.fixture(autouse=True)
def no_progress_lines(monkeypatch):
    """Write no progress lines, which a busy machine adds to standard error after 10 s."""
    monkeypatch.setattr(StatusLine.__init__, "__defaults__", (math.inf, time.perf_counter))


def allowed(support):
    cheap = sum(COSTS[j] for j in support) <= 7
    return cheap and ("age" not in support or "site 2" in support) and not {"dose", "ratio: a/b"} <= set(support)


def enumerated(data, cost, most):
    """The least objective over all allowed supports."""
    oracle = SvmOracle(data.X, data.y, C)
    best = np.inf
    for k in range(most + 1):
        for support in combinations(range(len(data.features)), k):
            names = [data.features[j] for j in support]
            if allowed(names):
                sigma = np.zeros(len(data.features))
                sigma[list(support)] = 1.0
                best = min(best, oracle.solve(sigma, 1e-9).value + cost(names))
    return best


@pytest.mark.parametrize(
    "solver", [[], ["--solver", "benders"], ["--solver", "scip"]], ids=["default", "benders", "scip"]
)
@pytest.mark.parametrize("model", ["fsp-m", "fsp-lambda"])
def test_json_holds_the_enumerated_optimum(model, solver, folder, capsys):
    data = fs.Dataset.from_csv("patients.csv", target="group", positive="ill")
    if model == "fsp-m":
        own, best = ["--max-features", "3"], enumerated(data, lambda names: 0.0, 3)
    else:
        own, best = ["--penalty", "prices.csv"], enumerated(data, lambda names: sum(PRICES[j] for j in names), 7)
    code, _, err = run(capsys, *SELECT, "--model", model, "-C", C, *own, *LIMITED, *solver, "--json", "out.json")
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert (code, err) == (0, "")
    assert content["status"] == "optimal"
    assert content["stop_reason"] == "converged"
    assert content["objective"] == pytest.approx(best, rel=1e-4)
    assert content["bound"] <= best * (1 + 1e-8)
    assert allowed(content["selected"])
    w = np.array([content["weights"].get(name, 0.0) for name in data.features])
    loss = np.maximum(0, 1 - data.y * (data.X @ w + content["bias"])).sum()
    price = sum(PRICES[j] for j in content["selected"]) if model == "fsp-lambda" else 0.0
    assert content["objective"] == pytest.approx(0.5 * w @ w + C * loss + price, rel=1e-9)
    assert content["parameters"]["budget"] == [{"costs": COSTS, "limit": 7.0}]
    assert content["parameters"]["excludes"] == [["dose", "ratio: a/b"]]
    assert content["data"]["path"] == "patients.csv"


def test_the_report_says_what_was_found_and_what_is_proven(folder, capsys):
    words = [*SELECT[:-2], "--model", "fsp-m", "--max-features", "2", "--json", "out.json"]
    code, out, err = run(capsys, *words)
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert (code, err) == (0, "")
    assert max(map(len, out[: out.index("What to try next")].splitlines())) <= 80
    for name in content["selected"]:
        assert f"{content['weights'][name]:.6g}" in out
        assert f"{content['weights_original'][name]:.6g}" in out
    for fact in ("Iter", "Objective", "Proven bound", "Gap", "Training error", "Time", "What to try next"):
        assert fact in out
    assert "--max-features 3: one more feature" in out
    assert "--json" not in out.split("What to try next")[1]


def test_quiet_prints_one_line(folder, capsys):
    code, out, _ = run(capsys, *SELECT, "--model", "fsp-m", "--max-features", "2", "--quiet")
    assert code == 0
    assert len(out.splitlines()) == 1
    assert "proven optimal" in out


def test_penalties_add_up(folder, capsys):
    words = [*SELECT, "--model", "fsp-lambda", "--quiet", "--json", "out.json"]

    def penalty(*more):
        assert run(capsys, *words, *more)[0] == 0
        return json.loads((folder / "out.json").read_text("utf-8"))["parameters"]["penalty"]

    assert penalty("--penalty", "2") == 2.0
    assert penalty("--penalty", "prices.csv", "--penalty", "k=1=7") == PRICES | {"k=1": 7.0}
    assert penalty("--penalty", "3", "--penalty", "age=0.5") == dict.fromkeys(COSTS, 3.0) | {"age": 0.5}


def test_options_of_the_solver_are_typed_and_reach_it(folder, capsys):
    words = [*SELECT, "--model", "fsp-m", "--max-features", "2", "--quiet", "--json", "out.json"]
    more = [
        "--solver",
        "benders",
        "--solver-option",
        "oracle=pyomo",
        "--solver-option",
        "iteration_limit=400",
        "--gap",
        "0.01",
        "--seed",
        "5",
        "--threads",
        "1",
    ]
    assert run(capsys, *words, *more)[0] == 0
    content = json.loads((folder / "out.json").read_text("utf-8"))
    expected = {"oracle": "pyomo", "iteration_limit": 400, "gap": 0.01, "seed": 5, "threads": 1}
    expected["time_limit"] = TIME_LIMIT
    assert content["solver"] == {"name": "benders", "options": expected}
    assert content["seed"] == 5


def test_a_file_wins_over_a_shipped_name_and_says_so(folder, capsys):
    (folder / "patients.csv").rename(folder / "bupa")
    code, out, err = run(capsys, "select", "bupa", "--target", "group", "--model", "svm")
    assert code == 0
    assert "36 samples" in out
    assert err.startswith('Note: reading the local file "bupa"')


def test_constant_columns_are_one_line_of_warning(folder, capsys):
    pd.read_csv("patients.csv").assign(batch=7).to_csv("more.csv", index=False)
    code, _, err = run(capsys, "select", "more.csv", "--target", "group", "--model", "svm", "--quiet")
    assert code == 0
    assert len(err.splitlines()) == 1
    assert err.startswith("Note: ")
    assert '"batch"' in err
    assert "Warning" not in err


def test_drop_leaves_columns_out(folder, capsys):
    code, out, _ = run(capsys, *SELECT, "--model", "svm", "--drop", "age", "--drop", "site 2")
    assert code == 0
    assert "5 features" in out
    assert "age" not in out.split("What to try next")[0]


def text(**columns):
    return pd.DataFrame(columns).to_csv(index=False)


FILES = {
    "cell.csv": text(a=[1, 2, "n/a"], b=[1, 2, 3], target=[1, -1, 1]),
    "blank.csv": text(a=[1, 2, None], b=[1, 2, 3], target=[1, -1, 1]),
    "infinite.csv": text(a=[1, 2, float("inf")], target=[1, -1, 1]),
    "one.csv": text(a=[1, 2, 3], target=[1, 1, 1]),
    "three.csv": text(a=[1, 2, 3], target=["x", "y", "z"]),
    "twice.csv": "a,a,target\n1,2,1\n2,3,-1\n",
    "empty.csv": "",
    "word.csv": text(a=[1, 2, "x"], b=[1, 2, 3], target=[1, -1, 1]),
    "two-ways.csv": "a;b;target\n1,234;2;1\n2;3,578;-1\n",
    "latin.csv": "a;b\u00df;target\n1,5;2;1\n2;3,5;-1\n",
    "good.csv": text(a=[1, 2, 3.5, 5] * 5, b=[3, 1, 2, 2] * 5, target=[1, -1, 1, -1] * 5),
    "unknown_cost.csv": "feature,cost\naa,3\n",
    "header_cost.csv": "name,price\na,3\n",
    "negative_cost.csv": "feature,cost\na,-3\n",
    "cost.csv": "feature,cost\na,3\n",
}
GOOD = ["good.csv", "--model", "fsp-m", "--max-features", "1"]
BAD = [
    (["missing.csv", "--model", "svm"], 'no file "missing.csv"'),
    (["wdbd", "--model", "svm"], 'Did you mean "wdbc".*path of a CSV file'),
    (["good.csv", "--model", "svm", "--target", "b2"], 'no column "b2".*--target'),
    (["good.csv", "--model", "svm", "--drop", "c"], 'no column "c" to drop'),
    (
        ["cell.csv", "--model", "svm"],
        'Column "a" has text in row 3.*"n/a".*fill in numbers, remove such rows, .*--impute median.*or leave.*--drop a',
    ),
    (["word.csv", "--model", "svm"], 'Column "a" has text in row 3.*"x".*: give numbers, remove such rows, or leave'),
    (["two-ways.csv", "--model", "svm"], '"1,234", which can be two numbers: give --decimal , .* or --decimal .'),
    (["latin.csv", "--model", "svm", "--encoding", "utf-16"], "not UTF-16 text.*such as --encoding utf-8"),
    (["good", "--model", "svm"], 'Did you mean the local file "good.csv"'),
    (["blank.csv", "--model", "svm"], 'Column "a" has no value.*row 3'),
    (["infinite.csv", "--model", "svm"], 'Column "a" has an infinite value'),
    (["one.csv", "--model", "svm"], "the label 1 in all 3 rows"),
    (["three.csv", "--model", "svm"], "3 labels.*--positive"),
    (["three.csv", "--model", "svm", "--positive", "w"], 'positive="w" is not a label'),
    (["twice.csv", "--model", "svm"], 'named "a"'),
    (["empty.csv", "--model", "svm"], "is empty"),
    ([".", "--model", "svm"], "is a folder"),
    (["good.csv", "--model", "fspm"], 'Did you mean "fsp-m"'),
    (["good.csv", "--model", "svm", "--scale", "standart"], "scale=.standart.*--scale"),
    (["good.csv", "--model", "svm", "-C", "0"], r"C=0.0 is not allowed.* Option: -C\.$"),
    (["good.csv", "--model", "svm", "-C", "-2"], "C=-2.0 is not allowed"),
    (["good.csv", "--model", "fsp-m"], "needs max_features.*--max-features"),
    (["good.csv", "--model", "fsp-m", "--max-features", "3"], r"max_features=3 .*1\.\.2.* Option: --max-features\.$"),
    (["good.csv", "--model", "fsp-lambda"], "needs penalty.*--penalty"),
    (["good.csv", "--model", "svm", "--penalty", "1"], "does not use penalty"),
    (["good.csv", "--model", "fsp-lambda", "--penalty", "-1"], "penalty=-1"),
    (["good.csv", "--model", "fsp-lambda", "--penalty", "cheap"], '"cheap" is not understood'),
    (["good.csv", "--model", "fsp-lambda", "--penalty", "c=1"], '"c" is not a feature'),
    (["good.csv", "--model", "fsp-lambda", "--penalty", "unknown_cost.csv"], '"aa" is not a feature'),
    (["good.csv", "--model", "gmkl", "--penalty", "1"], r"needs C:.* Option: -C\.$"),
    (["good.csv", "--model", "ao-efs", "-C", "1"], r"needs penalty:.* Option: --penalty\.$"),
    (["good.csv", "--model", "full-fs", "-C", "1", "--penalty", "a=2"], "one penalty for all features, mu"),
    (["good.csv", "--model", "ao-simple", "-C", "1", "--penalty", "-2"], "penalty=-2.0 is not allowed: mu"),
    (["good.csv", "--model", "ao-margin", "-C", "1", "--penalty", "1", "--requires", "a:a"], "is on both sides"),
    (["good.csv", "--model", "svm", "--max-features", "3"], r"max_features=3 .*1\.\.2.* Option: --max-features\.$"),
    (["good.csv", "--model", "rfe", "--max-features", "1", "--gap", "0.1"], "does not use gap"),
    (["good.csv", "--model", "rfe", "--max-features", "1", "--time-limit", "5"], "does not use time_limit"),
    ([*GOOD, "--requires", "a"], 'has no ":"'),
    ([*GOOD, "--requires", "a:c"], '"c" is not a feature'),
    ([*GOOD, "--excludes", "a:a"], "both sides"),
    ([*GOOD, "--force-in", "c"], '"c" is not a feature'),
    ([*GOOD, "--budget", "cost.csv"], "has no number.*COSTS.csv:LIMIT"),
    ([*GOOD, "--budget", "cost.csv:much"], "has no number at its end"),
    ([*GOOD, "--budget", "cost.csv:-1"], "below 0"),
    ([*GOOD, "--budget", "nothing.csv:3"], 'no file "nothing.csv"'),
    ([*GOOD, "--budget", "unknown_cost.csv:3"], '"aa" is not a feature of the data. Did you mean "a"'),
    ([*GOOD, "--budget", "header_cost.csv:3"], 'header "name,price".*feature,cost'),
    ([*GOOD, "--budget", "negative_cost.csv:3"], 'cost "-3"'),
    ([*GOOD, "--solver", "higs"], 'Did you mean "highs"'),
    ([*GOOD, "--solver", "highs"], 'Solver "highs" cannot solve this model.*scip'),
    ([*GOOD, "--solver", "benders", "--solver-option", "patiense=3"], 'Option "patiense".*Did you mean "patience"'),
    ([*GOOD, "--solver-option", "patience"], 'has no "="'),
    (
        [*GOOD, "--solver", "benders", "--solver-option", "master_options.presolv=off"],
        r'"presolv" is not one of highs. Did you mean "presolve"',
    ),
    (
        [*GOOD, "--solver-option", "sub_options.max_iter=9", "--solver-option", "sub_options.max_iter=8"],
        '"sub_options.max_iter" is given twice',
    ),
    (
        [*GOOD, "--solver-option", "sub_options=9", "--solver-option", "sub_options.max_iter=8"],
        '"sub_options" is a mapping: write sub_options.NAME=VALUE',
    ),
    ([*GOOD, "--solver", "benders", "--solver-option", "sub_options=9"], "give a mapping from option to value"),
    ([*GOOD, "--solver-option", "gap=1", "--gap", "1"], "gap is given twice"),
    ([*GOOD, "--solver", "scip", "--solver-option", "limits/node=3"], '"limits/node".*limits/nodes'),
    ([*GOOD, "--gap", "-1"], r"gap=-1.* Option: --gap\.$"),
    ([*GOOD, "--json", "no/such/folder.json"], "writable folder"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_bad_input_is_one_message_and_exit_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    code, _, err = run(capsys, "select", *words)
    assert code == 2
    assert err.count("Error: ") == 1
    assert len(err.strip().splitlines()) == 1
    assert re.search(message, err), err


def test_an_uninstalled_solver_says_how_to_get_it(folder, capsys, monkeypatch):
    from dataclasses import replace

    from solvers.interfaces.registry import SOLVERS

    monkeypatch.setitem(SOLVERS, "gurobi", replace(SOLVERS["gurobi"], version=lambda: None))
    code, _, err = run(capsys, *SELECT, "--model", "fsp-m", "--max-features", "2", "--solver", "gurobi")
    assert code == 2
    assert 'Solver "gurobi" is not installed' in err
    assert "pip install gurobipy" in err


@pytest.mark.parametrize("words", [[], ["select"], ["select", "wdbc", "--model", "svm", "--oops"]])
def test_words_that_are_no_command_are_exit_code_2(words, capsys):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "Usage: fsmodels" in err or (err.count("\n") == 1 and "--help" in err)


def test_a_near_miss_of_an_option_names_the_option(capsys):
    code, _, err = run(capsys, "select", "wdbc", "--model", "svm", "--max-feature", "2")
    assert code == 2
    assert "--max-features" in err


def test_infeasible_side_constraints_are_exit_code_3_and_named(folder, capsys):
    words = [*SELECT, "--model", "fsp-m", "--max-features", "3", "--json", "out.json"]
    code, _, err = run(capsys, *words, "--force-in", "dose", "--force-in", "age", "--excludes", "dose:age")
    assert code == 3
    assert 'excludes=("dose", "age")' in err
    assert 'force_in=["dose"]' in err
    assert "max_features" not in err
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert content["status"] == "infeasible"
    assert content["objective"] is content["weights"] is None


@pytest.mark.parametrize("model", [["rfe", "--max-features", "2"], ["obd", "--penalty", "0.05"]])
def test_infeasible_rows_of_a_rule_are_exit_code_3_too(model, folder, capsys):
    code, _, err = run(capsys, *SELECT, "--model", *model, "--force-in", "dose", "--force-out", "dose")
    assert code == 3
    assert "satisfies the rows force_in, force_out" in err


def test_no_solution_within_the_time_limit_is_exit_code_3(folder, capsys, monkeypatch):
    monkeypatch.setattr(
        "solvers.facts.certificate._choose_integers", lambda model: False
    )  # no point with the feature at hand
    words = ["select", "sonar", "--model", "fsp-m", "--max-features", "5", "--force-in", "band01", "--time-limit", "0"]
    code, _, err = run(capsys, *words, "--json", "out.json")
    assert code == 3
    assert err == "Error: No solution within 0 s: give more time (--time-limit, Python: time_limit=).\n"
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert content["status"] == "no_solution"
    assert content["stop_reason"] == "time_limit"


@pytest.mark.parametrize("model", ["fsp-m --max-features 5", "svm", "gmeb --R-plus 1 --R-minus 1", "fs --penalty 0.1"])
def test_no_time_at_all_leaves_w_0_and_exit_code_0(folder, capsys, model):
    words = ["select", "wdbc", "--model", *model.split(), "--time-limit", "0", "--json", "out.json"]
    assert run(capsys, *words)[0] == 0
    content = json.loads((folder / "out.json").read_text("utf-8"))
    assert (content["status"], content["stop_reason"]) == ("feasible", "time_limit")
    assert content["objective"] > 0
    assert not any(content["weights"].values())


def test_a_limit_with_an_incumbent_is_exit_code_0_with_gap_and_next_steps(capsys):
    words = ["select", "wdbc", "--model", "fsp-m", "--max-features", "5", "--solver", "benders"]
    code, out, _ = run(capsys, *words, "--solver-option", "iteration_limit=3", "--solver-option", "in_out=false")
    assert code == 0
    assert "Stopped at the iteration limit: " in out
    assert "the proven bound is" in " ".join(out.split())
    assert "own driver, branch-and-cut, proves more" in out
    assert "More time" not in out


def test_ctrl_c_with_an_incumbent_is_exit_code_0(folder, capsys, monkeypatch):
    from solvers.drivers.trace import Trace

    row = Trace.row

    def interrupted(self, *arguments, **values):
        row(self, *arguments, **values)
        raise KeyboardInterrupt

    monkeypatch.setattr(Trace, "row", interrupted)
    words = ["select", "wdbc", "--model", "fsp-m", "--max-features", "5", "--solver", "benders", "--json", "out.json"]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "Interrupted: 5 of 30 features" in out
    assert json.loads((folder / "out.json").read_text("utf-8"))["stop_reason"] == "interrupted"


def test_ctrl_c_before_an_incumbent_is_exit_code_3(folder, capsys, monkeypatch):
    from solvers.drivers.benders.multi_tree import Benders

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Benders, "loop", interrupted)
    words = ["select", "wdbc", "--model", "fsp-m", "--max-features", "5", "--solver", "benders", "--quiet"]
    assert run(capsys, *words)[0] == 0  # w = 0, which is feasible
    monkeypatch.setattr("solvers.facts.certificate._choose_integers", lambda model: False)
    code, _, err = run(capsys, *words, "--force-in", "mean_area")
    assert code == 3
    assert err == "Error: Interrupted before there was a solution: let it run longer.\n"


def test_list_shows_data_sets_models_and_solvers(capsys):
    from fsmodels.selection.catalogue import MODELS

    code, out, _ = run(capsys, "list")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for name in [*MODELS, *fs.list_datasets()["name"], *fs.available()["name"]]:
        assert f"\n{name} " in out


def test_an_option_of_a_slot_reaches_the_solver_inside(capsys, monkeypatch):
    told, real = [], Runner.solve
    monkeypatch.setattr(Runner, "solve", lambda self, m, **w: (told.append(self.options.own), real(self, m, **w))[1])
    words = ["--solver", "benders", "--solver-option", "master_options.presolve=off"]
    words += ["--solver-option", "master_options.mip_heuristic_effort=0.2", "--gap", "0.1"]
    assert run(capsys, "select", "wdbc", "--model", "fsp-m", "--max-features", "1", *words)[0] == 0
    assert any({"presolve": "off", "mip_heuristic_effort": 0.2}.items() <= own.items() for own in told)


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"fsmodels {fs.__version__}\n", "")


def test_as_a_program_from_another_folder(folder):
    command = [sys.executable, "-m", "fsmodels", *SELECT, "--model", "fsp-m", "--max-features", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 0
    assert all(" s" in line and "|" in line for line in done.stderr.splitlines()), done.stderr  # of a slow machine
    assert "proven optimal" in done.stdout
    assert "\x1b" not in done.stdout  # piped: no colours
    wrong = subprocess.run([*command, "--solver", "nope"], capture_output=True, text=True, timeout=120, cwd=folder)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stdout + wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1


def test_without_a_model_at_most_five_features_are_selected(folder, capsys):
    code, out, err = run(capsys, *SELECT, "--quiet")
    assert code == 0
    assert "Note: At most 5 features are selected: --max-features gives the limit.\n" in err
    assert "5 of 7 features" in out
    assert "needs max_features" in run(capsys, *SELECT, "--model", "fsp-m")[2]


@pytest.mark.parametrize(("allowed", "step"), [(1, "--max-features 2: one more column"), (2, None)])
def test_the_next_step_of_a_limit_on_columns_is_one_more_column(capsys, tmp_path, allowed, step):
    colours, ages = ["red", "green", "blue"] * 10, range(30)
    labels = [int(colour == "red") if k % 7 else 1 for k, colour in enumerate(colours)]
    pd.DataFrame({"colour": colours, "age": ages, "target": labels}).to_csv(tmp_path / "c.csv", index=False)
    words = ["--one-hot", "colour", "--count", "columns", "--max-features", str(allowed)]
    steps = run(capsys, "select", str(tmp_path / "c.csv"), *words)[1].split("What to try next")[1]
    assert (step or "--json") in steps
    assert "one more feature" not in steps
    assert ("one more column" in steps) == (step is not None)
