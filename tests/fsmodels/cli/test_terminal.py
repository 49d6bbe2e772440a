"""Names in data do not control the terminal: the command line writes controls and marks of direction as escapes."""

import io
import json
import sys

import pytest

from fsmodels import cli
from fsmodels.cli import output
from solvers import progress

ESCAPE, OVERRIDE, C1 = "\x1b[2J", "\u202e", "\x9b31m"
NAME = f"dose{ESCAPE}{OVERRIDE}{C1}\u2066\u200f"
SHOWN = "dose\\x1b[2J\\u202e\\x9b31m\\u2066\\u200f"


def is_clean(text):
    return not any(mark in text for mark in "\x1b\x9b\u202e\u2066\u200f")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file of 12 samples whose name, columns and labels hold controls."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"data{ESCAPE}.csv"
    rows = "".join(f"{k},{(7 * k) % 5},{'yes' if k > 5 else 'no'}{ESCAPE}\n" for k in range(12))
    path.write_text(f"{NAME},other,target\n{rows}", encoding="utf-8")
    return path


def test_a_report_and_its_notes_write_escapes_and_files_stay_exact(table, capsys):
    words = [str(table), "--model", "one-norm-svm", "--json", "found.json"]
    assert cli.main(["select", *words]) == 0
    out, err = capsys.readouterr()
    assert is_clean(out + err)
    assert SHOWN in out
    with open("found.json", encoding="utf-8") as file:
        assert NAME in json.load(file)["scale"]["shift"]
    assert cli.main(["predict", "found.json", str(table), "--id", "target"]) == 0
    out, err = capsys.readouterr()
    assert f"no{ESCAPE}," in out
    assert is_clean(err)


def test_an_error_writes_escapes(table, capsys):
    assert cli.main(["select", str(table), "--model", "svm", "--target", f"none{OVERRIDE}"]) == 2
    err = capsys.readouterr().err
    assert is_clean(err)
    assert SHOWN in err
    assert cli.main(["select", f"none{ESCAPE}.csv", f"--{OVERRIDE}"]) == 2
    assert is_clean(capsys.readouterr().err)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_styles_and_no_other_controls():
    stream = Terminal()
    out = output.Guard(stream)
    out.exact = True
    out.write(f"\x1b[1;31m{NAME}\x1b[0m\x1b[8m\x1b[1A\n\tend\r")
    assert stream.getvalue() == f"\x1b[1;31m{SHOWN}\x1b[0m\\x1b[8m\\x1b[1A\n\tend\\r"


def test_progress_writes_escapes(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = progress.StatusLine(pace=0.0)
    line.open()
    line.draw(NAME)
    line.close()
    assert stream.getvalue() == f"{SHOWN}\n"
