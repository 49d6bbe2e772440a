"""Workbooks of Excel and Parquet files: what is stored is what is read."""

import builtins
import datetime

import numpy as np
import pandas as pd
import pytest

import fsmodels as fs
from fsmodels.cli import main
from fsmodels.datasets import tables
from fsmodels.datasets.dataset import Dataset
from refusals import refusal

openpyxl = pytest.importorskip("openpyxl")

TABLE = [["age", "share", "smoker", "group"], [61, 0.125, True, "ill"], [48.5, 0.5, False, "well"]]


def workbook(path, *sheets, percent=()):
    """Write rows to sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for cell in percent:
            sheet[cell].number_format = "0.0%"
    book.save(path)
    return path


def test_a_sheet_is_read_as_it_is_stored(tmp_path):
    path = workbook(tmp_path / "patients.xlsx", ("data", TABLE), ("notes", []), percent=["B2", "B3"])
    data = Dataset.from_csv(path, "group")
    assert data.X.tolist() == [[61.0, 0.125, 1.0], [48.5, 0.5, 0.0]]
    assert (data.name, data.features, data.positive_label) == ("patients", ("age", "share", "smoker"), "well")
    assert data.dialect.sheet == "data"


def test_blank_rows_and_columns_around_a_table_do_no_harm_and_rows_are_named_as_in_the_sheet(tmp_path):
    rows = [[], [None, *TABLE[0]], [None, *TABLE[1]], [], [None, 50, None, True, "ill"]]
    message = refusal(Dataset.from_csv, workbook(tmp_path / "p.xlsx", ("s", rows)), "group")
    assert '"share" has no value (blank or NaN) in row 2, sheet row 5' in message


def test_one_of_several_sheets_is_asked_for(tmp_path):
    other = [["a", "group"], [1, "x"], [2, "y"]]
    path = workbook(tmp_path / "p.xlsx", ("first", TABLE), ("the second", other))
    assert '--sheet "the second"' in refusal(Dataset.from_csv, path, "group")
    assert Dataset.from_csv(path, "group", sheet="the second").features == ("a",)
    assert 'Did you mean "first"?' in refusal(Dataset.from_csv, path, "group", sheet="firts")
    assert "leave it out" in refusal(Dataset.from_csv, path, sep=";", error=fs.ParameterError)


def test_dates_numbers_as_text_and_formulas_are_not_mistaken(tmp_path):
    day = [["day", "a", "group"], [datetime.date(2020, 1, 5), 1, "x"], [datetime.datetime(2020, 1, 6), 2, "y"]]
    assert '("2020-01-05", 2 such cells)' in refusal(
        Dataset.from_csv, workbook(tmp_path / "d.xlsx", ("s", day)), "group"
    )
    texts = [["a", "group"], ["1,5", "x"], ["2,25", "y"]]
    path = workbook(tmp_path / "t.xlsx", ("s", texts))
    assert "give --decimal ," in refusal(Dataset.from_csv, path, "group")
    assert Dataset.from_csv(path, "group", decimal=",").X.ravel().tolist() == [1.5, 2.25]
    formula = [["a", "b", "group"], [1, "=A2*2", "x"], [2, "=A3*2", "y"]]
    message = refusal(Dataset.from_csv, workbook(tmp_path / "f.xlsx", ("s", formula)), "group")
    assert '"b" has no value (blank or NaN) in row 1, sheet row 2' in message  # no program has stored a value


def test_a_workbook_under_another_name_is_known_and_a_broken_one_refused(tmp_path):
    path = workbook(tmp_path / "p.xlsx", ("s", TABLE))
    path.rename(tmp_path / "p.csv")
    assert Dataset.from_csv(tmp_path / "p.csv", "group").n_samples == 2
    (tmp_path / "b.xlsx").write_bytes((tmp_path / "p.csv").read_bytes()[:900])
    assert "complete" in refusal(Dataset.from_csv, tmp_path / "b.xlsx", "group")
    assert "no cell with a value" in refusal(Dataset.from_csv, workbook(tmp_path / "e.xlsx", ("s", [])), "group")


def test_the_header_of_a_sheet_may_have_two_rows(tmp_path):
    frame = pd.DataFrame([[1.5, 20, "x"], [2.5, 30, "y"]])
    frame.columns = pd.MultiIndex.from_tuples([("Patient", "a"), ("Patient", "b"), ("Outcome", "group")])
    frame.to_excel(tmp_path / "two.xlsx")
    with pytest.warns(fs.DataWarning) as caught:
        data = Dataset.from_csv(tmp_path / "two.xlsx", "group")
    assert (data.features, data.X.tolist()) == (("a", "b"), [[1.5, 20], [2.5, 30]])
    assert [str(one.message).partition(".xlsx")[2] for one in caught] == [
        '" has two rows: columns have the names of the second one.',
        '" has no name and counts the rows: it is left out.',
    ]


GROUPS = {
    "merged cells": [["Patient", "", "Laboratory", "", "Outcome"], ["sex", "age", "crp", "bmi", "group"]],
    "merged rows too": [["sex", "Patient", "Laboratory", "", "group"], ["", "age", "crp", "bmi", ""]],
    "repeated groups": [["Patient", "Patient", "Lab", "Lab", "Outcome"], ["sex", "age", "crp", "bmi", "group"]],
    "a title": [["Report of 2024", "", "", "", ""], ["sex", "age", "crp", "bmi", "group"]],
}


@pytest.mark.parametrize("header", GROUPS.values(), ids=GROUPS)
def test_names_below_groups_are_found(tmp_path, header):
    rows = [["f", 50, 1.5, 20, "x"], ["m", 60, 2.5, 30, "y"], ["m", "z", 2.5, 30, "y"]]
    path = workbook(tmp_path / "p.xlsx", ("s", [*header, *rows[:2]]))
    with pytest.warns(fs.DataWarning, match="columns have the names of the second one"):
        data = Dataset.from_csv(path, "group", one_hot="sex")
    assert (data.features, data.X[1].tolist()) == (("sex=m", "age", "crp", "bmi"), [1, 60, 2.5, 30])
    text = "\n".join(";".join(map(str, row)) for row in [*header, *rows])
    (tmp_path / "p.csv").write_text(text)
    with pytest.warns(fs.DataWarning):
        assert '"age" has text in row 3, line 5 ("z")' in refusal(
            Dataset.from_csv, tmp_path / "p.csv", "group", drop="sex"
        )


@pytest.mark.parametrize("second", [["a", 7, "group"], ["a", "a", "group"], ["a", "", "group"]])
def test_a_row_that_has_no_different_names_is_no_header(tmp_path, second):
    path = workbook(tmp_path / "p.xlsx", ("s", [["Patient", "", "Outcome"], second, [1.5, 20, "x"], [2.5, 30, "y"]]))
    message = refusal(Dataset.from_csv, path, "group")
    assert "Column 2" in message or "2 columns named" in message or "no column" in message


def test_a_sheet_with_cells_far_apart_is_read_and_one_that_fills_the_memory_refused(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    for row in TABLE:
        book.active.append(row)
    book.active["XFD1048576"] = 1.0
    book.save(tmp_path / "far.xlsx")
    assert "Column 5 of file" in refusal(Dataset.from_csv, tmp_path / "far.xlsx", "group")
    monkeypatch.setattr(tables, "available_memory", lambda: 500_000.0)
    assert "far.xlsx" in refusal(Dataset.from_csv, tmp_path / "far.xlsx", "group")


def test_a_parquet_file_is_read_with_its_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"a": [0.1 + 0.2, 2.0], "b": pd.array([1, 2], dtype="Int64"), "c": [True, False], "group": ["x", "y"]},
        index=pd.Index([7, 9], name="key"),
    )
    frame.to_parquet(tmp_path / "p.parquet")
    data = Dataset.from_csv(tmp_path / "p.parquet", "group", drop="key")
    np.testing.assert_array_equal(data.X, [[0.1 + 0.2, 1, 1], [2, 2, 0]])
    frame.reset_index(drop=True).assign(b=pd.array([1, None], dtype="Int64")).to_parquet(tmp_path / "q.parquet")
    assert '"b" has no value' in refusal(Dataset.from_csv, tmp_path / "q.parquet", "group")
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and nothing")
    assert "cannot be read" in refusal(Dataset.from_csv, tmp_path / "r.parquet", "group")


def test_without_the_extra_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = workbook(tmp_path / "p.xlsx", ("s", TABLE))
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] in ("openpyxl", "pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert 'pip install "fsmodels[tables]", or pip install openpyxl' in refusal(Dataset.from_csv, path)
    assert 'pip install "fsmodels[tables]", or pip install pyarrow' in refusal(Dataset.from_csv, tmp_path / "p.parquet")


def test_the_command_line_selects_from_a_workbook_and_predicts_another_dialect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(group=np.where(X[:, 0] + X[:, 1] > 0, "ill", "well"))
    frame.to_excel("p.xlsx", index=False)
    frame.to_csv("new.csv", sep=";", decimal=",", index=False)
    words = ["--target", "group", "--positive", "ill", "--max-features", "2", "--quiet"]
    assert main(["select", "p.xlsx", "--model", "fsp-m", *words, "--json", "r.json"]) == 0
    assert main(["predict", "r.json", "new.csv", "--target", "group", "--out", "out.csv"]) == 0
    err = capsys.readouterr().err
    assert 'File "new.csv" is read with --sep ";" --decimal ,' in err
    assert (pd.read_csv("out.csv")["label"] == frame["group"]).mean() > 0.8
    assert main(["select", "new.csv", "--model", "fsp-m", *words, "--json", "s.json", "--certificate", "c.json"]) == 0
    assert main(["verify", "c.json", "new.csv", "--target", "group", "--positive", "ill"]) == 0
