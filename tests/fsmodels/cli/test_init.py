"""The files of ``fsmodels init``: a command and a notebook that run as they are written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from commands import run

ROOT = Path(fs.__file__).parents[1]
SHELL = f'fsmodels() {{ {sys.executable} -m fsmodels "$@"; }}; . '


def patients():
    """A table with an identifier, dates, categories, blanks and text labels."""
    rng = np.random.default_rng(7)
    n = 60
    dose, region = rng.normal(size=n).round(3), rng.choice(["north", "south", "west"], n)
    ill = dose + (region == "west") + 0.3 * rng.normal(size=n) > 0.4
    return pd.DataFrame(
        {
            "Patient-Nr": rng.permutation(n) + 4001,
            "visit": [f"2024-02-{k % 28 + 1:02}" for k in range(n)],
            "dose": dose,
            "age": [None if k % 9 == 4 else k % 37 + 20 for k in range(n)],
            "region": ["" if k == 5 else level for k, level in enumerate(region)],
            "remark": [f"called {k} times" for k in range(n)],
            "group": np.where(ill, "ill", "well"),
        }
    )


WRITE = {
    "patients.csv": lambda frame, path: frame.to_csv(path, index=False),
    "patients.xlsx": lambda frame, path: frame.to_excel(path, index=False),
    "patients.parquet": lambda frame, path: frame.to_parquet(path),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return tmp_path


def write(name):
    pytest.importorskip({".xlsx": "openpyxl", ".parquet": "pyarrow"}.get(Path(name).suffix, "pandas"))
    WRITE[name](patients(), name)


def executed(script):
    """Run a written command with this Python and return its selection."""
    done = subprocess.run(["sh", "-c", f"{SHELL}./{script}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (result,) = Path().glob("*.json")
    return json.loads(result.read_text("utf-8"))


@pytest.mark.parametrize("name", WRITE)
def test_the_command_runs_and_treats_every_column(folder, capsys, name):
    write(name)
    code, out, err = run(capsys, "init", name)
    assert code == 0, err
    assert "Written to patients.sh" in out
    text = Path("patients.sh").read_text("utf-8")
    for line in (
        '# group: --target, the labels; class +1 is "well", class -1 is "ill"; --positive changes it',
        "# Patient-Nr: --drop, a different whole number in each row",
        "# visit: --drop, dates, such as 2024-02-01",
        "# remark: --drop, text with 60 values in 60 cells, such as called 0 times",
        "# region: --one-hot, 3 categories: north, south, west",
        "# region: --impute, 1 blank",
        "# age: --impute, 7 blanks",
        f"fsmodels select {name} \\",
    ):
        assert f"{line}\n" in text
    content = executed("patients.sh")
    assert content["status"] == "optimal"
    assert content["data"]["dropped"] == ["Patient-Nr", "visit", "remark"]
    assert content["columns"] == ["dose", "age", "region"]


@pytest.mark.parametrize("name", ["patients.csv", "wdbc"])
def test_the_notebook_runs_and_selects_what_the_command_selects(folder, capsys, name):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    if name in WRITE:
        write(name)
    assert run(capsys, "init", name)[0] == 0
    stem = name.partition(".")[0]
    notebook = nbformat.read(f"{stem}.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    found = fs.load_selection(f"{stem}.json")
    Path(f"{stem}.json").unlink()
    assert executed(f"{stem}.sh")["selected"] == list(found.selected)


def test_options_of_the_user_come_first(folder, capsys):
    write("patients.csv")
    words = ["--target", "group", "--positive", "ill", "--drop", "region", "--impute", "mean"]
    assert run(capsys, "init", "patients.csv", *words)[0] == 0
    text = Path("patients.sh").read_text("utf-8")
    assert "--one-hot" not in text
    assert 'class +1 is "ill"' in text
    assert "    --positive ill \\\n    --drop region \\\n    --drop Patient-Nr \\\n" in text
    assert "    --impute mean \\\n" in text


def test_a_file_is_replaced_only_with_force(folder, capsys):
    write("patients.csv")
    Path("patients.ipynb").write_text("mine")
    code, _, err = run(capsys, "init", "patients.csv")
    assert code == 2
    assert err == "Error: patients.ipynb would be replaced: move or rename it, or replace it with --force.\n"
    assert (Path("patients.ipynb").read_text(), Path("patients.sh").exists()) == ("mine", False)
    assert run(capsys, "init", "patients.csv", "--force")[0] == 0
    assert json.loads(Path("patients.ipynb").read_text("utf-8"))["nbformat"] == 4


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("a,b\n1,2\n3,4\n5,6\n", [], 'no column "target"'),
        ("a,b\n1,x\n3,y\n5,z\n", ["--target", "b"], "--positive"),
        (None, [], 'no file "table.csv"'),
    ],
)
def test_a_table_without_a_proposal_is_refused_and_nothing_is_written(folder, capsys, text, words, message):
    if text is not None:
        Path("table.csv").write_text(text)
    code, _, err = run(capsys, "init", "table.csv", *words)
    assert code == 2
    assert message in err
    assert not [*folder.glob("*.sh"), *folder.glob("*.ipynb")]


def test_names_with_marks_of_a_shell_and_new_lines_are_quoted(folder, capsys):
    name = "it's $NAME.csv"
    frame = patients().rename(columns={"visit": 'day "of"\nvisit', "remark": "a;b & $(c)"})
    frame.to_csv(name, index=False)
    assert run(capsys, "init", name)[0] == 0
    done = subprocess.run(["sh", "-c", f'{SHELL}"./it\'s \\$NAME.sh"'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content = json.loads(Path("it's $NAME.json").read_text("utf-8"))
    assert content["data"]["dropped"] == ["Patient-Nr", 'day "of"\nvisit', "a;b & $(c)"]


def test_a_file_without_names_of_columns_is_refused(folder, capsys):
    Path("words.svm").write_text("+1 1:2\n-1 1:3\n")
    code, _, err = run(capsys, "init", "words.svm")
    assert code == 2
    assert "has no columns to prepare: use fsmodels select" in err
