"""Tables as programs write them: read back exactly, or refused with the options that make them readable."""

import csv
import gzip
import io
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fsmodels.cli import main
from fsmodels.datasets.dataset import Dataset
from fsmodels.datasets.tables import read_costs, read_groups
from fsmodels.errors import DataError, DataWarning, ParameterError
from refusals import refusal
from remedies import options_in


def read(path, **options):
    """The data, and the notes on how they were read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = Dataset.from_csv(path, **{"target": "label", **options})
    return data, [str(w.message) for w in caught if "is read with" in str(w.message)]


def accepted(path, choice):
    """The data with the options of a message, None where they are refused."""
    try:
        return read(path, **choice)[0]
    except DataError:
        return None


def wrote(folder: Path, text: str | bytes, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- what is found --------------------------------------------------------------------------------------------------

SAME = {  # the same table in several forms, and words of the note
    "semicolons and commas": ("a;b;label\n1,5;2;x\n3;4,25;y\n", ['--sep ";" --decimal ,']),
    "semicolons and points": ("a;b;label\n1.5;2;x\n3;4.25;y\n", ['--sep ";"']),
    "tabs": ("a\tb\tlabel\n1.5\t2\tx\n3\t4.25\ty\n", ["--sep tab", 'sep="\\t"']),
    "tabs and commas": ("a\tb\tlabel\n1,5\t2\tx\n3\t4,25\ty\n", ["--sep tab --decimal ,"]),
    "bars": ("a|b|label\n1.5|2|x\n3|4.25|y\n", ['--sep "|"']),
    "everything quoted": ('"a";"b";"label"\n"1,5";"2";"x"\n"3";"4,25";"y"\n', ['--sep ";" --decimal ,']),
    "a mark at each end": ("a;b;label;\n1,5;2;x;\n3;4,25;y;\n", ['--sep ";" --decimal ,']),
    "a byte-order mark": ("\ufeffa,b,label\n1.5,2,x\n3,4.25,y\n", []),
    "old Mac": ("a;b;label\r1,5;2;x\r3;4,25;y\r", ['--sep ";" --decimal ,']),
    "plain": ("a,b,label\n1.5,2,x\n3,4.25,y\n", []),
    "plain, quoted": ('"a","b","label"\r\n"1.5","2","x"\r\n\r\n"3","4.25","y"', []),
}


@pytest.mark.parametrize(("text", "words"), SAME.values(), ids=SAME)
def test_the_same_table_is_found_in_each_dialect_and_one_line_says_so(tmp_path, text, words):
    data, notes = read(wrote(tmp_path, text))
    assert data.X.tolist() == [[1.5, 2.0], [3.0, 4.25]]
    assert data.features == ("a", "b")
    assert (data.negative_label, data.positive_label) == ("x", "y")
    assert len(notes) == (1 if words else 0)
    for word in words:
        assert word in notes[0]
    for note in notes:  # the words are the ones that say it
        again, silent = read(tmp_path / "table.csv", **options_in(note)[0])
        assert silent == []
        assert again.X.tolist() == data.X.tolist()
        assert again.dialect == data.dialect


def test_the_note_points_at_the_users_line(tmp_path):
    with pytest.warns(DataWarning, match='--sep ";"') as caught:
        Dataset.from_csv(wrote(tmp_path, "a;label\n1;x\n2;y\n"), "label")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a;b;label\n1.234.567,5;0,5;x\n987;1;y\n", [[1234567.5, 0.5], [987.0, 1.0]]),
        ("a\tb\tlabel\n1,234,567\t0.5\tx\n1,987\t1\ty\n", [[1234567.0, 0.5], [1987.0, 1.0]]),
        ('a,b,label\n"1,234.5",0.5,x\n"1,987",1,y\n', [[1234.5, 0.5], [1987.0, 1.0]]),
        ("a;b;label\n1 234;0,5;x\n1 987;1;y\n", [[1234.0, 0.5], [1987.0, 1.0]]),
        ("a;b;label\n1'234;0.5;x\n1'987;1;y\n", [[1234.0, 0.5], [1987.0, 1.0]]),
        ("a;b;label\n1\u202f234,5;0,5;x\n1\u202f987;1;y\n", [[1234.5, 0.5], [1987.0, 1.0]]),
    ],
)
def test_marks_between_thousands_are_named_and_then_read(tmp_path, text, numbers):
    path = wrote(tmp_path, text)
    choices = options_in(refusal(read, path))
    assert numbers in [data.X.tolist() for choice in choices if (data := accepted(path, choice))]


TWO_WAYS = {  # the first cell of "a", and the numbers that it may be
    "a comma, three digits": ("a;b;label\n1,234;1;x\n5,678;2;y\n", {1.234, 1234.0}),
    "quoted between commas": ('a,b,label\n"1,234",1,x\n"5,678",2,y\n', {1.234, 1234.0}),
    "a point, three digits": ("a;b;label\n1.234;1;x\n5.678;2;y\n", {1.234, 1234.0}),
    "signs and tabs": ("a\tb\tlabel\n-1.234\t1\tx\n+5.678\t2\ty\n", {-1.234, -1234.0}),
    "quoted, and points": ('a,b,label\n"1,234",0.5,x\n"5,678",2,y\n', {1234.0}),
}


@pytest.mark.parametrize(("text", "numbers"), TWO_WAYS.values(), ids=TWO_WAYS)
def test_a_number_with_two_readings_is_refused_with_the_options_for_each(tmp_path, text, numbers):
    path = wrote(tmp_path, text)
    message = refusal(read, path)
    assert {data.X[0, 0] for choice in options_in(message) if (data := accepted(path, choice))} == numbers
    assert '"a"' in message


@pytest.mark.parametrize(
    "text",
    [
        "a;b;label\n0,123;1;x\n5,678;2;y\n",  # no thousand begins with 0
        "a;b;label\n1,234;0,5;x\n5,678;2;y\n",  # another column has decimal commas
        "a;b;label\n1,2345;1;x\n5,678;2;y\n",
        "a;b;label\n1,234e3;1;x\n5,678;2;y\n",
    ],
)
def test_evidence_in_the_file_decides_for_a_decimal_comma(tmp_path, text):
    data, _ = read(wrote(tmp_path, text))
    assert data.X[1, 0] == 5.678


def test_between_commas_a_point_is_the_decimal_mark(tmp_path):
    data, notes = read(wrote(tmp_path, "a,b,label\n1.234,1,x\n5.678,2,y\n"))
    assert data.X[0, 0] == 1.234
    assert notes == []


def test_dates_versions_and_names_decide_nothing(tmp_path):
    text = 'day;version;name;a;label\n01.02.2020;1.2.3;"Doe, J.";1,5;x\n03.02.2020;1.2.4;"Roe, K.";2,5;y\n'
    data, _ = read(wrote(tmp_path, text), drop="day,version,name")
    assert data.X.ravel().tolist() == [1.5, 2.5]


@pytest.mark.parametrize("commas", ["1,5", "1,234"])
def test_columns_with_different_decimal_marks_are_refused(tmp_path, commas):
    path = wrote(tmp_path, f"a;b;c d;label\n{commas};0.5;7,25;x\n2,250;2.75;8,5;y\n")
    message = refusal(read, path)
    assert f'"{commas}" in column "a"' in message
    assert '"0.5" in column "b"' in message
    assert read(path, drop="b")[0].X[0].tolist() == [float(commas.replace(",", ".")), 7.25]


def test_grouped_numbers_and_decimal_points_are_read_with_both_options(tmp_path):
    path = wrote(tmp_path, "a;b;label\n1,234;0.5;x\n5,678;2;y\n")
    assert "--thousands" in refusal(read, path)
    assert read(path, decimal=".", thousands=",")[0].X.tolist() == [[1234.0, 0.5], [5678.0, 2.0]]


def test_a_decimal_mark_that_contradicts_the_cells_is_refused(tmp_path):
    path = wrote(tmp_path, "a;b;label\n1.5;0.5;x\n2.25;2.75;y\n")
    message = refusal(read, path, decimal=",")
    assert '"1.5"' in message
    assert '"1,5"' in refusal(read, wrote(tmp_path, "a;label\n1,5;x\n2,5;y\n"), decimal=".")


def test_a_header_with_two_marks_equally_often_is_refused(tmp_path):
    path = wrote(tmp_path, "id,a;b,label\n1,p;2,x\n2,r;3,y\n")
    assert read(path, drop="a;b")[0].features == ("id",)
    path = wrote(tmp_path, "size, mm;label\n1,5;x\n2,5;y\n")
    message = refusal(read, path)
    assert [choice["sep"] for choice in options_in(message)] == [",", ";"]
    assert read(path, sep=";")[0].features == ("size, mm",)


def test_marks_in_quotes_and_below_the_header_do_not_separate(tmp_path):
    assert read(wrote(tmp_path, 'a;"size, mm";label\n1;1,5;x\n2;2,5;y\n'))[0].features == ("a", "size, mm")
    data, notes = read(wrote(tmp_path, 'tags,a,label\n"p;q",1,x\n"r;s",2,y\n'), drop="tags")
    assert (data.X.ravel().tolist(), notes) == ([1.0, 2.0], [])


# --- what is recognised ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_another_encoding_is_named_and_then_read(tmp_path, encoding):
    path = wrote(tmp_path, "gr\u00f6\u00dfe;label\n1,5;ja\n2,5;nein\n".encode(encoding))
    (choice,) = options_in(refusal(read, path))
    assert read(path, **choice)[0].features == ("gr\u00f6\u00dfe",)
    assert "is not ASCII text" in refusal(read, wrote(tmp_path, "\u00f6;label\n1;x\n"), encoding="ascii")


def test_text_without_characters_of_utf_8_is_read_as_cp1252_with_a_note(tmp_path):
    data, notes = read(wrote(tmp_path, "gr\u00f6\u00dfe;label\n1,5;ja\n2,5;nein\n".encode("cp1252")))
    assert data.features == ("gr\u00f6\u00dfe",)
    assert '--encoding cp1252 (Python: sep=";", decimal=",", encoding="cp1252")' in notes[0]


def test_a_gzipped_file_is_read_under_any_name(tmp_path):
    assert read(wrote(tmp_path, gzip.compress(b"a,label\n1,x\n2,y\n")))[0].X.tolist() == [[1.0], [2.0]]


def test_a_first_line_that_looks_like_a_sample_is_named(tmp_path):
    path = wrote(tmp_path, "5,1;3,5;1;ill\n4,9;3;0;well\n5,1;3,1;1;ill\n")
    assert "looks like a sample: add a header above it" in refusal(read, path, target="target")
    same = wrote(tmp_path, "1.0,1.0,0\n2.0,3.0,1\n", "same.csv")
    assert "add a header above it" in refusal(read, same, target="target")  # two names that are one number
    kept = Dataset.from_csv(wrote(tmp_path, "0,1,2\n5,1.5,0\n3,2.5,1\n", "kept.csv"), target="2")
    assert kept.features == ("0", "1")


def test_lines_above_the_header_are_named(tmp_path):
    message = refusal(read, wrote(tmp_path, "Report of May\n\na,b,label\n1,2,x\n2,3,y\n3,1,x\n"))
    assert "Row 1 (line 3)" in message
    assert "delete the lines above it or give its line, such as --header 3 (Python: header=3)" in message
    assert read(tmp_path / "table.csv", header=3)[0].features == ("a", "b")
    bad = wrote(tmp_path, 'Report,"of\nMay"\na,b,label\n1,2,x\n2,z,y\n3,1,x\n')
    assert 'row 2, line 5 ("z")' in refusal(read, bad, header=3)
    with pytest.raises(ParameterError, match="header=0 is not allowed"):
        read(bad, header=0)


def test_a_row_of_another_length_below_a_header_in_line_1_proposes_no_other_header(tmp_path):
    for rows in ("1,2,x\n2,3\n3,1,x\n", "1,2\n", "1,2,x\n2,3,y,4\n3,1,x,4\n5,1,x\n"):
        message = refusal(read, wrote(tmp_path, f"a,b,label\n{rows}"))
        assert "and the header has 3" in message
        assert "--header" not in message


def test_columns_between_spaces_are_read_by_an_option(tmp_path):
    path = wrote(tmp_path, "a  b label\n 1 2.5   x\n2  3 y\n")
    assert "--sep space" in refusal(read, path)
    assert read(path, sep="space")[0].X.tolist() == [[1.0, 2.5], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("name", "reader"), [("t.json", "read_json"), ("t.dta", "read_stata"), ("t.xls", "read_excel")]
)
def test_another_format_is_refused_with_the_function_of_pandas_that_reads_it(tmp_path, name, reader):
    message = refusal(read, wrote(tmp_path, b"\x00\x01", name))
    assert "save it as CSV" in message
    assert f"Dataset.from_frame(pandas.{reader}(" in message


@pytest.mark.parametrize(
    "start", [b"\xd0\xcf\x11\xe0", b"%PDF-1.7", b"BZh9\xff\xfe\x80", b"\x00\x01\x02\xff\xfe\x80\x81\x03\x04"]
)
def test_a_binary_file_is_refused(tmp_path, start):
    refusal(read, wrote(tmp_path, start))


def test_the_proposal_drops_identifiers_and_imputes_categories_with_blanks(tmp_path):
    table = pd.DataFrame(
        {
            "Patienten-Nr": [91, 17, 55, 23, 42, 38, 70],
            "row": [3, 1, 2, 7, 6, 5, 4],
            "count": [91, 17, 55, 23, 42, 38, 70],
            "empty": [None] * 7,
            "colour": ["red", "blue", None, "red", "blue", "red", "blue"],
            "flag": [True, False, True, True, False, False, True],
            "y": [0, 1, 1, 0, 0, 1, 0],
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    message = refusal(read, tmp_path / "t.csv", target="target")
    assert "Columns with two values: y (0 / 1), flag (False / True); for the first give " in message
    assert "--target y --drop Patienten-Nr --drop row --drop empty --one-hot colour --impute median (Python:" in message
    of_frame = refusal(Dataset.from_frame, table, target="target")
    assert (
        "--target y --drop Patienten-Nr --drop row --drop empty --one-hot colour --impute median (Python:" in of_frame
    )
    data, _ = read(tmp_path / "t.csv", target="y", drop="Patienten-Nr,row,empty", one_hot="colour", impute="median")
    assert data.features == ("count", "colour=red", "flag")


def test_all_columns_with_text_are_listed_with_one_command(tmp_path):
    rows = [
        ("red", "n/a", f"2020-01-{k:02}", "x") if k % 3 else ("blue", k, f"2020-01-{k:02}", "y") for k in range(1, 9)
    ]
    path = wrote(tmp_path, "colour,a,day,label\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    message = refusal(read, path)
    assert message.startswith('Column "colour" has text in row 1, line 2 ("red", 8 such cells): give numbers, ')
    assert message.endswith('. So have "a", "day".')
    assert (
        '--drop day --one-hot colour --impute median (Python: drop=["day"], one_hot=["colour"], impute="median")'
        in message
    )
    assert "--drop colour --drop a --drop day" in message
    assert read(path, one_hot=["colour"], impute="median", drop=["day"])[0].features == ("colour=red", "a")


def test_words_that_cannot_be_are_refused(tmp_path):
    path = wrote(tmp_path, "a,label\n1,x\n2,y\n")
    for words in (
        {"sep": ";;"}, {"sep": "a"}, {"decimal": ";"}, {"thousands": "x"}, {"thousands": "."}, {"encoding": "utf-99"},
        {"encoding": "base64"},
        {"decimal": ",", "thousands": ","}, {"sheet": "Sheet1"}, {"sep": 3},
    ):  # fmt: skip
        assert next(iter(words)) in refusal(read, path, error=ParameterError, **words)
    assert "line 3 is not closed" in refusal(read, wrote(tmp_path, 'a,label\n1,x\n"2,y\n3,x\n'))


def test_a_new_file_that_may_be_two_is_read_as_the_one_that_it_goes_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wrote(
        tmp_path, "a;b;label\n" + "".join(f"{k},{k}5;{k % 3},25;{'x' if k % 2 else 'y'}\n" for k in range(30)), "p.csv"
    )
    words = ["--target", "label", "--model", "svm", "--json", "r.json", "--quiet"]
    assert main(["select", "p.csv", *words]) == 0
    wrote(tmp_path, "a;b\n1,234;1\n2,345;2\n", "new.csv")
    assert main(["predict", "r.json", "new.csv", "--out", "one.csv"]) == 0
    assert main(["predict", "r.json", "new.csv", "--decimal", ",", "--out", "two.csv"]) == 0
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()
    wrote(tmp_path, "a;b\n1.234;1\n2.345;2\n", "other.csv")  # which fits it in no way
    capsys.readouterr()
    assert main(["predict", "r.json", "other.csv"]) == 2
    assert "can be two numbers" in capsys.readouterr().err


def test_costs_groups_and_bags_come_in_any_dialect(tmp_path):
    wrote(tmp_path, "feature;cost\na;1,5\nb;250,25\n", "costs.csv")
    with pytest.warns(DataWarning, match="--decimal ,"):
        assert read_costs(tmp_path / "costs.csv") == {"a": 1.5, "b": 250.25}
    wrote(tmp_path, "feature\tgroup\na\tlab, one\nb\tscan\n", "groups.csv")
    with pytest.warns(DataWarning, match="--sep tab"):
        assert read_groups(tmp_path / "groups.csv") == {"a": "lab, one", "b": "scan"}
    path = wrote(tmp_path, "bag;size;label\nb1;1,5;x\nb1;2,25;x\nb2;3;y\n")
    with pytest.warns(DataWarning, match='--sep ";"'):
        data = Dataset.from_csv(path, "label", aside="bag")
    assert data.X.ravel().tolist() == [1.5, 2.25, 3.0]
    assert data.aside["bag"].tolist() == ["b1", "b1", "b2"]


def test_names_of_columns_with_commas_win_when_columns_are_left_out(tmp_path):
    path = wrote(tmp_path, 'id,"a, in mg",b,c,label\n1,2,3,4,x\n2,3,4,5,y\n')
    assert Dataset.from_csv(path, "label", drop="id,b").features == ("a, in mg", "c")
    assert Dataset.from_csv(path, "label", drop="a, in mg").features == ("id", "b", "c")
    assert Dataset.from_csv(path, "label", drop=["id", "a, in mg", "c"]).features == ("b",)
    assert 'no column "d" to drop' in refusal(Dataset.from_csv, path, "label", drop="id,d")


# --- everything at once ---------------------------------------------------------------------------------------------


def a_number(rng, kind, decimal, thousands):
    """A number as somebody writes it, and what it is."""
    if kind == "whole":
        text = str(rng.integers(-99, 1000))
    elif kind == "large":
        text = f"{rng.integers(-9, 10 ** int(rng.integers(4, 8))):,}" if thousands else str(rng.integers(0, 10**7))
    elif kind == "exponent":
        text = f"{rng.normal():.3e}"
    else:
        places = int(rng.integers(1, 5)) if kind == "decimals" else 3
        text = f"{rng.normal() * 10 ** rng.integers(0, 5):{',' if thousands else ''}.{places}f}"
    value = float(text.replace(",", ""))
    return text.translate(str.maketrans({",": thousands or "", ".": decimal})), value


def a_table(rng, folder):
    """Write a random table in a random dialect: the path, its numbers, and the dialect."""
    decimal = str(rng.choice([".", ","]))
    encoding = str(rng.choice([*["utf-8"] * 4, "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))
    sep, newline = str(rng.choice([",", ";", "\t", "|"])), str(rng.choice(["\n", "\r\n", "\r"]))
    others = {".", ",", " ", "'"} - {decimal} - ({"."} if sep == "," else set())  # there a point is the decimal mark
    thousands = str(rng.choice(["", "", *sorted(others)]))
    kinds = rng.choice(["whole", "large", "exponent", "decimals", "three"], size=rng.integers(1, 4))
    starts, ends = rng.choice(["m\u00e4\u00df", "c"], len(kinds)), rng.choice(["", ", in mg", " b"], len(kinds))
    names = [f"{start}{j}{end}" for j, (start, end) in enumerate(zip(starts, ends, strict=True))]
    many = int(rng.integers(2, 7))
    cells = [[a_number(rng, kind, decimal, thousands) for kind in kinds] for _ in range(many)]
    labels = rng.permutation(["yes, it is", "n\u00f6"] * many)[:many].tolist()
    labels[:2] = ["yes, it is", "n\u00f6"]
    text = io.StringIO(newline="")
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL][rng.integers(2)]
    writer = csv.writer(text, delimiter=sep, lineterminator=newline, quoting=quoting)
    pad = " " if rng.random() < 0.2 and quoting == csv.QUOTE_MINIMAL else ""
    writer.writerow([*(pad + name for name in names), "label"])
    for row, label in zip(cells, labels, strict=True):
        writer.writerow([*(cell for cell, _ in row), label])
        if rng.random() < 0.1:
            text.write(newline)
    path = folder / f"table{rng.integers(10**9)}.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    dialect = {"sep": sep, "decimal": decimal, "thousands": thousands, "encoding": encoding}
    return path, np.array([[value for _, value in row] for row in cells]), dialect


def read_or_follow(path, X, depth=3):
    """Read a table with the options of the messages; return how many messages were needed, None where they end."""
    words = {}
    for step in range(depth + 1):
        try:
            data, _ = read(path, **words)
        except DataError as error:
            message = str(error)
        else:
            np.testing.assert_array_equal(data.X, X)
            return step
        choices = [{**words, **choice} for choice in options_in(message)]
        if any((data := accepted(path, choice)) and np.array_equal(data.X, X) for choice in choices):
            return step + 1
        words = next((choice for choice in choices if accepted(path, choice) is None), None)
        if words is None:
            break
    return None


def fuzz(seeds, folder):
    needed = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        path, X, dialect = a_table(rng, folder)
        try:
            needed.append(read_or_follow(path, X))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {dialect}\n{path.read_bytes()!r}\n{error}") from error
    return needed


def test_random_tables_are_read_exactly_or_refused_with_what_makes_them_readable(tmp_path):
    needed = fuzz(range(150), tmp_path)
    assert needed.count(0) > 25
    assert needed.count(None) < 20


@pytest.mark.slow
def test_many_random_tables(tmp_path):
    fuzz(range(1000, 1000 + int(2000 * float(os.environ.get("FSMODELS_SOAK", 1)))), tmp_path)
